//! Subscriptions of one client to resources.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use mcpproxy_activity::OpenRecord;
use mcpproxy_policy::{Caller, Rights};
use mcpproxy_upstream::Subscription;
use mcpproxy_wire::{ListedKind, Method};
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::{FetchError, PromptsResources, close_record};
use crate::call::not_recorded;
use crate::direct::Scope;
use crate::failure::{Code, Failure};

/// Most resources that one client is told of.
const MOST_OF_A_CLIENT: usize = 100;

/// Time until a server that was replaced is asked again to tell of a resource.
const AGAIN: Duration = Duration::from_secs(1);

/// Resources that one client is told of, until this is dropped.
#[derive(Debug)]
pub struct Subscriptions {
    source: Weak<PromptsResources>,
    scope: Scope,
    rights: Rights,
    /// Task that watches each address, by the address as the client gave it.
    watching: Mutex<HashMap<String, AbortHandle>>,
    inbox: Arc<Inbox>,
}

/// Updates that the client has not been told yet. There is room for each address once, so it is bounded.
#[derive(Debug, Default)]
struct Inbox {
    updated: Mutex<BTreeSet<String>>,
    wake: Notify,
}

impl Subscriptions {
    /// Subscriptions of a client with these rights, to resources of this scope.
    pub fn new(source: Weak<PromptsResources>, scope: Scope, rights: Rights) -> Self {
        Self {
            source,
            scope,
            rights,
            watching: Mutex::default(),
            inbox: Arc::default(),
        }
    }

    /// Subscribes the client to a resource, which is on record. A second time changes nothing else.
    pub async fn add(&self, uri: &str, caller: &Arc<Caller>) -> Result<(), FetchError> {
        let Some(source) = self.source.upgrade() else {
            return Err(Failure::new(Code::Internal, "The gateway stops").into());
        };
        let params = json!({ "uri": uri }).to_string();
        let mut record = source.open_record(Method::ResourcesSubscribe, &params, caller);
        let result = self.attempt_add(&source, uri, &mut record).await;
        close_record(record, result, |()| "{}").await
    }

    async fn attempt_add(
        &self,
        source: &PromptsResources,
        uri: &str,
        record: &mut OpenRecord,
    ) -> Result<(), FetchError> {
        let (scope, rights) = (&self.scope, &self.rights);
        let target = source.target(scope, ListedKind::Resource, uri, rights);
        let (server, own) = target.await?;
        record.set_tool(&server, Method::ResourcesSubscribe.as_str());
        if self.watching().contains_key(uri) {
            return Ok(());
        }
        if self.watching().len() >= MOST_OF_A_CLIENT {
            let message = format!(
                "{MOST_OF_A_CLIENT} resources are subscribed to already; unsubscribe from one first"
            );
            return Err(Failure::new(Code::InvalidArguments, message).into());
        }
        let timeout = source.servers.reachable(&server, rights)?.settings.timeout;
        let recorded = record.begin_sending(Instant::now() + timeout).await;
        recorded.map_err(|problem| not_recorded(&problem))?;
        let subscription = source.watch_at((&server, &own), uri, rights).await?;
        let watch = watch(
            Weak::clone(&self.source),
            (self.scope.clone(), uri.to_owned(), self.rights.clone()),
            subscription,
            Arc::clone(&self.inbox),
        );
        // On threads of its own accord: the connection that asked for it may be gone tomorrow.
        let watch = source.background.runtime.spawn(watch).abort_handle();
        if let Some(before) = self.watching().insert(uri.to_owned(), watch) {
            before.abort();
        }
        Ok(())
    }

    /// Ends the subscription of the client to a resource.
    pub fn remove(&self, uri: &str) {
        if let Some(watch) = self.watching().remove(uri) {
            watch.abort();
        }
        self.inbox.lock().remove(uri);
    }

    /// Waits until there is a resource to tell of, and gives its address as the client knows it.
    /// Of several who wait one gets it; nothing is lost when the future is dropped.
    pub async fn updated(&self) -> String {
        loop {
            let (uri, has_more) = {
                let mut updated = self.inbox.lock();
                (updated.pop_first(), !updated.is_empty())
            };
            if has_more {
                self.inbox.wake.notify_one();
            }
            if let Some(uri) = uri {
                return uri;
            }
            self.inbox.wake.notified().await;
        }
    }

    fn watching(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.watching.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        for watch in self.watching().values() {
            watch.abort();
        }
    }
}

impl Inbox {
    fn put(&self, uri: &str) {
        self.lock().insert(uri.to_owned());
        self.wake.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.updated.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PromptsResources {
    async fn watch(
        &self,
        scope: &Scope,
        uri: &str,
        rights: &Rights,
    ) -> Result<Subscription, FetchError> {
        let target = self.target(scope, ListedKind::Resource, uri, rights);
        let (server, own) = target.await?;
        self.watch_at((&server, &own), uri, rights).await
    }

    /// Watches the resource that a server knows by its own address.
    async fn watch_at(
        &self,
        (server, own): (&str, &str),
        uri: &str,
        rights: &Rights,
    ) -> Result<Subscription, FetchError> {
        let reachable = self.servers.reachable(server, rights)?;
        let deadline = Instant::now() + reachable.settings.timeout;
        let subscription = reachable.upstream.subscribe(own, deadline).await;
        subscription.map_err(|error| self.not_read(server, error).about(uri))
    }
}

/// Watches one resource, also beyond the life of one server: another one may take its place when the
/// configuration changes.
async fn watch(
    source: Weak<PromptsResources>,
    (scope, uri, rights): (Scope, String, Rights),
    mut subscription: Subscription,
    inbox: Arc<Inbox>,
) {
    loop {
        while subscription.updated().await.is_ok() {
            inbox.put(&uri);
        }
        subscription = loop {
            tokio::time::sleep(AGAIN).await;
            let Some(source) = source.upgrade() else {
                return;
            };
            if let Ok(again) = source.watch(&scope, &uri, &rights).await {
                break again;
            }
        };
        // What happened in between may have been missed.
        inbox.put(&uri);
    }
}
