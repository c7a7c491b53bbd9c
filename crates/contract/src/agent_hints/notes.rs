//! The parts of hints that weigh: preferences, warnings, alternatives.

use schemars::JsonSchema;
use serde::Serialize;

use super::wire::tidy;
use super::{AlignmentWord, Confidence, Score, Severity, Share, WarningType};
use crate::Tool;

/// From here on an action is what the user prefers.
const STRONG: f64 = 0.7;
/// From here on it fits well.
const MODERATE: f64 = 0.4;
/// From here on it fits a little. What is as far below zero is against the preference; between the
/// two it is neither.
const WEAK: f64 = 0.1;

/// How an action fits what the user prefers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = tidy)]
pub struct Alignment {
    /// The action.
    pub(super) action: &'static str,
    /// The preference.
    pub(super) preference: String,
    /// How it fits, as a word.
    #[serde(rename = "alignment")]
    word: AlignmentWord,
    /// How it fits, as a number.
    pub(super) score: Score,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<String>,
}

/// Something the agent should know before it goes on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = tidy)]
pub struct HintWarning {
    /// What it is about.
    #[serde(rename = "type")]
    kind: WarningType,
    /// How bad it is.
    severity: Severity,
    /// What is wrong.
    message: String,
    /// The ids of what it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    related_ids: Option<Vec<String>>,
    /// What would put it right.
    #[serde(skip_serializing_if = "Option::is_none")]
    suggested_fix: Option<String>,
    /// Whether that can be done without asking anybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    auto_fixable: Option<bool>,
}

/// Another way that was considered.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = tidy)]
pub struct Alternative {
    /// The other way.
    pub(super) approach: String,
    /// How sure it is.
    pub(super) confidence: Confidence,
    /// Why it is one.
    reasoning: String,
    /// What speaks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pros: Option<Vec<String>>,
    /// What speaks against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cons: Option<Vec<String>>,
    /// How much it would help.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_impact: Option<Share>,
}

// === impl Alignment ===

impl Alignment {
    /// How this tool fits a preference. The word follows from the score, so that the two cannot
    /// disagree.
    pub fn of<T: Tool>(preference: impl Into<String>, score: Score) -> Self {
        Self {
            action: T::NAME,
            preference: preference.into(),
            word: word_for(score),
            score,
            explanation: None,
        }
    }

    /// Alignment with the reason.
    #[must_use]
    pub fn because(mut self, explanation: impl Into<String>) -> Self {
        self.explanation = Some(explanation.into());
        self
    }

    /// How it fits, as a word.
    pub fn word(&self) -> AlignmentWord {
        self.word
    }
}

/// The word for a score.
fn word_for(score: Score) -> AlignmentWord {
    match score.value() {
        score if score >= STRONG => AlignmentWord::Strong,
        score if score >= MODERATE => AlignmentWord::Moderate,
        score if score >= WEAK => AlignmentWord::Weak,
        score if score > -WEAK => AlignmentWord::Neutral,
        _ => AlignmentWord::Conflict,
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

    /// Hint warning with the ids of what it concerns.
    #[must_use]
    pub fn about<I>(mut self, ids: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let known = self.related_ids.get_or_insert_default();
        known.extend(ids.into_iter().map(Into::into));
        self
    }

    /// Hint warning with what would put it right.
    #[must_use]
    pub fn fixed_by(mut self, fix: impl Into<String>) -> Self {
        self.suggested_fix = Some(fix.into());
        self
    }

    /// Hint warning with whether that can be done without asking anybody.
    #[must_use]
    pub fn auto_fixable(mut self, auto_fixable: bool) -> Self {
        self.auto_fixable = Some(auto_fixable);
        self
    }

    /// What it is about.
    pub fn kind(&self) -> WarningType {
        self.kind
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }
}

// === impl Alternative ===

impl Alternative {
    /// Another way, how sure it is, and why it is one.
    pub fn new(
        approach: impl Into<String>,
        confidence: Confidence,
        reasoning: impl Into<String>,
    ) -> Self {
        Self {
            approach: approach.into(),
            confidence,
            reasoning: reasoning.into(),
            pros: None,
            cons: None,
            estimated_impact: None,
        }
    }

    /// Alternative with something that speaks for it.
    #[must_use]
    pub fn pro(mut self, text: impl Into<String>) -> Self {
        self.pros.get_or_insert_default().push(text.into());
        self
    }

    /// Alternative with something that speaks against it.
    #[must_use]
    pub fn con(mut self, text: impl Into<String>) -> Self {
        self.cons.get_or_insert_default().push(text.into());
        self
    }

    /// Alternative with how much it would help.
    #[must_use]
    pub fn impact(mut self, impact: Share) -> Self {
        self.estimated_impact = Some(impact);
        self
    }
}
