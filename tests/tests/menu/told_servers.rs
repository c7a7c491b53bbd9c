//! Servers that clients are told of when they connect, and that searches name: those that their caller may use.

use http::{Method, StatusCode};
use mcpproxy_tests::{Client, Fixture, HttpClient, Product, StatelessClient, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

const LOOK: &str = r#"{"name":"look","description":"Looks something up in the books","inputSchema":{},"annotations":{"readOnlyHint":true}}"#;

#[tokio::test]
async fn instructions_name_the_servers_of_the_caller_and_no_others() {
    let fixture = Fixture::new(PROGRAMS).tools(&[LOOK]);
    let held = json!({ "quarantined": true });
    let config = json!({ "mcpServers": {
        "open": fixture.entry(), "closed": fixture.entry(), "held": fixture.entry_with(&held),
    }});
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let restricted = token(&product, "anna", &["--servers", "open"]).await;
    for path in ["", "/all"] {
        let endpoint = product.url(path);
        for (credential, named, unnamed) in [
            (None, &["open", "closed"][..], &["held"][..]),
            (
                Some(&restricted),
                &["open"],
                &["closed", "held", "mcpproxy"],
            ),
        ] {
            for instructions in told(&endpoint, credential).await {
                let about = |name: &&str| instructions.contains(&format!("- {name}: "));
                assert!(named.iter().all(about), "{path}: {instructions}");
                let shown = |name: &&str| instructions.contains(name);
                // The gateway's own name is in what it says of itself.
                let lines: String = instructions.lines().skip(1).collect();
                assert!(
                    !unnamed.iter().any(|name| lines.contains(name)),
                    "{path}: {instructions}"
                );
                assert!(!instructions.contains("held") && shown(&"open"));
            }
        }
    }
}

#[tokio::test]
async fn a_session_keeps_the_instructions_of_its_opening() {
    let fixture = Fixture::new(PROGRAMS).tools(&[LOOK]);
    let config = |name: &str| json!({ "mcpServers": { name: fixture.entry() } });
    let product = Product::start(PROGRAMS, &config("first")).await;
    product.settle().await;
    let before = told(&product.endpoint(), None).await;
    product.home.write_config(&config("second"));
    eventually(
        "clients that come now are told of the new server",
        async || {
            let now = told(&product.endpoint(), None).await;
            now.iter()
                .all(|text| text.contains("- second: "))
                .then_some(())
        },
    )
    .await;
    assert!(
        before.iter().all(|text| text.contains("- first: ")),
        "{before:?}"
    );
}

#[tokio::test]
async fn searches_of_a_token_name_no_server_that_it_may_not_use() {
    let fixture = Fixture::new(PROGRAMS).tools(&[LOOK]);
    let silent = json!({ "command": "sleep", "args": ["600"], "protocol": "legacy" });
    let config = json!({ "mcpServers": {
        "open": fixture.entry(), "hidden": silent, "shown": silent, "other": fixture.entry(),
    }});
    let product = Product::start(PROGRAMS, &config).await;
    eventually("the servers that answer are ready", async || {
        let status = product.status().await;
        let servers = status["servers"].as_array()?;
        let ready = servers.iter().filter(|server| server["state"] == "ready");
        (ready.count() >= 2).then_some(())
    })
    .await;
    let restricted = token(&product, "anna", &["--servers", "open,shown"]).await;
    let client = HttpClient::connect_as(&product.endpoint(), &restricted).await;
    let result = client
        .call("retrieve_tools", &json!({ "query": "zebra" }))
        .await;
    let found = &result["structuredContent"];
    assert_eq!(found["starting"], json!(["shown"]), "{found}");
    let notice = found["notice"].as_str().unwrap_or_default();
    assert!(
        notice.contains("open") && !notice.contains("other"),
        "{notice}"
    );

    let url = product.rest("/tools?q=look&explain=true");
    let rest = HttpClient::without_session(&url).showing(&restricted);
    let answer = rest.send(Method::GET, &[], String::new()).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let listed = answer.json();
    assert_eq!(listed["tools"][0]["name"], "open:look", "{listed}");
    assert_eq!(
        listed["tools"].as_array().map(Vec::len),
        Some(1),
        "{listed}"
    );
    assert!(
        listed["tools"][0]["explanation"]["words"].is_array(),
        "{listed}"
    );
}

/// Instructions that a client gets, with a session and without.
async fn told(endpoint: &str, credential: Option<&String>) -> [String; 2] {
    let mut client = HttpClient::without_session(endpoint);
    let mut stateless = StatelessClient::new(endpoint);
    if let Some(credential) = credential {
        client = client.showing(credential);
        stateless = stateless.showing(credential);
    }
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let answer = client.post(&[], initialize.to_string()).await;
    let discovered = stateless.ask("server/discover", &json!({})).await;
    [answer.json(), discovered.json()].map(|answer: Value| {
        let text = answer["result"]["instructions"].as_str();
        text.unwrap_or_else(|| panic!("no instructions: {answer}"))
            .to_owned()
    })
}

async fn token(product: &Product, name: &str, flags: &[&str]) -> String {
    let command = [&["token", "create", name, "-o", "json"], flags].concat();
    let made = product.run(&command).await;
    assert_eq!(made.code, 0, "{made:?}");
    made.json()["token"].as_str().unwrap_or_default().to_owned()
}
