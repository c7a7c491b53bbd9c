//! The fixed words of hints: how sure, how long, how urgent, of which kind.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::schema::as_words;

/// Reliability of the data that the hints rest on. The most reliable comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline, transform = as_words)]
pub enum SourceQuality {
    /// From an authoritative, verified source.
    High,
    /// From a source that is generally reliable.
    Medium,
    /// From an uncertain or unverified source.
    Low,
    /// Nobody can tell.
    Unknown,
}

/// Time that hints hold. The shortest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline, transform = as_words)]
pub enum ValidityPeriod {
    /// For the next action only.
    Immediate,
    /// For about five minutes.
    Short,
    /// For about an hour.
    Medium,
    /// For about a day.
    Long,
    /// Until the context changes.
    Indefinite,
}

/// Urgency of a suggestion. The most urgent comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline, transform = as_words)]
pub enum Priority {
    /// Nothing else should be done before.
    Critical,
    /// Most likely what should be done next.
    High,
    /// Worth doing.
    Medium,
    /// Worth knowing of.
    Low,
}

/// Harm that would be done. The worst comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline, transform = as_words)]
pub enum Severity {
    /// Work or data is lost.
    Critical,
    /// The result may be useless.
    High,
    /// The result is worth less.
    Medium,
    /// Hardly anybody would notice.
    Low,
}

/// Purpose of a suggested action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline, transform = as_words)]
pub enum ActionCategory {
    /// To learn what there is.
    Exploration,
    /// To make better what works.
    Optimization,
    /// To put right what is wrong.
    Correction,
    /// To go on learning.
    Learning,
}

/// Thing that a risk endangers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline, transform = as_words)]
pub enum RiskType {
    /// Speed.
    Performance,
    /// Correctness of the result.
    Accuracy,
    /// Cost.
    Cost,
    /// Difficulty to understand it.
    Complexity,
    /// Feeling of the user.
    UserExperience,
}

/// Strength with which an action depends on others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline, transform = as_words)]
pub enum DependencyType {
    /// It fails without them.
    Required,
    /// It works better after them.
    Recommended,
    /// They may as well come first.
    Optional,
}

/// Subject of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline, transform = as_words)]
pub enum WarningType {
    /// Something given is not right.
    Validation,
    /// Something is there twice.
    Duplicate,
    /// Two things exclude each other.
    Conflict,
    /// Something is going to be removed.
    Deprecation,
    /// Something is slow or overloaded.
    Performance,
}

impl fmt::Display for SourceQuality {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}
