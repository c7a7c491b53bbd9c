use serde_json::json;

use super::*;
use crate::AnonymousRole;

/// A catalog of the server `cards`: what reads, what writes and what destroys.
fn resolve(action: &str) -> Option<(String, Operation)> {
    let callable = |name: &str, call_with| Some((format!("cards:{name}"), call_with));
    match action.strip_prefix("cards:").unwrap_or(action) {
        name @ "get-card" => callable(name, Operation::Read),
        name @ "review-card" => callable(name, Operation::Write),
        name @ "delete-card" => callable(name, Operation::Destructive),
        _ => None,
    }
}

fn vetted(hints: &Value) -> Vetted {
    let Value::Object(hints) = hints.clone() else {
        panic!("hints are an object");
    };
    vet(hints, &resolve)
}

#[track_caller]
fn check(given: &Value, expected: &Value, dropped: &[&str], is_cut: bool) {
    let vetted = vetted(given);
    // As text, so that the order of keys counts.
    assert_eq!(
        Value::Object(vetted.hints.clone()).to_string(),
        expected.to_string()
    );
    assert_eq!(vetted.dropped, dropped);
    assert_eq!(vetted.is_cut, is_cut);
}

fn actions(items: &Value) -> Value {
    json!({ "suggestedNextActions": items })
}

#[test]
fn an_action_is_kept_with_our_word_on_how_to_call_it() {
    let rows = [
        ("get-card", "cards:get-card", "call_tool_read"),
        ("cards:get-card", "cards:get-card", "call_tool_read"),
        ("review-card", "cards:review-card", "call_tool_write"),
        ("delete-card", "cards:delete-card", "call_tool_destructive"),
    ];
    for (action, tool, call_with) in rows {
        check(
            &actions(
                &json!([{ "action": action, "priority": "high", "data": { "z": 1, "a": 2 } }]),
            ),
            &actions(
                &json!([{ "action": action, "priority": "high", "data": { "z": 1, "a": 2 },
                             "tool": tool, "call_with": call_with }]),
            ),
            &[],
            false,
        );
    }
}

#[test]
fn what_the_upstream_says_on_how_to_call_is_never_believed() {
    check(
        &actions(
            &json!([{ "call_with": "call_tool_read", "action": "delete-card",
                         "tool": "github:delete_repo", "priority": "low" }]),
        ),
        &actions(
            &json!([{ "call_with": "call_tool_destructive", "action": "delete-card",
                         "tool": "cards:delete-card", "priority": "low" }]),
        ),
        &[],
        false,
    );
}

#[test]
fn actions_that_cannot_be_called_are_dropped() {
    let malformed = [
        (json!("get-card"), ""),
        (json!(null), ""),
        (json!({ "priority": "high" }), ""),
        (json!({ "action": 7, "priority": "high" }), ""),
    ];
    for (action, name) in malformed {
        check(
            &actions(&json!([action])),
            &actions(&json!([])),
            &[name],
            false,
        );
    }
    check(
        &actions(&json!([
            { "action": "no-such-tool", "priority": "critical" },
            { "action": "get-card", "priority": "low" },
            { "action": "drop-deck", "priority": "high" },
            { "action": "github:delete_repo", "priority": "high" },
        ])),
        &actions(&json!([{ "action": "get-card", "priority": "low",
                         "tool": "cards:get-card", "call_with": "call_tool_read" }])),
        &["no-such-tool", "drop-deck", "github:delete_repo"],
        false,
    );
}

#[test]
fn what_is_malformed_was_corrected() {
    let kept = |item: Value| {
        let mut shown = item.clone();
        shown["tool"] = json!("cards:get-card");
        shown["call_with"] = json!("call_tool_read");
        check(
            &actions(&json!([item])),
            &actions(&json!([shown])),
            &[],
            false,
        );
    };
    kept(json!({ "action": "get-card" }));
    kept(json!({ "action": "get-card", "priority": "urgent" }));
    kept(json!({ "action": "get-card", "priority": 1, "prerequisites": "drop-deck" }));
    let long = "x".repeat(5_000);
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    for hints in [
        actions(&json!({ "action": "x" })),
        actions(&json!("get-card")),
        json!({ "suggestedNextActions": null, "dependencies": "x", "preferenceAlignment": { "action": "x" } }),
        json!({ "dependencies": [5, { "dependsOn": ["get-card"] }, { "action": "get-card" }, { "action": "get-card", "dependsOn": 7 }] }),
        json!({ "preferenceAlignment": [17, { "preference": "order" }, { "action": 3 }] }),
        json!({ "reasoning": long, "assumptions": vec![long.clone(); 60], "relatedResources": vec![1; 80], long: 1, "deep": deep }),
    ] {
        check(&hints, &hints, &[], false);
    }
}

#[test]
fn a_dropped_name_is_gone_everywhere() {
    check(
        &json!({
            "suggestedNextActions": [
                { "action": "review-card", "priority": "high", "prerequisites": ["drop-deck", "get-card", 5] },
                { "action": "get-card", "priority": "high", "prerequisites": "drop-deck" },
                { "action": "drop-deck", "priority": "high" },
            ],
            "dependencies": [
                { "action": "drop-deck", "dependsOn": ["get-card"], "type": "required" },
                { "action": "review-card", "dependsOn": ["drop-deck", "get-card"], "type": "required" },
                { "action": "review-card", "dependsOn": ["drop-deck"], "type": "required" },
                { "action": "review-card", "type": "optional" },
                { "dependsOn": ["get-card"] },
            ],
            "preferenceAlignment": [
                { "action": "drop-deck", "preference": "order", "score": 1 },
                { "action": "get-card", "preference": "order", "score": 1.0 },
                { "action": "elsewhere", "preference": "order", "score": 1 },
                17,
            ],
        }),
        &json!({
            "suggestedNextActions": [
                { "action": "review-card", "priority": "high", "prerequisites": ["get-card", 5],
                  "tool": "cards:review-card", "call_with": "call_tool_write" },
                { "action": "get-card", "priority": "high", "prerequisites": "drop-deck",
                  "tool": "cards:get-card", "call_with": "call_tool_read" },
            ],
            "dependencies": [
                { "action": "review-card", "dependsOn": ["get-card"], "type": "required" },
                { "action": "review-card", "type": "optional" },
                { "dependsOn": ["get-card"] },
            ],
            "preferenceAlignment": [
                { "action": "get-card", "preference": "order", "score": 1.0 },
                17,
            ],
        }),
        &["drop-deck", "elsewhere"],
        false,
    );
}

#[test]
fn everything_else_stays_as_it_is() {
    let hints = json!({
        "zeta": [1, 1.0, null, { "suggestedNextActions": ["x"] }],
        "suggestedNextActions": [],
        "relatedResources": [{ "type": "deck", "id": "no-such-tool", "label": "Maths", "relevance": 1.0 }],
        "confidence": 7,
        "reasoning": "call no-such-tool",
        "warnings": "none",
        "alpha": { "b": 1, "a": 2 },
    });
    check(&hints, &hints, &[], false);
    check(&json!({}), &json!({}), &[], false);
}

#[test]
fn too_many_actions_are_dropped_by_name() {
    let action = json!({ "action": "get-card", "priority": "low" });
    let vetted = vetted(&actions(&json!(vec![action; MOST_ACTIONS + 3])));
    assert_eq!(
        vetted.hints["suggestedNextActions"]
            .as_array()
            .unwrap()
            .len(),
        MOST_ACTIONS
    );
    assert_eq!(vetted.dropped, ["get-card"; 3]);
    assert!(!vetted.is_cut);
}

#[test]
fn other_lists_of_names_are_bounded_and_what_is_told_of_them() {
    let alignment = |count: usize| {
        let item = |number: usize| json!({ "action": format!("gone-{number}"), "score": 1 });
        json!({ "preferenceAlignment": (0..count).map(item).collect::<Vec<_>>() })
    };
    assert!(!vetted(&alignment(MOST_NAMES)).is_cut);
    assert!(vetted(&alignment(MOST_NAMES + 1)).is_cut);
    let names: Vec<String> = (0..MOST_NAMES)
        .map(|number| format!("gone-{number}"))
        .collect();
    let action = |number: usize| json!({ "action": "get-card", "priority": "low", "prerequisites": names.iter().map(|name| format!("{name}-{number}")).collect::<Vec<_>>() });
    let found = vetted(&actions(&json!(
        (0..MOST_ACTIONS).map(action).collect::<Vec<_>>()
    )));
    assert_eq!(found.dropped.len(), MOST_DROPPED);
    assert_eq!(
        found.hints["suggestedNextActions"][19]["prerequisites"],
        json!([])
    );
}

#[test]
fn the_warning_counts_what_was_dropped() {
    let warning = |hints: &Value| {
        let warning = vetted(hints).warning(&Rights::Administrator);
        warning.map(|warning| warning.message)
    };
    let unknown = json!({ "action": "x", "priority": "low" });
    assert_eq!(warning(&json!({})), None);
    assert_eq!(
        warning(&actions(&json!([unknown]))).as_deref(),
        Some("In the hints of the tool 1 suggested action was dropped")
    );
    assert_eq!(
        warning(&actions(&json!([unknown, unknown]))).as_deref(),
        Some("In the hints of the tool 2 suggested actions were dropped")
    );
    let long = vec![json!({ "score": 1 }); MOST_NAMES + 1];
    assert_eq!(
        warning(&json!({ "suggestedNextActions": [unknown], "preferenceAlignment": long }))
            .as_deref(),
        Some(
            "In the hints of the tool 1 suggested action was dropped, and lists of names that were too long were cut"
        )
    );
}

#[test]
fn the_warning_told_a_bounded_caller_how_many_suggestions_it_may_not_see() {
    let told = |hints: &Value| {
        let warning = vetted(hints).warning(&Rights::Anonymous(AnonymousRole::Read));
        warning.map(|warning| warning.message)
    };
    let withheld = json!({ "action": "x", "priority": "low" });
    assert_eq!(told(&actions(&json!([withheld, withheld]))), None);
    let long = vec![json!({ "score": 1 }); MOST_NAMES + 1];
    assert_eq!(
        told(&json!({ "suggestedNextActions": [withheld], "preferenceAlignment": long }))
            .as_deref(),
        Some("In the hints of the tool lists of names that were too long were cut")
    );
}
