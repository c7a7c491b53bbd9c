//! Backoff: the wait before the next attempt.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

/// Wait after the first failure, before jitter.
const FIRST: Duration = Duration::from_millis(250);
/// Longest wait: a server that comes back is found within half a minute.
const LONGEST: Duration = Duration::from_secs(30);

/// Time after which a connection or a stream was well: its end is not one failure more in a row.
pub(crate) const WELL_AFTER: Duration = Duration::from_secs(10);

/// Counter of streams that ended one after the other.
#[derive(Debug, Default)]
pub(crate) struct StreamBackoff {
    failures: u32,
}

impl StreamBackoff {
    /// Wait before a stream is opened again that was opened at this time.
    pub(crate) fn next_delay(&mut self, opened: Instant) -> Duration {
        if opened.elapsed() >= WELL_AFTER {
            self.failures = 0;
        }
        self.failures += 1;
        delay(self.failures)
    }
}

/// Wait after so many failures in a row, jittered so that upstreams that went down
/// together do not come back in step.
pub(crate) fn delay(failures: u32) -> Duration {
    jittered(failures, RandomState::new().hash_one(failures))
}

/// Wait between half of the doubled one and all of it, chosen by the random number.
fn jittered(failures: u32, random: u64) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    let full = FIRST.saturating_mul(1 << doublings).min(LONGEST);
    let half = full / 2;
    let spread = u64::try_from(half.as_micros()).unwrap_or(u64::MAX);
    half + Duration::from_micros(random % spread.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_half_a_minute_and_keep_half_as_jitter() {
        for (failures, full) in [
            (0, 250),
            (1, 250),
            (2, 500),
            (5, 4_000),
            (8, 30_000),
            (u32::MAX, 30_000),
        ] {
            let full = Duration::from_millis(full);
            for random in [0, 1, 12_345_678, u64::MAX] {
                let wait = jittered(failures, random);
                assert!(wait >= full / 2 && wait <= full, "{failures}: {wait:?}");
            }
            assert_eq!(jittered(failures, 0), full / 2);
        }
    }
}
