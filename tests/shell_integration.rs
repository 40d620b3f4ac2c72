//! Each supported shell on a real PTY, with startup files of a user and the integration: what it tells the
//! terminal, and that nothing else is different.

#![allow(clippy::unwrap_used)]

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

    /// Nothing of ours.
    fn bare(&self, args: &[&str]) -> Launch {
        Launch { args: args.iter().map(OsString::from).collect(), env: self.env.clone() }
    }

    /// The shell alone.
    fn start_bare(self, shell: &str, args: &[&str]) -> Terminal {
        let launch = self.bare(args);
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
        Terminal { child, master: File::from(master), seen: String::new(), raw: Vec::new(), home }
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

    /// Presses Ctrl-C at the prompt until there is a new one. A shell that is just about to read may overlook
    /// the first.
    fn interrupt(&mut self) -> String {
        loop {
            self.type_in("\x03");
            while self.is_readable(Duration::from_secs(1)) {
                assert!(self.read());
                if self.seen.contains(PROMPT) {
                    return self.prompt();
                }
            }
        }
    }

    fn is_readable(&self, patience: Duration) -> bool {
        let timeout = patience.try_into().unwrap();
        poll(&mut [PollFd::from_borrowed_fd(self.master.as_fd(), PollFlags::IN)], Some(&timeout)).unwrap() > 0
    }

    fn read(&mut self) -> bool {
        assert!(self.is_readable(PATIENCE), "nothing more came after {:?}", self.seen);
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
            bytes.extend_from_slice(&part.as_bytes()[2..]);
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
    assert_eq!(directories(&first).join(" "), root);
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
    // elvish empties the line and stays where it is; Nushell hears Ctrl-C only between two redraws.
    if !matches!(shell, "elvish" | "nu") {
        terminal.type_in("x");
        terminal.until("x");
        let cancelled = terminal.interrupt();
        assert_eq!(marks(&cancelled).last().unwrap(), "A", "{cancelled:?}");
        assert!(!marks(&cancelled).iter().any(|mark| mark.starts_with('D')), "{cancelled:?}");
    }
    if shell == "nu" {
        // It draws a prompt more than once, so only what comes after the command is told apart.
        terminal.type_in("echo still here\r");
        terminal.until("\x1b]133;C");
        terminal.until("\x1b]133;D;0");
    } else {
        assert_eq!(marks(&terminal.run("echo still here").after), ["D;0", "A"]);
    }

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

// ---- nothing else is different ----

/// What a shell answers, with the integration and without. The question is a script, and `how` runs it.
fn same(shell: &str, args: &[&str], how: &str, question: &str, home: impl Fn() -> Home) {
    let script = format!("({question}) > answer 2>&1; echo answered");
    let answer = |mut terminal: Terminal| {
        terminal.until(PROMPT);
        terminal.type_in(&format!("{how} ./question\r"));
        terminal.until("answered\r\n");
        fs::read_to_string(terminal.home.path.join("answer")).unwrap()
    };
    let bare = answer(home().file("question", &script).start_bare(shell, args));
    assert_eq!(answer(home().file("question", &script).start(shell, args)), bare, "{shell} {args:?}");
}

#[test]
fn children_have_the_environment_that_they_would_have_without_us() {
    let given = || {
        let home = home("children").file(".bash_profile", BASHRC);
        let dotdir = home.path(".");
        home.set("ZDOTDIR", &dotdir)
            .set("ENV", "/nonexistent")
            .set("XDG_DATA_DIRS", "/a b:/c")
            .set("HISTFILE", "/h")
    };
    // What bash and Nushell count and measure is not the same twice.
    let question = "env | grep -vE '^(_|CMD_DURATION_MS)=' | sort";
    for shell in ["bash", "zsh", "fish", "elvish", "nu"] {
        for args in [&[][..], &["-l"]].into_iter().filter(|args| shell != "elvish" || args.is_empty()) {
            same(shell, args, "sh", question, || home("children").file(".bash_profile", BASHRC));
            same(shell, args, "sh", question, given);
        }
    }
}

#[test]
fn bash_and_zsh_keep_their_options_and_variables() {
    for args in [&[][..], &["-l"]] {
        let bash = "set -o; shopt; echo $HISTFILE; set | grep -iE '^(posix|env)'; trap";
        same("bash", args, ".", bash, || home("options").file(".bash_profile", BASHRC));
        let zsh = "setopt; alias; echo $HISTFILE; sched; set | grep -E '^(ZDOTDIR|WHARF)'";
        same("zsh", args, ".", zsh, || home("options"));
    }
}

// ---- bash ----

/// A bash whose user has these lines in ~/.bashrc, at its first prompt.
fn bash(name: &str, rc: &str) -> Terminal {
    let mut terminal = Home::new(name).file(".bashrc", &format!("PS1='{PROMPT}'\n{rc}")).start("bash", &[]);
    terminal.prompt();
    terminal
}

/// All that a prompt and a command should bring, and the exit code that the command after it sees.
fn sound(terminal: &mut Terminal) {
    let failed = terminal.run("sh -c 'exit 7'");
    assert_eq!(
        (marks(&failed.before), titles(&failed.before)),
        (vec!["B".into(), "C".into()], vec!["sh -c 'exit 7'".into()])
    );
    assert_eq!(
        (marks(&failed.after), titles(&failed.after)),
        (vec!["D;7".into(), "A".into()], vec!["~".into()])
    );
    assert_eq!(terminal.ask("echo $?")[0], "7");
}

#[test]
fn a_login_bash_reads_what_a_login_bash_reads() {
    let profile = "echo profile $- $(shopt login_shell) $ENV $WHARF_ENV $POSIXLY_CORRECT; PS1='READY> '\n";
    let home = Home::new("bash-login").set("ENV", "/the/users").file(".bash_profile", profile);
    let home = home
        .file(".bashrc", "echo not this\n")
        .file(".profile", "echo nor this\n")
        .file(".bash_logout", "echo bye\n");
    let mut terminal = home.start("bash", &["-l"]);
    let start = visible(&terminal.prompt());
    assert!(start.contains("login_shell on /the/users\n") && !start.contains("this"), "{start}");
    sound(&mut terminal);
    assert_eq!(
        terminal.ask("echo $HISTFILE; set -o | grep posix"),
        [terminal.home.path(".bash_history").as_str(), "posix          \toff"]
    );
    terminal.type_in("logout\r");
    let (code, text) = terminal.end();
    assert!(code == Some(0) && text.contains("bye"), "{text}");

    let mut terminal =
        Home::new("bash-profile").file(".profile", "PS1='READY> '; echo mine\n").start("bash", &["--login"]);
    assert!(terminal.prompt().contains("mine"));
    sound(&mut terminal);
}

#[test]
fn bash_reads_the_rcfile_it_is_given() {
    let home = Home::new("bash-rcfile")
        .file("my rc", "PS1='READY> '; echo mine\n")
        .file(".bashrc", "echo not this\n");
    let rc = home.path("my rc");
    let mut terminal = home.start("bash", &["--noediting", "--rcfile", &rc]);
    let start = terminal.prompt();
    assert!(start.contains("mine") && !start.contains("not this"), "{start}");
    assert_eq!(terminal.ask("env | grep -c WHARF")[0], "0");
}

#[test]
fn bash_prompt_commands_of_every_kind_live_on() {
    // Arrays, strings with loose ends, and a prompt that each of them draws anew.
    for (name, rc) in [
        ("array", "PROMPT_COMMAND=('echo one $?' 'echo two $?; PS1=\"READY> \"')"),
        ("string", "PROMPT_COMMAND='echo one $?; echo two $?; PS1=\"READY> \";'"),
        ("strict", "set -u; PROMPT_COMMAND='echo one $?; echo two'"),
    ] {
        let mut terminal = bash(&format!("bash-{name}"), rc);
        sound(&mut terminal);
        let failed = terminal.run("(exit 9)").after;
        assert!(failed.contains("one 9\r\ntwo"), "{name}: {failed}");
        // Their own PS1 is what they see, and they still see the exit code.
        terminal.run("PROMPT_COMMAND+='; seen=$?$PS1'");
        terminal.run("true");
        terminal.run("(exit 6)");
        let seen = terminal.ask("echo \"${seen/Y/y}\"").remove(0);
        assert!(seen.ends_with("READy> ") || seen.ends_with("READy>"), "{name}: {seen}");
        assert_eq!(marks(&terminal.run("true").after), ["D;0", "A"]);
    }
}

#[test]
fn bash_prompt_commands_that_come_later_see_the_exit_code() {
    let mut terminal = bash("bash-appended", "");
    terminal.run("PROMPT_COMMAND=\"$PROMPT_COMMAND; late=\\$?\"");
    for code in ["3", "4"] {
        terminal.run(&format!("(exit {code})"));
        assert_eq!(terminal.ask("echo $late")[0], code);
    }
    terminal.run("PROMPT_COMMAND=(\"$PROMPT_COMMAND\" 'other=$?')");
    for code in ["5", "6"] {
        terminal.run(&format!("(exit {code})"));
        assert_eq!(terminal.ask("echo $late$other")[0], format!("{code}{code}"));
    }
    sound(&mut terminal);
}

#[test]
fn bash_prompt_commands_that_are_exported_are_no_trouble_to_a_child() {
    let mut terminal = bash("bash-export", "export PROMPT_COMMAND='echo hook $?' PS0='go '; IFS=_");
    sound(&mut terminal);
    terminal.type_in("PS1='READ''Y> ' bash --norc\r");
    let mut text = terminal.until("go ") + &terminal.prompt();
    terminal.type_in("(exit 3)\r");
    text += &(terminal.until("go ") + &terminal.prompt());
    assert_eq!(text.matches("hook").count(), 2, "{text}");
    assert!(!text.contains("__wharf"), "{text}");
}

#[test]
fn bash_lets_other_hooks_come_later() {
    let mut terminal = bash("bash-later", "");
    terminal.run("late() { PS1='later READY> '; }; PROMPT_COMMAND=\"$PROMPT_COMMAND; late\"");
    terminal.run("true");
    sound(&mut terminal);
    terminal.run("PS1='other READY> '; unset -f late; late() { :; }");
    sound(&mut terminal);
    terminal.run("PS0='now '");
    sound(&mut terminal);
}

#[test]
fn bash_errexit_nounset_and_xtrace_end_nothing() {
    let mut terminal = bash("bash-strict", "set -eu");
    assert_eq!(marks(&terminal.run("! true").after), ["D;1", "A"]);
    assert_eq!(terminal.ask("echo $-")[0], "ehimuBHs");
    terminal.type_in("set -x\r");
    terminal.prompt();
    let traced = visible(&terminal.run("true").after);
    assert!(traced.lines().filter(|line| line.starts_with('+')).count() <= 3, "{traced}");
    terminal.type_in("false\r");
    assert_eq!(terminal.end().0, Some(1));
}

#[test]
fn bash_users_debug_trap_and_special_variables_are_untouched() {
    let mut terminal = bash("bash-debug", "trap 'seen+=(\"$BASH_COMMAND\")' DEBUG");
    sound(&mut terminal);
    assert!(terminal.ask("trap -p DEBUG")[0].starts_with("trap -- 'seen+="));
    terminal.run("false | true | (exit 4)");
    assert_eq!(terminal.ask("echo ${PIPESTATUS[*]}")[0], "1 0 4");
    terminal.run("trap - DEBUG");
    terminal.run("true first last");
    assert_eq!(terminal.ask("echo $_")[0], "last");
}

#[test]
fn bash_history_is_the_users_and_a_hidden_line_stays_hidden() {
    let mut terminal =
        bash("bash-history", "HISTCONTROL=ignorespace; HISTTIMEFORMAT='%F '; HISTIGNORE='hidden*'");
    terminal.run("echo shown");
    assert_eq!(titles(&terminal.run(" echo secret").before), [""; 0]);
    assert_eq!(titles(&terminal.run("hidden 2>/dev/null").before), [""; 0]);
    assert_eq!(titles(&terminal.run("echo shown again").before), ["echo shown again"]);
    let history = terminal.ask("HISTTIMEFORMAT= history").join("\n");
    assert_eq!(history, "    1  echo shown\n    2  echo shown again\n    3  HISTTIMEFORMAT= history");

    let mut terminal = bash("bash-repeated", "HISTCONTROL=ignoreboth");
    terminal.run("true");
    assert_eq!(titles(&terminal.run("true").before), ["true"]);
}

#[test]
fn bash_without_expansion_of_prompts_shows_no_litter() {
    let mut terminal = bash("bash-promptvars", "shopt -u promptvars; PS0='plain '");
    let ran = terminal.run("false");
    assert!(ran.before.contains("plain \x1b]133;C") && !ran.before.contains("__wharf"), "{}", ran.before);
    assert_eq!(marks(&ran.after), ["D;1", "A"]);
}

#[test]
fn bash_lines_that_span_lines_have_one_line_as_title() {
    let mut terminal = bash("bash-lines", "PS2='more '");
    terminal.type_in("echo 'one\r");
    terminal.until("more ");
    assert_eq!(titles(&terminal.run("two'").before), ["echo 'one two'"]);
}

#[test]
fn bash_before_ps0_marks_commands_by_a_trap_that_leaves_before_they_run() {
    let home = Home::new("bash-old").file(".bashrc", "PS1='READY> '\n");
    let launch = home.launch("bash", &[]);
    let script = home.path("run $HOME 'x'/shell-integration/bash/wharf.bash");
    let text = fs::read_to_string(&script).unwrap();
    let old = text.replace("BASH_VERSINFO[1] < 4", "1").replace("BASH_VERSINFO[0] == 4", "1");
    assert_ne!(text, old);
    fs::write(script, old).unwrap();
    let mut terminal = Terminal::new(&find("bash"), launch, home);
    terminal.prompt();
    sound(&mut terminal);
    let trap = terminal.run("trap 'echo mine' DEBUG; trap -p DEBUG");
    assert!(trap.before.contains("trap -- 'echo mine' DEBUG\r\n"), "{}", trap.before);
}

// ---- zsh ----

/// A zsh whose user has these lines in .zshrc, at its first prompt.
fn zsh(name: &str, rc: &str) -> Terminal {
    let mut terminal = Home::new(name).file(".zshrc", &format!("PS1='{PROMPT}'\n{rc}")).start("zsh", &[]);
    let first = terminal.prompt();
    assert_eq!((marks(&first), titles(&first)), (vec!["A".into()], vec!["~".into()]), "{first:?}");
    terminal
}

#[test]
fn zsh_reads_all_its_startup_files_in_order() {
    let file = |name: &str| format!("echo {name} ${{ZDOTDIR-none}} ${{WHARF_ZDOTDIR-none}}\n");
    let dotfiles = |home: Home, dir: &str| {
        [".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout"].iter().fold(home, |home, name| {
            let text =
                file(name) + if *name == ".zshrc" { "PS1='READY> '\nalias greet='echo hello'\n" } else { "" };
            home.file(&format!("{dir}{name}"), &text)
        })
    };
    let elsewhere = || {
        let home = dotfiles(Home::new("zsh-order"), "dot dir/").file(".zshrc", "echo not this\n");
        let dir = home.path("dot dir");
        home.set("ZDOTDIR", &dir)
    };
    // One that names the directory only in ~/.zshenv.
    let named = || {
        let text = "echo first ${ZDOTDIR-none}; export ZDOTDIR=$HOME/dots\n";
        dotfiles(Home::new("zsh-order"), "dots/").file(".zshenv", text)
    };
    let start = |mut terminal: Terminal| {
        let mut text = visible(&terminal.prompt());
        terminal.type_in("exit\r");
        text += &visible(&terminal.end().1);
        text.lines()
            .filter(|line| line.starts_with('.') || line.starts_with("first"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for args in [&["-l"][..], &[]] {
        let plain = start(dotfiles(Home::new("zsh-order"), "").start("zsh", args));
        assert_eq!(plain, start(dotfiles(Home::new("zsh-order"), "").start_bare("zsh", args)));
        assert_eq!(plain.len(), if args.is_empty() { 2 } else { 5 });
        assert_eq!(start(elsewhere().start("zsh", args)), start(elsewhere().start_bare("zsh", args)));
        assert_eq!(start(named().start("zsh", args)), start(named().start_bare("zsh", args)));
    }
}

#[test]
fn zsh_options_and_hooks_of_the_user_change_nothing() {
    for (name, rc) in [
        ("ksh", "setopt ksh_arrays sh_word_split ksh_glob glob_subst csh_null_glob no_rc_expand_param"),
        ("strict", "setopt no_unset err_return warn_create_global no_multi_os no_clobber"),
        ("emulate", "emulate sh; PS1='READY> '"),
        (
            "alias",
            "alias print='echo no' builtin='echo no' local='echo no' if='echo no'; alias -g a='echo no'",
        ),
        ("functions", "print() { echo no }; setopt prompt_subst prompt_bang"),
        ("reset", "precmd_functions=(); preexec_functions=()"),
        ("theme", "precmd() { PS1='READY> ' }; later() { PS1='READY> ' }; precmd_functions=(later)"),
        ("percent", "setopt no_nomatch; PS1='50%% READY> %'"),
    ] {
        let mut terminal = zsh(&format!("zsh-{name}"), rc);
        sound(&mut terminal);
        assert_eq!(titles(&terminal.run("cd /usr/lib").after), ["/usr/lib"], "{name}");
    }
}

#[test]
fn zsh_without_percent_escapes_shows_no_litter() {
    let mut terminal = zsh("zsh-percent", "setopt no_prompt_percent");
    let ran = terminal.run("false");
    assert_eq!(marks(&ran.after), ["D;1", "A"]);
    assert!(!visible(&ran.after).contains("%{"), "{}", ran.after);
}

#[test]
fn zsh_hooks_and_commands_see_the_users_prompt_and_exit_code() {
    let mut terminal = zsh("zsh-hooks", "precmd() { seen=\"$? $PS1\" }");
    terminal.run("(exit 5)");
    assert_eq!(terminal.ask("echo \"${seen/Y/y}\"")[0], "5 READy>");
    assert_eq!(terminal.ask("echo \"${PS1/Y/y}\"")[0], "READy>");
    terminal.run("false | true | (exit 4)");
    assert_eq!(terminal.ask("echo $pipestatus")[0], "1 0 4");
    terminal.run("later() { PS1='READY> ' }; precmd_functions+=(later)");
    terminal.run("true");
    sound(&mut terminal);
    // Another zsh is a plain one.
    assert_eq!(marks(&terminal.run("exec zsh").before), ["B", "C"]);
}

// ---- fish, elvish, Nushell ----

#[test]
fn fish_keeps_a_title_and_a_prompt_of_the_users_own() {
    let title = "function fish_title; echo mine $argv; end";
    let home = home("fish-title").file(".config/fish/functions/fish_title.fish", title);
    let mut terminal = home.start("fish", &["--private", "-C", "echo init"]);
    let first = terminal.prompt();
    assert!(first.contains("init\r\n") && titles(&first) == ["mine"], "{first:?}");
    assert_eq!(titles(&terminal.run("true").before), ["mine true"]);
    // A prompt that is defined anew is marked at the next one; the user's function sees the exit code.
    terminal.run("function fish_prompt; echo -n \"new $status $pipestatus READ\"'Y> '; end");
    let failed = terminal.run("false | sh -c 'exit 5'");
    assert!(visible(&failed.after).ends_with("new 5 1 5 READY> "), "{:?}", failed.after);
    assert_eq!(
        (marks(&failed.before), marks(&failed.after)),
        (vec!["B".into(), "C".into()], vec!["D;5".into(), "A".into()])
    );
}

#[test]
fn elvish_rc_defines_what_it_defines() {
    let rc =
        format!("{ELVISH}\nvar word = first\nfn tell {{ echo $word }}\nuse str\n# no newline at the end");
    let home = Home::new("elvish-rc").file("my rc.elv", &rc).file(".config/elvish/rc.elv", "echo not this");
    let path = home.path("my rc.elv");
    let mut terminal = home.start("elvish", &["-rc", &path]);
    assert!(!terminal.prompt().contains("not this"));
    // The same variable, not a copy of it.
    terminal.run("set word = second");
    assert_eq!(terminal.ask("tell")[0], "second");
    assert_eq!(terminal.ask("str:to-upper x")[0], "▶ X");
    assert_eq!(marks(&terminal.run("fail no").after), ["D;1", "A"]);
    // Nothing of ours is in the way.
    assert_eq!(terminal.ask("var host = mine; fn title {|x| echo $host }; title x")[0], "mine");
}

#[test]
fn elvish_without_an_rc_file_is_told_too_and_one_that_asks_where_it_lies_is_left_alone() {
    let home = Home::new("elvish-none");
    let launch = home.launch("elvish", &[]);
    assert_eq!((launch.args.len(), launch.env == home.env), (2, true));
    let home = home.file(".config/elvish/rc.elv", "use ./here");
    assert_eq!(home.launch("elvish", &[]), home.bare(&[]));
    let home = home.file(".config/elvish/rc.elv", "").file(".elvish/rc.elv", "");
    assert_eq!(home.launch("elvish", &[]), home.bare(&[]));
}

#[test]
fn nushell_keeps_off_what_the_user_has_turned_off() {
    let config = format!(
        "{NU}\n$env.config.shell_integration.osc2 = false\n$env.config.hooks.pre_prompt = [{{|| print hook }}]"
    );
    let mut terminal =
        home("nu-off").file(".config/nushell/config.nu", &config).start("nu", &["--no-history"]);
    let mut first = terminal.prompt();
    first += &terminal.run("true").after;
    assert!(titles(&first).is_empty() && first.matches("hook").count() == 2, "{first:?}");
    assert!(!directories(&first).is_empty());
}

// ---- Ghostty's own, and what is left alone ----

/// Resources laid out like Ghostty's, with scripts that only say what they were given, then leave no trace.
fn ghostty(name: &str) -> Home {
    let home = home(name)
        .file("gh/shell-integration/zsh/.zshenv", "echo zsh ${GHOSTTY_ZSH_ZDOTDIR-unset} $GHOSTTY_SHELL_FEATURES; PS1='READY> '; unset ZDOTDIR; RPS1=\n")
        .file(
            "gh/shell-integration/bash/ghostty.bash",
            "echo bash $GHOSTTY_BASH_INJECT ${GHOSTTY_BASH_ENV-unset} ${GHOSTTY_BASH_RCFILE-unset} $GHOSTTY_BASH_UNEXPORT_HISTFILE ${HISTFILE##*/}; PS1='READY> '\n",
        )
        .file(
            "gh/shell-integration/fish/vendor_conf.d/ghostty-shell-integration.fish",
            "echo fish $GHOSTTY_SHELL_INTEGRATION_XDG_DIR $XDG_DATA_DIRS\n",
        )
        .file(
            "gh/shell-integration/elvish/lib/ghostty-integration.elv",
            "echo elvish $E:GHOSTTY_SHELL_INTEGRATION_XDG_DIR $E:XDG_DATA_DIRS\n",
        )
        .file(
            "gh/shell-integration/nushell/vendor/autoload/ghostty.nu",
            "export module ghostty { export def tell [] { echo used } }\nprint $'nu ($env.GHOSTTY_SHELL_INTEGRATION_XDG_DIR) ($env.XDG_DATA_DIRS)'\n",
        );
    let resources = home.path("gh");
    home.set("GHOSTTY_RESOURCES_DIR", &resources)
}

#[test]
fn ghosttys_own_integration_is_loaded_instead_where_it_is_installed() {
    let first = |shell: &str, args: &[&str], home: Home| {
        let mut terminal = home.start(shell, args);
        let text = terminal.prompt();
        (
            visible(&text).lines().next().unwrap().replace(terminal.home.path.to_str().unwrap(), "HOME"),
            terminal,
        )
    };
    let dirs = "HOME/gh/shell-integration HOME/gh/shell-integration";

    assert_eq!(first("zsh", &[], ghostty("gh-zsh")).0, "zsh unset title");
    let given = ghostty("gh-zsh2").set("ZDOTDIR", "/mine").set("GHOSTTY_SHELL_FEATURES", "cursor,title");
    assert_eq!(first("zsh", &["-l"], given).0, "zsh /mine cursor,title");

    assert_eq!(first("bash", &["-l"], ghostty("gh-bash")).0, "bash 1 unset unset 1 .bash_history");
    let given = ghostty("gh-bash2").set("ENV", "/mine").set("HISTFILE", "/h");
    assert_eq!(first("bash", &["--rcfile", "/rc"], given).0, "bash 1 /mine /rc h");

    assert_eq!(first("fish", &[], ghostty("gh-fish")).0, format!("fish {dirs}:/usr/local/share:/usr/share"));
    let (told, mut terminal) = first("elvish", &[], ghostty("gh-elvish").set("XDG_DATA_DIRS", "/x:/y"));
    assert_eq!(told, format!("elvish {dirs}:/x:/y"));
    terminal.type_in("greet\r");
    terminal.until("hello from the rc");
    let (told, mut terminal) = first("nu", &[], ghostty("gh-nu"));
    assert_eq!(told, format!("nu {dirs}:/usr/local/share:/usr/share"));
    terminal.type_in("tell\r");
    terminal.until("used");
}

#[test]
fn without_the_file_for_this_shell_ghosttys_directory_does_not_count() {
    let home = home("gh-none");
    let resources = home.path("gh");
    let mut terminal = home.set("GHOSTTY_RESOURCES_DIR", &resources).start("zsh", &[]);
    assert_eq!(titles(&terminal.prompt()), ["~"]);
}

#[test]
fn other_shells_commands_and_scripts_are_left_alone() {
    let home = home("alone");
    let all = ["bash", "zsh", "fish", "elvish", "nu"];
    for args in
        [&["-c", "echo $0"][..], &["script", "argument"], &["--help"], &["--version"], &["-x-unknown"]]
    {
        for shell in all {
            assert_eq!(home.launch(shell, args), home.bare(args), "{shell} {args:?}");
        }
    }
    for (shell, args) in [
        ("bash", "--norc"),
        ("bash", "--noprofile"),
        ("zsh", "-f"),
        ("fish", "-N"),
        ("elvish", "-norc"),
        ("nu", "-n"),
    ] {
        assert_eq!(home.launch(shell, &[args]), home.bare(&[args]), "{shell} {args}");
    }
    let scripts = write_scripts(&home.path.join("run")).unwrap();
    for shell in ["/bin/sh", "/bin/dash", "/usr/bin/python3", "bash5", "", "/"] {
        assert_eq!(scripts.launch(Path::new(shell), &[], home.env.clone()), home.bare(&[]), "{shell}");
    }
    // The dash of a login shell is no part of the name, but it makes a login shell.
    let dashed = scripts.launch(Path::new("/bin/-bash"), &[], home.env.clone());
    assert_eq!(dashed.args, ["--posix"]);
    assert_ne!(scripts.launch(Path::new("-zsh"), &[], home.env.clone()), home.bare(&[]));
}

#[test]
fn scripts_are_private_and_written_again_only_when_they_differ() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let home = Home::new("scripts");
    let mode = |path: &str| fs::metadata(home.path(path)).unwrap().permissions().mode() & 0o777;
    write_scripts(&home.path.join("run")).unwrap();
    let script = "run/shell-integration/zsh/.zshenv";
    assert_eq!(
        (mode("run/shell-integration"), mode("run/shell-integration/zsh"), mode(script)),
        (0o700, 0o700, 0o600)
    );
    let inode = |path: &str| fs::metadata(home.path(path)).unwrap().ino();
    let first = inode(script);
    write_scripts(&home.path.join("run")).unwrap();
    assert_eq!(inode(script), first);
    fs::write(home.path(script), "spoilt").unwrap();
    write_scripts(&home.path.join("run")).unwrap();
    assert_ne!(fs::read_to_string(home.path(script)).unwrap(), "spoilt");
    assert!(write_scripts(&home.path.join(script)).is_err());
}
