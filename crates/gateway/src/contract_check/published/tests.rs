use jiff::ToSpan;
use mcpproxy_contract::Rule;
use serde_json::json;

use super::*;

fn moment() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

fn listed(tools: &[Value]) -> KnownTools {
    KnownTools::parse(tools.iter().map(Value::to_string))
}

/// A tool that announces the contract, with these parameters and this deprecation.
fn tool(required: &Value, deprecated: &Value) -> Value {
    json!({
        "name": "get-card",
        "inputSchema": { "type": "object", "properties": { "id": { "type": "string" } }, "required": required },
        "_meta": { DEFINITION_KEY: { "category": "query", "deprecated": deprecated } },
    })
}

/// Rows after a comparison.
fn stored(before: &[StoredDefinition], comparison: &Comparison) -> Vec<StoredDefinition> {
    let gone = |row: &&StoredDefinition| {
        !comparison.to_forget.contains(&row.tool)
            && !comparison.to_store.iter().any(|new| new.tool == row.tool)
    };
    let kept = before.iter().filter(gone).cloned();
    kept.chain(comparison.to_store.iter().cloned()).collect()
}

fn rules(comparison: &Comparison) -> Vec<Rule> {
    comparison.broken.iter().map(|one| one.rule).collect()
}

#[test]
fn a_broken_rule_stays_broken_until_the_server_mends_it() {
    let first = tool(&json!([]), &Value::Null);
    let plain = json!({ "name": "plain", "inputSchema": {} });
    let begun = compared(&[], &listed(&[first.clone(), plain]), moment());
    assert_eq!(rules(&begun), []);
    let rows = stored(&[], &begun);
    assert_eq!(
        rows.len(),
        1,
        "only what announces the contract is stored: {rows:?}"
    );
    assert_eq!(rows[0].first_seen, moment());

    let same = compared(
        &rows,
        &listed(std::slice::from_ref(&first)),
        moment() + 1.hour(),
    );
    assert!(same.to_store.is_empty(), "{same:?}");

    let narrow = tool(&json!(["id"]), &Value::Null);
    for hours in 2..4 {
        let broken = compared(
            &rows,
            &listed(std::slice::from_ref(&narrow)),
            moment() + hours.hours(),
        );
        assert_eq!(rules(&broken), [Rule::ParametersKept]);
        assert!(broken.to_store.is_empty(), "{broken:?}");
    }
    assert_eq!(rules(&compared(&rows, &listed(&[first]), moment())), []);
    let gone = compared(&rows, &listed(&[]), moment());
    assert_eq!(rules(&gone), [Rule::NameKept]);
    assert!(gone.to_forget.is_empty());
}

#[test]
fn what_callers_rely_on_moves_forward_with_changes_that_break_nobody() {
    let first = tool(&json!(["id"]), &Value::Null);
    let rows = stored(&[], &compared(&[], &listed(&[first]), moment()));
    let wider = tool(&json!([]), &Value::Null);
    let later = compared(
        &rows,
        &listed(std::slice::from_ref(&wider)),
        moment() + 1.hour(),
    );
    assert_eq!(rules(&later), []);
    let rows = stored(&rows, &later);
    assert_eq!(rows[0].definition, wider.to_string());
    assert_eq!(rows[0].first_seen, moment());
    let narrow = tool(&json!(["id"]), &Value::Null);
    assert_eq!(
        rules(&compared(&rows, &listed(&[narrow]), moment())),
        [Rule::ParametersKept]
    );
}

#[test]
fn dep_3_without_an_announcement_the_first_day_it_was_seen_counts() {
    let to = |removal: &str| {
        tool(
            &json!([]),
            &json!({ "replacement": "read-card", "removalDate": removal }),
        )
    };
    let seen = compared(&[], &listed(&[to("2026-08-29")]), moment());
    assert_eq!(rules(&seen), [Rule::DeprecationNotice]);
    let rows = stored(&[], &seen);
    assert_eq!(rows[0].deprecation_seen, Some(moment()));
    // The same day counts later on.
    let later = moment() + 240.hours();
    let put_off = compared(&rows, &listed(&[to("2026-08-30")]), later);
    assert_eq!(rules(&put_off), []);
    let rows = stored(&rows, &put_off);
    assert_eq!(rows[0].deprecation_seen, Some(moment()));

    // It goes when it was to go, and is forgotten.
    let before = compared(&rows, &listed(&[]), later);
    assert_eq!(rules(&before), [Rule::NameKept]);
    let over = "2026-08-30T00:00:00Z".parse().unwrap();
    let gone = compared(&rows, &listed(&[]), over);
    assert_eq!(
        (rules(&gone), gone.to_forget.as_slice()),
        (vec![], &["get-card".to_owned()][..])
    );
    assert_eq!(
        rules(&compared(&rows, &listed(&[to("2026-08-30")]), over)),
        [Rule::RemovalKept]
    );
}

#[test]
fn a_server_cannot_fill_the_store() {
    let many = (0..=MOST_PUBLISHED)
        .map(|number| json!({ "name": format!("get-{number}"), "_meta": { DEFINITION_KEY: {} } }));
    let many: Vec<Value> = many.collect();
    let comparison = compared(&[], &listed(&many), moment());
    assert_eq!(comparison.to_store.len(), MOST_PUBLISHED);
    let large = json!({ "name": "get-all", "title": "x".repeat(LARGEST_DEFINITION), "_meta": { DEFINITION_KEY: {} } });
    assert!(
        compared(&[], &listed(&[large]), moment())
            .to_store
            .is_empty()
    );
}
