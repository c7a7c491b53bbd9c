//! How sure the hints for a failure are, and how long they hold.

use serde_json::{Map, Value, json};

use super::*;

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
