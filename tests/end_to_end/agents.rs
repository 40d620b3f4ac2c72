//! Terminals that an agent owns: it registers, prints, is typed to, and ends.

use crate::harness::websocket::BINARY;
use crate::harness::*;

fn register(server: &Server, session: &str, query: &str) -> (WebSocket, Terminal) {
    let path = format!("/v1/agent/terminals/{session}/socket?{query}");
    let mut agent = WebSocket::open(server.dial(), &path, &[]).map_err(|answer| answer.text()).unwrap();
    let registered = agent.next_json();
    assert_eq!(registered["type"], "registered", "{registered}");
    let terminal = Terminal::from(&registered, session);
    (agent, terminal)
}

fn attach_only(server: &Server, session: &str) -> Answer {
    server.post(
        "/v1/terminals",
        &json!({"sessionId": session, "cwd": "/tmp", "cols": 80, "rows": 24, "attachOnly": true}),
    )
}

#[test]
fn attach_only_fails_until_the_agent_has_registered() {
    let server = Server::start(&[]);
    let before = attach_only(&server, "build");
    assert_eq!(before.status, 409);
    before.error();
    let (_agent, terminal) = register(&server, "build", "cols=80&rows=24");
    let after = attach_only(&server, "build");
    assert_eq!(after.status, 200);
    assert_eq!(after.json()["terminalId"], terminal.id);
    assert!(processes::children(server.pid).is_empty(), "no shell was started");
}

#[test]
fn what_the_agent_prints_is_output_and_what_is_typed_reaches_the_agent() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let (mut agent, terminal) = register(&server, &format!("s{protocol}"), "cols=100&rows=30");
        let row = server.describe(&terminal);
        assert_eq!((&row["agentOwned"], &row["cols"], &row["rows"]), (&json!(true), &json!(100), &json!(30)));
        let mut client = server.attach(&terminal, protocol);
        agent.send(BINARY, b"\x1b[1mhello\x1b[m \xe2\x94");
        agent.send(BINARY, b"\x80\xff\n");
        client.expect("\u{1b}[1mhello\u{1b}[m ─\u{fffd}\n");
        client.input("typed ─");
        assert_eq!(agent.next_json(), json!({"type": "input", "data": "typed ─"}));
        client.resize(90, 20);
        assert_eq!(agent.next_json(), json!({"type": "resize", "cols": 90, "rows": 20}));
        server.post(&format!("/v1/terminals/{}/input", terminal.id), &json!({"data": "posted"}));
        assert_eq!(agent.next_json(), json!({"type": "input", "data": "posted"}));
        agent.send_json(&json!({"type": "exit", "exitCode": 4}));
        client.expect_exit(4);
        // It can be read until its session is closed.
        let mut late = server.attach(&terminal, protocol);
        late.expect("hello");
        late.expect_exit(4);
        assert_eq!(server.describe(&terminal)["exitCode"], 4);
    }
}

#[test]
fn pipes_get_their_line_feeds_made_into_line_ends() {
    let server = Server::start(&[]);
    let (mut agent, terminal) = register(&server, "pipe", "cols=80&rows=24&newlines=crlf");
    let mut client = server.attach(&terminal, 2);
    agent.send(BINARY, b"a\nb\r");
    agent.send(BINARY, b"\nc\r\nd");
    client.expect("d");
    assert_eq!(client.text(), "a\r\nb\r\nc\r\nd");
}

#[test]
fn an_agent_that_drops_ends_its_terminal_without_a_code() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let (mut agent, terminal) = register(&server, &format!("s{protocol}"), "cols=80&rows=24");
        agent.send(BINARY, b"last words");
        let mut client = server.attach(&terminal, protocol);
        client.expect("last words");
        drop(agent);
        assert_eq!(client.exit(), (None, None));
        assert_eq!(server.describe(&terminal)["exited"], true);
    }
}

#[test]
fn closing_asks_the_agent_to_end() {
    let server = Server::start(&[]);
    let (mut agent, terminal) = register(&server, "s", "cols=80&rows=24");
    let mut client = server.attach(&terminal, 2);
    client.close();
    assert_eq!(agent.next_json(), json!({"type": "close"}));
    agent.send_json(&json!({"type": "exit", "exitCode": 0}));
    client.expect_exit(0);
    let (mut agent, terminal) = register(&server, "t", "cols=80&rows=24");
    let closed = server.delete("/v1/terminals/session/t");
    assert_eq!((closed.status, closed.json()), (200, json!({"closed": true})));
    assert_eq!(agent.next_json(), json!({"type": "close"}));
    drop(agent);
    eventually("it is closed", || {
        let answer = server.get(&format!("/v1/terminals/{}", terminal.id));
        answer.status == 404 || answer.json()["exited"] == true
    });
}

#[test]
fn registering_again_replaces_the_terminal() {
    let server = Server::start(&[]);
    let (mut old_agent, old) = register(&server, "s", "cols=80&rows=24");
    let mut client = server.attach(&old, 2);
    let (_new_agent, new) = register(&server, "s", "cols=80&rows=24");
    assert_ne!(old.id, new.id);
    client.expect_closed();
    old_agent.close_code();
    assert_eq!(attach_only(&server, "s").json()["terminalId"], new.id);
}

#[test]
fn what_an_agent_says_wrongly_is_answered() {
    let server = Server::start(&[]);
    for (query, field) in
        [("cols=0&rows=24", "cols"), ("cols=80&rows=x", "rows"), ("cols=80&rows=24&newlines=cr", "newlines")]
    {
        let refused = WebSocket::open(server.dial(), &format!("/v1/agent/terminals/s/socket?{query}"), &[])
            .err()
            .expect(query);
        assert_eq!(refused.status, 400, "{query}");
        assert!(refused.error().contains(field), "{query} gave {}", refused.text());
    }
    let (mut agent, terminal) = register(&server, "s", "cols=80&rows=24");
    for frame in ["{", "[]", r#"{"type":"unknown"}"#, r#"{"type":"exit","exitCode":"x"}"#] {
        agent.send_text(frame);
        assert_eq!(agent.next_json()["type"], "error", "{frame}");
    }
    agent.send(BINARY, b"alive");
    server.attach(&terminal, 2).expect("alive");
}

#[test]
fn a_flooding_agent_is_held_to_the_same_stream() {
    let server = Server::start(&["--replay-bytes", "134217728"]);
    let (mut agent, terminal) = register(&server, "s", "cols=80&rows=24");
    let mut client = server.attach(&terminal, 2);
    client.keeps_text = false;
    let sender = std::thread::spawn(move || {
        let mut hash = Hash::new();
        for n in 0..400 {
            let piece = format!("{n:05}─").repeat(8000);
            hash.feed(piece.as_bytes());
            agent.send(BINARY, piece.as_bytes());
        }
        agent.send_json(&json!({"type": "exit", "exitCode": 0}));
        (agent, hash)
    });
    let mut hash = Hash::new();
    loop {
        match client.next() {
            Frame::Output { data, reset, .. } => {
                assert!(!reset, "what the ring has is never replaced by a reset");
                hash.feed(&data);
            }
            Frame::Exit { .. } => break,
            _ => {}
        }
    }
    assert_eq!(hash, sender.join().unwrap().1);
}

#[test]
fn a_shell_is_not_started_for_a_session_that_an_agent_owns() {
    let server = Server::start(&[]);
    let (_agent, terminal) = register(&server, "s", "cols=80&rows=24");
    let created =
        server.post("/v1/terminals", &json!({"sessionId": "s", "cwd": "/tmp", "cols": 80, "rows": 24}));
    assert_eq!((created.status, created.json()["terminalId"].as_str()), (200, Some(terminal.id.as_str())));
    assert!(processes::children(server.pid).is_empty());
}
