//! A reader of one terminal, over one socket: the whole of attach, replay, catching up and the exit, as a
//! function of the terminal, the queue and the time. It has no socket.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::time::Instant;

use crate::flow::{Follower, Outbound, Queued, Step};
use crate::limits::{OWED_MAX, PRESENT_REST, SCROLLBACK_REST};
use crate::terminal::Terminal;
use crate::wire::terminal_frames::{Protocol, put_exit, put_output, put_ready, put_size};

/// One attached socket's place in a terminal's stream.
///
/// A reader gets every byte that its queue or the ring holds, and a reset for what they do not. On a link that
/// takes them much more slowly than the program prints them, that alone would put megabytes, many seconds, in
/// front of the answer to a Ctrl-C. Two exceptions, both only where the link was measured to be slow:
///
/// 1. *Who types sees the present.* When a reader types while more output waits than it takes in
///    [`PRESENT_TIME`](crate::limits::PRESENT_TIME), the output that has not begun to leave is taken back from
///    its queue, and the screen as it is comes in its place, until the reader has caught up. Who only watches,
///    replays after an attach, or has paused and then reads at a normal speed, gets every byte.
/// 2. *A flood is not told twice.* What a flood pushes out of the ring is replaced by the screen alone; the
///    scrollback, which takes such a link half a second, comes in a reset of its own when the flood is over.
pub(super) struct Reader {
    follower: Follower,
    protocol: Protocol,
    /// The size changed since it was told.
    size_due: bool,
    /// What it had when it attached.
    attached_at: u64,
    /// Output in the queue, by what the reader had before it.
    queued: Queued<u64>,
    /// When it last typed while output waited; until it has everything.
    typed_at: Option<Instant>,
    /// What had not begun to leave then has been taken back. Once: a screen that waits is not drawn again whenever
    /// something is printed.
    made_way: bool,
    /// All that had been printed was in the queue when it was last pumped.
    had_all: bool,
    /// It was sent a screen without the scrollback, and since then has lost or typed nothing.
    owed_since: Option<Instant>,
    /// Where it was sent the first such screen, and the last whole reset.
    bare_from: Option<u64>,
    whole_at: u64,
}

/// Where readers stopped that may never have got the scrollback that they were owed: when they connect again,
/// their cursors are good, and do not tell.
#[derive(Default)]
pub(super) struct Owed(VecDeque<RangeInclusive<u64>>);

impl Owed {
    /// The reader is gone.
    pub(super) fn leave(&mut self, reader: &Reader) {
        let Some(places) = reader.lacks() else { return };
        if self.0.len() == OWED_MAX {
            self.0.pop_front();
        }
        self.0.push_back(places);
    }

    /// A reader attaches with this cursor: where was it sent its first screen without the scrollback? `others`
    /// are what readers [lack](Reader::lacks) that are still attached: that one of them is gone may not be known yet.
    pub(super) fn find(
        &mut self,
        cursor: u64,
        mut others: impl Iterator<Item = RangeInclusive<u64>>,
    ) -> Option<u64> {
        let at = self.0.iter().position(|places| places.contains(&cursor));
        let found = at.and_then(|at| self.0.remove(at));
        Some(*found.or_else(|| others.find(|places| places.contains(&cursor)))?.start())
    }
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
        Reader {
            follower,
            protocol,
            size_due: false,
            attached_at: cursor,
            queued: Queued::default(),
            typed_at: None,
            made_way: false,
            had_all: false,
            owed_since: None,
            bare_from: None,
            whole_at: 0,
        }
    }

    /// Where it may say that it is, when it connects again without the scrollback. A whole reset may not have
    /// reached it, though all bytes before it did.
    pub(super) fn lacks(&self) -> Option<RangeInclusive<u64>> {
        let to = if self.owed_since.is_some() { self.follower.cursor() } else { self.whole_at };
        Some(self.bare_from?..=to)
    }

    /// It is owed the scrollback since it was at that place.
    pub(super) fn owe(&mut self, bare_from: u64, now: Instant) {
        self.bare_from = Some(bare_from);
        self.owed_since = Some(now);
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

    /// The client typed. True when output waits in front of the answer: pump, since some may be skipped.
    pub(super) fn typed(&mut self, terminal: &Terminal, queue: &Outbound, now: Instant) -> bool {
        self.owed_since = self.owed_since.map(|_| now);
        let waits = self.queued.waits(queue) || self.follower.cursor() != terminal.stream().head();
        if waits {
            self.typed_at = Some(now);
            self.made_way = false;
        }
        waits
    }

    /// Whether output waits in front of the answer to what the client typed.
    pub(super) fn is_typing(&self) -> bool {
        self.typed_at.is_some()
    }

    /// Whether the client is better off without what comes next, behind so many bytes of its queue.
    fn skips(&self, terminal: &Terminal, queue: &Outbound, waiting: usize) -> bool {
        let behind = terminal.stream().head().saturating_sub(self.follower.cursor());
        self.is_typing() && queue.is_long(waiting as u64 + behind)
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
        if self.had_all && !self.queued.waits(queue) {
            self.typed_at.take_if(|at| *at + PRESENT_REST <= now);
        }
        if !self.made_way && self.skips(terminal, queue, queue.waiting().len()) {
            self.made_way = true;
            self.queued
                .take_back(queue, |_| true)
                .into_iter()
                .for_each(|cursor| self.follower.advance(cursor));
        }
        while !queue.is_full() {
            let cursor = self.follower.cursor();
            match self.follower.step(terminal.stream(), queue.frame_bytes_max(), now) {
                Step::Output { .. } if self.skips(terminal, queue, 0) => {
                    // The later the screen is drawn, the more it shows.
                    queue.wait_for_low();
                    if queue.is_full() {
                        break;
                    }
                    self.put_reset(terminal, queue, now);
                    sent = true;
                }
                Step::Output { seq, parts } => {
                    let protocol = self.protocol;
                    self.queued.put(queue, cursor, |out| match protocol {
                        Protocol::Two => put_output(protocol, seq, false, parts, out),
                        Protocol::One => {
                            let what = Some((number, cursor, seq));
                            if encoded.what != what {
                                encoded.what = what;
                                encoded.frame.clear();
                                put_output(protocol, seq, false, parts, &mut encoded.frame);
                            }
                            out.extend_from_slice(&encoded.frame);
                        }
                    });
                    self.follower.advance(seq);
                    sent = true;
                }
                Step::Lost => {
                    self.put_reset(terminal, queue, now);
                    sent = true;
                }
                Step::Until(at) => {
                    pumped = Pumped::Until(at);
                    break;
                }
                Step::Wait => {
                    let exit = terminal.exited();
                    if let Some(since) = self.owed_since {
                        if since + SCROLLBACK_REST <= now || exit.is_some() {
                            self.put_whole_reset(terminal, queue, now);
                            sent = true;
                            continue;
                        }
                        pumped = Pumped::Until(since + SCROLLBACK_REST);
                    }
                    if let Some(exit) = exit {
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
        self.had_all = self.follower.cursor() == terminal.stream().head();
        if self.size_due && !queue.is_full() {
            self.size_due = false;
            let size = terminal.size();
            queue.put(|out| put_size(size, out));
        }
        pumped
    }

    /// Everything before is replaced by what the screen shows now, and the scrollback when there is time for it.
    fn put_reset(&mut self, terminal: &mut Terminal, queue: &mut Outbound, now: Instant) {
        let cursor = self.follower.cursor();
        // After an attach or a clear the reset is what was asked for; otherwise it stands for what was lost.
        let lost = cursor != self.attached_at && cursor != u64::MAX;
        if lost && queue.is_slow() && terminal.exited().is_none() {
            self.put_reset_of(0, terminal, queue, now);
            self.owed_since = Some(now);
            self.bare_from.get_or_insert(self.follower.cursor());
        } else {
            self.put_whole_reset(terminal, queue, now);
        }
    }

    fn put_whole_reset(&mut self, terminal: &mut Terminal, queue: &mut Outbound, now: Instant) {
        self.put_reset_of(usize::MAX, terminal, queue, now);
        self.owed_since = None;
        self.whole_at = self.follower.cursor();
    }

    /// A reset with so many lines of the scrollback.
    fn put_reset_of(&mut self, lines: usize, terminal: &mut Terminal, queue: &mut Outbound, now: Instant) {
        let (cursor, head) = (self.follower.cursor(), terminal.stream().head());
        let had = if cursor == u64::MAX { self.attached_at } else { cursor };
        let screen = terminal.screen(now);
        let mut reset = Vec::new();
        if had <= head && screen.is_inside_string(had) {
            reset.extend_from_slice(CANCEL);
        }
        screen.put_vt(lines, &mut reset);
        let protocol = self.protocol;
        self.queued.put(queue, cursor, |out| put_output(protocol, head, true, [&reset, &[]], out));
        self.follower.advance(head);
    }
}

#[cfg(test)]
mod simulation {
    //! Many readers over one terminal, on a random but repeatable course: output in any pieces, readers that
    //! stall, vanish, come back where they were or somewhere else, resizes, clears, floods. A naive model
    //! keeps all that was ever printed. `WHARF_SEED=N cargo test simulation` runs one course again.

    use std::time::Duration;

    use super::*;
    use crate::flow::Link;
    use crate::limits::{OUTBOUND_BYTES_HIGH, OUTPUT_FRAME_BYTES_MAX, OUTPUT_FRAME_BYTES_SLOWEST};
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

    /// A link whose speed is known.
    fn link(bytes_a_second: usize, now: Instant) -> Link {
        let mut link = Link::default();
        for second in 0..=4 {
            link.took(bytes_a_second, false, now + Duration::from_secs(second));
        }
        link
    }

    /// A client at 1 Mbit/s, and its terminal.
    struct SlowLink {
        terminal: Terminal,
        client: Client,
        start: Instant,
    }

    impl SlowLink {
        fn new(replay_bytes: usize) -> SlowLink {
            let start = Instant::now();
            let size = GridSize::new(80, 24).unwrap();
            let mut terminal = Terminal::new(size, replay_bytes, 1000, true);
            let mut client = Client::new(Protocol::Two);
            client.connect(&mut terminal, start);
            client.queue.link = link(125_000, start);
            client.queue.adapt();
            SlowLink { terminal, client, start }
        }

        fn print(&mut self, lines: usize) {
            self.terminal.feed(&b"twenty bytes of it\r\n".repeat(lines), self.start);
        }

        fn pump(&mut self, ms: u64) -> Pumped {
            let now = self.start + Duration::from_millis(ms);
            let Client { reader: Some(reader), queue, .. } = &mut self.client else { panic!() };
            reader.pump(&mut self.terminal, 1, queue, &mut Encoded::default(), now)
        }

        fn type_in(&mut self, ms: u64) -> bool {
            let now = self.start + Duration::from_millis(ms);
            self.client.reader.as_mut().unwrap().typed(&self.terminal, &self.client.queue, now)
        }

        /// Takes all there is: resets, and lines since the last one, so far.
        fn take_all(&mut self, ms: u64) -> (usize, usize) {
            while self.client.exit.is_none() {
                self.pump(ms);
                if self.client.queue.is_empty() {
                    break;
                }
                self.client.receive(1000);
            }
            (self.client.resets, self.client.seen.iter().filter(|byte| **byte == b'\n').count())
        }
    }

    #[test]
    fn who_only_watches_gets_every_byte_that_is_kept_however_slowly() {
        let mut link = SlowLink::new(2 << 20);
        link.print(100_000);
        assert!(!SlowLink::new(2 << 20).type_in(0), "nothing waits");
        assert_eq!(link.take_all(0), (0, 100_000));
    }

    #[test]
    fn who_types_while_much_waits_sees_the_present() {
        let mut link = SlowLink::new(2 << 20);
        link.print(50_000);
        link.pump(0);
        link.client.receive(1000);
        let waiting = link.client.queue.waiting().len();
        assert!(link.type_in(10), "output waits");
        link.print(2);
        link.pump(10);
        assert!(link.client.queue.waiting().len() < waiting, "what had not begun to leave is taken back");
        let in_front = link.client.queue.waiting().len();
        assert!(in_front <= OUTPUT_FRAME_BYTES_SLOWEST, "{in_front}");
        assert_eq!(link.take_all(20), (1, 23), "the screen");
        link.print(5000);
        assert_eq!(link.take_all(100), (2, 23), "still printed before the key had its effect");
        link.print(50);
        assert_eq!(link.take_all(400), (2, 73));
        link.print(5000);
        assert_eq!(link.take_all(500), (2, 5073), "it had everything: this is what it asked for");
        assert_eq!(link.pump(500), Pumped::Until(link.start + Duration::from_millis(1100)));
        assert_eq!(link.take_all(1100), (3, 1023), "the scrollback");
        assert_eq!(link.pump(1200), Pumped::Waits);
    }

    #[test]
    fn a_screen_that_waits_for_a_slow_link_is_not_drawn_again_for_all_that_is_printed() {
        let mut link = SlowLink::new(2 << 20);
        link.print(50_000);
        link.pump(0);
        link.type_in(10);
        for ms in 10..60 {
            link.print(2000);
            link.pump(ms);
        }
        let cursor = |link: &SlowLink| link.client.reader.as_ref().unwrap().follower.cursor();
        let (before, waiting) = (cursor(&link), link.client.queue.waiting().len());
        link.print(2000);
        link.pump(60);
        assert_eq!((cursor(&link), link.client.queue.waiting().len()), (before, waiting));
        link.type_in(61);
        link.print(2000);
        link.pump(61);
        assert!(cursor(&link) > before, "another key may have changed it");
    }

    #[test]
    fn a_reader_at_an_unknown_or_usual_speed_gets_every_byte_though_it_types() {
        for bytes_a_second in [None, Some(100 << 20)] {
            let mut link = SlowLink::new(2 << 20);
            link.client.queue = Outbound::default();
            if let Some(bytes) = bytes_a_second {
                link.client.queue.link = self::link(bytes, link.start);
                link.client.queue.adapt();
            }
            link.print(80_000);
            link.pump(0);
            link.client.receive(1000);
            assert!(link.type_in(10));
            assert_eq!(link.take_all(20), (0, 80_000), "{bytes_a_second:?}");
        }
    }

    #[test]
    fn what_a_flood_has_pushed_out_is_the_screen_at_once_and_the_scrollback_when_it_rests() {
        let mut link = SlowLink::new(200_000);
        link.print(100);
        assert_eq!(link.take_all(0), (0, 100));
        for (ms, resets) in [(0, 1), (100, 2)] {
            link.print(20_000);
            assert_eq!(link.take_all(ms), (resets, 23));
        }
        link.print(1000);
        assert_eq!(link.take_all(200), (2, 1023), "all of this was kept");
        link.type_in(300);
        assert_eq!(link.take_all(1299), (2, 1023));
        assert_eq!(link.take_all(1300), (3, 1023), "it has rested");
        link.print(20_000);
        assert_eq!(link.take_all(1400), (4, 23));
        link.terminal.exit(Exit { code: Some(7), signal: None }, link.start);
        assert_eq!(link.take_all(1500), (5, 1023), "before the exit");
        assert!(link.client.exit.is_some());
    }

    #[test]
    fn who_connects_again_before_the_scrollback_came_still_gets_it() {
        for whole_reset_lost in [false, true] {
            let mut link = SlowLink::new(200_000);
            let mut owed = Owed::default();
            link.print(100);
            link.take_all(0);
            link.print(20_000);
            assert_eq!(link.take_all(0), (1, 23));
            if whole_reset_lost {
                link.pump(1000);
            }
            owed.leave(link.client.reader.as_ref().unwrap());
            link.client.connect(&mut link.terminal, link.start);
            let cursor = link.client.seq;
            let from = owed.find(cursor, std::iter::empty()).unwrap();
            link.client.reader.as_mut().unwrap().owe(from, link.start);
            link.print(10);
            assert_eq!(link.take_all(500), (1, 33), "it lost no output");
            assert_eq!(link.take_all(1500), (2, 1023));
            // It has all of it now.
            owed.leave(link.client.reader.as_ref().unwrap());
            link.print(10);
            link.take_all(1600);
            let cursor = link.client.seq;
            assert_eq!(owed.find(cursor, std::iter::empty()), None);
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
                8 => {
                    clients[who].queue.link = link([20_000, 5_000_000, 1 << 40][dice.below(3) as usize], now);
                    clients[who].queue.adapt();
                }
                9 | 10 => {
                    let Client { reader: Some(reader), queue, .. } = &mut clients[who] else { continue };
                    reader.typed(&terminal, queue, now);
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
