//! Waits of callers, without a server.

use mcpproxy_wire::Protocol;

use super::*;
use crate::transport::TransportLink;

fn failed() -> UpstreamState {
    UpstreamState::Failed {
        reason: "gone".into(),
        attempt: 1,
        retry_in: Duration::from_secs(30),
    }
}

fn live(number: u64) -> LiveConnection {
    struct Nothing;
    impl crate::BuiltIn for Nothing {
        fn tools(&self) -> Vec<mcpproxy_wire::Json> {
            Vec::new()
        }

        fn call<'a>(
            &'a self,
            _tool: &'a str,
            _arguments: &'a mcpproxy_wire::JsonObject,
            _caller: &'a Arc<mcpproxy_policy::Caller>,
            _request_id: uuid::Uuid,
        ) -> std::pin::Pin<
            Box<
                dyn Future<Output = Result<mcpproxy_wire::Json, mcpproxy_wire::RpcError>>
                    + Send
                    + 'a,
            >,
        > {
            Box::pin(std::future::pending())
        }
    }
    LiveConnection {
        connection: Arc::new(UpstreamConnection::new(
            TransportLink::BuiltIn(Arc::new(Nothing)),
            Protocol::Session,
            "1",
        )),
        number,
        edition: 1,
    }
}

/// A readiness with a connection whose listing covers all epochs.
fn ready(announces: bool) -> Readiness {
    let readiness = Readiness::new(UpstreamState::Starting);
    let epoch = readiness.begin_listing();
    readiness.change(|facts| {
        facts.state = UpstreamState::Ready {
            since: std::time::SystemTime::UNIX_EPOCH,
            server_info: None,
            revision: None,
            pid: None,
        };
        facts.connection = Some(live(1));
        facts.announces = announces;
        facts.set_listed(epoch, None);
    });
    readiness
}

fn at_once(readiness: &Readiness) -> Option<Result<(), CallError>> {
    let mut wait = std::pin::pin!(readiness.wait(Need::Listing, Instant::now() + BELIEVED_FOR));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match wait.as_mut().poll(&mut context) {
        std::task::Poll::Ready(outcome) => Some(outcome.map(|_| ())),
        std::task::Poll::Pending => None,
    }
}

#[tokio::test]
async fn a_recent_failure_answers_at_once_and_an_old_one_is_tried_again() {
    let readiness = Readiness::new(UpstreamState::Starting);
    readiness.change(|facts| facts.set_failed(failed()));
    assert_eq!(
        at_once(&readiness),
        Some(Err(CallError::unavailable("gone")))
    );
    assert!(!readiness.take_wanted());
    readiness.change(|facts| facts.failed_at -= 2 * FAILURE_STANDS_FOR);
    assert_eq!(at_once(&readiness), None);
    assert!(readiness.take_wanted());
}

#[tokio::test]
async fn marks_make_a_listing_stale_and_age_only_where_nothing_is_announced() {
    for announces in [true, false] {
        let readiness = ready(announces);
        assert_eq!(at_once(&readiness), Some(Ok(())));
        readiness.mark_stale();
        assert_eq!(at_once(&readiness), None, "stale");
        let epoch = readiness.begin_listing();
        readiness.change(|facts| facts.set_listed(epoch, None));
        assert_eq!(at_once(&readiness), Some(Ok(())));
        readiness.change(|facts| {
            let listed = facts.listed.as_mut().expect("it is listed");
            listed.at -= 2 * BELIEVED_FOR;
        });
        assert_eq!(at_once(&readiness).is_some(), announces, "old");
    }
}

#[tokio::test]
async fn a_listing_that_began_before_a_mark_does_not_cover_it() {
    let readiness = ready(true);
    let epoch = readiness.begin_listing();
    readiness.mark_stale();
    readiness.change(|facts| facts.set_listed(epoch, None));
    assert_eq!(at_once(&readiness), None);
    assert!(readiness.read().is_listing_due());
}

#[tokio::test]
async fn a_failed_listing_answers_its_callers_and_the_next_caller_has_another() {
    let readiness = ready(true);
    readiness.mark_stale();
    let mut waiting = std::pin::pin!(readiness.wait(Need::Listing, Instant::now() + BELIEVED_FOR));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    let epoch = readiness.begin_listing();
    readiness.change(|facts| facts.set_refused(epoch, CallError::unavailable("no")));
    assert_eq!(waiting.await.map(|_| ()), Err(CallError::unavailable("no")));
    assert_eq!(at_once(&readiness), None, "a new attempt is asked for");
    assert!(readiness.take_wanted());
}

#[tokio::test]
async fn a_call_that_may_change_tools_marks_only_where_nothing_is_announced() {
    for announces in [true, false] {
        let readiness = ready(announces);
        readiness.mark_stale_unless_announced();
        assert_eq!(readiness.read().is_listing_due(), !announces);
    }
}

#[tokio::test]
async fn a_server_that_says_how_long_is_believed_that_long_within_bounds() {
    let is_current = |time_to_live: Duration, age: Duration| {
        let readiness = ready(false);
        let epoch = readiness.begin_listing();
        readiness.change(|facts| {
            facts.set_listed(epoch, Some(time_to_live));
            let listed = facts.listed.as_mut().expect("it is listed");
            listed.at -= age;
        });
        at_once(&readiness).is_some()
    };
    let (short, long) = (BELIEVED_FOR / 2, BELIEVED_FOR * 3);
    assert!(!is_current(Duration::ZERO, Duration::ZERO));
    assert!(!is_current(short, short));
    assert!(is_current(long, BELIEVED_FOR));
    assert!(!is_current(Duration::MAX, BELIEVED_AT_MOST));
}
