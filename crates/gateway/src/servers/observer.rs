//! Observer of upstreams: what they report goes into the catalog, and what changed of it on the record.
//!
//! A catalog on disk would be written here, after each report.

use std::sync::Arc;

use mcpproxy_catalog::Catalog;
use mcpproxy_upstream::{Observer, UpstreamState};
use mcpproxy_wire::{ListedItem, ListedKind, Offerings};

use crate::contract_check::ContractWatch;
use crate::records::Records;

/// Puts what upstreams report into the catalog, and what changed on the record.
pub(super) struct CatalogObserver {
    pub(super) catalog: Arc<Catalog>,
    pub(super) records: Arc<Records>,
    pub(super) contract: Arc<ContractWatch>,
}

impl Observer for CatalogObserver {
    fn offered(&self, server: &str, offerings: Offerings) {
        let before = self.tools(server);
        self.catalog.replace(server, offerings);
        let after = self.tools(server);
        if before == after {
            return;
        }
        self.contract.listed(server, &self.catalog.snapshot());
        // That a server is listed for the first time changes nothing.
        if let (Some(before), Some(after)) = (before, after) {
            self.records.tools_changed(server, &before, &after);
        }
    }

    fn state_changed(&self, server: &str, state: &UpstreamState) {
        tracing::debug!(server, ?state, "server changed its state");
        self.records.server_state_changed(server, state);
    }
}

impl CatalogObserver {
    /// Tools of a server as it sent them; none if it has not listed any yet.
    fn tools(&self, server: &str) -> Option<Arc<[ListedItem]>> {
        let snapshot = self.catalog.snapshot();
        let state = snapshot.server(server)?;
        state.offerings().list(ListedKind::Tool).cloned()
    }
}
