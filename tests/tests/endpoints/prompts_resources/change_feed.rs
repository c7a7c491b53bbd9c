//! Whoever listens is told of other prompts, and of resources that changed.

use mcpproxy_tests::conformance::Server;
use mcpproxy_tests::{Client, Home, HttpClient, Product, StdioClient, decode};
use serde_json::{Value, json};

use crate::prompts_resources::streams::Stream;
use crate::prompts_resources::{PROGRAMS, SERVER, WATCHED, entry, settle, start};

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

#[tokio::test]
async fn a_session_is_told_of_the_resources_it_subscribed_to() {
    for path in ["", "/all", "/s/old", "/s/new"] {
        let product = start().await;
        let client = product.connect_to(path).await;
        let mut stream = Stream::of_session(&client).await;
        let servers: &[&str] = match path {
            "/s/old" => &["old"],
            "/s/new" => &["new"],
            _ => &["new", "old"],
        };
        for server in servers {
            // The address as the client gave it comes back, not that of the server.
            let uri = match path {
                "" | "/all" => format!("mcpproxy:{server}/{WATCHED}"),
                _ => WATCHED.to_owned(),
            };
            let params = json!({ "uri": uri });
            let answer = client.request("resources/subscribe", &params).await;
            assert_eq!(answer["result"], json!({}), "{path}: {answer}");
            touch(&product, server).await;
            assert_eq!(stream.next().await, updated(&uri), "{path}");
            let answer = client.request("resources/unsubscribe", &params).await;
            assert_eq!(answer["result"], json!({}), "{path}: {answer}");
        }
    }
}

#[tokio::test]
async fn many_are_told_by_one_subscription_and_the_last_one_ends_it() {
    let product = start().await;
    let params = json!({ "uri": WATCHED });
    let mut all = Vec::new();
    for _ in 0..3 {
        let client = product.connect_to("/s/old").await;
        let answer = client.request("resources/subscribe", &params).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
        let stream = Stream::of_session(&client).await;
        all.push((client, stream));
    }
    touch(&product, "old").await;
    for (_, stream) in &mut all {
        assert_eq!(stream.next().await, updated(WATCHED));
    }
    let (first, mut silent) = all.remove(0);
    first.request("resources/unsubscribe", &params).await;
    touch(&product, "old").await;
    for (_, stream) in &mut all {
        assert_eq!(stream.next().await, updated(WATCHED));
    }
    // What the first one hears next is of what it subscribed to since.
    let other = json!({ "uri": "test://static-text" });
    first.request("resources/subscribe", &other).await;
    first.request("resources/subscribe", &params).await;
    touch(&product, "old").await;
    assert_eq!(silent.next().await, updated(WATCHED));
}

#[tokio::test]
async fn servers_over_http_tell_of_their_resources_too() {
    let (old, new) = (
        Server::start(SERVER, "session").await,
        Server::start(SERVER, "stateless").await,
    );
    let servers = json!({ "old": { "url": old.endpoint() }, "new": { "url": new.endpoint() } });
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": servers })).await;
    settle(&product, &["old", "new"]).await;
    let client = product.connect().await;
    let mut stream = Stream::of_session(&client).await;
    for server in ["old", "new"] {
        let uri = format!("mcpproxy:{server}/{WATCHED}");
        let params = json!({ "uri": uri });
        let read = client.request("resources/read", &params).await;
        let text = &read["result"]["contents"][0]["text"];
        assert_eq!(*text, "Watched resource, revision 1.", "{read}");
        let wanted = json!({ "resourceSubscriptions": [uri] });
        let mut by_itself = Stream::of_subscription(&product, "", &wanted).await;
        let first = by_itself.next().await;
        assert_eq!(first["params"]["notifications"], wanted, "{first}");
        let answer = client.request("resources/subscribe", &params).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
        touch(&product, server).await;
        assert_eq!(stream.next().await, updated(&uri));
        assert_eq!(by_itself.next().await["params"]["uri"], *uri);
        let read = client.request("resources/read", &params).await;
        let text = &read["result"]["contents"][0]["text"];
        assert_eq!(*text, "Watched resource, revision 2.", "{read}");
    }
}

#[tokio::test]
async fn a_subscription_outlives_the_server_that_it_was_made_at() {
    let product = start().await;
    for server in ["old", "new"] {
        let client = product.connect_to(&format!("/s/{server}")).await;
        let mut stream = Stream::of_session(&client).await;
        let answer = client
            .request("resources/subscribe", &json!({ "uri": WATCHED }))
            .await;
        assert_eq!(answer["result"], json!({}), "{answer}");
        let mut changed = json!({ "old": entry("session"), "new": entry("stateless") });
        changed[server]["timeout"] = json!("31s");
        product.home.write_config(&json!({ "mcpServers": changed }));
        // What the resource was meanwhile nobody knows, so it counts as changed; from then on it is watched.
        assert_eq!(stream.next().await, updated(WATCHED));
        touch(&product, server).await;
        assert_eq!(stream.next().await, updated(WATCHED));
    }
}

#[tokio::test]
async fn a_subscription_outlives_a_process_that_dies() {
    for protocol in ["session", "stateless"] {
        let home = Home::new(PROGRAMS, &json!({}));
        let pid = home.folder().join("pid");
        let script = format!(
            "echo $$ > '{}'; exec '{SERVER}' --stdio --protocol {protocol}",
            pid.display()
        );
        let entry = json!({ "command": "sh", "args": ["-c", script] });
        home.write_config(&json!({ "mcpServers": { "srv": entry } }));
        let product = Product::start_in(home, &[]).await;
        settle(&product, &["srv"]).await;
        let client = product.connect_to("/s/srv").await;
        let mut stream = Stream::of_session(&client).await;
        let params = json!({ "uri": WATCHED });
        let subscribe = async |client: &HttpClient| {
            let answer = client.request("resources/subscribe", &params).await;
            assert_eq!(answer["result"], json!({}), "{protocol}: {answer}");
        };
        subscribe(&client).await;
        let pid = std::fs::read_to_string(pid).expect("the server wrote its id");
        let killed = std::process::Command::new("kill")
            .args(["-9", pid.trim()])
            .status();
        assert!(killed.expect("kill runs").success());
        assert_eq!(stream.next().await, updated(WATCHED), "{protocol}");
        // When another one has been granted it, the server tells of the resource again.
        let other = product.connect_to("/s/srv").await;
        subscribe(&other).await;
        touch(&product, "srv").await;
        assert_eq!(stream.next().await, updated(WATCHED), "{protocol}");
    }
}

#[tokio::test]
async fn a_resource_that_no_server_tells_of_cannot_be_subscribed_to() {
    let product = start().await;
    let client = product.connect().await;
    for uri in ["other://x", "mcpproxy:old/test://missing"] {
        let answer = client
            .request("resources/subscribe", &json!({ "uri": uri }))
            .await;
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
    }
    let answer = client.request("resources/subscribe", &json!({})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[tokio::test]
async fn who_needs_no_session_is_told_on_the_stream_it_opened() {
    let product = start().await;
    let qualified = format!("mcpproxy:old/{WATCHED}");
    let uris = json!([WATCHED, qualified, "other://x"]);
    let lists = json!({
        "promptsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": uris,
    });
    for (path, promised) in [
        ("", json!({ "resourceSubscriptions": [WATCHED, qualified] })),
        (
            "/all",
            json!({
                "promptsListChanged": true, "resourcesListChanged": true,
                "resourceSubscriptions": [WATCHED, qualified],
            }),
        ),
    ] {
        let mut stream = Stream::of_subscription(&product, path, &lists).await;
        let first = stream.next().await;
        let method = "notifications/subscriptions/acknowledged";
        assert_eq!(first["method"], method, "{path}: {first}");
        assert_eq!(first["params"]["notifications"], promised, "{path}");
        for (server, uri) in [("new", WATCHED), ("old", &*qualified)] {
            touch(&product, server).await;
            let told = stream.next().await;
            assert_eq!(told["method"], "notifications/resources/updated", "{told}");
            assert_eq!(told["params"]["uri"], *uri, "{told}");
            assert_eq!(told["params"]["_meta"][SUBSCRIPTION_ID], "s-1", "{told}");
        }
    }
}

#[tokio::test]
async fn other_prompts_are_announced_where_lists_can_change() {
    for server in ["old", "new"] {
        let product = start().await;
        let client = product.connect_to("/all").await;
        let mut stream = Stream::of_session(&client).await;
        let one = product.connect_to(&format!("/s/{server}")).await;
        let wanted = json!({ "promptsListChanged": true });
        let mut by_itself = Stream::of_subscription(&product, "/all", &wanted).await;
        by_itself.next().await;
        one.call("test_trigger_prompt_change", &json!({})).await;
        let method = "notifications/prompts/list_changed";
        assert_eq!(stream.next().await["method"], method);
        let told = by_itself.next().await;
        assert_eq!(told["method"], method, "{told}");
        assert_eq!(told["params"]["_meta"][SUBSCRIPTION_ID], "s-1", "{told}");
        let listed = client.request("prompts/list", &json!({})).await.to_string();
        assert!(listed.contains("Revision 2."), "{listed}");
    }
}

#[tokio::test]
async fn endpoints_promise_what_they_offer() {
    let product = start().await;
    for (path, announces) in [("", false), ("/all", true), ("/s/old", true)] {
        let client = mcpproxy_tests::StatelessClient::new(&product.url(path));
        let discovered = client.ask("server/discover", &json!({})).await.json();
        let has = &discovered["result"]["capabilities"];
        assert_eq!(has["resources"]["subscribe"], true, "{path}: {has}");
        assert!(has["completions"].is_object(), "{path}: {has}");
        for list in ["tools", "prompts", "resources"] {
            let is_told = has[list]["listChanged"] == true;
            assert_eq!(is_told, announces, "{path}: {has}");
        }
    }
}

#[tokio::test]
async fn over_standard_input_and_output_updates_are_lines() {
    let product = start().await;
    check_lines(&product.stdio().await).await;
    let servers = json!({ "old": entry("session"), "new": entry("stateless") });
    let alone = Home::new(PROGRAMS, &json!({ "mcpServers": servers }));
    check_lines(&alone.stdio().await).await;
}

async fn check_lines(client: &StdioClient) {
    for server in ["old", "new"] {
        let uri = format!("mcpproxy:{server}/{WATCHED}");
        let params = json!({ "uri": uri });
        let answer = client.request("resources/subscribe", &params).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
        let name = format!("{server}:touch_resource");
        let intent = json!({ "operation_type": "write" });
        let arguments = json!({ "name": name, "args": {}, "intent": intent });
        let params = json!({ "name": "call_tool_write", "arguments": arguments });
        let call =
            json!({ "jsonrpc": "2.0", "id": "touch", "method": "tools/call", "params": params });
        client.send_line(&call.to_string()).await;
        // The answer to the call and the news come in no certain order.
        let lines = [client.read_line().await, client.read_line().await];
        let lines = lines.map(|line| decode(&line));
        assert!(lines.contains(&updated(&uri)), "{lines:?}");
        assert!(lines.iter().any(|line| line["id"] == "touch"), "{lines:?}");
    }
}

/// Changes the watched resource of a server.
async fn touch(product: &Product, server: &str) {
    let client = product.connect_to(&format!("/s/{server}")).await;
    let result = client.call("touch_resource", &json!({})).await;
    assert!(result["isError"] != true, "{result}");
}

fn updated(uri: &str) -> Value {
    let method = "notifications/resources/updated";
    json!({ "jsonrpc": "2.0", "method": method, "params": { "uri": uri } })
}
