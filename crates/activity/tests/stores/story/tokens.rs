//! Tokens of agents.

use std::sync::Arc;

use jiff::Timestamp;
use mcpproxy_activity::tokens::MOST_TOKENS;
use mcpproxy_activity::{Inserted, StoredToken, TokenStore};
use mcpproxy_policy::{ActivityAccess, Operation, OperationSet, TokenGrant, ToolGlob};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::Place;
use super::sketch::moment;

fn tokens(place: &impl Place) -> TokenStore {
    TokenStore::beside(place.open().store)
}

/// A token that was never used.
fn token(name: &str) -> StoredToken {
    StoredToken {
        id: format!("id of {name}"),
        name: name.to_owned(),
        hash: "0f".repeat(32),
        grant: TokenGrant::default(),
        created: moment(1),
        expires: None,
        last_used: None,
    }
}

pub(crate) async fn tokens_are_stored_rotated_touched_and_removed(place: &impl Place) {
    let store = tokens(place);
    assert!(store.all().await.unwrap().is_empty());
    let mut one = StoredToken {
        grant: TokenGrant {
            servers: Some(vec!["github".to_owned(), "café \u{2615}".to_owned()]),
            operations: OperationSet::of(&[Operation::Read, Operation::Destructive]),
            tools: vec![ToolGlob::parse("github:list_*").unwrap()],
            permissions: vec!["cards:read".to_owned()],
            activity: ActivityAccess::All,
            unannotated: true,
        },
        expires: Some(moment(90)),
        ..token("zoë's")
    };
    let mut other = token("Another");
    for token in [&one, &other] {
        assert_eq!(store.insert(token).await.unwrap(), Inserted::Done);
    }
    // Another process sees them, in the order of names.
    let again = tokens(place);
    assert_eq!(again.all().await.unwrap(), [other.clone(), one.clone()]);

    let taken = StoredToken {
        id: "new".to_owned(),
        hash: "ff".repeat(32),
        ..token("Another")
    };
    assert_eq!(again.insert(&taken).await.unwrap(), Inserted::NameTaken);
    assert_eq!(again.all().await.unwrap(), [other.clone(), one.clone()]);

    one.hash = "aa".repeat(32);
    one.expires = None;
    one.created = moment(5);
    one.last_used = None;
    assert!(again.rotate(&one).await.unwrap());
    other.expires = Some(moment(7));
    assert!(again.rotate(&other).await.unwrap());
    assert!(!again.rotate(&taken).await.unwrap());
    assert_eq!(store.all().await.unwrap(), [other.clone(), one.clone()]);

    assert!(store.remove("zoë's").await.unwrap());
    assert!(!store.remove("zoë's").await.unwrap());
    assert_eq!(again.all().await.unwrap(), [other]);
    assert_eq!(again.insert(&one).await.unwrap(), Inserted::Done);
}

pub(crate) async fn many_are_touched_at_once(place: &impl Place) {
    const COUNT: usize = MOST_TOKENS;
    let store = tokens(place);
    assert!(store.all().await.unwrap().is_empty());
    place.tamper(&insert_many(COUNT)).await;
    store.touch(&[]).await.unwrap();
    let ids: Vec<String> = (1..=COUNT).map(|number| format!("id {number}")).collect();
    let used = |millisecond: i64| -> Vec<(String, Timestamp)> {
        let used = ids.iter().map(|id| (id.clone(), moment(millisecond)));
        used.collect()
    };
    let last = async || -> Vec<Option<Timestamp>> {
        let all = store.all().await.unwrap().into_iter();
        all.map(|token| token.last_used).collect()
    };
    assert_eq!(last().await, vec![None; COUNT]);
    store.touch(&used(100)).await.unwrap();
    assert_eq!(last().await, vec![Some(moment(100)); COUNT]);
    // What is told late changes nothing.
    store.touch(&used(50)).await.unwrap();
    assert_eq!(last().await, vec![Some(moment(100)); COUNT]);
    // Of several uses the last one counts, and a token that is gone is not missed.
    let several = [300, 400, 200].map(|millisecond| ("id 7".to_owned(), moment(millisecond)));
    let gone = [("gone".to_owned(), moment(500))];
    store.touch(&[&several[..], &gone].concat()).await.unwrap();
    let all = store.all().await.unwrap();
    let later: Vec<&StoredToken> = all
        .iter()
        .filter(|token| token.last_used != Some(moment(100)))
        .collect();
    assert_eq!(later.len(), 1);
    assert_eq!(
        (later[0].id.as_str(), later[0].last_used),
        ("id 7", Some(moment(400)))
    );
}

/// Statement that makes so many tokens at once.
fn insert_many(count: usize) -> String {
    format!(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})
         INSERT INTO tokens (id, name, hash, rights, created)
         SELECT 'id ' || n, 'name ' || n, 'hash', '{{}}', 1 FROM numbers"
    )
}

pub(crate) async fn no_more_than_so_many_tokens_are_stored(place: &impl Place) {
    let store = tokens(place);
    assert!(store.all().await.unwrap().is_empty());
    place.tamper(&insert_many(MOST_TOKENS - 1)).await;
    assert_eq!(store.insert(&token("last")).await.unwrap(), Inserted::Done);
    let more = token("one more");
    assert_eq!(store.insert(&more).await.unwrap(), Inserted::TooMany);
    // A name that is taken is so also where nothing more would fit.
    let same = StoredToken {
        name: "last".to_owned(),
        ..more.clone()
    };
    assert_eq!(store.insert(&same).await.unwrap(), Inserted::NameTaken);
    assert_eq!(store.all().await.unwrap().len(), MOST_TOKENS);
    assert!(store.remove("last").await.unwrap());
    assert_eq!(store.insert(&more).await.unwrap(), Inserted::Done);
}

pub(crate) async fn a_token_that_cannot_be_read_admits_nobody(place: &impl Place) {
    let store = tokens(place);
    let sound = token("sound");
    assert_eq!(store.insert(&sound).await.unwrap(), Inserted::Done);
    for rights in [
        "",
        "{",
        "[]",
        "null",
        r#"{"operations":["everything"]}"#,
        r#"{"servers":"all"}"#,
        r#"{"tools":["no pattern"]}"#,
        r#"{"admin":true}"#,
        r#"{"activity":"own","activity":"all"}"#,
    ] {
        let broken = format!(
            "INSERT INTO tokens (id, name, hash, rights, created)
             VALUES ('broken', 'broken', 'hash', '{rights}', 1)"
        );
        place.tamper(&broken).await;
        assert_eq!(
            store.all().await.unwrap(),
            std::slice::from_ref(&sound),
            "{rights}"
        );
        // Its name is taken, and it can be removed like any other.
        let same = StoredToken {
            id: "new".to_owned(),
            ..token("broken")
        };
        assert_eq!(store.insert(&same).await.unwrap(), Inserted::NameTaken);
        assert!(store.remove("broken").await.unwrap(), "{rights}");
    }
    // A moment that no clock shows is none: the token must not live for ever.
    for column in ["created", "expires", "last_used"] {
        let broken = format!("UPDATE tokens SET {column} = 9223372036854775807");
        place.tamper(&broken).await;
        assert_eq!(store.all().await.unwrap(), [], "{column}");
        let mended = format!("UPDATE tokens SET {column} = 1");
        place.tamper(&mended).await;
    }
    assert_eq!(store.all().await.unwrap().len(), 1);
}

pub(crate) async fn two_processes_want_the_same_name(place: &impl Place) {
    const PROCESSES: usize = 4;
    let barrier = Arc::new(Barrier::new(PROCESSES));
    let mut processes = JoinSet::new();
    for number in 0..PROCESSES {
        let (store, barrier) = (tokens(place), Arc::clone(&barrier));
        processes.spawn(async move {
            let mut made = 0;
            for round in 0..5 {
                barrier.wait().await;
                let token = StoredToken {
                    id: format!("{number}.{round}"),
                    ..token(&format!("name {round}"))
                };
                made += usize::from(store.insert(&token).await.unwrap() == Inserted::Done);
                store.touch(&[(token.id, moment(9))]).await.unwrap();
            }
            made
        });
    }
    let made: usize = processes.join_all().await.into_iter().sum();
    assert_eq!(made, 5, "each name has one token");
    let all = tokens(place).all().await.unwrap();
    assert_eq!(all.len(), 5);
    assert!(all.iter().all(|token| token.last_used == Some(moment(9))));
}
