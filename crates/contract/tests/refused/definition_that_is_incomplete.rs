//! Every required field of a definition: none can be left out.
//~ missing fields `cache`, `examples`, `idempotent` and 4 other fields
#[path = "shared.rs"]
mod shared;
use shared::*;

struct GetCard;

impl Tool for GetCard {
    const NAME: &'static str = "get-card";
    type Category = Query;
    type Params = CardParams;
    type Output = Card;

    fn definition() -> Definition<Self> {
        Definition {
            description: description(),
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(&self, _: &CardParams, _: &ToolContext) -> Result<ToolOutput<Card>, ToolError> {
        Ok(ToolOutput::new(card(), hints()))
    }
}

fn main() {}
