//! Lines of the log about a call: its start, its end, and why it failed.
//!
//! Parameters are redacted, data are summarised, and every line carries the trace id.

use std::time::Duration;

use serde_json::Value;
use tracing::Span;

use super::{FinishedCall, redact};
use crate::registry::Registered;
use crate::tool::error::Cause;
use crate::{ErrorCategory, ToolContext, ToolError};

/// The span of one call; its fields are on every line that is logged inside.
pub(super) fn span(tool: &str, context: &ToolContext) -> Span {
    tracing::info_span!(
        "tool_call",
        tool,
        trace_id = context.trace_id,
        correlation_id = %context.correlation_id,
        agent_id = context.agent_id,
    )
}

pub(super) fn start(tool: &Registered, arguments: &Value) {
    if tracing::enabled!(tracing::Level::INFO) {
        let params = redact::redact(arguments, &tool.secret_fields);
        tracing::info!(%params, "tool call started");
    }
}

pub(super) fn end(tool: &Registered, outcome: FinishedCall<'_>, elapsed: Duration) {
    let duration_ms = elapsed.as_secs_f64() * 1_000.0;
    match outcome {
        Ok((data, cached)) => {
            tracing::info!(duration_ms, cached, result = %summary(data), "tool call ended");
            if let Some(promised) = tool.definition.response_time.promised()
                && elapsed > promised
            {
                tracing::warn!(
                    duration_ms,
                    "tool call took longer than its responseTime says"
                );
            }
        }
        Err(error) => failed(error, duration_ms),
    }
}

fn failed(error: &ToolError, duration_ms: f64) {
    let (code, message) = (error.code(), error.message());
    match (error.published().category, error.cause()) {
        // The message repeats what was sent, which may be secret.
        (ErrorCategory::Validation, _) => tracing::warn!(code, duration_ms, "tool call refused"),
        (ErrorCategory::Business, _) => {
            tracing::warn!(code, duration_ms, message, "tool call refused");
        }
        (ErrorCategory::System, Some(cause)) => {
            let (chain, backtrace) = (cause.chain(), &cause.backtrace);
            tracing::error!(code, duration_ms, message, cause = chain, %backtrace, "tool call failed");
        }
        (ErrorCategory::System, None) => {
            tracing::error!(code, duration_ms, message, "tool call failed");
        }
    }
}

pub(super) fn retry(tool: &Registered, error: &ToolError) {
    let (tool, cause) = (&tool.definition.name, error.cause().map(Cause::chain));
    tracing::warn!(tool, cause, "tool call is repeated once");
}

pub(super) fn deprecated(tool: &Registered, replacement: &str) {
    let tool = &tool.definition.name;
    tracing::warn!(tool, replacement, "a deprecated tool is used");
}

pub(super) fn unknown_suggestions(tool: &Registered, removed: &[String]) {
    let tool = &tool.definition.name;
    tracing::error!(
        tool,
        ?removed,
        "suggestions of tools that are not registered were removed"
    );
}

/// A call that has begun. One that is dropped was given up by its caller; one that ends is forgotten.
pub(super) struct UnderWay;

impl Drop for UnderWay {
    fn drop(&mut self) {
        tracing::warn!("tool call was given up by its caller before it ended");
    }
}

/// Summary of the data in a few words and without its content.
fn summary(data: &Value) -> String {
    match data {
        Value::Object(fields) => {
            let names: Vec<&str> = fields.keys().take(8).map(String::as_str).collect();
            format!("object of {} fields ({})", fields.len(), names.join(", "))
        }
        Value::Array(items) => format!("list of {} items", items.len()),
        Value::String(text) => format!("text of {} characters", text.chars().count()),
        Value::Number(_) => "number".to_owned(),
        Value::Bool(_) => "boolean".to_owned(),
        Value::Null => "null".to_owned(),
    }
}
