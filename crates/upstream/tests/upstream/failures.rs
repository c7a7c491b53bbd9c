//! Servers that do not start, or do not stay.

use std::path::PathBuf;
use std::time::Duration;

use mcpproxy_policy::Operation;
use mcpproxy_upstream::{CallError, UpstreamState};
use serde_json::json;

use crate::common::{Fake, call, moment, permit, soon, stdio};

#[tokio::test]
async fn a_server_that_hangs_fails_by_its_deadline_and_holds_nobody_else() {
    let hanging = Fake::with("hangs", |spec, _| {
        spec.start_timeout = Duration::from_millis(300);
    });
    let other = Fake::start("normal");
    assert_eq!(other.read("echo", "{}").await, Ok(json!({})));
    let reason = hanging.memory.failure().await;
    assert_eq!(
        reason,
        "it did not answer initialize and showed no sign of life for 300 ms: no output, no processor time; raise its start_timeout if it needs longer"
    );
}

#[tokio::test]
async fn callers_of_a_starting_server_wait_until_their_own_deadline() {
    let fake = Fake::start("deaf");
    let waited = fake.upstream.fresh(moment()).await;
    let says_why = |error: CallError| {
        let is_first =
            matches!(&error, CallError::StillStarting { start, .. } if start.attempt == 1);
        is_first && !error.may_have_taken_effect()
    };
    assert!(waited.is_err_and(says_why));
    let echo = permit("fake", "echo", Operation::Read);
    let waited = call(&fake.upstream, &echo, "{}", moment()).await;
    assert!(waited.is_err_and(says_why));
    assert!(matches!(fake.upstream.state(), UpstreamState::Starting(_)));
}

#[tokio::test]
async fn a_server_that_exits_says_how_and_its_last_words_are_kept() {
    let fake = Fake::start("exits");
    let refused = fake.upstream.fresh(soon()).await;
    let reason = "the server exited with code 3".into();
    assert_eq!(refused, Err(CallError::Unavailable { reason }));
    let tail = fake.upstream.stderr_tail(usize::MAX);
    assert_eq!(tail, ["cannot start: the key is ***"], "no secret is shown");
}

#[tokio::test]
async fn what_cannot_be_started_is_named() {
    let fake = Fake::with("normal", |spec, _| {
        stdio(spec).command = "no-such-program".into();
    });
    assert_eq!(
        fake.memory.failure().await,
        "command 'no-such-program' was not found"
    );
    let fake = Fake::with("normal", |spec, _| {
        stdio(spec).working_dir = Some(PathBuf::from("/nowhere/at/all"));
    });
    assert_eq!(
        fake.memory.failure().await,
        "its working_dir does not exist or is not a directory"
    );
}

#[tokio::test]
async fn a_revision_nobody_knows_is_refused() {
    let fake = Fake::start("speaks-unknown");
    assert_eq!(
        fake.memory.failure().await,
        "it answers initialize with revision '1999-01-01', which has no sessions we know"
    );
}

#[tokio::test]
async fn a_server_that_fails_once_is_tried_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let fake = Fake::with("exits-once", |spec, _| {
        let marker = folder.path().join("marker");
        stdio(spec).args.push(marker.to_string_lossy().into_owned());
    });
    assert_eq!(fake.memory.failure().await, "the server exited with code 7");
    fake.memory
        .until(|state| matches!(state, UpstreamState::Ready { .. }))
        .await;
    assert_eq!(fake.read("echo", "{}").await, Ok(json!({})));
}

#[tokio::test]
async fn a_server_that_dies_ends_every_wait_and_is_started_again() {
    let fake = Fake::start("normal");
    fake.upstream.fresh(soon()).await.expect("it starts");
    let (hanging, dying) = tokio::join!(fake.read("hang", "{}"), fake.read("die", "{}"));
    for outcome in [hanging, dying] {
        let reason = "the server exited with code 9".into();
        assert_eq!(outcome, Err(CallError::Disconnected { sent: true, reason }));
    }
    fake.memory.until_ready(2).await;
    assert_eq!(fake.read("echo", "{}").await, Ok(json!({})));
}

#[tokio::test]
async fn a_listing_that_fails_fails_the_caller() {
    let fake = Fake::start("refuses-later-listings");
    fake.upstream
        .fresh(soon())
        .await
        .expect("the first one is fine");
    let changed = fake.call(Operation::Write, "echo", "{}").await;
    assert_eq!(changed, Ok(json!({})));
    for _ in 0..2 {
        let refused = fake.upstream.fresh(soon()).await;
        let reason = "it answers tools/list with an error: no list for you (-32603)".into();
        assert_eq!(refused, Err(CallError::Unavailable { reason }));
    }
    let listings = fake.read("listings", "{}").await;
    assert_eq!(listings, Ok(json!(3)), "each caller had its own attempt");
}

#[tokio::test]
async fn a_server_that_closes_its_input_is_started_again() {
    let fake = Fake::start("normal");
    assert_eq!(fake.read("close_input", "{}").await, Ok(json!("closed")));
    // Only who writes notices. The answer comes before the closing, so one call may still be
    // taken and lost, and what takes it back is then the first that cannot be written.
    let echo = permit("fake", "echo", Operation::Read);
    let noticed = async {
        while fake.memory.ready_count() < 2 {
            let _ = call(&fake.upstream, &echo, "{}", moment()).await;
        }
    };
    let reason = tokio::select! {
        reason = fake.memory.failure() => reason,
        () = noticed => fake.memory.failure().await,
    };
    assert_eq!(reason, "the server closed its input");
    fake.memory.until_ready(2).await;
    assert_eq!(fake.read("echo", "{}").await, Ok(json!({})));
}
