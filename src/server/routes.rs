//! Requests to answers.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

use log::{debug, info};

use super::connection::{Phase, Waiting};
use super::hosted::{Hosted, Origin};
use super::sideband::Channels;
use super::source::Key;
use super::trust::{cookie_name, cookie_port};
use super::{Server, hex};
use crate::os::{proc, programs, spawn};
use crate::terminal::{GridSize, Terminal, title};
use crate::web;
use crate::wire::http::{Method, Reject, Request, Response, put_response, put_stream_head, put_upgrade};
use crate::wire::rest::{self, CreateTerminal, CursorInfo, ScreenInfo};
use crate::wire::sideband;
use crate::wire::terminal_frames::Protocol;
use crate::wire::websocket::accept_key;
use crate::workspace::panes::{Change, DEFAULT_WORKSPACE, Put};

/// What a request gets.
pub(super) enum Answer {
    Response(Response),
    /// It becomes a websocket.
    Socket(Upgrade),
    /// It becomes a stream of Server-Sent Events.
    EventStream {
        since: u64,
    },
    /// What runs in this terminal: it has to be looked at first.
    Metadata(Key),
}

/// What a websocket is for.
pub(super) enum Upgrade {
    Terminal { terminal: Key, cursor: u64, protocol: Protocol },
    Agent { session_id: String, size: GridSize, newlines_crlf: bool },
    Events { since: u64 },
    Mirror { resume: Option<(String, u64)> },
}

pub(super) type Answered = Result<Answer, Reject>;

impl Server {
    /// Answers one request; what follows on the connection is read afterwards.
    pub(super) fn serve(&mut self, key: Key, request: &Request, now: Instant) {
        debug!("{} {}", request.method_name, request.path);
        let answer = self.answer_to(key, request, now);
        let Some(connection) = self.connections.get_mut(key) else { return };
        let head_only = request.method == Method::Head;
        // Whoever cannot say which host it means may have lost its framing as well.
        let clear_host = request.headers_named("host").count() == 1 || request.version_minor == 0;
        let keep_alive = request.keep_alive && clear_host && self.stopping.is_none();
        let response = match answer {
            Ok(Answer::Response(response)) => response,
            Ok(Answer::Metadata(terminal)) => {
                connection.waiting = Some(Waiting { head_only, keep_alive });
                return self.ask_metadata(key, terminal, now);
            }
            Err(reject) => Response::error(&reject),
            Ok(Answer::EventStream { since }) => {
                connection.outbound.put(|out| put_stream_head("text/event-stream", out));
                if head_only {
                    connection.close(now);
                    return self.queue_write(key);
                }
                return self.follow_events(key, since, false, now);
            }
            Ok(Answer::Socket(upgrade)) => match request.websocket_key() {
                Ok(websocket_key) => {
                    connection.outbound.put(|out| put_upgrade(&accept_key(&websocket_key), out));
                    return self.upgrade(key, upgrade, now);
                }
                Err(reject) => Response::error(&reject),
            },
        };
        connection.outbound.put(|out| put_response(&response, head_only, keep_alive, out));
        if !keep_alive {
            connection.close(now);
        }
        self.queue_write(key);
    }

    fn upgrade(&mut self, key: Key, upgrade: Upgrade, now: Instant) {
        match upgrade {
            Upgrade::Terminal { terminal, cursor, protocol } => {
                self.attach(key, terminal, cursor, protocol, now)
            }
            Upgrade::Mirror { resume } => self.open_mirror(key, resume, now),
            Upgrade::Events { since } => self.follow_events(key, since, true, now),
            Upgrade::Agent { session_id, size, newlines_crlf } => {
                if let Err(error) = self.register_agent(key, &session_id, size, newlines_crlf, now) {
                    debug!("an agent could not register: {error}");
                    self.doom(key);
                }
            }
        }
    }

    fn answer_to(&mut self, key: Key, request: &Request, now: Instant) -> Answered {
        let Some(connection) = self.connections.get_mut(key) else { return Err(not_found()) };
        self.trust.check_site(request, &connection.peer)?;
        let path = request.path.strip_prefix(self.config.base_path.as_str());
        let Some(path) = path.filter(|path| path.is_empty() || path.starts_with('/')) else {
            return Err(not_found());
        };
        if path.is_empty() {
            return Ok(Answer::Response(redirect(format!("{}/", self.config.base_path))));
        }
        let segments = request.segments()?;
        let prefix = self.config.base_path.matches('/').count();
        let segments: Vec<&str> = segments.iter().skip(prefix).map(String::as_str).collect();
        if !matches!(segments.first(), Some(&"v1" | &"metrics" | &"ws")) {
            return self.page(key, request, path, now);
        }
        if segments == ["v1", "health"] {
            only(request, "GET, HEAD", &[Method::Get, Method::Head])?;
            let uptime = now.duration_since(self.started_at).as_secs();
            let health = rest::health_json(
                env!("CARGO_PKG_VERSION"),
                uptime,
                self.terminals.len(),
                self.connections.len(),
            );
            return json(200, &health);
        }
        self.trust.check_caller(request, connection, now)?;
        let changes = matches!(request.method, Method::Post | Method::Put | Method::Patch);
        let takes_bytes = matches!(segments[..], ["v1", "terminals", _, "files", _]);
        if takes_bytes && request.method == Method::Put && !has_type(request, "application/octet-stream") {
            return Err(Reject::new(415, "a piece is bytes: Content-Type: application/octet-stream"));
        }
        if changes && !takes_bytes && !has_type(request, "application/json") {
            return Err(Reject::new(415, "the body must be JSON: Content-Type: application/json"));
        }
        match segments.as_slice() {
            ["metrics"] => {
                only(request, "GET, HEAD", &[Method::Get, Method::Head])?;
                Ok(Answer::Response(self.metrics(now)))
            }
            ["ws"] => {
                only(request, "GET", &[Method::Get])?;
                let seq = number(request, "seq")?;
                Ok(Answer::Socket(Upgrade::Mirror { resume: request.query("resume").zip(seq) }))
            }
            ["v1", "terminals"] => match request.method {
                Method::Get | Method::Head => {
                    let list: Vec<_> = self
                        .terminals
                        .iter()
                        .map(|(_, hosted)| rest::terminal_json(&hosted.info(self.mirror_sockets.len())))
                        .collect();
                    json(200, &serde_json::json!({ "terminals": list }))
                }
                Method::Post => self.create(&request.body, now),
                _ => Err(not_allowed("GET, HEAD, POST")),
            },
            ["v1", "terminals", "session", session_id] => {
                only(request, "DELETE", &[Method::Delete])?;
                let closed = self.by_session.get(*session_id).copied();
                let closed = closed.filter(|key| {
                    self.terminals.get(*key).is_some_and(|hosted| hosted.is_live() || hosted.is_agent_owned())
                });
                if let Some(terminal) = closed {
                    self.hang_up(terminal, now);
                }
                let status = if closed.is_some() { 200 } else { 404 };
                json(status, &serde_json::json!({ "closed": closed.is_some() }))
            }
            ["v1", "terminals", id, rest @ ..] => self.terminal_route(request, id, rest, now),
            ["v1", "agent", "terminals", session_id, "socket"] => {
                only(request, "GET", &[Method::Get])?;
                self.agent_route(request, session_id)
            }
            ["v1", "events"] => {
                only(request, "GET, HEAD", &[Method::Get, Method::Head])?;
                Ok(Answer::EventStream { since: self.since(request)? })
            }
            ["v1", "events", "socket"] => {
                only(request, "GET", &[Method::Get])?;
                Ok(Answer::Socket(Upgrade::Events { since: self.since(request)? }))
            }
            ["v1", "workspaces", id, rest @ ..] if matches!(rest, ["status", _] | ["progress"] | ["log"]) => {
                self.card_route(request, id, rest)
            }
            ["v1", "notifications", rest @ ..] => self.notification_route(request, rest, now),
            ["v1", "surfaces", rest @ ..] => self.surface_route(request, rest),
            ["v1", "plans", rest @ ..] if rest.len() <= 1 => self.plan_route(request, rest),
            ["v1", "settings"] => self.settings_route(request),
            ["v1", "autocontinue"] => self.auto_continue_route(request, now),
            ["v1", "workspaces", rest @ ..] => self.workspace_route(request, rest),
            _ => Err(not_found()),
        }
    }

    /// Pages hold nothing secret, so they need no token; they ask for one when the API refuses them.
    fn page(&mut self, key: Key, request: &Request, path: &str, now: Instant) -> Answered {
        only(request, "GET, HEAD", &[Method::Get, Method::Head])?;
        let Some(asset) = web::find(path) else { return Err(not_found()) };
        if let (Some(token), Some(connection)) = (request.query("t"), self.connections.get(key)) {
            // The token leaves the address bar, and with it history and referrers.
            // Who has tried too often learns nothing here either; the API tells them to wait.
            let is_right = self.trust.is_token(Some(&token), &connection.peer, now).unwrap_or(false);
            let told = if is_right { "" } else { "#wrong-token" };
            let mut response = redirect(format!("{}{path}{told}", self.config.base_path));
            if is_right {
                let name = cookie_name(cookie_port(&connection.peer));
                let path = format!("{}/", self.config.base_path);
                let cookie =
                    format!("{name}={token}; Path={path}; HttpOnly; SameSite=Strict; Max-Age=31536000");
                response.headers.push(("Set-Cookie", cookie));
            }
            return Ok(Answer::Response(response));
        }
        let known = request.headers_named("if-none-match").any(|tags| tags.contains(asset.etag));
        let (status, body) = if known { (304, &[][..]) } else { (200, asset.bytes) };
        let mut response = Response::bytes(status, asset.content_type, body);
        response.headers.push(("ETag", asset.etag.to_owned()));
        if asset.gzip {
            response.headers.push(("Content-Encoding", "gzip".to_owned()));
        }
        response.headers.push(("Content-Security-Policy", web::page_csp().to_owned()));
        let caching = if asset.immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
        response.headers.push(("Cache-Control", caching.to_owned()));
        Ok(Answer::Response(response))
    }

    fn create(&mut self, body: &[u8], now: Instant) -> Answered {
        let pinned = |session_id: &str| self.pinned_cwd(session_id);
        let wish = rest::parse_create(body, pinned)?;
        let current = self.by_session.get(&wish.session_id).and_then(|key| self.terminals.get(*key));
        if let Some(hosted) = current
            && (hosted.is_live() || (hosted.is_agent_owned() && wish.attach_only))
        {
            return json(200, &self.created(hosted));
        }
        if wish.attach_only {
            let message = format!("no agent has registered the session {:?} yet", wish.session_id);
            return Err(Reject::new(409, message));
        }
        if self.stopping.is_some() {
            return Err(Reject::new(503, "the server is stopping"));
        }
        if self.terminals.len() >= self.config.terminals_max {
            let message = format!(
                "there are {} terminals already; close some, or raise --max-terminals",
                self.terminals.len()
            );
            return Err(Reject::new(429, message));
        }
        let key = self.start(&wish, now)?;
        let Some(hosted) = self.terminals.get(key) else { return Err(not_found()) };
        json(201, &self.created(hosted))
    }

    /// Where terminals of the workspace start that shows this session, or will: the directory pinned there.
    fn pinned_cwd(&self, session_id: &str) -> Option<String> {
        let workspace = self.registry.workspace_of(session_id);
        workspace.or_else(|| self.registry.workspace(DEFAULT_WORKSPACE))?.cwd.clone()
    }

    fn created(&self, hosted: &Hosted) -> serde_json::Value {
        rest::created_json(&hosted.id, &self.websocket_path(&hosted.id), hosted.terminal.next_output_seq())
    }

    pub(super) fn websocket_path(&self, id: &str) -> String {
        format!("{}/v1/terminals/{id}/socket", self.config.base_path)
    }

    /// An id that was never used, and never will be: 128 random bits.
    pub(super) fn new_id(&self) -> std::io::Result<String> {
        proc::random_bytes::<16>().map(|bytes| hex(&bytes))
    }

    /// Starts a shell.
    fn start(&mut self, wish: &CreateTerminal, now: Instant) -> Result<Key, Reject> {
        let id = self.new_id().map_err(|error| Reject::new(503, format!("no random bytes: {error}")))?;
        let cwd = expand_home(&wish.cwd);
        if !cwd.is_dir() {
            return Err(Reject::new(400, format!("cwd: {} is no directory", cwd.display())));
        }
        let shell = match &wish.shell {
            Some(shell) => PathBuf::from(shell),
            None => spawn::default_shell(self.config.shell.as_deref()),
        };
        let socket = self.config.runtime_dir.join("wharf.sock");
        let own = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let mut env = vec![
            own("WHARF_SESSION", &wish.session_id),
            own("WHARF_TERMINAL", &id),
            (OsString::from("WHARF_SOCKET"), socket.into_os_string()),
            own("HT_SURFACE", &id),
        ];
        if self.config.sideband {
            env.extend(sideband::ENVIRONMENT.map(|(name, value)| own(name, value)));
        }
        let mut env = spawn::base_environment(&env);
        if let Some(bin) = &self.bin {
            programs::append_to_path(&mut env, bin);
        }
        let args: Vec<OsString> = wish.args.iter().map(OsString::from).collect();
        let (args, env) = match &self.scripts {
            Some(scripts) => {
                let launch = scripts.launch(&shell, &args, env);
                (launch.args, launch.env)
            }
            None => (args, env),
        };
        let program = spawn::Program { path: shell, arg0: None, args, env, cwd: cwd.clone() };
        let start = if self.config.sideband { spawn::spawn_with_channels } else { spawn::spawn };
        let child = start(&program, wish.size.cols(), wish.size.rows()).map_err(|error| {
            let field = match error.failed {
                spawn::Failed::Program(_) => "shell: ",
                spawn::Failed::Directory(_) => "cwd: ",
                spawn::Failed::Arguments => "args: ",
                spawn::Failed::Terminal | spawn::Failed::Process => "",
            };
            let status = if error.is_requests_fault() { 400 } else { 503 };
            Reject::new(status, format!("{field}{error}"))
        })?;
        info!("{id}: {} is process {}", program.path.display(), child.pid);
        let terminal = Terminal::new(wish.size, self.config.replay_bytes, self.config.scrollback_lines, true);
        let origin = Origin::Shell { pid: child.pid, master: Some(child.master) };
        let cwd = cwd.to_string_lossy().into_owned();
        let mut hosted = Hosted::new(id, wish.session_id.clone(), terminal, origin, cwd);
        hosted.sideband = child.channels.map(Channels::new);
        self.host(hosted, now).map_err(|error| {
            spawn::signal_group(child.pid, spawn::Signal::HUP);
            Reject::new(503, format!("the terminal cannot be watched: {error}"))
        })
    }

    fn terminal_route(&mut self, request: &Request, id: &str, rest: &[&str], now: Instant) -> Answered {
        let Some(key) = self.by_id.get(id).copied() else { return Err(not_found()) };
        let Some(hosted) = self.terminals.get_mut(key) else { return Err(not_found()) };
        match rest {
            [] => match request.method {
                Method::Get | Method::Head => {
                    json(200, &rest::terminal_json(&hosted.info(self.mirror_sockets.len())))
                }
                Method::Delete => {
                    self.hang_up(key, now);
                    json(200, &serde_json::json!({ "closed": true }))
                }
                _ => Err(not_allowed("GET, HEAD, DELETE")),
            },
            ["socket"] => {
                only(request, "GET", &[Method::Get])?;
                let cursor = number(request, "lastOutputSeq")?.unwrap_or(0);
                let protocol = match number(request, "protocol")? {
                    Some(2) => Protocol::Two,
                    // A server that does not know a protocol ignores the wish for it.
                    _ => Protocol::One,
                };
                Ok(Answer::Socket(Upgrade::Terminal { terminal: key, cursor, protocol }))
            }
            ["screen"] => {
                only(request, "GET, HEAD", &[Method::Get, Method::Head])?;
                let lines = number(request, "lines")?.map_or(usize::MAX, |n| n as usize);
                let lines = match request.query("scrollback").as_deref() {
                    None | Some("true") => lines,
                    Some("false") => 0,
                    Some(_) => return Err(Reject::new(400, "scrollback must be true or false")),
                };
                let format = request.query("format").unwrap_or_else(|| "text".to_owned());
                let size = hosted.terminal.size();
                let screen = hosted.terminal.screen(now);
                let text = match format.as_str() {
                    "text" => screen.text(lines),
                    "vt" => {
                        let mut out = Vec::new();
                        screen.put_vt(lines, &mut out);
                        String::from_utf8_lossy(&out).into_owned()
                    }
                    _ => return Err(Reject::new(400, "format must be text or vt")),
                };
                let (row, col) = screen.cursor();
                let cursor = CursorInfo { row, col, visible: screen.cursor_visible() };
                let info = ScreenInfo {
                    size,
                    cursor,
                    alternate: screen.alternate(),
                    application_cursor: screen.application_cursor(),
                    title: title::clean(screen.title()),
                };
                let answer = rest::screen_json(&format, &text, &info);
                self.terminal_changed(key, now);
                json(200, &answer)
            }
            ["input"] => {
                only(request, "POST", &[Method::Post])?;
                let (data, _) = rest::parse_input(&request.body)?;
                if hosted.terminal.exited().is_some() {
                    return Err(Reject::new(409, "the terminal has exited"));
                }
                if hosted.input_is_full() {
                    let mut reject = Reject::new(503, "the program does not read its input; try again");
                    reject.retry_after = Some(1);
                    return Err(reject);
                }
                hosted.terminal.type_in(&data);
                self.terminal_changed(key, now);
                no_content()
            }
            ["files", rest @ ..] => self.file_route(request, key, rest, now),
            _ => Err(not_found()),
        }
    }

    fn agent_route(&mut self, request: &Request, session_id: &str) -> Answered {
        rest::check_session_id(session_id)?;
        let (cols, rows) = (number(request, "cols")?.unwrap_or(80), number(request, "rows")?.unwrap_or(24));
        let size = GridSize::new(cols, rows)
            .ok_or_else(|| Reject::new(400, "cols and rows must be whole numbers from 1 to 2000"))?;
        let newlines_crlf = match request.query("newlines").as_deref() {
            None | Some("raw") => false,
            Some("crlf") => true,
            Some(_) => return Err(Reject::new(400, "newlines must be crlf or raw")),
        };
        if self.terminals.len() >= self.config.terminals_max {
            return Err(Reject::new(
                429,
                "there are too many terminals; close some, or raise --max-terminals",
            ));
        }
        Ok(Answer::Socket(Upgrade::Agent { session_id: session_id.to_owned(), size, newlines_crlf }))
    }

    /// The event after which a reader wants to go on; from now on when it does not say.
    fn since(&self, request: &Request) -> Result<u64, Reject> {
        if let Some(since) = number(request, "since")? {
            return Ok(since);
        }
        let last = request.header("last-event-id").and_then(|id| id.trim().parse().ok());
        Ok(last.unwrap_or_else(|| self.log.id_last()))
    }

    fn workspace_route(&mut self, request: &Request, rest: &[&str]) -> Answered {
        for id in rest.iter().step_by(2) {
            rest::check_id(id)?;
        }
        match (rest, request.method) {
            ([], Method::Get | Method::Head) => json(200, &rest::workspaces_json(&self.registry)),
            ([], _) => Err(not_allowed("GET, HEAD")),
            ([id], Method::Get | Method::Head) => {
                json(200, &rest::workspace_json(self.registry.workspace(id).ok_or_else(not_found)?))
            }
            ([id], Method::Put) => {
                let put = self.registry.put_workspace(id, rest::parse_workspace(&request.body)?);
                let status = self.told_put(put?);
                json(status, &rest::workspace_json(self.registry.workspace(id).ok_or_else(not_found)?))
            }
            ([id], Method::Patch) => {
                let patch = rest::parse_workspace_patch(&request.body)?;
                let change = self.registry.patch_workspace(id, patch)?;
                self.told(change);
                json(200, &rest::workspace_json(self.registry.workspace(id).ok_or_else(not_found)?))
            }
            ([id], Method::Delete) => {
                let change = self.registry.delete_workspace(id)?;
                self.told(Some(change));
                self.workspace_gone(id);
                no_content()
            }
            ([_], _) => Err(not_allowed("GET, HEAD, PUT, PATCH, DELETE")),
            ([id, "panes"], Method::Get | Method::Head) => {
                let workspace = self.registry.workspace(id).ok_or_else(not_found)?;
                let panes: Vec<_> = workspace.panes.iter().map(rest::pane_json).collect();
                json(200, &serde_json::json!({ "panes": panes }))
            }
            ([_, "panes"], _) => Err(not_allowed("GET, HEAD")),
            ([id, "panes", pane], Method::Get | Method::Head) => self.pane(200, id, pane),
            ([id, "panes", pane], Method::Put) => {
                let put = self.registry.put_pane(id, pane, rest::parse_pane(&request.body)?);
                let status = self.told_put(put?);
                self.pane(status, id, pane)
            }
            ([id, "panes", pane], Method::Patch) => {
                let change = self.registry.patch_pane(id, pane, rest::parse_pane_patch(&request.body)?);
                self.told(change?);
                self.pane(200, id, pane)
            }
            ([id, "panes", pane], Method::Delete) => {
                let change = self.registry.delete_pane(id, pane)?;
                self.told(Some(change));
                no_content()
            }
            ([_, "panes", _], _) => Err(not_allowed("GET, HEAD, PUT, PATCH, DELETE")),
            _ => Err(not_found()),
        }
    }

    fn pane(&self, status: u16, workspace: &str, pane: &str) -> Answered {
        let workspace = self.registry.workspace(workspace).ok_or_else(not_found)?;
        let pane = workspace.panes.iter().find(|known| known.id == pane).ok_or_else(not_found)?;
        json(status, &rest::pane_json(pane))
    }

    pub(super) fn told(&mut self, change: Option<Change>) {
        if let Some(change) = change {
            self.tell(change);
            self.work.state = true;
        }
    }

    fn told_put(&mut self, put: Put) -> u16 {
        self.told(put.change);
        if put.created { 201 } else { 200 }
    }

    fn metrics(&self, now: Instant) -> Response {
        let mut text = String::new();
        let attached = |phase: &Phase| matches!(phase, Phase::Terminal(_));
        let readers = self.connections.iter().filter(|(_, connection)| attached(&connection.phase)).count();
        let output: u64 = self.terminals.iter().map(|(_, hosted)| hosted.terminal.stream().head()).sum();
        let gauges = [
            ("wharf_terminals", "Terminals, exited ones included.", self.terminals.len() as u64),
            ("wharf_connections", "Connections of any kind.", self.connections.len() as u64),
            ("wharf_attached_sockets", "Sockets attached to terminals.", readers as u64),
            ("wharf_terminal_stream_bytes", "Bytes of output of the terminals there are.", output),
            (
                "wharf_uptime_seconds",
                "Seconds since the start.",
                now.duration_since(self.started_at).as_secs(),
            ),
            ("wharf_resident_bytes", "Resident memory.", proc::own_rss().unwrap_or(0)),
            ("wharf_open_descriptors", "Open descriptors.", proc::open_descriptors().unwrap_or(0) as u64),
        ];
        for (name, help, value) in gauges {
            rest::put_metric(name, "gauge", help, &[("", value)], &mut text);
        }
        Response::bytes(200, "text/plain; version=0.0.4", text.into_bytes())
    }
}

pub(super) fn json(status: u16, value: &serde_json::Value) -> Answered {
    Ok(Answer::Response(Response::json(status, value)))
}

fn redirect(to: String) -> Response {
    // `//evil.example` would be another host.
    let to = format!("/{}", to.trim_start_matches('/'));
    let mut response = Response::empty(303);
    response.headers.push(("Location", to));
    response
}

pub(super) fn no_content() -> Answered {
    Ok(Answer::Response(Response::empty(204)))
}

pub(super) fn not_found() -> Reject {
    Reject::new(404, "there is nothing here by that name")
}

pub(super) fn not_allowed(allow: &'static str) -> Reject {
    let mut reject = Reject::new(405, format!("this takes {allow}"));
    reject.allow = Some(allow);
    reject
}

pub(super) fn only(request: &Request, allow: &'static str, methods: &[Method]) -> Result<(), Reject> {
    if methods.contains(&request.method) { Ok(()) } else { Err(not_allowed(allow)) }
}

fn has_type(request: &Request, wanted: &str) -> bool {
    request.header("content-type").is_some_and(|kind| {
        kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(wanted))
    })
}

pub(super) fn number(request: &Request, name: &str) -> Result<Option<u64>, Reject> {
    let Some(text) = request.query(name) else { return Ok(None) };
    match text.parse() {
        Ok(number) if text.bytes().all(|b| b.is_ascii_digit()) => Ok(Some(number)),
        _ => Err(Reject::new(400, format!("{name} must be a whole number"))),
    }
}

/// `~` and `~/...` are below the server's user's home directory.
fn expand_home(path: &str) -> PathBuf {
    let Some(rest) = path.strip_prefix('~') else { return PathBuf::from(path) };
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let home = home.or_else(|| spawn::passwd_entry(proc::own_uid()).map(|entry| entry.home));
    let home = home.unwrap_or_else(|| PathBuf::from("/"));
    match rest.trim_start_matches('/') {
        "" => home,
        rest => home.join(rest),
    }
}
