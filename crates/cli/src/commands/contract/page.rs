//! The report as people read it.

use mcpproxy_contract_check::checklist::{LineReport, LineVerdict, Report, ToolReport};

use crate::output::{on_one_line, table};

/// The whole page: a row for each tool, then what is violated, then what the words mean.
pub(super) fn of(report: &Report) -> String {
    if report.tools.is_empty() {
        return "No tools.\n".to_owned();
    }
    let mut page = table(
        &[
            "TOOL",
            "CONTRACT",
            "HOLDS",
            "VIOLATED",
            "NOT CHECKED",
            "RESULTS",
        ],
        report.tools.iter().map(row),
    );
    for tool in &report.tools {
        page.push_str(&violations(tool));
    }
    page.push_str(&legend(report));
    page
}

fn row(tool: &ToolReport) -> Vec<String> {
    let count = |matches: fn(&LineVerdict) -> bool| {
        tool.lines
            .iter()
            .filter(|line| matches(&line.verdict))
            .count()
    };
    let violated = count(|verdict| matches!(verdict, LineVerdict::Violated { .. }));
    vec![
        tool.tool.clone(),
        if tool.announces { "announced" } else { "-" }.to_owned(),
        count(|verdict| matches!(verdict, LineVerdict::Holds { .. })).to_string(),
        (violated + tool.besides.len()).to_string(),
        count(|verdict| matches!(verdict, LineVerdict::NotChecked { .. })).to_string(),
        tool.results.to_string(),
    ]
}

/// Every violated line of a tool with what is wrong; nothing if nothing is.
fn violations(tool: &ToolReport) -> String {
    let mut shown = String::new();
    let mut lines = tool.lines.iter().filter_map(violated).peekable();
    while let Some((line, messages)) = lines.next() {
        shown.push_str(&format!("  ✗ {:>2}  {}\n", line.line, line.text));
        // What several lines have in common is said once, below the last of them.
        if lines.peek().is_some_and(|(_, next)| *next == messages) {
            continue;
        }
        for message in messages {
            shown.push_str(&format!("        {}\n", on_one_line(message)));
        }
    }
    for violation in &tool.besides {
        let (rule, message) = (violation.rule.name(), on_one_line(&violation.message));
        shown.push_str(&format!("  ✗  +  {rule}: {message}\n"));
    }
    if shown.is_empty() {
        return shown;
    }
    format!("\n{}\n{shown}", on_one_line(&tool.tool))
}

fn violated(line: &LineReport) -> Option<(&LineReport, &[String])> {
    match &line.verdict {
        LineVerdict::Violated { messages } => Some((line, messages)),
        _ => None,
    }
}

fn legend(report: &Report) -> String {
    let summary = report.summary;
    let violated = summary.violated + summary.besides;
    let tools = if summary.tools == 1 { "tool" } else { "tools" };
    format!(
        "\n{} {tools}: {} lines hold, {violated} violated, {} not checked\n\
         Each tool has the 29 lines of the checklist; + is a rule that no line speaks of. Not checked is what only\n\
         a call shows and no call showed, or what nobody outside can see; -o json gives the evidence of each line, or\n\
         why it was not checked and who can see it.\n",
        summary.tools, summary.holds, summary.not_checked
    )
}
