//! Calls over Streamable HTTP.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::Method;
use mcpproxy_policy::Operation;
use mcpproxy_tests::eventually;
use mcpproxy_upstream::{CallError, HttpSpec, Spec, TransportSpec, Upstream, UpstreamState};
use mcpproxy_wire::ToolAnnotations;
use serde_json::{Value, json};

use crate::common::{Fake, LONG, call, moment, permit, permit_for, runtime, soon, spec};
use crate::http_server::{Seen, Server};

struct Web {
    server: Arc<Server>,
    fake: Fake,
}

impl Web {
    async fn start(prepare: impl FnOnce(&Server)) -> Self {
        let server = Arc::new(Server::default());
        prepare(&server);
        let url = Arc::clone(&server).start().await;
        Self {
            server,
            fake: connect(&url),
        }
    }
}

fn connect(url: &str) -> Fake {
    let (runtime, memory) = runtime();
    let spec = Spec {
        transport: TransportSpec::Http(HttpSpec {
            url: url.to_owned(),
            headers: vec![("Authorization".into(), "Bearer topsecret-value".into())],
        }),
        ..spec("")
    };
    Fake {
        upstream: Upstream::start(spec, &runtime),
        memory,
    }
}

fn set(flag: &std::sync::atomic::AtomicBool) {
    flag.store(true, Ordering::SeqCst);
}

#[tokio::test]
async fn connections_are_used_again_whatever_form_answers_have() {
    const CALLS: u32 = 30;
    for answers_with_events in [false, true] {
        let web = Web::start(|server| {
            server
                .answers_with_events
                .store(answers_with_events, Ordering::SeqCst);
        })
        .await;
        for _ in 0..CALLS {
            assert!(web.fake.read("echo", "{}").await.is_ok());
        }
        // A few are opened beside each other: for the greeting, listings and events.
        let opened = web.server.connections.load(Ordering::SeqCst);
        assert!(
            opened < CALLS / 2,
            "{opened} connections, events: {answers_with_events}"
        );
    }
}

#[tokio::test]
async fn a_session_is_opened_used_and_closed() {
    let web = Web::start(|_| {}).await;
    let arguments = json!({ "big": 12_345_678_901_234_567_890_u64 });
    let said = web.fake.read("echo", &arguments.to_string()).await;
    assert_eq!(said, Ok(arguments));
    let UpstreamState::Ready {
        revision,
        pid: None,
        ..
    } = web.fake.upstream.state()
    else {
        panic!("it is ready");
    };
    assert_eq!(revision.expect("it has one").as_str(), "2025-06-18");
    web.fake.upstream.stop(LONG).await;

    let header = |seen: &Seen, name: &str| {
        let value = seen
            .headers
            .get(name)
            .map(|value| value.to_str().expect("text").to_owned());
        value.unwrap_or_default()
    };
    let greeting = web
        .server
        .until(|seen| seen.message["method"] == "initialize")
        .await;
    assert_eq!(greeting.message["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(
        header(&greeting, "accept"),
        "application/json, text/event-stream"
    );
    assert_eq!(header(&greeting, "mcp-session-id"), "");
    let call = web
        .server
        .until(|seen| seen.message["method"] == "tools/call")
        .await;
    let last = web.server.until(|seen| seen.method == Method::DELETE).await;
    let events = web.server.until(|seen| seen.method == Method::GET).await;
    for seen in [&call, &last, &events] {
        assert_eq!(header(seen, "mcp-session-id"), "session-0");
        assert_eq!(header(seen, "mcp-protocol-version"), "2025-06-18");
        assert_eq!(header(seen, "authorization"), "Bearer topsecret-value");
    }
    assert_eq!(header(&events, "accept"), "text/event-stream");
    assert_eq!(web.server.count("notifications/initialized"), 1);
}

#[tokio::test]
async fn answers_come_as_events_too() {
    let web = Web::start(|server| set(&server.answers_with_events)).await;
    assert_eq!(
        web.fake.read("echo", r#"{"a":1}"#).await,
        Ok(json!({ "a": 1 }))
    );
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_taken_up_after_its_last_event() {
    let web = Web::start(|_| {}).await;
    assert_eq!(web.fake.read("resumes", "{}").await, Ok(json!("kept")));
    assert_eq!(web.server.count("tools/call"), 1);
}

#[tokio::test]
async fn a_listing_that_breaks_off_is_repeated() {
    let web = Web::start(|_| {}).await;
    let said = web.fake.call(Operation::Write, "drop_next", "{}").await;
    assert_eq!(said, Ok(json!("next")));
    assert_eq!(web.fake.upstream.fresh(soon()).await, Ok(()));
    assert_eq!(web.server.count("tools/list"), 3);
    assert_eq!(web.server.count("initialize"), 1);
}

#[tokio::test]
async fn requests_among_the_events_are_answered() {
    let web = Web::start(|_| {}).await;
    assert_eq!(web.fake.read("ask", "{}").await, Ok(json!("asked")));
    let ping = web.server.until(|seen| seen.message["id"] == "p").await;
    assert_eq!(ping.message["result"], json!({}));
    let roots = web
        .server
        .until(|seen| seen.message["error"].is_object())
        .await;
    assert_eq!(roots.message["id"], 5);
    assert_eq!(roots.message["error"]["code"], -32601);
}

#[tokio::test]
async fn an_expired_session_is_opened_again_and_the_call_made_once() {
    let web = Web::start(|_| {}).await;
    web.fake.upstream.fresh(soon()).await.expect("it starts");
    web.server.expire();
    let said = web
        .fake
        .call(Operation::Destructive, "echo", r#"{"n":1}"#)
        .await;
    assert_eq!(said, Ok(json!({ "n": 1 })));
    assert_eq!(web.server.count("initialize"), 2);
    // Refused once with the old session, taken once with the new.
    assert_eq!(web.server.count("tools/call"), 2);
}

#[tokio::test]
async fn an_expired_session_is_opened_again_for_a_listing_too() {
    let web = Web::start(|_| {}).await;
    let said = web.fake.call(Operation::Write, "echo", "{}").await;
    assert_eq!(said, Ok(json!({})));
    web.server.expire();
    let fresh = web.fake.upstream.fresh(soon()).await;
    assert_eq!(fresh, Ok(()));
    assert_eq!(web.server.count("initialize"), 2);
}

#[tokio::test]
async fn a_call_is_not_repeated_when_the_tools_changed_with_the_session() {
    let web = Web::start(|_| {}).await;
    web.fake.upstream.fresh(soon()).await.expect("it starts");
    web.server.change().await;
    web.server.expire();
    let refused = web.fake.call(Operation::Write, "echo", "{}").await;
    let refused = refused.expect_err("the decision may no longer hold");
    assert!(
        matches!(refused, CallError::Unavailable { .. }),
        "{refused:?}"
    );
    assert_eq!(web.server.count("tools/call"), 1);
    assert_eq!(
        web.fake.memory.annotations("target").destructive,
        Some(true)
    );
}

#[tokio::test]
async fn an_announced_change_is_learnt_from_the_stream_of_events() {
    let web = Web::start(|server| {
        set(&server.has_events);
        set(&server.declares_changes);
    })
    .await;
    web.server.until(|seen| seen.method == Method::GET).await;
    web.fake.upstream.fresh(soon()).await.expect("it starts");
    web.server.change().await;
    web.fake.memory.until_listings(2).await;
    assert_eq!(
        web.fake.memory.annotations("target").destructive,
        Some(true)
    );
}

#[tokio::test]
async fn what_was_missed_while_the_events_were_away_is_learnt_when_they_are_back() {
    let web = Web::start(|server| {
        set(&server.has_events);
        set(&server.declares_changes);
    })
    .await;
    web.server.until(|seen| seen.method == Method::GET).await;
    web.fake.upstream.fresh(soon()).await.expect("it starts");
    web.server.hang_up();
    web.server.change().await;
    web.fake.memory.until_listings(2).await;
    assert_eq!(
        web.fake.memory.annotations("target").destructive,
        Some(true)
    );
}

#[tokio::test]
async fn a_server_that_declares_changes_and_has_no_events_is_listed_by_age() {
    let web = Web::start(|server| set(&server.declares_changes)).await;
    web.fake.upstream.fresh(soon()).await.expect("it starts");
    web.server.change().await;
    eventually("the listing grows old", async || {
        web.fake.upstream.fresh(soon()).await.expect("it is there");
        let target = web.fake.memory.annotations("target");
        (target.destructive == Some(true)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn answers_that_are_none_fail_their_call_alone() {
    let web = Web::start(|_| {}).await;
    for (tool, expected) in [
        ("huge", "the answer is longer than 16777216 bytes"),
        (
            "html",
            "it answers with content type 'text/html' instead of JSON or events",
        ),
        (
            "accepted",
            "it accepted the request and gave no answer (HTTP 202)",
        ),
        ("wrong_id", "the answer is for another request"),
    ] {
        let refused = web
            .fake
            .read(tool, "{}")
            .await
            .expect_err("it is no answer");
        assert_eq!(
            refused,
            CallError::Malformed {
                reason: expected.into()
            }
        );
    }
    let garbage = web.fake.read("garbage", "{}").await;
    assert!(matches!(garbage, Err(CallError::Malformed { .. })));
    let refused = web
        .fake
        .read("rpc_error", "{}")
        .await
        .expect_err("it refuses");
    assert_eq!(refused.to_string(), "bad arguments (-32602)");
    for tool in ["drop", "breaks_off"] {
        let broken = web.fake.read(tool, "{}").await;
        assert!(
            matches!(broken, Err(CallError::Disconnected { sent: true, .. })),
            "{tool}: {broken:?}"
        );
    }
    assert_eq!(web.fake.read("echo", "{}").await, Ok(json!({})));
    assert_eq!(web.fake.memory.ready_count(), 1);
}

#[tokio::test]
async fn a_call_that_hangs_ends_by_its_deadline_and_is_taken_back() {
    let web = Web::start(|_| {}).await;
    web.fake.upstream.fresh(soon()).await.expect("it starts");
    let hang = permit("fake", "hang", Operation::Read);
    let late = call(&web.fake.upstream, &hang, "{}", moment()).await;
    assert!(matches!(late, Err(CallError::Timeout { sent: true, .. })));
    let call = web
        .server
        .until(|seen| seen.message["method"] == "tools/call")
        .await;
    let cancelled = |seen: &Seen| seen.message["method"] == "notifications/cancelled";
    let cancelled = web.server.until(cancelled).await;
    assert_eq!(cancelled.message["params"]["requestId"], call.message["id"]);
}

#[tokio::test]
async fn refusals_are_explained_and_repeat_no_secret() {
    for (status, expected) in [
        (
            401,
            "it refuses our credentials (HTTP 401): check the headers configured for it",
        ),
        (
            403,
            "it refuses our credentials (HTTP 403): check the headers configured for it",
        ),
        (404, "there is no MCP endpoint at its url (HTTP 404)"),
        (
            307,
            "it redirects (HTTP 307), which is not followed: configure the address it moved to",
        ),
        (500, "it failed (HTTP 500)"),
    ] {
        let web = Web::start(|server| server.status.store(status, Ordering::SeqCst)).await;
        let refused = web
            .fake
            .upstream
            .fresh(soon())
            .await
            .expect_err("it refuses");
        assert_eq!(
            refused,
            CallError::Unavailable {
                reason: expected.into()
            }
        );
    }
}

#[tokio::test]
async fn credentials_that_are_refused_later_end_the_session() {
    let web = Web::start(|_| {}).await;
    web.fake.upstream.fresh(soon()).await.expect("it starts");
    web.server.status.store(401, Ordering::SeqCst);
    let refused = web.fake.read("echo", "{}").await.expect_err("it refuses");
    assert!(
        matches!(refused, CallError::Unavailable { .. }),
        "{refused:?}"
    );
    assert!(web.fake.memory.failure().await.contains("HTTP 401"));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_reported_with_its_address_and_no_credential() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it listens");
    drop(listener);
    let fake = connect(&format!("http://{address}/mcp?key=hunter2"));
    let reason = fake.memory.failure().await;
    let expected = format!("it cannot be reached at http://{address}/mcp: ");
    assert!(reason.starts_with(&expected), "{reason}");
    assert!(!reason.contains("hunter2"), "{reason}");
}

#[tokio::test]
async fn a_wrong_address_or_header_is_named() {
    for (url, expected) in [
        ("ftp://host/", "its url is not an http or https address"),
        ("not a url", "its url is not an address"),
        (
            "http://user:topsecret@host/",
            "its url contains credentials, give them in headers instead",
        ),
    ] {
        assert_eq!(connect(url).memory.failure().await, expected);
    }
    let (runtime, memory) = runtime();
    let spec = Spec {
        transport: TransportSpec::Http(HttpSpec {
            url: "http://localhost/".into(),
            headers: vec![("X-Key".into(), "top\nsecret".into())],
        }),
        ..spec("")
    };
    let _upstream = Upstream::start(spec, &runtime);
    assert_eq!(memory.failure().await, "its header 'X-Key' is not valid");
}

#[tokio::test]
async fn many_callers_at_once_all_get_their_own_answer() {
    let web = Arc::new(Web::start(|_| {}).await);
    let callers: Vec<_> = (0..64)
        .map(|caller| {
            let web = Arc::clone(&web);
            tokio::spawn(async move {
                for call in 0..20 {
                    let arguments: Value = json!({ "caller": caller, "call": call });
                    let said = web.fake.read("echo", &arguments.to_string()).await;
                    assert_eq!(said, Ok(arguments));
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.expect("every answer fits");
    }
}

#[tokio::test]
async fn a_call_is_made_again_when_its_answer_gets_lost_and_it_can_do_nothing_twice() {
    let web = Web::start(|_| {}).await;
    let annotations = |read_only, destructive, idempotent| ToolAnnotations {
        read_only,
        destructive,
        idempotent,
        open_world: None,
    };
    for (operation, annotations, is_repeated) in [
        (Operation::Read, annotations(Some(true), None, None), true),
        (
            Operation::Write,
            annotations(Some(false), None, Some(true)),
            true,
        ),
        (
            Operation::Write,
            annotations(Some(false), None, None),
            false,
        ),
        (
            Operation::Destructive,
            annotations(None, Some(true), Some(true)),
            false,
        ),
        (Operation::Read, ToolAnnotations::default(), false),
    ] {
        let next = web.fake.call(Operation::Read, "drop_next", "{}").await;
        assert_eq!(next, Ok(json!("next")));
        let before = web.server.count("tools/call");
        let permit = permit_for("fake", "echo", operation, annotations);
        let outcome = call(&web.fake.upstream, &permit, "{}", soon()).await;
        assert_eq!(outcome.is_ok(), is_repeated, "{annotations:?}: {outcome:?}");
        let calls = web.server.count("tools/call") - before;
        assert_eq!(calls, if is_repeated { 2 } else { 1 }, "{annotations:?}");
    }
}
