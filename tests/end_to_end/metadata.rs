//! What runs in terminals, and where: told to those who follow, and to those who ask.

use std::path::Path;
use std::process::Command;

use crate::harness::*;
use crate::mirror::Mirror;

#[track_caller]
fn git(directory: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]);
    let done = command.args(args).current_dir(directory).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Reads metadata until git says this.
#[track_caller]
fn until_git(mirror: &mut Mirror, terminal: &Terminal, expected: &Value) {
    loop {
        let told = mirror.until("surfaceMetadata");
        assert_eq!(told["surfaceId"], terminal.id.as_str());
        if told["metadata"]["git"] == *expected {
            return;
        }
    }
}

fn ask(server: &Server, terminal: &Terminal) -> Value {
    let answer = server.get(&format!("/v1/surfaces/{}/metadata", terminal.id));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[test]
fn a_repository_is_told_from_its_first_commit_to_its_conflicts() {
    let server = Server::start(&[]);
    let dir = server.dir.path();
    let (far, here) = (dir.join("far"), dir.join("here"));
    git(dir, &["init", "-q", "far"]);
    std::fs::write(far.join("file"), "one\n").unwrap();
    git(&far, &["add", "."]);
    git(&far, &["commit", "-qm", "first"]);
    git(dir, &["clone", "-q", "far", "here"]);
    std::fs::create_dir(here.join("below")).unwrap();
    let terminal =
        server.make(80, 24, sh("cd here/below; stty -echo; while read line; do eval \"$line\"; done"));
    let mut mirror = Mirror::open(&server);
    let head = || std::fs::read_to_string(here.join(".git/refs/heads/main")).unwrap().trim().to_owned();
    let clean = json!({
        "branch": "main", "head": head(), "upstream": "origin/main", "ahead": 0, "behind": 0, "staged": 0,
        "unstaged": 0, "untracked": 0, "conflicts": 0, "detached": false,
    });
    until_git(&mut mirror, &terminal, &clean);
    let with = |fields: Value| {
        let mut all = clean.clone();
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        all
    };
    // By a command in the terminal, and by somebody else.
    mirror.type_in(&terminal, "echo x >../new; echo y >>../file; echo done\n");
    until_git(&mut mirror, &terminal, &with(json!({ "untracked": 1, "unstaged": 1 })));
    git(&here, &["add", "."]);
    until_git(&mut mirror, &terminal, &with(json!({ "staged": 2 })));
    git(&here, &["commit", "-qm", "second"]);
    until_git(&mut mirror, &terminal, &with(json!({ "ahead": 1, "head": head() })));
    std::fs::write(far.join("file"), "another\n").unwrap();
    git(&far, &["commit", "-qam", "other"]);
    git(&here, &["fetch", "-q"]);
    until_git(&mut mirror, &terminal, &with(json!({ "ahead": 1, "behind": 1, "head": head() })));
    let _ = Command::new("git").args(["merge", "-q", "origin/main"]).current_dir(&here).output().unwrap();
    // "new" was committed, "file" has two ends.
    until_git(
        &mut mirror,
        &terminal,
        &with(json!({ "ahead": 1, "behind": 1, "conflicts": 1, "head": head() })),
    );
    git(&here, &["merge", "--abort"]);
    git(&here, &["checkout", "-q", "--detach"]);
    let detached = json!({ "branch": null, "detached": true, "upstream": null, "head": head() });
    until_git(&mut mirror, &terminal, &with(detached));
    // Who asks gets the same, and who leaves the repository hears that as well.
    assert_eq!(ask(&server, &terminal)["git"]["detached"], true);
    mirror.type_in(&terminal, "cd /\n");
    until_git(&mut mirror, &terminal, &Value::Null);
    eventually("no git is left", || processes::zombies(server.pid) == 0);
}

#[test]
fn who_asks_hears_of_changes_at_once_without_any_mirror() {
    let server = Server::start(&[]);
    let repository = server.dir.file("repository");
    git(server.dir.path(), &["init", "-q", "repository"]);
    std::fs::write(
        repository.join("package.json"),
        r#"{"name":"p","version":"1.0.0","scripts":{"b":"make"}}"#,
    )
    .unwrap();
    let listen = "import socket\ns = socket.create_server(('127.0.0.1', 0))\nprint('port', s.getsockname()[1], flush=True)\ns.accept()";
    let script = format!("cd repository; /usr/bin/python3 -c \"{listen}\"");
    let terminal = server.make(80, 24, sh(&script));
    server.until_screen(&terminal, "port ");
    let screen = server.screen(&terminal);
    let port: u64 = screen.split("port ").nth(1).unwrap().split_whitespace().next().unwrap().parse().unwrap();
    let metadata = ask(&server, &terminal);
    let fields: Vec<_> = metadata.as_object().unwrap().keys().cloned().collect();
    #[rustfmt::skip]
    assert_eq!(fields, ["cargoToml", "cwd", "foregroundPid", "git", "listeningPorts", "packageJson", "pid", "tree"]);
    assert_eq!(metadata["cwd"], json!(repository));
    let child = metadata["tree"][1].clone();
    assert_eq!((&child["ppid"], &child["argv"][0]), (&metadata["pid"], &json!("/usr/bin/python3")));
    assert!(child["cpu"].as_f64().is_some() && child["rss"].as_u64().unwrap() > 1 << 20, "{child}");
    let listening = json!([{ "port": port, "address": "127.0.0.1", "protocol": "tcp", "pid": child["pid"] }]);
    assert_eq!(metadata["listeningPorts"], listening);
    let package = json!({ "path": repository.join("package.json"), "name": "p", "version": "1.0.0", "scripts": { "b": "make" } });
    assert_eq!((&metadata["packageJson"], &metadata["cargoToml"]), (&package, &Value::Null));
    assert_eq!((&metadata["git"]["head"], &metadata["git"]["untracked"]), (&Value::Null, &json!(1)));
    // As it is now, also right after it was asked.
    git(&repository, &["add", "."]);
    eventually("git is asked again", || ask(&server, &terminal)["git"]["staged"] == 1);
    // Several at once, on connections that go on.
    let mut first = server.http();
    let path = format!("/v1/surfaces/{}/metadata", terminal.id);
    first.send("GET", &path, &[], None);
    first.send("GET", "/v1/health", &[], None);
    let mut second = server.http();
    second.send("HEAD", &path, &[], None);
    // One that does not wait for its answer.
    let mut third = server.http();
    third.send("GET", &path, &[], None);
    drop(third);
    assert_eq!(second.answer("HEAD").status, 200);
    assert_eq!(first.answer("GET").json()["pid"], metadata["pid"]);
    assert_eq!(first.answer("GET").json()["ok"], true, "in the order of the requests");
    server.delete(&format!("/v1/terminals/{}", terminal.id));
    let gone = server.get(&path);
    assert!(matches!(gone.status, 404 | 409), "{}", gone.text());
    gone.error();
}

#[test]
fn a_git_that_hangs_or_is_none_costs_nothing_but_its_answer() {
    let dir = server::Dir::new();
    let program = dir.file("git");
    // Its child holds the pipe, and survives it.
    std::fs::write(&program, "#!/bin/sh\necho '# branch.head fake'\necho $$ >>pids\nsleep 1000 &\nwait\n")
        .unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", dir.path().display());
    let server = Launch::default().env("PATH", &path).start();
    let repositories = ["one", "two", "three"].map(|name| server.dir.file(name));
    let terminals: Vec<Terminal> = repositories
        .iter()
        .map(|place| {
            std::fs::create_dir_all(place.join(".git")).unwrap();
            server.make(80, 24, sh(&format!("cd {}; exec cat", place.display())))
        })
        .collect();
    let mut mirror = Mirror::open(&server);
    mirror.until("surfaceMetadata");
    eventually("two run", || repositories.iter().filter(|place| place.join("pids").exists()).count() == 2);
    // The loop goes on meanwhile; the third has to wait for the deadline of the first.
    server.still_serves();
    let metadata = ask(&server, &terminals[2]);
    assert_eq!(metadata["git"], Value::Null);
    for place in &repositories {
        let mut pids = String::new();
        eventually("it ran, if not before its first deadline on a busy machine", || {
            pids = std::fs::read_to_string(place.join("pids")).unwrap_or_default();
            pids.contains('\n')
        });
        let pid: u32 = pids.lines().next().unwrap().parse().unwrap();
        eventually("it is killed with what it started", || !processes::alive(pid));
    }
    assert_eq!(processes::zombies(server.pid), 0);
    std::fs::write(&program, "#!/bin/sh\nexit 128\n").unwrap();
    assert_eq!(ask(&server, &terminals[0])["git"], Value::Null);
    std::fs::remove_file(&program).unwrap();
}
