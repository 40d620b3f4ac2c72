//! Bytes to values and back. No state but a half-read message.

pub mod agent_frames;
pub mod http;
mod json;
pub mod mirror_frames;
pub mod rest;
pub mod terminal_frames;
pub mod websocket;
