//! Operating system commands: titles, links, directory, colours.

use super::Screen;
use super::colors;
use crate::limits::{TITLE_BYTES_MAX, TITLE_STACK_MAX};

impl Screen {
    /// The command that just ended.
    pub(super) fn command_string(&mut self) {
        let Some(payload) = self.sequence.payload() else { return };
        let payload = String::from_utf8_lossy(payload).into_owned();
        let (id, data) = payload.split_once(';').unwrap_or((&payload, ""));
        if !id.bytes().all(|b| b.is_ascii_digit()) {
            return;
        }
        match id.parse::<u32>() {
            Ok(0 | 2) => self.title = Some(cut(data).to_owned()),
            Ok(4) => self.palette_colors(data),
            Ok(7) => self.cwd = cwd_of(data),
            Ok(8) => self.link(data),
            Ok(id @ 10..=12) => self.special_colors(data, id as usize - 10),
            Ok(104) if data.is_empty() => self.colors.palette.clear(),
            Ok(104) => {
                for index in data.split(';').filter_map(palette_index) {
                    self.colors.palette.remove(&index);
                }
            }
            Ok(id @ 110..=112) => self.colors.special[id as usize - 110] = None,
            _ => {}
        }
    }

    /// `CSI 22 t` and `CSI 23 t`: 0 and 2 speak of the window's title.
    pub(super) fn title_stack(&mut self, what: i32, which: i32) {
        if !matches!(which, 0 | 2) {
            return;
        }
        match what {
            22 => {
                if self.titles.len() == TITLE_STACK_MAX {
                    self.titles.remove(0);
                }
                self.titles.push(self.title().to_owned());
            }
            23 => {
                if let Some(title) = self.titles.pop() {
                    self.title = Some(title);
                }
            }
            _ => {}
        }
    }

    fn link(&mut self, data: &str) {
        let Some((params, uri)) = data.split_once(';') else { return };
        if uri.is_empty() {
            if params.trim().is_empty() {
                self.pen.set_link(0);
                self.style = self.pen.style();
            }
            return;
        }
        let id = params.split(':').find_map(|param| param.trim().strip_prefix("id=")).unwrap_or_default();
        let link = self.links.number(&clean(id), &clean(uri));
        self.pen.set_link(link);
        self.style = self.pen.style();
    }

    fn palette_colors(&mut self, data: &str) {
        let mut slots = data.split(';');
        while let (Some(index), Some(spec)) = (slots.next(), slots.next()) {
            if let (Some(index), Some(color)) = (palette_index(index), colors::parse(spec)) {
                self.colors.palette.insert(index, color);
            }
        }
    }

    /// One command may go on with the next ones' colours: `OSC 10 ; text ; background`.
    fn special_colors(&mut self, data: &str, first: usize) {
        for (i, spec) in (first..3).zip(data.split(';')) {
            if spec == "?" {
                self.answer_color(i);
            } else if let Some(color) = colors::parse(spec) {
                self.colors.special[i] = Some(color);
            }
        }
    }
}

fn palette_index(digits: &str) -> Option<u8> {
    if digits.bytes().all(|b| b.is_ascii_digit()) { digits.parse().ok() } else { None }
}

fn cut(text: &str) -> &str {
    let end = (0..=TITLE_BYTES_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// Without what could act when it is told again: C0 and C1 controls, DEL, and the marks that turn the
/// direction of text.
pub(super) fn clean(text: &str) -> String {
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| !c.is_control() && !turns(*c)).collect()
}

/// The path of a `file://host/path` URL, percent-decoded.
fn cwd_of(url: &str) -> Option<String> {
    let rest = url.strip_prefix("file://").or_else(|| url.strip_prefix("kitty-shell-cwd://"))?;
    let path = &rest[rest.find('/')?..];
    let mut bytes = path.bytes();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let mut digit = || ahead.next().and_then(|b| char::from(b).to_digit(16));
        match byte {
            b'%' => match (digit(), digit()) {
                (Some(high), Some(low)) => {
                    decoded.push((high * 16 + low) as u8);
                    bytes = ahead;
                }
                _ => decoded.push(b'%'),
            },
            byte => decoded.push(byte),
        }
    }
    let path = String::from_utf8(decoded).ok()?;
    (path.len() <= TITLE_BYTES_MAX && !path.contains('\0')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_told_directory_is_the_decoded_path_of_a_file_url() {
        assert_eq!(cwd_of("file://host/srv/a%20b"), Some("/srv/a b".into()));
        assert_eq!(cwd_of("file:///%C3%A9%"), Some("/é%".into()));
        assert_eq!(cwd_of("file://host"), None);
        assert_eq!(cwd_of("http://host/srv"), None);
        assert_eq!(cwd_of("file:///%ff"), None);
    }

    #[test]
    fn nothing_that_acts_is_left_of_a_text_told_again() {
        assert_eq!(clean("a\u{1b}]b\u{7}c\u{9c}d\u{202e}e\u{7f}\u{2066}f é"), "a]bcdef é");
    }
}
