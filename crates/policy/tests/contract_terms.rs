//! Terms of contract tools: what is announced, and what it means for a caller and on a day.

use std::sync::Arc;
use std::time::Duration;

use jiff::civil::{Date, date};
use mcpproxy_policy::{
    AgentToken, AnnouncedLimit, AnonymousRole, ContractTerms, Rights, TokenGrant,
};
use serde_json::{Value, json};

fn token(permissions: &[&str]) -> Rights {
    Rights::Token(Arc::new(AgentToken {
        id: "1".into(),
        name: "one".into(),
        grant: TokenGrant {
            permissions: permissions.iter().map(ToString::to_string).collect(),
            ..TokenGrant::default()
        },
    }))
}

#[test]
fn pre_3_a_caller_needs_every_permission_that_is_announced() {
    let terms = ContractTerms::of(&json!({ "permissions": ["cards:read", "cards:delete"] }));
    let table: [(Rights, &[&str]); 5] = [
        (Rights::Administrator, &[]),
        (Rights::Anonymous(AnonymousRole::Full), &[]),
        (Rights::Anonymous(AnonymousRole::Read), &["cards:delete"]),
        (token(&["cards:delete"]), &["cards:read"]),
        (token(&[]), &["cards:read", "cards:delete"]),
    ];
    for (rights, missing) in table {
        assert_eq!(terms.missing_permissions(&rights), missing, "{rights:?}");
    }
}

#[test]
fn a_result_is_cached_for_as_long_as_announced_and_that_of_a_mutation_never() {
    let table = [
        (json!({ "cacheable": true, "cacheTTL": 60 }), Some(60)),
        (
            json!({ "cacheable": true, "cacheTTL": 1e300 }),
            Some(86_400),
        ),
        (
            json!({ "cacheable": true, "cacheTTL": 90_000 }),
            Some(86_400),
        ),
        (
            json!({ "cacheable": true, "cacheTTL": 60, "category": "mutation" }),
            None,
        ),
        (json!({ "cacheable": false, "cacheTTL": 60 }), None),
        (json!({ "cacheTTL": 60 }), None),
        (json!({ "cacheable": true, "cacheTTL": 0 }), None),
        (json!({ "cacheable": true, "cacheTTL": -1 }), None),
        (json!({ "cacheable": true, "cacheTTL": "60" }), None),
        (json!({ "cacheable": true }), None),
    ];
    for (definition, expected) in table {
        let ttl = ContractTerms::of(&definition).cache_ttl;
        assert_eq!(ttl, expected.map(Duration::from_secs), "{definition}");
    }
}

#[test]
fn a_limit_is_a_number_of_calls_in_a_time() {
    let limit = |max_calls, milliseconds| {
        let window = Duration::from_millis(milliseconds);
        Some(AnnouncedLimit { max_calls, window })
    };
    let table = [
        (json!({ "maxCalls": 2, "windowMs": 500 }), limit(2, 500)),
        (
            json!({ "maxCalls": u64::MAX, "windowMs": 1 }),
            limit(u32::MAX, 1),
        ),
        (
            json!({ "maxCalls": 2.0, "windowMs": 60e3 }),
            limit(2, 60_000),
        ),
        // Nobody is shut out for longer than a day.
        (
            json!({ "maxCalls": 1, "windowMs": 86_400_001 }),
            limit(1, 86_400_000),
        ),
        (
            json!({ "maxCalls": 1, "windowMs": 1e300 }),
            limit(1, 86_400_000),
        ),
        (json!({ "maxCalls": 0, "windowMs": 1 }), None),
        (json!({ "maxCalls": 1, "windowMs": 0 }), None),
        (json!({ "maxCalls": -1, "windowMs": 1 }), None),
        (json!({ "maxCalls": 1 }), None),
        (json!("often"), None),
    ];
    for (announced, expected) in table {
        let terms = ContractTerms::of(&json!({ "rateLimit": announced }));
        assert_eq!(terms.rate_limit, expected, "{announced}");
    }
}

#[test]
fn dep_6_a_tool_is_gone_from_its_removal_date_on() {
    let removed = |deprecated: Value, today: Date| {
        ContractTerms::of(&json!({ "deprecated": deprecated })).is_removed(today)
    };
    let on = |date: &str| json!({ "replacement": "get-card", "removalDate": date });
    let day = date(2026, 3, 1);
    for (deprecated, expected) in [
        (on("2026-02-28"), true),
        (on("2026-03-01"), true),
        (on("2026-03-01T23:59:59Z"), true),
        (on("2026-03-02"), false),
        (on("soon"), false),
        (on("2026-13-01"), false),
        (on(""), false),
        (json!({ "replacement": "get-card" }), false),
        (json!(null), false),
        (json!(true), false),
    ] {
        assert_eq!(removed(deprecated.clone(), day), expected, "{deprecated}");
    }
}

#[test]
fn a_deprecation_is_told_with_what_is_known_of_it() {
    let told = |deprecated: Value| {
        let terms = ContractTerms::of(&json!({ "deprecated": deprecated }));
        let warning = terms.deprecation?.warning("cards", "find-cards");
        Some((warning.code, warning.message))
    };
    let expected = |rest: &str| {
        let message = format!("Tool 'cards:find-cards' is deprecated{rest}");
        Some(("DEPRECATED_TOOL", message))
    };
    for (deprecated, rest) in [
        (
            json!({ "replacement": "search-cards", "removalDate": "2027-01-31" }),
            " and will be removed on 2027-01-31, use cards:search-cards",
        ),
        (
            json!({ "replacement": "decks:search-cards" }),
            ", use decks:search-cards",
        ),
        (json!({ "replacement": "a\nb" }), ""),
        (json!({ "replacement": "x".repeat(201) }), ""),
        (json!({}), ""),
    ] {
        assert_eq!(told(deprecated.clone()), expected(rest), "{deprecated}");
    }
    assert_eq!(told(json!(null)), None);
}

#[test]
fn what_is_malformed_announces_nothing() {
    for definition in [
        json!(null),
        json!([]),
        json!("x"),
        json!({ "permissions": "cards:read", "version": 1, "rateLimit": [], "deprecated": [] }),
    ] {
        assert_eq!(ContractTerms::of(&definition), ContractTerms::default());
    }
}
