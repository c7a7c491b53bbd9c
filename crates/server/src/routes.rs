//! Routes of the HTTP faces.

use std::sync::Arc;

use axum::routing::{MethodRouter, delete, get, patch, post};
use axum::{Extension, Router};

use crate::access::{self, Reach};
use crate::app::App;
use crate::rest::index::{ListedRoute, RouteTable};
use crate::{respond, rest};

/// Entrance to the app for callers that come from one side.
pub struct Entrance {
    pub(crate) app: Arc<App>,
    pub(crate) reach: Reach,
    /// Every route but the MCP endpoints.
    pub(crate) router: Router,
}

impl Entrance {
    /// Entrance for callers with the given reach.
    pub fn new(app: &Arc<App>, reach: Reach) -> Arc<Self> {
        Arc::new(Self {
            app: Arc::clone(app),
            reach,
            router: router(app, reach),
        })
    }
}

/// A route: its method and path, and what answers there.
pub(crate) struct Route {
    /// Whether agents with a token may use it; administrators may use all.
    is_for_tokens: bool,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    handler: MethodRouter<Arc<App>>,
}

fn read(path: &'static str, handler: MethodRouter<Arc<App>>) -> Route {
    Route {
        is_for_tokens: false,
        method: "get",
        path,
        handler,
    }
}

/// Route that agents with a token may use as well, each for what is its own.
fn for_tokens(route: Route) -> Route {
    Route {
        is_for_tokens: true,
        ..route
    }
}

/// Routes of the REST interface, under `/api/v1`.
pub(crate) fn rest() -> Vec<Route> {
    let sent = |method, path, handler| Route {
        method,
        ..read(path, handler)
    };
    vec![
        for_tokens(read("/", get(rest::index::list))),
        for_tokens(read("/activity", get(rest::activity::list))),
        for_tokens(read("/activity/summary", get(rest::activity::summary))),
        for_tokens(read("/activity/export", get(rest::activity::export))),
        read("/activity/verify", get(rest::activity::verify)),
        for_tokens(read("/activity/{id}", get(rest::activity::show))),
        for_tokens(read("/events", get(rest::events::events))),
        read("/openapi.json", get(rest::openapi::document)),
        for_tokens(read("/servers", get(rest::servers::list))),
        sent("post", "/servers", post(rest::servers::add)),
        read("/servers/{server}", get(rest::servers::show)),
        sent("patch", "/servers/{server}", patch(rest::servers::merge)),
        sent("delete", "/servers/{server}", delete(rest::servers::remove)),
        sent(
            "post",
            "/servers/{server}/enable",
            post(rest::servers::enable),
        ),
        sent(
            "post",
            "/servers/{server}/disable",
            post(rest::servers::disable),
        ),
        sent(
            "post",
            "/servers/{server}/restart",
            post(rest::servers::restart),
        ),
        read(
            "/servers/{server}/contract",
            get(rest::servers::show_contract),
        ),
        sent(
            "post",
            "/servers/{server}/contract/accept",
            post(rest::servers::accept_contract),
        ),
        read("/status", get(rest::status::status)),
        read("/config", get(rest::status::config)),
        read("/tokens", get(rest::tokens::list)),
        sent("post", "/tokens", post(rest::tokens::create)),
        read("/tokens/{name}", get(rest::tokens::show)),
        sent("delete", "/tokens/{name}", delete(rest::tokens::revoke)),
        sent("post", "/tokens/{name}/rotate", post(rest::tokens::rotate)),
        for_tokens(read("/tools", get(rest::tools::list_tools))),
        for_tokens(sent("post", "/tools/call", post(rest::tools::call_tool))),
        for_tokens(read("/tools/{server}/{tool}", get(rest::tools::show_tool))),
    ]
}

/// Routes of whoever watches over the gateway.
pub(crate) fn health() -> Vec<Route> {
    vec![
        for_tokens(read("/healthz", get(rest::status::healthz))),
        for_tokens(read("/readyz", get(rest::status::readyz))),
        read("/metrics", get(rest::status::metrics)),
    ]
}

/// Every route but the MCP endpoints, for callers that come from the given side.
pub(crate) fn router(app: &Arc<App>, reach: Reach) -> Router {
    let routed = |routes: Vec<Route>| {
        let add = |router: Router<_>, route: Route| router.route(route.path, route.handler);
        routes.into_iter().fold(Router::new(), add)
    };
    let side = (Arc::clone(app), reach);
    let listed = rest().into_iter().map(|route| ListedRoute {
        method: route.method,
        path: route.path,
        is_for_tokens: route.is_for_tokens,
    });
    let table = Extension(Arc::new(RouteTable(listed.collect())));
    let (for_tokens, administration) = rest().into_iter().partition(|route| route.is_for_tokens);
    let admit = axum::middleware::from_fn_with_state(side.clone(), access::administration);
    let administration = routed(administration).layer(admit);
    let admit = axum::middleware::from_fn_with_state(side.clone(), access::tokens_too);
    let for_tokens = routed(for_tokens).layer(admit);
    let (health, metrics) = health().into_iter().partition(|route| route.is_for_tokens);
    let admit = axum::middleware::from_fn_with_state(side.clone(), access::health);
    let health = routed(health).layer(admit);
    let admit = axum::middleware::from_fn_with_state(side, access::metrics);
    let metrics = routed(metrics).layer(admit);
    Router::new()
        .nest("/api/v1", administration.merge(for_tokens).layer(table))
        .merge(health.merge(metrics))
        .fallback(respond::not_found)
        .method_not_allowed_fallback(respond::method_not_allowed)
        .with_state(Arc::clone(app))
}
