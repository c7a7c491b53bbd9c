//! Messages between a client and the gateway: headers that mirror them, events of a stream, and errors.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue};
use mcpproxy_server::stdio::RequestMessage;
use mcpproxy_wire::method::{self, Method};
use mcpproxy_wire::rpc::{self, INTERNAL_ERROR, INVALID_REQUEST, RpcError, error_response};
use mcpproxy_wire::{Message, RequestId, batch, header, sse};
use serde_json::{Value, json};

use crate::daemon::Stream;

/// Largest message of a stream.
const EVENT_LIMIT: usize = 64 * 1024 * 1024;

/// Most client requests of one stream that are remembered. The gateway has fewer open.
const MOST_REMEMBERED: usize = 256;

/// End of a stream of events.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// A response was among its messages.
    Answered,
    /// It broke off before. These requests of the gateway to the client are open.
    Broken(Vec<RequestId>),
    /// One of its messages is too large.
    TooLarge,
}

/// Passes the events of a stream on as messages, until it ends.
pub(super) async fn pass_on<W: Future>(
    mut stream: Stream,
    write: impl Fn(String) -> W,
) -> StreamEnd {
    let mut reader = sse::SseReader::new(EVENT_LIMIT);
    let mut is_answered = false;
    let mut open = Vec::new();
    while let Ok(Some(bytes)) = stream.next().await {
        let Ok(events) = reader.feed(&bytes) else {
            return StreamEnd::TooLarge;
        };
        for event in events.into_iter().filter(|event| !event.data.is_empty()) {
            match Message::parse(event.data.as_bytes()) {
                Ok(Message::Response { .. }) => is_answered = true,
                Ok(Message::Request { id, .. }) if open.len() < MOST_REMEMBERED => {
                    open.push(id.keep());
                }
                _ => {}
            }
            // Whoever has gone needs nothing written.
            let _ = write(event.data).await;
        }
    }
    if is_answered {
        StreamEnd::Answered
    } else {
        StreamEnd::Broken(open)
    }
}

/// Notification that nobody waits for the response to a client request any more.
pub(super) fn withdrawn(id: &RequestId) -> String {
    let id: Value = serde_json::from_str(id.text()).unwrap_or_default();
    let params = json!({ "requestId": id, "reason": "the gateway was restarted" });
    rpc::notification(method::CANCELLED, &params.to_string())
}

/// Headers that mirror what a stateless request says. What cannot be said in a header is left out,
/// and the gateway says so.
pub(super) fn mirror(request: &RequestMessage) -> HeaderMap {
    let name = match request.method {
        Method::ResourcesRead => request.params.text("uri"),
        _ => request.params.text("name"),
    };
    let name = name.map(|name| header::encode_value(&name).into_owned());
    let revision = request.params.revision().map(Cow::into_owned);
    let method = Some(request.method_name.to_string());
    let names = [header::PROTOCOL_VERSION, header::METHOD, header::NAME];
    let headers = names.into_iter().zip([revision, method, name]);
    let headers = headers.filter_map(|(header, value)| {
        let value = HeaderValue::try_from(value?).ok()?;
        Some((HeaderName::from_static(header), value))
    });
    headers.collect()
}

/// Answer with the id of its request. Errors of the HTTP layer have none; on stdio each answer has to
/// say what it answers.
pub(super) fn with_id(answer: &[u8], id: &RequestId) -> String {
    match Message::parse(answer) {
        Ok(Message::Response {
            id: None,
            outcome: Err(error),
        }) => error_response(Some(id.id()), &error),
        Ok(_) => String::from_utf8_lossy(answer).into_owned(),
        // Refused before it was a message: the gateway lets this client not in.
        Err(_) => {
            let refusal: Value = serde_json::from_slice(answer).unwrap_or_default();
            let message = refusal["error"]["message"].as_str();
            let message = message.unwrap_or("the gateway gave no answer that can be read");
            let data = refusal.is_object().then_some(refusal.clone());
            let error = RpcError {
                data,
                ..RpcError::new(INVALID_REQUEST, message)
            };
            error_response(Some(id.id()), &error)
        }
    }
}

/// Answer to a request that failed on the way.
pub(super) fn failed(id: &RequestId, message: impl Into<String>) -> String {
    error_response(Some(id.id()), &RpcError::new(INTERNAL_ERROR, message))
}

/// Answer to a batch that failed on the way: one for each of its requests; nothing if it has none.
pub(super) fn failed_batch(line: &[u8], message: &str) -> Option<String> {
    let messages = batch::split(line).ok()?;
    let failures = messages.into_iter().filter_map(|one| {
        let id = match Message::parse(one.get().as_bytes()) {
            Ok(Message::Request { id, .. }) => id.keep(),
            _ => return None,
        };
        Some(failed(&id, message))
    });
    let failures: Vec<String> = failures.collect();
    (!failures.is_empty()).then(|| batch::join(&failures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_of_a_lost_batch_is_answered() {
        let call = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call"}"#;
        let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
        let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
        let batch = format!("[{call},{note},{ping}]");
        let failed = failed_batch(batch.as_bytes(), "lost").expect("two requests");
        let failed: Value = serde_json::from_str(&failed).expect("JSON");
        let ids: Vec<&Value> = failed.as_array().into_iter().flatten().collect();
        assert_eq!(ids.len(), 2);
        for (answer, id) in ids.iter().zip([json!("a"), json!(2)]) {
            assert_eq!(answer["id"], id);
            assert_eq!(answer["error"]["message"], "lost");
        }
        assert_eq!(failed_batch(format!("[{note}]").as_bytes(), "lost"), None);
        assert_eq!(failed_batch(b"[]", "lost"), None);
    }

    #[test]
    fn an_open_client_request_is_withdrawn_by_its_own_id() {
        for id in ["7", r#""seven""#] {
            let request = RequestId::parse(id).expect("an id");
            let expected = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the gateway was restarted"}}}}"#
            );
            assert_eq!(withdrawn(&request), expected);
        }
    }
}
