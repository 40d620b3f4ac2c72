//! Surfaces as sessions see them: terminals, and where their output is cut into frames.

use std::time::Instant;

use crate::flow::Pace;
use crate::limits::MIRROR_BATCH;
use crate::terminal::Terminal;

/// A terminal that sessions show.
pub struct Surface<'a> {
    /// Its `surfaceId`, which is the terminal's id: letters and digits.
    pub id: &'a str,
    /// The terminal.
    pub terminal: &'a mut Terminal,
    /// Where its output is cut.
    pub batch: &'a mut Batch,
}

/// All terminals, by the numbers that their owner gave them.
pub trait Surfaces {
    /// `None` once the terminal is gone. A number never comes to mean another terminal while a session
    /// remembers it.
    fn surface(&mut self, number: usize) -> Option<Surface<'_>>;
}

/// Where the output of one surface is cut into frames, for all sessions alike, so that a batch is encoded
/// once however many there are: the first output after a pause ends a batch at once, and after that one ends
/// at most every [`MIRROR_BATCH`].
pub struct Batch {
    end: u64,
    pace: Pace,
}

impl Default for Batch {
    fn default() -> Batch {
        Batch { end: 0, pace: Pace::every(MIRROR_BATCH) }
    }
}

impl Batch {
    /// Number of the last byte that sessions may be given.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Ends the batch at the stream's `head` if it may; else says when.
    pub(super) fn close(&mut self, head: u64, now: Instant) -> Option<Instant> {
        if head <= self.end {
            return None;
        }
        let wait = self.pace.wait_until(now);
        if wait.is_none() {
            self.end = head;
            self.pace.sent(now);
        }
        wait
    }

    /// Something that is told now comes after byte `position`: the batch ends there at the latest.
    pub(super) fn close_at(&mut self, position: u64) {
        self.end = self.end.max(position);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_first_output_goes_at_once_and_then_at_most_sixty_batches_a_second() {
        let (mut batch, start) = (Batch::default(), Instant::now());
        let mut ended = Vec::new();
        for ms in 0..=1000 {
            let before = batch.end();
            batch.close(ms + 1, start + Duration::from_millis(ms));
            if batch.end() > before {
                ended.push(ms);
            }
        }
        assert_eq!(ended[..3], [0, 17, 34], "a leading edge, then the pace");
        assert!((58..=60).contains(&ended.len()), "{}", ended.len());
    }

    #[test]
    fn what_is_held_back_says_until_when() {
        let (mut batch, now) = (Batch::default(), Instant::now());
        assert_eq!(batch.close(5, now), None);
        assert_eq!(batch.close(5, now), None, "nothing new");
        assert_eq!((batch.close(9, now), batch.end()), (Some(now + MIRROR_BATCH), 5));
        batch.close_at(7);
        batch.close_at(6);
        assert_eq!(batch.end(), 7);
        assert_eq!((batch.close(9, now + MIRROR_BATCH), batch.end()), (None, 9));
    }
}
