//! Client requests that were passed on to stateless clients, until they come back with the answers.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use mcpproxy_upstream::client::{AnswerRecorder, AskingCall, ClientRequestKind, PassedOn};
use mcpproxy_wire::json::text_of;
use tokio::task::AbortHandle;

/// Most client requests that were passed on and are not answered; beyond it the oldest counts as not answered.
const MOST_PASSED_ON: usize = 1024;

/// Client requests that were passed on. Nothing depends on them but their records.
#[derive(Debug, Default)]
pub(super) struct PassedOnRequests {
    by_key: Mutex<HashMap<u64, PassedOnRequest>>,
    hasher: RandomState,
}

/// Client request that was passed on.
pub(super) struct PassedOnRequest {
    pub(super) kind: ClientRequestKind,
    pub(super) since: Instant,
    pub(super) recorder: AnswerRecorder,
    /// Task that ends the wait for the answer.
    pub(super) expiry: AbortHandle,
}

// === impl PassedOnRequests ===

impl PassedOnRequests {
    /// Key of a client request: whose it is, and what the client repeats of it.
    pub(super) fn key(&self, call: &AskingCall, passed_on: PassedOn<'_>) -> u64 {
        let caller = &call.caller;
        let client = (&caller.client_name, &caller.client_version);
        // Clients write the text of a state anew.
        let state = passed_on
            .state
            .map(|state| text_of(state).unwrap_or(state.into()));
        let whole = (
            &call.server,
            caller.limit_key(),
            client,
            state,
            passed_on.key,
        );
        self.hasher.hash_one(whole)
    }

    /// Waits for the answer to a client request.
    pub(super) fn insert(&self, key: u64, request: PassedOnRequest) {
        let mut by_key = self.lock();
        let oldest = (by_key.len() >= MOST_PASSED_ON)
            .then(|| by_key.iter().min_by_key(|(_, request)| request.since))
            .flatten();
        let oldest = oldest.map(|(key, _)| *key);
        let oldest = oldest.and_then(|key| by_key.remove(&key));
        let before = by_key.insert(key, request);
        drop(by_key);
        // Their records are closed outside of the lock, when they are dropped.
        for request in [oldest, before].into_iter().flatten() {
            request.expiry.abort();
        }
    }

    /// Takes a client request that is answered.
    pub(super) fn take(&self, key: u64) -> Option<PassedOnRequest> {
        let request = self.lock().remove(&key)?;
        request.expiry.abort();
        Some(request)
    }

    /// Ends the wait for an answer.
    pub(super) fn expire(&self, key: u64) {
        let expired = self.lock().remove(&key);
        // Its record is closed outside of the lock.
        drop(expired);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, PassedOnRequest>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for PassedOnRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("PassedOnRequest")
            .field(&self.kind)
            .finish()
    }
}
