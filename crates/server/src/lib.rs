//! The faces of the gateway: MCP over HTTP and stdio, and REST.
//!
//! This crate turns bytes into requests of the gateway and its answers back into bytes. It
//! decides nothing about a call. Start reading at [`message`], what an MCP client may ask,
//! whichever way it comes; then `mcp`, the same over HTTP.

mod access;
mod activity;
mod asked;
mod body;
mod caller;
mod changes;
pub mod endpoint;
mod events;
mod form;
pub mod in_flight;
mod library;
mod lines;
mod listen;
mod mcp;
pub mod message;
mod news;
mod openapi;
mod parked;
mod peer;
#[cfg(test)]
mod rehearsal;
mod relay;
mod repeated;
mod reply;
mod respond;
mod rest;
mod sessions;
mod state;
mod stateless;
pub mod stdio;

use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::Body;
use axum::routing::{MethodRouter, get, post};
use http::{Request, Response};
use hyper::body::Incoming;
use mcpproxy_gateway::Gateway;
use mcpproxy_gateway::settings::Secret;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

pub use access::Reach;
use endpoint::Endpoint;
pub use listen::{serve_connection, serve_socket, serve_tcp};
use parked::Parked;
use sessions::Sessions;

/// What every request of the HTTP faces shares.
pub struct App {
    gateway: Arc<Gateway>,
    api_key: ArcSwap<Secret>,
    address: SocketAddr,
    sessions: Sessions,
    parked: Arc<Parked>,
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
            parked: Parked::new(shutdown.clone()),
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

/// Answers a request: the MCP endpoints directly, because they are on the path of every call, and
/// all else through the router.
async fn answer(entrance: &Entrance, request: Request<Incoming>) -> Response<Body> {
    if let Some(endpoint) = Endpoint::at(request.uri().path()) {
        return mcp::answer(entrance, &endpoint, request).await;
    }
    let routed = entrance.router.clone().oneshot(request).await;
    routed.unwrap_or_else(|never| match never {})
}

/// One of the ways in: what is behind it, and from where it can be reached.
#[derive(Clone)]
pub struct Entrance {
    app: Arc<App>,
    reach: Reach,
    router: Router,
}

impl Entrance {
    /// A way in to the app for callers that come from the given side.
    pub fn new(app: &Arc<App>, reach: Reach) -> Self {
        Self {
            app: Arc::clone(app),
            reach,
            router: router(app, reach),
        }
    }
}

/// A route: its method and path, and what answers there.
struct Route {
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "the handler knows; this is for the tests of the description"
        )
    )]
    method: &'static str,
    path: &'static str,
    handler: MethodRouter<Arc<App>>,
}

/// Where administrators come in, under `/api/v1`.
fn administration() -> Vec<Route> {
    let read = |path, handler| Route {
        method: "get",
        path,
        handler,
    };
    let write = |path, handler| Route {
        method: "post",
        path,
        handler,
    };
    vec![
        read("/activity", get(activity::list)),
        read("/activity/summary", get(activity::summary)),
        read("/activity/export", get(activity::export)),
        read("/activity/verify", get(activity::verify)),
        read("/activity/{id}", get(activity::show)),
        read("/events", get(events::events)),
        read("/openapi.json", get(openapi::document)),
        read("/status", get(rest::status)),
        read("/config", get(rest::config)),
        read("/tools", get(rest::list_tools)),
        write("/tools/call", post(rest::call_tool)),
        read("/tools/{server}/{tool}", get(rest::show_tool)),
    ]
}

/// Where whoever watches over the gateway comes in.
fn health() -> Vec<Route> {
    let read = |path, handler| Route {
        method: "get",
        path,
        handler,
    };
    vec![
        read("/healthz", get(rest::healthz)),
        read("/readyz", get(rest::readyz)),
    ]
}

/// Every route but the MCP endpoints, for callers that come from the given side.
fn router(app: &Arc<App>, reach: Reach) -> Router {
    let routed = |routes: Vec<Route>| {
        let add = |router: Router<_>, route: Route| router.route(route.path, route.handler);
        routes.into_iter().fold(Router::new(), add)
    };
    let side = (Arc::clone(app), reach);
    let rest = routed(administration()).layer(axum::middleware::from_fn_with_state(
        side.clone(),
        access::administration,
    ));
    let health = routed(health()).layer(axum::middleware::from_fn_with_state(side, access::health));
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
