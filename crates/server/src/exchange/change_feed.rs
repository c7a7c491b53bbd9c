//! Changes that clients are notified of: other lists of tools, prompts and resources, and resources
//! that were updated.
//!
//! A session has one feed for all its streams; a stream of the stateless protocol has one of its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use mcpproxy_gateway::Gateway;
use mcpproxy_gateway::direct::Scope;
use mcpproxy_gateway::prompts_resources::{Digest, Subscriptions};
use mcpproxy_wire::initialize::Announces;
use mcpproxy_wire::rpc::{self, INVALID_PARAMS, RpcError};
use mcpproxy_wire::{Json, RequestId, method, stateless};
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
    /// Other tools are offered.
    Tools,
    /// Other prompts are offered.
    Prompts,
    /// Other resources are offered.
    Resources,
    /// The resource at this address was updated.
    Updated(String),
}

/// Lists whose changes a client is notified of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lists {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

/// Digests of the lists that a client knows.
#[derive(Debug, Default)]
struct KnownLists {
    tools: u64,
    others: Digest,
}

/// Feed of changes to one client.
#[derive(Debug)]
pub(crate) struct ChangeFeed {
    gateway: Weak<Gateway>,
    scope: Scope,
    lists: Lists,
    known: Mutex<KnownLists>,
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
    let is_granted =
        |name: &str| can_change && wanted.get(name).is_some_and(|raw| raw.get() == "true");
    let lists = Lists {
        tools: is_granted("toolsListChanged"),
        prompts: is_granted("promptsListChanged"),
        resources: is_granted("resourcesListChanged"),
    };
    let feed = ChangeFeed::new(endpoint, gateway, lists).await;
    let mut granted = json!({});
    for (name, is_granted) in [
        ("toolsListChanged", lists.tools),
        ("promptsListChanged", lists.prompts),
        ("resourcesListChanged", lists.resources),
    ] {
        if is_granted {
            granted[name] = json!(true);
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

// === impl Lists ===

impl Lists {
    /// Lists whose changes sessions of an endpoint are notified of.
    pub(crate) fn of_sessions(endpoint: &Endpoint) -> Self {
        let can_change = endpoint.announces() == Announces::Lists;
        Self {
            tools: can_change,
            prompts: can_change,
            resources: can_change,
        }
    }

    fn has_others(self) -> bool {
        self.prompts || self.resources
    }
}

// === impl ChangeFeed ===

impl ChangeFeed {
    /// Feed to a client of an endpoint who knows the lists as they are now.
    pub(crate) async fn new(endpoint: &Endpoint, gateway: &Arc<Gateway>, lists: Lists) -> Self {
        let feed = Self {
            lists,
            ..Self::over(Some(gateway), endpoint.offerings())
        };
        let mut known = KnownLists::default();
        if lists.tools {
            known.tools = gateway.direct().digest(&feed.scope).await;
        }
        if lists.has_others() {
            known.others = gateway.prompts_resources().digest(&feed.scope).await;
        }
        *feed.known() = known;
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
            lists: Lists::default(),
            known: Mutex::default(),
        }
    }

    /// Waits for the next change. Of several who wait one gets it; nothing is lost when the future
    /// is dropped.
    pub(crate) async fn next(&self) -> OfferingsChange {
        tokio::select! {
            uri = self.subscriptions.updated() => OfferingsChange::Updated(uri),
            change = self.next_of_tools() => change,
            change = self.next_of_others() => change,
        }
    }

    async fn next_of_tools(&self) -> OfferingsChange {
        let changes = self
            .gateway
            .upgrade()
            .map(|gateway| gateway.servers().tool_changes());
        let Some(mut changes) = changes.filter(|_| self.lists.tools) else {
            return std::future::pending().await;
        };
        loop {
            // Marked as seen first: a change while we look is looked at again.
            changes.borrow_and_update();
            let before = self.known().tools;
            if let Some(gateway) = self.gateway.upgrade() {
                let now = gateway.direct().digest(&self.scope).await;
                let mut known = self.known();
                // Of several streams of a session, one notifies the client.
                if now != before && known.tools == before {
                    known.tools = now;
                    return OfferingsChange::Tools;
                }
            }
            changed(&mut changes).await;
        }
    }

    async fn next_of_others(&self) -> OfferingsChange {
        let changes = self.gateway.upgrade();
        let changes = changes.map(|gateway| gateway.prompts_resources().changes());
        let Some(mut changes) = changes.filter(|_| self.lists.has_others()) else {
            return std::future::pending().await;
        };
        loop {
            changes.borrow_and_update();
            if let Some(gateway) = self.gateway.upgrade() {
                let now = gateway.prompts_resources().digest(&self.scope).await;
                if let Some(change) = self.update(now) {
                    return change;
                }
            }
            changed(&mut changes).await;
        }
    }

    /// Change of prompts or resources that the client does not know yet; from now on it does.
    fn update(&self, now: Digest) -> Option<OfferingsChange> {
        let mut known = self.known();
        if self.lists.prompts && known.others.prompts != now.prompts {
            known.others.prompts = now.prompts;
            return Some(OfferingsChange::Prompts);
        }
        if self.lists.resources && known.others.resources != now.resources {
            known.others.resources = now.resources;
            return Some(OfferingsChange::Resources);
        }
        None
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

    fn known(&self) -> MutexGuard<'_, KnownLists> {
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
            Self::Tools => rpc::notification(self.method(), ""),
            Self::Prompts | Self::Resources => rpc::notification(self.method(), "{}"),
            Self::Updated(uri) => {
                rpc::notification(self.method(), &json!({ "uri": uri }).to_string())
            }
        }
    }

    /// Notification on the stream that a request opened.
    pub(crate) fn on_stream(&self, id: &RequestId) -> String {
        let uri = match self {
            Self::Updated(uri) => Some(uri.as_str()),
            Self::Tools | Self::Prompts | Self::Resources => None,
        };
        stateless::stream_notification(id.id(), self.method(), uri)
    }

    const fn method(&self) -> &'static str {
        match self {
            Self::Tools => method::TOOLS_CHANGED,
            Self::Prompts => method::PROMPTS_CHANGED,
            Self::Resources => method::RESOURCES_CHANGED,
            Self::Updated(_) => method::RESOURCE_UPDATED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_notified_once_of_what_it_wants_to_know() {
        let mut feed = ChangeFeed::silent();
        let now = Digest {
            prompts: 1,
            resources: 2,
        };
        assert_eq!(feed.update(now), None);
        feed.lists = Lists {
            tools: false,
            prompts: true,
            resources: true,
        };
        assert_eq!(feed.update(now), Some(OfferingsChange::Prompts));
        assert_eq!(feed.update(now), Some(OfferingsChange::Resources));
        assert_eq!(feed.update(now), None);
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
        let told: Value = serde_json::from_str(&OfferingsChange::Prompts.on_stream(&id)).unwrap();
        assert_eq!(told["method"], "notifications/prompts/list_changed");
        assert_eq!(told["params"]["_meta"][key], "a");
    }
}
