//! A scriptable server behind the gateway.

use std::path::PathBuf;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::script::{Change, Script};
use crate::{HttpFixture, HttpTransport, Programs};

/// A tool that writes and does not destroy, for [`Fixture::tools`]; [`Fixture::entries`] tells what it was given.
pub const APPEND: &str = concat!(
    r#"{"name":"append","description":"Appends an entry to the ledger","#,
    r#""inputSchema":{"type":"object","properties":{"entry":{"type":"string"}},"required":["entry"]},"#,
    r#""annotations":{"readOnlyHint":false,"destructiveHint":false}}"#
);

/// A server that does what the test says, in a folder of its own.
///
/// Build it, then put [`Fixture::entry`] under `mcpServers`. It has to live as long as the product.
#[derive(Debug)]
pub struct Fixture {
    programs: Programs,
    folder: TempDir,
    script: Script,
}

impl Fixture {
    /// A server without tools, which keeps a ledger and says its process id.
    pub fn new(programs: Programs) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let script = Script {
            ledger: Some(folder.path().join("ledger")),
            pid_file: Some(folder.path().join("pid")),
            ..Script::default()
        };
        Self {
            programs,
            folder,
            script,
        }
    }

    /// Speaks this revision, with a session or, if it is the one without, without.
    #[must_use]
    pub fn revision(mut self, revision: &str) -> Self {
        self.script.revision = Some(revision.to_owned());
        self
    }

    /// Offers these tools, each the text of a definition.
    #[must_use]
    pub fn tools<S: AsRef<str>>(mut self, tools: &[S]) -> Self {
        self.script.tools = raw_list(tools);
        self
    }

    /// Answers calls of a tool with this text of a `CallToolResult`.
    #[must_use]
    pub fn result(mut self, tool: &str, result: &str) -> Self {
        self.script.results.insert(tool.to_owned(), raw(result));
        self
    }

    /// Answers a method other than those of tools, such as `resources/read`, with this text of a result. Resources and
    /// templates need both of their lists.
    #[must_use]
    pub fn answer(mut self, method: &str, result: &str) -> Self {
        self.script.answers.insert(method.to_owned(), raw(result));
        self
    }

    /// Answers calls of a tool, or a method, with this text of a JSON-RPC error.
    #[must_use]
    pub fn error(mut self, tool: &str, error: &str) -> Self {
        self.script.errors.insert(tool.to_owned(), raw(error));
        self
    }

    /// Answers calls of a tool with the value of an environment variable, which the server's entry may set.
    #[must_use]
    pub fn variable(mut self, tool: &str, variable: &str) -> Self {
        let variable = variable.to_owned();
        self.script.variables.insert(tool.to_owned(), variable);
        self
    }

    /// Lets a tool take its time.
    #[must_use]
    pub fn delay(mut self, tool: &str, milliseconds: u64) -> Self {
        self.script.delay_ms.insert(tool.to_owned(), milliseconds);
        self
    }

    /// Lets a tool wait for [`Fixture::open_gate`].
    #[must_use]
    pub fn gate(mut self, tool: &str) -> Self {
        let gate = self.gate_path(tool);
        self.script.gates.insert(tool.to_owned(), gate);
        self
    }

    /// Keeps the `_meta` of calls, see [`Fixture::metas`].
    #[must_use]
    pub fn meta_ledger(mut self) -> Self {
        self.script.meta_ledger = Some(self.folder.path().join("metas"));
        self
    }

    /// Promises to announce changes of the tools.
    #[must_use]
    pub fn list_changed(mut self) -> Self {
        self.script.list_changed = true;
        self
    }

    /// After a call of this tool the list is another, announced or not.
    #[must_use]
    pub fn on_call<S: AsRef<str>>(mut self, tool: &str, tools: &[S], notify: bool) -> Self {
        let change = Change {
            tools: raw_list(tools),
            notify,
        };
        self.script.on_call.insert(tool.to_owned(), change);
        self
    }

    /// From the second time on, the list is another.
    #[must_use]
    pub fn swap_after_list<S: AsRef<str>>(mut self, tools: &[S]) -> Self {
        self.script.swap_after_list = Some(raw_list(tools));
        self
    }

    /// Never answers this method (`initialize`, `tools/list`, `prompts/list`) or tool.
    #[must_use]
    pub fn hang_on(mut self, what: &str) -> Self {
        self.script.hang_on = Some(what.to_owned());
        self
    }

    /// Ends before saying anything.
    #[must_use]
    pub fn exit_at_start(mut self) -> Self {
        self.script.exit_at_start = true;
        self
    }

    /// Prints this much to stderr.
    #[must_use]
    pub fn stderr_bytes(mut self, bytes: u64) -> Self {
        self.script.stderr_bytes = bytes;
        self
    }

    /// Prints the value of an environment variable to stderr when it starts.
    #[must_use]
    pub fn stderr_variable(mut self, variable: &str) -> Self {
        self.script.stderr_variable = Some(variable.to_owned());
        self
    }

    /// Prints lines that are not JSON before every answer.
    #[must_use]
    pub fn garbage(mut self) -> Self {
        self.script.garbage = true;
        self
    }

    /// Starts a process in a session of its own, see [`Fixture::grandchild_pid`].
    #[must_use]
    pub fn grandchild(mut self) -> Self {
        self.script.grandchild_pid_file = Some(self.folder.path().join("grandchild"));
        self
    }

    /// Writes the script and gives the server's entry for `mcpServers`.
    pub fn entry(&self) -> Value {
        let path = self.folder.path().join("script.json");
        let text = serde_json::to_string(&self.script).expect("a script is plain data");
        std::fs::write(&path, text).expect("the script can be written");
        json!({ "command": self.programs.fixture_server, "args": [path] })
    }

    /// The same with more keys, such as `quarantined` or `tools`.
    pub fn entry_with(&self, more: &Value) -> Value {
        let mut entry = self.entry();
        for (name, value) in more.as_object().expect("the keys come as an object") {
            entry[name] = value.clone();
        }
        entry
    }

    /// The same server over HTTP, in the process of the test; it has to live as long as the product.
    pub async fn over_http(&self, transport: HttpTransport) -> HttpFixture {
        HttpFixture::serve(self.script.clone(), transport).await
    }

    /// Every call that was executed, as `tool arguments`.
    pub fn ledger(&self) -> Vec<String> {
        std::fs::read_to_string(self.folder.path().join("ledger"))
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// The `_meta` of every call that was executed; `null` where none came along.
    pub fn metas(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("metas"));
        let text = text.unwrap_or_default();
        let read = |line| serde_json::from_str(line).expect("the ledger has whole lines");
        text.lines().map(read).collect()
    }

    /// The `entry` of every call of [`APPEND`] that was executed; each is written before the call is answered.
    pub fn entries(&self) -> Vec<String> {
        let lines = self.ledger();
        let calls = lines.iter().filter_map(|line| line.strip_prefix("append "));
        calls.map(read_entry).collect()
    }

    /// Lets the calls of a gated tool go on.
    pub fn open_gate(&self, tool: &str) {
        std::fs::write(self.gate_path(tool), "").expect("the gate can be written");
    }

    /// The id of the server's process, once it has started.
    pub fn pid(&self) -> Option<u32> {
        self.number("pid")
    }

    /// The id of the process that the server started, once it has.
    pub fn grandchild_pid(&self) -> Option<u32> {
        self.number("grandchild")
    }

    fn number(&self, file: &str) -> Option<u32> {
        let text = std::fs::read_to_string(self.folder.path().join(file)).ok()?;
        text.trim().parse().ok()
    }

    fn gate_path(&self, tool: &str) -> PathBuf {
        self.folder.path().join(format!("gate-{tool}"))
    }
}

fn read_entry(arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).expect("the ledger has whole lines");
    arguments["entry"]
        .as_str()
        .unwrap_or_else(|| panic!("a call without an entry: {arguments}"))
        .to_owned()
}

pub(crate) fn raw_list<S: AsRef<str>>(texts: &[S]) -> Vec<Box<RawValue>> {
    texts.iter().map(|text| raw(text.as_ref())).collect()
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).expect("a test scripts valid JSON")
}
