//! What runs in each terminal, from /proc and from files. Processes come and go while we look: what is gone, or
//! may not be read, is left out.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::limits::{
    HELD_LOOKS, MANIFEST_BYTES_MAX, MANIFESTS_KEPT, PARENT_DIRECTORIES_MAX, PORTS_MAX, TREE_PROCESSES_MAX,
};
use crate::os::proc::{self, ProcessStat, TcpListening};

/// One process, as it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// What the kernel counts.
    pub stat: ProcessStat,
    /// Its command line; its name in brackets when it has none.
    pub argv: Vec<String>,
    /// Percent of one core since the look before, to a tenth; 0.0 in its first one.
    pub cpu_percent: f64,
}

/// What runs under one shell.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The shell.
    pub shell_pid: i32,
    /// The leader of its terminal's foreground group.
    pub foreground_pid: i32,
    /// Where that one stands; empty when it is gone.
    pub cwd: PathBuf,
    /// The shell first, each process after its parent. At most [`TREE_PROCESSES_MAX`].
    pub tree: Vec<Sampled>,
    /// TCP sockets that one of these processes listens on, by address. At most [`PORTS_MAX`].
    pub listening: Vec<(SocketAddr, i32)>,
}

/// A look at all processes of the machine, from which each terminal takes its own.
///
/// [`Sampler::begin`], then [`Sampler::advance`] until it says that it is done (a machine with many processes
/// takes several bites), then [`Sampler::sample`] for each terminal.
#[derive(Debug, Default)]
pub struct Sampler {
    /// The directory that is being read.
    entries: Option<fs::ReadDir>,
    processes: Vec<ProcessStat>,
    /// Places in `processes`, by pid.
    by_pid: HashMap<i32, usize>,
    /// Children's places, by the parent's pid; orphans of a session stand under its leader.
    children: HashMap<i32, Vec<usize>>,
    /// Ticks on a processor, by pid and start, in the look before.
    ticks_before: HashMap<(i32, u64), u64>,
    began_at: Option<Instant>,
    /// Seconds between the two looks.
    seconds: f64,
    listening: Vec<TcpListening>,
    /// Which of `listening` a process holds, by pid and start: its descriptors are looked through only once while
    /// the machine's listeners stay the same,
    held: HashMap<(i32, u64), Vec<TcpListening>>,
    /// and again after [`HELD_LOOKS`], since one of several holders may have closed its own.
    looks: u32,
}

impl Sampler {
    /// Starts a look. One that was under way is dropped.
    pub fn begin(&mut self, now: Instant) {
        if let Some(before) = self.began_at.replace(now) {
            self.seconds = now.duration_since(before).as_secs_f64();
            let ticks = |process: &ProcessStat| ((process.pid, process.started_ticks), process.cpu_ticks);
            self.ticks_before = self.processes.iter().map(ticks).collect();
        }
        self.entries = fs::read_dir("/proc").ok();
        self.processes.clear();
        self.by_pid.clear();
        self.children.clear();
        let listening = proc::tcp_listening();
        self.looks += 1;
        if listening != self.listening || self.looks >= HELD_LOOKS {
            (self.listening, self.looks) = (listening, 0);
            self.held.clear();
        }
    }

    /// When the last look began; `None` before the first.
    pub fn began_at(&self) -> Option<Instant> {
        self.began_at
    }

    /// Whether there was a look before the last one, which tells how much CPU was used since.
    pub fn knows_cpu(&self) -> bool {
        self.seconds > 0.0
    }

    /// Looks at so many more entries; whether the look is done.
    pub fn advance(&mut self, entries_max: usize) -> bool {
        let Some(entries) = &mut self.entries else { return true };
        for _ in 0..entries_max {
            let Some(entry) = entries.next() else {
                self.entries = None;
                self.link();
                return true;
            };
            let pid = entry.ok().and_then(|entry| entry.file_name().to_str()?.parse().ok());
            self.processes.extend(pid.and_then(proc::process_stat));
        }
        false
    }

    fn link(&mut self) {
        self.by_pid = self.processes.iter().enumerate().map(|(at, process)| (process.pid, at)).collect();
        for (at, process) in self.processes.iter().enumerate() {
            let session = process.stat.session;
            let parent = match self.by_pid.get(&process.stat.parent) {
                // Its parent has died, and init or a reaper took it; its terminal is the same.
                _ if process.pid == session => process.stat.parent,
                Some(parent) if self.processes[*parent].stat.session != session => session,
                Some(_) | None => process.stat.parent,
            };
            self.children.entry(parent).or_default().push(at);
        }
    }

    /// What runs under that shell; `None` when it is gone.
    pub fn sample(&mut self, shell_pid: i32) -> Option<Sample> {
        let shell = &self.processes[*self.by_pid.get(&shell_pid)?];
        let foreground_pid = self.foreground(shell);
        let cwd = proc::cwd(foreground_pid).or_else(|| proc::cwd(shell_pid)).unwrap_or_default();
        let tree = self.tree(shell_pid);
        let listening = self.listening(&tree);
        Some(Sample { shell_pid, foreground_pid, cwd, tree, listening })
    }

    /// The leader of the foreground group; when that is gone, another of it.
    fn foreground(&self, shell: &ProcessStat) -> i32 {
        let group = shell.stat.foreground_group;
        if self.by_pid.contains_key(&group) {
            return group;
        }
        let member = self.processes.iter().find(|process| group > 0 && process.stat.group == group);
        member.map_or(shell.pid, |process| process.pid)
    }

    /// Parents before their children, at most [`TREE_PROCESSES_MAX`].
    fn tree(&self, shell_pid: i32) -> Vec<Sampled> {
        let mut tree = Vec::new();
        let mut todo: Vec<usize> = self.by_pid.get(&shell_pid).copied().into_iter().collect();
        while let Some(at) = todo.pop().filter(|_| tree.len() < TREE_PROCESSES_MAX) {
            let process = &self.processes[at];
            tree.push(self.sampled(process));
            let children = self.children.get(&process.pid).map(Vec::as_slice).unwrap_or_default();
            todo.extend(children.iter().rev());
        }
        tree
    }

    fn sampled(&self, process: &ProcessStat) -> Sampled {
        let mut argv = proc::argv(process.pid);
        if argv.is_empty() {
            argv.push(format!("[{}]", process.name));
        }
        let before = self.ticks_before.get(&(process.pid, process.started_ticks));
        let ticks = before.map_or(0, |before| process.cpu_ticks.saturating_sub(*before));
        let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
        let percent =
            if self.seconds > 0.0 { ticks as f64 / ticks_per_second / self.seconds * 100.0 } else { 0.0 };
        Sampled { stat: process.clone(), argv, cpu_percent: (percent * 10.0).round() / 10.0 }
    }

    fn listening(&mut self, tree: &[Sampled]) -> Vec<(SocketAddr, i32)> {
        let mut found = Vec::new();
        if self.listening.is_empty() {
            return found;
        }
        for ProcessStat { pid, started_ticks, .. } in tree.iter().map(|process| &process.stat) {
            let held = self.held.entry((*pid, *started_ticks)).or_insert_with(|| {
                let inodes = proc::socket_inodes(*pid);
                self.listening.iter().filter(|socket| inodes.contains(&socket.inode)).copied().collect()
            });
            found.extend(held.iter().map(|socket| (socket.address, *pid)));
        }
        found.sort_by_key(|(address, pid)| (address.port(), address.ip(), *pid));
        found.truncate(PORTS_MAX);
        found
    }
}

/// The nearest entry of that name on the way from a directory to the root, at most
/// [`PARENT_DIRECTORIES_MAX`] directories up. `None` for a directory that is not absolute: that of a process that
/// is gone is empty, and would mean the server's own.
pub fn nearest(directory: &Path, name: &str) -> Option<PathBuf> {
    if !directory.is_absolute() {
        return None;
    }
    let mut paths = directory.ancestors().take(PARENT_DIRECTORIES_MAX).map(|parent| parent.join(name));
    paths.find(|path| fs::symlink_metadata(path).is_ok())
}

/// Manifests that were read, so that one that did not change is not read again.
#[derive(Debug)]
pub struct Manifests<T> {
    name: &'static str,
    known: HashMap<PathBuf, (Stamp, Option<T>)>,
}

/// A file that was changed has another one: inode, length, seconds and nanoseconds of its last change.
pub type Stamp = (u64, u64, i64, i64);

fn stamp_of(meta: &fs::Metadata) -> Stamp {
    (meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec())
}

/// The stamp of the file at a path; `None` when there is none.
pub fn stamp(path: &Path) -> Option<Stamp> {
    fs::metadata(path).ok().map(|meta| stamp_of(&meta))
}

impl<T: Clone> Manifests<T> {
    /// For files of that name.
    pub fn new(name: &'static str) -> Manifests<T> {
        Manifests { name, known: HashMap::new() }
    }

    /// What `parse` made of the nearest one: it gets the path and the bytes. `None` when there is none, it is
    /// no regular file, or over [`MANIFEST_BYTES_MAX`].
    pub fn nearest(&mut self, directory: &Path, parse: impl Fn(&str, &[u8]) -> Option<T>) -> Option<T> {
        let path = nearest(directory, self.name)?;
        let meta =
            fs::metadata(&path).ok().filter(|meta| meta.is_file() && meta.len() <= MANIFEST_BYTES_MAX)?;
        let stamp = stamp_of(&meta);
        if let Some((_, parsed)) = self.known.get(&path).filter(|(known, _)| *known == stamp) {
            return parsed.clone();
        }
        let parsed = read_file(&path).and_then(|bytes| parse(&path.to_string_lossy(), &bytes));
        if self.known.len() >= MANIFESTS_KEPT {
            self.known.clear();
        }
        self.known.insert(path, (stamp, parsed.clone()));
        parsed
    }
}

/// A regular file's bytes. It may have become a FIFO since it was looked at: that must not block.
pub(super) fn read_file(path: &Path) -> Option<Vec<u8>> {
    let file =
        fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path).ok()?;
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    file.take(MANIFEST_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    use rustix::process::{Pid, Signal, kill_process_group};

    fn look(sampler: &mut Sampler, now: Instant) {
        sampler.begin(now);
        while !sampler.advance(7) {}
    }

    /// A shell that has said that it is ready, in a process group that ends with the test.
    struct Shell(Child);

    impl Shell {
        fn start(script: &str, stdin: Stdio) -> Shell {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdin(stdin).stdout(Stdio::piped()).process_group(0);
            let mut shell = Shell(command.spawn().unwrap());
            let mut line = String::new();
            BufReader::new(shell.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
            assert_eq!(line, "ready\n");
            shell
        }

        fn pid(&self) -> i32 {
            self.0.id() as i32
        }

        /// Its answer to a line.
        fn ask(&mut self) -> String {
            self.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
            let mut line = String::new();
            BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_shell_is_told_with_its_children_their_words_and_its_directory() {
        let script = "cd /usr; sleep 1000 & (sleep 1001 & sleep 1002 & echo ready; wait) & wait";
        let shell = Shell::start(script, Stdio::piped());
        let pid = shell.pid();
        let words = |seconds: &str| vec!["sleep".to_owned(), seconds.to_owned()];
        let mut sampler = Sampler::default();
        // Each is a copy of the shell until it has become a sleep.
        let metadata = loop {
            look(&mut sampler, Instant::now());
            let metadata = sampler.sample(pid).unwrap();
            if metadata.tree.iter().filter(|process| process.argv[0] == "sleep").count() == 3 {
                break metadata;
            }
        };
        assert_eq!((metadata.shell_pid, metadata.cwd.as_path()), (pid, Path::new("/usr")));
        assert_eq!(
            (metadata.tree[0].stat.pid, metadata.tree[0].argv.as_slice()),
            (pid, &["sh", "-c", script].map(str::to_owned)[..])
        );
        let parent_of = |seconds: &str| {
            metadata.tree.iter().find(|one| one.argv == words(seconds)).unwrap().stat.stat.parent
        };
        assert_eq!(parent_of("1000"), pid);
        assert_eq!(parent_of("1001"), parent_of("1002"));
        assert_ne!(parent_of("1001"), pid);
        assert_eq!(metadata.tree.len(), 5);
        for (at, process) in metadata.tree.iter().enumerate().skip(1) {
            assert!(metadata.tree[..at].iter().any(|earlier| earlier.stat.pid == process.stat.stat.parent));
            assert!(process.stat.rss_bytes > 0);
        }
        drop(shell);
        // The look is of then; what is read of the gone shell now is left out.
        let late = sampler.sample(pid).unwrap();
        assert_eq!(
            (late.tree[0].argv.as_slice(), late.cwd.as_path()),
            (["[sh]".to_owned()].as_slice(), Path::new(""))
        );
        look(&mut sampler, Instant::now());
        assert_eq!(sampler.sample(pid), None);
    }

    #[test]
    fn a_port_is_told_with_the_process_that_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shell = Shell::start("echo ready; kill -STOP $$", Stdio::from(OwnedFd::from(listener)));
        let mut sampler = Sampler::default();
        look(&mut sampler, Instant::now());
        assert_eq!(sampler.sample(shell.pid()).unwrap().listening, [(address, shell.pid())]);
        // Also of a process that was known before it listened, and no longer when it has stopped.
        let script = "import socket, sys\nprint('ready', flush=True)\nfor _ in sys.stdin:\n    one = socket.create_server(('127.0.0.1', 0))\n    print(one.getsockname()[1], flush=True)\n    sys.stdin.readline()\n    one.close()\n    print('closed', flush=True)";
        let mut late = Shell::start(&format!("exec python3 -c \"{script}\""), Stdio::piped());
        let pid = late.pid();
        look(&mut sampler, Instant::now());
        assert_eq!(sampler.sample(pid).unwrap().listening, []);
        let address = SocketAddr::from(([127, 0, 0, 1], late.ask().parse().unwrap()));
        look(&mut sampler, Instant::now());
        assert_eq!(sampler.sample(pid).unwrap().listening, [(address, pid)]);
        assert_eq!(late.ask(), "closed");
        look(&mut sampler, Instant::now());
        assert_eq!(sampler.sample(pid).unwrap().listening, []);
    }

    #[test]
    fn the_time_on_a_processor_is_told_as_a_share_of_the_time_between() {
        let mut sampler = Sampler::default();
        let start = Instant::now();
        let process = |cpu_ticks| ProcessStat {
            pid: 5,
            name: "x".into(),
            stat: proc::Stat { state: b'R', parent: 1, group: 5, session: 5, foreground_group: 5 },
            cpu_ticks,
            started_ticks: 9,
            rss_bytes: 1,
        };
        let per_second = rustix::param::clock_ticks_per_second();
        sampler.began_at = Some(start);
        sampler.processes = vec![process(1000)];
        sampler.begin(start + std::time::Duration::from_secs(2));
        assert_eq!(sampler.sampled(&process(1000 + per_second)).cpu_percent, 50.0);
        assert_eq!(sampler.sampled(&process(1000)).cpu_percent, 0.0);
        // Another process with the same pid.
        assert_eq!(sampler.sampled(&ProcessStat { started_ticks: 10, ..process(5000) }).cpu_percent, 0.0);
    }

    #[test]
    fn an_orphan_stays_with_the_shell_of_its_session() {
        let stat = |parent, session| proc::Stat {
            state: b'S',
            parent,
            group: session,
            session,
            foreground_group: 77,
        };
        let process = |pid, parent, session| ProcessStat {
            pid,
            name: format!("p{pid}"),
            stat: stat(parent, session),
            cpu_ticks: 0,
            started_ticks: 0,
            rss_bytes: 0,
        };
        let base = i32::MAX - 100;
        let mut sampler = Sampler {
            processes: vec![
                process(1, 0, 1),
                process(base, 1, base),
                process(base + 1, base, base),
                process(base + 2, 1, base),
                process(base + 3, base + 2, base),
                // A session of its own, under the shell: script(1), or another terminal.
                process(base + 4, base, base + 4),
                process(base + 9, 1, base + 9),
            ],
            ..Sampler::default()
        };
        sampler.link();
        let pids: Vec<i32> = sampler.tree(base).iter().map(|process| process.stat.pid - base).collect();
        assert_eq!(pids, [0, 1, 2, 3, 4]);
        assert_eq!(sampler.foreground(&sampler.processes[1]), base);
    }

    #[test]
    fn a_directory_that_is_not_known_is_not_the_servers_own() {
        assert_eq!(nearest(Path::new(""), "Cargo.toml"), None);
        assert!(nearest(&std::env::current_dir().unwrap(), "Cargo.toml").is_some());
    }

    #[test]
    fn a_manifest_is_read_again_only_when_it_changed_and_a_fifo_does_not_block() {
        let root = std::env::temp_dir().join(format!("wharf-manifests-{}", std::process::id()));
        let deep = root.join("a/b");
        fs::create_dir_all(&deep).unwrap();
        let reads = std::cell::Cell::new(0);
        let parse = |path: &str, bytes: &[u8]| {
            reads.set(reads.get() + 1);
            Some(format!("{} {}", path.rsplit('/').next()?, String::from_utf8_lossy(bytes)))
        };
        let mut manifests = Manifests::new("wharf-test.json");
        assert_eq!(manifests.nearest(&deep, parse), None);
        fs::write(root.join("wharf-test.json"), "far").unwrap();
        for _ in 0..3 {
            assert_eq!(manifests.nearest(&deep, parse).as_deref(), Some("wharf-test.json far"));
        }
        assert_eq!(reads.get(), 1);
        fs::write(root.join("wharf-test.json"), "changed").unwrap();
        assert_eq!(manifests.nearest(&deep, parse).as_deref(), Some("wharf-test.json changed"));
        assert!(Command::new("mkfifo").arg(root.join("a/wharf-test.json")).status().unwrap().success());
        assert_eq!(manifests.nearest(&deep, parse), None);
        assert_eq!(read_file(&root.join("a/wharf-test.json")), None);
        fs::write(root.join("a/b/wharf-test.json"), "near").unwrap();
        assert_eq!(manifests.nearest(&deep, parse).as_deref(), Some("wharf-test.json near"));
        fs::remove_dir_all(&root).unwrap();
    }
}
