use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{good_result, good_tool, with};
use crate::checklist::{self, LineVerdict, Report, ServiceEvidence, ShownMetrics};
use crate::confidence::ConfidenceSeen;
use mcpproxy_contract::{ContractViolation, Rule};

fn report(tools: &[Value], results: &[(String, Value)], found: &[ContractViolation]) -> Report {
    report_with(tools, results, found, None, None)
}

fn report_with(
    tools: &[Value],
    results: &[(String, Value)],
    found: &[ContractViolation],
    confidence: Option<ConfidenceSeen>,
    metrics: Option<&ShownMetrics>,
) -> Report {
    let confidence = confidence.map(|seen| ("get-card".to_owned(), seen));
    let evidence = ServiceEvidence {
        results,
        found,
        confidence: Some(&BTreeMap::from_iter(confidence)),
        metrics,
        today: "2026-06-01".parse().unwrap(),
    };
    checklist::report(tools, &evidence)
}

/// The numbers of the lines that hold, are violated, and were not checked, of the first tool.
fn lines(report: &Report) -> [Vec<usize>; 3] {
    let mut sorted = [Vec::new(), Vec::new(), Vec::new()];
    for line in &report.tools[0].lines {
        let kind = match line.verdict {
            LineVerdict::Holds { .. } => 0,
            LineVerdict::Violated { .. } => 1,
            LineVerdict::NotChecked { .. } => 2,
        };
        sorted[kind].push(line.line);
    }
    sorted
}

fn seen(result: Value) -> [(String, Value); 1] {
    [("get-card".to_owned(), result)]
}

/// Lines with the last one, which the list itself decides.
fn with_29(lines: Vec<usize>) -> Vec<usize> {
    [lines, vec![29]].concat()
}

fn range(from: usize, to: usize) -> Vec<usize> {
    (from..=to).collect()
}

#[test]
fn without_calls_the_lines_of_the_definition_are_decided() {
    let report = report(&[good_tool()], &[], &[]);
    assert_eq!(report.tools[0].lines.len(), 29);
    assert_eq!(
        lines(&report),
        [with_29(range(1, 11)), vec![], range(12, 28)]
    );
    assert!(report.conforms());
    assert_eq!(
        (
            report.summary.tools,
            report.summary.holds,
            report.summary.not_checked
        ),
        (1, 12, 17)
    );
}

#[test]
fn a_good_result_decides_the_lines_that_only_a_call_shows() {
    let report = report(&[good_tool()], &seen(good_result()), &[]);
    // One answer does not tell whether its confidence is calculated.
    let held = [range(1, 13), range(15, 24)].concat();
    let open = [vec![14], range(25, 28)].concat();
    assert_eq!(lines(&report), [with_29(held), vec![], open]);
    assert_eq!(report.tools[0].results, 1);
}

#[test]
fn a_line_that_holds_has_its_evidence_and_one_that_nobody_outside_sees_says_who_can() {
    let report = report(&[good_tool()], &seen(good_result()), &[]);
    for line in &report.tools[0].lines {
        let (LineVerdict::Holds { evidence: told } | LineVerdict::NotChecked { reason: told }) =
            &line.verdict
        else {
            panic!("{line:?}");
        };
        let expected = match line.line {
            1..=3 => "the tool as it is listed",
            5 => "category: \"query\"",
            4 | 6..=11 => ": ",
            14 => "in all of 1 calls",
            12..=24 => "1 result",
            25 => "no call failed",
            26 => "whoever runs the service sees its log",
            27 => "at /metrics of a service over HTTP",
            28 => "its author sees the tests",
            _ => "the service lists it",
        };
        assert!(told.contains(expected), "{line:?}");
    }
}

#[test]
fn an_error_that_was_seen_decides_on_error_handling() {
    let mut failed = with(good_result(), "/data", None);
    failed["error"] = json!({ "code": "NOT_FOUND", "message": "There is no card", "category": "business", "retryable": false });
    let well = report(&[good_tool()], &seen(failed.clone()), &[]);
    assert!(lines(&well)[0].contains(&25));
    let badly = with(failed, "/error/category", None);
    assert_eq!(lines(&report(&[good_tool()], &seen(badly), &[]))[1], [25]);
}

#[test]
fn every_rule_decides_its_line() {
    let definition = "/_meta/dev.mcpproxy~1definition";
    for (place, value, line) in [
        ("@/permissions", None, 4),
        ("@/category", Some(json!("odd")), 5),
        ("@/responseTime", None, 6),
        ("@/cacheable", None, 7),
        ("@/cacheTTL", None, 8),
        ("@/idempotent", None, 9),
        ("@/examples", Some(json!([])), 10),
        ("@/tags", None, 11),
        ("/inputSchema", None, 3),
    ] {
        let tool = with(good_tool(), &place.replace('@', definition), value);
        assert_eq!(lines(&report(&[tool], &[], &[]))[1], [line], "{place}");
    }
    for (place, value, line) in [
        ("/data", Some(Value::Null), 12),
        ("/agentHints/relatedResources", None, 13),
        ("/agentHints/confidence", Some(json!(3)), 14),
        ("/agentHints/sourceQuality", None, 15),
        ("/agentHints/validityPeriod", None, 16),
        ("/agentHints/contextNeeded", None, 17),
        ("/agentHints/assumptions", None, 18),
        ("/agentHints/riskFactors", None, 19),
        ("/agentHints/dependencies", None, 20),
        ("/agentHints/estimatedImpact/effort", None, 21),
        ("/agentHints/estimatedImpact/roi", Some(json!(99)), 21),
        ("/agentHints/preferenceAlignment", None, 22),
        ("/agentHints/reasoning", Some(json!(1)), 23),
        ("/metadata/timestamp", None, 24),
    ] {
        let result = with(good_result(), place, value);
        assert_eq!(
            lines(&report(&[good_tool()], &seen(result), &[]))[1],
            [line],
            "{place}"
        );
    }
}

#[test]
fn a_result_without_hints_violates_every_line_about_hints() {
    let bare = with(good_result(), "/agentHints", None);
    assert_eq!(
        lines(&report(&[good_tool()], &seen(bare), &[]))[1],
        range(13, 23)
    );
}

#[test]
fn cl_14_the_word_confidence_in_the_reasoning_passed_for_a_calculation() {
    let with_confidence = |confidence: f64, card: u64| {
        let result = with(
            good_result(),
            "/agentHints/confidence",
            Some(json!(confidence)),
        );
        let result = with(
            result,
            "/data",
            Some(json!({ "id": format!("card_{card}") })),
        );
        ("get-card".to_owned(), result)
    };
    let verdict = |results: &[(String, Value)], seen: Option<ConfidenceSeen>| {
        report_with(&[good_tool()], results, &[], seen, None).tools[0].lines[13]
            .verdict
            .clone()
    };
    let typed = |calls: u64| {
        (0..calls)
            .map(|card| with_confidence(0.95, card))
            .collect::<Vec<_>>()
    };
    assert!(matches!(
        verdict(&typed(19), None),
        LineVerdict::NotChecked { .. }
    ));
    let LineVerdict::Violated { messages } = verdict(&typed(20), None) else {
        panic!("a confidence that is the same each time is typed in");
    };
    assert!(messages[0].contains("was 0.95 in all of"), "{messages:?}");
    let moved = [with_confidence(0.4, 1), with_confidence(0.95, 2)];
    let expected = "it moved between 0.4 and 0.95 over 2 calls";
    assert_eq!(
        verdict(&moved, None),
        LineVerdict::Holds {
            evidence: expected.to_owned()
        }
    );

    // What the gateway saw over time counts before what the check saw by itself.
    let seen = |highest: f64| ConfidenceSeen {
        calls: 20,
        answers: 10,
        lowest: 0.5,
        highest,
    };
    assert!(matches!(
        verdict(&moved, Some(seen(0.5))),
        LineVerdict::Violated { .. }
    ));
    assert!(matches!(
        verdict(&[], Some(seen(0.6))),
        LineVerdict::Holds { .. }
    ));
}

#[test]
fn cl_27_metrics_were_not_checked_where_they_can_be_read() {
    let verdict = |text: &str, label: Option<&str>, results: &[(String, Value)]| {
        let metrics = ShownMetrics {
            place: "http://127.0.0.1:9/metrics".to_owned(),
            label: label.map(str::to_owned),
            text: text.to_owned(),
        };
        report_with(&[good_tool()], results, &[], None, Some(&metrics)).tools[0].lines[26]
            .verdict
            .clone()
    };
    let own = Some("server=\"cards\"");
    let counted = "# mcp_tool_executions_total{server=\"cards\",tool=\"get-card\"}\n\
                   mcp_tool_executions_total{server=\"cards\",tool=\"get-card\"} 3\n";
    let LineVerdict::Holds { evidence } = verdict(counted, own, &[]) else {
        panic!("what is shown is evidence");
    };
    assert!(evidence.ends_with("tool=\"get-card\"} 3"), "{evidence}");
    // The gateway may show nothing of a service that is not inside it.
    let called = seen(good_result());
    let others = counted.replace("\"cards\"", "\"others\"");
    let is_open = |verdict| matches!(verdict, LineVerdict::NotChecked { .. });
    assert!(is_open(verdict(&others, own, &called)));
    // A service that was called and shows nothing of it counts nothing.
    assert!(is_open(verdict("", None, &[])));
    assert!(matches!(
        verdict("", None, &called),
        LineVerdict::Violated { .. }
    ));
}

#[test]
fn a_missing_reasoning_is_no_violation() {
    let silent = with(good_result(), "/agentHints/reasoning", None);
    let report = report(&[good_tool()], &seen(silent), &[]);
    assert!(report.conforms());
    assert!(matches!(
        report.tools[0].lines[22].verdict,
        LineVerdict::NotChecked { .. }
    ));
}

#[test]
fn a_tool_that_announces_nothing_violates_what_a_definition_is_needed_for() {
    let silent = with(good_tool(), "/_meta", None);
    let report = report(&[silent], &[], &[]);
    assert_eq!(
        lines(&report),
        [with_29(range(1, 3)), range(4, 11), range(12, 28)]
    );
    assert_eq!(report.tools[0].besides, []);
    assert!(!report.conforms());
}

#[test]
fn rules_that_no_line_speaks_of_are_told_besides() {
    let silent = with(good_tool(), "/annotations", None);
    let report = report(&[silent], &[], &[]);
    assert_eq!(report.summary.violated, 0);
    assert_eq!(report.tools[0].besides[0].rule, Rule::AnnotationsFit);
    assert!(!report.conforms());
}

#[test]
fn violations_that_the_gateway_found_over_time_count() {
    let told = |tool: &str, rule: Rule| ContractViolation {
        tool: tool.to_owned(),
        rule,
        message: "seen".to_owned(),
    };
    let found = [
        told("get-card", Rule::HintsConfidence),
        told("get-card", Rule::QueryPure),
        told("old-card", Rule::NameKept),
    ];
    let report = report(&[good_tool()], &[], &found);
    assert_eq!(lines(&report)[1], [14]);
    assert_eq!(report.tools[0].besides, [found[1].clone()]);
    assert_eq!(report.tools[1].besides, [found[2].clone()]);
    assert_eq!((report.summary.violated, report.summary.besides), (1, 2));
}

#[test]
fn dep_3_a_tool_beyond_its_removal_date_was_no_finding() {
    let deprecated = json!({ "replacement": "get-card", "removalDate": "2026-05-31" });
    let mut tool = with(good_tool(), "/name", Some(json!("get-old")));
    tool["_meta"]["dev.mcpproxy/definition"]["deprecated"] = deprecated;
    let report = report(&[good_tool(), tool], &[], &[]);
    let besides = &report.tools[1].besides;
    assert!(
        besides.iter().any(|one| one.rule == Rule::RemovalKept),
        "{besides:?}"
    );
}

#[test]
fn the_report_is_json_with_a_status_for_each_line() {
    let shown = json!(report(&[with(good_tool(), "/_meta", None)], &[], &[]));
    assert_eq!(shown["tools"][0]["tool"], "get-card");
    assert_eq!(shown["tools"][0]["lines"][0]["status"], "holds");
    assert_eq!(shown["tools"][0]["lines"][3]["status"], "violated");
    assert!(shown["tools"][0]["lines"][3]["messages"][0].is_string());
    assert_eq!(shown["tools"][0]["lines"][25]["status"], "not_checked");
    assert!(shown["tools"][0]["lines"][25]["reason"].is_string());
    assert_eq!(shown["tools"][0]["besides"], json!([]));
    assert_eq!(shown["summary"]["violated"], 8);
}
