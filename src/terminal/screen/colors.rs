//! Colours that a program changed: the palette (OSC 4), text, background and cursor (OSC 10, 11, 12).

use std::collections::BTreeMap;

pub(super) type Rgb = [u8; 3];

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Colors {
    pub(super) palette: BTreeMap<u8, Rgb>,
    /// Text, background, cursor.
    pub(super) special: [Option<Rgb>; 3],
}

/// `rgb:R/G/B` and `#RGB` with 1 to 4 hex digits each (XParseColor), as far as xterm.js reads them.
pub(super) fn parse(spec: &str) -> Option<Rgb> {
    let channel = |digits: &str| {
        let valid = (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        valid.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    };
    let spec = spec.to_ascii_lowercase();
    if let Some(rest) = spec.strip_prefix("rgb:") {
        let parts: Vec<&str> = rest.split('/').collect();
        let [r, g, b] = parts[..] else { return None };
        if r.len() != g.len() || g.len() != b.len() {
            return None;
        }
        let max = 16u32.pow(r.len() as u32) - 1;
        let scale = |digits| channel(digits).map(|n| ((n * 255 * 2 + max) / (2 * max)) as u8);
        return Some([scale(r)?, scale(g)?, scale(b)?]);
    }
    let digits = spec.strip_prefix('#')?;
    if !digits.is_ascii() || !matches!(digits.len(), 3 | 6 | 9 | 12) {
        return None;
    }
    let each = digits.len() / 3;
    let top = |i: usize| {
        let n = channel(&digits[i * each..(i + 1) * each])?;
        Some(if each == 1 { (n << 4) as u8 } else { (n >> (4 * (each - 2))) as u8 })
    };
    Some([top(0)?, top(1)?, top(2)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_in_all_spellings() {
        for (spec, color) in [
            ("rgb:ff/80/00", [255, 128, 0]),
            ("rgb:f/8/0", [255, 136, 0]),
            ("rgb:ffff/8080/0000", [255, 128, 0]),
            ("RGB:FFF/800/000", [255, 128, 0]),
            ("#f80", [240, 128, 0]),
            ("#ff8000", [255, 128, 0]),
            ("#ffff80800000", [255, 128, 0]),
        ] {
            assert_eq!(parse(spec), Some(color), "{spec}");
        }
    }

    #[test]
    fn what_is_no_colour_is_none() {
        for spec in
            ["", "red", "rgb:", "rgb:1/2", "rgb:12/1/1", "rgb:12345/12345/12345", "#12", "#ggg", "#é1é1", "?"]
        {
            assert_eq!(parse(spec), None, "{spec}");
        }
    }
}
