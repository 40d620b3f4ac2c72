//! Pseudoterminals: the two ends, the size, the foreground group, and bytes in both directions.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, ptsname, unlockpt};
use rustix::termios::{InputModes, OptionalActions, Winsize};

/// A new pair `(master, slave)` of this size in cells. Both are close-on-exec, neither becomes anybody's
/// controlling terminal, and the master does not block. The line discipline is the kernel's default (canonical,
/// echo, signals) plus `IUTF8`, so that erasing in `cat` takes whole characters.
///
/// Errors: `EAGAIN` when all PTYs are in use, `EMFILE`/`ENFILE` without descriptors, `ENOENT` without `/dev/ptmx`.
pub fn open(cols: u16, rows: u16) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    unlockpt(&master)?;
    // The peer call needs no path, so it works whichever devpts is mounted; kernels before 4.13 lack it.
    let slave = ioctl_tiocgptpeer(&master, flags).or_else(|_| {
        let oflags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        rustix::fs::open(ptsname(&master, Vec::new())?, oflags, Mode::empty())
    })?;
    let mut termios = rustix::termios::tcgetattr(&slave)?;
    termios.input_modes |= InputModes::IUTF8;
    rustix::termios::tcsetattr(&slave, OptionalActions::Now, &termios)?;
    set_size(&master, cols, rows)?;
    rustix::io::ioctl_fionbio(&master, true)?;
    Ok((master, slave))
}

/// Sets the size in cells; the kernel sends SIGWINCH to the foreground group when it differs.
pub fn set_size(master: impl AsFd, cols: u16, rows: u16) -> io::Result<()> {
    let size = Winsize { ws_col: cols, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(master, size)?)
}

/// `(cols, rows)` as programs see them. Works on any terminal, also the CLI's own.
pub fn size(terminal: impl AsFd) -> io::Result<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(terminal)?;
    Ok((size.ws_col, size.ws_row))
}

/// The process group that has the terminal now; `None` when nobody has (no session yet, or its leader is gone).
pub fn foreground_group(master: impl AsFd) -> io::Result<Option<i32>> {
    match rustix::termios::tcgetpgrp(master) {
        Ok(group) => Ok(Some(group.as_raw_nonzero().get())),
        // rustix's answer for group 0, and the kernel's for a PTY that is no controlling terminal.
        Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::IO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Bytes that programs wrote. `Ok(0)`: the last slave was closed and everything has been read (Linux says `EIO`).
/// `WouldBlock` when there is nothing now.
pub fn read(master: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    match retry_on_intr(|| rustix::io::read(&master, &mut *buffer)) {
        Err(Errno::IO) => Ok(0),
        other => Ok(other?),
    }
}

/// Gives input to the terminal; returns how many bytes it took. `WouldBlock` when the program reads nothing and
/// the line discipline is full.
pub fn write(master: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    Ok(retry_on_intr(|| rustix::io::write(&master, bytes))?)
}
