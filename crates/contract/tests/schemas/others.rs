//! Sorting, ranges of time and metadata.

use std::ops::RangeBounds;

use jiff::Timestamp;
use mcpproxy_contract::schemas::{CommonMetadata, DateRange, SortOrder, Sorting, UserId};
use serde_json::json;

use super::{CardKey, ListCards, accept, check, refused, schema_of};

#[test]
fn lists_are_sorted_by_the_keys_of_the_tool_only() {
    for (params, accepted) in [
        (json!({}), true),
        (json!({"sortBy": "title"}), true),
        (json!({"sortBy": "dueAt", "sortOrder": "desc"}), true),
        (json!({"sortBy": "due_at"}), false),
        (json!({"sortBy": null}), false),
        (json!({"sortOrder": "DESC"}), false),
    ] {
        check::<Sorting<CardKey>>(&params, accepted);
        check::<ListCards>(&params, accepted);
    }
    let wrong = json!({"sortBy": "colour"});
    refused::<Sorting<CardKey>>(&wrong, &["sortBy", "`colour`", "`title`", "`dueAt`"]);
    refused::<ListCards>(&wrong, &["sortBy", "`colour`", "`title`", "`dueAt`"]);
    refused::<ListCards>(
        &json!({"sortOrder": "up"}),
        &["sortOrder", "`up`", "`asc`", "`desc`"],
    );
}

#[test]
fn without_a_wish_the_default_order_holds_and_is_published() {
    let sorting: Sorting<CardKey> = accept(&json!({})).unwrap();
    assert_eq!(
        (sorting.sort_by, sorting.sort_order),
        (CardKey::Title, SortOrder::Asc)
    );
    let properties = schema_of::<Sorting<CardKey>>()["properties"].clone();
    assert_eq!(properties["sortBy"]["default"], "title");
    assert_eq!(properties["sortOrder"]["default"], "asc");
    assert_eq!(properties["sortOrder"]["enum"], json!(["asc", "desc"]));
}

#[test]
fn a_range_takes_timestamps() {
    for (params, accepted) in [
        (json!({}), true),
        (json!({"from": "2026-01-01T00:00:00Z"}), true),
        (json!({"to": "2026-01-01T00:00:00.5+02:00"}), true),
        (
            json!({"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}),
            true,
        ),
        (json!({"from": null, "to": null}), true),
        (json!({"from": "2026-01-01"}), false),
        (json!({"from": "yesterday"}), false),
        (json!({"to": "2026-02-30T00:00:00Z"}), false),
        (json!({"to": 1_700_000_000}), false),
    ] {
        check::<DateRange>(&params, accepted);
        check::<ListCards>(&params, accepted);
    }
    refused::<ListCards>(&json!({"to": "tomorrow"}), &["to: "]);
}

#[test]
fn a_range_that_ends_before_it_begins_is_refused() {
    let reversed = json!({"from": "2026-02-01T00:00:00Z", "to": "2026-02-01T00:30:00+01:00"});
    for message in [
        accept::<DateRange>(&reversed).unwrap_err(),
        accept::<ListCards>(&reversed).unwrap_err(),
    ] {
        assert!(
            message.contains("from (2026-02-01T00:00:00Z) is after to"),
            "{message}"
        );
    }
}

#[test]
fn a_range_holds_its_beginning_and_not_its_end() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let range = DateRange {
        from: Some(at(10)),
        to: Some(at(20)),
    };
    for (second, inside) in [(9, false), (10, true), (19, true), (20, false)] {
        assert_eq!(range.contains(&at(second)), inside, "{second}");
    }
    assert!(DateRange::default().contains(&at(0)));
}

#[test]
fn metadata_follows_an_entity_from_its_creation_on() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let created = CommonMetadata {
        created_at: at(0),
        updated_at: at(0),
        created_by: Some(UserId::numbered(1)),
        updated_by: Some(UserId::numbered(1)),
        version: 1,
    };
    let changed = created.changed(at(60), None);
    let wire = serde_json::to_value(&changed).unwrap();
    let expected = json!({
        "createdAt": "1970-01-01T00:00:00Z",
        "updatedAt": "1970-01-01T00:01:00Z",
        "createdBy": "user_1",
        "version": 2,
    });
    assert_eq!(wire, expected);
    let schema = schema_of::<CommonMetadata>();
    assert!(jsonschema::is_valid(&schema, &wire), "{schema}");
    assert_eq!(
        serde_json::from_value::<CommonMetadata>(wire).unwrap(),
        changed
    );
}
