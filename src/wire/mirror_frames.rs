#![doc = include_str!("web-mirror-protocol.md")]
//!
//! # This module
//!
//! Client frames as text to values; server frames as values to whole websocket frames in the caller's buffer.

use std::ops::Range;
use std::time::Instant;

use data_encoding::BASE64;
use serde_json::{Map, Value};

use super::json::{parse_object, put_escaped};
use super::websocket::put_text;
use crate::flow::Outbound;
use crate::limits::{
    MIRROR_COLS, MIRROR_ENCODED_BYTES_MAX, MIRROR_ENCODED_MAX, MIRROR_FRAME_BYTES_MAX,
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
    /// Bytes for a surface's program. `claim` is false for a terminal's own reply to a query.
    Stdin { surface_id: String, bytes: Vec<u8>, claim: bool },
    /// The client shows the surface on a grid of this size.
    Resize { surface_id: String, size: GridSize },
    /// The surface is being used.
    Focus { surface_id: String },
    /// Something was done with a panel; `event` has a `type`, a string.
    PanelInteract { surface_id: String, id: String, event: Map<String, Value> },
    /// New terminals of the workspace start in `cwd`, an absolute path; `None` unpins it.
    SelectCwd { workspace_id: String, cwd: Option<String> },
    /// To be answered by a pong with this nonce, a number or a string.
    Ping { nonce: Value },
    /// The session wants this surface's metadata (`follow`), or no longer (`cancel`).
    Metadata { surface_id: String, follow: bool },
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
        }),
        "surfaceResizeRequest" => {
            Ok(FromMirror::Resize { surface_id: name(&mut fields, "surfaceId")?, size: grid(&fields)? })
        }
        "surfaceFocus" => Ok(FromMirror::Focus { surface_id: name(&mut fields, "surfaceId")? }),
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

fn stdin(fields: &Map<String, Value>) -> Result<Vec<u8>, MirrorError> {
    let Some(Value::String(text)) = fields.get("bytes") else {
        return Err(MirrorError::field("bytes must be a string of base64"));
    };
    let bytes = BASE64.decode(text.as_bytes()).map_err(|error| {
        MirrorError::field(format!("bytes must be base64 with padding (RFC 4648 section 4): {error}"))
    })?;
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
    Snapshot { number: usize, head: u64, size: GridSize, shown: bool },
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

/// One socket's queue as a session writes to it.
pub struct Writer<'a> {
    /// The queue.
    pub queue: &'a mut Outbound,
    /// What other sessions had encoded.
    pub encoded: &'a mut Encoded,
}

impl Frames for Writer<'_> {
    fn is_full(&self) -> bool {
        self.queue.is_full()
    }

    fn hello(&mut self, session_id: &str, settings: &str, snapshot: &str) {
        let front =
            format!(r#"{{"type":"hello","sessionId":"{session_id}","seq":0,"version":{VERSION},"settings":"#);
        let parts = [&front, settings, r#","snapshot":"#, snapshot, "}"].map(str::as_bytes);
        self.queue.put(|out| put_text(&parts, out));
    }

    fn text(&mut self, seq: u64, body: &[u8]) {
        let kind = memchr::memchr(b'"', body).map_or(body.len(), |at| at + 1);
        let (kind, fields) = body.split_at(kind);
        let seq = seq.to_string();
        let parts = [br#"{"type":""#, kind, br#","seq":"#, seq.as_bytes(), fields];
        self.queue.put(|out| put_text(&parts, out));
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
        shown: bool,
        now: Instant,
    ) -> usize {
        let (head, size) = (surface.terminal.stream().head(), surface.terminal.size());
        let what = What::Snapshot { number, head, size, shown };
        let range = self.encoded.find(what).unwrap_or_else(|| {
            let mut reset = Vec::new();
            reset.extend(shown.then_some(CANCEL));
            surface.terminal.screen(now).put_reset(&mut reset);
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
        let Writer { queue, encoded } = self;
        let seq = seq.to_string();
        let parts = [
            br#"{"type":"surfaceStdout","seq":"#,
            seq.as_bytes(),
            br#","surfaceId":""#,
            surface_id.as_bytes(),
            br#"","bytes":""#,
            &encoded.text[text],
            back,
        ];
        queue.put(|out| put_text(&parts, out));
    }
}
