//! Order statistics over measured samples.
//!
//! Whole numbers only, by nearest rank: a percentile is always a value that was really measured, never one
//! interpolated between two. Must never drop outliers; they are what a p99 is for.

use std::time::Duration;

/// The middle of a distribution, in thousandths.
pub(crate) const P50: usize = 500;
/// The slowest hundredth begins here, in thousandths.
pub(crate) const P99: usize = 990;

/// Latencies in nanoseconds, sorted once so that every percentile after that is a lookup.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    sorted: Vec<u64>,
}

impl Samples {
    /// Takes the measurements in any order.
    pub(crate) fn new(mut nanoseconds: Vec<u64>) -> Self {
        nanoseconds.sort_unstable();
        Self {
            sorted: nanoseconds,
        }
    }

    /// The smallest sample that at least `permille` thousandths of all samples do not exceed.
    ///
    /// `None` when nothing was measured, so that an empty run cannot look like a fast one.
    pub(crate) fn percentile(&self, permille: usize) -> Option<Duration> {
        let rank = (self.sorted.len() * permille).div_ceil(1000).max(1);
        self.sorted.get(rank - 1).copied().map(Duration::from_nanos)
    }
}

/// Microseconds as a number for a table or for JSON.
pub(crate) fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// A count as a number that can be divided.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of one run stay far below the 2^53 that a double holds exactly"
)]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(samples: &[u64], permille: usize, expected: Option<u64>) {
        let found = Samples::new(samples.to_vec()).percentile(permille);
        assert_eq!(
            found,
            expected.map(Duration::from_nanos),
            "{permille} thousandths of {samples:?}"
        );
    }

    #[test]
    fn percentile_is_the_nearest_rank() {
        let hundred: Vec<u64> = (1..=100).rev().collect();
        check(&[], P50, None);
        check(&[7], P50, Some(7));
        check(&[7], P99, Some(7));
        check(&[3, 1, 2], P50, Some(2));
        check(&[4, 3, 2, 1], P50, Some(2));
        check(&[5, 1, 9, 3, 7], P50, Some(5));
        check(&hundred, P50, Some(50));
        check(&hundred, P99, Some(99));
        check(&hundred, 1000, Some(100));
        check(&hundred, 0, Some(1));
        check(&[1, 1, 1, 100], P99, Some(100));
    }

    #[test]
    fn one_outlier_in_a_thousand_leaves_the_p99_alone_and_eleven_do_not() {
        let mut samples = vec![10; 999];
        samples.push(5_000);
        check(&samples, P99, Some(10));
        let mut samples = vec![10; 989];
        samples.extend([5_000; 11]);
        check(&samples, P99, Some(5_000));
    }

    #[test]
    fn units_convert() {
        assert!((microseconds(Duration::from_nanos(1_500)) - 1.5).abs() < 1e-9);
        assert!((float(3) - 3.0).abs() < f64::EPSILON);
    }
}
