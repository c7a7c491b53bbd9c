//! Endpoints: which tools a client gets to see.
//!
//! The protocol around them is the same at all of them.

use mcpproxy_gateway::direct::Scope;
use mcpproxy_gateway::{Failure, Gateway, menu};
use mcpproxy_policy::Rights;
use mcpproxy_wire::initialize::Announces;
use mcpproxy_wire::stateless::{CacheScope, Freshness};

const HOUR_IN_MILLISECONDS: u64 = 60 * 60 * 1_000;

/// Time that a list may be kept that changes when servers do. Who wants to know sooner can listen.
const MOMENT_IN_MILLISECONDS: u64 = 5_000;

/// Instructions for a client that gets the tools themselves.
const DIRECT_INSTRUCTIONS: &str = "The tools are those of other servers, called by their names with their own arguments. Each call is checked and recorded by what the tool's annotations say that it does.";

/// Endpoint of the gateway, by the tools that a client gets to see there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// `/mcp`: the five tools of the menu.
    Menu,
    /// `/mcp/all` and `/mcp/s/{server}`: tools of servers by their own names.
    Direct(Scope),
}

impl Endpoint {
    /// Endpoint at a path of the HTTP face.
    pub(crate) fn at(path: &str) -> Option<Self> {
        let below = path.strip_prefix("/mcp")?;
        match below {
            "" => Some(Self::Menu),
            "/all" => Some(Self::Direct(Scope::All)),
            _ => {
                let server = below.strip_prefix("/s/")?;
                let is_name = !server.is_empty() && !server.contains('/');
                is_name.then(|| Self::Direct(Scope::Server(server.into())))
            }
        }
    }

    /// Whether there is such an endpoint now for a caller with these rights.
    pub(crate) fn check(&self, gateway: &Gateway, rights: &Rights) -> Result<(), Failure> {
        match self {
            Self::Menu => Ok(()),
            Self::Direct(scope) => gateway.direct().check_scope(scope, rights),
        }
    }

    /// Whether the operator offers such an endpoint now.
    pub(crate) fn is_offered(&self, gateway: &Gateway) -> bool {
        let scope = self.scope();
        scope.is_none_or(|scope| gateway.direct().check_offered(scope).is_ok())
    }

    /// Servers whose tools are called by their own names; none at the menu.
    pub(crate) fn scope(&self) -> Option<&Scope> {
        match self {
            Self::Menu => None,
            Self::Direct(scope) => Some(scope),
        }
    }

    /// Servers whose prompts and resources are offered; the menu offers those of all servers, too.
    pub(crate) fn offerings(&self) -> Scope {
        self.scope().cloned().unwrap_or(Scope::All)
    }

    /// Freshness of a list of prompts or resources.
    pub(crate) fn offerings_freshness() -> Freshness {
        Freshness {
            ttl_ms: MOMENT_IN_MILLISECONDS,
            scope: CacheScope::Private,
        }
    }

    /// Lists whose changes are announced.
    pub(crate) fn announces(&self) -> Announces {
        match self {
            Self::Menu => Announces::Nothing,
            Self::Direct(_) => Announces::Lists,
        }
    }

    /// Instructions for a client that connects, with the servers that a caller with these rights may use.
    pub(crate) fn instructions(&self, gateway: &Gateway, rights: &Rights) -> String {
        match self {
            Self::Menu => gateway.search().introduced(menu::INSTRUCTIONS, rights),
            Self::Direct(Scope::All) => gateway.search().introduced(DIRECT_INSTRUCTIONS, rights),
            Self::Direct(_) => DIRECT_INSTRUCTIONS.to_owned(),
        }
    }

    /// Freshness of the instructions: they depend on the caller and change with the servers.
    pub(crate) fn instructions_freshness() -> Freshness {
        Self::offerings_freshness()
    }

    /// Freshness of the list of tools for a caller with these rights.
    pub(crate) fn freshness(&self, rights: &Rights) -> Freshness {
        match self {
            // It is the same for everybody who may use all of it, and changes only when an operator turns to the other
            // mode. Calls made by the old one still work, or are told what is missing.
            Self::Menu => Freshness {
                ttl_ms: HOUR_IN_MILLISECONDS,
                scope: if menu::is_whole(rights) {
                    CacheScope::Public
                } else {
                    CacheScope::Private
                },
            },
            // What a caller may see can depend on who it is.
            Self::Direct(_) => Self::offerings_freshness(),
        }
    }
}
