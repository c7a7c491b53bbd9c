//! Link back to the client of one request.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use mcpproxy_wire::json::{Fields, with_member};
use mcpproxy_wire::rpc::{INVALID_PARAMS, METHOD_NOT_FOUND, RpcError};
use mcpproxy_wire::{Json, Protocol, meta, method};
use serde::Serialize;
use tokio::time::Instant;

use super::asking::{AskingCall, with_server_name};
use super::message_queue::MessageQueue;
use super::messages::{
    ClientAnswer, ClientMessage, ClientNotification, ClientRequest, ClientRequestKind, LogLevel,
};
use crate::lock;

/// Link back to the client of one request, while the request is open: what the client can be sent, and where it is put.
/// Who it is stands in the [`Caller`](mcpproxy_policy::Caller) alone.
///
/// Made with [`ClientLink::new`], filled in, then opened with [`ClientLink::open`].
#[derive(Debug)]
pub struct ClientLink {
    /// Protocol that the client speaks. One without sessions takes a result that asks for input as
    /// it is; for the others the requests in it are made here.
    pub protocol: Protocol,
    /// Equal for requests of one client, which may stand in for each other where a server does not
    /// say which one it means.
    pub key: Arc<str>,
    /// Capabilities as the client declared them: an object.
    pub capabilities: Json,
    /// Token under which the client wants progress to be reported, as it gave it.
    pub progress_token: Option<Json>,
    /// Least severe log messages that the client wants; nothing if it wants none.
    pub log_level: Option<LogLevel>,
    /// Input that a server asked for and the client repeats its request with.
    pub input: ClientInput,
    /// Call that the request became, once it is known which server it goes to.
    call: OnceLock<AskingCall>,
    queue: MessageQueue,
    waited: Mutex<WaitedForClient>,
}

/// Input that a repeated request carries for a server that asked for it, as far as it was given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientInput {
    /// Responses to the requests of the server, by its names for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<Json>,
    /// State that the server wants back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<Json>,
}

/// Messages to the client of one request: the receiving end, for whoever serves the client.
#[derive(Debug)]
pub struct ClientMessages(Arc<ClientLink>);

/// Time that servers waited for responses of the client.
#[derive(Debug, Default)]
struct WaitedForClient {
    open_requests: usize,
    since: Option<Instant>,
    total: Duration,
}

/// Request to the client that is open, until this is dropped.
struct OpenClientRequest<'a>(&'a ClientLink);

// === impl ClientLink ===

impl ClientLink {
    /// Client that declares nothing.
    pub fn new(protocol: Protocol, key: impl Into<Arc<str>>) -> Self {
        Self {
            protocol,
            key: key.into(),
            capabilities: Json::empty_object(),
            progress_token: None,
            log_level: None,
            input: ClientInput::default(),
            call: OnceLock::new(),
            queue: MessageQueue::default(),
            waited: Mutex::default(),
        }
    }

    /// Opens the way to the client: gives the end for servers, and the end for whoever serves it.
    pub fn open(self) -> (Arc<Self>, ClientMessages) {
        let link = Arc::new(self);
        let messages = ClientMessages(Arc::clone(&link));
        (link, messages)
    }

    /// Sets the call that the request became, before it is sent to its server. From here on the client requests of the
    /// server name it and are on record.
    pub fn begin_call(&self, call: AskingCall) {
        // A request becomes one call; should it ever become another one, that has the same server.
        let _ = self.call.set(call);
    }

    /// Call that the request became.
    pub(crate) fn call(&self) -> Option<&AskingCall> {
        self.call.get()
    }

    /// Whether the client wants notifications about its request.
    pub(crate) fn takes_notifications(&self) -> bool {
        self.log_level.is_some() || self.progress_token.is_some()
    }

    /// Whether the client declared that it can be asked this.
    pub fn can_answer(&self, kind: ClientRequestKind) -> bool {
        let capabilities = self.capabilities.fields();
        capabilities.is_some_and(|all| all.given(kind.as_str()).is_some())
    }

    /// Makes a request of the client and waits for its response, which whoever serves the client
    /// limits in time.
    pub async fn request(&self, kind: ClientRequestKind, params: Json) -> Result<Json, RpcError> {
        self.check(kind, &params)?;
        let _open = self.open_request();
        let (params, recorder) = match self.call() {
            Some(call) => {
                let params = with_server_name(kind, &params, &call.server);
                let recorder = call.log.open(call, kind, &params).await?;
                (params, Some(recorder))
            }
            None => (params, None),
        };
        let (request, response) = ClientRequest::new(kind, params);
        let gone = || {
            let gone = RpcError::new(METHOD_NOT_FOUND, "The client does not wait any more");
            (Err(gone), ClientAnswer::Cancel)
        };
        let (response, answer) = if self.queue.push(ClientMessage::Request(request)) {
            response.await.unwrap_or_else(|_| gone())
        } else {
            gone()
        };
        if let Some(recorder) = recorder {
            recorder(answer);
        }
        response
    }

    /// Reports how far the request is, if the client wants to know. A report that finds no room is
    /// dropped: the next one says more.
    pub(crate) fn report_progress(&self, params: &Json) {
        let Some(token) = &self.progress_token else {
            return;
        };
        let params = with_member(params, meta::PROGRESS_TOKEN, token);
        self.notify(method::PROGRESS, params);
    }

    /// Passes a log message on, if it is severe enough for the client.
    pub(crate) fn log(&self, params: &Json) {
        let level = params
            .fields()
            .and_then(|fields| LogLevel::read(fields.given("level")?.get()));
        let is_wanted = match (self.log_level, level) {
            (Some(least), Some(level)) => level >= least,
            _ => false,
        };
        if is_wanted {
            self.notify(method::LOG_MESSAGE, params.clone());
        }
    }

    /// Sends the client a notification. One that finds no room is dropped.
    pub fn notify(&self, method: &'static str, params: Json) {
        let notification = ClientNotification { method, params };
        self.queue.push(ClientMessage::Notification(notification));
    }

    /// Time that servers have waited for the client in all. That time does not count against the
    /// deadline of a server.
    pub(crate) fn waited_for(&self) -> Duration {
        let waited = lock(&self.waited);
        waited.total + waited.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn check(&self, kind: ClientRequestKind, params: &Json) -> Result<(), RpcError> {
        if !self.can_answer(kind) {
            let message = format!(
                "The client that made this request did not declare '{}'",
                kind.as_str()
            );
            return Err(RpcError::new(METHOD_NOT_FOUND, message));
        }
        let mode = params.fields().and_then(|fields| {
            let mode = fields.given("mode")?;
            serde_json::from_str::<String>(mode.get()).ok()
        });
        if kind == ClientRequestKind::Elicitation
            && mode.as_deref() == Some("url")
            && !self.has_url_mode()
        {
            let message = "The client that made this request cannot be sent to a web page";
            return Err(RpcError::new(INVALID_PARAMS, message));
        }
        Ok(())
    }

    fn has_url_mode(&self) -> bool {
        let capabilities = self.capabilities.fields();
        let elicitation = capabilities
            .and_then(|all| all.given(ClientRequestKind::Elicitation.as_str()))
            .and_then(|raw| serde_json::from_str::<Fields<'_>>(raw.get()).ok());
        elicitation.is_some_and(|modes| modes.given("url").is_some())
    }

    fn open_request(&self) -> OpenClientRequest<'_> {
        let mut waited = lock(&self.waited);
        waited.open_requests += 1;
        waited.since.get_or_insert_with(Instant::now);
        OpenClientRequest(self)
    }
}

impl Drop for OpenClientRequest<'_> {
    fn drop(&mut self) {
        let mut waited = lock(&self.0.waited);
        waited.open_requests = waited.open_requests.saturating_sub(1);
        if waited.open_requests == 0
            && let Some(since) = waited.since.take()
        {
            waited.total += since.elapsed();
        }
    }
}

// === impl ClientMessages ===

impl ClientMessages {
    /// Next message, when there is one. Nothing is lost when this is dropped.
    pub async fn next(&mut self) -> ClientMessage {
        self.0.queue.next().await
    }

    /// Message that is there already.
    pub fn queued(&mut self) -> Option<ClientMessage> {
        self.0.queue.pop()
    }
}

impl Drop for ClientMessages {
    fn drop(&mut self) {
        self.0.queue.close();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::message_queue::{OVERHEAD, WAITING_BYTES};

    fn client() -> (Arc<ClientLink>, ClientMessages) {
        let mut client = ClientLink::new(Protocol::Session, "one");
        client.capabilities = Json::of(&json!({ "sampling": {} }));
        client.open()
    }

    #[tokio::test]
    async fn notifications_beyond_the_limit_are_dropped_and_requests_are_not() {
        let (client, mut messages) = client();
        let most = WAITING_BYTES.div_ceil(OVERHEAD + "{}".len());
        for _ in 0..most + 10 {
            client.notify("notifications/message", Json::empty_object());
        }
        let requesting = tokio::spawn(async move {
            let response = client.request(ClientRequestKind::Sampling, Json::empty_object());
            response.await
        });
        let mut notifications = 0;
        let request = loop {
            match messages.next().await {
                ClientMessage::Notification(_) => notifications += 1,
                ClientMessage::Request(request) => break request,
            }
        };
        assert_eq!(notifications, most);
        request.respond(Ok(Json::empty_object()));
        assert!(requesting.await.expect("it ends").is_ok());
        assert!(messages.queued().is_none());
    }

    #[tokio::test]
    async fn a_request_ends_when_nobody_reads_any_more() {
        let (client, messages) = client();
        let other = Arc::clone(&client);
        let requesting = tokio::spawn(async move {
            let response = other.request(ClientRequestKind::Sampling, Json::empty_object());
            response.await
        });
        // Until the request waits.
        while lock(&client.waited).open_requests == 0 {
            tokio::task::yield_now().await;
        }
        drop(messages);
        requesting.await.expect("it ends").expect_err("no response");
        let late = client.request(ClientRequestKind::Sampling, Json::empty_object());
        late.await.expect_err("no response either");
    }
}
