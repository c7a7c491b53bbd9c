//! cacheTTL must be more than zero if cacheable is true.
//~ a result that is kept for no time is not kept
#[path = "shared.rs"]
#[macro_use]
mod shared;
use shared::*;

tool! {
    category: Query,
    output: Card,
    cache: Some(Ttl::seconds::<0>()),
    rate_limit: None,
    call: |params| Ok(ToolOutput::new(card(), hints()))
}
