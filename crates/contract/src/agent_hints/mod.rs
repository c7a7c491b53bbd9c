//! What an agent is told besides the data: what to do next, how sure that is, and why.
//!
//! [`AgentHints`] are built from [`Evidence`], and every number in them that matters is calculated:
//! the confidence from the evidence, roi from benefit and effort, the word of an alignment from its
//! score. A suggestion names a tool that exists. This module reads no clock, does no I/O, and never
//! takes a confidence as a number.
//!
//! ```
//! use std::time::Duration;
//! use mcpproxy_contract::agent_hints::*;
//!
//! let evidence = Evidence::new(SourceQuality::High, completeness(5, 6))
//!     .and(freshness(Duration::from_secs(60), Duration::from_secs(3600)));
//! let hints = AgentHints::new(&evidence, ValidityPeriod::Short)
//!     .because("The card was read from its own store.");
//! assert!(hints.reasoning().contains("completeness 0.83 (5 of 6, weight 3)"));
//! ```

mod evidence;
mod generators;
mod impact;
mod merge;
mod parts;
mod share;
mod suggestion;
#[cfg(test)]
mod tests;
mod wire;
mod words;

use jiff::Timestamp;

pub use evidence::{
    Confidence, Evidence, Factor, agreement, completeness, coverage, freshness, matched,
};
pub use generators::{changed, created, deleted, failed, found, listed};
pub use parts::{Alternative, HintWarning, RelatedResource, ResourceMetadata, RiskFactor};
pub use share::Share;
pub use suggestion::Suggestion;
pub(crate) use wire::REQUIRED_KEYS;
pub use wire::schema;
pub use words::{
    ActionCategory, DependencyType, Priority, RiskType, Severity, SourceQuality, ValidityPeriod,
    WarningType,
};

use crate::Tool;
use impact::Impact;
use parts::{Alignment, Dependency};

/// What an agent is told besides the data. Built with [`AgentHints::new`] or one of the
/// functions for the usual operations, such as [`found`], then extended.
#[derive(Debug, Clone)]
pub struct AgentHints {
    suggestions: Vec<Suggestion>,
    resources: Vec<RelatedResource>,
    confidence: Confidence,
    source_quality: SourceQuality,
    validity: ValidityPeriod,
    context_needed: Vec<String>,
    assumptions: Vec<String>,
    risks: Vec<RiskFactor>,
    dependencies: Vec<Dependency>,
    /// What the author says; without it, the impact is estimated from the suggestions.
    impact: Option<Impact>,
    alignments: Vec<Alignment>,
    reasons: Vec<String>,
    warnings: Vec<HintWarning>,
    alternatives: Vec<Alternative>,
    constraints: Vec<String>,
    /// Usually none or one; merged hints may come from several models.
    model_versions: Vec<String>,
    stamp: Option<Stamp>,
}

/// Where hints come from, as the pipeline knows it.
#[derive(Debug, Clone)]
struct Stamp {
    generated_at: Timestamp,
    generated_by: String,
    processing_time_ms: f64,
}

// === impl AgentHints ===

impl AgentHints {
    /// Hints that rest on this evidence and hold for this long.
    pub fn new(evidence: &Evidence, validity: ValidityPeriod) -> Self {
        Self {
            suggestions: Vec::new(),
            resources: Vec::new(),
            confidence: evidence.confidence(),
            source_quality: evidence.source_quality(),
            validity,
            context_needed: Vec::new(),
            assumptions: Vec::new(),
            risks: Vec::new(),
            dependencies: Vec::new(),
            impact: None,
            alignments: Vec::new(),
            reasons: Vec::new(),
            warnings: Vec::new(),
            alternatives: Vec::new(),
            constraints: Vec::new(),
            model_versions: Vec::new(),
            stamp: None,
        }
    }

    /// Agent hints with something to do next.
    #[must_use]
    pub fn suggest(mut self, suggestion: Suggestion) -> Self {
        self.suggestions.push(suggestion);
        self
    }

    /// Agent hints with something the result has to do with.
    #[must_use]
    pub fn relate(mut self, resource: RelatedResource) -> Self {
        self.resources.push(resource);
        self
    }

    /// Agent hints with something that would make the hints better if it were known.
    #[must_use]
    pub fn needs(mut self, context: impl Into<String>) -> Self {
        self.context_needed.push(context.into());
        self
    }

    /// Agent hints with something that was taken for granted.
    #[must_use]
    pub fn assumes(mut self, assumption: impl Into<String>) -> Self {
        self.assumptions.push(assumption.into());
        self
    }

    /// Agent hints with something that may go wrong.
    #[must_use]
    pub fn risk(mut self, risk: RiskFactor) -> Self {
        self.risks.push(risk);
        self
    }

    /// Agent hints with an action that should wait for another, and why.
    #[must_use]
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
        merge::unite_dependencies(&mut self.dependencies, vec![dependency]);
        self
    }

    /// Agent hints with what following the suggestions would bring and take, and the names of metrics it would change,
    /// where the author knows better than the rule.
    ///
    /// Without it both are estimated. The benefit is what the most urgent suggestion promises (critical 1, high 0.75,
    /// medium 0.5, low 0.25), times the confidence. The effort is 0.1 for each suggested call up to 0.5, and for the
    /// estimated time of all of them up to another 0.5, half of which is reached after a minute.
    #[must_use]
    pub fn impact(mut self, benefit: Share, effort: Share, affected_metrics: &[&str]) -> Self {
        self.impact = Some(Impact::new(benefit, effort, affected_metrics));
        self
    }

    /// Agent hints with how a tool fits what the user prefers, from -1 (against it) to 1 (exactly it), and why. The word
    /// for it follows from the score.
    #[must_use]
    pub fn aligns<Action: Tool>(
        mut self,
        preference: impl Into<String>,
        score: f64,
        explanation: Option<&str>,
    ) -> Self {
        let alignment = Alignment::new(Action::NAME, preference.into(), score, explanation);
        self.alignments.push(alignment);
        self
    }

    /// Agent hints with a reason. Several reasons are told one after the other.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reasons.push(reason.into());
        self
    }

    /// Agent hints with something the agent should know before it goes on.
    #[must_use]
    pub fn warn(mut self, warning: HintWarning) -> Self {
        self.warnings.push(warning);
        self
    }

    /// Agent hints with another way that was considered.
    #[must_use]
    pub fn alternative(mut self, alternative: Alternative) -> Self {
        self.alternatives.push(alternative);
        self
    }

    /// Agent hints with something the suggestions have to keep to.
    #[must_use]
    pub fn constrained(mut self, constraint: impl Into<String>) -> Self {
        self.constraints.push(constraint.into());
        self
    }

    /// Agent hints with the version of the model that made them. It is sent with the metadata that
    /// the pipeline adds.
    #[must_use]
    pub fn modeled(mut self, version: impl Into<String>) -> Self {
        self.model_versions = vec![version.into()];
        self
    }

    /// What to do next.
    pub fn suggestions(&self) -> &[Suggestion] {
        &self.suggestions
    }

    /// How sure the hints are.
    pub fn confidence(&self) -> &Confidence {
        &self.confidence
    }

    /// What following the suggestions would bring and take, as the author said or estimated.
    fn estimated_impact(&self) -> Impact {
        match &self.impact {
            Some(impact) => impact.clone(),
            None => Impact::estimated(&self.suggestions, &self.confidence),
        }
    }

    /// Why these hints: the author's reasons, then how the confidence and roi came about.
    pub fn reasoning(&self) -> String {
        let impact = match &self.impact {
            Some(impact) => impact.explain_given(),
            None => self
                .estimated_impact()
                .explain_estimated(&self.suggestions, &self.confidence),
        };
        let mut sentences: Vec<String> = self.reasons.iter().map(|text| ended(text)).collect();
        sentences.push(ended(self.confidence.explanation()));
        sentences.push(ended(&impact));
        sentences.retain(|sentence| !sentence.is_empty());
        sentences.join(" ")
    }

    /// Says where the hints come from.
    pub(crate) fn stamp(
        &mut self,
        generated_at: Timestamp,
        generated_by: String,
        processing_time_ms: f64,
    ) {
        let processing_time_ms = if processing_time_ms > 0.0 {
            processing_time_ms.min(f64::MAX)
        } else {
            0.0
        };
        self.stamp = Some(Stamp {
            generated_at,
            generated_by,
            processing_time_ms,
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
        self.suggestions
            .retain(|suggestion| kept(&suggestion.action));
        for suggestion in &mut self.suggestions {
            if let Some(prerequisites) = &mut suggestion.prerequisites {
                prerequisites.retain(|name| kept(name));
            }
            suggestion.prerequisites.take_if(|names| names.is_empty());
        }
        self.dependencies = std::mem::take(&mut self.dependencies)
            .into_iter()
            .filter_map(|dependency| dependency.keeping(&mut kept))
            .collect();
        self.alignments.retain(|alignment| kept(alignment.action));
        dropped
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
