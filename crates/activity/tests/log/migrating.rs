//! Records that an earlier version wrote.

use mcpproxy_activity::row::{ColumnType, Row};
use mcpproxy_activity::{Filter, Log, LogRole, Status};
use mcpproxy_policy::{Operation, RecordScope};
use serde_json::{Map, Value};

use crate::support::{Place, call, call_as, with_token};

engine_trials![records_from_before_there_were_tokens_are_shown_proven_and_go_on,];

/// Written by the program as it was before there were tokens: its chain file, then the rows of its table.
const RECORDS: &str = include_str!("version_1.jsonl");

/// Tables of that version.
const SQLITE: &str = include_str!("../../src/sqlite/migrations/0001_activity.sql");
const POSTGRES: &str = include_str!("../../src/postgres/migrations/0001_activity.sql");

/// Makes the state that the program left. Tells how many records it has.
async fn as_left(place: &Place) -> u64 {
    let mut lines = RECORDS.lines();
    let chain: Map<String, Value> = serde_json::from_str(lines.next().unwrap()).unwrap();
    let folder = place.data_dir().join("chains");
    std::fs::create_dir(&folder).unwrap();
    let text = |name: &str| chain[name].as_str().unwrap();
    std::fs::write(folder.join(text("file")), text("content")).unwrap();

    let (tables, version) = if place.is_sqlite() {
        (SQLITE, "PRAGMA journal_mode = WAL; PRAGMA user_version = 1")
    } else {
        let version = "CREATE TABLE activity_version (version bigint PRIMARY KEY);
             INSERT INTO activity_version VALUES (1)";
        (POSTGRES, version)
    };
    place.sql(tables).await;
    place.sql(version).await;
    let mut count = 0;
    for line in lines {
        let cells: Map<String, Value> = serde_json::from_str(line).unwrap();
        let names: Vec<&str> = cells.keys().map(String::as_str).collect();
        let values = cells.iter().map(|(name, cell)| literal(place, name, cell));
        let values: Vec<String> = values.collect();
        place
            .sql(&format!(
                "INSERT INTO activity ({}) VALUES ({})",
                names.join(", "),
                values.join(", ")
            ))
            .await;
        count += 1;
    }
    count
}

/// A cell as SQL; UUIDs and bytes are hexadecimal in the file.
fn literal(place: &Place, name: &str, cell: &Value) -> String {
    let column = Row::columns().find(|column| column.name == name).unwrap();
    match (cell, column.of, place.is_sqlite()) {
        (Value::Null, ..) => "NULL".to_owned(),
        (Value::String(hex), ColumnType::Uuid | ColumnType::Bytes, true) => format!("x'{hex}'"),
        (Value::String(hex), ColumnType::Bytes, false) => format!("'\\x{hex}'"),
        (Value::String(text), ..) => format!("'{}'", text.replace('\'', "''")),
        (number, ..) => number.to_string(),
    }
}

async fn records_from_before_there_were_tokens_are_shown_proven_and_go_on(place: Place) {
    let count = as_left(&place).await;
    // Whoever only looks brings the tables up to date as well.
    let verdict = place.archive().verify(|_, _| {}).await.unwrap();
    assert!(verdict.ok, "{verdict:?}");
    assert_eq!((verdict.records, verdict.chains.len()), (count, 1));
    let records = place.records().await;
    assert_eq!(records.len() as u64, count);
    assert!(records.iter().all(|record| record.token_id.is_none()));
    assert!(records.iter().all(|record| record.agent.is_some()));
    let success = Filter {
        status: Some(Status::Success),
        ..Filter::default()
    };
    assert!(place.archive().count(&success).await.unwrap() > 1);

    let mut options = place.options();
    options.role = LogRole::Command;
    let log = Log::start(&options, std::sync::Arc::default()).unwrap();
    let robot = with_token("robot");
    let scope = robot.record_scope();
    let own = call_as(&log, robot, Operation::Write).await;
    call(&log, Operation::Read).await;
    assert!(log.tokens().all().await.unwrap().is_empty());
    log.stop().await;
    // The chain that was there goes on, old links and new ones alike.
    let verdict = place.archive().verify(|_, _| {}).await.unwrap();
    assert!(verdict.ok, "{verdict:?}");
    assert_eq!((verdict.records, verdict.chains.len()), (count + 2, 1));
    let filter = Filter {
        scope: scope.clone(),
        ..Filter::default()
    };
    let page = place.archive().page(&filter, None, 10).await.unwrap();
    let found: Vec<_> = page.records.iter().map(|record| record.id).collect();
    assert_eq!(found, [own]);
    let old = records[0].id;
    assert_eq!(place.archive().find(old, &scope).await.unwrap(), None);
    let all = &RecordScope::All;
    assert_eq!(
        place.archive().find(old, all).await.unwrap().as_ref(),
        Some(&records[0])
    );
}
