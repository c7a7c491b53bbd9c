//! A process of its own on stdin and stdout, as clients start one.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::support::{call, within};

struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_contract-test-server"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // One of its tools panics on purpose; that is no news.
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("a process");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output")).lines();
        Self {
            child,
            input,
            output,
        }
    }

    async fn say(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.input
            .write_all(line.as_bytes())
            .await
            .expect("an open pipe");
    }

    /// Asks, and gives the answer that carries the same id.
    async fn ask(&mut self, message: &Value) -> Value {
        self.say(&message.to_string()).await;
        loop {
            let line = within(self.output.next_line()).await.expect("a pipe");
            let answer: Value = serde_json::from_str(&line.expect("an answer")).expect("JSON");
            if answer["id"] == message["id"] {
                return answer;
            }
        }
    }

    /// Closes the input and waits for the end.
    async fn end(mut self) -> std::process::ExitStatus {
        drop(self.input);
        within(self.child.wait()).await.expect("an end")
    }
}

fn initialize() -> Value {
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "test-agent", "version": "3.2.1" },
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

#[tokio::test]
async fn a_process_serves_its_owner_until_the_pipe_is_closed() {
    let mut process = Process::start();
    let begun = process.ask(&initialize()).await;
    assert_eq!(begun["result"]["serverInfo"]["name"], "cards");
    assert_eq!(begun["result"]["protocolVersion"], "2025-06-18");
    let listed = process
        .ask(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }))
        .await;
    assert_eq!(listed["result"]["tools"][0]["name"], "get-card");
    let card = json!({ "card": "one" });
    let deleted = process.ask(&call(&json!(3), "delete-card", &card)).await;
    assert_eq!(
        deleted["result"]["structuredContent"]["data"]["front"],
        "one"
    );
    let seen = process
        .ask(&call(&json!(4), "show-context", &json!({})))
        .await;
    assert_eq!(
        seen["result"]["structuredContent"]["data"]["agent"],
        "test-agent"
    );
    assert!(process.end().await.success());
}

#[tokio::test]
async fn no_beginning_is_so_odd_that_the_process_ends() {
    let mut process = Process::start();
    process.say("this is no JSON").await;
    process
        .say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}")
        .await;
    process
        .say("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}")
        .await;
    process.say("[1, 2, 3]").await;
    let early = process
        .ask(&call(&json!("early"), "show-context", &json!({})))
        .await;
    assert!(early["error"]["code"].is_number(), "{early}");
    process.say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}").await;
    process.ask(&initialize()).await;
    let broken = process
        .ask(&call(&json!(2), "break-down", &json!({})))
        .await;
    assert_eq!(
        broken["result"]["structuredContent"]["error"]["code"],
        "INTERNAL"
    );
    let seen = process
        .ask(&call(&json!(3), "show-context", &json!({})))
        .await;
    assert_eq!(
        seen["result"]["structuredContent"]["data"]["version"],
        "3.2.1"
    );
    assert!(process.end().await.success());
}

#[tokio::test]
async fn a_client_that_only_looks_in_is_no_failure() {
    assert!(Process::start().end().await.success());
}
