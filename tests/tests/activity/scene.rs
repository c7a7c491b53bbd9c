//! A gateway whose log has one record of every sort, for the tests of the log's faces.

use std::time::UNIX_EPOCH;

use http::Method;
use mcpproxy_tests::{Client, Fixture, HttpClient, HttpResponse, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

/// A reason that a spreadsheet would compute, if it got the chance.
pub(crate) const FORMULA: &str = "=HYPERLINK(\"http://x\",\"a,b\")\nsecond line";

const TOOLS: [&str; 4] = [
    r#"{"name":"list_repos","description":"List repositories","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"broken_read","description":"Read what is not there","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"create_issue","description":"Create an issue","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}"#,
    r#"{"name":"delete_repo","description":"Delete a repository","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}"#,
];

/// The gateway, and the ids of the calls it recorded, oldest first.
pub(crate) struct Scene {
    pub(crate) product: Product,
    pub(crate) client: HttpClient,
    pub(crate) read: String,
    pub(crate) failed_read: String,
    pub(crate) write: String,
    pub(crate) destroyed: String,
    pub(crate) refused: String,
    _fixture: Fixture,
}

impl Scene {
    /// Starts the gateway and makes the calls.
    pub(crate) async fn start() -> Self {
        let fixture = Fixture::new(PROGRAMS).tools(&TOOLS).error(
            "broken_read",
            r#"{"code":-32000,"message":"no quota left"}"#,
        );
        let config = json!({ "mcpServers": { "srv": fixture.entry() } });
        let product = Product::start(PROGRAMS, &config).await;
        product.settle().await;
        let client = product.connect().await;
        let read = call_recorded(
            &client,
            "read",
            "list_repos",
            &json!({ "data_sensitivity": "public", "reason": "look around" }),
        )
        .await;
        let failed_read = call_recorded(&client, "read", "broken_read", &json!({})).await;
        // So that times tell the calls before from those after it.
        next_millisecond().await;
        let write = call_recorded(
            &client,
            "write",
            "create_issue",
            &json!({ "data_sensitivity": "internal", "reason": FORMULA }),
        )
        .await;
        let destroyed = call_recorded(
            &client,
            "destructive",
            "delete_repo",
            &json!({ "data_sensitivity": "private", "reason": "User requested cleanup" }),
        )
        .await;
        let refused = call_recorded(&client, "read", "delete_repo", &json!({})).await;
        let scene = Self {
            product,
            client,
            read,
            failed_read,
            write,
            destroyed,
            refused,
            _fixture: fixture,
        };
        // Reads are written a moment later.
        scene
            .recorded(&[&scene.read, &scene.failed_read, &scene.refused])
            .await;
        scene
    }

    /// Makes one more call; the id of its record.
    pub(crate) async fn call(&self, operation: &str, tool: &str) -> String {
        call_recorded(&self.client, operation, tool, &json!({})).await
    }

    /// Waits until these records can be read.
    pub(crate) async fn recorded(&self, ids: &[&str]) {
        for id in ids {
            eventually("a record can be read", async || {
                let record = self.product.get(&format!("/activity/{id}")).await;
                record["error"]["code"]
                    .as_str()
                    .is_none_or(|code| code != "NOT_FOUND")
                    .then_some(())
            })
            .await;
        }
    }
}

async fn call_recorded(client: &HttpClient, operation: &str, tool: &str, intent: &Value) -> String {
    let mut intent = intent.clone();
    intent["operation_type"] = json!(operation);
    let arguments =
        json!({ "name": format!("srv:{tool}"), "args": { "word": "grüße" }, "intent": intent });
    let result = client
        .call(&format!("call_tool_{operation}"), &arguments)
        .await;
    let id = result["_meta"]["dev.mcpproxy/activity_id"].as_str();
    id.unwrap_or_else(|| panic!("the call has no record: {result}"))
        .to_owned()
}

/// Waits until the clock shows another millisecond than it does now.
async fn next_millisecond() {
    let now = || UNIX_EPOCH.elapsed().expect("it is after 1970").as_millis();
    let before = now();
    eventually("time goes on", async || (now() > before).then_some(())).await;
}

/// The ids of a list, in its order.
pub(crate) fn ids(list: &Value) -> Vec<&str> {
    let records = list["activities"]
        .as_array()
        .unwrap_or_else(|| panic!("no list: {list}"));
    records
        .iter()
        .filter_map(|record| record["id"].as_str())
        .collect()
}

/// What the REST interface answers to who has the key.
pub(crate) async fn get(product: &Product, path: &str, headers: &[(&str, &str)]) -> HttpResponse {
    let key = key(product);
    let client = HttpClient::without_session(&product.rest(path));
    let headers = [headers, &[("x-api-key", key.as_str())]].concat();
    client.send(Method::GET, &headers, String::new()).await
}

/// The key of the REST interface.
pub(crate) fn key(product: &Product) -> String {
    let file = product.home.data_dir().join("api_key");
    std::fs::read_to_string(file)
        .expect("the gateway has made a key")
        .trim()
        .to_owned()
}
