//! Why a tool has no data to give.
//!
//! Three groups: what was sent is wrong, a rule speaks against it, or something does not work. The
//! cause of the third kind goes to the log and nowhere else.

use std::backtrace::Backtrace;
use std::error::Error;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::agent_hints::Suggestion;

/// The most violations of parameters that are told. An agent repairs the first few and tries again.
const MOST_VIOLATIONS: usize = 20;

/// The three groups of errors, in the order in which metrics count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
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
#[must_use]
pub struct ToolError(Box<ErrorParts>);

#[derive(Debug)]
struct ErrorParts {
    published: PublishedError,
    violations: Vec<ParameterViolation>,
    suggestions: Vec<Suggestion>,
    cause: Option<Cause>,
    /// Stack of an error of the system, for the log. It is there whatever the environment says.
    backtrace: Option<Backtrace>,
}

/// One thing that is wrong with the parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ParameterViolation {
    /// Place, as a JSON pointer.
    pub(crate) path: String,
    /// Message that says what is wrong.
    pub(crate) message: String,
    /// Kind of it, which is not published.
    #[serde(skip)]
    pub(crate) kind: ViolationKind,
}

/// Kind of a violation: what its message says beside what is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ViolationKind {
    /// A name is missing or not known; the message says which one to send.
    Name,
    /// A name is not known and like no other, so that nothing says what to send instead.
    StrangeName,
    /// The value is not of the parameter's type; the message repeats it.
    Type,
    /// A rule of the author is broken; the message is the author's.
    Rule,
}

/// An error as it is sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedError {
    /// Code that programs match on, in capitals.
    pub code: &'static str,
    /// Message: what happened and what to do.
    pub message: String,
    /// The group.
    pub category: ErrorCategory,
    /// Whether the very same call may work later.
    pub retryable: bool,
    /// More for programs.
    pub details: Map<String, Value>,
}

/// Cause of an error, for the log.
#[derive(Debug)]
pub(crate) struct Cause {
    error: Box<dyn Error + Send + Sync>,
}

// === impl ToolError ===

impl ToolError {
    /// The parameters are wrong: the violations with their paths, and how many there are.
    pub(crate) fn invalid(mut violations: Vec<ParameterViolation>) -> Self {
        let count = violations.len() as u64;
        violations.truncate(MOST_VIOLATIONS);
        let told = violations.iter().map(|one| match one.path.as_str() {
            "" => one.message.clone(),
            path => format!("{path}: {}", one.message),
        });
        let told: Vec<String> = told.collect();
        let message = format!("Invalid parameters: {}", told.join("; "));
        let mut error = Self::new("INVALID_ARGUMENTS", ErrorCategory::Validation, message)
            .with("violations", json!(violations))
            .with("violation_count", count);
        error.0.violations = violations;
        error
    }

    /// One parameter is wrong, for a reason that no rule on the type can say.
    pub fn invalid_parameter(path: &str, message: impl Into<String>) -> Self {
        Self::invalid(vec![ParameterViolation {
            path: path.to_owned(),
            message: message.into(),
            kind: ViolationKind::Rule,
        }])
    }

    /// Error about something that does not exist; `remedy` says where to look instead.
    pub fn not_found(kind: &str, id: &str, remedy: &str) -> Self {
        let message = format!("There is no {kind} '{id}', {remedy}");
        Self::rule("NOT_FOUND", message)
            .with("kind", kind)
            .with("id", id)
    }

    /// Somebody else was there first, or the state does not allow it.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::rule("CONFLICT", message)
    }

    /// A rule of the domain speaks against it; `code` is in capitals and yours to name.
    pub fn rule(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(code, ErrorCategory::Business, message)
    }

    /// The caller lacks permissions.
    pub(crate) fn forbidden(tool: &str, missing: &[&str]) -> Self {
        let message = format!("Tool '{tool}' needs the permission {}", missing.join(", "));
        Self::rule("FORBIDDEN", message).with("missing_permissions", json!(missing))
    }

    /// The caller called too often and may try again after `wait`.
    pub(crate) fn rate_limited(tool: &str, wait: Duration) -> Self {
        let milliseconds = milliseconds(wait).max(1);
        let message = format!("Tool '{tool}' was called too often, try again in {milliseconds} ms");
        Self::rule("RATE_LIMITED", message)
            .retryable(true)
            .with("retry_after_ms", milliseconds)
    }

    /// Error about a tool that there is not; `near` is what may have been meant.
    pub(crate) fn unknown_tool(name: &str, near: Option<&str>) -> Self {
        let hint = near.map(|near| format!(", did you mean '{near}'?"));
        let message = format!("There is no tool '{name}'{}", hint.unwrap_or_default());
        let error = Self::new("UNKNOWN_TOOL", ErrorCategory::Validation, message);
        match near {
            Some(near) => error.with("nearest", near),
            None => error,
        }
    }

    /// The tool's time is over.
    pub(crate) fn removed(tool: &str, replacement: &str, since: jiff::civil::Date) -> Self {
        let message = format!("Tool '{tool}' was removed on {since}, use {replacement}");
        Self::rule("TOOL_REMOVED", message).with("replacement", replacement)
    }

    /// Something the tool depends on does not answer now and may do so later. Such a call is
    /// repeated once where that is safe.
    pub fn unavailable(what: &str, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let message = format!("{what} cannot be reached now, try again later");
        Self::system("UNAVAILABLE", message)
            .retryable(true)
            .caused_by(cause.into())
    }

    /// Something broke inside. The caller gets an incident id, the log the cause.
    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let incident = Uuid::now_v7();
        let message = format!(
            "The tool failed inside; the log of its service has the cause under incident {incident}"
        );
        Self::system("INTERNAL", message)
            .with("incident", incident.to_string())
            .caused_by(cause.into())
    }

    /// The call took longer than it may. Nothing was changed by it.
    pub(crate) fn timeout(tool: &str, after: Duration) -> Self {
        let milliseconds = milliseconds(after);
        let message = format!("Tool '{tool}' did not finish within {milliseconds} ms");
        Self::system("TIMEOUT", message).retryable(true)
    }

    /// The call took longer than it may, and nobody knows whether it took effect.
    pub(crate) fn outcome_unknown(tool: &str, after: Duration, idempotent: bool) -> Self {
        let milliseconds = milliseconds(after);
        let advice = if idempotent {
            "it can be repeated safely"
        } else {
            "check before repeating it"
        };
        let message = format!(
            "Tool '{tool}' did not finish within {milliseconds} ms and may have taken effect, {advice}"
        );
        Self::system("OUTCOME_UNKNOWN", message).retryable(idempotent)
    }

    /// Tool error with one more detail for programs.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        let details = &mut self.0.published.details;
        details.insert(name.to_owned(), value.into());
        self
    }

    /// Tool error with a tool that helps out of it.
    pub fn suggest(mut self, suggestion: Suggestion) -> Self {
        self.0.suggestions.push(suggestion);
        self
    }

    /// Code that programs match on.
    pub fn code(&self) -> &'static str {
        self.0.published.code
    }

    /// Message: what happened and what to do.
    pub fn message(&self) -> &str {
        &self.0.published.message
    }

    /// The error as it is sent.
    pub fn published(&self) -> &PublishedError {
        &self.0.published
    }

    /// Violations of the parameters, as far as they are told.
    pub(crate) fn violations(&self) -> &[ParameterViolation] {
        &self.0.violations
    }

    /// Whether trying again at once may help: something the tool depends on was away.
    pub(crate) fn is_transient(&self) -> bool {
        self.code() == "UNAVAILABLE"
    }

    /// Time to wait before the next try, where that is known.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let milliseconds = self.0.published.details.get("retry_after_ms")?.as_u64()?;
        Some(Duration::from_millis(milliseconds))
    }

    pub(crate) fn cause(&self) -> Option<&Cause> {
        self.0.cause.as_ref()
    }

    pub(crate) fn backtrace(&self) -> Option<&Backtrace> {
        self.0.backtrace.as_ref()
    }

    /// Tool error with a stack that is nearer to what broke.
    pub(crate) fn with_backtrace(mut self, backtrace: Backtrace) -> Self {
        self.0.backtrace = Some(backtrace);
        self
    }

    pub(crate) fn suggestions(&self) -> &[Suggestion] {
        &self.0.suggestions
    }

    fn new(code: &'static str, category: ErrorCategory, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorParts {
            published: PublishedError {
                code,
                message: message.into(),
                category,
                retryable: false,
                details: Map::new(),
            },
            violations: Vec::new(),
            suggestions: Vec::new(),
            cause: None,
            backtrace: None,
        }))
    }

    fn system(code: &'static str, message: String) -> Self {
        Self::new(code, ErrorCategory::System, message).with_backtrace(Backtrace::force_capture())
    }

    fn retryable(mut self, retryable: bool) -> Self {
        self.0.published.retryable = retryable;
        self
    }

    fn caused_by(mut self, error: Box<dyn Error + Send + Sync>) -> Self {
        self.0.cause = Some(Cause { error });
        self
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::internal(error)
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

// === impl Cause ===

impl Cause {
    /// The error and everything behind it, in one line.
    pub(crate) fn chain(&self) -> String {
        let first: &dyn Error = &*self.error;
        let chain = std::iter::successors(Some(first), |&error| error.source());
        let texts: Vec<String> = chain.map(ToString::to_string).collect();
        texts.join(": ")
    }
}
