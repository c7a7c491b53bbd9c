use proptest::prelude::*;
use serde_json::json;

use super::*;

fn compiled(schema: &Value) -> ArgumentSchema {
    ArgumentSchema::compile("s:t", &Json::of(schema))
}

/// Checks arguments and compares the violations, each as `path: message`.
fn check(schema: &Value, arguments: &Value, expected: &[&str]) {
    assert!(compile(&Json::of(schema)).is_ok(), "{schema}");
    let mut found: Vec<String> = compiled(schema)
        .check(Some(arguments))
        .err()
        .unwrap_or_default()
        .into_iter()
        .map(|violation| format!("{}: {}", violation.path, violation.message))
        .collect();
    found.sort();
    assert_eq!(found, expected, "{schema} {arguments}");
}

#[test]
fn every_violation_is_reported_with_its_path() {
    let schema = json!({"type": "object", "required": ["title", "items"],
        "additionalProperties": false,
        "properties": {
            "title": {"type": "string", "minLength": 3},
            "state": {"enum": ["open", "closed"]},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "items": {"type": "array", "items": {"type": "object",
                "properties": {"name": {"type": ["string", "null"]}}, "required": ["name"]}}}});
    check(&schema, &json!({"title": "abc", "items": []}), &[]);
    check(
        &schema,
        &json!({}),
        &[
            ": missing required property \"items\"",
            ": missing required property \"title\"",
        ],
    );
    check(
        &schema,
        &json!({"title": "a", "state": "done", "count": 0, "either": 5, "a/b~c": 1,
            "items": [{"name": 7}, {}, 3]}),
        &[
            "/a~1b~0c: unknown property \"a/b~c\"",
            "/count: expected at least 1, found 0",
            "/either: expected string, or null, found 5",
            "/items/0/name: expected string or null, found 7",
            "/items/1: missing required property \"name\"",
            "/items/2: expected object, found 3",
            "/state: expected one of \"open\", \"closed\", found \"done\"",
            "/title: expected at least 3 characters, found \"a\"",
        ],
    );
}

#[test]
fn an_unknown_name_is_told_with_the_one_that_was_meant_at_any_depth() {
    let range = json!({"type": "object", "additionalProperties": false,
        "properties": {"from": {"type": "string"}, "to": {"type": "string"}}});
    let schema = json!({"type": "object", "additionalProperties": false,
        "$defs": {"range": range},
        "properties": {
            "due": range,
            "ranges": {"type": "array", "items": {"$ref": "#/$defs/range"}},
            "made": {"anyOf": [{"$ref": "#/$defs/range"}, {"type": "null"}]}}});
    check(
        &schema,
        &json!({"due": {"fro": "x"}, "ranges": [{}, {"too": "x"}], "made": {"form": "x", "zzz": 1},
            "maed": null}),
        &[
            "/due/fro: unknown property \"fro\", did you mean \"from\"?",
            "/made/form: unknown property \"form\", did you mean \"from\"?",
            "/made/zzz: unknown property \"zzz\"",
            "/maed: unknown property \"maed\", did you mean \"made\"?",
            "/ranges/1/too: unknown property \"too\", did you mean \"to\"?",
        ],
    );
}

#[test]
fn a_missing_name_is_told_with_the_unlisted_one_that_was_likely_meant_by_it() {
    let schema = json!({"required": ["path", "paths"],
        "properties": {"path": {}, "paths": {}, "depth": {}}});
    check(
        &schema,
        &json!({"pth": "x", "paths": []}),
        &[r#": missing required property "path", did you mean it by "pth"?"#],
    );
    // A listed one is meant as it is, and what is far is not meant at all.
    check(
        &schema,
        &json!({"paths": [], "zzz": 1}),
        &[r#": missing required property "path""#],
    );
}

#[test]
fn a_million_unknown_names_are_not_all_compared() {
    let schema = json!({"additionalProperties": false, "properties": {"path": {}}});
    let many = (0..1_000_000).map(|number| (format!("path{number}"), Value::Null));
    let violations = compiled(&schema).check(Some(&many.collect())).unwrap_err();
    assert_eq!(violations.len(), VIOLATION_LIMIT);
    assert_eq!(
        violations[0].message,
        r#"unknown property "path0", did you mean "path"?"#
    );
}

#[test]
fn missing_arguments_are_an_empty_object_and_others_must_be_one() {
    let strict = compiled(&json!({"required": ["a"]}));
    assert_eq!(strict.check(None).unwrap_err().len(), 1);
    assert!(compiled(&json!({})).check(None).is_ok());
    for schema in [json!({}), json!({"$ref": "https://elsewhere.example/x"})] {
        for arguments in [json!(null), json!([]), json!("{}"), json!(1)] {
            let violations = compiled(&schema).check(Some(&arguments)).unwrap_err();
            assert_eq!(violations[0].message, "arguments must be an object");
        }
    }
}

#[test]
fn long_values_are_never_repeated_and_violations_are_bounded() {
    let long = "x".repeat(5_000);
    let schema = json!({"properties": {"a": {"enum": [1]}, "b": {"type": "integer"},
        "c": {"pattern": "^y+$"}, "d": {"items": {"type": "string"}}}, "additionalProperties": false});
    let arguments = json!({"a": long, "b": [long], "c": long, "d": vec![1; 500], &long: 1});
    let violations = compiled(&schema).check(Some(&arguments)).unwrap_err();
    assert_eq!(violations.len(), VIOLATION_LIMIT);
    for violation in &violations {
        assert!(
            !violation.message.contains(&"x".repeat(101)),
            "{violation:?}"
        );
        assert!(violation.message.len() < 400, "{violation:?}");
    }
}

#[test]
fn drafts_are_told_apart() {
    let old = "http://json-schema.org/draft-04/schema#";
    let schema = json!({"$schema": old,
        "properties": {"a": {"minimum": 1, "exclusiveMinimum": true}}});
    check(
        &schema,
        &json!({"a": 1}),
        &["/a: expected more than 1, found 1"],
    );
    // Draft 4 that does not say so.
    let schema = json!({"properties": {"a": {"minimum": 1, "exclusiveMinimum": true}}});
    check(
        &schema,
        &json!({"a": 1}),
        &["/a: expected more than 1, found 1"],
    );
    // Draft 7 that does not say so: a list of schemas under `items`.
    let schema = json!({"properties": {"a": {"items": [{"type": "string"}]}}});
    check(
        &schema,
        &json!({"a": [1]}),
        &["/a/0: expected string, found 1"],
    );
    let schema = json!({"properties": {"a": {"prefixItems": [{"type": "string"}]}}});
    check(
        &schema,
        &json!({"a": [1]}),
        &["/a/0: expected string, found 1"],
    );
}

#[test]
fn references_inside_the_schema_are_followed() {
    for reference in [
        "#/$defs/a%20b",
        "#named",
        "https://own.example/s#/$defs/a%20b",
    ] {
        let schema = json!({"$id": "https://own.example/s",
            "$defs": {"a b": {"$anchor": "named", "type": "string"}},
            "properties": {"a": {"$ref": reference}}});
        check(&schema, &json!({"a": 1}), &["/a: expected string, found 1"]);
    }
    let tree = json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}},
        "required": ["value"]});
    check(
        &tree,
        &json!({"value": 1, "left": {"value": 2, "right": {}}}),
        &["/left/right: missing required property \"value\""],
    );
}

#[test]
fn a_schema_that_cannot_be_used_leaves_the_tool_callable() {
    let unusable = [
        json!({"$ref": "https://elsewhere.example/schema.json"}),
        json!({"properties": {"a": {"$ref": "file:///etc/hostname"}}}),
        json!({"properties": {"a": {"$ref": "other.json#/x"}}}),
        json!({"properties": {"a": {"$ref": "#/$defs/missing"}}}),
        json!({"properties": {"a": {"$id": "https://x.example/", "$ref": "#/b"}}}),
        json!({"$schema": "https://elsewhere.example/draft", "type": "object"}),
        json!({"properties": {"a": {"type": "anything"}}}),
        json!({"properties": {"a": {"pattern": "(?=a)b"}}}),
        json!({"properties": {"a": {"pattern": "((x{1,1000}){1,1000}){1,1000}"}}}),
        json!({"description": "x".repeat(300_000)}),
    ];
    for schema in unusable {
        let result = compile(&Json::of(&schema));
        assert!(result.is_err(), "{:.200}", schema.to_string());
        assert!(compiled(&schema).check(Some(&json!({"a": 1}))).is_ok());
    }
}

#[test]
fn a_schema_of_endless_depth_is_not_compiled() {
    let text = format!(
        "{}{{}}{}",
        r#"{"not":"#.repeat(100_000),
        "}".repeat(100_000)
    );
    let schema = Json::parse(text).unwrap();
    assert!(compile(&schema).is_err());
}

#[test]
fn arguments_that_meet_a_doubling_schema_are_refused_without_walking_it() {
    let both = json!([{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]);
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let schema = json!({"$defs": {"n": {"properties": {"a": {keyword: both}},
            "required": ["x"]}}, "$ref": "#/$defs/n"});
        let mut arguments = json!({});
        for _ in 0..60 {
            arguments = json!({"a": arguments, "x": 1});
        }
        let violations = compiled(&schema).check(Some(&arguments)).unwrap_err();
        assert!((1..=VIOLATION_LIMIT).contains(&violations.len()));
    }
}

#[test]
fn patterns_take_no_longer_on_hostile_text() {
    let schema = json!({"properties": {"a": {"pattern": "^(a+)+$"}}});
    let arguments = json!({"a": format!("{}!", "a".repeat(100_000))});
    assert_eq!(
        compiled(&schema).check(Some(&arguments)).unwrap_err().len(),
        1
    );
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#/$defs/a"})),
        Just(json!({"type": "string"})),
        any::<i32>().prop_map(|number| json!({"minimum": number})),
        any::<String>().prop_map(|text| json!({"pattern": text})),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            (
                prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]),
                prop::collection::vec(inner.clone(), 1..4)
            )
                .prop_map(|(keyword, parts)| json!({keyword: parts})),
            (
                prop::sample::select(vec!["not", "items", "additionalProperties", "contains"]),
                inner.clone()
            )
                .prop_map(|(keyword, part)| json!({keyword: part})),
            (inner.clone(), inner).prop_map(|(one, other)| json!({"$defs": {"a": one},
                "properties": {"x": other, "y": {"$ref": "#/$defs/a"}}})),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_schema_answers(schema in schema(), text in any::<String>(), number in any::<i64>()) {
        let mut arguments = json!({"x": text, "y": {"x": number}});
        for _ in 0..5 {
            arguments = json!({"x": arguments, "y": [arguments]});
            if let Err(violations) = compiled(&schema).check(Some(&arguments)) {
                prop_assert!(!violations.is_empty() && violations.len() <= VIOLATION_LIMIT);
            }
        }
    }
}
