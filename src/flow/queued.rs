//! Which frames wait in a queue.

use std::collections::VecDeque;
use std::ops::Range;

use super::Outbound;
use crate::limits::QUEUED_FRAMES_SPARE;

/// The frames of one queue that have not left whole, oldest first: each with its places, and with what its owner
/// must know to go back before it.
pub struct Queued<T>(VecDeque<(T, Range<u64>)>);

impl<T> Default for Queued<T> {
    fn default() -> Queued<T> {
        Queued(VecDeque::new())
    }
}

impl<T> Queued<T> {
    /// Puts a frame into the queue. `tag` comes back when it is taken back.
    pub fn put(&mut self, queue: &mut Outbound, tag: T, put: impl FnOnce(&mut Vec<u8>)) {
        self.forget_taken(queue);
        let place = queue.places().end;
        queue.put(put);
        self.0.push_back((tag, place..queue.places().end));
    }

    /// Takes the newest frames back while nothing of them has left and `may` agrees, and gives the tag of the
    /// oldest of them.
    pub fn take_back(&mut self, queue: &mut Outbound, may: impl Fn(&T) -> bool) -> Option<T> {
        let mut oldest = None;
        while let Some((tag, places)) = self.0.pop_back() {
            if places.start < queue.places().start || !may(&tag) {
                self.0.push_back((tag, places));
                break;
            }
            queue.take_back(places);
            oldest = Some(tag);
        }
        oldest
    }

    /// Whether a frame has not left whole.
    pub fn waits(&mut self, queue: &Outbound) -> bool {
        self.forget_taken(queue);
        !self.0.is_empty()
    }

    fn forget_taken(&mut self, queue: &Outbound) {
        let taken = queue.places().start;
        while self.0.front().is_some_and(|(_, places)| places.end <= taken) {
            self.0.pop_front();
        }
        if self.0.is_empty() {
            self.0.shrink_to(QUEUED_FRAMES_SPARE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(queued: &mut Queued<u64>, queue: &mut Outbound, tag: u64) {
        queued.put(queue, tag, |out| out.extend_from_slice(b"frame"));
    }

    #[test]
    fn frames_are_taken_back_to_the_first_that_has_begun_to_leave_or_must_stay() {
        let (mut queue, mut queued) = (Outbound::default(), Queued::default());
        (1..=6).for_each(|tag| put(&mut queued, &mut queue, tag));
        assert_eq!(queued.take_back(&mut queue, |tag| *tag > 4), Some(5));
        assert_eq!(queued.take_back(&mut queue, |tag| *tag > 4), None);
        queue.take(6);
        assert_eq!(queued.take_back(&mut queue, |_| true), Some(3), "a byte of the second has left");
        assert_eq!(queue.waiting(), b"rame");
        assert!(queued.waits(&queue));
        queue.take(4);
        assert!(!queued.waits(&queue));
    }

    #[test]
    fn a_long_queue_that_has_left_gives_its_memory_back() {
        let (mut queue, mut queued) = (Outbound::default(), Queued::default());
        (0..10_000).for_each(|tag| put(&mut queued, &mut queue, tag));
        queue.take(queue.waiting().len());
        assert!(!queued.waits(&queue));
        assert!(queued.0.capacity() <= 2 * QUEUED_FRAMES_SPARE, "{}", queued.0.capacity());
    }
}
