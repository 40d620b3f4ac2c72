//! The other end of a terminal: a bare PTY, or a client of a server that has one.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wharf::os::spawn::{self, Program};
use wharf::wire::http::{ClientResponse, ResponseReader, put_request};
use wharf::wire::websocket::{Opcode, client_key, put_masked};

/// Who carries the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A loop that reads the PTY and nothing else: what the kernel can do.
    Bare,
    /// That loop, and one plain TCP socket to its reader: what any server must do at least.
    Relay,
    Wharf,
    WharfProtocol1,
    WharfMirror,
    Ttyd,
    Tmux,
}

impl Subject {
    pub(crate) const ALL: [Subject; 7] = [
        Subject::Bare,
        Subject::Relay,
        Subject::Wharf,
        Subject::WharfProtocol1,
        Subject::WharfMirror,
        Subject::Ttyd,
        Subject::Tmux,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Subject::Bare => "bare loop",
            Subject::Relay => "bare relay",
            Subject::Wharf => "wharf",
            Subject::WharfProtocol1 => "wharf, protocol 1",
            Subject::WharfMirror => "wharf, mirror",
            Subject::Ttyd => "ttyd",
            Subject::Tmux => "tmux",
        }
    }
}

/// Nothing here takes longer, unless it is lost.
const PATIENCE: Duration = Duration::from_secs(60);
const READ_BYTES: usize = 256 << 10;

/// A server process; ended when dropped.
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    is_wharf: bool,
}

impl Server {
    /// `wharf serve`.
    pub(crate) fn wharf(program: &Path, dir: &Path) -> Server {
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        command.arg("--runtime-dir").arg(dir.join("run")).arg("--state-dir").arg(dir.join("state"));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
        Server { child, address, is_wharf: true }
    }

    /// ttyd, when it is installed: a shell whose arguments the client chooses.
    pub(crate) fn ttyd() -> Option<Server> {
        let mut command = Command::new("ttyd");
        command.args(["--port", "0", "--interface", "127.0.0.1", "--writable", "--url-arg", "/bin/sh"]);
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().ok()?;
        let mut log = BufReader::new(child.stderr.take()?).lines();
        let port = loop {
            let line = log.next()?.ok()?;
            if let Some((_, port)) = line.split_once("port: ") {
                break port.trim().parse().ok()?;
            }
        };
        std::thread::spawn(move || log.for_each(drop));
        Some(Server { child, address: SocketAddr::from(([127, 0, 0, 1], port)), is_wharf: false })
    }

    /// CPU time it has used, in seconds.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let spent = tasks.flatten().filter_map(|task| {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<f64>().ok()
        });
        spent.sum::<f64>() / 1e9
    }

    /// As [`Server::cpu_seconds`], once it has nothing more to do.
    pub(crate) fn cpu_seconds_at_rest(&self) -> f64 {
        let mut before = self.cpu_seconds();
        loop {
            std::thread::sleep(Duration::from_millis(30));
            let now = self.cpu_seconds();
            if now - before < 0.0005 {
                return now;
            }
            before = now;
        }
    }

    /// Resident memory in KiB.
    pub(crate) fn resident_kib(&self) -> f64 {
        self.number("status", "VmRSS:")
    }

    /// Memory that only this process has, in KiB.
    pub(crate) fn private_kib(&self) -> f64 {
        self.number("smaps_rollup", "Private_Clean:") + self.number("smaps_rollup", "Private_Dirty:")
    }

    /// Context switches so far.
    pub(crate) fn switches(&self) -> f64 {
        self.number("status", "voluntary_ctxt_switches:")
            + self.number("status", "nonvoluntary_ctxt_switches:")
    }

    /// Waits until nothing has woken it for longer than anything that it does after some output, and ends.
    pub(crate) fn wait_for_rest(&self) {
        let (mut before, mut quiet) = (self.switches(), 0);
        while quiet < 7 {
            std::thread::sleep(Duration::from_secs(1));
            let now = self.switches();
            quiet = if now == before { quiet + 1 } else { 0 };
            before = now;
        }
    }

    fn number(&self, file: &str, name: &str) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    pub(crate) fn connect(&self, receive_bytes: Option<usize>) -> TcpStream {
        use socket2::{Domain, Socket, Type};
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        if let Some(bytes) = receive_bytes {
            socket.set_recv_buffer_size(bytes).unwrap();
        }
        socket.connect(&self.address.into()).unwrap();
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A terminal of this session that runs `sh -c SCRIPT`; the path of its socket.
    pub(crate) fn create(&self, http: &mut TcpStream, session: &str, script: &str, size: Size) -> String {
        let body = json!({
            "sessionId": session, "cwd": "/", "cols": size.cols, "rows": size.rows,
            "shell": "/bin/sh", "args": ["-c", script],
        });
        let response = request(http, "POST", "/v1/terminals", Some(&body));
        assert_eq!(response.status, 201, "{}", String::from_utf8_lossy(&response.body));
        let created: Value = serde_json::from_slice(&response.body).unwrap();
        created["websocketPath"].as_str().unwrap().to_owned()
    }

    pub(crate) fn close(&self, http: &mut TcpStream, session: &str) {
        assert_eq!(
            request(http, "DELETE", &format!("/v1/terminals/session/{session}"), None).status,
            200,
            "no such session"
        );
    }

    /// A client of the terminal at `path` that has nothing yet.
    pub(crate) fn attach(&self, path: &str, framing: Framing, receive_bytes: Option<usize>) -> Line {
        if framing == Framing::Mirror {
            let mut line = Line::websocket(self.connect(receive_bytes), "/ws", &[], framing);
            line.surface = path.split('/').nth_back(1).unwrap().to_owned();
            return line;
        }
        let protocol = if framing == Framing::Protocol2 { "&protocol=2" } else { "" };
        let target = format!("{path}?lastOutputSeq=0{protocol}");
        Line::websocket(self.connect(receive_bytes), &target, &[], framing)
    }

    /// A terminal and a client of it. The terminal ends with the client.
    pub(crate) fn line(&self, script: &str, framing: Framing, receive_bytes: Option<usize>) -> Line {
        if self.is_wharf {
            let session = format!("bench-{}", serial());
            let path = self.create(&mut self.connect(None), &session, script, Size::default());
            let mut line = self.attach(&path, framing, receive_bytes);
            line.end = End::Close { address: self.address, session };
            line
        } else {
            let escaped: String = script.bytes().map(|byte| format!("%{byte:02x}")).collect();
            let protocol = [("Sec-WebSocket-Protocol", "tty")];
            let target = format!("/ws?arg=-c&arg={escaped}");
            let mut line = Line::websocket(self.connect(receive_bytes), &target, &protocol, Framing::Ttyd);
            let size = Size::default();
            let hello = json!({ "AuthToken": "", "columns": size.cols, "rows": size.rows }).to_string();
            line.send(Opcode::Binary, hello.as_bytes());
            line
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::TERM,
        );
        let _ = self.child.wait();
    }
}

/// A grid, in cells.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) cols: u16,
    pub(crate) rows: u16,
}

impl Default for Size {
    fn default() -> Size {
        Size { cols: 120, rows: 36 }
    }
}

pub(crate) fn serial() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub(crate) fn request(
    http: &mut TcpStream,
    method: &str,
    target: &str,
    body: Option<&Value>,
) -> ClientResponse {
    let (mut out, mut reader, mut input) = (Vec::new(), ResponseReader::new(), Vec::new());
    let body = body.map(Value::to_string);
    let headers = [("Content-Type", "application/json")];
    put_request(method, target, "localhost", &headers, body.as_ref().map(String::as_bytes), &mut out);
    http.write_all(&out).unwrap();
    loop {
        let mut bytes = [0; 16_384];
        let n = http.read(&mut bytes).unwrap();
        input.extend_from_slice(&bytes[..n]);
        if let Some(response) = reader.next(&mut input, n == 0).unwrap() {
            return response;
        }
    }
}

/// How output is wrapped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Not at all.
    Raw,
    Protocol2,
    Protocol1,
    Mirror,
    Ttyd,
}

/// One end of a terminal: keys go in, what the program printed comes out.
pub(crate) struct Line {
    io: Ends,
    framing: Framing,
    buffer: Vec<u8>,
    /// Bytes of one read at most, for a reader that is held back.
    pub(crate) read_max: usize,
    header: Vec<u8>,
    frame_left: usize,
    part: Part,
    message: Vec<u8>,
    /// Resets that came instead of output.
    pub(crate) resets: usize,
    /// Frames of output.
    pub(crate) frames: usize,
    /// Of the mirror's surfaces, the one that this is about.
    surface: String,
    client_seq: u64,
    end: End,
}

/// A program on a PTY of our own.
fn start(argv: &[&str]) -> io::Result<(OwnedFd, End)> {
    let program = Program {
        path: argv[0].into(),
        arg0: None,
        args: argv[1..].iter().map(Into::into).collect(),
        env: spawn::base_environment(&[("TERM".into(), "xterm-256color".into())]),
        cwd: "/".into(),
    };
    let size = Size::default();
    let child = spawn::spawn(&program, size.cols, size.rows).map_err(|failed| failed.error)?;
    Ok((child.master, End::Kill(child.pid)))
}

/// Carries bytes both ways until one end is gone.
fn relay(master: &OwnedFd, mut peer: TcpStream) {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut bytes = vec![0; READ_BYTES];
    loop {
        let mut ends = [PollFd::new(master, PollFlags::IN), PollFd::new(&peer, PollFlags::IN)];
        poll(&mut ends, None).unwrap();
        let [printed, typed] = [!ends[0].revents().is_empty(), !ends[1].revents().is_empty()];
        if printed {
            let n = rustix::io::read(master, &mut bytes).unwrap_or(0);
            if n == 0 || peer.write_all(&bytes[..n]).is_err() {
                return;
            }
        }
        if typed {
            let n = peer.read(&mut bytes).unwrap_or(0);
            if n == 0 || rustix::io::write(master, &bytes[..n]).is_err() {
                return;
            }
        }
    }
}

enum Ends {
    Pty(OwnedFd),
    Socket(TcpStream),
}

/// What ends together with the line.
enum End {
    Nothing,
    Kill(i32),
    Close { address: SocketAddr, session: String },
}

/// What the bytes of the present frame are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Skipped,
    /// So many bytes of a prefix, then output.
    Output(usize),
    Json,
    Ping,
}

impl Line {
    fn new(io: Ends, framing: Framing, end: End) -> Line {
        Line {
            io,
            framing,
            buffer: vec![0; READ_BYTES],
            read_max: READ_BYTES,
            header: Vec::new(),
            frame_left: 0,
            part: Part::Skipped,
            message: Vec::new(),
            resets: 0,
            frames: 0,
            surface: String::new(),
            client_seq: 0,
            end,
        }
    }

    /// A program on a PTY of our own.
    pub(crate) fn bare(argv: &[&str]) -> io::Result<Line> {
        let (master, end) = start(argv)?;
        rustix::io::ioctl_fionbio(&master, false)?;
        Ok(Line::new(Ends::Pty(master), Framing::Raw, end))
    }

    /// As [`Line::bare`], with one thread and a TCP socket in between.
    pub(crate) fn relay(argv: &[&str]) -> io::Result<Line> {
        let (master, end) = start(argv)?;
        rustix::io::ioctl_fionbio(&master, false)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let socket = TcpStream::connect(listener.local_addr()?)?;
        let (peer, _) = listener.accept()?;
        socket.set_nodelay(true)?;
        peer.set_nodelay(true)?;
        std::thread::spawn(move || relay(&master, peer));
        Ok(Line::new(Ends::Socket(socket), Framing::Raw, end))
    }
    fn websocket(mut stream: TcpStream, target: &str, extra: &[(&str, &str)], framing: Framing) -> Line {
        let key = client_key([7; 16]);
        let mut headers = vec![
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", key.as_str()),
        ];
        headers.extend_from_slice(extra);
        let mut out = Vec::new();
        put_request("GET", target, "localhost", &headers, None, &mut out);
        stream.write_all(&out).unwrap();
        // Byte by byte, so that what follows the head stays in the socket.
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            assert_eq!(stream.read(&mut byte).unwrap(), 1, "no upgrade");
            head.extend_from_slice(&byte);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
        Line::new(Ends::Socket(stream), framing, End::Nothing)
    }

    fn send(&mut self, opcode: Opcode, payload: &[u8]) {
        let mut out = Vec::new();
        put_masked(opcode, payload, [1, 2, 3, 4], &mut out);
        if let Ends::Socket(stream) = &mut self.io {
            // A server that has given us up is noticed by reading.
            let _ = stream.write_all(&out);
        }
    }

    /// Types.
    pub(crate) fn type_in(&mut self, keys: &str) {
        match self.framing {
            Framing::Raw => match &mut self.io {
                Ends::Pty(master) => {
                    assert_eq!(rustix::io::write(master, keys.as_bytes()).unwrap(), keys.len());
                }
                Ends::Socket(stream) => stream.write_all(keys.as_bytes()).unwrap(),
            },
            Framing::Mirror => {
                let bytes = data_encoding::BASE64.encode(keys.as_bytes());
                let frame = json!({ "type": "surfaceStdin", "surfaceId": self.surface, "bytes": bytes });
                self.send(Opcode::Text, frame.to_string().as_bytes());
            }
            Framing::Ttyd => self.send(Opcode::Binary, format!("0{keys}").as_bytes()),
            Framing::Protocol1 | Framing::Protocol2 => {
                self.client_seq += 1;
                let frame = json!({
                    "type": "input", "clientId": "bench", "clientSeq": self.client_seq, "data": keys,
                });
                self.send(Opcode::Text, frame.to_string().as_bytes());
            }
        }
    }

    /// Reads once; `each` gets the pieces of output that this brought. False at the end.
    pub(crate) fn read(&mut self, mut each: impl FnMut(&[u8])) -> bool {
        let mut buffer = std::mem::take(&mut self.buffer);
        let room = &mut buffer[..self.read_max];
        let n = match &mut self.io {
            Ends::Pty(master) => rustix::io::read(master, room).unwrap_or(0),
            Ends::Socket(stream) => match stream.read(room) {
                Err(error) if error.kind() != io::ErrorKind::ConnectionReset => panic!("a read: {error}"),
                result => result.unwrap_or(0),
            },
        };
        match self.framing {
            Framing::Raw => each(&buffer[..n]),
            _ => self.unwrap_frames(&buffer[..n], &mut each),
        }
        self.buffer = buffer;
        n > 0
    }

    fn unwrap_frames(&mut self, mut bytes: &[u8], each: &mut impl FnMut(&[u8])) {
        while !bytes.is_empty() {
            if self.frame_left == 0 {
                let Some(header) = self.take_header(&mut bytes) else { return };
                self.frame_left = header.1;
                self.part = match (header.0, self.framing) {
                    (2, Framing::Protocol2) => Part::Output(9),
                    (2, Framing::Ttyd) => Part::Output(1),
                    (1, Framing::Protocol1 | Framing::Mirror) => Part::Json,
                    (9, _) => Part::Ping,
                    _ => Part::Skipped,
                };
                if header == (9, 0) {
                    self.send(Opcode::Pong, b"");
                }
                continue;
            }
            let (mut piece, rest) = bytes.split_at(self.frame_left.min(bytes.len()));
            bytes = rest;
            self.frame_left -= piece.len();
            if let Part::Output(prefix) = self.part {
                let wrapping = prefix.min(piece.len());
                self.begin(prefix, piece[0]);
                piece = &piece[wrapping..];
                if let Part::Output(left) = &mut self.part {
                    *left -= wrapping;
                }
            }
            match self.part {
                Part::Output(0) if !piece.is_empty() => each(piece),
                Part::Output(_) | Part::Skipped => {}
                Part::Ping => {
                    self.message.extend_from_slice(piece);
                    if self.frame_left == 0 {
                        let payload = std::mem::take(&mut self.message);
                        self.send(Opcode::Pong, &payload);
                    }
                }
                Part::Json => {
                    self.message.extend_from_slice(piece);
                    if self.frame_left == 0 {
                        let frame = std::mem::take(&mut self.message);
                        let told = match self.framing {
                            Framing::Mirror => put_surface(&frame, &self.surface, each),
                            _ => put_data(&frame, each),
                        };
                        self.frames += usize::from(told.is_some());
                        self.resets += usize::from(told == Some(true));
                    }
                }
            }
        }
    }

    /// Looks at the kind byte, which is the first of a frame.
    fn begin(&mut self, prefix: usize, first: u8) {
        match (self.framing, prefix, first) {
            (Framing::Protocol2, 9, 2) => self.resets += 1,
            (Framing::Ttyd, 1, kind) if kind != b'0' => self.part = Part::Skipped,
            _ => {}
        }
    }

    /// Opcode and length of the next frame, once its header is complete.
    fn take_header(&mut self, bytes: &mut &[u8]) -> Option<(u8, usize)> {
        while let Some((byte, rest)) = bytes.split_first() {
            self.header.push(*byte);
            *bytes = rest;
            let length = match self.header[..] {
                [_, 126, a, b] => usize::from(u16::from_be_bytes([a, b])),
                [_, 127, _, _, _, _, a, b, c, d] => u32::from_be_bytes([a, b, c, d]) as usize,
                [_, length] if length < 126 => usize::from(length),
                _ => continue,
            };
            let opcode = self.header[0] & 15;
            self.header.clear();
            return Some((opcode, length));
        }
        None
    }

    /// Reads until `what` has come; returns when the first output came.
    pub(crate) fn read_until(&mut self, what: &[u8]) -> Instant {
        let (mut seen, mut first, started) = (Vec::new(), None, Instant::now());
        loop {
            let open = self.read(|bytes| {
                first.get_or_insert_with(Instant::now);
                seen.extend_from_slice(bytes);
            });
            if memchr::memmem::find(&seen, what).is_some() {
                return first.unwrap_or(started);
            }
            assert!(open, "ended before {:?}", String::from_utf8_lossy(what));
            assert!(started.elapsed() < PATIENCE, "no {:?}", String::from_utf8_lossy(what));
            seen.drain(..seen.len().saturating_sub(what.len()));
        }
    }

    /// Bytes that have arrived and were not read.
    pub(crate) fn arrived(&self) -> u64 {
        match &self.io {
            Ends::Pty(master) => rustix::io::ioctl_fionread(master).unwrap(),
            Ends::Socket(stream) => rustix::io::ioctl_fionread(stream).unwrap(),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        match &self.end {
            End::Nothing => {}
            End::Kill(pid) => {
                spawn::kill_session(*pid);
                let pid = rustix::process::Pid::from_raw(*pid);
                let _ = rustix::process::waitpid(pid, rustix::process::WaitOptions::empty());
            }
            End::Close { address, session } => {
                if let Ok(mut http) = TcpStream::connect(address) {
                    request(&mut http, "DELETE", &format!("/v1/terminals/session/{session}"), None);
                }
            }
        }
    }
}

/// Hands over the output of this surface, if the mirror's frame is that. True for a snapshot.
fn put_surface(frame: &[u8], surface: &str, each: &mut impl FnMut(&[u8])) -> Option<bool> {
    frame.strip_prefix(br#"{"type":"surfaceStdout""#)?;
    let start = memchr::memmem::find(frame, br#""bytes":""#)?;
    memchr::memmem::find(&frame[..start], surface.as_bytes())?;
    let base64 = &frame[start + 9..];
    let base64 = &base64[..memchr::memchr(b'"', base64)?];
    each(&data_encoding::BASE64.decode(base64).unwrap());
    Some(memchr::memmem::find(&frame[start + 9 + base64.len()..], br#""snapshot":true"#).is_some())
}

/// Hands over the text of a protocol-1 frame, if it is output. True for a reset.
fn put_data(frame: &[u8], each: &mut impl FnMut(&[u8])) -> Option<bool> {
    let start = memchr::memmem::find(frame, br#""data":""#)?;
    let mut data = &frame[start + 8..frame.len() - 2];
    let mut text = Vec::with_capacity(data.len());
    while let Some(at) = memchr::memchr(b'\\', data) {
        text.extend_from_slice(&data[..at]);
        let (byte, length) = match data[at + 1] {
            b'n' => (b'\n', 2),
            b'r' => (b'\r', 2),
            b't' => (b'\t', 2),
            b'b' => (8, 2),
            b'f' => (12, 2),
            b'u' => (u8::from_str_radix(str::from_utf8(&data[at + 4..at + 6]).unwrap(), 16).unwrap(), 6),
            other => (other, 2),
        };
        text.push(byte);
        data = &data[at + length..];
    }
    text.extend_from_slice(data);
    each(&text);
    Some(memchr::memmem::find(&frame[..start], br#""reset":true"#).is_some())
}
