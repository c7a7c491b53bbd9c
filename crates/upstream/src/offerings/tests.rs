use mcpproxy_wire::{Json, ListChanges};

use super::*;

fn items(keys: &[&str]) -> Vec<ListedItem> {
    let item = |key: &&str| ListedItem {
        raw: Json::of(&serde_json::json!({ "name": key })),
        key: (*key).into(),
    };
    keys.iter().map(item).collect()
}

fn has_prompts() -> Capabilities {
    Capabilities {
        prompts: Some(ListChanges::Silent),
        ..Capabilities::default()
    }
}

#[tokio::test]
async fn what_a_server_declares_is_listed_and_the_rest_is_absent() {
    let mut lists = OfferedLists::default();
    assert!(lists.declare(has_prompts(), Introduction::default()));
    assert!(lists.freshness(ListedKind::Prompt).due().is_some());
    for kind in [ListedKind::Resource, ListedKind::Template] {
        assert_eq!(lists.freshness(kind).due(), None);
        assert!(lists.freshness(kind).is_current());
        assert_eq!(
            lists.offerings().list(kind).map(|items| items.len()),
            Some(0)
        );
    }
    assert_eq!(lists.offerings().list(ListedKind::Prompt), None);
}

#[tokio::test]
async fn a_server_that_comes_back_without_prompts_has_none() {
    let mut lists = OfferedLists::default();
    lists.declare(has_prompts(), Introduction::default());
    assert!(lists.put(ListedKind::Prompt, items(&["a"])));
    assert!(!lists.put(ListedKind::Prompt, items(&["a"])));
    assert!(!lists.declare(has_prompts(), Introduction::default()));
    assert_eq!(lists.offerings().items(ListedKind::Prompt).len(), 1);
    assert!(lists.declare(Capabilities::default(), Introduction::default()));
    assert!(lists.offerings().items(ListedKind::Prompt).is_empty());
}

#[tokio::test]
async fn the_edition_changes_with_the_bytes_of_the_tools() {
    let mut lists = OfferedLists::default();
    let mut tools = items(&["a"]);
    lists.put(ListedKind::Tool, tools.clone());
    let before = lists.edition;
    lists.put(ListedKind::Prompt, items(&["b"]));
    lists.put(ListedKind::Tool, tools.clone());
    assert_eq!(lists.edition, before);
    tools[0].raw = Json::of(&serde_json::json!({ "name": "a", "annotations": {} }));
    assert!(lists.put(ListedKind::Tool, tools));
    assert_ne!(lists.edition, before);
}
