//! Names of keys, and the bytes that a terminal sends for them.

use super::scan::Csi;
use crate::limits::CLI_DETACH_KEYS_MAX;

const CTRL: u8 = 4;
const ALT: u8 = 2;
const SHIFT: u8 = 1;

/// A key with its modifiers: `x`, `C-x`, `M-x`, `Up`, `C-Up`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    base: Base,
    modifiers: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Char(char),
    /// `ESC [ final`, and `ESC O final` for F1 to F4.
    Letter(u8),
    /// `ESC [ number ~`.
    Tilde(u8),
}

const NAMED: &[(&str, Base)] = &[
    ("enter", Base::Char('\r')),
    ("return", Base::Char('\r')),
    ("tab", Base::Char('\t')),
    ("escape", Base::Char('\x1b')),
    ("esc", Base::Char('\x1b')),
    ("space", Base::Char(' ')),
    ("backspace", Base::Char('\x7f')),
    ("bspace", Base::Char('\x7f')),
    ("up", Base::Letter(b'A')),
    ("down", Base::Letter(b'B')),
    ("right", Base::Letter(b'C')),
    ("left", Base::Letter(b'D')),
    ("end", Base::Letter(b'F')),
    ("home", Base::Letter(b'H')),
    ("f1", Base::Letter(b'P')),
    ("f2", Base::Letter(b'Q')),
    ("f3", Base::Letter(b'R')),
    ("f4", Base::Letter(b'S')),
    ("insert", Base::Tilde(2)),
    ("delete", Base::Tilde(3)),
    ("pageup", Base::Tilde(5)),
    ("pagedown", Base::Tilde(6)),
    ("f5", Base::Tilde(15)),
    ("f6", Base::Tilde(17)),
    ("f7", Base::Tilde(18)),
    ("f8", Base::Tilde(19)),
    ("f9", Base::Tilde(20)),
    ("f10", Base::Tilde(21)),
    ("f11", Base::Tilde(23)),
    ("f12", Base::Tilde(24)),
];

const MODIFIERS: [(&str, u8); 7] =
    [("c", CTRL), ("ctrl", CTRL), ("m", ALT), ("alt", ALT), ("meta", ALT), ("s", SHIFT), ("shift", SHIFT)];

/// Other names of keys: those of tmux, and those with a dash.
const ALIASES: [(&str, &str); 16] = [
    ("btab", "tab"),
    ("ppage", "pageup"),
    ("pgup", "pageup"),
    ("page-up", "pageup"),
    ("npage", "pagedown"),
    ("pgdn", "pagedown"),
    ("page-down", "pagedown"),
    ("ic", "insert"),
    ("ins", "insert"),
    ("dc", "delete"),
    ("del", "delete"),
    ("arrow-up", "up"),
    ("arrow-down", "down"),
    ("arrow-left", "left"),
    ("arrow-right", "right"),
    ("cr", "enter"),
];

impl Key {
    /// Parses `C-c`, `^C`, `ctrl-c`, `ctrl+c`, `M-x`, `alt-x`, `S-Tab`, `Up`, `arrow-up`, `F5`, or a single
    /// character.
    ///
    /// # Errors
    /// A message that says which names there are.
    pub(super) fn parse(name: &str) -> Result<Key, String> {
        let (mut rest, mut modifiers) = (name, 0);
        loop {
            let lower = rest.to_ascii_lowercase();
            let prefix = MODIFIERS.into_iter().find(|(prefix, _)| {
                let after = lower.strip_prefix(prefix).and_then(|rest| rest.strip_prefix(['-', '+']));
                after.is_some_and(|rest| !rest.is_empty())
            });
            if let Some((prefix, modifier)) = prefix {
                modifiers |= modifier;
                rest = &rest[prefix.len() + 1..];
            } else if rest.len() > 1 && rest.starts_with('^') {
                modifiers |= CTRL;
                rest = &rest[1..];
            } else {
                break;
            }
        }
        let lower = rest.to_ascii_lowercase();
        let lower =
            ALIASES.iter().find(|(alias, _)| *alias == lower).map_or(lower.as_str(), |(_, name)| name);
        modifiers |= if rest.eq_ignore_ascii_case("btab") { SHIFT } else { 0 };
        let mut characters = rest.chars();
        let base = match (characters.next(), characters.next()) {
            (Some(character), None) => Base::Char(character),
            _ => NAMED.iter().find(|(name, _)| *name == lower).map(|(_, base)| *base).ok_or_else(|| {
                format!(
                    "no key is called '{name}'; keys are C-c, M-x, Enter, Tab, Escape, Space, Backspace, Up, Down, \
                     Left, Right, Home, End, PageUp, PageDown, Insert, Delete, F1 to F12, or a single character"
                )
            })?,
        };
        let key = Key { base, modifiers };
        if key.bytes().is_empty() {
            Err(format!("'{name}' is no key that a terminal can send"))
        } else {
            Ok(key)
        }
    }

    /// What a terminal in its default modes sends; empty when it sends nothing for this key.
    pub(super) fn bytes(self) -> Vec<u8> {
        self.bytes_in(false)
    }

    /// What a terminal sends whose program has switched to application cursor keys (DECCKM), or has not.
    pub(super) fn bytes_in(self, application_cursor: bool) -> Vec<u8> {
        let Key { base, modifiers } = self;
        match base {
            Base::Letter(last @ b'A'..=b'H') if modifiers == 0 && application_cursor => {
                vec![0x1b, b'O', last]
            }
            Base::Char('\t') if modifiers & SHIFT != 0 => b"\x1b[Z".to_vec(),
            Base::Char(character) => {
                let mut bytes = Vec::new();
                if modifiers & ALT != 0 {
                    bytes.push(0x1b);
                }
                if modifiers & CTRL != 0 {
                    let Some(control) = control(character) else { return Vec::new() };
                    bytes.push(control);
                } else {
                    let character =
                        if modifiers & SHIFT != 0 { character.to_ascii_uppercase() } else { character };
                    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                bytes
            }
            Base::Letter(last @ b'P'..=b'S') if modifiers == 0 => vec![0x1b, b'O', last],
            Base::Letter(last) if modifiers == 0 => vec![0x1b, b'[', last],
            Base::Letter(last) => format!("\x1b[1;{}{}", modifiers + 1, char::from(last)).into_bytes(),
            Base::Tilde(number) if modifiers == 0 => format!("\x1b[{number}~").into_bytes(),
            Base::Tilde(number) => format!("\x1b[{number};{}~", modifiers + 1).into_bytes(),
        }
    }

    /// Whether a terminal that sends `bytes` means this key, in the plain encoding, in that of kitty's keyboard
    /// protocol (`ESC [ code ; modifiers u`) or of xterm's modifyOtherKeys (`ESC [ 27 ; modifiers ; code ~`):
    /// programs switch these on, and the key must still be found.
    pub(super) fn is(self, bytes: &[u8]) -> bool {
        if bytes == self.bytes() {
            return true;
        }
        let (Base::Char(character), Some(csi)) = (self.base, Csi::parse(bytes)) else { return false };
        let numbers: Vec<u32> = csi.numbers().collect();
        let (code, modifiers) = match (csi.marker, csi.last, &numbers[..]) {
            (0, b'u', [code]) => (*code, 1),
            (0, b'u', [code, modifiers, ..]) => (*code, *modifiers),
            (0, b'~', [27, modifiers, code]) => (*code, *modifiers),
            _ => return false,
        };
        // Event type 3 after a colon is the release of the key.
        let released =
            csi.params.split(|byte| *byte == b';').nth(1).is_some_and(|param| param.ends_with(b":3"));
        // Caps lock (64) and num lock (128) change nothing.
        let modifiers = modifiers.saturating_sub(1) & 0x3f;
        !released
            && code == u32::from(character.to_ascii_lowercase())
            && modifiers == u32::from(self.modifiers)
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (modifier, name) in [(CTRL, "Ctrl-"), (ALT, "Alt-"), (SHIFT, "Shift-")] {
            if self.modifiers & modifier != 0 {
                f.write_str(name)?;
            }
        }
        match NAMED.iter().find(|(_, base)| *base == self.base) {
            Some((name, _)) => f.write_str(name),
            None => match self.base {
                Base::Char(character) => write!(f, "{character}"),
                Base::Letter(_) | Base::Tilde(_) => Ok(()),
            },
        }
    }
}

fn control(character: char) -> Option<u8> {
    match character {
        '@'..='_' | 'a'..='z' => Some(character as u8 & 0x1f),
        ' ' | '2' => Some(0),
        '?' => Some(0x7f),
        '/' => Some(0x1f),
        _ => None,
    }
}

/// The detach sequence: keys separated by commas, or `none`.
///
/// # Errors
/// A message that says what is wrong.
pub(super) fn parse_sequence(text: &str) -> Result<Vec<Key>, String> {
    if text == "none" || text.is_empty() {
        return Ok(Vec::new());
    }
    let keys = text.split(',').map(Key::parse).collect::<Result<Vec<_>, _>>()?;
    match keys.first() {
        Some(Key { base: Base::Char(_), modifiers }) if modifiers & (CTRL | ALT) == 0 => {
            Err(format!("'{text}' would swallow a plain key; begin with one like C-\\ or C-a"))
        }
        _ if keys.len() > CLI_DETACH_KEYS_MAX => {
            Err(format!("at most {CLI_DETACH_KEYS_MAX} keys can detach"))
        }
        _ => Ok(keys),
    }
}

/// The sequence as it is shown to the user.
pub(super) fn describe(keys: &[Key]) -> String {
    keys.iter().map(Key::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_what_a_terminal_sends() {
        for (name, bytes) in [
            ("a", "a"),
            ("é", "é"),
            ("C-c", "\x03"),
            ("^C", "\x03"),
            ("ctrl-c", "\x03"),
            ("C-\\", "\x1c"),
            ("C-Space", "\0"),
            ("M-x", "\x1bx"),
            ("C-M-a", "\x1b\x01"),
            ("Enter", "\r"),
            ("tab", "\t"),
            ("S-Tab", "\x1b[Z"),
            ("Escape", "\x1b"),
            ("Up", "\x1b[A"),
            ("C-Up", "\x1b[1;5A"),
            ("F1", "\x1bOP"),
            ("S-F5", "\x1b[15;2~"),
            ("Delete", "\x1b[3~"),
            ("^", "^"),
            ("-", "-"),
            ("+", "+"),
            ("C--", ""),
            ("ctrl+c", "\x03"),
            ("Ctrl+Shift+Up", "\x1b[1;6A"),
            ("alt+x", "\x1bx"),
            ("arrow-left", "\x1b[D"),
            ("page-up", "\x1b[5~"),
            ("PPage", "\x1b[5~"),
            ("DC", "\x1b[3~"),
            ("BTab", "\x1b[Z"),
            ("C-+", ""),
        ] {
            let sent = Key::parse(name).map(Key::bytes).unwrap_or_default();
            assert_eq!(String::from_utf8(sent).unwrap(), bytes, "{name}");
        }
        assert!(Key::parse("Foo").unwrap_err().contains("'Foo'"));
        for (name, bytes) in [("Up", "\x1bOA"), ("Home", "\x1bOH"), ("C-Up", "\x1b[1;5A"), ("F1", "\x1bOP")] {
            let sent = Key::parse(name).unwrap().bytes_in(true);
            assert_eq!(String::from_utf8(sent).unwrap(), bytes, "{name} with application cursor keys");
        }
    }

    #[test]
    fn a_key_is_known_in_every_encoding_but_not_when_released() {
        let key = Key::parse("C-\\").unwrap();
        assert!(
            key.is(b"\x1c") && key.is(b"\x1b[92;5u") && key.is(b"\x1b[27;5;92~") && key.is(b"\x1b[92;133u")
        );
        assert!(!key.is(b"\x1b[92;5:3u") && !key.is(b"\x1b[92;6u") && !key.is(b"\\") && !key.is(b"\x1b[92u"));
    }

    #[test]
    fn a_detach_sequence_begins_with_a_modified_key() {
        assert_eq!(describe(&parse_sequence("C-a,d").unwrap()), "Ctrl-a d");
        assert_eq!(parse_sequence("none").unwrap(), []);
        assert!(parse_sequence("d").is_err());
        assert!(parse_sequence("C-a,b,c,d,e").is_err());
    }
}
