//! A small MCP server over HTTP that has no sessions and takes headers seriously.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use mcpproxy_tests::web::{
    Stream, WebResponse as Answer, WebServer, event, events, json_answer, plain,
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::http_server::{Seen, said};

const REVISION: &str = "2026-07-28";

/// The server, and all that was asked of it.
#[derive(Default)]
pub(crate) struct StatelessServer {
    /// Offers to tell of changes, and does.
    pub(crate) announces: AtomicBool,
    /// Has sessions instead, and refuses everything else with this status.
    pub(crate) refuses_with: AtomicU32,
    has_changed: AtomicBool,
    listeners: Mutex<Vec<mpsc::Sender<Bytes>>>,
    /// Kept until a call that hangs is given up.
    pub(crate) abandoned: watch::Sender<u32>,
    pub(crate) seen: watch::Sender<Vec<Seen>>,
}

/// Counts when the answer it belongs to is no longer awaited.
struct Awaited(Arc<StatelessServer>);

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.abandoned.send_modify(|count| *count += 1);
    }
}

impl StatelessServer {
    /// Listens on a free port.
    pub(crate) async fn start(self: Arc<Self>) -> String {
        let web = WebServer::start(move |request| {
            let server = Arc::clone(&self);
            async move { server.handle(request).await }
        });
        format!("http://{}/mcp", web.await.run_on())
    }

    /// Changes a tool's annotations and tells those who listen.
    pub(crate) async fn change(&self) {
        self.has_changed.store(true, Ordering::SeqCst);
        let listeners = self.listeners.lock().expect("no panics").clone();
        for listener in listeners {
            let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
            let _ = listener.send(event(changed)).await;
        }
    }

    /// Ends every subscription without a word.
    pub(crate) fn hang_up(&self) {
        self.listeners.lock().expect("no panics").clear();
    }

    /// Waits until so many requests of a method came; gives the last of them.
    pub(crate) async fn until(&self, method: &str, count: usize) -> Seen {
        let of_method = |one: &&Seen| one.message["method"] == method;
        let mut seen = self.seen.subscribe();
        let found = seen.wait_for(|seen| seen.iter().filter(of_method).count() >= count);
        let seen = tokio::time::timeout(crate::common::LONG, found)
            .await
            .expect("the request comes")
            .expect("the server lives");
        let last = seen.iter().rfind(of_method);
        last.expect("it was found").clone()
    }

    /// The methods that were asked for, in order.
    pub(crate) fn methods(&self) -> Vec<String> {
        let seen = self.seen.borrow();
        let methods = seen.iter().map(|one| one.message["method"].as_str());
        methods
            .map(|method| method.unwrap_or_default().to_owned())
            .collect()
    }

    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Result<Answer, std::io::Error> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(std::io::Error::other)?;
        let message: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
        let headers = parts.headers.clone();
        self.seen.send_modify(|seen| {
            seen.push(Seen {
                method: parts.method.clone(),
                headers: parts.headers,
                message: message.clone(),
            });
        });
        if parts.method != Method::POST {
            return Ok(plain(StatusCode::METHOD_NOT_ALLOWED));
        }
        let status = u16::try_from(self.refuses_with.load(Ordering::SeqCst)).expect("a status");
        if status != 0 {
            return Ok(with_sessions(status, &message));
        }
        if let Some(wrong) = wrong_header(&headers, &message) {
            return Ok(refusal(400, &message["id"], -32020, wrong));
        }
        Ok(self.answer(&message).await)
    }

    async fn answer(self: &Arc<Self>, message: &Value) -> Answer {
        let id = &message["id"];
        let result = match message["method"].as_str() {
            Some("server/discover") => json!({
                "resultType": "complete", "supportedVersions": [REVISION],
                "capabilities": { "tools": { "listChanged": self.announces.load(Ordering::SeqCst) } },
                "ttlMs": 0, "cacheScope": "public",
                "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "web" } },
            }),
            Some("tools/list") => self.tools(),
            Some("subscriptions/listen") if self.announces.load(Ordering::SeqCst) => {
                let (sender, stream) = Stream::open();
                let acknowledged = json!({
                    "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                    "params": { "notifications": message["params"]["notifications"] },
                });
                let acknowledged = event(&acknowledged.to_string());
                sender.send(acknowledged).await.expect("it is read");
                self.listeners.lock().expect("no panics").push(sender);
                return events(stream);
            }
            Some("tools/call") => match message["params"]["name"].as_str() {
                Some("hang") => {
                    let _awaited = Awaited(Arc::clone(self));
                    std::future::pending().await
                }
                Some("breaks_off") => {
                    let (sender, stream) = Stream::open();
                    let first = Bytes::from("id: first\ndata:\n\n");
                    sender.send(first).await.expect("it is read");
                    return events(stream);
                }
                _ => said(&message["params"]["arguments"]),
            },
            _ => return refusal(404, id, -32601, "no such method"),
        };
        let text = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
        json_answer(Stream::whole(&text))
    }

    fn tools(&self) -> Value {
        let changed = self.has_changed.load(Ordering::SeqCst);
        let wants = |header: &str| {
            json!({ "type": "object", "properties": {
                "region": { "type": "string", "x-mcp-header": header } } })
        };
        json!({
            "resultType": "complete", "ttlMs": 0, "cacheScope": "public",
            "tools": [
                { "name": "target", "inputSchema": {}, "annotations": { "destructiveHint": changed } },
                { "name": "regional", "inputSchema": wants("Region") },
                { "name": "unusable", "inputSchema": wants("no header") },
            ],
        })
    }
}

/// What a server with sessions says, to which all but the greeting is a mistake.
fn with_sessions(status: u16, message: &Value) -> Answer {
    let id = &message["id"];
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
        }),
        Some("tools/list") => json!({ "tools": [{ "name": "old", "inputSchema": {} }] }),
        Some("notifications/initialized") => return plain(StatusCode::ACCEPTED),
        _ => return refusal(status, id, -32000, "Bad Request: Server not initialized"),
    };
    let text = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    json_answer(Stream::whole(&text))
}

fn refusal(status: u16, id: &Value, code: i64, message: &str) -> Answer {
    let error = json!({ "code": code, "message": message });
    let text = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
    let mut answer = json_answer(Stream::whole(&text));
    *answer.status_mut() = StatusCode::from_u16(status).expect("a status");
    answer
}

/// What the headers of a request do not say as its body does.
fn wrong_header(headers: &HeaderMap, message: &Value) -> Option<&'static str> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let meta = &message["params"]["_meta"];
    let revision = meta["io.modelcontextprotocol/protocolVersion"].as_str();
    let name = message["params"]["name"].as_str();
    if header("mcp-protocol-version") != Some(REVISION) || revision != Some(REVISION) {
        return Some("MCP-Protocol-Version");
    }
    if !meta["io.modelcontextprotocol/clientCapabilities"].is_object() {
        return Some("clientCapabilities");
    }
    if header("mcp-method") != message["method"].as_str() {
        return Some("Mcp-Method");
    }
    let is_encoded = header("mcp-name").is_some_and(|name| name.starts_with("=?base64?"));
    if !is_encoded && header("mcp-name") != name {
        return Some("Mcp-Name");
    }
    headers
        .contains_key("mcp-session-id")
        .then_some("Mcp-Session-Id")
}
