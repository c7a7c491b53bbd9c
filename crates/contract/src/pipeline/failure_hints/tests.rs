//! How sure the hints for a failure are, and how long they hold.

use serde_json::{Map, Value, json};

use super::*;

/// Hints of an error of which nothing is known beside it.
fn failed(error: &PublishedError, retry_after: Option<Duration>) -> AgentHints {
    failed_with(error, retry_after, KnownBeside::default())
}

fn error(category: ErrorCategory, code: &'static str, retryable: bool) -> PublishedError {
    PublishedError {
        code,
        message: String::new(),
        category,
        retryable,
        details: Map::new(),
    }
}

/// Hints as they are sent; they keep the published schema.
fn wire(hints: &AgentHints) -> Value {
    let sent = serde_json::to_value(hints).expect("hints can always be written as JSON");
    let schema = jsonschema::validator_for(&crate::agent_hints::schema());
    assert!(schema.expect("a schema").is_valid(&sent), "{sent}");
    sent
}

#[test]
fn the_less_is_known_of_a_failure_the_less_sure_are_its_hints() {
    use ErrorCategory::{Business, System, Validation};
    let wait = Some(Duration::from_millis(1500));
    let day = Some(Duration::from_hours(24));
    for (category, code, retryable, after, expected) in [
        (
            Validation,
            "INVALID_ARGUMENTS",
            false,
            None,
            (1.0, "immediate", "validation"),
        ),
        (
            Business,
            "NOT_FOUND",
            false,
            None,
            (0.667, "short", "conflict"),
        ),
        (
            Business,
            "TOOL_REMOVED",
            false,
            None,
            (0.667, "short", "deprecation"),
        ),
        (
            Business,
            "RATE_LIMITED",
            true,
            wait,
            (1.0, "short", "performance"),
        ),
        (
            Business,
            "RATE_LIMITED",
            true,
            day,
            (1.0, "long", "performance"),
        ),
        (
            System,
            "UNAVAILABLE",
            true,
            wait,
            (0.75, "short", "performance"),
        ),
        (
            System,
            "UNAVAILABLE",
            true,
            None,
            (0.5, "short", "performance"),
        ),
        (
            System,
            "INTERNAL",
            false,
            None,
            (0.333, "short", "performance"),
        ),
    ] {
        let hints = failed(&error(category, code, retryable), after);
        let wire = wire(&hints);
        let (confidence, validity, warning) = expected;
        assert_eq!(wire["confidence"], confidence, "{code}");
        assert_eq!(wire["validityPeriod"], validity, "{code}");
        assert_eq!(wire["warnings"][0]["type"], warning, "{code}");
        assert!(hints.reasoning().contains(code), "{code}");
        assert_eq!(wire["riskFactors"], json!([]), "{code}");
    }
    let limited = wire(&failed(&error(Business, "RATE_LIMITED", true), wait));
    assert_eq!(
        limited["constraints"],
        json!(["Wait 1500 ms before calling again"])
    );
    let unknown = wire(&failed(&error(System, "OUTCOME_UNKNOWN", false), None));
    assert_eq!(unknown["riskFactors"][0]["severity"], "high");
}

fn confidence(error: &PublishedError, helpers: u64, broken_of_all: (u64, u64)) -> f64 {
    let known = KnownBeside {
        helpers,
        broken_of_all,
        ..KnownBeside::default()
    };
    failed_with(error, None, known).confidence().value()
}

#[test]
fn all_errors_of_one_kind_had_one_confidence() {
    let missing = error(ErrorCategory::Business, "NOT_FOUND", false);
    // Whoever names a tool that helps, and a tool that has worked before, is surer.
    assert!(confidence(&missing, 0, (0, 1)) < confidence(&missing, 1, (0, 1)));
    assert!(confidence(&missing, 1, (0, 1)) < confidence(&missing, 1, (0, 20)));
    assert!(confidence(&missing, 1, (10, 20)) < confidence(&missing, 1, (0, 20)));
    // The more calls have broken, the surer it is that something does not work.
    let broken = error(ErrorCategory::System, "INTERNAL", false);
    assert!(confidence(&broken, 0, (1, 20)) < confidence(&broken, 0, (20, 20)));
    let mut unknown = error(ErrorCategory::Validation, "UNKNOWN_TOOL", false);
    let lost = confidence(&unknown, 0, (0, 0));
    // A list without a name names nothing.
    unknown.details.insert("nearest".to_owned(), json!([]));
    assert!((lost - confidence(&unknown, 0, (0, 0))).abs() < f64::EPSILON);
    unknown
        .details
        .insert("nearest".to_owned(), json!("get-card"));
    assert!(lost < confidence(&unknown, 0, (0, 0)));
}

#[test]
fn what_is_not_told_of_wrong_parameters_makes_the_hints_less_sure() {
    let violations = |told: u64, strange: u64, all: u64| {
        let mut error = error(ErrorCategory::Validation, "INVALID_ARGUMENTS", false);
        let one = json!({ "message": "unknown parameter" });
        let listed = vec![one; usize::try_from(told).unwrap()];
        error.details.insert("violations".to_owned(), json!(listed));
        error
            .details
            .insert("violation_count".to_owned(), json!(all));
        let known = KnownBeside {
            strange,
            ..KnownBeside::default()
        };
        failed_with(&error, None, known).confidence().value()
    };
    assert!((violations(2, 0, 2) - 1.0).abs() < f64::EPSILON);
    assert!(violations(2, 1, 2) < violations(2, 0, 2));
    assert!(violations(2, 0, 200) < violations(2, 0, 2));
}

#[test]
fn a_validity_covers_the_time_it_is_meant_for() {
    for (seconds, expected) in [
        (0, ValidityPeriod::Short),
        (300, ValidityPeriod::Short),
        (301, ValidityPeriod::Medium),
        (3600, ValidityPeriod::Medium),
        (3601, ValidityPeriod::Long),
        (86_400, ValidityPeriod::Long),
        (86_401, ValidityPeriod::Indefinite),
    ] {
        let time = Duration::from_secs(seconds);
        assert_eq!(period_covering(time), expected, "{seconds}");
    }
}
