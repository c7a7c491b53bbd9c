//! Does every tool keep the contract, as far as calls can show it?

use serde_json::{Value, json};

use super::purity::changed_by_queries;
use super::{Failures, call_examples, is_harmless, is_removed, tester};
use crate::schema::problems;
use mcpproxy_contract::{Grants, Registered, Service, ToolResult, wire};
use mcpproxy_schema::Schema;

/// Checks every tool: what it publishes, what the examples of harmless tools answer, that these
/// change nothing (see [`queries_are_pure`](super::queries_are_pure), where `state` is explained),
/// and that wrong parameters and missing permissions are refused. Tools that change something are
/// not called with parameters that would pass.
pub async fn conforms(service: &Service, state: impl AsyncFn() -> String) -> Result<(), Failures> {
    let tools: Vec<&Registered> = service.registry().get_all().collect();
    let published: Vec<Value> = tools.iter().map(|tool| wire::tool(tool)).collect();
    let mut found: Vec<String> = crate::tools(&published)
        .into_iter()
        .map(|violation| format!("{}: {}", violation.tool, violation.message))
        .collect();
    for tool in tools {
        found.extend(results(service, tool).await);
        found.extend(refusals(service, tool).await);
    }
    found.extend(changed_by_queries(service, state).await);
    Failures::none_or(found)
}

/// Answers of the examples, against the contract and the published output schema.
async fn results(service: &Service, tool: &Registered) -> Vec<String> {
    if !is_harmless(tool) {
        return Vec::new();
    }
    let name = &tool.definition().name;
    let output_schema = wire::tool(tool)["outputSchema"].take();
    let schema = match Schema::compile(&output_schema) {
        Ok(schema) => schema,
        Err(error) => return vec![format!("{name}: the output schema cannot be used: {error}")],
    };
    let mut found = Vec::new();
    for (number, result) in call_examples(service, tool).await {
        let what = format!("the result of example {number}");
        let structured = result.to_json();
        found.extend(broken(name, &what, &structured));
        found.extend(
            problems(&schema, &structured)
                .iter()
                .map(|problem| format!("{name}: {what} is not what its schema says: {problem}")),
        );
    }
    found
}

/// Parameters nobody documented, and callers without permission.
async fn refusals(service: &Service, tool: &Registered) -> Vec<String> {
    let definition = tool.definition();
    let name = &definition.name;
    let unknown = json!({ "thisParameterDoesNotExist": true });
    let mut stranger = tester();
    stranger.grants = Grants::only::<[&str; 0]>([]);
    let wrong = service.call(name, unknown.clone(), &tester()).await;
    let kept_out = service.call(name, unknown, &stranger).await;
    // A tool whose time is over refuses everything, and says so.
    if is_removed(&wrong) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let is_refused_as =
        |result: &ToolResult, code| result.error().is_some_and(|error| error.code == code);
    if !is_refused_as(&wrong, "INVALID_ARGUMENTS") {
        found.push(format!("{name}: unknown parameters are not refused"));
    }
    if !definition.permissions.is_empty() && !is_refused_as(&kept_out, "FORBIDDEN") {
        found.push(format!(
            "{name}: a caller without permissions is not refused"
        ));
    }
    for result in [wrong, kept_out] {
        found.extend(broken(name, "a refusal", &result.to_json()));
    }
    found
}

/// Faults of a tool's result.
fn broken(name: &str, what: &str, structured: &Value) -> Vec<String> {
    let violations = crate::result(structured).into_iter();
    violations
        .map(|one| format!("{name}: {what}: {}", one.message))
        .collect()
}
