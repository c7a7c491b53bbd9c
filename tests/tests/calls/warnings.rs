//! Warnings: in the log of the gateway and on the terminal of who calls, beside the result.

use mcpproxy_tests::{Client, Fixture, Home, Product, Ran, eventually};
use serde_json::json;

use crate::PROGRAMS;

const TOOLS: [&str; 3] = [
    r#"{"name":"look","description":"Look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"wipe","description":"Wipe","inputSchema":{},"annotations":{"destructiveHint":true}}"#,
    r#"{"name":"delete_all","description":"Deletes everything","inputSchema":{}}"#,
];

/// A variant, a tool, and the warning that the call goes on with.
const WARNED: [(&str, &str, &str); 3] = [
    ("write", "srv:look", "OVERLY_CAUTIOUS"),
    ("read", "srv:wipe", "SERVER_MISMATCH"),
    ("read", "srv:delete_all", "UNANNOTATED_RISK"),
];

#[tokio::test]
async fn warnings_were_nowhere_but_in_the_result() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let product = Product::start(PROGRAMS, &lenient(&fixture)).await;
    product.settle().await;
    let client = product.connect().await;
    for (operation, tool, code) in WARNED {
        let result = client.call_allowed(operation, tool, &json!({})).await;
        let meta = &result["_meta"];
        assert_eq!(meta["dev.mcpproxy/warnings"][0]["code"], code, "{result}");
        let id = meta["dev.mcpproxy/request_id"].as_str().unwrap();
        let line = eventually("the warning is in the log", async || {
            let log = product.log();
            log.lines()
                .find(|line| line.contains(id))
                .map(str::to_owned)
        })
        .await;
        for part in ["WARN", code, tool] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    // A call that nothing is to be said about leaves no line.
    let result = client.call_allowed("read", "srv:look", &json!({})).await;
    let id = result["_meta"]["dev.mcpproxy/request_id"].as_str().unwrap();
    assert!(!product.log().contains(id), "{}", product.log());
}

#[tokio::test]
async fn who_called_from_a_terminal_saw_no_warning() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let home = Home::new(PROGRAMS, &lenient(&fixture));
    let check = |ran: &Ran, code: &str| {
        assert_eq!(ran.code, 0, "{ran:?}");
        let [line] = ran.stderr.lines().collect::<Vec<_>>()[..] else {
            panic!("one line is said: {ran:?}");
        };
        assert!(
            line.starts_with(&format!("warning: {code}: Tool 'srv:")),
            "{line}"
        );
    };
    // Alone, and through a running gateway.
    let product = {
        for (operation, tool, code) in WARNED {
            let ran = home
                .run(&["call", &format!("tool-{operation}"), tool])
                .await;
            check(&ran, code);
        }
        Product::start_in(home, &[]).await
    };
    for (operation, tool, code) in WARNED {
        let variant = format!("tool-{operation}");
        let ran = product.run(&["call", &variant, tool]).await;
        check(&ran, code);
        assert_eq!(ran.stdout, format!("{} {{}}\n", &tool["srv:".len()..]));
        let ran = product.run(&["call", &variant, tool, "-o", "json"]).await;
        check(&ran, code);
        assert!(ran.json()["content"].is_array(), "{ran:?}");
    }
    let ran = product.run(&["call", "tool-read", "srv:look"]).await;
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
}

#[tokio::test]
async fn nobody_was_told_at_the_start_what_may_call_tools_without_annotations() {
    for (rule, callers) in [
        ("trust_agent", "any variant may call them"),
        (
            "at_least_write",
            "call_tool_write and call_tool_destructive may call them",
        ),
    ] {
        let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
        let mut config = lenient(&fixture);
        config["intent_declaration"]["unannotated"] = json!(rule);
        let product = Product::start(PROGRAMS, &config).await;
        let line = eventually("the log says how many there are", async || {
            let log = product.log();
            let line = log.lines().find(|line| line.contains("no annotations"));
            line.map(str::to_owned)
        })
        .await;
        let setting = format!("(intent_declaration.unannotated: {rule})");
        assert!(
            line.contains(&format!("tools has no annotations: {callers} {setting}")),
            "{line}"
        );
        assert!(line.contains(" 1 of "), "{line}");
    }
}

fn lenient(fixture: &Fixture) -> serde_json::Value {
    json!({
        "mcpServers": { "srv": fixture.entry() },
        "intent_declaration": { "strict_server_validation": false },
    })
}
