//! Server-sent events: what is recorded, as it happens.
//!
//! A stream holds a position in the log and nothing else. It reads on when its client has taken
//! what was sent, so a slow client slows itself only, and one that comes back with the id of its
//! last event misses nothing.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http::{HeaderMap, HeaderValue};
use mcpproxy_activity::{Filter, Followed, LogTail};
use mcpproxy_gateway::records::{self, EventIds, Following};
use mcpproxy_gateway::tokens::Admission;
use mcpproxy_gateway::{Caller, Code, Failure};
use mcpproxy_wire::header::LAST_EVENT_ID;
use mcpproxy_wire::json::to_text;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::activity::{Pairs, read_pairs};
#[cfg(feature = "openapi")]
use super::described::parameters::{EventParameters, FilterParameters};
#[cfg(feature = "openapi")]
use super::described::refusals::{AccessRefusals, InvalidRefusals, StoreRefusals};
use crate::app::App;
use crate::respond::{KEEP_ALIVE, RestResult, event_stream};

/// Time between two looks at the log when nobody tells of a new record: other processes write too.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Time between two looks when there are new records all the time.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// About how many records are read at a time.
const BATCH: usize = 32;

/// Follow what is recorded
///
/// Server-sent events: `activity` (calls, refusals, searches, changes of tokens and configuration, the gateway itself),
/// `server` (a server came, went or changed) and `catalog` (a tool did). `data` is the record on
/// one line, `id` the place in the log, sealed for a token that sees its own records alone: with it in the header `Last-Event-ID`, or in
/// `last_event_id`, a stream goes on exactly where another one stopped.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/events", tag = "activity", operation_id = "follow_events",
    params(EventParameters, FilterParameters),
    responses(
        (status = 200, description = "The events", body = String, content_type = "text/event-stream",
            headers(("last-event-id" = String, description = "Where the stream begins"))),
        InvalidRefusals, AccessRefusals, StoreRefusals,
    ),
))]
pub(crate) async fn events(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Extension(admission): Extension<Admission>,
    headers: HeaderMap,
    query: Pairs,
) -> RestResult {
    let last_id = headers.get(LAST_EVENT_ID).map(HeaderValue::to_str);
    let last_id = last_id
        .transpose()
        .map_err(|_| Failure::new(Code::InvalidArguments, "Last-Event-ID is not ASCII"))?;
    let archive = app.gateway().records().archive();
    let scope = caller.record_scope();
    let ids = EventIds::of(&scope);
    let Following { filter, position } =
        Following::parse(&read_pairs(query)?, last_id, scope, &ids)?;
    // Taken before the position, so that nothing recorded in between goes unnoticed.
    let recorded = app.gateway().records().recorded();
    let tail = archive.follow(position).await;
    let stream = EventStream {
        tail: tail.map_err(Failure::from)?,
        filter,
        ids,
        recorded,
        shutdown: app.shutdown().clone(),
        ended: admission.ended,
        looked: None,
        sent: Instant::now(),
    };
    Ok(stream.response())
}

/// One client's stream.
struct EventStream {
    tail: LogTail,
    filter: Filter,
    ids: EventIds,
    /// Changes with every commit of this gateway.
    recorded: watch::Receiver<u64>,
    shutdown: CancellationToken,
    /// Cancelled when the credential that the stream was opened with is not good any more.
    ended: CancellationToken,
    /// Moment that the log was last looked at; none yet, or there may be more to read at once.
    looked: Option<Instant>,
    /// Moment that something was last sent.
    sent: Instant,
}

impl EventStream {
    fn response(self) -> Response {
        let start = self.ids.write(self.tail.position());
        // Browsers keep this id without showing an event, and so can come back from the start on.
        let first = stream::iter([Ok::<_, Infallible>(Bytes::from(format!("id: {start}\n\n")))]);
        let rest = stream::unfold(self, |mut stream| async move {
            let sent = stream.next().await?;
            Some((Ok(Bytes::from(sent)), stream))
        });
        let mut response = event_stream(Body::from_stream(first.chain(rest)));
        if let Ok(start) = HeaderValue::try_from(start) {
            response.headers_mut().insert(LAST_EVENT_ID, start);
        }
        response
    }

    /// Waits for the next text to send; nothing when the gateway stops, or the log cannot be read. A client that
    /// comes back is then told why.
    async fn next(&mut self) -> Option<String> {
        loop {
            self.pause().await?;
            let (shutdown, ended) = (self.shutdown.clone(), self.ended.clone());
            let followed = tokio::select! {
                () = shutdown.cancelled() => return None,
                () = ended.cancelled() => return None,
                followed = self.tail.next(BATCH) => followed,
            };
            let followed = followed
                .inspect_err(|error| tracing::warn!(%error, "a stream of events ends"))
                .ok()?;
            self.looked = followed.is_empty().then(Instant::now);
            let admitted = followed.into_iter();
            let admitted = admitted.filter(|one| self.filter.admits(&one.record));
            let text: String = admitted
                .map(|mut followed| {
                    records::hide_place(&mut followed.record, &self.filter.scope);
                    event(&followed, &self.ids)
                })
                .collect();
            if !text.is_empty() {
                self.sent = Instant::now();
                return Some(text);
            }
            if self.sent.elapsed() >= KEEP_ALIVE {
                self.sent = Instant::now();
                // With the place, so that what was filtered out is not read again.
                let id = self.ids.write(self.tail.position());
                return Some(format!(": alive\nid: {id}\n\n"));
            }
        }
    }

    /// Waits until it is worth looking again; nothing when the gateway stops.
    async fn pause(&mut self) -> Option<()> {
        let Some(looked) = self.looked else {
            return Some(());
        };
        let told = async {
            let latest = looked + LONGEST_PAUSE;
            if let Ok(Err(_)) = timeout_at(latest, self.recorded.changed()).await {
                // Nobody will tell any more; the log can still be read.
                sleep_until(latest).await;
            }
            sleep_until(looked + SHORTEST_PAUSE).await;
        };
        tokio::select! {
            () = self.shutdown.cancelled() => None,
            () = self.ended.cancelled() => None,
            () = told => Some(()),
        }
    }
}

fn event(followed: &Followed, ids: &EventIds) -> String {
    format!(
        "event: {}\nid: {}\ndata: {}\n\n",
        records::topic(followed.record.kind),
        ids.write(&followed.position),
        to_text(&followed.record)
    )
}
