//! Protocols of the fake server: without sessions, and with sessions in ways that do not take the
//! probe well.
//!
//! Modes: `stateless…` knows nothing of sessions, `dual` has both; among those with sessions,
//! `refuses` answers what it does not know with an error, `falls-over` ends over it, and all
//! others ignore it. `slow-` before any of them lets it start slowly, `busy-` lets it compute meanwhile. `noisy-`
//! before all that has it write to its standard error all the time.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Server;

const REVISION: &str = "2026-07-28";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Notes the start where the test wants to know, and starts slowly if so told.
pub(crate) fn begin(mode: &str) -> &str {
    if let Ok(file) = std::env::var("FAKE_STARTS") {
        let file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(file);
        writeln!(file.expect("it can be opened"), "start").expect("it can be written");
    }
    let noisy = mode.strip_prefix("noisy-");
    if noisy.is_some() {
        std::thread::spawn(|| {
            // Ends with the process, or when nobody reads it any more.
            while writeln!(std::io::stderr(), "still here").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
    }
    let mode = noisy.unwrap_or(mode);
    if let Some(mode) = mode.strip_prefix("busy-") {
        compute_for(Duration::from_secs(2));
        return mode;
    }
    match mode.strip_prefix("slow-") {
        Some(mode) => {
            std::thread::sleep(Duration::from_millis(1_500));
            mode
        }
        None => mode,
    }
}

fn compute_for(time: Duration) {
    let since = std::time::Instant::now();
    while since.elapsed() < time {
        std::hint::spin_loop();
    }
}

impl Server {
    fn is_stateless(&self) -> bool {
        self.mode.starts_with("stateless")
    }

    /// Answers what depends on the protocol; true if there is nothing left to do.
    pub(crate) fn settles_by_protocol(&mut self, message: &Value) -> bool {
        let (id, method) = (&message["id"], message["method"].as_str());
        let speaks_stateless = self.is_stateless() || self.mode == "dual";
        match method.unwrap_or_default() {
            _ if id.is_null() => return false,
            "server/discover" if speaks_stateless => self.discover(id),
            "subscriptions/listen" if speaks_stateless => self.subscribe(message),
            "initialize" if self.is_stateless() => {
                self.refuse(id, -32022, &json!({ "supported": [REVISION] }));
            }
            _ if self.is_stateless() && message["params"]["_meta"][VERSION_KEY] != REVISION => {
                self.refuse(id, -32602, &Value::Null);
            }
            "initialize" | "tools/list" | "tools/call" => return false,
            _ if self.mode == "refuses" => self.refuse(id, -32601, &Value::Null),
            _ if self.mode == "falls-over" => std::process::exit(1),
            _ => return false,
        }
        true
    }

    /// One page of tools, with what the protocol has to say of it.
    pub(crate) fn page(&self, tools: &Value) -> Value {
        match self.mode.as_str() {
            "stateless-believed" => {
                json!({ "tools": tools, "ttlMs": 600_000, "cacheScope": "public" })
            }
            "stateless-announces" | "stateless" => {
                json!({ "tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private" })
            }
            _ => json!({ "tools": tools }),
        }
    }

    pub(crate) fn call_by_protocol(&mut self, id: &Value, tool: &str) {
        match tool {
            "asks_for_input" => {
                let question = json!({ "method": "elicitation/create", "params": {} });
                let result = json!({ "resultType": "input_required", "requestState": "s",
                    "inputRequests": { "q": question } });
                self.answer(id, &result);
            }
            "odd" => self.answer(id, &json!({ "resultType": "odd", "content": [] })),
            "end_subscriptions" => {
                for subscription in std::mem::take(&mut self.subscriptions) {
                    self.answer(&subscription, &json!({ "resultType": "complete" }));
                }
                self.say(id, &json!("ended"));
            }
            "subscribed" => self.say(id, &json!(self.subscribed)),
            other => panic!("no such tool: {other}"),
        }
    }

    pub(crate) fn tell_subscribers(&mut self) {
        for subscription in self.subscriptions.clone() {
            let changed = json!({
                "jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                "params": { "_meta": { "io.modelcontextprotocol/subscriptionId": subscription } },
            });
            self.write(&changed.to_string());
        }
    }

    fn discover(&mut self, id: &Value) {
        let announces = self.mode == "stateless-announces" || self.mode == "stateless-promises";
        let discovered = json!({
            "resultType": "complete", "supportedVersions": [REVISION],
            "capabilities": { "tools": { "listChanged": announces } },
            "ttlMs": 0, "cacheScope": "private",
            "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "fake", "version": "2" } },
        });
        self.answer(id, &discovered);
    }

    fn subscribe(&mut self, message: &Value) {
        let id = &message["id"];
        if self.mode != "stateless-announces" {
            return self.refuse(id, -32601, &Value::Null);
        }
        self.subscribed += 1;
        self.subscriptions.push(id.clone());
        let acknowledged = json!({
            "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
            "params": {
                "_meta": { "io.modelcontextprotocol/subscriptionId": id },
                "notifications": message["params"]["notifications"],
            },
        });
        self.write(&acknowledged.to_string());
    }

    fn refuse(&mut self, id: &Value, code: i64, data: &Value) {
        let error = json!({ "code": code, "message": "not here", "data": data });
        let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        self.write(&answer.to_string());
    }
}
