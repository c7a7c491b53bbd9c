//! A request to a server, before it is put on a wire.

use std::sync::Arc;

use http::HeaderMap;
use mcpproxy_wire::rpc;
use tokio::time::Instant;

use crate::client::ClientLink;

/// A request to a server.
#[derive(Debug)]
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) method: &'static str,
    /// The text of a JSON object of our own making, without `_meta`.
    pub(crate) params: &'a str,
    /// The members of its `_meta`, as JSON without the braces.
    pub(crate) meta: &'a str,
    /// What it carries over HTTP besides what every request does.
    pub(crate) headers: HeaderMap,
    /// Whether a caller waits for the response, so that messages of the server can concern it.
    pub(crate) is_for_caller: bool,
    /// Client of that caller, where there is a way back to it.
    pub(crate) client: Option<&'a Arc<ClientLink>>,
    pub(crate) deadline: Instant,
}

impl<'a> OutgoingRequest<'a> {
    /// A request of our own.
    pub(crate) fn own(method: &'static str, params: &'a str, deadline: Instant) -> Self {
        Self {
            method,
            params,
            meta: "",
            headers: HeaderMap::new(),
            is_for_caller: false,
            client: None,
            deadline,
        }
    }

    /// The message, under an id. The server reports progress under the same number.
    pub(crate) fn message(&self, id: u64) -> String {
        let wants_progress = self
            .client
            .is_some_and(|client| client.progress_token.is_some());
        if self.meta.is_empty() && !wants_progress {
            return rpc::request(id, self.method, self.params);
        }
        let progress = match (wants_progress, self.meta.is_empty()) {
            (false, _) => String::new(),
            (true, true) => format!(r#""progressToken":{id}"#),
            (true, false) => format!(r#","progressToken":{id}"#),
        };
        let members = self.params.strip_prefix('{').unwrap_or(self.params);
        let comma = if members == "}" { "" } else { "," };
        let params = [r#"{"_meta":{"#, self.meta, &progress, "}", comma, members].concat();
        rpc::request(id, self.method, &params)
    }
}

#[cfg(test)]
mod tests {
    use mcpproxy_wire::Json;
    use mcpproxy_wire::Protocol;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_a_request_needs_of_meta_is_added() {
        let mut client = ClientLink::new(Protocol::Session, "one");
        client.progress_token = Some(Json::of(&json!("theirs")));
        let (client, _messages) = client.open();
        let message = |params: &str, meta: &str, client: Option<&Arc<ClientLink>>| -> Value {
            let mut request = OutgoingRequest::own("tools/call", params, Instant::now());
            request.meta = meta;
            request.client = client;
            serde_json::from_str(&request.message(7)).expect("valid JSON")
        };
        let wanting = Some(&client);
        for (meta, client, expected) in [
            ("", None, json!(null)),
            ("", wanting, json!({ "progressToken": 7 })),
            (r#""a":1"#, None, json!({ "a": 1 })),
            (r#""a":1"#, wanting, json!({ "a": 1, "progressToken": 7 })),
        ] {
            for params in ["{}", r#"{"name":"x"}"#] {
                let message = message(params, meta, client);
                assert_eq!(message["params"]["_meta"], expected, "{params} {meta}");
                assert_eq!(message["params"].get("name").is_some(), params != "{}");
            }
        }
    }
}
