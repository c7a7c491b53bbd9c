//! Subscriptions to resources of a server without sessions: a stream for all of them.
//!
//! The addresses of a stream are fixed when it is opened. So when others are wanted, another stream is
//! opened, and the one before ends when the server has acknowledged it: nothing is missed in between.

use mcpproxy_wire::Method;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::board::Board;
use crate::connection::Connection;
use crate::{CallError, backoff};

const METHOD: &str = Method::SubscriptionsListen.as_str();
/// How long one stream is kept; a new one finds out that the old one was dead.
const KEPT_FOR: Duration = Duration::from_hours(1);
/// How long a server may take to acknowledge a stream.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(10);
/// A stream that held this long was well.
const WELL_AFTER: Duration = Duration::from_secs(10);

/// An open stream; it ends when this is dropped.
struct Stream {
    uris: HashSet<Arc<str>>,
    since: Instant,
    task: JoinHandle<Option<CallError>>,
}

/// Keeps the streams of one connection.
pub(crate) async fn keep(board: &Arc<Board>, connection: &Arc<Connection>) {
    let watched = &board.shelf.watched;
    let mut open: Option<Stream> = None;
    let mut failures = 0;
    loop {
        let wanted = watched.wanted();
        if wanted.is_empty() {
            open = None;
        } else if open.as_ref().is_none_or(|open| open.uris != wanted) {
            open = Some(replace(board, connection, wanted).await);
        }
        let Some(stream) = &mut open else {
            watched.bell.notified().await;
            continue;
        };
        let ended = tokio::select! {
            () = watched.bell.notified() => continue,
            ended = &mut stream.task => ended.ok().flatten(),
        };
        watched.lapse();
        if let Some(error @ (CallError::Rpc(_) | CallError::Unavailable { .. })) = ended {
            // It declared what it does not have.
            for uri in &stream.uris {
                watched.refuse(uri, error.clone());
            }
        }
        if stream.since.elapsed() >= WELL_AFTER {
            failures = 0;
        }
        open = None;
        failures += 1;
        tokio::time::sleep(backoff::delay(failures)).await;
    }
}

/// Opens a stream for these addresses and waits for its acknowledgement.
async fn replace(
    board: &Arc<Board>,
    connection: &Arc<Connection>,
    uris: HashSet<Arc<str>>,
) -> Stream {
    let watched = &board.shelf.watched;
    let mut acknowledged = watched.acknowledged.subscribe();
    let list: Vec<&str> = uris.iter().map(|uri| &**uri).collect();
    let params = json!({ "notifications": { "resourceSubscriptions": list } }).to_string();
    let connection = Arc::clone(connection);
    let since = Instant::now();
    let mut task = tokio::spawn(async move {
        let ended = connection.request(METHOD, &params, since + KEPT_FOR).await;
        ended.err()
    });
    let is_acknowledged = tokio::select! {
        heard = timeout(ACKNOWLEDGED_WITHIN, acknowledged.changed()) => heard.is_ok(),
        ended = &mut task => {
            // Given back as it ended, for who keeps the streams to see.
            let error = ended.ok().flatten();
            task = tokio::spawn(async move { error });
            false
        }
    };
    if is_acknowledged {
        for uri in &uris {
            let error = CallError::unavailable("the server does not tell of this resource");
            watched.refuse(uri, error);
        }
    }
    Stream { uris, since, task }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.task.abort();
    }
}
