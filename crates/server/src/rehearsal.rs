//! Servers and clients for tests of what happens between them during a call.

use std::sync::Arc;

use mcpproxy_gateway::client::{ClientLink, ClientMessages, ClientRequestKind};
use mcpproxy_wire::Json;
use mcpproxy_wire::Protocol;
use mcpproxy_wire::rpc::RpcError;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::relay::{Running, Told, Work};

/// A server at work: what it tells and asks reaches the client behind the call.
#[derive(Clone)]
pub(crate) struct Server {
    client: Arc<ClientLink>,
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
        self.client.notify("notifications/progress", params);
        // As a server would be, between two messages.
        tokio::task::yield_now().await;
    }

    /// Asks something, and gives what came of it as text.
    pub(crate) async fn ask(&self, question: ClientRequestKind, message: &str) -> String {
        match self.client.request(question, params(message)).await {
            Ok(result) => result.text().to_owned(),
            Err(error) => error.message,
        }
    }

    /// Asks something, and does not wait for the answer.
    pub(crate) async fn ask_in_vain(&self, question: ClientRequestKind, message: &str) {
        tokio::select! {
            biased;
            _ = self.client.request(question, params(message)) => {}
            () = tokio::task::yield_now() => {}
        }
    }
}

fn client() -> (Arc<ClientLink>, ClientMessages) {
    let everything = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
    let mut link = ClientLink::new(Protocol::Session, "tests");
    link.capabilities = Json::of(&everything);
    link.open()
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
