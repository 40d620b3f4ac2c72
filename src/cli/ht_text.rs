//! What `wharf ht` prints for people, and what it reads of its words. Plain functions of values.

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::table::table;

/// The text with its backslash escapes read. Enter is what the key sends, a carriage return, also where the text
/// holds a line feed.
pub(super) fn unescape(text: &str) -> String {
    let mut typed = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '\n']) {
        typed.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if rest.as_bytes()[at] == b'\n' {
            typed.push('\r');
            rest = after;
            continue;
        }
        let simple = |key: char| (Some(key), 1);
        let (key, used) = match after.as_bytes() {
            [b'n' | b'r', ..] => simple('\r'),
            [b't', ..] => simple('\t'),
            [b'e', ..] => simple('\x1b'),
            [b'b', ..] => simple('\x7f'),
            [b'\\', ..] => simple('\\'),
            [b'x', digits @ ..] => {
                let code = digits.get(..2).and_then(|two| std::str::from_utf8(two).ok());
                (code.and_then(|two| u8::from_str_radix(two, 16).ok()).map(char::from), 3)
            }
            _ => (None, 0),
        };
        match key {
            Some(key) => typed.push(key),
            None => typed.push('\\'),
        }
        rest = if key.is_some() { &after[used..] } else { after };
    }
    typed.push_str(rest);
    typed
}

/// From 0 to 1, or a percentage.
pub(super) fn parse_progress(text: &str) -> Option<f64> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.trim().parse().ok()?,
    };
    (0.0..=1.0).contains(&value).then_some(value)
}

/// A screen without the blank lines at its end, or the last so many lines of that.
pub(super) fn last_lines(screen: &str, lines: Option<u64>) -> String {
    let lines_max = lines.map_or(usize::MAX, |lines| usize::try_from(lines).unwrap_or(usize::MAX));
    let all: Vec<&str> = screen.trim_end_matches(['\n', ' ']).lines().collect();
    let mut text = all[all.len().saturating_sub(lines_max)..].join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn argv(process: &Value) -> String {
    list(process, "argv").iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

/// `8K`, `180M`, `2.1G`.
fn bytes_text(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{}K", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{}M", bytes >> 20),
        _ => format!("{:.1}G", bytes as f64 / f64::from(1 << 30)),
    }
}

/// A table whose last column is as long as it is.
fn open_table<const N: usize>(head: ([&str; N], &str), rows: Vec<([String; N], String)>) -> String {
    let (cells, last): (Vec<[String; N]>, Vec<String>) = rows.into_iter().unzip();
    let columns = table(head.0, &cells);
    let width = columns.lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
    let last = std::iter::once(head.1).chain(last.iter().map(String::as_str));
    let line = |(columns, last): (&str, &str)| {
        let last: String = last.chars().filter(|c| !c.is_control()).collect();
        format!("{columns}{}  {last}\n", " ".repeat(width - columns.width()))
    };
    columns.lines().zip(last).map(line).collect()
}

/// The processes of a terminal; the foreground one is marked.
pub(super) fn processes(metadata: &Value) -> String {
    let row = |process: &Value| {
        let mark = if process["pid"] == metadata["foregroundPid"] { "*" } else { "" };
        [
            format!("{}{mark}", process["pid"]),
            process["ppid"].to_string(),
            format!("{:.1}", process["cpu"].as_f64().unwrap_or(0.0)),
            bytes_text(process["rss"].as_u64().unwrap_or(0)),
        ]
    };
    let rows = list(metadata, "tree").iter().map(|process| (row(process), argv(process))).collect();
    open_table((["PID", "PPID", "%CPU", "RSS"], "COMMAND"), rows)
}

/// The ports that they listen on.
pub(super) fn ports(metadata: &Value) -> String {
    let row = |port: &Value| {
        let owner = list(metadata, "tree").iter().find(|process| process["pid"] == port["pid"]);
        let (protocol, address) = (text(port, "protocol").to_owned(), text(port, "address").to_owned());
        let columns = [port["port"].to_string(), protocol, address, port["pid"].to_string()];
        (columns, owner.map(argv).unwrap_or_default())
    };
    let rows = list(metadata, "listeningPorts").iter().map(row).collect();
    open_table((["PORT", "PROTO", "ADDRESS", "PID"], "COMMAND"), rows)
}

/// One line: `main -> origin/main ahead 2, behind 1, 3 staged`, or that it is clean.
pub(super) fn git(git: &Value) -> String {
    let head: String = text(git, "head").chars().take(8).collect();
    let mut line = match (git["branch"].as_str(), head.as_str()) {
        (Some(branch), "") => format!("{branch} (no commit yet)"),
        (Some(branch), _) => branch.to_owned(),
        (None, head) => format!("detached at {head}"),
    };
    if let Some(upstream) = git["upstream"].as_str() {
        line.push_str(&format!(" -> {upstream}"));
    }
    let count = |name: &str| git[name].as_u64().filter(|count| *count > 0);
    let before = ["ahead", "behind"].map(|name| count(name).map(|count| format!("{name} {count}")));
    let after = ["staged", "unstaged", "untracked", "conflicts"]
        .map(|name| count(name).map(|count| format!("{count} {name}")));
    let is_clean = after.iter().all(Option::is_none);
    let mut parts: Vec<String> = before.into_iter().chain(after).flatten().collect();
    if is_clean {
        parts.push("clean".to_owned());
    }
    format!("{line}: {}\n", parts.join(", "))
}

/// The summary of `metadata`.
pub(super) fn metadata(surface: &str, metadata: &Value) -> String {
    let tree = list(metadata, "tree");
    let foreground = tree.iter().find(|process| process["pid"] == metadata["foregroundPid"]);
    let sum = |name: &str| tree.iter().filter_map(|process| process[name].as_f64()).sum::<f64>();
    let mut lines = vec![
        format!("surface:   {surface}"),
        format!("shell:     {}", metadata["pid"]),
        format!("command:   {} ({})", foreground.map(argv).unwrap_or_default(), metadata["foregroundPid"]),
        format!("cwd:       {}", text(metadata, "cwd")),
    ];
    let ports: Vec<String> = list(metadata, "listeningPorts")
        .iter()
        .map(|port| format!("{} ({}/{})", port["port"], text(port, "protocol"), text(port, "address")))
        .collect();
    if !ports.is_empty() {
        lines.push(format!("ports:     {}", ports.join(", ")));
    }
    if metadata["git"].is_object() {
        lines.push(format!("git:       {}", git(&metadata["git"]).trim_end()));
    }
    for (name, field) in [("package:   ", "packageJson"), ("crate:     ", "cargoToml")] {
        let manifest = &metadata[field];
        if manifest.is_object() {
            lines.push(format!(
                "{name}{} {} ({})",
                text(manifest, "name"),
                text(manifest, "version"),
                text(manifest, "path")
            ));
        }
    }
    lines.push(format!(
        "processes: {}, {:.1} %CPU, {}",
        tree.len(),
        sum("cpu"),
        bytes_text(sum("rss") as u64)
    ));
    let clean = |line: &String| line.chars().filter(|c| !c.is_control()).collect::<String>() + "\n";
    lines.iter().map(clean).collect()
}

/// Plans with a glyph for each step's state.
pub(super) fn plans(plans: &[Value]) -> String {
    let mut out = String::new();
    for plan in plans {
        out.push_str(format!("{}  {}", text(plan, "workspaceId"), text(plan, "agentId")).trim_end());
        out.push('\n');
        let steps = list(plan, "steps");
        let width = steps.iter().map(|step| text(step, "id").chars().count()).max().unwrap_or(0);
        for step in steps {
            let glyph = match text(step, "state") {
                "done" => '✓',
                "active" => '●',
                "err" => '✗',
                _ => '○',
            };
            out.push_str(&format!("  {glyph}  {:width$}  {}\n", text(step, "id"), text(step, "title")));
        }
    }
    out
}

/// The last decisions of auto-continue, oldest first.
pub(super) fn audit(entries: &[Value]) -> String {
    let line = |entry: &Value| {
        let time = text(entry, "at").get(11..19).unwrap_or_default();
        format!(
            "{time}  {:8}  {}  {}\n",
            text(entry, "outcome"),
            text(entry, "surfaceId"),
            text(entry, "reason")
        )
    };
    entries.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn escapes_are_keys_and_other_backslashes_stay() {
        for (text, typed) in [
            ("make\\n", "make\r"),
            ("a\nb", "a\rb"),
            ("\\t\\e[A\\b", "\t\x1b[A\x7f"),
            ("\\x03\\xff", "\x03ÿ"),
            ("C:\\\\dir \\d \\x \\xg1 é\\", "C:\\dir \\d \\x \\xg1 é\\"),
            ("\\xé", "\\xé"),
        ] {
            assert_eq!(unescape(text), typed, "{text}");
        }
    }

    #[test]
    fn progress_is_a_fraction_or_a_percentage() {
        for (text, value) in [("0", 0.0), ("0.5", 0.5), ("1", 1.0), ("42%", 0.42), ("100 %", 1.0)] {
            assert_eq!(parse_progress(text), Some(value), "{text}");
        }
        for bad in ["", "x", "1.5", "-0.1", "NaN", "inf", "101%", "%", "1e400"] {
            assert_eq!(parse_progress(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_last_lines_are_those_that_hold_something() {
        assert_eq!(last_lines("a\nb\n\nc\n   \n\n", None), "a\nb\n\nc\n");
        assert_eq!(last_lines("a\nb\n\nc\n\n", Some(2)), "\nc\n");
        assert_eq!(last_lines("\n\n", Some(2)), "");
    }

    #[test]
    fn a_repository_is_one_line() {
        let status = |branch: Value, changes: u64| {
            json!({ "branch": branch, "head": "0123456789ab", "upstream": "origin/main", "ahead": 2, "behind": 0,
                "staged": changes, "unstaged": 0, "untracked": changes, "conflicts": 0 })
        };
        assert_eq!(git(&status(json!("main"), 0)), "main -> origin/main: ahead 2, clean\n");
        let changed = git(&status(Value::Null, 3));
        assert_eq!(changed, "detached at 01234567 -> origin/main: ahead 2, 3 staged, 3 untracked\n");
        assert_eq!(git(&json!({ "branch": "new", "head": null })), "new (no commit yet): clean\n");
    }

    #[test]
    fn processes_ports_and_their_summary() {
        let found = json!({
            "pid": 10, "foregroundPid": 11, "cwd": "/srv",
            "tree": [
                { "pid": 10, "ppid": 1, "argv": ["sh"], "cpu": 0.0, "rss": 2048 },
                { "pid": 11, "ppid": 10, "argv": ["httpd", "-p\u{1b}"], "cpu": 12.5, "rss": 3 << 20 },
            ],
            "listeningPorts": [{ "port": 80, "address": "*", "protocol": "tcp", "pid": 11 }],
            "git": null, "packageJson": null, "cargoToml": { "path": "/srv/Cargo.toml", "name": "tool", "version": "1.2.3" },
        });
        assert_eq!(
            processes(&found),
            "PID  PPID  %CPU  RSS  COMMAND\n10   1     0.0   2K   sh\n11*  10    12.5  3M   httpd -p\n"
        );
        assert_eq!(
            ports(&found),
            "PORT  PROTO  ADDRESS  PID  COMMAND\n80    tcp    *        11   httpd -p\n"
        );
        assert_eq!(
            metadata("abc", &found),
            "surface:   abc\nshell:     10\ncommand:   httpd -p (11)\ncwd:       /srv\nports:     80 (tcp/*)\n\
             crate:     tool 1.2.3 (/srv/Cargo.toml)\nprocesses: 2, 12.5 %CPU, 3M\n"
        );
    }

    #[test]
    fn a_plan_has_a_glyph_for_each_step() {
        let plan = json!({ "workspaceId": "default", "agentId": "a", "steps": [
            { "id": "M1", "title": "first", "state": "done" }, { "id": "M10", "title": "then", "state": "active" },
            { "id": "x", "title": "last", "state": "waiting" }, { "id": "y", "title": "no", "state": "err" },
        ]});
        let text = "default  a\n  ✓  M1   first\n  ●  M10  then\n  ○  x    last\n  ✗  y    no\n";
        assert_eq!(plans(&[plan]), text);
    }
}
