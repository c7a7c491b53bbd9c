//! Numbers from 0 to 1.
//!
//! They are kept in thousandths, so that whoever calculates with what is on the wire arrives at the
//! same result as this crate.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

/// A part of a whole: 0 is nothing, 1 is all of it.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Share(#[schemars(schema_with = "from_zero_to_one")] f64);

// === impl Share ===

impl Share {
    /// All of it.
    pub const ALL: Self = Self(1.0);

    /// Share of so many percent; what is over 100 counts as 100.
    pub const fn percent(percent: u8) -> Self {
        let percent = if percent > 100 { 100 } else { percent };
        Self(percent as f64 / 100.0)
    }

    /// Share of so many of so many. A part of nothing is nothing, and no part is more than the whole.
    pub fn of(part: u64, whole: u64) -> Self {
        // Of zero it is not a number.
        Self::clamped(ratio(part, whole))
    }

    /// The nearest share to a number; not a number counts as nothing.
    pub(super) fn clamped(value: f64) -> Self {
        Self(thousandths(amount(value).min(1.0)))
    }

    /// The share as a number from 0 to 1.
    pub(super) const fn value(self) -> f64 {
        self.0
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        share.0
    }
}

fn from_zero_to_one(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "number", "minimum": 0, "maximum": 1 })
}

/// Share of the whole that the part is; at most 1, and not a number if the whole is zero.
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

/// A finite number that is not below zero; what is not a number counts as zero.
pub(super) fn amount(value: f64) -> f64 {
    if value > 0.0 {
        value.min(f64::MAX)
    } else {
        0.0
    }
}
