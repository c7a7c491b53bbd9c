//! Start of a server that is under way: its slot, its signs of life, and when there is no hope for it.
//!
//! A program is not ended because it takes long, but because it does nothing: to end `npx` in the middle of an
//! installation leaves half a package behind, which fails for good.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpproxy_wire::Method;
use tokio::time::{Instant, sleep, sleep_until};

use crate::process::life_signs::{LifeSampler, LifeSigns};
use crate::process::start_slots::StartSlot;
use crate::{Runtime, Spec, lock};

/// Longest that a start holds its slot, however busy it is: one that computes for ever must not keep others from
/// starting. Longer than most installations take.
const LONGEST_SLOT: Duration = Duration::from_mins(2);
/// Longest and shortest pause between two looks at what a program does.
const LONGEST_STEP: Duration = Duration::from_millis(500);
const SHORTEST_STEP: Duration = Duration::from_millis(10);

/// Looks in vain after which a program is looked at more rarely, and how much more rarely.
const OFTEN: u32 = 20;
const SELDOM: u32 = 10;

/// Start of a server.
pub(super) struct Start {
    pub(super) signs: Arc<LifeSigns>,
    began: Instant,
    last_sign: Mutex<Instant>,
    /// Held until the server is ready, has failed, or does nothing.
    slot: Mutex<Option<StartSlot>>,
    /// Request that was sent last.
    asked: Mutex<Method>,
}

/// Limits of the start of a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct StartLimits {
    /// Time without a sign of life after which it is ended.
    silence: Duration,
    /// Time after which it is ended although it is busy.
    pub(super) in_all: Duration,
    /// Time without a sign of life after which its slot goes to another.
    slot_silence: Duration,
    /// Time after which its slot goes to one that waits, although it is busy.
    slot_time: Duration,
    /// Pause between two looks.
    step: Duration,
}

// === impl Start ===

impl Start {
    /// Start that begins now, in the slot it has, if it needs one.
    pub(super) fn begin(slot: Option<StartSlot>) -> Self {
        let now = Instant::now();
        Self {
            signs: Arc::default(),
            began: now,
            last_sign: Mutex::new(now),
            slot: Mutex::new(slot),
            asked: Mutex::new(Method::ServerDiscover),
        }
    }

    /// Takes note of the request that the server is to answer.
    pub(super) fn ask(&self, method: Method) {
        *lock(&self.asked) = method;
    }

    /// Waits until the program has shown no sign of life for so long, or until it has had the longest time for its answer.
    pub(super) async fn silent_for(&self, silence: Duration, longest: Duration) {
        loop {
            let until = *lock(&self.last_sign) + silence;
            let until = until.min(self.began + longest);
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }

    fn is_slot_wanted(&self, limits: StartLimits) -> bool {
        let slot = lock(&self.slot);
        slot.as_ref()
            .is_some_and(|slot| slot.is_wanted_back(limits.slot_time))
    }

    /// Follows a program until there is no hope for it any more; says why, for people.
    pub(super) async fn hopeless(&self, limits: StartLimits, sampler: &LifeSampler) -> String {
        let mut seen = None;
        let mut pause = limits.step;
        loop {
            sleep(pause).await;
            let sample = Some(sampler.sample(&self.signs, limits.step / 2).await);
            if seen != sample {
                seen = sample;
                *lock(&self.last_sign) = Instant::now();
            }
            let silent_for = lock(&self.last_sign).elapsed();
            let is_long = self.began.elapsed() >= LONGEST_SLOT;
            if silent_for >= limits.slot_silence || is_long || self.is_slot_wanted(limits) {
                lock(&self.slot).take();
            }
            pause = limits.pause(silent_for);
            let method = lock(&self.asked).as_str();
            if silent_for >= limits.silence {
                let silence = in_words(limits.silence);
                return format!(
                    "it did not answer {method} and showed no sign of life for {silence}: no output, no processor time; raise its start_timeout if it needs longer"
                );
            }
            if self.began.elapsed() >= limits.in_all {
                let in_all = in_words(limits.in_all);
                return format!(
                    "it did not answer {method} within {in_all}, although it was busy; raise its start_timeout if it needs longer"
                );
            }
        }
    }
}

// === impl StartLimits ===

impl StartLimits {
    /// Limits of the start of this server.
    pub(super) fn of(spec: &Spec, runtime: &Runtime) -> Self {
        let silence = spec.start_timeout;
        let shortest = (silence / 4).min(runtime.probe_silence / 2);
        let shortest = shortest.min(runtime.slot_silence / 2);
        Self {
            silence,
            in_all: runtime.longest_start.max(silence),
            slot_silence: runtime.slot_silence,
            slot_time: runtime.slot_time,
            step: shortest.clamp(SHORTEST_STEP, LONGEST_STEP),
        }
    }

    /// Pause until the next look at a program that has been silent for so long: one that hangs is looked at more rarely,
    /// as each look costs some time of the processor.
    fn pause(self, silent_for: Duration) -> Duration {
        if silent_for < OFTEN * self.step {
            return self.step;
        }
        let left = self.silence.saturating_sub(silent_for);
        left.clamp(self.step, SELDOM * self.step)
    }
}

fn in_words(time: Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{} ms", time.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_is_looked_at_more_rarely_and_in_time_for_its_end() {
        let seconds = Duration::from_secs;
        let limits = StartLimits {
            silence: seconds(300),
            in_all: seconds(1800),
            slot_silence: seconds(5),
            slot_time: seconds(15),
            step: seconds(1),
        };
        for (silent_for, expected) in [(0, 1), (19, 1), (20, 10), (290, 10), (297, 3), (300, 1)] {
            assert_eq!(
                limits.pause(seconds(silent_for)),
                seconds(expected),
                "{silent_for}"
            );
        }
    }

    #[test]
    fn times_are_told_in_seconds_where_they_are_whole() {
        assert_eq!(in_words(Duration::from_mins(5)), "300 s");
        assert_eq!(in_words(Duration::from_millis(1500)), "1500 ms");
    }
}
