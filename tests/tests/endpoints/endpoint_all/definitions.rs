//! What servers say of their tools arrives as they said it.

use mcpproxy_tests::{Client, Fixture, Product, field, fields};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::endpoint_all::{PROGRAMS, outcome, start};

/// Everything that a schema may hold, much of which a decoder would change or not know.
const SCHEMA: &str = concat!(
    r##"{ "$schema":"https://json-schema.org/draft/2020-12/schema","$id":"urn:x", "type":"object","##,
    r##""$defs":{"point":{"type":"object","properties":{"y":{"type":"number"},"x":{"type":"number","multipleOf":0.10}}}},"##,
    r##""properties":{"where":{"$ref":"#/$defs/point"},"mail":{"type":"string","format":"email","x-mcp-unknown":[ 1 ]},"##,
    r##""choice":{"oneOf":[{"const":1e400},{"type":"string","pattern":"^\u0061/b$"}],"anyOf":[true,{}]},"##,
    r##""n":{"maximum":123456789012345678901234567890,"default":1.0}},"##,
    r##""dependentRequired":{"mail":["where"]},"if":{"required":["n"]},"then":{"minProperties":1},"unevaluatedProperties":true,"##,
    r##""additionalProperties":{"not":{"type":"null"}},"x-vendor":{"b":1,"a":2},"required":[] }"##
);

/// The definition with this text for its name.
fn definition(name: &str) -> String {
    format!(
        r#"{{ "title":"T\u0041", "name": {name} ,"description":"Say \/ it","inputSchema":{SCHEMA},"outputSchema":{{"type":"object","x":1.10}},"annotations":{{"readOnlyHint":true,"futureHint":{{"n":9007199254740993}}}},"icons":[{{"src":"data:,"}}],"execution":{{"taskSupport":"optional"}},"_meta":{{"vendor.example/k":18446744073709551617,"a":1.0}},"future":[ 1 ] }}"#
    )
}

#[tokio::test]
async fn definitions_keep_their_bytes_but_for_the_name() {
    let sent = definition(r#""say""#);
    let (product, _fixture) = start(&[&sent], &json!({})).await;
    let one = product.connect_to("/s/srv").await;
    let answer = one.request_raw("tools/list", "{}").await;
    let tools = field(&field(&answer, "result"), "tools");
    assert_eq!(tools, format!("[{sent}]"));

    let all = product.connect_to("/all").await;
    let answer = all.request_raw("tools/list", "{}").await;
    let tools = field(&field(&answer, "result"), "tools");
    let tools: Vec<Box<RawValue>> = serde_json::from_str(&tools).unwrap();
    let shown: Vec<&str> = tools
        .iter()
        .map(|tool| tool.get())
        .filter(|tool| field(tool, "name").starts_with("\"srv__"))
        .collect();
    assert_eq!(shown, [definition(r#""srv__say""#)]);
}

#[tokio::test]
async fn the_operator_has_the_last_word_on_annotations() {
    let plain = r#"{"name":"plain","inputSchema":{"x":1.0}}"#;
    let sent = definition(r#""say""#);
    let hints = json!({ "annotations": { "readOnlyHint": false, "destructiveHint": true } });
    let words = json!({ "tools": { "say": hints, "plain": hints } });
    let (product, _fixture) = start(&[&sent, plain], &words).await;
    for (path, prefix) in [("/s/srv", ""), ("/all", "srv__")] {
        let client = product.connect_to(path).await;
        let say = format!("{prefix}say");
        let result = client.call(&say, &json!({})).await;
        assert_eq!(outcome(&result), "", "{result}");
        let id = result["_meta"]["dev.mcpproxy/activity_id"].as_str();
        let record = product.record(id.unwrap()).await;
        assert_eq!(record["intent_type"], "destructive", "{record}");

        let answer = client.request_raw("tools/list", "{}").await;
        let tools = field(&field(&answer, "result"), "tools");
        let tools: Vec<Box<RawValue>> = serde_json::from_str(&tools).unwrap();
        let find = |name: &str| {
            let name = Value::from(name).to_string();
            let mut tools = tools.iter().map(|tool| tool.get());
            let found = tools.find(|tool| field(tool, "name") == name);
            found.unwrap_or_else(|| panic!("{name} is listed"))
        };
        let (shown, before) = (fields(find(&say)), fields(&sent));
        assert_eq!(shown.len(), before.len());
        for ((name, value), (_, own)) in shown.iter().zip(&before) {
            match name.as_str() {
                "name" => {}
                "annotations" => assert_eq!(
                    value,
                    r#"{"readOnlyHint":false,"futureHint":{"n":9007199254740993},"destructiveHint":true}"#
                ),
                _ => assert_eq!(value, own, "{name}"),
            }
        }
        let shown = find(&format!("{prefix}plain"));
        assert_eq!(
            field(shown, "annotations"),
            r#"{"readOnlyHint":false,"destructiveHint":true}"#
        );
        assert_eq!(field(shown, "inputSchema"), r#"{"x":1.0}"#);
    }
}

#[tokio::test]
async fn odd_and_long_names_are_offered_so_that_clients_take_them_and_calls_arrive() {
    let long = "t".repeat(200);
    let tools = [
        "größe",
        "a/b:c",
        "_b",
        "x__y",
        "looks-0abcdefghijklmn",
        &long,
    ];
    let define = |name: &&str| format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#);
    let fixture = Fixture::new(PROGRAMS).tools(&tools.iter().map(define).collect::<Vec<_>>());
    let other = Fixture::new(PROGRAMS).tools(&[define(&"b"), define(&"y")]);
    let server = format!("s{}", "-long".repeat(12));
    let config = json!({ "mcpServers": {
        "a": fixture.entry(), "a_": other.entry(), (server.as_str()): other.entry(),
    } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let client = product.connect_to("/all").await;
    let listed = client.tool_names().await;
    for name in &listed {
        let is_allowed = |one: char| one.is_ascii_alphanumeric() || "_.-".contains(one);
        assert!(name.len() <= 64 && name.chars().all(is_allowed), "{name}");
    }
    let foreign: Vec<&String> = listed
        .iter()
        .filter(|name| !name.starts_with("mcpproxy__"))
        .collect();
    assert_eq!(foreign.len(), tools.len() + 4, "{foreign:?}");
    for plain in ["a___b", "a__x__y"] {
        assert!(foreign.iter().any(|name| *name == plain), "{foreign:?}");
    }
    for name in foreign {
        let result = client.call(name, &json!({})).await;
        assert_eq!(outcome(&result), "", "{name}: {result}");
    }
    let mut called: Vec<String> = fixture.ledger();
    let mut expected: Vec<String> = tools.iter().map(|tool| format!("{tool} {{}}")).collect();
    called.sort();
    expected.sort();
    assert_eq!(called, expected, "each tool was called once");
    let mut called = other.ledger();
    called.sort();
    assert_eq!(called, ["b {}", "b {}", "y {}", "y {}"]);

    // With one server alone, its names are its own.
    let one = product.connect_to("/s/a").await;
    let mut expected = tools.map(str::to_owned);
    expected.sort();
    assert_eq!(one.tool_names().await, expected);
    let result = one.call("größe", &json!({})).await;
    assert_eq!(outcome(&result), "", "{result}");
}

#[tokio::test]
async fn a_marked_name_of_a_server_that_is_starting_is_waited_for() {
    let fixture = Fixture::new(PROGRAMS).tools(&[r#"{"name":"größe","inputSchema":{}}"#]);
    let config = json!({ "mcpServers": { "srv": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let listed = product.connect_to("/all").await.tool_names().await;
    let name = listed.iter().find(|name| name.starts_with("srv__"));
    let name = name.expect("the tool is offered").clone();
    drop(product);

    // No word of whether the server has listed its tools: the first call is made at once.
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect_to("/all").await;
    let result = client.call(&name, &json!({})).await;
    assert_eq!(outcome(&result), "", "{result}");
    assert_eq!(fixture.ledger(), ["größe {}"]);
}

#[tokio::test]
async fn many_tools_come_on_pages() {
    let tools: Vec<String> = (0..1201)
        .map(|number| format!(r#"{{"name":"t{number:04}","inputSchema":{{}}}}"#))
        .collect();
    let fixture = Fixture::new(PROGRAMS).tools(&tools);
    let config = json!({ "mcpServers": { "srv": fixture.entry() } });
    let product = Product::start(PROGRAMS, &config).await;
    let one = product.connect_to("/s/srv").await;
    let expected: Vec<String> = (0..1201).map(|number| format!("t{number:04}")).collect();
    assert_eq!(one.tool_names().await, expected);
    let first = one.request("tools/list", &json!({})).await;
    assert_eq!(first["result"]["tools"].as_array().unwrap().len(), 500);

    let all = product.connect_to("/all").await;
    let listed = all.tool_names().await;
    let expected: Vec<String> = expected.iter().map(|name| format!("srv__{name}")).collect();
    let shown: Vec<&String> = listed
        .iter()
        .filter(|name| name.starts_with("srv__"))
        .collect();
    assert_eq!(shown, expected.iter().collect::<Vec<_>>());
    for cursor in [json!("nonsense"), json!(7), json!("")] {
        let answer = all
            .request("tools/list", &json!({ "cursor": cursor }))
            .await;
        assert_eq!(answer["error"]["code"], -32602, "{cursor}: {answer}");
    }
}
