//! Parts of lists: how they are asked for and what they say.

use mcpproxy_contract::Data;
use mcpproxy_contract::schemas::{CommonMetadata, Cursor, Page, Pagination};
use serde_json::json;

use super::{CardId, LONGEST_CURSOR, ListCards, accept, check, refused, schema_of};

#[test]
fn pages_have_the_limits_that_are_published() {
    for (params, accepted) in [
        (json!({}), true),
        (json!({"limit": 1}), true),
        (json!({"limit": 100}), true),
        (json!({"limit": 0}), false),
        (json!({"limit": 101}), false),
        (json!({"limit": -1}), false),
        (json!({"limit": 1.5}), false),
        (json!({"limit": "20"}), false),
        (json!({"limit": null}), false),
        (json!({"offset": 0}), true),
        (json!({"offset": null}), true),
        (json!({"offset": 1_000_000_000}), true),
        (json!({"offset": 1_000_000_001}), false),
        (json!({"offset": -1}), false),
        (json!({"cursor": "x"}), true),
        (json!({"cursor": null}), true),
        (json!({"cursor": ""}), false),
        (json!({"cursor": "ä".repeat(LONGEST_CURSOR)}), true),
        (json!({"cursor": "ä".repeat(LONGEST_CURSOR + 1)}), false),
        (json!({"cursor": 7}), false),
    ] {
        check::<Pagination>(&params, accepted);
        check::<ListCards>(&params, accepted);
    }
    assert_eq!(
        schema_of::<Pagination>()["properties"]["limit"]["default"],
        20
    );
}

#[test]
fn an_offset_and_a_cursor_exclude_each_other() {
    let both = json!({"offset": 1, "cursor": "x"});
    refused::<Pagination>(&both, &["offset and cursor", "send cursor to continue"]);
    refused::<ListCards>(&both, &["offset and cursor", "send cursor to continue"]);
    assert!(accept::<Pagination>(&json!({"offset": null, "cursor": "x"})).is_ok());
}

#[test]
fn a_page_begins_where_it_is_asked_to() {
    let cursor = Cursor::encode(&7).unwrap();
    for (params, limit, skip) in [
        (json!({}), 20, 0),
        (json!({"limit": 5, "offset": 0}), 5, 0),
        (json!({"offset": 3}), 20, 3),
        (json!({"cursor": cursor}), 20, 7),
    ] {
        let pagination: Pagination = accept(&params).unwrap();
        let asked = (pagination.limit, pagination.skip().unwrap());
        assert_eq!(asked, (limit, skip), "{params}");
    }
    assert_eq!(
        accept::<Pagination>(&json!({})).unwrap(),
        Pagination::default()
    );
}

#[test]
fn turning_all_pages_of_a_counted_list_shows_each_item_once() {
    let list: Vec<u32> = (0..47).collect();
    let mut params = json!({"limit": 10});
    let mut seen = Vec::new();
    loop {
        let pagination: Pagination = accept(&params).unwrap();
        let skip = pagination.skip().unwrap();
        let limit = usize::try_from(pagination.limit).unwrap();
        let items: Vec<String> = list
            .iter()
            .skip(usize::try_from(skip).unwrap())
            .take(limit)
            .map(u32::to_string)
            .collect();
        let page = Page::counted(items, skip, 47).unwrap();
        let sent = json!(page);
        assert_eq!(sent["total"], 47);
        assert_eq!(sent["hasMore"], page.next_cursor().is_some());
        seen.extend(page.items.clone());
        let Some(next) = page.next_cursor() else {
            break;
        };
        params = json!({"limit": 10, "cursor": next});
    }
    let expected: Vec<String> = list.iter().map(u32::to_string).collect();
    assert_eq!(seen, expected);
}

#[test]
fn an_empty_page_is_the_last_one_whatever_the_total_says() {
    let page = Page::<String>::counted(Vec::new(), 5, 100).unwrap();
    assert!(page.next_cursor().is_none());
    assert_eq!(json!(page)["hasMore"], false);
    let end = Page::counted(vec!["x".to_owned()], u64::MAX, u64::MAX).unwrap();
    assert_eq!(json!(end)["hasMore"], false);
}

#[test]
fn a_page_is_data_and_says_what_its_schema_says() {
    fn is_data<D: Data>() {}
    is_data::<Page<String>>();
    is_data::<Page<CardId>>();
    is_data::<CommonMetadata>();

    let schema = schema_of::<Page<String>>();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let next = Cursor::encode(&3).unwrap();
    let page = Page::continued(vec!["a".to_owned()], next.clone()).out_of(9);
    let wire = serde_json::to_value(&page).unwrap();
    let expected = json!({"items": ["a"], "total": 9, "nextCursor": next, "hasMore": true});
    assert_eq!(wire, expected);
    assert!(validator.is_valid(&wire), "{schema}");
    let last = serde_json::to_value(Page::last(vec!["a".to_owned()])).unwrap();
    assert_eq!(last, json!({"items": ["a"], "hasMore": false}));
    assert!(validator.is_valid(&last), "{schema}");
    assert_eq!(serde_json::from_value::<Page<String>>(wire).unwrap(), page);
}
