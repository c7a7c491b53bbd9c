//! Backoff: the wait before the next attempt.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::Instant;

/// Waits between attempts: doubled from the first to the longest, before jitter.
#[derive(Debug, Clone, Copy)]
struct Waits {
    first: Duration,
    longest: Duration,
}

/// Waits of streams: a server that comes back is found within half a minute.
const OF_STREAMS: Waits = Waits {
    first: Duration::from_millis(250),
    longest: Duration::from_secs(30),
};
/// Waits of servers: each attempt costs a process, and one that has failed for long is not back within a minute. Who
/// calls it does not wait for the next attempt, see `Readiness`.
const OF_SERVERS: Waits = Waits {
    first: Duration::from_secs(1),
    longest: Duration::from_mins(5),
};

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
        OF_STREAMS.delay(self.failures, random(self.failures))
    }
}

/// Wait before a server is tried again that failed so many times in a row, jittered so that servers that went down
/// together do not come back in step.
pub(crate) fn server_delay(failures: u32) -> Duration {
    OF_SERVERS.delay(failures, random(failures))
}

/// Wait as the log has it: milliseconds below a second, and whole seconds above.
pub(crate) fn in_log(wait: Duration) -> String {
    if wait < Duration::from_secs(1) {
        return format!("{}ms", wait.as_millis());
    }
    // Half a second more or less is jitter.
    match (wait + Duration::from_millis(500)).as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        seconds => format!("{}m{}s", seconds / 60, seconds % 60),
    }
}

fn random(failures: u32) -> u64 {
    RandomState::new().hash_one(failures)
}

impl Waits {
    /// Wait between half of the doubled one and all of it, chosen by the random number.
    fn delay(self, failures: u32, random: u64) -> Duration {
        let doublings = failures.saturating_sub(1).min(16);
        let full = self.first.saturating_mul(1 << doublings).min(self.longest);
        let half = full / 2;
        let spread = u64::try_from(half.as_micros()).unwrap_or(u64::MAX);
        half + Duration::from_micros(random % spread.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_logged_in_words_of_people() {
        for (milliseconds, logged) in [
            (0, "0ms"),
            (736, "736ms"),
            (1_000, "1s"),
            (1_499, "1s"),
            (1_500, "2s"),
            (59_400, "59s"),
            (59_500, "1m"),
            (150_300, "2m30s"),
            (300_000, "5m"),
        ] {
            assert_eq!(in_log(Duration::from_millis(milliseconds)), logged);
        }
    }

    #[test]
    fn waits_double_up_to_the_longest_and_keep_half_as_jitter() {
        for (waits, failures, full) in [
            (OF_STREAMS, 0, 250),
            (OF_STREAMS, 1, 250),
            (OF_STREAMS, 2, 500),
            (OF_STREAMS, 5, 4_000),
            (OF_STREAMS, 8, 30_000),
            (OF_STREAMS, u32::MAX, 30_000),
            (OF_SERVERS, 1, 1_000),
            (OF_SERVERS, 2, 2_000),
            (OF_SERVERS, 9, 256_000),
            (OF_SERVERS, 10, 300_000),
            (OF_SERVERS, u32::MAX, 300_000),
        ] {
            let full = Duration::from_millis(full);
            for random in [0, 1, 12_345_678, u64::MAX] {
                let wait = waits.delay(failures, random);
                assert!(wait >= full / 2 && wait <= full, "{failures}: {wait:?}");
            }
            assert_eq!(waits.delay(failures, 0), full / 2);
        }
    }
}
