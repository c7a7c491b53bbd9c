//! Streams of messages from the gateway.

use http::{Method, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use mcpproxy_tests::stateless_client::{STATELESS, introduced};
use mcpproxy_tests::{HttpClient, Product, decode, within};
use serde_json::{Value, json};

/// A stream of messages.
pub(crate) struct Stream {
    response: Response<Incoming>,
    buffer: String,
}

impl Stream {
    pub(crate) async fn of_session(client: &HttpClient) -> Self {
        let headers = [("accept", "text/event-stream"), ("content-type", "")];
        Self::of(client.open(Method::GET, &headers, String::new()).await)
    }

    /// A stream without a session, for what is wanted; the first message says what of it is granted.
    pub(crate) async fn of_subscription(product: &Product, path: &str, wanted: &Value) -> Self {
        let method = "subscriptions/listen";
        let params = introduced(&json!({ "notifications": wanted }));
        let request = json!({ "jsonrpc": "2.0", "id": "s-1", "method": method, "params": params });
        let client = HttpClient::without_session(&product.url(path));
        let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", method)];
        let response = client.open(Method::POST, &headers, request.to_string());
        Self::of(response.await)
    }

    pub(crate) async fn next(&mut self) -> Value {
        loop {
            if let Some((event, rest)) = self.buffer.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                let (message, rest) = (data.map(decode), rest.to_owned());
                self.buffer = rest;
                match message {
                    Some(message) => return message,
                    None => continue,
                }
            }
            let frame = within("a message comes", self.response.frame()).await;
            let frame = frame
                .expect("the stream goes on")
                .expect("and is not broken");
            let data = frame.into_data().expect("it is data");
            self.buffer.push_str(&String::from_utf8_lossy(&data));
        }
    }

    fn of(response: Response<Incoming>) -> Self {
        assert_eq!(response.status(), StatusCode::OK);
        Self {
            response,
            buffer: String::new(),
        }
    }
}
