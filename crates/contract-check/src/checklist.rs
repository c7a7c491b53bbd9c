//! The verification checklist, line by line, for every tool.
//!
//! A line holds, and then it has its evidence; it is violated; or it was not checked, and then it says why not: what only
//! a call shows needs results, and of what happens inside a service it says who can see it.

use std::collections::BTreeMap;

use jiff::civil::Date;
use mcpproxy_contract::wire::DEFINITION_KEY;
use mcpproxy_contract::{ContractViolation, Rule};
use serde::Serialize;
use serde_json::Value;

use self::Decided::{ByConfidence, ByDefinition, ByList, ByMetrics, ByResults, ByTool, Inside};
use super::confidence::{ConfidenceMemory, ConfidenceSeen, answer_hash};
use super::{announces, deprecation, per_tool, result};

/// The longest value of a definition that is shown as evidence, in characters.
const SHOWN_VALUE: usize = 80;

/// One line.
struct ChecklistLine {
    decided: Decided,
    rules: &'static [Rule],
    text: &'static str,
}

/// Evidence that a line is decided by.
#[derive(Clone, Copy)]
enum Decided {
    /// The tool itself, with or without a definition.
    ByTool,
    /// This field of the definition.
    ByDefinition(&'static str),
    /// The results of calls. The function tells why those that break no rule leave the line open.
    ByResults(fn(&[&Value]) -> Option<&'static str>),
    /// The confidence in the results of many calls.
    ByConfidence,
    /// The metrics that the service shows.
    ByMetrics,
    /// The list that the tool is in.
    ByList,
    /// Nothing that shows outside of the service; who can see it.
    Inside(&'static str),
}

/// Writes the checklist as a table: what decides a line, the rules it stands for, its text.
macro_rules! lines {
    ($($decided:expr, [$($rule:ident)*], $text:literal;)*) => {
        [$(ChecklistLine { decided: $decided, rules: &[$(Rule::$rule),*], text: $text }),*]
    };
}

/// Reason that nobody outside sees whether a service logs.
const SEES_LOG: &str = "not visible from outside: whoever runs the service sees its log; the gateway has each call on record (`mcpproxy activity list`)";

/// Reason that nobody sees whether a service counts, where its metrics cannot be read.
const SEES_METRICS: &str = "its metrics were not reachable: whoever runs the service sees them, at /metrics of a service over HTTP, or at /metrics of the gateway for the services inside it";

/// Reason that nobody outside sees whether a tool is tested.
const SEES_TESTS: &str = "not visible from outside: its author sees the tests; `testing::conforms` of the test kit is one to begin with";

/// The checklist. Where hints are missing altogether, every line about hints is violated.
const LINES: [ChecklistLine; 29] = lines! {
    ByTool, [NameForm NameUnique], "The name is unique and in kebab-case";
    ByTool, [DescriptionLength DescriptionParts], "The description is clear and complete, with 50 characters or more";
    ByTool, [ParametersChecked ParameterDocumented ParameterBounded IdBranded], "All parameters are validated by a schema";
    ByDefinition("permissions"), [PermissionForm], "The list of permissions is defined";
    ByDefinition("category"), [CategoryKnown], "The category is specified";
    ByDefinition("responseTime"), [ResponseTimeKnown], "responseTime is specified";
    ByDefinition("cacheable"), [CacheableFits], "cacheable is set correctly";
    ByDefinition("cacheTTL"), [CacheTtl], "cacheTTL is set if cacheable";
    ByDefinition("idempotent"), [IdempotentFits], "idempotent is set correctly";
    ByDefinition("examples"), [ExampleHolds], "There is at least 1 example";
    ByDefinition("tags"), [TagPresent], "There is at least 1 tag";
    ByResults(no_doubt), [ResultStructure DataNotNull], "The handler returns the ToolResult structure";
    ByResults(no_doubt), [HintsPresent HintsForm], "agentHints are always included";
    ByConfidence, [HintsPresent HintsConfidence ConfidenceCalculated], "agentHints.confidence is calculated, not typed in";
    ByResults(no_doubt), [HintsPresent HintsSourceQuality], "agentHints.sourceQuality is specified";
    ByResults(no_doubt), [HintsPresent HintsValidity], "agentHints.validityPeriod is specified";
    ByResults(no_doubt), [HintsPresent HintsContext], "agentHints.contextNeeded is a list (may be empty)";
    ByResults(no_doubt), [HintsPresent HintsAssumptions], "agentHints.assumptions is a list (may be empty)";
    ByResults(no_doubt), [HintsPresent HintsRisks], "agentHints.riskFactors is a list (may be empty)";
    ByResults(no_doubt), [HintsPresent HintsDependencies], "agentHints.dependencies is a list (may be empty)";
    ByResults(no_doubt), [HintsPresent HintsImpact HintsRoi], "agentHints.estimatedImpact has benefit, effort and roi";
    ByResults(no_doubt), [HintsPresent HintsAlignment], "agentHints.preferenceAlignment is a list (may be empty)";
    ByResults(without_reasoning), [HintsPresent HintsReasoning], "agentHints.reasoning is included (strongly recommended)";
    ByResults(no_doubt), [MetadataComplete], "All metadata fields are populated";
    ByResults(without_errors), [ErrorForm], "Error handling is implemented";
    Inside(SEES_LOG), [], "Logging is added";
    ByMetrics, [], "Metrics are emitted";
    Inside(SEES_TESTS), [], "Tests are written (unit and integration)";
    ByList, [], "The tool is registered in the ToolRegistry";
};

/// Evidence beside the tools themselves.
#[derive(Debug, Clone, Copy)]
pub struct ServiceEvidence<'a> {
    /// Results of calls: the name of a tool and the `structuredContent` it gave back.
    pub results: &'a [(String, Value)],
    /// Violations that somebody else found: in results which are not at hand, or in what was published before.
    pub found: &'a [ContractViolation],
    /// Confidence that somebody else saw over time, by tool.
    pub confidence: Option<&'a BTreeMap<String, ConfidenceSeen>>,
    /// Metrics of the service, where they can be read.
    pub metrics: Option<&'a ShownMetrics>,
    /// The day of the check.
    pub today: Date,
}

/// Metrics that a service shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownMetrics {
    /// Where they are shown.
    pub place: String,
    /// Label that the lines of the service have, where others are shown beside it.
    pub label: Option<String>,
    /// What is shown there, in the text format of Prometheus.
    pub text: String,
}

/// Result of the checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Each tool, in the order of the list.
    pub tools: Vec<ToolReport>,
    /// All of them counted.
    pub summary: ChecklistSummary,
}

/// Result of the checklist for one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolReport {
    /// The tool.
    pub tool: String,
    /// Whether it says that it keeps the contract.
    pub announces: bool,
    /// Number of results that were looked at.
    pub results: usize,
    /// The 29 lines.
    pub lines: Vec<LineReport>,
    /// Rules that the tool breaks and no line speaks of.
    pub besides: Vec<ContractViolation>,
}

/// Result of one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineReport {
    /// The number of the line, from 1.
    pub line: usize,
    /// Text of the line: what it asks for.
    pub text: &'static str,
    /// Whether it holds.
    #[serde(flatten)]
    pub verdict: LineVerdict,
}

/// Whether a line holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum LineVerdict {
    /// It does.
    Holds {
        /// What shows it.
        evidence: String,
    },
    /// It does not.
    Violated {
        /// Faults, each once.
        messages: Vec<String>,
    },
    /// It could not be told.
    NotChecked {
        /// Why not.
        reason: String,
    },
}

/// Lines of all tools, counted by what came of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ChecklistSummary {
    /// The tools.
    pub tools: usize,
    /// The lines that hold.
    pub holds: usize,
    /// The lines that are violated.
    pub violated: usize,
    /// The lines that were not checked.
    pub not_checked: usize,
    /// The rules broken that no line speaks of.
    pub besides: usize,
}

/// The checklist for tools as `tools/list` has them, with all that is known of their service.
pub fn report(tools: &[Value], evidence: &ServiceEvidence<'_>) -> Report {
    let mut reports: Vec<ToolReport> = tools
        .iter()
        .zip(per_tool(tools))
        .map(|(tool, (name, mut found))| {
            found.extend(deprecation(tool, None, evidence.today));
            tool_report(tool, &name, found, evidence)
        })
        .collect();
    let is_known = |one: &&ContractViolation| reports.iter().all(|known| known.tool != one.tool);
    let unknown: Vec<_> = evidence.found.iter().filter(is_known).cloned().collect();
    for violation in unknown {
        gone(violation, &mut reports);
    }
    Report {
        summary: ChecklistSummary::of(&reports),
        tools: reports,
    }
}

/// Adds a violation of a tool that is not in the list.
fn gone(violation: ContractViolation, reports: &mut Vec<ToolReport>) {
    match reports
        .iter_mut()
        .find(|report| report.tool == violation.tool)
    {
        Some(report) => report.besides.push(violation),
        None => reports.push(ToolReport {
            tool: violation.tool.clone(),
            announces: false,
            results: 0,
            lines: Vec::new(),
            besides: vec![violation],
        }),
    }
}

// === impl ServiceEvidence ===

impl ServiceEvidence<'_> {
    /// Nothing beside the tools.
    pub fn none(today: Date) -> Self {
        Self {
            results: &[],
            found: &[],
            confidence: None,
            metrics: None,
            today,
        }
    }
}

/// One tool, and all that is known of it.
struct KnownTool<'a> {
    definition: &'a Value,
    /// Faults of any kind.
    found: Vec<ContractViolation>,
    results: Vec<&'a Value>,
    confidence: Option<ConfidenceSeen>,
    metrics: Option<&'a ShownMetrics>,
    name: &'a str,
}

fn tool_report(
    tool: &Value,
    name: &str,
    found: Vec<ContractViolation>,
    evidence: &ServiceEvidence<'_>,
) -> ToolReport {
    let own = evidence.results.iter().filter(|(tool, _)| *tool == name);
    let results: Vec<&Value> = own.map(|(_, structured)| structured).collect();
    let in_results = results.iter().flat_map(|one| result(one));
    let seen = evidence.confidence.and_then(|seen| seen.get(name));
    let elsewhere = evidence.found.iter().filter(|one| one.tool == name);
    let known = KnownTool {
        definition: &tool["_meta"][DEFINITION_KEY],
        found: found
            .into_iter()
            .chain(in_results)
            .chain(elsewhere.cloned())
            .collect(),
        confidence: seen.copied().or_else(|| confidence(&results)),
        metrics: evidence.metrics,
        name,
        results,
    };
    let lines = LINES.iter().zip(1..).map(|(line, number)| LineReport {
        line: number,
        text: line.text,
        verdict: known.verdict(line),
    });
    ToolReport {
        announces: announces(tool),
        results: known.results.len(),
        lines: lines.collect(),
        besides: known.besides(),
        tool: name.to_owned(),
    }
}

// === impl KnownTool ===

impl KnownTool<'_> {
    fn verdict(&self, line: &ChecklistLine) -> LineVerdict {
        let mut broken = self.messages(line.rules);
        if let ByDefinition(_) = line.decided {
            // Without a definition there is nothing that these rules could have been checked on.
            broken = [self.messages(&[Rule::Announced]), broken].concat();
        }
        if !broken.is_empty() {
            return LineVerdict::Violated { messages: broken };
        }
        match line.decided {
            ByTool => LineVerdict::holds("the tool as it is listed"),
            ByDefinition(field) => LineVerdict::holds(&self.field(field)),
            ByResults(doubt) => match (doubt(&self.results), self.results.len()) {
                (_, 0) => LineVerdict::open("no result was seen; it takes a call"),
                (Some(doubt), _) => LineVerdict::open(doubt),
                (None, 1) => LineVerdict::holds("1 result"),
                (None, count) => LineVerdict::holds(&format!("{count} results")),
            },
            ByConfidence => self.confidence_verdict(),
            ByMetrics => self.metrics_verdict(),
            ByList => LineVerdict::holds("the service lists it"),
            Inside(who) => LineVerdict::open(who),
        }
    }

    /// A number that was calculated moves with what it is calculated from, whatever is said about it.
    fn confidence_verdict(&self) -> LineVerdict {
        let Some(seen) = self.confidence else {
            return LineVerdict::open("no result was seen; it takes a call");
        };
        match seen.typed_in() {
            Some(fault) => LineVerdict::Violated {
                messages: vec![fault],
            },
            None if seen.moves() => LineVerdict::holds(&seen.evidence()),
            None => LineVerdict::open(&seen.open()),
        }
    }

    fn metrics_verdict(&self) -> LineVerdict {
        let Some(metrics) = self.metrics else {
            return LineVerdict::open(SEES_METRICS);
        };
        let place = &metrics.place;
        match metrics.of_tool(self.name) {
            Some(line) => LineVerdict::holds(&format!("{place} shows {}", shortened(line))),
            // The gateway shows what services inside it count, and nothing of the others.
            None if self.results.is_empty() || metrics.label.is_some() => {
                LineVerdict::open(&format!("{place} shows nothing of it; it takes a call"))
            }
            None => LineVerdict::Violated {
                messages: vec![format!(
                    "{place} shows nothing of it, although it was called"
                )],
            },
        }
    }

    /// Value of a field of the definition, as evidence.
    fn field(&self, name: &str) -> String {
        match &self.definition[name] {
            Value::Null => format!("{name} is not given"),
            value => shortened(&format!("{name}: {value}")),
        }
    }

    /// Rules that are broken and no line speaks of, each fault once.
    fn besides(&self) -> Vec<ContractViolation> {
        let has_line = |rule: Rule| {
            rule == Rule::Announced || LINES.iter().any(|line| line.rules.contains(&rule))
        };
        let mut besides: Vec<ContractViolation> = Vec::new();
        for one in &self.found {
            if !has_line(one.rule) && !besides.iter().any(|known| known.message == one.message) {
                besides.push(ContractViolation {
                    tool: self.name.to_owned(),
                    ..one.clone()
                });
            }
        }
        besides
    }

    /// Messages of the violations of these rules, each once.
    fn messages(&self, rules: &[Rule]) -> Vec<String> {
        let mut messages: Vec<String> = Vec::new();
        for violation in &self.found {
            if rules.contains(&violation.rule) && !messages.contains(&violation.message) {
                messages.push(violation.message.clone());
            }
        }
        messages
    }
}

// === impl ShownMetrics ===

impl ShownMetrics {
    /// First line that counts something of a tool.
    fn of_tool(&self, tool: &str) -> Option<&str> {
        let label = format!("=\"{tool}\"");
        let mut lines = self.text.lines().filter(|line| !line.starts_with('#'));
        lines.find(|line| {
            let is_of_service = self
                .label
                .as_ref()
                .is_none_or(|label| line.contains(label.as_str()));
            is_of_service && line.contains(&label)
        })
    }
}

/// Confidence in results that are at hand. Errors rest on little, so they say nothing about the answers.
fn confidence(results: &[&Value]) -> Option<ConfidenceSeen> {
    let mut memory = ConfidenceMemory::default();
    for result in results {
        let data = result.get("data").map(Value::to_string);
        let number = result["agentHints"]["confidence"].as_f64();
        if let (Some(data), Some(number)) = (data, number) {
            memory.learn(number, || answer_hash(&data));
        }
    }
    memory.seen()
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= SHOWN_VALUE {
        return text.to_owned();
    }
    text.chars().take(SHOWN_VALUE).chain(['…']).collect()
}

fn no_doubt(_: &[&Value]) -> Option<&'static str> {
    None
}

fn without_reasoning(structured: &[&Value]) -> Option<&'static str> {
    let lacks = structured
        .iter()
        .any(|one| reasoning(one).trim().is_empty());
    lacks.then_some("it is recommended, and results are without it")
}

fn without_errors(structured: &[&Value]) -> Option<&'static str> {
    let worked = !structured.iter().any(|one| one["error"].is_object());
    worked.then_some("no call failed, so no error was seen")
}

fn reasoning(structured: &Value) -> &str {
    let reasoning = &structured["agentHints"]["reasoning"];
    reasoning.as_str().unwrap_or_default()
}

// === impl LineVerdict ===

impl LineVerdict {
    fn holds(evidence: &str) -> Self {
        Self::Holds {
            evidence: evidence.to_owned(),
        }
    }

    fn open(reason: &str) -> Self {
        Self::NotChecked {
            reason: reason.to_owned(),
        }
    }
}

// === impl ChecklistSummary ===

impl ChecklistSummary {
    fn of(tools: &[ToolReport]) -> Self {
        let mut summary = Self {
            tools: tools.len(),
            ..Self::default()
        };
        for tool in tools {
            summary.besides += tool.besides.len();
            for line in &tool.lines {
                match line.verdict {
                    LineVerdict::Holds { .. } => summary.holds += 1,
                    LineVerdict::Violated { .. } => summary.violated += 1,
                    LineVerdict::NotChecked { .. } => summary.not_checked += 1,
                }
            }
        }
        summary
    }
}

// === impl Report ===

impl Report {
    /// Whether nothing is wrong.
    pub fn conforms(&self) -> bool {
        self.summary.violated == 0 && self.summary.besides == 0
    }
}
