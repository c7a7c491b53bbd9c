use mcpproxy_catalog::{Catalog, Operator};
use mcpproxy_wire::{Json, ListedKind, Offerings, ToolDefinition};
use serde_json::{Value, json};

use mcpproxy_contract::agent_hints::Share;

use super::*;

fn tools(names: &[&str]) -> Offerings {
    let tools = names.iter().map(|name| {
        let definition =
            json!({ "name": name, "inputSchema": {}, "annotations": { "readOnlyHint": true } });
        ToolDefinition::parse(&Json::of(&definition)).unwrap()
    });
    Offerings::default().with(ListedKind::Tool, tools)
}

fn catalog() -> Catalog {
    let catalog = Catalog::new();
    catalog.configure([("s".to_owned(), Operator::default())].into());
    catalog.replace("s", tools(&["a", "b"]));
    catalog
}

fn call(tool: &str, second: i64) -> ObservedCall<'_> {
    ObservedCall {
        caller: Some("one".into()),
        tool: tool.into(),
        succeeded: true,
        took: Duration::from_millis(1),
        at: Timestamp::from_second(1_800_000_000 + second).unwrap(),
    }
}

fn decoded(text: &HintText) -> Value {
    serde_json::from_str(&text.with(&[])).unwrap()
}

#[test]
fn each_suggestion_says_how_to_call_it() {
    let catalog = catalog().snapshot();
    let hints = ObservedHints::default();
    for second in 0..20 {
        hints.lock().observed.learn(&call("s:a", second));
        hints.lock().observed.learn(&call("s:b", second));
    }
    let text = hints
        .text_after(
            &call("s:a", 20),
            CallEnding::Well,
            &catalog,
            &Rights::Administrator,
        )
        .unwrap();
    let action = &decoded(&text)["suggestedNextActions"][0];
    assert_eq!(action["action"], "b");
    assert_eq!(action["tool"], "s:b");
    assert_eq!(action["call_with"], "call_tool_read");
    let resources = ["a", "b"].map(|id| RelatedResource::new("file", id, id, Share::ALL));
    let with: Value = serde_json::from_str(&text.with(&resources)).unwrap();
    assert_eq!(with["relatedResources"], json!(resources));
    assert_eq!(with["confidence"], decoded(&text)["confidence"]);
}

#[test]
fn a_text_is_kept_until_enough_has_changed() {
    let catalog = catalog();
    let snapshot = catalog.snapshot();
    let hints = ObservedHints::default();
    for _ in 0..80 {
        hints.lock().observed.learn(&call("s:a", 0));
    }
    let made = |second: i64, snapshot: &Arc<Snapshot>| {
        hints
            .text_after(
                &call("s:a", second),
                CallEnding::Well,
                snapshot,
                &Rights::Administrator,
            )
            .unwrap()
    };
    let first = made(0, &snapshot);
    for _ in 0..10 {
        assert!(Arc::ptr_eq(&first, &made(0, &snapshot)), "little is new");
    }
    let second = made(0, &snapshot);
    assert!(!Arc::ptr_eq(&first, &second), "a part in eight is new");
    assert!(Arc::ptr_eq(&second, &made(9, &snapshot)));
    let third = made(10, &snapshot);
    assert!(!Arc::ptr_eq(&second, &third), "it is old");
    catalog.replace("s", tools(&["a"]));
    let fourth = made(10, &catalog.snapshot());
    assert!(!Arc::ptr_eq(&third, &fourth), "the catalog changed");
    let failed = hints.text_after(
        &call("s:a", 10),
        CallEnding::Badly,
        &catalog.snapshot(),
        &Rights::Administrator,
    );
    assert!(
        !Arc::ptr_eq(&fourth, &failed.unwrap()),
        "it ended otherwise"
    );
}

#[test]
fn a_tool_that_is_withheld_is_not_suggested_any_more() {
    let catalog = catalog();
    let hints = ObservedHints::default();
    for second in 0..50 {
        hints.lock().observed.learn(&call("s:a", second));
        hints.lock().observed.learn(&call("s:b", second));
    }
    let suggested = |catalog: &Catalog| {
        let text = hints.text_after(
            &call("s:a", 50),
            CallEnding::Well,
            &catalog.snapshot(),
            &Rights::Administrator,
        );
        let actions = decoded(&text.unwrap())["suggestedNextActions"].take();
        actions.as_array().unwrap().len()
    };
    assert_eq!(suggested(&catalog), 1);
    let quarantined = Operator {
        quarantined: true,
        ..Operator::default()
    };
    catalog.configure([("s".to_owned(), quarantined)].into());
    assert_eq!(suggested(&catalog), 0);
}

#[test]
fn texts_of_many_tools_are_bounded() {
    let catalog = catalog().snapshot();
    let hints = ObservedHints::default();
    for number in 0..MOST_TEXTS + 10 {
        let tool = format!("s:{number}");
        hints
            .text_after(
                &call(&tool, 0),
                CallEnding::Well,
                &catalog,
                &Rights::Administrator,
            )
            .unwrap();
    }
    assert!(hints.lock().texts.len() <= MOST_TEXTS);
}

#[test]
fn what_was_called_before_the_start_goes_beneath_what_was_called_since() {
    let catalog = catalog().snapshot();
    let hints = ObservedHints::default();
    hints.text_after(
        &call("s:a", 1_000),
        CallEnding::Well,
        &catalog,
        &Rights::Administrator,
    );
    let earlier = (0..30).flat_map(|second| [call("s:a", second), call("s:b", second)]);
    hints.prime(earlier.collect::<Vec<_>>().iter());
    let text = hints
        .text_after(
            &call("s:a", 1_001),
            CallEnding::Well,
            &catalog,
            &Rights::Administrator,
        )
        .unwrap();
    let found = decoded(&text);
    assert_eq!(found["suggestedNextActions"][0]["tool"], "s:b");
    assert_eq!(hints.lock().observed.of("s:a").unwrap().calls, 32);
}
