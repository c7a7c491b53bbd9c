//! Talking to the running gateway through the socket in its data directory.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use mcpproxy_gateway::settings::{self, Sources};
use mcpproxy_wire::header as wire_header;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::task::JoinSet;

use crate::error::CliError;

/// A call may take as long as its server's timeout, of at most an hour, and a little more.
const ANSWER_TIME: Duration = Duration::from_mins(65);

/// The largest answer that is read.
const ANSWER_LIMIT: usize = 64 * 1024 * 1024;

/// Time that a gateway has to come back after it was found gone. One that stops needs up to 18 seconds for what is
/// under way and for its servers, and clients wait for a minute mostly.
pub(crate) const RESTART_TIME: Duration = Duration::from_secs(30);

/// Pause before a gateway that is started again is looked for once more.
pub(crate) const STEP: Duration = Duration::from_millis(50);

const TOO_LATE: &str = "the gateway did not answer in time";

/// Names an MCP session.
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static(wire_header::SESSION_ID);
/// Names the last event that was seen.
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static(wire_header::LAST_EVENT_ID);

/// The running gateway.
#[derive(Debug, Clone)]
pub(crate) struct Daemon {
    socket: PathBuf,
}

/// A request that got no answer.
#[derive(Debug)]
pub(crate) struct LostRequest {
    /// Whether the gateway may have got it. If not, it is safe to send again.
    pub(crate) may_be_sent: bool,
    pub(crate) reason: String,
}

/// An answer that comes piece by piece, for as long as it takes.
pub(crate) struct Stream {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    /// Task of the connection, which ends when the set is dropped.
    _driver: JoinSet<hyper::Result<()>>,
}

/// Path of the socket in a data directory.
pub(crate) fn socket_path(data_dir: &Path) -> PathBuf {
    data_dir.join("mcpproxy.sock")
}

/// Refuses a link in the place of the socket: whoever made it would be told what is for the gateway.
fn check_socket(data_dir: &Path) -> Result<(), CliError> {
    let socket = socket_path(data_dir);
    if !socket.is_symlink() {
        return Ok(());
    }
    Err(CliError::configuration(format!(
        "{} is a symbolic link, and nobody knows where it leads: remove it",
        socket.display()
    )))
}

impl Daemon {
    /// The running gateway of the data directory that the sources name, if one runs.
    pub(crate) async fn find(sources: &Sources) -> Result<Option<Self>, CliError> {
        let data_dir = settings::data_dir(sources)?;
        check_socket(&data_dir)?;
        Ok(Self::listening(&data_dir).await)
    }

    /// The running gateway of the data directory that the sources name.
    pub(crate) async fn require(sources: &Sources) -> Result<Self, CliError> {
        let data_dir = settings::data_dir(sources)?;
        check_socket(&data_dir)?;
        Self::listening(&data_dir).await.ok_or_else(|| {
            CliError::not_reachable(format!(
                "no gateway runs on the data directory {}; start one with `mcpproxy serve`",
                data_dir.display()
            ))
        })
    }

    /// The running gateway of a data directory.
    pub(crate) async fn listening(data_dir: &Path) -> Option<Self> {
        let daemon = Self {
            socket: socket_path(data_dir),
        };
        // A socket that nobody listens on was left behind by a gateway that was killed.
        daemon.listens().await.then_some(daemon)
    }

    /// Whether the gateway still listens.
    pub(crate) async fn listens(&self) -> bool {
        self.connect().await.is_ok()
    }

    /// Connects to the socket, but to no link in its place: whoever made that would be told what is for the gateway.
    async fn connect(&self) -> io::Result<UnixStream> {
        if self.socket.is_symlink() {
            return Err(io::Error::other("the socket is a symbolic link"));
        }
        UnixStream::connect(&self.socket).await
    }

    /// Answer of the REST interface at a path.
    pub(crate) async fn get(&self, path: &str) -> Result<String, CliError> {
        self.ask(Method::GET, path, Bytes::new()).await
    }

    /// Answer of the REST interface to what is sent to a path.
    pub(crate) async fn post(&self, path: &str, body: Bytes) -> Result<String, CliError> {
        self.ask(Method::POST, path, body).await
    }

    /// Answer of the REST interface to the removal of what is at a path.
    pub(crate) async fn delete(&self, path: &str) -> Result<String, CliError> {
        self.ask(Method::DELETE, path, Bytes::new()).await
    }

    async fn ask(&self, method: Method, path: &str, body: Bytes) -> Result<String, CliError> {
        let answer = async {
            let stream = self.stream(method, path, HeaderMap::new(), body).await;
            let stream = stream.map_err(|lost| lost.reason)?;
            Ok((stream.status, stream.collect().await?))
        };
        let (status, body) = in_time(answer).await.map_err(CliError::not_reachable)?;
        if status.is_success() {
            return Ok(String::from_utf8_lossy(&body).into_owned());
        }
        Err(error_in(status, &body))
    }

    /// Begins to read something that may go on for long, or without an end. Headers say where an
    /// earlier stream broke, or which session it is of.
    pub(crate) async fn open(&self, path: &str, headers: HeaderMap) -> Result<Stream, String> {
        let stream = self.stream(Method::GET, path, headers, Bytes::new()).await;
        stream.map_err(|lost| lost.reason)
    }

    /// Sends an MCP message with the headers that belong to it. The answer is one message, or a
    /// stream of them.
    pub(crate) async fn message(
        &self,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Stream, LostRequest> {
        let answer = self.stream(Method::POST, "/mcp", headers, body);
        let answered = tokio::time::timeout(ANSWER_TIME, answer).await;
        answered.unwrap_or_else(|_| Err(LostRequest::sent(TOO_LATE)))
    }

    /// Ends the MCP session that the headers name.
    pub(crate) async fn end_session(&self, headers: HeaderMap) -> Result<Stream, String> {
        let stream = self.stream(Method::DELETE, "/mcp", headers, Bytes::new());
        in_time(async { stream.await.map_err(|lost| lost.reason) }).await
    }

    /// Sends a request and gives the answer as soon as its head is there.
    async fn stream(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Stream, LostRequest> {
        const USER_AGENT: &str = concat!("mcpproxy-cli/", env!("CARGO_PKG_VERSION"));
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, USER_AGENT)
            .body(Full::new(body))
            .map_err(|error| LostRequest {
                may_be_sent: false,
                reason: format!("the request cannot be sent: {error}"),
            })?;
        request.headers_mut().extend(headers);
        let unreached = |error: &dyn std::error::Error, may_be_sent| LostRequest {
            may_be_sent,
            reason: format!("the gateway could not be reached: {error}"),
        };
        let stream = self.connect().await;
        let stream = stream.map_err(|error| unreached(&error, false))?;
        let greeted = http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = greeted.map_err(|error| unreached(&error, false))?;
        let mut driver = JoinSet::new();
        driver.spawn(connection);
        let answer = sender.try_send_request(request).await;
        let answer = answer.map_err(|mut failed| {
            // What is given back was not begun to be written.
            let may_be_sent = failed.take_message().is_none();
            unreached(failed.error(), may_be_sent)
        })?;
        let (parts, body) = answer.into_parts();
        Ok(Stream {
            status: parts.status,
            headers: parts.headers,
            body,
            _driver: driver,
        })
    }
}

// === impl LostRequest ===

impl LostRequest {
    /// Request that the gateway may have got.
    pub(crate) fn sent(reason: impl Into<String>) -> Self {
        Self {
            may_be_sent: true,
            reason: reason.into(),
        }
    }
}

// === impl Stream ===

impl Stream {
    /// Whether it is a stream of events, and not one message.
    pub(crate) fn has_events(&self) -> bool {
        let kind = self.headers.get(header::CONTENT_TYPE);
        kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
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
    pub(crate) async fn collect(self) -> Result<Vec<u8>, String> {
        let body = self.whole().await?;
        body.ok_or_else(|| "the gateway's answer is too large".to_owned())
    }

    /// The rest, as a whole; nothing if it is too large. An answer that broke off is an error.
    pub(crate) async fn whole(mut self) -> Result<Option<Vec<u8>>, String> {
        let mut body = Vec::new();
        while let Some(bytes) = self.next().await? {
            body.extend_from_slice(&bytes);
            if body.len() > ANSWER_LIMIT {
                return Ok(None);
            }
        }
        Ok(Some(body))
    }

    /// The stream if the gateway tells of success, else the error in it.
    pub(crate) async fn successful(self) -> Result<Self, CliError> {
        let status = self.status;
        if status.is_success() {
            return Ok(self);
        }
        let body = self.collect().await.map_err(CliError::not_reachable)?;
        Err(error_in(status, &body))
    }
}

/// Error in an answer of the REST interface.
fn error_in(status: StatusCode, body: &[u8]) -> CliError {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    if body["error"].is_null() {
        return CliError::refused(format!("the gateway answered with status {status}"));
    }
    CliError::of_gateway(body)
}

async fn in_time<T>(answer: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let answered = tokio::time::timeout(ANSWER_TIME, answer).await;
    answered.unwrap_or_else(|_| Err(TOO_LATE.to_owned()))
}

/// Path of something of the REST interface, with the parameters that are given.
pub(crate) fn rest_path<'p>(
    of: &str,
    pairs: impl IntoIterator<Item = (&'p str, &'p str)>,
) -> String {
    let pairs = pairs.into_iter();
    let pairs: Vec<_> = pairs
        .map(|(name, value)| format!("{name}={}", encode(value)))
        .collect();
    let mark = if pairs.is_empty() { "" } else { "?" };
    format!("/api/v1{of}{mark}{}", pairs.join("&"))
}

/// A value as part of a URL: all but the plainest characters are written as their bytes.
pub(crate) fn encode(value: &str) -> impl std::fmt::Display {
    const WRITTEN: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'_')
        .remove(b'.')
        .remove(b'~');
    utf8_percent_encode(value, WRITTEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_parts_are_encoded() {
        assert_eq!(encode("a b/c?é~").to_string(), "a%20b%2Fc%3F%C3%A9~");
    }
}
