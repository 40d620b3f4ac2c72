//! The user's own terminal: raw mode that is always given back, its size, and descriptors to poll.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};

use super::modes::OuterModes;
use crate::limits::{CLI_BLOCKING_WRITE_BYTES_MAX, READ_BYTES};
use crate::os::pty;
use crate::terminal::GridSize;

/// Standard input in raw mode until this is dropped.
pub(super) struct RawMode {
    cooked: Termios,
}

impl RawMode {
    /// `None` when standard input is no terminal. A panic gives the terminal back before it says what happened.
    pub(super) fn enter() -> Result<Option<RawMode>, String> {
        let stdin = rustix::stdio::stdin();
        if !isatty(stdin) {
            return Ok(None);
        }
        let failed = |error| format!("cannot switch the terminal to raw mode: {error}");
        let cooked = tcgetattr(stdin).map_err(failed)?;
        let mut raw = cooked.clone();
        raw.make_raw();
        tcsetattr(stdin, OptionalActions::Drain, &raw).map_err(failed)?;
        let for_panic = cooked.clone();
        let say = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let mut restore = Vec::new();
            OuterModes::new().put_restore(&mut restore);
            let _ = rustix::io::write(rustix::stdio::stdout(), &restore);
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &for_panic);
            say(panic);
        }));
        Ok(Some(RawMode { cooked }))
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // Flushed: what the terminal still reports (mouse, answers) is not for the user's shell.
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Flush, &self.cooked);
    }
}

/// The size of the terminal on standard output; `None` when there is none, or it does not know.
pub(super) fn size() -> Option<GridSize> {
    let (cols, rows) = pty::size(rustix::stdio::stdout()).ok()?;
    GridSize::new(u64::from(cols), u64::from(rows))
}

/// Whether standard input is a terminal.
pub(super) fn types() -> bool {
    isatty(rustix::stdio::stdin())
}

/// Whether standard input is a pipe, a socket or a file, as opposed to a terminal or `/dev/null`.
pub(super) fn stdin_holds_data() -> bool {
    rustix::fs::fstat(rustix::stdio::stdin())
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) != FileType::CharacterDevice)
}

/// Whether standard output is a terminal.
pub(super) fn shows() -> bool {
    isatty(rustix::stdio::stdout())
}

/// Standard output, written without ever blocking for long.
///
/// `O_NONBLOCK` is shared with everyone who has the same open file, the user's shell among them, so a terminal
/// or a pipe is opened once more for ourselves. What cannot be opened again is written in small pieces.
pub(super) struct Output {
    own: Option<OwnedFd>,
    pending: Vec<u8>,
    written: usize,
    /// The reader is gone; what is still written goes nowhere.
    unread: bool,
}

impl Output {
    pub(super) fn new() -> Output {
        let stdout = rustix::stdio::stdout();
        let is_pipe = || {
            rustix::fs::fstat(stdout)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo)
        };
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let own = (isatty(stdout) || is_pipe())
            .then(|| rustix::fs::open("/proc/self/fd/1", flags, Mode::empty()).ok())
            .flatten();
        Output { own, pending: Vec::new(), written: 0, unread: false }
    }

    /// Bytes that were not taken yet.
    pub(super) fn pending_bytes(&self) -> usize {
        self.pending.len() - self.written
    }

    /// Where to append.
    pub(super) fn pending(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }

    /// Writes what is taken now. `ready`: polled as writable.
    ///
    /// # Errors
    /// The reader is gone; told once.
    pub(super) fn write(&mut self, ready: bool) -> io::Result<()> {
        let result = if self.unread { Ok(()) } else { self.write_pending(ready) };
        self.unread |= result.is_err();
        // The written prefix leaves once it is half of the whole, so bytes moved never exceed bytes written.
        if self.unread || self.written * 2 >= self.pending.len() {
            self.pending.drain(..if self.unread { self.pending.len() } else { self.written });
            self.written = 0;
        }
        result
    }

    fn write_pending(&mut self, ready: bool) -> io::Result<()> {
        while self.pending_bytes() > 0 && (ready || self.own.is_some()) {
            let rest = &self.pending[self.written..];
            let wrote = match &self.own {
                Some(own) => rustix::io::write(own, rest),
                None => rustix::io::write(
                    rustix::stdio::stdout(),
                    &rest[..rest.len().min(CLI_BLOCKING_WRITE_BYTES_MAX)],
                ),
            };
            match wrote {
                Ok(n) => self.written += n,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
            if self.own.is_none() {
                break;
            }
        }
        Ok(())
    }
}

impl AsFd for Output {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.own {
            Some(own) => own.as_fd(),
            None => rustix::stdio::stdout(),
        }
    }
}

/// Waits until one of these is ready or `until` has come; `None` waits for ever, and a signal ends the wait. An
/// entry without flags is left out. Gives what each is ready for.
pub(super) fn wait<const N: usize>(
    fds: [(BorrowedFd<'_>, PollFlags); N],
    until: Option<Instant>,
) -> Result<[PollFlags; N], String> {
    let mut polled: Vec<PollFd<'_>> = fds
        .iter()
        .filter(|(_, flags)| !flags.is_empty())
        .map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags))
        .collect();
    let timeout = until.map(|until| {
        // One more millisecond: who wakes too early finds nothing due and would spin.
        let left = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
        Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        }
    });
    match rustix::event::poll(&mut polled, timeout.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok([PollFlags::empty(); N]),
        Err(error) => return Err(format!("cannot wait for input: {error}")),
    }
    let mut answers = polled.iter().map(PollFd::revents);
    Ok(fds.map(|(_, flags)| match flags.is_empty() {
        true => PollFlags::empty(),
        false => answers.next().unwrap_or(PollFlags::empty()),
    }))
}

/// A part of standard input; empty at its end. `None` when there is nothing now after all.
pub(super) fn read_stdin() -> Option<Vec<u8>> {
    let mut bytes = vec![0; READ_BYTES];
    match rustix::io::read(rustix::stdio::stdin(), &mut bytes) {
        Ok(n) => bytes.truncate(n),
        Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => return None,
        // A terminal that hung up.
        Err(_) => bytes.clear(),
    }
    Some(bytes)
}
