//! Finds the escape sequences in a byte stream that is cut at any byte (ECMA-48, and xterm's strings).
//!
//! It gives no meaning to a sequence, and every byte that goes in comes out exactly once, in order: those
//! who forward can drop what they recognise and pass the rest on unchanged.

/// A part of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Text, single controls, and what turned out to be no sequence (aborted or too long).
    Plain(&'a [u8]),
    /// One whole sequence from its ESC to its last byte.
    Sequence(&'a [u8]),
}

/// Which end of a terminal wrote the stream: a mouse report of X10 has three more bytes after its final.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    /// A program.
    Program,
    /// A terminal: keys and reports.
    Terminal,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ground,
    /// After ESC, maybe with intermediates.
    Escape,
    Csi,
    /// OSC, DCS, APC, PM, SOS.
    Text {
        bel_ends: bool,
    },
    /// ESC inside a string: `\` ends it, anything else aborts it.
    TextEscape {
        bel_ends: bool,
    },
    /// Coordinates of an X10 mouse report that are still to come.
    Mouse(u8),
}

/// The scanner: holds at most the sequence under way.
pub(super) struct Scanner {
    writer: Writer,
    held: Vec<u8>,
    held_bytes_max: usize,
    /// The sequence under way was longer than `held_bytes_max` and leaves in plain pieces.
    overlong: bool,
    state: State,
}

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

impl Scanner {
    /// Sequences of up to `held_bytes_max` bytes are recognised.
    pub(super) fn new(writer: Writer, held_bytes_max: usize) -> Scanner {
        Scanner { writer, held: Vec::new(), held_bytes_max, overlong: false, state: State::Ground }
    }

    /// The bytes of a sequence whose end has not come yet.
    pub(super) fn held(&self) -> &[u8] {
        &self.held
    }

    /// Whether the stream stands inside a sequence.
    pub(super) fn inside(&self) -> bool {
        self.state != State::Ground
    }

    /// Gives up the sequence under way: the next byte starts afresh.
    pub(super) fn take_held(&mut self) -> Vec<u8> {
        self.state = State::Ground;
        self.overlong = false;
        std::mem::take(&mut self.held)
    }

    /// Takes the next bytes.
    pub(super) fn feed(&mut self, mut bytes: &[u8], emit: &mut dyn FnMut(Piece<'_>)) {
        while let Some(&byte) = bytes.first() {
            if self.state == State::Ground {
                let plain = memchr::memchr(ESC, bytes).unwrap_or(bytes.len());
                if plain > 0 {
                    emit(Piece::Plain(&bytes[..plain]));
                    bytes = &bytes[plain..];
                    continue;
                }
            }
            bytes = &bytes[1..];
            self.step(byte, emit);
        }
    }

    fn step(&mut self, byte: u8, emit: &mut dyn FnMut(Piece<'_>)) {
        let next = match (self.state, byte) {
            (State::Mouse(1), _) => State::Ground,
            (State::Mouse(left), _) => State::Mouse(left - 1),
            (State::TextEscape { .. }, b'\\') => State::Ground,
            (State::TextEscape { .. }, _) => {
                // The ESC that aborted the string starts a sequence of its own.
                self.held.pop();
                self.abort(emit);
                self.held.push(ESC);
                self.state = State::Escape;
                return self.step(byte, emit);
            }
            (State::Ground, _) => State::Escape,
            (_, CAN | SUB) => {
                self.held.push(byte);
                return self.abort(emit);
            }
            (State::Text { bel_ends }, ESC) => State::TextEscape { bel_ends },
            (State::Escape | State::Csi, ESC) => {
                self.abort(emit);
                State::Escape
            }
            (State::Text { bel_ends: true }, BEL) => State::Ground,
            (State::Text { bel_ends }, _) => State::Text { bel_ends },
            (State::Escape, b'[') if self.held.len() == 1 => State::Csi,
            (State::Escape, b']') if self.held.len() == 1 => State::Text { bel_ends: true },
            (State::Escape, b'P' | b'_' | b'^' | b'X') if self.held.len() == 1 => {
                State::Text { bel_ends: false }
            }
            (State::Escape, 0x20..=0x2f) => State::Escape,
            (State::Escape, _) => State::Ground,
            (State::Csi, b'M') if self.writer == Writer::Terminal && self.held.len() == 2 => State::Mouse(3),
            (State::Csi, 0x40..=0x7e) => State::Ground,
            (State::Csi, _) => State::Csi,
        };
        self.held.push(byte);
        self.state = next;
        if next == State::Ground {
            let held = std::mem::take(&mut self.held);
            let overlong = std::mem::take(&mut self.overlong);
            emit(if overlong { Piece::Plain(&held) } else { Piece::Sequence(&held) });
            self.held = held;
            self.held.clear();
        } else if self.held.len() >= self.held_bytes_max && !matches!(next, State::TextEscape { .. }) {
            self.overlong = true;
            emit(Piece::Plain(&self.held));
            self.held.clear();
        }
    }

    fn abort(&mut self, emit: &mut dyn FnMut(Piece<'_>)) {
        emit(Piece::Plain(&self.held));
        self.held.clear();
        self.overlong = false;
        self.state = State::Ground;
    }
}

/// A control sequence `ESC [ ... final`, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Csi<'a> {
    /// `?`, `>`, `<`, `=` or 0.
    pub(super) marker: u8,
    /// Digits, `;` and `:`.
    pub(super) params: &'a [u8],
    /// Bytes 0x20..=0x2f before the final.
    pub(super) intermediates: &'a [u8],
    /// The last byte.
    pub(super) last: u8,
}

impl Csi<'_> {
    /// `None` when it is something else, or holds a control character.
    pub(super) fn parse(sequence: &[u8]) -> Option<Csi<'_>> {
        let body = sequence.strip_prefix(b"\x1b[")?;
        let (&last, body) = body.split_last()?;
        let (marker, body) = match body.split_first() {
            Some((&marker @ b'<'..=b'?', rest)) => (marker, rest),
            _ => (0, body),
        };
        let params = body.iter().take_while(|byte| matches!(byte, b'0'..=b';')).count();
        let (params, intermediates) = body.split_at(params);
        if !intermediates.iter().all(|byte| matches!(byte, 0x20..=0x2f)) {
            return None;
        }
        Some(Csi { marker, params, intermediates, last })
    }

    /// The parameters as numbers, an empty one as 0; sub-parameters after `:` are left out.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.params.split(|byte| *byte == b';').map(|param| {
            let digits = param.split(|byte| *byte == b':').next().unwrap_or_default();
            digits.iter().fold(0u32, |n, digit| {
                n.saturating_mul(10).saturating_add(u32::from(digit.wrapping_sub(b'0')))
            })
        })
    }
}

/// What stands between the introducer and the terminator of a string sequence: `]`, `P`, `_`, `^` or `X`,
/// and the text.
pub(super) fn string_body(sequence: &[u8]) -> Option<(u8, &[u8])> {
    let body = sequence.strip_prefix(b"\x1b")?;
    let (&kind, body) = body.split_first()?;
    if !matches!(kind, b']' | b'P' | b'_' | b'^' | b'X') {
        return None;
    }
    Some((kind, body.strip_suffix(b"\x1b\\").or_else(|| body.strip_suffix(b"\x07"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of `stream` fed in chunks of `chunk` bytes; `+` marks a sequence, neighbouring text is joined.
    fn pieces(writer: Writer, stream: &[u8], chunk: usize) -> Vec<String> {
        let mut scanner = Scanner::new(writer, 32);
        let mut out: Vec<String> = Vec::new();
        for bytes in stream.chunks(chunk) {
            scanner.feed(bytes, &mut |piece| match piece {
                Piece::Sequence(bytes) => out.push(format!("+{}", String::from_utf8_lossy(bytes))),
                Piece::Plain(bytes) => {
                    let text = String::from_utf8_lossy(bytes);
                    match out.last_mut() {
                        Some(last) if !last.starts_with('+') => last.push_str(&text),
                        _ => out.push(text.into_owned()),
                    }
                }
            });
        }
        out
    }

    #[test]
    fn sequences_are_found_however_the_stream_is_cut() {
        let stream = b"a\x1b[1;2Hb\x1b]2;t\x07\x1b]2;u\x1b\\\x1bP$qm\x1b\\\x1b(0\x1b=c";
        let want = [
            "a",
            "+\x1b[1;2H",
            "b",
            "+\x1b]2;t\x07",
            "+\x1b]2;u\x1b\\",
            "+\x1bP$qm\x1b\\",
            "+\x1b(0",
            "+\x1b=",
            "c",
        ];
        for chunk in 1..stream.len() {
            assert_eq!(pieces(Writer::Program, stream, chunk), want, "in chunks of {chunk}");
        }
    }

    #[test]
    fn an_aborted_or_endless_sequence_passes_as_text() {
        assert_eq!(pieces(Writer::Program, b"\x1b[1\x18x", 9), ["\x1b[1\x18x"]);
        assert_eq!(pieces(Writer::Program, b"\x1b]2;t\x1b[1m", 99), ["\x1b]2;t", "+\x1b[1m"]);
        let endless = [b"\x1b]52;c;".as_slice(), &[b'A'; 100], b"\x07x"].concat();
        assert_eq!(pieces(Writer::Program, &endless, 7), [String::from_utf8(endless.clone()).unwrap()]);
    }

    #[test]
    fn a_terminals_x10_mouse_report_has_three_more_bytes() {
        assert_eq!(pieces(Writer::Terminal, b"\x1b[M !!x", 2), ["+\x1b[M !!", "x"]);
        assert_eq!(pieces(Writer::Program, b"\x1b[M !!x", 9), ["+\x1b[M", " !!x"]);
    }

    #[test]
    fn a_control_sequence_is_taken_apart() {
        let csi = Csi::parse(b"\x1b[?2026;7$p").unwrap();
        assert_eq!((csi.marker, csi.intermediates, csi.last), (b'?', b"$".as_slice(), b'p'));
        assert_eq!(csi.numbers().collect::<Vec<_>>(), [2026, 7]);
        assert!(Csi::parse(b"\x1b[1\n2m").is_none());
    }
}
