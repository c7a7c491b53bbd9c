//! Which index answers which question.

use mcpproxy_tests::Postgres;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::cells::PostgresParameter;
use super::query::{self, PostgresQuery};
use super::{address, session};
use crate::filter::{Conditions, Filter};
use crate::row::{Cell, Row};

/// Enough that walking all of them is the worse choice.
const RECORDS: &str = "
    INSERT INTO activity (id, chain, seq, opened_seq, type, status, server_name, tool_name,
                          intent_type, sensitivity, agent, session_id, request_id, arguments, words)
    SELECT lpad(to_hex(n), 32, '0')::uuid, lpad(to_hex(n % 3), 32, '0')::uuid, 2 * n + 1, 2 * n,
           CASE WHEN n % 20 = 0 THEN 'system' ELSE 'tool_call' END,
           CASE WHEN n % 20 = 1 THEN 'error' ELSE 'success' END,
           'server ' || n % 30, 'tool ' || n % 200,
           (ARRAY['read', 'write', 'destructive'])[n % 3 + 1],
           (ARRAY['private', 'public', NULL])[n % 3 + 1],
           'agent ' || n % 5, 'session ' || n % 500, lpad(to_hex(n / 2), 32, '0')::uuid,
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

fn conditions(name: &str, value: &str) -> Conditions {
    let mut filter = Filter::default();
    filter
        .set(name, value, jiff::Timestamp::UNIX_EPOCH)
        .unwrap();
    filter.conditions()
}

/// The plan of a statement, checked for what must not be in any.
async fn plan(client: &Client, sql: &str, values: &[Cell]) -> String {
    let values: Vec<PostgresParameter<'_>> = values.iter().map(PostgresParameter).collect();
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
    let rows = client
        .query(&format!("EXPLAIN {sql}"), &values)
        .await
        .unwrap();
    let lines: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
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
    let config = address::read(database.url()).unwrap();
    let client = session::connect(&config).await.unwrap();
    client.batch_execute(RECORDS).await.unwrap();
    assert_eq!(FILTERS.map(|(name, _)| name), Filter::NAMES);
    for (name, value) in FILTERS {
        for before in [None, Some(Uuid::from_u128(20_000))] {
            let PostgresQuery { sql, values } =
                query::newest(&conditions(name, value), before, 101);
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
        let PostgresQuery { sql, values } = query::newest(&conditions(name, value), None, 101);
        let plan = plan(&client, &sql, &values).await;
        assert!(plan.contains(index), "{name}:\n{plan}");
    }
    let (chain, number) = (Cell::from(Uuid::from_u128(1)), Cell::Int(100));
    let find = format!(
        "SELECT {} FROM activity WHERE id = ANY ($1)",
        Row::column_names()
    );
    let find = find.replace("ANY ($1)", "$1");
    for (sql, values) in [
        (
            query::links(Row::column_names()).as_str(),
            &[chain.clone(), number.clone(), number.clone()][..],
        ),
        (query::HEAD, std::slice::from_ref(&chain)),
        (query::CHAINS, &[]),
        (query::FIRST_SINCE, &[chain.clone(), chain.clone(), number]),
        (&find, std::slice::from_ref(&chain)),
    ] {
        plan(&client, sql, values).await;
    }
}
