//! A small MCP server over HTTP of before Streamable HTTP: all answers come on one stream.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use mcpproxy_tests::web::{Stream, WebResponse as Answer, WebServer, event, events, plain};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::http_server::said;

/// The server, and all that was asked of it.
#[derive(Default)]
pub(crate) struct SseServer {
    /// Where it says that messages go; the right place if it is empty.
    pub(crate) endpoint: Mutex<String>,
    sessions: AtomicU32,
    stream: Mutex<Option<mpsc::Sender<Bytes>>>,
    has_changed: Mutex<bool>,
    pub(crate) seen: watch::Sender<Vec<Value>>,
}

impl SseServer {
    /// Listens on a free port.
    pub(crate) async fn start(self: Arc<Self>) -> String {
        let web = WebServer::start(move |request| {
            let server = Arc::clone(&self);
            async move { server.handle(request).await }
        });
        format!("http://{}/sse", web.await.run_on())
    }

    /// Ends the stream, and the session with it.
    pub(crate) fn hang_up(&self) {
        self.sessions.fetch_add(1, Ordering::SeqCst);
        self.stream.lock().expect("no panics").take();
    }

    /// Changes a tool's annotations and says so.
    pub(crate) async fn change(&self) {
        *self.has_changed.lock().expect("no panics") = true;
        self.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }))
            .await;
    }

    /// Waits until a message came that fits.
    pub(crate) async fn until(&self, fits: impl Fn(&Value) -> bool) {
        let mut seen = self.seen.subscribe();
        tokio::time::timeout(
            crate::common::LONG,
            seen.wait_for(|seen| seen.iter().any(&fits)),
        )
        .await
        .expect("the message comes")
        .expect("the server lives");
    }

    async fn handle(&self, request: Request<Incoming>) -> Result<Answer, std::io::Error> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(std::io::Error::other)?;
        let session = self.sessions.load(Ordering::SeqCst);
        let messages = format!("/messages?session={session}");
        let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
        match parts.method {
            Method::GET if path == "/sse" => {
                let named = self.endpoint.lock().expect("no panics").clone();
                let named = if named.is_empty() { messages } else { named };
                let (sender, stream) = Stream::open();
                let first = Bytes::from(format!("event: endpoint\ndata: {named}\n\n"));
                sender.send(first).await.expect("it is read");
                *self.stream.lock().expect("no panics") = Some(sender);
                Ok(events(stream))
            }
            Method::POST if path == messages => {
                let message: Value = serde_json::from_slice(&body.to_bytes()).expect("JSON");
                self.seen.send_modify(|seen| seen.push(message.clone()));
                if let Some(answer) = self.answer(&message) {
                    self.tell(&answer).await;
                }
                let mut answer = plain(StatusCode::ACCEPTED);
                *answer.body_mut() = Stream::whole("Accepted");
                Ok(answer)
            }
            Method::POST if path.starts_with("/messages") => Ok(plain(StatusCode::NOT_FOUND)),
            _ => Ok(plain(StatusCode::METHOD_NOT_ALLOWED)),
        }
    }

    fn answer(&self, message: &Value) -> Option<Value> {
        let result = match message["method"].as_str()? {
            "initialize" => json!({
                "protocolVersion": "2024-11-05",
                "capabilities": { "tools": { "listChanged": true } },
                "serverInfo": { "name": "streams" },
            }),
            "tools/list" => {
                let changed = *self.has_changed.lock().expect("no panics");
                json!({ "tools": [{ "name": "target", "inputSchema": {},
                    "annotations": { "destructiveHint": changed } }] })
            }
            "tools/call" if message["params"]["name"] != "hang" => {
                said(&message["params"]["arguments"])
            }
            _ => return None,
        };
        Some(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
    }

    async fn tell(&self, message: &Value) {
        let stream = self.stream.lock().expect("no panics").clone();
        if let Some(stream) = stream {
            let _ = stream.send(event(&message.to_string())).await;
        }
    }
}
