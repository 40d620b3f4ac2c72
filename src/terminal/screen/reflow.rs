//! Another size. Wrapped lines flow as xterm.js lets them: lines that continue each other are joined and
//! wrapped anew, except those that hold the cursor, which the program redraws itself. The alternate
//! screen does not flow; what no longer fits stays hidden to the right until it is wider again.

use std::collections::VecDeque;

use super::Screen;
use super::buffer::Buffer;
use super::line::{Cell, Glyph, Line};
use super::paint::Paint;
use super::row::Row;
use super::style::Style;
use crate::terminal::size::GridSize;

/// A buffer while it changes: the scrollback and the screen as one list.
struct Layout {
    lines: Vec<Line>,
    /// Lines above the screen.
    base: usize,
    /// Lines that the scrollback and the screen may have together.
    max: usize,
    x: u16,
    y: usize,
    saved_x: u16,
    saved_y: usize,
}

impl Screen {
    /// Changes the grid; wrapped lines flow as they do in xterm.js.
    pub fn resize(&mut self, size: GridSize) {
        let (old_cols, old_rows) = (self.cols, self.rows);
        let (cols, rows) = (size.cols(), size.rows());
        if (cols, rows) == (old_cols, old_rows) {
            return;
        }
        self.cols = cols;
        self.rows = rows;
        self.scout.resize(cols, rows);

        let history = std::mem::take(&mut self.history);
        let mut normal = Layout::take(
            history.into(),
            &mut self.normal,
            &mut self.paint,
            usize::from(old_rows) + self.history_max,
        );
        normal.change_rows(cols, old_rows.into(), rows.into(), self.history_max);
        if cols > old_cols {
            normal.reflow_wider(old_cols, cols, rows.into());
        } else if cols < old_cols {
            normal.reflow_narrower(old_cols, cols, rows.into());
        }
        self.normal.len = cols;
        self.history = normal.give(&mut self.normal, cols, rows, true).into();

        let alternate = &mut self.alternate;
        if alternate.rows.is_empty() {
            alternate.len = cols;
        } else {
            let mut layout = Layout::take(Vec::new(), alternate, &mut self.paint, old_rows.into());
            layout.change_rows(cols, old_rows.into(), rows.into(), 0);
            if cols > old_cols {
                alternate.len = cols;
            }
            let len = alternate.len;
            layout.give(alternate, len, rows, false);
        }
        self.alternate.bottom = rows - 1;
        for buffer in [&mut self.normal, &mut self.alternate] {
            buffer.tabs.widen(cols);
        }
        self.paint.forget(self.alternate.len.max(cols));
    }
}

impl Layout {
    fn take(mut lines: Vec<Line>, buffer: &mut Buffer, paint: &mut Paint, max: usize) -> Layout {
        let base = lines.len();
        let len = buffer.len;
        lines.extend(std::mem::take(&mut buffer.rows).into_iter().map(|row| row.into_line(paint, len)));
        Layout {
            lines,
            base,
            max,
            x: buffer.x,
            y: buffer.y.into(),
            saved_x: buffer.saved.x,
            saved_y: buffer.saved.y,
        }
    }

    /// Puts the rows back into the buffer, cut to `len` cells; returns the lines above them.
    fn give(mut self, buffer: &mut Buffer, len: u16, rows: u16, cut: bool) -> Vec<Line> {
        self.lines.resize_with((self.base + usize::from(rows)).max(self.lines.len()), Line::default);
        let mut above = self.lines.len() - usize::from(rows);
        // xterm.js keeps both in step; should they ever differ, the screen's end counts.
        above = above.min(self.base);
        let mut screen = self.lines.split_off(above);
        screen.truncate(rows.into());
        if cut || buffer.len <= len {
            for line in self.lines.iter_mut().chain(&mut screen) {
                if line.cells > len {
                    line.truncate(len);
                }
            }
        }
        buffer.rows = screen.into_iter().map(Row::from_line).collect::<VecDeque<Row>>();
        buffer.x = self.x;
        buffer.y = self.y.min(usize::from(rows) - 1) as u16;
        buffer.saved.x = self.saved_x;
        buffer.saved.y = self.saved_y;
        buffer.top = 0;
        buffer.bottom = rows - 1;
        self.lines
    }

    /// More rows come from the scrollback while the screen is full, else from below; fewer go from
    /// below the cursor, then into the scrollback.
    fn change_rows(&mut self, cols: u16, old_rows: usize, rows: usize, history_max: usize) {
        let max = rows + history_max;
        let mut pulled = 0;
        for _ in old_rows..rows {
            if self.lines.len() < rows + self.base {
                if self.base > 0 && self.lines.len() <= self.base + self.y + pulled + 1 {
                    self.base -= 1;
                    pulled += 1;
                } else {
                    self.lines.push(Line::default());
                }
            }
        }
        for _ in rows..old_rows {
            if self.lines.len() > rows + self.base {
                if self.lines.len() > self.base + self.y + 1 {
                    self.lines.pop();
                } else {
                    self.base += 1;
                }
            }
        }
        if max < self.max {
            let trimmed = self.lines.len().saturating_sub(max);
            self.lines.drain(..trimmed);
            self.base = self.base.saturating_sub(trimmed);
            self.saved_y = self.saved_y.saturating_sub(trimmed);
        }
        self.max = max;
        self.x = self.x.min(cols - 1);
        self.y = self.y.min(rows - 1) + pulled;
        self.saved_x = self.saved_x.min(cols - 1);
    }

    /// Whether the cursor is on one of these lines.
    fn has_cursor(&self, lines: std::ops::Range<usize>) -> bool {
        lines.contains(&(self.base + self.y))
    }

    fn reflow_wider(&mut self, old_cols: u16, cols: u16, rows: usize) {
        let mut removed = 0;
        let mut kept: Vec<Line> = Vec::with_capacity(self.lines.len());
        let mut lines = std::mem::take(&mut self.lines);
        let mut first = 0;
        while first < lines.len() {
            let mut end = first + 1;
            while end < lines.len() && lines[end].wrapped {
                end += 1;
            }
            if end - first > 1 && !self.has_cursor(first..end) {
                let left = join_wider(&mut lines[first..end], old_cols, cols);
                removed += end - first - left;
                kept.extend(lines[first..first + left].iter_mut().map(std::mem::take));
            } else {
                kept.extend(lines[first..end].iter_mut().map(std::mem::take));
            }
            first = end;
        }
        self.lines = kept;
        for _ in 0..removed {
            if self.base > 0 {
                self.base -= 1;
                continue;
            }
            self.y = self.y.saturating_sub(1);
            if self.lines.len() < rows {
                self.lines.push(Line::default());
            }
        }
        self.saved_y = self.saved_y.saturating_sub(removed);
    }

    fn reflow_narrower(&mut self, old_cols: u16, cols: u16, rows: usize) {
        // From the end, since lines at the start may go. What is added stands after line `.0`.
        let mut added: Vec<(usize, Vec<Line>)> = Vec::new();
        let mut added_count = 0;
        let mut next = self.lines.len();
        // Lines at the end are taken away to make room, but not before all of them were looked at.
        let mut len = next;
        while next > 0 {
            next -= 1;
            let end = next + 1;
            if !self.lines[next].wrapped && self.lines[next].trimmed_cells() <= cols {
                continue;
            }
            while self.lines[next].wrapped && next > 0 {
                next -= 1;
            }
            let first = next;
            if self.has_cursor(first..end) {
                continue;
            }
            let Some(more) = split_narrower(&mut self.lines[first..end], old_cols, cols) else { continue };
            let count = more.len();
            let filled = if self.base == 0 && self.y + 1 != len { self.y } else { len };
            let trimmed = (filled + count).saturating_sub(self.max);
            if count > 0 {
                added.push((end - 1, more));
                added_count += count;
            }
            for _ in trimmed..count {
                if self.base == 0 {
                    if self.y + 1 < rows {
                        self.y += 1;
                        len = len.saturating_sub(1);
                    } else {
                        self.base += 1;
                    }
                } else if self.base + rows < self.max.min(len + added_count) {
                    self.base += 1;
                }
            }
            self.saved_y = (self.saved_y + count).min(self.base + rows - 1);
        }
        self.lines.truncate(len);
        if added.is_empty() {
            return;
        }
        let mut all = Vec::with_capacity(self.lines.len() + added_count);
        for (i, line) in std::mem::take(&mut self.lines).into_iter().enumerate() {
            all.push(line);
            while added.last().is_some_and(|(after, _)| *after == i) {
                all.extend(added.pop().unwrap_or_default().1);
            }
        }
        // Those after lines that were taken away.
        all.extend(added.into_iter().rev().flat_map(|(_, lines)| lines));
        let trimmed = all.len().saturating_sub(self.max);
        all.drain(..trimmed);
        self.lines = all;
    }
}

fn width_at(row: &[Cell], col: usize) -> u8 {
    row.get(col).map_or(0, Cell::width)
}

fn trimmed(row: &[Cell]) -> usize {
    row.iter().rposition(Cell::has_content).map_or(0, |i| i + usize::from(row[i].width()))
}

/// Cells of a line that count: all, but the last one when a wide character did not fit there.
fn counted(lines: &[Vec<Cell>], i: usize, cols: usize) -> usize {
    let Some(next) = lines.get(i + 1) else { return trimmed(&lines[i]) };
    let ends_empty = lines[i].get(cols - 1).is_none_or(|cell| cell.glyph == Glyph::Empty);
    if ends_empty && width_at(next, 0) == 2 { cols - 1 } else { cols }
}

fn empty() -> Cell {
    Cell::empty(Style::default())
}

fn read_all(lines: &[Line], len: u16) -> Vec<Vec<Cell>> {
    lines
        .iter()
        .map(|line| {
            let mut cells = Vec::new();
            line.read(len, &mut cells);
            cells
        })
        .collect()
}

fn copy(lines: &mut [Vec<Cell>], from: (usize, usize), to: (usize, usize), count: usize, backwards: bool) {
    let mut one = |i: usize| {
        let cell = lines.get(from.0).and_then(|line| line.get(from.1 + i)).cloned().unwrap_or_else(empty);
        if let Some(slot) = lines.get_mut(to.0).and_then(|line| line.get_mut(to.1 + i)) {
            *slot = cell;
        }
    };
    if backwards {
        (0..count).rev().for_each(&mut one);
    } else {
        (0..count).for_each(&mut one);
    }
}

/// Joins lines that continue each other; returns how many are left.
fn join_wider(group: &mut [Line], old_cols: u16, cols: u16) -> usize {
    let (old, new) = (usize::from(old_cols), usize::from(cols));
    let mut lines = read_all(group, cols);
    let mut to = (0, counted(&lines, 0, old));
    let mut from = (1, 0);
    while from.0 < lines.len() {
        let source = counted(&lines, from.0, old);
        let count = (source.saturating_sub(from.1)).min(new.saturating_sub(to.1));
        copy(&mut lines, from, to, count, false);
        to.1 += count;
        if to.1 == new {
            to = (to.0 + 1, 0);
        }
        from.1 += count;
        if from.1 == source {
            from = (from.0 + 1, 0);
        }
        if to.1 == 0 && to.0 != 0 && width_at(&lines[to.0 - 1], new - 1) == 2 {
            copy(&mut lines, (to.0 - 1, new - 1), to, 1, false);
            to.1 += 1;
            lines[to.0 - 1][new - 1] = empty();
        }
    }
    if let Some(line) = lines.get_mut(to.0) {
        if to.1 > 0 && width_at(line, to.1 - 1) == 2 {
            line[to.1 - 1] = empty();
        }
        line[to.1..].fill(empty());
    }
    let mut left = lines.len();
    while left > 1 && (left - 1 > to.0 || trimmed(&lines[left - 1]) == 0) {
        left -= 1;
    }
    for (line, cells) in group.iter_mut().zip(&lines) {
        line.write(cells);
    }
    left
}

/// Wraps lines that continue each other to fewer columns; returns the lines that this adds.
fn split_narrower(group: &mut [Line], old_cols: u16, cols: u16) -> Option<Vec<Line>> {
    let (old, new) = (usize::from(old_cols), usize::from(cols));
    let mut lines = read_all(group, old_cols);
    let last_len = trimmed(&lines[lines.len() - 1]);
    let lens = narrower_lens(&lines, old, new);
    let count = lens.len().checked_sub(lines.len())?;
    lines.resize_with(lens.len(), || vec![empty(); new]);

    let mut to = (lens.len() - 1, lens.last().copied().unwrap_or(0));
    let mut from = (lens.len() - count - 1, last_len);
    loop {
        let step = from.1.min(to.1);
        copy(&mut lines, (from.0, from.1 - step), (to.0, to.1 - step), step, true);
        to.1 -= step;
        from.1 -= step;
        if to.1 == 0 {
            if to.0 == 0 {
                break;
            }
            to = (to.0 - 1, lens[to.0 - 1]);
        }
        if from.1 == 0 {
            if from.0 == 0 {
                break;
            }
            from = (from.0 - 1, counted(&lines, from.0 - 1, old));
        }
    }
    for (line, len) in lines.iter_mut().zip(&lens) {
        if *len < new {
            line[*len] = empty();
        }
        line.truncate(new);
    }
    for (line, cells) in group.iter_mut().zip(&lines) {
        line.write(cells);
    }
    let more = &lines[group.len()..];
    Some(
        more.iter()
            .map(|cells| {
                let mut line = Line::default();
                line.write(cells);
                line.wrapped = true;
                line
            })
            .collect(),
    )
}

/// Cells of each line after wrapping to `new` columns.
fn narrower_lens(lines: &[Vec<Cell>], old: usize, new: usize) -> Vec<usize> {
    let needed: usize = (0..lines.len()).map(|i| counted(lines, i, old)).sum();
    let mut lens = Vec::new();
    let mut available = 0;
    let mut col = 0;
    let mut line = 0;
    while available < needed {
        if needed - available < new {
            lens.push(needed - available);
            break;
        }
        col += new;
        let len = if line < lines.len() { counted(lines, line, old) } else { new };
        if col > len {
            col -= len;
            line += 1;
        }
        let ends_wide = lines.get(line).is_some_and(|cells| col > 0 && width_at(cells, col - 1) == 2);
        if ends_wide {
            col -= 1;
        }
        // One column cannot hold a wide character: it is cut in two rather than pushed on for ever.
        let len = if ends_wide && new > 1 { new - 1 } else { new };
        lens.push(len);
        available += len;
    }
    lens
}
