//! What a program switched on in the outer terminal, so that it can be switched off again.
//!
//! Most modes are harmless to switch off blindly. Those that are not (leaving an alternate screen that was
//! never entered moves the cursor; popping keyboard flags that the user's own shell pushed breaks its keys)
//! are followed through the output.

use super::scan::{Csi, Piece, Scanner, Writer, string_body};
use crate::limits::{CLI_KEYBOARD_PUSHES_MAX, CLI_SEQUENCE_BYTES_MAX};

/// Off: application cursor keys, reverse video, origin, mouse of every kind and encoding, focus reports,
/// paste brackets, in-band resize, colour scheme reports, synchronized output, margins. On: wrap, cursor.
const MODES_OFF: &[u8] =
    b"\x1b[?2026l\x1b[?1;5;6;9;69;1000;1001;1002;1003;1004;1005;1006;1015;1016;2004;2031;2048l\x1b[?7;25h";
/// Insert and newline mode off, numeric keypad, ASCII in both sets and shifted in, modifyOtherKeys off, the
/// terminal's own cursor, plain text, no open link.
const REST_OFF: &[u8] = b"\x1b[4;20l\x1b>\x1b(B\x1b)B\x0f\x1b[>4m\x1b[0 q\x1b[m\x1b]8;;\x1b\\";
const CAN: u8 = 0x18;

/// The outer terminal's state as far as it must be known.
pub(super) struct OuterModes {
    scanner: Scanner,
    seen: Seen,
}

#[derive(Default)]
struct Seen {
    /// The number of the private mode that entered the alternate screen.
    alternate: Option<u32>,
    /// Entries on the kitty keyboard stack of the main and of the alternate screen.
    keyboard: [u32; 2],
    /// DECSTBM, DECSLRM: resetting them moves the cursor.
    margins: bool,
    tab_stops: bool,
    /// OSC numbers that undo a colour: 104, 110..=119.
    colours: Vec<&'static str>,
}

impl OuterModes {
    pub(super) fn new() -> OuterModes {
        OuterModes { scanner: Scanner::new(Writer::Program, CLI_SEQUENCE_BYTES_MAX), seen: Seen::default() }
    }

    /// Takes what was written to the outer terminal.
    pub(super) fn observe(&mut self, output: &[u8]) {
        let OuterModes { scanner, seen } = self;
        scanner.feed(output, &mut |piece| {
            if let Piece::Sequence(sequence) = piece {
                seen.observe(sequence);
            }
        });
    }

    /// Whether the output stands inside a sequence.
    pub(super) fn inside(&self) -> bool {
        self.scanner.inside()
    }

    /// Appends what gives the user's terminal back as it was, and forgets all that was seen.
    pub(super) fn put_restore(&mut self, out: &mut Vec<u8>) {
        if self.scanner.inside() {
            // Aborts the sequence that output ended in; an ESC alone would commit half a title or clipboard.
            out.push(CAN);
            self.scanner.take_held();
        }
        let seen = std::mem::take(&mut self.seen);
        out.extend_from_slice(MODES_OFF);
        put_keyboard_pops(seen.keyboard[usize::from(seen.alternate.is_some())], out);
        if seen.margins {
            out.extend_from_slice(b"\x1b7\x1b[r\x1b8");
        }
        if let Some(mode) = seen.alternate {
            out.extend_from_slice(format!("\x1b[?{mode}l").as_bytes());
            put_keyboard_pops(seen.keyboard[0], out);
        }
        out.extend_from_slice(REST_OFF);
        if seen.tab_stops {
            out.extend_from_slice(b"\x1b[?5W");
        }
        for number in seen.colours {
            out.extend_from_slice(format!("\x1b]{number}\x1b\\").as_bytes());
        }
    }
}

fn put_keyboard_pops(pushes: u32, out: &mut Vec<u8>) {
    if pushes > 0 {
        out.extend_from_slice(format!("\x1b[<{pushes}u").as_bytes());
    }
}

impl Seen {
    fn observe(&mut self, sequence: &[u8]) {
        match sequence {
            b"\x1bc" => return *self = Seen::default(),
            b"\x1bH" => self.tab_stops = true,
            _ => {}
        }
        if let Some((b']', body)) = string_body(sequence) {
            self.observe_osc(body);
        }
        let Some(csi) = Csi::parse(sequence) else { return };
        let count = csi.numbers().next().unwrap_or(0);
        let screen = usize::from(self.alternate.is_some());
        match (csi.marker, csi.intermediates, csi.last) {
            (b'?', b"", b'h') => {
                if let Some(mode) = csi.numbers().find(|mode| matches!(mode, 47 | 1047 | 1049)) {
                    self.alternate.get_or_insert(mode);
                }
            }
            (b'?', b"", b'l') if csi.numbers().any(|mode| matches!(mode, 47 | 1047 | 1049)) => {
                self.alternate = None;
            }
            (b'>', b"", b'u') => {
                self.keyboard[screen] = (self.keyboard[screen] + 1).min(CLI_KEYBOARD_PUSHES_MAX);
            }
            (b'<', b"", b'u') => {
                self.keyboard[screen] = self.keyboard[screen].saturating_sub(count.max(1));
            }
            // Set without a push: one pop more than was pushed empties the stack, which clears the flags.
            (b'=', b"", b'u') => self.keyboard[screen] = self.keyboard[screen].max(1),
            (0, b"", b'r') => self.margins = true,
            (0, b"", b'g') => self.tab_stops = true,
            (0, b"!", b'p') => self.margins = false,
            _ => {}
        }
    }

    fn observe_osc(&mut self, body: &[u8]) {
        let mut fields = body.splitn(2, |byte| *byte == b';');
        let undo = match fields.next().unwrap_or_default() {
            b"4" => "104",
            b"10" => "110",
            b"11" => "111",
            b"12" => "112",
            b"17" => "117",
            b"19" => "119",
            _ => return,
        };
        let is_query = fields.next().is_none_or(|rest| rest.ends_with(b"?"));
        if !is_query && !self.colours.contains(&undo) {
            self.colours.push(undo);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is sent at the end when a program wrote `output`, beyond what is always sent.
    fn restored(output: &str) -> String {
        let (mut modes, mut out) = (OuterModes::new(), Vec::new());
        for byte in output.as_bytes() {
            modes.observe(&[*byte]);
        }
        modes.put_restore(&mut out);
        let text = String::from_utf8(out).unwrap();
        let always = [MODES_OFF, REST_OFF].map(|bytes| std::str::from_utf8(bytes).unwrap());
        assert!(always.iter().all(|part| text.contains(part)), "{text:?}");
        text.replace(always[0], "").replace(always[1], "")
    }

    #[test]
    fn a_plain_program_leaves_only_what_is_harmless_to_switch_off() {
        assert_eq!(restored("hello\r\n\x1b[1;31mred\x1b[m"), "");
    }

    #[test]
    fn mouse_paste_focus_and_cursor_are_always_put_back() {
        let (mut modes, mut out) = (OuterModes::new(), Vec::new());
        modes.put_restore(&mut out);
        let text = String::from_utf8(out).unwrap();
        for mode in [1, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 2004] {
            assert!(text.contains(&format!(";{mode};")) || text.contains(&format!("?{mode};")), "{mode}");
        }
        assert!(text.contains("\x1b[?7;25h") && text.contains("\x1b>") && text.contains("\x1b[0 q"));
        assert!(text.contains("\x1b[>4m") && text.contains("\x1b(B") && text.contains("\x0f"));
    }

    #[test]
    fn the_alternate_screen_is_left_the_way_it_was_entered() {
        assert_eq!(restored("\x1b[?1049h"), "\x1b[?1049l");
        assert_eq!(restored("\x1b[?25;47h"), "\x1b[?47l");
        assert_eq!(restored("\x1b[?1049h\x1b[?1049l"), "");
        assert_eq!(restored("\x1b[?1049h\x1bc"), "");
    }

    #[test]
    fn keyboard_flags_are_popped_as_often_as_they_were_pushed_on_each_screen() {
        assert_eq!(restored("\x1b[>1u"), "\x1b[<1u");
        assert_eq!(restored("\x1b[>1u\x1b[>5u\x1b[<u"), "\x1b[<1u");
        assert_eq!(restored("\x1b[>1u\x1b[<9u"), "");
        assert_eq!(restored("\x1b[>1u\x1b[?1049h\x1b[>1u\x1b[>3u"), "\x1b[<2u\x1b[?1049l\x1b[<1u");
    }

    #[test]
    fn margins_colours_and_tab_stops_are_reset_when_they_were_set() {
        assert_eq!(restored("\x1b[2;5r"), "\x1b7\x1b[r\x1b8");
        assert_eq!(
            restored("\x1b]11;red\x07\x1b]11;?\x07\x1b]4;1;blue\x1b\\"),
            "\x1b]111\x1b\\\x1b]104\x1b\\"
        );
        assert_eq!(restored("\x1b]10;?\x07"), "");
        assert_eq!(restored("\x1b[3g"), "\x1b[?5W");
    }

    #[test]
    fn a_sequence_under_way_is_aborted_first() {
        assert_eq!(restored("\x1b]52;c;QUFB"), "\x18");
    }
}
