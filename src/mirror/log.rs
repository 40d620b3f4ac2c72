//! What a session has sent, as places instead of bytes.
//!
//! A frame of output is the next few bytes of some stream, a control frame the next one of the shared
//! stream: neither needs its bytes here. So the log is a text of its own in which most frames take one to
//! three bytes, and a [`Place`] is all that must be known to go on reading it: a sequence number and a cursor
//! into each stream. The oldest frame, the newest one and one in the middle of a replay are places alike.

use crate::limits::{MIRROR_LOG_BYTES, MIRROR_LOG_MEMORY_MAX};

/// A surface that the client has not been shown yet: a snapshot follows.
pub(super) const NEVER_SHOWN: u64 = u64::MAX;
/// A surface that was cleared after what the client has of it: a snapshot follows.
pub(super) const CLEARED: u64 = u64::MAX - 1;

/// One frame in the log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    /// The next `bytes` of the surface's stream.
    Output { surface: usize, bytes: usize },
    /// A snapshot at byte `position` of the surface's stream. It cannot be made again.
    Snapshot { surface: usize, position: u64, bytes: usize },
    /// The control frame after the next `skipped` ones.
    Control { skipped: u64, bytes: usize, change: Change },
    /// An answer to this session alone, without its seq.
    Answer(&'a [u8]),
}

/// What a control frame does to the surfaces of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Nothing,
    Created(usize),
    Closed(usize),
}

/// What a frame takes beside its text: `{"type":..,"seq":..,"surfaceId":..,"bytes":..}` and its header.
const ENVELOPE_BYTES: usize = 104;

impl Entry<'_> {
    /// About the bytes of its frame.
    fn frame_bytes(&self) -> u64 {
        let text = match self {
            Entry::Output { bytes, .. } | Entry::Snapshot { bytes, .. } => bytes.div_ceil(3) * 4,
            Entry::Control { bytes, .. } => *bytes,
            Entry::Answer(body) => body.len(),
        };
        (ENVELOPE_BYTES + text) as u64
    }
}

/// Everything about a session at one moment: which frames it has sent, and how far it is in each stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The last frame.
    pub(super) seq: u64,
    /// The last control frame that was sent.
    pub(super) control: u64,
    /// The number of each surface, and of the last byte of it.
    pub(super) surfaces: Vec<(usize, u64)>,
    /// The surface whose output was last.
    last: usize,
    /// Where the log goes on.
    pub(super) at: u64,
    /// Bytes of all frames up to here.
    frame_bytes: u64,
}

impl Place {
    /// The beginning of a session.
    pub(super) fn first(control: u64, surfaces: Vec<(usize, u64)>) -> Place {
        Place { control, surfaces, ..Place::default() }
    }

    pub(super) fn position(&self, surface: usize) -> Option<u64> {
        self.surfaces.iter().find(|(number, _)| *number == surface).map(|(_, position)| *position)
    }

    pub(super) fn position_mut(&mut self, surface: usize) -> Option<&mut u64> {
        self.surfaces.iter_mut().find(|(number, _)| *number == surface).map(|(_, position)| position)
    }

    /// Passes over a frame that takes `len` bytes of the log.
    pub(super) fn pass(&mut self, entry: &Entry<'_>, len: u64) {
        self.seq += 1;
        self.at += len;
        self.frame_bytes += entry.frame_bytes();
        match *entry {
            Entry::Output { surface, bytes } => {
                self.last = surface;
                if let Some(position) = self.position_mut(surface) {
                    *position += bytes as u64;
                }
            }
            Entry::Snapshot { surface, position: at, .. } => {
                self.last = surface;
                if let Some(position) = self.position_mut(surface) {
                    *position = at;
                }
            }
            Entry::Control { skipped, change, .. } => {
                self.control += skipped + 1;
                match change {
                    Change::Nothing => {}
                    Change::Created(surface) => {
                        if self.position(surface).is_none() {
                            self.surfaces.push((surface, 0));
                        }
                    }
                    Change::Closed(surface) => self.surfaces.retain(|(number, _)| *number != surface),
                }
            }
            Entry::Answer(_) => {}
        }
    }
}

/// The frames from `front` to `head`.
#[derive(Default)]
pub(super) struct Log {
    bytes: Vec<u8>,
    /// Where `bytes` begins.
    base: u64,
    /// After the oldest frame that is not held any more.
    pub(super) front: Place,
    /// After the newest frame.
    pub(super) head: Place,
}

/// Below this a byte is the whole of an entry: that many bytes and one of the surface that printed last.
const OUTPUT_SHORT_MAX: u8 = 0x80;
const OUTPUT: u8 = 0x80;
const SNAPSHOT: u8 = 0x81;
const CONTROL: u8 = 0x82;
const CREATED: u8 = 0x83;
const CLOSED: u8 = 0x84;
const ANSWER: u8 = 0x85;

impl Log {
    /// A log without frames, from this place on.
    pub(super) fn new(place: Place) -> Log {
        Log { bytes: Vec::new(), base: place.at, front: place.clone(), head: place }
    }

    /// Appends a frame; the oldest make room.
    pub(super) fn push(&mut self, entry: &Entry<'_>) {
        let start = self.bytes.len();
        let out = &mut self.bytes;
        match *entry {
            Entry::Output { surface, bytes }
                if surface == self.head.last && (1..=usize::from(OUTPUT_SHORT_MAX)).contains(&bytes) =>
            {
                out.push((bytes - 1) as u8);
            }
            Entry::Output { surface, bytes } => put(OUTPUT, &[surface as u64, bytes as u64], out),
            Entry::Snapshot { surface, position, bytes } => {
                put(SNAPSHOT, &[surface as u64, position, bytes as u64], out);
            }
            Entry::Control { skipped, bytes, change } => match change {
                Change::Nothing => put(CONTROL, &[skipped, bytes as u64], out),
                Change::Created(surface) => put(CREATED, &[skipped, bytes as u64, surface as u64], out),
                Change::Closed(surface) => put(CLOSED, &[skipped, bytes as u64, surface as u64], out),
            },
            Entry::Answer(body) => {
                put(ANSWER, &[body.len() as u64], out);
                out.extend_from_slice(body);
            }
        }
        let len = (self.bytes.len() - start) as u64;
        self.head.pass(entry, len);
        self.make_room();
    }

    fn make_room(&mut self) {
        while self.head.frame_bytes - self.front.frame_bytes > MIRROR_LOG_BYTES as u64
            || self.head.at - self.front.at > MIRROR_LOG_MEMORY_MAX as u64
        {
            let Some((entry, len)) = read(&self.bytes, self.base, &self.front) else { break };
            self.front.pass(&entry, len);
        }
        let gone = (self.front.at - self.base) as usize;
        if gone * 2 >= self.bytes.len() {
            self.bytes.drain(..gone);
            self.base = self.front.at;
        }
    }

    /// The frame after `place`, and its length in the log; `None` at the head.
    pub(super) fn after(&self, place: &Place) -> Option<(Entry<'_>, u64)> {
        read(&self.bytes, self.base, place)
    }

    /// The place after frame `seq`; `None` when the log does not reach there.
    pub(super) fn place(&self, seq: u64) -> Option<Place> {
        if !(self.front.seq..=self.head.seq).contains(&seq) {
            return None;
        }
        let mut place = self.front.clone();
        while place.seq < seq {
            let (entry, len) = self.after(&place)?;
            place.pass(&entry, len);
        }
        Some(place)
    }

    /// What comes after `place` was never sent.
    pub(super) fn rewind(&mut self, place: Place) {
        self.bytes.truncate((place.at - self.base) as usize);
        self.head = place;
    }

    /// Gives back the memory that it does not use.
    pub(super) fn shrink(&mut self) {
        self.bytes.drain(..(self.front.at - self.base) as usize);
        self.base = self.front.at;
        self.bytes.shrink_to_fit();
    }

    /// What it takes in memory, in bytes.
    pub(super) fn memory(&self) -> usize {
        let places = self.front.surfaces.capacity() + self.head.surfaces.capacity();
        self.bytes.capacity() + places * size_of::<(usize, u64)>()
    }
}

/// The entry at `place` of a log that begins at `base`.
fn read<'a>(bytes: &'a [u8], base: u64, place: &Place) -> Option<(Entry<'a>, u64)> {
    let start = bytes.get((place.at - base) as usize..)?;
    let (&kind, mut rest) = start.split_first()?;
    let mut number = || take_number(&mut rest);
    let entry = match kind {
        0..OUTPUT_SHORT_MAX => Entry::Output { surface: place.last, bytes: usize::from(kind) + 1 },
        OUTPUT => Entry::Output { surface: number() as usize, bytes: number() as usize },
        SNAPSHOT => {
            Entry::Snapshot { surface: number() as usize, position: number(), bytes: number() as usize }
        }
        CONTROL => Entry::Control { skipped: number(), bytes: number() as usize, change: Change::Nothing },
        CREATED | CLOSED => {
            let (skipped, bytes, surface) = (number(), number() as usize, number() as usize);
            let change = if kind == CREATED { Change::Created(surface) } else { Change::Closed(surface) };
            Entry::Control { skipped, bytes, change }
        }
        _ => {
            debug_assert_eq!(kind, ANSWER);
            let bytes = number() as usize;
            let body = rest.get(..bytes)?;
            rest = &rest[bytes..];
            Entry::Answer(body)
        }
    };
    Some((entry, (start.len() - rest.len()) as u64))
}

fn put(kind: u8, numbers: &[u64], out: &mut Vec<u8>) {
    out.push(kind);
    for number in numbers {
        let mut left = *number;
        while left >= 0x80 {
            out.push(left as u8 | 0x80);
            left >>= 7;
        }
        out.push(left as u8);
    }
}

/// A number in groups of seven bits, the lowest first; the last group has no high bit.
fn take_number(rest: &mut &[u8]) -> u64 {
    let mut number = 0;
    let mut shift = 0;
    while let Some((&byte, after)) = rest.split_first() {
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 || shift > 63 {
            break;
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Frames as values that own their text.
    #[derive(Clone, Debug)]
    enum Sent {
        Output(usize, usize),
        Snapshot(usize, u64, usize),
        Control(u64, usize, Change),
        Answer(Vec<u8>),
    }

    impl Sent {
        fn entry(&self) -> Entry<'_> {
            match self {
                Sent::Output(surface, bytes) => Entry::Output { surface: *surface, bytes: *bytes },
                Sent::Snapshot(surface, position, bytes) => {
                    Entry::Snapshot { surface: *surface, position: *position, bytes: *bytes }
                }
                Sent::Control(skipped, bytes, change) => {
                    Entry::Control { skipped: *skipped, bytes: *bytes, change: *change }
                }
                Sent::Answer(body) => Entry::Answer(body),
            }
        }
    }

    fn any_sent() -> impl Strategy<Value = Sent> {
        let surface = || prop_oneof![3 => 0usize..4, 1 => 0usize..1 << 30];
        prop_oneof![
            6 => (surface(), 1usize..400).prop_map(|(s, n)| Sent::Output(s, n)),
            2 => (surface(), 1usize..2 << 20).prop_map(|(s, n)| Sent::Output(s, n)),
            1 => (surface(), any::<u64>(), 0usize..1 << 19).prop_map(|(s, p, n)| Sent::Snapshot(s, p >> 8, n)),
            2 => (0u64..300, 0usize..5000).prop_map(|(k, n)| Sent::Control(k, n, Change::Nothing)),
            1 => (0u64..3, surface()).prop_map(|(k, s)| Sent::Control(k, 9, Change::Created(s))),
            1 => (0u64..3, surface()).prop_map(|(k, s)| Sent::Control(k, 9, Change::Closed(s))),
            1 => proptest::collection::vec(any::<u8>(), 0..300).prop_map(Sent::Answer),
        ]
    }

    proptest! {
        #[test]
        fn every_frame_it_reaches_is_read_as_it_was_pushed(
            sent in proptest::collection::vec(any_sent(), 1..200), back: prop::sample::Index,
        ) {
            let mut log = Log::new(Place::first(0, vec![(0, 3), (1, 7)]));
            let mut places = vec![log.head.clone()];
            for sent in &sent {
                log.push(&sent.entry());
                places.push(log.head.clone());
                prop_assert!(log.head.frame_bytes - log.front.frame_bytes <= MIRROR_LOG_BYTES as u64);
                prop_assert!(log.head.at - log.front.at <= MIRROR_LOG_MEMORY_MAX as u64);
            }
            for (seq, expected) in places.iter().enumerate() {
                let place = log.place(seq as u64);
                prop_assert_eq!(place.is_some(), seq as u64 >= log.front.seq);
                if let Some(place) = place {
                    prop_assert_eq!(&place, expected);
                    prop_assert_eq!(log.after(&place).map(|(entry, _)| entry), sent.get(seq).map(Sent::entry));
                }
            }
            prop_assert_eq!(log.place(sent.len() as u64 + 1), None);
            let reached = (log.head.seq - log.front.seq) as usize + 1;
            let place = log.place(log.front.seq + back.index(reached) as u64).unwrap();
            log.shrink();
            log.rewind(place.clone());
            prop_assert!(log.after(&place).is_none());
            log.push(&Entry::Answer(b"again"));
            prop_assert_eq!(log.after(&place).unwrap().0, Entry::Answer(b"again"));
        }
    }

    #[test]
    fn two_megabytes_of_echoed_keys_take_a_byte_each() {
        let mut log = Log::new(Place::first(0, vec![(0, 0)]));
        for _ in 0..100_000 {
            log.push(&Entry::Output { surface: 0, bytes: 3 });
        }
        log.shrink();
        assert_eq!((log.head.seq - log.front.seq) as usize, MIRROR_LOG_BYTES / (ENVELOPE_BYTES + 4));
        assert!(log.memory() < 20_000, "{}", log.memory());
    }
}
