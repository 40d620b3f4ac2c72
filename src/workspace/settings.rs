//! How the mirror looks and behaves, the same for everyone who looks. What only one client sees (which pane
//! it shows, whether its sidebar is open, how it fits a terminal) is that client's own and not in here.

use std::fmt;

/// Text that must not be shown: `Debug` hides it, and there is no `Display`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "Secret(empty)" } else { "Secret(set)" })
    }
}

/// How tight things stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Density {
    Compact,
    Comfortable,
    Spacious,
}

/// Who decides whether an agent is told to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Nobody.
    Off,
    /// Rules over the plan, the notification and the screen.
    Heuristic,
}

/// When and how an agent is told to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoContinueOptions {
    /// Who decides.
    pub engine: Engine,
    /// Decisions are only written down; nothing is typed.
    pub dry_run: bool,
    /// At least this long between two times in one terminal, in milliseconds.
    pub cooldown_ms: u64,
    /// At most so often in a row in one terminal without a person typing in it.
    pub consecutive_max: u32,
}

/// All of it. [`Settings::default`] is what a new installation has.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The preset's name.
    pub theme: String,
    /// `#rrggbb`, colours 0 to 15 of the terminal, in the order of ECMA-48: black, red, green, yellow, blue,
    /// magenta, cyan, white, then the bright ones.
    pub ansi_colors: [String; 16],
    /// `#rrggbb` of text.
    pub foreground: String,
    /// `#rrggbb` behind it.
    pub background: String,
    /// A CSS font list.
    pub font_family: String,
    /// CSS pixels, 6..=72.
    pub font_size: u16,
    /// How tight things stand.
    pub density: Density,
    /// CSS pixels between panes, 0..=64.
    pub pane_gap: u16,
    /// What the status bar shows, in this order.
    pub status_bar_keys: Vec<String>,
    /// Keys of `set-status` in the order that people want; the others follow.
    pub ht_key_order: Vec<String>,
    /// Keys of `set-status` that people do not want to see.
    pub ht_keys_hidden: Vec<String>,
    /// A notification shows over its terminal.
    pub notification_overlay: bool,
    /// For so long, in milliseconds; 0 until it is dismissed.
    pub notification_overlay_ms: u32,
    /// And can be heard.
    pub notification_sound: bool,
    /// When and how an agent is told to go on.
    pub auto_continue: AutoContinueOptions,
    /// Never leaves the server.
    pub auth_token: Secret,
    /// Never leaves the server.
    pub telegram_bot_token: Secret,
    /// Never leaves the server.
    pub telegram_allowed_ids: Vec<Secret>,
}

impl Default for Settings {
    fn default() -> Settings {
        let ansi_colors = [
            "#1b1d23", "#e06c75", "#8cc570", "#e2b86b", "#61a8ef", "#c678dd", "#4fb8c4", "#c8ccd4",
            "#5c6370", "#f0868e", "#a8d98f", "#f0cd8c", "#84bff5", "#d798ea", "#74ced8", "#f2f4f8",
        ];
        Settings {
            theme: "obsidian".to_owned(),
            ansi_colors: ansi_colors.map(str::to_owned),
            foreground: "#d7dae0".to_owned(),
            background: "#0e0f12".to_owned(),
            font_family: "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace".to_owned(),
            font_size: 13,
            density: Density::Comfortable,
            pane_gap: 4,
            status_bar_keys: ["workspace", "command", "cwd", "branch", "ports", "cpu", "memory"]
                .map(str::to_owned)
                .to_vec(),
            ht_key_order: Vec::new(),
            ht_keys_hidden: Vec::new(),
            notification_overlay: true,
            notification_overlay_ms: 6000,
            notification_sound: false,
            auto_continue: AutoContinueOptions {
                engine: Engine::Off,
                dry_run: true,
                cooldown_ms: 3000,
                consecutive_max: 5,
            },
            auth_token: Secret::default(),
            telegram_bot_token: Secret::default(),
            telegram_allowed_ids: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_with_the_settings_in_it_has_no_secret() {
        let settings = Settings {
            auth_token: Secret("tok-1".into()),
            telegram_bot_token: Secret("tok-2".into()),
            telegram_allowed_ids: vec![Secret("tok-3".into())],
            ..Settings::default()
        };
        let shown = format!("{settings:?} {settings:#?}");
        assert!(!shown.contains("tok-"), "{shown}");
        assert!(shown.contains("obsidian"));
    }
}
