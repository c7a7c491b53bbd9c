//! Hints for tools whose servers give none, made from what was observed.
//!
//! Pure: an observation and a catalog go in, hints come out. What is suggested exists and can be
//! called, every confidence is calculated from counts, and the reasoning says what was counted.

use std::time::Duration;

use jiff::Timestamp;
use mcpproxy_catalog::Snapshot;
use mcpproxy_contract::agent_hints::{
    ActionCategory, AgentHints, Evidence, Priority, RiskFactor, RiskType, Severity, Share,
    SourceQuality, Suggestion, ValidityPeriod, agreement, coverage, freshness, matched,
};
use mcpproxy_policy::{Effect, Rights};

use super::observed::{Follower, Observation};
use super::vetting;

/// Most suggestions: with more, none of them is one.
const MOST_SUGGESTIONS: usize = 3;

/// Number of observations that are as good as any number of them.
const ENOUGH_OBSERVATIONS: u64 = 30;

/// Number of observations below which nothing is known of a tool, and nothing is suggested.
const FEW_OBSERVATIONS: u64 = 5;

/// Time that observations are good: servers and habits change within weeks.
const GOOD_FOR: Duration = Duration::from_hours(7 * 24);

/// Whether calls worked is what the confidence is about; all else says how well that is known.
const OUTCOME_WEIGHT: u32 = 10;

/// A tool that fails more often than one time in ten is worth a warning.
const RELIABLE_PERCENT: u64 = 90;

/// A tool whose slow calls take this long keeps a person waiting.
const SLOW: Duration = Duration::from_secs(5);

/// Time at which waiting for a slow call costs most, the default deadline of a call.
const SLOWEST: Duration = Duration::from_secs(30);

/// Share from which on what follows is the usual next step.
const USUAL_PERCENT: u64 = 60;

/// Share from which on what follows is one of a few usual steps.
const COMMON_PERCENT: u64 = 25;

/// A follower that worked less often than one time in three did not follow with success.
const WORKS_PERCENT: u64 = 34;

/// Ending of a call that hints are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnding {
    /// The tool did what was asked.
    Well,
    /// The tool reported an error.
    Badly,
}

/// Hints for a call of a tool, from what is known of it.
pub(crate) fn hints(
    observation: &Observation,
    catalog: &Snapshot,
    ended: CallEnding,
    now: Timestamp,
    rights: &Rights,
) -> AgentHints {
    let evidence = evidence(observation, ended, now);
    let mut hints = AgentHints::new(&evidence, ValidityPeriod::Short)
        .because(summary(observation, ended))
        .needs("What the call is for: the gateway sees calls, not goals");
    for suggestion in suggestions(observation, catalog, ended, rights) {
        hints = hints.suggest(suggestion);
    }
    if hints.suggestions().is_empty() {
        let seen = observation.continued.min(FEW_OBSERVATIONS);
        hints = hints.needs(format!(
            "More calls after this one: {seen} of at least {FEW_OBSERVATIONS} were seen"
        ));
    } else {
        hints = hints.assumes("What followed this tool before is what is wanted now");
    }
    risks(observation).into_iter().fold(hints, AgentHints::risk)
}

/// Whether hints say more than how little is known: a next step, or a risk.
pub(crate) fn say_something(hints: &AgentHints, observation: &Observation) -> bool {
    !hints.suggestions().is_empty() || !risks(observation).is_empty()
}

/// Evidence of how reliable the tool is, from how many calls that is known, and how old that is.
fn evidence(observation: &Observation, ended: CallEnding, now: Timestamp) -> Evidence {
    let age = observation
        .called_before
        .map_or(Duration::ZERO, |at| now.duration_since(at).unsigned_abs());
    let known = outcomes(observation.successes, observation.calls).and(freshness(age, GOOD_FOR));
    like_this_one(known, observation, ended)
}

/// After a failure counts, besides, how many of the observed calls failed as well: what is known
/// from those that worked says little then.
fn like_this_one(known: Evidence, observation: &Observation, ended: CallEnding) -> Evidence {
    match ended {
        CallEnding::Well => known,
        CallEnding::Badly => known.and(matched(failures(observation), observation.calls)),
    }
}

/// Evidence of how calls went. What was seen is not what somebody answers for, and a few observations
/// are none.
fn outcomes(worked: u64, observed: u64) -> Evidence {
    let quality = match observed {
        ..FEW_OBSERVATIONS => SourceQuality::Unknown,
        _ => SourceQuality::Medium,
    };
    Evidence::new(
        quality,
        agreement(worked, observed).weighing(OUTCOME_WEIGHT),
    )
    .and(coverage(observed, ENOUGH_OBSERVATIONS))
}

fn suggestions(
    observation: &Observation,
    catalog: &Snapshot,
    ended: CallEnding,
    rights: &Rights,
) -> Vec<Suggestion> {
    if observation.continued < FEW_OBSERVATIONS {
        return Vec::new();
    }
    observation
        .followers
        .iter()
        .filter(|follower| follower.succeeded > 0)
        .filter(|follower| is_at_least(follower.succeeded, WORKS_PERCENT, follower.followed))
        .filter_map(|follower| suggestion(follower, observation, catalog, ended, rights))
        .take(MOST_SUGGESTIONS)
        .collect()
}

fn suggestion(
    follower: &Follower,
    observation: &Observation,
    catalog: &Snapshot,
    ended: CallEnding,
    rights: &Rights,
) -> Option<Suggestion> {
    let effect = vetting::callable(catalog, &follower.tool, rights)?.effect();
    let found = Suggestion::if_exists(&follower.tool, |_| true)?;
    let evidence = outcomes(follower.succeeded, follower.followed)
        .and(matched(follower.followed, observation.continued));
    let confidence = like_this_one(evidence, observation, ended).confidence();
    let suggestion = found
        .priority(priority(follower, observation.continued, effect))
        .described(format!(
            "Was the next call {} of {} times, and worked {} of these",
            follower.followed, observation.continued, follower.succeeded
        ))
        .confident(confidence);
    let suggestion = match effect {
        Effect::Read => suggestion.category(ActionCategory::Exploration),
        Effect::Destructive => suggestion.reversible(false),
        Effect::Write | Effect::Unknown { .. } => suggestion,
    };
    Some(match follower.median {
        Some(median) => suggestion.takes(median),
        None => suggestion,
    })
}

/// By how often it follows. That something was destroyed before is no reason to do it again, so
/// such a call is never more than possible.
fn priority(follower: &Follower, continued: u64, effect: Effect) -> Priority {
    if effect == Effect::Destructive {
        Priority::Low
    } else if is_at_least(follower.followed, USUAL_PERCENT, continued) {
        Priority::High
    } else if is_at_least(follower.followed, COMMON_PERCENT, continued) {
        Priority::Medium
    } else {
        Priority::Low
    }
}

fn risks(observation: &Observation) -> Vec<RiskFactor> {
    let mut risks = Vec::new();
    let (calls, successes) = (observation.calls, observation.successes);
    if calls >= FEW_OBSERVATIONS && !is_at_least(successes, RELIABLE_PERCENT, calls) {
        let failures = failures(observation);
        let severity = if is_at_least(failures, 50, calls) {
            Severity::High
        } else {
            Severity::Medium
        };
        risks.push(RiskFactor {
            kind: RiskType::UserExperience,
            severity,
            description: format!("The tool failed {failures} of {calls} times"),
            probability: Share::of(failures, calls),
            // A call that fails gives nothing at all.
            impact: Share::ALL,
            mitigation: Some("Read the tool's error before calling it again".to_owned()),
        });
    }
    if let Some(slow) = observation.slow().filter(|slow| *slow >= SLOW) {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let slow = milliseconds(slow);
        risks.push(RiskFactor {
            kind: RiskType::Performance,
            severity: Severity::Medium,
            description: format!("One call in twenty takes {slow} ms or longer"),
            probability: Share::percent(5),
            impact: Share::of(slow, milliseconds(SLOWEST)),
            mitigation: None,
        });
    }
    risks
}

/// Counts in words.
fn summary(observation: &Observation, ended: CallEnding) -> String {
    let (calls, successes) = (observation.calls, observation.successes);
    let continued = observation.continued;
    let failed = match ended {
        CallEnding::Well => "",
        CallEnding::Badly => {
            "This call failed, so what usually follows may not be what helps now. "
        }
    };
    let time = observation.median().map_or_else(String::new, |median| {
        format!(", half of them within {} ms", median.as_millis().max(1))
    });
    format!(
        "{failed}Observed by the gateway, not said by the tool: {successes} of {calls} calls worked{time}; another tool followed {continued} times"
    )
}

fn failures(observation: &Observation) -> u64 {
    observation.calls.saturating_sub(observation.successes)
}

fn is_at_least(part: u64, percent: u64, whole: u64) -> bool {
    part.saturating_mul(100) >= percent.saturating_mul(whole)
}

#[cfg(test)]
mod tests;
