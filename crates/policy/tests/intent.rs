//! What a declaration may hold beside the operation, and what it is refused for.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod codes;

use mcpproxy_policy::{DeclaredIntent, Intent, Mode, Operation, Sensitivity};
use serde_json::{Value, json};

use codes::code_of;

fn parse(intent: Value) -> Result<Intent, String> {
    let declared = DeclaredIntent {
        intent: Some(intent),
        ..DeclaredIntent::default()
    };
    Intent::parse(Operation::Write, &declared, Mode::TwoKey)
        .map_err(|error| format!("{} {error}", code_of(&error)))
}

fn refused(intent: Value) -> String {
    parse(intent).unwrap_err()
}

#[test]
fn all_fields_are_kept() {
    let intent = parse(json!({
        "operation_type": "write", "data_sensitivity": "private", "reason": "Creating user record",
    }))
    .unwrap();
    assert_eq!(intent.operation(), Operation::Write);
    assert_eq!(intent.declared_operation(), Some(Operation::Write));
    assert_eq!(intent.sensitivity(), Some(Sensitivity::Private));
    assert_eq!(intent.reason(), Some("Creating user record"));
}

#[test]
fn optional_fields_may_be_left_out_or_null() {
    for intent in [
        json!({ "operation_type": "write" }),
        json!({ "operation_type": "write", "data_sensitivity": null, "reason": null }),
    ] {
        let intent = parse(intent).unwrap();
        assert_eq!((intent.sensitivity(), intent.reason()), (None, None));
    }
}

#[test]
fn every_sensitivity_is_read_and_others_are_refused_as_given() {
    for word in ["public", "internal", "private", "unknown"] {
        let intent = parse(json!({ "operation_type": "write", "data_sensitivity": word })).unwrap();
        assert_eq!(intent.sensitivity().unwrap().as_str(), word);
    }
    for (value, shown) in [
        (json!("secret"), "secret"),
        (json!(""), ""),
        (json!("Public"), "Public"),
        (json!(7), "7"),
        (json!({}), "{}"),
    ] {
        assert_eq!(
            refused(json!({ "operation_type": "write", "data_sensitivity": value })),
            format!(
                "INVALID_SENSITIVITY Invalid intent.data_sensitivity '{shown}': must be public, internal, private, or unknown"
            )
        );
    }
}

#[test]
fn a_reason_has_at_most_a_thousand_characters_not_bytes() {
    for character in ["a", "é", "語", "🦀"] {
        let reason = character.repeat(1000);
        let intent = parse(json!({ "operation_type": "write", "reason": reason })).unwrap();
        assert_eq!(intent.reason(), Some(reason.as_str()));
        assert_eq!(
            refused(json!({ "operation_type": "write", "reason": character.repeat(1001) })),
            "REASON_TOO_LONG intent.reason exceeds maximum length of 1000 characters"
        );
    }
}

#[test]
fn what_is_no_declaration_is_refused_as_arguments() {
    for intent in [json!("write"), json!(["write"]), json!(1), json!(true)] {
        assert!(refused(intent).starts_with("INVALID_ARGUMENTS intent must be an object"));
    }
    assert_eq!(
        refused(json!({ "operation_type": "write", "reason": 5 })),
        "INVALID_ARGUMENTS intent.reason must be a string, found a number"
    );
}

/// A misspelt key was dropped without a word, and what the agent meant to declare with it.
#[test]
fn an_unknown_key_inside_intent_was_ignored() {
    assert_eq!(
        refused(json!({ "operation_type": "write", "sensitivity": "private" })),
        "INVALID_ARGUMENTS Unknown key 'sensitivity' in intent: must be operation_type, data_sensitivity, or reason"
    );
    let long = refused(json!({ "operation_type": "write", "k".repeat(5000): 1 }));
    assert!(long.len() < 500, "{long}");
}

#[test]
fn nested_and_flat_must_agree() {
    let both = |nested: Value, flat: DeclaredIntent| {
        let declared = DeclaredIntent {
            intent: Some(nested),
            ..flat
        };
        Intent::parse(Operation::Write, &declared, Mode::TwoKey)
            .map_err(|error| code_of(&error).to_owned())
    };
    let flat = |operation: &str, reason: &str| DeclaredIntent {
        operation_type: Some(json!(operation)),
        reason: Some(json!(reason)),
        ..DeclaredIntent::default()
    };
    let agreed = both(json!({ "operation_type": "write" }), flat("write", "why")).unwrap();
    assert_eq!(agreed.reason(), Some("why"));
    let disagreed = Err("INVALID_ARGUMENTS".to_owned());
    assert_eq!(
        both(json!({ "operation_type": "read" }), flat("write", "why")),
        disagreed
    );
    assert_eq!(
        both(
            json!({ "operation_type": "write", "reason": "other" }),
            flat("write", "why")
        ),
        disagreed
    );
}

#[test]
fn a_value_of_any_length_is_repeated_within_bounds() {
    let message = refused(json!({ "operation_type": "x".repeat(1_000_000) }));
    assert!(message.len() < 400, "{} bytes", message.len());
}
