//! Where control strings (OSC, DCS, APC...) stood in the stream.
//!
//! A reader that vanished inside one still waits for its end, and would take `ESC` for it: half a title or
//! half a clipboard would count. Whoever is given a reset there needs a CAN first.

use std::collections::VecDeque;

use crate::limits::STRING_SPANS_MAX;

/// Cursors that stand inside a control string: after its introducer, before its end.
#[derive(Default)]
pub(super) struct StringSpans {
    /// First and last such cursor of each string that has ended, oldest first; the oldest are forgotten.
    ended: VecDeque<(u64, u64)>,
    open_from: Option<u64>,
}

impl StringSpans {
    /// The stream stands inside a string, or not, at `cursor`, having taken one more byte.
    pub(super) fn note(&mut self, inside: bool, cursor: u64) {
        match (self.open_from, inside) {
            (None, true) => self.open_from = Some(cursor),
            (Some(from), false) => {
                self.open_from = None;
                if self.ended.len() == STRING_SPANS_MAX {
                    self.ended.pop_front();
                }
                self.ended.push_back((from, cursor - 1));
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    /// Whether a reader that has everything up to byte `cursor` is inside a string, as far as is remembered.
    pub(super) fn holds(&self, cursor: u64) -> bool {
        if self.open_from.is_some_and(|from| from <= cursor) {
            return true;
        }
        let after = self.ended.partition_point(|(from, _)| *from <= cursor);
        after > 0 && self.ended[after - 1].1 >= cursor
    }
}
