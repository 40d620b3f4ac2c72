//! What frames and bodies share: one bounded way into JSON, and one fast way out.

use memchr::{memchr, memchr2};
use serde_json::{Map, Value};

use crate::limits::{GRID_SIDE_MAX, JSON_VALUES_MAX};
use crate::terminal::GridSize;

/// Whole numbers up to here are exact in every JSON implementation.
pub(super) const SEQ_MAX: u64 = 1 << 53;

/// Parses a JSON object of at most [`JSON_VALUES_MAX`] values.
///
/// # Errors
/// In words for the peer.
pub(super) fn parse_object(text: &[u8]) -> Result<Map<String, Value>, String> {
    if values_max(text) > JSON_VALUES_MAX {
        return Err(format!("JSON must have at most {JSON_VALUES_MAX} values"));
    }
    match serde_json::from_slice(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("a JSON object is expected".to_owned()),
        Err(error) => Err(format!("malformed JSON: {error}")),
    }
}

/// How many values a JSON text has at most: each begins its container or follows a comma. A parsed value
/// takes sixteen times the two bytes that it takes as text, so they are counted before they are parsed.
fn values_max(text: &[u8]) -> usize {
    let mut count = 1;
    let mut rest = text;
    while !rest.is_empty() {
        let (plain, quoted) = rest.split_at(memchr(b'"', rest).unwrap_or(rest.len()));
        count += plain.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
        rest = after_string(quoted.get(1..).unwrap_or_default());
    }
    count
}

/// What follows the closing quote of a string that these bytes are inside of.
fn after_string(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr2(b'"', b'\\', rest) {
        let skipped = if rest[at] == b'"' { 1 } else { 2 };
        rest = rest.get(at + skipped..).unwrap_or_default();
        if skipped == 1 {
            return rest;
        }
    }
    &[]
}

/// A whole number, also when it was written as `5.0`.
pub(super) fn whole_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && (0.0..=SEQ_MAX as f64).contains(&number)).then_some(number as u64)
    })
}

/// The fields `cols` and `rows`.
///
/// # Errors
/// The field and its rule.
pub(super) fn grid_size(fields: &Map<String, Value>) -> Result<GridSize, String> {
    let side = |name: &str| fields.get(name).and_then(whole_number).unwrap_or(0);
    let (cols, rows) = (side("cols"), side("rows"));
    GridSize::new(cols, rows).ok_or_else(|| {
        let name = if GridSize::new(cols, 1).is_none() { "cols" } else { "rows" };
        format!("{name} must be a whole number from 1 to {GRID_SIDE_MAX}")
    })
}

/// Appends UTF-8 as the inside of a JSON string (RFC 8259 section 7). Pieces may end inside a character.
pub(super) fn put_escaped(mut bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len());
    // Eight bytes are copied before they are looked at: terminal output has an escape every few bytes, and
    // a copy of a fixed length is one instruction.
    while let Some((block, rest)) = bytes.split_first_chunk::<8>() {
        out.extend_from_slice(block);
        let hits = escapes_in(u64::from_le_bytes(*block));
        if hits == 0 {
            bytes = rest;
            continue;
        }
        let plain = (hits.trailing_zeros() / 8) as usize;
        out.truncate(out.len() - block.len() + plain);
        put_escape(block[plain], out);
        bytes = &bytes[plain + 1..];
    }
    for byte in bytes {
        match byte {
            0..0x20 | b'"' | b'\\' => put_escape(*byte, out),
            _ => out.push(*byte),
        }
    }
}

/// The high bit of each byte below 0x20, and of each quote and backslash. Bits above the lowest one may be
/// wrong, since a borrow goes upwards; the lowest is right.
fn escapes_in(block: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let below = |bytes: u64, limit: u64| bytes.wrapping_sub(ONES * limit) & !bytes;
    let is = |wanted: u8| below(block ^ (ONES * u64::from(wanted)), 1);
    (below(block, 0x20) | is(b'"') | is(b'\\')) & HIGH
}

fn put_escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        _ => {
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn escaped(parts: [&[u8]; 2]) -> String {
        let mut out = b"\"".to_vec();
        put_escaped(parts[0], &mut out);
        put_escaped(parts[1], &mut out);
        out.push(b'"');
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_what_must_be_is_escaped() {
        let all: String = (0..0x24).chain([0x5b, 0x5c, 0x5d, 0x7f]).filter_map(char::from_u32).collect();
        let expected = r##""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008\t\n\u000b\u000c\r\u000e\u000f\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f !\"#[\\]"##;
        assert_eq!(escaped([all.as_bytes(), b""]), format!("{expected}\u{7f}\""));
    }

    #[test]
    fn a_text_of_countless_values_is_refused_before_it_takes_memory() {
        let array = |items: usize| format!("{{\"x\":[{}0]}}", "0,".repeat(items));
        assert!(parse_object(array(JSON_VALUES_MAX - 3).as_bytes()).is_ok());
        let refusal = Err(format!("JSON must have at most {JSON_VALUES_MAX} values"));
        assert_eq!(parse_object(array(JSON_VALUES_MAX).as_bytes()), refusal);
        assert_eq!(parse_object("[".repeat(JSON_VALUES_MAX).as_bytes()), refusal);
        assert_eq!(parse_object("{\"a\":".repeat(JSON_VALUES_MAX).as_bytes()), refusal);
    }

    #[test]
    fn commas_and_brackets_inside_of_a_string_are_no_values() {
        let data = ",[{\\\"".repeat(JSON_VALUES_MAX);
        let text = serde_json::json!({ "data": data, "more": "," }).to_string();
        assert_eq!(values_max(text.as_bytes()), 3);
        assert_eq!(parse_object(text.as_bytes()).unwrap()["data"], data);
    }

    fn values(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
            Value::Object(fields) => 1 + fields.values().map(values).sum::<usize>(),
            _ => 1,
        }
    }

    proptest! {
        #[test]
        fn no_text_has_more_values_than_were_counted(text in r#"[\[\]{}",:0\\ ]{0,40}|(\[|\]|\{"\\"":|\}|,|"[,\[]"|0){0,20}"#) {
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                prop_assert!(values(&value) <= values_max(text.as_bytes()), "{}", text);
            }
        }

        #[test]
        fn any_text_cut_anywhere_is_the_same_to_a_json_parser(
            text in "\\PC*|[\0-\u{7f}\u{80}-\u{9f}é€😀\"\\\\]{0,300}",
            cut: prop::sample::Index,
        ) {
            let (front, back) = text.as_bytes().split_at(cut.index(text.len() + 1));
            prop_assert_eq!(serde_json::from_str::<String>(&escaped([front, back])).unwrap(), text);
        }
    }
}
