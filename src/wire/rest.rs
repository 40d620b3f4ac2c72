//! rest.
