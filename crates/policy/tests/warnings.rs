//! Warnings that go with a call that is allowed.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use mcpproxy_policy::{
    Decision, Declared, Hints, Intent, Mode, Operation, Rules, Subject, Unannotated, decide,
};

fn warnings(variant: Operation, tool: &str, hints: Hints, unannotated: Unannotated) -> Vec<String> {
    let rules = Rules {
        mode: Mode::Inferred,
        unannotated,
        ..Rules::default()
    };
    let intent = Intent::parse(variant, &Declared::default(), rules.mode).unwrap();
    let (server, tool): (Arc<str>, Arc<str>) = ("s".into(), tool.into());
    let subject = Subject {
        server: &server,
        tool: &tool,
        description: "",
        hints,
    };
    match decide(&intent, &subject, rules) {
        Decision::Allow(_, warnings) => warnings.into_iter().map(|one| one.message).collect(),
        Decision::Deny(denial) => panic!("refused: {denial}"),
    }
}

#[test]
fn an_unannotated_tool_that_sounds_worse_than_its_variant_is_warned_about() {
    let trusting =
        |variant, tool: &str| warnings(variant, tool, Hints::default(), Unannotated::TrustAgent);
    assert_eq!(
        trusting(Operation::Read, "delete_repo"),
        [
            "Tool 's:delete_repo' has no annotations and 'delete' sounds destructive, consider call_tool_destructive"
        ]
    );
    assert_eq!(
        trusting(Operation::Read, "create_issue"),
        [
            "Tool 's:create_issue' has no annotations and 'create' sounds write, consider call_tool_write"
        ]
    );
    assert_eq!(trusting(Operation::Write, "drop_table").len(), 1);
    assert!(trusting(Operation::Write, "create_issue").is_empty());
    assert!(trusting(Operation::Destructive, "drop_table").is_empty());
    assert!(trusting(Operation::Read, "list_issues").is_empty());
}

#[test]
fn a_tool_known_as_not_destructive_is_not_called_so() {
    let hints = Hints {
        destructive: Some(false),
        ..Hints::default()
    };
    let trusting = |variant| warnings(variant, "remove_label", hints, Unannotated::TrustAgent);
    assert!(trusting(Operation::Read)[0].ends_with("consider call_tool_write"));
    assert!(trusting(Operation::Write).is_empty());
}

#[test]
fn an_operator_who_drew_the_line_gets_no_guesses() {
    let careful = |variant, setting| warnings(variant, "drop_table", Hints::default(), setting);
    assert!(careful(Operation::Write, Unannotated::AtLeastWrite).is_empty());
    assert!(careful(Operation::Destructive, Unannotated::RequireDestructive).is_empty());
}

#[test]
fn too_much_care_is_pointed_out() {
    let hints = Hints {
        read_only: Some(true),
        ..Hints::default()
    };
    assert_eq!(
        warnings(Operation::Write, "get", hints, Unannotated::TrustAgent),
        ["Tool 's:get' is marked read-only by server, call_tool_read is enough"]
    );
    assert!(
        warnings(
            Operation::Destructive,
            "get",
            hints,
            Unannotated::TrustAgent
        )
        .is_empty()
    );
}

#[test]
fn operator_hints_win_one_by_one() {
    let server = Hints {
        read_only: Some(true),
        destructive: Some(false),
        ..Hints::default()
    };
    let operator = Hints {
        destructive: Some(true),
        ..Hints::default()
    };
    let merged = server.overridden_by(operator);
    assert_eq!(
        (merged.read_only, merged.destructive),
        (Some(true), Some(true))
    );
}
