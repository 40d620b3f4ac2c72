//! One accepted socket and what it has become.

use std::io::{self, Read, Write};
use std::time::Instant;

use mio::event::Source as Registered;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};

use super::reader::Reader;
use super::source::Key;
use crate::flow::{Outbound, TokenBucket};
use crate::limits::{
    ANSWERS_BYTES_MAX, BODY_TIME_MAX, CLOSING_MAX, HEAD_TIME_MAX, KEEP_ALIVE_MAX, PING_AFTER, SILENCE_MAX,
    UNSENT_BYTES_FIRST, UNSENT_BYTES_MAX, UNSENT_BYTES_MIN, UNSENT_TIME,
};
use crate::mirror::Ticket;
use crate::os::listen::{self, Peer, Stream};
use crate::terminal::ClientFrame;
use crate::wire::http::{RequestReader, Stage};
use crate::wire::mirror_frames::{FrameNumber, Queued};
use crate::wire::websocket::Codec;

/// A connection. Its slot is freed only by `bury`.
pub(super) struct Connection {
    pub(super) socket: Socket,
    pub(super) peer: Peer,
    /// What its listener asks of a request.
    pub(super) gate: Gate,
    /// Whether the kernel said that the peer is this user or root; asked at most once.
    pub(super) peer_is_ours: Option<bool>,
    /// Bytes that were read and belong to no whole message yet, or to one that must wait.
    pub(super) incoming: Vec<u8>,
    pub(super) outbound: Outbound,
    pub(super) phase: Phase,
    /// What the kernel takes of it before it refuses more; `None` while that is the system's choice.
    unsent_bytes_max: Option<usize>,
    /// Answers (acks, pongs, errors) that were queued while the queue was full of output.
    pub(super) answers_bytes: usize,
    /// It leaves at the end of this turn.
    pub(super) doomed: bool,
    /// The kernel may hold bytes that we have not read: no event will say so again.
    pub(super) unread: bool,
    /// The peer sends no more, as soon as what it sent has been read.
    pub(super) end_heard: bool,
    /// The peer sends no more.
    pub(super) ended: bool,
    /// The kernel refused bytes: its writable edge comes.
    pub(super) blocked: bool,
    /// It is on that work list already.
    pub(super) on_again: bool,
    pub(super) on_write: bool,
    /// The answer to its last request comes later; it is not read until then.
    pub(super) waiting: Option<Waiting>,
    /// Digesting stopped because a queue is full; whoever drains it wakes us.
    pub(super) stalled: bool,
    pub(super) heard_at: Instant,
    pub(super) pinged: bool,
    /// When the present stage of the HTTP exchange, or the closing, began.
    pub(super) stage_at: Instant,
    /// The deadline it asked for.
    pub(super) asked: Option<Instant>,
}

/// How an answer that comes later is to be sent.
pub(super) struct Waiting {
    pub(super) head_only: bool,
    pub(super) keep_alive: bool,
}

/// What a listener asks of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// The peer's user is this one or root, as the kernel knows: Unix sockets, and loopback without a token.
    OwnUser,
    /// The access token.
    Token,
}

/// What a connection has become.
pub(super) enum Phase {
    /// HTTP requests, one after the other.
    Request {
        reader: RequestReader,
        stage: Stage,
        /// Requests answered so far.
        served: usize,
    },
    Terminal(TerminalSocket),
    Mirror(MirrorSocket),
    Agent(AgentSocket),
    Events(EventSocket),
    /// The last bytes leave; what still comes is thrown away.
    Closing,
}

/// A socket attached to a terminal.
pub(super) struct TerminalSocket {
    pub(super) terminal: Key,
    pub(super) codec: Codec,
    pub(super) reader: Reader,
    /// Input that waits until the program has read some of what it was given.
    pub(super) held: Option<ClientFrame>,
}

/// A socket that has a session of the mirror.
pub(super) struct MirrorSocket {
    pub(super) ticket: Ticket,
    pub(super) codec: Codec,
    pub(super) queued: Queued,
    pub(super) frames: TokenBucket,
    /// The next frame is paid for.
    pub(super) may_hear: bool,
    /// Until then it is not read.
    pub(super) resting_until: Option<Instant>,
    /// Input that waits until the program has read some of what it was given.
    pub(super) held: Option<HeldInput>,
    /// It is on the list of those to be pumped.
    pub(super) due: bool,
}

/// One `surfaceStdin` for a terminal whose input queue is full.
pub(super) struct HeldInput {
    pub(super) terminal: Key,
    pub(super) bytes: Vec<u8>,
    pub(super) claim: bool,
    pub(super) number: Option<FrameNumber>,
}

/// The socket of an agent that owns a terminal.
pub(super) struct AgentSocket {
    pub(super) terminal: Key,
    pub(super) codec: Codec,
}

/// A reader of the event log: by websocket, or by Server-Sent Events.
pub(super) struct EventSocket {
    pub(super) codec: Option<Codec>,
    /// Id of the last event it was given.
    pub(super) cursor: u64,
}

impl Connection {
    pub(super) fn new(socket: Socket, peer: Peer, gate: Gate, now: Instant) -> Connection {
        let unsent_bytes_max = matches!(socket, Socket::Tcp(_)).then_some(UNSENT_BYTES_FIRST);
        Connection {
            socket,
            peer,
            gate,
            peer_is_ours: None,
            incoming: Vec::new(),
            outbound: Outbound::default(),
            phase: Phase::Request { reader: RequestReader::new(), stage: Stage::Idle, served: 0 },
            unsent_bytes_max,
            answers_bytes: 0,
            doomed: false,
            unread: false,
            end_heard: false,
            ended: false,
            blocked: false,
            on_again: false,
            on_write: false,
            waiting: None,
            stalled: false,
            heard_at: now,
            pinged: false,
            stage_at: now,
            asked: None,
        }
    }

    /// When it must be asked again; `None` for never.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Request { stage, served, .. } => {
                let time = match stage {
                    Stage::Idle if *served > 0 => KEEP_ALIVE_MAX,
                    Stage::Idle | Stage::Head => HEAD_TIME_MAX,
                    Stage::Body => BODY_TIME_MAX,
                };
                Some(self.stage_at + time)
            }
            Phase::Terminal(_)
            | Phase::Mirror(_)
            | Phase::Agent(_)
            | Phase::Events(EventSocket { codec: Some(_), .. }) => {
                Some(self.heard_at + if self.pinged { SILENCE_MAX } else { PING_AFTER })
            }
            Phase::Events(EventSocket { codec: None, .. }) => Some(self.stage_at + PING_AFTER),
            Phase::Closing => Some(self.stage_at + CLOSING_MAX),
        }
    }

    /// Whether the peer must take what is queued before more of it is read. A slow link full of output does
    /// not keep a Ctrl-C from being heard; answers to a peer that reads none of them do have a bound.
    pub(super) fn must_drain(&self) -> bool {
        match self.phase {
            Phase::Request { .. } | Phase::Closing => self.outbound.is_full(),
            Phase::Terminal(_) | Phase::Mirror(_) | Phase::Agent(_) | Phase::Events(_) => {
                self.answers_bytes > ANSWERS_BYTES_MAX
            }
        }
    }

    /// The queue, and the kernel's share of it, become as long as the peer's speed allows.
    pub(super) fn adapt(&mut self) {
        self.outbound.adapt();
        let Some(bytes) = self.outbound.link.bytes_in(UNSENT_TIME) else { return };
        let bytes = bytes.clamp(UNSENT_BYTES_MIN, UNSENT_BYTES_MAX);
        // A call a change is too much for what changes all the time.
        if self.unsent_bytes_max.is_none_or(|former| bytes / 2 >= former || bytes <= former / 2) {
            self.unsent_bytes_max = Some(bytes);
            self.socket.set_unsent_bytes_max(bytes);
            self.outbound.link.start_again();
        }
    }

    /// What is queued leaves; then the connection ends.
    pub(super) fn close(&mut self, now: Instant) {
        self.phase = Phase::Closing;
        self.stage_at = now;
        self.incoming = Vec::new();
        self.stalled = false;
    }
}

/// A TCP or Unix stream on the loop.
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    pub(super) fn new(stream: Stream) -> Socket {
        match stream {
            Stream::Tcp(stream) => Socket::Tcp(TcpStream::from_std(stream)),
            Stream::Unix(stream) => Socket::Unix(UnixStream::from_std(stream)),
        }
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        retried(|| match self {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
        })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        retried(|| match self {
            Socket::Tcp(stream) => stream.write(bytes),
            Socket::Unix(stream) => stream.write(bytes),
        })
    }

    /// How many bytes the kernel takes before it refuses more. Refused, it only stays as it was.
    pub(super) fn set_unsent_bytes_max(&self, bytes: usize) {
        let _ = match self {
            Socket::Tcp(stream) => listen::set_unsent_bytes_max(stream, bytes),
            Socket::Unix(stream) => listen::set_send_buffer_bytes(stream, bytes),
        };
    }

    /// Tells the peer that no more comes; what it still sends is read and dropped, since closing with
    /// unread bytes would reset the connection and lose our last ones.
    pub(super) fn end(&self) {
        let _ = match self {
            Socket::Tcp(stream) => stream.shutdown(std::net::Shutdown::Write),
            Socket::Unix(stream) => stream.shutdown(std::net::Shutdown::Write),
        };
    }

    pub(super) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        match self {
            Socket::Tcp(stream) => stream.register(registry, token, interest),
            Socket::Unix(stream) => stream.register(registry, token, interest),
        }
    }
}

fn retried<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::flow::Link;

    #[test]
    fn what_the_kernel_holds_of_a_unix_socket_is_set_as_soon_as_its_speed_is_known() {
        let (socket, _other) = UnixStream::pair().unwrap();
        let peer = Peer::Unix { uid: Peer::UID_UNKNOWN };
        let mut connection = Connection::new(Socket::Unix(socket), peer, Gate::OwnUser, Instant::now());
        let (mut link, start) = (Link::default(), Instant::now());
        for second in 0..=2 {
            link.took(UNSENT_BYTES_FIRST * 100, false, start + Duration::from_secs(second));
        }
        connection.outbound.link = link;
        connection.adapt();
        let Socket::Unix(socket) = &connection.socket else { panic!() };
        let bytes = rustix::net::sockopt::socket_send_buffer_size(socket).unwrap();
        assert_eq!(bytes, 2 * UNSENT_BYTES_FIRST, "socket(7): the kernel doubles it");
    }
}
