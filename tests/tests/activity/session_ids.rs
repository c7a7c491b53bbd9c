//! The id of a session is a credential: who has it speaks in the session. The log shows another one.

use http::{Method, StatusCode};
use mcpproxy_tests::{Client, HttpClient, Product, eventually};
use serde_json::json;

use crate::PROGRAMS;
use crate::stage::Stage;
use crate::traces::Traces;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// What `list-activity` showed of another agent was enough to answer its questions, call in its name, cancel its
/// calls and end its session.
#[tokio::test]
async fn the_session_id_in_a_record_opened_the_session() {
    let stage = Stage::start(&json!({})).await;
    let result = stage.client.call_as("read", "shelf:look", &json!({})).await;
    let record = stage.record(&result).await;
    let shown = record["session_id"].as_str().unwrap();
    let attacker = stage.client.clone().with_session(Some(shown));
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let answer = attacker.send(method, &[], PING.to_owned()).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{answer:?}");
    }
    let answer = stage.client.post(&[], PING.to_owned()).await;
    assert_eq!(answer.status, StatusCode::OK, "the session goes on");
}

#[tokio::test]
async fn the_id_on_the_wire_was_in_records_lists_and_files() {
    let stage = Stage::start(&json!({})).await;
    let result = stage.client.call_as("read", "shelf:look", &json!({})).await;
    let record = stage.record(&result).await;
    let last = record["id"].as_str().unwrap();
    let traces = Traces::of(&stage.product, &stage.product.key(), last).await;
    // Its last group is nothing but random digits; dashes and the version stand in every id.
    let (_, random) = stage.client.session_id().unwrap().rsplit_once('-').unwrap();
    traces.assert_without(&[("session", random.to_owned())]);
    let shown = record["session_id"].as_str().unwrap();
    traces.assert_with(shown, &["/activity", "activity list", "state.db"]);
}

#[tokio::test]
async fn a_session_could_be_used_with_another_credential_than_it_was_opened_with() {
    let product = Product::start(PROGRAMS, &json!({})).await;
    let key = product.key();
    let with_key = [("x-api-key", key.as_str())];
    let anonymous = product.connect().await;
    let answer = anonymous.post(&with_key, PING.to_owned()).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{answer:?}");

    let administrator = open(&product, &key).await;
    let answer = administrator.post(&with_key, PING.to_owned()).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let answer = administrator.send(method, &[], PING.to_owned()).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{answer:?}");
    }
}

#[tokio::test]
async fn a_session_outlived_the_key_that_opened_it() {
    let (old, new) = ("the-first-key-of-this-test", "the-second-key-of-this-test");
    let product = Product::start(PROGRAMS, &json!({ "api_key": old })).await;
    let (administrator, anonymous) = (open(&product, old).await, product.connect().await);
    product.home.write_config(&json!({ "api_key": new }));
    eventually("the new key is taken", async || {
        let answer = administrator
            .post(&[("x-api-key", new)], PING.to_owned())
            .await;
        (answer.status == StatusCode::NOT_FOUND).then_some(())
    })
    .await;
    let answer = anonymous.post(&[], PING.to_owned()).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
}

/// A session that was opened with a key.
async fn open(product: &Product, key: &str) -> HttpClient {
    HttpClient::connect_with(&product.endpoint(), &[("x-api-key", key)]).await
}
