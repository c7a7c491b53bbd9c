//! Opening a session over HTTP, with whichever of the two ways the server has.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::header::{HeaderMap, HeaderValue};
use mcpproxy_wire::initialize::ServerHello;
use mcpproxy_wire::{Json, ListChanges, Revision, method, rpc};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::super::pending::SendState;
use super::super::read_hello;
use super::super::request::{OutgoingParams, OutgoingRequest};
use super::event_stream::{self, ResponseStream};
use super::{
    HttpConnection, HttpEndpoint, HttpSession, PROTOCOL_VERSION, SESSION_ID, events,
    give_back_if_empty,
};
use crate::CallError;

/// Time that the stream of events has to open. Some servers respond only with the first event.
const EVENTS_WITHIN: Duration = Duration::from_millis(300);

/// Server whose session was opened.
#[derive(Debug)]
pub(crate) struct GreetedServer {
    pub(crate) hello: ServerHello,
    pub(crate) revision: Revision,
    /// Whether every change of its tools will reach us from now on.
    pub(crate) announces: bool,
}

/// Reason why there is no session.
enum NoSession {
    Failed(CallError),
    /// There is no such endpoint; it may be one of before Streamable HTTP.
    NoEndpoint(CallError),
}

impl HttpConnection {
    /// Opens the session and the stream of events that comes with it.
    pub(crate) async fn greet(
        &self,
        params: &Value,
        deadline: Instant,
    ) -> Result<GreetedServer, CallError> {
        let started = Instant::now();
        timeout_at(deadline, self.open_session(params, deadline))
            .await
            .map_err(|_| CallError::Timeout {
                after: started.elapsed(),
                sent: true,
            })?
    }

    async fn open_session(
        &self,
        params: &Value,
        deadline: Instant,
    ) -> Result<GreetedServer, CallError> {
        let endpoint = &self.endpoint;
        let (hello, revision, has_event_stream) = match endpoint.initialize(params, deadline).await
        {
            Ok((hello, revision)) => (hello, revision, false),
            Err(NoSession::Failed(error)) => return Err(error),
            Err(NoSession::NoEndpoint(error)) => {
                let Some(event_stream) = self.open_event_stream(deadline).await else {
                    return Err(error);
                };
                let greeting = OutgoingRequest::new(OutgoingParams::Initialize(params), deadline);
                let greeted = event_stream.request(endpoint, greeting).await?;
                let (hello, revision) = endpoint.begin_session(greeted.json(), None)?;
                (hello, revision, true)
            }
        };
        let announces = hello.capabilities.tools == Some(ListChanges::Announced);
        let initialized = rpc::notification(method::INITIALIZED, "{}");
        let posted = endpoint.post(
            initialized.into_bytes(),
            HeaderMap::new(),
            SendState::default(),
        );
        let (response, lease) = posted.await?;
        give_back_if_empty(&response, lease);
        if !has_event_stream {
            let (tried, is_tried) = oneshot::channel();
            let declared = (announces, hello.has_logging);
            let events = events::listen(Arc::clone(endpoint), declared, tried);
            self.listen(JoinSet::from_iter([events]));
            // What a server asks on this stream during the first call would be lost before.
            let _ = timeout(EVENTS_WITHIN, is_tried).await;
        }
        Ok(GreetedServer {
            // The one stream is open as long as the connection is. Elsewhere, the stream of
            // events tells when changes reach us.
            announces: has_event_stream && announces,
            hello,
            revision,
        })
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
    async fn initialize(
        self: &Arc<Self>,
        params: &Value,
        deadline: Instant,
    ) -> Result<(ServerHello, Revision), NoSession> {
        let id = self.next_id();
        let request = OutgoingRequest::new(OutgoingParams::Initialize(params), deadline);
        let message = request.message(id).map_err(NoSession::Failed)?;
        let send_state = SendState::default();
        let sent = self.send(
            http::Method::POST,
            self.headers.clone(),
            Some(message),
            send_state.clone(),
        );
        let (response, lease) = sent
            .await
            .map_err(|error| NoSession::Failed(self.broken(error, send_state.is_begun())))?;
        let status = response.status();
        if !status.is_success() {
            let error = self.refused(response).await;
            return Err(match status {
                StatusCode::BAD_REQUEST
                | StatusCode::NOT_FOUND
                | StatusCode::METHOD_NOT_ALLOWED => NoSession::NoEndpoint(error),
                _ => NoSession::Failed(error),
            });
        }
        let session_id = response.headers().get(&SESSION_ID).cloned();
        let response = self.read_response(response, lease, id).await;
        response
            .and_then(|response| self.begin_session(response.json(), session_id))
            .map_err(NoSession::Failed)
    }

    /// Takes the response to the greeting for what every later request says.
    fn begin_session(
        &self,
        response: &Json,
        session_id: Option<HeaderValue>,
    ) -> Result<(ServerHello, Revision), CallError> {
        let (hello, revision) = read_hello(response)?;
        let mut headers = self.headers.clone();
        let has_id = session_id.is_some();
        if let Some(id) = session_id {
            headers.insert(SESSION_ID, id);
        }
        headers.insert(
            PROTOCOL_VERSION,
            HeaderValue::from_static(revision.as_str()),
        );
        // A connection is greeted once; a second session would be another connection.
        let _ = self.session.set(HttpSession { headers, has_id });
        Ok((hello, revision))
    }
}
