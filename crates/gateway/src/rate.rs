//! How often a caller may call a tool.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::settings::RateLimit;

/// Entries are swept when the table has grown past this.
const SWEEP_ABOVE: usize = 10_000;

/// The windows of every caller and tool that has a limit.
///
/// A window begins with the first call after the last one ended. Fifty lines replace a
/// dependency of a dozen crates.
#[derive(Debug, Default)]
pub(crate) struct RateLimits {
    windows: Mutex<HashMap<(String, String), Window>>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    ends: Instant,
    calls: u32,
}

impl RateLimits {
    /// Counts a call; if it is one too many, says how long to wait.
    pub(crate) fn admit(
        &self,
        caller: &str,
        tool: &str,
        limit: RateLimit,
        now: Instant,
    ) -> Result<(), Duration> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() > SWEEP_ABOVE {
            windows.retain(|_, window| window.ends > now);
        }
        let fresh = Window {
            ends: now + limit.window,
            calls: 0,
        };
        let window = windows
            .entry((caller.to_owned(), tool.to_owned()))
            .or_insert(fresh);
        if window.ends <= now {
            *window = fresh;
        }
        if window.calls >= limit.max_calls {
            return Err(window.ends.duration_since(now));
        }
        window.calls += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_admits_as_many_calls_as_the_limit_says() {
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
        assert_eq!(admit("a", 4), Ok(()));
        assert_eq!(admit("a", 4), Err(Duration::from_secs(6)));
        assert_eq!(admit("b", 4), Ok(()), "callers do not share a limit");
        assert_eq!(admit("a", 9), Err(Duration::from_secs(1)));
        assert_eq!(admit("a", 10), Ok(()), "the next window has begun");
        assert_eq!(admit("a", 19), Ok(()));
        assert_eq!(admit("a", 19), Err(Duration::from_secs(1)));
    }
}
