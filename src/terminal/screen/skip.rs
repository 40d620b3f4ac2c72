//! Passing over output that leaves no trace.
//!
//! A screen that is far behind a flood of lines need not parse those that have scrolled out of its scrollback
//! by the flood's end. The [`Scout`] looks at all output as it comes, and knows since when there was nothing
//! but lines: text, and sequences that move the cursor within its row, change the pen, or change a state that
//! no cell depends on, and by [`Frames`] where all rows were painted again. [`Screen::pass_over`] then goes to the
//! start of what still counts: it applies what sequences leave behind, and skips the text.

use memchr::{memchr, memchr_iter, memchr2, memrchr, memrchr_iter};

use super::frames::Frames;
use super::sequence::{Action, Sequence, State};
use super::{Row, Screen, Utf8, first_of_utf8};

/// Looks ahead of the screen, at all bytes once.
pub(super) struct Scout {
    sequence: Sequence,
    /// Bytes taken.
    at: u64,
    /// Since here there were only lines.
    lines_from: u64,
    /// Here ended the last sequence that left more behind than a pen.
    states_to: u64,
    frames: Frames,
}

/// What a sequence means for the lines around it.
#[derive(PartialEq)]
enum Trace {
    /// Nothing but cells of its row, its column, or the pen.
    Row,
    /// A state that no cell depends on.
    State,
    /// Anything else.
    Unknown,
}

impl Scout {
    pub(super) fn new(cols: u16, rows: u16) -> Scout {
        let (sequence, frames) = (Sequence::new(0), Frames::new(cols, rows));
        Scout { sequence, at: 0, lines_from: 0, states_to: 0, frames }
    }

    pub(super) fn resize(&mut self, cols: u16, rows: u16) {
        self.frames = Frames::new(cols, rows);
    }

    pub(super) fn rest(&mut self) {
        self.sequence.rest();
    }

    /// Takes whole characters.
    fn take(&mut self, text: &[u8]) {
        let mut rest = text;
        while !rest.is_empty() {
            let (len, trace) = match self.sequence.state {
                State::Ground => self.ground(rest),
                _ => self.inside(rest),
            };
            self.at += len as u64;
            match trace {
                Trace::Row => {}
                Trace::State => self.states_to = self.at,
                Trace::Unknown => self.lines_from = self.at,
            }
            rest = &rest[len..];
        }
    }

    fn ground(&mut self, bytes: &[u8]) -> (usize, Trace) {
        let framed = self.frames.known_from().is_some();
        let run = if framed { self.framed_run(bytes) } else { lines_run(bytes) };
        if run > 0 {
            return (run, Trace::Row);
        }
        if bytes[0] != 0x1b {
            return self.inside(bytes); // a shift, or a C1 control
        }
        if let Some((last, len)) = self.sequence.read_csi(bytes) {
            return (len, self.trace_of(last, len));
        }
        self.sequence.step(0x1b, b"\x1b");
        (1, Trace::Row)
    }

    /// As [`lines_run`], or as much of it as the frames understand at once.
    fn framed_run(&mut self, bytes: &[u8]) -> usize {
        let text = text_run(bytes);
        match bytes[text..] {
            [0xc2, 0xa0..=0xbf, ..] if text == 0 => {
                self.frames.text(2);
                return 2;
            }
            [0x0e | 0x0f | 0xc2, ..] => {}
            [0x1b, ..] => {
                self.frames.text(text);
                return text
                    + row_sequence(&bytes[text..])
                        .map_or(0, |(last, len)| if last == b'm' { len } else { 0 });
            }
            [control, ..] => {
                self.frames.text(text);
                self.frames.control(control, self.at + text as u64 + 1);
                return text + 1;
            }
            [] => {}
        }
        self.frames.text(text);
        text
    }

    fn inside(&mut self, bytes: &[u8]) -> (usize, Trace) {
        let (len, trace) = match self.sequence.skim(bytes) {
            0 => match first_of_utf8(&bytes[..bytes.len().min(4)]) {
                Utf8::Char(c, len) => (len, self.step(c, &bytes[..len])),
                _ => {
                    self.frames.lose();
                    return (1, Trace::Unknown);
                }
            },
            skimmed => (skimmed, self.trace_inside()),
        };
        if trace == Trace::Unknown && self.sequence.state != State::Ground {
            self.frames.lose();
        }
        (len, trace)
    }

    fn step(&mut self, c: char, bytes: &[u8]) -> Trace {
        match self.sequence.step(c.into(), bytes) {
            // A control in a string has no effect, but must not be taken for the end of a line. A sequence that a
            // C1 control begins is not found by a search for ESC.
            Action::Nothing if c.is_control() && c != '\x1b' => Trace::Unknown,
            Action::Nothing => self.trace_inside(),
            ended @ (Action::Osc | Action::Dcs) => {
                if self.sequence.state == State::Escape {
                    self.sequence.begin_escape();
                }
                if ended == Action::Osc {
                    return Trace::State;
                }
                self.frames.lose();
                Trace::Unknown
            }
            Action::Csi => self.trace_of(c as u8, bytes.len()),
            Action::Escape if c == '\\' && self.sequence.collect == 0 => Trace::Row,
            Action::Escape | Action::Execute | Action::Print => {
                self.frames.lose();
                Trace::Unknown
            }
        }
    }

    fn trace_inside(&self) -> Trace {
        match self.sequence.state {
            State::Escape
            | State::EscapeIntermediate
            | State::CsiEntry
            | State::CsiParam
            | State::CsiIntermediate
            | State::Osc => Trace::Row,
            _ => Trace::Unknown,
        }
    }

    /// The control sequence whose last `len` bytes come now.
    fn trace_of(&mut self, last: u8, len: usize) -> Trace {
        const PRIVATE: u32 = b'?' as u32;
        let params = &self.sequence.params;
        match (self.sequence.collect, last) {
            (PRIVATE, b'h' | b'l') if params.values().iter().all(is_apart) => return Trace::State,
            (0, last) => self.frames.sequence(last, params, self.at + len as u64),
            _ => self.frames.lose(),
        }
        if self.sequence.collect == 0 && is_of_row(last) { Trace::Row } else { Trace::Unknown }
    }
}

/// The final byte and the length of a control sequence without a prefix that is of its row, whatever its numbers.
fn row_sequence(bytes: &[u8]) -> Option<(u8, usize)> {
    let numbers = bytes.strip_prefix(b"\x1b[")?;
    let mut at = 0;
    while let Some(word) = word_at(numbers, at) {
        if let Some(last) = first_of(beyond_number(word)) {
            at += last;
            break;
        }
        at += 8;
    }
    while (b'0'..=b';').contains(numbers.get(at)?) {
        at += 1;
    }
    let last = numbers[at];
    is_of_row(last).then_some((last, at + 3))
}

/// SGR, and what erases, shifts or moves the cursor within a row.
fn is_of_row(last: u8) -> bool {
    last == b'm' || matches!(last, b'K' | b'G' | b'`' | b'C' | b'a' | b'D' | b'I' | b'Z' | b'@' | b'P' | b'X')
}

/// Private modes that change no cell and no place: cursor keys, blinking and showing the cursor, pasting in
/// brackets, synchronized updates.
fn is_apart(mode: &i32) -> bool {
    matches!(mode, 1 | 12 | 25 | 2004 | 2026)
}

/// Bytes at the start that are plain or sequences of their row.
fn lines_run(bytes: &[u8]) -> usize {
    let mut at = plain_run(bytes);
    while let Some((_, len)) = row_sequence(&bytes[at..]) {
        at += len;
        at += plain_run(&bytes[at..]);
    }
    at
}

/// Bytes at the start that are text or controls of a line, which move the cursor within its row or down: up to
/// ESC, SO, SI or a C1 control, whose first byte is 0xC2.
fn plain_run(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += odd_byte(&bytes[at..]);
        match bytes[at..] {
            [0xc2, 0xa0..=0xbf, ..] => at += 2,
            _ => return at,
        }
    }
}

/// Where the first ESC, SO, SI or 0xC2 stands, or the end.
fn odd_byte(bytes: &[u8]) -> usize {
    let odd = |word| is_byte(word, 0x1b) | is_byte(word, 0xc2) | is_byte(word & (ONES * 0xfe), 0x0e);
    find_soon(bytes, odd, |rest| {
        let end = memchr2(0x1b, 0xc2, rest).unwrap_or(rest.len());
        memchr2(0x0e, 0x0f, &rest[..end]).unwrap_or(end)
    })
}

/// Where the first ESC stands, or the end.
fn escape(bytes: &[u8]) -> usize {
    find_soon(bytes, |word| is_byte(word, 0x1b), |rest| memchr(0x1b, rest).unwrap_or(rest.len()))
}

/// Where the first byte of a kind stands. Runs between two sequences are mostly shorter than what a search by
/// blocks needs to start, so the first bytes are looked at by words.
fn find_soon(bytes: &[u8], found: impl Fn(u64) -> u64, search: impl Fn(&[u8]) -> usize) -> usize {
    let mut start = 0;
    while start < 24
        && let Some(word) = word_at(bytes, start)
    {
        if let Some(at) = first_of(found(word)) {
            return start + at;
        }
        start += 8;
    }
    start + search(&bytes[start..])
}

/// Bytes at the start that are no controls and begin none.
fn text_run(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = word_at(bytes, at) {
        if let Some(odd) = first_of(is_below(word, 0x20) | is_byte(word, 0xc2)) {
            return at + odd;
        }
        at += 8;
    }
    at + bytes[at..].iter().take_while(|b| **b >= 0x20 && **b != 0xc2).count()
}

// Eight bytes at once. What finds bytes of a kind sets the high bit of each of them; bits above the lowest that is
// set may be wrong.

const ONES: u64 = u64::MAX / 255;

fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    let (word, _) = bytes.get(at..)?.split_first_chunk()?;
    Some(u64::from_le_bytes(*word))
}

/// Which byte is the first of those found.
fn first_of(found: u64) -> Option<usize> {
    (found != 0).then(|| (found.trailing_zeros() / 8) as usize)
}

fn is_byte(word: u64, byte: u64) -> u64 {
    is_below(word ^ (ONES * byte), 1)
}

/// For bounds up to 0x80.
fn is_below(word: u64, bound: u64) -> u64 {
    word.wrapping_sub(ONES * bound) & !word & (ONES * 0x80)
}

/// Neither a digit nor `:` or `;`.
fn beyond_number(word: u64) -> u64 {
    let word = word ^ (ONES * 0x30);
    (word.wrapping_add(ONES * (0x7f - 0x0b)) | word) & (ONES * 0x80)
}

impl Screen {
    /// Tells what was appended to the stream and will be fed or passed over later: whole characters.
    pub fn foresee(&mut self, text: &[u8]) {
        self.scout.take(text);
    }

    /// Passes over what cannot be seen any more by the end of `lag`: all that was foreseen and not fed. Returns how
    /// many bytes that were. Only with what follows them is the screen right again.
    pub fn pass_over(&mut self, lag: [&[u8]; 2], replies: Option<&mut Vec<u8>>) -> usize {
        self.answering_to(replies, |screen| {
            let started = lag.map(|part| screen.feed_to_ground(part));
            let lag = [&lag[0][started[0]..], &lag[1][started[1]..]];
            let (end, row) =
                screen.lines_that_count(lag).or_else(|| screen.frame_that_counts()).unwrap_or((0, 0));
            if end > 0 {
                let first = end.min(lag[0].len());
                screen.apply_sequences([&lag[0][..first], &lag[1][..end - first]]);
                (screen.active_mut().x, screen.active_mut().y) = (0, row);
                screen.join = 0;
            }
            started[0] + started[1] + end
        })
    }

    /// Where the last frame starts that paints all rows, and the row of the cursor there.
    fn frame_that_counts(&self) -> Option<(usize, u16)> {
        let buffer = self.active();
        let plain = !self.modes.origin && !self.modes.insert && !self.modes.line_feed_returns;
        let whole = buffer.top == 0 && buffer.bottom == self.rows - 1 && buffer.len == self.cols;
        let known = self.at_ground() && self.scout.frames.known_from().is_some_and(|at| at <= self.fed);
        // Painting does not always make a wrapped row one of its own.
        if !(plain && whole && known) || buffer.rows.iter().any(Row::is_wrapped) {
            return None;
        }
        let (at, row) = self.scout.frames.start()?;
        Some((usize::try_from(at.checked_sub(self.fed)?).ok()?, row))
    }

    /// Where the last lines of `lag` start that can still be seen at its end: as many as scrollback and screen
    /// have. Before them the cursor is in the last row, so that each of them scrolls.
    fn lines_that_count(&self, lag: [&[u8]; 2]) -> Option<(usize, u16)> {
        let buffer = &self.normal;
        let scrolls = !self.on_alternate && buffer.top == 0 && buffer.bottom == self.rows - 1;
        if !scrolls || self.modes.reverse_wrap || !self.at_ground() || self.scout.lines_from > self.fed {
            return None;
        }
        let mut ends = memrchr_iter(b'\n', lag[1])
            .map(|at| lag[0].len() + at)
            .chain(memrchr_iter(b'\n', lag[0]))
            .skip(usize::from(self.rows) + self.history_max);
        let byte = |at: usize| lag[0].get(at).or_else(|| lag[1].get(at - lag[0].len()));
        let end = ends.find(|end| *end > 0 && byte(*end - 1) == Some(&b'\r'))? + 1;
        let to_last_row = usize::from(self.rows - 1 - buffer.y);
        let first = end.min(lag[0].len());
        let lines = memchr_iter(b'\n', &lag[0][..first]).chain(memchr_iter(b'\n', &lag[1][..end - first]));
        (lines.take(to_last_row).count() == to_last_row).then_some((end, self.rows - 1))
    }

    /// Applies the sequences in `text`, and skips the rest. A pen that is reset later leaves nothing behind.
    fn apply_sequences(&mut self, text: [&[u8]; 2]) {
        let mut base = self.fed;
        let end = base + (text[0].len() + text[1].len()) as u64;
        let second = base + text[0].len() as u64;
        let pen_from = last_reset(text[1])
            .map(|at| second + at as u64)
            .or_else(|| last_reset(text[0]).map(|at| base + at as u64))
            .unwrap_or(base);
        let from = if self.scout.states_to > base { base } else { pen_from };
        for part in text {
            let mut at = from.saturating_sub(base).min(part.len() as u64) as usize;
            while at < part.len() {
                if self.at_ground() {
                    at += escape(&part[at..]);
                    if at == part.len() {
                        break;
                    }
                    let passed = base + (at as u64) < pen_from;
                    if passed && matches!(part[at..], [0x1b, b'[', b'0'..=b';' | b'A'..=b'z', ..]) {
                        at += 2; // its numbers and its end are text to a search for the next one
                        continue;
                    }
                    if let Some((last, len)) = self.sequence.read_csi(&part[at..]) {
                        if last == b'm' || self.sequence.collect > 0 {
                            self.control_sequence(self.sequence.collect, last.into());
                        }
                        at += len;
                        continue;
                    }
                }
                let len = self.payload_run(&part[at..]);
                self.fed = base + at as u64;
                self.take(&part[at..at + len]);
                at += len;
            }
            base += part.len() as u64;
        }
        self.fed = end;
    }
}

/// Where the last SGR stands that only resets.
fn last_reset(text: &[u8]) -> Option<usize> {
    let mut end = text.len();
    while let Some(at) = memrchr(0x1b, &text[..end]) {
        if matches!(text[at..], [0x1b, b'[', b'm', ..] | [0x1b, b'[', b'0', b'm', ..]) {
            return Some(at);
        }
        end = at;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_run_ends_at_a_sequence_a_shift_or_a_c1_control() {
        for odd in [&b"\x1b["[..], b"\x0e", b"\x0f", b"\xc2\x80", b"\xc2\x9f", b"\xc2"] {
            for at in 0..150 {
                let text = [&"é~\r\n\u{7}字".repeat(20).as_bytes()[..at], odd].concat();
                assert_eq!(plain_run(&text), at, "{odd:?}");
            }
        }
        let plain = "«plain\ttext»\u{a0}".repeat(9);
        assert_eq!(plain_run(plain.as_bytes()), plain.len());
        assert_eq!(plain_run(b""), 0);
    }
}
