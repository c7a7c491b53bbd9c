//! Observer of upstreams: what they report goes into the catalog, and what changed of it on the record.

use std::sync::Arc;

use mcpproxy_catalog::{Catalog, ServerListing};
use mcpproxy_upstream::{Observer, UpstreamState};
use mcpproxy_wire::ToolDefinition;
use tokio::sync::watch;

use crate::contract_check::log_definition_problems;
use crate::records::{Definitions, Records};

/// Puts what upstreams report into the catalog, and what changed on the record.
pub(super) struct CatalogObserver {
    pub(super) catalog: Arc<Catalog>,
    /// Counts changes of prompts and resources that servers list.
    pub(super) offerings_changed: Arc<watch::Sender<u64>>,
    pub(super) records: Arc<Records>,
}

impl Observer for CatalogObserver {
    fn listed(&self, server: &str, tools: Vec<ToolDefinition>) {
        let before = self.definitions(server);
        self.catalog.replace(server, ServerListing { tools });
        log_definition_problems(server, &self.catalog.snapshot());
        if let Some(before) = before {
            let after = self.definitions(server).unwrap_or_default();
            self.records.tools_changed(server, &before, &after);
        }
    }

    fn offerings_changed(&self, server: &str) {
        tracing::debug!(server, "server lists other prompts or resources");
        self.offerings_changed
            .send_modify(|generation| *generation += 1);
    }

    fn state_changed(&self, server: &str, state: &UpstreamState) {
        tracing::debug!(server, ?state, "server changed its state");
        self.records.server_state_changed(server, state);
    }
}

impl CatalogObserver {
    /// Tools of a server as it sent them; none if it has not listed any yet.
    fn definitions(&self, server: &str) -> Option<Definitions> {
        let snapshot = self.catalog.snapshot();
        let state = snapshot.server(server).filter(|state| state.is_listed())?;
        let definitions = state.tools().map(|entry| {
            let tool = entry.tool();
            (tool.name.to_string(), tool.raw.text().to_owned())
        });
        Some(definitions.collect())
    }
}
