//! A bounded byte stream with absolute positions.

use crate::limits::REPLAY_BYTES_FIRST;

/// The last bytes of a terminal's output, numbered from 1 over its whole life.
///
/// The text is UTF-8 in whole characters: [`Stream::append`] is given nothing else, so a cursor that a
/// reader was told always stands between two characters.
pub struct Stream {
    /// Byte number `n` stands at `(n - 1) % ring.len()`.
    ring: Vec<u8>,
    bytes_max: usize,
    head: u64,
    held_bytes: usize,
}

/// What follows a cursor.
#[derive(Debug, PartialEq, Eq)]
pub enum After<'a> {
    /// The cursor is at the head.
    Nothing,
    /// The bytes after the cursor, in order; the second part is what wrapped around the ring's end.
    Bytes([&'a [u8]; 2]),
    /// Those bytes are gone, or the cursor never was a position of this stream.
    Lost,
}

impl Stream {
    /// An empty stream that will hold the last `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Stream {
        Stream { ring: Vec::new(), bytes_max: bytes_max.max(1), head: 0, held_bytes: 0 }
    }

    /// Number of the last byte; 0 before the first.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// The oldest cursor that can still be served.
    pub fn tail(&self) -> u64 {
        self.head - self.held_bytes as u64
    }

    /// Appends whole characters; the oldest bytes make room.
    pub fn append(&mut self, text: &[u8]) {
        let kept = &text[text.len().saturating_sub(self.bytes_max)..];
        self.head += (text.len() - kept.len()) as u64;
        if kept.len() < text.len() {
            self.held_bytes = 0; // all that was held is older than what did not fit
        }
        self.grow_for(kept.len());
        if self.ring.is_empty() {
            return;
        }
        let size = self.ring.len();
        let at = (self.head % size as u64) as usize;
        let first = kept.len().min(size - at);
        self.ring[at..at + first].copy_from_slice(&kept[..first]);
        self.ring[..kept.len() - first].copy_from_slice(&kept[first..]);
        self.head += kept.len() as u64;
        self.held_bytes = (self.held_bytes + kept.len()).min(size);
    }

    /// What follows `cursor`, the number of the last byte its reader has.
    pub fn after(&self, cursor: u64) -> After<'_> {
        match self.after_any(cursor) {
            // Inside a character: no reader was ever told this position, and the rest would be broken text.
            After::Bytes([first, _]) if is_continuation(first[0]) => After::Lost,
            after => after,
        }
    }

    /// As [`Stream::after`], for a reader of bytes to whom a place inside a character means nothing.
    pub fn after_any(&self, cursor: u64) -> After<'_> {
        match cursor {
            _ if cursor == self.head => After::Nothing,
            // A cursor from the future belongs to another life of the server: lost as well.
            _ if cursor > self.head || cursor < self.tail() => After::Lost,
            _ => After::Bytes(self.parts(cursor)),
        }
    }

    /// The bytes after `from` up to and with byte `to`; `None` when the stream does not hold them all.
    pub fn between(&self, from: u64, to: u64) -> Option<[&[u8]; 2]> {
        let bytes = usize::try_from(to.checked_sub(from)?).ok()?;
        let parts = match self.after_any(from) {
            After::Bytes(parts) if to <= self.head => parts,
            After::Nothing if bytes == 0 => return Some([&[], &[]]),
            _ => return None,
        };
        let first = bytes.min(parts[0].len());
        Some([&parts[0][..first], &parts[1][..bytes - first]])
    }

    /// Doubles the ring until `more` fits beside what is held, or the bound is reached.
    fn grow_for(&mut self, more: usize) {
        let wanted = (self.held_bytes + more).min(self.bytes_max);
        if wanted <= self.ring.len() {
            return;
        }
        let size = wanted.next_power_of_two().max(REPLAY_BYTES_FIRST).min(self.bytes_max);
        let mut ring = vec![0; size];
        if self.held_bytes > 0 {
            let mut at = (self.tail() % size as u64) as usize;
            for part in self.parts(self.tail()) {
                let first = part.len().min(size - at);
                ring[at..at + first].copy_from_slice(&part[..first]);
                ring[..part.len() - first].copy_from_slice(&part[first..]);
                at = (at + part.len()) % size;
            }
        }
        self.ring = ring;
    }

    /// The held bytes after `cursor`, which is below the head.
    fn parts(&self, cursor: u64) -> [&[u8]; 2] {
        let size = self.ring.len();
        let from = (cursor % size as u64) as usize;
        let bytes = (self.head - cursor) as usize;
        let first = bytes.min(size - from);
        [&self.ring[from..from + first], &self.ring[..bytes - first]]
    }
}

/// Cuts `parts` to at most `bytes_max` (at least 4), between two characters.
pub(crate) fn cut(parts: [&[u8]; 2], bytes_max: usize) -> [&[u8]; 2] {
    let byte = |i: usize| parts[0].get(i).or_else(|| parts[1].get(i - parts[0].len()));
    let mut end = bytes_max.min(parts[0].len() + parts[1].len());
    while end > 0 && byte(end).is_some_and(|b| is_continuation(*b)) {
        end -= 1;
    }
    let first = end.min(parts[0].len());
    [&parts[0][..first], &parts[1][..end - first]]
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(after: After<'_>) -> Option<Vec<u8>> {
        match after {
            After::Nothing => Some(Vec::new()),
            After::Bytes(parts) => Some(parts.concat()),
            After::Lost => None,
        }
    }

    #[test]
    fn a_cursor_gets_what_follows_it_until_the_ring_has_forgotten() {
        let mut stream = Stream::new(8);
        stream.append(b"abc");
        assert_eq!(joined(stream.after(0)), Some(b"abc".to_vec()));
        assert_eq!(joined(stream.after(3)), Some(vec![]));
        assert_eq!(joined(stream.after(4)), None);
        stream.append(b"defghij");
        assert_eq!((stream.head(), stream.tail()), (10, 2));
        assert_eq!(joined(stream.after(1)), None);
        assert_eq!(joined(stream.after(2)), Some(b"cdefghij".to_vec()));
    }

    #[test]
    fn more_than_the_ring_at_once_keeps_its_end() {
        let mut stream = Stream::new(4);
        stream.append(b"ab");
        stream.append(b"0123456789");
        assert_eq!((stream.head(), stream.tail()), (12, 8));
        assert_eq!(joined(stream.after(8)), Some(b"6789".to_vec()));
    }

    #[test]
    fn a_range_is_whole_or_not_there() {
        let mut stream = Stream::new(8);
        stream.append(b"abcdefghij");
        let between = |from, to| stream.between(from, to).map(|parts| parts.concat());
        assert_eq!(between(2, 10), Some(b"cdefghij".to_vec()));
        assert_eq!(between(4, 6), Some(b"ef".to_vec()));
        assert_eq!((between(5, 5), between(10, 10)), (Some(vec![]), Some(vec![])));
        assert_eq!([between(1, 4), between(9, 11), between(6, 5), between(11, 11)], [None, None, None, None]);
    }

    #[test]
    fn a_cursor_inside_a_character_is_lost() {
        let mut stream = Stream::new(64);
        stream.append("a─b".as_bytes());
        assert_eq!(joined(stream.after(1)), Some("─b".into()));
        assert_eq!(joined(stream.after(2)), None);
        assert_eq!(joined(stream.after(4)), Some(b"b".to_vec()));
    }

    #[test]
    fn a_cut_falls_between_characters() {
        let text = "ab─cd".as_bytes();
        for split in 0..=text.len() {
            let parts = [&text[..split], &text[split..]];
            assert_eq!(cut(parts, 4).concat(), b"ab");
            assert_eq!(cut(parts, 5).concat(), "ab─".as_bytes());
            assert_eq!(cut(parts, 99).concat(), text);
        }
    }

    proptest! {
        #[test]
        fn it_equals_a_list_of_all_bytes(bytes_max in 1usize..40_000,
                                         pieces in proptest::collection::vec(0usize..9_000, 1..30)) {
            let (mut stream, mut all) = (Stream::new(bytes_max), Vec::new());
            for (i, piece) in pieces.into_iter().enumerate() {
                let text: Vec<u8> = (0..piece).map(|n| ((n * 31 + i * 7) % 127) as u8).collect();
                stream.append(&text);
                all.extend_from_slice(&text);
                prop_assert_eq!(stream.head(), all.len() as u64);
                prop_assert_eq!(stream.tail() as usize, all.len().saturating_sub(bytes_max));
                for cursor in [stream.tail(), stream.tail() + (stream.head() - stream.tail()) / 2, stream.head()] {
                    prop_assert_eq!(joined(stream.after(cursor)).unwrap(), &all[cursor as usize..]);
                }
            }
        }
    }
}
