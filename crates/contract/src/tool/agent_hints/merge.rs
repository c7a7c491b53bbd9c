//! One set of hints from two, for tools that are composed of others.

use super::impact::Impact;
use super::parts::Dependency;
use super::{AgentHints, Share, Suggestion};

impl AgentHints {
    /// Hints made of these and others, as careful as the more careful of the two.
    ///
    /// - Confidence with its explanation, source quality and validity are the lower ones.
    /// - Suggestions are united by action: where both sides have one, those of the side with the
    ///   higher priority stay; with equal priorities, those of `self`.
    /// - Resources are united by type and id, with the higher relevance; risks by type and
    ///   description, with the worse severity, then the higher probability; alignments by action
    ///   and preference, with the lower score; alternatives by approach, with the lower confidence;
    ///   dependencies by action and type, waiting for everything that either waits for.
    /// - Texts and warnings are united without repetition.
    /// - If either author stated the impact, it is the higher benefit for the sum of both efforts,
    ///   at most 1. Otherwise it is estimated anew from the united suggestions.
    /// - The metadata of both is dropped: whoever merges makes new hints. The versions of models
    ///   are kept.
    pub fn merge(mut self, other: Self) -> Self {
        self.impact = merged_impact(&self, &other);
        if other.confidence.value() < self.confidence.value() {
            self.confidence = other.confidence;
        }
        // The most reliable comes first in the order of qualities, the shortest first in that of
        // periods, the worst in that of severities.
        self.source_quality = self.source_quality.max(other.source_quality);
        self.validity_period = self.validity_period.min(other.validity_period);
        unite_suggestions(
            &mut self.suggested_next_actions,
            other.suggested_next_actions,
        );
        unite(
            &mut self.related_resources,
            other.related_resources,
            |one, two| one.kind == two.kind && one.id == two.id,
            |new, known| new.relevance > known.relevance,
        );
        unite(
            &mut self.risk_factors,
            other.risk_factors,
            |one, two| one.kind == two.kind && one.description == two.description,
            |new, known| {
                let is_likelier = new.probability > known.probability;
                new.severity < known.severity || new.severity == known.severity && is_likelier
            },
        );
        unite(
            &mut self.preference_alignment,
            other.preference_alignment,
            |one, two| one.action == two.action && one.preference == two.preference,
            |new, known| new.score < known.score,
        );
        unite(
            &mut self.alternatives,
            other.alternatives,
            |one, two| one.approach == two.approach,
            |new, known| new.confidence.value() < known.confidence.value(),
        );
        for dependency in other.dependencies {
            add_dependency(&mut self.dependencies, dependency);
        }
        unite_equal(&mut self.context_needed, other.context_needed);
        unite_equal(&mut self.assumptions, other.assumptions);
        unite_equal(&mut self.reasons, other.reasons);
        unite_equal(&mut self.warnings, other.warnings);
        unite_equal(&mut self.constraints, other.constraints);
        unite_equal(&mut self.model_versions, other.model_versions);
        self.metadata = None;
        self
    }
}

/// The higher benefit for both efforts, if either author stated something.
fn merged_impact(one: &AgentHints, two: &AgentHints) -> Option<Impact> {
    if one.impact.is_none() && two.impact.is_none() {
        return None;
    }
    let (one, two) = (one.estimated_impact(), two.estimated_impact());
    let benefit = one.benefit.value().max(two.benefit.value());
    let effort = Share::clamped(one.effort.value() + two.effort.value());
    let metrics = [one.affected_metrics, two.affected_metrics].concat();
    Some(Impact::new(Share::clamped(benefit), effort, metrics))
}

/// All suggestions, but for each action only those of the side that has the most urgent one. One
/// side may suggest an action several times with different data; these belong together.
fn unite_suggestions(known: &mut Vec<Suggestion>, mut new: Vec<Suggestion>) {
    // The most urgent is the least in order.
    let urgency = |all: &[Suggestion], action: &str| {
        let same = all.iter().filter(|one| one.action == action);
        same.map(|one| one.priority).min()
    };
    let ours = known.clone();
    known.retain(|one| {
        let theirs = urgency(&new, &one.action);
        theirs.is_none_or(|theirs| urgency(&ours, &one.action) <= Some(theirs))
    });
    new.retain(|one| known.iter().all(|kept| kept.action != one.action));
    known.append(&mut new);
}

/// Adds a dependency, or what it waits for to the one of the same action and kind.
pub(super) fn add_dependency(known: &mut Vec<Dependency>, new: Dependency) {
    let is_same = |one: &&mut Dependency| one.action == new.action && one.kind == new.kind;
    match known.iter_mut().find(is_same) {
        Some(same) => {
            unite_equal(&mut same.depends_on, new.depends_on);
            same.reason = same.reason.take().or(new.reason);
        }
        None => known.push(new),
    }
}

/// Adds what is not there yet.
fn unite_equal<T: PartialEq>(known: &mut Vec<T>, new: Vec<T>) {
    unite(known, new, T::eq, |_, _| false);
}

/// Adds what is not there yet; where both sides speak of the same, the better one stays.
fn unite<T>(
    known: &mut Vec<T>,
    new: Vec<T>,
    is_same: impl Fn(&T, &T) -> bool,
    is_better: impl Fn(&T, &T) -> bool,
) {
    for one in new {
        match known.iter_mut().find(|other| is_same(other, &one)) {
            Some(other) if is_better(&one, other) => *other = one,
            Some(_) => {}
            None => known.push(one),
        }
    }
}
