//! The tool contract of others: `contract check` on files and servers, and servers that announce the contract and
//! break it.

use std::path::PathBuf;
use std::process::Command;

use mcpproxy_tests::{Client, Fixture, Home, Listening, Product, Ran, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

/// The lines of the checklist that a definition decides, and those that a good result decides as well.
const BY_DEFINITION: u64 = 12;
const BY_RESULT: u64 = 24;

#[tokio::test]
async fn a_file_is_checked_in_all_its_forms() {
    let home = Home::new(PROGRAMS, &json!({}));
    let tools = json!([reading(), writing()]);
    for content in [
        tools.clone(),
        json!({ "tools": tools }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": tools } }),
    ] {
        let ran = check_file(&home, &content.to_string(), &["-o", "json"]).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        let report = ran.json();
        let expected = json!({ "tools": 2, "holds": 2 * BY_DEFINITION, "violated": 0, "not_checked": 34, "besides": 0 });
        assert_eq!(report["summary"], expected, "{report}");
        assert_eq!(report["tools"][1]["tool"], "add-card");
    }
}

#[tokio::test]
async fn a_file_that_breaks_the_contract_is_reported_line_by_line_with_exit_code_1() {
    let home = Home::new(PROGRAMS, &json!({}));
    let mut unclear = reading();
    unclear["_meta"]["dev.mcpproxy/definition"]["tags"] = json!([]);
    unclear["_meta"]["dev.mcpproxy/definition"]["examples"][0]["params"] = json!({ "cardId": "x" });
    unclear["annotations"] = json!({});
    let silent = json!({ "name": "listCards", "description": "Lists cards.", "inputSchema": {} });
    let text = json!({ "tools": [unclear, silent] }).to_string();

    let ran = check_file(&home, &text, &["-o", "json"]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    let report = ran.json();
    assert_eq!(violated(&report, "get-card"), [10, 11], "{report}");
    assert_eq!(report["tools"][0]["besides"][0]["rule"], "annotations-fit");
    assert_eq!(
        violated(&report, "listCards"),
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    );

    let table = check_file(&home, &text, &[]).await;
    assert_eq!(table.code, 1);
    for part in [
        "get-card",
        "11  There is at least 1 tag",
        "does not announce the contract",
        "2 tools:",
    ] {
        assert!(table.stdout.contains(part), "{part}: {}", table.stdout);
    }
    let yaml = check_file(&home, &text, &["-o", "yaml"]).await;
    assert!(
        yaml.code == 1 && yaml.stdout.contains("status: violated"),
        "{yaml:?}"
    );
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_wrong_usage_with_a_remedy() {
    let home = Home::new(PROGRAMS, &json!({}));
    for (content, part) in [
        ("{", "is not JSON"),
        ("7", "has no list of tools"),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#,
            "has no list of tools",
        ),
    ] {
        let ran = check_file(&home, content, &[]).await;
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
        assert!(
            ran.stderr.contains(part) && ran.stderr.contains("tools/list"),
            "{ran:?}"
        );
    }
    for arguments in [
        &["contract", "check", "missing.json"][..],
        &["contract", "check"],
        &["contract"],
    ] {
        let ran = home.run(arguments).await;
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (2, ""),
            "{arguments:?}: {ran:?}"
        );
    }
}

/// What asks for input was not vetted: hints to tools of other servers stayed in it.
#[tokio::test]
async fn a_service_with_sessions_kept_its_hints_from_being_vetted_by_asking() {
    let hints = json!({ "suggestedNextActions": [{ "action": "mcpproxy:prune-activity" }] });
    let asking = json!({
        "resultType": "input_required", "content": [], "inputRequests": {},
        "structuredContent": { "agentHints": hints },
    });
    let fixture = Fixture::new(PROGRAMS)
        .revision("2025-11-25")
        .tools(&[reading().to_string()])
        .result("get-card", &asking.to_string());
    let config = json!({ "mcpServers": { "cards": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    let args = json!({ "cardId": "card_1" });
    let refused = client.call_as("read", "cards:get-card", &args).await;
    assert_eq!(refused["isError"], true, "{refused}");
    let text = refused.to_string();
    assert!(!text.contains("prune-activity"), "{text}");
    assert!(text.contains("its protocol does not have"), "{text}");
}

#[tokio::test]
async fn the_reading_tools_of_a_server_are_called_with_their_examples_and_recorded() {
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[reading().to_string(), writing().to_string()])
        .result("get-card", &answer(&good_result()));
    let config = json!({ "mcpServers": { "cards": fixture.entry() } });

    let home = Home::new(PROGRAMS, &config);
    let ran = home
        .run(&["contract", "check", "cards", "-o", "json"])
        .await;
    assert_eq!(ran.code, 0, "{ran:?}");
    check_server_report(&ran.json());
    assert_eq!(fixture.ledger(), [r#"get-card {"cardId":"card_123"}"#]);

    let product = Product::start_in(home, &[]).await;
    let ran = product
        .run(&["contract", "check", "cards", "-o", "json"])
        .await;
    assert_eq!(ran.code, 0, "{ran:?}");
    check_server_report(&ran.json());
    assert_eq!(fixture.ledger().len(), 2, "nothing that writes is called");

    let ran = product
        .run(&["contract", "check", "cards", "--no-calls", "-o", "json"])
        .await;
    assert_eq!(ran.json()["summary"]["holds"], 2 * BY_DEFINITION);
    assert_eq!(fixture.ledger().len(), 2, "--no-calls calls nothing");

    let record = eventually("the call is on the record", async || {
        let page = product.get("/activity?type=tool_call").await;
        page["activities"].as_array()?.first().cloned()
    })
    .await;
    assert_eq!(record["tool_variant"], "call_tool_read");
    assert_eq!(record["intent"]["reason"], "contract check");
}

fn check_server_report(report: &Value) {
    assert_eq!(of_tool(report, "get-card")["results"], 1, "{report}");
    assert_eq!(of_tool(report, "add-card")["results"], 0, "{report}");
    assert_eq!(
        report["summary"]["holds"],
        BY_RESULT + BY_DEFINITION,
        "{report}"
    );
    assert_eq!(report["summary"]["violated"], 0, "{report}");
}

#[tokio::test]
async fn the_gateways_own_tools_keep_the_contract() {
    let home = Home::new(PROGRAMS, &json!({}));
    let ran = home
        .run(&["contract", "check", "mcpproxy", "-o", "json"])
        .await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let report = ran.json();
    let tools = report["tools"].as_array().expect("a list");
    let was_called = |tool: &Value| tool["results"].as_u64() > Some(0);
    assert!(tools.iter().any(was_called), "{report}");
    assert!(
        tools.iter().all(|tool| tool["announces"] == true),
        "{report}"
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_or_offers_nothing_is_told_with_what_to_do() {
    let fixture = Fixture::new(PROGRAMS);
    let broken = Fixture::new(PROGRAMS).exit_at_start();
    let config = json!({ "mcpServers": { "cards": fixture.entry(), "decks": broken.entry() } });
    let home = Home::new(PROGRAMS, &config);
    let unknown = home
        .run(&["contract", "check", "crads", "-o", "json"])
        .await;
    assert_eq!(
        (unknown.code, unknown.stdout.as_str()),
        (1, ""),
        "{unknown:?}"
    );
    let error = unknown.error();
    assert_eq!(error["code"], "UNKNOWN_SERVER");
    let message = error["message"].as_str().expect("a message");
    let expected =
        "There is no server 'crads' and no file of that name. Configured servers: cards, decks";
    assert!(message.starts_with(expected), "{message}");
    for server in ["cards", "decks"] {
        let ran = home.run(&["contract", "check", server]).await;
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
        assert!(ran.stderr.contains("offers no tools to check"), "{ran:?}");
    }
}

#[tokio::test]
async fn what_the_operator_says_of_a_tool_keeps_it_from_being_called_and_is_not_held_against_its_server()
 {
    let fixture = Fixture::new(PROGRAMS).tools(&[reading().to_string()]);
    let operator = json!({ "tools": { "get-card": { "annotations": { "readOnlyHint": false } } } });
    let config = json!({ "mcpServers": { "cards": fixture.entry_with(&operator) } });
    let home = Home::new(PROGRAMS, &config);
    let ran = home
        .run(&["contract", "check", "cards", "-o", "json"])
        .await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(fixture.ledger().is_empty());
}

#[tokio::test]
async fn a_result_that_breaks_the_contract_is_passed_on_as_it_came_with_a_warning() {
    for strict in [true, false] {
        let fixture = breaking();
        let config = json!({
            "mcpServers": { "cards": fixture.entry() },
            "intent_declaration": { "strict_server_validation": strict },
        });
        let product = Product::start(PROGRAMS, &config).await;
        let client = product.connect().await;
        let mut id = String::new();
        for _ in 0..2 {
            let read = client
                .call_as("read", "cards:get-card", &json!({ "cardId": "card_1" }))
                .await;
            let structured = &read["structuredContent"];
            assert_eq!(structured["data"]["id"], "card_123", "{read}");
            assert_eq!(structured["agentHints"]["confidence"], "very", "{read}");
            let warning = &read["_meta"]["dev.mcpproxy/warnings"][0];
            assert_eq!(warning["code"], "CONTRACT_VIOLATED");
            let message = warning["message"].as_str().unwrap();
            assert!(
                message.contains("'cards:get-card'") && message.contains("hints-confidence: "),
                "{message}"
            );
            read["_meta"]["dev.mcpproxy/activity_id"]
                .as_str()
                .unwrap()
                .clone_into(&mut id);
        }
        let record = product.record(&id).await;
        assert_eq!(record["status"], "success", "{record}");
        assert_eq!(
            record["warnings"][0]["code"], "CONTRACT_VIOLATED",
            "{record}"
        );
        let log = product.log();
        assert_eq!(
            log.matches("CONTRACT_VIOLATED").count(),
            1,
            "told once: {log}"
        );

        let ran = product
            .run(&["contract", "check", "cards", "-o", "json"])
            .await;
        assert_eq!(ran.code, 1, "{ran:?}");
        assert_eq!(violated(&ran.json(), "get-card"), [14], "{ran:?}");
    }
}

#[tokio::test]
async fn def_immutable_nobody_knew_what_a_server_had_published() {
    let before = Fixture::new(PROGRAMS).tools(&[reading().to_string(), writing().to_string()]);
    let config = |fixture: &Fixture| json!({ "mcpServers": { "cards": fixture.entry() } });
    let mut product = Product::start(PROGRAMS, &config(&before)).await;
    product.settle().await;
    product.stop().await;
    let home = product.into_home();

    let mut changed = reading();
    changed["inputSchema"]["required"] = json!(["cardId", "side"]);
    changed["inputSchema"]["properties"]["side"] =
        json!({ "enum": ["front", "back"], "description": "The side" });
    let after = Fixture::new(PROGRAMS)
        .tools(&[changed.to_string()])
        .result("get-card", &answer(&good_result()));
    home.write_config(&config(&after));
    let product = Product::start_in(home, &[]).await;
    product.settle().await;
    let broken = eventually("the change is noticed", async || {
        let status = product.status().await;
        let servers = status["servers"].as_array()?;
        let cards = servers.iter().find(|server| server["name"] == "cards")?;
        let broken = cards["contract"]["broken"].as_array()?;
        (!broken.is_empty()).then(|| broken.clone())
    })
    .await;
    let rules: Vec<&Value> = broken.iter().map(|one| &one["rule"]).collect();
    assert_eq!(rules, ["name-kept", "parameters-kept"], "{broken:?}");
    let client = product.connect().await;
    let read = client
        .call_as(
            "read",
            "cards:get-card",
            &json!({ "cardId": "card_1", "side": "back" }),
        )
        .await;
    let warning = read["_meta"]["dev.mcpproxy/warnings"][0]["message"]
        .as_str()
        .unwrap();
    assert!(
        warning.contains("the parameter 'side' has become required"),
        "{read}"
    );
    let ran = product
        .run(&["contract", "check", "cards", "-o", "json"])
        .await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(
        of_tool(&ran.json(), "add-card")["besides"][0]["rule"],
        "name-kept"
    );
}

#[tokio::test]
async fn ver_2_a_file_is_compared_with_what_was_published() {
    let home = Home::new(PROGRAMS, &json!({}));
    let published = home.folder().join("published.json");
    let path = published.to_str().expect("the folder has a plain name");
    let now = json!([reading(), writing()]).to_string();
    let mut wider = reading();
    wider["inputSchema"]["properties"]["cardId"]["pattern"] = json!("^c");
    let snapshot = json!({ "get-card": {
        "version": "0.9.0", "deprecated": null, "data": null,
        "parameters": { "type": "object", "properties": {}, "required": [] },
    } });
    for (before, rules) in [
        (json!([reading(), writing()]), &[][..]),
        (json!({ "tools": [wider] }), &["parameters-kept"]),
        (snapshot, &["parameters-kept", "major-renamed"]),
    ] {
        std::fs::write(&published, before.to_string()).expect("the file can be written");
        let ran = check_file(&home, &now, &["--against", path, "-o", "json"]).await;
        assert_eq!(ran.code, i32::from(!rules.is_empty()), "{ran:?}");
        let report = ran.json();
        let besides = of_tool(&report, "get-card")["besides"].as_array();
        let besides = besides.into_iter().flatten().map(|one| &one["rule"]);
        assert_eq!(besides.collect::<Vec<_>>(), rules, "{report}");
    }
    std::fs::write(&published, "{}").expect("the file can be written");
    let ran = check_file(&home, &now, &["--against", path]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(
        ran.stderr.contains("a snapshot that the test kit wrote"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn good_results_and_failures_told_in_words_pass() {
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[reading().to_string(), writing().to_string()])
        .result("get-card", &answer(&good_result()))
        .result(
            "add-card",
            r#"{"content":[{"type":"text","text":"no room"}],"isError":true}"#,
        );
    let config = json!({ "mcpServers": { "cards": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    let read = client
        .call_as("read", "cards:get-card", &json!({ "cardId": "card_1" }))
        .await;
    assert_eq!(
        read["structuredContent"]["data"]["id"], "card_123",
        "{read}"
    );
    assert!(
        read["_meta"].get("dev.mcpproxy/warnings").is_none(),
        "{read}"
    );
    let write = client
        .call_as("write", "cards:add-card", &json!({ "front": "f" }))
        .await;
    assert_eq!(write["content"][0]["text"], "no room", "{write}");
    assert_eq!(
        write["_meta"]["dev.mcpproxy/warnings"][0]["code"], "CONTRACT_VIOLATED",
        "{write}"
    );
}

#[tokio::test]
async fn definitions_that_break_the_contract_are_in_the_log_once() {
    let mut unclear = reading();
    unclear["_meta"]["dev.mcpproxy/definition"]["tags"] = json!([]);
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[
            unclear.to_string(),
            r#"{"name":"plain","inputSchema":{}}"#.to_owned(),
        ])
        .result("get-card", &answer(&good_result()));
    let config = json!({ "mcpServers": { "cards": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    for _ in 0..3 {
        client
            .call_as("read", "cards:get-card", &json!({ "cardId": "card_1" }))
            .await;
    }
    let told = "definitions break the tool contract";
    eventually("the log tells of the definition", async || {
        product.log().contains(told).then_some(())
    })
    .await;
    let log = product.log();
    assert_eq!(log.matches(told).count(), 1, "{log}");
    assert!(
        log.contains("get-card: there must be at least one tag"),
        "{log}"
    );
    assert!(
        !log.contains("plain"),
        "a tool that announces nothing is free: {log}"
    );
}

/// The sample service as a program.
const CARDS: &str = env!("CARGO_BIN_EXE_cards-under-test");

#[tokio::test]
async fn cl_27_the_metrics_of_a_service_over_http_are_read() {
    let mut command = Command::new(CARDS);
    command
        .args(["--http", "127.0.0.1:0"])
        .env_remove("RUST_LOG");
    let cards = Listening::start(command, "address=").await;
    let config =
        json!({ "mcpServers": { "cards": { "url": format!("http://{}/mcp", cards.place) } } });
    let home = Home::new(PROGRAMS, &config);
    let place = format!("http://{}/metrics", cards.place);
    let line_27 = |report: &Value| {
        let lines = of_tool(report, "list-decks")["lines"].as_array();
        let mut lines = lines.expect("a list").iter();
        let line = lines.find(|line| line["line"] == 27);
        line.expect("there are 29 lines").clone()
    };
    // Without calls there may be nothing to show; with them, what is shown is of this very tool.
    let ran = home
        .run(&["contract", "check", "cards", "-o", "json"])
        .await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let line = line_27(&ran.json());
    assert_eq!(line["status"], "holds", "{line}");
    let shown = line["evidence"].as_str().expect("a text");
    assert!(
        shown.starts_with(&format!("{place} shows mcp_tool_")),
        "{line}"
    );
    assert!(shown.contains("list-decks"), "{line}");
}

async fn check_file(home: &Home, content: &str, flags: &[&str]) -> Ran {
    let path: PathBuf = home.folder().join("tools.json");
    std::fs::write(&path, content).expect("the file can be written");
    let path = path.to_str().expect("the folder has a plain name");
    home.run(&[&["contract", "check", path], flags].concat())
        .await
}

/// The numbers of the lines that a tool violates.
fn violated(report: &Value, tool: &str) -> Vec<u64> {
    let lines = of_tool(report, tool)["lines"].as_array().expect("a list");
    let violated = lines.iter().filter(|line| line["status"] == "violated");
    violated
        .map(|line| line["line"].as_u64().expect("a number"))
        .collect()
}

fn of_tool<'a>(report: &'a Value, tool: &str) -> &'a Value {
    let tools = report["tools"].as_array().expect("a list");
    let found = tools.iter().find(|one| one["tool"] == tool);
    found.unwrap_or_else(|| panic!("no {tool} in {report}"))
}

/// A server whose two tools announce the contract and answer with a confidence that is none.
fn breaking() -> Fixture {
    let mut result = good_result();
    result["agentHints"]["confidence"] = json!("very");
    Fixture::new(PROGRAMS)
        .tools(&[reading().to_string(), writing().to_string()])
        .result("get-card", &answer(&result))
        .result("add-card", &answer(&result))
}

fn answer(structured: &Value) -> String {
    json!({ "content": [{ "type": "text", "text": "a card" }], "structuredContent": structured })
        .to_string()
}

fn reading() -> Value {
    let description = "Reads one card by its id. Use when you know the id and need the text. \
                       Returns the card with both sides. For example: show the answer of a card.";
    let schema = json!({
        "type": "object",
        "properties": { "cardId": { "type": "string", "pattern": "^card_[0-9]+$", "description": "The id of the card" } },
        "required": ["cardId"],
        "additionalProperties": false,
    });
    json!({
        "name": "get-card",
        "description": description,
        "inputSchema": schema,
        "annotations": { "readOnlyHint": true },
        "_meta": { "dev.mcpproxy/definition": {
            "name": "get-card", "description": description, "version": "1.0.0", "permissions": ["cards:read"],
            "category": "query", "responseTime": "fast", "cacheable": true, "cacheTTL": 3600, "idempotent": true,
            "examples": [{ "description": "A card", "params": { "cardId": "card_123" }, "expectedResult": { "id": "card_123" } }],
            "tags": ["cards"],
        } },
    })
}

fn writing() -> Value {
    let description = "Adds a card to the box. Use when a new question comes up. \
                       Returns the card with its id. For example: keep a word that was just learned.";
    let schema = json!({
        "type": "object",
        "properties": { "front": { "type": "string", "maxLength": 500, "description": "The question" } },
        "required": ["front"],
        "additionalProperties": false,
    });
    json!({
        "name": "add-card",
        "description": description,
        "inputSchema": schema,
        "annotations": { "readOnlyHint": false, "destructiveHint": false },
        "_meta": { "dev.mcpproxy/definition": {
            "name": "add-card", "description": description, "version": "1.0.0", "permissions": ["cards:create"],
            "category": "mutation", "responseTime": "fast", "cacheable": false, "idempotent": false,
            "examples": [{ "description": "A word", "params": { "front": "Haus" }, "expectedResult": { "id": "card_1" } }],
            "tags": ["cards"],
        } },
    })
}

fn good_result() -> Value {
    json!({
        "data": { "id": "card_123" },
        "agentHints": {
            "suggestedNextActions": [], "relatedResources": [], "confidence": 0.95, "sourceQuality": "high",
            "validityPeriod": "short", "contextNeeded": [], "assumptions": [], "riskFactors": [], "dependencies": [],
            "estimatedImpact": { "benefit": 0.85, "effort": 0.2, "roi": 4.25 }, "preferenceAlignment": [],
            "reasoning": "confidence 0.95: completeness 1.00 (1 of 1).",
        },
        "metadata": { "toolVersion": "1.0.0", "timestamp": "2026-01-31T12:00:00Z", "executionTime": 1.5, "serviceVersion": "0.3.0" },
    })
}
