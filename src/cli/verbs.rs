//! The verbs that ask once and print the answer.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::ArgMatches;
use serde_json::{Value, json};

use super::attach::{Attachment, Target};
use super::client::{Endpoint, ServerUrl, absolute, encode, hex, random};
use super::keyboard::whole_characters;
use super::keys::Key;
use super::table::{duration_text, table, unix_seconds};
use super::{Failure, command, complain, ht_command, print, print_bytes, tty};
use crate::config::{check_token, read_token_file};
use crate::limits::CLI_SEND_BYTES_MAX;
use crate::terminal::GridSize;

/// The size of a terminal that nobody shows yet.
const SIZE_DEFAULT: (u64, u64) = (80, 24);

/// `--size`, else this terminal's size, else 80x24.
pub(super) fn chosen_size(options: &ArgMatches) -> Result<GridSize, String> {
    let given = options.get_one::<GridSize>("size").copied();
    let size = given.or_else(tty::size).or_else(|| GridSize::new(SIZE_DEFAULT.0, SIZE_DEFAULT.1));
    size.ok_or_else(|| "no size; give one with --size".to_owned())
}

/// `--session`, else a name that is easy to say.
pub(super) fn chosen_session(options: &ArgMatches) -> Result<String, String> {
    const HOW: [&str; 16] = [
        "amber", "brisk", "calm", "deft", "eager", "fair", "grand", "hardy", "keen", "lucid", "merry",
        "noble", "plain", "quick", "sunny", "tidy",
    ];
    const WHAT: [&str; 16] = [
        "anchor", "beacon", "buoy", "canal", "ferry", "gull", "harbor", "island", "jetty", "keel", "lagoon",
        "mast", "oar", "pier", "reef", "tide",
    ];
    if let Some(session) = options.get_one::<String>("session") {
        return Ok(session.clone());
    }
    let [how, what, rest @ ..] = random::<4>()?;
    let pick = |words: [&'static str; 16], byte: u8| words[usize::from(byte) % 16];
    Ok(format!("{}-{}-{}", pick(HOW, how), pick(WHAT, what), hex(&rest)))
}

/// `--cwd`, else the shell's own idea of where it is (links included), else where this process is. On another
/// machine that means nothing: `/`.
fn chosen_directory(options: &ArgMatches, endpoint: &Endpoint) -> Result<String, String> {
    if let Some(path) = options.get_one::<PathBuf>("cwd") {
        return absolute(path);
    }
    if endpoint.socket_path().is_none() {
        return Ok("/".into());
    }
    let here =
        std::env::current_dir().map_err(|error| format!("cannot tell the working directory: {error}"))?;
    let place = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    let said = std::env::var_os("PWD").map(PathBuf::from);
    absolute(&said.filter(|path| path.is_absolute() && place(path) == place(&here)).unwrap_or(here))
}

pub(super) fn new(options: &ArgMatches) -> Result<u8, Failure> {
    let endpoint = Endpoint::from_options(options)?;
    let session = chosen_session(options)?;
    let size = chosen_size(options)?;
    let mut body = json!({
        "sessionId": session,
        "cwd": chosen_directory(options, &endpoint)?,
        "cols": size.cols(),
        "rows": size.rows(),
    });
    if let Some(shell) = options.get_one::<PathBuf>("shell") {
        body["shell"] = json!(shell.to_str().ok_or("--shell is not UTF-8".to_owned())?);
    }
    if let Some(args) = options.get_many::<String>("args") {
        body["args"] = args.cloned().collect();
    }
    let attaches = !options.get_flag("detached") && tty::types() && tty::shows();
    let (status, answer) = endpoint.ask("POST", "/v1/terminals", Some(&body))?;
    let id = match answer["terminalId"].as_str() {
        Some(id) if matches!(status, 200 | 201) => id.to_owned(),
        _ => return Err(super::client::refusal(status, &answer).into()),
    };
    if status == 200 {
        complain(&format!("session {session} is there already"));
    }
    if !attaches {
        print(&format!("{session}\n"))?;
        return Ok(0);
    }
    let target = match status {
        201 => Target { id, session, size: Some(size), is_new: true, has_ended: false },
        _ => Target::of(&endpoint.find(&session)?),
    };
    Attachment::new(endpoint, target, options)?.run()
}

pub(super) fn ls(options: &ArgMatches) -> Result<u8, Failure> {
    let terminals = Endpoint::from_options(options)?.terminals()?;
    if options.get_flag("json") {
        let text = serde_json::to_string_pretty(&terminals).map_err(|error| error.to_string())?;
        print(&format!("{text}\n"))?;
        return Ok(0);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let rows: Vec<[String; 7]> = terminals.iter().map(|terminal| row(terminal, now)).collect();
    print(&table(["SESSION", "TITLE", "SIZE", "ATTACHED", "AGE", "IDLE", "STATE"], &rows))?;
    Ok(0)
}

fn row(terminal: &Value, now: u64) -> [String; 7] {
    let text = |name: &str| terminal[name].as_str().unwrap_or_default().to_owned();
    let since = |name: &str| match terminal[name].as_str().and_then(unix_seconds) {
        Some(then) => duration_text(Duration::from_secs(now.saturating_sub(then))),
        None => "-".into(),
    };
    let state =
        match (terminal["exited"].as_bool(), terminal["signal"].as_i64(), terminal["exitCode"].as_i64()) {
            (Some(true), Some(signal), _) => format!("killed by signal {signal}"),
            (Some(true), None, Some(code)) => format!("exited with {code}"),
            (Some(true), None, None) => "ended".into(),
            _ if terminal["agentOwned"].as_bool() == Some(true) => "running (agent)".into(),
            _ => "running".into(),
        };
    [
        text("sessionId"),
        text("title"),
        format!("{}x{}", terminal["cols"], terminal["rows"]),
        terminal["attached"].to_string(),
        since("createdAt"),
        since("lastActivityAt"),
        state,
    ]
}

pub(super) fn screen(options: &ArgMatches) -> Result<u8, Failure> {
    let endpoint = Endpoint::from_options(options)?;
    let id = endpoint.find_id(target(options))?;
    let mut query =
        vec![if options.get_flag("vt") { "format=vt".to_owned() } else { "format=text".to_owned() }];
    if let Some(lines) = options.get_one::<u64>("lines") {
        query.push(format!("lines={lines}"));
    }
    if options.get_flag("no-scrollback") {
        query.push("scrollback=false".into());
    }
    let path = format!("/v1/terminals/{}/screen?{}", encode(&id), query.join("&"));
    let answer = endpoint.request("GET", &path, None)?;
    let screen = answer["screen"].as_str().unwrap_or_default();
    print(screen)?;
    if !options.get_flag("vt") && !screen.ends_with('\n') {
        print("\n")?;
    }
    Ok(0)
}

pub(super) fn send(options: &ArgMatches) -> Result<u8, Failure> {
    let endpoint = Endpoint::from_options(options)?;
    let id = endpoint.find_id(target(options))?;
    let words = options.get_many::<String>("text").unwrap_or_default();
    let text = words.map(String::as_str).collect::<Vec<_>>().join(" ");
    type_in(&endpoint, &id, &text)?;
    if options.get_flag("stdin") {
        let mut stdin = std::io::stdin().lock();
        let mut held = Vec::new();
        // In pieces of whole characters: an endless input is no endless memory.
        loop {
            let read = stdin.by_ref().take(CLI_SEND_BYTES_MAX as u64).read_to_end(&mut held);
            let read = read.map_err(|error| format!("cannot read standard input: {error}"))?;
            let whole = if read == 0 { held.len() } else { whole_characters(&held) };
            type_in(&endpoint, &id, &String::from_utf8_lossy(&held[..whole]))?;
            held.drain(..whole);
            if read == 0 {
                break;
            }
        }
    }
    let mut keys = Vec::new();
    for key in options.get_many::<Key>("key").unwrap_or_default() {
        keys.extend(key.bytes());
    }
    if options.get_flag("enter") {
        keys.push(b'\r');
    }
    type_in(&endpoint, &id, &String::from_utf8_lossy(&keys))?;
    Ok(0)
}

/// Types into a terminal, in as many requests as the text needs.
pub(super) fn type_in(endpoint: &Endpoint, id: &str, text: &str) -> Result<(), Failure> {
    for piece in pieces(text) {
        let body = json!({ "data": piece });
        endpoint.request("POST", &format!("/v1/terminals/{}/input", encode(id)), Some(&body))?;
    }
    Ok(())
}

fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let (piece, rest) =
            text.split_at(whole_characters(&text.as_bytes()[..text.len().min(CLI_SEND_BYTES_MAX)]));
        pieces.push(piece);
        text = rest;
    }
    pieces
}

pub(super) fn kill(options: &ArgMatches) -> Result<u8, Failure> {
    let endpoint = Endpoint::from_options(options)?;
    let ids = if options.get_flag("all") {
        let live = endpoint.terminals()?.into_iter().filter(|terminal| terminal["exited"] != json!(true));
        live.filter_map(|terminal| terminal["id"].as_str().map(str::to_owned)).collect()
    } else {
        let targets = options.get_many::<String>("target").unwrap_or_default();
        targets.map(|target| endpoint.find_id(target)).collect::<Result<Vec<_>, _>>()?
    };
    for id in ids {
        let (status, answer) = endpoint.ask("DELETE", &format!("/v1/terminals/{}", encode(&id)), None)?;
        // 404: it ended in the meantime, which is what was asked for.
        if !(200..300).contains(&status) && status != 404 {
            return Err(super::client::refusal(status, &answer).into());
        }
    }
    Ok(0)
}

fn target(options: &ArgMatches) -> &str {
    options.get_one::<String>("target").map_or("", String::as_str)
}

pub(super) fn token(options: &ArgMatches) -> Result<u8, Failure> {
    match options.subcommand() {
        Some(("new", options)) => {
            let token = hex(&random::<32>()?);
            match options.get_one::<PathBuf>("file") {
                Some(path) => write_token(path, &token, options.get_flag("replace"))?,
                None => print(&format!("{token}\n"))?,
            }
        }
        Some((_, options)) => {
            let text = options.get_one::<String>("url").map_or("", String::as_str);
            let url = ServerUrl::parse(text)?;
            let token = match options.get_one::<PathBuf>("file") {
                Some(path) => read_token_file(path)?,
                None => check_token(&std::env::var("WHARF_TOKEN").unwrap_or_default(), "WHARF_TOKEN")?,
            };
            print(&format!("http://{}:{}{}/?t={token}\n", url.host, url.port, url.base_path))?;
        }
        None => {}
    }
    Ok(0)
}

/// A file of mode 0600 from its first moment. Replacing is atomic: whoever reads gets the old token or the new.
fn write_token(path: &Path, token: &str, replace: bool) -> Result<(), String> {
    let name = path.display();
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            format!("{name} exists; rotate its token with `wharf token new --replace {name}`")
        }
        _ => format!("cannot write {name}: {error}"),
    };
    let create = |path: &Path| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(format!("{token}\n").as_bytes())?;
        file.sync_all()
    };
    if !replace {
        return create(path).map_err(failed);
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}", hex(&random::<4>()?)));
    let temporary = PathBuf::from(temporary);
    create(&temporary).and_then(|()| std::fs::rename(&temporary, path)).map_err(|error| {
        let _ = std::fs::remove_file(&temporary);
        failed(error)
    })
}

pub(super) fn completions(options: &ArgMatches) -> Result<u8, Failure> {
    use clap_complete::{Shell, generate};
    let shell = match options.get_one::<String>("shell").map(String::as_str) {
        Some("zsh") => Shell::Zsh,
        Some("fish") => Shell::Fish,
        Some("elvish") => Shell::Elvish,
        _ => Shell::Bash,
    };
    let mut script = Vec::new();
    match options.get_one::<String>("program").map(String::as_str) {
        Some("ht") => generate(shell, &mut ht_command::ht(), "ht", &mut script),
        _ => generate(shell, &mut command::command(), "wharf", &mut script),
    }
    print_bytes(&script)?;
    Ok(0)
}

/// One page with every verb, which is what a small program's users look for.
pub(super) fn man() -> Result<u8, Failure> {
    let mut page = Vec::new();
    let mut command = command::command();
    command.build();
    let failed = |error: std::io::Error| format!("cannot write the manual page: {error}");
    let man = clap_mangen::Man::new(command.clone());
    man.render_title(&mut page).map_err(failed)?;
    man.render_name_section(&mut page).map_err(failed)?;
    man.render_synopsis_section(&mut page).map_err(failed)?;
    man.render_description_section(&mut page).map_err(failed)?;
    for (title, verb) in verbs_below("wharf", &command) {
        page.extend_from_slice(format!(".SH \"{}\"\n", title.to_uppercase()).as_bytes());
        let man = clap_mangen::Man::new(verb.clone().display_name(title));
        let mut part = Vec::new();
        man.render_synopsis_section(&mut part).map_err(failed)?;
        man.render_description_section(&mut part).map_err(failed)?;
        man.render_options_section(&mut part).map_err(failed)?;
        man.render_extra_section(&mut part).map_err(failed)?;
        // Sections of the verb's own page are subsections of this one.
        page.extend_from_slice(examples(&part).replace(".SH ", ".SS ").as_bytes());
    }
    let mut part = Vec::new();
    man.render_extra_section(&mut part).map_err(failed)?;
    page.extend_from_slice(examples(&part).as_bytes());
    man.render_version_section(&mut page).map_err(failed)?;
    print_bytes(&page)?;
    Ok(0)
}

/// Every verb with its whole name, and those of verbs that have some.
fn verbs_below<'a>(name: &str, command: &'a clap::Command) -> Vec<(String, &'a clap::Command)> {
    let below = |verb: &'a clap::Command| {
        let name = format!("{name} {}", verb.get_name());
        let inner = verbs_below(&name, verb);
        std::iter::once((name, verb)).chain(inner)
    };
    command.get_subcommands().flat_map(below).collect()
}

/// The text after the options, under its right name and with its lines as they are.
fn examples(part: &[u8]) -> String {
    format!("{}.fi\n", String::from_utf8_lossy(part).replace(".SH EXTRA\n", ".SH EXAMPLES\n.nf\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_one_row() {
        let terminal = json!({
            "sessionId": "work", "title": "vim", "cols": 120, "rows": 36, "attached": 2, "exited": false,
            "createdAt": "1970-01-01T00:00:10.000Z", "lastActivityAt": "1970-01-01T01:00:00.000Z",
        });
        assert_eq!(row(&terminal, 3610), ["work", "vim", "120x36", "2", "1h", "10s", "running"]);
        let ended = json!({"exited": true, "exitCode": 130, "signal": 2});
        assert_eq!(row(&ended, 0)[6], "killed by signal 2");
        assert_eq!(row(&json!({"exited": true, "exitCode": 3}), 0)[6], "exited with 3");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = "é".repeat(CLI_SEND_BYTES_MAX);
        assert_eq!(pieces(&text).concat(), text);
        assert!(pieces(&text).iter().all(|piece| piece.len() <= CLI_SEND_BYTES_MAX && !piece.is_empty()));
    }

    #[test]
    fn a_made_up_session_can_stand_in_a_path() {
        let options = clap::Command::new("x").arg(clap::Arg::new("session")).get_matches_from(["x"]);
        let session = chosen_session(&options).unwrap();
        assert_eq!(encode(&session), session);
        assert_ne!(session, chosen_session(&options).unwrap());
    }
}
