//! Subscriptions to resources of a server without sessions: a stream for all of them.
//!
//! The addresses of a stream are fixed when it is opened. So when others are wanted, another stream is
//! opened, and the one before ends when the server has acknowledged it: nothing is missed in between.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::subscriptions::ResourceSubscriptions;
use crate::protocol::connection::UpstreamConnection;
use crate::transport::request::{OutgoingParams, WantedNotifications};
use crate::{CallError, backoff};

/// Time that one stream is used; a new one finds out that the old one was dead.
const STREAM_LIFETIME: Duration = Duration::from_hours(1);
/// How long a server may take to acknowledge a stream.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(10);
/// A stream that held this long was well.
const WELL_AFTER: Duration = Duration::from_secs(10);

/// Open stream; it ends when this is dropped.
struct SubscriptionStream {
    uris: HashSet<Arc<str>>,
    since: Instant,
    task: JoinHandle<Option<CallError>>,
}

/// Keeps the streams of one connection.
pub(super) async fn keep_streams(
    subscriptions: &ResourceSubscriptions,
    connection: &Arc<UpstreamConnection>,
) {
    let mut open: Option<SubscriptionStream> = None;
    let mut failures = 0;
    loop {
        let wanted = subscriptions.wanted();
        if wanted.is_empty() {
            open = None;
        } else if open.as_ref().is_none_or(|open| open.uris != wanted) {
            open = Some(replace(subscriptions, connection, wanted).await);
        }
        let Some(stream) = &mut open else {
            subscriptions.wake_refresher.notified().await;
            continue;
        };
        let ended = tokio::select! {
            () = subscriptions.wake_refresher.notified() => continue,
            ended = &mut stream.task => ended.ok().flatten(),
        };
        subscriptions.lapse();
        if let Some(error @ (CallError::Rpc(_) | CallError::Unavailable { .. })) = ended {
            // It declared what it does not have.
            for uri in &stream.uris {
                subscriptions.refuse(uri, error.clone());
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
    subscriptions: &ResourceSubscriptions,
    connection: &Arc<UpstreamConnection>,
    uris: HashSet<Arc<str>>,
) -> SubscriptionStream {
    let mut acknowledged = subscriptions.acknowledged.subscribe();
    let notifications = WantedNotifications {
        resource_subscriptions: uris.iter().cloned().collect(),
        ..WantedNotifications::default()
    };
    let connection = Arc::clone(connection);
    let since = Instant::now();
    let mut task = tokio::spawn(async move {
        let notifications = &notifications;
        let params = OutgoingParams::Listen { notifications };
        let ended = connection.request(params, since + STREAM_LIFETIME).await;
        ended.err()
    });
    let is_acknowledged = tokio::select! {
        changed = timeout(ACKNOWLEDGED_WITHIN, acknowledged.changed()) => changed.is_ok(),
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
            subscriptions.refuse(uri, error);
        }
    }
    SubscriptionStream { uris, since, task }
}

impl Drop for SubscriptionStream {
    fn drop(&mut self) {
        self.task.abort();
    }
}
