//! Streams into outbound queues, outbound queues into sockets, input queues into PTYs.

use std::io;
use std::time::Instant;

use super::Server;
use super::connection::Phase;
use super::hosted::Origin;
use super::reader::Pumped;
use super::source::{Key, Source};
use crate::limits::{PTY_BITE_BYTES, SCREEN_FOLLOW_AT_ONCE_BYTES, SCREEN_TURN_BYTES};
use crate::os::pty;
use crate::wire::agent_frames;

impl Server {
    pub(super) fn hand_out(&mut self, now: Instant) {
        if std::mem::take(&mut self.work.workspaces) {
            self.tell_workspaces();
        }
        let grown = std::mem::take(&mut self.work.grown);
        let mirrors = std::mem::take(&mut self.work.mirrors) || !grown.is_empty();
        for key in grown {
            let Some(hosted) = self.terminals.get_mut(key) else { continue };
            hosted.on_grown = false;
            let mut readers = std::mem::take(&mut self.readers);
            readers.extend_from_slice(&hosted.attached);
            for reader in readers.drain(..) {
                self.pump(reader, now);
            }
            self.readers = readers;
        }
        if mirrors {
            self.pump_mirrors(now);
        }
        for key in std::mem::take(&mut self.work.thirsty) {
            self.pump(key, now);
        }
        if std::mem::take(&mut self.work.news) {
            for key in self.event_readers.clone() {
                self.pump_events(key, now);
            }
        }
    }

    /// Moves a reader's cursor forward while its queue has room: replay, reset, live output and the exit.
    pub(super) fn pump(&mut self, key: Key, now: Instant) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let Phase::Terminal(socket) = &mut connection.phase else {
            match &connection.phase {
                Phase::Events(_) => self.pump_events(key, now),
                Phase::Agent(agent) => self.work.inputs.push(agent.terminal),
                Phase::Mirror(_) => self.pump_mirror(key, now),
                Phase::Terminal(_) | Phase::Request { .. } | Phase::Closing => {}
            }
            return;
        };
        let Some(hosted) = self.terminals.get_mut(socket.terminal) else { return };
        if connection.doomed {
            return;
        }
        let number = socket.terminal.number();
        connection.outbound.adopt(&mut self.spare);
        let queue = &mut connection.outbound;
        let was_full = queue.is_full();
        match socket.reader.pump(&mut hosted.terminal, number, queue, &mut self.encoded, now) {
            Pumped::Waits => {}
            Pumped::Until(at) => self.deadlines.ask(at, Source::Connection(key), &mut connection.asked),
            Pumped::Ended => return self.end_connection(key, 1000, "the terminal has ended", now),
        }
        if !queue.is_empty() {
            self.queue_write(key);
        }
        self.drained(key, was_full);
    }

    /// Whoever was not read while the connection's queue was full is read on, as soon as it is not.
    pub(super) fn drained(&mut self, key: Key, was_full: bool) {
        if let Some(connection) = self.connections.get_mut(key)
            && was_full
            && !connection.outbound.is_full()
        {
            connection.answers_bytes = 0;
            if connection.stalled {
                self.queue_again(key);
            }
        }
    }

    /// Puts a connection on the list of those with bytes to write.
    pub(super) fn queue_write(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key)
            && !connection.blocked
            && !connection.doomed
            && !std::mem::replace(&mut connection.on_write, true)
        {
            self.work.writes.push(key);
        }
    }

    pub(super) fn write_out(&mut self, now: Instant) {
        for key in std::mem::take(&mut self.work.inputs) {
            self.write_input(key);
        }
        for key in std::mem::take(&mut self.work.scripts) {
            self.write_events(key);
        }
        for key in std::mem::take(&mut self.work.writes) {
            self.write_connection(key, now);
        }
    }

    fn write_connection(&mut self, key: Key, now: Instant) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.on_write = false;
        if connection.doomed {
            return;
        }
        let (mut drained, mut bytes) = (false, 0);
        while !connection.outbound.is_empty() {
            match connection.socket.write(connection.outbound.waiting()) {
                Ok(n) => {
                    bytes += n;
                    drained |= connection.outbound.take(n);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    connection.blocked = true;
                    break;
                }
                Err(_) => return self.doom(key),
            }
        }
        if connection.outbound.link.took(bytes, !connection.blocked, now) {
            connection.adapt();
            let may_skip = match &connection.phase {
                Phase::Terminal(socket) => socket.reader.is_typing(),
                Phase::Mirror(socket) => {
                    self.mirror.session(socket.ticket).is_some_and(|session| session.is_typing())
                }
                _ => false,
            };
            if may_skip {
                self.work.thirsty.push(key); // now that its speed is known
            }
        }
        if connection.outbound.is_empty() {
            let memory = connection.outbound.give_back();
            if memory.capacity() > self.spare.capacity() && memory.capacity() <= 2 * OUTBOUND_SPARE_BYTES {
                self.spare = memory;
            }
            if matches!(connection.phase, Phase::Closing) {
                connection.socket.end();
                if connection.ended {
                    return self.doom(key);
                }
            }
        }
        if drained {
            self.work.thirsty.push(key);
            self.drained(key, true);
        }
    }

    /// Gives a PTY, or an agent, the input that waits for it.
    fn write_input(&mut self, key: Key) {
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        let input = &mut hosted.terminal.input;
        let mut drained = false;
        match &hosted.origin {
            Origin::Shell { master: Some(master), .. } => {
                while !input.is_empty() {
                    match pty::write(master, input.waiting()) {
                        Ok(n) if n > 0 => drained |= input.take(n),
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                            hosted.set_input_blocked(true, key, self.poll.registry());
                            break;
                        }
                        // Nobody will read it: the terminal has hung up.
                        Ok(_) | Err(_) => {
                            drained |= input.is_full();
                            input.abandon();
                        }
                    }
                }
            }
            Origin::Agent { socket, .. } => {
                let agent = socket.and_then(|socket| Some((socket, self.connections.get_mut(socket)?)));
                if let Some((socket, connection)) = agent {
                    if connection.outbound.is_full() {
                        return; // it is thirsty once that has drained
                    }
                    let text = String::from_utf8_lossy(input.waiting());
                    if !text.is_empty() {
                        connection.outbound.put(|out| agent_frames::put_input(&text, out));
                    }
                    self.queue_write(socket);
                }
                let Some(hosted) = self.terminals.get_mut(key) else { return };
                drained = hosted.terminal.input.is_full();
                hosted.terminal.input.abandon();
            }
            Origin::Shell { master: None, .. } => {
                drained = input.is_full();
                input.abandon();
            }
        }
        if let Some(hosted) = self.terminals.get_mut(key)
            && hosted.terminal.input.is_empty()
        {
            hosted.terminal.input.give_back();
        }
        if drained {
            self.wake_senders(key);
        }
    }

    /// The input queue has room: those who stopped reading because of it go on.
    pub(super) fn wake_senders(&mut self, key: Key) {
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        for sender in std::mem::take(&mut hosted.senders) {
            self.queue_again(sender);
        }
    }

    /// Lets screens follow their streams, by a bounded piece a turn: small steps at once, a screen that is
    /// as far behind as it may be, and the others when their output has paused.
    pub(super) fn follow_screens(&mut self, now: Instant) {
        let mut taken = 0;
        let mut followed = Vec::new();
        self.follow_at = None;
        for key in std::mem::take(&mut self.work.lagging) {
            let Some(hosted) = self.terminals.get_mut(key) else { continue };
            let lag = hosted.terminal.screen_lag();
            let due_at = match hosted.follow_at {
                Some(at)
                    if lag > SCREEN_FOLLOW_AT_ONCE_BYTES
                        && !hosted.terminal.must_wait_for_screen(PTY_BITE_BYTES) =>
                {
                    at
                }
                _ => now,
            };
            if due_at > now || taken >= SCREEN_TURN_BYTES {
                self.follow_at = Some(self.follow_at.map_or(due_at, |at| at.min(due_at)));
                self.work.lagging.push(key);
                continue;
            }
            if hosted.terminal.follow_screen(now) {
                followed.push(key);
                self.follow_at = Some(now);
            } else {
                hosted.follow_at = None;
            }
            taken += lag - hosted.terminal.screen_lag();
            self.terminal_changed(key, now);
        }
        // Those that had to wait go first in the next turn.
        self.work.lagging.append(&mut followed);
    }
}

/// A queue of this size is kept for the next connection that has something to send.
const OUTBOUND_SPARE_BYTES: usize = 128 << 10;
