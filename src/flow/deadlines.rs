//! When somebody must be asked again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// A heap of (when, whom). On expiry the owner is asked whether it still has something due, so nothing
/// is ever cancelled; an owner remembers what it asked for, and asks again only for something sooner.
pub struct Deadlines<T> {
    heap: BinaryHeap<Reverse<(Instant, T)>>,
}

impl<T: Ord> Default for Deadlines<T> {
    fn default() -> Deadlines<T> {
        Deadlines { heap: BinaryHeap::new() }
    }
}

impl<T: Ord> Deadlines<T> {
    /// Asks that `whom` be asked at `when`, given what it asked for already.
    pub fn ask(&mut self, when: Instant, whom: T, asked: &mut Option<Instant>) {
        if asked.is_none_or(|before| when < before) {
            *asked = Some(when);
            self.heap.push(Reverse((when, whom)));
        }
    }

    /// The next moment at which somebody must be asked.
    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((when, _))| *when)
    }

    /// Somebody whose moment has come, with that moment.
    pub fn expired(&mut self, now: Instant) -> Option<(Instant, T)> {
        self.next().filter(|when| *when <= now)?;
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_soonest_is_asked_first_and_a_later_wish_costs_nothing() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let (mut deadlines, mut a, mut b) = (Deadlines::default(), None, None);
        deadlines.ask(at(20), 'a', &mut a);
        deadlines.ask(at(30), 'a', &mut a);
        deadlines.ask(at(10), 'b', &mut b);
        assert_eq!(deadlines.next(), Some(at(10)));
        assert_eq!(deadlines.expired(at(9)), None);
        assert_eq!(deadlines.expired(at(25)), Some((at(10), 'b')));
        assert_eq!(deadlines.expired(at(25)), Some((at(20), 'a')));
        assert_eq!(deadlines.expired(at(99)), None);
    }
}
