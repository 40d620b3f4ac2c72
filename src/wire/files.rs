//! Files that a client sends: the body that announces one, the name that it gets, and what is answered.

use serde_json::{Value, json};

use super::http::Reject;
use super::rest::{bad, parse_body, required};
use crate::limits::{PATH_BYTES_MAX, UPLOAD_NAME_BYTES_MAX, UPLOAD_NAMES_TRIED_MAX};

/// Parses the body of `POST /v1/terminals/{id}/files`: the name, as [`clean_name`] leaves it, and how many bytes
/// will come.
///
/// # Errors
/// 400, with the field and its rule.
pub fn parse_announcement(body: &[u8]) -> Result<(String, u64), Reject> {
    let fields = parse_body(body)?;
    let name = required(&fields, "name", PATH_BYTES_MAX)?;
    let bytes = fields.get("bytes").and_then(|bytes| match bytes.as_u64() {
        None => bytes.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=9e15).contains(n)).map(|n| n as u64),
        bytes => bytes,
    });
    Ok((clean_name(&name), bytes.ok_or_else(|| bad("bytes must be a whole number, 0 or more"))?))
}

/// A name that stays in its directory, is seen in a listing, and reads as it is: `/` and what would hide the
/// file, make it an option or an expansion (`.`, `-`, `~` in front) become `_`; control characters, line
/// separators and what turns the direction of writing around go. At most [`UPLOAD_NAME_BYTES_MAX`] bytes, of
/// which the extension is kept.
pub fn clean_name(name: &str) -> String {
    let unseen = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let seen: String = name.chars().filter(|c| !unseen(*c)).map(|c| if c == '/' { '_' } else { c }).collect();
    let seen = seen.trim();
    let name = match seen.strip_prefix(['.', '-', '~']) {
        Some(rest) => format!("_{rest}"),
        None if seen.is_empty() => "file".to_owned(),
        None => seen.to_owned(),
    };
    let (stem, extension) = split(&name);
    let extension = cut(extension, UPLOAD_NAME_BYTES_MAX / 2);
    format!("{}{extension}", cut(stem, UPLOAD_NAME_BYTES_MAX - extension.len()))
}

/// The name, then `name (2).ext`, `name (3).ext` ...
pub fn names(name: &str) -> impl Iterator<Item = String> {
    let (stem, extension) = split(name);
    let numbered = (2..=UPLOAD_NAMES_TRIED_MAX).map(move |n| format!("{stem} ({n}){extension}"));
    std::iter::once(name.to_owned()).chain(numbered)
}

/// The name and its extension with the dot.
fn split(name: &str) -> (&str, &str) {
    name.split_at(name.rfind('.').filter(|at| *at > 0).unwrap_or(name.len()))
}

fn cut(text: &str, bytes_max: usize) -> &str {
    let end = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= bytes_max).last();
    &text[..end.unwrap_or(0)]
}

/// What is told about a file that is on its way; `offset` is where the next piece belongs.
pub fn upload_json(id: &str, path: &str, offset: u64, bytes: u64) -> Value {
    json!({ "uploadId": id, "path": path, "offset": offset, "bytes": bytes, "done": offset == bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_directory_and_reads_as_it_is() {
        for (given, made) in [
            ("photo of us.png", "photo of us.png"),
            ("漢字.txt", "漢字.txt"),
            ("../../etc/passwd", "_._.._etc_passwd"),
            ("/etc/passwd", "_etc_passwd"),
            ("..", "_."),
            (".", "_"),
            (".bashrc", "_bashrc"),
            ("-rf", "_rf"),
            ("~root", "_root"),
            (" \n\t ", "file"),
            ("\u{202e}gnp.exe", "gnp.exe"),
            ("a\u{1b}[31m\u{9b}b\nc\u{7f}", "a[31mbc"),
            ("$(reboot)`x`';\"\\", "$(reboot)`x`';\"\\"),
        ] {
            assert_eq!(clean_name(given), made, "{given:?}");
        }
    }

    #[test]
    fn a_long_name_keeps_its_extension() {
        let made = clean_name(&format!("{}.tar", "漢".repeat(1000)));
        assert!(made.len() <= UPLOAD_NAME_BYTES_MAX && made.ends_with("漢.tar"), "{made}");
        assert!(clean_name(&format!("a.{}", "b".repeat(1000))).len() <= UPLOAD_NAME_BYTES_MAX);
        assert!(names(&made).all(|name| name.len() <= 255));
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        assert_eq!(
            names("a.tar.gz").take(3).collect::<Vec<_>>(),
            ["a.tar.gz", "a.tar (2).gz", "a.tar (3).gz"]
        );
        assert_eq!(names("a").nth(1).unwrap(), "a (2)");
        assert_eq!(names("a").count(), UPLOAD_NAMES_TRIED_MAX);
    }

    #[test]
    fn an_announcement_needs_a_name_and_a_size() {
        assert_eq!(parse_announcement(br#"{"name":"a","bytes":5.0}"#).unwrap(), ("a".to_owned(), 5));
        for body in [
            r#"{"name":"a"}"#,
            r#"{"name":"a","bytes":-1}"#,
            r#"{"name":"a","bytes":1.5}"#,
            r#"{"name":"a","bytes":"1"}"#,
            r#"{"name":"a","bytes":1e300}"#,
            r#"{"bytes":1}"#,
            r#"{"name":"","bytes":1}"#,
            "[]",
        ] {
            assert_eq!(parse_announcement(body.as_bytes()).unwrap_err().status, 400, "{body}");
        }
    }
}
