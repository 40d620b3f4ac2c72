//! One terminal's truth: bytes in; stream, screen, title and size out.

pub mod act;
pub mod screen;
pub mod size;
pub mod title;

pub use act::{Act, ClientFrame};
pub use size::GridSize;
