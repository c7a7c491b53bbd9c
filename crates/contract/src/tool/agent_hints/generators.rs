//! Hints for the usual operations, to start from.
//!
//! Each gives hints with a fitting validity, a reason, and what can be said of risks and limits
//! without knowing the tool. The author extends them with `.suggest(…)` and the like.

use super::{
    AgentHints, Evidence, HintWarning, RelatedResource, RiskFactor, RiskType, Severity, Share,
    ValidityPeriod, WarningType,
};

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
