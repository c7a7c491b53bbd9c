//! What is recorded beside the outcome of a call: warnings, searches, sizes, and who asked.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use http::Method;
use mcpproxy_tests::{Client, HttpClient, eventually};
use serde_json::{Value, json};

use crate::stage::Stage;

#[tokio::test]
async fn warnings_are_on_record() {
    let stage = Stage::start(&json!({ "strict_server_validation": false })).await;
    for (operation, tool, code) in [
        ("write", "look", "OVERLY_CAUTIOUS"),
        ("read", "burn", "SERVER_MISMATCH"),
        ("destructive", "burn", ""),
    ] {
        let arguments =
            json!({ "name": format!("shelf:{tool}"), "intent": { "operation_type": operation } });
        let result = stage.call(operation, &arguments).await;
        let warnings = &result["_meta"]["dev.mcpproxy/warnings"];
        assert_eq!(
            warnings[0]["code"].as_str().unwrap_or_default(),
            code,
            "{result}"
        );
        let record = stage.record(&result).await;
        let expected = if code.is_empty() {
            &json!([])
        } else {
            warnings
        };
        assert_eq!(&record["warnings"], expected, "{record}");
        assert_eq!(record["status"], "success", "{record}");
    }
}

#[tokio::test]
async fn al_01_every_call_and_every_search_has_one_record() {
    let stage = Stage::start(&json!({})).await;
    let client = &stage.client;
    let nothing = json!({});
    let mut ids = Vec::new();
    for (operation, tool, outcome) in [
        ("read", "look", "success"),
        ("write", "put", "success"),
        ("destructive", "burn", "success"),
        ("write", "regret", "error"),
        ("read", "fail", "error"),
        ("write", "burn", "blocked"),
        ("read", "nothing", "blocked"),
    ] {
        let result = client
            .call_as(operation, &format!("shelf:{tool}"), &nothing)
            .await;
        let record = stage.record(&result).await;
        assert_eq!(record["status"], outcome, "{record}");
        ids.push(record["id"].clone());
    }
    client
        .call("retrieve_tools", &json!({ "query": "look" }))
        .await;
    let names = json!({ "names": ["shelf:look"] });
    client.call("describe_tool", &names).await;
    let page = eventually("the searches are on record", async || {
        let page = stage.product.get("/activity?limit=1000").await;
        let records = page["activities"].as_array().unwrap().clone();
        let searches = records.iter().filter(|one| one["type"] == "discovery");
        (searches.count() == 2).then_some(records)
    })
    .await;
    let calls = page.iter().rev().filter(|one| {
        let kind = one["type"].as_str().unwrap_or_default();
        ["tool_call", "policy_decision"].contains(&kind)
    });
    let recorded: Vec<Value> = calls.map(|record| record["id"].clone()).collect();
    assert_eq!(recorded, ids, "each call once, and no other");
}

#[tokio::test]
async fn searches_are_on_record_with_what_they_found() {
    let stage = Stage::start(&json!({})).await;
    let query = json!({ "query": "burns grüße", "limit": 2, "read_only_only": false });
    let found = stage.client.call("retrieve_tools", &query).await;
    let names = json!(["shelf:look", "shelf:nothing"]);
    let described = stage
        .client
        .call("describe_tool", &json!({ "names": names }))
        .await;
    assert_eq!(
        described["structuredContent"]["tools"][0]["name"],
        "shelf:look"
    );
    stage
        .client
        .call("retrieve_tools", &json!({ "query": 7 }))
        .await;
    let records = eventually("the searches are on record", async || {
        let page = stage.product.get("/activity?type=discovery").await;
        let records = page["activities"].as_array().unwrap().clone();
        (records.len() == 3).then_some(records)
    })
    .await;
    let [refused, described, searched] = &records[..] else {
        panic!()
    };
    assert_eq!(searched["tool_name"], "retrieve_tools", "{searched}");
    assert_eq!(searched["arguments"]["query"], "burns grüße", "{searched}");
    assert_eq!(searched["arguments"]["limit"], 2, "{searched}");
    let tools = found["structuredContent"]["tools"].as_array().unwrap();
    let tools: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
    assert!(!tools.is_empty());
    let expected = json!({ "tools": tools, "total": found["structuredContent"]["total"] });
    assert_eq!(sorted(&searched["response"]), expected, "{searched}");
    assert_eq!(described["arguments"]["names"], names, "{described}");
    assert_eq!(
        described["response"]["tools"],
        json!(["shelf:look"]),
        "{described}"
    );
    assert_eq!(refused["error"]["code"], "INVALID_ARGUMENTS", "{refused}");
    assert_eq!(refused["status"], "blocked", "{refused}");
    for record in &records {
        assert!(record["session_id"].is_string(), "{record}");
        assert_eq!(record["session_id"], searched["session_id"]);
        assert_eq!(record["intent_type"], Value::Null, "{record}");
    }
}

#[tokio::test]
async fn payloads_are_cut_and_their_sizes_kept() {
    let stage = Stage::start(&json!({ "max_payload_bytes": 1024 })).await;
    for (length, is_cut) in [(10, false), (2_000, true), (100_000, true)] {
        let args = json!({ "word": "é".repeat(length) });
        let arguments =
            json!({ "name": "shelf:put", "args": args, "intent": { "operation_type": "write" } });
        let result = stage.call("write", &arguments).await;
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, format!("put {args}"), "the answer is whole");
        let record = stage.record(&result).await;
        assert_eq!(record["arguments_size"], args.to_string().len(), "{record}");
        let sent = json!({ "content": [{ "type": "text", "text": text }] }).to_string();
        assert_eq!(record["response_size"], sent.len(), "{record}");
        for (payload, flag) in [
            ("arguments", "arguments_truncated"),
            ("response", "response_truncated"),
        ] {
            assert_eq!(record[flag], is_cut, "{record}");
            if is_cut {
                let kept = record[payload].as_str().unwrap().len();
                assert!(
                    (1022..=1024).contains(&kept),
                    "{kept} bytes, whole characters"
                );
            }
        }
    }
}

#[tokio::test]
async fn who_asked_is_on_record() {
    let stage = Stage::start(&json!({})).await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let header = format!("00-{trace}-00f067aa0ba902b7-01");
    let arguments = json!({ "name": "shelf:look", "intent": { "operation_type": "read" } });
    let params = json!({ "name": "call_tool_read", "arguments": arguments });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let answer = stage
        .client
        .post(&[("traceparent", &header)], message.to_string())
        .await;
    let result = answer.json()["result"].clone();
    let record = stage.record(&result).await;
    assert_eq!(record["trace_id"], trace, "{record}");
    assert_eq!(
        record["metadata"]["client"],
        json!({ "name": "mcpproxy-tests", "version": "1" })
    );
    assert_eq!(
        record["request_id"],
        result["_meta"]["dev.mcpproxy/request_id"]
    );
    let by_request = format!(
        "/activity?request_id={}",
        record["request_id"].as_str().unwrap()
    );
    assert_eq!(
        stage.product.get(&by_request).await["activities"],
        json!([record])
    );

    let mut body = arguments.clone();
    body["variant"] = json!("call_tool_read");
    let client = HttpClient::without_session(&stage.product.rest("/tools/call"));
    let key = stage.product.key();
    let headers = [("x-api-key", key.as_str()), ("traceparent", &header)];
    let answer = client.send(Method::POST, &headers, body.to_string()).await;
    let record = stage.record(&answer.json()).await;
    assert_eq!(record["trace_id"], trace, "{record}");
    assert_eq!(record["session_id"], Value::Null, "{record}");
    let ran = stage
        .product
        .run(&["call", "tool-read", "shelf:look", "-o", "json"])
        .await;
    let record = stage.record(&ran.json()).await;
    assert_eq!(record["agent"], "mcpproxy-cli", "{record}");
    let own = record["trace_id"].as_str().unwrap_or_default();
    assert!(own.len() == 32 && own != trace, "{record}");
}

/// Without the order that members were sent in.
fn sorted(value: &Value) -> Value {
    serde_json::from_str(&value.to_string()).unwrap()
}
