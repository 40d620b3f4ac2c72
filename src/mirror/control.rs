//! The control frames: one bounded stream that all sessions read, each at its own cursor.

use std::collections::VecDeque;

use crate::limits::{MIRROR_CONTROL_BYTES, MIRROR_CONTROL_OVERHEAD_BYTES};

/// What a control frame is about, as far as its place among other frames depends on it. A `position` is the
/// head of that surface's stream when it happened: output up to there goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Nothing that has an order to output.
    State,
    /// There is a new surface; its output from byte 0 follows.
    Created {
        /// Its number.
        surface: usize,
    },
    /// The surface has another size.
    Resized {
        /// Its number.
        surface: usize,
        /// See [`About`].
        position: u64,
    },
    /// From here on somebody else answers its program's queries.
    Attended {
        /// Its number.
        surface: usize,
        /// See [`About`].
        position: u64,
    },
    /// The surface's program has ended.
    Exited {
        /// Its number.
        surface: usize,
        /// See [`About`].
        position: u64,
    },
    /// The surface is gone.
    Closed {
        /// Its number.
        surface: usize,
        /// See [`About`].
        position: u64,
    },
    /// Metadata of a surface, for sessions that follow it.
    Metadata {
        /// Its number.
        surface: usize,
    },
}

impl About {
    /// The surface and the byte of it that goes first.
    pub(super) fn after(self) -> Option<(usize, u64)> {
        match self {
            About::Resized { surface, position }
            | About::Attended { surface, position }
            | About::Exited { surface, position }
            | About::Closed { surface, position } => Some((surface, position)),
            About::State | About::Created { .. } | About::Metadata { .. } => None,
        }
    }
}

/// A control frame without its `seq`, which each session has its own of.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) about: About,
    pub(super) body: Box<[u8]>,
}

/// The last control frames, numbered from 1.
#[derive(Default)]
pub(super) struct ControlStream {
    held: VecDeque<Control>,
    head: u64,
    bytes: usize,
}

impl ControlStream {
    /// Number of the last frame.
    pub(super) fn head(&self) -> u64 {
        self.head
    }

    /// Appends; the oldest make room, but the last one is always held.
    pub(super) fn append(&mut self, about: About, body: Box<[u8]>) {
        self.bytes += cost(&body);
        self.held.push_back(Control { about, body });
        self.head += 1;
        while self.bytes > MIRROR_CONTROL_BYTES && self.held.len() > 1 {
            if let Some(gone) = self.held.pop_front() {
                self.bytes -= cost(&gone.body);
            }
        }
    }

    /// Frame `number`, which is not above the head; `None` when it is not held any more.
    pub(super) fn get(&self, number: u64) -> Option<&Control> {
        debug_assert!(number <= self.head);
        let back = usize::try_from(self.head - number).ok()?;
        self.held.get(self.held.len().checked_sub(1 + back)?)
    }

    /// Nobody has a cursor: nothing needs to be held.
    pub(super) fn forget(&mut self) {
        self.held = VecDeque::new();
        self.bytes = 0;
    }
}

fn cost(body: &[u8]) -> usize {
    body.len() + MIRROR_CONTROL_OVERHEAD_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_the_last_frames_within_its_bound_and_always_the_last() {
        let mut stream = ControlStream::default();
        for i in 0..20u8 {
            stream.append(About::State, vec![i; 1 << 20].into());
        }
        assert_eq!((stream.head(), stream.held.len()), (20, 7));
        assert!(stream.get(13).is_none() && stream.bytes <= MIRROR_CONTROL_BYTES);
        assert_eq!(stream.get(14).unwrap().body[0], 13);
        stream.append(About::State, vec![9; 3 * MIRROR_CONTROL_BYTES].into());
        assert_eq!((stream.held.len(), stream.get(21).unwrap().body[0]), (1, 9));
        stream.forget();
        assert!(stream.get(21).is_none());
        stream.append(About::State, Box::default());
        assert_eq!((stream.head(), stream.bytes), (22, MIRROR_CONTROL_OVERHEAD_BYTES));
    }
}
