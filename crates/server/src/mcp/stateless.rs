//! MCP over HTTP without sessions.
//!
//! Whoever stands between a client and us may decide by the headers alone. So they have to say
//! what the message says, or the request is refused.

use axum::response::Response;
use http::{HeaderMap, StatusCode};
use mcpproxy_gateway::tokens::Admission;
use mcpproxy_wire::method::Method;
use mcpproxy_wire::rpc::{METHOD_NOT_FOUND, RpcError};
use mcpproxy_wire::stateless::unsupported_version;
use mcpproxy_wire::{Protocol, ResultText, Revision, header};

use super::head::{HttpHead, names_stateless_revision};
use super::header_mirror::{self, mismatch, single};
use super::reply::{AnswerFormat, respond};
use crate::access::caller;
use crate::exchange::dispatch::response;
use crate::exchange::reply::Delivery;
use crate::exchange::request::RequestMessage;

/// Codes of errors about headers, capabilities and revisions.
const REQUEST_ERRORS: std::ops::RangeInclusive<i64> = -32022..=-32020;

/// Answers a request.
pub(super) async fn answer(
    head: &HttpHead<'_>,
    format: AnswerFormat,
    message: RequestMessage,
) -> Response {
    let (id, method) = (message.id.clone(), message.method);
    let refuse = |error| format.answer(StatusCode::BAD_REQUEST, response(&id, Err(error)));
    if let Err(error) = check(head.headers, &message) {
        return refuse(error);
    }
    if method == Method::ToolsCall
        && let Some(scope) = head.endpoint.scope()
        // Boxed, so that the future of a call stays small.
        && let mirrored = header_mirror::check(head, scope, &message.params)
        && let Err(error) = Box::pin(mirrored).await
    {
        return refuse(error);
    }
    let Admission { rights, ended } = head.admission.clone();
    let caller = caller::stateless(head.headers, &message.params, rights, head.peer);
    let request = message.into_request(Protocol::Stateless, &head.endpoint, caller, None, ended);
    let delivery = format.delivery();
    let reply = head.app.exchange.dispatch(request, delivery).await;
    let status = |result: &Result<ResultText, RpcError>| status_of(method, delivery, result);
    respond(format, id.clone(), reply, None, status).await
}

/// Status that tells whether the request itself was wrong, as only this protocol has it.
fn status_of(
    method: Method,
    delivery: Delivery,
    result: &Result<ResultText, RpcError>,
) -> StatusCode {
    match result {
        Err(_) if method == Method::SubscriptionsListen && delivery == Delivery::AnswerOnly => {
            StatusCode::NOT_ACCEPTABLE
        }
        Err(_) if method == Method::SubscriptionsListen => StatusCode::BAD_REQUEST,
        Err(error) if error.code == METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        Err(error) if REQUEST_ERRORS.contains(&error.code) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Refuses a request that does not, or whose headers do not, fulfil all that they must before the method is looked at.
fn check(headers: &HeaderMap, message: &RequestMessage) -> Result<(), RpcError> {
    let named = single(headers, header::PROTOCOL_VERSION)?;
    let given = message.params.revision();
    match (&given, named) {
        (None, Some(named))
            if !names_stateless_revision(headers) || Revision::parse(named).is_none() =>
        {
            return Err(unsupported_version(named));
        }
        (Some(given), Some(named)) if given != named => {
            return Err(mismatch(
                header::PROTOCOL_VERSION,
                "is not the revision in _meta",
            ));
        }
        (Some(_), None) => return Err(mismatch(header::PROTOCOL_VERSION, "is missing")),
        _ => {}
    }
    message.params.check_stateless()?;
    match single(headers, header::METHOD)? {
        None => return Err(mismatch(header::METHOD, "is missing")),
        Some(method) if method != message.method_name => {
            return Err(mismatch(header::METHOD, "is not the method of the message"));
        }
        Some(_) => {}
    }
    header_mirror::check_name(headers, message)
}
