//! How long to wait before the next attempt to connect.

use std::time::Duration;

use crate::limits::{CLI_RETRY_FIRST, CLI_RETRY_MAX};

/// Exponential back-off with jitter: clients of a server that restarts do not return in lockstep.
pub(super) struct Backoff {
    attempts: u32,
}

impl Backoff {
    pub(super) fn new() -> Backoff {
        Backoff { attempts: 0 }
    }

    /// The next wait: between half of the step and the whole of it, by `random`.
    pub(super) fn next(&mut self, random: u32) -> Duration {
        let step = CLI_RETRY_FIRST.saturating_mul(1 << self.attempts.min(16)).min(CLI_RETRY_MAX);
        self.attempts += 1;
        step / 2 + (step / 2).mul_f64(f64::from(random) / f64::from(u32::MAX))
    }

    /// Connected: the next loss starts from the first wait.
    pub(super) fn reset(&mut self) {
        self.attempts = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_maximum_and_start_again_after_a_connection() {
        let mut backoff = Backoff::new();
        let mut waits = |random| (0..9).map(|_| backoff.next(random).as_millis()).collect::<Vec<_>>();
        assert_eq!(waits(u32::MAX), [200, 400, 800, 1600, 3200, 6400, 12800, 15000, 15000]);
        backoff.reset();
        assert_eq!(backoff.next(0), Duration::from_millis(100));
        assert_eq!(backoff.next(0), Duration::from_millis(200));
    }

    #[test]
    fn a_thousand_attempts_still_wait_the_maximum() {
        let mut backoff = Backoff { attempts: 1000 };
        assert_eq!(backoff.next(u32::MAX), CLI_RETRY_MAX);
    }
}
