//! A client of the terminal protocol that believes nothing: each frame is checked against the contract as it
//! comes in, so that every transcript proves the sequence numbers too.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::http::Stream;
use super::server::Terminal;
use super::websocket::{Message, WebSocket};
use super::{PATIENCE, Server, Value, find, json};

/// A server frame, parsed.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    Output { seq: u64, data: Vec<u8>, reset: bool },
    Exit { seq: u64, code: Option<i64>, signal: Option<i64> },
    Error(String),
    Size(u64, u64),
    Ack(u64),
    Ready { head: u64 },
    Pong(Value),
    Closed(Option<u16>),
    Gone,
}

/// One attached client.
pub struct Client {
    pub socket: WebSocket,
    pub terminal: Terminal,
    pub protocol: u8,
    pub client_id: String,
    token: Option<String>,
    next_client_seq: u64,
    /// Frames that were not acknowledged yet, as sent.
    pub unacked: VecDeque<(u64, String)>,
    /// The highest sequence number processed.
    pub cursor: u64,
    /// Output since the start, or since and with the last reset.
    pub text: Vec<u8>,
    /// Up to here `expect` has seen it.
    seen: usize,
    pub resets: usize,
    pub exited: bool,
    /// Says where the cursor is when a program asks (DSR 6), as an emulator does; always the first cell.
    pub answers: bool,
    /// False for clients that only count: the text is not kept.
    pub keeps_text: bool,
    /// Frames besides output, in order.
    pub control: Vec<Frame>,
    /// The size last told.
    pub size: Option<(u64, u64)>,
}

impl Client {
    pub fn attach(
        stream: Stream,
        token: Option<&str>,
        terminal: &Terminal,
        cursor: u64,
        protocol: u8,
    ) -> Client {
        let socket = Client::open(stream, token, terminal, cursor, protocol)
            .unwrap_or_else(|answer| panic!("attach refused: {} {}", answer.status, answer.text()));
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut client = Client {
            socket,
            terminal: terminal.clone(),
            protocol,
            client_id: format!("client-{number}"),
            token: token.map(str::to_string),
            next_client_seq: 1,
            unacked: VecDeque::new(),
            cursor,
            text: Vec::new(),
            seen: 0,
            resets: 0,
            exited: false,
            answers: false,
            keeps_text: true,
            control: Vec::new(),
            size: None,
        };
        client.greet();
        client
    }

    fn open(
        stream: Stream,
        token: Option<&str>,
        terminal: &Terminal,
        cursor: u64,
        protocol: u8,
    ) -> Result<WebSocket, super::Answer> {
        let mut path = format!("{}?lastOutputSeq={cursor}", terminal.socket);
        if protocol == 2 {
            path.push_str("&protocol=2");
        }
        let bearer = token.map(|token| format!("Bearer {token}"));
        let headers: Vec<(&str, &str)> =
            bearer.iter().map(|bearer| ("Authorization", bearer.as_str())).collect();
        WebSocket::open(stream, &path, &headers)
    }

    /// What every attach begins with: `ready` on protocol 2, then the size.
    #[track_caller]
    fn greet(&mut self) {
        if self.protocol == 2 {
            assert!(
                matches!(self.next(), Frame::Ready { .. }),
                "protocol 2 begins with ready: {:?}",
                self.control
            );
        }
        assert!(matches!(self.next(), Frame::Size(..)), "the size is told on attach: {:?}", self.control);
    }

    /// Attaches again at the cursor and sends again, unchanged, what was not acknowledged.
    /// False when the connection broke again on the way.
    pub fn reconnect(&mut self, stream: Stream) -> bool {
        match Client::open(stream, self.token.as_deref(), &self.terminal, self.cursor, self.protocol) {
            Ok(socket) => self.socket = socket,
            Err(answer) if answer.status == 0 => return false,
            Err(answer) => panic!("attach refused: {} {}", answer.status, answer.text()),
        }
        let frames: Vec<String> = self.unacked.iter().map(|(_, frame)| frame.clone()).collect();
        frames.iter().all(|frame| self.socket.send_text(frame))
    }

    // ---- what a client says ----

    /// Sends a frame with this client's id and next number; gives the number.
    pub fn say(&mut self, kind: &str, more: Value) -> u64 {
        let number = self.next_client_seq;
        self.next_client_seq += 1;
        let mut frame = json!({"type": kind, "clientId": self.client_id, "clientSeq": number});
        for (name, value) in more.as_object().unwrap() {
            frame[name] = value.clone();
        }
        let frame = frame.to_string();
        self.unacked.push_back((number, frame.clone()));
        self.socket.send_text(&frame);
        number
    }

    pub fn input(&mut self, data: &str) -> u64 {
        self.say("input", json!({"data": data}))
    }

    /// A terminal's own reply: input, not use.
    pub fn reply(&mut self, data: &str) -> u64 {
        self.say("input", json!({"data": data, "claim": false}))
    }

    pub fn resize(&mut self, cols: u64, rows: u64) -> u64 {
        self.say("resize", json!({"cols": cols, "rows": rows}))
    }

    pub fn focus(&mut self) -> u64 {
        self.say("focus", json!({}))
    }

    pub fn hide(&mut self) -> u64 {
        self.say("hide", json!({}))
    }

    pub fn clear(&mut self) -> u64 {
        self.say("clear", json!({}))
    }

    pub fn close(&mut self) -> u64 {
        self.say("close", json!({}))
    }

    // ---- what the server says ----

    /// The next frame, checked.
    #[track_caller]
    pub fn next(&mut self) -> Frame {
        self.next_within(PATIENCE).unwrap_or_else(|| panic!("silence; so far {}", self.told()))
    }

    /// The next frame, or `None` when none came in time.
    #[track_caller]
    pub fn next_within(&mut self, patience: Duration) -> Option<Frame> {
        let frame = match self.socket.next_within(patience)? {
            Message::Text(text) => self.parse_text(&text),
            Message::Binary(bytes) => {
                assert_eq!(self.protocol, 2, "binary frames are protocol 2");
                let reset = match bytes[0] {
                    1 => false,
                    2 => true,
                    kind => panic!("binary frame of kind {kind}"),
                };
                let seq = u64::from_be_bytes(bytes[1..9].try_into().unwrap());
                Frame::Output { seq, data: bytes[9..].to_vec(), reset }
            }
            Message::Close(code) => Frame::Closed(code),
            Message::Gone => Frame::Gone,
            Message::Pong(_) => return self.next_within(patience),
        };
        self.check(&frame);
        if let Frame::Output { data, reset: false, .. } = &frame
            && self.answers
            && find(data, b"\x1b[6n").is_some()
        {
            self.reply("\u{1b}[1;1R");
        }
        Some(frame)
    }

    fn parse_text(&self, text: &str) -> Frame {
        let value: Value = serde_json::from_str(text).unwrap();
        let number = |name: &str| value[name].as_u64().unwrap_or_else(|| panic!("no {name} in {text}"));
        let seq = number("seq");
        let kind = value["type"].as_str().unwrap();
        assert!(matches!(kind, "output" | "exit") || seq == 0, "{text}");
        match kind {
            "output" => {
                assert_eq!(self.protocol, 1, "protocol 2 carries output in binary frames");
                let data = value["data"].as_str().unwrap().as_bytes().to_vec();
                assert!(matches!(value.get("reset"), None | Some(Value::Bool(true))), "{text}");
                Frame::Output { seq, data, reset: value.get("reset").is_some() }
            }
            "exit" => {
                assert!(value.get("exitCode").is_some(), "{text}");
                Frame::Exit { seq, code: value["exitCode"].as_i64(), signal: value["signal"].as_i64() }
            }
            "error" => Frame::Error(value["message"].as_str().unwrap().to_string()),
            "size" => Frame::Size(number("cols"), number("rows")),
            "ack" => Frame::Ack(number("clientSeq")),
            "ready" => {
                assert_eq!(value["protocol"], 2, "{text}");
                Frame::Ready { head: number("head") }
            }
            "pong" => Frame::Pong(value["t"].clone()),
            _ => panic!("unknown server frame {text}"),
        }
    }

    #[track_caller]
    fn check(&mut self, frame: &Frame) {
        match frame {
            Frame::Output { seq, data, reset } => {
                std::str::from_utf8(data).expect("each output frame is whole UTF-8");
                assert!(!self.exited, "output after the exit");
                if *reset {
                    // CAN first for a client that stands inside of a control string, which ESC would end.
                    let rest = data.strip_prefix(b"\x18").unwrap_or(data);
                    assert!(rest.starts_with(b"\x1bc"), "a reset starts with a full reset");
                    self.resets += 1;
                    self.text.clear();
                    self.seen = 0;
                } else {
                    assert!(data.len() <= 64 << 10, "a frame of {} bytes", data.len());
                    assert!(!data.is_empty(), "an empty output frame");
                    assert_eq!(*seq, self.cursor + data.len() as u64, "seq counts the bytes");
                }
                self.cursor = *seq;
                if self.keeps_text {
                    self.text.extend_from_slice(data);
                }
            }
            Frame::Exit { seq, .. } => {
                // A cursor at the exit's own number gets the exit again.
                assert!(*seq == self.cursor + 1 || *seq == self.cursor, "exit {seq} after {}", self.cursor);
                self.cursor = *seq;
                self.exited = true;
                self.control.push(frame.clone());
            }
            Frame::Ack(number) => {
                self.unacked.retain(|(sent, _)| sent != number);
                self.control.push(frame.clone());
            }
            Frame::Size(cols, rows) => {
                self.size = Some((*cols, *rows));
                self.control.push(frame.clone());
            }
            Frame::Error(_) | Frame::Ready { .. } | Frame::Pong(_) | Frame::Closed(_) | Frame::Gone => {
                self.control.push(frame.clone());
            }
        }
    }

    fn told(&self) -> String {
        let tail = &self.text[self.text.len().saturating_sub(600)..];
        format!("{:?} and output …{:?}", self.control, String::from_utf8_lossy(tail))
    }

    /// Reads until this text has come, after what earlier expectations saw.
    #[track_caller]
    pub fn expect(&mut self, text: &str) {
        self.expect_bytes(text.as_bytes());
    }

    #[track_caller]
    pub fn expect_bytes(&mut self, needle: &[u8]) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = find(&self.text[self.seen..], needle) {
                self.seen += at + needle.len();
                return;
            }
            let wanted = String::from_utf8_lossy(needle).into_owned();
            assert!(Instant::now() < deadline, "no {wanted:?} in {}", self.told());
            match self.next_within(deadline.saturating_duration_since(Instant::now())) {
                None => panic!("no {wanted:?} in {}", self.told()),
                Some(Frame::Closed(_) | Frame::Gone) => panic!("closed before {wanted:?}; {}", self.told()),
                Some(_) => {}
            }
        }
    }

    /// Reads until a frame of this kind has come.
    #[track_caller]
    pub fn until(&mut self, what: &str, mut holds: impl FnMut(&Frame) -> bool) -> Frame {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.next_within(deadline.saturating_duration_since(Instant::now())) {
                Some(frame) if holds(&frame) => return frame,
                Some(Frame::Closed(_) | Frame::Gone) => panic!("closed before {what}; {}", self.told()),
                Some(_) => {}
                None => panic!("no {what}; {}", self.told()),
            }
        }
    }

    /// Reads until everything up to this number has come.
    #[track_caller]
    pub fn expect_cursor(&mut self, seq: u64) {
        while self.cursor != seq {
            self.until(&format!("output up to {seq}"), |frame| matches!(frame, Frame::Output { .. }));
        }
    }

    #[track_caller]
    pub fn expect_exit(&mut self, code: i64) {
        let exit = self.exit();
        assert_eq!(exit, (Some(code), None), "{}", self.told());
    }

    /// Reads up to the exit frame: its code and signal.
    #[track_caller]
    pub fn exit(&mut self) -> (Option<i64>, Option<i64>) {
        match self.until("exit", |frame| matches!(frame, Frame::Exit { .. })) {
            Frame::Exit { code, signal, .. } => (code, signal),
            _ => unreachable!(),
        }
    }

    #[track_caller]
    pub fn expect_ack(&mut self, number: u64) {
        if !self.control.contains(&Frame::Ack(number)) {
            self.until(&format!("ack {number}"), |frame| *frame == Frame::Ack(number));
        }
    }

    #[track_caller]
    pub fn expect_size(&mut self, cols: u64, rows: u64) {
        if self.size != Some((cols, rows)) {
            self.until(&format!("size {cols}x{rows}"), |frame| *frame == Frame::Size(cols, rows));
        }
    }

    #[track_caller]
    pub fn expect_closed(&mut self) -> Option<u16> {
        loop {
            match self.next() {
                Frame::Closed(code) => return code,
                Frame::Gone => return None,
                _ => {}
            }
        }
    }

    /// Reads everything that the server had to say before it answers a frame that is none.
    #[track_caller]
    pub fn settle(&mut self) {
        self.socket.send_text("{\"type\":\"settle\"}");
        self.until("error", |frame| matches!(frame, Frame::Error(_)));
    }

    /// Sizes told so far.
    pub fn sizes(&self) -> Vec<(u64, u64)> {
        let sizes = self.control.iter().filter_map(|frame| match frame {
            Frame::Size(cols, rows) => Some((*cols, *rows)),
            _ => None,
        });
        sizes.collect()
    }

    pub fn errors(&self) -> usize {
        self.control.iter().filter(|frame| matches!(frame, Frame::Error(_))).count()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.text.clone()).unwrap()
    }
}

/// The server makes a reset for a new client: the child's stream must already have left the ring.
#[track_caller]
pub fn reset_of(server: &Server, terminal: &Terminal, protocol: u8) -> Client {
    // A cursor ahead of the stream belongs to another life of the server, and is lost as well.
    let mut client = Client::attach(server.dial(), server.token.as_deref(), terminal, 1 << 50, protocol);
    client.until("reset", |frame| matches!(frame, Frame::Output { reset: true, .. }));
    client
}
