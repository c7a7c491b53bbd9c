//! A service over MCP, in one line, with the rmcp SDK.
//!
//! ```no_run
//! # use mcpproxy_contract::Service;
//! # use mcpproxy_contract_serve::{ServeError, serve_stdio};
//! # async fn example(service: Service) -> Result<(), ServeError> {
//! serve_stdio(service).await?; // or: serve_http(service, "127.0.0.1:8080").await?
//! # Ok(())
//! # }
//! ```
//!
//! Over stdio the caller is the owner of the process and may do everything. Over HTTP it is the
//! same as long as only this machine can connect; beyond it, [`Http::authorize`] says who a
//! token belongs to, and without it nothing is served there.
//!
//! This crate carries calls to the pipeline and results back. It never decides what a caller may
//! do with a tool, never runs a handler itself, and no call, however it fails, ends the server.
//! Nothing of rmcp's types shows outside of [`Handler`].

mod context;
mod handler;
mod http;
mod session;
mod stdio;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::ToSocketAddrs;

use mcpproxy_contract::{Grants, Service};

pub use handler::Handler;
pub use http::{Http, TokenRefusal};

/// Caller of a service, as far as the way of the call tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceCaller {
    /// The user on whose behalf the call is made. Rate limits and kept results go by it, so name
    /// one wherever two tokens belong to different people.
    pub user_id: Option<String>,
    /// Permissions of the caller.
    pub grants: Grants,
}

/// Why a service is not served, or no longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is no address, taken, or not ours.
    #[error("cannot listen: {0}; choose an address of this machine and a port that is free")]
    Listen(#[source] std::io::Error),
    /// Anybody could call.
    #[error(
        "{0} can be reached from other machines, and nothing says who may call: listen on \
         127.0.0.1, or set Http::authorize"
    )]
    Unprotected(SocketAddr),
    /// The client on stdio never began to speak MCP.
    #[error("the client did not begin to speak MCP: {0}")]
    Handshake(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A tool does not fit into the messages of MCP.
    #[error("the tool '{tool}' cannot be published over MCP: {source}")]
    Publish {
        /// The tool.
        tool: String,
        /// Reason why it does not fit.
        source: serde_json::Error,
    },
    /// The task that serves broke.
    #[error("serving ended early: {0}")]
    Ended(#[source] tokio::task::JoinError),
}

/// Serves over stdin and stdout until the client closes its end. The client may do everything: it
/// started this process.
///
/// Nothing else may write to stdout meanwhile; logs belong on stderr.
pub async fn serve_stdio(service: impl Into<Arc<Service>>) -> Result<(), ServeError> {
    stdio::serve(Handler::new(service)?).await
}

/// Serves over Streamable HTTP under `/mcp` until ctrl-c or SIGTERM, for callers on this machine.
///
/// An address that others can reach is refused; see [`http()`] for how to serve there.
pub async fn serve_http(
    service: impl Into<Arc<Service>>,
    address: impl ToSocketAddrs,
) -> Result<(), ServeError> {
    http(service).serve(address).await
}

/// Streamable HTTP with options, or on a listener that is there already. The guide for authors shows it with
/// [`Http::authorize`].
pub fn http(service: impl Into<Arc<Service>>) -> Http {
    Http::new(service.into())
}

// === impl ServiceCaller ===

impl ServiceCaller {
    /// The owner of the process, who may do everything.
    pub fn owner() -> Self {
        Self {
            user_id: None,
            grants: Grants::Everything,
        }
    }
}

/// The guide for authors: its code is compiled and run with the other tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/writing-a-tool.md")]
mod guide {}

/// The page on rich hints, likewise.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rich-hints.md")]
mod rich_hints {}
