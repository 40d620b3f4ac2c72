//! Descriptors 3, 4 and 5 of a shell on the loop: what scripts draw, and what they are told of it.
//!
//! All processes of the terminal have the other ends. That they all close one is as good an end as any.

use std::io::{ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::time::Instant;

use log::debug;
use mio::unix::SourceFd;
use mio::{Interest, Registry};

use super::Server;
use super::source::{Key, Source};
use crate::flow::Outbound;
use crate::limits::{SIDEBAND_EVENT_BYTES_MAX, SIDEBAND_PIPE_BYTES};
use crate::os::spawn;
use crate::terminal::GridSize;
use crate::wire::sideband::{Sideband, put_error, put_terminal_resize};

/// Our ends, and what waits on either side of them.
pub(super) struct Channels {
    rows: Incoming,
    data: Incoming,
    decoder: Sideband,
    /// `None` once nobody can read them.
    events: Option<PipeWriter>,
    /// Events that scripts have not read; above [`SIDEBAND_EVENT_BYTES_MAX`] new ones are dropped.
    queue: Outbound,
    /// The pipe is full: its writable edge comes.
    blocked: bool,
    on_again: bool,
}

/// A pipe that scripts write to.
struct Incoming {
    /// `None` once nobody can write to it.
    pipe: Option<PipeReader>,
    /// It may hold bytes that we have not read.
    unread: bool,
}

impl Incoming {
    /// Reads until the buffer is full or the pipe is empty; returns how many bytes.
    fn fill(&mut self, buffer: &mut [u8]) -> usize {
        let mut filled = 0;
        while self.unread && filled < buffer.len() {
            match self.pipe.as_mut().map(|pipe| pipe.read(&mut buffer[filled..])) {
                Some(Ok(n)) if n > 0 => filled += n,
                Some(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Some(Err(error)) if error.kind() == ErrorKind::WouldBlock => self.unread = false,
                Some(Ok(_) | Err(_)) | None => {
                    self.pipe = None;
                    self.unread = false;
                }
            }
        }
        filled
    }
}

impl Channels {
    pub(super) fn new(ends: spawn::Channels) -> Channels {
        let incoming = |pipe| Incoming { pipe: Some(pipe), unread: false };
        Channels {
            rows: incoming(ends.rows),
            data: incoming(ends.data),
            decoder: Sideband::default(),
            events: Some(ends.events),
            queue: Outbound::default(),
            blocked: false,
            on_again: false,
        }
    }

    pub(super) fn watch(&self, key: Key, registry: &Registry) -> std::io::Result<()> {
        for pipe in [&self.rows, &self.data].into_iter().filter_map(|incoming| incoming.pipe.as_ref()) {
            let token = Source::Sideband(key).pack();
            registry.register(&mut SourceFd(&pipe.as_raw_fd()), token, Interest::READABLE)?;
        }
        Ok(())
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.decoder.deadline()
    }

    /// Reads one bite, in the order that the decoder asks for; returns how many bytes it had.
    fn read(&mut self, scratch: &mut [u8], now: Instant) -> usize {
        let [rows_bytes, data_bytes, _] = SIDEBAND_PIPE_BYTES;
        let (data, rest) = scratch.split_at_mut(data_bytes);
        let data_filled = if self.decoder.wants_data() { self.data.fill(data) } else { 0 };
        let rows = &mut rest[..rows_bytes];
        let rows_filled = if self.decoder.wants_rows() { self.rows.fill(rows) } else { 0 };
        self.decoder.push_rows(&rows[..rows_filled], now);
        self.decoder.push_data(&data[..data_filled], now);
        rows_filled + data_filled
    }

    /// Whether there may be something to read that is wanted. What is not wanted now is looked for again once
    /// the decoder went on: no event will tell of it.
    fn is_unread(&self) -> bool {
        (self.rows.unread && self.decoder.wants_rows()) || (self.data.unread && self.decoder.wants_data())
    }

    /// An event for scripts; dropped when they have not read so many before it.
    fn tell(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        let mut line = Vec::new();
        put(&mut line);
        if self.events.is_some() && self.queue.waiting().len() + line.len() <= SIDEBAND_EVENT_BYTES_MAX {
            self.queue.put(|out| out.extend_from_slice(&line));
        }
    }

    /// Writes what scripts take of their events. While the pipe is full we hear of room, and only then: each
    /// read of a script would wake us else.
    fn write(&mut self, key: Key, registry: &Registry) {
        while !self.queue.is_empty() && !self.blocked {
            let Some(pipe) = &mut self.events else { return self.queue.abandon() };
            match pipe.write(self.queue.waiting()) {
                Ok(n) if n > 0 => {
                    self.queue.take(n);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let token = Source::Sideband(key).pack();
                    match registry.register(&mut SourceFd(&pipe.as_raw_fd()), token, Interest::WRITABLE) {
                        Ok(()) => self.blocked = true,
                        Err(error) => {
                            debug!("cannot wait for room for events: {error}");
                            self.events = None;
                        }
                    }
                }
                Ok(_) | Err(_) => self.events = None,
            }
        }
        if self.queue.is_empty() {
            self.queue.give_back();
        }
    }

    fn unblock(&mut self, registry: &Registry) {
        self.blocked = false;
        if let Some(pipe) = &self.events {
            let _ = registry.deregister(&mut SourceFd(&pipe.as_raw_fd()));
        }
    }
}

impl Server {
    pub(super) fn sideband_woke(&mut self, key: Key, readable: bool, writable: bool) {
        let Some(channels) = self.terminals.get_mut(key).and_then(|hosted| hosted.sideband.as_mut()) else {
            return;
        };
        if writable && channels.blocked {
            channels.unblock(self.poll.registry());
            self.work.scripts.push(key);
        }
        if readable {
            // One token stands for both.
            channels.rows.unread = true;
            channels.data.unread = true;
            if !std::mem::replace(&mut channels.on_again, true) {
                self.work.again.push(Source::Sideband(key));
            }
        }
    }

    /// Reads one bite of a terminal's descriptors and does what it says; returns how many bytes it had.
    pub(super) fn read_sideband(&mut self, key: Key, now: Instant) -> usize {
        let Some(channels) = self.terminals.get_mut(key).and_then(|hosted| hosted.sideband.as_mut()) else {
            return 0;
        };
        channels.on_again = false;
        let taken = channels.read(&mut self.scratch, now);
        self.follow_sideband(key, now);
        taken
    }

    /// Does what scripts have asked for and what is due.
    pub(super) fn follow_sideband(&mut self, key: Key, now: Instant) {
        loop {
            let Some(hosted) = self.terminals.get_mut(key) else { return };
            let Some(channels) = &mut hosted.sideband else { return };
            let Some(command) = channels.decoder.next(now) else { break };
            match command.apply(&hosted.id, &mut self.around.panels) {
                Ok(Some(change)) => self.tell_panel(&change),
                Ok(None) => {}
                Err(error) => self.script_hears(key, |out| put_error(&error, out)),
            }
        }
        if let Some(channels) = self.terminals.get_mut(key).and_then(|hosted| hosted.sideband.as_mut())
            && channels.is_unread()
            && !std::mem::replace(&mut channels.on_again, true)
        {
            self.work.again.push(Source::Sideband(key));
        }
        self.ask_terminal(key);
    }

    /// Tells the scripts of a terminal something.
    pub(super) fn script_hears(&mut self, key: Key, put: impl FnOnce(&mut Vec<u8>)) {
        if let Some(channels) = self.terminals.get_mut(key).and_then(|hosted| hosted.sideband.as_mut()) {
            channels.tell(put);
            if !channels.blocked && !channels.queue.is_empty() {
                self.work.scripts.push(key);
            }
        }
    }

    /// Tells scripts that have drawn something that the terminal has another size. For all others it would only
    /// fill a pipe that nobody reads.
    pub(super) fn script_hears_size(&mut self, key: Key, size: GridSize) {
        let Some(hosted) = self.terminals.get(key) else { return };
        if self.around.panels.are_on(&hosted.id) {
            self.script_hears(key, |out| put_terminal_resize(size.cols(), size.rows(), out));
        }
    }

    pub(super) fn write_events(&mut self, key: Key) {
        if let Some(channels) = self.terminals.get_mut(key).and_then(|hosted| hosted.sideband.as_mut()) {
            channels.write(key, self.poll.registry());
        }
    }

    /// What was drawn on a terminal goes with those who drew it.
    pub(super) fn clear_panels(&mut self, surface_id: &str) {
        for change in self.around.panels.clear_surface(surface_id) {
            self.tell_panel(&change);
        }
    }
}
