//! The web mirror: every terminal and what surrounds it, over one socket (`seeds/web-mirror-protocol-v2.txt`).

use data_encoding::BASE64;

use crate::harness::*;

/// A client of the mirror that checks every frame's `seq`.
struct Mirror {
    socket: WebSocket,
    session: String,
    seq: u64,
    hello: Value,
    /// Frames so far, the hello included.
    frames: Vec<Value>,
}

fn open(server: &Server, query: &str) -> WebSocket {
    let token = server.token.as_ref().map(|token| format!("&t={token}")).unwrap_or_default();
    WebSocket::open(server.dial(), &format!("/ws?{query}{token}"), &[])
        .unwrap_or_else(|answer| panic!("refused: {} {}", answer.status, answer.text()))
}

impl Mirror {
    /// A new session.
    #[track_caller]
    fn open(server: &Server) -> Mirror {
        Mirror::greeted(open(server, ""))
    }

    #[track_caller]
    fn greeted(mut socket: WebSocket) -> Mirror {
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
    fn resume(&self, server: &Server, seq: u64) -> Mirror {
        let socket = open(server, &format!("resume={}&seq={seq}", self.session));
        Mirror { socket, session: self.session.clone(), seq, hello: Value::Null, frames: Vec::new() }
    }

    fn send(&mut self, frame: Value) {
        assert!(self.socket.send_json(&frame), "the server has gone");
    }

    #[track_caller]
    fn next(&mut self) -> Value {
        let frame = self.socket.next_json();
        self.seq += 1;
        assert_eq!(frame["seq"], self.seq, "{frame}");
        self.frames.push(frame.clone());
        frame
    }

    /// Reads up to the next frame of this type.
    #[track_caller]
    fn until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.next();
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    /// Reads everything that the server had to say until now.
    #[track_caller]
    fn settle(&mut self) {
        self.send(json!({ "type": "ping", "nonce": "settle" }));
        self.until("pong");
    }

    /// What it was shown of a surface since the last snapshot of it, that included.
    fn shown(&self, surface: &Terminal) -> String {
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
    fn expect(&mut self, surface: &Terminal, text: &str) {
        while !self.shown(surface).contains(text) {
            self.next();
        }
    }

    fn type_in(&mut self, surface: &Terminal, text: &str) {
        let bytes = BASE64.encode(text.as_bytes());
        self.send(json!({ "type": "surfaceStdin", "surfaceId": surface.id, "bytes": bytes }));
    }

    fn resize(&mut self, surface: &Terminal, cols: u64, rows: u64) {
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
