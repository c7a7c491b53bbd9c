//! Warnings that go with a call that is allowed.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use mcpproxy_policy::{
    Decision, DeclaredIntent, Intent, Mode, Operation, Rules, Subject, Unannotated, decide,
    may_be_proposed,
};
use mcpproxy_wire::ToolAnnotations;

fn warnings(
    variant: Operation,
    tool: &str,
    annotations: ToolAnnotations,
    unannotated: Unannotated,
) -> Vec<String> {
    let rules = Rules {
        mode: Mode::Inferred,
        unannotated,
        ..Rules::default()
    };
    let intent = Intent::parse(variant, &DeclaredIntent::default(), rules.mode).unwrap();
    let (server, tool): (Arc<str>, Arc<str>) = ("s".into(), tool.into());
    let subject = Subject {
        server: &server,
        tool: &tool,
        description: "",
        annotations,
    };
    match decide(&intent, &subject, rules) {
        Decision::Allow(_, warnings) => warnings.into_iter().map(|one| one.message).collect(),
        Decision::Deny(denial) => panic!("refused: {denial}"),
    }
}

#[test]
fn an_unannotated_tool_that_sounds_worse_than_its_variant_is_warned_about() {
    let trusting = |variant, tool: &str| {
        warnings(
            variant,
            tool,
            ToolAnnotations::default(),
            Unannotated::TrustAgent,
        )
    };
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
    let annotations = ToolAnnotations {
        destructive: Some(false),
        ..ToolAnnotations::default()
    };
    let trusting = |variant| {
        warnings(
            variant,
            "remove_label",
            annotations,
            Unannotated::TrustAgent,
        )
    };
    assert!(trusting(Operation::Read)[0].ends_with("consider call_tool_write"));
    assert!(trusting(Operation::Write).is_empty());
}

#[test]
fn an_operator_who_drew_the_line_gets_no_guesses() {
    let careful =
        |variant, setting| warnings(variant, "drop_table", ToolAnnotations::default(), setting);
    assert!(careful(Operation::Write, Unannotated::AtLeastWrite).is_empty());
    assert!(careful(Operation::Destructive, Unannotated::RequireDestructive).is_empty());
}

#[test]
fn too_much_care_is_pointed_out() {
    let annotations = ToolAnnotations {
        read_only: Some(true),
        ..ToolAnnotations::default()
    };
    assert_eq!(
        warnings(
            Operation::Write,
            "get",
            annotations,
            Unannotated::TrustAgent
        ),
        ["Tool 's:get' is marked read-only by server, call_tool_read is enough"]
    );
    assert!(
        warnings(
            Operation::Destructive,
            "get",
            annotations,
            Unannotated::TrustAgent
        )
        .is_empty()
    );
}

#[test]
fn operator_hints_win_one_by_one() {
    let server = ToolAnnotations {
        read_only: Some(true),
        destructive: Some(false),
        ..ToolAnnotations::default()
    };
    let operator = ToolAnnotations {
        destructive: Some(true),
        ..ToolAnnotations::default()
    };
    let merged = server.overridden_by(operator);
    assert_eq!(
        (merged.read_only, merged.destructive),
        (Some(true), Some(true))
    );
}

#[test]
fn only_what_a_variant_could_call_is_proposed_to_it() {
    let hints = |read_only, destructive| ToolAnnotations {
        read_only,
        destructive,
        ..ToolAnnotations::default()
    };
    let (none, not_destructive) = (hints(None, None), hints(None, Some(false)));
    let (trust, write, all) = (
        Unannotated::TrustAgent,
        Unannotated::AtLeastWrite,
        Unannotated::RequireDestructive,
    );
    // The tool, the rule for those without annotations, and whether it is proposed to a read, to a write.
    for (tool, annotations, unannotated, expected) in [
        ("t", hints(Some(true), None), trust, [true, true]),
        ("t", hints(Some(false), None), trust, [false, true]),
        ("t", hints(None, Some(true)), trust, [false, false]),
        ("t", hints(Some(true), Some(true)), trust, [false, false]),
        ("t", none, trust, [true, true]),
        ("t", none, write, [false, true]),
        ("t", none, all, [false, false]),
        ("t", not_destructive, all, [false, true]),
        ("create_t", none, trust, [false, true]),
        ("delete_t", none, trust, [false, false]),
        ("delete_t", not_destructive, trust, [false, true]),
    ] {
        let (server, name): (Arc<str>, Arc<str>) = ("s".into(), tool.into());
        let subject = Subject {
            server: &server,
            tool: &name,
            description: "",
            annotations,
        };
        for strict_server_validation in [true, false] {
            let rules = Rules {
                strict_server_validation,
                unannotated,
                ..Rules::default()
            };
            let is_proposed = |variant| may_be_proposed(variant, &subject, rules);
            let found = [Operation::Read, Operation::Write].map(is_proposed);
            assert_eq!(found, expected, "{tool} {annotations:?} {unannotated:?}");
            assert!(is_proposed(Operation::Destructive), "{tool}");
        }
    }
}
