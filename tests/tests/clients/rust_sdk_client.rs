//! A client of the official SDK for Rust in front of the gateway, in both protocols: what a server tells and asks during a
//! call reaches it as if there was nothing in between.

use std::process::Stdio;
use std::sync::Mutex;

use mcpproxy_tests::peers::UnixDoor;
use mcpproxy_tests::{Product, within};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams,
    ElicitResult, ElicitationAction, ErrorData, GetPromptRequestParams, Implementation,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::PROGRAMS;

/// A server that has everything, in both protocols.
const SERVER: &str = env!("CARGO_BIN_EXE_conformance-server");

/// What the servers speak, which is also how they are called.
const PROTOCOLS: [&str; 2] = ["session", "stateless"];

type Running = RunningService<RoleClient, User>;

#[tokio::test]
async fn without_a_session_over_http() {
    check_over_http(newest()).await;
}

#[tokio::test]
async fn with_a_session_over_http() {
    check_over_http(ClientLifecycleMode::Initialize).await;
}

#[tokio::test]
async fn without_a_session_over_stdio() {
    check_over_stdio(newest()).await;
}

#[tokio::test]
async fn with_a_session_over_stdio() {
    check_over_stdio(ClientLifecycleMode::Initialize).await;
}

/// One client at the endpoint of all servers and one at that of a single one, with servers of both protocols.
async fn check_over_http(mode: ClientLifecycleMode) {
    let product = start().await;
    let door = UnixDoor::open(product.address());
    let socket = door.path().to_str().expect("the path is text");
    for (path, prefix) in [("/all", "session__"), ("/s/stateless", "")] {
        let endpoint = format!("{}{path}", product.endpoint());
        let transport = StreamableHttpClientTransport::from_unix_socket(socket, endpoint);
        let client = User::default().serve_with_lifecycle(transport, mode.clone());
        let client = within("the client connects", client).await;
        let client = client.expect("the gateway greets it");
        check_revision(&client, &mode);
        let plain = call(&client, format!("{prefix}test_simple_text"), &json!({})).await;
        assert_eq!(text(&plain), "This is a simple text response for testing.");
        let progress = format!("{prefix}test_tool_with_progress");
        check_progress(&client, progress, &json!({})).await;
        check_question(&client, format!("{prefix}ask_name"), &json!({})).await;
        check_library(&client, prefix).await;
        check_change(&client, prefix, &mode).await;
    }
}

/// The menu has no tools that come and go, but calls through it are whole.
async fn check_over_stdio(mode: ClientLifecycleMode) {
    let product = start().await;
    for server in PROTOCOLS {
        let mut command = product.home.command();
        command
            .arg("stdio")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .spawn()
            .expect("the product can be started");
        let output = process.stdout.take().expect("stdout is piped");
        let input = process.stdin.take().expect("stdin is piped");
        let client = User::default().serve_with_lifecycle((output, input), mode.clone());
        let client = within("the client connects", client).await;
        let client = client.expect("the gateway greets it");
        check_revision(&client, &mode);
        let through_menu = |tool: &str| {
            let intent = json!({ "operation_type": "read" });
            json!({ "name": format!("{server}:{tool}"), "args": {}, "intent": intent })
        };
        let menu = || "call_tool_read".to_owned();
        check_progress(&client, menu(), &through_menu("test_tool_with_progress")).await;
        check_question(&client, menu(), &through_menu("ask_name")).await;
        check_library(&client, &format!("{server}__")).await;
    }
}

async fn start() -> Product {
    let mut servers = json!({});
    for protocol in PROTOCOLS {
        let arguments = ["--stdio", "--protocol", protocol];
        servers[protocol] = json!({ "command": SERVER, "args": arguments, "trust": "auto" });
    }
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": servers })).await;
    product.settle().await;
    product
}

fn newest() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    }
}

fn check_revision(client: &Running, mode: &ClientLifecycleMode) {
    let info = client.peer_info().expect("the gateway said who it is");
    let spoken = match mode {
        ClientLifecycleMode::Initialize => ProtocolVersion::V_2025_11_25,
        _ => ProtocolVersion::V_2026_07_28,
    };
    assert_eq!(info.protocol_version, spoken);
}

async fn check_progress(client: &Running, tool: String, arguments: &Value) {
    let result = call(client, tool, arguments).await;
    assert_eq!(text(&result), "The tool has told its progress.");
    let user = client.service();
    let all = [0.0, 50.0, 100.0].map(|progress| (progress, Some(100.0)));
    // The SDK handles notifications beside the answer, so the last may come a moment later.
    let complete = async {
        loop {
            let news = user.news.notified();
            if user.progress.lock().expect("no panic").len() >= all.len() {
                return;
            }
            news.await;
        }
    };
    within("all progress was told", complete).await;
    assert_eq!(*user.progress.lock().expect("no panic"), all);
}

async fn check_question(client: &Running, tool: String, arguments: &Value) {
    let result = call(client, tool, arguments).await;
    assert_eq!(text(&result), "hello Ada");
    let asked = client.service().asked.lock().expect("no panic");
    assert_eq!(asked.len(), 1, "{asked:?}");
    let (server, question) = asked[0].split_once("] ").unwrap_or_default();
    let is_named = PROTOCOLS
        .iter()
        .any(|protocol| server == format!("[{protocol}"));
    assert!(is_named, "{asked:?}");
    assert_eq!(question, "What is your name?");
}

async fn check_library(client: &Running, prefix: &str) {
    let name = format!("{prefix}test_simple_prompt");
    let get = client.get_prompt(GetPromptRequestParams::new(name));
    let got = within("the prompt comes", get).await.expect("it is there");
    let got = json!(got);
    let said = &got["messages"][0]["content"]["text"];
    assert_eq!(*said, "This is a simple prompt for testing.", "{got}");
    let read = client.read_resource(ReadResourceRequestParams::new("test://static-text"));
    let read = json!(
        within("the resource comes", read)
            .await
            .expect("it is there")
    );
    let said = read["contents"][0]["text"].as_str().unwrap_or_default();
    assert!(!said.is_empty(), "{read}");
}

async fn check_change(client: &Running, prefix: &str, mode: &ClientLifecycleMode) {
    let added = format!("{prefix}added");
    assert!(!has_tool(client, &added).await);
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut subscription = match mode {
        ClientLifecycleMode::Initialize => None,
        _ => Some(
            within("it may listen", client.listen(filter))
                .await
                .expect("yes"),
        ),
    };
    call(client, format!("{prefix}add_tool"), &json!({})).await;
    match &mut subscription {
        Some(subscription) => {
            let told = within("the change is told", subscription.next()).await;
            let told = json!(told.expect("the stream goes on"));
            assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
        }
        None => within("the change is told", client.service().changed.notified()).await,
    }
    assert!(has_tool(client, &added).await);
    let result = call(client, added, &json!({})).await;
    assert_eq!(text(&result), "This tool was added.");
}

async fn has_tool(client: &Running, name: &str) -> bool {
    let tools = within("the tools come", client.list_all_tools()).await;
    let tools = tools.expect("they can be listed");
    tools.iter().any(|tool| tool.name == name)
}

async fn call(client: &Running, tool: String, arguments: &Value) -> CallToolResult {
    let what = format!("{tool} answers");
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let call = client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments));
    let result = within(&what, call).await;
    result.unwrap_or_else(|error| panic!("{what}: {error}"))
}

fn text(result: &CallToolResult) -> String {
    let result = json!(result);
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {result}"))
        .to_owned()
}

/// Somebody called Ada, and all that was told and asked.
#[derive(Debug, Default)]
struct User {
    asked: Mutex<Vec<String>>,
    progress: Mutex<Vec<(f64, Option<f64>)>>,
    news: Notify,
    changed: Notify,
}

impl ClientHandler for User {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("rust-peer", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let message = json!(request)["message"].as_str().map(str::to_owned);
        let message = message.unwrap_or_default();
        self.asked.lock().expect("no panic").push(message);
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "name": "Ada" })))
    }

    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let mut progress = self.progress.lock().expect("no panic");
        progress.push((told.progress, told.total));
        drop(progress);
        self.news.notify_waiters();
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}
