use serde_json::{Value, json};

use super::{expect_rule, good_tool, with};
use crate::{announces, definition, tools};
use mcpproxy_contract::Rule;

const DEFINITION: &str = "/_meta/dev.mcpproxy~1definition";

fn broken(place: &str, value: Option<Value>) -> Value {
    with(good_tool(), &place.replace('@', DEFINITION), value)
}

#[test]
fn a_good_tool_has_nothing_wrong_with_it() {
    assert_eq!(definition(&good_tool()), []);
    assert!(announces(&good_tool()));
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is one table")]
fn every_rule_of_a_definition_is_checked() {
    let long_without_parts = "word ".repeat(20);
    let table: Vec<(&str, Option<Value>, Rule, &str)> = vec![
        ("@/version", Some(json!("1.0")), Rule::VersionForm, "1.0"),
        ("@/permissions", None, Rule::PermissionForm, "list"),
        (
            "@/permissions",
            Some(json!(["read"])),
            Rule::PermissionForm,
            "'read'",
        ),
        (
            "@/category",
            Some(json!("odd")),
            Rule::CategoryKnown,
            "'odd'",
        ),
        (
            "@/responseTime",
            None,
            Rule::ResponseTimeKnown,
            "responseTime",
        ),
        ("@/cacheable", None, Rule::CacheableFits, "true or false"),
        ("@/cacheTTL", None, Rule::CacheTtl, "cacheTTL"),
        (
            "@/cacheTTL",
            Some(json!(0)),
            Rule::CacheTtl,
            "more than zero",
        ),
        (
            "@/idempotent",
            Some(json!(false)),
            Rule::IdempotentFits,
            "idempotent",
        ),
        (
            "@/examples",
            Some(json!([])),
            Rule::ExampleHolds,
            "at least one",
        ),
        (
            "@/examples/0/params",
            Some(json!({ "cardId": "deck_1" })),
            Rule::ExampleHolds,
            "/cardId",
        ),
        (
            "@/examples/0/params",
            Some(json!({})),
            Rule::ExampleHolds,
            "'cardId' is missing",
        ),
        (
            "@/examples/0/params",
            Some(json!({ "cardId": "card_1", "card": 1 })),
            Rule::ExampleHolds,
            "card",
        ),
        (
            "@/examples/0/expectedResult",
            None,
            Rule::ExampleHolds,
            "expectedResult",
        ),
        ("@/tags", Some(json!([])), Rule::TagPresent, "tag"),
        (
            "@/name",
            Some(json!("read-card")),
            Rule::DefinitionAgrees,
            "name",
        ),
        (
            "/description",
            Some(json!("Another text")),
            Rule::DefinitionAgrees,
            "description",
        ),
        (
            "/annotations",
            None,
            Rule::AnnotationsFit,
            "readOnlyHint: true",
        ),
        (
            "/annotations/readOnlyHint",
            Some(json!(false)),
            Rule::AnnotationsFit,
            "query",
        ),
        (
            "/annotations/destructiveHint",
            Some(json!(true)),
            Rule::AnnotationsFit,
            "destructiveHint",
        ),
        (
            "@/deprecated",
            Some(
                json!({ "since": "1.0.0", "replacement": "get-card", "removalDate": "2027-01-01" }),
            ),
            Rule::DeprecationReplacement,
            "another tool",
        ),
        (
            "@/deprecated",
            Some(json!({ "since": "1.0.0", "replacement": "read-card" })),
            Rule::DeprecationNotice,
            "removalDate",
        ),
        (
            "@/deprecated",
            Some(
                json!({ "since": "1.0.0", "replacement": "read-card", "announced": "2026-01-01", "removalDate": "2026-02-01" }),
            ),
            Rule::DeprecationNotice,
            "31",
        ),
        (
            "/inputSchema/additionalProperties",
            None,
            Rule::ParametersChecked,
            "additionalProperties",
        ),
        (
            "/inputSchema/properties/side/description",
            None,
            Rule::ParameterDocumented,
            "'side'",
        ),
        (
            "/inputSchema/properties/text",
            Some(json!({ "type": "string", "description": "Any" })),
            Rule::ParameterBounded,
            "'text'",
        ),
        (
            "/inputSchema/properties/cardId",
            Some(json!({ "type": "string", "maxLength": 9, "description": "The id" })),
            Rule::IdBranded,
            "'cardId'",
        ),
    ];
    for (place, value, rule, part) in table {
        expect_rule(&definition(&broken(place, value)), rule, part);
    }
    for (text, rule) in [
        (
            "Use when short; returns such as x.",
            Rule::DescriptionLength,
        ),
        (long_without_parts.as_str(), Rule::DescriptionParts),
    ] {
        let tool = with(
            broken("@/description", Some(json!(text))),
            "/description",
            Some(json!(text)),
        );
        expect_rule(&definition(&tool), rule, "description");
    }
    let renamed = with(
        broken("@/name", Some(json!("getCard"))),
        "/name",
        Some(json!("getCard")),
    );
    expect_rule(&definition(&renamed), Rule::NameForm, "'getCard'");
}

#[test]
fn a_mutation_is_neither_cached_nor_called_read_only() {
    let mutation = broken("@/category", Some(json!("mutation")));
    let found = definition(&mutation);
    let rules: Vec<Rule> = found.iter().map(|one| one.rule).collect();
    assert_eq!(
        rules,
        [Rule::AnnotationsFit, Rule::CacheableFits],
        "{found:?}"
    );
    let fitting = with(
        with(mutation, "/annotations/readOnlyHint", Some(json!(false))),
        &format!("{DEFINITION}/cacheable"),
        Some(json!(false)),
    );
    assert_eq!(definition(&fitting), []);
}

#[test]
fn a_tool_without_a_definition_is_told_so_and_what_can_be_seen_of_it() {
    let silent = with(good_tool(), "/_meta", None);
    expect_rule(
        &definition(&silent),
        Rule::Announced,
        "does not announce the contract",
    );
    assert!(!announces(&silent));
    let unclear = with(silent, "/description", Some(json!("Reads.")));
    let rules: Vec<Rule> = definition(&unclear).iter().map(|one| one.rule).collect();
    assert_eq!(rules[..2], [Rule::Announced, Rule::DescriptionLength]);
    let no_object = broken("/_meta/dev.mcpproxy~1definition", Some(json!("yes")));
    assert_eq!(definition(&no_object)[0].rule, Rule::Announced);
}

#[test]
fn names_are_unique_and_replacements_exist_among_all_tools() {
    let deprecated = broken(
        "@/deprecated",
        Some(json!({ "since": "1.0.0", "replacement": "read-card", "removalDate": "2027-01-01" })),
    );
    let found = tools(std::slice::from_ref(&deprecated));
    expect_rule(&found, Rule::DeprecationReplacement, "'read-card'");
    let mut replacement = with(good_tool(), "/name", Some(json!("read-card")));
    replacement["_meta"]["dev.mcpproxy/definition"]["name"] = json!("read-card");
    assert_eq!(tools(&[deprecated, replacement]), []);
    expect_rule(
        &tools(&[good_tool(), good_tool()]),
        Rule::NameUnique,
        "'get-card'",
    );
}

#[test]
fn schemas_that_cannot_be_used_are_violations_and_fetch_nothing() {
    let schema = |property: Value| broken("/inputSchema/properties/side", Some(property));
    let described = |mut property: Value| {
        property["description"] = json!("Described");
        property
    };
    for (property, part) in [
        (
            json!({ "$ref": "https://example.com/side.json" }),
            "example.com",
        ),
        (
            json!({ "$ref": "file:///etc/passwd" }),
            "only parts of the schema itself",
        ),
        (json!({ "$ref": "#/$defs/nothing" }), "#/$defs/nothing"),
        (json!({ "type": "strin", "enum": [1] }), "strin"),
        (json!({ "pattern": "(" }), "("),
        (
            json!({ "enum": [1], "$id": "https://example.com/x" }),
            "$id",
        ),
    ] {
        let found = definition(&schema(described(property)));
        expect_rule(&found, Rule::ParametersChecked, part);
    }
}

#[test]
fn a_schema_that_unfolds_without_end_costs_little_whatever_the_examples_are() {
    let mut schema = good_tool()["inputSchema"].clone();
    let mut definitions = serde_json::Map::new();
    for level in 0..60 {
        let next = format!("#/$defs/d{}", level + 1);
        definitions.insert(
            format!("d{level}"),
            json!({ "anyOf": [{ "$ref": next }, { "$ref": next }] }),
        );
    }
    definitions.insert("d60".to_owned(), json!({ "type": "string" }));
    schema["$defs"] = Value::Object(definitions);
    schema["properties"]["side"] = json!({ "$ref": "#/$defs/d0", "description": "A trap" });
    let tool = broken("/inputSchema", Some(schema));
    assert_eq!(definition(&tool), []);
    // There are 2^60 ways to say why it does not match.
    let side = format!("{DEFINITION}/examples/0/params/side");
    let found = definition(&with(tool, &side, Some(json!(7))));
    expect_rule(&found, Rule::ExampleHolds, "it does not match");
}

#[test]
fn a_schema_that_refers_to_itself_is_used() {
    let mut schema = good_tool()["inputSchema"].clone();
    schema["$defs"] =
        json!({ "tree": { "type": "array", "maxItems": 2, "items": { "$ref": "#/$defs/tree" } } });
    schema["properties"]["side"] = json!({ "$ref": "#/$defs/tree", "description": "A tree" });
    let tool = broken("/inputSchema", Some(schema));
    let params = format!("{DEFINITION}/examples/0/params");
    let example = |side: Value| {
        let given = json!({ "cardId": "card_1", "side": side });
        definition(&with(tool.clone(), &params, Some(given)))
    };
    assert_eq!(example(json!([[], [[]]])), []);
    expect_rule(
        &example(json!([[], [7]])),
        Rule::ExampleHolds,
        "/side/1/0: expected array",
    );
}

#[test]
fn whatever_is_listed_gives_violations_and_no_panic() {
    let odd = [
        json!(null),
        json!(7),
        json!("x"),
        json!([]),
        json!({}),
        json!({ "name": 5, "_meta": [] }),
    ];
    let found = tools(&odd);
    for number in 1..=odd.len() {
        let label = format!("tool {number} of the list");
        assert!(
            found
                .iter()
                .any(|one| one.tool == label && one.rule == Rule::Announced),
            "{label}"
        );
    }
    let empty = json!({ "name": "get-card", "_meta": { "dev.mcpproxy/definition": {} } });
    assert!(!tools(&[empty]).is_empty());
}
