//! What git says of the trees that terminals stand in: `git status` as children of the loop, a few at a time,
//! each tree once however many terminals stand in it, and as seldom as keeps their share of the machine small.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use log::debug;
use mio::unix::SourceFd;
use mio::{Interest, Registry};

use super::source::Source;
use crate::limits::{
    GIT_BUSY_SHARE, GIT_INTERVAL_MAX, GIT_QUIET_INTERVAL, GIT_QUIET_SHARE, GIT_RUNNING_MAX,
    GIT_STATUS_BYTES_MAX, GIT_TIME_MAX, METADATA_INTERVAL,
};
use crate::os::git::{self, Place};
use crate::os::metadata::Stamp;
use crate::os::spawn::{Exit, Reaped};
use crate::workspace::metadata::{GIT_STATUS, Git};

/// The trees that terminals stand in, and the children that look at them.
#[derive(Default)]
pub(super) struct Trees {
    known: HashMap<PathBuf, Tree>,
    running: [Option<Running>; GIT_RUNNING_MAX],
    /// Counts looks: a tree that nobody stood in during the last one is forgotten.
    look: u64,
}

/// One work tree, by its root.
struct Tree {
    place: Place,
    /// What it said last; `None` before that, and where git fails.
    git: Option<Git>,
    stamps: [Option<Stamp>; 3],
    /// When the last one began.
    begun_at: Option<Instant>,
    /// How long it took.
    took: Duration,
    /// Something happened in a terminal there, or to its index, since the last one began.
    busy: bool,
    /// Somebody asked, and waits.
    asked: bool,
    /// The last look in which a terminal stood there.
    look: u64,
}

struct Running {
    root: PathBuf,
    pid: i32,
    pipe: OwnedFd,
    output: Vec<u8>,
    begun_at: Instant,
    /// It took too long. On a disk that does not answer it may outlive that for as long as the disk likes.
    killed: bool,
}

impl Trees {
    /// The look at terminals begins: [`Trees::stand`] for each, then [`Trees::start`].
    pub(super) fn begin(&mut self) {
        self.look += 1;
    }

    /// A terminal stands in this directory; `busy` says that something happened in it since the last look.
    /// Gives the root of the tree.
    pub(super) fn stand(&mut self, directory: &Path, busy: bool) -> Option<PathBuf> {
        let place = Place::around(directory)?;
        let (root, look) = (place.root.clone(), self.look);
        let tree = self.known.entry(root.clone()).or_insert_with(|| Tree {
            place: place.clone(),
            git: None,
            stamps: Default::default(),
            begun_at: None,
            took: Duration::ZERO,
            busy: true,
            asked: false,
            look,
        });
        tree.place = place;
        if tree.look != look {
            tree.busy |= tree.stamps != tree.place.stamps();
            tree.look = look;
        }
        tree.busy |= busy;
        Some(root)
    }

    /// What git said of a tree last.
    pub(super) fn git(&self, root: &Path) -> Option<&Git> {
        self.known.get(root)?.git.as_ref()
    }

    /// Somebody wants to know it as it is now: [`Trees::is_asked`] says whether that needs a `git status`.
    pub(super) fn ask(&mut self, root: &Path, now: Instant) {
        let is_stuck = self.is_stuck(root);
        let Some(tree) = self.known.get_mut(root).filter(|_| !is_stuck) else { return };
        let is_fresh = tree.begun_at.is_some_and(|at| now < at + METADATA_INTERVAL) && !tree.busy;
        tree.asked |= !is_fresh || self.running.iter().flatten().any(|one| one.root == root);
    }

    /// Whether the next `git status` of a tree waits for one that was killed and does not die: nobody waits for that.
    fn is_stuck(&self, root: &Path) -> bool {
        let is_killed = |slot: &Option<Running>| slot.as_ref().is_some_and(|one| one.killed);
        self.running.iter().flatten().any(|one| one.killed && one.root == root)
            || self.running.iter().all(is_killed)
    }

    /// Whether somebody waits for the next `git status` of a tree.
    pub(super) fn is_asked(&self, root: &Path) -> bool {
        self.known.get(root).is_some_and(|tree| tree.asked)
    }

    /// Starts what is due, as far as there is room; who asked goes first, then who waits longest. Gives the
    /// roots where git could not be started.
    pub(super) fn start(&mut self, registry: &Registry, now: Instant) -> Vec<PathBuf> {
        let look = self.look;
        self.known.retain(|_, tree| tree.look == look || tree.asked);
        let mut failed = Vec::new();
        let mut due: Vec<&PathBuf> = self.known.keys().filter(|root| self.is_due(root, now)).collect();
        due.sort_by_key(|root| self.known.get(*root).map(|tree| (!tree.asked, tree.begun_at)));
        let due: Vec<PathBuf> = due.into_iter().cloned().collect();
        for root in due {
            let Some(slot) = self.running.iter().position(Option::is_none) else { break };
            let Some(tree) = self.known.get_mut(&root) else { continue };
            tree.stamps = tree.place.stamps();
            tree.begun_at = Some(now);
            tree.busy = false;
            let started = git::start(&root, &GIT_STATUS).and_then(|child| {
                let token = Source::Git(slot as u16).pack();
                let registered =
                    registry.register(&mut SourceFd(&child.output.as_raw_fd()), token, Interest::READABLE);
                registered.inspect_err(|_| git::kill(child.pid)).map(|()| child)
            });
            match started {
                Ok(child) => {
                    let (pid, pipe) = (child.pid, child.output);
                    let output = Vec::new();
                    self.running[slot] =
                        Some(Running { root, pid, pipe, output, begun_at: now, killed: false });
                }
                Err(error) => {
                    debug!("no git status in {}: {error}", root.display());
                    tree.asked = false;
                    tree.git = None;
                    failed.push(root);
                }
            }
        }
        failed
    }

    fn is_due(&self, root: &Path, now: Instant) -> bool {
        let Some(tree) = self.known.get(root) else { return false };
        if self.running.iter().flatten().any(|running| running.root == root) {
            return false;
        }
        let (floor, share) = match tree.busy {
            true => (METADATA_INTERVAL, GIT_BUSY_SHARE),
            false => (GIT_QUIET_INTERVAL, GIT_QUIET_SHARE),
        };
        // If all of them take as long, all of them together take their share.
        let count = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
        let pause = tree.took.saturating_mul(share.saturating_mul(count)).clamp(floor, GIT_INTERVAL_MAX);
        tree.asked || tree.begun_at.is_none_or(|at| at + pause <= now)
    }

    /// When the next one has taken too long.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let running = self.running.iter().flatten().filter(|running| !running.killed);
        running.map(|running| running.begun_at + GIT_TIME_MAX).min()
    }

    /// Ends what takes too long. Its death is heard as any other; who asked does not wait for it. Gives the trees
    /// of those.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<PathBuf> {
        let Trees { known, running, .. } = self;
        for running in running.iter_mut().flatten() {
            if !running.killed && running.begun_at + GIT_TIME_MAX <= now {
                debug!("git status in {} takes too long", running.root.display());
                git::kill(running.pid);
                running.killed = true;
                known.get_mut(&running.root).into_iter().for_each(|tree| tree.git = None);
            }
        }
        let stuck = self.known.iter().filter(|(root, tree)| tree.asked && self.is_stuck(root));
        let stuck: Vec<PathBuf> = stuck.map(|(root, _)| root.clone()).collect();
        for root in &stuck {
            self.known.get_mut(root).into_iter().for_each(|tree| tree.asked = false);
        }
        stuck
    }

    /// Reads what one of them has printed.
    pub(super) fn read(&mut self, slot: u16, scratch: &mut [u8]) {
        let Some(running) = self.running.get_mut(usize::from(slot)).and_then(Option::as_mut) else { return };
        if running.drain(scratch) {
            git::kill(running.pid);
        }
    }

    /// A child of the server is dead: if it was one of these, gives its tree, of which [`Trees::git`] now says
    /// what it printed.
    pub(super) fn died(&mut self, reaped: Reaped, scratch: &mut [u8], now: Instant) -> Option<PathBuf> {
        let is_it = |slot: &&mut Option<Running>| slot.as_ref().is_some_and(|one| one.pid == reaped.pid);
        let mut running = self.running.iter_mut().find(is_it)?.take()?;
        running.drain(scratch);
        if let Some(tree) = self.known.get_mut(&running.root) {
            let is_cut = running.output.len() >= GIT_STATUS_BYTES_MAX;
            let is_whole = reaped.exit == Exit::Code(0) || is_cut;
            tree.git = if is_whole { Git::parse(&running.output) } else { None };
            tree.took = now.duration_since(running.begun_at);
            tree.asked = false;
        }
        Some(running.root)
    }

    /// Nobody wants to know any more. Their deaths are heard as those of strangers.
    pub(super) fn clear(&mut self) {
        for running in self.running.iter().flatten() {
            git::kill(running.pid);
        }
        *self = Trees::default();
    }
}

impl Running {
    /// Takes what there is. True when that is as much as is ever told: the child has said enough.
    fn drain(&mut self, scratch: &mut [u8]) -> bool {
        while self.output.len() < GIT_STATUS_BYTES_MAX {
            match git::read(&self.pipe, scratch) {
                Ok(n) if n > 0 => self.output.extend_from_slice(&scratch[..n]),
                Ok(_) | Err(_) => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command, Stdio};

    /// A tree that somebody asked about, while this script, in a group of its own, looks at it.
    fn looked_at_by(script: &str, name: &str, now: Instant) -> (Trees, PathBuf, Child) {
        let root = std::env::temp_dir().join(format!("wharf-{name}-{}", std::process::id()));
        std::fs::create_dir_all(root.join(".git")).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (pid, pipe) = (child.id().cast_signed(), OwnedFd::from(child.stdout.take().unwrap()));
        let mut trees = Trees::default();
        trees.stand(&root, true);
        trees.ask(&root, now);
        let output = Vec::new();
        trees.running[0] =
            Some(Running { root: root.clone(), pid, pipe, output, begun_at: now, killed: false });
        (trees, root, child)
    }

    #[test]
    fn one_that_does_not_die_is_killed_once_and_nobody_waits_for_it() {
        let start = Instant::now();
        let (mut trees, root, mut child) = looked_at_by("sleep 1000", "git-stuck", start);
        let late = start + GIT_TIME_MAX;
        assert_eq!(trees.deadline(), Some(late));
        assert_eq!(trees.expire(late), std::slice::from_ref(&root), "who asked is answered");
        assert_eq!((trees.deadline(), trees.is_asked(&root)), (None, false), "the loop sleeps");
        trees.ask(&root, late);
        assert!(!trees.is_asked(&root), "nor does who asks while it is dying");
        assert!(trees.expire(late).is_empty());
        child.wait().unwrap();
        let reaped = Reaped { pid: child.id().cast_signed(), exit: Exit::Signal(9) };
        assert_eq!(trees.died(reaped, &mut [0; 64], late), Some(root.clone()));
        trees.ask(&root, late);
        assert!(trees.is_asked(&root));
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn who_is_dead_is_not_killed_for_having_said_enough_since_its_pid_may_be_anothers() {
        let script = format!("head -c {GIT_STATUS_BYTES_MAX} /dev/zero; sleep 1000");
        let (mut trees, root, mut child) = looked_at_by(&script, "git-said-enough", Instant::now());
        let pid = child.id().cast_signed();
        let reaped = Reaped { pid, exit: Exit::Code(0) };
        assert_eq!(trees.died(reaped, &mut [0; 1 << 16], Instant::now()), Some(root.clone()));
        let group = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process_group(group, rustix::process::Signal::TERM).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(15));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
