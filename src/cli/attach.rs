//! `wharf attach`: a terminal of the server in the user's own terminal, over protocol 2.
//!
//! One poll over standard input, standard output, the socket and signals. A standard output that is slow
//! is waited for by not reading the socket; a server that takes no input, by not reading standard input.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use clap::ArgMatches;
use rustix::event::PollFlags;
use serde_json::Value;

use super::backoff::Backoff;
use super::client::{Endpoint, encode, hex, random};
use super::history::{HistoryFilter, put_clean_slate};
use super::keyboard::{Keyboard, Typed};
use super::keys::{self, Key};
use super::link::{Event, Link, Over};
use super::modes::OuterModes;
use super::outbox::Outbox;
use super::tty::{self, Output, RawMode};
use super::{Failure, complain, say};
use crate::limits::{
    CLI_GREETING, CLI_LEAVE_TIME_MAX, CLI_LOSS_QUIET, CLI_OUTPUT_BYTES_MAX, CLI_PING_INTERVAL,
    CLI_REPORT_HOLD,
};
use crate::os::signals::{SIGHUP, SIGINT, SIGTERM, SIGWINCH, Signals};
use crate::terminal::screen::Screen;
use crate::terminal::{Act, GridSize};
use crate::wire::terminal_frames::{ServerFrame, parse_server_binary, parse_server_text, ping_json};
use crate::wire::websocket::Message;

/// A cursor that no stream has reached (the largest integer of JSON): the server answers with one reset.
const CURSOR_AHEAD: u64 = (1 << 53) - 1;

/// The terminal to attach to.
pub(super) struct Target {
    pub(super) id: String,
    pub(super) session: String,
    /// The PTY's size as far as it is known.
    pub(super) size: Option<GridSize>,
    /// Made just now, with this terminal's size: there is no history.
    pub(super) is_new: bool,
    /// The program is gone, and nothing of it changes any more.
    pub(super) has_ended: bool,
}

impl Target {
    /// As the server lists it.
    pub(super) fn of(terminal: &Value) -> Target {
        let text = |name: &str| terminal[name].as_str().unwrap_or_default().to_owned();
        let side = |name: &str| terminal[name].as_u64().unwrap_or(0);
        Target {
            id: text("id"),
            session: text("sessionId"),
            size: GridSize::new(side("cols"), side("rows")),
            is_new: false,
            has_ended: terminal["exited"].as_bool().unwrap_or(false),
        }
    }
}

/// Why the attachment is over.
enum End {
    Detached,
    Exited {
        code: Option<i32>,
        signal: Option<i32>,
    },
    Failed(String),
    /// 128+n of the signal that ends us.
    Signalled(u8),
    /// Nobody reads standard output any more.
    Unread,
}

/// What the socket is for.
#[derive(PartialEq)]
enum Stage {
    /// To give the PTY our size, before the screen is shown: a screen laid out for another size would be
    /// garbled here.
    Claiming,
    Showing,
}

/// One attachment, over all its connections.
pub(super) struct Attachment {
    endpoint: Endpoint,
    target: Target,
    read_only: bool,
    keyboard: Keyboard,
    /// The keys that detach, for people; empty when there are none.
    detach: String,
    outbox: Outbox,
    output: Output,
    modes: OuterModes,
    history: Option<HistoryFilter>,
    stage: Stage,
    link: Option<Link>,
    /// The claiming socket: it goes when its successor is heard, so that the size never changes hands between.
    predecessor: Option<Link>,
    attempts: usize,
    backoff: Backoff,
    retry_at: Option<Instant>,
    lost_at: Option<Instant>,
    has_told_loss: bool,
    /// The last byte that was taken. `lastOutputSeq`.
    cursor: u64,
    /// Output up to here is history.
    head: u64,
    raw: Option<RawMode>,
    has_opened: bool,
    has_shown: bool,
    stdin_open: bool,
    /// Standard output is a terminal.
    shows: bool,
    /// Standard input is one.
    types: bool,
    pty_size: Option<GridSize>,
    /// A line of ours covers the last row of the screen.
    smeared: bool,
    /// When to ask for the screen again, to take that line away.
    repaint_at: Option<Instant>,
    /// The next reset only paints the screen: its scrollback is in the user's already.
    repaints: bool,
    release_at: Option<Instant>,
    ping: Option<(u64, Instant)>,
    pinged_at: Option<Instant>,
    srtt: Option<Duration>,
    /// The server's last complaint, told when the screen is the user's again.
    complaint: Option<String>,
    end: Option<End>,
}

/// `wharf attach`.
pub(super) fn attach(options: &ArgMatches) -> Result<u8, Failure> {
    let endpoint = Endpoint::from_options(options)?;
    let name = options.get_one::<String>("target").map_or("", String::as_str);
    let target = Target::of(&endpoint.find(name)?);
    Attachment::new(endpoint, target, options)?.run()
}

impl Attachment {
    pub(super) fn new(
        endpoint: Endpoint,
        target: Target,
        options: &ArgMatches,
    ) -> Result<Attachment, String> {
        if std::env::var("WHARF_TERMINAL").is_ok_and(|id| id == target.id) {
            return Err(format!("this is session {} itself; attach from another terminal", target.session));
        }
        let read_only = options.try_get_one::<bool>("read-only").ok().flatten().copied().unwrap_or(false);
        let detach_keys = options.get_one::<Vec<Key>>("detach-key").cloned().unwrap_or_default();
        let (shows, types) = (tty::shows(), tty::types());
        // A terminal that is laid out for another size is claimed first. A pipe gets the raw stream from its
        // beginning, as far as the server has it.
        let claims = shows && !read_only && !target.is_new && !target.has_ended && target.size != tty::size();
        Ok(Attachment {
            endpoint,
            read_only,
            detach: keys::describe(if types { &detach_keys } else { &[] }),
            keyboard: Keyboard::new(if types { detach_keys } else { Vec::new() }),
            outbox: Outbox::new(hex(&random::<16>()?)),
            output: Output::new(),
            modes: OuterModes::new(),
            history: None,
            stage: if claims { Stage::Claiming } else { Stage::Showing },
            link: None,
            predecessor: None,
            attempts: 0,
            backoff: Backoff::new(),
            retry_at: None,
            lost_at: None,
            has_told_loss: false,
            cursor: if shows && !target.is_new { CURSOR_AHEAD } else { 0 },
            head: 0,
            raw: None,
            has_opened: false,
            has_shown: false,
            stdin_open: true,
            shows,
            types,
            pty_size: None,
            smeared: false,
            repaint_at: None,
            repaints: false,
            release_at: None,
            ping: None,
            pinged_at: None,
            srtt: None,
            complaint: None,
            end: None,
            target,
        })
    }

    /// Stays until the program exits, the user detaches, or there is no way on. Gives the exit code.
    pub(super) fn run(mut self) -> Result<u8, Failure> {
        let failed = |error| format!("cannot catch signals: {error}");
        let mut signals = Signals::install_for(&[SIGTERM, SIGINT, SIGHUP, SIGWINCH]).map_err(failed)?;
        self.connect(Instant::now())?;
        while self.end.is_none() {
            self.turn(&mut signals)?;
        }
        self.leave(&mut signals)
    }

    fn connect(&mut self, now: Instant) -> Result<(), String> {
        let id = encode(&self.target.id);
        let target = format!("/v1/terminals/{id}/socket?protocol=2&lastOutputSeq={}", self.cursor);
        self.attempts += 1;
        self.link = Some(Link::start(&self.endpoint, &target, self.attempts, now)?);
        Ok(())
    }

    fn turn(&mut self, signals: &mut Signals) -> Result<(), String> {
        let reads = self.output.pending_bytes() < CLI_OUTPUT_BYTES_MAX;
        let [_, stdin, output, link] = self.wait(signals, reads)?;
        let now = Instant::now();
        self.take_signals(signals);
        if !stdin.is_empty() {
            self.read_stdin(now);
        }
        self.fire_deadlines(now);
        if let Some(socket) = &mut self.link {
            socket.pump(link, reads, now);
        }
        self.take_events(now)?;
        self.send_outbox()?;
        if self.output.write(!output.is_empty()).is_err() {
            self.end.get_or_insert(End::Unread);
        }
        Ok(())
    }

    fn wait(&self, signals: &Signals, reads: bool) -> Result<[PollFlags; 4], String> {
        let when = |wanted: bool, flags: PollFlags| if wanted { flags } else { PollFlags::empty() };
        let (stdin, link) = (rustix::stdio::stdin(), self.link.as_ref());
        let deadlines =
            [link.map(Link::deadline), self.retry_at, self.release_at, self.word_at(), self.repaint_at];
        tty::wait(
            [
                (signals.as_fd(), PollFlags::IN),
                (stdin, when(self.stdin_open && !self.outbox.is_full(), PollFlags::IN)),
                (self.output.as_fd(), when(self.output.pending_bytes() > 0, PollFlags::OUT)),
                (
                    link.map_or(stdin, Link::as_fd),
                    link.map_or(PollFlags::empty(), |link| link.interest(reads)),
                ),
            ],
            deadlines.into_iter().flatten().min(),
        )
    }

    fn take_signals(&mut self, signals: &mut Signals) {
        let received = signals.drain();
        if received.hangup {
            self.end.get_or_insert(End::Signalled(128 + SIGHUP as u8));
        }
        if received.terminate {
            self.end.get_or_insert(End::Signalled(128 + SIGTERM as u8));
        }
        if received.resize {
            self.tell_size();
        }
    }

    /// The terminal is shown here, on a grid of this size.
    fn tell_size(&mut self) {
        if let (true, false, Some(size)) = (self.shows && self.has_opened, self.read_only, tty::size()) {
            self.outbox.push(Act::Resize(size));
        }
    }

    fn read_stdin(&mut self, now: Instant) {
        let Some(bytes) = tty::read_stdin() else { return };
        if bytes.is_empty() {
            self.stdin_open = false;
            if self.types {
                self.end.get_or_insert(End::Signalled(128 + SIGHUP as u8));
            }
        }
        let typed = if bytes.is_empty() { self.keyboard.release_all() } else { self.keyboard.read(&bytes) };
        self.type_in(typed);
        self.release_at = self.keyboard.waits().then_some(now + CLI_REPORT_HOLD);
    }

    fn type_in(&mut self, typed: Vec<Typed>) {
        for typed in typed {
            match typed {
                Typed::Detach => {
                    self.end.get_or_insert(End::Detached);
                }
                Typed::Bytes { .. } if self.read_only => {}
                Typed::Bytes { bytes, claim } => {
                    let data = String::from_utf8_lossy(&bytes).into_owned();
                    self.outbox.push(Act::Input { data, claim });
                }
            }
        }
    }

    fn fire_deadlines(&mut self, now: Instant) {
        if self.release_at.is_some_and(|at| at <= now) {
            self.release_at = None;
            let typed = self.keyboard.release_all();
            self.type_in(typed);
        }
        if self.word_at().is_some_and(|at| at <= now) {
            self.has_told_loss = true;
            match self.shows {
                true => self.smear("wharf: connection lost, trying again"),
                false => complain("the connection is lost; trying again"),
            }
        }
        let repaints = self.repaint_at.is_some_and(|at| at <= now) && self.link.is_some();
        if repaints {
            self.repaints = true;
            self.cursor = CURSOR_AHEAD;
            self.predecessor = self.link.take();
        }
        if repaints || self.retry_at.is_some_and(|at| at <= now) {
            self.repaint_at = None;
            self.retry_at = None;
            if let Err(error) = self.connect(now) {
                self.lose(error, now);
            }
        }
    }

    /// When a loss is worth a word.
    fn word_at(&self) -> Option<Instant> {
        self.lost_at.filter(|_| !self.has_told_loss).map(|at| at + CLI_LOSS_QUIET)
    }

    /// Writes a line of ours over the last row.
    fn smear(&mut self, text: &str) {
        let row = tty::size().map_or(1, GridSize::rows);
        let how = self.how_to_detach();
        // A sequence that output stands in is given up: the reset that takes this line away repairs it.
        let cancel = if self.modes.inside() { "\x18" } else { "" };
        let line = format!("{cancel}\x1b7\x1b[{row};1H\x1b[0;7m {text}{how} \x1b[m\x1b8");
        self.smeared = true;
        self.show(line.as_bytes());
    }

    fn how_to_detach(&self) -> String {
        if self.detach.is_empty() { String::new() } else { format!("; {} detaches", self.detach) }
    }

    fn wipe(&mut self) {
        let row = tty::size().map_or(1, GridSize::rows);
        self.show(format!("\x1b7\x1b[{row};1H\x1b[0m\x1b[2K\x1b8").as_bytes());
    }

    fn lose(&mut self, reason: String, now: Instant) {
        self.link = None;
        self.predecessor = None;
        if !self.has_opened {
            self.end.get_or_insert(End::Failed(reason));
            return;
        }
        log::debug!("connection lost: {reason}");
        self.repaint_at = None;
        self.lost_at.get_or_insert(now);
        let random = random().map_or(u32::MAX, u32::from_ne_bytes);
        self.retry_at = Some(now + self.backoff.next(random));
    }

    fn take_events(&mut self, now: Instant) -> Result<(), String> {
        while self.end.is_none() {
            // A reset can be large, and what it fills must leave first.
            if self.output.pending_bytes() >= CLI_OUTPUT_BYTES_MAX {
                break;
            }
            let Some(event) = self.link.as_mut().and_then(Link::next) else { break };
            match event {
                Event::Open => self.open(now)?,
                Event::Message(Message::Text(text)) => {
                    if let Some(frame) = parse_server_text(&text) {
                        self.take_frame(frame, now)?;
                    }
                }
                Event::Message(Message::Binary(bytes)) => {
                    if let Some(frame) = parse_server_binary(&bytes) {
                        self.take_frame(frame, now)?;
                    }
                }
                Event::Message(Message::Ping | Message::Pong) => {}
                Event::Over(over) => self.take_over(over, now),
            }
        }
        Ok(())
    }

    fn take_over(&mut self, over: Over, now: Instant) {
        let end = match over {
            Over::Refused { status: 404, .. } => format!("session {} is gone", self.target.session),
            Over::Refused { status: 408 | 425 | 429 | 500.., reason } => return self.lose(reason, now),
            Over::Refused { reason, .. } => reason,
            Over::Closed { code: 1000 | 1008, reason } => {
                format!(
                    "the server ended the attachment: {}",
                    if reason.is_empty() { "no reason" } else { &reason }
                )
            }
            Over::Closed { code, reason } => return self.lose(format!("closed with {code} {reason}"), now),
            Over::Lost(reason) => return self.lose(reason, now),
        };
        self.end.get_or_insert(End::Failed(end));
    }

    fn open(&mut self, now: Instant) -> Result<(), String> {
        self.outbox.reconnected();
        if !self.has_opened {
            self.has_opened = true;
            self.raw = RawMode::enter()?;
            if self.types && (self.target.is_new || !self.shows) {
                say(&format!("[attached to {}{}]\r\n", self.target.session, self.how_to_detach()));
            }
        }
        let is_first = self.lost_at.is_none();
        self.tell_size();
        if is_first && self.types && self.shows && !self.read_only {
            self.outbox.push(Act::Focus);
        }
        self.ping(now)
    }

    fn ping(&mut self, now: Instant) -> Result<(), String> {
        let Some(link) = &mut self.link else { return Ok(()) };
        let t = self.ping.map_or(1, |(t, _)| t + 1);
        self.ping = Some((t, now));
        self.pinged_at = Some(now);
        link.send_text(&ping_json(t, self.srtt))
    }

    fn take_frame(&mut self, frame: ServerFrame, now: Instant) -> Result<(), String> {
        match frame {
            ServerFrame::Ready { head } => {
                self.backoff.reset();
                self.lost_at = None;
                self.has_told_loss = false;
                self.head = head;
                self.history = (self.shows && self.cursor < head).then(HistoryFilter::new);
                if self.smeared && !self.repaints {
                    // What was missed may scroll the line away before the screen is painted again.
                    self.wipe();
                    self.repaint_at = Some(now);
                }
            }
            ServerFrame::Size(size) => self.pty_size = Some(size),
            ServerFrame::Ack(client_seq) => {
                self.predecessor = None;
                self.outbox.acknowledge(client_seq);
                if self.stage == Stage::Claiming && self.outbox.is_empty() {
                    self.stage = Stage::Showing;
                    self.predecessor = self.link.take();
                    self.connect(now)?;
                }
            }
            ServerFrame::Pong { t } => {
                if let Some((_, at)) = self.ping.filter(|(sent, _)| t == *sent) {
                    let sample = now.saturating_duration_since(at);
                    self.srtt = Some(self.srtt.map_or(sample, |srtt| (srtt * 7 + sample) / 8));
                }
            }
            ServerFrame::Error(message) => self.complaint = Some(message),
            ServerFrame::Exit { exit_code, signal, .. } => {
                self.end.get_or_insert(End::Exited { code: exit_code, signal });
            }
            ServerFrame::Output { seq, reset, data } => {
                if self.stage == Stage::Showing {
                    self.take_output(seq, reset, &data, now);
                }
                if self.pinged_at.is_none_or(|at| at + CLI_PING_INTERVAL <= now) {
                    self.ping(now)?;
                }
            }
        }
        Ok(())
    }

    fn take_output(&mut self, seq: u64, reset: bool, data: &[u8], now: Instant) {
        if seq == 0 {
            // No part of the stream: the server cancels what the output stood in before a reset, as we do.
            return;
        }
        let mut shown = Vec::with_capacity(data.len());
        if reset && self.shows {
            self.history = None;
            self.modes.put_restore(&mut shown);
            let rows = tty::size().map_or(1, GridSize::rows);
            put_clean_slate(rows, !self.has_shown, &mut shown);
            let mut filter = HistoryFilter::for_reset();
            match self.pty_size.filter(|_| std::mem::take(&mut self.repaints)) {
                Some(size) => {
                    let (mut screen, mut painted) = (Screen::new(size, 0), Vec::new());
                    screen.feed(data, None);
                    screen.put_vt(0, &mut painted);
                    filter.put(&painted, &mut shown);
                }
                None => filter.put(data, &mut shown),
            }
            filter.finish(&mut shown);
            self.smeared = false;
            self.repaint_at = None;
        } else if let Some(filter) = &mut self.history {
            // `seq` is the number of the last byte; the frame may reach from history into live output.
            let first = seq.saturating_sub(data.len() as u64);
            let old = usize::try_from(self.head.saturating_sub(first)).unwrap_or(usize::MAX).min(data.len());
            filter.put(&data[..old], &mut shown);
            if seq >= self.head {
                filter.finish(&mut shown);
                self.history = None;
            }
            shown.extend_from_slice(&data[old..]);
        } else {
            shown.extend_from_slice(data);
        }
        self.cursor = seq;
        self.show(&shown);
        let is_first = !std::mem::replace(&mut self.has_shown, true);
        if is_first && reset && self.shows && self.types && !self.target.has_ended && !self.modes.inside() {
            let what = if self.read_only { "watching" } else { "attached to" };
            let session: String = self.target.session.chars().filter(|c| !c.is_control()).collect();
            self.smear(&format!("{what} {session}"));
            self.repaint_at = Some(now + CLI_GREETING);
        }
    }

    fn show(&mut self, bytes: &[u8]) {
        if self.shows {
            self.modes.observe(bytes);
        }
        self.output.pending().extend_from_slice(bytes);
    }

    fn send_outbox(&mut self) -> Result<(), String> {
        let Some(link) = self.link.as_mut().filter(|link| link.is_open()) else { return Ok(()) };
        while let Some(text) = self.outbox.next_to_send() {
            link.send_text(text)?;
        }
        link.flush();
        Ok(())
    }

    /// Gives the terminal back, tells what happened, and chooses the exit code.
    fn leave(mut self, signals: &mut Signals) -> Result<u8, Failure> {
        let end = self.end.take().unwrap_or(End::Detached);
        if self.smeared {
            self.wipe();
        }
        if self.shows && self.has_opened {
            self.modes.put_restore(self.output.pending());
            if matches!(end, End::Detached | End::Failed(_)) {
                self.output.pending().extend_from_slice(b"\r\n");
            }
        }
        // All that the program wrote is owed to whoever reads to its end; else a stuck terminal must not hold us.
        let is_owed = matches!(end, End::Exited { .. });
        let until = (!is_owed).then(|| Instant::now() + CLI_LEAVE_TIME_MAX);
        while self.output.pending_bytes() > 0 && until.is_none_or(|until| Instant::now() < until) {
            let fds = [(signals.as_fd(), PollFlags::IN), (self.output.as_fd(), PollFlags::OUT)];
            let [_, output] = tty::wait(fds, until)?;
            let received = signals.drain();
            if self.output.write(!output.is_empty()).is_err() || received.hangup || received.terminate {
                break;
            }
        }
        drop(self.raw.take());
        if let Some(complaint) = self.complaint.take() {
            complain(&format!("the server says: {complaint}"));
        }
        let session = &self.target.session;
        match end {
            End::Detached => {
                say(&format!("[detached; `wharf attach {session}` comes back]\n"));
                Ok(0)
            }
            End::Exited { code, signal } => {
                let code = code.or(signal.map(|signal| 128 + signal));
                if self.types && self.shows {
                    match code {
                        Some(code) => say(&format!("[session {session} exited with {code}]\n")),
                        None => say(&format!("[session {session} ended]\n")),
                    }
                }
                Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
            }
            End::Failed(reason) => Err(reason.into()),
            End::Signalled(code) => Ok(code),
            End::Unread => Err(Failure::Quiet),
        }
    }
}
