//! Routes of the HTTP faces.

use std::sync::Arc;

use axum::Router;
use axum::routing::{MethodRouter, get, post};

use crate::access::{self, Reach};
use crate::app::App;
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
    #[cfg_attr(
        not(all(test, feature = "openapi")),
        expect(
            dead_code,
            reason = "the handler knows; this is for the tests of the description"
        )
    )]
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    handler: MethodRouter<Arc<App>>,
}

fn read(path: &'static str, handler: MethodRouter<Arc<App>>) -> Route {
    Route {
        method: "get",
        path,
        handler,
    }
}

/// Routes of administrators, under `/api/v1`.
pub(crate) fn administration() -> Vec<Route> {
    vec![
        read("/activity", get(rest::activity::list)),
        read("/activity/summary", get(rest::activity::summary)),
        read("/activity/export", get(rest::activity::export)),
        read("/activity/verify", get(rest::activity::verify)),
        read("/activity/{id}", get(rest::activity::show)),
        read("/events", get(rest::events::events)),
        read("/openapi.json", get(rest::openapi::document)),
        read("/status", get(rest::status::status)),
        read("/config", get(rest::status::config)),
        read("/tools", get(rest::tools::list_tools)),
        Route {
            method: "post",
            ..read("/tools/call", post(rest::tools::call_tool))
        },
        read("/tools/{server}/{tool}", get(rest::tools::show_tool)),
    ]
}

/// Routes of whoever watches over the gateway.
pub(crate) fn health() -> Vec<Route> {
    vec![
        read("/healthz", get(rest::status::healthz)),
        read("/readyz", get(rest::status::readyz)),
    ]
}

/// Every route but the MCP endpoints, for callers that come from the given side.
pub(crate) fn router(app: &Arc<App>, reach: Reach) -> Router {
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
