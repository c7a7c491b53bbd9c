//! What was sent against the types of a tool.

use garde::Validate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::parse;

#[derive(Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
struct Params {
    /// The text.
    #[garde(length(chars, min = 1, max = 5))]
    card_text: String,
    /// How many.
    #[serde(default)]
    #[garde(range(max = 10))]
    count: u32,
    /// Parts.
    #[serde(default)]
    #[garde(dive, length(max = 2))]
    parts: Vec<Part>,
    #[serde(flatten)]
    #[garde(dive)]
    page: Page,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
struct Part {
    /// The name of the part.
    #[garde(length(chars, max = 3))]
    part_name: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema, Validate)]
struct Page {
    /// The most.
    #[serde(default)]
    #[garde(range(max = 100))]
    limit: u64,
}

/// The violations as `path: message`, or nothing if the arguments hold.
fn wrong(arguments: Value) -> Vec<String> {
    let settings = schemars::generate::SchemaSettings::draft2020_12()
        .for_deserialize()
        .with(|settings| settings.inline_subschemas = true);
    let schema = settings
        .into_generator()
        .into_root_schema_for::<Params>()
        .to_value();
    match parse::<Params>(arguments, &schema) {
        Ok(_) => Vec::new(),
        Err(error) => {
            let error = error.published();
            assert_eq!(error.code, "INVALID_ARGUMENTS");
            assert_eq!(
                error.details["input_schema"], schema,
                "the agent can repair its call"
            );
            let violations = error.details["violations"]
                .as_array()
                .expect("a list")
                .clone();
            violations
                .iter()
                .map(|one| {
                    format!(
                        "{}: {}",
                        one["path"].as_str().unwrap_or("?"),
                        one["message"].as_str().unwrap_or("?")
                    )
                })
                .collect()
        }
    }
}

#[test]
fn good_arguments_pass() {
    assert_eq!(
        wrong(json!({ "cardText": "äöüßé", "count": 10, "limit": 100 })),
        [""; 0]
    );
}

#[test]
fn every_missing_and_unknown_name_is_told_with_the_nearest_one() {
    assert_eq!(
        wrong(json!({ "cardTxt": "x", "limitt": 1 })),
        [
            "/cardText: is required",
            "/cardTxt: unknown parameter, did you mean 'cardText'?",
            "/limitt: unknown parameter, did you mean 'limit'?",
        ]
    );
}

#[test]
fn paths_are_those_of_what_was_sent() {
    let found = wrong(
        json!({ "cardText": "toolong", "count": 11, "limit": 101, "parts": [{ "partName": "ok" }, { "partName": "long" }] }),
    );
    let paths: Vec<&str> = found
        .iter()
        .filter_map(|one| one.split(':').next())
        .collect();
    assert_eq!(
        paths,
        ["/cardText", "/count", "/limit", "/parts/1/partName"],
        "{found:?}"
    );
}

#[test]
fn a_wrong_type_is_told_with_its_place() {
    let found = wrong(json!({ "cardText": "x", "parts": [{ "partName": 1 }] }));
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("/parts/0/partName: invalid type: integer"),
        "{found:?}"
    );
}

#[test]
fn what_is_no_object_is_refused() {
    for odd in [json!(null), json!([1]), json!("text"), json!(1)] {
        assert_eq!(wrong(odd), [": must be an object"]);
    }
}
