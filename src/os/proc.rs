//! What the kernel knows about processes (ours, our children, a peer's) and about this user's own places.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::Access;
use rustix::io::Errno;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::process::{Resource, Rlimit};
use rustix::rand::GetRandomFlags;

use crate::limits::{ARGV_BYTES_MAX, PROCESS_DESCRIPTORS_MAX, SOCKET_TABLE_BYTES_MAX};

/// The working directory of a process. The path may have been removed since.
pub fn cwd(pid: i32) -> Option<PathBuf> {
    let path = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    match path.as_os_str().as_bytes().strip_suffix(b" (deleted)") {
        Some(removed) if !path.exists() => {
            Some(PathBuf::from(std::ffi::OsString::from_vec(removed.to_vec())))
        }
        _ => Some(path),
    }
}

/// The name of a process, at most 15 bytes (`comm`).
pub fn command_name(pid: i32) -> Option<String> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(name.trim_ascii_end()).into_owned())
}

/// Fields of `/proc/PID/stat`, proc_pid_stat(5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// State letter: `Z` is a zombie.
    pub state: u8,
    /// Parent.
    pub parent: i32,
    /// Process group.
    pub group: i32,
    /// Session.
    pub session: i32,
    /// Foreground group of its controlling terminal; -1 without one.
    pub foreground_group: i32,
}

/// `None` when there is no such process.
pub fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(line: &[u8]) -> Option<Stat> {
    // The name stands in parentheses and may hold any byte, also ") R 1 1 1".
    let after_name = line.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = std::str::from_utf8(line.get(after_name..)?).ok()?.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let mut number = || fields.next()?.parse::<i32>().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    let _terminal = number()?;
    Some(Stat { state, parent, group, session, foreground_group: number()? })
}

/// The living processes of a session (zombies are left out: they cannot be killed again).
pub fn session_members(session: i32) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|stat| stat.session == session && stat.state != b'Z')).collect()
}

/// More of `/proc/PID/stat`, for a sample of what runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Its id.
    pub pid: i32,
    /// Its name, at most 15 bytes.
    pub name: String,
    /// State, parent, group and session.
    pub stat: Stat,
    /// Time on a processor, in ticks of `sysconf(_SC_CLK_TCK)`.
    pub cpu_ticks: u64,
    /// When it started, in ticks since boot: with the pid, it names one process for ever.
    pub started_ticks: u64,
    /// Resident memory in bytes.
    pub rss_bytes: u64,
}

/// `None` when there is no such process any more.
pub fn process_stat(pid: i32) -> Option<ProcessStat> {
    // One read: the line is shorter than this, and the kernel makes it anew for each.
    let mut line = [0; 1024];
    let length = fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
    parse_process_stat(pid, &line[..length])
}

fn parse_process_stat(pid: i32, line: &[u8]) -> Option<ProcessStat> {
    let stat = parse_stat(line)?;
    let name_start = line.iter().position(|byte| *byte == b'(')? + 1;
    let name_end = line.iter().rposition(|byte| *byte == b')')?;
    let name = String::from_utf8_lossy(line.get(name_start..name_end)?).into_owned();
    let fields: Vec<&str> =
        std::str::from_utf8(line.get(name_end + 1..)?).ok()?.split_ascii_whitespace().collect();
    // The state is the third field of the man page and the first here.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(ProcessStat {
        pid,
        name,
        stat,
        cpu_ticks: number(14)? + number(15)?,
        started_ticks: number(22)?,
        rss_bytes: number(24)? * rustix::param::page_size() as u64,
    })
}

/// The words of a process's command line, cut at [`ARGV_BYTES_MAX`]. Empty for a kernel thread, a zombie, and
/// one that is gone.
pub fn argv(pid: i32) -> Vec<String> {
    let mut buffer = [0; ARGV_BYTES_MAX];
    let file = fs::File::open(format!("/proc/{pid}/cmdline"));
    // One read: the kernel gives as much as there is and fits.
    let length = file.and_then(|mut file| file.read(&mut buffer)).unwrap_or(0);
    let line = &buffer[..length];
    let end = line.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let line = &line[..end];
    match line.is_empty() {
        true => Vec::new(),
        false => {
            line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
        }
    }
}

/// A TCP socket of this network namespace that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpListening {
    /// Its port and where it can be reached from.
    pub address: SocketAddr,
    /// Names the socket, also among a process's descriptors.
    pub inode: u64,
}

/// All of them; those beyond [`SOCKET_TABLE_BYTES_MAX`] of what the kernel says are left out.
pub fn tcp_listening() -> Vec<TcpListening> {
    // The table is walked through to its end, where there is room for all connections of a large machine.
    let families = [AddressFamily::INET, AddressFamily::INET6].into_iter();
    let told: io::Result<Vec<_>> = families.map(listening_by_diag).collect();
    told.map_or_else(|_| listening_by_table(), |told| told.concat())
}

/// sock_diag(7): the listeners of a family. `Err` when the kernel does not answer such questions.
fn listening_by_diag(family: AddressFamily) -> io::Result<Vec<TcpListening>> {
    let netlink = ask_diag(&diag_request(NLM_F_REQUEST | NLM_F_DUMP, family, 1 << TCP_LISTEN, None))?;
    let mut found = Vec::new();
    let mut answer = vec![0; DIAG_ANSWER_BYTES];
    let mut taken = 0;
    while taken < SOCKET_TABLE_BYTES_MAX {
        let (_, length) = rustix::net::recv(&netlink, &mut answer[..], RecvFlags::DONTWAIT)?;
        taken += length;
        let mut rest = &answer[..length.min(answer.len())];
        while !rest.is_empty() {
            let message = DiagMessage::parse(rest)?;
            if message.kind == NLMSG_DONE {
                return Ok(found);
            }
            found.extend(message.listener());
            rest = rest.get(message.length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
    Ok(found)
}

fn listening_by_table() -> Vec<TcpListening> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| {
        let mut table = String::new();
        let file = fs::File::open(path).map(|file| file.take(SOCKET_TABLE_BYTES_MAX as u64));
        // Cut inside of a line, that line is no socket.
        let _ = file.and_then(|mut file| file.read_to_string(&mut table));
        table
    });
    tables.iter().flat_map(|table| parse_listening(table)).collect()
}

fn parse_listening(table: &str) -> Vec<TcpListening> {
    let socket = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (local, state) = (fields.nth(1)?, fields.nth(1)?);
        let inode = fields.nth(5)?.parse().ok()?;
        (state == "0A").then_some(TcpListening { address: parse_table_end(local)?, inode })
    };
    // The kernel lists listeners before everything else.
    let is_listener = |line: &&str| line.split_ascii_whitespace().nth(3) == Some("0A");
    table.lines().skip(1).take_while(is_listener).filter_map(socket).collect()
}

/// The other way of [`table_ends`].
fn parse_table_end(end: &str) -> Option<SocketAddr> {
    let (address, port) = end.split_once(':')?;
    let word =
        |at: usize| Some(u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match address.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            IpAddr::from(<[u8; 16]>::try_from(words.as_flattened()).ok()?)
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// The inodes of a process's sockets, among its first [`PROCESS_DESCRIPTORS_MAX`] descriptors. Empty when we
/// may not look, or it is gone.
pub fn socket_inodes(pid: i32) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let inode = |entry: fs::DirEntry| {
        let link = fs::read_link(entry.path()).ok()?;
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    entries.flatten().take(PROCESS_DESCRIPTORS_MAX).filter_map(inode).collect()
}

/// The user that this process acts as.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Resident memory of this process in bytes; `None` without /proc.
pub fn own_rss() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(rss.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Descriptors that this process has open; `None` without /proc.
pub fn open_descriptors() -> Option<usize> {
    // Less the one that reads the directory.
    Some(fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1))
}

/// Bytes from the kernel's generator; waits only in the first moments of a machine's life.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        match rustix::rand::getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}

/// The limit before [`raise_descriptor_limit`]. As process-wide as the limit itself, hence a static.
static DESCRIPTOR_LIMIT: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit of descriptors to the hard one; returns what it is now (`None`: no limit). Children
/// get the first limit back: programs that use `select` break above 1,024.
pub fn raise_descriptor_limit() -> Option<u64> {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    DESCRIPTOR_LIMIT.get_or_init(|| limit);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match rustix::process::setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

/// What children get back; `None` when nothing was raised.
pub(super) fn descriptor_limit_at_start() -> Option<Rlimit> {
    DESCRIPTOR_LIMIT.get().copied()
}

/// The user who owns the other end of an accepted loopback connection: `local` and `remote` are the accepted
/// socket's own addresses. `None` when it is not on this machine, already closed, or cannot be known.
///
/// Only a socket that a process still holds counts: once closed, the kernel calls its owner root.
pub fn tcp_owner(local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let canonical = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let (local, remote) = (canonical(local), canonical(remote));
    // One lookup by the kernel; where it has no sock_diag, its table of all connections.
    match owner_by_diag(remote, local) {
        Ok(owner) => owner,
        Err(_) => owner_by_table(remote, local),
    }
}

const DIAG_HEADER_BYTES: usize = 16;
const DIAG_REQUEST_BYTES: usize = DIAG_HEADER_BYTES + 56;
/// What the kernel puts into one datagram of a dump at most, netlink(7).
const DIAG_ANSWER_BYTES: usize = 32 << 10;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const TCP_LISTEN: u8 = 10;

/// sock_diag(7): the uid of the socket with exactly these ends. `Err` when the kernel does not answer such questions.
fn owner_by_diag(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<u32>> {
    let family = if local.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let netlink = ask_diag(&diag_request(NLM_F_REQUEST, family, u32::MAX, Some((local, remote))))?;
    let mut answer = [0; 1024];
    let (_, length) = rustix::net::recv(&netlink, &mut answer, RecvFlags::DONTWAIT)?;
    match DiagMessage::parse(&answer[..length.min(answer.len())]) {
        Ok(message) => Ok(message.owner(local.port(), remote.port())),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A socket on which the kernel answers `request`.
fn ask_diag(request: &[u8]) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let netlink =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(SOCK_DIAG))?;
    rustix::net::sendto(&netlink, request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    Ok(netlink)
}

fn diag_request(
    flags: u16,
    family: AddressFamily,
    states: u32,
    ends: Option<(SocketAddr, SocketAddr)>,
) -> [u8; DIAG_REQUEST_BYTES] {
    let mut request = [0; DIAG_REQUEST_BYTES];
    let mut rest = request.as_mut_slice();
    let mut put = |bytes: &[u8]| rest.write_all(bytes);
    let octets = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => (u128::from(ip.to_bits()) << 96).to_be_bytes(),
        IpAddr::V6(ip) => ip.octets(),
    };
    let (ports, octets) = ends.map_or(([0; 2], [[0; 16]; 2]), |(local, remote)| {
        ([local.port(), remote.port()], [octets(local), octets(remote)])
    });
    let parts: [&[u8]; 13] = [
        // nlmsghdr: length, type, flags, sequence and port (both unused).
        &(DIAG_REQUEST_BYTES as u32).to_ne_bytes(),
        &SOCK_DIAG_BY_FAMILY.to_ne_bytes(),
        &flags.to_ne_bytes(),
        &[0; 8],
        // inet_diag_req_v2: family, IPPROTO_TCP, no extensions; the states; then the two ends.
        &[family.as_raw() as u8, 6, 0, 0],
        &states.to_ne_bytes(),
        &ports[0].to_be_bytes(),
        &ports[1].to_be_bytes(),
        &octets[0],
        &octets[1],
        // Any interface, any cookie.
        &[0; 4],
        &[0xff; 8],
        &[],
    ];
    for part in parts {
        // It fits: the parts add up to the array.
        let _ = put(part);
    }
    request
}

/// One message of an answer: an inet_diag_msg, or the end.
struct DiagMessage<'a> {
    kind: u16,
    /// In bytes, with its header.
    length: usize,
    body: &'a [u8],
}

impl DiagMessage<'_> {
    /// The first message of `answer`. An error that the kernel tells is one of the operating system.
    fn parse(answer: &[u8]) -> io::Result<DiagMessage<'_>> {
        let broken = || io::Error::from(io::ErrorKind::InvalidData);
        let (length, kind) = (word(answer, 0).ok_or_else(broken)? as usize, half(answer, 4));
        let kind = kind.map(u16::from_ne_bytes).ok_or_else(broken)?;
        let body = answer.get(DIAG_HEADER_BYTES..length).ok_or_else(broken)?;
        match kind {
            NLMSG_ERROR => {
                let errno = word(body, 0).ok_or_else(broken)?.cast_signed();
                Err(io::Error::from_raw_os_error(errno.wrapping_neg()))
            }
            // A dump that cannot be made ends at once, with the error: there is a netlink, but no tcp_diag.
            NLMSG_DONE => match word(body, 0).map(u32::cast_signed) {
                Some(errno) if errno < 0 => Err(io::Error::from_raw_os_error(errno.wrapping_neg())),
                _ => Ok(DiagMessage { kind, length, body }),
            },
            SOCK_DIAG_BY_FAMILY if body.len() >= 72 => Ok(DiagMessage { kind, length, body }),
            _ => Err(broken()),
        }
    }

    // inet_diag_msg: family, state, .., ports at 4, addresses at 8 and 24, .., uid at 64, inode at 68.

    fn owner(&self, local_port: u16, remote_port: u16) -> Option<u32> {
        let ports = [4, 6].map(|at| half(self.body, at).map(u16::from_be_bytes));
        // Without such a connection the kernel offers a listener on that port.
        let is_it = self.body.get(1) != Some(&TCP_LISTEN) && ports == [Some(local_port), Some(remote_port)];
        let uid = word(self.body, 64)?;
        (is_it && word(self.body, 68)? != 0).then_some(uid)
    }

    fn listener(&self) -> Option<TcpListening> {
        let port = half(self.body, 4).map(u16::from_be_bytes)?;
        let ip = match i32::from(*self.body.first()?) {
            libc::AF_INET => IpAddr::from(*self.body.get(8..)?.first_chunk::<4>()?),
            _ => IpAddr::from(*self.body.get(8..)?.first_chunk::<16>()?),
        };
        let address = SocketAddr::new(ip, port);
        Some(TcpListening { address, inode: word(self.body, 68)?.into() })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes)
}

fn half(bytes: &[u8], at: usize) -> Option<[u8; 2]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// The same from /proc/net/tcp and tcp6.
fn owner_by_table(local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    if local.is_ipv4() {
        let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
        if let Some(uid) = find_in_table(&table, &table_ends(local, remote)) {
            return Some(uid);
        }
    }
    // A v4 connection of a v6 socket stands here, with mapped addresses.
    let mapped = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
        IpAddr::V6(_) => address,
    };
    let table = fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    find_in_table(&table, &table_ends(mapped(local), mapped(remote)))
}

/// `0100007F:0016 0100007F:D431`: words as the machine holds them, ports as numbers.
fn table_ends(local: SocketAddr, remote: SocketAddr) -> String {
    let end = |address: SocketAddr| {
        let octets = match address.ip() {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let words =
            octets.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        let words: String = words.map(|word| format!("{word:08X}")).collect();
        format!("{words}:{:04X}", address.port())
    };
    format!("{} {}", end(local), end(remote))
}

fn find_in_table(table: &str, ends: &str) -> Option<u32> {
    let line = table.lines().find(|line| line.contains(ends))?;
    let mut fields = line.split_ascii_whitespace().skip(7);
    let uid = fields.next()?.parse().ok()?;
    let inode: u64 = fields.nth(1)?.parse().ok()?;
    (inode != 0).then_some(uid)
}

/// Where sockets live when no `--runtime-dir` is given: `$XDG_RUNTIME_DIR/wharf` when that directory is ours,
/// for root `/run/wharf`, else `/tmp/wharf-UID`. Nothing is created; see [`private_dir`].
pub fn runtime_dir_default() -> PathBuf {
    let uid = own_uid();
    if let Some(dir) = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from) {
        // After `su` or `sudo` it may still be the other user's.
        if dir.is_absolute() && fs::metadata(&dir).is_ok_and(|meta| meta.is_dir() && meta.uid() == uid) {
            return dir.join("wharf");
        }
    }
    if uid == 0 && rustix::fs::access("/run", Access::WRITE_OK).is_ok() {
        return PathBuf::from("/run/wharf");
    }
    PathBuf::from(format!("/tmp/wharf-{uid}"))
}

/// Where state lives when no `--state-dir` is given: `$XDG_STATE_HOME/wharf`, else `~/.local/state/wharf`.
pub fn state_dir_default() -> PathBuf {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(dir) = absolute("XDG_STATE_HOME") {
        return dir.join("wharf");
    }
    let home = absolute("HOME").or_else(|| super::spawn::passwd_entry(own_uid()).map(|entry| entry.home));
    home.unwrap_or_else(|| PathBuf::from("/")).join(".local/state/wharf")
}

/// Makes a directory that only this user may enter, with its parents, or checks that it is one. The error
/// is one line that says what to do.
pub fn private_dir(path: &Path) -> Result<(), String> {
    let shown = path.display();
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| format!("cannot create {shown}: {error}"))?;
    let meta = fs::symlink_metadata(path).map_err(|error| format!("cannot use {shown}: {error}"))?;
    if !meta.is_dir() {
        return Err(format!("{shown} is not a directory itself; choose another"));
    }
    if meta.uid() != own_uid() {
        return Err(format!("{shown} belongs to user {}, not to us; choose another directory", meta.uid()));
    }
    if meta.mode() & 0o077 != 0 {
        let mode = meta.mode() & 0o7777;
        return Err(format!("{shown} is open to other users (mode {mode:o}); run: chmod 700 {shown}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv6Addr, TcpListener, TcpStream};

    /// Both ways to find the user of the client's socket.
    fn both(local: SocketAddr, remote: SocketAddr) -> (Option<u32>, Option<u32>) {
        (owner_by_diag(local, remote).unwrap(), owner_by_table(local, remote))
    }

    #[test]
    fn the_kernel_and_its_table_agree_on_who_owns_a_connection() {
        let us = Some(own_uid());
        for host in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(host).unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (local, remote) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
            assert_eq!(both(local, remote), (us, us));
            // A listener is no connection, and the wrong peer is no peer.
            let nobody = SocketAddr::new(local.ip(), 1);
            assert_eq!(both(remote, nobody), (None, None));
            assert_eq!(both(local, nobody), (None, None));
        }
    }

    #[test]
    fn a_line_of_the_table_without_a_process_behind_it_has_no_owner() {
        let ends = "0100007F:D431 0100007F:0016";
        let line = |state: &str, uid: u32, inode: u32| {
            format!(
                "   1: {ends} {state} 00000000:00000000 00:00000000 00000000  {uid}        0 {inode} 1 0 20 4 30 10 -1"
            )
        };
        assert_eq!(find_in_table(&line("01", 1000, 4711), ends), Some(1000));
        // Closed by its owner: the kernel says root, and no inode.
        assert_eq!(find_in_table(&line("05", 0, 0), ends), None);
        assert_eq!(find_in_table("", ends), None);
    }

    #[test]
    fn a_v4_connection_of_v6_sockets_is_found_by_its_v4_addresses() {
        let us = Some(own_uid());
        let Ok(listener) = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)) else { return };
        let port = listener.local_addr().unwrap().port();
        let mapped = Ipv6Addr::from([0, 0, 0, 0, 0, 0xffff, 0x7f00, 1]);
        let Ok(client) = TcpStream::connect((mapped, port)) else { return };
        let (accepted, peer) = listener.accept().unwrap();
        assert_eq!(tcp_owner(accepted.local_addr().unwrap(), peer), us);
        let canonical = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        let (local, remote) =
            (canonical(client.local_addr().unwrap()), canonical(client.peer_addr().unwrap()));
        assert!(local.is_ipv4());
        assert_eq!(both(local, remote), (us, us));
    }

    #[test]
    fn a_sample_of_a_process_is_read_by_the_fields_of_the_man_page() {
        let line = b"42 (a) b (c)) S 7 8 9 34816 10 4194304 1 2 3 4 100 23 5 6 20 0 1 0 777 1000 3 18446744073709551615 1";
        let sample = parse_process_stat(42, line).unwrap();
        assert_eq!((sample.name.as_str(), sample.stat.parent, sample.stat.session), ("a) b (c)", 7, 9));
        assert_eq!((sample.cpu_ticks, sample.started_ticks), (123, 777));
        assert_eq!(sample.rss_bytes, 3 * rustix::param::page_size() as u64);
        assert_eq!(parse_process_stat(42, b"42 (a) S 7 8 9 34816 10 4194304 1 2 3"), None);
        assert_eq!(parse_process_stat(42, b")("), None);
        let us = process_stat(std::process::id() as i32).unwrap();
        assert!(us.rss_bytes > 1 << 20 && us.started_ticks > 0);
        assert_eq!(process_stat(i32::MAX), None);
    }

    #[test]
    fn the_words_of_a_command_line_are_those_it_was_started_with() {
        let words: Vec<String> = std::env::args().collect();
        assert_eq!(argv(std::process::id() as i32), words);
        assert_eq!(argv(i32::MAX), Vec::<String>::new());
    }

    #[test]
    fn a_listening_socket_is_told_by_the_kernel_and_its_table_and_is_among_our_descriptors() {
        for host in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0", "[::]:0"] {
            let listener = TcpListener::bind(host).unwrap();
            let address = listener.local_addr().unwrap();
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let inodes = socket_inodes(std::process::id() as i32);
            for told in [listening_by_diag(family).unwrap(), listening_by_table(), tcp_listening()] {
                let found = told.into_iter().find(|socket| socket.address == address).unwrap();
                assert!(inodes.contains(&found.inode));
            }
            // A connection is no listener.
            let client = TcpStream::connect(("localhost", address.port())).map(|client| client.local_addr());
            let ours = client.ok().and_then(Result::ok);
            assert!(tcp_listening().iter().all(|socket| Some(socket.address) != ours));
        }
        assert_eq!(socket_inodes(i32::MAX), Vec::<u64>::new());
    }

    #[test]
    fn an_answer_that_is_an_error_or_no_answer_is_told_apart_from_the_end() {
        let message = |kind: u16, body: &[u8]| {
            let length = (DIAG_HEADER_BYTES + body.len()) as u32;
            [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10], body].concat()
        };
        let parse = |answer: &[u8]| DiagMessage::parse(answer).map(|message| message.kind);
        assert_eq!(parse(&message(NLMSG_DONE, &0i32.to_ne_bytes())).unwrap(), NLMSG_DONE);
        for kind in [NLMSG_DONE, NLMSG_ERROR] {
            let error = parse(&message(kind, &(-libc::ENOENT).to_ne_bytes())).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        }
        let whole = message(SOCK_DIAG_BY_FAMILY, &[0; 72]);
        assert_eq!(parse(&whole).unwrap(), SOCK_DIAG_BY_FAMILY);
        for cut in 0..whole.len() {
            assert!(parse(&whole[..cut]).is_err(), "{cut}");
        }
        assert!(parse(&message(SOCK_DIAG_BY_FAMILY, &[0; 71])).is_err());
    }

    #[test]
    fn only_listeners_and_whole_lines_of_the_table_count() {
        let line = |ends: &str, state: &str| {
            format!(
                "   0: {ends} {state} 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0\n"
            )
        };
        let head = "  sl  local_address rem_address   st ...\n";
        let end = table_ends(SocketAddr::from(([127, 0, 0, 1], 8080)), SocketAddr::from(([0, 0, 0, 0], 0)));
        let v6 = table_ends("[::1]:443".parse().unwrap(), "[::]:0".parse().unwrap());
        let table = format!("{head}{}{}{}", line(&end, "0A"), line(&v6, "0A"), line(&end, "01"));
        let found: Vec<String> = parse_listening(&table).iter().map(|one| one.address.to_string()).collect();
        assert_eq!(found, ["127.0.0.1:8080", "[::1]:443"]);
        assert_eq!(parse_listening(&table[..table.len() - 250]).len(), 1);
        assert_eq!(parse_listening("head\n 0: x:y z:0 0A a b c d e 1\n\n"), []);
        assert_eq!(parse_listening(""), []);
    }

    #[test]
    fn a_process_cannot_forge_its_stat_by_its_name() {
        let stat = parse_stat(b"42 (a) R 1 1 1 (b) S 7 8 9 34816 10 4194304 0").unwrap();
        assert_eq!(stat, Stat { state: b'S', parent: 7, group: 8, session: 9, foreground_group: 10 });
        assert_eq!(parse_stat(b"42 (a) S 7 8"), None);
        assert_eq!(parse_stat(b""), None);
    }
}
