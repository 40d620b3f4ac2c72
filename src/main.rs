//! The `wharf` command: parse the command line, run the verb; an error is one line and an exit code.

fn main() -> std::process::ExitCode {
    wharf::cli::main()
}
