//! One MCP client: one keep-alive connection, one session where its protocol has them, one call at a time.
//!
//! Raw hyper connections, because a pooling client would add its own locks and queues to both sides of the
//! comparison. Must never know which of the two targets it talks to; the target is data.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::call::{CALL_METHOD, CallTemplate, check_fully, check_quickly, decode};
use crate::echo::{METHOD_HEADER, NAME_HEADER, PATH, SESSION_HEADER, VERSION_HEADER};
use crate::protocol::Protocol;

const LIST_METHOD: &str = "tools/list";

/// Where calls go and what they look like there.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Names the target in errors.
    pub(crate) name: &'static str,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// How it is spoken to.
    pub(crate) protocol: Protocol,
    /// The call it takes.
    pub(crate) call: CallTemplate,
}

/// A client that can call: with an open session, or in a protocol that needs none.
#[derive(Debug)]
pub(crate) struct Connection {
    target: Arc<Target>,
    sender: SendRequest<Full<Bytes>>,
    /// The head of every request; the session joins it once it is open.
    headers: HeaderMap,
    /// The head of every call, made once because nothing in it changes from call to call.
    call_headers: HeaderMap,
    /// Tells this client's texts from those of all others.
    number: usize,
    next_id: u64,
}

impl Connection {
    /// Connects, and opens a session where there are any.
    pub(crate) async fn open(target: Arc<Target>, number: usize) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(target.address)
            .await
            .with_context(|| format!("The {} target does not accept connections", target.name))?;
        // Without this the kernel may hold small requests back until the last answer is acknowledged.
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // The task ends with the sender: hyper closes the connection when nobody can send on it any more. What
        // went wrong on the connection comes back from the request it went wrong for.
        tokio::spawn(connection);
        let mut client = Self {
            headers: base_headers(target.address)?,
            call_headers: HeaderMap::new(),
            target,
            sender,
            number,
            next_id: 1,
        };
        match client.target.protocol {
            Protocol::Session => client.initialize().await?,
            Protocol::Stateless => client.name_revision(),
        }
        client.call_headers = client.headers_of(CALL_METHOD, Some(client.target.call.name()))?;
        Ok(client)
    }

    /// One call, measured from handing over the request to having the whole answer, then checked.
    pub(crate) async fn call(&mut self) -> anyhow::Result<Timing> {
        let timing = self.timed_call().await;
        timing.with_context(|| self.failed("a call"))
    }

    async fn timed_call(&mut self) -> anyhow::Result<Timing> {
        let (id, text) = self.next_text();
        let body = self.target.call.request(self.target.protocol, id, &text);
        let request = request(self.call_headers.clone(), body);
        // Whether the connection is free again after the last answer is bookkeeping of the generator.
        self.sender.ready().await?;
        let started = Instant::now();
        let response = self.sender.send_request(request).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        let finished = Instant::now();
        ensure!(
            head.status == StatusCode::OK,
            "{}: {}",
            head.status,
            String::from_utf8_lossy(&body)
        );
        check_quickly(&body, is_event_stream(&head.headers), &text)?;
        Ok(Timing {
            finished,
            latency: finished - started,
        })
    }

    /// One call whose answer is decoded and compared part by part.
    pub(crate) async fn call_checked(&mut self) -> anyhow::Result<()> {
        let (id, text) = self.next_text();
        let body = self.target.call.request(self.target.protocol, id, &text);
        let answer = self.exchange(id, self.call_headers.clone(), body).await?;
        check_fully(&answer, self.target.protocol, id, &text).with_context(|| self.failed("a call"))
    }

    /// The tools the target offers.
    pub(crate) async fn list_tools(&mut self) -> anyhow::Result<Vec<Value>> {
        let id = self.take_id();
        let body = list_request(self.target.protocol, id);
        let headers = self.headers_of(LIST_METHOD, None)?;
        let mut answer = self.exchange(id, headers, body).await?;
        match answer["result"]["tools"].take() {
            Value::Array(tools) => Ok(tools),
            _ => bail!("{}: no tools in {answer}", self.failed("tools/list")),
        }
    }

    async fn initialize(&mut self) -> anyhow::Result<()> {
        let id = self.take_id();
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
            "protocolVersion": Protocol::Session.revision(),
            "capabilities": {},
            "clientInfo": {"name": "mcpproxy-bench", "version": env!("CARGO_PKG_VERSION")},
        }});
        let body = Bytes::from(body.to_string());
        let response = self.send(self.headers.clone(), body).await?;
        let session = response.headers().get(SESSION_HEADER).cloned();
        let answer = self.read(id, response).await?;
        ensure!(
            answer["result"]["protocolVersion"] == Protocol::Session.revision(),
            "{}: it does not speak {}: {answer}",
            self.failed("initialize"),
            Protocol::Session.revision()
        );
        self.name_revision();
        if let Some(session) = session {
            self.headers
                .insert(HeaderName::from_static(SESSION_HEADER), session);
        }
        let body = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let response = self.send(self.headers.clone(), body).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        ensure!(
            status == StatusCode::ACCEPTED,
            "{}: {status}: {}",
            self.failed("notifications/initialized"),
            String::from_utf8_lossy(&body)
        );
        Ok(())
    }

    /// From here on every request says which revision it is of.
    fn name_revision(&mut self) {
        self.headers.insert(
            HeaderName::from_static(VERSION_HEADER),
            HeaderValue::from_static(self.target.protocol.revision()),
        );
    }

    /// The head of a request; without sessions it repeats the method and what the request names.
    fn headers_of(&self, method: &'static str, name: Option<&str>) -> anyhow::Result<HeaderMap> {
        let mut headers = self.headers.clone();
        if self.target.protocol == Protocol::Stateless {
            headers.insert(
                HeaderName::from_static(METHOD_HEADER),
                HeaderValue::from_static(method),
            );
            if let Some(name) = name {
                let name = HeaderValue::from_str(name)?;
                headers.insert(HeaderName::from_static(NAME_HEADER), name);
            }
        }
        Ok(headers)
    }

    async fn exchange(
        &mut self,
        id: u64,
        headers: HeaderMap,
        body: Bytes,
    ) -> anyhow::Result<Value> {
        let response = self.send(headers, body).await?;
        self.read(id, response).await
    }

    async fn send(
        &mut self,
        headers: HeaderMap,
        body: Bytes,
    ) -> anyhow::Result<Response<Incoming>> {
        self.sender.ready().await?;
        Ok(self.sender.send_request(request(headers, body)).await?)
    }

    async fn read(&self, id: u64, response: Response<Incoming>) -> anyhow::Result<Value> {
        let (head, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        ensure!(
            head.status == StatusCode::OK,
            "{}: {}: {}",
            self.failed("a request"),
            head.status,
            String::from_utf8_lossy(&body)
        );
        decode(&body, is_event_stream(&head.headers), id).with_context(|| self.failed("a request"))
    }

    fn take_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    /// A text that no other call of the run carries, so that an answer to another call cannot pass for this one's.
    fn next_text(&mut self) -> (u64, String) {
        let id = self.take_id();
        (id, format!("hello-{}-{id}", self.number))
    }

    fn failed(&self, what: &str) -> String {
        format!("The {} target failed {what}", self.target.name)
    }
}

/// When a call was over and how long it took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// The moment the whole answer was there.
    pub(crate) finished: Instant,
    /// From handing over the request to that moment.
    pub(crate) latency: Duration,
}

fn request(headers: HeaderMap, body: Bytes) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static(PATH);
    *request.headers_mut() = headers;
    request
}

fn list_request(protocol: Protocol, id: u64) -> Bytes {
    // The introduction ends with the comma before the next member; there is none here.
    let parameters = match protocol {
        Protocol::Session => String::new(),
        Protocol::Stateless => {
            let introduction = protocol.introduction().trim_end_matches(',');
            format!(r#","params":{{{introduction}}}"#)
        }
    };
    Bytes::from(format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{LIST_METHOD}"{parameters}}}"#
    ))
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}

fn base_headers(address: SocketAddr) -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(HOST, HeaderValue::from_str(&address.to_string())?);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(
        ACCEPT,
        HeaderValue::from_static("application/json, text/event-stream"),
    );
    Ok(headers)
}
