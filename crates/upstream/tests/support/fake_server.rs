//! A small MCP server that misbehaves on request, for the tests of this crate.
//!
//! The same program also plays the guard (`__guard …`) and a gateway that is killed
//! (`gateway …`), because both have to be processes of their own.

mod gateway;
mod protocols;

use std::io::{self, BufRead, Write};
use std::process::{Command, ExitCode, Stdio};

use serde_json::{Value, json};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let mode = arguments.next().unwrap_or_default();
    match mode.to_str() {
        Some(mcpproxy_upstream::guard::ARGUMENT) => mcpproxy_upstream::guard::run(arguments),
        Some("gateway") => gateway::run(),
        Some(mode) => Server::new(mode, arguments.next()).serve(),
        None => ExitCode::FAILURE,
    }
}

struct Server {
    mode: String,
    output: io::Stdout,
    /// Set by the tool `change`: the tool `target` is destructive from then on.
    has_changed: bool,
    listings: u32,
    cancelled: Vec<Value>,
    /// Ids and arguments of calls of `slow`, answered last to first by `release`.
    held: Vec<(Value, Value)>,
    /// Id of a listing of prompts, answered by `release`.
    held_listing: Option<Value>,
    children: Vec<std::process::Child>,
    /// Subscriptions that are open, and how many there were.
    subscriptions: Vec<Value>,
    subscribed: u32,
}

impl Server {
    fn new(mode: &str, argument: Option<std::ffi::OsString>) -> Self {
        let mode = protocols::begin(mode);
        if let Some(marker) = argument.filter(|_| mode == "exits-once")
            && !std::path::Path::new(&marker).exists()
        {
            std::fs::write(marker, "").expect("the marker can be written");
            std::process::exit(7);
        }
        Self {
            mode: mode.to_owned(),
            output: io::stdout(),
            has_changed: false,
            listings: 0,
            cancelled: Vec::new(),
            held: Vec::new(),
            held_listing: None,
            children: Vec::new(),
            subscriptions: Vec::new(),
            subscribed: 0,
        }
    }

    fn serve(mut self) -> ExitCode {
        match self.mode.as_str() {
            "exits" => {
                let complaint = "cannot start: the key is topsecret-value";
                let _ = writeln!(io::stderr(), "{complaint}");
                return ExitCode::from(3);
            }
            "deaf" => forever(),
            "computes" => loop {
                std::hint::spin_loop();
            },
            "floods-stderr" => flood(),
            _ => {}
        }
        let mut line = String::new();
        loop {
            line.clear();
            match io::stdin().lock().read_line(&mut line) {
                Ok(1..) => {}
                _ => break,
            }
            let message: Value = serde_json::from_str(&line).expect("one message on one line");
            self.handle(&message);
        }
        if self.mode == "ignores-the-end" {
            forever();
        }
        ExitCode::SUCCESS
    }

    fn handle(&mut self, message: &Value) {
        let id = &message["id"];
        if self.settles_by_protocol(message) {
            return;
        }
        match message["method"].as_str() {
            Some("initialize") if self.mode == "hangs" => {}
            Some("initialize") => self.initialize(id),
            Some("tools/list") => self.list(message),
            Some("tools/call") => self.call(id, &message["params"]),
            Some("prompts/list") if self.mode == "holds-prompts" => {
                self.held_listing = Some(id.clone());
            }
            Some("prompts/list" | "resources/list") => {
                let error = json!({ "code": -32050, "message": "no list without topsecret-value" });
                let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
                self.write(&answer.to_string());
            }
            Some("notifications/cancelled") => {
                self.cancelled.push(message["params"]["requestId"].clone());
            }
            Some(_) => {}
            None => panic!("an answer nobody asked for: {message}"),
        }
    }

    fn initialize(&mut self, id: &Value) {
        if self.mode == "prints-garbage" {
            for line in [
                "Listening…",
                "",
                "{\"half\": ",
                "[1,2]",
                "\u{7}bell topsecret-value",
            ] {
                self.write(line);
            }
        }
        let revision = match self.mode.as_str() {
            "speaks-old" => "2024-11-05",
            "speaks-unknown" => "1999-01-01",
            _ => "2025-11-25",
        };
        let capabilities = match self.mode.as_str() {
            "announces" => json!({ "tools": { "listChanged": true } }),
            "has-no-tools" => json!({}),
            "holds-prompts" => json!({ "tools": {}, "prompts": {} }),
            "refuses-other-lists" => json!({ "tools": {}, "prompts": {}, "resources": {} }),
            _ => json!({ "tools": {} }),
        };
        self.answer(
            id,
            &json!({
                "protocolVersion": revision,
                "capabilities": capabilities,
                "serverInfo": { "name": "fake", "version": "1" },
            }),
        );
    }

    fn list(&mut self, message: &Value) {
        self.listings += 1;
        let id = &message["id"];
        if self.mode == "refuses-later-listings" && self.listings > 1 {
            let error = json!({ "code": -32603, "message": "no list for you" });
            let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            self.write(&answer.to_string());
            return;
        }
        let names = [
            "echo",
            "change",
            "environment",
            "die",
            "hang",
            "cancelled",
            "slow",
            "release",
            "spawn",
            "big",
            "ask",
            "listings",
            "go_deaf",
            "refuse",
        ];
        let mut tools: Vec<Value> = names.iter().map(|name| tool(name)).collect();
        let hint = if self.has_changed {
            "destructiveHint"
        } else {
            "readOnlyHint"
        };
        let mut target = tool("target");
        target["annotations"] = json!({ hint: true });
        tools.push(target);
        if self.mode == "has-malformed-tools" {
            tools.insert(0, json!({ "name": 5 }));
            tools.insert(1, json!({ "name": "no_schema" }));
        }
        if self.mode != "has-pages" {
            self.answer(id, &self.page(&json!(tools)));
            return;
        }
        let at: usize = message["params"]["cursor"]
            .as_str()
            .map_or(0, |cursor| cursor.parse().expect("our own cursor"));
        let mut page = json!({ "tools": [tools[at]] });
        if at + 1 < tools.len() {
            page["nextCursor"] = json!((at + 1).to_string());
        }
        self.answer(id, &page);
    }

    fn call(&mut self, id: &Value, params: &Value) {
        match params["name"].as_str().expect("a name") {
            "echo" => self.say(id, &params["arguments"]),
            "change" => {
                self.has_changed = true;
                self.tell_subscribers();
                if ["announces", "tells"].contains(&self.mode.as_str()) {
                    self.write(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
                }
                self.say(id, &json!("changed"));
            }
            "environment" => {
                let variables: Value = std::env::vars()
                    .map(|(name, value)| (name, Value::String(value)))
                    .collect::<serde_json::Map<_, _>>()
                    .into();
                self.say(id, &variables);
            }
            "die" => std::process::exit(9),
            "hang" => {}
            "cancelled" => self.say(id, &json!(self.cancelled)),
            "slow" => self.held.push((id.clone(), params["arguments"].clone())),
            "release" => {
                if let Some(listing) = self.held_listing.take() {
                    self.answer(&listing, &json!({ "prompts": [] }));
                }
                while let Some((held, arguments)) = self.held.pop() {
                    self.say(&held, &arguments);
                }
                self.say(id, &json!("released"));
            }
            "spawn" => {
                let pids = self.spawn();
                self.say(id, &json!(pids));
            }
            "big" => self.say(id, &json!("x".repeat(17 * 1024 * 1024))),
            "ask" => self.ask(id),
            "listings" => self.say(id, &json!(self.listings)),
            "go_deaf" => {
                self.say(id, &json!("deaf"));
                forever();
            }
            #[cfg(unix)]
            "close_input" => {
                self.say(id, &json!("closed"));
                let nothing = std::fs::File::open("/dev/null").expect("it is there");
                rustix::stdio::dup2_stdin(nothing).expect("it can be replaced");
                forever();
            }
            "refuse" => {
                let key = std::env::var("FAKE_KEY").expect("it is configured");
                let message = format!("no such thing: {key}");
                let error = json!({ "code": -32602, "message": message, "data": [1, key] });
                let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
                self.write(&answer.to_string());
            }
            other => {
                let other = other.to_owned();
                self.call_by_protocol(id, &other);
            }
        }
    }

    /// Starts one child in a session of its own, and one more whose parent ends at once.
    fn spawn(&mut self) -> Vec<u32> {
        let mut session = Command::new("setsid");
        let child = session
            .args(["sleep", "600"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("setsid is there");
        let daemon = Command::new("sh")
            .args(["-c", "setsid sleep 600 >/dev/null 2>&1 & echo $!"])
            .stdin(Stdio::null())
            .output()
            .expect("sh is there");
        let daemon = String::from_utf8_lossy(&daemon.stdout).trim().to_owned();
        let pids = vec![child.id(), daemon.parse().expect("a process id")];
        self.children.push(child);
        pids
    }

    /// Asks the client for things, and tells what it answered.
    fn ask(&mut self, id: &Value) {
        self.write(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
        self.write(r#"{"jsonrpc":"2.0","id":77,"method":"roots/list"}"#);
        self.write(r#"{"jsonrpc":"2.0","id":78,"method":"sampling/createMessage","params":{}}"#);
        let mut answers = Vec::new();
        while answers.len() < 3 {
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line).expect("an answer");
            answers.push(serde_json::from_str::<Value>(&line).expect("a message"));
        }
        self.say(id, &json!(answers));
    }

    fn say(&mut self, id: &Value, value: &Value) {
        let content = json!([{ "type": "text", "text": value.to_string() }]);
        self.answer(id, &json!({ "content": content }));
    }

    fn answer(&mut self, id: &Value, result: &Value) {
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        self.write(&answer.to_string());
    }

    fn write(&mut self, line: &str) {
        let text = format!("{line}\n");
        // The client may be gone, and the next read will tell.
        let _ = self.output.write_all(text.as_bytes());
        let _ = self.output.flush();
    }
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

/// Writes 100 MB to standard error.
fn flood() {
    let line = format!("{}\n", "stderr ".repeat(146));
    let chunk = line.repeat(1024);
    for _ in 0..100 {
        io::stderr()
            .write_all(chunk.as_bytes())
            .expect("it is read");
    }
}

fn forever() -> ! {
    loop {
        std::thread::park();
    }
}
