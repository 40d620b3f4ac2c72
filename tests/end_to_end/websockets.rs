//! The websocket protocol, kept by the server and broken by the client (RFC 6455).

use crate::harness::websocket::{BINARY, CLOSE, CONTINUATION, Message, PING, PONG, TEXT};
use crate::harness::*;

fn open(server: &Server) -> WebSocket {
    let terminal = server.make(80, 24, sh("stty raw -echo; printf ready; cat"));
    let mut client = server.attach(&terminal, 2);
    client.expect("ready");
    client.socket
}

const TYPED: &str = r#"{"type":"input","clientId":"c","clientSeq":1,"data":"typed"}"#;

fn expect_typed(socket: &mut WebSocket) {
    loop {
        if let Message::Binary(bytes) = socket.next()
            && bytes.ends_with(b"typed")
        {
            return;
        }
    }
}

#[test]
fn a_message_may_come_in_fragments_with_pings_between_them() {
    let server = Server::start(&[]);
    let mut socket = open(&server);
    let (first, rest) = TYPED.as_bytes().split_at(20);
    let (middle, last) = rest.split_at(1);
    let mut bytes = WebSocket::frame(TEXT, true, first);
    bytes.extend(WebSocket::frame(0x80 | PING, true, b"are you there"));
    bytes.extend(WebSocket::frame(CONTINUATION, true, middle));
    bytes.extend(WebSocket::frame(CONTINUATION, true, b""));
    bytes.extend(WebSocket::frame(0x80 | CONTINUATION, true, last));
    for byte in bytes {
        socket.put(&[byte]);
    }
    assert_eq!(socket.next(), Message::Pong(b"are you there".to_vec()));
    expect_typed(&mut socket);
}

#[test]
fn pings_are_answered_and_stray_pongs_ignored() {
    let server = Server::start(&[]);
    let mut socket = open(&server);
    socket.send(PONG, b"nobody asked");
    for payload in [&b""[..], b"x", &[7; 125]] {
        socket.send(PING, payload);
        assert_eq!(socket.next(), Message::Pong(payload.to_vec()));
    }
}

#[test]
fn a_close_is_answered_and_the_connection_ends() {
    let server = Server::start(&[]);
    for payload in [&[][..], &1000u16.to_be_bytes(), &[0x03, 0xe8, b'b', b'y', b'e'], &4000u16.to_be_bytes()]
    {
        let mut socket = open(&server);
        socket.send(CLOSE, payload);
        let code = socket.close_code();
        assert!(
            code.is_none() || code == Some(1000) || payload.starts_with(&code.unwrap().to_be_bytes()),
            "{code:?}"
        );
        assert_eq!(socket.next(), Message::Gone);
    }
}

#[test]
fn what_breaks_the_protocol_is_answered_with_its_close_code() {
    let server = Server::start(&[]);
    let unmasked = WebSocket::frame(0x80 | TEXT, false, b"{}");
    let mut endless = vec![0x80 | BINARY, 0x80 | 127];
    endless.extend((u64::MAX >> 1).to_be_bytes());
    endless.extend([0; 4]);
    let mut negative = vec![0x80 | TEXT, 0x80 | 127];
    negative.extend(u64::MAX.to_be_bytes());
    negative.extend([0; 4]);
    let mut long_ping = vec![0x80 | PING, 0x80 | 126, 0, 126, 0, 0, 0, 0];
    long_ping.extend([0; 126]);
    let cases: Vec<(&str, Vec<u8>, &[u16])> = vec![
        ("an unmasked frame", unmasked, &[1002]),
        ("a reserved bit", WebSocket::frame(0xC0 | TEXT, true, b"{}"), &[1002]),
        ("an unknown opcode", WebSocket::frame(0x83, true, b"{}"), &[1002]),
        ("an unknown control opcode", WebSocket::frame(0x8B, true, b""), &[1002]),
        ("a ping in fragments", WebSocket::frame(PING, true, b""), &[1002]),
        ("a ping of 126 bytes", long_ping, &[1002]),
        ("a continuation of nothing", WebSocket::frame(0x80 | CONTINUATION, true, b"x"), &[1002]),
        (
            "a new message inside of one",
            [WebSocket::frame(TEXT, true, b"{"), WebSocket::frame(0x80 | TEXT, true, b"}")].concat(),
            &[1002],
        ),
        ("a close of one byte", WebSocket::frame(0x80 | CLOSE, true, b"x"), &[1002]),
        (
            "a close with a reserved code",
            WebSocket::frame(0x80 | CLOSE, true, &1005u16.to_be_bytes()),
            &[1002],
        ),
        ("text that is no UTF-8", WebSocket::frame(0x80 | TEXT, true, b"\xff\xfe"), &[1007]),
        ("half a character at the end", WebSocket::frame(0x80 | TEXT, true, b"{\xe2\x94"), &[1007]),
        ("a frame without end", endless, &[1009]),
        ("a length with its highest bit set", negative, &[1002, 1009]),
    ];
    for (what, bytes, codes) in cases {
        let mut socket = open(&server);
        socket.put(&bytes);
        let code = socket.close_code();
        assert!(codes.iter().any(|allowed| code == Some(*allowed)), "{what} gave {code:?}");
        assert_eq!(socket.next(), Message::Gone, "{what}");
    }
    server.still_serves();
}

#[test]
fn a_message_that_grows_by_fragments_is_bounded() {
    let _alone = alone();
    let server = Server::start(&[]);
    let mut socket = open(&server);
    let before = processes::resident_kib(server.pid);
    socket.put(&WebSocket::frame(BINARY, true, &[0; 64 << 10]));
    let more = WebSocket::frame(CONTINUATION, true, &[0; 64 << 10]);
    let mut sent = 0;
    let code = loop {
        assert!(sent < 1000, "64 MB of one message were taken");
        sent += 1;
        socket.put(&more);
        match socket.next_within(std::time::Duration::from_millis(1)) {
            Some(Message::Close(code)) => break code,
            Some(Message::Gone) => panic!("gone without a close frame"),
            _ => {}
        }
    };
    assert_eq!(code, Some(1009));
    let grown = processes::resident_kib(server.pid).saturating_sub(before);
    assert!(grown < 40 << 10, "grew by {grown} KiB");
    server.still_serves();
}

#[test]
fn compression_is_not_offered() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("read x"));
    let mut http = server.http();
    http.put(format!(
        "GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        terminal.socket
    ));
    let answer = http.answer("GET");
    assert_eq!((answer.status, answer.header("sec-websocket-extensions")), (101, None));
}

#[test]
fn when_a_terminal_is_closed_its_sockets_are_closed_with_1000() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh("echo up; read x"));
        let mut client = server.attach(&terminal, protocol);
        client.expect("up");
        server.delete(&format!("/v1/terminals/session/{}", terminal.session));
        assert_eq!(client.expect_closed(), Some(1000));
    }
}

#[test]
fn when_the_server_leaves_it_says_1001() {
    let mut server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("echo up; read x"));
    let mut client = server.attach(&terminal, 2);
    client.expect("up");
    let mut events = WebSocket::open(server.dial(), "/v1/events/socket", &[]).ok().unwrap();
    server.signal("TERM");
    assert_eq!(client.expect_closed(), Some(1001));
    assert_eq!(events.close_code(), Some(1001));
    assert!(server.wait().success());
}

#[test]
fn a_socket_is_reset_two_hundred_times_during_output_and_the_server_lives() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("trap : INT; yes; echo END; read x"));
    for _ in 0..200 {
        let mut client = server.attach(&terminal, 2);
        client.keeps_text = false;
        client.until("output", |frame| matches!(frame, Frame::Output { .. }));
        client.socket.stream.reset_on_close();
    }
    eventually("all have gone", || server.describe(&terminal)["attached"] == 0);
    server.still_serves();
}
