//! MUST NEVER: mutate input parameters.
//~ cannot borrow `params.text` as mutable
#[path = "shared.rs"]
#[macro_use]
mod shared;
use shared::*;

tool! {
    category: Query,
    output: Card,
    cache: None,
    rate_limit: None,
    call: |params| {
        params.text.clear();
        Ok(ToolOutput::new(card(), hints()))
    }
}
