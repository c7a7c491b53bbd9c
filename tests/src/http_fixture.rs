//! A scripted server in the process of the test, over Streamable HTTP or over HTTP with a separate event stream.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::HeaderValue;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::ScriptedServer;
use crate::script::Script;
use crate::web::{Stream, WebResponse, WebServer, event, events, json_answer, plain};

/// What a server over HTTP speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpTransport {
    /// Each response answers its request.
    Streamable,
    /// Responses come on one stream of events, as before revision 2025-03-26.
    EventStream,
}

/// A server in the process of the test; it stops taking connections when dropped.
#[derive(Debug)]
pub struct HttpFixture {
    web: WebServer,
    transport: HttpTransport,
}

/// The server behind the transport.
struct Endpoint {
    server: ScriptedServer,
    /// The stream of events of the last client that opened one.
    stream: Mutex<Option<mpsc::Sender<Bytes>>>,
}

impl HttpFixture {
    /// Starts a server with these tools, each the text of a definition. The named tools answer with the value of a
    /// header of the request, the others echo.
    pub async fn start<S: AsRef<str>>(tools: &[S], headers: &[(&str, &str)]) -> Self {
        let headers = headers
            .iter()
            .map(|(tool, header)| ((*tool).to_owned(), (*header).to_owned()));
        let script = Script {
            tools: crate::fixture::raw_list(tools),
            headers: headers.collect(),
            ..Script::default()
        };
        Self::serve(script, HttpTransport::Streamable).await
    }

    /// Starts a server that does what a script says.
    pub async fn serve(script: Script, transport: HttpTransport) -> Self {
        let endpoint = Arc::new(Endpoint {
            server: ScriptedServer::new(script),
            stream: Mutex::default(),
        });
        let web = WebServer::start(move |request| {
            let endpoint = Arc::clone(&endpoint);
            async move {
                match transport {
                    HttpTransport::Streamable => endpoint.streamable(request).await,
                    HttpTransport::EventStream => endpoint.event_stream(request).await,
                }
            }
        });
        Self {
            web: web.await,
            transport,
        }
    }

    /// Its URL.
    pub fn endpoint(&self) -> String {
        let path = match self.transport {
            HttpTransport::Streamable => "mcp",
            HttpTransport::EventStream => "sse",
        };
        format!("http://{}/{path}", self.web.address)
    }

    /// Its entry for `mcpServers`, with the headers that the gateway shall send.
    pub fn entry(&self, headers: &Value) -> Value {
        json!({ "url": self.endpoint(), "headers": headers })
    }
}

impl Endpoint {
    async fn streamable(self: Arc<Self>, request: Request<Incoming>) -> io::Result<WebResponse> {
        let (parts, body) = request.into_parts();
        match parts.method {
            Method::POST => {}
            Method::DELETE => return Ok(plain(StatusCode::OK)),
            _ => return Ok(plain(StatusCode::METHOD_NOT_ALLOWED)),
        }
        let (before, response) = self.answer(parts.headers, body).await?;
        let Some(response) = response else {
            return Ok(plain(StatusCode::ACCEPTED));
        };
        let mut answer = if before.is_empty() {
            json_answer(Stream::whole(&response))
        } else {
            let messages = before.iter().chain([&response]);
            let text: Vec<Bytes> = messages.map(|message| event(message)).collect();
            events(Stream::whole(&String::from_utf8_lossy(&text.concat())))
        };
        let session = HeaderValue::from_static("fixture");
        answer.headers_mut().insert("mcp-session-id", session);
        Ok(answer)
    }

    async fn event_stream(self: Arc<Self>, request: Request<Incoming>) -> io::Result<WebResponse> {
        let (parts, body) = request.into_parts();
        match (parts.method, parts.uri.path()) {
            (Method::GET, "/sse") => {
                let (sender, stream) = Stream::open();
                let first = Bytes::from("event: endpoint\ndata: /messages\n\n");
                sender.send(first).await.map_err(io::Error::other)?;
                *self.event_sender() = Some(sender);
                Ok(events(stream))
            }
            (Method::POST, "/messages") => {
                let (before, response) = Arc::clone(&self).answer(parts.headers, body).await?;
                let stream = self.event_sender().clone();
                for message in before.into_iter().chain(response) {
                    if let Some(stream) = &stream {
                        // Whoever no longer listens misses nothing.
                        let _ = stream.send(event(&message)).await;
                    }
                }
                Ok(plain(StatusCode::ACCEPTED))
            }
            _ => Ok(plain(StatusCode::METHOD_NOT_ALLOWED)),
        }
    }

    fn event_sender(&self) -> MutexGuard<'_, Option<mpsc::Sender<Bytes>>> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the server sends before its response, and the response, if there is one. It may wait for a gate, so it gets
    /// a thread.
    async fn answer(
        self: Arc<Self>,
        headers: HeaderMap,
        body: Incoming,
    ) -> io::Result<(Vec<String>, Option<String>)> {
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let answering = tokio::task::spawn_blocking(move || {
            let header = |name: &str| {
                let value = headers.get(name)?;
                Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
            };
            let before = Mutex::new(Vec::new());
            let send = |message: &str| {
                let mut before = before.lock().unwrap_or_else(PoisonError::into_inner);
                before.push(message.to_owned());
            };
            let text = String::from_utf8_lossy(&body);
            let response = self.server.answer(&text, &header, &send);
            let before = before.into_inner().unwrap_or_else(PoisonError::into_inner);
            let is_request = text.contains(r#""id":"#);
            (before, response, is_request)
        });
        let (before, response, is_request) = answering.await.map_err(io::Error::other)?;
        if response.is_none() && is_request {
            // It hangs.
            std::future::pending::<()>().await;
        }
        Ok((before, response))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Client, HttpClient};

    #[tokio::test]
    async fn a_tool_answers_with_a_header_of_the_request() {
        let tools = [r#"{"name":"key","inputSchema":{}}"#];
        let fixture = HttpFixture::start(&tools, &[("key", "x-key")]).await;
        let client = HttpClient::connect(&fixture.endpoint()).await;
        let listed = client.request("tools/list", &json!({})).await;
        assert_eq!(listed["result"]["tools"][0]["name"], "key");

        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"key"}}"#;
        let answer = client
            .post(&[("x-key", "open sesame")], body.to_owned())
            .await;
        assert_eq!(answer.json()["result"]["content"][0]["text"], "open sesame");
        let other = client.call("other", &json!({ "a": 1 })).await;
        assert_eq!(other["content"][0]["text"], r#"other {"a":1}"#);
    }
}
