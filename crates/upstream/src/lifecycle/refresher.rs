//! Refresher of the lists and subscriptions of one connection, beside the upstream's own task.
//!
//! What it lists goes to the observer first and to those who wait then, so that they find it there.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_wire::{Capabilities, Introduction, ListedKind, Method, Protocol};
use tokio::time::{Instant, sleep, sleep_until};

use super::shared::SharedUpstream;
use crate::CallError;
use crate::backoff::StreamBackoff;
use crate::client::incoming::Announcements;
use crate::offerings::listing::{self, Listing};
use crate::offerings::subscriber::{self, STREAM_LIFETIME};
use crate::protocol::connection::UpstreamConnection;
use crate::transport::request::{OutgoingParams, WantedNotifications};

/// Pause before a listing is tried again that could not be sent.
const UNSENT_PAUSE: Duration = Duration::from_millis(100);

/// Refreshes what a server declared, as long as its connection holds.
pub(super) async fn refresh(
    shared: Arc<SharedUpstream>,
    connection: Arc<UpstreamConnection>,
    capabilities: Capabilities,
) {
    let subscriptions = &shared.readiness.subscriptions;
    subscriptions.reset();
    let keep_subscriptions = async {
        if capabilities.has_subscriptions {
            let (timeout, mask) = (shared.spec.timeout, &shared.mask);
            subscriber::keep(subscriptions, &connection, timeout, mask).await;
        }
    };
    // A list that takes long must not hold up another, nor a subscription.
    tokio::join!(
        shared.keep_listening(&connection, capabilities),
        shared.keep_current(&connection, ListedKind::Tool),
        shared.keep_current(&connection, ListedKind::Prompt),
        shared.keep_current(&connection, ListedKind::Resource),
        shared.keep_current(&connection, ListedKind::Template),
        keep_subscriptions,
    );
}

impl SharedUpstream {
    /// Keeps the stream open on which a server without sessions announces changes of its lists.
    ///
    /// The server's acknowledgement makes its announcements count (see `client::incoming`), the end of
    /// the stream ends that. What happened in between is found by the listing that follows.
    async fn keep_listening(&self, connection: &UpstreamConnection, declared: Capabilities) {
        let notifications = &WantedNotifications::of_lists(declared);
        if connection.protocol() == Protocol::Session || notifications.is_empty() {
            return;
        }
        let mut backoff = StreamBackoff::default();
        loop {
            let since = Instant::now();
            let params = OutgoingParams::Listen { notifications };
            let ended = connection.request(params, since + STREAM_LIFETIME).await;
            self.readiness.set_tools_announced(false);
            if let Err(CallError::Rpc(_) | CallError::Unavailable { .. }) = ended {
                // It declared what it does not have. It is listed like one that announces nothing.
                return;
            }
            sleep(backoff.next_delay(since)).await;
        }
    }

    /// Lists one kind whenever that is due, as long as the connection holds.
    async fn keep_current(&self, connection: &UpstreamConnection, kind: ListedKind) {
        loop {
            let due = self.readiness.read().lists.freshness(kind).due();
            match due {
                Some(due) if due <= Instant::now() => self.list_again(connection, kind).await,
                Some(due) => tokio::select! {
                    () = self.readiness.list_wanted(kind) => {}
                    () = sleep_until(due) => {}
                },
                None => self.readiness.list_wanted(kind).await,
            }
        }
    }

    /// Lists one kind of a server that is ready.
    async fn list_again(&self, connection: &UpstreamConnection, kind: ListedKind) {
        let epoch = self.begin_listing(kind);
        let deadline = Instant::now() + self.spec.timeout;
        let mut outcome = listing::list(connection, kind, deadline).await;
        if let Err(CallError::Disconnected { sent: true, .. }) = outcome {
            // A listing changes nothing, so it can be repeated. If the server is gone, this
            // attempt says so.
            outcome = listing::list(connection, kind, deadline).await;
        }
        let error = match outcome {
            Ok(listing) => {
                let time_to_live = listing.time_to_live;
                self.report(kind, listing, None);
                self.readiness.change(|facts| {
                    let freshness = facts.lists.freshness_mut(kind);
                    freshness.set_listed(epoch, time_to_live);
                });
                return;
            }
            Err(CallError::Disconnected { sent: false, .. }) => {
                // The connection is lost. Callers wait for the next one, which is listed anew.
                sleep(UNSENT_PAUSE).await;
                self.readiness.change(|_| ());
                return;
            }
            Err(CallError::Timeout { after, .. }) => CallError::Timeout { after, sent: false },
            // Whoever asks for one of these lists gets the server's own error; tools are listed for calls too.
            Err(error) if kind != ListedKind::Tool => error.masked(&self.mask),
            Err(error) => {
                let reason = explain(kind.method(), &error);
                CallError::unavailable(self.mask.apply(&reason))
            }
        };
        let mut is_news = false;
        self.readiness.change(|facts| {
            let freshness = facts.lists.freshness_mut(kind);
            is_news = freshness.set_refused(epoch, error.clone());
        });
        if is_news {
            let (server, method) = (&self.spec.name, kind.method().as_str());
            tracing::warn!(%server, method, %error, "could not be listed");
        }
    }

    /// Begins a listing, which will cover the epoch given back.
    pub(super) fn begin_listing(&self, kind: ListedKind) -> u64 {
        let readiness = &self.readiness;
        readiness.note(|facts| facts.lists.freshness_mut(kind).begin())
    }

    /// Tells the observer about a listing, and what a new connection declared, if that differs from
    /// what it knows.
    pub(super) fn report(
        &self,
        kind: ListedKind,
        listing: Listing,
        declared: Option<(Capabilities, Introduction)>,
    ) {
        let name = &self.spec.name;
        let readiness = &self.readiness;
        if readiness.note(|facts| facts.lists.set_rejected(kind, &listing.rejected)) {
            listing.log_rejected(name, kind);
        }
        let changed = readiness.note(|facts| {
            let is_changed = declared.is_some_and(|(capabilities, introduction)| {
                facts.lists.declare(capabilities, introduction)
            });
            let is_changed = facts.lists.put(kind, listing.items) || is_changed;
            is_changed.then(|| facts.lists.offerings().clone())
        });
        if let Some(offerings) = changed {
            self.runtime.observer.offered(name, offerings);
        }
    }
}

/// Explanation for people of what went wrong with a request of our own.
pub(super) fn explain(method: Method, error: &CallError) -> String {
    let method = method.as_str();
    match error {
        CallError::Timeout { after, .. } => {
            format!("it did not answer {method} within {} ms", after.as_millis())
        }
        CallError::Rpc(error) => format!("it answers {method} with an error: {error}"),
        CallError::Malformed { reason } => {
            format!("it does not answer {method} properly: {reason}")
        }
        other => other.to_string(),
    }
}
