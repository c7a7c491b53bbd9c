//! Entries as clients write them run, are warned about, or fail alone.

use mcpproxy_tests::{Client, Fixture, Home, HttpFixture, HttpTransport, Product};
use serde_json::{Value, json};

use crate::PROGRAMS;

/// Nine entries that cannot be used, as people write them, and a word that says what is wrong with each.
const BROKEN: [(&str, &str, &str); 9] = [
    (
        "one-string",
        r#"{ "command": "npx -y @org/server" }"#,
        "\"args\": [\"-y\", \"@org/server\"]",
    ),
    (
        "typo",
        r#"{ "command": "x", "agrs": [] }"#,
        "did you mean 'args'?",
    ),
    ("nothing", "{}", "found neither 'command' nor 'url'"),
    (
        "both",
        r#"{ "command": "x", "url": "https://h/" }"#,
        "found both 'command' and 'url'",
    ),
    ("bad-url", r#"{ "url": "h/mcp" }"#, "http:// or https://"),
    (
        "unset",
        r#"{ "command": "x", "env": { "TOKEN": "${NOT_SET_BY_ANY_TEST}" } }"#,
        "NOT_SET_BY_ANY_TEST is not set",
    ),
    (
        "wrong-type",
        r#"{ "command": "x", "args": "a b" }"#,
        "found a string, allowed: an array",
    ),
    (
        "no-object",
        r#""npx -y pkg""#,
        "found a string, allowed: an object",
    ),
    (
        "input",
        r#"{ "command": "x", "env": { "KEY": "${input:key}" } }"#,
        "only a client knows what ${input:key} is",
    ),
];

fn fixture() -> Fixture {
    let tool = |name: &str| {
        format!(
            r#"{{"name":"{name}","description":"Look","inputSchema":{{}},"annotations":{{"readOnlyHint":true}}}}"#
        )
    };
    Fixture::new(PROGRAMS).tools(&[tool("look"), tool("list"), tool("peek")])
}

/// A file with this one entry that works, as text with comments, and the nine that do not.
fn file(name: &str, good: &Value) -> String {
    let broken = BROKEN
        .iter()
        .map(|(name, entry, _)| format!("    \"{name}\": {entry},\n"));
    format!(
        "{{\n  // from many clients\n  \"discovery\": {{ \"semantic\": false }},\n  \"mcpServers\": {{\n    \"{name}\": {good},\n{}  }},\n}}\n",
        broken.collect::<String>()
    )
}

#[tokio::test]
async fn one_refused_entry_stopped_all_servers() {
    let fixture = fixture();
    let home = Home::new(PROGRAMS, &json!({}));
    home.write_config_text(&file("My Server (beta)", &fixture.entry()));
    let product = Product::start_in(home, &[]).await;
    product.settle().await;
    let client = product.connect().await;
    let intent = json!({ "operation_type": "read" });
    let called = json!({ "name": "My-Server-beta:look", "intent": intent });
    let result = client.call("call_tool_read", &called).await;
    assert!(result["isError"].is_null(), "{result}");

    let status = product.status().await;
    let of = |name: &str| {
        let servers = status["servers"].as_array().unwrap().iter();
        let mut named = servers.filter(|one| one["name"] == name);
        named
            .next()
            .cloned()
            .unwrap_or_else(|| panic!("{name} in {status}"))
    };
    assert_eq!(of("My-Server-beta")["state"], "ready");
    let warnings = status["configuration_warnings"].to_string();
    assert!(
        warnings.contains("the server is called 'My-Server-beta' here"),
        "{warnings}"
    );
    // The same is said at the start.
    assert!(
        product
            .log()
            .contains("the server is called 'My-Server-beta' here")
    );
    for (index, (name, _, said)) in BROKEN.iter().enumerate() {
        let (state, reason) = (of(name)["state"].clone(), of(name)["reason"].clone());
        let reason = reason.as_str().unwrap_or_default();
        assert_eq!(state, "failed", "{name}");
        assert!(reason.contains(said), "{name}: {reason}");
        // The good one stands on line five.
        assert!(
            reason.starts_with(&format!("mcp_config.json:{}:", index + 6)),
            "{name}: {reason}"
        );
        let called = json!({ "name": format!("{name}:look"), "intent": intent });
        let refused = client.call("call_tool_read", &called).await;
        assert_eq!(
            refused["structuredContent"]["error"]["code"], "UPSTREAM_UNAVAILABLE",
            "{refused}"
        );
    }
}

#[tokio::test]
async fn a_check_lists_every_problem_and_says_by_its_exit_code_whether_one_is_an_error() {
    let home = Home::new(PROGRAMS, &json!({}));
    home.write_config_text(&file("good", &json!({ "command": "x" })));
    let checked = home.run(&["config", "check"]).await;
    assert_eq!(checked.code, 4, "{checked:?}");
    assert!(
        checked.stdout.contains("9 of 10 servers cannot be used"),
        "{checked:?}"
    );
    for (name, _, said) in BROKEN {
        let lines = checked.stdout.lines();
        let line = format!("server {name}: mcp_config.json:");
        let found = lines
            .filter(|one| one.starts_with(&line) && one.contains(said))
            .count();
        assert!(found > 0, "{name}: {checked:?}");
    }
    let report = home.run(&["config", "check", "-o", "json"]).await;
    assert_eq!(
        (report.code, report.json()["servers"].clone()),
        (4, json!(10))
    );

    home.write_config_text(
        r#"{ "mcpServers": { "a b": { "command": "x", "autoApprove": ["*"], "trust": "manual", "timeout": 60 } } }"#,
    );
    let checked = home.run(&["config", "check"]).await;
    assert_eq!(checked.code, 0, "{checked:?}");
    for said in [
        "the server is called 'a-b' here",
        "'autoApprove' is not used here",
        "'trust' has no effect yet",
        "60 is read as 60 seconds",
    ] {
        assert!(checked.stdout.contains(said), "{said}: {checked:?}");
    }
}

#[tokio::test]
async fn tools_that_a_list_of_a_client_leaves_out_cannot_be_called() {
    for (key, value, enabled) in [
        ("tools", json!(["look", "list"]), ["look", "list"]),
        ("includeTools", json!(["look", "list"]), ["look", "list"]),
        ("enabled_tools", json!(["look", "list"]), ["look", "list"]),
        ("excludeTools", json!(["peek"]), ["look", "list"]),
        ("disabledTools", json!(["peek", "none"]), ["look", "list"]),
        ("disabled_tools", json!(["look"]), ["list", "peek"]),
    ] {
        let fixture = fixture();
        let entry = fixture.entry_with(&json!({ key: value }));
        let product = Product::start(PROGRAMS, &json!({ "mcpServers": { "one": entry } })).await;
        product.settle().await;
        let client = product.connect().await;
        let warned = product.status().await["servers"].to_string();
        let is_misspelt = value.to_string().contains("none");
        assert_eq!(
            warned.contains("has no tool 'none'"),
            is_misspelt,
            "{warned}"
        );
        for tool in ["look", "list", "peek"] {
            let called =
                json!({ "name": format!("one:{tool}"), "intent": { "operation_type": "read" } });
            let result = client.call("call_tool_read", &called).await;
            let code = result["structuredContent"]["error"]["code"].as_str();
            let expected = (!enabled.contains(&tool)).then_some("TOOL_DISABLED");
            assert_eq!(code, expected, "{tool} with {key}: {result}");
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            if expected.is_some() {
                let list = if value.to_string().contains(tool) {
                    "\"disabled_tools\""
                } else {
                    "tools"
                };
                assert!(text.contains(list), "{text}");
            }
        }
        let direct = product.connect_to("/all").await;
        let listed = direct.tool_names().await;
        let of_server = listed.iter().filter_map(|name| name.strip_prefix("one__"));
        let mut names: Vec<&str> = of_server.collect();
        names.sort_by_key(|name| enabled.iter().position(|one| one == name));
        assert_eq!(names, enabled, "{key}");
    }
}

#[tokio::test]
async fn entries_of_many_clients_run_as_they_are() {
    let look = r#"{"name":"look","description":"Look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#;
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[look])
        .variable("look", "TOLD");
    let http = HttpFixture::start(&[look], &[("look", "x-who")]).await;
    let events = Fixture::new(PROGRAMS).tools(&[look]);
    let events = events.over_http(HttpTransport::EventStream).await;
    let entry = fixture.entry();
    let (program, script, url) = (&entry["command"], &entry["args"][0], http.endpoint());
    let file = format!(
        r#"{{
  "discovery": {{ "semantic": false }},
  "mcpServers": {{
    // Claude Desktop
    "claude": {{ "command": {program}, "args": [{script}], "env": {{ "TOLD": 8080 }} }},
    // Cline and Roo
    "cline": {{ "command": {program}, "args": [{script}], "env": {{ "TOLD": "$WHO" }}, "disabled": false,
               "autoApprove": [], "alwaysAllow": ["look"], "timeout": 60 }},
    /* opencode */
    "opencode": {{ "type": "local", "command": [{program}, {script}], "enabled": true,
                  "environment": {{ "TOLD": "${{NOBODY:-nobody}}" }} }},
    // Codex
    "codex": {{ "command": {program}, "args": [{script}], "env_vars": ["TOLD"], "startup_timeout_sec": 60, "tool_timeout_sec": 60 }},
    "gemini": {{ "httpUrl": "{url}", "headers": {{ "X-Who": "${{WHO}}" }}, "trust": false, "includeTools": ["look"] }},
    "windsurf": {{ "serverUrl": "{url}", "headers": {{ "X-Who": "$WHO" }} }},
    "cursor": {{ "url": "{url}", "transport": "streamable-http", "headers": {{ "X-Who": "${{env:WHO}}" }}, "env": {{}} }},
    "remote": {{ "transportType": "remote", "url": "{url}", "headers": {{ "X-Who": true }}, "description": "a bool" }},
    "old": {{ "type": "sse", "url": "{}" }},
  }},
  // VS Code
  "inputs": [],
  "servers": {{
    "code": {{ "type": "stdio", "command": {program}, "args": [{script}], "cwd": "${{workspaceFolder}}",
              "envFile": "${{workspaceFolder}}/vars.env" }},
  }},
}}"#,
        events.endpoint()
    );
    let home = Home::new(PROGRAMS, &json!({}));
    let variables = home.data_dir().join("vars.env");
    std::fs::write(variables, "TOLD='of a file'\n").expect("it can be written");
    home.write_config_text(&file);
    assert_eq!(
        home.run(&["config", "check"]).await.code,
        4,
        "WHO is not set here"
    );
    let product = Product::start_with(home, &[], |command| {
        command.env("WHO", "somebody").env("TOLD", "of the gateway");
    })
    .await;
    product.settle().await;
    let client = product.connect().await;
    for (server, told) in [
        ("claude", "8080"),
        ("cline", "somebody"),
        ("opencode", "nobody"),
        ("codex", "of the gateway"),
        ("gemini", "somebody"),
        ("windsurf", "somebody"),
        ("cursor", "somebody"),
        ("remote", "true"),
        ("old", "look {}"),
        ("code", "of a file"),
    ] {
        let result = client
            .call_as("read", &format!("{server}:look"), &json!({}))
            .await;
        assert_eq!(result["content"][0]["text"], told, "{server}: {result}");
    }
}
