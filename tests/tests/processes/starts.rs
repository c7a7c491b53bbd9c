//! How servers are started, and what is told of them meanwhile.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use mcpproxy_tests::{Client, Fixture, Product, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::PROGRAMS;

const LOOK: &str =
    r#"{"name":"look","description":"Look","inputSchema":{},"annotations":{"readOnlyHint":true}}"#;

/// Folder with what the scripts of servers write down and wait for.
struct Scene {
    fixture: Fixture,
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        Self {
            fixture: Fixture::new(PROGRAMS).tools(&[LOOK]),
            folder: TempDir::new().expect("a temporary folder can be made"),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Entry of a server that runs a script first, which has the folder, a name, and the command to become.
    fn entry(&self, command: &str, script: &str, name: &str, more: &Value) -> Value {
        self.entry_of(&self.fixture, command, script, name, more)
    }

    /// The same, for another fixture.
    fn entry_of(
        &self,
        fixture: &Fixture,
        command: &str,
        script: &str,
        name: &str,
        more: &Value,
    ) -> Value {
        let mut entry = fixture.entry_with(more);
        let mut args = vec![json!("-c"), json!(script), json!(self.path()), json!(name)];
        args.push(entry["command"].clone());
        args.extend(entry["args"].as_array().into_iter().flatten().cloned());
        entry["command"] = json!(command);
        entry["args"] = json!(args);
        entry["name"] = json!(name);
        entry
    }

    /// A shell that is called like a command which installs first.
    fn installer(&self) -> String {
        let npx = self.path().join("npx");
        std::os::unix::fs::symlink("/bin/sh", &npx).expect("it can be made");
        npx.to_string_lossy().into_owned()
    }
}

async fn server(product: &Product, name: &str) -> Value {
    let status = product.get("/status").await;
    let servers = status["servers"].as_array().cloned().unwrap_or_default();
    let found = servers.into_iter().find(|server| server["name"] == name);
    found.expect("it is configured")
}

fn log_of(product: &Product, name: &str) -> (PathBuf, String) {
    let file = product.home.data_dir().join("logs").join(name);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    (file, text)
}

#[tokio::test]
async fn forty_five_slow_servers_were_started_together_and_cut_off_together() {
    const COUNT: usize = 45;
    const AT_ONCE: usize = 6;
    const SLOW: &str = r#"n="$1"; shift; echo "start $n" >> "$0/events"; sleep 0.2; echo "end $n" >> "$0/events"; exec "$@""#;
    let scene = Scene::new();
    let fixtures: Vec<Fixture> = (0..COUNT).map(|_| Fixture::new(PROGRAMS)).collect();
    let servers = fixtures.iter().enumerate();
    let servers = servers.map(|(number, fixture)| {
        scene.entry_of(fixture, "sh", SLOW, &format!("s{number:02}"), &json!({}))
    });
    let servers: Vec<Value> = servers.collect();
    let config = json!({ "mcpServers": servers, "starts_at_once": AT_ONCE });
    let product = Product::start(PROGRAMS, &config).await;
    eventually("all servers are ready", async || {
        let status = product.get("/status").await;
        let servers = status["servers"].as_array()?;
        let ready = servers.iter().filter(|one| one["state"] == "ready");
        (ready.count() == COUNT + 1).then_some(())
    })
    .await;
    let events = std::fs::read_to_string(scene.path().join("events")).expect("they wrote it");
    let (mut running, mut started, mut ended) = (0, 0, 0);
    for event in events.lines() {
        if let Some(("start", number)) = event.split_once(" s") {
            let number: usize = number.parse().expect("a number");
            // All before it have started, and at most so many of them are still on their way.
            assert!(number < started + AT_ONCE, "{event} was early: {events}");
            (running, started) = (running + 1, started + 1);
        } else {
            (running, ended) = (running - 1, ended + 1);
        }
        assert!(running <= AT_ONCE, "{events}");
    }
    assert_eq!((started, ended), (COUNT, COUNT), "each once: {events}");
}

#[tokio::test]
async fn busy_servers_starved_one_that_was_called_and_showed_their_secret() {
    const BUSY: &str = r#"while :; do echo "$KEY" >&2; sleep 0.05; done"#;
    let scene = Scene::new();
    let more = json!({ "env": { "KEY": "0123456789-abcdef".repeat(400) } });
    let busy = |name: &str| scene.entry("sh", BUSY, name, &more);
    let good = scene.entry("sh", r#"shift; exec "$@""#, "good", &json!({}));
    let config = json!({ "mcpServers": [busy("a"), busy("b"), good], "starts_at_once": 1 });
    let product = Product::start(PROGRAMS, &config).await;
    let client = product.connect().await;
    let answer = client.call_as("read", "good:look", &json!({})).await;
    assert_ne!(answer["isError"], true, "{answer}");
    let busy = server(&product, "a").await;
    assert_eq!(busy["state"], "starting", "{busy}");
    assert_eq!(busy["stderr"][0], "***", "{busy}");
    let text = eventually("its lines are in its log", async || {
        let (_, text) = log_of(&product, "a.log");
        text.contains("Z stderr ***\n").then_some(text)
    })
    .await;
    assert!(!text.contains("0123"), "{text}");
}

#[tokio::test]
async fn a_server_that_installs_longer_than_its_limit_comes_up_and_says_so_meanwhile() {
    const INSTALLS: &str = r#"shift; i=0; until test -e "$0/gate"; do i=$((i+1)); echo "fetching $i" >&2; sleep 0.1; done; exec "$@""#;
    let scene = Scene::new();
    let limits = json!({ "start_timeout": "1s", "timeout": "500ms" });
    let entry = scene.entry(&scene.installer(), INSTALLS, "box", &limits);
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": [entry] })).await;
    // Each line took a tenth of a second, so these took longer than it may be silent.
    let shown = eventually("it has been installing for long", async || {
        let shown = server(&product, "box").await;
        let last = shown["stderr"].as_array()?.last()?.as_str()?;
        let count: u32 = last.strip_prefix("fetching ")?.parse().ok()?;
        (count > 20).then_some(shown)
    })
    .await;
    assert_eq!(
        (
            &shown["state"],
            &shown["attempt"],
            &shown["waiting_for"],
            &shown["last_error"]
        ),
        (
            &json!("starting"),
            &json!(1),
            &json!("installing"),
            &Value::Null
        ),
        "{shown}"
    );
    let table = product.run(&["status", "-o", "table"]).await.stdout;
    assert!(table.contains("installing, says: fetching "), "{table}");
    for command in [&["tools", "list"][..], &["tools", "search", "look"]] {
        let arguments = [command, &["-o", "table"]].concat();
        let ran = product.run(&arguments).await;
        assert!(ran.stderr.starts_with("Still starting, so not "), "{ran:?}");
        assert!(ran.stderr.contains(" yet: box\n"), "{ran:?}");
    }
    let listed = product.run(&["tools", "list", "-o", "json"]).await.json();
    assert_eq!(listed["starting"], json!(["box"]), "{listed}");
    let client = product.connect().await;
    let refused = client.call_as("read", "box:look", &json!({})).await;
    let message = &refused["structuredContent"]["error"]["message"];
    let message = message.as_str().expect("a message");
    assert!(
        message.starts_with("Server 'box' is still starting, attempt 1, since 2")
            && message.contains(": it is installing. ")
            && message.ends_with("The call was not sent."),
        "{message}"
    );

    std::fs::write(scene.path().join("gate"), "").expect("the gate can be opened");
    let shown = eventually("it is ready", async || {
        let shown = server(&product, "box").await;
        (shown["state"] == "ready").then_some(shown)
    })
    .await;
    assert_eq!(shown["attempt"], Value::Null, "{shown}");
    let (file, _) = log_of(&product, "box.log");
    let text = eventually("its log says that it is ready", async || {
        let (_, text) = log_of(&product, "box.log");
        text.contains("Z mcpproxy ready\n").then_some(text)
    })
    .await;
    assert!(
        text.contains("Z mcpproxy attempt 1 starts as process "),
        "{text}"
    );
    assert!(text.contains("Z stderr fetching 1\n"), "{text}");
    assert!(!text.contains("attempt 2"), "{text}");
    let mode = |path: &Path| path.metadata().expect("it is there").permissions().mode() & 0o777;
    let folder = file.parent().expect("it is in a folder");
    assert_eq!((mode(&file), mode(folder)), (0o600, 0o700));
}

#[tokio::test]
async fn a_failing_server_looked_healthy_between_two_attempts_and_filled_the_record() {
    const FAILS: &str = r#"echo "no access with $KEY, process $$" >&2; exit 7"#;
    let scene = Scene::new();
    let more = json!({ "env": { "KEY": "hunter-2-hunter" } });
    let entry = scene.entry("sh", FAILS, "box", &more);
    let product = Product::start(PROGRAMS, &json!({ "mcpServers": [entry] })).await;
    let reason = json!("the server exited with code 7");
    eventually("it has failed three times", async || {
        let shown = server(&product, "box").await;
        let attempt = shown["attempt"].as_u64()?;
        match shown["state"].as_str() {
            Some("failed") => {
                assert_eq!((&shown["reason"], &shown["last_error"]), (&reason, &reason));
                assert_eq!(shown["waiting_for"], "the next attempt", "{shown}");
                assert_eq!(shown["stderr"].as_array().map(Vec::len), Some(1), "{shown}");
            }
            Some("starting") if attempt > 1 => assert_eq!(shown["last_error"], reason, "{shown}"),
            Some("starting") => assert_eq!(shown["last_error"], Value::Null, "{shown}"),
            _ => panic!("{shown}"),
        }
        (attempt >= 3).then_some(())
    })
    .await;
    for command in [&["tools", "list"][..], &["tools", "search", "look"]] {
        let arguments = [command, &["-o", "table"]].concat();
        let ran = product.run(&arguments).await;
        let said = "server 'box' failed: the server exited with code 7\n";
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
    let listed = product.get("/tools").await;
    assert_eq!(
        listed["failed"],
        json!([{ "server": "box", "reason": reason }]),
        "{listed}"
    );
    let records = product
        .get("/activity?type=server_change&status=error")
        .await;
    let records = records["activities"].as_array().expect("records").len();
    assert_eq!(
        records, 1,
        "one record for the change, none for the attempts"
    );
    let (_, text) = log_of(&product, "box.log");
    assert!(
        text.contains("Z stderr no access with ***, process "),
        "{text}"
    );
    assert!(!text.contains("hunter-2-hunter"), "{text}");
    assert!(
        text.contains("Z mcpproxy attempt 2 failed: the server exited with code 7\n"),
        "{text}"
    );
}

#[tokio::test]
async fn the_number_of_starts_at_once_follows_the_configuration() {
    // It is busy, or its slot would go to the next one in any case.
    const WAITS: &str = "while :; do echo busy >&2; sleep 0.1; done";
    let scene = Scene::new();
    let names = ["a", "b", "c"];
    let servers = names.map(|name| scene.entry("sh", WAITS, name, &json!({})));
    let config = |at_once: u32| json!({ "mcpServers": servers.clone(), "starts_at_once": at_once });
    let product = Product::start(PROGRAMS, &config(1)).await;
    let waits = async || {
        let mut waits = Vec::new();
        for name in names {
            waits.push(server(&product, name).await["waiting_for"].clone());
        }
        waits
    };
    let (slot, answer) = (json!("a start slot"), json!("its answer"));
    eventually("one starts and the others wait", async || {
        (waits().await == [answer.clone(), slot.clone(), slot.clone()]).then_some(())
    })
    .await;
    product.home.write_config(&config(3));
    eventually("all of them start", async || {
        (waits().await == [answer.clone(), answer.clone(), answer.clone()]).then_some(())
    })
    .await;
}
