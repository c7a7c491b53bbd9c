//! What the log gets to see of a call: its start, its end, and why it failed.
//!
//! Parameters are redacted, data are summarised, and every line carries the trace id.

use std::time::Duration;

use serde_json::Value;
use tracing::Span;

use crate::dyn_tool::Registered;
use crate::{ErrorCategory, ToolContext, ToolError, redact};

/// The span of one call; its fields are on every line that is logged inside.
pub(crate) fn span(tool: &str, context: &ToolContext) -> Span {
    tracing::info_span!(
        "tool_call",
        tool,
        trace_id = context.trace_id,
        correlation_id = %context.correlation_id,
        agent_id = context.agent_id,
    )
}

pub(crate) fn start(tool: &Registered, arguments: &Value) {
    if tracing::enabled!(tracing::Level::INFO) {
        let params = redact::redact(arguments, &tool.secret_fields);
        tracing::info!(%params, "tool call started");
    }
}

pub(crate) fn end(
    tool: &Registered,
    outcome: Result<(&Value, bool), &ToolError>,
    elapsed: Duration,
) {
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
    let code = error.code();
    match (error.category(), error.cause()) {
        // The message repeats what was sent, which may be secret.
        (ErrorCategory::Validation, _) => tracing::warn!(code, duration_ms, "tool call refused"),
        (ErrorCategory::Business, _) => {
            tracing::warn!(
                code,
                duration_ms,
                message = error.message(),
                "tool call refused"
            );
        }
        (ErrorCategory::System, Some(cause)) => {
            let (chain, backtrace) = (cause.chain(), &cause.backtrace);
            tracing::error!(code, duration_ms, message = error.message(), cause = chain, %backtrace, "tool call failed");
        }
        (ErrorCategory::System, None) => {
            tracing::error!(
                code,
                duration_ms,
                message = error.message(),
                "tool call failed"
            );
        }
    }
}

pub(crate) fn retry(tool: &Registered, error: &ToolError) {
    let cause = error.cause().map(crate::error::Cause::chain);
    tracing::warn!(
        tool = tool.definition.name,
        cause,
        "tool call is repeated once"
    );
}

pub(crate) fn deprecated(tool: &Registered, replacement: &str) {
    tracing::warn!(
        tool = tool.definition.name,
        replacement,
        "a deprecated tool is used"
    );
}

pub(crate) fn unknown_suggestions(tool: &Registered, removed: &[String]) {
    tracing::error!(
        tool = tool.definition.name,
        ?removed,
        "suggestions of tools that are not registered were removed"
    );
}

/// A call that has begun. One that is dropped before its end was given up by its caller.
pub(crate) struct UnderWay {
    is_ended: bool,
}

impl UnderWay {
    pub(crate) fn begin() -> Self {
        Self { is_ended: false }
    }

    pub(crate) fn ended(mut self) {
        self.is_ended = true;
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if !self.is_ended {
            tracing::warn!("tool call was given up by its caller before it ended");
        }
    }
}

/// What came back, in a few words and without its content.
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
