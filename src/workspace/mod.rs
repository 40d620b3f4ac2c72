//! What surrounds terminals: plain values and changes.
