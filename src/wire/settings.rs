//! The settings as JSON. What leaves the server is written out field by field in [`web_settings`]: a new field
//! is in no frame until somebody puts it there.

use serde_json::{Map, Value, json};

use super::control::{ENGINES, line, name_of, one_of, whole};
use super::http::Reject;
use super::rest::{bad, flag, parse_body};
use crate::limits::{KEY_BYTES_MAX, NAME_BYTES_MAX, SETTINGS_LIST_MAX};
use crate::workspace::settings::{Density, Secret, Settings};

const DENSITIES: [(&str, Density); 3] =
    [("compact", Density::Compact), ("comfortable", Density::Comfortable), ("spacious", Density::Spacious)];
/// The names of colours 0 to 15.
const COLORS: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "white",
    "brightBlack",
    "brightRed",
    "brightGreen",
    "brightYellow",
    "brightBlue",
    "brightMagenta",
    "brightCyan",
    "brightWhite",
];

/// What everyone may see: the `settings` of `hello` and `settingsSnapshot`, and the answer to `GET` and
/// `PATCH /v1/settings`.
pub fn web_settings(settings: &Settings) -> Value {
    let colors = COLORS.iter().zip(&settings.ansi_colors);
    json!({
        "theme": settings.theme,
        "ansiColors": colors.map(|(name, color)| (name.to_string(), json!(color))).collect::<Map<_, _>>(),
        "foregroundColor": settings.foreground,
        "backgroundColor": settings.background,
        "fontFamily": settings.font_family,
        "fontSize": settings.font_size,
        "density": name_of(&DENSITIES, settings.density),
        "paneGap": settings.pane_gap,
        "statusBarKeys": settings.status_bar_keys,
        "htKeyOrder": settings.ht_key_order,
        "htKeysHidden": settings.ht_keys_hidden,
        "notificationOverlayEnabled": settings.notification_overlay,
        "notificationOverlayMs": settings.notification_overlay_ms,
        "notificationSoundEnabled": settings.notification_sound,
        "autoContinueEngine": name_of(&ENGINES, settings.auto_continue.engine),
        "autoContinueDryRun": settings.auto_continue.dry_run,
        "autoContinueCooldownMs": settings.auto_continue.cooldown_ms,
        "autoContinueMaxConsecutive": settings.auto_continue.consecutive_max,
    })
}

/// What goes into the state file: also the secrets.
pub(super) fn stored_settings(settings: &Settings) -> Value {
    let mut json = web_settings(settings);
    json["authToken"] = json!(settings.auth_token.0);
    json["telegramBotToken"] = json!(settings.telegram_bot_token.0);
    let ids = settings.telegram_allowed_ids.iter().map(|id| id.0.as_str());
    json["telegramAllowedIds"] = ids.collect();
    json
}

/// Parses the body of `PATCH /v1/settings`, and gives the settings with it: all of it is applied, or nothing.
/// `null` gives a field its default. The names are those of [`web_settings`], and of what can only be
/// stored: `authToken`, `telegramBotToken` (strings) and `telegramAllowedIds` (an array of numbers or
/// strings). An `ansiColors` may have only some of its colours.
///
/// # Errors
/// 400, with each wrong field and its rule, and each unknown one.
pub fn parse_settings_patch(body: &[u8], settings: &Settings) -> Result<Settings, Reject> {
    patched(&parse_body(body)?, settings)
}

/// The same from parsed fields.
pub(super) fn patched(fields: &Map<String, Value>, settings: &Settings) -> Result<Settings, Reject> {
    let mut patched = settings.clone();
    let mut wrong = Vec::new();
    let defaults = match fields.values().any(Value::is_null) {
        true => stored_settings(&Settings::default()),
        false => Value::Null,
    };
    for (name, value) in fields {
        let value = if value.is_null() { &defaults[name] } else { value };
        // A map of one, so that the helpers for bodies can name the field.
        let field = Map::from_iter([(name.clone(), value.clone())]);
        if let Err(reject) = set(&mut patched, name, value, &field) {
            wrong.push(reject.message);
        }
    }
    if wrong.is_empty() { Ok(patched) } else { Err(bad(wrong.join("; "))) }
}

fn set(settings: &mut Settings, name: &str, value: &Value, field: &Map<String, Value>) -> Result<(), Reject> {
    let number = |min: i64, max: i64| Ok::<i64, Reject>(whole(field, name, min, max)?.unwrap_or(min));
    let text = |bytes_max: usize| Ok::<String, Reject>(line(field, name, bytes_max)?.unwrap_or_default());
    match name {
        "theme" => settings.theme = preset(name, value)?,
        "ansiColors" => set_colors(&mut settings.ansi_colors, value)?,
        "foregroundColor" => settings.foreground = color(name, value)?,
        "backgroundColor" => settings.background = color(name, value)?,
        "fontFamily" => settings.font_family = text(NAME_BYTES_MAX)?,
        "fontSize" => settings.font_size = number(6, 72)? as u16,
        "density" => {
            settings.density = one_of(field, name, &DENSITIES)?.unwrap_or(settings.density);
        }
        "paneGap" => settings.pane_gap = number(0, 64)? as u16,
        "statusBarKeys" => settings.status_bar_keys = keys(name, value)?,
        "htKeyOrder" => settings.ht_key_order = keys(name, value)?,
        "htKeysHidden" => settings.ht_keys_hidden = keys(name, value)?,
        "notificationOverlayEnabled" => settings.notification_overlay = flag(field, name)?,
        "notificationOverlayMs" => settings.notification_overlay_ms = number(0, 600_000)? as u32,
        "notificationSoundEnabled" => settings.notification_sound = flag(field, name)?,
        "autoContinueEngine" => {
            let auto = &mut settings.auto_continue;
            auto.engine = one_of(field, name, &ENGINES)?.unwrap_or(auto.engine);
        }
        "autoContinueDryRun" => settings.auto_continue.dry_run = flag(field, name)?,
        "autoContinueCooldownMs" => settings.auto_continue.cooldown_ms = number(0, 86_400_000)? as u64,
        "autoContinueMaxConsecutive" => settings.auto_continue.consecutive_max = number(1, 1000)? as u32,
        "authToken" => settings.auth_token = Secret(text(NAME_BYTES_MAX)?),
        "telegramBotToken" => settings.telegram_bot_token = Secret(text(NAME_BYTES_MAX)?),
        "telegramAllowedIds" => settings.telegram_allowed_ids = ids(name, value)?,
        // The name comes from outside and goes into a message: at most so much of it.
        _ => {
            let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
            return Err(bad(format!("{name} is no setting")));
        }
    }
    Ok(())
}

fn preset(name: &str, value: &Value) -> Result<String, Reject> {
    let of_names = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let preset = value.as_str().filter(|text| (1..=64).contains(&text.len()) && text.chars().all(of_names));
    let rule = || bad(format!("{name} must be 1 to 64 of a-z, 0-9 and -"));
    preset.map(str::to_owned).ok_or_else(rule)
}

fn color(name: &str, value: &Value) -> Result<String, Reject> {
    let hex = |text: &&str| {
        text.len() == 7 && text.starts_with('#') && text[1..].bytes().all(|b| b.is_ascii_hexdigit())
    };
    let color = value.as_str().filter(|text| text.is_ascii()).filter(hex);
    color.map(str::to_owned).ok_or_else(|| bad(format!("{name} must be a colour such as #1e1e2e")))
}

fn set_colors(colors: &mut [String; 16], value: &Value) -> Result<(), Reject> {
    let fields = value.as_object().ok_or_else(|| bad("ansiColors must be an object of colours"))?;
    for (name, value) in fields {
        let at = COLORS.iter().position(|known| known == name);
        let at = at.ok_or_else(|| bad(format!("ansiColors must have only {}", COLORS.join(", "))))?;
        colors[at] = color(&format!("ansiColors.{name}"), value)?;
    }
    Ok(())
}

fn keys(name: &str, value: &Value) -> Result<Vec<String>, Reject> {
    let key = |item: &Value| {
        let key = item.as_str().filter(|key| (1..=KEY_BYTES_MAX).contains(&key.len()))?;
        (!key.chars().any(char::is_control)).then(|| key.to_owned())
    };
    let keys: Option<Vec<String>> = list(value).and_then(|items| items.iter().map(key).collect());
    let mut keys = keys.ok_or_else(|| {
        bad(format!(
            "{name} must be an array of at most {SETTINGS_LIST_MAX} strings of 1 to {KEY_BYTES_MAX} bytes"
        ))
    })?;
    // The first place of a key counts.
    let mut seen = std::collections::BTreeSet::new();
    keys.retain(|key| seen.insert(key.clone()));
    Ok(keys)
}

fn ids(name: &str, value: &Value) -> Result<Vec<Secret>, Reject> {
    let id = |item: &Value| {
        let text = item.as_i64().map(|id| id.to_string()).or_else(|| item.as_str().map(str::to_owned))?;
        text.parse::<i64>().is_ok().then_some(Secret(text))
    };
    let ids: Option<Vec<Secret>> = list(value).and_then(|items| items.iter().map(id).collect());
    ids.ok_or_else(|| bad(format!("{name} must be an array of at most {SETTINGS_LIST_MAX} whole numbers")))
}

fn list(value: &Value) -> Option<&Vec<Value>> {
    value.as_array().filter(|items| items.len() <= SETTINGS_LIST_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::settings::Engine;
    use proptest::prelude::*;

    fn patch(json: Value) -> Result<Settings, String> {
        parse_settings_patch(json.to_string().as_bytes(), &Settings::default()).map_err(|reject| {
            assert_eq!(reject.status, 400);
            reject.message
        })
    }

    #[test]
    fn every_public_field_can_be_set_and_is_seen() {
        let fields = json!({
            "theme": "nord", "ansiColors": { "red": "#FF0000", "brightWhite": "#ffffff" },
            "foregroundColor": "#111111", "backgroundColor": "#222222", "fontFamily": "Iosevka", "fontSize": 20,
            "density": "compact", "paneGap": 0, "statusBarKeys": ["b", "a", "b"], "htKeyOrder": ["x"],
            "htKeysHidden": ["y"], "notificationOverlayEnabled": false, "notificationOverlayMs": 0,
            "notificationSoundEnabled": true, "autoContinueEngine": "heuristic", "autoContinueDryRun": false,
            "autoContinueCooldownMs": 10, "autoContinueMaxConsecutive": 2,
        });
        let seen = web_settings(&patch(fields.clone()).unwrap());
        let default = web_settings(&Settings::default());
        assert_eq!(seen.as_object().unwrap().len(), fields.as_object().unwrap().len());
        for (name, value) in fields.as_object().unwrap() {
            assert_ne!(seen[name], default[name], "{name}");
            match name.as_str() {
                "ansiColors" => {
                    assert_eq!(seen[name]["red"], "#FF0000");
                    assert_eq!(seen[name]["green"], default[name]["green"]);
                    assert_eq!(seen[name].as_object().unwrap().len(), 16);
                }
                "statusBarKeys" => assert_eq!(seen[name], json!(["b", "a"])),
                _ => assert_eq!(&seen[name], value),
            }
        }
    }

    #[test]
    fn a_new_installation_is_obsidian_with_auto_continue_off() {
        let default = web_settings(&Settings::default());
        assert_eq!((&default["theme"], &default["paneGap"]), (&json!("obsidian"), &json!(4)));
        assert_eq!(
            (&default["autoContinueEngine"], &default["autoContinueDryRun"]),
            (&json!("off"), &json!(true))
        );
    }

    #[test]
    fn null_gives_a_field_its_default() {
        let changed = patch(json!({ "theme": "nord", "paneGap": 9, "authToken": "x" })).unwrap();
        let body = br#"{"theme":null,"authToken":null,"ansiColors":null}"#;
        let back = parse_settings_patch(body, &changed).unwrap();
        assert_eq!((back.theme.as_str(), back.pane_gap, back.auth_token.0.as_str()), ("obsidian", 9, ""));
    }

    #[test]
    fn each_wrong_field_is_named_and_nothing_is_applied() {
        let wrong =
            json!({ "theme": "nord", "paneGap": 65, "fontSize": "big", "color": "#fff", "density": 3 });
        assert_eq!(
            patch(wrong).unwrap_err(),
            "color is no setting; density must be one of compact, comfortable, spacious; \
             fontSize must be a whole number from 6 to 72; paneGap must be a whole number from 0 to 64"
        );
        let rules = [
            (json!({ "theme": "../x" }), "theme must be 1 to 64 of a-z, 0-9 and -"),
            (json!({ "ansiColors": [] }), "ansiColors must be an object of colours"),
            (json!({ "ansiColors": { "red": "red" } }), "ansiColors.red must be a colour such as #1e1e2e"),
            (json!({ "backgroundColor": "#12345é" }), "backgroundColor must be a colour such as #1e1e2e"),
            (json!({ "autoContinueEngine": "model" }), "autoContinueEngine must be one of off, heuristic"),
            (json!({ "paneGap": 1e300 }), "paneGap must be a whole number from 0 to 64"),
            (
                json!({ "telegramAllowedIds": ["me"] }),
                "telegramAllowedIds must be an array of at most 64 whole numbers",
            ),
            (
                json!({ "statusBarKeys": vec!["k"; 65] }),
                "statusBarKeys must be an array of at most 64 strings of 1 to 256 bytes",
            ),
        ];
        for (body, rule) in rules {
            assert_eq!(patch(body).unwrap_err(), rule);
        }
        assert!(
            patch(json!({ "ansiColors": { "pink": "#000000" } }))
                .unwrap_err()
                .starts_with("ansiColors must have only")
        );
        let long = "x".repeat(10 << 10);
        assert_eq!(patch(json!({ long: 1 })).unwrap_err(), format!("{} is no setting", "x".repeat(64)));
    }

    #[test]
    fn secrets_are_stored_and_in_no_output() {
        let secrets =
            json!({ "authToken": "tok-1", "telegramBotToken": "tok-2", "telegramAllowedIds": [4711, "-42"] });
        let settings = patch(secrets).unwrap();
        let stored = stored_settings(&settings);
        assert_eq!(
            (&stored["authToken"], &stored["telegramAllowedIds"]),
            (&json!("tok-1"), &json!(["4711", "-42"]))
        );
        let seen = format!("{} {settings:?}", web_settings(&settings));
        for secret in ["tok-", "4711", "42\"", "authToken", "telegram"] {
            assert!(!web_settings(&settings).to_string().contains(secret), "{secret} in {seen}");
        }
        assert!(!format!("{settings:?}").contains("4711"));
        assert_eq!(patched(stored.as_object().unwrap(), &Settings::default()).unwrap(), settings);
        assert_eq!(settings.auto_continue.engine, Engine::Off);
    }

    proptest! {
        #[test]
        fn whatever_is_patched_only_the_known_fields_come_out(
            name in "authToken|telegramBotToken|telegramAllowedIds|AuthToken|auth_token|__proto__|token|[a-zA-Z]{1,12}",
            text in "SECRET[a-z0-9]{0,8}",
        ) {
            let names = |settings: &Settings| -> Vec<String> {
                web_settings(settings).as_object().unwrap().keys().cloned().collect()
            };
            if let Ok(settings) = patch(json!({ name: text })) {
                prop_assert_eq!(names(&settings), names(&Settings::default()));
                prop_assert!(!web_settings(&settings).to_string().contains("SECRET"));
            }
        }
    }
}
