//! Outcome of a call, and how it answers an MCP client.

use std::time::Duration;

use mcpproxy_policy::Warning;
use mcpproxy_wire::meta::{self, ServerIdentity};
use mcpproxy_wire::{CallResult, Protocol, ResultText, stateless};
use serde_json::json;
use uuid::Uuid;

use crate::agent_hints::PlacedHints;
use crate::failure::{ErrorAnswer, Failure};

/// Outcome of a call, with the ids the caller gets back.
#[derive(Debug)]
pub struct CallOutcome {
    /// Id of the record.
    pub activity_id: Uuid,
    /// Id of the request.
    pub request_id: Uuid,
    /// Warnings to the caller.
    pub warnings: Vec<Warning>,
    /// The upstream's own result, or why there is none.
    pub result: Result<CallResult, Failure>,
    /// Time from when the call came in until its outcome was known.
    pub(crate) took: Duration,
    /// Agent hints from what the gateway observed, where they go with the result.
    pub(crate) hints: Option<PlacedHints>,
}

impl CallOutcome {
    /// Text of the `CallToolResult`, as the upstream wrote it.
    pub fn to_call_tool_result(&self) -> String {
        match &self.result {
            Ok(result) => self.extended(result, |result, additions| {
                result.with_meta(ServerIdentity::Hidden, additions)
            }),
            Err(failure) => {
                failure.to_call_tool_result(self.request_id, self.activity_id, &self.warnings)
            }
        }
    }

    /// Answer of a face that has no `CallToolResult` to a call that ended in this failure, with what the caller is warned of.
    pub fn error_answer<'a>(&self, failure: &'a Failure) -> ErrorAnswer<'a> {
        failure.to_answer(self.request_id).warning(&self.warnings)
    }

    /// Text of the `CallToolResult` that answers an MCP client of a protocol.
    pub fn to_client_result(&self, protocol: Protocol, identity: ServerIdentity) -> ResultText {
        match (&self.result, protocol) {
            (Ok(result), _) => self.extended(result, |result, additions| {
                result.to_text(protocol, identity, additions)
            }),
            (Err(_), Protocol::Session) => self.to_call_tool_result().into(),
            (Err(_), Protocol::Stateless) => stateless::complete(self.to_call_tool_result()).into(),
        }
    }

    /// Whether the upstream asks for input in place of a result.
    pub fn asks_for_input(&self) -> bool {
        self.result.as_ref().is_ok_and(CallResult::asks_for_input)
    }

    /// Writes a result with what the gateway adds to it.
    fn extended<T>(
        &self,
        result: &CallResult,
        write: impl FnOnce(&CallResult, &[(&str, &str)]) -> T,
    ) -> T {
        let activity_id = quoted(self.activity_id);
        let request_id = quoted(self.request_id);
        let mut additions = vec![
            (meta::ACTIVITY_ID, activity_id.as_str()),
            (meta::REQUEST_ID, request_id.as_str()),
        ];
        let warnings = (!self.warnings.is_empty()).then(|| json!(self.warnings).to_string());
        if let Some(warnings) = &warnings {
            additions.push((meta::WARNINGS, warnings));
        }
        match &self.hints {
            Some(PlacedHints::Content(text)) => {
                return write(&result.with_text(text), &additions);
            }
            Some(PlacedHints::Meta(json)) => additions.push((meta::AGENT_HINTS, json)),
            None => {}
        }
        write(result, &additions)
    }
}

/// An id as a JSON string.
fn quoted(id: Uuid) -> String {
    let mut buffer = Uuid::encode_buffer();
    ["\"", id.hyphenated().encode_lower(&mut buffer), "\""].concat()
}
