//! What outlives the server, as one JSON document: `{"version": 1, "workspaces": [...], "settings": {...}}`.
//! Workspaces carry their panes, and in `cwd` the directory that somebody pinned. Live titles, status pills,
//! logs, notifications, panels and plans belong to the terminals that die with the server, and are not in it.

use serde_json::{Map, Value, json};

use super::rest::workspace_json;
use super::settings::{patched, stored_settings};
use crate::workspace::panes::{PaneFields, Registry, WorkspaceFields};
use crate::workspace::settings::Settings;

const VERSION: u64 = 1;

/// The document; it holds the secrets among the settings.
pub fn state_bytes(registry: &Registry, settings: &Settings) -> Vec<u8> {
    let workspaces: Vec<Value> = registry
        .workspaces()
        .iter()
        .map(|workspace| {
            let mut json = workspace_json(workspace);
            let panes = json["panes"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut);
            for (json, pane) in panes.zip(&workspace.panes) {
                for name in ["workspaceId", "liveTitle", "terminalActivity"] {
                    json.remove(name);
                }
                if pane.automatic {
                    json.insert("automatic".to_owned(), json!(true));
                }
            }
            json
        })
        .collect();
    let state =
        json!({ "version": VERSION, "workspaces": workspaces, "settings": stored_settings(settings) });
    let mut bytes = format!("{state:#}").into_bytes();
    bytes.push(b'\n');
    bytes
}

/// Reads the document back. What exceeds the registry's bounds, and a setting that this version does not
/// know, is left out.
///
/// # Errors
/// In one line for people, when it is damaged or of a later version; then nothing of it is used.
pub fn parse_state(bytes: &[u8]) -> Result<(Registry, Settings), String> {
    let state: Value = serde_json::from_slice(bytes).map_err(|error| format!("not JSON: {error}"))?;
    match state["version"].as_u64() {
        Some(VERSION) => {}
        Some(version) => return Err(format!("version {version} is of a later wharf")),
        None => return Err("it has no version".to_owned()),
    }
    let mut registry = Registry::new();
    let workspaces = state["workspaces"].as_array().ok_or("workspaces is no array")?;
    for workspace in workspaces {
        let id = text(workspace, "id").ok_or("a workspace has no id")?;
        let fields = WorkspaceFields {
            name: text(workspace, "name").ok_or("a workspace has no name")?,
            color: text(workspace, "color"),
            cwd: text(workspace, "cwd"),
        };
        if registry.put_workspace(&id, fields).is_err() {
            continue;
        }
        for pane in workspace["panes"].as_array().ok_or("a workspace has no panes")? {
            let field = |name: &str| text(pane, name).ok_or_else(|| format!("a pane has no {name}"));
            let fields = PaneFields {
                title: field("title")?,
                resource_kind: field("resourceKind")?,
                resource_id: field("resourceId")?,
            };
            let pane_id = field("id")?;
            // Only a full registry refuses one.
            let _ = registry.put_pane(&id, &pane_id, fields);
            if pane["automatic"] == true {
                registry.set_automatic(&id, &pane_id);
            }
        }
    }
    registry.all_ended();
    let stored = state["settings"].as_object().ok_or("settings is no object")?;
    let known = stored_settings(&Settings::default());
    let known: Map<String, Value> = stored
        .iter()
        .filter(|(name, _)| known.get(name.as_str()).is_some())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let settings = patched(&known, &Settings::default()).map_err(|reject| reject.message)?;
    Ok((registry, settings))
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::title::Activity;
    use crate::workspace::settings::Secret;

    fn something() -> (Registry, Settings) {
        let mut registry = Registry::new();
        let fields = WorkspaceFields {
            name: "Work \"1\"".into(),
            color: Some("#0f0".into()),
            cwd: Some("/srv/ä".into()),
        };
        registry.put_workspace("w", fields).unwrap();
        registry.ensure_pane("session", "shell");
        let fields =
            PaneFields { title: "logs".into(), resource_kind: "terminal".into(), resource_id: "s 2".into() };
        registry.put_pane("w", "p", fields).unwrap();
        let settings =
            Settings { theme: "nord".into(), auth_token: Secret("tok".into()), ..Settings::default() };
        (registry, settings)
    }

    #[test]
    fn what_is_kept_comes_back() {
        let (mut registry, settings) = something();
        registry.set_live("session", Some("vi"), Some(Activity::Working));
        let bytes = state_bytes(&registry, &settings);
        let (back, settings_back) = parse_state(&bytes).unwrap();
        // Titles belong to the terminals.
        registry.set_live("session", None, None);
        assert_eq!(back.workspaces(), registry.workspaces());
        assert_eq!(settings_back, settings);
        assert_eq!(state_bytes(&back, &settings_back), bytes.as_slice());
        assert!(!String::from_utf8(bytes).unwrap().contains("liveTitle"));
    }

    #[test]
    fn a_document_cut_anywhere_is_an_error_and_no_panic() {
        let (registry, settings) = something();
        let bytes = state_bytes(&registry, &settings);
        for end in 0..bytes.len() - 1 {
            // The last byte is a line end, and the one before closes the object.
            assert!(parse_state(&bytes[..end.min(bytes.len() - 2)]).is_err(), "{end}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |json: Value| parse_state(json.to_string().as_bytes()).unwrap_err();
        assert_eq!(error(json!([])), "it has no version");
        assert_eq!(error(json!({ "version": 2 })), "version 2 is of a later wharf");
        assert_eq!(error(json!({ "version": 1 })), "workspaces is no array");
        assert_eq!(error(json!({ "version": 1, "workspaces": [1] })), "a workspace has no id");
        let pane = json!([{ "id": "w", "name": "w", "panes": [{ "id": "p" }] }]);
        assert_eq!(error(json!({ "version": 1, "workspaces": pane })), "a pane has no title");
        assert_eq!(error(json!({ "version": 1, "workspaces": [] })), "settings is no object");
        let settings = json!({ "paneGap": -1 });
        assert_eq!(
            error(json!({ "version": 1, "workspaces": [], "settings": settings })),
            "paneGap must be a whole number from 0 to 64"
        );
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse_state(deep.as_bytes()).unwrap_err().starts_with("not JSON: recursion limit"));
        assert!(parse_state(b"\xff\xfe\0").is_err());
    }

    #[test]
    fn a_setting_of_another_version_is_left_out() {
        let settings = json!({ "paneGap": 7, "hologram": true });
        let state = json!({ "version": 1, "workspaces": [], "settings": settings }).to_string();
        let (registry, settings) = parse_state(state.as_bytes()).unwrap();
        assert_eq!((registry.workspaces().len(), settings.pane_gap), (1, 7));
    }
}
