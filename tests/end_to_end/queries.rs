//! Who answers a program that asks its terminal something: exactly one, and never a late client.

use data_encoding::BASE64;

use crate::harness::client::reset_of;
use crate::harness::*;
use crate::mirror::Mirror;

/// Asks for DA1, reads what is answered until a second of silence, and prints it.
const ASKS: &str = "import os,sys,tty,select
tty.setraw(0)
def ask(query):
    os.write(1, query)
    answer = b''
    while select.select([0], [], [], 1.0)[0]:
        answer += os.read(0, 4096)
    return answer
";

#[test]
fn while_nobody_is_attached_the_server_answers_each_query_once() {
    let server = Server::start(&[]);
    let script = format!(
        "{ASKS}
queries = [b'\\033[c', b'\\033[>c', b'\\033[>q', b'\\033[5n', b'\\033[3;7H\\033[6n', b'\\033[?2004$p', b'\\033[?2004h\\033[?2004$p', b'\\033]10;?\\007', b'\\033]11;?\\033\\\\']
answers = [ask(query) for query in queries]
os.write(1, b'\\033[2J\\033[H')
for answer in answers:
    os.write(1, repr(answer).encode() + b'\\r\\n')
os.write(1, b'done')
sys.stdin.readline()
"
    );
    let terminal = server.make(120, 24, python(&script));
    server.until_screen(&terminal, "done");
    let screen = server.screen(&terminal);
    let answers: Vec<&str> = screen.lines().filter(|line| line.starts_with("b'")).collect();
    assert_eq!(answers.len(), 9, "{screen}");
    assert!(answers[0].starts_with("b'\\x1b[?") && answers[0].ends_with("c'"), "DA1: {}", answers[0]);
    assert!(answers[1].starts_with("b'\\x1b[>") && answers[1].ends_with("c'"), "DA2: {}", answers[1]);
    assert!(
        answers[2].starts_with("b'\\x1bP>|") && answers[2].ends_with("\\x1b\\\\'"),
        "XTVERSION: {}",
        answers[2]
    );
    assert_eq!(answers[3], "b'\\x1b[0n'");
    assert_eq!(answers[4], "b'\\x1b[3;7R'");
    assert_eq!(answers[5], "b'\\x1b[?2004;2$y'");
    assert_eq!(answers[6], "b'\\x1b[?2004;1$y'");
    assert!(answers[7].starts_with("b'\\x1b]10;rgb:"), "{}", answers[7]);
    assert!(answers[8].starts_with("b'\\x1b]11;rgb:"), "{}", answers[8]);
    for answer in &answers {
        assert_eq!(
            answer.matches("\\x1b[?2004").count().max(answer.matches("\\x1b]1").count()).max(1),
            1,
            "once: {answer}"
        );
    }
}

#[test]
fn while_a_client_is_attached_only_it_answers() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let script = format!(
            "{ASKS}\nos.write(1, b'ready'); os.read(0, 1)\nos.write(1, b'<' + repr(ask(b'\\033[c')).encode() + b'>'); os.read(0, 1)\n"
        );
        let terminal = server.make(80, 24, python(&script));
        let mut client = server.attach(&terminal, protocol);
        client.expect("ready");
        client.input("x");
        client.expect("\u{1b}[c");
        client.expect("<b''>");
    }
}

#[test]
fn of_several_clients_only_the_one_whose_size_the_pty_has_gets_its_reply_through() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let script = format!(
            "{ASKS}\nos.write(1, b'ready'); os.read(0, 1)\nos.write(1, b'<' + ask(b'\\033[c').hex().encode() + b'>'); os.read(0, 1)\n"
        );
        let terminal = server.make(80, 24, python(&script));
        let (mut a, mut b) = (server.attach(&terminal, protocol), server.attach(&terminal, protocol));
        let number = a.resize(100, 30);
        a.expect_ack(number);
        let number = b.resize(60, 20);
        b.expect_ack(number);
        a.expect("ready");
        a.input("x");
        a.expect("\u{1b}[c");
        b.expect("\u{1b}[c");
        let reply = "\u{1b}[?62;c";
        let from_b = b.reply("\u{1b}[?1;2c");
        b.expect_ack(from_b);
        a.reply(reply);
        let hex: String = reply.bytes().map(|byte| format!("{byte:02x}")).collect();
        a.expect(&format!("<{hex}>"));
        b.settle();
        assert_eq!(b.size, Some((100, 30)));
    }
}

#[test]
fn sessions_of_the_mirror_answer_only_while_they_show_the_terminal() {
    let server = Server::start(&[]);
    let script = format!(
        "{ASKS}
while True:
    os.write(1, b'next'); os.read(0, 1)
    os.write(1, b'<' + ask(b'\\033[c').hex().encode() + b'>')
"
    );
    let terminal = server.make(80, 24, python(&script));
    let mut mirrors: Vec<Mirror> = (0..3).map(|_| Mirror::open(&server)).collect();
    // Each session replies to what it is shown, as its emulator would; gives what the program reads.
    let answer = |mirrors: &mut [Mirror]| {
        let typed = server.post(&format!("/v1/terminals/{}/input", terminal.id), &json!({ "data": "x" }));
        assert_eq!(typed.status, 204);
        for (n, mirror) in mirrors.iter_mut().enumerate() {
            mirror.expect(&terminal, "\u{1b}[c");
            let bytes = BASE64.encode(format!("\u{1b}[?10{n}c").as_bytes());
            mirror.send(
                json!({ "type": "surfaceStdin", "surfaceId": terminal.id, "bytes": bytes, "claim": false }),
            );
        }
        let mut shown = String::new();
        for mirror in mirrors {
            mirror.expect(&terminal, ">next");
            shown = mirror.shown(&terminal);
            mirror.frames.clear();
        }
        let hex = shown.rsplit_once('<').unwrap().1.split_once('>').unwrap().0;
        String::from_utf8(data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap()).unwrap()
    };
    for mirror in &mut mirrors {
        mirror.expect(&terminal, "next");
    }
    let of_server = answer(&mut mirrors);
    assert!(
        of_server.starts_with("\u{1b}[?") && !of_server.contains("?10"),
        "nobody shows it: {of_server:?}"
    );
    for mirror in &mut mirrors[1..] {
        mirror.resize(&terminal, 90, 30);
        mirror.settle();
    }
    let attended = mirrors[0].until("surfaceAttend");
    assert_eq!((&attended["surfaceId"], &attended["attended"]), (&json!(terminal.id), &json!(true)));
    assert_eq!(Mirror::open(&server).hello["snapshot"]["surfaces"][0]["attended"], true);
    assert_eq!(answer(&mut mirrors), "\u{1b}[?101c", "the first that shows it");
    mirrors[1].send(json!({ "type": "surfaceHide", "surfaceId": terminal.id }));
    mirrors[1].settle();
    assert_eq!(answer(&mut mirrors), "\u{1b}[?102c", "the next");
    mirrors[2].send(json!({ "type": "surfaceHide", "surfaceId": terminal.id }));
    mirrors[2].settle();
    assert_eq!(mirrors[0].until("surfaceAttend")["attended"], false);
    assert_eq!(answer(&mut mirrors), of_server, "nobody again");
    mirrors[0].resize(&terminal, 90, 30);
    mirrors[0].settle();
    drop(mirrors.remove(0));
    eventually("it has left", || server.describe(&terminal)["attached"] == 2);
    assert_eq!(answer(&mut mirrors), of_server, "nor after who showed it has left");
    // A client of the terminal protocol is there to answer, shown or not.
    mirrors[0].settle();
    let client = server.attach(&terminal, 2);
    assert_eq!(mirrors[0].until("surfaceAttend")["attended"], true);
    drop(client);
    assert_eq!(mirrors[0].until("surfaceAttend")["attended"], false);
}

#[test]
fn no_query_is_ever_part_of_a_reset_or_of_the_screen() {
    let server = Server::start(&[]);
    let queries = "\\033[c\\033[0c\\033[>c\\033[=c\\033[5n\\033[6n\\033[?6n\\033[?2026$p\\033[4$p\\033P$qm\\033\\\\\\033P+q544e\\033\\\\\\033]10;?\\007\\033]11;?\\007\\033]4;1;?\\007\\033[>q\\033[?u\\033[14t\\033[18t\\033[21t\\033[x\\033]52;c;?\\007";
    let script = format!("stty raw -echo; printf 'before{queries}after'; while :; do sleep 1; done");
    let terminal = server.make(80, 24, sh(&script));
    server.until_screen(&terminal, "beforeafter");
    let vt = server.screen_as(&terminal, "format=vt")["screen"].as_str().unwrap().to_string();
    for protocol in [1, 2] {
        let reset = reset_of(&server, &terminal, protocol).text();
        for text in [&reset, &vt] {
            assert!(text.contains("beforeafter"));
            for query in [
                "\u{1b}[c",
                "\u{1b}[0c",
                "\u{1b}[>c",
                "\u{1b}[=c",
                "\u{1b}[5n",
                "\u{1b}[6n",
                "\u{1b}[?6n",
                "$p",
                "$q",
                "+q",
                "10;?",
                "11;?",
                "4;1;?",
                "\u{1b}[>q",
                "\u{1b}[?u",
                "\u{1b}[14t",
                "\u{1b}[18t",
                "\u{1b}[21t",
                "\u{1b}[x",
                "52;",
            ] {
                assert!(!text.contains(query), "{query:?} in {text:?}");
            }
        }
    }
}

#[test]
fn history_can_be_told_from_news_by_the_head_in_ready() {
    let server = Server::start(&[]);
    let terminal =
        server.make(80, 24, sh("stty raw -echo; printf '\\033[cold'; read x; printf '\\033[cnew'; read x"));
    server.until_screen(&terminal, "old");
    let mut client = server.attach(&terminal, 2);
    let Frame::Ready { head } = client.control[0] else { panic!() };
    client.expect("old");
    assert!(client.cursor <= head, "replayed output is up to the head");
    client.input("\r\n");
    client.expect("new");
    assert!(client.cursor > head);
}

#[test]
fn a_prompt_appears_without_any_client() {
    let server = Server::start(&[]);
    for shell in ["/usr/bin/fish", "/usr/bin/zsh", "/bin/bash"] {
        assert!(std::path::Path::new(shell).exists(), "{shell} is needed; scripts/test installs it");
        let terminal = server.make(100, 24, Program::new(shell, &[]));
        eventually(&format!("{shell} shows a prompt"), || !server.screen(&terminal).trim().is_empty());
        server.post(&format!("/v1/terminals/{}/input", terminal.id), &json!({"data": "echo 4''2\n"}));
        server.until_screen(&terminal, "\n42");
        let screen = server.screen(&terminal);
        assert!(!screen.to_lowercase().contains("warning"), "{screen}");
    }
}
