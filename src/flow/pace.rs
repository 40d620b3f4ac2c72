//! When a held-back batch is due.

use std::time::{Duration, Instant};

use crate::limits::{BATCH_HOLD_MAX, BATCH_HOLD_MIN, SRTT_BATCHED_ABOVE};

/// Output is held for a while after a frame was sent, so that slow links get fewer, larger frames. The
/// first output after a pause goes at once: typing never waits.
#[derive(Default)]
pub struct Pace {
    hold: Duration,
    open_at: Option<Instant>,
}

impl Pace {
    /// A pace that holds every batch for this long, whatever the link.
    pub fn every(hold: Duration) -> Pace {
        Pace { hold, open_at: None }
    }

    /// The peer's smoothed round trip decides how long a batch is held (terminal protocol, "Protocol 2
    /// and flow control"): not at all up to 40 ms, else a tenth of it within 4 to 16 ms.
    pub fn set_srtt(&mut self, srtt: Duration) {
        self.hold = match srtt > SRTT_BATCHED_ABOVE {
            true => (srtt / 10).clamp(BATCH_HOLD_MIN, BATCH_HOLD_MAX),
            false => Duration::ZERO,
        };
    }

    /// When output may go: `None` for at once.
    pub fn wait_until(&self, now: Instant) -> Option<Instant> {
        self.open_at.filter(|at| *at > now)
    }

    /// All there was has been sent: the next batch opens.
    pub fn sent(&mut self, now: Instant) {
        self.open_at = (!self.hold.is_zero()).then(|| now + self.hold);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_link_never_waits_and_a_slow_one_a_tenth_of_its_round_trip() {
        let start = Instant::now();
        let held = |srtt_ms| {
            let mut pace = Pace::default();
            pace.set_srtt(Duration::from_millis(srtt_ms));
            assert_eq!(pace.wait_until(start), None, "the first output goes at once");
            pace.sent(start);
            pace.wait_until(start).map_or(0, |at| (at - start).as_millis())
        };
        assert_eq!([held(0), held(40), held(41), held(80), held(5000)], [0, 0, 4, 8, 16]);
    }

    #[test]
    fn after_a_pause_output_goes_at_once_again() {
        let start = Instant::now();
        let mut pace = Pace::default();
        pace.set_srtt(Duration::from_millis(100));
        pace.sent(start);
        assert!(pace.wait_until(start + Duration::from_millis(9)).is_some());
        assert_eq!(pace.wait_until(start + Duration::from_millis(10)), None);
    }
}
