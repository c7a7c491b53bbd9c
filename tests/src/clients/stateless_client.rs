//! A client of the revision without sessions: what it puts into each request.

use serde_json::{Value, json};

use crate::{Client, HttpClient, HttpResponse};

/// The revision.
pub const STATELESS: &str = "2026-07-28";

/// The `_meta` of a request, which says who asks.
pub fn introduction() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "mcpproxy-tests", "version": "2" },
    })
}

/// The parameters of a request with its introduction.
pub fn introduced(params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = introduction();
    params
}

/// A client over HTTP whose requests stand for themselves.
#[derive(Debug, Clone)]
pub struct StatelessClient(HttpClient);

impl StatelessClient {
    /// A client of this endpoint.
    pub fn new(endpoint: &str) -> Self {
        Self(HttpClient::without_session(endpoint))
    }

    /// The same client, showing a key or a token with every request.
    #[must_use]
    pub fn showing(self, credential: &str) -> Self {
        Self(self.0.showing(credential))
    }

    /// Sends a request with its introduction and the headers that repeat it.
    pub async fn ask(&self, method: &str, params: &Value) -> HttpResponse {
        self.ask_with(&[], method, &introduced(params)).await
    }

    /// Sends a request as it is, with the headers that repeat it; those given here replace them,
    /// empty values remove them.
    pub async fn ask_with(
        &self,
        headers: &[(&str, &str)],
        method: &str,
        params: &Value,
    ) -> HttpResponse {
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let name = params["name"].as_str().or(params["uri"].as_str());
        let name = name.unwrap_or_default();
        let usual = [
            ("mcp-protocol-version", STATELESS),
            ("mcp-method", method),
            ("mcp-name", name),
        ];
        let replaced = |name: &str| headers.iter().any(|(other, _)| *other == name);
        let kept = usual.into_iter().filter(|(name, _)| !replaced(name));
        let all: Vec<_> = kept.chain(headers.iter().copied()).collect();
        self.0.post(&all, body.to_string()).await
    }
}

impl Client for StatelessClient {
    async fn exchange(&self, message: String) -> String {
        let message = crate::decode(&message);
        let method = message["method"].as_str().expect("a request has a method");
        self.ask(method, &message["params"]).await.body
    }
}
