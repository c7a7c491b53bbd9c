//! Arguments as models write them, whose arguments are checked at which endpoint, and what is proposed instead.

use mcpproxy_tests::{Client, Fixture, HttpClient, Product, decode};
use serde_json::{Value, json};

use crate::PROGRAMS;

const TOOLS: [&str; 4] = [
    r#"{"name":"read_log","description":"Reads the log","inputSchema":{"type":"object","properties":{"max_count":{"type":"integer"},"tables":{"type":"array","items":{"type":"string"}},"all":{"type":"boolean"},"password":{"type":"integer","writeOnly":true},"options":{"type":"object","properties":{"depth":{"type":"number"}}}},"required":["max_count"]},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"write_log","description":"Writes the log","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"destructiveHint":false}}"#,
    r#"{"name":"purge_log","description":"Empties the log","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}"#,
    r#"{"name":"delete_log","description":"Deletes the log","inputSchema":{"type":"object"}}"#,
];

/// Where a tool can be called: through the menu, under its own name beside those of others, at its server's endpoint.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Menu,
    All,
    Own,
}

const PLACES: [Place; 3] = [Place::Menu, Place::All, Place::Own];

struct Stage {
    fixture: Fixture,
    product: Product,
    clients: [HttpClient; 3],
}

/// The gateway with a server that has these settings, under these global ones.
async fn stage(server: &Value, global: &Value) -> Stage {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let mut entry = fixture.entry();
    merge(&mut entry, server);
    let other = Fixture::new(PROGRAMS).tools(&TOOLS[2..3]);
    let mut config = json!({ "mcpServers": { "srv": entry, "other": other.entry() } });
    merge(&mut config, global);
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let clients = [
        product.connect().await,
        product.connect_to("/all").await,
        product.connect_to("/s/srv").await,
    ];
    Stage {
        fixture,
        product,
        clients,
    }
}

fn merge(into: &mut Value, from: &Value) {
    let members = from.as_object().cloned().unwrap_or_default();
    for (name, value) in members {
        into[name] = value;
    }
}

impl Stage {
    /// Result of a call of `read_log`, whose arguments are given as text.
    async fn read_log(&self, place: Place, arguments: &str) -> Value {
        let [menu, all, own] = &self.clients;
        let result = match place {
            Place::Menu => {
                let call = format!(
                    r#"{{"name":"srv:read_log","args":{arguments},"intent":{{"operation_type":"read"}}}}"#
                );
                menu.call_raw("call_tool_read", &call).await
            }
            Place::All => all.call_raw("srv__read_log", arguments).await,
            Place::Own => own.call_raw("read_log", arguments).await,
        };
        decode(&result)
    }

    /// What the server got last.
    fn sent(&self) -> String {
        self.fixture.ledger().pop().unwrap_or_default()
    }

    #[track_caller]
    fn check_nothing_was_sent(&self) {
        let sent = self.fixture.ledger();
        assert!(sent.is_empty(), "{sent:?}");
    }
}

/// Messages of the warnings that arguments were converted.
fn warned(result: &Value) -> Vec<&str> {
    let warnings = result["_meta"]["dev.mcpproxy/warnings"].as_array();
    let warnings = warnings.into_iter().flatten();
    let warnings = warnings.filter(|one| one["code"] == "COERCED_ARGUMENTS");
    warnings.filter_map(|one| one["message"].as_str()).collect()
}

fn code(result: &Value) -> &str {
    let code = &result["structuredContent"]["error"]["code"];
    code.as_str().unwrap_or_default()
}

const WRITTEN_BY_A_MODEL: &str =
    r#"{"max_count":"3","tables":"[\"items\"]","all":"true","options":"{\"depth\":\"1.5\"}"}"#;

const CONVERTED: &str =
    r#"read_log {"max_count":3,"tables":["items"],"all":true,"options":{"depth":1.5}}"#;

#[tokio::test]
async fn arguments_as_models_write_them_are_converted_with_a_warning_and_recorded_as_sent() {
    let stage = stage(&json!({}), &json!({})).await;
    for place in [Place::Menu, Place::All] {
        let result = stage.read_log(place, WRITTEN_BY_A_MODEL).await;
        assert_eq!(code(&result), "", "{place:?}: {result}");
        assert_eq!(stage.sent(), CONVERTED, "{place:?}");
        let expected = "Arguments for 'srv:read_log' were converted to the types of its input schema: /max_count, /tables, /all, /options";
        assert_eq!(warned(&result), [expected], "{place:?}: {result}");

        let id = result["_meta"]["dev.mcpproxy/activity_id"]
            .as_str()
            .unwrap();
        let record = stage.product.record(id).await;
        let sent = decode(CONVERTED.strip_prefix("read_log ").unwrap());
        assert_eq!(record["arguments"], sent, "{record}");
        let warnings = record["warnings"].to_string();
        assert!(warnings.contains("COERCED_ARGUMENTS"), "{record}");
    }
    // What is right is sent as it was written, and nothing is said about it.
    let right = r#"{ "max_count":3e0, "tables" : ["a"]}"#;
    for place in PLACES {
        let result = stage.read_log(place, right).await;
        assert!(warned(&result).is_empty(), "{place:?}: {result}");
        assert_eq!(stage.sent(), format!("read_log {right}"), "{place:?}");
    }
}

#[tokio::test]
async fn the_warning_about_converted_arguments_names_no_value_and_few_places() {
    let stage = stage(&json!({}), &json!({})).await;
    let texts = vec![r#""4711""#; 30].join(",");
    let arguments =
        format!(r#"{{"max_count":"4711","password":"471108","tables":"x","list":[{texts}]}}"#);
    let result = stage.read_log(Place::Menu, &arguments).await;
    let message = warned(&result).concat();
    assert!(
        message.contains("/password") && !message.contains("4711"),
        "{message}"
    );
    let id = result["_meta"]["dev.mcpproxy/activity_id"]
        .as_str()
        .unwrap();
    let record = stage.product.record(id).await;
    assert!(!record.to_string().contains("471108"), "{record}");
    assert!(
        stage.sent().contains(r#""password":471108"#),
        "{}",
        stage.sent()
    );
}

#[tokio::test]
async fn what_cannot_be_converted_is_refused_for_what_was_given() {
    let stage = stage(&json!({}), &json!({})).await;
    for (arguments, path) in [
        (r#"{"max_count":"3.0"}"#, "/max_count"),
        (r#"{"max_count":"3","all":"yes"}"#, "/max_count"),
        (r#"{"max_count":"3","tables":"[1]"}"#, "/max_count"),
        (
            r#"{"max_count":"3","options":"{\"depth\":1,\"depth\":2}"}"#,
            "/max_count",
        ),
        (r#"{"max_count":10.0000000000000000001}"#, "/max_count"),
        (r#"{"max_count":"10.0000000000000000001"}"#, "/max_count"),
        (r#"{"max_count":"3","any":10.0000000000000000001}"#, "/any"),
    ] {
        for place in [Place::Menu, Place::All] {
            let result = stage.read_log(place, arguments).await;
            assert_eq!(
                code(&result),
                "INVALID_ARGUMENTS",
                "{place:?} {arguments}: {result}"
            );
            let violations = &result["structuredContent"]["error"]["details"]["violations"];
            assert_eq!(violations[0]["path"], path, "{arguments}: {result}");
            assert!(warned(&result).is_empty(), "{result}");
        }
    }
    stage.check_nothing_was_sent();
}

#[tokio::test]
async fn intent_and_arguments_may_be_json_text_of_an_object() {
    let stage = stage(&json!({}), &json!({})).await;
    let intent = r#""{\"operation_type\":\"read\",\"reason\":\"because\"}""#;
    let args = Value::from(r#"{"max_count":"3"}"#).to_string();
    let call = format!(r#"{{"name":"srv:read_log","args":{args},"intent":{intent}}}"#);
    let result = decode(&stage.clients[0].call_raw("call_tool_read", &call).await);
    assert_eq!(code(&result), "", "{result}");
    assert_eq!(
        warned(&result),
        [
            "args and intent were JSON text and were read as objects, send objects",
            "Arguments for 'srv:read_log' were converted to the types of its input schema: /max_count",
        ]
    );
    let id = result["_meta"]["dev.mcpproxy/activity_id"]
        .as_str()
        .unwrap();
    let record = stage.product.record(id).await;
    assert_eq!(
        record["metadata"]["intent"]["reason"], "because",
        "{record}"
    );
    for place in [Place::All, Place::Own] {
        let result = stage.read_log(place, r#""{\"max_count\":3}""#).await;
        let expected = "arguments was JSON text and was read as an object, send an object";
        assert_eq!(warned(&result), [expected], "{place:?}: {result}");
    }
    assert_eq!(stage.fixture.ledger(), [r#"read_log {"max_count":3}"#; 3]);

    // The rules of JSON and of intent are those for objects.
    for (args, intent, expected) in [
        (
            r#""{\"max_count\":1,\"max_count\":2}""#,
            intent,
            "INVALID_ARGUMENTS",
        ),
        (r#""[]""#, intent, "INVALID_ARGUMENTS"),
        (r#""""#, intent, "INVALID_ARGUMENTS"),
        ("{}", r#""read""#, "INVALID_ARGUMENTS"),
        (
            "{}",
            r#""{\"operation_type\":\"read\",\"operation_type\":\"write\"}""#,
            "INVALID_ARGUMENTS",
        ),
        (
            "{}",
            r#""{\"operation_type\":\"write\"}""#,
            "INTENT_MISMATCH",
        ),
    ] {
        let call = format!(r#"{{"name":"srv:read_log","args":{args},"intent":{intent}}}"#);
        let result = decode(&stage.clients[0].call_raw("call_tool_read", &call).await);
        assert_eq!(code(&result), expected, "{call}: {result}");
    }
    assert_eq!(stage.fixture.ledger().len(), 3);
}

#[tokio::test]
async fn without_coerce_everything_is_refused_as_it_was() {
    let off = || json!({ "coerce": false });
    for (server, global, is_converted) in [
        (off(), json!({}), false),
        (json!({}), off(), false),
        (json!({ "coerce": true }), off(), true),
        (off(), json!({ "coerce": true }), false),
    ] {
        let stage = stage(&server, &global).await;
        let call = r#"{"name":"srv:read_log","args":{"max_count":3},"intent":"{\"operation_type\":\"read\"}"}"#;
        let intent = decode(&stage.clients[0].call_raw("call_tool_read", call).await);
        let results = [
            intent,
            stage.read_log(Place::Menu, r#"{"max_count":"3"}"#).await,
            stage.read_log(Place::All, r#"{"max_count":"3"}"#).await,
            stage.read_log(Place::Menu, r#""{\"max_count\":3}""#).await,
            stage.read_log(Place::All, r#""{\"max_count\":3}""#).await,
        ];
        for result in &results {
            let (code, warnings) = (code(result), warned(result).len());
            let expected = if is_converted {
                ("", 1)
            } else {
                ("INVALID_ARGUMENTS", 0)
            };
            assert_eq!((code, warnings), expected, "{result}");
        }
        if is_converted {
            assert_eq!(stage.fixture.ledger(), [r#"read_log {"max_count":3}"#; 5]);
        } else {
            stage.check_nothing_was_sent();
            let message = results[3]["structuredContent"]["error"]["message"].to_string();
            assert!(
                message.contains("JSON text goes into args_json"),
                "{message}"
            );
        }
    }
}

#[tokio::test]
async fn a_server_judges_its_arguments_itself_where_the_check_is_lenient() {
    for (check, lenient) in [
        (json!({}), &[Place::Own][..]),
        (json!({ "check_arguments": "auto" }), &[Place::Own]),
        (json!({ "check_arguments": "strict" }), &[]),
        (json!({ "check_arguments": "lenient" }), &PLACES),
    ] {
        let stage = stage(&check, &json!({})).await;
        for place in PLACES {
            let before = stage.fixture.ledger().len();
            // The first cannot be converted, and the second is converted only where arguments are checked.
            for arguments in [r#"{ "max_count":"many"}"#, r#"{ "max_count":"3"}"#] {
                let result = stage.read_log(place, arguments).await;
                if lenient.contains(&place) {
                    assert_eq!(code(&result), "", "{check} {place:?}: {result}");
                    assert!(warned(&result).is_empty(), "{result}");
                    assert_eq!(stage.sent(), format!("read_log {arguments}"));
                }
            }
            if !lenient.contains(&place) {
                let sent = &stage.fixture.ledger()[before..];
                assert_eq!(sent, [r#"read_log {"max_count":3}"#], "{check} {place:?}");
            }
            // The rules of JSON are nobody's but ours.
            let before = stage.fixture.ledger().len();
            let deep = [&*r#"{"a":"#.repeat(200), "1", &*"}".repeat(200)].concat();
            for arguments in [
                r#"{"max_count":1,"max_count":2}"#,
                r#"{"max_count":10.0000000000000000001}"#,
                "[]",
                &deep,
            ] {
                let answer = refusal(&stage, place, arguments).await;
                assert!(answer, "{check} {place:?} {arguments:.50}");
            }
            assert_eq!(stage.fixture.ledger().len(), before, "{check} {place:?}");
        }
    }
}

/// Whether a call is refused, as a result or by the protocol.
async fn refusal(stage: &Stage, place: Place, arguments: &str) -> bool {
    let [menu, all, own] = &stage.clients;
    let (client, name, arguments) = match place {
        Place::Menu => {
            let intent = r#""intent":{"operation_type":"read"}"#;
            let call = format!(r#"{{"name":"srv:read_log","args":{arguments},{intent}}}"#);
            (menu, "call_tool_read", call)
        }
        Place::All => (all, "srv__read_log", arguments.to_owned()),
        Place::Own => (own, "read_log", arguments.to_owned()),
    };
    let params = format!(r#"{{"name":"{name}","arguments":{arguments}}}"#);
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    let answer = client.post(&[], message).await.json();
    answer["error"]["code"].is_i64() || code(&answer["result"]) == "INVALID_ARGUMENTS"
}

#[tokio::test]
async fn how_arguments_are_checked_is_followed_without_a_restart_of_the_server() {
    let stage = stage(&json!({}), &json!({})).await;
    let pid = stage.fixture.pid();
    let home = &stage.product.home;
    let mut config = decode(&std::fs::read_to_string(home.config_file()).unwrap());
    config["mcpServers"]["srv"]["coerce"] = json!(false);
    config["mcpServers"]["srv"]["check_arguments"] = json!("strict");
    home.write_config(&config);
    mcpproxy_tests::eventually("arguments are refused at its own endpoint", async || {
        let result = stage.read_log(Place::Own, r#"{"max_count":"3"}"#).await;
        (code(&result) == "INVALID_ARGUMENTS").then_some(())
    })
    .await;
    assert_eq!(stage.fixture.pid(), pid);
}

#[tokio::test]
async fn a_misspelt_argument_is_told_with_the_one_that_was_likely_meant() {
    let stage = stage(&json!({}), &json!({})).await;
    let result = stage.read_log(Place::All, r#"{"max_cuont":3}"#).await;
    let error = &result["structuredContent"]["error"];
    let message = error["message"].as_str().unwrap();
    let expected = r#"missing required property "max_count", did you mean it by "max_cuont"?"#;
    assert!(message.contains(expected), "{message}");
    stage.check_nothing_was_sent();
}

#[tokio::test]
async fn deletions_on_other_servers_were_proposed_for_a_misspelt_read() {
    let stage = stage(&json!({}), &json!({})).await;
    for (operation, name, expected) in [
        ("read", "srv:read_lgo", &["srv:read_log"][..]),
        // The variant could not call these, or they sound like more.
        ("read", "srv:write_lgo", &[]),
        ("read", "srv:purge_lgo", &[]),
        ("read", "srv:delete_lgo", &[]),
        ("write", "srv:write_lgo", &["srv:write_log"]),
        ("write", "srv:purge_lgo", &[]),
        ("destructive", "srv:purge_lgo", &["srv:purge_log"]),
        ("destructive", "srv:delete_lgo", &["srv:delete_log"]),
        // Another server does something else, and what is far is not meant.
        ("destructive", "other:delete_lgo", &[]),
        ("destructive", "srv:frobnicate", &[]),
        ("read", "purge_lgo", &[]),
        (
            "destructive",
            "purge_lgo",
            &["other:purge_log", "srv:purge_log"],
        ),
    ] {
        let call = json!({ "name": name, "intent": { "operation_type": operation } });
        let variant = format!("call_tool_{operation}");
        let result = stage.clients[0].call_raw(&variant, &call.to_string()).await;
        let error = &decode(&result)["structuredContent"]["error"];
        let near = error["details"]["nearest"].as_array().cloned();
        let near = near.unwrap_or_default();
        let near: Vec<&str> = near.iter().filter_map(Value::as_str).collect();
        // Others of the same server may be near as well; the nearest comes first.
        let first = &near[..expected.len().min(near.len())];
        assert_eq!(first, expected, "{operation} {name}: {error}");
        assert_eq!(
            near.is_empty(),
            expected.is_empty(),
            "{operation} {name}: {error}"
        );
    }
    stage.check_nothing_was_sent();
}
