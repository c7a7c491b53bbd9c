//! Servers built with the official SDKs behind the gateway: it speaks the newest revision with them that they have, and
//! all that happens during a call reaches clients of both protocols.

use mcpproxy_tests::conformance::Server;
use mcpproxy_tests::conversation::{Conversation, Door, Received, Speaks, text};
use mcpproxy_tests::peers::{BuiltWith, Peers};
use mcpproxy_tests::{Product, eventually, trials};
use serde_json::{Value, json};

use crate::PROGRAMS;

trials![
    python_sdk_over_stdio,
    python_sdk_over_http,
    typescript_sdk_over_stdio,
    typescript_sdk_over_http,
    rust_sdk_over_stdio,
    rust_sdk_over_http,
];

/// A server built with the official SDK for Rust.
const RUST_SERVER: &str = env!("CARGO_BIN_EXE_conformance-server");

/// The names in the configuration: what the operator says of the protocol, and the revision that is spoken then.
const ENTRIES: [(&str, &str); 2] = [("auto", "2026-07-28"), ("legacy", "2025-11-25")];

async fn python_sdk_over_stdio() {
    check_over_stdio(BuiltWith::Python).await;
}

async fn python_sdk_over_http() {
    check_over_http(BuiltWith::Python).await;
}

async fn typescript_sdk_over_stdio() {
    check_over_stdio(BuiltWith::TypeScript).await;
}

async fn typescript_sdk_over_http() {
    check_over_http(BuiltWith::TypeScript).await;
}

async fn rust_sdk_over_stdio() {
    let entry = json!({ "command": RUST_SERVER, "args": ["--stdio", "--protocol", "both"] });
    check(&entry, &RUST).await;
}

async fn rust_sdk_over_http() {
    let server = Server::start(RUST_SERVER, "both").await;
    check(&json!({ "url": server.endpoint() }), &RUST).await;
}

async fn check_over_stdio(built_with: BuiltWith) {
    let peers = Peers::find();
    check(&peers.server_over_stdio(built_with), &SCRIPTS).await;
}

async fn check_over_http(built_with: BuiltWith) {
    let peers = Peers::find();
    let server = peers.server_over_http(built_with).await;
    let url = format!("http://{}", server.place);
    check(&json!({ "url": url }), &SCRIPTS).await;
}

/// What a server has, by the names it gives.
struct Offer {
    /// A tool that answers at once: its name, its arguments and what it says.
    plain: (&'static str, &'static str, &'static str),
    /// A tool that tells its progress, and all of it.
    progress: (&'static str, &'static [(f64, f64)]),
    /// What `ask_name` says when the user declines.
    declined: &'static str,
    /// A prompt, its arguments and what it says.
    prompt: (&'static str, &'static str, &'static str),
    /// A resource and the beginning of its text.
    resource: (&'static str, &'static str),
    /// Whether `add_tool` can be told a name, so that every client can add a tool of its own.
    adds_by_name: bool,
}

/// The servers of `tests/peers`.
const SCRIPTS: Offer = Offer {
    plain: ("add", r#"{ "a": 2, "b": 40 }"#, "42"),
    progress: ("count", &[(1.0, 3.0), (2.0, 3.0), (3.0, 3.0)]),
    declined: "no name: decline",
    prompt: ("greeting", r#"{ "name": "Ada" }"#, "Greet Ada."),
    resource: ("test://note", "A note of a peer."),
    adds_by_name: true,
};

/// The server that is built with the official SDK for Rust.
const RUST: Offer = Offer {
    plain: (
        "test_simple_text",
        "{}",
        "This is a simple text response for testing.",
    ),
    progress: (
        "test_tool_with_progress",
        &[(0.0, 100.0), (50.0, 100.0), (100.0, 100.0)],
    ),
    declined: "declined",
    prompt: (
        "test_simple_prompt",
        "{}",
        "This is a simple prompt for testing.",
    ),
    resource: ("test://static-text", ""),
    adds_by_name: false,
};

/// Puts a server behind a gateway twice, to be asked what it speaks and to be spoken to in the old way, and lets clients
/// of both protocols have all it offers.
async fn check(entry: &Value, offer: &Offer) {
    let mut servers = json!({});
    for (protocol, _) in ENTRIES {
        let mut entry = entry.clone();
        entry["protocol"] = json!(protocol);
        entry["trust"] = json!("auto");
        entry["timeout"] = json!("60s");
        servers[protocol] = entry;
    }
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": servers })).await;
    product.settle().await;
    let status = product.status().await;
    let mut has_added = false;
    for (name, revision) in ENTRIES {
        let server = status["servers"].as_array().and_then(|servers| {
            let is_it = |server: &&Value| server["name"] == name;
            servers.iter().find(is_it)
        });
        let server = server.unwrap_or_else(|| panic!("no server '{name}': {status}"));
        assert_eq!(server["revision"], revision, "{server}");
        for speaks in [Speaks::Session, Speaks::Stateless] {
            let door = Door::Http(format!("{}/s/{name}", product.endpoint()));
            let client = Conversation::open(door, speaks, "tester", None).await;
            check_offer(&client, offer).await;
            check_questions(&client, offer).await;
            if offer.adds_by_name {
                let tool = format!("for_{speaks:?}_of_{name}").to_lowercase();
                check_added(&client, &tool, &format!("{tool} was added.")).await;
            } else if !has_added && entry.get("url").is_some() {
                // Whoever is first sees the change, since both entries lead to the same server.
                has_added = true;
                check_added(&client, "added", "This tool was added.").await;
            }
        }
    }
}

async fn check_offer(client: &Conversation, offer: &Offer) {
    let (tool, arguments, said) = offer.plain;
    let answer = client.call(tool, &parsed(arguments)).await.answer().await;
    assert_eq!(text(&answer), said, "{answer}");

    let (tool, all) = offer.progress;
    let mut exchange = client.call_with_progress(tool, "how-far").await;
    let mut seen = Vec::new();
    loop {
        match exchange.next().await {
            Received::Progress(told) => {
                assert_eq!(told["progressToken"], "how-far", "{told}");
                seen.push((told["progress"].clone(), told["total"].clone()));
            }
            Received::Response(answer) => break assert!(answer["result"].is_object(), "{answer}"),
            other => panic!("{other:?}"),
        }
    }
    let seen: Vec<_> = seen
        .iter()
        .map(|(progress, total)| (progress.as_f64(), total.as_f64()))
        .collect();
    let all: Vec<_> = all
        .iter()
        .map(|(progress, total)| (Some(*progress), Some(*total)))
        .collect();
    assert_eq!(seen, all);

    let (name, arguments, said) = offer.prompt;
    let params = json!({ "name": name, "arguments": parsed(arguments) });
    let got = client.result("prompts/get", &params).await;
    assert_eq!(got["messages"][0]["content"]["text"], said, "{got}");
    let (uri, said) = offer.resource;
    let read = client
        .result("resources/read", &json!({ "uri": uri }))
        .await;
    let contents = read["contents"][0]["text"].as_str();
    let contents = contents.unwrap_or_else(|| panic!("no text: {read}"));
    assert!(contents.starts_with(said), "{read}");
}

async fn check_questions(client: &Conversation, offer: &Offer) {
    let accepted = json!({ "action": "accept", "content": { "name": "Ada" } });
    let declined = json!({ "action": "decline" });
    for (answer, outcome) in [(accepted, "hello Ada"), (declined, offer.declined)] {
        let mut exchange = client.call("ask_name", &json!({})).await;
        let question = exchange.question().await;
        let request = &question.request;
        assert_eq!(request["method"], "elicitation/create", "{request}");
        let params = &request["params"];
        let message = params["message"].as_str().unwrap_or_default();
        let (server, asked) = message.split_once("] ").unwrap_or_default();
        assert!(server.starts_with('['), "{request}");
        assert_eq!(asked, "What is your name?", "{request}");
        let field = &params["requestedSchema"]["properties"]["name"];
        assert_eq!(field["type"], "string", "{request}");
        exchange.reply(&question, &answer).await;
        assert_eq!(text(&exchange.answer().await), outcome);
    }
}

async fn check_added(client: &Conversation, tool: &str, said: &str) {
    let mut news = client.listen(&[]).await;
    assert!(!has_tool(client, tool).await, "{tool} is there already");
    let mut adding = client.call("add_tool", &json!({ "name": tool })).await;
    adding.answer().await;
    news.next("notifications/tools/list_changed").await;
    // What was told may have been another change, of which the server had said nothing.
    eventually("the tool is there", async || {
        has_tool(client, tool).await.then_some(())
    })
    .await;
    assert_eq!(client.text(tool).await, said);
}

async fn has_tool(client: &Conversation, tool: &str) -> bool {
    let listed = client.result("tools/list", &json!({})).await;
    let tools = listed["tools"].as_array().expect("there are tools");
    assert!(tools.iter().any(|tool| tool["name"] == "add_tool"));
    tools.iter().any(|listed| listed["name"] == tool)
}

fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).expect("the arguments are JSON")
}
