//! What the client of a session is asked, until it answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpproxy_gateway::client::{ClientRequest, ClientRequestKind};
use mcpproxy_wire::Json;
use mcpproxy_wire::rpc::{self, INTERNAL_ERROR, Id, RpcError};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::peer::Peer;

/// The most that one client is asked at a time; beyond it the server is told that it is too much.
const MOST_OPEN: usize = 256;

type Answer = Result<Json, RpcError>;

/// The questions that are open in a session.
#[derive(Debug)]
pub(crate) struct Asked {
    open: Mutex<Open>,
    /// Cancelled when no answer can come any more.
    ended: CancellationToken,
}

#[derive(Debug, Default)]
struct Open {
    waiting: HashMap<u64, oneshot::Sender<Answer>>,
    last: u64,
}

/// A question that its client was sent. Dropping it means that there will be no answer.
pub(crate) struct Asking {
    entry: Entry,
    ask: ClientRequest,
    answered: oneshot::Receiver<Answer>,
}

/// Answers for a client that does not: its user cancelled, or there is nothing of what was asked for.
pub(crate) fn unanswered(ask: ClientRequest, why: &str) {
    let answer = match ask.kind {
        ClientRequestKind::Elicitation => Ok(Json::of(&json!({ "action": "cancel" }))),
        ClientRequestKind::Sampling | ClientRequestKind::Roots => {
            Err(RpcError::new(INTERNAL_ERROR, why))
        }
    };
    ask.respond(answer);
}

/// Why there is no answer of a client that took too long.
pub(crate) fn too_late(limit: Duration) -> String {
    format!("The client did not answer within {limit:?} (setting 'input_timeout')")
}

impl Asked {
    /// Nothing is asked yet.
    pub(crate) fn new(ended: CancellationToken) -> Self {
        Self {
            open: Mutex::default(),
            ended,
        }
    }

    /// Takes the answer to a question; one to no open question is ignored, for it may have come late.
    pub(crate) fn answer(&self, id: Option<Id<'_>>, outcome: Result<&RawValue, RpcError>) {
        let number = id.and_then(Id::number);
        let waiting = number.and_then(|number| self.lock().waiting.remove(&number));
        let Some(waiting) = waiting else { return };
        let answer = outcome.and_then(|result| {
            let result = Json::parse(result.get().to_owned());
            result.map_err(|error| RpcError::new(INTERNAL_ERROR, error.to_string()))
        });
        // Whoever asked may have given up at this moment.
        let _ = waiting.send(answer);
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asking {
    /// Enters a question and gives the request that asks it; nothing if the client is asked too
    /// much already, which the server is then told.
    pub(crate) fn begin(peer: &Arc<Peer>, ask: ClientRequest) -> Option<(Self, String)> {
        let (answer, answered) = oneshot::channel();
        let number = {
            let mut open = peer.asked.lock();
            if open.waiting.len() >= MOST_OPEN {
                drop(open);
                let why = format!("The client is asked {MOST_OPEN} other questions already");
                ask.respond(Err(RpcError::new(INTERNAL_ERROR, why)));
                return None;
            }
            open.last += 1;
            let number = open.last;
            open.waiting.insert(number, answer);
            number
        };
        let params = if ask.params.is_object() {
            ask.params.text()
        } else {
            "{}"
        };
        let request = rpc::request(number, ask.kind.method(), params);
        let entry = Entry {
            peer: Arc::clone(peer),
            number,
        };
        let asking = Self {
            entry,
            ask,
            answered,
        };
        Some((asking, request))
    }

    /// Waits for the answer and passes it on. Gives what the client is told if there is none any
    /// more to wait for: the time is up, or nobody needs it, or the whole request is `over`.
    pub(crate) async fn pursue(self, limit: Duration, over: CancellationToken) -> Option<String> {
        let Self {
            entry,
            mut ask,
            answered,
        } = self;
        let number = entry.number;
        tokio::select! {
            biased;
            Ok(answer) = answered => {
                ask.respond(answer);
                None
            }
            () = ask.withdrawn() => Some(cancelled(number, "The server does not need an answer any more")),
            () = over.cancelled() => Some(cancelled(number, "The request that this was asked for is over")),
            () = entry.peer.asked.ended.cancelled() => {
                unanswered(ask, "The client has gone");
                None
            }
            () = tokio::time::sleep(limit) => {
                let why = too_late(limit);
                unanswered(ask, &why);
                Some(cancelled(number, &why))
            }
        }
    }
}

/// The place of a question in the table, until this is dropped.
struct Entry {
    peer: Arc<Peer>,
    number: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.peer.asked.lock().waiting.remove(&self.number);
    }
}

fn cancelled(number: u64, reason: &str) -> String {
    let params = json!({ "requestId": number, "reason": reason }).to_string();
    rpc::notification("notifications/cancelled", &params)
}

#[cfg(test)]
mod tests;
