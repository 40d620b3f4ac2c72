//! terminal_frames.
