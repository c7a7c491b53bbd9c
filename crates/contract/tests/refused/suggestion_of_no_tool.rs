//! A suggestion names a tool that exists.
//~ the trait bound `ReviewNextCard: Tool` is not satisfied
#[path = "shared.rs"]
mod shared;
use shared::*;

struct ReviewNextCard;

fn main() {
    let _ = Suggestion::to::<ReviewNextCard>();
}
