use serde_json::{Value, json};

use super::*;
use crate::tool::error::ParameterViolation;

fn shown_of(params: &Value, schema: &Value) -> Value {
    redact(params, &SecretFields::of_schema(schema))
}

#[track_caller]
fn check(schema: &Value, params: &Value, expected: &Value) {
    assert_eq!(&shown_of(params, schema), expected, "{schema}");
}

#[test]
fn what_is_no_secret_is_shown_as_it_is() {
    let params = json!({"front": "Cat", "count": 3, "deep": {"list": [null, true, 1.5]}});
    check(&json!({}), &params, &params);
    check(&json!(true), &params, &params);
}

#[test]
fn what_a_schema_marks_is_hidden_wherever_it_says_so() {
    let marked = json!({"writeOnly": true});
    for (schema, params, expected) in [
        (marked.clone(), json!({"a": 1}), json!("***")),
        (
            json!({"properties": {"a": marked}}),
            json!({"a": 7, "b": 8}),
            json!({"a": "***", "b": 8}),
        ),
        (
            json!({"properties": {"a": {"type": "string", "format": "password"}}}),
            json!({"a": "x"}),
            json!({"a": "***"}),
        ),
        (
            json!({"properties": {"a": {"writeOnly": false}}}),
            json!({"a": 7}),
            json!({"a": 7}),
        ),
        (
            json!({"items": {"properties": {"a": marked}}}),
            json!([{"a": [1]}, {"b": 2}]),
            json!([{"a": "***"}, {"b": 2}]),
        ),
        (
            json!({"prefixItems": [{}, marked], "items": {"type": "number"}}),
            json!([1, 2, 3]),
            json!([1, "***", 3]),
        ),
        (
            json!({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"properties": {"b": marked}}}}),
            json!({"a": {"b": 1, "c": 2}}),
            json!({"a": {"b": "***", "c": 2}}),
        ),
        (
            json!({"properties": {"a": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}}, "$defs": {"A": marked}}),
            json!({"a": "x"}),
            json!({"a": "***"}),
        ),
        (
            json!({"allOf": [{"oneOf": [{"properties": {"a": marked}}]}]}),
            json!({"a": 1}),
            json!({"a": "***"}),
        ),
        (
            json!({"then": {"properties": {"a": marked}}}),
            json!({"a": 1}),
            json!({"a": "***"}),
        ),
        (
            json!({"properties": {"a": {}}, "additionalProperties": marked}),
            json!({"a": 1, "b": 2}),
            json!({"a": 1, "b": "***"}),
        ),
        (
            json!({"patternProperties": {"^b": marked}}),
            json!({"b1": 2}),
            json!({"b1": "***"}),
        ),
    ] {
        check(&schema, &params, &expected);
    }
}

#[test]
fn a_schema_that_refers_to_itself_is_followed_as_deep_as_the_value_goes() {
    let schema = json!({
        "$ref": "#/$defs/Node",
        "$defs": {"Node": {"properties": {
            "next": {"$ref": "#/$defs/Node"},
            "mark": {"writeOnly": true},
        }}},
    });
    check(
        &schema,
        &json!({"next": {"next": {"mark": 1, "name": "x"}}}),
        &json!({"next": {"next": {"mark": "***", "name": "x"}}}),
    );
    let circle = json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}});
    check(&circle, &json!({"a": 1}), &json!({"a": 1}));
}

#[test]
fn where_a_schema_says_too_much_to_follow_everything_is_hidden() {
    let parts: Vec<Value> = (0..20_000).map(|_| json!({})).collect();
    check(&json!({"anyOf": parts}), &json!("x"), &json!("***"));
    check(&json!({"anyOf": parts[..100]}), &json!("x"), &json!("x"));
}

#[test]
fn names_that_say_secret() {
    for name in [
        "password",
        "PASSWORD",
        "db_password",
        "newPassword2",
        "passwordHash",
        "passwd",
        "pwd",
        "passphrase",
        "secret",
        "clientSecret",
        "client-secrets",
        "token",
        "accessToken",
        "refresh_token",
        "GITHUB_TOKEN",
        "idtoken",
        "dbpassword",
        "api_key",
        "apiKey",
        "APIKey",
        "apikey",
        "X-Api-Key",
        "authorization",
        "Proxy-Authorization",
        "credential",
        "awsCredentials",
        "private_key",
        "sshPrivateKey",
        "AWS_SECRET_ACCESS_KEY",
        "cookie",
        "Set-Cookie",
        "sessionJwt",
        "card.pin",
    ] {
        check(&json!({}), &json!({name: "x"}), &json!({name: "***"}));
    }
}

#[test]
fn names_that_do_not_say_secret() {
    for name in [
        "",
        "name",
        "secretary",
        "key",
        "sortKey",
        "keyboard",
        "monkey",
        "author",
        "pinned",
        "spinner",
        "public_key",
        "cursor",
        "compass",
        "tokenizer",
        "keys",
        "apiVersion",
    ] {
        check(&json!({}), &json!({name: "x"}), &json!({name: "x"}));
    }
}

#[test]
fn a_secret_name_hides_everything_below_it() {
    check(
        &json!({}),
        &json!({"login": {"credentials": {"user": "joe", "n": [1]}, "host": "h"}}),
        &json!({"login": {"credentials": "***", "host": "h"}}),
    );
}

#[test]
fn long_texts_and_lists_are_cut() {
    let text = "ä".repeat(LONGEST_TEXT);
    check(&json!({}), &json!(text), &json!(text));
    check(
        &json!({}),
        &json!(format!("{text}b")),
        &json!(format!("{text}…")),
    );

    let items: Vec<usize> = (0..MOST_ITEMS + 5).collect();
    check(
        &json!({}),
        &json!(items[..MOST_ITEMS]),
        &json!(items[..MOST_ITEMS]),
    );
    let mut expected: Vec<Value> = items[..MOST_ITEMS].iter().map(|n| json!(n)).collect();
    expected.push(json!("… 5 more items"));
    check(&json!({}), &json!(items), &json!(expected));
}

#[test]
fn objects_are_cut_with_their_names() {
    let fields: Map<String, Value> = (0..=MOST_FIELDS)
        .map(|n| (format!("f{n}"), json!(n)))
        .collect();
    let shown = shown_of(&json!(fields), &json!({}));
    assert_eq!(shown["…"], json!("1 more fields"));
    assert_eq!(shown.as_object().unwrap().len(), MOST_FIELDS + 1);

    let name = "n".repeat(LONGEST_TEXT + 1);
    let shown = shown_of(&json!({name: 1}), &json!({}));
    let expected = format!("{}…", "n".repeat(LONGEST_TEXT));
    assert_eq!(shown, json!({expected: 1}));
}

#[test]
fn deep_and_wide_values_end_somewhere() {
    let mut deep = json!("bottom");
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let shown = shown_of(&deep, &json!({})).to_string();
    assert!(shown.contains('…') && !shown.contains("bottom"), "{shown}");

    let wide: Vec<Vec<Vec<usize>>> = vec![vec![vec![7; 20]; 20]; 20];
    let shown = shown_of(&json!(wide), &json!({})).to_string();
    assert!(shown.matches('7').count() < MOST_VALUES, "{shown}");
    assert!(shown.matches('7').count() > MOST_VALUES / 2, "{shown}");
}

#[test]
fn the_parameters_themselves_stay_as_they_are() {
    let params = json!({"password": "x"});
    let before = params.clone();
    shown_of(&params, &json!({}));
    assert_eq!(params, before);
}

#[track_caller]
fn check_violation(kind: ViolationKind, path: &str, message: &str, expected: &str) {
    let error = ToolError::invalid(vec![ParameterViolation {
        path: path.to_owned(),
        message: message.to_owned(),
        kind,
    }]);
    let expected = json!([{ "path": path, "message": expected }]);
    assert_eq!(violations(&error, &OwnSecrets::none()), expected);
}

#[test]
fn violations_are_shown_without_the_values_that_were_sent() {
    use ViolationKind::{Name, Rule, StrangeName, Type};
    check_violation(Name, "/count", "is required", "is required");
    let misspelt = "unknown parameter, did you mean 'count'?";
    check_violation(Name, "/count", misspelt, misspelt);
    check_violation(StrangeName, "/x", "unknown parameter", "unknown parameter");
    check_violation(Rule, "/count", "is too short", "is too short");
    for repeats_the_value in [
        r#"invalid type: string "my words", expected u32"#,
        r#"invalid type: string "a", expected "b", expected u32"#,
        "invalid value: integer `1234`, expected u8",
        "unknown variant `x`, expected `a` or `b`",
        "my own words for broken \" quotes",
    ] {
        check_violation(Type, "/count", repeats_the_value, WRONG_TYPE);
    }
    // The author's own words may repeat the value.
    check_violation(Rule, "/users/3/pin", "1234 is too short", "***");
    check_violation(Rule, "/apiKey/length", "must be longer than abc", "***");
}

#[test]
fn violations_do_not_show_what_the_schema_marks_as_secret() {
    let fields = SecretFields::of_schema(&json!({"properties": {"word": {"writeOnly": true}}}));
    let secrets = fields.collect(&json!({"word": "open sesame"}));
    let error = ToolError::invalid_parameter("", "open sesame is known to everybody");
    let shown = violations(&error, &secrets).to_string();
    assert!(
        shown.contains("is known") && !shown.contains("sesame"),
        "{shown}"
    );
}
