//! The size of a grid of character cells.

use std::num::NonZeroU16;

use crate::limits::GRID_SIDE_MAX;

/// Columns and rows of a terminal, each in 1..=[`GRID_SIDE_MAX`]: a zero side cannot be built, since it
/// would be meaningless to the PTY and to the screen model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridSize {
    /// Cells in a row.
    pub cols: NonZeroU16,
    /// Rows on the screen.
    pub rows: NonZeroU16,
}

impl GridSize {
    /// `None` when a side is outside 1..=[`GRID_SIDE_MAX`].
    pub fn new(cols: u64, rows: u64) -> Option<GridSize> {
        let side = |n: u64| u16::try_from(n).ok().filter(|n| *n <= GRID_SIDE_MAX).and_then(NonZeroU16::new);
        Some(GridSize { cols: side(cols)?, rows: side(rows)? })
    }

    /// Columns as a plain number.
    pub fn cols(self) -> u16 {
        self.cols.get()
    }

    /// Rows as a plain number.
    pub fn rows(self) -> u16 {
        self.rows.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sides_between_one_and_the_maximum_make_a_size() {
        assert!(GridSize::new(0, 24).is_none());
        assert!(GridSize::new(80, 0).is_none());
        assert!(GridSize::new(2001, 24).is_none());
        assert!(GridSize::new(u64::MAX, 24).is_none());
        let size = GridSize::new(2000, 1).unwrap();
        assert_eq!((size.cols(), size.rows()), (2000, 1));
    }
}
