//! A disk that is full, gone or slow.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcpproxy_activity::chain::ChainHead;
use mcpproxy_activity::record::Hash;
use mcpproxy_activity::row::Row;
use mcpproxy_activity::store::{Journal, OpenStore};
use mcpproxy_activity::{Filter, Log, Status, StoreError, sqlite};
use mcpproxy_policy::Operation;
use mcpproxy_tests::trials;
use uuid::Uuid;

use crate::support::{Place, REFUSED, WORKED, call, open, soon};

trials![
    a_full_disk_refuses_writes_lets_reads_go_on_and_loses_nothing,
    a_full_buffer_refuses_reads_too_and_tells_later_how_many,
    with_64_clients_and_a_slow_disk_nothing_is_lost_and_commits_are_shared,
];

/// A real journal on a disk that can be made full and slow.
struct OnBadDisk {
    inner: Box<dyn Journal>,
    disk: Arc<Disk>,
}

#[derive(Default)]
struct Disk {
    is_full: AtomicBool,
    is_slow: AtomicBool,
    commits: AtomicUsize,
}

impl Journal for OnBadDisk {
    fn head(&mut self, chain: Uuid) -> Result<ChainHead, StoreError> {
        self.inner.head(chain)
    }

    fn hash_at(&mut self, chain: Uuid, seq: i64) -> Result<Option<Hash>, StoreError> {
        self.inner.hash_at(chain, seq)
    }

    fn append(&mut self, rows: &[Row]) -> Result<(), StoreError> {
        if self.disk.is_slow.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(30));
        }
        if self.disk.is_full.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("the disk is full".to_owned()));
        }
        self.disk.commits.fetch_add(1, Ordering::SeqCst);
        self.inner.append(rows)
    }

    fn prune(&mut self, chain: Uuid, through: i64, limit: usize) -> Result<usize, StoreError> {
        self.inner.prune(chain, through, limit)
    }
}

fn log_on(place: &Place, disk: &Arc<Disk>) -> Log {
    let opened = sqlite::open(&place.data_dir().join("state.db")).unwrap();
    let journal = OnBadDisk {
        inner: opened.journal,
        disk: Arc::clone(disk),
    };
    let opened = OpenStore {
        journal: Box::new(journal),
        store: opened.store,
    };
    Log::start_on(opened, &place.options(), Arc::default()).unwrap()
}

async fn a_full_disk_refuses_writes_lets_reads_go_on_and_loses_nothing() {
    let place = Place::sqlite();
    let disk = Arc::new(Disk::default());
    let log = log_on(&place, &disk);
    call(&log, Operation::Write).await;
    let mut sent = open(&log, Operation::Write);
    let sent_id = sent.id();
    sent.begin_sending(soon()).await.unwrap();

    disk.is_full.store(true, Ordering::SeqCst);
    for operation in [Operation::Write, Operation::Destructive, Operation::Write] {
        let mut entry = open(&log, operation);
        let problem = entry.begin_sending(soon()).await.unwrap_err();
        assert_eq!(problem.to_string(), "the disk is full");
        // Nobody waits for the record of a refusal.
        entry.close(REFUSED).await.unwrap();
    }
    for _ in 0..20 {
        call(&log, Operation::Read).await;
    }
    // What was sent before has an outcome that nobody may call recorded.
    assert!(sent.close(WORKED).await.is_err());
    assert_eq!(log.health().problem.as_deref(), Some("the disk is full"));

    disk.is_full.store(false, Ordering::SeqCst);
    let deadline = soon();
    while log.health().problem.is_some() {
        assert!(Instant::now() < deadline, "the log does not recover");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    call(&log, Operation::Write).await;
    log.stop().await;
    let records = place.records().await;
    let count = |status| {
        records
            .iter()
            .filter(|record| record.status == status)
            .count()
    };
    assert_eq!((count(Status::Success), count(Status::Blocked)), (23, 3));
    let sent = records.iter().find(|record| record.id == sent_id).unwrap();
    assert_eq!(sent.status, Status::Success);
    assert!(place.archive().verify(|_, _| {}).await.unwrap().ok);
}

async fn a_full_buffer_refuses_reads_too_and_tells_later_how_many() {
    let place = Place::sqlite();
    let disk = Arc::new(Disk::default());
    let log = log_on(&place, &disk);
    disk.is_full.store(true, Ordering::SeqCst);
    let mut recorded = 0;
    let refused = loop {
        let mut entry = open(&log, Operation::Read);
        match entry
            .begin_sending(Instant::now() + Duration::from_secs(5))
            .await
        {
            Ok(()) => entry.close(WORKED).await.unwrap(),
            Err(problem) => break (entry, problem),
        }
        recorded += 1;
        assert!(recorded < 100_000, "the buffer has no bound");
    };
    let (entry, problem) = refused;
    assert_eq!(problem.to_string(), "the disk is full");
    assert!(entry.close(REFUSED).await.is_err());
    assert_eq!(log.health().unrecorded_refusals, 1);
    disk.is_full.store(false, Ordering::SeqCst);
    log.stop().await;
    let everything = place.archive().count(&Filter::default()).await.unwrap();
    assert_eq!(everything, recorded + 1);
    let told = place.records().await.pop().unwrap();
    assert_eq!(told.metadata["count"], 1);
}

async fn with_64_clients_and_a_slow_disk_nothing_is_lost_and_commits_are_shared() {
    let place = Place::sqlite();
    let disk = Arc::new(Disk::default());
    disk.is_slow.store(true, Ordering::SeqCst);
    let log = log_on(&place, &disk);
    let client = |number: usize| {
        let log = log.clone();
        async move {
            let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(100_000));
            for turn in 0..8 {
                let operation = Operation::ALL[(number + turn) % 3];
                let mut entry = open(&log, operation);
                entry.set_arguments(&large);
                entry.begin_sending(soon()).await.unwrap();
                entry.close(WORKED).await.unwrap();
            }
        }
    };
    let clients: Vec<_> = (0..64).map(|number| tokio::spawn(client(number))).collect();
    let mut most_waiting = 0;
    while clients.iter().any(|client| !client.is_finished()) {
        most_waiting = most_waiting.max(log.health().queued);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for client in clients {
        client.await.unwrap();
    }
    log.stop().await;
    let count = place.archive().count(&Filter::default()).await.unwrap();
    assert_eq!(count, 64 * 8);
    // At most what the room admits, and no more than the clients have under way.
    assert!(most_waiting <= 8 * 1024);
    // 342 calls that write wait for two commits each; together they need far fewer.
    let commits = disk.commits.load(Ordering::SeqCst);
    assert!(commits < 342, "{commits} commits");
    assert!(place.archive().verify(|_, _| {}).await.unwrap().ok);
}
