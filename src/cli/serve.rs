//! `wharf serve`: flags to configuration, then the server until a signal ends it.

use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;

use super::client::{absolute, read_token};
use super::{Failure, print};
use crate::config::{Config, socket_path};
use crate::os::{listen, listen::ListenAddr, proc};
use crate::server::Server;

const LISTEN_DEFAULT: &str = "127.0.0.1:3000";

pub(super) fn serve(options: &ArgMatches) -> Result<u8, Failure> {
    let config = config(options)?;
    let server = Server::bind(config).map_err(|error| error.to_string())?;
    match print(&server.urls().iter().map(|url| format!("{url}\n")).collect::<String>()) {
        // Whoever read the URLs may have left; the server is not for them alone.
        Ok(()) | Err(Failure::Quiet) => {}
        Err(failure) => return Err(failure),
    }
    server.run().map_err(|error| format!("the server stopped: {error}"))?;
    Ok(0)
}

/// What the flags and the environment say.
fn config(options: &ArgMatches) -> Result<Config, String> {
    let mut config = Config { token: read_token(options)?, ..Config::default() };
    let directory = |name: &str, default: fn() -> PathBuf| match options.get_one::<PathBuf>(name) {
        Some(path) => absolute(path).map(PathBuf::from),
        None => Ok(default()),
    };
    config.runtime_dir = directory("runtime-dir", proc::runtime_dir_default)?;
    config.state_dir = directory("state-dir", proc::state_dir_default)?;
    let listen = match options.get_many::<String>("listen") {
        Some(addresses) => addresses.map(String::as_str).collect(),
        None => vec![LISTEN_DEFAULT],
    };
    for address in listen {
        config.listen.extend(listen::resolve(address)?);
    }
    config.listen.push(ListenAddr::Unix(socket_path(&config.runtime_dir)));
    config.hosts = options.get_many("host").map(|hosts| hosts.cloned().collect()).unwrap_or_default();
    if let Some(path) = options.get_one::<String>("base-path") {
        config.base_path.clone_from(path);
    }
    let count = |name| options.get_one::<u64>(name).and_then(|count| usize::try_from(*count).ok());
    config.replay_bytes = count("replay-bytes").unwrap_or(config.replay_bytes);
    config.scrollback_lines = count("scrollback").unwrap_or(config.scrollback_lines);
    config.terminals_max = count("max-terminals").unwrap_or(config.terminals_max);
    config.upload_bytes = options.get_one("upload-bytes").copied().unwrap_or(config.upload_bytes);
    config.linger = options.get_one::<Duration>("linger").copied().unwrap_or(config.linger);
    config.shell = options.get_one::<PathBuf>("shell").cloned();
    config.ht = std::env::current_exe().ok();
    config.shell_integration = !options.get_flag("no-shell-integration");
    config.sideband = !options.get_flag("no-sideband");
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command::command;

    fn parsed(flags: &[&str]) -> Result<Config, String> {
        let line = ["wharf", "serve", "--runtime-dir", "/r", "--state-dir", "/s"].iter().chain(flags);
        let matches = command().try_get_matches_from(line).map_err(|error| error.to_string())?;
        config(matches.subcommand_matches("serve").unwrap())
    }

    #[test]
    fn without_flags_it_is_loopback_and_the_socket() {
        let config = parsed(&[]).unwrap();
        assert_eq!(
            config.listen,
            [ListenAddr::Tcp("127.0.0.1:3000".parse().unwrap()), ListenAddr::Unix("/r/wharf.sock".into())]
        );
        assert_eq!((config.base_path.as_str(), config.shell), ("", None));
        assert!(config.shell_integration && config.sideband);
    }

    #[test]
    fn every_flag_arrives() {
        let flags = "--listen [::1]:0 --listen unix:/x.sock --base-path /a/b --host h1 --host h2 --replay-bytes 4194304 \
            --scrollback 0 --linger 2h --max-terminals 7 --upload-bytes 0 --shell /bin/sh --no-shell-integration \
            --no-sideband";
        let config = parsed(&flags.split_whitespace().collect::<Vec<_>>()).unwrap();
        assert_eq!(config.listen.len(), 3);
        assert_eq!(config.listen[1], ListenAddr::Unix("/x.sock".into()));
        assert_eq!(
            (config.base_path.as_str(), config.hosts),
            ("/a/b", vec!["h1".to_owned(), "h2".to_owned()])
        );
        assert_eq!((config.replay_bytes, config.scrollback_lines, config.terminals_max), (4 << 20, 0, 7));
        assert_eq!((config.linger, config.upload_bytes), (Duration::from_secs(7200), 0));
        assert_eq!(
            (config.shell, config.shell_integration, config.sideband),
            (Some("/bin/sh".into()), false, false)
        );
    }

    #[test]
    fn what_is_out_of_range_is_refused_by_name() {
        for flags in [
            ["--listen", "nonsense"],
            ["--listen", "unix:"],
            ["--base-path", "a/"],
            ["--replay-bytes", "10"],
            ["--scrollback", "100001"],
            ["--linger", "soon"],
            ["--max-terminals", "0"],
            ["--token-file", "/nonexistent/token"],
        ] {
            let error = parsed(&flags).unwrap_err();
            assert!(error.contains(flags[1]), "{flags:?}: {error}");
        }
    }
}
