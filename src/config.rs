//! What an operator decides, as plain values.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::limits::{self, TOKEN_BYTES_MAX};
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
    /// Largest file that a client may send; 0 for none at all. `--upload-bytes`.
    pub upload_bytes: u64,
    /// The shell when a request names none; else `$SHELL`, the passwd entry's, `/bin/sh`. `--shell`.
    pub shell: Option<PathBuf>,
    /// The program that is `wharf ht` when it is called as `ht`: a link to it is on the `PATH` of every shell.
    /// `wharf serve` gives its own.
    pub ht: Option<PathBuf>,
    /// Whether shells get our integration. `--no-shell-integration`.
    pub shell_integration: bool,
    /// Whether shells get the descriptors 3, 4 and 5 ([`crate::wire::sideband`]). `--no-sideband`.
    pub sideband: bool,
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
            upload_bytes: limits::UPLOAD_BYTES,
            shell: None,
            ht: None,
            shell_integration: true,
            sideband: true,
        }
    }
}

/// The socket of the command line's verbs.
pub fn socket_path(runtime_dir: &Path) -> PathBuf {
    runtime_dir.join("wharf.sock")
}

/// Reads a token from a file: its first line. Warns when others can read it.
///
/// # Errors
/// One line that says what to do.
pub fn read_token_file(path: &Path) -> Result<String, String> {
    let name = path.display();
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("no token file {name}; make one with `wharf token new {name}`")
        }
        _ => format!("cannot read the token file {name}: {error}"),
    };
    let file = File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode();
    let mut text = String::new();
    file.take(TOKEN_BYTES_MAX as u64 + 2).read_to_string(&mut text).map_err(failed)?;
    let token = check_token(text.lines().next().unwrap_or_default(), &format!("the token file {name}"))?;
    if mode & 0o077 != 0 {
        log::warn!("others can read the token file {name}; do `chmod 600 {name}`");
    }
    Ok(token)
}

/// A token that can travel in a header and in a URL.
///
/// # Errors
/// One line that says what to do; `source` names where the token came from.
pub fn check_token(token: &str, source: &str) -> Result<String, String> {
    let token = token.trim();
    if token.is_empty() {
        return Err(format!("{source} is empty; make a token with `wharf token new FILE`"));
    }
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if token.len() > TOKEN_BYTES_MAX || !token.bytes().all(good) {
        return Err(format!("{source} may hold letters, digits and -._~, at most {TOKEN_BYTES_MAX}"));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_what_a_url_can_carry() {
        assert_eq!(check_token(" abc-._~9\n", "x").as_deref(), Ok("abc-._~9"));
        assert!(check_token("", "x").unwrap_err().contains("wharf token new"));
        assert!(check_token("a b", "x").is_err());
        assert!(check_token(&"a".repeat(1025), "x").is_err());
    }
}
