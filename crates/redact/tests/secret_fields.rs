//! Which fields a schema marks as secret, and what is hidden for it.

use mcpproxy_redact::{OwnSecrets, Redactor, SecretFields};
use proptest::prelude::*;
use serde_json::{Value, json};

fn check(schema: &Value, value: &Value, expected: &Value) {
    let fields = SecretFields::of_schema(schema);
    assert_eq!(fields.is_empty(), value == expected, "{schema}");
    assert_eq!(&fields.hide(value).0, expected, "{schema}");
}

/// The secrets that hiding found are hidden in a text, and nothing else is.
fn check_found(own: &OwnSecrets, secrets: &[&str], others: &[&str]) {
    let redactor = Redactor::new([]);
    for secret in secrets {
        assert_eq!(redactor.text(secret, own), "***");
    }
    for other in others {
        assert_eq!(redactor.text(other, own), *other);
    }
}

#[test]
fn marked_fields_of_any_type_and_length() {
    let schema = json!({"type": "object", "properties": {
        "user": {"type": "string"},
        "pin": {"type": "string", "writeOnly": true},
        "phrase": {"type": "string", "format": "password"},
        "key": {"writeOnly": true},
        "shown": {"writeOnly": false, "format": "date"},
    }});
    let value = json!({
        "user": "joe", "pin": "7", "phrase": "correct horse", "key": {"n": 4711, "parts": ["alpha", true, null]},
        "shown": "2026", "other": {"pin": "8"},
    });
    let expected = json!({
        "user": "joe", "pin": "***", "phrase": "***", "key": "***",
        "shown": "2026", "other": {"pin": "8"},
    });
    check(&schema, &value, &expected);
    let own = SecretFields::of_schema(&schema).collect(&value);
    check_found(
        &own,
        &["7", "correct horse", "4711", "alpha"],
        &["joe", "8", "77", "true", "null", "2026"],
    );
    let redactor = Redactor::new([]);
    assert_eq!(
        redactor.json(
            r#"{"echo":"a correct horse","n":4711,"pin":7,"ok":true}"#,
            &own
        ),
        r#"{"echo":"a ***","n":"***","pin":"***","ok":true}"#
    );
}

#[test]
fn fields_wherever_a_schema_speaks_of_them() {
    let secret = json!({"writeOnly": true});
    for (schema, value, expected) in [
        (json!({"writeOnly": true}), json!({"a": 1}), json!("***")),
        (
            json!({"items": {"properties": {"a": secret}}}),
            json!([{"a": 1, "b": 2}]),
            json!([{"a": "***", "b": 2}]),
        ),
        (
            json!({"prefixItems": [{}, secret], "items": {"properties": {"a": secret}}}),
            json!([1, 2, {"a": 3}]),
            json!([1, "***", {"a": "***"}]),
        ),
        (
            json!({"items": [{}, secret]}),
            json!([1, 2, 3]),
            json!([1, "***", 3]),
        ),
        (
            json!({"items": [{}], "additionalItems": secret}),
            json!([1, 2]),
            json!([1, "***"]),
        ),
        (
            json!({"properties": {"a": {}}, "additionalProperties": secret}),
            json!({"a": 1, "b": 2}),
            json!({"a": 1, "b": "***"}),
        ),
        (
            json!({"patternProperties": {"^x-": secret, "_id$": {}}, "additionalProperties": secret}),
            json!({"x-a": 1, "my_id": 2, "b": 3}),
            json!({"x-a": "***", "my_id": 2, "b": "***"}),
        ),
        (
            json!({"patternProperties": {"^[a-z]+$": secret}}),
            json!({"a": 1, "B": 2}),
            json!({"a": "***", "B": "***"}),
        ),
        (
            json!({"allOf": [{"properties": {"a": secret}}], "anyOf": [true, {"properties": {"b": secret}}],
                "oneOf": [{"properties": {"c": secret}}, false]}),
            json!({"a": 1, "b": 2, "c": 3, "d": 4}),
            json!({"a": "***", "b": "***", "c": "***", "d": 4}),
        ),
        (
            json!({"if": {"properties": {"a": {}}}, "then": {"properties": {"b": secret}},
                "else": {"properties": {"c": secret}}}),
            json!({"a": 1, "b": 2, "c": 3}),
            json!({"a": 1, "b": "***", "c": "***"}),
        ),
        (
            json!({"properties": {"a": {"$ref": "#/$defs/x~1y%25"}}, "$defs": {"x/y%": secret}}),
            json!({"a": 1, "b": 2}),
            json!({"a": "***", "b": 2}),
        ),
        (
            json!({"properties": {"a": {"$ref": "#named"}}, "definitions": {"x": {"$anchor": "named", "format": "password"}}}),
            json!({"a": 1, "b": 2}),
            json!({"a": "***", "b": 2}),
        ),
        (
            json!({"properties": {"next": {"$ref": "#"}, "a": secret}}),
            json!({"next": {"next": {"a": 1, "b": 2}}}),
            json!({"next": {"next": {"a": "***", "b": 2}}}),
        ),
    ] {
        check(&schema, &value, &expected);
    }
}

#[test]
fn schemas_without_secrets() {
    for schema in [
        json!(true),
        json!(false),
        json!(null),
        json!([]),
        json!({}),
        json!({"properties": {"writeOnly": {"type": "boolean"}, "format": {"const": "password"}}}),
        json!({"properties": {"a": {"writeOnly": "true", "format": ["password"]}}}),
        json!({"$defs": {"unused": {"writeOnly": true}}}),
        json!({"properties": {"a": {"$ref": "https://example.com/other#/a"}}}),
        json!({"properties": {"a": {"$ref": "#/missing"}, "b": {"$ref": "#nowhere"}, "c": {"$ref": 7}}}),
        json!({"properties": 1, "items": 2, "allOf": 3, "patternProperties": [], "if": 4}),
    ] {
        let value = json!({"a": 1, "writeOnly": true, "format": "password"});
        check(&schema, &value, &value);
    }
    assert!(SecretFields::none().is_empty() && !SecretFields::all().is_empty());
    assert_eq!(SecretFields::all().hide(&json!({"a": 1})).0, json!("***"));
}

#[test]
fn hostile_schemas_end() {
    let mut definitions = serde_json::Map::new();
    for number in 0..1000 {
        let next = format!("#/$defs/{}", (number + 1) % 1000);
        definitions.insert(
            number.to_string(),
            json!({"allOf": [{"$ref": next}, {"$ref": next}],
                "additionalProperties": {"anyOf": [{"$ref": next}, {"$ref": "#"}]}}),
        );
    }
    let mut schema = json!({"$ref": "#/$defs/0", "$defs": definitions});
    let members: serde_json::Map<_, _> = (0..1000)
        .map(|n| (n.to_string(), json!({"a": n})))
        .collect();
    let value = Value::from(members);
    assert!(SecretFields::of_schema(&schema).is_empty());

    // The same with a secret that every path leads to: the walk over the value is cut short, and
    // what was not looked at is hidden.
    schema["$defs"]["7"]["properties"] = json!({"a": {"writeOnly": true}});
    let (hidden, _) = SecretFields::of_schema(&schema).hide(&value);
    for (_, member) in hidden.as_object().unwrap() {
        assert!(*member == json!("***") || member["a"] == json!("***"));
    }

    let loops = json!({"$ref": "#", "allOf": [{"$ref": "#"}], "properties": {"a": {"$ref": "#"}}});
    assert!(SecretFields::of_schema(&loops).is_empty());

    // More subschemas than are read: nobody knows what is secret, so everything is.
    let wide: Vec<Value> = (0..20_000).map(|_| json!({})).collect();
    let fields = SecretFields::of_schema(&json!({"anyOf": wide}));
    assert_eq!(fields.hide(&json!({"a": 1})).0, json!("***"));
}

#[test]
fn deep_values_and_schemas_end() {
    let mut schema = json!({"writeOnly": true});
    let mut value = json!("deeply hidden");
    for _ in 0..100 {
        schema = json!({"properties": {"a": schema}});
        value = json!({"a": value});
    }
    assert!(
        !SecretFields::of_schema(&schema)
            .hide(&value)
            .0
            .to_string()
            .contains("deeply")
    );
    for _ in 0..300 {
        value = json!({"a": value});
    }
    let itself = json!({"properties": {"a": {"$ref": "#"}, "b": {"writeOnly": true}}});
    let (hidden, own) = SecretFields::of_schema(&itself).hide(&value);
    assert!(!hidden.to_string().contains("deeply"));
    check_found(&own, &["deeply hidden"], &[]);
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(null)),
        Just(json!("password")),
        Just(json!("#")),
        Just(json!("#/properties/a")),
        Just(json!("#/a/b")),
        any::<i32>().prop_map(Value::from),
    ];
    let keyword = prop::sample::select(vec![
        "writeOnly",
        "format",
        "properties",
        "items",
        "prefixItems",
        "allOf",
        "anyOf",
        "if",
        "$ref",
        "$defs",
        "additionalProperties",
        "patternProperties",
        "a",
        "b",
        "$anchor",
        "^a$",
        "(",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keyword.clone(), inner), 0..5)
                .prop_map(|fields| fields.into_iter().collect::<Value>()),
        ]
    })
}

proptest! {
    #[test]
    fn any_schema_and_any_value(schema in anything(), value in anything()) {
        let fields = SecretFields::of_schema(&schema);
        let (hidden, own) = fields.hide(&value);
        if fields.is_empty() {
            prop_assert_eq!(&hidden, &value);
            prop_assert_eq!(format!("{own:?}"), "OwnSecrets(0 spellings)");
        }
        prop_assert_eq!(fields.hide(&hidden).0, hidden);
    }
}
