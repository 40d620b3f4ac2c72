//! Bytes that one socket, or one PTY, has not taken.

use std::ops::Range;

use super::Link;
use crate::limits::{
    OUTBOUND_BYTES_HIGH, OUTBOUND_BYTES_LOW, OUTBOUND_BYTES_SLOWEST, OUTBOUND_TIME, OUTPUT_FRAME_BYTES_FIRST,
    OUTPUT_FRAME_BYTES_MAX, OUTPUT_FRAME_BYTES_SLOWEST, OUTPUT_FRAME_TIME, PRESENT_BYTES, PRESENT_TIME,
    SCROLLBACK_BYTES_TYPICAL, SCROLLBACK_TIME,
};

/// A queue of bytes with one bit of hysteresis: full from its high mark until down at its low one.
///
/// A socket takes bytes in pieces of its own choosing. The taken prefix is given back only once it is
/// half of the buffer, so bytes moved never exceed bytes sent; draining after every short write would
/// move the whole backlog each time, exactly when it is longest.
pub struct Outbound {
    bytes: Vec<u8>,
    taken: usize,
    /// Bytes that left and are not in `bytes` any more.
    gone: u64,
    full: bool,
    high: usize,
    low: usize,
    /// How fast the socket takes them.
    pub link: Link,
}

impl Default for Outbound {
    fn default() -> Outbound {
        Outbound::new(OUTBOUND_BYTES_HIGH, OUTBOUND_BYTES_LOW)
    }
}

impl Outbound {
    /// An empty queue with these marks, in bytes.
    pub fn new(high: usize, low: usize) -> Outbound {
        Outbound { bytes: Vec::new(), taken: 0, gone: 0, full: false, high, low, link: Link::default() }
    }

    /// Once it is known how fast the socket takes bytes, the queue is short in time, not only in bytes.
    pub fn adapt(&mut self) {
        if let Some(bytes) = self.link.bytes_in(OUTBOUND_TIME) {
            self.high = bytes.clamp(OUTBOUND_BYTES_SLOWEST, OUTBOUND_BYTES_HIGH);
            self.low = OUTBOUND_BYTES_LOW.min(self.high / 2);
        }
    }

    /// How much output the next frame may carry: a frame that has begun to leave cannot be taken back, and
    /// what comes after it waits for all of it. A power of two once it is measured: readers at one place get the
    /// same frames, though no two links are alike.
    pub fn frame_bytes_max(&self) -> usize {
        match self.link.bytes_in(OUTPUT_FRAME_TIME) {
            Some(bytes) => 1 << bytes.clamp(OUTPUT_FRAME_BYTES_SLOWEST, OUTPUT_FRAME_BYTES_MAX).ilog2(),
            None if self.link.is_refused() => OUTPUT_FRAME_BYTES_FIRST,
            None => OUTPUT_FRAME_BYTES_MAX,
        }
    }

    /// Whether so many bytes are more than whoever types should have in front of the answer. False while nobody
    /// knows how fast the socket is.
    pub fn is_long(&self, bytes: u64) -> bool {
        self.link.bytes_in(PRESENT_TIME).is_some_and(|soon| bytes > soon.max(PRESENT_BYTES) as u64)
    }

    /// Whether the socket is too slow for the scrollback to come with every reset.
    pub fn is_slow(&self) -> bool {
        self.link.bytes_in(SCROLLBACK_TIME).is_some_and(|bytes| bytes < SCROLLBACK_BYTES_TYPICAL)
    }

    /// The place of the next byte that the socket takes, and of the next one that is put. Places count the
    /// bytes of the queue's whole life.
    pub fn places(&self) -> Range<u64> {
        self.gone + self.taken as u64..self.gone + self.bytes.len() as u64
    }

    /// Takes back what was put at these places, none of which has left.
    pub fn take_back(&mut self, places: Range<u64>) {
        assert!(self.places().start <= places.start, "the socket has taken it");
        self.bytes.drain((places.start - self.gone) as usize..(places.end - self.gone) as usize);
        self.full &= self.waiting().len() > self.low;
    }

    /// What the socket has not taken, oldest first.
    pub fn waiting(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.taken == self.bytes.len()
    }

    /// Whether output must wait until the queue is down at its low mark.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Counts as full until it is down at its low mark, whatever has been put.
    pub fn wait_for_low(&mut self) {
        self.full = self.waiting().len() > self.low;
    }

    /// Lets `put` append bytes. The mark is looked at afterwards: one frame may pass it.
    pub fn put<T>(&mut self, put: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let answer = put(&mut self.bytes);
        self.full |= self.waiting().len() >= self.high;
        answer
    }

    /// The socket took the first `n` bytes. True when a full queue came down to its low mark.
    pub fn take(&mut self, n: usize) -> bool {
        assert!(n <= self.waiting().len(), "the socket took bytes it was not given");
        self.taken += n;
        if self.taken * 2 >= self.bytes.len() {
            self.bytes.drain(..self.taken);
            self.gone += self.taken as u64;
            self.taken = 0;
        }
        let drained = self.full && self.waiting().len() <= self.low;
        self.full &= !drained;
        drained
    }

    /// Nobody will take what waits.
    pub fn abandon(&mut self) {
        self.gone = self.places().end;
        self.bytes = Vec::new();
        self.taken = 0;
        self.full = false;
    }

    /// An empty queue gives its memory back; a large one would otherwise cost for ever what it cost once.
    pub fn give_back(&mut self) -> Vec<u8> {
        debug_assert!(self.is_empty());
        self.gone += self.taken as u64;
        self.taken = 0;
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        bytes
    }

    /// An empty queue uses memory that another one gave back.
    pub fn adopt(&mut self, memory: &mut Vec<u8>) {
        if self.bytes.capacity() == 0 {
            self.bytes = std::mem::take(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn full_from_the_high_mark_until_the_low_one() {
        let mut queue = Outbound::new(10, 4);
        queue.put(|out| out.extend_from_slice(b"123456789"));
        assert!(!queue.is_full());
        queue.put(|out| out.extend_from_slice(b"ab"));
        assert!(queue.is_full());
        assert!(!queue.take(6));
        assert!(queue.is_full(), "five bytes still wait");
        assert!(queue.take(1), "down at the low mark");
        assert!(!queue.is_full());
        assert_eq!(queue.waiting(), b"89ab");
    }

    #[test]
    fn what_has_not_begun_to_leave_can_be_taken_back() {
        let mut queue = Outbound::new(10, 4);
        let put = |queue: &mut Outbound, bytes: &[u8]| {
            let from = queue.places().end;
            queue.put(|out| out.extend_from_slice(bytes));
            from..queue.places().end
        };
        put(&mut queue, b"first,");
        queue.take(5);
        let second = put(&mut queue, b"second,");
        put(&mut queue, b"an answer,");
        let third = put(&mut queue, b"third");
        assert!(queue.is_full());
        queue.take_back(third);
        queue.take_back(second);
        assert_eq!(queue.waiting(), b",an answer,");
        assert!(queue.is_full());
        assert!(queue.take(8));
        assert_eq!(queue.places(), 13..16);
    }

    #[test]
    fn frames_are_long_until_the_peer_refuses_bytes_and_then_as_its_speed_is() {
        let (mut queue, start) = (Outbound::default(), Instant::now());
        queue.put(|out| out.extend_from_slice(b"hello"));
        assert_eq!(queue.frame_bytes_max(), OUTPUT_FRAME_BYTES_MAX, "it has refused nothing");
        let mut sizes = Vec::new();
        for second in 0..=4 {
            queue.link.took(2_000_000, false, start + Duration::from_secs(second));
            sizes.push(queue.frame_bytes_max());
        }
        assert_eq!(sizes[..2], [OUTPUT_FRAME_BYTES_FIRST; 2]);
        assert_eq!(sizes[2..], [32 << 10; 3], "40,000 bytes in 20 ms, in a size that others have, too");
    }

    #[test]
    fn bytes_leave_in_order_whatever_the_pieces() {
        let mut queue = Outbound::new(1 << 20, 0);
        let (mut sent, mut expected) = (Vec::new(), Vec::new());
        for i in 0..1000usize {
            let piece = vec![i as u8; i % 37];
            queue.put(|out| out.extend_from_slice(&piece));
            expected.extend_from_slice(&piece);
            let n = queue.waiting().len().min(i % 23);
            sent.extend_from_slice(&queue.waiting()[..n]);
            queue.take(n);
        }
        sent.extend_from_slice(queue.waiting());
        assert_eq!(sent, expected);
    }
}
