//! Secrets in JSON documents: by value, by name, by looks, whole and broken off.

use std::borrow::Cow;

use mcpproxy_redact::{OwnSecrets, Redactor, SecretFields};
use serde_json::{Value, json};

const KNOWN: &str = "topsecret-value";
const DIGITS: &str = "8273645";

fn redactor() -> Redactor {
    Redactor::new([
        KNOWN.to_owned(),
        DIGITS.to_owned(),
        "pa\"ss\\w\nrd".to_owned(),
    ])
}

fn check(text: &str, expected: &str) {
    check_with(&OwnSecrets::none(), text, expected);
}

/// The secrets of a call that was given these values.
fn given(values: &Value) -> OwnSecrets {
    SecretFields::all().collect(values)
}

fn check_with(own: &OwnSecrets, text: &str, expected: &str) {
    let redactor = redactor();
    let hidden = redactor.json(text, own);
    assert_eq!(hidden, expected, "{text}");
    assert_eq!(redactor.json(&hidden, own), expected, "{text}, twice");
    if serde_json::from_str::<Value>(text).is_ok() {
        assert!(serde_json::from_str::<Value>(&hidden).is_ok(), "{hidden}");
    }
    if text == expected {
        assert!(matches!(hidden, Cow::Borrowed(_)), "{text} was copied");
    }
}

#[test]
fn known_values() {
    for (text, expected) in [
        (r#"{"a":"x topsecret-value y"}"#, r#"{"a":"x *** y"}"#),
        (r#"["\u0074opsecret-value",1]"#, r#"["***",1]"#),
        (r#"["é\ntopsecret\u002dvalue\t"]"#, r#"["é\n***\t"]"#),
        (r#"{"topsecret-value":1}"#, r#"{"***":1}"#),
        (r#"["pa\"ss\\w\nrd"]"#, r#"["***"]"#),
        ("[8273645, -82736450]", r#"["***", "***"]"#),
        (r#""topsecret-value""#, r#""***""#),
        ("8273645", "\"***\""),
        (
            r#"{"a": "t\u00e9xt", "b": [1.5e3, true, null]}"#,
            r#"{"a": "t\u00e9xt", "b": [1.5e3, true, null]}"#,
        ),
        (
            r#"["\ud83d\ude00 topsecret-value \ud800"]"#,
            "[\"\u{1f600} *** \u{fffd}\"]",
        ),
    ] {
        check(text, expected);
    }
}

#[test]
fn values_under_names_that_say_secret() {
    for (text, expected) in [
        (r#"{"password":"x"}"#, r#"{"password":"***"}"#),
        (r#"{"PassWord" : "x" }"#, r#"{"PassWord" : "***" }"#),
        (r#"{"pass\u0077ord":"x\"y"}"#, r#"{"pass\u0077ord":"***"}"#),
        (r#"{"pass_word":"x"}"#, r#"{"pass_word":"***"}"#),
        (
            r#"{"clientSecret":12.5,"x":12.5}"#,
            r#"{"clientSecret":"***","x":12.5}"#,
        ),
        (
            r#"{"X-Api-Key":"x","set-cookie":"a=b"}"#,
            r#"{"X-Api-Key":"***","set-cookie":"***"}"#,
        ),
        (
            r#"{"secret":{"name":"x","token":"y"}}"#,
            r#"{"secret":{"name":"x","token":"***"}}"#,
        ),
        (
            r#"{"Set-Cookie":["a=b","c=d"],"x":["y"]}"#,
            r#"{"Set-Cookie":["***","***"],"x":["y"]}"#,
        ),
        (
            r#"{"secret":[{"a":"b"}],"c":"d"}"#,
            r#"{"secret":[{"a":"b"}],"c":"d"}"#,
        ),
        (
            r#"{"secret":true,"token":null,"a":"b"}"#,
            r#"{"secret":true,"token":null,"a":"b"}"#,
        ),
        (r#"{"password":""}"#, r#"{"password":"***"}"#),
        (r#"["password","x"]"#, r#"["password","x"]"#),
        (r#"{"a":"password","b":"x"}"#, r#"{"a":"password","b":"x"}"#),
        (
            r#"{"nextPageToken":"x","max_tokens":5}"#,
            r#"{"nextPageToken":"x","max_tokens":5}"#,
        ),
    ] {
        check(text, expected);
    }
}

#[test]
fn documents_inside_strings() {
    for (text, expected) in [
        (
            r#"{"args_json":"{\"password\":\"x\",\"n\":1}"}"#,
            r#"{"args_json":"{\"password\":\"***\",\"n\":1}"}"#,
        ),
        (
            r#"{"text":"{\"api_key\":12,\"a\":\"topsecret-value\"}"}"#,
            r#"{"text":"{\"api_key\":\"***\",\"a\":\"***\"}"}"#,
        ),
        (
            r#"{"text":"{\"a\":\"{\\\"passwd\\\":\\\"x\\\"}\"}"}"#,
            r#"{"text":"{\"a\":\"{\\\"passwd\\\":\\\"***\\\"}\"}"}"#,
        ),
        (
            r#"{"text":"[{\"a\":\"\\u0074opsecret-value\"}]"}"#,
            r#"{"text":"[{\"a\":\"***\"}]"}"#,
        ),
        (
            r#"{"text":"Result: {\"password\": \"x y\"}"}"#,
            r#"{"text":"Result: {\"password\": \"***\"}"}"#,
        ),
        (
            r#"{"text":"Sent {\"p\": \"pa\\\"ss\\\\w\\nrd\"}"}"#,
            r#"{"text":"Sent {\"p\": \"***\"}"}"#,
        ),
        (
            r#"{"text":"[info] password=x"}"#,
            r#"{"text":"[info] password=***"}"#,
        ),
        (
            r#"{"text":"{\"a\":1}\n","b":"{}"}"#,
            r#"{"text":"{\"a\":1}\n","b":"{}"}"#,
        ),
    ] {
        check(text, expected);
    }
}

#[test]
fn shapes_in_strings() {
    check(
        r#"{"url":"https:\/\/joe:pw@host\/x","n":1}"#,
        r#"{"url":"https://joe:***@host/x","n":1}"#,
    );
    check(
        r#"{"line":"a\nAuthorization: Bearer xyz\nb"}"#,
        r#"{"line":"a\nAuthorization: Bearer ***\nb"}"#,
    );
    let key = ["-----BEGIN ", "PRIVATE KEY-----"].concat();
    check(&format!(r#"{{"k":"{key}\nMIIabc\n"}}"#), r#"{"k":"***"}"#);
}

#[test]
fn a_list_under_a_secret_name_is_hidden_in_a_text_that_quotes_a_document() {
    let redactor = Redactor::default();
    for (text, expected) in [
        (
            r#"put {"password":["first","second"],"a":[1]}"#,
            r#"put {"password":[***],"a":[1]}"#,
        ),
        (r#"put {"password":[]}"#, r#"put {"password":[]}"#),
        (r#"put {"password": ["fir"#, r#"put {"password": [***"#),
    ] {
        assert_eq!(redactor.text(text, &OwnSecrets::none()), expected);
    }
}

#[test]
fn what_was_cut_to_be_shown_keeps_no_part_of_a_secret() {
    let redactor = Redactor::new(["quince-in-the-orchard".to_owned()]);
    let own = given(&json!("medlar-on-the-shelf"));
    for (text, expected) in [
        ("no 'quince-in-the…' here", "no '***…' here"),
        (
            "found \"medlar-on-th…, and quince-i…",
            "found \"***…, and ***…",
        ),
        (
            "a quince-… is a q… is a fruit…",
            "a ***… is a q… is a fruit…",
        ),
    ] {
        assert_eq!(redactor.text(text, &own), expected);
        let inside = serde_json::json!({ "said": text }).to_string();
        let hidden = serde_json::json!({ "said": expected }).to_string();
        assert_eq!(redactor.json(&inside, &own), hidden);
    }
}

#[test]
fn a_secret_with_escapes_is_found_in_a_text_that_quotes_a_document() {
    let redactor = Redactor::new(["salt&pepper-für-alle".to_owned()]);
    let own = given(&json!("sel&poivre"));
    for (text, expected) in [
        (
            r#"put {"a":"salt\u0026pepper-f\u00fcr-alle"}"#,
            r#"put {"a":"***"}"#,
        ),
        (
            r#"put "{\"a\":\"sel\\u0026poivre\"}" \u0026"#,
            r#"put "{\"a\":\"***\"}" \u0026"#,
        ),
    ] {
        assert_eq!(redactor.text(text, &own), expected);
        let inside = serde_json::json!({ "said": text }).to_string();
        let hidden = serde_json::json!({ "said": expected }).to_string();
        assert_eq!(redactor.json(&inside, &own), hidden);
    }
}

#[test]
fn what_is_broken_off_keeps_no_part_of_a_secret() {
    let token = ["gh", "p_abcdefghij"].concat();
    for (text, expected) in [
        (r#"{"a":"x topsecret-v"#.to_owned(), r#"{"a":"x ***"#),
        (r#"{"a":"x topsecret-value"#.to_owned(), r#"{"a":"x ***"#),
        (r#"{"a":"x top"#.to_owned(), r#"{"a":"x top"#),
        (r#"{"a":"x \u0074opsecret\u00"#.to_owned(), r#"{"a":"x ***"#),
        (r#"{"a":"x \u00"#.to_owned(), r#"{"a":"x \u00"#),
        (r#"{"a":"x\"#.to_owned(), r#"{"a":"x\"#),
        (r#"{"password":"hun"#.to_owned(), r#"{"password":"***"#),
        (r#"{"password":12"#.to_owned(), r#"{"password":"***""#),
        (r#"{"a":82736"#.to_owned(), r#"{"a":"***""#),
        (r#"{"password":"#.to_owned(), r#"{"password":"#),
        (r#"{"passwo"#.to_owned(), r#"{"passwo"#),
        (r#"{"a":fal"#.to_owned(), r#"{"a":fal"#),
        (format!(r#"{{"a":"x {token}"#), r#"{"a":"x ***"#),
        (
            r#"{"a":"see db://joe:hunt"#.to_owned(),
            r#"{"a":"see db://joe:***"#,
        ),
        (
            r#"{"a":"see db://joe:80"#.to_owned(),
            r#"{"a":"see db://joe:80"#,
        ),
        (
            r#"{"a":"{\"password\":\"hun"#.to_owned(),
            r#"{"a":"{\"password\":\"***"#,
        ),
        (
            r#"{"a":"{\"b\":\"topsecret"#.to_owned(),
            r#"{"a":"{\"b\":\"***"#,
        ),
    ] {
        check(&text, expected);
    }
}

#[test]
fn what_is_no_json_is_read_as_text() {
    check("x topsecret-value", "x ***");
    check(
        r#"{"a":"topsecret-value"} topsecret-value"#,
        r#"{"a":"***"} ***"#,
    );
    check(
        r#"{"a":NaN,"password":"x"}"#,
        r#"{"a":NaN,"password":"***"}"#,
    );
    check("ünïcode", "ünïcode");
}

#[test]
fn secrets_of_the_call_itself() {
    let own = given(&json!(["7", "abc", "hush", ""]));
    for (text, expected) in [
        (
            r#"{"a":"abc","b":"abcd","c":"x abc"}"#,
            r#"{"a":"***","b":"abcd","c":"x abc"}"#,
        ),
        (
            r#"{"a":7,"b":77,"c":"7","d":"\u0037"}"#,
            r#"{"a":"***","b":77,"c":"***","d":"***"}"#,
        ),
        (r#"{"a":"xhushy","hush":1}"#, r#"{"a":"x***y","***":1}"#),
        (r#"{"7":1,"abc":2}"#, r#"{"7":1,"abc":2}"#),
    ] {
        check_with(&own, text, expected);
    }
    let redactor = redactor();
    assert_eq!(redactor.text("x hush y abc", &own), "x *** y abc");
    assert_eq!(redactor.text("abc", &own), "***");

    let both = given(&json!("first")).and(given(&json!("second")));
    assert_eq!(redactor.text("first second third", &both), "*** *** third");
    assert!(!format!("{both:?}").contains("first"));
}

#[test]
fn more_secrets_than_can_be_looked_for_hide_everything() {
    let all: Vec<String> = (0..1000)
        .map(|number| format!("secret number {number}"))
        .collect();
    let own = given(&json!(all));
    let redactor = redactor();
    assert_eq!(redactor.json(r#"{"a":1}"#, &own), r#""***""#);
    assert_eq!(redactor.text("anything", &own), "***");
}
