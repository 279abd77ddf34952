//! Names of this machine.

use std::net::IpAddr;

/// Whether a host, without a port, is this machine by a name or an address that is always its own.
pub(crate) fn is_this_machine(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    if let Some(address) = address(&host) {
        return address.is_loopback();
    }
    let name = host.strip_suffix('.').unwrap_or(&host);
    name == "localhost" || name.ends_with(".localhost")
}

/// The address that a host is, if it is one: of an IPv4 address that is written as an IPv6 one,
/// that.
pub(crate) fn address(host: &str) -> Option<IpAddr> {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>().ok()?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_many_names_and_a_name_that_looks_like_one_is_none() {
        for local in [
            "localhost",
            "LocalHost.",
            "app.localhost",
            "127.1.2.3",
            "[::1]",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(is_this_machine(local), "{local}");
        }
        for foreign in [
            "",
            "notlocalhost",
            "localhost.example",
            "128.0.0.1",
            "0.0.0.0",
            "[::2]",
            "[::ffff:10.0.0.1]",
        ] {
            assert!(!is_this_machine(foreign), "{foreign}");
        }
    }
}
