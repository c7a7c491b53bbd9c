use std::collections::BTreeMap;

use mcpproxy_catalog::{Catalog, Operator, ToolOverride};
use mcpproxy_contract::agent_hints::schema;
use mcpproxy_wire::{Json, ListedKind, Offerings, ToolDefinition};
use serde_json::{Value, json};

use super::super::observed::{Observed, ObservedCall};
use super::*;

/// The server `s` with tools that read, write, destroy and are disabled; the server `q` waits.
fn catalog() -> Catalog {
    let tool = |name: &str, annotations: Value| {
        let definition = json!({ "name": name, "inputSchema": {}, "annotations": annotations });
        ToolDefinition::parse(&Json::of(&definition)).unwrap()
    };
    let disabled = ToolOverride {
        annotations: serde_json::Map::new(),
        enabled: false,
    };
    let catalog = Catalog::new();
    let operator = Operator {
        tools: BTreeMap::from([("off".to_owned(), disabled)])
            .into_iter()
            .collect(),
        ..Operator::default()
    };
    let quarantined = Operator {
        quarantined: true,
        ..Operator::default()
    };
    catalog.configure([("s".to_owned(), operator), ("q".to_owned(), quarantined)].into());
    let reads = json!({ "readOnlyHint": true });
    let tools = vec![
        tool("a", reads.clone()),
        tool("b", reads.clone()),
        tool("c", json!({ "readOnlyHint": false })),
        tool("wipe", json!({ "destructiveHint": true })),
        tool("off", reads.clone()),
    ];
    catalog.replace("s", Offerings::default().with(ListedKind::Tool, tools));
    catalog.replace(
        "q",
        Offerings::default().with(ListedKind::Tool, vec![tool("b", reads)]),
    );
    catalog
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

/// Rounds of one caller: `s:a`, then what `next` says.
fn observe(
    observed: &mut Observed,
    rounds: std::ops::Range<i64>,
    next: impl Fn(i64) -> (&'static str, bool),
) {
    for round in rounds {
        let (tool, succeeded) = next(round);
        for (tool, succeeded, second) in [("s:a", true, 0), (tool, succeeded, 1)] {
            observed.learn(&ObservedCall {
                caller: Some("one".into()),
                tool: tool.into(),
                succeeded,
                took: Duration::from_millis(20),
                at: at(round * 2 + second),
            });
        }
    }
}

fn made(observed: &Observed, tool: &str, ended: CallEnding, seconds: i64) -> Value {
    let observation = observed.of(tool).unwrap();
    let hints = hints(
        &observation,
        &catalog().snapshot(),
        ended,
        at(seconds),
        &Rights::Administrator,
    );
    serde_json::to_value(&hints).unwrap()
}

fn actions(hints: &Value) -> Vec<&str> {
    let actions = hints["suggestedNextActions"].as_array().unwrap();
    actions
        .iter()
        .map(|one| one["action"].as_str().unwrap())
        .collect()
}

#[test]
fn after_a_clear_pattern_the_follower_is_suggested() {
    let mut observed = Observed::default();
    observe(&mut observed, 0..100, |_| ("s:b", true));
    let hints = made(&observed, "s:a", CallEnding::Well, 200);
    for key in schema()["required"].as_array().unwrap() {
        assert!(hints.get(key.as_str().unwrap()).is_some(), "{key}");
    }
    assert_eq!(actions(&hints), ["s:b"]);
    let suggestion = &hints["suggestedNextActions"][0];
    assert_eq!(suggestion["priority"], "high");
    assert_eq!(suggestion["category"], "exploration");
    assert_eq!(suggestion["estimatedTime"], 20);
    assert_eq!(
        suggestion["description"],
        "Was the next call 100 of 100 times, and worked 100 of these"
    );
    assert!(suggestion["confidence"].as_f64().unwrap() > 0.8);
    assert_eq!(hints["sourceQuality"], "medium");
    assert_eq!(
        hints["assumptions"],
        json!(["What followed this tool before is what is wanted now"])
    );
    assert_eq!(hints["riskFactors"], json!([]));
    let reasoning = hints["reasoning"].as_str().unwrap();
    assert!(reasoning.starts_with(
        "Observed by the gateway, not said by the tool: 100 of 100 calls worked, half of them within 20 ms; another tool followed 100 times."
    ), "{reasoning}");
}

#[test]
fn confidence_falls_when_outcomes_get_mixed() {
    let mut observed = Observed::default();
    let confidence = |observed: &Observed| {
        let hints = made(observed, "s:a", CallEnding::Well, 500);
        assert_eq!(actions(&hints), ["s:b"]);
        let of_b = made(observed, "s:b", CallEnding::Well, 500);
        (
            hints["suggestedNextActions"][0]["confidence"]
                .as_f64()
                .unwrap(),
            of_b["confidence"].as_f64().unwrap(),
        )
    };
    observe(&mut observed, 0..100, |_| ("s:b", true));
    let clear = confidence(&observed);
    observe(&mut observed, 100..200, |round| ("s:b", round % 2 == 0));
    let mixed = confidence(&observed);
    observe(&mut observed, 200..250, |_| ("s:b", false));
    let worse = confidence(&observed);
    assert!(
        clear.0 > mixed.0 && mixed.0 > worse.0,
        "{clear:?} {mixed:?} {worse:?}"
    );
    assert!(
        clear.1 > mixed.1 && mixed.1 > worse.1,
        "{clear:?} {mixed:?} {worse:?}"
    );
}

#[test]
fn what_cannot_be_called_or_does_not_work_is_not_suggested() {
    for tool in ["s:off", "s:gone", "q:b", "gone:b"] {
        let mut observed = Observed::default();
        observe(&mut observed, 0..50, |_| (tool, true));
        let hints = made(&observed, "s:a", CallEnding::Well, 100);
        assert!(actions(&hints).is_empty(), "{tool}");
        assert_eq!(hints["assumptions"], json!([]));
    }
    let mut observed = Observed::default();
    observe(&mut observed, 0..50, |round| ("s:b", round % 4 == 0));
    assert!(actions(&made(&observed, "s:a", CallEnding::Well, 100)).is_empty());
}

#[test]
fn priority_is_the_share_and_what_destroys_is_never_urged() {
    let mut observed = Observed::default();
    observe(&mut observed, 0..100, |round| match round % 10 {
        0 => ("s:wipe", true),
        1..=3 => ("s:c", true),
        _ => ("s:b", true),
    });
    let hints = made(&observed, "s:a", CallEnding::Well, 200);
    assert_eq!(actions(&hints), ["s:b", "s:c", "s:wipe"]);
    let told: Vec<&str> = hints["suggestedNextActions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["priority"].as_str().unwrap())
        .collect();
    assert_eq!(told, ["high", "medium", "low"]);
    let mut observed = Observed::default();
    observe(&mut observed, 0..100, |_| ("s:wipe", true));
    let hints = made(&observed, "s:a", CallEnding::Well, 200);
    assert_eq!(hints["suggestedNextActions"][0]["priority"], "low");
    assert_eq!(hints["suggestedNextActions"][0]["reversible"], false);
}

#[test]
fn a_few_observations_are_none() {
    let mut observed = Observed::default();
    observe(&mut observed, 0..4, |_| ("s:b", true));
    let hints = made(&observed, "s:a", CallEnding::Well, 8);
    assert!(actions(&hints).is_empty());
    assert_eq!(hints["sourceQuality"], "unknown");
    assert!(hints["confidence"].as_f64().unwrap() <= 0.5);
    assert_eq!(
        hints["contextNeeded"][1],
        "More calls after this one: 4 of at least 5 were seen"
    );
}

#[test]
fn a_call_that_failed_says_so_and_is_less_sure() {
    let mut observed = Observed::default();
    observe(&mut observed, 0..100, |round| ("s:b", round % 10 != 0));
    let well = made(&observed, "s:b", CallEnding::Well, 200);
    let badly = made(&observed, "s:b", CallEnding::Badly, 200);
    assert!(badly["confidence"].as_f64() < well["confidence"].as_f64());
    let reasoning = badly["reasoning"].as_str().unwrap();
    assert!(reasoning.starts_with("This call failed"), "{reasoning}");
    let confidence = |hints: &Value| hints["suggestedNextActions"][0]["confidence"].as_f64();
    assert!(confidence(&badly) < confidence(&well));
}

#[test]
fn old_observations_are_less_sure() {
    let mut observed = Observed::default();
    observe(&mut observed, 0..100, |round| ("s:b", round % 4 != 0));
    let confidence =
        |seconds| made(&observed, "s:a", CallEnding::Well, seconds)["confidence"].as_f64();
    assert!(confidence(200) > confidence(30 * 24 * 3_600));
}

#[test]
fn unreliable_and_slow_tools_are_a_risk() {
    let observation = |calls: u64, successes: u64, slow: u64| Observation {
        calls,
        successes,
        times: [Duration::from_secs(slow)].into(),
        ..Observation::default()
    };
    let told = |observation: &Observation| {
        let risks = serde_json::to_value(risks(observation)).unwrap();
        let risks = risks.as_array().unwrap().iter();
        risks
            .map(|risk| {
                format!(
                    "{} {}",
                    risk["type"].as_str().unwrap(),
                    risk["severity"].as_str().unwrap()
                )
            })
            .collect::<Vec<_>>()
    };
    assert!(told(&observation(100, 90, 4)).is_empty());
    assert_eq!(told(&observation(100, 89, 4)), ["user-experience medium"]);
    assert_eq!(told(&observation(100, 50, 4)), ["user-experience high"]);
    assert!(told(&observation(4, 0, 4)).is_empty());
    assert_eq!(told(&observation(100, 100, 5)), ["performance medium"]);
}
