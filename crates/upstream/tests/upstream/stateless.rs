//! Servers without sessions: revision 2026-07-28.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mcpproxy_policy::Operation;
use mcpproxy_tests::eventually;
use mcpproxy_upstream::{
    CallError, HttpSpec, ProtocolSetting, Spec, TransportSpec, Upstream, UpstreamState,
};
use mcpproxy_wire::Revision;
use serde_json::json;

use crate::common::{Fake, LONG, call, moment, permit, runtime, soon, spec};
use crate::stateless_server::StatelessServer;

/// The fake server as a program without sessions.
fn program(mode: &str) -> Fake {
    Fake::with(mode, |spec, _| spec.protocol = ProtocolSetting::Modern)
}

struct Web {
    server: Arc<StatelessServer>,
    fake: Fake,
}

impl Web {
    async fn start(prepare: impl FnOnce(&StatelessServer)) -> Self {
        Self::speaking(ProtocolSetting::Modern, prepare).await
    }

    async fn speaking(protocol: ProtocolSetting, prepare: impl FnOnce(&StatelessServer)) -> Self {
        let server = Arc::new(StatelessServer::default());
        prepare(&server);
        let url = Arc::clone(&server).start().await;
        let (runtime, memory) = runtime();
        let spec = Spec {
            transport: TransportSpec::Http(HttpSpec {
                url,
                headers: Vec::new(),
            }),
            protocol,
            ..spec("")
        };
        let fake = Fake {
            upstream: Upstream::start(spec, &runtime),
            memory,
        };
        Self { server, fake }
    }
}

async fn revision(fake: &Fake) -> Option<Revision> {
    fake.memory.until_ready(1).await;
    match fake.upstream.state() {
        UpstreamState::Ready { revision, .. } => revision,
        other => panic!("it is {other:?}"),
    }
}

/// Waits until there were so many subscriptions.
async fn until_subscribed(fake: &Fake, count: u32) {
    eventually("it is subscribed to", async || {
        (fake.read("subscribed", "{}").await == Ok(json!(count))).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_program_is_listed_and_called_without_a_session() {
    let fake = program("stateless");
    assert_eq!(revision(&fake).await, Some(Revision::V2026_07_28));
    let arguments = json!({ "a": [1, "ü"] });
    let said = fake.read("echo", &arguments.to_string()).await;
    assert_eq!(said, Ok(arguments));
    assert_eq!(fake.memory.annotations("target").read_only, Some(true));
}

#[tokio::test]
async fn results_that_are_not_complete_are_told_apart() {
    let fake = program("stateless");
    match fake.read("asks_for_input", "{}").await {
        Err(CallError::Rpc(error)) => assert!(error.message.contains("asks for input"), "{error}"),
        other => panic!("{other:?}"),
    }
    match fake.read("odd", "{}").await {
        Err(CallError::Malformed { reason }) => assert!(reason.contains("'odd'"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn changes_are_heard_of_on_a_subscription_that_is_opened_again() {
    let fake = program("stateless-announces");
    fake.memory.until_ready(1).await;
    until_subscribed(&fake, 1).await;
    let changed = fake.call(Operation::Write, "change", "{}").await;
    assert_eq!(changed, Ok(json!("changed")));
    // Nobody asks for a listing here: the announcement alone brings it.
    fake.memory.until_listings(2).await;
    assert_eq!(fake.memory.annotations("target").destructive, Some(true));
    let ended = fake.read("end_subscriptions", "{}").await;
    assert_eq!(ended, Ok(json!("ended")));
    until_subscribed(&fake, 2).await;
}

#[tokio::test]
async fn a_server_that_promises_announcements_and_has_none_is_listed_instead() {
    let fake = program("stateless-promises");
    fake.memory.until_ready(1).await;
    let changed = fake.call(Operation::Write, "change", "{}").await;
    assert_eq!(changed, Ok(json!("changed")));
    fake.upstream.fresh(soon()).await.expect("it lists");
    assert_eq!(fake.memory.annotations("target").destructive, Some(true));
}

#[tokio::test]
async fn a_call_to_a_program_that_is_given_up_is_taken_back() {
    let fake = program("stateless");
    let permit = permit("fake", "hang", Operation::Read);
    let given_up = call(&fake.upstream, &permit, "{}", moment()).await;
    assert!(matches!(
        given_up,
        Err(CallError::Timeout { sent: true, .. })
    ));
    let cancelled = fake.read("cancelled", "{}").await.expect("an answer");
    assert_eq!(cancelled.as_array().map(Vec::len), Some(1), "{cancelled}");
}

#[tokio::test]
async fn requests_over_http_say_in_headers_what_they_are_about() {
    let web = Web::start(|_| {}).await;
    assert_eq!(revision(&web.fake).await, Some(Revision::V2026_07_28));
    let said = web.fake.read("regional", r#"{"region":"Zürich"}"#).await;
    assert_eq!(said, Ok(json!({ "region": "Zürich" })));
    let seen = web.server.until("tools/call", 1).await;
    assert_eq!(seen.headers["mcp-param-region"], "=?base64?WsO8cmljaA==?=");
    let said = web.fake.read("größe", "{}").await;
    assert_eq!(said, Ok(json!({})));
    let seen = web.server.until("tools/call", 2).await;
    assert_eq!(seen.headers["mcp-name"], "=?base64?Z3LDtsOfZQ==?=");
    let methods = web.server.methods();
    assert!(!methods.contains(&"initialize".to_owned()), "{methods:?}");
}

#[tokio::test]
async fn a_tool_whose_header_cannot_be_sent_is_left_out_over_http() {
    let web = Web::start(|_| {}).await;
    web.fake.memory.until_ready(1).await;
    let listings = web.fake.memory.listings.lock().expect("no panics");
    let names: Vec<&str> = listings[0].iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["target", "regional"]);
}

#[tokio::test]
async fn changes_are_heard_of_over_http() {
    let web = Web::start(|server| server.announces.store(true, Ordering::SeqCst)).await;
    web.server.until("subscriptions/listen", 1).await;
    web.fake.memory.until_ready(1).await;
    web.server.change().await;
    web.fake.memory.until_listings(2).await;
    assert_eq!(
        web.fake.memory.annotations("target").destructive,
        Some(true)
    );
    web.server.hang_up();
    web.server.until("subscriptions/listen", 2).await;
}

#[tokio::test]
async fn giving_up_a_call_over_http_closes_its_stream_and_says_nothing() {
    let web = Web::start(|_| {}).await;
    let permit = permit("fake", "hang", Operation::Read);
    let given_up = call(&web.fake.upstream, &permit, "{}", moment()).await;
    assert!(matches!(
        given_up,
        Err(CallError::Timeout { sent: true, .. })
    ));
    let mut abandoned = web.server.abandoned.subscribe();
    tokio::time::timeout(LONG, abandoned.wait_for(|count| *count == 1))
        .await
        .expect("the server notices")
        .expect("the server lives");
    let methods = web.server.methods();
    assert!(
        !methods.iter().any(|one| one.contains("cancelled")),
        "{methods:?}"
    );
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_not_taken_up_again() {
    let web = Web::start(|_| {}).await;
    let broken = web.fake.call(Operation::Write, "breaks_off", "{}").await;
    assert!(
        matches!(broken, Err(CallError::Disconnected { sent: true, .. })),
        "{broken:?}"
    );
    let seen = web.server.seen.borrow();
    assert!(seen.iter().all(|one| one.method == http::Method::POST));
}

#[tokio::test]
async fn a_server_over_http_is_asked_what_it_speaks() {
    let web = Web::speaking(ProtocolSetting::Auto, |_| {}).await;
    assert_eq!(revision(&web.fake).await, Some(Revision::V2026_07_28));
    assert_eq!(web.server.methods()[..2], ["server/discover", "tools/list"]);
    for status in [400, 404, 405, 500] {
        let prepare =
            |server: &StatelessServer| server.refuses_with.store(status, Ordering::SeqCst);
        let web = Web::speaking(ProtocolSetting::Auto, prepare).await;
        assert_eq!(
            revision(&web.fake).await,
            Some(Revision::V2025_11_25),
            "{status}"
        );
        let methods = web.server.methods();
        assert_eq!(methods[..2], ["server/discover", "initialize"], "{status}");
    }
}
