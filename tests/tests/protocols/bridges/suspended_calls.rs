//! Calls that are parked until their clients come back with answers.

use mcpproxy_tests::conversation::Speaks::{Session, Stateless};
use mcpproxy_tests::conversation::{ClientRequest, Conversation, text};
use mcpproxy_tests::eventually;
use serde_json::{Value, json};

use crate::bridges::cases::{check_question, says};
use crate::bridges::scene::{Bridge, ClientDeadline, SERVERS, Scene, ServerWay, Way};

#[tokio::test]
async fn a_parked_call_goes_on_only_for_the_request_it_was_given_to() {
    for server_way in SERVERS {
        let bridge = Bridge {
            client: Stateless,
            way: Way::Http,
            server: Session,
            server_way,
        };
        let scene = Scene::start(bridge, ClientDeadline::Long).await;
        let client = scene.client("asked").await;
        let mut exchange = client.call("ask_name", &json!({})).await;
        let question = exchange.question().await;
        check_question(&question);

        let stranger = scene.client("stranger").await;
        let by_menu = scene.client_by(Way::Menu, Stateless, "asked").await;
        for (who, tool, arguments) in [
            (&stranger, "ask_name", json!({})),
            (&by_menu, "ask_name", json!({})),
            (&client, "ask_name", json!({ "more": 1 })),
            (&client, "wait", json!({})),
        ] {
            let refused = repeat(who, &question, tool, &arguments).await;
            let said = format!("{bridge}: {tool} {arguments}: {refused}");
            assert_eq!(refused["error"]["code"], -32602, "{said}");
            assert!(says(&refused, "belongs to another request"), "{said}");
        }

        exchange.reply(&question, &accepted()).await;
        assert_eq!(text(&exchange.answer().await), "hello Ada", "{bridge}");

        exchange.reply(&question, &accepted()).await;
        let refused = exchange.answer().await;
        assert_eq!(refused["error"]["code"], -32602, "{bridge}: {refused}");
        assert!(says(&refused, "is not known"), "{bridge}: {refused}");
    }
}

#[tokio::test]
async fn a_call_that_is_repeated_without_the_answer_is_asked_again() {
    for way in [Way::Http, Way::Menu, Way::Stdio, Way::Relay] {
        for server_way in SERVERS {
            let bridge = Bridge {
                client: Stateless,
                way,
                server: Session,
                server_way,
            };
            let scene = Scene::start(bridge, ClientDeadline::Long).await;
            let client = scene.client("asked").await;
            let mut exchange = client.call("ask_name", &json!({})).await;
            let first = exchange.question().await;
            exchange.repeat_without(&first).await;
            let second = exchange.question().await;
            check_question(&second);
            assert_ne!(first.state(), second.state(), "{bridge}");
            exchange.reply(&second, &accepted()).await;
            assert_eq!(text(&exchange.answer().await), "hello Ada", "{bridge}");
        }
    }
}

#[tokio::test]
async fn a_client_is_asked_for_two_calls_at_a_time_where_it_is_known_to_be_the_same() {
    for (client, server_way) in [Session, Stateless]
        .into_iter()
        .flat_map(|client| SERVERS.map(|way| (client, way)))
    {
        let bridge = Bridge {
            client,
            way: Way::Http,
            server: Session,
            server_way,
        };
        let scene = Scene::start(bridge, ClientDeadline::Long).await;
        let client = scene.client("asked").await;
        let mut first = client.call("ask_name", &json!({})).await;
        let question = first.question().await;
        check_question(&question);
        let mut second = client.call("ask_name", &json!({})).await;
        if (bridge.client, server_way) == (Stateless, ServerWay::Stdio) {
            // Nothing tells whose question it is, nor that both calls are of one client.
            let refused = second.answer().await;
            let why = "not all requests are of one client";
            assert!(says(&refused, why), "{bridge}: {refused}");
        } else {
            let question = second.question().await;
            check_question(&question);
            second.reply(&question, &accepted()).await;
            assert_eq!(text(&second.answer().await), "hello Ada", "{bridge}");
        }
        first.reply(&question, &accepted()).await;
        assert_eq!(text(&first.answer().await), "hello Ada", "{bridge}");
    }
}

#[tokio::test]
async fn a_parked_call_that_nobody_comes_back_for_ends_and_is_on_record() {
    for server_way in SERVERS {
        let bridge = Bridge {
            client: Stateless,
            way: Way::Http,
            server: Session,
            server_way,
        };
        let scene = Scene::start(bridge, ClientDeadline::Short).await;
        let client = scene.client("asked").await;
        let question = client.call("ask_name", &json!({})).await.question().await;
        check_question(&question);
        let what = format!("{bridge}: the call is on record with its end");
        let record = eventually(&what, async || {
            let found = scene.product().get("/activity?tool=ask_name").await;
            let record = found["activities"][0].clone();
            record["duration_ms"].is_number().then_some(record)
        })
        .await;
        assert_eq!(record["status"], "success", "{bridge}: {record}");
        let response = record["response"].to_string();
        assert!(response.contains("cancelled"), "{bridge}: {record}");
    }
}

#[tokio::test]
async fn a_parked_call_ends_with_its_gateway_and_is_unknown_to_any_other() {
    let bridge = Bridge {
        client: Stateless,
        way: Way::Http,
        server: Session,
        server_way: ServerWay::Http,
    };
    let mut scene = Scene::start(bridge, ClientDeadline::Long).await;
    let observer = scene.observer().await;
    let client = scene.client("asked").await;
    let question = client.call("ask_name", &json!({})).await.question().await;
    assert_eq!(observer.text("unanswered").await, "0");
    scene.stop().await;
    eventually("the server does not wait for the answer", async || {
        (observer.text("unanswered").await == "1").then_some(())
    })
    .await;

    let other = Scene::start(bridge, ClientDeadline::Long).await;
    let client = other.client("asked").await;
    let refused = repeat(&client, &question, "ask_name", &json!({})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(says(&refused, "is not known"), "{refused}");
}

#[tokio::test]
async fn nothing_is_kept_between_a_client_and_a_server_without_sessions() {
    for server_way in SERVERS {
        let bridge = Bridge {
            client: Stateless,
            way: Way::Http,
            server: Stateless,
            server_way,
        };
        let first = Scene::start(bridge, ClientDeadline::Long).await;
        let asked = first.client("asked").await;
        let question = asked.call("ask_name", &json!({})).await.question().await;
        drop(asked);
        drop(first);

        let second = Scene::start(bridge, ClientDeadline::Long).await;
        let client = second.client("asked").await;
        let answer = repeat(&client, &question, "ask_name", &json!({})).await;
        assert_eq!(text(&answer), "hello Ada", "{bridge}");
    }
}

/// Answers a question with a request that may be another one than that which it was asked for.
async fn repeat(
    client: &Conversation,
    question: &ClientRequest,
    tool: &str,
    arguments: &Value,
) -> Value {
    let mut exchange = client
        .call_repeated(tool, arguments, question, &accepted())
        .await;
    exchange.answer().await
}

fn accepted() -> Value {
    json!({ "action": "accept", "content": { "name": "Ada" } })
}
