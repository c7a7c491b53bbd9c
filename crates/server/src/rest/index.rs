//! The REST interface itself: what there is.

use std::sync::Arc;

use axum::Extension;
use axum::response::Response;
use http::StatusCode;
use mcpproxy_gateway::Caller;
use mcpproxy_policy::AccessTo;
use mcpproxy_wire::json::to_text;
use serde::Serialize;

#[cfg(feature = "openapi")]
use super::described::refusals::AccessRefusals;
use crate::respond::json_response;

/// Routes that there are, beside each request.
pub(crate) struct RouteTable(pub(crate) Vec<ListedRoute>);

/// Route of the table.
pub(crate) struct ListedRoute {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// Whether agents with a token may use it.
    pub(crate) is_for_tokens: bool,
}

/// The routes of this interface.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(crate) struct RestIndex {
    version: &'static str,
    /// Where everything is described for programs.
    description: &'static str,
    routes: Vec<RestRoute>,
}

/// One route.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
struct RestRoute {
    method: String,
    path: String,
}

/// List what there is
///
/// A token is shown the routes that it may use.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1", tag = "gateway", operation_id = "list_routes",
    responses((status = 200, description = "The routes", body = RestIndex), AccessRefusals),
))]
pub(crate) async fn list(
    Extension(caller): Extension<Arc<Caller>>,
    Extension(table): Extension<Arc<RouteTable>>,
) -> Response {
    let is_administrator = caller.rights.allow(AccessTo::Administration);
    let routes = table.0.iter();
    let routes = routes.filter(|route| is_administrator || route.is_for_tokens);
    let routes = routes.map(|route| RestRoute {
        method: route.method.to_uppercase(),
        path: format!("/api/v1{}", route.path.trim_end_matches('/')),
    });
    let index = RestIndex {
        version: env!("CARGO_PKG_VERSION"),
        description: "/api/v1/openapi.json",
        routes: routes.collect(),
    };
    json_response(StatusCode::OK, to_text(&index))
}
