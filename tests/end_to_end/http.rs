//! HTTP as a careful and as a hostile client speaks it.

use std::time::Duration;

use crate::harness::*;

const HEALTH: &str = "GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[test]
fn a_connection_serves_many_requests_also_sent_ahead() {
    let server = Server::start(&[]);
    let mut http = server.http();
    for _ in 0..3 {
        http.put(HEALTH);
        assert_eq!(http.answer("GET").status, 200);
    }
    http.put(HEALTH.repeat(50));
    for _ in 0..50 {
        assert_eq!(http.answer("GET").status, 200);
    }
    http.put("GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!(http.answer("GET").status, 200);
    assert!(http.ends());
}

#[test]
fn requests_may_come_byte_by_byte() {
    let server = Server::start(&[]);
    let mut http = server.http();
    let body =
        json!({"sessionId": "s", "cwd": "/tmp", "cols": 80, "rows": 24, "shell": "/bin/sh"}).to_string();
    let request = format!(
        "POST /v1/terminals HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    for byte in request.bytes() {
        http.put([byte]);
    }
    assert_eq!(http.answer("POST").status, 201);
}

#[test]
fn a_body_may_be_chunked() {
    let server = Server::start(&[]);
    let mut http = server.http();
    let body =
        json!({"sessionId": "s", "cwd": "/tmp", "cols": 80, "rows": 24, "shell": "/bin/sh"}).to_string();
    let (first, rest) = body.split_at(7);
    http.put("POST /v1/terminals HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    http.put(format!("Transfer-Encoding: chunked\r\n\r\n7;name=value\r\n{first}\r\n"));
    http.put(format!("{:X}\r\n{rest}\r\n0\r\nTrailer: x\r\n\r\n{HEALTH}", rest.len()));
    assert_eq!(http.answer("POST").status, 201);
    assert_eq!(http.answer("GET").status, 200);
}

#[test]
fn head_is_get_without_the_body() {
    let server = Server::start(&[]);
    let mut http = server.http();
    http.put(HEALTH.replace("GET", "HEAD"));
    let head = http.answer("HEAD");
    assert_eq!(head.status, 200);
    assert!(head.header("content-length").unwrap().parse::<usize>().unwrap() > 0);
    http.put(HEALTH);
    assert_eq!(http.answer("GET").status, 200);
}

#[test]
fn http_1_0_is_answered_and_closed() {
    let server = Server::start(&[]);
    let mut http = server.http();
    http.put("GET /v1/health HTTP/1.0\r\nHost: localhost\r\n\r\n");
    assert_eq!(http.answer("GET").status, 200);
    assert!(http.ends());
}

#[test]
fn a_client_that_waits_for_100_continue_gets_it() {
    let server = Server::start(&[]);
    let mut http = server.http();
    let body =
        json!({"sessionId": "s", "cwd": "/tmp", "cols": 80, "rows": 24, "shell": "/bin/sh"}).to_string();
    http.put("POST /v1/terminals HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    http.put(format!("Expect: 100-continue\r\nContent-Length: {}\r\n\r\n", body.len()));
    assert_eq!(http.answer("POST").status, 100);
    http.put(body);
    assert_eq!(http.answer("POST").status, 201);
}

#[test]
fn requests_that_two_parsers_could_read_differently_are_refused_and_the_connection_ends() {
    let server = Server::start(&[]);
    let post = "POST /v1/terminals HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let smuggled = "0\r\n\r\nDELETE /v1/terminals/session/s HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (what, request) in [
        ("both lengths", format!("{post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n{smuggled}")),
        ("two lengths", format!("{post}Content-Length: 5\r\nContent-Length: 6\r\n\r\n{smuggled}")),
        ("a length with a sign", format!("{post}Content-Length: +5\r\n\r\n{smuggled}")),
        ("a hexadecimal length", format!("{post}Content-Length: 0x5\r\n\r\n{smuggled}")),
        ("a list of lengths", format!("{post}Content-Length: 5, 6\r\n\r\n{smuggled}")),
        ("an unknown coding", format!("{post}Transfer-Encoding: gzip\r\n\r\n{smuggled}")),
        ("a veiled coding", format!("{post}Transfer-Encoding: xchunked\r\n\r\n{smuggled}")),
        (
            "a coding twice",
            format!("{post}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n{smuggled}"),
        ),
        ("a space before the colon", format!("{post}Content-Length : 5\r\n\r\n{smuggled}")),
        ("a folded header", format!("{post}X: a\r\n b\r\nContent-Length: 0\r\n\r\n")),
        ("a chunk size that is none", format!("{post}Transfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n")),
        (
            "a chunk size too large",
            format!("{post}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n\r\n"),
        ),
        (
            "a chunk longer than it says",
            format!("{post}Transfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n0\r\n\r\n"),
        ),
        ("a NUL", "GET /v1/health HTTP/1.1\r\nHost: local\0host\r\n\r\n".into()),
        ("two hosts", "GET /v1/health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n".into()),
        ("no host", "GET /v1/health HTTP/1.1\r\n\r\n".into()),
        ("no HTTP", "hello\r\n\r\n".into()),
        ("another version", "GET /v1/health HTTP/3.7\r\nHost: localhost\r\n\r\n".into()),
        ("a TLS hello", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{3}\r\n\r\n".into()),
    ] {
        println!("{what}");
        let mut http = server.http();
        http.put(request);
        let answer = http.try_answer("POST");
        if let Some(answer) = answer {
            assert!((400..=505).contains(&answer.status), "{what} gave {}", answer.status);
            answer.error();
        }
        assert!(http.ends(), "{what}: the connection must end");
    }
    server.still_serves();
}

#[test]
fn a_head_that_is_too_large_is_431() {
    let server = Server::start(&[]);
    let many: String = (0..100_000).map(|n| format!("X-{n}: y\r\n")).collect();
    for headers in [format!("X: {}\r\n", "x".repeat(17 << 10)), many, format!("X: {}", "x".repeat(1 << 20))] {
        let mut http = server.http();
        http.put("GET /v1/health HTTP/1.1\r\nHost: localhost\r\n");
        http.put(&headers);
        http.put("\r\n");
        // The server may close while we still send; then the kernel may drop its answer.
        if let Some(answer) = http.try_answer("GET") {
            assert_eq!(answer.status, 431);
            answer.error();
        }
        assert!(http.ends());
    }
    let mut http = server.http();
    http.put(format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(15 << 10)));
    assert_eq!(http.answer("GET").status, 404);
    let mut http = server.http();
    http.put(format!("GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(17 << 10)));
    assert_eq!(http.answer("GET").status, 431);
    server.still_serves();
}

#[test]
fn an_endless_head_is_bounded_in_time_and_memory() {
    let server = Server::start(&[]);
    let before = processes::resident_kib(server.pid);
    // Two thousand peers that begin a request and never end it.
    let idlers: Vec<Stream> = (0..1000)
        .map(|_| {
            let mut stream = server.dial();
            stream.put(b"GET /v1/health HTTP/1.1\r\nHost: loc");
            stream
        })
        .collect();
    server.still_serves();
    let grown = processes::resident_kib(server.pid).saturating_sub(before);
    assert!(grown < 16 << 10, "grew by {grown} KiB");
    // One that dribbles: it is told off or dropped although it never pauses for long.
    let mut dribbler = server.http();
    dribbler.put("GET /v1/health HTTP/1.1\r\n");
    let mut fed = 0;
    while dribbler.put("X: y\r\n") && fed < 120 {
        fed += 1;
        std::thread::sleep(Duration::from_millis(250));
    }
    assert!(fed < 120, "a dribbler was listened to for {} ms", fed * 250);
    drop(idlers);
    eventually("their connections are given back", || server.get("/v1/health").json()["connections"] == 1);
}

#[test]
fn paths_are_taken_as_they_are() {
    let server = Server::start(&[]);
    for path in [
        "//evil.example/",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/../etc/passwd",
        "/t/../../etc/passwd",
        "/v1//health",
    ] {
        let answer = server.get(path);
        assert!(answer.status >= 400 || answer.status == 200, "{path} gave {}", answer.status);
        assert!(answer.header("location").is_none(), "{path} redirects");
        assert!(!answer.text().contains("root:"), "{path}");
    }
    let slashes = format!("/{}", "/".repeat(15 << 10));
    assert_eq!(server.get(&slashes).status, 404);
    let mut http = server.http();
    http.put(format!("GET http://localhost/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n{HEALTH}"));
    let absolute = http.answer("GET").status;
    assert!(matches!(absolute, 200 | 400 | 404), "{absolute}");
}

#[test]
fn the_base_path_is_part_of_every_path() {
    let server = Server::start(&["--base-path", "/a/b"]);
    assert_eq!(server.get("/v1/health").status, 404);
    assert_eq!(server.get("/a/b/v1/health").status, 200);
    let body = json!({"sessionId": "s", "cwd": "/tmp", "cols": 80, "rows": 24, "shell": "/bin/sh", "args": ["-c", "echo up; read x"]});
    let created = server.post("/a/b/v1/terminals", &body).json();
    let terminal = Terminal::from(&created, "s");
    assert!(terminal.socket.starts_with("/a/b/v1/terminals/"), "{}", terminal.socket);
    server.attach(&terminal, 2).expect("up");
    assert!(server.urls.iter().any(|url| url.ends_with("/a/b/")), "{:?}", server.urls);
}

#[test]
fn a_half_closed_connection_still_gets_its_answers() {
    let server = Server::start(&[]);
    let mut http = server.http();
    http.put(HEALTH.repeat(3));
    http.stream.half_close();
    for _ in 0..3 {
        assert_eq!(http.answer("GET").status, 200);
    }
    assert!(http.ends());
    eventually("the loop rests", || processes::ticks_in_a_second(server.pid) < 5);
}

#[test]
fn upgrades_that_are_none_are_refused() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("read x"));
    let head = format!("GET {} HTTP/1.1\r\nHost: localhost\r\n", terminal.socket);
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (what, headers) in [
        ("a plain request", String::new()),
        ("no key", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n".into()),
        ("a short key", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n".into()),
        ("another protocol", format!("Connection: Upgrade\r\nUpgrade: h2c\r\nSec-WebSocket-Version: 13\r\n{key}")),
        ("another version", format!("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 8\r\n{key}")),
    ] {
        let mut http = server.http();
        http.put(format!("{head}{headers}\r\n"));
        let answer = http.answer("GET");
        assert!(matches!(answer.status, 400 | 426), "{what} gave {}", answer.status);
        answer.error();
    }
    let headers = "connection: keep-alive, upgrade\r\nupgrade: WebSocket\r\nsec-websocket-version: 13\r\n";
    let mut http = server.http();
    http.put(format!("{head}{headers}{key}\r\n"));
    assert_eq!(http.answer("GET").status, 101, "names and tokens know no case");
}
