//! Tools that answer by themselves.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

use super::content::{RED_PIXEL, SILENCE};
use super::{Call, text};
use crate::log;
use crate::state::Change;

/// The suite wants messages to arrive one after the other, not all at once.
const PAUSE: Duration = Duration::from_millis(50);

/// Longer than a client takes to see its stream end and come back.
const AWAY: Duration = Duration::from_millis(500);

pub(super) fn image() -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::image(RED_PIXEL, "image/png")])
}

pub(super) fn audio() -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::audio(SILENCE, "audio/wav")])
}

pub(super) fn embedded_resource() -> CallToolResult {
    let resource = ContentBlock::embedded_text(
        "test://embedded-resource",
        "This is an embedded resource content.",
    );
    CallToolResult::success(vec![resource])
}

pub(super) fn multiple_content_types() -> CallToolResult {
    let data = json!({ "test": "data", "value": 123 }).to_string();
    let resource = ResourceContents::text(data, "test://mixed-content-resource")
        .with_mime_type("application/json");
    CallToolResult::success(vec![
        ContentBlock::text("Multiple content types test:"),
        ContentBlock::image(RED_PIXEL, "image/png"),
        ContentBlock::resource(resource),
    ])
}

pub(super) fn error() -> CallToolResult {
    let message = "This tool intentionally returns an error for testing";
    CallToolResult::error(vec![ContentBlock::text(message)])
}

pub(super) async fn logging(call: &Call<'_>) -> CallToolResult {
    let context = call.dialogue.context;
    log::info(context, call.session, "Tool execution started").await;
    tokio::time::sleep(PAUSE).await;
    log::info(context, call.session, "Tool processing data").await;
    tokio::time::sleep(PAUSE).await;
    log::info(context, call.session, "Tool execution completed").await;
    text("The tool has logged what it did.")
}

pub(super) async fn progress(call: &Call<'_>) -> CallToolResult {
    call.progress(0.0, 100.0).await;
    tokio::time::sleep(PAUSE).await;
    call.progress(50.0, 100.0).await;
    tokio::time::sleep(PAUSE).await;
    call.progress(100.0, 100.0).await;
    text("The tool has told its progress.")
}

/// The door over HTTP ends the stream of this call meanwhile.
pub(super) async fn reconnection() -> CallToolResult {
    tokio::time::sleep(AWAY).await;
    text("The answer arrived after the stream had ended.")
}

/// Answers with the arguments.
pub(super) fn repeat(call: &Call<'_>) -> CallToolResult {
    let arguments = Value::Object(call.arguments.clone());
    text(arguments.to_string())
}

pub(super) fn change_tool(call: &Call<'_>) -> CallToolResult {
    let revision = call.shared().tool_revision.fetch_add(1, Ordering::SeqCst) + 1;
    call.shared().announce(Change::Tools);
    text(format!(
        "The tool `test_changing_tool` has revision {revision}."
    ))
}

pub(super) fn change_prompt(call: &Call<'_>) -> CallToolResult {
    let revision = call.shared().prompt_revision.fetch_add(1, Ordering::SeqCst) + 1;
    call.shared().announce(Change::Prompts);
    text(format!(
        "The prompt `test_changing_prompt` has revision {revision}."
    ))
}

pub(super) fn changing(call: &Call<'_>) -> CallToolResult {
    let revision = call.shared().tool_revision.load(Ordering::SeqCst);
    text(format!("Revision {revision}."))
}
