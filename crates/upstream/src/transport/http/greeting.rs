//! Opening a session over HTTP, with whichever of the two ways the server has.

use std::sync::Arc;
use std::time::Duration;

use http::header::{HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use mcpproxy_wire::{Json, method, rpc};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::super::pending::SendState;
use super::super::request::{OutgoingParams, OutgoingRequest};
use super::super::{Greeting, read_hello};
use super::event_stream::{self, ResponseStream};
use super::{
    HttpConnection, HttpEndpoint, PROTOCOL_VERSION, SESSION_ID, events, give_back_if_empty,
    is_absent,
};
use crate::CallError;
use crate::call_error::until_deadline;

/// Time that the stream of events has to open. Some servers respond only with the first event.
const EVENTS_WITHIN: Duration = Duration::from_millis(300);

impl HttpConnection {
    /// Opens the session and the stream of events that comes with it.
    pub(crate) async fn greet(
        &self,
        params: &Value,
        deadline: Instant,
    ) -> Result<Greeting, CallError> {
        until_deadline(deadline, true, self.open_session(params, deadline)).await?
    }

    async fn open_session(&self, params: &Value, deadline: Instant) -> Result<Greeting, CallError> {
        let endpoint = &self.endpoint;
        let mut greeting = match endpoint.initialize(params, deadline).await? {
            Ok(greeting) => greeting,
            Err(no_endpoint) => {
                let Some(event_stream) = self.open_event_stream(deadline).await else {
                    return Err(no_endpoint);
                };
                let greeting = OutgoingRequest::new(OutgoingParams::Initialize(params), deadline);
                let greeted = event_stream.request(endpoint, greeting).await?;
                endpoint.begin_session(greeted.json(), None)?
            }
        };
        let initialized = rpc::notification(method::INITIALIZED, "{}").into_bytes();
        let posted = endpoint.post(initialized, HeaderMap::new(), SendState::default());
        let (response, lease) = posted.await?;
        give_back_if_empty(&response, lease);
        // A separate event stream is open as long as the connection is. Elsewhere, the stream of events tells
        // when changes reach us.
        if endpoint.event_stream.get().is_none() {
            let (tried, is_tried) = oneshot::channel();
            let declared = (greeting.announces, greeting.has_logging);
            let events = events::listen(Arc::clone(endpoint), declared, tried);
            self.listen(JoinSet::from_iter([events]));
            // What a server asks on this stream during the first call would be lost before.
            let _ = timeout(EVENTS_WITHIN, is_tried).await;
            greeting.announces = false;
        }
        Ok(greeting)
    }

    /// Opens the stream that servers of before Streamable HTTP respond on, if there is one.
    async fn open_event_stream(&self, deadline: Instant) -> Option<&ResponseStream> {
        let (event_stream, reader) = event_stream::open(&self.endpoint, deadline).await?;
        // A connection is greeted once, so there is none yet.
        let _ = self.endpoint.event_stream.set(event_stream);
        self.listen(JoinSet::from_iter([reader]));
        self.endpoint.event_stream.get()
    }
}

impl HttpEndpoint {
    /// Greets the server. The inner error says that there is no such endpoint; it may be one of before
    /// Streamable HTTP.
    async fn initialize(
        self: &Arc<Self>,
        params: &Value,
        deadline: Instant,
    ) -> Result<Result<Greeting, CallError>, CallError> {
        let id = self.next_id();
        let request = OutgoingRequest::new(OutgoingParams::Initialize(params), deadline);
        let (message, state) = (request.message(id)?, SendState::default());
        let headers = self.headers.clone();
        let sent = self.send(Method::POST, headers, Some(message), state.clone());
        let (response, lease) = sent
            .await
            .map_err(|error| self.broken(error, state.is_begun()))?;
        let status = response.status();
        if !status.is_success() {
            let error = self.refused(response).await;
            if is_absent(status) || status == StatusCode::BAD_REQUEST {
                return Ok(Err(error));
            }
            return Err(error);
        }
        let session_id = response.headers().get(&SESSION_ID).cloned();
        let response = self.read_response(response, lease, id).await?;
        self.begin_session(response.json(), session_id).map(Ok)
    }

    /// Takes the response to the greeting for what every later request says.
    fn begin_session(
        &self,
        response: &Json,
        session_id: Option<HeaderValue>,
    ) -> Result<Greeting, CallError> {
        let (greeting, revision) = read_hello(response)?;
        let mut headers = self.headers.clone();
        if let Some(id) = session_id {
            headers.insert(SESSION_ID, id);
        }
        let revision = HeaderValue::from_static(revision.as_str());
        headers.insert(PROTOCOL_VERSION, revision);
        // A connection is greeted once; a second session would be another connection.
        let _ = self.session.set(headers);
        Ok(greeting)
    }
}
