//! Routes from the messages of a server back to the clients whose requests are in flight.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use mcpproxy_wire::rpc::{self, INTERNAL_ERROR, INVALID_REQUEST, RpcError};
use mcpproxy_wire::{Json, RequestId};
use tokio::task::AbortHandle;

use super::link::ClientLink;
use super::messages::ClientRequestKind;
use crate::lock;

/// Most requests of a server that wait for responses of clients; further ones are refused.
const MOST_OPEN_REQUESTS: usize = 64;

/// Routes of one connection to a server.
#[derive(Debug, Default)]
pub(crate) struct CallRoutes {
    /// Client of each request in flight that was made for a caller, by the id of the request.
    clients: Mutex<HashMap<u64, Option<Arc<ClientLink>>>>,
    /// Requests of the server without response so far, by the JSON text of their ids.
    pub(crate) open_requests: Mutex<HashMap<Box<str>, AbortHandle>>,
}

/// Route to the client of one request, until this is dropped.
#[derive(Debug)]
pub(crate) struct CallRoute {
    routes: Arc<CallRoutes>,
    id: u64,
}

/// Request of a server that a client has to respond to.
#[derive(Debug)]
pub(crate) struct RelayedRequest {
    /// Id that the server gave it.
    pub(super) id: RequestId,
    pub(super) kind: ClientRequestKind,
    pub(super) params: Json,
    pub(super) client: Arc<ClientLink>,
}

// === impl CallRoutes ===

impl CallRoutes {
    /// Enters the client of a request that is made for a caller, under the id of the request.
    pub(crate) fn enter(self: &Arc<Self>, id: u64, client: Option<&Arc<ClientLink>>) -> CallRoute {
        lock(&self.clients).insert(id, client.cloned());
        CallRoute {
            routes: Arc::clone(self),
            id,
        }
    }

    /// Client that made a request.
    pub(crate) fn client_of(&self, id: u64) -> Option<Arc<ClientLink>> {
        lock(&self.clients).get(&id).cloned().flatten()
    }

    /// Client of all requests in flight, for messages that the server does not connect with a
    /// request. Nothing where they are not all of one client: nobody can tell then. Of several
    /// requests the newest is taken.
    pub(crate) fn only_client(&self) -> Option<Arc<ClientLink>> {
        let clients = lock(&self.clients);
        let (_, newest) = clients.iter().max_by_key(|(id, _)| **id)?;
        let newest = newest.as_ref()?;
        let is_same = |client: &Option<Arc<ClientLink>>| {
            let client = client.as_ref();
            client.is_some_and(|client| client.key == newest.key)
        };
        clients.values().all(is_same).then(|| Arc::clone(newest))
    }

    /// Has a client respond to a request of the server; `reply` sends the response, which is a whole
    /// message. Gives the refusal where too many requests are open, or one of the same id.
    pub(crate) fn relay<F>(
        self: &Arc<Self>,
        request: RelayedRequest,
        reply: impl FnOnce(String) -> F + Send + 'static,
    ) -> Result<(), String>
    where
        F: Future<Output = ()> + Send,
    {
        let mut open_requests = lock(&self.open_requests);
        if open_requests.len() >= MOST_OPEN_REQUESTS {
            let message = "Too many client requests wait for answers";
            return Err(request.refusal(&RpcError::new(INTERNAL_ERROR, message)));
        }
        if open_requests.contains_key(request.id.text()) {
            let message = "A client request with this id waits for its answer already";
            return Err(request.refusal(&RpcError::new(INVALID_REQUEST, message)));
        }
        let id = request.id.text().into();
        let routes = Arc::clone(self);
        let task = tokio::spawn(async move {
            let id = request.id.clone();
            reply(request.response().await).await;
            lock(&routes.open_requests).remove(id.text());
        });
        open_requests.insert(id, task.abort_handle());
        Ok(())
    }

    /// Gives a request up that the server cancelled. `id` is the JSON text of its id.
    pub(crate) fn withdraw(&self, id: &str) {
        if let Some(task) = lock(&self.open_requests).remove(id) {
            task.abort();
        }
    }
}

impl Drop for CallRoute {
    fn drop(&mut self) {
        lock(&self.routes.clients).remove(&self.id);
    }
}

// === impl RelayedRequest ===

impl RelayedRequest {
    /// Waits for the client; gives the message that responds to the server.
    async fn response(self) -> String {
        match self.client.request(self.kind, self.params.clone()).await {
            Ok(result) => rpc::response(self.id.id(), result.text()),
            Err(error) => self.refusal(&error),
        }
    }

    fn refusal(&self, error: &RpcError) -> String {
        rpc::error_response(Some(self.id.id()), error)
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_wire::Protocol;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_server_cannot_ask_without_bound_under_one_id() {
        let mut client = ClientLink::new(Protocol::Session, "one");
        client.capabilities = Json::of(&json!({ "sampling": {} }));
        let (client, mut messages) = client.open();
        let routes = Arc::new(CallRoutes::default());
        let relay = |id: &str| {
            let request = RelayedRequest {
                id: RequestId::parse(id).expect("a number"),
                kind: ClientRequestKind::Sampling,
                params: Json::of(&json!({})),
                client: Arc::clone(&client),
            };
            routes.relay(request, async |_| {})
        };
        assert_eq!(relay("1"), Ok(()));
        let refusal = relay("1").expect_err("it waits already");
        assert!(refusal.contains(&INVALID_REQUEST.to_string()), "{refusal}");
        assert_eq!(relay("2"), Ok(()));
        // An id that is free again can be used again.
        drop(messages.next().await);
        while lock(&routes.open_requests).contains_key("1") {
            tokio::task::yield_now().await;
        }
        assert_eq!(relay("1"), Ok(()));
    }
}
