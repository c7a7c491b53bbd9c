//! The report as people read it.

use mcpproxy_contract::check::checklist::{Report, ToolReport, Verdict};

use crate::output::{printable, table};

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
    let count = |matches: fn(&Verdict) -> bool| {
        tool.lines
            .iter()
            .filter(|line| matches(&line.verdict))
            .count()
    };
    let violated = count(|verdict| matches!(verdict, Verdict::Violated { .. }));
    vec![
        tool.tool.clone(),
        if tool.announces { "announced" } else { "-" }.to_owned(),
        count(|verdict| matches!(verdict, Verdict::Holds)).to_string(),
        (violated + tool.besides.len()).to_string(),
        count(|verdict| matches!(verdict, Verdict::NotChecked { .. })).to_string(),
        tool.results.to_string(),
    ]
}

/// Every violated line of a tool with what is wrong; nothing if nothing is.
fn violations(tool: &ToolReport) -> String {
    let mut shown = String::new();
    for line in &tool.lines {
        if let Verdict::Violated { messages } = &line.verdict {
            shown.push_str(&format!("  ✗ {:>2}  {}\n", line.line, line.text));
            for message in messages {
                shown.push_str(&format!("        {}\n", on_one_line(message)));
            }
        }
    }
    for violation in &tool.besides {
        shown.push_str(&format!("  ✗  +  {}\n", on_one_line(&violation.message)));
    }
    if shown.is_empty() {
        return shown;
    }
    format!("\n{}\n{shown}", on_one_line(&tool.tool))
}

fn legend(report: &Report) -> String {
    let summary = report.summary;
    let violated = summary.violated + summary.besides;
    let tools = if summary.tools == 1 { "tool" } else { "tools" };
    format!(
        "\n{} {tools}: {} lines hold, {violated} violated, {} not checked\n\
         Each tool has the 29 lines of the checklist; + is a rule that no line speaks of. Not checked is what only\n\
         a call shows and no call showed, or what nobody outside can see; -o json gives the reason of each line.\n",
        summary.tools, summary.holds, summary.not_checked
    )
}

/// Text of a server that cannot look like a line of ours.
fn on_one_line(text: &str) -> String {
    printable(text).replace(['\n', '\t'], " ")
}
