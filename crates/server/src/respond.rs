//! The one place that turns failures into HTTP.

use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, Uri, header};
use mcpproxy_gateway::failure::{ErrorAnswer, ErrorObject, FailureCategory};
use mcpproxy_gateway::{Code, Failure};
use mcpproxy_wire::json::to_text;
use serde_json::Map;
use uuid::Uuid;

/// Response to a REST request, or the failure that it is refused with.
pub(crate) type RestResult = Result<Response, RestRefusal>;

/// Failure that a REST request is refused with.
#[derive(Debug)]
pub(crate) struct RestRefusal(Failure);

/// Period in which an open stream shows that it is alive.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Media type of a stream of events.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A JSON answer.
pub(crate) fn json_response(status: StatusCode, body: impl Into<Body>) -> Response {
    tracing::trace!(target: "mcpproxy::call_path", "the client is answered");
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// Response that is a stream of events.
pub(crate) fn event_stream(body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

impl From<Failure> for RestRefusal {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl IntoResponse for RestRefusal {
    fn into_response(self) -> Response {
        failure_response(&self.0)
    }
}

/// A failure in the shape every face has.
pub(crate) fn failure_response(failure: &Failure) -> Response {
    error_response(failure, &failure.to_answer(Uuid::now_v7()))
}

/// A failure as its answer tells of it.
pub(crate) fn error_response(failure: &Failure, answer: &ErrorAnswer<'_>) -> Response {
    let mut response = json_response(status_of(failure.code), to_text(answer));
    if failure.code == Code::Unauthorized {
        let bearer = HeaderValue::from_static("Bearer");
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, bearer);
    }
    response
}

/// Response where nothing is at this path.
pub(crate) async fn not_found(uri: Uri) -> Response {
    let path: String = uri.path().chars().take(200).collect();
    let message = format!(
        "There is nothing at '{path}'; the MCP endpoint is /mcp, the REST interface is under /api/v1"
    );
    misdirected(StatusCode::NOT_FOUND, "NOT_FOUND", &message)
}

/// The path takes other methods.
pub(crate) async fn method_not_allowed(method: Method, uri: Uri) -> Response {
    let path: String = uri.path().chars().take(200).collect();
    let message = format!("'{path}' does not take {method}");
    let status = StatusCode::METHOD_NOT_ALLOWED;
    misdirected(status, "METHOD_NOT_ALLOWED", &message)
}

/// A request that never got to the gateway, in the shape every error has.
fn misdirected(status: StatusCode, code: &str, message: &str) -> Response {
    let error = ErrorObject {
        code,
        message,
        category: FailureCategory::Validation,
        retryable: false,
        details: Map::new(),
        request_id: Uuid::now_v7(),
    };
    json_response(status, to_text(&ErrorAnswer::new(error)))
}

fn status_of(code: Code) -> StatusCode {
    match code {
        Code::MissingIntent
        | Code::MissingOperationType
        | Code::InvalidOperationType
        | Code::IntentMismatch
        | Code::InvalidSensitivity
        | Code::ReasonTooLong
        | Code::InvalidArguments
        | Code::InvalidToolName => StatusCode::BAD_REQUEST,
        Code::Unauthorized => StatusCode::UNAUTHORIZED,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::UnknownServer | Code::UnknownTool | Code::NotFound => StatusCode::NOT_FOUND,
        Code::ServerMismatch
        | Code::UnannotatedTool
        | Code::ToolDisabled
        | Code::ToolRemoved
        | Code::ServerQuarantined
        | Code::InvalidConfiguration
        | Code::NameTaken => StatusCode::CONFLICT,
        Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::UpstreamUnavailable | Code::UpstreamError => StatusCode::BAD_GATEWAY,
        Code::UpstreamTimeout => StatusCode::GATEWAY_TIMEOUT,
        Code::StoreUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
