//! One client over stdin and stdout.

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetMeta, ProtocolVersion, ServerJsonRpcMessage,
};
use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{Transport, stdio_pipes};
use rmcp::{RoleServer, ServiceExt};

use super::{Handler, ServeError};

/// The longest message, so that a client that never ends its line cannot fill the memory.
const LONGEST_MESSAGE: usize = 4 * 1024 * 1024;

/// Serves until the client closes its end. Signals keep their usual meaning: they end the process.
pub(super) async fn serve(handler: Handler) -> Result<(), ServeError> {
    let (input, output) = stdio_pipes();
    let lines = AsyncRwTransport::new_server(input, output).with_max_line_length(LONGEST_MESSAGE);
    let transport = Patient {
        inner: lines,
        has_begun: false,
    };
    let ended = match handler.serve(transport).await {
        Ok(running) => running.waiting().await,
        // A client that looks in and goes away is no failure of ours.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ServeError::Handshake(Box::new(error))),
    };
    match ended {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(ServeError::Ended(error)),
        Ok(_) => Ok(()),
    }
}

/// Leaves out what no conversation begins with. rmcp gives up on a client whose first message is a
/// notification, and a server that exits for that is a riddle to whoever started it.
struct Patient<T> {
    inner: T,
    has_begun: bool,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Patient<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = self.inner.receive().await?;
            if let ClientJsonRpcMessage::Request(request) = &message {
                self.has_begun |= begins(&request.request);
            } else if !self.has_begun {
                tracing::debug!("left out a message from before the beginning");
                continue;
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// Whether rmcp takes the request for the beginning: `initialize`, or since 2026-07-28 any request
/// that says of itself who sends it, but for the question who we are.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        other => {
            let revision = ProtocolVersion::V_2026_07_28;
            other.get_meta().missing_required_keys(&revision).is_empty()
        }
    }
}
