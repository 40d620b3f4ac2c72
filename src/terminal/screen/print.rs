//! Printing: text into cells, with wrapping, wide and joining characters.

use super::Screen;
use super::charset::{ASCII, translate};
use super::line::{Cell, Glyph};
use super::row::Run;
use super::style::Style;
use super::width::width;
use crate::limits::CELL_MARKS_BYTES_MAX;

/// Bytes at the start that are printable ASCII.
pub(super) fn ascii_run(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let mut at = 0;
    // Eight bytes at a time: a byte's high bit is set in `odd` when it is below 0x20, 0x7f, or above.
    while let Some(word) = bytes.get(at..at + 8) {
        let word = u64::from_le_bytes(word.try_into().unwrap_or([0; 8]));
        let below = word.wrapping_sub(ONES * 0x20) & !word;
        let above = word.wrapping_add(ONES) | word;
        let odd = (below | above) & (ONES * 0x80);
        if odd != 0 {
            return at + (odd.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + bytes[at..].iter().take_while(|b| (0x20..0x7f).contains(*b)).count()
}

impl Screen {
    /// Prints text without controls.
    pub(super) fn print(&mut self, text: &str) {
        if self.charset != ASCII {
            let charset = self.charset;
            let text: String = text.chars().map(|c| translate(charset, c)).collect();
            self.print_translated(&text);
        } else {
            self.print_translated(text);
        }
    }

    fn print_translated(&mut self, text: &str) {
        if self.modes.insert {
            self.print_inserting(text);
        } else {
            self.print_unicode(text);
        }
    }

    /// Prints printable ASCII.
    pub(super) fn print_ascii(&mut self, mut text: &[u8]) {
        if self.charset != ASCII || self.modes.insert {
            return self.print(std::str::from_utf8(text).unwrap_or_default());
        }
        self.join = 1;
        self.joined_bytes = 0;
        while !text.is_empty() {
            let x = self.make_room(1);
            let fits = usize::from(self.cols - x).min(text.len());
            let (now, rest) = text.split_at(fits);
            self.put(now, fits as u16, false);
            text = rest;
        }
    }

    fn print_unicode(&mut self, text: &str) {
        // What was not put yet: text[from..at], of so many columns.
        let mut from = 0;
        let mut cells = 0;
        let mut uneven = false;
        for (at, c) in text.char_indices() {
            let columns = width(c);
            if columns == 0 {
                self.put(&text.as_bytes()[from..at], cells, uneven);
                from = at + c.len_utf8();
                (cells, uneven) = (0, false);
                // xterm.js takes it for a byte order mark, wherever it stands.
                if c != '\u{feff}' {
                    self.print_joining(c);
                }
                continue;
            }
            if self.active().x + cells + u16::from(columns) > self.cols {
                self.put(&text.as_bytes()[from..at], cells, uneven);
                from = at;
                (cells, uneven) = (0, false);
                self.make_room(columns);
                if self.active().x + u16::from(columns) > self.cols {
                    // A wide character in the last column that may not wrap is lost, and what joins it
                    // adds to the cell that is there.
                    from = at + c.len_utf8();
                    self.join = columns;
                    continue;
                }
            }
            cells += u16::from(columns);
            uneven |= columns == 2;
            self.join = columns;
            self.joined_bytes = 0;
        }
        self.put(&text.as_bytes()[from..], cells, uneven);
    }

    /// Insert mode pushes what is to the right away, character by character.
    #[cold]
    fn print_inserting(&mut self, text: &str) {
        for c in text.chars() {
            let columns = width(c);
            if columns == 0 {
                if c != '\u{feff}' {
                    self.print_joining(c);
                }
                continue;
            }
            self.make_room(columns);
            self.join = columns;
            let (x, cols) = (self.active().x, self.cols);
            if x + u16::from(columns) > cols {
                continue;
            }
            self.joined_bytes = 0;
            let style = self.style;
            self.edit_row(self.active().y, |row| {
                insert_cells(row, x, columns.into(), &style);
                // The right half of a wide character that the cursor stood in.
                let after = usize::from(x) + usize::from(columns);
                if let Some(half) = row.get_mut(after).filter(|cell| cell.glyph == Glyph::Right) {
                    *half = Cell::empty(style);
                }
                if row.get(usize::from(cols) - 1).is_some_and(|last| last.width() == 2) {
                    row[usize::from(cols) - 1] = Cell::empty(style);
                }
            });
            self.put(c.encode_utf8(&mut [0; 4]).as_bytes(), columns.into(), columns == 2);
        }
    }

    /// A character of width 0: it joins the one printed just before it, if there is one.
    fn print_joining(&mut self, c: char) {
        let x = self.active().x;
        if self.join > 0 && x > 0 {
            // A lone character is cut off when too many joined it, as memory must stay bounded.
            self.joined_bytes += c.len_utf8();
            if self.joined_bytes > CELL_MARKS_BYTES_MAX {
                return;
            }
            let (row, paint, len) = self.current_row();
            row.join(paint, len, x, c);
            return;
        }
        self.join = 0;
        // Beyond the last column it is lost, but moves the cursor, and the one after it wraps.
        let x = self.make_room(0);
        if x < self.cols {
            let style = self.style;
            let (row, paint, len) = self.current_row();
            row.put_lone(paint, len, x, &style, c);
        }
        self.active_mut().x += 1;
    }

    /// Wraps when `columns` do not fit any more; returns the cursor's column.
    fn make_room(&mut self, columns: u8) -> u16 {
        let cols = self.cols;
        let x = self.active().x;
        if x + u16::from(columns) <= cols {
            return x;
        }
        if !self.modes.wrap {
            self.active_mut().x = cols - 1;
            return cols - 1;
        }
        if x < cols {
            // A wide character leaves the last column empty.
            let style = self.style;
            let (row, paint, len) = self.current_row();
            row.edit(paint, len, |row| row[usize::from(x)..usize::from(cols)].fill(Cell::empty(style)));
        }
        let last_row = self.rows - 1;
        let buffer = self.active_mut();
        buffer.x = 0;
        if buffer.y == buffer.bottom {
            self.scroll(true);
        } else {
            buffer.y = (buffer.y + 1).min(last_row);
            let y = buffer.y;
            buffer.row(y).set_wrapped(true);
        }
        0
    }

    /// Puts text that fits into the rest of the row.
    fn put(&mut self, text: &[u8], cells: u16, uneven: bool) {
        if cells > 0 {
            let style = self.style;
            let (row, paint, len, x) = self.current_row_at();
            row.put(paint, len, x, &style, Run { text, cells, uneven });
            self.active_mut().x += cells;
        }
    }
}

/// ICH on one row: what is pushed over the edge is lost, and so is half a wide character.
pub(super) fn insert_cells(row: &mut [Cell], at: u16, count: usize, fill: &Style) {
    let at = usize::from(at);
    if at >= row.len() {
        return;
    }
    if at > 0 && row[at - 1].width() == 2 {
        row[at - 1] = Cell::empty(*fill);
    }
    let count = count.min(row.len() - at);
    row[at..].rotate_right(count);
    row[at..at + count].fill(Cell::empty(*fill));
    if let Some(last) = row.last_mut().filter(|last| last.width() == 2) {
        *last = Cell::empty(*fill);
    }
}

/// DCH on one row.
pub(super) fn delete_cells(row: &mut [Cell], at: u16, count: usize, fill: &Style) {
    let at = usize::from(at);
    if at >= row.len() {
        return;
    }
    let count = count.min(row.len() - at);
    row[at..].rotate_left(count);
    let end = row.len();
    row[end - count..].fill(Cell::empty(*fill));
    if at > 0 && row[at - 1].width() == 2 {
        row[at - 1] = Cell::empty(*fill);
    }
    if row[at].glyph == Glyph::Right {
        row[at] = Cell::empty(*fill);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_at_the_first_byte_that_is_not_printable_ascii() {
        for odd in [0u8, 0x1b, 0x1f, 0x7f, 0x80, 0xff] {
            for at in 0..40 {
                let mut bytes = [b'~'; 40];
                bytes[at] = odd;
                assert_eq!(ascii_run(&bytes), at, "{odd:#x}");
            }
        }
        assert_eq!(ascii_run(b" plain text ~"), 13);
        assert_eq!(ascii_run(b""), 0);
    }
}
