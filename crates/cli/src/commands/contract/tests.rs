use mcpproxy_contract_check::published::listed;
use serde_json::json;

use super::*;

fn report(tools: Vec<Value>) -> Report {
    let gathered = GatheredEvidence {
        tools,
        ..GatheredEvidence::default()
    };
    gathered.report("2026-06-01".parse().unwrap())
}

#[test]
fn files_and_servers_are_told_apart() {
    for (target, expected) in [
        ("cards", false),
        ("no/such/file", false),
        ("missing.json", true),
        ("MISSING.JSON", true),
        (concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), true),
        (env!("CARGO_MANIFEST_DIR"), false),
    ] {
        assert_eq!(is_file(target), expected, "{target}");
    }
}

#[test]
fn a_file_may_hold_the_list_in_three_forms() {
    let tools = json!([{ "name": "a" }]);
    for value in [
        tools.clone(),
        json!({ "tools": tools }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": tools } }),
    ] {
        assert_eq!(listed(&value), Some(&[json!({ "name": "a" })][..]));
    }
    for value in [
        json!(7),
        json!({}),
        json!({ "tools": {} }),
        json!({ "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32601, "message": "no" } }),
    ] {
        assert_eq!(listed(&value), None, "{value}");
    }
}

#[test]
fn only_what_announces_the_contract_and_reads_is_called() {
    let shown = |class: &str, category: &str| {
        let definition = json!({ "category": category, "examples": [{ "params": { "a": 1 } }, { "params": 7 }] });
        json!({
            "name": "srv:t", "class": class, "status": "callable",
            "annotations": { "readOnlyHint": true }, "_meta": { DEFINITION_KEY: definition },
        })
    };
    let count = |shown: Value| calls(&CheckedTool::new("t", shown)).count();
    assert_eq!(count(shown("read", "query")), 1);
    assert_eq!(count(shown("read", "mutation")), 0);
    assert_eq!(count(shown("write", "query")), 0);
    assert_eq!(count(shown("destructive", "query")), 0);
    assert_eq!(count(shown("unknown", "query")), 0);
    let mut disabled = shown("read", "query");
    disabled["status"] = json!("disabled");
    assert_eq!(count(disabled), 0);
    let mut silent = shown("read", "query");
    silent["_meta"] = json!({});
    assert_eq!(count(silent), 0);
    let mut many = shown("read", "query");
    many["_meta"][DEFINITION_KEY]["examples"] = json!(vec![json!({ "params": {} }); 50]);
    assert_eq!(count(many), CALLED_EXAMPLES);
}

#[test]
fn a_tool_is_checked_under_its_own_name_and_with_its_servers_annotations() {
    let shown = json!({
        "name": "srv:t", "server": "srv", "description": "d", "class": "write", "status": "callable",
        "call_with": "call_tool_write", "annotations": { "readOnlyHint": false },
        "server_annotations": { "readOnlyHint": true },
    });
    let offered = CheckedTool::new("t", shown);
    assert_eq!(
        offered.published,
        json!({ "name": "t", "description": "d", "annotations": { "readOnlyHint": true } })
    );
    assert!(!offered.is_readable);
}

#[test]
fn the_page_counts_and_names_what_is_violated() {
    let tool = json!({ "name": "a\u{1b}[31m\nb", "description": "d", "inputSchema": {} });
    let shown = page::of(&report(vec![tool]));
    assert!(shown.starts_with("TOOL"), "{shown}");
    assert!(
        shown.contains("✗  4  The list of permissions is defined"),
        "{shown}"
    );
    assert_eq!(
        shown.matches("does not announce the contract").count(),
        1,
        "what lines have in common is said once: {shown}"
    );
    assert!(!shown.contains('\u{1b}'), "{shown}");
    assert_eq!(page::of(&report(Vec::new())), "No tools.\n");
}
