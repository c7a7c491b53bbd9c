//! The whole decision table: every variant, declaration, annotation and setting.
//!
//! What is expected is written down as data, taken from the specification's tables; the
//! test walks the product of all of them and compares decision, code and message.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod codes;

use std::sync::Arc;

use mcpproxy_policy::{
    Decision, DeclaredIntent, Intent, Mode, Operation, Rules, Subject, Unannotated, decide,
};
use mcpproxy_wire::ToolAnnotations;
use serde_json::{Value, json};

use codes::code_of;

const TOOL: &str = "db:run";

/// What an agent puts into `operation_type`.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Given {
    Word(&'static str),
    Number,
    List,
    Null,
    /// The intent is there, but has no `operation_type`.
    OnlyReason,
    /// Nothing is declared at all.
    Nothing,
}

const GIVEN: [Given; 10] = [
    Given::Word("read"),
    Given::Word("write"),
    Given::Word("destructive"),
    Given::Word("unknown"),
    Given::Word(""),
    Given::Number,
    Given::List,
    Given::Null,
    Given::OnlyReason,
    Given::Nothing,
];

/// How the declaration is written.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Nested,
    Flat,
    Both,
}

/// The outcome in short: `allow`, `warn CODE`, or `CODE message`.
type Verdict = String;

/// The specification's matrix: variant, read, write, destructive.
const MATRIX: [(&str, [&str; 3]); 3] = [
    ("call_tool_read", ["allow", "writing", "destructive"]),
    ("call_tool_write", ["cautious", "allow", "destructive"]),
    ("call_tool_destructive", ["allow", "allow", "allow"]),
];

/// Unknown class: the setting, whether `destructiveHint: false` was given, and what each variant gets
/// (`-` allows, a word names the variant to use).
const UNKNOWN: [(Unannotated, bool, [&str; 3]); 6] = [
    (Unannotated::TrustAgent, false, ["-", "-", "-"]),
    (Unannotated::TrustAgent, true, ["-", "-", "-"]),
    (Unannotated::AtLeastWrite, false, ["write", "-", "-"]),
    (Unannotated::AtLeastWrite, true, ["write", "-", "-"]),
    (
        Unannotated::RequireDestructive,
        false,
        ["destructive", "destructive", "-"],
    ),
    (Unannotated::RequireDestructive, true, ["write", "-", "-"]),
];

#[test]
fn every_cell_of_the_decision_table() {
    let annotations = [None, Some(true), Some(false)];
    let mut cells = 0;
    for variant in Operation::ALL {
        for given in GIVEN {
            for form in [Form::Nested, Form::Flat, Form::Both] {
                for mode in [Mode::TwoKey, Mode::Inferred] {
                    for strict in [true, false] {
                        for unannotated in [
                            Unannotated::TrustAgent,
                            Unannotated::AtLeastWrite,
                            Unannotated::RequireDestructive,
                        ] {
                            for read_only in annotations {
                                for destructive in annotations {
                                    let rules = Rules {
                                        mode,
                                        strict_server_validation: strict,
                                        unannotated,
                                    };
                                    let annotations = ToolAnnotations {
                                        read_only,
                                        destructive,
                                        ..ToolAnnotations::default()
                                    };
                                    let found =
                                        found(variant, &declare(given, form), annotations, rules);
                                    let expected =
                                        expected(variant, given, form, annotations, rules);
                                    assert_eq!(
                                        found, expected,
                                        "{variant:?} {given:?} {form:?} {rules:?} {annotations:?}"
                                    );
                                    cells += 1;
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    assert_eq!(cells, 3 * 10 * 3 * 2 * 2 * 3 * 9);
}

/// What the specification says.
fn expected(
    variant: Operation,
    given: Given,
    form: Form,
    annotations: ToolAnnotations,
    rules: Rules,
) -> Verdict {
    if let Some(refused) = expected_of_intent(variant, given, form, rules.mode) {
        return refused;
    }
    let column = match (annotations.destructive, annotations.read_only) {
        (Some(true), _) => 2,
        (_, Some(true)) => 0,
        (_, Some(false)) => 1,
        (known, None) => {
            return expected_of_unknown(variant, known == Some(false), rules.unannotated);
        }
    };
    let row = MATRIX
        .iter()
        .find(|row| row.0 == variant.variant())
        .unwrap();
    let refusal = match row.1[column] {
        "allow" => return "allow".into(),
        "cautious" => return "warn OVERLY_CAUTIOUS".into(),
        "writing" => {
            "SERVER_MISMATCH Tool 'db:run' is marked as not read-only by server, use call_tool_write"
        }
        _ => {
            "SERVER_MISMATCH Tool 'db:run' is marked destructive by server, use call_tool_destructive"
        }
    };
    if rules.strict_server_validation {
        refusal.into()
    } else {
        "warn SERVER_MISMATCH".into()
    }
}

/// Why the declaration alone is refused, if it is.
fn expected_of_intent(variant: Operation, given: Given, form: Form, mode: Mode) -> Option<Verdict> {
    let name = variant.variant();
    let invalid = |value: &str| {
        Some(format!(
            "INVALID_OPERATION_TYPE Invalid intent.operation_type '{value}': must be read, write, or destructive"
        ))
    };
    let missing = |message: String| (mode == Mode::TwoKey).then_some(message);
    match given {
        Given::Word(word) if word == variant.as_str() => None,
        Given::Word(word @ ("read" | "write" | "destructive")) => Some(format!(
            "INTENT_MISMATCH Intent mismatch: tool is {name} but intent declares {word}"
        )),
        Given::Word(word) => invalid(word),
        Given::Number => invalid("5"),
        Given::List => invalid(r#"["read"]"#),
        Given::Null if form == Form::Flat => missing(format!(
            "MISSING_INTENT intent parameter is required for {name}"
        )),
        Given::Null | Given::OnlyReason => {
            missing("MISSING_OPERATION_TYPE intent.operation_type is required".into())
        }
        Given::Nothing => missing(format!(
            "MISSING_INTENT intent parameter is required for {name}"
        )),
    }
}

fn expected_of_unknown(variant: Operation, not_destructive: bool, setting: Unannotated) -> Verdict {
    let row = UNKNOWN
        .iter()
        .find(|row| row.0 == setting && row.1 == not_destructive)
        .unwrap();
    match row.2[variant as usize] {
        "-" => "allow".into(),
        word => format!("UNANNOTATED_TOOL Tool 'db:run' has no annotations, use call_tool_{word}"),
    }
}

/// What the product does.
fn found(
    variant: Operation,
    declared: &DeclaredIntent,
    annotations: ToolAnnotations,
    rules: Rules,
) -> Verdict {
    let intent = match Intent::parse(variant, declared, rules.mode) {
        Ok(intent) => intent,
        Err(error) => return format!("{} {error}", code_of(&error)),
    };
    let (server, tool): (Arc<str>, Arc<str>) = ("db".into(), "run".into());
    let subject = Subject {
        server: &server,
        tool: &tool,
        description: "",
        annotations,
    };
    match decide(&intent, &subject, rules) {
        Decision::Allow(permit, warnings) => {
            assert_eq!(format!("{}:{}", permit.server(), permit.tool()), TOOL);
            assert_eq!(permit.operation(), variant);
            match warnings.as_slice() {
                [] => "allow".into(),
                [warning] => format!("warn {}", warning.code),
                more => panic!("more than one warning: {more:?}"),
            }
        }
        Decision::Deny(denial) => format!("{} {denial}", denial.code()),
    }
}

fn declare(given: Given, form: Form) -> DeclaredIntent {
    let value = match given {
        Given::Word(word) => json!(word),
        Given::Number => json!(5),
        Given::List => json!(["read"]),
        Given::Null => Value::Null,
        Given::OnlyReason => return declare_reason(form),
        Given::Nothing => return DeclaredIntent::default(),
    };
    let mut declared = DeclaredIntent::default();
    if form != Form::Flat {
        declared.intent = Some(json!({ "operation_type": value }));
    }
    if form != Form::Nested {
        declared.operation_type = Some(value);
    }
    declared
}

fn declare_reason(form: Form) -> DeclaredIntent {
    let mut declared = DeclaredIntent::default();
    if form != Form::Flat {
        declared.intent = Some(json!({ "reason": "why" }));
    }
    if form != Form::Nested {
        declared.reason = Some(json!("why"));
    }
    declared
}
