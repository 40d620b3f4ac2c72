//! The JSON around terminals: bodies of the control plane's routes to values, and values to the JSON of its
//! answers, of the mirror's snapshot and of its frames. A body's error names the field and its rule.
//!
//! `sidebarUpdate` merges into what the snapshot said: an object's fields are merged one by one, `null`
//! removes, and `log` holds the lines that are new, to be appended. `panelUpdate` has the fields that are
//! different. `htKeysSeen`, `plansSnapshot` and `autoContinueAudit` are whole.

use data_encoding::BASE64;
use serde_json::{Map, Value, json};

use super::http::Reject;
use super::rest::{bad, flag, given, parse_body, put_some, required, rfc3339};
use crate::limits::{
    KEY_BYTES_MAX, MESSAGE_TEXT_BYTES_MAX, NAME_BYTES_MAX, PANEL_BYTES_MAX, PANEL_PIXELS_MAX, PANEL_Z_MAX,
    PLAN_STEPS_MAX,
};
use crate::workspace::auto_continue::{AuditEntry, AutoContinue, Outcome};
use crate::workspace::notifications::{Notification, NotificationFields, Notifications};
use crate::workspace::panels::{
    Panel, PanelError, PanelEvent, PanelKind, PanelPatch, Pointer, Position, Side,
};
use crate::workspace::plans::{Plan, PlanError, PlanPatch, PlanStep, Plans, StepPatch, StepState};
use crate::workspace::settings::{AutoContinueOptions, Engine};
use crate::workspace::sidebar::{
    Card, CardPart, Level, LogLine, Progress, Sidebar, SidebarChange, StatusPill, TooManyPills,
};

type Fields = Map<String, Value>;

const LEVELS: [(&str, Level); 5] = [
    ("info", Level::Info),
    ("progress", Level::Progress),
    ("success", Level::Success),
    ("warning", Level::Warning),
    ("error", Level::Error),
];
const KINDS: [(&str, PanelKind); 4] = [
    ("image", PanelKind::Image),
    ("svg", PanelKind::Svg),
    ("html", PanelKind::Html),
    ("canvas2d", PanelKind::Canvas2d),
];
const POSITIONS: [(&str, Position); 4] = [
    ("float", Position::Float),
    ("inline", Position::Inline),
    ("overlay", Position::Overlay),
    ("fixed", Position::Fixed),
];
const POINTERS: [(&str, Pointer); 6] = [
    ("click", Pointer::Click),
    ("mousedown", Pointer::Down),
    ("mouseup", Pointer::Up),
    ("mousemove", Pointer::Move),
    ("mouseenter", Pointer::Enter),
    ("mouseleave", Pointer::Leave),
];
const STATES: [(&str, StepState); 4] = [
    ("done", StepState::Done),
    ("active", StepState::Active),
    ("waiting", StepState::Waiting),
    ("err", StepState::Err),
];
const OUTCOMES: [(&str, Outcome); 5] = [
    ("fired", Outcome::Fired),
    ("dry-run", Outcome::DryRun),
    ("skipped", Outcome::Skipped),
    ("paused", Outcome::Paused),
    ("resumed", Outcome::Resumed),
];
pub(super) const ENGINES: [(&str, Engine); 2] = [("off", Engine::Off), ("heuristic", Engine::Heuristic)];

// ---- fields ----

/// A field that is one of these names.
pub(super) fn one_of<T: Copy, const N: usize>(
    fields: &Fields,
    name: &str,
    names: &[(&str, T); N],
) -> Result<Option<T>, Reject> {
    let Some(value) = given(fields, name) else { return Ok(None) };
    let found = names.iter().find(|(known, _)| value.as_str() == Some(known));
    found.map(|(_, value)| Some(*value)).ok_or_else(|| {
        let known: Vec<&str> = names.iter().map(|(known, _)| *known).collect();
        bad(format!("{name} must be one of {}", known.join(", ")))
    })
}

pub(super) fn name_of<T: Copy + PartialEq, const N: usize>(
    names: &[(&'static str, T); N],
    value: T,
) -> &'static str {
    names.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

/// A field that is a finite number in this range.
fn number(fields: &Fields, name: &str, min: f64, max: f64) -> Result<Option<f64>, Reject> {
    let Some(value) = given(fields, name) else { return Ok(None) };
    let number = value.as_f64().filter(|number| (min..=max).contains(number));
    number.map(Some).ok_or_else(|| bad(format!("{name} must be a number from {min} to {max}")))
}

/// A field that is a whole number in this range.
pub(super) fn whole(fields: &Fields, name: &str, min: i64, max: i64) -> Result<Option<i64>, Reject> {
    let Some(value) = given(fields, name) else { return Ok(None) };
    let whole = value.as_i64().or_else(|| value.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i64));
    let whole = whole.filter(|number| (min..=max).contains(number));
    whole.map(Some).ok_or_else(|| bad(format!("{name} must be a whole number from {min} to {max}")))
}

/// A field of one line: control and bidirectional characters are left out, since it goes into menus, titles
/// and other people's terminals.
pub(super) fn line(fields: &Fields, name: &str, bytes_max: usize) -> Result<Option<String>, Reject> {
    let Some(value) = given(fields, name) else { return Ok(None) };
    let text = value.as_str().filter(|text| text.len() <= bytes_max);
    let text = text.ok_or_else(|| bad(format!("{name} must be a string of at most {bytes_max} bytes")))?;
    Ok(Some(text.chars().filter(|c| !is_unseen(*c)).collect()))
}

fn required_line(fields: &Fields, name: &str, bytes_max: usize) -> Result<String, Reject> {
    let text = line(fields, name, bytes_max)?.filter(|text| !text.is_empty());
    text.ok_or_else(|| bad(format!("{name} must be a string of 1 to {bytes_max} bytes")))
}

/// A field of several lines.
fn text(fields: &Fields, name: &str) -> Result<Option<String>, Reject> {
    let Some(value) = given(fields, name) else { return Ok(None) };
    let text = value.as_str().filter(|text| text.len() <= MESSAGE_TEXT_BYTES_MAX);
    let rule = || bad(format!("{name} must be a string of at most {MESSAGE_TEXT_BYTES_MAX} bytes"));
    let seen = |c: &char| matches!(c, '\n' | '\t') || !is_unseen(*c);
    Ok(Some(text.ok_or_else(rule)?.chars().filter(seen).collect()))
}

fn is_unseen(c: char) -> bool {
    // Marks, embeddings, overrides and isolates of the bidirectional algorithm, and the line separators.
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn absent_is<T>(value: Option<T>, name: &str) -> Result<T, Reject> {
    value.ok_or_else(|| bad(format!("{name} is needed")))
}

/// Whether a key of a path, such as a status pill's, is one: 1..=[`KEY_BYTES_MAX`] bytes without control
/// characters.
///
/// # Errors
/// 400.
pub fn check_key(key: &str) -> Result<(), Reject> {
    match (1..=KEY_BYTES_MAX).contains(&key.len()) && !key.chars().any(is_unseen) {
        true => Ok(()),
        false => Err(bad(format!(
            "the key in the path must be 1 to {KEY_BYTES_MAX} bytes without control characters"
        ))),
    }
}

// ---- the sidebar ----

/// Parses the body of `PUT .../status/{key}`: `{text, icon?, color?}`.
///
/// # Errors
/// 400, with the field and its rule.
pub fn parse_status(body: &[u8]) -> Result<StatusPill, Reject> {
    let fields = parse_body(body)?;
    Ok(StatusPill {
        text: absent_is(line(&fields, "text", NAME_BYTES_MAX)?, "text")?,
        icon: line(&fields, "icon", KEY_BYTES_MAX)?,
        color: line(&fields, "color", KEY_BYTES_MAX)?,
    })
}

/// Parses the body of `PUT .../progress`: `{value, label?}`.
///
/// # Errors
/// 400, with the field and its rule.
pub fn parse_progress(body: &[u8]) -> Result<Progress, Reject> {
    let fields = parse_body(body)?;
    let value = absent_is(number(&fields, "value", 0.0, 1.0)?, "value")?;
    Ok(Progress { value, label: line(&fields, "label", NAME_BYTES_MAX)? })
}

/// Parses the body of `POST .../log`: `{message, level?, source?}`.
///
/// # Errors
/// 400, with the field and its rule.
pub fn parse_log(body: &[u8], now_unix_ms: u64) -> Result<LogLine, Reject> {
    let fields = parse_body(body)?;
    Ok(LogLine {
        message: absent_is(text(&fields, "message")?, "message")?,
        level: one_of(&fields, "level", &LEVELS)?,
        source: line(&fields, "source", KEY_BYTES_MAX)?,
        at_ms: now_unix_ms,
    })
}

/// The snapshot's `sidebar`: by workspace id `{status: {KEY: {text, icon?, color?}}, progress: {value,
/// label?} or null, log: [{message, level?, source?, at}]}`.
pub fn sidebar_json(sidebar: &Sidebar) -> Value {
    sidebar.cards().iter().map(|(id, card)| (id.clone(), card_json(card))).collect::<Fields>().into()
}

/// One workspace's part of it.
pub fn card_json(card: &Card) -> Value {
    let status = card.status.iter().map(|(key, pill)| (key.clone(), pill_json(pill)));
    json!({
        "status": status.collect::<Fields>(),
        "progress": card.progress.as_ref().map(progress_json),
        "log": card.log.iter().map(log_line_json).collect::<Vec<_>>(),
    })
}

/// The `sidebar` of a `sidebarUpdate`.
pub fn sidebar_change_json(change: &SidebarChange) -> Value {
    let card = match &change.part {
        CardPart::Status { key, pill } => json!({ "status": { key: pill.as_ref().map(pill_json) } }),
        CardPart::Progress(progress) => json!({ "progress": progress.as_ref().map(progress_json) }),
        CardPart::LogLine(line) => json!({ "log": [log_line_json(line)] }),
        CardPart::Removed => Value::Null,
    };
    json!({ &change.workspace_id: card })
}

/// The `keys` of `htKeysSeen`, and the snapshot's `htKeys`.
pub fn ht_keys_json(sidebar: &Sidebar) -> Value {
    sidebar.keys_seen().collect()
}

fn pill_json(pill: &StatusPill) -> Value {
    let mut json = json!({ "text": pill.text });
    put_some(&mut json, "icon", pill.icon.as_deref());
    put_some(&mut json, "color", pill.color.as_deref());
    json
}

fn progress_json(progress: &Progress) -> Value {
    let mut json = json!({ "value": progress.value });
    put_some(&mut json, "label", progress.label.as_deref());
    json
}

fn log_line_json(line: &LogLine) -> Value {
    let mut json = json!({ "message": line.message, "at": rfc3339(line.at_ms) });
    put_some(&mut json, "level", line.level.map(|level| name_of(&LEVELS, level)));
    put_some(&mut json, "source", line.source.as_deref());
    json
}

impl From<TooManyPills> for Reject {
    fn from(_: TooManyPills) -> Reject {
        Reject::new(429, "the workspace has too many status keys; clear some")
    }
}

// ---- notifications ----

/// Parses the body of `POST /v1/notifications`: `{title, body?, level?, surfaceId?}`. Whether the surface
/// exists is for the caller to know.
///
/// # Errors
/// 400, with the field and its rule.
pub fn parse_notification(body: &[u8]) -> Result<NotificationFields, Reject> {
    let fields = parse_body(body)?;
    Ok(NotificationFields {
        title: required_line(&fields, "title", NAME_BYTES_MAX)?,
        body: text(&fields, "body")?,
        level: one_of(&fields, "level", &LEVELS)?,
        surface_id: line(&fields, "surfaceId", NAME_BYTES_MAX)?,
    })
}

/// One notification, as in `notificationCreate`: `{id, title, body?, level?, surfaceId?, createdAt}`.
pub fn notification_json(notification: &Notification) -> Value {
    let NotificationFields { title, body, level, surface_id } = &notification.fields;
    let mut json =
        json!({ "id": notification.id, "title": title, "createdAt": rfc3339(notification.created_at_ms) });
    put_some(&mut json, "body", body.as_deref());
    put_some(&mut json, "level", level.map(|level| name_of(&LEVELS, level)));
    put_some(&mut json, "surfaceId", surface_id.as_deref());
    json
}

/// The snapshot's `notifications`, oldest first.
pub fn notifications_json(notifications: &Notifications) -> Value {
    notifications.iter().map(notification_json).collect()
}

// ---- panels ----

/// Parses the body of `PUT /v1/surfaces/{id}/panels/{panelId}`. Pictures are base64 in `data`. Without a place
/// and a size it stands at 100, 100 and is as large as its content; one that floats can be moved and resized.
///
/// # Errors
/// 400, with the field and its rule; 413 for too much content.
pub fn parse_panel(body: &[u8]) -> Result<Panel, Reject> {
    let fields = parse_body(body)?;
    let kind = panel_kind(&fields)?;
    let data = absent_is(panel_data(&fields, kind)?, "data")?;
    panel(&fields, kind, data)
}

/// Parses the body of `PATCH /v1/surfaces/{id}/panels/{panelId}`. `kind` is that of the panel.
///
/// # Errors
/// 400, with the field and its rule; 413 for too much content.
pub fn parse_panel_patch(body: &[u8], kind: PanelKind) -> Result<PanelPatch, Reject> {
    let fields = parse_body(body)?;
    let data = panel_data(&fields, kind)?;
    Ok(PanelPatch { data, ..panel_patch(&fields)? })
}

pub(super) fn panel_kind(fields: &Fields) -> Result<PanelKind, Reject> {
    one_of(fields, "type", &KINDS)?.ok_or_else(|| bad("type must be image, svg, html or canvas2d"))
}

/// A panel out of its fields.
pub(super) fn panel(fields: &Fields, kind: PanelKind, data: Vec<u8>) -> Result<Panel, Reject> {
    let patch = panel_patch(fields)?;
    let position = patch.position.unwrap_or(Position::Float);
    let floats = position == Position::Float;
    Ok(Panel {
        kind,
        x: patch.x.unwrap_or(100.0),
        y: patch.y.unwrap_or(100.0),
        width: patch.width.unwrap_or(Side::Auto),
        height: patch.height.unwrap_or(Side::Auto),
        position,
        interactive: patch.interactive.unwrap_or(false),
        draggable: patch.draggable.unwrap_or(floats),
        resizable: patch.resizable.unwrap_or(floats),
        z_index: patch.z_index,
        opacity: patch.opacity,
        format: patch.format,
        data,
    })
}

/// Everything but the content.
pub(super) fn panel_patch(fields: &Fields) -> Result<PanelPatch, Reject> {
    let pixels = |name: &str| number(fields, name, -PANEL_PIXELS_MAX, PANEL_PIXELS_MAX);
    let side = |name: &str| match given(fields, name).and_then(Value::as_str) {
        Some("auto") => Ok(Some(Side::Auto)),
        _ => match number(fields, name, 0.0, PANEL_PIXELS_MAX) {
            Ok(pixels) => Ok(pixels.map(Side::Pixels)),
            Err(_) => Err(bad(format!("{name} must be a number from 0 to {PANEL_PIXELS_MAX}, or \"auto\""))),
        },
    };
    let switch = |name: &str| given(fields, name).map(|_| flag(fields, name)).transpose();
    let z_max = i64::from(PANEL_Z_MAX);
    Ok(PanelPatch {
        x: pixels("x")?,
        y: pixels("y")?,
        width: side("width")?,
        height: side("height")?,
        position: one_of(fields, "position", &POSITIONS)?,
        interactive: switch("interactive")?,
        draggable: switch("draggable")?,
        resizable: switch("resizable")?,
        z_index: whole(fields, "zIndex", -z_max, z_max)?.and_then(|z| i32::try_from(z).ok()),
        opacity: number(fields, "opacity", 0.0, 1.0)?,
        format: line(fields, "format", KEY_BYTES_MAX)?,
        data: None,
    })
}

/// The content in the field `data`.
pub(super) fn panel_data(fields: &Fields, kind: PanelKind) -> Result<Option<Vec<u8>>, Reject> {
    let Some(value) = given(fields, "data") else { return Ok(None) };
    let data = match (value.as_str(), kind.is_text()) {
        (Some(text), true) => text.as_bytes().to_vec(),
        (Some(text), false) => {
            BASE64.decode(text.as_bytes()).map_err(|_| bad("data of a picture must be base64"))?
        }
        (None, _) => return Err(bad("data must be a string")),
    };
    if data.len() > PANEL_BYTES_MAX {
        return Err(Reject::from(PanelError::TooLarge));
    }
    Ok(Some(data))
}

/// A panel as in `panelCreate`.
pub fn panel_json(panel: &Panel) -> Value {
    let mut json = json!({
        "type": name_of(&KINDS, panel.kind),
        "x": panel.x,
        "y": panel.y,
        "width": side_json(panel.width),
        "height": side_json(panel.height),
        "position": name_of(&POSITIONS, panel.position),
        "interactive": panel.interactive,
        "draggable": panel.draggable,
        "resizable": panel.resizable,
        "data": data_json(&panel.data, panel.kind),
    });
    let optional = [
        ("zIndex", panel.z_index.map(Value::from)),
        ("opacity", panel.opacity.map(Value::from)),
        ("format", panel.format.as_deref().map(Value::from)),
    ];
    put_given(&mut json, optional);
    json
}

/// The fields that are different, as in `panelUpdate`. `kind` is that of the panel.
pub fn panel_patch_json(patch: &PanelPatch, kind: PanelKind) -> Value {
    let mut json = json!({});
    let fields = [
        ("x", patch.x.map(Value::from)),
        ("y", patch.y.map(Value::from)),
        ("width", patch.width.map(side_json)),
        ("height", patch.height.map(side_json)),
        ("position", patch.position.map(|position| name_of(&POSITIONS, position).into())),
        ("interactive", patch.interactive.map(Value::from)),
        ("draggable", patch.draggable.map(Value::from)),
        ("resizable", patch.resizable.map(Value::from)),
        ("zIndex", patch.z_index.map(Value::from)),
        ("opacity", patch.opacity.map(Value::from)),
        ("format", patch.format.as_deref().map(Value::from)),
        ("data", patch.data.as_deref().map(|data| data_json(data, kind))),
    ];
    put_given(&mut json, fields);
    json
}

fn put_given<const N: usize>(json: &mut Value, fields: [(&str, Option<Value>); N]) {
    for (name, value) in fields {
        if let Some(value) = value {
            json[name] = value;
        }
    }
}

fn side_json(side: Side) -> Value {
    match side {
        Side::Auto => "auto".into(),
        Side::Pixels(pixels) => pixels.into(),
    }
}

fn data_json(data: &[u8], kind: PanelKind) -> Value {
    match kind.is_text() {
        true => String::from_utf8_lossy(data).into(),
        false => BASE64.encode(data).into(),
    }
}

/// Panels as in the snapshot's `panels`: `[{surfaceId, id, panel}]`.
pub fn panels_json<'a>(panels: impl Iterator<Item = (&'a str, &'a str, &'a Panel)>) -> Value {
    panels
        .map(|(surface_id, id, panel)| json!({ "surfaceId": surface_id, "id": id, "panel": panel_json(panel) }))
        .collect()
}

/// Parses the `event` of a `panelInteract`: `{type, x?, y?, ...}`. Its type is a mouse event (`click`,
/// `mousedown`, `mouseup`, `mousemove`, `mouseenter`, `mouseleave`, `wheel`), `dragend`, `resize` or `close`.
///
/// # Errors
/// In words: the field and its rule.
pub fn parse_panel_event(fields: &Fields) -> Result<PanelEvent, String> {
    panel_event(fields).map_err(|reject| reject.message)
}

fn panel_event(fields: &Fields) -> Result<PanelEvent, Reject> {
    let place = |name: &str| number(fields, name, -PANEL_PIXELS_MAX, PANEL_PIXELS_MAX);
    let somewhere = |name: &str| Ok::<f64, Reject>(place(name)?.unwrap_or(0.0));
    let side = |name: &str| absent_is(number(fields, name, 0.0, PANEL_PIXELS_MAX)?, name);
    let bits = |name: &str| Ok::<u8, Reject>(whole(fields, name, 0, 255)?.unwrap_or(0) as u8);
    let kind = given(fields, "type").and_then(Value::as_str).unwrap_or_default();
    if let Some((_, kind)) = POINTERS.iter().find(|(name, _)| *name == kind) {
        let (x, y) = (somewhere("x")?, somewhere("y")?);
        return Ok(PanelEvent::Pointer {
            kind: *kind,
            x,
            y,
            button: bits("button")?,
            buttons: bits("buttons")?,
        });
    }
    match kind {
        "wheel" => Ok(PanelEvent::Wheel {
            x: somewhere("x")?,
            y: somewhere("y")?,
            delta_x: somewhere("deltaX")?,
            delta_y: somewhere("deltaY")?,
            buttons: bits("buttons")?,
        }),
        "dragend" => {
            Ok(PanelEvent::DragEnd { x: absent_is(place("x")?, "x")?, y: absent_is(place("y")?, "y")? })
        }
        "resize" => Ok(PanelEvent::Resize { width: side("width")?, height: side("height")? }),
        "close" => Ok(PanelEvent::Close),
        _ => Err(bad("event.type must be a mouse event, wheel, dragend, resize or close")),
    }
}

/// A person's event as a script reads it on descriptor 5: `{id, event, ...}`.
pub(super) fn panel_event_json(id: &str, event: &PanelEvent) -> Value {
    match event {
        PanelEvent::Pointer { kind, x, y, button, buttons } => json!({
            "id": id, "event": name_of(&POINTERS, *kind), "x": x, "y": y, "button": button, "buttons": buttons,
        }),
        PanelEvent::Wheel { x, y, delta_x, delta_y, buttons } => json!({
            "id": id, "event": "wheel", "x": x, "y": y, "deltaX": delta_x, "deltaY": delta_y, "buttons": buttons,
        }),
        PanelEvent::DragEnd { x, y } => json!({ "id": id, "event": "dragend", "x": x, "y": y }),
        PanelEvent::Resize { width, height } => {
            json!({ "id": id, "event": "resize", "width": width, "height": height })
        }
        PanelEvent::Close => json!({ "id": id, "event": "close" }),
    }
}

impl From<PanelError> for Reject {
    fn from(error: PanelError) -> Reject {
        match error {
            PanelError::UnknownPanel => Reject::new(404, "no such panel"),
            PanelError::TooManyPanels => Reject::new(429, "the surface has too many panels; clear some"),
            PanelError::TooLarge => Reject::new(413, format!("data must be at most {PANEL_BYTES_MAX} bytes")),
            PanelError::NoRoom => Reject::new(429, "the panels hold too much data already; clear some"),
            PanelError::Not(flag) => Reject::new(409, format!("the panel is not {flag}")),
        }
    }
}

// ---- plans ----

/// Parses the body of `PUT /v1/plans/{workspaceId}`: `{agentId?, steps: [{id, title, state?}]}`; a step
/// without a state waits.
///
/// # Errors
/// 400, with the field and its rule.
pub fn parse_plan(body: &[u8], now_unix_ms: u64) -> Result<Plan, Reject> {
    let fields = parse_body(body)?;
    let steps = absent_is(step_patches(&fields)?, "steps")?;
    let steps = steps.into_iter().enumerate().map(|(n, step)| {
        let title = absent_is(step.title, &format!("steps[{n}].title"))?;
        Ok(PlanStep { id: step.id, title, state: step.state.unwrap_or(StepState::Waiting) })
    });
    Ok(Plan {
        agent_id: line(&fields, "agentId", NAME_BYTES_MAX)?,
        steps: steps.collect::<Result<_, Reject>>()?,
        updated_at_ms: now_unix_ms,
    })
}

/// Parses the body of `PATCH /v1/plans/{workspaceId}`: `{agentId?, steps?: [{id, title?, state?}],
/// complete?}`. Steps are found by their id, new ones are appended; `complete: true` makes all of them done.
///
/// # Errors
/// 400, with the field and its rule.
pub fn parse_plan_patch(body: &[u8]) -> Result<PlanPatch, Reject> {
    let fields = parse_body(body)?;
    let agent_id = line(&fields, "agentId", NAME_BYTES_MAX)?;
    Ok(PlanPatch {
        agent_id: fields.contains_key("agentId").then_some(agent_id),
        steps: step_patches(&fields)?.unwrap_or_default(),
        complete: flag(&fields, "complete")?,
    })
}

fn step_patches(fields: &Fields) -> Result<Option<Vec<StepPatch>>, Reject> {
    let Some(steps) = given(fields, "steps") else { return Ok(None) };
    let steps = steps.as_array().filter(|steps| steps.len() <= PLAN_STEPS_MAX);
    let rule = || bad(format!("steps must be an array of at most {PLAN_STEPS_MAX} steps"));
    let mut patches: Vec<StepPatch> = Vec::new();
    for (n, step) in steps.ok_or_else(rule)?.iter().enumerate() {
        let inside = |reject: Reject| bad(format!("steps[{n}].{}", reject.message));
        let fields = step.as_object().ok_or_else(|| bad(format!("steps[{n}] must be an object")))?;
        let id = required_line(fields, "id", KEY_BYTES_MAX).map_err(inside)?;
        if patches.iter().any(|other| other.id == id) {
            return Err(bad(format!("steps[{n}].id is used by an earlier step")));
        }
        let title = line(fields, "title", NAME_BYTES_MAX).map_err(inside)?;
        patches.push(StepPatch { id, title, state: one_of(fields, "state", &STATES).map_err(inside)? });
    }
    Ok(Some(patches))
}

/// One workspace's plan: `{workspaceId, agentId?, steps: [{id, title, state}], updatedAt}`.
pub fn plan_json(workspace_id: &str, plan: &Plan) -> Value {
    let step = |step: &PlanStep| json!({ "id": step.id, "title": step.title, "state": name_of(&STATES, step.state) });
    let mut json = json!({
        "workspaceId": workspace_id,
        "steps": plan.steps.iter().map(step).collect::<Vec<_>>(),
        "updatedAt": rfc3339(plan.updated_at_ms),
    });
    put_some(&mut json, "agentId", plan.agent_id.as_deref());
    json
}

/// The `plans` of `plansSnapshot` and of the snapshot.
pub fn plans_json(plans: &Plans) -> Value {
    plans.iter().map(|(workspace_id, plan)| plan_json(workspace_id, plan)).collect()
}

impl From<PlanError> for Reject {
    fn from(error: PlanError) -> Reject {
        match error {
            PlanError::UnknownPlan => Reject::new(404, "the workspace has no plan"),
            PlanError::UnknownStep(id) => {
                bad(format!("steps: there is no step {id:?}, and a new one needs a title"))
            }
            PlanError::TooManySteps => bad(format!("steps: a plan has at most {PLAN_STEPS_MAX}")),
        }
    }
}

// ---- auto-continue ----

/// The body of `POST /v1/autocontinue`: `{action: "fire" | "pause" | "resume", surfaceId, text?, reason?}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoContinueRequest {
    /// What is to be done.
    pub action: AutoContinueAction,
    /// In which terminal; as in a path, a surfaceId or a sessionId.
    pub surface_id: String,
    /// With `fire`: the notification's text. Else why.
    pub text: String,
}

/// See [`AutoContinueRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AutoContinueAction {
    /// Decide now, as if a notification had come.
    Fire,
    Pause,
    Resume,
}

/// Parses the body of `POST /v1/autocontinue`. Options are changed with `PATCH /v1/settings`.
///
/// # Errors
/// 400, with the field and its rule.
pub fn parse_auto_continue(body: &[u8]) -> Result<AutoContinueRequest, Reject> {
    const ACTIONS: [(&str, AutoContinueAction); 3] = [
        ("fire", AutoContinueAction::Fire),
        ("pause", AutoContinueAction::Pause),
        ("resume", AutoContinueAction::Resume),
    ];
    let fields = parse_body(body)?;
    let action = absent_is(one_of(&fields, "action", &ACTIONS)?, "action")?;
    let text = match action {
        AutoContinueAction::Fire => text(&fields, "text")?.unwrap_or_default(),
        AutoContinueAction::Pause | AutoContinueAction::Resume => {
            line(&fields, "reason", NAME_BYTES_MAX)?.unwrap_or_else(|| "by hand".to_owned())
        }
    };
    Ok(AutoContinueRequest { action, surface_id: required(&fields, "surfaceId", NAME_BYTES_MAX)?, text })
}

/// The answer to `GET /v1/autocontinue`: `{engine, dryRun, cooldownMs, maxConsecutive, paused: [surfaceId],
/// audit: [...]}`.
pub fn auto_continue_json(auto_continue: &AutoContinue, options: &AutoContinueOptions) -> Value {
    json!({
        "engine": name_of(&ENGINES, options.engine),
        "dryRun": options.dry_run,
        "cooldownMs": options.cooldown_ms,
        "maxConsecutive": options.consecutive_max,
        "paused": auto_continue.paused().collect::<Vec<_>>(),
        "audit": audit_json(auto_continue),
    })
}

/// The `audit` of `autoContinueAudit`, and the snapshot's `autoContinueAudit`: `[{at, surfaceId, agentId?,
/// outcome, reason, engine}]`, oldest first.
pub fn audit_json(auto_continue: &AutoContinue) -> Value {
    auto_continue.audit().map(entry_json).collect()
}

fn entry_json(entry: &AuditEntry) -> Value {
    let mut json = json!({
        "at": rfc3339(entry.at_ms),
        "surfaceId": entry.surface_id,
        "outcome": name_of(&OUTCOMES, entry.outcome),
        "reason": entry.reason,
        "engine": name_of(&ENGINES, entry.engine),
    });
    put_some(&mut json, "agentId", entry.agent_id.as_deref());
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::auto_continue::Trigger;
    use crate::workspace::panels::Panels;

    /// The message of the 400 that a body gets.
    fn refused<T: std::fmt::Debug>(parsed: Result<T, Reject>) -> String {
        let reject = parsed.unwrap_err();
        assert_eq!(reject.status, 400, "{}", reject.message);
        reject.message
    }

    fn event(json: Value) -> Result<PanelEvent, String> {
        parse_panel_event(json.as_object().unwrap())
    }

    #[test]
    fn a_status_goes_from_its_body_to_the_card_and_is_told_by_its_key() {
        let mut sidebar = Sidebar::default();
        let pill = parse_status(br##"{"text":"green","icon":"check","color":"#0f0","more":1}"##).unwrap();
        let change = sidebar.set_status("w", "build", pill).unwrap().unwrap();
        let json = json!({ "text": "green", "icon": "check", "color": "#0f0" });
        assert_eq!(sidebar_change_json(&change), json!({ "w": { "status": { "build": json } } }));
        let whole = json!({ "w": { "status": { "build": json }, "progress": null, "log": [] } });
        assert_eq!(sidebar_json(&sidebar), whole);
        let change = sidebar.clear_status("w", "build").unwrap();
        assert_eq!(sidebar_change_json(&change), json!({ "w": { "status": { "build": null } } }));
        let change = sidebar.remove_workspace("w").unwrap();
        assert_eq!(sidebar_change_json(&change), json!({ "w": null }));
    }

    #[test]
    fn progress_and_log_are_told_in_the_shape_of_the_snapshot() {
        let mut sidebar = Sidebar::default();
        let half = parse_progress(br#"{"value":0.5,"label":"half"}"#).unwrap();
        let change = sidebar.set_progress("w", half).unwrap();
        assert_eq!(
            sidebar_change_json(&change),
            json!({ "w": { "progress": { "value": 0.5, "label": "half" } } })
        );
        let line = parse_log(br#"{"message":"a\nb\u001b[2J","level":"error","source":"ci"}"#, 0).unwrap();
        let json = json!({
            "message": "a\nb[2J", "level": "error", "source": "ci", "at": "1970-01-01T00:00:00.000Z",
        });
        let change = sidebar.log("w", line);
        assert_eq!(sidebar_change_json(&change), json!({ "w": { "log": [json] } }));
        let change = sidebar.clear_progress("w").unwrap();
        assert_eq!(sidebar_change_json(&change), json!({ "w": { "progress": null } }));
        assert_eq!(sidebar_json(&sidebar)["w"]["log"], json!([json]));
        sidebar.see_key("b");
        sidebar.see_key("a");
        assert_eq!(ht_keys_json(&sidebar), json!(["b", "a"]));
    }

    #[test]
    fn what_is_wrong_about_a_body_names_the_field() {
        assert_eq!(refused(parse_status(b"{}")), "text is needed");
        let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(NAME_BYTES_MAX + 1));
        assert_eq!(refused(parse_status(long.as_bytes())), "text must be a string of at most 1024 bytes");
        assert_eq!(
            refused(parse_status(br#"{"text":"x","icon":5}"#)),
            "icon must be a string of at most 256 bytes"
        );
        let rule = "value must be a number from 0 to 1";
        for value in ["1.5", "-0.1", "1e400", "\"1\"", "true", "[]"] {
            let body = format!(r#"{{"value":{value}}}"#);
            let message = refused(parse_progress(body.as_bytes()));
            assert!(message == rule || message.starts_with("malformed JSON"), "{value}: {message}");
        }
        assert_eq!(refused(parse_progress(br#"{"value":null}"#)), "value is needed");
        assert_eq!(
            refused(parse_progress(br#"{"value":NaN}"#)),
            "malformed JSON: expected value at line 1 column 10"
        );
        assert_eq!(
            refused(parse_log(br#"{"message":"x","level":"loud"}"#, 0)),
            "level must be one of info, progress, success, warning, error"
        );
        assert_eq!(
            refused(parse_notification(br#"{"body":"x"}"#)),
            "title must be a string of 1 to 1024 bytes"
        );
        assert_eq!(refused(parse_notification(b"[]")), "a JSON object is expected");
        assert_eq!(
            refused(check_key(&"k".repeat(10 << 10))),
            "the key in the path must be 1 to 256 bytes without control characters"
        );
        assert!(check_key("").is_err() && check_key("a\u{202e}b").is_err() && check_key("bäu-1").is_ok());
    }

    #[test]
    fn control_and_bidirectional_characters_do_not_reach_a_line() {
        let body = r#"{"title":"a\u0000\u0007\u001b\u009b\n\u202eb\u2066c","body":"1\n2\t3\u0007"}"#;
        let notification = parse_notification(body.as_bytes()).unwrap();
        assert_eq!((notification.title.as_str(), notification.body.as_deref()), ("abc", Some("1\n2\t3")));
    }

    #[test]
    fn a_notification_is_told_with_what_it_has() {
        let mut all = Notifications::new(0);
        let plain = parse_notification(br#"{"title":"done"}"#).unwrap();
        let whole = parse_notification(br#"{"title":"done","body":"all","level":"success","surfaceId":"s"}"#)
            .unwrap();
        all.create(plain, 0);
        all.create(whole, 1000);
        assert_eq!(
            notifications_json(&all),
            json!([
                { "id": "1", "title": "done", "createdAt": "1970-01-01T00:00:00.000Z" },
                { "id": "2", "title": "done", "body": "all", "level": "success", "surfaceId": "s",
                  "createdAt": "1970-01-01T00:00:01.000Z" },
            ])
        );
    }

    #[test]
    fn a_panel_has_defaults_and_its_content_is_text_or_base64() {
        let svg = parse_panel(br#"{"type":"svg","data":"<svg/>"}"#).unwrap();
        let mut json = json!({
            "type": "svg", "x": 100.0, "y": 100.0, "width": "auto", "height": "auto", "position": "float",
            "interactive": false, "draggable": true, "resizable": true, "data": "<svg/>",
        });
        assert_eq!(panel_json(&svg), json);
        let body = br#"{"type":"image","x":-5,"y":1e3,"width":20,"height":10.5,"position":"fixed","interactive":true,
            "zIndex":7,"opacity":0.5,"format":"png","data":"iVBORw=="}"#;
        let image = parse_panel(body).unwrap();
        assert_eq!((image.data.as_slice(), image.draggable), (b"\x89PNG".as_slice(), false));
        json = json!({
            "type": "image", "x": -5.0, "y": 1000.0, "width": 20.0, "height": 10.5, "position": "fixed",
            "interactive": true, "draggable": false, "resizable": false, "zIndex": 7, "opacity": 0.5,
            "format": "png", "data": "iVBORw==",
        });
        assert_eq!(panel_json(&image), json);
        let mut panels = Panels::default();
        panels.put("s", "p", image).unwrap();
        assert_eq!(panels_json(panels.iter()), json!([{ "surfaceId": "s", "id": "p", "panel": json }]));
    }

    #[test]
    fn a_panels_patch_has_only_what_it_was_given() {
        let patch =
            parse_panel_patch(br#"{"width":"auto","opacity":1,"data":"<b>"}"#, PanelKind::Html).unwrap();
        assert_eq!(
            panel_patch_json(&patch, PanelKind::Html),
            json!({ "width": "auto", "opacity": 1.0, "data": "<b>" })
        );
        assert_eq!(parse_panel_patch(b"{}", PanelKind::Html), Ok(PanelPatch::default()));
    }

    #[test]
    fn what_is_wrong_about_a_panel_names_the_field() {
        let with = |field: &str| parse_panel(format!(r#"{{"type":"html","data":"","{field}}}"#).as_bytes());
        let rules = [
            (r#"x":1e300"#, "x must be a number from -100000 to 100000"),
            (r#"y":"1""#, "y must be a number from -100000 to 100000"),
            (r#"width":-1"#, "width must be a number from 0 to 100000, or \"auto\""),
            (r#"height":"big""#, "height must be a number from 0 to 100000, or \"auto\""),
            (r#"position":"top""#, "position must be one of float, inline, overlay, fixed"),
            (r#"interactive":1"#, "interactive must be true or false"),
            (r#"zIndex":1.5"#, "zIndex must be a whole number from -1000000 to 1000000"),
            (r#"zIndex":1e18"#, "zIndex must be a whole number from -1000000 to 1000000"),
            (r#"opacity":2"#, "opacity must be a number from 0 to 1"),
            (r#"type":"video""#, "type must be one of image, svg, html, canvas2d"),
            (r#"data":7"#, "data must be a string"),
        ];
        for (field, rule) in rules {
            assert_eq!(refused(with(field)), rule);
        }
        assert_eq!(refused(parse_panel(br#"{"data":""}"#)), "type must be image, svg, html or canvas2d");
        assert_eq!(refused(parse_panel(br#"{"type":"svg"}"#)), "data is needed");
        let picture = parse_panel(br#"{"type":"canvas2d","data":"no base64"}"#);
        assert_eq!(refused(picture), "data of a picture must be base64");
        let large = format!(r#"{{"type":"html","data":"{}"}}"#, "x".repeat(5 << 20));
        assert_eq!(parse_panel(large.as_bytes()).unwrap_err().status, 413);
    }

    #[test]
    fn a_persons_event_reaches_the_script_in_its_own_shape() {
        let told = |json: Value| panel_event_json("p", &event(json).unwrap());
        assert_eq!(
            told(json!({ "type": "click", "x": 42, "y": 87.5, "button": 2, "buttons": 4 })),
            json!({ "id": "p", "event": "click", "x": 42.0, "y": 87.5, "button": 2, "buttons": 4 })
        );
        assert_eq!(
            told(json!({ "type": "mouseleave" })),
            json!({ "id": "p", "event": "mouseleave", "x": 0.0, "y": 0.0, "button": 0, "buttons": 0 })
        );
        assert_eq!(
            told(json!({ "type": "wheel", "x": 1, "y": 2, "deltaX": 0, "deltaY": -120 })),
            json!({ "id": "p", "event": "wheel", "x": 1.0, "y": 2.0, "deltaX": 0.0, "deltaY": -120.0, "buttons": 0 })
        );
        assert_eq!(
            told(json!({ "type": "dragend", "x": 300, "y": 400 })),
            json!({ "id": "p", "event": "dragend", "x": 300.0, "y": 400.0 })
        );
        assert_eq!(
            told(json!({ "type": "resize", "width": 600, "height": 400 })),
            json!({ "id": "p", "event": "resize", "width": 600.0, "height": 400.0 })
        );
        assert_eq!(told(json!({ "type": "close" })), json!({ "id": "p", "event": "close" }));
        let refused = |json: Value| event(json).unwrap_err();
        assert_eq!(refused(json!({ "type": "dragend", "x": 1 })), "y is needed");
        assert_eq!(
            refused(json!({ "type": "resize", "width": -1, "height": 1 })),
            "width must be a number from 0 to 100000"
        );
        assert_eq!(
            refused(json!({ "type": "click", "button": 256 })),
            "button must be a whole number from 0 to 255"
        );
        let rule = "event.type must be a mouse event, wheel, dragend, resize or close";
        assert_eq!((refused(json!({})), refused(json!({ "type": 3 }))), (rule.to_owned(), rule.to_owned()));
    }

    #[test]
    fn a_plan_goes_from_its_body_to_the_snapshot_and_changes_by_step() {
        let body = br#"{"agentId":"claude:1","steps":[{"id":"M1","title":"one","state":"active"},{"id":"M2","title":"two"}]}"#;
        let mut plans = Plans::default();
        plans.set("w", parse_plan(body, 0).unwrap());
        let patch = parse_plan_patch(br#"{"agentId":null,"steps":[{"id":"M1","state":"done"}]}"#).unwrap();
        plans.update("w", patch, 1000).unwrap();
        assert_eq!(
            plans_json(&plans),
            json!([{
                "workspaceId": "w",
                "steps": [
                    { "id": "M1", "title": "one", "state": "done" },
                    { "id": "M2", "title": "two", "state": "waiting" },
                ],
                "updatedAt": "1970-01-01T00:00:01.000Z",
            }])
        );
        assert_eq!(
            parse_plan_patch(br#"{"complete":true}"#).unwrap(),
            PlanPatch { complete: true, ..PlanPatch::default() }
        );
        assert_eq!(refused(parse_plan(b"{}", 0)), "steps is needed");
        assert_eq!(refused(parse_plan(br#"{"steps":{}}"#, 0)), "steps must be an array of at most 200 steps");
        assert_eq!(refused(parse_plan(br#"{"steps":[1]}"#, 0)), "steps[0] must be an object");
        assert_eq!(refused(parse_plan(br#"{"steps":[{"id":"a"}]}"#, 0)), "steps[0].title is needed");
        assert_eq!(
            refused(parse_plan_patch(br#"{"steps":[{}]}"#)),
            "steps[0].id must be a string of 1 to 256 bytes"
        );
        let state = parse_plan_patch(br#"{"steps":[{"id":"a"},{"id":"b","state":"open"}]}"#);
        assert_eq!(refused(state), "steps[1].state must be one of done, active, waiting, err");
        let twice = parse_plan(br#"{"steps":[{"id":"a","title":""},{"id":"a","title":""}]}"#, 0);
        assert_eq!(refused(twice), "steps[1].id is used by an earlier step");
        let unknown = plans.update("w", parse_plan_patch(br#"{"steps":[{"id":"M9"}]}"#).unwrap(), 0);
        assert_eq!(
            refused(unknown.map_err(Reject::from)),
            "steps: there is no step \"M9\", and a new one needs a title"
        );
    }

    #[test]
    fn auto_continue_is_asked_by_action_and_tells_its_audit() {
        let fire = parse_auto_continue(br#"{"action":"fire","surfaceId":"s","text":"done"}"#).unwrap();
        assert_eq!(
            (fire.action, fire.surface_id.as_str(), fire.text.as_str()),
            (AutoContinueAction::Fire, "s", "done")
        );
        let pause = parse_auto_continue(br#"{"action":"pause","surfaceId":"s"}"#).unwrap();
        assert_eq!((pause.action, pause.text.as_str()), (AutoContinueAction::Pause, "by hand"));
        assert_eq!(refused(parse_auto_continue(b"{}")), "action is needed");
        assert_eq!(
            refused(parse_auto_continue(br#"{"action":"go"}"#)),
            "action must be one of fire, pause, resume"
        );
        let nowhere = parse_auto_continue(br#"{"action":"fire"}"#);
        assert_eq!(refused(nowhere), "surfaceId must be a string of 1 to 1024 bytes without NUL");

        let mut auto = AutoContinue::default();
        let options = AutoContinueOptions {
            engine: Engine::Heuristic,
            dry_run: true,
            cooldown_ms: 3000,
            consecutive_max: 5,
        };
        let plan = parse_plan(br#"{"agentId":"a","steps":[{"id":"M1","title":""}]}"#, 0).unwrap();
        let trigger = Trigger { surface_id: "s", notification: "", plan: Some(&plan), screen_tail: "" };
        auto.decide(trigger, &options, 0);
        auto.pause("s", "by hand", options.engine, 1);
        let at = "1970-01-01T00:00:00.000Z";
        assert_eq!(
            auto_continue_json(&auto, &options),
            json!({
                "engine": "heuristic", "dryRun": true, "cooldownMs": 3000, "maxConsecutive": 5, "paused": ["s"],
                "audit": [
                    { "at": at, "surfaceId": "s", "agentId": "a", "outcome": "dry-run", "reason": "step M1 is waiting",
                      "engine": "heuristic" },
                    { "at": "1970-01-01T00:00:00.001Z", "surfaceId": "s", "outcome": "paused", "reason": "by hand",
                      "engine": "heuristic" },
                ],
            })
        );
    }
}
