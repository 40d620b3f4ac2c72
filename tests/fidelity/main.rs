//! Does a reset leave the client exactly as the whole output would have? Each recording of a real program is
//! cut at several places. There xterm.js, fed with all output, is compared with one that has another past
//! and was fed only the reset of our screen model: every cell, attribute and mode, the scrollback, the screen
//! behind, and all of it again after further output (`compare.mjs`).

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use wharf::terminal::GridSize;
use wharf::terminal::screen::Screen;

/// Percent of the cuts of a group that must be right in everything.
const RIGHT_PERCENT_MIN: usize = 98;
const SCROLLBACK_LINES: usize = 1000;

/// A program's output, as the server passes it on: UTF-8.
struct Recording {
    name: String,
    group: String,
    size: (u64, u64),
    text: String,
    /// Place in `text`, columns, rows.
    resizes: Vec<(usize, u64, u64)>,
}

fn recordings() -> Vec<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
        .collect();
    paths.sort();
    paths.iter().map(|path| recording(path)).collect()
}

fn recording(path: &Path) -> Recording {
    let about: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let bytes = std::fs::read(path.with_extension("vt")).unwrap();
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let size = |value: &Value| (value["cols"].as_u64().unwrap(), value["rows"].as_u64().unwrap());
    let resizes = about["resizes"].as_array().unwrap().iter().map(|resize| {
        let (cols, rows) = size(resize);
        (lossy(&bytes[..resize["at"].as_u64().unwrap() as usize]).len(), cols, rows)
    });
    Recording {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        group: about["group"].as_str().unwrap().to_owned(),
        size: size(&about),
        resizes: resizes.collect(),
        text: lossy(&bytes),
    }
}

impl Recording {
    /// Our reset at each place, of one screen that goes on after it.
    fn resets(&self, ends: &[usize]) -> Vec<String> {
        let size = |cols, rows| GridSize::new(cols, rows).unwrap();
        let mut screen = Screen::new(size(self.size.0, self.size.1), SCROLLBACK_LINES);
        let mut resizes = self.resizes.iter().peekable();
        let mut at = 0;
        let mut resets = Vec::new();
        for &end in ends {
            while let Some(&(there, cols, rows)) = resizes.next_if(|(there, ..)| *there <= end) {
                screen.feed(&self.text.as_bytes()[at..there], None);
                screen.resize(size(cols, rows));
                at = there;
            }
            screen.feed(&self.text.as_bytes()[at..end], None);
            at = end;
            let mut reset = Vec::new();
            screen.put_reset(&mut reset);
            assert!(reset.starts_with(b"\x1bc"), "{}: the reset does not start with ESC c", self.name);
            resets.push(String::from_utf8(reset).unwrap());
        }
        resets
    }
}

/// xterm.js, in node.
struct Client {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Client {
    fn start() -> Client {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fidelity");
        assert!(
            folder.join("node_modules").exists(),
            "xterm.js is not there: run `npm ci --prefix tests/fidelity`"
        );
        let mut child = Command::new("node")
            .arg(folder.join("compare.mjs"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node runs");
        let answers = BufReader::new(child.stdout.take().unwrap());
        Client { child, answers }
    }

    fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.child.stdin.as_mut().unwrap(), "{question}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).expect("compare.mjs answers")
    }
}

#[test]
fn a_reset_makes_the_client_what_the_whole_output_would_have() {
    let mut client = Client::start();
    // group -> (right, all)
    let mut groups: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut wrong_cuts = Vec::new();
    for recording in recordings() {
        let resizes: Vec<Value> = recording
            .resizes
            .iter()
            .map(|(at, cols, rows)| json!({"at": at, "cols": cols, "rows": rows}))
            .collect();
        let (cols, rows) = recording.size;
        let told = client.ask(&json!({"recording": {
            "group": recording.group, "cols": cols, "rows": rows, "resizes": resizes, "text": recording.text,
        }}));
        let cuts = told["cuts"].as_array().unwrap();
        let ends: Vec<usize> = cuts.iter().map(|cut| cut["end"].as_u64().unwrap() as usize).collect();
        let judged = client.ask(&json!({"resets": recording.resets(&ends)}));
        for (cut, wrong) in cuts.iter().zip(judged["wrong"].as_array().unwrap()) {
            let (right, all) = groups.entry(cut["group"].as_str().unwrap().to_owned()).or_default();
            *all += 1;
            let wrong = wrong.as_object().unwrap();
            if wrong.is_empty() {
                *right += 1;
            } else {
                let what: Vec<String> =
                    wrong.iter().map(|(aspect, what)| format!("{aspect} {what}")).collect();
                wrong_cuts.push(format!(
                    "{} at byte {}: {}",
                    recording.name,
                    cut["end"],
                    what.join("\n    ")
                ));
            }
        }
    }
    println!("| recordings of | cuts | right in everything |\n|---|---:|---:|");
    for (group, (right, all)) in &groups {
        println!("| {group} | {all} | {:.1} % |", 100.0 * *right as f64 / *all as f64);
    }
    println!("{}", wrong_cuts.join("\n"));
    client.child.kill().unwrap();
    client.child.wait().unwrap();
    for (group, (right, all)) in groups {
        assert!(
            right * 100 >= all * RIGHT_PERCENT_MIN,
            "{group}: {right} of {all} cuts are right\n{}",
            wrong_cuts.join("\n")
        );
    }
}
