//! Whatever is done to the table, `verify` finds it and names the record.

use std::sync::Arc;

use mcpproxy_activity::row::{Column, ColumnType, OutcomeColumns, RequestColumns};
use mcpproxy_activity::{Archive, ChainProblem, Record, Status, Tampering};
use mcpproxy_policy::Operation;
use mcpproxy_tests::trials;

use crate::support::{Place, REFUSED, call, call_as, open, soon, with_token};

engine_trials![
    a_change_of_any_field_of_any_record_is_found_and_the_record_named,
    a_change_of_the_chain_itself_is_found,
    a_record_that_was_given_to_another_token_or_none_is_found,
    a_removed_record_is_found_wherever_it_was,
    swapped_and_inserted_records_are_found,
    the_newest_records_cannot_be_removed_unseen_and_a_restart_does_not_cover_it,
];

trials![
    a_record_that_is_appended_with_a_right_hash_is_found_after_an_orderly_stop,
    a_chain_whose_file_was_removed_is_found,
];

/// A log with every sort of record, stopped in order.
async fn written(place: &Place) -> Vec<Record> {
    let log = place.log();
    for operation in [Operation::Write, Operation::Read, Operation::Destructive] {
        call(&log, operation).await;
        open(&log, operation).close(REFUSED).await.unwrap();
    }
    let mut in_doubt = open(&log, Operation::Write);
    in_doubt.begin_sending(soon()).await.unwrap();
    // As after a crash: on record, and never closed.
    std::mem::forget(in_doubt);
    call_as(&log, with_token("robot"), Operation::Write).await;
    log.stop().await;
    place
        .sql("CREATE TABLE backup AS SELECT * FROM activity")
        .await;
    place.records().await
}

async fn restore(place: &Place) {
    place
        .sql("DELETE FROM activity; INSERT INTO activity SELECT * FROM backup")
        .await;
    assert_eq!(problem(&place.archive()).await, None);
}

async fn problem(archive: &Archive) -> Option<ChainProblem> {
    let verdict = archive.verify(|_, _| {}).await.unwrap();
    assert_eq!(verdict.ok, verdict.problem.is_none());
    verdict.problem
}

/// The id of a record as SQL.
fn id(place: &Place, record: &Record) -> String {
    if place.is_sqlite() {
        format!("x'{}'", record.id.simple())
    } else {
        format!("'{}'", record.id)
    }
}

/// The columns that the chain hashes.
fn hashed_columns() -> impl Iterator<Item = &'static Column> {
    RequestColumns::COLUMNS
        .iter()
        .chain(&OutcomeColumns::COLUMNS)
}

/// Another value for a column, one byte of it where there is one.
fn altered(place: &Place, name: &str, of: ColumnType) -> String {
    match (of, place.is_sqlite()) {
        (ColumnType::Int, _) => format!("COALESCE({name}, 0) + 1"),
        (ColumnType::Text, _) => {
            format!("CASE WHEN {name} IS NULL THEN 'x' ELSE '~' || substr({name}, 2) END")
        }
        // One in 256 ids ends like this already, and must change as well.
        (ColumnType::Uuid, true) => format!(
            "CASE WHEN {name} IS NULL THEN zeroblob(16) \
             WHEN substr({name}, 16) = x'07' THEN substr({name}, 1, 15) || x'08' \
             ELSE substr({name}, 1, 15) || x'07' END"
        ),
        (ColumnType::Uuid, false) => "'01900000-0000-7000-8000-000000000007'".to_owned(),
        (ColumnType::Bytes, _) => panic!("no column that is hashed holds bytes"),
    }
}

async fn a_change_of_any_field_of_any_record_is_found_and_the_record_named(place: Place) {
    let records = written(&place).await;
    for record in &records {
        for Column { name, of } in hashed_columns() {
            let value = altered(&place, name, *of);
            let row = id(&place, record);
            place
                .sql(&format!(
                    "UPDATE activity SET {name} = {value} WHERE id = {row}"
                ))
                .await;
            let found = problem(&place.archive()).await;
            let found = found.unwrap_or_else(|| panic!("{name} of {record:?}"));
            assert_eq!(found.kind, Tampering::Changed, "{name}: {found:?}");
            let seq = record.opened.or(record.closed).unwrap().seq;
            // A change of the outcome shows at the link that has it.
            let is_there =
                found.seq == Some(seq) || found.seq == record.closed.map(|link| link.seq);
            assert!(is_there, "{name}: {found:?}, {record:?}");
            assert!(
                *name == "id" || found.id == Some(record.id),
                "{name}: {found:?}"
            );
            restore(&place).await;
        }
    }
}

async fn a_change_of_the_chain_itself_is_found(place: Place) {
    let records = written(&place).await;
    let other = "07".repeat(32);
    let other = if place.is_sqlite() {
        format!("x'{other}'")
    } else {
        format!("'\\x{other}'")
    };
    let hash = other.as_str();
    let chain = if place.is_sqlite() {
        "zeroblob(16)"
    } else {
        "'01900000-0000-7000-8000-000000000007'"
    };
    for record in &records {
        let mut changes = vec![("chain", chain)];
        if record.closed.is_some() {
            changes.extend([
                ("seq", "seq + 100"),
                ("seq", "-1"),
                ("prev_hash", hash),
                ("hash", hash),
            ]);
        }
        if record.opened.is_some() {
            changes.extend([
                ("opened_seq", "opened_seq + 100"),
                ("opened_prev_hash", hash),
                ("opened_hash", hash),
                ("opened_seq", "NULL"),
            ]);
        }
        for (name, value) in changes {
            let row = id(&place, record);
            place
                .sql(&format!(
                    "UPDATE activity SET {name} = {value} WHERE id = {row}"
                ))
                .await;
            let found = problem(&place.archive()).await;
            assert!(found.is_some(), "{name} = {value} of {record:?}");
            restore(&place).await;
        }
    }
}

async fn a_record_that_was_given_to_another_token_or_none_is_found(place: Place) {
    let records = written(&place).await;
    let owned = records.iter().find(|record| record.token_id.is_some());
    let owned = owned.unwrap();
    for value in ["NULL", "''", "'another'"] {
        let row = id(&place, owned);
        place
            .sql(&format!(
                "UPDATE activity SET token_id = {value} WHERE id = {row}"
            ))
            .await;
        let found = problem(&place.archive()).await.unwrap();
        assert_eq!(found.kind, Tampering::Changed, "{value}");
        assert_eq!(found.id, Some(owned.id), "{value}");
        restore(&place).await;
    }
}

async fn a_removed_record_is_found_wherever_it_was(place: Place) {
    let records = written(&place).await;
    for record in &records {
        let row = id(&place, record);
        place
            .sql(&format!("DELETE FROM activity WHERE id = {row}"))
            .await;
        let found = problem(&place.archive()).await.unwrap();
        assert_eq!(found.kind, Tampering::Removed, "{found:?}");
        let first = record.opened.or(record.closed).unwrap().seq;
        assert_eq!(found.seq, Some(first), "{found:?}");
        restore(&place).await;
    }
    place.sql("DELETE FROM activity").await;
    let found = problem(&place.archive()).await.unwrap();
    assert_eq!((found.kind, found.seq), (Tampering::Removed, Some(1)));
}

async fn swapped_and_inserted_records_are_found(place: Place) {
    let records = written(&place).await;
    let links = "seq, prev_hash, hash";
    let whole: Vec<&Record> = records
        .iter()
        .filter(|record| record.opened.is_none())
        .collect();
    let (one, two) = (id(&place, whole[0]), id(&place, whole[1]));
    place
            .sql(&format!(
                "UPDATE activity SET seq = -seq WHERE id IN ({one}, {two});
                 UPDATE activity SET ({links}) = (SELECT {links} FROM backup WHERE id = {two}) WHERE id = {one};
                 UPDATE activity SET ({links}) = (SELECT {links} FROM backup WHERE id = {one}) WHERE id = {two};"
            ))
            .await;
    let found = problem(&place.archive()).await.unwrap();
    assert_eq!(found.kind, Tampering::Changed, "{found:?}");
    assert_eq!(found.id, Some(whole[1].id));
    restore(&place).await;

    // A copy of a record, with an id of its own, at the end and in the middle.
    let columns: Vec<&str> = hashed_columns().map(|column| column.name).collect();
    let rest = columns[1..].join(", ");
    let new_id = if place.is_sqlite() {
        "x'01900000000070008000000000000007'"
    } else {
        "'01900000-0000-7000-8000-000000000007'"
    };
    for seq in ["(SELECT max(seq) + 1 FROM backup)", "0", "NULL"] {
        place
                .sql(&format!(
                    "INSERT INTO activity (id, {rest}, chain, seq, prev_hash, hash)
                     SELECT {new_id}, {rest}, chain, {seq}, hash, prev_hash FROM backup WHERE id = {one}"
                ))
                .await;
        let found = problem(&place.archive()).await;
        assert!(found.is_some(), "seq {seq}");
        restore(&place).await;
    }
}

async fn a_record_that_is_appended_with_a_right_hash_is_found_after_an_orderly_stop() {
    let place = Place::sqlite();
    let log = place.log();
    call(&log, Operation::Read).await;
    log.stop().await;
    // Somebody who knows how hashes are made writes on.
    let file = place.data_dir().join("state.db");
    let mut opened = mcpproxy_activity::sqlite::open(&file).unwrap();
    let record = place.records().await.pop().unwrap();
    let mut head = opened.journal.head(record.chain).unwrap();
    let links = opened.store.links(record.chain, 0, 1).await.unwrap();
    let mut row = links[0].row.clone();
    Arc::make_mut(&mut row.request).id = uuid::Uuid::now_v7().into();
    row.closed = Some(head.close(row.chain, &row.request, &row.outcome, None));
    opened.journal.append(&[row]).unwrap();
    let found = problem(&place.archive()).await.unwrap();
    assert_eq!((found.kind, found.seq), (Tampering::Inserted, Some(2)));
    // A gateway that starts now does not continue that chain, so it stays to be seen.
    let log = place.log();
    call(&log, Operation::Read).await;
    log.stop().await;
    let found = problem(&place.archive()).await.unwrap();
    assert_eq!((found.kind, found.seq), (Tampering::Inserted, Some(2)));
}

async fn the_newest_records_cannot_be_removed_unseen_and_a_restart_does_not_cover_it(place: Place) {
    let records = written(&place).await;
    let last = records.last().unwrap();
    assert_eq!(last.status, Status::Success);
    let row = id(&place, last);
    place
        .sql(&format!("DELETE FROM activity WHERE id = {row}"))
        .await;
    let log = place.log();
    call(&log, Operation::Write).await;
    log.stop().await;
    let found = problem(&place.archive()).await.unwrap();
    assert_eq!(found.kind, Tampering::Removed);
    assert_eq!(found.chain, Some(last.chain));
    assert_eq!(found.seq, last.opened.map(|link| link.seq));
}

async fn a_chain_whose_file_was_removed_is_found() {
    let place = Place::sqlite();
    written(&place).await;
    std::fs::remove_dir_all(place.data_dir().join("chains")).unwrap();
    let found = problem(&place.archive()).await.unwrap();
    assert!(found.message.contains("no file"), "{found:?}");
}
