//! What following the suggestions would bring, and what it would take.
//!
//! The ratio of the two is calculated and never given. Where the author says nothing on benefit
//! and effort, they are estimated from the suggestions themselves.

use schemars::JsonSchema;
use serde::Serialize;

use super::share::hundredths;
use super::wire::tidy;
use super::{Confidence, Priority, Share, Suggestion};

/// The least effort in the ratio, so that nothing divides by zero.
const LEAST_EFFORT: f64 = 0.01;

/// What each suggested call adds to the effort: ten calls in a row are a lot.
const EFFORT_OF_A_CALL: f64 = 0.1;
/// What calls can add at most, and waiting likewise: each is half of the effort.
const MOST_OF_EACH: f64 = 0.5;
/// The waiting that is half of what waiting can add: after a minute, people look elsewhere.
const LONG_WAIT_MS: f64 = 60_000.0;

/// What following the suggestions would bring, and what it would take.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = tidy)]
pub(super) struct Impact {
    /// What it would bring.
    pub(super) benefit: Share,
    /// What it would take.
    pub(super) effort: Share,
    /// Benefit over effort, where an effort below 0.01 counts as 0.01.
    #[schemars(range(min = 0))]
    roi: f64,
    /// What would change, by the names of metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    affected_metrics: Option<Vec<String>>,
}

// === impl Impact ===

impl Impact {
    /// So much benefit for so much effort, and the names of metrics that would change, each once.
    pub(super) fn new(benefit: Share, effort: Share, affected_metrics: &[&str]) -> Self {
        let mut metrics: Vec<String> = Vec::new();
        for metric in affected_metrics {
            if !metrics.iter().any(|known| known == metric) {
                metrics.push((*metric).to_owned());
            }
        }
        Self {
            benefit,
            effort,
            roi: hundredths(benefit.value() / effort.value().max(LEAST_EFFORT)),
            affected_metrics: (!metrics.is_empty()).then_some(metrics),
        }
    }

    /// The names of metrics that would change.
    pub(super) fn affected_metrics(&self) -> Vec<&str> {
        let metrics = self.affected_metrics.iter().flatten();
        metrics.map(String::as_str).collect()
    }

    /// The impact that suggestions have by themselves.
    ///
    /// The benefit is what the most urgent of them promises (critical 1, high 0.75, medium 0.5,
    /// low 0.25), times the confidence. The effort is 0.1 for each call up to 0.5, and for the
    /// estimated time up to another 0.5, half of which is reached after a minute. Where nothing is
    /// suggested, both are zero.
    pub(super) fn estimated(suggestions: &[Suggestion], confidence: &Confidence) -> Self {
        let promised = suggestions
            .iter()
            .map(|suggestion| promise(suggestion.priority))
            .fold(0.0, f64::max);
        let (calls, wait) = load(suggestions);
        let effort = (calls * EFFORT_OF_A_CALL).min(MOST_OF_EACH)
            + MOST_OF_EACH * wait / (wait + LONG_WAIT_MS);
        Self::new(
            Share::clamped(promised * confidence.value()),
            Share::clamped(effort),
            &[],
        )
    }

    /// How the ratio came about when the author gave benefit and effort.
    pub(super) fn explain_given(&self) -> String {
        format!(
            "roi {}: benefit {} / effort {}",
            self.roi,
            self.benefit.value(),
            self.divisor()
        )
    }

    /// How the ratio came about when it was estimated.
    pub(super) fn explain_estimated(
        &self,
        suggestions: &[Suggestion],
        confidence: &Confidence,
    ) -> String {
        let Some(priority) = suggestions.iter().map(|one| one.priority).min() else {
            return "roi 0: nothing is suggested".to_owned();
        };
        let (calls, wait) = load(suggestions);
        format!(
            "roi {}: benefit {} (priority {priority}, confidence {}) / effort {} (suggested calls: {calls}, estimated ms: {wait})",
            self.roi,
            self.benefit.value(),
            confidence.value(),
            self.divisor(),
        )
    }

    /// The effort as the ratio sees it.
    fn divisor(&self) -> f64 {
        self.effort.value().max(LEAST_EFFORT)
    }
}

/// What a priority promises.
const fn promise(priority: Priority) -> f64 {
    match priority {
        Priority::Critical => 1.0,
        Priority::High => 0.75,
        Priority::Medium => 0.5,
        Priority::Low => 0.25,
    }
}

/// The number of calls, and the milliseconds they take together as far as that is known.
#[expect(
    clippy::cast_precision_loss,
    reason = "both are estimates, and differences beyond 2^53 change no thousandth of the effort"
)]
fn load(suggestions: &[Suggestion]) -> (f64, f64) {
    let wait = suggestions
        .iter()
        .filter_map(|suggestion| suggestion.estimated_time)
        .fold(0_u64, u64::saturating_add);
    (suggestions.len() as f64, wait as f64)
}
