//! The other end: client verbs over the same protocols, and the start of the server.
//!
//! `command` defines the command line. `client` asks the server one thing at a time, `link` is a websocket that
//! never blocks, `tty` the user's own terminal; `verbs`, `ht`, `attach` and `run` put them together. What decides
//! anything stands in pure files of its own: `scan`, `keyboard`, `keys`, `history`, `modes`, `outbox`,
//! `backoff`, `table`, `values`, `ht_text`.

mod attach;
mod backoff;
mod client;
mod command;
mod history;
mod ht;
mod ht_command;
mod ht_text;
mod keyboard;
mod keys;
mod link;
mod logger;
mod modes;
mod outbox;
mod run;
mod scan;
mod serve;
mod table;
mod tty;
mod values;
mod verbs;

use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

/// Why a verb failed.
#[derive(Debug)]
enum Failure {
    /// One line that says what to do.
    Message(String),
    /// The command line means nothing here, in one line.
    Usage(String),
    /// No server can be reached, in one line.
    NoServer(String),
    /// Whoever read standard output has gone, and knows it.
    Quiet,
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::Message(message)
    }
}

/// Runs the command line. The exit code is 0, 1 for an error, 2 for a command line that cannot be
/// understood, 3 when there is no server; `attach` and `run` give the program's. Called as `ht`, it is `wharf ht`.
pub fn main() -> ExitCode {
    let is_ht = std::env::args_os()
        .next()
        .is_some_and(|name| Path::new(&name).file_name().is_some_and(|name| name == "ht"));
    let command =
        if is_ht { ht_command::ht().version(env!("CARGO_PKG_VERSION")) } else { command::command() };
    let matches = match command.try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version go to standard output and are no errors. A closed pipe is quiet.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let outcome = logger::start().map_err(Failure::from).and_then(|()| match matches.subcommand() {
        _ if is_ht => ht::ht(&matches),
        Some(("serve", options)) => serve::serve(options),
        Some(("new", options)) => verbs::new(options),
        Some(("ls", options)) => verbs::ls(options),
        Some(("attach", options)) => attach::attach(options),
        Some(("run", options)) => run::run(options),
        Some(("screen", options)) => verbs::screen(options),
        Some(("send", options)) => verbs::send(options),
        Some(("kill", options)) => verbs::kill(options),
        Some(("ht", options)) => ht::ht(options),
        Some(("token", options)) => verbs::token(options),
        Some(("completions", options)) => verbs::completions(options),
        _ => verbs::man(),
    });
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(Failure::Quiet) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => refused(&message, 1),
        Err(Failure::Usage(message)) => refused(&message, 2),
        Err(Failure::NoServer(message)) => refused(&message, 3),
    }
}

fn refused(message: &str, code: u8) -> ExitCode {
    complain(message);
    ExitCode::from(code)
}

/// One line on standard error; control characters of a server's or a file's words stay out of the terminal.
fn complain(message: &str) {
    let line: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    say(&format!("wharf: {line}\n"));
}

/// Writes to standard error, where nobody may be.
fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Writes to standard output.
fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::Quiet,
        _ => Failure::Message(format!("cannot write to standard output: {error}")),
    })
}
