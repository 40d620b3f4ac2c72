//! Text for people: aligned columns and rough times.

use std::time::Duration;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Cells of the widest column; longer entries are cut.
const COLUMN_CELLS_MAX: usize = 40;

/// Columns as wide as their widest entry; control characters are dropped.
pub(super) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let cells: Vec<[String; N]> = std::iter::once(head.map(str::to_owned))
        .chain(rows.iter().cloned())
        .map(|row| row.map(|entry| cut(&entry)))
        .collect();
    let widths: [usize; N] =
        std::array::from_fn(|column| cells.iter().map(|row| row[column].width()).max().unwrap_or(0));
    let mut text = String::new();
    for row in cells {
        let mut line = String::new();
        for (entry, width) in row.iter().zip(widths) {
            line.push_str(entry);
            line.push_str(&" ".repeat(width - entry.width() + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn cut(entry: &str) -> String {
    let clean: String = entry.chars().filter(|c| !c.is_control()).collect();
    if clean.is_empty() {
        return "-".into();
    }
    if clean.width() <= COLUMN_CELLS_MAX {
        return clean;
    }
    let mut cells = 1;
    let fits = |c: &char| {
        cells += c.width().unwrap_or(0);
        cells <= COLUMN_CELLS_MAX
    };
    clean.chars().take_while(fits).chain(['…']).collect()
}

/// `5s`, `3m`, `2h`, `9d`.
pub(super) fn duration_text(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..86_400 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// Seconds since 1970 of an RFC 3339 time in UTC, as the server writes it.
pub(super) fn unix_seconds(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, between: char| -> Option<[u64; 3]> {
        let parts: Vec<u64> = text.split(between).map(|part| part.parse().ok()).collect::<Option<_>>()?;
        parts.try_into().ok()
    };
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time.split('.').next()?, ':')?;
    if !(1970..10_000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    const DAYS_TO_1970: u64 = 719_468;
    Some((days - DAYS_TO_1970) * 86_400 + hour.min(23) * 3600 + minute.min(59) * 60 + second.min(60))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::rest::rfc3339;

    #[test]
    fn columns_are_aligned_by_cells() {
        let rows = [["a".into(), "你好".into(), "x".into()], ["lo\x1bng".into(), String::new(), "y".into()]];
        assert_eq!(table(["A", "B", "C"], &rows), "A     B     C\na     你好  x\nlong  -     y\n");
    }

    #[test]
    fn a_long_entry_is_cut() {
        let text = table(["T"], &[["你".repeat(30)]]);
        assert_eq!(text.lines().nth(1).unwrap().width(), 39);
        assert!(text.ends_with("…\n"));
    }

    #[test]
    fn times_are_what_the_server_writes() {
        for seconds in [0, 951_782_399, 951_782_400, 951_868_800, 1_709_164_800, 4_102_444_799, 1_796_000_123]
        {
            assert_eq!(unix_seconds(&rfc3339(seconds * 1000 + 7)), Some(seconds));
        }
        for bad in ["", "Z", "1969-12-31T00:00:00Z", "2020-13-01T00:00:00Z", "2020-01-01", "x-y-zTa:b:cZ"] {
            assert_eq!(unix_seconds(bad), None, "{bad}");
        }
    }
}
