//! Finds the server and asks it one thing at a time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use clap::parser::ValueSource;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use serde_json::{Value, json};

use super::{Failure, values};
use crate::config;
use crate::limits::{CLI_ANSWER_TIME_MAX, CLI_CONNECT_TIME_MAX};
use crate::os::proc;
use crate::wire::http::{ResponseReader, put_request};

/// A connection to the server.
pub(super) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
        }
    }
}

/// Where the server is, and what it wants to hear.
pub(super) struct Endpoint {
    address: Address,
    /// What stands in `Host`.
    pub(super) host: String,
    base_path: String,
    pub(super) token: Option<String>,
}

enum Address {
    Unix(PathBuf),
    /// What a name resolved to, at the start: names are not asked again while a terminal is attached.
    Tcp(Vec<SocketAddr>),
}

/// A URL of a server, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerUrl {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) base_path: String,
    pub(super) token: Option<String>,
}

impl ServerUrl {
    /// `http://HOST[:PORT][/BASE][?t=TOKEN]`, as `wharf serve` prints it.
    pub(super) fn parse(text: &str) -> Result<ServerUrl, String> {
        let bad = || format!("'{text}' is no URL of a server; write it like http://127.0.0.1:3000");
        if text.starts_with("https://") {
            return Err(
                "https:// is for browsers; tunnel to the server's port (ssh -L) and use http://".into()
            );
        }
        let rest = text.strip_prefix("http://").ok_or_else(bad)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().map_err(|_| bad())?),
            _ => (authority, 80),
        };
        if host.is_empty() || host.contains(['@', '#', ' ']) {
            return Err(bad());
        }
        let base_path = values::parse_base_path(path.trim_end_matches('/'))?;
        let token = query.split('&').find_map(|pair| pair.strip_prefix("t=")).map(str::to_owned);
        Ok(ServerUrl { host: host.to_owned(), port, base_path, token })
    }
}

impl Endpoint {
    /// The server that the options name: `--socket` or `--url`, else the environment, else the default socket.
    pub(super) fn from_options(options: &ArgMatches) -> Result<Endpoint, String> {
        let token = read_token(options)?;
        let given = |name| options.value_source(name) == Some(ValueSource::CommandLine);
        let url = match options.get_one::<String>("url") {
            Some(url) => Some(url.clone()),
            None if given("socket") => None,
            None => std::env::var("WHARF_URL").ok().filter(|url| !url.is_empty()),
        };
        if let Some(url) = url {
            let url = ServerUrl::parse(&url)?;
            let bare = url.host.trim_start_matches('[').trim_end_matches(']');
            let addresses: Vec<SocketAddr> = (bare, url.port)
                .to_socket_addrs()
                .map_err(|error| format!("cannot find the host '{bare}': {error}"))?
                .collect();
            return Ok(Endpoint {
                address: Address::Tcp(addresses),
                host: if url.port == 80 { url.host } else { format!("{}:{}", url.host, url.port) },
                base_path: url.base_path,
                token: token.or(url.token),
            });
        }
        let path = match options.get_one::<PathBuf>("socket") {
            Some(path) => path.clone(),
            None => match std::env::var_os("WHARF_SOCKET").filter(|path| !path.is_empty()) {
                Some(path) => PathBuf::from(path),
                None => default_socket()?,
            },
        };
        Ok(Endpoint {
            address: Address::Unix(path),
            host: "localhost".into(),
            base_path: String::new(),
            token,
        })
    }

    /// The target of a request: the path behind the server's base path.
    pub(super) fn target(&self, path: &str) -> String {
        format!("{}{path}", self.base_path)
    }

    /// Headers of every request.
    pub(super) fn authorization(&self) -> Option<String> {
        self.token.as_ref().map(|token| format!("Bearer {token}"))
    }

    /// Begins a connection that does not block; `attempt` chooses among the addresses of a name. It stands
    /// once it is writable.
    pub(super) fn start_connecting(&self, attempt: usize) -> io::Result<Stream> {
        match &self.address {
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_nonblocking(true)?;
                Ok(Stream::Unix(stream))
            }
            Address::Tcp(addresses) => {
                let address = addresses[attempt % addresses.len().max(1)];
                let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
                let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
                let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
                match rustix::net::connect(&socket, &address) {
                    Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
                    Err(error) => return Err(error.into()),
                }
                let stream = TcpStream::from(socket);
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }

    fn connect(&self) -> Result<Stream, Failure> {
        let stream = match &self.address {
            Address::Unix(path) => UnixStream::connect(path).and_then(|stream| {
                stream.set_read_timeout(Some(CLI_ANSWER_TIME_MAX))?;
                stream.set_write_timeout(Some(CLI_ANSWER_TIME_MAX))?;
                Ok(Stream::Unix(stream))
            }),
            Address::Tcp(addresses) => {
                let mut result = Err(ErrorKind::NotFound.into());
                for address in addresses {
                    result = TcpStream::connect_timeout(address, CLI_CONNECT_TIME_MAX).and_then(|stream| {
                        stream.set_read_timeout(Some(CLI_ANSWER_TIME_MAX))?;
                        stream.set_write_timeout(Some(CLI_ANSWER_TIME_MAX))?;
                        Ok(Stream::Tcp(stream))
                    });
                    if result.is_ok() {
                        break;
                    }
                }
                result
            }
        };
        stream.map_err(|error| Failure::NoServer(self.unreachable(&error)))
    }

    /// What to do when the server cannot be reached.
    pub(super) fn unreachable(&self, error: &io::Error) -> String {
        match (&self.address, error.kind()) {
            (Address::Unix(path), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
                format!("no wharf server at {}; start one with `wharf serve`", path.display())
            }
            (Address::Unix(path), ErrorKind::PermissionDenied) => {
                format!("{} belongs to another user; use --url with a token", path.display())
            }
            (Address::Unix(path), _) => format!("cannot connect to {}: {error}", path.display()),
            (Address::Tcp(_), ErrorKind::ConnectionRefused) => {
                format!("no server at http://{}; start one with `wharf serve --listen`", self.host)
            }
            (Address::Tcp(_), _) => format!("cannot connect to http://{}: {error}", self.host),
        }
    }

    /// One request and its answer. An answer that is no success is an error, in the server's words.
    pub(super) fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let (status, value) = self.ask(method, path, body)?;
        if (200..300).contains(&status) { Ok(value) } else { Err(refusal(status, &value).into()) }
    }

    /// One request; the status and the JSON of the answer, null when there is none.
    pub(super) fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), Failure> {
        let mut stream = self.connect()?;
        let body = body.map(|body| body.to_string().into_bytes());
        let authorization = self.authorization();
        let mut headers = vec![("Connection", "close"), ("Accept", "application/json")];
        if body.is_some() {
            headers.push(("Content-Type", "application/json"));
        }
        if let Some(value) = &authorization {
            headers.push(("Authorization", value));
        }
        let mut request = Vec::new();
        put_request(method, &self.target(path), &self.host, &headers, body.as_deref(), &mut request);
        // A server that refuses a request early stops reading it; its answer says why.
        let written = stream.write_all(&request);
        let (mut reader, mut input, mut eof) = (ResponseReader::new(), Vec::new(), false);
        let mut chunk = vec![0; crate::limits::READ_BYTES];
        loop {
            let next = reader.next(&mut input, eof).map_err(|error| match &written {
                Err(error) => format!("the server at {} does not take the request: {error}", self.name()),
                Ok(()) => format!("no answer from {}: {error}", self.name()),
            })?;
            if let Some(response) = next {
                let value = match response.body.is_empty() {
                    true => Value::Null,
                    false => serde_json::from_slice(&response.body).unwrap_or_else(
                        |_| json!({ "error": format!("{} is no wharf server", self.name()) }),
                    ),
                };
                return Ok((response.status, value));
            }
            match stream.read(&mut chunk) {
                Ok(0) => eof = true,
                Ok(n) => input.extend_from_slice(&chunk[..n]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    let seconds = CLI_ANSWER_TIME_MAX.as_secs();
                    return Err(format!("{} has not answered for {seconds} s", self.name()).into());
                }
                Err(error) => return Err(format!("lost {}: {error}", self.name()).into()),
            }
        }
    }

    fn name(&self) -> String {
        match &self.address {
            Address::Unix(path) => path.display().to_string(),
            Address::Tcp(_) => format!("http://{}", self.host),
        }
    }

    /// The terminal that the user means: by session id (the live one first), by id, or by the unique
    /// beginning of an id.
    pub(super) fn find(&self, target: &str) -> Result<Value, Failure> {
        let list = self.terminals()?;
        let field = |terminal: &Value, name: &str| terminal[name].as_str().unwrap_or_default().to_owned();
        let mut by_session: Vec<&Value> =
            list.iter().filter(|terminal| field(terminal, "sessionId") == target).collect();
        by_session.sort_by_key(|terminal| terminal["exited"].as_bool().unwrap_or(false));
        if let Some(terminal) = by_session.first() {
            return Ok((*terminal).clone());
        }
        let by_id: Vec<&Value> = list
            .iter()
            .filter(|terminal| !target.is_empty() && field(terminal, "id").starts_with(target))
            .collect();
        match by_id[..] {
            [terminal] => Ok(terminal.clone()),
            [] => {
                let how = format!("`wharf ls` lists them, `wharf new -s {target}` makes it");
                Err(format!("no session '{target}'; {how}").into())
            }
            _ => Err(format!("'{target}' is the beginning of several ids; give more of it").into()),
        }
    }

    /// The id of [`Endpoint::find`].
    pub(super) fn find_id(&self, target: &str) -> Result<String, Failure> {
        let terminal = self.find(target)?;
        terminal["id"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| format!("{} is no wharf server", self.name()).into())
    }

    /// The Unix socket, if that is the way.
    pub(super) fn socket_path(&self) -> Option<&Path> {
        match &self.address {
            Address::Unix(path) => Some(path),
            Address::Tcp(_) => None,
        }
    }

    /// All terminals, as the server describes them.
    pub(super) fn terminals(&self) -> Result<Vec<Value>, Failure> {
        let answer = self.request("GET", "/v1/terminals", None)?;
        let list = match answer {
            Value::Array(list) => Some(list),
            mut object => match object.get_mut("terminals").map(Value::take) {
                Some(Value::Array(list)) => Some(list),
                _ => None,
            },
        };
        list.ok_or_else(|| format!("{} is no wharf server", self.name()).into())
    }
}

/// The socket of our own server. What another user put in its place would read all that is typed.
fn default_socket() -> Result<PathBuf, String> {
    let dir = proc::runtime_dir_default();
    match std::fs::symlink_metadata(&dir) {
        Ok(meta) if meta.uid() != proc::own_uid() => Err(format!(
            "{} belongs to user {}; give the server's socket with --socket",
            dir.display(),
            meta.uid()
        )),
        Ok(_) | Err(_) => Ok(config::socket_path(&dir)),
    }
}

/// The server's refusal in words that say what to do.
pub(super) fn refusal(status: u16, value: &Value) -> String {
    let message = value["error"].as_str().unwrap_or("the server gave no reason");
    match status {
        401 | 403 => format!(
            "the server refuses ({status}): {message}; give the token with --token-file or WHARF_TOKEN"
        ),
        _ => format!("the server refuses ({status}): {message}"),
    }
}

/// The token of `--token-file`, else of WHARF_TOKEN.
pub(super) fn read_token(options: &ArgMatches) -> Result<Option<String>, String> {
    match options.get_one::<PathBuf>("token-file") {
        Some(path) => config::read_token_file(path).map(Some),
        None => match std::env::var_os("WHARF_TOKEN").filter(|token| !token.is_empty()) {
            Some(token) => config::check_token(&token.to_string_lossy(), "WHARF_TOKEN").map(Some),
            None => Ok(None),
        },
    }
}

/// Bytes that nobody can guess.
pub(super) fn random<const N: usize>() -> Result<[u8; N], String> {
    proc::random_bytes().map_err(|error| format!("the system has no random bytes: {error}"))
}

/// Lower-case hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Percent-encodes one segment of a path, or a value of a query.
pub(super) fn encode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// The directory as an absolute path, without following links: a shell shows it as it was typed.
pub(super) fn absolute(path: &Path) -> Result<String, String> {
    let path =
        std::path::absolute(path).map_err(|error| format!("cannot tell the working directory: {error}"))?;
    path.into_os_string().into_string().map_err(|path| format!("{} is not UTF-8", path.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<(String, u16, String, Option<String>)> {
        ServerUrl::parse(text).ok().map(|url| (url.host, url.port, url.base_path, url.token))
    }

    #[test]
    fn urls_are_read_as_serve_prints_them() {
        let url = |host: &str, port, base: &str, token: Option<&str>| {
            Some((host.to_owned(), port, base.to_owned(), token.map(str::to_owned)))
        };
        assert_eq!(parsed("http://127.0.0.1:3000/"), url("127.0.0.1", 3000, "", None));
        assert_eq!(parsed("http://host"), url("host", 80, "", None));
        assert_eq!(parsed("http://[::1]:3000"), url("[::1]", 3000, "", None));
        assert_eq!(parsed("http://[::1]"), url("[::1]", 80, "", None));
        assert_eq!(parsed("http://h:1/a/b/?t=abc"), url("h", 1, "/a/b", Some("abc")));
        for bad in
            ["", "h:1", "http://", "http://:1", "http://h:x", "ftp://h", "http://u@h:1", "http://h:99999"]
        {
            assert_eq!(parsed(bad), None, "{bad}");
        }
        assert!(ServerUrl::parse("https://h").unwrap_err().contains("ssh -L"));
    }

    #[test]
    fn segments_are_encoded() {
        assert_eq!(encode("a/b c?é"), "a%2Fb%20c%3F%C3%A9");
    }
}
