//! Shell integration: what makes a shell set its title to the running command, mark its prompts and tell
//! its directory, without a change to any file of the user's.
//!
//! Each supported shell is made to read one script of ours besides its own startup files: zsh through
//! `ZDOTDIR`, bash in place of `~/.bashrc` or as `ENV`, fish and Nushell through `XDG_DATA_DIRS`, elvish at
//! the end of its rc file. The scripts take out of the environment whatever brought them in. When Ghostty's own
//! integration is installed (`GHOSTTY_RESOURCES_DIR`), that one is loaded instead, the way Ghostty does it.
//!
//! An invocation that this file does not know from end to end (a command, a script, no startup files
//! wanted, an option not listed) is left as it is.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::limits::RC_BYTES_MAX;

/// Where each script lies below the integration's directory, and its text.
const SCRIPTS: [(&str, &str); 5] = [
    ("zsh/.zshenv", include_str!("zsh/.zshenv")),
    ("bash/wharf.bash", include_str!("bash/wharf.bash")),
    ("fish/vendor_conf.d/wharf.fish", include_str!("fish/wharf.fish")),
    ("elvish/wharf.elv", include_str!("elvish/wharf.elv")),
    ("nushell/vendor/autoload/wharf.nu", include_str!("nushell/wharf.nu")),
];

/// What `XDG_DATA_DIRS` means when it is not set (XDG Base Directory Specification).
const DATA_DIRS_DEFAULT: &str = "/usr/local/share:/usr/share";

/// How to start a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The arguments, without the program itself.
    pub args: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
}

/// The directory that holds the scripts of this server.
#[derive(Clone, Debug)]
pub struct ScriptsDir {
    path: PathBuf,
}

/// Writes the scripts below `runtime_dir/shell-integration`, once at the start of the server.
///
/// Directories get mode 0700, files 0600. A file is replaced at once, and only when its text differs, so shells
/// that start meanwhile read one version or the other.
///
/// # Errors
///
/// Whatever the file system says; the message names no path.
pub fn write_scripts(runtime_dir: &Path) -> io::Result<ScriptsDir> {
    let path = std::path::absolute(runtime_dir)?.join("shell-integration");
    for (name, text) in SCRIPTS {
        replace(&path.join(name), text.as_bytes())?;
    }
    Ok(ScriptsDir { path })
}

impl ScriptsDir {
    /// Arguments and environment that make `shell` load the integration, or those given when it is none of
    /// the shells known here or is not started to be talked to.
    ///
    /// `shell` is recognised by its file name, also with the dash of a login shell in front. `env` is the
    /// whole environment; of two entries with one name the first counts.
    pub fn launch(&self, shell: &Path, args: &[OsString], env: Vec<(OsString, OsString)>) -> Launch {
        let mut launch = Launch { args: args.to_vec(), env };
        let name = shell.file_name().unwrap_or_default().as_bytes();
        let (name, dashed) = match name.strip_prefix(b"-") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let Some(shell) = Shell::from_name(name) else { return launch };
        let Some(flags) = parse(args, shell.syntax()) else { return launch };
        let login = dashed || flags.iter().any(|flag| matches!(flag.name, "l" | "login"));

        let ghostty = launch.get("GHOSTTY_RESOURCES_DIR").map(|dir| Path::new(dir).join("shell-integration"));
        if let Some(dir) = ghostty
            && dir.join(shell.ghostty_script()).is_file()
        {
            self.load_ghostty(shell, &dir, &flags, &mut launch);
        } else {
            self.load(shell, login, &flags, &mut launch);
        }
        launch
    }

    fn load(&self, shell: Shell, login: bool, flags: &[Flag<'_>], launch: &mut Launch) {
        match shell {
            Shell::Zsh => launch.displace("ZDOTDIR", self.path.join("zsh"), "WHARF_ZDOTDIR"),
            Shell::Bash if login => {
                // bash expands the value, but not what comes out of a variable in it.
                launch.displace("ENV", "$WHARF_SHELL_INTEGRATION/bash/wharf.bash", "WHARF_ENV");
                launch.set("WHARF_SHELL_INTEGRATION", &self.path);
                launch.args.insert(0, "--posix".into());
            }
            Shell::Bash => {
                if let Some(user) = launch.take_rcfile(flags) {
                    launch.set("WHARF_BASH_RC", user);
                }
                let ours = self.path.join("bash/wharf.bash");
                launch.args.splice(0..0, ["--rcfile".into(), ours.into()]);
            }
            Shell::Fish | Shell::Nu => {
                let added = launch.prepend_data_dir(&self.path);
                launch.set("WHARF_DATA_DIRS", added);
            }
            Shell::Elvish => {
                let script = self.path.join("elvish/wharf.elv");
                let line =
                    script.to_str().map(|path| format!("eval (slurp < '{}')", path.replace('\'', "''")));
                self.extend_elvish_rc(line.as_deref(), flags, launch);
            }
        }
    }

    fn load_ghostty(&self, shell: Shell, dir: &Path, flags: &[Flag<'_>], launch: &mut Launch) {
        if launch.get("GHOSTTY_SHELL_FEATURES").is_none() {
            launch.set("GHOSTTY_SHELL_FEATURES", "title");
        }
        match shell {
            Shell::Zsh => launch.displace("ZDOTDIR", dir.join("zsh"), "GHOSTTY_ZSH_ZDOTDIR"),
            Shell::Bash => {
                if let Some(user) = launch.take_rcfile(flags) {
                    launch.set("GHOSTTY_BASH_RCFILE", user);
                }
                launch.displace("ENV", dir.join(shell.ghostty_script()), "GHOSTTY_BASH_ENV");
                launch.set("GHOSTTY_BASH_INJECT", "1");
                if launch.get("HISTFILE").is_none()
                    && let Some(home) = launch.get("HOME")
                {
                    // In POSIX mode bash would choose another file.
                    let history = Path::new(home).join(".bash_history");
                    launch.set("HISTFILE", history);
                    launch.set("GHOSTTY_BASH_UNEXPORT_HISTFILE", "1");
                }
                launch.args.insert(0, "--posix".into());
            }
            Shell::Fish | Shell::Elvish | Shell::Nu => {
                launch.prepend_data_dir(dir);
                launch.set("GHOSTTY_SHELL_INTEGRATION_XDG_DIR", dir);
            }
        }
        match shell {
            // Ghostty leaves this line to the user, who writes it for Ghostty's own TERM.
            Shell::Elvish => self.extend_elvish_rc(Some("{ use ghostty-integration }"), flags, launch),
            Shell::Nu if !flags.iter().any(|flag| matches!(flag.name, "e" | "execute")) => {
                launch.args.splice(0..0, ["--execute".into(), "use ghostty *".into()]);
            }
            Shell::Zsh | Shell::Bash | Shell::Fish | Shell::Nu => {}
        }
    }

    /// Starts elvish with a copy of the user's rc file that has one more line at its end. There is no other
    /// way in that keeps what the rc file defines; an rc file that asks where it lies is left alone.
    fn extend_elvish_rc(&self, line: Option<&str>, flags: &[Flag<'_>], launch: &mut Launch) {
        let Some(line) = line else { return };
        let given = flags.iter().find(|flag| flag.name == "rc");
        let Some(rc) = given.and_then(|flag| flag.value.map(PathBuf::from)).or_else(|| launch.elvish_rc())
        else {
            return;
        };
        let text = match fs::metadata(&rc) {
            Ok(meta) if meta.is_file() && meta.len() <= RC_BYTES_MAX => match fs::read_to_string(&rc) {
                Ok(text) => text,
                Err(_) => return,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Ok(_) | Err(_) => return,
        };
        if ["use ./", "use ../", "(src)"].iter().any(|place| text.contains(place)) {
            return;
        }
        // One file for each rc file, so that they do not pile up.
        let mut hasher = DefaultHasher::new();
        rc.hash(&mut hasher);
        let copy = self.path.join(format!("elvish/rc-{:016x}.elv", hasher.finish()));
        if replace(&copy, format!("{text}\n{line}\n").as_bytes()).is_ok() {
            if let Some(flag) = given {
                launch.args.drain(flag.at.clone());
            }
            launch.args.splice(0..0, ["-rc".into(), copy.into()]);
        }
    }
}

impl Launch {
    fn get(&self, name: &str) -> Option<&OsStr> {
        self.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    }

    fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.env.retain(|(key, _)| key != name);
        self.env.push((name.into(), value.into()));
    }

    /// Sets `name` and keeps what it was, if it was, as `kept`.
    fn displace(&mut self, name: &str, value: impl Into<OsString>, kept: &str) {
        if let Some(old) = self.get(name).map(OsStr::to_owned) {
            self.set(kept, old);
        }
        self.set(name, value);
    }

    /// Puts `dir` at the head of `XDG_DATA_DIRS`; what this has put there, colon and default included.
    fn prepend_data_dir(&mut self, dir: &Path) -> OsString {
        let mut added = dir.as_os_str().to_owned();
        added.push(":");
        let old = self.get("XDG_DATA_DIRS").filter(|dirs| !dirs.is_empty()).map(OsStr::to_owned);
        if old.is_none() {
            added.push(DATA_DIRS_DEFAULT);
        }
        let mut dirs = added.clone();
        dirs.push(old.unwrap_or_default());
        self.set("XDG_DATA_DIRS", dirs);
        added
    }

    /// Takes bash's `--rcfile FILE` out of the arguments.
    fn take_rcfile(&mut self, flags: &[Flag<'_>]) -> Option<OsString> {
        let mut file = None;
        for flag in flags.iter().rev().filter(|flag| matches!(flag.name, "rcfile" | "init-file")) {
            self.args.drain(flag.at.clone());
            // The last one counts.
            file = file.or(flag.value.map(OsString::from));
        }
        file
    }

    fn elvish_rc(&self) -> Option<PathBuf> {
        let home = self.get("HOME").map(Path::new)?;
        // Up to version 0.19 this one came first.
        if home.join(".elvish/rc.elv").exists() {
            return None;
        }
        let config = self.get("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty());
        Some(config.map_or_else(|| home.join(".config"), PathBuf::from).join("elvish/rc.elv"))
    }
}

#[derive(Clone, Copy)]
enum Shell {
    Zsh,
    Bash,
    Fish,
    Elvish,
    Nu,
}

impl Shell {
    fn from_name(name: &[u8]) -> Option<Shell> {
        match name {
            b"zsh" => Some(Shell::Zsh),
            b"bash" => Some(Shell::Bash),
            b"fish" => Some(Shell::Fish),
            b"elvish" => Some(Shell::Elvish),
            b"nu" => Some(Shell::Nu),
            _ => None,
        }
    }

    /// The options of an interactive start that reads the startup files.
    fn syntax(self) -> Syntax {
        match self {
            Shell::Zsh => Syntax {
                letters: "ilvx",
                valued_letters: "",
                words: &["login", "interactive"],
                valued_words: &[],
            },
            Shell::Bash => Syntax {
                letters: "ilvx",
                valued_letters: "",
                words: &["login", "noediting", "verbose"],
                valued_words: &["rcfile", "init-file"],
            },
            Shell::Fish => Syntax {
                letters: "ilP",
                valued_letters: "C",
                words: &["login", "interactive", "private"],
                valued_words: &["init-command"],
            },
            Shell::Elvish => {
                Syntax { letters: "", valued_letters: "", words: &["i"], valued_words: &["rc", "log"] }
            }
            Shell::Nu => Syntax {
                letters: "il",
                valued_letters: "e",
                words: &["login", "interactive", "no-history"],
                valued_words: &["execute", "config", "env-config", "table-mode", "include-path"],
            },
        }
    }

    /// What Ghostty's directory `shell-integration` must hold.
    fn ghostty_script(self) -> &'static str {
        match self {
            Shell::Zsh => "zsh/.zshenv",
            Shell::Bash => "bash/ghostty.bash",
            Shell::Fish => "fish/vendor_conf.d/ghostty-shell-integration.fish",
            Shell::Elvish => "elvish/lib/ghostty-integration.elv",
            Shell::Nu => "nushell/vendor/autoload/ghostty.nu",
        }
    }
}

/// The options of one shell: single letters that may stand together, and words. Without letters, words have
/// one dash or two.
struct Syntax {
    letters: &'static str,
    valued_letters: &'static str,
    words: &'static [&'static str],
    valued_words: &'static [&'static str],
}

/// One option of a command line, and the arguments that it takes up.
struct Flag<'a> {
    name: &'a str,
    value: Option<&'a str>,
    at: Range<usize>,
}

/// All options of a command line; none if anything in it is unknown, or is a command or a script.
fn parse(args: &[OsString], syntax: Syntax) -> Option<Vec<Flag<'_>>> {
    let mut flags = Vec::new();
    let mut at = 0;
    while at < args.len() {
        let arg = args[at].to_str()?;
        let word = match (arg.strip_prefix("--"), arg.strip_prefix('-')) {
            (Some(word), _) => Some(word),
            (None, Some(word)) if syntax.letters.is_empty() => Some(word),
            (None, Some(_)) => None,
            (None, None) => return None,
        };
        let mut end = at + 1;
        if let Some(word) = word {
            let (name, mut value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            if syntax.valued_words.contains(&name) {
                if value.is_none() {
                    value = Some(args.get(end)?.to_str()?);
                    end += 1;
                }
            } else if value.is_some() || !syntax.words.contains(&name) {
                return None;
            }
            flags.push(Flag { name, value, at: at..end });
        } else if arg.len() == 2 && syntax.valued_letters.contains(&arg[1..]) {
            let value = Some(args.get(end)?.to_str()?);
            end += 1;
            flags.push(Flag { name: &arg[1..], value, at: at..end });
        } else {
            let letters = &arg[1..];
            if letters.is_empty() || !letters.chars().all(|letter| syntax.letters.contains(letter)) {
                return None;
            }
            flags.extend(letters.split_inclusive(|_| true).map(|name| Flag {
                name,
                value: None,
                at: at..end,
            }));
        }
        at = end;
    }
    Some(flags)
}

/// Writes a file so that it is there whole or not at all, unless it says that already.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    if let Some(dir) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    file.write_all(bytes)?;
    fs::rename(&fresh, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(shell: Shell, line: &str) -> Option<Vec<String>> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let flags = parse(&args, shell.syntax())?;
        Some(flags.iter().map(|flag| format!("{}{}", flag.name, flag.value.unwrap_or_default())).collect())
    }

    #[test]
    fn options_of_an_interactive_start_are_understood() {
        assert_eq!(flags(Shell::Bash, ""), Some(vec![]));
        assert_eq!(
            flags(Shell::Bash, "--rcfile /x -il"),
            Some(vec!["rcfile/x".into(), "i".into(), "l".into()])
        );
        assert_eq!(flags(Shell::Fish, "-C true --login"), Some(vec!["Ctrue".into(), "login".into()]));
        assert_eq!(flags(Shell::Elvish, "-rc /x -i"), Some(vec!["rc/x".into(), "i".into()]));
        assert_eq!(flags(Shell::Nu, "--config=/x -e ls"), Some(vec!["config/x".into(), "els".into()]));
    }

    #[test]
    fn commands_scripts_and_unknown_options_leave_everything_alone() {
        let all = [Shell::Zsh, Shell::Bash, Shell::Fish, Shell::Elvish, Shell::Nu];
        for line in ["-c ls", "script", "-l script", "-", "--", "--nonsense", "-i=3", "+x", "-norc", "-lc ls"]
        {
            assert!(all.iter().all(|shell| flags(*shell, line).is_none()), "{line}");
        }
        for line in ["--norc", "--noprofile", "--posix", "--rcfile", "-s", "-o vi"] {
            assert_eq!(flags(Shell::Bash, line), None, "{line}");
        }
        assert_eq!(flags(Shell::Zsh, "-f"), None);
        assert_eq!(flags(Shell::Fish, "--no-config"), None);
        assert_eq!(flags(Shell::Nu, "-n"), None);
    }
}
