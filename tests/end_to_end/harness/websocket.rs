//! A websocket client that is not the server's library, so that both must follow RFC 6455 to meet; it can
//! also send what no library would.

use std::time::{Duration, Instant};

use super::http::{Answer, Http, Stream};
use super::{PATIENCE, Value};

pub const CONTINUATION: u8 = 0;
pub const TEXT: u8 = 1;
pub const BINARY: u8 = 2;
pub const CLOSE: u8 = 8;
pub const PING: u8 = 9;
pub const PONG: u8 = 10;

/// One message of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    Text(String),
    Binary(Vec<u8>),
    Pong(Vec<u8>),
    /// A close frame with its code, or none.
    Close(Option<u16>),
    /// The connection ended without a close frame.
    Gone,
}

/// An open websocket.
pub struct WebSocket {
    pub stream: Stream,
    unread: Vec<u8>,
    consumed: usize,
    scratch: Vec<u8>,
    /// Bytes that came.
    pub taken: u64,
    /// For a slow link: so many bytes at most, and a rest before each read.
    pub pace: Option<(usize, Duration)>,
    partial: Option<(u8, Vec<u8>)>,
}

impl WebSocket {
    /// Upgrades, or gives the answer that refused it.
    pub fn open(stream: Stream, path: &str, headers: &[(&str, &str)]) -> Result<WebSocket, Answer> {
        let mut http = Http::over(stream);
        let key = "dGhlIHNhbXBsZSBub25jZQ==";
        let mut all = vec![
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", key),
        ];
        all.extend_from_slice(headers);
        http.send("GET", path, &all, None);
        let answer = http.try_answer("GET").unwrap_or(Answer {
            status: 0,
            headers: Vec::new(),
            body: b"closed before an answer".to_vec(),
        });
        if answer.status != 101 {
            return Err(answer);
        }
        // RFC 6455, 1.3: the accept value of this very key.
        assert_eq!(answer.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        let (stream, unread) = http.into_parts();
        Ok(WebSocket {
            stream,
            unread,
            consumed: 0,
            scratch: vec![0; 256 << 10],
            taken: 0,
            pace: None,
            partial: None,
        })
    }

    /// Any frame, legal or not.
    pub fn frame(first: u8, masked: bool, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![first];
        let mask = if masked { 0x80 } else { 0 };
        match payload.len() {
            length @ 0..=125 => frame.push(mask | length as u8),
            length @ 126..=65535 => {
                frame.push(mask | 126);
                frame.extend((length as u16).to_be_bytes());
            }
            length => {
                frame.push(mask | 127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        if masked {
            let key = [0x37, 0xfa, 0x21, 0x3d];
            frame.extend(key);
            frame.extend(payload.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key));
        } else {
            frame.extend(payload);
        }
        frame
    }

    pub fn put(&mut self, bytes: &[u8]) -> bool {
        self.stream.put(bytes)
    }

    /// One whole message.
    pub fn send(&mut self, opcode: u8, payload: &[u8]) -> bool {
        let frame = WebSocket::frame(0x80 | opcode, true, payload);
        self.put(&frame)
    }

    pub fn send_text(&mut self, text: &str) -> bool {
        self.send(TEXT, text.as_bytes())
    }

    pub fn send_json(&mut self, value: &Value) -> bool {
        self.send_text(&value.to_string())
    }

    /// The next message; pings are answered on the way.
    #[track_caller]
    pub fn next(&mut self) -> Message {
        self.next_within(PATIENCE).expect("the server said nothing for a minute")
    }

    /// The next message that is JSON.
    #[track_caller]
    pub fn next_json(&mut self) -> Value {
        match self.next() {
            Message::Text(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?} where JSON was due"),
        }
    }

    /// The code with which the server ends the connection, whatever it says before.
    #[track_caller]
    pub fn close_code(&mut self) -> Option<u16> {
        loop {
            match self.next() {
                Message::Close(code) => return code,
                Message::Gone => panic!("gone without a close frame"),
                _ => {}
            }
        }
    }

    /// The next message, or `None` when none came in time.
    pub fn next_within(&mut self, patience: Duration) -> Option<Message> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some((first, payload)) = self.parse() {
                if let Some(message) = self.arrived(first, payload) {
                    return Some(message);
                }
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let mut scratch = std::mem::take(&mut self.scratch);
            let mut room = scratch.len();
            if let Some((bytes, rest)) = self.pace {
                std::thread::sleep(rest);
                room = bytes;
            }
            let read = self.stream.read_for(&mut scratch[..room], left);
            self.taken += read.unwrap_or(0) as u64;
            self.unread.extend_from_slice(&scratch[..read.unwrap_or(0)]);
            self.scratch = scratch;
            match read {
                Some(0) => return Some(Message::Gone),
                Some(_) => {}
                None if Instant::now() < deadline => {}
                None => return None,
            }
        }
    }

    fn parse(&mut self) -> Option<(u8, Vec<u8>)> {
        let bytes = &self.unread[self.consumed..];
        let (first, second) = (*bytes.first()?, *bytes.get(1)?);
        assert_eq!(second & 0x80, 0, "a server must not mask");
        assert_eq!(first & 0x70, 0, "reserved bits without an extension");
        let (length, start) = match second & 0x7f {
            126 => (u64::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().unwrap())), 4),
            127 => (u64::from_be_bytes(bytes.get(2..10)?.try_into().unwrap()), 10),
            length => (u64::from(length), 2),
        };
        let payload = bytes.get(start..start + usize::try_from(length).unwrap())?.to_vec();
        self.consumed += start + payload.len();
        if self.consumed * 2 > self.unread.len() {
            self.unread.drain(..self.consumed);
            self.consumed = 0;
        }
        Some((first, payload))
    }

    fn arrived(&mut self, first: u8, payload: Vec<u8>) -> Option<Message> {
        let (fin, opcode) = (first & 0x80 != 0, first & 0x0f);
        match opcode {
            PING => {
                self.send(PONG, &payload);
                return None;
            }
            PONG => return Some(Message::Pong(payload)),
            CLOSE => {
                let code = payload.get(..2).map(|code| u16::from_be_bytes(code.try_into().unwrap()));
                return Some(Message::Close(code));
            }
            _ => {}
        }
        let (opcode, whole) = match self.partial.take() {
            None => (opcode, payload),
            Some((begun, mut whole)) => {
                assert_eq!(opcode, CONTINUATION);
                whole.extend(payload);
                (begun, whole)
            }
        };
        if !fin {
            self.partial = Some((opcode, whole));
            return None;
        }
        Some(match opcode {
            TEXT => Message::Text(String::from_utf8(whole).expect("text frames are UTF-8")),
            BINARY => Message::Binary(whole),
            other => panic!("opcode {other} from the server"),
        })
    }
}
