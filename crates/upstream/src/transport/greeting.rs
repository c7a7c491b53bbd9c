//! Greeting of a server.

use mcpproxy_wire::initialize::ServerHello;
use mcpproxy_wire::{Capabilities, Introduction, Json, ListChanges, Protocol, Revision};

use crate::CallError;

/// Greeting of a server: what it said of itself when the connection was opened, in either protocol.
#[derive(Debug, Default)]
pub(crate) struct Greeting {
    pub(crate) server_info: Option<Json>,
    pub(crate) revision: Option<Revision>,
    /// Whether every change of its tools will reach us from now on.
    pub(crate) announces: bool,
    /// Whether it sends log messages in a session.
    pub(crate) has_logging: bool,
    /// Capabilities that it declared.
    pub(crate) capabilities: Capabilities,
    pub(crate) introduction: Introduction,
}

/// Reads the response to `initialize` and checks that we speak its revision.
pub(crate) fn read_hello(response: &Json) -> Result<(Greeting, Revision), CallError> {
    let hello = ServerHello::parse(response).map_err(CallError::malformed)?;
    let revision = Revision::parse(&hello.protocol_version)
        .filter(|revision| revision.protocol() == Protocol::Session)
        .ok_or_else(|| {
            let named: String = hello.protocol_version.chars().take(40).collect();
            CallError::unavailable(format!(
                "it answers initialize with revision '{named}', which has no sessions we know"
            ))
        })?;
    let greeting = Greeting {
        server_info: hello.server_info,
        revision: Some(revision),
        announces: hello.capabilities.tools == Some(ListChanges::Announced),
        has_logging: hello.has_logging,
        capabilities: hello.capabilities,
        introduction: hello.introduction,
    };
    Ok((greeting, revision))
}
