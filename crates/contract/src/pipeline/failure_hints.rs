//! Hints for calls that failed: what is known of the failure, and whether to call again.

use std::time::Duration;

use serde_json::Value;

use crate::agent_hints::{
    AgentHints, Evidence, HintWarning, RiskFactor, RiskType, Severity, Share, SourceQuality,
    ValidityPeriod, WarningType, agreement, completeness, coverage, matched,
};
use crate::{ErrorCategory, PublishedError};

/// Chance that a call took effect of which nobody knows more than that it may have.
const EVEN_CHANCE: Share = Share::percent(50);

/// Facts that are known beside an error.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KnownBeside {
    /// Tools that are suggested as a way out.
    pub(crate) helpers: u64,
    /// Calls of the tool that broke, of all that are known. None were counted where it is zero of zero.
    pub(crate) broken_of_all: (u64, u64),
    /// Violations among those that the error tells of, of which nothing says what to send instead.
    pub(crate) strange: u64,
}

/// Hints for every error of a tool; how sure they are follows from how much is known about the failure.
pub(crate) fn failed_with(
    error: &PublishedError,
    retry_after: Option<Duration>,
    known: KnownBeside,
) -> AgentHints {
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
    let hints = AgentHints::new(&known_about(error, retry_after, known), validity)
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

/// Evidence of a failure.
///
/// - How much is known of it: that it happened; whose doing it is, unless something does not work; what helps; and when,
///   if it is to call again.
/// - Of what is wrong with the parameters, how much was told, and for how much of that the remedy is named.
/// - How the calls of the tool have ended so far. Where few broke, the tool is right about this one; where many did, it
///   is likely not to work.
fn known_about(
    error: &PublishedError,
    retry_after: Option<Duration>,
    beside: KnownBeside,
) -> Evidence {
    let is_system = error.category == ErrorCategory::System;
    let mut facts = vec![true, !is_system, knows_remedy(error, beside.helpers)];
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
    let mut evidence = Evidence::new(quality, completeness(known as u64, facts.len() as u64));
    if let Some(violations) = error.details.get("violations").and_then(Value::as_array) {
        let told = violations.len() as u64;
        let all = error.details.get("violation_count").and_then(Value::as_u64);
        evidence = evidence
            .and(matched(told.saturating_sub(beside.strange), told))
            .and(coverage(told, all.unwrap_or(told)));
    }
    let (broken, calls) = beside.broken_of_all;
    if calls == 0 {
        return evidence;
    }
    let alike = if is_system {
        broken
    } else {
        calls.saturating_sub(broken)
    };
    // One more on either side, so that the first call alone neither proves nor ruins anything. How other calls ended
    // says less than this one does.
    evidence.and(agreement(alike + 1, calls + 2).weighing(1))
}

/// Whether the error says what to do: to call again, to change the call, to use what it names, or to call what helps.
fn knows_remedy(error: &PublishedError, helpers: u64) -> bool {
    let names = |detail: &str| match error.details.get(detail) {
        Some(Value::Array(names)) => !names.is_empty(),
        Some(name) => !name.is_null(),
        None => false,
    };
    let has_own = match error.code {
        "UNKNOWN_TOOL" => names("nearest"),
        "TOOL_REMOVED" => names("replacement"),
        _ => error.category == ErrorCategory::Validation,
    };
    error.retryable || has_own || helpers > 0
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
