//! Embeds every file of `src/web/dist`, which `scripts/web` makes, as a table that `mod.rs` includes.
//! Without that folder the table is empty and the page says how to get the client, so `cargo build`
//! alone needs no node.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?);
    let dist = root.join("src/web/dist");
    // Cargo runs the script on every build while a watched path is missing, so until `dist` is there
    // its parent is watched instead.
    let built = dist.is_dir();
    println!("cargo::rerun-if-changed={}", if built { "src/web/dist" } else { "src/web" });
    let mut files = Vec::new();
    if built {
        collect(&dist, &mut files)?;
    }
    let mut rows = files.iter().map(|file| row(&dist, file)).collect::<io::Result<Vec<_>>>()?;
    rows.sort();
    let mut table = String::from("static ASSETS: &[Asset] = &[\n");
    for (_, row) in &rows {
        table.push_str(row);
    }
    table.push_str("];\n");
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    fs::write(out.join("assets.rs"), table)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// The path a browser asks for, and the table's row for it.
fn row(dist: &Path, file: &Path) -> io::Result<(String, String)> {
    let relative = file.strip_prefix(dist).map_err(io::Error::other)?;
    let relative = relative.to_str().ok_or_else(|| io::Error::other("a file name is not UTF-8"))?;
    let (name, gzip) = match relative.strip_suffix(".gz") {
        Some(name) => (name, true),
        None => (relative, false),
    };
    let path = match name {
        "index.html" => "/".to_owned(),
        "terminal.html" => "/t/".to_owned(),
        _ => format!("/{name}"),
    };
    let content_type = match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("webmanifest") => "application/manifest+json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => return Err(io::Error::other(format!("no content type for {name}"))),
    };
    let etag = format!("\"{:032x}\"", fnv1a_128(&fs::read(file)?));
    // `scripts/web` names the folder under assets/ by a hash of everything in it.
    let immutable = path.starts_with("/assets/");
    let mut row = String::new();
    // The table names no place of this machine, so that builds of two checkouts are alike.
    let below = format!("/src/web/dist/{relative}");
    writeln!(
        row,
        "    Asset {{ path: {path:?}, content_type: {content_type:?}, \
         bytes: include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {below:?})), \
         gzip: {gzip}, etag: {etag:?}, immutable: {immutable} }},"
    )
    .map_err(io::Error::other)?;
    Ok((path, row))
}

/// Tells two builds' files apart; nobody but the one who built them can choose them, so it need not
/// withstand an attacker.
fn fnv1a_128(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0x6c62272e07bb014262b821756295c58d, |hash: u128, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(0x0000000001000000000000000000013b)
    })
}
