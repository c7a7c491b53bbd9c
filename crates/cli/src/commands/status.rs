//! `mcpproxy status`

use mcpproxy_builtin::admin_tools;
use serde_json::Value;

use crate::CommandResult;
use crate::arguments::Common;
use crate::daemon::Daemon;
use crate::output::{elements, table, text};

pub(crate) async fn run(common: &Common) -> CommandResult {
    let daemon = Daemon::require(&common.sources()).await?;
    let status = daemon.get("/api/v1/status").await?;
    Ok(common.output.result(&status, page))
}

fn page(status: &Value) -> String {
    let calls = &status["calls"];
    let mut page = format!(
        "mcpproxy {} on http://{}/mcp, process {}, up {} s\n",
        text(&status["version"]),
        text(&status["listen"]),
        status["pid"],
        status["uptime_seconds"],
    );
    page.push_str(&format!(
        "calls: {} done, {} failed, {} refused, {} in doubt; tools: {}\n",
        calls["success"], calls["error"], calls["blocked"], calls["in_doubt"], status["tools"],
    ));
    page.push_str(&log(&status["activity"]));
    if let Some(problem) = status["configuration_problem"].as_str() {
        page.push_str(&format!(
            "The changed configuration is not in force: {problem}\n"
        ));
    }
    let servers = elements(&status["servers"]);
    let is_own = |server: &Value| server["name"] == admin_tools::NAME;
    if servers.iter().all(is_own) {
        page.push_str("No servers yet. Add them under \"mcpServers\" in the configuration.\n");
    }
    page.push('\n');
    page.push_str(&table(
        &["SERVER", "STATE", "REVISION", "TOOLS", "REASON"],
        servers.iter().map(|server| {
            vec![
                text(&server["name"]),
                text(&server["state"]),
                server["revision"].as_str().unwrap_or("-").to_owned(),
                text(&server["tools"]),
                text(&server["reason"]),
            ]
        }),
    ));
    for server in servers {
        for line in elements(&server["stderr"]) {
            let (name, line) = (text(&server["name"]), text(line));
            page.push_str(&format!("{name}: {line}\n"));
        }
    }
    page
}

/// State of the activity log.
fn log(activity: &Value) -> String {
    let Some(store) = activity["store"].as_str() else {
        return String::new();
    };
    let count = |name: &str| activity[name].as_u64().filter(|count| *count > 0);
    let mut parts = vec![format!("log: {store}")];
    if let Some(count) = count("in_doubt") {
        let calls = if count == 1 { "call" } else { "calls" };
        parts.push(format!(
            "{count} {calls} in doubt (mcpproxy activity list --status in_doubt)"
        ));
    }
    if let Some(count) = count("queued") {
        parts.push(format!("{count} records wait to be written"));
    }
    if let Some(count) = count("unrecorded_refusals") {
        parts.push(format!("{count} refusals could not be recorded"));
    }
    let mut shown = parts.join(", ") + "\n";
    if let Some(problem) = activity["problem"].as_str() {
        shown.push_str(&format!(
            "The log cannot be written: {}. Calls that write are refused until it can.\n",
            problem.trim_end_matches('.')
        ));
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_log_is_told_in_words() {
        let well = json!({ "store": "sqlite", "problem": null, "in_doubt": 0, "queued": 0, "unrecorded_refusals": 0 });
        assert_eq!(log(&well), "log: sqlite\n");
        let unwell = json!({ "store": "postgres", "problem": "the disk is full", "in_doubt": 3, "queued": 2, "unrecorded_refusals": 1 });
        assert_eq!(
            log(&unwell),
            "log: postgres, 3 calls in doubt (mcpproxy activity list --status in_doubt), 2 records wait to be written, 1 refusals could not be recorded\n\
             The log cannot be written: the disk is full. Calls that write are refused until it can.\n"
        );
    }
}
