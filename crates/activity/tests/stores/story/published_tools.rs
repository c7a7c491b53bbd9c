//! Tools as servers published them.

use mcpproxy_activity::store::published_tools::MOST_PUBLISHED;
use mcpproxy_activity::{PublishedStore, StoredDefinition};

use super::Place;
use super::sketch::moment;

fn published(place: &impl Place) -> PublishedStore {
    PublishedStore::beside(place.open().store)
}

/// A tool that was first seen at a millisecond.
fn tool(name: &str, seen: i64) -> StoredDefinition {
    StoredDefinition {
        tool: name.to_owned(),
        definition: format!("{{\"name\":\"{name}\"}}"),
        first_seen: moment(seen),
        deprecation_seen: None,
    }
}

pub(crate) async fn published_tools_keep_when_they_were_first_seen(place: &impl Place) {
    let store = published(place);
    assert_eq!(store.of_server("cards").await.unwrap(), []);
    store.put("cards", &[]).await.unwrap();
    let many: Vec<StoredDefinition> = (100..350)
        .map(|number| tool(&format!("get-{number}"), 1))
        .collect();
    store.put("cards", &many).await.unwrap();
    store.put("café \u{2615}", &many[..1]).await.unwrap();
    // Another process sees them, in the order of names and each with its server.
    let again = published(place);
    assert_eq!(again.of_server("cards").await.unwrap(), many);
    assert_eq!(again.of_server("café \u{2615}").await.unwrap(), many[..1]);

    let later = StoredDefinition {
        definition: "{}".to_owned(),
        first_seen: moment(9),
        deprecation_seen: Some(moment(9)),
        ..many[0].clone()
    };
    again
        .put("cards", std::slice::from_ref(&later))
        .await
        .unwrap();
    let expected = StoredDefinition {
        first_seen: moment(1),
        ..later.clone()
    };
    assert_eq!(store.of_server("cards").await.unwrap()[0], expected);
    let latest = StoredDefinition {
        deprecation_seen: Some(moment(20)),
        ..later
    };
    store
        .put("cards", std::slice::from_ref(&latest))
        .await
        .unwrap();
    assert_eq!(store.of_server("cards").await.unwrap()[0], expected);
    // A deprecation that was withdrawn is none, and one that is announced again begins anew.
    let withdrawn = StoredDefinition {
        deprecation_seen: None,
        ..expected.clone()
    };
    let again_deprecated = StoredDefinition {
        deprecation_seen: Some(moment(20)),
        ..expected
    };
    for row in [withdrawn, again_deprecated] {
        let rows = std::slice::from_ref(&row);
        store.put("cards", rows).await.unwrap();
        assert_eq!(store.of_server("cards").await.unwrap()[0], row);
    }

    let has = async |server: &str, tool: &str| store.has_published(server, tool).await.unwrap();
    assert_eq!(has("cards", "get-349").await, Some(true));
    assert_eq!(has("cards", "get-7").await, Some(false));
    assert_eq!(has("decks", "get-349").await, None);

    store.forget("cards", "get-100").await.unwrap();
    store.forget("cards", "get-100").await.unwrap();
    assert_eq!(again.of_server("cards").await.unwrap(), many[1..]);
    assert_eq!(again.of_server("café \u{2615}").await.unwrap().len(), 1);
}

pub(crate) async fn no_more_than_so_many_published_tools_are_read(place: &impl Place) {
    let store = published(place);
    assert_eq!(store.of_server("cards").await.unwrap(), []);
    let count = MOST_PUBLISHED + 1;
    let many = format!(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})
         INSERT INTO published_tools (server, tool, definition, first_seen)
         SELECT 'cards', 'tool ' || n, '{{}}', 1 FROM numbers"
    );
    place.tamper(&many).await;
    assert_eq!(
        store.of_server("cards").await.unwrap().len(),
        MOST_PUBLISHED
    );
    // A moment that no clock shows makes a row unreadable, and no other.
    place
        .tamper("UPDATE published_tools SET first_seen = 9223372036854775807 WHERE tool = 'tool 1'")
        .await;
    assert_eq!(
        store.of_server("cards").await.unwrap().len(),
        MOST_PUBLISHED - 1
    );
}
