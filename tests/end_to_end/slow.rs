//! A client that cannot keep up costs itself, and nobody else.

use std::time::{Duration, Instant};

use crate::harness::*;
use crate::mirror::Mirror;

/// How long the slow client stands still: `WHARF_LONG=1` for the whole minute of the contract.
fn standstill() -> Duration {
    Duration::from_secs(if std::env::var_os("WHARF_LONG").is_some() { 60 } else { 10 })
}

/// Reads until the text has come, keeping only the tail.
fn read_until(client: &mut Client, marker: &str) -> u64 {
    client.keeps_text = false;
    let (mut tail, mut bytes) = (Vec::new(), 0);
    loop {
        if let Frame::Output { data, .. } = client.next() {
            bytes += data.len() as u64;
            tail.extend_from_slice(&data);
            if find(&tail, marker.as_bytes()).is_some() {
                return bytes;
            }
            let keep = tail.len().saturating_sub(marker.len());
            tail.drain(..keep);
        }
    }
}

#[test]
fn a_client_that_stops_reading_slows_nobody_costs_no_memory_and_catches_up() {
    let _alone = alone();
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let terminal = server.make(80, 24, sh("stty -echo; trap : INT; read x; yes; echo; echo END; read x"));
        let mut slow = server.attach(&terminal, protocol);
        slow.socket.stream.small_receive_buffer();
        slow.keeps_text = false;
        let mut fast = server.attach(&terminal, protocol);
        fast.keeps_text = false;
        let number = fast.input("\n");
        fast.expect_ack(number);
        let started = Instant::now();
        let (mut bytes, mut early) = (0u64, None);
        let mut by_second = vec![0u64];
        while started.elapsed() < standstill() {
            if let Frame::Output { data, .. } = fast.next() {
                bytes += data.len() as u64;
                let second = started.elapsed().as_secs() as usize;
                by_second.resize(second + 1, 0);
                by_second[second] += data.len() as u64;
            }
            // By then the ring, the queue of the slow one and the kernel's buffers are full.
            if early.is_none() && bytes > 16 << 20 {
                early = Some(processes::resident_kib(server.pid));
            }
        }
        let grown = processes::resident_kib(server.pid).saturating_sub(early.expect("16 MiB went through"));
        println!("{} MiB to the other client, by second {by_second:?}", bytes >> 20);
        assert!(grown < 1024, "grew by {grown} KiB while one client stood still");
        assert!(
            by_second.iter().take(by_second.len() - 1).all(|bytes| *bytes > 0),
            "the other client starved"
        );
        server.still_serves();
        fast.input("\u{3}");
        read_until(&mut fast, "END\r\n");
        // The slow one reads again: what was queued, one reset, the head.
        slow.keeps_text = true;
        slow.expect("END");
        slow.settle();
        assert_eq!((slow.resets, slow.cursor), (1, fast.cursor));
        let screen = server.screen(&terminal);
        assert!(screen.ends_with("END"), "{screen:?}");
        for line in screen.lines().rev().take(20) {
            assert!(matches!(line, "y" | "" | "END" | "^Cy" | "^C"), "{line:?}");
        }
        server.delete(&format!("/v1/terminals/{}", terminal.id));
    }
}

#[test]
fn a_client_that_pauses_gets_every_byte_while_the_ring_has_them() {
    let _alone = alone();
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        // About 2.4 MiB: more than the queue takes, less than queue and ring together.
        let last = 330_000;
        let terminal =
            server.make(80, 24, sh(&format!("stty -echo; printf ready; read x; seq 1 {last}; read x")));
        let mut slow = server.attach(&terminal, protocol);
        slow.socket.stream.small_receive_buffer();
        slow.expect("ready");
        slow.input("\n");
        server.until_screen(&terminal, &format!("\n{last}"));
        slow.expect(&format!("\n{last}\r\n"));
        assert_eq!(slow.resets, 0);
        assert!(slow.text() == format!("ready{}", lines(1, last)));
    }
}

#[test]
fn many_clients_that_never_read_cost_a_queue_each_and_no_more() {
    let _alone = alone();
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("stty -echo; trap : INT; read x; yes; echo; echo END; read x"));
    let stalled: Vec<Client> = (0..30)
        .map(|_| {
            let client = server.attach(&terminal, 2);
            client.socket.stream.small_receive_buffer();
            client
        })
        .collect();
    let mut fast = server.attach(&terminal, 2);
    fast.keeps_text = false;
    fast.input("\n");
    let before = processes::resident_kib(server.pid);
    let mut bytes = 0;
    while bytes < 200 << 20 {
        if let Frame::Output { data, .. } = fast.next() {
            bytes += data.len() as u64;
        }
    }
    let grown = processes::resident_kib(server.pid).saturating_sub(before);
    assert!(grown < 30 * 2200 + 16_384, "30 stalled clients cost {grown} KiB");
    fast.input("\u{3}");
    read_until(&mut fast, "END\r\n");
    drop(stalled);
    eventually("they have left", || server.describe(&terminal)["attached"] == 1);
    fast.settle();
}

#[test]
fn a_stalled_client_is_still_answered_when_it_reads_again() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("stty -echo; read x; seq 1 1000000; echo END; cat"));
    let mut slow = server.attach(&terminal, 2);
    slow.socket.stream.small_receive_buffer();
    slow.input("\n");
    server.until_screen(&terminal, "END");
    // Its frames are taken although its output stands still.
    let number = slow.input("while standing\n");
    server.until_screen(&terminal, "while standing");
    slow.expect_ack(number);
    slow.expect("while standing");
    assert!(slow.resets <= 1);
}

/// Little room on the way to the server.
fn dial_narrowly(server: &Server) -> Stream {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(8 << 10).unwrap();
    socket.connect(&server.addr().into()).unwrap();
    Stream::Tcp(socket.into())
}

/// 128 KiB a second: so many bytes, and a rest before each.
const SLOWLY: Option<(usize, Duration)> = Some((512, Duration::from_millis(4)));

fn attach_slowly(server: &Server, terminal: &Terminal, protocol: u8) -> Client {
    let mut client = Client::attach(dial_narrowly(server), None, terminal, 0, protocol);
    client.socket.pace = SLOWLY;
    client
}

fn mirror_slowly(server: &Server) -> Mirror {
    let socket = WebSocket::open(dial_narrowly(server), "/ws", &[]).expect("no token is needed");
    let mut mirror = Mirror::greeted(socket);
    mirror.socket.pace = SLOWLY;
    mirror
}

#[test]
fn typing_over_a_slow_link_shows_the_present() {
    let _alone = alone();
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        let script = "stty -echo; trap : INT; printf ready; read x; yes; echo; echo END; read x";
        let terminal = server.make(80, 24, sh(script));
        let mut client = attach_slowly(&server, &terminal, protocol);
        client.expect("ready");
        client.input("\n");
        while client.socket.taken < 256 << 10 {
            client.next();
        }
        let before = client.socket.taken;
        client.input("\u{3}");
        client.expect("END");
        let in_front = client.socket.taken - before;
        assert!(in_front < 64 << 10, "{in_front} bytes came before the end of the flood");
        // The scrollback comes when there is time for it, also to who was cut off meanwhile.
        if protocol == 2 {
            assert!(client.reconnect(server.dial()));
        }
        let resets = client.resets;
        client.until("the whole", |frame| matches!(frame, Frame::Output { reset: true, .. }));
        assert_eq!(client.resets, resets + 1);
        assert!(client.text().contains(&"y\r\n".repeat(900)), "{:?}", client.text());
        client.expect("END");
        server.delete(&format!("/v1/terminals/{}", terminal.id));
    }
}

#[test]
fn who_only_watches_over_a_slow_link_gets_every_byte_while_the_server_has_them() {
    let _alone = alone();
    let server = Server::start(&[]);
    for protocol in [1, 2] {
        // About 0.6 MiB, five seconds.
        let terminal = server.make(80, 24, sh("stty -echo; printf ready; read x; seq 1 100000; read x"));
        let mut client = attach_slowly(&server, &terminal, protocol);
        client.expect("ready");
        client.input("\n");
        client.expect("\n100000\r\n");
        assert_eq!(client.resets, 0);
        assert!(client.text() == format!("ready{}", lines(1, 100_000)));
    }
}

#[test]
fn typing_in_the_mirror_over_a_slow_link_shows_the_present() {
    let _alone = alone();
    let server = Server::start(&[]);
    // Somebody else's flood shares the link.
    let other = server.make(80, 24, sh("stty -echo; read x; yes other"));
    let script = "stty -echo; trap : INT; printf ready; read x; yes; echo; echo END; read x";
    for floods in [1, 2] {
        let terminal = server.make(80, 24, sh(script));
        let mut mirror = mirror_slowly(&server);
        mirror.expect(&terminal, "ready");
        if floods == 2 {
            mirror.type_in(&other, "\n");
        }
        mirror.type_in(&terminal, "\n");
        while mirror.socket.taken < 256 << 10 {
            mirror.next();
        }
        let before = mirror.socket.taken;
        mirror.frames.clear();
        mirror.type_in(&terminal, "\u{3}");
        mirror.expect(&terminal, "END");
        let in_front = mirror.socket.taken - before;
        // Each flood has its turn on the link.
        assert!(in_front < floods * (64 << 10), "{in_front} bytes came before the end of {floods} floods");
        mirror.frames.clear();
        mirror.expect(&terminal, &"y\r\n".repeat(900));
        mirror.expect(&terminal, "END");
        println!("{floods} floods: {in_front} bytes in front, the scrollback in time");
    }
}

#[test]
fn who_only_watches_in_the_mirror_over_a_slow_link_gets_every_byte_while_the_server_has_them() {
    let _alone = alone();
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("stty -echo; printf ready; read x; seq 1 100000; read x"));
    let mut mirror = mirror_slowly(&server);
    mirror.expect(&terminal, "ready");
    mirror.frames.clear();
    mirror.type_in(&terminal, "\n");
    mirror.expect(&terminal, "\n100000\r\n");
    assert!(mirror.shown(&terminal) == lines(1, 100_000));
}
