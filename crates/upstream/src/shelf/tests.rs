use mcpproxy_wire::Json;

use super::*;

fn item(key: &str) -> Item {
    let raw = Json::of(&serde_json::json!({ "name": key }));
    Item {
        raw,
        key: key.into(),
    }
}

fn has_prompts(changes: Changes) -> Capabilities {
    Capabilities {
        prompts: Some(changes),
        ..Capabilities::default()
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(1)
}

/// Lists as a keeper would.
fn list(shelf: &Shelf, items: &[&str]) -> bool {
    let mark = shelf.due(Kind::Prompt).expect("a listing is due");
    shelf.put(
        Kind::Prompt,
        mark,
        items.iter().map(|key| item(key)).collect(),
    )
}

#[tokio::test(start_paused = true)]
async fn who_waits_gets_a_list_that_is_no_older_than_it_is_believed() {
    let shelf = Shelf::default();
    assert!(shelf.wait(soon()).await.is_err(), "nothing is known");
    assert!(shelf.begin(has_prompts(Changes::Silent)));
    assert_eq!(shelf.due(Kind::Resource), None, "there are none to list");
    assert!(list(&shelf, &["a"]));
    let stock = shelf.wait(soon()).await.expect("it is new");
    assert_eq!(stock.items(Kind::Prompt).len(), 1);
    assert_eq!(shelf.due(Kind::Prompt), None);
    tokio::time::advance(BELIEVED_FOR).await;
    assert!(shelf.wait(soon()).await.is_err(), "it is too old");
    assert!(!list(&shelf, &["a"]), "nothing else is listed");
    let same = shelf.wait(soon()).await.expect("it is new");
    assert_eq!(same.version, stock.version);
}

#[tokio::test(start_paused = true)]
async fn an_announced_change_makes_a_list_stale_and_silence_keeps_it() {
    let shelf = Shelf::default();
    shelf.begin(has_prompts(Changes::Announced));
    list(&shelf, &["a"]);
    tokio::time::advance(BELIEVED_FOR).await;
    assert!(shelf.wait(soon()).await.is_ok());
    shelf.announce(&[Kind::Prompt]);
    assert!(shelf.wait(soon()).await.is_err());
    let before = shelf.stock().version;
    assert!(list(&shelf, &["a", "b"]));
    assert_ne!(shelf.stock().version, before);
    assert!(shelf.wait(soon()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_list_that_cannot_be_had_is_an_error_for_a_while_and_the_one_before_stays() {
    let shelf = Shelf::default();
    shelf.begin(has_prompts(Changes::Announced));
    list(&shelf, &["a"]);
    shelf.announce(&[Kind::Prompt]);
    let mark = shelf.due(Kind::Prompt).expect("a listing is due");
    shelf.refuse(Kind::Prompt, mark, CallError::unavailable("no"));
    assert_eq!(shelf.due(Kind::Prompt), None);
    assert_eq!(
        shelf.wait(soon()).await.err(),
        Some(CallError::unavailable("no"))
    );
    assert_eq!(shelf.stock().items(Kind::Prompt).len(), 1);
    tokio::time::advance(BELIEVED_FOR).await;
    shelf.renew();
    assert!(shelf.due(Kind::Prompt).is_some(), "it is tried again");
}

#[test]
fn a_server_that_comes_back_without_prompts_has_none() {
    let shelf = Shelf::default();
    shelf.begin(has_prompts(Changes::Silent));
    list(&shelf, &["a"]);
    assert!(!shelf.begin(has_prompts(Changes::Silent)));
    assert_eq!(shelf.stock().items(Kind::Prompt).len(), 1);
    assert!(shelf.begin(Capabilities::default()));
    let stock = shelf.stock();
    assert!(stock.is_known && stock.items(Kind::Prompt).is_empty());
}
