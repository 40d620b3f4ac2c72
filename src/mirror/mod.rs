//! The mirror: sessions that show every terminal and everything around it, each over one socket.
//!
//! It knows no JSON: what goes to a session's socket goes through [`Frames`], and what happens around the
//! terminals comes as bodies that are rendered already.

mod control;
mod log;
mod session;
mod surfaces;

use std::collections::BTreeMap;
use std::time::Instant;

pub use control::About;
use control::ControlStream;
pub use session::{Pumped, Session};
pub use surfaces::{Batch, Surface, Surfaces};

use crate::limits::{MIRROR_DETACHED_MAX, MIRROR_SESSIONS_MAX};

/// Where a session's frames go: one socket's queue.
pub trait Frames {
    /// Whether nothing more should be put.
    fn is_full(&self) -> bool;
    /// Counts as full until little waits.
    fn wait_for_low(&mut self);
    /// Bytes that wait in it.
    fn waiting(&self) -> usize;
    /// Whether so many are more than whoever types should have in front of the answer. False while nobody
    /// knows how fast the socket is.
    fn is_long(&self, bytes: u64) -> bool;
    /// Whether the socket is too slow for the scrollback to come with every snapshot.
    fn is_slow(&self) -> bool;
    /// How much output the next frame may carry.
    fn frame_bytes_max(&self) -> usize;
    /// Takes back all frames after frame `seq` of which nothing has left, and says which was the first.
    fn take_back(&mut self, seq: u64) -> Option<u64>;
    /// The first frame of a session; its seq is 0. `settings` and `snapshot` are JSON.
    fn hello(&mut self, session_id: &str, settings: &str, snapshot: &str);
    /// A frame whose body is rendered, but for its seq.
    fn text(&mut self, seq: u64, body: &[u8]);
    /// Output of a surface after byte `from` of its stream.
    fn output(&mut self, seq: u64, number: usize, surface_id: &str, from: u64, parts: [&[u8]; 2]);
    /// What makes a fresh emulator equal to the surface's screen, with at most `lines` of its scrollback.
    /// `shown`: the client's emulator has shown something of it, perhaps half a sequence. Returns the bytes
    /// before they were encoded.
    fn snapshot(
        &mut self,
        seq: u64,
        number: usize,
        surface: &mut Surface<'_>,
        lines: usize,
        shown: bool,
        now: Instant,
    ) -> usize;
}

/// A socket's hold on its session, until another socket resumes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    session: u64,
    generation: u64,
}

/// What a socket got when it asked for a session.
#[derive(Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its hold on the session.
    pub ticket: Ticket,
    /// The socket that had the session until now: it is told nothing more, and should be closed.
    pub superseded: Option<usize>,
}

/// All sessions, and the control frames that they share.
#[derive(Default)]
pub struct Mirror {
    control: ControlStream,
    sessions: BTreeMap<u64, Session>,
    /// Counts attachments: no two tickets are alike.
    generation: u64,
}

impl Mirror {
    /// A session for a new socket: the one with the id and seq in `resume`, when that is known and its log
    /// still reaches there; else a new one, which [`Mirror::pump`] says to greet. `socket` is any number that
    /// stands for the socket.
    pub fn open(
        &mut self,
        resume: Option<(&str, u64)>,
        socket: usize,
        surfaces: &mut impl Surfaces,
        now: Instant,
    ) -> Opened {
        self.expire(now);
        self.generation += 1;
        let generation = self.generation;
        if let Some((id, seq)) = resume.filter(|(id, _)| !id.is_empty())
            && let Some((&key, session)) = self.sessions.iter_mut().find(|(_, session)| session.id() == id)
            && session.resume(seq, surfaces)
        {
            session.generation = generation;
            let attached = session.detached_at.take().is_none();
            let former = std::mem::replace(&mut session.socket, socket);
            let superseded = attached.then_some(former);
            return Opened { ticket: Ticket { session: key, generation }, superseded };
        }
        if self.sessions.len() >= MIRROR_SESSIONS_MAX {
            let detached =
                self.sessions.iter().filter_map(|(key, session)| Some((session.detached_at?, *key)));
            if let Some((_, oldest)) = detached.min() {
                self.sessions.remove(&oldest);
            }
        }
        self.sessions.insert(generation, Session::new(generation, socket));
        Opened { ticket: Ticket { session: generation, generation }, superseded: None }
    }

    /// The socket of this ticket is gone. The session stays for [`MIRROR_DETACHED_MAX`], unless another
    /// socket has it already; one that was never greeted is known to nobody and leaves.
    pub fn detach(&mut self, ticket: Ticket, now: Instant) {
        let Some(session) = self.session(ticket) else { return };
        if session.id().is_empty() {
            self.sessions.remove(&ticket.session);
        } else {
            session.detach(now);
        }
        self.forget_if_alone();
    }

    /// The session of a ticket; `None` when another socket has resumed it.
    pub fn session(&mut self, ticket: Ticket) -> Option<&mut Session> {
        self.sessions
            .get_mut(&ticket.session)
            .filter(|session| session.generation == ticket.generation && session.detached_at.is_none())
    }

    /// All sessions, with and without a socket.
    pub fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.sessions.values()
    }

    /// Whether there is any session: without one, nothing needs to be told.
    pub fn is_heard(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// Whether a session with a socket wants a surface's metadata.
    pub fn is_followed(&self, surface: usize) -> bool {
        self.sessions().any(|session| session.detached_at.is_none() && session.follows(surface))
    }

    /// Something happened: every session is told, in this order among all news. The state that a hello shows
    /// must have changed already.
    pub fn tell(&mut self, about: About, body: Box<[u8]>) {
        if !self.sessions.is_empty() {
            self.control.append(about, body);
        }
    }

    /// Greets a session: `id` is fresh, 128 random bits in hex; `settings` and `snapshot` are the JSON of
    /// everything that was told until now, `surfaces` the terminals in it. Pump afterwards.
    pub fn greet(
        &mut self,
        ticket: Ticket,
        id: String,
        surfaces: &[usize],
        (settings, snapshot): (&str, &str),
        out: &mut impl Frames,
    ) {
        let control = self.control.head();
        let Some(session) = self.session(ticket) else { return };
        out.hello(&id, settings, snapshot);
        session.greet(id, control, surfaces);
    }

    /// Moves a session's cursors forward while its queue has room: replay, answers, news, snapshots, output.
    /// Call it when its socket has room, when a surface printed, and after [`Mirror::tell`].
    pub fn pump(
        &mut self,
        ticket: Ticket,
        surfaces: &mut impl Surfaces,
        out: &mut impl Frames,
        now: Instant,
    ) -> Pumped {
        let Mirror { control, sessions, .. } = self;
        let session = sessions.get_mut(&ticket.session);
        match session.filter(|session| session.generation == ticket.generation) {
            Some(session) if session.detached_at.is_none() => session.pump(control, surfaces, out, now),
            Some(_) | None => Pumped::Waits,
        }
    }

    /// When a session without a socket expires next.
    pub fn deadline(&self) -> Option<Instant> {
        self.sessions().filter_map(|session| session.detached_at).min().map(|at| at + MIRROR_DETACHED_MAX)
    }

    /// Lets sessions go that have been without a socket for too long.
    pub fn expire(&mut self, now: Instant) {
        self.sessions
            .retain(|_, session| session.detached_at.is_none_or(|at| at + MIRROR_DETACHED_MAX > now));
        self.forget_if_alone();
    }

    fn forget_if_alone(&mut self) {
        if self.sessions.is_empty() {
            self.control.forget();
        }
    }
}
