//! Each supported shell on a real PTY, with startup files of a user and the integration: what it tells the
//! terminal, and that nothing else is different.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use wharf::os::shell_integration::{Launch, write_scripts};

/// Longer than anything here takes; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(30);
const PROMPT: &str = "READY> ";

// ---- the user's home ----

struct Home {
    path: PathBuf,
    env: Vec<(OsString, OsString)>,
}

impl Home {
    fn new(name: &str) -> Home {
        let path = std::env::temp_dir().join(format!("wharf-shells-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        let path = path.canonicalize().unwrap();
        let home = Home { path, env: Vec::new() };
        let search = std::env::var("PATH").unwrap();
        home.set("PATH", &search)
            .set("TERM", "xterm-256color")
            .set("LANG", "C.UTF-8")
            .set("TERM_PROGRAM", "wharf")
            .set("USER", "root")
    }

    fn set(mut self, name: &str, value: &str) -> Home {
        if name == "PATH" {
            self.env.push(("HOME".into(), self.path.clone().into()));
        }
        self.env.push((name.into(), value.into()));
        self
    }

    fn file(self, name: &str, text: &str) -> Home {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn path(&self, name: &str) -> String {
        self.path.join(name).to_str().unwrap().to_owned()
    }

    fn launch(&self, shell: &str, args: &[&str]) -> Launch {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        write_scripts(&self.path.join("run $HOME 'x'")).unwrap().launch(&find(shell), &args, self.env.clone())
    }

    fn start(&self, shell: &str, args: &[&str]) -> Terminal {
        Terminal::new(&find(shell), self.launch(shell, args), &self.path)
    }

    fn start_without(&self, shell: &str, args: &[&str]) -> Terminal {
        let args = args.iter().map(OsString::from).collect();
        Terminal::new(&find(shell), Launch { args, env: self.env.clone() }, &self.path)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The shell from scripts/shells or from the system.
fn find(shell: &str) -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/bin");
    let search = std::env::var_os("PATH").unwrap_or_default();
    std::iter::once(tools)
        .chain(std::env::split_paths(&search))
        .map(|dir| dir.join(shell))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("{shell} is not installed: run scripts/shells"))
}

// ---- the terminal ----

struct Terminal {
    child: Child,
    master: File,
    /// What the shell has written since the last look.
    seen: String,
    /// Half a character, or half a query to the terminal.
    raw: Vec<u8>,
}

impl Terminal {
    fn new(shell: &Path, launch: Launch, cwd: &Path) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        tcsetwinsize(&master, Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = || -> Stdio {
            let file = File::options().read(true).write(true).open(Path::new(name.to_str().unwrap()));
            OwnedFd::from(file.unwrap()).into()
        };
        let child = Command::new("setsid")
            .arg("--ctty")
            .arg(shell)
            .args(launch.args)
            .env_clear()
            .envs(launch.env)
            .current_dir(cwd)
            .stdin(slave())
            .stdout(slave())
            .stderr(slave())
            .spawn()
            .unwrap();
        Terminal { child, master: File::from(OwnedFd::from(master)), seen: String::new(), raw: Vec::new() }
    }

    fn type_in(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Types a line at the prompt, and gives all that came until the next prompt.
    fn run(&mut self, line: &str) -> String {
        self.type_in(&format!("{line}\r"));
        let mut text = self.until("\x1b]133;C");
        text += &self.prompt();
        text
    }

    /// All that comes until the shell waits for input.
    fn prompt(&mut self) -> String {
        self.until(PROMPT)
    }

    /// All that comes until `wanted` has come.
    fn until(&mut self, wanted: &str) -> String {
        loop {
            if let Some(at) = self.seen.find(wanted) {
                let rest = self.seen.split_off(at + wanted.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            assert!(self.read(), "the shell ended before {wanted:?} in {:?}", self.seen);
        }
    }

    /// The exit code, and all that came until then.
    fn end(&mut self) -> (Option<i32>, String) {
        while self.read() {}
        (self.child.wait().unwrap().code(), std::mem::take(&mut self.seen))
    }

    fn read(&mut self) -> bool {
        let timeout = PATIENCE.try_into().unwrap();
        let mut fds = [PollFd::from_borrowed_fd(self.master.as_fd(), PollFlags::IN)];
        let ready = poll(&mut fds, Some(&timeout)).unwrap();
        assert!(ready > 0, "nothing more came after {:?}", self.seen);
        let mut bytes = [0; 4096];
        // EIO is the end of a PTY.
        let Ok(n @ 1..) = self.master.read(&mut bytes) else { return false };
        self.raw.extend_from_slice(&bytes[..n]);
        self.answer(b"\x1b[c", "\x1b[?62;c");
        self.answer(b"\x1b[6n", "\x1b[1;1R");
        let valid = match std::str::from_utf8(&self.raw) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text: Vec<u8> = self.raw.drain(..valid).collect();
        self.seen += std::str::from_utf8(&text).unwrap();
        true
    }

    /// Shells ask the terminal what it is and where the cursor stands.
    fn answer(&mut self, query: &[u8], reply: &str) {
        if self.raw.windows(query.len()).any(|part| part == query) {
            self.type_in(reply);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// ---- what the shell told the terminal ----

/// The titles, directories and marks in `text`, in order: `~`, `file://...`, `A`, `D;1`.
fn told(text: &str) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for part in text.split("\x1b]").skip(1) {
        let end = part.find(['\x07', '\x1b']).unwrap_or(part.len());
        let (kind, rest) = part[..end].split_once(';').unwrap_or((&part[..end], ""));
        match kind {
            "0" | "2" => told.push(format!("title {rest}")),
            "7" => told.push(format!("cwd {}", &rest[rest.find("/").unwrap_or(0)..])),
            "133" => told.push(rest.to_owned()),
            _ => {}
        }
    }
    told
}
