//! Answers to a program's queries, as the client would give them: never more than xterm.js 6.0 has.

use super::Screen;
use super::modes::{Mouse, MouseEncoding};
use super::style::{flag, put_number};

/// Text, background and cursor of xterm.js when no theme is set.
const DEFAULT_SPECIAL: [[u8; 3]; 3] = [[0xff; 3], [0; 3], [0xff; 3]];

impl Screen {
    fn answer(&mut self, parts: &[&[u8]]) {
        if self.answering {
            self.answers.extend(parts.iter().copied().flatten());
        }
    }

    /// DA1 and DA2: a VT100 with advanced video; xterm, patch level 276.
    pub(super) fn answer_attributes(&mut self, secondary: bool, what: i32) {
        if what == 0 {
            self.answer(&[if secondary { b"\x1b[>0;276;0c" } else { b"\x1b[?1;2c" }]);
        }
    }

    /// XTVERSION. xterm.js itself leaves it to its host program, which is us.
    pub(super) fn answer_version(&mut self, what: i32) {
        if what == 0 {
            self.answer(&[b"\x1bP>|xterm.js(6.0.0)\x1b\\"]);
        }
    }

    /// DSR: 5 asks whether all is well, 6 where the cursor is.
    pub(super) fn answer_status(&mut self, private: bool, what: i32) {
        match what {
            5 if !private => self.answer(&[b"\x1b[0n"]),
            6 => {
                let (x, y) = (self.active().x, self.active().y);
                let mut answer = Vec::from(if private { b"\x1b[?".as_slice() } else { b"\x1b[" });
                put_number(u32::from(y) + 1, &mut answer);
                answer.push(b';');
                put_number(u32::from(x) + 1, &mut answer);
                answer.push(b'R');
                self.answer(&[&answer]);
            }
            _ => {}
        }
    }

    /// DECRQM: 0 unknown, 1 set, 2 reset, 3 and 4 the same for ever.
    pub(super) fn answer_mode(&mut self, private: bool, number: i32) {
        let modes = &self.modes;
        let is = |on: bool| if on { 1 } else { 2 };
        let state = match (private, number) {
            (false, 2) => 4,
            (false, 4) => is(modes.insert),
            (false, 12) => 3,
            (false, 20) => is(modes.line_feed_returns),
            (false, _) => 0,
            (true, 1) => is(modes.application_cursor),
            (true, 6) => is(modes.origin),
            (true, 7) => is(modes.wrap),
            (true, 8) => 3,
            (true, 9) => is(modes.mouse == Mouse::Press),
            (true, 12) => is(modes.cursor_blink.unwrap_or(false)),
            (true, 25) => is(!modes.cursor_hidden),
            (true, 45) => is(modes.reverse_wrap),
            (true, 66) => is(modes.application_keypad),
            (true, 67 | 1005 | 1015) => 4,
            (true, 1000) => is(modes.mouse == Mouse::PressRelease),
            (true, 1002) => is(modes.mouse == Mouse::Drag),
            (true, 1003) => is(modes.mouse == Mouse::Any),
            (true, 1004) => is(modes.focus),
            (true, 1006) => is(modes.mouse_encoding == MouseEncoding::Sgr),
            (true, 1016) => is(modes.mouse_encoding == MouseEncoding::SgrPixels),
            (true, 1048) => 1,
            (true, 47 | 1047 | 1049) => is(self.on_alternate),
            (true, 2004) => is(modes.bracketed_paste),
            (true, 2026) => is(modes.synchronized),
            (true, _) => 0,
        };
        let mut answer = Vec::from(if private { b"\x1b[?".as_slice() } else { b"\x1b[" });
        put_number(number as u32, &mut answer);
        answer.extend_from_slice(&[b';', b'0' + state]);
        self.answer(&[&answer, b"$y"]);
    }

    /// DECRQSS, the only device control string that means anything here.
    pub(super) fn answer_setting(&mut self) {
        const DECRQSS: u32 = (b'$' as u32) << 8 | b'q' as u32;
        if self.sequence.dcs != DECRQSS {
            return;
        }
        let mut answer = Vec::from(b"\x1bP1$r");
        match self.sequence.payload() {
            Some(b"\"q") => {
                answer.push(b'0' + u8::from(self.pen.flags & flag::PROTECTED != 0));
                answer.extend_from_slice(b"\"q");
            }
            Some(b"\"p") => answer.extend_from_slice(b"61;1\"p"),
            Some(b"r") => {
                let (top, bottom) = (self.active().top, self.active().bottom);
                put_number(u32::from(top) + 1, &mut answer);
                answer.push(b';');
                put_number(u32::from(bottom) + 1, &mut answer);
                answer.push(b'r');
            }
            Some(b"m") => answer.extend_from_slice(b"0m"),
            // The shape of xterm.js's option, which DECSCUSR does not change: a block.
            Some(b" q") => {
                answer.push(b'2' - u8::from(self.modes.cursor_blink == Some(true)));
                answer.extend_from_slice(b" q");
            }
            _ => answer = Vec::from(b"\x1bP0$r"),
        }
        self.answer(&[&answer, b"\x1b\\"]);
    }

    /// OSC 10, 11 and 12 with a question mark.
    pub(super) fn answer_color(&mut self, which: usize) {
        let color = self.colors.special[which].unwrap_or(DEFAULT_SPECIAL[which]);
        let [r, g, b] = color.map(|n| format!("{n:02x}{n:02x}"));
        self.answer(&[format!("\x1b]{};rgb:{r}/{g}/{b}\x1b\\", 10 + which).as_bytes()]);
    }
}
