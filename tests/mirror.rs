//! Sessions of the mirror over real terminals, streams, screens and frames, without sockets: transcripts
//! first, then a seeded simulation. `WHARF_SEED=N cargo test --test mirror simulation` runs one course again.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use serde_json::{Value, json};
use wharf::flow::{Link, Outbound};
use wharf::limits::{
    MIRROR_BATCH, MIRROR_CONTROL_BYTES, MIRROR_DETACHED_MAX, MIRROR_LOG_BYTES, OUTPUT_FRAME_BYTES_MAX,
    OUTPUT_FRAME_BYTES_SLOWEST,
};
use wharf::mirror::{About, Batch, Mirror, Pumped, Surface, Surfaces, Ticket};
use wharf::terminal::screen::Screen;
use wharf::terminal::{Act, Exit, GridSize, Terminal};
use wharf::wire::mirror_frames::{Encoded, Queued, ToMirror, Writer};
use wharf::wire::websocket::{Codec, Message};

const SCROLLBACK: usize = 50;

struct Shown {
    id: String,
    terminal: Terminal,
    batch: Batch,
}

/// Terminals by number; `None` once gone. A number is never used again.
#[derive(Default)]
struct Shells(Vec<Option<Shown>>);

impl Surfaces for Shells {
    fn surface(&mut self, number: usize) -> Option<Surface<'_>> {
        let Shown { id, terminal, batch } = self.0.get_mut(number)?.as_mut()?;
        Some(Surface { id, terminal, batch })
    }
}

/// A server without sockets: terminals, some state around them, and the mirror.
struct Rig {
    mirror: Mirror,
    shells: Shells,
    encoded: Encoded,
    /// The state around the terminals: anything with keys that come and go.
    notes: BTreeMap<String, u64>,
    /// All that each terminal ever printed.
    printed: Vec<Vec<u8>>,
    replay_bytes: usize,
    ids: u64,
    now: Instant,
}

impl Rig {
    fn new(replay_bytes: usize) -> Rig {
        Rig {
            mirror: Mirror::default(),
            shells: Shells::default(),
            encoded: Encoded::default(),
            notes: BTreeMap::new(),
            printed: Vec::new(),
            replay_bytes,
            ids: 0,
            now: Instant::now(),
        }
    }

    fn wait(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
    }

    fn live(&self) -> Vec<usize> {
        (0..self.shells.0.len()).filter(|n| self.shells.0[*n].is_some()).collect()
    }

    fn shell(&mut self, number: usize) -> &mut Shown {
        self.shells.0[number].as_mut().unwrap()
    }

    fn create(&mut self) -> usize {
        let number = self.shells.0.len();
        let terminal = Terminal::new(GridSize::new(80, 24).unwrap(), self.replay_bytes, SCROLLBACK, false);
        let id = format!("{number:032x}");
        let surface = json!({ "id": id, "cols": 80, "rows": 24 }).to_string();
        self.shells.0.push(Some(Shown { id, terminal, batch: Batch::default() }));
        self.printed.push(Vec::new());
        let body = ToMirror::SurfaceCreate { surface_json: &surface }.body();
        self.mirror.tell(About::Created { surface: number }, body);
        number
    }

    fn print(&mut self, number: usize, bytes: &[u8]) {
        let now = self.now;
        self.shell(number).terminal.feed(bytes, now);
        self.printed[number].extend_from_slice(bytes);
        assert_eq!(self.shell(number).terminal.stream().head(), self.printed[number].len() as u64);
    }

    fn resize(&mut self, number: usize, cols: u64, rows: u64) {
        self.wait(30);
        let now = self.now;
        let shell = self.shell(number);
        shell.terminal.act("c", 1, &Act::Resize(GridSize::new(cols, rows).unwrap()));
        if let Some(size) = shell.terminal.resize_due(now) {
            let position = shell.terminal.stream().head();
            let body = ToMirror::SurfaceResize { surface_id: &shell.id, size }.body();
            self.mirror.tell(About::Resized { surface: number, position }, body);
        }
    }

    fn exit(&mut self, number: usize, code: i32) {
        let now = self.now;
        let shell = self.shell(number);
        shell.terminal.exit(Exit { code: Some(code), signal: None }, now);
        let position = shell.terminal.stream().head();
        let body =
            ToMirror::SurfaceExit { surface_id: &shell.id, exit_code: Some(code), signal: None }.body();
        self.mirror.tell(About::Exited { surface: number, position }, body);
    }

    fn close(&mut self, number: usize) {
        let shell = self.shell(number);
        let position = shell.terminal.stream().head();
        let body = ToMirror::SurfaceClose { surface_id: &shell.id }.body();
        self.mirror.tell(About::Closed { surface: number, position }, body);
    }

    fn note(&mut self, key: &str, value: u64) {
        self.notes.insert(key.to_owned(), value);
        let json = json!({ "id": key, "value": value }).to_string();
        self.mirror.tell(About::State, ToMirror::NotificationCreate { notification_json: &json }.body());
    }

    fn dismiss(&mut self, key: &str) {
        if self.notes.remove(key).is_some() {
            let id = json!(key).to_string();
            self.mirror.tell(About::State, ToMirror::NotificationDismiss { id_json: &id }.body());
        }
    }

    fn metadata(&mut self, number: usize) {
        let id = format!("{number:032x}");
        let body = ToMirror::SurfaceMetadata { surface_id: &id, metadata_json: "{}" }.body();
        self.mirror.tell(About::Metadata { surface: number }, body);
    }

    fn snapshot(&self) -> String {
        let surfaces: Vec<Value> = (self.shells.0.iter().flatten())
            .map(|shown| {
                let size = shown.terminal.size();
                let exit = shown.terminal.exited().and_then(|exit| exit.code);
                json!({ "id": shown.id, "cols": size.cols(), "rows": size.rows(), "exitCode": exit })
            })
            .collect();
        json!({ "surfaces": surfaces, "notifications": self.notes }).to_string()
    }

    fn connect(&mut self, client: &mut Client, resume: Option<(&str, u64)>) -> Option<usize> {
        let opened = self.mirror.open(resume, client.socket, &mut self.shells, self.now);
        client.ticket = Some(opened.ticket);
        client.queue = Outbound::default();
        client.queued = Queued::default();
        client.codec = Codec::client(64 << 20);
        opened.superseded
    }

    fn pump(&mut self, client: &mut Client) -> Pumped {
        let Some(ticket) = client.ticket else { return Pumped::Waits };
        loop {
            let mut out = client.writer(&mut self.encoded);
            match self.mirror.pump(ticket, &mut self.shells, &mut out, self.now) {
                Pumped::NeedsHello => {
                    self.ids += 1;
                    let (id, snapshot, live) = (format!("{:032x}", self.ids), self.snapshot(), self.live());
                    let mut out = client.writer(&mut self.encoded);
                    self.mirror.greet(ticket, id, &live, (r#"{"theme":"obsidian"}"#, &snapshot), &mut out);
                }
                pumped => return pumped,
            }
        }
    }

    /// Pumps, delivers everything, and goes on as the queue drains.
    fn deliver(&mut self, client: &mut Client) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            self.pump(client);
            let more = client.receive(usize::MAX);
            if more.is_empty() {
                return frames;
            }
            frames.extend(more);
        }
    }

    fn detach(&mut self, client: &mut Client) {
        if let Some(ticket) = client.ticket.take() {
            self.mirror.detach(ticket, self.now);
        }
    }

    /// The client types. True when output waits in front of the answer.
    fn type_in(&mut self, client: &Client, number: usize) -> bool {
        let (head, now) = (self.shell(number).terminal.stream().head(), self.now);
        let session = client.ticket.and_then(|ticket| self.mirror.session(ticket));
        session.is_some_and(|session| session.typed(number, head, client.queue.waiting().len(), now))
    }

    fn answer(&mut self, client: &Client, body: Box<[u8]>) {
        if let Some(session) = client.ticket.and_then(|ticket| self.mirror.session(ticket)) {
            session.answer(body);
        }
    }
}

struct Emulator {
    screen: Screen,
    size: GridSize,
    /// What it was given since its last snapshot, or since it began.
    seen: Vec<u8>,
    snapshots: usize,
    resized: bool,
    exit: Option<i64>,
}

/// A client as the protocol page describes one.
struct Client {
    socket: usize,
    ticket: Option<Ticket>,
    queue: Outbound,
    queued: Queued,
    codec: Codec,
    session: String,
    seq: u64,
    /// The frames of this session, its hello first.
    frames: Vec<Value>,
    emulators: BTreeMap<String, Emulator>,
    notes: BTreeMap<String, u64>,
    hellos: usize,
    speed: u64,
}

fn size_of_surface(fields: &Value) -> GridSize {
    GridSize::new(fields["cols"].as_u64().unwrap(), fields["rows"].as_u64().unwrap()).unwrap()
}

impl Emulator {
    fn new(fields: &Value) -> Emulator {
        let size = size_of_surface(fields);
        let exit = fields["exitCode"].as_i64();
        Emulator {
            screen: Screen::new(size, SCROLLBACK),
            size,
            seen: Vec::new(),
            snapshots: 0,
            resized: false,
            exit,
        }
    }
}

impl Client {
    fn new(socket: usize) -> Client {
        Client {
            socket,
            ticket: None,
            queue: Outbound::default(),
            queued: Queued::default(),
            codec: Codec::client(64 << 20),
            session: String::new(),
            seq: 0,
            frames: Vec::new(),
            emulators: BTreeMap::new(),
            notes: BTreeMap::new(),
            hellos: 0,
            speed: u64::MAX,
        }
    }

    /// From now on it is known how fast its socket is.
    fn at_speed(&mut self, bytes_a_second: usize, now: Instant) {
        self.queue.link = Link::default();
        for second in 0..=4 {
            self.queue.link.took(bytes_a_second, false, now + Duration::from_secs(second));
        }
        self.queue.adapt();
    }

    fn writer<'a>(&'a mut self, encoded: &'a mut Encoded) -> Writer<'a> {
        Writer { queue: &mut self.queue, queued: &mut self.queued, encoded }
    }

    /// The network delivers up to `bytes`.
    fn receive(&mut self, bytes: usize) -> Vec<Value> {
        let n = self.queue.waiting().len().min(bytes);
        let mut arrived = self.queue.waiting()[..n].to_vec();
        self.queue.take(n);
        let mut frames = Vec::new();
        while let Some(message) = self.codec.read(&mut arrived, &mut Vec::new()).unwrap() {
            let Message::Text(text) = message else { panic!("{message:?}") };
            let frame: Value = serde_json::from_str(&text).unwrap();
            self.apply(&frame);
            if frame["type"] == "hello" {
                self.frames.clear();
            }
            self.frames.push(frame.clone());
            frames.push(frame);
        }
        frames
    }

    fn apply(&mut self, frame: &Value) {
        let seq = frame["seq"].as_u64().unwrap();
        let kind = frame["type"].as_str().unwrap();
        if kind == "hello" {
            assert_eq!((seq, frame["version"].as_u64()), (0, Some(2)));
            self.session = frame["sessionId"].as_str().unwrap().to_owned();
            self.notes = serde_json::from_value(frame["snapshot"]["notifications"].clone()).unwrap();
            let surfaces = frame["snapshot"]["surfaces"].as_array().unwrap();
            let emulator =
                |surface: &Value| (surface["id"].as_str().unwrap().to_owned(), Emulator::new(surface));
            self.emulators = surfaces.iter().map(emulator).collect();
            self.hellos += 1;
            self.seq = 0;
            return;
        }
        assert_eq!(seq, self.seq + 1, "one more on every frame: {kind}");
        self.seq = seq;
        let id = || frame["surfaceId"].as_str().unwrap();
        match kind {
            "surfaceStdout" => {
                let bytes = BASE64.decode(frame["bytes"].as_str().unwrap().as_bytes()).unwrap();
                let emulator = self.emulators.get_mut(id()).expect("output of a surface that is there");
                if frame["snapshot"] == true {
                    assert!(bytes.starts_with(b"\x1bc") || bytes.starts_with(b"\x18\x1bc"));
                    emulator.size = size_of_surface(frame);
                    emulator.screen.resize(emulator.size);
                    emulator.seen.clear();
                    emulator.snapshots += 1;
                    emulator.resized = false;
                } else {
                    assert!((1..=OUTPUT_FRAME_BYTES_MAX).contains(&bytes.len()));
                    assert_eq!(emulator.exit, None, "no output after the exit");
                    emulator.seen.extend_from_slice(&bytes);
                }
                emulator.screen.feed(&bytes, None);
            }
            "surfaceCreate" => {
                let surface = &frame["surface"];
                let id = surface["id"].as_str().unwrap().to_owned();
                assert!(self.emulators.insert(id, Emulator::new(surface)).is_none());
            }
            "surfaceResize" => {
                let emulator = self.emulators.get_mut(id()).unwrap();
                emulator.size = size_of_surface(frame);
                emulator.screen.resize(emulator.size);
                emulator.resized = true;
            }
            "surfaceExit" => self.emulators.get_mut(id()).unwrap().exit = frame["exitCode"].as_i64(),
            "surfaceClose" => assert!(self.emulators.remove(id()).is_some()),
            "notificationCreate" => {
                let note = &frame["notification"];
                self.notes.insert(note["id"].as_str().unwrap().to_owned(), note["value"].as_u64().unwrap());
            }
            "notificationDismiss" => {
                self.notes.remove(frame["id"].as_str().unwrap());
            }
            "surfaceMetadata" => assert!(self.emulators.contains_key(id())),
            "pong" | "error" => {}
            other => panic!("nobody told {other}"),
        }
    }

    /// The client forgets what came after frame `seq`, as one that saved its state then.
    fn go_back(&mut self, seq: u64) {
        let frames = std::mem::take(&mut self.frames);
        self.seq = 0;
        for frame in frames {
            if frame["type"] == "hello" || frame["seq"].as_u64().unwrap() <= seq {
                self.apply(&frame);
                self.frames.push(frame);
            }
        }
    }
}

/// A frame in short: output as its text, the rest by its type.
fn brief(frames: &[Value]) -> Vec<String> {
    let brief = |frame: &Value| match frame["type"].as_str().unwrap() {
        "surfaceStdout" => {
            let bytes = BASE64.decode(frame["bytes"].as_str().unwrap().as_bytes()).unwrap();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if frame["snapshot"] == true { "snapshot".to_owned() } else { text }
        }
        kind => kind.to_owned(),
    };
    frames.iter().map(|frame| format!("{} {}", frame["seq"], brief(frame))).collect()
}

#[test]
fn a_hello_then_a_snapshot_of_every_surface_then_what_happens() {
    let (mut rig, mut client) = (Rig::new(1 << 16), Client::new(1));
    rig.create();
    rig.create();
    rig.print(0, b"before");
    rig.note("n", 1);
    rig.connect(&mut client, None);
    let frames = rig.deliver(&mut client);
    assert_eq!(brief(&frames), ["0 hello", "1 snapshot", "2 snapshot"]);
    let hello = &frames[0];
    assert_eq!(hello["sessionId"], format!("{:032x}", 1));
    assert_eq!((&hello["version"], &hello["settings"]["theme"]), (&json!(2), &json!("obsidian")));
    assert_eq!(hello["snapshot"]["notifications"], json!({ "n": 1 }));
    let first = &frames[1];
    assert_eq!(first["surfaceId"], format!("{:032x}", 0));
    assert_eq!((&first["cols"], &first["rows"]), (&json!(80), &json!(24)));
    assert!(BASE64.decode(first["bytes"].as_str().unwrap().as_bytes()).unwrap().starts_with(b"\x1bc"));
    rig.wait(100);
    rig.print(1, b"live");
    rig.note("m", 2);
    let frames = rig.deliver(&mut client);
    assert_eq!(brief(&frames), ["3 notificationCreate", "4 live"]);
    let bytes = json!("bGl2ZQ==");
    let id = format!("{:032x}", 1);
    assert_eq!(frames[1], json!({ "type": "surfaceStdout", "seq": 4, "surfaceId": id, "bytes": bytes }));
}

#[test]
fn the_first_output_goes_at_once_and_more_waits_for_the_next_batch() {
    let (mut rig, mut client) = (Rig::new(1 << 16), Client::new(1));
    rig.create();
    rig.connect(&mut client, None);
    rig.deliver(&mut client);
    rig.wait(100);
    rig.print(0, b"a");
    let start = rig.now;
    assert_eq!(brief(&rig.deliver(&mut client)), ["2 a"]);
    for byte in [b"b", b"c"] {
        rig.wait(1);
        rig.print(0, byte);
        assert_eq!(rig.pump(&mut client), Pumped::Until(start + MIRROR_BATCH));
        assert!(client.receive(usize::MAX).is_empty());
    }
    rig.now = start + MIRROR_BATCH;
    assert_eq!(brief(&rig.deliver(&mut client)), ["3 bc"]);
    rig.wait(1);
    rig.note("n", 1);
    assert_eq!(brief(&rig.deliver(&mut client)), ["4 notificationCreate"], "news is not held");
}

#[test]
fn output_goes_before_the_exit_and_before_a_new_size_due_or_not() {
    let (mut rig, mut client) = (Rig::new(1 << 16), Client::new(1));
    rig.connect(&mut client, None);
    rig.deliver(&mut client);
    rig.create();
    rig.print(0, b"a");
    assert_eq!(brief(&rig.deliver(&mut client)), ["1 surfaceCreate", "2 a"], "from the first byte");
    rig.print(0, b"b");
    rig.resize(0, 100, 30);
    rig.print(0, b"c");
    assert_eq!(brief(&rig.deliver(&mut client)), ["3 b", "4 surfaceResize", "5 c"]);
    rig.print(0, b"d");
    rig.exit(0, 3);
    rig.close(0);
    let frames = rig.deliver(&mut client);
    assert_eq!(brief(&frames), ["6 d", "7 surfaceExit", "8 surfaceClose"]);
    let id = format!("{:032x}", 0);
    assert_eq!(frames[1], json!({ "type": "surfaceExit", "seq": 7, "surfaceId": id, "exitCode": 3 }));
}

/// A session with ten frames: output of two surfaces, news and a pong; the client has seen all of them.
fn ten_frames(rig: &mut Rig, client: &mut Client) -> Vec<Value> {
    rig.create();
    rig.create();
    rig.connect(client, None);
    let mut frames = rig.deliver(client);
    for (i, text) in ["one", "two─", "three", "four"].iter().enumerate() {
        rig.wait(50);
        rig.print(i % 2, text.as_bytes());
        frames.extend(rig.deliver(client));
    }
    rig.note("n", 1);
    frames.extend(rig.deliver(client));
    rig.answer(client, ToMirror::Pong { nonce: &json!("x"), server_time_ms: 5 }.body());
    rig.create();
    rig.wait(50);
    rig.print(1, b"five");
    rig.print(2, b"six");
    frames.extend(rig.deliver(client));
    let told = ["0 hello", "1 snapshot", "2 snapshot", "3 one", "4 two─", "5 three", "6 four"];
    let more = ["7 notificationCreate", "8 pong", "9 surfaceCreate", "10 five", "11 six"];
    assert_eq!(brief(&frames), [&told[..], &more[..]].concat());
    frames
}

#[test]
fn a_resume_replays_the_very_frames_that_were_missed_and_goes_on_live() {
    for seq in 2..=11 {
        let (mut rig, mut client) = (Rig::new(1 << 16), Client::new(1));
        let frames = ten_frames(&mut rig, &mut client);
        rig.detach(&mut client);
        rig.note("away", 2);
        rig.wait(50);
        rig.print(2, b"!");
        let id = client.session.clone();
        client.go_back(seq);
        assert_eq!(rig.connect(&mut client, Some((&id, seq))), None);
        let replayed = rig.deliver(&mut client);
        let missed = &frames[seq as usize + 1..];
        assert_eq!(&replayed[..missed.len()], missed, "exactly what was missed, without a hello");
        assert_eq!(brief(&replayed[missed.len()..]), ["12 notificationCreate", "13 !"]);
        assert_eq!(client.session, id);
        assert!(replayed.iter().all(|frame| frame["type"] != "hello"));
    }
}

#[test]
fn a_session_that_is_unknown_expired_or_elsewhere_in_time_begins_anew() {
    let fresh = |resume: &dyn Fn(&Client) -> (String, u64), away: Duration| {
        let (mut rig, mut client) = (Rig::new(1 << 16), Client::new(1));
        ten_frames(&mut rig, &mut client);
        rig.detach(&mut client);
        rig.note("away", 1);
        rig.now += away;
        let (id, seq) = resume(&client);
        rig.connect(&mut client, Some((&id, seq)));
        let former = client.session.clone();
        let frames = rig.deliver(&mut client);
        assert!(frames[0]["type"] != "hello" || client.session != former, "a hello has a fresh id");
        frames[0]["type"] == "hello"
    };
    let second = Duration::from_secs(1);
    let own = |client: &Client| (client.session.clone(), 11);
    assert!(!fresh(&own, MIRROR_DETACHED_MAX - second));
    assert!(fresh(&own, MIRROR_DETACHED_MAX), "expired");
    assert!(fresh(&|_| ("f".repeat(32), 3), second), "unknown");
    assert!(fresh(&|_| (String::new(), 0), second), "empty");
    assert!(fresh(&|client| (client.session.clone(), 12), second), "from the future");
    assert!(fresh(&|client| (client.session.clone(), u64::MAX), second), "from the far future");
}

#[test]
fn after_an_eviction_a_seq_that_is_held_resumes_and_one_that_is_not_gets_a_hello() {
    let (mut rig, mut client) = (Rig::new(8 << 20), Client::new(1));
    rig.create();
    rig.connect(&mut client, None);
    rig.deliver(&mut client);
    for _ in 0..40 {
        rig.wait(50);
        rig.print(0, &[b'x'; 45_000]);
        rig.deliver(&mut client);
    }
    let held = MIRROR_LOG_BYTES as u64 / 60_104;
    let id = client.session.clone();
    for (seq, hellos) in [(client.seq - held, 1), (client.seq - held - 1, 2)] {
        rig.detach(&mut client);
        rig.connect(&mut client, Some((&id, seq)));
        client.seq = seq;
        let frames = rig.deliver(&mut client);
        assert_eq!(client.hellos, hellos, "after {seq}: {:?}", &brief(&frames[..1]));
    }
}

#[test]
fn a_stale_socket_neither_writes_nor_destroys_the_session() {
    let (mut rig, mut old, mut new) = (Rig::new(1 << 16), Client::new(1), Client::new(2));
    ten_frames(&mut rig, &mut old);
    let stale = old.ticket.unwrap();
    assert_eq!(rig.connect(&mut new, Some((&old.session, 11))), Some(1), "whom to close");
    new.seq = 11;
    new.session = old.session.clone();
    rig.note("x", 1);
    rig.pump(&mut old);
    assert!(old.queue.is_empty() && rig.mirror.session(stale).is_none());
    rig.detach(&mut old);
    rig.now += MIRROR_DETACHED_MAX * 2;
    rig.mirror.expire(rig.now);
    assert_eq!(brief(&rig.deliver(&mut new)), ["12 notificationCreate"]);
}

#[test]
fn what_a_stream_has_forgotten_becomes_one_snapshot_of_that_surface() {
    let (mut rig, mut client) = (Rig::new(1000), Client::new(1));
    ten_frames(&mut rig, &mut client);
    rig.detach(&mut client);
    rig.wait(50);
    rig.print(0, &[b'x'; 2000]);
    rig.print(1, b"y");
    let id = client.session.clone();
    rig.connect(&mut client, Some((&id, 11)));
    assert_eq!(brief(&rig.deliver(&mut client)), ["12 snapshot", "13 y"]);

    // Frames that cannot be made again are made anew, from the first such on.
    rig.detach(&mut client);
    client.go_back(4);
    rig.connect(&mut client, Some((&id, 4)));
    let frames = rig.deliver(&mut client);
    assert_eq!(frames[0]["type"], "notificationCreate", "frame 5 was output that is gone");
    let mut told = brief(&frames);
    told.sort_by_key(|frame| frame.split(' ').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(told[..2], ["5 notificationCreate", "6 surfaceCreate"]);
    for rest in ["snapshot", "fourfivey", "six"] {
        assert!(told[2..].iter().any(|frame| frame.ends_with(rest)), "{told:?}");
    }
    assert_eq!((told.len(), client.seq), (5, 9));
}

#[test]
fn a_snapshot_has_the_present_size_and_no_older_one_follows_it() {
    let (mut rig, mut client) = (Rig::new(1000), Client::new(1));
    rig.create();
    rig.connect(&mut client, None);
    rig.deliver(&mut client);
    for (cols, text) in [(100, "x"), (60, "y"), (90, "z")] {
        rig.print(0, text.repeat(1500).as_bytes());
        rig.resize(0, cols, 30);
    }
    rig.print(0, b"end");
    let frames = rig.deliver(&mut client);
    assert_eq!(brief(&frames), ["2 snapshot"]);
    assert_eq!(frames[0]["cols"], 90);
    rig.resize(0, 70, 30);
    assert_eq!(brief(&rig.deliver(&mut client)), ["3 surfaceResize"]);
}

#[test]
fn cleared_text_does_not_come_back_to_a_client_that_was_away() {
    let (mut rig, mut client) = (Rig::new(1 << 16), Client::new(1));
    ten_frames(&mut rig, &mut client);
    rig.detach(&mut client);
    let now = rig.now;
    rig.shell(0).terminal.clear(true, now);
    let id = client.session.clone();
    client.go_back(4);
    rig.connect(&mut client, Some((&id, 4)));
    let frames = rig.deliver(&mut client);
    let shown = |frame: &Value| frame["surfaceId"] == format!("{:032x}", 0);
    let of_first: Vec<_> = frames.iter().filter(|frame| shown(frame)).cloned().collect();
    assert_eq!(of_first.len(), 1);
    assert_eq!(of_first[0]["snapshot"], true);
    let bytes = BASE64.decode(of_first[0]["bytes"].as_str().unwrap().as_bytes()).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("three"));

    // Nor does what was printed and cleared while it was away.
    rig.detach(&mut client);
    rig.shell(1).terminal.feed(b"secret", now);
    rig.shell(1).terminal.clear(true, now);
    rig.wait(50);
    let seq = client.seq;
    rig.connect(&mut client, Some((&id, seq)));
    let frames = rig.deliver(&mut client);
    assert_eq!(brief(&frames), [format!("{} snapshot", seq + 1)]);
    let bytes = BASE64.decode(frames[0]["bytes"].as_str().unwrap().as_bytes()).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("secret"));
}

#[test]
fn only_lost_news_makes_a_hello_on_the_same_socket() {
    let (mut rig, mut client) = (Rig::new(1 << 16), Client::new(1));
    ten_frames(&mut rig, &mut client);
    let text = "x".repeat(1 << 20);
    for i in 0..=MIRROR_CONTROL_BYTES >> 20 {
        rig.note("big", i as u64);
        let json = json!(text).to_string();
        rig.mirror.tell(About::State, ToMirror::PlansSnapshot { plans_json: &json }.body());
    }
    rig.note("last", 1);
    let former = client.session.clone();
    let frames = rig.deliver(&mut client);
    assert_eq!(brief(&frames), ["0 hello", "1 snapshot", "2 snapshot", "3 snapshot"]);
    assert_ne!(client.session, former);
    assert_eq!(client.notes, rig.notes);
    rig.note("after", 1);
    assert_eq!(brief(&rig.deliver(&mut client)), ["4 notificationCreate"]);
}

#[test]
fn metadata_goes_to_those_who_follow() {
    let (mut rig, mut a, mut b) = (Rig::new(1 << 16), Client::new(1), Client::new(2));
    rig.create();
    for client in [&mut a, &mut b] {
        rig.connect(client, None);
        rig.deliver(client);
    }
    let follow = |rig: &mut Rig, client: &Client, follows| {
        rig.mirror.session(client.ticket.unwrap()).unwrap().follow(0, follows);
    };
    follow(&mut rig, &a, false);
    rig.metadata(0);
    rig.note("n", 1);
    assert_eq!(brief(&rig.deliver(&mut a)), ["2 notificationCreate"]);
    assert_eq!(brief(&rig.deliver(&mut b)), ["2 surfaceMetadata", "3 notificationCreate"]);
    assert!(rig.mirror.is_followed(0));
    follow(&mut rig, &b, false);
    assert!(!rig.mirror.is_followed(0));
    follow(&mut rig, &a, true);
    assert!(rig.mirror.is_followed(0) && !rig.mirror.is_followed(1));
    rig.metadata(0);
    assert_eq!(brief(&rig.deliver(&mut a)), ["3 surfaceMetadata"]);
    assert!(rig.deliver(&mut b).is_empty());

    // What was skipped is not there in a replay either, and the choice survives it.
    rig.detach(&mut a);
    let id = a.session.clone();
    a.go_back(1);
    rig.connect(&mut a, Some((&id, 1)));
    assert_eq!(brief(&rig.deliver(&mut a)), ["2 notificationCreate", "3 surfaceMetadata"]);
    rig.detach(&mut a);
    assert!(!rig.mirror.is_followed(0), "nobody is there");
}

#[test]
fn a_flood_does_not_take_the_room_of_the_others() {
    let (mut rig, mut client) = (Rig::new(4 << 20), Client::new(1));
    rig.create();
    rig.create();
    rig.connect(&mut client, None);
    rig.deliver(&mut client);
    for _ in 0..6 {
        rig.wait(50);
        rig.print(0, &b"flood\r\n".repeat(300_000));
        rig.print(1, b"key");
        rig.pump(&mut client);
        client.receive(client.queue.waiting().len());
        rig.pump(&mut client);
        let frames = client.receive(usize::MAX);
        let echoed = client.emulators[&format!("{:032x}", 1)].seen.len();
        assert_eq!(echoed, rig.printed[1].len(), "at the latest when there is room again: {}", frames.len());
    }
}

/// A client at 1 Mbit/s, with two terminals.
fn slow_link() -> (Rig, Client) {
    let (mut rig, mut client) = (Rig::new(2 << 20), Client::new(1));
    rig.create();
    rig.create();
    rig.connect(&mut client, None);
    rig.deliver(&mut client);
    client.at_speed(125_000, rig.now);
    rig.wait(50);
    (rig, client)
}

const LINE: &[u8] = b"twenty bytes of it\r\n";

#[test]
fn who_only_watches_over_a_slow_link_gets_every_byte_that_is_kept() {
    let (mut rig, mut client) = slow_link();
    rig.print(0, &LINE.repeat(100_000));
    let frames = rig.deliver(&mut client);
    assert!(frames.iter().all(|frame| frame["bytes"].as_str().unwrap().len() <= OUTPUT_FRAME_BYTES_SLOWEST));
    let emulator = &client.emulators[&format!("{:032x}", 0)];
    assert_eq!((emulator.snapshots, emulator.seen.len()), (1, LINE.len() * 100_000));
}

#[test]
fn who_types_over_a_slow_link_sees_the_present_and_later_the_scrollback() {
    let (mut rig, mut client) = slow_link();
    assert!(!rig.type_in(&client, 0), "nothing waits");
    rig.print(0, &LINE.repeat(300));
    rig.pump(&mut client);
    client.receive(1000);
    rig.note("n", 1);
    rig.answer(&client, ToMirror::Pong { nonce: &json!("x"), server_time_ms: 5 }.body());
    rig.pump(&mut client);
    rig.mirror.session(client.ticket.unwrap()).unwrap().follow(0, false);
    rig.metadata(0); // not told, and not counted among what is
    rig.pump(&mut client);
    assert!(!client.queue.is_full(), "they are behind two frames of output");
    rig.wait(50);
    rig.print(0, &LINE.repeat(50_000));
    rig.pump(&mut client);
    let waiting = client.queue.waiting().len();
    assert!(rig.type_in(&client, 0), "output waits");
    rig.print(0, b"END");
    rig.pump(&mut client);
    let taken_back = waiting - client.queue.waiting().len();
    assert!(taken_back > OUTPUT_FRAME_BYTES_SLOWEST, "what had not begun to leave: {taken_back}");
    let seq = client.seq;
    let frames = rig.deliver(&mut client);
    let told: Vec<_> = frames.iter().map(|frame| &frame["type"]).collect();
    assert_eq!(told, ["surfaceStdout", "pong", "notificationCreate", "surfaceStdout"], "and nothing is lost");
    assert_eq!((client.seq, &frames[3]["snapshot"]), (seq + 4, &json!(true)));
    let text = |client: &mut Client| {
        client.emulators.get_mut(&format!("{:032x}", 0)).unwrap().screen.text(usize::MAX)
    };
    assert_eq!(text(&mut client).lines().count(), 24, "the screen alone");
    assert!(text(&mut client).ends_with("END"));
    let owed = rig.now + Duration::from_secs(1);
    rig.wait(300);
    rig.print(0, &LINE.repeat(1000));
    assert!(rig.deliver(&mut client).iter().all(|frame| frame["snapshot"].is_null()), "what it asked for");
    assert_eq!(rig.pump(&mut client), Pumped::Until(owed));
    rig.now = owed;
    assert_eq!(brief(&rig.deliver(&mut client))[0].split(' ').nth(1), Some("snapshot"));
    assert_eq!(text(&mut client).lines().count(), 23 + SCROLLBACK);
    assert_eq!(rig.pump(&mut client), Pumped::Waits);
}

#[test]
fn a_scrollback_that_is_taken_back_is_still_owed() {
    let (mut rig, mut client) = slow_link();
    let line = [&[b'x'; 78][..], b"\r\n"].concat();
    rig.print(0, &line.repeat(30_000));
    rig.deliver(&mut client);
    rig.wait(900);
    rig.print(0, &[&line[..79]; 110].concat()); // over one another: nothing scrolls
    rig.pump(&mut client);
    rig.wait(100);
    rig.pump(&mut client);
    client.receive(1000);
    let waiting = client.queue.waiting().len();
    rig.type_in(&client, 0);
    rig.pump(&mut client);
    assert!(client.queue.waiting().len() < waiting);
    rig.deliver(&mut client);
    rig.wait(1000);
    rig.deliver(&mut client);
    let emulator = client.emulators.get_mut(&format!("{:032x}", 0)).unwrap();
    assert_eq!(emulator.screen.text(usize::MAX).lines().count(), 24 + SCROLLBACK);
}

#[test]
fn what_a_session_owes_is_forgotten_when_its_surface_closes() {
    let (mut rig, mut client) = slow_link();
    for _ in 0..200 {
        let number = rig.create();
        rig.deliver(&mut client);
        for _ in 0..3 {
            rig.print(number, &LINE.repeat(2000));
            rig.wait(50);
            rig.pump(&mut client);
            rig.type_in(&client, number);
            rig.pump(&mut client);
        }
        rig.close(number);
        rig.deliver(&mut client);
        rig.shells.0[number] = None;
    }
    // As much as its log remembers: of those surfaces nothing is left there.
    rig.print(0, &LINE.repeat(100_000));
    rig.wait(50);
    rig.deliver(&mut client);
    rig.detach(&mut client);
    let memory = rig.mirror.sessions().next().unwrap().memory();
    assert!(memory < 4 << 10, "{memory}");
}

#[test]
fn who_types_beside_a_flood_does_not_wait_for_what_has_not_begun_to_leave() {
    let (mut rig, mut client) = slow_link();
    client.queue = Outbound::default(); // nothing is known of it
    rig.print(0, &LINE.repeat(40_000));
    rig.pump(&mut client);
    client.at_speed(125_000, rig.now);
    client.receive(1000);
    assert!(client.queue.waiting().len() > 500_000, "queued before its speed was known");
    assert!(rig.type_in(&client, 1));
    rig.print(1, b"echo");
    rig.pump(&mut client);
    let frames = rig.deliver(&mut client);
    assert_eq!(brief(&frames)[1], "4 echo", "behind the one that had begun to leave");
    assert_eq!(client.emulators[&format!("{:032x}", 0)].seen.len(), LINE.len() * 40_000);
}

#[test]
fn a_client_at_an_unknown_or_usual_speed_gets_every_byte_though_it_types() {
    for bytes_a_second in [None, Some(100 << 20)] {
        let (mut rig, mut client) = slow_link();
        client.queue = Outbound::default();
        bytes_a_second.into_iter().for_each(|bytes| client.at_speed(bytes, rig.now));
        rig.print(0, &LINE.repeat(50_000));
        rig.pump(&mut client);
        client.receive(1000);
        assert!(rig.type_in(&client, 0));
        rig.deliver(&mut client);
        assert_eq!(client.emulators[&format!("{:032x}", 0)].seen.len(), LINE.len() * 50_000);
    }
}

#[test]
fn who_types_while_much_is_replayed_sees_the_present_and_cleared_text_stays_away() {
    let (mut rig, mut client) = slow_link();
    let seq = client.seq;
    rig.print(0, &LINE.repeat(40_000));
    rig.note("n", 1);
    rig.deliver(&mut client);
    rig.print(1, b"secret");
    rig.wait(50);
    rig.deliver(&mut client);
    rig.detach(&mut client);
    let now = rig.now;
    rig.shell(1).terminal.clear(true, now);
    let id = client.session.clone();
    client.go_back(seq);
    rig.connect(&mut client, Some((&id, seq)));
    client.at_speed(125_000, rig.now);
    rig.pump(&mut client);
    client.receive(10_000);
    assert!(rig.type_in(&client, 0));
    let before = client.seq;
    let frames = rig.deliver(&mut client);
    assert!(client.seq < before + 8, "{} frames of the replay", client.seq - before);
    assert_eq!((&client.notes, &client.session), (&rig.notes, &id));
    for frame in frames.iter().filter(|frame| frame["surfaceId"] == format!("{:032x}", 1)) {
        let bytes = BASE64.decode(frame["bytes"].as_str().unwrap().as_bytes()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("secret"));
    }
}

#[test]
fn a_detached_session_costs_next_to_nothing() {
    let (mut rig, mut client) = (Rig::new(1 << 16), Client::new(1));
    for _ in 0..20 {
        rig.create();
    }
    rig.connect(&mut client, None);
    rig.deliver(&mut client);
    for i in 0..3000u64 {
        rig.wait(20);
        rig.print((i / 100) as usize % 20, b"a line of output\r\n");
        rig.deliver(&mut client);
        if i % 10 == 0 {
            rig.note("progress", i);
        }
    }
    rig.detach(&mut client);
    let memory = rig.mirror.sessions().next().unwrap().memory();
    for i in 0..3000u64 {
        rig.print(i as usize % 20, b"a line of output\r\n");
        rig.note("progress", i);
    }
    assert_eq!(rig.mirror.sessions().next().unwrap().memory(), memory, "nothing is noted while it is away");
    println!("a detached session with 20 surfaces and 3300 frames: {memory} bytes");
    assert!(memory < 16 << 10, "{memory}");
}

mod simulation {
    use super::*;

    /// xorshift64*: repeatable, and enough here.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, n: u64) -> u64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % n.max(1)
        }

        fn one_of(&mut self, from: &[usize]) -> Option<usize> {
            from.get(self.below(from.len() as u64) as usize).copied()
        }
    }

    fn some_output(dice: &mut Dice) -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..=dice.below(20) {
            match dice.below(12) {
                0 => out.extend_from_slice(format!("\x1b[{};{}H", dice.below(30), dice.below(90)).as_bytes()),
                1 => out.extend_from_slice(format!("\x1b[3{}m", dice.below(8)).as_bytes()),
                2 => out.extend_from_slice("─│你好😀".as_bytes()),
                3 => out.extend_from_slice(b"\x1b]2;a title\x07"),
                4 => out.extend_from_slice(b"\x1b[2J\x1b[H"),
                _ => out.extend_from_slice(format!("line {}\r\n", dice.below(100_000)).as_bytes()),
            }
        }
        if dice.below(100) == 0 {
            out.extend(b"flood flood flood\r\n".repeat(dice.below(60_000) as usize));
        }
        out
    }

    /// What a whole course came to, so that it is known to have tried something.
    #[derive(Debug, Default)]
    struct Tally {
        hellos: usize,
        resumes: usize,
        replayed: usize,
        snapshots: usize,
        /// Keys while output waited.
        typed: usize,
        screens: usize,
    }

    fn run(seed: u64) -> Tally {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut rig = Rig::new([20_000, 200_000, 2 << 20][dice.below(3) as usize]);
        let mut clients: Vec<Client> = (0..2 + dice.below(7)).map(|i| Client::new(i as usize)).collect();
        let mut tally = Tally::default();
        let mut originals: Vec<Vec<Value>> = vec![Vec::new(); clients.len()];
        rig.create();
        for _ in 0..500 {
            rig.wait(dice.below(12));
            let live = rig.live();
            let running: Vec<usize> =
                live.iter().copied().filter(|n| rig.shell(*n).terminal.exited().is_none()).collect();
            if let Some(number) = dice.one_of(&running) {
                let output = some_output(&mut dice);
                rig.print(number, &output);
            }
            let who = dice.below(clients.len() as u64) as usize;
            match dice.below(29) {
                0 if live.len() < 6 => {
                    rig.create();
                }
                1 => {
                    if let Some(number) = dice.one_of(&running) {
                        rig.resize(number, 20 + dice.below(100), 5 + dice.below(40));
                    }
                }
                2 if dice.below(3) == 0 => {
                    if let Some(number) = dice.one_of(&running) {
                        rig.exit(number, dice.below(256) as i32);
                    }
                }
                3 if dice.below(3) == 0 => {
                    if let Some(number) = dice.one_of(&live) {
                        rig.close(number);
                        if dice.below(2) == 0 {
                            for client in &mut clients {
                                rig.pump(client);
                            }
                        }
                        rig.shells.0[number] = None;
                    }
                }
                4..=7 => {
                    let key = format!("n{}", dice.below(8));
                    rig.note(&key, dice.below(1000));
                }
                8 => {
                    let key = format!("n{}", dice.below(8));
                    rig.dismiss(&key);
                }
                9 => rig.detach(&mut clients[who]),
                10 => clients[who].speed = 0,
                11 => clients[who].speed = 1 + dice.below(100_000),
                12 => clients[who].speed = u64::MAX,
                13 => rig.answer(
                    &clients[who],
                    ToMirror::Pong { nonce: &json!(dice.below(9)), server_time_ms: 1 }.body(),
                ),
                14..=17 => {
                    let client = &mut clients[who];
                    let (id, seq) = (client.session.clone(), client.seq);
                    let resume = match dice.below(8) {
                        0 => None,
                        1 => Some(("nobody", seq)),
                        2 => Some((id.as_str(), seq + 1_000_000)),
                        3..=5 => Some((id.as_str(), seq)),
                        _ => Some((id.as_str(), seq.saturating_sub(dice.below(30)))),
                    };
                    if dice.below(3) > 0 {
                        rig.detach(client);
                    }
                    if dice.below(40) == 0 {
                        rig.now += MIRROR_DETACHED_MAX;
                    }
                    if let Some((_, seq)) = resume.filter(|(id, back)| *id == client.session && *back < seq) {
                        originals[who] = client.frames.clone();
                        client.go_back(seq);
                    }
                    tally.resumes += usize::from(resume.is_some());
                    rig.connect(client, resume);
                }
                18..=20 => {
                    if let Some(number) = dice.one_of(&live).filter(|n| rig.shells.0[*n].is_some()) {
                        rig.metadata(number);
                    }
                }
                21 => {
                    if let Some(session) = clients[who].ticket.and_then(|ticket| rig.mirror.session(ticket)) {
                        let follows = dice.below(2) == 0;
                        live.iter().for_each(|number| session.follow(*number, follows));
                    }
                }
                22 => {
                    let bytes_a_second = [20_000, 5_000_000, 1 << 40][dice.below(3) as usize];
                    clients[who].at_speed(bytes_a_second, rig.now);
                }
                23..=26 => {
                    if let Some(number) = dice.one_of(&live).filter(|n| rig.shells.0[*n].is_some()) {
                        tally.typed += usize::from(rig.type_in(&clients[who], number));
                    }
                }
                _ => {}
            }
            for (client, original) in clients.iter_mut().zip(&mut originals) {
                rig.pump(client);
                let former = client.session.clone();
                let bytes = usize::try_from(client.speed).unwrap();
                for frame in client.receive(bytes) {
                    tally.snapshots += usize::from(frame["snapshot"] == true);
                    let seq = frame["seq"].as_u64().unwrap() as usize;
                    // A replay is what was sent before, until the first frame that cannot be made again.
                    match original.get(seq) {
                        Some(sent) if *sent == frame && client.session == former => tally.replayed += 1,
                        _ => original.clear(),
                    }
                }
                let bound = (2 << 20) + 2 * OUTPUT_FRAME_BYTES_MAX;
                assert!(client.queue.waiting().len() <= bound, "a queue has a bound");
            }
        }
        for client in &mut clients {
            rig.detach(client);
            let (id, seq) = (client.session.clone(), client.seq);
            rig.connect(client, Some((&id, seq)));
        }
        rig.wait(1000);
        for client in &mut clients {
            rig.deliver(client);
            tally.hellos += client.hellos;
            assert_eq!(client.notes, rig.notes, "the state around the terminals");
            let live: Vec<String> = rig.shells.0.iter().flatten().map(|shown| shown.id.clone()).collect();
            assert_eq!(client.emulators.keys().cloned().collect::<Vec<_>>(), live);
        }
        let now = rig.now;
        for (number, shown) in rig.shells.0.iter_mut().enumerate() {
            let Some(Shown { id, terminal, .. }) = shown else { continue };
            let text = terminal.screen(now).text(usize::MAX);
            let (mut reset, mut again) = (Vec::new(), Screen::new(terminal.size(), SCROLLBACK));
            terminal.screen(now).put_reset(&mut reset);
            again.feed(&reset, None);
            let reset_is_exact = again.text(usize::MAX) == text;
            for client in &mut clients {
                let emulator = client.emulators.get_mut(id.as_str()).unwrap();
                let printed = &rig.printed[number];
                assert!(printed.ends_with(&emulator.seen), "exactly the stream since the last snapshot");
                assert!(emulator.snapshots > 0 || emulator.seen.len() == printed.len());
                assert_eq!(emulator.exit, terminal.exited().map(|exit| i64::from(exit.code.unwrap())));
                assert_eq!(emulator.size, terminal.size());
                // How exact a reconstruction is, and how it flows to another size, is the screen's matter.
                if emulator.snapshots == 0 || !emulator.resized && reset_is_exact {
                    assert_eq!(emulator.screen.text(usize::MAX), text, "surface {number}");
                    tally.screens += 1;
                }
            }
        }
        tally
    }

    #[test]
    fn every_client_ends_with_what_the_server_has() {
        let seed = std::env::var("WHARF_SEED").map(|seed| seed.parse().expect("WHARF_SEED is a number"));
        let mut total = Tally::default();
        for seed in seed.clone().map_or(1..=24, |seed| seed..=seed) {
            println!("seed {seed}");
            let tally = run(seed);
            println!("{tally:?}");
            total.hellos += tally.hellos;
            total.resumes += tally.resumes;
            total.replayed += tally.replayed;
            total.snapshots += tally.snapshots;
            total.typed += tally.typed;
            total.screens += tally.screens;
        }
        if seed.is_err() {
            assert!(total.hellos > 100 && total.resumes > total.hellos, "resumes mostly need no hello");
            assert!(total.typed > 300);
            assert!(total.replayed > 500 && total.snapshots > 500 && total.screens > 200, "{total:?}");
        }
    }
}
