//! The tool of the guide for authors, 40 lines, behind the real gateway: found, described, called, refused, recorded.

use mcpproxy_tests::{Client, HttpClient, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

const FIRST_TOOL: &str = env!("CARGO_BIN_EXE_first-tool-under-test");
const PROGRAM: &str = include_str!("../../../examples/first-tool/src/main.rs");
const GUIDE: &str = include_str!("../../../docs/writing-a-tool.md");

const NAME: &str = "language:detect-language";

#[test]
fn the_program_of_the_guide_is_the_one_that_is_tested_and_has_40_lines_at_most() {
    assert!(PROGRAM.lines().count() <= 40);
    let shown = format!("```rust,no_run\n{PROGRAM}```\n");
    assert!(
        GUIDE.contains(&shown),
        "docs/writing-a-tool.md does not show examples/first-tool/src/main.rs as it is, copy it there"
    );
}

#[tokio::test]
async fn the_tool_is_found_described_and_called_and_the_call_is_recorded() {
    let product = start().await;
    let client = product.connect().await;

    let found = structured(
        &client,
        "retrieve_tools",
        json!({ "query": "which language is a text in" }),
    )
    .await;
    assert_eq!(found["tools"][0]["name"], NAME, "{found}");
    assert_eq!(found["tools"][0]["call_with"], "call_tool_read", "{found}");

    let described = structured(&client, "describe_tool", json!({ "names": [NAME] })).await;
    let definition = &described["tools"][0]["_meta"]["dev.mcpproxy/definition"];
    assert_eq!(definition["name"], "detect-language", "{described}");
    assert_eq!(definition["category"], "analysis", "{definition}");
    assert_eq!(definition["examples"][0]["expectedResult"], "de");

    let answer = read(&client, json!({ "text": "the cat and the dog" })).await;
    assert_eq!(answer["isError"], false, "{answer}");
    let result = &answer["structuredContent"];
    assert_eq!(result["data"], "en", "{result}");
    let hints = &result["agentHints"];
    assert_eq!(hints["confidence"], 0.85, "{hints}");
    assert_eq!(hints["sourceQuality"], "medium", "{hints}");
    let reasoning = hints["reasoning"].as_str().unwrap_or_default();
    assert!(reasoning.contains("agreement 1.00 (3 of 3"), "{reasoning}");
    assert_eq!(result["metadata"]["toolVersion"], "1.0.0", "{result}");

    let id = answer["_meta"]["dev.mcpproxy/activity_id"].as_str();
    let record = product.record(id.expect("the call has an id")).await;
    assert_eq!(record["server_name"], "language", "{record}");
    assert_eq!(record["tool_name"], "detect-language", "{record}");
    assert_eq!(record["status"], "success", "{record}");
}

#[tokio::test]
async fn wrong_arguments_and_misspelled_names_are_refused() {
    let product = start().await;
    let client = product.connect().await;
    for (wrong, name) in [
        (json!({}), "text"),
        (json!({ "text": 7 }), "text"),
        (json!({ "text": "" }), "text"),
        (json!({ "text": "the", "txt": "and" }), "txt"),
    ] {
        let answer = read(&client, wrong.clone()).await;
        assert_eq!(answer["isError"], true, "{wrong}: {answer}");
        let error = &answer["structuredContent"]["error"];
        assert_eq!(error["code"], "INVALID_ARGUMENTS", "{wrong}: {answer}");
        let violated = error["details"]["violations"].to_string();
        assert!(violated.contains(name), "{wrong}: {violated}");
    }
    let unknown = client
        .call_as(
            "read",
            "language:detect-langauge",
            &json!({ "text": "the" }),
        )
        .await;
    let error = &unknown["structuredContent"]["error"];
    assert_eq!(error["code"], "UNKNOWN_TOOL", "{unknown}");
}

#[tokio::test]
async fn the_commands_of_the_guide_work() {
    let product = start().await;
    let search = ["tools", "search", "which language is a text in"];
    let found = product.run(&search).await;
    assert!(found.code == 0 && found.stdout.contains(NAME), "{found:?}");
    let arguments = r#"{"text":"der Hund und die Katze"}"#;
    let called = product
        .run(&["call", "tool-read", NAME, "--args", arguments])
        .await;
    assert_eq!(called.code, 0, "{called:?}");
    assert!(called.stdout.starts_with("\"de\""), "{called:?}");
    eventually("the call is on record", async || {
        let listed = product.run(&["activity", "list"]).await;
        listed.stdout.contains("detect-language").then_some(())
    })
    .await;
    let checked = product.run(&["contract", "check", "language"]).await;
    assert_eq!(checked.code, 0, "{checked:?}");
}

async fn start() -> Product {
    let config = json!({ "mcpServers": { "language": { "command": FIRST_TOOL } } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    product
}

async fn structured(client: &HttpClient, tool: &str, arguments: Value) -> Value {
    let mut result = client.call(tool, &arguments).await;
    assert!(result["isError"].is_null(), "{tool} {arguments}: {result}");
    result["structuredContent"].take()
}

async fn read(client: &HttpClient, arguments: Value) -> Value {
    client.call_as("read", NAME, &arguments).await
}
