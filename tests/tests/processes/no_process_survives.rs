//! Whatever ends the gateway, a command, or a server: no process that was started for a server
//! is left, however deep it is and however it tried to get away.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mcpproxy_tests::{Client, Fixture, Home, Product, StdioClient, eventually, within};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::PROGRAMS;

const LOOK: &str =
    r#"{"name":"look","description":"Look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#;

/// Starts a server the way wrappers do, and leaves processes beside it: one that ignores
/// requests to end, and one that has left its session and lost its parents.
const WRAPPER: &str = r#"
echo $$ > "$0/shell.draft"; mv "$0/shell.draft" "$0/shell"
sh -c 'trap "" TERM HUP INT; echo $$ > "$0/stubborn.draft"; mv "$0/stubborn.draft" "$0/stubborn"; while :; do sleep 1000; done' "$0" < /dev/null > /dev/null 2>&1 &
(setsid sh -c 'echo $$ > "$0/escaped.draft"; mv "$0/escaped.draft" "$0/escaped"; exec sleep 1000' "$0" < /dev/null > /dev/null 2>&1 &)
"$1" "$2"
true
"#;

/// A server behind a shell, with processes of its own.
struct Family {
    fixture: Fixture,
    folder: TempDir,
}

/// A process that was seen running. Ids are used again, but not with the same start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    id: u32,
    start: u64,
}

/// What the system tells about a process.
struct Facts {
    parent: u32,
    start: u64,
    is_zombie: bool,
}

#[tokio::test]
async fn nothing_survives_a_killed_gateway() {
    let family = Family::new();
    let mut product = Product::start(PROGRAMS, &family.config()).await;
    let seen = family
        .complete(&product.connect().await, product.pid())
        .await;
    product.kill().await;
    family.is_gone(&seen).await;
}

#[tokio::test]
async fn nothing_survives_a_gateway_that_is_asked_to_end() {
    let family = Family::new();
    let mut product = Product::start(PROGRAMS, &family.config()).await;
    let seen = family
        .complete(&product.connect().await, product.pid())
        .await;
    signal("-TERM", product.pid());
    eventually("the gateway ends", async || {
        (!product.is_running()).then_some(())
    })
    .await;
    family.is_gone(&seen).await;
}

#[tokio::test]
async fn nothing_survives_a_gateway_that_is_killed_while_its_servers_start() {
    let family = Family::new();
    for _ in 0..5 {
        let mut product = Product::start(PROGRAMS, &family.config()).await;
        let seen = below(product.pid());
        product.kill().await;
        family.is_gone(&seen).await;
    }
}

#[tokio::test]
async fn nothing_survives_stdio_in_its_own_process() {
    let family = Family::new();
    let home = Home::new(PROGRAMS, &family.config());
    let client = home.stdio().await;
    let seen = family.complete(&client, client.pid()).await;
    assert_eq!(client.finish().await, 0);
    family.is_gone(&seen).await;
}

#[tokio::test]
async fn nothing_survives_stdio_that_is_killed_or_asked_to_end() {
    for how in ["-KILL", "-TERM", "-INT"] {
        let family = Family::new();
        let home = Home::new(PROGRAMS, &family.config());
        let client = home.stdio().await;
        let process = client.pid();
        let seen = family.complete(&client, process).await;
        signal(how, process);
        family.is_gone(&seen).await;
        drop(client);
    }
}

#[tokio::test]
async fn nothing_survives_a_client_that_drops_stdio_without_a_word() {
    let family = Family::new();
    let home = Home::new(PROGRAMS, &family.config());
    let client: StdioClient = home.stdio().await;
    let seen = family.complete(&client, client.pid()).await;
    // Kills the process, as clients do that do not wait.
    drop(client);
    family.is_gone(&seen).await;
}

#[tokio::test]
async fn nothing_survives_a_call_in_its_own_process() {
    let mut family = Family::new();
    // The call waits at the gate until everybody was seen.
    family.fixture = family.fixture.gate("look");
    let home = Home::new(PROGRAMS, &family.config());
    let mut command = home.command();
    command
        .args(["call", "tool-read", "srv:look"])
        .stdout(Stdio::piped());
    let process = tokio::process::Command::from(command)
        .kill_on_drop(true)
        .spawn()
        .expect("the product can be started");
    let seen = family
        .running_below(process.id().expect("the call runs"))
        .await;
    family.fixture.open_gate("look");
    let output = within("the call ends", process.wait_with_output()).await;
    let output = output.expect("the call can be waited for");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!((output.status.code(), printed.trim()), (Some(0), "look {}"));
    family.is_gone(&seen).await;
}

#[tokio::test]
async fn nothing_survives_a_call_that_is_refused_in_its_own_process() {
    let family = Family::new();
    let home = Home::new(PROGRAMS, &family.config());
    let ran = home.run(&["call", "tool-read", "srv:none"]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(family.fixture.pid().is_some(), "the server was started");
    family.is_gone(&family.said()).await;
}

#[tokio::test]
async fn nothing_of_a_server_survives_its_removal_from_the_configuration() {
    let (family, neighbour) = (Family::new(), Fixture::new(PROGRAMS).tools(&[LOOK]));
    let mut config = family.config();
    config["mcpServers"]["neighbour"] = neighbour.entry();
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    look(&client, "neighbour").await;
    let kept = neighbour.pid();
    let seen = family.complete(&client, product.pid()).await;
    let seen = seen.into_iter().filter(|one| !serves(one, &neighbour));
    let seen: Vec<Seen> = seen.collect();

    let rest = json!({ "mcpServers": { "neighbour": neighbour.entry() } });
    product.home.write_config(&rest);
    family.is_gone(&seen).await;
    look(&client, "neighbour").await;
    assert_eq!(neighbour.pid(), kept);
}

#[tokio::test]
async fn nothing_of_a_server_survives_its_own_end() {
    let family = Family::new();
    let product = Product::start(PROGRAMS, &family.config()).await;
    let client = product.connect().await;
    let seen = family.complete(&client, product.pid()).await;
    signal("-KILL", family.fixture.pid().expect("the server runs"));
    eventually("the processes of the dead server are gone", async || {
        seen.iter().all(|one| !one.is_alive()).then_some(())
    })
    .await;
    let is_back = async || {
        let arguments = json!({ "name": "srv:look", "intent": { "operation_type": "read" } });
        let result = client.call("call_tool_read", &arguments).await;
        result["isError"].is_null().then_some(())
    };
    eventually("the server is started again", is_back).await;
}

#[tokio::test]
async fn the_search_for_processes_finds_what_runs() {
    let mut child = Command::new("sleep")
        .arg("1000.5")
        .spawn()
        .expect("a process can be started");
    let seen = Seen::now(child.id()).expect("the process runs");
    assert!(below(std::process::id()).contains(&seen));
    assert!(seen.is_alive());
    // A process shows its arguments a moment after it was made.
    eventually("the process shows its arguments", async || {
        mentioning(Path::new("1000.5"))
            .contains(&child.id())
            .then_some(())
    })
    .await;
    child.kill().expect("the process can be killed");
    child.wait().expect("the process can be waited for");
    assert!(!seen.is_alive());
}

// === impl Family ===

impl Family {
    fn new() -> Self {
        Self {
            fixture: Fixture::new(PROGRAMS).tools(&[LOOK]).grandchild(),
            folder: TempDir::new().expect("a temporary folder can be made"),
        }
    }

    fn config(&self) -> Value {
        let entry = self.fixture.entry();
        let (program, script) = (&entry["command"], &entry["args"][0]);
        let arguments = json!(["-c", WRAPPER, self.folder.path(), program, script]);
        json!({ "mcpServers": { "srv": { "command": "sh", "args": arguments } } })
    }

    /// Waits until all of the family runs; gives every process below the given one.
    async fn complete(&self, client: &impl Client, ancestor: u32) -> Vec<Seen> {
        look(client, "srv").await;
        self.running_below(ancestor).await
    }

    async fn running_below(&self, ancestor: u32) -> Vec<Seen> {
        let said = eventually("the whole family runs", async || {
            let said = self.said();
            (said.len() == 5).then_some(said)
        })
        .await;
        let seen = below(ancestor);
        for one in &said {
            assert!(seen.contains(one), "{one:?} is below {ancestor}: {seen:?}");
        }
        // There is a guard between the gateway and the shell.
        assert!(seen.len() > said.len(), "{seen:?}");
        assert!(!self.mentioning().is_empty());
        seen
    }

    /// The processes of which the family itself says that they run, or ran.
    fn said(&self) -> Vec<Seen> {
        let in_file = |name: &str| {
            let text = std::fs::read_to_string(self.folder.path().join(name)).ok()?;
            text.trim().parse().ok()
        };
        let ids = ["shell", "stubborn", "escaped"].map(in_file).into_iter();
        let ids = ids.chain([self.fixture.pid(), self.fixture.grandchild_pid()]);
        ids.flatten().filter_map(Seen::now).collect()
    }

    /// Waits until none of the processes is left, nor any that was started with our paths:
    /// shells, and what started meanwhile.
    async fn is_gone(&self, seen: &[Seen]) {
        eventually("no process of the family is left", async || {
            let is_left = seen.iter().any(Seen::is_alive) || !self.mentioning().is_empty();
            (!is_left).then_some(())
        })
        .await;
    }

    /// The processes whose command line mentions a folder of the family.
    fn mentioning(&self) -> Vec<u32> {
        let script = &self.fixture.entry()["args"][0];
        let script = PathBuf::from(script.as_str().expect("the script has a path"));
        [mentioning(&script), mentioning(self.folder.path())].concat()
    }
}

async fn look(client: &impl Client, server: &str) {
    let name = format!("{server}:look");
    let arguments = json!({ "name": name, "intent": { "operation_type": "read" } });
    let result = client.call("call_tool_read", &arguments).await;
    assert_eq!(result["content"][0]["text"], "look {}", "{result}");
}

/// Whether the process is the one of a fixture, or its guard.
fn serves(one: &Seen, fixture: &Fixture) -> bool {
    let script = &fixture.entry()["args"][0];
    let script = PathBuf::from(script.as_str().expect("the script has a path"));
    let servers = mentioning(&script);
    let is_guard = |server: &u32| facts(*server).is_some_and(|facts| facts.parent == one.id);
    servers.contains(&one.id) || servers.iter().any(is_guard)
}

fn signal(which: &str, process: u32) {
    let status = Command::new("kill")
        .args([which, &process.to_string()])
        .status()
        .expect("kill can be started");
    assert!(status.success(), "process {process} can be sent {which}");
}

// === what the system knows ===

impl Seen {
    /// The process with this id, if it runs.
    fn now(id: u32) -> Option<Self> {
        let facts = facts(id).filter(|facts| !facts.is_zombie)?;
        let start = facts.start;
        Some(Self { id, start })
    }

    /// A zombie does nothing any more; it waits for its parent to take note.
    fn is_alive(&self) -> bool {
        facts(self.id).is_some_and(|facts| facts.start == self.start && !facts.is_zombie)
    }
}

/// Every process below this one.
fn below(ancestor: u32) -> Vec<Seen> {
    let mut children: BTreeMap<u32, Vec<Seen>> = BTreeMap::new();
    for id in ids() {
        if let Some(facts) = facts(id).filter(|facts| !facts.is_zombie) {
            let start = facts.start;
            let below = children.entry(facts.parent).or_default();
            below.push(Seen { id, start });
        }
    }
    let mut found: Vec<Seen> = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        let below = children.remove(&parent).unwrap_or_default();
        parents.extend(below.iter().map(|one| one.id));
        found.extend(below);
    }
    found
}

/// The processes that have the path, or something below it, on their command line.
fn mentioning(path: &Path) -> Vec<u32> {
    let path = path.to_str().expect("the path is UTF-8");
    ids()
        .filter(|id| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(path)
        })
        .collect()
}

fn ids() -> impl Iterator<Item = u32> {
    std::fs::read_dir("/proc")
        .expect("processes can be listed")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn facts(id: u32) -> Option<Facts> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name in parentheses may contain anything, so what counts comes after the last one.
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    Some(Facts {
        is_zombie: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
    })
}
