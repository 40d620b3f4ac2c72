//! Titles (placeholder of the lead's file).

/// What a title's glyph means ("Pane titles").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The program is busy.
    Working,
    /// The program waits for its user.
    Idle,
}
