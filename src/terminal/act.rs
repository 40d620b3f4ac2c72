//! What a client asks of a terminal, as values.

use super::size::GridSize;

/// One client frame of the terminal protocol, parsed ("Client frames").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFrame {
    /// Stable over the client's reconnects.
    pub client_id: String,
    /// Grows with each frame of that client; a repeated one has no effect.
    pub client_seq: u64,
    /// What is asked.
    pub act: Act,
}

/// What a client frame asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Bytes for the program.
    Input {
        /// The bytes, UTF-8.
        data: String,
        /// False for a terminal's own reply to a query: it is input, but not use.
        claim: bool,
    },
    /// The client shows the terminal on a grid of this size.
    Resize(GridSize),
    /// End the terminal.
    Close,
    /// Opened, tapped, clicked into (protocol 2).
    Focus,
    /// No longer on the client's screen (protocol 2).
    Hide,
    /// Clear the terminal for everyone (protocol 2).
    Clear,
}
