//! The category is specified.
//~ not all trait items implemented, missing: `Category`
#[path = "shared.rs"]
mod shared;
use shared::*;

struct GetCard;

impl Tool for GetCard {
    const NAME: &'static str = "get-card";
    type Params = CardParams;
    type Output = Card;

    fn definition() -> Definition<Self> {
        unimplemented!()
    }

    async fn call(&self, _: &CardParams, _: &ToolContext) -> Result<Answer<Card>, ToolError> {
        Ok(Answer::new(card(), hints()))
    }
}

fn main() {}
