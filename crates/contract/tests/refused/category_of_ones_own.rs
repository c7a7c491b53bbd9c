//! There are four categories and no fifth.
//~ sealed::Sealed` is not satisfied
#[path = "shared.rs"]
mod shared;
use mcpproxy_contract::{Category, CategoryName, CategoryEffect};
use shared::*;

enum Guess {}

impl Category for Guess {
    type Cache = Option<Ttl>;
    const NAME: CategoryName = CategoryName::Mutation;
    const EFFECT: CategoryEffect = CategoryEffect::Reads;
}

fn main() {}
