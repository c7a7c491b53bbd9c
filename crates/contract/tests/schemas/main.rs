//! The common schemas, as an author in another crate meets them: what they publish is what they
//! enforce, alone and flattened into the parameters of a tool.

mod cursors;
mod ids;
mod others;
mod pages;

use garde::Validate;
use mcpproxy_contract::schemas::{DateRange, Pagination, Sorting};
use mcpproxy_contract::{Params, branded_id};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The most characters of a cursor, as published.
const LONGEST_CURSOR: usize = 512;

branded_id!(
    /// The card to
    /// look at.
    pub CardId, "card"
);

branded_id!(
    /// A deck.
    DeckId, "study_deck"
);

/// What cards are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum CardKey {
    #[default]
    Title,
    DueAt,
}

/// All at once, as a tool that lists cards would have it.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
struct ListCards {
    /// The deck to list.
    #[garde(dive)]
    deck_id: Option<DeckId>,
    /// Only these cards.
    #[serde(default)]
    #[garde(length(max = 3), dive)]
    card_ids: Vec<CardId>,
    #[serde(flatten)]
    #[garde(dive)]
    pagination: Pagination,
    #[serde(flatten)]
    #[garde(dive)]
    sorting: Sorting<CardKey>,
    #[serde(flatten)]
    #[garde(dive)]
    due: DateRange,
}

fn schema_of<T: JsonSchema>() -> Value {
    schemars::schema_for!(T).to_value()
}

/// Reads and checks as the pipeline does; the message names everything that is wrong.
fn accept<P: Params>(params: &Value) -> Result<P, String> {
    let params: P = serde_json::from_value(params.clone()).map_err(|error| error.to_string())?;
    match params.validate() {
        Ok(()) => Ok(params),
        Err(report) => Err(report.to_string()),
    }
}

/// What is published and what is enforced say the same of these parameters.
#[track_caller]
fn check<P: Params>(params: &Value, accepted: bool) {
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&schema_of::<P>())
        .expect("schemars writes valid schemas");
    assert_eq!(validator.is_valid(params), accepted, "published: {params}");
    let enforced = accept::<P>(params).map(|_| ());
    assert_eq!(
        enforced.is_ok(),
        accepted,
        "enforced: {params}: {enforced:?}"
    );
}

#[track_caller]
fn refused<P: Params + std::fmt::Debug>(params: &Value, parts: &[&str]) {
    let message = accept::<P>(params).expect_err("the parameters are wrong");
    for part in parts {
        assert!(
            message.contains(part),
            "{params}: '{part}' is not in: {message}"
        );
    }
}

#[test]
fn flattened_parts_give_one_flat_schema_with_every_property_described() {
    let schema = schema_of::<ListCards>();
    let properties = schema["properties"].as_object().unwrap();
    let mut names: Vec<&str> = properties.keys().map(String::as_str).collect();
    names.sort_unstable();
    let expected = [
        "cardIds",
        "cursor",
        "deckId",
        "from",
        "limit",
        "offset",
        "sortBy",
        "sortOrder",
        "to",
    ];
    assert_eq!(names, expected);
    for (name, property) in properties {
        let description = property["description"].as_str().unwrap_or_default();
        assert!(
            description.len() > 10,
            "{name} is not described: {property}"
        );
    }
    for combination in ["allOf", "anyOf", "oneOf", "not", "required"] {
        assert!(schema.get(combination).is_none(), "{schema}");
    }
    assert_eq!(properties["limit"]["minimum"], 1);
    assert_eq!(properties["limit"]["maximum"], 100);
    assert_eq!(properties["cursor"]["maxLength"], LONGEST_CURSOR);
    assert_eq!(properties["from"]["format"], "date-time");
}

#[test]
fn flattened_parts_are_read_and_written_flat() {
    let params = json!({
        "deckId": "study_deck_1",
        "cardIds": ["card_1"],
        "limit": 20,
        "offset": 40,
        "sortBy": "dueAt",
        "sortOrder": "desc",
        "from": "2026-01-01T00:00:00Z",
    });
    let read: ListCards = accept(&params).unwrap();
    assert_eq!(
        (read.pagination.limit, read.pagination.offset),
        (20, Some(40))
    );
    assert_eq!(read.sorting.sort_by, CardKey::DueAt);
    assert_eq!(serde_json::to_value(&read).unwrap(), params);
    let from_text: ListCards = serde_json::from_str(&params.to_string()).unwrap();
    assert_eq!(from_text, read);
}

/// What is wrong in a flattened part names the field: serde alone would not.
#[test]
fn a_refusal_in_a_flattened_part_names_its_field() {
    refused::<ListCards>(&json!({"limit": "many"}), &["limit: ", "many"]);
    refused::<ListCards>(&json!({"offset": -1}), &["offset: "]);
    refused::<ListCards>(&json!({"cursor": 7}), &["cursor: "]);
    refused::<ListCards>(&json!({"limit": 0}), &["limit", "lower than 1"]);
    refused::<ListCards>(&json!({"limit": 1000}), &["limit", "greater than 100"]);
}

#[test]
fn every_violation_is_told_at_once() {
    let params = json!({"limit": 0, "offset": 1, "cursor": "x", "cardIds": [
        "card_1", "card_2", "card_3", "card_4",
    ]});
    refused::<ListCards>(&params, &["limit", "offset and cursor", "card_ids"]);
}
