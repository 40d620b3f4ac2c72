//! The one definition of the command line: help, completions and the man page come from it.

use clap::builder::{PossibleValuesParser, ValueParser};
use clap::{Arg, ArgAction, ArgGroup, Command, ValueHint, value_parser};

use super::values;
use super::{ht_command, keys};
use crate::limits;

/// The whole command line.
pub(super) fn command() -> Command {
    Command::new("wharf")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Shells that outlive their clients, over HTTP and WebSocket")
        .long_about(
            "Runs shells on PTYs, keeps them alive, and serves them to browsers, programs and\n\
             other terminals.\n\
             \n\
             `wharf serve` starts the server and prints its URL. The other verbs talk to a\n\
             running server: to the one on this machine over its Unix socket, or to any other\n\
             with --url.",
        )
        .after_long_help(
            "Examples:\n\
             \x20 wharf serve                          serve on http://127.0.0.1:3000/\n\
             \x20 wharf new -s work                    start a shell in session 'work' and attach to it\n\
             \x20 wharf attach work                    come back later; Ctrl-\\ detaches again\n\
             \x20 wharf run -s build -- make           run a command here, shown on the server too\n\
             \x20 wharf send work --enter 'make test'  type into a session from a script\n\
             \x20 wharf screen work                    print what it shows\n\
             \x20 wharf ht set-status build green      tell whoever looks; inside wharf `ht` is enough\n\
             \n\
             Environment:\n\
             \x20 WHARF_SOCKET   Unix socket of the server (shells inside wharf have it set)\n\
             \x20 WHARF_URL      URL of the server, instead of the socket\n\
             \x20 WHARF_TOKEN    access token\n\
             \x20 WHARF_LOG      error, warn (default), info or debug; the log goes to stderr\n\
             \n\
             Exit codes: 0; 1 for an error, of which one line says what to do; 2 for a wrong\n\
             command line; 3 when there is no server. `attach` and `run` exit with the program's code, 128+n after signal n.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands([
            serve(),
            new(),
            ls(),
            attach(),
            run(),
            screen(),
            send(),
            kill(),
            ht_command::ht(),
            token(),
            completions(),
            man(),
        ])
}

pub(super) fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
}

pub(super) fn option(
    name: &'static str,
    value: &'static str,
    help: impl Into<clap::builder::StyledStr>,
) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn path(name: &'static str, value: &'static str, hint: ValueHint, help: &'static str) -> Arg {
    option(name, value, help).value_hint(hint).value_parser(ValueParser::path_buf())
}

fn count(name: &'static str, value: &'static str, help: String, from: usize, to: usize) -> Arg {
    option(name, value, help).value_parser(value_parser!(u64).range(from as u64..=to as u64))
}

/// Which server a client verb talks to.
pub(super) fn connected(command: Command) -> Command {
    command
        .arg(
            path("socket", "PATH", ValueHint::FilePath, "Unix socket of the server [env: WHARF_SOCKET]")
                .help_heading("Server")
                .conflicts_with("url"),
        )
        .arg(
            option("url", "URL", "Server at http://HOST:PORT[/BASE] instead of the socket [env: WHARF_URL]")
                .help_heading("Server")
                .value_hint(ValueHint::Url),
        )
        .arg(
            path(
                "token-file",
                "FILE",
                ValueHint::FilePath,
                "File with the access token [env: WHARF_TOKEN has it]",
            )
            .help_heading("Server"),
        )
}

fn session() -> Arg {
    Arg::new("target")
        .value_name("SESSION")
        .help("Session id, or the id of a terminal (or its first characters)")
}

fn detach_key() -> Arg {
    option("detach-key", "KEY", "Key that detaches: C-\\, C-a,d (first Ctrl-a, then d), or none")
        .default_value("C-\\")
        .value_parser(keys::parse_sequence)
}

fn size() -> Arg {
    option("size", "COLSxROWS", "Size of the terminal; default: this terminal's, else 80x24")
        .value_parser(values::parse_size)
}

fn serve() -> Command {
    Command::new("serve")
        .about("Start the server and print its URLs")
        .long_about(
            "Starts the server in the foreground. Once it accepts connections, each listener's\n\
             URL is printed on a line of its own. A Unix socket of mode 0600, wharf.sock in the\n\
             runtime directory, is always there for the other verbs.",
        )
        .after_long_help(
            "Examples:\n\
             \x20 wharf serve\n\
             \x20 wharf serve --listen 0.0.0.0:3000       every interface; a token is made, the URL carries it\n\
             \x20 wharf token new token && wharf serve --listen [::]:3000 --token-file token\n\
             \x20 wharf serve --listen unix:/run/web/wharf.sock --base-path /term    behind a reverse proxy\n\
             \x20 wharf serve --listen fd                 sockets passed by systemd (LISTEN_FDS)\n\
             \n\
             Environment:\n\
             \x20 WHARF_TOKEN       the token, when there is no --token-file; shells do not see it\n\
             \x20 WHARF_LOG         error, warn (default), info or debug\n\
             \x20 SHELL             the shell, when there is no --shell\n\
             \x20 XDG_RUNTIME_DIR   base of the default runtime directory\n\
             \x20 XDG_STATE_HOME    base of the default state directory",
        )
        .args([
            option("listen", "ADDRESS", "HOST:PORT, unix:PATH, or fd; repeatable [default: 127.0.0.1:3000]")
                .action(ArgAction::Append),
            option("base-path", "PATH", "Prefix of every path, for a reverse proxy: /a/b")
                .value_parser(values::parse_base_path),
            path("token-file", "FILE", ValueHint::FilePath, "File that holds the access token (see `wharf token new`)"),
            option("host", "NAME", "Name under which browsers reach this server, as in Host:; repeatable")
                .action(ArgAction::Append)
                .value_hint(ValueHint::Hostname),
            path("runtime-dir", "DIR", ValueHint::DirPath, "Directory of the socket [default: $XDG_RUNTIME_DIR/wharf]"),
            path("state-dir", "DIR", ValueHint::DirPath, "Directory of what outlives the server [default: ~/.local/state/wharf]"),
            count(
                "replay-bytes",
                "BYTES",
                format!("Output kept for replay, per terminal [default: {}]", limits::REPLAY_BYTES),
                limits::REPLAY_BYTES_MIN,
                limits::REPLAY_BYTES_MAX,
            ),
            count(
                "scrollback",
                "LINES",
                format!("Lines kept above each screen [default: {}]", limits::SCROLLBACK_LINES),
                0,
                limits::SCROLLBACK_LINES_MAX,
            ),
            option("linger", "SECONDS", "How long an exited terminal can still be read, also 10m, 2h [default: 10m]")
                .value_parser(values::parse_duration),
            count(
                "max-terminals",
                "N",
                format!("Terminals at once [default: {}]", limits::TERMINALS_MAX),
                1,
                limits::TERMINALS_CEILING,
            ),
            count(
                "upload-bytes",
                "BYTES",
                format!("Largest file that a page may send; 0 for none [default: {}]", limits::UPLOAD_BYTES),
                0,
                limits::UPLOAD_BYTES_MAX as usize,
            ),
            path("shell", "PATH", ValueHint::ExecutablePath, "Shell when a request names none [default: $SHELL]"),
            flag("no-shell-integration", "Start shells without prompt marks and titles"),
            flag("no-sideband", "Start shells without descriptors 3, 4 and 5, on which scripts draw panels"),
        ])
}

fn new() -> Command {
    connected(Command::new("new"))
        .about("Start a shell in a new session")
        .long_about(
            "Starts a shell in a session and attaches to it, when standard input and output are\n\
             a terminal; otherwise, or with --detached, prints the session id. If the session\n\
             already has a live terminal, that one is used.",
        )
        .after_long_help(
            "Examples:\n\
             \x20 wharf new                       a session with a made-up name\n\
             \x20 wharf new -s work --cwd ~/src\n\
             \x20 wharf new -d -s job --shell /bin/sh -- -c 'make; exec sh'",
        )
        .args([
            option("session", "SESSION", "Session id [default: a made-up one]").short('s'),
            path("cwd", "DIR", ValueHint::DirPath, "Working directory [default: this one]"),
            path("shell", "PATH", ValueHint::ExecutablePath, "Shell [default: the server's]"),
            size(),
            flag("detached", "Do not attach; print the session id").short('d'),
            detach_key(),
            Arg::new("args").value_name("ARGS").num_args(0..).last(true).help("Arguments of the shell"),
        ])
}

fn ls() -> Command {
    connected(Command::new("ls"))
        .about("List the terminals")
        .visible_alias("list")
        .after_long_help("Examples:\n\x20 wharf ls\n\x20 wharf ls --json | jq -r '.[].sessionId'")
        .arg(flag("json", "Print what the server says, as a JSON array"))
}

fn attach() -> Command {
    connected(Command::new("attach"))
        .about("Show a session in this terminal and type into it")
        .long_about(
            "Attaches this terminal to a session until the program exits, or until the detach\n\
             key is pressed; then the session goes on. A lost connection is made again by itself,\n\
             and nothing typed is lost or sent twice. With standard input from a pipe, its bytes\n\
             are typed, and the output goes on until the exit.",
        )
        .after_long_help(
            "Examples:\n\
             \x20 wharf attach work\n\
             \x20 wharf attach --read-only work\n\
             \x20 wharf attach --detach-key C-a,d work\n\
             \x20 wharf attach --url http://10.0.0.7:3000 --token-file ~/.wharf-token work\n\
             \x20 echo make | wharf attach work > log",
        )
        .args([
            session().required(true),
            flag("read-only", "Only watch: type nothing, change no size").short('r'),
            detach_key(),
        ])
}

fn run() -> Command {
    connected(Command::new("run"))
        .about("Run a command here, shown on the server too")
        .long_about(
            "Runs a command on a PTY of its own. Its output goes to this terminal and to the\n\
             server, where it can be watched and typed into like any session. It goes on when\n\
             the server is away, and is shown again when the server is back. Exits with the\n\
             command's code.",
        )
        .after_long_help(
            "Examples:\n\
             \x20 wharf run -s build -- make -j4\n\
             \x20 wharf run -s agent --size 120x40 -- ./agent --headless < /dev/null > agent.log",
        )
        .args([
            option("session", "SESSION", "Session id [default: a made-up one]").short('s'),
            size(),
            option("newlines", "HOW", "crlf: lines end in a bare LF, and the server makes CR LF of it")
                .value_parser(PossibleValuesParser::new(["crlf"])),
            Arg::new("command")
                .value_name("COMMAND")
                .num_args(1..)
                .required(true)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .value_hint(ValueHint::CommandWithArguments)
                .help("Command and its arguments"),
        ])
}

fn screen() -> Command {
    connected(Command::new("screen"))
        .about("Print what a session shows")
        .after_long_help(
            "Examples:\n\
             \x20 wharf screen work --no-scrollback\n\
             \x20 wharf screen work --lines 200 | grep error\n\
             \x20 wharf screen work --vt          with colours, as escape sequences",
        )
        .args([
            session().required(true),
            flag("vt", "As escape sequences that reproduce the screen"),
            option("lines", "N", "At most N lines of scrollback").value_parser(value_parser!(u64)),
            flag("no-scrollback", "Only the screen").conflicts_with("lines"),
        ])
}

fn send() -> Command {
    connected(Command::new("send"))
        .about("Type into a session")
        .long_about("Types TEXT (several are joined by blanks), then standard input with --stdin, then the keys, then Enter.")
        .after_long_help(
            "Examples:\n\
             \x20 wharf send work --enter make test\n\
             \x20 wharf send work --key C-c\n\
             \x20 wharf send work --key Escape --key : --key w --key q --key Enter\n\
             \x20 wharf send work --stdin < script.sh",
        )
        .args([
            session().required(true),
            Arg::new("text").value_name("TEXT").num_args(0..).help("What to type"),
            flag("enter", "Press Enter at the end").short('e'),
            option("key", "KEY", "Key to press: C-c, M-x, Enter, Escape, Up, F5, ...; repeatable")
                .short('k')
                .action(ArgAction::Append)
                .value_parser(keys::Key::parse),
            flag("stdin", "Type what standard input holds"),
        ])
        .group(ArgGroup::new("what").args(["text", "enter", "key", "stdin"]).required(true).multiple(true))
}

fn kill() -> Command {
    connected(Command::new("kill"))
        .about("End sessions: their programs are hung up, then killed")
        .after_long_help("Examples:\n\x20 wharf kill work\n\x20 wharf kill --all")
        .args([
            session().num_args(0..).required_unless_present("all"),
            flag("all", "Every session").conflicts_with("target"),
        ])
}

fn token() -> Command {
    let file = |help: &'static str| {
        Arg::new("file")
            .value_name("FILE")
            .value_hint(ValueHint::FilePath)
            .value_parser(ValueParser::path_buf())
            .help(help)
    };
    Command::new("token")
        .about("Make access tokens")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .after_long_help(
            "Examples:\n\
             \x20 wharf token new token             a new file of mode 0600\n\
             \x20 wharf token new --replace token   rotate; restart the server to use it\n\
             \x20 wharf token url http://10.0.0.7:3000 token",
        )
        .subcommands([
            Command::new("new").about("Make a token of 256 random bits; without FILE, print it").args([
                file("File to create, mode 0600"),
                flag("replace", "Replace an existing file").requires("file"),
            ]),
            Command::new("url").about("Print the URL that opens a server in a browser").args([
                Arg::new("url")
                    .value_name("URL")
                    .required(true)
                    .value_hint(ValueHint::Url)
                    .help("http://HOST:PORT[/BASE]"),
                file("File with the token [env: WHARF_TOKEN has it]"),
            ]),
        ])
}

fn completions() -> Command {
    Command::new("completions")
        .about("Print the completions for a shell")
        .after_long_help(
            "Examples:\n\
             \x20 wharf completions bash > ~/.local/share/bash-completion/completions/wharf\n\
             \x20 wharf completions zsh > ~/.zfunc/_wharf            with ~/.zfunc in fpath\n\
             \x20 wharf completions fish > ~/.config/fish/completions/wharf.fish\n\
             \x20 wharf completions elvish >> ~/.config/elvish/rc.elv\n\
             \x20 wharf completions --program ht bash > ~/.local/share/bash-completion/completions/ht",
        )
        .arg(
            option("program", "NAME", "For the program under this name")
                .default_value("wharf")
                .value_parser(PossibleValuesParser::new(["wharf", "ht"])),
        )
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .required(true)
                .help("The shell")
                .value_parser(PossibleValuesParser::new(["bash", "zsh", "fish", "elvish"])),
        )
}

fn man() -> Command {
    Command::new("man").about("Print the manual page").after_long_help("Examples:\n\x20 wharf man | man -l -")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_verb_has_examples() {
        for verb in command().get_subcommands() {
            let help = verb.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("wharf "), "{} has no example", verb.get_name());
        }
    }
}
