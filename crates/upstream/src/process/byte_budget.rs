//! Bytes that one server may have written to disk. This module is pure: the time comes in as an argument.

use std::time::Duration;

use tokio::time::Instant;

/// Most bytes that are saved up: one whole file of a log, so that whatever a server prints while it starts is kept.
const BURST: u64 = 4 * 1024 * 1024;
/// Bytes that are added with each minute: more than people read, and so few that both files of a log hold what a server
/// printed minutes ago, whatever it prints now.
const PER_MINUTE: u64 = 1024 * 1024;
const MINUTE: Duration = Duration::from_mins(1);

/// Budget of one log. What is added comes in whole minutes, so that one that is spent has one gap in each.
#[derive(Debug)]
pub(super) struct ByteBudget {
    left: u64,
    /// Beginning of the minute whose bytes were added last.
    minute: Instant,
}

impl ByteBudget {
    /// Budget with all that may be saved up.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            left: BURST,
            minute: now,
        }
    }

    /// Takes so many bytes, if they are left.
    pub(super) fn take(&mut self, bytes: usize, now: Instant) -> bool {
        self.refill(now);
        let rest = self.left.checked_sub(as_u64(bytes));
        self.left = rest.unwrap_or(self.left);
        rest.is_some()
    }

    /// Takes bytes that were written already, as far as they are left.
    pub(super) fn charge(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(as_u64(bytes));
    }

    /// Time at which the next bytes are added.
    pub(super) fn next_refill(&self) -> Instant {
        self.minute + MINUTE
    }

    fn refill(&mut self, now: Instant) {
        let minutes = now.saturating_duration_since(self.minute).as_secs() / MINUTE.as_secs();
        if minutes == 0 {
            return;
        }
        let added = minutes.saturating_mul(PER_MINUTE);
        self.left = self.left.saturating_add(added).min(BURST);
        self.minute += Duration::from_secs(minutes.saturating_mul(MINUTE.as_secs()));
    }
}

fn as_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_gets_what_is_saved_up_and_then_so_much_each_minute() {
        const STEP: usize = 64 * 1024;
        let begin = Instant::now();
        let mut budget = ByteBudget::new(begin);
        let mut taken = |seconds: u64| {
            let now = begin + Duration::from_secs(seconds);
            (0..1000).filter(|_| budget.take(STEP, now)).count() as u64 * STEP as u64
        };
        for (seconds, expected) in [
            (0, BURST),
            (59, 0),
            (60, PER_MINUTE),
            (61, 0),
            (240, 3 * PER_MINUTE),
            (1_000_000, BURST),
            (1_000_001, 0),
        ] {
            assert_eq!(taken(seconds), expected, "{seconds}");
        }
        // The minute that was under way is not begun anew.
        let refill = budget.next_refill() - begin;
        assert_eq!(refill.as_secs(), 1_000_020);
    }

    #[test]
    fn what_was_written_beyond_its_estimate_counts_too() {
        let now = Instant::now();
        let mut budget = ByteBudget::new(now);
        budget.charge(4 * 1024 * 1024 - 10);
        assert!(!budget.take(11, now), "so many are not left");
        assert!(budget.take(10, now));
        budget.charge(1);
        assert!(!budget.take(1, now));
    }
}
