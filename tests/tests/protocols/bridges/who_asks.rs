//! Questions of servers say who asks, and are on record with the kind of answer, in all combinations.

use mcpproxy_tests::conversation::Speaks::{Session, Stateless};
use mcpproxy_tests::conversation::{Conversation, Exchange, text};
use mcpproxy_tests::{Product, eventually};
use serde_json::{Value, json};

use crate::bridges::cases::QUESTION;
use crate::bridges::scene::{Bridge, ClientDeadline, NAME, SERVERS, Scene, ServerWay, Way};

/// Answers to an elicitation, and the status that its record has.
const ANSWERS: [(&str, &str); 3] = [
    ("accept", "success"),
    ("decline", "blocked"),
    ("cancel", "error"),
];

#[tokio::test]
async fn a_question_did_not_say_which_server_asks() {
    for bridge in bridges() {
        let scene = Scene::start(bridge, ClientDeadline::Long).await;
        let client = scene.client("asked").await;
        let mut exchange = client.call("ask_name", &json!({})).await;
        let mut question = exchange.question().await;
        assert_eq!(question.request["params"]["message"], QUESTION, "{bridge}");
        // Who is asked again reads the name once.
        if question.state().is_some() {
            exchange.repeat_without(&question).await;
            question = exchange.question().await;
            assert_eq!(question.request["params"]["message"], QUESTION, "{bridge}");
        }
        exchange
            .reply(&question, &json!({ "action": "decline" }))
            .await;
        assert_eq!(text(&exchange.answer().await), "declined", "{bridge}");

        let mut exchange = sample(&client).await;
        let question = exchange.question().await;
        let asked = &question.request["params"];
        let system = "[fixture] asks for this completion";
        assert_eq!(asked["systemPrompt"], system, "{bridge}: {asked}");
        let messages = asked["messages"].to_string();
        assert!(!messages.contains(NAME), "{bridge}: {asked}");
        exchange.reply(&question, &sampled()).await;
        exchange.answer().await;

        let mut exchange = client.prompt("test_input_required_result_prompt").await;
        let asked = exchange.question().await.request["params"]["message"].clone();
        let asked = asked.as_str().expect("it is a text");
        assert!(asked.starts_with("[fixture] "), "{bridge}: {asked}");
    }
}

#[tokio::test]
async fn neither_a_question_nor_its_answer_was_on_record() {
    for bridge in bridges() {
        let scene = Scene::start(bridge, ClientDeadline::Long).await;
        let client = scene.client("asked").await;
        for (count, (action, status)) in ANSWERS.into_iter().enumerate() {
            let mut exchange = client.call("ask_name", &json!({})).await;
            let answer = json!({ "action": action, "content": { "name": "Ada" } });
            let question = exchange.question().await;
            exchange.reply(&question, &answer).await;
            exchange.answer().await;
            let record = newest(scene.product(), count + 1).await;
            let told = format!("{bridge}: {record}");
            assert_eq!(record["type"], "client_request", "{told}");
            assert_eq!(record["server_name"], NAME, "{told}");
            assert_eq!(record["tool_name"], "elicitation/create", "{told}");
            assert_eq!(record["arguments"]["message"], QUESTION, "{told}");
            assert_eq!(record["metadata"]["answer"], action, "{told}");
            assert_eq!(record["status"], status, "{told}");
            assert_eq!(record["agent"], "asked", "{told}");
            assert_eq!(record["session_id"].is_string(), bridge.client == Session);
            assert!(!record.to_string().contains("Ada"), "{told}");
            let call = scene
                .product()
                .record(record["parent_id"].as_str().expect(&told))
                .await;
            assert_eq!(call["tool_name"], "ask_name", "{told}");
            assert_eq!(call["session_id"], record["session_id"], "{told}");
        }
    }
}

#[tokio::test]
async fn a_question_that_nobody_answers_is_on_record_as_cancelled() {
    for bridge in bridges() {
        let scene = Scene::start(bridge, ClientDeadline::Short).await;
        let client = scene.client("asked").await;
        let mut exchange = client.call("ask_name", &json!({})).await;
        exchange.question().await;
        let record = newest(scene.product(), 1).await;
        assert_eq!(record["metadata"]["answer"], "cancel", "{bridge}: {record}");
        assert_eq!(record["status"], "error", "{bridge}: {record}");
    }
}

#[tokio::test]
async fn a_question_of_a_call_that_is_called_off_is_on_record_as_cancelled() {
    for server in [Session, Stateless] {
        let bridge = Bridge {
            client: Session,
            way: Way::Http,
            server,
            server_way: ServerWay::Stdio,
        };
        let scene = Scene::start(bridge, ClientDeadline::Long).await;
        let client = scene.client("asked").await;
        let mut exchange = client.call("ask_name", &json!({})).await;
        exchange.question().await;
        exchange.cancel().await;
        let record = newest(scene.product(), 1).await;
        assert_eq!(record["metadata"]["answer"], "cancel", "{bridge}: {record}");
    }
}

#[tokio::test]
async fn sampling_and_roots_are_on_record_with_the_kind_of_answer() {
    for bridge in bridges() {
        let scene = Scene::start(bridge, ClientDeadline::Long).await;
        let client = scene.client("asked").await;
        let mut exchange = sample(&client).await;
        let question = exchange.question().await;
        exchange.reply(&question, &sampled()).await;
        assert_eq!(text(&exchange.answer().await), "LLM response: Something.");
        let record = newest(scene.product(), 1).await;
        assert_eq!(
            record["tool_name"], "sampling/createMessage",
            "{bridge}: {record}"
        );
        assert_eq!(record["metadata"]["answer"], "accept", "{bridge}: {record}");
        assert!(
            !record.to_string().contains("Something."),
            "{bridge}: {record}"
        );

        let mut count = 1;
        if bridge.client == Session {
            let mut exchange = sample(&client).await;
            let question = exchange.question().await;
            exchange.refuse(&question).await;
            exchange.answer().await;
            count += 1;
            let record = newest(scene.product(), count).await;
            assert_eq!(
                record["metadata"]["answer"], "decline",
                "{bridge}: {record}"
            );
            assert_eq!(record["status"], "blocked", "{bridge}: {record}");
        }
        if bridge.server == Stateless {
            let tool = "test_input_required_result_list_roots";
            let mut exchange = client.call(tool, &json!({})).await;
            let question = exchange.question().await;
            let answer = json!({ "roots": [{ "uri": "file:///home/ada" }] });
            exchange.reply(&question, &answer).await;
            exchange.answer().await;
            let record = newest(scene.product(), count + 1).await;
            assert_eq!(record["tool_name"], "roots/list", "{bridge}: {record}");
            assert_eq!(record["metadata"]["answer"], "accept", "{bridge}: {record}");
            assert!(!record.to_string().contains("home"), "{bridge}: {record}");
        }
    }
}

#[tokio::test]
async fn an_answer_to_a_question_of_another_gateway_has_a_record_of_its_own() {
    let bridge = Bridge {
        client: Stateless,
        way: Way::Http,
        server: Stateless,
        server_way: ServerWay::Stdio,
    };
    let first = Scene::start(bridge, ClientDeadline::Long).await;
    let asked = first.client("asked").await;
    let question = asked.call("ask_name", &json!({})).await.question().await;
    let second = Scene::start(bridge, ClientDeadline::Long).await;
    let client = second.client("asked").await;
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    let mut exchange = client
        .call_repeated("ask_name", &json!({}), &question, &answer)
        .await;
    exchange.answer().await;
    let record = newest(second.product(), 1).await;
    assert_eq!(record["tool_name"], "elicitation/create", "{record}");
    assert_eq!(record["metadata"]["answer"], "accept", "{record}");
    assert_eq!(record["arguments"], Value::Null, "{record}");
    // The first gateway still waits for its client, and shows the question meanwhile.
    let open = eventually("the question is on record", async || {
        let found = first.product().get("/activity?type=client_request").await;
        found["activities"].as_array()?.first().cloned()
    })
    .await;
    assert_eq!(open["arguments"]["message"], QUESTION, "{open}");
    assert_eq!(open["status"], "in_doubt", "{open}");
    assert_eq!(open["metadata"]["answer"], Value::Null, "{open}");
}

async fn sample(client: &Conversation) -> Exchange<'_> {
    client
        .call("test_sampling", &json!({ "prompt": "Say something" }))
        .await
}

fn sampled() -> Value {
    let content = json!({ "type": "text", "text": "Something." });
    json!({ "role": "assistant", "model": "none", "content": content })
}

/// The newest record of a question, as soon as there are so many that have an outcome.
async fn newest(product: &Product, count: usize) -> Value {
    eventually("the question is on record with its end", async || {
        let found = product.get("/activity?type=client_request").await;
        let records = found["activities"].as_array()?;
        let is_closed = |record: &Value| record["duration_ms"].is_number();
        (records.len() == count && records.iter().all(is_closed)).then(|| records[0].clone())
    })
    .await
}

/// All combinations of protocols, over ways that show their records.
fn bridges() -> impl Iterator<Item = Bridge> {
    let pairs =
        [Session, Stateless].map(|client| [Session, Stateless].map(|server| (client, server)));
    let ways = [(Way::Http, SERVERS[0]), (Way::Menu, SERVERS[1])];
    pairs
        .into_iter()
        .flatten()
        .flat_map(move |(client, server)| {
            ways.map(|(way, server_way)| Bridge {
                client,
                way,
                server,
                server_way,
            })
        })
}
