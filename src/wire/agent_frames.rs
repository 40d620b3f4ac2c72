//! agent_frames.
