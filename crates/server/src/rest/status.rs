//! State of the gateway over REST.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use mcpproxy_gateway::servers::METRICS_FORMAT;
use mcpproxy_gateway::settings;
use mcpproxy_wire::json::to_text;
use serde::Serialize;

#[cfg(feature = "openapi")]
use super::described::refusals::AccessRefusals;
use crate::app::App;
use crate::respond::json_response;

/// Whether the gateway lives.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(crate) struct Health {
    status: &'static str,
}

/// Whether the gateway takes calls.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Readiness))]
pub(crate) struct ReadinessAnswer {
    status: &'static str,
    /// How many servers have not answered yet; a call waits for its own server only.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    servers_starting: usize,
}

/// Whether the process runs
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/healthz", tag = "gateway", operation_id = "healthz",
    responses((status = 200, description = "It does", body = Health), AccessRefusals),
    security((), ("api_key" = []), ("bearer" = [])),
))]
pub(crate) async fn healthz() -> Response {
    json_response(StatusCode::OK, to_text(&Health { status: "ok" }))
}

/// Whether the gateway takes calls
///
/// Servers that are starting do not hold it back: a call waits for its own server only.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/readyz", tag = "gateway", operation_id = "readyz",
    responses((status = 200, description = "It does", body = ReadinessAnswer), AccessRefusals),
    security((), ("api_key" = []), ("bearer" = [])),
))]
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Response {
    let readiness = ReadinessAnswer {
        status: "ready",
        servers_starting: app.gateway().servers().starting().len(),
    };
    json_response(StatusCode::OK, to_text(&readiness))
}

/// Metrics of the tools of the contract inside the gateway
///
/// Counts, times, errors and answers of the cache per tool, as `OpenMetrics` text. Nobody on this machine needs a
/// key; a token is refused.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/metrics", tag = "gateway", operation_id = "metrics",
    responses(
        (status = 200, description = "The metrics", body = String,
            content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8"),
        AccessRefusals,
    ),
    security((), ("api_key" = []), ("bearer" = [])),
))]
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let mut response = Response::new(app.gateway().servers().contract_metrics().into());
    let format = HeaderValue::from_static(METRICS_FORMAT);
    response.headers_mut().insert(header::CONTENT_TYPE, format);
    response
}

/// Show the state of the gateway and of its servers
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/status", tag = "gateway", operation_id = "show_status",
    responses((status = 200, description = "The state", body = mcpproxy_gateway::status::GatewayStatus), AccessRefusals),
))]
pub(crate) async fn status(State(app): State<Arc<App>>) -> Response {
    let status = app.gateway().status(app.address.to_string()).await;
    json_response(StatusCode::OK, to_text(&status))
}

/// Show the configuration in force, secrets masked
///
/// `mcpproxy config schema` prints what it can have.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/config", tag = "gateway", operation_id = "show_config",
    responses((status = 200, description = "The configuration, as the file could say it", body = Object), AccessRefusals),
))]
pub(crate) async fn config(State(app): State<Arc<App>>) -> Response {
    let shown = settings::effective(&app.gateway().settings());
    json_response(StatusCode::OK, shown.to_string())
}
