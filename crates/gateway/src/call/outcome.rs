//! What came of a call, and how it answers an MCP client.

use mcpproxy_policy::Warning;
use mcpproxy_wire::{CallResult, meta};
use serde_json::json;
use uuid::Uuid;

use crate::agent_hints::PlacedHints;
use crate::failure::Failure;

/// What came of a call, with the ids the caller gets back.
#[derive(Debug)]
pub struct CallOutcome {
    /// Id of the record.
    pub activity_id: Uuid,
    /// Id of the request.
    pub request_id: Uuid,
    /// What the caller is warned about.
    pub warnings: Vec<Warning>,
    /// The upstream's own result, or why there is none.
    pub result: Result<CallResult, Failure>,
    /// What the gateway observed about the tool, where that goes with the result.
    pub(crate) hints: Option<PlacedHints>,
}

impl CallOutcome {
    /// Text of the `CallToolResult` that answers an MCP client.
    pub fn to_call_tool_result(&self) -> String {
        let result = match &self.result {
            Ok(result) => result,
            Err(failure) => return failure.to_call_tool_result(self.request_id, self.activity_id),
        };
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
                return result.with_text(text).with_meta(&additions);
            }
            Some(PlacedHints::Meta(json)) => additions.push((meta::AGENT_HINTS, json)),
            None => {}
        }
        result.with_meta(&additions)
    }
}

/// An id as a JSON string.
fn quoted(id: Uuid) -> String {
    let mut buffer = Uuid::encode_buffer();
    ["\"", id.hyphenated().encode_lower(&mut buffer), "\""].concat()
}
