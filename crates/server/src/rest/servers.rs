//! Servers over REST.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use mcpproxy_gateway::{Caller, ServerStatus};
use mcpproxy_wire::json::to_text;
use serde::Serialize;

#[cfg(feature = "openapi")]
use super::described::refusals::AccessRefusals;
use crate::app::App;
use crate::respond::json_response;

/// The servers behind the gateway.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(crate) struct RestServers {
    servers: Vec<ServerStatus>,
}

/// List the servers
///
/// A token is shown those that it may use, without what only an administrator needs: why one is not ready, what it
/// wrote, and what is dangerous about its settings.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/servers", tag = "servers", operation_id = "list_servers",
    responses((status = 200, description = "The servers", body = RestServers), AccessRefusals),
))]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Response {
    let servers = app.gateway().servers().status_for(&caller.rights);
    json_response(StatusCode::OK, to_text(&RestServers { servers }))
}
