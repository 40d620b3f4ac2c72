//! spawn.
