//! Sessions of the mirror that come and go under output, and all kinds of clients on one terminal at once.

use std::collections::BTreeMap;
use std::time::Duration;

use data_encoding::BASE64;

use crate::harness::*;
use crate::mirror::Mirror;

/// Prints numbered lines, a little every few milliseconds and sometimes much, until `stop` exists.
const NUMBERS: &str = "\
import os, time
n, turn = 0, 0
while not os.path.exists('stop'):
    turn += 1
    more = 4000 if turn % 25 == 0 else 40
    text = ''.join('%d\\n' % i for i in range(n + 1, n + more + 1))
    n += more
    while text: text = text[os.write(1, text.encode()):]
    time.sleep(0.01)
print('end', flush=True)
time.sleep(1000)";

/// What a session was told, over all of its sockets.
#[derive(Default)]
struct Told {
    frames: BTreeMap<u64, Value>,
}

impl Told {
    /// Takes frames in, those that a resume repeats included.
    fn take(&mut self, frames: &[Value]) {
        for frame in frames {
            let former = self.frames.insert(frame["seq"].as_u64().unwrap(), frame.clone());
            assert!(former.is_none_or(|former| former == *frame), "a frame that was told again is the same");
        }
    }

    fn stream(&self, terminal: &Terminal) -> String {
        let mut bytes = Vec::new();
        for frame in self.frames.values().filter(|frame| frame["surfaceId"] == terminal.id.as_str()) {
            if frame["type"] == "surfaceStdout" {
                assert_ne!(frame["snapshot"], true, "nothing was lost, so nothing is shown anew");
                bytes.extend(BASE64.decode(frame["bytes"].as_str().unwrap().as_bytes()).unwrap());
            }
        }
        String::from_utf8(bytes).unwrap()
    }

    fn has_ended(&self, terminal: &Terminal) -> bool {
        self.frames.values().rev().take(50).any(|frame| {
            frame["surfaceId"] == terminal.id.as_str()
                && frame["bytes"].as_str().is_some_and(|bytes| {
                    let bytes = BASE64.decode(bytes.as_bytes()).unwrap();
                    bytes.ends_with(b"\r\nend\r\n") || bytes == b"end\r\n"
                })
        })
    }
}

#[test]
fn a_hundred_resumes_at_random_moments_under_output_lose_nothing_and_double_nothing() {
    let _alone = alone();
    let mut dice = Dice::new();
    let server = Server::start(&[]);
    let mut mirror = Mirror::open(&server);
    let terminals: Vec<Terminal> = (0..3).map(|_| server.make(80, 24, python(NUMBERS))).collect();
    let mut told = Told::default();
    for _ in 0..100 {
        for _ in 0..dice.below(12) {
            mirror.next();
        }
        told.take(&mirror.frames);
        // Back to a frame that was seen already, now and then.
        let seq = mirror.seq - dice.below(4).min(mirror.seq.saturating_sub(1));
        // Cut in one of three ways: while the former socket is still there and full, closed, or reset.
        let next = match dice.below(3) {
            0 => mirror.resume(&server, seq),
            1 => mirror.leave().resume(&server, seq),
            _ => {
                mirror.socket.stream.reset_on_close();
                let gone = mirror.leave();
                std::thread::sleep(Duration::from_millis(dice.below(40)));
                gone.resume(&server, seq)
            }
        };
        mirror = next;
    }
    std::fs::write(server.dir.file("stop"), "").unwrap();
    let mut ended = 0;
    while ended < terminals.len() {
        mirror.next();
        told.take(&mirror.frames[mirror.frames.len() - 1..]);
        ended = terminals.iter().filter(|terminal| told.has_ended(terminal)).count();
    }
    told.take(&mirror.frames);
    assert!(told.frames.values().all(|frame| frame["type"] != "hello" || frame["seq"] == 0));
    let numbers: Vec<u64> = told.frames.keys().copied().collect();
    assert_eq!(numbers, (0..=mirror.seq).collect::<Vec<_>>(), "every number once");
    for terminal in &terminals {
        let stream = told.stream(terminal);
        let last = stream.lines().rev().nth(1).unwrap().parse().unwrap();
        assert!(stream == lines(1, last) + "end\r\n", "{last} lines, {} bytes", stream.len());
    }
}

/// Says what its size is whenever that changes, what it read, and sends a query on `q`.
const TALKER: &str = "\
import os, tty, signal, fcntl, termios, struct
def size(*_):
    rows, cols, _, _ = struct.unpack('HHHH', fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8)))
    os.write(1, b'size %d %d\\r\\n' % (cols, rows))
signal.signal(signal.SIGWINCH, size)
tty.setraw(0)
os.write(1, b'ready\\r\\n')
while True:
    data = os.read(0, 4096)
    os.write(1, b'\\x1b[c' if data == b'q' else b'read ' + repr(data)[1:].encode() + b'\\r\\n')";

#[test]
fn two_sessions_a_terminal_client_and_an_attached_user_share_one_terminal() {
    let server = Server::start(&[]);
    let (mut one, mut two) = (Mirror::open(&server), Mirror::open(&server));
    let terminal = server.make_in("work", 80, 24, python(TALKER));
    let mut client = server.attach(&terminal, 2);
    client.expect("ready\r\n");
    let wharf = env!("CARGO_BIN_EXE_wharf");
    let socket = server.unix();
    let attach = ["attach", "work", "--socket", socket.to_str().unwrap()];
    let user = server.make_in("user", 100, 40, Program::new(wharf, &attach));
    // The first that shows it has the size; then whoever uses it.
    client.expect("size 100 40\r\n");
    server.until_screen(&user, "size 100 40");
    let typed = |text: &str| {
        let posted = server.post(&format!("/v1/terminals/{}/input", user.id), &json!({ "data": text }));
        assert_eq!(posted.status, 204);
    };
    // It begins with a claim, which is over by now.
    typed("x");
    client.expect("read 'x'");
    one.resize(&terminal, 120, 30);
    one.type_in(&terminal, "a");
    client.expect_size(120, 30);
    eventually("the program was told, and has read", || {
        client.settle();
        client.text().contains("size 120 30\r\n") && client.text().contains("read 'a'")
    });
    client.resize(90, 25);
    client.input("b");
    client.expect_size(90, 25);
    two.expect(&terminal, "read 'b'");
    typed("c");
    client.expect("read 'c'");
    one.expect(&terminal, "read 'c'");
    eventually("it has the user's size again", || server.describe(&terminal)["cols"] == 100);
    // A query reaches all of them, and the program gets one answer: that of the user, who has the size.
    typed("q");
    client.expect("\u{1b}[c");
    for (mirror, reply) in [(&mut one, "\u{1b}[?61c"), (&mut two, "\u{1b}[?62c")] {
        mirror.expect(&terminal, "\u{1b}[c");
        let bytes = BASE64.encode(reply.as_bytes());
        mirror.send(
            json!({ "type": "surfaceStdin", "surfaceId": terminal.id, "bytes": bytes, "claim": false }),
        );
        mirror.settle();
    }
    // Nobody shows the user's own terminal, so the server is its emulator.
    client.expect(r"read '\x1b[?1;2c'");
    typed("d");
    client.expect("read 'd'\r\n");
    for mirror in [&mut one, &mut two] {
        mirror.expect(&terminal, "read 'd'\r\n");
        assert_eq!(mirror.shown(&terminal), client.text(), "everyone is told the same");
    }
    assert!(!client.text().contains("[?6"), "{}", client.text());
    server.until_screen(&user, "read 'd'");
    assert_eq!(server.describe(&terminal)["attached"], 4);
    // The user leaves: the size goes to whoever used the terminal before.
    server.delete(&format!("/v1/terminals/{}", user.id));
    client.expect_size(90, 25);
    eventually("the user is gone", || server.describe(&terminal)["attached"] == 3);
}
