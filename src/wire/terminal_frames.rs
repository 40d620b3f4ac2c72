#![doc = include_str!("terminal-protocol.md")]
//!
//! # This module
//!
//! Client frames as text to values, and server frames as values to whole websocket frames in the caller's
//! buffer; and both again from the other end, for the client verbs.

use std::time::Duration;

use serde_json::{Map, Number, Value, json};

use super::websocket::{put_binary, put_text_with};
use crate::limits::{CLIENT_ID_BYTES_MAX, GRID_SIDE_MAX};
use crate::terminal::{Act, ClientFrame, GridSize};

/// Kind byte of an output frame.
const OUTPUT: u8 = 1;
/// Kind byte of a reset output frame.
const OUTPUT_RESET: u8 = 2;
/// Whole numbers up to here are exact in every JSON implementation.
const SEQ_MAX: u64 = 1 << 53;
/// Above this a round trip means nothing to the batching any more.
const SRTT_MAX: Duration = Duration::from_secs(60);

/// Which version of the terminal protocol a socket speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Output as JSON text.
    One,
    /// Output as binary frames, and `focus`, `hide`, `clear`, `ping`.
    Two,
}

/// What a client sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// A frame with clientId and clientSeq, to be acknowledged.
    Frame(ClientFrame),
    /// A ping, to be answered with the same `t`.
    Ping {
        /// Any JSON number.
        t: Value,
        /// The client's smoothed round trip, at most 60 s.
        srtt: Option<Duration>,
    },
}

/// Parses one text frame of a client. Unknown fields are ignored, and of two fields with one name the last
/// counts.
///
/// # Errors
/// For the client, in words: the field and its rule.
pub fn parse_client(text: &str, protocol: Protocol) -> Result<Incoming, String> {
    let mut fields = parse_object(text)?;
    let kind = match fields.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        _ => return Err("type must be a string".to_owned()),
    };
    if protocol == Protocol::One && matches!(kind, "focus" | "hide" | "clear" | "ping") {
        return Err(format!("{kind} needs protocol=2 in the socket's URL"));
    }
    let act = match kind {
        "input" => {
            let claim = match fields.get("claim") {
                None => true,
                Some(Value::Bool(claim)) => *claim,
                Some(_) => return Err("claim must be true or false".to_owned()),
            };
            match fields.remove("data") {
                Some(Value::String(data)) => Act::Input { data, claim },
                _ => return Err("data must be a string".to_owned()),
            }
        }
        "resize" => Act::Resize(grid_size(&fields)?),
        "close" => Act::Close,
        "focus" => Act::Focus,
        "hide" => Act::Hide,
        "clear" => Act::Clear,
        "ping" => return parse_ping(&fields),
        unknown => return Err(format!("unknown type {:?}", unknown.chars().take(32).collect::<String>())),
    };
    let client_id = match fields.remove("clientId") {
        Some(Value::String(id)) if (1..=CLIENT_ID_BYTES_MAX).contains(&id.len()) => id,
        _ => return Err(format!("clientId must be a string of 1 to {CLIENT_ID_BYTES_MAX} bytes")),
    };
    let client_seq = fields.get("clientSeq").and_then(whole_number).filter(|seq| *seq <= SEQ_MAX);
    let client_seq = client_seq.ok_or("clientSeq must be a whole number from 0 to 2^53")?;
    Ok(Incoming::Frame(ClientFrame { client_id, client_seq, act }))
}

fn parse_ping(fields: &Map<String, Value>) -> Result<Incoming, String> {
    let Some(t @ Value::Number(_)) = fields.get("t") else {
        return Err("t must be a number".to_owned());
    };
    let srtt = match fields.get("srtt") {
        None | Some(Value::Null) => None,
        Some(srtt) => match srtt.as_f64() {
            Some(ms) if ms >= 0.0 => Some(Duration::from_secs_f64((ms / 1000.0).min(SRTT_MAX.as_secs_f64()))),
            _ => return Err("srtt must be a number of milliseconds, 0 or more".to_owned()),
        },
    };
    Ok(Incoming::Ping { t: t.clone(), srtt })
}

pub(super) fn parse_object(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("a frame must be a JSON object".to_owned()),
        Err(error) => Err(format!("malformed JSON: {error}")),
    }
}

/// A whole number, also when it was written as `5.0`.
pub(super) fn whole_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && (0.0..=SEQ_MAX as f64).contains(&number)).then_some(number as u64)
    })
}

/// The fields `cols` and `rows`.
pub(super) fn grid_size(fields: &Map<String, Value>) -> Result<GridSize, String> {
    let side = |name: &str| {
        let side = fields.get(name).and_then(whole_number);
        side.filter(|side| (1..=u64::from(GRID_SIDE_MAX)).contains(side))
            .ok_or_else(|| format!("{name} must be a whole number from 1 to {GRID_SIDE_MAX}"))
    };
    let (cols, rows) = (side("cols")?, side("rows")?);
    GridSize::new(cols, rows).ok_or_else(|| "cols and rows must make a grid".to_owned())
}

/// Appends the first frame of a protocol-2 socket. Output up to `head` is history.
pub fn put_ready(head: u64, out: &mut Vec<u8>) {
    put_json(format_args!(r#"{{"type":"ready","seq":0,"protocol":2,"head":{head}}}"#), out);
}

/// Appends the PTY's size.
pub fn put_size(size: GridSize, out: &mut Vec<u8>) {
    let (cols, rows) = (size.cols(), size.rows());
    put_json(format_args!(r#"{{"type":"size","seq":0,"cols":{cols},"rows":{rows}}}"#), out);
}

/// Appends the acknowledgement of a client frame.
pub fn put_ack(client_seq: u64, out: &mut Vec<u8>) {
    put_json(format_args!(r#"{{"type":"ack","seq":0,"clientSeq":{client_seq}}}"#), out);
}

/// Appends the answer to a ping.
pub fn put_pong(t: &Value, out: &mut Vec<u8>) {
    put_json(format_args!(r#"{{"type":"pong","seq":0,"t":{t}}}"#), out);
}

/// Appends an error, in words for the client.
pub fn put_error(message: &str, out: &mut Vec<u8>) {
    put_text_with(
        |out| {
            out.extend_from_slice(br#"{"type":"error","seq":0,"message":""#);
            put_escaped(message.as_bytes(), out);
            out.extend_from_slice(b"\"}");
        },
        out,
    );
}

/// Appends the end of the terminal. An unknown exit code is `null`; `signal` is only there after one.
pub fn put_exit(seq: u64, exit_code: Option<i32>, signal: Option<i32>, out: &mut Vec<u8>) {
    let code = Value::from(exit_code);
    match signal {
        Some(signal) => put_json(
            format_args!(r#"{{"type":"exit","seq":{seq},"exitCode":{code},"signal":{signal}}}"#),
            out,
        ),
        None => put_json(format_args!(r#"{{"type":"exit","seq":{seq},"exitCode":{code}}}"#), out),
    }
}

/// Appends output. `seq` is the number of its last byte; the parts are one piece of UTF-8, cut anywhere.
pub fn put_output(protocol: Protocol, seq: u64, reset: bool, parts: [&[u8]; 2], out: &mut Vec<u8>) {
    match protocol {
        Protocol::One => put_text_with(|out| put_output_json(seq, reset, parts, out), out),
        Protocol::Two => {
            let kind = if reset { OUTPUT_RESET } else { OUTPUT };
            put_binary(&[&[kind], &seq.to_be_bytes(), parts[0], parts[1]], out);
        }
    }
}

fn put_output_json(seq: u64, reset: bool, parts: [&[u8]; 2], out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":"output","seq":"#);
    out.extend_from_slice(Number::from(seq).to_string().as_bytes());
    if reset {
        out.extend_from_slice(br#","reset":true"#);
    }
    out.extend_from_slice(br#","data":""#);
    for part in parts {
        put_escaped(part, out);
    }
    out.extend_from_slice(b"\"}");
}

fn put_json(json: std::fmt::Arguments<'_>, out: &mut Vec<u8>) {
    use std::io::Write;
    put_text_with(
        |out| {
            let written = out.write_fmt(json);
            debug_assert!(written.is_ok(), "a vector takes every byte");
        },
        out,
    );
}

/// Appends UTF-8 as the inside of a JSON string (RFC 8259 section 7). Pieces may end inside a character.
pub(super) fn put_escaped(mut bytes: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.reserve(bytes.len());
    while !bytes.is_empty() {
        let (plain, rest) = bytes.split_at(plain_prefix(bytes));
        out.extend_from_slice(plain);
        let Some((&byte, rest)) = rest.split_first() else { return };
        bytes = rest;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&digits);
            }
        }
    }
}

/// How many bytes at the front need no escape. Blocks, so that the compiler tests many at once.
fn plain_prefix(bytes: &[u8]) -> usize {
    const BLOCK: usize = 16;
    let escapes = |byte: &u8| (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\');
    let mut plain = 0;
    for block in bytes.chunks_exact(BLOCK) {
        if block.iter().fold(false, |any, byte| any | escapes(byte)) {
            break;
        }
        plain += BLOCK;
    }
    plain + bytes[plain..].iter().position(escapes).unwrap_or(bytes.len() - plain)
}

/// A frame of the server, as the client verbs see it.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum ServerFrame {
    /// Output up to `head` is history.
    Ready { head: u64 },
    /// The PTY's size.
    Size(GridSize),
    /// The clientSeq that was acknowledged.
    Ack(u64),
    /// The `t` of the ping.
    Pong { t: Value },
    /// In words.
    Error(String),
    /// The terminal ended.
    Exit { seq: u64, exit_code: Option<i32>, signal: Option<i32> },
    /// Output up to and with byte `seq`; `reset` replaces everything before.
    Output { seq: u64, reset: bool, data: Vec<u8> },
}

/// Parses a text frame of the server; `None` for one that a later server may send.
pub fn parse_server_text(text: &str) -> Option<ServerFrame> {
    let mut fields = parse_object(text).ok()?;
    let number = |name: &str| fields.get(name).and_then(Value::as_u64);
    let code =
        |name: &str| fields.get(name).and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
    match fields.get("type")?.as_str()? {
        "ready" => Some(ServerFrame::Ready { head: number("head").unwrap_or(0) }),
        "size" => grid_size(&fields).ok().map(ServerFrame::Size),
        "ack" => number("clientSeq").map(ServerFrame::Ack),
        "pong" => fields.get("t").map(|t| ServerFrame::Pong { t: t.clone() }),
        "error" => Some(ServerFrame::Error(fields.get("message")?.as_str()?.to_owned())),
        "exit" => Some(ServerFrame::Exit {
            seq: number("seq")?,
            exit_code: code("exitCode"),
            signal: code("signal"),
        }),
        "output" => {
            let seq = number("seq")?;
            let reset = fields.get("reset").and_then(Value::as_bool).unwrap_or(false);
            match fields.remove("data")? {
                Value::String(data) => Some(ServerFrame::Output { seq, reset, data: data.into_bytes() }),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Parses a binary frame of the server.
pub fn parse_server_binary(bytes: &[u8]) -> Option<ServerFrame> {
    let (kind, rest) = bytes.split_first()?;
    let (seq, data) = rest.split_first_chunk()?;
    let reset = match *kind {
        OUTPUT => false,
        OUTPUT_RESET => true,
        _ => return None,
    };
    Some(ServerFrame::Output { seq: u64::from_be_bytes(*seq), reset, data: data.to_vec() })
}

/// A client frame as JSON.
pub fn client_frame_json(frame: &ClientFrame) -> String {
    let mut fields = match &frame.act {
        // True is what its absence means.
        Act::Input { data, claim: true } => json!({ "type": "input", "data": data }),
        Act::Input { data, claim: false } => json!({ "type": "input", "data": data, "claim": false }),
        Act::Resize(size) => json!({ "type": "resize", "cols": size.cols(), "rows": size.rows() }),
        Act::Close => json!({ "type": "close" }),
        Act::Focus => json!({ "type": "focus" }),
        Act::Hide => json!({ "type": "hide" }),
        Act::Clear => json!({ "type": "clear" }),
    };
    fields["clientId"] = json!(frame.client_id);
    fields["clientSeq"] = json!(frame.client_seq);
    fields.to_string()
}

/// A ping as JSON; `t` comes back in the pong.
pub fn ping_json(t: u64, srtt: Option<Duration>) -> String {
    match srtt {
        Some(srtt) => json!({ "type": "ping", "t": t, "srtt": srtt.as_secs_f64() * 1000.0 }).to_string(),
        None => json!({ "type": "ping", "t": t }).to_string(),
    }
}
