//! What the system found in a terminal, as a value to be told.

use crate::os::metadata::{Sample, Sampled};
use crate::workspace::metadata::{ListeningPort, Metadata, Process};

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
