//! Both example tools of the contract, as authors write them, and every field of hints that the page for authors shows.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

#[path = "rich_hints/fields.rs"]
mod fields;

use fields::{Learner, after_review, with_everything_else};
use mcpproxy_contract::prelude::*;
use mcpproxy_contract::{Grants, wire};
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/rich-hints.md");

branded_id!(
    /// A card.
    CardId, "card"
);

#[derive(Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
struct OneCard {
    /// The card.
    #[garde(dive)]
    card_id: CardId,
}

#[derive(Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
struct Review {
    /// The card.
    #[garde(dive)]
    card_id: CardId,
    /// Whether the answer was remembered.
    #[garde(skip)]
    is_recalled: bool,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Card {
    id: CardId,
    front: String,
    back: String,
}

impl Data for Card {}

/// A tool of these tests: its category, its definition, and what it does.
macro_rules! tool {
    ($tool:ident, $name:literal, $category:ty, $params:ty, $output:ty, $definition:expr, $call:expr) => {
        struct $tool(StateAccess<Self, Learner>);

        impl Tool for $tool {
            const NAME: &'static str = $name;
            type Category = $category;
            type Params = $params;
            type Output = $output;

            fn definition() -> Definition<Self> {
                $definition
            }

            async fn call(
                &self,
                params: &$params,
                _: &ToolContext,
            ) -> Result<ToolOutput<$output>, ToolError> {
                let call: fn(&Self, &$params) -> ToolOutput<$output> = $call;
                Ok(call(self, params))
            }
        }
    };
}

tool!(
    GetCard,
    "get-card",
    Query,
    OneCard,
    Card,
    Definition {
        cache: Some(Ttl::minutes::<60>()),
        ..Definition::of(Version::new(1, 0, 0), ResponseTime::Fast, &["cards:read"])
            .what("Retrieves a card by ID")
            .when("you need to access card content")
            .returns("the card with both sides")
            .example(
                "Get card by ID",
                json!({ "cardId": "card_123" }),
                json!({ "id": "card_123", "front": "7 × 8", "back": "56" })
            )
            .tagged(&["cards", "content"])
    },
    |tool, params| {
        let learner = tool.0.read();
        let card = Card {
            id: params.card_id.clone(),
            front: "7 × 8".to_owned(),
            back: "56".to_owned(),
        };
        let sides = [&card.front, &card.back];
        let filled = sides.iter().filter(|side| !side.is_empty()).count() as u64;
        let evidence = Evidence::new(SourceQuality::High, completeness(filled, 2))
            .and(coverage(learner.reviews.min(20), 20));
        let hints = found(&evidence, "the card").suggest(Suggestion::to::<ReviewCard>());
        ToolOutput::new(card, hints)
    }
);

tool!(
    ReviewCard,
    "review-card",
    Mutation<Writes>,
    Review,
    Card,
    Definition::of(Version::new(1, 0, 0), ResponseTime::Fast, &["cards:review"])
        .what("Records a card review session")
        .when("the user has completed a review")
        .returns("the card")
        .example(
            "The answer was remembered",
            json!({ "cardId": "card_123", "isRecalled": true }),
            json!({ "id": "card_123", "front": "7 × 8", "back": "56" })
        )
        .tagged(&["learning"]),
    |tool, params| {
        let mut learner = tool.0.write();
        learner.reviews += 1;
        learner.as_predicted += u64::from(params.is_recalled);
        let card = Card {
            id: params.card_id.clone(),
            front: "7 × 8".to_owned(),
            back: "56".to_owned(),
        };
        ToolOutput::new(
            card,
            after_review::<ReviewNextCard, AdjustDifficulty>(&learner),
        )
    }
);

/// A tool that the others suggest.
macro_rules! suggested {
    ($tool:ident, $name:literal) => {
        tool!(
            $tool,
            $name,
            Analysis,
            OneCard,
            String,
            Definition::of(Version::new(1, 0, 0), ResponseTime::Fast, &[])
                .what("Goes on after a review of a card")
                .when("a review was recorded")
                .returns("what was done")
                .example("go on", json!({ "cardId": "card_123" }), json!("done"))
                .tagged(&["learning"]),
            |tool, _| {
                let evidence =
                    Evidence::new(SourceQuality::High, coverage(tool.0.read().reviews, 20));
                let at = "2026-11-17T09:30:00Z".parse().unwrap();
                let hints =
                    with_everything_else::<ReviewNextCard, AdjustDifficulty>(&evidence, at);
                ToolOutput::new("done".to_owned(), hints)
            }
        );
    };
}

suggested!(ReviewNextCard, "review-next-card");
suggested!(AdjustDifficulty, "adjust-difficulty");

fn service() -> Service {
    let state = ServiceState::from(Learner {
        reviews: 19,
        as_predicted: 18,
        suggested: 25,
        followed: 23,
    });
    Registry::new("cards", Version::new(1, 0, 0))
        .with(GetCard(state.access()))
        .with(ReviewCard(state.access()))
        .with(ReviewNextCard(state.access()))
        .with(AdjustDifficulty(state.access()))
        .into_service()
        .unwrap()
}

async fn called(tool: &str, arguments: Value) -> Value {
    let agent = ToolContext::new("tests", "1.0.0", Grants::Everything);
    service().call(tool, arguments, &agent).await.to_json()
}

#[test]
fn the_page_shows_the_code_that_is_tested() {
    let fields = include_str!("rich_hints/fields.rs");
    assert!(
        PAGE.contains(&format!("```rust\n{fields}```\n")),
        "docs/rich-hints.md does not show crates/contract/tests/rich_hints/fields.rs as it is, copy it there"
    );
}

#[tokio::test]
async fn ex_3_the_minimal_tool_of_the_contract_is_published_as_its_example_says() {
    let service = service();
    let tool = wire::tool(service.registry().get("get-card").unwrap());
    let definition = &tool["_meta"]["dev.mcpproxy/definition"];
    for (key, expected) in [
        ("name", json!("get-card")),
        ("permissions", json!(["cards:read"])),
        ("category", json!("query")),
        ("responseTime", json!("fast")),
        ("cacheable", json!(true)),
        ("cacheTTL", json!(3600)),
        ("idempotent", json!(true)),
        ("tags", json!(["cards", "content"])),
    ] {
        assert_eq!(definition[key], expected, "{key}");
    }
    let description = definition["description"].as_str().unwrap();
    let said = "Retrieves a card by ID. Use when you need to access card content.";
    assert!(description.starts_with(said), "{description}");
    let example = &definition["examples"][0];
    assert_eq!(example["description"], "Get card by ID");
    assert_eq!(example["params"], json!({ "cardId": "card_123" }));
    assert_eq!(tool["inputSchema"]["required"], json!(["cardId"]));

    let result = called("get-card", json!({ "cardId": "card_123" })).await;
    assert_eq!(result["data"]["id"], "card_123");
    let hints = &result["agentHints"];
    assert_eq!(hints["suggestedNextActions"][0]["action"], "review-card");
    assert!(hints["relatedResources"].is_array());
    assert!(hints["confidence"].is_number());
    for key in [
        "toolVersion",
        "timestamp",
        "executionTime",
        "serviceVersion",
    ] {
        assert!(!result["metadata"][key].is_null(), "{key}");
    }
}

#[tokio::test]
async fn ex_3_the_tool_with_rich_hints_answers_as_the_example_of_the_contract_says() {
    let review = json!({ "cardId": "card_123", "isRecalled": true });
    let mut hints = called("review-card", review).await["agentHints"].take();
    let fields = hints.as_object_mut().unwrap();
    assert_eq!(
        fields.remove("metadata").unwrap()["generatedBy"],
        "cards/review-card"
    );
    let reasoning = fields.remove("reasoning").unwrap();
    let said = "High confidence based on FSRS algorithm and recent performance";
    assert!(reasoning.as_str().unwrap().starts_with(said), "{reasoning}");
    let example = include_str!("rich_hints/example.json");
    let expected: Value = serde_json::from_str(example).unwrap();
    assert_eq!(hints, expected);
}

#[tokio::test]
async fn ex_3_every_other_field_of_hints_is_sent_as_the_page_shows_it() {
    let result = called("adjust-difficulty", json!({ "cardId": "card_123" })).await;
    let hints = &result["agentHints"];
    let action = json!({
        "action": "adjust-difficulty",
        "priority": "medium",
        "description": "Make the card easier",
        "estimatedTime": 50,
        "estimatedCost": 0.5,
        "prerequisites": ["review-next-card"],
        "reversible": true,
    });
    assert_eq!(hints["suggestedNextActions"], json!([action]));
    let metadata = json!({
        "category": "mathematics",
        "lastAccessed": "2026-11-17T09:30:00Z",
        "accessCount": 12,
    });
    assert_eq!(hints["relatedResources"][0]["metadata"], metadata);
    assert_eq!(
        hints["riskFactors"][0]["mitigation"],
        "Review the card once more before changing it"
    );
    let alignment = &hints["preferenceAlignment"][0];
    assert_eq!(alignment["alignment"], "conflict");
    assert_eq!(alignment["explanation"], "It makes the session longer");
    let warning = &hints["warnings"][0];
    assert_eq!(warning["relatedIds"], json!(["card_123"]));
    assert_eq!(warning["suggestedFix"], "Set the difficulty back to 3");
    let alternative = json!({
        "approach": "Split the card in two",
        "confidence": 0.5,
        "reasoning": "It asks for two things at once",
        "pros": ["Each half is easier"],
        "cons": ["Its reviews are lost"],
        "estimatedImpact": 0.6,
    });
    assert_eq!(hints["alternatives"], json!([alternative]));
    assert_eq!(
        hints["constraints"],
        json!(["Must complete within the current session"])
    );
    assert_eq!(hints["metadata"]["modelVersion"], "fsrs-6");
    // Where the author says nothing on the impact, it is estimated from the suggestions.
    assert!(hints["estimatedImpact"]["roi"].is_number());
}
