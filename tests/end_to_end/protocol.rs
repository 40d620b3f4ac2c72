//! The terminal protocol's frames: numbers, acknowledgements, duplicates, greetings, errors.

use crate::harness::client::reset_of;
use crate::harness::*;

/// Shows input as it comes: echo off, bytes back at once.
const CAT: &str = "stty raw -echo; printf ready; cat";

#[test]
fn the_program_gets_what_is_typed_and_the_client_what_is_printed() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make_bash(80, 24);
        let mut client = server.attach(&terminal, protocol);
        client.input("echo $((40 + 2))\n");
        client.expect("42");
        client.input("exit 3\n");
        client.expect_exit(3);
    }
}

#[test]
fn input_is_taken_before_the_program_has_printed_anything() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh("cat"));
        let mut client = server.attach(&terminal, protocol);
        client.input("x\n");
        client.expect("x\r\nx\r\n");
    }
}

#[test]
fn each_client_frame_is_acknowledged_in_order() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh(CAT));
        let mut client = server.attach(&terminal, protocol);
        let mut sent =
            vec![client.input("a"), client.resize(90, 30), client.reply("b"), client.resize(90, 30)];
        if protocol == 2 {
            sent.extend([client.focus(), client.hide(), client.clear()]);
        }
        client.settle();
        let acks: Vec<_> =
            client.control.iter().filter(|frame| matches!(frame, Frame::Ack(_))).cloned().collect();
        assert_eq!(acks, sent.into_iter().map(Frame::Ack).collect::<Vec<_>>());
        assert!(client.unacked.is_empty());
    }
}

#[test]
fn a_duplicate_is_acknowledged_and_has_no_effect() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh(CAT));
        let mut client = server.attach(&terminal, protocol);
        client.expect("ready");
        let number = client.input("once");
        let frame = client.unacked[0].1.clone();
        client.expect_ack(number);
        client.socket.send_text(&frame);
        client.until("the second ack", |frame| *frame == Frame::Ack(number));
        // The same number with another content is a duplicate too, and so is any lower number.
        let other =
            json!({"type": "input", "clientId": client.client_id, "clientSeq": number, "data": "twice"});
        client.socket.send_json(&other);
        client.until("the third ack", |frame| *frame == Frame::Ack(number));
        client.input("END");
        client.expect("END");
        assert_eq!(client.text(), "readyonceEND");
    }
}

#[test]
fn frames_sent_again_on_a_new_connection_are_duplicates_if_they_had_arrived() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh(CAT));
        let mut client = server.attach(&terminal, protocol);
        client.expect("ready");
        client.input("one,");
        client.input("two,");
        client.expect("one,two,");
        // The acks are "lost": both frames are sent again, unchanged, and a third for the first time.
        let mut again = server.attach_at(&terminal, client.cursor, protocol);
        again.client_id = client.client_id.clone();
        for number in [1, 2, 3] {
            let data = ["one,", "two,", "three,"][number - 1];
            let frame =
                json!({"type": "input", "clientId": again.client_id, "clientSeq": number, "data": data});
            again.socket.send_json(&frame);
            again.expect_ack(number as u64);
        }
        again.expect("three,");
        assert_eq!(again.text(), "three,");
    }
}

#[test]
fn a_client_that_starts_its_numbers_again_is_answered_but_not_obeyed() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh(CAT));
    let mut client = server.attach(&terminal, 2);
    client.expect("ready");
    for _ in 0..50 {
        client.input(".");
    }
    client.expect(&".".repeat(50));
    let mut reloaded = server.attach_at(&terminal, client.cursor, 2);
    reloaded.client_id = client.client_id.clone();
    let number = reloaded.input("again");
    reloaded.expect_ack(number);
    // Another client is not concerned.
    let mut other = server.attach_at(&terminal, client.cursor, 2);
    other.input("other");
    other.expect("other");
    assert_eq!(other.text(), "other");
}

#[test]
fn a_hundred_thousand_client_ids_cost_no_memory() {
    let _alone = alone();
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("stty -echo; echo ready; cat >/dev/null"));
    let mut client = server.attach(&terminal, 2);
    client.expect("ready");
    let mut turn = |from: usize, to: usize| {
        for round in (from..to).step_by(1000) {
            for number in round..round + 1000 {
                let id = format!("{number:0>200}");
                client
                    .socket
                    .send_json(&json!({"type": "input", "clientId": id, "clientSeq": 1, "data": "\n"}));
            }
            for _ in 0..1000 {
                client.until("ack", |frame| *frame == Frame::Ack(1));
            }
            client.control.clear();
        }
    };
    turn(0, 10_000);
    let before = processes::resident_kib(server.pid);
    turn(10_000, 100_000);
    let grown = processes::resident_kib(server.pid).saturating_sub(before);
    assert!(grown < 2048, "grew by {grown} KiB");
}

#[test]
fn protocol_2_greets_with_the_head_of_the_stream_so_that_history_can_be_told_from_news() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("printf 12345; read x; printf 678"));
    server.until_screen(&terminal, "12345");
    let mut client = server.attach(&terminal, 2);
    assert_eq!(client.control[0], Frame::Ready { head: 5 });
    client.expect("12345");
    client.input("\n");
    client.expect("678");
    // A protocol-1 socket is told nothing that it does not know.
    let client = server.attach(&terminal, 1);
    assert!(matches!(client.control[..], [Frame::Size(80, 24)]));
}

#[test]
fn pings_are_answered_with_their_own_value() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("read x"));
    let mut client = server.attach(&terminal, 2);
    for frame in [
        json!({"type": "ping", "t": 123, "srtt": 80}),
        json!({"type": "ping", "t": 1.5}),
        json!({"type": "ping", "t": 0, "srtt": 0.25}),
    ] {
        client.socket.send_json(&frame);
        let pong = client.until("pong", |frame| matches!(frame, Frame::Pong(_)));
        assert_eq!(pong, Frame::Pong(frame["t"].clone()));
    }
}

#[test]
fn a_slow_link_gets_fewer_larger_frames_and_the_same_bytes() {
    let server = Server::start(&[]);
    let script = "import sys,time\nsys.stdin.readline()\nfor n in range(400):\n sys.stdout.write('%04d' % n); sys.stdout.flush(); time.sleep(0.001)\n";
    let frames_at = |srtt: u64| {
        let terminal = server.make(80, 24, Program::new("/usr/bin/python3", &["-c", script]));
        let mut client = server.attach(&terminal, 2);
        client.socket.send_json(&json!({"type": "ping", "t": 1, "srtt": srtt}));
        client.until("pong", |frame| matches!(frame, Frame::Pong(_)));
        client.input("\n");
        let mut frames = 0;
        let expected: String = (0..400).map(|n| format!("{n:04}")).collect();
        while !client.exited {
            frames += u64::from(matches!(client.next(), Frame::Output { .. }));
        }
        assert!(client.text().ends_with(&expected));
        frames
    };
    let (near, far) = (frames_at(1), frames_at(400));
    assert!(far * 2 < near, "{far} frames at 400 ms, {near} at 1 ms");
}

#[test]
fn a_frame_that_is_none_gets_one_error_and_the_connection_lives() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh(CAT));
        let mut client = server.attach(&terminal, protocol);
        client.expect("ready");
        let deep = "[".repeat(100_000);
        let long_id =
            json!({"type": "input", "clientId": "c".repeat(300), "clientSeq": 1, "data": "x"}).to_string();
        let broken = [
            "",
            "{",
            "[]",
            "null",
            "7",
            "\"input\"",
            &deep,
            r#"{}"#,
            r#"{"type":7}"#,
            r#"{"type":"unknown","clientId":"c","clientSeq":1}"#,
            r#"{"type":"input"}"#,
            r#"{"type":"input","clientId":"c","clientSeq":1}"#,
            r#"{"type":"input","clientId":"c","data":"x"}"#,
            r#"{"type":"input","clientSeq":1,"data":"x"}"#,
            r#"{"type":"input","clientId":7,"clientSeq":1,"data":"x"}"#,
            r#"{"type":"input","clientId":"c","clientSeq":"1","data":"x"}"#,
            r#"{"type":"input","clientId":"c","clientSeq":-1,"data":"x"}"#,
            r#"{"type":"input","clientId":"c","clientSeq":1.5,"data":"x"}"#,
            r#"{"type":"input","clientId":"c","clientSeq":1e99,"data":"x"}"#,
            r#"{"type":"input","clientId":"c","clientSeq":1,"data":7}"#,
            r#"{"type":"input","clientId":"c","clientSeq":1,"data":"x","claim":"no"}"#,
            r#"{"type":"resize","clientId":"c","clientSeq":1,"cols":80}"#,
            &long_id,
        ];
        for (count, frame) in broken.iter().enumerate() {
            client.socket.send_text(frame);
            client.until(frame, |frame| matches!(frame, Frame::Error(_)));
            assert_eq!(client.errors(), count + 1, "one error for {frame}");
        }
        client.socket.send(websocket::BINARY, b"binary");
        client.until("an error for a binary frame", |frame| matches!(frame, Frame::Error(_)));
        client.input("alive");
        client.expect("alive");
        assert_eq!(client.text(), "readyalive", "nothing of it reached the program");
    }
}

#[test]
fn a_protocol_2_frame_on_a_protocol_1_socket_is_an_error() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh(CAT));
    let mut client = server.attach(&terminal, 1);
    for kind in ["focus", "hide", "clear"] {
        client.say(kind, json!({}));
        client.until(kind, |frame| matches!(frame, Frame::Error(_)));
    }
    client.socket.send_json(&json!({"type": "ping", "t": 1}));
    client.until("ping", |frame| matches!(frame, Frame::Error(_)));
    client.input("alive");
    client.expect("alive");
}

#[test]
fn the_close_frame_ends_the_terminal_for_everyone() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh("echo up; read x"));
        let (mut a, mut b) = (server.attach(&terminal, protocol), server.attach(&terminal, protocol));
        a.expect("up");
        b.expect("up");
        let number = a.close();
        a.exit();
        b.exit();
        a.expect_ack(number);
        let delete = server.delete(&format!("/v1/terminals/session/{}", terminal.session));
        assert_eq!(delete.status, 404, "no live terminal any more");
    }
}

#[test]
fn an_absent_cursor_is_zero_and_one_that_is_no_number_is_refused() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("printf hello; read x"));
    server.until_screen(&terminal, "hello");
    let mut socket = WebSocket::open(server.dial(), &terminal.socket, &[]).ok().unwrap();
    assert_eq!(socket.next_json()["type"], "size");
    assert_eq!(socket.next_json(), json!({"type": "output", "seq": 5, "data": "hello"}));
    for cursor in ["x", "-1", "1.5", "", "99999999999999999999999"] {
        let path = format!("{}?lastOutputSeq={cursor}", terminal.socket);
        let refused = WebSocket::open(server.dial(), &path, &[]).err().expect(cursor);
        assert_eq!(refused.status, 400, "{cursor}");
        assert!(refused.error().contains("lastOutputSeq"));
    }
}

#[test]
fn a_cursor_gets_exactly_what_comes_after_it() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh("stty raw -echo; printf 0123456789; read x"));
        server.until_screen(&terminal, "0123456789");
        for cursor in 0..10 {
            let mut client = server.attach_at(&terminal, cursor, protocol);
            client.expect("9");
            assert_eq!(client.text(), &"0123456789"[cursor as usize..]);
        }
        let mut client = server.attach_at(&terminal, 10, protocol);
        client.settle();
        assert_eq!((client.text().as_str(), client.resets), ("", 0));
    }
}

#[test]
fn a_cursor_ahead_of_the_stream_is_answered_with_a_reset_at_its_head() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh("printf 0123456789; read x; printf more; read x"));
        server.until_screen(&terminal, "0123456789");
        let mut client = reset_of(&server, &terminal, protocol);
        assert_eq!(client.cursor, 10);
        client.expect("0123456789");
        client.input("\n");
        client.expect("more");
    }
}

#[test]
fn nul_emoji_and_lone_surrogates_in_json_do_no_harm() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal =
            server.make(80, 24, sh("stty raw -echo; printf ready; head -c 8 | od -An -tx1; read x"));
        let mut client = server.attach(&terminal, protocol);
        client.expect("ready");
        let lone = r#"{"type":"input","clientId":"c","clientSeq":1,"data":"\ud800"}"#;
        client.socket.send_text(lone);
        let first = client.until("an answer", |frame| matches!(frame, Frame::Error(_) | Frame::Ack(1)));
        if matches!(first, Frame::Ack(_)) {
            // Taken as U+FFFD: three bytes.
            client.expect("ef bf bd");
            continue;
        }
        client
            .socket
            .send_text(r#"{"type":"input","clientId":"c","clientSeq":2,"data":"\u0000\ud83d\ude00abc"}"#);
        client.expect("00 f0 9f 98 80 61 62 63");
    }
}

#[test]
fn input_may_hold_every_code_point_of_latin_1_and_composed_text_once() {
    let server = Server::start(&[]);
    let file = server.dir.file("typed");
    let terminal =
        server.make(80, 24, sh(&format!("stty raw -echo; printf ready; cat > {}", file.display())));
    let mut client = server.attach(&terminal, 2);
    client.expect("ready");
    let mut expected: String = (0..=255u8).map(char::from).collect();
    client.input(&expected);
    for part in ["你好", "👨‍👩‍👧", "\u{1b}", "[", "<0;1;1", "M"] {
        client.input(part);
        expected.push_str(part);
    }
    eventually("all of it is written", || {
        std::fs::read(&file).is_ok_and(|bytes| bytes == expected.as_bytes())
    });
}

#[test]
fn over_a_unix_socket_the_protocol_is_the_same() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh(CAT));
        let mut client = Client::attach(server.dial_unix(), None, &terminal, 0, protocol);
        client.expect("ready");
        client.input("hello");
        client.expect("hello");
    }
}
