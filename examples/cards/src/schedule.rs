//! When a card is due again. Pure: the time comes in as an argument.
//!
//! What counts is the time for which the answer was really remembered: the time since the last
//! review, up to twice the interval that was planned. Remembered, the card comes back after that
//! time grown by the grade, and slower or faster by its difficulty; never sooner than before, never
//! sooner than the least interval of the grade. Forgotten, it comes back after ten minutes.

use std::time::Duration;

use jiff::Timestamp;

use crate::model::{Difficulty, Grade};

const MINUTES_OF_A_DAY: u64 = 24 * 60;

/// Soon enough that the answer is still half there.
const AFTER_FORGETTING: u64 = 10;

/// Whoever has remembered something for a year will notice when it fades.
const LONGEST: u64 = 365 * MINUTES_OF_A_DAY;

/// A late review proves more than was planned, but luck grows with the time too.
const MOST_OVERDUE: u64 = 2;

/// The last review of a card, as far as the next one depends on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Last {
    /// The interval that was planned then.
    pub(crate) interval_minutes: u32,
    /// How long ago it was.
    pub(crate) ago: Duration,
}

/// The minutes until the next review.
pub(crate) fn next_interval(last: Option<Last>, difficulty: Difficulty, grade: Grade) -> u32 {
    let minutes = if grade.is_recalled() {
        let planned = last.map_or(0, |last| u64::from(last.interval_minutes));
        let passed = last.map_or(0, |last| last.ago.as_secs() / 60);
        let remembered = passed.min(planned * MOST_OVERDUE);
        let grown = remembered * growth_percent(grade) / 100 * pace_percent(difficulty) / 100;
        grown.max(planned).max(least(grade)).min(LONGEST)
    } else {
        AFTER_FORGETTING
    };
    u32::try_from(minutes).unwrap_or(u32::MAX)
}

/// The moment that many minutes later.
pub(crate) fn due_after(now: Timestamp, interval_minutes: u32) -> Timestamp {
    let later = Duration::from_secs(u64::from(interval_minutes) * 60);
    now.saturating_add(later).unwrap_or(Timestamp::MAX)
}

/// The time from one moment to a later one; none if it is not later.
pub(crate) fn between(earlier: Timestamp, later: Timestamp) -> Duration {
    Duration::try_from(earlier.duration_until(later)).unwrap_or(Duration::ZERO)
}

/// How much longer the next interval is.
fn growth_percent(grade: Grade) -> u64 {
    match grade {
        Grade::EASY => 300,
        Grade::GOOD => 200,
        _ => 120,
    }
}

/// How much of the growth a card of this difficulty gets.
fn pace_percent(difficulty: Difficulty) -> u64 {
    // 130 for the easiest, 100 for the usual, 70 for the hardest.
    145 - 15 * u64::from(difficulty.number())
}

/// The shortest interval of a grade, which is also the first one.
fn least(grade: Grade) -> u64 {
    match grade {
        Grade::EASY => 4 * MINUTES_OF_A_DAY,
        Grade::GOOD => 2 * MINUTES_OF_A_DAY,
        _ => MINUTES_OF_A_DAY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u32 = 24 * 60;

    /// The next interval in days for a plan and a wait in days.
    fn check(planned: u32, waited: u64, difficulty: u8, grade: Grade, expected_minutes: u32) {
        let last = Last {
            interval_minutes: planned * DAY,
            ago: Duration::from_secs(waited * 24 * 60 * 60),
        };
        let difficulty = Difficulty::parse(difficulty).unwrap();
        let found = next_interval(Some(last), difficulty, grade);
        assert_eq!(
            found, expected_minutes,
            "{planned} {waited} {difficulty:?} {grade:?}"
        );
    }

    #[test]
    fn the_first_interval_follows_from_the_grade_alone() {
        for difficulty in 1..=5 {
            let difficulty = Difficulty::parse(difficulty).unwrap();
            let first = |grade| next_interval(None, difficulty, grade);
            assert_eq!(first(Grade::FORGOTTEN), 10);
            assert_eq!(first(Grade::HARD), DAY);
            assert_eq!(first(Grade::GOOD), 2 * DAY);
            assert_eq!(first(Grade::EASY), 4 * DAY);
        }
    }

    #[test]
    fn what_was_remembered_grows_by_grade_and_difficulty() {
        check(10, 10, 3, Grade::HARD, 12 * DAY);
        check(10, 10, 3, Grade::GOOD, 20 * DAY);
        check(10, 10, 3, Grade::EASY, 30 * DAY);
        check(10, 10, 1, Grade::GOOD, 26 * DAY);
        check(10, 10, 5, Grade::GOOD, 14 * DAY);
    }

    #[test]
    fn a_review_ahead_of_time_does_not_pay_and_does_not_cost() {
        check(10, 0, 3, Grade::EASY, 10 * DAY);
        check(10, 6, 3, Grade::GOOD, 12 * DAY);
    }

    #[test]
    fn a_late_review_counts_up_to_twice_the_plan() {
        check(10, 15, 3, Grade::GOOD, 30 * DAY);
        check(10, 200, 3, Grade::GOOD, 40 * DAY);
    }

    #[test]
    fn what_was_forgotten_begins_anew_and_nothing_waits_longer_than_a_year() {
        check(300, 300, 1, Grade::FORGOTTEN, 10);
        check(300, 300, 1, Grade::EASY, 365 * DAY);
        check(365, 9999, 1, Grade::EASY, 365 * DAY);
    }

    #[test]
    fn a_clock_that_goes_back_is_no_time_at_all() {
        let now = Timestamp::from_second(1_000).unwrap();
        let earlier = Timestamp::from_second(400).unwrap();
        assert_eq!(between(earlier, now), Duration::from_mins(10));
        assert_eq!(between(now, earlier), Duration::ZERO);
        assert_eq!(due_after(Timestamp::MAX, DAY), Timestamp::MAX);
    }
}
