//! Collisions between addresses of servers, for the operator. This module is pure.

use std::sync::Arc;

/// Most collisions that are shown. Who has more of them sees the pattern in the first ones.
const SHOWN_LIMIT: usize = 20;
/// Most characters of an address that are shown.
const ADDRESS_LIMIT: usize = 200;

mcpproxy_wire::words! {
    /// Kind of a collision.
    CollisionKind {
        /// Two servers list the same resource; the first by name has its address.
        SameAddress = "same_address",
        /// Templates of two servers claim addresses with the same beginning; one that fits both is refused.
        SameClaim = "same_claim",
        /// A template claims nothing: it has no scheme of its own.
        NoClaim = "no_claim",
    }
}

/// Collision of one server's resource or template with those of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// Kind of the collision.
    pub kind: CollisionKind,
    /// Address or template as its server has it; a long one is cut.
    pub address: String,
    /// Server whose resource or template has to be named with its server.
    pub server: Arc<str>,
    /// Server that it collides with, if it is one.
    pub other: Option<Arc<str>>,
}

/// All collisions: their number, and the first of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collisions {
    /// Number of all collisions.
    pub total: usize,
    /// First ones.
    pub shown: Vec<Collision>,
}

impl Collisions {
    pub(crate) fn add(
        &mut self,
        kind: CollisionKind,
        address: &str,
        server: &Arc<str>,
        other: Option<&Arc<str>>,
    ) {
        self.total += 1;
        if self.shown.len() == SHOWN_LIMIT {
            return;
        }
        let mut shown: String = address.chars().take(ADDRESS_LIMIT).collect();
        if shown.len() < address.len() {
            shown.push('…');
        }
        self.shown.push(Collision {
            kind,
            address: shown,
            server: Arc::clone(server),
            other: other.cloned(),
        });
    }
}
