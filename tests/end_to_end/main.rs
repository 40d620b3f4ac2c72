#![allow(
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

mod agents;
mod harness;
mod http;
mod input;
mod lives;
mod panes;
mod programs;
mod protocol;
mod queries;
mod screens;
mod shells;
mod sizes;
mod slow;
mod startup;
mod streams;
mod terminals;
mod trust;
mod websockets;
