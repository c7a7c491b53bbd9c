//! One call, in a straight line.
//!
//! Every face enters at [`Gateway::call`] with the same types, so none can skip a check.
//! Reading `Gateway::attempt` is reading the product.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use mcpproxy_activity::{OpenRecord, RecordKind};
use mcpproxy_catalog::CatalogTool;
use mcpproxy_policy::{
    Caller, Decision, Declared, Intent, Mode, Operation, Rules, Subject, Warning, decide,
};
use mcpproxy_upstream::client::ClientLink;
use mcpproxy_wire::{CallResult, meta};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Gateway;
use crate::agent_hints::{Made, Placed};
use crate::call_record::{close, not_recorded, note_arguments, note_result, record_if_slow};
use crate::failure::{Code, Failure};
use crate::request::{Arguments, CallRequest};
use crate::settings::ServerSettings;

/// What came of a call, with the ids the caller gets back.
#[derive(Debug)]
pub struct Outcome {
    /// The id of the record.
    pub activity_id: Uuid,
    /// The id of the request.
    pub request_id: Uuid,
    /// What the caller is warned about.
    pub warnings: Vec<Warning>,
    /// The upstream's own result, or why there is none.
    pub result: Result<CallResult, Failure>,
    /// What the gateway observed about the tool, where that goes with the result.
    pub(crate) hints: Option<Placed>,
}

/// What is known of a call besides its result.
struct Known {
    /// What the call does; of a tool that was called by its own name, as far as it is known.
    operation: Operation,
    warnings: Vec<Warning>,
    /// Set once the tool's server was asked.
    made: Option<Made>,
}

impl Gateway {
    /// Makes a call, or refuses it; either way it is on the record.
    pub async fn call(
        &self,
        request: CallRequest,
        caller: &Arc<Caller>,
        client: Option<&Arc<ClientLink>>,
    ) -> Outcome {
        let operation = self.expected(&request);
        let mut record = self.log.open(RecordKind::ToolCall, caller, Some(operation));
        let mut known = Known {
            operation,
            warnings: Vec::new(),
            made: None,
        };
        self.note_request(&mut record, &request);
        let attempt = self.attempt(&request, (caller, client), &mut record, &mut known);
        // A panic is a bug of ours; it costs this one call and nothing else.
        let result = AssertUnwindSafe(attempt).catch_unwind().await;
        let result = result
            .unwrap_or_else(|_| Err(incident()))
            .map_err(|failure| name_the_call(failure, known.operation, &request))
            .map_err(|failure| self.with_menu_schema(request.variant, failure));
        let (activity_id, request_id) = (record.id(), record.request_id());
        record.add_warnings(&known.warnings);
        let result = close(record, known.operation, result).await;
        let hints = known
            .made
            .and_then(|made| self.hints_after(&made, caller, &result));
        Outcome {
            activity_id,
            request_id,
            hints,
            warnings: known.warnings,
            result,
        }
    }

    /// Records a call through a variant whose arguments could not be read, and refuses it.
    pub async fn refuse_call(
        &self,
        variant: Operation,
        failure: Failure,
        caller: &Arc<Caller>,
    ) -> Outcome {
        let record = self.log.open(RecordKind::ToolCall, caller, Some(variant));
        let failure = self.with_menu_schema(Some(variant), failure);
        Outcome {
            activity_id: record.id(),
            request_id: record.request_id(),
            warnings: Vec::new(),
            result: close(record, variant, Err(failure)).await,
            hints: None,
        }
    }

    fn with_menu_schema(&self, variant: Option<Operation>, failure: Failure) -> Failure {
        let mode = self.settings.load().rules.mode;
        match variant {
            Some(variant) => failure.with_menu_schema(variant.variant(), mode),
            None => failure,
        }
    }

    /// What a call is taken to do until its tool is looked at; a tool that nobody knows may write.
    fn expected(&self, request: &CallRequest) -> Operation {
        if let Some(variant) = request.variant {
            return variant;
        }
        let name = request.name.split_once(':');
        let snapshot = self.catalog.snapshot();
        let entry = name.and_then(|(server, tool)| snapshot.find(server, tool));
        entry.map_or(Operation::Write, |entry| entry.call_with())
    }

    /// The straight line: intent, tool, decision, arguments, record, upstream, what it answered.
    async fn attempt(
        &self,
        request: &CallRequest,
        (caller, client): (&Arc<Caller>, Option<&Arc<ClientLink>>),
        record: &mut OpenRecord,
        known: &mut Known,
    ) -> Result<CallResult, Failure> {
        let rules = self.settings.load().rules;
        let declared = declared(request, rules, record)?;

        let name = self.tool_name(&request.name)?;
        let server = self.server(&name.server)?;
        let deadline = Instant::now() + server.settings.timeout;
        let unreachable = |operation, error| {
            Failure::of_upstream(&name.server, operation, error, &self.mask.load())
        };
        let expected = known.operation;
        let not_ready = |error| unreachable(expected, error);
        // What the server says of its tool now counts, not what the agent saw earlier, nor
        // what held when the call began to wait for its slot.
        let slot = server
            .upstream
            .call_slot(deadline)
            .await
            .map_err(not_ready)?;
        server.upstream.fresh(deadline).await.map_err(not_ready)?;
        let entry = self.known_tool(&name.server, &name.tool)?;
        note_arguments(record, &entry, &request.arguments);

        let intent = match declared {
            Some(intent) => intent,
            None => classed(&entry, record)?,
        };
        known.operation = intent.operation();
        let permit = match decide(&intent, &subject(&entry), rules) {
            Decision::Allow(permit, notes) => {
                known.warnings.extend(notes);
                permit
            }
            Decision::Deny(denial) => return Err(denial.into()),
        };
        check_arguments(&entry, &request.arguments)?;
        self.check_rate(&server.settings, &entry, caller)?;

        let deadline = self.measured_deadline(&entry, &permit, deadline);
        let recorded = record.begin_sending(deadline).await;
        recorded.map_err(|problem| not_recorded(&problem))?;
        let (arguments, request_id) = (request.arguments.text(), record.request_id());
        let call = pin!(slot.call(&permit, arguments, caller, request_id, client, deadline));
        let sent = Instant::now();
        let operation = intent.operation();
        let answer = record_if_slow(record, call).await;
        let answer = answer
            .map_err(|error| unreachable(operation, error))
            .and_then(|result| self.answer_of(&entry, operation, result, &mut known.warnings));
        known.made = Made::of(&entry, &request.arguments, sent.elapsed(), &answer);
        let result = answer?;
        note_result(record, &entry, &result);
        Ok(result)
    }

    fn check_rate(
        &self,
        server: &ServerSettings,
        entry: &CatalogTool,
        caller: &Arc<Caller>,
    ) -> Result<(), Failure> {
        let Some(limit) = server
            .tools
            .get(&**entry.name())
            .and_then(|tool| tool.rate_limit)
        else {
            return Ok(());
        };
        let who = caller_key(caller);
        self.rates
            .admit(&who, entry.qualified(), limit, Instant::now())
            .map_err(|wait| rate_limited(entry.qualified(), wait))
    }
}

/// What the caller declares of a call through the menu; who calls a tool by its own name declares
/// nothing.
fn declared(
    request: &CallRequest,
    rules: Rules,
    record: &mut OpenRecord,
) -> Result<Option<Intent>, Failure> {
    let Some(variant) = request.variant else {
        return Ok(None);
    };
    let intent = Intent::parse(variant, &request.declared, rules.mode)?;
    record.set_intent(&intent);
    Ok(Some(intent))
}

/// The intent of a call that does what its tool does. It is taken from the tool in every mode: there
/// is no variant that could be declared a second time.
fn classed(entry: &CatalogTool, record: &mut OpenRecord) -> Result<Intent, Failure> {
    let operation = entry.call_with();
    let intent = Intent::parse(operation, &Declared::default(), Mode::Inferred)?;
    record.set_operation(operation);
    record.set_intent(&intent);
    Ok(intent)
}

/// The arguments against the tool's own schema, before anything is sent.
fn check_arguments(entry: &CatalogTool, arguments: &Arguments) -> Result<(), Failure> {
    entry
        .arguments()
        .check(Some(arguments.value()))
        .map_err(|found| {
            Failure::invalid_arguments(entry.qualified(), &found)
                .with("input_schema", entry.tool().input_schema.to_value())
        })
}

fn subject(entry: &CatalogTool) -> Subject<'_> {
    Subject {
        server: entry.server(),
        tool: entry.name(),
        description: &entry.tool().description,
        annotations: entry.annotations(),
    }
}

/// Whose calls count together: the client's name and session.
fn caller_key(caller: &Caller) -> String {
    format!(
        "{}\n{}",
        caller.client_name.as_deref().unwrap_or_default(),
        caller.session_id.as_deref().unwrap_or_default()
    )
}

fn rate_limited(tool: &str, wait: Duration) -> Failure {
    let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    Failure::new(
        Code::RateLimited,
        format!("Tool '{tool}' was called too often, try again in {milliseconds} ms"),
    )
    .with("retry_after_ms", milliseconds)
}

/// Something broke on our side. The panic itself is in the log, just before this.
fn incident() -> Failure {
    let id = Uuid::now_v7();
    tracing::error!(incident = %id, "a call ended in a panic");
    Failure::new(
        Code::Internal,
        format!("The gateway failed inside; its log has the cause under incident {id}"),
    )
    .with("incident", id.to_string())
}

/// Every refusal says which call it is about.
fn name_the_call(failure: Failure, variant: Operation, request: &CallRequest) -> Failure {
    failure
        .with("tool", request.name.as_str())
        .with("variant", variant.variant())
}

// === impl Outcome ===

impl Outcome {
    /// The text of the `CallToolResult` that answers an MCP client.
    pub fn to_call_tool_result(&self) -> String {
        match &self.result {
            Ok(result) => {
                let activity_id = quoted(self.activity_id);
                let request_id = quoted(self.request_id);
                let mut additions = vec![
                    (meta::ACTIVITY_ID, activity_id.as_str()),
                    (meta::REQUEST_ID, request_id.as_str()),
                ];
                let warnings = json!(self.warnings).to_string();
                if !self.warnings.is_empty() {
                    additions.push((meta::WARNINGS, &warnings));
                }
                match &self.hints {
                    Some(Placed::Content(text)) => {
                        return result.with_text(text).with_meta(&additions);
                    }
                    Some(Placed::Meta(json)) => additions.push((meta::AGENT_HINTS, json)),
                    None => {}
                }
                result.with_meta(&additions)
            }
            Err(failure) => failure_result(failure, self.request_id, self.activity_id).to_string(),
        }
    }
}

/// An id as a JSON string.
fn quoted(id: Uuid) -> String {
    let mut buffer = Uuid::encode_buffer();
    ["\"", id.hyphenated().encode_lower(&mut buffer), "\""].concat()
}

/// A refusal or failure as a `CallToolResult`: the message as text, the object for programs.
pub(crate) fn failure_result(failure: &Failure, request_id: Uuid, activity_id: Uuid) -> Value {
    json!({
        "content": [{ "type": "text", "text": failure.message }],
        "structuredContent": { "error": failure.to_json(request_id) },
        "isError": true,
        "_meta": {
            meta::ACTIVITY_ID: activity_id,
            meta::REQUEST_ID: request_id,
        },
    })
}
