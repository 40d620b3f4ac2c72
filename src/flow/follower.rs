//! A cursor: wait, replay or reset, given a stream, room and time.

use std::time::Instant;

use super::Pace;
use super::stream::{After, Stream, cut};

/// One reader of a [`Stream`]. It holds a position and no bytes.
pub struct Follower {
    cursor: u64,
    /// When the next batch may go.
    pub pace: Pace,
}

/// What a follower does next.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// It has everything.
    Wait,
    /// There is more, held back until then.
    Until(Instant),
    /// The next frame's text; its number is that of its last byte.
    Output {
        /// Number of the last byte.
        seq: u64,
        /// The text, in order.
        parts: [&'a [u8]; 2],
    },
    /// The stream has forgotten what comes next: only a reset helps.
    Lost,
}

impl Follower {
    /// A reader that has everything up to byte `cursor`.
    pub fn new(cursor: u64) -> Follower {
        Follower { cursor, pace: Pace::default() }
    }

    /// Number of the last byte this reader has.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// The reader was given everything up to byte `seq`.
    pub fn advance(&mut self, seq: u64) {
        self.cursor = seq;
    }

    /// What comes next, at most `bytes_max` (at least 4) of it. Call until it waits, [`Follower::advance`] after
    /// each frame, and tell [`Pace::sent`] at the end if there was any.
    pub fn step<'a>(&self, stream: &'a Stream, bytes_max: usize, now: Instant) -> Step<'a> {
        match stream.after(self.cursor) {
            After::Nothing => Step::Wait,
            After::Lost => Step::Lost,
            After::Bytes(parts) => match self.pace.wait_until(now) {
                Some(at) => Step::Until(at),
                None => {
                    let parts = cut(parts, bytes_max);
                    Step::Output { seq: self.cursor + (parts[0].len() + parts[1].len()) as u64, parts }
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_frames_until_it_waits_and_is_lost_after_an_eviction() {
        let now = Instant::now();
        let mut stream = Stream::new(100_000);
        stream.append(&[b'x'; 70_000]);
        let mut follower = Follower::new(0);
        let mut seqs = Vec::new();
        while let Step::Output { seq, .. } = follower.step(&stream, 1 << 16, now) {
            follower.advance(seq);
            seqs.push(seq);
        }
        assert_eq!(seqs, [65_536, 70_000]);
        assert_eq!(follower.step(&stream, 1 << 16, now), Step::Wait);
        stream.append(&[b'y'; 100_001]);
        assert_eq!(follower.step(&stream, 1 << 16, now), Step::Lost);
    }
}
