//! HTTP with a separate event stream, as it was before Streamable HTTP: messages are posted, all
//! responses come on one stream.
//!
//! The stream begins with the path that messages are posted to. Its end is the end of the
//! connection.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use http::header::HeaderMap;
use tokio::time::{Instant, timeout_at};

use super::super::deadline::before_deadline;
use super::super::pending::{PendingRequests, SendState, UnansweredRequest};
use super::super::request::OutgoingRequest;
use super::event_reader::EventReader;
use super::response::read_body;
use super::{HttpEndpoint, address};
use crate::CallError;
use crate::call_error::UpstreamResponse;

/// Time that a stream has to say where messages go.
const ENDPOINT_WITHIN: Duration = Duration::from_secs(10);
/// Most bytes that are read of what a message is confirmed with.
const CONFIRMATION_LIMIT: usize = 64 * 1024;

/// Server that responds on one stream.
pub(super) struct ResponseStream {
    endpoint: Uri,
    pending: Arc<PendingRequests>,
}

/// Opens the stream; gives what requests need, and what has to run for them to be answered.
/// Nothing if the server has no such stream.
pub(super) async fn open(
    endpoint: &Arc<HttpEndpoint>,
    deadline: Instant,
) -> Option<(ResponseStream, impl Future<Output = ()> + Send + 'static)> {
    let until = deadline.min(Instant::now() + ENDPOINT_WITHIN);
    let (stream, named) = timeout_at(until, begin(endpoint)).await.ok()??;
    let pending = Arc::new(PendingRequests::default());
    let event_stream = ResponseStream {
        endpoint: named,
        pending: Arc::clone(&pending),
    };
    Some((event_stream, follow(stream, Arc::clone(endpoint), pending)))
}

/// Reads up to the first event, which says where messages go.
async fn begin(endpoint: &Arc<HttpEndpoint>) -> Option<(EventReader, Uri)> {
    let mut events = endpoint.open_events(None).await.ok()?;
    let first = events.next().await.ok()??;
    let is_endpoint = first.name.as_deref() == Some("endpoint");
    let named = address::resolve(&first.data, &endpoint.url).filter(|_| is_endpoint)?;
    Some((events, named))
}

/// Hands responses to those who wait for them, until the stream ends.
async fn follow(
    mut events: EventReader,
    endpoint: Arc<HttpEndpoint>,
    pending: Arc<PendingRequests>,
) {
    while let Ok(Some(message)) = events.next_message().await {
        if let Some((id, response)) = endpoint.receive(&message, None) {
            pending.respond(id, response);
        }
    }
    let reason: Arc<str> = "its stream of answers ended".into();
    pending.close(&reason);
    endpoint.lose(&reason, false);
}

impl ResponseStream {
    /// Path that messages are posted to.
    pub(super) fn endpoint(&self) -> &Uri {
        &self.endpoint
    }

    /// Sends a request and waits for its response.
    pub(super) async fn request(
        &self,
        endpoint: &Arc<HttpEndpoint>,
        request: OutgoingRequest<'_>,
    ) -> UpstreamResponse {
        let pending = self.pending.register();
        let mut pending = pending.map_err(|reason| CallError::disconnected(false, reason))?;
        let cancel = |message| endpoint.send_unawaited(message);
        let send_state = &SendState::default();
        let unanswered = UnansweredRequest::new(pending.id, send_state, cancel);
        let _route = request.route(&endpoint.incoming.routes, pending.id);
        let message = request.message(pending.id)?;
        let exchange = pin!(async {
            let posted = endpoint.post(message, HeaderMap::new(), send_state.clone());
            let (response, lease) = posted.await?;
            if read_body(response.into_body(), CONFIRMATION_LIMIT)
                .await
                .is_ok()
            {
                lease.give_back();
            }
            let answer = pending.response().await;
            answer.unwrap_or_else(|| Err(CallError::disconnected(true, self.pending.closed())))
        });
        let response = before_deadline(&request, send_state, exchange).await;
        unanswered.end(response)
    }
}
