//! What a pane shows of a terminal's title (terminal protocol, "Pane titles").

use std::time::Instant;

use crate::limits::{TITLE_CHARS_MAX, TITLE_HOLD};

/// What an activity glyph in a title means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A spinner turns.
    Working,
    /// An agent waits at its prompt.
    Idle,
}

/// A title without control and formatting characters, cut at [`TITLE_CHARS_MAX`]: what may be shown to people.
pub fn clean(raw: &str) -> String {
    raw.chars().filter(|c| !is_unsafe(*c)).take(TITLE_CHARS_MAX).collect()
}

/// A title as it is recorded on panes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Without its activity glyph; `None` when the program set none, or cleared it.
    pub title: Option<String>,
    /// What the glyph meant; `None` for any other title.
    pub activity: Option<Activity>,
}

impl Recorded {
    /// Reads a title as the program set it. Control and formatting characters are dropped, and it is cut
    /// at [`TITLE_CHARS_MAX`].
    pub fn parse(raw: &str) -> Recorded {
        let clean: String = raw.chars().filter(|c| !is_unsafe(*c)).collect();
        let clean = clean.trim();
        let braille_word = |word: &str| {
            let mut chars = word.chars();
            chars.next().is_some_and(is_braille) && chars.next().is_none()
        };
        let first = clean.chars().next();
        let activity = match first {
            Some(c) if is_braille(c) || "◐◓◑◒".contains(c) => Some(Activity::Working),
            _ if clean.split_whitespace().any(braille_word) => Some(Activity::Working),
            Some('✳') => Some(Activity::Idle),
            _ => None,
        };
        let text = match first {
            Some(c) if is_braille(c) || "·✢✳✶✻✽◐◓◑◒".contains(c) => {
                let rest = &clean[c.len_utf8()..];
                if rest.is_empty() { rest } else { rest.strip_prefix(' ').unwrap_or(clean) }
            }
            _ => clean,
        };
        // A braille frame standing as a word of its own would change the title with each turn.
        let text = match text.split(' ').any(braille_word) {
            true => text.split(' ').filter(|word| !braille_word(word)).collect::<Vec<_>>().join(" "),
            false => text.to_owned(),
        };
        let title: String = text.trim().chars().take(TITLE_CHARS_MAX).collect();
        Recorded { title: (!title.is_empty()).then_some(title), activity }
    }
}

fn is_braille(c: char) -> bool {
    ('\u{2800}'..='\u{28FF}').contains(&c)
}

/// Controls (C0, DEL, C1), separators and the marks that reorder or hide text.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{61C}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}')
}

/// A title counts once it has stood still for [`TITLE_HOLD`].
#[derive(Default)]
pub struct TitleHold {
    recorded: Recorded,
    candidate: Option<(Recorded, Instant)>,
}

impl TitleHold {
    /// The program's title is now `raw`.
    pub fn propose(&mut self, raw: &str, now: Instant) {
        let seen = Recorded::parse(raw);
        if seen == self.recorded {
            self.candidate = None;
        } else if self.candidate.as_ref().is_none_or(|(held, _)| *held != seen) {
            self.candidate = Some((seen, now));
        }
    }

    /// When the candidate has held long enough.
    pub fn deadline(&self) -> Option<Instant> {
        self.candidate.as_ref().map(|(_, since)| *since + TITLE_HOLD)
    }

    /// Records what has held; true when that changed something.
    pub fn settle(&mut self, now: Instant) -> bool {
        let held = self.candidate.take_if(|(_, since)| *since + TITLE_HOLD <= now);
        held.map(|(seen, _)| self.recorded = seen).is_some()
    }

    /// The terminal has ended: nothing is shown any more. True when something was.
    pub fn end(&mut self) -> bool {
        self.candidate = None;
        std::mem::take(&mut self.recorded) != Recorded::default()
    }

    /// What panes show.
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn parsed(raw: &str) -> (Option<String>, Option<Activity>) {
        let Recorded { title, activity } = Recorded::parse(raw);
        (title, activity)
    }

    /// Titles at milliseconds -> what is recorded by `until`, with the moment it was.
    fn recorded(titles: &[(u64, &str)], until: u64) -> Vec<(u64, String)> {
        let (mut hold, start, mut out) = (TitleHold::default(), Instant::now(), Vec::new());
        let mut titles = titles.iter().peekable();
        for ms in 0..=until {
            let now = start + Duration::from_millis(ms);
            while let Some((_, title)) = titles.next_if(|(at, _)| *at == ms) {
                hold.propose(title, now);
            }
            if hold.settle(now) {
                out.push((ms, hold.recorded().title.clone().unwrap_or_default()));
            }
        }
        out
    }

    #[test]
    fn a_title_is_recorded_when_it_has_held_for_half_a_second() {
        assert_eq!(recorded(&[(0, "vi"), (100, "vi"), (120, "make")], 700), [(620, "make".into())]);
    }

    #[test]
    fn a_title_that_keeps_changing_is_never_recorded() {
        assert_eq!(recorded(&[(0, "a"), (400, "b"), (800, "c")], 1299), []);
    }

    #[test]
    fn a_cleared_title_is_removed() {
        assert_eq!(recorded(&[(0, "vi"), (600, "")], 1200), [(500, "vi".into()), (1100, "".into())]);
    }

    #[test]
    fn a_spinner_is_recorded_once() {
        let frames: Vec<(u64, String)> =
            (0..20).map(|i| (i * 80, format!("{} Claude Code", ['⠋', '⠙', '⠹'][i as usize % 3]))).collect();
        let frames: Vec<(u64, &str)> = frames.iter().map(|(at, t)| (*at, t.as_str())).collect();
        assert_eq!(recorded(&frames, 3000), [(500, "Claude Code".into())]);
    }

    #[test]
    fn glyphs_tell_the_activity_and_leave_the_title() {
        let working = Some(Activity::Working);
        assert_eq!(parsed("✳ Claude Code"), (Some("Claude Code".into()), Some(Activity::Idle)));
        assert_eq!(parsed("⠋ Claude Code"), (Some("Claude Code".into()), working));
        assert_eq!(parsed("◐ build"), (Some("build".into()), working));
        assert_eq!(parsed("codex ⠙ thinking"), (Some("codex thinking".into()), working));
        assert_eq!(parsed("· Claude"), (Some("Claude".into()), None));
        assert_eq!(parsed("✶x"), (Some("✶x".into()), None), "no space: part of the title");
        assert_eq!(
            parsed("✳ ✳ two"),
            (Some("✳ two".into()), Some(Activity::Idle)),
            "a single one is dropped"
        );
        assert_eq!(parsed("vim a.rs"), (Some("vim a.rs".into()), None));
        assert_eq!(parsed(""), (None, None));
    }

    #[test]
    fn hostile_titles_are_clean_and_short() {
        let (title, _) = parsed(&format!("a\u{1b}]0;\u{7}b\u{9c}\u{202e}\n{}", "x".repeat(100_000)));
        let title = title.unwrap();
        assert_eq!(title.chars().count(), TITLE_CHARS_MAX);
        assert!(title.starts_with("a]0;b") && !title.chars().any(is_unsafe));
    }
}
