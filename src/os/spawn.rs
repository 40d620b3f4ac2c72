//! Children on their own PTY: starting them, signalling them, and what is left of them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::Access;
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, kill_process, kill_process_group};

pub use rustix::process::Signal;

use crate::limits::{KILL_ROUNDS_MAX, SIDEBAND_PIPE_BYTES};
use crate::os::{proc, pty};

/// What to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable; without a slash it is looked up in the `PATH` of [`Program::env`].
    pub path: PathBuf,
    /// `argv[0]` when it is not the path: `-bash` makes a login shell.
    pub arg0: Option<OsString>,
    /// Arguments after `argv[0]`.
    pub args: Vec<OsString>,
    /// The complete environment. Only `PWD` is added, as `cwd`, when it is not there: shells then show the
    /// path as it was asked for, symbolic links included.
    pub env: Vec<(OsString, OsString)>,
    /// Where it starts.
    pub cwd: PathBuf,
}

/// A running child: session leader, on a terminal whose other end is ours.
#[derive(Debug)]
pub struct Child {
    /// Our end of its terminal; does not block.
    pub master: OwnedFd,
    /// Process, process group and session id in one number.
    pub pid: i32,
    /// Those of [`spawn_with_channels`].
    pub channels: Option<Channels>,
}

/// Our ends of the pipes that are a child's descriptors 3, 4 and 5. None of them blocks, and a writer of the child
/// does once a pipe is full.
#[derive(Debug)]
pub struct Channels {
    /// What the child writes to 3.
    pub rows: PipeReader,
    /// What the child writes to 4.
    pub data: PipeReader,
    /// What the child reads from 5.
    pub events: PipeWriter,
}

/// Which part of starting a program failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The executable or its interpreter. The request is at fault.
    Program(PathBuf),
    /// The working directory. The request is at fault.
    Directory(PathBuf),
    /// Arguments or environment: too long, or with a NUL byte. The request is at fault.
    Arguments,
    /// No PTY was left. The system is at fault.
    Terminal,
    /// No process was left. The system is at fault.
    Process,
}

/// Why a program did not start. Its `Display` is one line that names what failed.
#[derive(Debug)]
pub struct SpawnError {
    /// The part that failed.
    pub failed: Failed,
    /// What the system said.
    pub error: io::Error,
}

impl SpawnError {
    /// Whether another request could succeed now (4xx), as opposed to a machine without room (5xx).
    pub fn is_requests_fault(&self) -> bool {
        match self.failed {
            Failed::Program(_) | Failed::Directory(_) | Failed::Arguments => true,
            Failed::Terminal | Failed::Process => false,
        }
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = &self.error;
        match (&self.failed, Errno::from_io_error(error)) {
            (Failed::Program(path), Some(Errno::NOENT)) if path.exists() => {
                write!(f, "{}: its interpreter does not exist", path.display())
            }
            (Failed::Program(path), _) => write!(f, "cannot run {}: {error}", path.display()),
            (Failed::Directory(path), _) => write!(f, "cannot start in {}: {error}", path.display()),
            (Failed::Arguments, _) => write!(f, "arguments or environment: {error}"),
            (Failed::Terminal, Some(Errno::AGAIN)) => write!(f, "all PTYs are in use (kernel.pty.max)"),
            (Failed::Terminal, _) => write!(f, "cannot open a PTY: {error}"),
            (Failed::Process, Some(Errno::AGAIN)) => {
                write!(f, "too many processes (ulimit -u, or the cgroup's pids.max)")
            }
            (Failed::Process, _) => write!(f, "cannot start a process: {error}"),
        }
    }
}

impl std::error::Error for SpawnError {}

/// Starts a program on a new PTY of this size: a new session whose controlling terminal it is, standard
/// streams on it, nothing else inherited, every signal at its default and none blocked (whatever the server's
/// own parent left), the server's first limit of descriptors. Waits until the program has been executed,
/// so a failed `exec` is an error here, and leaves no descriptor and no process behind then.
pub fn spawn(program: &Program, cols: u16, rows: u16) -> Result<Child, SpawnError> {
    start(program, cols, rows, None)
}

/// The same, with [`Channels`], which whatever the program starts inherits.
pub fn spawn_with_channels(program: &Program, cols: u16, rows: u16) -> Result<Child, SpawnError> {
    let failed = |error| SpawnError { failed: Failed::Process, error };
    let [rows_bytes, data_bytes, events_bytes] = SIDEBAND_PIPE_BYTES;
    let (rows_in, rows_out) = pipe(rows_bytes).map_err(failed)?;
    let (data_in, data_out) = pipe(data_bytes).map_err(failed)?;
    let (events_in, events_out) = pipe(events_bytes).map_err(failed)?;
    let channels = Channels { rows: rows_in, data: data_in, events: events_out };
    for ours in [channels.rows.as_fd(), channels.data.as_fd(), channels.events.as_fd()] {
        rustix::io::ioctl_fionbio(ours, true).map_err(|errno| failed(errno.into()))?;
    }
    // The child's ends get numbers above those that they have there, so that giving one its number closes no
    // other. With the originals, which stay open, none of those is left for the pipe that reports a failed `exec`.
    let moved = |end: BorrowedFd<'_>| {
        rustix::io::fcntl_dupfd_cloexec(end, CHANNELS_END).map_err(|errno| failed(errno.into()))
    };
    let theirs = [moved(rows_out.as_fd())?, moved(data_out.as_fd())?, moved(events_in.as_fd())?];
    let child = start(program, cols, rows, Some(theirs.each_ref().map(OwnedFd::as_raw_fd)))?;
    Ok(Child { channels: Some(channels), ..child })
}

/// The first descriptor above those of a child with channels.
const CHANNELS_END: RawFd = 6;

fn pipe(bytes: usize) -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    // Only a saving: a user who has many pipes already gets small ones anyway.
    let _ = rustix::pipe::fcntl_setpipe_size(&writer, bytes);
    Ok((reader, writer))
}

fn start(program: &Program, cols: u16, rows: u16, channels: Option<[RawFd; 3]>) -> Result<Child, SpawnError> {
    let no_terminal = |error| SpawnError { failed: Failed::Terminal, error };
    let (master, slave) = pty::open(cols, rows).map_err(no_terminal)?;
    let input = slave.try_clone().map_err(no_terminal)?;
    let output = slave.try_clone().map_err(no_terminal)?;

    let mut command = Command::new(&program.path);
    command.args(&program.args).current_dir(&program.cwd).env_clear();
    command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::from(slave));
    if let Some(arg0) = &program.arg0 {
        command.arg0(arg0);
    }
    command.env("PWD", &program.cwd).envs(program.env.iter().map(|(name, value)| (name, value)));
    prepare_in_child(&mut command, channels);
    match command.spawn() {
        Ok(child) => Ok(Child { master, pid: child.id().cast_signed(), channels: None }),
        Err(error) => Err(SpawnError { failed: blame(program, &error), error }),
    }
}

/// What happens in the child between `fork` and `exec`, after its standard streams are the terminal.
#[allow(unsafe_code)]
fn prepare_in_child(command: &mut Command, channels: Option<[RawFd; 3]>) {
    let descriptor_limit = proc::descriptor_limit_at_start();
    // SAFETY: the closure makes system calls only; it neither allocates nor takes a lock, and touches no
    // memory but its own `Copy` capture.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            // `exec` makes caught signals default but keeps ignored ones; numbers that cannot be set say EINVAL.
            for signal in 1..=libc::SIGRTMAX() {
                libc::signal(signal, libc::SIG_DFL);
            }
            if let Some(limit) = descriptor_limit {
                rustix::process::setrlimit(rustix::process::Resource::Nofile, limit)?;
            }
            for (fd, theirs) in (3..).zip(channels.iter().flatten()) {
                if libc::dup2(*theirs, fd) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            // Ours are close-on-exec already; this is for those the server itself inherited. Not closed at
            // once: one of them is the pipe on which a failed `exec` is reported.
            let first = if channels.is_some() { CHANNELS_END } else { 3 };
            let last = libc::c_uint::MAX;
            if libc::syscall(libc::SYS_close_range, first, last, libc::CLOSE_RANGE_CLOEXEC) != 0 {
                // Before Linux 5.11: inherited descriptors have low numbers.
                for fd in first..256 {
                    libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
                }
            }
            Ok(())
        });
    }
}

/// The child reports a bare errno; what it was about is found out afterwards.
fn blame(program: &Program, error: &io::Error) -> Failed {
    match Errno::from_io_error(error) {
        Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => Failed::Process,
        None | Some(Errno::TOOBIG) => Failed::Arguments,
        Some(_) if !program.cwd.is_dir() || rustix::fs::access(&program.cwd, Access::EXEC_OK).is_err() => {
            Failed::Directory(program.cwd.clone())
        }
        Some(_) => Failed::Program(program.path.clone()),
    }
}

/// Signals the group of a child and, when it is another one, its terminal's foreground group. SIGHUP is
/// followed by SIGCONT, since a stopped job would not hear it. Groups that are gone are no error.
///
/// Call it before the child was reaped: its number may belong to a stranger afterwards.
pub fn signal_group(pid: i32, signal: Signal) {
    // The kernel knows no group for a dead leader (0 or -1), and never may a signal go to init's or our own.
    let foreground =
        proc::stat(pid).map(|stat| stat.foreground_group).filter(|group| *group > 1 && *group != pid);
    for group in [Some(pid), foreground].into_iter().flatten().filter_map(Pid::from_raw) {
        // ESRCH: gone meanwhile. EPERM: it changed its user; then only root could.
        let _ = kill_process_group(group, signal);
        if signal == Signal::HUP {
            let _ = kill_process_group(group, Signal::CONT);
        }
    }
}

/// SIGKILL for every process of this session, whichever group it is in; returns how many were hit. Reads
/// /proc, so the session of a leader that is long gone is found too. Members that fork meanwhile are found in
/// the next round; a process that made a session of its own (`setsid`) has left and is spared.
///
/// The number must still mean that session: call it while the terminal holds on to its child's pid.
pub fn kill_session(pid: i32) -> usize {
    let mut killed = 0;
    for _ in 0..KILL_ROUNDS_MAX {
        let members = proc::session_members(pid);
        if members.is_empty() {
            break;
        }
        for member in members.into_iter().filter_map(Pid::from_raw) {
            killed += usize::from(kill_process(member, Signal::KILL).is_ok());
        }
    }
    killed
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It called `exit` with this status, 0..=255.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

/// A child that is gone for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaped {
    /// Its process id; free for reuse from now on.
    pub pid: i32,
    /// How it ended.
    pub exit: Exit,
}

/// The next dead child, if any; call until `None`, since SIGCHLDs coalesce. As PID 1 this also buries
/// orphans. Stopped children are no exits, and having no children is no error.
pub fn reap() -> Option<Reaped> {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                let code = status.exit_status().map(Exit::Code);
                if let Some(exit) = code.or_else(|| status.terminating_signal().map(Exit::Signal)) {
                    return Some(Reaped { pid: pid.as_raw_nonzero().get(), exit });
                }
            }
            Err(Errno::INTR) => {}
            Ok(None) | Err(_) => return None,
        }
    }
}

/// One line of /etc/passwd, as far as a shell needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passwd {
    /// Login name.
    pub name: OsString,
    /// Home directory.
    pub home: PathBuf,
    /// Login shell; `/bin/sh` when the field is empty (passwd(5)).
    pub shell: PathBuf,
}

/// The entry of a user in /etc/passwd; users who are known only to a directory service have none.
pub fn passwd_entry(uid: u32) -> Option<Passwd> {
    std::fs::read("/etc/passwd").ok()?.split(|byte| *byte == b'\n').find_map(|line| parse_passwd(line, uid))
}

fn parse_passwd(line: &[u8], uid: u32) -> Option<Passwd> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
    let [name, _, id, _, _, home, shell] = fields[..] else { return None };
    if std::str::from_utf8(id).ok()?.parse() != Ok(uid) {
        return None;
    }
    let shell = if shell.is_empty() { b"/bin/sh" } else { shell };
    let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
    Some(Passwd { name: OsString::from_vec(name.to_vec()), home: path(home), shell: path(shell) })
}

/// Whether this is a file that we may execute.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

/// The shell when a request names none: the configured one, else `$SHELL`, else the passwd entry's, else
/// `/bin/sh`. What cannot be executed, or only says that nobody may log in, is passed over, except for the
/// configured one: an operator's mistake is better seen than hidden.
pub fn default_shell(config: Option<&Path>) -> PathBuf {
    if let Some(configured) = config {
        return configured.to_owned();
    }
    let from_env = std::env::var_os("SHELL").map(PathBuf::from);
    let is_shell = |path: &PathBuf| {
        let is_refusal = path.file_name().is_some_and(|name| name == "nologin" || name == "false");
        path.is_absolute() && !is_refusal && is_executable(path)
    };
    let from_passwd = || passwd_entry(proc::own_uid()).map(|entry| entry.shell).filter(is_shell);
    from_env.filter(is_shell).or_else(from_passwd).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

/// Variables that speak of the server's own terminal, multiplexer or service manager, or are its secrets.
const NOT_INHERITED: &[&str] = &[
    "TMUX",
    "TMUX_PANE",
    "STY",
    "WINDOW",
    "TERMINFO",
    "TERMCAP",
    "COLUMNS",
    "LINES",
    "WINDOWID",
    "TERM_SESSION_ID",
    "LC_TERMINAL",
    "LC_TERMINAL_VERSION",
    "WT_SESSION",
    "WT_PROFILE_ID",
    "TILIX_ID",
    "GPG_TTY",
    "SSH_TTY",
    "COLORFGBG",
    "NOTIFY_SOCKET",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "LISTEN_PIDFDID",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "MAINPID",
    "MANAGERPID",
    "MANAGERPIDFDID",
    "SYSTEMD_EXEC_PID",
    "FDSTORE",
    "CREDENTIALS_DIRECTORY",
    "RUNTIME_DIRECTORY",
    "STATE_DIRECTORY",
    "CACHE_DIRECTORY",
    "LOGS_DIRECTORY",
    "CONFIGURATION_DIRECTORY",
    "PWD",
    "OLDPWD",
    "_",
];

/// The same, by prefix.
const NOT_INHERITED_PREFIXES: &[&str] = &[
    "WHARF_",
    "HYPERTERM_",
    "HT_",
    "KITTY_",
    "VTE_",
    "WEZTERM_",
    "ALACRITTY_",
    "ITERM_",
    "GHOSTTY_",
    "KONSOLE_",
    "GNOME_TERMINAL_",
    "ZELLIJ",
    "VSCODE_",
    "XTERM_",
    "WATCHDOG_",
    "MEMORY_PRESSURE_",
];

/// Where commands are looked for when the server itself has no `PATH`.
const PATH_DEFAULT: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The environment of a new shell: the server's, without its secrets and without what describes the server's
/// own terminal or service; what a shell needs filled in (also under `env -i`); then `extra`, which wins.
pub fn base_environment(extra: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let inherited = std::env::vars_os();
    let entry = passwd_entry(proc::own_uid());
    environment(inherited, entry, default_shell(None), extra)
}

fn environment(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    entry: Option<Passwd>,
    shell: PathBuf,
    extra: &[(OsString, OsString)],
) -> Vec<(OsString, OsString)> {
    let mut env: BTreeMap<OsString, OsString> = inherited.filter(|(name, _)| is_inherited(name)).collect();
    let mut fill = |name: &str, value: OsString| {
        let held = env.entry(name.into()).or_default();
        if held.is_empty() {
            *held = value;
        }
    };
    let user = entry.as_ref().map_or_else(|| proc::own_uid().to_string().into(), |entry| entry.name.clone());
    fill("HOME", entry.map_or_else(|| "/".into(), |entry| entry.home.into()));
    fill("USER", user.clone());
    fill("LOGNAME", user);
    fill("SHELL", shell.into());
    fill("PATH", PATH_DEFAULT.into());
    let has_locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .any(|name| env.get(OsStr::new(name)).is_some_and(|v| !v.is_empty()));
    if !has_locale {
        env.insert("LANG".into(), "C.UTF-8".into());
    }
    for (name, value) in [
        ("TERM", "xterm-256color"),
        ("COLORTERM", "truecolor"),
        ("TERM_PROGRAM", "wharf"),
        ("TERM_PROGRAM_VERSION", env!("CARGO_PKG_VERSION")),
    ] {
        env.insert(name.into(), value.into());
    }
    env.extend(extra.iter().cloned());
    env.into_iter().collect()
}

fn is_inherited(name: &OsStr) -> bool {
    // Where Ghostty keeps its shell integration is a fact of the machine, not of one terminal.
    if name == "GHOSTTY_RESOURCES_DIR" {
        return true;
    }
    let has_prefix = |prefix: &&str| name.as_bytes().starts_with(prefix.as_bytes());
    !NOT_INHERITED.iter().any(|listed| name == *listed) && !NOT_INHERITED_PREFIXES.iter().any(has_prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The environment of a shell whose server has `inherited` and runs as the user `ann`.
    fn shell_gets(inherited: &[(&str, &str)], extra: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |pairs: &[(&str, &str)]| -> Vec<(OsString, OsString)> {
            pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
        };
        let ann = Passwd { name: "ann".into(), home: "/home/ann".into(), shell: "/bin/zsh".into() };
        let env = environment(owned(inherited).into_iter(), Some(ann), "/bin/zsh".into(), &owned(extra));
        env.into_iter()
            .map(|(name, value)| (name.into_string().unwrap(), value.into_string().unwrap()))
            .collect()
    }

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_shell_has_all_it_needs_under_an_empty_environment() {
        let expected = map(&[
            ("COLORTERM", "truecolor"),
            ("HOME", "/home/ann"),
            ("LANG", "C.UTF-8"),
            ("LOGNAME", "ann"),
            ("PATH", PATH_DEFAULT),
            ("SHELL", "/bin/zsh"),
            ("TERM", "xterm-256color"),
            ("TERM_PROGRAM", "wharf"),
            ("TERM_PROGRAM_VERSION", env!("CARGO_PKG_VERSION")),
            ("USER", "ann"),
        ]);
        assert_eq!(shell_gets(&[], &[]), expected);
        assert_eq!(shell_gets(&[("HOME", ""), ("LANG", "")], &[]), expected);
    }

    #[test]
    fn a_shell_keeps_what_is_the_users_and_loses_what_is_the_servers() {
        let kept = [
            ("EDITOR", "vi"),
            ("GHOSTTY_RESOURCES_DIR", "/usr/share/ghostty"),
            ("HOME", "/srv"),
            ("LC_CTYPE", "de_DE.UTF-8"),
            ("LOGNAME", "bob"),
            ("PATH", "/bin"),
            ("SHELL", "/bin/fish"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("USER", "bob"),
        ];
        let lost = [
            ("WHARF_TOKEN", "secret"),
            ("WHARF_TOKEN_FILE", "/secret"),
            ("TMUX", "/tmp/tmux"),
            ("TMUX_PANE", "%1"),
            ("STY", "1.pts"),
            ("TERMINFO", "/kitty"),
            ("TERMCAP", "x"),
            ("KITTY_WINDOW_ID", "1"),
            ("VTE_VERSION", "7000"),
            ("WEZTERM_PANE", "0"),
            ("ALACRITTY_SOCKET", "/a"),
            ("ITERM_SESSION_ID", "w0"),
            ("GHOSTTY_BIN_DIR", "/g"),
            ("KONSOLE_VERSION", "2"),
            ("COLUMNS", "80"),
            ("LINES", "24"),
            ("NOTIFY_SOCKET", "/n"),
            ("LISTEN_FDS", "1"),
            ("LISTEN_PID", "1"),
            ("WATCHDOG_USEC", "1"),
            ("INVOCATION_ID", "1"),
            ("CREDENTIALS_DIRECTORY", "/c"),
            ("COLORFGBG", "15;0"),
            ("HT_SURFACE", "outer"),
            ("HT_WORKSPACE_ID", "outer"),
            ("HYPERTERM_CHANNELS", "{}"),
            ("OLDPWD", "/old"),
        ];
        let replaced = [("TERM", "screen"), ("COLORTERM", "no"), ("TERM_PROGRAM", "kitty")];
        let inherited = [&kept[..], &lost[..], &replaced[..]].concat();
        let mut expected = map(&kept);
        expected.extend(map(&[
            ("COLORTERM", "truecolor"),
            ("TERM", "xterm-256color"),
            ("TERM_PROGRAM", "wharf"),
            ("TERM_PROGRAM_VERSION", env!("CARGO_PKG_VERSION")),
        ]));
        assert_eq!(shell_gets(&inherited, &[]), expected);
    }

    #[test]
    fn what_the_caller_adds_wins() {
        let env = shell_gets(&[("WHARF_SESSION", "outer")], &[("WHARF_SESSION", "inner"), ("TERM", "dumb")]);
        assert_eq!((env["WHARF_SESSION"].as_str(), env["TERM"].as_str()), ("inner", "dumb"));
    }

    #[test]
    fn an_entry_of_passwd() {
        let entry = |line: &str| parse_passwd(line.as_bytes(), 1000);
        let ann =
            |shell: &str| Some(Passwd { name: "ann".into(), home: "/home/ann".into(), shell: shell.into() });
        assert_eq!(entry("ann:x:1000:100:Ann,,,:/home/ann:/bin/zsh"), ann("/bin/zsh"));
        assert_eq!(entry("ann:x:1000:100::/home/ann:"), ann("/bin/sh"));
        for other in ["bob:x:1001:100::/home/bob:/bin/sh", "ann:x:1000:100::/home/ann", "+::::::", "", "#"] {
            assert_eq!(entry(other), None);
        }
        assert_eq!(passwd_entry(0).unwrap().name, "root");
    }

    #[test]
    fn a_shell_is_always_found() {
        assert_eq!(default_shell(Some(Path::new("/opt/shell"))), Path::new("/opt/shell"));
        assert!(is_executable(&default_shell(None)));
        assert!(!is_executable(Path::new("/etc/passwd")));
        assert!(!is_executable(Path::new("/etc")));
    }
}
