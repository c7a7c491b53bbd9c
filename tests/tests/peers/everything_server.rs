//! The official reference server with everything, behind the gateway: it tells its progress, asks the user and asks the
//! model of clients of both protocols.

use mcpproxy_tests::conversation::{ClientRequest, Conversation, Door, Received, Speaks};
use mcpproxy_tests::peers::Peers;
use mcpproxy_tests::{Product, eventually, trials};
use serde_json::{Value, json};

use crate::PROGRAMS;

trials![
    a_client_with_a_session_is_told_and_asked,
    a_client_without_a_session_is_told_and_asked,
];

async fn a_client_with_a_session_is_told_and_asked() {
    check(Speaks::Session).await;
}

async fn a_client_without_a_session_is_told_and_asked() {
    check(Speaks::Stateless).await;
}

async fn check(speaks: Speaks) {
    let peers = Peers::find();
    let entry = json!({
        "command": peers.program("mcp-server-everything"), "trust": "auto", "timeout": "60s",
    });
    let config = json!({ "mcpServers": { "everything": entry } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let door = Door::Http(format!("{}/s/everything", product.endpoint()));
    let client = Conversation::open(door, speaks, "tester", None).await;
    check_progress(&client).await;
    check_elicitation(&client).await;
    check_sampling(&client).await;
}

async fn check_progress(client: &Conversation) {
    let tool = "trigger-long-running-operation";
    let params = json!({
        "name": tool, "arguments": { "duration": 0.3, "steps": 3 },
        "_meta": { "progressToken": "how-far" },
    });
    let mut exchange = client.begin("tools/call", &params).await;
    let mut seen = Vec::new();
    let answer = loop {
        match exchange.next().await {
            Received::Progress(told) => {
                assert_eq!(told["progressToken"], "how-far", "{told}");
                seen.push((told["progress"].as_f64(), told["total"].as_f64()));
            }
            Received::Response(answer) => break answer,
            other => panic!("{other:?}"),
        }
    };
    let all = [1.0, 2.0, 3.0].map(|progress| (Some(progress), Some(3.0)));
    assert_eq!(seen, all);
    assert!(
        answer.to_string().contains("operation completed"),
        "{answer}"
    );
}

async fn check_elicitation(client: &Conversation) {
    let tool = "trigger-elicitation-request";
    let answer = json!({ "action": "accept", "content": { "name": "Ada", "check": true } });
    let (question, result) = asked(client, tool, &json!({}), &answer).await;
    assert_eq!(question.request["method"], "elicitation/create");
    let schema = &question.request["params"]["requestedSchema"];
    assert_eq!(schema["properties"]["name"]["type"], "string", "{schema}");
    assert!(result.to_string().contains("- Name: Ada"), "{result}");

    let declined = json!({ "action": "decline" });
    let (_, result) = asked(client, tool, &json!({}), &declined).await;
    assert!(result.to_string().contains("User declined"), "{result}");
}

async fn check_sampling(client: &Conversation) {
    let arguments = json!({ "prompt": "Say something", "maxTokens": 10 });
    let content = json!({ "type": "text", "text": "Something." });
    let answer = json!({ "role": "assistant", "model": "none", "content": content });
    let (question, result) = asked(client, "trigger-sampling-request", &arguments, &answer).await;
    assert_eq!(question.request["method"], "sampling/createMessage");
    let params = &question.request["params"];
    assert_eq!(params["maxTokens"], 10, "{params}");
    assert!(
        params["messages"].to_string().contains("Say something"),
        "{params}"
    );
    assert!(result.to_string().contains("Something."), "{result}");
}

/// Calls a tool that asks once, and answers; the question and the result.
async fn asked(
    client: &Conversation,
    tool: &str,
    arguments: &Value,
    answer: &Value,
) -> (ClientRequest, Value) {
    // The server has these tools a moment after it was greeted only.
    eventually("the tool is there", async || {
        let listed = client.result("tools/list", &json!({})).await;
        let tools = listed["tools"].as_array().expect("there are tools");
        tools
            .iter()
            .any(|listed| listed["name"] == tool)
            .then_some(())
    })
    .await;
    let mut exchange = client.call(tool, arguments).await;
    let question = exchange.question().await;
    exchange.reply(&question, answer).await;
    let result = exchange.answer().await["result"].clone();
    assert!(result["content"].is_array(), "{result}");
    (question, result)
}
