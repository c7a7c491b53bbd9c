//! The gateway is killed at random moments, and its log still knows every call that was made.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpproxy_tests::{APPEND, Fixture, Home, Product, SmallDisk, trials, within};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::PROGRAMS;

trials![
    no_call_is_missing_after_200_kills_at_random_moments,
    no_call_is_missing_after_200_kills_with_the_disk_full,
];

const ROUNDS: u32 = 200;

const CLIENTS: usize = 16;

/// After so many rounds a fresh log, so that checking it stays quick.
const ROUNDS_PER_LOG: u32 = 20;

/// What the clients know of the calls they made.
#[derive(Default)]
struct Acknowledged {
    /// Calls that were answered with a result.
    answered: BTreeSet<String>,
    /// Calls that were refused.
    refused: BTreeSet<String>,
    /// How many calls were in doubt when it was last looked.
    in_doubt: usize,
}

async fn no_call_is_missing_after_200_kills_at_random_moments() {
    for _ in 0..ROUNDS / ROUNDS_PER_LOG {
        let fixture = Fixture::new(PROGRAMS).tools(&[APPEND]);
        let mut home = Home::new(PROGRAMS, &config(&fixture));
        let told = Arc::new(Mutex::new(Acknowledged::default()));
        for _ in 0..ROUNDS_PER_LOG {
            let mut product = Product::start_in(home, &[]).await;
            check(&product, &fixture, &told).await;
            work_until_killed(&mut product, &told).await;
            home = product.into_home();
        }
        let product = Product::start_in(home, &[]).await;
        check(&product, &fixture, &told).await;
        let told = told.lock().unwrap();
        assert!(!told.answered.is_empty(), "nothing was ever done");
        assert!(told.in_doubt > 0, "no kill came in the middle of a call");
        assert!(told.refused.is_empty(), "{:?}", told.refused);
    }
}

async fn no_call_is_missing_after_200_kills_with_the_disk_full() {
    for _ in 0..ROUNDS / ROUNDS_PER_LOG {
        let disk = SmallDisk::mount(6 * 1024 * 1024);
        let fixture = Fixture::new(PROGRAMS).tools(&[APPEND]);
        let mut home = Home::new_on(disk.path(), PROGRAMS, &config(&fixture));
        let told = Arc::new(Mutex::new(Acknowledged::default()));
        for round in 0..ROUNDS_PER_LOG {
            let mut product = Product::start_in(home, &[]).await;
            check(&product, &fixture, &told).await;
            let filling = async {
                pause(40).await;
                disk.fill();
                if round % 2 == 0 {
                    pause(40).await;
                    disk.free();
                }
            };
            tokio::join!(filling, work_until_killed(&mut product, &told));
            if round % 2 == 1 {
                // Also started on the full disk, where it can neither forget nor invent anything.
                home = check_on_full_disk(product.into_home(), &fixture, &told).await;
                disk.free();
            } else {
                home = product.into_home();
            }
        }
        let product = Product::start_in(home, &[]).await;
        check(&product, &fixture, &told).await;
        let told = told.lock().unwrap();
        assert!(!told.answered.is_empty(), "nothing was ever done");
        assert!(!told.refused.is_empty(), "the disk was never full");
    }
}

/// A gateway that starts on the full disk knows all that was on record, and refuses to write.
async fn check_on_full_disk(
    home: Home,
    fixture: &Fixture,
    told: &Arc<Mutex<Acknowledged>>,
) -> Home {
    let mut product = Product::start_in(home, &[]).await;
    check(&product, fixture, told).await;
    product.kill().await;
    product.into_home()
}

fn config(fixture: &Fixture) -> Value {
    json!({ "mcpServers": { "ledger": fixture.entry() } })
}

/// Lets all clients write, and kills the gateway at a moment that nobody chose.
async fn work_until_killed(product: &mut Product, told: &Arc<Mutex<Acknowledged>>) {
    let address = product.address();
    let key = std::fs::read_to_string(product.home.data_dir().join("api_key")).unwrap();
    let key: Arc<str> = key.trim().into();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| write_until_cut_off(address, Arc::clone(&key), Arc::clone(told)))
        .map(tokio::spawn)
        .collect();
    pause(150).await;
    product.kill().await;
    for client in clients {
        within("a client is cut off", client).await.unwrap();
    }
}

/// Waits for a random time below so many milliseconds.
async fn pause(below: u64) {
    let (random, _) = Uuid::new_v4().as_u64_pair();
    tokio::time::sleep(Duration::from_micros(random % (below * 1_000))).await;
}

async fn write_until_cut_off(address: SocketAddr, key: Arc<str>, told: Arc<Mutex<Acknowledged>>) {
    let Ok(stream) = TcpStream::connect(address).await else {
        return;
    };
    let mut stream = BufReader::new(stream);
    loop {
        let entry = Uuid::new_v4().to_string();
        match write(&mut stream, &key, &entry).await {
            Some(200) => told.lock().unwrap().answered.insert(entry),
            Some(503) => told.lock().unwrap().refused.insert(entry),
            Some(status) => panic!("status {status}"),
            None => return,
        };
    }
}

/// Makes one call; nothing if the connection broke.
async fn write(stream: &mut BufReader<TcpStream>, key: &str, entry: &str) -> Option<u16> {
    let body = json!({
        "variant": "call_tool_write", "name": "ledger:append", "args": { "entry": entry },
        "intent": { "operation_type": "write" },
    })
    .to_string();
    let request = format!(
        "POST /api/v1/tools/call HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let (mut status, mut length) = (None, 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(rest) = line.strip_prefix("http/1.1 ") {
            status = rest.get(..3)?.parse().ok();
        } else if let Some(rest) = line.strip_prefix("content-length: ") {
            length = rest.parse().ok()?;
        } else if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    status
}

/// The log against the server's own ledger and what the clients were told.
async fn check(product: &Product, fixture: &Fixture, told: &Mutex<Acknowledged>) {
    let verdict = product.get("/activity/verify").await;
    assert_eq!(verdict["ok"], json!(true), "{verdict}");
    let recorded = recorded(product).await;
    let shown = product.status().await;
    let mut told = told.lock().unwrap();
    for entry in &fixture.entries() {
        let status = recorded.get(entry).map(String::as_str);
        assert!(
            matches!(status, Some("success" | "error" | "in_doubt")),
            "{entry} was made, and the log says {status:?}"
        );
    }
    for entry in &told.answered {
        let status = recorded.get(entry).map(String::as_str);
        assert_eq!(status, Some("success"), "{entry} was acknowledged");
    }
    let in_doubt = recorded.values().filter(|status| *status == "in_doubt");
    told.in_doubt = in_doubt.count();
    assert_eq!(shown["activity"]["in_doubt"], json!(told.in_doubt));
}

/// What the log says of each entry.
async fn recorded(product: &Product) -> BTreeMap<String, String> {
    let mut recorded = BTreeMap::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/activity?tool=append&limit=1000{cursor}");
        let page = product.get(&path).await;
        for record in page["activities"].as_array().unwrap() {
            let entry = record["arguments"]["entry"].as_str();
            let status = record["status"].as_str();
            if let (Some(entry), Some(status)) = (entry, status) {
                recorded.insert(entry.to_owned(), status.to_owned());
            }
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return recorded,
        }
    }
}
