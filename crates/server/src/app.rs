//! State that every request of the HTTP faces shares.

use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use mcpproxy_gateway::Gateway;
use mcpproxy_gateway::settings::Secret;
use tokio_util::sync::CancellationToken;

use crate::exchange::Exchange;
use crate::exchange::session::Sessions;

/// State that every request of the HTTP faces shares.
pub struct App {
    pub(crate) exchange: Exchange,
    pub(crate) sessions: Sessions,
    pub(crate) api_key: ArcSwap<Secret>,
    pub(crate) address: SocketAddr,
}

impl App {
    /// App that is reached at `address`, and ends its open streams when `shutdown` is cancelled.
    pub fn new(
        gateway: Arc<Gateway>,
        api_key: Secret,
        address: SocketAddr,
        shutdown: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            exchange: Exchange::new(gateway, shutdown),
            sessions: Sessions::default(),
            api_key: ArcSwap::from_pointee(api_key),
            address,
        })
    }

    /// Takes another key from now on; the old one is refused, and the sessions that it opened end.
    pub fn set_api_key(&self, api_key: Secret) {
        let is_another = self.api_key.load().expose() != api_key.expose();
        self.api_key.store(Arc::new(api_key));
        if is_another {
            self.sessions.end_administrators();
        }
    }

    pub(crate) fn gateway(&self) -> &Arc<Gateway> {
        &self.exchange.gateway
    }

    /// Cancelled when the gateway stops.
    pub(crate) fn shutdown(&self) -> &CancellationToken {
        &self.exchange.closing
    }
}
