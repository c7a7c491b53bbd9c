//! Calls in flight, so that a cancellation finds the one it means.
//!
//! Since 2026-07-28 a client cancels by closing the connection. Older ones send a notification in a
//! request of its own, which has to find its way from there.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// The calls in flight; no more than there are connections.
#[derive(Debug, Default)]
pub(super) struct RunningCalls {
    calls: Mutex<Vec<CancellableCall>>,
    next: AtomicU64,
}

/// Which call: whose, in which session, under which id.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallKey {
    pub(super) user: Option<String>,
    pub(super) session: String,
    pub(super) request: Value,
}

#[derive(Debug)]
struct CancellableCall {
    number: u64,
    key: CallKey,
    token: CancellationToken,
}

/// A call that is listed as long as this lives.
#[derive(Debug)]
pub(super) struct CallGuard {
    running: Arc<RunningCalls>,
    number: u64,
    token: CancellationToken,
}

impl RunningCalls {
    /// Lists a call.
    pub(super) fn list(self: &Arc<Self>, key: CallKey) -> CallGuard {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let token = CancellationToken::new();
        self.change(|calls| {
            calls.push(CancellableCall {
                number,
                key,
                token: token.clone(),
            });
        });
        CallGuard {
            running: Arc::clone(self),
            number,
            token,
        }
    }

    /// Cancels a call. With two of the same id nobody can tell which is meant, and both go on.
    pub(super) fn cancel(&self, key: &CallKey) {
        self.change(|calls| {
            let mut meant = calls.iter().filter(|entry| entry.key == *key);
            if let (Some(only), None) = (meant.next(), meant.next()) {
                only.token.cancel();
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut Vec<CancellableCall>)) {
        change(&mut self.calls.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl CallGuard {
    /// Over when the call is cancelled.
    pub(super) async fn cancelled(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let number = self.number;
        self.running
            .change(|calls| calls.retain(|entry| entry.number != number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(user: &str, request: i32) -> CallKey {
        CallKey {
            user: Some(user.to_owned()),
            session: "s".to_owned(),
            request: request.into(),
        }
    }

    #[test]
    fn a_cancellation_reaches_the_one_call_it_means_and_no_other() {
        let running = Arc::new(RunningCalls::default());
        let meant = running.list(key("ann", 1));
        let others = [running.list(key("ann", 2)), running.list(key("bob", 1))];
        let twins = [running.list(key("ann", 3)), running.list(key("ann", 3))];
        running.cancel(&key("ann", 1));
        running.cancel(&key("ann", 3));
        assert!(meant.token.is_cancelled());
        assert!(
            others
                .iter()
                .chain(&twins)
                .all(|call| !call.token.is_cancelled())
        );

        // One of the twins is done; now there is no doubt.
        let [first, second] = twins;
        drop(first);
        running.cancel(&key("ann", 3));
        assert!(second.token.is_cancelled());
        drop((meant, others, second));
        running.change(|calls| assert!(calls.is_empty()));
    }
}
