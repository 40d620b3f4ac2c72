//! Keeps a split character back, so that the stream is UTF-8 in whole characters.

use std::time::Instant;

use crate::limits::UTF8_HOLD;

/// The bytes of a character whose rest has not come yet. Whatever the cuts, what is emitted in the end
/// equals `String::from_utf8_lossy` of the whole.
#[derive(Default)]
pub(super) struct Utf8Seam {
    held: [u8; 4],
    held_bytes: usize,
    since: Option<Instant>,
}

const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();

impl Utf8Seam {
    /// Passes `bytes` on to `emit` as valid UTF-8 in whole characters; an incomplete one at the end stays.
    pub(super) fn pass(&mut self, bytes: &[u8], now: Instant, mut emit: impl FnMut(&[u8])) {
        let mut rest = bytes;
        while self.held_bytes > 0 && !rest.is_empty() {
            self.held[self.held_bytes] = rest[0];
            match std::str::from_utf8(&self.held[..self.held_bytes + 1]).map_err(|e| e.error_len()) {
                Ok(character) => {
                    emit(character.as_bytes());
                    self.held_bytes = 0;
                    rest = &rest[1..];
                }
                Err(None) => {
                    self.held_bytes += 1;
                    self.since = Some(now);
                    rest = &rest[1..];
                }
                // The new byte does not continue it, and is looked at again by itself.
                Err(Some(_)) => {
                    emit(REPLACEMENT);
                    self.held_bytes = 0;
                }
            }
        }
        while let Err(error) = simdutf8::compat::from_utf8(rest) {
            let (valid, after) = rest.split_at(error.valid_up_to());
            if !valid.is_empty() {
                emit(valid);
            }
            match error.error_len() {
                Some(n) => {
                    emit(REPLACEMENT);
                    rest = &after[n..];
                }
                None => {
                    self.held[..after.len()].copy_from_slice(after);
                    self.held_bytes = after.len();
                    self.since = Some(now);
                    return;
                }
            }
        }
        if !rest.is_empty() {
            emit(rest);
        }
    }

    /// When the held bytes are given up: half a character must not be kept from those who wait for it.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.since.filter(|_| self.held_bytes > 0).map(|since| since + UTF8_HOLD)
    }

    /// The rest will not come: one U+FFFD stands for what was held. Returns whether there was any.
    pub(super) fn give_up(&mut self, emit: impl FnOnce(&[u8])) -> bool {
        let held = std::mem::take(&mut self.held_bytes) > 0;
        if held {
            emit(REPLACEMENT);
        }
        held
    }

    /// Whether nothing is held.
    pub(super) fn is_empty(&self) -> bool {
        self.held_bytes == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passed(pieces: &[&[u8]]) -> (Vec<u8>, bool) {
        let (mut seam, mut out, now) = (Utf8Seam::default(), Vec::new(), Instant::now());
        for piece in pieces {
            seam.pass(piece, now, |text| {
                assert!(std::str::from_utf8(text).is_ok());
                out.extend_from_slice(text);
            });
        }
        let held = seam.give_up(|text| out.extend_from_slice(text));
        (out, held)
    }

    #[test]
    fn a_character_cut_anywhere_comes_out_whole() {
        let pieces: Vec<&[u8]> = "─😀".as_bytes().chunks(1).collect();
        assert_eq!(passed(&pieces), ("─😀".into(), false));
    }

    #[test]
    fn the_hold_counts_from_the_last_byte_that_came() {
        let (mut seam, start) = (Utf8Seam::default(), Instant::now());
        seam.pass(b"\xf0", start, |_| {});
        let later = start + UTF8_HOLD / 2;
        seam.pass(b"\x9f", later, |_| {});
        assert_eq!(seam.deadline(), Some(later + UTF8_HOLD));
    }

    #[test]
    fn half_a_character_at_the_end_is_one_replacement() {
        assert_eq!(passed(&[b"a\xe2\x94"]), ("a\u{FFFD}".into(), true));
    }

    proptest! {
        #[test]
        fn any_cuts_equal_the_lossy_whole(bytes in proptest::collection::vec(
            prop_oneof![any::<u8>(), Just(0xe2), Just(0x94), Just(0x80), Just(0xf0), Just(0x9f), Just(b'a')], 0..300),
            size in 1usize..150) {
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            prop_assert_eq!(passed(&pieces).0, String::from_utf8_lossy(&bytes).into_owned().into_bytes());
        }
    }
}
