//! What clients are told that nobody asked for: other lists, and resources that changed.
//!
//! A session has one listener for all its streams, a stream without a session one of its own. Other
//! tools are told of by `changes`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use mcpproxy_gateway::Gateway;
use mcpproxy_gateway::direct::Scope;
use mcpproxy_gateway::prompts_resources::{Digest, Subscriptions};
use mcpproxy_wire::initialize::Announces;
use mcpproxy_wire::json::Fields;
use mcpproxy_wire::rpc::{self, INVALID_PARAMS, Id, RpcError};
use mcpproxy_wire::stateless::{self, Params};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::changes::GATHERING;
use crate::endpoint::Endpoint;

/// How long servers have to say that they will tell of resources, before the stream is opened
/// without those.
const GRANTED_WITHIN: Duration = Duration::from_secs(10);

/// The most resources that a stream is opened for.
const MOST_ASKED_FOR: usize = 100;

/// Something to tell a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    /// Other prompts are offered.
    Prompts,
    /// Other resources are offered.
    Resources,
    /// The resource at this address has changed.
    Updated(String),
}

/// Which lists a client is told of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lists {
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

impl Lists {
    /// Those that sessions of an endpoint are told of.
    pub(crate) fn told_at(endpoint: &Endpoint) -> Self {
        let is_told = endpoint.announces() == Announces::Lists;
        Self {
            prompts: is_told,
            resources: is_told,
        }
    }
}

/// One client that is told of changes.
#[derive(Debug)]
pub(crate) struct Listener {
    gateway: Weak<Gateway>,
    scope: Scope,
    lists: Lists,
    /// Stands for what the client knows.
    told: Mutex<Digest>,
    pub(crate) subscriptions: Subscriptions,
}

/// A stream of changes that may be opened.
pub(crate) struct Opened {
    /// The message that opens it.
    pub(crate) message: String,
    /// Whether other tools are told of on it.
    pub(crate) tells_of_tools: bool,
    pub(crate) listener: Listener,
}

/// What opens a stream of changes: what was asked for, as far as it can change here, and the
/// resources whose servers tell of them.
pub(crate) async fn open(
    endpoint: &Endpoint,
    gateway: &Arc<Gateway>,
    (id, params): (Id<'_>, &Params<'_>),
) -> Result<Opened, RpcError> {
    let wanted = params.fields.given("notifications");
    let wanted: Fields<'_> = wanted
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .ok_or_else(|| {
            let message = "subscriptions/listen needs params.notifications, an object";
            RpcError::new(INVALID_PARAMS, message)
        })?;
    let changes = endpoint.announces() == Announces::Lists;
    let is_told = |name: &str| changes && wanted.get(name).map(RawValue::get) == Some("true");
    let lists = Lists {
        prompts: is_told("promptsListChanged"),
        resources: is_told("resourcesListChanged"),
    };
    let tells_of_tools = is_told("toolsListChanged");
    let listener = Listener::new(endpoint, gateway, lists).await;
    let mut promised = json!({});
    for (name, is_told) in [
        ("toolsListChanged", tells_of_tools),
        ("promptsListChanged", lists.prompts),
        ("resourcesListChanged", lists.resources),
    ] {
        if is_told {
            promised[name] = json!(true);
        }
    }
    if let Some(uris) = wanted.given("resourceSubscriptions") {
        promised["resourceSubscriptions"] = listener.watch(uris).await?;
    }
    Ok(Opened {
        message: stateless::subscription_opened(id, &promised),
        tells_of_tools,
        listener,
    })
}

impl Listener {
    /// A client of an endpoint, who knows the lists as they are now.
    pub(crate) async fn new(endpoint: &Endpoint, gateway: &Arc<Gateway>, lists: Lists) -> Self {
        let listener = Self::of_resources(endpoint, gateway);
        let told = if lists == Lists::default() {
            Digest::default()
        } else {
            gateway.prompts_resources_digest(&listener.scope).await
        };
        Self {
            lists,
            told: Mutex::new(told),
            ..listener
        }
    }

    /// A client who is told of resources it subscribes to, and of no lists.
    pub(crate) fn of_resources(endpoint: &Endpoint, gateway: &Arc<Gateway>) -> Self {
        Self::over(Arc::downgrade(gateway), endpoint.library())
    }

    /// One who is told of nothing.
    pub(crate) fn of_nothing() -> Self {
        Self::over(Weak::new(), Scope::All)
    }

    fn over(gateway: Weak<Gateway>, scope: Scope) -> Self {
        Self {
            subscriptions: Subscriptions::new(Weak::clone(&gateway), scope.clone()),
            gateway,
            scope,
            lists: Lists::default(),
            told: Mutex::default(),
        }
    }

    /// Waits until there is something to tell. Of several who wait one gets it; nothing is lost
    /// when the future is dropped.
    pub(crate) async fn next(&self) -> News {
        tokio::select! {
            uri = self.subscriptions.updated() => News::Updated(uri),
            news = self.other_list() => news,
        }
    }

    async fn other_list(&self) -> News {
        let changes = self
            .gateway
            .upgrade()
            .map(|all| all.prompts_resources_changes());
        let Some(mut changes) = changes.filter(|_| self.lists != Lists::default()) else {
            return std::future::pending().await;
        };
        loop {
            // Marked as seen first: a change while we look is looked at again.
            changes.borrow_and_update();
            let Some(gateway) = self.gateway.upgrade() else {
                return std::future::pending().await;
            };
            let now = gateway.prompts_resources_digest(&self.scope).await;
            drop(gateway);
            if let Some(news) = self.tell(now) {
                return news;
            }
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
            tokio::time::sleep(GATHERING).await;
        }
    }

    /// What the client does not know yet; from now on it does.
    fn tell(&self, now: Digest) -> Option<News> {
        let mut told = self.told();
        if self.lists.prompts && told.prompts != now.prompts {
            told.prompts = now.prompts;
            return Some(News::Prompts);
        }
        if self.lists.resources && told.resources != now.resources {
            told.resources = now.resources;
            return Some(News::Resources);
        }
        None
    }

    /// Subscribes to a list of addresses; gives those that will be told of.
    async fn watch(&self, uris: &RawValue) -> Result<Value, RpcError> {
        let uris: Vec<String> = serde_json::from_str(uris.get()).map_err(|_| {
            let message = "resourceSubscriptions must be a list of strings";
            RpcError::new(INVALID_PARAMS, message)
        })?;
        if uris.len() > MOST_ASKED_FOR {
            let message = format!("resourceSubscriptions has more than {MOST_ASKED_FOR} items");
            return Err(RpcError::new(INVALID_PARAMS, message));
        }
        let granted = uris.into_iter().map(async |uri| {
            let added = tokio::time::timeout(GRANTED_WITHIN, self.subscriptions.add(&uri)).await;
            matches!(added, Ok(Ok(()))).then_some(uri)
        });
        let granted: Vec<String> = join_all(granted).await.into_iter().flatten().collect();
        Ok(json!(granted))
    }

    fn told(&self) -> MutexGuard<'_, Digest> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl News {
    /// The message to a session.
    pub(crate) fn in_session(&self) -> String {
        let params = match self {
            Self::Prompts | Self::Resources => "{}".to_owned(),
            Self::Updated(uri) => json!({ "uri": uri }).to_string(),
        };
        rpc::notification(self.method(), &params)
    }

    /// The message on the stream that a request opened.
    pub(crate) fn on_stream(&self, id: Id<'_>) -> String {
        let uri = match self {
            Self::Prompts | Self::Resources => None,
            Self::Updated(uri) => Some(uri.as_str()),
        };
        stateless::told_on_stream(id, self.method(), uri)
    }

    const fn method(&self) -> &'static str {
        match self {
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Updated(_) => "notifications/resources/updated",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_told_once_of_what_it_wants_to_know() {
        let mut listener = Listener::of_nothing();
        let now = Digest {
            prompts: 1,
            resources: 2,
        };
        assert_eq!(listener.tell(now), None);
        listener.lists = Lists {
            prompts: true,
            resources: true,
        };
        assert_eq!(listener.tell(now), Some(News::Prompts));
        assert_eq!(listener.tell(now), Some(News::Resources));
        assert_eq!(listener.tell(now), None);
    }

    #[test]
    fn news_are_told_as_each_protocol_has_them() {
        let updated = News::Updated("test:\"x\"".to_owned());
        assert_eq!(
            updated.in_session(),
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test:\"x\""}}"#
        );
        let id: &RawValue = serde_json::from_str(r#""a""#).unwrap();
        let text = format!(r#"{{"jsonrpc":"2.0","id":{},"method":"m"}}"#, id.get());
        let Ok(rpc::Message::Request { id, .. }) = rpc::Message::parse(text.as_bytes()) else {
            panic!("it is a request");
        };
        let told: Value = serde_json::from_str(&updated.on_stream(id)).unwrap();
        assert_eq!(told["params"]["uri"], "test:\"x\"");
        let key = "io.modelcontextprotocol/subscriptionId";
        assert_eq!(told["params"]["_meta"][key], "a");
        let told: Value = serde_json::from_str(&News::Prompts.on_stream(id)).unwrap();
        assert_eq!(told["method"], "notifications/prompts/list_changed");
        assert_eq!(told["params"]["_meta"][key], "a");
    }
}
