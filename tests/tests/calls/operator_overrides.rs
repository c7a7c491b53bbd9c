//! The operator's word on servers and tools: it is shown, it decides, and what is withheld
//! is neither shown nor callable.

use std::net::Ipv4Addr;

use mcpproxy_tests::stateless_client::introduced;
use mcpproxy_tests::{Client, Fixture, HttpClient, Product, StatelessClient};
use serde_json::{Value, json};

use crate::PROGRAMS;

const TOOLS: [&str; 3] = [
    r#"{"name":"list_repos","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"delete_repo","inputSchema":{},"annotations":{"destructiveHint":true,"readOnlyHint":false}}"#,
    r#"{"name":"run_query","inputSchema":{}}"#,
];

/// A word that only descriptions which must not be shown have.
const WITHHELD: &str = "xyzzy";

#[tokio::test]
async fn a_tool_is_called_no_more_often_than_its_limit_says_by_one_caller() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let limit = json!({ "max_calls": 2, "window_ms": 3_600_000 });
    let tools = json!({ "tools": { "list_repos": { "rate_limit": limit } } });
    let config = json!({ "mcpServers": { "github": fixture.entry_with(&tools) } });
    let product = Product::start(PROGRAMS, &config).await;
    let (first, second) = (product.connect().await, product.connect().await);
    let call = async |client: &HttpClient, tool: &str| {
        let arguments =
            json!({ "name": format!("github:{tool}"), "intent": { "operation_type": "read" } });
        client.call("call_tool_read", &arguments).await
    };
    for _ in 0..2 {
        assert!(call(&first, "list_repos").await["isError"].is_null());
    }
    let refused = call(&first, "list_repos").await;
    let error = &refused["structuredContent"]["error"];
    assert_eq!(error["code"], "RATE_LIMITED", "{refused}");
    assert_eq!(error["retryable"], true);
    let wait = error["details"]["retry_after_ms"].as_u64();
    assert!(
        wait.is_some_and(|wait| (1..=3_600_000).contains(&wait)),
        "{error}"
    );
    assert!(
        call(&first, "run_query").await["isError"].is_null(),
        "other tools have no limit"
    );
    let refused = call(&second, "list_repos").await;
    assert_eq!(
        refused["structuredContent"]["error"]["code"],
        "RATE_LIMITED"
    );
    let administrator = HttpClient::connect_as(&product.endpoint(), &product.key()).await;
    assert!(
        call(&administrator, "list_repos").await["isError"].is_null(),
        "other credentials do not share it"
    );
    assert_eq!(fixture.ledger().len(), 4);
}

/// A limit of 2 a day was no limit: it counted by a name and a session that the caller chooses.
#[tokio::test]
async fn a_limit_was_passed_by_taking_another_name() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let limit = json!({ "max_calls": 2, "window_ms": 3_600_000 });
    let tools = json!({ "tools": { "list_repos": { "rate_limit": limit } } });
    let config = json!({ "mcpServers": { "github": fixture.entry_with(&tools) } });
    let product = Product::start(PROGRAMS, &config).await;
    let arguments = json!({ "name": "github:list_repos", "intent": { "operation_type": "read" } });
    for number in 0..20 {
        let mut params = introduced(&json!({ "name": "call_tool_read", "arguments": arguments }));
        let info = json!({ "name": format!("agent {number}"), "version": "1" });
        params["_meta"]["io.modelcontextprotocol/clientInfo"] = info;
        let stateless = StatelessClient::new(&product.endpoint());
        let answer = stateless.ask_with(&[], "tools/call", &params).await;
        assert_eq!(
            answer.json()["result"]["isError"] == true,
            number > 0,
            "{number}: {}",
            answer.body
        );
        let session = product.connect().await;
        let result = session.call("call_tool_read", &arguments).await;
        assert_eq!(result["isError"] == true, number > 0, "{number}: {result}");
    }
    // Programs of this machine can come from any address of its loopback network.
    for last in 2..6 {
        let address = Ipv4Addr::new(127, 0, 0, last);
        let client = HttpClient::from_address(&product.endpoint(), address.into());
        let client = client.opened(&[]).await;
        let result = client.call("call_tool_read", &arguments).await;
        assert_eq!(result["isError"], true, "{address}: {result}");
    }
    assert_eq!(fixture.ledger().len(), 2);
}

#[tokio::test]
async fn the_operators_annotations_are_shown_and_decide() {
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS);
    let tools = json!({ "tools": {
        "list_repos": { "annotations": { "destructiveHint": true } },
        "delete_repo": { "annotations": { "destructiveHint": false, "readOnlyHint": true } },
        "run_query": { "annotations": { "readOnlyHint": false } },
    } });
    let config = json!({ "mcpServers": { "github": fixture.entry_with(&tools) } });
    let stage = Stage::of(Product::start(PROGRAMS, &config).await, vec![fixture]).await;
    for (tool, annotations, call_with, read_is) in [
        (
            "list_repos",
            json!({ "readOnlyHint": true, "destructiveHint": true }),
            "call_tool_destructive",
            "SERVER_MISMATCH",
        ),
        (
            "delete_repo",
            json!({ "destructiveHint": false, "readOnlyHint": true }),
            "call_tool_read",
            "",
        ),
        (
            "run_query",
            json!({ "readOnlyHint": false }),
            "call_tool_write",
            "SERVER_MISMATCH",
        ),
    ] {
        let name = format!("github:{tool}");
        let shown = stage
            .answer("describe_tool", json!({ "names": [name] }))
            .await["tools"][0]
            .clone();
        assert_eq!(
            (&shown["annotations"], &shown["call_with"]),
            (&annotations, &json!(call_with)),
            "{shown}"
        );
        let arguments =
            json!({ "name": name, "intent": { "operation_type": "read" }, "args": { "org": "x" } });
        let result = stage.client.call("call_tool_read", &arguments).await;
        let code = result["structuredContent"]["error"]["code"]
            .as_str()
            .unwrap_or_default();
        assert_eq!(code, read_is, "{name}: {result}");
    }
    assert_eq!(stage.fixtures[0].ledger(), [r#"delete_repo {"org":"x"}"#]);
}

#[tokio::test]
async fn what_is_disabled_or_quarantined_is_neither_shown_nor_callable() {
    let secret = format!(
        r#"{{"name":"hidden_tool","description":"Hidden {WITHHELD}","inputSchema":{{}},"annotations":{{"readOnlyHint":true}}}}"#
    );
    let fixtures: Vec<Fixture> = (0..3)
        .map(|_| Fixture::new(PROGRAMS).tools(&[secret.as_str()]))
        .collect();
    let disabled_tool = json!({ "tools": { "hidden_tool": { "enabled": false } } });
    let config = json!({ "mcpServers": {
        "one": fixtures[0].entry_with(&disabled_tool),
        "two": fixtures[1].entry_with(&json!({ "enabled": false })),
        "three": fixtures[2].entry_with(&json!({ "quarantined": true })),
    } });
    let stage = Stage::of(Product::start(PROGRAMS, &config).await, fixtures).await;
    let found = stage
        .search(json!({ "query": "hidden tool", "limit": 50 }))
        .await;
    assert_eq!((&found["tools"], &found["total"]), (&json!([]), &json!(0)));
    for (server, code) in [
        ("one", "TOOL_DISABLED"),
        ("two", "TOOL_DISABLED"),
        ("three", "SERVER_QUARANTINED"),
    ] {
        let name = format!("{server}:hidden_tool");
        let arguments = json!({ "name": name, "intent": { "operation_type": "destructive" } });
        let called = stage.client.call("call_tool_destructive", &arguments).await;
        let described = stage
            .answer("describe_tool", json!({ "names": [name] }))
            .await;
        assert_eq!(described["tools"], json!([]), "{described}");
        for (error, whole) in [
            (&called["structuredContent"]["error"], &called),
            (&described["errors"][0]["error"], &described),
        ] {
            assert_eq!(error["code"], code, "{name}: {whole}");
            assert_eq!(error["category"], "business", "{name}: {whole}");
            assert!(!whole.to_string().contains(WITHHELD), "{name}: {whole}");
        }
    }
    assert!(
        stage
            .fixtures
            .iter()
            .all(|fixture| fixture.ledger().is_empty())
    );
    assert_eq!(
        stage.fixtures[1].pid(),
        None,
        "a disabled server is not started"
    );
    assert_eq!(
        stage.fixtures[2].pid(),
        None,
        "a quarantined server is not started"
    );
}

/// The gateway with servers whose tools are known, and a client.
struct Stage {
    client: HttpClient,
    fixtures: Vec<Fixture>,
    _product: Product,
}

impl Stage {
    async fn of(product: Product, fixtures: Vec<Fixture>) -> Self {
        product.settle().await;
        let client = product.connect().await;
        Self {
            client,
            fixtures,
            _product: product,
        }
    }

    async fn search(&self, arguments: Value) -> Value {
        self.answer("retrieve_tools", arguments).await
    }

    async fn answer(&self, tool: &str, arguments: Value) -> Value {
        let mut result = self.client.call(tool, &arguments).await;
        assert!(result["isError"].is_null(), "{tool} {arguments}: {result}");
        result["structuredContent"].take()
    }
}
