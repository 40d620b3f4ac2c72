//! Rows that are written out of order, kept in vt100's grid.
//!
//! vt100 is told where to write (CUP), what to write and what to erase (ECH), and nothing else: cursor,
//! wrapping, scrolling, regions and screens are this model's own, since xterm.js's differ. A row on
//! either screen is tied to one of the grid's rows only while it is painted (see [`super::row`]), so a grid
//! has as many rows as were painted at once. Only cells of one column come here.
//!
//! vt100 keeps fewer attributes than xterm.js, so each distinct style is numbered, and the number is the
//! colour it is given to keep: `CSI 38;2;R;G;B m`, or `CSI 38;5;N m` for the first ones. What vt100 would
//! measure or cut otherwise than xterm.js (see [`super::width`]) is numbered as well, in the background.

use std::collections::HashMap;
use std::num::NonZeroU16;

use unicode_width::UnicodeWidthChar;

use super::line::{Cell, Glyph};
use super::style::{Style, put_number};
use super::width::width;

/// Told to vt100 in batches of this many bytes.
const BATCH_BYTES: usize = 8 << 10;
/// The grid grows by this many rows.
const ROWS_STEP: u16 = 4;
/// Numbers in the background from here on name an entry of [`Painted::clusters`]; below it they are the
/// code point itself.
const CLUSTER_FIRST: u32 = 0x11_0000;
/// Colours have 24 bits. The numbers start again at each [`Paint::forget`], long before that.
const NUMBERS_MAX: usize = 1 << 22;

/// The painted rows of both screens.
pub(super) struct Paint {
    cols: u16,
    grid: Option<Box<Painted>>,
}

struct Painted {
    parser: vt100::Parser,
    cols: u16,
    /// What vt100 has not been told yet.
    batch: Vec<u8>,
    /// Where its cursor is then, and with which number it writes.
    at: Option<(u16, u16)>,
    pen: u32,
    rows: u16,
    free: Vec<u16>,
    styles: Vec<Style>,
    numbers: HashMap<Style, u32>,
    clusters: Vec<Box<str>>,
}

impl Painted {
    fn new(cols: u16) -> Painted {
        let cols = NonZeroU16::new(cols).unwrap_or(NonZeroU16::MIN);
        Painted {
            parser: vt100::Parser::new(NonZeroU16::MIN, cols, 0),
            cols: cols.get(),
            batch: Vec::new(),
            at: None,
            pen: 0,
            rows: 1,
            free: vec![0],
            styles: vec![Style::default()],
            numbers: HashMap::from([(Style::default(), 0)]),
            clusters: Vec::new(),
        }
    }

    fn flush(&mut self) {
        if !self.batch.is_empty() {
            self.parser.process(&self.batch);
            self.batch.clear();
        }
    }

    fn go_to(&mut self, row: u16, col: u16) {
        if self.batch.len() >= BATCH_BYTES {
            self.flush();
        }
        if self.at != Some((row, col)) {
            self.batch.extend_from_slice(b"\x1b[");
            put_number(u32::from(row) + 1, &mut self.batch);
            self.batch.push(b';');
            put_number(u32::from(col) + 1, &mut self.batch);
            self.batch.push(b'H');
            self.at = Some((row, col));
        }
    }

    fn use_style(&mut self, style: &Style) {
        if self.styles[self.pen as usize] == *style {
            return;
        }
        self.pen = match self.numbers.get(style) {
            Some(number) => *number,
            None => {
                let number = self.styles.len() as u32;
                self.styles.push(*style);
                self.numbers.insert(*style, number);
                number
            }
        };
        match self.pen {
            0 => self.batch.extend_from_slice(b"\x1b[39m"),
            number @ 1..=255 => {
                self.batch.extend_from_slice(b"\x1b[38;5;");
                put_number(number, &mut self.batch);
                self.batch.push(b'm');
            }
            number => put_rgb(38, number, &mut self.batch),
        }
    }

    /// Writes one cell whose content is told by a number.
    fn put_numbered(&mut self, number: u32) {
        put_rgb(48, number, &mut self.batch);
        self.batch.extend_from_slice(b"?\x1b[49m");
    }

    fn put_char(&mut self, c: char) {
        let trusted = c.width() == Some(1) && c != '\u{fffd}';
        if trusted {
            self.batch.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            self.put_numbered(u32::from(c));
        }
    }

    fn put_cluster(&mut self, text: &str) {
        let number = CLUSTER_FIRST + self.clusters.len() as u32;
        self.clusters.push(text.into());
        self.put_numbered(number);
    }

    fn cell(&self, row: u16, col: u16) -> Cell {
        let Some(cell) = self.parser.screen().cell(row, col) else { return Cell::empty(Style::default()) };
        let number = match cell.fgcolor() {
            vt100::Color::Default => 0,
            vt100::Color::Idx(number) => u32::from(number),
            vt100::Color::Rgb(r, g, b) => u32::from_be_bytes([0, r, g, b]),
        };
        let style = self.styles.get(number as usize).copied().unwrap_or_default();
        let glyph = match (cell.bgcolor(), cell.contents().chars().next()) {
            (_, None) => Glyph::Empty,
            (vt100::Color::Rgb(r, g, b), _) => {
                let number = u32::from_be_bytes([0, r, g, b]);
                match (char::from_u32(number), self.clusters.get(number.wrapping_sub(CLUSTER_FIRST) as usize))
                {
                    (Some(c), _) if width(c) == 0 => Glyph::Lone(c),
                    (Some(c), _) => Glyph::One(c),
                    (None, Some(text)) => Glyph::Many(text.clone()),
                    (None, None) => Glyph::Empty,
                }
            }
            (_, Some(c)) => Glyph::One(c),
        };
        Cell { glyph, style }
    }
}

fn put_rgb(base: u8, number: u32, out: &mut Vec<u8>) {
    let [_, r, g, b] = number.to_be_bytes();
    out.extend_from_slice(b"\x1b[");
    put_number(u32::from(base), out);
    out.extend_from_slice(b";2");
    for part in [r, g, b] {
        out.push(b';');
        put_number(u32::from(part), out);
    }
    out.push(b'm');
}

impl Paint {
    pub(super) fn new(cols: u16) -> Paint {
        Paint { cols, grid: None }
    }

    /// An empty row of the grid.
    pub(super) fn allocate(&mut self) -> u16 {
        let cols = self.cols;
        let grid = self.grid.get_or_insert_with(|| Box::new(Painted::new(cols)));
        let row = match grid.free.pop() {
            Some(row) => row,
            None => {
                grid.flush();
                let row = grid.rows;
                grid.rows += ROWS_STEP;
                let rows = NonZeroU16::new(grid.rows).unwrap_or(NonZeroU16::MIN);
                let cols = NonZeroU16::new(grid.cols).unwrap_or(NonZeroU16::MIN);
                grid.parser.set_size(rows, cols);
                grid.at = None;
                grid.free.extend((row + 1..grid.rows).rev());
                row
            }
        };
        grid.go_to(row, 0);
        grid.use_style(&Style::default());
        grid.batch.extend_from_slice(b"\x1b[2K");
        row
    }

    pub(super) fn release(&mut self, row: u16) {
        if let Some(grid) = &mut self.grid {
            grid.free.push(row);
        }
    }

    /// Writes text of one-column characters; it ends within the row.
    pub(super) fn write(&mut self, row: u16, col: u16, style: &Style, text: &[u8], cells: u16) {
        let Some(grid) = &mut self.grid else { return };
        grid.go_to(row, col);
        grid.use_style(style);
        if text.is_ascii() {
            grid.batch.extend_from_slice(text);
        } else {
            for c in String::from_utf8_lossy(text).chars() {
                grid.put_char(c);
            }
        }
        let end = col + cells;
        grid.at = if end < grid.cols { Some((row, end)) } else { None };
    }

    /// Empties `count` cells, which lie within the row.
    pub(super) fn erase(&mut self, row: u16, col: u16, count: u16, style: &Style) {
        let Some(grid) = &mut self.grid else { return };
        grid.go_to(row, col);
        grid.use_style(style);
        grid.batch.extend_from_slice(b"\x1b[");
        put_number(u32::from(count), &mut grid.batch);
        grid.batch.push(b'X');
    }

    /// Writes these cells from column 0 of an empty row.
    pub(super) fn fill(&mut self, row: u16, cells: &[Cell]) {
        let Some(grid) = &mut self.grid else { return };
        let plain = Cell::empty(Style::default());
        let mut col = 0;
        while let Some(cell) = cells.get(usize::from(col)) {
            if *cell == plain {
                col += 1;
                continue;
            }
            grid.go_to(row, col);
            grid.use_style(&cell.style);
            match &cell.glyph {
                Glyph::Empty | Glyph::Right => {
                    grid.batch.extend_from_slice(b"\x1b[X");
                    col += 1;
                    continue;
                }
                Glyph::One(c) | Glyph::Lone(c) => grid.put_char(*c),
                Glyph::Many(text) => grid.put_cluster(text),
            }
            col += 1;
            grid.at = if col < grid.cols { Some((row, col)) } else { None };
        }
    }

    /// A character joins the cell before column `end`.
    pub(super) fn join(&mut self, row: u16, end: u16, c: char) {
        let Some(grid) = &mut self.grid else { return };
        grid.flush();
        let mut cells = (0..end).rev().map(|col| (col, grid.cell(row, col)));
        let Some((col, cell)) = cells.find(|(_, cell)| cell.glyph != Glyph::Right) else { return };
        let Some(text) = cell.glyph.joined(c) else { return };
        grid.go_to(row, col);
        grid.use_style(&cell.style);
        grid.put_cluster(&text);
        grid.at = None;
    }

    /// The first `len` cells of a row.
    pub(super) fn read(&mut self, row: u16, len: u16, cells: &mut Vec<Cell>) {
        cells.clear();
        if let Some(grid) = &mut self.grid {
            grid.flush();
            cells.extend((0..len).map(|col| grid.cell(row, col)));
        }
    }

    /// Whether so many numbers are given out that it is time to [`Paint::forget`].
    pub(super) fn is_crowded(&self, cells_on_screen: usize) -> bool {
        self.grid.as_ref().is_some_and(|grid| {
            grid.styles.len() + grid.clusters.len() > (2 * cells_on_screen).clamp(4096, NUMBERS_MAX)
        })
    }

    /// Lets everything go, for rows of `cols` columns from now on. No row may be painted any more.
    pub(super) fn forget(&mut self, cols: u16) {
        *self = Paint::new(cols);
    }
}
