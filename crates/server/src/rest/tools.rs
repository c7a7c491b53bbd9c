//! Tools over REST.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, Request, State};
use axum::response::Response;
use http::StatusCode;
use mcpproxy_gateway::{CallRequest, Code, Failure};
use mcpproxy_policy::Operation;
use mcpproxy_wire::Json;
use mcpproxy_wire::json::{Fields, JsonError};
use serde::Deserialize;
use serde_json::Value;

use super::refusals::{
    AccessRefusals, CallRefusals, InvalidRefusals, MissingRefusals, StoreRefusals,
};
use super::schemas;
use crate::access::caller;
use crate::app::App;
use crate::body;
use crate::respond::{failure_response, failure_response_for, json_response};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolsQuery {
    q: Option<String>,
    server: Option<String>,
}

/// List tools, or search them
#[utoipa::path(
    get, path = "/api/v1/tools", tag = "tools", operation_id = "list_tools",
    params(
        ("q" = Option<String>, Query, description = "What the tool should do; all tools without it"),
        ("server" = Option<String>, Query, description = "Only tools of this server"),
    ),
    responses((status = 200, description = "The tools", body = schemas::ToolListSchema), InvalidRefusals, AccessRefusals, MissingRefusals),
)]
pub(crate) async fn list_tools(
    State(app): State<Arc<App>>,
    query: Result<Query<ToolsQuery>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let listed = match query {
        Ok(Query(query)) => app
            .gateway()
            .search()
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
    responses((status = 200, description = "The tool", body = schemas::ToolSchema), InvalidRefusals, AccessRefusals, MissingRefusals),
)]
pub(crate) async fn show_tool(
    State(app): State<Arc<App>>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Response {
    match path {
        Ok(Path((server, tool))) => answered(
            app.gateway()
                .search()
                .show_tool(&format!("{server}:{tool}")),
        ),
        Err(_) => answered(Err(invalid("The path is not UTF-8"))),
    }
}

/// Call a tool
///
/// The same checks as through MCP, and the same record. An error of the tool itself is a result
/// with `isError`.
#[utoipa::path(
    post, path = "/api/v1/tools/call", tag = "tools", operation_id = "call_tool",
    request_body = schemas::CallRequestSchema,
    responses(
        (status = 200, description = "The server's result", body = schemas::CallToolResultSchema),
        InvalidRefusals, AccessRefusals, MissingRefusals, CallRefusals, StoreRefusals,
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
    let caller = caller::of_rest(&parts.headers);
    let outcome = match CallRequest::parse(variant, &arguments) {
        Ok(request) => app.gateway().call(request, &caller, None).await,
        Err(failure) => app.gateway().refuse_call(variant, failure, &caller).await,
    };
    match &outcome.result {
        Ok(_) => json_response(StatusCode::OK, outcome.to_call_tool_result()),
        Err(failure) => failure_response_for(failure, outcome.request_id),
    }
}

/// Splits `{ variant, name, args, intent }` into the variant and what the variant takes.
fn read_call(bytes: &[u8]) -> Result<(Operation, Json), Failure> {
    let fields: Fields<'_> = serde_json::from_slice(bytes)
        .map_err(|error| invalid(&format!("The request is not a JSON object: {error}")))?;
    let variant = fields
        .given("variant")
        .and_then(|raw| serde_json::from_str::<String>(raw.get()).ok())
        .and_then(|word| Operation::of_variant(&word).or_else(|| Operation::parse(&word)))
        .ok_or_else(|| {
            invalid("variant must be call_tool_read, call_tool_write or call_tool_destructive")
        })?;
    let arguments = serde_json::to_string(&fields.without("variant")).map_err(JsonError::from);
    let arguments = arguments.and_then(Json::parse);
    let arguments = arguments.map_err(|error| invalid(&error.to_string()))?;
    Ok((variant, arguments))
}

fn invalid(message: &str) -> Failure {
    Failure::new(Code::InvalidArguments, message)
}

fn answered(result: Result<Value, Failure>) -> Response {
    match result {
        Ok(value) => json_response(StatusCode::OK, value.to_string()),
        Err(failure) => failure_response(&failure),
    }
}
