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
    // The tool is called by its own name, whatever the definition says.
    let mut findings = Findings::about(tool["name"].as_str().unwrap_or_default());
    check(tool, &mut findings);
    findings.into_found()
}

/// Everything that is wrong with the tools of a service: with each of them, and with all together.
pub fn tools(list: &[Value]) -> Vec<ContractViolation> {
    per_tool(list).flat_map(|(_, found)| found).collect()
}

/// Whether a tool says that it keeps the contract.
pub fn announces(tool: &Value) -> bool {
    tool["_meta"][DEFINITION_KEY].is_object()
}

/// The name of each tool, or its place in the list where it has none, and what is wrong with it.
pub(crate) fn per_tool(list: &[Value]) -> impl Iterator<Item = (String, Vec<ContractViolation>)> {
    let names = list.iter().filter_map(|tool| tool["name"].as_str());
    let names: HashSet<&str> = names.collect();
    let mut seen = HashSet::new();
    list.iter().zip(1..).map(move |(tool, place)| {
        let name = tool["name"].as_str();
        let label = match name {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => format!("tool {place} of the list"),
        };
        let mut findings = Findings::about(&label);
        check(tool, &mut findings);
        if let Some(name) = name {
            let taken = format!("another tool of the service has the name '{name}'");
            findings.expect(seen.insert(name), Rule::NameUnique, taken);
        }
        let replacement = &tool["_meta"][DEFINITION_KEY]["deprecated"]["replacement"];
        if let Some(replacement) = replacement.as_str().filter(|name| !name.is_empty()) {
            let missing = format!("the replacement '{replacement}' is not a tool of the service");
            // A tool of another server is named with its server, which nobody here can look into.
            let is_there = names.contains(replacement) || replacement.contains(':');
            findings.expect(is_there, Rule::DeprecationReplacement, missing);
        }
        let found = findings.into_found();
        (label, found)
    })
}

fn check(tool: &Value, findings: &mut Findings<'_>) {
    let definition = &tool["_meta"][DEFINITION_KEY];
    let input_schema = &tool["inputSchema"];
    if !announces(tool) {
        let silent = format!(
            "the tool does not announce the contract: it has no definition in _meta[\"{DEFINITION_KEY}\"]"
        );
        findings.add(Rule::Announced, silent);
        return without_definition(tool, findings);
    }
    for key in ["name", "description"] {
        let other = format!("the {key} in the definition is not the {key} of the tool");
        findings.expect(definition[key] == tool[key], Rule::DefinitionAgrees, other);
    }
    annotations(definition, &tool["annotations"], findings);
    examples(definition, input_schema, findings);
    validate::definition(definition, input_schema, findings);
}

/// Checks of a tool that announces nothing: its name, its description, its parameters.
fn without_definition(tool: &Value, findings: &mut Findings<'_>) {
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
    let mut all = Findings::about("");
    validate::definition(&known, &tool["inputSchema"], &mut all);
    for violation in all.into_found() {
        if VISIBLE.contains(&violation.rule) {
            findings.add(violation.rule, violation.message);
        }
    }
}

/// Annotations decide on calls, so they have to say what the category says. An unknown
/// category is a violation of its own.
fn annotations(definition: &Value, annotations: &Value, findings: &mut Findings<'_>) {
    let category = definition["category"].as_str().unwrap_or_default();
    let is_read_only = annotations["readOnlyHint"] == true;
    let is_destructive = annotations["destructiveHint"] == true;
    if category == "mutation" {
        let reading =
            "a mutation changes something, so its annotations must not have readOnlyHint: true";
        findings.expect(!is_read_only, Rule::AnnotationsFit, reading);
    } else if ["query", "analysis", "generation"].contains(&category) {
        let writing = format!(
            "a tool of the category {category} changes nothing, so its annotations need readOnlyHint: true"
        );
        findings.expect(is_read_only, Rule::AnnotationsFit, writing);
        let destroying =
            format!("a tool of the category {category} must not have destructiveHint: true");
        findings.expect(!is_destructive, Rule::AnnotationsFit, destroying);
    }
}

/// The parameters of every example against the schema that callers are shown.
fn examples(definition: &Value, input_schema: &Value, findings: &mut Findings<'_>) {
    let examples = definition["examples"].as_array();
    let Some(examples) = examples.filter(|examples| !examples.is_empty()) else {
        return;
    };
    let schema = match schema::compiled(input_schema) {
        Ok(schema) => schema,
        Err(reason) => {
            let message = format!("the inputSchema cannot be used: {reason}");
            return findings.add(Rule::ParametersChecked, message);
        }
    };
    let examples = examples.iter().take(CHECKED_EXAMPLES).zip(1..);
    for (example, number) in examples.filter(|(example, _)| example["params"].is_object()) {
        for problem in schema::problems(&schema, &example["params"]) {
            let other =
                format!("the params of example {number} do not match the inputSchema: {problem}");
            findings.add(Rule::ExampleHolds, other);
        }
    }
}
