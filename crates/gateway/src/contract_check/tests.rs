use mcpproxy_contract_check::confidence::ConfidenceSeen;
use serde_json::json;

use super::published::KnownTools;
use super::*;

#[test]
fn data_is_not_read_and_all_else_is() {
    let table = [
        (r#"{"data":null}"#, json!({ "data": null }), None),
        (
            r#"{"data":{"n":1e400},"agentHints":{"confidence":1},"zeta":1}"#,
            json!({ "data": true, "agentHints": { "confidence": 1 } }),
            Some(r#"{"n":1e400}"#),
        ),
        (
            r#"{"error":{"code":"A"},"metadata":[]}"#,
            json!({ "error": { "code": "A" }, "metadata": [] }),
            None,
        ),
        ("{}", json!({}), None),
        ("[1]", Value::Null, None),
    ];
    for (structured, expected, data) in table {
        let structured = Json::parse(structured).unwrap();
        assert_eq!(outline(Some(&structured)), (expected, data));
    }
    assert_eq!(outline(None), (Value::Null, None));
}

#[test]
fn messages_are_short_and_on_one_line() {
    let violation = |message: String| ContractViolation {
        tool: String::new(),
        rule: Rule::HintsForm,
        message,
    };
    let many: Vec<ContractViolation> = (0..5)
        .map(|number| violation(format!("m{number}\n")))
        .collect();
    assert_eq!(named(&many, 3), "m0 ; m1 ; m2 ; and 2 more");
    let long = named(&[violation("é".repeat(10_000))], 3);
    assert_eq!(long.chars().count(), TEXT_LIMIT + 1);
}

fn answer(data: &str) -> SeenAnswer<'_> {
    SeenAnswer {
        violations: Vec::new(),
        confidence: Some(0.95),
        data: Some(data),
        is_cached: false,
        has_changed: false,
    }
}

fn category(category: &str) -> KnownTools {
    let definition = json!({ "category": category });
    let tool = json!({ "name": "do-it", "_meta": { "dev.mcpproxy/definition": definition } });
    KnownTools::parse([tool.to_string()].into_iter())
}

fn rules(violations: &[ContractViolation]) -> Vec<Rule> {
    violations.iter().map(|one| one.rule).collect()
}

#[test]
fn only_the_first_fault_of_a_rule_was_remembered_and_only_of_a_hundred() {
    let mut watched = WatchedServers::default();
    let fault = |tool: usize, number: usize| ContractViolation {
        tool: format!("tool-{tool}"),
        rule: Rule::ParametersKept,
        message: format!("parameter {number} is gone"),
    };
    let of_one = (0..30).map(|number| fault(0, number));
    let of_others = (1..200).flat_map(|tool| (0..20).map(move |number| fault(tool, number)));
    let standing: Vec<_> = of_one.chain(of_others).collect();
    let definition = json!({ "category": "query" });
    let tools = (0..200).map(|tool| {
        let name = format!("tool-{tool}");
        json!({ "name": name, "_meta": { "dev.mcpproxy/definition": definition } }).to_string()
    });
    let tools = KnownTools::parse(tools);
    for _ in 0..2 {
        watched.listed("py", &tools, standing.clone());
        let all = watched.everything("py").unwrap().broken;
        assert_eq!(all.len(), 200);
        assert_eq!(all[0].message, "parameter 0 is gone");
        assert_eq!(all[0].more.len(), 19, "{:?}", all[0]);
        assert_eq!(all[0].more[18], "parameter 19 is gone");
        let more: usize = all.iter().map(|one| one.more.len()).sum();
        assert_eq!(more, 2_000, "what is remembered is bounded");
        let brief = watched.status("py").unwrap().broken;
        assert_eq!(brief.len(), 100);
        assert!(brief.iter().all(|one| one.more.is_empty()));
    }
}

#[test]
fn res_conf_a_foreign_confidence_that_never_moves_was_not_told() {
    let mut watched = WatchedServers::default();
    let server: Arc<str> = "py".into();
    for call in 0..19 {
        let seen = watched.answered(&server, "do-it", answer(&call.to_string()));
        assert_eq!(rules(&seen.all), [], "{call}");
    }
    let seen = watched.answered(&server, "do-it", answer("19"));
    assert_eq!(rules(&seen.first), [Rule::ConfidenceCalculated]);
    // Told with each call from now on, and as something new only once.
    let seen = watched.answered(&server, "do-it", answer("20"));
    assert_eq!(
        (rules(&seen.all), seen.first.len()),
        (vec![Rule::ConfidenceCalculated], 0)
    );
    let status = watched.status("py").unwrap();
    assert_eq!((status.violations, status.broken[0].count), (2, 2));
    let expected = ConfidenceSeen {
        calls: 21,
        answers: 10,
        lowest: 0.95,
        highest: 0.95,
    };
    assert_eq!(status.confidence["do-it"], expected);
    // Errors say nothing about the confidence in answers.
    let error = SeenAnswer {
        data: None,
        confidence: Some(0.1),
        ..answer("")
    };
    assert_eq!(rules(&watched.answered(&server, "do-it", error).all), []);
    // Who lists another tool under the name begins anew.
    watched.listed("py", &category("query"), Vec::new());
    assert_eq!(watched.status("py").unwrap().broken.len(), 1);
    watched.listed("py", &category("analysis"), Vec::new());
    assert_eq!(watched.status("py").unwrap().broken, []);
}

#[test]
fn a_change_during_a_query_and_a_cached_mutation_are_marked() {
    for (name, expected) in [
        ("query", vec![Rule::QueryPure]),
        ("mutation", vec![Rule::CacheableFits]),
        ("analysis", vec![]),
    ] {
        let mut watched = WatchedServers::default();
        watched.listed("py", &category(name), Vec::new());
        let seen = SeenAnswer {
            is_cached: true,
            has_changed: true,
            ..answer("1")
        };
        let seen = watched.answered(&"py".into(), "do-it", seen);
        assert_eq!(rules(&seen.all), expected, "{name}");
        assert_eq!(watched.status("py").unwrap().broken.len(), expected.len());
    }
}

#[test]
fn what_is_wrong_with_a_definition_is_told_with_each_call_until_it_is_mended() {
    let mut watched = WatchedServers::default();
    let notice = ContractViolation {
        tool: "do-it".to_owned(),
        rule: Rule::DeprecationNotice,
        message: "too early".to_owned(),
    };
    let tools = category("query");
    let first = watched.listed("py", &tools, vec![notice.clone()]);
    assert_eq!(rules(&first), [Rule::DeprecationNotice]);
    assert_eq!(watched.listed("py", &tools, vec![notice]), []);
    for _ in 0..2 {
        let seen = watched.answered(&"py".into(), "do-it", answer("1"));
        assert_eq!(
            (rules(&seen.all), seen.first.len()),
            (vec![Rule::DeprecationNotice], 0)
        );
    }
    assert_eq!(watched.listed("py", &tools, Vec::new()), []);
    assert_eq!(
        rules(&watched.answered(&"py".into(), "do-it", answer("1")).all),
        []
    );
    assert_eq!(
        watched.counts(),
        [("py".into(), Rule::DeprecationNotice, 4)]
    );
}

#[test]
fn tools_that_are_gone_left_no_room_for_others() {
    let tools = |numbers: std::ops::Range<usize>| {
        let tool = |number| json!({ "name": format!("get-{number}"), "_meta": { "dev.mcpproxy/definition": {} } });
        KnownTools::parse(numbers.map(tool).map(|tool| tool.to_string()))
    };
    let mut watched = WatchedServers::default();
    watched.listed("py", &tools(0..1_000), Vec::new());
    let gone = ContractViolation {
        tool: "get-0".to_owned(),
        rule: Rule::NameKept,
        message: "it is gone".to_owned(),
    };
    watched.listed("py", &tools(1_000..1_900), vec![gone.clone()]);
    let broken = SeenAnswer {
        violations: vec![ContractViolation {
            rule: Rule::HintsForm,
            ..gone
        }],
        ..answer("1")
    };
    watched.answered(&"py".into(), "get-1899", broken);
    let status = watched.status("py").unwrap();
    let broken: Vec<_> = status
        .broken
        .iter()
        .map(|one| (one.tool.as_str(), one.rule))
        .collect();
    // What a tool that is gone broke stands until it comes back or is forgotten.
    assert_eq!(
        broken,
        [("get-0", Rule::NameKept), ("get-1899", Rule::HintsForm)]
    );
    watched.listed("py", &tools(1_000..1_900), Vec::new());
    let status = watched.status("py").unwrap();
    assert_eq!((status.broken.len(), status.violations), (1, 2));
}

#[test]
fn several_faults_of_one_rule_were_several_lines_of_the_log() {
    let fault = |message: &str| ContractViolation {
        tool: "do-it".to_owned(),
        rule: Rule::ParametersKept,
        message: message.to_owned(),
    };
    let mut watched = WatchedServers::default();
    let first = watched.listed("py", &category("query"), vec![fault("a"), fault("b")]);
    assert_eq!(first, [fault("a")]);
    let faulty = || SeenAnswer {
        violations: vec![
            ContractViolation {
                rule: Rule::HintsForm,
                ..fault("a")
            },
            ContractViolation {
                rule: Rule::HintsForm,
                ..fault("b")
            },
        ],
        ..answer("1")
    };
    let seen = watched.answered(&"py".into(), "do-it", faulty());
    assert_eq!(
        (seen.all.len(), rules(&seen.first)),
        (3, vec![Rule::HintsForm])
    );
}
