//! The screen model: what a client that saw all output would show, kept so that it can be told again.
//!
//! The client decides what is right: xterm.js 6.0 with its Unicode 11 widths, followed to its corners.
//! Bytes go through a parser of our own (`sequence`) to the state of our own: cursor, pen, modes, scroll
//! regions, tab stops, character sets, saved cursors, colours, titles, links. Cells are kept as lines,
//! and rows that are overwritten in their middle in vt100's grid (`paint`, the only file that names
//! vt100). Not kept are images (sixel, kitty, iTerm): a reset shows the text without them.
//!
//! Nothing here grows with what a program sends: see the bounds in [`crate::limits`].

mod answers;
mod buffer;
mod charset;
mod colors;
mod control;
mod frames;
mod line;
mod links;
mod modes;
mod osc;
mod paint;
mod print;
mod reflow;
mod reset;
mod row;
mod sequence;
mod skip;
mod strings;
mod style;
mod width;
mod width_table;

use std::collections::VecDeque;

use self::strings::StringSpans;
use super::size::GridSize;
use crate::limits::SEQUENCE_BYTES_MAX;
use buffer::Buffer;
use charset::{ASCII, Charset};
use colors::Colors;
use line::{Cell, Line, Shape};
use links::Links;
use modes::{Keyboard, Modes};
use paint::Paint;
use row::Row;
use sequence::{Action, Sequence, State};
use skip::Scout;
use style::{Pen, Style};

/// The screen of one terminal.
pub struct Screen {
    cols: u16,
    rows: u16,
    normal: Buffer,
    alternate: Buffer,
    on_alternate: bool,
    /// Lines above the normal screen, oldest first.
    history: VecDeque<Line>,
    history_max: usize,
    paint: Paint,
    pen: Pen,
    /// The pen's style, for cells printed now.
    style: Style,
    modes: Modes,
    charsets: [Charset; 4],
    /// Which of `charsets` is shifted in, and the set in use: DECRC restores the latter alone.
    level: u8,
    charset: Charset,
    /// Columns of the character printed last, 0 after anything else. Only right after a character can
    /// another one join it, or REP repeat it.
    join: u8,
    /// Bytes that joined it.
    joined_bytes: usize,
    sequence: Sequence,
    /// The start of a character whose rest has not come.
    partial: [u8; 4],
    partial_len: usize,
    links: Links,
    colors: Colors,
    title: Option<String>,
    titles: Vec<String>,
    cwd: Option<String>,
    keyboard: [Keyboard; 2],
    answers: Vec<u8>,
    answering: bool,
    /// Bytes fed so far: the stream's position at the end of what is being taken.
    fed: u64,
    strings: StringSpans,
    scout: Scout,
}

impl Screen {
    /// A blank screen that keeps `scrollback_lines_max` lines above it.
    pub fn new(size: GridSize, scrollback_lines_max: usize) -> Screen {
        let (cols, rows) = (size.cols(), size.rows());
        let mut normal = Buffer::new(cols, rows);
        normal.fill(rows, &Style::default());
        Screen {
            cols,
            rows,
            normal,
            alternate: Buffer::new(cols, rows),
            on_alternate: false,
            history: VecDeque::new(),
            history_max: scrollback_lines_max,
            paint: Paint::new(cols),
            pen: Pen::default(),
            style: Style::default(),
            modes: Modes::new(),
            charsets: [ASCII; 4],
            level: 0,
            charset: ASCII,
            join: 0,
            joined_bytes: 0,
            sequence: Sequence::new(SEQUENCE_BYTES_MAX),
            partial: [0; 4],
            partial_len: 0,
            links: Links::default(),
            colors: Colors::default(),
            title: None,
            titles: Vec::new(),
            cwd: None,
            keyboard: [Keyboard::default(), Keyboard::default()],
            answers: Vec::new(),
            answering: false,
            fed: 0,
            strings: StringSpans::default(),
            scout: Scout::new(cols, rows),
        }
    }

    /// Takes the next bytes of the stream: UTF-8, cut at any byte (what is no UTF-8 counts as U+FFFD).
    /// With `replies`, the answers to terminal queries in them are appended there.
    pub fn feed(&mut self, bytes: &[u8], replies: Option<&mut Vec<u8>>) {
        self.answering_to(replies, |screen| screen.take(bytes));
    }

    fn answering_to<T>(&mut self, replies: Option<&mut Vec<u8>>, take: impl FnOnce(&mut Screen) -> T) -> T {
        self.answering = replies.is_some();
        let taken = take(self);
        if let Some(replies) = replies {
            replies.append(&mut self.answers);
        }
        self.answering = false;
        self.collect();
        taken
    }

    /// Takes bytes up to the first place between two sequences and returns how many that were (none,
    /// when the screen is there already); all of them were taken when there is no such place.
    pub fn feed_to_ground(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while taken < bytes.len() && !self.at_ground() {
            let len = self.payload_run(&bytes[taken..]);
            self.take(&bytes[taken..taken + len]);
            taken += len;
        }
        taken
    }

    /// Bytes to take next inside a sequence, so that a place between two sequences is not missed.
    fn payload_run(&self, bytes: &[u8]) -> usize {
        let run = if self.sequence.state.is_string() { print::ascii_run(bytes) } else { 1 };
        run.max(1)
    }

    /// True between two escape sequences (and two characters).
    pub fn at_ground(&self) -> bool {
        self.sequence.state == State::Ground && self.partial_len == 0
    }

    /// Whether a reader that has everything up to byte `cursor` of the stream is inside a control string, so
    /// that it must be given CAN before a reset.
    pub fn is_inside_string(&self, cursor: u64) -> bool {
        self.strings.holds(cursor)
    }

    /// Appends what makes a fresh emulator equal to this screen. Starts with `ESC c`.
    pub fn put_reset(&mut self, out: &mut Vec<u8>) {
        self.put_vt(usize::MAX, out);
    }

    /// At most `lines` lines of scrollback and the screen, as plain text; wrapped lines are joined.
    pub fn text(&mut self, lines: usize) -> String {
        let mut text = String::new();
        let mut blank_end = 0;
        let skipped = self.history.len() - lines.min(self.history.len());
        let (buffer, paint) = if self.on_alternate {
            (&self.alternate, &mut self.paint)
        } else {
            (&self.normal, &mut self.paint)
        };
        let cols = self.cols;
        let mut end = 0;
        let mut put = |line: &Line, first: bool, joins: bool| {
            if !first && line.wrapped && joins {
                // Blanks at a row's end count when it goes on, but for the one a wide character left.
                let wide = line
                    .pieces()
                    .next()
                    .is_some_and(|piece| matches!(piece.shape, Shape::Cluster { wide: true, .. }));
                let missing = cols - end;
                let missing = if wide && missing == 1 { 0 } else { missing };
                text.extend(std::iter::repeat_n(' ', missing.into()));
            } else if !first {
                text.truncate(text.trim_end_matches(' ').len());
                text.push('\n');
            }
            end = put_text(line, cols, &mut text);
            if !text.ends_with('\n') {
                blank_end = text.len();
            }
        };
        for (i, line) in self.history.iter().skip(skipped).enumerate() {
            put(line, i == 0, true);
        }
        for (i, row) in buffer.rows.iter().enumerate() {
            let first = i == 0 && skipped == self.history.len();
            put(&row.to_line(paint, buffer.len), first, i > 0 || !self.on_alternate);
        }
        text.truncate(blank_end);
        text.truncate(text.trim_end_matches([' ', '\n']).len());
        text
    }

    /// The window title (OSC 0, OSC 2), as the program wrote it; empty when there is none.
    pub fn title(&self) -> &str {
        self.title.as_deref().unwrap_or_default()
    }

    /// The working directory the shell told (OSC 7), percent-decoded, or `None`.
    pub fn told_cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    /// Row and column of the cursor, from 0. While a wrap is pending it is in the last column.
    pub fn cursor(&self) -> (u16, u16) {
        (self.active().y, self.active().x.min(self.cols - 1))
    }

    /// Whether the cursor is shown (DECTCEM).
    pub fn cursor_visible(&self) -> bool {
        !self.modes.cursor_hidden
    }

    /// Whether the alternate screen is shown.
    pub fn alternate(&self) -> bool {
        self.on_alternate
    }

    /// Whether arrow keys are wanted as `ESC O A` (DECCKM).
    pub fn application_cursor(&self) -> bool {
        self.modes.application_cursor
    }

    /// Lines in the scrollback.
    pub fn scrollback_lines(&self) -> usize {
        self.history.len()
    }

    /// Gives back the memory that only further output would need: painted rows become lines.
    pub fn rest(&mut self) {
        self.unpaint();
        self.collect_links();
        self.sequence.rest();
        self.scout.rest();
    }

    // ---- taking bytes ----

    fn take(&mut self, bytes: &[u8]) {
        self.fed += bytes.len() as u64;
        let mut at = 0;
        while self.partial_len > 0 && at < bytes.len() {
            self.partial[self.partial_len] = bytes[at];
            self.partial_len += 1;
            at += 1;
            let (partial, len) = (self.partial, self.partial_len);
            match first_of_utf8(&partial[..len]) {
                Utf8::Char(c, len) => {
                    self.partial_len = 0;
                    self.take_code(c.into(), &partial[..len]);
                }
                // All but the last byte belong to no character; that one may start the next.
                Utf8::Invalid(_) => {
                    self.partial_len = 0;
                    self.take_code(0xfffd, "\u{fffd}".as_bytes());
                    at -= 1;
                }
                Utf8::Short => {}
            }
            self.strings.note(self.sequence.state.is_string(), self.fed - (bytes.len() - at) as u64);
        }
        while at < bytes.len() {
            at += match self.sequence.state {
                State::Ground => self.take_ground(&bytes[at..]),
                _ => self.take_in_sequence(&bytes[at..]),
            };
            self.strings.note(self.sequence.state.is_string(), self.fed - (bytes.len() - at) as u64);
        }
    }

    /// Takes one run of text, or one control, and returns its bytes.
    fn take_ground(&mut self, bytes: &[u8]) -> usize {
        let ascii = print::ascii_run(bytes);
        match bytes.get(ascii) {
            Some(0x80..) => {}
            _ if ascii > 0 => {
                self.print_ascii(&bytes[..ascii]);
                return ascii;
            }
            Some(0x1b) => {
                if let Some((last, len)) = self.sequence.read_csi(bytes) {
                    self.control_sequence(self.sequence.collect, last.into());
                    return len;
                }
                self.sequence.step(0x1b, b"\x1b");
                return 1;
            }
            Some(0x7f) | None => return 1,
            Some(control) => {
                self.execute(u32::from(*control));
                return 1;
            }
        }
        let end = bytes.iter().position(|b| *b < 0x20 || *b == 0x7f).unwrap_or(bytes.len());
        let valid = match std::str::from_utf8(&bytes[..end]) {
            Ok(text) => text,
            Err(error) => {
                let valid = error.valid_up_to();
                if valid == 0 {
                    return self.take_invalid(&bytes[..end], end == bytes.len());
                }
                std::str::from_utf8(&bytes[..valid]).unwrap_or_default()
            }
        };
        // C1 controls may stand in it, as characters.
        match valid.char_indices().find(|(_, c)| ('\u{80}'..'\u{a0}').contains(c)) {
            Some((0, control)) => {
                self.take_code(control.into(), &bytes[..2]);
                2
            }
            Some((end, _)) => {
                self.print(&valid[..end]);
                end
            }
            None => {
                self.print(valid);
                valid.len()
            }
        }
    }

    /// Bytes that start with no whole character. At the end of all bytes it may be a part of one.
    fn take_invalid(&mut self, bytes: &[u8], at_end: bool) -> usize {
        match first_of_utf8(bytes) {
            Utf8::Short if at_end => {
                self.partial[..bytes.len()].copy_from_slice(bytes);
                self.partial_len = bytes.len();
                bytes.len()
            }
            Utf8::Short => {
                self.take_code(0xfffd, "\u{fffd}".as_bytes());
                bytes.len()
            }
            Utf8::Invalid(len) => {
                self.take_code(0xfffd, "\u{fffd}".as_bytes());
                len
            }
            Utf8::Char(_, len) => len,
        }
    }

    fn take_in_sequence(&mut self, bytes: &[u8]) -> usize {
        let skimmed = self.sequence.skim(bytes);
        if skimmed > 0 {
            return skimmed;
        }
        match bytes[0] {
            byte @ 0..0x80 => {
                self.take_code(byte.into(), &[byte]);
                1
            }
            _ => match first_of_utf8(&bytes[..bytes.len().min(4)]) {
                Utf8::Char(c, len) => {
                    self.take_code(c.into(), &bytes[..len]);
                    len
                }
                _ => {
                    let len = bytes.iter().position(|b| *b < 0x80).unwrap_or(bytes.len()).min(4);
                    self.take_invalid(&bytes[..len], len == bytes.len())
                }
            },
        }
    }

    fn take_code(&mut self, code: u32, bytes: &[u8]) {
        match self.sequence.step(code, bytes) {
            Action::Nothing => {}
            Action::Print => {
                if let Ok(text) = std::str::from_utf8(bytes) {
                    self.print(text);
                }
            }
            Action::Execute => self.execute(code),
            Action::Escape => self.escape(self.sequence.collect, code),
            Action::Csi => self.control_sequence(self.sequence.collect, code),
            Action::Osc => {
                self.command_string();
                self.join = 0;
                if self.sequence.state == State::Escape {
                    self.sequence.begin_escape();
                }
            }
            Action::Dcs => {
                self.answer_setting();
                self.join = 0;
                if self.sequence.state == State::Escape {
                    self.sequence.begin_escape();
                }
            }
        }
    }

    // ---- what the other files stand on ----

    fn size(&self) -> GridSize {
        use std::num::NonZeroU16;
        let side = |n| NonZeroU16::new(n).unwrap_or(NonZeroU16::MIN);
        GridSize { cols: side(self.cols), rows: side(self.rows) }
    }

    fn active(&self) -> &Buffer {
        if self.on_alternate { &self.alternate } else { &self.normal }
    }

    fn active_mut(&mut self) -> &mut Buffer {
        if self.on_alternate { &mut self.alternate } else { &mut self.normal }
    }

    fn active_and_paint(&mut self) -> (&mut Buffer, &mut Paint) {
        let buffer = if self.on_alternate { &mut self.alternate } else { &mut self.normal };
        (buffer, &mut self.paint)
    }

    fn keyboard_mut(&mut self) -> &mut Keyboard {
        &mut self.keyboard[usize::from(self.on_alternate)]
    }

    /// Lines above the active screen.
    fn base(&self) -> usize {
        if self.on_alternate { 0 } else { self.history.len() }
    }

    /// The style of cells that appear by erasing and scrolling.
    fn fill(&self) -> Style {
        Style::background(self.pen.bg)
    }

    fn current_row(&mut self) -> (&mut Row, &mut Paint, u16) {
        let (buffer, paint) = self.active_and_paint();
        let len = buffer.len;
        (buffer.row(buffer.y), paint, len)
    }

    fn current_row_at(&mut self) -> (&mut Row, &mut Paint, u16, u16) {
        let (buffer, paint) = self.active_and_paint();
        let (len, x) = (buffer.len, buffer.x);
        (buffer.row(buffer.y), paint, len, x)
    }

    fn edit_row(&mut self, y: u16, change: impl FnOnce(&mut [Cell])) {
        let (buffer, paint) = self.active_and_paint();
        let len = buffer.len;
        buffer.row(y).edit(paint, len, change);
    }

    /// Forgets numbers of styles and links that no cell has any more, when they are many.
    fn collect(&mut self) {
        let cells = usize::from(self.cols) * usize::from(self.rows);
        if self.paint.is_crowded(cells) {
            self.unpaint();
        }
        if self.links.is_crowded() {
            self.collect_links();
        }
    }

    fn unpaint(&mut self) {
        for buffer in [&mut self.normal, &mut self.alternate] {
            let len = buffer.len;
            for row in &mut buffer.rows {
                row.unpaint(&mut self.paint, len);
            }
        }
        self.paint.forget(self.alternate.len.max(self.cols));
    }

    fn collect_links(&mut self) {
        if self.links.end() == 1 {
            return;
        }
        self.unpaint();
        let mut used = vec![false; self.links.end()];
        let mut mark = |link: u32| {
            if let Some(used) = used.get_mut(link as usize) {
                *used = true;
            }
        };
        mark(self.pen.link);
        for line in &self.history {
            line.pieces().for_each(|piece| mark(piece.style.link));
        }
        for buffer in [&self.normal, &self.alternate] {
            for row in &buffer.rows {
                row.to_line(&mut self.paint, buffer.len).pieces().for_each(|piece| mark(piece.style.link));
            }
        }
        self.links.collect(&used);
    }
}

/// Appends the text of a line, and returns the column after it; cells beyond the screen are hidden.
fn put_text(line: &Line, cols: u16, text: &mut String) -> u16 {
    let (mut col, mut end) = (0, 0);
    for piece in line.pieces() {
        let start = col;
        col += piece.shape.cells();
        let bytes = match piece.shape {
            _ if start >= cols => break,
            Shape::Empty(_) => continue,
            Shape::Ascii(bytes) => &bytes[..bytes.len().min((cols - start).into())],
            Shape::Cluster { .. } if col > cols => break,
            Shape::Lone(bytes) | Shape::Cluster { text: bytes, .. } => bytes,
        };
        text.extend(std::iter::repeat_n(' ', (start - end).into()));
        text.push_str(&String::from_utf8_lossy(bytes));
        end = col.min(cols);
    }
    end
}

enum Utf8 {
    Char(char, usize),
    /// So many bytes are part of no character.
    Invalid(usize),
    Short,
}

fn first_of_utf8(bytes: &[u8]) -> Utf8 {
    let (valid, error) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => (std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(), Some(error)),
    };
    match (valid.chars().next(), error) {
        (Some(c), _) => Utf8::Char(c, c.len_utf8()),
        (None, Some(error)) => error.error_len().map_or(Utf8::Short, Utf8::Invalid),
        (None, None) => Utf8::Short,
    }
}

#[cfg(test)]
mod tests;
