//! The server that a [`Script`] describes, whatever it is reached over.
//!
//! It answers one message after the other or many at once, and knows no runtime: `fixture-server` has it read lines, and
//! [`HttpFixture`](crate::HttpFixture) has it answer requests. What the script holds as JSON is sent with its bytes
//! unchanged.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::script::Script;

/// How often a gated call looks whether it may go on.
const GATE_STEP: Duration = Duration::from_millis(5);

/// The revision without sessions.
const STATELESS: &str = "2026-07-28";

/// The members of a JSON object with the bytes of their values.
type Members<'a> = BTreeMap<String, &'a RawValue>;

/// Either `result` or `error`, and its text.
type Outcome = (&'static str, String);

/// The server.
#[derive(Debug)]
pub struct ScriptedServer {
    /// What it was told to do.
    pub script: Script,
    shown: Mutex<Shown>,
}

/// What decides which tools are listed.
#[derive(Debug, Default)]
struct Shown {
    lists: u64,
    changed_by: Option<String>,
}

impl ScriptedServer {
    /// A server that nobody has asked anything.
    pub fn new(script: Script) -> Self {
        Self {
            script,
            shown: Mutex::default(),
        }
    }

    /// The response to a message, if it gets one. A header of its request has the value that `header` finds; what is
    /// sent before the response goes to `send`.
    pub fn answer(
        &self,
        message: &str,
        header: &dyn Fn(&str) -> Option<String>,
        send: &dyn Fn(&str),
    ) -> Option<String> {
        let message: Members<'_> = serde_json::from_str(message).expect("the gateway sends JSON");
        let (method, id) = (message.get("method")?, message.get("id")?);
        let method: String = serde_json::from_str(method.get()).expect("a method is a string");
        if self.hangs_on(&method) {
            return None;
        }
        let params = message.get("params").copied();
        let (member, value) = match method.as_str() {
            _ if self.script.errors.contains_key(&method) => {
                ("error", self.script.errors[&method].get().to_owned())
            }
            _ if self.script.answers.contains_key(&method) => {
                if !method.ends_with("/list") {
                    self.record(&method, params.map_or("{}", RawValue::get));
                }
                ("result", self.script.answers[&method].get().to_owned())
            }
            "initialize" if !self.is_stateless() => self.initialize(params),
            "server/discover" if self.is_stateless() => self.discover(),
            "ping" => ("result", "{}".to_owned()),
            "tools/list" => ("result", self.list()),
            "tools/call" => self.call(params, header, send)?,
            _ => {
                let error = json!({ "code": -32601, "message": "no such method" });
                ("error", error.to_string())
            }
        };
        let id = id.get();
        Some(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"{member}":{value}}}"#
        ))
    }

    fn initialize(&self, params: Option<&RawValue>) -> Outcome {
        let params: Value = params
            .and_then(|params| serde_json::from_str(params.get()).ok())
            .unwrap_or_default();
        let asked = params["protocolVersion"].as_str().unwrap_or_default();
        let result = json!({
            "protocolVersion": self.script.revision.as_deref().unwrap_or(asked),
            "capabilities": self.capabilities(),
            "serverInfo": { "name": "fixture-server", "version": "1" },
        });
        ("result", result.to_string())
    }

    fn discover(&self) -> Outcome {
        let result = json!({
            "resultType": "complete", "supportedVersions": [STATELESS],
            "capabilities": self.capabilities(), "ttlMs": 0, "cacheScope": "public",
            "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "fixture-server", "version": "1" } },
        });
        ("result", result.to_string())
    }

    fn capabilities(&self) -> Value {
        let mut capabilities = json!({ "tools": { "listChanged": self.script.list_changed } });
        if self.hangs_on("prompts/list") {
            // Nobody asks for what was not declared.
            capabilities["prompts"] = json!({});
        }
        for method in self.script.answers.keys() {
            match method.split('/').next() {
                Some("completion") => capabilities["completions"] = json!({}),
                Some(kind) => capabilities[kind] = json!({}),
                None => {}
            }
        }
        capabilities
    }

    fn list(&self) -> String {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.lists += 1;
        let changed = shown
            .changed_by
            .as_ref()
            .and_then(|tool| self.script.on_call.get(tool));
        let tools = match (changed, &self.script.swap_after_list) {
            (Some(change), _) => &change.tools,
            (None, Some(swapped)) if shown.lists > 1 => swapped,
            _ => &self.script.tools,
        };
        let texts: Vec<&str> = tools.iter().map(|tool| tool.get()).collect();
        let more = if self.is_stateless() {
            r#""resultType":"complete","ttlMs":0,"cacheScope":"public","#
        } else {
            ""
        };
        format!(r#"{{{more}"tools":[{}]}}"#, texts.join(","))
    }

    fn call(
        &self,
        params: Option<&RawValue>,
        header: &dyn Fn(&str) -> Option<String>,
        send: &dyn Fn(&str),
    ) -> Option<Outcome> {
        let params: Members<'_> =
            serde_json::from_str(params?.get()).expect("params are an object");
        let tool: String =
            serde_json::from_str(params.get("name")?.get()).expect("a name is a string");
        let arguments = params.get("arguments").map_or("{}", |raw| raw.get());
        if let Some(ledger) = &self.script.meta_ledger {
            write_line(ledger, params.get("_meta").map_or("null", |raw| raw.get()));
        }
        self.record(&tool, arguments);
        if self.hangs_on(&tool) {
            return None;
        }
        if let Some(milliseconds) = self.script.delay_ms.get(&tool) {
            std::thread::sleep(Duration::from_millis(*milliseconds));
        }
        if let Some(gate) = self.script.gates.get(&tool) {
            while !gate.exists() {
                std::thread::sleep(GATE_STEP);
            }
        }
        if let Some(change) = self.script.on_call.get(&tool) {
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.changed_by = Some(tool.clone());
            drop(shown);
            if change.notify {
                send(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
            }
        }
        Some(self.outcome(&tool, arguments, header))
    }

    fn outcome(
        &self,
        tool: &str,
        arguments: &str,
        header: &dyn Fn(&str) -> Option<String>,
    ) -> Outcome {
        if let Some(error) = self.script.errors.get(tool) {
            return ("error", error.get().to_owned());
        }
        if let Some(result) = self.script.results.get(tool) {
            return ("result", result.get().to_owned());
        }
        let text = if let Some(variable) = self.script.variables.get(tool) {
            read_variable(variable)
        } else if let Some(name) = self.script.headers.get(tool) {
            header(name).unwrap_or_else(|| format!("no header {name}"))
        } else {
            format!("{tool} {arguments}")
        };
        let mut result = json!({ "content": [{ "type": "text", "text": text }] });
        if self.is_stateless() {
            result["resultType"] = json!("complete");
        }
        ("result", result.to_string())
    }

    fn hangs_on(&self, what: &str) -> bool {
        self.script.hang_on.as_deref() == Some(what)
    }

    fn is_stateless(&self) -> bool {
        self.script.revision.as_deref() == Some(STATELESS)
    }

    fn record(&self, tool: &str, arguments: &str) {
        if let Some(ledger) = &self.script.ledger {
            write_line(ledger, &format!("{tool} {arguments}"));
        }
    }
}

/// Appends a line in one write, so that lines of concurrent calls do not mix.
fn write_line(ledger: &Path, line: &str) {
    let mut ledger = OpenOptions::new()
        .create(true)
        .append(true)
        .open(ledger)
        .expect("the ledger can be opened");
    let written = ledger.write_all(format!("{line}\n").as_bytes());
    written.expect("the ledger can be written");
}

/// The value of an environment variable, or that there is none.
pub fn read_variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| format!("no variable {name}"))
}
