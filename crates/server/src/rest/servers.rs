//! Servers over REST: everybody sees those that are for them, administrators change them.

use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use mcpproxy_gateway::settings::edit::{SNIPPET_LIMIT, ServerChange};
use mcpproxy_gateway::{Caller, Code, Failure, ServerStatus};
use mcpproxy_wire::json::to_text;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::activity::unreadable_path;
use super::body::read_body;
#[cfg(feature = "openapi")]
use super::described::refusals::{
    AccessRefusals, ChangeRefusals, InvalidRefusals, MissingRefusals, StartRefusals, StoreRefusals,
    SwitchedOffRefusals, UnlistedRefusals,
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

/// Options of adding a server.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub(crate) struct AddOptions {
    /// Whether it is added although it cannot be started.
    force: bool,
}

/// Add a server
///
/// The body is the entry as the configuration file has it, with the `name` beside. It is written into the file, where
/// comments and order stay, and started. One that cannot be started is taken out again, unless `force` is given.
#[cfg_attr(feature = "openapi", utoipa::path(
    post, path = "/api/v1/servers", tag = "servers", operation_id = "add_server",
    params(AddOptions),
    request_body(content = Object, example = json!({ "name": "files", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/data"] })),
    responses((status = 201, description = "The server, once it has answered", body = mcpproxy_gateway::ServerReport), InvalidRefusals, AccessRefusals, ChangeRefusals, StartRefusals),
))]
pub(crate) async fn add(
    State(app): State<Arc<App>>,
    query: Result<Query<AddOptions>, QueryRejection>,
    request: Request,
) -> RestResult {
    let Query(AddOptions { force }) = query.map_err(|_| {
        invalid("The parameters are not valid, allowed: force, which is true or false")
    })?;
    let mut entry = read_entry(request).await?;
    let Some(Value::String(name)) = entry.shift_remove("name") else {
        return Err(invalid(
            "'name' is missing: the name of the server, beside the keys of its entry",
        )
        .into());
    };
    let gateway = app.gateway();
    let report = gateway.add_server(&name, entry, force).await?;
    Ok(json_response(StatusCode::CREATED, to_text(&report)))
}

/// Show one server
///
/// Its state, its entry with secrets hidden, and its tools in short.
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/servers/{server}", tag = "servers", operation_id = "show_server",
    params(("server" = String, Path, description = "The server's name")),
    responses((status = 200, description = "The server", body = mcpproxy_gateway::ServerReport), InvalidRefusals, AccessRefusals, MissingRefusals),
))]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    path: Result<Path<String>, PathRejection>,
) -> RestResult {
    let Path(server) = path.map_err(|_| unreadable_path())?;
    let report = app.gateway().server_report(&server)?;
    Ok(json_response(StatusCode::OK, to_text(&report)))
}

/// Change the entry of a server
///
/// The keys of the body take the place of those in the entry; null removes a key. It is started anew where that is needed.
#[cfg_attr(feature = "openapi", utoipa::path(
    patch, path = "/api/v1/servers/{server}", tag = "servers", operation_id = "change_server",
    params(("server" = String, Path, description = "The server's name")),
    request_body(content = Object, example = json!({ "timeout": "1m", "idle_stop": null })),
    responses((status = 200, description = "The server, after a while at most", body = mcpproxy_gateway::ServerReport), InvalidRefusals, AccessRefusals, MissingRefusals, ChangeRefusals),
))]
pub(crate) async fn merge(
    State(app): State<Arc<App>>,
    path: Result<Path<String>, PathRejection>,
    request: Request,
) -> RestResult {
    let Path(server) = path.map_err(|_| unreadable_path())?;
    let keys = read_entry(request).await?;
    changed(&app, &server, ServerChange::Merge(keys)).await
}

/// Remove a server
///
/// It is stopped, and its entry is taken out of the configuration file with the comments that belong to it.
#[cfg_attr(feature = "openapi", utoipa::path(
    delete, path = "/api/v1/servers/{server}", tag = "servers", operation_id = "remove_server",
    params(("server" = String, Path, description = "The server's name")),
    responses((status = 204, description = "It is gone"), InvalidRefusals, AccessRefusals, MissingRefusals, ChangeRefusals),
))]
pub(crate) async fn remove(
    State(app): State<Arc<App>>,
    path: Result<Path<String>, PathRejection>,
) -> RestResult {
    let Path(server) = path.map_err(|_| unreadable_path())?;
    app.gateway().remove_server(&server).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Use a server
#[cfg_attr(feature = "openapi", utoipa::path(
    post, path = "/api/v1/servers/{server}/enable", tag = "servers", operation_id = "enable_server",
    params(("server" = String, Path, description = "The server's name")),
    responses((status = 200, description = "The server, after a while at most", body = mcpproxy_gateway::ServerReport), InvalidRefusals, AccessRefusals, MissingRefusals, ChangeRefusals),
))]
pub(crate) async fn enable(
    State(app): State<Arc<App>>,
    path: Result<Path<String>, PathRejection>,
) -> RestResult {
    let Path(server) = path.map_err(|_| unreadable_path())?;
    changed(&app, &server, ServerChange::Enable(true)).await
}

/// Use a server no more
///
/// It is stopped, and its entry stays.
#[cfg_attr(feature = "openapi", utoipa::path(
    post, path = "/api/v1/servers/{server}/disable", tag = "servers", operation_id = "disable_server",
    params(("server" = String, Path, description = "The server's name")),
    responses((status = 200, description = "The server", body = mcpproxy_gateway::ServerReport), InvalidRefusals, AccessRefusals, MissingRefusals, ChangeRefusals),
))]
pub(crate) async fn disable(
    State(app): State<Arc<App>>,
    path: Result<Path<String>, PathRejection>,
) -> RestResult {
    let Path(server) = path.map_err(|_| unreadable_path())?;
    changed(&app, &server, ServerChange::Enable(false)).await
}

/// Start a server anew
///
/// With the configuration, the variables and the secrets of now. Calls that are under way there are lost.
#[cfg_attr(feature = "openapi", utoipa::path(
    post, path = "/api/v1/servers/{server}/restart", tag = "servers", operation_id = "restart_server",
    params(("server" = String, Path, description = "The server's name")),
    responses((status = 200, description = "The server, after a while at most", body = mcpproxy_gateway::ServerReport), InvalidRefusals, AccessRefusals, MissingRefusals, SwitchedOffRefusals, StartRefusals),
))]
pub(crate) async fn restart(
    State(app): State<Arc<App>>,
    path: Result<Path<String>, PathRejection>,
) -> RestResult {
    let Path(server) = path.map_err(|_| unreadable_path())?;
    let report = app.gateway().restart_server(&server).await?;
    Ok(json_response(StatusCode::OK, to_text(&report)))
}

async fn changed(app: &App, server: &str, change: ServerChange) -> RestResult {
    let report = app.gateway().change_server(server, change).await?;
    Ok(json_response(StatusCode::OK, to_text(&report)))
}

/// Entry of a server, or keys of one.
async fn read_entry(request: Request) -> Result<Map<String, Value>, Failure> {
    let entry: Map<String, Value> = read_body(request).await?;
    // It becomes a part of a file that people read.
    if to_text(&entry).len() > SNIPPET_LIMIT {
        return Err(invalid("The entry is larger than the 256 KiB allowed"));
    }
    Ok(entry)
}

fn invalid(message: &str) -> Failure {
    Failure::new(Code::InvalidArguments, message)
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
