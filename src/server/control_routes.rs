//! Routes of the control plane: what surrounds terminals, from scripts to everyone who looks.

use std::time::Instant;

use super::Server;
use super::hosted::Hosted;
use super::routes::{Answer, Answered, json, no_content, not_allowed, not_found, only};
use super::source::Key;
use super::unix_ms;
use crate::wire::control::{
    self, AutoContinueAction, AutoContinueRequest, audit_json, auto_continue_json, ht_keys_json,
    notification_json, notifications_json, plan_json, plans_json,
};
use crate::wire::http::{Method, Reject, Request};
use crate::wire::mirror_frames::ToMirror;
use crate::wire::rest;
use crate::wire::settings::{parse_settings_patch, web_settings};
use crate::workspace::auto_continue::{Decision, Trigger};
use crate::workspace::notifications::Created;
use crate::workspace::settings::Engine;

impl Server {
    /// `PUT|DELETE .../status/{key}`, `PUT|DELETE .../progress`, `POST .../log` of a workspace.
    pub(super) fn card_route(&mut self, request: &Request, id: &str, rest: &[&str]) -> Answered {
        let id = self.workspace_meant(id)?;
        let change = match (rest, request.method) {
            (["status", key], Method::Put) => {
                control::check_key(key)?;
                let pill = control::parse_status(&request.body)?;
                let change = self.around.sidebar.set_status(&id, key, pill)?;
                if self.around.sidebar.see_key(key) {
                    let json = ht_keys_json(&self.around.sidebar).to_string();
                    self.tell_state(ToMirror::HtKeysSeen { keys_json: &json });
                }
                change
            }
            (["status", key], Method::Delete) => self.around.sidebar.clear_status(&id, key),
            (["progress"], Method::Put) => {
                self.around.sidebar.set_progress(&id, control::parse_progress(&request.body)?)
            }
            (["progress"], Method::Delete) => self.around.sidebar.clear_progress(&id),
            (["log"], Method::Post) => {
                Some(self.around.sidebar.log(&id, control::parse_log(&request.body, unix_ms())?))
            }
            (["log"], _) => return Err(not_allowed("POST")),
            _ => return Err(not_allowed("PUT, DELETE")),
        };
        if let Some(change) = change {
            self.tell_sidebar(&change);
        }
        no_content()
    }

    /// `/v1/notifications`.
    pub(super) fn notification_route(&mut self, request: &Request, rest: &[&str], now: Instant) -> Answered {
        match (rest, request.method) {
            ([], Method::Get | Method::Head) => {
                let list = notifications_json(&self.around.notifications);
                json(200, &serde_json::json!({ "notifications": list }))
            }
            ([], Method::Post) => {
                let mut fields = control::parse_notification(&request.body)?;
                let surface = fields.surface_id.as_deref().map(|id| self.surface_meant(id)).transpose()?;
                fields.surface_id = surface.and_then(|key| Some(self.terminals.get(key)?.id.clone()));
                let Created { dismissed_id, notification } =
                    self.around.notifications.create(fields, unix_ms());
                self.tell_dismissed(dismissed_id.as_deref());
                let told = notification_json(&notification);
                self.tell_state(ToMirror::NotificationCreate { notification_json: &told.to_string() });
                if let Some(surface) = surface {
                    let body = notification.fields.body.unwrap_or_default();
                    self.auto_continue(surface, &format!("{}\n{body}", notification.fields.title), now);
                }
                json(201, &told)
            }
            ([], Method::Delete) => {
                for id in self.around.notifications.clear() {
                    self.tell_dismissed(Some(&id));
                }
                no_content()
            }
            ([], _) => Err(not_allowed("GET, HEAD, POST, DELETE")),
            ([id], Method::Delete) => {
                if !self.around.notifications.dismiss(id) {
                    return Err(Reject::new(404, "no such notification"));
                }
                self.tell_dismissed(Some(id));
                no_content()
            }
            ([_], _) => Err(not_allowed("DELETE")),
            _ => Err(not_found()),
        }
    }

    fn tell_dismissed(&mut self, id: Option<&str>) {
        if let Some(id) = id {
            let id = serde_json::Value::from(id).to_string();
            self.tell_state(ToMirror::NotificationDismiss { id_json: &id });
        }
    }

    /// `/v1/surfaces`: the terminals as sessions of the mirror know them, what runs in them, their panels.
    pub(super) fn surface_route(&mut self, request: &Request, rest: &[&str]) -> Answered {
        if let [surface, "panels", id] = rest {
            return self.panel_route(request, surface, id);
        }
        only(request, "GET, HEAD", &[Method::Get, Method::Head])?;
        let Some((surface, rest)) = rest.split_first() else {
            let surfaces: Vec<_> = self.terminals.iter().map(|(_, hosted)| self.described(hosted)).collect();
            return json(200, &serde_json::json!({ "surfaces": surfaces }));
        };
        let key = self.surface_meant(surface)?;
        let hosted = self.terminals.get(key).ok_or_else(not_found)?;
        match rest {
            [] => json(200, &self.described(hosted)),
            ["metadata"] if hosted.is_agent_owned() => {
                Err(Reject::new(409, "the terminal belongs to an agent, whose processes are its own"))
            }
            ["metadata"] if !hosted.is_live() => {
                Err(Reject::new(409, "nothing runs in the terminal any more"))
            }
            ["metadata"] => Ok(Answer::Metadata(key)),
            ["panels"] => {
                let panels = self.around.panels.iter().filter(|(surface_id, ..)| *surface_id == hosted.id);
                json(200, &serde_json::json!({ "panels": control::panels_json(panels) }))
            }
            _ => Err(not_found()),
        }
    }

    /// A surface as in the snapshot of a hello, with the title of its terminal and the workspace that shows it.
    fn described(&self, hosted: &Hosted) -> serde_json::Value {
        let info = hosted.info(self.mirror_sockets.len());
        let mut surface = rest::surface_json(&info);
        surface["title"] = info.title.into();
        let workspace = self.registry.workspace_of(&hosted.session_id);
        surface["workspaceId"] = workspace.map(|workspace| workspace.id.as_str()).into();
        surface
    }

    /// `PUT|PATCH|DELETE /v1/surfaces/{id}/panels/{panelId}`.
    fn panel_route(&mut self, request: &Request, surface: &str, id: &str) -> Answered {
        let surface = self.surface_meant(surface)?;
        let Some(hosted) = self.terminals.get(surface) else { return Err(not_found()) };
        let surface_id = hosted.id.clone();
        rest::check_id(id)?;
        let panels = &mut self.around.panels;
        let change = match request.method {
            Method::Put => Some(panels.put(&surface_id, id, control::parse_panel(&request.body)?)?),
            Method::Patch => {
                let panel = panels.get(&surface_id, id);
                let kind = panel.ok_or_else(|| Reject::new(404, "no such panel"))?.kind;
                panels.update(&surface_id, id, control::parse_panel_patch(&request.body, kind)?)?
            }
            Method::Delete => Some(panels.clear(&surface_id, id)?),
            _ => return Err(not_allowed("PUT, PATCH, DELETE")),
        };
        if let Some(change) = change {
            self.tell_panel(&change);
        }
        no_content()
    }

    /// `/v1/plans`.
    pub(super) fn plan_route(&mut self, request: &Request, rest: &[&str]) -> Answered {
        let [id] = rest else {
            only(request, "GET, HEAD", &[Method::Get, Method::Head])?;
            return json(200, &serde_json::json!({ "plans": plans_json(&self.around.plans) }));
        };
        let id = self.workspace_meant(id)?;
        let no_plan = || Reject::new(404, "the workspace has no plan");
        match request.method {
            Method::Get | Method::Head => {}
            Method::Put => {
                self.around.plans.set(&id, control::parse_plan(&request.body, unix_ms())?);
                self.tell_plans();
            }
            Method::Patch => {
                self.around.plans.update(&id, control::parse_plan_patch(&request.body)?, unix_ms())?;
                self.tell_plans();
            }
            Method::Delete => {
                if !self.around.plans.clear(&id) {
                    return Err(no_plan());
                }
                self.tell_plans();
                return no_content();
            }
            _ => return Err(not_allowed("GET, HEAD, PUT, PATCH, DELETE")),
        }
        json(200, &plan_json(&id, self.around.plans.get(&id).ok_or_else(no_plan)?))
    }

    /// `GET|PATCH /v1/settings`: what everyone may see of them.
    pub(super) fn settings_route(&mut self, request: &Request) -> Answered {
        match request.method {
            Method::Get | Method::Head => {}
            Method::Patch => {
                let settings = parse_settings_patch(&request.body, &self.around.settings)?;
                if settings != self.around.settings {
                    let before = web_settings(&self.around.settings);
                    self.around.settings = settings;
                    self.work.state = true;
                    let told = web_settings(&self.around.settings);
                    if told != before {
                        self.tell_state(ToMirror::SettingsSnapshot { settings_json: &told.to_string() });
                    }
                }
            }
            _ => return Err(not_allowed("GET, HEAD, PATCH")),
        }
        json(200, &web_settings(&self.around.settings))
    }

    /// `GET|POST /v1/autocontinue`.
    pub(super) fn auto_continue_route(&mut self, request: &Request, now: Instant) -> Answered {
        match request.method {
            Method::Get | Method::Head => {}
            Method::Post => {
                let AutoContinueRequest { action, surface_id, text } =
                    control::parse_auto_continue(&request.body)?;
                let surface = self.surface_meant(&surface_id)?;
                let hosted = self.terminals.get(surface).ok_or_else(not_found)?;
                let (id, is_live) = (hosted.id.clone(), hosted.is_live());
                let engine = self.around.settings.auto_continue.engine;
                match action {
                    AutoContinueAction::Fire if engine == Engine::Off => {
                        return Err(Reject::new(409, "the setting autoContinueEngine is off"));
                    }
                    AutoContinueAction::Fire if !is_live => {
                        return Err(Reject::new(409, "nothing runs in the terminal any more"));
                    }
                    AutoContinueAction::Fire => self.auto_continue(surface, &text, now),
                    AutoContinueAction::Pause => {
                        if self.around.auto_continue.pause(&id, &text, engine, unix_ms()) {
                            self.tell_audit();
                        }
                    }
                    AutoContinueAction::Resume => {
                        if self.around.auto_continue.resume(&id, &text, engine, unix_ms()) {
                            self.tell_audit();
                        }
                    }
                }
            }
            _ => return Err(not_allowed("GET, HEAD, POST")),
        }
        json(200, &auto_continue_json(&self.around.auto_continue, &self.around.settings.auto_continue))
    }

    /// A notification came for a terminal: its agent may be told to go on.
    fn auto_continue(&mut self, surface: Key, notification: &str, now: Instant) {
        let Some(hosted) = self.terminals.get_mut(surface) else { return };
        let options = self.around.settings.auto_continue;
        if options.engine == Engine::Off || !hosted.is_live() {
            return;
        }
        let workspace = self.registry.workspace_of(&hosted.session_id);
        let trigger = Trigger {
            surface_id: &hosted.id,
            notification,
            plan: workspace.and_then(|workspace| self.around.plans.get(&workspace.id)),
            screen_tail: &hosted.terminal.screen(now).text(0),
        };
        match self.around.auto_continue.decide(trigger, &options, unix_ms()) {
            Decision::Type(text) => hosted.terminal.type_in(&text),
            Decision::Wait | Decision::Off => {}
        }
        self.terminal_changed(surface, now);
        self.tell_audit();
    }

    fn tell_audit(&mut self) {
        let json = audit_json(&self.around.auto_continue).to_string();
        self.tell_state(ToMirror::AutoContinueAudit { audit_json: &json });
    }

    /// The workspace of this id, or the one that shows the surface or the session of this id.
    fn workspace_meant(&self, id: &str) -> Result<String, Reject> {
        if self.registry.workspace(id).is_some() {
            return Ok(id.to_owned());
        }
        let hosted = self.by_id.get(id).and_then(|key| self.terminals.get(*key));
        let session = hosted.map_or(id, |hosted| hosted.session_id.as_str());
        let workspace = self.registry.workspace_of(session);
        let unknown = "no such workspace, nor a surface or session that one shows";
        workspace.map(|workspace| workspace.id.clone()).ok_or_else(|| Reject::new(404, unknown))
    }

    /// The surface of this id, or the one that the session of this id stands for.
    fn surface_meant(&self, id: &str) -> Result<Key, Reject> {
        let key = self.by_id.get(id).or_else(|| self.by_session.get(id));
        key.copied().ok_or_else(|| Reject::new(404, "no such surface"))
    }
}
