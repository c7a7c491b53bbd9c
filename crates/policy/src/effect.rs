//! Effect of a tool, as its server (and the operator) say.

use mcpproxy_wire::ToolAnnotations;

use crate::Operation;

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

impl Effect {
    /// Effect that these annotations tell of a tool.
    pub fn of(annotations: ToolAnnotations) -> Self {
        match (annotations.destructive, annotations.read_only) {
            (Some(true), _) => Self::Destructive,
            (_, Some(true)) => Self::Read,
            (_, Some(false)) => Self::Write,
            (destructive, None) => Self::Unknown {
                known_not_destructive: destructive == Some(false),
            },
        }
    }

    /// Variant to recommend for a tool of this effect.
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

/// Whether a call can be repeated without doing more than one call does: the tool only reads, or
/// it is said to be idempotent. What may be lost is never tried twice.
pub(crate) fn may_repeat(annotations: ToolAnnotations) -> bool {
    match Effect::of(annotations) {
        Effect::Read => true,
        Effect::Write => annotations.idempotent == Some(true),
        Effect::Destructive | Effect::Unknown { .. } => false,
    }
}
