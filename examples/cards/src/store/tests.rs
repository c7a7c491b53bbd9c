use std::ops::RangeBounds;

use jiff::Timestamp;
use mcpproxy_contract::schemas::{DateRange, SortOrder};
use rusqlite::Connection;

use super::*;
use crate::model::{Card, Difficulty, Grade};

fn noon() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

fn store() -> Store {
    Store::in_memory_at(noon()).unwrap()
}

fn new_card(deck: u64, front: &str) -> NewCard {
    NewCard {
        deck_id: DeckId::numbered(deck),
        front: front.to_owned(),
        back: "an answer".to_owned(),
        explanation: None,
        tags: Vec::new(),
        difficulty: Difficulty::USUAL,
        by: None,
    }
}

async fn create(store: &Store, new: NewCard) -> Card {
    store
        .write(noon(), move |writing| writing.create_card(&new))
        .await
        .unwrap()
}

async fn search(store: &Store, search: Search) -> (Vec<String>, u64) {
    let (cards, total) = store
        .read(move |reading| reading.search(&search))
        .await
        .unwrap();
    (cards.into_iter().map(|card| card.front).collect(), total)
}

fn words(words: &[&str]) -> Search {
    Search {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        limit: 100,
        ..Search::default()
    }
}

#[tokio::test]
async fn a_new_store_has_decks_cards_and_reviews_to_try_things_with() {
    let (decks, total) = store()
        .read(|reading| reading.decks(0, 10, noon()))
        .await
        .unwrap();
    assert_eq!(total, 3);
    assert_eq!(decks.iter().map(|deck| deck.cards).sum::<u64>(), 12);
    assert!(decks.iter().all(|deck| deck.due > 0), "{decks:?}");
    let tally = store()
        .read(|reading| reading.tally(&History::default()))
        .await
        .unwrap();
    assert!(
        tally.reviews > 15 && tally.recalled < tally.reviews,
        "{tally:?}"
    );
    assert!(tally.of_learnt > 0, "{tally:?}");
}

#[tokio::test]
async fn a_file_keeps_everything_and_is_not_planted_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cards.db");
    let card = create(&Store::open(&path).unwrap(), new_card(1, "Kept?")).await;
    let again = Store::open(&path).unwrap();
    let id = card.card_id.clone();
    assert_eq!(
        again.read(move |reading| reading.card(&id)).await.unwrap(),
        card
    );
    let cards = again
        .read(|reading| reading.count_cards(None))
        .await
        .unwrap();
    assert_eq!(cards, 13);
}

#[test]
fn a_file_of_a_later_version_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cards.db");
    drop(Store::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let refused = Store::open(&path).unwrap_err();
    assert!(
        matches!(refused, StoreError::TooNew { found: 99, .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn a_file_that_another_process_writes_is_busy_and_not_broken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cards.db");
    let store = Store::open(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let failed = store
        .write(noon(), |writing| writing.create_card(&new_card(1, "Busy?")))
        .await
        .unwrap_err();
    assert!(failed.is_busy(), "{failed:?}");
    other.execute_batch("ROLLBACK").unwrap();
    create(&store, new_card(1, "Busy?")).await;
}

#[tokio::test]
async fn work_that_fails_or_panics_half_way_has_changed_nothing() {
    let store = store();
    let failed = store
        .write(noon(), |writing| {
            writing.create_card(&new_card(1, "Unfinished"))?;
            writing.create_card(&new_card(77, "Nowhere"))
        })
        .await;
    assert!(matches!(failed, Err(StoreError::NoDeck(_))));
    let panicked = store
        .write(noon(), |writing| {
            writing.create_card(&new_card(1, "Unfinished"))?;
            assert_eq!(writing.count_cards(None)?, 0, "on purpose");
            Ok(())
        })
        .await;
    assert!(matches!(panicked, Err(StoreError::Stopped(_))));
    assert_eq!(search(&store, words(&["unfinished"])).await.1, 0);
}

#[tokio::test]
async fn every_word_must_occur_in_any_part_and_in_any_case() {
    let store = store();
    let mut card = new_card(1, "Größe der ÄPFEL");
    card.tags = vec!["Obst".to_owned()];
    create(&store, card).await;
    for (wanted, expected) in [
        (&["größe"][..], 1),
        (&["äpfel", "obst"], 1),
        (&["äpfel", "birnen"], 0),
        (&["100%"], 0),
        (&["_"], 0),
        (&["percent"], 1),
        (&[], 13),
    ] {
        assert_eq!(
            search(&store, words(wanted)).await.1,
            expected,
            "{wanted:?}"
        );
    }
}

#[tokio::test]
async fn pages_are_in_order_and_without_gaps() {
    let store = store();
    let page = |skip| Search {
        key: CardKey::Front,
        order: SortOrder::Desc,
        skip,
        limit: 5,
        ..Search::default()
    };
    let mut all = Vec::new();
    for skip in [0, 5, 10] {
        let (fronts, total) = search(&store, page(skip)).await;
        assert_eq!(total, 12);
        all.extend(fronts);
    }
    let mut sorted = all.clone();
    sorted.sort_by_key(|front| std::cmp::Reverse(front.to_lowercase()));
    assert_eq!(all, sorted);
    assert_eq!(all.len(), 12);
}

#[tokio::test]
async fn an_id_that_only_looks_like_one_finds_nothing() {
    let store = store();
    for id in [
        "card_007",
        "card_abc",
        "card_0",
        "card_99999999999999999999",
        "card_-1",
    ] {
        let id = CardId::parse(id).unwrap();
        let asked = id.clone();
        let found = store.read(move |reading| reading.card(&asked)).await;
        assert!(matches!(found, Err(StoreError::NoCard(missing)) if missing == id));
    }
    let nowhere = Search {
        deck_id: Some(DeckId::parse("deck_abc").unwrap()),
        limit: 10,
        ..Search::default()
    };
    assert_eq!(search(&store, nowhere).await.1, 0);
}

#[tokio::test]
async fn a_change_that_changes_nothing_is_none_and_an_outdated_one_is_refused() {
    let store = store();
    let id = CardId::numbered(9);
    let change = |version| CardChanges {
        back: Some("fifty-six".to_owned()),
        version,
        ..CardChanges::default()
    };
    let update = |changes: CardChanges| {
        let (store, id) = (store.clone(), id.clone());
        async move {
            store
                .write(noon(), move |writing| writing.update_card(&id, &changes))
                .await
        }
    };
    let first = update(change(None)).await.unwrap();
    assert_eq!(update(change(None)).await.unwrap(), first);
    let version = first.metadata.version;
    let refused = update(change(Some(version - 1))).await;
    assert!(matches!(refused, Err(StoreError::Changed { found, .. }) if found == version));
    assert!(update(change(Some(version))).await.is_ok());
}

#[tokio::test]
async fn a_deleted_card_takes_its_reviews_along_and_its_id_is_not_used_again() {
    let store = store();
    let id = create(&store, new_card(3, "Gone?")).await.card_id;
    store
        .write(noon(), {
            let id = id.clone();
            move |writing| {
                writing.record(&Grading {
                    card_id: id.clone(),
                    grade: Grade::GOOD,
                    answer_time_ms: None,
                    by: None,
                })?;
                writing.delete_card(&id)
            }
        })
        .await
        .unwrap();
    let history = History::of_card(&id);
    let left = store
        .read(move |reading| reading.tally(&history))
        .await
        .unwrap();
    assert_eq!(left.reviews, 0);
    assert_ne!(create(&store, new_card(3, "Gone?")).await.card_id, id);
}

#[tokio::test]
async fn the_newest_reviews_of_a_card_are_kept_and_all_are_counted() {
    let store = store();
    let id = create(&store, new_card(3, "Again and again?"))
        .await
        .card_id;
    let times = u64::from(MOST_REVIEWS_OF_A_CARD) + 5;
    let grading = Grading {
        card_id: id.clone(),
        grade: Grade::EASY,
        answer_time_ms: Some(500),
        by: None,
    };
    let last = store
        .write(noon(), move |writing| {
            let mut last = writing.record(&grading)?;
            for _ in 1..times {
                last = writing.record(&grading)?;
            }
            Ok(last)
        })
        .await
        .unwrap();
    assert_eq!(last.card.reviews, times);
    assert_eq!(last.tally.reviews, u64::from(MOST_REVIEWS_OF_A_CARD));
    assert_eq!(last.usual_time_ms, Some(500));
}

#[tokio::test]
async fn a_range_includes_its_beginning_and_not_its_end() {
    let due = store()
        .read(|reading| reading.due_times(None))
        .await
        .unwrap();
    let (first, last) = (due[0], due[due.len() - 1]);
    let within = |range| Search {
        due: range,
        limit: 100,
        ..Search::default()
    };
    let upto = DateRange {
        from: Some(first),
        to: Some(last),
    };
    let expected = due.iter().filter(|moment| upto.contains(*moment)).count();
    let (_, found) = search(&store(), within(upto)).await;
    assert_eq!(found, expected as u64);
    assert!(found < 12);
}

#[tokio::test]
async fn a_full_store_says_so() {
    let filled = store()
        .write(noon(), |writing| {
            writing.connection.execute(
                "WITH RECURSIVE many (n) AS
                    (SELECT COUNT(*) + 1 FROM cards UNION ALL SELECT n + 1 FROM many WHERE n < ?1)
                INSERT INTO cards (deck, front, front_folded, back, tags, searchable, difficulty,
                    due_at, interval_minutes, reviews, created_at, updated_at, version)
                SELECT 1, n, n, n, '', n, 3, 0, 0, 0, 0, 0, 1 FROM many",
                [i64::try_from(MOST_CARDS).unwrap()],
            )?;
            assert_eq!(writing.count_cards(None)?, MOST_CARDS);
            writing.create_card(&new_card(1, "One too many"))
        })
        .await;
    assert!(matches!(
        filled,
        Err(StoreError::Full {
            most: MOST_CARDS,
            ..
        })
    ));
}

#[tokio::test]
async fn two_decks_do_not_share_a_name() {
    let taken = store()
        .write(noon(), |writing| {
            writing.create_deck(&NewDeck {
                name: "ARITHMETIC".to_owned(),
                description: None,
                by: None,
            })
        })
        .await;
    let expected = DeckId::numbered(3);
    assert!(matches!(taken, Err(StoreError::NameTaken { taken_by, .. }) if taken_by == expected));
}
