//! Opening a session over HTTP, with whichever of the two ways the server has.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use http::header::{HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use mcpproxy_wire::initialize::ServerHello;
use mcpproxy_wire::method;
use mcpproxy_wire::{Json, Revision, rpc};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

use super::body::Body;
use super::streamed::{self, Streamed};
use super::{Connection, PROTOCOL_VERSION, SESSION_ID, Session, Wire, events, give_back_if_empty};
use crate::CallError;
use crate::connection;
use crate::request::OutgoingRequest;

/// How long the stream of events is waited for. Some servers answer only with the first event.
const EVENTS_WITHIN: Duration = Duration::from_millis(300);

/// What came of a greeting.
#[derive(Debug)]
pub(crate) struct Greeted {
    pub(crate) hello: ServerHello,
    pub(crate) revision: Revision,
    /// Whether every change of its tools will reach us from now on.
    pub(crate) announces: bool,
}

/// Why there is no session.
enum NoSession {
    Failed(CallError),
    /// There is no such endpoint; it may be one of before Streamable HTTP.
    NoEndpoint(CallError),
}

impl Connection {
    /// Opens the session and the stream of events that comes with it.
    pub(crate) async fn greet(
        &self,
        params: &str,
        deadline: Instant,
    ) -> Result<Greeted, CallError> {
        let started = Instant::now();
        timeout_at(deadline, self.open_session(params, deadline))
            .await
            .map_err(|_| CallError::Timeout {
                after: started.elapsed(),
                sent: true,
            })?
    }

    async fn open_session(&self, params: &str, deadline: Instant) -> Result<Greeted, CallError> {
        let wire = &self.wire;
        let (hello, revision, is_streamed) = match wire.initialize(params).await {
            Ok((hello, revision)) => (hello, revision, false),
            Err(NoSession::Failed(error)) => return Err(error),
            Err(NoSession::NoEndpoint(error)) => {
                let Some(streamed) = self.open_stream(deadline).await else {
                    return Err(error);
                };
                let greeting =
                    OutgoingRequest::own(method::Method::Initialize.as_str(), params, deadline);
                let greeted = streamed.request(wire, greeting).await?;
                let (hello, revision) = wire.begin_session(&greeted, None)?;
                (hello, revision, true)
            }
        };
        let initialized = rpc::notification(method::INITIALIZED, "{}");
        let posted = wire.post(initialized, HeaderMap::new(), Arc::default());
        let (response, lease) = posted.await?;
        give_back_if_empty(&response, lease);
        if !is_streamed {
            let (tried, is_tried) = oneshot::channel();
            let events = events::listen(Arc::clone(wire), hello.announces_tool_changes, tried);
            self.keep_listening(tokio::spawn(events).abort_handle());
            // What a server asks on this stream during the first call would be lost before.
            let _ = timeout(EVENTS_WITHIN, is_tried).await;
        }
        Ok(Greeted {
            // The one stream is open as long as the connection is. Elsewhere, the stream of
            // events tells when changes reach us.
            announces: is_streamed && hello.announces_tool_changes,
            hello,
            revision,
        })
    }

    /// Looks for the stream that servers of before Streamable HTTP answer on.
    async fn open_stream(&self, deadline: Instant) -> Option<&Streamed> {
        let (streamed, reader) = streamed::open(&self.wire, deadline).await?;
        // A connection is greeted once, so there is none yet.
        let _ = self.wire.streamed.set(streamed);
        self.keep_listening(tokio::spawn(reader).abort_handle());
        self.wire.streamed.get()
    }

    fn keep_listening(&self, events: tokio::task::AbortHandle) {
        *self.events.lock().unwrap_or_else(PoisonError::into_inner) = Some(events);
    }
}

impl Wire {
    async fn initialize(
        self: &Arc<Self>,
        params: &str,
    ) -> Result<(ServerHello, Revision), NoSession> {
        let id = self.next_id();
        let message = rpc::request(id, method::Method::Initialize.as_str(), params);
        let is_sent = Arc::<AtomicBool>::default();
        let mut request = http::Request::new(Body::new(message.into(), Arc::clone(&is_sent)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        let (response, lease) = self.pool.send(request).await.map_err(|error| {
            NoSession::Failed(self.broken(error, is_sent.load(Ordering::Acquire)))
        })?;
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
        let answer = self.read_answer(response, lease, id).await;
        answer
            .and_then(|answer| self.begin_session(&answer, session_id))
            .map_err(NoSession::Failed)
    }

    /// Takes the answer to the greeting for what every later request says.
    fn begin_session(
        &self,
        answer: &Json,
        session_id: Option<HeaderValue>,
    ) -> Result<(ServerHello, Revision), CallError> {
        let (hello, revision) = connection::read_hello(answer)?;
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
        let _ = self.session.set(Session { headers, has_id });
        Ok((hello, revision))
    }
}
