//! Who gets in: tokens, other users of the machine, other web pages, and what every answer says to browsers.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::harness::*;

const TOKEN: &str = "correct-horse-battery-staple-0123456789";

fn token_file(dir: &server::Dir) -> String {
    let path = dir.file("token");
    std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_string()
}

fn create_body() -> String {
    json!({"sessionId": "s", "cwd": "/tmp", "cols": 80, "rows": 24, "shell": "/bin/sh", "args": ["-c", "read x"]}).to_string()
}

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// One HTTP request by a process of another user; gives the status line.
fn as_nobody(port: u16, path: &str, header: &str) -> String {
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET {path} HTTP/1.1\\r\\nHost: localhost\\r\\n{header}Connection: close\\r\\n\\r\\n' >&3; head -1 <&3"
    );
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", &script])
        .current_dir("/")
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn another_user_of_the_machine_is_kept_out_without_a_token() {
    let server = Server::start(&[]);
    let port = server.addr().port();
    assert!(as_nobody(port, "/v1/terminals", "").starts_with("HTTP/1.1 401"));
    assert!(as_nobody(port, "/metrics", "").starts_with("HTTP/1.1 401"));
    assert!(as_nobody(port, "/v1/health", "").starts_with("HTTP/1.1 200"), "health is for everyone");
    assert_eq!(server.get("/v1/terminals").status, 200, "the server's own user needs none");
    let dir = server::Dir::new();
    let server = Server::start(&["--token-file", &token_file(&dir)]);
    let bearer = format!("Authorization: Bearer {TOKEN}\\r\\n");
    assert!(as_nobody(server.addr().port(), "/v1/terminals", &bearer).starts_with("HTTP/1.1 200"));
}

#[test]
fn the_socket_file_is_for_its_user_alone() {
    let server = Server::start(&[]);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&server.unix()), 0o600);
    assert_eq!(mode(server.unix().parent().unwrap()), 0o700);
    assert_eq!(mode(&server.dir.file("state")), 0o700);
    for entry in std::fs::read_dir(server.unix().parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn with_a_token_every_route_but_health_needs_it() {
    let dir = server::Dir::new();
    let mut server = Server::start(&["--token-file", &token_file(&dir)]);
    server.token = Some(TOKEN.into());
    let terminal = server.make(80, 24, sh("read x"));
    server.token = None;
    let id = &terminal.id;
    let sockets = [
        terminal.socket.clone(),
        "/v1/agent/terminals/x/socket?cols=80&rows=24".into(),
        "/v1/events/socket".into(),
    ];
    let mut failures = 0;
    for path in sockets {
        // Another address each time, so that the throttle stays out of it.
        failures += 1;
        let refused = WebSocket::open(dial_from(&server, failures), &path, &[]).err().unwrap();
        assert_eq!(refused.status, 401, "{path}");
    }
    for (method, path) in [
        ("GET", "/v1/terminals".to_string()),
        ("POST", "/v1/terminals".into()),
        ("GET", format!("/v1/terminals/{id}")),
        ("DELETE", format!("/v1/terminals/{id}")),
        ("GET", format!("/v1/terminals/{id}/screen")),
        ("POST", format!("/v1/terminals/{id}/input")),
        ("POST", format!("/v1/terminals/{id}/files")),
        ("PUT", format!("/v1/terminals/{id}/files/0?offset=0")),
        ("DELETE", format!("/v1/terminals/session/{}", terminal.session)),
        ("GET", "/v1/workspaces".into()),
        ("PUT", "/v1/workspaces/w".into()),
        ("DELETE", "/v1/workspaces/w/panes/p".into()),
        ("GET", "/v1/events".into()),
        ("GET", "/metrics".into()),
        ("GET", "/v1/unknown".into()),
    ] {
        failures += 1;
        let mut http = Http::over(dial_from(&server, failures));
        http.send(method, &path, &[JSON], Some(&create_body()));
        let answer = http.answer(method);
        assert_eq!(answer.status, 401, "{method} {path}");
        answer.error();
    }
    assert_eq!(server.get("/v1/health").status, 200);
    server.token = Some(TOKEN.into());
    assert_eq!(server.describe(&terminal)["exited"], false);
    assert_eq!(server.get("/v1/terminals").json()["terminals"].as_array().unwrap().len(), 1);
    // The Unix socket is only its user's anyway.
    let mut unix = Http::over(server.dial_unix());
    unix.send("GET", "/v1/terminals", &[], None);
    assert_eq!(unix.answer("GET").status, 200);
}

/// A connection from 127.0.0.N: the whole net is loopback.
fn dial_from(server: &Server, last: u8) -> Stream {
    let socket =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None).unwrap();
    let from: std::net::SocketAddrV4 = format!("127.0.0.{}:0", last + 1).parse().unwrap();
    rustix::net::bind(&socket, &from).unwrap();
    rustix::net::connect(&socket, &server.addr()).unwrap();
    Stream::Tcp(std::net::TcpStream::from(socket))
}

#[test]
fn a_token_is_taken_in_each_of_its_forms_and_in_no_other() {
    let dir = server::Dir::new();
    let server = Server::start(&["--token-file", &token_file(&dir)]);
    let ask = |last: u8, path: &str, headers: &[(&str, &str)]| {
        let mut http = Http::over(dial_from(&server, last));
        http.send("GET", path, headers, None);
        http.answer("GET").status
    };
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(ask(1, "/v1/terminals", &[("Authorization", &bearer)]), 200);
    assert_eq!(ask(1, "/v1/terminals", &[("authorization", &bearer.replace("Bearer", "bearer"))]), 200);
    assert_eq!(ask(1, &format!("/v1/terminals?t={TOKEN}"), &[]), 200);
    let longer = format!("{bearer}x");
    for (last, headers) in [
        &[("Authorization", "Bearer")][..],
        &[("Authorization", "Bearer ")],
        &[("Authorization", &bearer[..bearer.len() - 1])],
        &[("Authorization", &longer)],
        &[("Authorization", TOKEN)],
        &[("Authorization", "Basic dXNlcjpwYXNz")],
    ]
    .into_iter()
    .enumerate()
    {
        let status = ask(10 + last as u8, "/v1/terminals", headers);
        assert!(matches!(status, 400 | 401), "{headers:?} gave {status}");
    }
    for (last, query) in ["?t=", "?t=wrong", "?T=correct", "?x="].into_iter().enumerate() {
        assert_eq!(ask(30 + last as u8, &format!("/v1/terminals{query}"), &[]), 401, "{query}");
    }
}

#[test]
fn the_page_turns_the_token_of_its_url_into_a_cookie() {
    let dir = server::Dir::new();
    let server = Server::start(&["--token-file", &token_file(&dir)]);
    let page = server.get(&format!("/?t={TOKEN}"));
    assert!(matches!(page.status, 200 | 302 | 303), "{}", page.status);
    let cookie = page.header("set-cookie").expect("a cookie");
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && cookie.contains("Path=/"),
        "{cookie}"
    );
    assert!(!cookie.contains("Secure"), "plain HTTP: a browser would drop it");
    assert!(page.header("location").is_none_or(|place| !place.contains(TOKEN)), "out of the address bar");
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(server.ask("GET", "/v1/terminals", &[("Cookie", pair)], None).status, 200);
    assert_eq!(
        server.ask("GET", "/v1/terminals", &[("Cookie", &format!("a=b; {pair}; c=d"))], None).status,
        200
    );
    // Safari sends no Authorization on upgrades, but the cookie.
    assert!(WebSocket::open(server.dial(), "/v1/events/socket", &[("Cookie", pair)]).is_ok());
}

#[test]
fn an_address_that_fails_ten_times_waits() {
    let dir = server::Dir::new();
    let server = Server::start(&["--token-file", &token_file(&dir)]);
    let ask = |last: u8, token: &str| {
        let mut http = Http::over(dial_from(&server, last));
        http.send("GET", "/v1/terminals", &[("Authorization", &format!("Bearer {token}"))], None);
        http.answer("GET").status
    };
    let statuses: Vec<u16> = (0..12).map(|n| ask(7, &format!("guess-{n}"))).collect();
    assert_eq!(statuses[..10], [401; 10]);
    assert_eq!(statuses[11], 429);
    assert_eq!(ask(7, TOKEN), 429, "a right guess is not told apart from a wrong one");
    assert_eq!(ask(8, TOKEN), 200, "others are not concerned");
    assert!(!server.log().contains("guess-3"), "wrong tokens are not logged");
}

#[test]
fn guesses_in_the_url_of_a_page_are_counted_as_well() {
    let dir = server::Dir::new();
    let server = Server::start(&["--token-file", &token_file(&dir)]);
    let page = |last: u8, token: &str| {
        let mut http = Http::over(dial_from(&server, last));
        http.send("GET", &format!("/?t={token}"), &[], None);
        let answer = http.answer("GET");
        (answer.header("location").unwrap().to_owned(), answer.header("set-cookie").is_some())
    };
    for n in 0..10 {
        assert_eq!(page(7, &format!("guess-{n}")), ("/#wrong-token".into(), false));
    }
    assert_eq!(page(7, TOKEN), ("/#wrong-token".into(), false), "a right guess is not told apart");
    assert_eq!(page(8, TOKEN), ("/".into(), true), "others are not concerned");
}

#[test]
fn beyond_loopback_a_token_is_made_and_printed_in_the_url() {
    let server = Server::start(&["--listen", "0.0.0.0:0"]);
    let url = server.urls.iter().find(|url| url.starts_with("http://")).unwrap();
    let (_, token) = url.split_once("?t=").expect("a ready URL");
    assert!(token.len() >= 22, "{url}");
    assert_eq!(server.get("/v1/terminals").status, 401);
    assert_eq!(server.get(&format!("/v1/terminals?t={token}")).status, 200);
}

#[test]
fn secrets_reach_neither_shells_nor_command_lines_nor_the_log_nor_metrics() {
    let dir = server::Dir::new();
    for launch in [
        Launch::default().env("WHARF_TOKEN", TOKEN),
        Launch::default().flags(&["--token-file", &token_file(&dir)]),
    ] {
        let mut server = launch.env("WHARF_LOG", "debug").start();
        server.get(&format!("/v1/terminals?t={TOKEN}"));
        server.get(&format!("/?t={TOKEN}"));
        server.ask("GET", "/v1/terminals?t=a-wrong-secret", &[], None);
        server.token = Some(TOKEN.into());
        let terminal = server.make(200, 50, sh("env | sort; echo shown; read x"));
        server.until_screen(&terminal, "shown");
        assert!(!server.screen(&terminal).contains(TOKEN), "{}", server.screen(&terminal));
        let arguments = std::fs::read_to_string(format!("/proc/{}/cmdline", server.pid)).unwrap();
        assert!(!arguments.contains(TOKEN));
        assert!(!server.get("/metrics").text().contains(TOKEN));
        assert!(
            !server.log().contains(TOKEN) && !server.log().contains("a-wrong-secret"),
            "{}",
            server.log()
        );
    }
}

#[test]
fn only_names_of_this_server_may_stand_in_host() {
    let server = Server::start(&["--host", "box.example"]);
    let port = server.addr().port();
    let ask = |host: &str, origin: Option<&str>| {
        let mut headers = vec![("Host", host)];
        headers.extend(origin.map(|origin| ("Origin", origin)));
        server.ask("GET", "/v1/terminals", &headers, None).status
    };
    for host in [
        "localhost",
        "LocalHost",
        "127.0.0.1",
        &format!("127.0.0.1:{port}"),
        &format!("localhost:{port}"),
        "[::1]",
        &format!("[::1]:{port}"),
        "box.example",
        "BOX.example:443",
    ] {
        assert_eq!(ask(host, None), 200, "{host}");
    }
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "box.example.evil",
        "evil@localhost",
        "localhost:x",
        "",
        "[::1",
    ] {
        let status = ask(host, None);
        assert!(matches!(status, 400 | 403 | 421), "{host:?} gave {status}");
        let status = ask(host, Some(&format!("http://{host}")));
        assert!(matches!(status, 400 | 403 | 421), "{host:?} gave {status} with its own origin");
    }
    // On upgrades as well.
    let refused = WebSocket::open(
        server.dial(),
        "/v1/events/socket",
        &[("Host", "evil.example"), ("Origin", "http://evil.example")],
    );
    assert!(matches!(refused.err().unwrap().status, 403 | 421));
}

#[test]
fn pages_from_elsewhere_open_no_socket_and_change_nothing() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("read x"));
    let port = server.addr().port();
    let own = format!("http://localhost:{port}");
    let host = format!("localhost:{port}");
    for origin in [
        "https://evil.example",
        "http://localhost:9999",
        "null",
        &format!("https://localhost:{port}x"),
        "http://localhost",
        "file://",
        "",
    ] {
        for path in [&terminal.socket, "/v1/agent/terminals/x/socket?cols=80&rows=24", "/v1/events/socket"] {
            let refused = WebSocket::open(server.dial(), path, &[("Host", &host), ("Origin", origin)]).err();
            assert_eq!(refused.map(|answer| answer.status), Some(403), "{path} from {origin:?}");
        }
        for (method, path) in [
            ("POST", "/v1/terminals".to_string()),
            ("DELETE", format!("/v1/terminals/{}", terminal.id)),
            ("DELETE", format!("/v1/terminals/session/{}", terminal.session)),
            ("POST", format!("/v1/terminals/{}/input", terminal.id)),
            ("PUT", "/v1/workspaces/w".into()),
        ] {
            let answer =
                server.ask(method, &path, &[("Host", &host), ("Origin", origin), JSON], Some(&create_body()));
            assert_eq!(answer.status, 403, "{method} {path} from {origin:?}");
        }
    }
    assert!(WebSocket::open(server.dial(), &terminal.socket, &[("Host", &host), ("Origin", &own)]).is_ok());
    let made =
        server.ask("POST", "/v1/terminals", &[("Host", &host), ("Origin", &own), JSON], Some(&create_body()));
    assert_eq!(made.status, 201);
    let list = server.get("/v1/terminals").json();
    assert_eq!(list["terminals"].as_array().unwrap().len(), 2);
}

#[test]
fn what_a_form_or_a_beacon_could_send_is_no_json() {
    let server = Server::start(&[]);
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "",
    ] {
        let headers: &[(&str, &str)] = if kind.is_empty() { &[] } else { &[("Content-Type", kind)] };
        let answer = server.ask("POST", "/v1/terminals", headers, Some(&create_body()));
        assert_eq!(answer.status, 415, "{kind}");
        answer.error();
    }
    let overridden = [("X-HTTP-Method-Override", "DELETE"), ("Content-Type", "text/plain")];
    assert_eq!(server.ask("POST", "/v1/terminals/session/s", &overridden, Some("x")).status, 415);
    assert_eq!(server.get("/v1/terminals").json()["terminals"], json!([]));
    let charset = [("Content-Type", "application/json; charset=utf-8")];
    assert_eq!(server.ask("POST", "/v1/terminals", &charset, Some(&create_body())).status, 201);
}

#[test]
fn every_answer_tells_browsers_what_they_may_not_do() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("read x"));
    let broken = |bytes: &str| {
        let mut http = server.http();
        http.put(bytes);
        http.answer("GET")
    };
    for (what, answer) in [
        ("the page", server.get("/")),
        ("a terminal's page", server.get("/t/session")),
        ("health", server.get("/v1/health")),
        ("json", server.get("/v1/terminals")),
        ("metrics", server.get("/metrics")),
        ("a 404", server.get("/v1/nothing")),
        ("a 405", server.delete("/v1/health")),
        ("a 400", broken("nonsense\r\n\r\n")),
        ("a refused host", server.ask("GET", "/", &[("Host", "evil.example")], None)),
        (
            "a refused upgrade",
            WebSocket::open(server.dial(), &terminal.socket, &[("Origin", "http://evil.example")])
                .err()
                .unwrap(),
        ),
        (
            "an upgrade of nothing",
            WebSocket::open(server.dial(), "/v1/terminals/x/socket", &[]).err().unwrap(),
        ),
    ] {
        let header = |name: &str| answer.header(name).unwrap_or_default();
        assert!(
            header("content-security-policy").contains("frame-ancestors 'none'"),
            "{what}: {:?}",
            answer.headers
        );
        assert_eq!(header("x-content-type-options"), "nosniff", "{what}");
        assert_eq!(header("referrer-policy"), "no-referrer", "{what}");
        assert_eq!(header("cross-origin-resource-policy"), "same-origin", "{what}");
        assert!(
            !answer.headers.iter().any(|(name, _)| name.to_lowercase().starts_with("access-control-")),
            "{what}"
        );
    }
}
