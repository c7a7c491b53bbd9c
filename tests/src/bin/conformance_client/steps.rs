//! What each scenario of the suite wants a client to do.
//!
//! The suite judges what reaches its server; here is checked that its answers come back.

use serde_json::{Value, json};

use crate::conversation::Conversation;

/// Does what a scenario needs; a scenario that is not known here fails.
pub(crate) async fn perform(gateway: &Conversation, scenario: &str, context: &Value) {
    let tools = list(gateway).await;
    match scenario {
        // They have no tools: to be connected is all.
        "initialize" | "request-metadata" => assert!(tools.is_empty(), "{tools:?}"),
        "tools_call" => {
            let sum = call(gateway, "add_numbers", &json!({ "a": 5, "b": 3 })).await;
            assert_text(&sum, "The sum of 5 and 3 is 8");
        }
        "elicitation-sep1034-client-defaults" => {
            call(gateway, "test_client_elicitation_defaults", &json!({})).await;
        }
        "sse-retry" => {
            let result = call(gateway, "test_reconnection", &json!({})).await;
            assert_text(&result, "Reconnection test completed successfully");
        }
        "http-standard-headers" => use_everything(gateway, &tools).await,
        "http-custom-headers" => call_as_told(gateway, context).await,
        "http-invalid-tool-headers" => call_whatever_is_listed(gateway, &tools).await,
        "sep-2322-client-request-state" => answer_what_is_asked(gateway).await,
        "json-schema-ref-no-deref" => {
            // The server only has the tool in its list, so the answer is an error; what matters is that the arguments are
            // compared with a schema that refers to something elsewhere.
            let arguments = json!({ "id": "user-1", "profile": {} });
            let params = json!({ "name": "lookup_user", "arguments": arguments });
            gateway.request("tools/call", &params).await;
        }
        "json-schema-2020-12-preservation" => {
            let schema = &tool(&tools, "json_schema_2020_12_tool")["inputSchema"];
            let result = call(gateway, "json_schema_echo", &json!({ "schema": schema })).await;
            assert_text(&result, "echoed");
        }
        unknown => panic!("it is not known here what '{unknown}' wants"),
    }
}

/// Calls each tool, and looks at each prompt and resource, if the gateway offers any.
async fn use_everything(gateway: &Conversation, tools: &[Value]) {
    assert_eq!(tools.len(), 2, "{tools:?}");
    for tool in tools {
        let result = call(gateway, name(tool), &json!({})).await;
        assert_text(&result, "Headers test completed");
    }
    if gateway.offers("prompts") {
        for prompt in listed(gateway, "prompts/list", "prompts").await {
            let params = json!({ "name": name(&prompt) });
            result(gateway, "prompts/get", &params).await;
        }
    }
    if gateway.offers("resources") {
        for resource in listed(gateway, "resources/list", "resources").await {
            let params = json!({ "uri": resource["uri"] });
            result(gateway, "resources/read", &params).await;
        }
    }
}

/// Makes the calls that the suite hands out. One of them says `null` for an argument that has to be a boolean. At the
/// endpoint of the server alone its arguments are left to the server, and a header has no null.
async fn call_as_told(gateway: &Conversation, context: &Value) {
    let calls = context["toolCalls"].as_array();
    for told in calls.expect("the suite says what to call") {
        let result = call(gateway, name(told), &told["arguments"]).await;
        assert_text(&result, "Custom headers test completed");
    }
}

/// Calls each tool there is, with something for each argument it requires, and some that should not be there.
async fn call_whatever_is_listed(gateway: &Conversation, tools: &[Value]) {
    for hidden in [
        "invalid_empty_header",
        "invalid_number_header",
        "invalid_space_in_name",
    ] {
        let params = json!({ "name": hidden, "arguments": { "value": "x", "score": 1 } });
        let answer = gateway.request("tools/call", &params).await;
        assert!(answer.get("error").is_some(), "{hidden}: {answer}");
    }
    for tool in tools {
        let required = tool["inputSchema"]["required"].as_array();
        let arguments: serde_json::Map<_, _> = required
            .into_iter()
            .flatten()
            .filter_map(|argument| Some((argument.as_str()?.to_owned(), json!("something"))))
            .collect();
        let params = json!({ "name": name(tool), "arguments": arguments });
        gateway.request("tools/call", &params).await;
    }
}

/// Calls tools that ask back, and one of another kind while a question is open.
async fn answer_what_is_asked(gateway: &Conversation) {
    let params = json!({ "name": "test_mrtr_echo_state", "arguments": {} });
    let question = gateway.ask("tools/call", &params).await;
    let unrelated = call(gateway, "test_mrtr_unrelated", &json!({})).await;
    assert_text(&unrelated, "unrelated-ok");
    let answer = gateway.finish("tools/call", &params, question).await;
    assert_text(&answer["result"], "echo-state-ok");
    let stateless = call(gateway, "test_mrtr_no_state", &json!({})).await;
    assert_text(&stateless, "no-state-ok");
    let untyped = call(gateway, "test_mrtr_no_result_type", &json!({})).await;
    assert_text(&untyped, "no-result-type-test-ok");
}

async fn list(gateway: &Conversation) -> Vec<Value> {
    listed(gateway, "tools/list", "tools").await
}

async fn listed(gateway: &Conversation, method: &str, what: &str) -> Vec<Value> {
    let mut page = result(gateway, method, &json!({})).await;
    let Value::Array(found) = page[what].take() else {
        panic!("{method} has no list of {what}: {page}");
    };
    found
}

async fn call(gateway: &Conversation, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    result(gateway, "tools/call", &params).await
}

async fn result(gateway: &Conversation, method: &str, params: &Value) -> Value {
    let mut answer = gateway.request(method, params).await;
    match answer.get_mut("result") {
        Some(result) => result.take(),
        None => panic!("{method} {params} has no result: {answer}"),
    }
}

fn name(thing: &Value) -> &str {
    thing["name"].as_str().expect("it has a name")
}

fn tool<'a>(tools: &'a [Value], wanted: &str) -> &'a Value {
    let found = tools.iter().find(|tool| name(tool) == wanted);
    found.unwrap_or_else(|| panic!("'{wanted}' is not in {tools:?}"))
}

fn assert_text(result: &Value, expected: &str) {
    assert_eq!(result["content"][0]["text"], expected, "{result}");
}
