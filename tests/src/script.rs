//! What a scripted server is told to do. Values that are sent on keep their bytes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The script of a server. Everything may be left out.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The revision it speaks; without one it takes the revision of its client, with a session.
    pub revision: Option<String>,
    /// The tools, sent as they are.
    pub tools: Vec<Box<RawValue>>,
    /// The `CallToolResult` of a tool, sent as it is. Without one the tool echoes.
    pub results: BTreeMap<String, Box<RawValue>>,
    /// The result of a method other than those of tools, sent as it is. What it is a method of is declared.
    pub answers: BTreeMap<String, Box<RawValue>>,
    /// The JSON-RPC error a tool or a method answers with.
    pub errors: BTreeMap<String, Box<RawValue>>,
    /// The environment variable whose value is the text a tool answers with.
    pub variables: BTreeMap<String, String>,
    /// The header of the request whose value is the text a tool answers with.
    pub headers: BTreeMap<String, String>,
    /// How long a tool takes, in milliseconds.
    pub delay_ms: BTreeMap<String, u64>,
    /// A tool answers only once this file exists.
    pub gates: BTreeMap<String, PathBuf>,
    /// Gets one line for every call that was executed, the tool and its arguments as received; and one for every method
    /// of `answers` but lists, with its parameters.
    pub ledger: Option<PathBuf>,
    /// Gets one line for every call that was executed, the `_meta` that came along.
    pub meta_ledger: Option<PathBuf>,
    /// Whether changes of the tools are promised to be announced.
    pub list_changed: bool,
    /// What a call changes.
    pub on_call: BTreeMap<String, Change>,
    /// The second and later lists show these tools.
    pub swap_after_list: Option<Vec<Box<RawValue>>>,
    /// A method or a tool that is never answered.
    pub hang_on: Option<String>,
    /// End before saying anything.
    pub exit_at_start: bool,
    /// How much is printed to stderr at the start.
    pub stderr_bytes: u64,
    /// The environment variable whose value is printed to stderr at the start.
    pub stderr_variable: Option<String>,
    /// Print lines that are not JSON before the answers.
    pub garbage: bool,
    /// Gets the id of the process.
    pub pid_file: Option<PathBuf>,
    /// Start a process in a session of its own that outlives a plain kill; gets its id.
    pub grandchild_pid_file: Option<PathBuf>,
}

/// What a call of a tool changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The tools from now on.
    pub tools: Vec<Box<RawValue>>,
    /// Whether the change is announced, before the call is answered.
    pub notify: bool,
}
