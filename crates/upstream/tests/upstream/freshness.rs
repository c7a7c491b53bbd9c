//! What the observer knows is what the server has, whenever a caller asks.

use mcpproxy_policy::Operation;
use mcpproxy_tests::eventually;
use serde_json::json;

use crate::common::{Fake, soon};

#[tokio::test]
async fn an_announced_change_is_known_before_the_next_caller_goes_on() {
    let fake = Fake::start("announces");
    fake.upstream.fresh(soon()).await.expect("it starts");
    assert_eq!(fake.memory.annotations("target").destructive, None);
    // Called as reading: only the announcement tells.
    fake.read("change", "{}").await.expect("it changes");
    fake.upstream.fresh(soon()).await.expect("it lists again");
    assert_eq!(fake.memory.annotations("target").destructive, Some(true));
}

#[tokio::test]
async fn an_announced_change_is_learnt_without_any_caller() {
    let fake = Fake::start("announces");
    fake.read("change", "{}").await.expect("it changes");
    fake.memory.until_listings(2).await;
    assert_eq!(fake.memory.annotations("target").destructive, Some(true));
}

#[tokio::test]
async fn a_change_is_learnt_from_a_server_that_tells_without_having_promised_to() {
    let fake = Fake::start("tells");
    fake.read("change", "{}").await.expect("it changes");
    fake.memory.until_listings(2).await;
    assert_eq!(fake.memory.annotations("target").destructive, Some(true));
}

#[tokio::test]
async fn a_silent_change_is_known_after_a_call_that_may_have_made_it() {
    let fake = Fake::start("normal");
    fake.upstream.fresh(soon()).await.expect("it starts");
    fake.call(Operation::Write, "change", "{}")
        .await
        .expect("it changes");
    fake.upstream.fresh(soon()).await.expect("it lists again");
    assert_eq!(fake.memory.annotations("target").destructive, Some(true));
}

#[tokio::test]
async fn a_silent_change_is_known_once_the_listing_is_old() {
    let fake = Fake::start("normal");
    fake.read("change", "{}").await.expect("it changes");
    eventually("the listing grows old", async || {
        fake.upstream.fresh(soon()).await.expect("it is there");
        let target = fake.memory.annotations("target");
        (target.destructive == Some(true)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn callers_share_one_listing() {
    let fake = Fake::start("announces");
    fake.upstream.fresh(soon()).await.expect("it starts");
    let before = fake.read("listings", "{}").await.expect("it counts");
    fake.call(Operation::Write, "change", "{}")
        .await
        .expect("it changes");
    let callers: Vec<_> = (0..20)
        .map(|_| {
            let upstream = fake.upstream.clone();
            tokio::spawn(async move { upstream.fresh(soon()).await })
        })
        .collect();
    for caller in callers {
        caller.await.expect("no panic").expect("it is listed");
    }
    assert_eq!(before, json!(1));
    assert_eq!(fake.read("listings", "{}").await, Ok(json!(2)));
}

#[tokio::test]
async fn the_observer_hears_of_a_listing_only_when_it_differs() {
    let fake = Fake::start("normal");
    for _ in 0..3 {
        fake.call(Operation::Write, "echo", "{}")
            .await
            .expect("it echoes");
        fake.upstream.fresh(soon()).await.expect("it lists again");
    }
    assert_eq!(fake.read("listings", "{}").await, Ok(json!(4)));
    assert_eq!(fake.memory.listings.lock().expect("no panics").len(), 1);
}
