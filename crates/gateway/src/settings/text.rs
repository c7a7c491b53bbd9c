//! Strings of the file: what they may hold, once references in them are replaced.

use std::net::{Ipv4Addr, SocketAddr};

use http::uri::Authority;
use serde::Deserialize;

use super::secret::Secret;

/// Rule of a string that may hold references.
#[derive(Clone, Copy)]
pub(super) struct TextRule {
    /// Strings that are allowed, in words that follow "allowed: ".
    pub(super) allowed: &'static str,
    pub(super) is_valid: fn(&str) -> bool,
}

/// Address of the state.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Secret")]
pub enum StoreAddress {
    /// A file of the data folder.
    Sqlite,
    /// A database; the address may hold a password.
    Postgres(Secret),
}

/// Name of the built-in server of admin tools, which no server of the file can have.
pub const ADMIN_SERVER: &str = "mcpproxy";

/// Rule of the name of a server. Longer ones make tool names that clients refuse.
pub(super) const SERVER_NAME: TextRule = TextRule {
    allowed: "1 to 64 of the characters A-Z, a-z, 0-9, '_', '.' and '-', without '__', not 'mcpproxy'",
    is_valid: |name| {
        let is_allowed = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '.' | '-');
        (1..=64).contains(&name.len())
            && name.chars().all(is_allowed)
            && !name.contains("__")
            && !name.eq_ignore_ascii_case(ADMIN_SERVER)
    },
};

/// Pattern of allowed server names, for the JSON Schema.
pub(super) const SERVER_NAME_PATTERN: &str =
    "^(?!.*__)(?![Mm][Cc][Pp][Pp][Rr][Oo][Xx][Yy]$)[A-Za-z0-9_.-]{1,64}$";

/// Rule of anything an operating system takes as an argument or a variable.
pub(super) const ANYTHING: TextRule = TextRule {
    allowed: "a string without a NUL character",
    is_valid: |text| !text.contains('\0'),
};

/// Rule of something that names a program, a folder or a tool.
pub(super) const NOT_EMPTY: TextRule = TextRule {
    allowed: "a string that is not empty, without a NUL character",
    is_valid: |text| !text.is_empty() && !text.contains('\0'),
};

pub(super) const ADDRESS: TextRule = TextRule {
    allowed: "an address such as \"127.0.0.1:8080\", \"[::1]:8080\" or \"localhost:8080\"",
    is_valid: |text| parse_address(text).is_some(),
};

pub(super) const API_KEY: TextRule = TextRule {
    allowed: "a string of visible ASCII characters without spaces that is not empty",
    is_valid: |text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()),
};

pub(super) const URL: TextRule = TextRule {
    allowed: "an address that begins with http:// or https://",
    is_valid: |text| {
        has_host(text, ["http://", "https://"]) && text.bytes().all(|byte| byte.is_ascii_graphic())
    },
};

pub(super) const STORE: TextRule = TextRule {
    allowed: "\"sqlite\", or an address that begins with postgres://",
    is_valid: |text| text == "sqlite" || has_host(text, ["postgres://", "postgresql://"]),
};

pub(super) const HEADER_NAME: TextRule = TextRule {
    allowed: "a header name of letters, digits and !#$%&'*+-.^_`|~",
    is_valid: |text| http::HeaderName::from_bytes(text.as_bytes()).is_ok(),
};

pub(super) const HEADER_VALUE: TextRule = TextRule {
    allowed: "a string of visible ASCII characters and spaces",
    is_valid: |text| {
        let is_allowed = |byte: u8| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t');
        text.bytes().all(is_allowed)
    },
};

pub(super) const VARIABLE_NAME: TextRule = TextRule {
    allowed: "a name that is not empty, without '=' and NUL",
    is_valid: |text| !text.is_empty() && !text.contains(['=', '\0']),
};

/// Rule of the name of a variable that a server inherits. Those of the gateway itself are for no server.
pub(super) const INHERITED_NAME: TextRule = TextRule {
    allowed: "a name of a variable that does not begin with MCPPROXY_",
    is_valid: |text| {
        (VARIABLE_NAME.is_valid)(text) && !text.to_ascii_uppercase().starts_with("MCPPROXY_")
    },
};

impl From<Secret> for StoreAddress {
    fn from(address: Secret) -> Self {
        match address.expose() {
            "sqlite" => Self::Sqlite,
            _ => Self::Postgres(address),
        }
    }
}

/// Whether it is the name of a variable, as shells have it.
pub(super) fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|one: char| one.is_ascii_digit())
        && name
            .bytes()
            .all(|one| one.is_ascii_alphanumeric() || one == b'_')
}

/// The address a text stands for.
pub(super) fn parse_address(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost:") {
        // The port is read as part of an address, because `"+80".parse::<u16>()` succeeds.
        Some(port) => format!("{}:{port}", Ipv4Addr::LOCALHOST).parse().ok(),
        None => text.parse().ok(),
    }
}

/// Whether an address begins with a scheme, a host and, if it has one, a port. What stands before
/// the host is left to whoever connects: passwords need not be spelt as the standard has it.
fn has_host(address: &str, schemes: [&str; 2]) -> bool {
    let mut schemes = schemes.iter();
    let rest = schemes.find_map(|scheme| address.strip_prefix(scheme));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    let Some(host) = authority.and_then(|authority| authority.rsplit('@').next()) else {
        return false;
    };
    // A database may be named by the folder of its socket, with percent signs, which no authority has.
    let host = host.replace('%', "-");
    host.parse::<Authority>().is_ok_and(|host| {
        let port = host.as_str().strip_prefix(host.host()).unwrap_or_default();
        let is_number = port.strip_prefix(':').is_some_and(|port| {
            port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
        });
        !host.host().is_empty() && (port.is_empty() || is_number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port_that_is_a_number() {
        for (address, expected) in [
            ("postgres://u:p@h/d", true),
            ("postgres://u@h:5432/d", true),
            ("postgres://u@%2Fvar%2Frun%2Fpostgresql/d", true),
            ("postgres://[::1]:5432/d", true),
            ("postgres://h:+80", false),
            ("postgres://h:99999", false),
            ("postgres://u:p@", false),
            ("mysql://h", false),
        ] {
            let found = has_host(address, ["postgres://", "postgresql://"]);
            assert_eq!(found, expected, "{address}");
        }
    }
}
