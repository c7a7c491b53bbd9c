//! Servers of both wire protocols behind the gateway, which are told to be of one, or asked.

use std::process::Stdio;

use mcpproxy_tests::peers::Peers;
use mcpproxy_tests::{Client, Fixture, Home, Product, eventually, within};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::PROGRAMS;

/// The sample service, which speaks both.
const CARDS: &str = env!("CARGO_BIN_EXE_cards-under-test");

/// A server of the Python SDK, whose newest major speaks both and whose previous one is old. It is told what to run over.
const PYTHON: &str = r#"
import sys
try:
    from mcp.server import MCPServer
    server, options = MCPServer("peer"), {"port": 0}
except ImportError:
    from mcp.server.fastmcp import FastMCP
    server, options = FastMCP("peer", port=0), {}
@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers"""
    return a + b
server.run(sys.argv[1], **(options if sys.argv[1] != "stdio" else {}))
"#;

/// The launchers of both majors, and what they are found to speak.
const PYTHONS: [(&str, &str); 2] = [("python", "modern"), ("python-legacy", "legacy")];

#[tokio::test]
async fn a_program_that_speaks_both_is_called_in_the_way_the_operator_says() {
    for (protocol, kept) in [("legacy", None), ("modern", None), ("auto", Some("modern"))] {
        let entry = json!({ "command": CARDS, "protocol": protocol });
        check_cards(&entry, kept).await;
    }
}

#[tokio::test]
async fn a_server_over_http_that_speaks_both_is_called_in_the_way_the_operator_says() {
    let (endpoint, _process) = start_cards().await;
    for (protocol, kept) in [("legacy", None), ("modern", None), ("auto", Some("modern"))] {
        let entry = json!({ "url": endpoint, "protocol": protocol });
        check_cards(&entry, kept).await;
    }
}

#[tokio::test]
async fn what_a_server_speaks_is_known_after_a_restart() {
    let config = json!({ "mcpServers": { "cards": { "command": CARDS } } });
    let product = Product::start(PROGRAMS, &config).await;
    call_cards(&product).await;
    let kept = until_kept(&product.home).await;
    let home = Home::new(PROGRAMS, &config);
    std::fs::write(
        home.data_dir().join("protocols.json"),
        kept.replace("modern", "legacy"),
    )
    .expect("it can be written");
    let product = Product::start_in(home, &[]).await;
    call_cards(&product).await;
    // It was greeted as the file says: nobody asked it, or the file would tell the truth again.
    let kept = until_kept(&product.home).await;
    assert!(kept.contains("legacy"), "{kept}");
}

#[tokio::test]
async fn programs_of_the_python_sdks_are_asked_what_they_speak() {
    let Some(peers) = Peers::find() else { return };
    for (launcher, era) in PYTHONS {
        for protocol in ["auto", era, "legacy"] {
            let entry = json!({
                "command": peers.program(launcher), "args": ["-c", PYTHON, "stdio"],
                "protocol": protocol, "timeout": "60s",
            });
            check_python(&entry, (protocol == "auto").then_some(era)).await;
        }
    }
}

#[tokio::test]
async fn servers_of_the_python_sdks_are_asked_what_they_speak_over_http() {
    let Some(peers) = Peers::find() else { return };
    for (launcher, era) in PYTHONS {
        // Over one stream of answers, there is only the old way.
        for (transport, path, era) in [("streamable-http", "mcp", era), ("sse", "sse", "legacy")] {
            let mut command = Command::new(peers.program(launcher));
            command.args(["-c", PYTHON, transport]);
            let (address, _process) = start(command, "http://").await;
            let url = format!("http://{address}/{path}");
            let entry = json!({ "url": url, "timeout": "60s" });
            check_python(&entry, Some(era)).await;
        }
    }
}

#[tokio::test]
async fn reference_servers_with_sessions_are_found_out_to_have_them() {
    let Some(peers) = Peers::find() else { return };
    let entry = json!({ "command": peers.program("mcp-server-everything"), "timeout": "60s" });
    let config = json!({ "mcpServers": { "everything": entry } });
    let product = Product::start(PROGRAMS, &config).await;
    let request = json!({
        "name": "everything:echo", "args": { "message": "hello" },
        "intent": { "operation_type": "write" },
    });
    let client = product.connect().await;
    let result = client.call("call_tool_write", &request).await;
    assert_eq!(result["content"][0]["text"], "Echo: hello", "{result}");
    let kept = until_kept(&product.home).await;
    assert!(kept.contains("legacy"), "{kept}");
}

/// Old servers that do not take the question well, and one that is slow to hear it.
#[tokio::test]
async fn old_programs_connect_whatever_they_make_of_the_question() {
    let tool = r#"{"name":"hello","inputSchema":{"type":"object"}}"#;
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[tool])
        .result("hello", r#"{"content":[{"type":"text","text":"hello"}]}"#);
    let mut servers = json!({});
    for (name, script) in [
        (
            "silent",
            r#"grep --line-buffered -v server/discover | "$@""#,
        ),
        (
            "exits",
            r#"IFS= read -r line; case "$line" in *initialize*) ;; *) exit 1;; esac; { printf '%s\n' "$line"; cat; } | "$@""#,
        ),
        ("slow", r#"sleep 15; exec "$@""#),
    ] {
        let mut entry = fixture.entry_with(&json!({ "timeout": "90s" }));
        let mut words = vec![
            json!("-c"),
            json!(script),
            json!("sh"),
            entry["command"].take(),
        ];
        words.extend(entry["args"].as_array().into_iter().flatten().cloned());
        entry["command"] = json!("sh");
        entry["args"] = words.into();
        servers[name] = entry;
    }
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": servers })).await;
    let client = product.connect().await;
    for name in ["exits", "silent", "slow"] {
        let request = json!({
            "name": format!("{name}:hello"), "args": {},
            "intent": { "operation_type": "write" },
        });
        let result = client.call("call_tool_write", &request).await;
        assert_eq!(result["content"][0]["text"], "hello", "{name}: {result}");
    }
    let kept = eventually("all are known", async || {
        let kept = until_kept(&product.home).await;
        (kept.matches("legacy").count() == 3).then_some(kept)
    })
    .await;
    assert!(!kept.contains("modern"), "{kept}");
}

async fn check_cards(entry: &Value, kept: Option<&str>) {
    let config = json!({ "mcpServers": { "cards": entry } });
    let product = Product::start(PROGRAMS, &config).await;
    call_cards(&product).await;
    match kept {
        Some(era) => {
            let kept = until_kept(&product.home).await;
            assert!(kept.contains(era), "{kept}");
        }
        // Nothing was asked, so nothing was learned.
        None => assert!(!product.home.data_dir().join("protocols.json").exists()),
    }
}

async fn call_cards(product: &Product) {
    let client = product.connect().await;
    for (operation, tool, arguments) in [
        ("read", "get-card", json!({ "cardId": "card_4" })),
        (
            "write",
            "review-card",
            json!({ "cardId": "card_4", "grade": 3 }),
        ),
    ] {
        let request = json!({
            "name": format!("cards:{tool}"), "args": arguments,
            "intent": { "operation_type": operation },
        });
        let result = client
            .call(&format!("call_tool_{operation}"), &request)
            .await;
        let data = &result["structuredContent"]["data"];
        assert!(data.is_object(), "{tool}: {result}");
        assert_ne!(result["isError"], true, "{tool}: {result}");
    }
}

/// What the gateway remembers of its servers.
async fn until_kept(home: &Home) -> String {
    eventually("what servers speak is kept", async || {
        std::fs::read_to_string(home.data_dir().join("protocols.json")).ok()
    })
    .await
}

async fn check_python(entry: &Value, kept: Option<&str>) {
    let config = json!({ "mcpServers": { "peer": entry } });
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    let request = json!({
        "name": "peer:add", "args": { "a": 2, "b": 40 },
        "intent": { "operation_type": "write" },
    });
    let result = client.call("call_tool_write", &request).await;
    assert_eq!(result["content"][0]["text"], "42", "{entry}: {result}");
    if let Some(era) = kept {
        let kept = until_kept(&product.home).await;
        assert!(kept.contains(era), "{entry}: {kept}");
    }
}

/// Starts the sample service over HTTP; it ends when the process is dropped.
async fn start_cards() -> (String, Child) {
    let mut command = Command::new(CARDS);
    command
        .args(["--http", "127.0.0.1:0"])
        .env_remove("RUST_LOG");
    let (address, process) = start(command, "address=").await;
    (format!("http://{address}/mcp"), process)
}

/// Starts a server that says on standard error where it listens, after the given text.
async fn start(mut command: Command, before: &str) -> (String, Child) {
    let mut process = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the program can be started");
    let mut told = BufReader::new(process.stderr.take().expect("stderr is piped")).lines();
    let address = within("the program says where it listens", async {
        loop {
            let line = told.next_line().await.expect("stderr is text");
            let line = line.expect("the program goes on");
            let mut words = line.split_whitespace();
            if let Some(address) = words.find_map(|word| word.strip_prefix(before)) {
                return address.to_owned();
            }
        }
    })
    .await;
    // Read on, so that it never waits for somebody to take what it tells.
    tokio::spawn(async move { while let Ok(Some(_)) = told.next_line().await {} });
    (address, process)
}
