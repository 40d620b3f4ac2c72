//! The stream of a terminal: whole characters, exact numbers, replay or reset, and the exit at its end.

use crate::harness::client::reset_of;
use crate::harness::*;

/// What `seq 1 n` leaves in the stream is known byte by byte, so any piece of it can be checked.
fn expected_after(stream: &str, cursor: u64) -> &str {
    &stream[cursor as usize..]
}

#[test]
fn a_character_that_is_written_byte_by_byte_arrives_whole() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let script = "import os,time
for byte in '─😀é'.encode():
    os.write(1, bytes([byte])); time.sleep(0.002)
# A busy machine may run nothing else for this long.
os.write(1, b'\\xe2\\x94'); time.sleep(0.2); os.write(1, b'\\x80')
os.write(1, b'END')
";
        let terminal = server.make(80, 24, python(script));
        let mut client = server.attach(&terminal, protocol);
        client.expect_exit(0);
        assert_eq!(client.text(), "─😀é─END");
    }
}

#[test]
fn two_megabytes_of_box_drawing_hold_no_replacement_character_also_across_reconnects() {
    let server = Server::start(&[]);
    let script = "import sys
sys.stdin.readline()
for n in range(2700):
    sys.stdout.write('─' * 250 + '\\n')
";
    for protocol in [1, 2] {
        let terminal = server.make(250, 50, python(script));
        let mut client = server.attach(&terminal, protocol);
        client.input("\n");
        let mut dice = Dice::new();
        let mut whole = String::new();
        while !client.exited {
            for _ in 0..=dice.below(8) {
                if !client.exited {
                    client.next();
                }
            }
            whole.push_str(&client.text());
            if !client.exited {
                client = server.attach_at(&terminal, client.cursor, protocol);
            }
        }
        assert_eq!(client.resets, 0);
        assert_eq!(whole, format!("\r\n{}", format!("{}\r\n", "─".repeat(250)).repeat(2700)));
    }
}

#[test]
fn half_a_character_is_not_held_back_for_ever() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        // At the exit: before the exit frame.
        let terminal = server.make(80, 24, python("import os; os.write(1, b'a\\xe2\\x94')"));
        let mut client = server.attach(&terminal, protocol);
        client.expect_exit(0);
        assert_eq!(client.text(), "a\u{fffd}");
        // When the program just pauses: what is whole comes at once, the rest as soon as it is clear.
        let pause = "import os,sys; os.write(1, b'a\\xe2\\x94'); sys.stdin.readline(); os.write(1, b'b')";
        let terminal = server.make(80, 24, python(pause));
        let mut client = server.attach(&terminal, protocol);
        client.expect("a");
        client.expect("\u{fffd}");
        client.input("\n");
        client.expect("b");
    }
}

#[test]
fn bytes_that_are_no_characters_become_replacement_characters() {
    let server = Server::start(&[]);
    let bytes = b"a\xffb\xc0\xafc\xed\xa0\x80d\xf4\x90\x80\x80e\xf0\x9f\x98f\xe2\x28\xa1g";
    let expected = String::from_utf8_lossy(bytes);
    let script = format!("import os; os.write(1, bytes({:?}))", bytes);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, python(&script));
        let mut client = server.attach(&terminal, protocol);
        client.expect_exit(0);
        assert_eq!(client.text(), expected);
    }
}

#[test]
fn random_bytes_leave_a_usable_terminal() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make_bash(80, 24);
        let mut client = server.attach(&terminal, protocol);
        client.input("head -c 5000000 /dev/urandom; printf '\\033c\\nDO''NE\\n'\n");
        client.expect("DONE\r\n");
        client.input("echo $((6 * 7))\n");
        client.expect("42");
        server.until_screen(&terminal, "42");
        reset_of(&server, &terminal, protocol);
    }
}

#[test]
fn the_last_line_is_always_there_however_quickly_the_program_ends() {
    let _alone = alone();
    let server = Server::start(&["--max-terminals", "400", "--linger", "5"]);
    let _load = processes::Load::new();
    let expected = lines(1, 20_000);
    for round in 0..300 {
        let terminal = server.make(80, 24, sh("seq 1 20000; exit 3"));
        let mut client = server.attach(&terminal, 1 + (round % 2) as u8);
        client.expect_exit(3);
        assert_eq!(client.text.len(), expected.len(), "round {round}");
        assert!(client.text == expected.as_bytes(), "round {round}");
    }
}

#[test]
fn the_exit_takes_one_number_more_and_can_be_read_late() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh("printf 0123456789; exit 7"));
        eventually("it has ended", || server.describe(&terminal)["exited"] == true);
        let mut client = server.attach(&terminal, protocol);
        let exit = client.until("exit", |frame| matches!(frame, Frame::Exit { .. }));
        assert_eq!(exit, Frame::Exit { seq: 11, code: Some(7), signal: None });
        assert_eq!(client.text(), "0123456789");
        // At the end of the output: the exit alone. At the exit's own number: the exit again.
        for cursor in [10, 11] {
            let mut client = server.attach_at(&terminal, cursor, protocol);
            client.expect_exit(7);
            assert_eq!((client.text().as_str(), client.resets), ("", 0));
        }
        // Ahead of it: a reset, and the exit.
        let mut client = reset_of(&server, &terminal, protocol);
        client.expect_exit(7);
        assert!(client.text().contains("0123456789"));
    }
}

#[test]
fn exit_codes_and_signals_are_told_apart_live_and_late() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        for (script, code, signal) in [
            ("read x; exit 0", 0, None),
            ("read x; exit 1", 1, None),
            ("read x; exit 255", 255, None),
            ("read x; kill -9 $$", 137, Some(9)),
            ("read x; kill -TERM $$", 143, Some(15)),
            ("read x; exec sh -c 'exit 12'", 12, None),
        ] {
            let terminal = server.make(80, 24, sh(script));
            let mut client = server.attach(&terminal, protocol);
            client.input("\n");
            assert_eq!(client.exit(), (Some(code), signal), "{script}");
            let mut late = server.attach(&terminal, protocol);
            assert_eq!(late.exit(), (Some(code), signal), "late, {script}");
            assert_eq!(server.describe(&terminal)["exitCode"], code);
        }
    }
}

#[test]
fn an_exited_terminal_lingers_and_then_goes() {
    let server = Server::start(&["--linger", "1"]);
    let terminal = server.make(80, 24, sh("printf last"));
    let mut client = server.attach(&terminal, 2);
    client.expect_exit(0);
    drop(client);
    eventually("it is forgotten", || server.get(&format!("/v1/terminals/{}", terminal.id)).status == 404);
    assert_eq!(server.get(&format!("/v1/terminals/{}/screen", terminal.id)).status, 404);
}

#[test]
fn an_exited_terminal_goes_when_its_session_gets_a_new_one() {
    let server = Server::start(&[]);
    let old = server.make(80, 24, sh("printf last"));
    server.attach(&old, 2).expect_exit(0);
    assert_eq!(server.screen(&old), "last");
    let new = server.make_in(&old.session, 80, 24, sh("read x"));
    assert_ne!(old.id, new.id);
    assert_eq!(server.get(&format!("/v1/terminals/{}", old.id)).status, 404);
}

#[test]
fn output_that_the_ring_still_has_is_replayed_exactly_and_older_gets_one_reset() {
    let server = Server::start(&[]);
    let stream = lines(1, 500_000);
    let ring = 2 << 20;
    assert!(stream.len() > ring + (1 << 20));
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh("stty -echo; seq 1 500000; read x; printf more; read x"));
        server.until_screen(&terminal, "\n500000");
        let head = stream.len() as u64;
        for cursor in [head - 1, head - 1000, head - 500_000, head - (ring as u64 - (64 << 10))] {
            let mut client = server.attach_at(&terminal, cursor, protocol);
            client.expect_cursor(head);
            assert_eq!(client.resets, 0);
            assert!(client.text() == expected_after(&stream, cursor), "after {cursor}");
        }
        for cursor in [0, 1, 1000, head - (ring as u64 + (256 << 10))] {
            let mut client = server.attach_at(&terminal, cursor, protocol);
            client.expect("499999");
            client.settle();
            assert_eq!((client.resets, client.cursor), (1, head), "at {cursor}");
        }
        let mut client = server.attach(&terminal, protocol);
        client.expect("499999");
        client.input("\n");
        client.expect("more");
        assert_eq!(client.cursor, head + 4);
    }
}

#[test]
fn the_replay_size_is_an_option() {
    let server = Server::start(&["--replay-bytes", "1048576"]);
    let terminal = server.make(80, 24, sh("stty -echo; seq 1 300000; read x"));
    server.until_screen(&terminal, "\n300000");
    let stream = lines(1, 300_000);
    let head = stream.len() as u64;
    let mut near = server.attach_at(&terminal, head - 1_000_000, 2);
    near.expect_cursor(head);
    assert_eq!(near.resets, 0);
    assert!(near.text() == expected_after(&stream, head - 1_000_000));
    let mut far = server.attach_at(&terminal, head - 1_200_000, 2);
    far.settle();
    assert_eq!(far.resets, 1);
}

#[test]
fn a_reset_replaces_what_the_client_had_scrollback_and_all() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh("seq 1 100; read x"));
        server.until_screen(&terminal, "\n100");
        let client = reset_of(&server, &terminal, protocol);
        let text = client.text();
        assert!(
            text.contains("\u{1b}[3J"),
            "the scrollback of the client goes too: {:?}",
            &text[..40.min(text.len())]
        );
        let printed: Vec<&str> = text.split("\r\n").filter(|line| line.parse::<u64>().is_ok()).collect();
        let numbers: Vec<String> = (2..=100).map(|n| n.to_string()).collect();
        assert_eq!(printed, numbers, "each line once in {text:?}");
    }
}

#[test]
fn five_hundred_attaches_at_random_cursors_lose_nothing_and_double_nothing() {
    let _alone = alone();
    let server = Server::start(&[]);
    let script = "stty -echo -opost; read x; i=0; while [ $i -lt 1000 ]; do seq -f '%.0f' $((i*400+1)) $((i*400+400)); i=$((i+1)); sleep 0.01; done; read x";
    let terminal = server.make(80, 24, sh(script));
    server.post(&format!("/v1/terminals/{}/input", terminal.id), &json!({"data": "\n"}));
    let stream: Vec<u8> = (1..=400_000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
    // What the terminal echoes before `stty -echo` took hold is not part of the count.
    let mut first = server.attach(&terminal, 2);
    first.expect("1\n2\n3\n");
    let start = find(&first.text, b"1\n2\n3\n").unwrap() as u64;
    let mut dice = Dice::new();
    let (mut resets, mut replays) = (0, 0);
    for round in 0..500 {
        let head = server.post(
            "/v1/terminals",
            &json!({"sessionId": terminal.session, "cwd": "/tmp", "cols": 80, "rows": 24}),
        );
        let head = head.json()["nextOutputSeq"].as_u64().unwrap() - 1;
        let cursor = match dice.below(10) {
            0 => 0,
            1 => head + 1 + dice.below(1000),
            2 => head,
            _ => dice.below(head + 1).max(start),
        };
        let mut client = server.attach_at(&terminal, cursor, 1 + (round % 2) as u8);
        let mut at = cursor;
        for _ in 0..1 + dice.below(6) {
            match client.next_within(std::time::Duration::from_millis(50)) {
                Some(Frame::Output { seq, reset: true, .. }) => {
                    resets += 1;
                    at = seq;
                }
                None => {}
                Some(Frame::Output { seq, data, .. }) => {
                    let place = at.checked_sub(start).map(|place| place as usize);
                    assert!(
                        place.is_none_or(|place| stream[place..].starts_with(&data)),
                        "after {at} in round {round}"
                    );
                    replays += u64::from(place.is_some());
                    at = seq;
                }
                Some(other) => panic!("{other:?}"),
            }
        }
    }
    println!("{resets} resets, {replays} replays");
    assert!(resets > 0 && replays > 100);
    while first.text.len() - (start as usize) < stream.len() {
        first.next();
    }
    assert_eq!(first.resets, 0);
    assert!(first.text[start as usize..] == stream[..]);
}

#[test]
fn a_hundred_mebibytes_arrive_unchanged() {
    let _alone = alone();
    // All of it stays in the ring: a client on a busy machine may fall behind, and must still get every byte.
    let server = Server::start(&["--replay-bytes", "134217728"]);
    let file = server.dir.file("hundred");
    let mut text = Vec::with_capacity(101 << 20);
    let mut dice = Dice::new();
    while text.len() < 100 << 20 {
        text.extend(format!("{:016x} ─ {}\n", dice.below(u64::MAX), text.len()).into_bytes());
    }
    std::fs::write(&file, &text).unwrap();
    for protocol in [1, 2] {
        let terminal = server.make(
            80,
            24,
            sh(&format!("stty raw -echo; echo ready; read x; cat {}; exit 5", file.display())),
        );
        let mut client = server.attach(&terminal, protocol);
        client.expect("ready\n");
        client.keeps_text = false;
        let number = client.input("\n");
        client.expect_ack(number);
        let mut hash = Hash::new();
        loop {
            match client.next() {
                Frame::Output { data, reset, .. } => {
                    assert!(!reset, "what the ring has is never replaced by a reset");
                    hash.feed(&data);
                }
                Frame::Exit { code, .. } => {
                    assert_eq!(code, Some(5));
                    break;
                }
                _ => {}
            }
        }
        assert_eq!(hash, Hash::of(&text));
    }
}

#[test]
fn a_program_with_no_client_runs_on() {
    let server = Server::start(&[]);
    let done = server.dir.file("done");
    let terminal = server.make(
        80,
        24,
        sh(&format!("head -c 200000000 /dev/zero | tr '\\0' x; touch {}; read x", done.display())),
    );
    let client = server.attach(&terminal, 2);
    drop(client);
    eventually("200 MB are written", || done.exists());
}

#[test]
fn long_sequences_pass_unchanged() {
    let server = Server::start(&[]);
    let script = "import sys
out = sys.stdout
out.write('\\033]52;c;' + 'QUFB' * 25000 + '\\007')
out.write('\\033]8;;http://example.com/' + 'u' * 4000 + '\\033\\\\link\\033]8;;\\033\\\\')
out.write('\\033Pq' + '#0;2;0;0;0' + '~' * 3000 + '\\033\\\\END')
";
    let expected = format!(
        "\u{1b}]52;c;{}\u{7}\u{1b}]8;;http://example.com/{}\u{1b}\\link\u{1b}]8;;\u{1b}\\\u{1b}Pq#0;2;0;0;0{}\u{1b}\\END",
        "QUFB".repeat(25000),
        "u".repeat(4000),
        "~".repeat(3000)
    );
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, python(script));
        let mut client = server.attach(&terminal, protocol);
        client.expect_exit(0);
        assert!(client.text() == expected);
    }
}

#[test]
fn sequences_without_end_cost_no_memory_and_leave_a_usable_terminal() {
    let _alone = alone();
    let server = Server::start(&[]);
    for begin in ["\\033]2;", "\\033P1q", "\\033_G", "\\033[1;1", "a"] {
        let fill = match begin {
            "a" => "\\314\\201".repeat(32),
            "\\033[1;1" => ";1".repeat(32),
            _ => "x".repeat(64),
        };
        let count = 60_000_000 / 64;
        let script = format!(
            "stty -echo; read x; printf '{begin}'; yes \"$(printf '{fill}')\" | head -n {count} | tr -d '\\n'; printf '\\033\\\\\\030\\033c'; echo after; read x"
        );
        let terminal = server.make(80, 24, sh(&script));
        let mut client = server.attach(&terminal, 2);
        client.keeps_text = false;
        // The ring is filled first: it is what a terminal may cost.
        let before = processes::resident_kib(server.pid);
        client.input("\n");
        drop(client);
        server.until_screen(&terminal, "after");
        let grown = processes::resident_kib(server.pid).saturating_sub(before);
        assert!(grown < 12 << 10, "{begin} grew by {grown} KiB");
        server.delete(&format!("/v1/terminals/{}", terminal.id));
    }
}
