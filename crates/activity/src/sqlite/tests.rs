//! Which index answers which question.

use std::path::PathBuf;

use jiff::Timestamp;
use mcpproxy_policy::RecordScope;
use rusqlite::Connection;
use tempfile::TempDir;
use uuid::Uuid;

use super::connection;
use super::query::{self, DIALECT, Lead};
use crate::filter::{Conditions, Filter};
use crate::query::{HASH_AT, IdAndSize, StoreQuery};
use crate::row::Row;

/// A value for each filter.
const FILTERS: [(&str, &str); 12] = [
    ("type", "tool_call"),
    ("server", "github"),
    ("tool", "create_issue"),
    ("status", "error"),
    ("intent_type", "read"),
    ("request_id", "01890a5d-ac96-774b-bcce-b302099a8057"),
    ("session_id", "s"),
    ("sensitivity", "private"),
    ("agent", "claude"),
    ("from", "2026-01-01"),
    ("to", "2026-01-02"),
    ("text", "issue"),
];

fn database() -> (TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("state.db");
    connection::make_private(&path);
    let attached = connection::for_writing(&path).unwrap();
    (folder, attached.connection)
}

fn conditions(parts: &[(&str, &str)]) -> Conditions {
    within(RecordScope::All, parts)
}

/// Conditions of somebody who may see these records alone.
fn within(scope: RecordScope, parts: &[(&str, &str)]) -> Conditions {
    let mut filter = Filter {
        scope,
        ..Filter::default()
    };
    for (name, value) in parts {
        filter.set(name, value, Timestamp::UNIX_EPOCH).unwrap();
    }
    filter.conditions()
}

/// The query of a page, as the store puts it.
fn newest(conditions: &Conditions, before: Option<Uuid>, lead: &Lead) -> StoreQuery {
    let mut query = query::narrowed(IdAndSize::SELECT, conditions, before, lead);
    query.sql.push_str(DIALECT.has_readable_id);
    query.push(" ORDER BY id DESC LIMIT {}", 101);
    query
}

/// The lines of a plan, checked for what must not be in any.
fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection
        .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
        .unwrap();
    let lines = statement.raw_query().mapped(|row| row.get(3));
    let lines: Vec<String> = lines.collect::<Result<_, _>>().unwrap();
    for line in &lines {
        let is_walk = line.starts_with("SCAN activity") && !line.contains("INDEX");
        assert!(
            !is_walk && !line.contains("TEMP B-TREE"),
            "{sql}: {lines:?}"
        );
    }
    lines
}

fn check(connection: &Connection, question: &StoreQuery, expected: &str) {
    let lines = plan(connection, &question.sql);
    assert!(
        lines.iter().any(|line| line.contains(expected)),
        "{expected} in {}: {lines:?}",
        question.sql
    );
}

#[test]
fn every_filter_on_its_own_is_answered_from_its_index_in_order() {
    let (_folder, connection) = database();
    let before = Some(Uuid::max());
    assert_eq!(FILTERS.map(|(name, _)| name), Filter::NAMES);
    for (name, value) in FILTERS {
        let conditions = conditions(&[(name, value)]);
        let lead = match conditions.equal.len() {
            0 => Lead::Ids,
            _ => query::lead(&connection, &conditions, before).unwrap(),
        };
        let expected = match conditions.equal.first() {
            Some((column, _)) => format!("activity_by_{column} ({column}=? AND id<?)"),
            None => match name {
                "from" => "activity_by_id (id>? AND id<?)".to_owned(),
                _ => "activity_by_id (id<?)".to_owned(),
            },
        };
        check(&connection, &newest(&conditions, before, &lead), &expected);
        plan(&connection, &newest(&conditions, None, &lead).sql);
        let count = query::narrowed("SELECT count(*)", &conditions, None, &lead);
        plan(&connection, &count.sql);
    }
}

#[test]
fn records_of_one_token_or_session_are_answered_from_its_index_in_order() {
    let (_folder, connection) = database();
    for (scope, index) in [
        (
            RecordScope::Token("t".to_owned()),
            "activity_by_token_id (token_id=?",
        ),
        (
            RecordScope::Session("s".to_owned()),
            "activity_by_session_id (session_id=?",
        ),
        (RecordScope::Nothing, "activity_by_id (id<?"),
    ] {
        let own = within(scope.clone(), &[]);
        let lead = query::lead(&connection, &own, None).unwrap();
        check(&connection, &newest(&own, None, &lead), index);
        for filter in FILTERS {
            let both = within(scope.clone(), &[filter]);
            for index in 0..both.equal.len() {
                let (column, _) = both.equal[index];
                let question = newest(&both, Some(Uuid::max()), &Lead::Column(index));
                check(
                    &connection,
                    &question,
                    &format!("activity_by_{column} ({column}=?"),
                );
            }
        }
    }
}

#[test]
fn any_two_filters_are_answered_from_an_index_in_order() {
    let (_folder, connection) = database();
    for one in FILTERS {
        for other in FILTERS {
            let conditions = conditions(&[one, other]);
            for index in 0..conditions.equal.len() {
                let (column, _) = conditions.equal[index];
                let question = newest(&conditions, None, &Lead::Column(index));
                check(
                    &connection,
                    &question,
                    &format!("activity_by_{column} ({column}=?"),
                );
            }
            // What has the words is not in order, and so few that it may be sorted.
            let lead = Lead::Places(vec![1, 2]);
            let places = query::narrowed(IdAndSize::SELECT, &conditions, None, &lead);
            check(&connection, &places, "INTEGER PRIMARY KEY (rowid=?)");
        }
    }
}

#[test]
fn the_other_questions_are_answered_from_an_index() {
    let (_folder, connection) = database();
    let columns = Row::column_names();
    for (sql, expected) in [
        (DIALECT.rows().as_str(), &["activity_by_id (id=?)"][..]),
        (
            &(DIALECT.links)(columns),
            &[
                "activity_by_seq (chain=? AND seq>? AND seq<?)",
                "activity_by_opened_seq (chain=? AND opened_seq>? AND opened_seq<?)",
            ],
        ),
        (&DIALECT.stray(), &["activity_stray"]),
        (
            DIALECT.heads,
            &[
                "activity_by_seq (chain=? AND seq<?)",
                "activity_by_opened_seq (chain=? AND opened_seq<?)",
            ],
        ),
        (
            HASH_AT,
            &[
                "activity_by_seq (chain=?",
                "activity_by_opened_seq (chain=?",
            ],
        ),
        (
            query::CLOSED_THROUGH,
            &["activity_by_seq (chain=? AND seq<?)"],
        ),
        (
            query::OPEN_THROUGH,
            &["activity_by_opened_seq (chain=? AND opened_seq<?)"],
        ),
        (
            DIALECT.chains,
            &[
                "activity_by_seq (chain>?)",
                "activity_by_opened_seq (chain>?)",
            ],
        ),
        (&DIALECT.nth_newest(), &["activity_by_id"]),
        (&DIALECT.first_since(), &["activity_by_id (id>?)"]),
    ] {
        let found = plan(&connection, sql).join("\n");
        for expected in expected {
            assert!(found.contains(expected), "{expected} in {sql}: {found}");
        }
    }
}

#[test]
fn the_rarest_value_leads() {
    let (_folder, connection) = database();
    let insert = "
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3000)
        INSERT INTO activity (place, id, chain, seq, status, intent_type, server_name, type)
        SELECT n, randomblob(16), zeroblob(16), n, 'success', iif(n % 10 < 7, 'read', 'write'),
               iif(n % 100 = 0, 'rare', 'github'), iif(n < 3, 'system', 'tool_call')
        FROM numbers;
        INSERT INTO activity_words (rowid, words)
        SELECT place, iif(place % 500 = 0, 'needle hay', 'hay') FROM activity;";
    connection.execute_batch(insert).unwrap();
    let lead = |parts: &[(&str, &str)]| {
        let conditions = conditions(parts);
        match query::lead(&connection, &conditions, None).unwrap() {
            Lead::Ids => "id".to_owned(),
            Lead::Column(index) => conditions.equal[index].0.to_owned(),
            Lead::Places(places) => format!("{} places", places.len()),
        }
    };
    let success = ("status", "success");
    assert_eq!(lead(&[success]), "status");
    assert_eq!(lead(&[success, ("server", "rare")]), "server_name");
    assert_eq!(lead(&[success, ("type", "system")]), "type");
    assert_eq!(
        lead(&[("server", "rare"), ("type", "system"), success]),
        "type"
    );
    // Both are frequent, and one of them less so.
    let read = ("intent_type", "read");
    assert_eq!(lead(&[success, read]), "intent_type");
    assert_eq!(lead(&[("server", "github"), read]), "intent_type");
    assert_eq!(lead(&[success, ("text", "needle")]), "6 places");
    assert_eq!(lead(&[("text", "needle"), ("type", "system")]), "type");
    assert_eq!(lead(&[success, ("text", "hay")]), "status");
    assert_eq!(lead(&[("text", "hay")]), "id");
    assert_eq!(lead(&[("text", "straw"), success]), "0 places");
}
