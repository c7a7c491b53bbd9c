//! Servers over REST.

use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::StatusCode;
use mcpproxy_gateway::{Caller, ServerStatus};
use mcpproxy_wire::json::to_text;
use serde::{Deserialize, Serialize};

use super::activity::unreadable_path;
use super::body::read_body;
#[cfg(feature = "openapi")]
use super::described::refusals::{
    AccessRefusals, InvalidRefusals, MissingRefusals, StoreRefusals, UnlistedRefusals,
};
use crate::app::App;
use crate::respond::{RestResult, json_response};

/// The servers behind the gateway.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(crate) struct RestServers {
    servers: Vec<ServerStatus>,
}

/// What is to be accepted.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(crate) struct Acceptance {
    /// The tool, by its own name; every tool of the server without.
    tool: Option<String>,
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

/// Show how a server keeps the tool contract
///
/// Every rule that its tools were seen to break since the gateway started, where the status has the first 100; and the
/// confidence in their answers. Nothing of a server that does not announce the contract.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/servers/{server}/contract", tag = "servers", operation_id = "show_contract",
    params(("server" = String, Path, description = "The server's name")),
    responses((status = 200, description = "What was seen", body = mcpproxy_gateway::ContractStatus), AccessRefusals, MissingRefusals),
))]
pub(crate) async fn show_contract(
    State(app): State<Arc<App>>,
    path: Result<Path<String>, PathRejection>,
) -> RestResult {
    let Path(server) = path.map_err(|_| unreadable_path())?;
    let shown = app.gateway().servers().contract_report(&server)?;
    Ok(json_response(StatusCode::OK, to_text(&shown)))
}

/// Accept what a server announces now
///
/// For a server that announces the tool contract and breaks what it published: what it announces now counts as published
/// from then on, and is no violation any more. Tools that it does not announce any more are forgotten. It is on record.
#[cfg_attr(feature = "openapi", utoipa::path(
    post, path = "/api/v1/servers/{server}/contract/accept", tag = "servers", operation_id = "accept_contract",
    params(("server" = String, Path, description = "The server's name")),
    request_body = Option<Acceptance>,
    responses((status = 200, description = "The tools that changed", body = mcpproxy_gateway::AcceptedTools), InvalidRefusals, AccessRefusals, MissingRefusals, UnlistedRefusals, StoreRefusals),
))]
pub(crate) async fn accept_contract(
    State(app): State<Arc<App>>,
    path: Result<Path<String>, PathRejection>,
    request: Request,
) -> RestResult {
    let Path(server) = path.map_err(|_| unreadable_path())?;
    let Acceptance { tool } = read_body(request).await?;
    let servers = app.gateway().servers();
    let accepted = servers.accept_contract(&server, tool.as_deref()).await?;
    Ok(json_response(StatusCode::OK, to_text(&accepted)))
}
