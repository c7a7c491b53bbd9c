//! How often one caller may call one tool: never more than so many calls in any window of time.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::RateLimit;

/// The most callers that are remembered; those whose window is over are forgotten first.
const MOST_CALLERS: usize = 10_000;

/// The calls of the current windows.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    calls: Mutex<HashMap<(usize, String), Calls>>,
}

#[derive(Debug)]
struct Calls {
    times: VecDeque<Instant>,
    window: Duration,
}

impl Limits {
    /// Counts a call, or tells how long to wait until it may be made.
    pub(crate) fn admit(
        &self,
        tool: usize,
        caller: String,
        limit: RateLimit,
        now: Instant,
    ) -> Result<(), Duration> {
        let window = limit.window();
        let mut all = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_CALLERS {
            all.retain(|_, calls| {
                calls
                    .times
                    .back()
                    .is_some_and(|last| *last + calls.window > now)
            });
        }
        // Everybody is within a window: a stranger waits rather than having somebody forgotten.
        if all.len() >= MOST_CALLERS && !all.contains_key(&(tool, caller.clone())) {
            return Err(window);
        }
        let calls = all.entry((tool, caller)).or_insert_with(|| Calls {
            times: VecDeque::new(),
            window,
        });
        while calls
            .times
            .front()
            .is_some_and(|first| *first + window <= now)
        {
            calls.times.pop_front();
        }
        if calls.times.len() >= limit.max_calls() as usize
            && let Some(first) = calls.times.front()
        {
            return Err((*first + window).duration_since(now));
        }
        calls.times.push_back(now);
        Ok(())
    }
}
