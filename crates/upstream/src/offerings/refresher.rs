//! Refresher of the lists and subscriptions of one connection, beside the upstream's own task.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_redact::Mask;
use mcpproxy_wire::capabilities::Capabilities;
use mcpproxy_wire::listed_item::{ListedItem, ListedItemPage, ListedKind};
use mcpproxy_wire::rpc::METHOD_NOT_FOUND;
use mcpproxy_wire::{Method, Protocol};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::Offerings;
use super::subscription_streams::keep_streams;
use crate::protocol::connection::UpstreamConnection;
use crate::transport::request::OutgoingParams;
use crate::{CallError, Observer};

/// Most items of one list; the rest is left out with a warning.
const ITEMS_LIMIT: usize = 10_000;
/// Most pages asked for, so that a server cannot keep us turning them.
const PAGES_LIMIT: usize = 1_000;
/// Lists are not renewed more often than this, however often a server announces changes.
const PAUSE: Duration = Duration::from_millis(100);
/// Pause before a subscription that broke off is asked for again.
const AGAIN: Duration = Duration::from_secs(1);

/// Task that refreshes the offerings of one connection; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct OfferingsRefresher(AbortHandle);

/// Server whose offerings are refreshed, and who hears of it.
pub(crate) struct RefreshedServer {
    pub(crate) name: Arc<str>,
    /// Longest that one listing may take.
    pub(crate) timeout: Duration,
    pub(crate) mask: Mask,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) offerings: Arc<Offerings>,
    pub(crate) connection: Arc<UpstreamConnection>,
    /// Capabilities that the server declared.
    pub(crate) capabilities: Capabilities,
}

impl OfferingsRefresher {
    /// Begins to refresh what the server declared.
    pub(crate) fn start(server: RefreshedServer) -> Self {
        let refreshing = async move { server.refresh().await };
        Self(tokio::spawn(refreshing).abort_handle())
    }
}

impl Drop for OfferingsRefresher {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl RefreshedServer {
    async fn refresh(&self) {
        self.offerings.subscriptions.reset();
        if self.offerings.begin(self.capabilities) {
            self.observer.offerings_changed(&self.name);
        }
        // A list that takes long must not hold up a subscription.
        tokio::join!(self.refresh_lists(), self.refresh_subscriptions());
    }

    async fn refresh_lists(&self) {
        let offerings = &self.offerings;
        loop {
            let paused_until = Instant::now() + PAUSE;
            let mut is_changed = false;
            for kind in ListedKind::ALL {
                let Some(epoch) = offerings.due(kind) else {
                    continue;
                };
                let deadline = Instant::now() + self.timeout;
                match list(&self.name, &self.connection, kind, deadline).await {
                    Ok(items) => is_changed |= offerings.put(kind, epoch, items),
                    Err(error) => {
                        let error = error.masked(&self.mask);
                        tracing::warn!(server = %self.name, method = kind.method(), %error, "could not be listed");
                        offerings.refuse(kind, epoch, error);
                    }
                }
            }
            if is_changed {
                self.observer.offerings_changed(&self.name);
            }
            offerings.wake_refresher.notified().await;
            sleep_until(paused_until).await;
        }
    }

    async fn refresh_subscriptions(&self) {
        if !self.capabilities.has_subscriptions {
            return;
        }
        match self.connection.protocol() {
            Protocol::Session => self.refresh_in_session().await,
            Protocol::Stateless => {
                keep_streams(&self.offerings.subscriptions, &self.connection).await;
            }
        }
    }

    /// One subscription for each address that is wanted, and none for those that no longer are.
    async fn refresh_in_session(&self) {
        let subscriptions = &self.offerings.subscriptions;
        let mut subscribed: HashSet<Arc<str>> = HashSet::new();
        let request = async |params: OutgoingParams<'_>| {
            let deadline = Instant::now() + self.timeout;
            self.connection.request(params, deadline).await
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
                    Err(error) => subscriptions.refuse(&uri, error.masked(&self.mask)),
                }
            }
            if is_broken {
                sleep(AGAIN).await;
            } else {
                subscriptions.wake_refresher.notified().await;
            }
        }
    }
}

/// Lists one kind, all pages of it.
async fn list(
    server: &str,
    connection: &UpstreamConnection,
    kind: ListedKind,
    deadline: Instant,
) -> Result<Vec<ListedItem>, CallError> {
    let mut items: Vec<ListedItem> = Vec::new();
    let mut keys = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES_LIMIT {
        let params = OutgoingParams::List {
            method: Method::named(kind.method()),
            cursor: cursor.as_deref(),
        };
        let page = match connection.request(params, deadline).await {
            // Libraries declare resources for those who have no templates, and the other way round.
            Err(CallError::Rpc(error)) if error.code == METHOD_NOT_FOUND => return Ok(Vec::new()),
            response => ListedItemPage::parse(kind, &response?).map_err(CallError::malformed)?,
        };
        for reason in page.rejected {
            tracing::debug!(server, method = kind.method(), reason, "left out an item");
        }
        let fresh = page.items.into_iter();
        items.extend(fresh.filter(|item| keys.insert(Arc::clone(&item.key))));
        if items.len() > ITEMS_LIMIT {
            tracing::warn!(
                server,
                method = kind.method(),
                limit = ITEMS_LIMIT,
                "left out items beyond the limit"
            );
            items.truncate(ITEMS_LIMIT);
            return Ok(items);
        }
        let Some(next) = page.next_cursor else {
            return Ok(items);
        };
        if cursor.as_ref() == Some(&next) {
            return Err(CallError::malformed(format!(
                "{} gives the same page over and over",
                kind.method()
            )));
        }
        cursor = Some(next);
    }
    Err(CallError::malformed(format!(
        "{} has more than {PAGES_LIMIT} pages",
        kind.method()
    )))
}
