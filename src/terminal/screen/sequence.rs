//! The escape-sequence state machine (DEC VT500, as in Paul Williams's diagram), with the transitions
//! that xterm.js has. It knows what a sequence is, not what one means.

/// The buffer of a sequence is given back when it grew larger than this.
const PENDING_BYTES_KEPT: usize = 256;

/// Where the stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ground,
    Escape,
    EscapeIntermediate,
    CsiEntry,
    CsiParam,
    CsiIntermediate,
    CsiIgnore,
    Osc,
    /// SOS, PM and APC: nothing in them means anything here.
    OtherString,
    DcsEntry,
    DcsParam,
    DcsIntermediate,
    DcsIgnore,
    DcsPassthrough,
}

impl State {
    /// Inside OSC, DCS, SOS, PM or APC.
    pub(super) fn is_string(self) -> bool {
        use State as S;
        match self {
            S::Osc
            | S::OtherString
            | S::DcsEntry
            | S::DcsParam
            | S::DcsIntermediate
            | S::DcsIgnore
            | S::DcsPassthrough => true,
            S::Ground
            | S::Escape
            | S::EscapeIntermediate
            | S::CsiEntry
            | S::CsiParam
            | S::CsiIntermediate
            | S::CsiIgnore => false,
        }
    }
}

/// What one code point outside of plain text asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Nothing,
    /// Print this character (it came in [`State::Ground`]).
    Print,
    /// Execute this control.
    Execute,
    /// `Sequence::collect` and the code point name an escape sequence.
    Escape,
    /// The same for a control sequence; its numbers are in `Sequence::params`.
    Csi,
    /// An operating system command is complete: `Sequence::payload`.
    Osc,
    /// A device control string is complete: `Sequence::payload`, named by `Sequence::dcs`.
    Dcs,
}

/// Numbers of a control sequence. As xterm.js: at most 32 and 32 subparameters, the first one is 0 when
/// absent, a missing subparameter is -1.
#[derive(Clone, Debug)]
pub(super) struct Params {
    values: [i32; 32],
    len: u8,
    subs: [i32; 32],
    subs_len: u8,
    subs_of: [(u8, u8); 32],
    digit_is_sub: bool,
    full: bool,
    subs_full: bool,
}

impl Params {
    fn new() -> Params {
        Params {
            values: [0; 32],
            len: 1,
            subs: [0; 32],
            subs_len: 0,
            subs_of: [(0, 0); 32],
            digit_is_sub: false,
            full: false,
            subs_full: false,
        }
    }

    fn clear(&mut self) {
        self.values[0] = 0;
        self.len = 1;
        self.subs_len = 0;
        self.subs_of[0] = (0, 0);
        self.digit_is_sub = false;
        self.full = false;
        self.subs_full = false;
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// The number at `i`; 0 beyond the last.
    pub(super) fn get(&self, i: usize) -> i32 {
        if i < self.len() { self.values[i] } else { 0 }
    }

    /// The first number, 1 when it is absent or 0.
    pub(super) fn count(&self) -> i32 {
        self.values[0].max(1)
    }

    /// The subparameters of the number at `i`.
    pub(super) fn subs(&self, i: usize) -> &[i32] {
        if i >= self.len() {
            return &[];
        }
        let (from, to) = self.subs_of[i];
        &self.subs[usize::from(from)..usize::from(to)]
    }

    pub(super) fn values(&self) -> &[i32] {
        &self.values[..self.len()]
    }

    /// Reads plain numbers up to the first byte that is neither digit nor semicolon, and returns its
    /// place; `None` when there is none, or too many numbers.
    fn read(&mut self, bytes: &[u8]) -> Option<usize> {
        self.clear();
        let mut value = 0i32;
        for (at, byte) in bytes.iter().enumerate() {
            let last = usize::from(self.len) - 1;
            match byte {
                b'0'..=b'9' => value = value.saturating_mul(10).saturating_add(i32::from(byte - b'0')),
                b';' if last + 1 < self.values.len() => {
                    self.values[last] = value;
                    self.subs_of[last + 1] = (0, 0);
                    self.len += 1;
                    value = 0;
                }
                b';' => return None,
                _ => {
                    self.values[last] = value;
                    return Some(at);
                }
            }
        }
        None
    }

    fn push(&mut self, code: u32) {
        match code {
            0x3b => {
                self.digit_is_sub = false;
                if self.len() == self.values.len() {
                    self.full = true;
                    return;
                }
                let i = self.len();
                self.values[i] = 0;
                self.subs_of[i] = (self.subs_len, self.subs_len);
                self.len += 1;
            }
            0x3a => {
                self.digit_is_sub = true;
                if self.full || usize::from(self.subs_len) == self.subs.len() {
                    self.subs_full = true;
                    return;
                }
                self.subs[usize::from(self.subs_len)] = -1;
                self.subs_len += 1;
                self.subs_of[self.len() - 1].1 += 1;
            }
            _ => {
                if self.full || (self.digit_is_sub && (self.subs_full || self.subs_len == 0)) {
                    return;
                }
                let digit = code as i32 - 0x30;
                let value = if self.digit_is_sub {
                    &mut self.subs[usize::from(self.subs_len) - 1]
                } else {
                    let last = self.len() - 1;
                    &mut self.values[last]
                };
                *value = if *value == -1 { digit } else { value.saturating_mul(10).saturating_add(digit) };
            }
        }
    }
}

/// The sequence that is under way.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    pub(super) state: State,
    pub(super) params: Params,
    /// Prefix and intermediates, one byte each, the last one lowest.
    pub(super) collect: u32,
    /// `collect` and final byte of the device control string under way.
    pub(super) dcs: u32,
    /// The bytes so far, without controls that were executed on the way. Of one that is longer than
    /// `bytes_max` only its kind is remembered.
    pending: Vec<u8>,
    bytes_max: usize,
    /// Where the payload of a string starts in `pending`.
    payload_at: usize,
    overflowed: bool,
}

impl Sequence {
    /// Between two sequences; keeps at most `bytes_max` bytes of one.
    pub(super) fn new(bytes_max: usize) -> Sequence {
        Sequence {
            state: State::Ground,
            params: Params::new(),
            collect: 0,
            dcs: 0,
            pending: Vec::new(),
            bytes_max,
            payload_at: 0,
            overflowed: false,
        }
    }

    /// The payload of the string that just ended; `None` when it was too long to keep.
    pub(super) fn payload(&self) -> Option<&[u8]> {
        if self.overflowed { None } else { self.pending.get(self.payload_at..) }
    }

    /// What a fresh parser must be given so that the stream's next bytes continue the sequence. Of one
    /// that was too long to keep, a start that swallows the rest without any effect.
    pub(super) fn put_pending(&self, out: &mut Vec<u8>) {
        let stand_in: &[u8] = match self.state {
            State::Ground => return,
            _ if !self.overflowed => &self.pending,
            State::Osc => b"\x1b]x",
            State::OtherString => b"\x1b_",
            State::DcsEntry
            | State::DcsParam
            | State::DcsIntermediate
            | State::DcsIgnore
            | State::DcsPassthrough => b"\x1bP0<",
            State::CsiEntry | State::CsiParam | State::CsiIntermediate | State::CsiIgnore => b"\x1b[0<",
            State::Escape | State::EscapeIntermediate => b"\x1b%%%%%",
        };
        out.extend_from_slice(stand_in);
    }

    /// Gives back the memory of a long sequence.
    pub(super) fn rest(&mut self) {
        if self.state == State::Ground {
            self.pending = Vec::new();
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.pending.len() + bytes.len() > self.bytes_max {
            self.overflowed = true;
        } else if !self.overflowed {
            self.pending.extend_from_slice(bytes);
        }
    }

    fn start(&mut self, bytes: &[u8], state: State) {
        self.pending.clear();
        self.pending.shrink_to(PENDING_BYTES_KEPT);
        self.pending.extend_from_slice(bytes);
        self.overflowed = false;
        self.params.clear();
        self.collect = 0;
        self.state = state;
    }

    fn start_string(&mut self, bytes: &[u8], state: State) {
        self.start(bytes, state);
        self.payload_at = self.pending.len();
    }

    /// Reads a whole control sequence of the usual kind from the start of `bytes`, in
    /// [`State::Ground`]: a prefix or none, numbers, a final byte. Returns the final byte and the length.
    pub(super) fn read_csi(&mut self, bytes: &[u8]) -> Option<(u8, usize)> {
        let [0x1b, b'[', third, ..] = bytes else { return None };
        let prefixed = matches!(third, 0x3c..=0x3f);
        let start = 2 + usize::from(prefixed);
        let end = start + self.params.read(&bytes[start..])?;
        self.collect = if prefixed { u32::from(*third) } else { 0 };
        let last = bytes[end];
        (0x40..=0x7e).contains(&last).then_some((last, end + 1))
    }

    /// Bytes of the string under way that are certainly payload: no control, no character that could
    /// be one.
    pub(super) fn skim(&mut self, bytes: &[u8]) -> usize {
        let plain = match self.state {
            State::Osc | State::DcsPassthrough | State::DcsIgnore | State::OtherString => {
                bytes.iter().position(|b| !(0x20..0x7f).contains(b)).unwrap_or(bytes.len())
            }
            _ => return 0,
        };
        if matches!(self.state, State::Osc | State::DcsPassthrough) {
            self.keep(&bytes[..plain]);
        }
        plain
    }

    /// Takes one code point, given also as the bytes it came in. In [`State::Ground`] only controls
    /// need to come this way.
    pub(super) fn step(&mut self, code: u32, bytes: &[u8]) -> Action {
        use State as S;
        // From everywhere: ESC, CAN, SUB and the C1 controls.
        match code {
            0x1b => return self.escape(bytes),
            // xterm.js's decoder drops it wherever it stands.
            0xfeff => return Action::Nothing,
            0x18 | 0x1a | 0x80..=0x8f | 0x91..=0x97 | 0x99 | 0x9a => {
                self.state = S::Ground;
                return Action::Execute;
            }
            0x90 => {
                self.start(bytes, S::DcsEntry);
                return Action::Nothing;
            }
            0x9b => {
                self.start(bytes, S::CsiEntry);
                return Action::Nothing;
            }
            0x9c => {
                let ended = self.ended_string();
                self.state = S::Ground;
                return ended;
            }
            0x9d => {
                self.start_string(bytes, S::Osc);
                return Action::Nothing;
            }
            0x98 | 0x9e | 0x9f => {
                self.start(bytes, S::OtherString);
                return Action::Nothing;
            }
            _ => {}
        }
        let control = code < 0x20;
        match self.state {
            S::Ground => match code {
                0x7f => Action::Nothing,
                _ if control => Action::Execute,
                _ => Action::Print,
            },
            S::Escape => match code {
                _ if control => Action::Execute,
                0x20..=0x2f => self.collected(code, bytes, S::EscapeIntermediate),
                0x50 => {
                    self.keep(bytes);
                    self.state = S::DcsEntry;
                    Action::Nothing
                }
                0x58 | 0x5e | 0x5f => {
                    self.keep(bytes);
                    self.state = S::OtherString;
                    Action::Nothing
                }
                0x5b => {
                    self.keep(bytes);
                    self.state = S::CsiEntry;
                    Action::Nothing
                }
                0x5d => {
                    self.keep(bytes);
                    self.payload_at = self.pending.len();
                    self.state = S::Osc;
                    Action::Nothing
                }
                0x30..=0x7e => self.done(Action::Escape),
                0x7f => Action::Nothing,
                _ => self.done(Action::Nothing),
            },
            S::EscapeIntermediate => match code {
                _ if control => Action::Execute,
                0x20..=0x2f => self.collected(code, bytes, S::EscapeIntermediate),
                0x30..=0x7e => self.done(Action::Escape),
                0x7f => Action::Nothing,
                _ => self.done(Action::Nothing),
            },
            S::CsiEntry | S::CsiParam | S::CsiIntermediate => match code {
                _ if control => Action::Execute,
                0x20..=0x2f => self.collected(code, bytes, S::CsiIntermediate),
                0x30..=0x3b if self.state != S::CsiIntermediate => {
                    self.keep(bytes);
                    self.params.push(code);
                    self.state = S::CsiParam;
                    Action::Nothing
                }
                0x3c..=0x3f if self.state == S::CsiEntry => self.collected(code, bytes, S::CsiParam),
                0x30..=0x3f => {
                    self.keep(bytes);
                    self.state = S::CsiIgnore;
                    Action::Nothing
                }
                0x40..=0x7e => self.done(Action::Csi),
                0x7f => Action::Nothing,
                _ => self.done(Action::Nothing),
            },
            S::CsiIgnore => match code {
                _ if control => Action::Execute,
                0x40..=0x7e => self.done(Action::Nothing),
                _ => Action::Nothing,
            },
            S::Osc => match code {
                0x07 => {
                    let ended = self.ended_string();
                    self.state = S::Ground;
                    ended
                }
                _ if control => Action::Nothing,
                _ => {
                    self.keep(bytes);
                    Action::Nothing
                }
            },
            S::OtherString => {
                if code >= 0xa0 {
                    self.state = S::Ground;
                }
                Action::Nothing
            }
            S::DcsEntry | S::DcsParam | S::DcsIntermediate => match code {
                _ if control => Action::Nothing,
                0x20..=0x2f => self.collected(code, bytes, S::DcsIntermediate),
                0x30..=0x3b if self.state != S::DcsIntermediate => {
                    self.keep(bytes);
                    self.params.push(code);
                    self.state = S::DcsParam;
                    Action::Nothing
                }
                0x3c..=0x3f if self.state == S::DcsEntry => self.collected(code, bytes, S::DcsParam),
                0x30..=0x3f => {
                    self.keep(bytes);
                    self.state = S::DcsIgnore;
                    Action::Nothing
                }
                0x40..=0x7e => {
                    self.keep(bytes);
                    self.dcs = self.collect << 8 | code;
                    self.payload_at = self.pending.len();
                    self.state = S::DcsPassthrough;
                    Action::Nothing
                }
                0x7f => Action::Nothing,
                _ => self.done(Action::Nothing),
            },
            S::DcsIgnore => Action::Nothing,
            S::DcsPassthrough => {
                if code != 0x7f {
                    self.keep(bytes);
                }
                Action::Nothing
            }
        }
    }

    fn escape(&mut self, bytes: &[u8]) -> Action {
        let ended = self.ended_string();
        if ended == Action::Nothing {
            self.start(bytes, State::Escape);
        } else {
            // The string's payload is still to be read: `begin_escape` is called after that.
            self.state = State::Escape;
        }
        ended
    }

    /// Starts the escape sequence whose ESC ended a string, once that string's payload was read.
    pub(super) fn begin_escape(&mut self) {
        self.start(b"\x1b", State::Escape);
    }

    fn ended_string(&self) -> Action {
        match self.state {
            State::Osc => Action::Osc,
            State::DcsPassthrough => Action::Dcs,
            _ => Action::Nothing,
        }
    }

    fn collected(&mut self, code: u32, bytes: &[u8], state: State) -> Action {
        self.keep(bytes);
        self.collect = self.collect << 8 | code;
        self.state = state;
        Action::Nothing
    }

    fn done(&mut self, action: Action) -> Action {
        self.state = State::Ground;
        action
    }
}
