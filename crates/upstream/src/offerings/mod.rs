//! Offerings of a server: tools, prompts, resources and templates of resources, all listed alike.
//!
//! [`freshness`] decides when a list is too old, [`listing`] asks for its pages, [`subscriptions`] has the
//! resources that clients are notified of. The lists of the last connection stay until the next one brings
//! others, so that reading them needs no server.

pub(crate) mod freshness;
pub(crate) mod listing;
pub(crate) mod subscriber;
pub(crate) mod subscriptions;

use mcpproxy_wire::offerings::RejectedItem;
use mcpproxy_wire::{Capabilities, Introduction, ListedItem, ListedKind, Offerings};

use self::freshness::ListFreshness;

/// Lists of one server, with what is known of their age.
#[derive(Debug)]
pub(crate) struct OfferedLists {
    offerings: Offerings,
    freshness: [ListFreshness; ListedKind::ALL.len()],
    /// Items that the newest listing of each kind left out.
    rejected: [Vec<RejectedItem>; ListedKind::ALL.len()],
    /// Changes whenever the server's tools do.
    pub(crate) edition: u64,
}

impl Default for OfferedLists {
    fn default() -> Self {
        Self {
            offerings: Offerings::default(),
            freshness: ListedKind::ALL.map(ListFreshness::of),
            rejected: Default::default(),
            edition: 0,
        }
    }
}

impl OfferedLists {
    /// Offerings as far as they are known.
    pub(crate) fn offerings(&self) -> &Offerings {
        &self.offerings
    }

    /// Freshness of one list.
    pub(crate) fn freshness(&self, kind: ListedKind) -> &ListFreshness {
        &self.freshness[kind.index()]
    }

    /// Freshness of one list, to be changed.
    pub(crate) fn freshness_mut(&mut self, kind: ListedKind) -> &mut ListFreshness {
        &mut self.freshness[kind.index()]
    }

    /// Begins a connection: what was listed before may hold no longer. Tells whether the offerings
    /// change. Tools are not concerned: they are listed before a connection is used.
    pub(crate) fn declare(
        &mut self,
        capabilities: Capabilities,
        introduction: Introduction,
    ) -> bool {
        let mut is_changed = self.offerings.capabilities != capabilities
            || self.offerings.introduction != introduction;
        self.offerings.capabilities = capabilities;
        self.offerings.introduction = introduction;
        for kind in ListedKind::ALL {
            if kind == ListedKind::Tool {
                continue;
            }
            let changes = kind.declared(&capabilities);
            let freshness = self.freshness_mut(kind);
            freshness.declare(changes);
            if changes.is_some() {
                freshness.renew();
            } else {
                let epoch = freshness.begin();
                freshness.set_listed(epoch, None);
                is_changed |= self.put(kind, Vec::new());
            }
        }
        is_changed
    }

    /// Takes the items of a list; tells whether they are others than before.
    pub(crate) fn put(&mut self, kind: ListedKind, items: Vec<ListedItem>) -> bool {
        let is_changed = self.offerings.put(kind, items);
        self.edition += u64::from(is_changed && kind == ListedKind::Tool);
        is_changed
    }

    /// Takes what a listing left out; tells whether that is something else than before.
    pub(crate) fn set_rejected(&mut self, kind: ListedKind, rejected: &[RejectedItem]) -> bool {
        let before = &mut self.rejected[kind.index()];
        let is_changed = *before != rejected;
        if is_changed {
            *before = rejected.to_vec();
        }
        is_changed
    }
}

#[cfg(test)]
mod tests;
