//! Which part of a stream still counts when a program paints its rows again and again.
//!
//! A row is told as a whole by text from its first column on and an erasure of what follows. Once each row
//! was told so, what was painted before the first of those places cannot be seen any more, as long as nothing
//! wrapped, scrolled, or moved rows in between.

use super::sequence::Params;

/// Follows the cursor as far as it can be known from the stream alone.
pub(super) struct Frames {
    cols: u32,
    /// For each row, where it was begun to be told as a whole, and in which row the cursor was there.
    told: Vec<(u64, u16)>,
    /// Since here the cursor's row is known, if it is.
    known_from: Option<u64>,
    row: u16,
    /// The cursor is in this column or before it.
    col_max: u32,
    /// Since here text was written from the row's first column on, without a gap.
    whole_from: Option<u64>,
}

impl Frames {
    pub(super) fn new(cols: u16, rows: u16) -> Frames {
        Frames {
            cols: cols.into(),
            told: vec![(0, 0); rows.into()],
            known_from: None,
            row: 0,
            col_max: 0,
            whole_from: None,
        }
    }

    /// Since when nothing but cells of known rows was changed.
    pub(super) fn known_from(&self) -> Option<u64> {
        self.known_from
    }

    /// The cursor may be anywhere.
    pub(super) fn lose(&mut self) {
        self.known_from = None;
    }

    /// Where the last frame starts, and the row of the cursor there; it is in the first column.
    pub(super) fn start(&self) -> Option<(u64, u16)> {
        let known_from = self.known_from?;
        self.told.iter().copied().min().filter(|(at, _)| *at >= known_from)
    }

    /// Text of so many bytes, without controls.
    pub(super) fn text(&mut self, bytes: usize) {
        // No character is wider than its bytes are many.
        self.col_max = self.col_max.saturating_add(bytes as u32);
        if self.col_max > self.cols {
            self.lose(); // it may wrap
        }
    }

    /// A control of a line, which ends at byte `end` of the stream.
    pub(super) fn control(&mut self, control: u8, end: u64) {
        match control {
            b'\r' => self.go_to_col(0, end),
            b'\n' if usize::from(self.row) + 1 < self.told.len() => {
                self.row += 1;
                self.whole_from = (self.col_max == 0).then_some(end);
            }
            b'\n' | 0x0b | 0x0c => self.lose(),
            b'\t' => self.gap(self.col_max.max(self.cols - 1)),
            0x08 => self.gap(self.col_max),
            _ => {}
        }
    }

    /// A control sequence without a prefix, which ends at byte `end`.
    pub(super) fn sequence(&mut self, last: u8, params: &Params, end: u64) {
        let first = params.count().unsigned_abs();
        if let b'H' | b'f' = last {
            let col = if params.len() < 2 { 1 } else { params.get(1).max(1).unsigned_abs() };
            self.known_from.get_or_insert(end);
            self.row = self.row_of(first);
            return self.go_to_col(col - 1, end);
        }
        if self.known_from.is_none() {
            return;
        }
        match (last, params.get(0)) {
            (b'm', _) => {}
            (b'K', 0 | 2) => {
                if let Some(from) = self.whole_from {
                    self.told[usize::from(self.row)] = (from, self.row);
                }
            }
            (b'J', 0) if self.col_max == 0 => {
                if let Some(from) = self.whole_from {
                    self.told[usize::from(self.row)..].fill((from, self.row));
                }
            }
            (b'J', 2) => {
                if let Some(from) = self.whole_from {
                    self.told.fill((from, self.row));
                }
            }
            (b'G' | b'`', _) => self.go_to_col(first - 1, end),
            (b'd', _) => {
                self.row = self.row_of(first);
                self.whole_from = (self.col_max == 0).then_some(end);
            }
            (b'C' | b'a', _) => self.gap(self.col_max.saturating_add(first).min(self.cols - 1)),
            (b'I' | b'Z', _) => self.gap(self.col_max.max(self.cols - 1)),
            (b'J', 0) | (b'K' | b'D' | b'@' | b'P' | b'X', _) => self.gap(self.col_max),
            _ => self.lose(),
        }
    }

    fn row_of(&self, number: u32) -> u16 {
        (number as usize).min(self.told.len()).saturating_sub(1) as u16
    }

    fn go_to_col(&mut self, col: u32, place: u64) {
        self.col_max = col.min(self.cols - 1);
        self.whole_from = (self.col_max == 0).then_some(place);
    }

    fn gap(&mut self, col_max: u32) {
        self.col_max = col_max;
        self.whole_from = None;
    }
}
