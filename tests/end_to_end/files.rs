//! Files that a client sends to where a terminal stands.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::harness::*;

const BYTES: (&str, &str) = ("Content-Type", "application/octet-stream");

fn announce(server: &Server, terminal: &Terminal, name: &str, bytes: u64) -> Answer {
    server.post(&format!("/v1/terminals/{}/files", terminal.id), &json!({"name": name, "bytes": bytes}))
}

fn place(terminal: &Terminal, upload: &Value) -> String {
    format!("/v1/terminals/{}/files/{}", terminal.id, upload["uploadId"].as_str().unwrap())
}

fn put(server: &Server, terminal: &Terminal, upload: &Value, offset: u64, piece: &str) -> Answer {
    let path = format!("{}?offset={offset}", place(terminal, upload));
    server.ask("PUT", &path, &[BYTES], Some(piece))
}

/// Sends a whole file; gives its path.
#[track_caller]
fn send(server: &Server, terminal: &Terminal, name: &str, text: &str) -> String {
    let answer = announce(server, terminal, name, text.len() as u64);
    assert_eq!(answer.status, 201, "{}", answer.text());
    let upload = answer.json();
    if !text.is_empty() {
        let answer = put(server, terminal, &upload, 0, text);
        assert_eq!((answer.status, &answer.json()["done"]), (200, &json!(true)), "{}", answer.text());
    }
    upload["path"].as_str().unwrap().to_owned()
}

fn listing(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A shell in an empty directory of its own.
fn shell_in(server: &Server, directory: &Path) -> Terminal {
    std::fs::create_dir_all(directory).unwrap();
    let terminal = server.make_bash(80, 24);
    let command = format!("cd '{}' && echo there:$?\n", directory.display());
    server.post(&format!("/v1/terminals/{}/input", terminal.id), &json!({"data": command}));
    server.until_screen(&terminal, "there:0");
    terminal
}

#[test]
fn a_file_in_pieces_arrives_whole_where_the_shell_stands() {
    let server = Server::start(&[]);
    let directory = server.dir.file("here");
    let terminal = shell_in(&server, &directory);
    let piece = "0123456789abcdef".repeat(16 << 10);
    let announced = announce(&server, &terminal, "notes and more.txt", piece.len() as u64 * 2 + 3);
    assert_eq!(announced.status, 201, "{}", announced.text());
    let upload = announced.json();
    assert_eq!(upload["path"], directory.join("notes and more.txt").to_str().unwrap());
    assert_eq!((&upload["offset"], &upload["done"]), (&json!(0), &json!(false)));
    for (offset, piece, done) in
        [(0, piece.as_str(), false), (piece.len(), &piece, false), (piece.len() * 2, "end", true)]
    {
        let answer = put(&server, &terminal, &upload, offset as u64, piece);
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.json()["offset"], offset + piece.len());
        assert_eq!(answer.json()["done"], done);
        assert_eq!(server.get(&place(&terminal, &upload)).json(), answer.json(), "and can be asked for");
    }
    let whole = std::fs::read_to_string(directory.join("notes and more.txt")).unwrap();
    assert_eq!(whole, format!("{piece}{piece}end"));
    // It is the user's now.
    assert_eq!(server.delete(&place(&terminal, &upload)).status, 409);
    assert_eq!(listing(&directory), ["notes and more.txt"]);
    assert!(send(&server, &terminal, "empty", "").ends_with("/here/empty"));
}

#[test]
fn it_goes_where_the_program_in_the_foreground_stands() {
    let server = Server::start(&[]);
    let terminal = shell_in(&server, &server.dir.file("shell"));
    let directory = server.dir.file("program");
    std::fs::create_dir(&directory).unwrap();
    let command = format!("sh -c 'cd {}; echo in:$?; read x'\n", directory.display());
    server.post(&format!("/v1/terminals/{}/input", terminal.id), &json!({"data": command}));
    server.until_screen(&terminal, "in:0");
    assert_eq!(send(&server, &terminal, "a", "b"), directory.join("a").to_str().unwrap());
}

#[test]
fn nothing_is_overwritten_and_no_symlink_is_followed() {
    let server = Server::start(&[]);
    let directory = server.dir.file("here");
    let terminal = shell_in(&server, &directory);
    std::fs::write(directory.join("a.txt"), "mine").unwrap();
    let outside = server.dir.file("outside");
    symlink(&outside, directory.join("b.txt")).unwrap();
    std::fs::write(server.dir.file("victim"), "mine").unwrap();
    symlink(server.dir.file("victim"), directory.join("c.txt")).unwrap();
    for (name, made) in
        [("a.txt", "a (2).txt"), ("a.txt", "a (3).txt"), ("b.txt", "b (2).txt"), ("c.txt", "c (2).txt")]
    {
        assert_eq!(send(&server, &terminal, name, "theirs"), directory.join(made).to_str().unwrap());
        assert!(std::fs::symlink_metadata(directory.join(made)).unwrap().is_file());
    }
    assert_eq!(std::fs::read_to_string(directory.join("a.txt")).unwrap(), "mine");
    assert_eq!(std::fs::read_to_string(server.dir.file("victim")).unwrap(), "mine");
    assert!(!outside.exists());
}

#[test]
fn hostile_names_stay_in_the_directory() {
    let server = Server::start(&[]);
    let directory = server.dir.file("a/b/c");
    let terminal = shell_in(&server, &directory);
    let long = format!("{}.png", "x".repeat(3000));
    for name in [
        "../../up",
        "/etc/wharf-test",
        "..",
        ".",
        ".bashrc",
        "-rf",
        "~root",
        "a\u{1b}]2;x\u{7}b",
        "a\nb",
        "\u{202e}gnp.sh",
        "$(touch pwned)`touch pwned`';touch pwned;'\"",
        "   ",
        &long,
    ] {
        let path = send(&server, &terminal, name, "x");
        let path = Path::new(&path);
        assert_eq!(path.parent(), Some(directory.as_path()), "{name:?}");
        let made = path.file_name().unwrap().to_str().unwrap();
        assert!(!made.starts_with(['.', '-', '~']) && !made.chars().any(char::is_control), "{made:?}");
        assert!(made.len() <= 255 && path.is_file(), "{made:?}");
    }
    assert_eq!(listing(&directory).len(), 13);
    assert_eq!(listing(&server.dir.file("a")), ["b"]);
    for body in [
        json!({"bytes": 1}),
        json!({"name": "", "bytes": 1}),
        json!({"name": "a\u{0}", "bytes": 1}),
        json!({"name": "a"}),
        json!({"name": "a", "bytes": -1}),
        json!({"name": "a", "bytes": "1"}),
    ] {
        let answer = server.post(&format!("/v1/terminals/{}/files", terminal.id), &body);
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
    }
}

#[test]
fn a_directory_that_takes_nothing_has_a_spare_one() {
    let server = Launch::default().env("TMPDIR", "/tmp").start();
    // Root may write anywhere but here.
    let terminal = shell_in(&server, Path::new("/proc"));
    let path = send(&server, &terminal, "spare.txt", "x");
    assert!(path.starts_with("/tmp/wharf-files-"), "{path}");
    assert_eq!(std::fs::metadata(Path::new(&path).parent().unwrap()).unwrap().mode() & 0o777, 0o700);
    std::fs::remove_file(path).unwrap();
    // A directory that was removed meanwhile is no better.
    let gone = server.dir.file("gone");
    let terminal = shell_in(&server, &gone);
    std::fs::remove_dir(&gone).unwrap();
    let path = send(&server, &terminal, "spare.txt", "x");
    assert!(path.starts_with("/tmp/wharf-files-"), "{path}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_full_disk_is_told_and_leaves_nothing_behind() {
    let server = Server::start(&[]);
    let disk = server.dir.file("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&disk).status();
    assert!(mounted.unwrap().success(), "the test needs to mount a tmpfs");
    struct Mounted<'a>(&'a Path);
    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("-l").arg(self.0).status();
        }
    }
    let _mounted = Mounted(&disk);
    let terminal = shell_in(&server, &disk);
    let upload = announce(&server, &terminal, "large", 200 << 10).json();
    let answer = put(&server, &terminal, &upload, 0, &"x".repeat(200 << 10));
    assert_eq!(answer.status, 507, "{}", answer.text());
    assert!(answer.error().contains("free some"), "{}", answer.text());
    assert_eq!(listing(&disk), Vec::<String>::new());
    assert_eq!(put(&server, &terminal, &upload, 0, "x").status, 404);
    assert_eq!(send(&server, &terminal, "small", "fits"), disk.join("small").to_str().unwrap());
}

#[test]
fn what_is_too_large_or_out_of_place_is_refused_by_name() {
    let server = Server::start(&["--upload-bytes", "1000000"]);
    let directory = server.dir.file("here");
    let terminal = shell_in(&server, &directory);
    let answer = announce(&server, &terminal, "large", 1_000_001);
    assert_eq!(answer.status, 413);
    assert!(answer.error().contains("--upload-bytes"), "{}", answer.text());
    assert_eq!(listing(&directory), Vec::<String>::new());

    let upload = announce(&server, &terminal, "file", 600_000).json();
    assert_eq!(put(&server, &terminal, &upload, 0, "abc").status, 200);
    for offset in [0, 2, 4, 600_000, u64::MAX] {
        let answer = put(&server, &terminal, &upload, offset, "abc");
        assert_eq!(
            (answer.status, answer.error()),
            (409, "offset must be 3, where the file ends now".to_owned())
        );
    }
    assert_eq!(put(&server, &terminal, &upload, 3, &"x".repeat((256 << 10) + 1)).status, 413);
    assert_eq!(server.ask("PUT", &place(&terminal, &upload), &[BYTES], Some("x")).status, 409);
    assert_eq!(
        server.ask("PUT", &format!("{}?offset=x", place(&terminal, &upload)), &[BYTES], Some("x")).status,
        400
    );
    let json = ("Content-Type", "application/json");
    assert_eq!(
        server.ask("PUT", &format!("{}?offset=3", place(&terminal, &upload)), &[json], Some("1")).status,
        415
    );
    assert_eq!(server.ask("POST", &place(&terminal, &upload), &[json], Some("1")).status, 405);

    let small = announce(&server, &terminal, "small", 2).json();
    assert_eq!(put(&server, &terminal, &small, 0, "abc").status, 400, "more than was announced");
    // Given up: it is gone, and so is its name.
    assert_eq!(server.delete(&place(&terminal, &small)).status, 204);
    assert_eq!(server.get(&place(&terminal, &small)).status, 404);
    assert_eq!(listing(&directory), ["file"]);
    assert_eq!(put(&server, &terminal, &json!({"uploadId": "0"}), 0, "x").status, 404);
    let nobody = Terminal { id: "0".into(), session: "s".into(), socket: String::new() };
    assert_eq!(announce(&server, &nobody, "a", 1).status, 404);
    assert_eq!(put(&server, &nobody, &upload, 3, "x").status, 404);
    let other = shell_in(&server, &directory);
    assert_eq!(put(&server, &other, &upload, 3, "x").status, 404, "another terminal's");
}

#[test]
fn only_so_many_are_on_their_way_and_those_that_never_came_whole_go_with_terminal_or_server() {
    let mut server = Server::start(&[]);
    let directory = server.dir.file("here");
    let terminal = shell_in(&server, &directory);
    assert!(send(&server, &terminal, "whole", "x").ends_with("/whole"));
    for n in 0..16 {
        assert_eq!(announce(&server, &terminal, &format!("part {n}"), 5).status, 201);
    }
    let answer = announce(&server, &terminal, "one more", 5);
    assert_eq!((answer.status, answer.error().contains("wait")), (429, true));
    assert_eq!(listing(&directory).len(), 17);
    let other = shell_in(&server, &directory);
    server.delete(&format!("/v1/terminals/{}", terminal.id));
    eventually("its files are gone", || listing(&directory) == ["whole"]);
    assert_eq!(announce(&server, &other, "part", 5).status, 201);
    server.stop();
    assert_eq!(listing(&directory), ["whole"]);
}

#[test]
fn a_server_that_takes_no_files_says_so() {
    let server = Server::start(&["--upload-bytes", "0"]);
    let terminal = server.make_bash(80, 24);
    let answer = announce(&server, &terminal, "a", 0);
    assert_eq!(answer.status, 403);
    assert!(answer.error().contains("--upload-bytes"));
}

#[test]
fn pages_from_elsewhere_send_no_files() {
    let server = Server::start(&[]);
    let directory = server.dir.file("here");
    let terminal = shell_in(&server, &directory);
    let upload = announce(&server, &terminal, "mine", 3).json();
    let elsewhere = ("Origin", "https://evil.example");
    let json = ("Content-Type", "application/json");
    let files = format!("/v1/terminals/{}/files", terminal.id);
    let body = r#"{"name": "theirs", "bytes": 1}"#;
    assert_eq!(server.ask("POST", &files, &[elsewhere, json], Some(body)).status, 403);
    let piece = format!("{}?offset=0", place(&terminal, &upload));
    assert_eq!(server.ask("PUT", &piece, &[elsewhere, BYTES], Some("abc")).status, 403);
    assert_eq!(server.ask("DELETE", &place(&terminal, &upload), &[elsewhere], None).status, 403);
    // What a form can send without asking is not taken either.
    let form = ("Content-Type", "text/plain");
    assert_eq!(server.ask("POST", &files, &[form], Some(body)).status, 415);
    assert_eq!(listing(&directory), ["mine"]);
    assert_eq!(put(&server, &terminal, &upload, 0, "abc").status, 200);
}
