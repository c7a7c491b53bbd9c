//! The disks and databases that other tests use do what those take for granted.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::ErrorKind;

use mcpproxy_tests::{Database, Postgres, SmallDisk, trials};

trials![
    a_small_disk_is_full_until_it_is_freed,
    databases_are_empty_apart_and_gone_afterwards,
    what_a_database_commits_is_on_disk,
];

async fn a_small_disk_is_full_until_it_is_freed() {
    let disk = SmallDisk::mount(256 * 1024);
    let file = disk.path().join("record");
    let write = || std::fs::write(&file, b"x").map_err(|error| error.kind());
    disk.fill();
    assert_eq!(write(), Err(ErrorKind::StorageFull));
    disk.free();
    assert_eq!(write(), Ok(()));
    disk.fill();
    disk.fill();
    let filling = disk.path().join("filling");
    let filled = std::fs::metadata(filling).unwrap().len();
    assert_eq!(filled, 256 * 1024 - 4096, "all but the page of the record");
    let path = disk.path().to_owned();
    drop(disk);
    assert!(!path.exists());
}

async fn databases_are_empty_apart_and_gone_afterwards() {
    let postgres = Postgres::find();
    let (one, other) = (postgres.database().await, postgres.database().await);
    let client = one.client().await;
    client
        .batch_execute("CREATE TABLE record (id int); INSERT INTO record VALUES (1)")
        .await
        .unwrap();
    let is_there = "SELECT to_regclass('record') IS NOT NULL";
    let check = async |database: &Database, expected: bool| {
        let client = database.client().await;
        let row = client.query_one(is_there, &[]).await.unwrap();
        assert_eq!(row.get::<_, bool>(0), expected);
    };
    check(&one, true).await;
    check(&other, false).await;

    let row = client.query_one("SELECT current_database()::text", &[]);
    let name: String = row.await.unwrap().get(0);
    // One connection is still open.
    drop(one);
    let count = "SELECT count(*) FROM pg_database WHERE datname = $1";
    let row = other.client().await.query_one(count, &[&name]).await;
    assert_eq!(row.unwrap().get::<_, i64>(0), 0);
    drop(client);
}

async fn what_a_database_commits_is_on_disk() {
    let database = Postgres::find().database().await;
    let client = database.client().await;
    for setting in ["fsync", "synchronous_commit", "full_page_writes"] {
        let show = format!("SHOW {setting}");
        let row = client.query_one(&show, &[]).await.unwrap();
        assert_eq!(row.get::<_, String>(0), "on", "{setting}");
    }
}
