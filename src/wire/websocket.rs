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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MASK: [u8; 4] = [1, 2, 3, 4];

    /// What one end saw: text as `t:...`, bytes as `b:...`, `ping`, `pong`; then how it ended.
    #[derive(Debug, PartialEq)]
    struct Seen {
        messages: Vec<String>,
        closed: Option<(u16, bool)>,
        out: Vec<u8>,
    }

    fn show(message: Message) -> String {
        match message {
            Message::Text(text) => format!("t:{}", text.as_str()),
            Message::Binary(bytes) => format!("b:{}", String::from_utf8_lossy(&bytes)),
            Message::Ping => "ping".to_owned(),
            Message::Pong => "pong".to_owned(),
        }
    }

    fn feed(codec: &mut Codec, bytes: &[u8], piece: usize) -> Seen {
        let mut seen = Seen { messages: Vec::new(), closed: None, out: Vec::new() };
        let mut input = Vec::new();
        for piece in bytes.chunks(piece) {
            input.extend_from_slice(piece);
            loop {
                match codec.read(&mut input, &mut seen.out) {
                    Ok(Some(message)) => seen.messages.push(show(message)),
                    Ok(None) => break,
                    Err(closed) => {
                        assert!(input.is_empty());
                        let again = codec.read(&mut b"more".to_vec(), &mut seen.out);
                        assert_eq!(again, Err(closed.clone()), "an end is an end");
                        seen.closed = Some((closed.code, closed.by_peer));
                        return seen;
                    }
                }
            }
            assert!(input.is_empty(), "everything is taken");
        }
        seen
    }

    /// What a server with room for 1,000 bytes sees.
    fn server(bytes: &[u8]) -> Seen {
        feed(&mut Codec::server(1000), bytes, usize::MAX)
    }

    /// A client's frame with this first byte.
    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        put_masked(Opcode::Text, payload, MASK, &mut frame);
        frame[0] = first;
        frame
    }

    const FIN: u8 = 0x80;
    const TEXT: u8 = 1;
    const BINARY: u8 = 2;
    const PING: u8 = FIN | 9;
    const PONG: u8 = FIN | 10;
    const CLOSE: u8 = FIN | 8;

    fn code_of(out: &[u8]) -> Option<u16> {
        (out.first() == Some(&CLOSE)).then(|| u16::from_be_bytes([out[2], out[3]]))
    }

    fn violation(bytes: &[u8]) {
        let seen = server(bytes);
        assert_eq!((seen.closed, code_of(&seen.out)), (Some((1002, false)), Some(1002)), "{bytes:x?}");
    }

    #[test]
    fn whole_and_fragmented_messages_arrive_with_control_frames_between() {
        let bytes = [
            frame(FIN | TEXT, "hé".as_bytes()),
            frame(BINARY, b"1"),
            frame(PING, b"are you there"),
            frame(0, b"2"),
            frame(PONG, b""),
            frame(FIN, b"3"),
            frame(FIN | BINARY, b""),
        ];
        let seen = server(&bytes.concat());
        assert_eq!(seen.messages, ["t:hé", "ping", "pong", "b:123", "b:"]);
        assert_eq!(seen.out, b"\x8a\x0dare you there");
        assert_eq!(seen.closed, None);
    }

    #[test]
    fn every_ping_of_a_burst_is_answered() {
        let seen = server(&[frame(PING, b"1"), frame(PING, b"2"), frame(FIN | TEXT, b"x")].concat());
        assert_eq!(seen.messages, ["ping", "ping", "t:x"]);
        assert_eq!(seen.out, b"\x8a\x011\x8a\x012");
    }

    #[test]
    fn the_peers_close_is_answered_with_its_code() {
        let seen = server(&[frame(CLOSE, b"\x03\xe9bye"), frame(FIN | TEXT, b"late")].concat());
        assert_eq!((seen.messages, seen.closed), (vec![], Some((1001, true))));
        assert_eq!(seen.out, b"\x88\x05\x03\xe9bye");
        let seen = server(&frame(CLOSE, b""));
        assert_eq!((seen.closed, seen.out.as_slice()), (Some((1005, true)), &b"\x88\x00"[..]));
    }

    #[test]
    fn close_codes_that_must_not_be_sent_are_answered_with_1002() {
        for code in [0u16, 999, 1004, 1005, 1006, 1015, 5000] {
            let seen = server(&frame(CLOSE, &code.to_be_bytes()));
            assert_eq!(code_of(&seen.out), Some(1002), "{code}");
        }
        violation(&frame(CLOSE, b"x"));
        assert_eq!(server(&frame(CLOSE, b"\x03\xe8\xff")).closed, Some((1007, false)));
    }

    #[test]
    fn breaches_of_the_protocol_end_it() {
        violation(b"\x81\x01x"); // not masked
        violation(&frame(FIN | 0x40 | TEXT, b"x")); // reserved bit
        violation(&frame(FIN | 0x20 | TEXT, b"x"));
        violation(&frame(FIN | 0x10 | TEXT, b"x"));
        violation(&frame(FIN | 3, b"x")); // unknown data frame
        violation(&frame(FIN | 11, b"x")); // unknown control frame
        violation(&frame(PING & !FIN, b"x")); // fragmented control frame
        violation(&frame(PING, &[b'x'; 126])); // control frame too long
        violation(&frame(FIN, b"x")); // continues nothing
        violation(&[frame(TEXT, b"x"), frame(FIN | TEXT, b"y")].concat()); // interrupts a message
    }

    #[test]
    fn text_must_be_utf_8_as_a_whole() {
        let seen = server(&frame(FIN | TEXT, b"\xff"));
        assert_eq!((seen.closed, code_of(&seen.out)), (Some((1007, false)), Some(1007)));
        let seen = server(&[frame(TEXT, b"\xe2\x82"), frame(FIN, b"\xac")].concat());
        assert_eq!(seen.messages, ["t:€"]);
        let seen = server(&[frame(TEXT, b"\xe2\x82"), frame(FIN, b"")].concat());
        assert_eq!(seen.closed, Some((1007, false)));
    }

    #[test]
    fn messages_are_bounded_and_a_claim_is_refused_at_its_header() {
        assert_eq!(server(&frame(FIN | BINARY, &[0; 1000])).closed, None);
        let too_big = |bytes: &[u8]| {
            let seen = server(bytes);
            assert_eq!((seen.closed, code_of(&seen.out)), (Some((1009, false)), Some(1009)));
        };
        too_big(b"\x82\xfe\x03\xe9\x01\x02\x03\x04");
        too_big(b"\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x01\x02\x03\x04");
        too_big(b"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02\x03\x04");
        too_big(&[frame(BINARY, &[0; 600]), frame(0, &[0; 401])].concat());
        too_big(&[frame(TEXT, &[b'x'; 1000]), frame(0, b"x")].concat());
    }

    #[test]
    fn endless_empty_fragments_hold_nothing() {
        let mut codec = Codec::server(1000);
        let mut bytes = frame(TEXT, b"x");
        for _ in 0..10_000 {
            bytes.extend_from_slice(&frame(0, b""));
        }
        assert_eq!(feed(&mut codec, &bytes, 65536).closed, None);
        assert_eq!(feed(&mut codec, &frame(FIN, b"y"), 1).messages, ["t:xy"]);
    }

    #[test]
    fn nothing_is_held_between_messages() {
        let mut codec = Codec::server(1 << 20);
        let big = frame(FIN | BINARY, &vec![7; 1 << 20]);
        assert_eq!(feed(&mut codec, &big, 65536).messages.len(), 1);
        assert!(codec.context.is_none());
        feed(&mut codec, &frame(TEXT, b"half"), 3);
        assert!(codec.context.is_some());
        feed(&mut codec, &frame(FIN, b""), 3);
        assert!(codec.context.is_none());
        assert!(size_of::<Codec>() <= 128, "an idle codec takes {} bytes", size_of::<Codec>());
    }

    #[test]
    fn our_close_is_sent_once_and_the_peers_answer_ends_it() {
        let mut codec = Codec::server(1000);
        let mut out = Vec::new();
        codec.close(1001, "going away", &mut out);
        codec.close(1000, "again", &mut out);
        assert_eq!(out, b"\x88\x0c\x03\xe9going away");
        // What was under way still arrives.
        let seen = feed(&mut codec, &[frame(FIN | TEXT, b"x"), frame(CLOSE, b"\x03\xe9")].concat(), 1);
        assert_eq!((seen.messages, seen.closed), (vec!["t:x".to_owned()], Some((1001, true))));
        assert_eq!(seen.out, b"");
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let mut out = Vec::new();
        put_close(1008, &"é".repeat(100), &mut out);
        assert_eq!(out.len(), 2 + 2 + 122);
        let seen = feed(&mut Codec::client(1000), &out, usize::MAX);
        assert_eq!(seen.closed, Some((1008, true)));
        Codec::server(1).close(1008, &"é".repeat(100), &mut out);
        assert_eq!(feed(&mut Codec::client(1000), &out[126..], 1).closed, Some((1008, true)));
    }

    #[test]
    fn the_client_reads_what_the_server_writes() {
        let mut out = Vec::new();
        put_text(&[b"ab", "ç".as_bytes()], &mut out);
        put_binary(&[b"1", b"", b"2"], &mut out);
        put_ping(&mut out);
        for length in [0, 125, 126, 65535, 65536] {
            put_text_with(|out| out.resize(out.len() + length, b'x'), &mut out);
        }
        put_close(1000, "done", &mut out);
        let seen = feed(&mut Codec::client(1 << 20), &out, usize::MAX);
        let long = |length: usize| format!("t:{}", "x".repeat(length));
        let mut expected = vec!["t:abç".to_owned(), "b:12".to_owned(), "ping".to_owned()];
        expected.extend([0, 125, 126, 65535, 65536].map(long));
        assert_eq!((seen.messages, seen.closed), (expected, Some((1000, true))));
        // The client's own pong and close are masked, as the server wants them.
        let seen = server(&seen.out);
        assert_eq!((seen.messages, seen.closed), (vec!["pong".to_owned()], Some((1000, true))));
    }

    #[test]
    fn a_client_refuses_masked_frames() {
        assert_eq!(feed(&mut Codec::client(9), &frame(FIN | TEXT, b"x"), 1).closed, Some((1002, false)));
    }

    #[test]
    fn keys_are_those_of_the_rfc() {
        assert_eq!(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(client_key(*b"the sample nonce"), "dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(client_key([0xff; 16]), "/////////////////////w==");
    }

    fn frames() -> impl Strategy<Value = Vec<u8>> {
        let first = prop::sample::select(vec![
            FIN | TEXT,
            FIN | BINARY,
            TEXT,
            BINARY,
            0,
            FIN,
            PING,
            PONG,
            CLOSE,
            0xff,
        ]);
        let payload = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..4),
            "[a-zé€😀]{0,90}".prop_map(String::into_bytes),
        ];
        let frames = prop::collection::vec(
            (first, payload).prop_map(|(first, payload)| frame(first, &payload)),
            0..12,
        );
        (frames, prop::collection::vec(any::<u8>(), 0..20))
            .prop_map(|(frames, tail)| [frames.concat(), tail].concat())
    }

    proptest! {
        #[test]
        fn messages_do_not_depend_on_how_the_bytes_are_cut(bytes in frames(), piece in 1usize..30) {
            let whole = feed(&mut Codec::server(300), &bytes, usize::MAX);
            prop_assert_eq!(feed(&mut Codec::server(300), &bytes, piece), whole);
        }

        #[test]
        fn no_bytes_make_the_codec_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), piece in 1usize..40) {
            feed(&mut Codec::server(300), &bytes, piece);
            feed(&mut Codec::client(300), &bytes, piece);
        }
    }
}
