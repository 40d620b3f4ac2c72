//! The JSON of the HTTP routes: bodies to values, values to answers, and events as text.

use serde_json::{Map, Value, json};

use super::http::Reject;
use super::json::{grid_size, parse_object};
use crate::limits::{NAME_BYTES_MAX, PATH_BYTES_MAX, SESSION_ID_BYTES_MAX};
use crate::terminal::GridSize;
use crate::terminal::title::Activity;
use crate::workspace::events::{Event, NAVIGATION_CHANGED};
use crate::workspace::panes::{
    Change, Pane, PaneFields, PaneKey, PanePatch, Registry, RegistryError, Workspace, WorkspaceFields,
    WorkspacePatch,
};

/// The body of `POST /v1/terminals`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTerminal {
    /// 1..=[`SESSION_ID_BYTES_MAX`] bytes.
    pub session_id: String,
    /// Where the shell starts: an absolute path, or one below the home directory (`~`, `~/src`).
    pub cwd: String,
    /// The first size of the PTY.
    pub size: GridSize,
    /// `None` for the default one.
    pub shell: Option<String>,
    /// Arguments of the shell.
    pub args: Vec<String>,
    /// Attach to an agent's terminal; never start a shell.
    pub attach_only: bool,
}

/// Parses the body of `POST /v1/terminals`. Unknown fields are ignored; `null` is absence. `pinned` is asked
/// for the directory of a session's workspace when there is no `cwd`.
///
/// # Errors
/// 400, with the field and its rule.
pub fn parse_create(
    body: &[u8],
    pinned: impl FnOnce(&str) -> Option<String>,
) -> Result<CreateTerminal, Reject> {
    let fields = parse_body(body)?;
    let session_id = required(&fields, "sessionId", SESSION_ID_BYTES_MAX)?;
    let cwd = match given(&fields, "cwd") {
        None => pinned(&session_id),
        Some(_) => None,
    };
    let cwd = cwd.map_or_else(|| required(&fields, "cwd", PATH_BYTES_MAX), Ok)?;
    if !(cwd.starts_with('/') || cwd == "~" || cwd.starts_with("~/")) {
        return Err(bad("cwd must be an absolute path, or start with ~/"));
    }
    let args = match given(&fields, "args") {
        None => Vec::new(),
        Some(args) => {
            strings_without_nul(args).ok_or_else(|| bad("args must be an array of strings without NUL"))?
        }
    };
    Ok(CreateTerminal {
        session_id,
        cwd,
        size: grid_size(&fields).map_err(bad)?,
        shell: optional(&fields, "shell", PATH_BYTES_MAX)?,
        args,
        attach_only: flag(&fields, "attachOnly")?,
    })
}

/// Whether a sessionId, of a body or of a path, is one: 1..=[`SESSION_ID_BYTES_MAX`] bytes, no NUL.
///
/// # Errors
/// 400.
pub fn check_session_id(session_id: &str) -> Result<(), Reject> {
    check_text("sessionId", session_id, SESSION_ID_BYTES_MAX)
}

/// Whether an id of a workspace or pane, of a path, is one: 1..=[`NAME_BYTES_MAX`] bytes, no NUL.
///
/// # Errors
/// 400.
pub fn check_id(id: &str) -> Result<(), Reject> {
    check_text("the id in the path", id, NAME_BYTES_MAX)
}

/// Parses the body of `POST /v1/terminals/{id}/input`: the data, and whether it counts as use (not by
/// default, so that a script never takes the size away from a person).
///
/// # Errors
/// 400, with the field and its rule.
pub fn parse_input(body: &[u8]) -> Result<(String, bool), Reject> {
    let mut fields = parse_body(body)?;
    let claim = flag(&fields, "claim")?;
    match fields.remove("data") {
        Some(Value::String(data)) => Ok((data, claim)),
        _ => Err(bad("data must be a string")),
    }
}

/// Parses the body of `PUT /v1/workspaces/{id}`: `{name, color?, cwd?}`.
///
/// # Errors
/// 400, with the field and its rule.
pub fn parse_workspace(body: &[u8]) -> Result<WorkspaceFields, Reject> {
    let fields = parse_body(body)?;
    Ok(WorkspaceFields {
        name: required(&fields, "name", NAME_BYTES_MAX)?,
        color: optional(&fields, "color", NAME_BYTES_MAX)?,
        cwd: optional(&fields, "cwd", PATH_BYTES_MAX)?,
    })
}

/// Parses the body of `PATCH /v1/workspaces/{id}`; `null` removes `color` and `cwd`.
///
/// # Errors
/// 400, with the field and its rule.
pub fn parse_workspace_patch(body: &[u8]) -> Result<WorkspacePatch, Reject> {
    let fields = parse_body(body)?;
    let removable = |name: &str, bytes_max: usize| {
        fields.contains_key(name).then(|| optional(&fields, name, bytes_max)).transpose()
    };
    Ok(WorkspacePatch {
        name: changed(&fields, "name", NAME_BYTES_MAX)?,
        color: removable("color", NAME_BYTES_MAX)?,
        cwd: removable("cwd", PATH_BYTES_MAX)?,
    })
}

/// Parses the body of `PUT .../panes/{paneId}`: `{title, resourceKind, resourceId}`.
///
/// # Errors
/// 400, with the field and its rule.
pub fn parse_pane(body: &[u8]) -> Result<PaneFields, Reject> {
    let fields = parse_body(body)?;
    Ok(PaneFields {
        title: required(&fields, "title", NAME_BYTES_MAX)?,
        resource_kind: required(&fields, "resourceKind", NAME_BYTES_MAX)?,
        resource_id: required(&fields, "resourceId", NAME_BYTES_MAX)?,
    })
}

/// Parses the body of `PATCH .../panes/{paneId}`.
///
/// # Errors
/// 400, with the field and its rule.
pub fn parse_pane_patch(body: &[u8]) -> Result<PanePatch, Reject> {
    let fields = parse_body(body)?;
    Ok(PanePatch {
        title: changed(&fields, "title", NAME_BYTES_MAX)?,
        resource_kind: changed(&fields, "resourceKind", NAME_BYTES_MAX)?,
        resource_id: changed(&fields, "resourceId", NAME_BYTES_MAX)?,
    })
}

pub(super) fn bad(message: impl Into<String>) -> Reject {
    Reject::new(400, message)
}

pub(super) fn parse_body(body: &[u8]) -> Result<Map<String, Value>, Reject> {
    parse_object(body).map_err(bad)
}

pub(super) fn given<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

pub(super) fn required(fields: &Map<String, Value>, name: &str, bytes_max: usize) -> Result<String, Reject> {
    // What is no string fails like the empty one: the message says what is wanted.
    let text = given(fields, name).and_then(Value::as_str).unwrap_or_default();
    check_text(name, text, bytes_max)?;
    Ok(text.to_owned())
}

pub(super) fn optional(
    fields: &Map<String, Value>,
    name: &str,
    bytes_max: usize,
) -> Result<Option<String>, Reject> {
    given(fields, name).map(|_| required(fields, name, bytes_max)).transpose()
}

/// A field that may be absent, but not null: there is nothing to fall back to.
pub(super) fn changed(
    fields: &Map<String, Value>,
    name: &str,
    bytes_max: usize,
) -> Result<Option<String>, Reject> {
    fields.contains_key(name).then(|| required(fields, name, bytes_max)).transpose()
}

pub(super) fn flag(fields: &Map<String, Value>, name: &str) -> Result<bool, Reject> {
    match given(fields, name) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(bad(format!("{name} must be true or false"))),
    }
}

pub(super) fn check_text(name: &str, text: &str, bytes_max: usize) -> Result<(), Reject> {
    if (1..=bytes_max).contains(&text.len()) && !text.contains('\0') {
        return Ok(());
    }
    Err(bad(format!("{name} must be a string of 1 to {bytes_max} bytes without NUL")))
}

fn strings_without_nul(value: &Value) -> Option<Vec<String>> {
    let strings = value.as_array()?.iter();
    strings.map(|item| item.as_str().filter(|text| !text.contains('\0')).map(str::to_owned)).collect()
}

/// What is told about a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalInfo {
    /// The terminalId.
    pub id: String,
    /// The session it belongs to.
    pub session_id: String,
    /// The recorded title; empty when there is none.
    pub title: String,
    /// Columns of the PTY.
    pub cols: u16,
    /// Rows of the PTY.
    pub rows: u16,
    /// Where it was started.
    pub cwd: String,
    /// The shell's process; `None` when an agent owns it.
    pub pid: Option<i32>,
    /// Whether it has ended.
    pub exited: bool,
    /// How it has ended.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Unix time in milliseconds.
    pub created_at_ms: u64,
    /// Sockets attached to it.
    pub attached: usize,
    /// Whether clients answer what its program asks; else the server does.
    pub attended: bool,
    /// Whether an agent owns it.
    pub agent_owned: bool,
    /// Unix time in milliseconds of the last output or input.
    pub last_activity_ms: u64,
}

/// A terminal as JSON. `signal` is only there after one.
pub fn terminal_json(info: &TerminalInfo) -> Value {
    let mut terminal = json!({
        "id": info.id,
        "sessionId": info.session_id,
        "title": info.title,
        "cols": info.cols,
        "rows": info.rows,
        "cwd": info.cwd,
        "pid": info.pid,
        "exited": info.exited,
        "exitCode": info.exit_code,
        "createdAt": rfc3339(info.created_at_ms),
        "attached": info.attached,
        "agentOwned": info.agent_owned,
        "lastActivityAt": rfc3339(info.last_activity_ms),
    });
    if let Some(signal) = info.signal {
        terminal["signal"] = json!(signal);
    }
    terminal
}

/// A terminal as a surface of the mirror: what never changes, and what is told when it does. Its title is
/// that of its panes.
pub fn surface_json(info: &TerminalInfo) -> Value {
    let mut surface = terminal_json(info);
    if let Some(fields) = surface.as_object_mut() {
        for name in ["id", "title", "attached", "lastActivityAt"] {
            fields.remove(name);
        }
        fields.insert("surfaceId".to_owned(), json!(info.id));
        fields.insert("attended".to_owned(), json!(info.attended));
    }
    surface
}

/// The answer to `POST /v1/terminals`.
pub fn created_json(terminal_id: &str, websocket_path: &str, next_output_seq: u64) -> Value {
    json!({ "terminalId": terminal_id, "websocketPath": websocket_path, "nextOutputSeq": next_output_seq })
}

/// Where the cursor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorInfo {
    /// From 0, the screen's first row.
    pub row: u16,
    /// From 0, the first column.
    pub col: u16,
    /// Whether it is shown.
    pub visible: bool,
}

/// What a screen shows besides its cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenInfo {
    /// Its grid.
    pub size: GridSize,
    /// Its cursor.
    pub cursor: CursorInfo,
    /// The alternate buffer is on screen.
    pub alternate: bool,
    /// Arrow keys are wanted as `ESC O A` (DECCKM), not as `ESC [ A`.
    pub application_cursor: bool,
    /// For people.
    pub title: String,
}

/// The answer to `GET /v1/terminals/{id}/screen`.
pub fn screen_json(format: &str, screen: &str, info: &ScreenInfo) -> Value {
    let ScreenInfo { size, cursor, .. } = info;
    json!({
        "format": format,
        "screen": screen,
        "cols": size.cols(),
        "rows": size.rows(),
        "cursor": { "row": cursor.row, "col": cursor.col, "visible": cursor.visible },
        "alternate": info.alternate,
        "applicationCursor": info.application_cursor,
        "title": info.title,
    })
}

/// The answer to `GET /v1/health`.
pub fn health_json(version: &str, uptime_seconds: u64, terminals: usize, connections: usize) -> Value {
    json!({
        "ok": true,
        "version": version,
        "uptimeSeconds": uptime_seconds,
        "terminals": terminals,
        "connections": connections,
    })
}

/// The answer to `GET /v1/workspaces`.
pub fn workspaces_json(registry: &Registry) -> Value {
    json!({ "workspaces": registry.workspaces().iter().map(workspace_json).collect::<Vec<_>>() })
}

/// A workspace with its panes.
pub fn workspace_json(workspace: &Workspace) -> Value {
    let fields = WorkspaceFields {
        name: workspace.name.clone(),
        color: workspace.color.clone(),
        cwd: workspace.cwd.clone(),
    };
    let mut json = workspace_fields_json(&workspace.id, &fields);
    json["panes"] = workspace.panes.iter().map(pane_json).collect();
    json
}

fn workspace_fields_json(id: &str, fields: &WorkspaceFields) -> Value {
    let mut json = json!({ "id": id, "name": fields.name });
    put_some(&mut json, "color", fields.color.as_deref());
    put_some(&mut json, "cwd", fields.cwd.as_deref());
    json
}

/// A pane; `liveTitle` and `terminalActivity` are absent when there is none.
pub fn pane_json(pane: &Pane) -> Value {
    let mut json = json!({
        "id": pane.id,
        "workspaceId": pane.workspace_id,
        "title": pane.title,
        "resourceKind": pane.resource_kind,
        "resourceId": pane.resource_id,
    });
    put_some(&mut json, "liveTitle", pane.live_title.as_deref());
    let activity = pane.activity.map(|activity| match activity {
        Activity::Working => "working",
        Activity::Idle => "idle",
    });
    put_some(&mut json, "terminalActivity", activity);
    json
}

pub(super) fn put_some(json: &mut Value, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        json[name] = json!(text);
    }
}

impl From<RegistryError> for Reject {
    fn from(error: RegistryError) -> Reject {
        match error {
            RegistryError::UnknownWorkspace => Reject::new(404, "no such workspace"),
            RegistryError::UnknownPane => Reject::new(404, "no such pane"),
            RegistryError::DefaultWorkspaceStays => {
                Reject::new(409, "the default workspace cannot be deleted")
            }
            RegistryError::TooManyWorkspaces => Reject::new(429, "too many workspaces"),
            RegistryError::TooManyPanes => Reject::new(429, "too many panes"),
        }
    }
}

/// An event's envelope, `{id, kind, subjectId, createdAt, payload}`. The payload of `navigation.changed`
/// always has `panes`, whole ones that are new or different. Beside it stand, when there are any,
/// `removedPanes` (`[{workspaceId, id}]`), `workspaces` (without their panes) and `removedWorkspaces`
/// (ids; their panes are gone with them).
pub fn event_json(event: &Event) -> Value {
    let payload = match &event.change {
        Change::Panes(panes) => json!({ "panes": panes.iter().map(pane_json).collect::<Vec<_>>() }),
        Change::PaneRemoved(PaneKey { workspace_id, pane_id }) => {
            json!({ "panes": [], "removedPanes": [{ "workspaceId": workspace_id, "id": pane_id }] })
        }
        Change::Workspace { id, fields } => {
            json!({ "panes": [], "workspaces": [workspace_fields_json(id, fields)] })
        }
        Change::WorkspaceRemoved { id } => json!({ "panes": [], "removedWorkspaces": [id] }),
    };
    envelope(event.id, event.kind, &event.subject_id, event.created_at_ms, payload)
}

/// The event for a client whose `since` is lost: `reset: true`, then all workspaces and all panes, in place
/// of everything that the client knew. `id` is the log's last one.
pub fn reset_event_json(id: u64, registry: &Registry, now_unix_ms: u64) -> Value {
    let panes = registry.workspaces().iter().flat_map(|workspace| &workspace.panes).map(pane_json);
    let workspaces = registry.workspaces().iter().map(|workspace| {
        let mut json = workspace_json(workspace);
        json.as_object_mut().map(|fields| fields.remove("panes"));
        json
    });
    let payload = json!({
        "reset": true,
        "panes": panes.collect::<Vec<_>>(),
        "workspaces": workspaces.collect::<Vec<_>>(),
    });
    envelope(id, NAVIGATION_CHANGED, "", now_unix_ms, payload)
}

fn envelope(id: u64, kind: &str, subject_id: &str, created_at_ms: u64, payload: Value) -> Value {
    json!({
        "id": id,
        "kind": kind,
        "subjectId": subject_id,
        "createdAt": rfc3339(created_at_ms),
        "payload": payload,
    })
}

/// Appends an envelope as a Server-Sent Event. It has an `id`, for `Last-Event-ID`, and no `event` field, so
/// that a browser's `onmessage` sees every kind.
pub fn put_sse(envelope: &Value, out: &mut Vec<u8>) {
    // JSON text has no line ends outside of its strings, and they are escaped inside.
    out.extend_from_slice(format!("id: {}\ndata: {envelope}\n\n", envelope["id"]).as_bytes());
}

/// A Server-Sent comment, which keeps proxies from closing a quiet stream.
pub const SSE_KEEP_ALIVE: &[u8] = b":\n\n";

/// Appends one family of the Prometheus text format (version 0.0.4): `kind` is `counter` or `gauge`, and
/// each sample has its labels, such as `{state="live"}`, or an empty string.
pub fn put_metric(name: &str, kind: &str, help: &str, samples: &[(&str, u64)], out: &mut String) {
    use std::fmt::Write;
    let mut line = |text: std::fmt::Arguments<'_>| {
        let written = out.write_fmt(text);
        debug_assert!(written.is_ok(), "a string takes every character");
    };
    line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    for (labels, value) in samples {
        line(format_args!("{name}{labels} {value}\n"));
    }
}

/// A time as RFC 3339 in UTC with milliseconds.
pub fn rfc3339(unix_ms: u64) -> String {
    let (days, ms_of_day) = (unix_ms / 86_400_000, unix_ms % 86_400_000);
    let (year, month, day) = civil_date(days);
    let (seconds, ms) = (ms_of_day / 1000, ms_of_day % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Year, month and day of the Gregorian calendar, from the days since 1970-01-01. Counted from 0000-03-01,
/// so that the leap day is the last of its year, and a month's first day is a linear function of the month.
fn civil_date(days: u64) -> (u64, u64, u64) {
    const DAYS_TO_1970: u64 = 719_468;
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let days = days + DAYS_TO_1970;
    let day_of_era = days % DAYS_OF_400_YEARS;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = days / DAYS_OF_400_YEARS * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::events::EventLog;

    const CREATE: &str = r#"{"sessionId":"s","cwd":"/srv/project","cols":120,"rows":36}"#;

    /// The message of the 400 that a body gets.
    fn refused<T: std::fmt::Debug>(parsed: Result<T, Reject>) -> String {
        let reject = parsed.unwrap_err();
        assert_eq!(reject.status, 400);
        reject.message
    }

    /// `CREATE` with one field set to this JSON.
    fn create(field: &str, json: &str) -> Result<CreateTerminal, Reject> {
        let mut body: Value = serde_json::from_str(CREATE).unwrap();
        body[field] = serde_json::from_str(json).unwrap();
        parse_create(body.to_string().as_bytes(), |_| None)
    }

    #[test]
    fn a_terminal_is_asked_for_as_in_the_seed() {
        let plain = parse_create(CREATE.as_bytes(), |_| None).unwrap();
        assert_eq!((plain.session_id.as_str(), plain.cwd.as_str()), ("s", "/srv/project"));
        assert_eq!((plain.size.cols(), plain.size.rows()), (120, 36));
        assert_eq!((plain.shell, plain.args, plain.attach_only), (None, vec![], false));
        assert_eq!(create("shell", "\"/bin/zsh\"").unwrap().shell.as_deref(), Some("/bin/zsh"));
        assert_eq!(create("args", "[\"-l\",\"\"]").unwrap().args, ["-l", ""]);
        assert!(create("attachOnly", "true").unwrap().attach_only);
        for null in ["shell", "args", "attachOnly"] {
            assert!(create(null, "null").is_ok());
        }
        assert!(create("unknown", "[{}]").is_ok());
    }

    #[test]
    fn without_a_directory_a_terminal_starts_where_its_workspace_is_pinned() {
        let body = br#"{"sessionId":"s","cols":80,"rows":24,"cwd":null}"#;
        let pinned = |session_id: &str| (session_id == "s").then(|| "/srv".to_owned());
        assert_eq!(parse_create(body, pinned).unwrap().cwd, "/srv");
        assert!(parse_create(CREATE.as_bytes(), pinned).unwrap().cwd != "/srv");
    }

    #[test]
    fn a_refusal_names_the_field_and_its_rule() {
        let session = "sessionId must be a string of 1 to 256 bytes without NUL";
        for bad in ["null", "1", "\"\"", r#""a\u0000b""#, &format!("{:?}", "x".repeat(257))] {
            assert_eq!(refused(create("sessionId", bad)), session, "{bad}");
        }
        assert_eq!(refused(create("cwd", "null")), "cwd must be a string of 1 to 4096 bytes without NUL");
        assert_eq!(refused(create("cwd", "\"a\"")), "cwd must be an absolute path, or start with ~/");
        for bad in ["0", "2001", "1.5", "-1", "\"80\"", "null"] {
            assert_eq!(refused(create("cols", bad)), "cols must be a whole number from 1 to 2000", "{bad}");
            assert_eq!(refused(create("rows", bad)), "rows must be a whole number from 1 to 2000", "{bad}");
        }
        assert_eq!(refused(create("shell", "[]")), "shell must be a string of 1 to 4096 bytes without NUL");
        for bad in ["\"-l\"", "[1]", r#"["\u0000"]"#, "{}"] {
            assert_eq!(refused(create("args", bad)), "args must be an array of strings without NUL");
        }
        assert_eq!(refused(create("attachOnly", "1")), "attachOnly must be true or false");
    }

    #[test]
    fn a_body_is_a_json_object() {
        assert_eq!(refused(parse_create(b"[]", |_| None)), "a JSON object is expected");
        assert_eq!(
            refused(parse_create(b"{\n 1", |_| None)),
            "malformed JSON: key must be a string at line 2 column 2"
        );
        assert!(refused(parse_create(b"", |_| None)).starts_with("malformed JSON"));
        assert!(refused(parse_create(b"{\"a\":\"\xff\"}", |_| None)).starts_with("malformed JSON"));
        assert!(refused(parse_create("[".repeat(1000).as_bytes(), |_| None)).starts_with("malformed JSON"));
    }

    #[test]
    fn input_from_a_script_is_not_use_unless_it_says_so() {
        assert_eq!(parse_input(br#"{"data":"ls\n"}"#), Ok(("ls\n".into(), false)));
        assert_eq!(parse_input(br#"{"data":"","claim":true}"#), Ok(("".into(), true)));
        assert_eq!(refused(parse_input(b"{}")), "data must be a string");
        assert_eq!(refused(parse_input(br#"{"data":"x","claim":0}"#)), "claim must be true or false");
    }

    #[test]
    fn workspaces_and_panes_are_parsed_whole_or_in_part() {
        let whole = parse_workspace(br#"{"name":"Work","color":null,"cwd":"/srv"}"#).unwrap();
        assert_eq!((whole.name.as_str(), whole.color, whole.cwd.as_deref()), ("Work", None, Some("/srv")));
        assert!(refused(parse_workspace(b"{}")).starts_with("name must be"));
        let patch = parse_workspace_patch(br#"{"color":null,"cwd":"/"}"#).unwrap();
        assert_eq!(patch, WorkspacePatch { name: None, color: Some(None), cwd: Some(Some("/".into())) });
        assert!(refused(parse_workspace_patch(br#"{"name":null}"#)).starts_with("name must be"));
        let pane = parse_pane(br#"{"title":"t","resourceKind":"terminal","resourceId":"s"}"#).unwrap();
        assert_eq!((pane.title.as_str(), pane.resource_kind.as_str()), ("t", "terminal"));
        assert!(refused(parse_pane(br#"{"title":"t"}"#)).starts_with("resourceKind must be"));
        let patch = parse_pane_patch(br#"{"title":"u"}"#).unwrap();
        assert_eq!(patch, PanePatch { title: Some("u".into()), ..PanePatch::default() });
        assert!(refused(parse_pane_patch(br#"{"title":null}"#)).starts_with("title must be"));
    }

    #[test]
    fn a_terminal_is_told_with_its_times_and_its_end() {
        let info = TerminalInfo {
            id: "t".into(),
            session_id: "s".into(),
            title: "make".into(),
            cols: 80,
            rows: 24,
            cwd: "/".into(),
            pid: None,
            exited: true,
            exit_code: Some(137),
            signal: Some(9),
            created_at_ms: 0,
            attached: 2,
            attended: true,
            agent_owned: true,
            last_activity_ms: 1_000,
        };
        let expected = json!({
            "id": "t", "sessionId": "s", "title": "make", "cols": 80, "rows": 24, "cwd": "/", "pid": null,
            "exited": true, "exitCode": 137, "signal": 9, "createdAt": "1970-01-01T00:00:00.000Z",
            "attached": 2, "agentOwned": true, "lastActivityAt": "1970-01-01T00:00:01.000Z",
        });
        assert_eq!(terminal_json(&info), expected);
        let running = TerminalInfo { exited: false, exit_code: None, signal: None, pid: Some(7), ..info };
        let json = terminal_json(&running);
        assert_eq!((&json["pid"], &json["exitCode"], json.get("signal")), (&json!(7), &Value::Null, None));
    }

    #[test]
    fn a_screen_is_told_with_its_cursor() {
        let info = ScreenInfo {
            size: GridSize::new(80, 24).unwrap(),
            cursor: CursorInfo { row: 1, col: 2, visible: true },
            alternate: false,
            application_cursor: true,
            title: "sh".into(),
        };
        assert_eq!(
            screen_json("text", "$ ls\n", &info),
            json!({
                "format": "text", "screen": "$ ls\n", "cols": 80, "rows": 24,
                "cursor": {"row": 1, "col": 2, "visible": true}, "alternate": false,
                "applicationCursor": true, "title": "sh",
            })
        );
    }

    #[test]
    fn an_event_carries_whole_panes_and_names_what_is_gone() {
        let (mut registry, mut log) = (Registry::new(), EventLog::new(100));
        let mut told =
            |change: Change| event_json(log.push_navigation(change, 86_400_000))["payload"].clone();
        let change = registry.ensure_pane("s", "project").unwrap();
        let pane = json!({
            "id": "s", "workspaceId": "default", "title": "project", "resourceKind": "terminal",
            "resourceId": "s",
        });
        assert_eq!(told(change), json!({"panes": [pane]}));
        let changed = registry.set_live("s", Some("Claude Code"), Some(Activity::Idle));
        let mut live = pane.clone();
        live["liveTitle"] = json!("Claude Code");
        live["terminalActivity"] = json!("idle");
        assert_eq!(told(registry.change_of(&changed)), json!({"panes": [live]}));
        let fields = WorkspaceFields { name: "Work".into(), color: Some("red".into()), cwd: None };
        let change = registry.put_workspace("w", fields).unwrap().change.unwrap();
        let workspace = json!({"id": "w", "name": "Work", "color": "red"});
        assert_eq!(told(change), json!({"panes": [], "workspaces": [workspace]}));
        assert_eq!(
            told(registry.delete_workspace("w").unwrap()),
            json!({"panes": [], "removedWorkspaces": ["w"]})
        );
        assert_eq!(
            told(registry.delete_pane("default", "s").unwrap()),
            json!({"panes": [], "removedPanes": [{"workspaceId": "default", "id": "s"}]})
        );
    }

    #[test]
    fn an_event_is_one_envelope_as_text_and_as_server_sent_event() {
        let mut log = EventLog::new(100);
        let envelope = event_json(log.push_navigation(Change::WorkspaceRemoved { id: "a\nb".into() }, 1));
        assert_eq!(
            envelope,
            json!({
                "id": 101, "kind": "navigation.changed", "subjectId": "a\nb",
                "createdAt": "1970-01-01T00:00:00.001Z",
                "payload": {"panes": [], "removedWorkspaces": ["a\nb"]},
            })
        );
        let mut out = Vec::new();
        put_sse(&envelope, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), format!("id: 101\ndata: {envelope}\n\n"));
    }

    #[test]
    fn a_lost_client_gets_everything_in_one_event() {
        let mut registry = Registry::new();
        registry.ensure_pane("s", "project").unwrap();
        let envelope = reset_event_json(7, &registry, 0);
        assert_eq!((&envelope["id"], &envelope["payload"]["reset"]), (&json!(7), &json!(true)));
        assert_eq!(envelope["payload"]["panes"][0]["id"], "s");
        assert_eq!(envelope["payload"]["workspaces"], json!([{"id": "default", "name": "Default"}]));
        assert_eq!(workspaces_json(&registry)["workspaces"][0]["panes"][0]["resourceId"], "s");
    }

    #[test]
    fn metrics_are_prometheus_text() {
        let mut out = String::new();
        put_metric("wharf_terminals", "gauge", "Terminals.", &[("{state=\"live\"}", 2), ("", 3)], &mut out);
        assert_eq!(
            out,
            "# HELP wharf_terminals Terminals.\n# TYPE wharf_terminals gauge\n\
             wharf_terminals{state=\"live\"} 2\nwharf_terminals 3\n"
        );
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        // As `date -u -d @N --iso-8601=seconds` says them.
        for (seconds, date) in [
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_799, "2000-02-29T23:59:59.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (1_796_074_124, "2026-11-30T21:28:44.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799, "9999-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(rfc3339(seconds * 1000), date);
        }
        assert_eq!(&rfc3339(1_234)[17..], "01.234Z");
        rfc3339(u64::MAX);
    }
}
