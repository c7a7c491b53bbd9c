//! The decision: may this call go on?

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Effect, Intent, Mode, Operation, effect, risk};
use mcpproxy_wire::ToolAnnotations;

/// What the operator configured about declared intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rules {
    /// Whether the operation is declared once or twice.
    pub mode: Mode,
    /// Whether a server's annotation that contradicts the variant refuses the call.
    pub strict_server_validation: bool,
    /// What a tool without annotations may be called with.
    pub unannotated: Unannotated,
}

/// What a tool without annotations may be called with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unannotated {
    /// Any variant: the agent is trusted.
    #[default]
    TrustAgent,
    /// `call_tool_write` or `call_tool_destructive`.
    AtLeastWrite,
    /// `call_tool_destructive`, as MCP's own default for a missing hint suggests.
    RequireDestructive,
}

/// The tool a call is about.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// The server that offers it.
    pub server: &'a Arc<str>,
    /// Its name there.
    pub tool: &'a Arc<str>,
    /// Its description, read for words of risk when it has no annotations.
    pub description: &'a str,
    /// What server and operator say of it now.
    pub annotations: ToolAnnotations,
}

/// The outcome.
#[derive(Debug)]
pub enum Decision {
    /// The call may go on.
    Allow(Permit, Vec<Warning>),
    /// The call is refused.
    Deny(Denial),
}

/// The proof that a call of one tool was decided on.
///
/// Its fields are private and only [`decide`] makes one, so an upstream call that skipped
/// the decision, or that names another tool than was decided on, does not compile.
#[derive(Debug)]
pub struct Permit {
    operation: Operation,
    server: Arc<str>,
    tool: Arc<str>,
    may_repeat: bool,
}

/// Why the call is refused. The messages are part of the product's interface.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Denial {
    /// The server marks the tool destructive.
    #[error("Tool '{tool}' is marked destructive by server, use call_tool_destructive")]
    MarkedDestructive {
        /// `server:tool`.
        tool: String,
    },
    /// The server marks the tool as writing, and it was called as reading.
    #[error("Tool '{tool}' is marked as not read-only by server, use call_tool_write")]
    MarkedWriting {
        /// `server:tool`.
        tool: String,
    },
    /// The tool has no annotations and the operator asks for more care.
    #[error("Tool '{tool}' has no annotations, use {}", .call_with.variant())]
    Unannotated {
        /// `server:tool`.
        tool: String,
        /// The mildest variant the rules admit.
        call_with: Operation,
    },
}

/// Something the agent and the record should know about a call that went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ActivityWarning)]
pub struct Warning {
    /// The stable code programs match on.
    pub code: &'static str,
    /// What it means here.
    pub message: String,
}

/// Decides on a call from what was declared, what the tool does, and the operator's rules.
pub fn decide(intent: &Intent, subject: &Subject<'_>, rules: Rules) -> Decision {
    let variant = intent.operation();
    let allow = |warnings| {
        Decision::Allow(
            Permit {
                operation: variant,
                server: Arc::clone(subject.server),
                tool: Arc::clone(subject.tool),
                may_repeat: effect::may_repeat(subject.annotations),
            },
            warnings,
        )
    };
    match Effect::of(subject.annotations) {
        _ if variant == Operation::Destructive => allow(Vec::new()),
        Effect::Destructive => contradiction(
            Denial::MarkedDestructive {
                tool: subject.name(),
            },
            rules,
            allow,
        ),
        Effect::Write if variant == Operation::Read => contradiction(
            Denial::MarkedWriting {
                tool: subject.name(),
            },
            rules,
            allow,
        ),
        Effect::Read if variant == Operation::Write => allow(vec![subject.overly_cautious()]),
        Effect::Read | Effect::Write => allow(Vec::new()),
        Effect::Unknown {
            known_not_destructive,
        } => {
            let required = rules.unannotated.requires(known_not_destructive);
            if variant < required {
                return Decision::Deny(Denial::Unannotated {
                    tool: subject.name(),
                    call_with: required,
                });
            }
            match rules.unannotated {
                Unannotated::TrustAgent => {
                    allow(subject.risk_warning(variant, known_not_destructive))
                }
                // The operator has drawn the line already; a word adds nothing to it.
                Unannotated::AtLeastWrite | Unannotated::RequireDestructive => allow(Vec::new()),
            }
        }
    }
}

/// A call that the server's own annotation speaks against: refused, or let go with a warning.
fn contradiction(
    denial: Denial,
    rules: Rules,
    allow: impl FnOnce(Vec<Warning>) -> Decision,
) -> Decision {
    if rules.strict_server_validation {
        return Decision::Deny(denial);
    }
    allow(vec![Warning {
        code: denial.code(),
        message: denial.to_string(),
    }])
}

// === impl Rules ===

impl Default for Rules {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            strict_server_validation: true,
            unannotated: Unannotated::default(),
        }
    }
}

// === impl Unannotated ===

impl Unannotated {
    /// The mildest operation an unannotated tool may be called with.
    fn requires(self, known_not_destructive: bool) -> Operation {
        match self {
            Self::TrustAgent => Operation::Read,
            Self::AtLeastWrite => Operation::Write,
            Self::RequireDestructive if known_not_destructive => Operation::Write,
            Self::RequireDestructive => Operation::Destructive,
        }
    }
}

// === impl Subject ===

impl Subject<'_> {
    fn name(&self) -> String {
        format!("{}:{}", self.server, self.tool)
    }

    fn overly_cautious(&self) -> Warning {
        Warning {
            code: "OVERLY_CAUTIOUS",
            message: format!(
                "Tool '{}' is marked read-only by server, call_tool_read is enough",
                self.name()
            ),
        }
    }

    fn risk_warning(&self, variant: Operation, known_not_destructive: bool) -> Vec<Warning> {
        let Some((word, sounds_like)) = risk::of(self.tool, self.description) else {
            return Vec::new();
        };
        let ceiling = if known_not_destructive {
            Operation::Write
        } else {
            Operation::Destructive
        };
        let suggested = sounds_like.min(ceiling);
        if suggested <= variant {
            return Vec::new();
        }
        vec![Warning {
            code: "UNANNOTATED_RISK",
            message: format!(
                "Tool '{}' has no annotations and '{word}' sounds {suggested}, consider {}",
                self.name(),
                suggested.variant()
            ),
        }]
    }
}

// === impl Permit ===

impl Permit {
    /// What the call was allowed as.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The server it may go to.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The tool it may call there.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Whether the call can be made a second time when nobody knows what came of the first.
    pub fn may_repeat(&self) -> bool {
        self.may_repeat
    }
}

// === impl Denial ===

impl Denial {
    /// The stable code programs match on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::MarkedDestructive { .. } | Self::MarkedWriting { .. } => "SERVER_MISMATCH",
            Self::Unannotated { .. } => "UNANNOTATED_TOOL",
        }
    }

    /// The variant that would be admitted.
    pub fn call_with(&self) -> Operation {
        match self {
            Self::MarkedDestructive { .. } => Operation::Destructive,
            Self::MarkedWriting { .. } => Operation::Write,
            Self::Unannotated { call_with, .. } => *call_with,
        }
    }
}
