//! proc.
