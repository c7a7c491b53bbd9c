//! Refusals of calls to contract services: whole results of the contract, as the service itself would give them.
//!
//! The error stays as it is everywhere. Beside it stand agent hints, with what the caller can do next, and metadata. Of
//! a server that the caller may not use nothing is told, not even that it keeps the contract.

use std::time::Duration;

use jiff::Timestamp;
use mcpproxy_catalog::{Availability, CatalogTool, Snapshot};
use mcpproxy_contract::agent_hints::{AgentHints, Priority, Suggestion};
use mcpproxy_contract::wire::{self, KnownOfFailure};
use mcpproxy_contract::{ErrorCategory, PublishedError, validate};
use mcpproxy_policy::rights::ADMIN_SERVER;
use mcpproxy_policy::{AccessTo, Caller, Rights};
use serde_json::{Map, Value, json};

use super::CallOutcome;
use crate::Gateway;
use crate::agent_hints::vetting;
use crate::failure::{Code, ContractParts, Failure, FailureCategory};
use crate::request::split_name;
use crate::servers::MISSING_PERMISSIONS;

/// Version of who refuses, where a tool says none.
const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Admin tool that tells which servers work.
const CHECK_SERVERS: &str = "check-servers";

/// Remedy for a permission that is missing, beside the one that the message names.
const AS_ADMINISTRATOR: &str = "The administrator has all permissions: send the key of the gateway as X-API-Key or \
                                Authorization: Bearer, or have a person run it with `mcpproxy call`";

/// Contract service that a name is of.
struct ContractService<'a> {
    /// Tool of the name, if it has one that the caller may use.
    tool: Option<&'a CatalogTool>,
}

/// Service that the name of a tool is of.
enum Named<'a> {
    /// A service of the contract.
    Service(ContractService<'a>),
    /// A service that has not listed its tools: server and tool.
    Unlisted(&'a str, &'a str),
    /// Nothing that the contract is about.
    Other,
}

/// Step that may help: a tool as `server:tool`, how urgent it is, and what for.
struct NextStep {
    tool: String,
    priority: Priority,
    description: String,
}

impl Gateway {
    /// Outcome whose failure is a whole result of the contract, where the call named a tool of a contract service.
    pub(crate) async fn completed(
        &self,
        mut outcome: CallOutcome,
        name: &str,
        caller: &Caller,
    ) -> CallOutcome {
        if outcome.result.is_ok() {
            return outcome;
        }
        let snapshot = self.servers.catalog().snapshot();
        let service = match contract_service(&snapshot, name, &caller.rights) {
            Named::Service(service) => service,
            Named::Other => return outcome,
            // The server has not listed anything since the start, but the store may know what it published before.
            Named::Unlisted(server, tool) => {
                let has_published = self.servers.contract().has_published(server, tool);
                if has_published.await.is_none() {
                    return outcome;
                }
                ContractService { tool: None }
            }
        };
        let (took, request_id) = (outcome.took, outcome.request_id);
        let calls = service
            .tool
            .map(|tool| self.hints.broken_of_all(tool, caller));
        outcome.result = outcome.result.map_err(|failure| {
            let mut metadata = metadata(service.tool, took);
            metadata.insert(
                "correlationId".to_owned(),
                json!(caller.correlation_id.unwrap_or(request_id)),
            );
            if let Some(trace_id) = &caller.trace_id {
                metadata.insert("traceId".to_owned(), json!(trace_id));
            }
            let calls = calls.unwrap_or_default();
            let agent_hints = agent_hints(&failure, name, calls, &snapshot, &caller.rights);
            failure.with_contract_parts(Some(Box::new(ContractParts {
                agent_hints,
                metadata,
            })))
        });
        outcome
    }
}

/// Service that a name is of, as far as a caller with these rights may know. A tool that announces nothing beside others
/// that do is none of the contract's business.
fn contract_service<'a>(snapshot: &'a Snapshot, name: &'a str, rights: &Rights) -> Named<'a> {
    let Ok((server, tool)) = split_name(name) else {
        return Named::Other;
    };
    let state = snapshot.server(server);
    let Some(state) = state.filter(|_| rights.allow(AccessTo::Server(server))) else {
        return Named::Other;
    };
    if !state.is_listed() {
        return Named::Unlisted(server, tool);
    }
    let tool = state.find(tool).filter(|tool| tool.is_within(rights));
    let keeps_contract = tool.is_none_or(|tool| tool.announces_contract());
    let mut visible = state.tools().filter(|tool| tool.is_within(rights));
    if !keeps_contract || !visible.any(|tool| tool.announces_contract()) {
        return Named::Other;
    }
    Named::Service(ContractService {
        tool: tool.map(AsRef::as_ref),
    })
}

/// Metadata of a result that the gateway gives in the place of a tool.
fn metadata(tool: Option<&CatalogTool>, duration: Duration) -> Map<String, Value> {
    // Nothing that a server says is shown while it waits for approval.
    let shown = tool.filter(|tool| tool.availability() != Availability::ServerQuarantined);
    let version = shown.and_then(|tool| tool.terms()?.version.as_deref());
    let version = version.filter(|version| validate::is_version(version));
    let members = [
        ("toolVersion", json!(version.unwrap_or(OWN_VERSION))),
        ("timestamp", json!(Timestamp::now())),
        ("executionTime", json!(duration.as_secs_f64() * 1_000.0)),
        ("serviceVersion", json!(OWN_VERSION)),
        ("cached", json!(false)),
    ];
    members
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

/// Agent hints of a failure, with the steps that the caller can take. `broken_of_all` tells how the calls of the tool have
/// ended so far.
fn agent_hints(
    failure: &Failure,
    name: &str,
    broken_of_all: (u64, u64),
    snapshot: &Snapshot,
    rights: &Rights,
) -> Map<String, Value> {
    let published = PublishedError {
        code: failure.code.as_str(),
        message: failure.message.clone(),
        category: match failure.code.category() {
            FailureCategory::Validation => ErrorCategory::Validation,
            FailureCategory::Business => ErrorCategory::Business,
            FailureCategory::System => ErrorCategory::System,
        },
        retryable: failure.retryable,
        details: failure.details.clone(),
    };
    let steps = next_steps(failure, name).into_iter().filter_map(|step| {
        let found = Suggestion::if_exists(&step.tool, |tool| {
            vetting::callable(snapshot, tool, rights).is_some()
        })?;
        let found = found.priority(step.priority);
        Some(found.described(step.description))
    });
    let steps: Vec<Suggestion> = steps.collect();
    let known = KnownOfFailure {
        helpers: steps.len() as u64,
        broken_of_all,
        strange: failure.strange_violations(),
    };
    let hints = wire::failure_hints(&published, failure.retry_after(), &known);
    let mut hints = steps.into_iter().fold(hints, AgentHints::suggest);
    if failure.details.contains_key(MISSING_PERMISSIONS) {
        hints = hints.constrained(AS_ADMINISTRATOR);
    }
    let mut members = vetting::own_hints(&hints, snapshot, rights);
    if let Some(call_with) = failure.details.get("call_with") {
        // The rules may ask for more care than the tool's own annotations do.
        let actions = members.get_mut("suggestedNextActions");
        for action in actions.and_then(Value::as_array_mut).into_iter().flatten() {
            action["call_with"] = call_with.clone();
        }
    }
    members
}

/// Steps that may help after a failure of a call of this name, the best first.
fn next_steps(failure: &Failure, name: &str) -> Vec<NextStep> {
    let again = |priority, description: &str| NextStep {
        tool: name.to_owned(),
        priority,
        description: description.to_owned(),
    };
    let check = || NextStep {
        tool: format!("{ADMIN_SERVER}:{CHECK_SERVERS}"),
        priority: Priority::Low,
        description: "Tells which servers work and what is wrong with the others".to_owned(),
    };
    match failure.code {
        Code::InvalidArguments => vec![again(
            Priority::High,
            "Call it again with what error.details asks for",
        )],
        Code::MissingIntent
        | Code::MissingOperationType
        | Code::InvalidOperationType
        | Code::IntentMismatch
        | Code::InvalidSensitivity
        | Code::ReasonTooLong => vec![again(
            Priority::High,
            "Call it again with an intent that fits the variant in call_with",
        )],
        Code::ServerMismatch | Code::UnannotatedTool => vec![again(
            Priority::High,
            "Call it with the variant in call_with, if that is what is wanted",
        )],
        Code::RateLimited => {
            let wait = failure.retry_after().unwrap_or_default().as_millis();
            let description = format!("Call it again in {wait} ms");
            vec![again(Priority::Medium, &description)]
        }
        Code::ToolRemoved => named(
            failure,
            "replacement",
            "Takes the place of the removed tool",
        ),
        Code::UnknownTool => named(failure, "nearest", "May be what was meant"),
        Code::UpstreamUnavailable | Code::UpstreamTimeout | Code::UpstreamError => {
            let again = again(Priority::Medium, "Call it again a little later");
            let again = failure.retryable.then_some(again);
            again.into_iter().chain([check()]).collect()
        }
        Code::StoreUnavailable if failure.retryable => {
            vec![again(
                Priority::Low,
                "Call it again when the log can be written",
            )]
        }
        // A person has to do something, or nobody knows what helps.
        _ => Vec::new(),
    }
}

/// Tools that a detail of a failure names: one, or a list of them.
fn named(failure: &Failure, detail: &str, description: &str) -> Vec<NextStep> {
    let names = match failure.details.get(detail) {
        Some(Value::Array(names)) => names.as_slice(),
        Some(name) => std::slice::from_ref(name),
        None => &[],
    };
    let names = names.iter().filter_map(Value::as_str);
    let steps = names.map(|name| NextStep {
        tool: name.to_owned(),
        priority: Priority::High,
        description: description.to_owned(),
    });
    steps.collect()
}

#[cfg(test)]
mod tests;
