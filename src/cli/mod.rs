//! The other end: client verbs over the same protocols, and the start of the server.
//!
//! `command` defines the command line. `client` asks the server one thing at a time, `link` is a websocket that
//! never blocks, `tty` the user's own terminal; `verbs`, `attach` and `run` put them together. What decides
//! anything stands in pure files of its own: `scan`, `keyboard`, `keys`, `history`, `modes`, `outbox`,
//! `backoff`, `table`, `values`.

mod attach;
mod backoff;
mod client;
mod command;
mod history;
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
use std::process::ExitCode;

/// Why a verb failed.
#[derive(Debug)]
enum Failure {
    /// One line that says what to do.
    Message(String),
    /// Whoever read standard output has gone, and knows it.
    Quiet,
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::Message(message)
    }
}

/// Runs the command line. The exit code is 0, 1 for an error, 2 for a command line that cannot be
/// understood; `attach` and `run` give the program's.
pub fn main() -> ExitCode {
    let matches = match command::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version go to standard output and are no errors. A closed pipe is quiet.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let Some((verb, options)) = matches.subcommand() else { return ExitCode::from(2) };
    let outcome = logger::start().map_err(Failure::from).and_then(|()| match verb {
        "serve" => serve::serve(options),
        "new" => verbs::new(options),
        "ls" => verbs::ls(options),
        "attach" => attach::attach(options),
        "run" => run::run(options),
        "screen" => verbs::screen(options),
        "send" => verbs::send(options),
        "kill" => verbs::kill(options),
        "token" => verbs::token(options),
        "completions" => verbs::completions(options),
        _ => verbs::man(),
    });
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(Failure::Quiet) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => {
            complain(&message);
            ExitCode::from(1)
        }
    }
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
