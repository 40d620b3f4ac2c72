//! What comes from the user's terminal: keys, its own reports, and the key that detaches.
//!
//! Bytes pass unchanged and in order. Reports (answers to queries, focus, mouse motion) are told from keys,
//! since they are input but not use: they must not make this client the one whose size the program gets.
//! What is not surely a report is a key.

use super::keys::Key;
use super::scan::{Csi, Piece, Scanner, Writer, string_body};
use crate::limits::CLI_SEQUENCE_BYTES_MAX;

/// A stretch of input, or the wish to leave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// For the program; `claim` is false for the terminal's own reports. Whole characters, unless the
    /// terminal sent something that is not UTF-8.
    Bytes { bytes: Vec<u8>, claim: bool },
    /// The detach key. What follows it in the same read is dropped.
    Detach,
}

/// The parser of the user's terminal.
pub(super) struct Keyboard {
    scanner: Scanner,
    /// The keys of the detach sequence; empty means that there is none.
    detach: Vec<Key>,
    /// The first keys of the detach sequence, pressed and not yet forwarded, and how many they are.
    pressed: (usize, Vec<u8>),
    /// Inside `ESC [ 200 ~ ... ESC [ 201 ~`: pasted text detaches nothing.
    pasting: bool,
    /// The first bytes of a character.
    split_character: Vec<u8>,
    typed: Vec<Typed>,
}

impl Keyboard {
    /// `detach` is the sequence of keys that detaches.
    pub(super) fn new(detach: Vec<Key>) -> Keyboard {
        Keyboard {
            scanner: Scanner::new(Writer::Terminal, CLI_SEQUENCE_BYTES_MAX),
            detach,
            pressed: (0, Vec::new()),
            pasting: false,
            split_character: Vec::new(),
            typed: Vec::new(),
        }
    }

    /// Takes one read.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Typed> {
        let mut bytes = [std::mem::take(&mut self.split_character), bytes.to_vec()].concat();
        let whole = whole_characters(&bytes);
        self.split_character = bytes.split_off(whole);
        let mut scanner = std::mem::replace(&mut self.scanner, Scanner::new(Writer::Terminal, 0));
        scanner.feed(&bytes, &mut |piece| self.piece(piece));
        self.scanner = scanner;
        if self.scanner.held().len() <= 2 {
            // Escape, or Alt and a key: complete as they stand, unless the rest comes in another read.
            self.release();
        }
        std::mem::take(&mut self.typed)
    }

    /// Half a report is waiting for its rest: [`Keyboard::release_all`] is due soon.
    pub(super) fn waits(&self) -> bool {
        self.scanner.inside() || !self.split_character.is_empty()
    }

    /// The rest did not come: what was held back are keys.
    pub(super) fn release_all(&mut self) -> Vec<Typed> {
        self.release();
        let split = std::mem::take(&mut self.split_character);
        self.push(&split, true);
        std::mem::take(&mut self.typed)
    }

    fn release(&mut self) {
        let held = self.scanner.take_held();
        if !held.is_empty() {
            self.keys(&held);
        }
    }

    fn piece(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Plain(bytes) if self.pasting || self.detach.is_empty() => self.push(bytes, true),
            Piece::Plain(bytes) => {
                for character in characters(bytes) {
                    self.keys(character);
                }
            }
            Piece::Sequence(sequence) => {
                match sequence {
                    b"\x1b[200~" => self.pasting = true,
                    b"\x1b[201~" => self.pasting = false,
                    _ => {}
                }
                if is_report(sequence) { self.push(sequence, false) } else { self.keys(sequence) }
            }
        }
    }

    /// One key, or part of one.
    fn keys(&mut self, bytes: &[u8]) {
        let (pressed, held) = &mut self.pressed;
        let expected = self.detach.get(*pressed);
        if !self.pasting && expected.is_some_and(|key| key.is(bytes)) {
            *pressed += 1;
            held.extend_from_slice(bytes);
            if *pressed == self.detach.len() {
                self.pressed = (0, Vec::new());
                self.typed.push(Typed::Detach);
            }
            return;
        }
        if *pressed > 0 {
            let (_, held) = std::mem::take(&mut self.pressed);
            self.push(&held, true);
            return self.keys(bytes);
        }
        self.push(bytes, true);
    }

    fn push(&mut self, new: &[u8], new_claim: bool) {
        match self.typed.last_mut() {
            _ if new.is_empty() => {}
            Some(Typed::Detach) => {}
            Some(Typed::Bytes { bytes, claim }) if *claim == new_claim => bytes.extend_from_slice(new),
            _ => self.typed.push(Typed::Bytes { bytes: new.to_vec(), claim: new_claim }),
        }
    }
}

/// Bytes up to the end of the last whole character; all of them when the tail is no UTF-8 anyway.
pub(super) fn whole_characters(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    let start = (tail..bytes.len()).rev().find(|&i| bytes[i] >= 0xc0);
    match start.map(|i| (i, std::str::from_utf8(&bytes[i..]))) {
        Some((i, Err(error))) if error.error_len().is_none() => i,
        _ => bytes.len(),
    }
}

/// Splits into single characters.
fn characters(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.chunk_by(|_, next| (0x80..0xc0).contains(next))
}

/// Whether a terminal says this by itself, and no key does.
fn is_report(sequence: &[u8]) -> bool {
    if let Some((kind, body)) = string_body(sequence) {
        // DECRQSS and XTGETTCAP answers, DA3, XTVERSION; colours and clipboard; kitty graphics.
        return match kind {
            b'P' => {
                [b"0$r".as_slice(), b"1$r", b"0+r", b"1+r", b"!|", b">|"].iter().any(|p| body.starts_with(p))
            }
            b']' => body.first().is_some_and(u8::is_ascii_digit),
            b'_' => body.starts_with(b"G"),
            _ => false,
        };
    }
    let Some(csi) = Csi::parse(sequence) else {
        // X10 mouse: 3 in the low bits is a release, 32 motion.
        return matches!(sequence, [0x1b, b'[', b'M', button, _, _] if (button.wrapping_sub(32)) & 3 == 3);
    };
    let first = csi.numbers().next().unwrap_or(0);
    match (csi.marker, csi.intermediates, csi.last) {
        // DA1, DA2, kitty keyboard flags, DSR, XTSMGRAPHICS, colour scheme.
        (b'?' | b'>' | b'=', b"", b'c') | (b'?', b"", b'u' | b'n' | b'R' | b'S') => true,
        (0, b"", b'n') => matches!(first, 0 | 3),
        // Cursor position. One in row 1, columns 2 to 16, is what F3 with modifiers sends: a key.
        (0, b"", b'R') => match csi.numbers().collect::<Vec<_>>()[..] {
            [row, column] => row != 1 || !(2..=16).contains(&column),
            _ => false,
        },
        // DECRPM, XTQMODKEYS, DECREPTPARM.
        (0 | b'?', b"$", b'y') | (b'>', b"", b'm') | (0, b"", b'x') => true,
        // Focus, window reports, in-band resize.
        (0, b"", b'I' | b'O') => csi.params.is_empty(),
        (0, b"", b't') => true,
        // Mouse. A press or the wheel is use; motion and releases come by themselves.
        (b'<', b"", b'M') => first & 32 != 0,
        (b'<', b"", b'm') => true,
        (0, b"", b'M') if !csi.params.is_empty() => {
            first.wrapping_sub(32) & 3 == 3 || first.wrapping_sub(32) & 32 != 0
        }
        (0, b"", b'M') => false,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::keys;

    /// What is typed when the reads are as given; the half that waits is released at the end.
    fn typed(detach: &str, reads: &[&[u8]]) -> Vec<String> {
        let mut keyboard = Keyboard::new(keys::parse_sequence(detach).unwrap());
        let mut all: Vec<Typed> = reads.iter().flat_map(|read| keyboard.read(read)).collect();
        all.extend(keyboard.release_all());
        let mut out: Vec<String> = Vec::new();
        for typed in all {
            let text = match typed {
                Typed::Detach => "DETACH".to_owned(),
                Typed::Bytes { bytes, claim } => {
                    format!("{}{}", if claim { "" } else { "-" }, String::from_utf8_lossy(&bytes))
                }
            };
            match out.last_mut() {
                Some(last) if !text.starts_with('-') && !last.starts_with('-') && text != "DETACH" => {
                    last.push_str(&text);
                }
                _ => out.push(text),
            }
        }
        out
    }

    #[test]
    fn keys_are_forwarded_unchanged_however_reads_cut_them() {
        let keys =
            "ls\r\x1b[A\x1bOP\x1b[1;5C\x1b[97;5u\x1b[15~\x1bx\x03é你好👨‍👩‍👧\x1b[200~a\x1b[201~\x1b[1;2R\x1b[Z";
        for chunk in 1..keys.len() {
            let reads: Vec<&[u8]> = keys.as_bytes().chunks(chunk).collect();
            assert_eq!(typed("C-\\", &reads), [keys], "in reads of {chunk}");
        }
    }

    #[test]
    fn escape_alone_goes_at_once() {
        let mut keyboard = Keyboard::new(Vec::new());
        assert_eq!(keyboard.read(b"\x1b"), [Typed::Bytes { bytes: b"\x1b".to_vec(), claim: true }]);
        assert!(!keyboard.waits());
    }

    #[test]
    fn half_a_mouse_report_waits_for_its_rest() {
        let mut keyboard = Keyboard::new(Vec::new());
        assert_eq!(keyboard.read(b"\x1b[<35;1;1"), []);
        assert!(keyboard.waits());
        assert_eq!(keyboard.read(b"M"), [Typed::Bytes { bytes: b"\x1b[<35;1;1M".to_vec(), claim: false }]);
    }

    #[test]
    fn reports_are_no_use() {
        for report in [
            "\x1b[?1;2c",
            "\x1b[>0;276;0c",
            "\x1b[0n",
            "\x1b[24;80R",
            "\x1b[?1;1R",
            "\x1b[?2026;2$y",
            "\x1b[4;2$y",
            "\x1b[?5u",
            "\x1b[?997;1n",
            "\x1b[I",
            "\x1b[O",
            "\x1b[<35;10;10M",
            "\x1b[<0;10;10m",
            "\x1b[M#!!",
            "\x1b]11;rgb:0000/0000/0000\x1b\\",
            "\x1b]4;1;rgb:00/00/00\x07",
            "\x1b]52;c;QUFB\x07",
            "\x1bP1$r0m\x1b\\",
            "\x1bP>|xterm(390)\x1b\\",
            "\x1bP!|00000000\x1b\\",
            "\x1b_Gi=31;OK\x1b\\",
            "\x1b[8;24;80t",
        ] {
            let text = format!("a{report}b");
            assert_eq!(typed("none", &[text.as_bytes()]), ["a".into(), format!("-{report}"), "b".into()]);
        }
    }

    #[test]
    fn presses_of_a_mouse_button_and_modified_f3_are_use() {
        for key in ["\x1b[<0;10;10M", "\x1b[<64;1;1M", "\x1b[M !!", "\x1b[1;5R", "\x1b[R", "\x1b[32;5;5M"] {
            assert_eq!(typed("none", &[key.as_bytes()]), [key]);
        }
    }

    #[test]
    fn the_detach_key_is_found_in_every_encoding() {
        for key in ["\x1c", "\x1b[92;5u", "\x1b[92;69u", "\x1b[92;5:1u", "\x1b[92::124;5u", "\x1b[27;5;92~"] {
            let text = format!("a{key}b");
            assert_eq!(typed("C-\\", &[text.as_bytes()]), ["a", "DETACH"], "{key:?}");
        }
    }

    #[test]
    fn the_detach_key_in_pasted_text_is_text() {
        let paste = b"\x1b[200~a\x1cb\x1b[201~";
        assert_eq!(typed("C-\\", &[paste]), [std::str::from_utf8(paste).unwrap()]);
        assert_eq!(typed("C-\\", &[paste, b"\x1c"])[1], "DETACH");
    }

    #[test]
    fn a_sequence_of_keys_detaches_only_when_it_is_complete() {
        assert_eq!(typed("C-a,d", &[b"x\x01", b"d"]), ["x", "DETACH"]);
        assert_eq!(typed("C-a,d", &[b"x\x01y\x01\x01dz"]), ["x\x01y\x01", "DETACH"]);
        assert_eq!(typed("C-a,d", &[b"d\x01\x1b[A"]), ["d\x01\x1b[A"]);
    }

    #[test]
    fn without_a_detach_key_every_key_is_forwarded() {
        assert_eq!(typed("none", &[b"\x1c\x1d\x1e"]), ["\x1c\x1d\x1e"]);
    }
}
