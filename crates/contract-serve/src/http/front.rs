//! One HTTP request, from the door to rmcp and back.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::Value;

use super::HttpOptions;
use super::access::{self, AccessError, Authorizer, TokenRefusal};
use super::running_calls::{CallKey, RunningCalls};
use crate::session::{self, Agent, ServedSession, UnknownSession};
use crate::{Handler, ServiceCaller};

/// Where the service is.
pub(super) const PATH: &str = "/mcp";

/// The largest message.
const LARGEST_MESSAGE: usize = 4 * 1024 * 1024;

/// How long a client may take to send its message.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Pages of this machine, on any port.
const OWN_ORIGINS: [&str; 6] = [
    "http://localhost:*",
    "http://127.0.0.1:*",
    "http://[::1]:*",
    "https://localhost:*",
    "https://127.0.0.1:*",
    "https://[::1]:*",
];

/// What a client gets.
type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// The door: who comes in, with what, and what becomes of it.
pub(super) struct Front {
    authorizer: Option<Authorizer>,
    running: Arc<RunningCalls>,
    rmcp: StreamableHttpService<Handler, NeverSessionManager>,
}

/// What of a message matters here; rmcp reads the rest.
#[derive(Default, Deserialize)]
struct MessageHead {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    method: String,
    #[serde(default)]
    params: MessageHeadParams,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageHeadParams {
    #[serde(default)]
    request_id: Value,
    #[serde(default)]
    client_info: Value,
}

impl Front {
    pub(super) fn new(handler: Handler, options: HttpOptions) -> Self {
        let own = OWN_ORIGINS.iter().map(|origin| (*origin).to_owned());
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(LARGEST_MESSAGE)
            .with_allowed_origins(own.chain(options.origins));
        let config = match (options.hosts.is_empty(), &options.authorize) {
            (false, _) => config.with_allowed_hosts(options.hosts),
            (true, Some(_)) => config.disable_allowed_hosts(),
            (true, None) => config,
        };
        let sessions = Arc::new(NeverSessionManager::default());
        Self {
            authorizer: options.authorize,
            running: Arc::default(),
            rmcp: StreamableHttpService::new(move || Ok(handler.clone()), sessions, config),
        }
    }

    /// Whatever comes, there is an answer, and the server goes on.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> HttpResponse {
        let answering = AssertUnwindSafe(self.admit(request)).catch_unwind();
        if let Ok(Ok(answer) | Err(answer)) = answering.await {
            return answer;
        }
        tracing::error!("answering a request panicked");
        plain(
            StatusCode::INTERNAL_SERVER_ERROR,
            "The request failed inside",
        )
    }

    /// Path, caller, session, message; then rmcp.
    async fn admit(&self, request: Request<Incoming>) -> Result<HttpResponse, HttpResponse> {
        let (mut head, body) = request.into_parts();
        if head.uri.path() != PATH {
            let text = format!("There is nothing here; MCP is served under {PATH}");
            return Err(plain(StatusCode::NOT_FOUND, &text));
        }
        let caller = access::caller(self.authorizer.as_ref(), &head.headers);
        let caller = caller.await.map_err(turned_away)?;
        let session = ServedSession::of(&head.headers).map_err(|UnknownSession| {
            let text = "This session did not begin here; send `initialize` to begin one";
            plain(StatusCode::NOT_FOUND, text)
        })?;
        let body = read(body).await?;
        // What cannot be read has no session or cancellation; rmcp says what is wrong with it.
        let message: MessageHead = serde_json::from_slice(&body).unwrap_or_default();
        let key = |request: &Value| key(&caller, &session, request);
        let (own, meant) = (key(&message.id), key(&message.params.request_id));
        head.extensions.insert(caller);
        head.extensions.insert(session);
        let request = Request::from_parts(head, Full::new(body));
        let mut answer = self.run(own, request).await;
        match message.method.as_str() {
            "initialize" if answer.status() == StatusCode::OK => {
                begin_session(&mut answer, &message.params.client_info);
            }
            "notifications/cancelled" if answer.status() == StatusCode::ACCEPTED => {
                if let Some(meant) = meant {
                    self.running.cancel(&meant);
                }
            }
            _ => {}
        }
        Ok(answer)
    }

    /// rmcp's answer, unless the call is cancelled before. Dropping the request ends the call.
    async fn run(&self, key: Option<CallKey>, request: Request<Full<Bytes>>) -> HttpResponse {
        let Some(key) = key else {
            return self.rmcp.handle(request).await;
        };
        let listed = self.running.list(key);
        tokio::select! {
            answer = self.rmcp.handle(request) => answer,
            // Nobody waits for it any more: there is an HTTP answer, and no message in it.
            () = listed.cancelled() => plain(StatusCode::ACCEPTED, ""),
        }
    }
}

/// Where a call can be found by a cancellation; only within a session, whose ids are its own.
fn key(caller: &ServiceCaller, session: &ServedSession, request: &Value) -> Option<CallKey> {
    let is_id = request.is_string() || request.is_number();
    let session = session.id().filter(|_| is_id)?;
    Some(CallKey {
        user: caller.user_id.clone(),
        session,
        request: request.clone(),
    })
}

/// Names the session in the answer to `initialize`.
fn begin_session(answer: &mut HttpResponse, client: &Value) {
    let said = |name: &str| client[name].as_str().unwrap_or_default();
    let id = ServedSession::begin(&Agent::new(said("name"), said("version")));
    if let Ok(id) = HeaderValue::from_str(&id) {
        let name = HeaderName::from_static(session::HEADER);
        answer.headers_mut().insert(name, id);
    }
}

/// The whole message, within bounds of size and time.
async fn read(body: Incoming) -> Result<Bytes, HttpResponse> {
    let reading = Limited::new(body, LARGEST_MESSAGE).collect();
    match tokio::time::timeout(BODY_TIME, reading).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            let text = format!("A message can have {LARGEST_MESSAGE} bytes, this one has more");
            Err(plain(StatusCode::PAYLOAD_TOO_LARGE, &text))
        }
        Ok(Err(_)) => Err(plain(StatusCode::BAD_REQUEST, "The message broke off")),
        Err(_) => {
            let text = format!("The message was not complete after {BODY_TIME:?}");
            Err(plain(StatusCode::REQUEST_TIMEOUT, &text))
        }
    }
}

fn turned_away(turned: AccessError) -> HttpResponse {
    let (status, challenge, text) = match turned {
        AccessError::Missing => (
            StatusCode::UNAUTHORIZED,
            Some("Bearer"),
            "A token is required: send it as `Authorization: Bearer`",
        ),
        AccessError::Refused(TokenRefusal::Invalid) => (
            StatusCode::UNAUTHORIZED,
            Some("Bearer error=\"invalid_token\""),
            "The credential is not valid here; send a valid token as `Authorization: Bearer`, or none where none is required",
        ),
        AccessError::Refused(TokenRefusal::Unavailable) => (
            StatusCode::SERVICE_UNAVAILABLE,
            None,
            "Tokens cannot be checked now, try again later",
        ),
    };
    let mut answer = plain(status, text);
    if let Some(challenge) = challenge {
        let challenge = HeaderValue::from_static(challenge);
        answer
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, challenge);
    }
    answer
}

fn plain(status: StatusCode, text: &str) -> HttpResponse {
    let mut answer = Response::new(Full::new(Bytes::copy_from_slice(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    if !text.is_empty() {
        let kind = HeaderValue::from_static("text/plain; charset=utf-8");
        answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    answer
}
