//! A line as bytes: its text as UTF-8, with marks where the style changes and where cells are empty.
//!
//! Text never holds C0 controls, so the marks are C0 bytes. A character joins the one before it when
//! its width is 0 and no [`LONE`] stands before it. Cells beyond the last encoded one are empty and
//! have the default style, so a blank line costs nothing and a shell's line little more than its text.

use super::style::{Color, Style};
use super::width::width;
use crate::limits::CELL_MARKS_BYTES_MAX;

/// The default style from here on.
const PLAIN: u8 = 1;
/// Another style from here on: a byte that says which fields follow, then those, as varints.
const STYLED: u8 = 2;
/// A varint's number of empty cells.
const EMPTY: u8 = 3;
/// The next character has a cell of its own, although its width is 0.
const LONE: u8 = 4;

const HAS_FG: u8 = 1;
const HAS_BG: u8 = 1 << 1;
const HAS_FLAGS: u8 = 1 << 2;
const HAS_UNDERLINE: u8 = 1 << 3;
const HAS_LINK: u8 = 1 << 4;

/// One line, of the screen or of the scrollback.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Line {
    bytes: Vec<u8>,
    /// Cells that `bytes` tells.
    pub(super) cells: u16,
    /// It continues the line above.
    pub(super) wrapped: bool,
}

/// What one cell shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Glyph {
    /// Erased, or never written.
    Empty,
    /// The right half of the wide character before it.
    Right,
    One(char),
    /// A character of width 0 that had nothing to join.
    Lone(char),
    /// A character with those that joined it.
    Many(Box<str>),
}

impl Glyph {
    /// The text of the cell once `c` joined it; `None` if there is nothing to join, as after a wide
    /// character that was lost at the edge, or if the cell is full.
    pub(super) fn joined(&self, c: char) -> Option<String> {
        let mut text = match self {
            Glyph::One(base) => base.to_string(),
            Glyph::Many(text) => text.to_string(),
            Glyph::Lone(_) | Glyph::Empty | Glyph::Right => return None,
        };
        let (_, base) = first_char(text.as_bytes())?;
        text.push(c);
        (text.len() - base <= CELL_MARKS_BYTES_MAX).then_some(text)
    }
}

/// One cell, taken out for editing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cell {
    pub(super) glyph: Glyph,
    pub(super) style: Style,
}

impl Cell {
    pub(super) fn empty(style: Style) -> Cell {
        Cell { glyph: Glyph::Empty, style }
    }

    /// As in xterm.js: 0 for the right half of a wide character and for a lone one.
    pub(super) fn width(&self) -> u8 {
        match &self.glyph {
            Glyph::Empty => 1,
            Glyph::Right | Glyph::Lone(_) => 0,
            Glyph::One(c) => width(*c),
            Glyph::Many(text) => text.chars().next().map_or(1, width),
        }
    }

    pub(super) fn has_content(&self) -> bool {
        !matches!(self.glyph, Glyph::Empty | Glyph::Right)
    }
}

/// One step of reading a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece<'a> {
    pub(super) style: Style,
    pub(super) shape: Shape<'a>,
}

/// What a [`Piece`] is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape<'a> {
    /// This many empty cells.
    Empty(u16),
    /// Printable ASCII, one cell a byte.
    Ascii(&'a [u8]),
    /// One cell, or two when `wide`: a character with those that joined it.
    Cluster { text: &'a [u8], wide: bool },
    /// One cell with a character of width 0.
    Lone(&'a [u8]),
}

impl Shape<'_> {
    pub(super) fn cells(&self) -> u16 {
        match self {
            Shape::Empty(n) => *n,
            Shape::Ascii(text) => text.len() as u16,
            Shape::Cluster { wide, .. } => 1 + u16::from(*wide),
            Shape::Lone(_) => 1,
        }
    }
}

/// Reads a line piece by piece.
pub(super) struct Pieces<'a> {
    bytes: &'a [u8],
    at: usize,
    style: Style,
}

impl Pieces<'_> {
    fn varint(&mut self) -> u32 {
        let mut n = 0;
        let mut shift = 0;
        while let Some(byte) = self.bytes.get(self.at) {
            self.at += 1;
            n |= u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 || shift > 28 {
                break;
            }
        }
        n
    }

    fn read_style(&mut self) -> Style {
        let Some(has) = self.bytes.get(self.at).copied() else { return Style::default() };
        self.at += 1;
        let mut style = Style::default();
        if has & HAS_FG != 0 {
            style.fg = Color(self.varint());
        }
        if has & HAS_BG != 0 {
            style.bg = Color(self.varint());
        }
        if has & HAS_FLAGS != 0 {
            style.flags = self.varint() as u16;
        }
        if has & HAS_UNDERLINE != 0 {
            style.underline = self.varint() as u8;
            style.underline_color = Color(self.varint());
        }
        if has & HAS_LINK != 0 {
            style.link = self.varint();
        }
        style
    }
}

/// The character at the start of UTF-8 bytes.
pub(super) fn first_char(bytes: &[u8]) -> Option<(char, usize)> {
    let first = *bytes.first()?;
    let len = match first {
        0..0x80 => return Some((char::from(first), 1)),
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
    };
    let text = std::str::from_utf8(bytes.get(..len)?).ok()?;
    text.chars().next().map(|c| (c, len))
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let bytes = self.bytes;
        loop {
            let first = *bytes.get(self.at)?;
            let start = self.at;
            let shape = match first {
                PLAIN => {
                    self.at += 1;
                    self.style = Style::default();
                    continue;
                }
                STYLED => {
                    self.at += 1;
                    self.style = self.read_style();
                    continue;
                }
                EMPTY => {
                    // Several are one, however they came to stand here.
                    let mut count = 0_u16;
                    while bytes.get(self.at) == Some(&EMPTY) {
                        self.at += 1;
                        count = count.saturating_add(self.varint() as u16);
                    }
                    Shape::Empty(count)
                }
                LONE => {
                    let (_, len) = first_char(&bytes[start + 1..])?;
                    self.at = start + 1 + len;
                    Shape::Lone(&bytes[start + 1..self.at])
                }
                0x20..0x7f => {
                    let run = &bytes[start..];
                    let mut len = super::print::ascii_run(run);
                    // The last one may have been joined by others, and is a cluster then.
                    let joined = self.joined_len(start + len);
                    if joined > 0 {
                        if len > 1 {
                            len -= 1;
                        } else {
                            self.at = start + 1 + joined;
                            let text = &bytes[start..self.at];
                            return Some(Piece {
                                style: self.style,
                                shape: Shape::Cluster { text, wide: false },
                            });
                        }
                    }
                    self.at = start + len;
                    Shape::Ascii(&bytes[start..self.at])
                }
                _ => {
                    let (c, len) = first_char(&bytes[start..])?;
                    self.at = start + len;
                    self.at += self.joined_len(self.at);
                    Shape::Cluster { text: &bytes[start..self.at], wide: width(c) == 2 }
                }
            };
            return Some(Piece { style: self.style, shape });
        }
    }
}

impl Pieces<'_> {
    /// Bytes from `at` on that join the character before.
    fn joined_len(&self, at: usize) -> usize {
        let mut end = at;
        while self.bytes.get(end).is_some_and(|b| *b >= 0x80) {
            match first_char(&self.bytes[end..]) {
                Some((c, len)) if width(c) == 0 => end += len,
                _ => break,
            }
        }
        end - at
    }
}

impl Line {
    pub(super) fn pieces(&self) -> Pieces<'_> {
        Pieces { bytes: &self.bytes, at: 0, style: Style::default() }
    }

    /// Gives back what it has too much, when that is worth a copy.
    pub(super) fn shrink(&mut self) {
        if self.bytes.capacity() > self.bytes.len() * 5 / 4 + 64 {
            self.bytes.shrink_to_fit();
        }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.cells = 0;
    }

    /// An empty line that reuses the memory of this one.
    pub(super) fn recycled(mut self) -> Line {
        self.clear();
        self.wrapped = false;
        self
    }

    /// Goes from `tail`, the style at the end of the line, to `style`.
    pub(super) fn push_style(&mut self, tail: &mut Style, style: &Style) {
        if tail == style {
            return;
        }
        *tail = *style;
        if *style == Style::default() {
            self.bytes.push(PLAIN);
            return;
        }
        self.bytes.push(STYLED);
        let at = self.bytes.len();
        self.bytes.push(0);
        let mut has = 0;
        if style.fg != Color::DEFAULT {
            has |= HAS_FG;
            self.push_varint(style.fg.0);
        }
        if style.bg != Color::DEFAULT {
            has |= HAS_BG;
            self.push_varint(style.bg.0);
        }
        if style.flags != 0 {
            has |= HAS_FLAGS;
            self.push_varint(u32::from(style.flags));
        }
        if style.underline != 0 {
            has |= HAS_UNDERLINE;
            self.push_varint(u32::from(style.underline));
            self.push_varint(style.underline_color.0);
        }
        if style.link != 0 {
            has |= HAS_LINK;
            self.push_varint(style.link);
        }
        self.bytes[at] = has;
    }

    fn push_varint(&mut self, mut n: u32) {
        while n >= 0x80 {
            self.bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.bytes.push(n as u8);
    }

    pub(super) fn push_empty(&mut self, count: u16) {
        if count > 0 {
            self.bytes.push(EMPTY);
            self.push_varint(u32::from(count));
            self.cells += count;
        }
    }

    /// Text of `cells` columns.
    pub(super) fn push_text(&mut self, text: &[u8], cells: u16) {
        self.bytes.extend_from_slice(text);
        self.cells += cells;
    }

    /// A character that joins the last cell.
    pub(super) fn push_joined(&mut self, c: char) {
        self.bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }

    pub(super) fn push_lone(&mut self, c: char) {
        self.bytes.push(LONE);
        self.push_joined(c);
        self.cells += 1;
    }

    /// Cuts the line before column `col`; a wide character across it goes as a whole. Returns the
    /// style that is left at the end.
    pub(super) fn truncate(&mut self, col: u16) -> Style {
        let mut pieces = self.pieces();
        let mut cells = 0;
        let mut tail = Style::default();
        let mut end = 0;
        let mut empty = 0;
        while cells < col {
            let before = pieces.at;
            let Some(piece) = pieces.next() else { break };
            let n = piece.shape.cells();
            if cells + n > col {
                // Style marks stand before the piece itself, so what is kept of it ends at its own start.
                let kept = col - cells;
                match piece.shape {
                    Shape::Ascii(text) => {
                        end = pieces.at - text.len() + usize::from(kept);
                        cells = col;
                        tail = piece.style;
                    }
                    Shape::Empty(_) => {
                        empty = kept;
                        let marks = Pieces { bytes: &self.bytes, at: before, style: tail };
                        end = marks.skip_marks();
                        tail = piece.style;
                    }
                    Shape::Cluster { .. } | Shape::Lone(_) => {}
                }
                break;
            }
            cells += n;
            end = pieces.at;
            tail = piece.style;
        }
        self.bytes.truncate(end);
        self.cells = cells;
        self.push_empty(empty);
        tail
    }

    /// Appends what `other` has beyond this line's end; `tail` and `other_tail` are the styles at both
    /// ends. Half a wide character there is an empty cell of this line's last style. Returns the style
    /// at the new end.
    pub(super) fn append_from(&mut self, other: &Line, other_tail: &Style, mut tail: Style) -> Style {
        let mut pieces = other.pieces();
        let mut cells = 0;
        while cells < self.cells {
            let Some(piece) = pieces.next() else { return tail };
            cells += piece.shape.cells();
            if cells <= self.cells {
                continue;
            }
            let left = cells - self.cells;
            match piece.shape {
                Shape::Ascii(text) => {
                    self.push_style(&mut tail, &piece.style);
                    self.push_text(&text[text.len() - usize::from(left)..], left);
                }
                Shape::Empty(_) => {
                    self.push_style(&mut tail, &piece.style);
                    self.push_empty(left);
                }
                Shape::Cluster { .. } | Shape::Lone(_) => self.push_empty(left),
            }
        }
        let rest = &other.bytes[pieces.at..];
        if !rest.is_empty() {
            self.push_style(&mut tail, &pieces.style);
            self.bytes.extend_from_slice(rest);
            self.cells = other.cells;
            tail = *other_tail;
        }
        tail
    }

    /// The first `len` cells, one by one.
    pub(super) fn read(&self, len: u16, cells: &mut Vec<Cell>) {
        cells.clear();
        let len = usize::from(len);
        for piece in self.pieces() {
            let style = piece.style;
            match piece.shape {
                Shape::Empty(n) => {
                    let n = usize::from(n).min(len.saturating_sub(cells.len()));
                    cells.resize(cells.len() + n, Cell::empty(style));
                }
                Shape::Ascii(text) => {
                    cells.extend(text.iter().map(|b| Cell { glyph: Glyph::One(char::from(*b)), style }));
                }
                Shape::Cluster { text, wide } => {
                    cells.push(Cell { glyph: glyph_of(text), style });
                    if wide {
                        cells.push(Cell { glyph: Glyph::Right, style });
                    }
                }
                Shape::Lone(text) => {
                    let c = first_char(text).map_or('\u{fffd}', |(c, _)| c);
                    cells.push(Cell { glyph: Glyph::Lone(c), style });
                }
            }
        }
        cells.resize(len, Cell::empty(Style::default()));
    }

    /// Becomes these cells. Returns the style at the end, and whether all of them are one column wide.
    pub(super) fn write(&mut self, cells: &[Cell]) -> (Style, bool) {
        self.clear();
        let mut tail = Style::default();
        let mut narrow = true;
        let plain_end = Cell::empty(Style::default());
        let used = cells.iter().rposition(|cell| *cell != plain_end).map_or(0, |i| i + 1);
        let mut i = 0;
        while i < used {
            let cell = &cells[i];
            self.push_style(&mut tail, &cell.style);
            match &cell.glyph {
                // A right half whose left one was cut off is empty; xterm.js leaves it without width.
                Glyph::Empty | Glyph::Right => {
                    let mut n = 1;
                    while i + n < used && cells[i + n] == Cell::empty(cell.style) {
                        n += 1;
                    }
                    self.push_empty(n as u16);
                    i += n;
                    continue;
                }
                Glyph::Lone(c) => {
                    self.push_lone(*c);
                    narrow = false;
                }
                Glyph::One(_) | Glyph::Many(_) => {
                    let wide = cell.width() == 2;
                    let room = cells.get(i + 1).is_some_and(|next| next.glyph == Glyph::Right);
                    if wide && !room {
                        // Half of it was overwritten.
                        self.push_empty(1);
                    } else {
                        let mut buffer = [0; 4];
                        let text = match &cell.glyph {
                            Glyph::Many(text) => text,
                            Glyph::One(c) => &*c.encode_utf8(&mut buffer),
                            Glyph::Empty | Glyph::Right | Glyph::Lone(_) => "",
                        };
                        self.push_text(text.as_bytes(), 1 + u16::from(wide));
                        if wide {
                            narrow = false;
                            i += 1;
                        }
                    }
                }
            }
            i += 1;
        }
        (tail, narrow)
    }

    /// Columns up to and with the last cell that has content.
    pub(super) fn trimmed_cells(&self) -> u16 {
        let mut at = 0;
        let mut end = 0;
        for piece in self.pieces() {
            at += piece.shape.cells();
            match piece.shape {
                Shape::Empty(_) => {}
                // xterm.js adds a cell's width, and a lone character has none.
                Shape::Lone(_) => end = at - 1,
                Shape::Ascii(_) | Shape::Cluster { .. } => end = at,
            }
        }
        end
    }
}

impl Pieces<'_> {
    /// Where the first piece starts, after the marks before it.
    fn skip_marks(mut self) -> usize {
        loop {
            match self.bytes.get(self.at) {
                Some(&PLAIN) => self.at += 1,
                Some(&STYLED) => {
                    self.at += 1;
                    self.read_style();
                }
                _ => return self.at,
            }
        }
    }
}

fn glyph_of(text: &[u8]) -> Glyph {
    match first_char(text) {
        Some((c, len)) if len == text.len() => Glyph::One(c),
        _ => Glyph::Many(String::from_utf8_lossy(text).into()),
    }
}
