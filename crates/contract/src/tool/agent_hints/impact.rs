//! Impact of following the suggestions: what it would bring, and what it would take.
//!
//! The ratio of the two is calculated and never given. Where the author says nothing on benefit
//! and effort, they are estimated from the suggestions themselves.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Priority, Share, Suggestion};

/// The least effort in the ratio, so that nothing divides by zero.
const LEAST_EFFORT: f64 = 0.01;

/// Effort that each suggested call adds: ten calls in a row are a lot.
const EFFORT_OF_A_CALL: f64 = 0.1;
/// Most that calls can add, and waiting likewise: each is half of the effort.
const MOST_OF_EACH: f64 = 0.5;
/// The waiting that is half of what waiting can add: after a minute, people look elsewhere.
const LONG_WAIT_MS: f64 = 60_000.0;

/// What following the suggestions would bring, and what it would take.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Impact {
    /// What it would bring.
    pub(super) benefit: Share,
    /// What it would take.
    pub(super) effort: Share,
    /// Benefit over effort, where an effort below 0.01 counts as 0.01.
    #[schemars(range(min = 0))]
    roi: f64,
    /// What would change, by the names of metrics.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) affected_metrics: Vec<String>,
}

// === impl Impact ===

impl Impact {
    /// Impact of so much benefit for so much effort, and the names of metrics that would change, each once.
    pub(super) fn new(benefit: Share, effort: Share, metrics: Vec<String>) -> Self {
        let mut affected_metrics = Vec::new();
        for metric in metrics {
            if !affected_metrics.contains(&metric) {
                affected_metrics.push(metric);
            }
        }
        let roi = benefit.value() / effort.value().max(LEAST_EFFORT);
        Self {
            benefit,
            effort,
            roi: (roi * 100.0).round() / 100.0,
            affected_metrics,
        }
    }

    /// The impact that suggestions have by themselves, see [`AgentHints::impact`](super::AgentHints::impact). Where
    /// nothing is suggested, both are zero.
    pub(super) fn estimated(suggestions: &[Suggestion], confidence: f64) -> Self {
        let promised = most_urgent(suggestions).map_or(0.0, promise);
        let (calls, wait) = load(suggestions);
        let effort = (calls * EFFORT_OF_A_CALL).min(MOST_OF_EACH)
            + MOST_OF_EACH * wait / (wait + LONG_WAIT_MS);
        let benefit = Share::clamped(promised * confidence);
        Self::new(benefit, Share::clamped(effort), Vec::new())
    }

    /// Explanation of the ratio, with what there is to say on either side of it.
    pub(super) fn explanation(&self, on_benefit: &str, on_effort: &str) -> String {
        let (roi, benefit) = (self.roi, self.benefit.value());
        let effort = self.effort.value().max(LEAST_EFFORT);
        format!("roi {roi}: benefit {benefit}{on_benefit} / effort {effort}{on_effort}")
    }
}

/// Explanation of the ratio when it was estimated.
pub(super) fn explain_estimate(suggestions: &[Suggestion], confidence: f64) -> String {
    let Some(priority) = most_urgent(suggestions) else {
        return "roi 0: nothing is suggested".to_owned();
    };
    let (calls, wait) = load(suggestions);
    Impact::estimated(suggestions, confidence).explanation(
        &format!(" (priority {priority}, confidence {confidence})"),
        &format!(" (suggested calls: {calls}, estimated ms: {wait})"),
    )
}

/// The highest priority; the most urgent is the least in order.
fn most_urgent(suggestions: &[Suggestion]) -> Option<Priority> {
    suggestions.iter().map(|one| one.priority).min()
}

/// Benefit that a priority promises.
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
