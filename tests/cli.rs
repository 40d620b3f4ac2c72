//! The command line, driven as its users do: the real binary against a real server, on real PTYs.
#![allow(clippy::unwrap_used, missing_docs)]

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, WaitOptions, kill_process};
use rustix::termios::LocalModes;
use wharf::os::{pty, spawn};

const WHARF: &str = env!("CARGO_BIN_EXE_wharf");
/// Nothing here takes this long unless it is broken, also on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(30);
/// The detach key.
const CTRL_BACKSLASH: &[u8] = b"\x1c";

/// A directory that leaves with the test.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("wharf-cli-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        Place(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A running server.
struct Server {
    place: Place,
    child: Child,
    url: String,
}

impl Server {
    fn start() -> Server {
        Server::start_in(Place::new())
    }

    fn start_in(place: Place) -> Server {
        let mut child = Command::new(WHARF)
            .args(["serve", "--listen", "127.0.0.1:0", "--no-shell-integration", "--shell", "/bin/sh"])
            .arg("--runtime-dir")
            .arg(place.path("run"))
            .arg("--state-dir")
            .arg(place.path("state"))
            .env("PS1", "$ ")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut url).unwrap();
        assert!(url.starts_with("http://127.0.0.1:"), "{url:?}");
        let mut socket = String::new();
        lines.read_line(&mut socket).unwrap();
        assert!(socket.starts_with("unix:"), "{socket:?}");
        Server { place, child, url: url.trim().to_owned() }
    }

    fn socket(&self) -> PathBuf {
        self.place.path("run").join("wharf.sock")
    }

    /// Runs a verb to its end.
    fn wharf(&self, args: &[&str]) -> Output {
        command(args, &self.socket()).stdin(Stdio::null()).output().unwrap()
    }

    /// What a verb prints.
    fn says(&self, args: &[&str]) -> String {
        let output = self.wharf(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn new_session(&self, session: &str, script: &str) {
        self.says(&["new", "-d", "-s", session, "--shell", "/bin/sh", "--cwd", "/", "--", "-c", script]);
    }

    /// Waits until the screen of a session holds this.
    fn screen_shows(&self, session: &str, text: &str) -> String {
        wait_until(&format!("{text:?} on the screen of {session}"), || {
            let output = self.wharf(&["screen", session]);
            let screen = String::from_utf8(output.stdout).unwrap();
            (output.status.success() && screen.contains(text)).then_some(screen)
        })
    }

    fn stop(mut self) -> Place {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::mem::replace(&mut self.place, Place(PathBuf::from("/nonexistent")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

fn wait_until<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(Instant::now() < until, "not seen: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn command(args: &[&str], socket: &Path) -> Command {
    let mut command = Command::new(WHARF);
    command.args(args).env("WHARF_SOCKET", socket);
    for name in ["WHARF_URL", "WHARF_TOKEN", "WHARF_LOG", "WHARF_TERMINAL"] {
        command.env_remove(name);
    }
    command
}

/// The binary on a PTY of its own, as in a user's terminal.
struct Terminal {
    master: OwnedFd,
    pid: i32,
    seen: Vec<u8>,
}

impl Terminal {
    fn run(args: &[&str], socket: &Path) -> Terminal {
        let program = spawn::Program {
            path: WHARF.into(),
            arg0: None,
            args: args.iter().map(OsString::from).collect(),
            env: [
                ("WHARF_SOCKET".into(), socket.into()),
                ("PATH".into(), std::env::var_os("PATH").unwrap()),
                ("TERM".into(), "xterm".into()),
            ]
            .into(),
            cwd: "/".into(),
        };
        let child = spawn::spawn(&program, 90, 30).unwrap();
        Terminal { master: child.master, pid: child.pid, seen: Vec::new() }
    }

    fn types(&self, bytes: &[u8]) {
        assert_eq!(pty::write(&self.master, bytes).unwrap(), bytes.len());
    }

    /// Reads what there is; false at the end.
    fn read(&mut self, wait: Duration) -> bool {
        let mut fds = [PollFd::new(&self.master, PollFlags::IN)];
        let timeout = Timespec { tv_sec: 0, tv_nsec: wait.as_nanos() as i64 };
        rustix::event::poll(&mut fds, Some(&timeout)).unwrap();
        let mut bytes = [0; 4096];
        match pty::read(&self.master, &mut bytes) {
            Ok(0) => false,
            Ok(n) => {
                self.seen.extend_from_slice(&bytes[..n]);
                true
            }
            Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// Waits for output; gives all up to and with it, and forgets that.
    fn shows(&mut self, text: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let shown = self.shown();
            if let Some(at) = shown.find(text) {
                let (seen, rest) = shown.split_at(at + text.len());
                self.seen = rest.as_bytes().to_vec();
                return seen.to_owned();
            }
            let alive = self.read(Duration::from_millis(20));
            let grown = self.shown();
            assert!(
                grown.contains(text) || (alive && Instant::now() < until),
                "not seen: {text:?} in {grown:?}"
            );
        }
    }

    /// Waits for the end; gives the exit code and the rest of the output.
    fn ends(mut self) -> (i32, String) {
        let until = Instant::now() + PATIENCE;
        let pid = Pid::from_raw(self.pid).unwrap();
        loop {
            self.read(Duration::from_millis(20));
            if let Some((_, status)) = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG).unwrap() {
                while self.read(Duration::from_millis(1)) && pending(&self.master) {}
                let code = status.exit_status().unwrap_or_else(|| 128 + status.terminating_signal().unwrap());
                return (code, self.shown());
            }
            assert!(Instant::now() < until, "does not end; shown: {:?}", self.shown());
        }
    }

    fn is_raw(&self) -> bool {
        let modes = rustix::termios::tcgetattr(&self.master).unwrap().local_modes;
        !modes.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }
}

fn pending(fd: impl AsFd) -> bool {
    rustix::io::ioctl_fionread(fd).is_ok_and(|bytes| bytes > 0)
}

/// What the outer terminal must hear when it is given back.
fn assert_restored(shown: &str) {
    for part in [
        "1000;",
        "1002;",
        "1003;",
        "1004;",
        "1006;",
        "2004;",
        "\x1b[?7;25h",
        "\x1b>",
        "\x1b(B",
        "\x1b[0 q",
        "\x1b[m",
    ] {
        assert!(shown.contains(part), "{part:?} is missing in {shown:?}");
    }
}

/// A reset may enter it by another number than the program did.
fn leaves_alternate_screen(shown: &str) -> bool {
    ["\x1b[?1049l", "\x1b[?1047l", "\x1b[?47l"].iter().any(|leave| shown.contains(leave))
}

#[test]
fn help_completions_and_manual_name_every_verb() {
    let verbs =
        ["serve", "new", "ls", "attach", "run", "screen", "send", "kill", "token", "completions", "man"];
    for args in [
        &["--help"][..],
        &["man"],
        &["completions", "bash"],
        &["completions", "zsh"],
        &["completions", "fish"],
        &["completions", "elvish"],
    ] {
        let output = Command::new(WHARF).args(args).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{args:?}");
        for verb in verbs {
            assert!(text.contains(verb), "{args:?} says nothing of {verb}");
        }
    }
    for verb in verbs {
        let output = Command::new(WHARF).args([verb, "--help"]).output().unwrap();
        assert!(
            output.status.success() && String::from_utf8(output.stdout).unwrap().contains("Examples:"),
            "{verb}"
        );
    }
}

#[test]
fn a_wrong_command_line_is_exit_code_2_and_a_failure_is_one_line_and_1_or_3_without_a_server() {
    let nowhere = Path::new("/nonexistent/wharf.sock");
    for args in [
        &["frobnicate"][..],
        &["attach"],
        &["new", "--size", "0x5"],
        &["send", "x"],
        &["serve", "--linger", "x"],
    ] {
        let output = command(args, nowhere).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
    for (args, says) in [
        (&["ls"][..], "no wharf server at /nonexistent/wharf.sock; start one with `wharf serve`"),
        (&["ls", "--url", "https://h"], "http://"),
        (&["ls", "--url", "http://127.0.0.1:1"], "wharf serve"),
        (&["ls", "--token-file", "/nonexistent/t"], "wharf token new /nonexistent/t"),
        (&["serve", "--token-file", "/nonexistent/t"], "wharf token new /nonexistent/t"),
        (&["serve", "--listen", "x"], "HOST:PORT"),
    ] {
        let output = command(args, nowhere).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        let code = if says.contains("wharf serve") { 3 } else { 1 };
        assert_eq!((output.status.code(), error.lines().count()), (Some(code), 1), "{args:?}: {error}");
        assert!(error.starts_with("wharf: ") && error.contains(says), "{args:?}: {error}");
    }
}

#[test]
fn a_reader_that_left_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(WHARF).arg("man").stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn a_token_is_made_once_kept_private_and_rotated_on_request() {
    let place = Place::new();
    let file = place.path("token");
    let name = file.to_str().unwrap();
    let wharf = |args: &[&str]| command(args, Path::new("/nonexistent")).output().unwrap();
    assert!(wharf(&["token", "new", name]).status.success());
    let token = fs::read_to_string(&file).unwrap();
    assert_eq!((token.trim().len(), fs::metadata(&file).unwrap().permissions().mode() & 0o777), (64, 0o600));
    let again = wharf(&["token", "new", name]);
    assert!(String::from_utf8(again.stderr).unwrap().contains("--replace"));
    assert_eq!(fs::read_to_string(&file).unwrap(), token);
    assert!(wharf(&["token", "new", "--replace", name]).status.success());
    let rotated = fs::read_to_string(&file).unwrap();
    assert_ne!(rotated, token);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let url = wharf(&["token", "url", "http://h:3000/x", name]).stdout;
    assert_eq!(String::from_utf8(url).unwrap(), format!("http://h:3000/x/?t={rotated}"));
}

#[test]
fn a_session_is_made_listed_typed_into_read_and_ended() {
    let server = Server::start();
    assert_eq!(server.says(&["new", "-d", "-s", "work", "--size", "100x20"]), "work\n");
    let made_up = server.says(&["new", "-d"]);
    let list = server.says(&["ls"]);
    assert!(list.contains("work") && list.contains("100x20") && list.contains(made_up.trim()), "{list}");
    assert!(server.says(&["ls", "--json"]).contains("\"sessionId\": \"work\""));
    server.says(&["send", "work", "--enter", "echo", "one$((1+1))three"]);
    server.screen_shows("work", "one2three");
    server.says(&["send", "work", "cat", "--key", "Enter"]);
    server.screen_shows("work", "cat");
    server.says(&["send", "work", "--key", "C-c"]);
    server.screen_shows("work", "^C");
    let vt = server.says(&["screen", "work", "--vt", "--no-scrollback"]);
    assert!(vt.starts_with(['\x1b', '\x18']) && vt.contains("one2three"), "{vt:?}");
    server.says(&["kill", "work"]);
    let output = server.wharf(&["screen", "nosuch"]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("wharf new -s nosuch"));
    server.says(&["kill", "--all"]);
    wait_until("no live session", || (!server.says(&["ls"]).contains("running")).then_some(()));
}

#[test]
fn standard_input_is_typed_whole() {
    let server = Server::start();
    let file = server.place.path("typed");
    let script = format!("stty raw -echo; echo ready; head -c 400002 > {}; echo done", file.display());
    server.new_session("typed", &script);
    server.screen_shows("typed", "ready");
    let text = "añ".repeat(133_334);
    let mut child =
        command(&["send", "typed", "--stdin"], &server.socket()).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    server.screen_shows("typed", "done");
    assert!(fs::read_to_string(&file).unwrap() == text);
}

#[test]
fn attach_shows_types_detaches_and_gives_the_terminal_back() {
    let server = Server::start();
    server.new_session("work", "printf 'earlier\\n'; while read -r line; do eval \"$line\"; done");
    server.screen_shows("work", "earlier");
    let mut terminal = Terminal::run(&["attach", "work"], &server.socket());
    let greeting = terminal.shows("detaches");
    assert!(greeting.contains("attached to work") && greeting.contains("Ctrl-\\"), "{greeting:?}");
    terminal.shows("earlier");
    assert!(terminal.is_raw());
    terminal.types(b"stty size\r");
    terminal.shows("30 90");
    // What a full-screen program leaves behind when one walks away from it.
    terminal.types(b"printf '\\033[?1049h\\033[?1000h\\033[>1u\\033[2;5rfull\\n'\r");
    terminal.shows("\x1b[2;5rfull");
    terminal.types(CTRL_BACKSLASH);
    let left = terminal.shows("comes back]");
    assert_restored(&left);
    assert!(left.contains("\x1b[?1049l") && left.contains("\x1b[<1u") && left.contains("\x1b[r"), "{left:?}");
    assert!(!terminal.is_raw());
    assert_eq!(terminal.ends().0, 0);

    // The session goes on, and a second attachment leaves with the program's exit code.
    let mut terminal = Terminal::run(&["attach", "work"], &server.socket());
    terminal.shows("full");
    terminal.types(b"printf 'again\\n'\r");
    terminal.shows("again");
    terminal.types(b"exit 7\r");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 7, "{rest:?}");
    assert_restored(&rest);
    assert!(leaves_alternate_screen(&rest) && rest.contains("\x1b[<"), "{rest:?}");
    assert!(rest.contains("[session work exited with 7]"), "{rest:?}");
}

#[test]
fn the_users_scrollback_is_not_cleared_by_attaching() {
    let server = Server::start();
    server.new_session("work", "printf 'earlier\\n'; exec cat");
    server.screen_shows("work", "earlier");
    let mut terminal = Terminal::run(&["attach", "work"], &server.socket());
    let shown = terminal.shows("earlier");
    assert!(!shown.contains("\x1bc") && !shown.contains("\x1b[3J"), "{shown:?}");
    terminal.types(CTRL_BACKSLASH);
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn a_signal_gives_the_terminal_back_too() {
    let server = Server::start();
    server.new_session("work", "printf '\\033[?1049hfull\\n'; exec cat");
    for signal in [Signal::TERM, Signal::HUP] {
        let mut terminal = Terminal::run(&["attach", "work"], &server.socket());
        terminal.shows("full");
        kill_process(Pid::from_raw(terminal.pid).unwrap(), signal).unwrap();
        let shown = terminal.shows("\x1b[?7;25h") + &terminal.shows("\x1b[0 q\x1b[m");
        assert_restored(&shown);
        assert!(leaves_alternate_screen(&shown), "{shown:?}");
        wait_until("cooked mode", || (!terminal.is_raw()).then_some(()));
        assert_eq!(terminal.ends().0, 128 + signal.as_raw());
    }
}

#[test]
fn read_only_types_nothing_but_can_detach() {
    let server = Server::start();
    server.new_session("work", "stty -echo; printf 'ready\\n'; while read -r line; do echo got $line; done");
    server.screen_shows("work", "ready");
    let mut terminal = Terminal::run(&["attach", "-r", "--detach-key", "C-a,d", "work"], &server.socket());
    terminal.shows("ready");
    terminal.types(b"mine\r");
    server.says(&["send", "work", "--enter", "yours"]);
    terminal.shows("got yours");
    terminal.types(b"\x01d");
    assert_eq!(terminal.ends().0, 0);
    let screen = server.says(&["screen", "work"]);
    assert!(!screen.contains("mine"), "{screen}");
    assert!(server.says(&["ls"]).contains("80x24"));
}

#[test]
fn new_attaches_when_a_person_sits_there() {
    let server = Server::start();
    let mut terminal = Terminal::run(&["new", "-s", "mine", "--shell", "/bin/sh"], &server.socket());
    terminal.shows("attached to mine");
    terminal.types(b"stty size; exit 4\r");
    terminal.shows("30 90");
    assert_eq!(terminal.ends().0, 4);
}

#[test]
fn a_pipe_is_typed_and_the_output_goes_on_to_the_exit() {
    let server = Server::start();
    server.new_session("work", "stty -echo; printf 'ready\\n'; read line; echo got $line; exit 3");
    let mut child = command(&["attach", "work"], &server.socket())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"words\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("ready") && text.contains("got words"), "{text:?}");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn without_input_attach_sleeps_and_still_shows_what_comes() {
    let server = Server::start();
    server.new_session("work", "stty -echo; while read -r line; do echo got $line; done");
    let mut child = command(&["attach", "work"], &server.socket())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    server.says(&["send", "work", "--enter", "first"]);
    assert!(lines.by_ref().any(|line| line.unwrap().contains("got first")));
    // A spinning process is never found asleep twenty times in a row.
    let asleep = || {
        std::thread::sleep(Duration::from_millis(5));
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        stat.rsplit(") ").next().unwrap().starts_with('S')
    };
    wait_until("twenty sleeps in a row", || (0..20).all(|_| asleep()).then_some(()));
    server.says(&["send", "work", "--key", "C-d"]);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Passes bytes between a socket of its own and the server's, until told to cut every connection.
struct Proxy {
    path: PathBuf,
    streams: Arc<Mutex<Vec<UnixStream>>>,
    refuses: Arc<AtomicBool>,
}

impl Proxy {
    fn start(place: &Place, server: PathBuf) -> Proxy {
        let path = place.path("proxy.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let streams: Arc<Mutex<Vec<UnixStream>>> = Arc::default();
        let refuses: Arc<AtomicBool> = Arc::default();
        let (kept, closed) = (Arc::clone(&streams), Arc::clone(&refuses));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if closed.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(upstream) = UnixStream::connect(&server) else { continue };
                let ends =
                    [(client.try_clone(), upstream.try_clone()), (upstream.try_clone(), client.try_clone())];
                kept.lock().unwrap().extend([client, upstream]);
                for (from, to) in ends {
                    let (mut from, mut to) = (from.unwrap(), to.unwrap());
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(std::net::Shutdown::Both);
                    });
                }
            }
        });
        Proxy { path, streams, refuses }
    }

    /// Cuts every connection, and new ones at once, until told otherwise.
    fn refuse(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::SeqCst);
        self.cut();
    }

    fn cut(&self) {
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

#[test]
fn every_line_typed_over_cut_connections_arrives_exactly_once() {
    let server = Server::start();
    let proxy = Proxy::start(&server.place, server.socket());
    server.new_session("work", "stty -echo; printf 'ready\\n'; while read -r line; do echo got $line; done");
    server.screen_shows("work", "ready");
    let mut terminal = Terminal::run(&["attach", "work"], &proxy.path);
    terminal.shows("ready");
    let lines: Vec<String> = (1..=40).map(|n| format!("line-{n:03}-")).collect();
    for (n, line) in lines.iter().enumerate() {
        terminal.types(format!("{line}\r").as_bytes());
        if n % 3 == 0 {
            proxy.cut();
        }
        if n % 7 == 0 {
            terminal.shows(&format!("got {line}"));
        }
    }
    terminal.types(b"last\r");
    terminal.shows("got last");
    let screen = server.says(&["screen", "work"]);
    let got: Vec<&str> = screen.lines().filter_map(|line| line.strip_prefix("got ")).collect();
    assert_eq!(got, lines.iter().map(String::as_str).chain(["last"]).collect::<Vec<_>>());
    terminal.types(CTRL_BACKSLASH);
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn a_query_of_the_past_is_not_put_to_the_users_terminal_again() {
    let server = Server::start();
    let proxy = Proxy::start(&server.place, server.socket());
    let script = "stty raw -echo; printf ready; until [ \"$(head -c 1)\" = x ]; do :; done; \
                  printf '\\033[6n\\033[c\\033]11;?\\007past'; until [ \"$(head -c 1)\" = y ]; do :; done; \
                  printf '\\033[6nnow'; exec cat";
    server.new_session("work", script);
    server.screen_shows("work", "ready");
    let mut terminal = Terminal::run(&["attach", "work"], &proxy.path);
    terminal.shows("ready");
    proxy.refuse(true);
    server.says(&["send", "work", "x"]);
    server.screen_shows("work", "past");
    proxy.refuse(false);
    let shown = terminal.shows("past");
    for query in ["\x1b[6n", "\x1b[c", "\x1b]11;?"] {
        assert!(!shown.contains(query), "{shown:?}");
    }
    // A live one is.
    terminal.types(b"y");
    assert!(terminal.shows("now").contains("\x1b[6n"));
    terminal.types(CTRL_BACKSLASH);
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn the_greeting_leaves_and_what_it_covered_comes_back() {
    let server = Server::start();
    server.new_session("work", "for i in $(seq 1 50); do echo line $i.; done; exec cat");
    server.screen_shows("work", "line 50.");
    let mut terminal = Terminal::run(&["attach", "work"], &server.socket());
    let painted = terminal.shows("attached to work; Ctrl-\\ detaches");
    assert!(painted.contains("line 1.") && painted.contains("line 50."), "{painted:?}");
    let again = terminal.shows("line 50.");
    // Only the screen: the scrollback is in the user's terminal already.
    assert!(again.contains("line 40.") && !again.contains("line 10."), "{again:?}");
    terminal.types(CTRL_BACKSLASH);
    assert!(!terminal.ends().1.contains("attached to"));
}

#[test]
fn output_over_cut_connections_is_whole() {
    let server = Server::start();
    let proxy = Proxy::start(&server.place, server.socket());
    let script = "read go; i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo number $i.; done; read go; exit 5";
    server.new_session("work", script);
    let mut child = command(&["attach", "work"], &proxy.path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    server.says(&["send", "work", "--enter", "go"]);
    let mut lines = Vec::new();
    while lines.last().is_none_or(|line: &String| !line.contains("number 3000.")) {
        let mut line = String::new();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0);
        lines.push(line.trim_end().to_owned());
        if lines.len() % 500 == 0 {
            proxy.cut();
        }
    }
    let numbers: Vec<String> = (1..=3000).map(|n| format!("number {n}.")).collect();
    lines.retain(|line| line.starts_with("number"));
    assert!(lines == numbers);
    server.says(&["send", "work", "--enter", "go"]);
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn a_server_that_is_gone_for_good_is_told_and_can_be_left() {
    let server = Server::start();
    server.new_session("work", "printf 'ready\\n'; exec cat");
    server.screen_shows("work", "ready");
    let socket = server.socket();
    let mut terminal = Terminal::run(&["attach", "work"], &socket);
    terminal.shows("ready");
    let place = server.stop();
    terminal.shows("connection lost, trying again");
    // The next life of the server does not know the session.
    let server = Server::start_in(place);
    let (code, rest) = terminal.ends();
    assert_eq!(code, 1, "{rest:?}");
    assert!(rest.contains("wharf: session work is gone"), "{rest:?}");
    assert_restored(&rest);
    drop(server);
}

#[test]
fn a_url_and_a_token_reach_a_server_as_well() {
    let server = Server::start();
    let url = server.url.clone();
    let nowhere = Path::new("/nonexistent");
    let output = command(&["new", "-d", "-s", "far", "--url", &url], nowhere).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut terminal = Terminal::run(&["attach", "--url", &url, "far"], nowhere);
    terminal.shows("attached to far");
    terminal.types(b"pwd; exit 9\r");
    assert_eq!(terminal.ends().0, 9);
}

#[test]
fn run_shows_a_command_here_and_there_and_gives_its_exit_code() {
    let server = Server::start();
    let script = "stty size; printf 'ready\\n'; while read -r line; do case $line in bye) exit 6;; esac; echo got $line; done";
    let mut terminal = Terminal::run(&["run", "-s", "job", "--", "sh", "-c", script], &server.socket());
    terminal.shows("30 90");
    terminal.shows("ready");
    assert!(server.says(&["ls"]).contains("agent"));
    terminal.types(b"here\r");
    terminal.shows("got here");
    server.says(&["send", "job", "--enter", "there"]);
    terminal.shows("got there");
    server.screen_shows("job", "got there");
    terminal.types(b"bye\r");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 6, "{rest:?}");
    assert!(!rest.contains("wharf:"), "{rest:?}");
    wait_until("the exit in the list", || server.says(&["ls"]).contains("exited with 6").then_some(()));
}

#[test]
fn a_command_is_ended_from_the_server() {
    let server = Server::start();
    let terminal = {
        let mut terminal =
            Terminal::run(&["run", "-s", "job", "sh", "-c", "echo ready; exec sleep 600"], &server.socket());
        terminal.shows("ready");
        terminal
    };
    server.says(&["kill", "job"]);
    assert_eq!(terminal.ends().0, 128 + Signal::HUP.as_raw());
}

#[test]
fn a_command_goes_on_without_the_server_and_is_shown_again_when_it_is_back() {
    let place = Place::new();
    let socket = place.path("run").join("wharf.sock");
    let script = "stty -echo; echo ready; while read -r line; do echo got $line; done";
    let mut terminal = Terminal::run(&["run", "-s", "job", "--", "sh", "-c", script], &socket);
    terminal.shows("no wharf server at");
    terminal.shows("ready");
    let server = Server::start_in(place);
    server.screen_shows("job", "ready");
    let place = server.stop();
    terminal.types(b"alone\r");
    terminal.shows("got alone");
    let server = Server::start_in(place);
    server.screen_shows("job", "got alone");
    server.says(&["send", "job", "--enter", "hello"]);
    terminal.shows("got hello");
    terminal.types(b"\x04");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn a_command_that_cannot_start_is_one_line() {
    let server = Server::start();
    let output = server.wharf(&["run", "-s", "job", "--", "/nonexistent/program"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), error.lines().count()), (Some(1), 1), "{error}");
    assert!(error.contains("/nonexistent/program"), "{error}");
}

#[test]
fn the_end_of_piped_input_ends_the_commands_input() {
    let server = Server::start();
    let mut child = command(&["run", "-s", "job", "--", "sh", "-c", "stty -echo; wc -l"], &server.socket())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"a\nb\nc\n").unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(text.contains('3'), "{text:?}");
}
