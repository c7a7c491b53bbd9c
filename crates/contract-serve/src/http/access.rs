//! Access of a request, by its bearer token.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::{HttpResponse, plain};
use crate::ServiceCaller;

/// Time that an authorizer has. It stands before every call, so it has to be quick.
const DECISION_TIME: Duration = Duration::from_secs(10);

/// Reason why a token opens nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenRefusal {
    /// It is not known, expired or withdrawn: 401.
    Invalid,
    /// Nobody can tell now, because what knows the tokens does not answer: 503.
    Unavailable,
}

/// Function from a token to whom it belongs.
pub(super) type Authorizer =
    Arc<dyn Fn(String) -> BoxFuture<'static, Result<ServiceCaller, TokenRefusal>> + Send + Sync>;

/// Sender of the request, or the reason why it does not come in. Without an authorizer no token can be valid,
/// and what is sent and not valid is refused, never ignored: its sender believes that it is somebody.
pub(super) async fn caller(
    authorizer: Option<&Authorizer>,
    headers: &HeaderMap,
) -> Result<ServiceCaller, HttpResponse> {
    let decision = match (authorizer, headers.contains_key(header::AUTHORIZATION)) {
        (None, false) => Ok(ServiceCaller::owner()),
        (Some(_), false) => {
            let text = "A token is required: send it as `Authorization: Bearer`";
            return Err(unauthorized("Bearer", text));
        }
        (None, true) => Err(TokenRefusal::Invalid),
        (Some(authorizer), true) => match bearer(headers) {
            Some(token) => decide(authorizer, token).await,
            None => Err(TokenRefusal::Invalid),
        },
    };
    decision.map_err(|refusal| match refusal {
        TokenRefusal::Invalid => unauthorized(
            "Bearer error=\"invalid_token\"",
            "The credential is not valid here; send a valid token as `Authorization: Bearer`, or none where none is required",
        ),
        TokenRefusal::Unavailable => plain(
            StatusCode::SERVICE_UNAVAILABLE,
            "Tokens cannot be checked now, try again later",
        ),
    })
}

fn unauthorized(challenge: &'static str, text: &str) -> HttpResponse {
    let mut answer = plain(StatusCode::UNAUTHORIZED, text);
    let challenge = HeaderValue::from_static(challenge);
    answer
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, challenge);
    answer
}

/// The token, if exactly one was sent in the one form that is known here.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(only), None) = (sent.next(), sent.next()) else {
        return None;
    };
    let (scheme, token) = only.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.to_owned())
}

/// The decision of an authorizer. One that breaks or takes too long lets nobody in.
async fn decide(authorizer: &Authorizer, token: String) -> Result<ServiceCaller, TokenRefusal> {
    let deciding = AssertUnwindSafe(async { authorizer(token).await }).catch_unwind();
    match tokio::time::timeout(DECISION_TIME, deciding).await {
        Ok(Ok(decision)) => return decision,
        Ok(Err(_)) => tracing::error!("the authorizer panicked"),
        Err(_) => tracing::error!(after = ?DECISION_TIME, "the authorizer did not decide"),
    }
    Err(TokenRefusal::Unavailable)
}
