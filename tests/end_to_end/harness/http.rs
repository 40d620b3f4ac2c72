//! HTTP from the wire up, so that broken requests can be sent and every byte of an answer is seen.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::{PATIENCE, Value, find};

/// Small, but above a loopback segment: below, the kernel itself sends in trickles.
const RECEIVE_BYTES: usize = 128 << 10;

/// A TCP or Unix connection.
pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub fn tcp(addr: SocketAddr) -> Stream {
        let stream = TcpStream::connect_timeout(&addr, PATIENCE).unwrap();
        stream.set_nodelay(true).unwrap();
        Stream::Tcp(stream)
    }

    /// Reads what comes within `patience`: `Some(0)` is the end, `None` means that nothing came.
    pub fn read_for(&mut self, into: &mut [u8], patience: Duration) -> Option<usize> {
        let patience = Some(patience.max(Duration::from_millis(1)));
        let read = match self {
            Stream::Tcp(stream) => stream.set_read_timeout(patience).and_then(|()| stream.read(into)),
            Stream::Unix(stream) => stream.set_read_timeout(patience).and_then(|()| stream.read(into)),
        };
        match read {
            Ok(bytes) => Some(bytes),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => None,
            Err(error) if error.kind() == ErrorKind::Interrupted => None,
            Err(_) => Some(0),
        }
    }

    /// Writes all of it; false when the peer has gone.
    pub fn put(&mut self, bytes: &[u8]) -> bool {
        let written = match self {
            Stream::Tcp(stream) => {
                stream.set_write_timeout(Some(PATIENCE)).and_then(|()| stream.write_all(bytes))
            }
            Stream::Unix(stream) => {
                stream.set_write_timeout(Some(PATIENCE)).and_then(|()| stream.write_all(bytes))
            }
        };
        match written {
            Ok(()) => true,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("the server did not read for a minute")
            }
            Err(_) => false,
        }
    }

    pub fn half_close(&mut self) {
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }

    /// The next close sends RST.
    pub fn reset_on_close(&self) {
        if let Stream::Tcp(stream) = self {
            rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO)).unwrap();
        }
    }

    pub fn small_receive_buffer(&self) {
        match self {
            Stream::Tcp(stream) => {
                rustix::net::sockopt::set_socket_recv_buffer_size(stream, RECEIVE_BYTES).unwrap()
            }
            Stream::Unix(stream) => {
                rustix::net::sockopt::set_socket_recv_buffer_size(stream, RECEIVE_BYTES).unwrap()
            }
        }
    }
}

/// An answer, whole.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(given, _)| given.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {} {}", self.status, self.text()))
    }

    /// `{"error": "..."}`, the only shape of an error.
    #[track_caller]
    pub fn error(&self) -> String {
        let body = self.json();
        let fields: Vec<_> = body.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["error"], "{body}");
        assert_eq!(self.header("content-type").map(|kind| kind.starts_with("application/json")), Some(true));
        body["error"].as_str().unwrap().to_string()
    }
}

/// A client connection: requests out, answers in, in order.
pub struct Http {
    pub stream: Stream,
    unread: Vec<u8>,
}

impl Http {
    pub fn over(stream: Stream) -> Http {
        Http { stream, unread: Vec::new() }
    }

    pub fn put(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.put(bytes.as_ref())
    }

    pub fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str("Host: localhost\r\n");
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        head.push_str(body.unwrap_or(""));
        self.put(head);
    }

    /// Reads more; false at the end.
    fn more(&mut self, deadline: Instant) -> bool {
        let mut bytes = vec![0; 64 << 10];
        let patience = deadline.saturating_duration_since(Instant::now());
        match self.stream.read_for(&mut bytes, patience) {
            Some(0) => false,
            Some(count) => {
                self.unread.extend_from_slice(&bytes[..count]);
                true
            }
            None if Instant::now() < deadline => true,
            None => panic!("no answer, only {:?}", String::from_utf8_lossy(&self.unread)),
        }
    }

    fn take(&mut self, count: usize, deadline: Instant) -> Vec<u8> {
        while self.unread.len() < count {
            assert!(
                self.more(deadline),
                "the answer ended early: {:?}",
                String::from_utf8_lossy(&self.unread)
            );
        }
        self.unread.drain(..count).collect()
    }

    fn take_line(&mut self, deadline: Instant) -> Option<String> {
        loop {
            if let Some(end) = find(&self.unread, b"\r\n") {
                let line: Vec<u8> = self.unread.drain(..end + 2).collect();
                return Some(String::from_utf8(line[..end].to_vec()).unwrap());
            }
            if !self.more(deadline) {
                return None;
            }
        }
    }

    /// The head of the next answer, or `None` when the server closed instead.
    pub fn head(&mut self) -> Option<(u16, Vec<(String, String)>)> {
        let deadline = Instant::now() + PATIENCE;
        let first = self.take_line(deadline)?;
        assert!(first.starts_with("HTTP/1.1 "), "{first}");
        let status = first[9..12].parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.take_line(deadline)?;
            if line.is_empty() {
                return Some((status, headers));
            }
            let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("{line}"));
            headers.push((name.to_string(), value.trim().to_string()));
        }
    }

    /// The answer to a request of this method.
    #[track_caller]
    pub fn answer(&mut self, method: &str) -> Answer {
        self.try_answer(method).expect("the server closed without an answer")
    }

    /// The same, or `None` when the connection ended before it.
    pub fn try_answer(&mut self, method: &str) -> Option<Answer> {
        let (status, headers) = self.head()?;
        let mut answer = Answer { status, headers, body: Vec::new() };
        let deadline = Instant::now() + PATIENCE;
        if method == "HEAD" || status == 204 || status == 304 || (100..200).contains(&status) {
            return Some(answer);
        }
        if answer.header("transfer-encoding").is_some() {
            while let Some(chunk) = self.chunk(deadline) {
                answer.body.extend(chunk);
            }
        } else if let Some(length) = answer.header("content-length") {
            let length = length.parse().unwrap();
            answer.body = self.take(length, deadline);
        } else {
            while self.more(deadline) {}
            answer.body = std::mem::take(&mut self.unread);
        }
        Some(answer)
    }

    fn chunk(&mut self, deadline: Instant) -> Option<Vec<u8>> {
        let size = self.take_line(deadline).expect("no chunk size");
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let bytes = self.take(size, deadline);
        self.take(2, deadline);
        (size > 0).then_some(bytes)
    }

    /// A body that never ends, piece by piece.
    pub fn piece(&mut self, chunked: bool) -> Option<Vec<u8>> {
        let deadline = Instant::now() + PATIENCE;
        if chunked {
            return self.chunk(deadline);
        }
        while self.unread.is_empty() {
            if !self.more(deadline) {
                return None;
            }
        }
        Some(std::mem::take(&mut self.unread))
    }

    /// True when the server closes without another byte.
    pub fn ends(&mut self) -> bool {
        let deadline = Instant::now() + PATIENCE;
        while self.unread.is_empty() {
            if !self.more(deadline) {
                return true;
            }
        }
        false
    }

    pub fn into_parts(self) -> (Stream, Vec<u8>) {
        (self.stream, self.unread)
    }
}
