//! The frames between the server and an agent that owns a terminal, both ends.
//!
//! The agent registers by opening `/v1/agent/terminals/{sessionId}/socket?cols&rows`. Its binary frames are
//! output, any bytes; its one text frame is `exit`. The server sends `registered` first, then `input`,
//! `resize` and `close`, all text. Frames with an unknown type are for later versions: the agent ignores
//! them, the server answers with an `error` frame of the terminal protocol.

use serde_json::{Value, json};

use super::terminal_frames::{grid_size, parse_object, put_escaped};
use super::websocket::put_text_with;
use crate::terminal::GridSize;

/// What an agent says in text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentFrame {
    /// The program ended.
    Exit {
        /// `None` when the agent does not know it.
        exit_code: Option<i32>,
    },
}

/// Parses a text frame of an agent.
///
/// # Errors
/// For the agent, in words: the field and its rule.
pub fn parse_agent(text: &str) -> Result<AgentFrame, String> {
    let fields = parse_object(text)?;
    match fields.get("type").and_then(Value::as_str) {
        Some("exit") => {}
        _ => return Err("type must be \"exit\"; output goes in binary frames".to_owned()),
    }
    let exit_code = match fields.get("exitCode") {
        None | Some(Value::Null) => None,
        Some(code) => {
            let code = code.as_i64().and_then(|code| i32::try_from(code).ok());
            Some(code.ok_or("exitCode must be a whole number of 32 bits, or null")?)
        }
    };
    Ok(AgentFrame::Exit { exit_code })
}

/// The agent's exit frame, as JSON.
pub fn exit_json(exit_code: Option<i32>) -> String {
    json!({ "type": "exit", "exitCode": exit_code }).to_string()
}

/// Appends the first frame to an agent: the terminal that is now its own.
pub fn put_registered(terminal_id: &str, websocket_path: &str, out: &mut Vec<u8>) {
    put_value(
        json!({ "type": "registered", "terminalId": terminal_id, "websocketPath": websocket_path }),
        out,
    );
}

/// Appends input for the agent's program.
pub fn put_input(data: &str, out: &mut Vec<u8>) {
    put_text_with(
        |out| {
            out.extend_from_slice(br#"{"type":"input","data":""#);
            put_escaped(data.as_bytes(), out);
            out.extend_from_slice(b"\"}");
        },
        out,
    );
}

/// Appends a new size for the agent's program.
pub fn put_resize(size: GridSize, out: &mut Vec<u8>) {
    put_value(json!({ "type": "resize", "cols": size.cols(), "rows": size.rows() }), out);
}

/// Appends the wish that the agent's program ends.
pub fn put_close(out: &mut Vec<u8>) {
    put_value(json!({ "type": "close" }), out);
}

fn put_value(value: Value, out: &mut Vec<u8>) {
    put_text_with(|out| out.extend_from_slice(value.to_string().as_bytes()), out);
}

/// What the server says to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ToAgent {
    /// The terminal that is now the agent's.
    Registered { terminal_id: String, websocket_path: String },
    /// For the program.
    Input(String),
    /// The program's new size.
    Resize(GridSize),
    /// The program shall end.
    Close,
}

/// Parses a text frame to an agent; `None` for one that a later server may send.
pub fn parse_to_agent(text: &str) -> Option<ToAgent> {
    let fields = parse_object(text).ok()?;
    let string = |name: &str| fields.get(name)?.as_str().map(str::to_owned);
    match fields.get("type")?.as_str()? {
        "registered" => Some(ToAgent::Registered {
            terminal_id: string("terminalId")?,
            websocket_path: string("websocketPath")?,
        }),
        "input" => string("data").map(ToAgent::Input),
        "resize" => grid_size(&fields).ok().map(ToAgent::Resize),
        "close" => Some(ToAgent::Close),
        _ => None,
    }
}
