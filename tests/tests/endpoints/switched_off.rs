//! Direct endpoints that the operator switched off.

use http::{Method, StatusCode};
use http_body_util::BodyExt;
use mcpproxy_tests::{Client, Fixture, HttpClient, Product, StatelessClient, eventually, within};
use serde_json::{Value, json};

use crate::PROGRAMS;

const LOOK: &str =
    r#"{"name":"look","description":"Look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#;

#[tokio::test]
async fn direct_endpoints_could_not_be_switched_off() {
    let fixture = Fixture::new(PROGRAMS).tools(&[LOOK]);
    for (all, server) in [(false, true), (true, false), (false, false)] {
        let endpoints = json!({ "all": all, "server": server });
        let product = Product::start(PROGRAMS, &config(&fixture, &endpoints)).await;
        product.settle().await;
        for (path, is_offered, key) in [
            ("", true, ""),
            ("/all", all, "all"),
            ("/s/srv", server, "server"),
            ("/s/nobody", false, "server"),
        ] {
            let client = HttpClient::without_session(&product.url(path));
            let answer = client.post(&[], hello()).await;
            if is_offered {
                assert_eq!(answer.status, StatusCode::OK, "{path}: {answer:?}");
                continue;
            }
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}: {answer:?}");
            if path == "/s/nobody" && server {
                continue;
            }
            let error = &answer.json()["error"];
            assert_eq!(error["code"], "NOT_FOUND", "{error}");
            let message = error["message"].as_str().unwrap();
            let remedy = format!(r#""endpoints": {{ "{key}": true }}"#);
            assert!(
                message.contains("is switched off") && message.contains(&remedy),
                "{message}"
            );
        }
        // Nothing is left out of the menu.
        let client = product.connect().await;
        let result = client.call_allowed("read", "srv:look", &json!({})).await;
        assert_eq!(result["content"][0]["text"], "look {}");
    }
}

#[tokio::test]
async fn sessions_and_streams_end_with_their_endpoint() {
    let fixture = Fixture::new(PROGRAMS).tools(&[LOOK]);
    let on = config(&fixture, &json!({}));
    let product = Product::start(PROGRAMS, &on).await;
    product.settle().await;
    for (path, key) in [("/all", "all"), ("/s/srv", "server")] {
        let client = product.connect_to(path).await;
        let headers = [("accept", "text/event-stream"), ("content-type", "")];
        let stream = client.open(Method::GET, &headers, String::new()).await;
        assert_eq!(stream.status(), StatusCode::OK);
        product
            .home
            .write_config(&config(&fixture, &json!({ key: false })));
        let ended = stream.into_body().collect();
        within("the stream ends", ended)
            .await
            .expect("it ends in order");
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
        let answer = client.post(&[], list.clone()).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{answer:?}");
        let stateless = StatelessClient::new(&product.url(path));
        let answer = stateless.ask("tools/list", &json!({})).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{answer:?}");

        product.home.write_config(&on);
        let other = eventually("the endpoint is there again", async || {
            let other = HttpClient::without_session(&product.url(path));
            let answer = other.post(&[], hello()).await;
            answer.status.is_success().then_some(answer)
        })
        .await;
        assert!(other.json()["result"]["capabilities"].is_object());
        let answer = client.post(&[], list).await;
        assert_eq!(
            answer.status,
            StatusCode::NOT_FOUND,
            "the old session is over"
        );
    }
}

fn config(fixture: &Fixture, endpoints: &Value) -> Value {
    json!({ "mcpServers": { "srv": fixture.entry() }, "endpoints": endpoints })
}

fn hello() -> String {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string()
}
