//! Streamable HTTP under `/mcp`: the SDK's own service, behind a door for what it does not do by itself.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use crate::Protocol;
use crate::handler::Fixture;
use crate::state::Shared;

const PATH: &str = "/mcp";

/// When to come back to a stream that was cut. The SDK hands an answer only to who is there when it is made, so this has to
/// be shorter than the tool takes that cuts its stream.
const RETRY: Duration = Duration::from_millis(100);

/// The largest message.
const LARGEST_MESSAGE: usize = 4 * 1024 * 1024;

/// Where a request without a session says its revision.
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// How long a client may take to send its message.
const BODY_TIME: Duration = Duration::from_secs(30);

/// How long to wait after the system refused to accept, for example without free files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Pages of this machine.
const OWN_ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

type ServerResponse = Response<BoxBody<Bytes, Infallible>>;

/// Serves until the process ends, after a line on standard output that says where.
pub(crate) async fn serve(address: SocketAddr, shared: Arc<Shared>) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("The server cannot listen on {address}"))?;
    announce(listener.local_addr()?);
    let door = Arc::new(Door::new(shared));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(converse(stream, Arc::clone(&door)));
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

#[expect(
    clippy::print_stdout,
    reason = "whoever starts the server reads its address there"
)]
fn announce(address: SocketAddr) {
    println!("listening on http://{address}{PATH}");
}

async fn converse(stream: TcpStream, door: Arc<Door>) {
    // The events of a stream are small; waiting to fill a packet would only delay them.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| async { Ok::<_, Infallible>(door.answer(request).await) });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service);
    // A client that sends garbage or goes away is its own problem.
    let _ = connection.await;
}

struct Door {
    protocol: Protocol,
    rmcp: StreamableHttpService<Fixture, LocalSessionManager>,
}

impl Door {
    fn new(shared: Arc<Shared>) -> Self {
        let protocol = shared.protocol;
        let config = StreamableHttpServerConfig::default()
            .with_allowed_origins(OWN_ORIGINS)
            .with_legacy_session_mode(protocol != Protocol::Stateless);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.sse_retry = Some(RETRY);
        let sessions = Arc::new(sessions);
        let rmcp = StreamableHttpService::new(move || Ok(Fixture::new(&shared)), sessions, config);
        Self { protocol, rmcp }
    }

    async fn answer(&self, request: Request<Incoming>) -> ServerResponse {
        if request.uri().path() != PATH {
            return refuse(
                StatusCode::NOT_FOUND,
                &Value::Null,
                -32600,
                "There is only /mcp here",
            );
        }
        let (parts, body) = request.into_parts();
        let body = Limited::new(body, LARGEST_MESSAGE).collect();
        let Ok(Ok(body)) = tokio::time::timeout(BODY_TIME, body).await else {
            let message = "The message is too large or did not arrive";
            return refuse(StatusCode::BAD_REQUEST, &Value::Null, -32700, message);
        };
        let body = body.to_bytes();
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let version = parts.headers.get("mcp-protocol-version");
        let is_newer = version.is_some_and(|said| {
            said.as_bytes() >= ProtocolVersion::NO_INITIALIZE.as_str().as_bytes()
        });
        if self.protocol == Protocol::Session
            && (is_newer || message["method"] == "server/discover")
        {
            return too_new(&message);
        }
        if self.protocol == Protocol::Stateless && !is_newer && is_old_request(&message) {
            return too_old(&message);
        }
        let answer = self
            .rmcp
            .handle(Request::from_parts(parts, Full::new(body)))
            .await;
        if !is_newer && is_reconnection(&message) {
            return cut(answer).await;
        }
        answer
    }
}

/// What a server says that has never heard of revisions without sessions. The code must be none of those that came with
/// them, by which a client would take it for a newer one.
fn too_new(message: &Value) -> ServerResponse {
    let id = &message["id"];
    if message["method"] == "server/discover" {
        let text = "Method not found: server/discover";
        return refuse(StatusCode::BAD_REQUEST, id, -32601, text);
    }
    let text = "Bad Request: Unsupported protocol version";
    refuse(StatusCode::BAD_REQUEST, id, -32000, text)
}

/// Whether a message is a request that says nothing of a revision without sessions.
fn is_old_request(message: &Value) -> bool {
    message["method"].is_string() && message["params"]["_meta"][META_VERSION].is_null()
}

/// What a server says that has left sessions behind.
fn too_old(message: &Value) -> ServerResponse {
    let requested = message["params"]["protocolVersion"].as_str();
    let data = json!({
        "requested": requested.unwrap_or(ProtocolVersion::V_2025_03_26.as_str()),
        "supported": [ProtocolVersion::V_2026_07_28.as_str()],
    });
    let error = json!({ "code": -32022, "message": "Unsupported protocol version", "data": data });
    failed(StatusCode::BAD_REQUEST, &message["id"], &error)
}

fn refuse(status: StatusCode, id: &Value, code: i32, message: &str) -> ServerResponse {
    failed(status, id, &json!({ "code": code, "message": message }))
}

fn failed(status: StatusCode, id: &Value, error: &Value) -> ServerResponse {
    let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
    let mut response = Response::new(Full::new(Bytes::from(answer.to_string())).boxed());
    *response.status_mut() = status;
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

fn is_reconnection(message: &Value) -> bool {
    message["method"] == "tools/call" && message["params"]["name"] == "test_reconnection"
}

/// Ends a stream after its first event, which says how to come back for the rest. Without a session there is no way
/// back, so this is for sessions alone.
async fn cut(answer: ServerResponse) -> ServerResponse {
    let (parts, mut body) = answer.into_parts();
    let first = match body.frame().await {
        Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
        _ => Bytes::new(),
    };
    Response::from_parts(parts, Full::new(first).boxed())
}
