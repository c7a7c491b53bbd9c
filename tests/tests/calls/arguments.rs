//! Arguments that do not fit are refused before anything is sent, with everything an agent
//! needs to repair the call.

use mcpproxy_tests::{Client, Fixture, HttpClient, Product, decode};
use serde_json::{Value, json};

use crate::PROGRAMS;

const TOOLS: [&str; 2] = [
    r#"{"name":"create_issue","description":"Create an issue","inputSchema":{"type":"object","properties":{"title":{"type":"string","minLength":3},"labels":{"type":"array","items":{"type":"string"}},"size":{"type":"integer","maximum":5}},"required":["title","size"],"additionalProperties":false},"annotations":{"readOnlyHint":false}}"#,
    r#"{"name":"list_issues","description":"List issues","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
];

/// The gateway with one server behind it, and a client.
struct Stage {
    fixture: Fixture,
    product: Product,
    client: HttpClient,
}

/// The text of `call_tool_read` arguments for `list_issues`, with more members.
fn list_issues(more: &str) -> String {
    format!(r#"{{"name":"srv:list_issues","intent":{{"operation_type":"read"}}{more}}}"#)
}

#[tokio::test]
async fn arguments_that_are_no_single_object_are_refused() {
    let stage = stage().await;
    for (more, path) in [
        (r#","args":{},"args_json":"{}""#, "/args"),
        (r#","args":{"a":1},"args_json":"""#, "/args"),
        (r#","args_json":"{\"a\":""#, "/args_json"),
        (r#","args_json":"{} {}""#, "/args_json"),
        (r#","args_json":"[1]""#, "/args_json"),
        (r#","args_json":"\"text\"""#, "/args_json"),
        (r#","args_json":{"a":1}"#, "/args_json"),
        (r#","args_json":7"#, "/args_json"),
        (r#","args":"{}]""#, "/args"),
        (r#","args":"[]""#, "/args"),
        (r#","args":[]"#, "/args"),
        (r#","args":7"#, "/args"),
    ] {
        let error = stage
            .refused("call_tool_read", &list_issues(more), "INVALID_ARGUMENTS")
            .await;
        let violations = &error["details"]["violations"];
        assert_eq!(violations[0]["path"], path, "{more}: {error}");
        assert_eq!(
            violations.as_array().map(Vec::len),
            Some(1),
            "{more}: {error}"
        );
        let message = error["message"].as_str().unwrap_or_default();
        assert!(
            message.contains(path),
            "the message names the place: {message}"
        );
    }
    stage.check_nothing_was_sent();
}

#[tokio::test]
async fn arguments_that_are_left_out_count_as_none() {
    let stage = stage().await;
    let cases = [
        "",
        r#","args":null"#,
        r#","args_json":null"#,
        r#","args":{}"#,
        r#","args_json":"{}""#,
    ];
    for more in cases {
        let result = stage.call("call_tool_read", &list_issues(more)).await;
        assert!(result["isError"].is_null(), "{more}: {result}");
    }
    assert_eq!(stage.fixture.ledger(), vec!["list_issues {}"; cases.len()]);
}

#[tokio::test]
async fn every_violation_of_the_schema_is_reported_with_its_path_and_the_schema() {
    let stage = stage().await;
    let arguments = json!({
        "name": "srv:create_issue", "intent": { "operation_type": "write" },
        "args": { "title": "ab", "labels": ["a", 7], "colour": 1 },
    });
    let error = stage
        .refused(
            "call_tool_write",
            &arguments.to_string(),
            "INVALID_ARGUMENTS",
        )
        .await;
    let violations = error["details"]["violations"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mut paths: Vec<&str> = violations
        .iter()
        .filter_map(|one| one["path"].as_str())
        .collect();
    paths.sort_unstable();
    assert_eq!(paths, ["", "/colour", "/labels/1", "/title"], "{error}");
    let message = error["message"].as_str().unwrap_or_default();
    for part in ["srv:create_issue", "/colour", "/labels/1", "/title", "size"] {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert_eq!(
        error["details"]["input_schema"],
        decode(TOOLS[0])["inputSchema"]
    );
    stage.check_nothing_was_sent();

    let repaired = json!({
        "name": "srv:create_issue", "intent": { "operation_type": "write" },
        "args_json": r#"{"title":"abc","size":5}"#,
    });
    let result = stage.call("call_tool_write", &repaired.to_string()).await;
    assert!(result["isError"].is_null(), "{result}");
    assert_eq!(
        stage.fixture.ledger(),
        [r#"create_issue {"title":"abc","size":5}"#]
    );
}

#[tokio::test]
async fn keys_that_are_given_twice_are_refused() {
    let stage = stage().await;
    for more in [
        r#","args":{"a":1,"a":2}"#,
        r#","args":{"deep":[{"a":1,"\u0061":2}]}"#,
        r#","args_json":"{\"a\":1,\"a\":2}""#,
        r#","args":{},"args":{"a":1}"#,
        r#","name":"srv:create_issue""#,
        r#","intent":{"operation_type":"read"}"#,
    ] {
        stage
            .refused("call_tool_read", &list_issues(more), "INVALID_ARGUMENTS")
            .await;
    }
    let twice =
        r#"{"name":"srv:list_issues","intent":{"operation_type":"read","operation_type":"write"}}"#;
    stage
        .refused("call_tool_read", twice, "INVALID_ARGUMENTS")
        .await;
    stage.check_nothing_was_sent();
}

#[tokio::test]
async fn a_number_was_checked_as_another_one_than_was_sent() {
    let stage = stage().await;
    let direct = stage.product.connect_to("/all").await;
    for size in [
        "5.0000000000000000001",
        "4.9999999999999999999",
        "1e-400",
        "-18446744073709551617",
    ] {
        let args = format!(r#"{{"title":"abc","size":{size}}}"#);
        let intent = r#""intent":{"operation_type":"write"}"#;
        for given in [
            format!(r#""args":{args}"#),
            format!(r#""args_json":{}"#, Value::from(&*args)),
        ] {
            let arguments = format!(r#"{{"name":"srv:create_issue",{given},{intent}}}"#);
            let error = stage
                .refused("call_tool_write", &arguments, "INVALID_ARGUMENTS")
                .await;
            let violations = &error["details"]["violations"];
            assert_eq!(violations[0]["path"], "/size", "{error}");
            let message = error["message"].as_str().unwrap_or_default();
            assert!(message.contains(size), "{message}");
        }
        let result = decode(&direct.call_raw("srv__create_issue", &args).await);
        let code = &result["structuredContent"]["error"]["code"];
        assert_eq!(*code, "INVALID_ARGUMENTS", "{result}");
    }
    stage.check_nothing_was_sent();
    // A number that is written in another way is the same, and one that nobody compares may be any.
    let sent = r#"{"title":"abc","size":50.0e-1}"#;
    direct.call_raw("srv__create_issue", sent).await;
    let any = r#"{"n":10.0000000000000000001}"#;
    direct.call_raw("srv__list_issues", any).await;
    assert_eq!(
        stage.fixture.ledger(),
        [format!("create_issue {sent}"), format!("list_issues {any}")]
    );
}

#[tokio::test]
async fn arguments_nested_10_000_deep_are_refused_without_harm() {
    let mut stage = stage().await;
    let (open, close) = (r#"{"a":"#.repeat(10_000), "}".repeat(10_000));
    let deep = format!("{open}1{close}");
    let encoded = format!(r#","args_json":{}"#, Value::from(deep.as_str()));
    stage
        .refused(
            "call_tool_read",
            &list_issues(&encoded),
            "INVALID_ARGUMENTS",
        )
        .await;
    // As an object it is too deep for the message itself, or for the arguments in it.
    let params = format!(
        r#"{{"name":"call_tool_read","arguments":{}}}"#,
        list_issues(&format!(r#","args":{deep}"#))
    );
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    let answer = stage.client.post(&[], message).await.json();
    let is_refused = answer["error"]["code"].is_i64() || answer["result"]["isError"] == true;
    assert!(is_refused, "{answer}");
    stage.check_nothing_was_sent();
    let result = stage.call("call_tool_read", &list_issues("")).await;
    assert!(
        result["isError"].is_null() && stage.product.is_running(),
        "{result}"
    );
}

#[tokio::test]
async fn unknown_parameters_are_refused_with_the_nearest_name() {
    let stage = stage().await;
    for (more, nearest) in [
        (r#","arg":{}"#, "args"),
        (r#","intent_reasom":"x""#, "intent_reason"),
    ] {
        let error = stage
            .refused("call_tool_read", &list_issues(more), "INVALID_ARGUMENTS")
            .await;
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(&format!("'{nearest}'")), "{message}");
    }
    stage.check_nothing_was_sent();
}

#[tokio::test]
async fn names_that_do_not_exist_are_refused_with_the_nearest_ones() {
    let stage = stage().await;
    // The server's tools are known once it has answered a call.
    stage.call("call_tool_read", &list_issues("")).await;
    for (name, code, nearest) in [
        ("list_issues", "INVALID_TOOL_NAME", None),
        (":list_issues", "INVALID_TOOL_NAME", None),
        ("srv:", "INVALID_TOOL_NAME", None),
        ("", "INVALID_TOOL_NAME", None),
        ("srb:list_issues", "UNKNOWN_SERVER", Some("srv")),
        ("srv:list_isues", "UNKNOWN_TOOL", Some("srv:list_issues")),
        // The variant could not call the one that is near.
        ("srv:create_isue", "UNKNOWN_TOOL", None),
        ("srv:zzz", "UNKNOWN_TOOL", None),
    ] {
        let arguments = json!({ "name": name, "intent": { "operation_type": "read" } });
        let error = stage
            .refused("call_tool_read", &arguments.to_string(), code)
            .await;
        let message = error["message"].as_str().unwrap_or_default();
        let named = match code {
            "UNKNOWN_SERVER" => name.split(':').next().unwrap_or_default(),
            _ => name,
        };
        assert!(message.contains(&format!("'{named}'")), "{message}");
        if let Some(nearest) = nearest {
            assert_eq!(error["details"]["nearest"][0], nearest, "{error}");
            assert!(message.contains(&format!("'{nearest}'")), "{message}");
        }
    }
    assert_eq!(stage.fixture.ledger(), ["list_issues {}"]);
}

#[tokio::test]
async fn a_reason_of_1000_characters_passes_and_one_of_1001_fails_whatever_their_bytes() {
    let stage = stage().await;
    let characters = ["a", "é", "漢", "🦀"];
    for character in characters {
        for nested in [true, false] {
            let with_reason = |count: usize| {
                let reason = character.repeat(count);
                let declared = if nested {
                    json!({ "intent": { "operation_type": "read", "reason": reason } })
                } else {
                    json!({ "intent_operation_type": "read", "intent_reason": reason })
                };
                let mut arguments = declared;
                arguments["name"] = json!("srv:list_issues");
                arguments.to_string()
            };
            let result = stage.call("call_tool_read", &with_reason(1000)).await;
            assert!(result["isError"].is_null(), "{character}: {result}");
            let error = stage
                .refused("call_tool_read", &with_reason(1001), "REASON_TOO_LONG")
                .await;
            assert_eq!(
                error["message"],
                "intent.reason exceeds maximum length of 1000 characters"
            );
        }
    }
    assert_eq!(stage.fixture.ledger().len(), 2 * characters.len());
}

async fn stage() -> Stage {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let config = json!({ "mcpServers": { "srv": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    Stage {
        fixture,
        product,
        client,
    }
}

impl Stage {
    async fn call(&self, variant: &str, arguments: &str) -> Value {
        decode(&self.client.call_raw(variant, arguments).await)
    }

    /// The error of a call that has to be refused with this code.
    async fn refused(&self, variant: &str, arguments: &str, code: &str) -> Value {
        let result = self.call(variant, arguments).await;
        let error = &result["structuredContent"]["error"];
        assert_eq!(
            (&result["isError"], &error["code"]),
            (&json!(true), &json!(code)),
            "{result}"
        );
        assert_eq!(error["category"], "validation", "{result}");
        error.clone()
    }

    fn check_nothing_was_sent(&self) {
        assert!(
            self.fixture.ledger().is_empty(),
            "{:?}",
            self.fixture.ledger()
        );
    }
}
