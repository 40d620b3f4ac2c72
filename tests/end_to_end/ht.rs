//! `ht`: what scripts say and ask about the terminal that they run in, from inside it and from outside.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::harness::*;
use crate::mirror::Mirror;

/// `wharf ht ARGS` outside of any terminal.
fn ht_command(server: &Server, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wharf"));
    command.arg("ht").args(args).env("WHARF_SOCKET", server.unix());
    for name in ["HT_SURFACE", "WHARF_TERMINAL", "HT_WORKSPACE_ID", "WHARF_URL", "WHARF_TOKEN"] {
        command.env_remove(name);
    }
    command
}

fn run(server: &Server, args: &[&str]) -> Output {
    ht_command(server, args).output().unwrap()
}

/// What it prints when all is well.
#[track_caller]
fn says(server: &Server, args: &[&str]) -> String {
    let output = run(server, args);
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn json_of(server: &Server, args: &[&str]) -> Value {
    let text = says(server, &[args, &["--json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{args:?}: {error} in {text}"))
}

/// A shell that is typed into, in one terminal.
struct Shell {
    client: Client,
    lines: usize,
}

impl Shell {
    fn new(server: &Server, terminal: &Terminal) -> Shell {
        let mut client = server.attach(terminal, 2);
        client.resize(200, 50);
        Shell { client, lines: 0 }
    }

    /// Runs a line to its end, which must be without an error.
    #[track_caller]
    fn run(&mut self, line: &str) {
        self.lines += 1;
        self.client.input(&format!("{line}; echo \"end-{}=$?\"\n", self.lines));
        // What is typed has `$?` there.
        self.client.expect(&format!("end-{}=0", self.lines));
    }
}

#[test]
fn in_every_shell_ht_is_on_the_path_also_when_startup_files_set_it_anew() {
    let version = format!("wharf {}", env!("CARGO_PKG_VERSION"));
    for (shell, args, file, rc) in [
        ("/bin/bash", &[][..], ".bashrc", "PATH=/usr/bin:/bin"),
        // Debian's /etc/profile sets it as well.
        ("/bin/bash", &["-l"], ".bash_profile", "PATH=/usr/bin:/bin"),
        ("/usr/bin/zsh", &[], ".zshrc", "path=(/usr/bin /bin)"),
        ("/usr/bin/fish", &[], ".config/fish/config.fish", "set -gx PATH /usr/bin /bin"),
        ("/usr/bin/elvish", &[], ".config/elvish/rc.elv", "set paths = [/usr/bin /bin]"),
        (&crate::shells::nushell(), &[], ".config/nushell/config.nu", "$env.PATH = [/usr/bin /bin]"),
        ("/bin/sh", &["-i"], ".profile", ""),
    ] {
        let server = Server::start(&[]);
        let rc_file = server.dir.file("home").join(file);
        std::fs::create_dir_all(rc_file.parent().unwrap()).unwrap();
        std::fs::write(&rc_file, format!("{rc}\n")).unwrap();
        let terminal = server.make(100, 30, Program::new(shell, args));
        let mut client = server.attach(&terminal, 2);
        client.answers = true;
        client.resize(100, 30);
        client.input("ht ping\n");
        client.expect(&version);
        assert!(!client.text().contains("No such file"), "{shell}");
    }
}

#[test]
fn what_scripts_say_inside_of_their_terminal_is_told_to_everyone_field_by_field() {
    let server = Server::start(&[]);
    let terminal = server.make_in("work", 200, 50, Program::new("/bin/bash", &["--norc", "--noprofile"]));
    let mut mirror = Mirror::open(&server);
    let mut shell = Shell::new(&server, &terminal);
    let id = json!(terminal.id);
    shell.run("ht set-status build all green --icon check --color '#a6e3a1'");
    assert_eq!(mirror.until("htKeysSeen")["keys"], json!(["build"]));
    let pill = json!({ "text": "all green", "icon": "check", "color": "#a6e3a1" });
    assert_eq!(
        mirror.until("sidebarUpdate")["sidebar"],
        json!({ "default": { "status": { "build": pill } } })
    );
    shell.run("ht clear-status build && ht clear-status build");
    assert_eq!(
        mirror.until("sidebarUpdate")["sidebar"],
        json!({ "default": { "status": { "build": null } } })
    );
    shell.run("ht set-progress 42% --label Linking");
    let progress = json!({ "value": 0.42, "label": "Linking" });
    assert_eq!(mirror.until("sidebarUpdate")["sidebar"], json!({ "default": { "progress": progress } }));
    shell.run("ht clear-progress");
    assert_eq!(mirror.until("sidebarUpdate")["sidebar"], json!({ "default": { "progress": null } }));
    shell.run("ht log --level warn --source make -- two words");
    let mut line = mirror.until("sidebarUpdate")["sidebar"]["default"]["log"][0].take();
    assert!(line["at"].take().as_str().unwrap().ends_with('Z'));
    assert_eq!(line, json!({ "message": "two words", "level": "warning", "source": "make", "at": null }));
    shell.run("note=$(ht notify --title Done --subtitle 'in 3 s' --body '2 passed' --level Success)");
    let mut told = mirror.until("notificationCreate")["notification"].take();
    assert!(told["createdAt"].take().as_str().unwrap().ends_with('Z'));
    let note = told["id"].take();
    #[rustfmt::skip]
    assert_eq!(told, json!({ "id": null, "title": "Done", "body": "in 3 s\n2 passed", "level": "success", "surfaceId": id, "createdAt": null }));
    shell.run("ht dismiss $note");
    assert_eq!(mirror.until("notificationDismiss")["id"], note);
    shell.run("ht notify 'only a title' --body 'beside it' && ht clear-notifications");
    assert_eq!(mirror.until("notificationCreate")["notification"]["title"], "only a title");
    mirror.until("notificationDismiss");
    shell.run(r#"ht plan set --agent claude --json '[{"id":"M1","title":"Look"},{"id":"M2","title":"Do"}]'"#);
    let mut plan = mirror.until("plansSnapshot")["plans"][0].take();
    assert!(plan["updatedAt"].take().as_str().unwrap().ends_with('Z'));
    let step = |id: &str, title: &str, state: &str| json!({ "id": id, "title": title, "state": state });
    #[rustfmt::skip]
    assert_eq!(plan, json!({ "workspaceId": "default", "agentId": "claude", "updatedAt": null,
        "steps": [step("M1", "Look", "waiting"), step("M2", "Do", "waiting")] }));
    shell.run("ht plan update M1 --state err --title 'Look again'");
    let steps = mirror.until("plansSnapshot")["plans"][0]["steps"].take();
    assert_eq!(steps, json!([step("M1", "Look again", "err"), step("M2", "Do", "waiting")]));
    shell.run("ht plan complete");
    assert_eq!(mirror.until("plansSnapshot")["plans"][0]["steps"][0]["state"], "done");
    shell.run("ht plan clear");
    assert_eq!(mirror.until("plansSnapshot")["plans"], json!([]));
    shell.run("ht autocontinue set --engine heuristic --dry-run yes --cooldown 0 --max 7");
    let settings = mirror.until("settingsSnapshot")["settings"].take();
    let auto = ["Engine", "DryRun", "CooldownMs", "MaxConsecutive"]
        .map(|name| settings[format!("autoContinue{name}")].clone());
    assert_eq!(auto, [json!("heuristic"), json!(true), json!(0), json!(7)]);
    shell.run("ht autocontinue pause --reason lunch");
    let mut entry = mirror.until("autoContinueAudit")["audit"][0].take();
    assert!(entry["at"].take().as_str().unwrap().ends_with('Z'));
    #[rustfmt::skip]
    assert_eq!(entry, json!({ "at": null, "surfaceId": id, "outcome": "paused", "reason": "lunch", "engine": "heuristic" }));
    shell.run("ht autocontinue fire --text 'turn ended'");
    let audit = mirror.until("autoContinueAudit")["audit"].take();
    assert_eq!(audit[1]["outcome"], "skipped");
    shell.run("ht autocontinue resume");
    mirror.until("autoContinueAudit");
    // The workspace may be named instead.
    server.tell("PUT", "/v1/workspaces/other", &json!({ "name": "Other" }));
    shell.run("ht set-status build elsewhere --workspace other");
    let told = mirror.until("sidebarUpdate")["sidebar"].take();
    assert_eq!(told, json!({ "other": { "status": { "build": { "text": "elsewhere" } } } }));
}

#[test]
fn what_is_asked_is_answered_for_people_and_as_json() {
    let server = Server::start(&[]);
    let terminal = server.make_in("work", 90, 20, sh("printf '\\033]2;my title\\007'; echo shown; exec cat"));
    let id = terminal.id.as_str();
    server.until_screen(&terminal, "shown");
    assert_eq!(says(&server, &["ping"]), format!("wharf {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(json_of(&server, &["ping"])["ok"], true);
    eventually("the title is recorded", || says(&server, &["list-surfaces"]).contains("my title"));
    let surface = json_of(&server, &["list-surfaces"])[0].clone();
    for (field, value) in [
        ("id", json!(id)),
        ("surfaceId", json!(id)),
        ("sessionId", json!("work")),
        ("workspaceId", json!("default")),
        ("title", json!("my title")),
        ("cols", json!(90)),
        ("rows", json!(20)),
        ("exited", json!(false)),
        ("cwd", json!(server.dir.path())),
    ] {
        assert_eq!(surface[field], value, "{field}");
    }
    assert_eq!(json_of(&server, &["list-workspaces"]), server.get("/v1/workspaces").json()["workspaces"]);
    // By its id, the beginning of it, or its session.
    for surface in [id, &id[..9], "work"] {
        assert_eq!(says(&server, &["read-screen", "--surface", surface]), "shown\n");
        assert_eq!(says(&server, &["cwd", "-s", surface]), format!("{}\n", server.dir.path().display()));
    }
    let screen = json_of(&server, &["read-screen", "-s", id]);
    assert_eq!(
        (&screen["screen"], &screen["cols"], &screen["title"]),
        (&json!("shown\n"), &json!(90), &json!("my title"))
    );
    let metadata = json_of(&server, &["metadata", "-s", id]);
    assert_eq!(
        (&metadata["pid"], &metadata["tree"][0]["argv"]),
        (&server.describe(&terminal)["pid"], &json!(["cat"]))
    );
    assert!(says(&server, &["metadata", "-s", id]).contains("command:   cat ("));
    assert_eq!(json_of(&server, &["ps", "-s", id])["tree"][0]["pid"], metadata["pid"]);
    assert!(says(&server, &["ps", "-s", id]).contains(&format!("{}*", metadata["pid"])));
    assert_eq!(json_of(&server, &["cwd", "-s", id]), json!({ "cwd": server.dir.path() }));
    assert_eq!(json_of(&server, &["ports", "-s", id]), json!([]));
    assert_eq!(json_of(&server, &["git", "-s", id]), Value::Null);
    server.tell("PUT", &format!("/v1/surfaces/{id}/panels/p"), &json!({ "type": "svg", "data": "<svg/>" }));
    assert_eq!(json_of(&server, &["panels", "-s", id])[0]["panel"]["data"], "<svg/>");
    assert!(says(&server, &["panels", "-s", "work"]).contains("autoxauto"));
    for title in ["one", "two"] {
        says(&server, &["notify", "--title", title, "-s", if title == "one" { id } else { "work" }]);
    }
    says(&server, &["notify", "--title", "about nothing"]);
    assert_eq!(json_of(&server, &["list-notifications"]).as_array().unwrap().len(), 3);
    assert!(says(&server, &["list-notifications"]).contains("about nothing"));
    says(&server, &["clear-notifications", "--surface", "work"]);
    assert_eq!(json_of(&server, &["list-notifications"])[0]["title"], "about nothing");
    assert_eq!(json_of(&server, &["clear-notifications"]), json!({ "ok": true }));
    let mut set = ht_command(&server, &["plan", "set", "-s", "work", "--json", "-"]);
    let mut set = set.stdin(Stdio::piped()).spawn().unwrap();
    set.stdin.take().unwrap().write_all(br#"[{"id":"M1","title":"Look","state":"done"}]"#).unwrap();
    assert!(set.wait().unwrap().success());
    assert_eq!(says(&server, &["plan", "list"]), "default\n  ✓  M1  Look\n");
    assert_eq!(json_of(&server, &["plan", "list"])[0]["steps"][0]["title"], "Look");
    assert!(says(&server, &["autocontinue", "status"]).starts_with("engine          off\n"));
    assert_eq!(json_of(&server, &["autocontinue", "status"])["paused"], json!([]));
    says(&server, &["autocontinue", "pause", "work"]);
    says(&server, &["autocontinue", "resume", "work"]);
    assert_eq!(json_of(&server, &["autocontinue", "audit"]).as_array().unwrap().len(), 2);
    let last = says(&server, &["autocontinue", "audit", "--limit", "1"]);
    assert!(last.contains("resumed") && last.lines().count() == 1, "{last}");
}

#[test]
fn what_is_sent_arrives_as_keys_that_the_program_wants() {
    let server = Server::start(&[]);
    let raw = "import os, tty\ntty.setraw(0)\nos.write(1, b'ready\\r\\n')\nseen = b''\n\
               while True:\n    seen += os.read(0, 4096)\n    os.write(1, repr(seen)[1:].encode() + b'\\r\\n')\n\
               \x20   if seen.endswith(b'A'): os.write(1, b'\\x1b[?1h'); seen = b''\n";
    let terminal = server.make(100, 30, python(raw));
    server.until_screen(&terminal, "ready");
    let id = terminal.id.as_str();
    says(&server, &["send", "-s", id, "a b\\n", "c\\t\\e\\\\d\\q"]);
    server.until_screen(&terminal, r"'a b\r c\t\x1b\\d\\q'");
    says(&server, &["send", "-s", id, "--literal", "--enter", "\\n"]);
    server.until_screen(&terminal, r"d\\q\\n\r'");
    says(&server, &["send-key", "-s", id, "C-c", "ctrl+d", "F5", "M-x", "Up"]);
    server.until_screen(&terminal, r"\x03\x04\x1b[15~\x1bx\x1b[A'");
    // The program has switched to application cursor keys by now.
    eventually("the screen knows", || server.screen_as(&terminal, "")["applicationCursor"] == true);
    says(&server, &["send-key", "-s", id, "Left", "Enter"]);
    server.until_screen(&terminal, r"'\x1bOD\r'");
    // More than one request can hold.
    let cat = server.make(80, 24, sh("stty raw -echo; echo ready; head -c 300000 | wc -c; exec cat"));
    server.until_screen(&cat, "ready");
    let word = "x".repeat(99_999);
    says(&server, &["send", "-s", &cat.id, &word, &word, &word, "x"]);
    server.until_screen(&cat, "300000");
}

#[test]
fn the_screen_is_read_to_its_last_line_with_as_much_as_is_asked_for() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 10, sh("seq 1 50; exec cat"));
    server.until_screen(&terminal, "50");
    let id = terminal.id.as_str();
    let numbers = |first: u64| (first..=50).map(|n| format!("{n}\n")).collect::<String>();
    assert_eq!(says(&server, &["read-screen", "-s", id]), numbers(42));
    assert_eq!(says(&server, &["read-screen", "-s", id, "--lines", "3"]), numbers(48));
    assert_eq!(says(&server, &["capture-pane", "-s", id, "--lines", "20"]), numbers(31));
    assert_eq!(says(&server, &["read-screen", "-s", id, "--scrollback"]), numbers(1));
    assert_eq!(says(&server, &["read-screen", "-s", id, "--scrollback", "true"]), numbers(1));
    assert_eq!(says(&server, &["read-screen", "-s", id, "--scrollback=false"]), numbers(42));
}

#[test]
fn a_failure_is_one_line_that_names_what_is_wrong_and_an_exit_code() {
    let server = Server::start(&[]);
    let terminal = server.make_in("work", 80, 24, sh("exec cat"));
    let id = terminal.id.as_str();
    let long = "k".repeat(10_000);
    for (args, code, names) in [
        (&["set-status", "build", "x"][..], 2, "--surface"),
        (&["ps"], 2, "--surface"),
        (&["set-progress", "-s", id, "NaN"], 2, "NaN"),
        (&["set-progress", "-s", id, "1.5"], 2, "1.5"),
        (&["notify", "-s", id], 2, "--title"),
        (&["notify", "-s", id, "Done", "all", "--body", "all of it"], 2, "twice"),
        (&["log", "-s", id, "m", "--level", "loud"], 2, "--level"),
        (&["plan", "set", "-s", id, "--json", "{"], 2, "JSON"),
        (&["autocontinue", "set"], 2, "--engine"),
        (&["send-key", "-s", id, "Foo"], 2, "Foo"),
        (&["dance"], 2, "dance"),
        (&["set-status", "-s", id, &long, "x"], 1, "key"),
        (&["set-status", "-s", id, "k", &long], 1, "text"),
        (&["set-status", "-w", "nowhere", "k", "x"], 1, "workspace"),
        (&["ps", "-s", "nobody"], 1, "nobody"),
        (&["ps", "-s", &"0".repeat(32)], 1, "surface"),
        (&["plan", "set", "-s", id, "--json", "[{\"title\":\"x\"}]"], 1, "steps[0].id"),
        (&["plan", "update", "-s", id, "M9", "--state", "done"], 1, "plan"),
        (&["autocontinue", "set", "--engine", "warp"], 1, "autoContinueEngine"),
        (&["autocontinue", "fire", "work"], 1, "autoContinueEngine"),
        (&["dismiss", "nothing"], 1, "notification"),
        (&["git", "-s", id], 1, "repository"),
    ] {
        let output = run(&server, args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(error.contains(names), "{args:?}: {error}");
        assert!(code == 2 || error.lines().count() == 1, "{error}");
        assert_eq!(output.stdout, b"", "{args:?}");
    }
    server.delete(&format!("/v1/terminals/{id}"));
    let output = Command::new(env!("CARGO_BIN_EXE_wharf"))
        .args(["ht", "ps", "--surface", "x", "--socket", "/nonexistent/wharf.sock"])
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert_eq!(error, "wharf: no wharf server at /nonexistent/wharf.sock; start one with `wharf serve`\n");
}
