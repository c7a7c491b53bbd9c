//! The log on a disk that is slow, full, protected, or has something else in its place.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::time::Duration;

use http::{Method, StatusCode};
use mcpproxy_tests::{
    APPEND, Client, Fixture, Home, HttpClient, Product, Ran, SlowDisk, SmallDisk, decode,
    eventually, trials,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::PROGRAMS;

trials![
    with_64_clients_and_a_slow_disk_no_record_is_lost_and_memory_stays_bounded,
    on_a_full_disk_writes_are_refused_reads_go_on_and_all_of_it_is_on_record_afterwards,
    on_a_protected_disk_nothing_starts_and_the_message_says_why,
    what_is_not_our_log_is_neither_used_nor_overwritten,
];

const FETCH: &str = r#"{"name":"fetch","description":"Fetches","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;

/// Half of them read, half of them write.
const CLIENTS: usize = 64;

/// How often a client reads: all answers together are far more than may wait.
const READS: usize = 30;

/// How often a client writes.
const WRITES: usize = 5;

/// How long the disk takes. In this time readers would fill the memory if nothing held them back.
const SLOWNESS: Duration = Duration::from_millis(400);

/// How large an answer to a read is.
const ANSWER: usize = 100_000;

const MIB: usize = 1024 * 1024;

/// What the process may take on top of what it has when it is idle. Of texts that wait the log admits 32 MiB, and the
/// writer has those of a commit twice, as they are kept and as rows: 64 MiB. SQLite keeps 16 MiB of pages. Each of the
/// 32 calls under way has its answer about four times, as it came in pieces, whole, as the result and on its way out:
/// 12 MiB. A good third more is for what an allocator does not give back. If everything could wait, the answers alone
/// would take twice their 92 MiB.
const MOST_MEMORY: usize = 128 * MIB;

/// What is looked at of a record.
#[derive(Deserialize)]
struct Brief {
    id: String,
    status: String,
}

#[derive(Deserialize)]
struct Page {
    activities: Vec<Brief>,
    next_cursor: Option<String>,
}

async fn with_64_clients_and_a_slow_disk_no_record_is_lost_and_memory_stays_bounded() {
    let text = "x".repeat(ANSWER);
    let answer = json!({ "content": [{ "type": "text", "text": text }] }).to_string();
    let fixture = Fixture::new(PROGRAMS)
        .tools(&[APPEND, FETCH])
        .result("fetch", &answer);
    let entry = fixture.entry_with(&json!({ "max_concurrent": CLIENTS }));
    let config = json!({ "mcpServers": { "ledger": entry }, "activity": { "max_payload_bytes": 2 * ANSWER } });
    let home = Home::new(PROGRAMS, &config);
    let disk = SlowDisk::build(home.folder());
    let product = Product::start_with(home, &[], |command| {
        disk.apply(command, SLOWNESS);
    })
    .await;
    product.settle().await;
    let first = product.connect().await;
    fetch(&first).await;
    append(&first, "first").await.unwrap();
    let (idle, syncs) = (peak_memory(product.pid()), disk.count());

    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| tokio::spawn(work(product.endpoint(), number)))
        .collect();
    let mut ids = Vec::new();
    for client in clients {
        ids.extend(client.await.unwrap());
    }
    let syncs = disk.count() - syncs;
    let peak = peak_memory(product.pid());
    let writes = CLIENTS / 2 * WRITES;
    assert_eq!(ids.len(), writes + CLIENTS / 2 * READS);
    // Each write is on disk before it is sent and again before it is answered; those that come together share a sync.
    assert!(
        syncs >= 2 * WRITES as u64,
        "{syncs} syncs are too few to be durable"
    );
    assert!(
        syncs * 4 < 2 * writes as u64,
        "{syncs} syncs for {writes} writes of two commits each"
    );
    assert!(peak < idle + MOST_MEMORY, "idle {idle}, peak {peak}");

    let last = fetch(&first).await;
    product.record(&last).await;
    let recorded = recorded(&product).await;
    for id in &ids {
        assert_eq!(
            recorded.get(id).map(String::as_str),
            Some("success"),
            "{id}"
        );
    }
    assert_eq!(fixture.entries().len(), writes + 1);
    assert_eq!(recorded.len(), ids.len() + 3);
    let verdict = product
        .run(&["activity", "verify", "-o", "json"])
        .await
        .json();
    assert_eq!(verdict["ok"], true, "{verdict}");
    let status = product.status().await;
    assert_eq!(status["activity"]["problem"], Value::Null, "{status}");
}

/// Reads or writes; the ids of the records.
async fn work(endpoint: String, number: usize) -> Vec<String> {
    let client = HttpClient::connect(&endpoint).await;
    let mut ids = Vec::new();
    if number < CLIENTS / 2 {
        for _ in 0..READS {
            ids.push(fetch(&client).await);
        }
    } else {
        for turn in 0..WRITES {
            ids.push(append(&client, &format!("{number}-{turn}")).await.unwrap());
        }
    }
    ids
}

async fn fetch(client: &HttpClient) -> String {
    let arguments = json!({ "name": "ledger:fetch", "intent": { "operation_type": "read" } });
    let result = client.call("call_tool_read", &arguments).await;
    assert!(result["isError"].is_null(), "{result}");
    id(&result)
}

/// Appends an entry; the id of its record, or the refusal.
async fn append(client: &HttpClient, entry: &str) -> Result<String, Value> {
    let result = client.call("call_tool_write", &call(entry)).await;
    if result["isError"] == json!(true) {
        return Err(result);
    }
    Ok(id(&result))
}

fn call(entry: &str) -> Value {
    json!({ "name": "ledger:append", "args": { "entry": entry }, "intent": { "operation_type": "write" } })
}

fn id(result: &Value) -> String {
    let id = result["_meta"]["dev.mcpproxy/activity_id"].as_str();
    id.unwrap_or_else(|| panic!("no record: {result}"))
        .to_owned()
}

/// What the log says of every call.
async fn recorded(product: &Product) -> BTreeMap<String, String> {
    let mut recorded = BTreeMap::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/activity?server=ledger&type=tool_call&limit=200{cursor}");
        let answer = product.ask(Method::GET, &path, String::new()).await;
        let page: Page = serde_json::from_str(&answer.body).unwrap();
        recorded.extend(page.activities.into_iter().map(|one| (one.id, one.status)));
        match page.next_cursor {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return recorded,
        }
    }
}

/// The most memory that a process ever had, in bytes.
fn peak_memory(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kibibytes: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
    kibibytes * 1024
}

async fn on_a_full_disk_writes_are_refused_reads_go_on_and_all_of_it_is_on_record_afterwards() {
    let disk = SmallDisk::mount(8 * 1024 * 1024);
    let fixture = Fixture::new(PROGRAMS).tools(&[APPEND, FETCH]);
    let config = json!({ "mcpServers": { "ledger": fixture.entry() } });
    let mut product = Product::start_in(Home::new_on(disk.path(), PROGRAMS, &config), &[]).await;
    product.settle().await;
    let client = product.connect().await;
    append(&client, "before").await.unwrap();
    disk.fill();

    let mut made = vec!["before".to_owned()];
    // Some room may be left in what the log already has on disk.
    let refused = loop {
        let entry = format!("filling-{}-{}", made.len(), "x".repeat(1000));
        match append(&client, &entry).await {
            Ok(_) => made.push(entry),
            Err(refused) => break refused,
        }
    };
    let error = &refused["structuredContent"]["error"];
    assert_eq!(error["code"], "STORE_UNAVAILABLE", "{refused}");
    assert_eq!(error["category"], "system", "{refused}");
    assert_eq!(refused["content"][0]["text"], error["message"]);
    let mut body = call("by REST");
    body["variant"] = json!("call_tool_write");
    let answer = product
        .ask(Method::POST, "/tools/call", body.to_string())
        .await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{answer:?}");
    assert_eq!(answer.json()["error"]["code"], "STORE_UNAVAILABLE");
    let request = answer.json()["error"]["request_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let arguments = json!({ "entry": "by command" }).to_string();
    let command = [
        "call",
        "tool-write",
        "ledger:append",
        "--args",
        &arguments,
        "-o",
        "json",
    ];
    let ran = product.run(&command).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert_eq!(ran.error()["code"], "STORE_UNAVAILABLE", "{ran:?}");

    let mut reads = Vec::new();
    for _ in 0..20 {
        reads.push(fetch(&client).await);
    }
    let status = product.get("/status").await;
    let problem = status["activity"]["problem"].as_str().unwrap_or_default();
    assert!(problem.contains("full"), "{status}");
    assert!(!problem.contains(disk.path().to_str().unwrap()), "{status}");
    let shown = product.run(&["status"]).await;
    assert!(
        shown.stdout.contains("The log cannot be written"),
        "{shown:?}"
    );
    assert!(product.is_running());

    disk.free();
    eventually("the log can be written again", async || {
        append(&client, "after").await.ok()
    })
    .await;
    made.push("after".to_owned());
    assert_eq!(fixture.entries(), made, "nothing refused was made");
    for id in &reads {
        assert_eq!(product.record(id).await["status"], "success");
    }
    let record = product.record(&id(&refused)).await;
    assert_eq!(record["type"], "policy_decision", "{record}");
    assert_eq!(record["error"]["code"], "STORE_UNAVAILABLE", "{record}");
    let by_request = product
        .get(&format!("/activity?request_id={request}"))
        .await;
    assert_eq!(
        by_request["activities"][0]["status"], "blocked",
        "{by_request}"
    );
    let status = product.get("/status").await;
    assert_eq!(status["activity"]["problem"], Value::Null, "{status}");
    assert_eq!(status["activity"]["in_doubt"], 0, "{status}");
    let verdict = product.run(&["activity", "verify"]).await;
    assert_eq!(verdict.code, 0, "{verdict:?}");
}

async fn on_a_protected_disk_nothing_starts_and_the_message_says_why() {
    let disk = SmallDisk::mount(8 * 1024 * 1024);
    let fixture = Fixture::new(PROGRAMS).tools(&[APPEND, FETCH]);
    let config = json!({ "mcpServers": { "ledger": fixture.entry() } });
    let mut product = Product::start_in(Home::new_on(disk.path(), PROGRAMS, &config), &[]).await;
    append(&product.connect().await, "before").await.unwrap();
    assert_eq!(product.stop().await, 0);
    let home = product.into_home();
    disk.protect();
    for command in [
        &["serve", "--listen", "127.0.0.1:0", "-o", "json"][..],
        &[
            "call",
            "tool-write",
            "ledger:append",
            "--args",
            r#"{"entry":"x"}"#,
            "-o",
            "json",
        ],
    ] {
        let ran = home.run(command).await;
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
        let error = last_error(&ran);
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("Read-only file system") || message.contains("may be written"),
            "{ran:?}"
        );
    }
    assert_eq!(fixture.entries(), ["before"]);
}

async fn what_is_not_our_log_is_neither_used_nor_overwritten() {
    let mut product = Product::start(PROGRAMS, &json!({})).await;
    assert_eq!(product.stop().await, 0);
    let home = product.into_home();
    let file = home.data_dir().join("state.db");
    let good = std::fs::read(&file).unwrap();
    // The version of its tables is in the head of the file.
    let mut newer = good.clone();
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    let mut damaged = good.clone();
    damaged[100..2_000].fill(0xa5);
    for (content, said) in [
        (
            b"This is somebody's diary. ".repeat(500),
            "is not a database",
        ),
        (newer, "newer version of mcpproxy"),
        (damaged, "damaged"),
    ] {
        std::fs::write(&file, &content).unwrap();
        for command in [
            &["serve", "--listen", "127.0.0.1:0", "-o", "json"][..],
            &["activity", "list", "-o", "json"],
            &["activity", "verify", "-o", "json"],
        ] {
            let ran = home.run(command).await;
            assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{said}: {ran:?}");
            let error = last_error(&ran);
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(said), "{command:?}: {ran:?}");
        }
        assert!(
            std::fs::read(&file).unwrap() == content,
            "{said}: the file was changed"
        );
    }
}

/// The error object after what was logged.
fn last_error(ran: &Ran) -> Value {
    let line = ran.stderr.trim_end().lines().last().unwrap_or_default();
    decode(line)["error"].clone()
}
