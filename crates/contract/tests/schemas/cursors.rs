//! Cursors: what was put in comes out, and anything else is refused.

use mcpproxy_contract::ToolError;
use mcpproxy_contract::schemas::{Cursor, Pagination};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{CardId, LONGEST_CURSOR};

#[test]
fn a_cursor_gives_back_what_was_put_in() {
    fn check<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(position: &T) {
        let cursor = Cursor::encode(position).unwrap();
        assert!(cursor.as_ref().len() <= LONGEST_CURSOR);
        assert!(
            cursor
                .as_ref()
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric())
        );
        assert_eq!(cursor.decode::<T>().unwrap(), *position);
        let sent: Cursor = serde_json::from_value(json!(cursor)).unwrap();
        assert_eq!(sent.decode::<T>().unwrap(), *position);
    }
    check(&17_u64);
    check(&("Ä title".to_owned(), CardId::numbered(3)));
    check(&json!({"after": [1, null]}));
    check(&"x".repeat(249));
}

#[test]
fn what_does_not_fit_into_a_cursor_is_an_error_of_the_tool() {
    let error = Cursor::encode(&"x".repeat(250)).unwrap_err();
    assert_eq!(error.code(), "INTERNAL");
}

#[test]
fn a_cursor_that_was_not_made_here_is_the_callers_mistake() {
    let good = Cursor::encode(&17_u64).unwrap();
    let good = good.as_ref();
    for text in [
        String::new(),
        "1".to_owned(),
        "garbage".to_owned(),
        "ää".repeat(9),
        "1ä".repeat(9),
        format!("2{}", &good[1..]),
        format!("{good}0"),
        format!("{good}00"),
        good[..good.len() - 1].to_owned(),
        good[..good.len() - 2].to_owned(),
        good.to_uppercase() + "A",
        "9".repeat(LONGEST_CURSOR * 4),
    ] {
        told_as_violation(&Cursor::from(text.clone()).decode::<u64>().unwrap_err());
        let pagination = Pagination {
            cursor: Some(Cursor::from(text)),
            ..Pagination::default()
        };
        told_as_violation(&pagination.skip().unwrap_err());
    }
    let of_another_list = Cursor::encode(&"after this").unwrap();
    told_as_violation(&of_another_list.decode::<u64>().unwrap_err());
}

#[test]
fn every_slip_of_one_letter_in_a_cursor_is_noticed() {
    let good = Cursor::encode(&("card_17", 1_700_000_000)).unwrap();
    for (index, letter) in good.as_ref().char_indices() {
        for other in "0123456789abcdef".chars().filter(|other| *other != letter) {
            let mut text = good.as_ref().to_owned();
            text.replace_range(index..=index, &other.to_string());
            let error = Cursor::from(text).decode::<(String, u64)>().unwrap_err();
            told_as_violation(&error);
        }
    }
}

#[track_caller]
fn told_as_violation(error: &ToolError) {
    assert_eq!(error.code(), "INVALID_ARGUMENTS");
    let message = error.message();
    assert!(message.contains("/cursor: "), "{message}");
    assert!(message.contains("nextCursor of the previous page"));
}

proptest! {
    #[test]
    fn no_text_makes_reading_a_cursor_panic(text in "\\PC{0,80}|1[0-9a-f]{0,600}") {
        let cursor = Cursor::from(text);
        let _ = cursor.decode::<Value>();
    }
}
