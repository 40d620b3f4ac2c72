//! Shell integration with the shells themselves: titles, marks, the user's own files, exit codes.

use crate::harness::*;

struct Shell {
    path: String,
    /// The user's file, from the home directory, that says that it ran.
    rc: (&'static str, &'static str),
}

/// Where `scripts/shells` puts it, unless it is on the PATH.
pub fn nushell() -> String {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/target/tools/bin/nu");
    let path = std::env::var("PATH").unwrap();
    let found =
        path.split(':').map(|folder| format!("{folder}/nu")).find(|nu| std::path::Path::new(nu).exists());
    found.unwrap_or_else(|| own.into())
}

fn shells() -> Vec<Shell> {
    let rc = |path: &str, file, text| Shell { path: path.into(), rc: (file, text) };
    vec![
        rc("/bin/bash", ".bashrc", "echo rc-ran\n"),
        rc("/usr/bin/zsh", ".zshrc", "echo rc-ran\n"),
        rc("/usr/bin/fish", ".config/fish/config.fish", "echo rc-ran\n"),
        rc("/usr/bin/elvish", ".config/elvish/rc.elv", "echo rc-ran\n"),
        rc(&nushell(), ".config/nushell/config.nu", "print rc-ran\n"),
    ]
}

#[test]
fn shells_load_the_integration_and_the_users_own_files() {
    for shell in shells() {
        assert!(
            std::path::Path::new(&shell.path).exists(),
            "{} is needed; scripts/test installs it",
            shell.path
        );
        let server = Server::start(&[]);
        let home = server.dir.file("home");
        let file = home.join(shell.rc.0);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, shell.rc.1).unwrap();
        let terminal = server.make(100, 30, Program::new(&shell.path, &[]));
        let mut client = server.attach(&terminal, 2);
        client.answers = true;
        client.resize(100, 30);
        client.expect("rc-ran");
        // The prompt is marked, and the title says where it is.
        // elvish has no place for the mark at the prompt's end.
        let prompt: &[&str] = if shell.path.ends_with("elvish") {
            &["\u{1b}]133;A"]
        } else {
            &["\u{1b}]133;A", "\u{1b}]133;B"]
        };
        for mark in prompt {
            client.expect(mark);
        }
        let before = client.text();
        assert!(!before.contains("xception") && !before.contains("rror"), "{}: {before}", shell.path);
        assert!(before.contains("\u{1b}]7;"), "{}: the directory is told: {before:?}", shell.path);
        assert!(before.contains("\u{1b}]2;") || before.contains("\u{1b}]0;"), "{}: {before:?}", shell.path);
        // The program, also where the shell has a command of that name.
        client.input(if shell.path.ends_with("/nu") { "^sleep 5\r" } else { "sleep 5\r" });
        client.expect("\u{1b}]133;C");
        eventually(&format!("{} shows the running command", shell.path), || {
            while client.next_within(std::time::Duration::from_millis(1)).is_some() {}
            server.describe(&terminal)["title"].as_str().is_some_and(|title| title.contains("sleep 5"))
        });
        client.expect("\u{1b}]133;D");
        for mark in prompt {
            client.expect(mark);
        }
        client.input("exit 7\r");
        client.expect_exit(7);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), shell.rc.1, "the user's file is untouched");
    }
}

#[test]
fn without_integration_a_shell_is_left_alone() {
    let server = Server::start(&["--no-shell-integration"]);
    // Nushell marks its prompts by itself.
    for shell in shells().into_iter().filter(|shell| !shell.path.ends_with("/nu")) {
        let terminal = server.make(100, 30, Program::new(&shell.path, &[]));
        let mut client = server.attach(&terminal, 2);
        client.resize(100, 30);
        eventually("a prompt", || !server.screen(&terminal).trim().is_empty());
        client.input("echo a''b\r");
        client.expect("ab");
        assert!(!client.text().contains("\u{1b}]133;"), "{}: {:?}", shell.path, client.text());
        client.input("exit 0\r");
    }
}
