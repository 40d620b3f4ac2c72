//! What the kernel says of the server and of its children.

use std::process::Command;

/// The server's own pid, when it was started through another program.
pub fn server_below(pid: u32) -> u32 {
    let binary = std::fs::canonicalize(env!("CARGO_BIN_EXE_wharf")).unwrap();
    let is_server = |pid: u32| std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == binary);
    let mut found = pid;
    super::eventually("the server's process", || {
        let mut candidates = vec![pid];
        while let Some(candidate) = candidates.pop() {
            if is_server(candidate) {
                found = candidate;
                return true;
            }
            candidates.extend(children(candidate));
        }
        false
    });
    found
}

fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold spaces; what follows its closing parenthesis starts with field 3.
    Some(stat[stat.rfind(')')? + 2..].split(' ').map(str::to_string).collect())
}

fn all() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

pub fn children(pid: u32) -> Vec<u32> {
    let parent = pid.to_string();
    all().into_iter().filter(|child| stat(*child).is_some_and(|fields| fields[1] == parent)).collect()
}

pub fn zombies(pid: u32) -> usize {
    children(pid).into_iter().filter(|child| stat(*child).is_some_and(|fields| fields[0] == "Z")).count()
}

pub fn alive(pid: u32) -> bool {
    stat(pid).is_some_and(|fields| fields[0] != "Z")
}

/// What each open descriptor of a process is.
pub fn descriptors(pid: u32) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let links = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    links.map(|link| link.to_string_lossy().into_owned()).collect()
}

/// Resident memory in KiB.
pub fn resident_kib(pid: u32) -> u64 {
    status(pid, "VmRSS:")
}

/// How often the process gave up the CPU: each wake-up of an idle loop is one.
pub fn sleeps(pid: u32) -> u64 {
    status(pid, "voluntary_ctxt_switches:")
}

fn status(pid: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// CPU time used so far, in ticks of 10 ms.
pub fn cpu_ticks(pid: u32) -> u64 {
    let fields = stat(pid).unwrap();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// CPU ticks used over a second: a spinning loop uses 100 of them, however busy the machine is some tens.
pub fn ticks_in_a_second(pid: u32) -> u64 {
    let before = cpu_ticks(pid);
    std::thread::sleep(std::time::Duration::from_secs(1));
    cpu_ticks(pid) - before
}

pub fn signal(pid: u32, signal: &str) {
    let _ = Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status();
}

/// Programs that keep both cores busy until they are dropped.
pub struct Load(Vec<std::process::Child>);

impl Load {
    pub fn new() -> Load {
        let hog =
            || Command::new("nice").args(["-n", "5", "sh", "-c", "while :; do :; done"]).spawn().unwrap();
        Load((0..2).map(|_| hog()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}
