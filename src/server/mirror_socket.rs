//! Sockets of the web mirror: each has a session, which shows every terminal and what surrounds them.

use std::time::Instant;

use log::debug;

use super::connection::{Connection, HeldInput, MirrorSocket, Phase};
use super::hosted::Hosted;
use super::slots::Slots;
use super::source::{Key, Source};
use super::{Server, Work, unix_ms};
use crate::flow::TokenBucket;
use crate::limits::{MIRROR_FRAMES_PER_SECOND, MIRROR_MESSAGE_BYTES_MAX};
use crate::mirror::{About, Mirror, Pumped, Surface, Surfaces};
use crate::terminal::{Act, After};
use crate::wire::control::parse_panel_event;
use crate::wire::http::Reject;
use crate::wire::mirror_frames::{
    FrameNumber, FromMirror, MirrorError, Queued, ToMirror, Writer, parse_mirror,
};
use crate::wire::rest::surface_json;
use crate::wire::sideband::put_event;
use crate::wire::websocket::Codec;
use crate::workspace::panels::{PanelError, PanelEvent};
use crate::workspace::panes::WorkspacePatch;

impl Surfaces for Slots<Hosted> {
    fn surface(&mut self, number: usize) -> Option<Surface<'_>> {
        let Hosted { id, terminal, batch, .. } = self.get_mut(Key::of_number(number))?;
        Some(Surface { id, terminal, batch })
    }
}

/// Tells every session of the mirror; they are pumped in this turn or in the next.
pub(super) fn tell(mirror: &mut Mirror, work: &mut Work, about: About, frame: ToMirror<'_>) {
    if mirror.is_heard() {
        mirror.tell(about, frame.body());
        work.mirrors = true;
    }
}

impl Server {
    /// The connection gets the session that it resumes, or a new one, which is greeted in this turn.
    pub(super) fn open_mirror(&mut self, key: Key, resume: Option<(String, u64)>, now: Instant) {
        let resume = resume.as_ref().map(|(id, seq)| (id.as_str(), *seq));
        let opened = self.mirror.open(resume, key.number(), &mut self.terminals, now);
        if let Some(Connection { phase, .. }) = self.connections.get_mut(key) {
            *phase = Phase::Mirror(MirrorSocket {
                ticket: opened.ticket,
                codec: Codec::server(MIRROR_MESSAGE_BYTES_MAX),
                queued: Queued::default(),
                frames: TokenBucket::new(MIRROR_FRAMES_PER_SECOND),
                may_hear: false,
                resting_until: None,
                held: None,
                due: false,
            });
        }
        self.mirror_sockets.push(key);
        if let Some(former) = opened.superseded {
            self.end_connection(Key::of_number(former), 1008, "another socket resumed its session", now);
        }
        self.ask_connection(key);
        self.mirror_due(key);
        self.watch(now);
    }

    /// The socket has left: its session stays for a while, its claims on sizes leave.
    pub(super) fn leave_mirror(&mut self, key: Key, socket: &MirrorSocket, now: Instant) {
        self.mirror_sockets.retain(|other| *other != key);
        self.mirror.detach(socket.ticket, now);
        if self.mirror_sockets.is_empty() {
            self.mirror_encoded.clear();
        }
        for terminal in self.terminals.keys() {
            let Some(hosted) = self.terminals.get_mut(terminal) else { continue };
            hosted.senders.retain(|sender| *sender != key);
            hosted.terminal.detach(key.number(), hosted.attached.is_empty(), now);
            self.terminal_changed(terminal, now);
        }
        self.ask_chores();
    }

    /// There is a new terminal.
    pub(super) fn surface_created(&mut self, key: Key) {
        if self.mirror.is_heard()
            && let Some(hosted) = self.terminals.get(key)
        {
            let json = surface_json(&hosted.info(0)).to_string();
            let about = About::Created { surface: key.number() };
            tell(&mut self.mirror, &mut self.work, about, ToMirror::SurfaceCreate { surface_json: &json });
        }
    }

    /// The terminal has left, and with it what belonged to it.
    pub(super) fn surface_gone(&mut self, key: Key, hosted: &Hosted) {
        self.clear_panels(&hosted.id);
        self.around.auto_continue.forget(&hosted.id);
        let about = About::Closed { surface: key.number(), position: hosted.terminal.stream().head() };
        tell(&mut self.mirror, &mut self.work, about, ToMirror::SurfaceClose { surface_id: &hosted.id });
        for sender in &hosted.senders {
            self.queue_again(*sender);
        }
    }

    /// Puts a mirror socket on the list of those to be pumped.
    pub(super) fn mirror_due(&mut self, key: Key) {
        if let Some(Connection { phase: Phase::Mirror(socket), .. }) = self.connections.get_mut(key)
            && !std::mem::replace(&mut socket.due, true)
        {
            self.work.thirsty.push(key);
        }
    }

    pub(super) fn pump_mirrors(&mut self, now: Instant) {
        let mut readers = std::mem::take(&mut self.readers);
        readers.extend_from_slice(&self.mirror_sockets);
        for key in readers.drain(..) {
            self.pump_mirror(key, now);
        }
        self.readers = readers;
    }

    /// Moves a session's cursors forward while its socket's queue has room; greets it when it must be.
    pub(super) fn pump_mirror(&mut self, key: Key, now: Instant) {
        let was_full = self.connections.get(key).is_some_and(|connection| connection.outbound.is_full());
        loop {
            let Some(connection) = self.connections.get_mut(key) else { return };
            let Connection { phase: Phase::Mirror(socket), outbound, asked, doomed: false, .. } = connection
            else {
                return;
            };
            socket.due = false;
            let ticket = socket.ticket;
            outbound.adopt(&mut self.spare);
            let encoded = &mut self.mirror_encoded;
            let mut out = Writer { queue: outbound, queued: &mut socket.queued, encoded };
            match self.mirror.pump(ticket, &mut self.terminals, &mut out, now) {
                Pumped::Waits => break,
                Pumped::Until(at) => {
                    self.deadlines.ask(at, Source::Connection(key), asked);
                    break;
                }
                Pumped::NeedsHello => {}
            }
            let id = match self.new_id() {
                Ok(id) => id,
                Err(error) => {
                    debug!("a session of the mirror has no id: {error}");
                    return self.end_connection(key, 1011, "no random bytes", now);
                }
            };
            // What it claimed under a former id leaves with that.
            for terminal in self.terminals.keys() {
                if let Some(hosted) = self.terminals.get_mut(terminal) {
                    hosted.terminal.detach(key.number(), hosted.attached.is_empty(), now);
                    self.terminal_changed(terminal, now);
                }
            }
            let (settings, snapshot) = self.hello_json();
            let surfaces: Vec<usize> = self.terminals.iter().map(|(key, _)| key.number()).collect();
            let Some(Connection { phase: Phase::Mirror(socket), outbound, .. }) =
                self.connections.get_mut(key)
            else {
                return;
            };
            let encoded = &mut self.mirror_encoded;
            let mut out = Writer { queue: outbound, queued: &mut socket.queued, encoded };
            self.mirror.greet(ticket, id, &surfaces, (&settings, &snapshot), &mut out);
        }
        if self.connections.get(key).is_some_and(|connection| !connection.outbound.is_empty()) {
            self.queue_write(key);
        }
        self.drained(key, was_full);
    }

    /// Whether the next frame of this socket may be taken: not while input waits for a full program, while
    /// answers wait for the socket, or above the frames a second that it has. Who is not heard is stalled,
    /// and woken by what it waits for.
    pub(super) fn mirror_is_heard(&mut self, key: Key, now: Instant) -> bool {
        let Some(Connection { phase: Phase::Mirror(socket), .. }) = self.connections.get_mut(key) else {
            return true;
        };
        let ticket = socket.ticket;
        if let Some(held) = socket.held.take()
            && !self.mirror_input(key, held, now)
        {
            return false;
        }
        // Its first frames may come before it was greeted.
        if self.mirror.session(ticket).is_some_and(|session| session.is_behind() || session.id().is_empty()) {
            self.pump_mirror(key, now);
        }
        let behind = self.mirror.session(ticket).is_some_and(|session| session.is_behind());
        let Some(connection) = self.connections.get_mut(key) else { return true };
        let Phase::Mirror(socket) = &mut connection.phase else { return true };
        if !behind && !socket.may_hear {
            match socket.frames.take(now) {
                Ok(()) => socket.may_hear = true,
                Err(at) => socket.resting_until = Some(at),
            }
        }
        if !behind && socket.may_hear {
            return true;
        }
        connection.stalled = true;
        self.ask_connection(key);
        false
    }

    pub(super) fn mirror_text(&mut self, key: Key, text: &str, now: Instant) {
        if let Err(error) = parse_mirror(text).and_then(|frame| self.mirror_frame(key, frame, now)) {
            self.mirror_error(key, &error);
        }
    }

    pub(super) fn mirror_binary(&mut self, key: Key) {
        self.mirror_error(key, &MirrorError::new("malformed", "frames are JSON in text messages"));
    }

    fn mirror_error(&mut self, key: Key, error: &MirrorError) {
        self.mirror_answer(key, ToMirror::Error { code: error.code, message: &error.message });
    }

    /// An answer to this session alone.
    fn mirror_answer(&mut self, key: Key, frame: ToMirror<'_>) {
        if let Some(Connection { phase: Phase::Mirror(socket), .. }) = self.connections.get_mut(key)
            && let Some(session) = self.mirror.session(socket.ticket)
        {
            session.answer(frame.body());
            self.mirror_due(key);
        }
    }

    fn surface_key(&self, surface_id: &str) -> Result<Key, MirrorError> {
        let key = self.by_id.get(surface_id).copied();
        key.ok_or_else(|| MirrorError::new("unknown-surface", "there is no such surface"))
    }

    fn mirror_frame(&mut self, key: Key, frame: FromMirror, now: Instant) -> Result<(), MirrorError> {
        match frame {
            FromMirror::Stdin { surface_id, bytes, claim, number } => {
                let terminal = self.surface_key(&surface_id)?;
                self.mirror_input(key, HeldInput { terminal, bytes, claim, number }, now);
            }
            FromMirror::Resize { surface_id, size } => {
                self.mirror_act(key, &surface_id, &Act::Resize(size), now)?;
            }
            FromMirror::Focus { surface_id } => self.mirror_act(key, &surface_id, &Act::Focus, now)?,
            FromMirror::Hide { surface_id } => self.mirror_act(key, &surface_id, &Act::Hide, now)?,
            FromMirror::PanelInteract { surface_id, id, event } => {
                let terminal = self.surface_key(&surface_id)?;
                let event =
                    parse_panel_event(&event).map_err(|message| MirrorError::new("bad-field", message))?;
                self.interact(&surface_id, &id, &event)?;
                self.script_hears(terminal, |out| put_event(&id, &event, out));
            }
            FromMirror::SelectCwd { workspace_id, cwd } => {
                let patch = WorkspacePatch { cwd: Some(cwd), ..WorkspacePatch::default() };
                let change = self
                    .registry
                    .patch_workspace(&workspace_id, patch)
                    .map_err(|_| MirrorError::new("unknown-workspace", "there is no such workspace"))?;
                self.told(change);
            }
            FromMirror::Ping { nonce } => {
                self.mirror_answer(key, ToMirror::Pong { nonce: &nonce, server_time_ms: unix_ms() });
            }
            FromMirror::Metadata { surface_id, follow } => {
                let terminal = self.surface_key(&surface_id)?;
                if let Some(Connection { phase: Phase::Mirror(socket), .. }) = self.connections.get_mut(key)
                    && let Some(session) = self.mirror.session(socket.ticket)
                {
                    session.follow(terminal.number(), follow);
                }
                if follow && let Some(hosted) = self.terminals.get_mut(terminal) {
                    hosted.metadata = None; // told anew, since it missed some
                }
            }
        }
        Ok(())
    }

    /// What the session of this socket is called among the clients that set the size.
    fn mirror_client(&mut self, key: Key) -> Option<String> {
        let Phase::Mirror(socket) = &self.connections.get(key)?.phase else { return None };
        let ticket = socket.ticket;
        Some(format!("mirror:{}", self.mirror.session(ticket)?.id()))
    }

    fn mirror_act(&mut self, key: Key, surface_id: &str, act: &Act, now: Instant) -> Result<(), MirrorError> {
        let terminal = self.surface_key(surface_id)?;
        if let Some(client) = self.mirror_client(key)
            && let Some(hosted) = self.terminals.get_mut(terminal)
        {
            // A session has all surfaces, but it is there to answer only while it shows one.
            if matches!(act, Act::Resize(_)) {
                hosted.terminal.attend(now);
            }
            hosted.terminal.act(&client, key.number(), act);
            hosted.terminal.leave(hosted.attached.is_empty(), now);
            self.terminal_changed(terminal, now);
        }
        Ok(())
    }

    /// Takes input; false when it must wait for the program to read, and with it all that this socket sends
    /// later.
    fn mirror_input(&mut self, key: Key, input: HeldInput, now: Instant) -> bool {
        let Some(client) = self.mirror_client(key) else { return true };
        let Some(hosted) = self.terminals.get_mut(input.terminal) else {
            self.mirror_error(key, &MirrorError::new("unknown-surface", "the surface is gone"));
            return true;
        };
        if hosted.input_is_full() {
            hosted.senders.push(key);
            if let Some(connection) = self.connections.get_mut(key)
                && let Phase::Mirror(socket) = &mut connection.phase
            {
                socket.held = Some(input);
                connection.stalled = true;
            }
            return false;
        }
        let id = hosted.id.clone();
        let number = input.number;
        let is_new =
            number.as_ref().is_none_or(|n| hosted.terminal.is_first_sight(&n.client_id, n.client_seq));
        // While nobody shows the surface, the server has answered already.
        let is_taken = is_new && (input.claim || hosted.terminal.is_sized_by(&client));
        let after = match is_taken {
            true => hosted.terminal.type_as(&client, key.number(), &input.bytes, input.claim),
            false => After::Nothing,
        };
        let head = hosted.terminal.stream().head();
        if is_new && input.claim {
            self.around.auto_continue.human_typed(&id);
            self.mirror_typed(key, input.terminal, head, now);
        }
        if let Some(FrameNumber { client_seq, .. }) = number {
            self.mirror_answer(key, ToMirror::Ack { surface_id: &id, client_seq });
        }
        match after {
            After::Refused(why) => self.mirror_error(key, &MirrorError::new("exited", why)),
            After::Nothing | After::HangUp | After::Clear => self.terminal_changed(input.terminal, now),
        }
        true
    }

    /// A person typed: what waits in front of the answer over a slow link may be skipped.
    fn mirror_typed(&mut self, key: Key, terminal: Key, head: u64, now: Instant) {
        if let Some(Connection { phase: Phase::Mirror(socket), outbound, .. }) = self.connections.get_mut(key)
            && let Some(session) = self.mirror.session(socket.ticket)
            && session.typed(terminal.number(), head, outbound.waiting().len(), now)
        {
            self.mirror_due(key);
        }
    }

    /// A person did this to a panel: it changes for everyone.
    fn interact(&mut self, surface_id: &str, id: &str, event: &PanelEvent) -> Result<(), MirrorError> {
        let change = self.around.panels.interact(surface_id, id, event).map_err(|error| {
            let code = match error {
                PanelError::UnknownPanel => "unknown-panel",
                PanelError::Not(_) => "not-allowed",
                PanelError::TooManyPanels | PanelError::TooLarge | PanelError::NoRoom => "too-large",
            };
            MirrorError::new(code, Reject::from(error).message)
        })?;
        if let Some(change) = change {
            self.tell_panel(&change);
        }
        Ok(())
    }
}
