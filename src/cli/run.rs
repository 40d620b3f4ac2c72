//! `wharf run`: an agent that runs a command on its own PTY and shows it here and on the server.
//!
//! The command belongs to us: it goes on without the server. A screen model follows its output, so that a server
//! that comes back, or a connection that fell behind, gets the screen as it is instead of what it missed.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Instant;

use clap::ArgMatches;
use rustix::event::PollFlags;
use rustix::process::Signal;
use serde_json::json;

use super::backoff::Backoff;
use super::client::{Endpoint, encode, random};
use super::keyboard::{Keyboard, Typed};
use super::link::{Event, Link, Over};
use super::modes::OuterModes;
use super::tty::{self, Output, RawMode};
use super::verbs::{chosen_session, chosen_size};
use super::{Failure, complain};
use crate::limits::{
    CLI_LEAVE_TIME_MAX, CLI_OUTPUT_BYTES_MAX, CLI_REGISTER_TIME_MAX, DRAIN_GRACE, HANGUP_GRACE,
    INPUT_BYTES_MAX, OUTBOUND_BYTES_HIGH, OUTBOUND_BYTES_LOW, OUTPUT_FRAME_BYTES_MAX, READ_BYTES,
    SCROLLBACK_LINES,
};
use crate::os::pty;
use crate::os::signals::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGWINCH, Signals};
use crate::os::spawn::{self, Child, Exit, Program};
use crate::terminal::GridSize;
use crate::terminal::screen::Screen;
use crate::wire::agent_frames::{ToAgent, exit_json, parse_to_agent};
use crate::wire::websocket::Message;

pub(super) fn run(options: &ArgMatches) -> Result<u8, Failure> {
    let endpoint = Endpoint::from_options(options)?;
    let session = chosen_session(options)?;
    let size = chosen_size(options)?;
    let mut command = options.get_many::<String>("command").unwrap_or_default().map(OsString::from);
    let program = Program {
        path: command.next().map(PathBuf::from).unwrap_or_default(),
        arg0: None,
        args: command.collect(),
        env: environment(&session, &endpoint),
        cwd: std::env::current_dir()
            .map_err(|error| format!("cannot tell the working directory: {error}"))?,
    };
    let failed = |error| format!("cannot catch signals: {error}");
    let mut signals = Signals::install_for(&[SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGWINCH]).map_err(failed)?;

    let newlines =
        options.get_one::<String>("newlines").map_or(String::new(), |how| format!("&newlines={how}"));
    let mut mirror = Mirror::new(endpoint, session, newlines, size);
    mirror.register_first()?;
    let child = spawn::spawn(&program, size.cols(), size.rows()).map_err(|error| error.to_string())?;
    let raw = RawMode::enter()?;
    let is_local = raw.is_some();
    let mut run = Run {
        child,
        size,
        mirror,
        output: Output::new(),
        modes: OuterModes::new(),
        shows: tty::shows(),
        stdin_open: true,
        is_local,
        reports: Keyboard::new(Vec::new()),
        input: Vec::new(),
        master_open: true,
        exit: None,
        gone_at: None,
        hung_up_at: None,
    };
    while !run.is_over() {
        run.turn(&mut signals)?;
    }
    let code = run.leave(&mut signals)?;
    drop(raw);
    Ok(code)
}

fn environment(session: &str, endpoint: &Endpoint) -> Vec<(OsString, OsString)> {
    let mut extra: Vec<(OsString, OsString)> =
        vec![("WHARF_SESSION".into(), session.into()), ("HT_SURFACE".into(), session.into())];
    if let Some(path) = endpoint.socket_path() {
        extra.push(("WHARF_SOCKET".into(), path.into()));
    }
    spawn::base_environment(&extra)
}

/// The server's side: registration, and output to it.
struct Mirror {
    endpoint: Endpoint,
    session: String,
    newlines: String,
    size: GridSize,
    screen: Screen,
    /// The screen has seen output, so a new registration begins with it.
    has_output: bool,
    link: Option<Link>,
    /// The server has fallen behind, or has just registered us: it gets the screen once there is room.
    behind: bool,
    registered: bool,
    attempts: usize,
    backoff: Backoff,
    retry_at: Option<Instant>,
    /// The server wants no more of us.
    refused: bool,
}

impl Mirror {
    fn new(endpoint: Endpoint, session: String, newlines: String, size: GridSize) -> Mirror {
        Mirror {
            endpoint,
            session,
            newlines,
            size,
            screen: Screen::new(size, SCROLLBACK_LINES),
            has_output: false,
            link: None,
            behind: false,
            registered: false,
            attempts: 0,
            backoff: Backoff::new(),
            retry_at: None,
            refused: false,
        }
    }

    /// Registers before the command starts. A server that refuses is an error, since then something is wrong with
    /// what was asked; one that is not there is not.
    fn register_first(&mut self) -> Result<(), String> {
        let until = Instant::now() + CLI_REGISTER_TIME_MAX;
        if let Err(error) = self.connect(Instant::now()) {
            complain(&format!("{error}; the command runs, and is shown there once the server is up"));
            self.lose(Instant::now());
        }
        while let Some(link) = &mut self.link {
            let [ready] = tty::wait([(link.as_fd(), link.interest(true))], Some(until))?;
            let now = Instant::now();
            link.pump(ready, true, now);
            while let Some(event) = self.link.as_mut().and_then(Link::next) {
                match event {
                    Event::Over(Over::Refused { reason, .. }) => return Err(reason),
                    event => {
                        self.take(event, now);
                    }
                }
            }
            if self.registered || now >= until {
                break;
            }
        }
        Ok(())
    }

    fn connect(&mut self, now: Instant) -> Result<(), String> {
        let (session, newlines) = (encode(&self.session), &self.newlines);
        let (cols, rows) = (self.size.cols(), self.size.rows());
        let target = format!("/v1/agent/terminals/{session}/socket?cols={cols}&rows={rows}{newlines}");
        self.attempts += 1;
        self.link = Some(Link::start(&self.endpoint, &target, self.attempts, now)?);
        Ok(())
    }

    fn lose(&mut self, now: Instant) {
        self.link = None;
        self.registered = false;
        if !self.refused {
            let random = random().map_or(u32::MAX, u32::from_ne_bytes);
            self.retry_at = Some(now + self.backoff.next(random));
        }
    }

    /// What the server asks of the command.
    fn take(&mut self, event: Event, now: Instant) -> Option<ToAgent> {
        match event {
            Event::Message(Message::Text(text)) => match parse_to_agent(&text)? {
                ToAgent::Registered { .. } => {
                    self.backoff.reset();
                    self.registered = true;
                    self.behind = self.has_output;
                    None
                }
                asked => Some(asked),
            },
            Event::Open | Event::Message(_) => None,
            Event::Over(over) => {
                match over {
                    Over::Refused { status: 408 | 425 | 429 | 500.., .. } | Over::Lost(_) => {}
                    // 1000 and 1008: our terminal was ended or replaced on purpose. Do not fight for it.
                    Over::Closed { code, .. } if !matches!(code, 1000 | 1008) => {}
                    Over::Refused { .. } | Over::Closed { .. } => self.refused = true,
                }
                self.lose(now);
                None
            }
        }
    }

    /// The command wrote this.
    fn output(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.screen.feed(bytes, None);
        self.has_output = true;
        let Some(link) = self.link.as_mut().filter(|_| self.registered && !self.behind) else {
            return Ok(());
        };
        if link.unsent_bytes() >= OUTBOUND_BYTES_HIGH {
            self.behind = true;
            return Ok(());
        }
        link.send_binary(bytes)
    }

    /// Brings a server that fell behind up to date, once it has read what it had.
    fn catch_up(&mut self) -> Result<(), String> {
        let Some(link) = self.link.as_mut().filter(|_| self.registered) else { return Ok(()) };
        if self.behind && link.unsent_bytes() <= OUTBOUND_BYTES_LOW {
            let mut reset = Vec::new();
            self.screen.put_reset(&mut reset);
            for part in reset.chunks(OUTPUT_FRAME_BYTES_MAX) {
                link.send_binary(part)?;
            }
            self.behind = false;
        }
        link.flush();
        Ok(())
    }

    fn resize(&mut self, size: GridSize) {
        self.size = size;
        self.screen.resize(size);
    }
}

struct Run {
    child: Child,
    size: GridSize,
    mirror: Mirror,
    output: Output,
    modes: OuterModes,
    shows: bool,
    stdin_open: bool,
    /// A person sits at this terminal, and it answers the program's queries.
    is_local: bool,
    /// Tells the reports in the server's input.
    reports: Keyboard,
    /// What the command has not read yet.
    input: Vec<u8>,
    master_open: bool,
    exit: Option<Exit>,
    gone_at: Option<Instant>,
    hung_up_at: Option<Instant>,
}

impl Run {
    fn is_over(&self) -> bool {
        self.exit.is_some() && !self.master_open
    }

    fn turn(&mut self, signals: &mut Signals) -> Result<(), String> {
        let when = |wanted: bool, flags: PollFlags| if wanted { flags } else { PollFlags::empty() };
        let stdin = rustix::stdio::stdin();
        let (has_room, takes) =
            (self.output.pending_bytes() < CLI_OUTPUT_BYTES_MAX, self.input.len() < INPUT_BYTES_MAX);
        let master = when(self.master_open && has_room, PollFlags::IN)
            | when(self.master_open && !self.input.is_empty(), PollFlags::OUT);
        let link = self.mirror.link.as_ref();
        let deadlines = [
            link.map(Link::deadline),
            self.mirror.retry_at,
            self.gone_at.map(|at| at + DRAIN_GRACE),
            self.hung_up_at.map(|at| at + HANGUP_GRACE),
        ];
        let [_, stdin, output, socket, master] = tty::wait(
            [
                (signals.as_fd(), PollFlags::IN),
                (stdin, when(self.stdin_open && takes, PollFlags::IN)),
                (self.output.as_fd(), when(self.output.pending_bytes() > 0, PollFlags::OUT)),
                (
                    link.map_or(stdin, Link::as_fd),
                    link.map_or(PollFlags::empty(), |link| link.interest(takes)),
                ),
                (self.child.master.as_fd(), master),
            ],
            deadlines.into_iter().flatten().min(),
        )?;
        let now = Instant::now();
        self.take_signals(signals, now);
        if !stdin.is_empty() {
            self.read_stdin();
        }
        if master.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            self.read_master()?;
        }
        self.serve_mirror(socket, takes, now)?;
        self.write_master();
        if self.output.write(!output.is_empty()).is_err() {
            // Nobody reads here any more: the terminal is gone, as if it had hung up.
            self.hang_up(now);
        }
        self.fire_deadlines(now);
        Ok(())
    }

    fn take_signals(&mut self, signals: &mut Signals, now: Instant) {
        let received = signals.drain();
        if received.child {
            while let Some(reaped) = spawn::reap() {
                if reaped.pid == self.child.pid {
                    self.exit = Some(reaped.exit);
                    self.gone_at = Some(now);
                }
            }
        }
        if received.terminate || received.hangup {
            self.hang_up(now);
        }
        if let (true, true, Some(size)) = (received.resize, self.shows, tty::size()) {
            self.resize(size);
            if let Some(link) = self.mirror.link.as_mut().filter(|link| link.is_open()) {
                let frame = json!({ "type": "resize", "cols": size.cols(), "rows": size.rows() });
                let _ = link.send_text(&frame.to_string());
            }
        }
    }

    fn resize(&mut self, size: GridSize) {
        if size != self.size {
            self.size = size;
            self.mirror.resize(size);
            let _ = pty::set_size(&self.child.master, size.cols(), size.rows());
        }
    }

    fn hang_up(&mut self, now: Instant) {
        if self.exit.is_none() && self.hung_up_at.is_none() {
            self.hung_up_at = Some(now);
            spawn::signal_group(self.child.pid, Signal::HUP);
        }
    }

    fn fire_deadlines(&mut self, now: Instant) {
        if self.hung_up_at.is_some_and(|at| at + HANGUP_GRACE <= now) && self.exit.is_none() {
            self.hung_up_at = None;
            spawn::kill_session(self.child.pid);
        }
        if self.gone_at.is_some_and(|at| at + DRAIN_GRACE <= now) {
            self.master_open = false;
        }
    }

    fn read_stdin(&mut self) {
        match tty::read_stdin() {
            Some(bytes) if bytes.is_empty() => {
                self.stdin_open = false;
                if tty::stdin_holds_data() {
                    // The end of a pipe or file is the end of the command's input (VEOF). `/dev/null` only says
                    // that nobody types here.
                    self.input.push(0x04);
                }
            }
            Some(mut bytes) => self.input.append(&mut bytes),
            None => {}
        }
    }

    fn read_master(&mut self) -> Result<(), String> {
        let mut bytes = vec![0; READ_BYTES];
        match pty::read(&self.child.master, &mut bytes) {
            Ok(0) => self.master_open = false,
            Ok(n) => {
                let bytes = &bytes[..n];
                if self.shows {
                    self.modes.observe(bytes);
                }
                self.output.pending().extend_from_slice(bytes);
                self.mirror.output(bytes)?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(format!("cannot read the command's terminal: {error}")),
        }
        Ok(())
    }

    fn write_master(&mut self) {
        while !self.input.is_empty() {
            match pty::write(&self.child.master, &self.input) {
                Ok(n) => {
                    self.input.drain(..n);
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(_) => self.input.clear(),
            }
        }
    }

    fn serve_mirror(&mut self, ready: PollFlags, reads: bool, now: Instant) -> Result<(), String> {
        if let Some(link) = &mut self.mirror.link {
            link.pump(ready, reads, now);
        }
        while let Some(event) = self.mirror.link.as_mut().and_then(Link::next) {
            match self.mirror.take(event, now) {
                Some(ToAgent::Input(data)) => self.take_input(&data),
                Some(ToAgent::Resize(size)) => self.resize(size),
                Some(ToAgent::Close) => self.hang_up(now),
                Some(ToAgent::Registered { .. }) | None => {}
            }
        }
        if self.mirror.retry_at.is_some_and(|at| at <= now) {
            self.mirror.retry_at = None;
            if self.mirror.connect(now).is_err() {
                self.mirror.lose(now);
            }
        }
        self.mirror.catch_up()
    }

    /// Typed on the server. While this terminal answers the program's queries, other answers are dropped.
    fn take_input(&mut self, data: &str) {
        if !self.is_local {
            return self.input.extend_from_slice(data.as_bytes());
        }
        let mut typed = self.reports.read(data.as_bytes());
        typed.append(&mut self.reports.release_all());
        for typed in typed {
            match typed {
                Typed::Bytes { bytes, claim: true } => self.input.extend_from_slice(&bytes),
                Typed::Bytes { claim: false, .. } | Typed::Detach => {}
            }
        }
    }

    /// Tells the server the exit, gives this terminal back, and chooses the exit code.
    fn leave(mut self, signals: &mut Signals) -> Result<u8, Failure> {
        let code = match self.exit {
            Some(Exit::Code(code)) => code,
            Some(Exit::Signal(signal)) => 128 + signal,
            None => 1,
        };
        if self.shows {
            self.modes.put_restore(self.output.pending());
        }
        let until = Instant::now() + CLI_LEAVE_TIME_MAX;
        let mut told = false;
        loop {
            let now = Instant::now();
            let link = self.mirror.link.as_ref();
            let owes_server = link.is_some() && self.mirror.registered;
            if now >= until || !(owes_server || self.output.pending_bytes() > 0) {
                break;
            }
            if owes_server && !self.mirror.behind && !told {
                told = true;
                if let Some(link) = &mut self.mirror.link {
                    link.send_text(&exit_json(Some(code)))?;
                }
            }
            self.mirror.catch_up()?;
            let (link, output) = (self.mirror.link.as_ref(), self.output.as_fd());
            let wanted = if self.output.pending_bytes() > 0 { PollFlags::OUT } else { PollFlags::empty() };
            let fds = [
                (signals.as_fd(), PollFlags::IN),
                (output, wanted),
                (
                    link.map_or(output, Link::as_fd),
                    link.map_or(PollFlags::empty(), |link| link.interest(true)),
                ),
            ];
            let [_, output, socket] = tty::wait(fds, Some(until))?;
            let received = signals.drain();
            if received.terminate || received.hangup || self.output.write(!output.is_empty()).is_err() {
                break;
            }
            if let Some(link) = &mut self.mirror.link {
                link.pump(socket, true, Instant::now());
            }
            while let Some(event) = self.mirror.link.as_mut().and_then(Link::next) {
                self.mirror.take(event, Instant::now());
            }
        }
        Ok(u8::try_from(code).unwrap_or(1))
    }
}
