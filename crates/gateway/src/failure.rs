//! The one shape of errors, on every face.
//!
//! Each part has its own error type; this is the only place that turns them into what a
//! caller sees: a stable code, a message with the remedy, and details for programs.

pub(crate) mod starting;

use std::time::Duration;

use mcpproxy_activity::{RecordOutcome, Status, StoreError};
use mcpproxy_catalog::Violation;
use mcpproxy_policy::{Denial, INTENT_KEYS, IntentError, Mode, Operation, Warning, words};
use mcpproxy_redact::Mask;
use mcpproxy_support::nearest::nearest_keyword;
use mcpproxy_upstream::CallError;
use mcpproxy_wire::{RpcError, meta};
use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use self::starting::{told_start, without_host_files};
use crate::menu;

/// Member of an answer that the warnings stand in.
const META: &str = "_meta";

/// Code on record when the tool itself reports an error.
pub(crate) const TOOL_ERROR: &str = "TOOL_ERROR";

words! {
    /// Code of a failure, which programs match on.
    Code {
        /// Nothing was declared.
        MissingIntent = "MISSING_INTENT",
        /// The operation was not declared.
        MissingOperationType = "MISSING_OPERATION_TYPE",
        /// The declared operation does not exist.
        InvalidOperationType = "INVALID_OPERATION_TYPE",
        /// The declared operation is not the variant's.
        IntentMismatch = "INTENT_MISMATCH",
        /// The server's annotation speaks against the variant.
        ServerMismatch = "SERVER_MISMATCH",
        /// The rules ask for more care with a tool without annotations.
        UnannotatedTool = "UNANNOTATED_TOOL",
        /// The declared sensitivity does not exist.
        InvalidSensitivity = "INVALID_SENSITIVITY",
        /// The reason is too long.
        ReasonTooLong = "REASON_TOO_LONG",
        /// The arguments do not fit.
        InvalidArguments = "INVALID_ARGUMENTS",
        /// The name is not `server:tool`.
        InvalidToolName = "INVALID_TOOL_NAME",
        /// There is no such server.
        UnknownServer = "UNKNOWN_SERVER",
        /// The server has no such tool.
        UnknownTool = "UNKNOWN_TOOL",
        /// An operator switched the tool or its server off.
        ToolDisabled = "TOOL_DISABLED",
        /// The day of its removal, which the tool's server announced, has come.
        ToolRemoved = "TOOL_REMOVED",
        /// The server waits for approval.
        ServerQuarantined = "SERVER_QUARANTINED",
        /// The server could not be reached.
        UpstreamUnavailable = "UPSTREAM_UNAVAILABLE",
        /// The server did not answer in time.
        UpstreamTimeout = "UPSTREAM_TIMEOUT",
        /// The server answered with an error of the protocol.
        UpstreamError = "UPSTREAM_ERROR",
        /// The caller called too often.
        RateLimited = "RATE_LIMITED",
        /// The log cannot be written or read.
        StoreUnavailable = "STORE_UNAVAILABLE",
        /// There is nothing under this name.
        NotFound = "NOT_FOUND",
        /// Something of this name is there already.
        NameTaken = "NAME_TAKEN",
        /// The configuration file cannot be used, or not be changed.
        InvalidConfiguration = "INVALID_CONFIGURATION",
        /// The credential is missing or wrong.
        Unauthorized = "UNAUTHORIZED",
        /// The caller may not do this.
        Forbidden = "FORBIDDEN",
        /// Something broke on our side.
        Internal = "INTERNAL",
    }
}

/// The three groups of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = ErrorCategory))]
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
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorObject<'a> {
    /// What programs match on.
    #[cfg_attr(feature = "openapi", schema(example = "SERVER_MISMATCH"))]
    pub code: &'a str,
    /// What happened and what to do.
    pub message: &'a str,
    /// The group it belongs to.
    pub category: FailureCategory,
    /// Whether the very same request may work later.
    pub retryable: bool,
    /// More for programs.
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, Value>))]
    pub details: Map<String, Value>,
    /// The id of the request, as the record of it has.
    pub request_id: Uuid,
}

/// Failure of a request, as its caller sees it.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Code that programs match on.
    pub code: Code,
    /// Message that says what happened and what to do.
    pub message: String,
    /// Whether the very same call may be made again.
    pub retryable: bool,
    /// Details for programs.
    pub details: Map<String, Value>,
    /// Violations in the details of which nothing says what to send instead.
    strange: u32,
    /// JSON-RPC error that an upstream answered with, if it did; secrets hidden.
    rpc_error: Option<Box<RpcError>>,
    /// Parts that make it a whole result of the tool contract, where it is about a tool of a contract service.
    contract_parts: Option<Box<ContractParts>>,
}

/// Parts of a result of the tool contract beside its error.
#[derive(Debug, Clone)]
pub(crate) struct ContractParts {
    pub(crate) agent_hints: Map<String, Value>,
    pub(crate) metadata: Map<String, Value>,
}

/// Answer to a request that failed: the error, and for a tool of a contract service all else that a result of it has.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorAnswer<'a> {
    /// What went wrong.
    pub error: ErrorObject<'a>,
    /// What to do next, how sure that is, and why; for a tool of a contract service.
    #[serde(rename = "agentHints", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub agent_hints: Option<&'a Map<String, Value>>,
    /// Versions, when, and how long; for a tool of a contract service.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub metadata: Option<&'a Map<String, Value>>,
    /// What the caller is warned of, under `dev.mcpproxy/warnings`; where there is something.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub meta: Option<Map<String, Value>>,
}

// === impl Code ===

impl Code {
    /// Group that the code belongs to.
    pub fn category(self) -> FailureCategory {
        match self {
            Self::ServerMismatch
            | Self::UnannotatedTool
            | Self::ToolDisabled
            | Self::ToolRemoved
            | Self::ServerQuarantined
            | Self::RateLimited
            | Self::NameTaken
            | Self::InvalidConfiguration
            | Self::Unauthorized
            | Self::Forbidden => FailureCategory::Business,
            Self::UpstreamUnavailable
            | Self::UpstreamTimeout
            | Self::UpstreamError
            | Self::StoreUnavailable
            | Self::Internal => FailureCategory::System,
            Self::MissingIntent
            | Self::MissingOperationType
            | Self::InvalidOperationType
            | Self::IntentMismatch
            | Self::InvalidSensitivity
            | Self::ReasonTooLong
            | Self::InvalidArguments
            | Self::InvalidToolName
            | Self::UnknownServer
            | Self::UnknownTool
            | Self::NotFound => FailureCategory::Validation,
        }
    }

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
}

// === impl ErrorAnswer ===

impl<'a> ErrorAnswer<'a> {
    /// Answer with an error and nothing else.
    pub fn new(error: ErrorObject<'a>) -> Self {
        Self {
            error,
            agent_hints: None,
            metadata: None,
            meta: None,
        }
    }

    /// Answer that warns the caller as well, for faces where nothing else has the warnings.
    #[must_use]
    pub(crate) fn warning(mut self, warnings: &[Warning]) -> Self {
        let meta = || (meta::WARNINGS.to_owned(), json!(warnings));
        self.meta = (!warnings.is_empty()).then(|| Map::from_iter([meta()]));
        self
    }
}

// === impl Failure ===

impl Failure {
    /// Failure without details.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retryable: code.is_retryable(),
            details: Map::new(),
            strange: 0,
            rpc_error: None,
            contract_parts: None,
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
        let listed = violations.iter().map(|Violation { path, message, .. }| {
            let separator = if path.is_empty() { "" } else { ": " };
            format!("{path}{separator}{message}")
        });
        let listed = listed.collect::<Vec<_>>().join("; ");
        let message = format!("Invalid arguments for '{of}': {listed}");
        let mut failure =
            Self::new(Code::InvalidArguments, message).with("violations", json!(violations));
        let strange = violations.iter().filter(|one| one.is_strange).count();
        failure.strange = u32::try_from(strange).unwrap_or(u32::MAX);
        failure
    }

    /// Whether the request was refused. A fault of ours is no refusal, because the call may have been sent; but what
    /// cannot be recorded is refused.
    pub(crate) fn is_refusal(&self) -> bool {
        self.code == Code::StoreUnavailable || self.code.category() != FailureCategory::System
    }

    /// Makes it a whole result of the tool contract.
    #[must_use]
    pub(crate) fn with_contract_parts(mut self, parts: Option<Box<ContractParts>>) -> Self {
        self.contract_parts = parts;
        self
    }

    /// Parts that make it a whole result of the tool contract, where it is about a tool of a contract service.
    pub(crate) fn take_contract_parts(&mut self) -> Option<Box<ContractParts>> {
        self.contract_parts.take()
    }

    /// Time to wait before the next try, where that is known.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let milliseconds = self.details.get("retry_after_ms")?.as_u64()?;
        Some(Duration::from_millis(milliseconds))
    }

    /// Number of violations in the details of which nothing says what to send instead.
    pub(crate) fn strange_violations(&self) -> u64 {
        self.strange.into()
    }

    /// JSON-RPC error that an upstream answered with, if it did; secrets hidden.
    pub(crate) fn rpc_error(&self) -> Option<&RpcError> {
        self.rpc_error.as_deref()
    }

    /// Failure of an upstream that did not do its part, as it is for the caller.
    pub(crate) fn of_upstream(
        server: &str,
        operation: Operation,
        error: CallError,
        mask: &Mask,
    ) -> Self {
        let may_have_taken_effect = error.may_have_taken_effect();
        let effect = |sent| effect_of(sent, operation);
        let failed = |code, what: &str| Self::new(code, format!("Server '{server}' {what}"));
        let failure = match error {
            CallError::Unavailable { reason } => {
                let reason = without_host_files(&reason);
                let what = format!("is not available: {reason}. {}", effect(false));
                failed(Code::UpstreamUnavailable, &what)
            }
            CallError::Timeout { after, sent } => {
                let after = in_words(after);
                let what = format!("did not answer within {after}. {}", effect(sent));
                failed(Code::UpstreamTimeout, &what).with("sent", sent)
            }
            CallError::StillStarting { after, start } => {
                let last = start.last_error.as_deref().map(without_host_files);
                let told = told_start(&start, last);
                let what = format!(
                    "{told}. It was waited for {}. {}",
                    in_words(after),
                    effect(false)
                );
                let failure = failed(Code::UpstreamTimeout, &what).with("sent", false);
                failure
                    .with("attempt", start.attempt)
                    .with("waiting_for", start.waiting_for.as_str())
            }
            CallError::Disconnected { sent, reason } => {
                let what = format!("went away: {reason}. {}", effect(sent));
                failed(Code::UpstreamUnavailable, &what).with("sent", sent)
            }
            CallError::Rpc(error) => {
                let what = format!("answered with an error: {}", error.message);
                let mut failure = failed(Code::UpstreamError, &what);
                failure = failure.with("upstream_code", error.code);
                if let Some(data) = &error.data {
                    failure = failure.with("upstream_data", data.clone());
                }
                failure.rpc_error = Some(Box::new(error));
                failure
            }
            CallError::Malformed { reason } => {
                let what = format!("gave no usable answer: {reason}. {}", effect(true));
                failed(Code::UpstreamError, &what)
            }
            other => failed(Code::UpstreamError, &format!("failed: {other}")),
        };
        let mut failure = failure.with("server", server).masked(mask);
        // What may have been done is not to be done twice by a program that only reads the flag.
        failure.retryable &= !may_have_taken_effect || operation == Operation::Read;
        failure
    }

    /// Error object, as every face shows it.
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

    /// Error object as a value.
    pub fn to_json(&self, request_id: Uuid) -> Value {
        json!(self.to_object(request_id))
    }

    /// Answer to the request, as every face gives it.
    pub fn to_answer(&self, request_id: Uuid) -> ErrorAnswer<'_> {
        let parts = self.contract_parts.as_deref();
        ErrorAnswer {
            agent_hints: parts.map(|parts| &parts.agent_hints),
            metadata: parts.map(|parts| &parts.metadata),
            ..ErrorAnswer::new(self.to_object(request_id))
        }
    }

    /// Data of an error of JSON-RPC that is passed on: the server's own, and beside it what makes the answer of a contract
    /// service whole. What the server put under those names stays, but for `_meta` where there is something to warn of.
    pub(crate) fn data_beside(
        &self,
        own: Option<&Value>,
        request_id: Uuid,
        warnings: &[Warning],
    ) -> Option<Value> {
        if self.contract_parts.is_none() {
            return own.cloned();
        }
        let mut data = json!(self.to_answer(request_id).warning(warnings));
        if let (Some(Value::Object(own)), Value::Object(data)) = (own, &mut data) {
            let ours = data.get(META).cloned();
            data.extend(own.clone());
            // What the gateway warns of is its word alone.
            if let Some(ours) = ours {
                data.insert(META.to_owned(), ours);
            } else if let Some(Value::Object(theirs)) = data.get_mut(META) {
                theirs.shift_remove(meta::WARNINGS);
            }
        }
        Some(data)
    }

    /// Text of a `CallToolResult`: the message as text, the object for programs, and what the caller is warned of.
    pub(crate) fn to_call_tool_result(
        &self,
        request_id: Uuid,
        activity_id: Uuid,
        warnings: &[Warning],
    ) -> String {
        let mut result = json!({
            "content": [{ "type": "text", "text": self.message }],
            "structuredContent": self.to_answer(request_id),
            "isError": true,
            "_meta": {
                meta::ACTIVITY_ID: activity_id,
                meta::REQUEST_ID: request_id,
            },
        });
        if !warnings.is_empty() {
            result["_meta"][meta::WARNINGS] = json!(warnings);
        }
        result.to_string()
    }

    /// Hides secrets of the configuration.
    pub(crate) fn masked(mut self, mask: &Mask) -> Self {
        self.message = mask.apply(&self.message).into_owned();
        let details = self.details.values_mut();
        details.for_each(|value| mask.apply_to(value));
        if let Some(error) = &mut self.rpc_error {
            error.message = mask.apply(&error.message).into_owned();
            error.data.iter_mut().for_each(|data| mask.apply_to(data));
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
        let mut message = error.to_string();
        if let IntentError::UnknownKey(key) = &error
            && let Some(meant) = nearest_keyword(key, &INTENT_KEYS)
        {
            message.push_str(&format!(". Did you mean '{meant}'?"));
        }
        let failure = Self::new(code, message.clone());
        if code == Code::InvalidArguments {
            return failure.with("violations", json!([violation("/intent", message)]));
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

impl From<StoreError> for Failure {
    /// Failure of a log that cannot be read, for who asks.
    fn from(error: StoreError) -> Self {
        let message = format!("The activity log cannot be read: {error}");
        let failure = Self::new(Code::StoreUnavailable, message);
        match error {
            // Asking again changes nothing until a person does something.
            StoreError::Unusable(_) => failure.not_retryable(),
            _ => failure,
        }
    }
}

/// Outcome that a request is on record with: the text of its result, or its failure.
pub(crate) fn record_outcome<'a>(result: Result<&'a str, &'a Failure>) -> RecordOutcome<'a> {
    let status = match result {
        Ok(_) => Status::Success,
        Err(failure) if failure.is_refusal() => Status::Blocked,
        Err(_) => Status::Error,
    };
    let error = result.err();
    RecordOutcome {
        status,
        error: error.map(|failure| (failure.code.as_str(), &*failure.message)),
        response: result.ok(),
    }
}

/// Violation of a schema: what is wrong, and at which JSON pointer.
pub(crate) fn violation(path: impl Into<String>, message: impl Into<String>) -> Violation {
    Violation {
        path: path.into(),
        message: message.into(),
        is_strange: false,
    }
}

/// Whether a call that got no answer may have done something, in words.
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
