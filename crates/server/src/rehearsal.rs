//! Servers and clients for tests of what happens between them during a call.

use std::sync::Arc;

use mcpproxy_gateway::client::{Client, Declared, Events, Question};
use mcpproxy_wire::Json;
use mcpproxy_wire::revision::Era;
use mcpproxy_wire::rpc::RpcError;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::relay::{Running, Told, Work};

/// A server at work: what it tells and asks reaches the client behind the call.
#[derive(Clone)]
pub(crate) struct Server {
    client: Arc<Client>,
}

impl Server {
    /// A call that is worked on by `work`.
    pub(crate) fn running<F>(work: impl FnOnce(Self) -> F) -> Running
    where
        F: Future<Output = Result<String, RpcError>> + Send + 'static,
    {
        let (client, events) = client();
        let work: Work = Box::pin(work(Self { client }));
        Running::new(work, events)
    }

    /// Tells a number.
    pub(crate) async fn tell(&self, number: u64) {
        let params = Json::of(&json!({ "progress": number }));
        self.client.tell("notifications/progress", params);
        // As a server would be, between two messages.
        tokio::task::yield_now().await;
    }

    /// Asks something, and gives what came of it as text.
    pub(crate) async fn ask(&self, question: Question, message: &str) -> String {
        match self.client.ask(question, params(message)).await {
            Ok(result) => result.text().to_owned(),
            Err(error) => error.message,
        }
    }

    /// Asks something, and does not wait for the answer.
    pub(crate) async fn ask_in_vain(&self, question: Question, message: &str) {
        tokio::select! {
            biased;
            _ = self.client.ask(question, params(message)) => {}
            () = tokio::task::yield_now() => {}
        }
    }
}

fn client() -> (Arc<Client>, Events) {
    let everything = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
    Client::new(Declared {
        capabilities: Json::of(&everything),
        ..Declared::nothing(Era::Session, "tests")
    })
}

fn params(message: &str) -> Json {
    Json::of(&json!({ "message": message }))
}

/// Says when work was dropped: then nobody holds the sender any more.
pub(crate) fn dropped() -> (Arc<oneshot::Sender<()>>, oneshot::Receiver<()>) {
    let (sender, receiver) = oneshot::channel();
    (Arc::new(sender), receiver)
}

/// A message to the client.
pub(crate) async fn message(told: &mut mpsc::Receiver<Told>) -> Value {
    match told.recv().await {
        Some(Told::Message(text)) => serde_json::from_str(&text).unwrap(),
        other => panic!("no message but {other:?}"),
    }
}

/// The answer to the client.
pub(crate) async fn answer(told: &mut mpsc::Receiver<Told>) -> Result<String, RpcError> {
    match told.recv().await {
        Some(Told::Answer(result)) => result,
        other => panic!("no answer but {other:?}"),
    }
}
