//! One set of hints from two, for tools that are composed of others.

use super::impact::Impact;
use super::parts::Dependency;
use super::{AgentHints, Priority, RiskFactor, Share, Suggestion};

impl AgentHints {
    /// These hints and others as one, as careful as the more careful of the two.
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
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.impact = merged_impact(&self, &other);
        if other.confidence.value() < self.confidence.value() {
            self.confidence = other.confidence;
        }
        // The most reliable comes first in the order of qualities, the shortest first in that of
        // periods.
        self.source_quality = self.source_quality.max(other.source_quality);
        self.validity = self.validity.min(other.validity);
        self.suggestions = merged_suggestions(self.suggestions, other.suggestions);
        unite(
            &mut self.resources,
            other.resources,
            |one, two| one.kind == two.kind && one.id == two.id,
            |known, new| replace_if(known, new, |new, known| new.relevance > known.relevance),
        );
        unite(
            &mut self.risks,
            other.risks,
            |one, two| one.kind == two.kind && one.description == two.description,
            |known, new| replace_if(known, new, is_worse),
        );
        unite(
            &mut self.alignments,
            other.alignments,
            |one, two| one.action == two.action && one.preference == two.preference,
            |known, new| replace_if(known, new, |new, known| new.score < known.score),
        );
        unite(
            &mut self.alternatives,
            other.alternatives,
            |one, two| one.approach == two.approach,
            |known, new| {
                replace_if(known, new, |new, known| {
                    new.confidence.value() < known.confidence.value()
                });
            },
        );
        unite_dependencies(&mut self.dependencies, other.dependencies);
        unite_equal(&mut self.context_needed, other.context_needed);
        unite_equal(&mut self.assumptions, other.assumptions);
        unite_equal(&mut self.reasons, other.reasons);
        unite_equal(&mut self.warnings, other.warnings);
        unite_equal(&mut self.constraints, other.constraints);
        unite_equal(&mut self.model_versions, other.model_versions);
        self.stamp = None;
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
    let effort = one.effort.value() + two.effort.value();
    let metrics = [one.affected_metrics(), two.affected_metrics()].concat();
    Some(Impact::new(
        Share::clamped(benefit),
        Share::clamped(effort),
        &metrics,
    ))
}

/// All suggestions, but for each action only those of the side that has the most urgent one. One
/// side may suggest an action several times with different data; these belong together.
fn merged_suggestions(ours: Vec<Suggestion>, theirs: Vec<Suggestion>) -> Vec<Suggestion> {
    let we_lose = |action: &str| match (urgency(&ours, action), urgency(&theirs, action)) {
        (Some(ours), Some(theirs)) => theirs < ours,
        (ours, _) => ours.is_none(),
    };
    let lost: Vec<bool> = ours.iter().map(|one| we_lose(&one.action)).collect();
    let won: Vec<bool> = theirs.iter().map(|one| we_lose(&one.action)).collect();
    let ours = ours.into_iter().zip(lost).filter(|(_, lost)| !lost);
    let theirs = theirs.into_iter().zip(won).filter(|(_, won)| *won);
    ours.chain(theirs)
        .map(|(suggestion, _)| suggestion)
        .collect()
}

/// The highest priority that this action has in a list; the most urgent is the least in order.
fn urgency(suggestions: &[Suggestion], action: &str) -> Option<Priority> {
    suggestions
        .iter()
        .filter(|suggestion| suggestion.action == action)
        .map(|suggestion| suggestion.priority)
        .min()
}

/// Whether a risk is worse, or as bad and likelier. The worst comes first in the order of severities.
fn is_worse(new: &RiskFactor, known: &RiskFactor) -> bool {
    let is_likelier = new.severity == known.severity && new.probability > known.probability;
    new.severity < known.severity || is_likelier
}

fn replace_if<T>(known: &mut T, new: T, is_better: impl Fn(&T, &T) -> bool) {
    if is_better(&new, known) {
        *known = new;
    }
}

/// Adds a dependency, or what it waits for to the one of the same action and kind.
pub(super) fn unite_dependencies(known: &mut Vec<Dependency>, new: Vec<Dependency>) {
    unite(
        known,
        new,
        |one, two| one.action == two.action && one.kind == two.kind,
        |known, new| {
            unite_equal(&mut known.depends_on, new.depends_on);
            known.reason = known.reason.take().or(new.reason);
        },
    );
}

/// Adds what is not there yet.
fn unite_equal<T: PartialEq>(known: &mut Vec<T>, new: Vec<T>) {
    unite(known, new, T::eq, |_, _| ());
}

/// Adds what is not there yet, and lets `settle` decide where both sides speak of the same.
fn unite<T>(
    known: &mut Vec<T>,
    new: Vec<T>,
    is_same: impl Fn(&T, &T) -> bool,
    mut settle: impl FnMut(&mut T, T),
) {
    for one in new {
        match known.iter_mut().find(|other| is_same(other, &one)) {
            Some(other) => settle(other, one),
            None => known.push(one),
        }
    }
}
