//! What runs in terminals, looked at about once a second while somebody follows: sessions of the mirror, and
//! requests that wait for an answer.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::Server;
use super::connection::Waiting;
use super::git::Trees;
use super::hosted::Hosted;
use super::mirror_socket::tell;
use super::source::Key;
use crate::limits::{METADATA_BITE, METADATA_FIRST_INTERVAL, METADATA_INTERVAL};
use crate::mirror::About;
use crate::os::metadata::{Manifests, Sample, Sampled, Sampler};
use crate::os::spawn::Reaped;
use crate::wire::http::{Reject, Response, put_response};
use crate::wire::metadata::{metadata_json, parse_cargo_toml, parse_package_json};
use crate::wire::mirror_frames::ToMirror;
use crate::workspace::metadata::{CargoToml, ListeningPort, Metadata, PackageJson, Process};

/// The look at the machine's processes.
pub(super) struct Watch {
    sampler: Sampler,
    packages: Manifests<PackageJson>,
    crates: Manifests<CargoToml>,
    trees: Trees,
    looking: bool,
    /// When it goes on; `None` while there is nobody to tell.
    at: Option<Instant>,
    asked: Vec<Asked>,
}

/// A request that waits for a look.
struct Asked {
    connection: Key,
    terminal: Key,
    /// What it will be told once git has looked at this tree.
    found: Option<(Metadata, PathBuf)>,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch {
            sampler: Sampler::default(),
            packages: Manifests::new("package.json"),
            crates: Manifests::new("Cargo.toml"),
            trees: Trees::default(),
            looking: false,
            at: None,
            asked: Vec::new(),
        }
    }
}

impl Watch {
    /// When it must be asked again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.at.into_iter().chain(self.trees.deadline()).min()
    }

    /// Ends its children.
    pub(super) fn end(&mut self) {
        self.trees.clear();
        self.at = None;
    }
}

impl Server {
    /// A session of the mirror has a socket: there is somebody to tell.
    pub(super) fn watch(&mut self, now: Instant) {
        self.watch.at.get_or_insert(now);
        self.ask_chores();
    }

    /// The connection waits for what runs in a terminal now. It is not read until it is answered.
    pub(super) fn ask_metadata(&mut self, connection: Key, terminal: Key, now: Instant) {
        self.watch.asked.push(Asked { connection, terminal, found: None });
        let began_at = self.watch.sampler.began_at();
        let soon = began_at.map_or(now, |at| now.max(at + METADATA_FIRST_INTERVAL));
        self.watch.at = Some(self.watch.at.map_or(soon, |at| at.min(soon)));
        self.ask_chores();
    }

    pub(super) fn watch_due(&mut self, now: Instant) {
        for root in self.watch.trees.expire(now) {
            self.git_told(&root, now);
        }
        if self.watch.at.is_some_and(|at| at <= now) {
            self.look(now);
        }
    }

    /// Goes on with the look, in bites; at its end sessions are told of the terminals that are different.
    fn look(&mut self, now: Instant) {
        if self.mirror_sockets.is_empty() && self.watch.asked.is_empty() {
            self.watch.trees.clear();
            self.watch = Watch::default();
            return;
        }
        let live = |hosted: &Hosted| hosted.pid().filter(|_| hosted.is_live());
        let (mirror, asked) = (&self.mirror, &self.watch.asked);
        let is_meant =
            |key: Key| mirror.is_followed(key.number()) || asked.iter().any(|one| one.terminal == key);
        let shells = self.terminals.iter().filter(|(key, _)| is_meant(*key));
        let shells: Vec<_> = shells.filter_map(|(key, hosted)| Some((key, live(hosted)?))).collect();
        let watch = &mut self.watch;
        watch.at = Some(now + METADATA_INTERVAL);
        if shells.is_empty() {
            watch.looking = false;
            return self.answer_asked(None, now);
        }
        if !std::mem::replace(&mut watch.looking, true) {
            watch.sampler.begin(now);
        }
        if !watch.sampler.advance(METADATA_BITE) {
            watch.at = Some(now);
            return;
        }
        watch.looking = false;
        if !watch.sampler.knows_cpu() && !watch.asked.is_empty() {
            // Whoever asked hears of the next look, which knows how much CPU was used.
            watch.at = Some(now + METADATA_FIRST_INTERVAL);
        }
        watch.trees.begin();
        for (key, pid) in shells {
            self.look_at(key, pid, now);
        }
        self.start_git(now);
        if self.watch.sampler.knows_cpu() {
            self.answer_asked(None, now);
        }
    }

    fn look_at(&mut self, key: Key, pid: i32, now: Instant) {
        let watch = &mut self.watch;
        let Some(sample) = watch.sampler.sample(pid) else { return };
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        let mut metadata = Metadata::from(sample);
        let directory = Path::new(&metadata.cwd);
        metadata.package_json = watch.packages.nearest(directory, parse_package_json);
        metadata.cargo_toml = watch.crates.nearest(directory, parse_cargo_toml);
        // What it printed since, a command that ended, one that began: files may be different.
        let is_busy = std::mem::replace(&mut hosted.looked_at_ms, hosted.activity_ms) != hosted.activity_ms;
        hosted.tree_root = watch.trees.stand(directory, is_busy);
        metadata.git = hosted.tree_root.as_deref().and_then(|root| watch.trees.git(root)).cloned();
        if watch.sampler.knows_cpu() {
            for asked in watch.asked.iter_mut().filter(|one| one.terminal == key && one.found.is_none()) {
                let root = hosted.tree_root.clone().unwrap_or_default();
                watch.trees.ask(&root, now);
                asked.found = Some((metadata.clone(), root));
            }
        }
        self.tell_metadata(key, metadata);
    }

    /// Tells sessions of the mirror, if it is news to them.
    fn tell_metadata(&mut self, key: Key, metadata: Metadata) {
        let Some(hosted) = self.terminals.get_mut(key) else { return };
        if self.mirror.is_followed(key.number())
            && hosted.metadata.as_ref().is_none_or(|told| metadata.is_news(told))
        {
            let json = metadata_json(&metadata).to_string();
            hosted.metadata = Some(metadata);
            let told = ToMirror::SurfaceMetadata { surface_id: &hosted.id, metadata_json: &json };
            tell(&mut self.mirror, &mut self.work, About::Metadata { surface: key.number() }, told);
        }
    }

    fn start_git(&mut self, now: Instant) {
        for root in self.watch.trees.start(self.poll.registry(), now) {
            self.git_told(&root, now);
        }
    }

    /// One `git status` has printed something.
    pub(super) fn read_git(&mut self, slot: u16) {
        self.watch.trees.read(slot, &mut self.scratch);
    }

    /// A child of the server is dead, perhaps a `git status`.
    pub(super) fn git_died(&mut self, reaped: Reaped, now: Instant) {
        if let Some(root) = self.watch.trees.died(reaped, &mut self.scratch, now) {
            self.git_told(&root, now);
            self.start_git(now);
            self.ask_chores();
        }
    }

    /// What git said of a tree is told to those who follow terminals there, and to those who asked.
    fn git_told(&mut self, root: &Path, now: Instant) {
        let git = self.watch.trees.git(root).cloned();
        for key in self.terminals.keys() {
            if let Some(hosted) = self.terminals.get(key)
                && hosted.tree_root.as_deref() == Some(root)
                && let Some(told) = &hosted.metadata
                && told.git != git
            {
                let metadata = Metadata { git: git.clone(), ..told.clone() };
                self.tell_metadata(key, metadata);
            }
        }
        self.answer_asked(Some(root), now);
    }

    /// Answers whoever waits for nothing more. `told`: git has just looked at this tree.
    fn answer_asked(&mut self, told: Option<&Path>, now: Instant) {
        let mut answers = Vec::new();
        let watch = &mut self.watch;
        watch.asked.retain_mut(|asked| {
            let response = match &mut asked.found {
                None if told.is_some() => return true,
                // The look has not found its shell.
                None => Response::error(&Reject::new(409, "nothing runs in the terminal any more")),
                Some((metadata, root)) => {
                    if told != Some(root) && watch.trees.is_asked(root) {
                        return true;
                    }
                    metadata.git = watch.trees.git(root).cloned();
                    Response::json(200, &metadata_json(metadata))
                }
            };
            answers.push((asked.connection, response));
            false
        });
        for (connection, response) in answers {
            self.answer_waiting(connection, &response, now);
        }
    }

    /// Nobody waits for the answer of a connection that has left.
    pub(super) fn forget_asked(&mut self, connection: Key) {
        self.watch.asked.retain(|asked| asked.connection != connection);
    }

    /// The answer that a connection has been waiting for; what it sent meanwhile is read.
    fn answer_waiting(&mut self, key: Key, response: &Response, now: Instant) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let Some(Waiting { head_only, keep_alive }) = connection.waiting.take() else { return };
        let keep_alive = keep_alive && self.stopping.is_none();
        connection.outbound.put(|out| put_response(response, head_only, keep_alive, out));
        if !keep_alive {
            connection.close(now);
        }
        self.queue_write(key);
        self.queue_again(key);
    }
}

impl From<Sample> for Metadata {
    /// What git and the manifests say is not in it yet.
    fn from(sample: Sample) -> Metadata {
        let process = |Sampled { stat, argv, cpu_percent }| Process {
            pid: stat.pid,
            parent: stat.stat.parent,
            argv,
            cpu_percent,
            rss_bytes: stat.rss_bytes,
        };
        let ports = sample.listening.iter().map(|(address, pid)| ListeningPort {
            port: address.port(),
            address: if address.ip().is_unspecified() { "*".to_owned() } else { address.ip().to_string() },
            v6: address.is_ipv6(),
            pid: *pid,
        });
        Metadata {
            pid: sample.shell_pid,
            foreground_pid: sample.foreground_pid,
            cwd: sample.cwd.to_string_lossy().into_owned(),
            listening_ports: ports.collect(),
            tree: sample.tree.into_iter().map(process).collect(),
            ..Metadata::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_as_people_write_it() {
        let listening = ["0.0.0.0:80", "127.0.0.1:81", "[::]:82", "[::1]:83"];
        let listening = listening.map(|address| (address.parse().unwrap(), 7)).to_vec();
        let cwd = "/srv".into();
        let sample = Sample { shell_pid: 1, foreground_pid: 2, cwd, tree: Vec::new(), listening };
        let metadata = Metadata::from(sample);
        let ports = metadata.listening_ports.iter().map(|one| (one.port, one.address.as_str(), one.v6));
        let expected = [(80, "*", false), (81, "127.0.0.1", false), (82, "*", true), (83, "::1", true)];
        assert_eq!(ports.collect::<Vec<_>>(), expected);
        assert_eq!((metadata.pid, metadata.foreground_pid, metadata.cwd.as_str()), (1, 2, "/srv"));
    }
}
