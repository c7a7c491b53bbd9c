//! What is on record, and when.

use mcpproxy_activity::{Filter, RecordKind, RecordOutcome, Status};
use mcpproxy_policy::{Operation, RecordScope};
use serde_json::{Value, json};

use crate::support::{Place, REFUSED, WORKED, call, call_as, open, soon, with_token};

engine_trials![
    a_write_is_on_disk_before_it_is_sent_and_its_outcome_before_the_answer,
    reads_refusals_and_calls_whose_caller_left_are_all_written,
    fr_031_fr_032_a_record_has_the_whole_intent_the_variant_and_every_other_field,
    long_texts_are_cut_after_secrets_are_hidden_and_their_sizes_kept,
    a_record_has_the_name_of_the_token_and_shows_nobody_its_id,
    the_chain_goes_on_after_a_restart,
    two_replicas_write_at_once_each_its_own_chain,
];

async fn a_write_is_on_disk_before_it_is_sent_and_its_outcome_before_the_answer(place: Place) {
    let log = place.log();
    let mut entry = open(&log, Operation::Write);
    let id = entry.id();
    assert!(
        place
            .archive()
            .find(id, &RecordScope::All)
            .await
            .unwrap()
            .is_none()
    );
    entry.begin_sending(soon()).await.unwrap();
    let sent = place
        .archive()
        .find(id, &RecordScope::All)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(sent.status, Status::InDoubt);
    assert_eq!(sent.arguments.unwrap().text, r#"{"path":"a"}"#);
    assert!(sent.closed.is_none() && sent.opened.is_some());
    entry.close(WORKED).await.unwrap();
    let done = place
        .archive()
        .find(id, &RecordScope::All)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(done.status, Status::Success);
    assert!(done.closed.is_some() && done.opened == sent.opened);
    log.stop().await;
}

async fn reads_refusals_and_calls_whose_caller_left_are_all_written(place: Place) {
    let log = place.log();
    let read = call(&log, Operation::Read).await;
    let refused = open(&log, Operation::Destructive);
    let refused_id = refused.id();
    refused.close(REFUSED).await.unwrap();
    let unsent = open(&log, Operation::Write);
    let unsent_id = unsent.id();
    drop(unsent);
    let mut left = open(&log, Operation::Write);
    let left_id = left.id();
    left.begin_sending(soon()).await.unwrap();
    drop(left);
    let mut slow = open(&log, Operation::Read);
    let slow_id = slow.id();
    slow.begin_sending(soon()).await.unwrap();
    slow.mark_under_way();
    assert_eq!(log.under_way(), 1);
    slow.close(WORKED).await.unwrap();
    log.stop().await;

    let found = async |id| {
        place
            .archive()
            .find(id, &RecordScope::All)
            .await
            .unwrap()
            .unwrap()
    };
    let read = found(read).await;
    assert_eq!(
        (read.kind, read.status),
        (RecordKind::ToolCall, Status::Success)
    );
    assert!(read.opened.is_none());
    let refused = found(refused_id).await;
    assert_eq!(
        (refused.kind, refused.status),
        (RecordKind::PolicyDecision, Status::Blocked)
    );
    assert_eq!(refused.error.unwrap().code, "INTENT_MISMATCH");
    assert_eq!(found(unsent_id).await.status, Status::Error);
    assert_eq!(found(left_id).await.status, Status::InDoubt);
    let slow = found(slow_id).await;
    assert_eq!(slow.status, Status::Success);
    assert!(slow.opened.is_some());
    assert!(place.archive().verify(|_, _| {}).await.unwrap().ok);
    let counts = log.counts();
    assert_eq!(
        (
            counts.success,
            counts.blocked,
            counts.error,
            counts.in_doubt
        ),
        (2, 1, 1, 1)
    );
}

async fn fr_031_fr_032_a_record_has_the_whole_intent_the_variant_and_every_other_field(
    place: Place,
) {
    let log = place.log();
    let id = call(&log, Operation::Destructive).await;
    log.stop().await;
    let record = place
        .archive()
        .find(id, &RecordScope::All)
        .await
        .unwrap()
        .unwrap();
    let shown = json!(record);
    let expected = [
        ("type", json!("tool_call")),
        ("server_name", json!("files")),
        ("tool_name", json!("write")),
        ("tool_variant", json!("call_tool_destructive")),
        ("intent_type", json!("destructive")),
        ("status", json!("success")),
        ("session_id", json!("session")),
        ("agent", json!("agent")),
        ("arguments", json!({ "path": "a" })),
        ("arguments_size", json!(12)),
        ("response", json!({ "content": [] })),
        (
            "intent",
            json!({ "operation_type": "destructive", "reason": "a test" }),
        ),
        ("error", Value::Null),
        ("warnings", json!([])),
    ];
    for (name, value) in expected {
        assert_eq!(shown[name], value, "{name}");
    }
    assert_eq!(
        shown["metadata"],
        json!({
            "intent": { "operation_type": "destructive", "reason": "a test" },
            "tool_variant": "call_tool_destructive",
            "client": { "name": "agent", "version": "1" },
        })
    );
    let timestamp = shown["timestamp"].as_str().unwrap();
    assert!(
        timestamp.ends_with('Z') && timestamp.len() == 24,
        "{timestamp}"
    );
    assert_eq!(shown["hash"].as_str().unwrap().len(), 64);
}

async fn long_texts_are_cut_after_secrets_are_hidden_and_their_sizes_kept(place: Place) {
    let secret = "s3cr3t-value-of-the-configuration";
    let log = place.log_with(&[secret]);
    let mut entry = open(&log, Operation::Write);
    let id = entry.id();
    // The cut goes through the middle of the secret.
    let text = format!(
        r#"{{"a":"{}{secret}{}"}}"#,
        "x".repeat(980),
        "y".repeat(50_000)
    );
    entry.set_arguments(&text);
    entry.begin_sending(soon()).await.unwrap();
    let end = RecordOutcome {
        status: Status::Error,
        error: Some((
            "UPSTREAM_ERROR",
            "it said s3cr3t-value-of-the-configuration\0",
        )),
        response: Some(&text),
    };
    entry.close(end).await.unwrap();
    log.stop().await;
    let record = place
        .archive()
        .find(id, &RecordScope::All)
        .await
        .unwrap()
        .unwrap();
    for payload in [record.arguments.unwrap(), record.response.unwrap()] {
        assert_eq!(payload.size, text.len() as u64);
        assert!(payload.is_cut && payload.text.len() <= 1_000);
        assert!(!payload.text.contains("s3cr"), "{}", payload.text);
    }
    assert_eq!(record.error.unwrap().message, "it said ***\u{fffd}");
    if place.is_sqlite() {
        for file in std::fs::read_dir(place.data_dir()).unwrap() {
            let path = file.unwrap().path();
            let bytes = std::fs::read(&path).unwrap_or_default();
            let is_there = bytes.windows(6).any(|window| window == b"s3cr3t");
            assert!(!is_there, "{}", path.display());
        }
    }
}

async fn a_record_has_the_name_of_the_token_and_shows_nobody_its_id(place: Place) {
    let log = place.log_with(&["hunter2-the-secret"]);
    let caller = with_token("robot hunter2-the-secret");
    let scope = caller.record_scope();
    let other = with_token("other").record_scope();
    let id = call_as(&log, caller, Operation::Write).await;
    log.stop().await;
    let record = place.archive().find(id, &scope).await.unwrap().unwrap();
    assert_eq!(
        record.token_id.as_deref(),
        Some("id of robot hunter2-the-secret")
    );
    let shown = json!(record);
    assert_eq!(shown["agent"], "robot ***");
    let client = json!({ "name": "agent", "version": "1" });
    assert_eq!(shown["metadata"]["client"], client);
    assert!(!shown.to_string().contains("id of robot"), "{shown}");
    assert_eq!(place.archive().find(id, &other).await.unwrap(), None);
    assert_eq!(place.archive().began(&other).await.unwrap(), None);
    assert!(place.archive().began(&scope).await.unwrap().is_some());
    assert!(place.archive().verify(|_, _| {}).await.unwrap().ok);
}

async fn the_chain_goes_on_after_a_restart(place: Place) {
    for _ in 0..3 {
        let log = place.log();
        call(&log, Operation::Write).await;
        log.stop().await;
    }
    let verdict = place.archive().verify(|_, _| {}).await.unwrap();
    assert!(verdict.ok, "{verdict:?}");
    assert_eq!(
        (verdict.chains.len(), verdict.records, verdict.links),
        (1, 3, 6)
    );
}

async fn two_replicas_write_at_once_each_its_own_chain(place: Place) {
    let second_folder = tempfile::tempdir().unwrap();
    let first = place.log();
    let second = if place.is_sqlite() {
        place.log()
    } else {
        let mut options = place.options();
        second_folder.path().clone_into(&mut options.data_dir);
        mcpproxy_activity::Log::start(&options, std::sync::Arc::default()).unwrap()
    };
    let work = async |log: &mcpproxy_activity::Log| {
        for _ in 0..50 {
            call(log, Operation::Write).await;
            call(log, Operation::Read).await;
        }
    };
    tokio::join!(work(&first), work(&second));
    first.stop().await;
    second.stop().await;
    let verdict = place.archive().verify(|_, _| {}).await.unwrap();
    assert!(verdict.ok, "{verdict:?}");
    assert_eq!((verdict.chains.len(), verdict.records), (2, 200));
    let count = place.archive().count(&Filter::default()).await.unwrap();
    assert_eq!(count, 200);
}
