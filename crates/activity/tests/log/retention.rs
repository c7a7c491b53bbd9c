//! What retention removes is not missed by `verify`, and nothing else may be missing.

use std::time::Duration;

use jiff::Timestamp;
use mcpproxy_activity::{Filter, RecordKind, Tampering};
use mcpproxy_policy::{Operation, RecordScope};

use crate::support::{Place, call, open, policy, soon};

engine_trials![
    old_records_are_removed_and_what_is_left_is_still_proven,
    whoever_asks_for_it_removes_what_is_older_than_a_moment_and_no_more,
    only_so_many_records_are_kept,
    removing_more_than_retention_did_or_its_own_record_is_found,
    a_crash_between_the_checkpoint_and_the_removal_leaves_a_sound_chain,
];

fn in_a_week() -> Timestamp {
    Timestamp::now() + Duration::from_hours(24 * 7)
}

async fn old_records_are_removed_and_what_is_left_is_still_proven(place: Place) {
    let log = place.log();
    let mut under_way = open(&log, Operation::Write);
    under_way.begin_sending(soon()).await.unwrap();
    for _ in 0..450 {
        call(&log, Operation::Read).await;
    }
    under_way.close(crate::support::WORKED).await.unwrap();
    assert_eq!(log.prune(Timestamp::now()).await.unwrap(), 0);
    // The outcome of the call comes last, and the last link of a chain stays.
    assert_eq!(log.prune(in_a_week()).await.unwrap(), 450);
    let verdict = place.archive().verify(|_, _| {}).await.unwrap();
    assert!(verdict.ok, "{verdict:?}");
    for _ in 0..10 {
        call(&log, Operation::Write).await;
    }
    // The second time it says itself how far the first went.
    assert_eq!(log.prune(in_a_week()).await.unwrap(), 11);
    log.stop().await;
    let verdict = place.archive().verify(|_, _| {}).await.unwrap();
    assert!(verdict.ok, "{verdict:?}");
    assert!(verdict.chains[0].pruned_through > 450);
}

async fn whoever_asks_for_it_removes_what_is_older_than_a_moment_and_no_more(place: Place) {
    let log = place.log();
    assert_eq!(
        place.archive().began(&RecordScope::All).await.unwrap(),
        None
    );
    for _ in 0..5 {
        call(&log, Operation::Write).await;
    }
    let kept = call(&log, Operation::Write).await;
    let first_kept = place
        .archive()
        .find(kept, &RecordScope::All)
        .await
        .unwrap()
        .unwrap();
    let began = place
        .archive()
        .began(&RecordScope::All)
        .await
        .unwrap()
        .unwrap();
    assert!(began <= first_kept.timestamp, "{began}");
    // Well within the retention, and yet they go. Records of the same millisecond stay.
    let removed = log.prune_before(first_kept.timestamp).await.unwrap();
    assert!(removed <= 5, "{removed}");
    assert!(
        place
            .archive()
            .find(kept, &RecordScope::All)
            .await
            .unwrap()
            .is_some()
    );
    let counted = place.archive().count(&Filter::default()).await.unwrap();
    let checkpoint = u64::from(removed > 0);
    assert_eq!(counted, 6 - removed + checkpoint);
    log.stop().await;
    let verdict = place.archive().verify(|_, _| {}).await.unwrap();
    assert!(verdict.ok, "{verdict:?}");
}

async fn only_so_many_records_are_kept(place: Place) {
    let log = place.log();
    let mut limits = policy();
    limits.max_records = Some(20);
    log.set_policy(limits);
    let mut newest = None;
    for _ in 0..100 {
        newest = Some(call(&log, Operation::Write).await);
    }
    log.prune(Timestamp::now()).await.unwrap();
    let count = place.archive().count(&Filter::default()).await.unwrap();
    assert!((20..=23).contains(&count), "{count}");
    let newest = place
        .archive()
        .find(newest.unwrap(), &RecordScope::All)
        .await
        .unwrap();
    assert!(newest.is_some());
    log.stop().await;
    assert!(place.archive().verify(|_, _| {}).await.unwrap().ok);
}

async fn removing_more_than_retention_did_or_its_own_record_is_found(place: Place) {
    let log = place.log();
    for _ in 0..50 {
        call(&log, Operation::Write).await;
    }
    log.prune(in_a_week()).await.unwrap();
    for _ in 0..5 {
        call(&log, Operation::Write).await;
    }
    log.stop().await;
    place
        .sql("CREATE TABLE backup AS SELECT * FROM activity")
        .await;
    assert!(place.archive().verify(|_, _| {}).await.unwrap().ok);

    place
        .sql("DELETE FROM activity WHERE seq = (SELECT min(seq) FROM activity)")
        .await;
    let problem = place.archive().verify(|_, _| {}).await.unwrap().problem;
    assert_eq!(problem.unwrap().kind, Tampering::Removed);

    place
        .sql("DELETE FROM activity; INSERT INTO activity SELECT * FROM backup")
        .await;
    place
        .sql("DELETE FROM activity WHERE type = 'system'")
        .await;
    let problem = place.archive().verify(|_, _| {}).await.unwrap().problem;
    assert_eq!(problem.unwrap().kind, Tampering::Removed);
}

async fn a_crash_between_the_checkpoint_and_the_removal_leaves_a_sound_chain(place: Place) {
    let log = place.log();
    for _ in 0..30 {
        call(&log, Operation::Write).await;
    }
    place
        .sql("CREATE TABLE backup AS SELECT * FROM activity")
        .await;
    log.prune(in_a_week()).await.unwrap();
    log.stop().await;
    let put_back = |many: u32| {
        format!(
            "INSERT INTO activity SELECT * FROM backup
                 WHERE seq > {many} AND id NOT IN (SELECT id FROM activity)"
        )
    };
    for removed in [40, 7, 0] {
        place.sql(&put_back(removed)).await;
        let verdict = place.archive().verify(|_, _| {}).await.unwrap();
        assert!(verdict.ok, "{removed}: {verdict:?}");
    }
    let system = Filter {
        kind: Some(RecordKind::System),
        ..Filter::default()
    };
    assert_eq!(place.archive().count(&system).await.unwrap(), 1);
}
