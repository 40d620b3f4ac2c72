//! Telling the screen again: the bytes that make a fresh emulator, or one with any past, equal to it.
//!
//! The order matters, since many controls move the cursor or depend on each other: lines from the oldest
//! to the newest, then what belongs to that screen (tab stops, region, saved cursor), the same for the
//! alternate screen, then cursor, pen, character sets, modes, and last the start of a sequence that is
//! still under way. Every character stands where it is told to by column, where emulators disagree about
//! how wide the ones before it are.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

use super::Screen;
use super::buffer::{Buffer, Saved};
use super::charset::{ASCII, Charset, translate};
use super::line::{Line, Piece, Shape, first_char};
use super::links::Links;
use super::modes::{Keyboard, PASSED_ON};
use super::osc::clean;
use super::paint::Paint;
use super::style::{Color, Pen, Style, flag, put_number};
use super::width::width;

/// Writes to an emulator, and knows where its cursor is and what its pen looks like.
struct Teller<'a> {
    out: &'a mut Vec<u8>,
    links: &'a Links,
    cols: u16,
    style: Style,
    /// The emulator's column; `cols` while a wrap is pending, `None` when emulators may disagree.
    x: Option<u16>,
    /// The next character wraps with a background, which its whole row may take.
    wrapped_filling: bool,
}

/// How a row goes over into the one that continues it.
#[derive(Clone, Copy)]
enum Wrap {
    /// A wrap is pending: the next character goes there.
    Pending,
    /// The next character is wide, and does not fit into the last column.
    ByItself,
    /// A wrap is pending, and the row's last cell is to be emptied after it.
    ThenErase(Style),
}

impl Teller<'_> {
    fn csi(&mut self, numbers: &[u32], last: &[u8]) {
        self.out.extend_from_slice(b"\x1b[");
        for (i, number) in numbers.iter().enumerate() {
            if i > 0 {
                self.out.push(b';');
            }
            put_number(*number, self.out);
        }
        self.out.extend_from_slice(last);
    }

    fn use_style(&mut self, style: &Style) {
        self.style.put_sgr_to(style, self.out);
        if self.style.flags & flag::PROTECTED != style.flags & flag::PROTECTED {
            self.csi(&[u32::from(style.flags & flag::PROTECTED != 0)], b"\"q");
        }
        if self.style.link != style.link {
            self.out.extend_from_slice(b"\x1b]8;");
            if let Some(link) = self.links.get(style.link) {
                if !link.id.is_empty() {
                    self.out.extend_from_slice(b"id=");
                    self.out.extend_from_slice(link.id.as_bytes());
                }
                self.out.push(b';');
                self.out.extend_from_slice(link.uri.as_bytes());
            } else {
                self.out.push(b';');
            }
            self.out.extend_from_slice(b"\x1b\\");
        }
        self.style = *style;
    }

    fn go_to(&mut self, row: u16, col: u16) {
        self.csi(&[u32::from(row) + 1, u32::from(col) + 1], b"H");
        self.x = Some(col);
    }

    fn go_to_col(&mut self, col: u16) {
        match self.x {
            Some(x) if x == col => return,
            Some(x) if x < col => self.csi(&[u32::from(col - x)], b"C"),
            _ if col == 0 => self.out.push(b'\r'),
            _ => self.csi(&[u32::from(col) + 1], b"G"),
        }
        self.x = Some(col);
    }

    /// Begins the next row, which does not continue this one.
    fn next_row(&mut self) {
        // A row that scrolls in takes the pen's background.
        if self.style.bg != Color::DEFAULT {
            self.use_style(&Style::default());
        }
        self.out.extend_from_slice(b"\r\n");
        self.x = Some(0);
    }

    /// Empties cells from `col` on; the cursor goes there and stays.
    fn erase(&mut self, col: u16, count: u16, style: &Style) {
        self.go_to_col(col);
        if self.style.bg != style.bg {
            self.use_style(&Style::background(style.bg));
        }
        self.csi(&[u32::from(count)], b"X");
    }

    fn spaces(&mut self, count: u16, style: &Style) {
        self.use_style(style);
        self.out.extend(std::iter::repeat_n(b' ', count.into()));
        self.x = self.x.map(|x| x + count);
    }

    fn piece(&mut self, col: u16, piece: &Piece, settled: bool) {
        match piece.shape {
            Shape::Empty(_) if piece.style == Style::default() => {}
            Shape::Empty(count) if erasable(&piece.style) => self.erase(col, count, &piece.style),
            Shape::Empty(count) => {
                self.go_to_col(col);
                self.spaces(count, &piece.style);
            }
            Shape::Ascii(text) => {
                self.go_to_col(col);
                self.use_style(&piece.style);
                self.out.extend_from_slice(text);
                self.x = Some(col + text.len() as u16);
            }
            Shape::Cluster { text, wide } => {
                // A run of characters of the same doubtful width stays together.
                if !(settled && self.x.is_none()) {
                    self.go_to_col(col);
                }
                self.use_style(&piece.style);
                self.out.extend_from_slice(text);
                let end = col + 1 + u16::from(wide);
                self.x = if is_agreed(text) || end == self.cols { Some(end) } else { None };
            }
            Shape::Lone(text) => {
                // After a control it has nothing to join.
                self.csi(&[u32::from(col) + 1], b"G");
                self.use_style(&piece.style);
                self.out.extend_from_slice(text);
                self.x = if col + 1 == self.cols { Some(col + 1) } else { None };
            }
        }
    }

    /// One row; `next` is the one that continues it, if one does. The emulator is left so that printing
    /// wraps.
    fn line(&mut self, line: &Line, next: Option<&Line>) -> Wrap {
        let mut col = 0;
        // The style of the last cell, if that is empty.
        let mut edge = Style::default();
        let mut ambiguous = false;
        // A wide character wraps by itself, and leaves a cell of its own style.
        let wide = next.and_then(|next| next.pieces().next());
        let wide = wide.filter(|first| matches!(first.shape, Shape::Cluster { wide: true, .. }));
        for mut piece in line.pieces() {
            let room = self.cols - col;
            let cells = piece.shape.cells();
            if room == 0 {
                break;
            }
            if matches!(piece.shape, Shape::Empty(_)) && cells >= room {
                edge = piece.style;
            }
            let is_left = wide.is_some_and(|first| first.style == piece.style);
            piece.shape = match piece.shape {
                Shape::Empty(n) if n >= room && is_left => Shape::Empty(room - 1),
                Shape::Empty(n) => Shape::Empty(n.min(room)),
                Shape::Ascii(text) => Shape::Ascii(&text[..text.len().min(room.into())]),
                Shape::Cluster { wide: true, .. } if room == 1 => Shape::Empty(1),
                shape => shape,
            };
            let now_ambiguous = matches!(piece.shape, Shape::Cluster { text, .. } if is_ambiguous(text));
            self.piece(col, &piece, ambiguous && now_ambiguous);
            ambiguous = now_ambiguous;
            col += cells.min(room);
            if self.wrapped_filling {
                // The row that scrolled in has the character's background.
                self.wrapped_filling = false;
                self.use_style(&Style::default());
                self.out.extend_from_slice(b"\x1b[K");
            }
        }
        if next.is_none() || self.x == Some(self.cols) {
            return Wrap::Pending;
        }
        self.go_to_col(self.cols - 1);
        if wide.is_some_and(|first| first.style == edge) {
            return Wrap::ByItself;
        }
        if erasable(&edge) {
            self.spaces(1, &Style::default());
            return Wrap::ThenErase(edge);
        }
        self.spaces(1, &edge);
        Wrap::Pending
    }

    /// Wraps into the row that continues the one before.
    fn wrap_into(&mut self, line: &Line, wrap: Wrap, rows: u16) {
        let first = line.pieces().next();
        let background = first.map_or(Color::DEFAULT, |piece| piece.style.bg);
        let prints =
            first.is_some_and(|piece| matches!(piece.shape, Shape::Ascii(_) | Shape::Cluster { .. }));
        match wrap {
            Wrap::ByItself => self.wrapped_filling = background != Color::DEFAULT,
            Wrap::Pending if prints && background == Color::DEFAULT => {}
            Wrap::Pending | Wrap::ThenErase(_) => {
                self.spaces(1, &Style::default());
                self.x = None;
                if let Wrap::ThenErase(style) = wrap
                    && rows > 1
                {
                    self.csi(&[], b"A");
                    self.erase(self.cols - 1, 1, &style);
                    self.csi(&[], b"B");
                }
                self.go_to_col(0);
                self.erase(0, 1, &Style::default());
            }
        }
        // In the first cases it is the row's own first character that wraps.
        self.x = Some(0);
    }

    fn lines<'l>(&mut self, lines: impl Iterator<Item = Cow<'l, Line>>, rows: u16) {
        let mut lines = lines.peekable();
        let mut wrap = Wrap::Pending;
        let mut first = true;
        while let Some(line) = lines.next() {
            match (first, line.wrapped) {
                (true, _) => self.x = Some(0),
                (false, true) => self.wrap_into(&line, wrap, rows),
                (false, false) => self.next_row(),
            }
            first = false;
            wrap = self.line(&line, lines.peek().filter(|next| next.wrapped).map(|next| &**next));
        }
    }

    fn tabs_and_region(&mut self, buffer: &Buffer, rows: u16) {
        if buffer.tabs.is_custom() {
            self.csi(&[3], b"g");
            for col in (0..self.cols).filter(|col| buffer.tabs.at(*col)) {
                self.csi(&[u32::from(col) + 1], b"G\x1bH");
            }
        }
        if (buffer.top, buffer.bottom) != (0, rows - 1) {
            self.csi(&[u32::from(buffer.top) + 1, u32::from(buffer.bottom) + 1], b"r");
        }
    }

    /// Puts the emulator's cursor, pen and set to where `save` then saves them.
    fn saved(&mut self, saved: &Saved, row: u16, save: &[u8]) {
        self.go_to(row, saved.x.min(self.cols - 1));
        self.use_style(&saved.pen().style());
        if saved.charset != ASCII {
            self.out.extend_from_slice(&[0x1b, b'(', saved.charset]);
        }
        self.out.extend_from_slice(save);
        if saved.charset != ASCII {
            self.out.extend_from_slice(b"\x1b(B");
        }
        self.use_style(&Style::default());
    }

    fn keyboard(&mut self, keyboard: &Keyboard) {
        for (i, flags) in keyboard.flags.iter().enumerate() {
            if i > 0 || *flags != 0 {
                self.out.extend_from_slice(if i == 0 { b"\x1b[=" } else { b"\x1b[>" });
                put_number(u32::from(*flags), self.out);
                self.out.push(b'u');
            }
        }
    }

    fn command(&mut self, text: &str) {
        self.out.extend_from_slice(b"\x1b]");
        self.out.extend_from_slice(text.as_bytes());
        self.out.extend_from_slice(b"\x1b\\");
    }
}

/// An empty cell of this style shows nothing but its background, and that is what erasing leaves.
fn erasable(style: &Style) -> bool {
    const SHOWN: u16 = flag::UNDERLINE | flag::INVERSE | flag::STRIKE | flag::OVERLINE;
    style.flags & SHOWN == 0 && style.link == 0
}

/// All emulators give it the same width.
fn is_agreed(text: &[u8]) -> bool {
    match first_char(text) {
        Some((c, len)) => {
            len == text.len() && c.width() == Some(width(c).into()) && c.width() == c.width_cjk()
        }
        None => true,
    }
}

/// One character of which only East Asian emulators think otherwise, box drawing for one.
fn is_ambiguous(text: &[u8]) -> bool {
    first_char(text).is_some_and(|(c, len)| len == text.len() && c.width() == Some(width(c).into()))
}

impl Screen {
    /// As [`Screen::put_reset`], with at most `lines` lines of scrollback.
    pub fn put_vt(&mut self, lines: usize, out: &mut Vec<u8>) {
        let mut paint = std::mem::replace(&mut self.paint, Paint::new(self.cols));
        self.tell(lines, &mut paint, out);
        self.paint = paint;
    }

    fn tell(&self, lines: usize, paint: &mut Paint, out: &mut Vec<u8>) {
        let (cols, rows) = (self.cols, self.rows);
        let kept = lines.min(self.history.len());
        let skipped = self.history.len() - kept;
        // RIS leaves these as they are: LNM would move line feeds, colours and the rest would stay.
        out.extend_from_slice(
            b"\x1bc\x1b[3J\x1b[20l\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\",
        );
        let mut to = Teller {
            out,
            links: &self.links,
            cols,
            style: Style::default(),
            x: Some(0),
            wrapped_filling: false,
        };

        // The normal screen. Its saved cursor may stand on a row that only exists once more lines have
        // gone into the scrollback (ED 3 cleared it since): there is no other way than to make them.
        let saved = &self.normal.saved;
        let saved_y = saved.y.saturating_sub(skipped);
        let was_saved = *saved != Saved::new(0, 0, &Pen::default(), ASCII);
        let ahead = was_saved && saved_y >= kept + usize::from(rows);
        if ahead {
            to.go_to(rows - 1, 0);
            to.out.extend(std::iter::repeat_n(b'\n', saved_y + 1 - usize::from(rows)));
            to.saved(saved, rows - 1, b"\x1b7");
            to.out.extend_from_slice(b"\x1b[H\x1b[2J\x1b[3J");
        }
        let history = self.history.iter().skip(skipped).map(Cow::Borrowed);
        let normal = &self.normal;
        let mut screen: Vec<Cow<Line>> =
            normal.rows.iter().map(|row| row.to_line(paint, normal.len)).collect();
        to.lines(history.chain(screen.drain(..)), rows);
        to.use_style(&Style::default());
        to.tabs_and_region(normal, rows);
        to.keyboard(&self.keyboard[0]);
        let saved_row = saved_y.saturating_sub(kept).min(usize::from(rows) - 1) as u16;
        let saves = was_saved && !ahead;

        if self.on_alternate {
            // 1049 is what every emulator knows, and it saves the cursor on the way. The cursor's row
            // on the screen that is left decides how that one flows to another size.
            if saves && (normal.y, normal.x.min(cols - 1)) == (saved_row, saved.x.min(cols - 1)) {
                to.saved(saved, saved_row, b"\x1b[?1049h");
                if saved.bg != Color::DEFAULT {
                    to.out.extend_from_slice(b"\x1b[2J");
                }
            } else {
                if saves {
                    to.saved(saved, saved_row, b"\x1b7");
                }
                to.go_to(normal.y, normal.x.min(cols - 1));
                to.out.extend_from_slice(b"\x1b[?47h");
            }
            let alternate = &self.alternate;
            to.go_to(0, 0);
            screen.extend(alternate.rows.iter().map(|row| row.to_line(paint, alternate.len)));
            to.lines(screen.drain(..), rows);
            to.use_style(&Style::default());
            to.tabs_and_region(alternate, rows);
            to.keyboard(&self.keyboard[1]);
            let saved = &alternate.saved;
            if *saved != Saved::new(0, 0, &Pen::default(), ASCII) {
                to.saved(saved, saved.y.min(usize::from(rows) - 1) as u16, b"\x1b7");
            }
        } else if saves {
            to.saved(saved, saved_row, b"\x1b7");
        }
        self.tell_state(&mut to, paint);
        self.sequence.put_pending(to.out);
    }

    fn tell_state(&self, to: &mut Teller, paint: &mut Paint) {
        let modes = &self.modes;
        let buffer = self.active();
        // DECRC brought back a set that is not the shifted one, and only DECRC can do it again. Where it
        // cannot (it was on the other screen), the shifted one is told to be that set.
        let mut charsets = self.charsets;
        let restored =
            self.charset != charsets[usize::from(self.level)] && self.charset == buffer.saved.charset;
        if restored {
            self.tell_charsets(to, &charsets);
            to.out.extend_from_slice(b"\x1b8");
            to.style = buffer.saved.pen().style();
        }
        if modes.origin {
            to.out.extend_from_slice(b"\x1b[?6h");
        }
        // A pending wrap comes from printing the row's last cell again; so does a character that the
        // next one may join, which must be the very last.
        let pending = buffer.x >= self.cols;
        let joinable = self.join > 0 && self.ends_a_cell(paint);
        if pending && !joinable {
            self.tell_cell_before(to, paint, false);
        } else if !joinable {
            self.tell_cursor(to, buffer.x);
        }
        to.use_style(&self.pen.style());
        // Underline colour is kept while nothing is underlined.
        if self.pen.underline_color != to.style.underline_color {
            let style = Style { underline_color: self.pen.underline_color, ..to.style };
            to.style.put_sgr_to(&style, to.out);
        }
        if !restored {
            charsets[usize::from(self.level)] = self.charset;
            self.tell_charsets(to, &charsets);
        }

        let set = |to: &mut Teller, on: bool, what: &[u8]| {
            if on {
                to.out.extend_from_slice(what);
            }
        };
        set(to, modes.application_cursor, b"\x1b[?1h");
        set(to, modes.application_keypad, b"\x1b=");
        set(to, modes.bracketed_paste, b"\x1b[?2004h");
        set(to, !modes.wrap, b"\x1b[?7l");
        set(to, modes.reverse_wrap, b"\x1b[?45h");
        set(to, modes.insert, b"\x1b[4h");
        set(to, modes.line_feed_returns, b"\x1b[20h");
        if let Some(blink) = modes.cursor_blink {
            to.out.extend_from_slice(if blink { b"\x1b[?12h" } else { b"\x1b[?12l" });
        }
        for number in [modes.mouse.number(), modes.mouse_encoding.number()].into_iter().flatten() {
            to.csi(&[], b"?");
            put_number(number.into(), to.out);
            to.out.push(b'h');
        }
        set(to, modes.focus, b"\x1b[?1004h");
        for (bit, number) in PASSED_ON.iter().enumerate() {
            if modes.passed_on >> bit & 1 != 0 {
                to.csi(&[], b"?");
                put_number((*number).into(), to.out);
                to.out.push(b'h');
            }
        }
        if modes.modify_other_keys != 0 {
            to.csi(&[], b">4;");
            put_number(modes.modify_other_keys.into(), to.out);
            to.out.push(b'm');
        }
        if modes.cursor_style != 0 {
            to.csi(&[modes.cursor_style.into()], b" q");
        }
        to.out.extend_from_slice(if modes.cursor_hidden { b"\x1b[?25l" } else { b"\x1b[?25h" });

        for (index, [r, g, b]) in &self.colors.palette {
            to.command(&format!("4;{index};rgb:{r:02x}/{g:02x}/{b:02x}"));
        }
        for (number, color) in (10..).zip(&self.colors.special) {
            if let Some([r, g, b]) = color {
                to.command(&format!("{number};rgb:{r:02x}/{g:02x}/{b:02x}"));
            }
        }
        for title in &self.titles {
            to.command(&format!("2;{}", clean(title)));
            to.csi(&[22, 2], b"t");
        }
        if let Some(title) = &self.title {
            to.command(&format!("2;{}", clean(title)));
        }
        if let Some(cwd) = &self.cwd {
            to.command(&format!("7;file://{}", percent_encoded(cwd)));
        }
        if joinable {
            self.tell_cell_before(to, paint, modes.insert);
        }
    }

    fn tell_cursor(&self, to: &mut Teller, col: u16) {
        let buffer = self.active();
        let row = if self.modes.origin { buffer.y.saturating_sub(buffer.top) } else { buffer.y };
        to.go_to(row, col);
    }

    /// Whether the cursor stands right after a printed cell.
    fn ends_a_cell(&self, paint: &mut Paint) -> bool {
        let buffer = self.active();
        let line = buffer.rows[usize::from(buffer.y)].to_line(paint, buffer.len);
        let mut end = 0;
        let last = line.pieces().find(|piece| {
            end += piece.shape.cells();
            end >= buffer.x
        });
        // The character set in use must leave the character as it is, since it is printed once more.
        let same = |c: char| translate(self.charset, c) == c;
        match last.map(|piece| piece.shape) {
            Some(Shape::Ascii(text)) => {
                let at = usize::from(end - buffer.x);
                text.iter().rev().nth(at).is_some_and(|byte| buffer.x > 0 && same(char::from(*byte)))
            }
            Some(Shape::Cluster { text, .. }) => {
                end == buffer.x && first_char(text).is_some_and(|(c, _)| same(c))
            }
            _ => false,
        }
    }

    /// Prints the cell before the cursor again; where that `inserts`, in place of the one that is there.
    fn tell_cell_before(&self, to: &mut Teller, paint: &mut Paint, inserts: bool) {
        let buffer = self.active();
        let x = buffer.x.min(self.cols);
        let line = buffer.rows[usize::from(buffer.y)].to_line(paint, buffer.len);
        let mut col = 0;
        for piece in line.pieces() {
            let end = col + piece.shape.cells();
            if end >= x {
                let one = match piece.shape {
                    Shape::Ascii(text) => {
                        let at = usize::from(x - 1 - col);
                        Shape::Ascii(&text[at..=at])
                    }
                    Shape::Empty(_) => Shape::Ascii(b" "),
                    Shape::Cluster { .. } | Shape::Lone(_) => piece.shape,
                };
                let start = x.saturating_sub(one.cells());
                self.tell_cursor(to, start);
                if inserts {
                    to.csi(&[one.cells().into()], b"P");
                }
                to.piece(start, &Piece { style: piece.style, shape: one }, false);
                return;
            }
            col = end;
        }
        self.tell_cursor(to, x.saturating_sub(1));
        to.spaces(1, &Style::default());
    }

    fn tell_charsets(&self, to: &mut Teller, charsets: &[Charset; 4]) {
        for (designator, charset) in b"()*+".iter().zip(charsets) {
            if *charset != ASCII {
                to.out.extend_from_slice(&[0x1b, *designator, *charset]);
            }
        }
        match self.level {
            1 => to.out.push(0x0e),
            2 => to.out.extend_from_slice(b"\x1bn"),
            3 => to.out.extend_from_slice(b"\x1bo"),
            _ => {}
        }
    }
}

fn percent_encoded(path: &str) -> String {
    let mut url = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                url.push(byte.into())
            }
            _ => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url
}
