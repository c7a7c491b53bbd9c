//! What holds for every document: valid stays valid, nothing known survives, clean stays as it is.

use std::borrow::Cow;

use mcpproxy_redact::{OwnSecrets, Redactor, SecretFields};
use proptest::prelude::*;
use serde_json::{Value, json};

const KNOWN: [&str; 4] = [
    "topsecret-value",
    "8273645",
    "pa\"ss\\wörd/1",
    "value-and-more",
];
const OWN: [&str; 2] = ["hush", "z9"];

/// The first of the known secrets in Base64, at three offsets, and in hexadecimal.
const ENCODED: [&str; 4] = [
    "dG9wc2VjcmV0LXZhbHVl",
    "RvcHNlY3JldC12YWx1ZQ",
    "0b3BzZWNyZXQtdmFsdWU",
    "746F707365637265742d76616c7565",
];

fn redactor() -> Redactor {
    Redactor::new(KNOWN.map(str::to_owned))
}

fn own() -> OwnSecrets {
    SecretFields::all().collect(&json!(OWN))
}

/// Pieces that matchers wait for, besides anything else.
fn piece() -> impl Strategy<Value = String> {
    let marks = prop::sample::select(vec![
        "password",
        "token",
        "secret",
        "=",
        ":",
        ": ",
        "\"",
        "'",
        "\\",
        "\n",
        " ",
        "Bearer ",
        "Basic ",
        "dTpw",
        "Authorization: ",
        "://",
        "@",
        "u:p@h",
        "eyJhbGciOi",
        ".",
        "-----BEGIN PRIVATE KEY-----",
        "-----END",
        "sk-",
        "ghp_",
        "xoxb-",
        "AKIA",
        "0123456789ABCDEF",
        "abcdefghijklmnopqrstuvwxyz0123456789",
        "&",
        "?sig=",
        "--api-key ",
        "<token>",
        "{",
        "}",
        "[",
        "]",
        "Cookie: a=",
        "Digest ",
        "***",
        "*",
        ")",
        ";",
    ])
    .prop_map(str::to_owned);
    let secrets = KNOWN.iter().chain(&OWN).chain(&ENCODED).copied();
    let secrets = prop::sample::select(secrets.collect::<Vec<_>>());
    prop_oneof![
        4 => marks,
        2 => secrets.prop_map(str::to_owned),
        1 => "\\PC{0,6}",
        1 => any::<String>().prop_map(|text| text.chars().take(6).collect::<String>()),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..10).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i16>().prop_map(|number| Value::from(f64::from(number) / 8.0)),
        Just(json!(8_273_645)),
        text().prop_map(Value::from),
    ];
    let name = prop_oneof![
        text(),
        Just("password".to_owned()),
        Just("x-api-key".to_owned())
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        let embedded = inner
            .clone()
            .prop_map(|value| Value::from(value.to_string()));
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..5)
                .prop_map(|fields| fields.into_iter().collect::<Value>()),
            embedded,
        ]
    })
}

/// The document with characters of its strings written as escapes, chosen by `choices`.
fn spelled(value: &Value, choices: &[bool]) -> String {
    let mut spelled = String::new();
    let mut in_string = false;
    let mut escaped = false;
    for (index, character) in value.to_string().chars().enumerate() {
        let may_escape = in_string && !escaped && !matches!(character, '"' | '\\');
        if may_escape && choices[index % choices.len()] {
            for unit in character.encode_utf16(&mut [0; 2]) {
                spelled.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            spelled.push(character);
        }
        if character == '"' && !escaped {
            in_string = !in_string;
        }
        escaped = character == '\\' && !escaped;
    }
    spelled
}

fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Number(number) => found.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(fields) => {
            for (name, field) in fields {
                found.push(name.clone());
                strings(field, found);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn check_nothing_survives(text: &str) {
    for secret in KNOWN.iter().chain(&OWN[..1]).chain(&ENCODED) {
        assert!(!text.contains(secret), "{secret:?} survived in {text:?}");
    }
}

fn cases() -> ProptestConfig {
    ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn valid_json_stays_valid_and_nothing_known_survives(
        value in value(),
        choices in prop::collection::vec(any::<bool>(), 1..40),
    ) {
        let text = spelled(&value, &choices);
        prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &value);
        let hidden = redactor().json(&text, &own()).into_owned();
        let read: Value = serde_json::from_str(&hidden)
            .map_err(|error| TestCaseError::fail(format!("{error} in {hidden} from {text}")))?;
        let mut found = Vec::new();
        strings(&read, &mut found);
        for text in found {
            check_nothing_survives(&text);
        }
    }

    #[test]
    fn hiding_twice_hides_the_same(value in value(), plain in text()) {
        let (redactor, own) = (redactor(), own());
        let once = redactor.json(&value.to_string(), &own).into_owned();
        prop_assert_eq!(&redactor.json(&once, &own), &once);
        let once = redactor.text(&plain, &own).into_owned();
        check_nothing_survives(&once);
        prop_assert_eq!(&redactor.text(&once, &own), &once);
    }

    #[test]
    fn a_document_broken_off_anywhere_is_read(value in value()) {
        let (redactor, own) = (redactor(), own());
        let text = value.to_string();
        for (end, _) in text.char_indices() {
            let hidden = redactor.json(&text[..end], &own);
            for secret in [KNOWN[0], KNOWN[1], KNOWN[3], OWN[0], ENCODED[1], ENCODED[3]] {
                prop_assert!(!hidden.contains(secret), "{secret} in {hidden}");
            }
        }
    }

    #[test]
    fn text_without_secrets_is_not_copied(words in prop::collection::vec("[a-cé]{0,5}", 0..20), choices in prop::collection::vec(any::<bool>(), 1..9)) {
        let (redactor, own) = (redactor(), own());
        let text = spelled(&json!({"a": words, "b": 17, "c": {"d": words.join("\n")}}), &choices);
        prop_assert!(matches!(redactor.json(&text, &own), Cow::Borrowed(same) if same == text));
        let text = words.join(" ");
        prop_assert!(matches!(redactor.text(&text, &own), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn anything_at_all_is_read(bytes in prop::collection::vec(any::<u8>(), 0..200), plain in text()) {
        let (redactor, own) = (redactor(), own());
        let text = String::from_utf8_lossy(&bytes);
        redactor.json(&text, &own);
        redactor.text(&text, &own);
        redactor.json(&plain, &own);
    }
}
