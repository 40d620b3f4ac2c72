//! How fast a peer takes bytes.

use std::time::{Duration, Instant};

use crate::limits::{LINK_MEASURE_TIME, LINK_MEASURES, LINK_MEASURES_MIN};

/// Measures what a peer takes while the kernel, full at the beginning and at the end, refuses more.
///
/// The best of the last few measures counts: a peer that stopped reading for a while, and then goes on, is
/// not slow, and a slow one never is fast.
#[derive(Default)]
pub struct Link {
    since: Option<Instant>,
    bytes: usize,
    bytes_a_second: [u64; LINK_MEASURES],
    measures: usize,
}

impl Link {
    /// The kernel took `bytes`, and then refused more or (`all`) there were no more. True when this ended a
    /// measure.
    pub fn took(&mut self, bytes: usize, all: bool, now: Instant) -> bool {
        let since = if all { self.since.take() } else { self.since };
        self.bytes += bytes;
        let Some(since) = since else {
            self.start(!all, now);
            return false;
        };
        let elapsed = now.duration_since(since);
        if elapsed < LINK_MEASURE_TIME {
            return false;
        }
        let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let mut rate = self.bytes as u64 * 1_000_000 / micros;
        if all {
            // It might have taken more, so this says nothing against it.
            rate = (rate * 2).max(self.best());
        }
        self.bytes_a_second[self.measures % LINK_MEASURES] = rate;
        self.measures += 1;
        self.start(!all, now);
        true
    }

    /// What the kernel takes before it refuses more has changed: what was being measured means nothing.
    pub fn start_again(&mut self) {
        self.since = None;
    }

    fn start(&mut self, full: bool, now: Instant) {
        self.since = full.then_some(now);
        self.bytes = 0;
    }

    fn best(&self) -> u64 {
        self.bytes_a_second.into_iter().max().unwrap_or(0)
    }

    /// Whether the kernel refused bytes and has not taken all since.
    pub fn is_refused(&self) -> bool {
        self.since.is_some()
    }

    /// Bytes that the peer takes in this time; `None` while nobody can tell.
    pub fn bytes_in(&self, time: Duration) -> Option<usize> {
        let bytes = u128::from(self.best()) * time.as_micros() / 1_000_000;
        (self.measures >= LINK_MEASURES_MIN).then(|| usize::try_from(bytes).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes in a second after these (milliseconds, bytes taken until the kernel refused more).
    fn measured(times: &[(u64, usize)]) -> Option<usize> {
        let (mut link, mut now) = (Link::default(), Instant::now());
        link.took(50_000, false, now);
        for (ms, bytes) in times {
            now += Duration::from_millis(*ms);
            link.took(*bytes, false, now);
        }
        link.bytes_in(Duration::from_secs(1))
    }

    #[test]
    fn nothing_is_known_before_the_second_measure() {
        assert_eq!(measured(&[(100, 1000)]), None);
        assert_eq!(measured(&[(100, 1000); 2]), Some(10_000));
    }

    #[test]
    fn lumps_are_levelled_out() {
        assert_eq!(measured(&[(1, 4000), (39, 0)].repeat(4)), Some(100_000));
    }

    #[test]
    fn who_stopped_for_a_while_is_not_slow() {
        assert_eq!(measured(&[(20, 2000), (20, 2000), (20, 2000), (60_000, 1000)]), Some(100_000));
        assert_eq!(measured(&[(60_000, 1000), (20, 2000), (20, 2000), (20, 2000)]), Some(100_000));
    }

    #[test]
    fn who_takes_all_there_is_can_only_become_faster() {
        let (mut link, mut now) = (Link::default(), Instant::now());
        for bytes in [10_000, 10_000, 10_000, 10_000, 10, 10, 20_000] {
            link.took(0, false, now);
            now += Duration::from_millis(1000);
            link.took(bytes, true, now);
        }
        assert_eq!(link.bytes_in(Duration::from_secs(1)), Some(40_000));
    }
}
