//! The verification checklist, line by line, for every tool.
//!
//! A line holds, is violated, or was not checked, and then it says why not: what only a call shows
//! needs results, and what happens inside a service nobody outside can see.

use mcpproxy_contract::{ContractViolation, Rule};
use serde::Serialize;
use serde_json::Value;

use self::Decided::{ByDefinition, ByResults, ByTool, Inside};
use super::{announces, per_tool, result};

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
    /// The definition.
    ByDefinition,
    /// The results of calls. The function tells why those that break no rule leave the line open.
    ByResults(fn(&[&Value]) -> Option<&'static str>),
    /// Nothing that shows outside of the service.
    Inside,
}

/// Writes the checklist as a table: what decides a line, the rules it stands for, its text.
macro_rules! lines {
    ($($decided:expr, [$($rule:ident)*], $text:literal;)*) => {
        [$(ChecklistLine { decided: $decided, rules: &[$(Rule::$rule),*], text: $text }),*]
    };
}

/// The checklist. Where hints are missing altogether, every line about hints is violated.
const LINES: [ChecklistLine; 29] = lines! {
    ByTool, [NameForm NameUnique], "The name is unique and in kebab-case";
    ByTool, [DescriptionLength DescriptionParts], "The description is clear and complete, with 50 characters or more";
    ByTool, [ParametersChecked ParameterDocumented ParameterBounded IdBranded], "All parameters are validated by a schema";
    ByDefinition, [PermissionForm], "The list of permissions is defined";
    ByDefinition, [CategoryKnown], "The category is specified";
    ByDefinition, [ResponseTimeKnown], "responseTime is specified";
    ByDefinition, [CacheableFits], "cacheable is set correctly";
    ByDefinition, [CacheTtl], "cacheTTL is set if cacheable";
    ByDefinition, [IdempotentFits], "idempotent is set correctly";
    ByDefinition, [ExampleHolds], "There is at least 1 example";
    ByDefinition, [TagPresent], "There is at least 1 tag";
    ByResults(no_doubt), [ResultStructure DataNotNull], "The handler returns the ToolResult structure";
    ByResults(no_doubt), [HintsPresent HintsForm], "agentHints are always included";
    ByResults(without_evidence), [HintsPresent HintsConfidence], "agentHints.confidence is calculated, not typed in";
    ByResults(no_doubt), [HintsPresent HintsSourceQuality], "agentHints.sourceQuality is specified";
    ByResults(no_doubt), [HintsPresent HintsValidity], "agentHints.validityPeriod is specified";
    ByResults(no_doubt), [HintsPresent HintsContext], "agentHints.contextNeeded is a list (may be empty)";
    ByResults(no_doubt), [HintsPresent HintsAssumptions], "agentHints.assumptions is a list (may be empty)";
    ByResults(no_doubt), [HintsPresent HintsRisks], "agentHints.riskFactors is a list (may be empty)";
    ByResults(no_doubt), [HintsPresent HintsDependencies], "agentHints.dependencies is a list (may be empty)";
    ByResults(no_doubt), [HintsPresent HintsImpact], "agentHints.estimatedImpact has benefit, effort and roi";
    ByResults(no_doubt), [HintsPresent HintsAlignment], "agentHints.preferenceAlignment is a list (may be empty)";
    ByResults(without_reasoning), [HintsPresent HintsReasoning], "agentHints.reasoning is included (strongly recommended)";
    ByResults(no_doubt), [MetadataComplete], "All metadata fields are populated";
    ByResults(without_errors), [ErrorForm], "Error handling is implemented";
    Inside, [], "Logging is added";
    Inside, [], "Metrics are emitted";
    Inside, [], "Tests are written (unit and integration)";
    Inside, [], "The tool is registered in the ToolRegistry";
};

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
    Holds,
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

/// The checklist for tools as `tools/list` has them, with results of their calls, the name of a tool
/// and the `structuredContent` it gave back, and with violations that somebody else found in results
/// which are not at hand.
pub fn report(tools: &[Value], results: &[(String, Value)], seen: &[ContractViolation]) -> Report {
    let tools: Vec<ToolReport> = tools
        .iter()
        .zip(per_tool(tools))
        .map(|(tool, (name, found))| {
            let results = Results::of(&name, results, seen);
            tool_report(name, announces(tool), found, &results)
        })
        .collect();
    Report {
        summary: ChecklistSummary::of(&tools),
        tools,
    }
}

/// Results of one tool, as far as they are known.
struct Results<'a> {
    structured: Vec<&'a Value>,
    violations: Vec<ContractViolation>,
    /// Whether there were results that are not at hand.
    has_unseen: bool,
}

impl<'a> Results<'a> {
    fn of(name: &str, results: &'a [(String, Value)], seen: &[ContractViolation]) -> Self {
        let own = results.iter().filter(|(tool, _)| tool == name);
        let structured: Vec<&Value> = own.map(|(_, structured)| structured).collect();
        let unseen = seen.iter().filter(|one| one.tool == name);
        Self {
            has_unseen: unseen.clone().next().is_some(),
            violations: structured
                .iter()
                .flat_map(|one| result(one))
                .chain(unseen.cloned())
                .collect(),
            structured,
        }
    }
}

fn tool_report(
    tool: String,
    announces: bool,
    found: Vec<ContractViolation>,
    results: &Results<'_>,
) -> ToolReport {
    let has_line =
        |rule: Rule| rule == Rule::Announced || LINES.iter().any(|line| line.rules.contains(&rule));
    let lines = LINES.iter().zip(1..).map(|(line, number)| LineReport {
        line: number,
        text: line.text,
        verdict: verdict(line, &found, results),
    });
    ToolReport {
        tool,
        announces,
        results: results.structured.len(),
        lines: lines.collect(),
        besides: found
            .into_iter()
            .filter(|one| !has_line(one.rule))
            .collect(),
    }
}

fn verdict(
    line: &ChecklistLine,
    found: &[ContractViolation],
    results: &Results<'_>,
) -> LineVerdict {
    match line.decided {
        ByTool => LineVerdict::of(messages(found, line.rules)),
        ByDefinition => {
            // Without a definition there is nothing that these rules could have been checked on.
            let silent = messages(found, &[Rule::Announced]);
            LineVerdict::of([silent, messages(found, line.rules)].concat())
        }
        ByResults(doubt) => match messages(&results.violations, line.rules) {
            broken if !broken.is_empty() => LineVerdict::of(broken),
            _ if !results.structured.is_empty() => {
                doubt(&results.structured).map_or(LineVerdict::Holds, LineVerdict::open)
            }
            _ if results.has_unseen => LineVerdict::open(
                "the result was withheld, because it breaks the contract elsewhere",
            ),
            _ => LineVerdict::open("no result was seen; it takes a call"),
        },
        Inside => LineVerdict::open("not visible from outside"),
    }
}

fn no_doubt(_: &[&Value]) -> Option<&'static str> {
    None
}

/// A number that was calculated moves with what it is calculated from, or tells how it came about.
/// One number without an explanation tells neither.
fn without_evidence(structured: &[&Value]) -> Option<&'static str> {
    let confidence = |one: &&Value| one["agentHints"]["confidence"].as_f64();
    let values: Vec<f64> = structured.iter().filter_map(confidence).collect();
    let moves = values
        .windows(2)
        .any(|pair| (pair[0] - pair[1]).abs() > f64::EPSILON);
    let is_explained = |one: &&Value| reasoning(one).to_lowercase().contains("confidence");
    (!moves && !structured.iter().all(is_explained)).then_some(
        "it has the right range, but is the same each time and not explained in reasoning",
    )
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

/// Messages of the violations of these rules, each once.
fn messages(violations: &[ContractViolation], rules: &[Rule]) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    for violation in violations {
        if rules.contains(&violation.rule) && !messages.contains(&violation.message) {
            messages.push(violation.message.clone());
        }
    }
    messages
}

// === impl LineVerdict ===

impl LineVerdict {
    /// Violated if there is anything to tell.
    fn of(messages: Vec<String>) -> Self {
        if messages.is_empty() {
            Self::Holds
        } else {
            Self::Violated { messages }
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
                    LineVerdict::Holds => summary.holds += 1,
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
