//! The decision: may this call go on?

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Effect, Intent, Mode, Operation, effect, risk};
use mcpproxy_wire::ToolAnnotations;

/// Rules of the operator about declared intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rules {
    /// Whether the operation is declared once or twice.
    pub mode: Mode,
    /// Whether a server's annotation that contradicts the variant refuses the call.
    pub strict_server_validation: bool,
    /// Variants that a tool without annotations may be called with.
    pub unannotated: Unannotated,
}

/// Variants that a tool without annotations may be called with.
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
    /// Annotations that server and operator give it now.
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

/// Why the call is refused, with the tool as `server:tool`. The messages are part of the product's
/// interface.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Denial {
    /// The server marks the tool destructive.
    #[error("Tool '{0}' is marked destructive by server, use call_tool_destructive")]
    MarkedDestructive(String),
    /// The server marks the tool as writing, and it was called as reading.
    #[error("Tool '{0}' is marked as not read-only by server, use call_tool_write")]
    MarkedWriting(String),
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = ActivityWarning))]
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
        let permit = Permit {
            operation: variant,
            server: Arc::clone(subject.server),
            tool: Arc::clone(subject.tool),
            may_repeat: effect::may_repeat(subject.annotations),
        };
        Decision::Allow(permit, warnings)
    };
    // The server's own annotation speaks against the call: refused, or let go with a warning.
    let contradicted = |denial: Denial| {
        if rules.strict_server_validation {
            return Decision::Deny(denial);
        }
        let (code, message) = (denial.code(), denial.to_string());
        allow(vec![Warning { code, message }])
    };
    match Effect::of(subject.annotations) {
        _ if variant == Operation::Destructive => allow(Vec::new()),
        Effect::Destructive => contradicted(Denial::MarkedDestructive(subject.name())),
        Effect::Write if variant == Operation::Read => {
            contradicted(Denial::MarkedWriting(subject.name()))
        }
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
            // Where the operator has drawn the line already, a word adds nothing to it.
            let is_trusted = rules.unannotated == Unannotated::TrustAgent;
            let warning = || subject.risk_warning(variant, known_not_destructive);
            allow(is_trusted.then(warning).flatten().into_iter().collect())
        }
    }
}

/// Whether a tool may be proposed to who called another one through a variant: the variant could call it, and it does
/// not sound like more than the variant admits.
pub fn may_be_proposed(variant: Operation, subject: &Subject<'_>, rules: Rules) -> bool {
    match Effect::of(subject.annotations) {
        Effect::Read => true,
        Effect::Write => variant >= Operation::Write,
        Effect::Destructive => variant == Operation::Destructive,
        Effect::Unknown {
            known_not_destructive,
        } => {
            variant >= rules.unannotated.requires(known_not_destructive)
                && subject
                    .risk_warning(variant, known_not_destructive)
                    .is_none()
        }
    }
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

    fn risk_warning(&self, variant: Operation, known_not_destructive: bool) -> Option<Warning> {
        let (word, mut suggested) = risk::of(self.tool, self.description)?;
        if known_not_destructive {
            suggested = suggested.min(Operation::Write);
        }
        (suggested > variant).then(|| Warning {
            code: "UNANNOTATED_RISK",
            message: format!(
                "Tool '{}' has no annotations and '{word}' sounds {suggested}, consider {}",
                self.name(),
                suggested.variant()
            ),
        })
    }
}

// === impl Permit ===

impl Permit {
    /// Operation that the call was allowed as.
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
            Self::MarkedDestructive(_) | Self::MarkedWriting(_) => "SERVER_MISMATCH",
            Self::Unannotated { .. } => "UNANNOTATED_TOOL",
        }
    }

    /// The variant that would be admitted.
    pub fn call_with(&self) -> Operation {
        match self {
            Self::MarkedDestructive(_) => Operation::Destructive,
            Self::MarkedWriting(_) => Operation::Write,
            Self::Unannotated { call_with, .. } => *call_with,
        }
    }
}
