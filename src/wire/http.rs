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
    BLANK_LINES_MAX, BODY_BYTES_MAX, CHUNK_LINE_BYTES_MAX, HEAD_BYTES_MAX, HEADERS_MAX, PANEL_BODY_BYTES_MAX,
    RESPONSE_BYTES_MAX, RESPONSE_HEAD_BYTES_MAX,
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
    /// 400 malformed, 413 body over [`BODY_BYTES_MAX`] (a panel: [`PANEL_BODY_BYTES_MAX`]), 417 unknown expectation, 431 head over
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
        let bytes_max = body_bytes_max(&pending.request);
        let complete = pending.framing.take(&mut rest, &mut pending.request.body, bytes_max)?;
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

    /// The request whose body is still arriving: whoever may not ask need not be listened to.
    pub fn begun(&self) -> Option<&Request> {
        self.pending.as_ref().map(|pending| &pending.request)
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

/// Panels hold pictures; everything else is a few fields.
fn body_bytes_max(request: &Request) -> usize {
    let is_panel = request.path.contains("/v1/surfaces/") && request.path.contains("/panels/");
    if is_panel { PANEL_BODY_BYTES_MAX } else { BODY_BYTES_MAX }
}

fn request_framing(request: &Request) -> Result<Framing, Reject> {
    let lengths: Vec<&str> = request.headers_named("content-length").collect();
    let codings: Vec<&str> = request.headers_named("transfer-encoding").collect();
    match (lengths.as_slice(), codings.as_slice()) {
        ([], []) => Ok(Framing::Length(0)),
        ([length], []) => {
            let length = parse_length(length)?;
            let bytes_max = body_bytes_max(request);
            match usize::try_from(length) {
                Ok(length) if length <= bytes_max => Ok(Framing::Length(length)),
                _ => Err(body_too_large(bytes_max)),
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
        507 => "Insufficient Storage",
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Feeds the bytes in pieces of that size and tells all requests, or the status that ended them, and what
    /// was left unread.
    fn read(bytes: &[u8], piece: usize) -> (Vec<Request>, Option<u16>, Vec<u8>) {
        let (mut reader, mut input, mut requests) = (RequestReader::new(), Vec::new(), Vec::new());
        for piece in bytes.chunks(piece) {
            input.extend_from_slice(piece);
            loop {
                match reader.next(&mut input) {
                    Ok(Some(request)) => requests.push(request),
                    Ok(None) => break,
                    Err(reject) => return (requests, Some(reject.status), Vec::new()),
                }
            }
        }
        (requests, None, input)
    }

    fn one(text: &str) -> Request {
        let (mut requests, error, rest) = read(text.as_bytes(), usize::MAX);
        assert_eq!((requests.len(), error, rest.len()), (1, None, 0), "{text:?}");
        requests.remove(0)
    }

    fn refused(text: &str) -> u16 {
        let (requests, error, _) = read(text.as_bytes(), usize::MAX);
        assert_eq!(requests, [], "{text:?}");
        error.unwrap_or_else(|| panic!("{text:?} is still awaited"))
    }

    /// A GET with this head after `Host`.
    fn get(head: &str) -> String {
        format!("GET / HTTP/1.1\r\nHost: h\r\n{head}\r\n")
    }

    #[test]
    fn a_request_is_read_whole() {
        let request = one("POST /v1/terminals?a=1&b HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
        assert_eq!((request.method, request.method_name.as_str()), (Method::Post, "POST"));
        assert_eq!((request.path.as_str(), request.query_raw.as_str()), ("/v1/terminals", "a=1&b"));
        assert_eq!((request.header("HOST"), request.header("accept")), (Some("h"), None));
        assert_eq!((request.body.as_slice(), request.version_minor), (&b"hello"[..], 1));
        assert!(request.keep_alive);
    }

    #[test]
    fn methods_are_known_by_their_exact_names() {
        assert_eq!(one("DELETE / HTTP/1.1\r\n\r\n").method, Method::Delete);
        assert_eq!(one("OPTIONS * HTTP/1.1\r\n\r\n").method, Method::Options);
        let request = one("get / HTTP/1.1\r\n\r\n");
        assert_eq!((request.method, request.method_name.as_str()), (Method::Other, "get"));
    }

    #[test]
    fn http_1_1_is_kept_alive_and_1_0_is_not_unless_told_otherwise() {
        assert!(one("GET / HTTP/1.1\r\n\r\n").keep_alive);
        assert!(!one("GET / HTTP/1.1\r\nConnection: foo, Close\r\n\r\n").keep_alive);
        assert!(!one("GET / HTTP/1.0\r\n\r\n").keep_alive);
        assert!(one("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keep_alive);
    }

    #[test]
    fn pipelined_requests_come_one_by_one_and_the_rest_stays() {
        let (requests, error, rest) =
            read(b"GET /a HTTP/1.1\r\n\r\nPUT /b HTTP/1.1\r\nContent-Length: 2\r\n\r\nokGET /c", usize::MAX);
        assert_eq!(requests.iter().map(|r| r.path.as_str()).collect::<Vec<_>>(), ["/a", "/b"]);
        assert_eq!((error, rest.as_slice()), (None, &b"GET /c"[..]));
    }

    #[test]
    fn the_bytes_after_an_upgrade_stay_for_the_websocket() {
        let (requests, _, rest) =
            read(b"GET /s HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x80", usize::MAX);
        // The next request would start with 0x81: the server stops asking for requests after an upgrade.
        assert!(requests[0].is_upgrade());
        assert!(rest.is_empty());
        let (mut reader, mut input) = (RequestReader::new(), b"GET /s HTTP/1.1\r\n\r\n\x81\x80".to_vec());
        assert!(reader.next(&mut input).unwrap().is_some());
        assert_eq!(input, b"\x81\x80");
    }

    #[test]
    fn a_few_blank_lines_before_a_request_are_tolerated() {
        assert_eq!(one("\r\n\r\nGET / HTTP/1.1\r\n\r\n").path, "/");
        assert_eq!(refused("\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(refused("\nGET / HTTP/1.1\r\n\r\n"), 400);
    }

    #[test]
    fn noise_is_refused_at_its_first_byte() {
        assert_eq!(refused("\x16\x03\x01"), 400);
        assert_eq!(refused(" GET / HTTP/1.1"), 400);
    }

    #[test]
    fn chunked_bodies_lose_their_coding_extensions_and_trailers() {
        let request = one(
            "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n5;a=b\r\nhello\r\n0A \r\n, wharf...\r\n0\r\nX: y\r\n\r\n",
        );
        assert_eq!(request.body, b"hello, wharf...");
        assert_eq!(request.header("x"), None);
    }

    #[test]
    fn malformed_chunks_are_refused() {
        let chunked =
            |body: &str| refused(&format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{body}"));
        for body in [
            "5\r\nhelloX\r\n",
            "5\nhello",
            "\r\n",
            "-1\r\n",
            "0x5\r\n",
            "5;\n\r\n",
            "5\rX\r\n",
            "g\r\n",
            " 5\r\n",
            "11111111111111111\r\n",
            "0\r\nX: y\n",
        ] {
            assert_eq!(chunked(body), 400, "{body:?}");
        }
        assert_eq!(chunked(&format!("5;{}\r\n", "x".repeat(CHUNK_LINE_BYTES_MAX))), 400);
        assert_eq!(chunked(&format!("5;{}", "x".repeat(CHUNK_LINE_BYTES_MAX))), 400);
        assert_eq!(chunked(&format!("0\r\n{}", "X: y\r\n".repeat(HEAD_BYTES_MAX / 6 + 1))), 400);
        assert_eq!(chunked("100001\r\n"), 413);
        assert_eq!(chunked("ffffffffffffffff\r\n"), 413);
        assert_eq!(chunked(&format!("{:x}\r\n{}\r\n1\r\n", BODY_BYTES_MAX, "x".repeat(BODY_BYTES_MAX))), 413);
    }

    #[test]
    fn a_body_with_two_lengths_is_refused_since_a_proxy_may_see_the_other_one() {
        for head in [
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            "Content-Length: 5\r\nContent-Length: 5\r\n",
            "Content-Length: 5\r\ncontent-length: 6\r\n",
            "Content-Length: 5, 5\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked, chunked\r\n",
        ] {
            assert_eq!(refused(&get(head)), 400, "{head:?}");
        }
        assert_eq!(refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
    }

    #[test]
    fn a_length_is_digits_and_nothing_else() {
        for length in ["", "+5", "-5", "5 5", "0x5", "5.0", "1e1", "\u{a0}5", "٥"] {
            assert_eq!(refused(&get(&format!("Content-Length: {length}\r\n"))), 400, "{length:?}");
        }
        assert_eq!(one(&get("Content-Length: 000\r\n")).body, b"");
        assert_eq!(refused(&get(&format!("Content-Length: {}\r\n", BODY_BYTES_MAX + 1))), 413);
        assert_eq!(refused(&get("Content-Length: 99999999999999999999999999\r\n")), 413);
    }

    #[test]
    fn transfer_codings_other_than_chunked_are_not_implemented() {
        for coding in ["gzip", "gzip, chunked", "identity", "xchunked", ""] {
            assert_eq!(refused(&get(&format!("Transfer-Encoding: {coding}\r\n"))), 501, "{coding:?}");
        }
    }

    #[test]
    fn header_lines_are_not_folded_and_names_are_tokens() {
        for head in [
            "A: b\r\n c\r\n",
            "A: b\r\n\tc\r\n",
            "Content-Length : 5\r\n",
            " A: b\r\n",
            ": b\r\n",
            "A\r\n",
            "A: b\nContent-Length: 5\r\n",
            "A: b\rC: d\r\n",
            "A: \0\r\n",
            "A b: c\r\n",
        ] {
            assert_eq!(refused(&get(head)), 400, "{head:?}");
        }
    }

    #[test]
    fn other_versions_are_told_apart_from_noise() {
        assert_eq!(refused("PRI * HTTP/2.0\r\n\r\n"), 505);
        assert_eq!(refused("GET / HTTP/3.0\r\n\r\n"), 505);
        assert_eq!(refused("GET / HTTX/1.1\r\n\r\n"), 400);
        assert_eq!(refused("GET /\r\n\r\n"), 400);
        assert_eq!(refused("GET  / HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(refused("GET x HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(refused("CONNECT h:1 HTTP/1.1\r\n\r\n"), 400);
    }

    #[test]
    fn heads_are_bounded_in_bytes_and_in_lines() {
        assert_eq!(refused(&get(&format!("A: {}\r\n", "x".repeat(HEAD_BYTES_MAX)))), 431);
        // Without any line end too.
        assert_eq!(refused(&"G".repeat(HEAD_BYTES_MAX + 1)), 431);
        let most = get(&"A: b\r\n".repeat(HEADERS_MAX - 1));
        assert_eq!(one(&most).headers.len(), HEADERS_MAX);
        assert_eq!(refused(&get(&"A: b\r\n".repeat(HEADERS_MAX))), 431);
        let fill = HEAD_BYTES_MAX - get("A: \r\n").len();
        assert_eq!(one(&get(&format!("A: {}\r\n", "x".repeat(fill)))).path, "/");
        assert_eq!(refused(&get(&format!("A: {}\r\n", "x".repeat(fill + 1)))), 431);
    }

    #[test]
    fn an_absolute_target_brings_its_own_host() {
        let request = one("GET http://real:80/p?q HTTP/1.1\r\nHost: fake\r\n\r\n");
        assert_eq!((request.path.as_str(), request.query_raw.as_str()), ("/p", "q"));
        assert_eq!(request.headers_named("host").collect::<Vec<_>>(), ["real:80"]);
        let request = one("GET HTTPS://real?q HTTP/1.1\r\n\r\n");
        assert_eq!((request.path.as_str(), request.header("host")), ("/", Some("real")));
        assert_eq!(one("GET //evil.com/ HTTP/1.1\r\n\r\n").path, "//evil.com/");
    }

    #[test]
    fn a_peer_that_waits_is_told_to_continue_once() {
        let (mut reader, mut input) = (RequestReader::new(), Vec::new());
        input.extend_from_slice(b"PUT / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-Continue\r\n\r\n");
        assert_eq!(reader.next(&mut input), Ok(None));
        assert_eq!((reader.wants_continue(), reader.wants_continue()), (true, false));
        input.extend_from_slice(b"ok");
        assert_eq!(reader.next(&mut input).unwrap().unwrap().body, b"ok");
    }

    #[test]
    fn a_peer_that_does_not_wait_is_not_told_to_continue() {
        let (mut reader, mut input) = (RequestReader::new(), Vec::new());
        input.extend_from_slice(b"PUT / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\no");
        assert_eq!(reader.next(&mut input), Ok(None));
        assert!(!reader.wants_continue());
        assert_eq!(refused(&get("Expect: more\r\n")), 417);
        assert_eq!(one(&get("Expect: 100-continue\r\n")).body, b"");
    }

    #[test]
    fn the_stage_follows_the_message() {
        let (mut reader, mut input, mut stages) = (RequestReader::new(), Vec::new(), Vec::new());
        for piece in ["", "\r\n", "G", "ET / HTTP/1.1\r\nContent-Length: 1\r\n\r\n", "x"] {
            input.extend_from_slice(piece.as_bytes());
            reader.next(&mut input).unwrap();
            stages.push(reader.stage());
        }
        assert_eq!(stages, [Stage::Idle, Stage::Idle, Stage::Head, Stage::Body, Stage::Idle]);
    }

    #[test]
    fn segments_are_decoded_one_by_one() {
        let segments = |path: &str| one(&format!("GET {path} HTTP/1.1\r\n\r\n")).segments();
        assert_eq!(segments("/v1/a%2Fb/%E2%82%ac+%20"), Ok(vec!["v1".into(), "a/b".into(), "€+ ".into()]));
        assert_eq!(segments("/"), Ok(vec![String::new()]));
        assert_eq!(segments("/a//b/"), Ok(vec!["a".into(), "".into(), "b".into(), "".into()]));
        assert_eq!(segments("/%2e%2e/%252e"), Ok(vec!["..".into(), "%2e".into()]));
        for path in ["/%", "/%2", "/%zz", "/%+1", "/%00", "/%ff", "/%ed%a0%80", "/a/%c3/%a9"] {
            assert_eq!(segments(path).map_err(|reject| reject.status), Err(400), "{path}");
        }
        assert_eq!(segments(&format!("/{}", "/".repeat(10_000))).unwrap().len(), 10_001);
    }

    #[test]
    fn query_parameters_are_decoded_and_the_first_counts() {
        let request = one("GET /?a=1&a=2&b+c=d%26e+f&g&=x&h=%zz%ff HTTP/1.1\r\n\r\n");
        let query = |name: &str| request.query(name);
        assert_eq!(query("a").as_deref(), Some("1"));
        assert_eq!(query("b c").as_deref(), Some("d&e f"));
        assert_eq!((query("g").as_deref(), query("x")), (Some(""), None));
        assert_eq!(query("h").as_deref(), Some("%zz\u{fffd}"));
    }

    const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

    fn upgrade(headers: &str) -> Result<String, u16> {
        let request = one(&get(headers));
        request.websocket_key().map_err(|reject| reject.status)
    }

    #[test]
    fn a_websocket_handshake_has_a_key_and_version_13() {
        let rest = format!("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n");
        let good = format!("Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n{rest}");
        assert_eq!(upgrade(&good), Ok(KEY.to_owned()));
        assert_eq!(upgrade(""), Err(426));
        assert_eq!(upgrade(&format!("Connection: close\r\nUpgrade: websocket\r\n{rest}")), Err(426));
        assert_eq!(upgrade(&format!("Connection: Upgrade\r\nUpgrade: h2c\r\n{rest}")), Err(426));
        assert_eq!(upgrade(&good.replace("13", "8")), Err(426));
        assert_eq!(upgrade(&good.replace(KEY, "")), Err(400));
        assert_eq!(upgrade(&good.replace(KEY, "dGhlIHNhbXBsZSBub25jZQ=")), Err(400));
        assert_eq!(upgrade(&good.replace(KEY, "dGhlIHNhbXBsZSBub25jZ===")), Err(400));
        assert_eq!(upgrade(&format!("{good}Sec-WebSocket-Key: {KEY}\r\n")), Err(400));
        let post = format!("POST / HTTP/1.1\r\n{good}\r\n");
        assert_eq!(one(&post).websocket_key().map_err(|reject| reject.status), Err(426));
    }

    fn written(response: &Response, head_only: bool, keep_alive: bool) -> String {
        let mut out = Vec::new();
        put_response(response, head_only, keep_alive, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_answer_carries_its_length_and_the_guards() {
        let text = written(&Response::error(&Reject::new(404, "no \"such\" terminal")), false, true);
        assert_eq!(
            text,
            "HTTP/1.1 404 Not Found\r\n\
             Content-Type: application/json\r\n\
             Content-Length: 32\r\n\
             Connection: keep-alive\r\n\
             X-Content-Type-Options: nosniff\r\n\
             Referrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\n\
             Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n\
             Cache-Control: no-store\r\n\
             \r\n\
             {\"error\":\"no \\\"such\\\" terminal\"}"
        );
    }

    #[test]
    fn an_answer_may_bring_its_own_policy_and_caching() {
        let mut response = Response::bytes(200, "text/html", &b"<p>"[..]);
        response.headers.push(("content-security-policy", "default-src 'self'".to_owned()));
        response.headers.push(("Cache-Control", "max-age=60".to_owned()));
        let text = written(&response, false, false);
        assert!(!text.contains("no-store") && !text.contains("default-src 'none'"), "{text}");
        assert!(text.contains("default-src 'self'") && text.contains("max-age=60"), "{text}");
        assert!(text.contains("Connection: close\r\n"), "{text}");
    }

    #[test]
    fn head_gets_the_length_without_the_body_and_204_gets_neither() {
        let text = written(&Response::bytes(200, "text/plain", &b"four"[..]), true, true);
        assert!(text.contains("Content-Length: 4\r\n") && text.ends_with("\r\n\r\n"), "{text}");
        let text = written(&Response::empty(204), false, true);
        assert!(!text.contains("Content-Length:") && !text.contains("Content-Type:"), "{text}");
        assert!(text.ends_with("\r\n\r\n"), "{text}");
    }

    #[test]
    fn rejections_carry_the_headers_that_their_status_asks_for() {
        let text = |reject: &Reject| written(&Response::error(reject), false, false);
        let reject = Reject { allow: Some("GET, HEAD"), ..Reject::new(405, "x") };
        assert!(text(&reject).contains("\r\nAllow: GET, HEAD\r\n"));
        let reject = Reject { retry_after: Some(30), ..Reject::new(429, "x") };
        assert!(text(&reject).contains("\r\nRetry-After: 30\r\n"));
        let upgrade = text(&Reject::new(426, "x"));
        assert!(upgrade.contains("\r\nConnection: close, upgrade\r\n"), "{upgrade}");
        assert!(upgrade.contains("\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"), "{upgrade}");
        assert!(text(&Reject::new(401, "x")).contains("\r\nWWW-Authenticate: Bearer"));
    }

    #[test]
    fn a_header_value_cannot_begin_another_header() {
        let mut response = Response::empty(302);
        response.headers.push(("Location", "/a\r\nSet-Cookie: t=1\r\n\r\n<script>".to_owned()));
        let text = written(&response, false, true);
        assert!(text.contains("\r\nLocation: /a  Set-Cookie: t=1    <script>\r\n\r\n"), "{text}");
    }

    #[test]
    fn streams_and_upgrades_have_no_length() {
        let mut out = Vec::new();
        put_stream_head("text/event-stream", &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n")
        );
        assert!(!text.contains("Content-Length") && text.ends_with("\r\n\r\n"), "{text}");
        let mut out = Vec::new();
        put_upgrade("abc=", &mut out);
        put_continue(&mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: abc=\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
        );
    }

    /// Feeds a response in pieces of that size, then the end.
    fn response(bytes: &[u8], piece: usize) -> Result<(ClientResponse, Vec<u8>), String> {
        let (mut reader, mut input) = (ResponseReader::new(), Vec::new());
        for piece in bytes.chunks(piece) {
            input.extend_from_slice(piece);
            if let Some(response) = reader.next(&mut input, false)? {
                return Ok((response, input));
            }
        }
        reader.next(&mut input, true).map(|response| (response.unwrap(), input))
    }

    #[test]
    fn a_client_reads_what_the_server_writes() {
        let mut out = Vec::new();
        put_response(&Response::json(201, &json!({"a": "b"})), false, true, &mut out);
        for piece in [1, 7, usize::MAX] {
            let (response, rest) = response(&out, piece).unwrap();
            assert_eq!((response.status, response.body.as_slice()), (201, &br#"{"a":"b"}"#[..]));
            assert_eq!(response.header("content-type"), Some("application/json"));
            assert!(rest.is_empty());
        }
        let mut out = Vec::new();
        put_request("POST", "/v1/x?a=b", "h:1", &[("Accept", "*/*")], Some(b"{}"), &mut out);
        let request = one(std::str::from_utf8(&out).unwrap());
        assert_eq!((request.header("host"), request.body.as_slice()), (Some("h:1"), &b"{}"[..]));
    }

    #[test]
    fn a_response_ends_by_its_length_its_last_chunk_or_the_connections_end() {
        let body = |text: &str| response(text.as_bytes(), 1).map(|(response, _)| response.body);
        assert_eq!(
            body("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
            Ok(b"ok".to_vec())
        );
        assert_eq!(body("HTTP/1.0 200\r\n\r\nall of it"), Ok(b"all of it".to_vec()));
        assert_eq!(
            body("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
            Ok(b"ok".to_vec())
        );
        assert_eq!(body("HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n"), Ok(Vec::new()));
        assert!(body("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok").is_err());
        assert!(body("HTTP/1.1 200 OK\r\nContent-Le").is_err());
        assert!(body("SSH-2.0-OpenSSH\r\n\r\n").is_err());
        assert!(body("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n").is_err());
    }

    #[test]
    fn the_bytes_after_a_101_stay_for_the_websocket() {
        let (response, rest) =
            response(b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x00", usize::MAX).unwrap();
        assert_eq!((response.status, rest.as_slice()), (101, &b"\x81\x00"[..]));
    }

    fn request_bytes() -> impl Strategy<Value = Vec<u8>> {
        let parts = prop::sample::select(vec![
            "GET / HTTP/1.1\r\n",
            "POST /a%20b?c=d HTTP/1.1\r\n",
            "Host: h\r\n",
            "Content-Length: 5\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Expect: 100-continue\r\n",
            "\r\n",
            "hello",
            "5\r\nhello\r\n",
            "5;x\r\nhello\r\n",
            "0\r\n",
            "0\r\n\r\n",
            "\n",
            "\r",
            " ",
            ":",
            "\0",
            "GET /x HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        ]);
        prop::collection::vec(parts, 0..20).prop_map(|parts| parts.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn requests_do_not_depend_on_how_the_bytes_are_cut(bytes in request_bytes(), piece in 1usize..12) {
            prop_assert_eq!(read(&bytes, piece), read(&bytes, usize::MAX));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), piece in 1usize..50) {
            let mut whole = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            whole.extend_from_slice(&bytes);
            read(&whole, piece);
            read(&bytes, piece);
            let _ = response(&bytes, piece);
        }

        #[test]
        fn any_text_comes_back_out_of_an_encoded_segment(text in "[^\0]{1,20}") {
            let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
            let request = one(&format!("GET /{encoded}?q={encoded} HTTP/1.1\r\n\r\n"));
            prop_assert_eq!(request.segments(), Ok(vec![text.clone()]));
            prop_assert_eq!(request.query("q"), Some(text));
        }
    }
}
