//! State of the gateway over REST.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use mcpproxy_gateway::settings;
use serde_json::json;

use super::refusals::AccessRefusals;
use super::schemas;
use crate::app::App;
use crate::respond::json_response;

/// Whether the process runs
#[utoipa::path(
    get, path = "/healthz", tag = "gateway", operation_id = "healthz",
    responses((status = 200, description = "It does", body = schemas::HealthSchema), AccessRefusals),
    security((), ("api_key" = []), ("bearer" = [])),
)]
pub(crate) async fn healthz() -> Response {
    json_response(StatusCode::OK, r#"{"status":"ok"}"#)
}

/// Whether the gateway takes calls
///
/// Servers that are starting do not hold it back: a call waits for its own server only.
#[utoipa::path(
    get, path = "/readyz", tag = "gateway", operation_id = "readyz",
    responses((status = 200, description = "It does", body = schemas::ReadinessSchema), AccessRefusals),
    security((), ("api_key" = []), ("bearer" = [])),
)]
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Response {
    let starting = app.gateway().servers().starting();
    let body = json!({ "status": "ready", "servers_starting": starting.len() });
    json_response(StatusCode::OK, body.to_string())
}

/// Show the state of the gateway and of its servers
#[utoipa::path(
    get, path = "/api/v1/status", tag = "gateway", operation_id = "show_status",
    responses((status = 200, description = "The state", body = schemas::GatewayStatusSchema), AccessRefusals),
)]
pub(crate) async fn status(State(app): State<Arc<App>>) -> Response {
    let mut status = app.gateway().status().await;
    status["listen"] = json!(app.address.to_string());
    json_response(StatusCode::OK, status.to_string())
}

/// Show the configuration in force, secrets masked
///
/// `mcpproxy config schema` prints what it can have.
#[utoipa::path(
    get, path = "/api/v1/config", tag = "gateway", operation_id = "show_config",
    responses((status = 200, description = "The configuration, as the file could say it", body = Object), AccessRefusals),
)]
pub(crate) async fn config(State(app): State<Arc<App>>) -> Response {
    let shown = settings::effective(&app.gateway().settings());
    json_response(StatusCode::OK, shown.to_string())
}
