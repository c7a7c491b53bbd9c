//! The REST interface.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, Request, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode, header};
use mcpproxy_gateway::{CallRequest, Caller, Code, Failure, settings};
use mcpproxy_policy::Operation;
use mcpproxy_wire::json::Fields;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::App;
use crate::body;
use crate::respond::{failure_response, failure_response_for, json_response};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolsQuery {
    q: Option<String>,
    server: Option<String>,
}

/// The process runs.
pub(crate) async fn healthz() -> Response {
    json_response(StatusCode::OK, r#"{"status":"ok"}"#)
}

/// The gateway takes calls. Servers that are starting do not hold it back: a call waits
/// for its own server only.
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Response {
    let starting = app.gateway.servers_starting();
    let body = json!({ "status": "ready", "servers_starting": starting.len() });
    json_response(StatusCode::OK, body.to_string())
}

/// `GET /status`
pub(crate) async fn status(State(app): State<Arc<App>>) -> Response {
    let mut status = app.gateway.status();
    status["listen"] = json!(app.address.to_string());
    json_response(StatusCode::OK, status.to_string())
}

/// `GET /config`, secrets masked.
pub(crate) async fn config(State(app): State<Arc<App>>) -> Response {
    let shown = settings::effective(&app.gateway.settings());
    json_response(StatusCode::OK, shown.to_string())
}

/// `GET /tools?q=&server=`
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

/// `GET /tools/{server}/{tool}`
pub(crate) async fn show_tool(
    State(app): State<Arc<App>>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Response {
    match path {
        Ok(Path((server, tool))) => answered(app.gateway.show_tool(&format!("{server}:{tool}"))),
        Err(_) => answered(Err(invalid("The path is not UTF-8"))),
    }
}

/// `POST /tools/call`: the same checks as through MCP.
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
    let caller = caller(&parts.headers);
    let outcome = app.gateway.call(variant, request, &caller).await;
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
    })
}

fn answered(result: Result<Value, Failure>) -> Response {
    match result {
        Ok(value) => json_response(StatusCode::OK, value.to_string()),
        Err(failure) => failure_response(&failure),
    }
}
