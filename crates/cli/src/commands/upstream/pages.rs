//! Pages of `mcpproxy upstream`.

use mcpproxy_builtin::admin_tools;
use serde_json::Value;

use crate::output::{elements, on_one_line, table, text};

/// Every server in a row, with the command that mends what is not well.
pub(super) fn list(listed: &Value) -> String {
    let servers = elements(&listed["servers"]);
    let is_own = |server: &Value| server["name"] == admin_tools::NAME;
    if servers.iter().all(is_own) {
        return "No servers yet. Add one with `mcpproxy upstream add`.\n".to_owned();
    }
    table(
        &[
            "SERVER",
            "STATE",
            "TOOLS",
            "ANNOTATED",
            "LAST ERROR",
            "MEND IT WITH",
        ],
        servers.iter().map(|server| {
            vec![
                text(&server["name"]),
                state(server),
                text(&server["tools"]),
                coverage(server),
                last_error(server),
                mend(server).unwrap_or_default(),
            ]
        }),
    )
}

/// Server after it was added or changed, in a sentence.
pub(super) fn changed(word: &str, report: &Value) -> String {
    let name = text(&report["name"]);
    let mut page = format!("server '{name}' is {word}");
    if report["state"] != word {
        page.push_str(&format!(": {}", text(&report["state"])));
    }
    let tools = report["tools"].as_u64().unwrap_or_default();
    if report["state"] == "ready" {
        let known = report["annotated"].as_u64().unwrap_or_default();
        let noun = if tools == 1 { "tool" } else { "tools" };
        page.push_str(&format!(", {tools} {noun}, {known} with annotations"));
    }
    let reason = last_error(report);
    if !reason.is_empty() {
        page.push_str(&format!(" ({reason})"));
    }
    page.push('\n');
    for warning in elements(&report["warnings"]) {
        page.push_str(&format!("warning: {name} {}\n", text(warning)));
    }
    page
}

/// Everything about one server.
pub(super) fn inspect(report: &Value) -> String {
    let mut page = String::new();
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            page.push_str(&format!("{name:<12} {value}\n"));
        }
    };
    line("name", text(&report["name"]));
    line("state", state(report));
    line("since", text(&report["since"]));
    line("last error", last_error(report));
    line("mend it with", mend(report).unwrap_or_default());
    line("protocol", text(&report["revision"]));
    line(
        "tools",
        format!(
            "{}, with annotations {}",
            text(&report["tools"]),
            coverage(report)
        ),
    );
    line("log", text(&report["log"]));
    for warning in elements(&report["warnings"]) {
        line("warning", text(warning));
    }
    for stderr in elements(&report["stderr"]) {
        line("stderr", on_one_line(&text(stderr)));
    }
    if report["entry"].is_object() {
        page.push_str(&format!(
            "\nentry, with all keys that hold:\n{:#}\n",
            report["entry"]
        ));
    }
    let offered = elements(&report["offered"]);
    if !offered.is_empty() {
        let rows = offered.iter().map(|tool| {
            let callable = if tool["callable"] == true {
                ""
            } else {
                "not callable"
            };
            let [name, effect, call_with, summary] =
                ["name", "effect", "call_with", "summary"].map(|name| text(&tool[name]));
            vec![name, effect, call_with, callable.to_owned(), summary]
        });
        let header = ["TOOL", "EFFECT", "CALL WITH", "", "SUMMARY"];
        page.push_str(&format!("\n{}", table(&header, rows)));
    }
    page
}

/// State, and what it waits for, with the number of the try.
fn state(server: &Value) -> String {
    let mut state = text(&server["state"]);
    let mut more = Vec::new();
    match server["attempt"].as_u64() {
        Some(attempt) if attempt > 1 => more.push(format!("try {attempt}")),
        _ => {}
    }
    let waiting_for = text(&server["waiting_for"]);
    // What a server that failed waits for is told by the command that mends it.
    if !waiting_for.is_empty() && state == "starting" {
        more.push(waiting_for);
    }
    if !more.is_empty() {
        state.push_str(&format!(" ({})", more.join(", ")));
    }
    state
}

/// Share of the tools whose effect is known.
fn coverage(server: &Value) -> String {
    let [tools, known] =
        ["tools", "annotated"].map(|name| server[name].as_u64().unwrap_or_default());
    match tools {
        0 => "-".to_owned(),
        tools => format!("{known} of {tools}"),
    }
}

fn last_error(server: &Value) -> String {
    let last = text(&server["last_error"]);
    on_one_line(&if last.is_empty() {
        text(&server["reason"])
    } else {
        last
    })
}

/// Command, or what else a person does, that mends a server; nothing for one that is well.
fn mend(server: &Value) -> Option<String> {
    let name = text(&server["name"]);
    let reason = last_error(server);
    match server["state"].as_str()? {
        "disabled" => Some(format!("mcpproxy upstream enable {name}")),
        "quarantined" => Some("\"quarantined\": false in its entry".to_owned()),
        "stopped" => Some(format!("mcpproxy upstream restart {name}")),
        "failed" => {
            // The reason itself may name it.
            let named = reason.split('`').nth(1);
            let named = named.filter(|command| command.starts_with("mcpproxy "));
            // One that was never tried wrote nothing: its entry has a mistake.
            let is_mistaken =
                server["waiting_for"] == "another configuration" && server["attempt"].is_null();
            Some(match named {
                Some(command) => command.to_owned(),
                None if is_mistaken => "mcpproxy config check".to_owned(),
                None => format!("mcpproxy upstream logs {name}"),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn servers_are_listed_with_the_command_that_mends_them() {
        let server = |name: &str, state: &str, reason: Value| json!({ "name": name, "state": state, "reason": reason, "tools": 0, "annotated": 0 });
        let servers = json!([
            { "name": "ready", "state": "ready", "tools": 12, "annotated": 10 },
            { "name": "slow", "state": "starting", "attempt": 2, "waiting_for": "installing", "last_error": "it ended", "tools": 0 },
            server("gone", "failed", json!("the command is not found")),
            { "name": "wrong", "state": "failed", "reason": "found no command", "waiting_for": "another configuration", "tools": 0 },
            { "name": "lost", "state": "failed", "attempt": 1, "reason": "it ended", "waiting_for": "another configuration", "tools": 0 },
            server("secret", "failed", json!("env.T: the secret a.T is not set: `mcpproxy secrets set a.T`")),
            server("off", "disabled", Value::Null),
            server("held", "quarantined", Value::Null),
            server("idle", "idle", Value::Null),
        ]);
        insta::assert_snapshot!(list(&json!({ "servers": servers })), @r#"
        SERVER  STATE                         TOOLS  ANNOTATED  LAST ERROR                                                    MEND IT WITH
        ready   ready                         12     10 of 12
        slow    starting (try 2, installing)  0      -          it ended
        gone    failed                        0      -          the command is not found                                      mcpproxy upstream logs gone
        wrong   failed                        0      -          found no command                                              mcpproxy config check
        lost    failed                        0      -          it ended                                                      mcpproxy upstream logs lost
        secret  failed                        0      -          env.T: the secret a.T is not set: `mcpproxy secrets set a.T`  mcpproxy secrets set a.T
        off     disabled                      0      -                                                                        mcpproxy upstream enable off
        held    quarantined                   0      -                                                                        "quarantined": false in its entry
        idle    idle                          0      -
        "#);
        assert!(list(&json!({ "servers": [] })).contains("mcpproxy upstream add"));
    }

    #[test]
    fn a_change_is_told_in_a_sentence() {
        let ready = json!({ "name": "a", "state": "ready", "tools": 1, "annotated": 1, "warnings": ["sends much"] });
        assert_eq!(
            changed("added", &ready),
            "server 'a' is added: ready, 1 tool, 1 with annotations\nwarning: a sends much\n"
        );
        let failed = json!({ "name": "a", "state": "failed", "reason": "it ended", "tools": 0 });
        assert_eq!(
            changed("added", &failed),
            "server 'a' is added: failed (it ended)\n"
        );
    }
}
