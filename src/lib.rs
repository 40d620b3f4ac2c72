//! A terminal server: shells on PTYs that outlive their clients, over HTTP and WebSocket.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod cli;
pub mod config;
pub mod flow;
pub mod limits;
pub mod os;
pub mod server;
pub mod terminal;
pub mod web;
pub mod wire;
pub mod workspace;

pub use config::Config;
pub use server::Server;
