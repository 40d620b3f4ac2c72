//! The arrows of the house (`src/lib.rs`): which folder may name which crate, module and call.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

const PURE: [&str; 5] = ["flow/", "terminal/", "workspace/", "mirror/", "wire/"];

/// Words that code may hold only in these places. Comments and unit tests may say anything.
#[rustfmt::skip]
const ONLY: [(&[&str], &[&str]); 10] = [
    (&["mio"], &["server/"]),
    (&["slab"], &["server/"]),
    (&["rustix"], &["os/", "cli/", "server/intake.rs"]),
    (&["signal_hook"], &["os/"]),
    (&["vt100"], &["terminal/screen/"]),
    (&["httparse"], &["wire/http"]),
    (&["tungstenite"], &["wire/websocket"]),
    (&["clap", "clap_complete", "clap_mangen"], &["cli/"]),
    (&["serde_json"], &["wire/", "server/", "cli/"]),
    (&["unsafe {", "unsafe fn", "unsafe impl"], &["os/spawn.rs"]),
];

/// Words that these folders never hold.
#[rustfmt::skip]
const NEVER: [(&[&str], &[&str]); 9] = [
    (&PURE, &["std::net", "std::fs", "std::process", "std::thread", "std::env", "Instant::now", "SystemTime"]),
    (&["flow/"], &["crate::terminal", "crate::workspace", "crate::mirror", "crate::wire"]),
    (&["terminal/"], &["crate::workspace", "crate::mirror", "crate::wire"]),
    (&["workspace/"], &["crate::flow", "crate::mirror", "crate::wire"]),
    (&["mirror/"], &["crate::workspace", "crate::wire"]),
    (&PURE, &["crate::server", "crate::os", "crate::cli", "crate::web", "crate::config", "crate::Config"]),
    (&["os/"], &["crate::server", "crate::cli", "crate::terminal", "crate::wire", "crate::flow", "crate::workspace"]),
    (&["web/"], &["crate::"]),
    (&[""], &["Rc<", "RefCell", "thread::spawn", "thread::sleep", "process::exit", "mpsc", "Mutex", "async fn"]),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("client") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("build.rs") {
            found.push(path);
        }
    }
}

/// Whether the line holds the word, not as a part of a longer one.
fn holds(line: &str, word: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let whole = |at: usize| {
        let (before, after) = (line[..at].chars().next_back(), line[at + word.len()..].chars().next());
        !part(before) && (word.ends_with([':', '<', '{']) || !part(after))
    };
    line.match_indices(word).any(|(at, _)| whole(at))
}

#[test]
fn every_folder_knows_only_whom_it_may() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 20, "{files:?}");
    let mut faults = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap();
        for (number, line) in code.lines().enumerate() {
            let line = line.split("//").next().unwrap();
            let lies_in = |folders: &[&str]| folders.iter().any(|folder| name.starts_with(folder));
            let foreign = ONLY.iter().filter(|(_, places)| !lies_in(places)).flat_map(|(words, _)| *words);
            let barred = NEVER.iter().filter(|(folders, _)| lies_in(folders)).flat_map(|(_, words)| *words);
            for word in foreign.chain(barred).filter(|word| holds(line, word)) {
                faults.push(format!("src/{name}:{}: {word}", number + 1));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
