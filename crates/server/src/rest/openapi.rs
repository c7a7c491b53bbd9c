//! Description of the REST interface for programs.
//!
//! It is made from the handlers (feature `openapi`) into a file of the repository, and that file is what a running
//! gateway serves; a test holds the two together. So who builds the gateway does not compile what makes it.

#[cfg(feature = "openapi")]
mod description;
#[cfg(test)]
#[cfg(feature = "openapi")]
mod tests;

use axum::response::Response;
use http::StatusCode;

#[cfg(feature = "openapi")]
pub use self::description::text as description_text;
#[cfg(feature = "openapi")]
use super::described::refusals::AccessRefusals;
use crate::respond::json_response;

/// Text of the description.
const DESCRIPTION: &str = include_str!("../../../../docs/reference/openapi.json");

/// This description
#[cfg_attr(feature = "openapi", utoipa::path(
    get, path = "/api/v1/openapi.json", tag = "gateway", operation_id = "describe",
    responses((status = 200, description = "An OpenAPI 3.1 document", body = Object), AccessRefusals),
))]
pub(crate) async fn document() -> Response {
    json_response(StatusCode::OK, DESCRIPTION)
}
