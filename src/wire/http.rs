//! HTTP/1.x between bytes and values (RFC 9110, RFC 9112): requests for the server, responses for both
//! ends. The only file that names httparse.
//!
//! Framing is strict, because a server behind a proxy must see the same requests as the proxy: lines end
//! in CR LF, header lines are not folded, and a message with two lengths is refused.
//!
//! Left out: which hosts and origins are trusted (`server/trust.rs`), and what a path means.

use std::borrow::Cow;

use httparse::Status;
use memchr::memchr;
use serde_json::{Value, json};

use crate::limits::{
    BLANK_LINES_MAX, BODY_BYTES_MAX, CHUNK_LINE_BYTES_MAX, HEAD_BYTES_MAX, HEADERS_MAX, RESPONSE_BYTES_MAX,
    RESPONSE_HEAD_BYTES_MAX,
};

/// A request that gets an error instead of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The HTTP status, 400..=599.
    pub status: u16,
    /// What the peer did wrong, in words for the peer.
    pub message: String,
    /// The `Allow` header of a 405.
    pub allow: Option<&'static str>,
    /// The `Retry-After` header, in seconds.
    pub retry_after: Option<u32>,
}

impl Reject {
    /// A rejection without extra headers.
    pub fn new(status: u16, message: impl Into<String>) -> Reject {
        Reject { status, message: message.into(), allow: None, retry_after: None }
    }
}

/// The request methods this server knows by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
    /// Any other; its name is in [`Request::method_name`].
    Other,
}

/// One whole request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method, methods being case-sensitive.
    pub method: Method,
    /// The method as it was sent.
    pub method_name: String,
    /// The target before `?`, still percent-encoded; starts with `/`, or is `*`.
    pub path: String,
    /// What follows `?`, still encoded; empty when there is none.
    pub query_raw: String,
    /// Names as sent and values, in order. Bytes that are not UTF-8 became U+FFFD.
    pub headers: Vec<(String, String)>,
    /// The body, transfer coding removed.
    pub body: Vec<u8>,
    /// Whether the peer will send another request on this connection.
    pub keep_alive: bool,
    /// 0 or 1, of HTTP/1.x.
    pub version_minor: u8,
}

impl Request {
    /// The first header of that name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers_named(name).next()
    }

    /// All headers of that name, in any case, in order.
    pub fn headers_named<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        self.headers
            .iter()
            .filter(move |(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The first query parameter of that name, percent- and plus-decoded; `?a` and `?a=` are empty. A
    /// broken escape stands for itself.
    pub fn query(&self, name: &str) -> Option<String> {
        self.query_raw.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (query_decode(key) == name).then(|| query_decode(value))
        })
    }

    /// The path between its slashes, percent-decoded. `%2F` stays inside its segment, and empty segments
    /// are kept, so that `//` matches no route: `/` is `[""]`, `/a/` is `["a", ""]`.
    ///
    /// # Errors
    /// 400 for a broken escape, a NUL, or what is not UTF-8.
    pub fn segments(&self) -> Result<Vec<String>, Reject> {
        let path = self.path.strip_prefix('/').unwrap_or(&self.path);
        path.split('/').map(segment_decode).collect()
    }

    /// Whether the request asks to become a websocket.
    pub fn is_upgrade(&self) -> bool {
        self.lists("connection", "upgrade") && self.lists("upgrade", "websocket")
    }

    /// `Sec-WebSocket-Key`, of a request that is a websocket handshake (RFC 6455 section 4.2.1).
    ///
    /// # Errors
    /// 426 when it is none or of another version than 13, 400 when the key is missing or malformed.
    pub fn websocket_key(&self) -> Result<String, Reject> {
        if self.method != Method::Get || self.version_minor == 0 || !self.is_upgrade() {
            return Err(Reject::new(426, "this is a websocket: GET it with Upgrade: websocket"));
        }
        if self.header("sec-websocket-version").map(str::trim) != Some("13") {
            return Err(Reject::new(426, "Sec-WebSocket-Version must be 13"));
        }
        let mut keys = self.headers_named("sec-websocket-key");
        let (Some(key), None) = (keys.next(), keys.next()) else {
            return Err(Reject::new(400, "Sec-WebSocket-Key must be there once"));
        };
        let base64 = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
        match key.strip_suffix("==") {
            Some(digits) if digits.len() == 22 && digits.as_bytes().iter().all(base64) => Ok(key.to_owned()),
            _ => Err(Reject::new(400, "Sec-WebSocket-Key must be 16 bytes in base64")),
        }
    }

    /// Whether a header that is a comma-separated list holds this token, in any case.
    fn lists(&self, name: &str, token: &str) -> bool {
        self.headers_named(name).any(|list| list_has(list, token))
    }
}

fn list_has(list: &str, token: &str) -> bool {
    list.split(',').any(|item| item.trim().eq_ignore_ascii_case(token))
}

/// How far the message has come that is being read; each stage has its own time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Between two messages.
    Idle,
    /// The head has begun.
    Head,
    /// The head is complete, the body is not.
    Body,
}

/// Reads requests out of bytes as they arrive. Time is linear in the bytes, however they are cut.
///
/// After an error the peer's framing is lost: answer it and close.
#[derive(Debug, Default)]
pub struct RequestReader {
    /// Bytes of `input` known not to end the head.
    scanned: usize,
    blank_lines: usize,
    head_begun: bool,
    pending: Option<Pending>,
}

/// A request whose body is still arriving.
#[derive(Debug)]
struct Pending {
    request: Request,
    framing: Framing,
    continue_due: bool,
}

#[derive(Debug)]
enum Framing {
    /// Bytes still to come.
    Length(usize),
    Chunked(Chunks),
    /// Until the connection ends (responses only).
    UntilEof,
}

impl RequestReader {
    /// A reader at the start of a connection.
    pub fn new() -> RequestReader {
        RequestReader::default()
    }

    /// The next whole request, or `None` when more bytes are needed. What belongs to it is taken from the
    /// front of `input`, which must be the same buffer each time; what follows it stays there.
    ///
    /// # Errors
    /// 400 malformed, 413 body over [`BODY_BYTES_MAX`], 417 unknown expectation, 431 head over
    /// [`HEAD_BYTES_MAX`] or more than [`HEADERS_MAX`] headers, 501 unknown transfer coding, 505 not HTTP/1.
    pub fn next(&mut self, input: &mut Vec<u8>) -> Result<Option<Request>, Reject> {
        let mut pending = match self.pending.take() {
            Some(pending) => pending,
            None => match self.take_head(input)? {
                Some(pending) => pending,
                None => return Ok(None),
            },
        };
        let mut rest = input.as_slice();
        let complete = pending.framing.take(&mut rest, &mut pending.request.body, BODY_BYTES_MAX)?;
        let taken = input.len() - rest.len();
        input.drain(..taken);
        if complete {
            return Ok(Some(pending.request));
        }
        // A peer that already sends its body does not wait to be told to.
        pending.continue_due &= taken == 0;
        self.pending = Some(pending);
        Ok(None)
    }

    /// Whether the peer waits for `100 Continue` ([`put_continue`]); true once per request.
    pub fn wants_continue(&mut self) -> bool {
        self.pending.as_mut().is_some_and(|pending| std::mem::take(&mut pending.continue_due))
    }

    /// What the reader waits for, as of the last [`RequestReader::next`].
    pub fn stage(&self) -> Stage {
        match (&self.pending, self.head_begun) {
            (Some(_), _) => Stage::Body,
            (None, true) => Stage::Head,
            (None, false) => Stage::Idle,
        }
    }

    fn take_head(&mut self, input: &mut Vec<u8>) -> Result<Option<Pending>, Reject> {
        if self.scanned == 0 {
            // Some clients end a body with a line end that they did not count (RFC 9112 section 2.2).
            let blank = input.chunks(2).take_while(|pair| *pair == b"\r\n").count();
            self.blank_lines += blank;
            if self.blank_lines > BLANK_LINES_MAX {
                return Err(Reject::new(400, "a request line was expected"));
            }
            input.drain(..2 * blank);
            match input.first() {
                None => return Ok(None),
                Some(b'\r') if input.len() == 1 => return Ok(None),
                // A TLS greeting or other noise is told so now, not when the head's time is over.
                Some(first) if !first.is_ascii_graphic() => {
                    return Err(Reject::new(400, "this is an HTTP/1.1 server, without TLS"));
                }
                Some(_) => self.head_begun = true,
            }
        }
        let Some(end) = head_end(input, &mut self.scanned, HEAD_BYTES_MAX)? else {
            return Ok(None);
        };
        let parsed = parse_head(&input[..end]);
        input.drain(..end);
        *self = RequestReader::new();
        parsed.map(Some)
    }
}

/// Where the head ends, looking only at bytes from `scanned` on.
fn head_end(bytes: &[u8], scanned: &mut usize, bytes_max: usize) -> Result<Option<usize>, Reject> {
    let too_large = || Reject::new(431, format!("the head of a message must be at most {bytes_max} bytes"));
    loop {
        let Some(offset) = memchr(b'\n', &bytes[*scanned..]) else {
            *scanned = bytes.len();
            return if bytes.len() > bytes_max { Err(too_large()) } else { Ok(None) };
        };
        let at = *scanned + offset;
        *scanned = at + 1;
        if *scanned > bytes_max {
            return Err(too_large());
        }
        // A lone LF would end a line for some parsers and not for others.
        if at == 0 || bytes[at - 1] != b'\r' {
            return Err(Reject::new(400, "lines must end in CR LF"));
        }
        if bytes[..=at].ends_with(b"\r\n\r\n") {
            return Ok(Some(at + 1));
        }
    }
}

fn parse_head(head: &[u8]) -> Result<Pending, Reject> {
    let mut slots = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut slots);
    match parsed.parse(head) {
        Ok(Status::Complete(length)) if length == head.len() => {}
        Ok(_) => return Err(Reject::new(400, "malformed request head")),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Reject::new(431, format!("a request may have at most {HEADERS_MAX} headers")));
        }
        Err(httparse::Error::Version) if names_http(head) => {
            return Err(Reject::new(505, "only HTTP/1.0 and HTTP/1.1 are spoken here"));
        }
        Err(error) => return Err(Reject::new(400, format!("malformed request head: {error}"))),
    }
    let (Some(method_name), Some(target), Some(version_minor)) = (parsed.method, parsed.path, parsed.version)
    else {
        return Err(Reject::new(400, "malformed request line"));
    };
    let headers = parsed
        .headers
        .iter()
        .map(|header| (header.name.to_owned(), String::from_utf8_lossy(header.value).into_owned()));
    let mut request = Request {
        method: match method_name {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "PATCH" => Method::Patch,
            "DELETE" => Method::Delete,
            "OPTIONS" => Method::Options,
            _ => Method::Other,
        },
        method_name: method_name.to_owned(),
        path: String::new(),
        query_raw: String::new(),
        headers: headers.collect(),
        body: Vec::new(),
        keep_alive: false,
        version_minor,
    };
    set_target(&mut request, target)?;
    request.keep_alive = match version_minor {
        0 => request.lists("connection", "keep-alive"),
        _ => !request.lists("connection", "close"),
    };
    let framing = request_framing(&request)?;
    let has_body = !matches!(framing, Framing::Length(0));
    let continue_due = match request.header("expect") {
        None => false,
        Some(expectation) if expectation.eq_ignore_ascii_case("100-continue") => {
            has_body && version_minor > 0
        }
        Some(_) => return Err(Reject::new(417, "the only expectation known here is 100-continue")),
    };
    Ok(Pending { request, framing, continue_due })
}

/// Whether the request line ends in an HTTP version, of whatever number.
fn names_http(head: &[u8]) -> bool {
    let line = head.split(|b| *b == b'\r').next().unwrap_or_default();
    let version = line.rsplit(|b| *b == b' ').next().unwrap_or_default();
    version.strip_prefix(b"HTTP/").is_some_and(|number| number.first().is_some_and(u8::is_ascii_digit))
}

/// Splits the target. The absolute form names the host itself, and then counts more than `Host`
/// (RFC 9112 section 3.2.2), so that host takes the header's place.
fn set_target(request: &mut Request, target: &str) -> Result<(), Reject> {
    let scheme_end = match target.get(..8) {
        Some(start) if start.eq_ignore_ascii_case("https://") => Some(8),
        Some(start) if start[..7].eq_ignore_ascii_case("http://") => Some(7),
        _ => None,
    };
    let local = match scheme_end {
        None => target,
        Some(scheme_end) => {
            let rest = &target[scheme_end..];
            let (host, local) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("host"));
            request.headers.push(("Host".to_owned(), host.to_owned()));
            local
        }
    };
    let (path, query_raw) = local.split_once('?').unwrap_or((local, ""));
    let path = if path.is_empty() && scheme_end.is_some() { "/" } else { path };
    if !path.starts_with('/') && path != "*" {
        return Err(Reject::new(400, "the request target must be a path"));
    }
    request.path = path.to_owned();
    request.query_raw = query_raw.to_owned();
    Ok(())
}

fn request_framing(request: &Request) -> Result<Framing, Reject> {
    let lengths: Vec<&str> = request.headers_named("content-length").collect();
    let codings: Vec<&str> = request.headers_named("transfer-encoding").collect();
    match (lengths.as_slice(), codings.as_slice()) {
        ([], []) => Ok(Framing::Length(0)),
        ([length], []) => {
            let length = parse_length(length)?;
            match usize::try_from(length) {
                Ok(length) if length <= BODY_BYTES_MAX => Ok(Framing::Length(length)),
                _ => Err(body_too_large(BODY_BYTES_MAX)),
            }
        }
        ([], [coding]) if request.version_minor > 0 => {
            if coding.eq_ignore_ascii_case("chunked") {
                Ok(Framing::Chunked(Chunks::default()))
            } else if coding.split(',').all(|item| item.trim().eq_ignore_ascii_case("chunked")) {
                Err(Reject::new(400, "a body must be chunked once"))
            } else {
                Err(Reject::new(501, "the only transfer coding known here is chunked"))
            }
        }
        _ => Err(Reject::new(400, "a body must have one length: Content-Length or Transfer-Encoding, once")),
    }
}

fn body_too_large(bytes_max: usize) -> Reject {
    Reject::new(413, format!("a body must be at most {bytes_max} bytes"))
}

/// Digits and nothing else; a number beyond 64 bits is the largest one.
fn parse_length(text: &str) -> Result<u64, Reject> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Reject::new(400, "Content-Length must be a whole number"));
    }
    Ok(text.parse().unwrap_or(u64::MAX))
}

impl Framing {
    /// Moves what belongs to the body from the front of `bytes`; true when the body is complete.
    fn take(&mut self, bytes: &mut &[u8], body: &mut Vec<u8>, bytes_max: usize) -> Result<bool, Reject> {
        match self {
            Framing::Length(left) => {
                take_some(left, bytes, body);
                Ok(*left == 0)
            }
            Framing::Chunked(chunks) => chunks.take(bytes, body, bytes_max),
            Framing::UntilEof => {
                if body.len() + bytes.len() > bytes_max {
                    return Err(body_too_large(bytes_max));
                }
                body.extend_from_slice(bytes);
                *bytes = &[];
                Ok(false)
            }
        }
    }
}

fn take_some(left: &mut usize, bytes: &mut &[u8], body: &mut Vec<u8>) {
    let (taken, rest) = bytes.split_at(bytes.len().min(*left));
    body.extend_from_slice(taken);
    *left -= taken.len();
    *bytes = rest;
}

/// A half-read chunked body (RFC 9112 section 7.1). Extensions and trailers are read and dropped.
#[derive(Debug, Default)]
struct Chunks {
    part: ChunkPart,
    /// The line under way.
    line: Vec<u8>,
    trailer_bytes: usize,
}

#[derive(Debug, Default)]
enum ChunkPart {
    #[default]
    Size,
    Data(usize),
    DataEnd,
    Trailers,
}

impl Chunks {
    fn take(&mut self, bytes: &mut &[u8], body: &mut Vec<u8>, bytes_max: usize) -> Result<bool, Reject> {
        loop {
            match &mut self.part {
                ChunkPart::Size => {
                    if !take_line(&mut self.line, bytes, CHUNK_LINE_BYTES_MAX)? {
                        return Ok(false);
                    }
                    let size = parse_chunk_line(&self.line)?;
                    self.line.clear();
                    let fits = usize::try_from(size).ok().filter(|size| *size <= bytes_max - body.len());
                    self.part = match fits.ok_or_else(|| body_too_large(bytes_max))? {
                        0 => ChunkPart::Trailers,
                        size => ChunkPart::Data(size),
                    };
                }
                ChunkPart::Data(left) => {
                    take_some(left, bytes, body);
                    if *left > 0 {
                        return Ok(false);
                    }
                    self.part = ChunkPart::DataEnd;
                }
                ChunkPart::DataEnd => {
                    if !take_line(&mut self.line, bytes, 2)? {
                        return Ok(false);
                    }
                    if self.line != b"\r\n" {
                        return Err(Reject::new(400, "a chunk is longer than its size"));
                    }
                    self.line.clear();
                    self.part = ChunkPart::Size;
                }
                ChunkPart::Trailers => {
                    if !take_line(&mut self.line, bytes, HEAD_BYTES_MAX - self.trailer_bytes)? {
                        return Ok(false);
                    }
                    self.trailer_bytes += self.line.len();
                    if self.line == b"\r\n" {
                        return Ok(true);
                    }
                    self.line.clear();
                }
            }
        }
    }
}

/// Moves bytes into `line` until it ends in CR LF; false when they ran out first.
fn take_line(line: &mut Vec<u8>, bytes: &mut &[u8], bytes_max: usize) -> Result<bool, Reject> {
    let found = memchr(b'\n', bytes);
    let (taken, rest) = bytes.split_at(found.map_or(bytes.len(), |at| at + 1));
    if line.len() + taken.len() > bytes_max {
        return Err(Reject::new(400, "a line of the chunked body is too long"));
    }
    line.extend_from_slice(taken);
    *bytes = rest;
    if found.is_none() {
        return Ok(false);
    }
    // A lone CR or LF would end a line for some parsers and not for others.
    if memchr(b'\r', line) == Some(line.len().wrapping_sub(2)) {
        Ok(true)
    } else {
        Err(Reject::new(400, "lines of a chunked body must end in CR LF"))
    }
}

fn parse_chunk_line(line: &[u8]) -> Result<u64, Reject> {
    match httparse::parse_chunk_size(line) {
        // httparse reads a line without digits as size 0.
        Ok(Status::Complete((_, size))) if line.first().is_some_and(u8::is_ascii_hexdigit) => Ok(size),
        _ => Err(Reject::new(400, "malformed chunk size")),
    }
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// Percent-decodes, a broken escape standing for itself; tells whether one was broken.
fn percent_decode(text: &str) -> (Vec<u8>, bool) {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut broken = false;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits =
            (bytes.get(at + 1).copied().and_then(hex_digit), bytes.get(at + 2).copied().and_then(hex_digit));
        match (byte, digits) {
            (b'%', (Some(high), Some(low))) => {
                decoded.push(high << 4 | low);
                at += 3;
            }
            _ => {
                broken |= byte == b'%';
                decoded.push(byte);
                at += 1;
            }
        }
    }
    (decoded, broken)
}

fn segment_decode(segment: &str) -> Result<String, Reject> {
    let malformed = || Reject::new(400, "the path is not well percent-encoded");
    let (bytes, broken) = percent_decode(segment);
    if broken || bytes.contains(&0) {
        return Err(malformed());
    }
    String::from_utf8(bytes).map_err(|_| malformed())
}

fn query_decode(text: &str) -> String {
    let (bytes, _) = percent_decode(&text.replace('+', " "));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An answer, before it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// `Content-Type`; not sent when empty.
    pub content_type: &'static str,
    /// The body.
    pub body: Cow<'static, [u8]>,
    /// Further headers. Those that [`put_response`] always writes are replaced by one given here.
    pub headers: Vec<(&'static str, String)>,
}

impl Response {
    /// Any bytes.
    pub fn bytes(status: u16, content_type: &'static str, body: impl Into<Cow<'static, [u8]>>) -> Response {
        Response { status, content_type, body: body.into(), headers: Vec::new() }
    }

    /// A JSON value.
    pub fn json(status: u16, value: &Value) -> Response {
        Response::bytes(status, "application/json", value.to_string().into_bytes())
    }

    /// No body (204).
    pub fn empty(status: u16) -> Response {
        Response::bytes(status, "", &[][..])
    }

    /// `{"error": "..."}`, with the headers that the status asks for.
    pub fn error(reject: &Reject) -> Response {
        let mut response = Response::json(reject.status, &json!({ "error": reject.message }));
        if let Some(allow) = reject.allow {
            response.headers.push(("Allow", allow.to_owned()));
        }
        if let Some(seconds) = reject.retry_after {
            response.headers.push(("Retry-After", seconds.to_string()));
        }
        match reject.status {
            401 => response.headers.push(("WWW-Authenticate", "Bearer realm=\"wharf\"".to_owned())),
            426 => {
                response.headers.push(("Upgrade", "websocket".to_owned()));
                response.headers.push(("Sec-WebSocket-Version", "13".to_owned()));
            }
            _ => {}
        }
        response
    }
}

const CSP: &str = "Content-Security-Policy";
const NO_CONTENT_ALLOWED: &str = "default-src 'none'; frame-ancestors 'none'";

/// Writes a whole response. `head_only` answers HEAD: the length is told, the body is not sent.
pub fn put_response(response: &Response, head_only: bool, keep_alive: bool, out: &mut Vec<u8>) {
    put_status_line(response.status, out);
    if !response.content_type.is_empty() {
        put_header("Content-Type", response.content_type, out);
    }
    // These two never have a body, and a length would be one (RFC 9110 section 8.6).
    let bodyless = matches!(response.status, 204 | 304);
    if !bodyless {
        put_header("Content-Length", &response.body.len().to_string(), out);
    }
    let brings = |name: &str| response.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    put_header(
        "Connection",
        match (brings("Upgrade"), keep_alive) {
            (false, true) => "keep-alive",
            (false, false) => "close",
            (true, true) => "keep-alive, upgrade",
            (true, false) => "close, upgrade",
        },
        out,
    );
    put_guards(brings, out);
    for (name, value) in &response.headers {
        put_header(name, value, out);
    }
    out.extend_from_slice(b"\r\n");
    if !head_only && !bodyless {
        out.extend_from_slice(&response.body);
    }
}

/// Writes the head of an answer without end, such as Server-Sent Events. It ends with the connection.
pub fn put_stream_head(content_type: &str, out: &mut Vec<u8>) {
    put_status_line(200, out);
    put_header("Content-Type", content_type, out);
    put_header("Connection", "close", out);
    // Proxies that collect answers before passing them on would hold events back for ever.
    put_header("X-Accel-Buffering", "no", out);
    put_guards(|_| false, out);
    out.extend_from_slice(b"\r\n");
}

/// Writes the 101 that turns the connection into a websocket; see [`super::websocket::accept_key`].
pub fn put_upgrade(accept_key: &str, out: &mut Vec<u8>) {
    put_status_line(101, out);
    put_header("Upgrade", "websocket", out);
    put_header("Connection", "Upgrade", out);
    put_header("Sec-WebSocket-Accept", accept_key, out);
    out.extend_from_slice(b"\r\n");
}

/// Writes the interim answer that [`RequestReader::wants_continue`] asks for.
pub fn put_continue(out: &mut Vec<u8>) {
    put_status_line(100, out);
    out.extend_from_slice(b"\r\n");
}

/// What keeps answers out of other sites' pages, frames, caches and referrers.
fn put_guards(brings: impl Fn(&str) -> bool, out: &mut Vec<u8>) {
    put_header("X-Content-Type-Options", "nosniff", out);
    put_header("Referrer-Policy", "no-referrer", out);
    put_header("Cross-Origin-Resource-Policy", "same-origin", out);
    if !brings(CSP) {
        put_header(CSP, NO_CONTENT_ALLOWED, out);
    }
    if !brings("Cache-Control") {
        put_header("Cache-Control", "no-store", out);
    }
}

fn put_status_line(status: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("HTTP/1.1 {status} {}\r\n", reason(status)).as_bytes());
}

/// Control characters become spaces: a value must not end its line and begin another header.
fn put_header(name: &str, value: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend(value.bytes().map(|byte| if byte.is_ascii_control() { b' ' } else { byte }));
    out.extend_from_slice(b"\r\n");
}

fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Unknown",
    }
}

/// Writes a request, for the client verbs. `target` is the path with its query, already encoded.
pub fn put_request(
    method: &str,
    target: &str,
    host: &str,
    headers: &[(&str, &str)],
    body: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(format!("{method} {target} HTTP/1.1\r\n").as_bytes());
    put_header("Host", host, out);
    for (name, value) in headers {
        put_header(name, value, out);
    }
    if let Some(body) = body {
        put_header("Content-Length", &body.len().to_string(), out);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body.unwrap_or_default());
}

/// A whole response, as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientResponse {
    /// The HTTP status; never an interim one but 101.
    pub status: u16,
    /// Names as sent and values, in order.
    pub headers: Vec<(String, String)>,
    /// The body, transfer coding removed.
    pub body: Vec<u8>,
}

impl ClientResponse {
    /// The first header of that name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// Reads responses to requests other than HEAD out of bytes as they arrive.
#[derive(Debug, Default)]
pub struct ResponseReader {
    scanned: usize,
    pending: Option<(ClientResponse, Framing)>,
}

impl ResponseReader {
    /// A reader at the start of a connection.
    pub fn new() -> ResponseReader {
        ResponseReader::default()
    }

    /// The next whole response, or `None` when more bytes are needed. `eof` says that no more will come.
    /// After a 101, what follows it in `input` belongs to the new protocol and stays there.
    ///
    /// # Errors
    /// In words, when this is no HTTP response, it is cut off, or it exceeds [`RESPONSE_BYTES_MAX`].
    pub fn next(&mut self, input: &mut Vec<u8>, eof: bool) -> Result<Option<ClientResponse>, String> {
        let cut = || "the connection ended before the response was complete".to_owned();
        let (mut response, mut framing) = loop {
            if let Some(pending) = self.pending.take() {
                break pending;
            }
            let end = head_end(input, &mut self.scanned, RESPONSE_HEAD_BYTES_MAX).map_err(|r| r.message)?;
            let Some(end) = end else {
                return if eof { Err(cut()) } else { Ok(None) };
            };
            let parsed = parse_response_head(&input[..end]);
            input.drain(..end);
            self.scanned = 0;
            let (response, framing) = parsed?;
            if response.status == 101 || response.status >= 200 {
                self.pending = Some((response, framing));
            }
        };
        let mut rest = input.as_slice();
        let complete =
            framing.take(&mut rest, &mut response.body, RESPONSE_BYTES_MAX).map_err(|r| r.message)?;
        let taken = input.len() - rest.len();
        input.drain(..taken);
        if complete || eof && matches!(framing, Framing::UntilEof) {
            return Ok(Some(response));
        }
        self.pending = Some((response, framing));
        if eof { Err(cut()) } else { Ok(None) }
    }
}

fn parse_response_head(head: &[u8]) -> Result<(ClientResponse, Framing), String> {
    let mut slots = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Response::new(&mut slots);
    match parsed.parse(head) {
        Ok(Status::Complete(length)) if length == head.len() => {}
        Ok(_) => return Err("malformed response head".to_owned()),
        Err(error) => return Err(format!("malformed response head: {error}")),
    }
    let headers = parsed
        .headers
        .iter()
        .map(|header| (header.name.to_owned(), String::from_utf8_lossy(header.value).into_owned()));
    let status = parsed.code.unwrap_or_default();
    let response = ClientResponse { status, headers: headers.collect(), body: Vec::new() };
    let framing = match (status, response.header("transfer-encoding"), response.header("content-length")) {
        (100..200 | 204 | 304, _, _) => Framing::Length(0),
        (_, Some(coding), None) if list_has(coding, "chunked") => Framing::Chunked(Chunks::default()),
        (_, None, Some(length)) => match usize::try_from(parse_length(length).map_err(|r| r.message)?) {
            Ok(length) if length <= RESPONSE_BYTES_MAX => Framing::Length(length),
            _ => return Err(body_too_large(RESPONSE_BYTES_MAX).message),
        },
        (_, None, None) => Framing::UntilEof,
        (_, Some(_), _) => return Err("the response's body has no clear length".to_owned()),
    };
    Ok((response, framing))
}
