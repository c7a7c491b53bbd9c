//! A request that the server answers with questions, until it has all it needs.
//!
//! Servers without sessions ask nothing by themselves. They answer that input is required, and the
//! request is repeated with the answers. A client that speaks this way itself gets such a result
//! as it is; for any other one the questions are asked here.

use std::borrow::Cow;
use std::time::Duration;

use mcpproxy_wire::json::Fields;
use mcpproxy_wire::{Json, RpcError, rpc};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::CallError;
use crate::client::{ClientInput, ClientLink, ClientRequestKind};

/// How often a server may ask during one request.
pub(crate) const MOST_ROUNDS: usize = 16;
/// How long to wait before a request is repeated that the server asked nothing about.
const PAUSE: Duration = Duration::from_millis(200);

/// What came of one round.
pub(crate) enum Round {
    /// The result, untouched.
    Complete(Json),
    /// The server needs input first.
    InputRequired(Json),
}

/// Tells a result from one that asks for input; there are no others that we know.
pub(crate) fn round(result: Json) -> Result<Round, CallError> {
    let Some(kind) = result
        .fields()
        .and_then(|fields| super::string(&fields, "resultType"))
    else {
        return Ok(Round::Complete(result));
    };
    match kind.as_str() {
        "complete" => Ok(Round::Complete(result)),
        "input_required" => Ok(Round::InputRequired(result)),
        other => {
            let named: String = other.chars().take(40).collect();
            Err(CallError::malformed(format!(
                "it answers with a result of an unknown type, '{named}'"
            )))
        }
    }
}

/// The parameters of a request with the answers of earlier rounds. They are the text of a JSON
/// object of our own making, without such members.
pub(crate) fn with_answers<'a>(params: &'a str, answers: &ClientInput) -> Cow<'a, str> {
    if *answers == ClientInput::default() {
        return Cow::Borrowed(params);
    }
    let answers: Vec<(&str, &Json)> = [
        ("inputResponses", &answers.input_responses),
        ("requestState", &answers.request_state),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value.as_ref()?)))
    .collect();
    let members = params.strip_prefix('{').unwrap_or(params);
    let mut text = String::from("{");
    for (name, value) in &answers {
        text.push('"');
        text.push_str(name);
        text.push_str("\":");
        text.push_str(value.text());
        if members != "}" || *name != answers.last().map_or("", |(last, _)| last) {
            text.push(',');
        }
    }
    text.push_str(members);
    Cow::Owned(text)
}

/// Asks the client all that a result asks for, one after the other; gives what the next round
/// carries.
pub(crate) async fn ask(
    client: Option<&ClientLink>,
    result: &Json,
) -> Result<ClientInput, CallError> {
    let fields = result.fields().unwrap_or_default();
    let requests = fields.given("inputRequests").map(object).transpose()?;
    let mut answers = ClientInput::default();
    if let Some(requests) = &requests {
        let client = client.ok_or_else(|| {
            refused("the server asks for input, and nobody can be asked on this way")
        })?;
        let mut responses = Vec::new();
        for (key, request) in requests.iter() {
            let answer = ask_one(client, result, request).await?;
            responses.push(format!("{}:{}", Value::from(key), answer.text()));
        }
        let text = format!("{{{}}}", responses.join(","));
        let responses = Json::parse(text)
            .map_err(|_| CallError::malformed("the client's answers are no JSON"))?;
        answers.input_responses = Some(responses);
    }
    if let Some(state) = fields.given("requestState") {
        answers.request_state = Some(result.part(state));
    }
    if answers == ClientInput::default() {
        return Err(CallError::malformed(
            "it asks for input and does not say which",
        ));
    }
    if requests.is_none() {
        // Nothing was asked, so only time can make a difference.
        tokio::time::sleep(PAUSE).await;
    }
    Ok(answers)
}

async fn ask_one(
    client: &ClientLink,
    result: &Json,
    request: &RawValue,
) -> Result<Json, CallError> {
    let fields = object(request)?;
    let method = super::string(&fields, "method").unwrap_or_default();
    let Some(kind) = ClientRequestKind::of_method(&method) else {
        let named: String = method.chars().take(40).collect();
        return Err(CallError::malformed(format!(
            "it asks for input by an unknown method, '{named}'"
        )));
    };
    let params = match fields.given("params") {
        Some(raw) => result.part(raw),
        None => Json::empty_object(),
    };
    client
        .request(kind, params)
        .await
        .map_err(|error| refused(&format!("{}: {}", kind.method(), error.message)))
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
        ] {
            let Ok(Round::Complete(result)) = round(parse(text)) else {
                panic!("{text} is complete");
            };
            assert_eq!(result.text(), text);
        }
        let asks = round(parse(r#"{"resultType":"input_required"}"#));
        assert!(matches!(asks, Ok(Round::InputRequired(_))));
        for text in [r#"{"resultType":"task"}"#, r#"{"resultType":null}"#] {
            assert!(round(parse(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn answers_become_members() {
        let one = || ClientInput {
            request_state: Some(parse(r#""s""#)),
            ..ClientInput::default()
        };
        let two = || ClientInput {
            input_responses: Some(parse("{}")),
            ..one()
        };
        for (params, answers, expected) in [
            ("{}", ClientInput::default(), json!({})),
            ("{}", one(), json!({ "requestState": "s" })),
            (
                r#"{"name":"x"}"#,
                one(),
                json!({ "requestState": "s", "name": "x" }),
            ),
            (
                r#"{"name":"x"}"#,
                two(),
                json!({ "inputResponses": {}, "requestState": "s", "name": "x" }),
            ),
            (
                "{}",
                two(),
                json!({ "inputResponses": {}, "requestState": "s" }),
            ),
        ] {
            let text = with_answers(params, &answers);
            let value: Value = serde_json::from_str(&text).expect("valid JSON");
            assert_eq!(value, expected);
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
        let answers = ask(Some(&client), &result).await.expect("it is answered");
        let text = with_answers("{}", &answers);
        let value: Value = serde_json::from_str(&text).expect("valid JSON");
        let expected = json!({
            "inputResponses": { "a\"b": { "n": 1 }, "c": { "n": 2 } },
            "requestState": "s",
        });
        assert_eq!(value, expected);

        let sampling =
            parse(r#"{"inputRequests":{"a":{"method":"sampling/createMessage","params":{}}}}"#);
        ask(Some(&client), &sampling)
            .await
            .expect_err("not declared");
        ask(None, &sampling).await.expect_err("nobody to ask");
        for text in [
            "{}",
            r#"{"inputRequests":7}"#,
            r#"{"inputRequests":{"a":{}}}"#,
        ] {
            ask(Some(&client), &parse(text)).await.expect_err(text);
        }
        let (asked, mut messages) = answering.await.expect("it ends");
        assert!(messages.queued().is_none(), "nothing else was asked");
        assert_eq!(
            asked,
            [ClientRequestKind::Elicitation, ClientRequestKind::Roots]
        );
    }
}
