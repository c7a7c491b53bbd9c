//! Hints for the usual operations, to start from.
//!
//! Each gives hints with a fitting validity, a reason, and what can be said of risks and limits
//! without knowing the tool. The author extends them with `.suggest(…)` and the like.

use std::time::Duration;

use super::{
    AgentHints, Evidence, HintWarning, RelatedResource, RiskFactor, RiskType, Severity, Share,
    SourceQuality, ValidityPeriod, WarningType, completeness,
};
use crate::ErrorCategory;

/// Where a call may have taken effect, nobody knows more than that.
const EVEN_CHANCE: Share = Share::percent(50);

/// Something was looked up and is there.
pub fn found(evidence: &Evidence, what: &str) -> AgentHints {
    AgentHints::new(evidence, ValidityPeriod::Medium)
        .because(format!("Found {what}"))
        .assumes("Nobody changes it before it is used")
}

/// A list, of which so many entries of so many are in the answer.
pub fn listed(evidence: &Evidence, shown: u64, total: u64) -> AgentHints {
    // Whoever shows more than there is has counted before something was added.
    let total = total.max(shown);
    let hints = AgentHints::new(evidence, ValidityPeriod::Short);
    if total == 0 {
        return hints
            .because("The list is empty")
            .needs("whether the conditions of the search are too narrow");
    }
    let hints = hints.because(format!("Listed {shown} of {total}"));
    if shown == total {
        return hints;
    }
    let missing = total - shown;
    hints
        .needs(format!("the {missing} entries that are not in this answer"))
        .constrained(format!(
            "Only {shown} of {total} entries are in this answer"
        ))
        .risk(RiskFactor {
            kind: RiskType::Accuracy,
            severity: Severity::Medium,
            description: "What is concluded from a part of the list may not hold for all of it"
                .to_owned(),
            probability: Share::of(missing, total),
            impact: Share::of(missing, total),
            mitigation: Some("Read the other pages, or narrow the conditions".to_owned()),
        })
}

/// Something new was stored.
pub fn created(evidence: &Evidence, resource: RelatedResource) -> AgentHints {
    AgentHints::new(evidence, ValidityPeriod::Medium)
        .because(format!("Created {}", resource.name()))
        .constrained("Repeating the call may create another one")
        .relate(resource)
}

/// Something stored was altered.
pub fn changed(evidence: &Evidence, resource: RelatedResource) -> AgentHints {
    AgentHints::new(evidence, ValidityPeriod::Short)
        .because(format!("Changed {}", resource.name()))
        .risk(stale_copy(&resource, "Read it again before relying on it"))
        .relate(resource)
}

/// Something was removed. It is named in the warning and not as a resource: there is nothing left
/// to go to.
pub fn deleted(evidence: &Evidence, resource: RelatedResource) -> AgentHints {
    let name = resource.name();
    AgentHints::new(evidence, ValidityPeriod::Indefinite)
        .because(format!("Deleted {name}"))
        .constrained(format!("Calls that name {} will fail", resource.id))
        .risk(stale_copy(&resource, "Forget what was read of it"))
        .warn(HintWarning {
            kind: WarningType::Conflict,
            severity: Severity::Medium,
            message: format!("{name} is gone; whatever refers to it refers to nothing"),
            related_ids: Some(vec![resource.id]),
            suggested_fix: None,
            auto_fixable: Some(false),
        })
}

/// A changed or removed thing is often held in memory by those who have just worked with it.
fn stale_copy(resource: &RelatedResource, mitigation: &str) -> RiskFactor {
    RiskFactor {
        kind: RiskType::Accuracy,
        severity: Severity::Low,
        description: format!("What was read of {} before is out of date", resource.name()),
        probability: Share::percent(30),
        impact: resource.relevance,
        mitigation: Some(mitigation.to_owned()),
    }
}

/// A call failed. Used for every error of a tool; how sure the hints are follows from how much is
/// known about the failure.
pub fn failed(
    category: ErrorCategory,
    code: &str,
    retryable: bool,
    retry_after: Option<Duration>,
) -> AgentHints {
    let validity = match retry_after {
        Some(wait) => ValidityPeriod::covering(wait).max(ValidityPeriod::Short),
        // What was sent is put right with the next call or not at all.
        None if category == ErrorCategory::Validation => ValidityPeriod::Immediate,
        None => ValidityPeriod::Short,
    };
    let hints = AgentHints::new(&known_about(category, retryable, retry_after), validity)
        .because(format!(
            "The call failed with {code}: {}",
            reason_for(category)
        ))
        .needs(context_for(category))
        .warn(warning_for(category, code))
        .constrained(advice_on_repeating(retryable, retry_after));
    if code == "OUTCOME_UNKNOWN" {
        return hints.risk(RiskFactor {
            kind: RiskType::Accuracy,
            severity: Severity::High,
            description: "The call may have taken effect although it was not answered".to_owned(),
            probability: EVEN_CHANCE,
            impact: Share::ALL,
            mitigation: Some("Look up the state before calling again".to_owned()),
        });
    }
    hints
}

/// What is known about a failure: that it happened; whose doing it is, unless something does not
/// work; what helps, if it is to correct the call or to repeat it; and when, if it is to repeat it.
fn known_about(
    category: ErrorCategory,
    retryable: bool,
    retry_after: Option<Duration>,
) -> Evidence {
    let is_system = category == ErrorCategory::System;
    let knows_remedy = retryable || category == ErrorCategory::Validation;
    let mut facts = vec![true, !is_system, knows_remedy];
    if retryable {
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

const fn reason_for(category: ErrorCategory) -> &'static str {
    match category {
        ErrorCategory::Validation => "what was sent is not what the tool takes",
        ErrorCategory::Business => "a rule or the present state speaks against it",
        ErrorCategory::System => "something does not work, and nothing that was sent is to blame",
    }
}

const fn context_for(category: ErrorCategory) -> &'static str {
    match category {
        ErrorCategory::Validation => "the parameters as the tool's schema describes them",
        ErrorCategory::Business => "the present state of what the call is about",
        ErrorCategory::System => "whether the service works again",
    }
}

/// The warning that comes closest to the failure.
fn warning_for(category: ErrorCategory, code: &str) -> HintWarning {
    let (kind, severity, message) = match (code, category) {
        ("TOOL_REMOVED", _) => (
            WarningType::Deprecation,
            Severity::High,
            "the tool is gone for good",
        ),
        ("RATE_LIMITED", _) => (
            WarningType::Performance,
            Severity::Low,
            "calls come faster than they are allowed to",
        ),
        (_, ErrorCategory::Validation) => (
            WarningType::Validation,
            Severity::Medium,
            "the parameters were not accepted",
        ),
        (_, ErrorCategory::Business) => (
            WarningType::Conflict,
            Severity::Medium,
            "the call is at odds with a rule or with the present state",
        ),
        (_, ErrorCategory::System) => (
            WarningType::Performance,
            Severity::High,
            "the service does not work as it should",
        ),
    };
    HintWarning {
        auto_fixable: Some(false),
        ..HintWarning::new(kind, severity, format!("{code}: {message}"))
    }
}

fn advice_on_repeating(retryable: bool, retry_after: Option<Duration>) -> String {
    match (retryable, retry_after) {
        (true, Some(wait)) => format!("Wait {} ms before calling again", wait.as_millis()),
        (true, None) => "The same call may work later".to_owned(),
        (false, _) => "Repeating the same call does not help".to_owned(),
    }
}
