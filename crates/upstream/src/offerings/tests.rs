use mcpproxy_wire::Json;

use super::*;

fn item(key: &str) -> ListedItem {
    let raw = Json::of(&serde_json::json!({ "name": key }));
    ListedItem {
        raw,
        key: key.into(),
    }
}

fn has_prompts(changes: ListChanges) -> Capabilities {
    Capabilities {
        prompts: Some(changes),
        ..Capabilities::default()
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(1)
}

/// Lists as the refresher would.
fn list(offerings: &Offerings, items: &[&str]) -> bool {
    let epoch = offerings.due(ListedKind::Prompt).expect("a listing is due");
    offerings.put(
        ListedKind::Prompt,
        epoch,
        items.iter().map(|key| item(key)).collect(),
    )
}

#[tokio::test(start_paused = true)]
async fn who_waits_gets_a_list_that_is_no_older_than_it_is_believed() {
    let offerings = Offerings::default();
    assert!(offerings.wait(soon()).await.is_err(), "nothing is known");
    assert!(offerings.begin(has_prompts(ListChanges::Silent)));
    assert_eq!(
        offerings.due(ListedKind::Resource),
        None,
        "there are none to list"
    );
    assert!(list(&offerings, &["a"]));
    let snapshot = offerings.wait(soon()).await.expect("it is new");
    assert_eq!(snapshot.items(ListedKind::Prompt).len(), 1);
    assert_eq!(offerings.due(ListedKind::Prompt), None);
    tokio::time::advance(BELIEVED_FOR).await;
    assert!(offerings.wait(soon()).await.is_err(), "it is too old");
    assert!(!list(&offerings, &["a"]), "nothing else is listed");
    let same = offerings.wait(soon()).await.expect("it is new");
    assert_eq!(same.version, snapshot.version);
}

#[tokio::test(start_paused = true)]
async fn an_announced_change_makes_a_list_stale_and_silence_keeps_it() {
    let offerings = Offerings::default();
    offerings.begin(has_prompts(ListChanges::Announced));
    list(&offerings, &["a"]);
    tokio::time::advance(BELIEVED_FOR).await;
    assert!(offerings.wait(soon()).await.is_ok());
    offerings.announce(&[ListedKind::Prompt]);
    assert!(offerings.wait(soon()).await.is_err());
    let before = offerings.snapshot().version;
    assert!(list(&offerings, &["a", "b"]));
    assert_ne!(offerings.snapshot().version, before);
    assert!(offerings.wait(soon()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_list_that_cannot_be_had_is_an_error_for_a_while_and_the_one_before_stays() {
    let offerings = Offerings::default();
    offerings.begin(has_prompts(ListChanges::Announced));
    list(&offerings, &["a"]);
    offerings.announce(&[ListedKind::Prompt]);
    let epoch = offerings.due(ListedKind::Prompt).expect("a listing is due");
    offerings.refuse(ListedKind::Prompt, epoch, CallError::unavailable("no"));
    assert_eq!(offerings.due(ListedKind::Prompt), None);
    assert_eq!(
        offerings.wait(soon()).await.err(),
        Some(CallError::unavailable("no"))
    );
    assert_eq!(offerings.snapshot().items(ListedKind::Prompt).len(), 1);
    tokio::time::advance(BELIEVED_FOR).await;
    offerings.renew();
    assert!(
        offerings.due(ListedKind::Prompt).is_some(),
        "it is tried again"
    );
}

#[test]
fn a_server_that_comes_back_without_prompts_has_none() {
    let offerings = Offerings::default();
    offerings.begin(has_prompts(ListChanges::Silent));
    list(&offerings, &["a"]);
    assert!(!offerings.begin(has_prompts(ListChanges::Silent)));
    assert_eq!(offerings.snapshot().items(ListedKind::Prompt).len(), 1);
    assert!(offerings.begin(Capabilities::default()));
    let snapshot = offerings.snapshot();
    assert!(snapshot.is_known && snapshot.items(ListedKind::Prompt).is_empty());
}
