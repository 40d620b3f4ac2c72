//! Websocket frames between bytes and messages (RFC 6455), for both ends. The only file that names
//! tungstenite, whose context decodes without owning a socket.
//!
//! Left out: the handshake's headers (`http.rs`), and when to ping or to give up (`server`).

use std::io::{self, Cursor, Read, Write};

use tungstenite::Error;
use tungstenite::protocol::frame::coding::{CloseCode, Control, Data, OpCode};
use tungstenite::protocol::frame::{CloseFrame, FrameHeader};
use tungstenite::protocol::{Role, WebSocketConfig, WebSocketContext};
pub use tungstenite::{Bytes, Utf8Bytes};

use crate::limits::WEBSOCKET_READ_BYTES;

/// One message of the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Text; derefs to `str`.
    Text(Utf8Bytes),
    /// Bytes.
    Binary(Bytes),
    /// A ping, which is already answered.
    Ping,
    /// A pong.
    Pong,
}

/// The websocket is over: nothing more may be sent, and nothing more is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The close code (RFC 6455 section 7.4): the peer's, 1005 when it gave none, or the reason we close.
    pub code: u16,
    /// The peer's words, or ours.
    pub reason: String,
    /// Whether the peer closed; else it broke the protocol.
    pub by_peer: bool,
}

/// Decodes one peer's frames. Between two messages it holds no buffer at all.
#[derive(Debug)]
pub struct Codec {
    role: Role,
    message_bytes_max: usize,
    /// Exists while a frame or a fragmented message is under way, or a close is.
    context: Option<Box<WebSocketContext>>,
    seam: Seam,
    closed: Option<Closed>,
}

impl Codec {
    /// For the server's end: the peer's frames must be masked.
    pub fn server(message_bytes_max: usize) -> Codec {
        Codec::new(Role::Server, message_bytes_max)
    }

    /// For the client's end: the peer's frames must not be masked.
    pub fn client(message_bytes_max: usize) -> Codec {
        Codec::new(Role::Client, message_bytes_max)
    }

    fn new(role: Role, message_bytes_max: usize) -> Codec {
        Codec { role, message_bytes_max, context: None, seam: Seam::default(), closed: None }
    }

    /// The next message, or `None` when more bytes are needed. Bytes are taken from the front of `input`
    /// a bite at a time, so call until `None`: a message may be ready although `input` is empty. Pongs and
    /// the answer to a close are appended to `out`.
    ///
    /// At most one frame and one message are kept inside, each at most `message_bytes_max`.
    ///
    /// # Errors
    /// The end of the websocket, once and for all; our close frame is already in `out`. 1002 for a breach
    /// of the protocol, 1007 for text that is not UTF-8, 1009 for a message over `message_bytes_max`, told
    /// as soon as a header claims it.
    pub fn read(&mut self, input: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<Option<Message>, Closed> {
        if let Some(closed) = &self.closed {
            input.clear();
            return Err(closed.clone());
        }
        if input.is_empty() && self.context.is_none() {
            return Ok(None);
        }
        let context =
            self.context.get_or_insert_with(|| Box::new(context(self.role, self.message_bytes_max)));
        let mut pipe = Pipe { input, taken: 0, out, seam: &mut self.seam };
        let read = context.read(&mut pipe);
        if let Ok(tungstenite::Message::Ping(_) | tungstenite::Message::Close(_)) = read {
            // Sends the pong or the close that waits. It fails only to say that the websocket is over.
            let _ = context.flush(&mut pipe);
        }
        let taken = pipe.taken;
        input.drain(..taken);
        let closed = match read {
            Ok(tungstenite::Message::Text(text)) => return Ok(Some(Message::Text(text))),
            Ok(tungstenite::Message::Binary(bytes)) => return Ok(Some(Message::Binary(bytes))),
            Ok(tungstenite::Message::Ping(_)) => return Ok(Some(Message::Ping)),
            Ok(tungstenite::Message::Pong(_) | tungstenite::Message::Frame(_)) => {
                return Ok(Some(Message::Pong));
            }
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                // A context keeps the largest buffer it ever needed; one that is at rest is worth nothing.
                if self.seam.is_between_messages() && context.can_write() {
                    self.context = None;
                }
                return Ok(None);
            }
            Ok(tungstenite::Message::Close(frame)) => {
                let (code, reason) = frame.map_or((1005, String::new()), |frame| {
                    (u16::from(frame.code), frame.reason.as_str().to_owned())
                });
                Closed { code, reason, by_peer: true }
            }
            Err(error) => {
                let (code, reason) = match error {
                    Error::Utf8(_) => (1007, "text must be UTF-8".to_owned()),
                    Error::Capacity(_) => {
                        (1009, format!("a message must be at most {} bytes", self.message_bytes_max))
                    }
                    error => (1002, error.to_string()),
                };
                let _ = context.close(
                    &mut Pipe { input: &[], taken: 0, out, seam: &mut self.seam },
                    close_frame(code, &reason),
                );
                Closed { code, reason, by_peer: false }
            }
        };
        input.clear();
        self.context = None;
        self.closed = Some(closed.clone());
        Err(closed)
    }

    /// Appends a close frame in this end's role, once. Then [`Codec::read`] goes on until the peer answers
    /// with its own, and does not answer that again.
    pub fn close(&mut self, code: u16, reason: &str, out: &mut Vec<u8>) {
        if self.closed.is_some() {
            return;
        }
        let context =
            self.context.get_or_insert_with(|| Box::new(context(self.role, self.message_bytes_max)));
        let mut pipe = Pipe { input: &[], taken: 0, out, seam: &mut self.seam };
        // The pipe takes everything, so this cannot fail.
        let _ = context.close(&mut pipe, close_frame(code, reason));
    }
}

fn context(role: Role, message_bytes_max: usize) -> WebSocketContext {
    let config = WebSocketConfig::default()
        .read_buffer_size(WEBSOCKET_READ_BYTES)
        .write_buffer_size(0)
        .max_message_size(Some(message_bytes_max))
        .max_frame_size(Some(message_bytes_max));
    WebSocketContext::new(role, Some(config))
}

fn close_frame(code: u16, reason: &str) -> Option<CloseFrame> {
    Some(CloseFrame { code: CloseCode::from(code), reason: close_reason(reason).into() })
}

/// A control frame holds 125 bytes, two of them the code.
fn close_reason(reason: &str) -> &str {
    let end = (0..=reason.len().min(123)).rev().find(|at| reason.is_char_boundary(*at));
    &reason[..end.unwrap_or(0)]
}

/// Reads from the bytes at hand, writes to the outbound bytes.
struct Pipe<'a> {
    input: &'a [u8],
    taken: usize,
    out: &'a mut Vec<u8>,
    seam: &'a mut Seam,
}

impl Read for Pipe<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.input[self.taken..];
        if rest.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let bytes = &rest[..rest.len().min(buffer.len())];
        buffer[..bytes.len()].copy_from_slice(bytes);
        self.taken += bytes.len();
        self.seam.follow(bytes);
        Ok(bytes.len())
    }
}

impl Write for Pipe<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Follows the frames' headers, to know when the context holds nothing.
#[derive(Debug, Default)]
struct Seam {
    /// A header that is not complete yet; the longest has 14 bytes.
    header: Vec<u8>,
    payload_left: u64,
    in_fragments: bool,
}

impl Seam {
    fn is_between_messages(&self) -> bool {
        self.header.is_empty() && self.payload_left == 0 && !self.in_fragments
    }

    fn follow(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.payload_left > 0 {
                let passed = self.payload_left.min(bytes.len() as u64);
                self.payload_left -= passed;
                bytes = &bytes[passed as usize..];
                continue;
            }
            let before = self.header.len();
            self.header.extend_from_slice(&bytes[..bytes.len().min(14 - before)]);
            let mut cursor = Cursor::new(&self.header);
            let Ok(Some((header, length))) = FrameHeader::parse(&mut cursor) else {
                // Incomplete, or malformed: then the context has seen it too and ends the websocket.
                return;
            };
            bytes = &bytes[cursor.position() as usize - before..];
            self.header.clear();
            self.payload_left = length;
            if matches!(header.opcode, OpCode::Data(_)) {
                self.in_fragments = !header.is_final;
            }
        }
    }
}

/// What a frame is, where it is chosen by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Opcode {
    Text,
    Binary,
    Ping,
    Pong,
    Close,
}

impl Opcode {
    fn code(self) -> OpCode {
        match self {
            Opcode::Text => OpCode::Data(Data::Text),
            Opcode::Binary => OpCode::Data(Data::Binary),
            Opcode::Ping => OpCode::Control(Control::Ping),
            Opcode::Pong => OpCode::Control(Control::Pong),
            Opcode::Close => OpCode::Control(Control::Close),
        }
    }
}

fn put_header(opcode: Opcode, mask: Option<[u8; 4]>, length: usize, out: &mut Vec<u8>) {
    let header = FrameHeader { opcode: opcode.code(), mask, ..FrameHeader::default() };
    let written = header.format(length as u64, out);
    debug_assert!(written.is_ok(), "a vector takes every byte");
}

fn put_frame(opcode: Opcode, parts: &[&[u8]], out: &mut Vec<u8>) {
    put_header(opcode, None, parts.iter().map(|part| part.len()).sum(), out);
    for part in parts {
        out.extend_from_slice(part);
    }
}

/// Appends a server's text frame; the parts together must be UTF-8.
pub fn put_text(parts: &[&[u8]], out: &mut Vec<u8>) {
    put_frame(Opcode::Text, parts, out);
}

/// Appends a server's binary frame.
pub fn put_binary(parts: &[&[u8]], out: &mut Vec<u8>) {
    put_frame(Opcode::Binary, parts, out);
}

/// Appends a server's text frame whose payload is written in place, when its length is not known before.
pub fn put_text_with(write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    /// The header of payloads of 126 to 65,535 bytes; other payloads are moved by a few bytes.
    const HEADER_GUESS: usize = 4;
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_GUESS]);
    write(out);
    let mut header = Vec::with_capacity(10);
    put_header(Opcode::Text, None, out.len() - start - HEADER_GUESS, &mut header);
    out.splice(start..start + HEADER_GUESS, header);
}

/// Appends a server's empty ping.
pub fn put_ping(out: &mut Vec<u8>) {
    put_frame(Opcode::Ping, &[], out);
}

/// Appends a server's close frame, for a connection that is not read any more; else [`Codec::close`].
pub fn put_close(code: u16, reason: &str, out: &mut Vec<u8>) {
    put_frame(Opcode::Close, &[&code.to_be_bytes(), close_reason(reason).as_bytes()], out);
}

/// Appends a client's frame, masked (RFC 6455 section 5.3). The mask must be fresh random bytes.
pub fn put_masked(opcode: Opcode, payload: &[u8], mask: [u8; 4], out: &mut Vec<u8>) {
    put_header(opcode, Some(mask), payload.len(), out);
    out.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
}

/// `Sec-WebSocket-Accept` for a `Sec-WebSocket-Key`.
pub fn accept_key(key: &str) -> String {
    tungstenite::handshake::derive_accept_key(key.as_bytes())
}

/// A `Sec-WebSocket-Key`: 16 random bytes in base64.
pub fn client_key(random: [u8; 16]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut key = String::with_capacity(24);
    for three in random.chunks(3) {
        let bits =
            three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..=three.len() {
            key.push(char::from(DIGITS[(bits >> (18 - 6 * digit)) as usize & 63]));
        }
    }
    key.push_str("==");
    key
}
