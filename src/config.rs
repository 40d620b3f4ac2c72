//! What an operator decides, as plain values.

use std::path::PathBuf;
use std::time::Duration;

use crate::limits;
use crate::os::listen::ListenAddr;

/// The server's configuration. `Config::default()` is what `wharf serve` without flags runs with, less
/// the runtime directory's socket, which the command line adds.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen. `--listen`, repeated.
    pub listen: Vec<ListenAddr>,
    /// Prefix of every path, for reverse proxies: empty, or `/a/b` without a trailing slash. `--base-path`.
    pub base_path: String,
    /// The access token, already read from `--token-file` or the environment. Without one, TCP
    /// listeners beyond loopback get a generated token.
    pub token: Option<String>,
    /// Names besides loopback and the listeners' own addresses that may stand in `Host`. `--host`.
    pub hosts: Vec<String>,
    /// Where state that outlives the server is kept, mode 0700. `--state-dir`.
    pub state_dir: PathBuf,
    /// Where sockets and generated files of this run live, mode 0700 (`$XDG_RUNTIME_DIR/wharf`).
    pub runtime_dir: PathBuf,
    /// Bytes of output each terminal keeps for replay. `--replay-bytes`.
    pub replay_bytes: usize,
    /// Lines of scrollback each screen keeps. `--scrollback`.
    pub scrollback_lines: usize,
    /// How long an exited terminal can still be read. `--linger`.
    pub linger: Duration,
    /// Terminals at once. `--max-terminals`.
    pub terminals_max: usize,
    /// The shell when a request names none; else `$SHELL`, the passwd entry's, `/bin/sh`. `--shell`.
    pub shell: Option<PathBuf>,
    /// Whether shells get our integration. `--no-shell-integration`.
    pub shell_integration: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            listen: Vec::new(),
            base_path: String::new(),
            token: None,
            hosts: Vec::new(),
            state_dir: PathBuf::new(),
            runtime_dir: PathBuf::new(),
            replay_bytes: limits::REPLAY_BYTES,
            scrollback_lines: limits::SCROLLBACK_LINES,
            linger: limits::LINGER,
            terminals_max: limits::TERMINALS_MAX,
            shell: None,
            shell_integration: true,
        }
    }
}
