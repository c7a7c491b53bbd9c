//! Numbers with a range: a share is 0 to 1, a score is -1 to 1.
//!
//! Both are kept in thousandths, so that whoever calculates with what is on the wire arrives at
//! the same result as this crate.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

/// A part of a whole: 0 is nothing, 1 is all of it.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
pub struct Share(f64);

/// How well something fits: -1 is against it, 0 is neither, 1 is exactly it.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
pub struct Score(f64);

// === impl Share ===

impl Share {
    /// Nothing.
    pub const NONE: Self = Self(0.0);
    /// All of it.
    pub const ALL: Self = Self(1.0);

    /// So many percent; what is over 100 counts as 100.
    pub const fn percent(percent: u8) -> Self {
        let percent = if percent > 100 { 100 } else { percent };
        Self(percent as f64 / 100.0)
    }

    /// So many of so many. A part of nothing is nothing, and no part is more than the whole.
    pub fn of(part: u64, whole: u64) -> Self {
        if whole == 0 {
            return Self::NONE;
        }
        Self::clamped(ratio(part, whole))
    }

    /// The nearest share to a number; not a number counts as nothing.
    pub fn clamped(value: f64) -> Self {
        Self(within(value, 0.0, 1.0))
    }

    /// The share as a number from 0 to 1.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl JsonSchema for Share {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}

// === impl Score ===

impl Score {
    /// So many percent; what is beyond 100 or -100 counts as that.
    pub const fn percent(percent: i8) -> Self {
        let percent = match percent {
            ..-100 => -100,
            101.. => 100,
            percent => percent,
        };
        Self(percent as f64 / 100.0)
    }

    /// The nearest score to a number; not a number counts as neither for nor against.
    pub fn clamped(value: f64) -> Self {
        Self(within(value, -1.0, 1.0))
    }

    /// The score as a number from -1 to 1.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl JsonSchema for Score {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Score".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": -1, "maximum": 1 })
    }
}

/// How much of the whole the part is; at most 1. The whole is not zero.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts beyond 2^53 differ by less than a thousandth"
)]
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    part.min(whole) as f64 / whole as f64
}

/// The number with three decimals.
pub(super) fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// The number with two decimals.
pub(super) fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// The nearest number of the range, in thousandths and never a negative zero.
fn within(value: f64, least: f64, most: f64) -> f64 {
    if value.is_nan() {
        return 0.0;
    }
    thousandths(value.clamp(least, most)) + 0.0
}
