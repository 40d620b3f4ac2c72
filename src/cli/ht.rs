//! `wharf ht`: what scripts say and ask about the terminal that they run in.

use std::io::Read;

use clap::ArgMatches;
use serde_json::{Map, Value, json};

use super::client::{Endpoint, encode, refusal};
use super::ht_text;
use super::keys::Key;
use super::table::table;
use super::verbs::type_in;
use super::{Failure, print};
use crate::limits::BODY_BYTES_MAX;

/// One run of a verb.
struct Ht<'a> {
    endpoint: Endpoint,
    options: &'a ArgMatches,
    /// Whether JSON is printed.
    json: bool,
}

/// Runs the verb.
pub(super) fn ht(options: &ArgMatches) -> Result<u8, Failure> {
    let Some((verb, options)) = options.subcommand() else { return Ok(2) };
    let (verb, options) = match options.subcommand() {
        Some((inner, options)) => (format!("{verb} {inner}"), options),
        None => (verb.to_owned(), options),
    };
    let json = options.try_get_one::<bool>("json").ok().flatten().copied().unwrap_or(false);
    let ht = Ht { endpoint: Endpoint::from_options(options)?, options, json };
    match verb.as_str() {
        "set-status" => ht.set_status(),
        "clear-status" => ht.change("DELETE", &ht.card(&format!("status/{}", ht.encoded("key")))?, None),
        "set-progress" => ht.set_progress(),
        "clear-progress" => ht.change("DELETE", &ht.card("progress")?, None),
        "log" => {
            let body = ht.body(
                &[("level", "level"), ("source", "source")],
                json!({ "message": ht.joined("message") }),
            );
            ht.change("POST", &ht.card("log")?, Some(&body))
        }
        "notify" => ht.notify(),
        "list-notifications" => ht.list_notifications(),
        "clear-notifications" => ht.clear_notifications(),
        "dismiss-notification" => {
            ht.change("DELETE", &format!("/v1/notifications/{}", ht.encoded("id")), None)
        }
        "plan list" => {
            let plans = ht.get("/v1/plans")?["plans"].take();
            ht.tell(&plans, || ht_text::plans(plans.as_array().map(Vec::as_slice).unwrap_or_default()))
        }
        "plan set" => ht.set_plan(),
        "plan update" => {
            let step = ht.body(&[("title", "title"), ("state", "state")], json!({ "id": ht.text("step") }));
            ht.patch_plan(json!({ "steps": [step] }))
        }
        "plan complete" => ht.patch_plan(json!({ "complete": true })),
        "plan clear" => ht.change("DELETE", &format!("/v1/plans/{}", ht.workspace()?), None),
        "autocontinue status" => ht.auto_continue_status(),
        "autocontinue audit" => ht.audit(),
        "autocontinue set" => ht.set_auto_continue(),
        "autocontinue fire" | "autocontinue pause" | "autocontinue resume" => ht.auto_continue(&verb[13..]),
        "send" => ht.send(),
        "send-key" => ht.send_keys(),
        "read-screen" => ht.read_screen(),
        "list-surfaces" => ht.list_surfaces(),
        "list-workspaces" => ht.list_workspaces(),
        "metadata" => {
            let id = ht.surface_id()?;
            let metadata = ht.metadata(&id)?;
            ht.tell(&metadata, || ht_text::metadata(&id, &metadata))
        }
        "ps" => {
            let metadata = ht.metadata(&ht.surface_id()?)?;
            let told = json!({ "foregroundPid": metadata["foregroundPid"], "tree": metadata["tree"] });
            ht.tell(&told, || ht_text::processes(&metadata))
        }
        "ports" => {
            let metadata = ht.metadata(&ht.surface_id()?)?;
            ht.tell(&metadata["listeningPorts"], || ht_text::ports(&metadata))
        }
        "cwd" => {
            let metadata = ht.metadata(&ht.surface_id()?)?;
            let cwd = metadata["cwd"].as_str().unwrap_or_default();
            ht.tell(&json!({ "cwd": cwd }), || format!("{cwd}\n"))
        }
        "git" => ht.git(),
        "panels" => ht.panels(),
        _ => {
            let health = ht.get("/v1/health")?;
            ht.tell(&health, || format!("wharf {}\n", health["version"].as_str().unwrap_or_default()))
        }
    }
}

impl Ht<'_> {
    // ---- what is meant ----

    fn given(&self, name: &str) -> Option<&str> {
        self.options.try_get_one::<String>(name).ok().flatten().map(String::as_str)
    }

    fn text(&self, name: &str) -> &str {
        self.given(name).unwrap_or_default()
    }

    fn encoded(&self, name: &str) -> String {
        encode(self.text(name))
    }

    fn joined(&self, name: &str) -> String {
        let words = self.options.get_many::<String>(name).unwrap_or_default();
        words.map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// The body, with those options in it that were given, as (option, field).
    fn body(&self, options: &[(&str, &str)], mut body: Value) -> Value {
        for (option, field) in options {
            match self.given(option).map(str::to_ascii_lowercase).as_deref() {
                Some("warn") if *option == "level" => body[*field] = json!("warning"),
                Some(level) if *option == "level" => body[*field] = json!(level),
                Some(_) => body[*field] = json!(self.given(option)),
                None => {}
            }
        }
        body
    }

    /// The terminal, as the user calls it.
    fn surface(&self) -> Result<String, Failure> {
        let env = |name| std::env::var(name).ok().filter(|id| !id.is_empty());
        let given = self.given("surface").or(self.given("target")).map(str::to_owned);
        given.or_else(|| env("HT_SURFACE")).or_else(|| env("WHARF_TERMINAL")).ok_or_else(|| {
            Failure::Usage(
                "this is no wharf terminal; name one with --surface (list-surfaces lists them)".into(),
            )
        })
    }

    /// The id of [`Ht::surface`], which the server is asked for when it is no whole id.
    fn surface_id(&self) -> Result<String, Failure> {
        let surface = self.surface()?;
        let is_id = surface.len() == 32 && surface.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_id { Ok(surface) } else { self.endpoint.find_id(&surface) }
    }

    /// What stands for the workspace in a path: the server resolves a terminal to the one that shows it.
    fn workspace(&self) -> Result<String, Failure> {
        if let Some(workspace) = self.given("workspace") {
            return Ok(encode(workspace));
        }
        let env = std::env::var("HT_WORKSPACE_ID").ok().filter(|id| !id.is_empty());
        match env.filter(|_| self.given("surface").is_none()) {
            Some(workspace) => Ok(encode(&workspace)),
            None => self.surface_id().map(|id| encode(&id)),
        }
    }

    fn card(&self, part: &str) -> Result<String, Failure> {
        Ok(format!("/v1/workspaces/{}/{part}", self.workspace()?))
    }

    // ---- asking and telling ----

    fn get(&self, path: &str) -> Result<Value, Failure> {
        self.endpoint.request("GET", path, None)
    }

    /// Asks for a change; what the server says is told as JSON, `{"ok": true}` when that is nothing.
    fn change(&self, method: &str, path: &str, body: Option<&Value>) -> Result<u8, Failure> {
        let answer = self.endpoint.request(method, path, body)?;
        let told = if answer.is_null() { json!({ "ok": true }) } else { answer };
        self.tell(&told, String::new)
    }

    fn tell(&self, value: &Value, text: impl FnOnce() -> String) -> Result<u8, Failure> {
        let text = match self.json {
            true => serde_json::to_string_pretty(value).map_err(|error| error.to_string())? + "\n",
            false => text(),
        };
        print(&text)?;
        Ok(0)
    }

    // ---- the sidebar ----

    fn set_status(&self) -> Result<u8, Failure> {
        let body = self.body(&[("icon", "icon"), ("color", "color")], json!({ "text": self.joined("text") }));
        self.change("PUT", &self.card(&format!("status/{}", self.encoded("key")))?, Some(&body))
    }

    fn set_progress(&self) -> Result<u8, Failure> {
        let text = self.text("value");
        let value = ht_text::parse_progress(text)
            .ok_or_else(|| Failure::Usage(format!("'{text}' is no number from 0 to 1, nor a percentage")))?;
        let body = self.body(&[("label", "label")], json!({ "value": value }));
        self.change("PUT", &self.card("progress")?, Some(&body))
    }

    // ---- notifications ----

    fn notify(&self) -> Result<u8, Failure> {
        let mut words = self.options.get_many::<String>("words").unwrap_or_default();
        let title = self.given("title").or_else(|| words.next().map(String::as_str));
        let title = title.ok_or_else(|| Failure::Usage("a notification needs a --title".to_owned()))?;
        let text = self.given("body").or_else(|| words.next().map(String::as_str));
        if words.next().is_some() {
            return Err(Failure::Usage("the title or the body is given twice".to_owned()));
        }
        let lines: Vec<&str> = self.given("subtitle").into_iter().chain(text).collect();
        let mut body = self.body(&[("level", "level")], json!({ "title": title }));
        if !lines.is_empty() {
            body["body"] = json!(lines.join("\n"));
        }
        match self.surface_id() {
            Ok(id) => body["surfaceId"] = json!(id),
            // It need not be about one.
            Err(Failure::Usage(_)) => {}
            Err(failure) => return Err(failure),
        }
        let created = self.endpoint.request("POST", "/v1/notifications", Some(&body))?;
        self.tell(&created, || format!("{}\n", created["id"].as_str().unwrap_or_default()))
    }

    fn notifications(&self) -> Result<Vec<Value>, Failure> {
        let mut answer = self.get("/v1/notifications")?;
        Ok(answer["notifications"].as_array_mut().map(std::mem::take).unwrap_or_default())
    }

    fn list_notifications(&self) -> Result<u8, Failure> {
        let all = self.notifications()?;
        let field = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let row = |one: &Value| {
            let time = field(one, "createdAt").get(11..19).unwrap_or_default().to_owned();
            [field(one, "id"), time, field(one, "level"), field(one, "title"), field(one, "body")]
        };
        let rows: Vec<[String; 5]> = all.iter().map(row).collect();
        self.tell(&json!(all), || table(["ID", "TIME", "LEVEL", "TITLE", "BODY"], &rows))
    }

    fn clear_notifications(&self) -> Result<u8, Failure> {
        if self.given("surface").is_none() {
            return self.change("DELETE", "/v1/notifications", None);
        }
        let surface = self.surface_id()?;
        for one in self.notifications()?.iter().filter(|one| one["surfaceId"] == surface.as_str()) {
            let path = format!("/v1/notifications/{}", encode(one["id"].as_str().unwrap_or_default()));
            let (status, answer) = self.endpoint.ask("DELETE", &path, None)?;
            // 404: somebody dismissed it in the meantime.
            if !(200..300).contains(&status) && status != 404 {
                return Err(refusal(status, &answer).into());
            }
        }
        self.tell(&json!({ "ok": true }), String::new)
    }

    // ---- plans ----

    fn set_plan(&self) -> Result<u8, Failure> {
        let given = self.text("json");
        let mut steps = given.to_owned();
        if given == "-" {
            steps.clear();
            let mut stdin = std::io::stdin().lock().take(BODY_BYTES_MAX as u64);
            stdin
                .read_to_string(&mut steps)
                .map_err(|error| format!("cannot read standard input: {error}"))?;
        }
        let steps: Value = serde_json::from_str(&steps)
            .map_err(|error| Failure::Usage(format!("the steps are no JSON: {error}")))?;
        let body = self.body(&[("agent", "agentId")], json!({ "steps": steps }));
        self.change("PUT", &format!("/v1/plans/{}", self.workspace()?), Some(&body))
    }

    fn patch_plan(&self, body: Value) -> Result<u8, Failure> {
        let body = self.body(&[("agent", "agentId")], body);
        self.change("PATCH", &format!("/v1/plans/{}", self.workspace()?), Some(&body))
    }

    // ---- auto-continue ----

    fn auto_continue_status(&self) -> Result<u8, Failure> {
        let mut state = self.get("/v1/autocontinue")?;
        if let Some(fields) = state.as_object_mut() {
            fields.remove("audit");
        }
        self.tell(&state, || auto_continue_text(&state))
    }

    fn audit(&self) -> Result<u8, Failure> {
        let mut state = self.get("/v1/autocontinue")?;
        let mut audit = state["audit"].as_array_mut().map(std::mem::take).unwrap_or_default();
        let limit = self.options.get_one::<u64>("limit").map_or(20, |limit| *limit as usize);
        audit.drain(..audit.len().saturating_sub(limit));
        self.tell(&json!(audit), || ht_text::audit(&audit))
    }

    fn set_auto_continue(&self) -> Result<u8, Failure> {
        let number = |name| self.options.get_one::<u64>(name).map(|number| json!(number));
        let fields = [
            ("autoContinueEngine", self.given("engine").map(|engine| json!(engine))),
            ("autoContinueDryRun", self.options.get_one::<bool>("dry-run").map(|dry| json!(dry))),
            ("autoContinueCooldownMs", number("cooldown")),
            ("autoContinueMaxConsecutive", number("max")),
        ];
        let patch: Map<String, Value> =
            fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        if patch.is_empty() {
            return Err(Failure::Usage("give at least one of --engine, --dry-run, --cooldown, --max".into()));
        }
        self.endpoint.request("PATCH", "/v1/settings", Some(&Value::Object(patch)))?;
        self.auto_continue_status()
    }

    fn auto_continue(&self, action: &str) -> Result<u8, Failure> {
        let body = json!({ "action": action, "surfaceId": self.surface_id()? });
        let body = self.body(&[("text", "text"), ("reason", "reason")], body);
        let state = self.endpoint.request("POST", "/v1/autocontinue", Some(&body))?;
        let last = state["audit"].as_array().and_then(|audit| audit.last()).cloned().unwrap_or_default();
        self.tell(&state, || ht_text::audit(std::slice::from_ref(&last)))
    }

    // ---- the terminal ----

    fn send(&self) -> Result<u8, Failure> {
        let text = self.joined("text");
        let mut typed = if self.options.get_flag("literal") { text } else { ht_text::unescape(&text) };
        if self.options.get_flag("enter") {
            typed.push('\r');
        }
        type_in(&self.endpoint, &self.surface_id()?, &typed)?;
        self.tell(&json!({ "ok": true }), String::new)
    }

    fn send_keys(&self) -> Result<u8, Failure> {
        let id = self.surface_id()?;
        let screen = self.screen(&id, "lines=0&scrollback=false")?;
        let application_cursor = screen["applicationCursor"] == true;
        let keys = self.options.get_many::<Key>("key").unwrap_or_default();
        let bytes: Vec<u8> = keys.flat_map(|key| key.bytes_in(application_cursor)).collect();
        type_in(&self.endpoint, &id, &String::from_utf8_lossy(&bytes))?;
        self.tell(&json!({ "ok": true }), String::new)
    }

    fn screen(&self, id: &str, query: &str) -> Result<Value, Failure> {
        self.get(&format!("/v1/terminals/{}/screen?format=text&{query}", encode(id)))
    }

    fn read_screen(&self) -> Result<u8, Failure> {
        let id = self.surface_id()?;
        let lines = self.options.get_one::<u64>("lines").copied();
        let all = self.options.get_one::<bool>("scrollback").copied().unwrap_or(false);
        let query = match lines {
            _ if all => String::new(),
            Some(lines) => format!("lines={lines}"),
            None => "scrollback=false".to_owned(),
        };
        let mut answer = self.screen(&id, &query)?;
        let text = ht_text::last_lines(answer["screen"].as_str().unwrap_or_default(), lines);
        answer["screen"] = json!(text);
        self.tell(&answer, || text)
    }

    fn list_surfaces(&self) -> Result<u8, Failure> {
        let mut answer = self.get("/v1/surfaces")?;
        let mut surfaces = answer["surfaces"].as_array_mut().map(std::mem::take).unwrap_or_default();
        for surface in &mut surfaces {
            surface["id"] = surface["surfaceId"].clone();
        }
        let own = self.surface().unwrap_or_default();
        let field = |surface: &Value, name: &str| surface[name].as_str().unwrap_or_default().to_owned();
        let row = |surface: &Value| {
            let mark = if surface["id"] == own.as_str() { "*" } else { "" };
            let state = if surface["exited"] == true { "exited" } else { "running" };
            [
                field(surface, "id") + mark,
                field(surface, "sessionId"),
                field(surface, "workspaceId"),
                field(surface, "title"),
                format!("{}x{}", surface["cols"], surface["rows"]),
                state.to_owned(),
            ]
        };
        let rows: Vec<[String; 6]> = surfaces.iter().map(row).collect();
        self.tell(&json!(surfaces), || {
            table(["SURFACE", "SESSION", "WORKSPACE", "TITLE", "SIZE", "STATE"], &rows)
        })
    }

    fn list_workspaces(&self) -> Result<u8, Failure> {
        let mut answer = self.get("/v1/workspaces")?;
        let workspaces = answer["workspaces"].take();
        let field = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let row = |one: &Value| {
            let panes = one["panes"].as_array().map_or(0, Vec::len);
            [field(one, "id"), field(one, "name"), panes.to_string(), field(one, "cwd")]
        };
        let rows: Vec<[String; 4]> = workspaces.as_array().into_iter().flatten().map(row).collect();
        self.tell(&workspaces, || table(["WORKSPACE", "NAME", "PANES", "CWD"], &rows))
    }

    fn metadata(&self, id: &str) -> Result<Value, Failure> {
        self.get(&format!("/v1/surfaces/{}/metadata", encode(id)))
    }

    fn git(&self) -> Result<u8, Failure> {
        let metadata = self.metadata(&self.surface_id()?)?;
        if metadata["git"].is_null() && !self.json {
            let cwd = metadata["cwd"].as_str().unwrap_or_default();
            return Err(format!("there is no repository around {cwd} that git can read").into());
        }
        self.tell(&metadata["git"], || ht_text::git(&metadata["git"]))
    }

    fn panels(&self) -> Result<u8, Failure> {
        let mut answer = self.get(&format!("/v1/surfaces/{}/panels", encode(&self.surface_id()?)))?;
        let panels = answer["panels"].take();
        let row = |one: &Value| {
            let panel = &one["panel"];
            let side =
                |name: &str| panel[name].as_str().map_or_else(|| panel[name].to_string(), str::to_owned);
            let field = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let size = format!("{}x{}", side("width"), side("height"));
            [field(&one["id"]), field(&panel["type"]), field(&panel["position"]), size]
        };
        let rows: Vec<[String; 4]> = panels.as_array().into_iter().flatten().map(row).collect();
        self.tell(&panels, || table(["PANEL", "TYPE", "POSITION", "SIZE"], &rows))
    }
}

fn auto_continue_text(state: &Value) -> String {
    let paused: Vec<&str> =
        state["paused"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let paused = if paused.is_empty() { "(none)".to_owned() } else { paused.join(" ") };
    format!(
        "engine          {}\ndryRun          {}\ncooldownMs      {}\nmaxConsecutive  {}\npaused          {paused}\n",
        state["engine"].as_str().unwrap_or_default(),
        state["dryRun"],
        state["cooldownMs"],
        state["maxConsecutive"],
    )
}
