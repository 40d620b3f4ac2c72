//! Shell integration.
