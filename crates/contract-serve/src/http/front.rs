//! One HTTP request, from the door to rmcp and back.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use mcpproxy_contract::{METRICS_FORMAT, Service};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::Value;

use super::access::{self, Authorizer};
use super::running_calls::{CallKey, RunningCalls};
use super::{Http, HttpResponse, plain};
use crate::context::HttpCaller;
use crate::session::{self, Agent, ServedSession, UnknownSession};
use crate::{Handler, ServeError};

/// Path of the service.
pub(super) const PATH: &str = "/mcp";

/// Path of the metrics.
const METRICS_PATH: &str = "/metrics";

/// The largest message.
const LARGEST_MESSAGE: usize = 4 * 1024 * 1024;

/// Time that a client may take to send its message.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Names of this machine; its pages may call from any port.
const OWN_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The door: who comes in, with what, and what becomes of it.
pub(super) struct Front {
    service: Arc<Service>,
    authorizer: Option<Authorizer>,
    /// Names under which the metrics are given out; any where it is empty.
    hosts: Vec<String>,
    running: Arc<RunningCalls>,
    rmcp: StreamableHttpService<Handler, NeverSessionManager>,
}

impl Front {
    pub(super) fn new(http: Http) -> Result<Self, ServeError> {
        let handler = Handler::new(Arc::clone(&http.service))?;
        let origins = |scheme| OWN_HOSTS.map(|host| format!("{scheme}://{host}:*"));
        let own = ["http", "https"].into_iter().flat_map(origins);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(LARGEST_MESSAGE)
            .with_allowed_origins(own.chain(http.origins));
        let hosts = match (http.hosts.is_empty(), &http.authorizer) {
            (true, None) => OWN_HOSTS.map(str::to_owned).into(),
            _ => http.hosts.clone(),
        };
        let config = match (http.hosts.is_empty(), &http.authorizer) {
            (false, _) => config.with_allowed_hosts(http.hosts),
            (true, Some(_)) => config.disable_allowed_hosts(),
            (true, None) => config,
        };
        let sessions = Arc::new(NeverSessionManager::default());
        Ok(Self {
            service: http.service,
            authorizer: http.authorizer,
            hosts,
            running: Arc::default(),
            rmcp: StreamableHttpService::new(move || Ok(handler.clone()), sessions, config),
        })
    }

    /// Path, caller, session, message; then rmcp. An error is what is answered instead.
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
    ) -> Result<HttpResponse, HttpResponse> {
        let (mut head, body) = request.into_parts();
        match head.uri.path() {
            PATH => {}
            METRICS_PATH => return self.metrics(&head).await,
            _ => {
                let text = format!(
                    "There is nothing here; MCP is served under {PATH}, metrics under {METRICS_PATH}"
                );
                return Err(plain(StatusCode::NOT_FOUND, &text));
            }
        }
        let caller = access::caller(self.authorizer.as_ref(), &head.headers).await?;
        let session = ServedSession::of(&head.headers).map_err(|UnknownSession| {
            let text = "This session did not begin here; send `initialize` to begin one";
            plain(StatusCode::NOT_FOUND, text)
        })?;
        let body = read(body).await?;
        // What cannot be read has no session or cancellation; rmcp says what is wrong with it.
        let MessageHead { method, id, params } = serde_json::from_slice(&body).unwrap_or_default();
        let known = HttpCaller { caller, session };
        let (own, meant) = (key(&known, &id), key(&known, &params.request_id));
        head.extensions.insert(known);
        let request = Request::from_parts(head, Full::new(body));
        let mut answer = self.run(own, request).await;
        match (method.as_str(), answer.status(), meant) {
            ("initialize", StatusCode::OK, _) => begin_session(&mut answer, &params.client_info),
            ("notifications/cancelled", StatusCode::ACCEPTED, Some(meant)) => {
                self.running.cancel(&meant);
            }
            _ => {}
        }
        Ok(answer)
    }

    /// Metrics of the service, for everybody who may call. A page of somebody else that makes a browser ask here does
    /// so under its own name.
    async fn metrics(&self, head: &Parts) -> Result<HttpResponse, HttpResponse> {
        if head.method != Method::GET {
            return Err(plain(
                StatusCode::METHOD_NOT_ALLOWED,
                "Metrics are read with GET",
            ));
        }
        access::caller(self.authorizer.as_ref(), &head.headers).await?;
        let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
        if !self.hosts.is_empty() && !host.is_some_and(|host| is_named(host, &self.hosts)) {
            let text = "The Host header must name this server";
            return Err(plain(StatusCode::FORBIDDEN, text));
        }
        let mut answer = plain(StatusCode::OK, &self.service.metrics());
        let format = HeaderValue::from_static(METRICS_FORMAT);
        answer.headers_mut().insert(CONTENT_TYPE, format);
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
            () = listed.cancelled.notified() => plain(StatusCode::ACCEPTED, ""),
        }
    }
}

/// Whether a host, with or without its port, is one of these names.
fn is_named(host: &str, names: &[String]) -> bool {
    let port = host.rfind(':').filter(|at| !host[*at..].contains(']'));
    let without_port = &host[..port.unwrap_or(host.len())];
    let is_host = |name: &str| {
        [host, without_port]
            .iter()
            .any(|one| one.eq_ignore_ascii_case(name))
    };
    names.iter().any(|name| is_host(name))
}

/// Members of a message that matter here; rmcp reads the rest.
#[derive(Default, Deserialize)]
#[serde(default)]
struct MessageHead {
    id: Value,
    method: String,
    params: MessageHeadParams,
}

/// Members of a message's parameters that matter here.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct MessageHeadParams {
    request_id: Value,
    client_info: Value,
}

/// Key by which a cancellation finds a call; only within a session, whose ids are its own.
fn key(known: &HttpCaller, request: &Value) -> Option<CallKey> {
    let is_id = request.is_string() || request.is_number();
    let session = known.session.as_ref().filter(|_| is_id)?;
    Some(CallKey {
        user: known.caller.user_id.clone(),
        session: session.id.clone(),
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
