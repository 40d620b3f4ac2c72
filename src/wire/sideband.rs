//! The descriptors 3, 4 and 5 of a shell: rows that define panels, as JSON lines; the bytes that those rows
//! announce with `byteLength`; and events back, as JSON lines. Every process of the terminal shares them, so a
//! script's death closes nothing: only time tells that a payload will not be completed.
//!
//! A row is `{"id", "type", ...}` with a panel's fields. Its type is `image`, `svg`, `html` or `canvas2d`, which
//! makes a panel, or `update`, `clear` or `flush`. Rows take effect in their order: one that waits for its bytes
//! holds back those behind it. Bytes may come before their row. A row that is refused is answered with an
//! error event, and the bytes that it announced are skipped, so that the next row's are its own.
//!
//! | code of an error | why |
//! | --- | --- |
//! | `meta-parse` | the line is no JSON object, or too long |
//! | `meta-validate` | a field breaks its rule, or there is no room for the panel |
//! | `unknown-id` | an update or clear of a panel that is not there |
//! | `data-channel` | a `dataChannel` other than `data` |
//! | `data-timeout` | the announced bytes did not come; those that did are thrown away |
//! | `data-overflow` | bytes came that no row announced; they are thrown away |
//! | `data-incomplete` | a `flush` gave up the announced bytes |

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use memchr::memchr;
use serde_json::{Map, Value, json};

use super::control::{panel, panel_data, panel_event_json, panel_kind, panel_patch};
use super::http::Reject;
use super::json::{parse_object, whole_number};
use super::rest::{bad, given, required};
use crate::limits::{
    NAME_BYTES_MAX, PANEL_BYTES_MAX, SIDEBAND_LINE_BYTES_MAX, SIDEBAND_PATIENCE, SIDEBAND_PATIENCE_MAX,
    SIDEBAND_ROW_BYTES_MAX, SIDEBAND_ROWS_MAX, SIDEBAND_STILL, SIDEBAND_UNCLAIMED_BYTES_MAX,
    SIDEBAND_UNCLAIMED_MAX,
};
use crate::workspace::panels::{Panel, PanelChange, PanelError, PanelEvent, PanelKind, PanelPatch, Panels};

/// The descriptors as a shell sees them: rows, bytes, events.
pub const DESCRIPTORS: [i32; 3] = [3, 4, 5];

/// What tells scripts of the descriptors. `HYPERTERM_CHANNELS` has the three numbers by name, and the same as
/// a list, which is where the published clients look; other clients know the three numbers by themselves.
pub const ENVIRONMENT: [(&str, &str); 5] = [
    ("HYPERTERM_PROTOCOL_VERSION", "1"),
    (
        "HYPERTERM_CHANNELS",
        concat!(
            r#"{"meta":3,"data":4,"events":5,"version":1,"channels":["#,
            r#"{"name":"meta","fd":3,"direction":"out","encoding":"jsonl"},"#,
            r#"{"name":"data","fd":4,"direction":"out","encoding":"binary"},"#,
            r#"{"name":"events","fd":5,"direction":"in","encoding":"jsonl"}]}"#
        ),
    ),
    ("HYPERTERM_META_FD", "3"),
    ("HYPERTERM_DATA_FD", "4"),
    ("HYPERTERM_EVENT_FD", "5"),
];

/// Ids that stand for no panel.
const SYSTEM: &str = "__system__";
const TERMINAL: &str = "__terminal__";

/// What a script did wrong, or what happened to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SidebandError {
    /// See the table above.
    pub code: &'static str,
    /// For people.
    pub message: String,
    /// The panel it is about.
    pub panel_id: Option<String>,
}

/// What a row asks for, its bytes included.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Command {
    Create {
        id: String,
        panel: Panel,
    },
    /// `text` is the content when it stood in the row: what it means depends on the panel's kind.
    Update {
        id: String,
        patch: PanelPatch,
        text: Option<String>,
    },
    Clear {
        id: String,
    },
    /// To be told to the script.
    Error(SidebandError),
}

impl Command {
    /// Does it. `None` when nothing is different.
    ///
    /// # Errors
    /// For the script; nothing is changed.
    pub fn apply(self, surface_id: &str, panels: &mut Panels) -> Result<Option<PanelChange>, SidebandError> {
        match self {
            Command::Create { id, panel } => panels.put(surface_id, &id, panel).map(Some).map_err(of(id)),
            Command::Update { id, mut patch, text } => {
                let kind = panels.get(surface_id, &id).map(|panel| panel.kind);
                if let (Some(kind), Some(text)) = (kind, text) {
                    patch.data = inline(text, kind).map_err(|reject| invalid(reject, Some(&id)))?;
                }
                panels.update(surface_id, &id, patch).map_err(of(id))
            }
            Command::Clear { id } => panels.clear(surface_id, &id).map(Some).map_err(of(id)),
            Command::Error(error) => Err(error),
        }
    }
}

/// A model's error about that panel.
fn of(id: String) -> impl FnOnce(PanelError) -> SidebandError {
    move |error| match error {
        PanelError::UnknownPanel => SidebandError {
            code: "unknown-id",
            message: format!("there is no panel {id:?}"),
            panel_id: Some(id),
        },
        error => invalid(Reject::from(error), Some(&id)),
    }
}

fn invalid(reject: Reject, id: Option<&str>) -> SidebandError {
    SidebandError { code: "meta-validate", message: reject.message, panel_id: id.map(str::to_owned) }
}

/// A row that waits for its turn.
#[derive(Debug)]
struct Row {
    /// `None`: its bytes are skipped.
    command: Option<Command>,
    /// Bytes of descriptor 4 that belong to it and have not been given to it.
    payload: Option<Payload>,
    /// Bytes of its line, for the bound.
    bytes: usize,
}

#[derive(Debug)]
struct Payload {
    left: u64,
    announced_at: Instant,
    patience: Duration,
}

/// The reading end of one terminal's descriptors 3 and 4.
///
/// Feed it in this order: read descriptor 4 into a buffer, then read descriptor 3 empty and
/// [push](Sideband::push_rows) it, then [push](Sideband::push_data) the buffer. So every row that a script
/// wrote before its bytes is known before them, a `flush` included. After each push call [`Sideband::next`]
/// until it gives nothing, and read no further than [`Sideband::wants_rows`] and [`Sideband::wants_data`] say:
/// the pipe is full then, and its writer waits.
#[derive(Debug, Default)]
pub struct Sideband {
    /// The beginning of a row.
    line: Vec<u8>,
    /// The rest of a line that was too long is skipped.
    skips_line: bool,
    rows: VecDeque<Row>,
    /// What came on descriptor 4 and was not given to a row.
    data: Vec<u8>,
    /// When the last of it came.
    data_at: Option<Instant>,
}

impl Sideband {
    /// Takes bytes of descriptor 3.
    pub fn push_rows(&mut self, mut bytes: &[u8], now: Instant) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (front, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            self.extend_line(front);
            let line = std::mem::take(&mut self.line);
            if !std::mem::take(&mut self.skips_line) && !line.trim_ascii().is_empty() {
                self.push_row(&line, now);
            }
        }
        self.extend_line(bytes);
    }

    fn extend_line(&mut self, bytes: &[u8]) {
        if self.skips_line {
            return;
        }
        if self.line.len() + bytes.len() < SIDEBAND_LINE_BYTES_MAX {
            return self.line.extend_from_slice(bytes);
        }
        self.line = Vec::new();
        self.skips_line = true;
        let message = format!(
            "a line must be shorter than {SIDEBAND_LINE_BYTES_MAX} bytes; larger content goes to descriptor 4"
        );
        self.refuse(SidebandError { code: "meta-parse", message, panel_id: None });
    }

    /// Takes bytes of descriptor 4.
    pub fn push_data(&mut self, bytes: &[u8], now: Instant) {
        if !bytes.is_empty() {
            self.data.extend_from_slice(bytes);
            self.data_at = Some(now);
        }
    }

    /// Whether descriptor 3 should be read.
    pub fn wants_rows(&self) -> bool {
        self.rows.len() < SIDEBAND_ROWS_MAX
            && self.rows.iter().map(|row| row.bytes).sum::<usize>() < SIDEBAND_ROW_BYTES_MAX
    }

    /// Whether descriptor 4 should be read.
    pub fn wants_data(&self) -> bool {
        let next = self.rows.front().filter(|row| row.command.is_some());
        let left = next.and_then(|row| row.payload.as_ref()).map_or(0, |payload| payload.left);
        // No larger than a panel: what is longer is skipped.
        self.data.len() < left as usize + SIDEBAND_UNCLAIMED_BYTES_MAX
    }

    /// When [`Sideband::next`] must be asked although nothing came.
    pub fn deadline(&self) -> Option<Instant> {
        match self.rows.front() {
            Some(Row { payload: Some(payload), .. }) => Some(payload.deadline(self.data_at)),
            Some(Row { payload: None, .. }) => None,
            None if self.data.is_empty() => None,
            None => self.data_at.map(|at| at + SIDEBAND_UNCLAIMED_MAX),
        }
    }

    /// The next row whose bytes are there, or what became of one. `None` when something must come first.
    pub fn next(&mut self, now: Instant) -> Option<Command> {
        loop {
            let is_late = self.deadline().is_some_and(|deadline| deadline <= now);
            let Some(row) = self.rows.front_mut() else {
                if is_late {
                    let count = std::mem::take(&mut self.data).len();
                    let message = format!("{count} bytes on descriptor 4 belong to no row");
                    return Some(Command::Error(SidebandError {
                        code: "data-overflow",
                        message,
                        panel_id: None,
                    }));
                }
                return None;
            };
            let Some(payload) = &mut row.payload else {
                if let Some(command) = self.rows.pop_front()?.command {
                    return Some(command);
                }
                continue;
            };
            let there =
                usize::try_from(payload.left).map_or(self.data.len(), |left| left.min(self.data.len()));
            if row.command.is_none() {
                // It is skipped as it comes.
                self.data.drain(..there);
                payload.left -= there as u64;
                if payload.left == 0 || is_late {
                    self.rows.pop_front();
                    continue;
                }
                return None;
            }
            if there as u64 == payload.left {
                let rest = self.data.split_off(there);
                let content = std::mem::replace(&mut self.data, rest);
                return self.rows.pop_front()?.command.map(|command| command.with(content));
            }
            if !is_late {
                return None;
            }
            let message = format!("{} bytes were announced, and {there} came", payload.left);
            let panel_id = row.command.take().and_then(Command::into_id);
            self.data = Vec::new();
            self.rows.pop_front();
            return Some(Command::Error(SidebandError { code: "data-timeout", message, panel_id }));
        }
    }

    fn push_row(&mut self, line: &[u8], now: Instant) {
        let fields = match parse_object(line) {
            Ok(fields) => fields,
            Err(message) => {
                return self.refuse(SidebandError { code: "meta-parse", message, panel_id: None });
            }
        };
        let id = given(&fields, "id").and_then(Value::as_str).filter(|id| id.len() <= NAME_BYTES_MAX);
        let channel = given(&fields, "dataChannel").map(|channel| channel.as_str());
        if channel.is_some_and(|channel| channel != Some("data")) {
            let message = "dataChannel must be \"data\"".to_owned();
            let panel_id = id.map(str::to_owned);
            return self.refuse(SidebandError { code: "data-channel", message, panel_id });
        }
        if given(&fields, "type").and_then(Value::as_str) == Some("flush") {
            return self.flush(now);
        }
        let announced = given(&fields, "byteLength").map(whole_number);
        let command = match announced {
            Some(None) => Err(bad("byteLength must be a whole number, 0 or more")),
            Some(Some(length)) if length > PANEL_BYTES_MAX as u64 => {
                Err(bad(format!("byteLength must be at most {PANEL_BYTES_MAX}")))
            }
            Some(Some(_)) => command(&fields, true),
            None => command(&fields, false),
        };
        let command = match command {
            Ok(command) => Some(command),
            Err(reject) => {
                self.refuse(invalid(reject, id));
                None
            }
        };
        let payload = announced.flatten().filter(|length| *length > 0).map(|left| {
            let patience = given(&fields, "timeout").and_then(whole_number).map(Duration::from_millis);
            let patience = patience.unwrap_or(SIDEBAND_PATIENCE).min(SIDEBAND_PATIENCE_MAX);
            Payload { left, announced_at: now, patience }
        });
        // A clear has no use for bytes: they are skipped, and then it happens.
        let command = match (command, payload.is_some()) {
            (Some(Command::Clear { id }), true) => {
                self.rows.push_back(Row { command: None, payload, bytes: 0 });
                return self.rows.push_back(Row {
                    command: Some(Command::Clear { id }),
                    payload: None,
                    bytes: line.len(),
                });
            }
            (command, _) => command,
        };
        if command.is_some() || payload.is_some() {
            self.rows.push_back(Row { command, payload, bytes: line.len() });
        }
    }

    /// What has stood still is given up: rows that wait for bytes, and bytes that wait for a row. What is on
    /// its way is not: people also flush after content that is whole and that we have not read yet.
    fn flush(&mut self, now: Instant) {
        let is_still = |sign: Instant| sign + SIDEBAND_STILL <= now;
        if self.data_at.is_some_and(|at| !is_still(at)) {
            return;
        }
        self.data = Vec::new();
        for row in &mut self.rows {
            if row.payload.take_if(|payload| is_still(payload.announced_at)).is_some() {
                let panel_id = row.command.take().and_then(Command::into_id);
                row.command = panel_id.map(|id| {
                    let message = "flushed before its bytes came".to_owned();
                    Command::Error(SidebandError { code: "data-incomplete", message, panel_id: Some(id) })
                });
            }
        }
        self.rows.retain(|row| row.command.is_some() || row.payload.is_some());
    }

    fn refuse(&mut self, error: SidebandError) {
        self.rows.push_back(Row { command: Some(Command::Error(error)), payload: None, bytes: 0 });
    }
}

impl Payload {
    /// Patience is for the last sign of life: its row, or any byte. So those that a dead script announced all
    /// end with the first of them.
    fn deadline(&self, data_at: Option<Instant>) -> Instant {
        data_at.map_or(self.announced_at, |at| at.max(self.announced_at)) + self.patience
    }
}

impl Command {
    fn with(mut self, content: Vec<u8>) -> Command {
        match &mut self {
            Command::Create { panel, .. } => panel.data = content,
            Command::Update { patch, .. } => patch.data = Some(content),
            Command::Clear { .. } | Command::Error(_) => {}
        }
        self
    }

    fn into_id(self) -> Option<String> {
        match self {
            Command::Create { id, .. } | Command::Update { id, .. } | Command::Clear { id } => Some(id),
            Command::Error(error) => error.panel_id,
        }
    }
}

/// A row as a command, whose content is still to come when it was announced.
fn command(fields: &Map<String, Value>, is_announced: bool) -> Result<Command, Reject> {
    let id = required(fields, "id", NAME_BYTES_MAX)?;
    if id == SYSTEM || id == TERMINAL {
        return Err(bad(format!("id must not be {SYSTEM} or {TERMINAL}")));
    }
    match given(fields, "type").and_then(Value::as_str).unwrap_or_default() {
        "clear" => Ok(Command::Clear { id }),
        "update" => {
            let text = match given(fields, "data").filter(|_| !is_announced) {
                None => None,
                Some(Value::String(text)) => Some(text.clone()),
                Some(_) => return Err(bad("data must be a string")),
            };
            // Announced as empty, it is there already.
            let data = is_announced.then(Vec::new);
            Ok(Command::Update { id, patch: PanelPatch { data, ..panel_patch(fields)? }, text })
        }
        "image" | "svg" | "html" | "canvas2d" => {
            let kind = panel_kind(fields)?;
            let data = match is_announced {
                true => Vec::new(),
                false => panel_data(fields, kind)?
                    .ok_or_else(|| bad("a panel needs data, or byteLength and its bytes"))?,
            };
            Ok(Command::Create { id, panel: panel(fields, kind, data)? })
        }
        _ => Err(bad("type must be image, svg, html, canvas2d, update, clear or flush")),
    }
}

/// Content that stood in the row, for a panel of that kind.
fn inline(text: String, kind: PanelKind) -> Result<Option<Vec<u8>>, Reject> {
    panel_data(&Map::from_iter([("data".to_owned(), Value::String(text))]), kind)
}

/// Appends a person's event, as one line.
pub fn put_event(panel_id: &str, event: &PanelEvent, out: &mut Vec<u8>) {
    put_line(&panel_event_json(panel_id, event), out);
}

/// Appends that the terminal has another size, as one line.
pub fn put_terminal_resize(cols: u16, rows: u16, out: &mut Vec<u8>) {
    put_line(&json!({ "id": TERMINAL, "event": "resize", "cols": cols, "rows": rows }), out);
}

/// Appends an error event, as one line.
pub fn put_error(error: &SidebandError, out: &mut Vec<u8>) {
    let mut json = json!({ "id": SYSTEM, "event": "error", "code": error.code, "message": error.message });
    if let Some(id) = &error.panel_id {
        json["ref"] = json!(id);
    }
    put_line(&json, out);
}

fn put_line(json: &Value, out: &mut Vec<u8>) {
    out.extend_from_slice(json.to_string().as_bytes());
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::panels::{Pointer, Position, Side};
    use proptest::prelude::*;

    /// A terminal's descriptors, its panels, and what was told to the script.
    struct Script {
        sideband: Sideband,
        panels: Panels,
        epoch: Instant,
        ms: u64,
        events: Vec<String>,
    }

    impl Script {
        fn new() -> Script {
            let (sideband, panels) = (Sideband::default(), Panels::default());
            Script { sideband, panels, epoch: Instant::now(), ms: 0, events: Vec::new() }
        }

        fn now(&self) -> Instant {
            self.epoch + Duration::from_millis(self.ms)
        }

        fn rows(&mut self, text: &str) -> &mut Script {
            self.sideband.push_rows(text.as_bytes(), self.now());
            self.settle()
        }

        fn data(&mut self, bytes: &[u8]) -> &mut Script {
            self.sideband.push_data(bytes, self.now());
            self.settle()
        }

        /// Time goes by, stopping at each deadline.
        fn wait(&mut self, ms: u64) -> &mut Script {
            let end = self.now() + Duration::from_millis(ms);
            while let Some(deadline) = self.sideband.deadline().filter(|deadline| *deadline <= end) {
                self.ms = (deadline - self.epoch).as_millis() as u64;
                self.settle();
            }
            self.ms = (end - self.epoch).as_millis() as u64;
            self.settle()
        }

        fn settle(&mut self) -> &mut Script {
            while let Some(command) = self.sideband.next(self.now()) {
                if let Err(error) = command.apply("s", &mut self.panels) {
                    let mut line = Vec::new();
                    put_error(&error, &mut line);
                    let event: Value = serde_json::from_slice(&line).unwrap();
                    let reference = event["ref"].as_str().unwrap_or("-");
                    self.events.push(format!("{} {reference}", event["code"].as_str().unwrap()));
                }
            }
            self
        }

        fn shown(&self) -> Vec<(String, String)> {
            let panels = self.panels.iter();
            let text = |data: &[u8]| String::from_utf8_lossy(data).into_owned();
            panels.map(|(_, id, panel)| (id.to_owned(), text(&panel.data))).collect()
        }
    }

    fn shown(panels: &[(&str, &str)]) -> Vec<(String, String)> {
        panels.iter().map(|(id, data)| (id.to_string(), data.to_string())).collect()
    }

    #[test]
    fn clients_of_every_kind_find_the_descriptors() {
        let channels: Value = serde_json::from_str(ENVIRONMENT[1].1).unwrap();
        assert_eq!(
            (&channels["meta"], &channels["data"], &channels["events"]),
            (&json!(3), &json!(4), &json!(5))
        );
        for (name, fd) in [("meta", 3), ("data", 4), ("events", 5)] {
            let listed = channels["channels"].as_array().unwrap();
            assert!(listed.iter().any(|channel| channel["name"] == name && channel["fd"] == fd));
        }
    }

    #[test]
    fn a_panel_is_made_of_its_row_and_its_bytes() {
        let mut script = Script::new();
        script.rows("{\"id\": \"svg_7_1\", \"type\": \"svg\", \"position\": \"inline\", \"x\": 50, \"y\": 60, \"width\": \"auto\", \"height\": 300, \"interactive\": true, \"draggable\": true, \"resizable\": false, \"zIndex\": 5, \"opacity\": 0.5, \"borderRadius\": 8, \"anchor\": \"cursor\", \"byteLength\": 6}\n");
        assert_eq!(script.shown(), []);
        script.data(b"<svg/>");
        let panel = script.panels.get("s", "svg_7_1").unwrap();
        assert_eq!(
            (panel.kind, panel.position, panel.x, panel.y),
            (PanelKind::Svg, Position::Inline, 50.0, 60.0)
        );
        assert_eq!((panel.width, panel.height), (Side::Auto, Side::Pixels(300.0)));
        assert_eq!((panel.interactive, panel.draggable, panel.resizable), (true, true, false));
        assert_eq!(
            (panel.z_index, panel.opacity, panel.data.as_slice()),
            (Some(5), Some(0.5), b"<svg/>".as_slice())
        );
        assert_eq!(script.events, [""; 0]);
    }

    #[test]
    fn content_may_stand_in_the_row_and_a_picture_is_base64_there() {
        let mut script = Script::new();
        script.rows("{\"id\":\"a\",\"type\":\"html\",\"data\":\"<b>\"}\n{\"id\":\"p\",\"type\":\"image\",\"format\":\"png\",\"data\":\"cG5n\"}\n");
        assert_eq!(script.shown(), shown(&[("a", "<b>"), ("p", "png")]));
        script.rows("{\"id\":\"a\",\"type\":\"update\",\"data\":\"<i>\"}\n{\"id\":\"p\",\"type\":\"update\",\"data\":\"Z2lm\"}\n");
        assert_eq!(script.shown(), shown(&[("a", "<i>"), ("p", "gif")]));
        script.rows("{\"id\":\"p\",\"type\":\"update\",\"data\":\"???\"}\n{\"id\":\"q\",\"type\":\"svg\"}\n");
        assert_eq!(script.events, ["meta-validate p", "meta-validate q"]);
        script.rows("{\"id\":\"e\",\"type\":\"svg\",\"byteLength\":0}\n{\"id\":\"a\",\"type\":\"update\",\"byteLength\":0}\n");
        assert_eq!(script.shown(), shown(&[("a", ""), ("p", "gif"), ("e", "")]));
    }

    #[test]
    fn sixteen_updates_in_a_burst_are_applied_in_order() {
        let mut script = Script::new();
        let updates: String = (1..=16)
            .map(|n| format!("{{\"id\":\"a\",\"type\":\"update\",\"x\":{n},\"byteLength\":2}}\n"))
            .collect();
        let data: String = (1..=16).map(|n| format!("{n:02}")).collect();
        script.rows("{\"id\":\"a\",\"type\":\"svg\",\"byteLength\":1}\n").rows(&updates);
        script.data(b"x").data(&data.as_bytes()[..31]);
        assert_eq!((script.panels.get("s", "a").unwrap().x, script.shown()), (15.0, shown(&[("a", "15")])));
        script.data(b"6");
        assert_eq!((script.panels.get("s", "a").unwrap().x, script.shown()), (16.0, shown(&[("a", "16")])));
    }

    #[test]
    fn a_row_waits_for_the_bytes_of_those_before_it() {
        let mut script = Script::new();
        script.rows(
            "{\"id\":\"a\",\"type\":\"svg\",\"byteLength\":4}\n{\"id\":\"a\",\"type\":\"update\",\"x\":7}\n",
        );
        script.rows("{\"id\":\"b\",\"type\":\"svg\",\"data\":\"b\"}\n{\"id\":\"a\",\"type\":\"clear\"}\n");
        assert_eq!(script.shown(), []);
        script.data(b"aaaa");
        assert_eq!(script.shown(), shown(&[("b", "b")]));
        assert_eq!(script.events, [""; 0]);
    }

    #[test]
    fn bytes_may_come_before_their_row() {
        let mut script = Script::new();
        script.data(b"onetw");
        script
            .rows("{\"id\":\"1\",\"type\":\"svg\",\"byteLength\":3}\n")
            .data(b"o")
            .rows("{\"id\":\"2\",\"type\":\"svg\",\"byteLength\":3}\n");
        assert_eq!(
            (script.shown(), script.sideband.deadline()),
            (shown(&[("1", "one"), ("2", "two")]), None)
        );
    }

    #[test]
    fn a_script_that_dies_in_the_middle_of_its_bytes_leaves_a_clean_descriptor() {
        let mut script = Script::new();
        script.rows("{\"id\":\"a\",\"type\":\"svg\",\"byteLength\":100}\n{\"id\":\"b\",\"type\":\"svg\",\"byteLength\":100}\n{\"id\":\"c\",\"type\":\"svg\",\"data\":\"c\"}\n");
        script.data(&[b'a'; 60]).wait(4999);
        assert_eq!((script.shown(), script.events.len()), (vec![], 0));
        script.wait(1);
        assert_eq!(script.events, ["data-timeout a", "data-timeout b"]);
        script.rows("{\"id\":\"d\",\"type\":\"svg\",\"byteLength\":4}\n").data(b"live");
        assert_eq!(script.shown(), shown(&[("c", "c"), ("d", "live")]));
    }

    #[test]
    fn a_slow_script_is_not_a_dead_one() {
        let mut script = Script::new();
        script.rows("{\"id\":\"a\",\"type\":\"svg\",\"byteLength\":3}\n");
        script.wait(4000).data(b"x").wait(4000).data(b"y").wait(4000).data(b"z");
        assert_eq!(script.shown(), shown(&[("a", "xyz")]));
        script.rows("{\"id\":\"b\",\"type\":\"svg\",\"byteLength\":3,\"timeout\":100}\n").wait(100);
        script
            .rows("{\"id\":\"c\",\"type\":\"svg\",\"byteLength\":3,\"timeout\":20000}\n")
            .wait(19_000)
            .data(b"ccc");
        assert_eq!(script.events, ["data-timeout b"]);
        assert_eq!(script.shown(), shown(&[("a", "xyz"), ("c", "ccc")]));
    }

    #[test]
    fn a_flush_gives_up_what_stands_still_and_starts_anew() {
        let mut script = Script::new();
        script.rows("{\"id\":\"a\",\"type\":\"svg\",\"byteLength\":100}\n{\"id\":\"b\",\"type\":\"svg\",\"data\":\"b\"}\n").data(b"half");
        script.rows("{\"id\":\"x\",\"type\":\"video\",\"byteLength\":100}\n").wait(200);
        script.rows("{\"id\":\"__system__\",\"type\":\"flush\",\"dataChannel\":\"data\"}\n{\"id\":\"c\",\"type\":\"svg\",\"byteLength\":1}\n").data(b"c");
        assert_eq!(script.events, ["data-incomplete a", "meta-validate x"]);
        assert_eq!(script.shown(), shown(&[("b", "b"), ("c", "c")]));
        script.data(b"stray").wait(200).rows("{\"id\":\"s\",\"type\":\"flush\"}\n");
        assert_eq!(script.sideband.deadline(), None);
    }

    #[test]
    fn a_flush_after_whole_content_that_is_still_on_its_way_takes_nothing() {
        let mut script = Script::new();
        script.rows("{\"id\":\"a\",\"type\":\"svg\",\"byteLength\":4}\n").data(b"a").wait(199);
        script
            .rows("{\"id\":\"s\",\"type\":\"flush\"}\n{\"id\":\"b\",\"type\":\"svg\",\"byteLength\":1}\n")
            .data(b"aaab");
        assert_eq!((script.shown(), script.events.len()), (shown(&[("a", "aaaa"), ("b", "b")]), 0));
    }

    #[test]
    fn bytes_that_no_row_announces_are_thrown_away_and_told() {
        let mut script = Script::new();
        // Two bytes more than the row said: characters were counted, for example.
        script.rows("{\"id\":\"a\",\"type\":\"svg\",\"byteLength\":4}\n").data("τττ".as_bytes()).wait(500);
        assert_eq!(script.events, ["data-overflow -"]);
        script.rows("{\"id\":\"a\",\"type\":\"svg\",\"byteLength\":2}\n").data(b"ok");
        assert_eq!((script.shown(), script.sideband.deadline()), (shown(&[("a", "ok")]), None));
    }

    #[test]
    fn bad_rows_are_answered_and_harm_nothing() {
        let rows = [
            ("garbage", "meta-parse -"),
            ("[1]", "meta-parse -"),
            ("{\"type\":\"svg\",\"data\":\"\"}", "meta-validate -"),
            ("{\"id\":7,\"type\":\"svg\",\"data\":\"\"}", "meta-validate -"),
            ("{\"id\":\"\",\"type\":\"svg\",\"data\":\"\"}", "meta-validate "),
            ("{\"id\":\"__terminal__\",\"type\":\"svg\",\"data\":\"\"}", "meta-validate __terminal__"),
            ("{\"id\":\"a\"}", "meta-validate a"),
            ("{\"id\":\"a\",\"type\":\"video\",\"byteLength\":3}", "meta-validate a"),
            ("{\"id\":\"a\",\"type\":\"svg\",\"x\":1e300,\"byteLength\":3}", "meta-validate a"),
            ("{\"id\":\"a\",\"type\":\"svg\",\"byteLength\":-1}", "meta-validate a"),
            ("{\"id\":\"a\",\"type\":\"svg\",\"byteLength\":1.5}", "meta-validate a"),
            ("{\"id\":\"a\",\"type\":\"svg\",\"byteLength\":\"3\"}", "meta-validate a"),
            ("{\"id\":\"a\",\"type\":\"svg\",\"dataChannel\":\"video\",\"byteLength\":3}", "data-channel a"),
            ("{\"id\":\"a\",\"type\":\"update\",\"x\":1}", "unknown-id a"),
            ("{\"id\":\"a\",\"type\":\"clear\"}", "unknown-id a"),
        ];
        for (row, event) in rows {
            let mut script = Script::new();
            script
                .rows(row)
                .rows("\n\n \r\n")
                .rows("{\"id\":\"good\",\"type\":\"svg\",\"byteLength\":2}\r\n");
            // What a refused row announced is skipped.
            if row.ends_with("\"byteLength\":3}") && !row.contains("video\",\"byteLength")
                || row.contains("\"type\":\"video\"")
            {
                script.data(b"bad");
            }
            script.data(b"ok");
            assert_eq!(
                (script.events.as_slice(), script.shown()),
                ([event.to_owned()].as_slice(), shown(&[("good", "ok")])),
                "{row}"
            );
        }
    }

    #[test]
    fn a_panel_of_5_mib_is_skipped_without_being_kept() {
        let mut script = Script::new();
        let bytes = 5 << 20;
        script.rows(&format!("{{\"id\":\"a\",\"type\":\"image\",\"byteLength\":{bytes}}}\n{{\"id\":\"b\",\"type\":\"svg\",\"byteLength\":2}}\n"));
        assert_eq!(script.events, ["meta-validate a"]);
        for _ in 0..bytes / (64 << 10) {
            script.data(&[0; 64 << 10]);
            assert_eq!(script.sideband.data.len(), 0);
        }
        script.data(b"ok");
        assert_eq!(script.shown(), shown(&[("b", "ok")]));
        // One that was only claimed ends like a dead script's.
        script
            .rows("{\"id\":\"a\",\"type\":\"image\",\"byteLength\":9007199254740992}\n")
            .data(b"x")
            .wait(5000);
        assert_eq!((script.sideband.rows.len(), script.sideband.deadline()), (0, None));
    }

    #[test]
    fn a_line_without_an_end_takes_bounded_memory() {
        let mut script = Script::new();
        for _ in 0..1000 {
            script.rows(&"x".repeat(64 << 10));
            assert!(script.sideband.line.len() < SIDEBAND_LINE_BYTES_MAX);
        }
        script.rows("end\n{\"id\":\"a\",\"type\":\"svg\",\"data\":\"a\"}\n");
        assert_eq!(
            (script.events.as_slice(), script.shown()),
            (["meta-parse -".to_owned()].as_slice(), shown(&[("a", "a")]))
        );
    }

    #[test]
    fn whoever_writes_more_than_is_taken_waits_at_a_full_pipe() {
        let mut script = Script::new();
        script.data(&vec![0; SIDEBAND_UNCLAIMED_BYTES_MAX - 1]);
        assert!(script.sideband.wants_data());
        script.data(b"x");
        assert!(!script.sideband.wants_data());
        let mut script = Script::new();
        script.rows("{\"id\":\"a\",\"type\":\"svg\",\"byteLength\":1000000}\n").data(&vec![0; 999_999]);
        assert!(script.sideband.wants_data());
        let update = "{\"id\":\"a\",\"type\":\"update\",\"x\":1}\n";
        for _ in 1..SIDEBAND_ROWS_MAX {
            assert!(script.sideband.wants_rows());
            script.rows(update);
        }
        assert!(!script.sideband.wants_rows());
        script.data(b"x");
        assert!(script.sideband.wants_rows());
    }

    #[test]
    fn events_are_lines_in_the_shape_that_scripts_read() {
        let mut out = Vec::new();
        let click = PanelEvent::Pointer { kind: Pointer::Click, x: 42.0, y: 87.0, button: 0, buttons: 1 };
        put_event("a\n", &click, &mut out);
        put_event("a", &PanelEvent::Close, &mut out);
        put_terminal_resize(120, 40, &mut out);
        put_error(
            &SidebandError { code: "unknown-id", message: "m".into(), panel_id: Some("a".into()) },
            &mut out,
        );
        let lines: Vec<Value> = out
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        assert_eq!(
            lines,
            [
                json!({ "id": "a\n", "event": "click", "x": 42.0, "y": 87.0, "button": 0, "buttons": 1 }),
                json!({ "id": "a", "event": "close" }),
                json!({ "id": "__terminal__", "event": "resize", "cols": 120, "rows": 40 }),
                json!({ "id": "__system__", "event": "error", "code": "unknown-id", "message": "m", "ref": "a" }),
            ]
        );
    }

    proptest! {
        /// Rows and bytes, each cut anywhere and fed in any order, end in the same panels.
        #[test]
        fn any_cut_and_any_interleaving_gives_the_same(
            panels in prop::collection::vec((0u8..6, prop::collection::vec(any::<u8>(), 0..40), any::<bool>()), 1..20),
            cuts in prop::collection::vec((any::<bool>(), 1usize..50), 0..80),
        ) {
            let (mut rows, mut data) = (String::new(), Vec::new());
            let mut expected = Script::new();
            for (id, content, update) in &panels {
                let kind = if *update { "update" } else { "canvas2d" };
                let row = format!("{{\"id\":\"{id}\",\"type\":\"{kind}\",\"byteLength\":{}}}\n", content.len());
                expected.rows(&row).data(content);
                rows += &row;
                data.extend_from_slice(content);
            }
            let mut script = Script::new();
            let (mut rest, mut bytes) = (rows.as_str(), data.as_slice());
            for (of_rows, length) in cuts.into_iter().chain([(true, usize::MAX), (false, usize::MAX)]) {
                if of_rows {
                    let (front, back) = rest.split_at(length.min(rest.len()));
                    script.rows(front);
                    rest = back;
                } else {
                    let (front, back) = bytes.split_at(length.min(bytes.len()));
                    script.data(front);
                    bytes = back;
                }
            }
            prop_assert_eq!(script.shown(), expected.shown());
            prop_assert_eq!(script.events, expected.events);
            prop_assert!(script.sideband.data.is_empty() && script.sideband.rows.is_empty());
        }

        #[test]
        fn no_bytes_panic_or_stay(rows in prop::collection::vec(any::<u8>(), 0..300), data in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut script = Script::new();
            script.sideband.push_rows(&rows, script.now());
            script.data(&data).wait(120_000);
            prop_assert!(script.sideband.data.is_empty() && script.sideband.rows.is_empty());
        }
    }
}
