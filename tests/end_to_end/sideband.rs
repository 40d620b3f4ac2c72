//! What scripts draw through descriptors 3, 4 and 5 of their shell, as clients of the mirror see it.

use std::collections::BTreeSet;

use data_encoding::BASE64;

use crate::harness::*;
use crate::mirror::Mirror;

/// What the scripts here are written with: `row` and `data` write, `event` reads one line, `wait` stays.
const PRELUDE: &str = "import json, os, sys, time
def rows(*rows): write(3, b''.join(json.dumps(row).encode() + b'\\n' for row in rows))
def row(**fields): rows(fields)
def data(bytes): write(4, bytes)
def write(fd, bytes):
    while bytes: bytes = bytes[os.write(fd, bytes):]
events = open(5, closefd=False)
def event(): return json.loads(events.readline())
def wait(): sys.stdin.read()
";

fn script(body: &str) -> Program {
    python(&format!("{PRELUDE}{body}"))
}

impl Mirror {
    /// The next change of a panel: its type, the panel's id, and what is told of it.
    #[track_caller]
    fn panel(&mut self) -> (String, String, Value) {
        loop {
            let frame = self.next();
            let text = |name: &str| frame[name].as_str().unwrap().to_owned();
            if text("type").starts_with("panel") {
                return (text("type"), text("id"), frame["panel"].clone());
            }
        }
    }

    fn interact(&mut self, surface: &Terminal, id: &str, event: Value) {
        self.send(json!({ "type": "panelInteract", "surfaceId": surface.id, "id": id, "event": event }));
    }
}

fn told(kind: &str, id: &str, panel: Value) -> (String, String, Value) {
    (kind.into(), id.into(), panel)
}

/// What a client that comes now is told of the panels of a surface.
fn panels(server: &Server) -> Vec<Value> {
    Mirror::open(server).hello["snapshot"]["panels"].as_array().unwrap().clone()
}

#[test]
fn what_is_typed_at_a_prompt_draws_changes_and_clears_a_panel_for_everyone() {
    let server = Server::start(&[]);
    let terminal = server.make_bash(120, 30);
    let (mut one, mut two) = (Mirror::open(&server), Mirror::open(&server));
    one.type_in(
        &terminal,
        "echo '{\"id\":\"p\",\"type\":\"svg\",\"x\":1,\"y\":2,\"width\":30,\"byteLength\":6}' >&3\n",
    );
    one.type_in(&terminal, "sh -c 'printf \"<svg/>\" >&4'\n");
    let drawn = json!({
        "type": "svg", "x": 1.0, "y": 2.0, "width": 30.0, "height": "auto", "position": "float",
        "interactive": false, "draggable": true, "resizable": true, "data": "<svg/>",
    });
    assert_eq!(one.panel(), told("panelCreate", "p", drawn.clone()));
    assert_eq!(two.panel(), told("panelCreate", "p", drawn.clone()));
    let shown = json!({ "surfaceId": terminal.id, "id": "p", "panel": drawn });
    assert_eq!(panels(&server), [shown]);
    one.type_in(
        &terminal,
        "echo '{\"id\":\"p\",\"type\":\"update\",\"x\":9,\"data\":\"<svg>new</svg>\"}' >&3\n",
    );
    let changed = json!({ "x": 9.0, "data": "<svg>new</svg>" });
    assert_eq!(two.panel(), told("panelUpdate", "p", changed));
    one.type_in(&terminal, "echo '{\"id\":\"p\",\"type\":\"clear\"}' >&3\n");
    assert_eq!(two.panel(), told("panelClear", "p", Value::Null));
    assert_eq!(panels(&server), [] as [Value; 0]);
    // What is wrong is said on descriptor 5, which a shell reads like any other.
    one.type_in(
        &terminal,
        "echo '{\"id\":\"q\",\"type\":\"clear\"}' >&3; read -r line <&5; echo \"$line\"\n",
    );
    one.expect(&terminal, "\"code\":\"unknown-id\"");
}

#[test]
fn scripts_are_told_where_their_descriptors_are() {
    let server = Server::start(&[]);
    let program = script(
        "channels = json.loads(os.environ['HYPERTERM_CHANNELS'])
print(os.environ['HYPERTERM_PROTOCOL_VERSION'], [channels[name] for name in ('meta', 'data', 'events')]); wait()",
    );
    let terminal = server.make(80, 24, program);
    server.until_screen(&terminal, "1 [3, 4, 5]");
}

#[test]
fn content_arrives_whole_in_whatever_pieces_and_order_it_is_written() {
    let server = Server::start(&[]);
    let mut mirror = Mirror::open(&server);
    // Each panel is its number, over and over; more than the pipes hold.
    let program = script(
        "import random
random.seed(int(sys.argv[1]))
sizes = [[1, 100, 5000, 300000][n % 4] for n in range(40)]
line = b''.join(json.dumps(dict(id=str(n), type='image', format='png', byteLength=size)).encode() + b'\\n'
    for n, size in enumerate(sizes))
content = b''.join(bytes([n]) * size for n, size in enumerate(sizes))
written = sent = 0
while written < len(line) or sent < len(content):
    n = random.choice([1, 7, 60, 500])
    write(3, line[written:written + n]); written += n
    # A little ahead of its rows at times, or far behind them.
    ahead = sum(sizes[:line[:written].count(b'\\n')]) + 1000 - sent
    n = min(random.choice([0, 1, 10, 3000, 100000]), ahead)
    write(4, content[sent:sent + n]); sent += n
wait()",
    );
    let seed = Dice::new().below(1 << 30).to_string();
    server.make(80, 24, program.arg(&seed));
    for n in 0..40u8 {
        let (kind, id, panel) = mirror.panel();
        assert_eq!((kind.as_str(), id), ("panelCreate", n.to_string()));
        let content = BASE64.decode(panel["data"].as_str().unwrap().as_bytes()).unwrap();
        assert_eq!(content.len(), [1, 100, 5000, 300_000][usize::from(n % 4)]);
        assert!(content.iter().all(|byte| *byte == n), "panel {n} has bytes of another");
    }
}

#[test]
fn content_may_come_before_its_row() {
    let server = Server::start(&[]);
    let mut mirror = Mirror::open(&server);
    server.make(80, 24, script("data(b'<svg/>'); row(id='p', type='svg', byteLength=6); wait()"));
    assert_eq!(mirror.panel().2["data"], "<svg/>");
}

#[test]
fn sixteen_updates_of_one_panel_in_a_burst_are_applied_in_order() {
    let server = Server::start(&[]);
    let mut mirror = Mirror::open(&server);
    server.make(
        80,
        24,
        script(
            "row(id='p', type='html', data='0')
rows(*[dict(id='p', type='update', x=n, byteLength=len(str(n))) for n in range(1, 17)])
data(''.join(str(n) for n in range(1, 17)).encode()); wait()",
        ),
    );
    assert_eq!(mirror.panel().0, "panelCreate");
    for n in 1..=16 {
        let change = json!({ "x": f64::from(n), "data": n.to_string() });
        assert_eq!(mirror.panel(), told("panelUpdate", "p", change));
    }
    let panel = &panels(&server)[0]["panel"];
    assert_eq!((&panel["x"], &panel["data"]), (&json!(16.0), &json!("16")));
}

#[test]
fn a_script_that_dies_in_the_middle_of_its_content_harms_only_that_panel() {
    let server = Server::start(&[]);
    let mut mirror = Mirror::open(&server);
    let dies = "import os; os.write(3, b'{\"id\":\"half\",\"type\":\"svg\",\"byteLength\":1000,\"timeout\":TIMEOUT}\\n');
os.write(4, b'half of it'); os.kill(os.getpid(), 9)";
    let body = "import select, subprocess
for timeout in (100, 60000):
    subprocess.run([sys.executable, '-c', DIES.replace('TIMEOUT', str(timeout))], close_fds=False)
    # A flush gives up what stands still.
    while timeout == 60000 and not select.select([5], [], [], 0.3)[0]: row(id='__system__', type='flush')
    print(event()['code'], flush=True)
    row(id='whole', type='svg', byteLength=5); data(b'whole')
wait()";
    let terminal = server.make(80, 24, script(&format!("DIES = {:?}\n{body}", dies)));
    for code in ["data-timeout", "data-incomplete"] {
        let (kind, id, panel) = mirror.panel();
        assert_eq!((kind.as_str(), id.as_str(), &panel["data"]), ("panelCreate", "whole", &json!("whole")));
        mirror.expect(&terminal, code);
    }
}

#[test]
fn rows_behind_content_that_never_comes_wait_in_the_pipe_until_it_is_given_up() {
    let server = Server::start(&[]);
    let mut mirror = Mirror::open(&server);
    server.make(
        80,
        24,
        script(
            "row(id='never', type='svg', byteLength=5, timeout=200)
rows(dict(id='p', type='svg', data='x'), *[dict(id='p', type='update', x=n) for n in range(1, 2001)]); wait()",
        ),
    );
    assert_eq!(mirror.panel().0, "panelCreate");
    for n in 1..=2000 {
        assert_eq!(mirror.panel(), told("panelUpdate", "p", json!({ "x": f64::from(n) })));
    }
}

#[test]
fn what_people_do_to_a_panel_is_told_to_its_script_and_shown_to_everyone() {
    let server = Server::start(&[]);
    let (mut one, mut two) = (Mirror::open(&server), Mirror::open(&server));
    let program = script(
        "row(id='p', type='html', data='<p>', interactive=True)
while True: print('heard', json.dumps(event(), sort_keys=True), flush=True)",
    );
    let terminal = server.make(200, 24, program);
    assert_eq!(two.panel().0, "panelCreate");
    one.until("panelCreate");
    one.interact(&terminal, "p", json!({ "type": "click", "x": 3, "y": 4.5, "button": 0, "buttons": 1 }));
    one.expect(
        &terminal,
        r#"heard {"button": 0, "buttons": 1, "event": "click", "id": "p", "x": 3.0, "y": 4.5}"#,
    );
    one.interact(&terminal, "p", json!({ "type": "wheel", "x": 1, "y": 2, "deltaX": 0, "deltaY": -3 }));
    one.expect(
        &terminal,
        r#"{"buttons": 0, "deltaX": 0.0, "deltaY": -3.0, "event": "wheel", "id": "p", "x": 1.0, "y": 2.0}"#,
    );
    one.interact(&terminal, "p", json!({ "type": "dragend", "x": 7, "y": 8 }));
    one.expect(&terminal, r#"heard {"event": "dragend", "id": "p", "x": 7.0, "y": 8.0}"#);
    assert_eq!(two.panel(), told("panelUpdate", "p", json!({ "x": 7.0, "y": 8.0 })));
    one.interact(&terminal, "p", json!({ "type": "resize", "width": 600, "height": 400 }));
    one.expect(&terminal, r#"heard {"event": "resize", "height": 400.0, "id": "p", "width": 600.0}"#);
    assert_eq!(two.panel(), told("panelUpdate", "p", json!({ "width": 600.0, "height": 400.0 })));
    // The terminal's own size is told to who has drawn on it.
    one.send(json!({ "type": "surfaceResizeRequest", "surfaceId": terminal.id, "cols": 190, "rows": 20 }));
    one.expect(&terminal, r#"heard {"cols": 190, "event": "resize", "id": "__terminal__", "rows": 20}"#);
    // What has no effect is not told.
    one.interact(&terminal, "p", json!({ "type": "dragend", "x": "far" }));
    one.interact(&terminal, "q", json!({ "type": "close" }));
    one.interact(&terminal, "p", json!({ "type": "close" }));
    one.expect(&terminal, r#"heard {"event": "close", "id": "p"}"#);
    assert_eq!(two.panel(), told("panelClear", "p", Value::Null));
    one.settle();
    let codes = one.frames.iter().filter(|frame| frame["type"] == "error").map(|frame| frame["code"].clone());
    assert_eq!(codes.collect::<Vec<_>>(), ["bad-field", "unknown-panel"]);
    let screen = server.screen(&terminal);
    assert_eq!(screen.matches("heard").count(), 6, "{screen}");
}

#[test]
fn each_mistake_is_answered_with_its_code_and_what_follows_is_drawn() {
    let server = Server::start(&[]);
    let mut mirror = Mirror::open(&server);
    let program = script(
        "def refused(code, ref=None):
    said = event()
    assert (said['id'], said['event'], said['code'], said.get('ref')) == ('__system__', 'error', code, ref), said
    assert said['message'], said
write(3, b'no json\\n'); refused('meta-parse')
write(3, b'[1]\\n\\n  \\n'); refused('meta-parse')
write(3, b'{\"id\":\"' + b'x' * (1 << 20) + b'\"}\\n'); refused('meta-parse')
row(id='p', type='movie', data='x'); refused('meta-validate', 'p')
row(id='p', type='svg'); refused('meta-validate', 'p')
row(id='p', type='svg', data='x', x='left'); refused('meta-validate', 'p')
row(id='p', type='svg', byteLength=-1); refused('meta-validate', 'p')
row(id='x' * 10000, type='svg', data='x'); refused('meta-validate')
row(id='p', type='update', x=1); refused('unknown-id', 'p')
row(id='p', type='clear'); refused('unknown-id', 'p')
row(id='p', type='svg', byteLength=3, dataChannel='video'); refused('data-channel', 'p')
data(b'nobody announced this'); refused('data-overflow')
row(id='large', type='image', format='png', byteLength=5 << 20); refused('meta-validate', 'large')
data(b'x' * (5 << 20))
row(id='p', type='svg', byteLength=6); data(b'<svg/>')
print('said it all', flush=True); wait()",
    );
    let terminal = server.make(80, 24, program);
    assert_eq!(mirror.panel().2["data"], "<svg/>");
    mirror.expect(&terminal, "said it all");
    assert_eq!(panels(&server).len(), 1);
    mirror.settle();
    server.still_serves();
}

#[test]
fn a_script_that_never_reads_its_events_blocks_nobody() {
    let server = Server::start(&[]);
    let mut mirror = Mirror::open(&server);
    let program = script(
        "for n in range(2000): row(id='%0900d' % n, type='clear')
row(id='p', type='svg', data='<svg/>'); print('drawn', flush=True)
sys.stdin.readline()
heard = []
while True:
    row(id='last', type='clear')
    said = event()['ref']
    if said == 'last': break
    heard.append(int(said))
print('heard', len(heard), heard == list(range(len(heard))), flush=True)
wait()",
    );
    let terminal = server.make(80, 24, program);
    assert_eq!(mirror.panel().1, "p");
    mirror.expect(&terminal, "drawn");
    server.still_serves();
    // Nothing is to do for the server while the pipe is full.
    drop(mirror);
    eventually("no wake-ups", || {
        let before = processes::sleeps(server.pid);
        std::thread::sleep(std::time::Duration::from_millis(500));
        processes::sleeps(server.pid) == before
    });
    // The oldest are there, whole and in order; those that found no room are not.
    let mut client = server.attach(&terminal, 2);
    client.input("go\n");
    client.expect("heard ");
    client.expect(" True");
    let screen = server.screen(&terminal);
    let heard = screen.lines().find_map(|line| line.strip_prefix("heard ")).unwrap();
    let heard: usize = heard.split(' ').next().unwrap().parse().unwrap();
    assert!((20..200).contains(&heard), "{heard} of 2000");
}

#[test]
fn scripts_that_write_without_pause_delay_nobody() {
    let server = Server::start(&[]);
    let flood = "import threading
def bytes_():
    while True: data(b'x' * 30000)
threading.Thread(target=bytes_, daemon=True).start()
row(id='p', type='svg', data='<svg/>'); n = 0
while True: n += 1; row(id='p', type='update', x=n % 1000)";
    let mut mirror = Mirror::open(&server);
    server.make(80, 24, script(flood));
    server.make(80, 24, script("while True: write(3, b'nonsense\\n' * 1000)"));
    assert_eq!(mirror.panel().1, "p");
    mirror.panel();
    drop(mirror);
    server.still_serves();
}

#[test]
fn a_terminals_descriptors_are_its_own() {
    let server = Server::start(&[]);
    let list = "import os
def show(): print({n: os.readlink('/proc/self/fd/%d' % n) for n in range(200) if os.path.exists('/proc/self/fd/%d' % n)})
show(); print('shown', flush=True); input()";
    let seen: Vec<Vec<String>> = (0..3)
        .map(|_| {
            let terminal = server.make(500, 24, python(list));
            server.until_screen(&terminal, "shown");
            let screen = server.screen(&terminal);
            let line = screen.lines().next().unwrap().trim_matches(['{', '}']).to_owned();
            line.split(", ").map(|entry| entry.replace('\'', "")).collect()
        })
        .collect();
    let mut pipes = BTreeSet::new();
    for descriptors in &seen {
        let numbers: Vec<_> = descriptors.iter().map(|entry| entry.split(": ").next().unwrap()).collect();
        assert_eq!(numbers, ["0", "1", "2", "3", "4", "5"], "{descriptors:?}");
        let (streams, channels) = descriptors.split_at(3);
        assert!(streams.iter().all(|entry| entry.contains("/dev/pts/")), "{descriptors:?}");
        assert!(channels.iter().all(|entry| entry.contains("pipe:")), "{descriptors:?}");
        pipes.extend(channels.iter().map(|entry| entry.split(": ").nth(1).unwrap().to_owned()));
    }
    assert_eq!(pipes.len(), 9, "{seen:?}");
}

#[test]
fn what_has_no_sideband_has_no_such_descriptors_and_no_word_of_them() {
    let bare = "import os; print([n for n in range(3, 200) if os.path.exists('/proc/self/fd/%d' % n)],
    [name for name in os.environ if 'HYPERTERM' in name], flush=True); input()";
    let server = Launch::default().flags(&["--no-sideband"]).env("HYPERTERM_CHANNELS", "{}").start();
    let terminal = server.make(80, 24, python(bare));
    server.until_screen(&terminal, "[] []");
    server.still_serves();
    // A terminal that an agent owns has none either, also when its agent runs in a terminal that has one.
    let server = Server::start(&[]);
    let wharf = env!("CARGO_BIN_EXE_wharf");
    let agent = server.make(80, 24, Program::new(wharf, &["run", "--", "/usr/bin/python3", "-c", bare]));
    server.until_screen(&agent, "[] []");
}

#[test]
fn what_was_drawn_goes_with_the_shell() {
    let server = Server::start(&[]);
    let mut mirror = Mirror::open(&server);
    // A job that outlives the shell learns that nobody listens any more.
    let program = sh("echo '{\"id\":\"p\",\"type\":\"svg\",\"data\":\"<svg/>\"}' >&3
(trap '' HUP PIPE; exec </dev/null >/dev/null 2>&1
 while echo '{\"id\":\"q\",\"type\":\"svg\",\"data\":\"late\"}' >&3; do sleep 0.05; done; touch alone) &
read line");
    let terminal = server.make_in("s", 80, 24, program);
    assert_eq!(mirror.panel().1, "p");
    assert_eq!(mirror.panel().1, "q");
    mirror.type_in(&terminal, "\n");
    mirror.until("surfaceExit");
    let mut cleared = BTreeSet::new();
    while cleared.len() < 2 {
        let (kind, id, _) = mirror.panel();
        if kind == "panelClear" {
            cleared.insert(id);
        }
    }
    assert_eq!(cleared, ["p", "q"].map(String::from).into());
    eventually("the job hears of it", || server.dir.file("alone").exists());
    assert_eq!(panels(&server), [] as [Value; 0]);
    // The session's next shell draws on a surface of its own.
    let next = server.make_in("s", 80, 24, script("row(id='p', type='svg', data='new'); wait()"));
    let created = mirror.until("panelCreate");
    assert_eq!((&created["surfaceId"], &created["panel"]["data"]), (&json!(next.id), &json!("new")));
    server.delete("/v1/terminals/session/s");
    assert_eq!(mirror.until("panelClear")["surfaceId"], next.id.as_str());
}

#[test]
fn shells_that_close_their_descriptors_go_on() {
    let server = Server::start(&[]);
    let before = processes::descriptors(server.pid).len();
    let terminal =
        server.make(80, 24, sh("exec 3>&- 4>&- 5>&-; echo closed; read line; echo got $line; read line"));
    let mut client = server.attach(&terminal, 2);
    client.expect("closed");
    // The server's ends of what nobody can write to are closed too.
    eventually("two pipes less", || processes::descriptors(server.pid).len() == before + 3);
    client.input("hello\n");
    client.expect("got hello");
    let ticks = processes::ticks_in_a_second(server.pid);
    assert!(ticks < 20, "{ticks} ticks");
}
