//! Who waits for what, without a server.

use super::*;

fn failed() -> State {
    State::Failed {
        reason: "gone".into(),
        attempt: 1,
        retry_in: Duration::from_secs(30),
    }
}

fn live(number: u64) -> Live {
    struct Nothing;
    impl crate::BuiltIn for Nothing {
        fn tools(&self) -> Vec<mcpproxy_wire::Json> {
            Vec::new()
        }

        fn call<'a>(
            &'a self,
            _tool: &'a str,
            _arguments: &'a str,
            _: crate::Origin<'a>,
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
    Live {
        connection: Arc::new(Connection::built_in(Arc::new(Nothing))),
        number,
        edition: 1,
    }
}

/// A board with a connection whose listing covers all marks.
fn ready(announces: bool) -> Board {
    let board = Board::new(State::Starting);
    let mark = board.begin_listing();
    board.change(|progress| {
        progress.state = State::Ready {
            since: std::time::SystemTime::UNIX_EPOCH,
            server_info: None,
            revision: None,
            pid: None,
        };
        progress.connection = Some(live(1));
        progress.announces = announces;
        progress.set_listed(mark, None);
    });
    board
}

fn at_once(board: &Board) -> Option<Result<(), CallError>> {
    let mut wait = std::pin::pin!(board.wait(Need::Listing, Instant::now() + BELIEVED_FOR));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match wait.as_mut().poll(&mut context) {
        std::task::Poll::Ready(outcome) => Some(outcome.map(|_| ())),
        std::task::Poll::Pending => None,
    }
}

#[tokio::test]
async fn a_recent_failure_answers_at_once_and_an_old_one_is_tried_again() {
    let board = Board::new(State::Starting);
    board.change(|progress| progress.set_failed(failed()));
    assert_eq!(at_once(&board), Some(Err(CallError::unavailable("gone"))));
    assert!(!board.take_wanted());
    board.change(|progress| progress.failed_at -= 2 * FAILURE_STANDS_FOR);
    assert_eq!(at_once(&board), None);
    assert!(board.take_wanted());
}

#[tokio::test]
async fn marks_make_a_listing_stale_and_age_only_where_nothing_is_announced() {
    for announces in [true, false] {
        let board = ready(announces);
        assert_eq!(at_once(&board), Some(Ok(())));
        board.mark_stale();
        assert_eq!(at_once(&board), None, "stale");
        let mark = board.begin_listing();
        board.change(|progress| progress.set_listed(mark, None));
        assert_eq!(at_once(&board), Some(Ok(())));
        board.change(|progress| {
            let listed = progress.listed.as_mut().expect("it is listed");
            listed.at -= 2 * BELIEVED_FOR;
        });
        assert_eq!(at_once(&board).is_some(), announces, "old");
    }
}

#[tokio::test]
async fn a_listing_that_began_before_a_mark_does_not_cover_it() {
    let board = ready(true);
    let mark = board.begin_listing();
    board.mark_stale();
    board.change(|progress| progress.set_listed(mark, None));
    assert_eq!(at_once(&board), None);
    assert!(board.look().has_news());
}

#[tokio::test]
async fn a_failed_listing_answers_its_callers_and_the_next_caller_has_another() {
    let board = ready(true);
    board.mark_stale();
    let mut waiting = std::pin::pin!(board.wait(Need::Listing, Instant::now() + BELIEVED_FOR));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    let mark = board.begin_listing();
    board.change(|progress| progress.set_refused(mark, CallError::unavailable("no")));
    assert_eq!(waiting.await.map(|_| ()), Err(CallError::unavailable("no")));
    assert_eq!(at_once(&board), None, "a new attempt is asked for");
    assert!(board.take_wanted());
}

#[tokio::test]
async fn a_call_that_may_change_tools_marks_only_where_nothing_is_announced() {
    for announces in [true, false] {
        let board = ready(announces);
        board.mark_stale_unless_announced();
        assert_eq!(board.look().has_news(), !announces);
    }
}

#[tokio::test]
async fn a_server_that_says_how_long_is_believed_that_long_within_bounds() {
    let is_current = |time_to_live: Duration, age: Duration| {
        let board = ready(false);
        let mark = board.begin_listing();
        board.change(|progress| {
            progress.set_listed(mark, Some(time_to_live));
            let listed = progress.listed.as_mut().expect("it is listed");
            listed.at -= age;
        });
        at_once(&board).is_some()
    };
    let (short, long) = (BELIEVED_FOR / 2, BELIEVED_FOR * 3);
    assert!(!is_current(Duration::ZERO, Duration::ZERO));
    assert!(!is_current(short, short));
    assert!(is_current(long, BELIEVED_FOR));
    assert!(!is_current(Duration::MAX, BELIEVED_AT_MOST));
}
