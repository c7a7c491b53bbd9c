//! Calls for tests: a server at work, and what reaches its client.

use std::sync::Arc;

use futures_util::FutureExt;
use mcpproxy_gateway::client::{ClientLink, ClientMessages, ClientRequestKind};
use mcpproxy_wire::rpc::RpcError;
use mcpproxy_wire::{Json, Protocol, ResultText};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::reply::Outbound;
use super::running_call::{CallFuture, RunningCall};

/// Server at work: what it sends reaches the client behind the call.
#[derive(Clone)]
pub(crate) struct TestServer {
    client: Arc<ClientLink>,
}

impl TestServer {
    /// Call whose server does `work`.
    pub(crate) fn running<F>(work: impl FnOnce(Self) -> F) -> RunningCall
    where
        F: Future<Output = Result<String, RpcError>> + Send + 'static,
    {
        let (client, messages) = client();
        let future: CallFuture =
            Box::pin(work(Self { client }).map(|result| result.map(ResultText::from)));
        RunningCall {
            future,
            messages,
            result: None,
        }
    }

    /// Notifies the client of a number.
    pub(crate) async fn notify(&self, number: u64) {
        let params = Json::of(&json!({ "progress": number }));
        self.client.notify("notifications/progress", params);
        // As a server would be, between two messages.
        tokio::task::yield_now().await;
    }

    /// Makes a client request, and gives what came of it as text.
    pub(crate) async fn request(&self, kind: ClientRequestKind, message: &str) -> String {
        match self.client.request(kind, params(message)).await {
            Ok(result) => result.text().to_owned(),
            Err(error) => error.message,
        }
    }

    /// Makes a client request, and does not wait for the response.
    pub(crate) async fn request_in_vain(&self, kind: ClientRequestKind, message: &str) {
        tokio::select! {
            biased;
            _ = self.client.request(kind, params(message)) => {}
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

/// Tells when a call was dropped: then nobody holds the sender any more.
pub(crate) fn dropped() -> (Arc<oneshot::Sender<()>>, oneshot::Receiver<()>) {
    let (sender, receiver) = oneshot::channel();
    (Arc::new(sender), receiver)
}

/// Next message to the client.
pub(crate) async fn message(messages: &mut mpsc::Receiver<Outbound>) -> Value {
    match messages.recv().await {
        Some(Outbound::Message(text)) => serde_json::from_str(&text).unwrap(),
        other => panic!("no message but {other:?}"),
    }
}

/// Result of the call.
pub(crate) async fn result(messages: &mut mpsc::Receiver<Outbound>) -> Result<String, RpcError> {
    match messages.recv().await {
        Some(Outbound::Result(result)) => result.map(ResultText::into_string),
        other => panic!("no result but {other:?}"),
    }
}
