//! Starting, refusing to start, running where servers are run, and leaving.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use crate::harness::*;

#[track_caller]
fn refuses(launch: Launch, says: &[&str]) {
    let (code, log) = launch.refused();
    assert_eq!(code, Some(1), "{log}");
    assert_eq!(log.trim_end().lines().count(), 1, "one line: {log}");
    for word in says {
        assert!(log.contains(word), "no {word:?} in {log}");
    }
}

#[test]
fn a_ready_line_is_printed_for_each_listener() {
    let dir = server::Dir::new();
    let extra = dir.file("extra.sock");
    let flags =
        ["--listen", "127.0.0.1:0", "--listen", "[::1]:0", "--listen", &format!("unix:{}", extra.display())];
    let server = Server::start(&flags);
    let urls = &server.urls;
    assert_eq!(urls.len(), 4, "{urls:?}");
    assert!(urls.iter().any(|url| url.starts_with("http://127.0.0.1:") && url.ends_with('/')), "{urls:?}");
    assert!(urls.iter().any(|url| url.starts_with("http://[::1]:") && url.ends_with('/')), "{urls:?}");
    assert!(urls.contains(&format!("unix:{}", extra.display())), "{urls:?}");
    assert!(urls.contains(&format!("unix:{}", server.unix().display())), "{urls:?}");
    assert!(!urls.iter().any(|url| url.contains(":0/")), "the real port: {urls:?}");
    let v6 = urls.iter().find_map(|url| url.strip_prefix("http://[::1]:")).unwrap().trim_end_matches('/');
    let mut http = Http::over(Stream::tcp(format!("[::1]:{v6}").parse().unwrap()));
    http.send("GET", "/v1/terminals", &[], None);
    assert_eq!(http.answer("GET").status, 200);
    let mut http = Http::over(Stream::Unix(std::os::unix::net::UnixStream::connect(&extra).unwrap()));
    http.send("GET", "/v1/terminals", &[], None);
    assert_eq!(http.answer("GET").status, 200);
    drop(server);
    assert!(!extra.exists(), "its socket goes with the server");
}

#[test]
fn a_listener_may_be_passed_by_systemd() {
    let exec = "import os,socket,sys
s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()
os.dup2(s.fileno(), 3); os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()), NOTIFY_SOCKET='/nowhere')
os.execv(sys.argv[1], sys.argv[1:])";
    let server =
        Launch::default().under(&["/usr/bin/python3", "-c", exec]).flags(&["--listen", "fd"]).start();
    assert!(server.urls.iter().any(|url| url.starts_with("http://127.0.0.1:")), "{:?}", server.urls);
    let terminal = server.make(80, 24, sh("env; ls -l /proc/self/fd; echo shown; read x"));
    server.until_screen(&terminal, "shown");
    let screen = server.screen(&terminal);
    assert!(
        !screen.contains("LISTEN_") && !screen.contains("NOTIFY_SOCKET") && !screen.contains("socket:"),
        "{screen}"
    );
}

#[test]
fn a_port_in_use_is_one_line() {
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = held.local_addr().unwrap().to_string();
    refuses(Launch::default().flags(&["--listen", &addr]), &[&addr, "in use"]);
}

#[test]
fn an_unreadable_token_file_is_one_line() {
    refuses(Launch::default().flags(&["--token-file", "/nowhere/token"]), &["/nowhere/token"]);
    let dir = server::Dir::new();
    std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let path = dir.path().to_str().unwrap();
    refuses(Launch::default().flags(&["--token-file", path]), &[path]);
    std::fs::write(dir.file("empty"), "\n").unwrap();
    let empty = dir.file("empty");
    std::fs::set_permissions(&empty, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    refuses(Launch::default().flags(&["--token-file", empty.to_str().unwrap()]), &["empty"]);
}

#[test]
fn a_state_directory_that_cannot_be_made_is_one_line() {
    refuses(Launch::default().flags(&["--state-dir", "/proc/nowhere"]), &["/proc/nowhere"]);
    refuses(Launch::default().flags(&["--runtime-dir", "/dev/null/x"]), &["/dev/null/x"]);
}

#[test]
fn a_socket_path_that_is_too_long_is_one_line() {
    let long = format!("/tmp/{}", "x".repeat(120));
    refuses(Launch::default().flags(&["--runtime-dir", &long]), &["at most 107"]);
    let _ = std::fs::remove_dir_all(&long);
    refuses(Launch::default().flags(&["--listen", &format!("unix:{long}.sock")]), &["at most 107"]);
}

#[test]
fn addresses_that_are_none_are_refused() {
    for address in ["nonsense", "127.0.0.1", "127.0.0.1:99999", "unix:", "203.0.113.7:1"] {
        let (code, log) = Launch::default().flags(&["--listen", address]).refused();
        assert!(matches!(code, Some(1 | 2)), "{address} gave {code:?}");
        assert!(log.contains(address) || log.contains("--listen"), "{address}: {log}");
    }
}

#[test]
fn a_second_server_neither_starts_nor_disturbs_the_first() {
    let server = Server::start(&[]);
    let root = server.dir.path().to_path_buf();
    refuses(Launch::default().in_dir(&root), &["running"]);
    // Not even when the first one cannot answer.
    server.signal("STOP");
    refuses(Launch::default().in_dir(&root), &["running"]);
    // Nor beside it, at the same state.
    let elsewhere = root.join("elsewhere");
    let beside = Launch::default().in_dir(&root).flags(&["--runtime-dir", elsewhere.to_str().unwrap()]);
    refuses(beside, &["state.json", "running", "--state-dir"]);
    server.signal("CONT");
    server.still_serves();
    let mut unix = Http::over(server.dial_unix());
    unix.send("GET", "/v1/health", &[], None);
    assert_eq!(unix.answer("GET").status, 200, "its socket was not unlinked");
}

#[test]
fn after_a_kill_its_socket_is_reclaimed() {
    let dir = server::Dir::new();
    let mut first = Launch::default().in_dir(dir.path()).start();
    let socket = first.unix();
    first.signal("KILL");
    first.wait();
    assert!(socket.exists());
    let second = Launch::default().in_dir(dir.path()).start();
    assert!(std::fs::metadata(second.unix()).unwrap().file_type().is_socket());
    second.still_serves();
}

#[test]
fn a_file_that_is_no_socket_is_never_removed() {
    let dir = server::Dir::new();
    let file = dir.file("precious");
    std::fs::write(&file, "work").unwrap();
    refuses(Launch::default().flags(&["--listen", &format!("unix:{}", file.display())]), &["precious"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "work");
}

#[test]
fn an_idle_server_leaves_at_once_and_its_shells_hear_sighup() {
    for signal in ["TERM", "INT"] {
        let mut server = Server::start(&[]);
        let heard = server.dir.file("heard");
        let script = format!(
            "trap 'echo bye > {}; exit' HUP; echo ready; while :; do sleep 0.1; done",
            heard.display()
        );
        let terminal = server.make(80, 24, sh(&script));
        server.until_screen(&terminal, "ready");
        server.signal(signal);
        assert!(server.wait().success());
        eventually("the shell heard SIGHUP", || heard.exists());
        assert!(!server.unix().exists(), "its socket is gone");
    }
}

#[test]
fn a_signal_that_the_parent_ignores_does_no_harm() {
    let ignore = "import os,signal,sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN); signal.signal(signal.SIGPIPE, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
os.execv(sys.argv[1], sys.argv[1:])";
    let server = Launch::default().under(&["/usr/bin/python3", "-c", ignore]).start();
    let terminal = server.make(80, 24, sh("grep -E 'Sig(Ign|Blk)' /proc/self/status; exit 5"));
    let mut client = server.attach(&terminal, 2);
    client.expect("SigBlk:\t0000000000000000");
    client.expect("SigIgn:\t");
    client.expect("\r\n");
    let text = client.text();
    let ignored = text.split("SigIgn:\t").nth(1).unwrap().trim();
    // 32 and 33 are the C library's own; nobody can set them back.
    assert_eq!(u64::from_str_radix(ignored, 16).unwrap() & 0x7fff_ffff, 0, "{text}");
    client.expect_exit(5);
    server.still_serves();
}

#[test]
fn as_process_1_it_reaps_orphans_too() {
    let server = Launch::default().under(&["unshare", "-pf", "--mount-proc", "--kill-child=KILL"]).start();
    let namespaced = std::fs::read_to_string(format!("/proc/{}/status", server.pid)).unwrap();
    assert!(
        namespaced.lines().any(|line| line.starts_with("NSpid:") && line.ends_with("\t1")),
        "it is process 1"
    );
    let terminal = server.make(
        80,
        24,
        sh("for i in 1 2 3 4 5 6 7 8; do (setsid sleep 0.2 &) ; done; echo forked; exit 9"),
    );
    let mut client = server.attach(&terminal, 2);
    client.expect("forked");
    client.expect_exit(9);
    eventually("the orphans are reaped", || processes::children(server.pid).is_empty());
    server.still_serves();
}

#[test]
fn out_of_descriptors_it_neither_spins_nor_forgets() {
    let _alone = alone();
    let server = Launch::default().under(&["prlimit", "--nofile=64:64"]).start();
    server.still_serves();
    let addr = server.addr();
    let mut held = Vec::new();
    for _ in 0..100 {
        held.push(std::net::TcpStream::connect(addr).unwrap());
    }
    eventually("the table is full", || processes::descriptors(server.pid).len() >= 60);
    let ticks = processes::ticks_in_a_second(server.pid);
    assert!(ticks < 10, "{ticks} ticks in a second while out of descriptors");
    held.clear();
    eventually("it accepts again", || {
        let mut http = server.http();
        http.send("GET", "/v1/health", &[], None);
        http.try_answer("GET").is_some_and(|answer| answer.status == 200)
    });
    server.still_serves();
    // A shell that cannot be started for want of descriptors is an answer, not an end.
    for n in 0..60 {
        let body = json!({"sessionId": format!("n{n}"), "cwd": "/", "cols": 80, "rows": 24, "shell": "/bin/sh", "args": ["-c", "read x"]});
        let mut http = server.http();
        http.send("POST", "/v1/terminals", &[("Content-Type", "application/json")], Some(&body.to_string()));
        if http.try_answer("POST").is_none_or(|answer| answer.status != 201) {
            break;
        }
        assert!(n < 59, "60 terminals in 64 descriptors");
    }
    assert!(processes::alive(server.pid));
}

#[test]
fn ten_thousand_connections_that_reset_at_once_do_no_harm() {
    let _alone = alone();
    let server = Server::start(&[]);
    let before = processes::descriptors(server.pid).len();
    for _ in 0..10_000 {
        server.dial().reset_on_close();
    }
    server.still_serves();
    eventually("none is kept", || processes::descriptors(server.pid).len() <= before + 4);
}

#[test]
fn a_broken_standard_output_does_not_end_it() {
    let server = Launch::default().under(&["setsid"]).start();
    assert!(Path::new(&format!("/proc/{}", server.pid)).exists());
    server.signal("PIPE");
    server.still_serves();
}
