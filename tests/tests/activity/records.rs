//! What is recorded of calls and refusals, to the letter.

use mcpproxy_tests::{Client, Product, decode, eventually};
use serde_json::{Value, json};

use crate::stage::{Stage, check_call};

/// A variant, what it is given, and the code of the refusal.
const REFUSALS: [(&str, &str, &str); 20] = [
    ("read", r#"{"name":"shelf:look"}"#, "MISSING_INTENT"),
    (
        "read",
        r#"{"name":"shelf:look","intent":{"reason":"x"}}"#,
        "MISSING_OPERATION_TYPE",
    ),
    (
        "read",
        r#"{"name":"shelf:look","intent_reason":"x"}"#,
        "MISSING_OPERATION_TYPE",
    ),
    (
        "read",
        r#"{"name":"shelf:look","intent":{"operation_type":7}}"#,
        "INVALID_OPERATION_TYPE",
    ),
    (
        "read",
        r#"{"name":"shelf:look","intent":{"operation_type":"write"}}"#,
        "INTENT_MISMATCH",
    ),
    (
        "write",
        r#"{"name":"shelf:burn","intent":{"operation_type":"write"}}"#,
        "SERVER_MISMATCH",
    ),
    (
        "read",
        r#"{"name":"shelf:plain","intent":{"operation_type":"read"}}"#,
        "UNANNOTATED_TOOL",
    ),
    (
        "destructive",
        r#"{"name":"shelf:burn","intent":{"operation_type":"destructive","data_sensitivity":"secret"}}"#,
        "INVALID_SENSITIVITY",
    ),
    (
        "read",
        r#"{"name":"shelf:look","intent":{"operation_type":"read","reason":"LONG"}}"#,
        "REASON_TOO_LONG",
    ),
    (
        "read",
        r#"{"name":"shelf:few","args":{"count":"x"},"intent":{"operation_type":"read"}}"#,
        "INVALID_ARGUMENTS",
    ),
    (
        "read",
        r#"{"name":"shelf:look","intent":"read"}"#,
        "INVALID_ARGUMENTS",
    ),
    (
        "read",
        r#"{"name":"shelf:look","intent":{"operation_type":"read"},"intent_operation_type":"write"}"#,
        "INVALID_ARGUMENTS",
    ),
    (
        "read",
        r#"{"name":"look","intent":{"operation_type":"read"}}"#,
        "INVALID_TOOL_NAME",
    ),
    (
        "read",
        r#"{"name":"shell:look","intent":{"operation_type":"read"}}"#,
        "UNKNOWN_SERVER",
    ),
    (
        "read",
        r#"{"name":"shelf:cook","intent":{"operation_type":"read"}}"#,
        "UNKNOWN_TOOL",
    ),
    (
        "read",
        r#"{"name":"shelf:off","intent":{"operation_type":"read"}}"#,
        "TOOL_DISABLED",
    ),
    (
        "read",
        r#"{"name":"out:look","intent":{"operation_type":"read"}}"#,
        "TOOL_DISABLED",
    ),
    (
        "read",
        r#"{"name":"held:look","intent":{"operation_type":"read"}}"#,
        "SERVER_QUARANTINED",
    ),
    (
        "read",
        r#"{"name":"shelf:rare","intent":{"operation_type":"read"}}"#,
        "RATE_LIMITED",
    ),
    (
        "read",
        r#"{"name":"shelf:look","args":{},"args_json":"{}","intent":{"operation_type":"read"}}"#,
        "INVALID_ARGUMENTS",
    ),
];

/// FR-031, FR-032: each refusal is a decision on record, with its code, variant and intent.
#[tokio::test]
async fn every_refusal_is_on_record_with_its_code() {
    let stage = Stage::start(&json!({ "unannotated": "at_least_write" })).await;
    stage
        .call(
            "read",
            &json!({ "name": "shelf:rare", "intent": { "operation_type": "read" } }),
        )
        .await;
    for (operation, arguments, code) in REFUSALS {
        let arguments = arguments.replace("LONG", &"x".repeat(1001));
        let arguments: Value = serde_json::from_str(&arguments).unwrap();
        let result = stage.call(operation, &arguments).await;
        let error = &result["structuredContent"]["error"];
        assert_eq!(error["code"], code, "{arguments}: {result}");
        let record = stage.record(&result).await;
        assert_eq!(
            (&record["type"], &record["status"]),
            (&json!("policy_decision"), &json!("blocked")),
            "{record}"
        );
        assert_eq!(record["error"]["code"], code, "{record}");
        assert_eq!(record["error"]["message"], result["content"][0]["text"]);
        assert_eq!(record["request_id"], error["request_id"]);
        assert_eq!(record["response"], Value::Null);
        check_call(&record, operation, &stage.client);
        let expected = arguments["name"].as_str().unwrap();
        let name = match (record["server_name"].as_str(), record["tool_name"].as_str()) {
            (Some(server), Some(tool)) => format!("{server}:{tool}"),
            (None, tool) => tool.unwrap_or_default().to_owned(),
            (Some(server), None) => panic!("{server} without a tool"),
        };
        assert_eq!(name, expected, "{record}");
    }
    let seen: Vec<&str> = REFUSALS.iter().map(|one| one.2).collect();
    let blocked = stage
        .product
        .get("/activity?type=policy_decision&limit=1000")
        .await;
    assert_eq!(blocked["activities"].as_array().unwrap().len(), seen.len());
    assert_eq!(
        stage.fixture.ledger(),
        ["rare {}"],
        "nothing refused was made"
    );
}

/// Variant, what it is given, the tool on record if any, and the bytes of the arguments.
const MALFORMED: [(&str, &str, &str, usize); 6] = [
    (
        "read",
        r#"{"name":"shelf:look","args":"no object","intent":{"operation_type":"read","reason":"why"}}"#,
        "shelf:look",
        r#""no object""#.len(),
    ),
    (
        "write",
        r#"{"name":"shelf:put","args":{"a":1,"a":2},"intent_reason":"why"}"#,
        "shelf:put",
        r#"{"a":1,"a":2}"#.len(),
    ),
    (
        "destructive",
        r#"{"name":"shelf:burn","args_json":"{","intent":{"reason":"why"}}"#,
        "shelf:burn",
        r#""{""#.len(),
    ),
    (
        "read",
        r#"{"name":"shelf:look","argz":{"secret":1},"intent":{"reason":"why"}}"#,
        "shelf:look",
        r#"{"name":"shelf:look","argz":{"secret":1},"intent":{"reason":"why"}}"#.len(),
    ),
    (
        "read",
        r#"{"name":7,"args":{},"intent":{"reason":"why"}}"#,
        "",
        2,
    ),
    ("read", r#"["secret"]"#, "", r#"["secret"]"#.len()),
];

#[tokio::test]
async fn a_call_with_malformed_arguments_was_on_record_without_server_tool_and_intent() {
    let stage = Stage::start(&json!({})).await;
    for (operation, arguments, named, size) in MALFORMED {
        let name = format!("call_tool_{operation}");
        let result = decode(&stage.client.call_raw(&name, arguments).await);
        let code = &result["structuredContent"]["error"]["code"];
        assert_eq!(code, "INVALID_ARGUMENTS", "{result}");
        let record = stage.record(&result).await;
        check_call(&record, operation, &stage.client);
        assert_eq!(record["type"], "policy_decision", "{record}");
        let (server, tool) = named.split_once(':').unzip();
        assert_eq!(record["server_name"].as_str(), server, "{record}");
        assert_eq!(record["tool_name"].as_str(), tool, "{record}");
        if arguments.starts_with('{') {
            assert_eq!(record["intent"]["reason"], "why", "{record}");
        }
        assert_eq!(record["arguments_size"], size, "{record}");
        assert!(
            !record["arguments"].to_string().contains("secret"),
            "{record}"
        );
    }
    let direct = stage.product.connect_to("/s/shelf").await;
    let result = decode(&direct.call_raw("burn", "[1]").await);
    let record = stage.record(&result).await;
    assert_eq!(record["type"], "policy_decision", "{record}");
    assert_eq!(record["server_name"], "shelf", "{record}");
    assert_eq!(record["tool_name"], "burn", "{record}");
    assert_eq!(record["tool_variant"], "call_tool_destructive", "{record}");
    assert_eq!(record["arguments_size"], 3, "{record}");
}

#[tokio::test]
async fn unknown_names_of_the_menu_left_no_record() {
    let stage = Stage::start(&json!({})).await;
    let long = "x".repeat(5_000);
    let product = &stage.product;
    let mut count = 0;
    for path in ["", "/all", "/s/shelf"] {
        let client = product.connect_to(path).await;
        for name in ["call_tool", "retrieve_tool", &long] {
            count += 1;
            check_unknown(product, &client, name, count).await;
        }
    }
    let client = product.stdio().await;
    check_unknown(product, &client, "call_tool", count + 1).await;
}

/// Calls a tool that there is not; `count` records have to be there then.
async fn check_unknown(product: &Product, client: &impl Client, name: &str, count: usize) {
    let params = json!({ "name": name, "arguments": { "secret": 1 } });
    let answer = client.request("tools/call", &params).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let record = eventually("the refusal is on record", async || {
        let page = product.get("/activity?type=policy_decision").await;
        let records = page["activities"].as_array()?;
        (records.len() == count).then(|| records[0].clone())
    })
    .await;
    assert_eq!(record["status"], "blocked", "{record}");
    assert_eq!(record["error"]["code"], "UNKNOWN_TOOL", "{record}");
    let recorded = record["tool_name"].as_str().expect("it has a name");
    assert!(name.starts_with(recorded.trim_end_matches('…')), "{record}");
    assert!(recorded.chars().count() <= 301, "{record}");
    assert_eq!(
        record["arguments_size"],
        r#"{"secret":1}"#.len(),
        "{record}"
    );
    assert!(!record.to_string().contains("secret"), "{record}");
}

#[tokio::test]
async fn what_came_of_a_call_is_on_record() {
    let stage = Stage::start(&json!({})).await;
    for (operation, name, status, code) in [
        ("read", "shelf:look", "success", ""),
        ("write", "shelf:put", "success", ""),
        ("destructive", "shelf:burn", "success", ""),
        ("write", "shelf:regret", "error", "TOOL_ERROR"),
        ("read", "shelf:fail", "error", "UPSTREAM_ERROR"),
        ("read", "shelf:hang", "error", "UPSTREAM_TIMEOUT"),
        ("write", "gone:any", "error", "UPSTREAM_UNAVAILABLE"),
    ] {
        let intent = json!({ "operation_type": operation });
        let arguments = json!({ "name": name, "args": { "word": "grüße" }, "intent": intent });
        let result = stage.call(operation, &arguments).await;
        let record = stage.record(&result).await;
        assert_eq!(record["type"], "tool_call", "{record}");
        assert_eq!(record["status"], status, "{record}");
        assert_eq!(
            record["error"]["code"].as_str().unwrap_or_default(),
            code,
            "{record}"
        );
        check_call(&record, operation, &stage.client);
        assert!(record["duration_ms"].as_f64().unwrap() >= 0.0, "{record}");
        assert_eq!(
            record["arguments_size"],
            r#"{"word":"grüße"}"#.len(),
            "{record}"
        );
        let (server, tool) = name.split_once(':').unwrap();
        assert_eq!(
            (&record["server_name"], &record["tool_name"]),
            (&json!(server), &json!(tool))
        );
        if code.starts_with("UPSTREAM") {
            assert_eq!(record["response"], Value::Null, "{record}");
            continue;
        }
        assert_eq!(record["arguments"], json!({ "word": "grüße" }));
        assert_eq!(record["response"]["content"], result["content"], "{record}");
        assert_eq!(record["response"]["isError"], result["isError"]);
        let is_writing = operation != "read";
        assert_eq!(
            record["opened_seq"].is_i64(),
            is_writing,
            "written before it was sent: {record}"
        );
    }
}

/// FR-031, FR-032: the declared intent is kept as it was given, in either form and mode.
#[tokio::test]
async fn the_intent_is_kept_as_it_was_declared() {
    let long = "é".repeat(1000);
    let cases = |inferred: bool| {
        let mut cases = vec![
            (
                json!({ "intent": { "operation_type": "write", "data_sensitivity": "private", "reason": long } }),
                json!({ "operation_type": "write", "data_sensitivity": "private", "reason": long }),
                "private",
            ),
            (
                json!({ "intent_operation_type": "write", "intent_data_sensitivity": "public", "intent_reason": "flat" }),
                json!({ "operation_type": "write", "data_sensitivity": "public", "reason": "flat" }),
                "public",
            ),
            (
                json!({ "intent": { "operation_type": "write" }, "intent_reason": "both" }),
                json!({ "operation_type": "write", "reason": "both" }),
                "unknown",
            ),
            (
                json!({ "intent": { "operation_type": "read", "reason": "mismatch" } }),
                json!({ "operation_type": "read", "reason": "mismatch" }),
                "unknown",
            ),
            (
                json!({ "intent": { "operation_type": 7, "data_sensitivity": ["x"] } }),
                json!({ "operation_type": 7, "data_sensitivity": ["x"] }),
                "unknown",
            ),
            (json!({ "intent": "write" }), json!("write"), "unknown"),
        ];
        if inferred {
            cases.push((json!({}), json!({ "operation_type": "write" }), "unknown"));
            cases.push((
                json!({ "intent_data_sensitivity": "internal" }),
                json!({ "operation_type": "write", "data_sensitivity": "internal" }),
                "internal",
            ));
        } else {
            cases.push((json!({}), Value::Null, "unknown"));
            cases.push((json!({ "intent": null }), Value::Null, "unknown"));
            cases.push((json!({ "intent": {} }), json!({}), "unknown"));
        }
        cases
    };
    for mode in ["two_key", "inferred"] {
        let stage = Stage::start(&json!({ "mode": mode })).await;
        for (mut arguments, expected, sensitivity) in cases(mode == "inferred") {
            arguments["name"] = json!("shelf:put");
            let result = stage.call("write", &arguments).await;
            let record = stage.record(&result).await;
            assert_eq!(
                record["metadata"].get("intent").unwrap_or(&Value::Null),
                &expected,
                "{mode} {arguments}: {record}"
            );
            assert_eq!(record["intent"], expected, "{record}");
            assert_eq!(
                record["data_sensitivity"], sensitivity,
                "{mode} {arguments}: {record}"
            );
            check_call(&record, "write", &stage.client);
        }
    }
}

/// FR-033, SC-008: exactly the records of an operation are found by it, refused ones included.
#[tokio::test]
async fn records_are_found_by_the_operation_of_their_variant() {
    let stage = Stage::start(&json!({})).await;
    let mut expected: [Vec<String>; 3] = Default::default();
    for round in 0..4 {
        for (index, (operation, tool)) in
            [("read", "look"), ("write", "put"), ("destructive", "burn")]
                .iter()
                .enumerate()
        {
            // Also calls that were refused, because they declared another operation than their variant's.
            let declared = if round == 3 { "read" } else { operation };
            let declared = if round == 3 && index == 0 {
                "write"
            } else {
                declared
            };
            let arguments = json!({ "name": format!("shelf:{tool}"), "intent": { "operation_type": declared } });
            let result = stage.call(operation, &arguments).await;
            assert_eq!(result["isError"] == json!(true), round == 3, "{result}");
            expected[index].push(
                stage.record(&result).await["id"]
                    .as_str()
                    .unwrap()
                    .to_owned(),
            );
        }
    }
    for (operation, mut expected) in ["read", "write", "destructive"].iter().zip(expected) {
        let page = stage
            .product
            .get(&format!("/activity?intent_type={operation}"))
            .await;
        let found = page["activities"].as_array().unwrap();
        let found: Vec<&str> = found
            .iter()
            .map(|record| record["id"].as_str().unwrap())
            .collect();
        expected.reverse();
        assert_eq!(found, expected, "{operation}");
        let command = ["activity", "list", "--intent-type", operation, "-o", "json"];
        assert_eq!(
            stage.product.run(&command).await.json(),
            page,
            "{operation}"
        );
    }
}
