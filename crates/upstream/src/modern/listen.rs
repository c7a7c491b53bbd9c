//! Hearing of changes from a server without sessions.

use mcpproxy_wire::Method;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::Modern;
use crate::board::Board;
use crate::connection::Link;
use crate::request::OutgoingRequest;
use crate::{CallError, backoff};

const METHOD: &str = Method::SubscriptionsListen.as_str();
/// How long one subscription is kept. A new one now and then finds out that the old one was
/// dead without anybody having been told.
const KEPT_FOR: Duration = Duration::from_hours(1);
/// A subscription that held this long was well.
const WELL_AFTER: Duration = Duration::from_secs(10);

/// Keeps one subscription open for as long as the connection lasts.
///
/// The server's acknowledgement makes its announcements count (see `inbound`), the end of the
/// subscription ends that. What happened in between is found by the listing that follows.
pub(crate) async fn listen(
    link: Arc<Link>,
    modern: Arc<Modern>,
    board: Arc<Board>,
    lists: Vec<&'static str>,
) {
    let wanted: Map<String, Value> = lists
        .into_iter()
        .map(|list| (list.to_owned(), Value::Bool(true)))
        .collect();
    let params = json!({ "notifications": wanted }).to_string();
    let meta = modern.meta(None);
    let mut failures = 0;
    loop {
        let since = Instant::now();
        let headers = match &*link {
            Link::Http(_) => modern.headers(METHOD, None, "{}"),
            Link::Stdio(_) | Link::BuiltIn(_) => HeaderMap::new(),
        };
        let mut request = OutgoingRequest::own(METHOD, &params, since + KEPT_FOR);
        request.meta = &meta;
        request.headers = headers;
        let ended = link.request(request).await;
        board.set_announces(false);
        if let Err(CallError::Rpc(_) | CallError::Unavailable { .. }) = ended {
            // It declared what it does not have. It is listed like one that says nothing.
            return;
        }
        if since.elapsed() >= WELL_AFTER {
            failures = 0;
        }
        failures += 1;
        tokio::time::sleep(backoff::delay(failures)).await;
    }
}
