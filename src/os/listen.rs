//! Listening sockets: TCP, Unix, and those that systemd passes.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::limits::{LISTEN_BACKLOG, SILENCE_MAX, SOCKET_PATH_BYTES_MAX, UNSENT_BYTES_FIRST};
use crate::os::lock;

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddr {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A Unix socket of mode 0600.
    Unix(PathBuf),
    /// The descriptors passed by systemd (`LISTEN_FDS`).
    Passed,
}

impl fmt::Display for ListenAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddr::Tcp(address) => write!(f, "{address}"),
            ListenAddr::Unix(path) => write!(f, "unix:{}", path.display()),
            ListenAddr::Passed => write!(f, "fd"),
        }
    }
}

impl FromStr for ListenAddr {
    type Err = String;

    /// `127.0.0.1:3000`, `[::1]:3000`, `unix:PATH`, `fd`. Names are for [`resolve`].
    fn from_str(text: &str) -> Result<ListenAddr, String> {
        match text.strip_prefix("unix:") {
            Some(path) if !path.is_empty() => return Ok(ListenAddr::Unix(PathBuf::from(path))),
            None if text == "fd" => return Ok(ListenAddr::Passed),
            Some(_) | None => {}
        }
        text.parse().map(ListenAddr::Tcp).map_err(|_| {
            format!("cannot listen on {text:?}: give HOST:PORT (127.0.0.1:3000, [::1]:3000, localhost:3000), unix:PATH or fd")
        })
    }
}

/// What `--listen` means: as [`ListenAddr::from_str`], and a host's name stands for all its addresses that this
/// machine has. May ask the resolver, so only before the loop runs.
pub fn resolve(text: &str) -> Result<Vec<ListenAddr>, String> {
    let malformed = match text.parse() {
        Ok(address) => return Ok(vec![address]),
        Err(message) => message,
    };
    let Some((host, port)) = text.rsplit_once(':') else { return Err(malformed) };
    let Ok(port) = port.parse::<u16>() else { return Err(malformed) };
    if host.is_empty() || host == "unix" || host.contains(':') {
        return Err(malformed);
    }
    let found =
        (host, port).to_socket_addrs().map_err(|error| format!("cannot listen on {text}: {error}"))?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found {
        // `localhost` means ::1 too, also where there is no IPv6.
        let mut probe = address;
        probe.set_port(0);
        if !addresses.contains(&address) && UdpSocket::bind(probe).is_ok() {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(format!("cannot listen on {text}: no address of {host} belongs to this machine"));
    }
    Ok(addresses.into_iter().map(ListenAddr::Tcp).collect())
}

/// Why a listener could not be opened: one line that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenError(String);

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ListenError {}

/// A socket that accepts; neither it nor what it accepts blocks or is inherited.
#[derive(Debug)]
pub enum Listener {
    /// TCP, our own or passed.
    Tcp(TcpListener),
    /// Unix, our own or passed.
    Unix {
        /// The socket.
        listener: UnixListener,
        /// Where it is bound.
        path: PathBuf,
        /// The right to that path; dropping it unlinks the socket. `None` when the socket was passed.
        lock: Option<SocketLock>,
    },
}

impl Listener {
    /// Where it listens, with the real port when port 0 was asked for.
    pub fn address(&self) -> io::Result<ListenAddr> {
        match self {
            Listener::Tcp(listener) => Ok(ListenAddr::Tcp(listener.local_addr()?)),
            Listener::Unix { path, .. } => Ok(ListenAddr::Unix(path.clone())),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix { listener, .. } => listener.as_fd(),
        }
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

/// Opens what an address stands for; [`ListenAddr::Passed`] may be several.
pub fn open(address: &ListenAddr) -> Result<Vec<Listener>, ListenError> {
    match address {
        ListenAddr::Tcp(address) => match open_tcp(*address) {
            Ok(listener) => Ok(vec![Listener::Tcp(listener)]),
            Err(errno) => Err(ListenError(explain_tcp(*address, errno))),
        },
        ListenAddr::Unix(path) => open_unix(path).map(|listener| vec![listener]).map_err(ListenError),
        ListenAddr::Passed => open_passed().map_err(ListenError),
    }
}

fn open_tcp(address: SocketAddr) -> rustix::io::Result<TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    // Connections of the last run in TIME_WAIT do not count as a user of the port.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        // So that [::]:3000 and 0.0.0.0:3000 can both be asked for, whatever the machine's default.
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, LISTEN_BACKLOG)?;
    Ok(TcpListener::from(socket))
}

fn explain_tcp(address: SocketAddr, errno: Errno) -> String {
    match errno {
        Errno::ADDRINUSE => {
            format!("{address} is already in use; stop the other server or choose another --listen")
        }
        Errno::ACCESS | Errno::PERM => {
            format!(
                "{address}: port {} needs root or CAP_NET_BIND_SERVICE; choose a port above 1023",
                address.port()
            )
        }
        Errno::ADDRNOTAVAIL => format!("{address} is no address of this machine; choose another --listen"),
        Errno::AFNOSUPPORT => format!("{address}: this machine has no IPv6; choose another --listen"),
        errno => format!("cannot listen on {address}: {}", io::Error::from(errno)),
    }
}

/// The right to bind a path: a lock on `PATH.lock`, which the kernel gives back however its holder dies, and
/// which a stopped holder keeps.
#[derive(Debug)]
pub struct SocketLock {
    /// Locked while open. The file stays: unlinking a lock file lets two processes hold "it".
    _file: File,
    socket: PathBuf,
}

impl Drop for SocketLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.socket);
    }
}

fn open_unix(path: &Path) -> Result<Listener, String> {
    let shown = path.display();
    let bytes = path.as_os_str().len();
    if bytes > SOCKET_PATH_BYTES_MAX {
        return Err(format!(
            "socket path is {bytes} bytes, at most {SOCKET_PATH_BYTES_MAX}: {shown}; choose a shorter --runtime-dir or path"
        ));
    }
    let failed = |error: io::Error| format!("cannot listen on {shown}: {error}");
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(failed)?;
    }
    let file = lock::hold(path, "--runtime-dir")?;
    clear_path(path)?;
    let listener = bind_unix(path).map_err(|errno| failed(errno.into()))?;
    Ok(Listener::Unix {
        listener,
        path: path.to_owned(),
        lock: Some(SocketLock { _file: file, socket: path.to_owned() }),
    })
}

/// Removes what a killed server left at the path; refuses when it is anything else. The lock is held.
fn clear_path(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(format!("cannot listen on {shown}: {error}")),
    };
    if !meta.file_type().is_socket() {
        return Err(format!("{shown} exists and is not a socket; remove it or choose another path"));
    }
    // The lock keeps other wharfs away; another program's socket answers, or its full backlog says EAGAIN.
    match probe(path) {
        Err(Errno::CONNREFUSED | Errno::NOENT) => {}
        Ok(()) | Err(_) => {
            return Err(format!("{shown} is another program's socket; stop it or choose another path"));
        }
    }
    fs::remove_file(path).map_err(|error| format!("cannot remove the stale {shown}: {error}"))
}

fn probe(path: &Path) -> rustix::io::Result<()> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)
}

fn bind_unix(path: &Path) -> rustix::io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Linux gives the file the mode of the unbound socket: it is 0600 from its first moment.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&socket, LISTEN_BACKLOG)?;
    Ok(UnixListener::from(socket))
}

/// sd_listen_fds(3): descriptors from 3 on, when `LISTEN_PID` is us.
fn open_passed() -> Result<Vec<Listener>, String> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let count = match (number("LISTEN_PID"), number("LISTEN_FDS")) {
        (Some(pid), Some(count)) if pid == std::process::id() && count > 0 => count,
        _ => return Err("--listen fd: no sockets were passed (LISTEN_FDS, LISTEN_PID); start it from a systemd socket unit".into()),
    };
    let count = i32::try_from(count)
        .ok()
        .filter(|count| *count <= 64)
        .ok_or("--listen fd: LISTEN_FDS is above 64")?;
    (3..3 + count)
        .map(|fd| open_inherited(fd).map_err(|error| format!("--listen fd: descriptor {fd}: {error}")))
        .collect()
}

fn open_inherited(fd: RawFd) -> Result<Listener, String> {
    let text = |errno: Errno| io::Error::from(errno).to_string();
    // A duplicate of our own descriptor, close-on-exec; taking the number itself would need unsafe code.
    // The original stays open and is kept from shells when they are started. Needs Linux 5.6.
    let own = pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).map_err(text)?;
    let socket: OwnedFd = pidfd_getfd(own, fd, PidfdGetfdFlags::empty()).map_err(text)?;
    if !sockopt::socket_acceptconn(&socket).map_err(text)?
        || sockopt::socket_type(&socket).map_err(text)? != SocketType::STREAM
    {
        return Err("is not a listening stream socket; use ListenStream= with Accept=no".into());
    }
    rustix::io::ioctl_fionbio(&socket, true).map_err(text)?;
    match sockopt::socket_domain(&socket).map_err(text)? {
        AddressFamily::INET | AddressFamily::INET6 => Ok(Listener::Tcp(TcpListener::from(socket))),
        AddressFamily::UNIX => {
            let listener = UnixListener::from(socket);
            let path =
                listener.local_addr().ok().and_then(|address| address.as_pathname().map(Path::to_owned));
            Ok(Listener::Unix { listener, path: path.unwrap_or_default(), lock: None })
        }
        _ => Err("is neither TCP nor Unix".into()),
    }
}

/// The two kinds of connection.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// Unix.
    Unix(UnixStream),
}

/// Who connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Through TCP; v4-mapped addresses are as the kernel gives them.
    Tcp {
        /// Our end.
        local: SocketAddr,
        /// The peer's end.
        remote: SocketAddr,
    },
    /// Through a Unix socket.
    Unix {
        /// The user who connected; [`Peer::UID_UNKNOWN`] when the kernel would not say.
        uid: u32,
    },
}

impl Peer {
    /// The uid that no user has (`(uid_t) -1`).
    pub const UID_UNKNOWN: u32 = u32::MAX;
}

/// A new connection; does not block, is not inherited.
#[derive(Debug)]
pub struct Accepted {
    /// The connection.
    pub stream: Stream,
    /// Its other end.
    pub peer: Peer,
}

/// Takes one connection; [`accept_failure`] says what an error means.
pub fn accept(listener: &Listener) -> io::Result<Accepted> {
    let socket = rustix::net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
    match listener {
        Listener::Tcp(_) => {
            let stream = TcpStream::from(socket);
            let peer = Peer::Tcp { local: stream.local_addr()?, remote: stream.peer_addr()? };
            Ok(Accepted { stream: Stream::Tcp(stream), peer })
        }
        Listener::Unix { .. } => {
            let uid = sockopt::socket_peercred(&socket)
                .map_or(Peer::UID_UNKNOWN, |credentials| credentials.uid.as_raw());
            Ok(Accepted { stream: Stream::Unix(UnixStream::from(socket)), peer: Peer::Unix { uid } })
        }
    }
}

/// What the caller of [`accept`] does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptFailure {
    /// Nobody is waiting: go back to the loop.
    WouldBlock,
    /// That connection is gone: take the next one.
    Connection,
    /// The machine or this process has no room: stop accepting for a while, for the same error comes at once again.
    Resources,
}

/// Sorts the errors of accept(2).
pub fn accept_failure(error: &io::Error) -> AcceptFailure {
    match Errno::from_io_error(error) {
        Some(Errno::WOULDBLOCK) => AcceptFailure::WouldBlock,
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => AcceptFailure::Resources,
        // About the listener itself; they would come for ever.
        Some(Errno::BADF | Errno::INVAL | Errno::NOTSOCK | Errno::OPNOTSUPP) => AcceptFailure::Resources,
        Some(_) | None => AcceptFailure::Connection,
    }
}

/// How many bytes the kernel takes that it cannot send yet (`TCP_NOTSENT_LOWAT`, tcp(7)).
///
/// # Errors
/// What setsockopt(2) says.
pub fn set_unsent_bytes_max(stream: impl AsFd, bytes: usize) -> io::Result<()> {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    socket2::SockRef::from(&stream).set_tcp_notsent_lowat(bytes)
}

/// How many bytes the kernel takes that a local peer has not read (`SO_SNDBUF`, unix(7)).
///
/// # Errors
/// What setsockopt(2) says.
pub fn set_send_buffer_bytes(stream: impl AsFd, bytes: usize) -> io::Result<()> {
    Ok(sockopt::set_socket_send_buffer_size(stream, bytes)?)
}

/// Settings of an accepted TCP connection: small frames go at once, the backlog waits with us and not in the
/// kernel, and a peer that vanished is noticed as soon as the protocols would notice.
pub fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    set_unsent_bytes_max(stream, UNSENT_BYTES_FIRST)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, SILENCE_MAX)?;
    let millis = u32::try_from(SILENCE_MAX.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(stream, millis)?;
    Ok(())
}
