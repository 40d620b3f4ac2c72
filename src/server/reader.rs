//! A reader of one terminal, over one socket: the whole of attach, replay, catching up and the exit, as a
//! function of the terminal, the queue and the time. It has no socket.

use std::time::Instant;

use crate::flow::{Follower, Outbound, Step};
use crate::terminal::Terminal;
use crate::wire::terminal_frames::{Protocol, put_exit, put_output, put_ready, put_size};

/// One attached socket's place in a terminal's stream.
pub(super) struct Reader {
    follower: Follower,
    protocol: Protocol,
    /// The size changed since it was told.
    size_due: bool,
    /// What it had when it attached.
    attached_at: u64,
}

/// How far a reader got.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pumped {
    /// It has everything, or its queue is full: output or room brings it back.
    Waits,
    /// There is more, held back until then.
    Until(Instant),
    /// It was told the exit.
    Ended,
}

/// The frame that was encoded last. Readers of one terminal mostly stand at the same place, and a frame
/// of JSON costs more to make than to copy.
#[derive(Default)]
pub(super) struct Encoded {
    /// The stream (by the number of its terminal), from, to.
    what: Option<(usize, u64, u64)>,
    frame: Vec<u8>,
}

/// CAN ends the control string that a reader's emulator is in without acting on it, as ESC would.
const CANCEL: &[u8] = b"\x18";

impl Reader {
    /// A reader that has everything up to byte `cursor`. It is told `ready` (protocol 2) and the size.
    pub(super) fn attach(
        terminal: &mut Terminal,
        cursor: u64,
        protocol: Protocol,
        queue: &mut Outbound,
        now: Instant,
    ) -> Reader {
        let follower = terminal.attach(cursor, now);
        let (head, size) = (terminal.stream().head(), terminal.size());
        queue.put(|out| {
            if protocol == Protocol::Two {
                put_ready(head, out);
            }
            put_size(size, out);
        });
        Reader { follower, protocol, size_due: false, attached_at: cursor }
    }

    pub(super) fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The client's smoothed round trip, which paces its output.
    pub(super) fn set_srtt(&mut self, srtt: std::time::Duration) {
        self.follower.pace.set_srtt(srtt);
    }

    /// The terminal's size is to be told as soon as the queue has room.
    pub(super) fn size_changed(&mut self) {
        self.size_due = true;
    }

    /// Moves the cursor forward while the queue has room.
    pub(super) fn pump(
        &mut self,
        terminal: &mut Terminal,
        number: usize,
        queue: &mut Outbound,
        encoded: &mut Encoded,
        now: Instant,
    ) -> Pumped {
        let mut sent = false;
        let mut pumped = Pumped::Waits;
        while !queue.is_full() {
            let cursor = self.follower.cursor();
            match self.follower.step(terminal.stream(), now) {
                Step::Output { seq, parts } => {
                    match self.protocol {
                        Protocol::Two => queue.put(|out| put_output(Protocol::Two, seq, false, parts, out)),
                        Protocol::One => {
                            let what = Some((number, cursor, seq));
                            if encoded.what != what {
                                encoded.what = what;
                                encoded.frame.clear();
                                put_output(Protocol::One, seq, false, parts, &mut encoded.frame);
                            }
                            queue.put(|out| out.extend_from_slice(&encoded.frame));
                        }
                    }
                    self.follower.advance(seq);
                    sent = true;
                }
                Step::Lost => {
                    let head = terminal.stream().head();
                    let mut reset = Vec::new();
                    let had = if cursor == u64::MAX { self.attached_at } else { cursor };
                    let screen = terminal.screen(now);
                    if had <= head && screen.is_inside_string(had) {
                        reset.extend_from_slice(CANCEL);
                    }
                    screen.put_reset(&mut reset);
                    queue.put(|out| put_output(self.protocol, head, true, [&reset, &[]], out));
                    self.follower.advance(head);
                    sent = true;
                }
                Step::Until(at) => {
                    pumped = Pumped::Until(at);
                    break;
                }
                Step::Wait => {
                    if let Some(exit) = terminal.exited() {
                        let seq = terminal.stream().head() + 1;
                        queue.put(|out| put_exit(seq, exit.code, exit.signal, out));
                        pumped = Pumped::Ended;
                    }
                    break;
                }
            }
        }
        if sent {
            self.follower.pace.sent(now);
        }
        if self.size_due && !queue.is_full() {
            self.size_due = false;
            let size = terminal.size();
            queue.put(|out| put_size(size, out));
        }
        pumped
    }
}

#[cfg(test)]
mod simulation {
    //! Many readers over one terminal, on a random but repeatable course: output in any pieces, readers that
    //! stall, vanish, come back where they were or somewhere else, resizes, clears, floods. A naive model
    //! keeps all that was ever printed. `WHARF_SEED=N cargo test simulation` runs one course again.

    use std::time::Duration;

    use super::*;
    use crate::limits::{OUTBOUND_BYTES_HIGH, OUTPUT_FRAME_BYTES_MAX};
    use crate::terminal::screen::Screen;
    use crate::terminal::{Act, Exit, GridSize};
    use crate::wire::terminal_frames::{ServerFrame, parse_server_binary, parse_server_text};
    use crate::wire::websocket::{Codec, Message};

    /// xorshift64*: repeatable, and enough here.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, n: u64) -> u64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % n.max(1)
        }
    }

    /// A client as the protocol describes one: it persists the highest sequence it has processed.
    struct Client {
        reader: Option<Reader>,
        queue: Outbound,
        codec: Codec,
        protocol: Protocol,
        seq: u64,
        /// Everything since its last reset, the reset included, and where in the stream that began.
        seen: Vec<u8>,
        seen_from: u64,
        resets: usize,
        exit: Option<(u64, Option<i32>)>,
        speed: u64,
    }

    impl Client {
        fn new(protocol: Protocol) -> Client {
            Client {
                reader: None,
                queue: Outbound::default(),
                codec: Codec::client(64 << 20),
                protocol,
                seq: 0,
                seen: Vec::new(),
                seen_from: 0,
                resets: 0,
                exit: None,
                speed: 1,
            }
        }

        fn connect(&mut self, terminal: &mut Terminal, now: Instant) {
            self.queue = Outbound::default();
            self.codec = Codec::client(64 << 20);
            let reader = Reader::attach(terminal, self.seq, self.protocol, &mut self.queue, now);
            self.reader = Some(reader);
        }

        /// The network delivers up to `bytes`; frames are checked as they arrive.
        fn receive(&mut self, bytes: usize) {
            let n = self.queue.waiting().len().min(bytes);
            let mut arrived = self.queue.waiting()[..n].to_vec();
            self.queue.take(n);
            while let Some(message) = self.codec.read(&mut arrived, &mut Vec::new()).expect("valid frames") {
                let frame = match &message {
                    Message::Text(text) => parse_server_text(text),
                    Message::Binary(bytes) => parse_server_binary(bytes),
                    Message::Ping | Message::Pong => None,
                };
                match frame.expect("a frame of the protocol") {
                    ServerFrame::Output { seq, reset: true, data } => {
                        let text = std::str::from_utf8(&data).expect("text");
                        assert!(text.trim_start_matches('\x18').starts_with("\x1bc"));
                        self.resets += 1;
                        self.seen = data;
                        self.seen_from = seq;
                        self.seq = seq;
                    }
                    ServerFrame::Output { seq, data, .. } => {
                        assert!(std::str::from_utf8(&data).is_ok() && data.len() <= OUTPUT_FRAME_BYTES_MAX);
                        assert_eq!(seq, self.seq + data.len() as u64, "nothing lost, nothing doubled");
                        self.seen.extend_from_slice(&data);
                        self.seq = seq;
                    }
                    ServerFrame::Exit { seq, exit_code, .. } => {
                        self.exit = Some((seq, exit_code));
                        self.seq = seq;
                    }
                    ServerFrame::Ready { .. } | ServerFrame::Size(_) => {}
                    other => panic!("nobody asked for {other:?}"),
                }
            }
        }
    }

    fn some_output(dice: &mut Dice) -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..dice.below(40) {
            match dice.below(12) {
                0 => out.extend_from_slice(format!("\x1b[{};{}H", dice.below(30), dice.below(90)).as_bytes()),
                1 => out.extend_from_slice(format!("\x1b[3{}m", dice.below(8)).as_bytes()),
                2 => out.extend_from_slice("─│你好😀e\u{301}".as_bytes()),
                3 => out.extend_from_slice(b"\x1b]2;a title\x07"),
                4 => out.extend_from_slice(b"\x1b[2J\x1b[H"),
                5 => out.extend_from_slice(&[0xff, 0xe2, 0x94]),
                _ => out.extend_from_slice(format!("line {}\r\n", dice.below(100_000)).as_bytes()),
            }
        }
        if dice.below(60) == 0 {
            out.extend(b"flood flood flood\r\n".repeat(dice.below(150_000) as usize));
        }
        out
    }

    fn run(seed: u64) {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let (start, mut ms) = (Instant::now(), 0);
        let size = GridSize::new(80, 24).unwrap();
        let replay_bytes = [200_000, 2 << 20][dice.below(2) as usize];
        let mut terminal = Terminal::new(size, replay_bytes, 50, true);
        let mut encoded = Encoded::default();
        let mut clients: Vec<Client> = (0..2 + dice.below(6))
            .map(|i| Client::new(if i % 2 == 0 { Protocol::Two } else { Protocol::One }))
            .collect();
        let mut printed: Vec<u8> = Vec::new();
        let mut pump = |clients: &mut [Client], terminal: &mut Terminal, printed: &mut Vec<u8>, now| {
            // What the terminal took, as the model keeps it: the lossy text, clears included.
            let head = terminal.stream().head();
            if let crate::flow::After::Bytes(parts) = terminal.stream().after_any(printed.len() as u64) {
                printed.extend_from_slice(&parts.concat());
            }
            assert_eq!(printed.len() as u64, head, "the model follows the stream at every step");
            for client in clients {
                let Some(reader) = &mut client.reader else { continue };
                reader.pump(terminal, 1, &mut client.queue, &mut encoded, now);
                let bound = OUTBOUND_BYTES_HIGH + 8 * OUTPUT_FRAME_BYTES_MAX + (4 << 20);
                assert!(client.queue.waiting().len() <= bound, "a queue has a bound");
            }
        };
        for _ in 0..400 {
            ms += dice.below(20);
            let now = start + Duration::from_millis(ms);
            // In pieces that the ring holds, so that the model never misses any.
            let output = some_output(&mut dice);
            for piece in output.chunks(1 + dice.below(60_000) as usize) {
                terminal.feed(piece, now);
                pump(&mut clients, &mut terminal, &mut printed, now);
            }
            terminal.settle(false, now);
            let who = dice.below(clients.len() as u64) as usize;
            match dice.below(14) {
                0 | 1 => clients[who].connect(&mut terminal, now),
                2 => {
                    clients[who].reader = None;
                    let attached = clients.iter().any(|client| client.reader.is_some());
                    terminal.detach(who, !attached, now);
                }
                3 => clients[who].speed = 0,
                4 => clients[who].speed = 1 + dice.below(200_000),
                5 => {
                    let size = GridSize::new(20 + dice.below(100), 5 + dice.below(40)).unwrap();
                    terminal.act(&format!("c{who}"), who, &Act::Resize(size));
                    terminal.act(&format!("c{who}"), who, &Act::Focus);
                }
                6 if dice.below(4) == 0 => terminal.clear(dice.below(2) == 0, now),
                7 => {
                    if let Some(reader) = &mut clients[who].reader {
                        reader.set_srtt(Duration::from_millis(dice.below(300)));
                    }
                }
                _ => {}
            }
            if terminal.resize_due(now).is_some() {
                clients.iter_mut().filter_map(|client| client.reader.as_mut()).for_each(Reader::size_changed);
            }
            pump(&mut clients, &mut terminal, &mut printed, now);
            for client in &mut clients {
                let speed = client.speed as usize;
                client.receive(speed);
            }
        }
        let now = start + Duration::from_millis(ms + 60_000);
        terminal.exit(Exit { code: Some(7), signal: None }, now);
        for client in &mut clients {
            client.connect(&mut terminal, now);
        }
        for round in 0.. {
            let later = now + Duration::from_millis(round * 20);
            pump(&mut clients, &mut terminal, &mut printed, later);
            clients.iter_mut().for_each(|client| client.receive(usize::MAX));
            if clients.iter().all(|client| client.exit.is_some()) {
                break;
            }
            assert!(round < 1000, "every reader reaches the exit");
        }
        let cols_rows = terminal.size();
        let text = terminal.screen(now).text(usize::MAX);
        for client in &clients {
            assert_eq!(client.exit, Some((printed.len() as u64 + 1, Some(7))));
            let from = client.seen_from as usize;
            let tail = &printed[from..];
            assert!(client.seen.ends_with(tail), "exactly the stream since byte {from}");
            if client.resets == 0 {
                assert_eq!(client.seen.len(), printed.len());
            } else if client.seen_from == printed.len() as u64 {
                let mut screen = Screen::new(cols_rows, 50);
                screen.feed(&client.seen, None);
                assert_eq!(screen.text(usize::MAX), text, "the reset shows what the terminal shows");
            }
        }
    }

    #[test]
    fn every_reader_gets_everything_once_or_a_reset() {
        let seeds = match std::env::var("WHARF_SEED") {
            Ok(seed) => vec![seed.parse().expect("WHARF_SEED is a number")],
            Err(_) => (1..=24).collect(),
        };
        for seed in seeds {
            println!("seed {seed}");
            run(seed);
        }
    }
}
