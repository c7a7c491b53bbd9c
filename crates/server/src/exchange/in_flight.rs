//! Requests of one client that are being answered, so that it can cancel one.
//!
//! Clients are known to give several requests the same id. Each of them still gets its own answer,
//! because answers are never looked up by id; only cancelling is. Where more than one request in
//! flight has the id, nobody can tell which one is meant, so none is: a call that runs to its end
//! is better than another one that is cut off in the middle of its work.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpproxy_wire::RequestId;
use tokio_util::sync::CancellationToken;

use super::params::RequestParams;

/// Requests of one client. Clones are of the same client.
#[derive(Debug, Clone, Default)]
pub struct InFlight(Arc<Mutex<InFlightTable>>);

#[derive(Debug, Default)]
struct InFlightTable {
    /// Id of each request, and what cancels it.
    requests: HashMap<u64, (RequestId, CancellationToken)>,
    next: u64,
}

/// Request that is being answered, until this is dropped.
#[derive(Debug)]
pub struct InFlightEntry {
    table: InFlight,
    number: u64,
    cancelled: CancellationToken,
}

impl InFlight {
    /// Enters a request by its id.
    pub fn enter(&self, id: &RequestId) -> InFlightEntry {
        let cancelled = CancellationToken::new();
        let mut table = self.lock();
        let number = table.next;
        table.next += 1;
        table
            .requests
            .insert(number, (id.clone(), cancelled.clone()));
        drop(table);
        InFlightEntry {
            table: self.clone(),
            number,
            cancelled,
        }
    }

    /// Does what `notifications/cancelled` with these parameters asks for.
    pub fn cancel(&self, params: &RequestParams) {
        let Some(id) = params.given("requestId") else {
            return;
        };
        let table = self.lock();
        let requests = table.requests.values();
        let mut meant = requests.filter(|(known, _)| known.text() == id.text());
        if let (Some((_, cancelled)), None) = (meant.next(), meant.next()) {
            cancelled.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, InFlightTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InFlightEntry {
    /// Waits until the client cancels the request.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// Does the work of the request; nothing if it was cancelled, and then the work is dropped.
    pub async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => None,
            done = work => Some(done),
        }
    }
}

impl Drop for InFlightEntry {
    fn drop(&mut self) {
        self.table.lock().requests.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_one_request_with_the_id_is_cancelled() {
        let requests = InFlight::default();
        let cancel = |params: &str| requests.cancel(&RequestParams::parse(params));
        let enter = |id: &str| requests.enter(&RequestId::parse(id).unwrap());
        let (number, text) = (enter("1"), enter(r#""1""#));
        cancel(r#"{"requestId":2}"#);
        cancel("{}");
        cancel("[]");
        assert_eq!(number.unless_cancelled(async { 1 }).await, Some(1));
        cancel(r#"{"requestId":"1"}"#);
        let never = std::future::pending::<()>();
        assert_eq!(text.unless_cancelled(never).await, None);
        assert_eq!(number.unless_cancelled(async { 1 }).await, Some(1));

        let twin = enter("1");
        cancel(r#"{"requestId":1}"#);
        assert!(!number.cancelled.is_cancelled() && !twin.cancelled.is_cancelled());
        drop(number);
        cancel(r#"{"requestId":1}"#);
        assert!(twin.cancelled.is_cancelled());
        drop((twin, text));
        assert!(requests.lock().requests.is_empty());
    }
}
