//! A client of either protocol over either transport, that sees and steers what happens during a request.
//!
//! What differs between the four stays in here: a test opens a [`Conversation`], begins an [`Exchange`], and is told
//! what was [`Received`] of it. It answers nothing by itself, so that a test decides on every question.

mod change_notifications;
mod exchange;
mod inbox;
mod stream;

use std::process::Command;
use std::sync::atomic::AtomicU64;

use http::StatusCode;
use serde_json::{Value, json};

use crate::clients::stateless_client::STATELESS;
use crate::{HttpClient, StdioClient};
pub use change_notifications::ChangeNotifications;
pub use exchange::{ClientRequest, Exchange, Received};
use inbox::Inbox;
use stream::EventStream;

/// The last revision with sessions.
const SESSION: &str = "2025-11-25";

/// The two protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// `initialize` opens a session.
    Session,
    /// Every request stands for itself.
    Stateless,
}

/// Where a conversation is held.
#[derive(Debug)]
pub enum Door {
    /// An endpoint over HTTP.
    Http(String),
    /// A program to start.
    Stdio(Command),
}

/// A client, as the gateway sees it.
#[derive(Debug)]
pub struct Conversation {
    speaks: Speaks,
    who: String,
    /// What it can be asked.
    capabilities: Value,
    /// The server whose tools are called through the menu, where there is one.
    menu_of: Option<String>,
    way: Way,
    next_id: AtomicU64,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a test has a handful of them")]
enum Way {
    Http(HttpClient),
    Stdio(Box<Inbox>),
}

// === impl Conversation ===

impl Conversation {
    /// Opens a conversation as a client of this name. With `menu_of` the tools of that server are called through the
    /// menu, otherwise by their own names.
    pub async fn open(door: Door, speaks: Speaks, who: &str, menu_of: Option<&str>) -> Self {
        let mut opened = Self::new(door, speaks, who, menu_of);
        opened.greet().await;
        opened
    }

    /// The same as a client that cannot be asked anything.
    pub async fn open_mute(door: Door, speaks: Speaks, who: &str, menu_of: Option<&str>) -> Self {
        let mut opened = Self::new(door, speaks, who, menu_of);
        opened.capabilities = json!({});
        opened.greet().await;
        opened
    }

    fn new(door: Door, speaks: Speaks, who: &str, menu_of: Option<&str>) -> Self {
        let way = match door {
            Door::Http(endpoint) => Way::Http(HttpClient::without_session(&endpoint)),
            Door::Stdio(command) => {
                Way::Stdio(Box::new(Inbox::new(StdioClient::start_silent(command))))
            }
        };
        Self {
            speaks,
            who: who.to_owned(),
            capabilities: json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} }),
            menu_of: menu_of.map(str::to_owned),
            way,
            next_id: AtomicU64::new(1),
        }
    }

    async fn greet(&mut self) {
        if self.speaks == Speaks::Session {
            self.initialize().await;
        }
    }

    /// Which protocol it speaks.
    pub fn speaks(&self) -> Speaks {
        self.speaks
    }

    /// Whether tools are called through the menu.
    pub fn has_menu(&self) -> bool {
        self.menu_of.is_some()
    }

    /// Sends a request.
    pub async fn begin(&self, method: &str, params: &Value) -> Exchange<'_> {
        Exchange::begin(self, method, params).await
    }

    /// Calls a tool of the server.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Exchange<'_> {
        self.begin("tools/call", &self.calling(tool, arguments))
            .await
    }

    /// Calls a tool with the answer to a question that some call was asked, as if it was this one.
    pub async fn call_repeated(
        &self,
        tool: &str,
        arguments: &Value,
        question: &ClientRequest,
        answer: &Value,
    ) -> Exchange<'_> {
        let params = self.calling(tool, arguments);
        self.begin("tools/call", &question.repeated(&params, Some(answer)))
            .await
    }

    /// Gets a prompt of the server.
    pub async fn prompt(&self, name: &str) -> Exchange<'_> {
        let name = match &self.menu_of {
            None => name.to_owned(),
            Some(server) => format!("{server}__{name}"),
        };
        self.begin("prompts/get", &json!({ "name": name })).await
    }

    /// Calls a tool that writes log messages, which are wanted from the level `info` on. A session gets those unless it
    /// says otherwise.
    pub async fn call_with_log(&self, tool: &str, arguments: &Value) -> Exchange<'_> {
        let mut params = self.calling(tool, arguments);
        if self.speaks == Speaks::Stateless {
            params["_meta"] = json!({ "io.modelcontextprotocol/logLevel": "info" });
        }
        self.begin("tools/call", &params).await
    }

    /// Calls a tool that tells its progress, under this token.
    pub async fn call_with_progress(&self, tool: &str, token: &str) -> Exchange<'_> {
        let mut params = self.calling(tool, &json!({}));
        params["_meta"] = json!({ "progressToken": token });
        self.begin("tools/call", &params).await
    }

    /// Sends a request that is answered without a word in between; its result.
    pub async fn result(&self, method: &str, params: &Value) -> Value {
        let answer = self.begin(method, params).await.answer().await;
        let Some(result) = answer.get("result") else {
            panic!("{method} has no result: {answer}");
        };
        result.clone()
    }

    /// Calls a tool that answers without a word in between; the text of its result.
    pub async fn text(&self, tool: &str) -> String {
        text(&self.call(tool, &json!({})).await.answer().await).to_owned()
    }

    /// The parameters that call a tool.
    fn calling(&self, tool: &str, arguments: &Value) -> Value {
        match &self.menu_of {
            None => json!({ "name": tool, "arguments": arguments }),
            Some(server) => json!({
                "name": "call_tool_write",
                "arguments": {
                    "name": format!("{server}:{tool}"),
                    "args": arguments,
                    "intent": { "operation_type": "write" },
                },
            }),
        }
    }

    async fn initialize(&mut self) {
        let params = json!({
            "protocolVersion": SESSION,
            "capabilities": self.capabilities,
            "clientInfo": self.who_we_are(),
        });
        let mut hello = self.begin("initialize", &params).await;
        let id = hello.stream.as_ref().and_then(EventStream::session_id);
        let answer = hello.answer().await;
        assert_eq!(answer["result"]["protocolVersion"], SESSION, "{answer}");
        if let Way::Http(http) = &mut self.way {
            let id = id.expect("the session has an id");
            *http = http.clone().with_session(Some(&id));
        }
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.tell(&ready).await;
    }

    /// Asks the program to end, as an operator or a client that shuts down does, and waits until it has.
    pub async fn terminate(self) {
        let Way::Stdio(inbox) = self.way else {
            panic!("there is no program over HTTP");
        };
        inbox.terminate().await;
    }

    /// Sends a message that has no answer.
    async fn tell(&self, message: &Value) {
        match &self.way {
            Way::Stdio(inbox) => inbox.send(message).await,
            Way::Http(http) => {
                let headers = [("mcp-protocol-version", self.revision())];
                let answer = http.post(&headers, message.to_string()).await;
                assert_eq!(answer.status, StatusCode::ACCEPTED, "{answer:?}");
            }
        }
    }

    /// The parameters with all that a request of this protocol says.
    fn introduced(&self, params: &Value) -> Value {
        let mut params = params.clone();
        if self.speaks == Speaks::Stateless {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!(STATELESS);
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
            meta["io.modelcontextprotocol/clientInfo"] = self.who_we_are();
        }
        params
    }

    fn revision(&self) -> &'static str {
        match self.speaks {
            Speaks::Session => SESSION,
            Speaks::Stateless => STATELESS,
        }
    }

    fn who_we_are(&self) -> Value {
        json!({ "name": self.who, "version": "1" })
    }
}

/// The text of a tool's result.
#[track_caller]
pub fn text(answer: &Value) -> &str {
    let text = &answer["result"]["content"][0]["text"];
    text.as_str().unwrap_or_else(|| panic!("no text: {answer}"))
}
