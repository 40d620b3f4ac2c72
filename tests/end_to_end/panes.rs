//! Workspaces, panes and their titles, as they are told to whoever listens.

use crate::harness::*;

/// Something that gives event envelopes: SSE or a websocket.
enum Events {
    Stream { http: Http, chunked: bool, text: String },
    Socket(WebSocket),
}

impl Events {
    /// Both kinds of listener, from now on: a cursor of another life gets the whole state first.
    fn both(server: &Server) -> Vec<Events> {
        vec![Events::sse(server, "?since=0"), Events::socket(server, "?since=0")]
    }

    fn sse(server: &Server, query: &str) -> Events {
        let mut http = server.http();
        http.send("GET", &format!("/v1/events{query}"), &[("Accept", "text/event-stream")], None);
        let (status, headers) = http.head().unwrap();
        assert_eq!(status, 200);
        let header = |name: &str| {
            headers
                .iter()
                .find(|(given, _)| given.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.as_str())
        };
        assert!(header("content-type").unwrap().starts_with("text/event-stream"));
        assert!(header("cache-control").is_some_and(|value| value.contains("no-")), "{headers:?}");
        Events::Stream { chunked: header("transfer-encoding").is_some(), http, text: String::new() }
    }

    fn socket(server: &Server, query: &str) -> Events {
        Events::Socket(
            WebSocket::open(server.dial(), &format!("/v1/events/socket{query}"), &[]).ok().unwrap(),
        )
    }

    #[track_caller]
    fn next(&mut self) -> Value {
        let event = match self {
            Events::Socket(socket) => socket.next_json(),
            Events::Stream { http, chunked, text } => loop {
                if let Some((event, rest)) = text.split_once("\n\n") {
                    let data = event.lines().find_map(|line| line.strip_prefix("data: ")).map(str::to_string);
                    let id = event.lines().find_map(|line| line.strip_prefix("id: ")).map(str::to_string);
                    *text = rest.to_string();
                    if let Some(data) = data {
                        let event: Value = serde_json::from_str(&data).unwrap();
                        assert_eq!(id, Some(event["id"].to_string()));
                        break event;
                    }
                    continue;
                }
                let piece = http.piece(*chunked).expect("the events ended");
                text.push_str(std::str::from_utf8(&piece).unwrap());
            },
        };
        for field in ["id", "kind", "subjectId", "createdAt", "payload"] {
            assert!(event.get(field).is_some(), "no {field} in {event}");
        }
        event
    }

    /// Panes of sessions, as `navigation.changed` tells them, until one fits.
    #[track_caller]
    fn until_pane(&mut self, session: &str, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.next();
            if event["kind"] != "navigation.changed" {
                continue;
            }
            for pane in event["payload"]["panes"].as_array().unwrap() {
                if pane["resourceId"] == session && fits(pane) {
                    return pane.clone();
                }
            }
        }
    }
}

/// The panes of a session, over all workspaces.
fn panes(server: &Server, session: &str) -> Vec<Value> {
    let workspaces = server.get("/v1/workspaces").json();
    let panes = workspaces["workspaces"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|space| space["panes"].as_array().unwrap());
    panes.filter(|pane| pane["resourceId"] == session).cloned().collect()
}

fn pane(server: &Server, session: &str) -> Value {
    panes(server, session).into_iter().next().unwrap_or_default()
}

/// Prints each line that it is sent, as a title.
const TITLES: &str = "stty -echo; echo ready; while read -r t; do printf '\\033]2;%s\\007' \"$t\"; done";

fn set_title(server: &Server, terminal: &Terminal, title: &str) {
    let answer =
        server.post(&format!("/v1/terminals/{}/input", terminal.id), &json!({"data": format!("{title}\n")}));
    assert_eq!(answer.status, 204);
}

#[test]
fn a_terminal_made_without_a_pane_gets_one_in_the_default_workspace() {
    let server = Server::start(&[]);
    let mut listeners = Events::both(&server);
    let terminal = server.make(80, 24, sh("read x"));
    let found = pane(&server, &terminal.session);
    assert_eq!(found["resourceKind"], "terminal");
    for events in &mut listeners {
        events.until_pane(&terminal.session, |pane| *pane == found);
    }
    // One that has a pane gets no second.
    let put = server.tell("PUT", "/v1/workspaces/w", &json!({"name": "Work"}));
    assert!(matches!(put.status, 200 | 201), "{}", put.text());
    let body = json!({"title": "mine", "resourceKind": "terminal", "resourceId": "own"});
    assert!(matches!(server.tell("PUT", "/v1/workspaces/w/panes/p", &body).status, 200 | 201));
    server.make_in("own", 80, 24, sh("read x"));
    assert_eq!(panes(&server, "own").len(), 1);
}

#[test]
fn the_title_is_recorded_on_every_pane_of_the_session_and_told_to_everyone() {
    let server = Server::start(&[]);
    let mut listeners = Events::both(&server);
    server.tell("PUT", "/v1/workspaces/w", &json!({"name": "Work"}));
    let body = json!({"title": "second", "resourceKind": "terminal", "resourceId": "s"});
    let terminal = server.make_in("s", 80, 24, sh(TITLES));
    server.until_screen(&terminal, "ready");
    server.tell("PUT", "/v1/workspaces/w/panes/second", &body);
    let file = json!({"title": "a file", "resourceKind": "file", "resourceId": "s"});
    server.tell("PUT", "/v1/workspaces/w/panes/file", &file);
    set_title(&server, &terminal, "make all");
    for events in &mut listeners {
        events.until_pane("s", |pane| pane["liveTitle"] == "make all");
    }
    for pane in panes(&server, "s") {
        let title = if pane["resourceKind"] == "terminal" { json!("make all") } else { Value::Null };
        assert_eq!(pane["liveTitle"], title, "{pane}");
        assert_eq!(pane["terminalActivity"], Value::Null, "{pane}");
    }
    // A pane made later knows it too.
    let late = server.tell("PUT", "/v1/workspaces/w/panes/third", &body);
    assert!(matches!(late.status, 200 | 201));
    assert!(panes(&server, "s").iter().filter(|pane| pane["liveTitle"] == "make all").count() == 3);
    // Cleared by the program: removed.
    set_title(&server, &terminal, "");
    for events in &mut listeners {
        events.until_pane("s", |pane| pane.get("liveTitle").is_none());
    }
}

#[test]
fn the_title_goes_when_the_terminal_exits() {
    let server = Server::start(&[]);
    let mut listeners = Events::both(&server);
    let terminal = server.make(80, 24, sh("printf '\\033]0;\\342\\234\\263 Claude Code\\007'; read x"));
    for events in &mut listeners {
        let pane = events.until_pane(&terminal.session, |pane| pane["liveTitle"] == "Claude Code");
        assert_eq!(pane["terminalActivity"], "idle");
    }
    server.post(&format!("/v1/terminals/{}/input", terminal.id), &json!({"data": "\n"}));
    for events in &mut listeners {
        events.until_pane(&terminal.session, |pane| {
            pane.get("liveTitle").is_none() && pane.get("terminalActivity").is_none()
        });
    }
    assert_eq!(pane(&server, &terminal.session)["liveTitle"], Value::Null);
}

#[test]
fn a_leading_activity_glyph_is_dropped_and_says_what_the_terminal_does() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh(TITLES));
    server.until_screen(&terminal, "ready");
    for (title, recorded, activity) in [
        ("⠋ building", "building", Some("working")),
        ("◐ half", "half", Some("working")),
        ("◓ circle", "circle", Some("working")),
        ("✳ at the prompt", "at the prompt", Some("idle")),
        ("✢ star", "star", None),
        ("· dot", "dot", None),
        ("✻ six", "six", None),
        ("Codex ⠹ thinks", "Codex thinks", Some("working")),
        ("⠋glued", "⠋glued", Some("working")),
        ("✳ ✳ twice", "✳ twice", Some("idle")),
        ("★ other", "★ other", None),
        ("plain", "plain", None),
    ] {
        set_title(&server, &terminal, title);
        eventually(&format!("{title} is recorded"), || {
            pane(&server, &terminal.session)["liveTitle"] == recorded
        });
        let activity = activity.map_or(Value::Null, |activity| json!(activity));
        assert_eq!(pane(&server, &terminal.session)["terminalActivity"], activity, "{title}");
    }
}

#[test]
fn animated_titles_are_told_once_when_work_starts_and_once_when_it_stops() {
    let server = Server::start(&[]);
    let script = "import sys,time
for round in range(60):
    sys.stdout.write('\\033]2;%s Claude Code\\007' % '⠋⠙⠹⠸'[round % 4]); sys.stdout.flush(); time.sleep(0.03)
for round in range(300):
    sys.stdout.write('\\033]2;frame %d\\007' % round); sys.stdout.flush(); time.sleep(0.005)
sys.stdout.write('\\033]2;✳ Claude Code\\007'); sys.stdout.flush()
sys.stdin.readline()
";
    let mut events = Events::socket(&server, "?since=0");
    let terminal = server.make(80, 24, python(script));
    let mut told: Vec<(Value, Value)> = Vec::new();
    loop {
        let event = events.next();
        for pane in event["payload"]["panes"].as_array().unwrap() {
            if pane["resourceId"] == terminal.session.as_str() {
                let now = (pane["liveTitle"].clone(), pane["terminalActivity"].clone());
                if told.last() != Some(&now) {
                    told.push(now);
                }
            }
        }
        if told.last().is_some_and(|(_, activity)| activity == "idle") {
            break;
        }
    }
    let recorded = json!("Claude Code");
    assert_eq!(
        told,
        [(Value::Null, Value::Null), (recorded.clone(), json!("working")), (recorded, json!("idle"))]
    );
}

#[test]
fn hostile_titles_are_recorded_clean_and_short() {
    let server = Server::start(&[]);
    let script = "import sys
sys.stdout.buffer.write(b'\\033]2;a\\x01b\\x7fc\\xe2\\x80\\xaed\\xff' + b'z' * 5000 + b'\\007'); sys.stdout.flush(); sys.stdin.readline()";
    let terminal = server.make(80, 24, python(script));
    eventually("it is recorded", || pane(&server, &terminal.session)["liveTitle"].is_string());
    let title = pane(&server, &terminal.session)["liveTitle"].as_str().unwrap().to_string();
    assert!(title.chars().count() <= 256 && title.starts_with('a'), "{title:?}");
    assert!(!title.chars().any(char::is_control), "{title:?}");
}

#[test]
fn a_listener_that_was_away_gets_what_it_missed_and_a_stranger_the_whole_state() {
    let server = Server::start(&[]);
    for kind in ["sse", "socket"] {
        let listen = |query: &str| match kind {
            "sse" => Events::sse(&server, query),
            _ => Events::socket(&server, query),
        };
        let mut events = listen("?since=0");
        let state = events.next();
        assert_eq!(state["payload"]["reset"], true);
        let mut last = state["id"].clone();
        for name in ["one", "two", "three"] {
            server.tell("PUT", &format!("/v1/workspaces/{kind}-{name}"), &json!({"name": name}));
        }
        for name in ["one", "two", "three"] {
            let event = events.next();
            assert_eq!(event["subjectId"], format!("{kind}-{name}"));
            assert!(event["id"].as_u64() > last.as_u64(), "ids grow");
            if name == "one" {
                last = event["id"].clone();
            }
        }
        let mut again = listen(&format!("?since={last}"));
        assert_eq!(again.next()["subjectId"], format!("{kind}-two"));
        assert_eq!(again.next()["subjectId"], format!("{kind}-three"));
    }
    for query in ["?since=x", "?since=-1"] {
        let answer = server.get(&format!("/v1/events{query}"));
        assert_eq!(answer.status, 400);
        assert!(answer.error().contains("since"));
    }
}

#[test]
fn workspaces_and_panes_are_made_changed_and_removed() {
    let server = Server::start(&[]);
    let space = |id: &str| {
        let all = server.get("/v1/workspaces").json();
        all["workspaces"].as_array().unwrap().iter().find(|space| space["id"] == id).cloned()
    };
    assert_eq!(
        server
            .tell("PUT", "/v1/workspaces/w", &json!({"name": "Work", "color": "red", "cwd": "/srv"}))
            .status,
        201
    );
    assert_eq!(
        server
            .tell("PUT", "/v1/workspaces/w", &json!({"name": "Work", "color": "red", "cwd": "/srv"}))
            .status,
        200
    );
    assert_eq!(server.tell("PATCH", "/v1/workspaces/w", &json!({"name": "Play"})).status, 200);
    let found = space("w").unwrap();
    assert_eq!(
        (&found["name"], &found["color"], &found["cwd"]),
        (&json!("Play"), &json!("red"), &json!("/srv"))
    );
    let pane = json!({"title": "notes", "resourceKind": "file", "resourceId": "notes.md"});
    assert_eq!(server.tell("PUT", "/v1/workspaces/w/panes/p", &pane).status, 201);
    assert_eq!(server.tell("PATCH", "/v1/workspaces/w/panes/p", &json!({"title": "diary"})).status, 200);
    assert_eq!(space("w").unwrap()["panes"][0]["title"], "diary");
    assert!(matches!(server.delete("/v1/workspaces/w/panes/p").status, 200 | 204));
    assert_eq!(space("w").unwrap()["panes"], json!([]));
    assert!(matches!(server.delete("/v1/workspaces/w").status, 200 | 204));
    assert_eq!(space("w"), None);
    for (method, path) in [
        ("PATCH", "/v1/workspaces/w"),
        ("DELETE", "/v1/workspaces/w"),
        ("PUT", "/v1/workspaces/w/panes/p"),
        ("DELETE", "/v1/workspaces/default/panes/p"),
    ] {
        let answer = server.tell(method, path, &pane);
        let body = if path.contains("panes") { pane.clone() } else { json!({"name": "x"}) };
        let answer = if answer.status == 400 { server.tell(method, path, &body) } else { answer };
        assert_eq!(answer.status, 404, "{method} {path}");
    }
    for (path, body, field) in [
        ("/v1/workspaces/w", json!({}), "name"),
        ("/v1/workspaces/w", json!({"name": 7}), "name"),
        ("/v1/workspaces/default/panes/p", json!({"title": "x", "resourceKind": "terminal"}), "resourceId"),
        (
            "/v1/workspaces/default/panes/p",
            json!({"title": 1, "resourceKind": "terminal", "resourceId": "s"}),
            "title",
        ),
    ] {
        let answer = server.tell("PUT", path, &body);
        assert_eq!(answer.status, 400);
        assert!(answer.error().contains(field), "{}", answer.text());
    }
}

#[test]
fn titles_do_not_survive_a_restart() {
    let dir = server::Dir::new();
    for _ in 0..2 {
        let server = Launch::default().in_dir(dir.path()).start();
        assert!(panes(&server, "s").iter().all(|pane| pane.get("liveTitle").is_none()));
        let terminal = server.make_in("s", 80, 24, sh("printf '\\033]2;title\\007'; read x"));
        eventually("it is recorded", || pane(&server, &terminal.session)["liveTitle"] == "title");
    }
}

#[test]
fn panes_of_sessions_that_ended_do_not_pile_up_and_those_that_somebody_placed_stay() {
    let dir = server::Dir::new();
    let start = || Launch::default().in_dir(dir.path()).start();
    let mut server = start();
    let panes = |server: &Server| -> Vec<String> {
        let panes = server.get("/v1/workspaces/default/panes").json()["panes"].clone();
        panes.as_array().unwrap().iter().map(|pane| pane["id"].as_str().unwrap().to_owned()).collect()
    };
    let end = |server: &Server, session: &str| {
        let terminal = server.make_in(session, 80, 24, sh("exec cat"));
        server.delete(&format!("/v1/terminals/{}", terminal.id));
        eventually("it is gone", || server.get(&format!("/v1/terminals/{}", terminal.id)).status == 404);
    };
    end(&server, "mine");
    let mine = json!({ "title": "Mine", "resourceKind": "terminal", "resourceId": "mine" });
    server.tell("PUT", "/v1/workspaces/default/panes/mine", &mine);
    end(&server, "oldest");
    for n in 0..40 {
        end(&server, &format!("before-{n}"));
    }
    server.stop();
    let server = start();
    assert_eq!(panes(&server).len(), 42, "they are kept over a restart, for those who come back");
    server.make_in("oldest", 80, 24, sh("exec cat"));
    for n in 0..30 {
        end(&server, &format!("after-{n}"));
    }
    let left = panes(&server);
    assert_eq!(left.len(), 2 + 64);
    assert!(["mine", "oldest", "before-6", "after-29"].iter().all(|id| left.contains(&id.to_string())));
    assert!(!left.contains(&"before-5".to_owned()));
}
