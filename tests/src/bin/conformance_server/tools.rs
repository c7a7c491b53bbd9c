//! The tools: what they are called and which of them is run.

pub(crate) mod content;
mod definitions;
mod dialogues;
mod own;
mod rounds;
mod simple;

pub(crate) use definitions::all;

use rmcp::model::{CallToolResult, ContentBlock, ErrorData, JsonObject, ProgressNotificationParam};
use serde_json::Value;

use crate::ask::{Dialogue, Stop};
use crate::state::{Session, Shared};

/// One call of a tool.
pub(crate) struct Call<'a> {
    pub(crate) session: &'a Session,
    pub(crate) arguments: JsonObject,
    pub(crate) dialogue: Dialogue<'a>,
}

type Outcome = Result<CallToolResult, Stop>;

/// Runs the tool that a call names.
pub(crate) async fn run(call: &Call<'_>) -> Outcome {
    match call.dialogue.owner {
        "test_simple_text" => Ok(text("This is a simple text response for testing.")),
        "test_image_content" => Ok(simple::image()),
        "test_audio_content" => Ok(simple::audio()),
        "test_embedded_resource" => Ok(simple::embedded_resource()),
        "test_multiple_content_types" => Ok(simple::multiple_content_types()),
        "test_error_handling" => Ok(simple::error()),
        "test_tool_with_logging" | "test_logging_tool" => Ok(simple::logging(call).await),
        "test_tool_with_progress" => Ok(simple::progress(call).await),
        "test_reconnection" => Ok(simple::reconnection().await),
        "json_schema_2020_12_tool" | "test_x_mcp_header" => Ok(simple::repeat(call)),
        "test_trigger_tool_change" => Ok(simple::change_tool(call)),
        "test_trigger_prompt_change" => Ok(simple::change_prompt(call)),
        "test_changing_tool" => Ok(simple::changing(call)),
        "test_missing_capability" => dialogues::missing_capability(call),
        "test_sampling" => dialogues::sampling(call).await,
        "test_elicitation" => dialogues::elicitation(call).await,
        "test_elicitation_sep1034_defaults" => dialogues::defaults(call).await,
        "test_elicitation_sep1330_enums" => dialogues::enums(call).await,
        "test_streaming_elicitation" => dialogues::streaming(call).await,
        "test_input_required_result_elicitation" => rounds::elicitation(call).await,
        "test_input_required_result_sampling" => rounds::sampling(call).await,
        "test_input_required_result_list_roots" => rounds::list_roots(call).await,
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => rounds::request_state(call).await,
        "test_input_required_result_multiple_inputs" => rounds::multiple_inputs(call).await,
        "test_input_required_result_multi_round" => rounds::multi_round(call).await,
        "test_input_required_result_capabilities" => rounds::capabilities(call).await,
        "wait" => own::wait(call).await,
        "waits" => Ok(own::waits(call)),
        "cancellations" => Ok(own::cancellations(call)),
        "unanswered" => Ok(own::unanswered(call)),
        "add_tool" => Ok(own::add_tool(call)),
        "added" if own::has_added(call.shared()) => Ok(text("This tool was added.")),
        "touch_resource" => Ok(own::touch_resource(call)),
        "ask_name" => own::ask_name(call).await,
        other => Err(ErrorData::invalid_params(format!("Unknown tool: {other}"), None).into()),
    }
}

impl Call<'_> {
    fn shared(&self) -> &Shared {
        self.dialogue.shared
    }

    /// An argument that has to be a text.
    fn text(&self, name: &str) -> Result<&str, ErrorData> {
        let given = self.arguments.get(name).and_then(Value::as_str);
        given.ok_or_else(|| {
            let message = format!("The argument '{name}' is missing; give it as a string");
            ErrorData::invalid_params(message, None)
        })
    }

    /// Tells how far the call is, if the client wants to know.
    async fn progress(&self, progress: f64, total: f64) {
        let context = self.dialogue.context;
        if let Some(token) = context.meta.get_progress_token() {
            let notice = ProgressNotificationParam::new(token, progress).with_total(total);
            // A client that has gone does not need it.
            let _ = context.peer.notify_progress(notice).await;
        }
    }
}

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}
