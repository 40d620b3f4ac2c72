//! How fast is it, from a program's write to a client's read? One program that asks a bare read loop, a bare
//! relay to a TCP socket, wharf (both protocols, and the mirror), ttyd and tmux the same questions in turn, in one run, and prints medians with their
//! spread. Ratios within one run are what counts; `-` is what could not be measured.
//!
//! `scripts/bench [--mib N] [--rounds N] [--only WORD]` runs it. Nothing here fails on a time.
// The readers are programs of their own, which may wait.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod line;
mod table;
mod text;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use line::{Framing, Line, Server, Size, Subject, serial};
use table::{Table, quantile, sorted};
use text::Kind;

/// Printed by every program here once its terminal is set up.
const READY: &str = "READY~";
/// Printed after a file.
const DONE: &str = "DONE~";
/// The shell's prompt where Ctrl-C is measured; nothing else prints it.
const PROMPT: &str = "@@>";
/// A reader that gets its prompt later than this has waited too long to go on measuring.
const PROMPT_MAX: Duration = Duration::from_secs(30);

struct Bench {
    mib: usize,
    rounds: usize,
    /// The present one, from 1.
    round: usize,
    wharf: PathBuf,
    dir: PathBuf,
    table: Table,
    files: Vec<(Kind, PathBuf, Vec<u8>)>,
}

type Question = (&'static str, fn(&mut Bench, &Servers));

/// Asked in this order, once a round.
const QUESTIONS: [Question; 10] = [
    ("throughput", throughput),
    ("echo", echo),
    ("ctrl-c", ctrl_c),
    ("attach", attach),
    ("clients", clients),
    ("mirror", mirror),
    ("metadata", metadata),
    ("terminals", terminals),
    ("memory", memory),
    ("binary", binary),
];

fn main() {
    let (mut mib, mut rounds, mut only) = (64, 3, String::new());
    let mut wharf = PathBuf::from(env!("CARGO_BIN_EXE_wharf"));
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_default();
        match arg.as_str() {
            "--mib" => mib = value().parse().unwrap(),
            "--rounds" => rounds = value().parse().unwrap(),
            "--only" => only = value(),
            "--wharf" => wharf = value().into(),
            "--bench" => {}
            other => panic!("--mib N, --rounds N, --only WORD, --wharf PATH; not {other}"),
        }
    }
    // A test run of all targets must not load the machine for minutes.
    if cfg!(debug_assertions) {
        return;
    }
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("end-to-end-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let files = Kind::ALL.into_iter().map(|kind| {
        let (path, text) = (dir.join(format!("{}.txt", kind.name())), kind.text(mib << 20));
        fs::write(&path, &text).unwrap();
        (kind, path, text)
    });
    let mut bench =
        Bench { mib, rounds, round: 0, wharf, files: files.collect(), dir, table: Table::default() };
    for (name, question) in QUESTIONS.iter().filter(|(name, _)| name.contains(&only)) {
        for round in 1..=bench.rounds {
            eprintln!("{name}, round {round} of {}", bench.rounds);
            bench.round = round;
            let servers = Servers::start(&bench);
            question(&mut bench, &servers);
        }
    }
    let _ = fs::remove_dir_all(&bench.dir);
    bench.table.print();
    let report = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench.json");
    let about = serde_json::json!({ "mib": bench.mib, "rounds": bench.rounds, "rows": bench.table.json() });
    fs::write(&report, format!("{about:#}\n")).unwrap();
    println!("also in {}", report.display());
}

/// Fresh servers for each round of each question.
struct Servers {
    wharf: Server,
    ttyd: Option<Server>,
}

impl Servers {
    fn start(bench: &Bench) -> Servers {
        Servers { wharf: Server::wharf(&bench.wharf, &bench.dir), ttyd: Server::ttyd() }
    }

    fn of(&self, subject: Subject) -> Option<&Server> {
        match subject {
            Subject::Bare | Subject::Relay | Subject::Tmux => None,
            Subject::Wharf | Subject::WharfProtocol1 | Subject::WharfMirror => Some(&self.wharf),
            Subject::Ttyd => self.ttyd.as_ref(),
        }
    }

    /// A terminal that runs `sh -c SCRIPT`, and its only client.
    fn line(&self, subject: Subject, script: &str, receive_bytes: Option<usize>) -> Option<Line> {
        match subject {
            Subject::Bare => Line::bare(&["/bin/sh", "-c", script]).ok(),
            Subject::Relay => Line::relay(&["/bin/sh", "-c", script]).ok(),
            Subject::Wharf => Some(self.wharf.line(script, Framing::Protocol2, receive_bytes)),
            Subject::WharfProtocol1 => Some(self.wharf.line(script, Framing::Protocol1, receive_bytes)),
            Subject::WharfMirror => Some(self.wharf.line(script, Framing::Mirror, receive_bytes)),
            Subject::Ttyd => Some(self.ttyd.as_ref()?.line(script, Framing::Ttyd, receive_bytes)),
            Subject::Tmux => {
                let name = format!("wharf-bench-{}-{}", std::process::id(), serial());
                Line::bare(&["/usr/bin/env", "tmux", "-L", &name, "-f", "/dev/null", "new", script]).ok()
            }
        }
    }
}

fn raw(command: &str) -> String {
    format!("stty raw -echo -opost; printf {READY}; {command}")
}

/// Does the whole file reach one client, and how fast? Byte for byte: what came is compared as it comes.
fn throughput(bench: &mut Bench, servers: &Servers) {
    for (kind, path, text) in &bench.files {
        let mut bare_seconds = None;
        for subject in Subject::ALL {
            let script =
                raw(&format!("head -c1 >/dev/null; cat '{}'; printf {DONE}; sleep 9", path.display()));
            let Some(mut line) = servers.line(subject, &script, None) else { continue };
            line.read_until(READY.as_bytes());
            line.resets = 0; // a session of the mirror begins with a snapshot
            let cpu_before = servers.of(subject).map(Server::cpu_seconds_at_rest);
            let started = Instant::now();
            line.type_in("g");
            if subject == Subject::Tmux {
                // It draws a screen instead of passing bytes on; the last word comes when all was taken.
                line.read_until(DONE.as_bytes());
            } else {
                let exact = take_all(&mut line, text);
                assert!(exact || line.resets > 0, "{}, {}: other bytes came", subject.name(), kind.name());
                let name = format!("{}: resets", kind.name());
                bench.table.add(&name, "count", subject, line.resets as f64);
            }
            let seconds = started.elapsed().as_secs_f64();
            let gigabytes = text.len() as f64 / 1e9;
            let name = |what: &str| format!("{}: {what}", kind.name());
            bench.table.add(&name("throughput"), "MB/s", subject, gigabytes * 1e3 / seconds);
            let bare = *bare_seconds.get_or_insert(seconds);
            bench.table.add(&name("of the bare loop"), "ratio", subject, bare / seconds);
            if let (Some(server), Some(before)) = (servers.of(subject), cpu_before) {
                let cpu = server.cpu_seconds_at_rest() - before;
                bench.table.add(&name("server CPU per GB"), "s", subject, cpu / gigabytes);
            }
        }
    }
}

/// Reads `text` to its end; false when anything else came. After a reset only the end is waited for.
fn take_all(line: &mut Line, text: &[u8]) -> bool {
    let (mut at, mut exact, mut tail) = (0, true, Vec::new());
    while at < text.len() || !exact {
        let open = line.read(|bytes| {
            let expected = &text[at.min(text.len())..];
            let expected = &expected[..expected.len().min(bytes.len())];
            exact &= &bytes[..expected.len()] == expected;
            at += bytes.len();
            tail.extend_from_slice(&bytes[bytes.len().saturating_sub(2 * DONE.len())..]);
        });
        if !exact && memchr::memmem::find(&tail, DONE.as_bytes()).is_some() {
            return false;
        }
        tail.drain(..tail.len().saturating_sub(DONE.len()));
        assert!(open, "ended after {at} of {} bytes", text.len());
    }
    exact
}

/// How long from a key to its echo through `cat`, alone and while another terminal floods?
fn echo(bench: &mut Bench, servers: &Servers) {
    for flooded in [false, true] {
        for subject in Subject::ALL.into_iter().filter(|subject| *subject != Subject::Tmux) {
            let flood = flooded.then(|| Flood::start(servers, subject)).flatten();
            if flooded && flood.is_none() {
                continue;
            }
            let Some(mut line) = servers.line(subject, &raw("exec cat"), None) else { continue };
            line.read_until(READY.as_bytes());
            // The mirror sends the first output after a pause at once, and the rest 60 times a second.
            let (keys, pause_ms) = if subject == Subject::WharfMirror { (200, 20) } else { (1000, 1) };
            let mut took = Vec::new();
            for _ in 0..keys {
                thread::sleep(Duration::from_millis(pause_ms));
                let typed = Instant::now();
                line.type_in("k");
                let mut came = 0;
                while came == 0 {
                    assert!(line.read(|bytes| came += bytes.len()));
                }
                took.push(typed.elapsed().as_secs_f64() * 1e3);
            }
            let took = sorted(&took);
            let when = if flooded { "another terminal floods" } else { "idle" };
            for (name, q) in [("p50", 0.5), ("p99", 0.99)] {
                bench.table.add(&format!("echo {when}: {name}"), "ms", subject, quantile(&took, q));
            }
            drop(flood);
        }
    }
}

/// Another terminal that prints without end, and its client, who reads as fast as it can.
struct Flood {
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl Flood {
    fn start(servers: &Servers, subject: Subject) -> Option<Flood> {
        // A session of the mirror gets all terminals; this client is a further one.
        let subject = if subject == Subject::WharfMirror { Subject::Wharf } else { subject };
        let script = format!("stty raw; exec yes '{}'", "a line of a flood ".repeat(4));
        let mut line = servers.line(subject, &script, None)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let reader = thread::spawn(move || while !stopped.load(Ordering::Relaxed) && line.read(|_| {}) {});
        thread::sleep(Duration::from_millis(300));
        Some(Flood { stop, reader: Some(reader) })
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.reader.take().map(JoinHandle::join);
    }
}

/// How long from Ctrl-C to the prompt while the shell's own program floods? What had arrived at a reader that
/// is held back is its link's own delay, and does not count.
fn ctrl_c(bench: &mut Bench, servers: &Servers) {
    let readers = [
        ("at full speed", None, None, 5),
        ("at 20 MB/s", Some(20e6), None, 5),
        ("at 1 Mbit/s", Some(125e3), Some(8 << 10), 3),
    ];
    for (name, bytes_a_second, receive_bytes, times) in readers {
        let subjects = [
            Subject::Bare,
            Subject::Relay,
            Subject::Wharf,
            Subject::WharfProtocol1,
            Subject::WharfMirror,
            Subject::Ttyd,
        ];
        for subject in subjects {
            if matches!(subject, Subject::Bare | Subject::Relay) && bytes_a_second.is_some() {
                continue;
            }
            let script = format!("stty -echo; PS1='{PROMPT} ' exec sh -i");
            let Some(mut line) = servers.line(subject, &script, receive_bytes) else { continue };
            line.read_until(PROMPT.as_bytes());
            let mut paced = Paced { bytes_a_second, next: Instant::now() };
            line.read_max =
                bytes_a_second.map_or(line.read_max, |rate| (rate * 0.003).clamp(256.0, 65_536.0) as usize);
            for _ in 0..times {
                line.type_in(&format!("yes '{}'\n", "a line of a flood ".repeat(4)));
                let until = Instant::now() + Duration::from_millis(1500);
                while Instant::now() < until {
                    paced.read(&mut line, |_| {});
                }
                let link = line.arrived() as f64 / bytes_a_second.unwrap_or(f64::INFINITY);
                let typed = Instant::now();
                line.type_in("\x03");
                let (mut tail, mut open) = (Vec::new(), true);
                while open && memchr::memmem::find(&tail, PROMPT.as_bytes()).is_none() {
                    tail.drain(..tail.len().saturating_sub(PROMPT.len()));
                    open = paced.read(&mut line, |bytes| tail.extend_from_slice(bytes))
                        && typed.elapsed() < PROMPT_MAX;
                }
                // Never, as far as this reader is concerned: also when the server has given it up.
                let took = if open { typed.elapsed().as_secs_f64() - link } else { f64::INFINITY };
                bench.table.add(&format!("Ctrl-C to prompt, reader {name}"), "ms", subject, took * 1e3);
                if !open {
                    break;
                }
            }
        }
    }
}

/// A reader that takes so many bytes a second.
struct Paced {
    bytes_a_second: Option<f64>,
    next: Instant,
}

impl Paced {
    fn read(&mut self, line: &mut Line, each: impl FnMut(&[u8])) -> bool {
        let Some(rate) = self.bytes_a_second else {
            return line.read(each);
        };
        thread::sleep(self.next.saturating_duration_since(Instant::now()));
        let n = line.arrived().min(line.read_max as u64).max(1);
        let open = line.read(each);
        self.next = self.next.max(Instant::now() - Duration::from_millis(5))
            + Duration::from_secs_f64(n as f64 / rate);
        open
    }
}

/// How long until a client that missed 8 MiB has the whole reset: 1,000 lines of scrollback at 200 columns.
fn attach(bench: &mut Bench, servers: &Servers) {
    let (wharf, size) = (&servers.wharf, Size { cols: 200, rows: 50 });
    for kind in Kind::ALL {
        for (when, subject, framing) in [
            ("at rest", Subject::Wharf, Framing::Protocol2),
            ("at once", Subject::Wharf, Framing::Protocol2),
            ("at rest", Subject::WharfProtocol1, Framing::Protocol1),
            ("at rest", Subject::WharfMirror, Framing::Mirror),
        ] {
            let (text, path) = (kind.text(8 << 20), bench.dir.join("missed.txt"));
            fs::write(&path, text).unwrap();
            let script =
                raw(&format!("head -c1 >/dev/null; cat '{}'; printf {DONE}; sleep 60", path.display()));
            let (session, mut http) = (format!("bench-{}", serial()), wharf.connect(None));
            let target = wharf.create(&mut http, &session, &script, size);
            let mut first = wharf.attach(&target, Framing::Protocol2, None);
            first.read_until(READY.as_bytes());
            first.type_in("g");
            first.read_until(DONE.as_bytes());
            if when == "at rest" {
                wharf.cpu_seconds_at_rest();
            }
            let started = Instant::now();
            let mut late = wharf.attach(&target, framing, None);
            let ready = late.read_until(DONE.as_bytes()) - started;
            let name = format!("reset of 1,000 lines at 200 columns, {}, {when}", kind.name());
            bench.table.add(&format!("{name}: first byte"), "ms", subject, ready.as_secs_f64() * 1e3);
            bench.table.add(&format!("{name}: whole"), "ms", subject, started.elapsed().as_secs_f64() * 1e3);
            assert_eq!(late.resets, 1);
            wharf.close(&mut http, &session);
        }
    }
}

/// What does each further client of one terminal cost, beside bare writes of the same bytes?
fn clients(bench: &mut Bench, servers: &Servers) {
    let wharf = &servers.wharf;
    let text = Kind::Log.text(16 << 20);
    let path = bench.dir.join("shared.txt");
    fs::write(&path, &text).unwrap();
    for (subject, framing) in [
        (Subject::Wharf, Framing::Protocol2),
        (Subject::WharfProtocol1, Framing::Protocol1),
        (Subject::WharfMirror, Framing::Mirror),
    ] {
        for n in [1, 8, 32] {
            let script =
                raw(&format!("head -c1 >/dev/null; cat '{}'; printf {DONE}; sleep 60", path.display()));
            let (session, mut http) = (format!("bench-{}", serial()), wharf.connect(None));
            let target = wharf.create(&mut http, &session, &script, Size::default());
            let mut lines: Vec<Line> = (0..n).map(|_| wharf.attach(&target, framing, None)).collect();
            for line in &mut lines {
                line.read_until(READY.as_bytes());
                line.resets = 0;
            }
            let before = wharf.cpu_seconds_at_rest();
            lines[0].type_in("g");
            let readers: Vec<_> = lines
                .into_iter()
                .map(|mut line| {
                    thread::spawn(move || {
                        line.read_until(DONE.as_bytes());
                        line.resets
                    })
                })
                .collect();
            let resets: usize = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
            let cpu = wharf.cpu_seconds_at_rest() - before;
            bench.table.add(&format!("{n} clients: server CPU for 16 MiB"), "s", subject, cpu);
            bench.table.add(&format!("{n} clients: resets"), "count", subject, resets as f64);
            wharf.close(&mut http, &session);
        }
    }
    for n in [1, 8, 32] {
        bench.table.add(
            &format!("{n} clients: server CPU for 16 MiB"),
            "s",
            Subject::Bare,
            bare_writes(&text, n),
        );
    }
}

/// How many frames does a flood become, and what does a session without a socket keep?
fn mirror(bench: &mut Bench, servers: &Servers) {
    const SESSIONS: usize = 100;
    let (wharf, column) = (&servers.wharf, Subject::WharfMirror);
    let flood = format!("stty raw; printf {READY}; exec yes '{}'", "a line of a flood ".repeat(4));
    let mut line = wharf.line(&flood, Framing::Mirror, None);
    line.read_until(READY.as_bytes());
    let mut frames_in = |seconds: f64| {
        let (before, started) = (line.frames, Instant::now());
        while started.elapsed().as_secs_f64() < seconds {
            assert!(line.read(|_| {}));
        }
        (line.frames - before) as f64 / started.elapsed().as_secs_f64()
    };
    frames_in(0.5); // what had come before
    let frames = frames_in(3.0);
    bench.table.add("mirror: frames a second of a flood", "count", column, frames);
    drop(line);

    let (path, mut http) = (bench.dir.join("seen.txt"), wharf.connect(None));
    fs::write(&path, Kind::Log.text(256 << 10)).unwrap();
    let script = raw(&format!("head -c1 >/dev/null; cat '{}'; printf {DONE}; sleep 60", path.display()));
    let mut before = 0.0;
    // Those of the first rounds pay for what all share, and for holes between them.
    for round in 0..4 {
        let session = format!("bench-{}", serial());
        let target = wharf.create(&mut http, &session, &script, Size::default());
        let mut lines: Vec<Line> =
            (0..SESSIONS).map(|_| wharf.attach(&target, Framing::Mirror, None)).collect();
        for line in &mut lines {
            line.read_until(READY.as_bytes());
        }
        lines[0].type_in("g");
        for line in &mut lines {
            line.read_until(DONE.as_bytes());
        }
        drop(lines);
        wharf.close(&mut http, &session);
        wharf.cpu_seconds_at_rest();
        thread::sleep(Duration::from_millis(300));
        if round == 1 {
            before = wharf.private_kib();
        }
    }
    let each = (wharf.private_kib() - before) / (2 * SESSIONS) as f64;
    bench.table.add("memory of a session of the mirror without a socket", "KiB", column, each);
}

/// What does it cost to follow what runs in 100 terminals at rest, each in a repository?
fn metadata(bench: &mut Bench, servers: &Servers) {
    const TERMINALS: usize = 100;
    let wharf = &servers.wharf;
    let mut http = wharf.connect(None);
    for n in 0..TERMINALS {
        let place = bench.dir.join(format!("repository-{n}"));
        let script = format!("mkdir -p '{0}'; cd '{0}' && git init -q; cat; :", place.display());
        wharf.create(&mut http, &format!("followed-{n}"), &script, Size::default());
    }
    let target = wharf.create(&mut http, "follower", &raw("exec cat"), Size::default());
    let mut line = wharf.attach(&target, Framing::Mirror, None);
    line.read_until(READY.as_bytes());
    thread::sleep(Duration::from_secs(5)); // the first looks tell everything
    let (before, started) = (wharf.cpu_seconds(), Instant::now());
    thread::sleep(Duration::from_secs(10));
    let percent = (wharf.cpu_seconds() - before) / started.elapsed().as_secs_f64() * 100.0;
    let question = format!("metadata of {TERMINALS} terminals: server CPU");
    bench.table.add(&question, "% of a core", Subject::WharfMirror, percent);
}

/// CPU seconds of one thread that writes `text` to `n` sockets in pieces of 64 KiB, and does nothing else.
fn bare_writes(text: &[u8], n: usize) -> f64 {
    use std::io::{Read, Write};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let readers: Vec<_> = (0..n)
        .map(|_| {
            thread::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                let mut buffer = vec![0; 256 << 10];
                while stream.read(&mut buffer).unwrap() > 0 {}
            })
        })
        .collect();
    let mut streams: Vec<_> = (0..n).map(|_| listener.accept().unwrap().0).collect();
    let spent = || {
        let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
    };
    let before = spent();
    for piece in text.chunks(64 << 10) {
        streams.iter_mut().for_each(|stream| stream.write_all(piece).unwrap());
    }
    let cpu = spent() - before;
    drop(streams);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
    cpu
}

/// What do 1,000 terminals cost at rest, and does one among them feel the others?
fn terminals(bench: &mut Bench, servers: &Servers) {
    let (wharf, wharf_column) = (&servers.wharf, Subject::Wharf);
    let mut http = wharf.connect(None);
    let (kind, path, text) = &bench.files[0];
    let mut alone_seconds = None;
    for n in [1, 1000] {
        let (_, resident) =
            (wharf.create(&mut http, "warm", "exec cat", Size::default()), wharf.resident_kib());
        let sessions: Vec<String> = (0..n).map(|i| format!("idle-{n}-{i}")).collect();
        for session in &sessions {
            wharf.create(&mut http, session, "exec cat", Size::default());
        }
        wharf.cpu_seconds_at_rest();
        let label = format!("{n} terminals");
        if n > 1 {
            let each = (wharf.resident_kib() - resident) / n as f64;
            bench.table.add(&format!("{label}: RSS of each"), "KiB", wharf_column, each);
        }
        if n > 1 && bench.round == 1 {
            // Our own connection would be noticed, too.
            drop(http);
            wharf.wait_for_rest();
            let before = wharf.switches();
            thread::sleep(Duration::from_secs(60));
            let woken = wharf.switches() - before;
            bench.table.add(&format!("{label}: wake-ups in a minute"), "count", wharf_column, woken);
            http = wharf.connect(None);
        }
        let (mut create, mut close) = (Vec::new(), Vec::new());
        for _ in 0..20 {
            let session = format!("bench-{}", serial());
            let started = Instant::now();
            wharf.create(&mut http, &session, "exec cat", Size::default());
            create.push(started.elapsed().as_secs_f64() * 1e3);
            thread::sleep(Duration::from_millis(5));
            let started = Instant::now();
            wharf.close(&mut http, &session);
            close.push(started.elapsed().as_secs_f64() * 1e3);
        }
        bench.table.add(
            &format!("{label}: create one more"),
            "ms",
            wharf_column,
            quantile(&sorted(&create), 0.5),
        );
        bench.table.add(&format!("{label}: close it"), "ms", wharf_column, quantile(&sorted(&close), 0.5));
        let script = raw(&format!("head -c1 >/dev/null; cat '{}'; printf {DONE}; sleep 9", path.display()));
        let mut line = wharf.line(&script, Framing::Protocol2, None);
        line.read_until(READY.as_bytes());
        let started = Instant::now();
        line.type_in("g");
        take_all(&mut line, text);
        let seconds = started.elapsed().as_secs_f64();
        let alone = *alone_seconds.get_or_insert(seconds);
        bench.table.add(
            &format!("{label}: {} of one busy, of alone", kind.name()),
            "ratio",
            wharf_column,
            alone / seconds,
        );
        for session in &sessions {
            wharf.close(&mut http, session);
        }
        wharf.close(&mut http, "warm");
        wharf.cpu_seconds_at_rest();
    }
}

/// What does it keep: at rest, for an idle terminal with a client, after 4 MiB of output at 200 columns?
fn memory(bench: &mut Bench, servers: &Servers) {
    const TERMINALS: usize = 20;
    for subject in [Subject::Wharf, Subject::Ttyd] {
        let Some(server) = servers.of(subject) else { continue };
        bench.table.add("memory at rest: resident", "KiB", subject, server.resident_kib());
        bench.table.add("memory at rest: private", "KiB", subject, server.private_kib());
        // The first pays for what all share.
        servers.line(subject, &raw("exec cat"), None).unwrap().read_until(READY.as_bytes());
        server.cpu_seconds_at_rest();
        let before = server.private_kib();
        let mut lines = Vec::new();
        for _ in 0..TERMINALS {
            let mut line = servers.line(subject, &raw("exec cat"), None).unwrap();
            line.read_until(READY.as_bytes());
            lines.push(line);
        }
        server.cpu_seconds_at_rest();
        let each = (server.private_kib() - before) / TERMINALS as f64;
        bench.table.add("memory of an idle terminal with a client", "KiB", subject, each);
    }
    for kind in Kind::ALL {
        let (dir, path) = (bench.dir.join("fresh"), bench.dir.join("printed.txt"));
        fs::create_dir_all(&dir).unwrap();
        fs::write(&path, kind.text(4 << 20)).unwrap();
        let wharf = Server::wharf(&bench.wharf, &dir);
        let mut http = wharf.connect(None);
        let script = raw(&format!("cat '{}'; printf {DONE}; sleep 60", path.display()));
        let before = wharf.private_kib();
        let sessions: Vec<String> = (0..TERMINALS / 2).map(|_| format!("bench-{}", serial())).collect();
        for session in &sessions {
            let target = wharf.create(&mut http, session, &script, Size { cols: 200, rows: 50 });
            wharf.attach(&target, Framing::Protocol2, None).read_until(DONE.as_bytes());
        }
        wharf.cpu_seconds_at_rest();
        let each = (wharf.private_kib() - before) / sessions.len() as f64;
        bench.table.add(
            &format!("memory of a terminal after 4 MiB, {}", kind.name()),
            "KiB",
            Subject::Wharf,
            each,
        );
        for session in &sessions {
            wharf.close(&mut http, session);
        }
        thread::sleep(Duration::from_millis(500));
        bench.table.add(
            &format!("memory at rest after ten of them, {}: private", kind.name()),
            "KiB",
            Subject::Wharf,
            wharf.private_kib(),
        );
    }
}

/// How large is it?
fn binary(bench: &mut Bench, _: &Servers) {
    let bytes = fs::metadata(&bench.wharf).unwrap().len() as f64;
    bench.table.add("the binary", "KiB", Subject::Wharf, bytes / 1024.0);
}
