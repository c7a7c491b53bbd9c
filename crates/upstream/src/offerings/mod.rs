//! Offerings of a server besides tools: prompts, resources and templates of resources.
//!
//! The lists of the last connection stay until the next one brings others, so that reading them
//! needs no server. As for tools, each event that makes a list stale begins a new epoch, and a list
//! that began in epoch `n` covers every epoch up to `n`. Nothing here delays a call of a tool.

pub(crate) mod listing;
pub(crate) mod refresher;
mod subscription_streams;
pub(crate) mod subscriptions;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcpproxy_wire::capabilities::{Capabilities, ListChanges};
use mcpproxy_wire::listed_item::{ListedItem, ListedKind};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

use self::subscriptions::ResourceSubscriptions;
use crate::CallError;

/// Time that a list is believed of a server that does not announce changes.
const BELIEVED_FOR: Duration = Duration::from_secs(5);
/// Time that a list is believed of a server that does. An announcement can get lost with the stream it was on.
const BELIEVED_IF_ANNOUNCED: Duration = Duration::from_mins(1);

/// Offerings of a server besides tools, at one moment.
#[derive(Debug, Clone, Default)]
pub struct OfferingsSnapshot {
    /// Capabilities that the server declared when it was last connected.
    pub capabilities: Capabilities,
    /// Whether every list that it declared is known.
    pub is_known: bool,
    /// Differs from that of every other snapshot in this process, unless both are the same.
    pub version: u64,
    lists: [Arc<[ListedItem]>; 3],
}

/// Lists of one server, for all who read them and wait for them.
#[derive(Debug)]
pub(crate) struct Offerings {
    state: watch::Sender<OfferingsState>,
    /// Wakes the task that lists.
    wake_refresher: Notify,
    pub(crate) subscriptions: Arc<ResourceSubscriptions>,
}

#[derive(Debug, Default)]
struct OfferingsState {
    version: u64,
    capabilities: Option<Capabilities>,
    lists: [OfferedList; 3],
}

/// List of one kind, and what is known of its age.
#[derive(Debug, Default)]
struct OfferedList {
    items: Arc<[ListedItem]>,
    epoch: u64,
    covers: u64,
    /// Time when it was last listed, or could not be.
    tried_at: Option<Instant>,
    is_known: bool,
    /// The last listing that failed: the epoch it would have covered, and why.
    refusal: Option<(u64, CallError)>,
}

// === impl OfferingsSnapshot ===

impl OfferingsSnapshot {
    /// Snapshot of a server that has listed everything: prompts, resources and templates.
    pub fn new(capabilities: Capabilities, lists: [Vec<ListedItem>; 3]) -> Self {
        Self {
            capabilities,
            is_known: true,
            version: next_version(),
            lists: lists.map(Arc::from),
        }
    }

    /// List of one kind.
    pub fn items(&self, kind: ListedKind) -> &Arc<[ListedItem]> {
        &self.lists[index(kind)]
    }
}

// === impl Offerings ===

impl Default for Offerings {
    fn default() -> Self {
        Self {
            state: watch::Sender::default(),
            wake_refresher: Notify::new(),
            subscriptions: Arc::default(),
        }
    }
}

impl Offerings {
    /// Offerings of now.
    pub(crate) fn snapshot(&self) -> OfferingsSnapshot {
        self.state.borrow().snapshot()
    }

    /// Makes lists stale that have changed, as the server says.
    pub(crate) fn announce(&self, kinds: &[ListedKind]) {
        self.change(|state| {
            for kind in kinds {
                state.lists[index(*kind)].epoch += 1;
            }
        });
        self.wake_refresher.notify_one();
    }

    /// Has lists renewed that are older than they are believed, without waiting for it.
    pub(crate) fn renew(&self) {
        // Most who ask find nothing old, and wake nobody.
        let is_due = self.state.send_if_modified(|state| {
            let old = ListedKind::ALL.map(|kind| state.mark_if_old(kind));
            old.contains(&true)
        });
        if is_due {
            self.wake_refresher.notify_one();
        }
    }

    /// Waits for lists that are no older than they are believed.
    pub(crate) async fn wait(&self, deadline: Instant) -> Result<OfferingsSnapshot, CallError> {
        let started = Instant::now();
        let mut watcher = self.state.subscribe();
        self.renew();
        let required = self.state.borrow().epochs();
        loop {
            let outcome = watcher.borrow_and_update().outcome(required);
            match outcome {
                Some(Ok(snapshot)) => return Ok(snapshot),
                Some(Err(error)) => return Err(error),
                None => {}
            }
            if timeout_at(deadline, watcher.changed()).await.is_err() {
                return Err(CallError::Timeout {
                    after: started.elapsed(),
                    sent: false,
                });
            }
        }
    }

    /// Waits until a server has said what it has.
    pub(crate) async fn declared(&self) {
        let mut watcher = self.state.subscribe();
        // The sender is ours, so the wait ends when there is something to say.
        let _ = watcher.wait_for(|state| state.capabilities.is_some()).await;
    }

    /// Begins a connection: what was listed before may hold no longer. Tells whether that changes the
    /// snapshot.
    fn begin(&self, capabilities: Capabilities) -> bool {
        let mut is_changed = false;
        self.change(|state| {
            is_changed = state.capabilities != Some(capabilities);
            state.capabilities = Some(capabilities);
            for kind in ListedKind::ALL {
                let list = &mut state.lists[index(kind)];
                list.epoch += 1;
                if changes_of(capabilities, kind).is_none() {
                    let epoch = list.epoch;
                    is_changed |= list.put(epoch, Vec::new());
                }
            }
            state.renumber_if(is_changed);
        });
        self.wake_refresher.notify_one();
        is_changed
    }

    /// Epoch that a listing would cover, if one is due.
    fn due(&self, kind: ListedKind) -> Option<u64> {
        let state = self.state.borrow();
        let list = &state.lists[index(kind)];
        let refused = list.refusal.as_ref().map_or(0, |(epoch, _)| *epoch);
        (list.epoch > list.covers.max(refused)).then_some(list.epoch)
    }

    /// Takes a list that began in the epoch; tells whether it differs from the one before.
    fn put(&self, kind: ListedKind, epoch: u64, items: Vec<ListedItem>) -> bool {
        let mut is_changed = false;
        self.change(|state| {
            is_changed = state.lists[index(kind)].put(epoch, items);
            state.renumber_if(is_changed);
        });
        is_changed
    }

    /// Takes the failure of a list that began in the epoch.
    fn refuse(&self, kind: ListedKind, epoch: u64, error: CallError) {
        self.change(|state| {
            let list = &mut state.lists[index(kind)];
            list.tried_at = Some(Instant::now());
            list.refusal = Some((epoch, error));
        });
    }

    fn change(&self, change: impl FnOnce(&mut OfferingsState)) {
        self.state.send_modify(change);
    }
}

// === impl OfferingsState ===

impl OfferingsState {
    fn renumber_if(&mut self, is_changed: bool) {
        if is_changed {
            self.version = next_version();
        }
    }

    fn snapshot(&self) -> OfferingsSnapshot {
        OfferingsSnapshot {
            capabilities: self.capabilities.unwrap_or_default(),
            version: self.version,
            is_known: self.capabilities.is_some() && self.lists.iter().all(|list| list.is_known),
            lists: std::array::from_fn(|index| Arc::clone(&self.lists[index].items)),
        }
    }

    fn epochs(&self) -> [u64; 3] {
        std::array::from_fn(|index| self.lists[index].epoch)
    }

    /// Outcome for a caller that needs the epochs covered; nothing as long as that is open.
    fn outcome(&self, required: [u64; 3]) -> Option<Result<OfferingsSnapshot, CallError>> {
        self.capabilities?;
        for (list, required) in self.lists.iter().zip(required) {
            if list.covers >= required.max(1) {
                continue;
            }
            return match &list.refusal {
                Some((epoch, error)) if *epoch >= required => Some(Err(error.clone())),
                _ => None,
            };
        }
        Some(Ok(self.snapshot()))
    }

    /// Makes a list stale that is older than it is believed; tells whether it did.
    fn mark_if_old(&mut self, kind: ListedKind) -> bool {
        let Some(changes) = self.capabilities.and_then(|all| changes_of(all, kind)) else {
            return false;
        };
        let believed_for = match changes {
            ListChanges::Announced => BELIEVED_IF_ANNOUNCED,
            ListChanges::Silent => BELIEVED_FOR,
        };
        let list = &mut self.lists[index(kind)];
        let believed_for = if list.refusal.is_some() {
            BELIEVED_FOR
        } else {
            believed_for
        };
        let is_old = list
            .tried_at
            .is_some_and(|tried| tried.elapsed() >= believed_for);
        if is_old {
            // Counted from now on, so that those who ask meanwhile share this listing.
            list.tried_at = Some(Instant::now());
            list.epoch += 1;
        }
        is_old
    }
}

// === impl OfferedList ===

impl OfferedList {
    fn put(&mut self, epoch: u64, items: Vec<ListedItem>) -> bool {
        let is_changed = !self.is_known || *self.items != *items;
        if is_changed {
            self.items = items.into();
        }
        self.is_known = true;
        self.covers = epoch;
        self.tried_at = Some(Instant::now());
        self.refusal = None;
        is_changed
    }
}

fn next_version() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Whether a server has what is listed under a kind, and tells of changes.
fn changes_of(capabilities: Capabilities, kind: ListedKind) -> Option<ListChanges> {
    match kind {
        ListedKind::Prompt => capabilities.prompts,
        ListedKind::Resource | ListedKind::Template => capabilities.resources,
    }
}

const fn index(kind: ListedKind) -> usize {
    match kind {
        ListedKind::Prompt => 0,
        ListedKind::Resource => 1,
        ListedKind::Template => 2,
    }
}

#[cfg(test)]
mod tests;
