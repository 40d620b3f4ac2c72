//! Each supported shell on a real PTY, with startup files of a user and the integration: what it tells the
//! terminal, and that nothing else is different.

use std::ffi::OsString;
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

    /// The shell with our integration.
    fn start(self, shell: &str, args: &[&str]) -> Terminal {
        let launch = self.launch(shell, args);
        Terminal::new(&find(shell), launch, self)
    }

    /// The shell alone.
    fn start_bare(self, shell: &str, args: &[&str]) -> Terminal {
        let launch = Launch { args: args.iter().map(OsString::from).collect(), env: self.env.clone() };
        Terminal::new(&find(shell), launch, self)
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
    home: Home,
}

impl Terminal {
    fn new(shell: &Path, launch: Launch, home: Home) -> Terminal {
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
            .current_dir(&home.path)
            .stdin(slave())
            .stdout(slave())
            .stderr(slave())
            .spawn()
            .unwrap();
        Terminal {
            child,
            master: File::from(OwnedFd::from(master)),
            seen: String::new(),
            raw: Vec::new(),
            home,
        }
    }

    fn type_in(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Types a line at the prompt: what came until it ran, and from then until the next prompt.
    fn run(&mut self, line: &str) -> Ran {
        self.type_in(&format!("{line}\r"));
        let mut before = self.until("\x1b]133;C");
        let mut after = self.prompt();
        // fish writes the title just after the mark.
        let end = after.find("\x1b]133;D").unwrap_or(after.len());
        before += after.get(..end).unwrap_or_default();
        after.drain(..end);
        Ran { before, after }
    }

    /// The lines that a command prints.
    fn ask(&mut self, line: &str) -> Vec<String> {
        let ran = self.run(line).before;
        let output = visible(&ran[ran.rfind("\x1b]133;C").unwrap()..]);
        output.lines().map(|line| line.trim_end().to_owned()).collect()
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

struct Ran {
    /// From the prompt to the end of the command's output.
    before: String,
    /// From there to the next prompt.
    after: String,
}

/// What was told in `text`, in order, of one kind.
fn told(text: &str, kinds: &[&str]) -> Vec<String> {
    let mut told = Vec::new();
    for part in text.split("\x1b]").skip(1) {
        let end = part.find(['\x07', '\x1b']).unwrap_or(part.len());
        if let Some((kind, rest)) = part[..end].split_once(';')
            && kinds.contains(&kind)
        {
            told.push(rest.to_owned());
        }
    }
    told
}

fn titles(text: &str) -> Vec<String> {
    told(text, &["0", "2"])
}

/// The marks without their parameters, except the exit code. Those of a prompt drawn again count once.
fn marks(text: &str) -> Vec<String> {
    let mut marks: Vec<String> = Vec::new();
    for mark in told(text, &["133"]) {
        let mark = match mark.split(';').next() {
            Some("D") => mark,
            Some("P") | None => continue,
            Some(mark) => mark.to_owned(),
        };
        if mark != "C"
            && marks.iter().rev().take_while(|old| matches!(old.as_str(), "A" | "B")).any(|old| *old == mark)
        {
            continue;
        }
        marks.push(mark);
    }
    marks
}

/// The directories, decoded. Each must be a proper URL with this machine's name.
fn directories(text: &str) -> Vec<String> {
    let host = rustix::system::uname();
    let start = format!("file://{}", host.nodename().to_str().unwrap());
    let decode = |url: String| {
        assert!(url.bytes().all(|byte| byte.is_ascii_graphic()), "{url}");
        let path = url.strip_prefix(&start).unwrap_or_else(|| panic!("{url} does not start with {start}"));
        let mut parts = path.split('%');
        let mut bytes = parts.next().unwrap().as_bytes().to_vec();
        for part in parts {
            bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
            bytes.extend_from_slice(part[2..].as_bytes());
        }
        String::from_utf8(bytes).unwrap()
    };
    told(text, &["7"]).into_iter().map(decode).collect()
}

/// What a person sees of it, less the layout.
fn visible(text: &str) -> String {
    let mut seen = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        seen += &rest[..at];
        rest = &rest[at + 1..];
        let end = match rest.as_bytes().first() {
            // Ends with BEL, or with ESC and a backslash.
            Some(b']') => {
                rest.find(['\x07', '\x1b']).map(|end| end + 1 + rest[end..].starts_with('\x1b') as usize)
            }
            Some(b'[') => rest[1..].find(|c: char| ('@'..='~').contains(&c)).map(|end| end + 2),
            Some(b'(') => Some(2),
            Some(_) => Some(1),
            None => None,
        };
        rest = end.and_then(|end| rest.get(end..)).unwrap_or_default();
    }
    seen += rest;
    seen.replace('\r', "")
}

// ---- every shell ----

const BASHRC: &str = "
PS1='READY> '
PROMPT_COMMAND='echo \"[$?]\"'
alias greet='echo hello from the rc'
";
const ZSHRC: &str = "
PS1='[%?]READY> '
alias greet='echo hello from the rc'
";
const FISH: &str = "
function fish_prompt; echo -n \"[$status]READY> \"; end
function fish_greeting; end
alias greet='echo hello from the rc'
";
const ELVISH: &str = "
set edit:prompt = { print 'READY> ' }
set edit:rprompt = { }
fn greet { echo hello from the rc }
";
const NU: &str = "
$env.PROMPT_COMMAND = {|| $'[($env.LAST_EXIT_CODE)]READY> ' }
$env.PROMPT_COMMAND_RIGHT = ''
$env.PROMPT_INDICATOR = ''
$env.config.show_banner = false
alias greet = echo 'hello from the rc'
";

/// A home whose owner uses all of them.
fn home(name: &str) -> Home {
    Home::new(name)
        .file(".bashrc", BASHRC)
        .file(".zshrc", ZSHRC)
        .file(".config/fish/config.fish", FISH)
        .file(".config/elvish/rc.elv", ELVISH)
        .file(".config/nushell/config.nu", NU)
        .file(".config/nushell/env.nu", "")
}

/// What every shell does. `b` is whether it can mark where the input starts, `interrupted` its code after Ctrl-C.
fn converse(shell: &str, b: bool, interrupted: &str) {
    let mut terminal = home(shell).start(shell, &[]);
    let root = terminal.home.path.to_str().unwrap().to_owned();
    let first = terminal.prompt();
    assert_eq!((titles(&first), marks(&first)), (vec!["~".into()], vec!["A".into()]));
    assert_eq!(directories(&first), [root.clone()]);
    let start = if b { vec!["B", "C"] } else { vec!["C"] };

    // The command while it runs, the directory at the prompt, the exit code for both.
    let failed = terminal.run("sh -c 'exit 7'");
    assert_eq!(titles(&failed.before), ["sh -c 'exit 7'"]);
    assert_eq!(marks(&failed.before).iter().filter(|mark| *mark != "A").collect::<Vec<_>>(), start);
    assert_eq!(titles(&failed.after), ["~"]);
    assert_eq!(marks(&failed.after), ["D;7", "A"]);
    if shell != "elvish" {
        assert!(visible(&failed.after).ends_with("[7]READY> ") || shell == "bash", "{:?}", failed.after);
    }

    // A command that takes its time has its title meanwhile.
    terminal.type_in("sh -c 'echo started; sleep 5'\r");
    let mut running = terminal.until("\x1b]133;C");
    running += &terminal.until("started\r\n");
    assert_eq!(titles(&running), ["sh -c 'echo started; sleep 5'"]);
    terminal.type_in("\x03");
    let stopped = terminal.prompt();
    assert_eq!(titles(&stopped), ["~"]);
    assert_eq!(marks(&stopped), [interrupted, "A"]);

    // The user's own startup file ran.
    assert_eq!(terminal.ask("greet")[0], "hello from the rc");

    let moved = terminal.run("mkdir 'dir é x%'; cd 'dir é x%'");
    assert_eq!(titles(&moved.after), ["~/dir é x%"]);
    assert_eq!(directories(&moved.after), [format!("{root}/dir é x%")]);
    assert_eq!(titles(&terminal.run("cd /usr").after), ["/usr"]);

    // No title of more than 256 characters, and none with a control character.
    let long = terminal.run(&format!("echo {}", "é".repeat(400)));
    assert_eq!(titles(&long.before), [format!("echo {}", "é".repeat(251))]);

    // Neither a line without a command nor Ctrl-C at the prompt is a command.
    terminal.type_in("\r");
    let empty = marks(&terminal.prompt());
    assert!(!empty.iter().any(|mark| mark.starts_with('D')), "{empty:?}");
    if shell == "zsh" {
        // The others take over the keyboard before they show the prompt.
        terminal.until("\x1b[?2004h");
    }
    if shell != "elvish" {
        terminal.type_in("x");
        terminal.until("x");
        terminal.type_in("\x03");
        let cancelled = terminal.prompt();
        // Nushell tells the last code again.
        if shell != "nu" {
            assert_eq!(marks(&cancelled).last().unwrap(), "A", "{cancelled:?}");
            assert!(!marks(&cancelled).iter().any(|mark| mark.starts_with('D')), "{cancelled:?}");
        }
    }
    assert_eq!(marks(&terminal.run("echo still here").after), ["D;0", "A"]);

    terminal.type_in("exit 3\r");
    assert_eq!(terminal.end().0, Some(3));
}

#[test]
fn bash_tells_what_runs_and_where() {
    converse("bash", true, "D;130");
}

#[test]
fn zsh_tells_what_runs_and_where() {
    converse("zsh", true, "D;130");
}

#[test]
fn fish_tells_what_runs_and_where() {
    converse("fish", true, "D;130");
}

#[test]
fn elvish_tells_what_runs_and_where() {
    converse("elvish", false, "D;130");
}

#[test]
fn nushell_tells_what_runs_and_where() {
    // Its own way to say that a signal ended a command.
    converse("nu", true, "D;-2");
}
