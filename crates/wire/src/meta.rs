//! Keys of `_meta`, each written once.

/// Member of parameters and results that holds what is said about them.
pub const META: &str = "_meta";

/// Revision that a request is written in, in the stateless protocol.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Capabilities of the client of a request, in the stateless protocol.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Name and version of the client, in the stateless protocol.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// Least severe log messages wanted during a request, in the stateless protocol.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Name and version of the server, in the stateless protocol.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// Stream of changes that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// Token that progress of a request is reported under; also a member of the notification.
pub const PROGRESS_TOKEN: &str = "progressToken";

/// Beginning of the keys of MCP itself.
pub const PROTOCOL_PREFIX: &str = "io.modelcontextprotocol/";
/// W3C trace that a request belongs to.
pub const TRACEPARENT: &str = "traceparent";

/// Beginning of the gateway's own keys; an upstream cannot set them.
pub const OWN_PREFIX: &str = "dev.mcpproxy/";
/// Part of [`OWN_PREFIX`] and of [`SERVER_INFO`] that is spelt in one way only, escapes of JSON aside: a slash has two.
pub(crate) const DROPPED_PARTS: [&str; 2] = ["dev.mcpproxy", "serverInfo"];

/// Whether clients see which server behind us a result is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerIdentity {
    /// The endpoint offers this server alone, in its own words.
    Shown,
    /// Clients speak with the gateway, which is another server.
    Hidden,
}

impl ServerIdentity {
    /// Whether a key that an upstream sets in the `_meta` of a result is not passed on.
    pub(crate) fn drops(self, key: &str) -> bool {
        key.starts_with(OWN_PREFIX) || self == Self::Hidden && key == SERVER_INFO
    }
}

/// Id by which a client links its calls. A client sets it, and a server that keeps the tool contract gets it.
pub const CORRELATION_ID: &str = "dev.mcpproxy/correlationId";
/// User on whose behalf a call is made, for servers that keep the tool contract. The gateway alone sets it.
pub const USER_ID: &str = "dev.mcpproxy/userId";
/// Record of a call in the activity log.
pub const ACTIVITY_ID: &str = "dev.mcpproxy/activity_id";
/// Request that a record belongs to.
pub const REQUEST_ID: &str = "dev.mcpproxy/request_id";
/// Warnings about a call that went on.
pub const WARNINGS: &str = "dev.mcpproxy/warnings";
/// Agent hints of the gateway for results of servers that give none.
pub const AGENT_HINTS: &str = "dev.mcpproxy/hints";
/// Definition of a tool that keeps the tool contract.
pub const CONTRACT_DEFINITION: &str = "dev.mcpproxy/definition";
