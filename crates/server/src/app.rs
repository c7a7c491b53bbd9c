//! State that every request of the HTTP faces shares.

use std::net::SocketAddr;
use std::sync::Arc;

use mcpproxy_gateway::Gateway;
use mcpproxy_gateway::settings::Secret;
use tokio_util::sync::CancellationToken;

use crate::credentials::Credentials;
use crate::exchange::Exchange;
use crate::exchange::session::{Session, Sessions};

/// State that every request of the HTTP faces shares.
pub struct App {
    pub(crate) exchange: Exchange,
    pub(crate) sessions: Sessions,
    pub(crate) credentials: Credentials,
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
            credentials: Credentials::new(api_key, gateway.live_settings()),
            exchange: Exchange::new(gateway, shutdown),
            sessions: Sessions::default(),
            address,
        })
    }

    /// Takes another key from now on; the old one is refused, and what was opened with it ends.
    pub fn set_api_key(&self, api_key: Secret) {
        self.credentials.set_key(api_key);
    }

    /// Ends what the settings of now do not offer: sessions of endpoints, and whatever callers without a credential
    /// opened under another role.
    pub fn end_closed_endpoints(&self) {
        self.credentials.end_former_anonymous();
        let gateway = self.gateway();
        let is_closed = |session: &Session| !session.endpoint.is_offered(gateway);
        self.sessions.end_where(is_closed);
    }

    pub(crate) fn gateway(&self) -> &Arc<Gateway> {
        &self.exchange.gateway
    }

    /// Cancelled when the gateway stops.
    pub(crate) fn shutdown(&self) -> &CancellationToken {
        &self.exchange.closing
    }
}
