//! Rights: what a caller may see and do.
//!
//! There are three roles. The administrator has the key, or comes to REST and commands through the local socket. An
//! agent with a token has what the token grants. An agent without a credential has what the operator leaves to it.
//! [`Rights::allow`] is the one function that decides; what it refuses does not exist for the caller.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::glob::ToolGlob;
use crate::{Effect, Operation};

/// Name of the server with the gateway's own tools. A token has to name it to use it.
pub const ADMIN_SERVER: &str = "mcpproxy";

/// Permissions of administration: an agent without a credential never has them.
pub const ADMINISTRATION: [&str; 2] = ["activity:prune", "servers:restart"];

/// Ending of permissions that only look.
const READING: &str = ":read";

/// Rights of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rights {
    /// Everything: a person at the terminal, or whoever shows the key.
    Administrator,
    /// Rights that a token grants.
    Token(Arc<AgentToken>),
    /// Rights of an agent without a credential.
    Anonymous(AnonymousRole),
}

/// Role of an agent without a credential that is let in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnonymousRole {
    /// Every tool, but no administration.
    #[default]
    Full,
    /// What reads.
    Read,
}

/// Token of an agent: who it is, and what it grants. Its secret is not in here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentToken {
    /// Id that never belongs to another token, also after this one is gone.
    pub id: Arc<str>,
    /// Name that people gave it.
    pub name: Arc<str>,
    /// Grant of the token.
    pub grant: TokenGrant,
}

/// Grant of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenGrant {
    /// Servers that may be used; every one but that of the gateway's own tools, if none is named.
    pub servers: Option<Vec<String>>,
    /// Operations that calls may have.
    pub operations: OperationSet,
    /// Patterns of which `server:tool` has to match one; all tools, if there are none.
    pub tools: Vec<ToolGlob>,
    /// Permissions for tools of the contract, each `resource:action`.
    pub permissions: Vec<String>,
    /// Records that may be seen.
    pub activity: ActivityAccess,
    /// Whether tools without annotations may be called without the operation `destructive`.
    pub unannotated: bool,
}

/// Records that a token may see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActivityAccess {
    /// Those of its own calls.
    #[default]
    Own,
    /// All.
    All,
}

/// Set of operations, in rising order of harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<&'static str>")]
pub struct OperationSet([bool; Operation::ALL.len()]);

/// Thing that a caller wants access to, for [`Rights::allow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessTo<'a> {
    /// Administration of the gateway.
    Administration,
    /// Calls of this operation.
    Operation(Operation),
    /// A server: that there is one of this name.
    Server(&'a str),
    /// A tool.
    Tool {
        /// Server of the tool.
        server: &'a str,
        /// `server:tool`.
        qualified: &'a str,
        /// Effect of the tool.
        effect: Effect,
    },
    /// Prompts and resources of a server.
    PromptsResources(&'a str),
    /// Permission for a tool of the contract.
    Permission(&'a str),
    /// Records of other callers.
    AllRecords,
}

// === impl Rights ===

impl Rights {
    /// Whether a caller with these rights may have what it wants.
    pub fn allow(&self, access: AccessTo<'_>) -> bool {
        match self {
            Self::Administrator => true,
            Self::Token(token) => token.grant.allows(access),
            Self::Anonymous(role) => role.allows(access),
        }
    }

    /// Whether everything that upstreams offer may be used, so that nothing has to be left out of lists.
    pub fn allow_all_tools(&self) -> bool {
        matches!(
            self,
            Self::Administrator | Self::Anonymous(AnonymousRole::Full)
        )
    }

    /// Token that they come from.
    pub fn token(&self) -> Option<&Arc<AgentToken>> {
        match self {
            Self::Token(token) => Some(token),
            Self::Administrator | Self::Anonymous(_) => None,
        }
    }
}

impl Default for Rights {
    fn default() -> Self {
        Self::Anonymous(AnonymousRole::default())
    }
}

// === impl AnonymousRole ===

impl AnonymousRole {
    fn allows(self, access: AccessTo<'_>) -> bool {
        match (access, self) {
            (AccessTo::Administration | AccessTo::AllRecords, _) => false,
            (AccessTo::Permission(permission), Self::Full) => !ADMINISTRATION.contains(&permission),
            (AccessTo::Permission(permission), Self::Read) => permission.ends_with(READING),
            (_, Self::Full) | (AccessTo::Server(_) | AccessTo::PromptsResources(_), Self::Read) => {
                true
            }
            (AccessTo::Operation(operation), Self::Read) => operation == Operation::Read,
            (AccessTo::Tool { effect, .. }, Self::Read) => effect == Effect::Read,
        }
    }
}

// === impl TokenGrant ===

impl TokenGrant {
    fn allows(&self, access: AccessTo<'_>) -> bool {
        match access {
            AccessTo::Administration => false,
            AccessTo::Operation(operation) => self.operations.contains(operation),
            AccessTo::Server(server) => self.has_server(server),
            AccessTo::Tool {
                server,
                qualified,
                effect,
            } => {
                self.has_server(server)
                    && self.operations.contains(effect.call_with())
                    && (self.has_effect(effect))
                    && (self.tools.is_empty() || self.matches(qualified))
            }
            // They are of a server and not of a tool: a grant of single tools has none of them.
            AccessTo::PromptsResources(server) => {
                let of_all = |glob: &ToolGlob| glob.matches_all_of(server);
                self.has_server(server)
                    && self.operations.contains(Operation::Read)
                    && (self.tools.is_empty() || self.tools.iter().any(of_all))
            }
            AccessTo::Permission(permission) => {
                self.permissions.iter().any(|one| one == permission)
            }
            AccessTo::AllRecords => self.activity == ActivityAccess::All,
        }
    }

    /// Whether a server is within the grant. One of which no tool can be is not: it would only be shown.
    fn has_server(&self, server: &str) -> bool {
        let is_named = match &self.servers {
            Some(named) => named.iter().any(|one| one == server),
            None => server != ADMIN_SERVER,
        };
        is_named && (self.tools.is_empty() || self.tools.iter().any(|glob| glob.concerns(server)))
    }

    /// Whether a tool of an effect that nobody settled is within the grant.
    fn has_effect(&self, effect: Effect) -> bool {
        !matches!(effect, Effect::Unknown { .. })
            || self.unannotated
            || self.operations.contains(Operation::Destructive)
    }

    fn matches(&self, qualified: &str) -> bool {
        self.tools.iter().any(|glob| glob.matches(qualified))
    }
}

impl Default for TokenGrant {
    fn default() -> Self {
        Self {
            servers: None,
            operations: OperationSet::of(&[Operation::Read]),
            tools: Vec::new(),
            permissions: Vec::new(),
            activity: ActivityAccess::Own,
            unannotated: false,
        }
    }
}

// === impl OperationSet ===

impl OperationSet {
    /// Set of these operations.
    pub fn of(operations: &[Operation]) -> Self {
        Self(Operation::ALL.map(|one| operations.contains(&one)))
    }

    /// Whether it has an operation.
    pub fn contains(self, operation: Operation) -> bool {
        self.iter().any(|one| one == operation)
    }

    /// Operations of the set, the mildest first.
    pub fn iter(self) -> impl Iterator<Item = Operation> {
        let all = Operation::ALL.into_iter().zip(self.0);
        all.filter_map(|(operation, is_in)| is_in.then_some(operation))
    }
}

impl TryFrom<Vec<String>> for OperationSet {
    type Error = String;

    fn try_from(words: Vec<String>) -> Result<Self, String> {
        let operations = words.iter().map(|word| {
            Operation::parse(word).ok_or_else(|| {
                format!("unknown operation '{word}': must be read, write, or destructive")
            })
        });
        Ok(Self::of(&operations.collect::<Result<Vec<_>, _>>()?))
    }
}

impl From<OperationSet> for Vec<&'static str> {
    fn from(set: OperationSet) -> Self {
        set.iter().map(Operation::as_str).collect()
    }
}
