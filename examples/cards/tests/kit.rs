//! The test kit of the contract over this service, as every author can run it over theirs.

use std::path::{Path, PathBuf};

use mcpproxy_cards::Store;
use mcpproxy_contract::Grants;
use mcpproxy_contract::prelude::*;
use mcpproxy_contract_check::testing;
use rusqlite::{Connection, Row};
use serde_json::Value;
use tempfile::TempDir;

/// What was published of names and schemas; `UPDATE_PUBLISHED=1` writes it anew.
const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/published.json");

fn service() -> Service {
    let store = Store::in_memory().expect("memory can be opened");
    mcpproxy_cards::service(store).expect("every tool keeps the contract")
}

#[tokio::test]
async fn every_tool_conforms() {
    let kept = StoredSnapshot::new();
    testing::conforms(&kept.service(), async || kept.state())
        .await
        .unwrap();
}

#[tokio::test]
async fn every_example_holds() {
    testing::examples_hold(async || service()).await.unwrap();
}

#[tokio::test]
async fn tools_that_read_change_nothing() {
    let kept = StoredSnapshot::new();
    testing::queries_are_pure(&kept.service(), async || kept.state())
        .await
        .unwrap();
}

/// Without this, the test before it might look where nothing ever changes.
#[tokio::test]
async fn a_write_is_seen_whoever_makes_it() {
    let kept = StoredSnapshot::new();
    let service = kept.service();
    let agent = ToolContext::new("tests", "1.0.0", Grants::Everything);
    let card = json!({ "cardId": "card_4" });
    let unchanged = kept.state();
    service.call("get-card", card.clone(), &agent).await;
    assert_eq!(kept.state(), unchanged);
    for (tool, arguments) in [
        ("review-card", json!({ "cardId": "card_4", "grade": 3 })),
        (
            "update-card",
            json!({ "cardId": "card_4", "back": "Others" }),
        ),
        ("create-deck", json!({ "name": "Capitals" })),
        ("delete-card", card),
    ] {
        let before = kept.state();
        let result = service.call(tool, arguments, &agent).await;
        assert!(result.error().is_none(), "{tool}: {:?}", result.error());
        assert_ne!(kept.state(), before, "{tool}");
    }
}

#[tokio::test]
async fn a_tool_that_reads_and_writes_in_secret_is_found() {
    let kept = StoredSnapshot::new();
    let sly = Service::of(PeekCard(kept.file())).unwrap();
    let found = testing::queries_are_pure(&sly, async || kept.state()).await;
    let told = found.unwrap_err().to_string();
    assert!(
        told.contains("peek-card: it says that it reads, but something has changed"),
        "{told}"
    );
}

#[tokio::test]
async fn an_example_that_fails_does_not_count_as_one_that_changes_nothing() {
    let kept = StoredSnapshot::new();
    let elsewhere = kept.folder.path().join("empty.db");
    let blind = Service::of(PeekCard(elsewhere)).unwrap();
    let found = testing::queries_are_pure(&blind, async || kept.state()).await;
    let told = found.unwrap_err().to_string();
    assert!(told.contains("peek-card: example 1 fails"), "{told}");
}

#[tokio::test]
async fn confidence_of_every_tool_is_computed() {
    let card = |number: u32| json!({ "cardId": format!("card_{number}") });
    let deck = |number: u32| json!({ "deckId": format!("deck_{number}") });
    let write = |explanation: Option<&str>| json!({ "deckId": "deck_1", "front": "Who?", "back": "They", "explanation": explanation });
    let pairs = [
        // A card with two sides and nothing else; one with tags and an explanation.
        ("get-card", card(8), card(7)),
        // A card nobody has reviewed; one with reviews.
        ("review-next-card", deck(2), deck(1)),
        // The first card of twelve; all of them.
        (
            "search-cards",
            json!({ "limit": 1 }),
            json!({ "limit": 50 }),
        ),
        // Cards with the words; cards with the phrase.
        (
            "find-cards",
            json!({ "text": "tool what" }),
            json!({ "text": "percent" }),
        ),
        // One deck of three; all of them.
        ("list-decks", json!({ "limit": 1 }), json!({ "limit": 3 })),
        (
            "list-reviews",
            json!({ "limit": 1 }),
            json!({ "limit": 50 }),
        ),
        // A name alone; a name and a description.
        (
            "create-deck",
            json!({ "name": "Capitals" }),
            json!({ "name": "Capitals", "description": "Cities that govern" }),
        ),
        ("create-card", write(None), write(Some("All of them"))),
        // A card that had no explanation, with and without one.
        (
            "update-card",
            json!({ "cardId": "card_8", "back": "At least 90 days" }),
            json!({ "cardId": "card_8", "explanation": "Counted from the announcement" }),
        ),
        // Four reviews are lost; none is.
        ("delete-card", card(9), card(4)),
        // A card nobody has reviewed before; one with four reviews, measured.
        (
            "review-card",
            json!({ "cardId": "card_4", "grade": 3 }),
            json!({ "cardId": "card_9", "grade": 3, "answerTimeMs": 900 }),
        ),
        // Nobody has reviewed it; most reviews speak for it.
        (
            "adjust-difficulty",
            json!({ "cardId": "card_4", "difficulty": 1 }),
            json!({ "cardId": "card_9", "difficulty": 1 }),
        ),
        // A deck with three reviews; one with eight.
        ("analyze-deck", deck(2), deck(1)),
        ("forecast-workload", deck(2), deck(1)),
        // More questions than the deck has cards; fewer.
        (
            "generate-quiz",
            json!({ "deckId": "deck_3", "questions": 20 }),
            json!({ "deckId": "deck_3", "questions": 3 }),
        ),
        (
            "export-deck",
            json!({ "deckId": "deck_1", "offset": 3 }),
            json!({ "deckId": "deck_1" }),
        ),
    ];
    testing::confidence_is_computed(async || service(), &pairs)
        .await
        .unwrap();
}

#[tokio::test]
async fn decks_that_were_skipped_counted_as_looked_at() {
    let service = service();
    for (tool, whole) in [
        ("list-decks", 3),
        ("search-cards", 12),
        ("list-reviews", 17),
    ] {
        let agent = ToolContext::new("tests", "1.0.0", Grants::Everything);
        let last = json!({ "offset": whole - 1, "limit": 50 });
        let result = service.call(tool, last, &agent).await;
        let total = result.data().map(|data| data["total"].clone());
        assert_eq!(total, Some(json!(whole)), "{tool}");
        let told = format!("(1 of {whole}, weight 2)");
        let reasoning = result.hints().reasoning();
        assert!(reasoning.contains(&told), "{tool}: {reasoning}");
        assert!(result.hints().confidence().value() < 1.0, "{tool}");
    }
}

#[tokio::test]
async fn a_confidence_that_was_typed_in_as_a_factor_is_found() {
    let kept = StoredSnapshot::new();
    let file = kept.file();
    let pair = ("peek-card", json!({ "number": 4 }), json!({ "number": 5 }));
    let typed = testing::confidence_is_computed(
        async || Service::of(PeekCard(file.clone())).unwrap(),
        &[pair],
    )
    .await;
    let told = typed.unwrap_err().to_string();
    assert!(
        told.contains("completeness was 1 of 1 in every call"),
        "{told}"
    );
    let none = testing::confidence_is_computed(async || service(), &[]).await;
    let told = none.unwrap_err().to_string();
    assert!(
        told.contains("get-card: there is no pair of calls"),
        "{told}"
    );
}

#[test]
fn names_and_schemas_are_those_that_were_published() {
    testing::unchanged(&service(), PUBLISHED).unwrap();
}

#[test]
fn a_changed_schema_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(PUBLISHED).expect("there is a snapshot");
    for (pointer, other, told) in [
        (
            "/get-card/parameters/required",
            json!([]),
            "get-card: the parameter 'cardId' has become required",
        ),
        (
            "/get-card/data",
            json!({}),
            "get-card: its schemas are not those that were published",
        ),
        (
            "/get-card/version",
            json!("0.9.0"),
            "get-card: the version went from 0.9.0 to",
        ),
    ] {
        let mut before: Value = serde_json::from_str(&text).expect("it is JSON");
        *before.pointer_mut(pointer).expect("it is published") = other;
        let file = folder.path().join("published.json");
        std::fs::write(&file, before.to_string()).unwrap();
        let found = testing::unchanged(&service(), file)
            .unwrap_err()
            .to_string();
        assert!(found.contains(told), "{found}");
    }
}

/// A service that keeps its cards in a file, and a second look at that file.
struct StoredSnapshot {
    folder: TempDir,
    store: Store,
    witness: Connection,
}

impl StoredSnapshot {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let file = folder.path().join("cards.db");
        Self {
            store: Store::open(&file).expect("a store can be made"),
            witness: Connection::open(&file).expect("the file is a database"),
            folder,
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("cards.db")
    }

    fn service(&self) -> Service {
        mcpproxy_cards::service(self.store.clone()).expect("every tool keeps the contract")
    }

    /// Every row of every table, and a number that is another one after each commit of somebody
    /// else: it shows even a write that left everything as it was.
    fn state(&self) -> String {
        let commits = self.query("PRAGMA data_version", |row| row.get::<_, i64>(0));
        let tables = self.query(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
            |row| row.get::<_, String>(0),
        );
        let rows = tables.iter().map(|table| {
            let all = format!("SELECT * FROM {table} ORDER BY rowid");
            (table, self.query(&all, values))
        });
        format!("{commits:?} {:?}", rows.collect::<Vec<_>>())
    }

    fn query<T>(&self, query: &str, read: fn(&Row<'_>) -> rusqlite::Result<T>) -> Vec<T> {
        let mut statement = self.witness.prepare(query).expect("the query is right");
        let rows = statement.query_map([], read).expect("the query runs");
        rows.map(|row| row.expect("a row can be read")).collect()
    }
}

fn values(row: &Row<'_>) -> rusqlite::Result<Vec<rusqlite::types::Value>> {
    let columns = row.as_ref().column_count();
    (0..columns).map(|column| row.get(column)).collect()
}

/// A tool that says it reads, and touches the card in secret.
struct PeekCard(PathBuf);

#[derive(Serialize, Deserialize, JsonSchema, Validate)]
struct PeekCardParams {
    /// The number of the card.
    #[garde(range(min = 1))]
    number: u32,
}

impl Tool for PeekCard {
    const NAME: &'static str = "peek-card";
    type Category = Query;
    type Params = PeekCardParams;
    type Output = String;

    fn definition() -> Definition<Self> {
        Definition::of(Version::new(1, 0, 0), ResponseTime::Fast, &["cards:read"])
            .what("Tells the question of a card by its number")
            .when("a test needs a tool that does more than it says")
            .returns("the question of the card")
            .example("read a question", json!({ "number": 4 }), json!("Who?"))
            .tagged(&["cards"])
    }

    async fn call(
        &self,
        params: &PeekCardParams,
        _: &ToolContext,
    ) -> Result<ToolOutput<String>, ToolError> {
        let front = touch(&self.0, params.number).map_err(ToolError::internal)?;
        let evidence = Evidence::new(SourceQuality::High, completeness(1, 1));
        Ok(ToolOutput::new(front, found(&evidence, "a card")))
    }
}

/// Changes the card and changes it back: afterwards every row is what it was.
fn touch(file: &Path, number: u32) -> rusqlite::Result<String> {
    let connection = Connection::open(file)?;
    for change in ["reviews + 1", "reviews - 1"] {
        let update = format!("UPDATE cards SET reviews = {change} WHERE number = ?1");
        connection.execute(&update, [number])?;
    }
    let read = "SELECT front FROM cards WHERE number = ?1";
    connection.query_row(read, [number], |row| row.get(0))
}
