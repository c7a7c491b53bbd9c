//! Subscriptions to the resources of a server.
//!
//! However many there are, the server has one for each address. The subscriber makes them at the
//! server; here is what is wanted and what came of it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::call_error::until_deadline;
use crate::{CallError, lock};

/// Most addresses that are watched at one server.
const MOST_WATCHED: usize = 1_000;

/// Subscription to the changes of one resource, until this is dropped.
#[derive(Debug)]
pub struct Subscription {
    subscriptions: Arc<ResourceSubscriptions>,
    uri: Arc<str>,
    facts: watch::Receiver<SubscriptionFacts>,
    seen: u64,
}

/// End of a subscription: the server is gone for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscriptionEnded;

/// Subscriptions to the resources of one server.
#[derive(Debug, Default)]
pub(crate) struct ResourceSubscriptions {
    table: Mutex<HashMap<Arc<str>, SubscribedResource>>,
    /// Wakes the task that makes them at the server.
    pub(crate) wake_subscriber: Notify,
    /// Counts what the server acknowledged.
    pub(crate) acknowledged: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct SubscribedResource {
    subscribers: usize,
    facts: watch::Sender<SubscriptionFacts>,
}

/// Facts of one address.
#[derive(Debug, Clone, Default)]
struct SubscriptionFacts {
    updates: u64,
    grant: Grant,
    /// Whether it was granted before and then was not for a while.
    has_lapsed: bool,
}

#[derive(Debug, Clone, Default)]
enum Grant {
    #[default]
    /// Still to be asked of the server.
    Wanted,
    /// Promised by the server.
    Active,
    /// Refused by the server.
    Refused(CallError),
    /// Over, as the server is gone for good.
    Ended,
}

// === impl Subscription ===

impl Subscription {
    /// Waits until the resource has changed since this was last asked. Nothing is lost when the
    /// future is dropped; changes that come together count as one.
    pub async fn updated(&mut self) -> Result<(), SubscriptionEnded> {
        loop {
            let facts = self.facts.borrow_and_update().clone();
            if facts.updates != self.seen {
                self.seen = facts.updates;
                return Ok(());
            }
            if matches!(facts.grant, Grant::Ended) || self.facts.changed().await.is_err() {
                return Err(SubscriptionEnded);
            }
        }
    }

    /// Waits until the server has said whether it will tell.
    pub(crate) async fn granted(&mut self, deadline: Instant) -> Result<(), CallError> {
        let is_settled = |facts: &SubscriptionFacts| !matches!(facts.grant, Grant::Wanted);
        let settled = self.facts.wait_for(is_settled);
        let facts = until_deadline(deadline, true, settled).await?;
        match facts.as_ref().map_or(&Grant::Ended, |facts| &facts.grant) {
            Grant::Refused(error) => Err(error.clone()),
            Grant::Ended => Err(CallError::unavailable("the server is stopped")),
            Grant::Wanted | Grant::Active => Ok(()),
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let watched = &self.subscriptions;
        let mut table = lock(&watched.table);
        let Some(entry) = table.get_mut(&self.uri) else {
            return;
        };
        entry.subscribers -= 1;
        if entry.subscribers == 0 {
            table.remove(&self.uri);
            drop(table);
            watched.wake_subscriber.notify_one();
        }
    }
}

// === impl ResourceSubscriptions ===

impl ResourceSubscriptions {
    /// Subscribes to an address.
    pub(crate) fn subscribe(self: &Arc<Self>, uri: &str) -> Result<Subscription, CallError> {
        let mut table = lock(&self.table);
        if !table.contains_key(uri) && table.len() >= MOST_WATCHED {
            return Err(CallError::unavailable(format!(
                "{MOST_WATCHED} of its resources are watched already"
            )));
        }
        let uri: Arc<str> = uri.into();
        let entry = table.entry(Arc::clone(&uri)).or_default();
        entry.subscribers += 1;
        if matches!(entry.facts.borrow().grant, Grant::Refused(_)) {
            // Whoever was refused is about to leave; this one has the server asked again.
            entry.facts.send_modify(|facts| facts.grant = Grant::Wanted);
        }
        let facts = entry.facts.subscribe();
        let seen = facts.borrow().updates;
        drop(table);
        self.wake_subscriber.notify_one();
        Ok(Subscription {
            subscriptions: Arc::clone(self),
            uri,
            facts,
            seen,
        })
    }

    /// Whether there is any subscription.
    pub(crate) fn is_in_use(&self) -> bool {
        !lock(&self.table).is_empty()
    }

    /// Addresses whose changes the server has to announce.
    pub(crate) fn wanted(&self) -> HashSet<Arc<str>> {
        let table = lock(&self.table);
        let wanted = table.iter().filter(|(_, entry)| {
            let grant = &entry.facts.borrow().grant;
            matches!(grant, Grant::Wanted | Grant::Active)
        });
        wanted.map(|(uri, _)| Arc::clone(uri)).collect()
    }

    /// Takes the change of a resource. One that is part of what is watched changes that as well.
    pub(crate) fn update(&self, changed: &str) {
        for (uri, entry) in lock(&self.table).iter() {
            if is_part(changed, uri) {
                entry.facts.send_modify(|facts| facts.updates += 1);
            }
        }
    }

    /// Takes the server's promise to announce changes of an address from now on. Changes of before may
    /// have been missed where it was promised before, so that counts as a change.
    pub(crate) fn grant(&self, uri: &str) {
        self.settle(uri, |facts| {
            facts.grant = Grant::Active;
            facts.updates += u64::from(std::mem::take(&mut facts.has_lapsed));
        });
    }

    /// Takes the server's promise for these addresses.
    pub(crate) fn acknowledge(&self, uris: &[String]) {
        for uri in uris {
            self.grant(uri);
        }
        // A stream for lists may say that there is none of these on it.
        if !uris.is_empty() {
            self.acknowledged.send_modify(|count| *count += 1);
        }
    }

    /// Takes the server's refusal of an address, unless it has promised it.
    pub(crate) fn refuse(&self, uri: &str, error: CallError) {
        self.settle(uri, |facts| {
            if matches!(facts.grant, Grant::Wanted) {
                facts.grant = Grant::Refused(error);
            }
        });
    }

    /// Takes back what was granted: the server has to be asked again.
    pub(crate) fn lapse(&self) {
        self.want_again(|grant| matches!(grant, Grant::Active));
    }

    /// Begins another connection, on which everything is asked for anew, also what was refused.
    pub(crate) fn reset(&self) {
        self.want_again(|grant| matches!(grant, Grant::Active | Grant::Refused(_)));
    }

    fn want_again(&self, is_over: impl Fn(&Grant) -> bool) {
        for entry in lock(&self.table).values() {
            entry.facts.send_if_modified(|facts| {
                let is_over = is_over(&facts.grant);
                if is_over {
                    facts.has_lapsed |= matches!(facts.grant, Grant::Active);
                    facts.grant = Grant::Wanted;
                }
                is_over
            });
        }
        self.wake_subscriber.notify_one();
    }

    /// Ends all subscriptions, as the server is gone for good.
    pub(crate) fn end(&self) {
        for entry in lock(&self.table).values() {
            entry.facts.send_modify(|facts| facts.grant = Grant::Ended);
        }
    }

    fn settle(&self, uri: &str, change: impl FnOnce(&mut SubscriptionFacts)) {
        if let Some(entry) = lock(&self.table).get(uri) {
            entry.facts.send_modify(change);
        }
    }
}

/// Whether an address is that of a resource, or of something below it.
fn is_part(address: &str, resource: &str) -> bool {
    match address.strip_prefix(resource) {
        Some("") => true,
        Some(rest) => resource.ends_with('/') || rest.starts_with(['/', '?', '#']),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_resource_changes_the_resource() {
        for (address, resource, expected) in [
            ("file:///a", "file:///a", true),
            ("file:///a/b", "file:///a", true),
            ("file:///a/b", "file:///a/", true),
            ("file:///a#x", "file:///a", true),
            ("file:///ab", "file:///a", false),
            ("file:///", "file:///a", false),
        ] {
            assert_eq!(is_part(address, resource), expected, "{address} {resource}");
        }
    }

    #[tokio::test]
    async fn all_who_watch_an_address_are_told_and_the_last_one_ends_it() {
        let watched = Arc::new(ResourceSubscriptions::default());
        let mut one = watched.subscribe("test:a").unwrap();
        let mut two = watched.subscribe("test:a").unwrap();
        let mut other = watched.subscribe("test:b").unwrap();
        watched.grant("test:a");
        let soon = Instant::now() + std::time::Duration::from_secs(10);
        assert_eq!(one.granted(soon).await, Ok(()));
        watched.update("test:a");
        watched.update("test:a");
        assert_eq!(one.updated().await, Ok(()));
        assert_eq!(two.updated().await, Ok(()));
        drop(one);
        assert_eq!(watched.wanted().len(), 2);
        drop(two);
        assert_eq!(watched.wanted().len(), 1);
        watched.refuse("test:b", CallError::unavailable("no"));
        assert_eq!(other.granted(soon).await, Err(CallError::unavailable("no")));
        assert!(watched.wanted().is_empty() && watched.is_in_use());
        watched.end();
        assert_eq!(other.updated().await, Err(SubscriptionEnded));
        drop(other);
        assert!(!watched.is_in_use());
    }

    #[tokio::test]
    async fn what_may_have_been_missed_counts_as_a_change() {
        let watched = Arc::new(ResourceSubscriptions::default());
        let mut one = watched.subscribe("test:a").unwrap();
        watched.reset();
        watched.grant("test:a");
        assert_eq!(one.facts.borrow().updates, 0);
        watched.lapse();
        watched.grant("test:a");
        assert_eq!(one.updated().await, Ok(()));
        watched.grant("test:a");
        assert_eq!(one.facts.borrow().updates, 1);
        watched.lapse();
        watched.refuse("test:a", CallError::unavailable("no"));
        assert!(watched.wanted().is_empty());
        watched.lapse();
        assert!(watched.wanted().is_empty());
        watched.reset();
        assert_eq!(watched.wanted().len(), 1);
    }

    #[test]
    fn the_number_of_watched_addresses_is_bounded() {
        let watched = Arc::new(ResourceSubscriptions::default());
        let all: Vec<Subscription> = (0..MOST_WATCHED)
            .map(|number| watched.subscribe(&format!("test:{number}")).unwrap())
            .collect();
        assert!(watched.subscribe("test:more").is_err());
        assert!(watched.subscribe("test:0").is_ok());
        drop(all);
        assert!(watched.subscribe("test:more").is_ok());
    }
}
