//! The verbs of `wharf ht`, with the words and flags of the scripts that other mirrors' users have.

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, Command, value_parser};

use super::command::{connected, flag, option};
use super::keys;

/// `wharf ht`, or the whole command line of the program when it is called as `ht`.
pub(super) fn ht() -> Command {
    Command::new("ht")
        .about(
            "Tell and ask what surrounds terminals: status, progress, log, notifications, plans, processes",
        )
        .long_about(
            "What scripts and agents say about their work, to whoever looks, and ask about their\n\
             terminal. Inside a wharf terminal it is the terminal that it runs in, and the program\n\
             is on the PATH as `ht`; elsewhere --surface names one: by its id, the first characters\n\
             of that, or its session.",
        )
        .after_long_help(
            "Examples:\n\
             \x20 wharf ht set-status build green --icon check --color '#a6e3a1'\n\
             \x20 wharf ht notify --title Tests --body '324 passed' --level success\n\
             \x20 ht set-progress 0.4 --label Linking      inside a wharf terminal\n\
             \x20 ht send --surface work 'make test\\n' && ht read-screen --surface work --lines 20\n\
             \n\
             Environment:\n\
             \x20 HT_SURFACE        the terminal, when there is no --surface (then WHARF_TERMINAL)\n\
             \x20 HT_WORKSPACE_ID   the workspace, when there is no --workspace and no --surface\n\
             \n\
             Exit codes: 0; 1 for an error, of which one line says what to do; 2 for a wrong\n\
             command line; 3 when there is no server.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands(sidebar().into_iter().chain(notifications()).chain([plan(), auto_continue()]))
        .subcommands(terminal().into_iter().chain(processes()))
}

/// Speaks to a server, and prints JSON when it is told to.
fn asks(name: &'static str) -> Command {
    connected(Command::new(name)).arg(flag("json", "Print JSON").short('j'))
}

/// About a terminal.
fn about_surface(command: Command) -> Command {
    command.arg(option("surface", "ID", "The terminal: its id, or its session [env: HT_SURFACE]").short('s'))
}

/// About a workspace, perhaps the one that shows a terminal.
fn about_workspace(command: Command) -> Command {
    about_surface(command)
        .arg(option("workspace", "ID", "The workspace [default: the one that shows the terminal]").short('w'))
}

fn word(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).value_name(value).help(help).required(true)
}

/// Words that are joined by blanks.
fn words(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    word(name, value, help).num_args(1..)
}

fn level() -> Arg {
    let names = ["info", "progress", "success", "warning", "error"].map(|name| match name {
        "warning" => PossibleValue::new(name).alias("warn"),
        _ => PossibleValue::new(name),
    });
    option("level", "LEVEL", "How it is shown").value_parser(names).ignore_case(true)
}

fn sidebar() -> [Command; 5] {
    [
        about_workspace(asks("set-status"))
            .about("Show a status pill beside the workspace's name; the same key again changes it")
            .args([
                word("key", "KEY", "What it is about: build, tests, ..."),
                words("text", "TEXT", "What it says"),
                option("icon", "ICON", "Name of an icon, or one character"),
                option("color", "COLOR", "Its colour, such as '#a6e3a1'"),
            ]),
        about_workspace(asks("clear-status"))
            .about("Remove a status pill; one that is not there is no error")
            .arg(word("key", "KEY", "Its key")),
        about_workspace(asks("set-progress")).about("Show how far the work is").args([
            word("value", "VALUE", "From 0 to 1, or a percentage such as 42%").allow_negative_numbers(true),
            option("label", "TEXT", "What is going on"),
        ]),
        about_workspace(asks("clear-progress")).about("Remove the progress bar"),
        about_workspace(asks("log")).about("Add a line to the workspace's log").args([
            words("message", "MESSAGE", "What happened"),
            level(),
            option("source", "NAME", "Who says so: make, eslint, ..."),
        ]),
    ]
}

fn notifications() -> [Command; 4] {
    [
        about_surface(asks("notify"))
            .about("Notify whoever looks, about this terminal; prints the notification's id")
            .args([
                Arg::new("words").value_name("TITLE [BODY]").num_args(0..=2).help("The same without flags"),
                option("title", "TITLE", "What happened"),
                option("subtitle", "TEXT", "A line above the body"),
                option("body", "TEXT", "More about it"),
                level(),
                option("sound", "NAME", "Whether there is one is a setting of whoever looks").hide(true),
            ]),
        asks("list-notifications").about("List the notifications, oldest first"),
        asks("clear-notifications")
            .about("Dismiss all notifications")
            .arg(option("surface", "ID", "Only those about this terminal").short('s')),
        asks("dismiss-notification").about("Dismiss one notification").visible_alias("dismiss").arg(word(
            "id",
            "ID",
            "Its id, as notify and list-notifications print it",
        )),
    ]
}

fn plan() -> Command {
    let agent = || option("agent", "ID", "Who follows the plan");
    group("plan")
        .about("Publish the steps of a plan and how far they are; one plan a workspace")
        .after_long_help(
            "Examples:\n\
             \x20 wharf ht plan set --json '[{\"id\":\"M1\",\"title\":\"Explore\",\"state\":\"active\"}]'\n\
             \x20 wharf ht plan update M1 --state done\n\
             \n\
             States: done, active, waiting, err",
        )
        .subcommands([
            asks("list").about("Print every workspace's plan"),
            about_workspace(connected(Command::new("set")))
                .about("Replace the plan")
                .arg(
                    option("json", "STEPS", "[{id, title, state?}, ...] as JSON; - reads standard input")
                        .visible_alias("steps")
                        .required(true),
                )
                .arg(agent()),
            about_workspace(asks("update")).about("Change one step, or append it").args([
                word("step", "STEP", "Its id"),
                option("state", "STATE", "done, active, waiting or err"),
                option("title", "TITLE", "What it says"),
                agent(),
            ]),
            about_workspace(asks("complete")).about("Mark every step as done").arg(agent()),
            about_workspace(asks("clear")).about("Remove the plan").arg(agent()),
        ])
}

fn auto_continue() -> Command {
    let surface = |name, about| {
        about_surface(asks(name)).about(about).arg(
            Arg::new("target").value_name("SURFACE").help("The same as --surface").conflicts_with("surface"),
        )
    };
    let reason = || option("reason", "TEXT", "Why, for the audit");
    group("autocontinue")
        .about("Tell agents to go on: what was decided, and whether it may be")
        .after_long_help(
            "Examples:\n\
             \x20 wharf ht autocontinue set --engine heuristic --dry-run true\n\
             \x20 wharf ht autocontinue pause work",
        )
        .subcommands([
            asks("status").about("Print its settings, and the terminals where it is paused"),
            asks("audit").about("Print what it decided last").arg(
                option("limit", "N", "At most so many [default: 20]")
                    .value_parser(value_parser!(u64).range(1..)),
            ),
            asks("set").about("Change its settings").args([
                option("engine", "NAME", "off or heuristic"),
                option("dry-run", "BOOL", "Decide, but type nothing").value_parser(parse_bool),
                option("cooldown", "MS", "Milliseconds between two in one terminal")
                    .value_parser(value_parser!(u64)),
                option("max", "N", "So many in a row without a person's input")
                    .value_parser(value_parser!(u64)),
            ]),
            surface("fire", "Decide now, as if a notification had come").arg(option(
                "text",
                "TEXT",
                "Text of that notification",
            )),
            surface("pause", "Decide nothing for a terminal").arg(reason()),
            surface("resume", "Decide again").arg(reason()),
        ])
}

/// A verb that has verbs.
fn group(name: &'static str) -> Command {
    Command::new(name).subcommand_required(true).arg_required_else_help(true).disable_help_subcommand(true)
}

/// `true`, `yes`, `on`, `1`, or their opposites.
fn parse_bool(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

fn terminal() -> [Command; 6] {
    [
        about_surface(asks("send"))
            .about("Type text into a terminal; \\n in it presses Enter")
            .long_about(
                "Types TEXT (several are joined by blanks). In it \\n and \\r press Enter, \\t Tab, \\e Escape,\n\
                 \\b Backspace; \\xHH is any character up to FF, \\\\ a backslash. Other backslashes stay.",
            )
            .args([
                words("text", "TEXT", "What to type"),
                flag("literal", "Backslashes mean nothing").short('l'),
                flag("enter", "Press Enter at the end").short('e'),
            ]),
        about_surface(asks("send-key"))
            .about("Press keys in a terminal, as its program wants to hear them")
            .visible_alias("send-keys")
            .arg(
                words("key", "KEY", "Enter, Tab, Escape, Up, PageDown, F5, C-c, M-x, ctrl+c, shift+tab, ...")
                    .action(ArgAction::Append)
                    .value_parser(keys::Key::parse),
            ),
        about_surface(asks("read-screen"))
            .about("Print what a terminal shows")
            .visible_alias("capture-pane")
            .args([
                option("lines", "N", "The last N lines of it, those above the screen included")
                    .value_parser(value_parser!(u64).range(1..)),
                option("scrollback", "BOOL", "Everything above the screen too")
                    .num_args(0..=1)
                    .default_missing_value("true")
                    .value_parser(parse_bool),
            ]),
        asks("list-surfaces").about("List the terminals; * is the one that this runs in"),
        asks("list-workspaces").about("List the workspaces"),
        asks("ping").about("Say whether the server is there"),
    ]
}

fn processes() -> [Command; 6] {
    [
        about_surface(asks("metadata")).about("Print what runs in a terminal, and where"),
        about_surface(asks("ps")).about("Print the terminal's processes; * is in the foreground"),
        about_surface(asks("ports")).about("Print the ports that its processes listen on"),
        about_surface(asks("cwd")).about("Print the directory that its foreground process is in"),
        about_surface(asks("git")).about("Print the state of the repository around that"),
        about_surface(asks("panels")).about("List the terminal's panels").visible_alias("list-panels"),
    ]
}
