//! Following the log from any position.

use mcpproxy_activity::{Filter, LogPosition};
use mcpproxy_policy::{Caller, Operation, RecordScope};
use uuid::Uuid;

use crate::support::{Place, anonymous, call, call_as, open, soon, with_token};

engine_trials![
    a_follower_gets_every_record_once_in_the_order_of_their_outcomes,
    a_follower_of_its_own_records_is_told_of_no_others,
];

async fn a_follower_gets_every_record_once_in_the_order_of_their_outcomes(place: Place) {
    let log = place.log();
    call(&log, Operation::Write).await;
    let mut tail = log.archive().follow(None).await.unwrap();
    let mut slow = open(&log, Operation::Write);
    let slow_id = slow.id();
    slow.begin_sending(soon()).await.unwrap();
    let first = call(&log, Operation::Write).await;
    let second = call(&log, Operation::Destructive).await;
    let ids = |followed: &[mcpproxy_activity::Followed]| -> Vec<Uuid> {
        followed.iter().map(|one| one.record.id).collect()
    };
    let followed = tail.next(100).await.unwrap();
    assert_eq!(ids(&followed), [first, second]);
    assert!(tail.next(100).await.unwrap().is_empty());
    slow.close(crate::support::WORKED).await.unwrap();
    assert_eq!(ids(&tail.next(100).await.unwrap()), [slow_id]);
    // Somebody who saw the first comes back later.
    let position = followed[0].position.to_string();
    let position = LogPosition::parse(&position).unwrap();
    let mut resumed = log.archive().follow(Some(position)).await.unwrap();
    assert_eq!(ids(&resumed.next(100).await.unwrap()), [second, slow_id]);
    // Another process writes a chain that was not there before.
    let other = place.log();
    let third = call(&other, Operation::Write).await;
    assert_eq!(ids(&resumed.next(100).await.unwrap()), [third]);
    other.stop().await;
    log.stop().await;
}

async fn a_follower_of_its_own_records_is_told_of_no_others(place: Place) {
    let log = place.log();
    let mut tail = log.archive().follow(None).await.unwrap();
    let mut own: [Vec<Uuid>; 3] = Default::default();
    let callers = [with_token("one"), with_token("two"), anonymous()];
    for _ in 0..5 {
        for (caller, own) in callers.iter().zip(&mut own) {
            own.push(call_as(&log, caller.clone(), Operation::Write).await);
        }
    }
    let followed = tail.next(100).await.unwrap();
    assert_eq!(followed.len(), 15);
    let told = |scope: RecordScope| -> Vec<Uuid> {
        let filter = Filter {
            scope,
            ..Filter::default()
        };
        let records = followed.iter().map(|one| &one.record);
        let admitted = records.filter(|record| filter.admits(record));
        admitted.map(|record| record.id).collect()
    };
    for (caller, own) in callers.iter().zip(own) {
        assert_eq!(told(caller.record_scope()), own);
    }
    // They share the name of a session, and yet have nothing in common.
    assert!(told(Caller::default().record_scope()).is_empty());
    log.stop().await;
}
