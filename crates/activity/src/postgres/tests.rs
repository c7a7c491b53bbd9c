//! Which index answers which question.

use mcpproxy_policy::RecordScope;
use mcpproxy_tests::Postgres;
use tokio_postgres::Client;
use uuid::Uuid;

use super::query::{self, DIALECT};
use super::{address, cells, session};
use crate::filter::Filter;
use crate::query::{HASH_AT, IdAndSize, StoreQuery};
use crate::row::{Cell, Row};

/// Enough that walking all of them is the worse choice.
const RECORDS: &str = "
    INSERT INTO activity (id, chain, seq, opened_seq, type, status, server_name, tool_name,
                          intent_type, sensitivity, agent, session_id, token_id, request_id, arguments, words)
    SELECT lpad(to_hex(n), 32, '0')::uuid, lpad(to_hex(n % 3), 32, '0')::uuid, 2 * n + 1, 2 * n,
           CASE WHEN n % 20 = 0 THEN 'system' ELSE 'tool_call' END,
           CASE WHEN n % 20 = 1 THEN 'error' ELSE 'success' END,
           'server ' || n % 30, 'tool ' || n % 200,
           (ARRAY['read', 'write', 'destructive'])[n % 3 + 1],
           (ARRAY['private', 'public', NULL])[n % 3 + 1],
           'agent ' || n % 5, 'session ' || n % 500,
           CASE WHEN n % 2 = 0 THEN 'token ' || n % 400 END, lpad(to_hex(n / 2), 32, '0')::uuid,
           repeat('x', 500), array_to_tsvector(ARRAY['word' || n % 1000, 'every'])
    FROM generate_series(1, 30000) AS n;
    ANALYZE activity;";

const FILTERS: [(&str, &str); 12] = [
    ("type", "system"),
    ("server", "server 7"),
    ("tool", "tool 7"),
    ("status", "error"),
    ("intent_type", "read"),
    ("request_id", "00000000-0000-0000-0000-000000000777"),
    ("session_id", "session 7"),
    ("sensitivity", "private"),
    ("agent", "agent 1"),
    ("from", "1970-01-01"),
    ("to", "2026-01-01"),
    ("text", "word7"),
];

/// The query of a page, as the store puts it.
fn newest(name: &str, value: &str, before: Option<Uuid>) -> StoreQuery {
    let mut filter = Filter::default();
    filter
        .set(name, value, jiff::Timestamp::UNIX_EPOCH)
        .unwrap();
    page_of(&filter, before)
}

fn page_of(filter: &Filter, before: Option<Uuid>) -> StoreQuery {
    let mut query = query::narrowed(IdAndSize::SELECT, &filter.conditions(), before);
    query.push(" ORDER BY id DESC LIMIT {}", 101);
    query
}

/// The plan of a statement, checked for what must not be in any.
async fn plan(client: &Client, sql: &str, values: &[Cell]) -> String {
    let explain = format!("EXPLAIN {sql}");
    let rows = cells::ask(client, explain.as_str(), values).await.unwrap();
    let lines: Vec<&str> = rows.iter().flatten().filter_map(Cell::text).collect();
    let plan = lines.join("\n");
    assert!(!plan.contains("Seq Scan"), "{sql}:\n{plan}");
    assert!(plan.contains("Index"), "{sql}:\n{plan}");
    plan
}

#[tokio::test]
#[ignore = "needs PostgreSQL, which `cargo xtask test` starts"]
async fn every_question_is_answered_from_an_index() {
    let postgres = Postgres::find();
    let database = postgres.database().await;
    let address = address::read(database.url()).unwrap();
    let client = session::connect(&address).await.unwrap();
    client.batch_execute(RECORDS).await.unwrap();
    assert_eq!(FILTERS.map(|(name, _)| name), Filter::NAMES);
    for (name, value) in FILTERS {
        for before in [None, Some(Uuid::from_u128(20_000))] {
            let StoreQuery { sql, values } = newest(name, value, before);
            plan(&client, &sql, &values).await;
        }
    }
    // Rare values come from their own index.
    for (name, value, index) in [
        ("tool", "tool 7", "activity_by_tool_name"),
        ("session_id", "session 7", "activity_by_session_id"),
        ("server", "nobody", "activity_by_server_name"),
        ("agent", "nobody", "activity_by_agent"),
        ("status", "in_doubt", "activity_by_status"),
        ("type", "discovery", "activity_by_type"),
        ("sensitivity", "internal", "activity_by_sensitivity"),
        (
            "request_id",
            "00000000-0000-0000-0000-000000000777",
            "activity_by_request_id",
        ),
        ("text", "word777", "activity_by_words"),
    ] {
        let StoreQuery { sql, values } = newest(name, value, None);
        let plan = plan(&client, &sql, &values).await;
        assert!(plan.contains(index), "{name}:\n{plan}");
    }
    for (scope, index) in [
        (
            RecordScope::Token("token 7".to_owned()),
            "activity_by_token_id",
        ),
        (
            RecordScope::Session("session 7".to_owned()),
            "activity_by_session_id",
        ),
    ] {
        let filter = Filter {
            scope,
            ..Filter::default()
        };
        let StoreQuery { sql, values } = page_of(&filter, None);
        let plan = plan(&client, &sql, &values).await;
        assert!(plan.contains(index), "{index}:\n{plan}");
    }
    let (chain, number) = (Cell::from(Uuid::from_u128(1)), Cell::Int(100));
    let ids = Cell::from(Uuid::from_u128(1).to_string());
    for (sql, values) in [
        (
            (DIALECT.links)(Row::column_names()).as_str(),
            &[chain.clone(), number.clone(), number.clone()][..],
        ),
        (DIALECT.heads, std::slice::from_ref(&chain)),
        (HASH_AT, &[chain.clone(), number.clone()]),
        (DIALECT.chains, &[]),
        (
            &DIALECT.first_since(),
            &[chain.clone(), chain.clone(), number],
        ),
        (&DIALECT.rows(), &[ids]),
    ] {
        plan(&client, sql, values).await;
    }
}
