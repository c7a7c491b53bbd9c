//! Agent hints: what to do next, how sure that is, and why.
//!
//! [`AgentHints`] are built from [`Evidence`], and every number in them that matters is calculated:
//! the confidence from the evidence, roi from benefit and effort, the word of an alignment from its
//! score. A suggestion names a tool that exists. This module reads no clock, does no I/O, and never
//! takes a confidence as a number.

mod evidence;
mod generators;
mod impact;
mod merge;
mod parts;
mod schema;
mod share;
mod suggestion;
#[cfg(test)]
mod tests;
mod words;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

pub use evidence::{
    Confidence, Evidence, Factor, agreement, completeness, coverage, freshness, matched,
};
pub use generators::{changed, created, deleted, found, listed};
pub use parts::{Alternative, HintWarning, RelatedResource, ResourceMetadata, RiskFactor};
pub use schema::schema;
pub use share::Share;
pub use suggestion::Suggestion;
pub use words::{
    ActionCategory, DependencyType, Priority, RiskType, Severity, SourceQuality, ValidityPeriod,
    WarningType,
};

use crate::Tool;
use impact::Impact;
use parts::{Alignment, Dependency};

/// What an agent is told besides the data. Built with [`AgentHints::new`] or one of the
/// functions for the usual operations, such as [`found`], then extended.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[schemars(description = "What an agent may do next, how sure that is, and why.")]
#[must_use]
pub struct AgentHints {
    /// What to do next. Every action is a tool that exists.
    suggested_next_actions: Vec<Suggestion>,
    /// What the result has to do with.
    related_resources: Vec<RelatedResource>,
    /// How sure the hints are; `reasoning` tells how it was calculated.
    confidence: Confidence,
    /// How reliable the data behind the hints is.
    source_quality: SourceQuality,
    /// How long the hints hold: for the next action, about 5 minutes, an hour, a day, or until the
    /// context changes.
    validity_period: ValidityPeriod,
    /// What would make the hints better if it were known.
    context_needed: Vec<String>,
    /// What was taken for granted.
    assumptions: Vec<String>,
    /// What may go wrong.
    risk_factors: Vec<RiskFactor>,
    /// Which actions should wait for others.
    dependencies: Vec<Dependency>,
    /// What following the suggestions would bring and take.
    // As the author said; without that it is estimated from the suggestions.
    #[schemars(rename = "estimatedImpact", with = "Impact")]
    impact: Option<Impact>,
    /// How actions fit what the user prefers.
    preference_alignment: Vec<Alignment>,
    /// Why these hints, and how confidence and roi were calculated.
    // The author's part of it.
    #[schemars(rename = "reasoning", with = "String")]
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<String>,
    /// What the agent should know before it goes on.
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<HintWarning>,
    /// Other ways that were considered.
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    alternatives: Vec<Alternative>,
    /// What the suggestions have to keep to.
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    constraints: Vec<String>,
    /// Where the hints come from.
    #[schemars(skip_serializing_if = "Option::is_none")]
    metadata: Option<HintsMetadata>,
    /// Usually none or one; merged hints may come from several models.
    #[schemars(skip)]
    model_versions: Vec<String>,
}

/// Where hints come from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct HintsMetadata {
    /// When they were made, in UTC.
    generated_at: Timestamp,
    /// Who made them.
    generated_by: String,
    /// The model that made them, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    model_version: Option<String>,
    /// How long that took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    processing_time: Option<f64>,
}

// === impl AgentHints ===

impl AgentHints {
    /// Hints that rest on this evidence and hold for this long.
    pub fn new(evidence: &Evidence, validity: ValidityPeriod) -> Self {
        Self {
            suggested_next_actions: Vec::new(),
            related_resources: Vec::new(),
            confidence: evidence.confidence(),
            source_quality: evidence.source_quality,
            validity_period: validity,
            context_needed: Vec::new(),
            assumptions: Vec::new(),
            risk_factors: Vec::new(),
            dependencies: Vec::new(),
            impact: None,
            preference_alignment: Vec::new(),
            reasons: Vec::new(),
            warnings: Vec::new(),
            alternatives: Vec::new(),
            constraints: Vec::new(),
            metadata: None,
            model_versions: Vec::new(),
        }
    }

    /// Agent hints with something to do next.
    pub fn suggest(mut self, suggestion: Suggestion) -> Self {
        self.suggested_next_actions.push(suggestion);
        self
    }

    /// Agent hints with something the result has to do with.
    pub fn relate(mut self, resource: RelatedResource) -> Self {
        self.related_resources.push(resource);
        self
    }

    /// Agent hints with something that would make the hints better if it were known.
    pub fn needs(mut self, context: impl Into<String>) -> Self {
        self.context_needed.push(context.into());
        self
    }

    /// Agent hints with something that was taken for granted.
    pub fn assumes(mut self, assumption: impl Into<String>) -> Self {
        self.assumptions.push(assumption.into());
        self
    }

    /// Agent hints with something that may go wrong.
    pub fn risk(mut self, risk: RiskFactor) -> Self {
        self.risk_factors.push(risk);
        self
    }

    /// Agent hints with an action that should wait for another, and why.
    pub fn depends<Action: Tool, On: Tool>(
        mut self,
        kind: DependencyType,
        reason: Option<&str>,
    ) -> Self {
        let dependency = Dependency {
            action: Action::NAME,
            depends_on: vec![On::NAME],
            kind,
            reason: reason.map(str::to_owned),
        };
        merge::add_dependency(&mut self.dependencies, dependency);
        self
    }

    /// Agent hints with what following the suggestions would bring and take, and the names of metrics it would change,
    /// where the author knows better than the rule.
    ///
    /// Without it both are estimated. The benefit is what the most urgent suggestion promises (critical 1, high 0.75,
    /// medium 0.5, low 0.25), times the confidence. The effort is 0.1 for each suggested call up to 0.5, and for the
    /// estimated time of all of them up to another 0.5, half of which is reached after a minute.
    pub fn impact(mut self, benefit: Share, effort: Share, affected_metrics: &[&str]) -> Self {
        let metrics = affected_metrics.iter().map(ToString::to_string).collect();
        self.impact = Some(Impact::new(benefit, effort, metrics));
        self
    }

    /// Agent hints with how a tool fits what the user prefers, from -1 (against it) to 1 (exactly it), and why. The word
    /// for it follows from the score.
    pub fn aligns<Action: Tool>(
        mut self,
        preference: impl Into<String>,
        score: f64,
        explanation: Option<&str>,
    ) -> Self {
        let alignment = Alignment::new(Action::NAME, preference.into(), score, explanation);
        self.preference_alignment.push(alignment);
        self
    }

    /// Agent hints with a reason. Several reasons are told one after the other.
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reasons.push(reason.into());
        self
    }

    /// Agent hints with something the agent should know before it goes on.
    pub fn warn(mut self, warning: HintWarning) -> Self {
        self.warnings.push(warning);
        self
    }

    /// Agent hints with another way that was considered.
    pub fn alternative(mut self, alternative: Alternative) -> Self {
        self.alternatives.push(alternative);
        self
    }

    /// Agent hints with something the suggestions have to keep to.
    pub fn constrained(mut self, constraint: impl Into<String>) -> Self {
        self.constraints.push(constraint.into());
        self
    }

    /// Agent hints with the version of the model that made them. It is sent with the metadata that
    /// the pipeline adds.
    pub fn modeled(mut self, version: impl Into<String>) -> Self {
        self.model_versions = vec![version.into()];
        self
    }

    /// Suggestions of what to do next.
    pub fn suggestions(&self) -> &[Suggestion] {
        &self.suggested_next_actions
    }

    /// Confidence of the hints.
    pub fn confidence(&self) -> &Confidence {
        &self.confidence
    }

    /// Impact of following the suggestions, as the author said or estimated.
    fn estimated_impact(&self) -> Impact {
        self.impact.clone().unwrap_or_else(|| {
            Impact::estimated(&self.suggested_next_actions, self.confidence.value())
        })
    }

    /// Why these hints: the author's reasons, then how the confidence and roi came about.
    pub fn reasoning(&self) -> String {
        let impact = match &self.impact {
            Some(impact) => impact.explanation("", ""),
            None => impact::explain_estimate(&self.suggested_next_actions, self.confidence.value()),
        };
        let mut sentences: Vec<String> = self.reasons.iter().map(|text| ended(text)).collect();
        sentences.push(ended(self.confidence.explanation()));
        sentences.push(ended(&impact));
        sentences.retain(|sentence| !sentence.is_empty());
        sentences.join(" ")
    }

    /// Says where the hints come from.
    pub(crate) fn stamp(&mut self, at: Timestamp, by: String, processing_time_ms: f64) {
        let models = (!self.model_versions.is_empty()).then(|| self.model_versions.join(", "));
        self.metadata = Some(HintsMetadata {
            generated_at: at,
            generated_by: by,
            model_version: models,
            processing_time: Some(share::amount(processing_time_ms)),
        });
    }

    /// Drops everything that names an action which is not kept: suggestions, what they wait for,
    /// dependencies and alignments. Returns the names that were dropped, each once.
    pub(crate) fn retain_suggestions(&mut self, keeps: impl Fn(&str) -> bool) -> Vec<String> {
        let mut dropped: Vec<String> = Vec::new();
        let mut kept = |name: &str| {
            let keeps = keeps(name);
            if !keeps && !dropped.iter().any(|known| known == name) {
                dropped.push(name.to_owned());
            }
            keeps
        };
        self.suggested_next_actions
            .retain(|suggestion| kept(&suggestion.action));
        for suggestion in &mut self.suggested_next_actions {
            if let Some(prerequisites) = &mut suggestion.prerequisites {
                prerequisites.retain(|name| kept(name));
            }
            suggestion.prerequisites.take_if(|names| names.is_empty());
        }
        self.dependencies.retain_mut(|dependency| {
            let keeps_action = kept(dependency.action);
            dependency.depends_on.retain(|name| kept(name));
            keeps_action && !dependency.depends_on.is_empty()
        });
        self.preference_alignment
            .retain(|alignment| kept(alignment.action));
        dropped
    }
}

/// Every key in the order in which it is sent; the fields say what they are in the schema.
impl Serialize for AgentHints {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sent = serializer.serialize_map(None)?;
        sent.serialize_entry("suggestedNextActions", &self.suggested_next_actions)?;
        sent.serialize_entry("relatedResources", &self.related_resources)?;
        sent.serialize_entry("confidence", &self.confidence)?;
        sent.serialize_entry("sourceQuality", &self.source_quality)?;
        sent.serialize_entry("validityPeriod", &self.validity_period)?;
        sent.serialize_entry("contextNeeded", &self.context_needed)?;
        sent.serialize_entry("assumptions", &self.assumptions)?;
        sent.serialize_entry("riskFactors", &self.risk_factors)?;
        sent.serialize_entry("dependencies", &self.dependencies)?;
        sent.serialize_entry("estimatedImpact", &self.estimated_impact())?;
        sent.serialize_entry("preferenceAlignment", &self.preference_alignment)?;
        sent.serialize_entry("reasoning", &self.reasoning())?;
        if !self.warnings.is_empty() {
            sent.serialize_entry("warnings", &self.warnings)?;
        }
        if !self.alternatives.is_empty() {
            sent.serialize_entry("alternatives", &self.alternatives)?;
        }
        if !self.constraints.is_empty() {
            sent.serialize_entry("constraints", &self.constraints)?;
        }
        if let Some(metadata) = &self.metadata {
            sent.serialize_entry("metadata", metadata)?;
        }
        sent.end()
    }
}

/// The text as a sentence: trimmed, with a full stop unless it ends in a mark of its own.
fn ended(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', '!', '?', ':', ';']) {
        return text.to_owned();
    }
    format!("{text}.")
}
