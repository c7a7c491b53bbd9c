//! Strings of the file that may hold references, and what they may hold besides.
//!
//! A string with references is checked twice: whether the references are well formed, and what it
//! has become once they are replaced.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use http::uri::Authority;
use mcpproxy_redact::mask::MASKED;
use mcpproxy_redact::{OwnSecrets, Redactor};
use serde_json::{Value as Json, json};

use super::problem::shown;
use super::reader::{KeyRule, SettingsReader, Written};
use super::references;
use super::secret::{Secret, SettingText};
use super::shape::Shape;

/// Where the gateway listens when nothing else is said.
pub(super) const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8080));

/// Rule of a string that may hold references.
#[derive(Clone, Copy)]
pub(super) struct TextRule {
    /// What is allowed, in words that follow "allowed: ".
    pub(super) allowed: &'static str,
    /// Whether messages may repeat a string that is not allowed: others may hold a secret.
    is_repeated: bool,
    pub(super) is_valid: fn(&str) -> bool,
}

/// Value that a string of the file becomes.
pub(super) trait TextValue: Sized {
    /// Takes a string that the rule allows. One that is not used comes as it was written: its
    /// references lead nowhere, or something wins over it.
    fn from_text(text: Result<Secret, &str>) -> Self;

    /// Value as the file would say it, a secret hidden.
    fn shown(&self) -> Json;

    /// The secret in it.
    fn secret(&self) -> Option<&Secret> {
        None
    }
}

/// Where state is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// In a file of the data folder.
    Sqlite,
    /// In a database; the address may hold a password.
    Postgres(Secret),
}

/// Anything an operating system takes as an argument or a variable.
pub(super) const ANYTHING: TextRule = TextRule::new("a string without a NUL character", |text| {
    !text.contains('\0')
});

/// Something that names a program, a folder or a tool.
pub(super) const NOT_EMPTY: TextRule = TextRule::new(
    "a string that is not empty, without a NUL character",
    |text| !text.is_empty() && !text.contains('\0'),
);

/// Where to listen.
pub(super) const ADDRESS: TextRule = TextRule::new(
    "an address such as \"127.0.0.1:8080\", \"[::1]:8080\" or \"localhost:8080\"",
    |text| parse_address(text).is_some(),
)
.repeated();

/// A key that fits into a header.
pub(super) const API_KEY: TextRule = TextRule::new(
    "a string of visible ASCII characters without spaces that is not empty",
    |text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()),
);

/// Where a server is.
pub(super) const URL: TextRule =
    TextRule::new("an address that begins with http:// or https://", |text| {
        has_host(text, ["http://", "https://"]) && text.bytes().all(|byte| byte.is_ascii_graphic())
    });

/// Where state is kept.
pub(super) const STORE: TextRule = TextRule::new(
    "\"sqlite\", or an address that begins with postgres://",
    |text| text == "sqlite" || has_host(text, ["postgres://", "postgresql://"]),
);

/// The name of a header.
pub(super) const HEADER_NAME: TextRule = TextRule::new(
    "a header name of letters, digits and !#$%&'*+-.^_`|~",
    |text| http::HeaderName::from_bytes(text.as_bytes()).is_ok(),
)
.repeated();

/// The value of a header.
pub(super) const HEADER_VALUE: TextRule =
    TextRule::new("a string of visible ASCII characters and spaces", |text| {
        let is_allowed = |byte: u8| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t');
        text.bytes().all(is_allowed)
    });

/// The name of a variable.
pub(super) const VARIABLE_NAME: TextRule =
    TextRule::new("a name that is not empty, without '=' and NUL", |text| {
        !text.is_empty() && !text.contains(['=', '\0'])
    })
    .repeated();

impl TextRule {
    const fn new(allowed: &'static str, is_valid: fn(&str) -> bool) -> Self {
        Self {
            allowed,
            is_repeated: false,
            is_valid,
        }
    }

    const fn repeated(mut self) -> Self {
        self.is_repeated = true;
        self
    }

    /// Value of a flag or a variable of this name, taken as it stands.
    pub(super) fn given<T: TextValue>(
        &self,
        reader: &mut SettingsReader<'_>,
        name: &str,
        text: String,
    ) -> Option<T> {
        if (self.is_valid)(&text) {
            return Some(T::from_text(Ok(Secret::new(text))));
        }
        let (found, allowed) = (self.found(&text), self.allowed);
        let message = format!("{name}: found {found}, allowed: {allowed}");
        reader.problems.add_with(|| ((0, 0), message));
        None
    }

    /// What was found in place of an allowed string.
    fn found(&self, text: &str) -> String {
        match text {
            "" => "an empty string".to_owned(),
            _ if self.is_repeated => format!("\"{}\"", shown(text)),
            _ => "another string".to_owned(),
        }
    }
}

impl<T: TextValue> KeyRule<T> for TextRule {
    fn shape(&self) -> Shape {
        Shape::leaf(self.allowed, json!({ "type": "string" }))
    }

    fn read(&self, reader: &mut SettingsReader<'_>, at: Written<'_>) -> Option<T> {
        let (Written { value, path }, allowed) = (at, self.allowed);
        let Some(literal) = value.as_string_lit() else {
            return reader.leaf(self, at, None);
        };
        let raw = &*literal.value;
        if let Err(problem) = references::check(raw) {
            reader.report(value, || format!("{path}: {problem}"));
            return None;
        }
        // What references will make of it cannot be known here.
        if !raw.contains("${") && !(self.is_valid)(raw) {
            return reader.leaf(self, at, Some(Err(self.found(raw))));
        }
        if reader.overridden.contains(&path) {
            return Some(T::from_text(Err(raw)));
        }
        let problem = match reader.references.expand(raw) {
            Ok(text) if (self.is_valid)(text.expose()) => return Some(T::from_text(Ok(text))),
            Ok(_) => {
                format!("its references give a value that is not allowed, allowed: {allowed}")
            }
            Err(problem) => problem,
        };
        let goes_on = reader.report_unusable(value, format!("{path}: {problem}"));
        goes_on.then(|| T::from_text(Err(raw)))
    }

    fn shown(&self, value: &T) -> Option<Json> {
        Some(value.shown())
    }

    fn secrets<'v>(&self, value: &'v T, found: &mut Vec<&'v Secret>) {
        found.extend(value.secret());
    }
}

// === impl TextValue ===

impl TextValue for SettingText {
    fn from_text(text: Result<Secret, &str>) -> Self {
        text.map_or_else(|raw| Self::Plain(raw.to_owned()), Self::new)
    }

    /// As written; what looks like a credential in it is hidden all the same.
    fn shown(&self) -> Json {
        let redactor = Redactor::default();
        json!(redactor.text(&self.to_string(), &OwnSecrets::none()))
    }

    fn secret(&self) -> Option<&Secret> {
        match self {
            Self::Plain(_) => None,
            Self::Secret(secret) => Some(secret),
        }
    }
}

impl TextValue for Secret {
    fn from_text(text: Result<Secret, &str>) -> Self {
        text.unwrap_or_else(|_| Self::new(""))
    }

    fn shown(&self) -> Json {
        json!(MASKED)
    }

    fn secret(&self) -> Option<&Secret> {
        Some(self)
    }
}

impl TextValue for SocketAddr {
    fn from_text(text: Result<Secret, &str>) -> Self {
        let address = text.ok().and_then(|text| parse_address(text.expose()));
        address.unwrap_or(DEFAULT_LISTEN)
    }

    fn shown(&self) -> Json {
        json!(self.to_string())
    }
}

impl TextValue for StoreAddress {
    fn from_text(text: Result<Secret, &str>) -> Self {
        match text {
            Ok(address) if address.expose() != "sqlite" => Self::Postgres(address),
            _ => Self::Sqlite,
        }
    }

    fn shown(&self) -> Json {
        self.secret().map_or(json!("sqlite"), TextValue::shown)
    }

    fn secret(&self) -> Option<&Secret> {
        match self {
            Self::Sqlite => None,
            Self::Postgres(address) => Some(address),
        }
    }
}

/// The address a text stands for.
fn parse_address(text: &str) -> Option<SocketAddr> {
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
