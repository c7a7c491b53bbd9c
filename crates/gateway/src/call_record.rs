//! A call on its way through the log: what is noted of it, and when.

use std::pin::Pin;
use std::time::Duration;

use mcpproxy_activity::{OpenRecord, RecordOutcome, Status, StoreError};
use mcpproxy_catalog::CatalogTool;
use mcpproxy_policy::Operation;
use mcpproxy_wire::CallResult;

use crate::Gateway;
use crate::failure::{Code, Failure};
use crate::request::{Arguments, CallRequest, ToolName};

/// How long a call may take before it is put on record although it only reads.
const LONG_CALL: Duration = Duration::from_millis(100);

/// The code on record when the tool itself reports an error.
pub(crate) const TOOL_ERROR: &str = "TOOL_ERROR";

impl Gateway {
    /// What is known of a call before anything is checked: refusals have it on record as well.
    pub(crate) fn note_request(&self, record: &mut OpenRecord, request: &CallRequest) {
        if let Some(intent) = request.declared.for_record() {
            record.set_declared_intent(intent);
        }
        let Ok(name) = ToolName::parse(&request.name) else {
            record.set_tool_name(&request.name);
            return;
        };
        record.set_tool(&name.server, &name.tool);
        let snapshot = self.catalog.snapshot();
        match snapshot.find(&name.server, &name.tool) {
            Some(entry) => note_arguments(record, entry, &request.arguments),
            // Which arguments are secret is known when the server has listed its tools.
            None => record.set_arguments_size(request.arguments.text()),
        }
    }
}

/// The arguments, without those that the tool's schema calls secret.
pub(crate) fn note_arguments(record: &mut OpenRecord, entry: &CatalogTool, arguments: &Arguments) {
    let secret = entry.secret_arguments();
    if secret.is_empty() {
        if !record.has_arguments() {
            record.set_arguments(arguments.text());
        }
        return;
    }
    let (shown, own) = secret.hide(arguments.value());
    record.set_arguments(&shown.to_string());
    record.add_secrets(own);
}

/// Values of a result that the tool's schema calls secret.
pub(crate) fn note_result(record: &mut OpenRecord, entry: &CatalogTool, result: &CallResult) {
    let secret = entry.secret_results();
    if secret.is_empty() {
        return;
    }
    let structured = result.json().fields().and_then(|fields| {
        let raw = fields.get("structuredContent")?;
        serde_json::from_str(raw.get()).ok()
    });
    if let Some(structured) = structured {
        record.add_secrets(secret.collect(&structured));
    }
}

/// Waits for a call; one that takes long is put on record while it is under way, so that it shows
/// even if this process does not live to see the answer.
pub(crate) async fn record_if_slow<T>(
    record: &mut OpenRecord,
    mut call: Pin<&mut impl Future<Output = T>>,
) -> T {
    if let Ok(result) = tokio::time::timeout(LONG_CALL, &mut call).await {
        return result;
    }
    record.mark_under_way();
    call.await
}

/// The log cannot take the call, so it is not made.
pub(crate) fn not_recorded(problem: &StoreError) -> Failure {
    tracing::debug!(%problem, "a call was refused, because it could not be recorded");
    Failure::new(
        Code::StoreUnavailable,
        "The activity log cannot be written, so the call was not made; a person finds the reason with `mcpproxy status`",
    )
}

/// Puts the outcome on record, and only then lets it go.
pub(crate) async fn close(
    record: OpenRecord,
    variant: Operation,
    result: Result<CallResult, Failure>,
) -> Result<CallResult, Failure> {
    let end = match &result {
        Ok(result) => RecordOutcome {
            status: if result.is_error() {
                Status::Error
            } else {
                Status::Success
            },
            error: result
                .is_error()
                .then_some((TOOL_ERROR, "The tool reported an error")),
            response: Some(result.json().text()),
        },
        Err(failure) => RecordOutcome {
            // A fault of ours is no refusal; the call may have been sent.
            status: if failure.code.is_of_upstream() || failure.code == Code::Internal {
                Status::Error
            } else {
                Status::Blocked
            },
            error: Some((failure.code.as_str(), &failure.message)),
            response: None,
        },
    };
    let was_made = result.is_ok();
    match record.close(end).await {
        Err(problem) if was_made && variant != Operation::Read => {
            Err(outcome_not_recorded(&problem))
        }
        // A refusal that could not be recorded is counted by the log, and stays a refusal.
        _ => result,
    }
}

/// The call was made, but its outcome is not on record; saying that it worked would be a promise
/// that nobody can check.
fn outcome_not_recorded(problem: &StoreError) -> Failure {
    tracing::error!(%problem, "the outcome of a call could not be recorded");
    Failure::new(
        Code::StoreUnavailable,
        "The call was made, but its outcome could not be recorded; it may have taken effect, check before repeating it",
    )
    .with("sent", true)
    .not_retryable()
}
