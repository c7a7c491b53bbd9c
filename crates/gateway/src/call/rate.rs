//! Rate limits: how often a caller may call a tool.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcpproxy_policy::Caller;

use crate::failure::{Code, Failure};
use crate::settings::ToolRateLimit;

/// Most windows that are remembered. Sessions cost a caller nothing, so their number has no bound
/// of its own.
const MOST_WINDOWS: usize = 10_000;

/// Windows that are forgotten at least when there are too many, so that not every call has to
/// look through all of them.
const ROOM: usize = 1_000;

/// The windows of every caller and tool that has a limit.
///
/// A window begins with the first call after the last one ended. This file replaces a
/// dependency of a dozen crates.
#[derive(Debug, Default)]
pub(crate) struct RateLimits {
    windows: Mutex<HashMap<WindowKey, Window>>,
}

/// Caller and tool.
type WindowKey = (String, String);

#[derive(Debug, Clone, Copy)]
struct Window {
    ends: Instant,
    calls: u32,
}

impl RateLimits {
    /// Counts a call; refuses it if it is one too many.
    pub(crate) fn admit(
        &self,
        caller: &Caller,
        tool: &str,
        limit: ToolRateLimit,
    ) -> Result<(), Failure> {
        self.count((caller_key(caller), tool.to_owned()), limit, Instant::now())
            .map_err(|wait| rate_limited(tool, wait))
    }

    /// Counts a call; if it is one too many, says how long to wait.
    fn count(&self, key: WindowKey, limit: ToolRateLimit, now: Instant) -> Result<(), Duration> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= MOST_WINDOWS && !windows.contains_key(&key) {
            make_room(&mut windows, now);
        }
        let fresh = Window {
            ends: now + limit.window,
            calls: 0,
        };
        let window = windows.entry(key).or_insert(fresh);
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

/// Forgets windows that have ended, and then those that end soonest: their callers lose the least.
fn make_room(windows: &mut HashMap<WindowKey, Window>, now: Instant) {
    windows.retain(|_, window| window.ends > now);
    let excess = windows.len().saturating_sub(MOST_WINDOWS - ROOM);
    if excess == 0 {
        return;
    }
    let mut ends: Vec<Instant> = windows.values().map(|window| window.ends).collect();
    let (_, last, _) = ends.select_nth_unstable(excess - 1);
    windows.retain(|_, window| window.ends > *last);
}

/// Key under which calls count together: the client's name and session.
fn caller_key(caller: &Caller) -> String {
    format!(
        "{}\n{}",
        caller.client_name.as_deref().unwrap_or_default(),
        caller.session_id.as_deref().unwrap_or_default()
    )
}

fn rate_limited(tool: &str, wait: Duration) -> Failure {
    let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    Failure::new(
        Code::RateLimited,
        format!("Tool '{tool}' was called too often, try again in {milliseconds} ms"),
    )
    .with("retry_after_ms", milliseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(caller: &str) -> WindowKey {
        (caller.to_owned(), "s:t".to_owned())
    }

    #[test]
    fn a_window_admits_as_many_calls_as_the_limit_says() {
        let limits = RateLimits::default();
        let limit = ToolRateLimit {
            max_calls: 2,
            window: Duration::from_secs(10),
        };
        let start = Instant::now();
        let admit = |caller: &str, seconds: u64| {
            limits.count(key(caller), limit, start + Duration::from_secs(seconds))
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

    #[test]
    fn windows_are_bounded_and_those_that_end_soonest_are_forgotten() {
        let limits = RateLimits::default();
        let limit = ToolRateLimit {
            max_calls: 1,
            window: Duration::from_hours(24),
        };
        let start = Instant::now();
        let admit = |number: usize| {
            let moment = start + Duration::from_millis(number as u64);
            limits.count(key(&number.to_string()), limit, moment)
        };
        for number in 0..3 * MOST_WINDOWS {
            assert_eq!(admit(number), Ok(()));
            assert!(limits.windows.lock().unwrap().len() <= MOST_WINDOWS);
        }
        let newest = 3 * MOST_WINDOWS - 1;
        assert!(admit(newest).is_err(), "a window that lasts is remembered");
        assert_eq!(admit(0), Ok(()), "the oldest is forgotten");
    }
}
