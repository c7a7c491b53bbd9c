use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn compiled(schema: &Value) -> Schema {
    Schema::compile(schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

/// Definitions `d0` to `d{count}`, each made from the name of the next.
fn chain(count: usize, link: impl Fn(String) -> Value, last: Value) -> Value {
    let mut definitions: Map<String, Value> = (0..count)
        .map(|number| {
            let next = format!("#/$defs/d{}", number + 1);
            (format!("d{number}"), link(next))
        })
        .collect();
    definitions.insert(format!("d{count}"), last);
    json!({"$defs": definitions, "$ref": "#/$defs/d0"})
}

fn nested(depth: usize, innermost: Value) -> Value {
    (0..depth).fold(innermost, |inner, _| json!({"a": inner, "x": 1}))
}

#[test]
fn schemas_that_unfold_without_end_cost_little() {
    let twice = |next: String| json!({"allOf": [{"$ref": next}, {"$ref": next}]});
    let schema = compiled(&chain(60, twice, json!({"type": "object"})));
    assert_eq!(schema.check(&json!({})), Verdict::Valid);
    assert_eq!(schema.check(&json!(1)), Verdict::Invalid);
    // Who counts properties cannot remember.
    let mut tracking = chain(60, twice, json!({"properties": {"a": true}}));
    tracking["unevaluatedProperties"] = json!(false);
    assert_eq!(
        compiled(&tracking).check(&json!({"a": 1})),
        Verdict::TooCostly
    );
    let straight = compiled(&chain(2_000, |next| json!({"$ref": next}), json!(true)));
    assert_eq!(straight.check(&json!(1)), Verdict::TooCostly);
}

#[test]
fn values_that_meet_a_doubling_schema_are_judged_without_walking_all_of_it() {
    let both = json!([{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]);
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let schema = json!({"$defs": {"n": {"properties": {"a": {keyword: both}},
            "required": ["x"]}}, "$ref": "#/$defs/n"});
        let schema = compiled(&schema);
        let value = nested(60, json!({}));
        assert_eq!(schema.check(&value), Verdict::Invalid, "{keyword}");
        assert!(schema.mismatches(&value, 50).len() <= 50);
        let expected = match keyword {
            "oneOf" => Verdict::Invalid,
            _ => Verdict::Valid,
        };
        assert_eq!(
            schema.check(&nested(60, json!({"x": 1}))),
            expected,
            "{keyword}"
        );
    }
}

#[test]
fn the_deepest_check_fits_on_the_stack_of_a_thread() {
    // Each level of the value passes through a reference, a part of it and a property.
    let schema = json!({"$defs": {"n": {"allOf": [{"properties": {"a": {"$ref": "#/$defs/n"}}}]}},
        "$ref": "#/$defs/n"});
    let endless = chain(
        400,
        |next| json!({"$ref": next}),
        json!({"not": {"type": "object"}}),
    );
    let check = move || {
        assert_eq!(
            compiled(&schema).check(&nested(120, json!({}))),
            Verdict::Valid
        );
        let endless = compiled(&endless);
        assert_eq!(endless.check(&json!({})), Verdict::Invalid);
        assert_eq!(endless.mismatches(&json!({}), 9).len(), 1);
    };
    let small = std::thread::Builder::new().stack_size(2 << 20);
    small.spawn(check).unwrap().join().unwrap();
}

#[test]
fn a_definition_that_leads_to_itself_asks_for_nothing_more() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}], "type": "object"}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
    ] {
        assert_eq!(
            compiled(&schema).check(&json!({})),
            Verdict::Valid,
            "{schema}"
        );
    }
}

#[test]
fn work_that_others_choose_is_counted() {
    let text = "a".repeat(200_000);
    let many = |part: Value| json!({"allOf": vec![part; 5_000]});
    for (part, value) in [
        (json!({"minLength": 1}), json!(text)),
        (json!({"pattern": "^(a|b|ab)*$"}), json!(text)),
        (
            json!({"uniqueItems": true}),
            json!((0..5_000).collect::<Vec<_>>()),
        ),
        (json!({"items": {"type": "integer"}}), json!(vec![1; 5_000])),
        (json!({"enum": (0..300).collect::<Vec<_>>()}), json!(299)),
    ] {
        let schema = compiled(&many(part.clone()));
        let verdict = schema.check(&value);
        let is_cheap = part.get("enum").is_some();
        assert!(
            is_cheap || verdict == Verdict::TooCostly,
            "{part}: {verdict:?}"
        );
    }
}

/// Schemas that say the same in the forms of several drafts; each with values and whether they match.
#[test]
fn every_draft_is_understood() {
    let draft_7 = "http://json-schema.org/draft-07/schema#";
    for (schema, right, wrong) in [
        (
            json!({"minimum": 1, "exclusiveMinimum": true}),
            json!(2),
            json!(1),
        ),
        (json!({"exclusiveMinimum": 1}), json!(2), json!(1)),
        (
            json!({"items": [{"type": "string"}], "additionalItems": false}),
            json!(["a"]),
            json!(["a", 1]),
        ),
        (
            json!({"prefixItems": [{"type": "string"}], "items": false}),
            json!(["a"]),
            json!(["a", 1]),
        ),
        (
            json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}),
            json!({"a": 1, "b": 1}),
            json!({"c": 1}),
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!({"b": 1}),
            json!({"a": 1}),
        ),
        (
            json!({"$schema": draft_7, "$ref": "#/definitions/t", "type": "null",
            "definitions": {"t": {"type": "string"}}}),
            json!("a"),
            json!(null),
        ),
        (
            json!({"$ref": "#/definitions/t", "maxLength": 1, "definitions": {"t": {"type": "string"}}}),
            json!("a"),
            json!("ab"),
        ),
    ] {
        let compiled = compiled(&schema);
        assert_eq!(compiled.check(&right), Verdict::Valid, "{schema} {right}");
        assert_eq!(compiled.check(&wrong), Verdict::Invalid, "{schema} {wrong}");
    }
}

#[test]
fn what_is_no_schema_is_told() {
    for (schema, reason) in [
        (
            json!({"type": "anything"}),
            "`type` must name types of JSON, not \"anything\"",
        ),
        (json!({"required": true}), "`required` must be a list"),
        (
            json!({"minLength": -1}),
            "`minLength` must be a number of things",
        ),
        (
            json!({"multipleOf": 0}),
            "`multipleOf` must be more than zero",
        ),
        (
            json!({"properties": {"a": 1}}),
            "a part of it that should be a schema is none",
        ),
        (json!({"properties": []}), "`properties` must be an object"),
        (
            json!({"$ref": "#/$defs/a"}),
            "it refers to '#/$defs/a', a part that it does not have",
        ),
        (
            json!({"$schema": "https://elsewhere.example/draft"}),
            "it is written in a language other than JSON Schema",
        ),
        (
            json!({"allOf": vec![json!({}); 20_001]}),
            "it has more than 20000 parts",
        ),
        (json!([]), "a part of it that should be a schema is none"),
    ] {
        assert_eq!(Schema::compile(&schema).unwrap_err(), reason);
    }
}

/// Any schema of the keywords that hold schemas, and some that do not.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({"$ref": "#/$defs/a"})),
        prop::sample::select(vec![
            "string", "integer", "number", "object", "array", "null"
        ])
        .prop_map(|name| json!({"type": name})),
        (-2..4_i32).prop_map(|number| json!({"minimum": number})),
        (-2..4_i32).prop_map(|number| json!({"exclusiveMaximum": number})),
        (1..4_i32).prop_map(|number| json!({"multipleOf": f64::from(number) / 2.0})),
        (0..3_usize).prop_map(|number| json!({"minLength": number, "maxProperties": number})),
        any_value(1).prop_map(|value| json!({"const": value})),
        prop::collection::vec(any_value(1), 1..3).prop_map(|values| json!({"enum": values})),
        prop::sample::select(vec!["a", "b"]).prop_map(|name| json!({"required": [name]})),
        Just(json!({"uniqueItems": true, "minItems": 1})),
        Just(json!({"pattern": "^a", "propertyNames": {"maxLength": 1}})),
        Just(json!({"dependentRequired": {"a": ["b"]}})),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..3);
        let list = vec!["allOf", "anyOf", "oneOf", "prefixItems"];
        let one = vec![
            "not",
            "items",
            "additionalProperties",
            "contains",
            "unevaluatedProperties",
            "unevaluatedItems",
            "if",
            "then",
            "else",
        ];
        let keyword = prop_oneof![
            (prop::sample::select(list), several)
                .prop_map(|(keyword, parts)| (keyword, json!(parts))),
            (prop::sample::select(one), inner.clone()).prop_map(|(keyword, part)| (keyword, part)),
            (inner.clone(), inner.clone())
                .prop_map(|(one, other)| ("properties", json!({"a": one, "b": other}))),
            inner
                .clone()
                .prop_map(|part| ("patternProperties", json!({"^[ab]": part}))),
            inner.prop_map(|part| ("dependentSchemas", json!({"a": part}))),
        ];
        prop::collection::vec(keyword, 1..4).prop_map(|all| {
            let all = all
                .into_iter()
                .map(|(keyword, value)| (keyword.to_owned(), value));
            Value::Object(all.collect())
        })
    })
}

fn any_value(depth: u32) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3..4_i32).prop_map(|number| json!(number)),
        (-3..4_i32).prop_map(|number| json!(f64::from(number) / 2.0)),
        prop::sample::select(vec!["", "a", "ab", "bä"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(depth, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::hash_map(
                prop::sample::select(vec!["a", "b", "c", "aa"]),
                inner,
                0..3
            )
            .prop_map(|members| json!(members)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    /// A library that others wrote says the same.
    #[test]
    fn others_judge_alike(schema in any_schema(), a in any_schema(), value in any_value(3)) {
        let mut schema = match schema {
            Value::Object(fields) => Value::Object(fields),
            other => json!({"allOf": [other]}),
        };
        schema["$defs"] = json!({"a": a});
        // A definition that leads to itself without end means nothing, and others say so in other ways.
        prop_assume!(!a.to_string().contains("$ref"));
        let theirs = jsonschema::options().should_validate_formats(false).build(&schema).unwrap();
        let ours = compiled(&schema);
        let verdict = ours.check(&value);
        prop_assert_ne!(verdict, Verdict::TooCostly);
        prop_assert_eq!(verdict == Verdict::Valid, theirs.is_valid(&value), "{} {}", schema, value);
        prop_assert_eq!(verdict == Verdict::Valid, ours.mismatches(&value, 50).is_empty(), "{} {}", schema, value);
    }
}
