//! A disk that is slow or full: nothing is lost, nobody is misled, and it passes.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::time::Duration;

use http::{Method, StatusCode};
use mcpproxy_tests::{
    APPEND, Client, Fixture, Home, HttpClient, Product, Programs, SlowDisk, SmallDisk, eventually,
    programs,
};
use serde_json::{Value, json};

const PROGRAMS: Programs = programs!();

const LOOK: &str = r#"{"name":"look","description":"Look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;

const CLIENTS: usize = 64;

const CALLS_PER_CLIENT: usize = 12;

/// What the process may take at its highest, in KiB. Waiting records have 32 MiB, calls under way hold a request and an
/// answer of 250 KB for each of 64 clients, a few times over on their way through, and the program itself, unoptimised,
/// takes some 40 MiB. Without a bound the 768 calls below could leave 180 MiB of records waiting beside that.
const MOST_MEMORY: u64 = 160 * 1024;

fn fixture() -> Fixture {
    let text = "x".repeat(250_000);
    let large = json!({ "content": [{ "type": "text", "text": text }] }).to_string();
    Fixture::new(PROGRAMS)
        .tools(&[APPEND, LOOK])
        .result("look", &large)
        .result("append", &large)
}

fn config(fixture: &Fixture) -> Value {
    json!({
        "mcpServers": { "srv": fixture.entry_with(&json!({ "timeout": "2m" })) },
        "activity": { "max_payload_bytes": 262_144 },
    })
}

fn append(entry: &str) -> Value {
    json!({ "name": "srv:append", "args": { "entry": entry }, "intent": { "operation_type": "write" } })
}

fn look() -> Value {
    json!({ "name": "srv:look", "intent": { "operation_type": "read" } })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_64_clients_and_a_slow_disk_no_record_is_lost_and_memory_stays_bounded() {
    let fixture = fixture();
    let home = Home::new(PROGRAMS, &config(&fixture));
    let slow = SlowDisk::build(home.folder());
    let product = Product::start_with(home, &[], |command| {
        slow.apply(command, Duration::from_millis(30));
    })
    .await;
    product.settle().await;
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| tokio::spawn(work(product.endpoint(), number)))
        .collect();
    let mut made = BTreeMap::new();
    for client in clients {
        made.extend(client.await.unwrap());
    }
    let memory = peak_memory(product.pid());
    assert!(memory < MOST_MEMORY, "{memory} KiB");
    let writes = CLIENTS * CALLS_PER_CLIENT / 2;
    let syncs = slow.count();
    assert!(syncs < writes as u64, "{syncs} waits for the disk");
    assert_eq!(made.len(), CLIENTS * CALLS_PER_CLIENT);
    for (id, variant) in made {
        let record = product.record(&id).await;
        assert_eq!(record["status"], "success");
        assert_eq!(record["tool_variant"], variant);
        assert!(record["response_size"].as_u64().unwrap() > 250_000);
    }
    assert_eq!(product.get("/activity/verify").await["ok"], json!(true));
}

/// Writes and reads in turns; the ids of the records, with the variant.
async fn work(endpoint: String, number: usize) -> Vec<(String, &'static str)> {
    let client = HttpClient::connect(&endpoint).await;
    let mut made = Vec::new();
    for turn in 0..CALLS_PER_CLIENT {
        let (variant, arguments) = if turn % 2 == 0 {
            ("call_tool_write", append(&format!("{number}-{turn}")))
        } else {
            ("call_tool_read", look())
        };
        let result = client.call(variant, &arguments).await;
        let id = result["_meta"]["dev.mcpproxy/activity_id"].as_str();
        let id = id.unwrap_or_else(|| panic!("{result}"));
        assert_ne!(result["isError"], json!(true));
        made.push((id.to_owned(), variant));
    }
    made
}

/// The most memory that a process ever had, in KiB.
fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

#[tokio::test]
async fn a_full_disk_refuses_writes_on_every_face_lets_reads_go_on_and_passes() {
    let Some(disk) = SmallDisk::mount(8 * 1024 * 1024) else {
        return;
    };
    let fixture = fixture();
    let home = Home::new_on(disk.path(), PROGRAMS, &config(&fixture));
    let product = Product::start_in(home, &[]).await;
    product.settle().await;
    let client = product.connect().await;
    client.call("call_tool_write", &append("before")).await;
    disk.fill();

    // What there is room for in the file still goes; then it is over.
    let refused = eventually("the disk is full", async || {
        let result = client.call("call_tool_write", &append("more")).await;
        (result["isError"] == json!(true)).then_some(result)
    })
    .await;
    let error = &refused["structuredContent"]["error"];
    assert_eq!(error["code"], "STORE_UNAVAILABLE", "{error}");
    assert_eq!(error["category"], "system");
    let made = fixture.entries().len();
    let body = json!({
        "variant": "call_tool_destructive", "name": "srv:append", "args": { "entry": "over REST" },
        "intent": { "operation_type": "destructive" },
    });
    let answer = product
        .ask(Method::POST, "/tools/call", body.to_string())
        .await;
    assert_eq!(
        answer.status,
        StatusCode::SERVICE_UNAVAILABLE,
        "{}",
        answer.body
    );
    let args = r#"{"entry":"by command"}"#;
    let ran = product
        .run(&[
            "call",
            "tool-write",
            "srv:append",
            "--args",
            args,
            "-o",
            "json",
        ])
        .await;
    assert_eq!(
        (ran.code, ran.error()["code"].as_str()),
        (1, Some("STORE_UNAVAILABLE"))
    );
    assert_eq!(fixture.entries().len(), made, "none of them was made");
    let mut reads = Vec::new();
    for _ in 0..5 {
        let result = client.call("call_tool_read", &look()).await;
        assert_ne!(result["isError"], json!(true), "reads go on");
        let id = result["_meta"]["dev.mcpproxy/activity_id"].as_str();
        reads.push(id.unwrap().to_owned());
    }
    let problem = product.status().await["activity"]["problem"].clone();
    assert!(problem.as_str().unwrap().contains("full"), "{problem}");
    let shown = product.run(&["status"]).await.stdout;
    assert!(shown.contains("full"), "{shown}");

    disk.free();
    eventually("the log is written again", async || {
        let result = client.call("call_tool_write", &append("after")).await;
        (result["isError"] != json!(true)).then_some(())
    })
    .await;
    for id in reads {
        assert_eq!(product.record(&id).await["status"], "success");
    }
    let refused = product.get("/activity?status=blocked&limit=1000").await;
    let refused = refused["activities"].as_array().unwrap();
    let has = |entry: &str| {
        refused
            .iter()
            .any(|record| record["arguments"]["entry"] == entry)
    };
    assert!(
        has("over REST") && has("by command"),
        "refusals are on record"
    );
    assert_eq!(product.status().await["activity"]["problem"], Value::Null);
    assert_eq!(product.get("/activity/verify").await["ok"], json!(true));
}

#[tokio::test]
async fn a_database_that_cannot_be_used_stops_the_start_and_is_left_alone() {
    let fixture = fixture();
    for content in [
        &b"this is no database, and somebody may still want it"[..],
        &[0; 5_000],
    ] {
        let home = Home::new(PROGRAMS, &config(&fixture));
        let file = home.data_dir().join("state.db");
        std::fs::write(&file, content).unwrap();
        let ran = home
            .run(&["serve", "--listen", "127.0.0.1:0", "-o", "json"])
            .await;
        assert_eq!(ran.code, 1, "{ran:?}");
        let message = ran.stderr.to_lowercase();
        assert!(message.contains("activity log"), "{message}");
        assert_eq!(
            std::fs::read(&file).unwrap(),
            content,
            "nothing was overwritten"
        );
        let ran = home.run(&["activity", "list", "-o", "json"]).await;
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    }
}
