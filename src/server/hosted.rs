//! A terminal with its program: a shell on a PTY of ours, or an agent behind a socket.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Instant;

use log::{debug, info, warn};
use mio::unix::SourceFd;
use mio::{Interest, Registry};

use super::mirror_socket::tell;
use super::reader::Owed;
use super::sideband::Channels;
use super::source::{Key, Source};
use super::{Server, unix_ms};
use crate::limits::{DRAIN_GRACE, DRAIN_MAX, HANGUP_GRACE, SCREEN_FOLLOW_AFTER, SCREEN_REST_AFTER};
use crate::mirror::{About, Batch};
use crate::os::pty;
use crate::os::spawn::{self, Reaped, Signal};
use crate::terminal::title::Recorded;
use crate::terminal::{Exit, GridSize, Terminal};
use crate::wire::agent_frames;
use crate::wire::mirror_frames::ToMirror;
use crate::wire::rest::TerminalInfo;
use crate::workspace::metadata::Metadata;
use crate::workspace::panes::Change;

/// A terminal on the loop.
pub(super) struct Hosted {
    pub(super) id: String,
    pub(super) session_id: String,
    pub(super) terminal: Terminal,
    /// Where its output is cut for sessions of the mirror.
    pub(super) batch: Batch,
    pub(super) origin: Origin,
    pub(super) cwd: String,
    /// Descriptors 3, 4 and 5 of a shell.
    pub(super) sideband: Option<Channels>,
    /// What sessions of the mirror were told last of what runs in it.
    pub(super) metadata: Option<Metadata>,
    /// The root of the work tree that it stood in at the last look.
    pub(super) tree_root: Option<PathBuf>,
    /// `activity_ms` at the last look.
    pub(super) looked_at_ms: u64,
    pub(super) created_ms: u64,
    pub(super) activity_ms: u64,
    /// Sockets that follow the stream.
    pub(super) attached: Vec<Key>,
    /// What the mirror knows of whether clients answer its program's queries.
    attended_told: bool,
    /// Sockets that are not read until the input queue has drained.
    pub(super) senders: Vec<Key>,
    /// Readers that left, and what they may still lack.
    pub(super) owed: Owed,
    /// The master may hold bytes that we have not read.
    pub(super) unread: bool,
    /// What was read since its readers were last told, while more came without a pause.
    pub(super) piece_bytes: usize,
    /// The last slave was closed; what was written before may still have to be read.
    pub(super) end_heard: bool,
    pub(super) hung_up: bool,
    /// The PTY refused input: its writable edge comes.
    pub(super) input_blocked: bool,
    pub(super) on_again: bool,
    pub(super) on_grown: bool,
    /// When its screen follows, while it is on the list of those that lag.
    pub(super) follow_at: Option<Instant>,
    pub(super) asked: Option<Instant>,
    /// Somebody closed it: it is forgotten as soon as its readers know the end.
    pub(super) closing: bool,
    /// When SIGKILL follows.
    kill_at: Option<Instant>,
    /// The child is dead since then; its last output may still be on the way.
    reaped: Option<(Exit, Instant)>,
    drain_at: Option<Instant>,
    /// When a screen that nothing has painted on gives its working memory back.
    rest_at: Option<Instant>,
    /// When an exited terminal is forgotten.
    linger_until: Option<Instant>,
}

/// Where a terminal's bytes come from.
pub(super) enum Origin {
    /// A program that this server started.
    Shell {
        pid: i32,
        /// `None` once it has hung up for good.
        master: Option<OwnedFd>,
    },
    /// An agent.
    Agent {
        /// Its socket; `None` once it is gone.
        socket: Option<Key>,
        /// Bare LF becomes CR LF.
        newlines_crlf: bool,
        /// The last byte was CR.
        after_cr: bool,
    },
}

impl Hosted {
    pub(super) fn new(
        id: String,
        session_id: String,
        terminal: Terminal,
        origin: Origin,
        cwd: String,
    ) -> Hosted {
        let now_ms = unix_ms();
        Hosted {
            id,
            session_id,
            terminal,
            batch: Batch::default(),
            origin,
            cwd,
            sideband: None,
            metadata: None,
            tree_root: None,
            looked_at_ms: now_ms,
            created_ms: now_ms,
            activity_ms: now_ms,
            attached: Vec::new(),
            attended_told: false,
            senders: Vec::new(),
            owed: Owed::default(),
            unread: false,
            end_heard: false,
            hung_up: false,
            piece_bytes: 0,
            input_blocked: false,
            on_again: false,
            on_grown: false,
            follow_at: None,
            asked: None,
            closing: false,
            kill_at: None,
            reaped: None,
            drain_at: None,
            rest_at: None,
            linger_until: None,
        }
    }

    pub(super) fn master(&self) -> Option<&OwnedFd> {
        match &self.origin {
            Origin::Shell { master, .. } => master.as_ref(),
            Origin::Agent { .. } => None,
        }
    }

    pub(super) fn pid(&self) -> Option<i32> {
        match self.origin {
            Origin::Shell { pid, .. } => Some(pid),
            Origin::Agent { .. } => None,
        }
    }

    pub(super) fn is_agent_owned(&self) -> bool {
        matches!(self.origin, Origin::Agent { .. })
    }

    /// Whether it still runs, and nobody has closed it.
    pub(super) fn is_live(&self) -> bool {
        self.terminal.exited().is_none() && !self.closing
    }

    /// Whether senders must wait.
    pub(super) fn input_is_full(&self) -> bool {
        self.terminal.input.is_full()
    }

    pub(super) fn watch(&self, key: Key, registry: &Registry) -> std::io::Result<()> {
        let Some(master) = self.master() else { return Ok(()) };
        let token = Source::Terminal(key).pack();
        registry.register(&mut SourceFd(&master.as_raw_fd()), token, Interest::READABLE)?;
        self.sideband.as_ref().map_or(Ok(()), |sideband| sideband.watch(key, registry))
    }

    /// Whether it has to be read to its very end.
    pub(super) fn is_ending(&self) -> bool {
        self.end_heard || self.reaped.is_some()
    }

    /// Hears of room for input only while input is refused: else each read by the program would wake us.
    pub(super) fn set_input_blocked(&mut self, blocked: bool, key: Key, registry: &Registry) {
        let Some(master) = self.master() else { return };
        let interest = if blocked { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        let token = Source::Terminal(key).pack();
        match registry.reregister(&mut SourceFd(&master.as_raw_fd()), token, interest) {
            Ok(()) => self.input_blocked = blocked,
            Err(error) => warn!("{}: cannot wait for room for input: {error}", self.id),
        }
    }

    /// `mirrors`: sockets that show every terminal.
    pub(super) fn info(&self, mirrors: usize) -> TerminalInfo {
        let Recorded { title, .. } = self.terminal.recorded_title();
        let exit = self.terminal.exited();
        TerminalInfo {
            id: self.id.clone(),
            session_id: self.session_id.clone(),
            title: title.clone().unwrap_or_default(),
            cols: self.terminal.size().cols(),
            rows: self.terminal.size().rows(),
            cwd: self.cwd.clone(),
            pid: self.pid(),
            exited: exit.is_some(),
            exit_code: exit.and_then(|exit| exit.code),
            signal: exit.and_then(|exit| exit.signal),
            created_at_ms: self.created_ms,
            attached: self.attached.len() + mirrors,
            attended: self.attended_told,
            agent_owned: self.is_agent_owned(),
            last_activity_ms: self.activity_ms,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let sideband = self.sideband.as_ref().and_then(Channels::deadline);
        let own = [self.terminal.deadline(), self.kill_at, self.drain_at, self.rest_at, self.linger_until];
        own.into_iter().chain([sideband]).flatten().min()
    }
}

impl Server {
    /// Takes a new terminal in: it is what its session stands for from now on.
    pub(super) fn host(&mut self, hosted: Hosted, now: Instant) -> std::io::Result<Key> {
        let registry = self.poll.registry();
        let key = self.terminals.insert_with(|key| {
            hosted.watch(key, registry)?;
            Ok::<_, std::io::Error>(hosted)
        })?;
        let Some(hosted) = self.terminals.get(key) else { return Ok(key) };
        let (id, session_id) = (hosted.id.clone(), hosted.session_id.clone());
        if let Some(pid) = hosted.pid() {
            self.by_pid.insert(pid, key);
        }
        let title = hosted.cwd.rsplit('/').find(|name| !name.is_empty()).unwrap_or("terminal").to_owned();
        self.by_id.insert(id, key);
        if let Some(former) = self.by_session.insert(session_id.clone(), key) {
            self.replace(former, now);
        }
        let change = self.registry.ensure_pane(&session_id, &title);
        self.told(change);
        self.surface_created(key);
        Ok(key)
    }

    /// The session has a new terminal: an exited one is forgotten, a live one hung up.
    fn replace(&mut self, former: Key, now: Instant) {
        let Some(hosted) = self.terminals.get(former) else { return };
        match hosted.terminal.exited() {
            Some(_) => self.work.doomed_terminals.push(former),
            None => self.hang_up(former, now),
        }
    }

    /// New output, or an exit: readers are served this turn, the screen follows when there is time.
    pub(super) fn terminal_grew(&mut self, key: Key, now: Instant) {
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        hosted.rest_at = Some(now + SCREEN_REST_AFTER);
        if !std::mem::replace(&mut hosted.on_grown, true) {
            self.work.grown.push(key);
        }
        if hosted.terminal.screen_lag() > 0 && hosted.follow_at.replace(now + SCREEN_FOLLOW_AFTER).is_none() {
            self.work.lagging.push(key);
        }
        if !hosted.terminal.input.is_empty() && !hosted.input_blocked {
            self.work.inputs.push(key);
        }
        self.ask_terminal(key);
    }

    /// Something of the terminal changed besides its output: its size, its input, what it waits for.
    pub(super) fn terminal_changed(&mut self, key: Key, now: Instant) {
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        let attended = hosted.terminal.is_attended();
        if std::mem::replace(&mut hosted.attended_told, attended) != attended {
            let about = About::Attended { surface: key.number(), position: hosted.terminal.stream().head() };
            let told = ToMirror::SurfaceAttend { surface_id: &hosted.id, attended };
            tell(&mut self.mirror, &mut self.work, about, told);
        }
        if let Some(size) = hosted.terminal.resize_due(now) {
            self.resized(key, size, now);
        }
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        if !hosted.terminal.input.is_empty() && !hosted.input_blocked {
            hosted.activity_ms = unix_ms();
            self.work.inputs.push(key);
        }
        self.ask_terminal(key);
    }

    fn resized(&mut self, key: Key, size: GridSize, now: Instant) {
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        match &hosted.origin {
            Origin::Shell { master: Some(master), .. } => {
                if let Err(error) = pty::set_size(master, size.cols(), size.rows()) {
                    debug!("{}: the PTY refused a size: {error}", hosted.id);
                }
            }
            Origin::Agent { socket: Some(socket), .. } => {
                let socket = *socket;
                if let Some(connection) = self.connections.get_mut(socket) {
                    connection.outbound.put(|out| agent_frames::put_resize(size, out));
                    self.queue_write(socket);
                }
            }
            Origin::Shell { master: None, .. } | Origin::Agent { socket: None, .. } => {}
        }
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        let (surface, position) = (key.number(), hosted.terminal.stream().head());
        let told = ToMirror::SurfaceResize { surface_id: &hosted.id, size };
        tell(&mut self.mirror, &mut self.work, About::Resized { surface, position }, told);
        for reader in hosted.attached.clone() {
            self.size_due(reader);
            self.pump(reader, now);
        }
        self.script_hears_size(key, size);
    }

    /// Asks for the terminal's next deadline.
    pub(super) fn ask_terminal(&mut self, key: Key) {
        if let Some(hosted) = self.terminals.get_mut(key)
            && let Some(when) = hosted.deadline()
        {
            self.deadlines.ask(when, Source::Terminal(key), &mut hosted.asked);
        }
    }

    /// A deadline of the terminal has come: which one, its state says.
    pub(super) fn terminal_due(&mut self, key: Key, now: Instant) {
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        let head = hosted.terminal.stream().head();
        if hosted.terminal.settle(hosted.unread, now) {
            self.record_title(key);
        }
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        if hosted.terminal.stream().head() > head {
            self.terminal_grew(key, now);
        }
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        if hosted.rest_at.take_if(|at| *at <= now).is_some() {
            hosted.terminal.screen(now).rest();
        }
        if hosted.kill_at.take_if(|at| *at <= now).is_some() {
            match &hosted.origin {
                Origin::Shell { pid, .. } => {
                    spawn::kill_session(*pid);
                }
                // It was asked to close and did not.
                Origin::Agent { socket, .. } => {
                    let socket = *socket;
                    if let Some(socket) = socket {
                        self.end_connection(socket, 1008, "close was not answered", now);
                    }
                    self.finish(key, Exit::default(), now);
                }
            }
        }
        self.follow_sideband(key, now);
        self.finish_if_drained(key, now);
        if let Some(hosted) = self.terminals.get_mut(key)
            && hosted.linger_until.take_if(|at| *at <= now).is_some()
        {
            self.work.doomed_terminals.push(key);
        }
        self.terminal_changed(key, now);
    }

    /// Ends the program: SIGHUP now, SIGKILL after [`HANGUP_GRACE`]. Its session is free at once. An exited
    /// terminal is forgotten.
    pub(super) fn hang_up(&mut self, key: Key, now: Instant) {
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        if self.by_session.get(&hosted.session_id) == Some(&key) {
            self.by_session.remove(&hosted.session_id);
        }
        if std::mem::replace(&mut hosted.closing, true) {
            return;
        }
        if hosted.terminal.exited().is_some() {
            self.work.doomed_terminals.push(key);
            return;
        }
        hosted.kill_at = Some(now + HANGUP_GRACE);
        match &hosted.origin {
            Origin::Shell { pid, .. } => spawn::signal_group(*pid, Signal::HUP),
            Origin::Agent { socket: Some(socket), .. } => {
                let socket = *socket;
                if let Some(connection) = self.connections.get_mut(socket) {
                    connection.outbound.put(agent_frames::put_close);
                    self.queue_write(socket);
                }
            }
            Origin::Agent { socket: None, .. } => {}
        }
        self.ask_terminal(key);
    }

    /// A child is dead. What it printed last may still be on its way through the PTY.
    pub(super) fn child_died(&mut self, reaped: Reaped, now: Instant) {
        let Some(key) = self.by_pid.remove(&reaped.pid) else { return };
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        let exit = match reaped.exit {
            spawn::Exit::Code(code) => Exit { code: Some(code), signal: None },
            spawn::Exit::Signal(signal) => Exit { code: Some(128 + signal), signal: Some(signal) },
        };
        hosted.reaped = Some((exit, now));
        hosted.drain_at = Some(now + DRAIN_GRACE);
        hosted.unread = true;
        if !std::mem::replace(&mut hosted.on_again, true) {
            self.work.again.push(Source::Terminal(key));
        }
        self.ask_terminal(key);
    }

    /// The exit is told once the child is dead and its output is at its end: at the hang-up, or, while a
    /// background job holds the terminal open, when nothing more has come for [`DRAIN_GRACE`].
    pub(super) fn finish_if_drained(&mut self, key: Key, now: Instant) {
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        let Some((exit, died_at)) = hosted.reaped else { return };
        let quiet = hosted.drain_at.is_some_and(|at| at <= now);
        if quiet && hosted.unread && now < died_at + DRAIN_MAX {
            hosted.drain_at = Some(now + DRAIN_GRACE);
            self.ask_terminal(key);
        } else if hosted.hung_up || quiet {
            self.finish(key, exit, now);
        }
    }

    /// The terminal has ended: its readers get the rest and the exit.
    pub(super) fn finish(&mut self, key: Key, exit: Exit, now: Instant) {
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        if hosted.terminal.exited().is_some() {
            return;
        }
        info!("{}: ended with {exit:?}", hosted.id);
        hosted.terminal.exit(exit, now);
        hosted.reaped = None;
        hosted.drain_at = None;
        match &mut hosted.origin {
            Origin::Shell { master, .. } => *master = None,
            Origin::Agent { socket, .. } => *socket = None,
        }
        hosted.sideband = None;
        if !hosted.closing {
            hosted.kill_at = None;
            // An agent's terminal stays until its session is closed.
            hosted.linger_until = (!hosted.is_agent_owned()).then(|| now + self.config.linger);
        }
        let (surface, position) = (key.number(), hosted.terminal.stream().head());
        let id = hosted.id.clone();
        let told =
            ToMirror::SurfaceExit { surface_id: &hosted.id, exit_code: exit.code, signal: exit.signal };
        tell(&mut self.mirror, &mut self.work, About::Exited { surface, position }, told);
        self.clear_panels(&id);
        self.record_title(key);
        self.wake_senders(key);
        self.terminal_grew(key, now);
        self.forget_if_unread(key);
    }

    /// A closed terminal is forgotten once nobody reads it.
    pub(super) fn forget_if_unread(&mut self, key: Key) {
        if let Some(hosted) = self.terminals.get(key)
            && hosted.closing
            && hosted.terminal.exited().is_some()
            && hosted.attached.is_empty()
        {
            self.work.doomed_terminals.push(key);
        }
    }

    /// Shows the terminal's title on its panes.
    fn record_title(&mut self, key: Key) {
        let Some(hosted) = self.terminals.get(key) else { return };
        if self.by_session.get(&hosted.session_id).is_some_and(|current| *current != key) {
            return; // its session has another terminal by now
        }
        let Recorded { title, activity } = hosted.terminal.recorded_title();
        let changed = self.registry.set_live(&hosted.session_id, title.as_deref(), *activity);
        if !changed.is_empty() {
            let change = self.registry.change_of(&changed);
            self.tell(change);
        }
    }

    /// Puts a change into the event log.
    pub(super) fn tell(&mut self, change: Change) {
        self.log.push_navigation(change, unix_ms());
        self.work.news = true;
        self.work.workspaces = true;
    }
}
