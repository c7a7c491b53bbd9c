//! Talking to the running gateway through the socket in its data directory.

use mcpproxy_wire::header as wire_header;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;

/// The socket's name in the data directory.
const SOCKET: &str = "mcpproxy.sock";

/// A call may take as long as its server's timeout, of at most an hour, and a little more.
const ANSWER_TIME: Duration = Duration::from_mins(65);

/// The largest answer that is read.
const ANSWER_LIMIT: usize = 64 * 1024 * 1024;

/// Names an MCP session.
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static(wire_header::SESSION_ID);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static(wire_header::LAST_EVENT_ID);

/// The running gateway.
#[derive(Debug, Clone)]
pub(crate) struct Daemon {
    socket: PathBuf,
}

/// Response of the daemon, read to its end.
#[derive(Debug)]
pub(crate) struct DaemonResponse {
    pub(crate) status: StatusCode,
    pub(crate) session_id: Option<HeaderValue>,
    pub(crate) body: Bytes,
}

/// An answer that comes piece by piece, for as long as it takes.
pub(crate) struct Stream {
    pub(crate) status: StatusCode,
    headers: HeaderMap,
    body: Incoming,
    driver: JoinHandle<hyper::Result<()>>,
}

/// Where the socket of a data directory is.
pub(crate) fn socket_path(data_dir: &Path) -> PathBuf {
    data_dir.join(SOCKET)
}

impl Daemon {
    /// Finds the running gateway of a data directory.
    pub(crate) async fn find(data_dir: &Path) -> Option<Self> {
        let daemon = Self {
            socket: socket_path(data_dir),
        };
        // A socket that nobody listens on was left behind by a gateway that was killed.
        daemon.listens().await.then_some(daemon)
    }

    /// Whether the gateway still listens.
    pub(crate) async fn listens(&self) -> bool {
        UnixStream::connect(&self.socket).await.is_ok()
    }

    /// Reads something.
    pub(crate) async fn get(&self, path: &str) -> Result<DaemonResponse, String> {
        self.send(Method::GET, path, HeaderMap::new(), Bytes::new())
            .await
    }

    /// Begins to read something that may go on for long, or without an end. `last_event_id` says
    /// where an earlier stream of events broke.
    pub(crate) async fn open(
        &self,
        path: &str,
        last_event_id: Option<&str>,
    ) -> Result<Stream, String> {
        let mut request = request(Method::GET, path, Bytes::new())?;
        let id = last_event_id.map(HeaderValue::try_from).transpose();
        if let Some(id) = id.map_err(|error| format!("the request cannot be sent: {error}"))? {
            request.headers_mut().insert(LAST_EVENT_ID, id);
        }
        self.stream(request).await
    }

    async fn stream(&self, request: Request<Full<Bytes>>) -> Result<Stream, String> {
        let (response, driver) = self.exchange(request).await.map_err(unreachable)?;
        let (parts, body) = response.into_parts();
        Ok(Stream {
            status: parts.status,
            headers: parts.headers,
            body,
            driver,
        })
    }

    /// Sends something.
    pub(crate) async fn post(&self, path: &str, body: Bytes) -> Result<DaemonResponse, String> {
        self.send(Method::POST, path, HeaderMap::new(), body).await
    }

    /// Sends an MCP message with the headers that belong to it. The answer is one message, or a
    /// stream of them.
    pub(crate) async fn message(&self, headers: HeaderMap, body: Bytes) -> Result<Stream, String> {
        let mut request = request(Method::POST, "/mcp", body)?;
        request.headers_mut().extend(headers);
        let answered = self.stream(request);
        tokio::time::timeout(ANSWER_TIME, answered)
            .await
            .map_err(|_| too_late())?
    }

    /// Opens the stream of changes to a session.
    pub(crate) async fn changes(&self, session_id: HeaderValue) -> Result<Stream, String> {
        let mut request = request(Method::GET, "/mcp", Bytes::new())?;
        request.headers_mut().insert(SESSION_ID, session_id);
        self.stream(request).await
    }

    /// Ends an MCP session.
    pub(crate) async fn end_session(
        &self,
        session_id: HeaderValue,
    ) -> Result<DaemonResponse, String> {
        let headers = HeaderMap::from_iter([(SESSION_ID, session_id)]);
        self.send(Method::DELETE, "/mcp", headers, Bytes::new())
            .await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<DaemonResponse, String> {
        let mut request = request(method, path, body)?;
        request.headers_mut().extend(headers);
        let answered = async {
            let (response, driver) = self.exchange(request).await?;
            let session_id = response.headers().get(SESSION_ID).cloned();
            let status = response.status();
            let body = Limited::new(response.into_body(), ANSWER_LIMIT)
                .collect()
                .await?
                .to_bytes();
            driver.abort();
            Ok(DaemonResponse {
                status,
                session_id,
                body,
            })
        };
        tokio::time::timeout(ANSWER_TIME, answered)
            .await
            .map_err(|_| too_late())?
            .map_err(unreachable)
    }

    /// Sends a request and gives the answer as soon as its head is there, with the task that
    /// drives the connection: it ends with the connection.
    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, JoinHandle<hyper::Result<()>>), Broken> {
        let stream = UnixStream::connect(&self.socket).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let driver = tokio::spawn(connection);
        Ok((sender.send_request(request).await?, driver))
    }
}

// === impl Stream ===

impl Stream {
    /// Whether it is a stream of events, and not one message.
    pub(crate) fn has_events(&self) -> bool {
        self.header("content-type")
            .is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// A header of the answer.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let value = self.headers.get(name)?;
        value.to_str().ok().map(str::to_owned)
    }

    /// The next bytes; nothing at the end. An answer that broke off is an error.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, String> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| format!("the gateway broke off: {error}"))?;
            if let Ok(bytes) = frame.into_data() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    /// The rest, as a whole.
    pub(crate) async fn collect(mut self) -> Result<DaemonResponse, String> {
        let mut body = Vec::new();
        while let Some(bytes) = self.next().await? {
            body.extend_from_slice(&bytes);
            if body.len() > ANSWER_LIMIT {
                return Err("the gateway's answer is too large".to_owned());
            }
        }
        Ok(DaemonResponse {
            status: self.status,
            session_id: self.headers.get(SESSION_ID).cloned(),
            body: body.into(),
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

type Broken = Box<dyn std::error::Error + Send + Sync>;

fn request(method: Method, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>, String> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/json")
        .header(
            header::USER_AGENT,
            concat!("mcpproxy-cli/", env!("CARGO_PKG_VERSION")),
        )
        .body(Full::new(body))
        .map_err(|error| format!("the request cannot be sent: {error}"))
}

fn too_late() -> String {
    "the gateway did not answer in time".to_owned()
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what `map_err` hands over"
)]
fn unreachable(error: Broken) -> String {
    format!("the gateway could not be reached: {error}")
}
