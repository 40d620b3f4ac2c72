//! Reading the screen, and what a late client is shown.

use crate::harness::client::reset_of;
use crate::harness::*;

fn shown(server: &Server, cols: u64, rows: u64, printf: &str) -> Terminal {
    let terminal = server.make(
        cols,
        rows,
        sh(&format!("stty raw -echo; printf '{printf}'; printf '\\033]2;drawn\\007'; cat")),
    );
    eventually("it is drawn", || server.screen_as(&terminal, "format=text")["title"] == "drawn");
    terminal
}

/// Numbered rows for `printf`.
fn rows(first: u64, last: u64) -> String {
    (first..=last).map(|n| n.to_string()).collect::<Vec<_>>().join("\\r\\n")
}

#[test]
fn text_is_the_scrollback_and_the_screen() {
    let server = Server::start(&[]);
    let terminal = server.make(40, 5, sh("seq 1 12; printf '\\033[1mbold\\033[m ─ 你好'; read x"));
    server.until_screen(&terminal, "你好");
    let all: Vec<String> = (1..=12).map(|n| n.to_string()).chain(["bold ─ 你好".into()]).collect();
    let screen = server.screen_as(&terminal, "format=text");
    assert_eq!(screen["format"], "text");
    assert_eq!(screen["screen"], all.join("\n"));
    assert_eq!(server.screen_as(&terminal, ""), screen, "text is the default");
    assert_eq!(server.screen_as(&terminal, "scrollback=false")["screen"], all[8..].join("\n"));
    assert_eq!(
        server.screen_as(&terminal, "lines=2")["screen"],
        all[6..].join("\n"),
        "so many of the scrollback"
    );
    assert_eq!(
        (&screen["cols"], &screen["rows"], &screen["alternate"]),
        (&json!(40), &json!(5), &json!(false))
    );
    assert_eq!(screen["cursor"]["row"], 4);
    assert_eq!(screen["cursor"]["col"], 11);
}

#[test]
fn a_screen_request_that_makes_no_sense_names_its_parameter() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("read x"));
    for (query, field) in [
        ("format=html", "format"),
        ("lines=x", "lines"),
        ("lines=-1", "lines"),
        ("scrollback=maybe", "scrollback"),
    ] {
        let answer = server.get(&format!("/v1/terminals/{}/screen?{query}", terminal.id));
        assert_eq!(answer.status, 400, "{query}");
        assert!(answer.error().contains(field), "{}", answer.text());
    }
}

#[test]
fn vt_reproduces_colours_and_cursor() {
    let server = Server::start(&[]);
    let terminal = shown(&server, 40, 5, "\\033[31mred\\033[m \\033[48;2;1;2;3mback\\033[m\\033[3;4H");
    let vt = server.screen_as(&terminal, "format=vt");
    assert_eq!(vt["format"], "vt");
    let bytes = vt["screen"].as_str().unwrap();
    assert!(bytes.contains("red") && bytes.contains("back") && bytes.contains("48;2;1;2;3"), "{bytes:?}");
    // Printed into a terminal of the same size, it makes the same screen.
    let file = server.dir.file("vt");
    std::fs::write(&file, bytes).unwrap();
    let copy = server.make(40, 5, sh(&format!("stty raw -echo; cat {}; cat", file.display())));
    eventually("the copy is drawn", || server.screen(&copy) == server.screen(&terminal));
    eventually("the cursor is there", || {
        server.screen_as(&copy, "")["cursor"] == server.screen_as(&terminal, "")["cursor"]
    });
}

#[test]
fn the_alternate_screen_hides_the_primary_one_and_scrolls_into_nothing() {
    let server = Server::start(&[]);
    for mode in ["1049", "47", "1047"] {
        let terminal = shown(
            &server,
            40,
            5,
            &format!("a\\r\\nb\\r\\nc\\r\\nd\\r\\ne\\r\\nf\\r\\ng\\033[?{mode}h\\033[H{}", rows(1, 1000)),
        );
        let screen = server.screen_as(&terminal, "format=text");
        assert_eq!(screen["alternate"], true);
        let text = screen["screen"].as_str().unwrap();
        assert!(text.ends_with("996\n997\n998\n999\n1000"), "{text:?}");
        assert!(!text.contains("995") && text.lines().count() <= 7 + 5, "{text:?}");
        for protocol in [1, 2] {
            let reset = reset_of(&server, &terminal, protocol).text();
            assert!(
                reset.contains("1000") && reset.contains('g'),
                "both screens are in the reset: {reset:?}"
            );
        }
        server.post(
            &format!("/v1/terminals/{}/input", terminal.id),
            &json!({"data": format!("\u{1b}[?{mode}l")}),
        );
        eventually("the primary screen is back", || {
            server.screen(&terminal).starts_with("a\nb\nc\nd\ne\nf\ng")
        });
    }
}

#[test]
fn a_reset_inside_a_sequence_is_continued_by_what_follows() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let script = "stty raw -echo; printf 'text\\033]2;half a ti'; read x; printf 'tle\\007after'; read x";
        let terminal = server.make(80, 24, sh(script));
        server.until_screen(&terminal, "text");
        let mut client = reset_of(&server, &terminal, protocol);
        assert!(client.text().ends_with("\u{1b}]2;half a ti"), "{:?}", client.text());
        client.input("\r\n");
        client.expect("tle\u{7}after");
    }
}

#[test]
fn a_client_that_vanished_inside_of_a_control_string_is_freed_by_its_reset() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let script = "stty raw -echo; printf 'plain'; read x; printf '\\033]52;c;QUFB'; read x; \
                      printf 'Q\\007'; seq 1 500000; printf done; read x";
        let terminal = server.make(80, 24, sh(script));
        let mut client = server.attach(&terminal, protocol);
        client.expect("plain");
        let outside = client.cursor;
        client.input("\n");
        client.expect("QUFB");
        let inside = client.cursor;
        client.input("\n");
        server.until_screen(&terminal, "done");
        // ESC alone would commit the half string to the clipboard; CAN ends it without effect (ECMA-48, 8.2).
        for (cursor, start) in [(inside, "\u{18}\u{1b}c"), (outside, "\u{1b}c"), (0, "\u{1b}c")] {
            let mut client = server.attach_at(&terminal, cursor, protocol);
            client.until("reset", |frame| matches!(frame, Frame::Output { reset: true, .. }));
            assert!(client.text().starts_with(start), "at {cursor}: {:?}", &client.text()[..20]);
        }
    }
}

#[test]
fn a_title_as_the_program_wrote_it_is_bounded_and_cannot_break_out() {
    let server = Server::start(&[]);
    let script = "import sys
out = sys.stdout.buffer
out.write(b'\\033]2;ti\\x01t\\x7fl\\xe2\\x80\\xaee' + b'x' * 3000 + b'\\033\\\\')
out.write(b'shown'); out.flush(); sys.stdin.readline()
";
    let terminal = server.make(80, 24, python(script));
    server.until_screen(&terminal, "shown");
    let title = server.screen_as(&terminal, "")["title"].as_str().unwrap().to_string();
    assert!(title.len() <= 4096 && title.starts_with("ti"), "{title:?}");
    assert!(!title.chars().any(|c| c < ' ' || ('\u{80}'..='\u{9f}').contains(&c)), "{title:?}");
    for protocol in [1, 2] {
        let reset = reset_of(&server, &terminal, protocol).text();
        assert!(
            !reset.contains('\u{1}') && !reset.contains('\u{9b}'),
            "{:?}",
            &reset[..400.min(reset.len())]
        );
    }
}

#[test]
fn wide_characters_and_random_sizes_do_no_harm() {
    let server = Server::start(&[]);
    let script = "import sys,random
random.seed(7)
parts = ['你','好','😀','👨‍👩‍👧','é','e\\u0301','🇫🇷','한글','\\u3164','─','a','\\033[K','\\033[1K','\\033[P','\\033[@','\\r','\\n','\\t','\\033[%dG' % 3,'\\033[2X','\\033[L','\\033[M']
for line in sys.stdin:
    sys.stdout.write(''.join(random.choice(parts) for _ in range(300))); sys.stdout.flush()
";
    let terminal = server.make(4, 3, python(script));
    let mut client = server.attach(&terminal, 2);
    let mut dice = Dice::new();
    for round in 0..400 {
        client.input("\n");
        let number = match round % 4 {
            0 => client.resize(1 + dice.below(4), 1 + dice.below(4)),
            _ => client.resize(1 + dice.below(200), 1 + dice.below(60)),
        };
        client.expect_ack(number);
        if round % 20 == 0 {
            server.screen(&terminal);
            server.screen_as(&terminal, "format=vt");
            reset_of(&server, &terminal, 2);
        }
        client.control.clear();
        client.text.clear();
    }
    server.still_serves();
}

#[test]
fn a_full_scrollback_of_colours_and_links_has_its_price_and_after_a_clear_the_next_costs_nothing_more() {
    let _alone = alone();
    let server = Server::start(&[]);
    let script = "import sys
for time in range(3):
    for line in range(1100):
        sys.stdout.write(''.join('\\033]8;;http://%d/%d/%d\\007\\033[38;2;%d;%d;%dm#' % (time, line, col, line % 256, col % 256, (line * col) % 256) for col in range(200)) + '\\n')
    sys.stdout.write('\\033]8;;\\007\\033[mfull %d' % time); sys.stdout.flush(); sys.stdin.readline()
    sys.stdout.write('\\033[3J\\033[2J\\033[Hcleared %d' % time); sys.stdout.flush(); sys.stdin.readline()
";
    let before = processes::resident_kib(server.pid);
    let terminals: Vec<Terminal> = (0..5).map(|_| server.make(200, 50, python(script))).collect();
    let shown = |what: &str| {
        for terminal in &terminals {
            server.until_screen(terminal, what);
        }
        processes::resident_kib(server.pid).saturating_sub(before) / 5
    };
    let enter = || {
        for terminal in &terminals {
            server.post(&format!("/v1/terminals/{}/input", terminal.id), &json!({"data": "\n"}));
        }
    };
    let first = shown("full 0");
    println!("{first} KiB for 1,000 lines of 200 cells, each with its own colour and link");
    assert!(first < 24 << 10, "{first} KiB a terminal");
    for time in 0..2 {
        enter();
        shown(&format!("cleared {time}"));
        assert!(terminals.iter().all(|terminal| !server.screen(terminal).contains('#')));
        enter();
        let again = shown(&format!("full {}", time + 1));
        assert!(again < first + first / 4, "{again} KiB a terminal, after {first}");
    }
}

#[test]
fn building_a_large_reset_delays_nobody() {
    let _alone = alone();
    let server = Server::start(&["--scrollback", "2000"]);
    let script = "import sys
for line in range(2100):
    sys.stdout.write(''.join('\\033[38;2;%d;%d;%dm#' % (line % 256, col % 256, (line * col) % 256) for col in range(200)) + '\\n')
sys.stdout.write('\\033[mfull'); sys.stdout.flush(); sys.stdin.readline()
";
    let terminal = server.make(500, 50, python(script));
    server.until_screen(&terminal, "full");
    let mut client = server.attach(&terminal, 2);
    server.still_serves();
    client.until("reset", |frame| matches!(frame, Frame::Output { reset: true, .. }));
    client.socket.send_json(&json!({"type": "ping", "t": 1}));
    client.until("pong", |frame| matches!(frame, Frame::Pong(_)));
}

#[test]
fn clear_at_the_prompt_clears_for_everyone_and_the_text_never_comes_back() {
    let server = Server::start(&[]);
    let terminal = server.make_bash(80, 24);
    let (mut a, mut b) = (server.attach(&terminal, 2), server.attach(&terminal, 1));
    a.input("PS1='pro''mpt> '; seq 1 200; echo sec''ret\n");
    a.expect("secret");
    a.expect("prompt> ");
    b.expect("secret");
    b.expect("prompt> ");
    let old_cursor = a.cursor;
    a.clear();
    a.expect("\u{1b}[H\u{1b}[2J\u{1b}[3J");
    b.expect("\u{1b}[H\u{1b}[2J\u{1b}[3J");
    // Ctrl-L makes the shell draw its prompt again.
    a.expect("prompt> ");
    eventually("the screen is clear", || {
        server.screen(&terminal) == "prompt>" || server.screen(&terminal) == "prompt> "
    });
    for cursor in [0, 1, old_cursor - 10, old_cursor] {
        let mut late = server.attach_at(&terminal, cursor, 1 + (cursor % 2) as u8);
        late.expect("prompt> ");
        late.settle();
        assert!(!late.text().contains("secret") && !late.text().contains("150"), "{:?}", late.text());
        if cursor < old_cursor {
            assert_eq!(late.resets, 1, "at {cursor}");
        }
    }
    a.input("echo still $((40 + 2))\n");
    a.expect("still 42");
}

#[test]
fn clear_while_a_program_runs_clears_only_the_scrollback() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 5, Program::new("/bin/bash", &["--norc", "--noprofile"]));
    let mut client = server.attach(&terminal, 2);
    client.input("python3 -c 'import sys; print(\"\\n\".join(map(str, range(100)))); sys.stdin.readline(); print(\"st\" + \"ill\"); sys.stdin.readline()'\n");
    client.expect("\r\n99\r\n");
    client.clear();
    client.expect("\u{1b}[3J");
    assert!(!client.text().contains("\u{1b}[2J"));
    let screen = server.screen(&terminal);
    assert!(screen.contains("99") && !screen.contains("50"), "{screen:?}");
    let mut late = server.attach(&terminal, 2);
    late.expect("99");
    late.settle();
    assert_eq!(late.resets, 1);
    assert!(!late.text().contains("50"), "{:?}", late.text());
    client.input("\n");
    client.expect("still");
}

#[test]
fn a_clear_waits_for_the_end_of_a_sequence_that_is_under_way() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, python("import os,sys,tty; tty.setraw(0); os.write(1, b'text\\033]2;ti'); os.read(0, 1); os.write(1, b'tle\\007after'); os.read(0, 1)"));
    let mut client = server.attach(&terminal, 2);
    client.expect("\u{1b}]2;ti");
    let number = client.clear();
    client.expect_ack(number);
    client.input("x");
    client.expect("tle\u{7}");
    client.expect("after");
    let text = client.text();
    let title = text.find("\u{1b}]2;title\u{7}").expect("the title came whole");
    assert!(text.find("\u{1b}[3J").is_some_and(|clear| clear > title), "{text:?}");
}

#[test]
fn sequences_that_clear_do_what_they_say() {
    let server = Server::start(&[]);
    for (sequence, scrollback, screen) in
        [("\\033[3J", false, true), ("\\033[2J", true, false), ("\\033c", false, false)]
    {
        let terminal = shown(&server, 40, 5, &format!("{}{sequence}", rows(101, 120)));
        let text = server.screen(&terminal);
        assert_eq!(text.contains("105"), scrollback, "{sequence}: {text:?}");
        assert_eq!(text.contains("120"), screen, "{sequence}: {text:?}");
    }
}
