//! The protocol without sessions over the same socket.

use serde_json::{Value, json};

use super::{Client, EchoResponse, server_of};
use crate::protocol::Protocol;

const REVISION: &str = "2026-07-28";

fn client() -> Client {
    Client::connect(server_of(Protocol::Stateless))
}

fn introduced(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

fn ask(client: &mut Client, method: &str, params: Value) -> EchoResponse {
    let params = introduced(params);
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let headers = [
        ("MCP-Protocol-Version", REVISION),
        ("Mcp-Method", method),
        ("Mcp-Name", &name),
    ];
    let body = request(method, &params).to_string();
    client.send("POST", &headers, body.as_bytes())
}

#[test]
fn a_discovery_names_the_revision_and_says_how_long_it_holds() {
    let answer = ask(&mut client(), "server/discover", json!({}));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.find("mcp-session-id"), None);
    let result = &answer.json()["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["supportedVersions"], json!([REVISION]));
    let capabilities = json!({"tools": {"listChanged": true}});
    assert_eq!(result["capabilities"], capabilities);
    assert_eq!(result["ttlMs"], 3_600_000);
    assert_eq!(result["cacheScope"], "public");
    let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert!(info["name"].is_string() && info["version"].is_string());
}

#[test]
fn a_list_has_the_tools_of_the_other_era_and_says_how_long_it_holds() {
    let answer = ask(&mut client(), "tools/list", json!({})).json();
    let result = &answer["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["ttlMs"], 3_600_000);
    assert_eq!(result["cacheScope"], "public");
    let mut in_session = Client::opened(server_of(Protocol::Session));
    let other = in_session.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    assert_eq!(result["tools"], other.json()["result"]["tools"]);
}

#[test]
fn calls_answer_with_the_text_and_say_that_they_are_complete() {
    let mut client = client();
    for tool in ["echo", "store"] {
        for text in ["hello", "", "quote \" and \\ and \n", "ü 🦀 \u{0}"] {
            let params = json!({"name": tool, "arguments": {"text": text}});
            let answer = ask(&mut client, "tools/call", params);
            let expected = json!({"jsonrpc": "2.0", "id": 7, "result": {"resultType": "complete",
                "content": [{"type": "text", "text": text}], "isError": false}});
            assert_eq!(answer.json(), expected);
        }
    }
    let params = json!({"name": "missing", "arguments": {"text": "a"}});
    let answer = ask(&mut client, "tools/call", params);
    assert_eq!(answer.json()["error"]["code"], -32602);
    let answer = ask(&mut client, "tools/call", json!({"name": "echo"}));
    assert_eq!(answer.json()["result"]["isError"], true);
}

#[test]
fn what_does_not_introduce_itself_or_comes_with_other_headers_is_refused() {
    let mut client = client();
    let call = introduced(json!({"name": "echo", "arguments": {"text": "a"}}));
    let mut check = |headers: [Option<&str>; 3], params: &Value, code: Option<i64>| {
        let names = ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"];
        let given = names.into_iter().zip(headers);
        let given: Vec<_> = given
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        let body = request("tools/call", params).to_string();
        let answer = client.send("POST", &given, body.as_bytes());
        let status = if code.is_some() { 400 } else { 200 };
        assert_eq!(answer.status, status, "{given:?} {params}");
        assert_eq!(
            answer.json()["error"]["code"].as_i64(),
            code,
            "{given:?} {params}"
        );
    };
    let good = [Some(REVISION), Some("tools/call"), Some("echo")];
    check(good, &call, None);
    for (place, wrong) in [(0, "2025-11-25"), (1, "tools/list"), (2, "store")] {
        for value in [None, Some(wrong)] {
            let mut headers = good;
            headers[place] = value;
            check(headers, &call, Some(-32020));
        }
    }
    check(good, &json!({"name": "echo"}), Some(-32602));
    let mut without = call.clone();
    without["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!(1);
    check(good, &without, Some(-32602));
    let meta = without["_meta"].as_object_mut().unwrap();
    meta.remove("io.modelcontextprotocol/clientCapabilities");
    check(good, &without, Some(-32602));
    let mut later = call.clone();
    later["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    check(good, &later, Some(-32022));
    check(good, &call, None);
}

#[test]
fn nothing_of_a_session_is_left() {
    let mut client = client();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}}});
    assert_eq!(client.post(&hello).status, 400);
    for method in ["initialize", "ping"] {
        let answer = ask(&mut client, method, json!({}));
        assert_eq!(answer.status, 404);
        assert_eq!(answer.json()["error"]["code"], -32601);
    }
    for method in ["GET", "DELETE"] {
        let answer = client.send(method, &[("Accept", "text/event-stream")], b"");
        assert_eq!((answer.status, answer.header("allow")), (405, "POST"));
    }
}

#[test]
fn a_stream_of_changes_is_acknowledged_with_what_was_asked_for() {
    for (wanted, promised) in [
        (
            json!({"toolsListChanged": true, "promptsListChanged": true}),
            json!({"toolsListChanged": true}),
        ),
        (json!({}), json!({})),
    ] {
        let mut client = client();
        let params = introduced(json!({ "notifications": wanted }));
        let body = request("subscriptions/listen", &params).to_string();
        let headers = [
            ("MCP-Protocol-Version", REVISION),
            ("Mcp-Method", "subscriptions/listen"),
            ("Accept", "text/event-stream"),
        ];
        client.write("POST", &headers, body.as_bytes());
        let head = client.read_head();
        assert_eq!(head.status, 200);
        assert_eq!(head.header("content-type"), "text/event-stream");
        let event = client.read_chunk();
        let data = event.strip_prefix("data: ").unwrap();
        let message: Value = serde_json::from_str(data.strip_suffix("\n\n").unwrap()).unwrap();
        let expected = json!({"jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged", "params": {
                "_meta": {"io.modelcontextprotocol/subscriptionId": 7},
                "notifications": promised}});
        assert_eq!(message, expected);
    }
    let answer = ask(&mut client(), "subscriptions/listen", json!({}));
    assert_eq!(answer.status, 400);
    let params = json!({ "notifications": {} });
    let answer = ask(&mut client(), "subscriptions/listen", params);
    assert_eq!(answer.status, 406);
}
