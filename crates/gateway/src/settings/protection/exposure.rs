//! Exposure of the gateway: conditions to be reached from beyond this machine.

use std::net::SocketAddr;

use crate::settings::secret::Secret;

/// Fewest characters of a key that is asked for beyond loopback, where anybody may guess.
pub(in crate::settings) const SHORTEST_NETWORK_KEY: usize = 24;

/// Reasons not to listen on an address, with what to do about each; none on loopback. `is_protected` is whether a
/// certificate, or a proxy in front, keeps others from listening in.
pub(in crate::settings) fn problems(
    address: SocketAddr,
    is_protected: bool,
    key: Option<&Secret>,
) -> Vec<String> {
    if address.ip().is_loopback() {
        return Vec::new();
    }
    let plain = (!is_protected).then(|| {
        format!(
            "listening on {address} reaches beyond this machine over plain HTTP: \
             use a loopback address, name a certificate with \"tls\": {{ \"cert\": …, \"key\": … }}, \
             or set \"allow_plain_http\": true if a proxy in front adds TLS"
        )
    });
    let is_short = |key: &Secret| key.expose().len() < SHORTEST_NETWORK_KEY;
    let short = key.is_some_and(is_short).then(|| {
        format!(
            "listening on {address} reaches beyond this machine with an API key of fewer than {SHORTEST_NETWORK_KEY} \
             characters, which can be guessed: use a longer one, or leave \"api_key\" out and delete the file api_key \
             of the data folder to have one generated"
        )
    });
    plain.into_iter().chain(short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_one_character_was_taken_beyond_loopback() {
        let count = |address: &str, allow_plain_http: bool, key: Option<&str>| {
            let key = key.map(Secret::new);
            problems(address.parse().unwrap(), allow_plain_http, key.as_ref()).len()
        };
        let (short, long) = ("a".repeat(23), "a".repeat(24));
        for address in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1"] {
            assert_eq!(count(address, false, Some("a")), 0, "{address}");
        }
        for address in ["0.0.0.0:1", "192.0.2.7:1", "[::]:1"] {
            assert_eq!(count(address, true, Some(&long)), 0, "{address}");
            assert_eq!(count(address, true, None), 0, "{address}");
            assert_eq!(count(address, true, Some(&short)), 1, "{address}");
            assert_eq!(count(address, false, Some(&long)), 1, "{address}");
            assert_eq!(count(address, false, Some("a")), 2, "{address}");
        }
    }
}
