//! The activity log over REST: exact filters, pages, counts, refusals.

use http::{Method, StatusCode};
use mcpproxy_tests::{HttpClient, Product, decode};
use serde_json::{Value, json};

use crate::PROGRAMS;
use crate::scene::{FORMULA, Scene, get, ids};

const LIMIT: &str = "must be a number from 1 to 1000";

/// What is refused, what the message says, and the values it lists.
const REFUSED: [(&str, &str, &str); 18] = [
    (
        "/activity?intent_type=delete",
        "Invalid intent_type 'delete': must be read, write, or destructive",
        "read write destructive",
    ),
    (
        "/activity?status=ok",
        "Invalid status 'ok': must be success, error, blocked, or in_doubt",
        "success error blocked in_doubt",
    ),
    (
        "/activity?type=call",
        "Invalid type 'call'",
        "tool_call policy_decision discovery client_request server_change tool_change token_change config_change system",
    ),
    (
        "/activity?sensitivity=secret",
        "Invalid sensitivity 'secret': must be public, internal, private, or unknown",
        "public internal private unknown",
    ),
    (
        "/activity?from=yesterday",
        "Invalid from 'yesterday': must be a time",
        "",
    ),
    ("/activity?limit=0", LIMIT, ""),
    ("/activity?limit=1001", LIMIT, ""),
    ("/activity?limit=-1", LIMIT, ""),
    ("/activity?cursor=next", "Invalid cursor 'next'", ""),
    ("/activity?server=", "Invalid server ''", ""),
    (
        "/activity?status=error&status=error",
        "'status' is given more than once",
        "",
    ),
    (
        "/activity?intent_typ=read",
        "Did you mean 'intent_type'?",
        "",
    ),
    ("/activity/summary?limit=1", "Unknown parameter 'limit'", ""),
    (
        "/activity/export?format=xml",
        "Invalid format 'xml': must be jsonl or csv",
        "jsonl csv",
    ),
    (
        "/activity/export?intent_type=x",
        "Invalid intent_type 'x'",
        "read write destructive",
    ),
    ("/activity/7", "Invalid id '7'", ""),
    ("/events?last_event_id=7", "Invalid last_event_id '7'", ""),
    (
        "/events?intent_type=x",
        "Invalid intent_type 'x'",
        "read write destructive",
    ),
];

/// FR-038: every call is answered with its intent, at the top and in the metadata (FR-031), and
/// with the variant it came through (FR-032).
#[tokio::test]
async fn fr_038_records_have_their_intent() {
    let scene = Scene::start().await;
    let list = scene.product.get("/activity?limit=1000").await;
    for (id, operation, declared) in [
        (
            &scene.read,
            "read",
            json!({ "operation_type": "read", "data_sensitivity": "public", "reason": "look around" }),
        ),
        (
            &scene.write,
            "write",
            json!({ "operation_type": "write", "data_sensitivity": "internal", "reason": FORMULA }),
        ),
        (
            &scene.destroyed,
            "destructive",
            json!({ "operation_type": "destructive", "data_sensitivity": "private", "reason": "User requested cleanup" }),
        ),
        (&scene.refused, "read", json!({ "operation_type": "read" })),
    ] {
        let record = record(&list, id);
        let sorted = |value: &Value| decode(&value.to_string());
        assert_eq!(sorted(&record["intent"]), declared, "{record}");
        assert_eq!(record["metadata"]["intent"], record["intent"], "{record}");
        assert_eq!(record["intent_type"], operation);
        assert_eq!(record["tool_variant"], format!("call_tool_{operation}"));
        assert_eq!(record["metadata"]["tool_variant"], record["tool_variant"]);
        assert_eq!(&scene.product.get(&format!("/activity/{id}")).await, record);
    }
    let refused = record(&list, &scene.refused);
    assert_eq!(
        (&refused["type"], &refused["status"]),
        (&json!("policy_decision"), &json!("blocked"))
    );
    assert_eq!(refused["error"]["code"], "SERVER_MISMATCH");
    let failed = record(&list, &scene.failed_read);
    assert_eq!(
        (&failed["type"], &failed["status"]),
        (&json!("tool_call"), &json!("error"))
    );
}

/// FR-039 and FR-033: `intent_type` and all other filters give exactly the right records.
#[tokio::test]
async fn fr_039_filters_give_exactly_the_right_records() {
    let scene = Scene::start().await;
    let Scene {
        read,
        failed_read,
        write,
        destroyed,
        refused,
        ..
    } = &scene;
    let record = scene.product.get(&format!("/activity/{write}")).await;
    let request = format!("request_id={}", record["request_id"].as_str().unwrap());
    let session = format!(
        "session_id={}&status=blocked",
        record["session_id"].as_str().unwrap()
    );
    let from = format!(
        "type=tool_call&from={}",
        record["timestamp"].as_str().unwrap()
    );
    let to = format!(
        "type=tool_call&to={}",
        record["timestamp"].as_str().unwrap()
    );
    for (query, expected) in [
        ("intent_type=read", vec![refused, failed_read, read]),
        ("intent_type=write", vec![write]),
        ("intent_type=destructive", vec![destroyed]),
        ("intent_type=read&status=error", vec![failed_read]),
        ("intent_type=destructive&status=blocked", vec![]),
        ("type=tool_call", vec![destroyed, write, failed_read, read]),
        ("type=policy_decision", vec![refused]),
        ("status=blocked", vec![refused]),
        ("server=srv&tool=delete_repo", vec![refused, destroyed]),
        ("server=sr&type=tool_call", vec![]),
        ("sensitivity=private", vec![destroyed]),
        ("sensitivity=unknown", vec![refused, failed_read]),
        ("agent=mcpproxy-tests&tool=list_repos", vec![read]),
        ("text=CLEAN&type=tool_call", vec![destroyed]),
        ("text=quota", vec![failed_read]),
        ("text=gr%C3%BC%C3%9Fe&intent_type=write", vec![write]),
        (&request, vec![write]),
        (&session, vec![refused]),
        // The millisecond of the write is the first that counts, and the first that does not.
        (&from, vec![destroyed, write]),
        (&to, vec![failed_read, read]),
        ("type=tool_call&from=2000-01-01&to=2001-01-01", vec![]),
        (
            "type=tool_call&from=1h",
            vec![destroyed, write, failed_read, read],
        ),
    ] {
        let list = scene.product.get(&format!("/activity?{query}")).await;
        assert_eq!(ids(&list), expected, "{query}: {list}");
    }
}

/// FR-040: what cannot be used is refused with what can.
#[tokio::test]
async fn fr_040_wrong_parameters_are_refused_with_what_is_allowed() {
    let product = Product::start(PROGRAMS, &json!({})).await;
    for (path, message, allowed) in REFUSED {
        let answer = get(&product, path, &[]).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}: {answer:?}");
        let error = &answer.json()["error"];
        assert_eq!(error["code"], "INVALID_ARGUMENTS", "{path}");
        let said = error["message"].as_str().unwrap();
        assert!(said.contains(message), "{path}: {said}");
        let listed = error["details"]["allowed"].as_array().into_iter().flatten();
        let listed: Vec<&str> = listed.filter_map(Value::as_str).collect();
        if !allowed.is_empty() {
            assert_eq!(listed.join(" "), allowed, "{path}");
        }
    }
    let bad_header = get(&product, "/events", &[("last-event-id", "7")]).await;
    assert_eq!(bad_header.status, StatusCode::BAD_REQUEST, "{bad_header:?}");
    let missing = "/activity/01936f5e-7b2a-7c11-9d0e-0f5a3c2b1a99";
    let answer = get(&product, missing, &[]).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{answer:?}");
    assert_eq!(answer.json()["error"]["code"], "NOT_FOUND");
}

#[tokio::test]
async fn the_log_is_for_who_has_the_key() {
    let product = Product::start(PROGRAMS, &json!({})).await;
    for path in [
        "/activity",
        "/activity/summary",
        "/activity/export",
        "/activity/verify",
        "/events",
        "/openapi.json",
        "/activity/01936f5e-7b2a-7c11-9d0e-0f5a3c2b1a99",
    ] {
        let client = HttpClient::without_session(&product.rest(path));
        let answer = client.send(Method::GET, &[], String::new()).await;
        assert_eq!(
            answer.status,
            StatusCode::UNAUTHORIZED,
            "{path}: {answer:?}"
        );
    }
}

#[tokio::test]
async fn pages_follow_each_other_without_gaps_or_repetitions() {
    let scene = Scene::start().await;
    let whole = scene.product.get("/activity?server=srv&limit=1000").await;
    assert_eq!(whole["next_cursor"], Value::Null);
    let mut sorted = ids(&whole);
    sorted.sort_unstable_by(|left, right| right.cmp(left));
    assert_eq!(ids(&whole), sorted, "newest first");
    let mut gathered = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = scene
            .product
            .get(&format!("/activity?server=srv&limit=2{cursor}"))
            .await;
        assert!(ids(&page).len() <= 2, "{page}");
        gathered.extend(ids(&page).into_iter().map(str::to_owned));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(gathered, ids(&whole));
}

#[tokio::test]
async fn summaries_count_what_is_there() {
    let scene = Scene::start().await;
    let summary = scene
        .product
        .get("/activity/summary?server=srv&from=1h")
        .await;
    let count = |list: &str, name: &str| {
        let found = summary[list]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["name"] == name);
        found.map_or(0, |one| one["count"].as_u64().unwrap())
    };
    assert_eq!(count("by_intent", "read"), 3, "{summary}");
    assert_eq!(count("by_intent", "write"), 1);
    assert_eq!(count("by_intent", "destructive"), 1);
    assert_eq!(count("by_status", "blocked"), 1);
    assert_eq!(count("by_status", "error"), 1);
    assert_eq!(count("by_tool", "srv:delete_repo"), 2);
    assert_eq!(count("by_type", "tool_call"), 4);
    let list = scene.product.get("/activity?server=srv&limit=1000").await;
    assert_eq!(summary["total"], ids(&list).len(), "{summary}");
}

#[tokio::test]
async fn a_log_that_nobody_touched_is_whole() {
    let scene = Scene::start().await;
    let verdict = scene.product.get("/activity/verify").await;
    assert_eq!(verdict["ok"], true, "{verdict}");
    assert_eq!(
        (&verdict["problem"], &verdict["problems"]),
        (&Value::Null, &json!([]))
    );
    assert!(verdict["records"].as_u64().unwrap() >= 5, "{verdict}");
    let document = scene.product.get("/openapi.json").await;
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["paths"]["/api/v1/activity"]["get"].is_object());
}

#[track_caller]
fn record<'a>(list: &'a Value, id: &str) -> &'a Value {
    let records = list["activities"].as_array().expect("a list has records");
    let found = records.iter().find(|record| record["id"] == id);
    found.unwrap_or_else(|| panic!("no record {id} in {list}"))
}
