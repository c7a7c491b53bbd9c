//! Evidence of hints, and the confidence that is calculated from it.
//!
//! A confidence is never typed in. It comes from [`Evidence`]: named factors that are counted or
//! measured, each with a weight, and the quality of the source. No number goes in, and the
//! [`Confidence`] that comes out explains itself.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::share::ratio;
use super::{Share, SourceQuality};

/// One thing that makes hints more or less sure. Made by [`completeness`], [`coverage`],
/// [`agreement`], [`matched`] and [`freshness`].
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Factor {
    name: &'static str,
    value: f64,
    counted: Option<(u64, u64)>,
    weight: u32,
}

/// Evidence for the data behind hints: at least one factor, and the quality of the source.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Evidence {
    pub(super) source_quality: SourceQuality,
    factors: Vec<Factor>,
}

/// How sure hints are, from 0 to 1 in thousandths. Only [`Evidence::confidence`] makes one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Confidence {
    value: Share,
    #[serde(skip)]
    explanation: String,
}

/// Share of what the answer should have that is there: fields filled, parts fetched. Half of an answer
/// is a bad answer, so this weighs most.
///
/// Where nothing was to be there, nothing is missing: 0 of 0 is complete.
pub fn completeness(part: u64, whole: u64) -> Factor {
    Factor::counted("completeness", part, whole, 1.0, 3)
}

/// Share of what there is that was looked at: records read, sources asked. What was not looked at may
/// well be like what was, so this weighs less.
///
/// Where there is nothing to look at, all of it was looked at: 0 of 0 is covered.
pub fn coverage(part: u64, whole: u64) -> Factor {
    Factor::counted("coverage", part, whole, 1.0, 2)
}

/// Share of the observations or sources that say the same. Sources that contradict each other put
/// everything in doubt, so this weighs as much as completeness.
///
/// Where nobody was asked, nobody agrees: 0 of 0 is no agreement, and the confidence is zero.
pub fn agreement(part: u64, whole: u64) -> Factor {
    Factor::counted("agreement", part, whole, 0.0, 3)
}

/// Share of what was asked for that the answer meets: words found, conditions fulfilled. A near match
/// is often what was meant, so this weighs less.
///
/// Where nothing particular was asked for, everything fits: 0 of 0 is a match.
pub fn matched(part: u64, whole: u64) -> Factor {
    Factor::counted("match", part, whole, 1.0, 2)
}

/// Factor of how new the data is: 1 when it is brand-new, and half as much each time `good_for` has passed.
///
/// Data that is good for no time is only good while it is brand-new.
pub fn freshness(age: Duration, good_for: Duration) -> Factor {
    let value = if age.is_zero() {
        1.0
    } else {
        // Without a half-life the exponent is infinite and the value zero, as it should be.
        0.5_f64.powf(age.as_secs_f64() / good_for.as_secs_f64())
    };
    Factor {
        name: "freshness",
        value,
        counted: None,
        // Old data is often still right.
        weight: 2,
    }
}

// === impl Factor ===

impl Factor {
    /// Factor with another weight. A factor that weighs nothing is no evidence, so zero counts
    /// as one.
    pub fn weighing(mut self, weight: u32) -> Self {
        self.weight = weight.max(1);
        self
    }

    fn counted(name: &'static str, part: u64, whole: u64, of_nothing: f64, weight: u32) -> Self {
        let value = if whole == 0 {
            of_nothing
        } else {
            ratio(part, whole)
        };
        Self {
            name,
            value,
            counted: Some((part.min(whole), whole)),
            weight,
        }
    }

    fn explanation(&self) -> String {
        let Self {
            name,
            value,
            weight,
            ..
        } = self;
        let counted = self
            .counted
            .map(|(part, whole)| format!("{part} of {whole}, "));
        let counted = counted.unwrap_or_default();
        format!("{name} {value:.2} ({counted}weight {weight})")
    }
}

// === impl Evidence ===

impl Evidence {
    /// One factor, from a source of this quality.
    pub fn new(source_quality: SourceQuality, factor: Factor) -> Self {
        Self {
            source_quality,
            factors: vec![factor],
        }
    }

    /// Evidence with one more factor.
    pub fn and(mut self, factor: Factor) -> Self {
        self.factors.push(factor);
        self
    }

    /// Confidence that this gives hints: the weighted geometric mean of the factors, so that one bad
    /// factor is not made up for by many good ones, and never more than the source is good for.
    pub fn confidence(&self) -> Confidence {
        let mean = self.mean();
        let most = most_confidence(self.source_quality);
        let value = Share::clamped(mean.min(most));
        let factors: Vec<String> = self.factors.iter().map(Factor::explanation).collect();
        let source = if mean > most {
            format!("source quality {} caps it at {most}", self.source_quality)
        } else {
            format!("source quality {}", self.source_quality)
        };
        Confidence {
            value,
            explanation: format!(
                "confidence {}: {}; {source}",
                value.value(),
                factors.join(", ")
            ),
        }
    }

    /// `exp(Σ weight · ln(value) / Σ weight)`: zero as soon as one value is.
    fn mean(&self) -> f64 {
        let (mut weights, mut logarithms) = (0.0, 0.0);
        for factor in &self.factors {
            weights += f64::from(factor.weight);
            logarithms += f64::from(factor.weight) * factor.value.ln();
        }
        (logarithms / weights).exp()
    }
}

// === impl Confidence ===

impl Confidence {
    /// The confidence as a number from 0 to 1.
    pub fn value(&self) -> f64 {
        self.value.value()
    }

    /// Explanation of how it came about, as one line.
    pub fn explanation(&self) -> &str {
        &self.explanation
    }
}

/// The most confidence that data of this quality can give, however good the factors are.
const fn most_confidence(source_quality: SourceQuality) -> f64 {
    match source_quality {
        // What an authority says about its own data can be certain.
        SourceQuality::High => 1.0,
        // A source that is generally right is wrong now and then.
        SourceQuality::Medium => 0.85,
        // Rather right than wrong, and not much more.
        SourceQuality::Low => 0.6,
        // As good as a coin.
        SourceQuality::Unknown => 0.5,
    }
}
