//! Record of one call: what is put into it, and when.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcpproxy_activity::{OpenRecord, RecordKind, Status, StoreError};
use mcpproxy_catalog::CatalogTool;
use mcpproxy_policy::{Caller, DeclaredIntent, Intent, Mode, Operation, Warning};
use mcpproxy_wire::{CallResult, JsonObject};
use uuid::Uuid;

use super::CallOutcome;
use crate::failure::{Code, Failure, TOOL_ERROR, record_outcome};
use crate::records::Records;
use crate::request::{CallRequest, SHOWN_NAME, UnreadableCall, cut, is_bounded, split_name};
use crate::servers::Servers;

/// Time after which a call is put on record although it only reads.
const LONG_CALL: Duration = Duration::from_millis(100);

/// Record of one call, from the moment it came in.
pub(crate) struct CallRecord {
    record: OpenRecord,
    /// Operation of the call; of a tool that was called by its own name, as far as it is known.
    operation: Operation,
}

impl CallRecord {
    /// Begins the record with what is known before anything is checked: refusals have it as well.
    pub(super) fn open(
        records: &Records,
        servers: &Servers,
        request: &CallRequest,
        name: Option<(&str, &str)>,
        caller: &Arc<Caller>,
    ) -> Self {
        let snapshot = servers.catalog().snapshot();
        let listed = name.and_then(|(server, tool)| snapshot.find(server, tool));
        // Its own record tells a caller nothing of tools that do not exist for it.
        let listed = listed.filter(|tool| tool.is_within(&caller.rights));
        // A tool that nobody knows may write.
        let of_tool = || listed.map_or(Operation::Write, |tool| tool.call_with());
        let operation = request.variant.unwrap_or_else(of_tool);
        let (server, tool) = name.unzip();
        let this = Self::begin(records, Some(operation), caller);
        let mut this = this.about(server, tool.unwrap_or(&request.name));
        if let Some(intent) = request.declared.for_record() {
            this.record.set_declared_intent(intent);
        }
        match listed {
            Some(tool) => this.set_arguments(tool, &request.arguments),
            // Which arguments are secret is known when the server has listed its tools.
            None if name.is_some() => this
                .record
                .set_arguments_size(request.arguments.text().len()),
            None => {}
        }
        this
    }

    /// Begins the record of a call whose arguments could not be read, with what could.
    pub(super) fn open_unreadable(
        records: &Records,
        call: &UnreadableCall,
        caller: &Arc<Caller>,
    ) -> Self {
        let mut this =
            Self::begin(records, Some(call.variant), caller).with_arguments_size(call.size);
        if let Some(intent) = call.declared.for_record() {
            this.record.set_declared_intent(intent);
        }
        match call.name.as_deref().map(|name| (name, split_name(name))) {
            None => this,
            Some((name, Ok((server, tool)))) if is_bounded(name) => this.about(Some(server), tool),
            Some((name, _)) => this.about(None, &cut(name, SHOWN_NAME)),
        }
    }

    /// Begins the record of a call of which nothing is known yet.
    pub(crate) fn begin(
        records: &Records,
        variant: Option<Operation>,
        caller: &Arc<Caller>,
    ) -> Self {
        Self {
            record: records.log().open(RecordKind::ToolCall, caller, variant),
            operation: variant.unwrap_or(Operation::Read),
        }
    }

    /// Names the tool that a call is about: of a server, or as the caller called it.
    pub(crate) fn about(mut self, server: Option<&str>, tool: &str) -> Self {
        match server {
            Some(server) => self.record.set_tool(server, tool),
            None => self.record.set_tool_name(tool),
        }
        self
    }

    /// Records how large the arguments are, and nothing else of them.
    pub(crate) fn with_arguments_size(mut self, size: usize) -> Self {
        self.record.set_arguments_size(size);
        self
    }

    pub(super) fn id(&self) -> Uuid {
        self.record.id()
    }

    pub(super) fn request_id(&self) -> Uuid {
        self.record.request_id()
    }

    /// Operation of the call, as far as it is known.
    pub(super) fn operation(&self) -> Operation {
        self.operation
    }

    /// Intent that the caller declares of a call through the menu; who calls a tool by its own name
    /// declares nothing.
    pub(super) fn declared_intent(
        &mut self,
        request: &CallRequest,
        mode: Mode,
    ) -> Result<Option<Intent>, Failure> {
        let Some(variant) = request.variant else {
            return Ok(None);
        };
        let intent = Intent::parse(variant, &request.declared, mode)?;
        self.record.set_intent(&intent);
        Ok(Some(intent))
    }

    /// Intent of a call that does what its tool does. It is taken from the tool in every mode: there
    /// is no variant that could be declared a second time.
    pub(super) fn intent_of_tool(&mut self, tool: &CatalogTool) -> Result<Intent, Failure> {
        let operation = tool.call_with();
        let intent = Intent::parse(operation, &DeclaredIntent::default(), Mode::Inferred)?;
        self.operation = operation;
        self.record.set_operation(operation);
        self.record.set_intent(&intent);
        Ok(intent)
    }

    /// Puts in the arguments, without those that the tool's schema calls secret.
    pub(super) fn set_arguments(&mut self, tool: &CatalogTool, arguments: &JsonObject) {
        let hides_nothing = tool.secret_arguments().is_empty();
        if !(hides_nothing && self.record.has_arguments()) {
            self.replace_arguments(tool, arguments);
        }
    }

    /// Puts in the arguments that are sent, where these are not those that were given.
    pub(super) fn replace_arguments(&mut self, tool: &CatalogTool, arguments: &JsonObject) {
        let secret = tool.secret_arguments();
        if secret.is_empty() {
            self.record.set_arguments(arguments.text());
            return;
        }
        let (shown, hidden) = secret.hide(arguments.value());
        self.record.set_arguments(&shown.to_string());
        self.record.add_secrets(hidden);
    }

    /// Keeps values of a result that the tool's schema calls secret out of the record.
    pub(super) fn hide_secrets_of(&mut self, tool: &CatalogTool, result: &CallResult) {
        let secret = tool.secret_results();
        if secret.is_empty() {
            return;
        }
        let fields = result.json().fields().unwrap_or_default();
        let structured = fields.get("structuredContent");
        if let Some(Ok(structured)) = structured.map(|raw| serde_json::from_str(raw.get())) {
            self.record.add_secrets(secret.collect(&structured));
        }
    }

    /// The moment before the call goes out: one that writes is on disk when this returns.
    pub(super) async fn begin_sending(&mut self, deadline: Instant) -> Result<(), Failure> {
        let recorded = self.record.begin_sending(deadline).await;
        recorded.map_err(|problem| not_recorded(&problem))
    }

    /// Waits for the answer to the call.
    pub(super) async fn answered<T>(&mut self, answer: Pin<&mut impl Future<Output = T>>) -> T {
        record_if_slow(&mut self.record, answer).await
    }

    /// Puts the outcome on record, and only then lets it go.
    pub(crate) async fn close(
        mut self,
        result: Result<CallResult, Failure>,
        warnings: Vec<Warning>,
    ) -> CallOutcome {
        self.record.add_warnings(&warnings);
        let (activity_id, request_id) = (self.record.id(), self.record.request_id());
        let took = self.record.began().elapsed();
        let mut outcome = record_outcome(result.as_ref().map(|result| result.json().text()));
        if result.as_ref().is_ok_and(CallResult::is_error) {
            outcome.status = Status::Error;
            outcome.error = Some((TOOL_ERROR, "The tool reported an error"));
        }
        let result = match self.record.close(outcome).await {
            Err(problem) if result.is_ok() && self.operation != Operation::Read => {
                Err(outcome_not_recorded(&problem))
            }
            // A refusal that could not be recorded is counted by the log, and stays a refusal.
            _ => result,
        };
        CallOutcome {
            activity_id,
            request_id,
            warnings,
            result,
            took,
            hints: None,
        }
    }
}

/// Waits for an answer; a call that takes long is put on record while it is under way, so that it
/// shows even if this process does not live to see the answer.
pub(crate) async fn record_if_slow<T>(
    record: &mut OpenRecord,
    mut answer: Pin<&mut impl Future<Output = T>>,
) -> T {
    if let Ok(answer) = tokio::time::timeout(LONG_CALL, &mut answer).await {
        return answer;
    }
    record.mark_under_way();
    answer.await
}

/// The log cannot take the call, so it is not made.
pub(crate) fn not_recorded(problem: &StoreError) -> Failure {
    tracing::debug!(%problem, "a call was refused, because it could not be recorded");
    Failure::new(
        Code::StoreUnavailable,
        "The activity log cannot be written, so the call was not made; a person finds the reason with `mcpproxy status`",
    )
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
