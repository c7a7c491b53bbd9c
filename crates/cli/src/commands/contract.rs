//! `mcpproxy contract check SERVER|FILE`

mod file;
mod page;

use std::path::Path;
use std::process::ExitCode;

use mcpproxy_contract::wire::DEFINITION_KEY;
use mcpproxy_contract::{ContractViolation, Rule};
use mcpproxy_contract_check as check;
use mcpproxy_contract_check::checklist::{self, Report};
use mcpproxy_gateway::ServersToStart;
use mcpproxy_policy::Operation;
use mcpproxy_wire::json::decode_for_display;
use serde::Deserialize;
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
    let ContractCommand::Check { target, no_calls } = contract;
    let report = if is_file(&target) {
        checklist::report(&file::tools(&target)?, &[], &[])
    } else {
        of_server(common, &target, !no_calls).await?
    };
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

async fn of_server(common: &Common, server: &str, with_calls: bool) -> Result<Report, CliError> {
    let backend = Backend::find(&common.sources(), ServersToStart::Only(server.to_owned())).await?;
    let progress = TerminalProgress::start("checking");
    let report = gather(&backend, server, with_calls, &progress).await;
    progress.end();
    backend.finish().await;
    report
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
) -> Result<Report, CliError> {
    let tools = checked_tools(backend, server, progress).await?;
    let calls: Vec<_> = tools
        .iter()
        .filter(|_| with_calls)
        .flat_map(calls)
        .collect();
    let (mut results, mut violations) = (Vec::new(), Vec::new());
    for (done, (tool, number, params)) in calls.iter().enumerate() {
        progress.at(done as u64, calls.len() as u64);
        let request = json!({
            "name": format!("{server}:{tool}"),
            "intent": { "operation_type": Operation::Read.as_str(), "reason": "contract check" },
            "args": params,
        });
        match backend.call(Operation::Read, request).await {
            Ok(result) => {
                let result = decode_for_display(&result);
                results.push(((*tool).to_owned(), result["structuredContent"].clone()));
            }
            Err(failed) => {
                let told = violations_in(&failed.error, tool);
                if told.is_empty() {
                    let message = text(&failed.error["message"]);
                    note(&format!(
                        "example {number} of '{tool}' gave no result: {message}"
                    ));
                }
                violations.extend(told);
            }
        }
    }
    let tools: Vec<Value> = tools.into_iter().map(|one| one.published).collect();
    Ok(checklist::report(&tools, &results, &violations))
}

/// Violations that the gateway found in a result it did not pass on.
fn violations_in(error: &Value, tool: &str) -> Vec<ContractViolation> {
    /// Violation as the gateway reports it.
    #[derive(Deserialize)]
    struct ReportedViolation {
        rule: Rule,
        message: String,
    }
    let told = &error["details"]["contract_violations"];
    let told: Vec<ReportedViolation> = Deserialize::deserialize(told).unwrap_or_default();
    let told = told.into_iter().map(|one| ContractViolation {
        tool: tool.to_owned(),
        rule: one.rule,
        message: one.message,
    });
    told.collect()
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
    let listed = decode_for_display(&backend.tools(None, Some(server)).await?);
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
