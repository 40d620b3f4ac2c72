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
        let Some(tree) = self.known.get_mut(root) else { return };
        let is_fresh = tree.begun_at.is_some_and(|at| now < at + METADATA_INTERVAL) && !tree.busy;
        tree.asked |= !is_fresh || self.running.iter().flatten().any(|one| one.root == root);
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
                    self.running[slot] = Some(Running { root, pid, pipe, output: Vec::new(), begun_at: now });
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
        self.running.iter().flatten().map(|running| running.begun_at + GIT_TIME_MAX).min()
    }

    /// Ends what takes too long. Its death is heard as any other.
    pub(super) fn expire(&self, now: Instant) {
        for running in self.running.iter().flatten() {
            if running.begun_at + GIT_TIME_MAX <= now {
                debug!("git status in {} takes too long", running.root.display());
                git::kill(running.pid);
            }
        }
    }

    /// Reads what one of them has printed.
    pub(super) fn read(&mut self, slot: u16, scratch: &mut [u8]) {
        let Some(running) = self.running.get_mut(usize::from(slot)).and_then(Option::as_mut) else { return };
        running.drain(scratch);
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
    /// Takes what there is. With as much as is ever told, the child has said enough.
    fn drain(&mut self, scratch: &mut [u8]) {
        while self.output.len() < GIT_STATUS_BYTES_MAX {
            match rustix::io::read(&self.pipe, &mut *scratch) {
                Ok(0) => return,
                Ok(n) => self.output.extend_from_slice(&scratch[..n]),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
        git::kill(self.pid);
    }
}
