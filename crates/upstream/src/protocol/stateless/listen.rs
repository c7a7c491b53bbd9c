//! Stream on which a server without sessions announces changes of its lists.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::StatelessContext;
use crate::client::incoming::Announcements;
use crate::transport::TransportLink;
use crate::transport::request::{OutgoingParams, OutgoingRequest, WantedNotifications};
use crate::{CallError, backoff};

/// Time that one stream is used. A new one now and then finds out that the old one was dead without
/// anybody having been told.
const STREAM_LIFETIME: Duration = Duration::from_hours(1);
/// A stream that held this long was well.
const WELL_AFTER: Duration = Duration::from_secs(10);

/// Keeps one stream open for as long as the connection lasts.
///
/// The server's acknowledgement makes its announcements count (see `client::incoming`), the end of
/// the stream ends that. What happened in between is found by the listing that follows.
pub(in crate::protocol) async fn listen(
    link: Arc<TransportLink>,
    context: Arc<StatelessContext>,
    announcements: Arc<dyn Announcements>,
    notifications: WantedNotifications,
) {
    let notifications = &notifications;
    let params = OutgoingParams::Listen { notifications };
    let meta = context.meta(None);
    let mut failures = 0;
    loop {
        let since = Instant::now();
        let mut request = OutgoingRequest::new(params, since + STREAM_LIFETIME);
        request.meta = Some(&meta);
        if let TransportLink::Http(_) = *link {
            request.headers = context.headers(&params);
        }
        let ended = link.request(request).await;
        announcements.set_tools_announced(false);
        if let Err(CallError::Rpc(_) | CallError::Unavailable { .. }) = ended {
            // It declared what it does not have. It is listed like one that announces nothing.
            return;
        }
        if since.elapsed() >= WELL_AFTER {
            failures = 0;
        }
        failures += 1;
        tokio::time::sleep(backoff::delay(failures)).await;
    }
}
