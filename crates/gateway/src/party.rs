//! Who makes a request.

use std::sync::Arc;

use mcpproxy_activity::Caller;
use mcpproxy_upstream::client::ClientLink;

/// Who makes a request, and the way back to it while the request is open.
#[derive(Debug, Clone, Copy)]
pub struct Party<'a> {
    /// Who it is, for decisions and for the record.
    pub caller: &'a Arc<Caller>,
    /// The way back; there is none to callers of other interfaces than MCP.
    pub client: Option<&'a Arc<ClientLink>>,
}

impl<'a> From<&'a Arc<Caller>> for Party<'a> {
    fn from(caller: &'a Arc<Caller>) -> Self {
        Self {
            caller,
            client: None,
        }
    }
}
