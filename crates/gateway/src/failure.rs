//! The one shape of errors, on every face.
//!
//! Each part has its own error type; this is the only place that turns them into what a
//! caller sees: a stable code, a message with the remedy, and details for programs.

use std::time::Duration;

use mcpproxy_activity::{RecordOutcome, Status};
use mcpproxy_catalog::Violation;
use mcpproxy_policy::{Denial, IntentError, Mode, Operation};
use mcpproxy_redact::Mask;
use mcpproxy_upstream::CallError;
use mcpproxy_wire::{RpcError, meta};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::menu;

/// Code on record when the tool itself reports an error.
pub(crate) const TOOL_ERROR: &str = "TOOL_ERROR";

/// Makes the enum of codes from their table: what each is written as, and its group.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $word:literal, $category:ident;)+) => {
        /// What programs match on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$doc])* $code,)+
        }

        impl Code {
            /// The code as it is written.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$code => $word,)+ }
            }

            /// The group it belongs to.
            pub fn category(self) -> FailureCategory {
                match self { $(Self::$code => FailureCategory::$category,)+ }
            }
        }
    };
}

codes! {
    /// Nothing was declared.
    MissingIntent = "MISSING_INTENT", Validation;
    /// The operation was not declared.
    MissingOperationType = "MISSING_OPERATION_TYPE", Validation;
    /// The declared operation does not exist.
    InvalidOperationType = "INVALID_OPERATION_TYPE", Validation;
    /// The declared operation is not the variant's.
    IntentMismatch = "INTENT_MISMATCH", Validation;
    /// The server's annotation speaks against the variant.
    ServerMismatch = "SERVER_MISMATCH", Business;
    /// The rules ask for more care with a tool without annotations.
    UnannotatedTool = "UNANNOTATED_TOOL", Business;
    /// The declared sensitivity does not exist.
    InvalidSensitivity = "INVALID_SENSITIVITY", Validation;
    /// The reason is too long.
    ReasonTooLong = "REASON_TOO_LONG", Validation;
    /// The arguments do not fit.
    InvalidArguments = "INVALID_ARGUMENTS", Validation;
    /// The name is not `server:tool`.
    InvalidToolName = "INVALID_TOOL_NAME", Validation;
    /// There is no such server.
    UnknownServer = "UNKNOWN_SERVER", Validation;
    /// The server has no such tool.
    UnknownTool = "UNKNOWN_TOOL", Validation;
    /// An operator switched the tool or its server off.
    ToolDisabled = "TOOL_DISABLED", Business;
    /// The server waits for approval.
    ServerQuarantined = "SERVER_QUARANTINED", Business;
    /// The server could not be reached.
    UpstreamUnavailable = "UPSTREAM_UNAVAILABLE", System;
    /// The server did not answer in time.
    UpstreamTimeout = "UPSTREAM_TIMEOUT", System;
    /// The server answered with an error of the protocol.
    UpstreamError = "UPSTREAM_ERROR", System;
    /// The caller called too often.
    RateLimited = "RATE_LIMITED", Business;
    /// The log cannot be written or read.
    StoreUnavailable = "STORE_UNAVAILABLE", System;
    /// There is nothing under this name.
    NotFound = "NOT_FOUND", Validation;
    /// The credential is missing or wrong.
    Unauthorized = "UNAUTHORIZED", Business;
    /// The caller may not do this.
    Forbidden = "FORBIDDEN", Business;
    /// Something broke on our side.
    Internal = "INTERNAL", System;
}

/// The three groups of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ErrorCategory)]
#[serde(rename_all = "lowercase")]
pub enum FailureCategory {
    /// What was sent is wrong.
    Validation,
    /// A rule or a state speaks against it.
    Business,
    /// Something does not work.
    System,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorObject<'a> {
    /// What programs match on.
    #[schema(example = "SERVER_MISMATCH")]
    pub code: &'a str,
    /// What happened and what to do.
    pub message: &'a str,
    /// The group it belongs to.
    pub category: FailureCategory,
    /// Whether the very same request may work later.
    pub retryable: bool,
    /// More for programs.
    #[schema(value_type = BTreeMap<String, Value>)]
    pub details: Map<String, Value>,
    /// The id of the request, as the record of it has.
    pub request_id: Uuid,
}

/// An error as a caller sees it.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What programs match on.
    pub code: Code,
    /// What happened and what to do.
    pub message: String,
    /// Whether the very same call may be made again.
    pub retryable: bool,
    /// More for programs.
    pub details: Map<String, Value>,
    /// JSON-RPC error that an upstream answered with, if it did; secrets hidden.
    rpc_error: Option<Box<RpcError>>,
}

// === impl Code ===

impl Code {
    /// Whether the very same call may work later.
    fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::UpstreamUnavailable
                | Self::UpstreamTimeout
                | Self::RateLimited
                | Self::StoreUnavailable
        )
    }

    /// Whether the call got as far as its server, or at least on the way there.
    pub(crate) fn is_of_upstream(self) -> bool {
        matches!(
            self,
            Self::UpstreamUnavailable | Self::UpstreamTimeout | Self::UpstreamError
        )
    }
}

// === impl Failure ===

impl Failure {
    /// A failure without details.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retryable: code.is_retryable(),
            details: Map::new(),
            rpc_error: None,
        }
    }

    /// Adds one more detail.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// Adds the schema of the menu's own tool, where that tool's arguments are wrong.
    #[must_use]
    pub(crate) fn with_menu_schema(self, tool: &str, mode: Mode) -> Self {
        if self.code != Code::InvalidArguments || self.details.contains_key("input_schema") {
            return self;
        }
        self.with("input_schema", menu::input_schema(tool, mode))
    }

    /// Marks a call that must not simply be made again.
    #[must_use]
    pub(crate) fn not_retryable(mut self) -> Self {
        self.retryable = false;
        self
    }

    /// Arguments that do not fit, with everything that is wrong with them.
    pub(crate) fn invalid_arguments(of: &str, violations: &[Violation]) -> Self {
        let listed: Vec<String> = violations
            .iter()
            .map(|violation| match violation.path.as_str() {
                "" => violation.message.clone(),
                path => format!("{path}: {}", violation.message),
            })
            .collect();
        Self::new(
            Code::InvalidArguments,
            format!("Invalid arguments for '{of}': {}", listed.join("; ")),
        )
        .with("violations", json!(violations))
    }

    /// JSON-RPC error that an upstream answered with, if it did; secrets hidden.
    pub(crate) fn rpc_error(&self) -> Option<&RpcError> {
        self.rpc_error.as_deref()
    }

    /// What an upstream that did not do its part means for the caller.
    pub(crate) fn of_upstream(
        server: &str,
        operation: Operation,
        error: CallError,
        mask: &Mask,
    ) -> Self {
        let may_have_taken_effect = error.may_have_taken_effect();
        let failure = match error {
            CallError::Unavailable { reason } => Self::new(
                Code::UpstreamUnavailable,
                format!("Server '{server}' is not available: {reason}. The call was not sent."),
            ),
            CallError::Timeout { after, sent } => Self::new(
                Code::UpstreamTimeout,
                format!(
                    "Server '{server}' did not answer within {}. {}",
                    in_words(after),
                    effect_of(sent, operation)
                ),
            )
            .with("sent", sent),
            CallError::Disconnected { sent, reason } => Self::new(
                Code::UpstreamUnavailable,
                format!(
                    "Server '{server}' went away: {reason}. {}",
                    effect_of(sent, operation)
                ),
            )
            .with("sent", sent),
            CallError::Rpc(error) => {
                let message = format!(
                    "Server '{server}' answered with an error: {}",
                    error.message
                );
                let mut failure =
                    Self::new(Code::UpstreamError, message).with("upstream_code", error.code);
                if let Some(data) = &error.data {
                    failure = failure.with("upstream_data", data.clone());
                }
                failure.rpc_error = Some(Box::new(error));
                failure
            }
            CallError::Malformed { reason } => Self::new(
                Code::UpstreamError,
                format!(
                    "Server '{server}' gave no usable answer: {reason}. {}",
                    effect_of(true, operation)
                ),
            ),
            other => Self::new(
                Code::UpstreamError,
                format!("Server '{server}' failed: {other}"),
            ),
        };
        let failure = failure.with("server", server).masked(mask);
        // What may have been done is not to be done twice by a program that only reads the flag.
        if may_have_taken_effect && operation != Operation::Read {
            return failure.not_retryable();
        }
        failure
    }

    /// The error object, as every face shows it.
    pub fn to_object(&self, request_id: Uuid) -> ErrorObject<'_> {
        ErrorObject {
            code: self.code.as_str(),
            message: &self.message,
            category: self.code.category(),
            retryable: self.retryable,
            details: self.details.clone(),
            request_id,
        }
    }

    /// The error object as a value.
    pub fn to_json(&self, request_id: Uuid) -> Value {
        json!(self.to_object(request_id))
    }

    /// Text of a `CallToolResult`: the message as text, the object for programs.
    pub(crate) fn to_call_tool_result(&self, request_id: Uuid, activity_id: Uuid) -> String {
        let result = json!({
            "content": [{ "type": "text", "text": self.message }],
            "structuredContent": { "error": self.to_json(request_id) },
            "isError": true,
            "_meta": {
                meta::ACTIVITY_ID: activity_id,
                meta::REQUEST_ID: request_id,
            },
        });
        result.to_string()
    }

    /// Outcome that the failure of a call is on record with.
    pub(crate) fn record_outcome(&self) -> RecordOutcome<'_> {
        // A fault of ours is no refusal; the call may have been sent.
        let is_error = self.code.is_of_upstream() || self.code == Code::Internal;
        RecordOutcome {
            status: if is_error {
                Status::Error
            } else {
                Status::Blocked
            },
            error: Some((self.code.as_str(), &self.message)),
            response: None,
        }
    }

    /// Hides secrets of the configuration.
    pub(crate) fn masked(mut self, mask: &Mask) -> Self {
        self.message = mask.apply(&self.message).into_owned();
        self.details = mask_map(self.details, mask);
        if let Some(error) = &mut self.rpc_error {
            error.message = mask.apply(&error.message).into_owned();
            error.data = error.data.take().map(|data| mask_value(data, mask));
        }
        self
    }
}

impl From<IntentError> for Failure {
    fn from(error: IntentError) -> Self {
        let code = match &error {
            IntentError::Missing { .. } => Code::MissingIntent,
            IntentError::MissingOperationType => Code::MissingOperationType,
            IntentError::InvalidOperationType { .. } => Code::InvalidOperationType,
            IntentError::Mismatch { .. } => Code::IntentMismatch,
            IntentError::InvalidSensitivity { .. } => Code::InvalidSensitivity,
            IntentError::ReasonTooLong => Code::ReasonTooLong,
            _ => Code::InvalidArguments,
        };
        let failure = Self::new(code, error.to_string());
        if code == Code::InvalidArguments {
            let violation = Violation {
                path: "/intent".to_owned(),
                message: error.to_string(),
            };
            return failure.with("violations", json!([violation]));
        }
        failure
    }
}

impl From<Denial> for Failure {
    fn from(denial: Denial) -> Self {
        let code = match denial {
            Denial::Unannotated { .. } => Code::UnannotatedTool,
            _ => Code::ServerMismatch,
        };
        Self::new(code, denial.to_string()).with("call_with", denial.call_with().variant())
    }
}

/// Whether a call that got no answer may have done something.
pub(crate) fn effect_of(sent: bool, operation: Operation) -> &'static str {
    match (sent, operation) {
        (false, _) => "The call was not sent.",
        (true, Operation::Read) => "The call was sent; as a read it is safe to repeat.",
        (true, _) => "The call was sent and may have taken effect; check before repeating it.",
    }
}

fn in_words(duration: Duration) -> String {
    // Parts below a millisecond say nothing about a deadline.
    let whole = Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
    humantime::format_duration(whole).to_string()
}

fn mask_map(map: Map<String, Value>, mask: &Mask) -> Map<String, Value> {
    map.into_iter()
        .map(|(name, value)| (name, mask_value(value, mask)))
        .collect()
}

fn mask_value(value: Value, mask: &Mask) -> Value {
    match value {
        Value::String(text) => Value::String(mask.apply(&text).into_owned()),
        Value::Array(items) => Value::Array(
            items
                .into_iter()
                .map(|item| mask_value(item, mask))
                .collect(),
        ),
        Value::Object(map) => Value::Object(mask_map(map, mask)),
        other => other,
    }
}
