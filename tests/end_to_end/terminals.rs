//! Terminals over REST: every route, status and error.

use crate::harness::*;

/// The terminals in the list.
fn listed(server: &Server) -> Vec<Value> {
    server.get("/v1/terminals").json()["terminals"].as_array().expect("{terminals: [...]}").clone()
}

fn create(server: &Server, change: impl FnOnce(&mut Value)) -> Answer {
    let cwd = server.dir.path().to_str().unwrap();
    let mut body = json!({"sessionId": "s", "cwd": cwd, "cols": 80, "rows": 24, "shell": "/bin/sh"});
    change(&mut body);
    server.post("/v1/terminals", &body)
}

#[test]
fn creating_gives_an_id_a_socket_path_and_the_next_sequence_number() {
    let server = Server::start(&[]);
    let answer = create(&server, |_| {});
    assert_eq!(answer.status, 201);
    let created = answer.json();
    let id = created["terminalId"].as_str().unwrap();
    assert!(
        id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "128 random bits in hex: {id}"
    );
    assert_eq!(created["websocketPath"], format!("/v1/terminals/{id}/socket"));
    assert_eq!(created["nextOutputSeq"], 1);
}

#[test]
fn creating_again_for_a_session_gives_its_live_terminal_whose_size_is_not_touched() {
    let server = Server::start(&[]);
    let first = create(&server, |_| {});
    let again = create(&server, |body| body["cols"] = json!(200));
    assert_eq!(again.status, 200);
    assert_eq!(again.json()["terminalId"], first.json()["terminalId"]);
    let terminal = Terminal::from(&first.json(), "s");
    assert_eq!(server.describe(&terminal)["cols"], 80);
    assert_eq!(listed(&server).len(), 1);
}

#[test]
fn the_next_sequence_number_is_the_length_of_the_stream_plus_one() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("printf 12345; read x"));
    server.until_screen(&terminal, "12345");
    let again = create(&server, |body| body["sessionId"] = json!(terminal.session));
    assert_eq!(again.json()["nextOutputSeq"], 6);
}

#[test]
fn the_list_says_of_each_terminal_what_a_person_asks() {
    let server = Server::start(&[]);
    let terminal = server.make(100, 30, sh("printf '\\033]2;the title\\007'; read x; exit 5"));
    let mut client = server.attach(&terminal, 2);
    client.expect("the title");
    eventually("the title has held", || listed(&server)[0]["title"] == "the title");
    let row = listed(&server).into_iter().next().unwrap();
    for field in ["createdAt", "pid"] {
        assert!(!row[field].is_null(), "{field} in {row}");
    }
    assert_eq!(row["id"], terminal.id.as_str());
    assert_eq!(row["sessionId"], terminal.session.as_str());
    assert_eq!((&row["cols"], &row["rows"]), (&json!(100), &json!(30)));
    assert_eq!(row["cwd"], server.dir.path().to_str().unwrap());
    assert_eq!((&row["exited"], &row["exitCode"]), (&json!(false), &Value::Null));
    assert_eq!(row["attached"], 1);
    assert_eq!(row["agentOwned"], false);
    client.input("\n");
    client.expect_exit(5);
    assert_eq!(
        (&server.describe(&terminal)["exited"], &server.describe(&terminal)["exitCode"]),
        (&json!(true), &json!(5))
    );
}

#[test]
fn a_bad_field_of_a_create_request_is_named() {
    let server = Server::start(&[]);
    let file = server.dir.file("file");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    let cases: &[(&str, Value)] = &[
        ("sessionId", Value::Null),
        ("sessionId", json!(7)),
        ("sessionId", json!("")),
        ("sessionId", json!("s".repeat(300))),
        ("cwd", Value::Null),
        ("cwd", json!(1)),
        ("cwd", json!("/nowhere")),
        ("cwd", json!(file)),
        ("cwd", json!("/tmp\u{0}x")),
        ("cols", Value::Null),
        ("cols", json!(0)),
        ("cols", json!(2001)),
        ("cols", json!(-1)),
        ("cols", json!(1.5)),
        ("cols", json!("80")),
        ("cols", json!(1e300)),
        ("rows", Value::Null),
        ("rows", json!(0)),
        ("rows", json!(65536)),
        ("rows", json!([24])),
        ("shell", json!(1)),
        ("shell", json!("/nowhere/sh")),
        ("shell", json!(file)),
        ("shell", json!("/tmp")),
        ("args", json!("x")),
        ("args", json!([1])),
        ("args", json!(["a\u{0}b"])),
        ("attachOnly", json!("yes")),
    ];
    for (field, value) in cases {
        let answer = create(&server, |body| {
            if value.is_null() {
                body.as_object_mut().unwrap().remove(*field);
            } else {
                body[*field] = value.clone();
            }
        });
        assert_eq!(answer.status, 400, "{field}: {value} gave {}", answer.text());
        assert!(answer.error().contains(field), "{field}: {value} gave {}", answer.text());
    }
    assert_eq!(listed(&server).len(), 0);
}

#[test]
fn a_body_that_is_no_json_object_is_a_400() {
    let server = Server::start(&[]);
    for body in ["", "{", "[]", "null", "7", "{\"sessionId\":\"a\"} x", &"[".repeat(100_000)] {
        let answer = server.ask("POST", "/v1/terminals", &[("Content-Type", "application/json")], Some(body));
        assert_eq!(answer.status, 400, "{:.40}: {}", body, answer.text());
        answer.error();
    }
}

#[test]
fn unknown_ids_and_paths_are_404() {
    let server = Server::start(&[]);
    let id = "0123456789abcdef0123456789abcdef";
    for path in [
        format!("/v1/terminals/{id}"),
        format!("/v1/terminals/{id}/screen"),
        format!("/v1/terminals/{id}/socket"),
        "/v1/terminals/%2e%2e".into(),
        "/v1/terminals/a%2fb/screen".into(),
        "/v1/nothing".into(),
        "/v1".into(),
    ] {
        assert_eq!(server.get(&path).status, 404, "{path}");
        server.get(&path).error();
    }
    assert_eq!(server.delete(&format!("/v1/terminals/{id}")).status, 404);
    assert_eq!(server.post(&format!("/v1/terminals/{id}/input"), &json!({"data": "x"})).status, 404);
    let terminal =
        Terminal { id: id.into(), session: "s".into(), socket: format!("/v1/terminals/{id}/socket") };
    let refused = WebSocket::open(server.dial(), &terminal.socket, &[]).err().unwrap();
    assert_eq!(refused.status, 404);
}

#[test]
fn a_method_that_a_route_has_not_is_405_and_says_which_it_has() {
    let server = Server::start(&[]);
    let id = server.make(80, 24, sh("read x")).id;
    for (method, path, allowed) in [
        ("DELETE", "/v1/health".to_string(), vec!["GET"]),
        ("PUT", "/v1/terminals".into(), vec!["GET", "POST"]),
        ("POST", format!("/v1/terminals/{id}"), vec!["GET", "DELETE"]),
        ("DELETE", format!("/v1/terminals/{id}/screen"), vec!["GET"]),
        ("GET", format!("/v1/terminals/{id}/input"), vec!["POST"]),
        ("GET", "/v1/terminals/session/s".into(), vec!["DELETE"]),
        ("DELETE", "/v1/workspaces".into(), vec!["GET"]),
        ("PUT", "/v1/events".into(), vec!["GET"]),
        ("POST", "/metrics".into(), vec!["GET"]),
    ] {
        let answer = server.tell(method, &path, &json!({}));
        assert_eq!(answer.status, 405, "{method} {path}");
        answer.error();
        let allow = answer.header("allow").unwrap_or_else(|| panic!("no Allow for {path}")).to_string();
        for method in allowed {
            assert!(allow.split(", ").any(|one| one == method), "{path} allows {allow}");
        }
    }
}

#[test]
fn a_body_above_a_mebibyte_is_413() {
    let server = Server::start(&[]);
    let big = json!({"sessionId": "x".repeat(1 << 20)}).to_string();
    let json = ("Content-Type", "application/json");
    assert_eq!(server.ask("POST", "/v1/terminals", &[json], Some(&big)).status, 413);
    // The announcement alone is enough.
    let mut http = server.http();
    http.put("POST /v1/terminals HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    http.put("Content-Length: 99999999999\r\n\r\n");
    assert_eq!(http.answer("POST").status, 413);
    assert!(http.ends());
    // And a chunked body that grows.
    let mut http = server.http();
    http.put("POST /v1/terminals HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    http.put("Transfer-Encoding: chunked\r\n\r\n");
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(1 << 16));
    for _ in 0..17 {
        if !http.put(&chunk) {
            break;
        }
    }
    assert_eq!(http.answer("POST").status, 413);
    server.still_serves();
}

#[test]
fn more_terminals_than_allowed_are_429_until_one_is_closed() {
    let server = Server::start(&["--max-terminals", "2"]);
    let first = server.make(80, 24, sh("read x"));
    server.make(80, 24, sh("read x"));
    let answer = create(&server, |_| {});
    assert_eq!(answer.status, 429);
    assert!(answer.error().contains("terminals"), "{}", answer.text());
    assert_eq!(server.delete(&format!("/v1/terminals/session/{}", first.session)).status, 200);
    eventually("room for another", || matches!(create(&server, |_| {}).status, 200 | 201));
}

#[test]
fn deleting_a_session_closes_its_live_terminal_and_says_whether_there_was_one() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("echo up; read x"));
    let mut client = server.attach(&terminal, 2);
    client.expect("up");
    let path = format!("/v1/terminals/session/{}", terminal.session);
    let closed = server.delete(&path);
    assert_eq!((closed.status, closed.json()), (200, json!({"closed": true})));
    client.exit();
    let gone = server.delete(&path);
    assert_eq!((gone.status, gone.json()), (404, json!({"closed": false})));
    let fresh = server.make_in(&terminal.session, 80, 24, sh("read x"));
    assert_ne!(fresh.id, terminal.id);
}

#[test]
fn a_session_name_may_hold_any_characters() {
    let server = Server::start(&[]);
    let terminal = server.make_in("a b/ü%?", 80, 24, sh("read x"));
    assert_eq!(server.describe(&terminal)["sessionId"], "a b/ü%?");
    assert_eq!(server.delete("/v1/terminals/session/a%20b%2F%C3%BC%25%3F").status, 200);
}

#[test]
fn deleting_a_terminal_ends_its_program() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("read x"));
    let pid = server.describe(&terminal)["pid"].as_u64().unwrap() as u32;
    let answer = server.delete(&format!("/v1/terminals/{}", terminal.id));
    assert!(matches!(answer.status, 200 | 204), "{}", answer.status);
    eventually("the program ends", || !processes::alive(pid));
}

#[test]
fn scripts_type_by_posting_input() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("stty -echo; echo ready; read x; echo got $x; read y"));
    server.until_screen(&terminal, "ready");
    let path = format!("/v1/terminals/{}/input", terminal.id);
    let answer = server.post(&path, &json!({"data": "typed\n"}));
    assert_eq!((answer.status, answer.body.len()), (204, 0));
    server.until_screen(&terminal, "got typed");
    for bad in [json!({}), json!({"data": 7}), json!({"data": null})] {
        let answer = server.post(&path, &bad);
        assert_eq!(answer.status, 400);
        assert!(answer.error().contains("data"), "{}", answer.text());
    }
}

#[test]
fn a_posted_input_does_not_take_the_size() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("read x"));
    let mut client = server.attach(&terminal, 2);
    let shown = client.resize(101, 31);
    client.expect_ack(shown);
    server.post(&format!("/v1/terminals/{}/input", terminal.id), &json!({"data": "x"}));
    client.settle();
    assert_eq!(client.size, Some((101, 31)));
}

#[test]
fn health_needs_no_token_and_counts() {
    let server = Server::start(&[]);
    server.make(80, 24, sh("read x"));
    let health = server.get("/v1/health").json();
    assert_eq!(health["ok"], true);
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(health["terminals"], 1);
    assert!(health["uptimeSeconds"].as_u64().is_some(), "{health}");
    assert_eq!(health["connections"], 1);
}

#[test]
fn metrics_are_prometheus_text() {
    let server = Server::start(&[]);
    server.make(80, 24, sh("read x"));
    let metrics = server.get("/metrics");
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain"));
    let text = metrics.text();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("wharf_") || name.starts_with("process_"), "{line}");
        value.parse::<f64>().unwrap();
    }
    assert!(text.lines().any(|line| line == "wharf_terminals 1"), "{text}");
}

#[test]
fn a_hundred_creates_of_one_session_at_once_start_one_shell() {
    let server = Server::start(&[]);
    let ids: Vec<String> = std::thread::scope(|scope| {
        let creates: Vec<_> = (0..100)
            .map(|_| {
                scope.spawn(|| create(&server, |_| {}).json()["terminalId"].as_str().unwrap().to_string())
            })
            .collect();
        creates.into_iter().map(|create| create.join().unwrap()).collect()
    });
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert_eq!(processes::children(server.pid).len(), 1);
}

#[test]
fn ids_are_not_used_again_after_a_restart() {
    let dir = server::Dir::new();
    let mut seen = std::collections::HashSet::new();
    for _ in 0..3 {
        let server = Launch::default().in_dir(dir.path()).start();
        for session in ["a", "b", "c"] {
            assert!(seen.insert(server.make_in(session, 80, 24, sh("read x")).id));
        }
    }
}
