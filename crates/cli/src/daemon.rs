//! Talking to the running gateway through the socket in its data directory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

/// The socket's name in the data directory.
const SOCKET: &str = "mcpproxy.sock";

/// A call may take as long as its server's timeout, of at most an hour, and a little more.
const ANSWER_TIME: Duration = Duration::from_secs(3_900);

/// The largest answer that is read.
const ANSWER_LIMIT: usize = 64 * 1024 * 1024;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// The running gateway.
#[derive(Debug, Clone)]
pub(crate) struct Daemon {
    socket: PathBuf,
}

/// What it answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) session_id: Option<HeaderValue>,
    pub(crate) body: Bytes,
}

/// Where the socket of a data directory is.
pub(crate) fn socket_path(data_dir: &Path) -> PathBuf {
    data_dir.join(SOCKET)
}

impl Daemon {
    /// Finds the running gateway of a data directory.
    pub(crate) async fn find(data_dir: &Path) -> Option<Self> {
        let socket = socket_path(data_dir);
        // A socket that nobody listens on was left behind by a gateway that was killed.
        UnixStream::connect(&socket).await.ok()?;
        Some(Self { socket })
    }

    /// Reads something.
    pub(crate) async fn get(&self, path: &str) -> Result<Answer, String> {
        self.send(Method::GET, path, None, Bytes::new()).await
    }

    /// Sends something.
    pub(crate) async fn post(&self, path: &str, body: Bytes) -> Result<Answer, String> {
        self.send(Method::POST, path, None, body).await
    }

    /// Sends an MCP message in a session.
    pub(crate) async fn message(
        &self,
        session_id: Option<HeaderValue>,
        body: Bytes,
    ) -> Result<Answer, String> {
        self.send(Method::POST, "/mcp", session_id, body).await
    }

    /// Ends an MCP session.
    pub(crate) async fn end_session(&self, session_id: HeaderValue) -> Result<Answer, String> {
        self.send(Method::DELETE, "/mcp", Some(session_id), Bytes::new())
            .await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        session_id: Option<HeaderValue>,
        body: Bytes,
    ) -> Result<Answer, String> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .header(
                header::USER_AGENT,
                concat!("mcpproxy-cli/", env!("CARGO_PKG_VERSION")),
            )
            .body(Full::new(body))
            .map_err(|error| format!("the request cannot be sent: {error}"))?;
        if let Some(id) = session_id {
            request.headers_mut().insert(SESSION_ID, id);
        }
        tokio::time::timeout(ANSWER_TIME, self.exchange(request))
            .await
            .map_err(|_| "the gateway did not answer in time".to_owned())?
            .map_err(|error| format!("the gateway could not be reached: {error}"))
    }

    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
        let stream = UnixStream::connect(&self.socket).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // Ends with the connection, which ends with the answer.
        let driver = tokio::spawn(connection);
        let response = sender.send_request(request).await?;
        let status = response.status();
        let session_id = response.headers().get(SESSION_ID).cloned();
        let body = Limited::new(response.into_body(), ANSWER_LIMIT)
            .collect()
            .await?
            .to_bytes();
        driver.abort();
        Ok(Answer {
            status,
            session_id,
            body,
        })
    }
}
