//! What a token is told of servers and tools that do not exist for it: nothing, by whichever answer.

use http::Method;
use mcpproxy_tests::{Client, Fixture, HttpClient, Product};
use serde_json::{Value, json};

use crate::PROGRAMS;

/// Server with two tools, of which the token may use one.
fn shelf() -> Fixture {
    let tool = |name: &str| {
        format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{{"readOnlyHint":true}}}}"#
        )
    };
    Fixture::new(PROGRAMS).tools(&["look", "secret"].map(tool))
}

/// Token for one tool of a server, a server that failed, and the admin tools.
async fn token(product: &Product) -> String {
    let command = [
        "token",
        "create",
        "agent",
        "--servers",
        "shelf,broken,mcpproxy",
    ];
    let bounds = [
        "--tools",
        "shelf:look",
        "--tools",
        "mcpproxy:*",
        "--permissions",
    ];
    let rest = ["servers:read,activity:read", "-o", "json"];
    let made = product.run(&[&command[..], &bounds, &rest].concat()).await;
    let made = made.json();
    made["token"]
        .as_str()
        .expect("a token is shown once")
        .to_owned()
}

#[tokio::test]
async fn states_of_servers_told_a_token_of_withheld_tools_and_files() {
    let (shelf, hidden) = (shelf(), Fixture::new(PROGRAMS));
    let config = json!({ "mcpServers": {
        "shelf": shelf.entry(),
        "hidden": hidden.entry(),
        "broken": { "command": "/srv/private/no-such-program" },
    } });
    let product = Product::start(PROGRAMS, &config).await;
    product.settle().await;
    let credential = token(&product).await;
    let client = HttpClient::connect_as(&product.endpoint(), &credential).await;

    let rest = HttpClient::without_session(&product.rest("/servers")).showing(&credential);
    let rest = rest.send(Method::GET, &[], String::new()).await.json();
    check("REST", &rest["servers"]);
    for tool in ["list-servers", "check-servers"] {
        let answer = client
            .call_allowed("read", &format!("mcpproxy:{tool}"), &json!({}))
            .await;
        check(tool, &answer["structuredContent"]["data"]["servers"]);
        assert!(!answer.to_string().contains("/srv/private"), "{answer}");
    }
    let call = json!({ "name": "broken:any", "args": {}, "intent": { "operation_type": "read" } });
    let refused = client.call("call_tool_read", &call).await;
    assert!(!refused.to_string().contains("/srv/private"), "{refused}");
}

/// Checks servers that were shown: those of the token, one tool of the one that has two, and nothing of the host.
fn check(what: &str, servers: &Value) {
    let names = servers.as_array().into_iter().flatten();
    let names: Vec<&str> = names.filter_map(|server| server["name"].as_str()).collect();
    assert!(
        names.contains(&"shelf") && names.contains(&"broken"),
        "{what}: {servers}"
    );
    assert!(!names.contains(&"hidden"), "{what}: {servers}");
    for server in servers.as_array().into_iter().flatten() {
        if server["name"] == "shelf" && !server["tools"].is_null() {
            assert_eq!(server["tools"], 1, "{what}: {servers}");
        }
        let warnings = server.get("warnings").filter(|all| **all != json!([]));
        assert_eq!(warnings, None, "{what}: {servers}");
    }
    assert!(
        !servers.to_string().contains("/srv/private"),
        "{what}: {servers}"
    );
}
