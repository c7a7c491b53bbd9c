//! Every rule of a definition, broken one at a time.

use serde_json::{Value, json};

use super::Findings;
use crate::{ContractViolation, Rule};

/// A definition that keeps every rule.
fn good() -> Value {
    json!({
        "name": "get-card",
        "description": "Reads one card. Use when you know its id. Returns the card. For example: show a card.",
        "version": "1.0.0",
        "permissions": ["cards:read"],
        "category": "query",
        "responseTime": "fast",
        "cacheable": true,
        "cacheTTL": 60,
        "idempotent": true,
        "examples": [{ "description": "One card", "params": {}, "expectedResult": {} }],
        "tags": ["cards"],
    })
}

fn schema(properties: &Value) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn definition(definition: &Value, input_schema: &Value) -> Vec<ContractViolation> {
    let mut findings = Findings::about("");
    super::definition(definition, input_schema, &mut findings);
    findings.into_found()
}

fn broken(changed: &Value, input_schema: &Value) -> Vec<Rule> {
    let mut all = good();
    for (name, value) in changed.as_object().expect("an object") {
        all[name] = value.clone();
    }
    let found = definition(&all, input_schema);
    found.into_iter().map(|violation| violation.rule).collect()
}

#[test]
fn each_rule_is_found_broken_and_no_other() {
    let no_parameters = schema(&json!({}));
    assert_eq!(broken(&json!({}), &no_parameters), []);
    let day = json!({ "rateLimit": { "maxCalls": 1, "windowMs": 86_400_000 } });
    assert_eq!(broken(&day, &no_parameters), []);
    for (changed, expected) in [
        (json!({ "name": "getCard" }), Rule::NameForm),
        (json!({ "name": "card" }), Rule::NameForm),
        (json!({ "name": "get_card" }), Rule::NameForm),
        (json!({ "name": "get--card" }), Rule::NameForm),
        (json!({ "name": "get-card-" }), Rule::NameForm),
        (json!({ "name": "2-cards" }), Rule::NameForm),
        (json!({ "name": null }), Rule::NameForm),
        (
            json!({ "rateLimit": { "maxCalls": 1, "windowMs": 86_400_001 } }),
            Rule::RateLimitForm,
        ),
        (
            json!({ "rateLimit": { "maxCalls": 1e12, "windowMs": 1 } }),
            Rule::RateLimitForm,
        ),
        (
            json!({ "rateLimit": { "maxCalls": 1 } }),
            Rule::RateLimitForm,
        ),
        (
            json!({ "description": "Use when short. Returns it. Example." }),
            Rule::DescriptionLength,
        ),
        (
            json!({ "description": "Reads one card, whatever the reason may be. Returns the card. For example: show it." }),
            Rule::DescriptionParts,
        ),
        (
            json!({ "description": "Reads one card. Use when you know its id and nothing else. For example: show it." }),
            Rule::DescriptionParts,
        ),
        (
            json!({ "description": "Reads one card. Use when you know its id and nothing else. Returns the card." }),
            Rule::DescriptionParts,
        ),
        (json!({ "version": "1.0" }), Rule::VersionForm),
        (json!({ "version": 1 }), Rule::VersionForm),
        (json!({ "permissions": ["cards"] }), Rule::PermissionForm),
        (
            json!({ "permissions": ["Cards:Read"] }),
            Rule::PermissionForm,
        ),
        (json!({ "permissions": null }), Rule::PermissionForm),
        (json!({ "category": "reading" }), Rule::CategoryKnown),
        (json!({ "responseTime": "soon" }), Rule::ResponseTimeKnown),
        (json!({ "category": "mutation" }), Rule::CacheableFits),
        (json!({ "cacheable": "yes" }), Rule::CacheableFits),
        (json!({ "cacheTTL": 0 }), Rule::CacheTtl),
        (json!({ "cacheTTL": null }), Rule::CacheTtl),
        (json!({ "idempotent": false }), Rule::IdempotentFits),
        (json!({ "idempotent": null }), Rule::IdempotentFits),
        (json!({ "examples": [] }), Rule::ExampleHolds),
        (
            json!({ "examples": [{ "description": " ", "params": {}, "expectedResult": {} }] }),
            Rule::ExampleHolds,
        ),
        (
            json!({ "examples": [{ "description": "x", "params": {} }] }),
            Rule::ExampleHolds,
        ),
        (json!({ "tags": [] }), Rule::TagPresent),
        (json!({ "tags": [""] }), Rule::TagPresent),
        (
            json!({ "deprecated": { "since": "1.0.0", "removalDate": "2027-12-01" } }),
            Rule::DeprecationReplacement,
        ),
        (
            json!({ "deprecated": { "replacement": "get-card", "removalDate": "2027-12-01" } }),
            Rule::DeprecationReplacement,
        ),
        (
            json!({ "deprecated": { "replacement": "read-card" } }),
            Rule::DeprecationNotice,
        ),
        (
            json!({ "deprecated": { "replacement": "read-card", "announced": "2026-11-01", "removalDate": "2027-01-29" } }),
            Rule::DeprecationNotice,
        ),
    ] {
        assert_eq!(broken(&changed, &no_parameters), [expected], "{changed}");
    }
}

#[test]
fn ninety_days_of_notice_are_enough() {
    let deprecated = json!({ "deprecated": { "replacement": "read-card", "announced": "2026-11-01", "removalDate": "2027-01-30" } });
    assert_eq!(broken(&deprecated, &schema(&json!({}))), []);
}

#[test]
fn all_violations_are_told_at_once() {
    let changed = json!({ "name": "Card", "tags": [], "examples": [], "permissions": ["all"] });
    assert_eq!(
        broken(&changed, &json!({ "type": "object" })),
        [
            Rule::NameForm,
            Rule::PermissionForm,
            Rule::ExampleHolds,
            Rule::TagPresent,
            Rule::ParametersChecked
        ]
    );
}

#[test]
fn parameters_are_documented_bounded_and_branded() {
    let described = |rest: Value| {
        let mut all = json!({ "description": "What it is." });
        for (name, value) in rest.as_object().expect("an object") {
            all[name] = value.clone();
        }
        all
    };
    for (name, property, expected) in [
        (
            "text",
            described(json!({ "type": "string", "maxLength": 10 })),
            vec![],
        ),
        (
            "text",
            json!({ "type": "string", "maxLength": 10 }),
            vec![Rule::ParameterDocumented],
        ),
        (
            "text",
            described(json!({ "type": "string" })),
            vec![Rule::ParameterBounded],
        ),
        (
            "text",
            described(json!({ "type": ["string", "null"] })),
            vec![Rule::ParameterBounded],
        ),
        ("text", described(json!({ "enum": ["a", "b"] })), vec![]),
        (
            "count",
            described(json!({ "type": "number" })),
            vec![Rule::ParameterBounded],
        ),
        (
            "count",
            described(json!({ "type": "integer", "format": "uint32", "minimum": 0 })),
            vec![],
        ),
        (
            "list",
            described(json!({ "type": "array", "items": { "type": "string" } })),
            vec![Rule::ParameterBounded],
        ),
        (
            "list",
            described(json!({ "type": "array", "maxItems": 3 })),
            vec![],
        ),
        ("all", described(json!({ "type": "boolean" })), vec![]),
        ("any", described(json!({})), vec![Rule::ParameterBounded]),
        (
            "choice",
            described(json!({ "anyOf": [{ "const": 1 }, { "type": "null" }] })),
            vec![],
        ),
        (
            "cardId",
            described(json!({ "type": "string", "maxLength": 10 })),
            vec![Rule::IdBranded],
        ),
        (
            "cardId",
            described(json!({ "type": "string", "pattern": "^card_" })),
            vec![],
        ),
        (
            "deck_id",
            described(
                json!({ "anyOf": [{ "type": "string", "pattern": "^deck_" }, { "type": "null" }] }),
            ),
            vec![],
        ),
    ] {
        let found = broken(&json!({}), &schema(&json!({ name: property })));
        assert_eq!(found, expected, "{name}: {property}");
    }
}

#[test]
fn any_document_is_judged_without_a_panic() {
    for odd in [
        json!(null),
        json!([]),
        json!("x"),
        json!({ "name": 7, "examples": 1, "deprecated": "yes" }),
    ] {
        assert!(!definition(&odd, &odd).is_empty(), "{odd}");
    }
}
