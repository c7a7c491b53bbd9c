//! Clients of the official SDKs in front of the gateway, in both protocols: what a server tells and asks during a call
//! reaches them as if there was nothing in between.

use std::ffi::OsStr;

use mcpproxy_tests::peers::{Dialogue, Greets, Peers, Sdk};
use mcpproxy_tests::{Product, trials};
use serde_json::{Value, json};

use crate::PROGRAMS;

trials![
    python_sdk_2,
    python_sdk_2_with_a_session,
    python_sdk_1,
    typescript_sdk_2,
    typescript_sdk_2_with_a_session,
    typescript_sdk_1,
    python_sdk_2_over_stdio,
    typescript_sdk_2_over_stdio,
];

/// A server that has everything, in both protocols.
const SERVER: &str = env!("CARGO_BIN_EXE_conformance-server");

/// What the servers speak, which is also how they are called.
const PROTOCOLS: [&str; 2] = ["session", "stateless"];

async fn python_sdk_2() {
    check(Sdk::Python2, Greets::Newest, "2026-07-28").await;
}

async fn python_sdk_2_with_a_session() {
    check(Sdk::Python2, Greets::WithInitialize, "2025-11-25").await;
}

async fn python_sdk_1() {
    check(Sdk::Python1, Greets::WithInitialize, "2025-11-25").await;
}

async fn typescript_sdk_2() {
    check(Sdk::TypeScript2, Greets::Newest, "2026-07-28").await;
}

async fn typescript_sdk_2_with_a_session() {
    check(Sdk::TypeScript2, Greets::WithInitialize, "2025-11-25").await;
}

async fn typescript_sdk_1() {
    check(Sdk::TypeScript1, Greets::WithInitialize, "2025-11-25").await;
}

async fn python_sdk_2_over_stdio() {
    check_over_stdio(Sdk::Python2).await;
}

async fn typescript_sdk_2_over_stdio() {
    check_over_stdio(Sdk::TypeScript2).await;
}

/// A session at the endpoint of all servers and one at that of a single one, with servers of both protocols.
async fn check(sdk: Sdk, greets: Greets, revision: &str) {
    let peers = Peers::find();
    let client = Dialogue {
        peers: &peers,
        sdk,
        greets,
    };
    let product = start().await;
    for (path, prefix) in [("/all", "session__"), ("/s/stateless", "")] {
        let endpoint = format!("{}{path}", product.endpoint());
        let outcomes = client.over_http(&endpoint, &steps(prefix)).await;
        let what = format!("{sdk:?} greets {greets:?} at {path}");
        let seen = Seen { what, outcomes };
        assert_eq!(seen.result(0)["protocolVersion"], revision, "{}", seen.what);
        seen.check(prefix);
    }
}

/// The menu has no tools that come and go, but calls through it are whole.
async fn check_over_stdio(sdk: Sdk) {
    let peers = Peers::find();
    let product = start().await;
    let data_dir = product.home.data_dir();
    let program = [
        OsStr::new(PROGRAMS.mcpproxy),
        OsStr::new("--data-dir"),
        data_dir.as_os_str(),
        OsStr::new("stdio"),
    ];
    for (greets, revision, server) in [
        (Greets::Newest, "2026-07-28", "session"),
        (Greets::WithInitialize, "2025-11-25", "stateless"),
    ] {
        let client = Dialogue {
            peers: &peers,
            sdk,
            greets,
        };
        let outcomes = client
            .over_stdio(product.home.folder(), &program, &menu_steps(server))
            .await;
        let what = format!("{sdk:?} greets {greets:?} over stdio");
        let seen = Seen { what, outcomes };
        assert_eq!(seen.result(0)["protocolVersion"], revision, "{}", seen.what);
        seen.check_progress(1);
        seen.check_question(2, 3);
        seen.check_prompt(4);
        seen.check_resource(5);
    }
}

async fn start() -> Product {
    let mut servers = json!({});
    for protocol in PROTOCOLS {
        let arguments = ["--stdio", "--protocol", protocol];
        servers[protocol] =
            json!({ "command": SERVER, "args": arguments, "trust": "auto", "timeout": "60s" });
    }
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": servers })).await;
    product.settle().await;
    product
}

/// What a client does at an endpoint where tools have their own names, with this in front.
fn steps(prefix: &str) -> Value {
    let call =
        |operation: &str, tool: &str| json!({ "op": operation, "name": format!("{prefix}{tool}") });
    json!([
        { "op": "server_info" },
        { "op": "listen" },
        { "op": "list_tools" },
        call("call_tool", "test_simple_text"),
        call("call_tool_with_progress", "test_tool_with_progress"),
        call("call_tool", "ask_name"),
        { "op": "questions" },
        call("get_prompt", "test_simple_prompt"),
        { "op": "read_resource", "uri": "test://static-text" },
        call("call_tool", "add_tool"),
        { "op": "await_tools_changed" },
        { "op": "list_tools" },
        call("call_tool", "added"),
    ])
}

/// What a client does through the menu.
fn menu_steps(server: &str) -> Value {
    let call = |operation: &str, tool: &str| {
        json!({
            "op": operation, "name": "call_tool_read",
            "arguments": {
                "name": format!("{server}:{tool}"), "args": {},
                "intent": { "operation_type": "read" },
            },
        })
    };
    json!([
        { "op": "server_info" },
        call("call_tool_with_progress", "test_tool_with_progress"),
        call("call_tool", "ask_name"),
        { "op": "questions" },
        { "op": "get_prompt", "name": format!("{server}__test_simple_prompt") },
        { "op": "read_resource", "uri": "test://static-text" },
    ])
}

/// What the SDK made of each step.
struct Seen {
    /// Which session it was.
    what: String,
    outcomes: Vec<Value>,
}

impl Seen {
    fn check(&self, prefix: &str) {
        let added = format!("{prefix}added");
        assert!(!self.lists(2, &added), "{}: it is there already", self.what);
        let said = "This is a simple text response for testing.";
        assert_eq!(self.text(3), said, "{}", self.what);
        self.check_progress(4);
        self.check_question(5, 6);
        self.check_prompt(7);
        self.check_resource(8);
        self.result(10);
        assert!(self.lists(11, &added), "{}: nothing was added", self.what);
        assert_eq!(self.text(12), "This tool was added.", "{}", self.what);
    }

    /// The SDK for TypeScript may forget what arrives together with the result, so not all of it has to be there.
    fn check_progress(&self, index: usize) {
        let outcome = self.result(index);
        let told = outcome["progress"].as_array().expect("a list");
        let told: Vec<_> = told
            .iter()
            .map(|told| (told["progress"].as_f64(), told["total"].as_f64()))
            .collect();
        let all = [0.0, 50.0, 100.0].map(|progress| (Some(progress), Some(100.0)));
        assert!(told.len() >= 2, "{}: {outcome}", self.what);
        assert!(all.starts_with(&told), "{}: {outcome}", self.what);
        let said = &outcome["result"]["content"][0]["text"];
        assert_eq!(*said, "The tool has told its progress.", "{}", self.what);
    }

    fn check_question(&self, call: usize, questions: usize) {
        assert_eq!(self.text(call), "hello Ada", "{}", self.what);
        let asked = self.result(questions)["questions"].as_array();
        let asked = asked.expect("a list");
        assert_eq!(asked.len(), 1, "{}: {asked:?}", self.what);
        let message = asked[0]["message"].as_str().unwrap_or_default();
        let (server, question) = message.split_once("] ").unwrap_or_default();
        assert!(server.starts_with('['), "{}: {message}", self.what);
        assert_eq!(question, "What is your name?", "{}", self.what);
        let field = &asked[0]["requestedSchema"]["properties"]["name"];
        assert_eq!(field["type"], "string", "{}: {asked:?}", self.what);
    }

    fn check_prompt(&self, index: usize) {
        let got = self.result(index);
        let said = "This is a simple prompt for testing.";
        assert_eq!(
            got["messages"][0]["content"]["text"], said,
            "{}: {got}",
            self.what
        );
    }

    fn check_resource(&self, index: usize) {
        let read = self.result(index);
        let said = read["contents"][0]["text"].as_str().unwrap_or_default();
        assert!(!said.is_empty(), "{}: {read}", self.what);
    }

    fn lists(&self, index: usize, tool: &str) -> bool {
        let tools = self.result(index)["tools"].as_array();
        let mut tools = tools.expect("a list of tools").iter();
        tools.any(|listed| listed["name"] == tool)
    }

    fn text(&self, index: usize) -> &Value {
        &self.result(index)["content"][0]["text"]
    }

    fn result(&self, index: usize) -> &Value {
        let outcome = &self.outcomes[index];
        let result = outcome.get("ok");
        result.unwrap_or_else(|| panic!("{}: step {index}: {outcome}", self.what))
    }
}
