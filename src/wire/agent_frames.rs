//! The frames between the server and an agent that owns a terminal, both ends.
//!
//! The agent registers by opening `/v1/agent/terminals/{sessionId}/socket?cols&rows`. Its binary frames are
//! output, any bytes; its text frames are `exit` and `resize`. The server sends `registered` first, then `input`,
//! `resize` and `close`, all text. Frames with an unknown type are for later versions: the agent ignores
//! them, the server answers with an `error` frame of the terminal protocol.

use serde_json::{Value, json};

use super::json::{grid_size, parse_object, put_escaped};
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
    /// The agent's own terminal has this size now, and somebody uses it.
    Resize(GridSize),
}

/// Parses a text frame of an agent.
///
/// # Errors
/// For the agent, in words: the field and its rule.
pub fn parse_agent(text: &str) -> Result<AgentFrame, String> {
    let fields = parse_object(text.as_bytes())?;
    match fields.get("type").and_then(Value::as_str) {
        Some("exit") => {}
        Some("resize") => return Ok(AgentFrame::Resize(grid_size(&fields)?)),
        _ => return Err("type must be \"exit\" or \"resize\"; output goes in binary frames".to_owned()),
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
    let fields = parse_object(text.as_bytes()).ok()?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::websocket::{Codec, Message};

    /// What the agent understands of what the server writes.
    fn heard(put: impl FnOnce(&mut Vec<u8>)) -> Option<ToAgent> {
        let mut out = Vec::new();
        put(&mut out);
        match Codec::client(1000).read(&mut out, &mut Vec::new()) {
            Ok(Some(Message::Text(text))) => parse_to_agent(&text),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_agent_understands_the_server() {
        let registered = ToAgent::Registered { terminal_id: "t\"".into(), websocket_path: "/v1".into() };
        assert_eq!(heard(|out| put_registered("t\"", "/v1", out)), Some(registered));
        assert_eq!(heard(|out| put_input("\u{3}\"é", out)), Some(ToAgent::Input("\u{3}\"é".into())));
        let size = GridSize::new(80, 24).unwrap();
        assert_eq!(heard(|out| put_resize(size, out)), Some(ToAgent::Resize(size)));
        assert_eq!(heard(put_close), Some(ToAgent::Close));
        assert_eq!(parse_to_agent(r#"{"type":"news"}"#), None);
        assert_eq!(parse_to_agent("[]"), None);
    }

    #[test]
    fn the_server_understands_the_agents_exit() {
        for exit_code in [Some(0), Some(255), Some(-1), None] {
            assert_eq!(parse_agent(&exit_json(exit_code)), Ok(AgentFrame::Exit { exit_code }));
        }
        assert_eq!(parse_agent(r#"{"type":"exit"}"#), Ok(AgentFrame::Exit { exit_code: None }));
    }

    #[test]
    fn an_error_names_the_field_and_its_rule() {
        let error = |text: &str| parse_agent(text).unwrap_err();
        let size = GridSize::new(90, 30).unwrap();
        assert_eq!(parse_agent(r#"{"type":"resize","cols":90,"rows":30}"#), Ok(AgentFrame::Resize(size)));
        assert_eq!(error("{}"), "type must be \"exit\" or \"resize\"; output goes in binary frames");
        assert_eq!(
            error(r#"{"type":"output"}"#),
            "type must be \"exit\" or \"resize\"; output goes in binary frames"
        );
        for code in ["\"0\"", "1.5", "4294967296", "true"] {
            assert_eq!(
                error(&format!(r#"{{"type":"exit","exitCode":{code}}}"#)),
                "exitCode must be a whole number of 32 bits, or null"
            );
        }
        assert!(error("{").starts_with("malformed JSON"));
    }
}
