//! The loop. The only folder with sockets and the clock.
//!
//! One turn: read before time, time before output, output before writing, writing before burying. Whoever
//! stops because of a bound is on a work list that the next turn empties, since mio is edge-triggered and
//! no event will come for it.

mod agent_socket;
mod burial;
mod connection;
mod control_routes;
mod event_socket;
mod git;
mod hand_out;
mod hosted;
mod intake;
mod metadata;
mod mirror_socket;
mod reader;
mod routes;
mod sideband;
mod slots;
mod source;
mod surroundings;
mod terminal_socket;
mod trust;
mod uploads;

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use log::{info, warn};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll};
use std::os::fd::AsRawFd;

use self::connection::{Connection, Gate};
use self::hosted::Hosted;
use self::metadata::Watch;
use self::slots::Slots;
use self::source::{Key, Source};
use self::surroundings::Surroundings;
use self::trust::Trust;
use self::uploads::Uploads;
use crate::Config;
use crate::flow::Deadlines;
use crate::limits::{READ_BYTES, SHUTDOWN_GRACE, STATE_SAVE_AFTER, TERMINALS_CEILING};
use crate::mirror::Mirror;
use crate::os::listen::{self, ListenAddr, Listener};
use crate::os::shell_integration::{self, ScriptsDir};
use crate::os::signals::Signals;
use crate::os::spawn::{Exit, Reaped};
use crate::os::state;
use crate::os::{lock, proc, programs};
use crate::wire::mirror_frames;
use crate::wire::state::{parse_state, state_bytes};
use crate::workspace::events::EventLog;
use crate::workspace::panes::Registry;
use crate::workspace::settings::Settings;

/// Why a server did not start: one line that says what to do.
#[derive(Debug)]
pub struct BindError(String);

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BindError {}

/// A terminal server: one thread, one `mio::Poll`. Embed it with [`Server::bind`] and [`Server::run`].
pub struct Server {
    config: Config,
    poll: Poll,
    events: Events,
    heard: Vec<Heard>,
    signals: Signals,
    listeners: Vec<Listening>,
    connections: Slots<Connection>,
    terminals: Slots<Hosted>,
    by_id: HashMap<String, Key>,
    /// The terminal that a session stands for now.
    by_session: HashMap<String, Key>,
    by_pid: HashMap<i32, Key>,
    registry: Registry,
    log: EventLog,
    event_readers: Vec<Key>,
    /// What surrounds terminals besides the registry.
    around: Surroundings,
    mirror: Mirror,
    mirror_sockets: Vec<Key>,
    watch: Watch,
    /// Batches for the next session at the same place.
    mirror_encoded: mirror_frames::Encoded,
    trust: Trust,
    uploads: Uploads,
    scripts: Option<ScriptsDir>,
    /// The directory with `ht` in it.
    bin: Option<PathBuf>,
    deadlines: Deadlines<Source>,
    /// The deadlines that are being answered.
    expired: Vec<(Instant, Source)>,
    work: Work,
    /// Where every read lands first.
    scratch: Vec<u8>,
    /// Who is served at the moment: a reader may leave while it is.
    readers: Vec<Key>,
    /// Memory of the last queue that drained, for the next one that fills.
    spare: Vec<u8>,
    /// The last frames that were encoded, for readers at the same place.
    encoded: reader::Encoded,
    started_at: Instant,
    stopping: Option<Stopping>,
    asked: Option<Instant>,
    chores_asked: Option<Instant>,
    /// When the next screen follows its stream.
    follow_at: Option<Instant>,
    /// When the state is to be saved.
    save_at: Option<Instant>,
    /// The child that brings it to the disk.
    saving: Option<i32>,
    /// The state is ours alone.
    _state_lock: File,
}

struct Listening {
    listener: Listener,
    gate: Gate,
    /// It has connections waiting, and no event will say so.
    resting_until: Option<Instant>,
    asked: Option<Instant>,
}

struct Stopping {
    until: Instant,
    killed: bool,
}

/// One event of mio, copied out so that the loop may change everything while it handles them.
struct Heard {
    source: Source,
    readable: bool,
    writable: bool,
    /// The other end is closed: after what is left to read comes the end.
    ended: bool,
}

/// Who must be looked at although no event comes for it. Each list is emptied once a turn.
#[derive(Default)]
struct Work {
    /// Bytes left unread, or read and not digested.
    again: Vec<Source>,
    /// Terminals with new output, a new clear, or an exit.
    grown: Vec<Key>,
    /// Connections whose queue came down to its low mark, or whose batch is due.
    thirsty: Vec<Key>,
    /// Connections with bytes to write.
    writes: Vec<Key>,
    /// Terminals with input to write.
    inputs: Vec<Key>,
    /// Terminals with events for their scripts to write.
    scripts: Vec<Key>,
    /// Terminals whose screen is behind their stream.
    lagging: Vec<Key>,
    doomed: Vec<Key>,
    doomed_terminals: Vec<Key>,
    /// The event log grew.
    news: bool,
    /// Workspaces or panes changed since sessions of the mirror were told.
    workspaces: bool,
    /// Sessions of the mirror were told something.
    mirrors: bool,
    /// What outlives the server changed.
    state: bool,
}

impl Server {
    /// Opens every listener and makes the directories.
    ///
    /// # Errors
    /// One line that says what to do: an address in use, a socket path that is too long or held by a live
    /// server, a directory that cannot be made private.
    pub fn bind(mut config: Config) -> Result<Server, BindError> {
        let failed = |what: &str, error: io::Error| BindError(format!("{what}: {error}"));
        config.terminals_max = config.terminals_max.min(TERMINALS_CEILING);
        let _ = proc::raise_descriptor_limit();
        proc::private_dir(&config.runtime_dir).map_err(BindError)?;
        proc::private_dir(&config.state_dir).map_err(BindError)?;
        let state_lock = lock::hold(&config.state_dir.join(STATE_FILE), "--state-dir").map_err(BindError)?;
        let poll = Poll::new().map_err(|error| failed("cannot make an epoll instance", error))?;
        let signals = Signals::install().map_err(|error| failed("cannot catch signals", error))?;
        poll.registry()
            .register(&mut SourceFd(&signals.as_raw_fd()), Source::Signals.pack(), Interest::READABLE)
            .map_err(|error| failed("cannot watch signals", error))?;

        let mut listeners = Vec::new();
        for address in &config.listen {
            listeners.extend(listen::open(address).map_err(|error| BindError(error.to_string()))?);
        }
        let addresses: Vec<ListenAddr> = listeners
            .iter()
            .map(Listener::address)
            .collect::<io::Result<_>>()
            .map_err(|e| failed("listen", e))?;
        let needs_token = |address: &ListenAddr| match address {
            ListenAddr::Tcp(address) => !address.ip().to_canonical().is_loopback(),
            ListenAddr::Unix(_) | ListenAddr::Passed => false,
        };
        let given = config.token.is_some();
        if !given && addresses.iter().any(needs_token) {
            let random: [u8; 32] = proc::random_bytes().map_err(|error| failed("no random bytes", error))?;
            config.token = Some(hex(&random));
        }
        let listeners: Vec<Listening> = listeners
            .into_iter()
            .zip(&addresses)
            .map(|(listener, address)| {
                let is_unix = matches!(address, ListenAddr::Unix(_) | ListenAddr::Passed);
                // A token that somebody chose is asked for on loopback too: what comes through a proxy on
                // this machine would otherwise need none.
                let gate =
                    if is_unix || (!given && !needs_token(address)) { Gate::OwnUser } else { Gate::Token };
                Listening { listener, gate, resting_until: None, asked: None }
            })
            .collect();
        for (slot, listening) in listeners.iter().enumerate() {
            poll.registry()
                .register(
                    &mut SourceFd(&listening.listener.as_raw_fd()),
                    Source::Listener(slot as u16).pack(),
                    Interest::READABLE,
                )
                .map_err(|error| failed("cannot watch a listener", error))?;
        }
        let scripts = match config.shell_integration {
            true => match shell_integration::write_scripts(&config.runtime_dir) {
                Ok(scripts) => Some(scripts),
                Err(error) => {
                    warn!("shells get no integration: {}: {error}", config.runtime_dir.display());
                    None
                }
            },
            false => None,
        };
        let bin = config.ht.as_deref().and_then(|program| {
            let linked = programs::link(&config.runtime_dir, "ht", program);
            linked.inspect_err(|error| warn!("shells get no `ht`: {error}")).ok()
        });
        let (registry, settings) = load_state(&config.state_dir.join(STATE_FILE));
        Ok(Server {
            trust: Trust::new(&config),
            config,
            poll,
            events: Events::with_capacity(1024),
            heard: Vec::new(),
            signals,
            listeners,
            connections: Slots::default(),
            terminals: Slots::default(),
            by_id: HashMap::new(),
            by_session: HashMap::new(),
            by_pid: HashMap::new(),
            registry,
            log: EventLog::new(unix_ms()),
            event_readers: Vec::new(),
            around: Surroundings::new(settings, unix_ms()),
            mirror: Mirror::default(),
            mirror_sockets: Vec::new(),
            watch: Watch::default(),
            mirror_encoded: mirror_frames::Encoded::default(),
            uploads: Uploads::default(),
            scripts,
            bin,
            deadlines: Deadlines::default(),
            expired: Vec::new(),
            work: Work::default(),
            scratch: vec![0; READ_BYTES],
            readers: Vec::new(),
            spare: Vec::new(),
            encoded: reader::Encoded::default(),
            started_at: Instant::now(),
            stopping: None,
            asked: None,
            chores_asked: None,
            follow_at: None,
            save_at: None,
            saving: None,
            _state_lock: state_lock,
        })
    }

    /// Where the server can be reached, one entry per listener: `http://HOST:PORT/BASE/`, with `?t=TOKEN`
    /// where a token is needed, or `unix:PATH`.
    pub fn urls(&self) -> Vec<String> {
        let url = |listening: &Listening| {
            Some(match listening.listener.address().ok()? {
                ListenAddr::Tcp(address) => {
                    let token = match (&self.config.token, listening.gate) {
                        (Some(token), Gate::Token) => format!("?t={token}"),
                        _ => String::new(),
                    };
                    format!("http://{address}{}/{token}", self.config.base_path)
                }
                ListenAddr::Unix(path) => format!("unix:{}", path.display()),
                ListenAddr::Passed => return None,
            })
        };
        self.listeners.iter().filter_map(url).collect()
    }

    /// Serves until SIGTERM, SIGINT or SIGHUP; then hangs up every shell and returns.
    ///
    /// # Errors
    /// Only what ends the loop itself: epoll failing.
    pub fn run(mut self) -> io::Result<()> {
        while !self.is_finished() {
            self.turn()?;
        }
        if self.save_at.is_some() || self.saving.is_some() {
            self.write_state();
        }
        Ok(())
    }

    /// One turn of the loop.
    ///
    /// # Errors
    /// See [`Server::run`].
    pub fn turn(&mut self) -> io::Result<()> {
        let patience = self.patience();
        match self.poll.poll(&mut self.events, patience) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.events.clear(),
            result => result?,
        }
        let now = Instant::now(); // the one clock reading of a turn
        self.take_in(now);
        self.fire_deadlines(now);
        self.hand_out(now);
        self.write_out(now);
        self.follow_screens(now);
        self.bury(now);
        if std::mem::take(&mut self.work.state) {
            self.save_at.get_or_insert(now + STATE_SAVE_AFTER);
            self.ask_chores();
        }
        Ok(())
    }

    /// How long the loop may sleep: not at all while somebody is on a work list.
    fn patience(&self) -> Option<Duration> {
        let work = &self.work;
        let lists = [&work.grown, &work.thirsty, &work.writes, &work.inputs, &work.scripts];
        let told = work.news || work.workspaces || work.mirrors;
        if told || !work.again.is_empty() || lists.iter().any(|list| !list.is_empty()) {
            return Some(Duration::ZERO);
        }
        let next = self.deadlines.next().into_iter().chain(self.follow_at).min();
        next.map(|when| when.saturating_duration_since(Instant::now()))
    }

    fn fire_deadlines(&mut self, now: Instant) {
        let mut expired = std::mem::take(&mut self.expired);
        // All of them first: who asks again for a moment that has passed is asked in the next turn.
        expired.extend(std::iter::from_fn(|| self.deadlines.expired(now)));
        for (when, source) in expired.drain(..) {
            // Only the soonest wish of an owner counts; what it wished before is answered by asking anew.
            let asked = match source {
                Source::Signals => &mut self.asked,
                Source::Chores => &mut self.chores_asked,
                Source::Git(_) => continue,
                Source::Listener(slot) => match self.listeners.get_mut(usize::from(slot)) {
                    Some(listening) => &mut listening.asked,
                    None => continue,
                },
                Source::Connection(key) => match self.connections.get_mut(key) {
                    Some(connection) => &mut connection.asked,
                    None => continue,
                },
                Source::Terminal(key) => match self.terminals.get_mut(key) {
                    Some(hosted) => &mut hosted.asked,
                    None => continue,
                },
                // Its deadlines are its terminal's.
                Source::Sideband(_) => continue,
            };
            if asked.take_if(|wish| *wish == when).is_none() {
                continue;
            }
            match source {
                Source::Signals => self.stopping_due(now),
                Source::Chores => self.chores_due(now),
                Source::Git(_) => {}
                Source::Listener(slot) => self.accept(slot, now),
                Source::Connection(key) => self.connection_due(key, now),
                Source::Terminal(key) | Source::Sideband(key) => self.terminal_due(key, now),
            }
        }
        self.expired = expired;
    }

    /// SIGTERM: nobody is accepted any more, sockets are told, shells are hung up. A second one does not wait.
    fn stop(&mut self, now: Instant) {
        if let Some(stopping) = &mut self.stopping {
            stopping.until = now;
            return;
        }
        info!("stopping");
        self.listeners.clear();
        self.watch.end();
        self.uploads.clear();
        let until = now + SHUTDOWN_GRACE;
        self.stopping = Some(Stopping { until, killed: false });
        self.deadlines.ask(until, Source::Signals, &mut self.asked);
        for key in self.connections.keys() {
            self.end_connection(key, 1001, "the server is going away", now);
        }
        for key in self.terminals.keys() {
            self.hang_up(key, now);
        }
    }

    fn stopping_due(&mut self, _now: Instant) {
        let Some(stopping) = &mut self.stopping else { return };
        stopping.killed = true;
        for (pid, _) in self.by_pid.drain() {
            crate::os::spawn::kill_session(pid);
        }
    }

    fn chores_due(&mut self, now: Instant) {
        self.mirror.expire(now);
        self.uploads.expire(now);
        if self.save_at.is_some_and(|at| at <= now) {
            self.save_state();
        }
        self.watch_due(now);
        self.ask_chores();
    }

    fn ask_chores(&mut self) {
        // While the state is being saved, its end is waited for.
        let save_at = self.save_at.filter(|_| self.saving.is_none());
        let own = [self.mirror.deadline(), self.uploads.deadline(), save_at, self.watch.deadline()];
        if let Some(when) = own.into_iter().flatten().min() {
            self.deadlines.ask(when, Source::Chores, &mut self.chores_asked);
        }
    }

    /// Writes what outlives the server: the file is whole at any moment. A child waits for the disk, which may
    /// take a while when others write much.
    fn save_state(&mut self) {
        if self.saving.is_some() || self.save_at.take().is_none() {
            return;
        }
        let path = self.state_path();
        let bytes = state_bytes(&self.registry, &self.around.settings);
        match state::put_beside(&path, &bytes).and_then(|()| state::start_sync(&path)) {
            Ok(child) => self.saving = Some(child),
            Err(error) => {
                info!("no child saves the state: {error}");
                self.write_state();
            }
        }
    }

    /// A child is dead, perhaps the one that brought the state to the disk.
    fn saver_died(&mut self, reaped: Reaped) {
        if self.saving.take_if(|child| *child == reaped.pid).is_none() {
            return;
        }
        let path = self.state_path();
        match reaped.exit {
            Exit::Code(0) => {
                if let Err(error) = state::put_in_place(&path) {
                    warn!("{} is not saved: {error}", path.display());
                }
            }
            Exit::Code(_) | Exit::Signal(_) => self.write_state(),
        }
        self.ask_chores();
    }

    /// The same at once, waiting for the disk.
    fn write_state(&mut self) {
        let path = self.state_path();
        let bytes = state_bytes(&self.registry, &self.around.settings);
        if let Err(error) = state::write_whole(&path, &bytes) {
            warn!("{} is not saved: {error}", path.display());
        }
    }

    fn state_path(&self) -> PathBuf {
        self.config.state_dir.join(STATE_FILE)
    }

    fn is_finished(&self) -> bool {
        self.stopping.as_ref().is_some_and(|stopping| {
            stopping.killed || (self.by_pid.is_empty() && self.connections.len() == 0)
        })
    }
}

/// In the state directory: workspaces, panes and settings.
const STATE_FILE: &str = "state.json";

/// What outlived the last server. A damaged file is set aside, never fatal.
fn load_state(path: &Path) -> (Registry, Settings) {
    let damage = match state::read_whole(path) {
        Ok(None) => return Default::default(),
        Ok(Some(bytes)) => match parse_state(&bytes) {
            Ok(state) => return state,
            Err(damage) => damage,
        },
        Err(error) => error.to_string(),
    };
    match state::set_aside(path) {
        Ok(aside) => warn!("{} is damaged ({damage}); it is {} now", path.display(), aside.display()),
        Err(error) => warn!("{} is damaged ({damage}) and in the way: {error}", path.display()),
    }
    Default::default()
}

/// Milliseconds since 1970, for what people read; never for a rule of the loop.
fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
