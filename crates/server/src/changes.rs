//! Tells when an endpoint offers other tools than before.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_gateway::Gateway;
use mcpproxy_gateway::direct::Scope;
use tokio::sync::watch;

use crate::endpoint::Endpoint;

/// How long to wait for more after a change: servers come up together, and a client that is told
/// once for all of them asks once.
pub(crate) const GATHERING: Duration = Duration::from_millis(50);

/// What is offered at one endpoint, as it changes.
pub(crate) struct Changes {
    gateway: Arc<Gateway>,
    /// Nothing where what is offered never changes.
    scope: Option<Scope>,
    catalog: watch::Receiver<u64>,
}

impl Changes {
    /// The changes at an endpoint.
    pub(crate) fn at(endpoint: &Endpoint, gateway: &Arc<Gateway>) -> Self {
        Self {
            gateway: Arc::clone(gateway),
            scope: endpoint.scope().cloned(),
            catalog: gateway.catalog_changes(),
        }
    }

    /// The same for who does not want to know of any.
    pub(crate) fn none(mut self) -> Self {
        self.scope = None;
        self
    }

    /// Stands for what is offered now.
    pub(crate) async fn now(&self) -> u64 {
        match &self.scope {
            Some(scope) => self.gateway.direct_digest(scope).await,
            None => 0,
        }
    }

    /// Waits until something else is offered than what `told` stands for, and gives what stands for
    /// that. Nothing is missed when this is dropped and called again.
    pub(crate) async fn other_than(&mut self, told: u64) -> u64 {
        if self.scope.is_none() {
            return std::future::pending().await;
        }
        loop {
            // Marked as seen first: a change while we look is looked at again.
            self.catalog.borrow_and_update();
            let now = self.now().await;
            if now != told {
                return now;
            }
            if self.catalog.changed().await.is_err() {
                return std::future::pending().await;
            }
            tokio::time::sleep(GATHERING).await;
        }
    }
}
