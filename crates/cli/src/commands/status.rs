//! `mcpproxy status`

use mcpproxy_builtin::admin_tools;
use serde_json::Value;

use crate::CommandResult;
use crate::arguments::Common;
use crate::daemon::Daemon;
use crate::output::{elements, on_one_line, table, text};

/// Number of broken rules of a server that are shown.
const SHOWN_RULES: usize = 5;

pub(crate) async fn run(common: &Common) -> CommandResult {
    let daemon = Daemon::require(&common.sources()).await?;
    let status = daemon.get("/api/v1/status").await?;
    Ok(common.output.result(&status, page))
}

fn page(status: &Value) -> String {
    let calls = &status["calls"];
    let mut page = format!(
        "mcpproxy {} on {}://{}/mcp, process {}, up {} s\n",
        text(&status["version"]),
        if status["tls"] == true {
            "https"
        } else {
            "http"
        },
        text(&status["listen"]),
        status["pid"],
        status["uptime_seconds"],
    );
    page.push_str(&format!(
        "calls: {} done, {} failed, {} refused, {} in doubt; tools: {}\n",
        calls["success"], calls["error"], calls["blocked"], calls["in_doubt"], status["tools"],
    ));
    page.push_str(&log(&status["activity"]));
    page.push_str(&search(&status["search"]));
    if let Some(problem) = status["configuration_problem"].as_str() {
        page.push_str(&format!(
            "The changed configuration is not in force: {problem}\n"
        ));
    }
    for warning in elements(&status["configuration_warnings"]) {
        page.push_str(&format!("warning: {}\n", text(warning)));
    }
    let servers = elements(&status["servers"]);
    let is_own = |server: &Value| server["name"] == admin_tools::NAME;
    if servers.iter().all(is_own) {
        page.push_str("No servers yet. Add one with `mcpproxy upstream add`.\n");
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
                reason(server),
            ]
        }),
    ));
    for server in servers {
        let name = text(&server["name"]);
        for warning in elements(&server["warnings"]) {
            page.push_str(&format!("warning: {name} {}\n", text(warning)));
        }
        page.push_str(&contract(&name, &server["contract"]));
        // The last line of one that is starting stands beside it.
        let is_failed = server["state"] == "failed";
        for line in elements(&server["stderr"]).iter().filter(|_| is_failed) {
            page.push_str(&format!("{name}: {}\n", text(line)));
        }
    }
    page.push_str(&collisions(&status["resource_collisions"]));
    page
}

/// Reason why a server is not ready, and what comes next.
fn reason(server: &Value) -> String {
    let shown = |name: &str| on_one_line(&text(&server[name]));
    let last_error = server["last_error"].as_str().map(on_one_line);
    let attempt = server["attempt"].as_u64();
    match server["state"].as_str() {
        Some("starting") => {
            let mut told = match shown("waiting_for") {
                wait if wait == "installing" || wait.is_empty() => wait,
                wait => format!("waits for {wait}"),
            };
            if let Some(attempt) = attempt {
                told = format!("attempt {attempt} since {}: {told}", shown("since"));
            }
            if let Some(line) = elements(&server["stderr"]).last() {
                told.push_str(&format!(", says: {}", on_one_line(&text(line))));
            }
            if let Some(last) = last_error {
                told.push_str(&format!("; last failure: {last}"));
            }
            told
        }
        Some("failed") => match (attempt, server["waiting_for"].as_str()) {
            (Some(attempt), Some("the next attempt")) if attempt > 1 => {
                format!(
                    "{} (failed {attempt} times, is tried again)",
                    shown("reason")
                )
            }
            _ => shown("reason"),
        },
        _ => shown("reason"),
    }
}

/// Rules of the tool contract that a server broke, the first of them.
fn contract(server: &str, contract: &Value) -> String {
    let broken = elements(&contract["broken"]);
    let mut lines = String::new();
    for one in broken.iter().take(SHOWN_RULES) {
        let [tool, rule, message] =
            ["tool", "rule", "message"].map(|name| on_one_line(&text(&one[name])));
        lines.push_str(&format!(
            "warning: {server} breaks the tool contract that it announces ({}x): {tool}: {rule}: {message}\n",
            one["count"]
        ));
    }
    let more = broken.len().saturating_sub(SHOWN_RULES);
    if more > 0 {
        lines.push_str(&format!(
            "warning: {server} breaks {more} more rules; `mcpproxy contract check {server}` shows them\n"
        ));
    }
    lines
}

/// Resources and templates that have to be named with their server.
fn collisions(collisions: &Value) -> String {
    let shown = elements(&collisions["shown"]);
    let mut lines = String::new();
    for collision in shown {
        let [address, server, other, named] = ["address", "server", "other", "named"]
            .map(|name| on_one_line(&text(&collision[name])));
        let why = match collision["kind"].as_str() {
            Some("same_address") => format!("'{other}' lists it, too, and is read"),
            Some("same_claim") => format!("a template of '{other}' claims the same"),
            _ if other.is_empty() => "it has no scheme of its own".to_owned(),
            _ => format!("'{other}' uses its scheme, too"),
        };
        lines.push_str(&format!("  {address} of '{server}': {why}; use {named}\n"));
    }
    let total = collisions["total"].as_u64().unwrap_or_default();
    let more = total.saturating_sub(shown.len() as u64);
    if more > 0 {
        lines.push_str(&format!("  and {more} more\n"));
    }
    if lines.is_empty() {
        return lines;
    }
    format!("\nResources that have to be named with their server at /mcp and /mcp/all:\n{lines}")
}

/// Reason why search goes by words alone; nothing where it goes by meaning as well.
fn search(search: &Value) -> String {
    let Some(reason) = search["reason"].as_str() else {
        return String::new();
    };
    let (vectors, tools) = (&search["vectors"], &search["tools"]);
    format!("search: by words alone, {reason} ({vectors} of {tools} tools have vectors)\n")
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
    fn nobody_was_told_why_search_goes_by_words_alone() {
        let reason = "the vectors of the tools are not there yet";
        let status = json!({ "mode": "lexical", "reason": reason, "tools": 9, "vectors": 2 });
        assert_eq!(
            search(&status),
            "search: by words alone, the vectors of the tools are not there yet (2 of 9 tools have vectors)\n"
        );
        assert_eq!(search(&json!({ "mode": "hybrid", "reason": null })), "");
        assert_eq!(search(&Value::Null), "");
    }

    #[test]
    fn a_failing_server_looked_healthy_while_it_was_tried_again() {
        let check = |server: &Value, expected: &str| assert_eq!(reason(server), expected);
        let mut server = json!({
            "state": "starting", "attempt": 4, "since": "2026-11-19T12:00:00.000Z", "waiting_for": "installing",
            "last_error": "the server exited\nwith code 1", "stderr": ["one", "two"], "reason": null,
        });
        check(
            &server,
            "attempt 4 since 2026-11-19T12:00:00.000Z: installing, says: two; last failure: the server exited with code 1",
        );
        server["waiting_for"] = json!("a start slot");
        server["last_error"] = Value::Null;
        server["stderr"] = json!([]);
        check(
            &server,
            "attempt 4 since 2026-11-19T12:00:00.000Z: waits for a start slot",
        );
        let failed = json!({
            "state": "failed", "attempt": 4, "waiting_for": "the next attempt", "reason": "it is gone",
        });
        check(&failed, "it is gone (failed 4 times, is tried again)");
        check(&json!({ "state": "ready", "reason": null }), "");
    }

    #[test]
    fn collisions_are_told_with_what_to_use() {
        assert_eq!(collisions(&json!({ "total": 0, "shown": [] })), "");
        let collision = |kind: &str, other: Option<&str>| json!({ "kind": kind, "address": "x:{+a}", "server": "b", "other": other, "named": "mcpproxy:b/x:{+a}" });
        let shown = [
            collision("same_address", Some("a")),
            collision("same_claim", Some("a")),
            collision("no_claim", Some("a")),
            collision("no_claim", None),
        ];
        insta::assert_snapshot!(collisions(&json!({ "total": 9, "shown": shown })), @r"

        Resources that have to be named with their server at /mcp and /mcp/all:
          x:{+a} of 'b': 'a' lists it, too, and is read; use mcpproxy:b/x:{+a}
          x:{+a} of 'b': a template of 'a' claims the same; use mcpproxy:b/x:{+a}
          x:{+a} of 'b': 'a' uses its scheme, too; use mcpproxy:b/x:{+a}
          x:{+a} of 'b': it has no scheme of its own; use mcpproxy:b/x:{+a}
          and 5 more
        ");
    }

    #[test]
    fn broken_rules_of_the_contract_are_told_in_bounds() {
        assert_eq!(contract("cards", &Value::Null), "");
        let one =
            json!({ "tool": "get-card", "rule": "hints-roi", "message": "roi is 99", "count": 3 });
        let told = contract(
            "cards",
            &json!({ "violations": 21, "broken": vec![one; 7] }),
        );
        assert_eq!(told.lines().count(), 6);
        assert!(
            told.starts_with("warning: cards breaks the tool contract that it announces (3x): get-card: hints-roi: roi is 99\n"),
            "{told}"
        );
        assert!(told.contains("breaks 2 more rules"), "{told}");
    }

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
