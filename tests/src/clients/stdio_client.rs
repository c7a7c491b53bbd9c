//! A client that starts the product and speaks over its standard input and output.

use std::process::{Command, Stdio};

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use crate::clients::{field, hello};
use crate::{Client, within};

/// A client of `mcpproxy stdio`; the process is killed when it is dropped.
#[derive(Debug)]
pub struct StdioClient {
    process: Child,
    pipes: Mutex<Pipes>,
}

#[derive(Debug)]
struct Pipes {
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl StdioClient {
    /// Starts the program and says hello.
    pub async fn start(command: Command) -> Self {
        let client = Self::start_silent(command);
        let answer = client.request("initialize", &hello()).await;
        assert!(answer["result"].is_object(), "initialize: {answer}");
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        client.send_line(&ready.to_string()).await;
        client
    }

    /// Starts the program and says nothing.
    pub fn start_silent(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .spawn()
            .expect("the program can be started");
        let output = process.stdout.take().expect("stdout is piped");
        let pipes = Pipes {
            input: process.stdin.take(),
            output: BufReader::new(output).lines(),
        };
        Self {
            process,
            pipes: Mutex::new(pipes),
        }
    }

    /// Writes one line as it is.
    pub async fn send_line(&self, line: &str) {
        self.pipes.lock().await.send(line.as_bytes()).await;
    }

    /// Writes bytes as they are, with a line break behind them.
    pub async fn send_bytes(&self, bytes: &[u8]) {
        self.pipes.lock().await.send(bytes).await;
    }

    /// The next line, as it comes.
    pub async fn read_line(&self) -> String {
        self.pipes.lock().await.receive().await
    }

    /// Ends the input, waits for the program, and gives its exit code.
    pub async fn finish(mut self) -> i32 {
        self.pipes.get_mut().input = None;
        within("mcpproxy stdio ends after its input", self.process.wait())
            .await
            .expect("the program can be waited for")
            .code()
            .unwrap_or(-1)
    }

    /// The id of the process.
    pub fn pid(&self) -> u32 {
        self.process.id().expect("the process was not waited for")
    }
}

impl Client for StdioClient {
    async fn exchange(&self, message: String) -> String {
        let mut pipes = self.pipes.lock().await;
        pipes.send(message.as_bytes()).await;
        let line = pipes.receive().await;
        let (asked, answered) = (field(&message, "id"), field(&line, "id"));
        assert_eq!(answered, asked, "{line} answers {message}");
        line
    }
}

impl Pipes {
    async fn send(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        let line = [bytes, b"\n"].concat();
        within("mcpproxy stdio reads its input", input.write_all(&line))
            .await
            .expect("mcpproxy stdio takes a message");
    }

    async fn receive(&mut self) -> String {
        within("mcpproxy stdio answers", self.output.next_line())
            .await
            .expect("the output can be read")
            .expect("mcpproxy stdio has not ended")
    }
}
