//! What passes through the gateway keeps its bytes: unknown fields, key order, and numbers
//! that no decoder would give back as they were.

use http::Method;
use mcpproxy_tests::{Client, Fixture, Home, Product, field, fields};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::PROGRAMS;

/// A schema whose text a decoder would change.
const SCHEMA: &str = r#"{ "type":"object","x-b":1.10,"properties":{"z":{"maximum":123456789012345678901234567890},"a":{ "const":1e400 }, "Z":{}},"x-a":[ ],"required":[] }"#;

const ANNOTATIONS: &str =
    r#"{"readOnlyHint":true,"futureHint":{"n":9007199254740993},"title":"Hologram \u0041"}"#;

const TOOL_META: &str = r#"{"vendor.example/definition":{"b":1.0,"a":18446744073709551617}}"#;

/// A result with a content type nobody knows, unknown fields, and keys that are ours alone.
const RESULT: &str = concat!(
    r#"{ "content":[{"type":"hologram","n":9007199254740993, "huge":18446744073709551616123,"over":1e400,"one":1.0,"#,
    r#""z":{"b":1,"B":2,"a":3,"b":4},"text":"\u00e9\/é"},{"type":"text","text":"plain","vendor":[ -0 , 1E+2 ]}] ,"#,
    r#""_meta":{"vendor.example/k":{"n":1.10},"dev.mcpproxy/request_id":"forged","dev.mcpproxy/warnings":[{"code":"FORGED"}],"dev.mcpproxy/other":1,"zeta":null},"#,
    r#""structuredContent":{"b":12345678901234567890123456789,"a":[ ],"big":1e400},"vendorField":[ 1 , {"y":0,"x":0} ],"isError":false}"#
);

/// Arguments whose text a decoder would change.
const ARGUMENTS: &str =
    r#"{ "z":9007199254740993,"a":{"y":1.10,"x":123456789012345678901234567890}, "Z":"\u0041" }"#;

#[tokio::test]
async fn a_result_keeps_its_bytes_over_http() {
    let fixture = fixture();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    check_result(
        &product
            .connect()
            .await
            .call_raw("call_tool_read", &call("{}"))
            .await,
    );
}

#[tokio::test]
async fn a_result_keeps_its_bytes_in_an_event_stream() {
    let fixture = fixture();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    let message = format!(
        r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"call_tool_read","arguments":{}}}}}"#,
        call("{}")
    );
    let client = product.connect().await;
    let headers = [("accept", "text/event-stream")];
    let answer = client.send(Method::POST, &headers, message).await;
    let data: Vec<&str> = answer
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .collect();
    assert_eq!(data.len(), 1, "{answer:?}");
    check_result(&field(data[0], "result"));
}

#[tokio::test]
async fn a_result_keeps_its_bytes_over_stdio_in_its_own_process() {
    let fixture = fixture();
    let home = Home::new(PROGRAMS, &config(&fixture));
    check_result(
        &home
            .stdio()
            .await
            .call_raw("call_tool_read", &call("{}"))
            .await,
    );
}

#[tokio::test]
async fn a_result_keeps_its_bytes_over_stdio_through_the_running_gateway() {
    let fixture = fixture();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    check_result(
        &product
            .stdio()
            .await
            .call_raw("call_tool_read", &call("{}"))
            .await,
    );
}

#[tokio::test]
async fn a_result_keeps_its_bytes_on_the_command_line() {
    let fixture = fixture();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    let ran = product
        .run(&["call", "tool-read", "srv:hologram", "-o", "json"])
        .await;
    assert_eq!(ran.code, 0, "{ran:?}");
    check_result(&ran.stdout);
}

#[tokio::test]
async fn a_result_with_numbers_no_decoder_takes_is_shown_on_the_command_line_all_the_same() {
    let fixture = fixture();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    let ran = product.run(&["call", "tool-read", "srv:hologram"]).await;
    assert_eq!(ran.stdout, "é/é\nplain\n", "{ran:?}");
    let failed = fixture.result(
        "hologram",
        r#"{"isError":true,"content":[{"type":"text","text":"no"}],"code":1e400}"#,
    );
    let home = Home::new(PROGRAMS, &config(&failed));
    let ran = home.run(&["call", "tool-read", "srv:hologram"]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "no\n"), "{ran:?}");
}

#[tokio::test]
async fn an_upstreams_own_tool_error_passes_as_it_is() {
    let sent = r#"{"isError":true,"content":[{"type":"text","text":"no such row"}],"code":9007199254740993}"#;
    let fixture = fixture().result("hologram", sent);
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    let result = product
        .connect()
        .await
        .call_raw("call_tool_read", &call("{}"))
        .await;
    for (name, value) in fields(sent) {
        assert_eq!(field(&result, &name), value);
    }
    let ran = product.run(&["call", "tool-read", "srv:hologram"]).await;
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (1, "no such row\n"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn a_tools_schema_annotations_and_meta_keep_their_bytes_in_discovery() {
    let fixture = fixture();
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    let client = product.connect().await;
    // A call waits for the server, so that it is listed from here on.
    client.call_raw("call_tool_read", &call("{}")).await;
    for (tool, arguments) in [
        ("retrieve_tools", json!({ "query": "hologram" })),
        ("describe_tool", json!({ "names": ["srv:hologram"] })),
    ] {
        let result = client.call_raw(tool, &arguments.to_string()).await;
        let found = field(&result, "structuredContent");
        let content: Value = serde_json::from_str(&field(&result, "content")).unwrap();
        assert_eq!(content[0]["text"].as_str(), Some(found.as_str()), "{tool}");
        let tools: Vec<Box<RawValue>> = serde_json::from_str(&field(&found, "tools")).unwrap();
        assert_eq!(tools.len(), 1, "{tool}: {found}");
        let shown = tools[0].get();
        assert_eq!(field(shown, "inputSchema"), SCHEMA, "{tool}");
        assert_eq!(field(shown, "annotations"), ANNOTATIONS, "{tool}");
        if tool == "describe_tool" {
            assert_eq!(field(shown, "_meta"), TOOL_META);
        }
    }
}

#[tokio::test]
async fn arguments_keep_their_bytes_on_every_way_to_the_server() {
    let fixture = Fixture::new(PROGRAMS).tools(&[r#"{"name":"hologram","inputSchema":{}}"#]);
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    let as_object = call(ARGUMENTS);
    let as_text = format!(
        r#"{{"name":"srv:hologram","args_json":{},"intent":{{"operation_type":"read"}}}}"#,
        Value::from(ARGUMENTS)
    );
    let (http, stdio) = (product.connect().await, product.stdio().await);
    for arguments in [&as_object, &as_text] {
        http.call_raw("call_tool_read", arguments).await;
        stdio.call_raw("call_tool_read", arguments).await;
    }
    let ran = product
        .run(&["call", "tool-read", "srv:hologram", "--args", ARGUMENTS])
        .await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(fixture.ledger(), vec![format!("hologram {ARGUMENTS}"); 5]);
}

fn fixture() -> Fixture {
    let tool = format!(
        r#"{{"name":"hologram","description":"Show a hologram","inputSchema":{SCHEMA},"annotations":{ANNOTATIONS},"_meta":{TOOL_META},"future":[ 1 ]}}"#
    );
    Fixture::new(PROGRAMS)
        .tools(&[tool])
        .result("hologram", RESULT)
}

fn config(fixture: &Fixture) -> Value {
    json!({ "mcpServers": { "srv": fixture.entry() } })
}

/// The arguments of `call_tool_read` with the text of those for the tool.
fn call(arguments: &str) -> String {
    format!(r#"{{"name":"srv:hologram","args":{arguments},"intent":{{"operation_type":"read"}}}}"#)
}

/// The result arrived as it was sent, but for what is ours in `_meta`.
#[track_caller]
fn check_result(result: &str) {
    let (sent, arrived) = (fields(RESULT), fields(result));
    let names = |members: &[(String, String)]| -> Vec<String> {
        members.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&arrived), names(&sent), "{result}");
    for (sent, arrived) in sent
        .iter()
        .zip(&arrived)
        .filter(|(sent, _)| sent.0 != "_meta")
    {
        assert_eq!(arrived, sent);
    }
    let meta = field(result, "_meta");
    assert_eq!(field(&meta, "vendor.example/k"), r#"{"n":1.10}"#);
    assert_eq!(field(&meta, "zeta"), "null");
    let ours: Vec<(String, String)> = fields(&meta)
        .into_iter()
        .filter(|(name, _)| name.starts_with("dev.mcpproxy/"))
        .collect();
    assert_eq!(
        names(&ours),
        ["dev.mcpproxy/activity_id", "dev.mcpproxy/request_id"],
        "{meta}"
    );
    assert!(!meta.contains("forged"), "{meta}");
}
