//! Waiting, always with a deadline.

use std::time::{Duration, Instant};

/// How long anything may take. Far more than is needed, since the tests share their
/// machine; it only keeps a broken test from waiting forever.
pub const DEADLINE: Duration = Duration::from_mins(2);

/// How often a condition is looked at.
const STEP: Duration = Duration::from_millis(10);

/// Waits for something, or fails the test with what it was.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future)
        .await
        .unwrap_or_else(|_| panic!("waited {} s in vain: {what}", DEADLINE.as_secs()))
}

/// Looks again and again until there is something, or fails the test with what was missing.
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = within(what, look()).await {
            return found;
        }
        assert!(
            start.elapsed() < DEADLINE,
            "looked {} s in vain: {what}",
            DEADLINE.as_secs()
        );
        tokio::time::sleep(STEP).await;
    }
}
