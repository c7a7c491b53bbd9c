//! `mcpproxy stdio` beside a gateway that is stopped, killed and started again.

use mcpproxy_tests::{
    Client, Fixture, Home, Product, StdioClient, decode, eventually, stateless_client,
};
use serde_json::{Value, json};

use crate::PROGRAMS;

const TOOLS: [&str; 2] = [
    r#"{"name":"look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"change","inputSchema":{},"annotations":{"readOnlyHint":false,"destructiveHint":false}}"#,
];

const WHOLE_SERVER: &str = env!("CARGO_BIN_EXE_conformance-server");
const WATCHED: &str = "test://watched-resource";

#[tokio::test]
async fn a_client_had_to_be_restarted_with_its_gateway() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let mut product = Product::start(PROGRAMS, &config(&fixture)).await;
    let client = product.stdio().await;
    for round in 0..3 {
        let called = call(&client, "change", round).await;
        assert_eq!(
            text(&called),
            format!("change {{\"n\":{round}}}"),
            "{called}"
        );
        if round % 2 == 0 {
            assert_eq!(product.stop().await, 0);
        } else {
            product.kill().await;
        }
        product = Product::start_in(product.into_home(), &[]).await;
    }
    assert_eq!(
        client.request("ping", &json!({})).await["result"],
        json!({})
    );
    let called = call(&client, "look", 3).await;
    assert_eq!(text(&called), "look {\"n\":3}", "{called}");
    // The client is known by its name, as before: its own words opened the session.
    let records = product.get("/activity?type=tool_call&limit=1").await;
    let agent = records["activities"][0]["agent"].to_string();
    assert!(agent.contains("mcpproxy-tests"), "{records}");
    assert_eq!(client.finish().await, 0);
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_not_made_again_and_its_client_is_told() {
    let fixture = Fixture::new(PROGRAMS)
        .tools(&TOOLS)
        .gate("look")
        .gate("change");
    let mut product = Product::start(PROGRAMS, &config(&fixture)).await;
    let (reader, writer) = (product.stdio().await, product.stdio().await);
    product.settle().await;
    reader.send_line(&line("look", 1)).await;
    writer.send_line(&line("change", 2)).await;
    eventually("both calls are under way", async || {
        (fixture.ledger().len() == 2).then_some(())
    })
    .await;
    product.kill().await;
    // Neither is made again: what a read does is up to its server.
    for (client, id) in [(&reader, 1), (&writer, 2)] {
        let answer = decode(&client.read_line().await);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("may have taken effect"), "{answer}");
        assert_eq!(answer["id"], id);
    }

    let product = Product::start_in(product.into_home(), &[]).await;
    fixture.open_gate("look");
    fixture.open_gate("change");
    // Both clients go on, and each call was made once.
    for client in [&reader, &writer] {
        let called = call(client, "change", 3).await;
        assert_eq!(text(&called), "change {\"n\":3}", "{called}");
    }
    let ledger = fixture.ledger();
    let count = |call: &str| ledger.iter().filter(|line| *line == call).count();
    assert_eq!(count("change {\"n\":2}"), 1, "{ledger:?}");
    assert_eq!(count("look {\"n\":1}"), 1, "{ledger:?}");
    drop(product);
}

#[tokio::test]
async fn what_is_sent_while_the_gateway_is_gone_waits_for_it() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let mut product = Product::start(PROGRAMS, &config(&fixture)).await;
    let (client, stateless) = (product.stdio().await, silent(&product.home));
    product.settle().await;
    assert_eq!(product.stop().await, 0);
    // A write as well: it was surely not sent.
    client.send_line(&line("change", 7)).await;
    let params = stateless_client::introduced(&params("change", 8));
    let request = json!({ "jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": params });
    stateless.send_line(&request.to_string()).await;
    let unknown = json!({ "jsonrpc": "2.0", "id": 9, "method": "unknown/method" });
    client.send_line(&unknown.to_string()).await;
    let product = Product::start_in(product.into_home(), &[]).await;
    let mut answers =
        [client.read_line().await, client.read_line().await].map(|line| decode(&line));
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(text(&answers[0]), "change {\"n\":7}", "{answers:?}");
    assert_eq!(answers[1]["error"]["code"], -32601, "{answers:?}");
    let answer = decode(&stateless.read_line().await);
    assert_eq!(text(&answer), "change {\"n\":8}", "{answer}");
    let mut ledger = fixture.ledger();
    ledger.sort_unstable();
    assert_eq!(ledger, ["change {\"n\":7}", "change {\"n\":8}"]);
    drop(product);
}

#[tokio::test]
async fn a_client_is_told_of_a_gateway_that_does_not_come_back_and_works_when_it_does() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let mut product = Product::start(PROGRAMS, &config(&fixture)).await;
    let client = product.stdio().await;
    assert_eq!(product.stop().await, 0);
    for number in 1..=3 {
        let answer = call(&client, "change", number).await;
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("was not sent"), "{answer}");
        assert!(message.contains("`mcpproxy serve` starts it"), "{answer}");
    }
    let product = Product::start_in(product.into_home(), &[]).await;
    let called = call(&client, "change", 4).await;
    assert_eq!(text(&called), "change {\"n\":4}", "{called}");
    assert_eq!(fixture.ledger(), ["change {\"n\":4}"]);
    drop(product);
}

#[tokio::test]
async fn a_batch_that_was_cut_off_was_never_answered() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS).gate("change");
    let mut product = Product::start(PROGRAMS, &config(&fixture)).await;
    let client = silent(&product.home);
    let hello = json!({ "protocolVersion": "2025-03-26", "capabilities": {},
        "clientInfo": { "name": "old", "version": "1" } });
    let opened = client.request("initialize", &hello).await;
    assert_eq!(
        opened["result"]["protocolVersion"], "2025-03-26",
        "{opened}"
    );
    product.settle().await;
    let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    let batch = format!("[{},{ping}]", line("change", 1));
    client.send_line(&batch).await;
    eventually("the call is under way", async || {
        (fixture.ledger().len() == 1).then_some(())
    })
    .await;
    product.kill().await;
    let answers = decode(&client.read_line().await);
    let answers = answers.as_array().expect("one answer for each request");
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!("p")]);
    for answer in answers {
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("may have taken effect"), "{answer}");
    }
    // One that is sent while nobody listens waits, like all else.
    fixture.open_gate("change");
    client.send_line(&format!("[{ping}]")).await;
    let product = Product::start_in(product.into_home(), &[]).await;
    let answers = decode(&client.read_line().await);
    assert_eq!(answers[0]["result"], json!({}), "{answers}");
    drop(product);
}

#[tokio::test]
async fn a_subscription_outlives_the_gateway() {
    let server = json!({ "command": WHOLE_SERVER, "args": ["--stdio", "--protocol", "session"] });
    let config = json!({ "mcpServers": { "whole": server } });
    let mut product = Product::start(PROGRAMS, &config).await;
    let client = product.stdio().await;
    product.settle().await;
    let params = json!({ "uri": WATCHED });
    let answer = client.request("resources/subscribe", &params).await;
    assert_eq!(answer["result"], json!({}), "{answer}");
    assert_eq!(product.stop().await, 0);
    let product = Product::start_in(product.into_home(), &[]).await;
    // The client is told to look again, for it may have missed a change. It has asked for nothing meanwhile.
    let updated =
        json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params });
    assert_eq!(decode(&client.read_line().await), updated);
    let touching = product
        .connect()
        .await
        .call_as("write", "whole:touch_resource", &json!({}))
        .await;
    assert_ne!(touching["isError"], true, "{touching}");
    assert_eq!(decode(&client.read_line().await), updated);
    assert_eq!(client.finish().await, 0);
}

#[tokio::test]
async fn a_question_of_a_call_that_was_cut_off_is_withdrawn_and_its_late_answer_goes_nowhere() {
    let server = json!({ "command": WHOLE_SERVER, "args": ["--stdio", "--protocol", "session"] });
    let config = json!({ "mcpServers": { "whole": server } });
    let mut product = Product::start(PROGRAMS, &config).await;
    let client = silent(&product.home);
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "asked", "version": "1" } });
    let opened = client.request("initialize", &hello).await;
    assert!(opened["result"].is_object(), "{opened}");
    product.settle().await;
    let arguments = json!({ "name": "whole:test_elicitation", "args": { "message": "Who?" },
        "intent": { "operation_type": "read" } });
    let params = json!({ "name": "call_tool_read", "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": params });
    client.send_line(&call.to_string()).await;
    let first = decode(&client.read_line().await);
    assert_eq!(first["method"], "elicitation/create", "{first}");
    product.kill().await;
    let withdrawn = decode(&client.read_line().await);
    assert_eq!(
        withdrawn["method"], "notifications/cancelled",
        "{withdrawn}"
    );
    assert_eq!(withdrawn["params"]["requestId"], first["id"]);

    let told = decode(&client.read_line().await);
    assert_eq!(told["id"], "call", "{told}");
    assert!(told["error"].is_object(), "{told}");

    // The client makes its call again, and is asked again.
    let product = Product::start_in(product.into_home(), &[]).await;
    client.send_line(&call.to_string()).await;
    let second = decode(&client.read_line().await);
    assert_eq!(second["method"], "elicitation/create", "{second}");
    assert_ne!(second["id"], first["id"]);
    // The late answer to the first one goes nowhere.
    for (asked, name) in [(&first, "late"), (&second, "right")] {
        let result =
            json!({ "action": "accept", "content": { "username": name, "email": "a@b.example" } });
        let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
        client.send_line(&answer.to_string()).await;
    }
    let answer = decode(&client.read_line().await);
    assert_eq!(answer["id"], "call", "{answer}");
    let said = answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default();
    assert!(said.contains("right") && !said.contains("late"), "{answer}");
    drop(product);
}

#[tokio::test]
async fn a_session_that_the_gateway_has_ended_is_opened_again() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let product = Product::start(PROGRAMS, &config(&fixture)).await;
    let client = product.stdio().await;
    let called = call(&client, "change", 1).await;
    assert_eq!(text(&called), "change {\"n\":1}", "{called}");
    // A session is good for the rights it was opened with.
    let mut changed = config(&fixture);
    changed["anonymous"] = json!("read");
    product.home.write_config(&changed);
    eventually("the client may not write any more", async || {
        let called = call(&client, "change", 2).await;
        (called["result"]["isError"] == true).then_some(())
    })
    .await;
    let called = call(&client, "look", 3).await;
    assert_eq!(text(&called), "look {\"n\":3}", "{called}");
    assert_eq!(client.finish().await, 0);
}

/// A client that has not said hello.
fn silent(home: &Home) -> StdioClient {
    let mut command = home.command();
    command.arg("stdio");
    StdioClient::start_silent(command)
}

async fn call(client: &StdioClient, tool: &str, number: u64) -> Value {
    client.request("tools/call", &params(tool, number)).await
}

/// A call, whose id is its number.
fn line(tool: &str, number: u64) -> String {
    let params = params(tool, number);
    json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params }).to_string()
}

fn params(tool: &str, number: u64) -> Value {
    let operation = if tool == "look" { "read" } else { "write" };
    let arguments = json!({ "name": format!("srv:{tool}"), "args": { "n": number },
        "intent": { "operation_type": operation } });
    json!({ "name": format!("call_tool_{operation}"), "arguments": arguments })
}

fn text(answer: &Value) -> &str {
    let text = &answer["result"]["content"][0]["text"];
    text.as_str().unwrap_or_default()
}

fn config(fixture: &Fixture) -> Value {
    json!({ "mcpServers": { "srv": fixture.entry() } })
}
