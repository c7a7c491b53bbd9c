//! Server that sends client requests during a call: its name in front of each, and the record of it.

use std::pin::Pin;
use std::sync::Arc;

use mcpproxy_policy::Caller;
use mcpproxy_wire::input_required::with_changed_requests;
use mcpproxy_wire::json::with_set_member;
use mcpproxy_wire::{Json, RpcError};
use serde_json::json;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::messages::{ClientAnswer, ClientRequestKind};

/// Call during which its server may ask the client something.
#[derive(Debug)]
pub struct AskingCall {
    /// Name of the server, as its users know it.
    pub server: Arc<str>,
    /// Caller of the call.
    pub caller: Arc<Caller>,
    /// Id of the call's record.
    pub record_id: Uuid,
    /// Log that has each client request.
    pub log: Arc<dyn ClientRequestLog>,
}

/// Place of a client request that was passed on in a result, and comes back with a repeated request.
#[derive(Debug, Clone, Copy)]
pub struct PassedOn<'a> {
    /// Key of the request in the result.
    pub key: &'a str,
    /// JSON text of the state that the client repeats.
    pub state: Option<&'a str>,
}

/// Closes the record of a client request with the kind of answer. Dropped uncalled, it closes the record as
/// cancelled.
pub type AnswerRecorder = Box<dyn FnOnce(ClientAnswer) + Send>;

/// Future of a record that is opened; the error is for the server.
pub type OpeningRecord<'a> =
    Pin<Box<dyn Future<Output = Result<AnswerRecorder, RpcError>> + Send + 'a>>;

/// Log of client requests.
pub trait ClientRequestLog: std::fmt::Debug + Send + Sync {
    /// Opens the record of a request that a client gets now, with the parameters that it gets.
    fn open<'a>(
        &'a self,
        call: &'a AskingCall,
        kind: ClientRequestKind,
        params: &'a Json,
    ) -> OpeningRecord<'a>;

    /// Keeps the record of a request that was passed on, until the client comes back with its answer.
    fn keep(
        &self,
        call: &AskingCall,
        kind: ClientRequestKind,
        passed_on: PassedOn<'_>,
        recorder: AnswerRecorder,
    );
}

// === impl AskingCall ===

impl AskingCall {
    /// Result that asks for input, as it is passed on to a client that takes such results: every request in it names
    /// the server and is on record.
    pub(crate) async fn pass_on(&self, result: &Json) -> Result<Json, RpcError> {
        let mut asked = Vec::new();
        let named = with_changed_requests(result, |key, method, params| {
            let kind = ClientRequestKind::of_method(method)?;
            let params = with_server_name(kind, params, &self.server);
            asked.push((key.to_owned(), kind, params.clone()));
            Some(params)
        });
        let fields = result.fields().unwrap_or_default();
        let state = fields.given("requestState").map(RawValue::get);
        for (key, kind, params) in &asked {
            let (kind, key) = (*kind, key.as_str());
            let recorder = self.log.open(self, kind, params).await?;
            self.log.keep(self, kind, PassedOn { key, state }, recorder);
        }
        Ok(named)
    }
}

/// Parameters of a client request with the name of the server that asks, where somebody reads it: in front of the
/// message of an elicitation, and as the first line of the system prompt of sampling. The request for roots has no
/// text.
pub(super) fn with_server_name(kind: ClientRequestKind, params: &Json, server: &str) -> Json {
    let name = format!("[{server}] ");
    let member = match kind {
        ClientRequestKind::Elicitation => "message",
        ClientRequestKind::Sampling => "systemPrompt",
        ClientRequestKind::Roots => return params.clone(),
    };
    let empty = Json::empty_object();
    let params = if params.is_object() { params } else { &empty };
    let own = params.fields().and_then(|fields| fields.text(member));
    let text = match (kind, own) {
        (_, Some(own)) if own.starts_with(&name) => own.into_owned(),
        (ClientRequestKind::Elicitation, Some(own)) => format!("{name}{own}"),
        (ClientRequestKind::Elicitation, None) => format!("{name}asks for input"),
        (_, Some(own)) => format!("{name}asks for this completion\n{own}"),
        (_, None) => format!("{name}asks for this completion"),
    };
    with_set_member(params, member, &Json::of(&json!(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: ClientRequestKind, params: &'static str, expected: &str) {
        let params = Json::parse(params).expect("valid JSON");
        let named = with_server_name(kind, &params, "github");
        assert_eq!(named.text(), expected);
        let again = with_server_name(kind, &named, "github");
        assert_eq!(again.text(), expected, "the name is there once");
    }

    #[test]
    fn a_question_names_the_server_that_asks_and_the_rest_keeps_its_bytes() {
        use ClientRequestKind::{Elicitation, Roots, Sampling};
        check(
            Elicitation,
            r#"{"message":"Your \"key\"?","n":1e400}"#,
            r#"{"message":"[github] Your \"key\"?","n":1e400}"#,
        );
        check(
            Elicitation,
            r#"{"mode":"url","url":"https://x","message":"[other] Sign in"}"#,
            r#"{"mode":"url","url":"https://x","message":"[github] [other] Sign in"}"#,
        );
        // Readers do not agree on which of two members counts, so none of them is left without the name.
        check(
            Elicitation,
            r#"{"message":"a","message":"[github] b"}"#,
            r#"{"message":"[github] b","message":"[github] b"}"#,
        );
        for unreadable in ["7", "{}", r#"{"message":null}"#, r#"{"message":["a"]}"#] {
            check(
                Elicitation,
                unreadable,
                r#"{"message":"[github] asks for input"}"#,
            );
        }
        check(
            Sampling,
            r#"{"messages":[{"role":"user"}],"systemPrompt":"Be brief"}"#,
            r#"{"messages":[{"role":"user"}],"systemPrompt":"[github] asks for this completion\nBe brief"}"#,
        );
        check(
            Sampling,
            r#"{"messages":[]}"#,
            r#"{"messages":[],"systemPrompt":"[github] asks for this completion"}"#,
        );
        check(Roots, r#"{"_meta":{}}"#, r#"{"_meta":{}}"#);
    }
}
