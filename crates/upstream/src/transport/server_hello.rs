//! Response of a server to `initialize`.

use mcpproxy_wire::Protocol;
use mcpproxy_wire::initialize::ServerHello;
use mcpproxy_wire::{Json, Revision};

use crate::CallError;

/// Reads the response to `initialize` and checks that we speak its revision.
pub(crate) fn read_hello(response: &Json) -> Result<(ServerHello, Revision), CallError> {
    let hello = ServerHello::parse(response).map_err(CallError::malformed)?;
    let revision = Revision::parse(&hello.protocol_version)
        .filter(|revision| revision.protocol() == Protocol::Session)
        .ok_or_else(|| {
            let named: String = hello.protocol_version.chars().take(40).collect();
            CallError::unavailable(format!(
                "it answers initialize with revision '{named}', which has no sessions we know"
            ))
        })?;
    Ok((hello, revision))
}
