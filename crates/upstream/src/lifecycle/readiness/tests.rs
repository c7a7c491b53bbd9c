//! Waits of callers, without a server.

use mcpproxy_wire::Protocol;

use super::*;
use crate::transport::TransportLink;

fn failed() -> UpstreamState {
    UpstreamState::Failed {
        reason: "gone".into(),
        attempt: 1,
        since: std::time::SystemTime::UNIX_EPOCH,
        retry_in: Some(Duration::from_secs(30)),
    }
}

fn connection() -> Arc<UpstreamConnection> {
    struct Nothing;
    impl crate::BuiltIn for Nothing {
        fn tools(&self) -> Vec<mcpproxy_wire::Json> {
            Vec::new()
        }

        fn call<'a>(
            &'a self,
            _tool: &'a str,
            _arguments: &'a mcpproxy_wire::JsonObject,
            _head: &'a crate::CallHead<'a>,
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
    let link = Arc::new(TransportLink::BuiltIn(Arc::new(Nothing)));
    UpstreamConnection::new(link, Protocol::Session, "1".into()).into()
}

/// Readiness with a connection whose tools are listed.
fn ready(is_announced: bool) -> Readiness {
    let readiness = Readiness::new();
    readiness.change(|facts| {
        facts.state = UpstreamState::Ready {
            since: std::time::SystemTime::UNIX_EPOCH,
            server_info: None,
            revision: None,
            pid: None,
        };
        facts.connection = Some(connection());
        let tools = facts.lists.freshness_mut(ListedKind::Tool);
        tools.is_announced = is_announced;
        let epoch = tools.begin();
        tools.set_listed(epoch, None);
    });
    readiness
}

fn at_once(readiness: &Readiness) -> Option<Result<(), CallError>> {
    let soon = Instant::now() + FAILURE_STANDS_FOR;
    let mut wait = std::pin::pin!(readiness.wait(Need::Listing(ListedKind::Tool), soon));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match wait.as_mut().poll(&mut context) {
        std::task::Poll::Ready(outcome) => Some(outcome.map(|_| ())),
        std::task::Poll::Pending => None,
    }
}

#[tokio::test]
async fn a_recent_failure_answers_at_once_and_an_old_one_is_tried_again() {
    let readiness = Readiness::new();
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
async fn a_failed_listing_answers_its_callers_and_the_next_caller_has_another() {
    let readiness = ready(true);
    readiness.lists_changed(&[ListedKind::Tool]);
    let soon = Instant::now() + FAILURE_STANDS_FOR;
    let mut waiting = std::pin::pin!(readiness.wait(Need::Listing(ListedKind::Tool), soon));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    readiness.change(|facts| {
        let tools = facts.lists.freshness_mut(ListedKind::Tool);
        let epoch = tools.begin();
        tools.set_refused(epoch, CallError::unavailable("no"));
    });
    assert_eq!(waiting.await.map(|_| ()), Err(CallError::unavailable("no")));
    assert_eq!(at_once(&readiness), None, "a new attempt is asked for");
    let due = readiness.read().lists.freshness(ListedKind::Tool).due();
    assert!(due.is_some_and(|due| due <= Instant::now()));
}

#[tokio::test]
async fn a_call_that_may_change_tools_marks_only_where_nothing_is_announced() {
    for announces in [true, false] {
        let readiness = ready(announces);
        readiness.mark_stale_unless_announced();
        let is_stale = readiness
            .read()
            .lists
            .freshness(ListedKind::Tool)
            .is_stale();
        assert_eq!(is_stale, !announces);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_renews_a_list_that_will_soon_be_too_old_and_does_not_wait_for_it() {
    let readiness = ready(true);
    tokio::time::advance(Duration::from_secs(6)).await;
    assert_eq!(at_once(&readiness), Some(Ok(())));
    let wait = readiness.wait(Need::Listing(ListedKind::Tool), Instant::now());
    assert!(wait.await.is_ok());
    let due = readiness.read().lists.freshness(ListedKind::Tool).due();
    assert_eq!(due, Some(Instant::now()));
    readiness.list_wanted(ListedKind::Tool).await;
}
