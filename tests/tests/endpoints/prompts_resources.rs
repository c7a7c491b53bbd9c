//! Prompts, resources, completion and subscriptions of servers, through the gateway: old and new clients in
//! front of it, an old and a new server behind it, which have the same addresses.

mod change_feed;
mod client_requests;
mod streams;

use mcpproxy_tests::{
    Client, Fixture, HttpClient, HttpResponse, Product, StatelessClient, eventually,
};
use serde_json::{Value, json};

use crate::PROGRAMS;

const SERVER: &str = env!("CARGO_BIN_EXE_conformance-server");

const TEXT: &str = "test://static-text";
const WATCHED: &str = "test://watched-resource";

/// The addresses where all servers are offered together.
const TOGETHER: [&str; 2] = ["", "/all"];

/// A client of either protocol.
enum Either {
    Session(HttpClient),
    Stateless(StatelessClient),
}

#[tokio::test]
async fn what_servers_have_is_listed_together_and_what_two_have_names_its_server() {
    let product = start().await;
    for path in TOGETHER {
        for client in Either::both(&product, path).await {
            let prompts = client.keys("prompts/list", "prompts", "name").await;
            for server in ["new", "old"] {
                let name = format!("{server}__test_simple_prompt");
                assert!(prompts.contains(&name), "{path}: {prompts:?}");
            }
            let resources = client.keys("resources/list", "resources", "uri").await;
            for uri in [TEXT, "mcpproxy:old/test://static-text"] {
                let count = resources.iter().filter(|one| *one == uri).count();
                assert_eq!(count, 1, "{path}: {resources:?}");
            }
            let method = "resources/templates/list";
            let templates = client
                .keys(method, "resourceTemplates", "uriTemplate")
                .await;
            let expected = [
                "mcpproxy:new/test://template/{id}/data",
                "mcpproxy:old/test://template/{id}/data",
            ];
            assert_eq!(templates, expected, "{path}");
        }
    }
    for client in Either::both(&product, "/s/old").await {
        let prompts = client.keys("prompts/list", "prompts", "name").await;
        assert!(
            prompts.contains(&"test_simple_prompt".to_owned()),
            "{prompts:?}"
        );
        let resources = client.keys("resources/list", "resources", "uri").await;
        let expected = ["test://static-binary", TEXT, WATCHED];
        assert_eq!(resources, expected);
    }
}

#[tokio::test]
async fn what_is_got_and_read_is_what_the_server_gives() {
    let product = start().await;
    for path in TOGETHER {
        for client in Either::both(&product, path).await {
            for server in ["new", "old"] {
                let name = format!("{server}__test_prompt_with_arguments");
                let params = json!({ "name": name, "arguments": { "arg1": "a", "arg2": "b" } });
                let got = client.result("prompts/get", &params).await;
                let text = &got["messages"][0]["content"]["text"];
                assert_eq!(*text, "Prompt with arguments: arg1='a', arg2='b'", "{got}");

                let reference = json!({ "type": "ref/prompt", "name": name });
                let argument = json!({ "name": "arg1", "value": "par" });
                let params = json!({ "ref": reference, "argument": argument });
                let completed = client.result("completion/complete", &params).await;
                let values = &completed["completion"]["values"];
                assert_eq!(*values, json!(["paris", "park", "party"]), "{completed}");
            }
            for (uri, own) in [
                (TEXT, TEXT),
                ("mcpproxy:old/test://static-text", TEXT),
                ("mcpproxy:new/test://static-text", TEXT),
                (
                    "mcpproxy:new/test://template/7/data",
                    "test://template/7/data",
                ),
                (
                    "mcpproxy:old/test://template/7/data",
                    "test://template/7/data",
                ),
            ] {
                let read = client
                    .result("resources/read", &json!({ "uri": uri }))
                    .await;
                assert_eq!(read["contents"][0]["uri"], own, "{read}");
                assert!(read["contents"][0]["text"].is_string(), "{read}");
                client.check_shape(&read, true);
            }
        }
    }
    for server in ["new", "old"] {
        for client in Either::both(&product, &format!("/s/{server}")).await {
            let params = json!({ "name": "test_simple_prompt" });
            let got = client.result("prompts/get", &params).await;
            assert!(got["messages"].is_array(), "{got}");
            client.check_shape(&got, false);
            let binary = json!({ "uri": "test://static-binary" });
            let read = client.result("resources/read", &binary).await;
            assert_eq!(read["contents"][0]["mimeType"], "image/png", "{read}");
            let reference = json!({ "type": "ref/resource", "uri": "test://template/{id}/data" });
            let argument = json!({ "name": "id", "value": "" });
            let params = json!({ "ref": reference, "argument": argument });
            let completed = client.result("completion/complete", &params).await;
            assert!(completed["completion"]["values"].is_array(), "{completed}");
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_in_the_words_of_each_protocol() {
    let product = start().await;
    for client in Either::both(&product, "").await {
        let absent = match client {
            Either::Session(_) => -32002,
            Either::Stateless(_) => -32602,
        };
        for (method, params, code) in [
            ("prompts/get", json!({ "name": "old__missing" }), -32602),
            ("prompts/get", json!({ "name": "nobody__missing" }), -32602),
            ("prompts/get", json!({ "name": "missing" }), -32602),
            ("prompts/get", json!({}), -32602),
            ("resources/read", json!({ "uri": "other://x" }), absent),
            (
                "resources/read",
                json!({ "uri": "mcpproxy:old/test://x" }),
                absent,
            ),
            (
                "resources/read",
                json!({ "uri": "mcpproxy:new/test://x" }),
                absent,
            ),
            ("resources/read", json!({}), -32602),
            (
                "resources/list",
                json!({ "cursor": "none of ours" }),
                -32602,
            ),
            ("prompts/list", json!({ "cursor": 7 }), -32602),
            ("completion/complete", json!({}), -32602),
        ] {
            let answer = client.ask(method, &params).await;
            assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
            if let (Some(uri), true) = (params.get("uri"), code == absent) {
                assert_eq!(answer["error"]["data"]["uri"], *uri, "{answer}");
            }
        }
        let unlisted = client
            .ask("resources/read", &json!({ "uri": "other://x" }))
            .await;
        let message = unlisted["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("mcpproxy:new/other://x"), "{message}");
    }
}

#[tokio::test]
async fn a_read_is_on_the_record_and_a_list_is_not() {
    let product = start().await;
    let client = product.connect().await;
    let lists = async |method| client.request(method, &json!({})).await;
    lists("prompts/list").await;
    lists("resources/list").await;
    client
        .request("resources/read", &json!({ "uri": TEXT }))
        .await;
    let arguments = json!({ "name": "old__missing", "arguments": { "a": "b" } });
    client.request("prompts/get", &arguments).await;
    client
        .request("resources/read", &json!({ "uri": "other://x" }))
        .await;
    let records = eventually("three records are there", async || {
        let answer = product.get("/activity?limit=50").await;
        let records: Vec<Value> = answer["activities"].as_array()?.clone();
        let calls = records
            .into_iter()
            .filter(|record| record["tool_name"].is_string());
        let calls: Vec<Value> = calls.collect();
        (calls.len() >= 3).then_some(calls)
    })
    .await;
    assert_eq!(records.len(), 3, "{records:?}");
    let find = |arguments: Value| {
        let same = |record: &&Value| record["arguments"] == arguments;
        records
            .iter()
            .find(same)
            .unwrap_or_else(|| panic!("no {arguments}: {records:?}"))
    };
    let read = find(json!({ "uri": TEXT }));
    assert_eq!(read["type"], "tool_call");
    assert_eq!(read["status"], "success");
    assert_eq!(read["server_name"], "new");
    assert_eq!(read["tool_name"], "resources/read");
    assert_eq!(read["intent_type"], "read");
    let failed = find(arguments);
    assert_eq!(failed["server_name"], "old", "{failed}");
    assert_eq!(failed["status"], "error", "{failed}");
    let refused = find(json!({ "uri": "other://x" }));
    assert_eq!(refused["type"], "policy_decision", "{refused}");
    assert_eq!(refused["status"], "blocked", "{refused}");
}

#[tokio::test]
async fn completions_and_subscriptions_reached_servers_without_a_record() {
    let product = start().await;
    for (count, client) in (1..).zip(Either::both(&product, "").await) {
        let reference = json!({ "type": "ref/prompt", "name": "old__test_prompt_with_arguments" });
        let argument = json!({ "name": "arg1", "value": "par" });
        let params = json!({ "ref": reference, "argument": argument });
        client.result("completion/complete", &params).await;
        let record = newest(&product, "completion/complete", count).await;
        check_read(&record, "old", &params);
        assert_eq!(record["response"]["completion"]["values"][0], "paris");
    }
    let uri = "mcpproxy:old/test://watched-resource";
    let params = json!({ "uri": uri });
    let client = product.connect().await;
    client.request("resources/subscribe", &params).await;
    let record = newest(&product, "resources/subscribe", 1).await;
    check_read(&record, "old", &params);
    let unknown = json!({ "uri": "mcpproxy:old/other://what-an-agent-knows" });
    client.request("resources/subscribe", &unknown).await;
    let refused = newest(&product, "resources/subscribe", 2).await;
    assert_eq!(refused["arguments"], unknown, "{refused}");
    let reference = json!({ "type": "ref/prompt", "name": "nobody__has_this" });
    let unknown = json!({ "ref": reference, "argument": { "name": "a", "value": "b" } });
    client.request("completion/complete", &unknown).await;
    let refused = newest(&product, "completion/complete", 3).await;
    assert_eq!(refused["arguments"], unknown, "{refused}");
    assert_eq!(refused["status"], "blocked", "{refused}");
}

/// The newest record of a method, as soon as there are so many with an outcome.
async fn newest(product: &Product, method: &str, count: usize) -> Value {
    let path = format!("/activity?tool={method}");
    eventually("the request is on record", async || {
        let page = product.get(&path).await;
        let records = page["activities"].as_array()?;
        let is_closed = |record: &Value| record["duration_ms"].is_number();
        (records.len() == count && records.iter().all(is_closed)).then(|| records[0].clone())
    })
    .await
}

fn check_read(record: &Value, server: &str, params: &Value) {
    assert_eq!(record["type"], "tool_call", "{record}");
    assert_eq!(record["status"], "success", "{record}");
    assert_eq!(record["server_name"], server, "{record}");
    assert_eq!(record["intent_type"], "read", "{record}");
    assert_eq!(record["arguments"], *params, "{record}");
}

#[tokio::test]
async fn servers_that_may_not_be_used_offer_nothing_and_dead_ones_delay_nobody() {
    let mut off = entry("session");
    off["enabled"] = json!(false);
    let mut held = entry("session");
    held["quarantined"] = json!(true);
    let config = json!({ "mcpServers": {
        "off": off, "held": held, "old": entry("session"),
        "dead": { "command": "/nonexistent/server" },
    } });
    let product = Product::start(PROGRAMS, &config).await;
    settle(&product, &["old"]).await;
    let client = product.connect().await;
    let listed = client.request("prompts/list", &json!({})).await.to_string();
    for server in ["off__", "held__", "dead__"] {
        assert!(!listed.contains(server), "{listed}");
    }
    for uri in ["mcpproxy:off/test://static-text", "mcpproxy:held/x:y"] {
        let answer = client
            .request("resources/read", &json!({ "uri": uri }))
            .await;
        assert!(answer["error"]["code"].is_i64(), "{answer}");
    }
    // An address that nobody lists goes to the one server with resources.
    let answer = client
        .request("resources/read", &json!({ "uri": "x:y" }))
        .await;
    assert_eq!(answer["error"]["data"]["uri"], "x:y", "{answer}");
    let one = product.connect_to("/s/dead").await;
    let answer = one.request("prompts/list", &json!({})).await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    let code = &answer["error"]["data"]["error"]["code"];
    assert_eq!(*code, "UPSTREAM_UNAVAILABLE", "{answer}");
}

#[tokio::test]
async fn what_a_server_offered_goes_with_its_tools_when_its_settings_break() {
    let product = start().await;
    let client = product.connect_to("/all").await;
    let lists = [
        ("tools/list", "old__"),
        ("prompts/list", "old__"),
        ("resources/list", "mcpproxy:old/"),
        ("resources/templates/list", "mcpproxy:old/"),
    ];
    let is_listed = async |method: &str, mark: &str| {
        let listed = client.request(method, &json!({})).await.to_string();
        listed.contains(mark)
    };
    for (method, mark) in lists {
        assert!(is_listed(method, mark).await, "{method}");
    }
    let mut broken = entry("session");
    broken["env"] = json!({ "KEY": "${env:NOT_SET_BY_ANY_TEST}" });
    let servers = json!({ "old": broken, "new": entry("stateless") });
    product.home.write_config(&json!({ "mcpServers": servers }));
    for (method, mark) in lists {
        eventually(&format!("{method} has nothing of it"), async || {
            (!is_listed(method, mark).await).then_some(())
        })
        .await;
    }
    assert!(is_listed("prompts/list", "new__").await);
    // Who asks for them is told what is wrong, and no other server is asked in its place.
    let asked = [
        ("prompts/get", json!({ "name": "old__test_simple_prompt" })),
        (
            "resources/read",
            json!({ "uri": "mcpproxy:old/test://static-text" }),
        ),
    ];
    for (method, params) in asked {
        let answer = client.request(method, &params).await.to_string();
        assert!(answer.contains("NOT_SET_BY_ANY_TEST"), "{method}: {answer}");
    }
}

#[tokio::test]
async fn a_list_that_never_comes_delays_no_tool_and_no_other_server() {
    let tool = r#"{"name":"look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#;
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[tool])
        .result("look", r#"{"content":[]}"#)
        .hang_on("prompts/list");
    // The time that the list may take is beyond that of the test.
    let stuck = fixture.entry_with(&json!({ "timeout": "10m" }));
    let servers = json!({ "stuck": stuck, "old": entry("session") });
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": servers })).await;
    settle(&product, &["old"]).await;
    let client = product.connect_to("/all").await;
    let result = client.call("stuck__look", &json!({})).await;
    assert_eq!(result["content"], json!([]), "{result}");
    let listed = client.request("prompts/list", &json!({})).await.to_string();
    assert!(listed.contains("old__test_simple_prompt"), "{listed}");
    assert!(!listed.contains("stuck__"), "{listed}");
}

/// A gateway before a server with sessions and one without, both listed.
async fn start() -> Product {
    let servers = json!({ "old": entry("session"), "new": entry("stateless") });
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": servers })).await;
    settle(&product, &["old", "new"]).await;
    product
}

fn entry(protocol: &str) -> Value {
    json!({ "command": SERVER, "args": ["--stdio", "--protocol", protocol], "timeout": "30s" })
}

/// Waits until these servers have listed what they have.
async fn settle(product: &Product, servers: &[&str]) {
    for server in servers {
        let client = product.connect_to(&format!("/s/{server}")).await;
        // Each list is waited for by itself, and the first listing of a kind counts as a change of its list.
        for method in ["prompts/list", "resources/list", "resources/templates/list"] {
            let listed = client.request(method, &json!({})).await;
            assert!(listed["result"].is_object(), "{method}: {listed}");
        }
    }
}

impl Either {
    async fn both(product: &Product, path: &str) -> [Self; 2] {
        let url = product.url(path);
        [
            Self::Session(HttpClient::connect(&url).await),
            Self::Stateless(StatelessClient::new(&url)),
        ]
    }

    async fn ask(&self, method: &str, params: &Value) -> Value {
        match self {
            Self::Session(client) => client.request(method, params).await,
            Self::Stateless(client) => {
                let named = params["name"].as_str().or_else(|| params["uri"].as_str());
                let headers = [("mcp-name", named.unwrap_or_default())];
                let params = mcpproxy_tests::stateless_client::introduced(params);
                let answer: HttpResponse = client.ask_with(&headers, method, &params).await;
                answer.json()
            }
        }
    }

    async fn result(&self, method: &str, params: &Value) -> Value {
        let mut answer = self.ask(method, params).await;
        assert!(answer["result"].is_object(), "{method} {params}: {answer}");
        answer["result"].take()
    }

    /// What the items of a list are known by.
    async fn keys(&self, method: &str, member: &str, key: &str) -> Vec<String> {
        let result = self.result(method, &json!({})).await;
        self.check_shape(&result, true);
        let items = result[member].as_array().expect("it is a list");
        let key = |item: &Value| item[key].as_str().expect("it has a key").to_owned();
        items.iter().map(key).collect()
    }

    /// Whether a result has what its protocol wants, and nothing that only the other one has.
    fn check_shape(&self, result: &Value, is_cacheable: bool) {
        match self {
            Self::Session(_) => assert!(result.get("resultType").is_none(), "{result}"),
            Self::Stateless(_) => {
                assert_eq!(result["resultType"], "complete", "{result}");
                if is_cacheable {
                    assert!(result["ttlMs"].is_u64(), "{result}");
                    assert!(result["cacheScope"].is_string(), "{result}");
                }
            }
        }
    }
}
