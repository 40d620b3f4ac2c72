//! How many columns a character takes in the client, xterm.js with its Unicode 11 addon. The
//! `unicode-width` crate, which vt100 uses, differs from it in 5,172 code points.

use super::width_table::{WIDE, ZERO};

/// Columns of a printable character: 0 (it joins the one before), 1 or 2.
pub(super) fn width(c: char) -> u8 {
    let code = u32::from(c);
    let within = |table: &[(u32, u32)]| {
        table.binary_search_by(|(first, last)| {
            if *last < code {
                std::cmp::Ordering::Less
            } else if *first > code {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
    };
    match code {
        // What most text is made of, without a search.
        0..0x300 => 1,
        0x2500..=0x25fc | 0x2800..=0x28ff | 0xe000..=0xf8ff => 1,
        0x3041..=0x3096
        | 0x30a1..=0x30fa
        | 0x4e00..=0x9fff
        | 0xac00..=0xd7a3
        | 0xff01..=0xff60
        | 0x1f600..=0x1f64f => 2,
        _ if within(&ZERO).is_ok() => 0,
        _ if within(&WIDE).is_ok() => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_cuts_say_what_the_table_says() {
        for c in (0xa0..0x110000).filter_map(char::from_u32) {
            let code = u32::from(c);
            let within = |table: &[(u32, u32)]| table.iter().any(|(a, b)| (*a..=*b).contains(&code));
            let told = if code < 0x20000 {
                if within(&ZERO) {
                    0
                } else if within(&WIDE) {
                    2
                } else {
                    1
                }
            } else {
                continue;
            };
            assert_eq!(width(c), told, "U+{code:04X}");
        }
    }

    #[test]
    fn widths_are_those_of_unicode_11() {
        assert_eq!(
            "a─漢\u{301}\u{fe0f}\u{1f600}\u{1f972}é".chars().map(width).collect::<Vec<_>>(),
            [1, 1, 2, 0, 0, 2, 1, 1]
        );
    }
}
