//! A terminal server: shells on PTYs that outlive their clients, over HTTP and WebSocket.
//!
//! # One idea
//!
//! A *stream*, a *cursor*, a *queue*. Output is appended to a bounded, numbered stream. A reader is a cursor
//! into it. A socket has a bounded queue of bytes that it has not taken. Whenever the queue has room, the
//! cursor moves forward. Attaching, reconnecting, flow control and catching up after a stall are that one
//! rule; a slow client is a cursor that stopped.
//!
//! # The map
//!
//! | folder | knows | uses |
//! | --- | --- | --- |
//! | [`limits`] | every bound and interval, with its reason | |
//! | [`flow`] | how bytes wait: stream, follower, outbound queue, pace, deadlines | `limits` |
//! | [`terminal`] | one terminal's truth: stream, screen, title, whose size it has | `limits`, `flow` |
//! | [`workspace`] | what surrounds terminals: panes, status, panels, plans, settings, the event log, as plain values | `limits` |
//! | [`mirror`] | one mirror session: cursors, a log of places, resume | `limits`, `flow`, `terminal` |
//! | [`wire`] | bytes to values and back: HTTP, websockets, the protocols' frames | the value types above |
//! | [`server`] | the loop: the only folder with sockets and the clock | all of them |
//! | [`os`] | one system call's worth per function: PTYs, processes, listeners, signals | `limits` |
//! | [`cli`] | the other end: the verbs of `wharf` | `wire`, `os` |
//! | [`web`] | what the browser gets | |
//!
//! `flow`, `terminal`, `workspace`, `mirror` and `wire` are pure: no descriptor, no clock, no environment.
//!
//! # Invariants
//!
//! 1. Only [`Server::turn`] reads the clock that rules depend on, once a turn.
//! 2. Only `write_out` writes to sockets, PTYs and pipes (files are written on the spot: what clients send, piece by
//!    piece, and the state); only `bury` frees a slot.
//! 3. Nothing outside `server`, `os` and `cli` can block or return `io::Error`.
//! 4. A model is changed before the change is told.
//! 5. Readers hold positions, streams hold bytes.
//! 6. No reader can slow a terminal; no terminal can starve another: everything is taken in bites.
//! 7. Each queue has a bound in [`limits`], and what happens when it is full is written beside it.
//! 8. Whoever stops because of a bound is on a work list: mio is edge-triggered and will not remind us.
//! 9. Absent on purpose: threads, channels, `Rc`, `RefCell`, callbacks, globals.
//!
//! The protocols, for authors of clients: [`wire::terminal_frames`], [`wire::mirror_frames`], [`wire::sideband`].
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod cli;
pub mod config;
pub mod flow;
pub mod limits;
pub mod mirror;
pub mod os;
pub mod server;
pub mod terminal;
pub mod web;
pub mod wire;
pub mod workspace;

pub use config::Config;
pub use server::Server;
