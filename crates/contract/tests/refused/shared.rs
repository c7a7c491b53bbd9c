//! What the cases share: parameters, data and hints that are fine.
#![allow(dead_code)]

pub use mcpproxy_contract::prelude::*;

#[derive(Serialize, Deserialize, JsonSchema, Validate)]
pub struct CardParams {
    /// The text.
    #[garde(length(chars, max = 10))]
    pub text: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Card {
    pub front: String,
}

impl Data for Card {}

pub fn card() -> Card {
    Card {
        front: "Question".to_owned(),
    }
}

pub fn hints() -> AgentHints {
    found(
        &Evidence::new(SourceQuality::High, completeness(1, 1)),
        "the card",
    )
}

pub fn description() -> Description {
    Description {
        what: "Reads one card",
        when: "a test needs a tool",
        returns: "the card",
        uses: &["show a card"],
    }
}

/// The tool the cases spoil.
#[macro_export]
macro_rules! tool {
    (
        category: $category:ty,
        output: $output:ty,
        cache: $cache:expr,
        rate_limit: $rate_limit:expr,
        call: |$params:ident| $call:expr
    ) => {
        struct GetCard;

        impl Tool for GetCard {
            const NAME: &'static str = "get-card";
            type Category = $category;
            type Params = CardParams;
            type Output = $output;

            fn definition() -> Definition<Self> {
                Definition {
                    version: Version::new(1, 0, 0),
                    description: description(),
                    permissions: &["cards:read"],
                    response_time: ResponseTime::Fast,
                    cache: $cache,
                    idempotent: true,
                    examples: vec![Example {
                        description: "One card",
                        params: json!({ "text": "x" }),
                        expected_result: json!({ "front": "Question" }),
                    }],
                    tags: &["cards"],
                    rate_limit: $rate_limit,
                    deprecated: None,
                }
            }

            async fn call(
                &self,
                $params: &CardParams,
                _: &ToolContext,
            ) -> Result<ToolOutput<$output>, ToolError> {
                let _ = $params;
                $call
            }
        }

        fn main() {
            let mut registry = Registry::new("cards", Version::new(1, 0, 0));
            if let Err(violations) = registry.register(GetCard) {
                panic!("{violations}");
            }
        }
    };
}
