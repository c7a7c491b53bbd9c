use mcpproxy_catalog::{Catalog, Operator};
use mcpproxy_policy::{AnonymousRole, CallMetadata, Rights};
use mcpproxy_wire::{ListedKind, Offerings, ToolDefinition};
use serde_json::{Value, json};

use super::*;

fn catalog(definition: &Value, annotations: &Value) -> Catalog {
    let catalog = Catalog::new();
    catalog.configure([("cards".to_owned(), Operator::default())].into());
    list(&catalog, definition, annotations);
    catalog
}

fn list(catalog: &Catalog, definition: &Value, annotations: &Value) {
    let tool = json!({ "name": "get-card", "inputSchema": {}, "annotations": annotations,
        "_meta": { "dev.mcpproxy/definition": definition } });
    let tools = vec![ToolDefinition::parse(&Json::of(&tool)).unwrap()];
    catalog.replace("cards", Offerings::default().with(ListedKind::Tool, tools));
}

fn found(catalog: &Catalog) -> Arc<CatalogTool> {
    let snapshot = catalog.snapshot();
    Arc::clone(snapshot.find("cards", "get-card").unwrap())
}

fn caching() -> Catalog {
    let definition = json!({ "cacheable": true, "cacheTTL": 60, "category": "query" });
    catalog(&definition, &json!({ "readOnlyHint": true }))
}

fn in_session(session: &str) -> Caller {
    Caller {
        session_id: Some(session.to_owned()),
        rights: Rights::Anonymous(AnonymousRole::Full),
        ..Caller::default()
    }
}

fn arguments(text: &str) -> JsonObject {
    JsonObject::parse(text).unwrap()
}

fn result(text: &str) -> CallResult {
    CallResult::parse(Json::parse(text.to_owned()).unwrap()).unwrap()
}

const RESULT: &str = r#"{ "content":[],"structuredContent":{"data":{"big":18446744073709551617},"metadata":{ "a":1.10 }} }"#;
const CACHED: &str = r#"{ "content":[],"structuredContent":{"data":{"big":18446744073709551617},"metadata":{ "a":1.10 ,"cached":true}} }"#;

#[test]
fn a_result_is_given_again_to_its_caller_for_as_long_as_announced() {
    let (cache, tool, now) = (ResultCache::default(), found(&caching()), Instant::now());
    let place = |session: &str, text: &str| {
        cache
            .place(&tool, &in_session(session), &arguments(text))
            .unwrap()
    };
    let given = |session: &str, text: &str, seconds: u64| {
        let answer = place(session, text).answer(now + Duration::from_secs(seconds));
        answer.map(|answer| answer.json().text().to_owned())
    };
    assert_eq!(given("a", "{}", 0), None);
    place("a", "{}").put(&result(RESULT), now);
    assert_eq!(given("a", "{}", 59).as_deref(), Some(CACHED));
    assert_eq!(given("a", "{}", 60), None, "its time is over");
    assert_eq!(given("b", "{}", 0), None, "another caller");
    assert_eq!(given("a", r#"{"a":1}"#, 0), None, "another question");
    let tenant = Json::of(&json!("south"));
    let other = Caller {
        metadata: CallMetadata::of([("tenant", &tenant)].into_iter()),
        ..in_session("a")
    };
    let place = cache.place(&tool, &other, &arguments("{}")).unwrap();
    assert!(place.answer(now).is_none(), "other metadata");
    let unknown = Caller::default();
    assert!(cache.place(&tool, &unknown, &arguments("{}")).is_none());
}

#[test]
fn what_may_change_something_is_never_cached_and_makes_the_rest_old() {
    for (definition, annotations) in [
        (
            json!({ "cacheable": true, "cacheTTL": 60, "category": "mutation" }),
            json!({ "readOnlyHint": true }),
        ),
        (
            json!({ "cacheable": true, "cacheTTL": 60, "category": "query" }),
            json!({ "readOnlyHint": false }),
        ),
        (
            json!({ "cacheable": true, "cacheTTL": 60, "category": "query" }),
            json!({}),
        ),
        (
            json!({ "category": "query" }),
            json!({ "readOnlyHint": true }),
        ),
    ] {
        let tool = found(&catalog(&definition, &annotations));
        let cache = ResultCache::default();
        let place = cache.place(&tool, &in_session("a"), &arguments("{}"));
        assert!(place.is_none(), "{definition} {annotations}");
    }
    let (cache, tool, now) = (ResultCache::default(), found(&caching()), Instant::now());
    let place = || {
        cache
            .place(&tool, &in_session("a"), &arguments("{}"))
            .unwrap()
    };
    place().put(&result(RESULT), now);
    drop(cache.changing(Effect::Read));
    assert!(place().answer(now).is_some());
    drop(cache.changing(Effect::Write));
    assert!(place().answer(now).is_none());
    let under_way = place();
    drop(cache.changing(Effect::Destructive));
    under_way.put(&result(RESULT), now);
    assert!(place().answer(now).is_none(), "something changed meanwhile");
}

#[test]
fn another_definition_ends_what_was_cached_under_the_one_before() {
    let (cache, catalog, now) = (ResultCache::default(), caching(), Instant::now());
    let before = found(&catalog);
    let place = |tool| {
        cache
            .place(tool, &in_session("a"), &arguments("{}"))
            .unwrap()
    };
    place(&before).put(&result(RESULT), now);
    let definition = json!({ "cacheable": true, "cacheTTL": 60, "version": "2.0.0" });
    list(&catalog, &definition, &json!({ "readOnlyHint": true }));
    let after = found(&catalog);
    assert!(place(&after).answer(now).is_none());
    assert!(place(&before).answer(now).is_some());
}

#[test]
fn what_failed_is_no_result_or_is_cached_elsewhere_is_not_cached() {
    let long = format!(
        r#"{{"structuredContent":{{"metadata":{{}},"data":"{}"}}}}"#,
        "x".repeat(LARGEST_RESULT)
    );
    for text in [
        r#"{"structuredContent":{"data":1,"metadata":{}},"isError":true}"#,
        r#"{"structuredContent":{"data":1,"metadata":{}},"resultType":"input_required"}"#,
        r#"{"structuredContent":{"data":1,"metadata":{"cached":true}}}"#,
        r#"{"structuredContent":{"data":1,"metadata":null}}"#,
        r#"{"structuredContent":{"data":1}}"#,
        // Written by hand, without isError.
        r#"{"structuredContent":{"error":{"code":"NOT_FOUND"},"metadata":{}}}"#,
        r#"{"structuredContent":{"data":1,"error":{"code":"NOT_FOUND"},"metadata":{}}}"#,
        r#"{"structuredContent":{"data":null,"metadata":{}}}"#,
        r#"{"structuredContent":{"metadata":{}}}"#,
        r#"{"content":[]}"#,
        &long,
    ] {
        assert!(as_cached(&result(text)).is_none(), "{text:.80}");
    }
    let answered = r#"{"structuredContent":{"data":1,"error":null,"metadata":{}}}"#;
    assert!(as_cached(&result(answered)).is_some());
}

#[test]
fn the_cache_is_bounded() {
    let (cache, tool, now) = (ResultCache::default(), found(&caching()), Instant::now());
    let large = format!(
        r#"{{"structuredContent":{{"metadata":{{}},"data":"{}"}}}}"#,
        "x".repeat(LARGEST_RESULT / 2)
    );
    for (text, rounds) in [(RESULT, 2 * MOST_RESULTS), (&*large, 100)] {
        for number in 0..rounds {
            let arguments = arguments(&format!(r#"{{"n":{number}}}"#));
            let place = cache.place(&tool, &in_session("a"), &arguments).unwrap();
            place.put(&result(text), now);
            let answers = cache.lock();
            let bytes: usize = answers.values().map(|cached| size(&cached.answer)).sum();
            assert!(answers.len() <= MOST_RESULTS && bytes <= MOST_BYTES);
        }
    }
}
