//! One row of a screen. It is a [`Line`] as long as it is written from left to right, which is how all
//! logs and most screens are made. Written again from its start, the old line lies under the new one
//! until it is covered. When cells in its middle are overwritten, one-column text by one-column text, the
//! row moves into vt100's grid ("painted"). Rows with wide characters stay lines.

use super::line::{Cell, Glyph, Line};
use super::paint::Paint;
use super::style::Style;

/// Text without controls, and without characters of width 0.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) text: &'a [u8],
    /// Its columns.
    pub(super) cells: u16,
    /// It has wide characters.
    pub(super) uneven: bool,
}

#[derive(Default)]
pub(super) struct Row {
    line: Line,
    /// The style at the end of `line`.
    tail: Style,
    /// What was there before `line` was begun anew: its cells from the end of `line` on still count.
    under: Line,
    under_tail: Style,
    /// The grid's row that holds the cells instead of `line`.
    painted: Option<u16>,
    /// `line` has cells that are not one column wide.
    uneven: bool,
}

impl Row {
    /// `len` empty cells of a style.
    pub(super) fn blank(len: u16, fill: &Style, recycled: Line) -> Row {
        let mut row = Row { line: recycled.recycled(), ..Row::default() };
        if *fill != Style::default() {
            row.line.push_style(&mut row.tail, fill);
            row.line.push_empty(len);
        }
        row
    }

    pub(super) fn from_line(line: Line) -> Row {
        // The tail's style is not known without reading the line, so nothing is appended before that.
        let mut row = Row { line, ..Row::default() };
        row.measure();
        row
    }

    fn measure(&mut self) {
        use super::line::Shape;
        self.tail = Style::default();
        self.uneven = false;
        let mut tail = Style::default();
        for piece in self.line.pieces() {
            tail = piece.style;
            self.uneven |= matches!(piece.shape, Shape::Lone(_) | Shape::Cluster { wide: true, .. });
        }
        self.tail = tail;
    }

    pub(super) fn is_wrapped(&self) -> bool {
        self.line.wrapped
    }

    pub(super) fn set_wrapped(&mut self, wrapped: bool) {
        self.line.wrapped = wrapped;
    }

    /// Leaves the screen as a line.
    pub(super) fn into_line(mut self, paint: &mut Paint, len: u16) -> Line {
        self.unpaint(paint, len);
        self.settle();
        self.line
    }

    /// Leaves the screen for good; what is left can be recycled.
    pub(super) fn discard(self, paint: &mut Paint) -> Line {
        if let Some(slot) = self.painted {
            paint.release(slot);
        }
        self.line
    }

    /// Joins what lies under the line to its end.
    fn settle(&mut self) {
        if self.under.cells > self.line.cells {
            self.tail = self.line.append_from(&self.under, &self.under_tail, self.tail);
        }
        self.under.clear();
    }

    /// Becomes a line again.
    pub(super) fn unpaint(&mut self, paint: &mut Paint, len: u16) {
        if let Some(slot) = self.painted.take() {
            let mut cells = Vec::new();
            paint.read(slot, len, &mut cells);
            paint.release(slot);
            self.write(&cells);
        }
    }

    /// The row as a line, whatever holds it.
    pub(super) fn to_line(&self, paint: &mut Paint, len: u16) -> std::borrow::Cow<'_, Line> {
        match self.painted {
            None if self.under.cells > self.line.cells => {
                let mut line = self.line.clone();
                line.append_from(&self.under, &self.under_tail, self.tail);
                std::borrow::Cow::Owned(line)
            }
            None => std::borrow::Cow::Borrowed(&self.line),
            Some(slot) => {
                let mut cells = Vec::new();
                paint.read(slot, len, &mut cells);
                let mut line = Line::default();
                line.wrapped = self.line.wrapped;
                line.write(&cells);
                std::borrow::Cow::Owned(line)
            }
        }
    }

    fn write(&mut self, cells: &[Cell]) {
        let narrow;
        (self.tail, narrow) = self.line.write(cells);
        self.uneven = !narrow;
    }

    /// Changes cells in ways that have no short cut.
    pub(super) fn edit(&mut self, paint: &mut Paint, len: u16, change: impl FnOnce(&mut [Cell])) {
        let mut cells = Vec::new();
        match self.painted.take() {
            Some(slot) => {
                paint.read(slot, len, &mut cells);
                paint.release(slot);
            }
            None => {
                self.settle();
                self.line.read(len, &mut cells);
            }
        }
        change(&mut cells);
        self.write(&cells);
    }

    /// One cell.
    pub(super) fn cell(&self, paint: &mut Paint, len: u16, col: u16) -> Cell {
        let mut cells = Vec::new();
        self.to_line(paint, len).read(len, &mut cells);
        cells.get(usize::from(col)).cloned().unwrap_or_else(|| Cell::empty(Style::default()))
    }

    /// Writes text at `col`, all within the row's `len`. Wide characters that lose a
    /// half lose the other one, as xterm.js does it: an empty cell of the new text's style stays.
    pub(super) fn put(&mut self, paint: &mut Paint, len: u16, col: u16, style: &Style, run: Run) {
        let Run { text, cells, uneven } = run;
        if let Some(slot) = self.painted {
            if !uneven {
                paint.write(slot, col, style, text, cells);
                return;
            }
            self.unpaint(paint, len);
        }
        if self.under.cells > 0 && col != self.line.cells {
            self.settle();
        }
        let end = self.line.cells;
        if col < end {
            if col + cells >= end {
                self.cut(col, style);
            } else if col == 0 {
                let wrapped = self.line.wrapped;
                std::mem::swap(&mut self.line, &mut self.under);
                self.line.clear();
                self.line.wrapped = wrapped;
                self.under_tail = std::mem::take(&mut self.tail);
            } else {
                self.overwrite(paint, len, col, style, run);
                return;
            }
        }
        self.pad_to(col);
        self.line.push_style(&mut self.tail, style);
        self.line.push_text(text, cells);
        self.uneven |= uneven;
        if self.under.cells <= self.line.cells {
            self.under.clear();
        }
    }

    /// The text ends before the line does.
    #[cold]
    fn overwrite(&mut self, paint: &mut Paint, len: u16, col: u16, style: &Style, run: Run) {
        let Run { text, cells, uneven } = run;
        if !uneven && !self.uneven {
            let slot = paint.allocate();
            let mut old = Vec::new();
            self.line.read(len, &mut old);
            paint.fill(slot, &old);
            self.line.clear();
            self.tail = Style::default();
            self.painted = Some(slot);
            paint.write(slot, col, style, text, cells);
            return;
        }
        self.edit(paint, len, |row| {
            let mut at = usize::from(col);
            if at > 0 && row[at - 1].width() == 2 {
                row[at - 1] = Cell::empty(*style);
            }
            for c in String::from_utf8_lossy(text).chars() {
                row[at] = Cell { glyph: Glyph::One(c), style: *style };
                at += 1;
                if super::width::width(c) == 2 {
                    row[at] = Cell { glyph: Glyph::Right, style: *style };
                    at += 1;
                }
            }
            if row.get(at).is_some_and(|next| next.glyph == Glyph::Right) {
                row[at] = Cell::empty(*style);
            }
        });
    }

    /// Cuts the line at `col`; half a wide character becomes an empty cell of `style`.
    fn cut(&mut self, col: u16, style: &Style) {
        if col == 0 {
            self.line.clear();
            self.tail = Style::default();
            self.uneven = false;
            return;
        }
        self.tail = self.line.truncate(col);
        if self.line.cells < col {
            self.line.push_style(&mut self.tail, style);
            self.line.push_empty(col - self.line.cells);
        }
    }

    fn pad_to(&mut self, col: u16) {
        if self.line.cells < col {
            self.line.push_style(&mut self.tail, &Style::default());
            self.line.push_empty(col - self.line.cells);
        }
    }

    /// A character joins the cell before column `end`.
    pub(super) fn join(&mut self, paint: &mut Paint, len: u16, end: u16, c: char) {
        match self.painted {
            Some(slot) => paint.join(slot, end, c),
            None if self.line.cells == end => self.line.push_joined(c),
            None => self.edit(paint, len, |row| {
                let end = usize::from(end).min(row.len());
                let cell = row[..end].iter_mut().rev().find(|cell| cell.glyph != Glyph::Right);
                if let Some((cell, text)) =
                    cell.and_then(|cell| cell.glyph.joined(c).map(|text| (cell, text)))
                {
                    cell.glyph = Glyph::Many(text.into());
                }
            }),
        }
    }

    /// Writes a character of width 0 into a cell of its own.
    pub(super) fn put_lone(&mut self, paint: &mut Paint, len: u16, col: u16, style: &Style, c: char) {
        self.unpaint(paint, len);
        self.settle();
        if col < self.line.cells {
            self.edit(paint, len, |row| {
                let col = usize::from(col);
                if col > 0 && row[col - 1].width() == 2 {
                    row[col - 1] = Cell::empty(*style);
                }
                row[col] = Cell { glyph: Glyph::Lone(c), style: *style };
                if row.get(col + 1).is_some_and(|next| next.glyph == Glyph::Right) {
                    row[col + 1] = Cell::empty(*style);
                }
            });
        } else {
            self.pad_to(col);
            self.line.push_style(&mut self.tail, style);
            self.line.push_lone(c);
        }
        self.uneven = true;
    }

    /// Empties the cells from `from` to before `to`, as xterm.js's `replaceCells` does.
    pub(super) fn erase(&mut self, paint: &mut Paint, len: u16, from: u16, to: u16, fill: &Style) {
        let to = to.min(len);
        if from >= to {
            return;
        }
        let plain = *fill == Style::default();
        if let Some(slot) = self.painted {
            if from > 0 || to < len {
                paint.erase(slot, from, to - from, fill);
                return;
            }
            paint.release(slot);
            self.painted = None;
        }
        if from <= self.line.cells && to >= self.under.cells {
            self.under.clear();
        } else {
            self.settle();
        }
        let end = self.line.cells;
        if from >= end && plain {
            return;
        }
        if to >= end {
            if from < end {
                self.cut(from, fill);
            }
            if !plain {
                self.pad_to(from);
                self.line.push_style(&mut self.tail, fill);
                self.line.push_empty(to - from);
            }
            return;
        }
        self.edit(paint, len, |row| {
            let (from, to) = (usize::from(from), usize::from(to));
            if from > 0 && row[from - 1].width() == 2 {
                row[from - 1] = Cell::empty(*fill);
            }
            if row[to - 1].width() == 2 {
                row[to] = Cell::empty(*fill);
            }
            row[from..to].fill(Cell::empty(*fill));
        });
    }

    /// Empties the whole row.
    pub(super) fn clear(&mut self, paint: &mut Paint, len: u16, fill: &Style) {
        let wrapped = self.line.wrapped;
        let old = std::mem::take(self).discard(paint);
        *self = Row::blank(len, fill, old);
        self.line.wrapped = wrapped;
    }
}
