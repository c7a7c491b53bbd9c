//! A span of time that something is asked about.

use std::ops::{Bound, RangeBounds};

use garde::Validate;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::named;

/// A span of time: from a moment on, up to but not including another. A side that is left out is
/// open.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, Validate,
)]
#[garde(custom(|range: &DateRange, _context| ordered(range)))]
pub struct DateRange {
    /// The first moment that counts, in ISO 8601 with an offset; open if left out.
    #[serde(default, deserialize_with = "read_from")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = "2026-01-01T00:00:00Z")]
    #[garde(skip)]
    pub from: Option<Timestamp>,
    /// The first moment that no longer counts, in ISO 8601 with an offset; open if left out.
    #[serde(default, deserialize_with = "read_to")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = "2026-02-01T00:00:00Z")]
    #[garde(skip)]
    pub to: Option<Timestamp>,
}

// === impl DateRange ===

/// Whether a moment is within it: `range.contains(&moment)`.
impl RangeBounds<Timestamp> for DateRange {
    fn start_bound(&self) -> Bound<&Timestamp> {
        self.from.as_ref().map_or(Bound::Unbounded, Bound::Included)
    }

    fn end_bound(&self) -> Bound<&Timestamp> {
        self.to.as_ref().map_or(Bound::Unbounded, Bound::Excluded)
    }
}

fn read_from<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    named("from", deserializer)
}

fn read_to<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    named("to", deserializer)
}

fn ordered(range: &DateRange) -> garde::Result {
    match (range.from, range.to) {
        (Some(from), Some(to)) if from > to => Err(garde::Error::new(format!(
            "from ({from}) is after to ({to}); send the earlier moment as from"
        ))),
        _ => Ok(()),
    }
}
