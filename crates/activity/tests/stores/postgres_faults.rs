//! What can go wrong between here and the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use mcpproxy_activity::chain::ChainHead;
use mcpproxy_activity::row::Cell;
use mcpproxy_activity::store::StoreError;
use mcpproxy_activity::{Filter, Status, postgres};
use mcpproxy_policy::RecordScope;
use mcpproxy_tests::{Database, Postgres, trials, within};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::postgres::Server;
use crate::story::sketch::{Quill, chain, id, outcome, request, set};
use crate::story::{Desk, Place, filter};

trials![
    a_server_that_is_down_can_be_opened_and_is_unavailable,
    a_wrong_password_or_database_needs_a_person,
    a_newer_version_is_left_alone,
    replicas_that_start_at_once_make_one_table,
    connections_that_broke_in_between_are_made_anew,
    long_names_are_kept_and_found,
    a_text_the_database_cannot_hold_is_an_error,
    a_commit_whose_answer_got_lost_is_taken_out_before_the_chain_goes_on,
    a_commit_that_can_be_looked_up_at_once_is_no_failure,
    a_server_that_does_not_answer_is_given_up,
];

async fn a_server_that_is_down_can_be_opened_and_is_unavailable() {
    // A port that was free a moment ago: nobody answers there.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let mut opened = postgres::open(&format!("postgres://me:s3cret@127.0.0.1:{port}/db")).unwrap();
    // On a thread that drives other tasks, too.
    let problems = [
        opened.journal.head(chain(1)).unwrap_err(),
        opened
            .store
            .page(&Filter::default(), None, 10)
            .await
            .unwrap_err(),
    ];
    for problem in problems {
        let StoreError::Unavailable(message) = &problem else {
            panic!("{problem:?}");
        };
        assert!(message.contains("cannot be reached"), "{message}");
        assert!(!message.contains("s3cret"), "{message}");
    }
}

async fn a_wrong_password_or_database_needs_a_person() {
    let server = Server::fresh().await;
    let url = server.0.url();
    let (start, end) = url.split_once('@').unwrap();
    let (user, _) = start.rsplit_once(':').unwrap();
    let address = end.split_once('/').unwrap().0;
    let check = async |url: String, expected: &str| {
        let mut opened = postgres::open(&url).unwrap();
        let problems = [
            opened.journal.head(chain(1)).unwrap_err(),
            opened.store.count(&Filter::default()).await.unwrap_err(),
        ];
        for problem in problems {
            let StoreError::Unusable(message) = &problem else {
                panic!("{problem:?}");
            };
            assert!(message.contains(expected), "{message}");
            assert!(!message.contains("s3cret"), "{message}");
        }
    };
    check(format!("{user}:s3cret@{end}"), "user and password").await;
    check(format!("{start}@{address}/nowhere"), "is not there").await;
}

async fn a_newer_version_is_left_alone() {
    let server = Server::fresh().await;
    let mut opened = server.open();
    opened.journal.head(chain(1)).unwrap();
    server
        .tamper("INSERT INTO activity_version VALUES (99)")
        .await;
    let mut opened = server.open();
    for problem in [
        opened.journal.head(chain(1)).unwrap_err(),
        opened.store.count(&Filter::default()).await.unwrap_err(),
    ] {
        let StoreError::Unusable(message) = &problem else {
            panic!("{problem:?}");
        };
        assert!(message.contains("newer version of mcpproxy"), "{message}");
    }
}

async fn replicas_that_start_at_once_make_one_table() {
    let server = Server::fresh().await;
    let url = server.0.url().to_owned();
    let tasks: Vec<_> = (0..6)
        .map(|_| {
            let url = url.clone();
            tokio::task::spawn_blocking(move || {
                postgres::open(&url).unwrap().journal.head(chain(1))
            })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap(), ChainHead::EMPTY);
    }
}

async fn connections_that_broke_in_between_are_made_anew() {
    let server = Server::fresh().await;
    let desk = Desk::open(&server);
    let mut quill = Quill::new(chain(1));
    let end_all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
    for number in 1..4 {
        let change = quill.whole(request(id(number, 1)), outcome("success"));
        desk.append(vec![change]).await.unwrap();
        server.tamper(end_all).await;
        let count = desk.store.count(&Filter::default()).await.unwrap();
        assert_eq!(count, number.unsigned_abs());
        server.tamper(end_all).await;
        assert_eq!(desk.head(chain(1)).await, quill.head);
        server.tamper(end_all).await;
    }
}

async fn long_names_are_kept_and_found() {
    let server = Server::fresh().await;
    let desk = Desk::open(&server);
    let mut quill = Quill::new(chain(1));
    // Nothing in it repeats, so that it cannot be made to fit by compression.
    let name = |last: &str| -> String {
        let numbers = (1..3_000_u64).map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let parts: Vec<String> = numbers.map(|number| format!("{number:x}")).collect();
        parts.concat() + last
    };
    for (number, last) in [(1, "a"), (2, "b")] {
        let mut request = request(id(number, 1));
        for column in ["server_name", "tool_name", "session_id", "agent"] {
            set(&mut request, column, Cell::from(name(last)));
        }
        let change = quill.whole(request, outcome("success"));
        desk.append(vec![change]).await.unwrap();
    }
    for column in ["server", "tool", "session_id", "agent"] {
        let found = desk.all(&filter(&[(column, &name("b"))]), 10).await;
        assert_eq!(found.len(), 1, "{column}");
        assert_eq!(found[0].id, id(2, 1));
    }
}

async fn a_text_the_database_cannot_hold_is_an_error() {
    let server = Server::fresh().await;
    let desk = Desk::open(&server);
    let mut quill = Quill::new(chain(1));
    let mut bad = request(id(1, 1));
    set(&mut bad, "arguments", Cell::from("a\0b"));
    let problem = desk
        .append(vec![quill.whole(bad, outcome("success"))])
        .await
        .unwrap_err();
    assert!(matches!(problem, StoreError::Unusable(_)), "{problem:?}");
    assert_eq!(desk.head(chain(1)).await, ChainHead::EMPTY);
}

/// What becomes of the next commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It passes.
    Passes,
    /// It reaches the server; its answer gets lost, and nobody is connected for a while.
    AnswerLost,
    /// It does not reach the server, and nobody is connected for a while.
    Lost,
    /// It reaches the server; its answer gets lost, and the next connection works.
    AnswerLostOnce,
    /// There is no line at all.
    Cut,
}

/// A line to the server that can be cut in the middle of a commit.
struct Cable {
    fate: Arc<AtomicU8>,
    url: String,
}

impl Cable {
    async fn to(database: &Database) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = database.url();
        let (start, end) = url.split_once('@').unwrap();
        let (address, name) = end.split_once('/').unwrap();
        let address = address.to_owned();
        let fate = Arc::new(AtomicU8::new(Fate::Passes as u8));
        let shared = Arc::clone(&fate);
        let cable = Self {
            fate,
            url: format!("{start}@127.0.0.1:{port}/{name}"),
        };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let fate = Arc::clone(&shared);
                let address = address.clone();
                tokio::spawn(async move { carry(client, &address, &fate).await });
            }
        });
        cable
    }

    fn set(&self, fate: Fate) {
        self.fate.store(fate as u8, Ordering::SeqCst);
    }
}

/// Carries bytes both ways. A cut line is cut for every later connection as well, until the fate
/// is set to another one.
async fn carry(mut client: TcpStream, address: &str, fate: &AtomicU8) {
    let is = |wanted: Fate| fate.load(Ordering::SeqCst) == wanted as u8;
    if is(Fate::Cut) {
        return;
    }
    let mut server = TcpStream::connect(address).await.unwrap();
    let (mut up, mut down) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            read = client.read(&mut up) => {
                let Ok(count @ 1..) = read else { return };
                let is_commit = up[..count].windows(7).any(|bytes| bytes == b"COMMIT\0");
                if is_commit && is(Fate::Lost) {
                    fate.store(Fate::Cut as u8, Ordering::SeqCst);
                    return;
                }
                server.write_all(&up[..count]).await.unwrap();
                if is_commit && (is(Fate::AnswerLost) || is(Fate::AnswerLostOnce)) {
                    // The answer tells that the commit was made, and goes no further.
                    within("the server commits", server.read(&mut down)).await.unwrap();
                    let next = if is(Fate::AnswerLost) { Fate::Cut } else { Fate::Passes };
                    fate.store(next as u8, Ordering::SeqCst);
                    return;
                }
            }
            read = server.read(&mut down) => {
                let Ok(count @ 1..) = read else { return };
                if client.write_all(&down[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}

struct Cut(Database, Cable);

impl Place for Cut {
    async fn fresh() -> Self {
        let database = Postgres::find().database().await;
        let cable = Cable::to(&database).await;
        Self(database, cable)
    }

    fn open(&self) -> mcpproxy_activity::store::OpenStore {
        postgres::open(&self.1.url).unwrap()
    }

    async fn tamper(&self, statement: &str) {
        self.0
            .client()
            .await
            .batch_execute(statement)
            .await
            .unwrap();
    }
}

/// Breaks off a commit and goes on as the writer does: from the head it had before, with another
/// record.
async fn after_a_broken_commit(fate: Fate) -> (Cut, Desk, Quill) {
    let place = Cut::fresh().await;
    let desk = Desk::open(&place);
    let mut quill = Quill::new(chain(1));
    let open = quill.open(request(id(1, 1)));
    desk.append(vec![open.clone()]).await.unwrap();
    let known = quill.head;
    let broken = vec![
        quill.complete(&open, outcome("success")),
        quill.whole(request(id(2, 1)), outcome("success")),
    ];
    place.1.set(fate);
    let problem = desk.append(broken).await.unwrap_err();
    assert!(matches!(problem, StoreError::Unavailable(_)), "{problem:?}");
    let still = desk.write(|journal| journal.head(chain(1))).await;
    assert!(still.is_err(), "nothing is said while nothing is known");

    place.1.set(Fate::Passes);
    assert_eq!(desk.head(chain(1)).await, known);
    let found = desk
        .store
        .find(id(1, 1), &RecordScope::All)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((found.status, found.closed), (Status::InDoubt, None));
    quill.head = known;
    let done = quill.complete(&open, outcome("error"));
    let other = quill.whole(request(id(3, 1)), outcome("blocked"));
    desk.append(vec![done, other]).await.unwrap();
    (place, desk, quill)
}

async fn a_commit_whose_answer_got_lost_is_taken_out_before_the_chain_goes_on() {
    for fate in [Fate::AnswerLost, Fate::Lost] {
        let (_place, desk, quill) = after_a_broken_commit(fate).await;
        assert_eq!(desk.head(chain(1)).await, quill.head);
        let records = desk.all(&Filter::default(), 10).await;
        let seen: Vec<_> = records
            .iter()
            .map(|record| (record.id, record.status))
            .collect();
        assert_eq!(
            seen,
            [(id(3, 1), Status::Blocked), (id(1, 1), Status::Error)],
            "{fate:?}"
        );
        let links = desk.store.links(chain(1), 0, 10).await.unwrap();
        let numbers: Vec<i64> = links.iter().map(|link| link.seq).collect();
        assert_eq!(numbers, [1, 2, 3]);
    }
}

async fn a_commit_that_can_be_looked_up_at_once_is_no_failure() {
    let place = Cut::fresh().await;
    let desk = Desk::open(&place);
    let mut quill = Quill::new(chain(1));
    // The tables are made by a commit of their own, which is not the one that is meant.
    assert_eq!(desk.head(chain(1)).await, ChainHead::EMPTY);
    for number in 1..4 {
        place.1.set(Fate::AnswerLostOnce);
        let change = quill.whole(request(id(number, 1)), outcome("success"));
        desk.append(vec![change]).await.unwrap();
        assert_eq!(desk.head(chain(1)).await, quill.head);
    }
    assert_eq!(desk.all(&Filter::default(), 10).await.len(), 3);
}

async fn a_server_that_does_not_answer_is_given_up() {
    // It takes connections and never says a word.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("postgres://me@127.0.0.1:{port}/db?connect_timeout=1");
    let asked =
        tokio::task::spawn_blocking(move || postgres::open(&url).unwrap().journal.head(chain(1)));
    let given_up = tokio::time::timeout(Duration::from_mins(2), asked).await;
    let problem = given_up.unwrap().unwrap().unwrap_err();
    assert!(matches!(problem, StoreError::Unavailable(_)), "{problem:?}");
    drop(listener);
}
