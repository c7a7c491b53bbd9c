//! Lines of the log about a call: its start, its end, and why it failed.
//!
//! Parameters are redacted, data are summarised, and every line carries the trace id.

use std::time::Duration;

use mcpproxy_redact::OwnSecrets;
use prometheus_client::metrics::counter::Counter;
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

/// Tells of the start; gives the secrets among the parameters, which no later line may show.
pub(super) fn start(tool: &Registered, arguments: &Value) -> OwnSecrets {
    if tracing::enabled!(tracing::Level::INFO) {
        let params = redact::redact(arguments, &tool.secret_fields);
        tracing::info!(%params, "tool call started");
    }
    if tool.secret_fields.is_empty() {
        return OwnSecrets::none();
    }
    tool.secret_fields.collect(arguments)
}

pub(super) fn unknown_tool(name: &str, error: &ToolError, context: &ToolContext) {
    let (code, tool) = (error.code(), redact::shortened(name));
    let trace_id = &context.trace_id;
    tracing::warn!(code, tool, trace_id, "tool call refused");
}

pub(super) fn end(
    tool: &Registered,
    outcome: FinishedCall<'_>,
    elapsed: Duration,
    secrets: &OwnSecrets,
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
        Err(error) => failed(error, duration_ms, secrets),
    }
}

fn failed(error: &ToolError, duration_ms: f64, secrets: &OwnSecrets) {
    let (code, message) = (error.code(), error.message());
    match error.published().category {
        // The message repeats what was sent, which may be secret.
        ErrorCategory::Validation => {
            let violations = redact::violations(error, secrets);
            tracing::warn!(code, duration_ms, %violations, "tool call refused");
        }
        ErrorCategory::Business => {
            tracing::warn!(code, duration_ms, message, "tool call refused");
        }
        ErrorCategory::System => {
            let cause = error.cause().map(Cause::chain);
            let backtrace = error.backtrace().map(ToString::to_string);
            tracing::error!(
                code,
                duration_ms,
                message,
                cause,
                backtrace,
                "tool call failed"
            );
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

/// A call that has begun. One that is dropped was given up by its caller, and counts as such; one that ends is
/// forgotten.
pub(super) struct UnderWay<'a>(pub(super) &'a Counter);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.inc();
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
