//! Sockets and PTYs into models, in bounded bites.

use std::io;
use std::time::Instant;

use log::{debug, warn};

use super::connection::{Connection, Phase, Socket};
use super::source::{Key, Source};
use super::{Heard, Server};
use crate::limits::{
    ACCEPT_BITE, ACCEPT_REST, CONNECTIONS_MAX, PTY_BITE_BYTES, PTY_PIECE_BYTES, PTY_TURN_BYTES,
    SOCKET_BITE_BYTES,
};
use crate::os::listen::{self, AcceptFailure, Stream};
use crate::os::{pty, spawn};
use crate::wire::http::{Reject, Response, Stage, put_continue, put_response};
use crate::wire::rest::SSE_KEEP_ALIVE;
use crate::wire::websocket::{self, Message};

/// What came of digesting what was read.
#[derive(PartialEq, Eq)]
enum Digested {
    /// All whole messages.
    All,
    /// A queue is full: whoever drains it wakes this connection.
    Stalled,
}

/// The next step of a connection, decided while its phase is borrowed.
enum Next {
    Request(crate::wire::http::Request),
    /// A request whose body is still to come.
    Begun,
    Message(Message),
    More,
    Bad(Reject),
    Closed,
    Drop,
}

/// A PTY that gave less has no more at the moment: what comes next comes with an event.
const PTY_READ_FULL: usize = 2048;

impl Server {
    pub(super) fn take_in(&mut self, now: Instant) {
        let waited = std::mem::take(&mut self.work.again);
        let mut heard = std::mem::take(&mut self.heard);
        heard.extend(self.events.iter().map(|event| Heard {
            source: Source::unpack(event.token()),
            readable: event.is_readable() || event.is_read_closed() || event.is_error(),
            writable: event.is_writable() || event.is_error(),
            ended: event.is_read_closed() || event.is_error(),
        }));
        for Heard { source, readable, writable, ended } in heard.drain(..) {
            match source {
                Source::Signals => self.take_signals(now),
                Source::Chores => {}
                Source::Git(slot) => self.read_git(slot),
                Source::Listener(slot) => self.accept(slot, now),
                Source::Connection(key) => {
                    let Some(connection) = self.connections.get_mut(key) else { continue };
                    connection.unread |= readable;
                    connection.end_heard |= ended;
                    if writable && std::mem::take(&mut connection.blocked) {
                        self.queue_write(key);
                    }
                    if readable {
                        self.queue_again(key);
                    }
                }
                Source::Terminal(key) => {
                    let Some(hosted) = self.terminals.get_mut(key) else { continue };
                    hosted.unread |= readable;
                    hosted.end_heard |= ended;
                    if writable && hosted.input_blocked {
                        hosted.set_input_blocked(false, key, self.poll.registry());
                        self.work.inputs.push(key);
                    }
                    if readable && !std::mem::replace(&mut hosted.on_again, true) {
                        self.work.again.push(source);
                    }
                }
                Source::Sideband(key) => self.sideband_woke(key, readable, writable),
            }
        }
        self.heard = heard;
        // Who has just woken goes before those that have more than they may: a keystroke, its echo.
        let woken = std::mem::take(&mut self.work.again);
        let (mut taken, mut late) = (0, Vec::new());
        for source in woken.into_iter().chain(waited) {
            match source {
                Source::Connection(key) => self.read_connection(key, now),
                Source::Terminal(_) | Source::Sideband(_) if taken >= PTY_TURN_BYTES => late.push(source),
                Source::Terminal(key) => taken += self.read_terminal(key, now),
                Source::Sideband(key) => taken += self.read_sideband(key, now),
                Source::Listener(slot) => self.accept(slot, now),
                Source::Signals | Source::Chores | Source::Git(_) => {}
            }
        }
        self.work.again.splice(..0, late);
    }

    fn take_signals(&mut self, now: Instant) {
        let received = self.signals.drain();
        if received.child {
            while let Some(reaped) = spawn::reap() {
                self.child_died(reaped, now);
                self.git_died(reaped, now);
                self.saver_died(reaped);
            }
        }
        if received.terminate || received.hangup {
            self.stop(now);
        }
    }

    pub(super) fn accept(&mut self, slot: u16, now: Instant) {
        for _ in 0..ACCEPT_BITE {
            let full = self.connections.len() >= CONNECTIONS_MAX;
            let Some(listening) = self.listeners.get_mut(usize::from(slot)) else { return };
            listening.resting_until.take_if(|until| *until <= now);
            if let Some(until) = listening.resting_until {
                // Asked for anew: a deadline that came early must not be the last.
                return self.deadlines.ask(until, Source::Listener(slot), &mut listening.asked);
            }
            let accepted = match full {
                true => Err(io::Error::from(rustix::io::Errno::MFILE)),
                false => listen::accept(&listening.listener),
            };
            match accepted {
                Ok(accepted) => {
                    let gate = listening.gate;
                    if let Stream::Tcp(stream) = &accepted.stream
                        && let Err(error) = listen::tune(stream)
                    {
                        debug!("cannot tune a connection: {error}");
                    }
                    let registry = self.poll.registry();
                    let added = self.connections.insert_with(|key| {
                        let mut socket = Socket::new(accepted.stream);
                        socket.register(registry, Source::Connection(key).pack())?;
                        Ok::<_, io::Error>(Connection::new(socket, accepted.peer, gate, now))
                    });
                    match added {
                        Ok(key) => self.ask_connection(key),
                        Err(error) => warn!("a connection cannot be watched: {error}"),
                    }
                }
                Err(error) => match listen::accept_failure(&error) {
                    AcceptFailure::WouldBlock => return,
                    AcceptFailure::Connection => {}
                    AcceptFailure::Resources => {
                        // The same error would come at once again: rest, and look again by deadline.
                        warn!("not accepting for a moment: {error}");
                        let until = now + ACCEPT_REST;
                        listening.resting_until = Some(until);
                        self.deadlines.ask(until, Source::Listener(slot), &mut listening.asked);
                        return;
                    }
                },
            }
        }
        // More may wait than one bite.
        self.work.again.push(Source::Listener(slot));
    }

    /// Reads one bite of a socket and digests it.
    fn read_connection(&mut self, key: Key, now: Instant) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.on_again = false;
        if connection.doomed {
            return;
        }
        let mut budget = SOCKET_BITE_BYTES;
        if self.digest(key, now) == Digested::Stalled {
            return;
        }
        loop {
            let Some(connection) = self.connections.get_mut(key) else { return };
            if connection.doomed || !connection.unread {
                return;
            }
            match connection.socket.read(&mut self.scratch) {
                Ok(0) => {
                    connection.unread = false;
                    return self.peer_ended(key, now);
                }
                Ok(n) => {
                    // A read that found less than it had room for found all there was.
                    connection.unread = n == self.scratch.len() || connection.end_heard;
                    connection.heard_at = now;
                    connection.pinged = false;
                    if !matches!(connection.phase, Phase::Closing) {
                        connection.incoming.extend_from_slice(&self.scratch[..n]);
                    }
                    if self.digest(key, now) == Digested::Stalled {
                        return;
                    }
                    budget = budget.saturating_sub(n);
                    if budget == 0 {
                        return self.queue_again(key);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    connection.unread = false;
                    return;
                }
                Err(_) => return self.doom(key),
            }
        }
    }

    /// The peer sends no more. A request that it sent whole is still answered.
    fn peer_ended(&mut self, key: Key, now: Instant) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.ended = true;
        match &connection.phase {
            Phase::Request { .. } if !connection.outbound.is_empty() => connection.close(now),
            // It is doomed once what waits has left.
            Phase::Closing if !connection.outbound.is_empty() => {}
            // Server-Sent Events go one way; some clients close their sending side.
            Phase::Events(events) if events.codec.is_none() => {}
            _ => self.doom(key),
        }
    }

    /// Handles whole messages until there is none, or until a queue is full.
    fn digest(&mut self, key: Key, now: Instant) -> Digested {
        loop {
            let Some(connection) = self.connections.get_mut(key) else { return Digested::All };
            if connection.doomed {
                return Digested::All;
            }
            if connection.must_drain() || connection.waiting.is_some() {
                connection.stalled = true;
                return Digested::Stalled;
            }
            if let Phase::Terminal(socket) = &mut connection.phase
                && let Some(frame) = socket.held.take()
            {
                if !self.apply_frame(key, frame, now) {
                    return Digested::Stalled;
                }
                continue;
            }
            if matches!(connection.phase, Phase::Mirror(_)) && !self.mirror_is_heard(key, now) {
                return Digested::Stalled;
            }
            let Some(connection) = self.connections.get_mut(key) else { return Digested::All };
            connection.stalled = false;
            let next = next_step(connection, now);
            match next {
                Next::Request(request) => self.serve(key, &request, now),
                Next::Begun => {
                    if let Err(reject) = self.check_begun(key, now) {
                        self.refuse(key, &reject, now);
                    }
                }
                Next::Message(message) => self.take_message(key, &message, now),
                Next::More => {
                    self.ask_connection(key);
                    self.queue_write(key);
                    return Digested::All;
                }
                Next::Bad(reject) => self.refuse(key, &reject, now),
                Next::Closed => {
                    self.leave_models(key, now);
                    if let Some(connection) = self.connections.get_mut(key) {
                        connection.close(now);
                    }
                    self.ask_connection(key);
                    self.queue_write(key);
                }
                Next::Drop => return Digested::All,
            }
        }
    }

    /// Whether the request may be made whose body is arriving: a stranger's is not collected.
    fn check_begun(&mut self, key: Key, now: Instant) -> Result<(), Reject> {
        let Some(connection) = self.connections.get_mut(key) else { return Ok(()) };
        let phase = std::mem::replace(&mut connection.phase, Phase::Closing);
        let checked = match &phase {
            Phase::Request { reader, .. } => reader.begun().map_or(Ok(()), |request| {
                self.trust.check_site(request, &connection.peer)?;
                self.trust.check_caller(request, connection, now)
            }),
            _ => Ok(()),
        };
        connection.phase = phase;
        checked
    }

    /// The last answer of a connection.
    fn refuse(&mut self, key: Key, reject: &Reject, now: Instant) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.outbound.put(|out| put_response(&Response::error(reject), false, false, out));
        connection.close(now);
        self.ask_connection(key);
        self.queue_write(key);
    }

    fn take_message(&mut self, key: Key, message: &Message, now: Instant) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if let Phase::Mirror(socket) = &mut connection.phase {
            socket.may_hear = false;
        }
        match (&connection.phase, message) {
            (_, Message::Ping | Message::Pong) => self.queue_write(key),
            (Phase::Terminal(_), Message::Text(text)) => self.terminal_text(key, text, now),
            (Phase::Terminal(_), Message::Binary(_)) => {
                self.terminal_error(key, "binary frames go one way: clients send JSON text")
            }
            (Phase::Mirror(_), Message::Text(text)) => self.mirror_text(key, text, now),
            (Phase::Mirror(_), Message::Binary(_)) => self.mirror_binary(key),
            (Phase::Agent(_), Message::Text(text)) => self.agent_text(key, text, now),
            (Phase::Agent(_), Message::Binary(bytes)) => self.agent_output(key, bytes, now),
            (Phase::Events(_), Message::Text(_) | Message::Binary(_)) => {
                self.end_connection(key, 1008, "the event stream takes no messages", now);
            }
            (Phase::Request { .. } | Phase::Closing, _) => {}
        }
    }

    /// Reads one bite of a PTY into its terminal; returns how many bytes it had.
    fn read_terminal(&mut self, key: Key, now: Instant) -> usize {
        let Some(hosted) = self.terminals.get_mut(key) else { return 0 };
        hosted.on_again = false;
        let Some(master) = hosted.master() else { return 0 };
        if hosted.terminal.must_wait_for_screen(PTY_BITE_BYTES) {
            // The screen takes its next slice in this turn.
            hosted.on_again = true;
            self.work.again.push(Source::Terminal(key));
            return 0;
        }
        let (mut filled, mut more) = (0, false);
        match pty::read(master, &mut self.scratch[..PTY_BITE_BYTES]) {
            Ok(n) if n > 0 => {
                filled = n;
                more = n >= PTY_READ_FULL || hosted.is_ending();
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(_) | Err(_) => hosted.hung_up = true,
        }
        hosted.unread = more;
        if filled > 0 {
            hosted.terminal.feed(&self.scratch[..filled], now);
            hosted.piece_bytes += filled;
        }
        if hosted.piece_bytes >= PTY_PIECE_BYTES || (hosted.piece_bytes > 0 && !more) {
            hosted.piece_bytes = 0;
            hosted.activity_ms = super::unix_ms();
            self.terminal_grew(key, now);
        }
        if more && let Some(hosted) = self.terminals.get_mut(key) {
            hosted.on_again = true;
            self.work.again.push(Source::Terminal(key));
        }
        self.finish_if_drained(key, now);
        filled
    }

    /// Puts a connection on the list of those to be read.
    pub(super) fn queue_again(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key)
            && !std::mem::replace(&mut connection.on_again, true)
        {
            self.work.again.push(Source::Connection(key));
        }
    }

    /// Asks for the connection's next deadline.
    pub(super) fn ask_connection(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let resting = match &connection.phase {
            Phase::Mirror(socket) => socket.resting_until,
            _ => None,
        };
        if let Some(when) = connection.deadline().into_iter().chain(resting).min() {
            self.deadlines.ask(when, Source::Connection(key), &mut connection.asked);
        }
    }

    /// A deadline of the connection has come: which one it is, its state says.
    pub(super) fn connection_due(&mut self, key: Key, now: Instant) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if connection.doomed {
            return;
        }
        if matches!(connection.phase, Phase::Terminal(_)) {
            // Its batch is due, or asks for its moment anew.
            self.work.thirsty.push(key);
        }
        if let Phase::Mirror(socket) = &mut connection.phase {
            if socket.resting_until.take_if(|until| *until <= now).is_some() {
                self.queue_again(key);
            }
            self.mirror_due(key);
        }
        let Some(connection) = self.connections.get_mut(key) else { return };
        let due = connection.deadline().is_some_and(|when| when <= now);
        if due {
            match &connection.phase {
                Phase::Request { stage: Stage::Idle, .. } | Phase::Closing => self.doom(key),
                Phase::Request { .. } => {
                    let reject = Reject::new(408, "the request took too long to arrive");
                    self.refuse(key, &reject, now);
                }
                Phase::Events(events) if events.codec.is_none() => {
                    connection.outbound.put(|out| out.extend_from_slice(SSE_KEEP_ALIVE));
                    connection.stage_at = now;
                    self.queue_write(key);
                }
                // What it sent is waiting to be read: it is not silent.
                _ if connection.stalled => {
                    connection.heard_at = now;
                    connection.pinged = false;
                }
                _ if connection.pinged => self.doom(key),
                _ => {
                    connection.pinged = true;
                    connection.outbound.put(websocket::put_ping);
                    self.queue_write(key);
                }
            }
        }
        self.ask_connection(key);
    }
}

fn next_step(connection: &mut Connection, now: Instant) -> Next {
    let Connection { phase, incoming, outbound, stage_at, answers_bytes, .. } = connection;
    let codec = match phase {
        Phase::Request { reader, stage, served } => {
            let read = reader.next(incoming);
            let former = *stage;
            if former != reader.stage() || matches!(read, Ok(Some(_))) {
                *stage = reader.stage();
                *stage_at = now;
            }
            return match read {
                Ok(Some(request)) => {
                    *served += 1;
                    Next::Request(request)
                }
                Ok(None) if former != Stage::Body && *stage == Stage::Body => Next::Begun,
                Ok(None) => {
                    if reader.wants_continue() {
                        outbound.put(put_continue);
                    }
                    Next::More
                }
                Err(reject) => Next::Bad(reject),
            };
        }
        Phase::Terminal(socket) => &mut socket.codec,
        Phase::Mirror(socket) => &mut socket.codec,
        Phase::Agent(socket) => &mut socket.codec,
        Phase::Events(events) => match &mut events.codec {
            Some(codec) => codec,
            None => {
                incoming.clear();
                return Next::Drop;
            }
        },
        Phase::Closing => {
            incoming.clear();
            return Next::Drop;
        }
    };
    let before = outbound.waiting().len();
    let read = outbound.put(|out| codec.read(incoming, out));
    if outbound.is_full() {
        *answers_bytes += outbound.waiting().len() - before;
    }
    match read {
        Ok(Some(message)) => Next::Message(message),
        Ok(None) => {
            if incoming.is_empty() {
                // A large message leaves a large buffer behind.
                *incoming = Vec::new();
            }
            Next::More
        }
        Err(_) => Next::Closed,
    }
}
