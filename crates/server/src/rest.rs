//! The REST interface.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, Request, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode, header};
use mcpproxy_gateway::{CallRequest, Code, Failure, settings};
use mcpproxy_policy::Operation;
use mcpproxy_policy::{Caller, Rights};
use mcpproxy_wire::json::Fields;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::App;
use crate::access::Standing;
use crate::body;
use crate::caller::of_request;
use crate::openapi::refusals::{Access, Call, Invalid, Missing, Store};
use crate::openapi::schemas;
use crate::respond::{failure_response, failure_response_for, json_response};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolsQuery {
    q: Option<String>,
    server: Option<String>,
}

/// Whether the process runs
#[utoipa::path(
    get, path = "/healthz", tag = "gateway", operation_id = "healthz",
    responses((status = 200, description = "It does", body = schemas::Health), Access),
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
    responses((status = 200, description = "It does", body = schemas::Readiness), Access),
    security((), ("api_key" = []), ("bearer" = [])),
)]
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Response {
    let starting = app.gateway.servers_starting();
    let body = json!({ "status": "ready", "servers_starting": starting.len() });
    json_response(StatusCode::OK, body.to_string())
}

/// Show the state of the gateway and of its servers
#[utoipa::path(
    get, path = "/api/v1/status", tag = "gateway", operation_id = "show_status",
    responses((status = 200, description = "The state", body = schemas::GatewayStatus), Access),
)]
pub(crate) async fn status(State(app): State<Arc<App>>) -> Response {
    let mut status = app.gateway.status().await;
    status["listen"] = json!(app.address.to_string());
    json_response(StatusCode::OK, status.to_string())
}

/// Show the configuration in force, secrets masked
///
/// `mcpproxy config schema` prints what it can have.
#[utoipa::path(
    get, path = "/api/v1/config", tag = "gateway", operation_id = "show_config",
    responses((status = 200, description = "The configuration, as the file could say it", body = Object), Access),
)]
pub(crate) async fn config(State(app): State<Arc<App>>) -> Response {
    let shown = settings::effective(&app.gateway.settings());
    json_response(StatusCode::OK, shown.to_string())
}

/// List tools, or search them
#[utoipa::path(
    get, path = "/api/v1/tools", tag = "tools", operation_id = "list_tools",
    params(
        ("q" = Option<String>, Query, description = "What the tool should do; all tools without it"),
        ("server" = Option<String>, Query, description = "Only tools of this server"),
    ),
    responses((status = 200, description = "The tools", body = schemas::ToolList), Invalid, Access, Missing),
)]
pub(crate) async fn list_tools(
    State(app): State<Arc<App>>,
    query: Result<Query<ToolsQuery>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let listed = match query {
        Ok(Query(query)) => app
            .gateway
            .list_tools(query.q.as_deref(), query.server.as_deref()),
        Err(error) => Err(Failure::new(
            Code::InvalidArguments,
            format!(
                "The query is not valid: {}; allowed are q and server",
                error.body_text()
            ),
        )),
    };
    answered(listed)
}

/// Show one tool with its schema
#[utoipa::path(
    get, path = "/api/v1/tools/{server}/{tool}", tag = "tools", operation_id = "show_tool",
    params(
        ("server" = String, Path, description = "The server"),
        ("tool" = String, Path, description = "The tool"),
    ),
    responses((status = 200, description = "The tool", body = schemas::Tool), Invalid, Access, Missing),
)]
pub(crate) async fn show_tool(
    State(app): State<Arc<App>>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Response {
    match path {
        Ok(Path((server, tool))) => answered(app.gateway.show_tool(&format!("{server}:{tool}"))),
        Err(_) => answered(Err(invalid("The path is not UTF-8"))),
    }
}

/// Call a tool
///
/// The same checks as through MCP, and the same record. An error of the tool itself is a result
/// with `isError`.
#[utoipa::path(
    post, path = "/api/v1/tools/call", tag = "tools", operation_id = "call_tool",
    request_body = schemas::CallRequest,
    responses(
        (status = 200, description = "The server's result", body = schemas::CallToolResult),
        Invalid, Access, Missing, Call, Store,
    ),
)]
pub(crate) async fn call_tool(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(bytes) = body::read(body).await else {
        return failure_response(&invalid("The request is too large or broke off"));
    };
    let (variant, arguments) = match read_call(&bytes) {
        Ok(read) => read,
        Err(failure) => return failure_response(&failure),
    };
    let request = CallRequest::parse(variant, &arguments);
    let caller = of_request(
        &caller(&parts.headers),
        &parts.headers,
        Standing::Administrator,
    );
    let outcome = match request {
        Ok(request) => app.gateway.call(request, &caller, None).await,
        Err(failure) => app.gateway.refuse_call(variant, failure, &caller).await,
    };
    match &outcome.result {
        Ok(_) => json_response(StatusCode::OK, outcome.to_call_tool_result()),
        Err(failure) => failure_response_for(failure, outcome.request_id),
    }
}

/// Splits `{ variant, name, args, intent }` into the variant and what the variant takes.
fn read_call(bytes: &[u8]) -> Result<(Operation, String), Failure> {
    let fields: Fields<'_> = serde_json::from_slice(bytes)
        .map_err(|error| invalid(&format!("The request is not a JSON object: {error}")))?;
    let variant = fields
        .given("variant")
        .and_then(|raw| serde_json::from_str::<String>(raw.get()).ok())
        .and_then(|word| Operation::of_variant(&word).or_else(|| Operation::parse(&word)))
        .ok_or_else(|| {
            invalid("variant must be call_tool_read, call_tool_write or call_tool_destructive")
        })?;
    let rest: Vec<String> = fields
        .iter()
        .filter(|(name, _)| *name != "variant")
        .map(|(name, value)| format!("{}:{}", Value::from(name), value.get()))
        .collect();
    Ok((variant, format!("{{{}}}", rest.join(","))))
}

fn invalid(message: &str) -> Failure {
    Failure::new(Code::InvalidArguments, message)
}

/// Who calls, as far as a REST client says.
fn caller(headers: &HeaderMap) -> Arc<Caller> {
    let agent = headers
        .get(header::USER_AGENT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("rest");
    let (name, version) = match agent.split_once('/') {
        Some((name, version)) => (name, Some(version.to_owned())),
        None => (agent, None),
    };
    Arc::new(Caller {
        session_id: None,
        client_name: Some(name.chars().take(100).collect()),
        client_version: version.map(|version| version.chars().take(100).collect()),
        trace_id: None,
        // Nobody comes this far without the key or the local socket.
        rights: Rights::Administer,
    })
}

fn answered(result: Result<Value, Failure>) -> Response {
    match result {
        Ok(value) => json_response(StatusCode::OK, value.to_string()),
        Err(failure) => failure_response(&failure),
    }
}
