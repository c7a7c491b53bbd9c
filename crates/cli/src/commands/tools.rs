//! `mcpproxy tools search|list|show`

use mcpproxy_builtin::admin_tools;
use mcpproxy_gateway::ServersToStart;
use mcpproxy_gateway::request::split_name;
use mcpproxy_gateway::search::ToolListRequest;
use mcpproxy_wire::json::decode_for_display;
use serde_json::Value;

use crate::CommandResult;
use crate::arguments::{Common, ToolsCommand};
use crate::backend::Backend;
use crate::output::{elements, note, on_one_line, table, text};

/// Answer to a search that finds nothing.
const NOTHING_MATCHES: &str = "No tool matches. `mcpproxy tools list` shows all of them.\n";

pub(crate) async fn run(common: &Common, tools: ToolsCommand) -> CommandResult {
    match tools {
        ToolsCommand::Search {
            query,
            server,
            explain,
        } => {
            let request = ToolListRequest {
                query: Some(&query),
                server: server.as_deref(),
                explain,
            };
            list(common, request).await
        }
        ToolsCommand::List { server } => {
            let server = server.as_deref();
            let request = ToolListRequest {
                server,
                ..ToolListRequest::default()
            };
            list(common, request).await
        }
        ToolsCommand::Show { tool } => show(common, &tool).await,
    }
}

async fn list(common: &Common, request: ToolListRequest<'_>) -> CommandResult {
    let wanted = request.server.map(str::to_owned);
    let wanted = wanted.map_or(ServersToStart::All, ServersToStart::Only);
    let backend = Backend::find(&common.sources(), wanted).await?;
    let listed = backend.tools(request).await;
    backend.finish().await;
    let is_search = request.query.is_some();
    let is_all = !is_search && request.server.is_none();
    let listed = listed?;
    for line in missing(&decode_for_display(&listed), is_search) {
        note(&line);
    }
    Ok(common.output.result(&listed, |value| {
        if request.explain {
            return explained(value);
        }
        let mut shown = rows(value, is_search);
        let is_own = |tool: &Value| tool["server"] == admin_tools::NAME;
        if is_all && elements(&value["tools"]).iter().all(is_own) {
            shown.push_str("These are the gateway's own. Add servers under \"mcpServers\" in the configuration; `mcpproxy status` shows how they are.\n");
        }
        shown
    }))
}

async fn show(common: &Common, name: &str) -> CommandResult {
    let (server, tool) = split_name(name)?;
    let wanted = ServersToStart::Only(server.to_owned());
    let backend = Backend::find(&common.sources(), wanted).await?;
    let shown = backend.tool(server, tool).await;
    backend.finish().await;
    Ok(common.output.result(&shown?, page))
}

fn rows(value: &Value, is_search: bool) -> String {
    let tools = elements(&value["tools"]);
    if tools.is_empty() && is_search {
        return NOTHING_MATCHES.to_owned();
    }
    if tools.is_empty() {
        return "No tools. Add servers under \"mcpServers\" in the configuration; `mcpproxy status` shows how they are.\n".to_owned();
    }
    let mut shown = table(
        &["NAME", "CLASS", "CALL WITH", "STATUS", "SUMMARY"],
        tools.iter().map(|tool| {
            let [name, class, call_with, summary] =
                ["name", "class", "call_with", "summary"].map(|name| text(&tool[name]));
            vec![name, class, call_with, status(tool), summary]
        }),
    );
    let total = value["total"].as_u64().unwrap_or_default();
    if total > tools.len() as u64 {
        shown.push_str(&format!("{} of {total} shown\n", tools.len()));
    }
    shown
}

/// Lines about servers without which the answer is not whole.
fn missing(value: &Value, is_search: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let starting: Vec<String> = elements(&value["starting"]).iter().map(text).collect();
    if !starting.is_empty() {
        let not_yet = if is_search { "searched" } else { "listed" };
        let names = on_one_line(&starting.join(", "));
        lines.push(format!("Still starting, so not {not_yet} yet: {names}"));
    }
    let failed = elements(&value["failed"]).iter().map(|one| {
        let [server, reason] = ["server", "reason"].map(|name| on_one_line(&text(&one[name])));
        let reason = if reason.is_empty() {
            "`mcpproxy status` says why".to_owned()
        } else {
            reason
        };
        format!("server '{server}' failed: {reason}")
    });
    lines.extend(failed);
    lines
}

/// Why each tool was found: what its words cover, how alike its meaning is, and where which word was found.
fn explained(value: &Value) -> String {
    let tools = elements(&value["tools"]);
    if tools.is_empty() {
        return NOTHING_MATCHES.to_owned();
    }
    let mut shown = table(
        &["NAME", "SCORE", "WORDS", "MEANING", "WHY"],
        tools.iter().map(|tool| {
            let explanation = &tool["explanation"];
            let words = elements(&explanation["words"]).iter().map(|word| {
                let fields: Vec<String> = elements(&word["fields"]).iter().map(text).collect();
                let meant = match text(&word["meant"]) {
                    meant if meant.is_empty() => meant,
                    meant => format!(" (for {meant})"),
                };
                format!("{}{meant} in {}", text(&word["word"]), fields.join(", "))
            });
            let moved = explanation["moved"].as_str().map(str::to_owned);
            let why: Vec<String> = moved.into_iter().chain(words).collect();
            let [name, score] = ["name", "score"].map(|name| text(&tool[name]));
            let [coverage, similarity] =
                ["coverage", "similarity"].map(|name| text(&explanation[name]));
            vec![name, score, coverage, similarity, why.join("; ")]
        }),
    );
    let mode = match value["search"].as_str() {
        Some("hybrid") => {
            "Scores are made of both: the share of the query that words cover, and how alike the meanings are."
        }
        _ => {
            "Search went by words alone: the query has no word that the model knows, or `mcpproxy status` says why."
        }
    };
    shown.push_str(&format!("{mode}\n"));
    shown
}

fn page(tool: &Value) -> String {
    let shown = |name: &str| text(&tool[name]);
    let mut page = String::new();
    for (label, name) in [
        ("Name", "name"),
        ("Server", "server"),
        ("Class", "class"),
        ("Call with", "call_with"),
    ] {
        page.push_str(&format!("{label:<12}{}\n", shown(name)));
    }
    page.push_str(&format!("{:<12}{}\n", "Status", status(tool)));
    if !tool["annotations"].is_null() {
        page.push_str(&format!("Annotations {}\n", shown("annotations")));
    }
    page.push_str(&format!("\n{}\n", shown("description")));
    page.push_str(&format!("\nArguments\n{:#}\n", tool["inputSchema"]));
    page
}

/// Whether a tool can be called, and whether that is going to end.
fn status(tool: &Value) -> String {
    let status = text(&tool["status"]);
    let deprecated = &tool["deprecated"];
    if deprecated.is_null() {
        return status;
    }
    let told = |name: &str, before: &str| match text(&deprecated[name]) {
        text if text.is_empty() => String::new(),
        text => format!("{before}{text}"),
    };
    let (replacement, removal) = (told("replacement", "→"), told("removalDate", " until "));
    format!("{status}, deprecated{replacement}{removal}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_did_not_say_which_servers_are_missing_in_it() {
        let answer = json!({
            "starting": ["a", "b\nc"],
            "failed": [{ "server": "c", "reason": "it is gone" }, { "server": "d", "reason": "" }],
        });
        let failed = [
            "server 'c' failed: it is gone",
            "server 'd' failed: `mcpproxy status` says why",
        ];
        for (is_search, starting) in [
            (true, "Still starting, so not searched yet: a, b c"),
            (false, "Still starting, so not listed yet: a, b c"),
        ] {
            assert_eq!(
                missing(&answer, is_search),
                [starting, failed[0], failed[1]]
            );
        }
        assert!(missing(&json!({ "tools": [] }), true).is_empty());
    }

    #[test]
    fn a_list_did_not_say_that_a_tool_is_going_to_be_removed() {
        let tool = json!({
            "name": "cards:find-cards", "class": "read", "call_with": "call_tool_read", "status": "callable",
            "summary": "Finds cards.", "inputSchema": {}, "description": "Finds cards.",
            "deprecated": { "replacement": "cards:search-cards", "removalDate": "2027-06-01" },
        });
        let told = "callable, deprecated→cards:search-cards until 2027-06-01";
        assert_eq!(status(&tool), told);
        assert!(page(&tool).contains(told));
        assert!(rows(&json!({ "total": 1, "tools": [tool] }), false).contains(told));
        assert_eq!(
            status(&json!({ "status": "callable", "deprecated": {} })),
            "callable, deprecated"
        );
        assert_eq!(status(&json!({ "status": "disabled" })), "disabled");
    }
}
