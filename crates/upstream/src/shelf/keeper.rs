//! Keeps the lists and the subscriptions of one connection, beside the upstream's own task.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use mcpproxy_wire::Method;
use mcpproxy_wire::Protocol;
use mcpproxy_wire::capabilities::Capabilities;
use mcpproxy_wire::item::{Item, ItemPage, Kind};
use mcpproxy_wire::rpc::METHOD_NOT_FOUND;
use serde_json::json;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::streams;
use crate::CallError;
use crate::connection::Connection;
use crate::shared::Shared;

/// The most items of one list; the rest is left out with a warning.
const ITEMS_LIMIT: usize = 10_000;
/// The most pages asked for, so that a server cannot keep us turning them.
const PAGES_LIMIT: usize = 1_000;
/// Lists are not renewed more often than this, however often a server announces changes.
const PAUSE: Duration = Duration::from_millis(100);
/// How long until a subscription that broke off is asked for again.
const AGAIN: Duration = Duration::from_secs(1);

/// The task that keeps the lists of one connection; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Keeper(AbortHandle);

impl Keeper {
    /// Begins to keep what the server declared.
    pub(crate) fn start(
        shared: &Arc<Shared>,
        connection: &Arc<Connection>,
        capabilities: Capabilities,
    ) -> Self {
        let keeping = keep(Arc::clone(shared), Arc::clone(connection), capabilities);
        Self(tokio::spawn(keeping).abort_handle())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn keep(shared: Arc<Shared>, connection: Arc<Connection>, capabilities: Capabilities) {
    let shelf = &shared.board.shelf;
    shelf.watched.reset();
    if shelf.begin(capabilities) {
        tell(&shared);
    }
    // A list that takes long must not hold up a subscription.
    tokio::join!(
        keep_lists(&shared, &connection),
        keep_subscriptions(&shared, &connection, capabilities),
    );
}

async fn keep_lists(shared: &Shared, connection: &Connection) {
    let shelf = &shared.board.shelf;
    loop {
        let paused_until = Instant::now() + PAUSE;
        let mut is_news = false;
        for kind in Kind::ALL {
            let Some(mark) = shelf.due(kind) else {
                continue;
            };
            let deadline = Instant::now() + shared.spec.timeout;
            match list(&shared.spec.name, connection, kind, deadline).await {
                Ok(items) => is_news |= shelf.put(kind, mark, items),
                Err(error) => {
                    let error = error.masked(&shared.mask);
                    tracing::warn!(server = %shared.spec.name, method = kind.method(), %error, "could not be listed");
                    shelf.refuse(kind, mark, error);
                }
            }
        }
        if is_news {
            tell(shared);
        }
        shelf.bell.notified().await;
        sleep_until(paused_until).await;
    }
}

/// Every page of one list.
async fn list(
    server: &str,
    connection: &Connection,
    kind: Kind,
    deadline: Instant,
) -> Result<Vec<Item>, CallError> {
    let mut items: Vec<Item> = Vec::new();
    let mut keys = HashSet::new();
    let mut params = json!({});
    for _ in 0..PAGES_LIMIT {
        let answer = connection
            .request(kind.method(), &params.to_string(), deadline)
            .await;
        let page = match answer {
            // Libraries declare resources for those who have no templates, and the other way round.
            Err(CallError::Rpc(error)) if error.code == METHOD_NOT_FOUND => return Ok(Vec::new()),
            answer => ItemPage::parse(kind, &answer?).map_err(CallError::malformed)?,
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
        let Some(cursor) = page.next_cursor else {
            return Ok(items);
        };
        let next = json!({ "cursor": cursor });
        if next == params {
            return Err(CallError::malformed(format!(
                "{} gives the same page over and over",
                kind.method()
            )));
        }
        params = next;
    }
    Err(CallError::malformed(format!(
        "{} has more than {PAGES_LIMIT} pages",
        kind.method()
    )))
}

async fn keep_subscriptions(shared: &Shared, connection: &Arc<Connection>, has: Capabilities) {
    if !has.has_subscriptions {
        return;
    }
    match connection.protocol() {
        Protocol::Session => keep_in_session(shared, connection).await,
        Protocol::Stateless => streams::keep(&shared.board, connection).await,
    }
}

/// One subscription for each address that is wanted, and none for those that no longer are.
async fn keep_in_session(shared: &Shared, connection: &Connection) {
    let watched = &shared.board.shelf.watched;
    let mut subscribed: HashSet<Arc<str>> = HashSet::new();
    let ask = async |method: &'static str, uri: &str| {
        let deadline = Instant::now() + shared.spec.timeout;
        let params = json!({ "uri": uri }).to_string();
        connection.request(method, &params, deadline).await
    };
    loop {
        let mut is_broken = false;
        let wanted = watched.wanted();
        let gone: Vec<_> = subscribed.difference(&wanted).cloned().collect();
        for uri in gone {
            // What it says to it changes nothing: nobody is told of this address any more.
            let _ = ask(Method::ResourcesUnsubscribe.as_str(), &uri).await;
            subscribed.remove(&uri);
        }
        for uri in wanted {
            if subscribed.contains(&uri) {
                // It may have been left and wanted again in between.
                watched.grant(&uri);
                continue;
            }
            match ask(Method::ResourcesSubscribe.as_str(), &uri).await {
                Ok(_) => {
                    watched.grant(&uri);
                    subscribed.insert(uri);
                }
                // Either this connection is over, or it was this one request: it is made again.
                Err(CallError::Disconnected { .. }) => is_broken = true,
                Err(error) => watched.refuse(&uri, error.masked(&shared.mask)),
            }
        }
        if is_broken {
            sleep(AGAIN).await;
        } else {
            watched.bell.notified().await;
        }
    }
}

fn tell(shared: &Shared) {
    let name = &shared.spec.name;
    shared.runtime.observer.shelf_changed(name);
}
