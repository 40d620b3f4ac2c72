//! One session: what a client has been sent, and what it is sent next. It outlives its socket.

use std::collections::VecDeque;
use std::time::Instant;

use super::Frames;
use super::control::{About, Control, ControlStream};
use super::log::{CLEARED, Change, Entry, Log, NEVER_SHOWN, Place};
use super::surfaces::{Surface, Surfaces};
use crate::flow::cut;
use crate::limits::{MIRROR_ANSWERS_BYTES_MAX, PRESENT_BYTES, PRESENT_REST, SCROLLBACK_REST};

/// How far a session got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pumped {
    /// It has everything, or its queue is full: output, news or room brings it back.
    Waits,
    /// There is more, held back until then.
    Until(Instant),
    /// It must be greeted (again): it is new, or what it would be told next is not held any more.
    NeedsHello,
}

/// Why a session is told nothing more in this turn.
enum Stop {
    QueueFull,
    Forgotten,
}

/// A session of the mirror.
///
/// It has a cursor into each surface's stream and one into the control frames. Whenever its queue has room,
/// they move forward, and its log notes by how much. While it has no socket or no room nothing is noted:
/// the cursors stand still, and a stream that has moved past one gives a snapshot.
///
/// A resume puts a cursor into the log. Frames are made again from the streams, exactly as they were; at the
/// first that cannot be, because its stream has forgotten those bytes, the session as a whole goes back to
/// that place, and what follows is told as if it had never been.
///
/// Over a link that was measured to be slow, who types sees the present: frames that have not begun to leave
/// are taken back in the same way, and while more of that surface's output waits than the client takes in
/// [`PRESENT_TIME`](crate::limits::PRESENT_TIME), a snapshot without scrollback comes in its place. The
/// scrollback follows in a snapshot of its own when the flood is over.
pub struct Session {
    /// 128 random bits in hex; empty until it has been greeted.
    id: String,
    pub(super) generation: u64,
    pub(super) socket: usize,
    /// Without a socket since then.
    pub(super) detached_at: Option<Instant>,
    log: Log,
    /// How far a replay is.
    replay: Option<Place>,
    /// Control frames after the last one it was told, that it did not need to be told.
    skipped: u64,
    /// Answers to its own frames, which wait for room.
    answers: VecDeque<Box<[u8]>>,
    answers_bytes: usize,
    /// Whose turn it is: a flood of one surface must not take all the room there is.
    turn: usize,
    /// Surfaces whose metadata it does not want.
    unfollowed: Vec<usize>,
    /// Where its client last typed while output waited; until it has all of that surface.
    typed: Option<Typed>,
    /// Surfaces that were shown without their scrollback, and since when nothing of them was lost or typed.
    owed: Vec<(usize, Instant)>,
}

struct Typed {
    surface: usize,
    at: Instant,
    /// What had not begun to leave has been taken back. Once: other surfaces have their turn, too.
    made_way: bool,
    /// All that the surface had printed was in the queue when it was last pumped.
    had_all: bool,
}

impl Session {
    pub(super) fn new(generation: u64, socket: usize) -> Session {
        Session {
            id: String::new(),
            generation,
            socket,
            detached_at: None,
            log: Log::default(),
            replay: None,
            skipped: 0,
            answers: VecDeque::new(),
            answers_bytes: 0,
            turn: 0,
            unfollowed: Vec::new(),
            typed: None,
            owed: Vec::new(),
        }
    }

    /// Its `sessionId`; empty until it has been greeted.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Number of its newest frame.
    pub fn seq(&self) -> u64 {
        self.log.head.seq
    }

    /// Whether so many answers wait for its socket that it should be heard no further.
    pub fn is_behind(&self) -> bool {
        self.answers_bytes >= MIRROR_ANSWERS_BYTES_MAX
    }

    /// What it takes in memory, in bytes.
    pub fn memory(&self) -> usize {
        let owed = self.owed.capacity() * size_of::<(usize, Instant)>();
        size_of::<Session>() + self.id.capacity() + self.log.memory() + self.answers_bytes + owed
    }

    /// Whether it wants a surface's metadata.
    pub fn follows(&self, surface: usize) -> bool {
        !self.unfollowed.contains(&surface) && self.log.head.position(surface).is_some()
    }

    /// It wants a surface's metadata, or no longer.
    pub fn follow(&mut self, surface: usize, follows: bool) {
        self.unfollowed.retain(|number| *number != surface);
        if !follows && self.log.head.position(surface).is_some() {
            self.unfollowed.push(surface);
        }
    }

    /// An answer to one of its own frames (`pong`, `error`), without its seq.
    pub fn answer(&mut self, body: Box<[u8]>) {
        self.answers_bytes += body.len();
        self.answers.push_back(body);
    }

    /// Its client typed into this surface, which has printed `head` bytes, while so many waited in its queue.
    /// True when that is in front of the answer: pump, since some may be skipped.
    pub fn typed(&mut self, surface: usize, head: u64, waiting: usize, now: Instant) -> bool {
        self.owed.iter_mut().filter(|(owed, _)| *owed == surface).for_each(|(_, since)| *since = now);
        let waits = waiting > PRESENT_BYTES || !self.has_all(surface, head);
        if waits {
            self.typed = Some(Typed { surface, at: now, made_way: false, had_all: false });
        }
        waits
    }

    /// Whether output waits in front of the answer to what its client typed.
    pub fn is_typing(&self) -> bool {
        self.typed.is_some()
    }

    fn has_all(&self, surface: usize, head: u64) -> bool {
        self.replay.is_none() && self.log.head.position(surface) == Some(head)
    }

    /// It begins (again), with everything up to now in its hello: `control` is the head of the control
    /// frames, and each of the surfaces gets a snapshot.
    pub(super) fn greet(&mut self, id: String, control: u64, surfaces: &[usize]) {
        let surfaces = surfaces.iter().map(|number| (*number, NEVER_SHOWN)).collect();
        self.log = Log::new(Place::first(control, surfaces));
        self.id = id;
        self.replay = None;
        self.skipped = 0;
        self.unfollowed.clear();
        self.typed = None;
        self.owed.clear();
    }

    /// Its client has everything up to frame `seq`. False when the log does not reach there.
    pub(super) fn resume(&mut self, seq: u64, surfaces: &mut impl Surfaces) -> bool {
        let Some(place) = self.log.place(seq) else { return false };
        self.drop_answers();
        mark_cleared(&mut self.log.head, surfaces);
        self.replay = Some(place);
        true
    }

    /// It has lost its socket.
    pub(super) fn detach(&mut self, now: Instant) {
        self.detached_at = Some(now);
        self.replay = None;
        self.typed = None;
        self.drop_answers();
        self.log.shrink();
    }

    fn drop_answers(&mut self) {
        self.answers = VecDeque::new();
        self.answers_bytes = 0;
    }

    /// Moves the cursors forward while the queue has room.
    pub(super) fn pump(
        &mut self,
        control: &ControlStream,
        surfaces: &mut impl Surfaces,
        out: &mut impl Frames,
        now: Instant,
    ) -> Pumped {
        if self.id.is_empty() {
            return Pumped::NeedsHello;
        }
        self.make_way(surfaces, out, now);
        let told = self.tell(control, surfaces, out, now);
        if let Some(Typed { surface: number, .. }) = self.typed {
            let head = surfaces.surface(number).map(|surface| surface.terminal.stream().head());
            let has_all = head.is_none_or(|head| self.has_all(number, head));
            self.typed.iter_mut().for_each(|typed| typed.had_all = has_all);
        }
        match told {
            Ok(None) | Err(Stop::QueueFull) => Pumped::Waits,
            Ok(Some(at)) => Pumped::Until(at),
            Err(Stop::Forgotten) => {
                self.id.clear();
                Pumped::NeedsHello
            }
        }
    }

    /// What has not begun to leave is taken back when it is much.
    fn make_way(&mut self, surfaces: &mut impl Surfaces, out: &mut impl Frames, now: Instant) {
        self.typed.take_if(|typed| typed.had_all && typed.at + PRESENT_REST <= now);
        let place = self.replay.as_ref().unwrap_or(&self.log.head);
        let Some(typed) = self.typed.as_mut().filter(|typed| !typed.made_way) else { return };
        let (Some(surface), Some(cursor)) = (surfaces.surface(typed.surface), place.position(typed.surface))
        else {
            return;
        };
        let behind = surface.terminal.stream().head().saturating_sub(cursor);
        if !out.is_long(out.waiting() as u64 / 4 * 3 + behind) {
            return;
        }
        typed.made_way = true;
        let first = out.take_back(self.log.front.seq).map(|seq| seq - 1);
        if let Some(place) =
            first.or(self.replay.as_ref().map(|place| place.seq)).and_then(|seq| self.log.place(seq))
        {
            self.go_back(place, surfaces, now);
        }
    }

    /// What was told after `place` will be told anew.
    fn go_back(&mut self, mut place: Place, surfaces: &mut impl Surfaces, now: Instant) {
        let (mut at, mut answers) = (place.clone(), VecDeque::new());
        while let Some((entry, len)) = self.log.after(&at) {
            match entry {
                Entry::Answer(body) => {
                    self.answers_bytes += body.len();
                    answers.push_back(body.into());
                }
                Entry::Snapshot { surface, .. } => {
                    self.owed.retain(|(owed, _)| *owed != surface);
                    self.owed.push((surface, now));
                }
                Entry::Output { .. } | Entry::Control { .. } => {}
            }
            at.pass(&entry, len);
        }
        answers.append(&mut self.answers);
        self.answers = answers;
        mark_cleared(&mut place, surfaces);
        self.log.rewind(place);
        self.replay = None;
        self.skipped = 0;
    }

    /// What was sent before, what is the session's own, what has happened, what was printed.
    fn tell(
        &mut self,
        control: &ControlStream,
        surfaces: &mut impl Surfaces,
        out: &mut impl Frames,
        now: Instant,
    ) -> Result<Option<Instant>, Stop> {
        self.tell_again(control, surfaces, out)?;
        self.tell_answers(out)?;
        self.tell_news(control, surfaces, out, now)?;
        self.tell_output(surfaces, out, now)
    }

    fn tell_again(
        &mut self,
        control: &ControlStream,
        surfaces: &mut impl Surfaces,
        out: &mut impl Frames,
    ) -> Result<(), Stop> {
        while let Some(place) = &mut self.replay {
            let Some((entry, len)) = self.log.after(place) else {
                self.replay = None;
                break;
            };
            has_room(out)?;
            let seq = place.seq + 1;
            let told = match entry {
                Entry::Output { surface: number, bytes } => {
                    let from = place.position(number).unwrap_or(CLEARED);
                    surfaces.surface(number).is_some_and(|surface| {
                        let held = surface.terminal.stream().between(from, from.saturating_add(bytes as u64));
                        let parts = held.filter(|_| from >= surface.terminal.cleared_at());
                        parts.map(|parts| out.output(seq, number, surface.id, from, parts)).is_some()
                    })
                }
                Entry::Snapshot { .. } => false,
                Entry::Control { skipped, .. } => {
                    let Control { body, .. } =
                        control.get(place.control + skipped + 1).ok_or(Stop::Forgotten)?;
                    out.text(seq, body);
                    true
                }
                Entry::Answer(body) => {
                    out.text(seq, body);
                    true
                }
            };
            if told {
                place.pass(&entry, len);
            } else if let Some(mut place) = self.replay.take() {
                mark_cleared(&mut place, surfaces);
                self.log.rewind(place);
                self.skipped = 0;
            }
        }
        Ok(())
    }

    fn tell_answers(&mut self, out: &mut impl Frames) -> Result<(), Stop> {
        while let Some(body) = self.answers.front() {
            has_room(out)?;
            out.text(self.log.head.seq + 1, body);
            self.log.push(&Entry::Answer(body));
            self.answers_bytes -= body.len();
            self.answers.pop_front();
        }
        Ok(())
    }

    fn tell_news(
        &mut self,
        control: &ControlStream,
        surfaces: &mut impl Surfaces,
        out: &mut impl Frames,
        now: Instant,
    ) -> Result<(), Stop> {
        loop {
            let number = self.log.head.control + self.skipped + 1;
            if number > control.head() {
                return Ok(());
            }
            let Control { about, body } = control.get(number).ok_or(Stop::Forgotten)?;
            if let Some((surface, position)) = about.after() {
                self.tell_output_to(surface, position, surfaces, out, now)?;
            }
            if !self.wants(*about) {
                self.skipped += 1;
                continue;
            }
            has_room(out)?;
            out.text(self.log.head.seq + 1, body);
            let change = match *about {
                About::Created { surface } => Change::Created(surface),
                About::Closed { surface, .. } => Change::Closed(surface),
                About::State
                | About::Resized { .. }
                | About::Attended { .. }
                | About::Exited { .. }
                | About::Metadata { .. } => Change::Nothing,
            };
            if let Change::Closed(surface) = change {
                self.unfollowed.retain(|number| *number != surface);
                self.owed.retain(|(number, _)| *number != surface);
            }
            self.log.push(&Entry::Control { skipped: self.skipped, bytes: body.len(), change });
            self.skipped = 0;
        }
    }

    fn wants(&self, about: About) -> bool {
        match about {
            About::State
            | About::Created { .. }
            | About::Attended { .. }
            | About::Exited { .. }
            | About::Closed { .. } => true,
            // Only a snapshot passes a position before the news of it, and it has that size already.
            About::Resized { surface, position } => {
                self.log.head.position(surface).is_none_or(|cursor| cursor <= position)
            }
            About::Metadata { surface } => !self.unfollowed.contains(&surface),
        }
    }

    /// Output that goes before some news, due or not.
    fn tell_output_to(
        &mut self,
        number: usize,
        position: u64,
        surfaces: &mut impl Surfaces,
        out: &mut impl Frames,
        now: Instant,
    ) -> Result<(), Stop> {
        let Some(cursor) = self.log.head.position(number) else { return Ok(()) };
        if cursor >= position && cursor < CLEARED {
            return Ok(());
        }
        let Some(mut surface) = surfaces.surface(number) else { return Ok(()) };
        surface.batch.close_at(position);
        self.tell_surface(number, &mut surface, position, out, now)
    }

    fn tell_output(
        &mut self,
        surfaces: &mut impl Surfaces,
        out: &mut impl Frames,
        now: Instant,
    ) -> Result<Option<Instant>, Stop> {
        let count = self.log.head.surfaces.len();
        let first = self.turn;
        let mut until: Option<Instant> = None;
        for i in 0..count {
            let at = (first + i) % count;
            let (number, cursor) = self.log.head.surfaces[at];
            let Some(mut surface) = surfaces.surface(number) else { continue };
            let (head, tail) = (surface.terminal.stream().head(), surface.terminal.stream().tail());
            let wait = surface.batch.close(head, now);
            until = until.into_iter().chain(wait).min();
            // A snapshot takes all there is, so behind a flood it waits until all of that is due.
            let end = surface.batch.end();
            if cursor >= CLEARED || cursor < end && (cursor >= tail || wait.is_none()) {
                self.turn = at;
                has_room(out)?;
                self.turn = at + 1;
                self.tell_surface(number, &mut surface, end, out, now)?;
            } else if cursor == head
                && let Some((_, since)) = self.owed.iter().find(|(owed, _)| *owed == number)
            {
                let rested = *since + SCROLLBACK_REST;
                if rested > now {
                    until = until.into_iter().chain([rested]).min();
                    continue;
                }
                has_room(out)?;
                self.log.head.position_mut(number).into_iter().for_each(|position| *position = CLEARED);
                self.tell_surface(number, &mut surface, end, out, now)?;
            }
        }
        self.turn = 0;
        Ok(until)
    }

    /// Output of a surface up to byte `end`, or a snapshot.
    fn tell_surface(
        &mut self,
        number: usize,
        surface: &mut Surface<'_>,
        end: u64,
        out: &mut impl Frames,
        now: Instant,
    ) -> Result<(), Stop> {
        while let Some(from) = self.log.head.position(number)
            && (from < end || from >= CLEARED)
        {
            has_room(out)?;
            let seq = self.log.head.seq + 1;
            let stream = surface.terminal.stream();
            let skips = self.typed.as_ref().is_some_and(|typed| typed.surface == number)
                && out.is_long(stream.head().saturating_sub(from));
            let entry = match stream.between(from, end).filter(|_| !skips) {
                Some(parts) => {
                    let parts = cut(parts, out.frame_bytes_max());
                    out.output(seq, number, surface.id, from, parts);
                    Entry::Output { surface: number, bytes: parts[0].len() + parts[1].len() }
                }
                None => {
                    if skips {
                        // The later the screen is drawn, the more it shows.
                        out.wait_for_low();
                        has_room(out)?;
                    }
                    let position = stream.head();
                    // A flood is not told twice: where the scrollback would hold it up, it comes later.
                    let is_brief = from < CLEARED && out.is_slow();
                    self.owed.retain(|(owed, _)| *owed != number);
                    self.owed.extend(is_brief.then_some((number, now)));
                    let lines = if is_brief { 0 } else { usize::MAX };
                    let bytes = out.snapshot(seq, number, surface, lines, from != NEVER_SHOWN, now);
                    Entry::Snapshot { surface: number, position, bytes }
                }
            };
            self.log.push(&entry);
        }
        Ok(())
    }
}

fn has_room(out: &impl Frames) -> Result<(), Stop> {
    if out.is_full() { Err(Stop::QueueFull) } else { Ok(()) }
}

/// Cleared text never comes back to a client that was away.
fn mark_cleared(place: &mut Place, surfaces: &mut impl Surfaces) {
    for (number, position) in &mut place.surfaces {
        if let Some(surface) = surfaces.surface(*number)
            && *position < surface.terminal.cleared_at()
        {
            *position = CLEARED;
        }
    }
}
