//! Three small tools that work, for hints to name.

use mcpproxy_contract::prelude::*;

/// Which card.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CardParams {
    /// The id of the card.
    #[garde(length(min = 1))]
    pub(crate) card_id: String,
    /// How hard it is meant to be.
    #[garde(range(min = 0.0, max = 1.0))]
    pub(crate) difficulty: f64,
}

/// A card.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Card {
    /// What is asked.
    pub(crate) front: String,
}

impl Data for Card {}

/// A tool that answers with the card it was asked for.
macro_rules! card_tool {
    ($name:ident, $kebab:literal) => {
        pub(crate) struct $name;

        impl Tool for $name {
            const NAME: &'static str = $kebab;
            type Category = Query;
            type Params = CardParams;
            type Output = Card;

            fn definition() -> Definition<Self> {
                Definition {
                    version: Version::new(1, 0, 0),
                    description: Description {
                        what: "Reads one card by its id.",
                        when: "Use when the content of a card is needed.",
                        returns: "Returns the card.",
                        uses: &["show a card"],
                    },
                    permissions: &["cards:read"],
                    response_time: ResponseTime::Fast,
                    cache: None,
                    idempotent: true,
                    examples: vec![Example {
                        description: "One card",
                        params: json!({ "cardId": "card_1", "difficulty": 0.5 }),
                        expected_result: json!({ "front": "card_1" }),
                    }],
                    tags: &["cards"],
                    rate_limit: None,
                    deprecated: None,
                }
            }

            async fn call(
                &self,
                params: &CardParams,
                _: &ToolContext,
            ) -> Result<ToolOutput<Card>, ToolError> {
                let evidence = Evidence::new(SourceQuality::High, completeness(1, 1));
                let card = Card {
                    front: params.card_id.clone(),
                };
                Ok(ToolOutput::new(
                    card,
                    found(&evidence, &params.card_id),
                ))
            }
        }
    };
}

card_tool!(ReviewNextCard, "review-next-card");
card_tool!(AdjustDifficulty, "adjust-difficulty");
card_tool!(ReviewCard, "review-card");
