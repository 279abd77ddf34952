//! Whom a request is for and which page it comes from, so that no web page uses a server that is
//! for this machine alone.

use std::net::SocketAddr;

use hyper::Version;
use hyper::header::{HOST, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::http::uri::{Authority, Uri};

use super::Key;
use super::exchange::cut_name;
use super::route::Refusal;
use crate::loopback::is_this_machine;

/// Which hosts a request may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hosts {
    /// Any: who asks needs the key, or the server was made to be reached from elsewhere.
    Any,
    /// This machine. A web page can make a browser on it send requests, and by a name that is made
    /// to mean loopback even read the replies; but the page's own name comes with them.
    Local,
}

/// What containers call the machine that they run on. Nobody can own a name that ends in
/// `.internal`, so no web page has one of these.
const FROM_CONTAINERS: [&str; 2] = ["host.docker.internal", "host.containers.internal"];

impl Hosts {
    /// What a server that listens on `addr` has to look at.
    pub(super) fn of(addr: Option<SocketAddr>, key: Option<&Key>) -> Self {
        match (addr, key) {
            (Some(addr), None) if addr.ip().to_canonical().is_loopback() => Self::Local,
            _ => Self::Any,
        }
    }

    /// Refuses a request that names no host, several, or one that may not be named.
    pub(super) fn check(self, head: &Parts) -> Result<(), Refusal> {
        let mut named = head.headers.get_all(HOST).iter();
        let host = match (named.next(), named.next()) {
            (_, Some(_)) => return Err(two_hosts()),
            (None, _) if head.version == Version::HTTP_11 => return Err(no_host()),
            (host, _) => host,
        };
        if self == Self::Any {
            return Ok(());
        }
        // An address in the request's first line comes before the header (RFC 9112, section 3.2.2).
        let host = match head.uri.authority() {
            Some(authority) => Some(authority.as_str().as_bytes()),
            None => host.map(HeaderValue::as_bytes),
        };
        if let Some(host) = host.map(String::from_utf8_lossy)
            && !is_local(&host)
        {
            return Err(foreign("host", &host));
        }
        let mut origins = head.headers.get_all(ORIGIN).iter();
        let origin = origins.find_map(|origin| {
            let origin = String::from_utf8_lossy(origin.as_bytes());
            is_foreign_page(&origin).then_some(origin)
        });
        origin.map_or(Ok(()), |origin| Err(foreign("origin", &origin)))
    }
}

/// Whether a host, with or without a port, is this machine by whatever name.
fn is_local(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else {
        return false;
    };
    let name = authority.host();
    let is_from_a_container = FROM_CONTAINERS
        .iter()
        .any(|own| own.eq_ignore_ascii_case(name.strip_suffix('.').unwrap_or(name)));
    !host.contains('@') && (is_this_machine(name) || is_from_a_container)
}

/// Whether an origin is a page from elsewhere, or one that hides where it is from. Programs that
/// are made of web pages have schemes of their own, and are on this machine.
fn is_foreign_page(origin: &str) -> bool {
    let Ok(uri) = origin.parse::<Uri>() else {
        return origin != "file://";
    };
    match (uri.scheme_str(), uri.authority()) {
        (Some("http" | "https" | "ws" | "wss" | "ftp"), Some(authority)) => {
            !is_local(authority.as_str())
        }
        (Some(_), _) => false,
        (None, _) => true,
    }
}

fn no_host() -> Refusal {
    let message = "no Host is named: send one (RFC 9112, section 3.2)";
    Refusal::invalid(400, "invalid_host", message)
}

fn two_hosts() -> Refusal {
    let message = "more than one Host is named: send one (RFC 9112, section 3.2)";
    Refusal::invalid(400, "invalid_host", message)
}

fn foreign(what: &str, named: &str) -> Refusal {
    let named = cut_name(named);
    let message = format!(
        "the {what} `{named}` is not this machine, and without a token only requests to and from \
         this machine are answered: use http://127.0.0.1 or http://localhost, or start the server \
         with --token KEY"
    );
    Refusal::invalid(403, "foreign_host", &message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_many_names_and_a_name_that_looks_like_one_is_none() {
        for local in [
            "localhost",
            "LOCALHOST:1",
            "localhost.:80",
            "app.localhost:8787",
            "127.0.0.1:8787",
            "127.1.2.3",
            "[::1]:8787",
            "[::1]",
            "[::ffff:127.0.0.1]:8787",
            "host.docker.internal:8787",
            "host.containers.internal:8787",
        ] {
            assert!(is_local(local), "{local}");
        }
        for foreign in [
            "",
            "evil.com",
            "evil.com:8787",
            "127.0.0.1.evil.com",
            "localhost.evil.com:80",
            "notlocalhost",
            "127.0.0.1@evil.com",
            "evil.com@127.0.0.1",
            "192.0.2.1:8787",
            "0.0.0.0:8787",
            "[::2]",
            "docker.internal",
            "x.host.docker.internal",
            "local host",
        ] {
            assert!(!is_local(foreign), "{foreign}");
        }
    }

    #[test]
    fn a_page_from_elsewhere_is_told_by_its_origin_and_a_program_of_this_machine_is_none() {
        for foreign in [
            "http://evil.com",
            "https://evil.com:8787",
            "ftp://evil.com",
            "ws://evil.com",
            "null",
            "",
            "evil.com",
        ] {
            assert!(is_foreign_page(foreign), "{foreign}");
        }
        for own in [
            "http://localhost:3000",
            "https://127.0.0.1",
            "http://[::1]:5173",
            "vscode-webview://0a1b",
            "app://obsidian.md",
            "file://",
        ] {
            assert!(!is_foreign_page(own), "{own}");
        }
    }

    #[test]
    fn only_a_server_on_loopback_without_a_key_looks_at_hosts() {
        let key = Key::new("sesame").unwrap();
        let of = |addr: &str, key| Hosts::of(addr.parse().ok(), key);
        assert_eq!(of("127.0.0.1:1", None), Hosts::Local);
        assert_eq!(of("[::1]:1", None), Hosts::Local);
        assert_eq!(of("127.0.0.1:1", Some(&key)), Hosts::Any);
        assert_eq!(of("0.0.0.0:1", None), Hosts::Any);
    }
}
