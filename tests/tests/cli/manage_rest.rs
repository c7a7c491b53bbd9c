//! Managing servers over REST, and the list of what there is.

use http::{Method, StatusCode};
use mcpproxy_tests::{HttpClient, Product};
use serde_json::json;

use crate::managed::{FILE, file, fixture, home};

#[tokio::test]
async fn rest_manages_servers_for_administrators_alone() {
    let product = Product::start_in(home(), &[]).await;
    let fixture = fixture();
    let mut entry = fixture.entry();
    entry["name"] = json!("new");
    let made = product
        .run(&[
            "token",
            "create",
            "ci",
            "--operations",
            "read,write,destructive",
            "-o",
            "json",
        ])
        .await
        .json();
    let token = made["token"].as_str().expect("it is shown").to_owned();
    for (method, path) in [
        (Method::POST, "/servers"),
        (Method::GET, "/servers/off"),
        (Method::PATCH, "/servers/off"),
        (Method::DELETE, "/servers/off"),
        (Method::POST, "/servers/off/enable"),
        (Method::POST, "/servers/off/disable"),
        (Method::POST, "/servers/off/restart"),
    ] {
        let client = HttpClient::without_session(&product.rest(path));
        let nobody = client.send(method.clone(), &[], entry.to_string()).await;
        assert_eq!(nobody.status, StatusCode::UNAUTHORIZED, "{method} {path}");
        let agent = client
            .showing(&token)
            .send(method.clone(), &[], entry.to_string())
            .await;
        assert_eq!(agent.status, StatusCode::FORBIDDEN, "{method} {path}");
    }
    assert_eq!(file(&product.home), FILE);
    let added = product
        .ask(Method::POST, "/servers", entry.to_string())
        .await;
    assert_eq!(added.status, StatusCode::CREATED, "{}", added.body);
    assert_eq!(added.json()["state"], "ready");
    let again = product
        .ask(Method::POST, "/servers", entry.to_string())
        .await;
    assert_eq!(
        (again.status, &again.json()["error"]["code"]),
        (StatusCode::CONFLICT, &json!("NAME_TAKEN"))
    );
    let merged = json!({ "timeout": "45s", "tools": { "run": { "enabled": false } } });
    let merged = product
        .ask(Method::PATCH, "/servers/new", merged.to_string())
        .await;
    assert_eq!(merged.status, StatusCode::OK, "{}", merged.body);
    assert_eq!(merged.json()["entry"]["timeout"], "45s");
    assert_eq!(merged.json()["offered"][1]["callable"], false);
    let removed = json!({ "timeout": null, "tools": null }).to_string();
    let merged = product.ask(Method::PATCH, "/servers/new", removed).await;
    assert_eq!(merged.json()["entry"]["timeout"], "30s");
    for body in [
        "{ \"timeout\": \"never\" }",
        "{ \"name\": \"other\" }",
        "[]",
        "{",
    ] {
        let refused = product
            .ask(Method::PATCH, "/servers/new", body.to_owned())
            .await;
        assert_eq!(
            refused.status,
            StatusCode::BAD_REQUEST,
            "{body}: {}",
            refused.body
        );
    }
    let large = json!({ "name": "large", "command": "x".repeat(300 * 1024) }).to_string();
    let refused = product.ask(Method::POST, "/servers", large).await;
    assert!(
        refused.json()["error"]["message"]
            .to_string()
            .contains("256 KiB"),
        "{}",
        refused.body
    );
    let refused = product.ask(Method::POST, "/servers", "{}".to_owned()).await;
    assert!(
        refused.json()["error"]["message"]
            .to_string()
            .contains("'name' is missing")
    );
    let gone = product
        .ask(Method::DELETE, "/servers/new", String::new())
        .await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    assert_eq!(file(&product.home), FILE);
    let missing = product
        .ask(Method::DELETE, "/servers/new", String::new())
        .await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_interface_lists_what_there_is() {
    let product = Product::start_in(home(), &[]).await;
    let index = product.get("").await;
    let routes = index["routes"].as_array().expect("there are routes");
    let has =
        |method: &str, path: &str| routes.contains(&json!({ "method": method, "path": path }));
    assert!(
        has("POST", "/api/v1/servers") && has("GET", "/api/v1"),
        "{index}"
    );
    let made = product
        .run(&["token", "create", "ci", "-o", "json"])
        .await
        .json();
    let token = made["token"].as_str().expect("it is shown").to_owned();
    let client = HttpClient::without_session(&product.rest("")).showing(&token);
    let shown = client.send(Method::GET, &[], String::new()).await.body;
    assert!(shown.contains("/api/v1/tools/call"), "{shown}");
    assert!(!shown.contains("/api/v1/config"), "{shown}");
}
