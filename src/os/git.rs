//! `git status` as a child whose output the loop reads.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use memchr::memmem;
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process_group};

use super::metadata::{Stamp, nearest, read_file, stamp};
use crate::limits::MANIFEST_BYTES_MAX;

/// Where a repository's work tree begins, and where its index and head lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The directory that holds `.git`.
    pub root: PathBuf,
    /// `.git` itself, or what it names in a linked work tree or a submodule.
    pub git_dir: PathBuf,
}

impl Place {
    /// The repository around a directory, if there is one.
    pub fn around(directory: &Path) -> Option<Place> {
        let git = nearest(directory, ".git")?;
        let root = git.parent()?.to_owned();
        if !git.is_file() {
            return Some(Place { root, git_dir: git });
        }
        let line = String::from_utf8(read_file(&git)?).ok()?;
        let git_dir = root.join(line.strip_prefix("gitdir:")?.trim());
        Some(Place { root, git_dir })
    }

    /// Whether the repository's own configuration names filters, or files that may name some: programs that git
    /// runs by itself on changed files (gitattributes(5)). An unpacked archive may bring them along.
    fn brings_programs(&self) -> bool {
        let common = read_file(&self.git_dir.join("commondir"))
            .and_then(|name| String::from_utf8(name).ok())
            .map_or(self.git_dir.clone(), |name| self.git_dir.join(name.trim()));
        [common.join("config"), self.git_dir.join("config.worktree")]
            .iter()
            .filter_map(|path| read_file(path))
            .any(|text| {
                let is_cut = text.len() as u64 >= MANIFEST_BYTES_MAX;
                let text = text.to_ascii_lowercase();
                is_cut
                    || [&b"[filter"[..], b"[include"]
                        .iter()
                        .any(|section| memmem::find(&text, section).is_some())
            })
    }

    /// Changes with each commit, checkout, `git add` and fetch.
    pub fn stamps(&self) -> [Option<Stamp>; 3] {
        ["HEAD", "index", "FETCH_HEAD"].map(|name| stamp(&self.git_dir.join(name)))
    }
}

/// A child that runs `git`. It is reaped like every other child of the server.
#[derive(Debug)]
pub struct Child {
    /// Its id, and that of its process group.
    pub pid: i32,
    /// Its standard output; does not block.
    pub output: OwnedFd,
}

/// Starts git in a repository with these arguments. It has no input, no terminal and no say: what it complains of
/// is dropped. Variables that would point it to another repository, make it prompt, page or trace, and the
/// server's own secrets, are not in its environment.
///
/// # Errors
/// Whatever the system says; `NotFound` where git is not installed, `PermissionDenied` where the repository brings
/// programs that git would run: to stand in it is no leave to do that.
pub fn start(directory: &Path, arguments: &[&str]) -> io::Result<Child> {
    if Place::around(directory).is_some_and(|place| place.brings_programs()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "its own configuration names programs"));
    }
    let mut command = Command::new("git");
    command.args(arguments).current_dir(directory).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let is_meant_for_another = |name: &OsStr| {
        let name = name.to_string_lossy();
        name.starts_with("GIT_") || name.starts_with("WHARF_")
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_meant_for_another(name)) {
        command.env_remove(name);
    }
    command.envs([("GIT_OPTIONAL_LOCKS", "0"), ("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")]);
    let mut child = command.spawn()?;
    let pid = child.id().cast_signed();
    let output = child.stdout.take().map(OwnedFd::from).ok_or(io::ErrorKind::BrokenPipe)?;
    let flags = rustix::fs::fcntl_getfl(&output)?;
    rustix::fs::fcntl_setfl(&output, flags | OFlags::NONBLOCK)?;
    Ok(Child { pid, output })
}

/// Reads what a child has printed; 0 at its end, `WouldBlock` when there is no more for now.
///
/// # Errors
/// Whatever the system says.
pub fn read(output: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::retry_on_intr(|| rustix::io::read(output, &mut *buffer))?)
}

/// Ends it and all that it started.
pub fn kill(pid: i32) {
    if let Some(group) = Pid::from_raw(pid) {
        // Gone meanwhile: that was the aim.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_repository_is_found_from_below_also_when_its_git_is_a_file() {
        let root = std::env::temp_dir().join(format!("wharf-git-place-{}", std::process::id()));
        let (plain, linked) = (root.join("plain"), root.join("linked"));
        fs::create_dir_all(plain.join(".git/worktrees/w")).unwrap();
        fs::create_dir_all(plain.join("a/b")).unwrap();
        fs::create_dir_all(&linked).unwrap();
        assert_eq!(
            Place::around(&plain.join("a/b")),
            Some(Place { root: plain.clone(), git_dir: plain.join(".git") })
        );
        fs::write(linked.join(".git"), "gitdir: ../plain/.git/worktrees/w\n").unwrap();
        let place = Place::around(&linked).unwrap();
        assert_eq!(place.root, linked);
        let before = place.stamps();
        fs::write(plain.join(".git/worktrees/w/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_ne!(place.stamps(), before);
        fs::write(linked.join(".git"), "nonsense").unwrap();
        assert_eq!(Place::around(&linked), None);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn git_does_not_run_where_the_repository_brings_programs() {
        let root = std::env::temp_dir().join(format!("wharf-git-filter-{}", std::process::id()));
        let (plain, linked) = (root.join("plain"), root.join("linked"));
        fs::create_dir_all(plain.join(".git/worktrees/w")).unwrap();
        fs::create_dir_all(&linked).unwrap();
        fs::write(linked.join(".git"), "gitdir: ../plain/.git/worktrees/w\n").unwrap();
        fs::write(plain.join(".git/worktrees/w/commondir"), "../..\n").unwrap();
        let brings = |directory: &Path| Place::around(directory).unwrap().brings_programs();
        fs::write(plain.join(".git/config"), "[core]\n\tbare = false\n").unwrap();
        assert!(!brings(&plain) && !brings(&linked));
        for config in ["[Filter \"x\"]\n\tclean = touch /tmp/x\n", "[core]\n[include]\n\tpath = other\n"] {
            fs::write(plain.join(".git/config"), config).unwrap();
            assert!(brings(&plain) && brings(&linked), "{config}");
            let refused = start(&linked, &["status"]).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        }
        fs::remove_dir_all(&root).unwrap();
    }
}
