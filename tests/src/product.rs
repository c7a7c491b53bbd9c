//! The running gateway.

use std::fs::File;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use http::Method;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout};

use crate::{Home, HttpClient, HttpResponse, Programs, Ran, StdioClient, eventually, within};

/// A gateway that serves a data directory of its own; killed when dropped.
#[derive(Debug)]
pub struct Product {
    /// Its data directory, and commands on it.
    pub home: Home,
    /// What it announced when it was ready.
    pub announcement: Value,
    process: Child,
    _stdout: BufReader<ChildStdout>,
}

impl Product {
    /// Starts the gateway with this configuration and waits until it listens.
    pub async fn start(programs: Programs, config: &Value) -> Self {
        Self::start_in(Home::new(programs, config), &[]).await
    }

    /// Starts the gateway on a data directory, with more flags.
    pub async fn start_in(home: Home, flags: &[&str]) -> Self {
        Self::start_with(home, flags, |_| {}).await
    }

    /// Starts the gateway on a data directory, with more flags and whatever else is changed in its command, such as
    /// variables of its environment or a [`SlowDisk`](crate::SlowDisk).
    pub async fn start_with(home: Home, flags: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let log = File::create(home.folder().join("log")).expect("the log can be made");
        let mut command = home.command();
        command.args(["serve", "-o", "json"]);
        if !flags.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.args(flags).stdout(Stdio::piped()).stderr(log);
        change(&mut command);
        let mut process = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .spawn()
            .expect("the product can be started");
        let mut stdout = BufReader::new(process.stdout.take().expect("stdout is piped"));
        let mut line = String::new();
        within(
            "the gateway announces its address",
            stdout.read_line(&mut line),
        )
        .await
        .expect("the product's stdout can be read");
        let announcement = serde_json::from_str(&line).unwrap_or_else(|error| {
            panic!(
                "no announcement ({error}) but {line:?}; log: {}",
                read_log(&home)
            )
        });
        Self {
            home,
            announcement,
            process,
            _stdout: stdout,
        }
    }

    /// The URL of the MCP endpoint.
    pub fn endpoint(&self) -> String {
        self.announcement["endpoint"]
            .as_str()
            .expect("the announcement has an endpoint")
            .to_owned()
    }

    /// The URL of an endpoint, such as `/all`, or of the MCP endpoint itself if the path is empty.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.endpoint())
    }

    /// The URL of a path of the REST interface, such as `/status`.
    pub fn rest(&self, path: &str) -> String {
        format!("http://{}/api/v1{path}", self.address())
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.endpoint()
            .trim_start_matches("https://")
            .trim_start_matches("http://")
            .trim_end_matches("/mcp")
            .parse()
            .expect("the endpoint is at an address")
    }

    /// A client with a session.
    pub async fn connect(&self) -> HttpClient {
        HttpClient::connect(&self.endpoint()).await
    }

    /// A client with a session at an endpoint, such as `/all`.
    pub async fn connect_to(&self, path: &str) -> HttpClient {
        HttpClient::connect(&self.url(path)).await
    }

    /// A client of `mcpproxy stdio`, which goes through this gateway.
    pub async fn stdio(&self) -> StdioClient {
        self.home.stdio().await
    }

    /// Runs a command, which goes through this gateway.
    pub async fn run(&self, arguments: &[&str]) -> Ran {
        self.home.run(arguments).await
    }

    /// Waits until every server has answered or failed, so that all tools are known.
    pub async fn settle(&self) {
        let ready = HttpClient::without_session(&format!("http://{}/readyz", self.address()));
        eventually("every server has started", async || {
            let answer = ready.send(Method::GET, &[], String::new()).await;
            (answer.json()["servers_starting"] == 0).then_some(())
        })
        .await;
    }

    /// What `mcpproxy status` says.
    pub async fn status(&self) -> Value {
        self.run(&["status", "-o", "json"]).await.json()
    }

    /// What the REST interface says at a path, such as `/status`, to who has the key.
    pub async fn get(&self, path: &str) -> Value {
        self.ask(Method::GET, path, String::new()).await.json()
    }

    /// What the REST interface answers at a path to who has the key.
    pub async fn ask(&self, method: Method, path: &str, body: String) -> HttpResponse {
        let client = HttpClient::without_session(&self.rest(path));
        let key = self.key();
        client.send(method, &[("x-api-key", &key)], body).await
    }

    /// The key of the REST interface that the gateway made for itself.
    pub fn key(&self) -> String {
        let key = std::fs::read_to_string(self.home.data_dir().join("api_key"))
            .expect("the gateway has made a key");
        key.trim().to_owned()
    }

    /// The record with this id, as soon as its outcome can be read: that of a read is written a moment after the answer.
    pub async fn record(&self, id: &str) -> Value {
        let path = format!("/activity/{id}");
        eventually(&format!("the record {id} has an outcome"), async || {
            let answer = self.ask(Method::GET, &path, String::new()).await;
            let record = answer.status.is_success().then(|| answer.json())?;
            record["duration_ms"].is_number().then_some(record)
        })
        .await
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.id().expect("the product was not waited for")
    }

    /// Whether the process still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Ends the process as `kill -9` does and waits until it is gone. [`Product::into_home`] then gives the data
    /// directory for another start.
    pub async fn kill(&mut self) {
        within("the killed gateway is gone", self.process.kill())
            .await
            .expect("the product can be killed");
    }

    /// Ends the process as an operator does, and waits until it is gone; its exit code.
    pub async fn stop(&mut self) -> i32 {
        let asked = Command::new("kill")
            .args(["-TERM", &self.pid().to_string()])
            .status();
        assert!(
            asked.is_ok_and(|status| status.success()),
            "the product can be asked to end"
        );
        let ended = within("the stopped gateway is gone", self.process.wait()).await;
        let ended = ended.expect("the product can be waited for");
        ended.code().unwrap_or(-1)
    }

    /// Ends the process and keeps the data directory, for another one to start on.
    pub fn into_home(self) -> Home {
        self.home
    }

    /// What it wrote to stderr so far; the next start on the same data directory begins anew.
    pub fn log(&self) -> String {
        read_log(&self.home)
    }
}

fn read_log(home: &Home) -> String {
    std::fs::read_to_string(home.folder().join("log")).unwrap_or_default()
}
