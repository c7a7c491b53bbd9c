//! Rate limits: never more than so many calls in any window of time, whoever counts them.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most keys that are remembered. A caller may have as many sessions as it likes, so their number has no bound of its
/// own.
const MOST_KEYS: usize = 10_000;

/// Keys that are forgotten at least when there are too many, so that not every call has to look through all of them.
const ROOM: usize = 1_000;

/// Most moments that are remembered of one key. Up to this limit every call has its own; above it calls that are close
/// together share one and count until the last of them could be forgotten.
const MOST_MOMENTS: u32 = 64;

/// Calls of the current windows, by key: who calls what.
///
/// A window slides: each call counts from its moment until the window is over, so that twice the limit cannot pass
/// around the end of one.
#[derive(Debug)]
pub struct RateLimiter<K> {
    calls: Mutex<HashMap<K, RecentCalls>>,
}

#[derive(Debug, Default)]
struct RecentCalls {
    /// Moments at which calls began to be counted, oldest first, with their number.
    moments: VecDeque<(Instant, u32)>,
    /// Time that a moment counts.
    lasting: Duration,
}

impl<K> Default for RateLimiter<K> {
    fn default() -> Self {
        Self {
            calls: Mutex::default(),
        }
    }
}

impl<K: Eq + Hash> RateLimiter<K> {
    /// Counts a call, or says how long to wait until it may be made.
    ///
    /// When there are too many keys, those whose windows end soonest are forgotten: their callers lose the least, and
    /// a stranger never waits for others.
    pub fn admit(
        &self,
        key: K,
        max_calls: u32,
        window: Duration,
        now: Instant,
    ) -> Result<(), Duration> {
        let mut all = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_KEYS && !all.contains_key(&key) {
            make_room(&mut all, now);
        }
        all.entry(key).or_default().admit(max_calls, window, now)
    }
}

impl RecentCalls {
    fn admit(&mut self, max_calls: u32, window: Duration, now: Instant) -> Result<(), Duration> {
        let grain = match max_calls {
            0..=MOST_MOMENTS => Duration::ZERO,
            _ => window / MOST_MOMENTS,
        };
        self.lasting = window.saturating_add(grain);
        while let Some((oldest, _)) = self.moments.front()
            && since(*oldest, now) >= self.lasting
        {
            self.moments.pop_front();
        }
        let calls = self
            .moments
            .iter()
            .fold(0_u32, |sum, (_, calls)| sum.saturating_add(*calls));
        if calls >= max_calls {
            let oldest = self.moments.front();
            return Err(oldest.map_or(window, |(oldest, _)| {
                self.lasting.saturating_sub(since(*oldest, now))
            }));
        }
        match self.moments.back_mut() {
            Some((newest, calls)) if since(*newest, now) < grain => *calls += 1,
            _ => self.moments.push_back((now, 1)),
        }
        Ok(())
    }

    /// Time until nothing of this is counted any more.
    fn remaining(&self, now: Instant) -> Duration {
        self.moments.back().map_or(Duration::ZERO, |(newest, _)| {
            self.lasting.saturating_sub(since(*newest, now))
        })
    }
}

/// Forgets keys whose windows have ended, and then those that end soonest.
fn make_room<K>(all: &mut HashMap<K, RecentCalls>, now: Instant) {
    all.retain(|_, calls| !calls.remaining(now).is_zero());
    let excess = all.len().saturating_sub(MOST_KEYS - ROOM);
    if excess == 0 {
        return;
    }
    let mut ends: Vec<Duration> = all.values().map(|calls| calls.remaining(now)).collect();
    let (_, last, _) = ends.select_nth_unstable(excess - 1);
    all.retain(|_, calls| calls.remaining(now) > *last);
}

/// Time since a moment; none for one that is still to come, because threads read the clock before they take the lock.
fn since(moment: Instant, now: Instant) -> Duration {
    now.saturating_duration_since(moment)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WINDOW: Duration = Duration::from_secs(10);

    #[test]
    fn a_window_admits_as_many_calls_as_the_limit_says() {
        let limiter = RateLimiter::default();
        let start = Instant::now();
        let admit = |key: &'static str, seconds: u64| {
            limiter.admit(key, 2, WINDOW, start + Duration::from_secs(seconds))
        };
        assert_eq!(admit("a", 0), Ok(()));
        assert_eq!(admit("a", 4), Ok(()));
        assert_eq!(admit("a", 4), Err(Duration::from_secs(6)));
        assert_eq!(admit("b", 4), Ok(()), "callers do not share a limit");
        assert_eq!(admit("a", 9), Err(Duration::from_secs(1)));
        assert_eq!(admit("a", 10), Ok(()), "the first call is forgotten");
        let second = admit("a", 11);
        assert_eq!(second, Err(Duration::from_secs(3)), "the second is not");
        assert_eq!(admit("a", 19), Ok(()));
        assert_eq!(admit("a", 19), Err(Duration::from_secs(1)));
    }

    #[test]
    fn keys_are_bounded_and_those_that_end_soonest_are_forgotten() {
        let limiter = RateLimiter::default();
        let start = Instant::now();
        let admit = |number: usize| {
            let moment = start + Duration::from_millis(number as u64);
            limiter.admit(number, 1, Duration::from_hours(24), moment)
        };
        for number in 0..3 * MOST_KEYS {
            assert_eq!(admit(number), Ok(()));
            assert!(limiter.calls.lock().unwrap().len() <= MOST_KEYS);
        }
        let newest = 3 * MOST_KEYS - 1;
        assert!(admit(newest).is_err(), "a window that lasts is remembered");
        assert_eq!(admit(0), Ok(()), "the oldest is forgotten");
    }

    #[test]
    fn absurd_limits_are_limits() {
        let limiter = RateLimiter::default();
        let now = Instant::now();
        for window in [Duration::ZERO, Duration::MAX] {
            assert_eq!(limiter.admit("none", 0, window, now), Err(window));
            assert_eq!(limiter.admit("all", u32::MAX, window, now), Ok(()));
        }
        assert_eq!(limiter.admit("one", 1, Duration::MAX, now), Ok(()));
        let refused = limiter.admit("one", 1, Duration::MAX, now + WINDOW);
        assert_eq!(refused, Err(Duration::MAX.saturating_sub(WINDOW)));
        assert_eq!(limiter.admit("zero", 1, Duration::ZERO, now), Ok(()));
        assert_eq!(limiter.admit("zero", 1, Duration::ZERO, now), Ok(()));
    }

    proptest! {
        #[test]
        fn no_window_has_more_calls_than_the_limit_and_little_is_remembered(
            max_calls in 1_u32..200,
            pauses in prop::collection::vec(0_u64..300, 1..600),
        ) {
            let limiter = RateLimiter::default();
            let mut now = Instant::now();
            let mut admitted: VecDeque<Instant> = VecDeque::new();
            for pause in pauses {
                now += Duration::from_millis(pause);
                if limiter.admit((), max_calls, WINDOW, now).is_ok() {
                    admitted.push_back(now);
                }
                while admitted.front().is_some_and(|first| since(*first, now) >= WINDOW) {
                    admitted.pop_front();
                }
                prop_assert!(admitted.len() <= max_calls as usize);
                let remembered = limiter.calls.lock().unwrap()[&()].moments.len();
                prop_assert!(remembered <= MOST_MOMENTS as usize + 2);
            }
        }
    }
}
