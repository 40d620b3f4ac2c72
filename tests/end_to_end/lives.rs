//! Programs and their ends: nothing is left behind, and nothing holds on to the dead.

use crate::harness::*;

/// What is open before any terminal, once the server has settled.
fn base(server: &Server) -> usize {
    server.still_serves();
    server.get("/v1/health");
    processes::descriptors(server.pid).len()
}

#[test]
fn a_background_job_does_not_hold_the_exit_back() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh("sleep 600 & echo $!; exit 7"));
        let mut client = server.attach(&terminal, protocol);
        client.expect_exit(7);
        assert_eq!(processes::zombies(server.pid), 0);
        let again = server.make_in(&terminal.session, 80, 24, sh("read x"));
        assert_ne!(again.id, terminal.id);
        let job = client.text().trim().parse().unwrap();
        processes::signal(job, "KILL");
    }
    eventually("the loop rests", || processes::ticks_in_a_second(server.pid) < 5);
}

#[test]
fn five_hundred_terminals_leave_no_descriptor_and_no_zombie() {
    let _alone = alone();
    let server = Server::start(&["--linger", "0"]);
    let before = base(&server);
    for round in 0..500 {
        let terminal = server.make(80, 24, sh("exit"));
        if round % 5 == 0 {
            server.attach(&terminal, 2).exit();
        }
    }
    eventually("everything is given back", || {
        processes::descriptors(server.pid).len() <= before && processes::children(server.pid).is_empty()
    });
    assert!(
        !processes::descriptors(server.pid).iter().any(|link| link.contains("pts") || link.contains("ptmx"))
    );
}

#[test]
fn failed_starts_and_immortal_grandchildren_leave_no_descriptor() {
    let _alone = alone();
    let server = Server::start(&["--linger", "0"]);
    let before = base(&server);
    let bad = json!({"sessionId": "s", "cwd": "/", "cols": 80, "rows": 24, "shell": "/nonexistent"});
    for _ in 0..2000 {
        assert_eq!(server.post("/v1/terminals", &bad).status, 400);
    }
    // A file that may be executed and cannot.
    let broken = server.dir.file("broken");
    std::fs::write(&broken, "\u{7f}ELF nonsense").unwrap();
    std::fs::set_permissions(&broken, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let broken =
        json!({"sessionId": "t", "cwd": "/", "cols": 80, "rows": 24, "shell": broken.to_str().unwrap()});
    for _ in 0..20 {
        let answer = server.post("/v1/terminals", &broken);
        assert!((400..500).contains(&answer.status), "{}", answer.text());
        answer.error();
    }
    let mark = format!("9{:06}", server.pid);
    for _ in 0..200 {
        let terminal = server.make(80, 24, sh(&format!("setsid sleep {mark} & echo up; read x")));
        server.until_screen(&terminal, "up");
        assert_eq!(server.delete(&format!("/v1/terminals/session/{}", terminal.session)).status, 200);
    }
    eventually("everything is given back", || processes::descriptors(server.pid).len() <= before);
    eventually("nobody is left to reap", || processes::zombies(server.pid) == 0);
    let _ = std::process::Command::new("pkill").args(["-f", &format!("^sleep {mark}$")]).status();
}

#[test]
fn two_hundred_exits_at_once_are_all_reaped() {
    let server = Server::start(&[]);
    let terminals: Vec<Terminal> = (0..200).map(|_| server.make(80, 24, sh("read x; exit 3"))).collect();
    let pids: Vec<u32> =
        terminals.iter().map(|terminal| server.describe(terminal)["pid"].as_u64().unwrap() as u32).collect();
    for pid in pids {
        processes::signal(pid, "KILL");
    }
    eventually("all are reaped", || processes::children(server.pid).is_empty());
    for terminal in &terminals {
        assert_eq!(server.describe(terminal)["exitCode"], 137);
    }
}

#[test]
fn a_closed_terminal_gets_sighup_and_time_and_then_sigkill() {
    let server = Server::start(&[]);
    for by_frame in [true, false] {
        let close = |terminal: &Terminal| match by_frame {
            true => {
                let mut client = server.attach(terminal, 2);
                let number = client.close();
                client.expect_ack(number);
            }
            false => assert!(server.delete(&format!("/v1/terminals/{}", terminal.id)).status < 300),
        };
        let heard = server.dir.file(&format!("heard-{by_frame}"));
        let polite = format!(
            "trap 'sleep 0.3; echo bye > {}; exit' HUP; echo ready; while :; do sleep 0.1; done",
            heard.display()
        );
        let terminal = server.make(80, 24, sh(&polite));
        server.until_screen(&terminal, "ready");
        close(&terminal);
        eventually("the trap ran to its end", || {
            std::fs::read_to_string(&heard).is_ok_and(|text| text == "bye\n")
        });
        // One that hears nothing, and its whole process group.
        let terminal = server.make(80, 24, sh("trap '' HUP TERM; sleep 999 & echo ready $!; sleep 999"));
        server.until_screen(&terminal, "ready");
        let shell = server.describe(&terminal)["pid"].as_u64().unwrap() as u32;
        let job: u32 = server.screen(&terminal).trim().split(' ').nth(1).unwrap().parse().unwrap();
        close(&terminal);
        eventually("it is killed", || !processes::alive(shell) && !processes::alive(job));
    }
}

#[test]
fn the_shell_has_the_environment_that_a_terminal_promises() {
    let cases: [(Launch, &str); 3] = [
        (Launch::default(), "LANG=C.UTF-8"),
        (Launch::default().bare_env(), "LANG=C.UTF-8"),
        (
            Launch::default()
                .env("TMUX", "/tmp/x,1,0")
                .env("TMUX_PANE", "%1")
                .env("STY", "1.x")
                .env("TERMINFO", "/nowhere")
                .env("KITTY_WINDOW_ID", "1")
                .env("VTE_VERSION", "6800")
                .env("GHOSTTY_BIN_DIR", "/nowhere")
                .env("TERM_PROGRAM", "other")
                .env("TERM_PROGRAM_VERSION", "9")
                .env("COLUMNS", "10")
                .env("LINES", "10")
                .env("NOTIFY_SOCKET", "/nowhere")
                .env("INVOCATION_ID", "x")
                .env("JOURNAL_STREAM", "8:1")
                .env("LANG", "de_DE.UTF-8"),
            "LANG=de_DE.UTF-8",
        ),
    ];
    for (launch, lang) in cases {
        let server = launch.start();
        let terminal = server.make(
            200,
            80,
            sh("env | sort; echo shown; ls -l /proc/self/fd | grep -c ' [0-9]* -> /'; tty; read x"),
        );
        server.until_screen(&terminal, "/dev/pts");
        let screen = server.screen(&terminal);
        let env: Vec<&str> = screen.lines().collect();
        let session = format!("WHARF_SESSION={}", terminal.session);
        let id = format!("WHARF_TERMINAL={}", terminal.id);
        let surface = format!("HT_SURFACE={}", terminal.id);
        let socket = format!("WHARF_SOCKET={}", server.unix().display());
        for wanted in [
            "TERM=xterm-256color",
            "COLORTERM=truecolor",
            "TERM_PROGRAM=wharf",
            lang,
            &session,
            &id,
            &surface,
            &socket,
        ] {
            assert!(env.contains(&wanted), "no {wanted} in {screen}");
        }
        for name in ["HOME=", "PATH=", "SHELL=", "USER="] {
            assert!(env.iter().any(|line| line.starts_with(name)), "no {name} in {screen}");
        }
        for name in [
            "TMUX",
            "STY=",
            "TERMINFO",
            "KITTY_",
            "VTE_",
            "GHOSTTY_",
            "COLUMNS=",
            "LINES=",
            "NOTIFY_SOCKET",
            "INVOCATION_ID",
            "JOURNAL_STREAM",
            "LISTEN_",
            "WHARF_TOKEN",
            "WHARF_LOG",
        ] {
            assert!(!env.iter().any(|line| line.starts_with(name)), "{name} in {screen}");
        }
    }
}

#[test]
fn the_shell_inherits_no_descriptor_but_its_own_terminal() {
    let server = Server::start(&[]);
    let other = server.make(80, 24, sh("read x"));
    let _client = server.attach(&other, 2);
    let script = "import os; print('fds', sorted(os.readlink('/proc/self/fd/%s' % n) for n in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/%s' % n))); input()";
    let terminal = server.make(300, 24, python(script));
    server.until_screen(&terminal, "fds");
    let screen = server.screen(&terminal);
    for kind in ["socket:", "ptmx", "eventpoll", "wharf.sock", "/log"] {
        assert!(!screen.contains(kind), "{screen}");
    }
}

#[test]
fn the_default_shell_is_the_flag_then_the_environment_then_the_passwd_entry() {
    let shell_of = |launch: Launch| {
        let server = launch.start();
        let body = json!({"sessionId": "s", "cwd": "/", "cols": 80, "rows": 24});
        let created = server.post("/v1/terminals", &body);
        assert_eq!(created.status, 201, "{}", created.text());
        let terminal = Terminal::from(&created.json(), "s");
        let pid = server.describe(&terminal)["pid"].clone();
        std::fs::read_link(format!("/proc/{pid}/exe")).unwrap().display().to_string()
    };
    let real = |path: &str| std::fs::canonicalize(path).unwrap().display().to_string();
    assert_eq!(
        shell_of(Launch::default().flags(&["--shell", "/bin/dash"]).env("SHELL", "/bin/bash")),
        real("/bin/dash")
    );
    assert_eq!(shell_of(Launch::default().env("SHELL", "/usr/bin/zsh")), real("/usr/bin/zsh"));
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    let root = passwd
        .lines()
        .find(|line| line.starts_with("root:"))
        .unwrap()
        .rsplit(':')
        .next()
        .unwrap()
        .to_string();
    assert_eq!(shell_of(Launch::default().env("SHELL", "/nowhere")), real(&root));
}

#[test]
fn a_terminal_at_rest_wakes_nobody() {
    let _alone = alone();
    let server = Server::start(&[]);
    let mut clients = Vec::new();
    for number in 0..20 {
        let terminal = server.make(80, 24, sh("printf '\\033]2;title\\007ready'; read x"));
        let mut client = server.attach(&terminal, 1 + number % 2);
        client.expect("ready");
        client.settle();
        clients.push(client);
    }
    let started = std::time::Instant::now();
    loop {
        let before = (processes::sleeps(server.pid), processes::cpu_ticks(server.pid));
        std::thread::sleep(std::time::Duration::from_secs(3));
        let after = (processes::sleeps(server.pid), processes::cpu_ticks(server.pid));
        if before == after {
            break;
        }
        assert!(started.elapsed() < PATIENCE, "{} wake-ups in three idle seconds", after.0 - before.0);
    }
    for client in &mut clients {
        client.input("\n");
        client.expect_exit(0);
    }
}

#[test]
fn clients_that_are_half_gone_make_no_work() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("echo up; read x"));
    let mut half: Vec<Client> = (0..10).map(|_| server.attach(&terminal, 2)).collect();
    for client in &mut half {
        client.expect("up");
        client.socket.stream.half_close();
    }
    eventually("they are let go", || server.describe(&terminal)["attached"] == 0);
    eventually("the loop rests", || processes::ticks_in_a_second(server.pid) < 5);
}

#[test]
fn each_accepted_connection_sends_small_pieces_at_once() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("stty raw -echo; printf ready; cat"));
    let mut client = server.attach(&terminal, 2);
    client.expect("ready");
    // Nagle and delayed acknowledgements together would make each of these 40 ms: 20 s for 500.
    let before = std::time::Instant::now();
    for _ in 0..500 {
        client.input("x");
        client.expect("x");
    }
    assert!(before.elapsed() < std::time::Duration::from_secs(15), "{:?} for 500 echoes", before.elapsed());
}
