//! Why a tool has no data to give.
//!
//! Three groups: what was sent is wrong, a rule speaks against it, or something does not work. The
//! cause of the third kind goes to the log and nowhere else.

use std::backtrace::Backtrace;
use std::error::Error;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::agent_hints::Suggestion;

/// The three groups of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ErrorCategory {
    /// What was sent is wrong: change it and call again.
    Validation,
    /// A rule or a state of the domain speaks against it.
    Business,
    /// Something does not work; nothing the caller sent is to blame.
    System,
}

/// An error of a tool. Made by one of the constructors, each of which stands for a class of errors
/// that programs can tell apart by `code`.
///
/// Any `std::error::Error` becomes an internal error with `?`, and nothing of it reaches the caller.
#[derive(Debug)]
pub struct ToolError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    code: &'static str,
    category: ErrorCategory,
    message: String,
    retryable: bool,
    details: Map<String, Value>,
    suggestions: Vec<Suggestion>,
    cause: Option<Cause>,
}

/// One thing that is wrong with the parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ParameterViolation {
    /// Where, as a JSON pointer.
    pub(crate) path: String,
    /// What.
    pub(crate) message: String,
}

/// An error as it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PublishedError {
    /// What programs match on, in capitals.
    pub code: String,
    /// What happened and what to do.
    pub message: String,
    /// The group.
    pub category: ErrorCategory,
    /// Whether the very same call may work later.
    pub retryable: bool,
    /// More for programs.
    pub details: Map<String, Value>,
}

/// What the log gets to see.
#[derive(Debug)]
pub(crate) struct Cause {
    pub(crate) error: Box<dyn Error + Send + Sync>,
    pub(crate) backtrace: Backtrace,
}

// === impl ToolError ===

impl ToolError {
    /// The parameters are wrong: every violation with its path.
    pub(crate) fn invalid(violations: &[ParameterViolation]) -> Self {
        let told: Vec<String> = violations
            .iter()
            .map(|one| match one.path.as_str() {
                "" => one.message.clone(),
                path => format!("{path}: {}", one.message),
            })
            .collect();
        Self::new(
            "INVALID_ARGUMENTS",
            ErrorCategory::Validation,
            format!("Invalid parameters: {}", told.join("; ")),
        )
        .with("violations", json!(violations))
    }

    /// One parameter is wrong, for a reason that no rule on the type can say.
    pub fn invalid_parameter(path: &str, message: impl Into<String>) -> Self {
        Self::invalid(&[ParameterViolation {
            path: path.to_owned(),
            message: message.into(),
        }])
    }

    /// What was asked for does not exist; `remedy` says where to look instead.
    pub fn not_found(kind: &str, id: &str, remedy: &str) -> Self {
        Self::new(
            "NOT_FOUND",
            ErrorCategory::Business,
            format!("There is no {kind} '{id}', {remedy}"),
        )
        .with("kind", kind)
        .with("id", id)
    }

    /// Somebody else was there first, or the state does not allow it.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new("CONFLICT", ErrorCategory::Business, message)
    }

    /// A rule of the domain speaks against it; `code` is in capitals and yours to name.
    pub fn rule(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(code, ErrorCategory::Business, message)
    }

    /// The caller lacks permissions.
    pub(crate) fn forbidden(tool: &str, missing: &[&str]) -> Self {
        Self::new(
            "FORBIDDEN",
            ErrorCategory::Business,
            format!("Tool '{tool}' needs the permission {}", missing.join(", ")),
        )
        .with("missing_permissions", json!(missing))
    }

    /// The caller called too often and may try again after `wait`.
    pub(crate) fn rate_limited(tool: &str, wait: Duration) -> Self {
        let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
        Self::new(
            "RATE_LIMITED",
            ErrorCategory::Business,
            format!("Tool '{tool}' was called too often, try again in {milliseconds} ms"),
        )
        .retryable()
        .with("retry_after_ms", milliseconds)
    }

    /// There is no such tool; `near` is what may have been meant.
    pub(crate) fn unknown_tool(name: &str, near: Option<&str>) -> Self {
        let hint = near
            .map(|near| format!(", did you mean '{near}'?"))
            .unwrap_or_default();
        Self::new(
            "UNKNOWN_TOOL",
            ErrorCategory::Validation,
            format!("There is no tool '{name}'{hint}"),
        )
    }

    /// The tool's time is over.
    pub(crate) fn removed(tool: &str, replacement: &str, since: jiff::civil::Date) -> Self {
        Self::new(
            "TOOL_REMOVED",
            ErrorCategory::Business,
            format!("Tool '{tool}' was removed on {since}, use {replacement}"),
        )
        .with("replacement", replacement)
    }

    /// Something the tool depends on does not answer now and may do so later. Such a call is
    /// repeated once where that is safe.
    pub fn unavailable(what: &str, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let mut error = Self::new(
            "UNAVAILABLE",
            ErrorCategory::System,
            format!("{what} cannot be reached now, try again later"),
        )
        .retryable();
        error.0.cause = Some(Cause::new(cause));
        error
    }

    /// Something broke inside. The caller gets an incident id, the log the cause.
    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let incident = Uuid::now_v7();
        let mut error = Self::new(
            "INTERNAL",
            ErrorCategory::System,
            format!("The tool failed inside; the log of its service has the cause under incident {incident}"),
        )
        .with("incident", incident.to_string());
        error.0.cause = Some(Cause::new(cause));
        error
    }

    /// The call took longer than it may. Nothing was changed by it.
    pub(crate) fn timeout(tool: &str, after: Duration) -> Self {
        let milliseconds = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        Self::new(
            "TIMEOUT",
            ErrorCategory::System,
            format!("Tool '{tool}' did not finish within {milliseconds} ms"),
        )
        .retryable()
    }

    /// The call took longer than it may, and nobody knows whether it took effect.
    pub(crate) fn outcome_unknown(tool: &str, after: Duration, idempotent: bool) -> Self {
        let milliseconds = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        let advice = if idempotent {
            "it can be repeated safely"
        } else {
            "check before repeating it"
        };
        let mut error = Self::new(
            "OUTCOME_UNKNOWN",
            ErrorCategory::System,
            format!(
                "Tool '{tool}' did not finish within {milliseconds} ms and may have taken effect, {advice}"
            ),
        );
        error.0.retryable = idempotent;
        error
    }

    /// Tool error with one more detail for programs.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.details.insert(name.to_owned(), value.into());
        self
    }

    /// Tool error with a tool that helps out of it.
    #[must_use]
    pub fn suggest(mut self, suggestion: Suggestion) -> Self {
        self.0.suggestions.push(suggestion);
        self
    }

    /// What programs match on.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// The group.
    pub(crate) fn category(&self) -> ErrorCategory {
        self.0.category
    }

    /// What happened and what to do.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether the very same call may work later.
    pub(crate) fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Whether trying again at once may help: something the tool depends on was away.
    pub(crate) fn is_transient(&self) -> bool {
        self.0.code == "UNAVAILABLE"
    }

    /// How long to wait before the next try, where that is known.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.0
            .details
            .get("retry_after_ms")
            .and_then(Value::as_u64)
            .map(Duration::from_millis)
    }

    pub(crate) fn cause(&self) -> Option<&Cause> {
        self.0.cause.as_ref()
    }

    pub(crate) fn suggestions(&self) -> &[Suggestion] {
        &self.0.suggestions
    }

    /// The error as it is sent.
    pub fn publish(&self) -> PublishedError {
        PublishedError {
            code: self.0.code.to_owned(),
            message: self.0.message.clone(),
            category: self.0.category,
            retryable: self.0.retryable,
            details: self.0.details.clone(),
        }
    }

    fn new(code: &'static str, category: ErrorCategory, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            category,
            message: message.into(),
            retryable: false,
            details: Map::new(),
            suggestions: Vec::new(),
            cause: None,
        }))
    }

    fn retryable(mut self) -> Self {
        self.0.retryable = true;
        self
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::internal(error)
    }
}

// === impl Cause ===

impl Cause {
    fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            error: error.into(),
            backtrace: Backtrace::capture(),
        }
    }

    /// The error and everything behind it, in one line.
    pub(crate) fn chain(&self) -> String {
        let mut text = self.error.to_string();
        let mut next = self.error.source();
        while let Some(source) = next {
            text.push_str(": ");
            text.push_str(&source.to_string());
            next = source.source();
        }
        text
    }
}
