//! Addresses that say whose resource they are of. This module is pure.

use mcpproxy_wire::Json;
use mcpproxy_wire::json::with_member;
use serde_json::Value;

/// Beginning of such an address.
const SCHEME: &str = "mcpproxy:";

/// The address of a resource, or a template, that is meant at one server and no other.
pub fn qualify(server: &str, original: &str) -> String {
    [SCHEME, server, "/", original].concat()
}

/// The server and the server's own address, if this one says whose it is.
pub(crate) fn split(address: &str) -> Option<(&str, &str)> {
    let rest = address.strip_prefix(SCHEME)?;
    let (server, original) = rest.split_once('/')?;
    (!server.is_empty() && !original.is_empty()).then_some((server, original))
}

/// Whether a server's own address looks like one that says whose it is. It is never given out as it
/// is: it could be taken for another server's.
pub(crate) fn looks_qualified(original: &str) -> bool {
    original.starts_with(SCHEME)
}

/// An object with another text in one of its members.
pub fn with_text(object: &Json, member: &str, text: &str) -> Json {
    with_member(object, member, &Json::of(&Value::from(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_qualified_can_be_split_again() {
        for original in ["file:///a/b", "x", "mcpproxy:other/x", "test://{id}"] {
            let qualified = qualify("files", original);
            assert_eq!(split(&qualified), Some(("files", original)));
            assert!(looks_qualified(&qualified));
        }
        for address in [
            "",
            "file:///a",
            "mcpproxy:",
            "mcpproxy:a",
            "mcpproxy:/a",
            "mcpproxy:a/",
        ] {
            assert_eq!(split(address), None, "{address}");
        }
    }
}
