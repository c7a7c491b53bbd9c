//! The program as clients start it: a process of its own, spoken to in bytes.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// A busy machine takes its time; whoever takes longer hangs.
const DEADLINE: Duration = Duration::from_secs(30);

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpproxy-cards"));
    command
        .args(arguments)
        .env_remove("RUST_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// A client over stdio.
struct Client {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Client {
    async fn start(arguments: &[&str]) -> Self {
        let mut child = program(arguments)
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let input = child.stdin.take().expect("stdin is a pipe");
        let output = child.stdout.take().expect("stdout is a pipe");
        let mut client = Self {
            child,
            input,
            output: BufReader::new(output).lines(),
        };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1.0.0" },
        });
        client.ask(0, "initialize", hello).await;
        client
            .send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        client
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.input
            .write_all(line.as_bytes())
            .await
            .expect("the program reads");
    }

    async fn ask(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        let line = timeout(DEADLINE, self.output.next_line())
            .await
            .expect("the program answers in time")
            .expect("the answer is text")
            .expect("the program goes on");
        let answer: Value = serde_json::from_str(&line).expect("stdout has messages only");
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].clone()
    }

    async fn call(&mut self, id: u32, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask(id, "tools/call", params).await
    }

    /// Closes the client's end; the program ends by itself.
    async fn end(mut self) {
        drop(self.input);
        let status = timeout(DEADLINE, self.child.wait())
            .await
            .expect("the program ends in time")
            .expect("it can be waited for");
        assert!(status.success(), "{status}");
    }
}

#[tokio::test]
async fn a_client_over_stdio_sees_all_tools_and_calls_them() {
    let mut client = Client::start(&[]).await;
    let listed = client.ask(1, "tools/list", json!({})).await;
    let tools = listed["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 16);
    let delete = tools
        .iter()
        .find(|tool| tool["name"] == "delete-card")
        .unwrap();
    assert_eq!(delete["annotations"]["destructiveHint"], true);
    assert_eq!(
        delete["_meta"]["dev.mcpproxy/definition"]["category"],
        "mutation"
    );

    let card = client
        .call(2, "get-card", json!({ "cardId": "card_9" }))
        .await;
    assert_eq!(card["structuredContent"]["data"]["back"], "56");
    let text = card["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("56") && text.contains("review-card"),
        "{text}"
    );

    let wrong = client
        .call(3, "get-card", json!({ "cardId": "card_99" }))
        .await;
    assert_eq!(wrong["isError"], true);
    assert_eq!(wrong["structuredContent"]["error"]["code"], "NOT_FOUND");
    client.end().await;
}

#[tokio::test]
async fn a_file_keeps_what_one_process_wrote_for_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cards.db");
    let arguments = ["--stdio", "--data", file.to_str().unwrap()];
    let mut client = Client::start(&arguments).await;
    let new = json!({ "deckId": "deck_3", "front": "3 × 3", "back": "9" });
    let created = client.call(1, "create-card", new).await;
    let id = created["structuredContent"]["data"]["cardId"].clone();
    client.end().await;

    let mut client = Client::start(&arguments).await;
    let card = client.call(1, "get-card", json!({ "cardId": id })).await;
    assert_eq!(card["structuredContent"]["data"]["back"], "9");
    client.end().await;
}

#[tokio::test]
async fn over_http_it_says_where_it_listens_and_answers_there() {
    let mut child = program(&["--http", "127.0.0.1:0"]).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = timeout(DEADLINE, async {
        loop {
            let line = told
                .next_line()
                .await
                .unwrap()
                .expect("the program goes on");
            let address = line
                .split_whitespace()
                .find_map(|word| word.strip_prefix("address="));
            if let Some(address) = address {
                return address.to_owned();
            }
        }
    })
    .await
    .unwrap();
    let message = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1.0.0" },
        },
    })
    .to_string();
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{message}",
        message.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(DEADLINE, stream.read_to_string(&mut answer))
        .await
        .unwrap()
        .unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        answer.contains("\"serverInfo\":{\"name\":\"cards\""),
        "{answer}"
    );
}

#[tokio::test]
async fn what_cannot_work_is_told_before_anything_is_served() {
    for (arguments, told) in [
        (
            &["--stdio", "--http", "127.0.0.1:0"][..],
            "cannot be used with",
        ),
        (&["--http", "0.0.0.0:0"], "127.0.0.1"),
        (
            &["--data", "/nowhere/at/all/cards.db"],
            "/nowhere/at/all/cards.db",
        ),
    ] {
        let output = timeout(DEADLINE, program(arguments).output())
            .await
            .unwrap()
            .unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        assert!(output.stdout.is_empty());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(told), "{arguments:?}: {errors}");
    }
}
