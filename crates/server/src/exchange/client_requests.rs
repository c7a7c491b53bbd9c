//! Client requests of a session, from the request that is sent to the client to its response.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_gateway::client::{ClientRequest, ClientRequestKind};
use mcpproxy_wire::rpc::{self, INTERNAL_ERROR, RpcError};
use mcpproxy_wire::{Json, RequestId, method};
use serde_json::json;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Most requests that one client has to answer at a time; beyond it the server is told that it is too much.
const MOST_OPEN: usize = 256;

type ClientResponse = Result<Json, RpcError>;

/// Client requests that are open in a session. Clones are of the same session.
#[derive(Debug, Clone)]
pub(crate) struct ClientRequests {
    open: Arc<Mutex<OpenRequests>>,
    /// Cancelled when no response can come any more.
    ended: CancellationToken,
}

/// Senders of the responses that are waited for, by the id of the request.
type OpenRequests = HashMap<u64, oneshot::Sender<ClientResponse>>;

/// Client request that was sent. Dropping it means that there will be no response.
pub(crate) struct SentRequest {
    place: OpenPlace,
    request: ClientRequest,
    response: oneshot::Receiver<ClientResponse>,
}

/// Place of a client request in the table, until this is dropped.
struct OpenPlace {
    table: ClientRequests,
    number: u64,
}

/// Answers for a client that does not: its user cancelled, or there is nothing of what was asked for.
pub(crate) fn answer_for_client(request: ClientRequest, why: &str) {
    let response = match request.kind {
        ClientRequestKind::Elicitation => Ok(Json::of(&json!({ "action": "cancel" }))),
        ClientRequestKind::Sampling | ClientRequestKind::Roots => {
            Err(RpcError::new(INTERNAL_ERROR, why))
        }
    };
    request.respond_for_client(response);
}

/// Refuses a client request in the place of a client that never sees it.
pub(crate) fn refuse_for_client(request: ClientRequest, why: &str) {
    request.respond_for_client(Err(RpcError::new(INTERNAL_ERROR, why)));
}

/// Reason that a server is given for a client that took too long.
pub(crate) fn too_late(limit: Duration) -> String {
    format!("The client did not answer within {limit:?} (setting 'input_timeout')")
}

// === impl ClientRequests ===

impl ClientRequests {
    /// Table of a session that ends with `ended`.
    pub(crate) fn new(ended: CancellationToken) -> Self {
        Self {
            open: Arc::default(),
            ended,
        }
    }

    /// Opens a client request and gives the message that asks it; nothing if too many are open
    /// already, which the server is then told.
    pub(crate) fn open(&self, request: ClientRequest) -> Option<(SentRequest, String)> {
        let (respond, response) = oneshot::channel();
        let mut open = self.lock();
        if open.len() >= MOST_OPEN {
            drop(open);
            let why = format!("The client has {MOST_OPEN} other requests to answer already");
            refuse_for_client(request, &why);
            return None;
        }
        let mut number = random_id();
        while open.contains_key(&number) {
            number = random_id();
        }
        open.insert(number, respond);
        drop(open);
        let params = if request.params.is_object() {
            request.params.text()
        } else {
            "{}"
        };
        let message = rpc::request(number, request.kind.method(), params);
        let table = self.clone();
        let sent = SentRequest {
            place: OpenPlace { table, number },
            request,
            response,
        };
        Some((sent, message))
    }

    /// Takes a response; one to no open request is ignored, for it may have come late.
    pub(crate) fn respond(&self, id: Option<&RequestId>, outcome: ClientResponse) {
        let number = id.and_then(RequestId::number);
        let waiting = number.and_then(|number| self.lock().remove(&number));
        if let Some(waiting) = waiting {
            // The server may have given up at this moment.
            let _ = waiting.send(outcome);
        }
    }

    fn lock(&self) -> MutexGuard<'_, OpenRequests> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl SentRequest ===

impl SentRequest {
    /// Waits for the response and passes it on. Gives the notification that cancels the request if
    /// there is nothing to wait for any more: the time is up, or nobody needs it, or the whole call is `over`.
    pub(crate) async fn response(self, limit: Duration, over: CancellationToken) -> Option<String> {
        let Self {
            place,
            mut request,
            response,
        } = self;
        let number = place.number;
        tokio::select! {
            biased;
            Ok(response) = response => {
                request.respond(response);
                None
            }
            () = request.withdrawn() => Some(cancelled(number, "The server does not need an answer any more")),
            () = over.cancelled() => Some(cancelled(number, "The request that this was asked for is over")),
            () = place.table.ended.cancelled() => {
                answer_for_client(request, "The client has gone");
                None
            }
            () = tokio::time::sleep(limit) => {
                let why = too_late(limit);
                answer_for_client(request, &why);
                Some(cancelled(number, &why))
            }
        }
    }
}

impl Drop for OpenPlace {
    fn drop(&mut self) {
        self.table.lock().remove(&self.number);
    }
}

/// Id of a client request, random within what every client can read: some keep ids as numbers of 32 bits. The id of
/// the session, which an answer needs as well, is what nobody can guess.
fn random_id() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().1 & ((1 << 31) - 1)
}

fn cancelled(number: u64, reason: &str) -> String {
    let params = json!({ "requestId": number, "reason": reason }).to_string();
    rpc::notification(method::CANCELLED, &params)
}

#[cfg(test)]
mod tests;
