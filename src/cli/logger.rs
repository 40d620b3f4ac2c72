//! The log of the command: one line per record on standard error, no time (the service manager adds it).

use std::io::Write;

use log::{Level, LevelFilter, Metadata, Record};

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Libraries below us are of no interest to an operator.
        metadata.target().starts_with("wharf") && metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let level = match record.level() {
                Level::Error => "error",
                Level::Warn => "warning",
                Level::Info => "info",
                Level::Debug => "debug",
                Level::Trace => "trace",
            };
            // A log that nobody reads must not end the server.
            let _ = writeln!(std::io::stderr(), "wharf: {level}: {}", record.args());
        }
    }

    fn flush(&self) {}
}

/// Starts the log at the level of WHARF_LOG.
pub(super) fn start() -> Result<(), String> {
    let level = match std::env::var("WHARF_LOG").unwrap_or_default().as_str() {
        "" | "warn" => LevelFilter::Warn,
        "off" => LevelFilter::Off,
        "error" => LevelFilter::Error,
        "info" => LevelFilter::Info,
        "debug" | "trace" => LevelFilter::Debug,
        other => return Err(format!("WHARF_LOG is '{other}'; set it to error, warn, info or debug")),
    };
    if log::set_logger(&Logger).is_ok() {
        log::set_max_level(level);
    }
    Ok(())
}
