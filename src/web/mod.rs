//! What the browser gets: a path to its type and bytes.
//!
//! The pages and modules in `client/` and xterm.js from its registry are made into `dist/` by
//! `scripts/web` and embedded by `build.rs`. Nothing here holds a secret, so pages and assets are served
//! without a token: the page itself asks for one when the API answers `401`.

/// One file as it goes to the browser.
#[derive(Debug)]
pub struct Asset {
    /// Path below the base path. The terminal page stands at `/t/`, see [`find`].
    pub path: &'static str,
    /// `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub bytes: &'static [u8],
    /// Whether `bytes` are gzip (`Content-Encoding: gzip`); there is no plain copy.
    pub gzip: bool,
    /// `ETag`, with its quotes.
    pub etag: &'static str,
    /// Whether the path changes with the content, so that `Cache-Control: max-age=31536000, immutable`
    /// is true. Otherwise `no-cache`: the browser asks with `If-None-Match` each time.
    pub immutable: bool,
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Stands for every page of a build without the client.
static HOW_TO_GET_THE_CLIENT: Asset = Asset {
    path: "/",
    content_type: "text/html; charset=utf-8",
    bytes: b"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
<meta name=color-scheme content=\"light dark\"><title>wharf</title>\
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:34em;margin:15vh auto;padding:0 1em}</style>\
<h1>wharf runs, without its page</h1>\
<p>This binary was built before its web client. Run <code>scripts/web</code> (it needs node and npm), \
build again, and reload.</p>\
<p>Everything else works: <code>wharf new</code>, <code>wharf ls</code>, <code>wharf attach</code>, and the API.</p>",
    gzip: false,
    etag: "\"without-client-1\"",
    immutable: false,
};

/// The asset at `path`, which is without the base path and the query, and begins with `/`. Every
/// `/t/{sessionId}` gets the terminal page. `None` is a `404`.
pub fn find(path: &str) -> Option<&'static Asset> {
    let path = match path.strip_prefix("/t/") {
        Some(session) if session.is_empty() || session.contains('/') => return None,
        Some(_) => "/t/",
        None => path,
    };
    let found = ASSETS.iter().find(|asset| asset.path == path);
    let is_page = path == "/" || path == "/t/";
    found.or_else(|| (is_page && ASSETS.is_empty()).then_some(&HOW_TO_GET_THE_CLIENT))
}

/// The `Content-Security-Policy` of pages.
///
/// xterm.js makes `<style>` elements for its theme and cell size and sets `style` attributes for true
/// colours, so inline style is allowed; with every other source shut it can reach nothing. Scripts come
/// from files only; the decoder of sixel images is a piece of WebAssembly inside of its file, which
/// `wasm-unsafe-eval` allows, and no more: no text becomes a script.
pub fn page_csp() -> &'static str {
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; connect-src 'self'; \
     img-src 'self' data:; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; \
     frame-ancestors 'none'"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_at_the_root_and_for_each_session_with_or_without_a_client() {
        for path in ["/", "/t/work", "/t/a%2Fb", "/t/..."] {
            let page = find(path).unwrap();
            assert_eq!(page.content_type, "text/html; charset=utf-8", "{path}");
            assert!(page.bytes.starts_with(b"<!doctype html>"), "{path}");
            assert!(!page.gzip && !page.immutable, "{path}");
        }
    }

    #[test]
    fn nothing_else_is_found() {
        for path in ["", "/t", "/t/", "/t/a/b", "/assets", "/assets/", "/index.html", "/../Cargo.toml", "//"]
        {
            assert!(find(path).is_none(), "{path}");
        }
    }

    #[test]
    fn what_a_page_names_is_embedded_gzipped_and_immutable() {
        for page in ASSETS.iter().filter(|asset| asset.content_type.starts_with("text/html")) {
            let html = std::str::from_utf8(page.bytes).unwrap();
            let names: Vec<&str> = html.split('"').filter(|value| value.contains("assets/")).collect();
            assert!(!names.is_empty(), "{}", page.path);
            for name in names {
                let below = name.trim_start_matches("../");
                let depth = (name.len() - below.len()) / 3;
                assert_eq!(depth, page.path.matches('/').count() - 1, "{name} from {}", page.path);
                let asset = find(&format!("/{below}")).unwrap_or_else(|| panic!("{name}"));
                assert!(asset.immutable, "{name}");
                assert_eq!(asset.gzip, asset.bytes.starts_with(&[0x1f, 0x8b]), "{name}");
            }
        }
    }

    #[test]
    fn scripts_come_from_files_only() {
        let scripts = page_csp().split("; ").find(|part| part.starts_with("script-src")).unwrap();
        assert_eq!(scripts, "script-src 'self' 'wasm-unsafe-eval'");
        for page in [find("/").unwrap(), find("/t/x").unwrap()] {
            let html = std::str::from_utf8(page.bytes).unwrap();
            assert!(!html.contains("<script>"), "{html}");
            assert!(
                !html.split_whitespace().any(|word| word.starts_with("on") && word.contains('=')),
                "{html}"
            );
        }
    }
}
