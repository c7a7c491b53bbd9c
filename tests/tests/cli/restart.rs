//! One gateway for each data directory: what a second one does, and starts after stops and crashes.

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mcpproxy_tests::{Client, Fixture, Home, Product, Ran, StdioClient, eventually, within};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, BufReader};
use tokio::process::Child;

use crate::PROGRAMS;

const TOOLS: [&str; 2] = [
    r#"{"name":"look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#,
    r#"{"name":"change","inputSchema":{},"annotations":{"readOnlyHint":false,"destructiveHint":false}}"#,
];

const SERVERS: [&str; 3] = ["a", "b", "c"];

/// What came of the calls of a client, of which there is one for each number.
#[derive(Default)]
struct Outcomes {
    done: Vec<u64>,
    in_doubt: Vec<u64>,
    not_sent: Vec<u64>,
}

#[tokio::test]
async fn a_stopping_gateway_removed_the_socket_of_the_next_one() {
    let fixtures = SERVERS.map(|_| Fixture::new(PROGRAMS).tools(&TOOLS));
    let mut product = Product::start(PROGRAMS, &config(&fixtures)).await;
    let client = product.stdio().await;
    let (is_over, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    let restarting = async {
        for round in 0..10 {
            let before = answered.load(Ordering::Relaxed);
            eventually("the client works", async || {
                (answered.load(Ordering::Relaxed) > before + 2).then_some(())
            })
            .await;
            assert_eq!(product.stop().await, 0);
            assert!(!socket(&product.home).exists(), "round {round}");
            product = Product::start_in(product.into_home(), &[]).await;
            let status = product.status().await;
            assert_eq!(status["pid"], product.pid(), "round {round}: {status}");
            states_are_right(&product, &status).await;
        }
        is_over.store(true, Ordering::Relaxed);
        product
    };
    let calling = call_until(&client, &is_over, &answered);
    let (product, outcomes) = tokio::join!(restarting, calling);
    assert_eq!(client.finish().await, 0);
    drop(product);

    let ledger: Vec<String> = fixtures.iter().flat_map(Fixture::ledger).collect();
    let times = |number: &u64| {
        let line = format!("change {{\"n\":{number}}}");
        ledger.iter().filter(|one| **one == line).count()
    };
    assert!(outcomes.done.len() >= 10, "the client worked on");
    assert!(outcomes.done.iter().all(|number| times(number) == 1));
    assert!(outcomes.in_doubt.iter().all(|number| times(number) <= 1));
    assert!(
        outcomes.not_sent.is_empty(),
        "the gateway was back each time"
    );
}

/// Checks what is told of each server of a gateway that was started just now: at once, and when all have started.
async fn states_are_right(product: &Product, first: &Value) {
    let of = |status: &Value, name: &str| {
        let servers = status["servers"].as_array().into_iter().flatten();
        let named: Vec<Value> = servers.filter(|one| one["name"] == name).cloned().collect();
        assert_eq!(named.len(), 1, "{name}: {status}");
        let server = named[0].clone();
        match server["state"].as_str() {
            Some("ready") => assert_eq!(server["tools"], 2, "{server}"),
            Some("starting") => assert_eq!(server["attempt"], 1, "{server}"),
            _ => panic!("{name} has not failed: {server}"),
        }
        assert_eq!(server["last_error"], Value::Null, "{server}");
        server["state"] == "ready"
    };
    for name in SERVERS {
        of(first, name);
    }
    eventually("every server is ready", async || {
        let status = product.status().await;
        let ready = SERVERS.iter().filter(|name| of(&status, name)).count();
        (ready == SERVERS.len()).then_some(())
    })
    .await;
}

/// Writes through each of the servers in turn, one call after the other.
async fn call_until(client: &StdioClient, is_over: &AtomicBool, answered: &AtomicU64) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for (number, server) in (0..).zip(SERVERS.iter().cycle()) {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let arguments = json!({ "name": format!("{server}:change"), "args": { "n": number },
            "intent": { "operation_type": "write" } });
        let params = json!({ "name": "call_tool_write", "arguments": arguments });
        let answer = client.request("tools/call", &params).await;
        let text = answer["result"]["content"][0]["text"].as_str();
        let error = answer["error"]["message"].as_str().unwrap_or_default();
        if text == Some(&*format!("change {{\"n\":{number}}}")) {
            outcomes.done.push(number);
        } else if error.contains("may have taken effect")
            || text.is_some_and(|text| text.contains("may have"))
        {
            outcomes.in_doubt.push(number);
        } else {
            assert!(
                answer.to_string().contains("was not sent"),
                "the client was told nothing: {answer}"
            );
            outcomes.not_sent.push(number);
        }
        answered.fetch_add(1, Ordering::Relaxed);
    }
    outcomes
}

#[tokio::test]
async fn of_two_that_start_at_the_same_moment_one_runs() {
    for _ in 0..5 {
        let home = Home::new(PROGRAMS, &json!({}));
        let mut both = [Serving::start(&home), Serving::start(&home)];
        let ended = eventually("one of them has ended", async || {
            both.iter_mut().position(|one| !one.is_running())
        })
        .await;
        let runs = &mut both[1 - ended];
        let announced = runs.announcement().await;
        assert!(announced["endpoint"].is_string(), "{announced}");
        let pid = runs.pid();
        let status = home.run(&["status", "-o", "json"]).await.json();
        assert_eq!(status["pid"], pid, "{status}");
        let (code, stderr) = both[ended].end().await;
        assert_eq!(code, 1, "{stderr}");
        let expected = format!("a gateway (process {pid}) already runs on the data directory");
        assert!(stderr.contains(&expected), "{stderr}");
    }
}

#[tokio::test]
async fn one_that_starts_while_another_stops_waits_for_it() {
    let home = Home::new(PROGRAMS, &json!({}));
    let mut first = slow_to_stop(&home, &[]).await;
    let mut second = Serving::start(&home);
    second.announcement().await;
    let id = first.pid();
    assert_eq!(first.end().await.0, 0);
    let status = home.run(&["status", "-o", "json"]).await.json();
    assert_eq!(status["pid"], second.pid(), "{status}");
    assert!(socket(&home).exists());
    let (_, stderr) = second.kill().await;
    let waited = format!("waiting for the gateway (process {id}) that is stopping");
    assert!(stderr.contains(&waited), "{stderr}");
}

#[tokio::test]
async fn a_client_that_came_while_the_gateway_was_restarted_had_one_of_its_own() {
    let home = Home::new(PROGRAMS, &json!({}));
    let fixture = Fixture::new(PROGRAMS).tools(&TOOLS).gate("change");
    let _first = slow_to_stop(&home, &[fixture.entry()]).await;
    let (client, second) = tokio::join!(home.stdio(), async {
        let mut second = Serving::start(&home);
        second.announcement().await;
        second
    });
    let arguments = json!({ "name": "a:change", "intent": { "operation_type": "write" } });
    let params = json!({ "name": "call_tool_write", "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    client.send_line(&call.to_string()).await;
    eventually("the call is under way", async || {
        (fixture.ledger().len() == 1).then_some(())
    })
    .await;
    // A gateway of its own would not notice.
    let mut second = second;
    second.kill().await;
    let answer = client.read_line().await;
    assert!(answer.contains("may have taken effect"), "{answer}");
}

/// A gateway that was asked to end and takes its time, for the sake of a server; with others beside it.
async fn slow_to_stop(home: &Home, others: &[Value]) -> Serving {
    let started = home.data_dir().join("started");
    let script = "trap '' TERM HUP; echo > \"$0\"; while :; do sleep 1; done";
    let server = json!({ "command": "sh", "args": ["-c", script, started] });
    let mut servers = json!({ "slow": server });
    for (name, entry) in SERVERS.iter().zip(others) {
        servers[name] = entry.clone();
    }
    home.write_config(&json!({ "mcpServers": servers }));
    let mut gateway = Serving::start(home);
    gateway.announcement().await;
    eventually("the server runs", async || started.exists().then_some(())).await;
    let asked = Command::new("kill").arg(gateway.pid().to_string()).status();
    assert!(asked.is_ok_and(|status| status.success()));
    eventually("the gateway is stopping", async || {
        (!socket(home).exists()).then_some(())
    })
    .await;
    assert!(gateway.is_running());
    gateway
}

#[tokio::test]
async fn a_gateway_that_was_killed_keeps_nobody_from_starting() {
    let fixtures = SERVERS.map(|_| Fixture::new(PROGRAMS).tools(&TOOLS));
    let mut product = Product::start(PROGRAMS, &config(&fixtures)).await;
    for _ in 0..3 {
        let lock = product.home.data_dir().join("serve.lock");
        let mode = lock.metadata().expect("there is a lock").permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        let holder = std::fs::read_to_string(&lock).expect("the lock can be read");
        assert_eq!(holder.trim(), product.pid().to_string());
        product.kill().await;
        assert!(socket(&product.home).exists());
        assert!(lock.exists());
        product = Product::start_in(product.into_home(), &[]).await;
        assert_eq!(product.status().await["pid"], product.pid());
    }
}

#[tokio::test]
async fn a_start_that_failed_left_a_socket_or_removed_one() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("it has an address").to_string();
    let mut product = Product::start(PROGRAMS, &json!({})).await;
    product.kill().await;
    let home = product.into_home();
    let identity = |home: &Home| socket(home).symlink_metadata().ok().map(|file| file.ino());
    let left = identity(&home);
    assert!(left.is_some(), "the killed one has left its socket");
    let serve = ["serve", "--listen", &*address];
    let refused = async |home: &Home| {
        let ran = home.run(&serve).await;
        assert_eq!((ran.code, &*ran.stdout), (1, ""), "{ran:?}");
        assert!(ran.stderr.contains("cannot listen on"), "{ran:?}");
    };
    refused(&home).await;
    assert_eq!(identity(&home), left);
    let fresh = Home::new(PROGRAMS, &json!({}));
    refused(&fresh).await;
    assert_eq!(identity(&fresh), None);

    // What fails after the socket was made takes it away again.
    let broken = Home::new(PROGRAMS, &json!({}));
    std::fs::write(
        broken.data_dir().join("state.db"),
        "no database at all, but some text",
    )
    .expect("the file can be written");
    let ran = broken.run(&["serve", "--listen", "127.0.0.1:0"]).await;
    assert_eq!((ran.code, &*ran.stdout), (1, ""), "{ran:?}");
    assert_eq!(identity(&broken), None);
}

#[tokio::test]
async fn a_gateway_without_its_lock_leaves_the_socket_of_another_alone() {
    let mut first = Product::start(PROGRAMS, &json!({})).await;
    let data_dir = first.home.data_dir();
    // Somebody thinks that these are stale.
    for name in ["serve.lock", "mcpproxy.sock"] {
        std::fs::rename(data_dir.join(name), first.home.folder().join(name))
            .expect("the file can be moved");
    }
    let mut second = Serving::start(&first.home);
    second.announcement().await;
    assert_eq!(first.stop().await, 0);
    assert_eq!(first.status().await["pid"], second.pid());
    second.kill().await;
}

#[tokio::test]
async fn a_mistyped_place_is_an_error_of_every_command() {
    let home = Home::new(PROGRAMS, &json!({}));
    let nowhere = home.folder().join("nowhere");
    let file = home.folder().join("nowhere.json");
    for arguments in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["stdio"],
        &["status"],
        &["tools", "list"],
        &["activity", "verify"],
        &["config", "check"],
        &["token", "list"],
    ] {
        let run = async |change: &dyn Fn(&mut Command)| {
            let mut command = home.bare_command();
            change(&mut command);
            command.args(arguments);
            let ran = Ran::of(command).await;
            assert_eq!((ran.code, &*ran.stdout), (4, ""), "{arguments:?}: {ran:?}");
            ran.stderr
        };
        let said = run(&|command| {
            command.arg("--data-dir").arg(&nowhere);
        })
        .await;
        let remedy = format!("`mkdir -m 700 {}` creates it", nowhere.display());
        assert!(
            said.contains("--data-dir") && said.contains(&remedy),
            "{said}"
        );
        let said = run(&|command| {
            command.env("MCPPROXY_DATA_DIR", &nowhere);
        })
        .await;
        assert!(
            said.contains("MCPPROXY_DATA_DIR") && said.contains(&remedy),
            "{said}"
        );
        let said = run(&|command| {
            command.arg("--config").arg(&file);
        })
        .await;
        assert!(
            said.contains("nowhere.json' does not exist: create it"),
            "{said}"
        );
        assert!(!nowhere.exists() && !home.folder().join(".mcpproxy").exists());
    }
}

/// A gateway as a process, of which a test may start a second one.
struct Serving {
    process: Child,
    pid: u32,
}

impl Serving {
    fn start(home: &Home) -> Self {
        let mut command = home.command();
        command
            .args(["serve", "-o", "json", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let process = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .spawn()
            .expect("the product can be started");
        let pid = process.id().expect("it was not waited for");
        Self { process, pid }
    }

    fn pid(&self) -> u32 {
        self.pid
    }

    fn is_running(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// What it says when it listens. The rest of its output is left in the pipe, which takes it.
    async fn announcement(&mut self) -> Value {
        let stdout = self.process.stdout.as_mut().expect("stdout is piped");
        let mut line = Vec::new();
        let mut reader = BufReader::with_capacity(1, stdout);
        let read = async {
            while !line.ends_with(b"\n") {
                line.push(reader.read_u8().await?);
            }
            std::io::Result::Ok(())
        };
        within("the gateway announces its address", read)
            .await
            .expect("the gateway announces its address");
        serde_json::from_slice(&line).expect("the announcement is JSON")
    }

    async fn kill(&mut self) -> (i32, String) {
        self.process.start_kill().expect("it can be killed");
        self.end().await
    }

    /// Waits for its end; gives its exit code and what it wrote to stderr.
    async fn end(&mut self) -> (i32, String) {
        let mut stderr = String::new();
        let mut pipe = self.process.stderr.take().expect("stderr is piped");
        let ended = async {
            let _ = pipe.read_to_string(&mut stderr).await;
            self.process.wait().await
        };
        let status = within("the gateway ends", ended).await;
        let status = status.expect("the gateway can be waited for");
        (status.code().unwrap_or(-1), stderr)
    }
}

fn socket(home: &Home) -> PathBuf {
    home.data_dir().join("mcpproxy.sock")
}

fn config(fixtures: &[Fixture]) -> Value {
    let servers = SERVERS.iter().zip(fixtures);
    let servers: serde_json::Map<String, Value> = servers
        .map(|(name, fixture)| ((*name).to_owned(), fixture.entry()))
        .collect();
    json!({ "mcpServers": servers })
}
