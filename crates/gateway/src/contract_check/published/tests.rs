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
    let begun = compared(Some(&[]), &listed(&[first.clone(), plain]), moment());
    assert_eq!(rules(&begun), []);
    let rows = stored(&[], &begun);
    assert_eq!(
        rows.len(),
        1,
        "only what announces the contract is stored: {rows:?}"
    );
    assert_eq!(rows[0].first_seen, moment());

    let same = compared(
        Some(&rows),
        &listed(std::slice::from_ref(&first)),
        moment() + 1.hour(),
    );
    assert!(same.to_store.is_empty(), "{same:?}");

    let narrow = tool(&json!(["id"]), &Value::Null);
    for hours in 2..4 {
        let broken = compared(
            Some(&rows),
            &listed(std::slice::from_ref(&narrow)),
            moment() + hours.hours(),
        );
        assert_eq!(rules(&broken), [Rule::ParametersKept]);
        assert!(broken.to_store.is_empty(), "{broken:?}");
    }
    assert_eq!(
        rules(&compared(Some(&rows), &listed(&[first]), moment())),
        []
    );
    let gone = compared(Some(&rows), &listed(&[]), moment());
    assert_eq!(rules(&gone), [Rule::NameKept]);
    assert!(gone.to_forget.is_empty());
}

#[test]
fn what_callers_rely_on_moves_forward_with_changes_that_break_nobody() {
    let first = tool(&json!(["id"]), &Value::Null);
    let rows = stored(&[], &compared(Some(&[]), &listed(&[first]), moment()));
    let wider = tool(&json!([]), &Value::Null);
    let later = compared(
        Some(&rows),
        &listed(std::slice::from_ref(&wider)),
        moment() + 1.hour(),
    );
    assert_eq!(rules(&later), []);
    let rows = stored(&rows, &later);
    assert_eq!(rows[0].definition, wider.to_string());
    assert_eq!(rows[0].first_seen, moment());
    let narrow = tool(&json!(["id"]), &Value::Null);
    assert_eq!(
        rules(&compared(Some(&rows), &listed(&[narrow]), moment())),
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
    let seen = compared(Some(&[]), &listed(&[to("2026-08-29")]), moment());
    assert_eq!(rules(&seen), [Rule::DeprecationNotice]);
    let rows = stored(&[], &seen);
    assert_eq!(rows[0].deprecation_seen, Some(moment()));
    // The same day counts later on.
    let later = moment() + 240.hours();
    let put_off = compared(Some(&rows), &listed(&[to("2026-08-30")]), later);
    assert_eq!(rules(&put_off), []);
    let rows = stored(&rows, &put_off);
    assert_eq!(rows[0].deprecation_seen, Some(moment()));

    // It goes when it was to go, and is forgotten.
    let before = compared(Some(&rows), &listed(&[]), later);
    assert_eq!(rules(&before), [Rule::NameKept]);
    let over = "2026-08-30T00:00:00Z".parse().unwrap();
    let gone = compared(Some(&rows), &listed(&[]), over);
    assert_eq!(
        (rules(&gone), gone.to_forget.as_slice()),
        (vec![], &["get-card".to_owned()][..])
    );
    assert_eq!(
        rules(&compared(Some(&rows), &listed(&[to("2026-08-30")]), over)),
        [Rule::RemovalKept]
    );
}

#[test]
fn a_server_cannot_fill_the_store() {
    let many = (0..=MOST_PUBLISHED)
        .map(|number| json!({ "name": format!("get-{number}"), "_meta": { DEFINITION_KEY: {} } }));
    let many: Vec<Value> = many.collect();
    let comparison = compared(Some(&[]), &listed(&many), moment());
    assert_eq!(comparison.to_store.len(), MOST_PUBLISHED);
    let large = json!({ "name": "get-all", "title": "x".repeat(LARGEST_DEFINITION), "_meta": { DEFINITION_KEY: {} } });
    assert!(
        compared(Some(&[]), &listed(&[large]), moment())
            .to_store
            .is_empty()
    );
}

#[test]
fn dep_3_a_deprecation_that_was_withdrawn_begins_anew_when_it_comes_back() {
    let deprecated = tool(
        &json!([]),
        &json!({ "replacement": "read-card", "removalDate": "2026-08-30" }),
    );
    let rows = stored(
        &[],
        &compared(
            Some(&[]),
            &listed(std::slice::from_ref(&deprecated)),
            moment(),
        ),
    );
    assert_eq!(rows[0].deprecation_seen, Some(moment()));
    let plain = tool(&json!([]), &Value::Null);
    let withdrawn = compared(Some(&rows), &listed(&[plain]), moment() + 1.hour());
    let rows = stored(&rows, &withdrawn);
    assert_eq!(rows[0].deprecation_seen, None);
    let later = moment() + 24.hours();
    let again = compared(Some(&rows), &listed(&[deprecated]), later);
    assert_eq!(rules(&again), [Rule::DeprecationNotice]);
    assert_eq!(stored(&rows, &again)[0].deprecation_seen, Some(later));
}

#[test]
fn dep_3_a_day_that_is_not_known_was_taken_for_today() {
    let removal = json!({ "replacement": "read-card", "removalDate": "2026-06-30" });
    let soon = tool(&json!([]), &removal);
    let unread = compared(None, &listed(std::slice::from_ref(&soon)), moment());
    assert_eq!(rules(&unread), []);
    assert!(unread.to_store.is_empty(), "{unread:?}");
    let mut large = soon.clone();
    large["title"] = json!("x".repeat(LARGEST_DEFINITION));
    let large = listed(&[large]);
    assert_eq!(rules(&compared(Some(&[]), &large, moment())), []);
    // Where a smaller definition is stored, the day is stored with it.
    let before = tool(&json!([]), &Value::Null);
    let rows = stored(&[], &compared(Some(&[]), &listed(&[before]), moment()));
    let known = compared(Some(&rows), &large, moment());
    assert_eq!(rules(&known), [Rule::DeprecationNotice]);
    let after = stored(&rows, &known);
    assert_eq!(after[0].deprecation_seen, Some(moment()));
    assert_eq!(after[0].definition, rows[0].definition);
}

#[test]
fn a_tool_that_announces_nothing_any_more_is_gone_as_a_tool_of_the_contract() {
    let first = tool(&json!([]), &Value::Null);
    let rows = stored(
        &[],
        &compared(Some(&[]), &listed(std::slice::from_ref(&first)), moment()),
    );
    let mut silent = first;
    silent["_meta"] = json!({});
    let silent = compared(Some(&rows), &listed(&[silent]), moment());
    assert_eq!(rules(&silent), [Rule::NameKept]);
    assert!(silent.to_forget.is_empty() && silent.to_store.is_empty());
}

#[test]
fn what_is_accepted_counts_as_published_and_breaks_nothing_any_more() {
    let named = |name: &str, required: &Value| {
        let mut tool = tool(required, &Value::Null);
        tool["name"] = json!(name);
        tool
    };
    let open = json!([]);
    let before = ["get-card", "add-card", "drop-card"].map(|name| named(name, &open));
    let rows = stored(&[], &compared(Some(&[]), &listed(&before), moment()));
    let now = ["get-card", "add-card"].map(|name| named(name, &json!(["id"])));
    let now = listed(&now);
    let broken = |rows: &[StoredDefinition]| {
        let broken = compared(Some(rows), &now, moment()).broken;
        let mut tools: Vec<String> = broken.into_iter().map(|one| one.tool).collect();
        tools.sort_unstable();
        tools
    };
    assert_eq!(broken(&rows), ["add-card", "drop-card", "get-card"]);
    let later = moment() + 1.hour();
    let one = stored(&rows, &accepted(&rows, &now, Some("add-card"), later));
    assert_eq!(broken(&one), ["drop-card", "get-card"]);
    assert!(one.iter().all(|row| row.first_seen == moment()));
    let all = stored(&rows, &accepted(&rows, &now, None, later));
    assert_eq!((broken(&all), all.len()), (vec![], 2));
    let nothing = accepted(&all, &now, None, later);
    assert!(nothing.to_store.is_empty() && nothing.to_forget.is_empty());
}
