//! What a tool does, as its server (and the operator) say.

use serde::{Deserialize, Serialize};

use crate::Operation;

/// The hints of MCP's tool annotations that bear on decisions, each given or not.
///
/// Absent and false differ: an absent hint says nothing, so it stays `None` here and no
/// default of the protocol is filled in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hints {
    /// `readOnlyHint`: the tool changes nothing.
    pub read_only: Option<bool>,
    /// `destructiveHint`: the tool may delete or overwrite.
    pub destructive: Option<bool>,
    /// `idempotentHint`: repeating a call has no further effect.
    pub idempotent: Option<bool>,
    /// `openWorldHint`: the tool reaches beyond its own server.
    pub open_world: Option<bool>,
}

/// The class of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Marked read-only.
    Read,
    /// Marked as not read-only, and not marked destructive.
    Write,
    /// Marked destructive, whatever else is said.
    Destructive,
    /// Neither read-only nor destructive is settled by the annotations.
    Unknown {
        /// The server said `destructiveHint: false`, and nothing on reading.
        known_not_destructive: bool,
    },
}

// === impl Hints ===

impl Hints {
    /// Merges operator hints over these, hint by hint; a hint the operator gives wins.
    #[must_use]
    pub fn overridden_by(self, operator: Self) -> Self {
        Self {
            read_only: operator.read_only.or(self.read_only),
            destructive: operator.destructive.or(self.destructive),
            idempotent: operator.idempotent.or(self.idempotent),
            open_world: operator.open_world.or(self.open_world),
        }
    }

    /// Whether a call can be repeated without doing more than one call does: it only reads, or it
    /// is said to be idempotent. What may be lost is never tried twice.
    pub fn may_repeat(self) -> bool {
        match self.effect() {
            Effect::Read => true,
            Effect::Write => self.idempotent == Some(true),
            Effect::Destructive | Effect::Unknown { .. } => false,
        }
    }

    /// The class these hints put a tool in.
    pub fn effect(self) -> Effect {
        match (self.destructive, self.read_only) {
            (Some(true), _) => Effect::Destructive,
            (_, Some(true)) => Effect::Read,
            (_, Some(false)) => Effect::Write,
            (destructive, None) => Effect::Unknown {
                known_not_destructive: destructive == Some(false),
            },
        }
    }
}

// === impl Effect ===

impl Effect {
    /// The variant to recommend for a tool of this class.
    pub fn call_with(self) -> Operation {
        match self {
            Self::Read => Operation::Read,
            Self::Destructive => Operation::Destructive,
            Self::Write | Self::Unknown { .. } => Operation::Write,
        }
    }

    /// The word shown to people: `read`, `write`, `destructive` or `unknown`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
            Self::Unknown { .. } => "unknown",
        }
    }
}
