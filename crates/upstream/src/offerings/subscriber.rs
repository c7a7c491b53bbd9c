//! Subscriptions made at the server: one for each address in a session, and without sessions a stream for all
//! of them.
//!
//! The addresses of a stream are fixed when it is opened. So when others are wanted, another stream is
//! opened, and the one before ends when the server has acknowledged it: nothing is missed in between.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_redact::Mask;
use mcpproxy_wire::Protocol;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::subscriptions::ResourceSubscriptions;
use crate::CallError;
use crate::backoff::StreamBackoff;
use crate::protocol::connection::UpstreamConnection;
use crate::transport::request::{OutgoingParams, WantedNotifications};

/// Time that one stream is used. A new one now and then finds out that the old one was dead without anybody having
/// been told.
pub(crate) const STREAM_LIFETIME: Duration = Duration::from_hours(1);
/// Time that a server may take to acknowledge a stream.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(10);
/// Pause before a subscription that broke off is asked for again.
const AGAIN: Duration = Duration::from_secs(1);

/// Open stream; it ends when this is dropped.
struct SubscriptionStream {
    uris: HashSet<Arc<str>>,
    since: Instant,
    task: JoinSet<Option<CallError>>,
}

/// Keeps the subscriptions of one connection; each request may take so long.
pub(crate) async fn keep(
    subscriptions: &ResourceSubscriptions,
    connection: &Arc<UpstreamConnection>,
    timeout: Duration,
    mask: &Mask,
) {
    match connection.protocol() {
        Protocol::Session => keep_in_session(subscriptions, connection, timeout, mask).await,
        Protocol::Stateless => keep_streams(subscriptions, connection).await,
    }
}

/// Keeps one subscription for each address that is wanted, and none for those that no longer are.
async fn keep_in_session(
    subscriptions: &ResourceSubscriptions,
    connection: &UpstreamConnection,
    timeout: Duration,
    mask: &Mask,
) {
    let mut subscribed: HashSet<Arc<str>> = HashSet::new();
    let request = async |params: OutgoingParams<'_>| {
        let deadline = Instant::now() + timeout;
        connection.request(params, deadline).await
    };
    loop {
        let mut is_broken = false;
        let wanted = subscriptions.wanted();
        let gone: Vec<_> = subscribed.difference(&wanted).cloned().collect();
        for uri in gone {
            // The response changes nothing: nobody hears of this address any more.
            let _ = request(OutgoingParams::Unsubscribe { uri: &uri }).await;
            subscribed.remove(&uri);
        }
        for uri in wanted {
            if subscribed.contains(&uri) {
                // It may have been left and wanted again in between.
                subscriptions.grant(&uri);
                continue;
            }
            match request(OutgoingParams::Subscribe { uri: &uri }).await {
                Ok(_) => {
                    subscriptions.grant(&uri);
                    subscribed.insert(uri);
                }
                // Either this connection is over, or it was this one request: it is made again.
                Err(CallError::Disconnected { .. }) => is_broken = true,
                Err(error) => subscriptions.refuse(&uri, error.masked(mask)),
            }
        }
        if is_broken {
            tokio::time::sleep(AGAIN).await;
        } else {
            subscriptions.wake_subscriber.notified().await;
        }
    }
}

/// Keeps the streams of one connection.
async fn keep_streams(subscriptions: &ResourceSubscriptions, connection: &Arc<UpstreamConnection>) {
    let mut open: Option<SubscriptionStream> = None;
    let mut backoff = StreamBackoff::default();
    loop {
        let wanted = subscriptions.wanted();
        if wanted.is_empty() {
            open = None;
        } else if open.as_ref().is_none_or(|open| open.uris != wanted) {
            open = Some(replace(subscriptions, connection, wanted).await);
        }
        let Some(stream) = &mut open else {
            subscriptions.wake_subscriber.notified().await;
            continue;
        };
        let ended = tokio::select! {
            () = subscriptions.wake_subscriber.notified() => continue,
            Some(ended) = stream.task.join_next() => ended.ok().flatten(),
        };
        subscriptions.lapse();
        if let Some(error @ (CallError::Rpc(_) | CallError::Unavailable { .. })) = ended {
            // It declared what it does not have.
            for uri in &stream.uris {
                subscriptions.refuse(uri, error.clone());
            }
        }
        let pause = backoff.next_delay(stream.since);
        open = None;
        tokio::time::sleep(pause).await;
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
    let mut task = JoinSet::new();
    task.spawn(async move {
        let notifications = &notifications;
        let params = OutgoingParams::Listen { notifications };
        let ended = connection.request(params, since + STREAM_LIFETIME).await;
        ended.err()
    });
    let is_acknowledged = tokio::select! {
        changed = timeout(ACKNOWLEDGED_WITHIN, acknowledged.changed()) => changed.is_ok(),
        Some(ended) = task.join_next() => {
            // Given back as it ended, for who keeps the streams to see.
            task.spawn(async move { ended.ok().flatten() });
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
