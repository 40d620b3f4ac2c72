#![doc = include_str!("terminal-protocol.md")]
//!
//! # This module
//!
//! Client frames as text to values, and server frames as values to whole websocket frames in the caller's
//! buffer; and both again from the other end, for the client verbs.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::json::{SEQ_MAX, grid_size, parse_object, put_escaped, whole_number};
use super::websocket::{put_binary, put_text_with};
use crate::limits::CLIENT_ID_BYTES_MAX;
use crate::terminal::{Act, ClientFrame, GridSize};

/// Kind byte of an output frame.
const OUTPUT: u8 = 1;
/// Kind byte of a reset output frame.
const OUTPUT_RESET: u8 = 2;
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
    let mut fields = parse_object(text.as_bytes())?;
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
    out.extend_from_slice(seq.to_string().as_bytes());
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
    let mut fields = parse_object(text.as_bytes()).ok()?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::websocket::{Codec, Message};
    use proptest::prelude::*;

    fn incoming(text: &str) -> Result<Incoming, String> {
        parse_client(text, Protocol::Two)
    }

    /// The act of a frame of client `c` with number 7 and these further fields.
    fn act(fields: &str) -> Result<Act, String> {
        match incoming(&format!(r#"{{"clientId":"c","clientSeq":7,{fields}}}"#))? {
            Incoming::Frame(frame) => {
                assert_eq!((frame.client_id.as_str(), frame.client_seq), ("c", 7));
                Ok(frame.act)
            }
            Incoming::Ping { .. } => panic!("a ping"),
        }
    }

    fn input(data: &str, claim: bool) -> Act {
        Act::Input { data: data.to_owned(), claim }
    }

    #[test]
    fn each_client_frame_of_the_seed_is_understood() {
        assert_eq!(act(r#""type":"input","data":"ls\n""#), Ok(input("ls\n", true)));
        assert_eq!(act(r#""type":"input","data":"\u001b[c","claim":false"#), Ok(input("\u{1b}[c", false)));
        assert_eq!(
            act(r#""type":"resize","cols":120,"rows":36"#),
            Ok(Act::Resize(GridSize::new(120, 36).unwrap()))
        );
        assert_eq!(act(r#""type":"close""#), Ok(Act::Close));
        assert_eq!(act(r#""type":"focus""#), Ok(Act::Focus));
        assert_eq!(act(r#""type":"hide""#), Ok(Act::Hide));
        assert_eq!(act(r#""type":"clear""#), Ok(Act::Clear));
    }

    #[test]
    fn a_ping_needs_no_client_and_its_number_comes_back_as_it_was() {
        for t in ["123", "1.5", "0", "-3", "1e21", "18446744073709551615"] {
            let Ok(Incoming::Ping { t: parsed, srtt: None }) =
                incoming(&format!(r#"{{"type":"ping","t":{t}}}"#))
            else {
                panic!("{t}")
            };
            let mut out = Vec::new();
            put_pong(&parsed, &mut out);
            let Message::Text(text) = message(&out) else { panic!() };
            let sent: Value = serde_json::from_str(t).unwrap();
            assert_eq!(parse_server_text(&text), Some(ServerFrame::Pong { t: sent }));
        }
    }

    #[test]
    fn the_round_trip_is_milliseconds_and_bounded() {
        let srtt = |srtt: &str| match incoming(&format!(r#"{{"type":"ping","t":1,"srtt":{srtt}}}"#))? {
            Incoming::Ping { srtt, .. } => Ok(srtt),
            Incoming::Frame(_) => panic!("a frame"),
        };
        assert_eq!(srtt("80"), Ok(Some(Duration::from_millis(80))));
        assert_eq!(srtt("0.5"), Ok(Some(Duration::from_micros(500))));
        assert_eq!(srtt("null"), Ok(None));
        assert_eq!(srtt("1e300"), Ok(Some(SRTT_MAX)));
        for bad in ["-1", "\"80\"", "[80]", "true"] {
            assert_eq!(srtt(bad), Err("srtt must be a number of milliseconds, 0 or more".to_owned()));
        }
        assert!(srtt("1e999").is_err() && srtt("NaN").is_err());
    }

    #[test]
    fn what_protocol_1_does_not_have_is_refused_there() {
        for kind in ["focus", "hide", "clear", "ping"] {
            let text = format!(r#"{{"type":"{kind}","clientId":"c","clientSeq":1,"t":1}}"#);
            assert_eq!(
                parse_client(&text, Protocol::One),
                Err(format!("{kind} needs protocol=2 in the socket's URL"))
            );
            assert!(parse_client(&text, Protocol::Two).is_ok());
        }
        let text = r#"{"type":"input","data":"x","claim":false,"clientId":"c","clientSeq":1}"#;
        assert!(parse_client(text, Protocol::One).is_ok());
    }

    #[test]
    fn an_error_names_the_field_and_its_rule() {
        let error = |text: &str| incoming(text).unwrap_err();
        assert_eq!(error("[]"), "a JSON object is expected");
        assert_eq!(error("7"), "a JSON object is expected");
        assert_eq!(error("{}"), "type must be a string");
        assert_eq!(error(r#"{"type":1}"#), "type must be a string");
        assert_eq!(error(r#"{"type":"dance"}"#), "unknown type \"dance\"");
        assert_eq!(error(&format!(r#"{{"type":"{}"}}"#, "x".repeat(9999))).len(), 15 + 32);
        assert!(error("").starts_with("malformed JSON: "));
        assert!(error(r#"{"type":"#).starts_with("malformed JSON: "));
        assert_eq!(act(r#""type":"input""#).unwrap_err(), "data must be a string");
        assert_eq!(act(r#""type":"input","data":["x"]"#).unwrap_err(), "data must be a string");
        assert_eq!(act(r#""type":"input","data":"x","claim":1"#).unwrap_err(), "claim must be true or false");
    }

    #[test]
    fn a_side_is_a_whole_number_from_1_to_2000() {
        let resize = |cols: &str| act(&format!(r#""type":"resize","cols":{cols},"rows":2000"#));
        assert_eq!(resize("1"), Ok(Act::Resize(GridSize::new(1, 2000).unwrap())));
        assert_eq!(resize("5.0"), Ok(Act::Resize(GridSize::new(5, 2000).unwrap())));
        for bad in ["0", "2001", "-5", "1.5", "65536", "1e9", "\"80\"", "null", "[80]"] {
            assert_eq!(resize(bad).unwrap_err(), "cols must be a whole number from 1 to 2000", "{bad}");
        }
        assert_eq!(
            act(r#""type":"resize","cols":80"#).unwrap_err(),
            "rows must be a whole number from 1 to 2000"
        );
    }

    #[test]
    fn a_client_has_an_id_and_counts_its_frames() {
        let frame = |id: &str, seq: &str| {
            incoming(&format!(r#"{{"type":"close","clientId":{id},"clientSeq":{seq}}}"#)).map(|_| ())
        };
        assert_eq!(frame(r#""c""#, "0"), Ok(()));
        assert_eq!(frame(r#""c""#, "9007199254740992"), Ok(()));
        assert_eq!(frame(&format!("{:?}", "x".repeat(CLIENT_ID_BYTES_MAX)), "1"), Ok(()));
        let id = Err("clientId must be a string of 1 to 256 bytes".to_owned());
        for bad in ["\"\"", "1", "null", &format!("{:?}", "x".repeat(CLIENT_ID_BYTES_MAX + 1))] {
            assert_eq!(frame(bad, "1"), id, "{bad}");
        }
        let seq = Err("clientSeq must be a whole number from 0 to 2^53".to_owned());
        for bad in ["-1", "1.5", "\"1\"", "null", "9007199254740993", "18446744073709551616", "1e300"] {
            assert_eq!(frame("\"c\"", bad), seq, "{bad}");
        }
    }

    #[test]
    fn hostile_json_gets_an_error_and_nothing_worse() {
        let mut hostile = vec!["[".repeat(100_000), "{\"a\":".repeat(100_000), "1".repeat(100_000)];
        hostile.push(format!(r#"{{"type":"close","x":{}}}"#, "[".repeat(100_000)));
        // Half a surrogate pair cannot be UTF-8, and replacing it would change what was typed.
        hostile.extend(
            [r#""\ud800""#, r#""\udc00""#, r#""\ud800\u0041""#, "\"\u{1}\""]
                .map(|data| format!(r#"{{"type":"input","clientId":"c","clientSeq":1,"data":{data}}}"#)),
        );
        for text in hostile {
            assert!(incoming(&text).is_err(), "{}", &text[..text.len().min(80)]);
        }
        assert_eq!(act(r#""type":"input","data":"\ud83d\ude00""#), Ok(input("😀", true)));
    }

    #[test]
    fn of_two_fields_with_one_name_the_last_counts_and_unknown_ones_do_not() {
        let fields = r#""type":"input","data":"a","data":"b","deep":[[[{}]]],"bytes":1e300"#;
        assert_eq!(act(fields), Ok(input("b", true)));
    }

    fn message(frame: &[u8]) -> Message {
        let mut input = frame.to_vec();
        let mut codec = Codec::client(usize::MAX);
        let message = codec.read(&mut input, &mut Vec::new()).unwrap().unwrap();
        assert_eq!(codec.read(&mut input, &mut Vec::new()), Ok(None), "one frame, whole");
        message
    }

    fn text(put: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        put(&mut out);
        match message(&out) {
            Message::Text(text) => text.as_str().to_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_server_frame_is_written_as_in_the_seed() {
        let size = GridSize::new(200, 50).unwrap();
        assert_eq!(text(|out| put_ready(9, out)), r#"{"type":"ready","seq":0,"protocol":2,"head":9}"#);
        assert_eq!(text(|out| put_size(size, out)), r#"{"type":"size","seq":0,"cols":200,"rows":50}"#);
        assert_eq!(text(|out| put_ack(6, out)), r#"{"type":"ack","seq":0,"clientSeq":6}"#);
        assert_eq!(text(|out| put_pong(&json!(123), out)), r#"{"type":"pong","seq":0,"t":123}"#);
        assert_eq!(
            text(|out| put_error("no \"x\"", out)),
            r#"{"type":"error","seq":0,"message":"no \"x\""}"#
        );
        assert_eq!(text(|out| put_exit(8, Some(3), None, out)), r#"{"type":"exit","seq":8,"exitCode":3}"#);
        assert_eq!(
            text(|out| put_exit(8, Some(137), Some(9), out)),
            r#"{"type":"exit","seq":8,"exitCode":137,"signal":9}"#
        );
        assert_eq!(text(|out| put_exit(8, None, None, out)), r#"{"type":"exit","seq":8,"exitCode":null}"#);
        let parts: [&[u8]; 2] = [b"a\x1b[", b"m\r\n\t\"\\"];
        assert_eq!(
            text(|out| put_output(Protocol::One, 5, false, parts, out)),
            r#"{"type":"output","seq":5,"data":"a\u001b[m\r\n\t\"\\"}"#
        );
        assert_eq!(
            text(|out| put_output(Protocol::One, 5, true, [b"", b""], out)),
            r#"{"type":"output","seq":5,"reset":true,"data":""}"#
        );
    }

    #[test]
    fn protocol_2_output_is_a_kind_a_number_and_the_bytes() {
        for (reset, kind) in [(false, 1), (true, 2)] {
            let mut out = Vec::new();
            put_output(Protocol::Two, 0x0102, reset, ["é".as_bytes(), b"x"], &mut out);
            let Message::Binary(bytes) = message(&out) else { panic!() };
            assert_eq!(bytes[..], [kind, 0, 0, 0, 0, 0, 0, 1, 2, 0xc3, 0xa9, b'x']);
            let data = "éx".as_bytes().to_vec();
            assert_eq!(parse_server_binary(&bytes), Some(ServerFrame::Output { seq: 0x0102, reset, data }));
        }
    }

    #[test]
    fn the_client_understands_the_server() {
        let parsed = |put: &dyn Fn(&mut Vec<u8>)| parse_server_text(&text(put)).unwrap();
        let size = GridSize::new(2, 3).unwrap();
        assert_eq!(parsed(&|out| put_ready(9, out)), ServerFrame::Ready { head: 9 });
        assert_eq!(parsed(&|out| put_size(size, out)), ServerFrame::Size(size));
        assert_eq!(parsed(&|out| put_ack(6, out)), ServerFrame::Ack(6));
        assert_eq!(parsed(&|out| put_error("x", out)), ServerFrame::Error("x".into()));
        for (exit_code, signal) in [(Some(0), None), (Some(143), Some(15)), (None, None)] {
            let exit = ServerFrame::Exit { seq: 4, exit_code, signal };
            assert_eq!(parsed(&|out| put_exit(4, exit_code, signal, out)), exit);
        }
    }

    #[test]
    fn frames_of_later_servers_and_cut_ones_are_ignored() {
        assert_eq!(parse_server_text(r#"{"type":"news","seq":0}"#), None);
        assert_eq!(parse_server_text(r#"{"type":"ack"}"#), None);
        assert_eq!(parse_server_text("nonsense"), None);
        assert_eq!(parse_server_binary(&[]), None);
        assert_eq!(parse_server_binary(&[1, 0, 0, 0]), None);
        assert_eq!(parse_server_binary(&[3, 0, 0, 0, 0, 0, 0, 0, 1]), None);
    }

    #[test]
    fn the_server_understands_the_client() {
        let size = Act::Resize(GridSize::new(80, 24).unwrap());
        for act in [input("x", true), input("y", false), size, Act::Close, Act::Focus, Act::Hide, Act::Clear]
        {
            let frame = ClientFrame { client_id: "c\"".into(), client_seq: 3, act };
            assert_eq!(incoming(&client_frame_json(&frame)), Ok(Incoming::Frame(frame)));
        }
        for srtt in [None, Some(Duration::from_micros(80_250))] {
            assert_eq!(incoming(&ping_json(5, srtt)), Ok(Incoming::Ping { t: json!(5), srtt }));
        }
    }

    proptest! {
        #[test]
        fn any_text_cut_anywhere_arrives_as_it_was(data in "\\PC*|[\0-\u{7f}\u{80}-\u{9f}é€😀\"\\\\]{0,300}", cut: prop::sample::Index, seq: u64, reset: bool) {
            let parts = data.as_bytes().split_at(cut.index(data.len() + 1));
            let json = text(|out| put_output(Protocol::One, seq, reset, [parts.0, parts.1], out));
            let expected = ServerFrame::Output { seq, reset, data: data.clone().into_bytes() };
            prop_assert_eq!(parse_server_text(&json), Some(expected));
            let json = text(|out| put_error(&data, out));
            prop_assert_eq!(parse_server_text(&json), Some(ServerFrame::Error(data)));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in r#"[{}\[\]":,a-z0-9.\-e\\u ]{0,60}"#) {
            let _ = incoming(&text);
            let _ = parse_server_text(&text);
            let _ = act(&text);
        }
    }
}
