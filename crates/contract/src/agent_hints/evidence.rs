//! How sure hints are, calculated from what is known.
//!
//! A confidence is never typed in. It comes from [`Evidence`]: named factors that are counted or
//! measured, each with a weight, and the quality of the source. No number goes in, and the
//! [`Confidence`] that comes out explains itself.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::SourceQuality;
use super::share::{ratio, thousandths};

/// Half of an answer is a bad answer, so what is missing weighs most.
const COMPLETENESS_WEIGHT: u32 = 3;
/// Sources that contradict each other put everything in doubt, as much as what is missing.
const AGREEMENT_WEIGHT: u32 = 3;
/// What was not looked at may well be like what was.
const COVERAGE_WEIGHT: u32 = 2;
/// A near match is often what was meant.
const MATCH_WEIGHT: u32 = 2;
/// Old data is often still right.
const FRESHNESS_WEIGHT: u32 = 2;

/// One thing that makes hints more or less sure. Made by [`completeness`], [`coverage`],
/// [`agreement`], [`matched`] and [`freshness`].
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    name: &'static str,
    value: f64,
    counted: Option<(u64, u64)>,
    weight: u32,
}

/// What is known about the data behind hints: at least one factor, and the quality of the source.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    source_quality: SourceQuality,
    factors: Vec<Factor>,
}

/// How sure hints are, from 0 to 1 in thousandths. Only [`Evidence::confidence`] makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct Confidence {
    value: f64,
    explanation: String,
}

/// How much of what the answer should have is there: fields filled, parts fetched.
///
/// Where nothing was to be there, nothing is missing: 0 of 0 is complete.
pub fn completeness(part: u64, whole: u64) -> Factor {
    Factor::counted("completeness", part, whole, 1.0, COMPLETENESS_WEIGHT)
}

/// How much of what there is was looked at: records read, sources asked.
///
/// Where there is nothing to look at, all of it was looked at: 0 of 0 is covered.
pub fn coverage(part: u64, whole: u64) -> Factor {
    Factor::counted("coverage", part, whole, 1.0, COVERAGE_WEIGHT)
}

/// How many of the observations or sources say the same.
///
/// Where nobody was asked, nobody agrees: 0 of 0 is no agreement, and the confidence is zero.
pub fn agreement(part: u64, whole: u64) -> Factor {
    Factor::counted("agreement", part, whole, 0.0, AGREEMENT_WEIGHT)
}

/// How much of what was asked for the answer meets: words found, conditions fulfilled.
///
/// Where nothing particular was asked for, everything fits: 0 of 0 is a match.
pub fn matched(part: u64, whole: u64) -> Factor {
    Factor::counted("match", part, whole, 1.0, MATCH_WEIGHT)
}

/// How new the data is: 1 when it is brand-new, and half as much each time `good_for` has passed.
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
        weight: FRESHNESS_WEIGHT,
    }
}

// === impl Factor ===

impl Factor {
    /// Factor with another weight. A factor that weighs nothing is no evidence, so zero counts
    /// as one.
    #[must_use]
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
        let Self { name, value, .. } = self;
        let weight = self.weight;
        match self.counted {
            Some((part, whole)) => {
                format!("{name} {value:.2} ({part} of {whole}, weight {weight})")
            }
            None => format!("{name} {value:.2} (weight {weight})"),
        }
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
    #[must_use]
    pub fn and(mut self, factor: Factor) -> Self {
        self.factors.push(factor);
        self
    }

    /// The quality of the source.
    pub(super) fn source_quality(&self) -> SourceQuality {
        self.source_quality
    }

    /// How sure this makes hints: the weighted geometric mean of the factors, so that one bad
    /// factor is not made up for by many good ones, and never more than the source is good for.
    pub fn confidence(&self) -> Confidence {
        let mean = self.mean();
        let most = most_confidence(self.source_quality);
        let value = thousandths(mean.min(most));
        let factors: Vec<String> = self.factors.iter().map(Factor::explanation).collect();
        let source = if mean > most {
            format!("source quality {} caps it at {most}", self.source_quality)
        } else {
            format!("source quality {}", self.source_quality)
        };
        Confidence {
            value,
            explanation: format!("confidence {value}: {}; {source}", factors.join(", ")),
        }
    }

    /// `exp(Σ weight · ln(value) / Σ weight)`: zero as soon as one value is.
    fn mean(&self) -> f64 {
        if self.factors.iter().any(|factor| factor.value <= 0.0) {
            return 0.0;
        }
        let weights: f64 = self
            .factors
            .iter()
            .map(|factor| f64::from(factor.weight))
            .sum();
        let logarithms: f64 = self
            .factors
            .iter()
            .map(|factor| f64::from(factor.weight) * factor.value.ln())
            .sum();
        (logarithms / weights).exp().clamp(0.0, 1.0)
    }
}

// === impl Confidence ===

impl Confidence {
    /// The confidence as a number from 0 to 1.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// How it came about, as one line.
    pub fn explanation(&self) -> &str {
        &self.explanation
    }
}

impl Serialize for Confidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value)
    }
}

impl JsonSchema for Confidence {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Confidence".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": 1 })
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
