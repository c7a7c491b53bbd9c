//! A stdio MCP server that does what its script says: `fixture-server SCRIPT.json`.
//!
//! It is plain threads and blocking reads, so that nothing it does wrong can be blamed on
//! a runtime. What the script holds as JSON is sent with its bytes unchanged.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpproxy_tests::script::Script;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// How often a gated call looks whether it may go on.
const GATE_STEP: Duration = Duration::from_millis(5);

/// The members of a JSON object with the bytes of their values.
type Members<'a> = BTreeMap<String, &'a RawValue>;

fn main() -> ExitCode {
    let path = std::env::args_os()
        .nth(1)
        .expect("usage: fixture-server SCRIPT.json");
    let text = std::fs::read_to_string(path).expect("the script can be read");
    let script: Script = serde_json::from_str(&text).expect("the script is valid");
    if script.exit_at_start {
        return ExitCode::FAILURE;
    }
    if let Some(file) = &script.pid_file {
        write_whole(file, std::process::id());
    }
    if let Some(file) = &script.grandchild_pid_file {
        write_whole(file, start_grandchild());
    }
    if let Some(variable) = &script.stderr_variable {
        // Whoever no longer listens misses nothing.
        let _ = writeln!(std::io::stderr(), "{}", read_variable(variable));
    }
    let flood = script.stderr_bytes;
    std::thread::spawn(move || flood_stderr(flood));
    let server = Arc::new(Server {
        shown: Mutex::new(Shown {
            lists: 0,
            changed_by: None,
        }),
        output: Mutex::new(()),
        script,
    });
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let server = Arc::clone(&server);
        std::thread::spawn(move || server.handle(&line));
    }
    ExitCode::SUCCESS
}

struct Server {
    script: Script,
    shown: Mutex<Shown>,
    output: Mutex<()>,
}

/// What decides which tools are listed.
struct Shown {
    lists: u64,
    changed_by: Option<String>,
}

impl Server {
    fn handle(&self, line: &str) {
        let message: Members<'_> = serde_json::from_str(line).expect("the gateway sends JSON");
        let (Some(method), Some(id)) = (message.get("method"), message.get("id")) else {
            return;
        };
        let method: String = serde_json::from_str(method.get()).expect("a method is a string");
        if self.hangs_on(&method) {
            return;
        }
        let outcome = match method.as_str() {
            "initialize" => self.initialize(message.get("params").copied()),
            "ping" => ("result", "{}".to_owned()),
            "tools/list" => ("result", self.list()),
            "tools/call" => match self.call(message.get("params").copied()) {
                Some(outcome) => outcome,
                None => return,
            },
            _ => (
                "error",
                json!({ "code": -32601, "message": "no such method" }).to_string(),
            ),
        };
        let (member, value) = outcome;
        self.print(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"{member}":{value}}}"#,
            id.get()
        ));
    }

    fn initialize(&self, params: Option<&RawValue>) -> (&'static str, String) {
        let params: Value = params
            .and_then(|params| serde_json::from_str(params.get()).ok())
            .unwrap_or_default();
        let mut capabilities = json!({ "tools": { "listChanged": self.script.list_changed } });
        if self.hangs_on("prompts/list") {
            // Nobody asks for what was not declared.
            capabilities["prompts"] = json!({});
        }
        let result = json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": capabilities,
            "serverInfo": { "name": "fixture-server", "version": "1" },
        });
        ("result", result.to_string())
    }

    fn list(&self) -> String {
        let mut shown = self.shown.lock().expect("no thread panics with the lock");
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
        format!(r#"{{"tools":[{}]}}"#, texts.join(","))
    }

    fn call(&self, params: Option<&RawValue>) -> Option<(&'static str, String)> {
        let params: Members<'_> =
            serde_json::from_str(params?.get()).expect("params are an object");
        let tool: String =
            serde_json::from_str(params.get("name")?.get()).expect("a name is a string");
        let arguments = params.get("arguments").map_or("{}", |raw| raw.get());
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
            let mut shown = self.shown.lock().expect("no thread panics with the lock");
            shown.changed_by = Some(tool.clone());
            drop(shown);
            if change.notify {
                self.print(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
            }
        }
        Some(self.outcome(&tool, arguments))
    }

    fn outcome(&self, tool: &str, arguments: &str) -> (&'static str, String) {
        if let Some(error) = self.script.errors.get(tool) {
            return ("error", error.get().to_owned());
        }
        if let Some(result) = self.script.results.get(tool) {
            return ("result", result.get().to_owned());
        }
        let text = match self.script.variables.get(tool) {
            Some(variable) => read_variable(variable),
            None => format!("{tool} {arguments}"),
        };
        (
            "result",
            json!({ "content": [{ "type": "text", "text": text }] }).to_string(),
        )
    }

    fn hangs_on(&self, what: &str) -> bool {
        self.script.hang_on.as_deref() == Some(what)
    }

    fn record(&self, tool: &str, arguments: &str) {
        let Some(path) = &self.script.ledger else {
            return;
        };
        let mut ledger = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .expect("the ledger can be opened");
        // One write each, so that lines of concurrent calls do not mix.
        let line = format!("{tool} {arguments}\n");
        ledger
            .write_all(line.as_bytes())
            .expect("the ledger can be written");
    }

    fn print(&self, line: &str) {
        let _alone = self.output.lock().expect("no thread panics with the lock");
        let mut stdout = std::io::stdout().lock();
        // Whoever no longer listens misses nothing.
        if self.script.garbage {
            let _ = stdout.write_all(b"starting up {\n\xff\xfe not text\n[1,\n\n");
        }
        let _ = stdout.write_all(line.as_bytes());
        let _ = stdout.write_all(b"\n");
        let _ = stdout.flush();
    }
}

fn read_variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| format!("no variable {name}"))
}

/// A process in a session of its own, which a signal to our process group does not reach.
fn start_grandchild() -> u32 {
    Command::new("setsid")
        .args(["sleep", "1000"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a grandchild can be started")
        .id()
}

fn flood_stderr(mut bytes: u64) {
    let line = [b'x'; 4095];
    let mut stderr = std::io::stderr().lock();
    while bytes > 0 {
        let count = usize::try_from(bytes).unwrap_or(usize::MAX).min(line.len());
        if stderr
            .write_all(&line[..count])
            .and_then(|()| stderr.write_all(b"\n"))
            .is_err()
        {
            return;
        }
        bytes = bytes.saturating_sub(count as u64 + 1);
    }
}

/// Writes a number in one step, so that nobody reads half of it.
fn write_whole(file: &Path, number: u32) {
    let draft = file.with_extension("draft");
    std::fs::write(&draft, number.to_string()).expect("the number can be written");
    std::fs::rename(&draft, file).expect("the number can be moved into place");
}
