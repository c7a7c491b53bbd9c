//! What a string of the file may hold, beside being a string.
//!
//! The same check runs twice on a string with references: not when the file is read, because
//! the text is not complete, but on what it has become once they are replaced.

use std::net::{Ipv4Addr, SocketAddr};

/// A rule for strings.
pub(super) trait ContentRule: Clone + PartialEq + 'static {
    /// What is allowed, in words that follow "allowed: ".
    const ALLOWED: &'static str;

    /// Whether messages may repeat a string that is not allowed.
    const IS_SHOWN: bool = false;

    /// Whether a string is allowed.
    fn is_valid(text: &str) -> bool;
}

/// Anything an operating system takes as an argument or a variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Anything;

/// Something that names a program or a folder.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NotEmpty;

/// Where to listen.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Address;

/// A key that fits into a header.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ApiKey;

/// Where a server is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Url;

/// Where state is kept.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StoreAddress;

/// The name of a header.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HeaderName;

/// The value of a header.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HeaderValue;

/// The name of a variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct VariableName;

/// The address a text stands for.
pub(super) fn parse_address(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost:") {
        // The port is read as part of an address, because `"+80".parse::<u16>()` succeeds.
        Some(port) => format!("{}:{port}", Ipv4Addr::LOCALHOST).parse().ok(),
        None => text.parse().ok(),
    }
}

// === impl ContentRule ===

impl ContentRule for Anything {
    const ALLOWED: &'static str = "a string without a NUL character";

    fn is_valid(text: &str) -> bool {
        !text.contains('\0')
    }
}

impl ContentRule for NotEmpty {
    const ALLOWED: &'static str = "a string that is not empty, without a NUL character";

    fn is_valid(text: &str) -> bool {
        !text.is_empty() && Anything::is_valid(text)
    }
}

impl ContentRule for Address {
    const ALLOWED: &'static str =
        "an address such as \"127.0.0.1:8080\", \"[::1]:8080\" or \"localhost:8080\"";
    const IS_SHOWN: bool = true;

    fn is_valid(text: &str) -> bool {
        parse_address(text).is_some()
    }
}

impl ContentRule for ApiKey {
    const ALLOWED: &'static str =
        "a string of visible ASCII characters without spaces that is not empty";

    fn is_valid(text: &str) -> bool {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
    }
}

impl ContentRule for Url {
    const ALLOWED: &'static str = "an address that begins with http:// or https://";

    fn is_valid(text: &str) -> bool {
        let rest = text
            .strip_prefix("https://")
            .or_else(|| text.strip_prefix("http://"));
        rest.is_some_and(|rest| has_host(rest) && text.bytes().all(|byte| byte.is_ascii_graphic()))
    }
}

impl ContentRule for StoreAddress {
    const ALLOWED: &'static str = "\"sqlite\", or an address that begins with postgres://";

    fn is_valid(text: &str) -> bool {
        let address = text
            .strip_prefix("postgres://")
            .or_else(|| text.strip_prefix("postgresql://"));
        text == "sqlite" || address.is_some_and(has_host)
    }
}

impl ContentRule for HeaderName {
    const ALLOWED: &'static str = "a header name of letters, digits and !#$%&'*+-.^_`|~";
    const IS_SHOWN: bool = true;

    fn is_valid(text: &str) -> bool {
        let is_allowed =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        !text.is_empty() && text.bytes().all(is_allowed)
    }
}

impl ContentRule for HeaderValue {
    const ALLOWED: &'static str = "a string of visible ASCII characters and spaces";

    fn is_valid(text: &str) -> bool {
        text.bytes()
            .all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t'))
    }
}

impl ContentRule for VariableName {
    const ALLOWED: &'static str = "a name that is not empty, without '=' and NUL";
    const IS_SHOWN: bool = true;

    fn is_valid(text: &str) -> bool {
        !text.is_empty() && !text.contains(['=', '\0'])
    }
}

/// Whether what follows `scheme://` begins with a host and, if it has one, a port.
fn has_host(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host_and_port = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = match host_and_port.strip_prefix('[') {
        Some(inner) => match inner.split_once(']') {
            Some((host, "")) => (host, None),
            Some((host, port)) => match port.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None => return false,
            },
            None => return false,
        },
        None => match host_and_port.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (host_and_port, None),
        },
    };
    let is_port =
        |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    !host.is_empty() && port.is_none_or(is_port)
}
