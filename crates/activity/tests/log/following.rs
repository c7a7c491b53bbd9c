//! Following the log from any position.

use mcpproxy_activity::LogPosition;
use mcpproxy_policy::Operation;
use uuid::Uuid;

use crate::support::{Place, call, open, soon};

engine_trials![a_follower_gets_every_record_once_in_the_order_of_their_outcomes,];

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
