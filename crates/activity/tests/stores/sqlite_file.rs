//! What can be wrong with a file.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::{Arc, Barrier};

use mcpproxy_activity::chain::ChainHead;
use mcpproxy_activity::row::{Cell, OutcomeColumns, RequestColumns};
use mcpproxy_activity::sqlite;
use mcpproxy_activity::store::{Journal, StoreError};
use mcpproxy_activity::{Engine, Filter, TokenStore};
use mcpproxy_policy::RecordScope;
use mcpproxy_tests::{SmallDisk, trials};
use rusqlite::Connection;

use crate::story::sketch::{Quill, chain, id, many, outcome, request, set};

trials![
    nobody_else_can_read_the_files,
    a_link_in_the_place_of_the_file_was_followed,
    a_folder_that_is_a_link_is_no_harm,
    what_is_committed_is_on_disk,
    a_newer_version_is_left_alone,
    a_file_that_is_no_database_is_left_alone,
    a_damaged_file_is_reported_and_not_read,
    without_a_file_there_are_no_records_and_none_is_made,
    a_file_that_was_taken_away_is_missed,
    a_full_disk_refuses_and_works_again_when_there_is_space,
    processes_that_start_at_once_make_one_file,
    what_was_put_into_a_cell_never_looks_like_what_was_there,
    a_row_whose_place_cannot_be_read_is_a_stray,
    a_token_whose_expiry_is_no_number_was_one_that_does_not_expire,
];

/// Writes some records of a fresh chain.
fn write(journal: &mut dyn Journal, quill: &mut Quill, number: i64) -> Result<(), StoreError> {
    let head = quill.head;
    let change = quill.whole(request(id(number, 1)), outcome("success"));
    let written = journal.append(&[change]);
    if written.is_err() {
        quill.head = head;
    }
    written
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

async fn nobody_else_can_read_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let mut opened = sqlite::open(&path).unwrap();
    write(&mut *opened.journal, &mut Quill::new(chain(1)), 1).unwrap();
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        assert_eq!(mode(&folder.path().join(name)), 0o600, "{name}");
    }
    drop(opened);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(sqlite::open(&path).unwrap());
    assert_eq!(mode(&path), 0o600);
}

async fn a_link_in_the_place_of_the_file_was_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, elsewhere) = (folder.path().join("state.db"), folder.path().join("other"));
    std::fs::write(&elsewhere, "").unwrap();
    std::fs::set_permissions(&elsewhere, std::fs::Permissions::from_mode(0o644)).unwrap();
    symlink(&elsewhere, &path).unwrap();
    let refused = sqlite::open(&path).map(drop).unwrap_err();
    assert!(matches!(refused, StoreError::Unusable(_)), "{refused}");
    assert!(refused.to_string().contains("symbolic link"), "{refused}");
    assert!(sqlite::open_for_reading(&path).is_err());
    assert_eq!(std::fs::read(&elsewhere).unwrap(), b"", "left as it was");
    assert_eq!(mode(&elsewhere), 0o644);
}

async fn a_folder_that_is_a_link_is_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("real")).unwrap();
    symlink(folder.path().join("real"), folder.path().join("home")).unwrap();
    let mut opened = sqlite::open(&folder.path().join("home/state.db")).unwrap();
    write(&mut *opened.journal, &mut Quill::new(chain(1)), 1).unwrap();
    assert!(folder.path().join("real/state.db").is_file());
}

async fn what_is_committed_is_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let opened = sqlite::open(&path).unwrap();
    let connection = Connection::open(&path).unwrap();
    let mode: String = connection
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
    drop(opened);
}

async fn a_newer_version_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    drop(sqlite::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    for result in [
        sqlite::open(&path).map(drop),
        sqlite::open_for_reading(&path).map(drop),
    ] {
        let Err(StoreError::Unusable(message)) = result else {
            panic!("{result:?}");
        };
        assert!(message.contains("newer version of mcpproxy"), "{message}");
        assert!(message.contains("99"), "{message}");
    }
}

async fn a_file_that_is_no_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let text = "Notes, not a database. ".repeat(500);
    std::fs::write(&path, &text).unwrap();
    for result in [
        sqlite::open(&path).map(drop),
        sqlite::open_for_reading(&path).map(drop),
    ] {
        let Err(StoreError::Unusable(message)) = result else {
            panic!("{result:?}");
        };
        assert!(message.contains("not a database"), "{message}");
        let folder = folder.path().to_str().unwrap();
        assert!(!message.contains(folder), "{message}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

async fn a_damaged_file_is_reported_and_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let mut opened = sqlite::open(&path).unwrap();
    opened
        .journal
        .append(&many(&mut Quill::new(chain(1)), 400))
        .unwrap();
    drop(opened);
    let mut bytes = std::fs::read(&path).unwrap();
    for page in bytes.chunks_mut(4096).skip(1) {
        page[..100].fill(0x55);
    }
    std::fs::write(&path, bytes).unwrap();
    let problem = match sqlite::open_for_reading(&path) {
        Ok(store) => store.page(&Filter::default(), None, 50).await.unwrap_err(),
        Err(problem) => problem,
    };
    let StoreError::Unusable(message) = problem else {
        panic!("{problem:?}");
    };
    assert!(message.contains("damaged"), "{message}");
}

async fn without_a_file_there_are_no_records_and_none_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let store = sqlite::open_for_reading(&path).unwrap();
    let filter = Filter::default();
    let page = store.page(&filter, None, 10).await.unwrap();
    assert!(page.records.is_empty() && page.next.is_none());
    assert_eq!(store.find(id(1, 1), &RecordScope::All).await.unwrap(), None);
    assert_eq!(store.count(&filter).await.unwrap(), 0);
    assert!(store.tally(&filter).await.unwrap().is_empty());
    assert!(store.chains().await.unwrap().is_empty());
    assert!(store.links(chain(1), 0, 9).await.unwrap().is_empty());
    assert_eq!(store.stray().await.unwrap(), None);
    assert_eq!(store.nth_newest(0).await.unwrap(), None);
    assert_eq!(store.first_since(chain(1), id(1, 1)).await.unwrap(), None);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

    // Once somebody records something, it is seen.
    let mut opened = sqlite::open(&path).unwrap();
    write(&mut *opened.journal, &mut Quill::new(chain(1)), 1).unwrap();
    assert_eq!(store.count(&filter).await.unwrap(), 1);
}

async fn a_file_that_was_taken_away_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let mut opened = sqlite::open(&path).unwrap();
    let mut quill = Quill::new(chain(1));
    write(&mut *opened.journal, &mut quill, 1).unwrap();
    let filter = Filter::default();
    assert_eq!(opened.store.count(&filter).await.unwrap(), 1);

    let aside = folder.path().join("aside");
    std::fs::create_dir(&aside).unwrap();
    let names = ["state.db", "state.db-wal", "state.db-shm"];
    for name in names {
        std::fs::rename(folder.path().join(name), aside.join(name)).unwrap();
    }
    let problem = write(&mut *opened.journal, &mut quill, 2).unwrap_err();
    assert!(matches!(problem, StoreError::Unavailable(_)), "{problem:?}");
    assert!(opened.store.count(&filter).await.is_err());
    assert!(!path.exists(), "no new file hides the loss");

    for name in names {
        std::fs::rename(aside.join(name), folder.path().join(name)).unwrap();
    }
    write(&mut *opened.journal, &mut quill, 2).unwrap();
    assert_eq!(opened.store.count(&filter).await.unwrap(), 2);
}

async fn a_full_disk_refuses_and_works_again_when_there_is_space() {
    let disk = SmallDisk::mount(4 * 1024 * 1024);
    let path = disk.path().join("state.db");
    let mut opened = sqlite::open(&path).unwrap();
    let mut quill = Quill::new(chain(1));
    write(&mut *opened.journal, &mut quill, 1).unwrap();
    disk.fill();
    // Some space may be left in the files that are there.
    let large = |number: i64| {
        let mut request = request(id(number, 1));
        set(&mut request, "arguments", Cell::from("x".repeat(1_000_000)));
        request
    };
    let kept = quill.head;
    let change = quill.whole(large(2), outcome("success"));
    let problem = opened.journal.append(&[change]).unwrap_err();
    let StoreError::Unavailable(message) = &problem else {
        panic!("{problem:?}");
    };
    assert!(message.contains("disk"), "{message}");
    assert_eq!(opened.journal.head(chain(1)).unwrap(), kept);
    assert_eq!(opened.store.count(&Filter::default()).await.unwrap(), 1);

    disk.free();
    quill.head = kept;
    let change = quill.whole(large(3), outcome("success"));
    opened.journal.append(&[change]).unwrap();
    assert_eq!(opened.journal.head(chain(1)).unwrap(), quill.head);
    assert_eq!(opened.store.count(&Filter::default()).await.unwrap(), 2);
}

async fn processes_that_start_at_once_make_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = Arc::new(folder.path().join("state.db"));
    let barrier = Arc::new(Barrier::new(6));
    let threads: Vec<_> = (1..=6)
        .map(|number| {
            let (path, barrier) = (Arc::clone(&path), Arc::clone(&barrier));
            std::thread::spawn(move || {
                barrier.wait();
                let mut opened = sqlite::open(&path).unwrap();
                let mut quill = Quill::new(chain(number));
                write(&mut *opened.journal, &mut quill, number.try_into().unwrap()).unwrap();
                opened.journal.head(chain(number)).unwrap().seq
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 1);
    }
}

async fn what_was_put_into_a_cell_never_looks_like_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let mut opened = sqlite::open(&path).unwrap();
    let change = many(&mut Quill::new(chain(1)), 7).remove(3);
    opened
        .journal
        .append(std::slice::from_ref(&change))
        .unwrap();
    let connection = Connection::open(&path).unwrap();
    let columns = RequestColumns::COLUMNS
        .iter()
        .chain(&OutcomeColumns::COLUMNS)
        .map(|column| column.name);
    let mut checked = 0;
    for column in columns.chain(["prev_hash", "hash"]) {
        let copy = format!("CREATE TEMP TABLE kept AS SELECT {column} AS cell FROM activity");
        connection.execute_batch(&copy).unwrap();
        for value in [
            "NULL", "1.5", "'1.5'", "'x'", "x'ff'", "x'00'", "7", "-1e300",
        ] {
            let tamper = format!("UPDATE activity SET {column} = {value}");
            if connection.execute_batch(&tamper).is_err() {
                continue;
            }
            let was = format!("SELECT cell IS {column} FROM temp.kept, activity");
            let is_same: bool = connection.query_row(&was, [], |row| row.get(0)).unwrap();
            let found = opened.store.links(chain(1), 0, 9).await.unwrap();
            assert_eq!(found[0].row == change, is_same, "{column} = {value}");
            checked += 1;
        }
        let restore = format!(
            "UPDATE activity SET {column} = (SELECT cell FROM temp.kept); DROP TABLE temp.kept"
        );
        connection.execute_batch(&restore).unwrap();
    }
    assert!(checked > 200, "{checked}");
    let found = opened.store.links(chain(1), 0, 9).await.unwrap();
    assert_eq!(found[0].row, change);
}

async fn a_token_whose_expiry_is_no_number_was_one_that_does_not_expire() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = TokenStore::open(folder.path(), &Engine::Sqlite).unwrap();
    let path = folder.path().join("state.db");
    assert_eq!(mode(&path), 0o600);
    let connection = Connection::open(&path).unwrap();
    for (expires, count) in [
        ("NULL", 1),
        ("1", 1),
        ("'tomorrow'", 0),
        ("1.5", 0),
        ("x'01'", 0),
    ] {
        let insert = format!(
            "DELETE FROM tokens;
             INSERT INTO tokens (id, name, hash, rights, created, expires)
             VALUES ('1', 'one', 'hash', '{{}}', 1, {expires})"
        );
        connection.execute_batch(&insert).unwrap();
        assert_eq!(tokens.all().await.unwrap().len(), count, "{expires}");
    }
}

async fn a_row_whose_place_cannot_be_read_is_a_stray() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let mut opened = sqlite::open(&path).unwrap();
    let mut quill = Quill::new(chain(1));
    write(&mut *opened.journal, &mut quill, 1).unwrap();
    let first = quill.head;
    write(&mut *opened.journal, &mut quill, 2).unwrap();
    let connection = Connection::open(&path).unwrap();
    for tampering in [
        "chain = 'none'",
        "chain = x'0102'",
        "seq = 'two'",
        "seq = 2.5",
        "opened_seq = x'02'",
    ] {
        let change = format!("SAVEPOINT kept; UPDATE activity SET {tampering} WHERE seq = 2");
        connection.execute_batch(&change).unwrap();
        connection.execute_batch("RELEASE kept").unwrap();
        let stray = opened.store.stray().await.unwrap().unwrap();
        assert_eq!(stray.id(), Some(id(2, 1)), "{tampering}");
        if !tampering.starts_with("opened") {
            assert_eq!(opened.journal.head(chain(1)).unwrap(), first);
            let chains = opened.store.chains().await.unwrap();
            assert_eq!(chains, [(chain(1), first)]);
        }
        let mut restore = connection
            .prepare("UPDATE activity SET chain = ?, seq = 2, opened_seq = NULL WHERE id = ?")
            .unwrap();
        restore
            .execute([chain(1).as_bytes(), id(2, 1).as_bytes()])
            .unwrap();
        assert_eq!(opened.store.stray().await.unwrap(), None);
    }
    assert_ne!(first, ChainHead::EMPTY);
}
