//! The two protocols of MCP: with sessions, or with requests that each carry their context.
//!
//! A section is measured in one of them, on both faces of the gateway. Must never mix them: a number that is half one
//! protocol and half the other says nothing of either.

use clap::ValueEnum;

/// What a client says of itself in each request of the stateless protocol, as the first member of its parameters.
const INTRODUCTION: &str = concat!(
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"mcpproxy-bench","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""},"io.modelcontextprotocol/clientCapabilities":{}},"#,
);

/// How clients, gateway and upstream of a section speak with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// `initialize` opens a session that every later request belongs to.
    Session,
    /// Every request says for itself who asks and in which revision.
    Stateless,
}

impl Protocol {
    /// The name used in options and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Stateless => "stateless",
        }
    }

    /// The revision that is spoken in it here.
    pub(crate) fn revision(self) -> &'static str {
        match self {
            Self::Session => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }

    /// The gateway's setting `protocol` that makes it speak to a server in this protocol and no other.
    pub(crate) fn setting(self) -> &'static str {
        match self {
            Self::Session => "legacy",
            Self::Stateless => "modern",
        }
    }

    /// What the parameters of each request begin with, as JSON up to the next member.
    pub(crate) fn introduction(self) -> &'static str {
        match self {
            Self::Session => "",
            Self::Stateless => INTRODUCTION,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_introduction_names_revision_client_and_capabilities() {
        let read = |protocol: Protocol| -> Value {
            let text = format!(r#"{{{}"last":1}}"#, protocol.introduction());
            serde_json::from_str(&text).unwrap()
        };
        assert_eq!(read(Protocol::Session), json!({ "last": 1 }));
        let expected = json!({
            "io.modelcontextprotocol/protocolVersion": Protocol::Stateless.revision(),
            "io.modelcontextprotocol/clientInfo": {
                "name": "mcpproxy-bench", "version": env!("CARGO_PKG_VERSION") },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let parameters = read(Protocol::Stateless);
        assert_eq!(parameters, json!({ "_meta": expected, "last": 1 }));
    }

    #[test]
    fn options_and_reports_use_the_same_names() {
        for protocol in Protocol::value_variants() {
            assert_eq!(Protocol::from_str(protocol.name(), false), Ok(*protocol));
        }
    }
}
