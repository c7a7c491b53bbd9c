//! Does every tool keep the contract, as far as calls can show it?

use serde_json::{Value, json};

use super::{Failures, call_examples, is_harmless, is_removed, tester};
use mcpproxy_contract::{Grants, Registered, Service, ToolResult, wire};

/// Checks every tool: what it publishes, what the examples of harmless tools answer, and that
/// wrong parameters and missing permissions are refused. Tools that change something are not
/// called with parameters that would pass.
pub async fn conforms(service: &Service) -> Result<(), Failures> {
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
    Failures::none_or(found)
}

/// What the examples answer, against the contract and the published output schema.
async fn results(service: &Service, tool: &Registered) -> Vec<String> {
    if !is_harmless(tool) {
        return Vec::new();
    }
    let name = &tool.definition().name;
    let output_schema = wire::tool(tool)["outputSchema"].take();
    let validator = match jsonschema::options().offline().build(&output_schema) {
        Ok(validator) => validator,
        Err(error) => return vec![format!("{name}: the output schema cannot be used: {error}")],
    };
    let mut found = Vec::new();
    for (number, result) in call_examples(service, tool).await {
        let structured = result.to_json();
        let broken = crate::result(&structured);
        found.extend(
            broken
                .iter()
                .map(|one| format!("{name}: the result of example {number}: {}", one.message)),
        );
        found.extend(validator.iter_errors(&structured).map(|error| {
            let path = error.instance_path();
            format!("{name}: the result of example {number} is not what its schema says: {path}: {error}")
        }));
    }
    found
}

/// Parameters nobody documented, and callers without permission.
async fn refusals(service: &Service, tool: &Registered) -> Vec<String> {
    let definition = tool.definition();
    let mut found = Vec::new();
    let unknown = json!({ "thisParameterDoesNotExist": true });
    let mut stranger = tester();
    stranger.grants = Grants::only::<[&str; 0]>([]);
    let wrong = service
        .call(&definition.name, unknown.clone(), &tester())
        .await;
    let kept_out = service.call(&definition.name, unknown, &stranger).await;
    // A tool whose time is over refuses everything, and says so.
    let code = |result: &ToolResult| result.error().map(|error| error.code.clone());
    if is_removed(&wrong) {
        return found;
    }
    if code(&wrong).as_deref() != Some("INVALID_ARGUMENTS") {
        found.push(format!(
            "{}: unknown parameters are not refused",
            definition.name
        ));
    }
    if !definition.permissions.is_empty() && code(&kept_out).as_deref() != Some("FORBIDDEN") {
        found.push(format!(
            "{}: a caller without permissions is not refused",
            definition.name
        ));
    }
    for result in [wrong, kept_out] {
        let broken = crate::result(&result.to_json());
        found.extend(
            broken
                .iter()
                .map(|one| format!("{}: a refusal: {}", definition.name, one.message)),
        );
    }
    found
}
