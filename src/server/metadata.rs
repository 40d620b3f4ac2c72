//! What runs in terminals, looked at about once a second while sessions of the mirror are there to be told.

use std::path::Path;
use std::time::Instant;

use super::Server;
use super::mirror_socket::tell;
use crate::limits::{METADATA_BITE, METADATA_INTERVAL};
use crate::mirror::About;
use crate::os::metadata::{Manifests, Sample, Sampled, Sampler};
use crate::wire::metadata::{metadata_json, parse_cargo_toml, parse_package_json};
use crate::wire::mirror_frames::ToMirror;
use crate::workspace::metadata::{CargoToml, ListeningPort, Metadata, PackageJson, Process};

/// The look at the machine's processes.
pub(super) struct Watch {
    sampler: Sampler,
    packages: Manifests<PackageJson>,
    crates: Manifests<CargoToml>,
    looking: bool,
    /// When it goes on; `None` while there is nobody to tell.
    pub(super) at: Option<Instant>,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch {
            sampler: Sampler::default(),
            packages: Manifests::new("package.json"),
            crates: Manifests::new("Cargo.toml"),
            looking: false,
            at: None,
        }
    }
}

impl Server {
    /// A session of the mirror has a socket: there is somebody to tell.
    pub(super) fn watch(&mut self, now: Instant) {
        self.watch.at.get_or_insert(now);
        self.ask_chores();
    }

    /// Goes on with the look, in bites; at its end sessions are told of the terminals that are different.
    pub(super) fn look(&mut self, now: Instant) {
        if self.mirror_sockets.is_empty() {
            self.watch = Watch::default();
            return;
        }
        let live = |hosted: &super::hosted::Hosted| hosted.pid().filter(|_| hosted.is_live());
        let mirror = &self.mirror;
        let shells = self.terminals.iter().filter(|(key, _)| mirror.is_followed(key.number()));
        let shells: Vec<_> = shells.filter_map(|(key, hosted)| Some((key, live(hosted)?))).collect();
        let watch = &mut self.watch;
        watch.at = Some(now + METADATA_INTERVAL);
        if shells.is_empty() {
            watch.looking = false;
            return;
        }
        if !std::mem::replace(&mut watch.looking, true) {
            watch.sampler.begin(now);
        }
        if !watch.sampler.advance(METADATA_BITE) {
            watch.at = Some(now);
            return;
        }
        watch.looking = false;
        for (key, pid) in shells {
            let Some(sample) = watch.sampler.sample(pid) else { continue };
            let mut metadata = Metadata::from(sample);
            let directory = Path::new(&metadata.cwd);
            metadata.package_json = watch.packages.nearest(directory, parse_package_json);
            metadata.cargo_toml = watch.crates.nearest(directory, parse_cargo_toml);
            let Some(hosted) = self.terminals.get_mut(key) else { continue };
            if hosted.metadata.as_ref().is_none_or(|told| metadata.is_news(told)) {
                let json = metadata_json(&metadata).to_string();
                hosted.metadata = Some(metadata);
                let told = ToMirror::SurfaceMetadata { surface_id: &hosted.id, metadata_json: &json };
                tell(&mut self.mirror, &mut self.work, About::Metadata { surface: key.number() }, told);
            }
        }
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
