//! Time that an answer is drawn from, and how much of it the log reaches back to.

use jiff::Timestamp;
use mcpproxy_contract::ToolError;
use mcpproxy_contract::agent_hints::{Factor, coverage};

use super::{RunningParts, failed};

/// Time that was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    /// The first moment.
    pub(super) from: Timestamp,
    /// The first moment after it.
    pub(super) to: Timestamp,
    /// When the oldest record was made that the log still has.
    began: Option<Timestamp>,
}

impl Period {
    /// A time with an open begin has the one of the log; an open end is now.
    pub(super) async fn of(
        parts: &RunningParts,
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    ) -> Result<Self, ToolError> {
        let began = parts
            .records
            .archive()
            .began(&parts.caller.record_scope())
            .await;
        let began = began.map_err(failed)?;
        let to = to.unwrap_or_else(Timestamp::now);
        Ok(Self::new(from, to, began))
    }

    fn new(from: Option<Timestamp>, to: Timestamp, began: Option<Timestamp>) -> Self {
        let from = from.or(began).unwrap_or(to);
        Self { from, to, began }
    }

    /// Part of the time that the log covers, in seconds. An empty log covers nothing.
    pub(super) fn coverage(&self) -> Factor {
        let (covered, asked) = self.seconds();
        coverage(covered, asked)
    }

    fn seconds(&self) -> (u64, u64) {
        let from_to = |from: Timestamp| {
            let seconds = self.to.duration_since(from).as_secs();
            u64::try_from(seconds).unwrap_or(0)
        };
        let covered = self.began.map_or(0, |began| from_to(began.max(self.from)));
        // At least a second: nothing is known about the moment of a start.
        (covered, from_to(self.from).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_begins_later_covers_a_part_of_the_time() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let check = |from: Option<i64>, began: Option<i64>, expected: (u64, u64)| {
            let period = Period::new(from.map(at), at(1_000), began.map(at));
            assert_eq!(period.seconds(), expected, "{from:?} {began:?}");
        };
        check(Some(0), Some(750), (250, 1_000));
        check(Some(500), Some(0), (500, 500));
        check(None, Some(400), (600, 600));
        check(Some(0), None, (0, 1_000));
        check(None, None, (0, 1));
        check(Some(2_000), Some(0), (0, 1));
    }
}
