//! Who may ask for what: the request's `Host`, its `Origin`, its token, and the peer's user.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

use super::connection::{Connection, Gate};
use crate::Config;
use crate::limits::{THROTTLED_ADDRESSES_MAX, TOKEN_FAILURES_MAX, TOKEN_FAILURES_WINDOW};
use crate::os::listen::Peer;
use crate::os::proc;
use crate::wire::http::{Method, Reject, Request};

/// The rules of trust. One decision for HTTP and for websockets.
pub(super) struct Trust {
    token: Option<String>,
    /// Names besides loopback's and addresses, in lower case.
    hosts: Vec<String>,
    failures: HashMap<IpAddr, Failures>,
}

struct Failures {
    count: u32,
    since: Instant,
}

impl Trust {
    pub(super) fn new(config: &Config) -> Trust {
        let hosts = config.hosts.iter().map(|host| host.trim_end_matches('.').to_ascii_lowercase()).collect();
        Trust { token: config.token.clone(), hosts, failures: HashMap::new() }
    }

    /// Refuses what a page of another site could have sent: `Host` must be a name that this server answers
    /// to (else its address was rebound), and an `Origin` must be that host.
    pub(super) fn check_site(&self, request: &Request, peer: &Peer) -> Result<(), Reject> {
        let mut hosts = request.headers_named("host");
        let host = hosts.next();
        if hosts.next().is_some() {
            return Err(Reject::new(400, "more than one Host header"));
        }
        match host {
            // A Unix socket is out of a browser's reach, whatever name it was asked by.
            Some(host) if matches!(peer, Peer::Tcp { .. }) && !self.answers_to(host) => {
                let message = "this server does not answer to that Host; allow it with --host NAME";
                return Err(Reject::new(421, message));
            }
            Some(_) => {}
            None if request.version_minor >= 1 => return Err(Reject::new(400, "the Host header is missing")),
            None => {}
        }
        let changes = !matches!(request.method, Method::Get | Method::Head);
        let mut origins = request.headers_named("origin");
        let origin = origins.next();
        if (changes || request.is_upgrade()) && (origins.next().is_some() || !origin_is(origin, host)) {
            return Err(Reject::new(403, "the Origin of this request is another site"));
        }
        Ok(())
    }

    fn answers_to(&self, host: &str) -> bool {
        let Some((name, _)) = split_host(host) else { return false };
        if name.parse::<IpAddr>().is_ok() {
            return true; // an address cannot be rebound
        }
        name == "localhost" || name.ends_with(".localhost") || self.hosts.contains(&name)
    }

    /// Whether the request may go on: by its token, or, where none is needed, by the peer's user.
    pub(super) fn check_caller(
        &mut self,
        request: &Request,
        connection: &mut Connection,
        now: Instant,
    ) -> Result<(), Reject> {
        if connection.gate == Gate::OwnUser && self.is_ours(connection) {
            return Ok(());
        }
        let shown = token_of(request, cookie_port(&connection.peer));
        if self.is_token(shown.as_deref(), &connection.peer, now)? {
            return Ok(());
        }
        let message = match (connection.gate, &shown) {
            (Gate::OwnUser, None) => {
                "only the user who runs this server, or root, may use it without a token"
            }
            (Gate::Token, None) => "a token is needed: Authorization: Bearer TOKEN, or ?t=TOKEN",
            (_, Some(_)) => "that token is not this server's",
        };
        Err(Reject::new(401, message))
    }

    /// Whether the peer shows the right token; a wrong one is counted, and too many are refused unseen.
    pub(super) fn is_token(
        &mut self,
        shown: Option<&str>,
        peer: &Peer,
        now: Instant,
    ) -> Result<bool, Reject> {
        let address = match peer {
            Peer::Tcp { remote, .. } => Some(remote.ip()),
            Peer::Unix { .. } => None,
        };
        if let Some(wait) = address.and_then(|address| self.throttled(address, now)) {
            let mut reject = Reject::new(429, "too many wrong tokens from this address; wait");
            reject.retry_after = Some(wait);
            return Err(reject);
        }
        let Some(shown) = shown else { return Ok(false) };
        let is_right = self.token.as_ref().is_some_and(|token| same(token.as_bytes(), shown.as_bytes()));
        if let (false, Some(address)) = (is_right, address) {
            self.failed(address, now);
        }
        Ok(is_right)
    }

    fn is_ours(&self, connection: &mut Connection) -> bool {
        let peer = connection.peer;
        *connection.peer_is_ours.get_or_insert_with(|| {
            let uid = match peer {
                Peer::Unix { uid } => Some(uid),
                Peer::Tcp { local, remote } => proc::tcp_owner(local, remote),
            };
            uid.is_some_and(|uid| uid == 0 || uid == proc::own_uid())
        })
    }

    /// Seconds to wait, when this address has failed too often.
    fn throttled(&mut self, address: IpAddr, now: Instant) -> Option<u32> {
        let failures = self.failures.get(&address)?;
        let until = failures.since + TOKEN_FAILURES_WINDOW;
        if until <= now {
            self.failures.remove(&address);
            return None;
        }
        (failures.count >= TOKEN_FAILURES_MAX).then(|| (until - now).as_secs() as u32 + 1)
    }

    fn failed(&mut self, address: IpAddr, now: Instant) {
        if self.failures.len() >= THROTTLED_ADDRESSES_MAX && !self.failures.contains_key(&address) {
            let oldest = self.failures.iter().min_by_key(|(_, failures)| failures.since).map(|(at, _)| *at);
            oldest.and_then(|oldest| self.failures.remove(&oldest));
        }
        self.failures.entry(address).or_insert(Failures { count: 0, since: now }).count += 1;
    }
}

/// The name of the cookie: cookies do not tell ports apart, and two servers may share a name.
pub(super) fn cookie_name(port: u16) -> String {
    format!("wharf_{port}")
}

/// The port that the cookie is named after.
pub(super) fn cookie_port(peer: &Peer) -> u16 {
    match peer {
        Peer::Tcp { local, .. } => local.port(),
        Peer::Unix { .. } => 0,
    }
}

/// The token that a request shows: as a header, in the query, or as the page's cookie.
fn token_of(request: &Request, port: u16) -> Option<String> {
    let mut headers = request.headers_named("authorization");
    if let Some(header) = headers.next() {
        if headers.next().is_some() {
            return Some(String::new()); // two are none, whichever of them is right
        }
        let (scheme, token) = header.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned());
    }
    if let Some(token) = request.query("t") {
        return Some(token);
    }
    let name = cookie_name(port);
    let cookies = request.headers_named("cookie").flat_map(|line| line.split(';'));
    cookies
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find(|(given, _)| *given == name)
        .map(|(_, value)| value.to_owned())
}

/// Compares without telling by its time where the first difference is.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

/// `Host` as name and port; the name in lower case, without brackets or a trailing dot.
fn split_host(host: &str) -> Option<(String, Option<u16>)> {
    let host = host.trim();
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (name, after) = rest.split_once(']')?;
            (name, after.strip_prefix(':'))
        }
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    let port = match port {
        Some(port) => Some(port.parse().ok()?),
        None => None,
    };
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    (!name.is_empty()).then_some((name, port))
}

/// Whether the page that sent this is one of ours. Browsers send an Origin with all that matters here; who
/// sends none is no browser.
fn origin_is(origin: Option<&str>, host: Option<&str>) -> bool {
    let Some(origin) = origin else { return true };
    let (port, rest) = match origin.split_once("://") {
        Some(("http", rest)) => (80, rest),
        Some(("https", rest)) => (443, rest),
        _ => return false,
    };
    let (Some((name, at)), Some(Some((own, own_at)))) = (split_host(rest), host.map(split_host)) else {
        return false;
    };
    name == own && at.unwrap_or(port) == own_at.unwrap_or(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_of_this_host_and_port_is_ours() {
        let ours = |origin: &str, host: &str| origin_is(Some(origin), Some(host));
        assert!(ours("http://localhost:3000", "localhost:3000"));
        assert!(ours("https://term.example", "term.example"));
        assert!(ours("https://term.example", "term.example:443"));
        assert!(ours("http://[::1]:3000", "[::1]:3000"));
        assert!(ours("http://LOCALHOST:3000", "localhost.:3000"));
        assert!(!ours("http://localhost:9999", "localhost:3000"));
        assert!(!ours("https://evil.example", "localhost:3000"));
        assert!(!ours("null", "localhost:3000"));
        assert!(!ours("file://", "localhost:3000"));
        assert!(!ours("http://localhost:3000.evil.example", "localhost:3000"));
        assert!(origin_is(None, Some("localhost:3000")), "no browser");
        assert!(!origin_is(Some("http://localhost"), None));
    }

    #[test]
    fn names_that_could_be_rebound_need_to_be_allowed() {
        let config = Config { hosts: vec!["Term.Example".into()], ..Config::default() };
        let trust = Trust::new(&config);
        for host in [
            "localhost",
            "localhost:3000",
            "LOCALHOST.",
            "127.0.0.1:1",
            "[::1]",
            "10.0.0.7:3000",
            "term.example",
        ] {
            assert!(trust.answers_to(host), "{host}");
        }
        for host in
            ["evil.example", "localhost.evil.example", "", ":3000", "term.example:port", "127.0.0.1.evil"]
        {
            assert!(!trust.answers_to(host), "{host}");
        }
    }

    #[test]
    fn a_wrong_token_is_throttled_and_forgiven() {
        let mut trust = Trust::new(&Config::default());
        let (address, start) = (IpAddr::from([10, 0, 0, 1]), Instant::now());
        for _ in 0..TOKEN_FAILURES_MAX {
            assert_eq!(trust.throttled(address, start), None);
            trust.failed(address, start);
        }
        assert_eq!(trust.throttled(address, start), Some(61));
        assert_eq!(trust.throttled(IpAddr::from([10, 0, 0, 2]), start), None);
        assert_eq!(trust.throttled(address, start + TOKEN_FAILURES_WINDOW), None);
    }
}
