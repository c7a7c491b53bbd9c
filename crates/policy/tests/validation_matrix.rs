//! The validation matrices of the specification's sources, row by row, with default rules.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod codes;

use std::sync::Arc;

use mcpproxy_policy::{
    Decision, DeclaredIntent, Effect, Intent, Operation, Rules, Subject, decide,
};
use mcpproxy_wire::ToolAnnotations;
use serde_json::json;

use codes::code_of;

const READ_ONLY: ToolAnnotations = ToolAnnotations {
    read_only: Some(true),
    destructive: None,
    idempotent: None,
    open_world: None,
};
const DESTRUCTIVE: ToolAnnotations = ToolAnnotations {
    read_only: None,
    destructive: Some(true),
    idempotent: None,
    open_world: None,
};
const BOTH: ToolAnnotations = ToolAnnotations {
    read_only: Some(true),
    destructive: Some(true),
    idempotent: None,
    open_world: None,
};
const NONE: ToolAnnotations = ToolAnnotations {
    read_only: None,
    destructive: None,
    idempotent: None,
    open_world: None,
};
const ANY: [ToolAnnotations; 4] = [READ_ONLY, DESTRUCTIVE, BOTH, NONE];

/// `ALLOW`, `WARN`, or the code of the refusal.
fn result(variant: &str, declared: Option<&str>, hints: ToolAnnotations) -> &'static str {
    let variant = Operation::of_variant(variant).unwrap();
    let declared = DeclaredIntent {
        intent: declared.map(|operation| json!({ "operation_type": operation })),
        ..DeclaredIntent::default()
    };
    let rules = Rules::default();
    let intent = match Intent::parse(variant, &declared, rules.mode) {
        Ok(intent) => intent,
        Err(error) => return code_of(&error),
    };
    let (server, tool): (Arc<str>, Arc<str>) = ("s".into(), "t".into());
    let subject = Subject {
        server: &server,
        tool: &tool,
        description: "",
        annotations: hints,
    };
    match decide(&intent, &subject, rules) {
        Decision::Allow(_, warnings) if warnings.is_empty() => "ALLOW",
        Decision::Allow(..) => "WARN",
        Decision::Deny(denial) => denial.code(),
    }
}

#[test]
fn every_row_of_the_validation_matrix() {
    let rows: [(&str, Option<&str>, &[ToolAnnotations], &str); 12] = [
        ("call_tool_read", Some("read"), &[READ_ONLY], "ALLOW"),
        (
            "call_tool_read",
            Some("read"),
            &[DESTRUCTIVE],
            "SERVER_MISMATCH",
        ),
        ("call_tool_read", Some("read"), &[NONE], "ALLOW"),
        ("call_tool_read", Some("write"), &ANY, "INTENT_MISMATCH"),
        ("call_tool_write", Some("write"), &[READ_ONLY], "WARN"),
        (
            "call_tool_write",
            Some("write"),
            &[DESTRUCTIVE],
            "SERVER_MISMATCH",
        ),
        ("call_tool_write", Some("write"), &[NONE], "ALLOW"),
        (
            "call_tool_write",
            Some("destructive"),
            &ANY,
            "INTENT_MISMATCH",
        ),
        ("call_tool_destructive", Some("destructive"), &ANY, "ALLOW"),
        (
            "call_tool_destructive",
            Some("read"),
            &ANY,
            "INTENT_MISMATCH",
        ),
        ("call_tool_read", None, &ANY, "MISSING_INTENT"),
        ("call_tool_destructive", None, &ANY, "MISSING_INTENT"),
    ];
    for (variant, declared, annotations, expected) in rows {
        for hints in annotations {
            let found = result(variant, declared, *hints);
            assert_eq!(found, expected, "{variant} {declared:?} {hints:?}");
        }
    }
}

#[test]
fn both_hints_count_as_destructive() {
    assert_eq!(
        result("call_tool_read", Some("read"), BOTH),
        "SERVER_MISMATCH"
    );
    assert_eq!(
        result("call_tool_write", Some("write"), BOTH),
        "SERVER_MISMATCH"
    );
    assert_eq!(Effect::of(BOTH).call_with(), Operation::Destructive);
}

#[test]
fn a_tool_without_annotations_is_recommended_for_writing() {
    assert_eq!(Effect::of(NONE).call_with(), Operation::Write);
}
