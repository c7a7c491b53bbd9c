//! Tools as `tools/list` has them, against the contract.

use std::collections::HashSet;

use mcpproxy_contract::validate::{self, Findings};
use mcpproxy_contract::wire::DEFINITION_KEY;
use mcpproxy_contract::{ContractViolation, Rule};
use serde_json::{Value, json};

use super::schema;

/// The most examples whose parameters are checked.
const CHECKED_EXAMPLES: usize = 50;

/// Everything that is wrong with a tool: with its definition, and where its definition says
/// something else than the tool that carries it.
pub fn definition(tool: &Value) -> Vec<ContractViolation> {
    let name = tool["name"].as_str().unwrap_or_default();
    let input_schema = &tool["inputSchema"];
    let definition = &tool["_meta"][DEFINITION_KEY];
    let mut findings = Findings::about(name);
    let rest = if announces(tool) {
        for key in ["name", "description"] {
            findings.expect(
                definition[key] == tool[key],
                Rule::DefinitionAgrees,
                format!("the {key} in the definition is not the {key} of the tool"),
            );
        }
        annotations(definition, &tool["annotations"], &mut findings);
        examples(definition, input_schema, &mut findings);
        validate::definition(definition, input_schema)
    } else {
        findings.add(
            Rule::Announced,
            format!("the tool does not announce the contract: it has no definition in _meta[\"{DEFINITION_KEY}\"]"),
        );
        without_definition(tool)
    };
    let mut found = findings.into_found();
    found.extend(rest);
    // The tool is called by its own name, whatever the definition says.
    relabel(&mut found, name);
    found
}

/// Everything that is wrong with the tools of a service: with each of them, and with all together.
pub fn tools(list: &[Value]) -> Vec<ContractViolation> {
    per_tool(list).into_iter().flatten().collect()
}

/// Whether a tool says that it keeps the contract.
pub fn announces(tool: &Value) -> bool {
    tool["_meta"][DEFINITION_KEY].is_object()
}

/// What is wrong with each tool, in the order of the list.
pub(crate) fn per_tool(list: &[Value]) -> Vec<Vec<ContractViolation>> {
    let names = list.iter().filter_map(|tool| tool["name"].as_str());
    let names: HashSet<&str> = names.collect();
    let mut seen = HashSet::new();
    let each = list.iter().enumerate().map(|(index, tool)| {
        let label = name_of(tool, index);
        let mut findings = Findings::about(&label);
        if let Some(name) = tool["name"].as_str() {
            findings.expect(
                seen.insert(name),
                Rule::NameUnique,
                format!("another tool of the service has the name '{name}'"),
            );
        }
        let replacement = &tool["_meta"][DEFINITION_KEY]["deprecated"]["replacement"];
        if let Some(replacement) = replacement.as_str().filter(|name| !name.is_empty()) {
            findings.expect(
                names.contains(replacement),
                Rule::DeprecationReplacement,
                format!("the replacement '{replacement}' is not a tool of the service"),
            );
        }
        let mut violations = definition(tool);
        relabel(&mut violations, &label);
        violations.extend(findings.into_found());
        violations
    });
    each.collect()
}

fn relabel(violations: &mut [ContractViolation], label: &str) {
    for violation in violations {
        label.clone_into(&mut violation.tool);
    }
}

/// A tool's name, or its place in the list where it has none.
pub(crate) fn name_of(tool: &Value, index: usize) -> String {
    match tool["name"].as_str() {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => format!("tool {} of the list", index + 1),
    }
}

/// What can be said of a tool that announces nothing: its name, its description, its parameters.
fn without_definition(tool: &Value) -> Vec<ContractViolation> {
    const VISIBLE: [Rule; 7] = [
        Rule::NameForm,
        Rule::DescriptionLength,
        Rule::DescriptionParts,
        Rule::ParametersChecked,
        Rule::ParameterDocumented,
        Rule::ParameterBounded,
        Rule::IdBranded,
    ];
    let known = json!({ "name": tool["name"], "description": tool["description"] });
    let mut found = validate::definition(&known, &tool["inputSchema"]);
    found.retain(|violation| VISIBLE.contains(&violation.rule));
    found
}

/// What decides on calls is the annotations, so they have to say what the category says. An unknown
/// category is a violation of its own.
fn annotations(definition: &Value, annotations: &Value, findings: &mut Findings<'_>) {
    let category = definition["category"].as_str().unwrap_or_default();
    let (is_read_only, is_destructive) = (
        annotations["readOnlyHint"] == true,
        annotations["destructiveHint"] == true,
    );
    if category == "mutation" {
        findings.expect(
            !is_read_only,
            Rule::AnnotationsFit,
            "a mutation changes something, so its annotations must not have readOnlyHint: true",
        );
    } else if ["query", "analysis", "generation"].contains(&category) {
        findings.expect(
            is_read_only,
            Rule::AnnotationsFit,
            format!("a tool of the category {category} changes nothing, so its annotations need readOnlyHint: true"),
        );
        findings.expect(
            !is_destructive,
            Rule::AnnotationsFit,
            format!("a tool of the category {category} must not have destructiveHint: true"),
        );
    }
}

/// The parameters of every example against the schema that callers are shown.
fn examples(definition: &Value, input_schema: &Value, findings: &mut Findings<'_>) {
    let examples = definition["examples"].as_array();
    let Some(examples) = examples.filter(|examples| !examples.is_empty()) else {
        return;
    };
    let schema = match schema::Compiled::new(input_schema) {
        Ok(schema) => schema,
        Err(reason) => {
            let message = format!("the inputSchema cannot be used: {reason}");
            return findings.add(Rule::ParametersChecked, message);
        }
    };
    let examples = examples.iter().take(CHECKED_EXAMPLES).zip(1..);
    for (example, number) in examples.filter(|(example, _)| example["params"].is_object()) {
        for problem in schema.problems(&example["params"]) {
            findings.add(
                Rule::ExampleHolds,
                format!("the params of example {number} do not match the inputSchema: {problem}"),
            );
        }
    }
}
