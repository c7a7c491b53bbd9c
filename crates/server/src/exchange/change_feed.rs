//! Changes that clients are notified of: other lists of tools, prompts and resources, and resources
//! that were updated.
//!
//! A session has one feed for all its streams; a stream of the stateless protocol has one of its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use mcpproxy_gateway::Gateway;
use mcpproxy_gateway::direct::Scope;
use mcpproxy_gateway::prompts_resources::Subscriptions;
use mcpproxy_policy::{Caller, Rights};
use mcpproxy_wire::initialize::Announces;
use mcpproxy_wire::rpc::{self, RpcError};
use mcpproxy_wire::{Json, ListedKind, RequestId, method, stateless};
use serde_json::{Value, json};

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
    List(&'static ChangingList),
    /// The resource at this address was updated.
    Updated(String),
}

/// List that clients are notified of as a whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ChangingList {
    /// Name under which a stateless client asks for it.
    capability: &'static str,
    /// Method of the notification.
    method: &'static str,
    /// Parameters of the notification to a session. The protocol gives that of tools none.
    params: &'static str,
    kinds: &'static [ListedKind],
}

/// All lists: that of resources has their templates.
static LISTS: [ChangingList; 3] = [
    ChangingList {
        capability: "toolsListChanged",
        method: method::TOOLS_CHANGED,
        params: "",
        kinds: &[ListedKind::Tool],
    },
    ChangingList {
        capability: "promptsListChanged",
        method: method::PROMPTS_CHANGED,
        params: "{}",
        kinds: &[ListedKind::Prompt],
    },
    ChangingList {
        capability: "resourcesListChanged",
        method: method::RESOURCES_CHANGED,
        params: "{}",
        kinds: &[ListedKind::Resource, ListedKind::Template],
    },
];

/// Value for each of the lists, in their order.
type ByList<T> = [T; 3];

/// Feed of changes to one client.
#[derive(Debug)]
pub(crate) struct ChangeFeed {
    gateway: Weak<Gateway>,
    scope: Scope,
    /// Rights of the client: it is notified of what it may use.
    rights: Rights,
    /// Lists whose changes the client is notified of.
    lists: ByList<bool>,
    /// Digests of the lists that the client knows.
    known: Mutex<ByList<u64>>,
    /// Resources that the client subscribed to.
    pub(crate) subscriptions: Subscriptions,
}

/// Opens a stream of changes: of what `subscriptions/listen` asks for, those lists that can change
/// here, and the resources whose servers tell of them. Gives the message that opens it.
pub(crate) async fn open_stream(
    endpoint: &Endpoint,
    gateway: &Arc<Gateway>,
    caller: &Arc<Caller>,
    id: &RequestId,
    wanted: Option<&Json>,
) -> Result<(String, ChangeFeed), RpcError> {
    let wanted = wanted.and_then(Json::fields).ok_or_else(|| {
        RpcError::invalid_params("subscriptions/listen needs params.notifications, an object")
    })?;
    let can_change = endpoint.announces() == Announces::Lists;
    let lists = LISTS.each_ref().map(|list| {
        let is_wanted = wanted.get(list.capability);
        can_change && is_wanted.is_some_and(|raw| raw.get() == "true")
    });
    let feed = ChangeFeed::new(endpoint, gateway, &caller.rights, lists).await;
    let mut granted = json!({});
    for (list, _) in LISTS
        .iter()
        .zip(lists)
        .filter(|(_, is_granted)| *is_granted)
    {
        granted[list.capability] = json!(true);
    }
    if let Some(uris) = wanted.given("resourceSubscriptions") {
        granted["resourceSubscriptions"] = feed.subscribe_all(uris.get(), caller).await?;
    }
    Ok((stateless::subscription_opened(id.id(), &granted), feed))
}

// === impl ChangeFeed ===

impl ChangeFeed {
    /// Feed to a session of an endpoint.
    pub(crate) async fn of_session(
        endpoint: &Endpoint,
        gateway: &Arc<Gateway>,
        rights: &Rights,
    ) -> Self {
        let can_change = endpoint.announces() == Announces::Lists;
        Self::new(endpoint, gateway, rights, [can_change; 3]).await
    }

    /// Feed to a client of an endpoint who knows the lists as they are now.
    async fn new(
        endpoint: &Endpoint,
        gateway: &Arc<Gateway>,
        rights: &Rights,
        lists: ByList<bool>,
    ) -> Self {
        let feed = Self {
            lists,
            ..Self::over(Some(gateway), endpoint.offerings(), rights.clone())
        };
        *feed.known() = feed.digests(gateway).await;
        feed
    }

    /// Feed that never has anything.
    pub(crate) fn silent() -> Self {
        Self::over(None, Scope::All, Rights::default())
    }

    fn over(gateway: Option<&Arc<Gateway>>, scope: Scope, rights: Rights) -> Self {
        let source = gateway.map(|gateway| Arc::downgrade(gateway.prompts_resources()));
        Self {
            subscriptions: Subscriptions::new(
                source.unwrap_or_default(),
                scope.clone(),
                rights.clone(),
            ),
            gateway: gateway.map(Arc::downgrade).unwrap_or_default(),
            scope,
            rights,
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
    async fn next_list(&self) -> &'static ChangingList {
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
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
            tokio::time::sleep(GATHERING).await;
        }
    }

    /// Digests of the lists that the client is notified of.
    async fn digests(&self, gateway: &Gateway) -> ByList<u64> {
        let mut digests: ByList<u64> = ByList::default();
        for (at, list) in LISTS.iter().enumerate().filter(|(at, _)| self.lists[*at]) {
            for kind in list.kinds {
                let direct = gateway.direct();
                let of_kind = direct.digest(&self.scope, *kind, &self.rights).await;
                digests[at] = digests[at].rotate_left(1) ^ of_kind;
            }
        }
        digests
    }

    /// List that the client does not know as it is now; from now on it does. Of several streams of a
    /// session, one notifies the client.
    fn update(&self, before: ByList<u64>, now: ByList<u64>) -> Option<&'static ChangingList> {
        let mut known = self.known();
        let is_changed = |at: &usize| now[*at] != before[*at] && known[*at] == before[*at];
        let at = (0..LISTS.len()).find(is_changed)?;
        known[at] = now[at];
        LISTS.get(at)
    }

    /// Subscribes to a list of addresses; gives those whose servers agreed.
    async fn subscribe_all(&self, uris: &str, caller: &Arc<Caller>) -> Result<Value, RpcError> {
        let uris: Vec<String> = serde_json::from_str(uris).map_err(|_| {
            RpcError::invalid_params("resourceSubscriptions must be a list of strings")
        })?;
        if uris.len() > MOST_RESOURCES {
            let message = format!("resourceSubscriptions has more than {MOST_RESOURCES} items");
            return Err(RpcError::invalid_params(message));
        }
        let granted = uris.into_iter().map(async |uri| {
            let adding = self.subscriptions.add(&uri, caller);
            let added = tokio::time::timeout(GRANTED_WITHIN, adding).await;
            matches!(added, Ok(Ok(()))).then_some(uri)
        });
        let granted: Vec<String> = join_all(granted).await.into_iter().flatten().collect();
        Ok(json!(granted))
    }

    fn known(&self) -> MutexGuard<'_, ByList<u64>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl OfferingsChange ===

impl OfferingsChange {
    /// Notification to a session.
    pub(crate) fn in_session(&self) -> String {
        match self {
            Self::List(list) => rpc::notification(list.method, list.params),
            Self::Updated(uri) => {
                rpc::notification(method::RESOURCE_UPDATED, &json!({ "uri": uri }).to_string())
            }
        }
    }

    /// Notification on the stream that a request opened.
    pub(crate) fn on_stream(&self, id: &RequestId) -> String {
        let (method, uri) = match self {
            Self::List(list) => (list.method, None),
            Self::Updated(uri) => (method::RESOURCE_UPDATED, Some(uri.as_str())),
        };
        stateless::stream_notification(id.id(), method, uri)
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
        assert_eq!(feed.update(before, now), Some(&LISTS[1]));
        assert_eq!(feed.update(before, now), Some(&LISTS[2]));
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
            serde_json::from_str(&OfferingsChange::List(&LISTS[1]).on_stream(&id)).unwrap();
        assert_eq!(told["method"], "notifications/prompts/list_changed");
        assert_eq!(told["params"]["_meta"][key], "a");
    }
}
