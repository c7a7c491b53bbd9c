//! Changes that clients are notified of: other lists of tools, prompts and resources, and resources
//! that were updated.
//!
//! A session has one feed for all its streams; a stream of the stateless protocol has one of its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use mcpproxy_gateway::Gateway;
use mcpproxy_gateway::direct::{DirectEndpoints, Scope};
use mcpproxy_gateway::prompts_resources::Subscriptions;
use mcpproxy_wire::initialize::Announces;
use mcpproxy_wire::rpc::{self, INVALID_PARAMS, RpcError};
use mcpproxy_wire::{Json, ListedKind, RequestId, method, stateless};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::endpoint::Endpoint;

/// Time to wait for more after a change: servers come up together, and a client that is notified
/// once for all of them asks once.
const GATHERING: Duration = Duration::from_millis(50);

/// Time that servers have to agree to tell of resources, before the stream is opened without those.
const GRANTED_WITHIN: Duration = Duration::from_secs(10);

/// Most resources that a stream is opened for.
const MOST_RESOURCES: usize = 100;

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OfferingsChange {
    /// Another list is offered.
    List(ChangingList),
    /// The resource at this address was updated.
    Updated(String),
}

/// List that clients are notified of as a whole: that of resources has their templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangingList {
    Tools,
    Prompts,
    Resources,
}

/// Value for each list, in the order of [`ChangingList::ALL`].
type ByList<T> = [T; ChangingList::ALL.len()];

/// Feed of changes to one client.
#[derive(Debug)]
pub(crate) struct ChangeFeed {
    gateway: Weak<Gateway>,
    scope: Scope,
    /// Lists whose changes the client is notified of.
    lists: ByList<bool>,
    /// Digests of the lists that the client knows.
    known: Mutex<ByList<u64>>,
    /// Resources that the client subscribed to.
    pub(crate) subscriptions: Subscriptions,
}

/// Stream of changes that a request may open.
pub(crate) struct ChangeStream {
    /// Message that opens it.
    pub(crate) message: String,
    pub(crate) feed: ChangeFeed,
}

/// Opens a stream of changes: of what `subscriptions/listen` asks for, those lists that can change
/// here, and the resources whose servers tell of them.
pub(crate) async fn open_stream(
    endpoint: &Endpoint,
    gateway: &Arc<Gateway>,
    id: &RequestId,
    wanted: Option<&Json>,
) -> Result<ChangeStream, RpcError> {
    let wanted = wanted.and_then(Json::fields).ok_or_else(|| {
        let message = "subscriptions/listen needs params.notifications, an object";
        RpcError::new(INVALID_PARAMS, message)
    })?;
    let can_change = endpoint.announces() == Announces::Lists;
    let lists = ChangingList::ALL.map(|list| {
        let is_wanted = wanted.get(list.capability());
        can_change && is_wanted.is_some_and(|raw| raw.get() == "true")
    });
    let feed = ChangeFeed::new(endpoint, gateway, lists).await;
    let mut granted = json!({});
    for (list, is_granted) in ChangingList::ALL.iter().zip(lists) {
        if is_granted {
            granted[list.capability()] = json!(true);
        }
    }
    if let Some(uris) = wanted.given("resourceSubscriptions") {
        granted["resourceSubscriptions"] = feed.subscribe_all(uris.get()).await?;
    }
    Ok(ChangeStream {
        message: stateless::subscription_opened(id.id(), &granted),
        feed,
    })
}

// === impl ChangingList ===

impl ChangingList {
    const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];

    /// Name under which a stateless client asks for it.
    const fn capability(self) -> &'static str {
        match self {
            Self::Tools => "toolsListChanged",
            Self::Prompts => "promptsListChanged",
            Self::Resources => "resourcesListChanged",
        }
    }

    const fn method(self) -> &'static str {
        match self {
            Self::Tools => method::TOOLS_CHANGED,
            Self::Prompts => method::PROMPTS_CHANGED,
            Self::Resources => method::RESOURCES_CHANGED,
        }
    }

    /// Digest of the list as it is offered now.
    async fn digest(self, endpoints: &DirectEndpoints, scope: &Scope) -> u64 {
        match self {
            Self::Tools => endpoints.digest(scope, ListedKind::Tool).await,
            Self::Prompts => endpoints.digest(scope, ListedKind::Prompt).await,
            Self::Resources => {
                let templates = endpoints.digest(scope, ListedKind::Template).await;
                endpoints.digest(scope, ListedKind::Resource).await ^ templates.rotate_left(1)
            }
        }
    }
}

// === impl ChangeFeed ===

impl ChangeFeed {
    /// Feed to a session of an endpoint.
    pub(crate) async fn of_session(endpoint: &Endpoint, gateway: &Arc<Gateway>) -> Self {
        let can_change = endpoint.announces() == Announces::Lists;
        Self::new(endpoint, gateway, [can_change; ChangingList::ALL.len()]).await
    }

    /// Feed to a client of an endpoint who knows the lists as they are now.
    async fn new(endpoint: &Endpoint, gateway: &Arc<Gateway>, lists: ByList<bool>) -> Self {
        let feed = Self {
            lists,
            ..Self::over(Some(gateway), endpoint.offerings())
        };
        *feed.known() = feed.digests(gateway).await;
        feed
    }

    /// Feed that never has anything.
    pub(crate) fn silent() -> Self {
        Self::over(None, Scope::All)
    }

    fn over(gateway: Option<&Arc<Gateway>>, scope: Scope) -> Self {
        let source = gateway.map(|gateway| Arc::downgrade(gateway.prompts_resources()));
        Self {
            subscriptions: Subscriptions::new(source.unwrap_or_default(), scope.clone()),
            gateway: gateway.map(Arc::downgrade).unwrap_or_default(),
            scope,
            lists: ByList::default(),
            known: Mutex::default(),
        }
    }

    /// Waits for the next change. Of several who wait one gets it; nothing is lost when the future
    /// is dropped.
    pub(crate) async fn next(&self) -> OfferingsChange {
        tokio::select! {
            uri = self.subscriptions.updated() => OfferingsChange::Updated(uri),
            list = self.next_list() => OfferingsChange::List(list),
        }
    }

    /// Waits for the next list that is other than the client knows it.
    async fn next_list(&self) -> ChangingList {
        let changes = self.gateway.upgrade();
        let changes = changes.map(|gateway| gateway.direct().changes());
        let Some(mut changes) = changes.filter(|_| self.lists.contains(&true)) else {
            return std::future::pending().await;
        };
        loop {
            // Marked as seen first: a change while we look is looked at again.
            changes.borrow_and_update();
            let before = *self.known();
            if let Some(gateway) = self.gateway.upgrade() {
                let now = self.digests(&gateway).await;
                if let Some(list) = self.update(before, now) {
                    return list;
                }
            }
            changed(&mut changes).await;
        }
    }

    /// Digests of the lists that the client is notified of.
    async fn digests(&self, gateway: &Gateway) -> ByList<u64> {
        let mut digests = ByList::default();
        for ((list, is_wanted), digest) in
            ChangingList::ALL.iter().zip(self.lists).zip(&mut digests)
        {
            if is_wanted {
                *digest = list.digest(gateway.direct(), &self.scope).await;
            }
        }
        digests
    }

    /// List that the client does not know as it is now; from now on it does. Of several streams of a
    /// session, one notifies the client.
    fn update(&self, before: ByList<u64>, now: ByList<u64>) -> Option<ChangingList> {
        let mut known = self.known();
        let lists = ChangingList::ALL.iter().enumerate();
        let mut changed =
            lists.filter(|(at, _)| now[*at] != before[*at] && known[*at] == before[*at]);
        let (at, list) = changed.next()?;
        known[at] = now[at];
        Some(*list)
    }

    /// Subscribes to a list of addresses; gives those whose servers agreed.
    async fn subscribe_all(&self, uris: &str) -> Result<Value, RpcError> {
        let uris: Vec<String> = serde_json::from_str(uris).map_err(|_| {
            let message = "resourceSubscriptions must be a list of strings";
            RpcError::new(INVALID_PARAMS, message)
        })?;
        if uris.len() > MOST_RESOURCES {
            let message = format!("resourceSubscriptions has more than {MOST_RESOURCES} items");
            return Err(RpcError::new(INVALID_PARAMS, message));
        }
        let granted = uris.into_iter().map(async |uri| {
            let added = tokio::time::timeout(GRANTED_WITHIN, self.subscriptions.add(&uri)).await;
            matches!(added, Ok(Ok(()))).then_some(uri)
        });
        let granted: Vec<String> = join_all(granted).await.into_iter().flatten().collect();
        Ok(json!(granted))
    }

    fn known(&self) -> MutexGuard<'_, ByList<u64>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a change, and for those that come with it; for ever if there will be none.
async fn changed(changes: &mut watch::Receiver<u64>) {
    if changes.changed().await.is_err() {
        return std::future::pending().await;
    }
    tokio::time::sleep(GATHERING).await;
}

// === impl OfferingsChange ===

impl OfferingsChange {
    /// Notification to a session.
    pub(crate) fn in_session(&self) -> String {
        match self {
            // The protocol gives this one no parameters.
            Self::List(ChangingList::Tools) => rpc::notification(self.method(), ""),
            Self::List(_) => rpc::notification(self.method(), "{}"),
            Self::Updated(uri) => {
                rpc::notification(self.method(), &json!({ "uri": uri }).to_string())
            }
        }
    }

    /// Notification on the stream that a request opened.
    pub(crate) fn on_stream(&self, id: &RequestId) -> String {
        let uri = match self {
            Self::Updated(uri) => Some(uri.as_str()),
            Self::List(_) => None,
        };
        stateless::stream_notification(id.id(), self.method(), uri)
    }

    const fn method(&self) -> &'static str {
        match self {
            Self::List(list) => list.method(),
            Self::Updated(_) => method::RESOURCE_UPDATED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_notified_once_of_what_it_wants_to_know() {
        let feed = ChangeFeed::silent();
        let (before, now) = ([0, 0, 0], [0, 1, 2]);
        assert_eq!(feed.update(before, before), None);
        assert_eq!(feed.update(before, now), Some(ChangingList::Prompts));
        assert_eq!(feed.update(before, now), Some(ChangingList::Resources));
        assert_eq!(feed.update(before, now), None);
        assert_eq!(feed.update(now, now), None);
    }

    #[test]
    fn changes_are_written_as_each_protocol_has_them() {
        let updated = OfferingsChange::Updated("test:\"x\"".to_owned());
        assert_eq!(
            updated.in_session(),
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test:\"x\""}}"#
        );
        let id = RequestId::parse(r#""a""#).unwrap();
        let told: Value = serde_json::from_str(&updated.on_stream(&id)).unwrap();
        assert_eq!(told["params"]["uri"], "test:\"x\"");
        let key = "io.modelcontextprotocol/subscriptionId";
        assert_eq!(told["params"]["_meta"][key], "a");
        let told: Value =
            serde_json::from_str(&OfferingsChange::List(ChangingList::Prompts).on_stream(&id))
                .unwrap();
        assert_eq!(told["method"], "notifications/prompts/list_changed");
        assert_eq!(told["params"]["_meta"][key], "a");
    }
}
