//! Hints for calls that failed: what is known of the failure, and whether to call again.

use std::time::Duration;

use crate::agent_hints::{
    AgentHints, Evidence, HintWarning, RiskFactor, RiskType, Severity, Share, SourceQuality,
    ValidityPeriod, WarningType, completeness,
};
use crate::{ErrorCategory, PublishedError};

/// Chance that a call took effect of which nobody knows more than that it may have.
const EVEN_CHANCE: Share = Share::percent(50);

/// Hints for every error of a tool; how sure they are follows from how much is known about the failure.
pub(super) fn failed(error: &PublishedError, retry_after: Option<Duration>) -> AgentHints {
    let code = error.code;
    let (reason, context, about, severity, message) = match error.category {
        ErrorCategory::Validation => (
            "what was sent is not what the tool takes",
            "the parameters as the tool's schema describes them",
            WarningType::Validation,
            Severity::Medium,
            "the parameters were not accepted",
        ),
        ErrorCategory::Business => (
            "a rule or the present state speaks against it",
            "the present state of what the call is about",
            WarningType::Conflict,
            Severity::Medium,
            "the call is at odds with a rule or with the present state",
        ),
        ErrorCategory::System => (
            "something does not work, and nothing that was sent is to blame",
            "whether the service works again",
            WarningType::Performance,
            Severity::High,
            "the service does not work as it should",
        ),
    };
    let (about, severity, message) = match code {
        "TOOL_REMOVED" => (
            WarningType::Deprecation,
            Severity::High,
            "the tool is gone for good",
        ),
        "RATE_LIMITED" => (
            WarningType::Performance,
            Severity::Low,
            "calls come faster than they are allowed to",
        ),
        _ => (about, severity, message),
    };
    let advice = match (error.retryable, retry_after) {
        (true, Some(wait)) => format!("Wait {} ms before calling again", wait.as_millis()),
        (true, None) => "The same call may work later".to_owned(),
        (false, _) => "Repeating the same call does not help".to_owned(),
    };
    let validity = match retry_after {
        Some(wait) => period_covering(wait),
        // What was sent is put right with the next call or not at all.
        None if error.category == ErrorCategory::Validation => ValidityPeriod::Immediate,
        None => ValidityPeriod::Short,
    };
    let hints = AgentHints::new(&known_about(error, retry_after), validity)
        .because(format!("The call failed with {code}: {reason}"))
        .needs(context)
        .warn(HintWarning {
            auto_fixable: Some(false),
            ..HintWarning::new(about, severity, format!("{code}: {message}"))
        })
        .constrained(advice);
    if code != "OUTCOME_UNKNOWN" {
        return hints;
    }
    hints.risk(RiskFactor {
        kind: RiskType::Accuracy,
        severity: Severity::High,
        description: "The call may have taken effect although it was not answered".to_owned(),
        probability: EVEN_CHANCE,
        impact: Share::ALL,
        mitigation: Some("Look up the state before calling again".to_owned()),
    })
}

/// Evidence of a failure: that it happened; whose doing it is, unless something does not
/// work; what helps, if it is to correct the call or to repeat it; and when, if it is to repeat it.
fn known_about(error: &PublishedError, retry_after: Option<Duration>) -> Evidence {
    let is_system = error.category == ErrorCategory::System;
    let knows_remedy = error.retryable || error.category == ErrorCategory::Validation;
    let mut facts = vec![true, !is_system, knows_remedy];
    if error.retryable {
        facts.push(retry_after.is_some());
    }
    let known = facts.iter().filter(|known| **known).count();
    // What the caller or a rule did is certain; what is broken is only what it looks like.
    let quality = if is_system {
        SourceQuality::Medium
    } else {
        SourceQuality::High
    };
    Evidence::new(quality, completeness(known as u64, facts.len() as u64))
}

/// The shortest period that covers a wait; at least a short one.
fn period_covering(wait: Duration) -> ValidityPeriod {
    const MINUTE: u64 = 60;
    match wait.as_secs() {
        seconds if seconds <= 5 * MINUTE => ValidityPeriod::Short,
        seconds if seconds <= 60 * MINUTE => ValidityPeriod::Medium,
        seconds if seconds <= 24 * 60 * MINUTE => ValidityPeriod::Long,
        _ => ValidityPeriod::Indefinite,
    }
}

#[cfg(test)]
mod tests;
