//! Codes by which the tables name refusals. They label the rows; the gateway has the codes that clients get, and tests
//! them.

use mcpproxy_policy::IntentError;

/// Code of a declaration that is refused.
pub(crate) fn code_of(error: &IntentError) -> &'static str {
    match error {
        IntentError::Missing(_) => "MISSING_INTENT",
        IntentError::MissingOperationType => "MISSING_OPERATION_TYPE",
        IntentError::InvalidOperationType(_) => "INVALID_OPERATION_TYPE",
        IntentError::Mismatch { .. } => "INTENT_MISMATCH",
        IntentError::InvalidSensitivity(_) => "INVALID_SENSITIVITY",
        IntentError::ReasonTooLong => "REASON_TOO_LONG",
        _ => "INVALID_ARGUMENTS",
    }
}
