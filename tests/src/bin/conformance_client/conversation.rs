//! A client of the gateway that answers what servers ask on the way.
//!
//! It says yes to every form, with the defaults of its fields. In a session the question comes on the stream of the
//! request and is answered by a message of its own; without one, the request is repeated with the answer.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{Method, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use mcpproxy_tests::stateless_client::STATELESS;
use mcpproxy_tests::{HttpClient, decode, within};
use serde_json::{Map, Value, json};

use crate::mirrored;

/// How often a server may ask for more before it answers.
const ROUNDS: usize = 5;

/// A conversation in one of the two protocols.
#[derive(Debug)]
pub(crate) struct Conversation {
    http: HttpClient,
    revision: String,
    /// What the other side says it has.
    capabilities: Value,
    /// The tools as they were first listed.
    tools: OnceLock<Vec<Value>>,
    next_id: AtomicU64,
}

impl Conversation {
    /// Opens a session, or asks who is there if the revision has none.
    pub(crate) async fn open(endpoint: &str, revision: &str) -> Self {
        let mut opened = Self {
            http: HttpClient::without_session(endpoint),
            revision: revision.to_owned(),
            capabilities: Value::Null,
            tools: OnceLock::new(),
            next_id: AtomicU64::new(1),
        };
        if opened.is_stateless() {
            let found = opened.request("server/discover", &json!({})).await;
            opened.capabilities = found["result"]["capabilities"].clone();
        } else {
            opened.initialize().await;
        }
        assert!(
            opened.capabilities.is_object(),
            "nobody answers: {opened:?}"
        );
        opened
    }

    /// Whether the other side offers this, such as `prompts`.
    pub(crate) fn offers(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some()
    }

    /// Sends a request and answers what is asked on the way; the answer.
    pub(crate) async fn request(&self, method: &str, params: &Value) -> Value {
        let answer = self.ask(method, params).await;
        self.finish(method, params, answer).await
    }

    /// Sends a request; the answer, which without sessions may be a question.
    pub(crate) async fn ask(&self, method: &str, params: &Value) -> Value {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut params = params.clone();
        let mirrored = self.mirrored(&params);
        let mut headers = vec![("mcp-protocol-version", &*self.revision)];
        let name = params["name"].as_str().or(params["uri"].as_str());
        let name = name.unwrap_or_default().to_owned();
        if self.is_stateless() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientCapabilities": our_capabilities(),
                "io.modelcontextprotocol/clientInfo": who_we_are(),
            });
            headers.extend([("mcp-method", method), ("mcp-name", &name)]);
            headers.extend(mirrored.iter().map(|(name, value)| (&**name, &**value)));
        }
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let response = self.http.open(Method::POST, &headers, message.to_string());
        let answer = self.read(response.await, &message["id"]).await;
        if let Some(tools) = answer["result"]["tools"].as_array() {
            self.tools.get_or_init(|| tools.clone());
        }
        answer
    }

    /// Repeats a request with what it was found to need, until it is answered.
    pub(crate) async fn finish(&self, method: &str, params: &Value, first: Value) -> Value {
        let mut answer = first;
        for _ in 0..ROUNDS {
            let result = &answer["result"];
            if result["resultType"] != "input_required" {
                return answer;
            }
            let mut params = params.clone();
            let asked = result["inputRequests"].as_object();
            let answers: Map<_, _> = asked
                .into_iter()
                .flatten()
                .map(|(key, question)| (key.clone(), answer_to(question)))
                .collect();
            params["inputResponses"] = answers.into();
            if let Some(state) = result.get("requestState") {
                params["requestState"] = state.clone();
            }
            answer = self.ask(method, &params).await;
        }
        panic!("{method} is not answered after {ROUNDS} rounds: {answer}");
    }

    /// The headers that the tool of a call wants.
    fn mirrored(&self, params: &Value) -> Vec<(String, String)> {
        let mut tools = self.tools.get().into_iter().flatten();
        let called = tools.find(|tool| tool["name"] == params["name"]);
        called.map_or_else(Vec::new, |tool| {
            mirrored::headers(&tool["inputSchema"], &params["arguments"])
        })
    }

    fn is_stateless(&self) -> bool {
        self.revision == STATELESS
    }

    async fn initialize(&mut self) {
        let params = json!({
            "protocolVersion": self.revision,
            "capabilities": our_capabilities(),
            "clientInfo": who_we_are(),
        });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = self.http.open(Method::POST, &[], hello.to_string()).await;
        assert_eq!(response.status(), StatusCode::OK, "{response:?}");
        let id = response.headers()["mcp-session-id"].clone();
        let id = id.to_str().expect("the id of a session is text");
        self.http = self.http.clone().with_session(Some(id));
        let answer = self.read(response, &hello["id"]).await;
        self.capabilities = answer["result"]["capabilities"].clone();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.tell(&ready).await;
    }

    /// Sends a message that has no answer.
    async fn tell(&self, message: &Value) {
        let headers = [("mcp-protocol-version", &*self.revision)];
        let answer = self.http.post(&headers, message.to_string()).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED, "{answer:?}");
    }

    /// Reads the answer to the request with this id, in whichever form it comes.
    async fn read(&self, mut response: Response<Incoming>, id: &Value) -> Value {
        let kind = response.headers().get("content-type");
        if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
            let whole = within("the answer arrives", response.collect()).await;
            let whole = whole.expect("the answer arrives whole").to_bytes();
            return decode(&String::from_utf8_lossy(&whole));
        }
        let mut unread = Vec::new();
        loop {
            let frame = within("the stream goes on", response.frame()).await;
            let frame = frame.expect("a stream ends after its answer");
            let frame = frame.expect("the stream does not break off");
            unread.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            while let Some(event) = take_event(&mut unread) {
                if event.get("method").is_none() && event["id"] == *id {
                    return event;
                }
                if event.get("method").is_some() && event.get("id").is_some() {
                    let (id, answer) = (&event["id"], answer_to(&event));
                    self.tell(&json!({ "jsonrpc": "2.0", "id": id, "result": answer }))
                        .await;
                }
            }
        }
    }
}

fn our_capabilities() -> Value {
    json!({ "elicitation": { "form": {} } })
}

fn who_we_are() -> Value {
    json!({ "name": "conformance-client", "version": "1" })
}

/// Says yes to a form, with the defaults of its fields.
fn answer_to(question: &Value) -> Value {
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let fields = question["params"]["requestedSchema"]["properties"].as_object();
    let content: Map<_, _> = fields
        .into_iter()
        .flatten()
        .filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone())))
        .collect();
    json!({ "action": "accept", "content": content })
}

/// Takes the first whole event with a message off the bytes that have arrived.
fn take_event(unread: &mut Vec<u8>) -> Option<Value> {
    loop {
        let end = unread.windows(2).position(|pair| pair == b"\n\n")?;
        let event: Vec<u8> = unread.drain(..end + 2).collect();
        let event = String::from_utf8(event).expect("events are UTF-8");
        let data: String = event
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .collect();
        if !data.trim().is_empty() {
            return Some(decode(&data));
        }
    }
}
