//! Rounds of a request that the server answers by asking for input, until it has all it needs.
//!
//! Servers without sessions make no requests. They answer that input is required, and the request is
//! repeated with it. A client that speaks this protocol itself gets such a result as it is; for any
//! other one the requests in the result are made here.

use std::sync::Arc;
use std::time::Duration;

use mcpproxy_wire::json::{Fields, text_of};
use mcpproxy_wire::{Json, RpcError, RpcResult, rpc};
use serde::Serializer;
use serde_json::value::RawValue;

use crate::CallError;
use crate::call_error::UpstreamResponse;
use crate::client::{ClientInput, ClientLink, ClientRequestKind};

/// Times that a server may ask for input during one request.
pub(in crate::protocol) const MOST_ROUNDS: usize = 16;
/// Most requests in one result; each is on record, and somebody has to answer it.
const MOST_REQUESTS: usize = 64;
/// Pause before a request is repeated for which the server asked for nothing.
const PAUSE: Duration = Duration::from_millis(200);

/// Whether a result asks for input. There are no other types of results that we know.
pub(in crate::protocol) fn asks_for_input(result: &RpcResult) -> Result<bool, CallError> {
    let Some(raw) = result.result_type() else {
        return Ok(false);
    };
    if result.has_two_types() {
        return Err(CallError::malformed(
            "it says twice of what type its result is",
        ));
    }
    // What is there and no string is as unknown as a string that is.
    let kind = text_of(raw).unwrap_or(raw.into());
    match &*kind {
        "complete" => Ok(false),
        "input_required" => Ok(true),
        other => {
            let named: String = other.chars().take(40).collect();
            let reason = format!("it answers with a result of an unknown type, '{named}'");
            Err(CallError::malformed(reason))
        }
    }
}

/// Refuses a result of a server with sessions that asks for input: such a server makes a request, which is checked, named
/// and on record, where a client that knows such results would take this one for a question of ours.
pub(in crate::protocol) fn refuse_asking(result: &RpcResult) -> Result<(), CallError> {
    let Some(raw) = result.result_type() else {
        return Ok(());
    };
    if result.has_two_types() || text_of(raw).as_deref() == Some("input_required") {
        let reason = "it asks for input in a way that its protocol does not have";
        return Err(CallError::malformed(reason));
    }
    Ok(())
}

/// Result that asks for input, for a client that takes it as it is.
pub(in crate::protocol) async fn pass_on(
    client: &ClientLink,
    result: RpcResult,
) -> UpstreamResponse {
    let requests = result.json().fields().unwrap_or_default();
    let requests = requests.given("inputRequests").map(object).transpose()?;
    bound(requests.as_ref())?;
    for (_, request) in requests.iter().flat_map(Fields::iter) {
        // One that could not be named and recorded is not passed on.
        kind_of(&object(request)?)?;
    }
    match client.call() {
        Some(call) => {
            let named = call.pass_on(result.json()).await;
            named.map(RpcResult::unread).map_err(CallError::Rpc)
        }
        None => Ok(result),
    }
}

/// Refuses more requests than anybody could answer at once.
fn bound(requests: Option<&Fields<'_>>) -> Result<(), CallError> {
    match requests {
        Some(requests) if requests.iter().nth(MOST_REQUESTS).is_some() => {
            let reason = format!("it asks for more than {MOST_REQUESTS} things at once");
            Err(CallError::malformed(reason))
        }
        _ => Ok(()),
    }
}

/// Makes all requests that a result asks for, one after the other; gives the input for the next round.
pub(in crate::protocol) async fn collect_input(
    client: Option<&Arc<ClientLink>>,
    result: &Json,
) -> Result<ClientInput, CallError> {
    let fields = result.fields().unwrap_or_default();
    let requests = fields.given("inputRequests").map(object).transpose()?;
    bound(requests.as_ref())?;
    let mut input = ClientInput {
        input_responses: None,
        request_state: fields.given("requestState").map(|raw| result.part(raw)),
    };
    if let Some(requests) = &requests {
        let client = client.ok_or_else(|| {
            refused("the server asks for input, and nobody can be asked on this way")
        })?;
        let mut responses = Vec::new();
        for (key, request) in requests.iter() {
            responses.push((key, request_one(client, result, request).await?));
        }
        let mut text = Vec::new();
        let written = serde_json::Serializer::new(&mut text).collect_map(responses);
        let responses = written.ok().and_then(|()| Json::parse(text).ok());
        let no_json = || CallError::malformed("the client's answers are no JSON");
        input.input_responses = Some(responses.ok_or_else(no_json)?);
    }
    if input == ClientInput::default() {
        let reason = "it asks for input and does not say which";
        return Err(CallError::malformed(reason));
    }
    if requests.is_none() {
        // Nothing was asked for, so only time can make a difference.
        tokio::time::sleep(PAUSE).await;
    }
    Ok(input)
}

async fn request_one(
    client: &ClientLink,
    result: &Json,
    request: &RawValue,
) -> Result<Json, CallError> {
    let fields = object(request)?;
    let kind = kind_of(&fields)?;
    let params = fields.given("params");
    let params = params.map_or_else(Json::empty_object, |raw| result.part(raw));
    client
        .request(kind, params)
        .await
        .map_err(|error| refused(&format!("{}: {}", kind.method(), error.message)))
}

/// Kind of a request in a result.
fn kind_of(request: &Fields<'_>) -> Result<ClientRequestKind, CallError> {
    if request.all("method").nth(1).is_some() {
        let reason = "it asks for input by a request with two methods";
        return Err(CallError::malformed(reason));
    }
    // What is there and no string is as unknown as a string that is.
    let method = request.get("method").map_or("", RawValue::get);
    let method = text_of(method).unwrap_or(method.into());
    ClientRequestKind::of_method(&method).ok_or_else(|| {
        let named: String = method.chars().take(40).collect();
        let reason = format!("it asks for input by an unknown method, '{named}'");
        CallError::malformed(reason)
    })
}

fn refused(message: &str) -> CallError {
    CallError::Rpc(RpcError::new(rpc::INTERNAL_ERROR, message))
}

fn object(raw: &RawValue) -> Result<Fields<'_>, CallError> {
    serde_json::from_str(raw.get())
        .map_err(|_| CallError::malformed("it asks for input in a form that cannot be read"))
}

#[cfg(test)]
mod tests {
    use mcpproxy_wire::Protocol;
    use serde_json::json;

    use super::*;
    use crate::client::ClientMessage;

    fn parse(text: &str) -> Json {
        Json::parse(text.to_owned()).expect("valid JSON")
    }

    #[test]
    fn results_are_told_apart() {
        for text in [
            r#"{"content":[]}"#,
            r#"{"resultType":"complete", "x":1.50}"#,
            r#"{"x":1,"resultType" : "complete"}"#,
            r#"{"content":[{"text":"\u00e9"}],"resultType":"complete"}"#,
            r#"{"structuredContent":{"resultType":"input_required"}}"#,
            r#"{"structuredContent":{"resultType":"input_required"},"resultType":"complete"}"#,
            r#"{"content":[{"text":"resultType\":\"input_required"}]}"#,
        ] {
            let round = asks_for_input(&RpcResult::unread(parse(text)));
            assert_eq!(round, Ok(false), "{text}");
        }
        for text in [
            r#"{"resultType":"input_required"}"#,
            r#"{"result\u0054ype":"input_required"}"#,
            r#"{"structuredContent":{"resultType":"complete"},"resultType":"input_required"}"#,
            r#"{"structuredContent":{"resultType":"complete"},"result\u0054ype":"input_required"}"#,
        ] {
            let round = asks_for_input(&RpcResult::unread(parse(text)));
            assert_eq!(round, Ok(true), "{text}");
        }
        for text in [
            r#"{"resultType":"task"}"#,
            r#"{"resultType":null}"#,
            r#"{"resultType":"completed"}"#,
            r#"{"resultType":"input_required","resultType":"complete"}"#,
        ] {
            let round = asks_for_input(&RpcResult::unread(parse(text)));
            assert!(round.is_err(), "{text}");
        }
    }

    #[test]
    fn a_server_with_sessions_asked_by_its_result() {
        for (text, is_refused) in [
            ("7", false),
            (r#"{"content":[]}"#, false),
            (r#"{"resultType":"complete"}"#, false),
            (r#"{"resultType":"its own"}"#, false),
            (r#"{"resultType":"input_required"}"#, true),
            (r#"{"result\u0054ype":"input\u005frequired"}"#, true),
            (
                r#"{"resultType":"input_required","resultType":"complete"}"#,
                true,
            ),
        ] {
            let refused = refuse_asking(&RpcResult::unread(parse(text)));
            assert_eq!(refused.is_err(), is_refused, "{text}");
        }
    }

    #[tokio::test]
    async fn a_request_that_nobody_can_name_was_passed_on_as_it_was() {
        let client = ClientLink::new(Protocol::Stateless, "one");
        let result = |request: &str| {
            let text =
                format!(r#"{{"resultType":"input_required","inputRequests":{{"q":{request}}}}}"#);
            RpcResult::unread(parse(&text))
        };
        let good = r#"{"method":"elicitation/create","params":{"message":"?"}}"#;
        pass_on(&client, result(good)).await.expect("it is known");
        for request in [
            r#"{"method":"tools/call","params":{}}"#,
            r#"{"method":"elicitation/create","method":"roots/list"}"#,
            r#"{"method":7}"#,
            "{}",
            "[]",
        ] {
            let refused = pass_on(&client, result(request)).await;
            refused.expect_err(request);
        }
    }

    #[tokio::test]
    async fn a_client_is_asked_all_there_is_to_ask() {
        let mut client = ClientLink::new(Protocol::Session, "one");
        client.capabilities = Json::of(&json!({ "elicitation": {}, "roots": {} }));
        let (client, mut messages) = client.open();
        let answering = tokio::spawn(async move {
            let mut asked = Vec::new();
            while asked.len() < 2
                && let ClientMessage::Request(request) = messages.next().await
            {
                asked.push(request.kind);
                request.respond(Ok(Json::of(&json!({ "n": asked.len() }))));
            }
            (asked, messages)
        });
        let result = parse(
            r#"{"resultType":"input_required","requestState":"s","inputRequests":{
                "a\"b":{"method":"elicitation/create","params":{"message":"?"}},
                "c":{"method":"roots/list"}}}"#,
        );
        let input = collect_input(Some(&client), &result)
            .await
            .expect("it is answered");
        let value = serde_json::to_value(&input).expect("valid JSON");
        let expected = json!({
            "inputResponses": { "a\"b": { "n": 1 }, "c": { "n": 2 } },
            "requestState": "s",
        });
        assert_eq!(value, expected);

        let sampling =
            parse(r#"{"inputRequests":{"a":{"method":"sampling/createMessage","params":{}}}}"#);
        collect_input(Some(&client), &sampling)
            .await
            .expect_err("not declared");
        collect_input(None, &sampling)
            .await
            .expect_err("nobody to ask");
        for text in [
            "{}",
            r#"{"inputRequests":7}"#,
            r#"{"inputRequests":{"a":{}}}"#,
        ] {
            collect_input(Some(&client), &parse(text))
                .await
                .expect_err(text);
        }
        let (asked, mut messages) = answering.await.expect("it ends");
        assert!(messages.queued().is_none(), "nothing else was asked");
        assert_eq!(
            asked,
            [ClientRequestKind::Elicitation, ClientRequestKind::Roots]
        );
    }
}
