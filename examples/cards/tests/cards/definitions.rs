use std::collections::BTreeSet;

use mcpproxy_cards::Store;
use mcpproxy_contract::{CategoryName, Grants, ToolContext, wire};
use serde_json::Value;

use super::service;

#[test]
fn every_tool_keeps_the_contract_and_all_four_categories_are_there() {
    let service = service();
    let registry = service.registry();
    assert!(registry.get_all().count() >= 10);
    for category in [
        CategoryName::Query,
        CategoryName::Mutation,
        CategoryName::Analysis,
        CategoryName::Generation,
    ] {
        assert!(
            registry.get_by_category(category).count() >= 2,
            "{category:?}"
        );
    }
    assert!(registry.get_by_tag("scheduling").count() >= 2);
}

/// Each example on a store that was made when the examples say, so that every word of them is true.
#[tokio::test]
async fn every_example_tells_exactly_what_the_tool_answers() {
    let moment = "2026-11-17T09:30:00Z".parse().unwrap();
    let definitions: Vec<_> = service()
        .registry()
        .get_all()
        .map(|tool| tool.definition().clone())
        .collect();
    for definition in definitions {
        for example in &definition.examples {
            let store = Store::in_memory_at(moment).unwrap();
            let service = mcpproxy_cards::service(store).unwrap();
            let mut context = ToolContext::new("tests", "1.0.0", Grants::Everything);
            context.timestamp = moment;
            let result = service
                .call(&definition.name, example.params.clone(), &context)
                .await;
            let data = result.data().unwrap_or(&Value::Null);
            assert_eq!(data, &example.expected_result, "{}", definition.name);
        }
    }
}

#[test]
fn the_effect_of_each_tool_is_published_as_annotations() {
    let service = service();
    let annotations = |name: &str| {
        let tool = wire::tool(service.registry().get(name).unwrap());
        tool["annotations"].clone()
    };
    assert_eq!(annotations("get-card")["readOnlyHint"], true);
    assert_eq!(annotations("generate-quiz")["readOnlyHint"], true);
    assert_eq!(annotations("review-card")["destructiveHint"], false);
    assert_eq!(annotations("review-card")["idempotentHint"], false);
    assert_eq!(annotations("adjust-difficulty")["idempotentHint"], true);
    assert_eq!(annotations("delete-card")["destructiveHint"], true);
}

#[test]
fn parameters_are_named_in_camel_case_and_publish_their_limits() {
    let service = service();
    let schema = |name: &str| service.registry().get(name).unwrap().input_schema().clone();
    let review = schema("review-card");
    assert_eq!(review["required"], serde_json::json!(["cardId", "grade"]));
    assert_eq!(review["properties"]["grade"]["maximum"], 4);
    let create = &schema("create-card")["properties"];
    assert_eq!(create["front"]["maxLength"], 2000);
    assert_eq!(create["tags"]["maxItems"], 10);
    assert_eq!(create["tags"]["items"]["maxLength"], 40);
    let search = schema("search-cards");
    let keys = search["properties"]["sortBy"]["enum"].as_array().unwrap();
    assert!(keys.contains(&Value::from("dueAt")), "{keys:?}");
}

/// The table of the README, one row after the other: name, category, permissions, response time,
/// caching.
#[test]
fn the_readme_describes_the_tools_as_they_are() {
    let readme = include_str!("../../README.md");
    let written: BTreeSet<String> = readme
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            cells[1..6].join(" | ")
        })
        .collect();
    let service = service();
    let registered: BTreeSet<String> = service
        .registry()
        .get_all()
        .map(|tool| {
            let definition = serde_json::to_value(tool.definition()).unwrap();
            let word = |name: &str| definition[name].as_str().unwrap().to_owned();
            let permissions: Vec<String> = definition["permissions"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| format!("`{}`", one.as_str().unwrap()))
                .collect();
            let kept = match definition["cacheTTL"].as_u64() {
                Some(seconds) => format!("{seconds} s"),
                None => "no".to_owned(),
            };
            [
                format!("`{}`", word("name")),
                word("category"),
                permissions.join(", "),
                word("responseTime"),
                kept,
            ]
            .join(" | ")
        })
        .collect();
    assert_eq!(written, registered);
}
