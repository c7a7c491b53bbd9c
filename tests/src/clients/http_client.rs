//! Clients that speak HTTP: a well-behaved one, and raw bytes.

use std::net::SocketAddr;

use bytes::Bytes;
use std::net::IpAddr;

use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::rustls::ClientConfig;

use crate::certificate::believing_nobody;
use crate::clients::{decode, hello};
use crate::{Client, within};

/// A client of the Streamable HTTP endpoint.
#[derive(Debug, Clone)]
pub struct HttpClient {
    http: hyper_util::client::legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    endpoint: String,
    session_id: Option<String>,
    /// Key or token that every request shows.
    credential: Option<String>,
}

/// An answer of the HTTP layer.
#[derive(Debug)]
pub struct HttpResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: String,
}

impl HttpClient {
    /// Opens a session.
    pub async fn connect(endpoint: &str) -> Self {
        Self::connect_with(endpoint, &[]).await
    }

    /// Opens a session with these headers, such as a key.
    pub async fn connect_with(endpoint: &str, headers: &[(&str, &str)]) -> Self {
        Self::without_session(endpoint).opened(headers).await
    }

    /// The same client with a session that it opens now.
    #[must_use]
    pub async fn opened(mut self, headers: &[(&str, &str)]) -> Self {
        let message =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello() });
        let answer = self.post(headers, message.to_string()).await;
        assert_eq!(answer.status, StatusCode::OK, "initialize: {}", answer.body);
        let id = answer
            .headers
            .get("mcp-session-id")
            .expect("the session has an id");
        self.session_id = Some(id.to_str().expect("the id is text").to_owned());
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let answer = self.post(headers, ready.to_string()).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
        self
    }

    /// Opens a session with a key or a token, which every request shows.
    pub async fn connect_as(endpoint: &str, credential: &str) -> Self {
        let client = Self::connect_with(endpoint, &[("x-api-key", credential)]).await;
        client.showing(credential)
    }

    /// The same client, showing a key or a token with every request.
    #[must_use]
    pub fn showing(mut self, credential: &str) -> Self {
        self.credential = Some(credential.to_owned());
        self
    }

    /// A client that has not said hello.
    pub fn without_session(endpoint: &str) -> Self {
        Self::with_tls(endpoint, believing_nobody())
    }

    /// A client that has not said hello, and comes from this address of the machine.
    pub fn from_address(endpoint: &str, address: IpAddr) -> Self {
        Self::through(endpoint, believing_nobody(), Some(address))
    }

    /// A client that has not said hello, and believes the servers that this says.
    pub fn with_tls(endpoint: &str, tls: ClientConfig) -> Self {
        Self::through(endpoint, tls, None)
    }

    fn through(endpoint: &str, tls: ClientConfig, address: Option<IpAddr>) -> Self {
        let mut plain = HttpConnector::new();
        plain.enforce_http(false);
        plain.set_local_address(address);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(plain);
        let http =
            hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(connector);
        Self {
            http,
            endpoint: endpoint.to_owned(),
            session_id: None,
            credential: None,
        }
    }

    /// The id of the session.
    pub fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    /// The same client with another session id, or none.
    #[must_use]
    pub fn with_session(mut self, session_id: Option<&str>) -> Self {
        self.session_id = session_id.map(str::to_owned);
        self
    }

    /// Posts a message; the headers given here replace the usual ones, empty values remove them.
    pub async fn post(&self, headers: &[(&str, &str)], body: String) -> HttpResponse {
        self.send(Method::POST, headers, body).await
    }

    /// Sends any request to the endpoint.
    pub async fn send(
        &self,
        method: Method,
        headers: &[(&str, &str)],
        body: String,
    ) -> HttpResponse {
        let what = format!("{method} {} is answered", self.endpoint);
        within(&what, async {
            let response = self.open(method, headers, body).await;
            let (status, headers) = (response.status(), response.headers().clone());
            let body = response.into_body().collect().await;
            let body = body.expect("the answer arrives whole").to_bytes();
            HttpResponse {
                status,
                headers,
                body: String::from_utf8(body.to_vec()).expect("the answer is UTF-8"),
            }
        })
        .await
    }

    /// Posts a message to a gateway that may go away; nothing if no whole answer came.
    pub async fn try_post(&self, message: String) -> Option<HttpResponse> {
        let response = self.try_open(Method::POST, &[], message).await.ok()?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = within("the answer ends", response.into_body().collect()).await;
        Some(HttpResponse {
            status,
            headers,
            body: String::from_utf8(body.ok()?.to_bytes().to_vec()).ok()?,
        })
    }

    /// Sends any request and gives the answer as soon as its head is there.
    pub async fn open(
        &self,
        method: Method,
        headers: &[(&str, &str)],
        body: String,
    ) -> http::Response<Incoming> {
        let response = self.try_open(method, headers, body).await;
        response.expect("the request is answered")
    }

    async fn try_open(
        &self,
        method: Method,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<http::Response<Incoming>, hyper_util::client::legacy::Error> {
        let usual = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            (
                "mcp-session-id",
                self.session_id.as_deref().unwrap_or_default(),
            ),
            ("x-api-key", self.credential.as_deref().unwrap_or_default()),
        ];
        let replaced = |name: &str| headers.iter().any(|(other, _)| *other == name);
        let kept = usual.iter().filter(|(name, _)| !replaced(name));
        let mut request = Request::builder().method(method).uri(&self.endpoint);
        for (name, value) in kept.chain(headers).filter(|(_, value)| !value.is_empty()) {
            request = request.header(*name, *value);
        }
        let request = request
            .body(Full::new(body.into()))
            .expect("the request is well formed");
        within("the head of the answer arrives", self.http.request(request)).await
    }
}

impl Client for HttpClient {
    async fn exchange(&self, message: String) -> String {
        let answer = self.post(&[], message).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        // A server may say something on the way; the response is then the last event.
        let events = answer.body.lines();
        let last = events
            .filter_map(|line| line.strip_prefix("data: "))
            .next_back();
        last.map_or_else(|| answer.body.clone(), str::to_owned)
    }
}

impl HttpResponse {
    /// The JSON of the body.
    #[track_caller]
    pub fn json(&self) -> Value {
        decode(&self.body)
    }
}

/// What came back for raw bytes.
#[derive(Debug)]
pub struct RawResponse {
    /// Whether everything was taken.
    pub sent_all: bool,
    /// The head and body of the answer; empty if the connection was closed without one.
    pub text: String,
}

/// What a raw client does when it has sent everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Afterwards {
    /// It waits for the answer.
    Wait,
    /// It ends its side of the connection, as if it had broken off.
    BreakOff,
}

/// Sends bytes as they are and reads until there is an answer or the other side closes.
pub async fn raw_exchange(
    address: SocketAddr,
    pieces: &[&[u8]],
    afterwards: Afterwards,
) -> RawResponse {
    within("the raw request is answered or closed", async {
        let stream = TcpStream::connect(address)
            .await
            .expect("the gateway accepts");
        let (mut reader, mut writer) = stream.into_split();
        let write = async {
            for piece in pieces {
                // Who refuses a request need not read all of it.
                if writer.write_all(piece).await.is_err() {
                    return false;
                }
            }
            afterwards == Afterwards::Wait || writer.shutdown().await.is_ok()
        };
        let read = async {
            let mut answer = Vec::new();
            let mut buffer = vec![0; 64 * 1024];
            while !is_complete(&answer) {
                match reader.read(&mut buffer).await {
                    Ok(count @ 1..) => answer.extend_from_slice(&buffer[..count]),
                    _ => break,
                }
            }
            String::from_utf8_lossy(&answer).into_owned()
        };
        let (sent_all, text) = tokio::join!(write, read);
        RawResponse { sent_all, text }
    })
    .await
}

/// Whether the bytes hold an answer with all of the body that its head announces.
fn is_complete(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .to_ascii_lowercase()
        .lines()
        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    length.is_some_and(|length: usize| body.len() >= length)
}

impl RawResponse {
    /// The status; 0 if there is none.
    pub fn status(&self) -> u16 {
        let code = self
            .text
            .strip_prefix("HTTP/1.1 ")
            .or_else(|| self.text.strip_prefix("HTTP/1.0 "))
            .and_then(|rest| rest.get(..3));
        code.and_then(|code| code.parse().ok()).unwrap_or_default()
    }

    /// What follows the head of the first answer.
    pub fn body(&self) -> &str {
        self.text
            .split_once("\r\n\r\n")
            .map_or("", |(_, body)| body)
    }
}
