//! How many frames a second one peer is heard.

use std::time::{Duration, Instant};

/// A bucket that holds one second's worth of frames and fills evenly.
///
/// It is kept as the one moment at which it will be full again. An empty bucket says when the next frame may
/// be taken; until then its owner reads no further, so what the peer sent waits in the kernel and nothing of
/// it is lost.
pub struct TokenBucket {
    interval: Duration,
    burst: Duration,
    full_at: Option<Instant>,
}

impl TokenBucket {
    /// A full bucket for `per_second` frames, at least 1.
    pub fn new(per_second: u32) -> TokenBucket {
        let interval = Duration::from_secs(1) / per_second.max(1);
        TokenBucket { interval, burst: interval * per_second.max(1), full_at: None }
    }

    /// Takes one frame.
    ///
    /// # Errors
    /// When the next frame may be taken.
    pub fn take(&mut self, now: Instant) -> Result<(), Instant> {
        let full_at = self.full_at.map_or(now, |at| at.max(now)) + self.interval;
        if full_at > now + self.burst {
            return Err(full_at - self.burst);
        }
        self.full_at = Some(full_at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_the_rest_comes_later_but_comes() {
        let start = Instant::now();
        let (mut bucket, mut now, mut at_once) = (TokenBucket::new(256), start, 0);
        for _ in 0..600 {
            match bucket.take(now) {
                Ok(()) if now == start => at_once += 1,
                Ok(()) => {}
                Err(later) => {
                    assert!(later > now && later - now < Duration::from_millis(4), "soon, and not at once");
                    now = later;
                    assert_eq!(bucket.take(now), Ok(()), "it keeps its word");
                }
            }
        }
        assert_eq!(at_once, 256);
        let took = now - start;
        assert!((1300..1350).contains(&took.as_millis()), "(600 - 256) / 256 s, not {took:?}");
    }

    #[test]
    fn it_fills_while_nobody_sends_but_never_holds_more_than_a_second() {
        let (mut bucket, start) = (TokenBucket::new(4), Instant::now());
        let mut taken = |second: u64| {
            let now = start + Duration::from_secs(second);
            (0..100).take_while(|_| bucket.take(now).is_ok()).count()
        };
        assert_eq!([taken(0), taken(0), taken(1), taken(60)], [4, 0, 4, 4]);
    }
}
