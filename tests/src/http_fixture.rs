//! A server behind the gateway that speaks Streamable HTTP and tells what headers it was sent.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A server in the process of the test; it stops taking connections when dropped.
#[derive(Debug)]
pub struct HttpFixture {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

/// What the server does.
#[derive(Debug)]
struct Server {
    tools: Vec<Value>,
    /// Tools whose answer is the value of a request header.
    headers: BTreeMap<String, String>,
}

type FixtureResponse = Response<Full<Bytes>>;

impl HttpFixture {
    /// Starts a server with these tools, each the text of a definition. The named tools answer with the value of a
    /// header of the request, the others echo.
    pub async fn start<S: AsRef<str>>(tools: &[S], headers: &[(&str, &str)]) -> Self {
        let tools = tools.iter().map(|tool| {
            serde_json::from_str(tool.as_ref()).expect("a test describes tools as valid JSON")
        });
        let headers = headers
            .iter()
            .map(|(tool, header)| ((*tool).to_owned(), (*header).to_owned()));
        let server = Arc::new(Server {
            tools: tools.collect(),
            headers: headers.collect(),
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a port is free");
        let address = listener.local_addr().expect("the server has an address");
        let accepting = tokio::spawn(accept(listener, server));
        Self { address, accepting }
    }

    /// Its URL.
    pub fn endpoint(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Its entry for `mcpServers`, with the headers that the gateway shall send.
    pub fn entry(&self, headers: &Value) -> Value {
        json!({ "url": self.endpoint(), "headers": headers })
    }
}

impl Drop for HttpFixture {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Server {
    async fn handle(&self, request: Request<Incoming>) -> Result<FixtureResponse, hyper::Error> {
        let (parts, body) = request.into_parts();
        match parts.method {
            Method::POST => {}
            Method::DELETE => return Ok(empty(StatusCode::OK)),
            _ => return Ok(empty(StatusCode::METHOD_NOT_ALLOWED)),
        }
        let body = body.collect().await?.to_bytes();
        let Ok(message) = serde_json::from_slice::<Value>(&body) else {
            return Ok(empty(StatusCode::BAD_REQUEST));
        };
        let Some(id) = message.get("id") else {
            return Ok(empty(StatusCode::ACCEPTED));
        };
        let (member, value) = self.outcome(&message, &parts.headers);
        let text = json!({ "jsonrpc": "2.0", "id": id, member: value }).to_string();
        let answer = Response::builder()
            .header("content-type", "application/json")
            .header("mcp-session-id", "fixture");
        Ok(answer
            .body(Full::new(Bytes::from(text)))
            .expect("the headers are valid"))
    }

    fn outcome(&self, message: &Value, headers: &HeaderMap) -> (&'static str, Value) {
        let params = &message["params"];
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "http-fixture", "version": "1" },
            }),
            Some("ping") => json!({}),
            Some("tools/list") => json!({ "tools": self.tools }),
            Some("tools/call") => {
                let text = self.text(params, headers);
                json!({ "content": [{ "type": "text", "text": text }] })
            }
            _ => {
                let error = json!({ "code": -32601, "message": "no such method" });
                return ("error", error);
            }
        };
        ("result", result)
    }

    fn text(&self, params: &Value, headers: &HeaderMap) -> String {
        let tool = params["name"].as_str().unwrap_or_default();
        let Some(header) = self.headers.get(tool) else {
            return format!("{tool} {}", params["arguments"]);
        };
        headers.get(header).map_or_else(
            || format!("no header {header}"),
            |value| String::from_utf8_lossy(value.as_bytes()).into_owned(),
        )
    }
}

async fn accept(listener: TcpListener, server: Arc<Server>) {
    while let Ok((socket, _)) = listener.accept().await {
        let server = Arc::clone(&server);
        let service = service_fn(move |request| {
            let server = Arc::clone(&server);
            async move { server.handle(request).await }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(socket), service);
        // A client that goes away in the middle is none of the test's concern.
        tokio::spawn(connection);
    }
}

fn empty(status: StatusCode) -> FixtureResponse {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
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
