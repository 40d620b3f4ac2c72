//! A terminal's metadata as JSON, and package.json to a value.

use serde_json::{Map, Value, json};

use super::rest::put_some;
use crate::limits::MANIFEST_ENTRIES_MAX;
use crate::workspace::metadata::{CargoToml, Git, ListeningPort, Metadata, PackageJson, Process};

/// The `metadata` of `surfaceMetadata`: `{pid, foregroundPid, cwd, tree: [{pid, ppid, argv, cpu, rss}],
/// listeningPorts: [{port, address, protocol, pid}], git, packageJson, cargoToml}`. `cpu` is percent of one
/// core, `rss` bytes; the last three are `null` where there is none.
pub fn metadata_json(metadata: &Metadata) -> Value {
    json!({
        "pid": metadata.pid,
        "foregroundPid": metadata.foreground_pid,
        "cwd": metadata.cwd,
        "tree": metadata.tree.iter().map(process_json).collect::<Vec<_>>(),
        "listeningPorts": metadata.listening_ports.iter().map(port_json).collect::<Vec<_>>(),
        "git": metadata.git.as_ref().map(git_json),
        "packageJson": metadata.package_json.as_ref().map(package_json),
        "cargoToml": metadata.cargo_toml.as_ref().map(cargo_json),
    })
}

fn process_json(process: &Process) -> Value {
    json!({
        "pid": process.pid,
        "ppid": process.parent,
        "argv": process.argv,
        "cpu": process.cpu_percent,
        "rss": process.rss_bytes,
    })
}

fn port_json(port: &ListeningPort) -> Value {
    let protocol = if port.v6 { "tcp6" } else { "tcp" };
    json!({ "port": port.port, "address": port.address, "protocol": protocol, "pid": port.pid })
}

fn git_json(git: &Git) -> Value {
    json!({
        "branch": git.branch,
        "head": git.head,
        "upstream": git.upstream,
        "ahead": git.ahead,
        "behind": git.behind,
        "staged": git.staged,
        "unstaged": git.unstaged,
        "untracked": git.untracked,
        "conflicts": git.conflicts,
        "detached": git.branch.is_none(),
    })
}

fn package_json(package: &PackageJson) -> Value {
    let scripts = package.scripts.iter().map(|(name, command)| (name.clone(), json!(command)));
    let mut json = json!({ "path": package.path, "scripts": scripts.collect::<Map<_, _>>() });
    put_some(&mut json, "name", package.name.as_deref());
    put_some(&mut json, "version", package.version.as_deref());
    put_some(&mut json, "description", package.description.as_deref());
    json
}

fn cargo_json(cargo: &CargoToml) -> Value {
    let mut json =
        json!({ "path": cargo.path, "binaries": cargo.binaries, "isWorkspace": cargo.is_workspace });
    put_some(&mut json, "name", cargo.name.as_deref());
    put_some(&mut json, "version", cargo.version.as_deref());
    put_some(&mut json, "edition", cargo.edition.as_deref());
    put_some(&mut json, "description", cargo.description.as_deref());
    json
}

/// Reads a package.json of at most [`crate::limits::MANIFEST_BYTES_MAX`]. Fields of another type than usual are
/// left out. `None` when it is no JSON object.
pub fn parse_package_json(path: &str, bytes: &[u8]) -> Option<PackageJson> {
    let Ok(Value::Object(fields)) = serde_json::from_slice(bytes) else { return None };
    let text = |value: &Value| -> Option<String> {
        value.as_str().map(|text| text.chars().filter(|c| !c.is_control()).collect())
    };
    let field = |name: &str| fields.get(name).and_then(text);
    let scripts = fields.get("scripts").and_then(Value::as_object).into_iter().flatten();
    let scripts = scripts.filter_map(|(name, command)| Some((name.clone(), text(command)?)));
    Some(PackageJson {
        path: path.to_owned(),
        name: field("name"),
        version: field("version"),
        description: field("description"),
        scripts: scripts.take(MANIFEST_ENTRIES_MAX).collect(),
    })
}

/// Reads a Cargo.toml, see [`CargoToml::parse`].
pub fn parse_cargo_toml(path: &str, bytes: &[u8]) -> Option<CargoToml> {
    Some(CargoToml::parse(path, &String::from_utf8_lossy(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_told_field_by_field() {
        let metadata = Metadata {
            pid: 10,
            foreground_pid: 11,
            cwd: "/srv".into(),
            tree: vec![Process {
                pid: 10,
                parent: 1,
                argv: vec!["sh".into(), "-l".into()],
                cpu_percent: 1.5,
                rss_bytes: 4096,
            }],
            listening_ports: vec![ListeningPort { port: 80, address: "*".into(), v6: true, pid: 11 }],
            git: Git::parse(b"# branch.oid ab\n# branch.head main\n? x\n"),
            package_json: parse_package_json(
                "/srv/package.json",
                br#"{"name":"p","version":1,"scripts":{"b":"make","x":1}}"#,
            ),
            cargo_toml: parse_cargo_toml("/srv/Cargo.toml", b"[package]\nname = \"c\"\nedition = \"2024\"\n"),
        };
        assert_eq!(
            metadata_json(&metadata),
            json!({
                "pid": 10, "foregroundPid": 11, "cwd": "/srv",
                "tree": [{ "pid": 10, "ppid": 1, "argv": ["sh", "-l"], "cpu": 1.5, "rss": 4096 }],
                "listeningPorts": [{ "port": 80, "address": "*", "protocol": "tcp6", "pid": 11 }],
                "git": {
                    "branch": "main", "head": "ab", "upstream": null, "ahead": 0, "behind": 0, "staged": 0,
                    "unstaged": 0, "untracked": 1, "conflicts": 0, "detached": false,
                },
                "packageJson": { "path": "/srv/package.json", "name": "p", "scripts": { "b": "make" } },
                "cargoToml": {
                    "path": "/srv/Cargo.toml", "name": "c", "edition": "2024", "binaries": [], "isWorkspace": false,
                },
            })
        );
        let bare = metadata_json(&Metadata::default());
        assert_eq!([&bare["git"], &bare["packageJson"], &bare["cargoToml"]], [&Value::Null; 3]);
    }

    #[test]
    fn a_package_json_that_is_none_is_nothing() {
        for bytes in ["", "[]", "{", "null", "\u{feff}{}"] {
            assert_eq!(parse_package_json("p", bytes.as_bytes()), None);
        }
        let scripts: String = (0..500).map(|n| format!("\"s{n}\":\"x\",")).collect();
        let large = format!("{{\"scripts\":{{{scripts}\"last\":\"x\"}}}}");
        assert_eq!(parse_package_json("p", large.as_bytes()).unwrap().scripts.len(), MANIFEST_ENTRIES_MAX);
    }
}
