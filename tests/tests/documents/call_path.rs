//! ARCHITECTURE.md tells how one call walks through the code. Here one really does, in this process, and the
//! functions on the stack at the marked places have to be the ones that the document lists, in its order.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::backtrace::Backtrace;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use mcpproxy_gateway::settings::{self, Environment, Secret, Sources};
use mcpproxy_gateway::{Gateway, GatewayOptions, LogRole};
use mcpproxy_server::{App, Entrance, Reach, serve_connection};
use mcpproxy_tests::HttpFixture;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::Subscriber;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// Events of this target stand where the walk is looked at.
const CALL_PATH: &str = "mcpproxy::call_path";

const TOOL: &str =
    r#"{"name":"write","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}"#;

/// Most functions from the accepted bytes to `Gateway::call`, both included.
const MOST_IN: usize = 8;
/// Most functions after `Gateway::call`, until the answer is bytes again.
const MOST_BACK: usize = 5;
/// Most functions in all.
const MOST_IN_ALL: usize = 35;

/// Stacks at the marked places, outermost function first.
#[derive(Clone, Default)]
struct Stacks(Arc<Mutex<Vec<Vec<String>>>>);

impl<S: Subscriber> Layer<S> for Stacks {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == CALL_PATH {
            let stack = functions(&Backtrace::force_capture().to_string());
            self.0.lock().unwrap().push(stack);
        }
    }
}

/// Functions of ours on a stack, outermost first, each once.
///
/// A frame names its place in the source; the function is looked up there, because names of symbols are not
/// complete where a build keeps line tables only.
fn functions(backtrace: &str) -> Vec<String> {
    let mut functions: Vec<String> = Vec::new();
    let places = backtrace.lines().filter_map(|line| {
        let place = line.trim().strip_prefix("at ")?;
        let (_, ours) = place.split_once("crates/")?;
        let mut parts = ours.split(':');
        let (path, line) = (parts.next()?, parts.next()?.parse().ok()?);
        function_at(path, line)
    });
    for name in places.collect::<Vec<_>>().into_iter().rev() {
        if functions.last() != Some(&name) {
            functions.push(name);
        }
    }
    functions
}

/// Function around a line of a file below `crates`: its module, the type it belongs to, its name.
fn function_at(path: &str, line: usize) -> Option<String> {
    let (crate_name, file) = path.split_once("/src/")?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../crates")
        .join(path);
    let source = std::fs::read_to_string(source).ok()?;
    let before: Vec<&str> = source.lines().take(line).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let (at, name) = before.iter().enumerate().rev().find_map(|(at, line)| {
        let (head, rest) = line.split_once("fn ")?;
        let is_definition = head
            .split_whitespace()
            .all(|word| word.starts_with("pub") || word == "async");
        let name: String = rest
            .chars()
            .take_while(|next| next.is_alphanumeric() || *next == '_')
            .collect();
        (is_definition && !name.is_empty()).then_some((at, name))
    })?;
    let of_type = before[..at]
        .iter()
        .rev()
        .find(|line| indent(line) == 0 && !line.is_empty());
    let of_type = of_type
        .filter(|_| indent(before[at]) > 0)
        .and_then(|line| type_of(line));
    let module = file
        .trim_end_matches(".rs")
        .trim_end_matches("/mod")
        .replace('/', "::");
    let parts = [
        Some(crate_name.to_owned()),
        Some(module).filter(|module| module != "lib"),
        of_type,
        Some(name),
    ];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join("::"))
}

/// Type that an `impl` is of.
fn type_of(line: &str) -> Option<String> {
    let rest = line.strip_prefix("impl")?;
    let rest = if let Some(generic) = rest.strip_prefix('<') {
        generic.split_once('>')?.1
    } else {
        rest
    };
    let rest = rest.split_once(" for ").map_or(rest, |(_, rest)| rest);
    let name = rest
        .trim_start()
        .chars()
        .take_while(|next| next.is_alphanumeric() || *next == '_');
    Some(name.collect())
}

/// Functions of all stacks in the order in which a call comes to them.
fn walk(stacks: &[Vec<String>]) -> Vec<String> {
    let mut walk: Vec<String> = Vec::new();
    for function in stacks.iter().flatten() {
        if !walk.contains(function) {
            walk.push(function.clone());
        }
    }
    walk
}

/// Walk that ARCHITECTURE.md lists: the first code in each line of the numbered list.
fn documented() -> Vec<String> {
    let text = include_str!("../../../ARCHITECTURE.md");
    let section = text
        .split("\n## ")
        .find(|section| section.starts_with("One call"))
        .and_then(|section| section.split("\n### ").next())
        .expect("there is a section about one call");
    let lines = section.lines().filter_map(|line| {
        let (number, rest) = line.trim_start().split_once(". `")?;
        number.parse::<usize>().ok()?;
        Some(rest.split('`').next()?.to_owned())
    });
    lines.collect()
}

/// Sends a message on a connection of its own; gives the answer's session id.
async fn post(
    entrance: &Arc<Entrance>,
    session: Option<&str>,
    message: &serde_json::Value,
) -> Option<String> {
    let (client, server) = tokio::io::duplex(64 * 1024);
    let serving = tokio::spawn(serve_connection(server, None, Arc::clone(entrance)));
    let (mut sender, connection) = http1::handshake(TokioIo::new(client)).await.unwrap();
    let driver = tokio::spawn(connection);
    let mut request = http::Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    let body = Full::new(bytes::Bytes::from(message.to_string()));
    let response = sender
        .send_request(request.body(body).unwrap())
        .await
        .unwrap();
    let session = response.headers().get("mcp-session-id").cloned();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&body);
    assert!(
        !text.contains("\"isError\":true") && !text.contains("\"error\""),
        "{text}"
    );
    drop(sender);
    let _ = driver.await;
    serving.await.unwrap();
    session.map(|id| id.to_str().unwrap().to_owned())
}

#[tokio::test]
async fn one_call_walks_as_the_architecture_says() {
    let fixture = HttpFixture::start(&[TOOL], &[]).await;
    let home = tempfile::tempdir().unwrap();
    let configuration = json!({ "mcpServers": { "files": fixture.entry(&json!({})) } });
    std::fs::write(
        home.path().join("mcp_config.json"),
        configuration.to_string(),
    )
    .unwrap();
    let settings = settings::load(&Sources {
        data_dir: Some(home.path().to_owned()),
        environment: Environment::default(),
        ..Sources::default()
    });
    let options = GatewayOptions {
        role: LogRole::Daemon,
        ..GatewayOptions::default()
    };
    let gateway = Gateway::start(settings.unwrap(), options).unwrap();
    let address: SocketAddr = "127.0.0.1:1".parse().unwrap();
    let closing = CancellationToken::new();
    let app = App::new(Arc::clone(&gateway), Secret::new("key"), address, closing);
    let entrance = Entrance::new(&app, Reach::Loopback);

    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "walker", "version": "1" } } });
    let session = post(&entrance, None, &hello)
        .await
        .expect("a session is opened");
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "call_tool_write",
        "arguments": { "name": "files:write", "args": { "text": "x" }, "intent": { "operation_type": "write" } } } });
    // The first call finds the server starting; what is looked at is a call as most are.
    post(&entrance, Some(&session), &call).await;
    let stacks = Stacks::default();
    {
        let subscriber = tracing_subscriber::registry().with(stacks.clone());
        let _recording = tracing::subscriber::set_default(subscriber);
        post(&entrance, Some(&session), &call).await;
    }
    gateway.stop().await;

    let stacks = stacks.0.lock().unwrap().clone();
    let stacks: Vec<Vec<String>> = stacks
        .into_iter()
        .filter(|stack| stack.iter().any(|name| name.ends_with("serve_one")))
        .collect();
    let walked = walk(&stacks);
    let mut listing = String::new();
    for (number, name) in walked.iter().enumerate() {
        writeln!(listing, "{}. `{name}`", number + 1).unwrap();
    }
    assert_eq!(walked, documented(), "the call walked:\n{listing}");

    let at = |function: &str| walked.iter().position(|name| name == function).unwrap();
    let (entered, answered) = (
        at("gateway::call::Gateway::call"),
        at("server::mcp::reply::respond"),
    );
    assert!(entered < MOST_IN, "{entered}");
    assert!(walked.len() - answered <= MOST_BACK, "{answered}");
    assert!(walked.len() <= MOST_IN_ALL, "{}", walked.len());
}
