//! Hints in results: those the gateway makes from what it saw, and those of servers, which it does not believe.

use mcpproxy_tests::agent_hints::{check_suggestion, hints, suggestion};
use mcpproxy_tests::{Client, Fixture, Home, Product, decode, eventually, field, fields};
use serde_json::{Value, json};

use crate::PROGRAMS;

const KEY: &str = "dev.mcpproxy/hints";

/// How often a pattern is repeated; with two calls each, that is 200 calls.
const ROUNDS: usize = 100;

const TOOLS: [&str; 2] = [
    r#"{"name":"list","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"open","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
];

#[tokio::test]
async fn what_followed_with_success_is_suggested_also_after_a_restart_until_it_fails() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let config = json!({ "mcpServers": { "srv": fixture.entry() } });
    let mut product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    for _ in 0..ROUNDS {
        client.call_allowed("read", "srv:list", &json!({})).await;
        client.call_allowed("read", "srv:open", &json!({})).await;
    }
    let clear = suggestion(&hints(
        &client.call_allowed("read", "srv:list", &json!({})).await,
    ))
    .expect("the tool that followed is suggested");
    check_suggestion(&clear, "srv:open");
    assert_eq!(product.stop().await, 0);

    // The same server, whose second tool does not work any more.
    let fixture = fixture.result(
        "open",
        r#"{"content":[{"type":"text","text":"locked"}],"isError":true}"#,
    );
    let _ = fixture.entry();
    let product = Product::start_in(product.into_home(), &[]).await;
    let client = product.connect().await;
    let remembered = eventually("what was called before the restart is known", async || {
        suggestion(&hints(
            &client.call_allowed("read", "srv:list", &json!({})).await,
        ))
    })
    .await;
    check_suggestion(&remembered, "srv:open");
    for _ in 0..ROUNDS / 2 {
        client.call_allowed("read", "srv:list", &json!({})).await;
        let failed = client.call_allowed("read", "srv:open", &json!({})).await;
        let reasoning = hints(&failed)["reasoning"].as_str().map(str::to_owned);
        assert!(
            reasoning.is_some_and(|text| text.starts_with("This call failed")),
            "{failed}"
        );
    }
    let mixed = suggestion(&hints(
        &client.call_allowed("read", "srv:list", &json!({})).await,
    ));
    let mixed = mixed.expect("it still works more often than not");
    assert!(
        mixed["confidence"].as_f64() < clear["confidence"].as_f64(),
        "{clear} {mixed}"
    );
}

#[tokio::test]
async fn hints_go_where_the_operator_says() {
    let result = r#"{ "content":[ {"type":"resource_link","uri":"demo://a","name":"A","n":1.10} ],"zeta":1e400 }"#;
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS).result("list", result);
    let answer = async |place: Option<&str>| {
        let mut config = json!({ "mcpServers": { "srv": fixture.entry() } });
        if let Some(place) = place {
            config["hints"] = json!({ "proxied": place });
        }
        let product = Product::start(PROGRAMS, &config).await;
        let client = product.connect().await;
        let text = client
            .call_raw(
                "call_tool_read",
                &request("srv:list", &json!({})).to_string(),
            )
            .await;
        let meta = decode(&field(&text, "_meta"));
        let id = meta["dev.mcpproxy/activity_id"].as_str().expect("an id");
        let kept = product.record(id).await["response"].to_string();
        assert!(
            !kept.contains(KEY),
            "the record is what the server said: {kept}"
        );
        (field(&text, "content"), field(&text, "zeta"), meta)
    };
    let own = r#"[ {"type":"resource_link","uri":"demo://a","name":"A","n":1.10} ]"#;

    for place in [None, Some("meta")] {
        let (content, zeta, meta) = answer(place).await;
        assert_eq!((content.as_str(), zeta.as_str()), (own, "1e400"));
        assert_eq!(meta[KEY]["sourceQuality"], "unknown", "{meta}");
    }
    let (content, zeta, meta) = answer(Some("off")).await;
    assert_eq!((content.as_str(), zeta.as_str()), (own, "1e400"));
    assert!(meta.get(KEY).is_none(), "{meta}");

    let (content, zeta, meta) = answer(Some("content")).await;
    assert_eq!(zeta, "1e400");
    assert!(meta.get(KEY).is_none(), "{meta}");
    let before = own.strip_suffix(']').expect("a list");
    assert!(content.starts_with(before), "{content}");
    let block = &decode(&content)[1];
    assert_eq!(block["type"], "text");
    let text = block["text"].as_str().expect("the block has a text");
    assert_eq!(decode(text)[KEY]["validityPeriod"], "short", "{text}");
}

#[tokio::test]
async fn hints_that_say_nothing_cost_no_tokens() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let config = json!({ "mcpServers": { "srv": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    for _ in 0..2 {
        let answer = client.call_allowed("read", "srv:list", &json!({})).await;
        assert!(answer["_meta"].get(KEY).is_none(), "{answer}");
        assert!(
            answer["_meta"]["dev.mcpproxy/activity_id"].is_string(),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn resources_that_a_result_names_are_related() {
    let result = r#"{"content":[{"type":"resource_link","uri":"demo://a","name":"A"}]}"#;
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS).result("list", result);
    let config = json!({ "mcpServers": { "srv": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    let answer = client
        .call_allowed("read", "srv:list", &json!({ "uri": "demo://b" }))
        .await;
    let related = hints(&answer)["relatedResources"].take();
    let expected = json!([
        { "type": "resource", "id": "demo://a", "label": "A", "relevance": 1.0 },
        { "type": "resource", "id": "demo://b", "label": "demo://b", "relevance": 1.0 },
    ]);
    assert_eq!(related, expected, "{answer}");
}

/// A tool that announces the contract, and two more of its server.
const CONTRACT_TOOLS: [&str; 3] = [
    r#"{"name":"get-card","inputSchema":{},"annotations":{"readOnlyHint":true},"_meta":{"dev.mcpproxy/definition":{"name":"get-card","category":"query","cacheable":false}}}"#,
    r#"{"name":"review-card","inputSchema":{},"annotations":{"readOnlyHint":false,"destructiveHint":false}}"#,
    r#"{"name":"drop-deck","inputSchema":{},"annotations":{"destructiveHint":true}}"#,
];

/// What it answers, around the suggested actions.
const BEFORE: &str = r#"{"data":{"big":18446744073709551617, "x":1.10},"agentHints":"#;
const AFTER: &str = concat!(
    r#","metadata":{ "toolVersion":"1.0.0","serviceVersion":"1.0.0","#,
    r#""timestamp":"2026-01-31T12:00:00Z","executionTime":1.50 }}"#
);

/// What its hints say besides the actions.
const OTHER_HINTS: &str = concat!(
    r#""relatedResources":[ ],"sourceQuality":"high","validityPeriod":"short","contextNeeded":[],"assumptions":[],"#,
    r#""riskFactors":[],"estimatedImpact":{"benefit":0.50,"effort":0.5,"roi":1.00},"preferenceAlignment":[ ],"vendor":[ 1e400 ]"#
);

#[tokio::test]
async fn actions_that_cannot_be_called_are_dropped_from_a_servers_hints() {
    let hints = |actions: &str, dependencies: &str| {
        format!(
            r#"{{"confidence":0.90,"suggestedNextActions":[{actions}],"dependencies":[{dependencies}],{OTHER_HINTS}}}"#
        )
    };
    let sent = hints(
        concat!(
            r#"{"action":"review-card","priority":"high","call_with":"call_tool_read"},"#,
            r#"{"action":"summon-card","priority":"critical"},"#,
            r#"{"action":"drop-deck","priority":"critical"}"#
        ),
        r#"{"action":"drop-deck","dependsOn":["review-card"],"type":"required"}"#,
    );
    let shown = hints(
        r#"{"action":"review-card","priority":"high","call_with":"call_tool_write","tool":"cards:review-card"}"#,
        "",
    );
    let content = r#"[{"type":"text","text":"a card","n":1.10}]"#;
    let result = format!(
        r#"{{ "content":{content} , "structuredContent":{BEFORE}{sent}{AFTER},"zeta":[ ] }}"#
    );
    let fixture = Fixture::new(PROGRAMS)
        .tools(&CONTRACT_TOOLS)
        .result("get-card", &result);
    let disabled = json!({ "tools": { "drop-deck": { "enabled": false } } });
    let config = json!({ "mcpServers": { "cards": fixture.entry_with(&disabled) } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    let arguments = request("cards:get-card", &json!({})).to_string();
    let text = client.call_raw("call_tool_read", &arguments).await;

    let names: Vec<String> = fields(&text).into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        ["content", "structuredContent", "zeta", "_meta"],
        "{text}"
    );
    assert_eq!(field(&text, "content"), content);
    assert_eq!(
        field(&text, "structuredContent"),
        format!("{BEFORE}{shown}{AFTER}")
    );
    assert_eq!(field(&text, "zeta"), "[ ]");
    let meta = decode(&field(&text, "_meta"));
    let warnings = json!([{
        "code": "HINTS_VETTED",
        "message": "In the hints of the tool 2 suggested actions were dropped",
    }]);
    assert_eq!(meta["dev.mcpproxy/warnings"], warnings, "{meta}");
    assert!(
        meta.get(KEY).is_none(),
        "the server has hints of its own: {meta}"
    );
    let id = meta["dev.mcpproxy/activity_id"].as_str().expect("an id");
    let record = product.record(id).await;
    assert_eq!(record["warnings"], warnings, "{record}");
    assert!(
        !record["response"].to_string().contains("summon-card"),
        "{record}"
    );
}

#[tokio::test]
async fn hints_of_a_server_that_does_not_announce_the_contract_are_none_of_our_business() {
    let result = concat!(
        r#"{"content":[],"structuredContent":{"agentHints":{"suggestedNextActions":["#,
        r#"{"action":"summon-card","priority":"critical"}]}}}"#
    );
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS).result("list", result);
    let config = json!({ "mcpServers": { "srv": fixture.entry() } });
    let home = Home::new(PROGRAMS, &config);
    let arguments = request("srv:list", &json!({})).to_string();
    let text = home
        .stdio()
        .await
        .call_raw("call_tool_read", &arguments)
        .await;
    assert_eq!(
        field(&text, "structuredContent"),
        r#"{"agentHints":{"suggestedNextActions":[{"action":"summon-card","priority":"critical"}]}}"#
    );
    let meta = decode(&field(&text, "_meta"));
    assert!(meta.get("dev.mcpproxy/warnings").is_none(), "{meta}");
}

fn request(tool: &str, arguments: &Value) -> Value {
    json!({ "name": tool, "args": arguments, "intent": { "operation_type": "read" } })
}
