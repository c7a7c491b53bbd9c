//! Stream of events on which a server sends what belongs to no request.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use mcpproxy_wire::header;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::super::pending::SendState;
use super::event_reader::EventReader;
use super::{HttpEndpoint, is_absent};
use crate::backoff::StreamBackoff;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static(header::LAST_EVENT_ID);
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Follows the server's events for as long as the session lasts.
///
/// Changes of tools count as announced only while the stream is open. Whatever happened in
/// between may have been missed, so each opening makes the listing stale. `tried` is told when the
/// stream is open for the first time, or cannot be opened.
pub(super) async fn listen(
    endpoint: Arc<HttpEndpoint>,
    (declares_changes, has_logging): (bool, bool),
    tried: oneshot::Sender<()>,
) {
    let mut tried = Some(tried);
    let mut last_event = None;
    let mut was_open = false;
    let mut backoff = StreamBackoff::default();
    loop {
        let opened = endpoint.open_events(last_event.as_deref()).await;
        let since = Instant::now();
        drop(tried.take());
        let mut pause = Duration::ZERO;
        match opened {
            Ok(mut events) => {
                was_open = true;
                endpoint.shared_stream.opened(has_logging);
                if declares_changes {
                    endpoint.incoming.announcements.set_tools_announced(true);
                }
                let end = endpoint.follow(&mut events, None, &mut last_event).await;
                endpoint.shared_stream.closed();
                if end.is_ok() {
                    pause = events.retry().unwrap_or_default();
                }
                if declares_changes {
                    endpoint.incoming.announcements.set_tools_announced(false);
                }
            }
            Err(Some(StatusCode::NOT_FOUND)) if was_open && endpoint.has_session_id() => {
                endpoint.lose(&"its session has expired".into(), true);
                return;
            }
            // The server has no such stream. What it declared can then not reach us.
            Err(Some(status)) if is_absent(status) || !was_open => return,
            Err(_) => {}
        }
        tokio::time::sleep(backoff.next_delay(since).max(pause)).await;
    }
}

impl HttpEndpoint {
    /// Opens a stream of events, after the last one that was seen. The error is the status that refuses it,
    /// if there was a response.
    pub(super) async fn open_events(
        &self,
        last_event: Option<&str>,
    ) -> Result<EventReader, Option<StatusCode>> {
        let mut headers = self.session_headers().clone();
        headers.remove(http::header::CONTENT_TYPE);
        headers.insert(ACCEPT, EVENTS);
        if let Some(id) = last_event.and_then(|id| HeaderValue::try_from(id).ok()) {
            headers.insert(LAST_EVENT_ID, id);
        }
        let opened = self.send(Method::GET, headers, None, SendState::default());
        let (response, lease) = opened.await.map_err(|_| None)?;
        if response.status() == StatusCode::OK {
            return Ok(EventReader::new(response.into_body(), lease));
        }
        Err(Some(response.status()))
    }
}
