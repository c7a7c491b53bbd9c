//! Who waits for an answer on a connection, so that what a server says meanwhile finds them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpproxy_wire::Json;
use mcpproxy_wire::rpc::{self, INTERNAL_ERROR, INVALID_REQUEST, RpcError};
use tokio::task::AbortHandle;

use crate::client::{Client, Question};
use crate::request::Behind;

/// The most questions of a server that wait for answers; further ones are refused.
const MOST_QUESTIONS: usize = 64;

/// The callers of one connection.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    waiting: Mutex<HashMap<u64, Option<Arc<Client>>>>,
    /// What the server asked and was not answered yet, by the JSON text of its id.
    questions: Mutex<HashMap<Box<str>, AbortHandle>>,
}

/// A caller that waits, until this is dropped.
#[derive(Debug)]
pub(crate) struct Waiting {
    callers: Arc<Callers>,
    id: u64,
}

/// A question of the server, and who is to answer it.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The JSON text of its id.
    id: Box<str>,
    question: Question,
    params: Json,
    client: Arc<Client>,
}

// === impl Callers ===

impl Callers {
    /// Enters a caller under the id of its request; requests of our own have none.
    pub(crate) fn enter(self: &Arc<Self>, id: u64, behind: Behind<'_>) -> Option<Waiting> {
        let Behind::Caller(client) = behind else {
            return None;
        };
        self.waiting().insert(id, client.cloned());
        Some(Waiting {
            callers: Arc::clone(self),
            id,
        })
    }

    /// The client that made a request.
    pub(crate) fn of(&self, id: u64) -> Option<Arc<Client>> {
        self.waiting().get(&id).cloned().flatten()
    }

    /// The client that something is for which the server does not connect with a request: all
    /// requests in flight are of that client, or nobody can tell. Of several the newest is taken.
    pub(crate) fn only(&self) -> Option<Arc<Client>> {
        let waiting = self.waiting();
        let (_, newest) = waiting.iter().max_by_key(|(id, _)| **id)?;
        let newest = newest.as_ref()?;
        let is_same = |client: &Option<Arc<Client>>| {
            let client = client.as_ref();
            client.is_some_and(|client| client.declared().who == newest.declared().who)
        };
        waiting.values().all(is_same).then(|| Arc::clone(newest))
    }

    /// Has a question answered; `reply` sends the answer, which is a whole message. Gives the
    /// refusal where too many questions are open, or one of the same id: it would not count.
    pub(crate) fn answer<F>(
        self: &Arc<Self>,
        asked: Asked,
        reply: impl FnOnce(String) -> F + Send + 'static,
    ) -> Result<(), String>
    where
        F: Future<Output = ()> + Send,
    {
        let mut questions = self.questions();
        if questions.len() >= MOST_QUESTIONS {
            let message = "Too many questions wait for answers";
            return Err(asked.refusal(&RpcError::new(INTERNAL_ERROR, message)));
        }
        if questions.contains_key(&asked.id) {
            let message = "A question with this id waits for its answer already";
            return Err(asked.refusal(&RpcError::new(INVALID_REQUEST, message)));
        }
        let id = asked.id.clone();
        let callers = Arc::clone(self);
        let task = tokio::spawn(async move {
            let id = asked.id.clone();
            reply(asked.answer().await).await;
            callers.questions().remove(&id);
        });
        questions.insert(id, task.abort_handle());
        Ok(())
    }

    /// Whether a question of the server waits for an answer.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn has_questions(&self) -> bool {
        !self.questions().is_empty()
    }

    /// The server does not want an answer any more. `id` is the JSON text of its request's id.
    pub(crate) fn withdraw(&self, id: &str) {
        if let Some(task) = self.questions().remove(id) {
            task.abort();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, Option<Arc<Client>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn questions(&self) -> MutexGuard<'_, HashMap<Box<str>, AbortHandle>> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.callers.waiting().remove(&self.id);
    }
}

// === impl Asked ===

impl Asked {
    pub(crate) fn new(
        id: rpc::Id<'_>,
        question: Question,
        params: Json,
        client: Arc<Client>,
    ) -> Self {
        Self {
            id: id.text().into(),
            question,
            params,
            client,
        }
    }

    /// Asks the client; gives the message that answers the server.
    async fn answer(self) -> String {
        match self.client.ask(self.question, self.params.clone()).await {
            Ok(result) => {
                let (id, result) = (&self.id, result.text());
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
            }
            Err(error) => self.refusal(&error),
        }
    }

    fn refusal(&self, error: &RpcError) -> String {
        rpc::refusal(&self.id, error)
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_wire::Protocol;
    use serde_json::json;

    use super::*;
    use crate::client::Declared;

    #[tokio::test]
    async fn a_server_cannot_ask_without_bound_under_one_id() {
        let (client, mut events) = Client::new(Declared {
            capabilities: Json::of(&json!({ "sampling": {} })),
            ..Declared::nothing(Protocol::Session, "one")
        });
        let callers = Arc::new(Callers::default());
        let ask = |id: &str| {
            let asked = Asked {
                id: id.into(),
                question: Question::Sampling,
                params: Json::of(&json!({})),
                client: Arc::clone(&client),
            };
            callers.answer(asked, async |_| {})
        };
        assert_eq!(ask("1"), Ok(()));
        let refusal = ask("1").expect_err("it waits already");
        assert!(refusal.contains(&INVALID_REQUEST.to_string()), "{refusal}");
        assert_eq!(ask("2"), Ok(()));
        // An id that is free again can be used again.
        drop(events.next().await);
        while callers.questions().contains_key("1") {
            tokio::task::yield_now().await;
        }
        assert_eq!(ask("1"), Ok(()));
    }
}
