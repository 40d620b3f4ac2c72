//! Colours and attributes: of a cell, and of the pen that SGR changes, both as xterm.js keeps them.

use super::sequence::Params;

/// A colour: 0 is the default one, then the palette's 256, then the 2^24 of RGB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Color(pub(super) u32);

const RGB_FIRST: u32 = 257;

impl Color {
    pub(super) const DEFAULT: Color = Color(0);

    pub(super) fn palette(index: u8) -> Color {
        Color(1 + u32::from(index))
    }

    pub(super) fn rgb(r: u8, g: u8, b: u8) -> Color {
        Color(RGB_FIRST + u32::from_be_bytes([0, r, g, b]))
    }

    /// SGR parameters that set this colour; `base` is 38, 48 or 58.
    fn put(self, base: u8, out: &mut Vec<u8>) {
        match self.0 {
            // There is no 59: xterm.js takes it for a white underline. Callers start from SGR 0.
            0 => put_number(u32::from(base) + 1, out),
            n @ 1..=16 if base != 58 => {
                let index = n - 1;
                let first = u32::from(base) - 8 + if index < 8 { 0 } else { 60 - 8 };
                put_number(first + index, out);
            }
            n @ 1..RGB_FIRST => {
                put_number(u32::from(base), out);
                out.extend_from_slice(if base == 58 { b":5:" } else { b";5;" });
                put_number(n - 1, out);
            }
            n => {
                // The colour space stays empty (ITU T.416): without its colon xterm.js would read R as one.
                let between = if base == 58 { b':' } else { b';' };
                put_number(u32::from(base), out);
                out.extend_from_slice(if base == 58 { b":2:" } else { b";2" });
                for part in &(n - RGB_FIRST).to_be_bytes()[1..] {
                    out.push(between);
                    put_number(u32::from(*part), out);
                }
            }
        }
    }
}

/// Attribute bits of [`Style::flags`] and [`Pen::flags`].
pub(super) mod flag {
    pub(in super::super) const BOLD: u16 = 1;
    pub(in super::super) const DIM: u16 = 1 << 1;
    pub(in super::super) const ITALIC: u16 = 1 << 2;
    pub(in super::super) const UNDERLINE: u16 = 1 << 3;
    pub(in super::super) const BLINK: u16 = 1 << 4;
    pub(in super::super) const INVERSE: u16 = 1 << 5;
    pub(in super::super) const HIDDEN: u16 = 1 << 6;
    pub(in super::super) const STRIKE: u16 = 1 << 7;
    pub(in super::super) const OVERLINE: u16 = 1 << 8;
    /// DECSCA: DECSED and DECSEL leave the cell alone.
    pub(in super::super) const PROTECTED: u16 = 1 << 9;
    /// Of a pen only: its underline style, underline colour and link count. DECRC restores this bit
    /// but not what it speaks of.
    pub(in super::super) const EXTENDED: u16 = 1 << 10;
}

/// SGR's number for each attribute that has one.
const SGR_OF_FLAG: [(u16, u8); 8] = [
    (flag::BOLD, 1),
    (flag::DIM, 2),
    (flag::ITALIC, 3),
    (flag::BLINK, 5),
    (flag::INVERSE, 7),
    (flag::HIDDEN, 8),
    (flag::STRIKE, 9),
    (flag::OVERLINE, 53),
];

/// How one cell looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Style {
    pub(super) fg: Color,
    pub(super) bg: Color,
    /// Default: the underline has the text's colour. Only with [`flag::UNDERLINE`].
    pub(super) underline_color: Color,
    /// Number of the hyperlink in the table of links; 0 is none.
    pub(super) link: u32,
    pub(super) flags: u16,
    /// 1 single, 2 double, 3 curly, 4 dotted, 5 dashed. 0 without [`flag::UNDERLINE`].
    pub(super) underline: u8,
}

impl Style {
    /// What erasing leaves: only the background stays.
    pub(super) fn background(bg: Color) -> Style {
        Style { bg, ..Style::default() }
    }

    /// The SGR that turns a pen of this style into `to`. Links and protection are not SGR.
    pub(super) fn put_sgr_to(&self, to: &Style, out: &mut Vec<u8>) {
        let sgr = |flags: u16| flags & !flag::PROTECTED;
        let mut from = *self;
        if (from.fg, from.bg, from.underline_color, sgr(from.flags), from.underline)
            == (to.fg, to.bg, to.underline_color, sgr(to.flags), to.underline)
        {
            return;
        }
        out.extend_from_slice(b"\x1b[");
        let start = out.len();
        let lost = sgr(from.flags) & !sgr(to.flags) != 0
            || (from.underline_color != Color::DEFAULT && to.underline_color == Color::DEFAULT);
        if lost {
            out.push(b'0');
            from = Style::default();
        }
        let next = |out: &mut Vec<u8>| {
            if out.len() > start {
                out.push(b';');
            }
        };
        for (bit, number) in SGR_OF_FLAG {
            if to.flags & !from.flags & bit != 0 {
                next(out);
                put_number(u32::from(number), out);
            }
        }
        if to.underline != from.underline && to.underline != 0 {
            next(out);
            out.push(b'4');
            if to.underline != 1 {
                out.extend_from_slice(&[b':', b'0' + to.underline]);
            } else if from.underline > 1 {
                out.extend_from_slice(b":1");
            }
        }
        for (base, was, is) in
            [(38, from.fg, to.fg), (48, from.bg, to.bg), (58, from.underline_color, to.underline_color)]
        {
            if was != is {
                next(out);
                is.put(base, out);
            }
        }
        if &out[start..] == b"0" {
            out.pop();
        }
        out.push(b'm');
    }
}

/// The pen: what the next printed cell looks like, with the state that does not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pen {
    pub(super) fg: Color,
    pub(super) bg: Color,
    pub(super) flags: u16,
    pub(super) underline: u8,
    pub(super) underline_color: Color,
    pub(super) link: u32,
}

impl Pen {
    /// The style of a cell printed now.
    pub(super) fn style(&self) -> Style {
        let extended = self.flags & flag::EXTENDED != 0;
        let underlined = self.flags & flag::UNDERLINE != 0;
        Style {
            fg: self.fg,
            bg: self.bg,
            flags: self.flags & !flag::EXTENDED,
            underline: match (underlined, extended) {
                (false, _) => 0,
                (true, false) => 1,
                (true, true) => self.underline.max(1),
            },
            underline_color: if underlined && extended { self.underline_color } else { Color::DEFAULT },
            link: if extended { self.link } else { 0 },
        }
    }

    pub(super) fn set_link(&mut self, link: u32) {
        self.link = link;
        self.update_extended();
    }

    fn update_extended(&mut self) {
        self.set(flag::EXTENDED, self.underline != 0 || self.link != 0);
    }

    pub(super) fn set(&mut self, bit: u16, on: bool) {
        if on {
            self.flags |= bit;
        } else {
            self.flags &= !bit;
        }
    }

    fn set_underline(&mut self, style: i32) {
        self.underline = if (0..=5).contains(&style) { style as u8 } else { 1 };
        self.set(flag::UNDERLINE, self.underline != 0);
        self.update_extended();
    }

    /// SGR 0. A link stays.
    fn reset(&mut self) {
        *self = Pen { link: self.link, ..Pen::default() };
        self.update_extended();
    }

    /// SGR (`CSI ... m`).
    pub(super) fn select(&mut self, params: &Params) {
        let mut i = 0;
        while i < params.len() {
            let p = params.get(i);
            match p {
                0 => self.reset(),
                1 => self.set(flag::BOLD, true),
                2 => self.set(flag::DIM, true),
                3 => self.set(flag::ITALIC, true),
                4 => self.set_underline(params.subs(i).first().copied().unwrap_or(1)),
                5 => self.set(flag::BLINK, true),
                7 => self.set(flag::INVERSE, true),
                8 => self.set(flag::HIDDEN, true),
                9 => self.set(flag::STRIKE, true),
                21 => self.set_underline(2),
                22 => self.set(flag::BOLD | flag::DIM, false),
                23 => self.set(flag::ITALIC, false),
                24 => self.set_underline(0),
                25 => self.set(flag::BLINK, false),
                27 => self.set(flag::INVERSE, false),
                28 => self.set(flag::HIDDEN, false),
                29 => self.set(flag::STRIKE, false),
                30..=37 => self.fg = Color::palette((p - 30) as u8),
                39 => self.fg = Color::DEFAULT,
                40..=47 => self.bg = Color::palette((p - 40) as u8),
                49 => self.bg = Color::DEFAULT,
                53 => self.set(flag::OVERLINE, true),
                55 => self.set(flag::OVERLINE, false),
                // xterm.js stores -1 here, and its mask makes that a white underline.
                59 => {
                    self.underline_color = Color::rgb(255, 255, 255);
                    self.update_extended();
                }
                90..=97 => self.fg = Color::palette((p - 90 + 8) as u8),
                100..=107 => self.bg = Color::palette((p - 100 + 8) as u8),
                38 | 48 | 58 => i += self.select_color(params, i),
                _ => {}
            }
            i += 1;
        }
    }

    /// SGR 38, 48 and 58 in both spellings, read as xterm.js does; returns the parameters taken beyond
    /// the first.
    fn select_color(&mut self, params: &Params, at: usize) -> usize {
        // [target, kind, colour space, v1, v2, v3]
        let mut accu = [0, 0, -1, 0, 0, 0];
        let mut space = 0;
        let mut advance = 0;
        loop {
            accu[advance + space] = params.get(at + advance);
            let subs = params.subs(at + advance);
            if !subs.is_empty() {
                for (i, sub) in subs.iter().enumerate() {
                    if accu[1] == 5 {
                        space = 1;
                    }
                    match accu.get_mut(advance + i + 1 + space) {
                        Some(slot) => *slot = *sub,
                        None => break,
                    }
                }
                break;
            }
            if (accu[1] == 5 && advance + space >= 2) || (accu[1] == 2 && advance + space >= 5) {
                break;
            }
            if accu[1] != 0 {
                space = 1;
            }
            advance += 1;
            if advance + at >= params.len() || advance + space >= accu.len() {
                break;
            }
        }
        let byte = |n: i32| if n == -1 { 0 } else { n as u8 };
        let color = match accu[1] {
            2 => Color::rgb(byte(accu[3]), byte(accu[4]), byte(accu[5])),
            5 => Color::palette(byte(accu[3])),
            _ => return advance,
        };
        match accu[0] {
            38 => self.fg = color,
            48 => self.bg = color,
            _ => self.underline_color = color,
        }
        advance
    }
}

/// Appends a number in decimal.
pub(super) fn put_number(mut n: u32, out: &mut Vec<u8>) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
