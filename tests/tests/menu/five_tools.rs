//! What a client sees of the gateway itself: the menu of five tools, and the protocol.

use mcpproxy_tests::{Client, Home, HttpClient, Product, decode, field};
use serde_json::{Value, json};

use crate::PROGRAMS;

/// The bound the product promises for the menu.
const MENU_LIMIT: usize = 6144;

const CALL_TOOL_IS_GONE: &str = "Tool 'call_tool' not found. Use call_tool_read, call_tool_write, or call_tool_destructive with matching intent.operation_type. See retrieve_tools for annotations and recommendations.";

#[tokio::test]
async fn the_menu_is_five_tools_below_6_kilobytes_on_every_face_and_never_changes() {
    for mode in ["two_key", "inferred"] {
        let config = json!({ "intent_declaration": { "mode": mode } });
        let product = Product::start(PROGRAMS, &config).await;
        let menu = list(&product.connect().await).await;
        check_menu(&menu, mode);
        assert!(menu.len() < MENU_LIMIT, "{mode}: {} bytes", menu.len());
        assert_eq!(
            list(&product.connect().await).await,
            menu,
            "{mode}: asked again"
        );
        assert_eq!(
            list(&product.stdio().await).await,
            menu,
            "{mode}: through the gateway"
        );
        let home = Home::new(PROGRAMS, &config);
        assert_eq!(
            list(&home.stdio().await).await,
            menu,
            "{mode}: another process"
        );
        let again = Product::start(PROGRAMS, &config).await;
        assert_eq!(
            list(&again.connect().await).await,
            menu,
            "{mode}: started again"
        );
    }
}

async fn list(client: &impl Client) -> String {
    field(&client.request_raw("tools/list", "{}").await, "result")
}

fn check_menu(menu: &str, mode: &str) {
    let menu = decode(menu);
    let tools = menu["tools"].as_array().cloned().unwrap_or_default();
    let hints: Vec<(&str, bool, bool)> = tools
        .iter()
        .map(|tool| {
            let hint = |name: &str| tool["annotations"][name].as_bool().unwrap_or_default();
            let name = tool["name"].as_str().unwrap_or_default();
            (name, hint("readOnlyHint"), hint("destructiveHint"))
        })
        .collect();
    assert_eq!(
        hints,
        [
            ("retrieve_tools", true, false),
            ("describe_tool", true, false),
            ("call_tool_read", true, false),
            ("call_tool_write", false, false),
            ("call_tool_destructive", false, true),
        ]
    );
    for tool in &tools[2..] {
        let schema = &tool["inputSchema"];
        let operation = tool["name"]
            .as_str()
            .unwrap_or_default()
            .trim_start_matches("call_tool_");
        let intent = &schema["properties"]["intent"];
        if mode == "two_key" {
            assert_eq!(schema["required"], json!(["name", "intent"]), "{tool}");
            assert_eq!(
                intent["properties"]["operation_type"]["enum"],
                json!([operation]),
                "{tool}"
            );
        } else {
            assert_eq!(schema["required"], json!(["name"]), "{tool}");
            assert!(intent.is_null(), "{tool}");
            for name in ["intent_data_sensitivity", "intent_reason"] {
                assert!(schema["properties"][name].is_object(), "{tool}");
            }
        }
    }
}

#[tokio::test]
async fn calling_call_tool_is_answered_with_what_to_use_instead() {
    let product = gateway().await;
    let params = json!({ "name": "call_tool", "arguments": { "name": "srv:read" } });
    let over_http = product.connect().await.request("tools/call", &params).await;
    let over_stdio = product.stdio().await.request("tools/call", &params).await;
    for answer in [over_http, over_stdio] {
        assert_eq!(
            answer["error"],
            json!({ "code": -32602, "message": CALL_TOOL_IS_GONE })
        );
    }
}

#[tokio::test]
async fn requests_that_cannot_be_answered_get_the_error_of_json_rpc() {
    let product = gateway().await;
    let (http, stdio) = (product.connect().await, product.stdio().await);
    for (method, params, code) in [
        ("tools/call", json!({ "name": "no_such_tool" }), -32602),
        ("tools/call", json!({ "name": "Call_Tool_Read" }), -32602),
        ("tools/call", json!({ "name": "" }), -32602),
        ("tools/call", json!({ "name": 7 }), -32602),
        ("tools/call", json!({ "arguments": {} }), -32602),
        ("tools/call", json!([]), -32602),
        ("tools/call", json!({}), -32602),
        ("no/such/method", json!({}), -32601),
        ("", json!({}), -32601),
        ("roots/list", json!({}), -32601),
        ("Tools/List", json!({}), -32601),
    ] {
        for answer in [
            http.request(method, &params).await,
            stdio.request(method, &params).await,
        ] {
            assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(!message.is_empty(), "{method} {params}: {answer}");
        }
    }
    let answer = http
        .exchange(r#"{"jsonrpc":"2.0","id":"x","method":"tools/call"}"#.to_owned())
        .await;
    assert_eq!(
        (&decode(&answer)["error"]["code"], &decode(&answer)["id"]),
        (&json!(-32602), &json!("x"))
    );
}

#[tokio::test]
async fn arguments_of_a_menu_tool_that_are_no_object_are_invalid_arguments() {
    let product = gateway().await;
    let client = product.connect().await;
    for tool in ["retrieve_tools", "describe_tool", "call_tool_read"] {
        for arguments in [json!([]), json!("text"), json!(7)] {
            let result = client.call(tool, &arguments).await;
            let error = &result["structuredContent"]["error"];
            assert_eq!(
                error["code"], "INVALID_ARGUMENTS",
                "{tool} {arguments}: {result}"
            );
        }
    }
}

#[tokio::test]
async fn ids_come_back_as_they_were_sent() {
    let product = gateway().await;
    let (http, stdio) = (product.connect().await, product.stdio().await);
    for id in [
        "0",
        "-1",
        "9007199254740993",
        r#""""#,
        r#""a \u00e9 b""#,
        r#""1""#,
    ] {
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        for answer in [
            http.exchange(message.clone()).await,
            stdio.exchange(message.clone()).await,
        ] {
            assert_eq!(decode(&answer)["id"], decode(id), "{answer}");
            assert_eq!(decode(&answer)["result"], json!({}), "{answer}");
        }
    }
}

#[tokio::test]
async fn initialize_negotiates_every_revision_that_has_sessions() {
    let product = gateway().await;
    let stdio = product.stdio().await;
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let params = json!({
            "protocolVersion": asked, "capabilities": {}, "clientInfo": { "name": "c", "version": "1" },
        });
        let http = HttpClient::without_session(&product.endpoint());
        for answer in [
            http.request("initialize", &params).await,
            stdio.request("initialize", &params).await,
        ] {
            let result = &answer["result"];
            assert_eq!(result["protocolVersion"], answered, "{asked}: {answer}");
            assert_eq!(result["serverInfo"]["name"], "mcpproxy", "{asked}");
            assert!(result["capabilities"]["tools"].is_object(), "{asked}");
            assert_ne!(
                result["capabilities"]["tools"]["listChanged"], true,
                "the menu is fixed"
            );
        }
    }
    let client = HttpClient::without_session(&product.endpoint());
    for params in [json!({}), json!([]), json!({ "protocolVersion": 7 })] {
        let answer: Value = client.request("initialize", &params).await;
        assert_eq!(answer["error"]["code"], -32602, "{params}: {answer}");
    }
}

async fn gateway() -> Product {
    Product::start(PROGRAMS, &json!({})).await
}
