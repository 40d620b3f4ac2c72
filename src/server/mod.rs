//! The loop.

/// The server.
pub struct Server;
