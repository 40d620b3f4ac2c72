//! Bytes to values and back. No state but a half-read message.

pub mod agent_frames;
pub mod control;
pub mod files;
pub mod http;
mod json;
pub mod metadata;
pub mod mirror_frames;
pub mod rest;
pub mod settings;
pub mod sideband;
pub mod state;
pub mod terminal_frames;
pub mod websocket;
