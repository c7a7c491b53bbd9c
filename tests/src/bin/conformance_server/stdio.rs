//! One client over standard input and output.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    ClientNotification, ClientRequest, DiscoverRequestMethod, ErrorData, ProtocolVersion,
    ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, ServerInitializeError, Service};
use rmcp::transport::stdio_pipes;
use rmcp::{RoleServer, ServiceExt};

use crate::Protocol;
use crate::handler::Fixture;
use crate::state::Shared;

/// Serves until the client closes its end.
pub(crate) async fn serve(shared: Arc<Shared>) -> anyhow::Result<()> {
    let fixture = Fixture::new(&shared);
    if shared.protocol == Protocol::Session {
        converse(Old(fixture)).await
    } else {
        converse(fixture).await
    }
}

async fn converse<S: Service<RoleServer>>(service: S) -> anyhow::Result<()> {
    match service.serve(stdio_pipes()).await {
        Ok(running) => {
            running.waiting().await?;
            Ok(())
        }
        // A client that looks in and goes away, or that is refused, is no failure of ours.
        Err(
            ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::InitializeFailed(_),
        ) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A server from before `server/discover`: it does not know the method, where the SDK would say that it does not know
/// the revision.
struct Old(Fixture);

impl Service<RoleServer> for Old {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        if matches!(request, ClientRequest::DiscoverRequest(_)) {
            return Err(ErrorData::method_not_found::<DiscoverRequestMethod>());
        }
        self.0.handle_request(request, context).await
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.0)
    }
}
