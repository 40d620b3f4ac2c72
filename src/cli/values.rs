//! Values of options, parsed at the door.

use std::time::Duration;

use crate::limits;
use crate::terminal::GridSize;

/// `120x36`.
pub(super) fn parse_size(text: &str) -> Result<GridSize, String> {
    text.split_once(['x', 'X'])
        .and_then(|(cols, rows)| GridSize::new(cols.parse().ok()?, rows.parse().ok()?))
        .ok_or_else(|| format!("write it like 120x36, each from 1 to {}", limits::GRID_SIDE_MAX))
}

/// `600`, `600s`, `10m`, `2h`, `1d`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit: Option<u64> = match &text[digits..] {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        "d" => Some(24 * 3600),
        _ => None,
    };
    text[..digits]
        .parse::<u64>()
        .ok()
        .and_then(|number| Some(Duration::from_secs(number.checked_mul(unit?)?)))
        .filter(|duration| *duration <= limits::LINGER_MAX)
        .ok_or_else(|| "write seconds, or a number with s, m, h or d, up to a year".into())
}

/// `/a/b`: a leading slash, none at the end. `/` is the empty prefix.
pub(super) fn parse_base_path(text: &str) -> Result<String, String> {
    if text.is_empty() || text == "/" {
        return Ok(String::new());
    }
    let good = |segment: &str| {
        !segment.is_empty()
            && !segment.trim_matches('.').is_empty()
            && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
    };
    match text.strip_prefix('/') {
        Some(rest) if rest.split('/').all(good) => Ok(text.to_owned()),
        _ => Err("write it like /a/b: a leading slash, none at the end, letters, digits and -._~".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("120x36").map(|size| (size.cols(), size.rows())), Ok((120, 36)));
        for bad in ["", "x", "0x1", "80", "80x0", "2001x24", "80x24x1", "-1x5"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations() {
        for (text, seconds) in [("0", 0), ("600", 600), ("5s", 5), ("10m", 600), ("2h", 7200), ("1d", 86400)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for bad in ["", "m", "-1", "1.5m", "9999999999999999999", "9999999999999999h", "366d", "10 m"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn base_paths() {
        for (text, path) in [("", ""), ("/", ""), ("/a", "/a"), ("/a/b-1._~", "/a/b-1._~")] {
            assert_eq!(parse_base_path(text).as_deref(), Ok(path));
        }
        for bad in ["a", "/a/", "//a", "/a//b", "/..", "/a/../b", "/a b", "/a?b", "/%2e"] {
            assert!(parse_base_path(bad).is_err(), "{bad}");
        }
    }
}
