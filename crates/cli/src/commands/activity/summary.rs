//! `mcpproxy activity summary`

use mcpproxy_gateway::records;
use mcpproxy_policy::RecordScope;
use serde_json::Value;

use super::source::Source;
use super::words::{self, Icons};
use crate::CommandResult;
use crate::arguments::{Common, FilteredArguments, pairs};
use crate::error::CliError;
use crate::output::{elements, on_one_line, text, wide_table};

/// Most servers and tools that are shown; programs get all of them.
const MOST_LINES: usize = 10;

/// Characters of the longest bar.
const BAR: usize = 24;

pub(super) async fn run(common: &Common, summary: &FilteredArguments) -> CommandResult {
    let pairs = pairs(summary);
    records::parse_filter(&pairs, RecordScope::All).map_err(CliError::wrong)?;
    let counted = Source::find(common).await?.summary(&pairs).await?;
    let icons = Icons::wanted(summary.look);
    Ok(common
        .output
        .result(&counted, |counted| page(counted, icons)))
}

fn page(summary: &Value, icons: Icons) -> String {
    let total = summary["total"].as_u64().unwrap_or(0);
    if total == 0 {
        return "No records. `mcpproxy activity list` shows all there are.\n".to_owned();
    }
    let mut page = format!("{total} records\n");
    for (title, name) in [
        ("STATUS", "by_status"),
        ("INTENT", "by_intent"),
        ("SERVER", "by_server"),
        ("TOOL", "by_tool"),
    ] {
        let counts = elements(&summary[name]);
        if !counts.is_empty() {
            page.push_str(&chart(title, counts, icons));
        }
    }
    page
}

fn chart(title: &str, counts: &[Value], icons: Icons) -> String {
    let shown = &counts[..counts.len().min(MOST_LINES)];
    let most = shown.iter().filter_map(|one| one["count"].as_u64()).max();
    let most = most.unwrap_or(0).max(1);
    let rows = shown.iter().map(|one| {
        let count = one["count"].as_u64().unwrap_or(0);
        vec![
            name(title, one, icons),
            bar(count, most, icons),
            count.to_string(),
            trouble(title, one),
        ]
    });
    let mut chart = format!("\n{title}\n");
    for line in wide_table(&[], rows).lines() {
        chart.push_str(&format!("  {line}\n"));
    }
    if counts.len() > shown.len() {
        chart.push_str(&format!("  and {} more\n", counts.len() - shown.len()));
    }
    chart
}

fn name(title: &str, counted: &Value, icons: Icons) -> String {
    let name = on_one_line(&text(&counted["name"]));
    match title {
        "STATUS" => words::status(&name, icons),
        "INTENT" => words::intent(&name, icons),
        _ => name,
    }
}

/// Counts of what did not go well, in brackets.
fn trouble(title: &str, counted: &Value) -> String {
    if title == "STATUS" {
        return String::new();
    }
    let kinds = [
        ("error", "failed"),
        ("blocked", "refused"),
        ("in_doubt", "in doubt"),
    ];
    let parts: Vec<String> = kinds
        .iter()
        .filter_map(|(name, word)| {
            let count = counted[*name].as_u64().filter(|count| *count > 0)?;
            Some(format!("{count} {word}"))
        })
        .collect();
    match parts.as_slice() {
        [] => String::new(),
        parts => format!("({})", parts.join(", ")),
    }
}

/// A bar whose length is the share of the largest count; there is always something to see.
fn bar(count: u64, most: u64, icons: Icons) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = u128::from(count) * (BAR as u128) * 8 / u128::from(most);
    let eighths = usize::try_from(eighths).unwrap_or(BAR * 8).min(BAR * 8);
    if icons.0 {
        let eighths = eighths.max(1);
        format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
    } else {
        "#".repeat((eighths / 8).max(1))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bars_are_shares_of_the_largest() {
        for (count, blocks, plain) in [
            (100, "████████████████████████", "########################"),
            (50, "████████████", "############"),
            (1, "▏", "#"),
            (3, "▋", "#"),
        ] {
            assert_eq!(bar(count, 100, Icons(true)), blocks, "{count}");
            assert_eq!(bar(count, 100, Icons(false)), plain, "{count}");
        }
        assert_eq!(bar(u64::MAX, u64::MAX, Icons(false)).len(), BAR);
    }

    #[test]
    fn counts_are_shown_with_what_went_wrong() {
        let counted = |name: &str, count: u64, error: u64, in_doubt: u64| {
            json!({ "name": name, "count": count, "success": count - error - in_doubt,
                "error": error, "blocked": 0, "in_doubt": in_doubt })
        };
        let many: Vec<Value> = (0..12)
            .map(|n| counted(&format!("s:t{n}"), 1, 0, 0))
            .collect();
        let summary = json!({
            "total": 14,
            "by_status": [counted("success", 10, 0, 0), counted("error", 4, 4, 0)],
            "by_intent": [counted("read", 12, 3, 1)],
            "by_type": [], "by_server": [counted("s", 12, 3, 1)], "by_tool": many,
        });
        let page = page(&summary, Icons(false));
        for expected in [
            "14 records\n",
            "\nSTATUS\n  success  ########################  10\n  error    #########                 4\n",
            "  read  ########################  12  (3 failed, 1 in doubt)\n",
            "  and 2 more\n",
        ] {
            assert!(page.contains(expected), "{expected:?} is not in {page}");
        }
    }
}
