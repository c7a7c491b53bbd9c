//! What foreign servers speak, found out by asking them.

use std::process::Command;

use mcpproxy_tests::peers::Peers;
use mcpproxy_tests::{Client, Listening, Product, trials};
use serde_json::{Value, json};

use crate::PROGRAMS;

trials![
    programs_of_the_python_sdks_are_asked_what_they_speak,
    servers_of_the_python_sdks_are_asked_what_they_speak_over_http,
    reference_servers_with_sessions_are_found_out_to_have_them,
];

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

async fn programs_of_the_python_sdks_are_asked_what_they_speak() {
    let peers = Peers::find();
    for (launcher, spoken) in PYTHONS {
        for protocol in ["auto", spoken, "legacy"] {
            let entry = json!({
                "command": peers.program(launcher), "args": ["-c", PYTHON, "stdio"],
                "protocol": protocol, "timeout": "60s",
            });
            check_python(&entry, (protocol == "auto").then_some(spoken)).await;
        }
    }
}

async fn servers_of_the_python_sdks_are_asked_what_they_speak_over_http() {
    let peers = Peers::find();
    for (launcher, spoken) in PYTHONS {
        // Over one stream of answers, there is only the old way.
        for (transport, path, spoken) in
            [("streamable-http", "mcp", spoken), ("sse", "sse", "legacy")]
        {
            let mut command = Command::new(peers.program(launcher));
            command.args(["-c", PYTHON, transport]);
            let server = Listening::start(command, "http://").await;
            let url = format!("http://{}/{path}", server.place);
            let entry = json!({ "url": url, "timeout": "60s" });
            check_python(&entry, Some(spoken)).await;
        }
    }
}

async fn reference_servers_with_sessions_are_found_out_to_have_them() {
    let peers = Peers::find();
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
    let kept = product.home.learned_protocols().await;
    assert!(kept.contains("legacy"), "{kept}");
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
    if let Some(spoken) = kept {
        let kept = product.home.learned_protocols().await;
        assert!(kept.contains(spoken), "{entry}: {kept}");
    }
}
