//! Servers that announce the tool contract are held to it.
//!
//! What such a tool answers is checked before it is passed on, and what it publishes is checked
//! when it is listed. Nothing is repaired here: an answer that breaks the contract is refused,
//! or passed on with a warning, as the operator's settings say.

use std::collections::HashSet;

use mcpproxy_catalog::{CatalogTool, Snapshot};
use mcpproxy_contract::{ContractViolation, Rule};
use mcpproxy_contract_check as check;
use mcpproxy_policy::{Operation, Warning};
use mcpproxy_wire::{CallResult, Json};
use serde_json::{Map, Value, json};

use crate::failure::{Code, Failure, effect_of};
use crate::request::cut;
use crate::settings::LiveSettings;

/// Number of violations that a message names; the details have all of them.
const NAMED: usize = 3;

/// Number of violations of definitions that a line of the log names.
const LOGGED: usize = 5;

/// Most of a server's text that goes into a message or a detail, in characters.
const TEXT_LIMIT: usize = 500;

/// Refuses an answer that breaks the contract its tool announces, or warns of it where servers are
/// not held strictly to what they say.
pub(crate) fn check_answer(
    entry: &CatalogTool,
    variant: Operation,
    result: &CallResult,
    settings: &LiveSettings,
    warnings: &mut Vec<Warning>,
) -> Result<(), Failure> {
    let structured = result.structured();
    let found = check::result(&outline(structured.as_ref()));
    if found.is_empty() {
        return Ok(());
    }
    let is_strict = settings.load().rules().strict_server_validation;
    // A failure that its server only tells in words is passed on: the words are what the agent needs.
    let is_only_in_words = result.is_error() && structured.is_none();
    if is_strict && !is_only_in_words {
        return Err(refusal(entry, variant, result, &found).masked(&settings.mask()));
    }
    warnings.push(Warning {
        code: "CONTRACT_VIOLATION",
        message: format!(
            "The answer of '{}' breaks the tool contract that it announces: {}",
            entry.qualified(),
            named(&found, NAMED)
        ),
    });
    Ok(())
}

/// Tells the log what is wrong with the definitions of a server that announces the contract. Called
/// when its list has changed.
pub(crate) fn log_definition_problems(server: &str, snapshot: &Snapshot) {
    let Some(state) = snapshot.server(server) else {
        return;
    };
    let tools = state.tools().map(|entry| entry.tool().raw.to_value());
    let tools: Vec<Value> = tools.collect();
    if !tools.iter().any(check::announces) {
        return;
    }
    let server = server.to_owned();
    let look = move || {
        let mut found = check::tools(&tools);
        let silent = found.iter().filter(|one| one.rule == Rule::Announced);
        let silent: HashSet<String> = silent.map(|one| one.tool.clone()).collect();
        // A server may offer tools beside those that keep the contract.
        found.retain(|one| !silent.contains(&one.tool));
        if found.is_empty() {
            return;
        }
        tracing::warn!(
            server,
            violations = found.len(),
            "definitions break the tool contract that they announce: {}. `mcpproxy contract check {server}` shows everything",
            named(&found, LOGGED)
        );
    };
    // Schemas are compiled for this, which no call should wait for; and nobody waits for a line of the log.
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(look)),
        Err(_) => look(),
    }
}

/// Outline of a result that is checked. The data may be large, and all that counts is whether there is any.
fn outline(structured: Option<&Json>) -> Value {
    let Some(fields) = structured.and_then(Json::fields) else {
        return Value::Null;
    };
    let mut outline = Map::new();
    for name in ["data", "error", "agentHints", "metadata"] {
        let Some(raw) = fields.get(name) else {
            continue;
        };
        let value = match (name, raw.get()) {
            ("data", "null") => Value::Null,
            ("data", _) => Value::Bool(true),
            (_, text) => mcpproxy_wire::json::decode_for_display(text),
        };
        outline.insert(name.to_owned(), value);
    }
    Value::Object(outline)
}

fn refusal(
    entry: &CatalogTool,
    variant: Operation,
    result: &CallResult,
    found: &[ContractViolation],
) -> Failure {
    let violations: Vec<Value> = found
        .iter()
        .map(|one| json!({ "rule": one.rule, "message": shortened(&one.message) }))
        .collect();
    let message = format!(
        "Server '{}' broke the tool contract that '{}' announces: {}. {}",
        entry.server(),
        entry.qualified(),
        named(found, NAMED),
        effect_of(true, variant)
    );
    let failure = Failure::new(Code::UpstreamError, message)
        .with("server", &**entry.server())
        .with("contract_violations", violations);
    match result.is_error().then(|| said(result)).flatten() {
        Some(text) => failure.with("upstream_message", text),
        None => failure,
    }
}

/// Words that the server said.
fn said(result: &CallResult) -> Option<String> {
    let content = result.json().fields()?.given("content")?.get().to_owned();
    let blocks = mcpproxy_wire::json::decode_for_display(&content);
    let mut texts = blocks.as_array()?.iter();
    texts.find_map(|block| block["text"].as_str().map(shortened))
}

/// First violations in one line.
fn named(found: &[ContractViolation], limit: usize) -> String {
    let one = |violation: &ContractViolation| match violation.tool.as_str() {
        "" => shortened(&violation.message),
        tool => shortened(&format!("{tool}: {}", violation.message)),
    };
    let mut named: Vec<String> = found.iter().take(limit).map(one).collect();
    if found.len() > limit {
        named.push(format!("and {} more", found.len() - limit));
    }
    named.join("; ")
}

/// Text that a server has a part in, short and on one line.
fn shortened(text: &str) -> String {
    cut(&text.replace(char::is_control, " "), TEXT_LIMIT)
}

#[cfg(test)]
mod tests;
