//! Tokens of agents over REST, for administrators.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::IntoResponse;
use http::StatusCode;
use mcpproxy_gateway::tokens::WantedToken;
use mcpproxy_wire::json::to_text;
use serde::Deserialize;

use super::activity::unreadable_path;
use super::body::read_body;
#[cfg(feature = "openapi")]
use super::described::refusals::{AccessRefusals, InvalidRefusals, MissingRefusals, StoreRefusals};
use crate::app::App;
use crate::respond::{RestResult, json_response};

/// Options of a rotation.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(crate) struct Rotation {
    /// Time until the token expires, such as `30d`, or `never`; as long as before without.
    expires: Option<String>,
}

/// List the tokens
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/tokens", tag = "tokens", operation_id = "list_tokens",
    responses((status = 200, description = "The tokens, without their secrets", body = mcpproxy_gateway::tokens::ShownTokens), AccessRefusals, StoreRefusals),
))]
pub(crate) async fn list(State(app): State<Arc<App>>) -> RestResult {
    let tokens = app.gateway().tokens().list().await?;
    Ok(json_response(StatusCode::OK, to_text(&tokens)))
}

/// Make a token
///
/// `token` in the answer is the secret. It is shown this once.
#[cfg_attr(feature = "openapi", utoipa::path(
    post, path = "/api/v1/tokens", tag = "tokens", operation_id = "create_token",
    request_body = WantedToken,
    responses((status = 201, description = "The token with its secret", body = mcpproxy_gateway::tokens::ShownSecret), InvalidRefusals, AccessRefusals, MissingRefusals, StoreRefusals),
))]
pub(crate) async fn create(State(app): State<Arc<App>>, request: Request) -> RestResult {
    let wanted: WantedToken = read_body(request).await?;
    let token = app.gateway().tokens().create(&wanted).await?;
    Ok(json_response(StatusCode::CREATED, to_text(&token)))
}

/// Show one token
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/tokens/{name}", tag = "tokens", operation_id = "show_token",
    params(("name" = String, Path, description = "The token's name")),
    responses((status = 200, description = "The token, without its secret", body = mcpproxy_gateway::tokens::ShownToken), InvalidRefusals, AccessRefusals, MissingRefusals, StoreRefusals),
))]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    path: Result<Path<String>, PathRejection>,
) -> RestResult {
    let Path(name) = path.map_err(|_| unreadable_path())?;
    let token = app.gateway().tokens().show(&name).await?;
    Ok(json_response(StatusCode::OK, to_text(&token)))
}

/// Give a token another secret
///
/// The one before is refused from then on, and what was opened with it ends. `token` in the answer is the new one, shown
/// this once.
#[cfg_attr(feature = "openapi", utoipa::path(
    post, path = "/api/v1/tokens/{name}/rotate", tag = "tokens", operation_id = "rotate_token",
    params(("name" = String, Path, description = "The token's name")),
    request_body = Option<Rotation>,
    responses((status = 200, description = "The token with its new secret", body = mcpproxy_gateway::tokens::ShownSecret), InvalidRefusals, AccessRefusals, MissingRefusals, StoreRefusals),
))]
pub(crate) async fn rotate(
    State(app): State<Arc<App>>,
    path: Result<Path<String>, PathRejection>,
    request: Request,
) -> RestResult {
    let Path(name) = path.map_err(|_| unreadable_path())?;
    let Rotation { expires } = read_body(request).await?;
    let tokens = app.gateway().tokens();
    let token = tokens.rotate(&name, expires.as_deref()).await?;
    Ok(json_response(StatusCode::OK, to_text(&token)))
}

/// Revoke a token
///
/// It is refused from then on, and what was opened with it ends.
#[cfg_attr(feature = "openapi", utoipa::path(
    delete, path = "/api/v1/tokens/{name}", tag = "tokens", operation_id = "revoke_token",
    params(("name" = String, Path, description = "The token's name")),
    responses((status = 204, description = "It is revoked"), InvalidRefusals, AccessRefusals, MissingRefusals, StoreRefusals),
))]
pub(crate) async fn revoke(
    State(app): State<Arc<App>>,
    path: Result<Path<String>, PathRejection>,
) -> RestResult {
    let Path(name) = path.map_err(|_| unreadable_path())?;
    app.gateway().tokens().revoke(&name).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
