//! Whose size the PTY has. The transcripts name clients by letters and say what each does, in order.

use std::collections::BTreeMap;
use std::process::Command;

use crate::harness::*;

/// Plays a transcript on a fresh 80x24 terminal, and checks that the PTY, the API and every attached client
/// agree on the size afterwards.
#[track_caller]
fn expect_size_after(server: &Server, transcript: &str, size: &str) {
    let terminal = server.make(80, 24, sh("stty -echo; read x; read y"));
    let mut clients: BTreeMap<String, Client> = BTreeMap::new();
    for step in transcript.split(", ") {
        let words: Vec<&str> = step.split(' ').collect();
        let name = words[0].to_string();
        if words[1] == "leaves" {
            let client = clients.remove(&name).expect("attached");
            let attached = clients.len() as u64;
            drop(client);
            eventually("the client has left", || server.describe(&terminal)["attached"] == attached);
            continue;
        }
        if words[1] == "returns" {
            // The same clientId on a new socket, while the old one may still be there.
            let old = clients.remove(&name).expect("attached");
            let mut client = server.attach(&terminal, 2);
            client.client_id = old.client_id.clone();
            for _ in 0..100 {
                let number = client.say("input", json!({"data": "", "claim": false}));
                client.expect_ack(number);
            }
            clients.insert(name, client);
            continue;
        }
        let client = clients.entry(name).or_insert_with(|| server.attach(&terminal, 2));
        let number = match words[1] {
            "shows" => {
                let (cols, rows) = words[2].split_once('x').unwrap();
                client.resize(cols.parse().unwrap(), rows.parse().unwrap())
            }
            "types" => client.input("x"),
            "replies" => client.reply("\u{1b}[?1;2c"),
            "focuses" => client.focus(),
            "hides" => client.hide(),
            "attaches" => continue,
            other => panic!("{other}"),
        };
        client.expect_ack(number);
    }
    let pts = std::fs::read_link(format!("/proc/{}/fd/0", server.describe(&terminal)["pid"])).unwrap();
    let agreed = || {
        let row = server.describe(&terminal);
        let stty = Command::new("stty").arg("-F").arg(&pts).arg("size").output().unwrap();
        let stty = String::from_utf8(stty.stdout).unwrap();
        let (rows, cols) = stty.trim().split_once(' ').unwrap_or_default();
        [format!("{}x{}", row["cols"], row["rows"]), format!("{cols}x{rows}")]
    };
    eventually(&format!("{size} after {transcript}, not {:?}", agreed()), || agreed() == [size, size]);
    // A change that waits for its turn would come by now (`limits::RESIZE_INTERVAL`).
    std::thread::sleep(2 * wharf::limits::RESIZE_INTERVAL);
    assert_eq!(agreed(), [size, size], "after {transcript}");
    for client in clients.values_mut() {
        client.settle();
        let (cols, rows) = client.size.unwrap();
        assert_eq!(format!("{cols}x{rows}"), size, "as told to a client after {transcript}");
        let sizes = client.sizes();
        assert!(sizes.windows(2).all(|pair| pair[0] != pair[1]), "told twice: {sizes:?} in {transcript}");
    }
    server.delete(&format!("/v1/terminals/{}", terminal.id));
}

#[test]
fn the_client_being_used_sets_the_size() {
    let server = Server::start(&[]);
    for (transcript, size) in [
        ("A attaches", "80x24"),
        ("A types", "80x24"),
        // Until any client is used, the first to show sets the size.
        ("A shows 100x30", "100x30"),
        ("A shows 100x30, B shows 60x20", "100x30"),
        ("A shows 100x30, A shows 101x31", "101x31"),
        // Use takes it: typing and focus, but not a reply.
        ("A shows 100x30, B shows 60x20, B types", "60x20"),
        ("A shows 100x30, B shows 60x20, B focuses", "60x20"),
        ("A shows 100x30, B shows 60x20, B replies", "100x30"),
        ("A shows 100x30, B shows 60x20, B types, A types", "100x30"),
        ("A shows 100x30, B shows 60x20, B focuses, A shows 90x40", "60x20"),
        ("A shows 100x30, B shows 60x20, B focuses, B shows 61x21", "61x21"),
        // Use by one that does not show yet counts when it shows.
        ("A shows 100x30, B types", "100x30"),
        ("A shows 100x30, B types, B shows 60x20", "60x20"),
        ("A shows 100x30, B focuses, B shows 60x20", "60x20"),
        ("A shows 100x30, B replies, B shows 60x20", "100x30"),
        // Hiding and leaving hand over to the most recently used one still showing.
        ("A shows 100x30, B shows 60x20, B types, B hides", "100x30"),
        ("A shows 100x30, B shows 60x20, B types, B leaves", "100x30"),
        ("A shows 100x30, B shows 60x20, C shows 70x22, B types, C types, A types, A hides", "70x22"),
        ("A shows 100x30, B shows 60x20, C shows 70x22, C types, B types, A types, A hides", "60x20"),
        (
            "A shows 100x30, B shows 60x20, C shows 70x22, C types, B types, A types, A leaves, B hides",
            "70x22",
        ),
        // Among those never used, to the one first shown most recently; a repeated resize changes no order.
        ("A shows 100x30, B shows 60x20, C shows 70x22, A hides", "70x22"),
        ("A shows 100x30, B shows 60x20, C shows 70x22, B shows 61x21, A hides", "70x22"),
        ("A shows 100x30, B shows 60x20, C shows 70x22, A types, B types, B shows 61x21, B hides", "100x30"),
        // With none left, the size stays; who shows next sets it.
        ("A shows 100x30, A hides", "100x30"),
        ("A shows 100x30, A leaves", "100x30"),
        ("A shows 100x30, A leaves, B shows 60x20", "60x20"),
        ("A shows 100x30, A hides, A shows 90x20", "90x20"),
        // Showing again takes nothing back: only use does.
        ("A shows 100x30, B shows 60x20, A types, A hides, A shows 100x30", "60x20"),
        ("A shows 100x30, B shows 60x20, A types, A hides, A shows 100x30, A types", "100x30"),
        // One that does not own may come and go.
        ("A shows 100x30, B shows 60x20, B hides", "100x30"),
        ("A shows 100x30, B shows 60x20, B leaves", "100x30"),
        // A clientId seen on a new socket moves there.
        ("A shows 100x30, B shows 60x20, B types, B returns", "60x20"),
    ] {
        expect_size_after(&server, transcript, size);
    }
}

#[test]
fn a_client_moves_to_its_new_socket_with_what_it_shows() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("read x"));
    let mut other = server.attach(&terminal, 2);
    let number = other.resize(60, 20);
    other.expect_ack(number);
    let mut old = server.attach(&terminal, 2);
    old.resize(100, 30);
    let number = old.focus();
    old.expect_ack(number);
    let mut new = server.attach(&terminal, 2);
    new.client_id = old.client_id.clone();
    for _ in 0..3 {
        let number = new.reply("");
        new.expect_ack(number);
    }
    // The old connection ends late, as after a tunnel: it takes nothing with it.
    drop(old);
    eventually("the old socket has gone", || server.describe(&terminal)["attached"] == 2);
    new.expect_size(100, 30);
    new.settle();
    assert_eq!(new.size, Some((100, 30)));
}

#[test]
fn a_size_that_does_not_change_is_not_told() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh("read x"));
        let (mut a, mut b) = (server.attach(&terminal, protocol), server.attach(&terminal, protocol));
        for _ in 0..5 {
            let number = a.resize(80, 24);
            a.expect_ack(number);
        }
        let number = b.resize(60, 20);
        b.expect_ack(number);
        a.settle();
        b.settle();
        assert_eq!((a.sizes(), b.sizes()), (vec![(80, 24)], vec![(80, 24)]));
    }
}

#[test]
fn a_resize_reaches_the_program_at_once_and_before_it_prints() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let winch = "trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done";
        let terminal = server.make(123, 45, sh(winch));
        let mut client = server.attach(&terminal, protocol);
        client.expect("45 123");
        client.resize(90, 30);
        client.expect("30 90");
        client.expect_size(90, 30);
        // Silent so far, and resized in the same packet as the upgrade.
        let terminal = server.make(80, 24, sh("read x; stty size; read x"));
        let mut http = server.http();
        let resize =
            json!({"type": "resize", "clientId": "c", "clientSeq": 1, "cols": 77, "rows": 33}).to_string();
        let mut bytes = format!(
            "GET {}?protocol={protocol} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            terminal.socket
        )
        .into_bytes();
        bytes.extend(WebSocket::frame(0x80 | websocket::TEXT, true, resize.as_bytes()));
        http.put(bytes);
        assert_eq!(http.answer("GET").status, 101);
        eventually("it is resized", || server.describe(&terminal)["cols"] == 77);
        server.post(&format!("/v1/terminals/{}/input", terminal.id), &json!({"data": "\n"}));
        server.until_screen(&terminal, "33 77");
    }
}

#[test]
fn the_terminal_is_the_controlling_terminal_of_its_own_session() {
    let server = Server::start(&[]);
    let terminal = server.make_bash(80, 24);
    let mut client = server.attach(&terminal, 2);
    client.input("ps -o tty=,sid=,pid=,tpgid= -p $$ | sed 's/^/row /'\n");
    client.expect("row pts/");
    let shell = server.describe(&terminal)["pid"].as_u64().unwrap() as u32;
    // Asleep, not stopped: field 3 of its state.
    let sleeps = || {
        eventually("sleep is in the foreground", || {
            let stats = processes::children(shell).into_iter();
            let stats =
                stats.map(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default());
            stats.into_iter().any(|stat| stat.contains("(sleep) S"))
        })
    };
    client.input("sleep 1000\n");
    sleeps();
    client.input("\u{1a}");
    client.expect("Stopped");
    client.input("fg\n");
    sleeps();
    client.input("\u{3}");
    client.input("echo status $?\n");
    client.expect("status 130");
    client.input("sleep 1000\n");
    sleeps();
    client.input("\u{1c}");
    client.expect("Quit");
}

#[test]
fn naive_clients_that_send_their_size_on_every_size_frame_do_not_fight() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("stty -echo; echo ready; while read x; do echo out; done"));
    let (mut a, mut b) = (server.attach(&terminal, 2), server.attach(&terminal, 2));
    a.expect("ready");
    a.resize(100, 30);
    b.resize(60, 20);
    for _ in 0..20 {
        let number = a.input("\n");
        a.expect_ack(number);
        a.expect("out");
        a.resize(100, 30);
        b.expect("out");
        b.resize(60, 20);
    }
    a.settle();
    b.settle();
    assert_eq!(a.sizes(), [(80, 24), (100, 30)]);
    assert_eq!(b.sizes().last(), Some(&(100, 30)));
    assert!(b.sizes().len() <= 2);
}

#[test]
fn replies_do_not_count_as_use_and_kitty_keys_do() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("stty raw -echo; cat >/dev/null"));
    let (mut a, mut b) = (server.attach(&terminal, 2), server.attach(&terminal, 2));
    let number = a.resize(100, 30);
    a.expect_ack(number);
    b.resize(60, 20);
    let number = b.reply("\u{1b}[I");
    b.expect_ack(number);
    b.settle();
    assert_eq!(b.size, Some((100, 30)));
    b.input("\u{1b}[97u");
    b.expect_size(60, 20);
    a.expect_size(60, 20);
}

#[test]
fn a_burst_of_resizes_ends_at_the_last_and_the_program_hears_a_few() {
    let server = Server::start(&[]);
    let program = "import signal,time,os,sys
count = 0
def winch(*_):
    global count
    count += 1
signal.signal(signal.SIGWINCH, winch)
print('ready', flush=True)
sys.stdin.readline()
print('heard', count, os.get_terminal_size(), flush=True)
sys.stdin.readline()
before = count
print('then', count - before, flush=True)
";
    let terminal = server.make(80, 24, python(program));
    let mut client = server.attach(&terminal, 2);
    client.expect("ready");
    let mut sent: Vec<u64> = (1..50).map(|n| client.resize(100 + n, 20 + n)).collect();
    sent.push(client.resize(90, 33));
    for number in &sent {
        client.expect_ack(*number);
    }
    client.expect_size(90, 33);
    let stty = |wanted: &str| {
        let pid = server.describe(&terminal)["pid"].clone();
        let pts = std::fs::read_link(format!("/proc/{pid}/fd/0")).unwrap();
        let size = Command::new("stty").arg("-F").arg(pts).arg("size").output().unwrap();
        String::from_utf8(size.stdout).unwrap().trim() == wanted
    };
    eventually("the PTY has the last size", || stty("33 90"));
    client.input("\n");
    client.expect("heard ");
    client.expect("columns=90, lines=33");
    let text = client.text();
    let heard: u64 = text.split("heard ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((1..=10).contains(&heard), "{heard} SIGWINCH for one burst");
    for _ in 0..5 {
        let number = client.resize(90, 33);
        client.expect_ack(number);
    }
    client.input("\n");
    client.expect("then 0");
}

#[test]
fn sizes_out_of_range_are_refused_with_an_error_and_change_nothing() {
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh("read x"));
        let mut client = server.attach(&terminal, protocol);
        let sides = [
            (json!(0), json!(0)),
            (json!(0), json!(24)),
            (json!(-5), json!(10)),
            (json!(1.5), json!(2)),
            (json!(65536), json!(2)),
            (json!(2001), json!(2)),
            (json!(1e9), json!(1e9)),
            (json!("80"), json!(24)),
            (json!(null), json!(24)),
        ];
        for (number, (cols, rows)) in sides.into_iter().enumerate() {
            let frame = json!({"type": "resize", "clientId": "c", "clientSeq": number + 1, "cols": cols, "rows": rows});
            client.socket.send_json(&frame);
            client.until(&frame.to_string(), |frame| matches!(frame, Frame::Error(_)));
        }
        assert_eq!(client.sizes(), [(80, 24)]);
        for (cols, rows) in [(1, 1), (2000, 2000), (2, 1)] {
            client.resize(cols, rows);
            client.expect_size(cols, rows);
            let row = server.describe(&terminal);
            assert_eq!((&row["cols"], &row["rows"]), (&json!(cols), &json!(rows)));
            let screen = server.screen_as(&terminal, "format=text");
            assert_eq!((&screen["cols"], &screen["rows"]), (&json!(cols), &json!(rows)));
        }
    }
}
