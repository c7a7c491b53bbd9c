//! Transports that connections run over: programs, HTTP, and tools of this very program.

mod deadline;
mod greeting;
pub(crate) mod http;
pub(crate) mod pending;
pub(crate) mod request;
pub(crate) mod stdio;

use std::sync::Arc;
use std::time::Duration;

use self::http::HttpConnection;
use self::request::OutgoingRequest;
use self::stdio::StdioConnection;
use crate::call_error::UpstreamResponse;
use crate::{BuiltIn, CallError};

pub(crate) use self::greeting::{Greeting, read_hello};

/// Transport of one connection, running.
pub(crate) enum TransportLink {
    Stdio(StdioConnection),
    Http(HttpConnection),
    BuiltIn(Arc<dyn BuiltIn>),
}

/// End of a connection that nobody here asked for.
#[derive(Debug, Clone)]
pub(crate) struct LostConnection {
    pub(crate) reason: Arc<str>,
    /// Whether the server is well and only wants to be greeted again.
    pub(crate) is_expired: bool,
}

impl TransportLink {
    /// Sends a request and waits for its response.
    pub(crate) async fn request(&self, request: OutgoingRequest<'_>) -> UpstreamResponse {
        match self {
            Self::Stdio(stdio) => stdio.request(request).await,
            Self::Http(http) => http.request(request).await,
            Self::BuiltIn(_) => Err(CallError::unavailable("the tool is built in")),
        }
    }

    /// Waits for an end that nobody here asked for.
    pub(crate) async fn lost(&self) -> LostConnection {
        match self {
            Self::Stdio(stdio) => LostConnection {
                reason: stdio.closed().await,
                is_expired: false,
            },
            Self::Http(http) => http.lost().await,
            Self::BuiltIn(_) => std::future::pending().await,
        }
    }

    /// Ends the transport and the program behind it.
    pub(crate) async fn stop(&self, grace: Duration) {
        match self {
            Self::Stdio(stdio) => stdio.stop(grace).await,
            Self::Http(http) => http.stop(grace).await,
            Self::BuiltIn(_) => {}
        }
    }

    /// Process behind it.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Self::Stdio(stdio) => stdio.pid,
            Self::Http(_) | Self::BuiltIn(_) => None,
        }
    }
}
