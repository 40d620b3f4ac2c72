//! Listening sockets: TCP, Unix, and those that systemd passes.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddr {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A Unix socket of mode 0600.
    Unix(PathBuf),
    /// The descriptors passed by systemd (`LISTEN_FDS`).
    Passed,
}
