//! The web mirror: every terminal and what surrounds it, over one socket (`seeds/web-mirror-protocol-v2.txt`).

use data_encoding::BASE64;

use crate::harness::*;

/// A client of the mirror that checks every frame's `seq`.
pub struct Mirror {
    pub socket: WebSocket,
    pub session: String,
    pub seq: u64,
    pub hello: Value,
    /// Frames so far, the hello included.
    pub frames: Vec<Value>,
}

/// A session without a socket.
pub struct Left(String);

impl Left {
    pub fn resume(&self, server: &Server, seq: u64) -> Mirror {
        resumed(server, &self.0, seq)
    }
}

fn resumed(server: &Server, session: &str, seq: u64) -> Mirror {
    let socket = open(server, &format!("resume={session}&seq={seq}"));
    Mirror { socket, session: session.to_owned(), seq, hello: Value::Null, frames: Vec::new() }
}

pub fn open(server: &Server, query: &str) -> WebSocket {
    let token = server.token.as_ref().map(|token| format!("&t={token}")).unwrap_or_default();
    WebSocket::open(server.dial(), &format!("/ws?{query}{token}"), &[])
        .unwrap_or_else(|answer| panic!("refused: {} {}", answer.status, answer.text()))
}

impl Mirror {
    /// A new session.
    #[track_caller]
    pub fn open(server: &Server) -> Mirror {
        Mirror::greeted(open(server, ""))
    }

    #[track_caller]
    pub fn greeted(mut socket: WebSocket) -> Mirror {
        let hello = socket.next_json();
        assert_eq!(
            (&hello["type"], &hello["seq"], &hello["version"]),
            (&json!("hello"), &json!(0), &json!(2))
        );
        let session = hello["sessionId"].as_str().unwrap().to_owned();
        assert!(session.len() == 32 && session.bytes().all(|byte| byte.is_ascii_hexdigit()), "{session}");
        Mirror { socket, session, seq: 0, frames: vec![hello.clone()], hello }
    }

    /// The same session on another socket, going on after frame `seq`.
    pub fn resume(&self, server: &Server, seq: u64) -> Mirror {
        resumed(server, &self.session, seq)
    }

    /// Drops the socket; gives what resumes the session.
    pub fn leave(self) -> Left {
        Left(self.session)
    }

    pub fn send(&mut self, frame: Value) {
        assert!(self.socket.send_json(&frame), "the server has gone");
    }

    #[track_caller]
    pub fn next(&mut self) -> Value {
        let frame = self.socket.next_json();
        self.seq += 1;
        assert_eq!(frame["seq"], self.seq, "{frame}");
        self.frames.push(frame.clone());
        frame
    }

    /// Reads up to the next frame of this type.
    #[track_caller]
    pub fn until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.next();
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    /// Reads everything that the server had to say until now.
    #[track_caller]
    pub fn settle(&mut self) {
        self.send(json!({ "type": "ping", "nonce": "settle" }));
        self.until("pong");
    }

    /// What it was shown of a surface since the last snapshot of it, that included.
    pub fn shown(&self, surface: &Terminal) -> String {
        let mut shown = Vec::new();
        for frame in &self.frames {
            if frame["type"] == "surfaceStdout" && frame["surfaceId"] == surface.id.as_str() {
                if frame["snapshot"] == true {
                    shown.clear();
                }
                shown.extend(BASE64.decode(frame["bytes"].as_str().unwrap().as_bytes()).unwrap());
            }
        }
        String::from_utf8(shown).unwrap()
    }

    /// Reads until it was shown this of a surface.
    #[track_caller]
    pub fn expect(&mut self, surface: &Terminal, text: &str) {
        while !self.shown(surface).contains(text) {
            self.next();
        }
    }

    pub fn type_in(&mut self, surface: &Terminal, text: &str) {
        let bytes = BASE64.encode(text.as_bytes());
        self.send(json!({ "type": "surfaceStdin", "surfaceId": surface.id, "bytes": bytes }));
    }

    pub fn resize(&mut self, surface: &Terminal, cols: u64, rows: u64) {
        self.send(
            json!({ "type": "surfaceResizeRequest", "surfaceId": surface.id, "cols": cols, "rows": rows }),
        );
    }
}

/// A program that says what its terminal's size is, once it is told of another.
fn sizes() -> Program {
    sh("stty -echo; trap 'stty size' WINCH; echo ready; while :; do read line && echo \"got $line\"; done")
}

#[test]
fn hello_comes_first_with_everything_and_then_one_snapshot_of_each_surface() {
    let server = Server::start(&[]);
    let one = server.make(80, 24, sh("printf '\\033[31mred\\033[m one'; exec cat"));
    let two = server.make(100, 30, sh("printf 'primary\\033[?1049hsecond'; exec cat"));
    server.until_screen(&one, "red one");
    server.until_screen(&two, "second");
    let mut mirror = Mirror::open(&server);
    let snapshot = mirror.hello["snapshot"].clone();
    let parts: Vec<_> = snapshot.as_object().unwrap().keys().cloned().collect();
    #[rustfmt::skip]
    assert_eq!(parts, ["autoContinueAudit", "htKeys", "notifications", "panels", "plans", "sidebar", "surfaces", "workspaces"]);
    assert_eq!(snapshot["workspaces"], server.get("/v1/workspaces").json()["workspaces"]);
    let surfaces = snapshot["surfaces"].as_array().unwrap();
    assert_eq!(surfaces.len(), 2);
    let described = server.describe(&two);
    let surface = surfaces.iter().find(|surface| surface["surfaceId"] == two.id.as_str()).unwrap();
    for field in ["sessionId", "cols", "rows", "cwd", "pid", "exited", "exitCode", "createdAt", "agentOwned"]
    {
        assert_eq!(surface[field], described[field], "{field}");
    }
    assert_eq!(mirror.hello["settings"]["theme"], "obsidian");
    for _ in 0..2 {
        let frame = mirror.next();
        assert_eq!((&frame["type"], &frame["snapshot"]), (&json!("surfaceStdout"), &json!(true)));
        let size = if frame["surfaceId"] == two.id.as_str() { (100, 30) } else { (80, 24) };
        assert_eq!((&frame["cols"], &frame["rows"]), (&json!(size.0), &json!(size.1)));
    }
    let (red, second) = (mirror.shown(&one), mirror.shown(&two));
    assert!(red.starts_with("\u{1b}c") && red.contains("31mred"), "{red:?}");
    let places = ["primary", "?1049h", "second"].map(|text| second.find(text).unwrap());
    assert!(places.is_sorted(), "the primary screen behind the alternate one: {second:?}");
}

#[test]
fn output_comes_exactly() {
    let server = Server::start(&[]);
    let mut mirror = Mirror::open(&server);
    let terminal =
        server.make(80, 24, sh("stty -echo; echo ready; read line; seq 1 200000; printf é; exec cat"));
    let created = mirror.until("surfaceCreate");
    assert_eq!(created["surface"]["surfaceId"], terminal.id.as_str());
    mirror.expect(&terminal, "ready\r\n");
    mirror.type_in(&terminal, "\n");
    // Looked at once a frame, not from the start each time.
    while !BASE64
        .decode(mirror.until("surfaceStdout")["bytes"].as_str().unwrap().as_bytes())
        .unwrap()
        .ends_with("é".as_bytes())
    {}
    assert!(!mirror.frames.iter().any(|frame| frame["snapshot"] == true), "from its first byte");
    let (shown, printed) = (mirror.shown(&terminal), "ready\r\n".to_owned() + &lines(1, 200_000) + "é");
    assert!(shown == printed, "{} of {} bytes", shown.len(), printed.len());
}

#[test]
fn what_is_typed_arrives_and_what_a_terminal_is_sized_and_how_it_ends_is_told() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sizes());
    let mut mirror = Mirror::open(&server);
    mirror.expect(&terminal, "ready");
    mirror.type_in(&terminal, "grüße\n");
    mirror.expect(&terminal, "got grüße\r\n");
    mirror.resize(&terminal, 9, 9999);
    let resized = mirror.until("surfaceResize");
    assert_eq!((&resized["cols"], &resized["rows"]), (&json!(10), &json!(500)));
    assert_eq!(resized["surfaceId"], terminal.id.as_str());
    mirror.expect(&terminal, "500 10\r\n");
    assert_eq!(server.describe(&terminal)["attached"], 1);
    server.delete(&format!("/v1/terminals/{}", terminal.id));
    let exit = mirror.until("surfaceExit");
    assert_eq!(
        (&exit["surfaceId"], &exit["exitCode"], &exit["signal"]),
        (&json!(terminal.id), &json!(129), &json!(1))
    );
    assert_eq!(mirror.until("surfaceClose")["surfaceId"], terminal.id.as_str());
    mirror.type_in(&terminal, "x");
    assert_eq!(mirror.until("error")["code"], "unknown-surface");
}

#[test]
fn all_output_comes_before_the_exit_and_input_after_it_is_refused() {
    let server = Server::start(&[]);
    let mut mirror = Mirror::open(&server);
    let terminal = server.make(80, 24, sh("echo first; printf last; exit 3"));
    let exit = mirror.until("surfaceExit");
    assert_eq!((&exit["exitCode"], &exit["signal"]), (&json!(3), &Value::Null));
    assert_eq!(mirror.shown(&terminal), "first\r\nlast");
    mirror.type_in(&terminal, "x");
    assert_eq!(mirror.until("error")["code"], "exited");
}

#[test]
fn a_resume_replays_what_was_missed_with_the_same_numbers_and_goes_on() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("stty -echo; while read line; do echo \"got $line\"; done"));
    let mut first = Mirror::open(&server);
    first.type_in(&terminal, "one\n");
    first.expect(&terminal, "got one\r\n");
    first.settle();
    let (seq, frames) = (first.seq, first.frames.clone());
    // From the middle: the same frames again. The first snapshot cannot be repeated, so from after it.
    let after = frames.iter().rposition(|frame| frame["snapshot"] == true).unwrap() as u64;
    let mut second = first.resume(&server, after);
    while second.seq < seq {
        let frame = second.next();
        assert_eq!(frame, frames[second.seq as usize]);
    }
    assert_eq!(first.socket.close_code(), Some(1008), "another socket has its session");
    second.type_in(&terminal, "two\n");
    second.expect(&terminal, "got two\r\n");
    // Away while something is printed: it comes afterwards, without a hello.
    let away = second.seq;
    drop(second.socket);
    server.post(&format!("/v1/terminals/{}/input", terminal.id), &json!({ "data": "three\n" }));
    server.until_screen(&terminal, "got three");
    let mut third = first.resume(&server, away);
    third.expect(&terminal, "got three\r\n");
    assert!(third.frames.iter().all(|frame| frame["snapshot"] != true));
}

#[test]
fn what_cannot_be_resumed_is_greeted() {
    let server = Server::start(&[]);
    let mut first = Mirror::open(&server);
    first.settle();
    for query in [
        format!("resume={}&seq={}", first.session, first.seq + 1),
        format!("resume={}&seq=0", "0".repeat(32)),
        format!("resume={}", first.session),
        "resume=&seq=0".to_owned(),
        "seq=0".to_owned(),
    ] {
        let other = Mirror::greeted(open(&server, &query));
        assert_ne!(other.session, first.session, "{query}");
    }
    first.settle();
    let refused = WebSocket::open(server.dial(), "/ws?resume=x&seq=-1", &[]).err().unwrap();
    assert_eq!((refused.status, refused.error()), (400, "seq must be a whole number".to_owned()));
}

#[test]
fn the_socket_needs_the_token_and_lies_under_the_base_path() {
    let dir = server::Dir::new();
    std::fs::write(dir.file("token"), "a-token-of-16-characters\n").unwrap();
    let file = dir.file("token").to_str().unwrap().to_owned();
    let server = Server::start(&["--token-file", &file, "--base-path", "/below"]);
    let status = |path: &str, headers: &[(&str, &str)]| {
        WebSocket::open(server.dial(), path, headers).err().map_or(101, |answer| answer.status)
    };
    assert_eq!(status("/below/ws", &[]), 401);
    assert_eq!(status("/below/ws?t=wrong", &[]), 401);
    assert_eq!(status("/below/ws?t=a-token-of-16-characters", &[]), 101);
    assert_eq!(status("/below/ws?t=a-token-of-16-characters", &[("Origin", "http://evil.example")]), 403);
    assert_eq!(status("/ws?t=a-token-of-16-characters", &[]), 404);
}

#[test]
fn two_sessions_and_a_terminal_client_share_one_terminal() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sizes());
    let (mut one, mut two) = (Mirror::open(&server), Mirror::open(&server));
    let mut client = server.attach(&terminal, 2);
    client.expect("ready");
    one.resize(&terminal, 100, 30);
    client.expect_size(100, 30);
    two.resize(&terminal, 120, 40);
    two.send(json!({ "type": "surfaceFocus", "surfaceId": terminal.id }));
    client.expect_size(120, 40);
    one.until("surfaceResize");
    assert_eq!(one.until("surfaceResize")["cols"], 120);
    client.input("hello\n");
    for mirror in [&mut one, &mut two] {
        mirror.expect(&terminal, "got hello\r\n");
    }
    // Only the one whose size the terminal has answers a query.
    for (mirror, reply) in [(&mut one, "one\n"), (&mut two, "two\n")] {
        let bytes = BASE64.encode(reply.as_bytes());
        mirror.send(
            json!({ "type": "surfaceStdin", "surfaceId": terminal.id, "bytes": bytes, "claim": false }),
        );
        mirror.settle();
    }
    client.expect("got two");
    assert!(!client.text().contains("got one"));
    assert_eq!(server.describe(&terminal)["attached"], 3);
    // Its claim on the size leaves with it.
    drop(two);
    client.expect_size(100, 30);
}

#[test]
fn six_hundred_keys_in_one_go_all_arrive_in_order() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("stty -echo -icanon; echo ready; exec cat"));
    let mut mirror = Mirror::open(&server);
    mirror.expect(&terminal, "ready\r\n");
    let mut typed = String::new();
    let mut burst = Vec::new();
    for n in 0..600 {
        let key = char::from(b'a' + (n % 26) as u8).to_string();
        let frame = json!({ "type": "surfaceStdin", "surfaceId": terminal.id, "bytes": BASE64.encode(key.as_bytes()) });
        burst.extend(WebSocket::frame(0x81, true, frame.to_string().as_bytes()));
        typed.push_str(&key);
    }
    assert!(mirror.socket.put(&burst));
    mirror.expect(&terminal, &typed);
}

#[test]
fn what_is_sent_above_256_frames_a_second_is_read_later() {
    let server = Server::start(&[]);
    let mut mirror = Mirror::open(&server);
    let mut burst = Vec::new();
    for n in 0..600 {
        let ping = json!({ "type": "ping", "nonce": n }).to_string();
        burst.extend(WebSocket::frame(0x81, true, ping.as_bytes()));
    }
    assert!(mirror.socket.put(&burst));
    let pongs: Vec<Value> = (0..600).map(|_| mirror.until("pong")).collect();
    assert!(pongs.iter().enumerate().all(|(n, pong)| pong["nonce"] == n), "all of them, in order");
    // By the server's own clock.
    let at = |pong: &Value| pong["serverTime"].as_u64().unwrap();
    assert!(at(&pongs[599]) - at(&pongs[0]) >= (600 - 256) * 1000 / 256 - 100, "{} {}", pongs[0], pongs[599]);
}

#[test]
fn numbered_input_is_acknowledged_and_comes_once_however_often_it_is_sent() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("stty -echo; echo ready; exec cat"));
    let mut mirror = Mirror::open(&server);
    mirror.expect(&terminal, "ready\r\n");
    let numbered = |seq: u64, text: &str| {
        let bytes = BASE64.encode(text.as_bytes());
        json!({ "type": "surfaceStdin", "surfaceId": terminal.id, "bytes": bytes, "clientId": "c", "clientSeq": seq })
    };
    mirror.send(numbered(1, "one\n"));
    let ack = mirror.until("ack");
    assert_eq!((&ack["surfaceId"], &ack["clientSeq"]), (&json!(terminal.id), &json!(1)));
    mirror.send(numbered(2, "two\n"));
    mirror.settle();
    let seq = mirror.seq;
    drop(mirror.socket);

    // The acknowledgements were lost with the socket: all is sent again, once in the session, once in another.
    let socket = open(&server, &format!("resume={}&seq={seq}", mirror.session));
    let mut resumed = Mirror { socket, seq, ..mirror };
    for frame in [numbered(1, "one\n"), numbered(2, "two\n"), numbered(3, "three\n")] {
        resumed.send(frame);
    }
    while resumed.until("ack")["clientSeq"] != 3 {}
    drop(resumed.socket);
    let mut fresh = Mirror::open(&server);
    for frame in [numbered(2, "two\n"), numbered(3, "three\n"), numbered(4, "end\n")] {
        fresh.send(frame);
    }
    while fresh.until("ack")["clientSeq"] != 4 {}
    server.until_screen(&terminal, "ready\none\ntwo\nthree\nend");
}

#[test]
fn a_surface_that_is_hidden_gives_its_size_to_the_next() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sizes());
    let mut large = Mirror::open(&server);
    large.expect(&terminal, "ready");
    large.resize(&terminal, 120, 40);
    large.expect(&terminal, "40 120");
    let mut small = Mirror::open(&server);
    small.resize(&terminal, 60, 20);
    small.send(json!({ "type": "surfaceFocus", "surfaceId": terminal.id }));
    small.expect(&terminal, "20 60");
    small.send(json!({ "type": "surfaceHide", "surfaceId": terminal.id }));
    assert_eq!(small.until("surfaceResize")["cols"], 120);
}

#[test]
fn a_program_that_reads_nothing_holds_its_mirror_socket_back_and_loses_nothing() {
    let server = Server::start(&[]);
    let slow = server.make(
        80,
        24,
        python(
            "import os, time, tty\ntty.setraw(0)\nos.write(1, b'ready')\nwhile not os.path.exists('go'): time.sleep(0.05)\n\
             n = 0\nwhile n < 4000000: n += len(os.read(0, 65536))\nprint('sum', n, flush=True)\nos.read(0, 1)",
        ),
    );
    let other = server.make(80, 24, sh("exec cat"));
    let mut mirror = Mirror::open(&server);
    mirror.expect(&slow, "ready");
    let piece = vec![b'x'; 40_000];
    let frame =
        json!({ "type": "surfaceStdin", "surfaceId": slow.id, "bytes": BASE64.encode(&piece) }).to_string();
    let frames = WebSocket::frame(0x81, true, frame.as_bytes()).repeat(100);
    let mut quick = std::thread::scope(|scope| {
        let sent = scope.spawn(|| mirror.socket.put(&frames));
        let mut quick = Mirror::open(&server);
        quick.type_in(&other, "still quick\n");
        quick.expect(&other, "still quick");
        std::fs::write(server.dir.file("go"), "").unwrap();
        assert!(sent.join().unwrap());
        quick
    });
    quick.expect(&slow, "sum 4000000");
    mirror.settle();
    assert_eq!(mirror.frames.iter().filter(|frame| frame["type"] == "error").count(), 0);
}

#[test]
fn a_frame_without_effect_gets_an_error_that_says_why_and_the_session_lives() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("exec cat"));
    let id = terminal.id.as_str();
    let mut mirror = Mirror::open(&server);
    mirror.expect(&terminal, "\u{1b}c");
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let large = format!(r#"{{"type":"ping","nonce":1,"x":"{}"}}"#, "x".repeat(300_000));
    let too_much = BASE64.encode(&vec![0; 65_537]);
    for (text, code) in [
        ("", "malformed".to_owned()),
        ("[1]", "malformed".to_owned()),
        (deep.as_str(), "malformed".to_owned()),
        (large.as_str(), "too-large".to_owned()),
        (r#"{"type":"dance"}"#, "unknown-type".to_owned()),
        (r#"{"type":7}"#, "bad-field".to_owned()),
        (r#"{"type":"surfaceResizeRequest","surfaceId":"x","cols":NaN,"rows":4}"#, "malformed".to_owned()),
    ] {
        assert!(mirror.socket.send_text(text));
        let error = mirror.until("error");
        assert_eq!(error["code"], code, "{error}");
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
    for (frame, code) in [
        (json!({ "type": "surfaceStdin", "surfaceId": id, "bytes": "?" }), "bad-field"),
        (json!({ "type": "surfaceStdin", "surfaceId": id, "bytes": too_much }), "too-large"),
        (json!({ "type": "surfaceStdin", "surfaceId": "nobody", "bytes": "" }), "unknown-surface"),
        (json!({ "type": "surfaceFocus", "surfaceId": "nobody" }), "unknown-surface"),
        (json!({ "type": "surfaceResizeRequest", "surfaceId": id, "cols": "80", "rows": 24 }), "bad-field"),
        (
            json!({ "type": "panelInteract", "surfaceId": id, "id": "p", "event": { "type": "click" } }),
            "unknown-panel",
        ),
        (
            json!({ "type": "panelInteract", "surfaceId": id, "id": "p", "event": { "type": "bite" } }),
            "bad-field",
        ),
        (json!({ "type": "selectWorkspaceCwd", "workspaceId": "nowhere", "cwd": "/" }), "unknown-workspace"),
        (json!({ "type": "selectWorkspaceCwd", "workspaceId": "default", "cwd": "relative" }), "bad-field"),
        (json!({ "type": "cancel", "id": "metadata:nobody" }), "unknown-surface"),
        (json!({ "type": "cancel", "id": "everything" }), "unknown-stream"),
        (json!({ "type": "ping" }), "bad-field"),
    ] {
        mirror.send(frame);
        assert_eq!(mirror.until("error")["code"], code);
    }
    assert!(mirror.socket.send(websocket::BINARY, b"bytes"));
    assert_eq!(mirror.until("error")["code"], "malformed");
    for nonce in [json!(7), json!("n")] {
        mirror.send(json!({ "type": "ping", "nonce": nonce }));
        let pong = mirror.until("pong");
        assert_eq!(pong["nonce"], nonce);
        assert!(pong["serverTime"].as_u64().unwrap() > 1_600_000_000_000);
    }
    // Above 1 MiB the connection ends.
    mirror.socket.send_text(&"x".repeat((1 << 20) + 1));
    assert_eq!(mirror.socket.close_code(), Some(1009));
}

#[test]
fn a_mirror_that_does_not_read_stalls_nobody_and_gets_a_snapshot_later() {
    let server = Server::start(&["--replay-bytes", "1048576"]);
    let terminal = server.make(80, 24, sh("stty -echo; read line; seq 1 2000000; echo done; exec cat"));
    let mut stalled = Mirror::open(&server);
    stalled.socket.stream.small_receive_buffer();
    let mut client = server.attach(&terminal, 2);
    client.input("\n");
    client.expect("done");
    stalled.expect(&terminal, "done");
    assert!(stalled.frames.iter().filter(|frame| frame["snapshot"] == true).count() >= 2);
    stalled.type_in(&terminal, "echoed\n");
    stalled.expect(&terminal, "echoed");
}

#[test]
fn workspaces_and_pins_are_told() {
    let server = Server::start(&[]);
    let mut mirror = Mirror::open(&server);
    server.tell("PUT", "/v1/workspaces/w", &json!({ "name": "Work" }));
    let told = mirror.until("workspacesUpdate");
    assert_eq!(told["workspaces"], server.get("/v1/workspaces").json()["workspaces"]);
    mirror.send(json!({ "type": "selectWorkspaceCwd", "workspaceId": "w", "cwd": "/usr" }));
    let told = mirror.until("workspacesUpdate");
    assert_eq!(told["workspaces"][1]["cwd"], "/usr");
    mirror.send(json!({ "type": "selectWorkspaceCwd", "workspaceId": "w", "cwd": null }));
    assert_eq!(mirror.until("workspacesUpdate")["workspaces"][1].get("cwd"), None);
    server.delete("/v1/workspaces/w");
    assert_eq!(mirror.until("workspacesUpdate")["workspaces"].as_array().unwrap().len(), 1);
}

/// A client that merges updates into the snapshot, as the protocol says: `null` removes, `log` is appended.
fn merge(known: &mut Value, update: &Value) {
    let Value::Object(fields) = update else {
        *known = update.clone();
        return;
    };
    if !known.is_object() {
        *known = json!({});
    }
    for (name, value) in fields {
        match value {
            Value::Null if name != "progress" => drop(known.as_object_mut().unwrap().remove(name)),
            Value::Array(lines) if name == "log" => {
                match known.get_mut("log").and_then(Value::as_array_mut) {
                    Some(log) => log.extend(lines.iter().cloned()),
                    None => known["log"] = value.clone(),
                }
            }
            _ => merge(&mut known[name.as_str()], value),
        }
    }
}

#[test]
fn status_progress_and_log_are_told_and_stand_in_the_next_snapshot() {
    let server = Server::start(&[]);
    let terminal = server.make_in("my-session", 80, 24, sh("exec cat"));
    let mut mirror = Mirror::open(&server);
    let card = |id: &str, rest: &str| format!("/v1/workspaces/{id}/{rest}");
    let ok = |answer: Answer| assert_eq!(answer.status, 204, "{}", answer.text());
    ok(server.tell("PUT", &card("default", "status/build"), &json!({ "text": "green", "color": "#0f0" })));
    assert_eq!(mirror.until("htKeysSeen")["keys"], json!(["build"]));
    // A surface and a session mean the workspace that shows them.
    ok(server.tell("PUT", &card(&terminal.id, "status/tests"), &json!({ "text": "12", "icon": "t" })));
    ok(server.tell("PUT", &card("my-session", "progress"), &json!({ "value": 0.5, "label": "half" })));
    ok(server.post(&card("default", "log"), &json!({ "message": "one", "level": "info", "source": "make" })));
    ok(server.post(&card("default", "log"), &json!({ "message": "two" })));
    ok(server.delete(&card("default", "status/build")));
    ok(server.delete(&card("default", "status/build")));
    ok(server.delete(&card("default", "progress")));
    mirror.settle();
    let mut sidebar = mirror.hello["snapshot"]["sidebar"].clone();
    let updates = mirror.frames.iter().filter(|frame| frame["type"] == "sidebarUpdate");
    for update in updates.map(|frame| &frame["sidebar"]) {
        merge(&mut sidebar, update);
    }
    let snapshot = Mirror::open(&server).hello["snapshot"].clone();
    assert_eq!(snapshot["sidebar"], sidebar);
    assert_eq!(sidebar["default"]["status"], json!({ "tests": { "text": "12", "icon": "t" } }));
    assert_eq!(sidebar["default"]["log"][1]["message"], "two");
    assert_eq!(snapshot["htKeys"], json!(["build", "tests"]), "also after it was cleared");
    for (answer, status, field) in [
        (server.tell("PUT", &card("default", "progress"), &json!({ "value": 1.5 })), 400, "value"),
        (server.tell("PUT", &card("default", "status/a"), &json!({})), 400, "text"),
        (
            server.tell(
                "PUT",
                &card("default", &format!("status/{}", "k".repeat(10_000))),
                &json!({ "text": "" }),
            ),
            400,
            "key",
        ),
        (server.post(&card("default", "log"), &json!({ "message": "m", "level": "loud" })), 400, "level"),
        (server.post(&card("nowhere", "log"), &json!({ "message": "m" })), 404, "workspace"),
        (server.get(&card("default", "log")), 405, "POST"),
    ] {
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(answer.error().contains(field), "{}", answer.text());
    }
}

#[test]
fn notifications_are_created_dismissed_one_by_one_and_cleared() {
    let server = Server::start(&[]);
    let terminal = server.make_in("s", 80, 24, sh("exec cat"));
    let mut mirror = Mirror::open(&server);
    let created = server.post(
        "/v1/notifications",
        &json!({ "title": "done", "body": "all", "level": "success", "surfaceId": "s" }),
    );
    assert_eq!(created.status, 201);
    let told = mirror.until("notificationCreate")["notification"].clone();
    assert_eq!(told, created.json());
    assert_eq!((&told["title"], &told["surfaceId"]), (&json!("done"), &json!(terminal.id)));
    for n in 0..51 {
        server.post("/v1/notifications", &json!({ "title": n.to_string() }));
    }
    assert_eq!(mirror.until("notificationDismiss")["id"], told["id"], "only 50 are kept");
    let list = server.get("/v1/notifications").json()["notifications"].clone();
    assert_eq!(list.as_array().unwrap().len(), 50);
    let id = list[7]["id"].as_str().unwrap();
    mirror.settle();
    assert_eq!(server.delete(&format!("/v1/notifications/{id}")).status, 204);
    assert_eq!(mirror.until("notificationDismiss")["id"], id);
    assert_eq!(server.delete(&format!("/v1/notifications/{id}")).status, 404);
    assert_eq!(Mirror::open(&server).hello["snapshot"]["notifications"].as_array().unwrap().len(), 49);
    assert_eq!(server.delete("/v1/notifications").status, 204);
    for _ in 0..49 {
        mirror.until("notificationDismiss");
    }
    assert_eq!(server.get("/v1/notifications").json(), json!({ "notifications": [] }));
    let unknown = server.post("/v1/notifications", &json!({ "title": "x", "surfaceId": "nobody" }));
    assert_eq!(unknown.status, 404);
    assert_eq!(server.post("/v1/notifications", &json!({ "body": "x" })).status, 400);
}

#[test]
fn panels_are_made_changed_moved_by_people_and_cleared_with_their_surface() {
    let server = Server::start(&[]);
    let terminal = server.make_in("s", 80, 24, sh("exec cat"));
    let (mut one, mut two) = (Mirror::open(&server), Mirror::open(&server));
    let path = |id: &str| format!("/v1/surfaces/s/panels/{id}");
    let svg = json!({ "type": "svg", "data": "<svg/>", "interactive": true });
    assert_eq!(server.tell("PUT", &path("p"), &svg).status, 204);
    let created = one.until("panelCreate");
    assert_eq!((&created["surfaceId"], &created["id"]), (&json!(terminal.id), &json!("p")));
    assert_eq!((&created["panel"]["data"], &created["panel"]["draggable"]), (&json!("<svg/>"), &json!(true)));
    assert_eq!(server.tell("PATCH", &path("p"), &json!({ "opacity": 0.5, "x": 100 })).status, 204);
    assert_eq!(one.until("panelUpdate")["panel"], json!({ "opacity": 0.5 }), "only what changed");
    one.send(json!({ "type": "panelInteract", "surfaceId": terminal.id, "id": "p", "event": { "type": "dragend", "x": 7, "y": 8 } }));
    two.until("panelUpdate");
    assert_eq!(two.until("panelUpdate")["panel"], json!({ "x": 7.0, "y": 8.0 }));
    let fixed = json!({ "type": "html", "data": "<p>", "position": "fixed" });
    server.tell("PUT", &path("fixed"), &fixed);
    for (event, code) in [("click", "not-allowed"), ("dragend", "not-allowed")] {
        one.send(json!({ "type": "panelInteract", "surfaceId": terminal.id, "id": "fixed", "event": { "type": event, "x": 1, "y": 1 } }));
        assert_eq!(one.until("error")["code"], code);
    }
    let panels = Mirror::open(&server).hello["snapshot"]["panels"].clone();
    assert_eq!(panels[0]["panel"]["x"], 7.0);
    assert_eq!(panels.as_array().unwrap().len(), 2);
    one.send(json!({ "type": "panelInteract", "surfaceId": terminal.id, "id": "fixed", "event": { "type": "close" } }));
    assert_eq!(two.until("panelClear")["id"], "fixed");
    for (answer, status) in [
        (server.tell("PUT", &path("q"), &json!({ "type": "movie", "data": "" })), 400),
        (server.tell("PUT", &path("q"), &json!({ "type": "svg", "data": "", "x": 1e300 })), 400),
        (server.tell("PATCH", &path("q"), &json!({ "x": 1 })), 404),
        (server.tell("PUT", "/v1/surfaces/nobody/panels/q", &svg), 404),
        (server.tell("PUT", &path("q"), &json!({ "type": "svg", "data": "x".repeat(5 << 20) })), 413),
        (server.delete(&path("q")), 404),
    ] {
        assert_eq!(answer.status, status, "{}", answer.text());
        answer.error();
    }
    server.delete(&format!("/v1/terminals/{}", terminal.id));
    let cleared = two.until("panelClear");
    assert_eq!((&cleared["surfaceId"], &cleared["id"]), (&json!(terminal.id), &json!("p")));
    two.until("surfaceClose");
    assert_eq!(Mirror::open(&server).hello["snapshot"]["panels"], json!([]));
}

#[test]
fn plans_are_set_updated_completed_and_cleared() {
    let server = Server::start(&[]);
    let mut mirror = Mirror::open(&server);
    let steps = json!({ "agentId": "a", "steps": [{ "id": "M1", "title": "first", "state": "active" }, { "id": "M2", "title": "second" }] });
    let set = server.tell("PUT", "/v1/plans/default", &steps);
    assert_eq!(set.status, 200);
    assert_eq!(mirror.until("plansSnapshot")["plans"], json!([set.json()]));
    assert_eq!(set.json()["steps"][1]["state"], "waiting");
    let patch = json!({ "steps": [{ "id": "M1", "state": "done" }] });
    assert_eq!(server.tell("PATCH", "/v1/plans/default", &patch).status, 200);
    assert_eq!(mirror.until("plansSnapshot")["plans"][0]["steps"][0]["state"], "done");
    assert_eq!(server.tell("PATCH", "/v1/plans/default", &json!({ "complete": true })).status, 200);
    mirror.until("plansSnapshot");
    let plan = server.get("/v1/plans/default").json();
    assert_eq!(plan["steps"][1]["state"], "done");
    assert_eq!(server.get("/v1/plans").json()["plans"], json!([plan]));
    assert_eq!(Mirror::open(&server).hello["snapshot"]["plans"], json!([plan]));
    assert_eq!(server.tell("PATCH", "/v1/plans/default", &json!({ "steps": [{ "id": "M9" }] })).status, 400);
    assert_eq!(server.delete("/v1/plans/default").status, 204);
    assert_eq!(mirror.until("plansSnapshot")["plans"], json!([]));
    for method in ["GET", "DELETE"] {
        assert_eq!(server.ask(method, "/v1/plans/default", &[], None).status, 404);
    }
}

#[test]
fn settings_are_checked_told_and_kept_and_secrets_are_shown_to_nobody() {
    let mut server = Launch::default().env("WHARF_LOG", "debug").start();
    let mut mirror = Mirror::open(&server);
    let wrong = server.tell(
        "PATCH",
        "/v1/settings",
        &json!({ "fontSize": 500, "theme": "obsidian", "paneGap": "x" }),
    );
    assert_eq!(wrong.status, 400);
    assert!(wrong.error().contains("fontSize") && wrong.error().contains("paneGap"), "{}", wrong.text());
    let patch = json!({ "theme": "paper", "paneGap": 9, "ansiColors": { "red": "#ff0000" } });
    let answer = server.tell("PATCH", "/v1/settings", &patch);
    assert_eq!((answer.status, &answer.json()["theme"]), (200, &json!("paper")));
    assert_eq!(mirror.until("settingsSnapshot")["settings"], server.get("/v1/settings").json());
    let secrets = json!({ "authToken": "tok-secret-1", "telegramBotToken": "tok-secret-2", "telegramAllowedIds": [987654321] });
    let answer = server.tell("PATCH", "/v1/settings", &secrets);
    assert_eq!(answer.status, 200);
    mirror.settle();
    let fresh = Mirror::open(&server);
    let mut everything =
        vec![answer.text(), server.get("/v1/settings").text(), server.get("/metrics").text()];
    everything.extend(mirror.frames.iter().chain(&fresh.frames).map(Value::to_string));
    let file = server.dir.file("state/state.json");
    eventually("the state is saved", || {
        std::fs::read_to_string(&file).is_ok_and(|state| state.contains("tok-secret-2"))
    });
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&file).unwrap()) & 0o777, 0o600);
    server.stop();
    everything.push(server.log());
    for text in everything {
        assert!(!text.contains("tok-secret") && !text.contains("987654321"), "{text}");
    }
}

#[test]
fn workspaces_pins_and_settings_are_back_after_a_kill_and_a_damaged_file_is_set_aside() {
    let dir = server::Dir::new();
    let file = dir.file("state/state.json");
    let start = || Launch::default().in_dir(dir.path()).start();
    let kill = |mut server: Server| {
        server.signal("KILL");
        server.wait();
    };
    let server = start();
    server.tell("PUT", "/v1/workspaces/w", &json!({ "name": "Work", "color": "#123456" }));
    let pane = json!({ "title": "Shell", "resourceKind": "terminal", "resourceId": "my-session" });
    server.tell("PUT", "/v1/workspaces/w/panes/p", &pane);
    server.tell("PATCH", "/v1/settings", &json!({ "theme": "paper" }));
    let mut mirror = Mirror::open(&server);
    mirror.send(json!({ "type": "selectWorkspaceCwd", "workspaceId": "w", "cwd": "/usr/share" }));
    mirror.until("workspacesUpdate");
    eventually("the state is saved", || {
        std::fs::read_to_string(&file).is_ok_and(|state| state.contains("/usr/share"))
    });
    let before = server.get("/v1/workspaces").json();
    kill(server);
    let server = start();
    let mut mirror = Mirror::greeted(open(&server, &format!("resume={}&seq={}", mirror.session, mirror.seq)));
    assert_eq!(mirror.hello["snapshot"]["workspaces"], before["workspaces"]);
    assert_eq!(mirror.hello["settings"]["theme"], "paper");
    // A new terminal of the workspace starts where it is pinned.
    let body = json!({ "sessionId": "my-session", "cols": 80, "rows": 24, "shell": "/bin/sh", "args": ["-c", "pwd; exec cat"] });
    let made = server.post("/v1/terminals", &body);
    assert_eq!(made.status, 201, "{}", made.text());
    let terminal = Terminal::from(&made.json(), "my-session");
    mirror.expect(&terminal, "/usr/share\r\n");
    let elsewhere = json!({ "sessionId": "other", "cols": 80, "rows": 24 });
    assert_eq!(server.post("/v1/terminals", &elsewhere).status, 400, "its workspace pins nothing");
    kill(server);
    std::fs::write(&file, "{ damaged").unwrap();
    let server = start();
    assert_eq!(server.get("/v1/workspaces").json()["workspaces"].as_array().unwrap().len(), 1);
    assert!(server.log().contains("state.json is damaged"), "{}", server.log());
    assert_eq!(std::fs::read_to_string(dir.file("state/state.json.damaged")).unwrap(), "{ damaged");
}

#[test]
fn what_was_changed_last_is_saved_when_the_server_is_stopped() {
    let dir = server::Dir::new();
    let mut server = Launch::default().in_dir(dir.path()).start();
    server.tell("PUT", "/v1/workspaces/w", &json!({ "name": "Work" }));
    server.stop();
    let server = Launch::default().in_dir(dir.path()).start();
    assert_eq!(server.get("/v1/workspaces/w").json()["name"], "Work");
}

#[test]
fn an_agent_is_told_to_go_on_only_when_somebody_switched_that_on() {
    let server = Server::start(&[]);
    let terminal =
        server.make_in("s", 80, 24, sh("stty -echo; while read line; do echo \"heard $line\"; done"));
    let mut mirror = Mirror::open(&server);
    let notify = || server.post("/v1/notifications", &json!({ "title": "turn ended", "surfaceId": "s" }));
    server.tell(
        "PUT",
        "/v1/plans/default",
        &json!({ "steps": [{ "id": "M1", "title": "t", "state": "active" }] }),
    );
    notify();
    assert_eq!(server.get("/v1/autocontinue").json()["audit"], json!([]), "off by default");
    let fire = json!({ "action": "fire", "surfaceId": "s" });
    assert_eq!(server.post("/v1/autocontinue", &fire).status, 409);
    server.tell(
        "PATCH",
        "/v1/settings",
        &json!({ "autoContinueEngine": "heuristic", "autoContinueCooldownMs": 0 }),
    );
    notify();
    let audit = mirror.until("autoContinueAudit")["audit"].clone();
    assert_eq!((&audit[0]["outcome"], &audit[0]["surfaceId"]), (&json!("dry-run"), &json!(terminal.id)));
    server.tell("PATCH", "/v1/settings", &json!({ "autoContinueDryRun": false }));
    notify();
    assert_eq!(mirror.until("autoContinueAudit")["audit"][1]["outcome"], "fired");
    mirror.expect(&terminal, "heard Continue M1\r\n");
    let pause = json!({ "action": "pause", "surfaceId": "s", "reason": "lunch" });
    let paused = server.post("/v1/autocontinue", &pause).json();
    assert_eq!(paused["paused"], json!([terminal.id]));
    assert_eq!(paused["audit"][2]["reason"], "lunch");
    assert_eq!(server.post("/v1/autocontinue", &fire).json()["audit"][3]["outcome"], "skipped");
    let resume = json!({ "action": "resume", "surfaceId": "s" });
    assert_eq!(server.post("/v1/autocontinue", &resume).json()["paused"], json!([]));
    let audit = server.get("/v1/autocontinue").json()["audit"].clone();
    assert_eq!(Mirror::open(&server).hello["snapshot"]["autoContinueAudit"], audit);
}

#[test]
fn what_runs_in_a_terminal_is_told_when_it_changes_to_those_who_follow() {
    let server = Server::start(&[]);
    std::fs::write(server.dir.file("Cargo.toml"), "[package]\nname = \"tool\"\nversion = \"1.2.3\"\n")
        .unwrap();
    let script = "stty -echo; echo ready; read x; cd /usr; sleep 1000 & echo $!; read x; cd /var; read x";
    let terminal = server.make(80, 24, sh(script));
    let mut mirror = Mirror::open(&server);
    let first = mirror.until("surfaceMetadata");
    let metadata = &first["metadata"];
    assert_eq!(first["surfaceId"], terminal.id.as_str());
    assert_eq!(metadata["pid"], server.describe(&terminal)["pid"]);
    assert_eq!((&metadata["foregroundPid"], &metadata["cwd"]), (&metadata["pid"], &json!(server.dir.path())));
    assert_eq!(metadata["tree"][0]["argv"], json!(["/bin/sh", "-c", script]));
    assert_eq!(metadata["cargoToml"]["name"], "tool");
    // Whoever comes later has it in the snapshot.
    let mut late = Mirror::open(&server);
    assert_eq!(late.hello["snapshot"]["surfaces"][0]["metadata"]["pid"], metadata["pid"]);
    mirror.expect(&terminal, "ready\r\n");
    mirror.type_in(&terminal, "\n");
    let changed = loop {
        let told = mirror.until("surfaceMetadata")["metadata"].clone();
        if told["tree"][1]["argv"] == json!(["sleep", "1000"]) {
            break told;
        }
    };
    assert_eq!(changed["cwd"], "/usr");
    assert_eq!(changed["tree"][1]["ppid"], metadata["pid"]);
    let stream = format!("metadata:{}", terminal.id);
    mirror.send(json!({ "type": "cancel", "id": stream }));
    mirror.settle();
    let told = mirror.frames.len();
    mirror.type_in(&terminal, "\n");
    while late.until("surfaceMetadata")["metadata"]["cwd"] != "/var" {}
    mirror.settle();
    assert!(mirror.frames[told..].iter().all(|frame| frame["type"] != "surfaceMetadata"), "only who follows");
    mirror.send(json!({ "type": "follow", "id": stream }));
    assert_eq!(mirror.until("surfaceMetadata")["metadata"]["cwd"], "/var", "it is told anew");
}
