//! The server under test: the real binary, on its own ports and directories.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use super::http::{Answer, Http, Stream};
use super::{Client, PATIENCE, Value, eventually, json, processes};

/// A directory of one test, removed with it.
pub struct Dir(PathBuf);

impl Dir {
    pub fn new() -> Dir {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("wharf-e2e-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Dir(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// How to start a server.
#[derive(Default)]
pub struct Launch {
    flags: Vec<String>,
    env: Vec<(String, String)>,
    bare_env: bool,
    wrapper: Vec<String>,
    listens: usize,
    dir: Option<PathBuf>,
}

impl Launch {
    pub fn flags(mut self, flags: &[&str]) -> Launch {
        self.listens += flags.iter().filter(|flag| **flag == "--listen").count();
        self.flags.extend(flags.iter().map(|flag| flag.to_string()));
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Launch {
        self.env.push((name.into(), value.into()));
        self
    }

    /// `env -i`: the server gets only what `env` says.
    pub fn bare_env(mut self) -> Launch {
        self.bare_env = true;
        self
    }

    /// Starts the server through another program, `unshare -pf` say.
    pub fn under(mut self, wrapper: &[&str]) -> Launch {
        self.wrapper = wrapper.iter().map(|word| word.to_string()).collect();
        self
    }

    /// Runtime and state directory inside of this one, so that a second server meets the first.
    pub fn in_dir(mut self, dir: &Path) -> Launch {
        self.dir = Some(dir.to_path_buf());
        self
    }

    fn command(&mut self, dir: &Path) -> Command {
        let root = self.dir.clone().unwrap_or_else(|| dir.to_path_buf());
        if self.listens == 0 {
            self.flags.extend(["--listen".into(), "127.0.0.1:0".into()]);
            self.listens = 1;
        }
        let binary = env!("CARGO_BIN_EXE_wharf").to_string();
        let words: Vec<String> = self.wrapper.iter().cloned().chain([binary]).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg("serve").args(&self.flags);
        for (flag, name) in [("--runtime-dir", "run"), ("--state-dir", "state")] {
            if !self.flags.iter().any(|given| given == flag) {
                command.arg(flag).arg(root.join(name));
            }
        }
        if self.bare_env {
            command.env_clear();
        } else {
            for name in
                ["WHARF_TOKEN", "WHARF_SOCKET", "WHARF_LOG", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "ZDOTDIR"]
            {
                command.env_remove(name);
            }
            let home = root.join("home");
            std::fs::create_dir_all(&home).unwrap();
            command.env("HOME", home).env("SHELL", "/bin/bash").env("TERM", "dumb").env("LANG", "C.UTF-8");
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.current_dir(dir).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(std::fs::File::create(dir.join("log")).unwrap());
        command
    }

    pub fn start(mut self) -> Server {
        let dir = Dir::new();
        let mut child = self.command(dir.path()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (heard, ready) = mpsc::channel();
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| drop(heard.send(line))));
        let started = Instant::now();
        let mut urls = Vec::new();
        while urls.len() < self.listens + 1 {
            match ready.recv_timeout(PATIENCE.saturating_sub(started.elapsed())) {
                Ok(line) => urls.push(line),
                Err(_) => {
                    let _ = child.kill();
                    let log = std::fs::read_to_string(dir.file("log")).unwrap_or_default();
                    panic!("the server said {urls:?} and no more; its log: {log}");
                }
            }
        }
        let pid = processes::server_below(child.id());
        let root = self.dir.unwrap_or_else(|| dir.path().to_path_buf());
        Server { child: Some(child), pid, urls, token: None, root, dir }
    }

    /// For a start that must fail: the exit code and what stood on stderr.
    pub fn refused(mut self) -> (Option<i32>, String) {
        let dir = Dir::new();
        let mut child = self.command(dir.path()).spawn().unwrap();
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if started.elapsed() > PATIENCE {
                let _ = child.kill();
                let _ = child.wait();
                panic!("the server started, or hung, where it had to refuse");
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        };
        (status.code(), std::fs::read_to_string(dir.file("log")).unwrap())
    }
}

/// What a terminal runs.
pub struct Program {
    shell: String,
    args: Vec<String>,
}

/// `/bin/sh -c script`.
pub fn sh(script: &str) -> Program {
    Program { shell: "/bin/sh".into(), args: vec!["-c".into(), script.into()] }
}

/// A Python script, for exact bytes and exact moments.
pub fn python(script: &str) -> Program {
    Program { shell: "/usr/bin/python3".into(), args: vec!["-c".into(), script.into()] }
}

impl Program {
    /// Any program with its arguments.
    pub fn new(path: &str, args: &[&str]) -> Program {
        Program { shell: path.into(), args: args.iter().map(|arg| arg.to_string()).collect() }
    }

    /// With one argument more.
    pub fn arg(mut self, arg: &str) -> Program {
        self.args.push(arg.to_string());
        self
    }
}

/// A terminal that was created.
#[derive(Clone, Debug)]
pub struct Terminal {
    pub id: String,
    pub session: String,
    pub socket: String,
}

/// A running `wharf serve`. When it goes out of scope it is asked to leave, and must leave cleanly.
pub struct Server {
    child: Option<Child>,
    pub pid: u32,
    /// The lines it printed when it was ready.
    pub urls: Vec<String>,
    /// Sent with each request when set.
    pub token: Option<String>,
    root: PathBuf,
    pub dir: Dir,
}

impl Server {
    pub fn start(flags: &[&str]) -> Server {
        Launch::default().flags(flags).start()
    }

    pub fn unix(&self) -> PathBuf {
        self.root.join("run/wharf.sock")
    }

    /// The address of the first TCP listener.
    pub fn addr(&self) -> SocketAddr {
        let url = self.urls.iter().find(|url| url.starts_with("http://")).expect("no TCP listener");
        let rest = url.strip_prefix("http://").unwrap();
        rest[..rest.find('/').unwrap_or(rest.len())].parse().unwrap()
    }

    /// A connection: TCP when the server listens there, else the Unix socket.
    pub fn dial(&self) -> Stream {
        match self.urls.iter().any(|url| url.starts_with("http://")) {
            true => Stream::tcp(self.addr()),
            false => self.dial_unix(),
        }
    }

    pub fn dial_unix(&self) -> Stream {
        Stream::Unix(UnixStream::connect(self.unix()).unwrap())
    }

    pub fn http(&self) -> Http {
        Http::over(self.dial())
    }

    /// One request on a connection of its own.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Answer {
        let mut http = self.http();
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let mut all: Vec<(&str, &str)> = headers.to_vec();
        all.extend(bearer.as_ref().map(|bearer| ("Authorization", bearer.as_str())));
        http.send(method, path, &all, body);
        http.answer(method)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], None)
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, &[], None)
    }

    /// A request with a JSON body.
    pub fn tell(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.ask(method, path, &[("Content-Type", "application/json")], Some(&body.to_string()))
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.tell("POST", path, body)
    }

    /// A program in a new terminal of a new session.
    #[track_caller]
    pub fn make(&self, cols: u64, rows: u64, program: Program) -> Terminal {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let session = format!("session-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.make_in(&session, cols, rows, program)
    }

    #[track_caller]
    pub fn make_in(&self, session: &str, cols: u64, rows: u64, program: Program) -> Terminal {
        let answer = self.post(
            "/v1/terminals",
            &json!({"sessionId": session, "cwd": self.dir.path().to_str().unwrap(), "cols": cols, "rows": rows,
                    "shell": program.shell, "args": program.args}),
        );
        assert_eq!(answer.status, 201, "{}", answer.text());
        Terminal::from(&answer.json(), session)
    }

    /// The default shell, without the user's files.
    #[track_caller]
    pub fn make_bash(&self, cols: u64, rows: u64) -> Terminal {
        self.make(cols, rows, Program::new("/bin/bash", &["--norc", "--noprofile"]))
    }

    pub fn attach(&self, terminal: &Terminal, protocol: u8) -> Client {
        Client::attach(self.dial(), self.token.as_deref(), terminal, 0, protocol)
    }

    pub fn attach_at(&self, terminal: &Terminal, cursor: u64, protocol: u8) -> Client {
        Client::attach(self.dial(), self.token.as_deref(), terminal, cursor, protocol)
    }

    /// One terminal as the API describes it.
    #[track_caller]
    pub fn describe(&self, terminal: &Terminal) -> Value {
        let answer = self.get(&format!("/v1/terminals/{}", terminal.id));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// The screen and scrollback as text.
    #[track_caller]
    pub fn screen(&self, terminal: &Terminal) -> String {
        self.screen_as(terminal, "format=text")["screen"].as_str().unwrap().to_string()
    }

    #[track_caller]
    pub fn screen_as(&self, terminal: &Terminal, query: &str) -> Value {
        let answer = self.get(&format!("/v1/terminals/{}/screen?{query}", terminal.id));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    #[track_caller]
    pub fn until_screen(&self, terminal: &Terminal, text: &str) {
        let started = Instant::now();
        loop {
            let screen = self.screen(terminal);
            if screen.contains(text) {
                return;
            }
            let tail: String = screen.chars().skip(screen.chars().count().saturating_sub(1000)).collect();
            assert!(started.elapsed() < PATIENCE, "never saw {text:?}, but\n{tail}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.file("log")).unwrap_or_default()
    }

    /// Another terminal is still served at once.
    #[track_caller]
    pub fn still_serves(&self) {
        assert_eq!(self.get("/v1/health").status, 200);
        let terminal = self.make(80, 24, sh("stty -echo; echo here; read x; echo got $x"));
        let mut client = self.attach(&terminal, 2);
        client.expect("here");
        client.input("line\n");
        client.expect("got line");
        client.expect_exit(0);
    }

    pub fn signal(&self, signal: &str) {
        processes::signal(self.pid, signal);
    }

    /// SIGTERM, and the exit status.
    pub fn stop(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait()
    }

    pub fn wait(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("stopped twice");
        let mut status = None;
        eventually("the server leaves", || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.is_some() {
            if std::thread::panicking() {
                eprintln!("the server's log: {}", self.log());
                self.signal("KILL");
                let _ = self.child.take().unwrap().wait();
                return;
            }
            let status = self.stop();
            assert!(status.success(), "the server left with {status}; its log: {}", self.log());
        }
        if !std::thread::panicking() {
            assert!(!self.log().contains("panicked"), "{}", self.log());
        }
    }
}

impl Terminal {
    pub fn from(created: &Value, session: &str) -> Terminal {
        let field = |name: &str| {
            created[name].as_str().unwrap_or_else(|| panic!("no {name} in {created}")).to_string()
        };
        Terminal { id: field("terminalId"), session: session.into(), socket: field("websocketPath") }
    }
}
