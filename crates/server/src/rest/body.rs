//! Body of a REST request.

use axum::extract::Request;
use mcpproxy_gateway::{Code, Failure};
use serde::de::DeserializeOwned;

use crate::body;

/// Body of a request as JSON; an empty one is an empty object.
pub(super) async fn read_body<T: DeserializeOwned>(request: Request) -> Result<T, Failure> {
    let invalid = |message: String| Failure::new(Code::InvalidArguments, message);
    let bytes = body::read(request.into_body()).await;
    let bytes = bytes.map_err(|_| invalid("The request is too large or broke off".to_owned()))?;
    let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
    serde_json::from_slice(text)
        .map_err(|error| invalid(format!("The request cannot be read: {error}")))
}
