//! Deprecations of others against the calendar.

use jiff::civil::Date;
use mcpproxy_contract::validate::{DAYS_OF_NOTICE, Findings, date};
use mcpproxy_contract::wire::DEFINITION_KEY;
use mcpproxy_contract::{ContractViolation, Rule};
use serde_json::Value;

/// Violations of a deprecated tool that only the calendar shows: it is offered beyond its removal date, or, where it does
/// not say when it was announced, its removal comes too early after the day it was first seen.
pub fn deprecation(tool: &Value, first_seen: Option<Date>, today: Date) -> Vec<ContractViolation> {
    let deprecated = &tool["_meta"][DEFINITION_KEY]["deprecated"];
    let Some(removal) = date(&deprecated["removalDate"]) else {
        return Vec::new();
    };
    let mut findings = Findings::about(tool["name"].as_str().unwrap_or_default());
    findings.expect(today < removal, Rule::RemovalKept, still_offered(removal));
    if let (None, Some(seen)) = (date(&deprecated["announced"]), first_seen) {
        let days = seen.until(removal).map_or(0, |span| span.get_days());
        let early = format!(
            "a deprecated tool is removed {DAYS_OF_NOTICE} days after the announcement or later; it was first seen as deprecated on {seen}, {days} days before its removalDate {removal}"
        );
        findings.expect(days >= DAYS_OF_NOTICE, Rule::DeprecationNotice, early);
    }
    findings.into_found()
}

/// Words for a tool that is offered beyond its removal date.
pub fn still_offered(removal: Date) -> String {
    format!("it was to be removed on {removal} and is still offered")
}

/// Whether a tool says that it is deprecated.
pub fn is_deprecated(tool: &Value) -> bool {
    tool["_meta"][DEFINITION_KEY]["deprecated"].is_object()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dep_3_a_removal_without_notice_or_in_the_past_was_no_finding() {
        let day = |text: &str| text.parse::<Date>().unwrap();
        let broken = |deprecated: Value, seen: Option<&str>, today: &str| {
            let tool = json!({ "name": "get-old", "_meta": { DEFINITION_KEY: { "deprecated": deprecated } } });
            let found = deprecation(&tool, seen.map(day), day(today));
            found.into_iter().map(|one| one.rule).collect::<Vec<_>>()
        };
        let to = |removal: &str| json!({ "replacement": "get-card", "removalDate": removal });
        let today = "2026-06-01";
        assert_eq!(broken(to("2026-05-31"), None, today), [Rule::RemovalKept]);
        assert_eq!(broken(to("2026-06-01"), None, today), [Rule::RemovalKept]);
        assert_eq!(broken(to("2026-06-02"), None, today), []);
        assert_eq!(broken(to("2026-08-30"), Some(today), today), []);
        assert_eq!(
            broken(to("2026-08-29"), Some(today), today),
            [Rule::DeprecationNotice]
        );
        // Its own word counts before the day it was seen.
        let mut announced = to("2026-08-29");
        announced["announced"] = json!("2026-01-01");
        assert_eq!(broken(announced, Some(today), today), []);
        assert_eq!(broken(Value::Null, Some(today), today), []);
        assert_eq!(broken(json!({}), Some(today), today), []);
    }
}
