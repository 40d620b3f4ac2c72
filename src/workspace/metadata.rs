//! What runs in a terminal and where: plain values, and the meaning of what `git status` prints.

use crate::limits::GIT_STATUS_BYTES_MAX;

/// One process of a terminal.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// Its parent's id.
    pub parent: i32,
    /// Its command line, cut at [`crate::limits::ARGV_BYTES_MAX`]. Its name in brackets when it has none.
    pub argv: Vec<String>,
    /// Percent of one core since the sample before; 0.0 in the first.
    pub cpu_percent: f64,
    /// Resident memory in bytes.
    pub rss_bytes: u64,
}

/// A port that a process of the terminal listens on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListeningPort {
    /// 1..=65535.
    pub port: u16,
    /// Where it can be reached from; `*` from everywhere.
    pub address: String,
    /// Whether it is an IPv6 socket.
    pub v6: bool,
    /// Who listens.
    pub pid: i32,
}

/// The repository around the working directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Git {
    /// `None` when the head is detached.
    pub branch: Option<String>,
    /// The commit's whole hash; `None` before the first commit.
    pub head: Option<String>,
    /// Such as `origin/main`.
    pub upstream: Option<String>,
    /// Commits that upstream does not have; 0 without one.
    pub ahead: u32,
    /// Commits of upstream that are not here.
    pub behind: u32,
    /// Files that differ between head and index.
    pub staged: u32,
    /// Files that differ between index and directory.
    pub unstaged: u32,
    /// Files that git does not know; directories count once.
    pub untracked: u32,
    /// Files with unresolved conflicts.
    pub conflicts: u32,
}

/// Arguments of the child whose output [`Git::parse`] reads, to be run at the top of the work tree. It takes no
/// lock that a person's own git would trip over, runs no hook and no monitor, and does not go into submodules,
/// whose configuration may name programs too. Filters of changed files (git-lfs) run where the user's own
/// configuration names them; see `os::git::start` for a repository's.
pub const GIT_STATUS: [&str; 10] = [
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "status",
    "--ignore-submodules=dirty",
    "--porcelain=v2",
    "--branch",
    "--untracked-files=normal",
];

impl Git {
    /// Parses the output of `git status --porcelain=v2 --branch`, git-status(1). What follows
    /// [`GIT_STATUS_BYTES_MAX`] is not counted, and lines of an unknown kind are not either. `None` when it is
    /// no such output.
    pub fn parse(output: &[u8]) -> Option<Git> {
        let output = &output[..output.len().min(GIT_STATUS_BYTES_MAX)];
        let mut git = Git::default();
        let mut is_status = false;
        for line in String::from_utf8_lossy(output).lines() {
            // Paths may hold anything but a line end: only the front of a line is looked at.
            let mut words = line.splitn(3, ' ');
            match (words.next(), words.next()) {
                (Some("#"), Some(header)) => {
                    is_status = true;
                    git.read_header(header, words.next().unwrap_or_default());
                }
                (Some("1" | "2"), Some(state)) => {
                    let mut state = state.chars();
                    git.staged += u32::from(state.next().is_some_and(|c| c != '.'));
                    git.unstaged += u32::from(state.next().is_some_and(|c| c != '.'));
                }
                (Some("u"), _) => git.conflicts += 1,
                (Some("?"), _) => git.untracked += 1,
                _ => {}
            }
        }
        is_status.then_some(git)
    }

    fn read_header(&mut self, name: &str, value: &str) {
        let text = |value: &str| Some(value.chars().filter(|c| !c.is_control()).collect());
        match name {
            "branch.oid" if value != "(initial)" => self.head = text(value),
            "branch.head" if value != "(detached)" => self.branch = text(value),
            "branch.upstream" => self.upstream = text(value),
            "branch.ab" => {
                let count =
                    |word: Option<&str>| word.and_then(|word| word.get(1..)?.parse().ok()).unwrap_or(0);
                let mut counts = value.split(' ').filter(|word| word.starts_with(['+', '-']));
                (self.ahead, self.behind) = (count(counts.next()), count(counts.next()));
            }
            _ => {}
        }
    }
}

/// The nearest package.json on the way from the working directory to the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct PackageJson {
    pub path: String,
    pub name: Option<String>,
    pub version: Option<String>,
    pub description: Option<String>,
    /// Name and command, in order of the name. At most [`crate::limits::MANIFEST_ENTRIES_MAX`].
    pub scripts: Vec<(String, String)>,
}

/// The nearest Cargo.toml on the way from the working directory to the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct CargoToml {
    pub path: String,
    pub name: Option<String>,
    pub version: Option<String>,
    pub edition: Option<String>,
    pub description: Option<String>,
    /// Names of its `[[bin]]` tables.
    pub binaries: Vec<String>,
    /// It has a `[workspace]`.
    pub is_workspace: bool,
}

impl CargoToml {
    /// Reads the lines that people write: tables, and keys with a string on the same line. Not a TOML parser:
    /// what is written in other ways is left out, never an error.
    pub fn parse(path: &str, text: &str) -> CargoToml {
        let mut cargo = CargoToml { path: path.to_owned(), ..CargoToml::default() };
        let mut table = "";
        for line in text.lines().map(str::trim) {
            if let Some(header) = line.strip_prefix('[') {
                let array = header.strip_prefix('[');
                table = match array.unwrap_or(header).split(']').next().map(str::trim) {
                    Some("package") if array.is_none() => "package",
                    Some("bin") if array.is_some() => "bin",
                    Some(name) if name == "workspace" || name.starts_with("workspace.") => {
                        cargo.is_workspace = true;
                        ""
                    }
                    _ => "",
                };
                continue;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            let Some(value) = quoted(value.trim()) else { continue };
            match (table, key.trim()) {
                ("package", "name") => cargo.name = Some(value),
                ("package", "version") => cargo.version = Some(value),
                ("package", "edition") => cargo.edition = Some(value),
                ("package", "description") => cargo.description = Some(value),
                ("bin", "name") if cargo.binaries.len() < crate::limits::MANIFEST_ENTRIES_MAX => {
                    cargo.binaries.push(value)
                }
                _ => {}
            }
        }
        cargo
    }
}

/// A TOML string on one line without escapes.
fn quoted(value: &str) -> Option<String> {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (inside, _) = value[1..].split_once(quote)?;
    (!inside.contains('\\')).then(|| inside.chars().filter(|c| !c.is_control()).collect())
}

/// What is told about one terminal. Equal values are told once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// The shell.
    pub pid: i32,
    /// The leader of the terminal's foreground group; the shell at its prompt.
    pub foreground_pid: i32,
    /// Where the foreground process stands.
    pub cwd: String,
    /// The shell first, each process after its parent.
    pub tree: Vec<Process>,
    /// By port.
    pub listening_ports: Vec<ListeningPort>,
    /// `None` outside of a repository.
    pub git: Option<Git>,
    /// `None` when there is none.
    pub package_json: Option<PackageJson>,
    /// `None` when there is none.
    pub cargo_toml: Option<CargoToml>,
}

impl Metadata {
    /// Whether somebody would see a difference: CPU and memory of a process that does what it did before move
    /// a little all the time, and less than a percent or a sixteenth is not news.
    pub fn is_news(&self, told: &Metadata) -> bool {
        let same = |a: &Process, b: &Process| {
            (a.pid, a.parent, &a.argv) == (b.pid, b.parent, &b.argv)
                && (a.cpu_percent - b.cpu_percent).abs() < 1.0
                && a.rss_bytes.abs_diff(b.rss_bytes) <= b.rss_bytes / 16
        };
        let trees =
            self.tree.len() == told.tree.len() && self.tree.iter().zip(&told.tree).all(|(a, b)| same(a, b));
        !trees
            || (self.pid, self.foreground_pid, &self.cwd) != (told.pid, told.foreground_pid, &told.cwd)
            || self.listening_ports != told.listening_ports
            || self.git != told.git
            || self.package_json != told.package_json
            || self.cargo_toml != told.cargo_toml
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_counted_by_what_each_line_says() {
        let output = b"# branch.oid 34064be349d4a03ed158aba170d8d2db6ff9e3e0
# branch.head main
# branch.upstream origin/main
# branch.ab +3 -12
1 M. N... 100644 100644 100644 1111 2222 staged.rs
1 .M N... 100644 100644 100644 1111 2222 edited.rs
1 MM N... 100644 100644 100644 1111 2222 both with blanks.rs
1 A. N... 000000 100644 100644 0000 2222 new.rs
2 R. N... 100644 100644 100644 1111 2222 R100 to.rs\tfrom.rs
u UU N... 100644 100644 100644 100644 1 2 3 torn.rs
? notes.txt
? # branch.head evil
! ignored
";
        let git = Git::parse(output).unwrap();
        assert_eq!(git.branch.as_deref(), Some("main"));
        assert_eq!(git.head.as_deref(), Some("34064be349d4a03ed158aba170d8d2db6ff9e3e0"));
        assert_eq!((git.upstream.as_deref(), git.ahead, git.behind), (Some("origin/main"), 3, 12));
        assert_eq!((git.staged, git.unstaged, git.untracked, git.conflicts), (4, 2, 2, 1));
    }

    #[test]
    fn a_new_repository_and_a_detached_head_have_no_commit_or_no_branch() {
        let new = Git::parse(b"# branch.oid (initial)\n# branch.head main\n").unwrap();
        assert_eq!((new.head, new.branch.as_deref(), new.upstream), (None, Some("main"), None));
        let detached = Git::parse(b"# branch.oid 12ab\n# branch.head (detached)\n").unwrap();
        assert_eq!((detached.head.as_deref(), detached.branch), (Some("12ab"), None));
    }

    #[test]
    fn what_git_did_not_say_is_nothing() {
        assert_eq!(Git::parse(b""), None);
        assert_eq!(Git::parse(b"fatal: not a git repository\n"), None);
        let broken =
            Git::parse(b"# branch.ab + -\n# branch.ab\n1\n1 \n\xff\xfe\n# branch.head a\xff\x1b\n").unwrap();
        assert_eq!(broken, Git { branch: Some("a\u{fffd}".into()), ..Git::default() });
    }

    #[test]
    fn a_cargo_toml_gives_its_name_and_binaries() {
        let text = r#"
            [workspace.dependencies]
            name = "no"
            [package] # the crate
            name = "wharf"
            version.workspace = true
            edition = '2024'
            description = "a \" b"
            [[bin]]
            name = "one"
            [[bin]]
            path = "x.rs"
            name = "two"
            [dependencies]
            name = "neither"
        "#;
        let cargo = CargoToml::parse("/p/Cargo.toml", text);
        assert_eq!((cargo.name.as_deref(), cargo.edition.as_deref()), (Some("wharf"), Some("2024")));
        assert_eq!((cargo.version, cargo.description), (None, None));
        assert_eq!((cargo.binaries, cargo.is_workspace), (vec!["one".to_owned(), "two".to_owned()], true));
        assert_eq!(
            CargoToml::parse("", "[\n]]\n=\nname=\"\n[package\nname=\"x\"").name.as_deref(),
            Some("x")
        );
    }

    #[test]
    fn a_process_that_goes_on_as_before_is_no_news() {
        let process =
            Process { pid: 1, parent: 0, argv: vec!["sh".into()], cpu_percent: 10.0, rss_bytes: 16_000 };
        let with = |cpu_percent, rss_bytes, command: &str| {
            let process = Process { cpu_percent, rss_bytes, argv: vec![command.into()], ..process.clone() };
            Metadata { tree: vec![process], ..Metadata::default() }
        };
        let told = with(10.0, 16_000, "sh");
        assert!(!with(10.9, 16_900, "sh").is_news(&told));
        assert!(with(11.1, 16_000, "sh").is_news(&told));
        assert!(with(10.0, 18_000, "sh").is_news(&told));
        assert!(with(10.0, 16_000, "vi").is_news(&told));
        assert!(Metadata { cwd: "/".into(), ..told.clone() }.is_news(&told));
        assert!(Metadata { git: Some(Git::default()), ..told.clone() }.is_news(&told));
        assert!(Metadata::default().is_news(&told));
    }
}
