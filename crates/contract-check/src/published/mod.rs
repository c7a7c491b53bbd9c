//! A service against what it published: nobody who calls it as before may be broken.
//!
//! Names stay until their removal date, calls that were right stay right, fields of the output stay, and a change that
//! breaks any of it has a new name.

mod output;
mod parameters;
mod schema_part;

use jiff::civil::Date;
use mcpproxy_contract::validate::{Findings, date};
use mcpproxy_contract::wire::DEFINITION_KEY;
use mcpproxy_contract::{ContractViolation, Rule};
use serde_json::{Value, json};

use self::output::broken_reads;
use self::parameters::broken_calls;

/// The most faults of one kind that are told of one tool.
const FAULTS: usize = 20;

/// Tool as it was published.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedTool {
    name: String,
    version: Option<String>,
    /// The day from which on it may be gone, where it is deprecated.
    removal: Option<Date>,
    parameters: Value,
    /// Schema of the whole result; null where there is none.
    output: Value,
}

/// Tools in one of the forms that they are kept in: as a list, as a result of `tools/list`, as a whole response, or as
/// the snapshot that the test kit writes. Nothing if it is none of them.
pub fn published(value: &Value) -> Option<Vec<PublishedTool>> {
    if let Some(tools) = listed(value) {
        return Some(tools.iter().filter_map(PublishedTool::of_listed).collect());
    }
    let snapshot = value.as_object()?;
    let is_snapshot = |facts: &Value| facts["parameters"].is_object();
    if snapshot.is_empty() || !snapshot.values().all(is_snapshot) {
        return None;
    }
    let tools = snapshot.iter();
    Some(
        tools
            .map(|(name, facts)| PublishedTool::of_snapshot(name, facts))
            .collect(),
    )
}

/// The list in one of its forms: alone, in a result of `tools/list`, or in a whole response.
pub fn listed(value: &Value) -> Option<&[Value]> {
    let list = match value.get("result") {
        Some(result) => &result["tools"],
        None if value.is_array() => value,
        None => &value["tools"],
    };
    list.as_array().map(Vec::as_slice)
}

/// Rules that the tools of a service break towards those who know them as they were published before.
pub fn broken(
    before: &[PublishedTool],
    now: &[PublishedTool],
    today: Date,
) -> Vec<ContractViolation> {
    let violations = before.iter().flat_map(|tool| {
        let same = now.iter().find(|one| one.name == tool.name);
        tool.broken_by(same, today)
    });
    violations.collect()
}

// === impl PublishedTool ===

impl PublishedTool {
    /// Tool as `tools/list` has it, with or without a definition; nothing without a name.
    pub fn of_listed(tool: &Value) -> Option<Self> {
        let definition = &tool["_meta"][DEFINITION_KEY];
        Some(Self {
            name: tool["name"].as_str()?.to_owned(),
            version: definition["version"].as_str().map(str::to_owned),
            removal: date(&definition["deprecated"]["removalDate"]),
            parameters: tool["inputSchema"].clone(),
            output: tool["outputSchema"].clone(),
        })
    }

    /// Tool of a snapshot, which has the schema of the data alone.
    fn of_snapshot(name: &str, facts: &Value) -> Self {
        let mut data = facts["data"].clone();
        // References start from the root of the schema.
        let definitions = data.as_object_mut().and_then(|data| data.remove("$defs"));
        let mut output = json!({ "properties": { "data": data } });
        if let Some(definitions) = definitions {
            output["$defs"] = definitions;
        }
        Self {
            name: name.to_owned(),
            version: facts["version"].as_str().map(str::to_owned),
            removal: date(&facts["deprecated"]["removalDate"]),
            parameters: facts["parameters"].clone(),
            output: if facts["data"].is_null() {
                Value::Null
            } else {
                output
            },
        }
    }

    /// Name of the tool.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the tool may be gone on a day.
    pub fn may_be_gone(&self, today: Date) -> bool {
        self.removal.is_some_and(|removal| removal <= today)
    }

    /// Rules that what became of this tool breaks; it is gone where there is nothing.
    pub fn broken_by(&self, now: Option<&Self>, today: Date) -> Vec<ContractViolation> {
        let mut findings = Findings::about(&self.name);
        match now {
            Some(now) => self.changes(now, &mut findings),
            None if self.may_be_gone(today) => {}
            None => findings.add(Rule::NameKept, self.missing()),
        }
        findings.into_found()
    }

    fn missing(&self) -> String {
        match self.removal {
            Some(removal) => format!(
                "it was published and is gone before its removal date {removal}; offer it until then"
            ),
            None => "it was published and is gone; a name stays: offer it again, deprecated for at least 90 days"
                .to_owned(),
        }
    }

    fn changes(&self, now: &Self, findings: &mut Findings<'_>) {
        let name = &self.name;
        let remedy = format!(
            "give the changed tool a new name, such as '{name}-v2', and keep '{name}' as it was until its removal date"
        );
        for fault in broken_calls(&self.parameters, &now.parameters)
            .iter()
            .take(FAULTS)
        {
            findings.add(Rule::ParametersKept, format!("{fault}; {remedy}"));
        }
        for fault in broken_reads(&self.output, &now.output).iter().take(FAULTS) {
            findings.add(Rule::OutputKept, format!("{fault}; {remedy}"));
        }
        if let (Some(before), Some(version)) = (&self.version, &now.version)
            && let (Some(known), Some(major)) = (major(before), major(version))
            && major > known
        {
            let fault = format!("the version went from {before} to {version} under the same name");
            findings.add(Rule::MajorRenamed, format!("{fault}; {remedy}"));
        }
    }
}

fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests;
