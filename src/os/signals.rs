//! signals.
