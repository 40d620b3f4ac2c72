//! One of the two screens: rows, cursor, scroll region, tab stops and saved cursor.

use std::collections::VecDeque;

use super::charset::{ASCII, Charset};
use super::line::Line;
use super::paint::Paint;
use super::row::Row;
use super::style::{Color, Pen, Style};

/// Columns between two tab stops that nobody set.
const TAB_COLUMNS: u16 = 8;

pub(super) struct Buffer {
    pub(super) rows: VecDeque<Row>,
    /// Column of the cursor; the number of columns when the next character wraps ("pending wrap").
    pub(super) x: u16,
    pub(super) y: u16,
    /// First and last row of the scroll region.
    pub(super) top: u16,
    pub(super) bottom: u16,
    pub(super) tabs: TabStops,
    pub(super) saved: Saved,
    /// Cells of a row beyond the screen's columns: the alternate screen keeps them when it gets narrower.
    pub(super) len: u16,
}

/// What DECSC saves, and DECRC restores. Underline style and colour and the link are not in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Saved {
    pub(super) x: u16,
    /// Counted from the first line of the scrollback, so that it moves up with the text.
    pub(super) y: usize,
    pub(super) fg: Color,
    pub(super) bg: Color,
    pub(super) flags: u16,
    pub(super) charset: Charset,
}

impl Saved {
    pub(super) fn new(x: u16, y: usize, pen: &Pen, charset: Charset) -> Saved {
        Saved { x, y, fg: pen.fg, bg: pen.bg, flags: pen.flags, charset }
    }

    /// The pen, as far as it was saved.
    pub(super) fn pen(&self) -> Pen {
        Pen { fg: self.fg, bg: self.bg, flags: self.flags, ..Pen::default() }
    }
}

impl Buffer {
    /// Without rows; [`Buffer::fill`] makes them.
    pub(super) fn new(cols: u16, rows: u16) -> Buffer {
        Buffer {
            rows: VecDeque::new(),
            x: 0,
            y: 0,
            top: 0,
            bottom: rows - 1,
            tabs: TabStops::new(cols),
            saved: Saved::new(0, 0, &Pen::default(), ASCII),
            len: cols,
        }
    }

    pub(super) fn fill(&mut self, rows: u16, fill: &Style) {
        let len = self.len;
        self.rows.resize_with(usize::from(rows), || Row::blank(len, fill, Line::default()));
    }

    /// Lets the rows go, and what belongs to them (an alternate screen that is left).
    pub(super) fn empty(&mut self, cols: u16, rows: u16, paint: &mut Paint) {
        for row in std::mem::take(&mut self.rows) {
            row.discard(paint);
        }
        let saved = self.saved;
        *self = Buffer { saved, ..Buffer::new(cols, rows) };
    }

    pub(super) fn row(&mut self, y: u16) -> &mut Row {
        &mut self.rows[usize::from(y)]
    }

    /// Rows between `first` and `last` move up by one. `change` gets the first one and gives the last.
    pub(super) fn rotate_up(&mut self, first: u16, last: u16, change: impl FnOnce(Row) -> Row) {
        let (first, last) = (usize::from(first), usize::from(last));
        if first == 0 && last + 1 == self.rows.len() {
            let gone = self.rows.pop_front().unwrap_or_default();
            self.rows.push_back(change(gone));
        } else {
            let gone = self.rows.remove(first).unwrap_or_default();
            self.rows.insert(last, change(gone));
        }
    }

    pub(super) fn rotate_down(&mut self, first: u16, last: u16, blank: Row) -> Row {
        let gone = self.rows.remove(usize::from(last)).unwrap_or_default();
        self.rows.insert(usize::from(first), blank);
        gone
    }
}

/// Tab stops: every eighth column until a program changes one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TabStops {
    /// A bit a column, when they were changed.
    custom: Option<Box<[u64]>>,
    /// Columns the screen ever had with these stops; stops beyond the screen's edge stay.
    cols_seen: u16,
}

impl TabStops {
    fn new(cols: u16) -> TabStops {
        TabStops { custom: None, cols_seen: cols }
    }

    pub(super) fn is_custom(&self) -> bool {
        self.custom.is_some()
    }

    pub(super) fn at(&self, col: u16) -> bool {
        match &self.custom {
            None => col.is_multiple_of(TAB_COLUMNS) && col < self.cols_seen,
            Some(bits) => bits.get(usize::from(col / 64)).is_some_and(|word| word >> (col % 64) & 1 != 0),
        }
    }

    fn bits(&mut self, cols: u16) -> &mut [u64] {
        let words = usize::from(cols.max(self.cols_seen) / 64) + 1;
        let old = self.custom.take();
        let mut bits = vec![0; words];
        match old {
            Some(old) => {
                bits.resize(words.max(old.len()), 0);
                bits[..old.len()].copy_from_slice(&old);
            }
            None => {
                for col in (0..self.cols_seen).step_by(usize::from(TAB_COLUMNS)) {
                    bits[usize::from(col / 64)] |= 1 << (col % 64);
                }
            }
        }
        self.custom.insert(bits.into())
    }

    pub(super) fn set(&mut self, col: u16, on: bool) {
        if self.at(col) == on {
            return;
        }
        let word = &mut self.bits(col + 1)[usize::from(col / 64)];
        *word = *word & !(1 << (col % 64)) | u64::from(on) << (col % 64);
    }

    pub(super) fn clear(&mut self) {
        self.custom = Some(Box::new([]));
    }

    /// New columns get stops from the last one on.
    pub(super) fn widen(&mut self, cols: u16) {
        if self.custom.is_some() {
            let mut col = if self.at(cols) { cols } else { self.before(cols, cols) };
            while col < cols {
                self.set(col, true);
                col += TAB_COLUMNS;
            }
        }
        self.cols_seen = self.cols_seen.max(cols);
    }

    /// The next stop after `col`, or the last column.
    pub(super) fn after(&self, col: u16, cols: u16) -> u16 {
        (col + 1..cols).find(|col| self.at(*col)).unwrap_or(cols - 1)
    }

    /// The stop before `col`, or the first column.
    pub(super) fn before(&self, col: u16, cols: u16) -> u16 {
        (1..col).rev().find(|col| self.at(*col)).unwrap_or(0).min(cols - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops(tabs: &TabStops, cols: u16) -> Vec<u16> {
        (0..cols).filter(|col| tabs.at(*col)).collect()
    }

    #[test]
    fn stops_are_every_eight_columns_until_changed() {
        let mut tabs = TabStops::new(20);
        assert_eq!(stops(&tabs, 20), [0, 8, 16]);
        tabs.set(3, true);
        tabs.set(8, false);
        assert_eq!(stops(&tabs, 20), [0, 3, 16]);
        assert_eq!((tabs.after(3, 20), tabs.after(16, 20), tabs.before(16, 20)), (16, 19, 3));
        tabs.clear();
        assert_eq!((tabs.after(0, 20), tabs.before(19, 20)), (19, 0));
    }

    #[test]
    fn new_columns_get_stops_after_the_last_one() {
        let mut tabs = TabStops::new(20);
        tabs.widen(30);
        assert_eq!(stops(&tabs, 30), [0, 8, 16, 24]);
        tabs.clear();
        tabs.set(5, true);
        tabs.widen(40);
        assert_eq!(stops(&tabs, 40), [5, 13, 21, 29, 37]);
    }
}
