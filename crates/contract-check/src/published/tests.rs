use serde_json::{Value, json};

use super::*;

fn today() -> Date {
    "2026-06-01".parse().unwrap()
}

/// A tool with one parameter, of this schema.
fn taking(schema: &Value) -> Value {
    json!({ "name": "get-card", "inputSchema": { "type": "object", "properties": { "value": schema } } })
}

fn rules(before: &Value, now: &Value) -> Vec<Rule> {
    let found = violations(before, now);
    found.into_iter().map(|one| one.rule).collect()
}

fn violations(before: &Value, now: &Value) -> Vec<ContractViolation> {
    let [before, now] = [before, now].map(|list| published(list).unwrap());
    broken(&before, &now, today())
}

#[test]
fn ver_2_narrowed_values_and_nested_changes_were_accepted() {
    let nested = |inner: Value, required: Value| json!({ "type": "object", "properties": { "from": inner, "to": { "type": "string" } }, "required": required });
    let text = json!({ "type": "string", "maxLength": 10 });
    let due = nested(text.clone(), json!([]));
    let optional = |schema: &Value| json!({ "anyOf": [schema, { "type": "null" }] });
    for (before, now) in [
        (json!({}), json!({ "type": "string" })),
        (
            json!({ "type": ["string", "null"] }),
            json!({ "type": "string" }),
        ),
        (json!({ "type": "number" }), json!({ "type": "integer" })),
        (json!({ "type": "string" }), text.clone()),
        (text.clone(), json!({ "type": "string", "maxLength": 9 })),
        (
            json!({ "type": "string" }),
            json!({ "type": "string", "minLength": 1 }),
        ),
        (
            json!({ "type": "string" }),
            json!({ "type": "string", "pattern": "^a" }),
        ),
        (
            json!({ "type": "string" }),
            json!({ "type": "string", "format": "date" }),
        ),
        (
            json!({ "type": "string" }),
            json!({ "type": "string", "enum": ["a"] }),
        ),
        (json!({ "enum": ["a", "b"] }), json!({ "enum": ["a"] })),
        (json!({ "enum": ["a", 1] }), json!({ "type": "string" })),
        (json!({ "const": "a" }), json!({ "const": "b" })),
        (
            json!({ "type": "integer", "minimum": 1 }),
            json!({ "type": "integer", "minimum": 2 }),
        ),
        (
            json!({ "type": "integer", "maximum": 9 }),
            json!({ "type": "integer", "exclusiveMaximum": 9 }),
        ),
        (
            json!({ "type": "array", "items": { "type": "string" } }),
            json!({ "type": "array", "items": text }),
        ),
        (
            json!({ "type": "array" }),
            json!({ "type": "array", "maxItems": 3 }),
        ),
        (
            json!({ "type": "array" }),
            json!({ "type": "array", "uniqueItems": true }),
        ),
        (due.clone(), nested(text.clone(), json!(["from"]))),
        (due.clone(), nested(json!({ "type": "integer" }), json!([]))),
        (
            due.clone(),
            json!({ "type": "object", "properties": { "from": text } }),
        ),
        (
            optional(&due),
            optional(&nested(text.clone(), json!(["from"]))),
        ),
        (optional(&due), due.clone()),
        (
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            json!({ "type": "object", "additionalProperties": false }),
        ),
        (
            json!({ "allOf": [{ "type": "string" }] }),
            json!({ "allOf": [{ "type": "integer" }] }),
        ),
        (
            json!({ "type": "string" }),
            json!({ "type": "string", "not": { "const": "a" } }),
        ),
        (json!({ "type": "string" }), json!(false)),
    ] {
        let (before, now) = (json!([taking(&before)]), json!([taking(&now)]));
        let found = rules(&before, &now);
        assert!(!found.is_empty(), "{before} {now}");
        assert!(
            found.iter().all(|rule| *rule == Rule::ParametersKept),
            "{found:?}"
        );
        assert_eq!(rules(&before, &before), [], "{before}");
    }
}

#[test]
fn whoever_takes_more_breaks_nobody() {
    let closed = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    for (before, now) in [
        (json!({ "type": "string" }), json!({})),
        (
            json!({ "type": "integer" }),
            json!({ "type": ["number", "null"] }),
        ),
        (json!({ "enum": ["a"] }), json!({ "enum": ["b", "a"] })),
        (
            json!({ "enum": ["a"] }),
            json!({ "type": "string", "maxLength": 3 }),
        ),
        (
            json!({ "type": "string", "minLength": 2, "maxLength": 3, "pattern": "a" }),
            json!({ "type": "string", "minLength": 0, "maxLength": 4 }),
        ),
        (
            json!({ "type": "integer", "minimum": 1, "maximum": 9 }),
            json!({ "type": "integer", "exclusiveMinimum": 0 }),
        ),
        (
            json!({ "type": "integer", "format": "uint8" }),
            json!({ "type": "integer", "format": "uint16" }),
        ),
        (
            json!({ "type": "string" }),
            json!({ "anyOf": [{ "type": "null" }, { "type": "string" }] }),
        ),
        (
            json!({ "oneOf": [{ "const": "a" }, { "const": "b" }] }),
            json!({ "oneOf": [{ "const": "b" }, { "const": "c" }, { "const": "a" }] }),
        ),
        // Names that nobody documented were never published.
        (
            json!({ "type": "object", "properties": {} }),
            closed.clone(),
        ),
        (
            closed.clone(),
            json!({ "type": "object", "properties": { "more": { "type": "string" } }, "additionalProperties": false }),
        ),
        (json!(false), json!({ "type": "string" })),
    ] {
        let (before, now) = (json!([taking(&before)]), json!([taking(&now)]));
        assert_eq!(violations(&before, &now), [], "{before} {now}");
    }
}

#[test]
fn a_fault_deep_inside_is_told_with_its_path() {
    let schema = |required: Value| {
        json!({ "name": "search-cards", "inputSchema": {
            "type": "object",
            "properties": { "due": { "anyOf": [{ "$ref": "#/$defs/Range" }, { "type": "null" }] } },
            "$defs": { "Range": {
                "type": "object",
                "properties": { "from": { "type": "string" }, "next": { "$ref": "#/$defs/Range" } },
                "required": required,
            } },
        } })
    };
    let (before, now) = (json!([schema(json!([]))]), json!([schema(json!(["from"]))]));
    let found = violations(&before, &now);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].message.starts_with(
            "the parameter 'due.from' has become required; give the changed tool a new name"
        ),
        "{found:?}"
    );
}

#[test]
fn ver_2_removed_fields_of_the_output_were_accepted() {
    let output = |data: Value| json!([{ "name": "get-card", "outputSchema": { "type": "object", "properties": { "data": data } } }]);
    let card = json!({ "type": "object", "properties": {
        "id": { "type": "string" },
        "tags": { "type": "array", "items": { "type": "object", "properties": { "name": { "type": "string" } } } },
    } });
    let changed = |pointer: &str, value: Value| {
        let mut changed = card.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    for (now, fault) in [
        (
            changed("/properties", json!({ "id": { "type": "string" } })),
            "'data.tags' of the output is gone",
        ),
        (
            changed("/properties/tags/items/properties", json!({})),
            "'data.tags[].name' of the output is gone",
        ),
        (
            changed("/properties/id/type", json!("integer")),
            "'data.id' of the output has another type",
        ),
        (json!({}), "'data.id' of the output is gone"),
    ] {
        let found = violations(&output(card.clone()), &output(now));
        assert_eq!(found[0].rule, Rule::OutputKept);
        assert!(found[0].message.contains(fault), "{found:?}");
    }
    let mut more = card.clone();
    more["properties"]["side"] = json!({ "type": "string" });
    assert_eq!(violations(&output(card.clone()), &output(more)), []);
    let optional = json!({ "anyOf": [{ "type": "null" }, card] });
    assert_eq!(violations(&output(optional), &output(card.clone())), []);
    let bare = json!([{ "name": "get-card" }]);
    assert_eq!(rules(&output(card), &bare), [Rule::OutputKept]);
}

#[test]
fn def_immutable_a_name_could_go_before_its_removal_date() {
    let tool = |deprecated: Value| json!([{ "name": "get-card", "_meta": { DEFINITION_KEY: { "deprecated": deprecated } } }]);
    let to = |removal: &str| tool(json!({ "replacement": "read-card", "removalDate": removal }));
    let none = json!([{ "name": "other-card" }]);
    assert_eq!(rules(&tool(Value::Null), &none), [Rule::NameKept]);
    assert_eq!(rules(&to("2026-06-02"), &none), [Rule::NameKept]);
    assert_eq!(rules(&to("2026-06-01"), &none), []);
    assert_eq!(rules(&none, &to("2026-06-02")), [Rule::NameKept]);
    assert_eq!(rules(&none, &none), []);
}

#[test]
fn brk_a_major_change_under_the_old_name_was_accepted() {
    let tool = |version: &str| json!([{ "name": "get-card", "_meta": { DEFINITION_KEY: { "version": version } } }]);
    let found = violations(&tool("1.9.0"), &tool("2.0.0"));
    assert_eq!(found[0].rule, Rule::MajorRenamed);
    assert!(found[0].message.contains("'get-card-v2'"), "{found:?}");
    assert_eq!(violations(&tool("1.9.0"), &tool("1.10.0")), []);
    assert_eq!(violations(&tool("odd"), &tool("1.0.0")), []);
}

#[test]
fn a_snapshot_of_the_test_kit_is_read_as_well() {
    let facts = json!({ "version": "1.0.0", "deprecated": false, "parameters": { "type": "object" },
        "data": { "$ref": "#/$defs/Card", "$defs": { "Card": { "properties": { "id": { "type": "string" } } } } } });
    let snapshot = json!({ "get-card": facts });
    let found = violations(
        &snapshot,
        &json!([{ "name": "get-card", "inputSchema": {},
        "outputSchema": { "properties": { "data": { "properties": { "front": {} } } } } }]),
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.contains("'data.id'"), "{found:?}");
    for other in [
        json!({}),
        json!(7),
        json!({ "a": 1 }),
        json!({ "tools": {} }),
    ] {
        assert_eq!(published(&other), None, "{other}");
    }
}

#[test]
fn a_schema_that_unfolds_without_end_is_compared_in_bounds() {
    let mut defs = serde_json::Map::new();
    for number in 0..60 {
        let next = json!({ "$ref": format!("#/$defs/d{}", number + 1) });
        let part = json!({ "anyOf": [{ "properties": { "a": next, "b": next } }, next] });
        defs.insert(format!("d{number}"), part);
    }
    let tool = |more: &str| {
        let schema = json!({ "$ref": "#/$defs/d0", "$defs": defs, "title": more });
        json!([{ "name": "get-card", "inputSchema": schema, "outputSchema": schema }])
    };
    violations(&tool("a"), &tool("b"));
}
