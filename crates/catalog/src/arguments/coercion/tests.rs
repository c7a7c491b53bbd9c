use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Arguments after their conversion, and where they were converted; nothing if they stay refused.
fn coerce(schema: &Value, given: &str) -> Option<(String, Vec<String>)> {
    let schema = Schema::compile(schema).unwrap();
    let given = JsonObject::parse(given).unwrap();
    assert!(!schema.matches_within(given.value(), 1_000_000), "refused");
    let coerced = coerced(&schema, &given)?;
    Some((coerced.arguments.text().to_owned(), coerced.paths))
}

/// Checks what becomes of `{"a": given}` where `a` has this schema.
#[track_caller]
fn check(schema: &Value, given: &str, expected: Option<&str>) {
    let properties = json!({"properties": {"a": schema}});
    let expected = expected.map(|value| (format!(r#"{{"a":{value}}}"#), vec!["/a".to_owned()]));
    let found = coerce(&properties, &format!(r#"{{"a":{given}}}"#));
    assert_eq!(found, expected, "{schema} {given}");
}

#[test]
fn a_number_as_text_is_a_number_if_nothing_of_it_is_lost() {
    for (given, expected) in [
        ("3", Some("3")),
        ("-12", Some("-12")),
        ("0", Some("0")),
        ("18446744073709551615", Some("18446744073709551615")),
        ("18446744073709551616", None),
        ("-9223372036854775809", None),
        ("3.0", None),
        ("1e3", None),
        ("3.5", None),
        ("007", None),
        ("+3", None),
        (" 3", None),
        ("3 ", None),
        ("0x10", None),
        ("1_000", None),
        ("1,000", None),
        ("٣", None),
        ("", None),
        ("-", None),
        ("three", None),
        ("NaN", None),
        ("true", None),
        ("null", None),
    ] {
        check(
            &json!({"type": "integer"}),
            &Value::from(given).to_string(),
            expected,
        );
    }
    for (given, expected) in [
        ("3", Some("3")),
        ("3.50", Some("3.5")),
        ("1e3", Some("1000.0")),
        ("1E+3", Some("1000.0")),
        ("-0.25", Some("-0.25")),
        ("0.1", Some("0.1")),
        ("0.10000000000000000001", None),
        ("1e-400", None),
        ("1e400", None),
        (".5", None),
        ("5.", None),
        ("Infinity", None),
    ] {
        check(
            &json!({"type": "number"}),
            &Value::from(given).to_string(),
            expected,
        );
    }
    let long = Value::from("1".repeat(NUMBER_LIMIT + 1)).to_string();
    check(&json!({"type": "number"}), &long, None);
}

#[test]
fn a_boolean_as_text_is_one_of_two_words() {
    for (given, expected) in [
        ("true", Some("true")),
        ("false", Some("false")),
        ("True", None),
        ("yes", None),
        ("1", None),
        ("", None),
    ] {
        check(
            &json!({"type": "boolean"}),
            &Value::from(given).to_string(),
            expected,
        );
    }
    check(&json!({"type": "boolean"}), "1", None);
    check(&json!({"type": "boolean"}), "null", None);
}

#[test]
fn nothing_is_converted_where_the_value_would_do_as_it_is() {
    let shorter = json!({"type": "string", "maxLength": 1});
    for schema in [
        json!({"anyOf": [shorter, {"type": "integer"}]}),
        json!({"oneOf": [{"type": "integer"}, {"type": "string", "pattern": "^x"}]}),
        json!({"type": ["string", "integer"], "maxLength": 1}),
        json!({"enum": ["a", 12]}),
        json!({"anyOf": [{"enum": ["a"]}, {"type": "integer"}]}),
        json!({"anyOf": [{"const": "a"}, {"const": 12}]}),
    ] {
        check(&schema, r#""12""#, None);
    }
    // A number where text is wanted is not among what models do.
    check(&json!({"type": "string"}), "3", None);
}

#[test]
fn allowed_values_count() {
    for (schema, given, expected) in [
        (json!({"enum": [1, 2]}), r#""2""#, Some("2")),
        (json!({"enum": [1, 2]}), r#""3""#, None),
        (
            json!({"enum": [1, 2], "type": "integer"}),
            r#""1""#,
            Some("1"),
        ),
        (json!({"enum": [true, null]}), r#""true""#, Some("true")),
        (json!({"enum": [true]}), r#""false""#, None),
        (json!({"const": 5}), r#""5""#, Some("5")),
        (json!({"const": 5}), r#""6""#, None),
        (json!({"const": [1]}), r#""[1]""#, Some("[1]")),
        (json!({"type": "integer", "maximum": 5}), r#""6""#, None),
        (
            json!({"type": "integer", "not": {"const": 3}}),
            r#""3""#,
            None,
        ),
    ] {
        check(&schema, given, expected);
    }
}

#[test]
fn one_value_becomes_the_list_that_is_wanted() {
    let of = |item: &str| json!({"type": "array", "items": {"type": item}});
    for (schema, given, expected) in [
        (of("string"), r#""items""#, Some(r#"["items"]"#)),
        (of("string"), r#""a,b""#, Some(r#"["a,b"]"#)),
        (of("string"), r#""""#, None),
        (of("string"), r#"" ""#, None),
        (of("string"), "5", None),
        (of("integer"), "5", Some("[5]")),
        (of("integer"), r#""5""#, Some("[5]")),
        (of("integer"), r#""5,6""#, None),
        (of("boolean"), "true", Some("[true]")),
        (of("object"), r#"{"b":1}"#, Some(r#"[{"b":1}]"#)),
        (of("object"), "null", None),
        (of("array"), "5", None),
        (json!({"type": "array", "minItems": 2}), "5", None),
        (
            json!({"anyOf": [of("string"), {"type": "null"}]}),
            r#""x""#,
            Some(r#"["x"]"#),
        ),
        (json!({"type": ["array", "integer"]}), r#""5""#, Some("5")),
    ] {
        check(&schema, given, expected);
    }
}

#[test]
fn json_text_becomes_the_list_or_the_object_that_is_wanted() {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let object = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    for (schema, given, expected) in [
        (&texts, r#"["items"]"#, Some(r#"["items"]"#)),
        (&texts, " [ \"a\" , \"b\" ]\n", Some(r#"["a","b"]"#)),
        (&texts, "[]", Some("[]")),
        (&texts, "[1]", None),
        (&texts, "[draft] text", None),
        (&texts, r#"{"a":1}"#, None),
        (&object, r#"{"n":1}"#, Some(r#"{"n":1}"#)),
        (&object, r#"{"n":"1"}"#, Some(r#"{"n":1}"#)),
        (&object, r#"{"n":"x"}"#, None),
        (&object, r#"{"n":1,"n":2}"#, None),
        (&object, r#"{"n":1} "#, Some(r#"{"n":1}"#)),
        (&object, r#"{"m":10.0000000000000000001}"#, None),
        (&object, "[]", None),
        (&object, "{", None),
    ] {
        check(schema, &Value::from(given).to_string(), expected);
    }
    check(&object, "[]", None);
    let pydantic = json!({"anyOf": [texts, {"type": "null"}], "default": null});
    check(&pydantic, r#""[\"items\"]""#, Some(r#"["items"]"#));
    let deep = Value::from(format!("{}{}", "[".repeat(200), "]".repeat(200)));
    check(&json!({"type": "array"}), &deep.to_string(), None);
}

#[test]
fn what_is_inside_is_converted_where_one_alternative_asks_for_it() {
    let named = |kind: &str, own: &str| {
        json!({"type": "object", "required": ["kind", own], "additionalProperties": false,
            "properties": {"kind": {"const": kind}, own: {"type": "integer"}}})
    };
    let either = json!({"oneOf": [named("one", "n"), named("two", "m")]});
    let schema = json!({"properties": {"a": either}});
    let found = coerce(&schema, r#"{"a":{"kind":"two","m":"7"}}"#);
    let expected = (
        r#"{"a":{"kind":"two","m":7}}"#.to_owned(),
        vec!["/a/m".to_owned()],
    );
    assert_eq!(found, Some(expected));
    // Nobody knows which of two alternatives is meant.
    let numbers = |name: &str| json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": [name]});
    let unclear = json!({"anyOf": [numbers("n"), numbers("n")]});
    check(&unclear, r#"{"n":"7"}"#, None);
}

#[test]
fn everything_has_to_be_mended_and_all_else_stays() {
    let schema = json!({"required": ["n"], "$defs": {"n": {"type": "integer"}},
        "properties": {"n": {"$ref": "#/$defs/n"}, "list": {"items": {"$ref": "#/$defs/n"}},
            "text": {"type": "string"}}});
    let found = coerce(
        &schema,
        r#"{"z":"3","n":"3","list":["1",2,"3"],"text":"4","b":1.50}"#,
    );
    let (arguments, paths) = found.unwrap();
    assert_eq!(
        arguments,
        r#"{"z":"3","n":3,"list":[1,2,3],"text":"4","b":1.5}"#
    );
    assert_eq!(paths, ["/n", "/list/0", "/list/2"]);
    for wrong in [
        r#"{"n":"3","text":4}"#,
        r#"{"list":["1"]}"#,
        r#"{"n":"3","list":["1","x"]}"#,
        // All is written anew, so a number elsewhere would become another one.
        r#"{"n":"3","b":10.0000000000000000001}"#,
    ] {
        assert_eq!(coerce(&schema, wrong), None, "{wrong}");
    }
}

#[test]
fn conversions_are_bounded() {
    let schema = json!({"properties": {"a": {"items": {"type": "integer"}}}});
    let list = |count: usize| format!(r#"{{"a":[{}]}}"#, vec![r#""1""#; count].join(","));
    let (_, paths) = coerce(&schema, &list(CONVERSION_LIMIT)).unwrap();
    assert_eq!(paths.len(), CONVERSION_LIMIT);
    assert_eq!(coerce(&schema, &list(CONVERSION_LIMIT + 1)), None);
    assert_eq!(coerce(&schema, &list(100_000)), None);
    // JSON text in JSON text is read as deep as there are rounds.
    let tree = json!({"$ref": "#/$defs/t", "$defs": {"t": {"type": "object",
        "properties": {"t": {"$ref": "#/$defs/t"}}}}});
    let nested = |depth: usize| {
        let mut text = "{}".to_owned();
        for _ in 0..depth {
            text = json!({ "t": text }).to_string();
        }
        text
    };
    assert!(coerce(&tree, &nested(ROUND_LIMIT)).is_some());
    assert_eq!(coerce(&tree, &nested(ROUND_LIMIT + 1)), None);
}

fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just("3".to_owned()),
        Just("true".to_owned()),
        Just("[1]".to_owned()),
        Just(r#"{"a":"1"}"#.to_owned()),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::hash_map("[ab]", inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_comes_out_matches_and_is_read_as_it_is_sent(given in value(), kind in 0_usize..7) {
        let kinds = ["null", "boolean", "integer", "number", "string", "array", "object"];
        let part = json!({"type": kinds[kind], "items": {"type": "integer"},
            "properties": {"a": {"type": "boolean"}}});
        let schema = Schema::compile(&json!({"properties": {"a": part}})).unwrap();
        let given = JsonObject::parse(&json!({"a": given, "b": "3"}).to_string()).unwrap();
        if let Some(coerced) = coerced(&schema, &given) {
            prop_assert!(schema.matches_within(coerced.arguments.value(), 100_000));
            let again: Value = serde_json::from_str(coerced.arguments.text()).unwrap();
            prop_assert_eq!(&again, coerced.arguments.value());
            prop_assert_eq!(&again["b"], "3");
        }
    }
}
