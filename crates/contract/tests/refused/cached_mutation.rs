//! MUST NEVER: cache mutation operations.
//~ expected `Uncached`, found `Option<
#[path = "shared.rs"]
#[macro_use]
mod shared;
use shared::*;

tool! {
    category: Mutation<Writes>,
    output: Card,
    cache: Some(Ttl::minutes::<5>()),
    rate_limit: None,
    call: |params| Ok(ToolOutput::new(card(), hints()))
}
