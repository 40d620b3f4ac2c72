//! One websocket to the server that never blocks: connect, upgrade, messages both ways, the end.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::event::PollFlags;
use serde_json::Value;

use super::client::{Endpoint, Stream, random, refusal};
use crate::limits::{CLI_MESSAGE_BYTES_MAX, CLI_OPEN_TIME_MAX, READ_BYTES, SILENCE_MAX};
use crate::wire::http::{ResponseReader, put_request};
use crate::wire::websocket::{Codec, Message, Opcode, accept_key, client_key, put_masked};

/// What happened on the websocket.
pub(super) enum Event {
    /// Messages can be sent.
    Open,
    /// A text or binary message.
    Message(Message),
    /// It is over; nothing follows.
    Over(Over),
}

/// Why it is over.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// The server said no to the upgrade, with this status.
    Refused { status: u16, reason: String },
    /// The server closed with this code.
    Closed { code: u16, reason: String },
    /// The connection broke; another one may do better.
    Lost(String),
}

enum Phase {
    /// Until the socket is writable.
    Connecting,
    /// Until the answer to the upgrade.
    Upgrading(ResponseReader),
    Open,
    Over,
}

/// The websocket.
pub(super) struct Link {
    stream: Stream,
    phase: Phase,
    key: String,
    codec: Codec,
    input: Vec<u8>,
    /// Bytes for the socket, `sent` of them already taken.
    output: Vec<u8>,
    sent: usize,
    eof: bool,
    /// A failure that the bytes read before it come ahead of.
    failed: Option<String>,
    started_at: Instant,
    heard_at: Instant,
}

impl Link {
    /// Begins to connect; `target` is the path with its query, without the base path.
    pub(super) fn start(
        endpoint: &Endpoint,
        target: &str,
        attempt: usize,
        now: Instant,
    ) -> Result<Link, String> {
        let stream = endpoint.start_connecting(attempt).map_err(|error| endpoint.unreachable(&error))?;
        let key = client_key(random()?);
        let authorization = endpoint.authorization();
        let mut headers = vec![
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", &*key),
        ];
        if let Some(value) = &authorization {
            headers.push(("Authorization", value));
        }
        let mut output = Vec::new();
        put_request("GET", &endpoint.target(target), &endpoint.host, &headers, None, &mut output);
        Ok(Link {
            stream,
            phase: Phase::Connecting,
            key,
            codec: Codec::client(CLI_MESSAGE_BYTES_MAX),
            input: Vec::new(),
            output,
            sent: 0,
            eof: false,
            failed: None,
            started_at: now,
            heard_at: now,
        })
    }

    /// Whether messages can be sent.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open)
    }

    /// Bytes that the socket has not taken.
    pub(super) fn unsent_bytes(&self) -> usize {
        self.output.len() - self.sent
    }

    /// What to poll for; `reads` is false while the reader has no room.
    pub(super) fn interest(&self, reads: bool) -> PollFlags {
        let mut flags = PollFlags::empty();
        if reads && !self.eof {
            flags |= PollFlags::IN;
        }
        if self.unsent_bytes() > 0 && self.failed.is_none() {
            flags |= PollFlags::OUT;
        }
        flags
    }

    /// When to look again although nothing came: the server has been silent for too long then.
    pub(super) fn deadline(&self) -> Instant {
        match self.phase {
            Phase::Connecting | Phase::Upgrading(_) => self.started_at + CLI_OPEN_TIME_MAX,
            Phase::Open | Phase::Over => self.heard_at + SILENCE_MAX,
        }
    }

    /// Reads and writes what the socket gives and takes now. `reads` as in [`Link::interest`].
    pub(super) fn pump(&mut self, ready: PollFlags, reads: bool, now: Instant) {
        if matches!(self.phase, Phase::Connecting) {
            if !ready.intersects(PollFlags::OUT | PollFlags::ERR | PollFlags::HUP) {
                return self.check_deadline(now);
            }
            match rustix::net::sockopt::socket_error(&self.stream) {
                Ok(Ok(())) => self.phase = Phase::Upgrading(ResponseReader::new()),
                Ok(Err(error)) | Err(error) => return self.fail(io::Error::from(error).to_string()),
            }
        }
        if !reads {
            // Who does not listen cannot call the other silent.
            self.heard_at = now;
        }
        self.write();
        if reads && ready.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            self.read(now);
        }
        self.check_deadline(now);
    }

    fn check_deadline(&mut self, now: Instant) {
        if now >= self.deadline() {
            self.fail("the server is silent".into());
        }
    }

    fn read(&mut self, now: Instant) {
        let start = self.input.len();
        self.input.resize(start + READ_BYTES, 0);
        let read = self.stream.read(&mut self.input[start..]);
        self.input.truncate(start + read.as_ref().copied().unwrap_or(0));
        match read {
            Ok(0) => {
                self.eof = true;
                self.fail("the server closed the connection".into());
            }
            Ok(_) => self.heard_at = now,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => self.fail(error.to_string()),
        }
    }

    fn write(&mut self) {
        while self.unsent_bytes() > 0 && self.failed.is_none() {
            match self.stream.write(&self.output[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // What the server said before it hung up can still be read.
                Err(error) => self.fail(error.to_string()),
            }
        }
        if self.unsent_bytes() == 0 {
            self.output.clear();
            self.sent = 0;
        }
    }

    fn fail(&mut self, reason: String) {
        self.failed.get_or_insert(reason);
    }

    /// The next thing that happened; call until `None`.
    pub(super) fn next(&mut self) -> Option<Event> {
        loop {
            let event = match &mut self.phase {
                Phase::Over => return None,
                Phase::Connecting => None,
                Phase::Upgrading(reader) => match reader.next(&mut self.input, self.eof) {
                    Ok(Some(response)) if response.status == 101 => {
                        let accepted =
                            response.header("Sec-WebSocket-Accept") == Some(&accept_key(&self.key));
                        self.phase = Phase::Open;
                        return Some(match accepted {
                            true => Event::Open,
                            false => self.over(Over::Lost("the answer is none of a websocket server".into())),
                        });
                    }
                    Ok(Some(response)) => {
                        let value = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
                        let reason = refusal(response.status, &value);
                        Some(Over::Refused { status: response.status, reason })
                    }
                    Ok(None) => None,
                    Err(error) => Some(Over::Lost(error)),
                },
                Phase::Open => match self.codec.read(&mut self.input, &mut self.output) {
                    Ok(Some(Message::Ping | Message::Pong)) => continue,
                    Ok(Some(message)) => return Some(Event::Message(message)),
                    Ok(None) => None,
                    Err(closed) => Some(Over::Closed { code: closed.code, reason: closed.reason }),
                },
            };
            let over = event.or_else(|| self.failed.clone().map(Over::Lost))?;
            return Some(self.over(over));
        }
    }

    fn over(&mut self, over: Over) -> Event {
        self.phase = Phase::Over;
        Event::Over(over)
    }

    /// Queues a text message.
    pub(super) fn send_text(&mut self, text: &str) -> Result<(), String> {
        put_masked(Opcode::Text, text.as_bytes(), random()?, &mut self.output);
        Ok(())
    }

    /// Queues a binary message.
    pub(super) fn send_binary(&mut self, bytes: &[u8]) -> Result<(), String> {
        put_masked(Opcode::Binary, bytes, random()?, &mut self.output);
        Ok(())
    }

    /// Gives the socket what was queued.
    pub(super) fn flush(&mut self) {
        if !matches!(self.phase, Phase::Connecting | Phase::Over) {
            self.write();
        }
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
