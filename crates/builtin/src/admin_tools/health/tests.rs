use mcpproxy_activity::RecordKind;
use mcpproxy_activity::record::RecordError as Recorded;
use serde_json::Map;
use uuid::Uuid;

use super::*;

fn server(state: &'static str, reason: Option<&str>) -> ServerStatus {
    ServerStatus {
        name: "files".to_owned(),
        state: state.into(),
        reason: reason.map(str::to_owned),
        tools: 3,
        annotated: 3,
        ..ServerStatus::default()
    }
}

fn record(server: &str, status: Status, milliseconds: i64) -> Record {
    let error = (status == Status::Error).then(|| Recorded {
        code: "TOOL_ERROR".to_owned(),
        message: format!("failed after {milliseconds} ms"),
    });
    Record {
        id: Uuid::now_v7(),
        request_id: Uuid::now_v7(),
        parent_id: None,
        session_id: None,
        trace_id: None,
        kind: RecordKind::ToolCall,
        timestamp: jiff::Timestamp::UNIX_EPOCH,
        duration_us: Some(milliseconds * 1_000),
        server_name: Some(server.to_owned()),
        tool_name: Some("read".to_owned()),
        tool_variant: None,
        intent_type: None,
        sensitivity: None,
        agent: None,
        token_id: None,
        status,
        arguments: None,
        response: None,
        error,
        warnings: json!([]),
        metadata: Map::new(),
        chain: Uuid::nil(),
        opened: None,
        closed: None,
    }
}

/// Calls of the server and of another one, newest first.
fn calls(worked: i64, failed: i64) -> Vec<Record> {
    let worked = (1..=worked).map(|time| record("files", Status::Success, time));
    let failed = (1..=failed).map(|time| record("files", Status::Error, 1_000 + time));
    let mut all: Vec<Record> = worked.chain(failed).collect();
    all.push(record("other", Status::Error, 1));
    all.reverse();
    all
}

#[test]
fn what_is_wrong_is_told_with_what_to_do_about_it() {
    let check = |state: &'static str, calls: &[Record], problem: &str, remedy: &str| {
        let health = assess(&server(state, Some("no answer")), calls, &[]);
        let told = health.problem.unwrap_or_default();
        assert!(told.contains(problem), "{state}: {told}");
        let told = health.remedy.unwrap_or_default();
        assert!(told.contains(remedy), "{state}: {told}");
    };
    check("failed", &[], "no answer", "restart-server");
    check("disabled", &[], "switched off", "\"enabled\": true");
    check("quarantined", &[], "approval", "\"quarantined\": false");
    check("not started", &[], "not started", "mcpproxy serve");
    check("starting", &[], "starting", "again");
    check("ready", &calls(4, 1), "20 of 100", "list-activity");
    check("idle", &calls(0, 5), "100 of 100", "list-activity");
}

#[test]
fn a_server_that_answers_and_seldom_fails_is_well() {
    for calls in [calls(0, 0), calls(9, 1), calls(0, 4)] {
        let health = assess(&server("ready", None), &calls, &[]);
        assert_eq!((health.problem, health.remedy), (None, None));
        assert!(health.is_reachable);
    }
    assert!(assess(&server("idle", None), &[], &[]).is_reachable);
    assert!(!assess(&server("failed", None), &[], &[]).is_reachable);
}

#[test]
fn only_its_own_calls_count_and_times_are_of_those_that_worked() {
    let health = assess(&server("ready", None), &calls(100, 2), &[]);
    assert_eq!((health.calls, health.failed), (102, 2));
    let times = health.response_ms.unwrap();
    assert_eq!(
        (times.median, times.p95, times.longest),
        (50.0, 95.0, 100.0)
    );
    let newest = health.last_error.unwrap();
    assert_eq!(newest.error.message, "failed after 1002 ms");
    assert_eq!(assess(&server("ready", None), &[], &[]).response_ms, None);
}

#[test]
fn the_newest_error_may_be_a_lost_connection_and_names_no_file_of_the_host() {
    let calls = calls(0, 1);
    let mut loss = record("files", Status::Error, 0);
    loss.tool_name = None;
    loss.error = Some(Recorded {
        code: "UPSTREAM_UNAVAILABLE".to_owned(),
        message: "/home/somebody/server cannot be run".to_owned(),
    });
    let status = server("failed", Some("/home/somebody/server cannot be run"));
    let health = assess(&status, &calls, &[loss]);
    let newest = health.last_error.clone().unwrap();
    assert_eq!(newest.error.code, "UPSTREAM_UNAVAILABLE");
    assert!(!json!(health).to_string().contains("somebody"));
}
