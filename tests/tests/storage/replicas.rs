//! Two gateways on one PostgreSQL: each writes its own chain, both see everything.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use http::Method;
use http_body_util::BodyExt;
use mcpproxy_tests::{
    APPEND, Client, Fixture, Home, HttpClient, Postgres, Product, eventually, trials, within,
};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::PROGRAMS;

trials![
    two_gateways_write_at_once_and_both_see_and_prove_everything,
    a_killed_gateway_loses_nothing_and_the_other_one_sees_what_is_in_doubt,
    without_its_database_a_gateway_refuses_to_write_reads_on_and_recovers,
    each_gateway_tells_of_what_the_other_one_records,
    connections_that_the_database_ends_are_opened_again,
];

const LOOK: &str = r#"{"name":"look","description":"Look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;

fn config(fixture: &Fixture, url: &str) -> Value {
    json!({ "mcpServers": { "ledger": fixture.entry() }, "store": { "url": url } })
}

fn fixture() -> Fixture {
    Fixture::new(PROGRAMS).tools(&[APPEND, LOOK])
}

/// Appends an entry; the id of its record, or the code of the refusal.
async fn append(client: &HttpClient, entry: &str) -> Result<String, String> {
    let arguments = json!({
        "name": "ledger:append", "args": { "entry": entry }, "intent": { "operation_type": "write" },
    });
    outcome(&client.call("call_tool_write", &arguments).await)
}

async fn look(client: &HttpClient) -> Result<String, String> {
    let arguments = json!({ "name": "ledger:look", "intent": { "operation_type": "read" } });
    outcome(&client.call("call_tool_read", &arguments).await)
}

fn outcome(result: &Value) -> Result<String, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if result["isError"] == json!(true) {
        return Err(text(&result["structuredContent"]["error"]["code"]));
    }
    Ok(text(&result["_meta"]["dev.mcpproxy/activity_id"]))
}

async fn write_and_look(endpoint: String, name: &str, number: usize) {
    let client = HttpClient::connect(&endpoint).await;
    for turn in 0..25 {
        let entry = format!("{name}-{number}-{turn}");
        append(&client, &entry).await.unwrap();
        look(&client).await.unwrap();
    }
}

/// What the log says of each entry, as this gateway sees it.
async fn recorded(product: &Product) -> BTreeMap<String, String> {
    recorded_of(product, "append").await
}

async fn recorded_of(product: &Product, tool: &str) -> BTreeMap<String, String> {
    let mut recorded = BTreeMap::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/activity?tool={tool}&limit=500{cursor}");
        let page = product.get(&path).await;
        for record in page["activities"].as_array().unwrap() {
            let entry = record["arguments"]["entry"].as_str().unwrap();
            let status = record["status"].as_str().unwrap();
            recorded.insert(entry.to_owned(), status.to_owned());
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return recorded,
        }
    }
}

async fn check_chains(product: &Product, count: usize) {
    let verdict = product.get("/activity/verify").await;
    assert_eq!(verdict["ok"], json!(true), "{verdict}");
    assert_eq!(verdict["chains"].as_array().unwrap().len(), count);
}

async fn two_gateways_write_at_once_and_both_see_and_prove_everything() {
    let server = Postgres::find();
    let database = server.database().await;
    let fixtures = [fixture(), fixture()];
    let first = Product::start(PROGRAMS, &config(&fixtures[0], database.url())).await;
    let second = Product::start(PROGRAMS, &config(&fixtures[1], database.url())).await;
    let work = async |product: &Product, name: &'static str| {
        let clients: Vec<_> = (0..4)
            .map(|number| tokio::spawn(write_and_look(product.endpoint(), name, number)))
            .collect();
        for client in clients {
            client.await.unwrap();
        }
    };
    tokio::join!(work(&first, "first"), work(&second, "second"));
    for product in [&first, &second] {
        let recorded = recorded(product).await;
        assert_eq!(recorded.len(), 200);
        assert!(recorded.values().all(|status| status == "success"));
        check_chains(product, 2).await;
        let status = product.status().await;
        assert_eq!(status["activity"]["store"], "postgres", "{status}");
        // Reads are written a moment later, also by the other one.
        eventually("all reads are on record", async || {
            let summary = product.get("/activity/summary?tool=look").await;
            (summary["total"] == json!(200)).then_some(())
        })
        .await;
    }
}

async fn a_killed_gateway_loses_nothing_and_the_other_one_sees_what_is_in_doubt() {
    let server = Postgres::find();
    let database = server.database().await;
    let other_fixture = fixture();
    let other = Product::start(PROGRAMS, &config(&other_fixture, database.url())).await;
    let waiting = APPEND.replacen("append", "hold", 1);
    let fixture = fixture()
        .tools(&[APPEND, &waiting])
        .delay("append", 5)
        .gate("hold");
    let mut home = Home::new(PROGRAMS, &config(&fixture, database.url()));
    for round in 0..5 {
        let mut product = Product::start_in(home, &[]).await;
        let endpoint = product.endpoint();
        let mut clients = Vec::new();
        for number in 0..8 {
            let client = HttpClient::connect(&endpoint).await;
            clients.push(tokio::spawn(append_while_it_runs(client, round, number)));
        }
        let enough = 40 * (round + 1);
        eventually("the clients are at work", async || {
            (fixture.entries().len() >= enough).then_some(())
        })
        .await;
        // One call is at its server for certain when the gateway is killed; the others may be.
        let client = HttpClient::connect(&endpoint).await;
        let held = tokio::spawn(async move {
            client
                .try_post(calling("hold", &format!("held-{round}")))
                .await
        });
        eventually("the call is at its server", async || {
            let line = format!("held-{round}");
            fixture
                .ledger()
                .iter()
                .any(|call| call.contains(&line))
                .then_some(())
        })
        .await;
        product.kill().await;
        assert!(held.await.unwrap().is_none(), "it was not answered");
        for client in clients {
            client.await.unwrap();
        }
        home = product.into_home();
    }
    let product = Product::start_in(home, &[]).await;
    for gateway in [&product, &other] {
        let recorded = recorded(gateway).await;
        let made: BTreeSet<String> = fixture.entries().into_iter().collect();
        for entry in &made {
            assert!(recorded.contains_key(entry), "{entry} was made");
        }
        let held = recorded_of(gateway, "hold").await;
        assert_eq!(held.len(), 5, "{held:?}");
        assert!(held.values().all(|status| status == "in_doubt"), "{held:?}");
        let in_doubt = recorded.values().filter(|status| *status == "in_doubt");
        let in_doubt = in_doubt.count() + held.len();
        let status = gateway.status().await;
        assert_eq!(status["activity"]["in_doubt"], json!(in_doubt));
        check_chains(gateway, 2).await;
    }
}

/// Appends entries one after the other until the gateway is gone.
async fn append_while_it_runs(client: HttpClient, round: usize, number: usize) {
    for turn in 0.. {
        let message = calling("append", &format!("{round}-{number}-{turn}"));
        let Some(answer) = client.try_post(message).await else {
            return;
        };
        assert_eq!(
            answer.json()["result"]["isError"],
            Value::Null,
            "{}",
            answer.body
        );
    }
}

/// Message that calls a tool of the ledger with an entry.
fn calling(tool: &str, entry: &str) -> String {
    let arguments = json!({
        "name": format!("ledger:{tool}"),
        "args": { "entry": entry },
        "intent": { "operation_type": "write" },
    });
    let params = json!({ "name": "call_tool_write", "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// A line to the database that can be cut.
struct Line {
    address: SocketAddr,
    is_up: watch::Sender<bool>,
}

impl Line {
    async fn to(database: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let is_up = watch::Sender::new(true);
        let watched = is_up.subscribe();
        let database = Arc::<str>::from(database);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(relay(near, Arc::clone(&database), watched.clone()));
            }
        });
        Self { address, is_up }
    }

    fn set(&self, is_up: bool) {
        self.is_up.send_replace(is_up);
    }
}

async fn relay(mut near: TcpStream, database: Arc<str>, mut is_up: watch::Receiver<bool>) {
    if !*is_up.borrow() {
        return;
    }
    let mut far = TcpStream::connect(&*database).await.unwrap();
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
        _ = is_up.wait_for(|is_up| !is_up) => {}
    }
}

async fn without_its_database_a_gateway_refuses_to_write_reads_on_and_recovers() {
    let server = Postgres::find();
    let database = server.database().await;
    let (before, rest) = database.url().split_once('@').unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let line = Line::to(host).await;
    let url = format!("{before}@{}/{path}", line.address);
    let fixture = fixture();
    let product = Product::start(PROGRAMS, &config(&fixture, &url)).await;
    let client = product.connect().await;
    append(&client, "before").await.unwrap();

    line.set(false);
    let mut refused = 0;
    for turn in 0..5 {
        let outcome = append(&client, &format!("during-{turn}")).await;
        assert_eq!(outcome.unwrap_err(), "STORE_UNAVAILABLE");
        refused += 1;
    }
    let mut reads = Vec::new();
    for _ in 0..10 {
        reads.push(look(&client).await.unwrap());
    }
    let status = product.status().await;
    assert!(status["activity"]["problem"].is_string(), "{status}");

    line.set(true);
    eventually("the gateway writes again", async || {
        append(&client, "after").await.ok()
    })
    .await;
    for id in reads {
        let record = product.get(&format!("/activity/{id}")).await;
        assert_eq!(record["status"], "success", "{record}");
    }
    let blocked = product.get("/activity/summary?status=blocked").await;
    assert!(blocked["total"].as_u64().unwrap() >= refused, "{blocked}");
    assert_eq!(fixture.entries()[0], "before");
    assert!(
        !fixture
            .entries()
            .iter()
            .any(|entry| entry.starts_with("during"))
    );
    check_chains(&product, 1).await;
}

async fn each_gateway_tells_of_what_the_other_one_records() {
    let server = Postgres::find();
    let database = server.database().await;
    let fixtures = [fixture(), fixture()];
    let first = Product::start(PROGRAMS, &config(&fixtures[0], database.url())).await;
    let second = Product::start(PROGRAMS, &config(&fixtures[1], database.url())).await;
    for (writer, reader) in [(&first, &second), (&second, &first)] {
        let events = HttpClient::without_session(&reader.rest("/events?tool=append"));
        let key = reader.key();
        let mut events = events
            .open(Method::GET, &[("x-api-key", &key)], String::new())
            .await;
        let id = append(&writer.connect().await, "seen").await.unwrap();
        let mut told = Vec::new();
        while !String::from_utf8_lossy(&told).contains(&id) {
            let frame = within("the other one tells", events.body_mut().frame()).await;
            told.extend_from_slice(frame.unwrap().unwrap().data_ref().unwrap());
        }
        let listed = reader.run(&["activity", "list", "-o", "json"]).await.json();
        let is_there = |one: &Value| one["id"] == id.as_str() && one["status"] == "success";
        assert!(
            listed["activities"]
                .as_array()
                .unwrap()
                .iter()
                .any(is_there),
            "{listed}"
        );
    }
}

/// Connections that the database ends cost at most the calls that wait for them.
async fn connections_that_the_database_ends_are_opened_again() {
    let server = Postgres::find();
    let database = server.database().await;
    let fixture = fixture();
    let product = Product::start(PROGRAMS, &config(&fixture, database.url())).await;
    let client = product.connect().await;
    let operator = database.client().await;
    let end_all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let (mut made, mut tried) = (Vec::new(), 0);
    for _ in 0..5 {
        operator.execute(end_all, &[]).await.unwrap();
        look(&client).await.unwrap();
        eventually("the gateway writes again", async || {
            tried += 1;
            let entry = tried.to_string();
            let outcome = append(&client, &entry).await;
            assert!(outcome.is_ok() || outcome == Err("STORE_UNAVAILABLE".to_owned()));
            outcome.ok().map(|_| made.push(entry))
        })
        .await;
    }
    let recorded = recorded(&product).await;
    for entry in fixture.entries() {
        assert!(recorded.contains_key(&entry), "{entry} was made");
    }
    for entry in &made {
        assert_eq!(recorded.get(entry).map(String::as_str), Some("success"));
    }
    let status = product.status().await;
    assert_eq!(status["activity"]["problem"], Value::Null, "{status}");
    check_chains(&product, 1).await;
}
