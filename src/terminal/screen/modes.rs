//! Modes that a program sets and a reset must tell.

/// How the mouse is reported (DECSET 9, 1000, 1002, 1003).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mouse {
    #[default]
    Off,
    Press,
    PressRelease,
    Drag,
    Any,
}

impl Mouse {
    pub(super) fn number(self) -> Option<u16> {
        match self {
            Mouse::Off => None,
            Mouse::Press => Some(9),
            Mouse::PressRelease => Some(1000),
            Mouse::Drag => Some(1002),
            Mouse::Any => Some(1003),
        }
    }
}

/// How a mouse report is spelt (DECSET 1006, 1016). 1005 and 1015 mean nothing to xterm.js.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum MouseEncoding {
    #[default]
    Default,
    Sgr,
    SgrPixels,
}

impl MouseEncoding {
    pub(super) fn number(self) -> Option<u16> {
        match self {
            MouseEncoding::Default => None,
            MouseEncoding::Sgr => Some(1006),
            MouseEncoding::SgrPixels => Some(1016),
        }
    }
}

/// Private modes that change nothing here and that xterm.js ignores, but other clients may know:
/// reverse video, numeric keypad keys, mouse as UTF-8, alternate scroll, mouse as urxvt, meta keys
/// (1034, 1036, 1039), grapheme clusters, colour scheme reports, in-band size reports.
pub(super) const PASSED_ON: [u16; 11] = [5, 67, 1005, 1007, 1015, 1034, 1036, 1039, 2027, 2031, 2048];

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Modes {
    /// DECSTR and RIS reset these.
    pub(super) application_cursor: bool,
    pub(super) application_keypad: bool,
    pub(super) bracketed_paste: bool,
    pub(super) insert: bool,
    pub(super) origin: bool,
    pub(super) wrap: bool,
    pub(super) reverse_wrap: bool,
    pub(super) focus: bool,
    pub(super) synchronized: bool,
    /// DECSCUSR, 0 to 6.
    pub(super) cursor_style: u8,
    /// Only RIS resets these.
    pub(super) mouse: Mouse,
    pub(super) mouse_encoding: MouseEncoding,
    /// A bit for each of [`PASSED_ON`].
    pub(super) passed_on: u16,
    /// `CSI > 4 ; n m`, 0 when not set.
    pub(super) modify_other_keys: u8,
    /// Nothing resets these in xterm.js (DECSTR shows the cursor, though).
    pub(super) cursor_hidden: bool,
    /// LNM, as xterm.js has it: a line feed also returns the carriage.
    pub(super) line_feed_returns: bool,
    /// DECSET 12, once a program said either.
    pub(super) cursor_blink: Option<bool>,
}

impl Modes {
    pub(super) fn new() -> Modes {
        Modes {
            application_cursor: false,
            application_keypad: false,
            bracketed_paste: false,
            insert: false,
            origin: false,
            wrap: true,
            reverse_wrap: false,
            focus: false,
            synchronized: false,
            cursor_style: 0,
            mouse: Mouse::Off,
            mouse_encoding: MouseEncoding::Default,
            passed_on: 0,
            modify_other_keys: 0,
            cursor_hidden: false,
            line_feed_returns: false,
            cursor_blink: None,
        }
    }

    /// DECSTR. What RIS alone resets stays.
    pub(super) fn soft_reset(&mut self) {
        *self = Modes {
            mouse: self.mouse,
            mouse_encoding: self.mouse_encoding,
            passed_on: self.passed_on,
            modify_other_keys: self.modify_other_keys,
            line_feed_returns: self.line_feed_returns,
            cursor_blink: self.cursor_blink,
            ..Modes::new()
        };
    }

    /// RIS.
    pub(super) fn full_reset(&mut self) {
        *self = Modes {
            cursor_hidden: self.cursor_hidden,
            line_feed_returns: self.line_feed_returns,
            cursor_blink: self.cursor_blink,
            ..Modes::new()
        };
    }
}

/// Kitty keyboard protocol: progressive enhancement flags of one screen, the last one in force.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Keyboard {
    pub(super) flags: Vec<u8>,
}

impl Keyboard {
    fn current(&mut self) -> &mut u8 {
        if self.flags.is_empty() {
            self.flags.push(0);
        }
        let last = self.flags.len() - 1;
        &mut self.flags[last]
    }

    /// `CSI > flags u`
    pub(super) fn push(&mut self, flags: i32) {
        if self.flags.is_empty() {
            self.flags.push(0);
        }
        if self.flags.len() > crate::limits::KEYBOARD_STACK_MAX {
            self.flags.remove(1);
        }
        self.flags.push(flags as u8 & 0x1f);
    }

    /// `CSI < count u`
    pub(super) fn pop(&mut self, count: i32) {
        let left = self.flags.len().saturating_sub(usize::try_from(count.max(1)).unwrap_or(1));
        self.flags.truncate(left);
    }

    /// `CSI = flags ; how u`: 1 sets all, 2 adds, 3 removes.
    pub(super) fn set(&mut self, flags: i32, how: i32) {
        let flags = flags as u8 & 0x1f;
        let current = self.current();
        match how {
            0 | 1 => *current = flags,
            2 => *current |= flags,
            3 => *current &= !flags,
            _ => {}
        }
    }
}
