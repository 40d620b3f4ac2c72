//! Signals as a readable descriptor: a handler sets a flag and writes a byte, the loop reads both.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGWINCH};

/// What arrived since the last [`Signals::drain`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// SIGTERM or SIGINT.
    pub terminate: bool,
    /// SIGHUP.
    pub hangup: bool,
    /// SIGCHLD: one or many children changed state.
    pub child: bool,
    /// SIGWINCH: the own terminal has a new size.
    pub resize: bool,
}

/// Signals that are caught from now until the process ends.
pub struct Signals {
    wake: UnixStream,
    caught: Vec<(i32, Arc<AtomicBool>)>,
}

impl Signals {
    /// Catches what a server acts on: SIGTERM, SIGINT, SIGHUP, SIGCHLD. SIGPIPE stays ignored, as Rust starts.
    pub fn install() -> io::Result<Signals> {
        Signals::install_for(&[SIGTERM, SIGINT, SIGHUP, SIGCHLD])
    }

    /// Catches these signals. SIGHUP and SIGINT that were ignored when the program started stay ignored
    /// (`nohup`, background jobs of a script). SIGCHLD is always caught: while it is ignored the kernel reaps
    /// children itself and their exit codes are lost.
    pub fn install_for(signals: &[i32]) -> io::Result<Signals> {
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let ignored = ignored_at_start();
        let mut caught = Vec::with_capacity(signals.len());
        for &signal in signals {
            if matches!(signal, SIGHUP | SIGINT) && ignored & (1 << (signal - 1)) != 0 {
                continue;
            }
            let flag = Arc::new(AtomicBool::new(false));
            // The flag first: who reads the byte finds the flag set.
            signal_hook::flag::register(signal, Arc::clone(&flag))?;
            signal_hook::low_level::pipe::register(signal, waker.try_clone()?)?;
            caught.push((signal, flag));
        }
        Ok(Signals { wake, caught })
    }

    /// Empties the descriptor and says what arrived. Never blocks; coalesced signals count once, and
    /// a signal that comes meanwhile may be told now and wake once more for nothing.
    pub fn drain(&mut self) -> Received {
        let mut bytes = [0; 64];
        loop {
            match self.wake.read(&mut bytes) {
                Ok(n) if n > 0 => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => break,
            }
        }
        let mut received = Received::default();
        for (signal, flag) in &self.caught {
            if !flag.swap(false, Ordering::SeqCst) {
                continue;
            }
            match *signal {
                SIGHUP => received.hangup = true,
                SIGCHLD => received.child = true,
                SIGWINCH => received.resize = true,
                _ => received.terminate = true,
            }
        }
        received
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

impl AsRawFd for Signals {
    fn as_raw_fd(&self) -> RawFd {
        self.wake.as_raw_fd()
    }
}

/// Bit n-1 is set when signal n is ignored now (`SigIgn` of proc(5)); without /proc, none.
fn ignored_at_start() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
