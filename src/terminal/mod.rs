//! One terminal's truth: bytes in; stream, screen, title and size out.
//!
//! It owns no descriptor and reads no clock. The bytes of the program go into the [`Stream`] first; the
//! [`Screen`] follows, up to [`SCREEN_LAG_BYTES_MAX`] behind, and is level whenever it is asked.

pub mod act;
mod client_ledger;
pub mod screen;
pub mod size;
mod size_claim;
pub mod title;
mod utf8_seam;

use std::time::Instant;

pub use act::{Act, ClientFrame};
pub use size::GridSize;
use title::{Recorded, TitleHold};

use self::client_ledger::ClientLedger;
use self::screen::Screen;
use self::size_claim::SizeClaim;
use self::utf8_seam::Utf8Seam;
use crate::flow::{After as Following, Follower, Outbound, Stream, cut};
use crate::limits::{
    INPUT_BYTES_MAX, RESIZE_INTERVAL, SCREEN_LAG_BYTES_MAX, SCREEN_PASS_BYTES_MIN, SCREEN_SLICE_BYTES,
};

/// How a program ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// The exit status, 128+n after signal n, `None` when it is not known.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// What the owner of the PTY must do after a client frame.
#[derive(Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing.
    Nothing,
    /// Hang up: the client closed the terminal.
    HangUp,
    /// Find out whether the shell is in the foreground, and call [`Terminal::clear`].
    Clear,
    /// The frame came too late to have an effect; the reason for an `error` frame.
    Refused(&'static str),
}

/// One terminal, without its PTY.
pub struct Terminal {
    stream: Stream,
    seam: Utf8Seam,
    screen: Screen,
    /// The screen has taken the stream up to this byte.
    screen_at: u64,
    /// How far the screen may lag: never further back than the stream reaches.
    screen_lag_max: usize,
    /// When the stream is here, the screen may find something to pass over.
    passes_at: u64,
    title: TitleHold,
    claim: SizeClaim,
    ledger: ClientLedger,
    size: GridSize,
    size_set_at: Option<Instant>,
    /// What the program has not read yet: full at [`INPUT_BYTES_MAX`], open again at a quarter of it.
    pub input: Outbound,
    answers_queries: bool,
    attended: bool,
    clear_waits: Option<ClearWhat>,
    /// A reader that attaches with a cursor from before this gets a reset.
    cleared_at: u64,
    exit: Option<Exit>,
}

const EXITED: &str = "the terminal has exited";

#[derive(Clone, Copy)]
enum ClearWhat {
    ScreenAndScrollback,
    Scrollback,
}

impl Terminal {
    /// A terminal that has printed nothing. `answers_queries`: whether it answers a program's queries
    /// itself while nobody is attached (an agent's own terminal does that for agent-owned ones).
    pub fn new(
        size: GridSize,
        replay_bytes: usize,
        scrollback_lines: usize,
        answers_queries: bool,
    ) -> Terminal {
        Terminal {
            stream: Stream::new(replay_bytes),
            seam: Utf8Seam::default(),
            screen: Screen::new(size, scrollback_lines),
            screen_at: 0,
            screen_lag_max: SCREEN_LAG_BYTES_MAX.min(replay_bytes).max(4),
            passes_at: 0,
            title: TitleHold::default(),
            claim: SizeClaim::default(),
            ledger: ClientLedger::default(),
            size,
            size_set_at: None,
            input: Outbound::new(INPUT_BYTES_MAX, INPUT_BYTES_MAX / 4),
            answers_queries,
            attended: false,
            clear_waits: None,
            cleared_at: 0,
            exit: None,
        }
    }

    /// Takes output of the program, cut anywhere.
    pub fn feed(&mut self, bytes: &[u8], now: Instant) {
        let mut seam = std::mem::take(&mut self.seam);
        seam.pass(bytes, now, |text| self.take_text(text, now));
        self.seam = seam;
    }

    fn take_text(&mut self, text: &[u8], now: Instant) {
        if let Some(what) = self.clear_waits {
            self.level_screen(now);
            let n = self.screen.feed_to_ground(text);
            self.append(&text[..n]);
            self.screen_at = self.stream.head();
            if !self.screen.at_ground() {
                return;
            }
            self.insert_clear(what);
            return self.take_text(&text[n..], now);
        }
        // The ring must not evict what the screen has not seen, however much comes at once.
        let mut rest = text;
        while !rest.is_empty() {
            let [piece, _] = cut([rest, &[]], self.screen_lag_max);
            if self.must_wait_for_screen(piece.len()) {
                self.level_screen(now);
            }
            self.append(piece);
            rest = &rest[piece.len()..];
        }
    }

    /// The screen foresees what is in the stream, and nothing beyond.
    fn append(&mut self, text: &[u8]) {
        self.stream.append(text);
        self.screen.foresee(text);
    }

    /// Bytes of the stream that the screen has not taken.
    pub fn screen_lag(&self) -> usize {
        (self.stream.head() - self.screen_at) as usize
    }

    /// Whether so many more bytes would have to wait for the screen, which has its bound to keep.
    pub fn must_wait_for_screen(&self, more: usize) -> bool {
        self.screen_lag() > 0 && self.screen_lag() + more > self.screen_lag_max
    }

    /// Lets the screen follow by one slice; true when there is more.
    pub fn follow_screen(&mut self, now: Instant) -> bool {
        self.advance_screen(SCREEN_SLICE_BYTES, now);
        self.screen_lag() > 0
    }

    /// Brings the screen level with the stream.
    fn level_screen(&mut self, now: Instant) {
        self.advance_screen(usize::MAX, now);
    }

    fn advance_screen(&mut self, bytes_max: usize, now: Instant) {
        let Following::Bytes(parts) = self.stream.after_any(self.screen_at) else { return };
        let mut replies = (self.answers_queries && !self.attended && self.exit.is_none()).then(Vec::new);
        let mut left = bytes_max;
        let mut passed = 0;
        if self.stream.head() >= self.passes_at && self.screen_lag() >= SCREEN_PASS_BYTES_MIN {
            self.passes_at = self.stream.head() + SCREEN_PASS_BYTES_MIN as u64;
            passed = self.screen.pass_over(parts, replies.as_mut());
            self.screen_at += passed as u64;
        }
        for part in parts {
            let skipped = passed.min(part.len());
            let part = &part[skipped..];
            passed -= skipped;
            let piece = &part[..part.len().min(left)];
            if !piece.is_empty() {
                self.screen.feed(piece, replies.as_mut());
            }
            self.screen_at += piece.len() as u64;
            left -= piece.len();
        }
        if let Some(replies) = replies.filter(|replies| !replies.is_empty() && !self.input.is_full()) {
            self.input.put(|out| out.extend_from_slice(&replies));
        }
        self.title.propose(self.screen.title(), now);
    }

    /// A reader that has everything up to byte `cursor` (terminal protocol, `lastOutputSeq`).
    pub fn attach(&mut self, cursor: u64, now: Instant) -> Follower {
        self.attend(now);
        let exit_seen = self.exit.is_some() && cursor == self.stream.head() + 1;
        match cursor {
            _ if exit_seen => Follower::new(self.stream.head()),
            // Cleared text never comes back: no stream reaches this cursor, so a reset follows.
            cursor if cursor < self.cleared_at => Follower::new(u64::MAX),
            cursor => Follower::new(cursor),
        }
    }

    /// Somebody shows it: what the program asks from now on is theirs to answer.
    pub fn attend(&mut self, now: Instant) {
        self.level_screen(now);
        self.attended = true;
    }

    /// The socket is gone; `last` when no other is attached.
    pub fn detach(&mut self, socket: usize, last: bool, now: Instant) {
        self.claim.disconnect(socket);
        self.leave(last, now);
    }

    /// Once no socket is attached (`last`) and no client shows it, nobody is there to answer the program.
    pub fn leave(&mut self, last: bool, now: Instant) {
        if self.attended && last && self.claim.wanted().is_none() {
            // What came while somebody was there was theirs to answer.
            self.level_screen(now);
            self.attended = false;
        }
    }

    /// Whether somebody is there to answer what the program asks.
    pub fn is_attended(&self) -> bool {
        self.attended
    }

    /// Whether this client shows it and its size is the one that the terminal has.
    pub fn is_sized_by(&self, id: &str) -> bool {
        self.claim.wanted().is_some() && self.claim.may_answer(id)
    }

    /// Takes a client's frame that came on `socket`. Every branch about client frames is here.
    pub fn apply(&mut self, socket: usize, frame: &ClientFrame) -> After {
        let id = frame.client_id.as_str();
        self.claim.seen(id, socket);
        if !self.is_first_sight(id, frame.client_seq) {
            return After::Nothing;
        }
        self.act(id, socket, &frame.act)
    }

    /// Notes a client's frame. False when one with this number or a higher one was noted before.
    pub fn is_first_sight(&mut self, client_id: &str, client_seq: u64) -> bool {
        self.ledger.is_first_sight(client_id, client_seq)
    }

    /// As [`Terminal::apply`], for a client whose frames come once and in order by themselves.
    pub fn act(&mut self, id: &str, socket: usize, act: &Act) -> After {
        match act {
            Act::Close => return After::HangUp,
            Act::Hide => self.claim.hide(id, socket),
            Act::Focus => self.claim.used(id, socket),
            Act::Resize(size) => self.claim.show(id, socket, *size),
            Act::Clear if self.exit.is_none() => return After::Clear,
            Act::Input { data, claim } => return self.type_as(id, socket, data.as_bytes(), *claim),
            Act::Clear => return After::Refused(EXITED),
        }
        After::Nothing
    }

    /// Input of a client, any bytes. `claim` is false for its emulator's own reply to a query.
    pub fn type_as(&mut self, id: &str, socket: usize, bytes: &[u8], claim: bool) -> After {
        if self.exit.is_some() {
            return After::Refused(EXITED);
        }
        if claim {
            self.claim.used(id, socket);
        }
        // A program gets one answer: that of the client whose size it was laid out for.
        if claim || self.claim.may_answer(id) {
            self.input.put(|out| out.extend_from_slice(bytes));
        }
        After::Nothing
    }

    /// Input that belongs to no client (`POST .../input`).
    pub fn type_in(&mut self, data: &str) {
        self.input.put(|out| out.extend_from_slice(data.as_bytes()));
    }

    /// Clears for every client (terminal protocol, `clear`): at a shell's prompt the screen and the
    /// scrollback, with Ctrl-L so that the shell draws its prompt; else only the scrollback. Inside an
    /// escape sequence it waits for the end of it.
    pub fn clear(&mut self, shell_in_foreground: bool, now: Instant) {
        let what = if shell_in_foreground { ClearWhat::ScreenAndScrollback } else { ClearWhat::Scrollback };
        self.level_screen(now);
        if self.screen.at_ground() && self.seam.is_empty() {
            self.insert_clear(what);
        } else {
            self.clear_waits = Some(what);
        }
    }

    fn insert_clear(&mut self, what: ClearWhat) {
        self.clear_waits = None;
        self.cleared_at = self.stream.head();
        match what {
            ClearWhat::ScreenAndScrollback => {
                self.append(b"\x1b[H\x1b[2J\x1b[3J");
                self.input.put(|out| out.push(0x0c));
            }
            ClearWhat::Scrollback => self.append(b"\x1b[3J"),
        }
    }

    /// The program has ended, and its output has been fed to the end.
    pub fn exit(&mut self, exit: Exit, now: Instant) {
        self.give_up_character(now);
        self.level_screen(now);
        self.exit = Some(exit);
        self.title.end();
        self.input.abandon();
    }

    fn give_up_character(&mut self, now: Instant) {
        let mut seam = std::mem::take(&mut self.seam);
        seam.give_up(|text| self.take_text(text, now));
        self.seam = seam;
    }

    /// When [`Terminal::settle`] has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        let resize = self.wants_size().and(self.size_set_at).map(|at| at + RESIZE_INTERVAL);
        [self.seam.deadline(), self.title.deadline(), resize].into_iter().flatten().min()
    }

    /// Does what is due by now; true when the recorded title changed. `unread`: bytes of the program wait
    /// to be fed, so half a character is only waiting for its turn.
    pub fn settle(&mut self, unread: bool, now: Instant) -> bool {
        if !unread && self.seam.deadline().is_some_and(|at| at <= now) {
            self.give_up_character(now);
        }
        self.exit.is_none() && self.title.settle(now)
    }

    /// The size to give the PTY now, if it changes: the first change at once, then at most one in
    /// [`RESIZE_INTERVAL`], since a dragged window asks for dozens. The screen takes it here.
    pub fn resize_due(&mut self, now: Instant) -> Option<GridSize> {
        let size = self.wants_size()?;
        if self.size_set_at.is_some_and(|at| at + RESIZE_INTERVAL > now) {
            return None;
        }
        self.level_screen(now);
        self.screen.resize(size);
        self.size = size;
        self.size_set_at = Some(now);
        Some(size)
    }

    fn wants_size(&self) -> Option<GridSize> {
        self.claim.wanted().filter(|size| *size != self.size && self.exit.is_none())
    }

    /// The stream that readers follow.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The screen, level with the stream.
    pub fn screen(&mut self, now: Instant) -> &mut Screen {
        self.level_screen(now);
        &mut self.screen
    }

    /// Where the last clear stands in the stream: a cursor from before it gets a reset.
    pub fn cleared_at(&self) -> u64 {
        self.cleared_at
    }

    /// The size that the PTY has.
    pub fn size(&self) -> GridSize {
        self.size
    }

    /// How it ended, if it did.
    pub fn exited(&self) -> Option<Exit> {
        self.exit
    }

    /// What panes show as its title.
    pub fn recorded_title(&self) -> &Recorded {
        self.title.recorded()
    }

    /// The number that the next output or exit will have at least ("nextOutputSeq").
    pub fn next_output_seq(&self) -> u64 {
        self.stream.head() + 1 + u64::from(self.exit.is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::flow::Step;

    fn terminal() -> Terminal {
        Terminal::new(GridSize::new(80, 24).unwrap(), 1 << 16, 100, true)
    }

    fn frame(client_seq: u64, act: Act) -> ClientFrame {
        ClientFrame { client_id: "a".into(), client_seq, act }
    }

    fn all_from(terminal: &Terminal, cursor: u64) -> Option<String> {
        match terminal.stream().after(cursor) {
            Following::Nothing => Some(String::new()),
            Following::Bytes(parts) => String::from_utf8(parts.concat()).ok(),
            Following::Lost => None,
        }
    }

    #[test]
    fn a_repeated_frame_has_no_effect() {
        let mut terminal = terminal();
        let typed = frame(1, Act::Input { data: "ls\n".into(), claim: true });
        terminal.apply(1, &typed);
        terminal.apply(2, &typed);
        assert_eq!(terminal.input.waiting(), b"ls\n");
    }

    #[test]
    fn a_reply_of_a_client_that_does_not_own_the_size_is_dropped() {
        let mut terminal = terminal();
        terminal.act("a", 1, &Act::Resize(GridSize::new(80, 24).unwrap()));
        terminal.act("b", 2, &Act::Resize(GridSize::new(90, 24).unwrap()));
        terminal.act("b", 2, &Act::Input { data: "B".into(), claim: false });
        terminal.act("a", 1, &Act::Input { data: "A".into(), claim: false });
        assert_eq!(terminal.input.waiting(), b"A");
    }

    #[test]
    fn a_burst_of_resizes_reaches_the_pty_as_its_first_and_its_last() {
        let (mut terminal, start) = (terminal(), Instant::now());
        let mut set = Vec::new();
        for i in 0..50u64 {
            let now = start + Duration::from_micros(i * 500);
            terminal.act("a", 1, &Act::Resize(GridSize::new(90 + i, 33).unwrap()));
            set.extend(terminal.resize_due(now).map(GridSize::cols));
        }
        let due = terminal.deadline().unwrap();
        set.extend(terminal.resize_due(due).map(GridSize::cols));
        assert_eq!(set, [90, 139]);
        assert_eq!(terminal.deadline(), None);
    }

    #[test]
    fn cleared_text_never_comes_back_to_a_late_reader() {
        let (mut terminal, now) = (terminal(), Instant::now());
        terminal.feed(b"secret", now);
        let early = terminal.attach(3, now);
        terminal.clear(true, now);
        terminal.feed(b"$ ", now);
        assert_eq!(all_from(&terminal, early.cursor()).unwrap(), "ret\x1b[H\x1b[2J\x1b[3J$ ");
        assert_eq!(terminal.input.waiting(), b"\x0c");
        let late = terminal.attach(3, now);
        assert_eq!(late.step(terminal.stream(), usize::MAX, now), Step::Lost);
        let level = terminal.attach(6, now);
        assert!(
            matches!(level.step(terminal.stream(), usize::MAX, now), Step::Output { .. }),
            "it has seen all of it"
        );
    }

    #[test]
    fn a_clear_waits_for_the_end_of_a_sequence() {
        let (mut terminal, now) = (terminal(), Instant::now());
        terminal.feed(b"a\x1b]2;ti", now);
        terminal.clear(false, now);
        assert_eq!(all_from(&terminal, 0).unwrap(), "a\x1b]2;ti");
        terminal.feed(b"tle\x07b", now);
        assert_eq!(all_from(&terminal, 0).unwrap(), "a\x1b]2;title\x07\x1b[3Jb");
    }

    #[test]
    fn a_reader_that_vanished_inside_a_control_string_needs_a_cancel() {
        let (mut terminal, now) = (terminal(), Instant::now());
        terminal.feed(b"a\x1b]2;title\x07b\x1b[1mc\x1bPq#\x1b\\d\x1b]52;c;QUFB", now);
        let head = terminal.stream().head();
        let inside: Vec<u64> = (0..=head).filter(|at| terminal.screen(now).is_inside_string(*at)).collect();
        let expected: Vec<u64> = (3..=10).chain(19..=21).chain(26..=35).collect();
        assert_eq!(inside, expected);
        terminal.feed(b"\x07\x1bc\x1b]2;t", now);
        let head = terminal.stream().head();
        assert!(terminal.screen(now).is_inside_string(head), "a full reset forgets no position");
        assert!(terminal.screen(now).is_inside_string(30));
    }

    #[test]
    fn a_reader_that_saw_the_exit_gets_nothing_but_the_exit() {
        let (mut terminal, now) = (terminal(), Instant::now());
        terminal.feed(b"bye\xe2\x94", now);
        terminal.exit(Exit { code: Some(3), signal: None }, now);
        assert_eq!(all_from(&terminal, 0).unwrap(), "bye\u{FFFD}");
        assert_eq!(terminal.next_output_seq(), 8);
        let seen = terminal.attach(7, now);
        assert_eq!(seen.step(terminal.stream(), usize::MAX, now), Step::Wait);
        let future = terminal.attach(8, now);
        assert_eq!(future.step(terminal.stream(), usize::MAX, now), Step::Lost);
    }

    #[test]
    fn the_screen_lags_within_its_bound_and_is_level_when_asked() {
        let (mut terminal, now) =
            (Terminal::new(GridSize::new(80, 24).unwrap(), 2 << 20, 100, true), Instant::now());
        for _ in 0..200 {
            terminal.feed(&b"0123456789abcdef\r\n".repeat(500), now);
            assert!(terminal.screen_lag() <= SCREEN_LAG_BYTES_MAX);
        }
        terminal.feed(b"last", now);
        assert!(terminal.screen(now).text(0).ends_with("last"));
        assert_eq!(terminal.screen_lag(), 0);
    }

    #[test]
    fn a_flood_of_frames_may_come_at_once_and_hold_bytes_that_are_no_characters() {
        let frame = b"\x1b[H\x1b[2Jcaf\xe9\r\n".repeat(3);
        let frames: Vec<u8> = (0..)
            .flat_map(|n| [&frame[..], format!("{n}\x1b[K").as_bytes()].concat())
            .take(2 << 20)
            .collect();
        let shown = |bite: usize, asked: bool| {
            let (mut terminal, now) =
                (Terminal::new(GridSize::new(80, 24).unwrap(), 2 << 20, 100, true), Instant::now());
            for bytes in frames.chunks(bite) {
                terminal.feed(bytes, now);
                if asked {
                    terminal.screen(now);
                }
            }
            let mut reset = Vec::new();
            terminal.screen(now).put_reset(&mut reset);
            String::from_utf8(reset).unwrap()
        };
        let expected = shown(16 << 10, true);
        for bite in [frames.len(), 300_000, 32 << 10, 4000] {
            assert_eq!(shown(bite, false), expected, "{bite} bytes at a time");
        }
    }
}
