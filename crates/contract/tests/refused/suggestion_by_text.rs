//! A suggestion is no text that somebody typed in.
//~ this function takes 0 arguments but 1 argument was supplied
#[path = "shared.rs"]
mod shared;
use shared::*;

fn main() {
    let _ = Suggestion::to("review-next-card");
}
