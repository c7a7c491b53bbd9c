//! Calls in flight, so that a cancellation finds the one it means.
//!
//! Since 2026-07-28 a client cancels by closing the connection. Older ones send a notification in a
//! request of its own, which has to find its way from there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::Notify;

/// The calls in flight with what cancels each; no more than there are connections.
#[derive(Debug, Default)]
pub(super) struct RunningCalls(Mutex<Vec<(CallKey, Arc<Notify>)>>);

/// Key of a call: whose it is, in which session, under which id.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallKey {
    pub(super) user: Option<String>,
    pub(super) session: String,
    pub(super) request: Value,
}

/// A call that is listed as long as this lives.
#[derive(Debug)]
pub(super) struct CallGuard {
    running: Arc<RunningCalls>,
    /// Told when the call is cancelled.
    pub(super) cancelled: Arc<Notify>,
}

impl RunningCalls {
    /// Lists a call.
    pub(super) fn list(self: &Arc<Self>, key: CallKey) -> CallGuard {
        let cancelled = Arc::new(Notify::new());
        self.calls().push((key, Arc::clone(&cancelled)));
        CallGuard {
            running: Arc::clone(self),
            cancelled,
        }
    }

    /// Cancels a call. With two of the same id nobody can tell which is meant, and both go on.
    pub(super) fn cancel(&self, key: &CallKey) {
        let calls = self.calls();
        let mut meant = calls.iter().filter(|(listed, _)| listed == key);
        if let (Some((_, only)), None) = (meant.next(), meant.next()) {
            only.notify_one();
        }
    }

    fn calls(&self) -> MutexGuard<'_, Vec<(CallKey, Arc<Notify>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let is_other = |other: &Arc<Notify>| !Arc::ptr_eq(other, &self.cancelled);
        self.running.calls().retain(|(_, other)| is_other(other));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn key(user: &str, request: i32) -> CallKey {
        CallKey {
            user: Some(user.to_owned()),
            session: "s".to_owned(),
            request: request.into(),
        }
    }

    fn is_cancelled(call: &CallGuard) -> bool {
        call.cancelled.notified().now_or_never().is_some()
    }

    #[test]
    fn a_cancellation_reaches_the_one_call_it_means_and_no_other() {
        let running = Arc::new(RunningCalls::default());
        let meant = running.list(key("ann", 1));
        let others = [running.list(key("ann", 2)), running.list(key("bob", 1))];
        let twins = [running.list(key("ann", 3)), running.list(key("ann", 3))];
        running.cancel(&key("ann", 1));
        running.cancel(&key("ann", 3));
        assert!(is_cancelled(&meant));
        assert!(!others.iter().chain(&twins).any(is_cancelled));

        // One of the twins is done; now there is no doubt.
        let [first, second] = twins;
        drop(first);
        running.cancel(&key("ann", 3));
        assert!(is_cancelled(&second));
        drop((meant, others, second));
        assert!(running.calls().is_empty());
    }
}
