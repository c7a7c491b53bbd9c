//! Servers of both wire protocols behind the gateway, which are told to be of one, or asked.

use std::process::Command;

use mcpproxy_tests::HttpTransport::{EventStream, Streamable};
use mcpproxy_tests::{Client, Fixture, Home, Listening, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

/// The sample service, which speaks both.
const CARDS: &str = env!("CARGO_BIN_EXE_cards-under-test");

#[tokio::test]
async fn a_program_that_speaks_both_is_called_in_the_way_the_operator_says() {
    for (protocol, kept) in [("legacy", None), ("modern", None), ("auto", Some("modern"))] {
        let entry = json!({ "command": CARDS, "protocol": protocol });
        check_cards(&entry, kept).await;
    }
}

#[tokio::test]
async fn a_server_over_http_that_speaks_both_is_called_in_the_way_the_operator_says() {
    let (endpoint, _process) = start_cards().await;
    for (protocol, kept) in [("legacy", None), ("modern", None), ("auto", Some("modern"))] {
        let entry = json!({ "url": endpoint, "protocol": protocol });
        check_cards(&entry, kept).await;
    }
}

#[tokio::test]
async fn what_a_server_speaks_is_known_after_a_restart() {
    let config = json!({ "mcpServers": { "cards": { "command": CARDS } } });
    let product = Product::start(PROGRAMS, &config).await;
    call_cards(&product).await;
    let kept = product.home.learned_protocols().await;
    let home = Home::new(PROGRAMS, &config);
    std::fs::write(
        home.data_dir().join("protocols.json"),
        kept.replace("modern", "legacy"),
    )
    .expect("it can be written");
    let product = Product::start_in(home, &[]).await;
    call_cards(&product).await;
    // It was greeted as the file says: nobody asked it, or the file would tell the truth again.
    let kept = product.home.learned_protocols().await;
    assert!(kept.contains("legacy"), "{kept}");
}

#[tokio::test]
async fn servers_of_every_revision_are_called_over_every_transport() {
    let tool = r#"{"name":"look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#;
    for (revision, transports) in [
        ("2024-11-05", &[EventStream, Streamable][..]),
        ("2025-03-26", &[Streamable]),
        ("2025-06-18", &[Streamable]),
        ("2025-11-25", &[Streamable]),
        ("2026-07-28", &[Streamable]),
    ] {
        let fixture = Fixture::new(PROGRAMS).tools(&[tool]).revision(revision);
        let mut servers = json!({ "stdio": fixture.entry() });
        let mut running = Vec::new();
        for transport in transports {
            let server = fixture.over_http(*transport).await;
            servers[format!("{transport:?}")] = server.entry(&json!({}));
            running.push(server);
        }
        let config = json!({ "mcpServers": servers });
        let product = Product::start(PROGRAMS, &config).await;
        let client = product.connect().await;
        for name in servers.as_object().expect("servers by their names").keys() {
            let tool = format!("{name}:look");
            let result = client.call_allowed("read", &tool, &json!({ "a": 1 })).await;
            let text = &result["content"][0]["text"];
            assert_eq!(*text, r#"look {"a":1}"#, "{revision}: {result}");
        }
        for server in product.get("/status").await["servers"]
            .as_array()
            .expect("servers")
        {
            if server["name"] != "mcpproxy" {
                assert_eq!(server["revision"], revision, "{server}");
            }
        }
    }
}

/// Old servers that do not take the question well, and one that is slow to hear it.
#[tokio::test]
async fn old_programs_connect_whatever_they_make_of_the_question() {
    let tool = r#"{"name":"hello","inputSchema":{"type":"object"}}"#;
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[tool])
        .result("hello", r#"{"content":[{"type":"text","text":"hello"}]}"#);
    let mut servers = json!({});
    for (name, script) in [
        (
            "silent",
            r#"grep --line-buffered -v server/discover | "$@""#,
        ),
        (
            "exits",
            r#"IFS= read -r line; case "$line" in *initialize*) ;; *) exit 1;; esac; { printf '%s\n' "$line"; cat; } | "$@""#,
        ),
        ("slow", r#"sleep 15; exec "$@""#),
    ] {
        let mut entry = fixture.entry_with(&json!({ "timeout": "90s" }));
        let mut words = vec![
            json!("-c"),
            json!(script),
            json!("sh"),
            entry["command"].take(),
        ];
        words.extend(entry["args"].as_array().into_iter().flatten().cloned());
        entry["command"] = json!("sh");
        entry["args"] = words.into();
        servers[name] = entry;
    }
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": servers })).await;
    let client = product.connect().await;
    for name in ["exits", "silent", "slow"] {
        let request = json!({
            "name": format!("{name}:hello"), "args": {},
            "intent": { "operation_type": "write" },
        });
        let result = client.call("call_tool_write", &request).await;
        assert_eq!(result["content"][0]["text"], "hello", "{name}: {result}");
    }
    let kept = eventually("all are known", async || {
        let kept = product.home.learned_protocols().await;
        (kept.matches("legacy").count() == 3).then_some(kept)
    })
    .await;
    assert!(!kept.contains("modern"), "{kept}");
}

async fn check_cards(entry: &Value, kept: Option<&str>) {
    let config = json!({ "mcpServers": { "cards": entry } });
    let product = Product::start(PROGRAMS, &config).await;
    call_cards(&product).await;
    match kept {
        Some(protocol) => {
            let kept = product.home.learned_protocols().await;
            assert!(kept.contains(protocol), "{kept}");
        }
        // Nothing was asked, so nothing was learned.
        None => assert!(!product.home.data_dir().join("protocols.json").exists()),
    }
}

async fn call_cards(product: &Product) {
    let client = product.connect().await;
    for (operation, tool, arguments) in [
        ("read", "get-card", json!({ "cardId": "card_4" })),
        (
            "write",
            "review-card",
            json!({ "cardId": "card_4", "grade": 3 }),
        ),
    ] {
        let request = json!({
            "name": format!("cards:{tool}"), "args": arguments,
            "intent": { "operation_type": operation },
        });
        let result = client
            .call(&format!("call_tool_{operation}"), &request)
            .await;
        let data = &result["structuredContent"]["data"];
        assert!(data.is_object(), "{tool}: {result}");
        assert_ne!(result["isError"], true, "{tool}: {result}");
    }
}

/// Starts the sample service over HTTP; it ends when the process is dropped.
async fn start_cards() -> (String, Listening) {
    let mut command = Command::new(CARDS);
    command
        .args(["--http", "127.0.0.1:0"])
        .env_remove("RUST_LOG");
    let process = Listening::start(command, "address=").await;
    (format!("http://{}/mcp", process.place), process)
}
