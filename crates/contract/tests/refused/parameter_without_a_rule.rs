//! MUST NEVER: skip input validation. Every parameter has a rule.
//~ field has no validation
use mcpproxy_contract::prelude::*;

#[derive(Serialize, Deserialize, JsonSchema, Validate)]
struct Unchecked {
    /// The text.
    text: String,
}

fn main() {}
