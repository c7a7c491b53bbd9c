//! A server on a free port, and a client that says exactly what a test wants to say.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Request, StatusCode};
use hyper_util::rt::TokioIo;
use mcpproxy_contract_serve::{Http, ServeError, http};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::tools::{self, Event, Waiting};

/// How long anything is waited for before the test fails.
const DEADLINE: Duration = Duration::from_mins(2);

/// A server that ends with the test.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) events: mpsc::UnboundedReceiver<Event>,
    pub(crate) release: Arc<Notify>,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<(), ServeError>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

/// A future within the deadline of the tests.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    let waiting = tokio::time::timeout(DEADLINE, future);
    waiting.await.expect("an answer in time")
}

pub(crate) fn waiting() -> (Waiting, mpsc::UnboundedReceiver<Event>) {
    let (sender, events) = mpsc::unbounded_channel();
    let release = Arc::default();
    let waiting = Waiting {
        events: sender,
        release,
    };
    (waiting, events)
}

impl Server {
    pub(crate) async fn start(configure: impl FnOnce(Http) -> Http) -> Self {
        Self::start_on("127.0.0.1:0", configure).await
    }

    pub(crate) async fn start_on(address: &str, configure: impl FnOnce(Http) -> Http) -> Self {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let (waiting, events) = waiting();
        let release = Arc::clone(&waiting.release);
        let http = configure(http(tools::service_with(waiting)));
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(http.run(listener, async {
            let _ = stopped.await;
        }));
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            events,
            release,
            stop,
            running,
        }
    }

    /// Sends a message with these headers.
    pub(crate) async fn post(&self, headers: &[(&str, &str)], message: &Value) -> Reply {
        let body = message.to_string();
        within(send(self.address, "POST", "/mcp", headers, body)).await
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: String) -> Reply {
        within(send(self.address, method, path, &[], body)).await
    }

    /// Begins a session as this agent.
    pub(crate) async fn initialize(&self, name: &str, version: &str) -> Reply {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": name, "version": version },
        });
        let message =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        self.post(&[], &message).await
    }

    /// Asks for the end; the future is over when the server is.
    pub(crate) fn stop(self) -> impl Future<Output = Result<(), ServeError>> {
        let _ = self.stop.send(());
        async { within(self.running).await.expect("no panic") }
    }
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The `structuredContent` of a result.
    pub(crate) fn structured(&self) -> Value {
        self.json()["result"]["structuredContent"].clone()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).expect("the header");
        value.to_str().expect("text")
    }
}

/// A message that calls a tool.
pub(crate) fn call(id: &Value, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: String,
) -> Reply {
    let stream = TcpStream::connect(address).await.expect("a connection");
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .expect("HTTP");
    // A server may answer and close before it has read all; what it answered is what counts.
    let driving = tokio::spawn(connection);
    let mut request = Request::builder().method(method).uri(path);
    let own = address.to_string();
    let usual = [
        ("host", own.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    for (name, value) in usual {
        if !headers.iter().any(|(given, _)| *given == name) {
            request = request.header(name, value);
        }
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request
        .body(Full::new(Bytes::from(body)))
        .expect("a request");
    let response = sender.send_request(request).await.expect("a response");
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.expect("a body").to_bytes();
    drop(sender);
    driving.abort();
    Reply {
        status: head.status,
        headers: head.headers,
        text: String::from_utf8(bytes.to_vec()).expect("text"),
    }
}
