//! The verification checklist, line by line, for every tool.
//!
//! A line holds, is violated, or was not checked, and then it says why not: what only a call shows
//! needs results, and what happens inside a service nobody outside can see.

mod lines;

use serde::Serialize;
use serde_json::Value;

use self::lines::{ChecklistLine, Decided, LINES};
use super::{announces, name_of, per_tool, result};
use mcpproxy_contract::{ContractViolation, Rule};

/// Why a line about the inside of a service stays open.
const NOT_VISIBLE: &str = "not visible from outside";

/// Why a line about results stays open.
const NO_RESULT: &str = "no result was seen; it takes a call";

/// What came of the checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Each tool, in the order of the list.
    pub tools: Vec<ToolReport>,
    /// All of them counted.
    pub summary: ChecklistSummary,
}

/// What came of the checklist for one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolReport {
    /// The tool.
    pub tool: String,
    /// Whether it says that it keeps the contract.
    pub announces: bool,
    /// How many results were looked at.
    pub results: usize,
    /// The 29 lines.
    pub lines: Vec<LineReport>,
    /// Rules that the tool breaks and no line speaks of.
    pub besides: Vec<ContractViolation>,
}

/// What came of one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineReport {
    /// The number of the line, from 1.
    pub line: usize,
    /// What the line asks for.
    pub text: &'static str,
    /// What came of it.
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
        /// What is wrong, each thing once.
        messages: Vec<String>,
    },
    /// It could not be told.
    NotChecked {
        /// Why not.
        reason: String,
    },
}

/// How many lines of all tools came out how.
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

/// The checklist for tools as `tools/list` has them, with results of their calls: the name of a tool
/// and the `structuredContent` it gave back.
pub fn report(tools: &[Value], results: &[(String, Value)]) -> Report {
    report_with(tools, results, &[])
}

/// The same, with violations that somebody else found in results which are not at hand.
pub fn report_with(
    tools: &[Value],
    results: &[(String, Value)],
    seen: &[ContractViolation],
) -> Report {
    let found = per_tool(tools);
    let reports: Vec<ToolReport> = tools
        .iter()
        .zip(found)
        .enumerate()
        .map(|(index, (tool, found))| {
            let name = name_of(tool, index);
            let results = Results::of(&name, results, seen);
            tool_report(name, announces(tool), found, &results)
        })
        .collect();
    Report {
        summary: ChecklistSummary::of(&reports),
        tools: reports,
    }
}

/// The text of each of the 29 lines, in their order.
pub fn texts() -> impl Iterator<Item = &'static str> {
    LINES.iter().map(|line| line.text)
}

/// What is known of the results of one tool.
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
        let told: Vec<ContractViolation> = seen
            .iter()
            .filter(|one| one.tool == name)
            .cloned()
            .collect();
        let has_unseen = !told.is_empty();
        let mut violations: Vec<ContractViolation> =
            structured.iter().flat_map(|one| result(one)).collect();
        violations.extend(told);
        Self {
            structured,
            violations,
            has_unseen,
        }
    }

    fn messages(&self, rules: &[Rule]) -> Vec<String> {
        messages(&self.violations, rules)
    }
}

fn tool_report(
    tool: String,
    announces: bool,
    found: Vec<ContractViolation>,
    results: &Results<'_>,
) -> ToolReport {
    let lines = LINES.iter().enumerate().map(|(index, line)| LineReport {
        line: index + 1,
        text: line.text,
        verdict: verdict(line, &found, results),
    });
    let lines = lines.collect();
    let has_line =
        |rule: Rule| rule == Rule::Announced || LINES.iter().any(|line| line.rules.contains(&rule));
    let besides = found
        .into_iter()
        .filter(|violation| !has_line(violation.rule))
        .collect();
    ToolReport {
        tool,
        announces,
        results: results.structured.len(),
        lines,
        besides,
    }
}

fn verdict(
    line: &ChecklistLine,
    found: &[ContractViolation],
    results: &Results<'_>,
) -> LineVerdict {
    match line.decided {
        Decided::ByTool => LineVerdict::of(messages(found, line.rules)),
        Decided::ByDefinition => {
            // Without a definition there is nothing that these rules could have been checked on.
            let silent = messages(found, &[Rule::Announced]);
            LineVerdict::of([silent, messages(found, line.rules)].concat())
        }
        Decided::ByResults => by_results(line, results),
        Decided::ByConfidence => match by_results(line, results) {
            LineVerdict::Holds => by_confidence(&results.structured),
            other => other,
        },
        Decided::ByReasoning => match by_results(line, results) {
            LineVerdict::Holds if results.structured.iter().all(|one| has_reasoning(one)) => {
                LineVerdict::Holds
            }
            LineVerdict::Holds => {
                LineVerdict::open("it is recommended, and results are without it")
            }
            other => other,
        },
        Decided::ByErrors => match by_results(line, results) {
            LineVerdict::Holds
                if !results
                    .structured
                    .iter()
                    .any(|one| one["error"].is_object()) =>
            {
                LineVerdict::open("no call failed, so no error was seen")
            }
            other => other,
        },
        Decided::Inside => LineVerdict::open(NOT_VISIBLE),
    }
}

fn by_results(line: &ChecklistLine, results: &Results<'_>) -> LineVerdict {
    let messages = results.messages(line.rules);
    if !messages.is_empty() {
        return LineVerdict::of(messages);
    }
    if results.structured.is_empty() && results.has_unseen {
        return LineVerdict::open(
            "the result was withheld, because it breaks the contract elsewhere",
        );
    }
    if results.structured.is_empty() {
        return LineVerdict::open(NO_RESULT);
    }
    LineVerdict::Holds
}

/// A number that was calculated moves with what it is calculated from, or tells how it came about.
/// One number without an explanation tells neither.
fn by_confidence(structured: &[&Value]) -> LineVerdict {
    let confidence = |one: &&Value| one["agentHints"]["confidence"].as_f64();
    let values: Vec<f64> = structured.iter().filter_map(confidence).collect();
    let moves = values
        .windows(2)
        .any(|pair| (pair[0] - pair[1]).abs() > f64::EPSILON);
    let is_explained = |one: &&Value| {
        let reasoning = one["agentHints"]["reasoning"].as_str().unwrap_or_default();
        reasoning.to_lowercase().contains("confidence")
    };
    if moves || structured.iter().all(is_explained) {
        return LineVerdict::Holds;
    }
    LineVerdict::open(
        "it has the right range, but is the same each time and not explained in reasoning",
    )
}

fn has_reasoning(structured: &Value) -> bool {
    let reasoning = structured["agentHints"]["reasoning"].as_str();
    reasoning.is_some_and(|reasoning| !reasoning.trim().is_empty())
}

/// What violations of these rules say, each thing once.
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
