//! MUST ALWAYS: validate inputs. Parameters without checks are no parameters.
//~ `garde::Validate` is not implemented for `Unchecked`
#[path = "shared.rs"]
mod shared;
use mcpproxy_contract::Params;
use shared::*;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Unchecked {
    text: String,
}

fn takes<P: Params>() {}

fn main() {
    takes::<Unchecked>();
}
