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

    async fn call(&self, _: &CardParams, _: &ToolContext) -> Result<ToolOutput<Card>, ToolError> {
        Ok(ToolOutput::new(card(), hints()))
    }
}

fn main() {}
