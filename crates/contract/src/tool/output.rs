//! Output of a handler, and what the pipeline makes of it.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::Data;
use super::agent_hints::AgentHints;
use super::definition::Version;
use super::error::PublishedError;

/// Output of a handler that worked: data and hints, never one without the other.
#[derive(Debug)]
pub struct ToolOutput<D> {
    pub(crate) data: D,
    pub(crate) hints: AgentHints,
}

/// Result that a caller gets. Only the pipeline makes one: there is no other way to a result, and so none
/// without hints and metadata.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    #[serde(flatten)]
    pub(crate) outcome: ResultOutcome,
    pub(crate) agent_hints: AgentHints,
    pub(crate) metadata: ResultMetadata,
}

/// The data, or why there is none. Exactly one of the two.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ResultOutcome {
    /// Data that the tool gave back; never null.
    Data(Value),
    /// Why there is no data.
    Error(PublishedError),
}

/// Facts on the call itself.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultMetadata {
    /// The version of the tool.
    pub tool_version: Version,
    /// When the tool executed, in UTC.
    pub timestamp: Timestamp,
    /// Time that the call took, in milliseconds, everything included.
    pub execution_time: f64,
    /// The version of the service that executed the tool.
    pub service_version: Version,
    /// The W3C trace id of the call.
    pub trace_id: String,
    /// Links operations that belong together.
    pub correlation_id: Uuid,
    /// Whether the result was kept from an earlier call.
    pub cached: bool,
}

// === impl ToolOutput ===

impl<D: Data> ToolOutput<D> {
    /// Data with the hints on what to do with it.
    pub fn new(data: D, hints: AgentHints) -> Self {
        Self { data, hints }
    }
}

// === impl ToolResult ===

impl ToolResult {
    /// The data, if the call worked.
    pub fn data(&self) -> Option<&Value> {
        match &self.outcome {
            ResultOutcome::Data(data) => Some(data),
            ResultOutcome::Error(_) => None,
        }
    }

    /// Why there is no data, if the call did not work.
    pub fn error(&self) -> Option<&PublishedError> {
        match &self.outcome {
            ResultOutcome::Data(_) => None,
            ResultOutcome::Error(error) => Some(error),
        }
    }

    /// Hints on what to do next.
    pub fn hints(&self) -> &AgentHints {
        &self.agent_hints
    }

    /// Facts on the call itself.
    pub fn metadata(&self) -> &ResultMetadata {
        &self.metadata
    }

    /// The result as JSON, as it goes into `structuredContent`.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }
}
