//! Who may come in, by the bearer token of the request.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use http::{HeaderMap, header};

use crate::ServiceCaller;

/// How long an authorizer may take. It stands before every call, so it has to be quick.
const DECISION_TIME: Duration = Duration::from_secs(10);

/// Why a token opens nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenRefusal {
    /// It is not known, expired or withdrawn: 401.
    Invalid,
    /// Nobody can tell now, because what knows the tokens does not answer: 503.
    Unavailable,
}

/// From a token to whom it belongs.
#[derive(Clone)]
pub(super) struct Authorizer(Arc<AuthorizeFunction>);

type AuthorizeFunction = dyn Fn(String) -> Pin<Box<dyn Future<Output = Result<ServiceCaller, TokenRefusal>> + Send>>
    + Send
    + Sync;

/// Why a request does not come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessError {
    /// A token is needed, and none was sent.
    Missing,
    /// A token was sent, and it opens nothing.
    Refused(TokenRefusal),
}

/// Who sent the request. Without an authorizer no token can be valid, and what is sent and not
/// valid is refused, never ignored: its sender believes that it is somebody.
pub(super) async fn caller(
    authorizer: Option<&Authorizer>,
    headers: &HeaderMap,
) -> Result<ServiceCaller, AccessError> {
    match (authorizer, headers.contains_key(header::AUTHORIZATION)) {
        (None, false) => Ok(ServiceCaller::owner()),
        (Some(_), false) => Err(AccessError::Missing),
        (None, true) => Err(AccessError::Refused(TokenRefusal::Invalid)),
        (Some(authorizer), true) => {
            let token = bearer(headers).ok_or(AccessError::Refused(TokenRefusal::Invalid))?;
            authorizer.ask(token).await.map_err(AccessError::Refused)
        }
    }
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

// === impl Authorizer ===

impl Authorizer {
    pub(super) fn new<A, F>(authorize: A) -> Self
    where
        A: Fn(String) -> F + Send + Sync + 'static,
        F: Future<Output = Result<ServiceCaller, TokenRefusal>> + Send + 'static,
    {
        Self(Arc::new(move |token| Box::pin(authorize(token))))
    }

    /// An authorizer that breaks or takes too long lets nobody in.
    async fn ask(&self, token: String) -> Result<ServiceCaller, TokenRefusal> {
        let asking = AssertUnwindSafe(async { (self.0)(token).await }).catch_unwind();
        match tokio::time::timeout(DECISION_TIME, asking).await {
            Ok(Ok(decision)) => decision,
            Ok(Err(_)) => {
                tracing::error!("the authorizer panicked");
                Err(TokenRefusal::Unavailable)
            }
            Err(_) => {
                tracing::error!(after = ?DECISION_TIME, "the authorizer did not decide");
                Err(TokenRefusal::Unavailable)
            }
        }
    }
}
