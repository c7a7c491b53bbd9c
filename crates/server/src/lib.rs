//! The faces of the gateway: MCP over HTTP and stdio, and REST.
//!
//! This crate turns bytes into requests of the gateway and its answers back into bytes. It
//! decides nothing about a call. Start reading at [`message`], what an MCP client may ask,
//! whichever way it comes; then `mcp`, the same over HTTP.

mod access;
mod body;
mod listen;
mod mcp;
pub mod message;
mod respond;
mod rest;
mod sessions;
pub mod stdio;

use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::Body;
use axum::routing::{get, post};
use http::{Request, Response};
use hyper::body::Incoming;
use mcpproxy_gateway::Gateway;
use mcpproxy_gateway::settings::Secret;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

pub use access::Reach;
pub use listen::{serve_socket, serve_tcp};
use sessions::Sessions;

/// What every request of the HTTP faces shares.
pub struct App {
    gateway: Arc<Gateway>,
    api_key: ArcSwap<Secret>,
    address: SocketAddr,
    sessions: Sessions,
    shutdown: CancellationToken,
}

impl App {
    /// An app that is reached at `address`, and ends its open streams when `shutdown` is cancelled.
    pub fn new(
        gateway: Arc<Gateway>,
        api_key: Secret,
        address: SocketAddr,
        shutdown: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            gateway,
            api_key: ArcSwap::from_pointee(api_key),
            address,
            sessions: Sessions::default(),
            shutdown,
        })
    }
}

impl App {
    /// Takes another key from now on; the old one is refused.
    pub fn set_api_key(&self, api_key: Secret) {
        self.api_key.store(Arc::new(api_key));
    }
}

/// Answers a request: `/mcp` directly, because it is on the path of every call, and all else
/// through the router.
async fn answer(entrance: &Entrance, request: Request<Incoming>) -> Response<Body> {
    if request.uri().path() == "/mcp" {
        return mcp::answer(entrance, request).await;
    }
    let routed = entrance.router.clone().oneshot(request).await;
    routed.unwrap_or_else(|never| match never {})
}

/// One of the ways in: what is behind it, and from where it can be reached.
#[derive(Clone)]
struct Entrance {
    app: Arc<App>,
    reach: Reach,
    router: Router,
}

impl Entrance {
    fn new(app: &Arc<App>, reach: Reach) -> Self {
        Self {
            app: Arc::clone(app),
            reach,
            router: router(app, reach),
        }
    }
}

/// Every route but `/mcp`, for callers that come from the given side.
fn router(app: &Arc<App>, reach: Reach) -> Router {
    let rest = Router::new()
        .route("/status", get(rest::status))
        .route("/config", get(rest::config))
        .route("/tools", get(rest::list_tools))
        .route("/tools/call", post(rest::call_tool))
        .route("/tools/{server}/{tool}", get(rest::show_tool))
        .layer(axum::middleware::from_fn_with_state(
            (Arc::clone(app), reach),
            access::administration,
        ));
    let health = Router::new()
        .route("/healthz", get(rest::healthz))
        .route("/readyz", get(rest::readyz))
        .layer(axum::middleware::from_fn_with_state(
            (Arc::clone(app), reach),
            access::health,
        ));
    Router::new()
        .nest("/api/v1", rest)
        .merge(health)
        .fallback(respond::not_found)
        .method_not_allowed_fallback(respond::method_not_allowed)
        .with_state(Arc::clone(app))
}

/// Refuses to listen where anybody could call without a credential over an open line.
pub fn check_address(address: SocketAddr, allow_plain_http: bool) -> Result<(), String> {
    if address.ip().is_loopback() || allow_plain_http {
        return Ok(());
    }
    Err(format!(
        "listening on {address} reaches beyond this machine over plain HTTP: \
         use a loopback address, or set \"allow_plain_http\": true if a proxy in front adds TLS"
    ))
}
