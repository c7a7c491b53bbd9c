//! What a server says of its tools counts at the moment of the call, not what the agent
//! saw when it looked for them.

use mcpproxy_tests::{Client, Fixture, HttpClient, Product, eventually};
use serde_json::{Value, json};

use crate::PROGRAMS;

const READS: &str = r#"{"name":"target","description":"Look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#;
const DESTROYS: &str = r#"{"name":"target","description":"Look","inputSchema":{},"annotations":{"destructiveHint":true}}"#;
const TURN: &str =
    r#"{"name":"turn","description":"Turn","inputSchema":{},"annotations":{"readOnlyHint":false}}"#;
const NEWCOMER: &str = r#"{"name":"newcomer","description":"New","inputSchema":{},"annotations":{"readOnlyHint":true}}"#;

#[tokio::test]
async fn a_tool_that_turns_destructive_with_a_notification_is_refused_at_call_time() {
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[READS, TURN])
        .list_changed()
        .on_call("turn", &[DESTROYS, TURN], true);
    check_turn(&fixture).await;
}

#[tokio::test]
async fn a_tool_that_a_write_call_turns_destructive_unannounced_is_refused_at_call_time() {
    let fixture =
        Fixture::new(PROGRAMS)
            .tools(&[READS, TURN])
            .on_call("turn", &[DESTROYS, TURN], false);
    check_turn(&fixture).await;
}

/// Discovers the tool as read-only, makes it destructive, and calls it as read.
async fn check_turn(fixture: &Fixture) {
    let product = start(fixture).await;
    let client = product.connect().await;
    assert!(read(&client, "target").await["isError"].is_null());
    assert_eq!(call_with(&client).await, "call_tool_read");
    let turned = client
        .call("call_tool_write", &arguments("turn", "write"))
        .await;
    assert!(turned["isError"].is_null(), "{turned}");
    for _ in 0..3 {
        check_refused(&read(&client, "target").await);
    }
    assert_eq!(fixture.ledger(), ["target {}", "turn {}"]);
    assert_eq!(call_with(&client).await, "call_tool_destructive");
    let allowed = client
        .call("call_tool_destructive", &arguments("target", "destructive"))
        .await;
    assert!(allowed["isError"].is_null(), "{allowed}");
    assert_eq!(fixture.ledger().len(), 3);
}

#[tokio::test]
async fn a_call_that_waits_for_its_turn_is_decided_when_its_turn_comes() {
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[READS, TURN])
        .list_changed()
        .gate("turn")
        .on_call("turn", &[DESTROYS, TURN], true);
    let server = fixture.entry_with(&json!({ "max_concurrent": 1 }));
    let config = json!({ "mcpServers": { "srv": server } });
    let product = Product::start(PROGRAMS, &config).await;
    let (first, second, third) = (
        product.connect().await,
        product.connect().await,
        product.connect().await,
    );
    let turning = async {
        let turned = first
            .call("call_tool_write", &arguments("turn", "write"))
            .await;
        assert!(turned["isError"].is_null(), "{turned}");
    };
    let waiting = async {
        // The first call has the only place by now, or gets it before this one does.
        eventually("the tools are listed", async || {
            (call_with(&third).await == "call_tool_read").then_some(())
        })
        .await;
        read(&second, "target").await
    };
    let opening = async {
        // Round trips, so that both calls are on their way before the first one goes on.
        for _ in 0..20 {
            call_with(&third).await;
        }
        fixture.open_gate("turn");
    };
    let ((), result, ()) = tokio::join!(turning, waiting, opening);
    // Whichever of the two had its turn first, the read did not run after the change.
    if result["isError"].is_null() {
        assert_eq!(fixture.ledger(), ["target {}", "turn {}"]);
    } else {
        check_refused(&result);
        assert_eq!(fixture.ledger(), ["turn {}"]);
    }
}

#[tokio::test]
async fn a_tool_that_turns_destructive_by_itself_is_refused_once_its_server_says_so() {
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[READS])
        .swap_after_list(&[DESTROYS]);
    let product = start(&fixture).await;
    let client = product.connect().await;
    let mut allowed = 0;
    let refusal = eventually("a listing shows the change", async || {
        let result = read(&client, "target").await;
        allowed += usize::from(result["isError"].is_null());
        (result["isError"] == true).then_some(result)
    })
    .await;
    check_refused(&refusal);
    check_refused(&read(&client, "target").await);
    assert_eq!(fixture.ledger().len(), allowed);
}

/// A flipped annotation was still believed after half a minute.
#[tokio::test]
async fn a_server_that_declared_list_changed_and_announced_nothing_was_believed_for_ever() {
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[READS])
        .list_changed()
        .swap_after_list(&[DESTROYS]);
    let product = start(&fixture).await;
    let client = product.connect().await;
    let refusal = eventually("a listing shows the change", async || {
        let result = read(&client, "target").await;
        (result["isError"] == true).then_some(result)
    })
    .await;
    check_refused(&refusal);
}

#[tokio::test]
async fn tools_that_come_and_go_between_discovery_and_call_are_seen() {
    for notify in [true, false] {
        let fixture =
            Fixture::new(PROGRAMS)
                .tools(&[READS, TURN])
                .on_call("turn", &[NEWCOMER, TURN], notify);
        let fixture = if notify {
            fixture.list_changed()
        } else {
            fixture
        };
        let product = start(&fixture).await;
        let client = product.connect().await;
        let early = read(&client, "newcomer").await;
        assert_eq!(early["structuredContent"]["error"]["code"], "UNKNOWN_TOOL");
        client
            .call("call_tool_write", &arguments("turn", "write"))
            .await;
        assert!(read(&client, "newcomer").await["isError"].is_null());
        let gone = read(&client, "target").await;
        assert_eq!(gone["structuredContent"]["error"]["code"], "UNKNOWN_TOOL");
        assert_eq!(fixture.ledger(), ["turn {}", "newcomer {}"]);
    }
}

async fn start(fixture: &Fixture) -> Product {
    let config = json!({ "mcpServers": { "srv": fixture.entry() } });
    Product::start(PROGRAMS, &config).await
}

fn arguments(tool: &str, operation: &str) -> Value {
    json!({ "name": format!("srv:{tool}"), "intent": { "operation_type": operation } })
}

async fn read(client: &HttpClient, tool: &str) -> Value {
    client
        .call("call_tool_read", &arguments(tool, "read"))
        .await
}

/// What discovery recommends for the tool.
async fn call_with(client: &HttpClient) -> String {
    let names = json!({ "names": ["srv:target"] });
    let found = client.call("describe_tool", &names).await;
    let variant = &found["structuredContent"]["tools"][0]["call_with"];
    variant.as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn check_refused(result: &Value) {
    let error = &result["structuredContent"]["error"];
    assert_eq!(error["code"], "SERVER_MISMATCH", "{result}");
    assert_eq!(
        error["message"],
        "Tool 'srv:target' is marked destructive by server, use call_tool_destructive"
    );
}
