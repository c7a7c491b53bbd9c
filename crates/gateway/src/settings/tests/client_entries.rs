//! Entries as clients write them: what they mean here, what is said of them, and that a mistake stays in its entry.

use serde_json::{Value, json};

use super::Scene;
use crate::settings::{SettingText, Settings, effective};

/// The settings of a file in which a few variables are set.
fn settings(config: &str) -> Settings {
    let scene = Scene::with(config)
        .variable("KEY", "k3y-value")
        .variable("EMPTY", "");
    scene.write("vars.env", "# variables\nexport A=1\nB='two words'\n");
    scene.settings()
}

/// Meaning of an entry, as `config show` has it; what is said of it without its place; the number of its problems.
#[track_caller]
fn check(entry: &str, expected: &Value, warnings: &[&str]) {
    let config = format!("{{ \"mcpServers\": {{ \"a\": {entry} }} }}");
    let settings = settings(&config);
    assert_eq!(settings.servers[0].problems, [""; 0], "{entry}");
    let shown = &effective(&settings)["mcpServers"]["a"];
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&shown[key], value, "{key} of {entry}");
    }
    let said: Vec<&str> = settings
        .warnings
        .iter()
        .map(|said| after_place(said))
        .collect();
    assert_eq!(said, warnings, "{entry}");
}

/// Words of a remark behind the file, its line and column, and the entry.
fn after_place(said: &str) -> &str {
    let (_, said) = said.split_once("mcpServers.a: ").unwrap_or(("", said));
    said
}

#[test]
fn words_of_clients_are_understood() {
    // Claude Desktop, Cline, Roo, Amazon Q.
    check(
        r#"{ "command": "uvx", "args": ["pkg@latest"], "env": { "PORT": 8080, "DEBUG": true, "LEVEL": "x" },
             "disabled": false, "cwd": "/srv" }"#,
        &json!({ "command": "uvx", "env": { "PORT": "8080", "DEBUG": "true", "LEVEL": "x" }, "enabled": true,
                 "working_dir": "/srv" }),
        &[],
    );
    check(
        r#"{ "command": "x", "disabled": true }"#,
        &json!({ "enabled": false }),
        &[],
    );
    // Of two words the one that switches off holds.
    for both in [
        r#""enabled": true, "disabled": true"#,
        r#""disabled": true, "enabled": true"#,
        r#""disabled": false, "enabled": false"#,
        r#""isActive": false"#,
    ] {
        check(
            &format!(r#"{{ "command": "x", {both} }}"#),
            &json!({ "enabled": false }),
            &[],
        );
    }
    // Windsurf, Gemini, Cursor, VS Code, GitHub's agents.
    for (key, kind) in [
        ("url", "http"),
        ("serverUrl", "streamable-http"),
        ("httpUrl", "streamableHttp"),
        ("url", "sse"),
        ("url", "remote"),
    ] {
        for of_kind in ["type", "transport", "transportType"] {
            check(
                &format!(r#"{{ "{key}": "https://h/mcp", "{of_kind}": "{kind}" }}"#),
                &json!({ "url": "https://h/mcp" }),
                &[],
            );
        }
    }
    for kind in ["stdio", "local"] {
        check(
            &format!(r#"{{ "command": "x", "type": "{kind}", "description": "what it is for" }}"#),
            &json!({ "command": "x" }),
            &[],
        );
    }
    // Programs and arguments in one list, as opencode writes them.
    check(
        r#"{ "type": "local", "command": ["npx", "-y", "pkg"], "environment": { "A": "1" } }"#,
        &json!({ "command": "npx", "args": ["-y", "pkg"], "env": { "A": "1" } }),
        &[],
    );
    // Codex.
    check(
        r#"{ "command": "x", "startup_timeout_sec": 20, "tool_timeout_sec": 45.5, "env_vars": ["KUBECONFIG"] }"#,
        &json!({ "start_timeout": "20s", "timeout": "45s 500ms", "inherit_env": ["KUBECONFIG"] }),
        &[],
    );
}

#[test]
fn a_number_as_a_time_is_read_as_people_mean_it_and_said() {
    for (number, time, word) in [
        ("60", "1m", "seconds"),
        ("3600", "1h", "seconds"),
        ("3601", "3s 601ms", "milliseconds"),
        ("60000", "1m", "milliseconds"),
        ("0.5", "500ms", "seconds"),
    ] {
        let said = format!(
            "'timeout': {number} is read as {number} {word}; a text such as \"30s\" says which"
        );
        check(
            &format!(r#"{{ "command": "x", "timeout": {number} }}"#),
            &json!({ "timeout": time }),
            &[&said],
        );
    }
}

#[test]
fn what_restricts_is_obeyed() {
    for key in [
        "tools",
        "includeTools",
        "enabledTools",
        "allowedTools",
        "include_tools",
        "IncludeTools",
        "enabled_tools",
    ] {
        check(
            &format!(r#"{{ "command": "x", "{key}": ["read", "list"] }}"#),
            &json!({ "enabled_tools": ["read", "list"], "disabled_tools": [] }),
            &[],
        );
        check(
            &format!(r#"{{ "command": "x", "{key}": ["*"] }}"#),
            &json!({ "enabled_tools": null }),
            &[],
        );
        check(
            &format!(r#"{{ "command": "x", "{key}": [] }}"#),
            &json!({ "enabled_tools": [] }),
            &[],
        );
    }
    for key in [
        "excludeTools",
        "excludedTools",
        "exclude_tools",
        "disabledTools",
        "disallowedTools",
        "disabled_tools",
    ] {
        check(
            &format!(r#"{{ "command": "x", "{key}": ["delete"] }}"#),
            &json!({ "enabled_tools": null, "disabled_tools": ["delete"] }),
            &[],
        );
    }
}

#[test]
fn what_would_widen_is_not_obeyed_and_said() {
    let approvals =
        "approvals are the client's: it can approve call_tool_read by itself and ask for the rest";
    for (key, value) in [
        ("autoApprove", r#"["read"]"#),
        ("alwaysAllow", r#"["read"]"#),
        ("trust", "true"),
    ] {
        check(
            &format!(r#"{{ "command": "x", "{key}": {value} }}"#),
            &json!({ "trust": "changes" }),
            &[&format!("'{key}' is not used here: {approvals}")],
        );
    }
    check(
        r#"{ "command": "x", "trust": false }"#,
        &json!({ "trust": "changes" }),
        &[],
    );
    check(
        r#"{ "command": "x", "trust": "manual" }"#,
        &json!({ "trust": "manual" }),
        &[
            "'trust' has no effect yet: nothing waits for approval in this version, what a server offers is used at once",
        ],
    );
    check(
        r#"{ "url": "https://h/", "oauth": {}, "gallery": true }"#,
        &json!({}),
        &[
            "'oauth' is not used here: this version does not log in by OAuth: give a token in 'headers'",
            "'gallery' is not used here",
        ],
    );
}

#[test]
fn variables_of_files_and_of_the_environment() {
    let exposed = |config: &str| -> Vec<(String, String)> {
        let server = settings(config).servers.remove(0);
        assert_eq!(server.problems, [""; 0]);
        let env = server.env.into_iter();
        env.map(|(name, value)| (name, value.expose().to_owned()))
            .collect()
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        exposed(
            r#"{ "mcpServers": { "a": { "command": "x", "envFile": "${workspaceFolder}/vars.env",
                 "env": { "A": "wins", "C": "$KEY", "D": "${KEY}", "E": "${NONE:-default}", "F": "$5 each" } } } }"#
        ),
        [
            pair("A", "wins"),
            pair("C", "k3y-value"),
            pair("D", "k3y-value"),
            pair("E", "default"),
            pair("F", "$5 each"),
            pair("B", "two words"),
        ]
    );
    let settings = settings(
        r#"{ "mcpServers": { "a": { "url": "https://h/", "headers": { "X-Key": "$KEY", "X-Count": 3 } } } }"#,
    );
    let headers = settings.servers[0].headers.iter();
    let headers: Vec<&str> = headers.map(|(_, value)| value.expose()).collect();
    assert_eq!(headers, ["k3y-value", "3"]);
    assert!(matches!(
        settings.servers[0].headers[0].1,
        SettingText::Secret(_)
    ));
}

#[test]
fn files_of_vs_code_are_read() {
    let settings = settings(
        r#"{
            "inputs": [{ "type": "promptString", "id": "key", "password": true }],
            "servers": { "one": { "type": "stdio", "command": "x" }, "two": { "command": "y", "env": { "K": "${input:key}" } } },
            "mcpServers": { "one": { "command": "z" } },
        }"#,
    );
    let names: Vec<&str> = settings.servers.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["one", "one-2", "two"]);
    let said = "a server of this name is in 'mcpServers' too, this one is called 'one-2' here";
    assert!(
        settings.warnings[1].ends_with(said),
        "{:?}",
        settings.warnings
    );
    assert!(settings.warnings[0].contains("'inputs' is not used here"));
    assert_eq!(
        settings.servers[2].problems,
        [
            "mcp_config.json:3:109: mcpServers.two.env.K: only a client knows what ${input:key} is, write ${env:NAME}, ${file:PATH} or ${secret:NAME}"
        ]
    );
    let mixed = Scene::with(r#"{ "servers": [], "mcpServers": {} }"#)
        .load()
        .unwrap_err();
    assert!(
        mixed.to_string().contains("unknown key 'servers'"),
        "{mixed}"
    );
}

#[test]
fn other_names_become_usable_and_are_said() {
    let settings = settings(
        r#"{ "mcpServers": { "Framelink MCP for Figma": { "command": "x" }, "@org/files": { "command": "y" } } }"#,
    );
    let names: Vec<&str> = settings.servers.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["Framelink-MCP-for-Figma", "org-files"]);
    assert_eq!(
        settings.warnings[0],
        "mcp_config.json:1:46: mcpServers.Framelink MCP for Figma: the server is called 'Framelink-MCP-for-Figma' here, \
         names are 1 to 64 of the characters A-Z, a-z, 0-9, '_', '.' and '-', without '__', not 'mcpproxy'"
    );
}

#[test]
fn a_mistake_stays_in_its_entry_and_is_said_with_its_place() {
    for (entry, problem) in [
        (
            r#"{ "command": "npx -y pkg" }"#,
            r#"3: mcpServers.a: 'command' is the program alone, write "command": "npx", "args": ["-y", "pkg"]"#,
        ),
        (
            r#"{ "comand": "x" }"#,
            "1: mcpServers.a: found neither 'command' nor 'url', allowed: exactly one of them",
        ),
        (
            r#"{ "command": "x", "envFile": "none.env" }"#,
            "30: mcpServers.a: envFile: file 'none.env' does not exist",
        ),
        (
            r#"{ "command": "x", "envFile": 1 }"#,
            "30: mcpServers.a: 'envFile': allowed: the path of a file",
        ),
        (
            r#"{ "command": "x", "cwd": "/a", "working_dir": "/b" }"#,
            "32: mcpServers.a: 'working_dir' and 'cwd' mean the same, allowed: one of them",
        ),
        (
            r#"{ "command": "x", "timeout": -1 }"#,
            "30: mcpServers.a.timeout: found a number, allowed: a duration from 1ms to 1h such as \"30s\"",
        ),
        (r#"{ "command": "x", "timeout": 1e300 }"#, ""),
        (
            r#""npx""#,
            "1: mcpServers.a: found a string, allowed: an object",
        ),
        (
            r#"{ "command": [] }"#,
            "14: mcpServers.a.command: found an array, allowed: a string that is not empty, without a NUL character",
        ),
        (
            r#"{ "command": "x", "disabled": "no" }"#,
            "31: mcpServers.a.disabled: found a string, allowed: true or false",
        ),
        (
            r#"{ "url": "https://h/", "type": "stdio" }"#,
            "24: mcpServers.a: 'type' contradicts 'url', allowed: \"http\", \"streamable-http\", \"sse\"",
        ),
        (
            r#"{ "command": "x", "env": { "A": "$NONE" } }"#,
            "33: mcpServers.a.env.A: environment variable NONE is not set",
        ),
        (
            r#"{ "command": "x", "env": { "A": [] } }"#,
            "33: mcpServers.a.env.A: found an array, allowed: a string without a NUL character",
        ),
    ] {
        let config = format!(
            "{{ \"mcpServers\": {{ \"good\": {{ \"command\": \"x\" }}, \"a\":\n{entry} }} }}"
        );
        let settings = settings(&config);
        assert_eq!(settings.servers[0].problems, [""; 0]);
        let problems = &settings.servers[1].problems;
        assert!(!problems.is_empty(), "{entry}");
        if !problem.is_empty() {
            assert!(
                problems.contains(&format!("mcp_config.json:2:{problem}")),
                "{entry}: {problems:?}"
            );
        }
    }
}

#[test]
fn a_restriction_that_was_written_almost_right_opened_everything() {
    for key in [
        "disable",
        "excludeTool",
        "includedTools",
        "alowedTools",
        "diabledTools",
        "is_activ",
    ] {
        let config =
            format!(r#"{{ "mcpServers": {{ "a": {{ "command": "x", "{key}": true }} }} }}"#);
        let problems = &settings(&config).servers[0].problems;
        assert!(
            problems.iter().any(|one| one.contains("did you mean")),
            "{key}: {problems:?}"
        );
    }
}

#[test]
fn the_problems_of_one_entry_are_bounded() {
    let variables: Vec<String> = (0..1000).map(|one| format!("\"V{one}\": null")).collect();
    let config = format!(
        "{{ \"mcpServers\": {{ \"a\": {{ \"command\": \"x\", \"env\": {{ {} }} }} }} }}",
        variables.join(", ")
    );
    let problems = &settings(&config).servers[0].problems;
    assert_eq!(problems.len(), 21);
    assert_eq!(problems[20], "… and 980 more problems");
}
