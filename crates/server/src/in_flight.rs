//! The requests of one client that are being answered, so that it can call one off.
//!
//! Clients are known to give several requests the same id. Each of them still gets its own answer,
//! because answers are never looked up by id; only calling off is. Where more than one request in
//! flight has the id, nobody can tell which one is meant, so none is: a call that runs to its end
//! is better than another one that is cut off in the middle of its work.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpproxy_wire::stateless::Params;
use tokio_util::sync::CancellationToken;

/// The requests of one client. Clones are of the same client.
#[derive(Debug, Clone, Default)]
pub struct InFlight(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    /// The JSON text of the id, and what calls the request off.
    requests: HashMap<u64, (Box<str>, CancellationToken)>,
    next: u64,
}

/// A request that is being answered, until this is dropped.
#[derive(Debug)]
pub struct Entered {
    table: InFlight,
    number: u64,
    called_off: CancellationToken,
}

impl InFlight {
    /// Enters a request by the JSON text of its id.
    pub fn enter(&self, id: &str) -> Entered {
        let called_off = CancellationToken::new();
        let mut table = self.lock();
        let number = table.next;
        table.next += 1;
        table
            .requests
            .insert(number, (id.into(), called_off.clone()));
        drop(table);
        Entered {
            table: self.clone(),
            number,
            called_off,
        }
    }

    /// Does what `notifications/cancelled` with these parameters asks for.
    pub fn call_off(&self, params: &Params<'_>) {
        let Some(id) = params.fields.given("requestId") else {
            return;
        };
        let table = self.lock();
        let mut meant = table
            .requests
            .values()
            .filter(|(known, _)| **known == *id.get());
        if let (Some((_, called_off)), None) = (meant.next(), meant.next()) {
            called_off.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entered {
    /// Does the work of the request; nothing if it was called off, and then the work is dropped.
    pub async fn unless_called_off<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.called_off.cancelled() => None,
            done = work => Some(done),
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.table.lock().requests.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn call_off(requests: &InFlight, params: &str) {
        let raw: &RawValue = serde_json::from_str(params).unwrap();
        requests.call_off(&Params::read(Some(raw)));
    }

    #[tokio::test]
    async fn only_the_one_request_with_the_id_is_called_off() {
        let requests = InFlight::default();
        let (number, text) = (requests.enter("1"), requests.enter(r#""1""#));
        call_off(&requests, r#"{"requestId":2}"#);
        call_off(&requests, "{}");
        call_off(&requests, "[]");
        assert_eq!(number.unless_called_off(async { 1 }).await, Some(1));
        call_off(&requests, r#"{"requestId":"1"}"#);
        let never = std::future::pending::<()>();
        assert_eq!(text.unless_called_off(never).await, None);
        assert_eq!(number.unless_called_off(async { 1 }).await, Some(1));

        let twin = requests.enter("1");
        call_off(&requests, r#"{"requestId":1}"#);
        assert!(!number.called_off.is_cancelled() && !twin.called_off.is_cancelled());
        drop(number);
        call_off(&requests, r#"{"requestId":1}"#);
        assert!(twin.called_off.is_cancelled());
        drop((twin, text));
        assert!(requests.lock().requests.is_empty());
    }
}
