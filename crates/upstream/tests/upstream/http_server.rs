//! A small MCP server over HTTP that misbehaves on request.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mcpproxy_tests::web::{Stream, WebResponse as Answer, event, events, json_answer, plain};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

/// The server, and all that was asked of it.
#[derive(Default)]
pub(crate) struct Server {
    /// Answer requests with a stream of events.
    pub(crate) answers_with_events: AtomicBool,
    /// Has a stream of its own events.
    pub(crate) has_events: AtomicBool,
    /// Declares that it tells of changes.
    pub(crate) declares_changes: AtomicBool,
    /// Answer every request with this status.
    pub(crate) status: AtomicU32,
    /// How many connections were made to it.
    pub(crate) connections: AtomicU32,
    has_changed: AtomicBool,
    drops_next: AtomicBool,
    /// The answer to a request whose stream broke off.
    kept: Mutex<Option<String>>,
    sessions: AtomicU32,
    listeners: Mutex<Vec<mpsc::Sender<Bytes>>>,
    pub(crate) seen: watch::Sender<Vec<Seen>>,
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) message: Value,
}

impl Server {
    /// Listens on a free port.
    pub(crate) async fn start(self: Arc<Self>) -> String {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .await
            .expect("a free port");
        let address = listener.local_addr().expect("it listens");
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                self.connections.fetch_add(1, Ordering::SeqCst);
                let server = Arc::clone(&self);
                let service = service_fn(move |request| {
                    let server = Arc::clone(&server);
                    async move { server.handle(request).await }
                });
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(socket), service);
                tokio::spawn(connection);
            }
        });
        format!("http://{address}/mcp")
    }

    /// Waits until a request came that fits.
    pub(crate) async fn until(&self, fits: impl Fn(&Seen) -> bool) -> Seen {
        let mut seen = self.seen.subscribe();
        let found = seen.wait_for(|seen| seen.iter().any(&fits));
        let seen = tokio::time::timeout(crate::common::LONG, found)
            .await
            .expect("the request comes")
            .expect("the server lives");
        seen.iter()
            .find(|one| fits(one))
            .expect("it was found")
            .clone()
    }

    /// How many requests of a JSON-RPC method came.
    pub(crate) fn count(&self, method: &str) -> usize {
        let seen = self.seen.borrow();
        seen.iter()
            .filter(|one| one.message["method"] == method)
            .count()
    }

    /// Forgets every session.
    pub(crate) fn expire(&self) {
        self.sessions.fetch_add(1, Ordering::SeqCst);
    }

    /// Changes a tool's annotations, and tells those who listen if there are any.
    pub(crate) async fn change(&self) {
        self.has_changed.store(true, Ordering::SeqCst);
        let listeners = self.listeners.lock().expect("no panics").clone();
        for listener in listeners {
            let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
            let _ = listener.send(event(changed)).await;
        }
    }

    /// Ends every stream of its own events.
    pub(crate) fn hang_up(&self) {
        self.listeners.lock().expect("no panics").clear();
    }

    fn session(&self) -> String {
        format!("session-{}", self.sessions.load(Ordering::SeqCst))
    }

    /// An error ends the connection without an answer.
    async fn handle(&self, request: Request<Incoming>) -> Result<Answer, std::io::Error> {
        let (parts, body) = request.into_parts();
        let body = body
            .collect()
            .await
            .map_err(std::io::Error::other)?
            .to_bytes();
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let session = parts.headers.get("mcp-session-id").cloned();
        let resumes = parts
            .headers
            .get("last-event-id")
            .is_some_and(|id| id == "first");
        self.seen.send_modify(|seen| {
            seen.push(Seen {
                method: parts.method.clone(),
                headers: parts.headers,
                message: message.clone(),
            });
        });
        let status = u16::try_from(self.status.load(Ordering::SeqCst)).expect("a status");
        if status != 0 {
            let answer = Response::builder()
                .status(status)
                .header("location", "http://elsewhere/?key=hidden");
            return Ok(answer.body(Stream::whole("no")).expect("an answer"));
        }
        let is_known = session.is_some_and(|id| id.as_bytes() == self.session().as_bytes());
        if message["method"] != "initialize" && !is_known {
            return Ok(plain(StatusCode::NOT_FOUND));
        }
        match parts.method {
            Method::POST => self.post(&message).await,
            Method::GET if resumes => {
                let kept = self.kept.lock().expect("no panics").take();
                let (sender, stream) = Stream::open();
                let answer = kept.expect("an answer is kept");
                sender.send(event(&answer)).await.expect("it is read");
                Ok(events(stream))
            }
            Method::GET if self.has_events.load(Ordering::SeqCst) => {
                let (sender, stream) = Stream::open();
                self.listeners.lock().expect("no panics").push(sender);
                Ok(events(stream))
            }
            Method::DELETE => Ok(plain(StatusCode::OK)),
            _ => Ok(plain(StatusCode::METHOD_NOT_ALLOWED)),
        }
    }

    async fn post(&self, message: &Value) -> Result<Answer, std::io::Error> {
        if self.drops_next.swap(false, Ordering::SeqCst) {
            return Err(std::io::Error::other("gone"));
        }
        let id = &message["id"];
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-06-18",
                "capabilities": { "tools": {
                    "listChanged": self.declares_changes.load(Ordering::SeqCst) } },
                "serverInfo": { "name": "web" },
            }),
            Some("tools/list") => {
                let changed = self.has_changed.load(Ordering::SeqCst);
                json!({ "tools": [{ "name": "target", "inputSchema": {},
                    "annotations": { "destructiveHint": changed } }] })
            }
            Some("tools/call") => {
                return self.call(id, &message["params"]).await;
            }
            _ => return Ok(plain(StatusCode::ACCEPTED)),
        };
        Ok(self.answer(id, &result).await)
    }

    async fn call(&self, id: &Value, params: &Value) -> Result<Answer, std::io::Error> {
        match params["name"].as_str().expect("a name") {
            "huge" => Ok(json_answer(Stream::whole(&"x".repeat(17 * 1024 * 1024)))),
            "html" => {
                let page = Response::builder().header("content-type", "text/html; charset=utf-8");
                Ok(page.body(Stream::whole("<p>")).expect("an answer"))
            }
            "accepted" => Ok(plain(StatusCode::ACCEPTED)),
            "hang" => std::future::pending().await,
            "drop" => Err(std::io::Error::other("gone")),
            "drop_next" => {
                self.drops_next.store(true, Ordering::SeqCst);
                Ok(self.answer(id, &said(&json!("next"))).await)
            }
            "wrong_id" => Ok(self.answer(&json!(4_000_000), &json!({})).await),
            "garbage" => Ok(json_answer(Stream::whole("{not json"))),
            "rpc_error" => {
                let error = json!({ "code": -32602, "message": "bad arguments" });
                let text = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
                let mut answer = json_answer(Stream::whole(&text));
                *answer.status_mut() = StatusCode::BAD_REQUEST;
                Ok(answer)
            }
            "ask" => {
                let (sender, stream) = Stream::open();
                let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
                sender.send(event(ping)).await.expect("it is read");
                let roots = r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#;
                sender.send(event(roots)).await.expect("it is read");
                let answer = text_answer(id, &json!("asked"));
                sender.send(event(&answer)).await.expect("it is read");
                Ok(events(stream))
            }
            "resumes" => {
                *self.kept.lock().expect("no panics") = Some(text_answer(id, &json!("kept")));
                let (sender, stream) = Stream::open();
                let first = Bytes::from("id: first\ndata:\n\n");
                sender.send(first).await.expect("it is read");
                Ok(events(stream))
            }
            "breaks_off" => {
                let (sender, stream) = Stream::open();
                sender
                    .send(Bytes::from(": nothing\n\n"))
                    .await
                    .expect("it is read");
                Ok(events(stream))
            }
            _ => Ok(self.answer(id, &said(&params["arguments"])).await),
        }
    }

    async fn answer(&self, id: &Value, result: &Value) -> Answer {
        let message = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
        let mut answer = if self.answers_with_events.load(Ordering::SeqCst) {
            let (sender, stream) = Stream::open();
            sender.send(event(&message)).await.expect("it is read");
            events(stream)
        } else {
            json_answer(Stream::whole(&message))
        };
        let session = self.session().parse().expect("a header");
        answer.headers_mut().insert("mcp-session-id", session);
        answer
    }
}

pub(crate) fn said(value: &Value) -> Value {
    json!({ "content": [{ "type": "text", "text": value.to_string() }] })
}

fn text_answer(id: &Value, value: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": said(value) }).to_string()
}
