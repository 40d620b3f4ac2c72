//! What controls, escape sequences and control sequences do to the screen, as xterm.js 6.0 does it.

use super::Screen;
use super::buffer::Saved;
use super::charset::{ASCII, by_final};
use super::line::Line;
use super::modes::{Mouse, MouseEncoding, PASSED_ON};
use super::print::{delete_cells, insert_cells};
use super::row::{Row, Run};
use super::style::{Color, Pen, Style, flag};

impl Screen {
    pub(super) fn execute(&mut self, code: u32) {
        match code {
            0x08 => self.backspace(),
            0x09 => self.tab(1),
            0x0a..=0x0c => self.line_feed(),
            0x0d => self.active_mut().x = 0,
            0x0e => self.shift_to(1),
            0x0f => self.shift_to(0),
            0x84 => self.index(),
            0x85 => self.next_line(),
            0x88 => self.set_tab(),
            _ => {}
        }
        self.join = 0;
    }

    pub(super) fn escape(&mut self, collect: u32, last: u32) {
        match (collect, last as u8) {
            (0, b'7') => self.save_cursor(),
            (0, b'8') => self.restore_cursor(),
            (0, b'D') => self.index(),
            (0, b'E') => self.next_line(),
            (0, b'H') => self.set_tab(),
            (0, b'M') => self.reverse_index(),
            (0, b'=') => self.modes.application_keypad = true,
            (0, b'>') => self.modes.application_keypad = false,
            (0, b'c') => self.full_reset(),
            (0, b'n' | b'}') => self.shift_to(2),
            (0, b'o' | b'|') => self.shift_to(3),
            (0, b'~') => self.shift_to(1),
            (0x23, b'8') => self.alignment_pattern(),
            (0x25, b'@' | b'G') => {
                self.shift_to(0);
                self.designate(0, ASCII);
            }
            (0x28, code) => self.designate_by(0, code),
            (0x29 | 0x2d, code) => self.designate_by(1, code),
            (0x2a | 0x2e, code) => self.designate_by(2, code),
            (0x2b, code) => self.designate_by(3, code),
            _ => {}
        }
        self.join = 0;
    }

    pub(super) fn control_sequence(&mut self, collect: u32, last: u32) {
        let count = self.sequence.params.count();
        let first = self.sequence.params.get(0);
        let second = self.sequence.params.get(1);
        let len = self.sequence.params.len();
        const PRIVATE: u32 = b'?' as u32;
        match (collect, last as u8) {
            (0, b'@') => self.insert_characters(count),
            (0, b'A') => self.up(count),
            (0, b'B') => self.down(count),
            (0, b'C' | b'a') => self.move_by(count.into(), 0),
            (0, b'D') => self.move_by(-i64::from(count), 0),
            (0, b'E') => {
                self.down(count);
                self.active_mut().x = 0;
            }
            (0, b'F') => {
                self.up(count);
                self.active_mut().x = 0;
            }
            (0, b'G' | b'`') => self.move_to(i64::from(count) - 1, self.active().y.into()),
            (0, b'H' | b'f') => {
                let x = if len >= 2 { i64::from(second.max(1)) - 1 } else { 0 };
                self.move_to(x, i64::from(count) - 1);
            }
            (0, b'I') => self.tab(count),
            (0, b'J') => self.erase_display(first, false),
            (PRIVATE, b'J') => self.erase_display(first, true),
            (0, b'K') => self.erase_line(first, false),
            (PRIVATE, b'K') => self.erase_line(first, true),
            (0, b'L') => self.insert_lines(count),
            (0, b'M') => self.delete_lines(count),
            (0, b'P') => self.delete_characters(count),
            (0, b'S') => self.scroll_up(count),
            (0, b'T') => self.scroll_down(count),
            (0, b'X') => self.erase_characters(count),
            (0, b'Z') => self.back_tab(count),
            (0, b'b') => self.repeat(count),
            (0, b'c') => self.answer_attributes(false, first),
            (0x3e, b'c') => self.answer_attributes(true, first),
            (0, b'd') => self.move_to(self.active().x.into(), i64::from(count) - 1),
            (0, b'e') => self.move_by(0, count.into()),
            (0, b'g') => self.clear_tabs(first),
            (0, b'h') => self.set_modes(true),
            (0, b'l') => self.set_modes(false),
            (PRIVATE, b'h') => self.set_private_modes(true),
            (PRIVATE, b'l') => self.set_private_modes(false),
            (0, b'm') => {
                self.pen.select(&self.sequence.params);
                self.style = self.pen.style();
            }
            (0, b'n') => self.answer_status(false, first),
            (PRIVATE, b'n') => self.answer_status(true, first),
            (0x24, b'p') => self.answer_mode(false, first),
            (0x3f24, b'p') => self.answer_mode(true, first),
            (0x21, b'p') => self.soft_reset(),
            (0x20, b'q') => {
                self.modes.cursor_style = match first {
                    0..=6 => first as u8,
                    // An unknown shape only says whether to blink, and xterm.js then draws its default one.
                    _ => self.modes.cursor_style,
                };
            }
            (0x22, b'q') => match first {
                1 => self.set_protected(true),
                0 | 2 => self.set_protected(false),
                _ => {}
            },
            (0x3e, b'q') => self.answer_version(first),
            (0, b'r') => self.set_region(first.max(1), if len < 2 { 0 } else { second }),
            (0, b's') => self.save_cursor(),
            (0, b'u') => self.restore_cursor(),
            (0, b't') => self.title_stack(first, second),
            (0x3e, b'u') => self.keyboard_mut().push(first),
            (0x3c, b'u') => self.keyboard_mut().pop(first),
            (0x3d, b'u') => {
                let how = if len < 2 { 1 } else { second };
                self.keyboard_mut().set(first, how);
            }
            // modifyOtherKeys; without a value it is reset.
            (0x3e, b'm') if first == 4 => {
                self.modes.modify_other_keys = if (1..=3).contains(&second) { second as u8 } else { 0 };
            }
            (0x3e, b'n') if first == 4 => self.modes.modify_other_keys = 0,
            (0x20, b'@') => self.shift_columns(0, count, false),
            (0x20, b'A') => self.shift_columns(0, count, true),
            (0x27, b'}') => self.shift_columns(self.active().x, count, true),
            (0x27, b'~') => self.shift_columns(self.active().x, count, false),
            _ => {}
        }
        self.join = 0;
    }

    // ---- the cursor ----

    /// Back onto the screen (or, in origin mode, into the region); `x_max` allows a pending wrap.
    fn restrict_to(&mut self, x_max: u16) {
        let origin = self.modes.origin;
        let last = self.rows - 1;
        let buffer = self.active_mut();
        buffer.x = buffer.x.min(x_max);
        buffer.y = if origin { buffer.y.max(buffer.top).min(buffer.bottom) } else { buffer.y.min(last) };
    }

    fn restrict(&mut self) {
        self.restrict_to(self.cols - 1);
    }

    fn set_cursor(&mut self, x: i64, y: i64) {
        let (cols, rows) = (i64::from(self.cols), i64::from(self.rows));
        let y = if self.modes.origin { y + i64::from(self.active().top) } else { y };
        let buffer = self.active_mut();
        buffer.x = x.clamp(0, cols - 1) as u16;
        buffer.y = y.clamp(0, rows - 1) as u16;
        self.restrict();
    }

    /// CUP and its kin. xterm.js takes the row as relative to the region even where it was read from
    /// the cursor (CHA in origin mode).
    fn move_to(&mut self, x: i64, y: i64) {
        self.set_cursor(x, y);
    }

    fn move_by(&mut self, dx: i64, dy: i64) {
        self.restrict();
        let (x, y) = (i64::from(self.active().x), i64::from(self.active().y));
        self.set_cursor(x + dx, y + dy);
    }

    fn up(&mut self, count: i32) {
        let buffer = self.active();
        let room = i64::from(buffer.y) - i64::from(buffer.top);
        let count = i64::from(count);
        self.move_by(0, -if room >= 0 { count.min(room) } else { count });
    }

    fn down(&mut self, count: i32) {
        let buffer = self.active();
        let room = i64::from(buffer.bottom) - i64::from(buffer.y);
        let count = i64::from(count);
        self.move_by(0, if room >= 0 { count.min(room) } else { count });
    }

    fn backspace(&mut self) {
        if !self.modes.reverse_wrap {
            self.restrict();
            let buffer = self.active_mut();
            buffer.x = buffer.x.saturating_sub(1);
            return;
        }
        let cols = self.cols;
        self.restrict_to(cols);
        let (buffer, paint) = self.active_and_paint();
        if buffer.x > 0 {
            buffer.x -= 1;
        } else if buffer.y > buffer.top && buffer.y <= buffer.bottom && buffer.row(buffer.y).is_wrapped() {
            let (y, len) = (buffer.y, buffer.len);
            buffer.row(y).set_wrapped(false);
            buffer.y -= 1;
            buffer.x = cols - 1;
            let cell = buffer.row(y - 1).cell(paint, len, cols - 1);
            // A wide character that did not fit left this cell empty.
            if cell.width() == 1 && !cell.has_content() {
                buffer.x = buffer.x.saturating_sub(1);
            }
        }
        self.restrict();
    }

    fn tab(&mut self, count: i32) {
        let cols = self.cols;
        let buffer = self.active_mut();
        for _ in 0..count {
            if buffer.x >= cols - 1 {
                break;
            }
            buffer.x = buffer.tabs.after(buffer.x, cols);
        }
    }

    fn back_tab(&mut self, count: i32) {
        let cols = self.cols;
        let buffer = self.active_mut();
        if buffer.x >= cols {
            return;
        }
        for _ in 0..count {
            if buffer.x == 0 {
                break;
            }
            buffer.x = buffer.tabs.before(buffer.x, cols);
        }
    }

    fn set_tab(&mut self) {
        let buffer = self.active_mut();
        let x = buffer.x;
        buffer.tabs.set(x, true);
    }

    fn clear_tabs(&mut self, which: i32) {
        let buffer = self.active_mut();
        match which {
            0 => {
                let x = buffer.x;
                buffer.tabs.set(x, false);
            }
            3 => buffer.tabs.clear(),
            _ => {}
        }
    }

    fn save_cursor(&mut self) {
        let base = self.base();
        let (pen, charset) = (self.pen, self.charset);
        let buffer = self.active_mut();
        buffer.saved = Saved::new(buffer.x, base + usize::from(buffer.y), &pen, charset);
    }

    pub(super) fn restore_cursor(&mut self) {
        let base = self.base();
        let saved = self.active().saved;
        let last = self.rows - 1;
        let buffer = self.active_mut();
        buffer.x = saved.x;
        buffer.y = saved.y.saturating_sub(base).min(usize::from(last)) as u16;
        (self.pen.fg, self.pen.bg, self.pen.flags) = (saved.fg, saved.bg, saved.flags);
        self.style = self.pen.style();
        self.charset = saved.charset;
        self.restrict();
    }

    // ---- lines ----

    fn line_feed(&mut self) {
        let (cols, rows, returns) = (self.cols, self.rows, self.modes.line_feed_returns);
        let buffer = self.active_mut();
        if returns {
            buffer.x = 0;
        }
        if buffer.y == buffer.bottom {
            self.scroll(false);
        } else if buffer.y + 1 < rows {
            buffer.y += 1;
            let y = buffer.y;
            buffer.row(y).set_wrapped(false);
        }
        let buffer = self.active_mut();
        if buffer.x >= cols {
            buffer.x -= 1;
        }
    }

    fn index(&mut self) {
        self.restrict();
        let rows = self.rows;
        let buffer = self.active_mut();
        if buffer.y == buffer.bottom {
            self.scroll(false);
        } else {
            buffer.y = (buffer.y + 1).min(rows - 1);
        }
        self.restrict();
    }

    fn next_line(&mut self) {
        self.active_mut().x = 0;
        self.index();
    }

    fn reverse_index(&mut self) {
        self.restrict();
        let (cols, fill) = (self.cols, self.fill());
        let (buffer, paint) = self.active_and_paint();
        if buffer.y == buffer.top {
            let blank = Row::blank(cols, &fill, Line::default());
            let gone = buffer.rotate_down(buffer.top, buffer.bottom, blank);
            gone.discard(paint);
        } else {
            buffer.y = buffer.y.saturating_sub(1);
            self.restrict();
        }
    }

    /// The region moves up by a line; from the top of the normal screen it goes into the scrollback.
    pub(super) fn scroll(&mut self, wrapped: bool) {
        let (cols, fill) = (self.cols, self.fill());
        let len = self.active().len;
        let keeps = !self.on_alternate && self.normal.top == 0;
        let (history, history_max) = (&mut self.history, self.history_max);
        let paint = &mut self.paint;
        let buffer = if self.on_alternate { &mut self.alternate } else { &mut self.normal };
        let (top, bottom) = (buffer.top, buffer.bottom);
        buffer.rotate_up(top, bottom, |gone| {
            let spare = if keeps && history_max > 0 {
                let spare = if history.len() >= history_max { history.pop_front() } else { None };
                let mut line = gone.into_line(paint, len);
                line.shrink();
                history.push_back(line);
                spare.unwrap_or_default()
            } else {
                gone.discard(paint)
            };
            let mut blank = Row::blank(cols, &fill, spare);
            blank.set_wrapped(wrapped);
            blank
        });
    }

    fn insert_lines(&mut self, count: i32) {
        self.restrict();
        let y = self.active().y;
        if self.in_region(y) {
            self.rotate(y, count, false, self.fill());
            self.active_mut().x = 0;
        }
    }

    fn delete_lines(&mut self, count: i32) {
        self.restrict();
        let y = self.active().y;
        if self.in_region(y) {
            self.rotate(y, count, true, self.fill());
            self.active_mut().x = 0;
        }
    }

    fn scroll_up(&mut self, count: i32) {
        self.rotate(self.active().top, count, true, self.fill());
    }

    /// xterm.js fills with the default background here, unlike everywhere else.
    fn scroll_down(&mut self, count: i32) {
        self.rotate(self.active().top, count, false, Style::default());
    }

    fn in_region(&self, y: u16) -> bool {
        let buffer = self.active();
        (buffer.top..=buffer.bottom).contains(&y)
    }

    /// Rows from `first` to the end of the region move by `count`; none of them is kept.
    fn rotate(&mut self, first: u16, count: i32, up: bool, fill: Style) {
        let cols = self.cols;
        let (buffer, paint) = self.active_and_paint();
        let last = buffer.bottom;
        for _ in 0..count.min(i32::from(last - first) + 1) {
            if up {
                buffer.rotate_up(first, last, |gone| Row::blank(cols, &fill, gone.discard(paint)));
            } else {
                let blank = Row::blank(cols, &fill, Line::default());
                buffer.rotate_down(first, last, blank).discard(paint);
            }
        }
    }

    fn set_region(&mut self, top: i32, bottom: i32) {
        let rows = i32::from(self.rows);
        let bottom = if bottom == 0 || bottom > rows { rows } else { bottom };
        if bottom > top {
            let buffer = self.active_mut();
            buffer.top = (top - 1) as u16;
            buffer.bottom = (bottom - 1) as u16;
            self.set_cursor(0, 0);
        }
    }

    // ---- cells ----

    fn insert_characters(&mut self, count: i32) {
        self.restrict();
        let (x, y, fill) = (self.active().x, self.active().y, self.fill());
        self.edit_row(y, |row| insert_cells(row, x, count as usize, &fill));
    }

    fn delete_characters(&mut self, count: i32) {
        self.restrict();
        let (x, y, fill) = (self.active().x, self.active().y, self.fill());
        self.edit_row(y, |row| delete_cells(row, x, count as usize, &fill));
    }

    fn erase_characters(&mut self, count: i32) {
        self.restrict();
        let fill = self.fill();
        let (row, paint, len, x) = self.current_row_at();
        let to = (i64::from(x) + i64::from(count)).min(i64::from(len)) as u16;
        row.erase(paint, len, x, to, &fill);
    }

    /// SL, SR, DECIC and DECDC.
    fn shift_columns(&mut self, at: u16, count: i32, insert: bool) {
        let y = self.active().y;
        if !self.in_region(y) {
            return;
        }
        // A pending wrap counts as the column after the last one, which xterm.js takes modulo the width.
        let at = at % self.active().len.max(1);
        let fill = self.fill();
        for y in self.active().top..=self.active().bottom {
            self.edit_row(y, |row| {
                if insert {
                    insert_cells(row, at, count as usize, &fill);
                } else {
                    delete_cells(row, at, count as usize, &fill);
                }
            });
            self.active_mut().row(y).set_wrapped(false);
        }
    }

    fn erase_in_row(&mut self, y: u16, from: u16, to: u16, keep_protected: bool) {
        let fill = self.fill();
        if keep_protected {
            self.edit_row(y, |row| {
                let (from, to) = (usize::from(from), usize::from(to).min(row.len()));
                for cell in row.get_mut(from..to).unwrap_or_default() {
                    if cell.style.flags & flag::PROTECTED == 0 {
                        *cell = super::line::Cell::empty(fill);
                    }
                }
            });
            return;
        }
        let (buffer, paint) = self.active_and_paint();
        let len = buffer.len;
        buffer.row(y).erase(paint, len, from, to, &fill);
    }

    fn reset_row(&mut self, y: u16, keep_protected: bool) {
        if keep_protected {
            self.erase_in_row(y, 0, self.active().len, true);
        } else {
            let fill = self.fill();
            let (buffer, paint) = self.active_and_paint();
            let len = buffer.len;
            buffer.row(y).clear(paint, len, &fill);
        }
        self.active_mut().row(y).set_wrapped(false);
    }

    fn erase_display(&mut self, how: i32, keep_protected: bool) {
        let (cols, rows) = (self.cols, self.rows);
        self.restrict_to(cols);
        let (x, y) = (self.active().x, self.active().y);
        match how {
            0 => {
                self.erase_in_row(y, x, cols, keep_protected);
                if x == 0 {
                    self.active_mut().row(y).set_wrapped(false);
                }
                for below in y + 1..rows {
                    self.reset_row(below, keep_protected);
                }
            }
            1 => {
                self.erase_in_row(y, 0, x + 1, keep_protected);
                self.active_mut().row(y).set_wrapped(false);
                if x + 1 >= cols {
                    self.unwrap_line(usize::from(y) + 1);
                }
                for above in 0..y {
                    self.reset_row(above, keep_protected);
                }
            }
            2 => {
                for y in 0..rows {
                    self.reset_row(y, keep_protected);
                }
            }
            3 if !self.on_alternate => self.history.clear(),
            _ => {}
        }
    }

    /// xterm.js counts this line from the top of the scrollback, not of the screen.
    fn unwrap_line(&mut self, index: usize) {
        let base = self.base();
        if index < base {
            self.history[index].wrapped = false;
        } else if let Some(row) = self.active_mut().rows.get_mut(index - base) {
            row.set_wrapped(false);
        }
    }

    fn erase_line(&mut self, how: i32, keep_protected: bool) {
        let cols = self.cols;
        self.restrict_to(cols);
        let (x, y) = (self.active().x, self.active().y);
        let (from, to, unwraps) = match how {
            0 => (x, cols, x == 0),
            1 => (0, x + 1, false),
            2 => (0, cols, true),
            _ => return,
        };
        self.erase_in_row(y, from, to, keep_protected);
        if unwraps {
            self.active_mut().row(y).set_wrapped(false);
        }
    }

    fn set_protected(&mut self, on: bool) {
        self.pen.set(flag::PROTECTED, on);
        self.style = self.pen.style();
    }

    /// REP: the cell printed last, as it is on the screen.
    fn repeat(&mut self, count: i32) {
        if self.join == 0 {
            return;
        }
        let joined = u16::from(self.join);
        let (row, paint, len, x) = self.current_row_at();
        let Some(col) = x.checked_sub(joined) else { return };
        let text = match row.cell(paint, len, col).glyph {
            super::line::Glyph::One(c) | super::line::Glyph::Lone(c) => c.to_string(),
            super::line::Glyph::Many(text) => text.into(),
            super::line::Glyph::Empty | super::line::Glyph::Right => return,
        };
        // More than fills screen and scrollback cannot be told from less.
        let enough = usize::from(self.cols) * (usize::from(self.rows) + self.history_max + 1);
        let count = usize::try_from(count).unwrap_or(0);
        let count = if count > enough { enough + count % usize::from(self.cols) } else { count };
        let repeated = text.repeat(count.min(REPEAT_BATCH));
        let mut left = count;
        while left > 0 {
            let now = left.min(REPEAT_BATCH);
            self.print(&repeated[..now * text.len()]);
            left -= now;
        }
    }

    fn alignment_pattern(&mut self) {
        self.set_cursor(0, 0);
        let pen = Pen { underline: 0, underline_color: Color::DEFAULT, link: 0, ..self.pen };
        let style = pen.style();
        let cols = usize::from(self.active().len);
        // In origin mode xterm.js starts at the region, and on the alternate screen goes round.
        let first = if self.on_alternate { 0 } else { self.active().y };
        for y in first..self.rows {
            let text = vec![b'E'; cols];
            let (buffer, paint) = self.active_and_paint();
            let len = buffer.len;
            buffer.row(y).clear(paint, len, &Style::default());
            buffer.row(y).put(paint, len, 0, &style, Run { text: &text, cells: len, uneven: false });
            buffer.row(y).set_wrapped(false);
        }
        self.set_cursor(0, 0);
    }

    // ---- character sets ----

    fn shift_to(&mut self, level: u8) {
        self.level = level;
        self.charset = self.charsets[usize::from(level)];
    }

    fn designate(&mut self, level: u8, charset: u8) {
        self.charsets[usize::from(level)] = charset;
        if self.level == level {
            self.charset = charset;
        }
    }

    fn designate_by(&mut self, level: u8, code: u8) {
        if let Some(charset) = by_final(code) {
            self.designate(level, charset);
        }
    }

    // ---- modes ----

    fn set_modes(&mut self, on: bool) {
        for number in self.sequence.params.values() {
            match number {
                4 => self.modes.insert = on,
                20 => self.modes.line_feed_returns = on,
                _ => {}
            }
        }
    }

    fn set_private_modes(&mut self, on: bool) {
        for i in 0..self.sequence.params.len() {
            let number = self.sequence.params.get(i);
            self.set_private_mode(number, on);
        }
    }

    fn set_private_mode(&mut self, number: i32, on: bool) {
        let modes = &mut self.modes;
        let mouse = |mouse| if on { mouse } else { Mouse::Off };
        let encoding = |encoding| if on { encoding } else { MouseEncoding::Default };
        match number {
            1 => modes.application_cursor = on,
            2 if on => {
                for level in 0..4 {
                    self.designate(level, ASCII);
                }
            }
            6 => {
                modes.origin = on;
                self.set_cursor(0, 0);
            }
            7 => modes.wrap = on,
            9 => modes.mouse = mouse(Mouse::Press),
            12 => modes.cursor_blink = Some(on),
            25 => modes.cursor_hidden = !on,
            45 => modes.reverse_wrap = on,
            66 => modes.application_keypad = on,
            1000 => modes.mouse = mouse(Mouse::PressRelease),
            1002 => modes.mouse = mouse(Mouse::Drag),
            1003 => modes.mouse = mouse(Mouse::Any),
            1004 => modes.focus = on,
            1006 => modes.mouse_encoding = encoding(MouseEncoding::Sgr),
            1016 => modes.mouse_encoding = encoding(MouseEncoding::SgrPixels),
            2004 => modes.bracketed_paste = on,
            2026 => modes.synchronized = on,
            47 | 1047 if on => self.enter_alternate(),
            47 | 1047 => self.leave_alternate(),
            1048 if on => self.save_cursor(),
            1048 => self.restore_cursor(),
            1049 if on => {
                self.save_cursor();
                self.enter_alternate();
            }
            1049 => {
                self.leave_alternate();
                self.restore_cursor();
            }
            _ => {
                if let Some(bit) = PASSED_ON.iter().position(|known| i32::from(*known) == number) {
                    modes.passed_on = modes.passed_on & !(1 << bit) | u16::from(on) << bit;
                }
            }
        }
    }

    /// The cursor is carried over, both ways.
    fn enter_alternate(&mut self) {
        if self.on_alternate {
            return;
        }
        let fill = self.fill();
        self.alternate.len = self.cols;
        self.alternate.fill(self.rows, &fill);
        (self.alternate.x, self.alternate.y) = (self.normal.x, self.normal.y);
        self.on_alternate = true;
    }

    fn leave_alternate(&mut self) {
        if self.on_alternate {
            (self.normal.x, self.normal.y) = (self.alternate.x, self.alternate.y);
            self.alternate.empty(self.cols, self.rows, &mut self.paint);
            self.on_alternate = false;
        }
    }

    /// DECSTR.
    fn soft_reset(&mut self) {
        self.modes.soft_reset();
        self.pen = Pen::default();
        self.style = Style::default();
        self.charsets = [ASCII; 4];
        self.level = 0;
        self.charset = ASCII;
        let (base, bottom) = (self.base(), self.rows - 1);
        let buffer = self.active_mut();
        buffer.top = 0;
        buffer.bottom = bottom;
        buffer.saved = Saved::new(0, base, &Pen::default(), ASCII);
    }

    /// RIS.
    fn full_reset(&mut self) {
        let mut fresh = Screen::new(self.size(), self.history_max);
        self.modes.full_reset();
        std::mem::swap(&mut fresh.modes, &mut self.modes);
        std::mem::swap(&mut fresh.title, &mut self.title);
        std::mem::swap(&mut fresh.titles, &mut self.titles);
        std::mem::swap(&mut fresh.cwd, &mut self.cwd);
        std::mem::swap(&mut fresh.colors, &mut self.colors);
        std::mem::swap(&mut fresh.answers, &mut self.answers);
        std::mem::swap(&mut fresh.strings, &mut self.strings);
        std::mem::swap(&mut fresh.scout, &mut self.scout);
        fresh.fed = self.fed;
        fresh.answering = self.answering;
        *self = fresh;
    }
}

/// REP prints this many copies at a time.
const REPEAT_BATCH: usize = 1024;
