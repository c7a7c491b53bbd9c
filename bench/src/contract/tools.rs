//! The same trivial query three times: answered anew, kept, and limited.

use mcpproxy_contract::prelude::*;
use serde_json::Value;

/// What the queries take.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
pub(super) struct Numbers {
    /// The first number.
    #[garde(range(max = 1_000_000))]
    pub(super) first: u64,
    /// The second number.
    #[garde(range(max = 1_000_000))]
    pub(super) second: u64,
}

/// What they answer.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Sum {
    pub(super) sum: u64,
}

impl Data for Sum {}

/// What each of them is called with.
pub(super) fn numbers() -> Numbers {
    Numbers {
        first: 2,
        second: 40,
    }
}

/// The same as it is sent.
pub(super) fn arguments() -> Value {
    json!({ "first": 2, "second": 40 })
}

/// Declares one of the queries; `more` is what its definition has besides the usual.
macro_rules! query {
    ($tool:ident, $name:literal, { $($more:tt)* }) => {
        pub(super) struct $tool;

        impl Tool for $tool {
            const NAME: &'static str = $name;
            type Category = Query;
            type Params = Numbers;
            type Output = Sum;

            fn definition() -> Definition<Self> {
                Definition {
                    $($more)*
                    ..Definition::of(Version::new(1, 0, 0), ResponseTime::Fast, &["numbers:read"])
                        .what("Adds two numbers")
                        .when("the cost of a call is measured")
                        .returns("their sum")
                        .example("add two numbers", arguments(), json!({ "sum": 42 }))
                        .tagged(&["numbers"])
                }
            }

            async fn call(&self, params: &Numbers, _: &ToolContext) -> Result<ToolOutput<Sum>, ToolError> {
                let sum = params.first + params.second;
                let evidence = Evidence::new(SourceQuality::High, completeness(2, 2));
                Ok(ToolOutput::new(Sum { sum }, found(&evidence, "the sum")))
            }
        }
    };
}

query!(AddNumbers, "add-numbers", {});
query!(RecallSum, "recall-sum", { cache: Some(Ttl::minutes::<60>()), });
// A window so short and a limit so high that no call is ever refused: only the counting is measured.
query!(CountSum, "count-sum", { rate_limit: Some(RateLimit::calls::<10_000_000, 10>()), });
