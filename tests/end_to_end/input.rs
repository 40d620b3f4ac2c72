//! What is typed arrives, whole, in order and once; what cannot be taken yet waits at the sender.

use crate::harness::proxy::Proxy;
use crate::harness::*;

fn sink(server: &Server, name: &str) -> (std::path::PathBuf, Terminal) {
    let file = server.dir.file(name);
    let terminal =
        server.make(80, 24, sh(&format!("stty raw -echo; printf ready; exec cat > {}", file.display())));
    (file, terminal)
}

/// Lines of text that differ everywhere.
fn text_of(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 32);
    let mut state = 7u64;
    while text.len() < bytes {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        text.push_str(&format!("{:016x} é{}\n", state, text.len()));
    }
    text
}

#[test]
fn a_ten_mebibyte_paste_arrives_whole() {
    let _alone = alone();
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let (file, terminal) = sink(&server, &format!("paste-{protocol}"));
        let mut client = server.attach(&terminal, protocol);
        client.expect("ready");
        let paste = text_of(10 << 20);
        let mut rest = paste.as_str();
        let mut last = 0;
        while !rest.is_empty() {
            let mut cut = rest.len().min(64 << 10);
            while !rest.is_char_boundary(cut) {
                cut -= 1;
            }
            last = client.input(&rest[..cut]);
            rest = &rest[cut..];
        }
        client.expect_ack(last);
        eventually("the file is whole", || {
            std::fs::metadata(&file).is_ok_and(|meta| meta.len() == paste.len() as u64)
        });
        assert_eq!(Hash::of(&std::fs::read(&file).unwrap()), Hash::of(paste.as_bytes()));
    }
}

#[test]
fn a_paste_may_be_one_frame_of_eight_mebibytes() {
    let _alone = alone();
    let server = Server::start(&[]);
    let (file, terminal) = sink(&server, "one-frame");
    let mut client = server.attach(&terminal, 2);
    client.expect("ready");
    let paste = text_of(8 << 20);
    let number = client.input(&paste);
    client.expect_ack(number);
    eventually("the file is whole", || {
        std::fs::metadata(&file).is_ok_and(|meta| meta.len() == paste.len() as u64)
    });
    assert!(std::fs::read(&file).unwrap() == paste.as_bytes());
}

#[test]
fn a_program_that_reads_slowly_gets_all_of_it() {
    let server = Server::start(&[]);
    let script = "import os,sys,time,tty,hashlib
tty.setraw(0); os.write(1, b'ready')
total, digest = 0, hashlib.sha256()
while total < 3000000:
    piece = os.read(0, 4096)
    total += len(piece); digest.update(piece)
    if total < 400000: time.sleep(0.01)
os.write(1, ('sum %s' % digest.hexdigest()).encode())
";
    let terminal = server.make(80, 24, python(script));
    let mut client = server.attach(&terminal, 2);
    client.expect("ready");
    let paste: String = text_of(3_500_000).chars().filter(char::is_ascii).take(3_000_000).collect();
    let file = server.dir.file("paste");
    std::fs::write(&file, &paste).unwrap();
    let sum = std::process::Command::new("sha256sum").arg(&file).output().unwrap().stdout;
    let sum = String::from_utf8(sum).unwrap()[..64].to_string();
    for piece in paste.as_bytes().chunks(50_000) {
        client.input(std::str::from_utf8(piece).unwrap());
    }
    client.expect(&format!("sum {sum}"));
}

#[test]
fn a_program_that_reads_nothing_holds_its_senders_back_and_nobody_else() {
    let _alone = alone();
    let server = Server::start(&[]);
    let terminal = server.make(
        80,
        24,
        python("import tty,time,os\ntty.setraw(0); os.write(1, b'ready'); time.sleep(600)"),
    );
    let mut client = server.attach(&terminal, 2);
    client.expect("ready");
    let before = processes::resident_kib(server.pid);
    let sender = std::thread::spawn(move || {
        let piece = text_of(60_000);
        for _ in 0..200 {
            client.input(&piece);
        }
        client
    });
    // It fills what there is, and then waits without turning.
    eventually("the server rests", || processes::ticks_in_a_second(server.pid) <= 2);
    let grown = processes::resident_kib(server.pid).saturating_sub(before);
    assert!(grown < 8 << 10, "grew by {grown} KiB");
    server.still_serves();
    // A watcher of the same terminal is served as well.
    let mut watcher = server.attach(&terminal, 2);
    watcher.expect("ready");
    watcher.settle();
    assert!(!sender.is_finished(), "12 MB were taken although nobody reads them");
    server.delete(&format!("/v1/terminals/{}", terminal.id));
    watcher.exit();
    drop(sender.join());
}

#[test]
fn posted_input_that_cannot_be_taken_is_refused_with_a_reason() {
    let server = Server::start(&[]);
    let terminal = server.make(
        80,
        24,
        python("import tty,time,os\ntty.setraw(0); os.write(1, b'ready'); time.sleep(600)"),
    );
    server.until_screen(&terminal, "ready");
    let body = json!({"data": "x".repeat(400_000)});
    let path = format!("/v1/terminals/{}/input", terminal.id);
    // Each is either taken, or answered with an error: never silently dropped.
    let mut refused = None;
    for _ in 0..8 {
        let answer = server.post(&path, &body);
        if answer.status != 204 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("3.2 MB were taken although nobody reads them");
    assert!(matches!(refused.status, 429 | 503), "{}", refused.status);
    refused.error();
}

#[test]
fn a_thousand_cuts_while_lines_are_typed_lose_nothing_and_double_nothing() {
    let _alone = alone();
    let server = Server::start(&[]);
    let proxy = Proxy::to(server.addr());
    let file = server.dir.file("typed");
    let terminal =
        server.make(80, 24, sh(&format!("stty raw -echo; printf ready; exec tee {}", file.display())));
    let mut client = server.attach(&terminal, 2);
    client.expect("ready");
    let mut dice = Dice::new();
    let mut line = 0;
    let mut cuts = 0;
    let mut typed = String::new();
    // A frame arrives whole or not at all: while none does, more is let through.
    let (mut room, mut cursor) = (4000, client.cursor);
    while cuts < 1000 || line < 1000 {
        room = if client.cursor > cursor { 4000 } else { (room * 2).min(1 << 20) };
        cursor = client.cursor;
        // The upgrade takes about 250 bytes up and 150 down, so some cuts fall into it.
        proxy.next_connection_may(200 + dice.below(4000), 150 + dice.below(room));
        client.protocol = 1 + dice.below(2) as u8;
        let mut up = client.reconnect(Stream::tcp(proxy.addr));
        while up {
            while client.unacked.len() < 6 {
                line += 1;
                let text = format!("line {line}\n");
                client.input(&text);
                typed.push_str(&text);
            }
            up = !matches!(client.next(), Frame::Closed(_) | Frame::Gone);
        }
        cuts += 1;
        client.control.clear();
    }
    assert!(client.reconnect(server.dial()));
    client.input("END\n");
    typed.push_str("END\n");
    client.expect("END\n");
    println!("{line} lines over {cuts} connections");
    assert_eq!(client.text(), format!("ready{typed}"), "what came back, once and in order");
    eventually("all is written", || std::fs::metadata(&file).unwrap().len() == typed.len() as u64);
    assert!(std::fs::read_to_string(&file).unwrap() == typed, "what the program read, once and in order");
}
