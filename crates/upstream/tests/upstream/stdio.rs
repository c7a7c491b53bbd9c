//! Calls to programs, well-behaved and other.

use mcpproxy_policy::Operation;
use mcpproxy_upstream::{CallError, UpstreamState};
use mcpproxy_wire::{JsonObject, ListedKind, RpcError};
use serde_json::json;

use crate::common::{Fake, LONG, call, moment, permit, soon, stdio};

#[tokio::test]
async fn a_server_is_greeted_listed_and_called() {
    let fake = Fake::start("normal");
    fake.upstream.fresh(soon()).await.expect("it starts");
    assert_eq!(fake.memory.annotations("target").read_only, Some(true));
    let UpstreamState::Ready {
        server_info,
        revision,
        pid,
        ..
    } = fake.upstream.state()
    else {
        panic!("it is ready");
    };
    assert_eq!(server_info.expect("it has one").to_value()["name"], "fake");
    assert_eq!(revision.expect("it has one").as_str(), "2025-11-25");
    assert!(pid.is_some());
    fake.upstream.stop(LONG).await;
    assert_eq!(fake.upstream.state(), UpstreamState::Stopped);
    let reason = "the server is stopped".into();
    assert_eq!(
        fake.read("echo", "{}").await,
        Err(CallError::Unavailable { reason })
    );
}

#[tokio::test]
async fn arguments_arrive_as_they_are_line_breaks_between_values_or_not() {
    let fake = Fake::start("normal");
    let said = fake
        .read("echo", "{\"big\": 12345678901234567890,\n\"a\":\r\n[1]}")
        .await;
    let expected = json!({ "big": 12_345_678_901_234_567_890_u64, "a": [1] });
    assert_eq!(said, Ok(expected));
    // On a line of its own this would be a call that nobody permitted.
    let smuggled = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"die"}}"#;
    let said = fake
        .read("echo", &format!("{{\"a\":\n{smuggled}\n}}"))
        .await;
    assert_eq!(said.expect("the server lives")["a"]["method"], "tools/call");
}

#[tokio::test]
async fn arguments_that_are_not_one_object_are_never_sent() {
    let fake = Fake::start("normal");
    for arguments in [
        r#"{},"name":"die""#,
        r#"{}},{"id":1"#,
        "[]",
        "1",
        "",
        "{",
        "{} {}",
    ] {
        // Nothing else can be given to a call.
        JsonObject::parse(arguments).expect_err("it is no object");
    }
    assert_eq!(fake.read("echo", " {} ").await, Ok(json!({})));
}

#[tokio::test]
async fn a_permit_for_another_server_is_refused() {
    let fake = Fake::start("normal");
    let other = permit("other", "echo", Operation::Read);
    let refused = call(&fake.upstream, &other, "{}", soon()).await;
    let reason = "the permit is for server 'other' and this is 'fake'".into();
    assert_eq!(
        refused.expect_err("it is for another"),
        CallError::Unavailable { reason }
    );
}

#[tokio::test]
async fn answers_out_of_order_reach_their_callers() {
    let fake = Fake::start("normal");
    fake.upstream.fresh(soon()).await.expect("it starts");
    let (first, second, third, released) = tokio::join!(
        fake.read("slow", r#"{"n":1}"#),
        fake.read("slow", r#"{"n":2}"#),
        fake.read("slow", r#"{"n":3}"#),
        fake.read("release", "{}"),
    );
    assert_eq!(first, Ok(json!({ "n": 1 })));
    assert_eq!(second, Ok(json!({ "n": 2 })));
    assert_eq!(third, Ok(json!({ "n": 3 })));
    assert_eq!(released, Ok(json!("released")));
}

#[tokio::test]
async fn many_callers_at_once_all_get_their_own_answer() {
    let fake = std::sync::Arc::new(Fake::start("normal"));
    let callers: Vec<_> = (0..64)
        .map(|caller| {
            let fake = std::sync::Arc::clone(&fake);
            tokio::spawn(async move {
                for call in 0..20 {
                    let arguments = json!({ "caller": caller, "call": call });
                    let said = fake.read("echo", &arguments.to_string()).await;
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
async fn requests_of_the_server_are_answered() {
    let fake = Fake::start("normal");
    let answers = fake.read("ask", "{}").await.expect("it got its answers");
    let ping = json!({ "jsonrpc": "2.0", "id": "p", "result": {} });
    assert_eq!(answers[0], ping);
    assert_eq!(answers[1]["id"], 77);
    assert_eq!(answers[1]["error"]["code"], -32601);
    assert_eq!(answers[2]["error"]["code"], -32601);
}

#[tokio::test]
async fn an_error_of_the_protocol_is_handed_on_without_secrets() {
    let fake = Fake::start("normal");
    // The server repeats its own secret, and it is hidden.
    let mut error = RpcError::new(-32602, "no such thing: ***");
    error.data = Some(json!([1, "***"]));
    assert_eq!(fake.read("refuse", "{}").await, Err(CallError::Rpc(error)));
}

#[tokio::test]
async fn lines_that_are_no_messages_are_ignored() {
    let fake = Fake::start("prints-garbage");
    assert_eq!(fake.read("echo", "{}").await, Ok(json!({})));
}

#[tokio::test]
async fn an_answer_that_is_too_long_fails_its_call_alone() {
    let fake = Fake::start("normal");
    let refused = fake.read("big", "{}").await.expect_err("it is too long");
    assert!(
        matches!(refused, CallError::Malformed { .. }),
        "{refused:?}"
    );
    assert_eq!(fake.read("echo", "{}").await, Ok(json!({})));
    assert_eq!(fake.memory.ready_count(), 1, "the connection went on");
}

#[tokio::test]
async fn a_flood_on_standard_error_neither_blocks_nor_fills() {
    let fake = Fake::start("floods-stderr");
    assert_eq!(fake.read("echo", "{}").await, Ok(json!({})));
    let tail = fake.upstream.stderr_tail(usize::MAX);
    assert_eq!(tail.len(), 100);
    assert!(tail[99].starts_with("stderr "));
    assert!(tail.iter().all(|line| line.len() <= 1024));
}

#[tokio::test]
async fn a_server_gets_its_own_variables_and_not_all_of_ours() {
    let fake = Fake::start("normal");
    let variables = fake
        .read("environment", "{}")
        .await
        .expect("it says them all");
    assert_eq!(variables["FAKE_KEY"], "topsecret-value");
    assert!(variables["PATH"].is_string());
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(variables["CARGO_MANIFEST_DIR"].is_null());
}

#[tokio::test]
async fn a_call_that_is_given_up_is_taken_back() {
    let fake = Fake::start("normal");
    fake.upstream.fresh(soon()).await.expect("it starts");
    let hang = permit("fake", "hang", Operation::Read);
    let late = call(&fake.upstream, &hang, "{}", moment()).await;
    assert!(matches!(late, Err(CallError::Timeout { sent: true, .. })));
    // The second one is dropped by its caller instead of running into its deadline.
    let dropped = tokio::time::timeout_at(moment(), fake.read("hang", "{}")).await;
    assert!(dropped.is_err());
    let cancelled = fake.read("cancelled", "{}").await.expect("it lives");
    assert_eq!(cancelled.as_array().map(Vec::len), Some(2), "{cancelled}");
}

#[tokio::test]
async fn a_server_that_does_not_read_holds_nobody_beyond_the_deadline() {
    let fake = Fake::start("normal");
    assert_eq!(fake.read("go_deaf", "{}").await, Ok(json!("deaf")));
    let echo = permit("fake", "echo", Operation::Read);
    let large = json!({ "text": "x".repeat(1024 * 1024) }).to_string();
    let begun = call(&fake.upstream, &echo, &large, moment()).await;
    assert!(matches!(begun, Err(CallError::Timeout { sent: true, .. })));
    let queued = call(&fake.upstream, &echo, "{}", moment()).await;
    assert!(matches!(
        queued,
        Err(CallError::Timeout { sent: false, .. })
    ));
}

#[tokio::test]
async fn waiting_for_a_slot_counts_against_the_deadline() {
    let fake = Fake::with("normal", |spec, _| spec.max_concurrent = 1);
    fake.upstream.fresh(soon()).await.expect("it starts");
    let echo = permit("fake", "echo", Operation::Read);
    let hang = fake.read("hang", "{}");
    let waiting = async { call(&fake.upstream, &echo, "{}", moment()).await };
    tokio::select! {
        biased;
        _ = hang => panic!("it never answers"),
        waited = waiting => assert!(
            matches!(waited, Err(CallError::Timeout { sent: false, .. }))
        ),
    }
    assert_eq!(fake.read("echo", "{}").await, Ok(json!({})), "free again");
}

#[tokio::test]
async fn pages_are_put_together_and_malformed_tools_left_out() {
    for mode in ["has-pages", "has-malformed-tools"] {
        let fake = Fake::start(mode);
        fake.upstream.fresh(soon()).await.expect("it starts");
        let listings = fake.memory.listings.lock().expect("no test panics here");
        assert_eq!(listings[0].len(), 15, "{mode}");
        assert!(listings[0].iter().all(|tool| &*tool.name != "no_schema"));
    }
}

#[tokio::test]
async fn older_revisions_and_servers_without_tools_are_fine() {
    let old = Fake::start("speaks-old");
    old.upstream.fresh(soon()).await.expect("it starts");
    let UpstreamState::Ready { revision, .. } = old.upstream.state() else {
        panic!("it is ready");
    };
    assert_eq!(revision.expect("it has one").as_str(), "2024-11-05");
    let bare = Fake::start("has-no-tools");
    bare.upstream.fresh(soon()).await.expect("it starts");
    assert_eq!(bare.memory.listings.lock().expect("no panics")[0].len(), 0);
}

#[tokio::test]
async fn a_server_nobody_uses_is_stopped_and_started_again() {
    let fake = Fake::with("normal", |spec, _| {
        spec.idle_stop = Some(std::time::Duration::from_millis(30));
    });
    fake.memory
        .until(|state| *state == UpstreamState::Idle)
        .await;
    assert_eq!(fake.read("echo", "{}").await, Ok(json!({})));
    assert_eq!(fake.memory.listings.lock().expect("no panics").len(), 1);
    assert!(fake.memory.ready_count() >= 2);
}

#[tokio::test]
async fn a_call_under_way_keeps_its_server_from_being_idle() {
    let idle = std::time::Duration::from_millis(10);
    let fake = Fake::with("normal", |spec, _| spec.idle_stop = Some(idle));
    let mut slow = std::pin::pin!(fake.read("slow", "{}"));
    let answer = loop {
        // Each round is many times the idle time. The call may not have arrived in the first.
        tokio::select! {
            answer = &mut slow => break answer,
            () = tokio::time::sleep(idle * 20) => {
                assert_eq!(fake.read("release", "{}").await, Ok(json!("released")));
            }
        }
    };
    assert_eq!(answer, Ok(json!({})));
}

#[tokio::test]
async fn a_listing_that_somebody_waits_for_keeps_its_server_from_being_idle() {
    let idle = std::time::Duration::from_millis(10);
    let fake = Fake::with("holds-prompts", |spec, _| spec.idle_stop = Some(idle));
    let mut listing = std::pin::pin!(fake.upstream.fresh_list(ListedKind::Prompt, soon()));
    let listed = loop {
        // Each round is many times the idle time. The request may not have arrived in the first.
        tokio::select! {
            listed = &mut listing => break listed,
            () = tokio::time::sleep(idle * 20) => {
                let states = fake.memory.states.borrow().clone();
                assert!(!states.contains(&UpstreamState::Idle), "{states:?}");
                assert_eq!(fake.read("release", "{}").await, Ok(json!("released")));
            }
        }
    };
    assert_eq!(listed, Ok(()));
}

#[tokio::test]
async fn a_servers_own_error_to_a_listing_is_passed_on() {
    let fake = Fake::start("refuses-other-lists");
    for kind in [ListedKind::Prompt, ListedKind::Resource] {
        let refused = fake.upstream.fresh_list(kind, soon()).await;
        let error = RpcError::new(-32050, "no list without ***");
        assert_eq!(refused, Err(CallError::Rpc(error)), "{kind:?}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_working_directory_is_the_configured_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let fake = Fake::with("normal", |spec, _| {
        stdio(spec).working_dir = Some(folder.path().to_owned());
        stdio(spec).env.push(("PWD".into(), String::new()));
    });
    assert_eq!(fake.read("echo", "{}").await, Ok(json!({})));
    let UpstreamState::Ready { pid: Some(pid), .. } = fake.upstream.state() else {
        panic!("it is ready");
    };
    let directory = std::fs::read_link(format!("/proc/{pid}/cwd")).expect("it runs");
    let expected = folder.path().canonicalize().expect("it exists");
    assert_eq!(directory, expected);
}
