use serde_json::{Value, json};

use super::{good_result, good_tool, with};
use crate::checklist::{LineVerdict, Report, report};
use mcpproxy_contract::{ContractViolation, Rule};

/// The numbers of the lines that hold, are violated, and were not checked, of the first tool.
fn lines(report: &Report) -> [Vec<usize>; 3] {
    let mut sorted = [Vec::new(), Vec::new(), Vec::new()];
    for line in &report.tools[0].lines {
        let kind = match line.verdict {
            LineVerdict::Holds => 0,
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

fn range(from: usize, to: usize) -> Vec<usize> {
    (from..=to).collect()
}

#[test]
fn without_calls_the_lines_of_the_definition_are_decided() {
    let report = report(&[good_tool()], &[], &[]);
    assert_eq!(report.tools[0].lines.len(), 29);
    assert_eq!(lines(&report), [range(1, 11), vec![], range(12, 29)]);
    assert!(report.conforms());
    assert_eq!(
        (
            report.summary.tools,
            report.summary.holds,
            report.summary.not_checked
        ),
        (1, 11, 18)
    );
}

#[test]
fn a_good_result_decides_the_lines_that_only_a_call_shows() {
    let report = report(&[good_tool()], &seen(good_result()), &[]);
    assert_eq!(lines(&report), [range(1, 24), vec![], range(25, 29)]);
    assert_eq!(report.tools[0].results, 1);
    for line in &report.tools[0].lines[25..] {
        let LineVerdict::NotChecked { reason } = &line.verdict else {
            panic!("{line:?}");
        };
        assert_eq!(reason, "not visible from outside");
    }
}

#[test]
fn an_error_that_was_seen_decides_on_error_handling() {
    let mut failed = with(good_result(), "/data", None);
    failed["error"] = json!({ "code": "NOT_FOUND", "message": "There is no card", "category": "business", "retryable": false });
    let well = report(&[good_tool()], &seen(failed.clone()), &[]);
    assert_eq!(lines(&well)[0], range(1, 25));
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
fn a_confidence_is_calculated_if_it_moves_or_is_explained() {
    let silent = with(
        good_result(),
        "/agentHints/reasoning",
        Some(json!("Because.")),
    );
    let other = with(silent.clone(), "/agentHints/confidence", Some(json!(0.4)));
    let verdict = |results: &[(String, Value)]| {
        report(&[good_tool()], results, &[]).tools[0].lines[13]
            .verdict
            .clone()
    };
    let named = |result: &Value| ("get-card".to_owned(), result.clone());
    assert!(matches!(
        verdict(&[named(&silent), named(&silent)]),
        LineVerdict::NotChecked { .. }
    ));
    assert_eq!(
        verdict(&[named(&silent), named(&other)]),
        LineVerdict::Holds
    );
    assert_eq!(verdict(&[named(&good_result())]), LineVerdict::Holds);
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
    assert_eq!(lines(&report), [range(1, 3), range(4, 11), range(12, 29)]);
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
fn violations_in_a_result_that_was_withheld_count() {
    let told = ContractViolation {
        tool: "get-card".to_owned(),
        rule: Rule::HintsConfidence,
        message: "out of range".to_owned(),
    };
    let report = report(&[good_tool()], &[], &[told]);
    assert_eq!(lines(&report)[1], [14]);
    assert!(lines(&report)[2].contains(&12));
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
