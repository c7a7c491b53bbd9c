//! Searches while servers are starting.

use mcpproxy_tests::{Client, Fixture, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

const INVOICE: &str = r#"{"name":"create_invoice","description":"Creates an invoice for a customer.","inputSchema":{}}"#;

#[tokio::test]
async fn a_search_that_finds_nothing_waits_for_a_server_that_is_just_starting() {
    // It waits two seconds, in which a busy machine may not have started the server; five times in a row it has.
    for _ in 0..5 {
        if finds_what_comes_while_it_waits().await {
            return;
        }
    }
    panic!("no search found the tool of a server that came while it waited");
}

async fn finds_what_comes_while_it_waits() -> bool {
    let fixture = Fixture::new(PROGRAMS).tools(&[INVOICE]);
    let gate = tempfile::TempDir::new().expect("a temporary folder can be made");
    let gate_file = gate.path().join("open");
    let config = json!({ "mcpServers": { "late": starting_with(&fixture.entry(), &gate_file) } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    let query = json!({ "query": "invoice" });
    let first = client.call("retrieve_tools", &query).await;
    let nothing = &first["structuredContent"];
    assert_eq!(nothing["starting"], json!(["late"]), "{first}");
    assert_eq!(nothing["total"], 0, "{first}");
    let search = client.call("retrieve_tools", &query);
    let open = async {
        // A round trip after the search was sent; then the server lists its tools while the search waits.
        client
            .call("describe_tool", &json!({ "names": ["late:x"] }))
            .await;
        std::fs::write(&gate_file, "").expect("the gate can be opened");
    };
    let (found, ()) = futures_util::join!(search, open);
    let found = &found["structuredContent"];
    let is_found = found["tools"][0]["name"] == "late:create_invoice";
    // Either it is found and nothing is missing, or the answer says what is missing.
    assert_eq!(found.get("starting").is_none(), is_found, "{found}");
    is_found
}

#[tokio::test]
async fn servers_that_are_still_starting_are_named_with_a_search() {
    let silent = json!({ "command": "sleep", "args": ["600"], "protocol": "legacy" });
    let fixture = Fixture::new(PROGRAMS).tools(&[INVOICE]);
    let config = json!({ "mcpServers": { "box": fixture.entry(), "slow": silent } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    let found = eventually("the box is listed", async || {
        let result = client
            .call("retrieve_tools", &json!({ "query": "invoice" }))
            .await;
        let found = result["structuredContent"].clone();
        (found["total"].as_u64() > Some(0)).then_some(found)
    })
    .await;
    assert_eq!(found["starting"], json!(["slow"]), "{found}");
    let nothing = client
        .call("retrieve_tools", &json!({ "query": "zebra" }))
        .await;
    assert_eq!(
        nothing["structuredContent"]["starting"],
        json!(["slow"]),
        "{nothing}"
    );
    assert_eq!(nothing["structuredContent"]["total"], 0);
    // People are told the same.
    let listed = product.get("/tools?q=zebra").await;
    assert_eq!(listed["starting"], json!(["slow"]), "{listed}");
    assert!(listed["notice"].is_string(), "{listed}");
    let shown = product
        .run(&["tools", "search", "zebra", "-o", "table"])
        .await;
    let said = "Still starting, so not searched yet: slow";
    assert!(shown.stderr.contains(said), "{shown:?}");
    let elsewhere = json!({ "query": "zebra", "server": "box" });
    let nothing = client.call("retrieve_tools", &elsewhere).await;
    assert!(
        nothing["structuredContent"].get("starting").is_none(),
        "{nothing}"
    );
}

/// Entry of a server that starts when the file is there.
fn starting_with(entry: &Value, gate: &std::path::Path) -> Value {
    let wait = r#"until [ -e "$0" ]; do sleep 0.02; done; exec "$@""#;
    let mut args = vec![
        json!("-c"),
        json!(wait),
        json!(gate),
        entry["command"].clone(),
    ];
    args.extend(entry["args"].as_array().into_iter().flatten().cloned());
    let mut entry = entry.clone();
    entry["command"] = json!("sh");
    entry["args"] = json!(args);
    entry
}
