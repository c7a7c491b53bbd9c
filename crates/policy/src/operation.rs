//! The three things a call can do.

use serde::{Deserialize, Serialize};

/// What a call does, in rising order of harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Queries data and changes nothing.
    Read,
    /// Creates or changes something.
    Write,
    /// Deletes, or changes in a way that cannot be undone.
    Destructive,
}

impl Operation {
    /// Every operation, mildest first.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Destructive];

    /// The word agents and people use: `read`, `write`, `destructive`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }

    /// The tool of our menu that declares this operation.
    pub const fn variant(self) -> &'static str {
        match self {
            Self::Read => "call_tool_read",
            Self::Write => "call_tool_write",
            Self::Destructive => "call_tool_destructive",
        }
    }

    /// Reads one of the three words, in exactly that spelling.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }

    /// Finds the operation that a tool of our menu declares.
    pub fn of_variant(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.variant() == name)
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}
