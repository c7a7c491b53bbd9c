//! How often a caller may call a tool.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::settings::RateLimit;

/// Entries are swept when the table has grown past this.
const SWEEP_ABOVE: usize = 10_000;

/// The next free moment of each caller and tool that has a limit.
///
/// Each pair has one moment, the generic cell rate algorithm: calls push it ahead by an equal share
/// of the window, and a call is refused while it lies more than a window ahead. Forty
/// lines replace a dependency of a dozen crates.
#[derive(Debug, Default)]
pub(crate) struct RateLimits {
    next_free: Mutex<HashMap<(String, String), Instant>>,
}

impl RateLimits {
    /// Counts a call; if it comes too early, says how long to wait.
    pub(crate) fn admit(
        &self,
        caller: &str,
        tool: &str,
        limit: RateLimit,
        now: Instant,
    ) -> Result<(), Duration> {
        let share = limit.window / limit.max_calls.max(1);
        let mut table = self
            .next_free
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if table.len() > SWEEP_ABOVE {
            table.retain(|_, moment| *moment > now);
        }
        let moment = table
            .entry((caller.to_owned(), tool.to_owned()))
            .or_insert(now);
        let after = (*moment).max(now) + share;
        // The moment lies at most one window ahead after a call that is admitted.
        let ahead = after.duration_since(now);
        if let Some(too_early) = ahead.checked_sub(limit.window)
            && !too_early.is_zero()
        {
            return Err(too_early);
        }
        *moment = after;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_beyond_the_limit_wait_their_share_of_the_window() {
        let limits = RateLimits::default();
        let limit = RateLimit {
            max_calls: 2,
            window: Duration::from_secs(10),
        };
        let start = Instant::now();
        let admit = |caller: &str, seconds: u64| {
            limits.admit(caller, "s:t", limit, start + Duration::from_secs(seconds))
        };
        assert_eq!(admit("a", 0), Ok(()));
        assert_eq!(admit("a", 0), Ok(()));
        assert_eq!(admit("a", 0), Err(Duration::from_secs(5)));
        assert_eq!(admit("b", 0), Ok(()), "callers do not share a limit");
        assert_eq!(admit("a", 4), Err(Duration::from_secs(1)));
        assert_eq!(admit("a", 5), Ok(()));
        assert_eq!(admit("a", 5), Err(Duration::from_secs(5)));
        assert_eq!(admit("a", 60), Ok(()));
        assert_eq!(admit("a", 60), Ok(()));
        assert!(admit("a", 60).is_err());
    }
}
