//! Answers that rmcp does not give.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};

/// What a client gets.
pub(super) type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// A text.
pub(super) fn plain(status: StatusCode, text: &str) -> HttpResponse {
    let mut answer = Response::new(Full::new(Bytes::copy_from_slice(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    if !text.is_empty() {
        let kind = HeaderValue::from_static("text/plain; charset=utf-8");
        answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    answer
}
