//! MCP clients: what each does, whichever way it is connected; over HTTP with a session and without, over stdio, and in
//! conversations in which a server asks.

pub mod conversation;
mod http_client;
pub mod stateless_client;
mod stdio_client;

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::value::RawValue;
use serde_json::{Value, json};

pub use http_client::{Afterwards, HttpClient, HttpResponse, RawResponse, raw_exchange};
pub use stateless_client::StatelessClient;
pub use stdio_client::StdioClient;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// An MCP client with an open session.
#[expect(
    async_fn_in_trait,
    reason = "only the tests use it, and they await each call where they make it"
)]
pub trait Client {
    /// Sends the text of a request and gives the text of its answer.
    async fn exchange(&self, message: String) -> String;

    /// Sends a request with the text of its parameters; the text of the whole answer.
    async fn request_raw(&self, method: &str, params: &str) -> String {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let method = Value::from(method);
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
        self.exchange(message).await
    }

    /// Sends a request; the whole answer.
    async fn request(&self, method: &str, params: &Value) -> Value {
        decode(&self.request_raw(method, &params.to_string()).await)
    }

    /// The names of all tools that are listed, from all pages.
    async fn tool_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut params = json!({});
        loop {
            let answer = self.request("tools/list", &params).await;
            let result = &answer["result"];
            let tools = result["tools"].as_array();
            let tools = tools.unwrap_or_else(|| panic!("no tools: {answer}"));
            for tool in tools {
                let name = tool["name"].as_str().expect("a tool has a name");
                names.push(name.to_owned());
            }
            match result["nextCursor"].as_str() {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return names,
            }
        }
    }

    /// Calls a tool of the menu; its `CallToolResult`.
    async fn call(&self, name: &str, arguments: &Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        let mut answer = self.request("tools/call", &params).await;
        let Some(result) = answer.get_mut("result") else {
            panic!("the call has no result: {answer}");
        };
        result.take()
    }

    /// Calls a tool of a server by the variant of an operation, which is declared as well; its `CallToolResult`.
    async fn call_as(&self, operation: &str, name: &str, args: &Value) -> Value {
        let arguments =
            json!({ "name": name, "args": args, "intent": { "operation_type": operation } });
        self.call(&format!("call_tool_{operation}"), &arguments)
            .await
    }

    /// The same, for a call that must not be refused.
    async fn call_allowed(&self, operation: &str, name: &str, args: &Value) -> Value {
        let result = self.call_as(operation, name, args).await;
        let refusal = &result["structuredContent"]["error"];
        assert!(refusal.is_null(), "the call was refused: {result}");
        result
    }

    /// Calls a tool of the menu with the text of its arguments; the text of the result.
    async fn call_raw(&self, name: &str, arguments: &str) -> String {
        let name = Value::from(name);
        let params = format!(r#"{{"name":{name},"arguments":{arguments}}}"#);
        field(&self.request_raw("tools/call", &params).await, "result")
    }
}

/// The members of a JSON object with the text of their values, in order and as often as
/// they occur.
#[track_caller]
pub fn fields(object: &str) -> Vec<(String, String)> {
    let mut members = Vec::new();
    let mut rest = object
        .trim()
        .strip_prefix('{')
        .unwrap_or_else(|| panic!("not an object: {object}"))
        .trim_start();
    while !rest.starts_with('}') {
        let (name, after) = split_value(rest);
        let (value, after) = split_value(after.trim_start().trim_start_matches(':'));
        let name: String = serde_json::from_str(name).expect("a member has a name");
        members.push((name, value.to_owned()));
        rest = after.trim_start().trim_start_matches(',').trim_start();
    }
    members
}

/// The text of one member's value.
#[track_caller]
pub fn field(object: &str, name: &str) -> String {
    fields(object)
        .into_iter()
        .find(|(member, _)| member == name)
        .map_or_else(|| panic!("no {name:?} in {object}"), |(_, value)| value)
}

/// Splits the text behind its first JSON value.
#[track_caller]
fn split_value(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let value = match values.next() {
        Some(Ok(value)) => value.get(),
        other => panic!("no JSON value but {other:?} in {text}"),
    };
    text.split_at(value.len())
}

/// The value of a JSON text.
#[track_caller]
pub fn decode(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("not JSON ({error}): {text}"))
}

/// The parameters of `initialize`.
pub(crate) fn hello() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "mcpproxy-tests", "version": "1" },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_bytes_and_their_order() {
        let found = fields(r#"{ "b" : 1e400,"a":{"x": [ 1 ]}, "b":"}" }"#);
        let found: Vec<_> = found
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        assert_eq!(
            found,
            [("b", "1e400"), ("a", r#"{"x": [ 1 ]}"#), ("b", r#""}""#)]
        );
        assert!(fields("{}").is_empty());
    }
}
