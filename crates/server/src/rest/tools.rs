//! Tools over REST.

use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, Request, State};
use http::StatusCode;
use mcpproxy_gateway::search::ToolListRequest;
use mcpproxy_gateway::{Code, Failure};
use mcpproxy_policy::{Caller, Operation};
use mcpproxy_wire::Json;
use mcpproxy_wire::json::{Fields, to_text};
use serde::Deserialize;
use serde_json::Value;

use super::activity::unreadable_path;
#[cfg(feature = "openapi")]
use super::described::refusals::{
    AccessRefusals, CallRefusals, InvalidRefusals, MissingRefusals, StoreRefusals,
};
#[cfg(feature = "openapi")]
use super::described::schemas;
use crate::app::App;
use crate::body;
use crate::respond::{RestResult, error_response, json_response};

/// Message about a call through no variant.
const UNKNOWN_VARIANT: &str =
    "variant must be call_tool_read, call_tool_write or call_tool_destructive";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolsQuery {
    q: Option<String>,
    server: Option<String>,
    #[serde(default)]
    explain: bool,
}

/// List tools, or search them
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/tools", tag = "tools", operation_id = "list_tools",
    params(
        ("q" = Option<String>, Query, description = "What the tool should do; all tools without it"),
        ("server" = Option<String>, Query, description = "Only tools of this server"),
        ("explain" = Option<bool>, Query, description = "Why each tool was found, with a search"),
    ),
    responses((status = 200, description = "The tools", body = schemas::ToolListSchema), InvalidRefusals, AccessRefusals, MissingRefusals),
))]
pub(crate) async fn list_tools(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    query: Result<Query<ToolsQuery>, QueryRejection>,
) -> RestResult {
    let Query(ToolsQuery { q, server, explain }) = query.map_err(|error| {
        let problem = error.body_text();
        invalid(&format!(
            "The query is not valid: {problem}; allowed are q, server and explain"
        ))
    })?;
    let search = app.gateway().search();
    let request = ToolListRequest {
        query: q.as_deref(),
        server: server.as_deref(),
        explain,
    };
    answered(search.list_tools(request, &caller.rights).await)
}

/// Show one tool with its schema
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/tools/{server}/{tool}", tag = "tools", operation_id = "show_tool",
    params(
        ("server" = String, Path, description = "The server"),
        ("tool" = String, Path, description = "The tool"),
    ),
    responses((status = 200, description = "The tool", body = schemas::ToolSchema), InvalidRefusals, AccessRefusals, MissingRefusals),
))]
pub(crate) async fn show_tool(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> RestResult {
    let Path((server, tool)) = path.map_err(|_| unreadable_path())?;
    let search = app.gateway().search();
    answered(search.show_tool(&format!("{server}:{tool}"), &caller.rights))
}

/// Call a tool
///
/// The same checks as through MCP, and the same record. An error of the tool itself is a result
/// with `isError`.
#[cfg_attr(feature = "openapi", utoipa::path(
    post, path = "/api/v1/tools/call", tag = "tools", operation_id = "call_tool",
    request_body = schemas::CallRequestSchema,
    responses(
        (status = 200, description = "The server's result", body = schemas::CallToolResultSchema),
        InvalidRefusals, AccessRefusals, MissingRefusals, CallRefusals, StoreRefusals,
    ),
))]
pub(crate) async fn call_tool(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    request: Request,
) -> RestResult {
    let bytes = body::read(request.into_body()).await;
    let bytes = bytes.map_err(|_| invalid("The request is too large or broke off"))?;
    let (variant, arguments) = read_call(&bytes)?;
    let gateway = app.gateway();
    let outcome = match variant {
        None => {
            let fields = arguments.fields().unwrap_or_default();
            let name = fields.text("name").unwrap_or("tools/call".into());
            let failure = invalid(UNKNOWN_VARIANT);
            let size = arguments.text().len();
            gateway.refuse_unread(&name, size, failure, &caller).await
        }
        Some(variant) => match gateway.read_call(variant, &arguments) {
            Ok(request) => gateway.call(request, &caller, None).await,
            Err(unreadable) => gateway.refuse_call(unreadable, &caller).await,
        },
    };
    Ok(match &outcome.result {
        Ok(_) => json_response(StatusCode::OK, outcome.to_call_tool_result()),
        Err(failure) => error_response(failure, &outcome.error_answer(failure)),
    })
}

/// Splits `{ variant, name, args, intent }` into the variant, if it is one, and what the variant takes.
fn read_call(bytes: &[u8]) -> Result<(Option<Operation>, Json), Failure> {
    let fields: Fields<'_> = serde_json::from_slice(bytes)
        .map_err(|error| invalid(&format!("The request is not a JSON object: {error}")))?;
    let variant = fields
        .text("variant")
        .and_then(|word| Operation::of_variant(&word).or_else(|| Operation::parse(&word)));
    let arguments = Json::parse(to_text(&fields.without("variant")));
    let arguments = arguments.map_err(|error| invalid(&error.to_string()))?;
    Ok((variant, arguments))
}

fn invalid(message: &str) -> Failure {
    Failure::new(Code::InvalidArguments, message)
}

fn answered(result: Result<Value, Failure>) -> RestResult {
    Ok(json_response(StatusCode::OK, result?.to_string()))
}
