//! What surrounds terminals, besides the registry of panes: values, and how sessions of the mirror hear of them.

use serde_json::{Value, json};

use super::Server;
use super::mirror_socket::tell;
use crate::mirror::About;
use crate::wire::control::{
    audit_json, ht_keys_json, notifications_json, panel_json, panel_patch_json, panels_json, plans_json,
    sidebar_change_json, sidebar_json,
};
use crate::wire::metadata::metadata_json;
use crate::wire::mirror_frames::ToMirror;
use crate::wire::rest::{surface_json, workspaces_json};
use crate::wire::settings::web_settings;
use crate::workspace::auto_continue::AutoContinue;
use crate::workspace::notifications::Notifications;
use crate::workspace::panels::{PanelChange, Panels};
use crate::workspace::plans::Plans;
use crate::workspace::settings::Settings;
use crate::workspace::sidebar::{Sidebar, SidebarChange};

/// The state of the control plane.
pub(super) struct Surroundings {
    pub(super) sidebar: Sidebar,
    pub(super) notifications: Notifications,
    pub(super) panels: Panels,
    pub(super) plans: Plans,
    pub(super) auto_continue: AutoContinue,
    pub(super) settings: Settings,
}

impl Surroundings {
    pub(super) fn new(settings: Settings, now_unix_ms: u64) -> Surroundings {
        Surroundings {
            sidebar: Sidebar::default(),
            notifications: Notifications::new(now_unix_ms),
            panels: Panels::default(),
            plans: Plans::default(),
            auto_continue: AutoContinue::default(),
            settings,
        }
    }
}

impl Server {
    /// The `settings` and the `snapshot` of a hello: everything that was told until now.
    pub(super) fn hello_json(&self) -> (String, String) {
        let around = &self.around;
        let surfaces = self.terminals.iter().map(|(_, hosted)| {
            let mut surface = surface_json(&hosted.info(0));
            if let Some(metadata) = &hosted.metadata {
                surface["metadata"] = metadata_json(metadata);
            }
            surface
        });
        let snapshot = json!({
            "workspaces": workspaces_json(&self.registry)["workspaces"],
            "surfaces": surfaces.collect::<Vec<Value>>(),
            "panels": panels_json(around.panels.iter()),
            "sidebar": sidebar_json(&around.sidebar),
            "notifications": notifications_json(&around.notifications),
            "plans": plans_json(&around.plans),
            "autoContinueAudit": audit_json(&around.auto_continue),
            "htKeys": ht_keys_json(&around.sidebar),
        });
        (web_settings(&around.settings).to_string(), snapshot.to_string())
    }

    /// Tells the sessions of the mirror a frame without an order to output, if there are any.
    pub(super) fn tell_state(&mut self, frame: ToMirror<'_>) {
        tell(&mut self.mirror, &mut self.work, About::State, frame);
    }

    pub(super) fn tell_workspaces(&mut self) {
        if self.mirror.is_heard() {
            let json = workspaces_json(&self.registry)["workspaces"].to_string();
            self.tell_state(ToMirror::WorkspacesUpdate { workspaces_json: &json });
        }
    }

    pub(super) fn tell_panel(&mut self, change: &PanelChange) {
        if !self.mirror.is_heard() {
            return;
        }
        let panels = &self.around.panels;
        match change {
            PanelChange::Created { surface_id, id } => {
                let Some(panel) = panels.get(surface_id, id) else { return };
                let json = panel_json(panel).to_string();
                self.tell_state(ToMirror::PanelCreate { surface_id, id, panel_json: &json });
            }
            PanelChange::Updated { surface_id, id, patch } => {
                let Some(panel) = panels.get(surface_id, id) else { return };
                let json = panel_patch_json(patch, panel.kind).to_string();
                self.tell_state(ToMirror::PanelUpdate { surface_id, id, panel_json: &json });
            }
            PanelChange::Cleared { surface_id, id } => {
                self.tell_state(ToMirror::PanelClear { surface_id, id });
            }
        }
    }

    pub(super) fn tell_sidebar(&mut self, change: &SidebarChange) {
        let json = sidebar_change_json(change).to_string();
        self.tell_state(ToMirror::SidebarUpdate { sidebar_json: &json });
    }

    pub(super) fn tell_plans(&mut self) {
        let json = plans_json(&self.around.plans).to_string();
        self.tell_state(ToMirror::PlansSnapshot { plans_json: &json });
    }

    /// What stood on its card and in its plan goes with a workspace.
    pub(super) fn workspace_gone(&mut self, id: &str) {
        if let Some(change) = self.around.sidebar.remove_workspace(id) {
            self.tell_sidebar(&change);
        }
        if self.around.plans.clear(id) {
            self.tell_plans();
        }
    }
}
