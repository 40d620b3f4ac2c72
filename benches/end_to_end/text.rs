//! What programs print: four kinds of text, the same on every run.

/// A kind of output, as a screen model sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Lines of plain text.
    Log,
    /// Lines with a colour on every word.
    Coloured,
    /// Lines of wide characters and emoji.
    Wide,
    /// A program that draws all of its 36 x 120 cells again and again.
    Redraws,
}

impl Kind {
    pub(crate) const ALL: [Kind; 4] = [Kind::Log, Kind::Coloured, Kind::Wide, Kind::Redraws];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Log => "log",
            Kind::Coloured => "SGR-coloured",
            Kind::Wide => "CJK and emoji",
            Kind::Redraws => "full-screen redraws",
        }
    }

    /// At least `bytes` of it, to the end of a line or of a screen.
    pub(crate) fn text(self, bytes: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes + 16_384);
        let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
        while out.len() < bytes {
            match self {
                Kind::Log => put_log(&mut chance, &mut out),
                Kind::Coloured => put_coloured(&mut chance, &mut out),
                Kind::Wide => put_wide(&mut chance, &mut out),
                Kind::Redraws => put_redraw(&mut chance, &mut out),
            }
        }
        out
    }
}

/// xorshift64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn word(&mut self) -> &'static str {
        const WORDS: [&str; 16] = [
            "request",
            "accepted",
            "GET",
            "/api/v1/items",
            "in",
            "connection",
            "from",
            "worker",
            "cache",
            "miss",
            "shard",
            "committed",
            "offset",
            "retry",
            "timeout=30s",
            "ok",
        ];
        WORDS[self.below(16) as usize]
    }
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.extend_from_slice(text.to_string().as_bytes());
}

fn put_log(chance: &mut Chance, out: &mut Vec<u8>) {
    let (second, ms) = (chance.below(60), chance.below(1000));
    put(out, format_args!("2026-03-04T12:34:{second:02}.{ms:03}Z  INFO wharf::server:"));
    for _ in 0..3 + chance.below(8) {
        put(out, format_args!(" {}", chance.word()));
    }
    put(out, format_args!(" id={:08x}\r\n", chance.below(1 << 32)));
}

fn put_coloured(chance: &mut Chance, out: &mut Vec<u8>) {
    for _ in 0..4 + chance.below(10) {
        let (colour, word) = (chance.below(256), chance.word());
        match chance.below(4) {
            0 => put(out, format_args!("\x1b[1;3{}m{word}\x1b[0m ", colour % 8)),
            1 => put(out, format_args!("\x1b[38;5;{colour}m{word}\x1b[39m ")),
            2 => put(out, format_args!("\x1b[38;2;{colour};{};200m{word}\x1b[m ", 255 - colour)),
            _ => put(out, format_args!("\x1b[4;9{}m{word}\x1b[24;39m ", colour % 8)),
        }
    }
    out.extend_from_slice(b"\r\n");
}

fn put_wide(chance: &mut Chance, out: &mut Vec<u8>) {
    const EMOJI: [&str; 8] = ["😀", "🚀", "👩‍💻", "🇯🇵", "❤️", "👍🏽", "🎉", "✅"];
    for _ in 0..4 + chance.below(12) {
        for _ in 0..1 + chance.below(5) {
            let at = match chance.below(4) {
                0 => 0x3042 + chance.below(80),
                1 => 0xac00 + chance.below(11_000),
                _ => 0x4e00 + chance.below(20_000),
            };
            put(out, format_args!("{}", char::from_u32(at as u32).unwrap_or('字')));
        }
        match chance.below(4) {
            0 => put(out, format_args!(" {} ", EMOJI[chance.below(8) as usize])),
            1 => put(out, format_args!(" {} ", chance.word())),
            _ => out.extend_from_slice("、".as_bytes()),
        }
    }
    out.extend_from_slice(b"\r\n");
}

fn put_redraw(chance: &mut Chance, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\x1b[?25l\x1b[H");
    for row in 1..=36 {
        put(out, format_args!("\x1b[{row};1H\x1b[7m{:5} \x1b[27m", chance.below(99_999)));
        let mut col = 6;
        while col < 100 {
            let word = chance.word();
            put(out, format_args!("\x1b[3{}m{word} ", chance.below(8)));
            col += word.len() + 1;
        }
        out.extend_from_slice(b"\x1b[m\x1b[K");
    }
    out.extend_from_slice(b"\x1b[36;1H\x1b[?25h");
}
