#![doc = include_str!("web-mirror-protocol.md")]
//!
//! # This module
//!
//! Client frames as text to values; server frames as values to whole websocket frames in the caller's buffer.

use std::ops::Range;
use std::time::Instant;

use data_encoding::BASE64;
use serde_json::{Map, Value};

use super::json::{SEQ_MAX, parse_object, put_escaped, whole_number};
use super::websocket::put_text;
use crate::flow::Outbound;
use crate::limits::{
    CLIENT_ID_BYTES_MAX, MIRROR_COLS, MIRROR_ENCODED_BYTES_MAX, MIRROR_ENCODED_MAX, MIRROR_FRAME_BYTES_MAX,
    MIRROR_NONCE_BYTES_MAX, MIRROR_ROWS, MIRROR_STDIN_BYTES_MAX, NAME_BYTES_MAX, PATH_BYTES_MAX,
};
use crate::mirror::{Frames, Surface};
use crate::terminal::GridSize;

/// The version that `hello` tells.
pub const VERSION: u32 = 2;

/// CAN ends whatever sequence the client's emulator is in without acting on it, as ESC would (ECMA-48 8.2).
const CANCEL: u8 = 0x18;

/// A frame of a mirror client.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum FromMirror {
    /// Bytes for a surface's program. `claim` is false for a terminal's own reply to a query. With a number
    /// it is acknowledged, and a repeated one has no effect.
    Stdin { surface_id: String, bytes: Vec<u8>, claim: bool, number: Option<FrameNumber> },
    /// The client shows the surface on a grid of this size.
    Resize { surface_id: String, size: GridSize },
    /// The surface is being used.
    Focus { surface_id: String },
    /// The client no longer shows the surface.
    Hide { surface_id: String },
    /// Something was done with a panel; `event` has a `type`, a string.
    PanelInteract { surface_id: String, id: String, event: Map<String, Value> },
    /// New terminals of the workspace start in `cwd`, an absolute path; `None` unpins it.
    SelectCwd { workspace_id: String, cwd: Option<String> },
    /// To be answered by a pong with this nonce, a number or a string.
    Ping { nonce: Value },
    /// The session wants this surface's metadata (`follow`), or no longer (`cancel`).
    Metadata { surface_id: String, follow: bool },
}

/// What a client calls one of its frames, to send it again without doubling it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameNumber {
    /// Stable over the client's sessions.
    pub client_id: String,
    /// Grows with each frame of that client.
    pub client_seq: u64,
}

/// Why a frame had no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorError {
    /// For programs.
    pub code: &'static str,
    /// In words: the field and its rule.
    pub message: String,
}

impl MirrorError {
    /// An error with one of the codes of the protocol page.
    pub fn new(code: &'static str, message: impl Into<String>) -> MirrorError {
        MirrorError { code, message: message.into() }
    }

    fn field(message: impl Into<String>) -> MirrorError {
        MirrorError::new("bad-field", message)
    }
}

/// Parses one text frame of a mirror client. Unknown fields are ignored, and of two fields with one name the
/// last counts.
///
/// # Errors
/// For the client; the frame has no effect and the connection stays.
pub fn parse_mirror(text: &str) -> Result<FromMirror, MirrorError> {
    if text.len() > MIRROR_FRAME_BYTES_MAX {
        let message = format!("a frame must have at most {MIRROR_FRAME_BYTES_MAX} bytes");
        return Err(MirrorError::new("too-large", message));
    }
    let mut fields =
        parse_object(text.as_bytes()).map_err(|message| MirrorError::new("malformed", message))?;
    let Some(Value::String(kind)) = fields.remove("type") else {
        return Err(MirrorError::field("type must be a string"));
    };
    match kind.as_str() {
        "surfaceStdin" => Ok(FromMirror::Stdin {
            surface_id: name(&mut fields, "surfaceId")?,
            claim: claim(&fields)?,
            bytes: stdin(&fields)?,
            number: number(&mut fields)?,
        }),
        "surfaceResizeRequest" => {
            Ok(FromMirror::Resize { surface_id: name(&mut fields, "surfaceId")?, size: grid(&fields)? })
        }
        "surfaceFocus" => Ok(FromMirror::Focus { surface_id: name(&mut fields, "surfaceId")? }),
        "surfaceHide" => Ok(FromMirror::Hide { surface_id: name(&mut fields, "surfaceId")? }),
        "panelInteract" => Ok(FromMirror::PanelInteract {
            surface_id: name(&mut fields, "surfaceId")?,
            id: name(&mut fields, "id")?,
            event: event(&mut fields)?,
        }),
        "selectWorkspaceCwd" => Ok(FromMirror::SelectCwd {
            workspace_id: name(&mut fields, "workspaceId")?,
            cwd: cwd(&mut fields)?,
        }),
        "ping" => Ok(FromMirror::Ping { nonce: nonce(&mut fields)? }),
        "cancel" | "follow" => {
            let id = name(&mut fields, "id")?;
            match id.strip_prefix("metadata:") {
                Some(surface_id) if !surface_id.is_empty() => {
                    Ok(FromMirror::Metadata { surface_id: surface_id.to_owned(), follow: kind == "follow" })
                }
                _ => {
                    let message = format!("id {:?} is no stream; there is metadata:<surfaceId>", short(&id));
                    Err(MirrorError::new("unknown-stream", message))
                }
            }
        }
        unknown => Err(MirrorError::new("unknown-type", format!("unknown type {:?}", short(unknown)))),
    }
}

fn short(text: &str) -> String {
    text.chars().take(64).collect()
}

fn name(fields: &mut Map<String, Value>, field: &str) -> Result<String, MirrorError> {
    match fields.remove(field) {
        Some(Value::String(name)) if (1..=NAME_BYTES_MAX).contains(&name.len()) => Ok(name),
        _ => Err(MirrorError::field(format!("{field} must be a string of 1 to {NAME_BYTES_MAX} bytes"))),
    }
}

fn claim(fields: &Map<String, Value>) -> Result<bool, MirrorError> {
    match fields.get("claim") {
        None => Ok(true),
        Some(Value::Bool(claim)) => Ok(*claim),
        Some(_) => Err(MirrorError::field("claim must be true or false")),
    }
}

fn number(fields: &mut Map<String, Value>) -> Result<Option<FrameNumber>, MirrorError> {
    if !fields.contains_key("clientId") && !fields.contains_key("clientSeq") {
        return Ok(None);
    }
    let client_id = match fields.remove("clientId") {
        Some(Value::String(id)) if (1..=CLIENT_ID_BYTES_MAX).contains(&id.len()) => id,
        _ => {
            let rule = format!("a string of 1 to {CLIENT_ID_BYTES_MAX} bytes, and comes with clientSeq");
            return Err(MirrorError::field(format!("clientId must be {rule}")));
        }
    };
    let client_seq = fields.get("clientSeq").and_then(whole_number).filter(|seq| *seq <= SEQ_MAX);
    let client_seq =
        client_seq.ok_or_else(|| MirrorError::field("clientSeq must be a whole number from 0 to 2^53"))?;
    Ok(Some(FrameNumber { client_id, client_seq }))
}

fn stdin(fields: &Map<String, Value>) -> Result<Vec<u8>, MirrorError> {
    let Some(Value::String(text)) = fields.get("bytes") else {
        return Err(MirrorError::field("bytes must be a string of base64"));
    };
    let rule = "bytes must be base64 with padding (RFC 4648 section 4)";
    // The decoder takes pieces that are padded each and joined.
    if memchr::memchr(b'=', text.as_bytes()).is_some_and(|at| at + 2 < text.len()) {
        return Err(MirrorError::field(format!("{rule}, and padding ends it")));
    }
    let bytes =
        BASE64.decode(text.as_bytes()).map_err(|error| MirrorError::field(format!("{rule}: {error}")))?;
    if bytes.len() > MIRROR_STDIN_BYTES_MAX {
        let message = format!("bytes must be at most {MIRROR_STDIN_BYTES_MAX} when decoded");
        return Err(MirrorError::new("too-large", message));
    }
    Ok(bytes)
}

/// Clamped: a client that is a row high for a moment should not get an error.
fn grid(fields: &Map<String, Value>) -> Result<GridSize, MirrorError> {
    let side = |field: &str, (min, max): (u16, u16)| match fields.get(field).and_then(Value::as_f64) {
        Some(side) if side.is_finite() => Ok(side.clamp(f64::from(min), f64::from(max)) as u64),
        _ => Err(MirrorError::field(format!("{field} must be a number; it is clamped to {min} to {max}"))),
    };
    let (cols, rows) = (side("cols", MIRROR_COLS)?, side("rows", MIRROR_ROWS)?);
    GridSize::new(cols, rows).ok_or_else(|| MirrorError::field("cols and rows must be numbers"))
}

fn event(fields: &mut Map<String, Value>) -> Result<Map<String, Value>, MirrorError> {
    match fields.remove("event") {
        Some(Value::Object(event)) if event.get("type").is_some_and(Value::is_string) => Ok(event),
        _ => Err(MirrorError::field("event must be an object with a type, a string")),
    }
}

fn cwd(fields: &mut Map<String, Value>) -> Result<Option<String>, MirrorError> {
    match fields.remove("cwd") {
        Some(Value::Null) => Ok(None),
        Some(Value::String(cwd))
            if cwd.starts_with('/') && cwd.len() <= PATH_BYTES_MAX && !cwd.contains('\0') =>
        {
            Ok(Some(cwd))
        }
        _ => {
            let rule = format!("an absolute path of at most {PATH_BYTES_MAX} bytes without NUL, or null");
            Err(MirrorError::field(format!("cwd must be {rule}")))
        }
    }
}

fn nonce(fields: &mut Map<String, Value>) -> Result<Value, MirrorError> {
    match fields.remove("nonce") {
        Some(nonce @ Value::Number(_)) => Ok(nonce),
        Some(Value::String(nonce)) if nonce.len() <= MIRROR_NONCE_BYTES_MAX => Ok(Value::String(nonce)),
        _ => {
            let rule = format!("a number, or a string of at most {MIRROR_NONCE_BYTES_MAX} bytes");
            Err(MirrorError::field(format!("nonce must be {rule}")))
        }
    }
}

/// A frame of the server beside `hello` and `surfaceStdout`, which [`Writer`] writes. Fields that are named
/// after JSON hold JSON, rendered already; the others are plain text.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum ToMirror<'a> {
    SurfaceCreate {
        surface_json: &'a str,
    },
    SurfaceResize {
        surface_id: &'a str,
        size: GridSize,
    },
    SurfaceAttend {
        surface_id: &'a str,
        attended: bool,
    },
    SurfaceExit {
        surface_id: &'a str,
        exit_code: Option<i32>,
        signal: Option<i32>,
    },
    SurfaceClose {
        surface_id: &'a str,
    },
    SurfaceMetadata {
        surface_id: &'a str,
        metadata_json: &'a str,
    },
    PanelCreate {
        surface_id: &'a str,
        id: &'a str,
        panel_json: &'a str,
    },
    PanelUpdate {
        surface_id: &'a str,
        id: &'a str,
        panel_json: &'a str,
    },
    PanelClear {
        surface_id: &'a str,
        id: &'a str,
    },
    SidebarUpdate {
        sidebar_json: &'a str,
    },
    NotificationCreate {
        notification_json: &'a str,
    },
    /// The id as JSON: a number or a string.
    NotificationDismiss {
        id_json: &'a str,
    },
    SettingsSnapshot {
        settings_json: &'a str,
    },
    HtKeysSeen {
        keys_json: &'a str,
    },
    PlansSnapshot {
        plans_json: &'a str,
    },
    AutoContinueAudit {
        audit_json: &'a str,
    },
    WorkspacesUpdate {
        workspaces_json: &'a str,
    },
    /// A numbered `surfaceStdin` was taken.
    Ack {
        surface_id: &'a str,
        client_seq: u64,
    },
    /// `server_time_ms`: milliseconds since 1970.
    Pong {
        nonce: &'a Value,
        server_time_ms: u64,
    },
    Error {
        code: &'a str,
        message: &'a str,
    },
}

impl ToMirror<'_> {
    /// The frame but for its seq, as [`Frames::text`] takes it: without the front `{"type":"`.
    pub fn body(&self) -> Box<[u8]> {
        match *self {
            ToMirror::SurfaceCreate { surface_json } => {
                Body::new("surfaceCreate").json("surface", surface_json)
            }
            ToMirror::SurfaceResize { surface_id, size } => Body::new("surfaceResize")
                .text("surfaceId", surface_id)
                .json("cols", &size.cols().to_string())
                .json("rows", &size.rows().to_string()),
            ToMirror::SurfaceAttend { surface_id, attended } => Body::new("surfaceAttend")
                .text("surfaceId", surface_id)
                .json("attended", &attended.to_string()),
            ToMirror::SurfaceExit { surface_id, exit_code, signal } => {
                let body = Body::new("surfaceExit")
                    .text("surfaceId", surface_id)
                    .json("exitCode", &Value::from(exit_code).to_string());
                match signal {
                    Some(signal) => body.json("signal", &signal.to_string()),
                    None => body,
                }
            }
            ToMirror::SurfaceClose { surface_id } => Body::new("surfaceClose").text("surfaceId", surface_id),
            ToMirror::SurfaceMetadata { surface_id, metadata_json } => {
                Body::new("surfaceMetadata").text("surfaceId", surface_id).json("metadata", metadata_json)
            }
            ToMirror::PanelCreate { surface_id, id, panel_json } => Body::new("panelCreate")
                .text("surfaceId", surface_id)
                .text("id", id)
                .json("panel", panel_json),
            ToMirror::PanelUpdate { surface_id, id, panel_json } => Body::new("panelUpdate")
                .text("surfaceId", surface_id)
                .text("id", id)
                .json("panel", panel_json),
            ToMirror::PanelClear { surface_id, id } => {
                Body::new("panelClear").text("surfaceId", surface_id).text("id", id)
            }
            ToMirror::SidebarUpdate { sidebar_json } => {
                Body::new("sidebarUpdate").json("sidebar", sidebar_json)
            }
            ToMirror::NotificationCreate { notification_json } => {
                Body::new("notificationCreate").json("notification", notification_json)
            }
            ToMirror::NotificationDismiss { id_json } => Body::new("notificationDismiss").json("id", id_json),
            ToMirror::SettingsSnapshot { settings_json } => {
                Body::new("settingsSnapshot").json("settings", settings_json)
            }
            ToMirror::HtKeysSeen { keys_json } => Body::new("htKeysSeen").json("keys", keys_json),
            ToMirror::PlansSnapshot { plans_json } => Body::new("plansSnapshot").json("plans", plans_json),
            ToMirror::AutoContinueAudit { audit_json } => {
                Body::new("autoContinueAudit").json("audit", audit_json)
            }
            ToMirror::WorkspacesUpdate { workspaces_json } => {
                Body::new("workspacesUpdate").json("workspaces", workspaces_json)
            }
            ToMirror::Ack { surface_id, client_seq } => {
                Body::new("ack").text("surfaceId", surface_id).json("clientSeq", &client_seq.to_string())
            }
            ToMirror::Pong { nonce, server_time_ms } => Body::new("pong")
                .json("nonce", &nonce.to_string())
                .json("serverTime", &server_time_ms.to_string()),
            ToMirror::Error { code, message } => {
                Body::new("error").text("code", code).text("message", message)
            }
        }
        .end()
    }
}

struct Body(Vec<u8>);

impl Body {
    fn new(kind: &str) -> Body {
        let mut body = Vec::with_capacity(128);
        body.extend_from_slice(kind.as_bytes());
        body.push(b'"');
        Body(body)
    }

    fn json(mut self, field: &str, json: &str) -> Body {
        for part in [",\"", field, "\":", json] {
            self.0.extend_from_slice(part.as_bytes());
        }
        self
    }

    fn text(self, field: &str, text: &str) -> Body {
        let mut body = self.json(field, "\"");
        put_escaped(text.as_bytes(), &mut body.0);
        body.0.push(b'"');
        body
    }

    fn end(mut self) -> Box<[u8]> {
        self.0.push(b'}');
        self.0.into_boxed_slice()
    }
}

/// Batches of output in base64, for the next session at the same place. Kept by the server, for all sockets.
#[derive(Default)]
pub struct Encoded {
    text: Vec<u8>,
    batches: Vec<(What, Range<usize>)>,
    /// Sessions ask for the same batches in the same order.
    next: usize,
}

/// What was encoded. A snapshot depends on the size as well as on the stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Output { number: usize, from: u64, bytes: usize },
    Snapshot { number: usize, head: u64, size: GridSize, lines: usize, shown: bool },
}

impl Encoded {
    fn find(&mut self, what: What) -> Option<Range<usize>> {
        let (before, after) = self.batches.split_at(self.next.min(self.batches.len()));
        let found = after.iter().chain(before).position(|(known, _)| *known == what)?;
        let at = (self.next.min(self.batches.len()) + found) % self.batches.len();
        self.next = at + 1;
        Some(self.batches[at].1.clone())
    }

    fn add(&mut self, what: What, parts: [&[u8]; 2]) -> Range<usize> {
        if self.text.len() > MIRROR_ENCODED_BYTES_MAX || self.batches.len() >= MIRROR_ENCODED_MAX {
            self.batches.clear();
            self.text.clear();
            self.text.shrink_to(MIRROR_ENCODED_BYTES_MAX);
        }
        let start = self.text.len();
        put_base64(parts, &mut self.text);
        let range = start..self.text.len();
        self.batches.push((what, range.clone()));
        self.next = self.batches.len();
        range
    }

    /// Nothing is encoded any more: all sessions have gone.
    pub fn clear(&mut self) {
        *self = Encoded::default();
    }
}

/// Appends two parts of one piece as base64.
fn put_base64([first, second]: [&[u8]; 2], out: &mut Vec<u8>) {
    // Three bytes make four characters: the group at the seam takes bytes of both.
    let (first, rest) = first.split_at(first.len() / 3 * 3);
    let (seam, second) = second.split_at(if rest.is_empty() { 0 } else { second.len().min(3 - rest.len()) });
    let mut group = [0; 3];
    group[..rest.len()].copy_from_slice(rest);
    group[rest.len()..rest.len() + seam.len()].copy_from_slice(seam);
    for part in [first, &group[..rest.len() + seam.len()], second] {
        let start = out.len();
        out.resize(start + BASE64.encode_len(part.len()), 0);
        BASE64.encode_mut(part, &mut out[start..]);
    }
}

/// Frames of a session in one socket's queue, by their seq.
pub type Queued = crate::flow::Queued<u64>;

/// One socket's queue as a session writes to it.
pub struct Writer<'a> {
    /// The queue.
    pub queue: &'a mut Outbound,
    /// The frames in it.
    pub queued: &'a mut Queued,
    /// What other sessions had encoded.
    pub encoded: &'a mut Encoded,
}

impl Frames for Writer<'_> {
    fn is_full(&self) -> bool {
        self.queue.is_full()
    }

    fn wait_for_low(&mut self) {
        self.queue.wait_for_low();
    }

    fn waiting(&self) -> usize {
        self.queue.waiting().len()
    }

    fn is_long(&self, bytes: u64) -> bool {
        self.queue.is_long(bytes / 3 * 4)
    }

    fn is_slow(&self) -> bool {
        self.queue.is_slow()
    }

    fn frame_bytes_max(&self) -> usize {
        self.queue.frame_bytes_max() / 4 * 3
    }

    fn take_back(&mut self, seq: u64) -> Option<u64> {
        self.queued.take_back(self.queue, |queued| *queued > seq)
    }

    fn hello(&mut self, session_id: &str, settings: &str, snapshot: &str) {
        let front =
            format!(r#"{{"type":"hello","sessionId":"{session_id}","seq":0,"version":{VERSION},"settings":"#);
        let parts = [&front, settings, r#","snapshot":"#, snapshot, "}"].map(str::as_bytes);
        *self.queued = Queued::default();
        self.queued.put(self.queue, 0, |out| put_text(&parts, out));
    }

    fn text(&mut self, seq: u64, body: &[u8]) {
        let kind = memchr::memchr(b'"', body).map_or(body.len(), |at| at + 1);
        let (kind, fields) = body.split_at(kind);
        let digits = seq.to_string();
        let parts = [br#"{"type":""#, kind, br#","seq":"#, digits.as_bytes(), fields];
        self.queued.put(self.queue, seq, |out| put_text(&parts, out));
    }

    fn output(&mut self, seq: u64, number: usize, surface_id: &str, from: u64, parts: [&[u8]; 2]) {
        let what = What::Output { number, from, bytes: parts[0].len() + parts[1].len() };
        let range = self.encoded.find(what).unwrap_or_else(|| self.encoded.add(what, parts));
        self.stdout(seq, surface_id, range, b"\"}");
    }

    fn snapshot(
        &mut self,
        seq: u64,
        number: usize,
        surface: &mut Surface<'_>,
        lines: usize,
        shown: bool,
        now: Instant,
    ) -> usize {
        let (head, size) = (surface.terminal.stream().head(), surface.terminal.size());
        let what = What::Snapshot { number, head, size, lines, shown };
        let range = self.encoded.find(what).unwrap_or_else(|| {
            let mut reset = Vec::new();
            reset.extend(shown.then_some(CANCEL));
            surface.terminal.screen(now).put_vt(lines, &mut reset);
            self.encoded.add(what, [&reset, &[]])
        });
        let bytes = range.len() / 4 * 3;
        let (cols, rows) = (size.cols(), size.rows());
        let back = format!(r#"","snapshot":true,"cols":{cols},"rows":{rows}}}"#);
        self.stdout(seq, surface.id, range, back.as_bytes());
        bytes
    }
}

impl Writer<'_> {
    fn stdout(&mut self, seq: u64, surface_id: &str, text: Range<usize>, back: &[u8]) {
        let digits = seq.to_string();
        let parts = [
            br#"{"type":"surfaceStdout","seq":"#,
            digits.as_bytes(),
            br#","surfaceId":""#,
            surface_id.as_bytes(),
            br#"","bytes":""#,
            &self.encoded.text[text],
            back,
        ];
        self.queued.put(self.queue, seq, |out| put_text(&parts, out));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::mirror::Batch;
    use crate::terminal::Terminal;
    use crate::wire::websocket::{Codec, Message};

    fn parsed(frame: Value) -> Result<FromMirror, String> {
        parse_mirror(&frame.to_string()).map_err(|error| format!("{}: {}", error.code, error.message))
    }

    fn refused(frame: Value) -> String {
        parsed(frame).unwrap_err()
    }

    #[test]
    fn each_client_frame_of_the_seed_is_understood() {
        let id = || "s1".to_owned();
        let stdin = |bytes: &[u8], claim| FromMirror::Stdin {
            surface_id: id(),
            bytes: bytes.to_vec(),
            claim,
            number: None,
        };
        let typed = json!({ "type": "surfaceStdin", "surfaceId": "s1", "bytes": "bHMK" });
        assert_eq!(parsed(typed), Ok(stdin(b"ls\n", true)));
        let reply = json!({ "type": "surfaceStdin", "surfaceId": "s1", "bytes": "G1tj", "claim": false });
        assert_eq!(parsed(reply), Ok(stdin(b"\x1b[c", false)));
        let resize = json!({ "type": "surfaceResizeRequest", "surfaceId": "s1", "cols": 120, "rows": 36 });
        let size = GridSize::new(120, 36).unwrap();
        assert_eq!(parsed(resize), Ok(FromMirror::Resize { surface_id: id(), size }));
        let hide = json!({ "type": "surfaceHide", "surfaceId": "s1" });
        assert_eq!(parsed(hide), Ok(FromMirror::Hide { surface_id: id() }));
        let focus = json!({ "type": "surfaceFocus", "surfaceId": "s1" });
        assert_eq!(parsed(focus), Ok(FromMirror::Focus { surface_id: id() }));
        let event = json!({ "type": "dragEnd", "x": 4, "y": 2 });
        let drag = json!({ "type": "panelInteract", "surfaceId": "s1", "id": "p", "event": event });
        let event = event.as_object().unwrap().clone();
        assert_eq!(parsed(drag), Ok(FromMirror::PanelInteract { surface_id: id(), id: "p".into(), event }));
        let pin = |cwd: Value| json!({ "type": "selectWorkspaceCwd", "workspaceId": "w", "cwd": cwd });
        let pinned = |cwd: Option<&str>| FromMirror::SelectCwd {
            workspace_id: "w".into(),
            cwd: cwd.map(str::to_owned),
        };
        assert_eq!(parsed(pin(json!("/srv/é"))), Ok(pinned(Some("/srv/é"))));
        assert_eq!(parsed(pin(json!(null))), Ok(pinned(None)));
        for nonce in [json!(7), json!(1.5), json!("n"), json!("")] {
            let ping = json!({ "type": "ping", "nonce": nonce });
            assert_eq!(parsed(ping), Ok(FromMirror::Ping { nonce }));
        }
        for (kind, follow) in [("cancel", false), ("follow", true)] {
            let frame = json!({ "type": kind, "id": "metadata:s1" });
            assert_eq!(parsed(frame), Ok(FromMirror::Metadata { surface_id: id(), follow }));
        }
    }

    #[test]
    fn input_is_any_bytes_in_strict_base64_up_to_64_kib() {
        let stdin = |text: &str| parsed(json!({ "type": "surfaceStdin", "surfaceId": "s", "bytes": text }));
        let bytes = |text: &str| match stdin(text) {
            Ok(FromMirror::Stdin { bytes, .. }) => bytes,
            other => panic!("{other:?}"),
        };
        assert_eq!(bytes(""), b"");
        assert_eq!(bytes("/wCA"), [0xff, 0, 0x80], "a mouse report need not be UTF-8");
        let largest = vec![0xa5; MIRROR_STDIN_BYTES_MAX];
        assert_eq!(bytes(&BASE64.encode(&largest)), largest);
        let larger = BASE64.encode(&[0; MIRROR_STDIN_BYTES_MAX + 1]);
        assert_eq!(stdin(&larger).unwrap_err(), "too-large: bytes must be at most 65536 when decoded");
        for bad in ["YQ", "YQ=", "YR==", "YQ==YQ==", "Y Q=", "YQ==\n", "_-A=", "é"] {
            let error = stdin(bad).unwrap_err();
            assert!(error.starts_with("bad-field: bytes must be base64 with padding"), "{bad}: {error}");
        }
    }

    #[test]
    fn a_number_is_a_client_id_with_a_client_seq_or_nothing() {
        let stdin = |fields: Value| {
            let mut frame = json!({ "type": "surfaceStdin", "surfaceId": "s", "bytes": "" });
            frame.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            parsed(frame).map(|frame| match frame {
                FromMirror::Stdin { number, .. } => number,
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(stdin(json!({})), Ok(None));
        let number = FrameNumber { client_id: "c".into(), client_seq: 7 };
        assert_eq!(stdin(json!({ "clientId": "c", "clientSeq": 7 })), Ok(Some(number)));
        for (fields, error) in [
            (json!({ "clientId": "c" }), "bad-field: clientSeq must be a whole number from 0 to 2^53"),
            (
                json!({ "clientId": "c", "clientSeq": -1 }),
                "bad-field: clientSeq must be a whole number from 0 to 2^53",
            ),
            (
                json!({ "clientSeq": 1 }),
                "bad-field: clientId must be a string of 1 to 256 bytes, and comes with clientSeq",
            ),
            (
                json!({ "clientId": "", "clientSeq": 1 }),
                "bad-field: clientId must be a string of 1 to 256 bytes, and comes with clientSeq",
            ),
        ] {
            assert_eq!(stdin(fields).unwrap_err(), error);
        }
    }

    #[test]
    fn a_side_is_clamped_and_must_be_a_number() {
        let resize = |cols: Value, rows: Value| {
            let frame =
                json!({ "type": "surfaceResizeRequest", "surfaceId": "s", "cols": cols, "rows": rows });
            match parsed(frame)? {
                FromMirror::Resize { size, .. } => Ok((size.cols(), size.rows())),
                other => panic!("{other:?}"),
            }
        };
        for (cols, rows, size) in [
            (json!(0), json!(0), (10, 4)),
            (json!(-5), json!(-1e300), (10, 4)),
            (json!(10), json!(500), (10, 500)),
            (json!(80.9), json!(24.5), (80, 24)),
            (json!(501), json!(65536), (500, 500)),
            (json!(1e300), json!(u64::MAX), (500, 500)),
        ] {
            assert_eq!(resize(cols, rows), Ok(size));
        }
        for bad in [json!("80"), json!(null), json!([80]), json!(true)] {
            let error = "bad-field: cols must be a number; it is clamped to 10 to 500".to_owned();
            assert_eq!(resize(bad.clone(), json!(24)), Err(error));
            assert!(resize(json!(80), bad).unwrap_err().starts_with("bad-field: rows must be a number"));
        }
        for bad in ["NaN", "1e999", "Infinity", "-"] {
            let text = format!(r#"{{"type":"surfaceResizeRequest","surfaceId":"s","cols":{bad},"rows":4}}"#);
            assert_eq!(parse_mirror(&text).unwrap_err().code, "malformed", "{bad}");
        }
    }

    #[test]
    fn an_error_has_a_code_and_names_the_field() {
        let surface = "bad-field: surfaceId must be a string of 1 to 1024 bytes";
        for kind in ["surfaceStdin", "surfaceResizeRequest", "surfaceFocus", "surfaceHide", "panelInteract"] {
            for bad in [json!(null), json!(1), json!(""), json!("x".repeat(1025)), json!(["s"])] {
                assert_eq!(refused(json!({ "type": kind, "surfaceId": bad })), surface);
            }
            assert_eq!(refused(json!({ "type": kind })), surface);
        }
        let frame = |fields: Value| {
            let mut frame = json!({ "surfaceId": "s", "id": "p", "workspaceId": "w", "cols": 80 });
            frame.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            refused(frame)
        };
        for (fields, error) in [
            (json!({}), "bad-field: type must be a string"),
            (json!({ "type": 7 }), "bad-field: type must be a string"),
            (json!({ "type": "dance" }), "unknown-type: unknown type \"dance\""),
            (json!({ "type": "surfaceStdin" }), "bad-field: bytes must be a string of base64"),
            (json!({ "type": "surfaceStdin", "bytes": [97] }), "bad-field: bytes must be a string of base64"),
            (
                json!({ "type": "surfaceStdin", "bytes": "", "claim": 0 }),
                "bad-field: claim must be true or false",
            ),
            (
                json!({ "type": "surfaceResizeRequest" }),
                "bad-field: rows must be a number; it is clamped to 4 to 500",
            ),
            (
                json!({ "type": "panelInteract", "id": 5 }),
                "bad-field: id must be a string of 1 to 1024 bytes",
            ),
            (
                json!({ "type": "panelInteract", "event": { "type": 1 } }),
                "bad-field: event must be an object with a type, a string",
            ),
            (
                json!({ "type": "panelInteract", "event": "click" }),
                "bad-field: event must be an object with a type, a string",
            ),
            (
                json!({ "type": "selectWorkspaceCwd", "cwd": "srv" }),
                "bad-field: cwd must be an absolute path of at most 4096 bytes without NUL, or null",
            ),
            (
                json!({ "type": "selectWorkspaceCwd" }),
                "bad-field: cwd must be an absolute path of at most 4096 bytes without NUL, or null",
            ),
            (
                json!({ "type": "ping" }),
                "bad-field: nonce must be a number, or a string of at most 256 bytes",
            ),
            (
                json!({ "type": "ping", "nonce": "x".repeat(257) }),
                "bad-field: nonce must be a number, or a string of at most 256 bytes",
            ),
            (
                json!({ "type": "cancel", "id": "metadata:" }),
                "unknown-stream: id \"metadata:\" is no stream; there is metadata:<surfaceId>",
            ),
            (
                json!({ "type": "follow", "id": "x" }),
                "unknown-stream: id \"x\" is no stream; there is metadata:<surfaceId>",
            ),
        ] {
            assert_eq!(frame(fields.clone()), error, "{fields}");
        }
        let cwd = json!({ "type": "selectWorkspaceCwd", "workspaceId": "w", "cwd": "/a\0b" });
        assert!(refused(cwd).starts_with("bad-field: cwd"));
        assert!(refused(json!({ "type": "x".repeat(9999) })).len() < 100);
    }

    #[test]
    fn hostile_text_gets_an_error_and_nothing_worse() {
        let deep = format!(r#"{{"type":"ping","nonce":{}1{}}}"#, "[".repeat(1000), "]".repeat(1000));
        for text in ["", "7", "[]", "{", "\u{feff}{}", &deep, &"[".repeat(100_000)] {
            assert_eq!(parse_mirror(text).unwrap_err().code, "malformed");
        }
        let padded = |bytes: usize| {
            let frame = r#"{"type":"surfaceFocus","surfaceId":"s"}"#;
            parse_mirror(&format!("{frame}{}", " ".repeat(bytes - frame.len())))
        };
        assert!(padded(MIRROR_FRAME_BYTES_MAX).is_ok());
        let error = MirrorError::new("too-large", "a frame must have at most 262144 bytes");
        assert_eq!(padded(MIRROR_FRAME_BYTES_MAX + 1), Err(error));
    }

    fn texts(queue: &Outbound) -> Vec<String> {
        let (mut codec, mut bytes) = (Codec::client(usize::MAX), queue.waiting().to_vec());
        let mut texts = Vec::new();
        while let Some(message) = codec.read(&mut bytes, &mut Vec::new()).unwrap() {
            let Message::Text(text) = message else { panic!("{message:?}") };
            texts.push(text.as_str().to_owned());
        }
        texts
    }

    fn written(write: impl FnOnce(&mut Writer<'_>)) -> String {
        let mut queue = Outbound::default();
        let (queued, encoded) = (&mut Queued::default(), &mut Encoded::default());
        write(&mut Writer { queue: &mut queue, queued, encoded });
        let texts = texts(&queue);
        assert_eq!(texts.len(), 1);
        texts[0].clone()
    }

    #[test]
    fn each_server_frame_is_written_as_in_the_seed() {
        assert_eq!(
            written(|out| out.hello("f4a2", r#"{"theme":"obsidian"}"#, r#"{"panels":[]}"#)),
            r#"{"type":"hello","sessionId":"f4a2","seq":0,"version":2,"settings":{"theme":"obsidian"},"snapshot":{"panels":[]}}"#
        );
        let size = GridSize::new(200, 50).unwrap();
        let (id, json) = ("s\"1", r#"{"a":[1]}"#);
        #[rustfmt::skip]
        let frames = [
            (ToMirror::SurfaceCreate { surface_json: json }, r#"{"type":"surfaceCreate","seq":7,"surface":{"a":[1]}}"#),
            (ToMirror::SurfaceResize { surface_id: id, size }, r#"{"type":"surfaceResize","seq":7,"surfaceId":"s\"1","cols":200,"rows":50}"#),
            (ToMirror::SurfaceAttend { surface_id: id, attended: true }, r#"{"type":"surfaceAttend","seq":7,"surfaceId":"s\"1","attended":true}"#),
            (ToMirror::SurfaceExit { surface_id: id, exit_code: Some(3), signal: None }, r#"{"type":"surfaceExit","seq":7,"surfaceId":"s\"1","exitCode":3}"#),
            (ToMirror::SurfaceExit { surface_id: id, exit_code: Some(137), signal: Some(9) }, r#"{"type":"surfaceExit","seq":7,"surfaceId":"s\"1","exitCode":137,"signal":9}"#),
            (ToMirror::SurfaceExit { surface_id: id, exit_code: None, signal: None }, r#"{"type":"surfaceExit","seq":7,"surfaceId":"s\"1","exitCode":null}"#),
            (ToMirror::SurfaceClose { surface_id: id }, r#"{"type":"surfaceClose","seq":7,"surfaceId":"s\"1"}"#),
            (ToMirror::SurfaceMetadata { surface_id: id, metadata_json: json }, r#"{"type":"surfaceMetadata","seq":7,"surfaceId":"s\"1","metadata":{"a":[1]}}"#),
            (ToMirror::PanelCreate { surface_id: id, id: "p", panel_json: json }, r#"{"type":"panelCreate","seq":7,"surfaceId":"s\"1","id":"p","panel":{"a":[1]}}"#),
            (ToMirror::PanelUpdate { surface_id: id, id: "p", panel_json: json }, r#"{"type":"panelUpdate","seq":7,"surfaceId":"s\"1","id":"p","panel":{"a":[1]}}"#),
            (ToMirror::PanelClear { surface_id: id, id: "\n" }, r#"{"type":"panelClear","seq":7,"surfaceId":"s\"1","id":"\n"}"#),
            (ToMirror::SidebarUpdate { sidebar_json: json }, r#"{"type":"sidebarUpdate","seq":7,"sidebar":{"a":[1]}}"#),
            (ToMirror::NotificationCreate { notification_json: json }, r#"{"type":"notificationCreate","seq":7,"notification":{"a":[1]}}"#),
            (ToMirror::NotificationDismiss { id_json: "12" }, r#"{"type":"notificationDismiss","seq":7,"id":12}"#),
            (ToMirror::SettingsSnapshot { settings_json: json }, r#"{"type":"settingsSnapshot","seq":7,"settings":{"a":[1]}}"#),
            (ToMirror::HtKeysSeen { keys_json: "[]" }, r#"{"type":"htKeysSeen","seq":7,"keys":[]}"#),
            (ToMirror::PlansSnapshot { plans_json: "{}" }, r#"{"type":"plansSnapshot","seq":7,"plans":{}}"#),
            (ToMirror::AutoContinueAudit { audit_json: "[]" }, r#"{"type":"autoContinueAudit","seq":7,"audit":[]}"#),
            (ToMirror::WorkspacesUpdate { workspaces_json: "[]" }, r#"{"type":"workspacesUpdate","seq":7,"workspaces":[]}"#),
            (ToMirror::Ack { surface_id: id, client_seq: 9 }, r#"{"type":"ack","seq":7,"surfaceId":"s\"1","clientSeq":9}"#),
            (ToMirror::Pong { nonce: &json!("n\""), server_time_ms: 5 }, r#"{"type":"pong","seq":7,"nonce":"n\"","serverTime":5}"#),
            (ToMirror::Error { code: "bad-field", message: "no \"x\"" }, r#"{"type":"error","seq":7,"code":"bad-field","message":"no \"x\""}"#),
        ];
        for (frame, text) in frames {
            assert_eq!(written(|out| out.text(7, &frame.body())), text);
            assert!(serde_json::from_str::<Value>(text).is_ok());
        }
        assert_eq!(
            written(|out| out.output(8, 0, "s1", 0, [b"l\xff", b"ve"])),
            r#"{"type":"surfaceStdout","seq":8,"surfaceId":"s1","bytes":"bP92ZQ=="}"#
        );
    }

    #[test]
    fn a_snapshot_says_that_it_is_one_and_how_large() {
        let now = Instant::now();
        let mut terminal = Terminal::new(GridSize::new(100, 30).unwrap(), 1 << 16, 10, false);
        let mut batch = Batch::default();
        terminal.feed(b"text", now);
        for (shown, start) in [(false, &b"\x1bc"[..]), (true, b"\x18\x1bc")] {
            let mut surface = Surface { id: "s1", terminal: &mut terminal, batch: &mut batch };
            let text = written(|out| {
                assert!(out.snapshot(3, 0, &mut surface, usize::MAX, shown, now) > 6);
            });
            let frame: Value = serde_json::from_str(&text).unwrap();
            let bytes = BASE64.decode(frame["bytes"].as_str().unwrap().as_bytes()).unwrap();
            assert!(bytes.starts_with(start) && String::from_utf8(bytes).unwrap().contains("text"));
            let fields = ["type", "seq", "surfaceId", "snapshot", "cols", "rows"].map(|name| &frame[name]);
            let expected =
                [json!("surfaceStdout"), json!(3), json!("s1"), json!(true), json!(100), json!(30)];
            assert_eq!(fields, expected.each_ref());
            assert_eq!(frame.as_object().unwrap().len(), 7);
        }
    }

    #[test]
    fn a_batch_is_encoded_once_and_what_is_kept_is_bounded() {
        let mut encoded = Encoded::default();
        let mut queue = Outbound::default();
        for session in 0..3u64 {
            for number in 0..5 {
                let queued = &mut Queued::default();
                let mut out = Writer { queue: &mut queue, queued, encoded: &mut encoded };
                out.output(session, number, "s", 100, [b"abc", b""]);
            }
            assert_eq!((encoded.batches.len(), encoded.text.len()), (5, 20));
        }
        assert_eq!(texts(&queue).len(), 15);
        for from in 0..5000 {
            let mut queue = Outbound::default();
            let queued = &mut Queued::default();
            let mut out = Writer { queue: &mut queue, queued, encoded: &mut encoded };
            out.output(1, 1, "s", from, [&[7; 9000], b""]);
            assert!(encoded.batches.len() <= MIRROR_ENCODED_MAX);
            assert!(encoded.text.len() <= MIRROR_ENCODED_BYTES_MAX + 12_000);
        }
    }

    proptest! {
        #[test]
        fn two_parts_are_one_piece_of_base64(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut: prop::sample::Index) {
            let (first, second) = bytes.split_at(cut.index(bytes.len() + 1));
            let mut out = Vec::new();
            put_base64([first, second], &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), BASE64.encode(&bytes));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in r#"[{}\[\]":,a-z0-9.\-e\\u ]{0,60}"#, kind in "surfaceStdin|surfaceResizeRequest|panelInteract|ping|follow") {
            let _ = parse_mirror(&text);
            let _ = parse_mirror(&format!(r#"{{"type":"{kind}","surfaceId":"s","id":"x",{text}}}"#));
        }

        #[test]
        fn what_is_typed_arrives(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let frame = json!({ "type": "surfaceStdin", "surfaceId": "s", "bytes": BASE64.encode(&bytes) });
            let Ok(FromMirror::Stdin { bytes: typed, .. }) = parsed(frame) else { panic!() };
            prop_assert_eq!(typed, bytes);
        }
    }
}
