//! Parts of hints: resources, risks, dependencies, preferences, warnings, alternatives.
//!
//! A part whose fields may say anything is a struct to be filled in. The others, which name tools or hold a number that
//! follows from another, are made by [`AgentHints`](super::AgentHints).

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::share::thousandths;
use super::{Confidence, DependencyType, RiskType, Severity, Share, SourceQuality, WarningType};

/// Something the result has to do with.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RelatedResource {
    /// What kind of thing it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub label: String,
    /// How much the result has to do with it.
    pub relevance: Share,
    /// More on the thing itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<ResourceMetadata>,
}

/// More on a related thing. Every field may be missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceMetadata {
    /// The group it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// When it was last used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_accessed: Option<Timestamp>,
    /// How often it was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub access_count: Option<u64>,
    /// How reliable it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "measure")]
    pub quality: Option<SourceQuality>,
    /// How new it is, in words: "current".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "measure")]
    pub freshness: Option<String>,
}

/// Something that may go wrong when the suggestions are followed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RiskFactor {
    /// What it endangers.
    #[serde(rename = "type")]
    pub kind: RiskType,
    /// How bad it would be.
    pub severity: Severity,
    /// What may go wrong.
    pub description: String,
    /// How likely it is.
    pub probability: Share,
    /// How much of the result it would touch.
    pub impact: Share,
    /// What helps against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mitigation: Option<String>,
}

/// An action that should wait for others. It always names at least one of them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Dependency {
    /// The action that waits.
    pub(super) action: &'static str,
    /// What it waits for.
    pub(super) depends_on: Vec<&'static str>,
    /// How much it depends on them.
    #[serde(rename = "type")]
    pub(super) kind: DependencyType,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

/// How an action fits what the user prefers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Alignment {
    /// The action.
    pub(super) action: &'static str,
    /// The preference.
    pub(super) preference: String,
    /// How it fits, as a word.
    #[serde(rename = "alignment")]
    word: AlignmentWord,
    /// How it fits, as a number.
    #[schemars(schema_with = "score")]
    pub(super) score: f64,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<String>,
}

/// Fit of an action to a preference, from what the user wants to what the user wants to avoid.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum AlignmentWord {
    Strong,
    Moderate,
    Weak,
    Neutral,
    Conflict,
}

/// Something the agent should know before it goes on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HintWarning {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: WarningType,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The ids of what it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub related_ids: Option<Vec<String>>,
    /// What would put it right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggested_fix: Option<String>,
    /// Whether that can be done without asking anybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_fixable: Option<bool>,
}

/// Another way that was considered.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Alternative {
    /// The other way.
    pub approach: String,
    /// How sure it is.
    pub confidence: Confidence,
    /// Why it is one.
    pub reasoning: String,
    /// What speaks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pros: Option<Vec<String>>,
    /// What speaks against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cons: Option<Vec<String>>,
    /// How much it would help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_impact: Option<Share>,
}

// === impl RelatedResource ===

impl RelatedResource {
    /// A thing of this type, by its id and its name for people.
    pub fn new(
        kind: impl Into<String>,
        id: impl Into<String>,
        label: impl Into<String>,
        relevance: Share,
    ) -> Self {
        Self {
            kind: kind.into(),
            id: id.into(),
            label: label.into(),
            relevance,
            metadata: None,
        }
    }

    /// The thing in one text: "deck 'Math Deck' (`deck_456`)".
    pub(super) fn name(&self) -> String {
        format!("{} '{}' ({})", self.kind, self.label, self.id)
    }
}

fn score(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "number", "minimum": -1, "maximum": 1 })
}

/// Schema of what the contract names without saying what it is: others may send a word or a number.
fn measure(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "number"] })
}

// === impl Alignment ===

impl Alignment {
    /// Alignment with this score, in thousandths. The word follows from it, so that the two cannot disagree; not a
    /// number counts as neither for nor against.
    pub(super) fn new(
        action: &'static str,
        preference: String,
        score: f64,
        explanation: Option<&str>,
    ) -> Self {
        let score = if score.is_nan() { 0.0 } else { score };
        // Never a negative zero.
        let score = thousandths(score.clamp(-1.0, 1.0)) + 0.0;
        Self {
            action,
            preference,
            word: match score {
                0.7.. => AlignmentWord::Strong,
                0.4.. => AlignmentWord::Moderate,
                0.1.. => AlignmentWord::Weak,
                ..=-0.1 => AlignmentWord::Conflict,
                _ => AlignmentWord::Neutral,
            },
            score,
            explanation: explanation.map(str::to_owned),
        }
    }
}

// === impl HintWarning ===

impl HintWarning {
    /// A warning: what it is about, how bad it is, and what is wrong.
    pub fn new(kind: WarningType, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            kind,
            severity,
            message: message.into(),
            related_ids: None,
            suggested_fix: None,
            auto_fixable: None,
        }
    }
}
