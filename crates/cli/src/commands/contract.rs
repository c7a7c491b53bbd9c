//! `mcpproxy contract check SERVER|FILE`, and `contract accept` in its own file.

mod accept;
mod file;
mod metrics;
mod page;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use mcpproxy_contract::ContractViolation;
use mcpproxy_contract::wire::DEFINITION_KEY;
use mcpproxy_contract_check as check;
use mcpproxy_contract_check::checklist::{self, Report, ServiceEvidence, ShownMetrics};
use mcpproxy_contract_check::confidence::ConfidenceSeen;
use mcpproxy_contract_check::published::PublishedTool;
use mcpproxy_gateway::search::ToolListRequest;
use mcpproxy_gateway::{BrokenRule, ServersToStart};
use mcpproxy_policy::Operation;
use mcpproxy_wire::json::decode_for_display;
use serde_json::{Value, json};

use crate::CommandResult;
use crate::arguments::{Common, ContractCommand};
use crate::backend::Backend;
use crate::error::CliError;
use crate::output::{elements, note, text};
use crate::progress_bar::TerminalProgress;

/// The most examples of a tool that are called.
const CALLED_EXAMPLES: usize = 10;

pub(crate) async fn run(common: &Common, contract: ContractCommand) -> CommandResult {
    match contract {
        ContractCommand::Check {
            target,
            no_calls,
            against,
        } => check(common, &target, !no_calls, against.as_deref()).await,
        ContractCommand::Accept { server, tool } => {
            accept::run(common, &server, tool.as_deref()).await
        }
    }
}

async fn check(
    common: &Common,
    target: &str,
    with_calls: bool,
    against: Option<&str>,
) -> CommandResult {
    let before = against.map(file::published).transpose()?;
    let mut gathered = if is_file(target) {
        GatheredEvidence {
            tools: file::tools(target)?,
            ..GatheredEvidence::default()
        }
    } else {
        of_server(common, target, with_calls).await?
    };
    // Dates of removal are in UTC.
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    if let Some(before) = before {
        let now = gathered.tools.iter().filter_map(PublishedTool::of_listed);
        let now: Vec<PublishedTool> = now.collect();
        gathered
            .found
            .extend(check::published::broken(&before, &now, today));
    }
    let report = gathered.report(today);
    common
        .output
        .result(&json!(report).to_string(), |_| page::of(&report));
    Ok(ExitCode::from(u8::from(!report.conforms())))
}

/// Whether the target exists as a file or is called like one.
fn is_file(target: &str) -> bool {
    let path = Path::new(target);
    let is_json = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("json"));
    path.is_file() || is_json
}

/// Everything that was found out about a service.
#[derive(Default)]
struct GatheredEvidence {
    tools: Vec<Value>,
    results: Vec<(String, Value)>,
    found: Vec<ContractViolation>,
    confidence: Option<BTreeMap<String, ConfidenceSeen>>,
    metrics: Option<ShownMetrics>,
}

impl GatheredEvidence {
    fn report(&self, today: Date) -> Report {
        let evidence = ServiceEvidence {
            results: &self.results,
            found: &self.found,
            confidence: self.confidence.as_ref(),
            metrics: self.metrics.as_ref(),
            today,
        };
        checklist::report(&self.tools, &evidence)
    }
}

async fn of_server(
    common: &Common,
    server: &str,
    with_calls: bool,
) -> Result<GatheredEvidence, CliError> {
    let backend = Backend::find(&common.sources(), ServersToStart::Only(server.to_owned())).await?;
    let progress = TerminalProgress::start("checking");
    let gathered = gather(&backend, server, with_calls, &progress).await;
    progress.end();
    backend.finish().await;
    gathered
}

/// Tool to be checked, as the gateway shows it.
struct CheckedTool {
    /// The tool as `tools/list` has it.
    published: Value,
    /// Whether the gateway lets it be called as a read.
    is_readable: bool,
}

impl CheckedTool {
    /// The tool under its own name and with its own annotations.
    fn new(name: &str, mut shown: Value) -> Self {
        // A call to a server that failed tells what is wrong with it.
        let status = shown["status"].as_str();
        let is_called = matches!(status, Some("callable" | "server failed"));
        let is_readable = shown["class"] == "read" && is_called;
        let own = shown.get_mut("server_annotations").map(Value::take);
        let mut published = json!({ "name": name });
        for key in [
            "title",
            "description",
            "inputSchema",
            "outputSchema",
            "annotations",
            "_meta",
        ] {
            if let Some(value) = shown.get_mut(key) {
                published[key] = value.take();
            }
        }
        if let Some(own) = own {
            published["annotations"] = own;
        }
        Self {
            published,
            is_readable,
        }
    }
}

async fn gather(
    backend: &Backend,
    server: &str,
    with_calls: bool,
    progress: &TerminalProgress,
) -> Result<GatheredEvidence, CliError> {
    let tools = checked_tools(backend, server, progress).await?;
    let calls: Vec<_> = tools
        .iter()
        .filter(|_| with_calls)
        .flat_map(calls)
        .collect();
    let mut gathered = GatheredEvidence::default();
    for (done, (tool, number, params)) in calls.iter().enumerate() {
        progress.at(done as u64, calls.len() as u64);
        let request = json!({
            "name": format!("{server}:{tool}"),
            "intent": { "operation_type": Operation::Read.as_str(), "reason": "contract check" },
            "args": params,
        });
        match backend.call(Operation::Read, request).await {
            Ok(result) => {
                let mut result = decode_for_display(&result);
                let structured = result["structuredContent"].take();
                gathered.results.push(((*tool).to_owned(), structured));
            }
            Err(failed) => {
                let message = text(&failed.error()["message"]);
                note(&format!(
                    "example {number} of '{tool}' gave no result: {message}"
                ));
            }
        }
    }
    // The gateway has seen the calls of others, too, and what was published before.
    let seen = backend.contract_report(server).await?;
    gathered.found = seen.broken.into_iter().flat_map(violations).collect();
    gathered.confidence = Some(seen.confidence);
    gathered.metrics = metrics::shown(backend, server).await;
    gathered.tools = tools.into_iter().map(|one| one.published).collect();
    Ok(gathered)
}

/// Violations of one rule that the gateway found.
fn violations(broken: BrokenRule) -> impl Iterator<Item = ContractViolation> {
    let BrokenRule { tool, rule, .. } = broken;
    let messages = std::iter::once(broken.message).chain(broken.more);
    messages.map(move |message| ContractViolation {
        tool: tool.clone(),
        rule,
        message,
    })
}

/// Every tool of a server that is there and offers some.
async fn checked_tools(
    backend: &Backend,
    server: &str,
    progress: &TerminalProgress,
) -> Result<Vec<CheckedTool>, CliError> {
    let servers = backend.servers(server).await?;
    let Some(status) = servers.iter().find(|one| one.name == server) else {
        let names: Vec<String> = servers.into_iter().map(|one| one.name).collect();
        return Err(CliError::unknown_server(server, &names));
    };
    let request = ToolListRequest {
        server: Some(server),
        ..ToolListRequest::default()
    };
    let listed = decode_for_display(&backend.tools(request).await?);
    let rows = elements(&listed["tools"]);
    if rows.is_empty() {
        let (state, reason) = (&status.state, status.reason.as_ref());
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        return Err(CliError::refused(format!(
            "Server '{server}' offers no tools to check; its state is {state}{reason}. `mcpproxy tools list --server {server}` shows what it offers"
        )));
    }
    let mut tools = Vec::with_capacity(rows.len());
    for (done, row) in rows.iter().enumerate() {
        progress.at(done as u64, rows.len() as u64);
        let qualified = text(&row["name"]);
        let own = qualified.strip_prefix(&format!("{server}:"));
        let name = own.unwrap_or(&qualified);
        let shown = decode_for_display(&backend.tool(server, name).await?);
        tools.push(CheckedTool::new(name, shown));
    }
    Ok(tools)
}

/// The calls to be made: the examples of a tool that announces the contract, and that both its
/// category and the gateway take for one that changes nothing.
fn calls(checked: &CheckedTool) -> impl Iterator<Item = (&str, usize, &Value)> {
    let tool = &checked.published;
    let definition = &tool["_meta"][DEFINITION_KEY];
    let is_called =
        check::announces(tool) && checked.is_readable && definition["category"] != "mutation";
    let examples = definition["examples"].as_array().filter(|_| is_called);
    let name = tool["name"].as_str().unwrap_or_default();
    examples
        .into_iter()
        .flatten()
        .take(CALLED_EXAMPLES)
        .enumerate()
        .filter(|(_, example)| example["params"].is_object())
        .map(move |(index, example)| (name, index + 1, &example["params"]))
}

#[cfg(test)]
mod tests;
