//! Real programs on a terminal: they start, draw, follow its size, and leave the primary screen as it was.

use std::time::Instant;

use crate::harness::*;

struct Desk {
    server: Server,
    terminal: Terminal,
    client: Client,
}

impl Desk {
    fn new() -> Desk {
        let server = Server::start(&[]);
        let terminal = server.make_bash(80, 24);
        let mut client = server.attach(&terminal, 2);
        client.resize(80, 24);
        client.input("PS1='pro''mpt> '; cd; export LC_ALL=C.UTF-8; clear; echo pri''mary\n");
        client.expect("primary");
        client.expect("prompt> ");
        Desk { server, terminal, client }
    }

    fn screen(&self) -> Value {
        self.server.screen_as(&self.terminal, "scrollback=false")
    }

    /// Waits until the screen is so, while the client keeps reading.
    #[track_caller]
    fn until(&mut self, what: &str, holds: impl Fn(&str, &Value) -> bool) {
        let started = Instant::now();
        loop {
            let screen = self.screen();
            if holds(screen["screen"].as_str().unwrap(), &screen) {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{what}: {}", screen["screen"].as_str().unwrap());
            while self.client.next_within(std::time::Duration::from_millis(20)).is_some() {}
        }
    }

    /// Runs a full-screen program: it draws, is resized twice, quits, and leaves nothing.
    #[track_caller]
    fn full_screen(&mut self, command: &str, drawn: &[&str], keys: &[&str]) {
        self.client.input(&format!("{command}\n"));
        let shows = |text: &str| drawn.iter().all(|word| text.contains(word));
        self.until(command, |text, screen| shows(text) && screen["alternate"] == true);
        for (cols, rows) in [(101, 37), (60, 20)] {
            self.client.resize(cols, rows);
            self.client.expect_size(cols, rows);
            self.until(&format!("{command} at {cols}x{rows}"), |text, screen| {
                let last_row = text
                    .lines()
                    .enumerate()
                    .filter(|(_, line)| !line.trim().is_empty())
                    .last()
                    .map_or(0, |(row, _)| row + 1);
                shows(text) && screen["rows"] == rows && last_row as u64 >= rows - 1
            });
        }
        for key in keys {
            self.client.input(key);
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        self.until(&format!("{command} has left"), |text, screen| {
            screen["alternate"] == false && text.contains("primary") && text.trim_end().ends_with("prompt>")
        });
        self.client.resize(80, 24);
        self.client.input("echo status $?\n");
        self.client.expect("status 0");
        self.client.input("clear; echo pri''mary\n");
        self.client.expect("primary");
        // What it switched on is off again: mouse, paste, application keys, a hidden cursor.
        let reset = client::reset_of(&self.server, &self.terminal, 2).text();
        for mode in ["?1000h", "?1002h", "?1003h", "?1049h", "?1h"] {
            assert!(!reset.contains(mode), "{command} left {mode}: {reset:?}");
        }
    }
}

#[test]
fn vim() {
    let mut desk = Desk::new();
    desk.client.input("seq 1000 1200 > numbers\n");
    desk.full_screen(
        "vim -u NONE -N --not-a-term -c 'set nomore' numbers",
        &["1000", "1010"],
        &["\u{1b}", ":q!\r"],
    );
    desk.client.input("vim -u NONE -N written\n");
    desk.until("vim is up", |text, _| text.contains("~"));
    desk.client.input("ityped ─ text\u{1b}:wq\r");
    desk.until("vim has left", |_, screen| screen["alternate"] == false);
    desk.client.input("cat written\n");
    desk.client.expect("typed ─ text\r\n");
}

#[test]
fn less() {
    let mut desk = Desk::new();
    desk.client.input("seq 1000 1200 > numbers\n");
    desk.full_screen("less numbers", &["1000", "1010"], &["q"]);
}

#[test]
fn htop() {
    let mut desk = Desk::new();
    desk.full_screen("htop", &["PID"], &["q"]);
}

#[test]
fn dialog() {
    let mut desk = Desk::new();
    let mut text = String::new();
    for n in 0..60 {
        text.push_str(&format!("row {n}\\\\n"));
    }
    desk.client.input(&format!("printf '{}' > rows\n", text.replace("\\\\n", "\\n")));
    desk.full_screen(
        "dialog --keep-tite --no-shadow --exit-label Leave --textbox rows 0 0",
        &["row 1", "Leave"],
        &["\r"],
    );
}

#[test]
fn midnight_commander() {
    let mut desk = Desk::new();
    desk.full_screen("mc -u -x", &["Left", "Right"], &["\u{1b}[21~"]);
}

#[test]
fn tmux() {
    let mut desk = Desk::new();
    let name = format!("wharf-e2e-{}", desk.server.pid);
    desk.full_screen(
        &format!("tmux -L {name} -f /dev/null new-session -n window 'echo inside; exec sh'"),
        &["inside", "window"],
        &["exit\r"],
    );
    let _ = std::process::Command::new("tmux").args(["-L", &name, "kill-server"]).output();
}

#[test]
fn a_python_prompt() {
    let mut desk = Desk::new();
    desk.client.input("/usr/bin/python3 -q\n");
    desk.client.expect(">>> ");
    desk.client.input("print(6 * 7)\n");
    desk.client.expect("\r\n42\r\n");
    desk.client.input("import os; os.get_terminal_size()\n");
    desk.client.expect("columns=80, lines=24");
    desk.client.expect(">>> ");
    desk.client.input("\u{4}");
    desk.client.expect("prompt> ");
}
