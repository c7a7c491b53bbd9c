//! MUST NEVER: have side effects in query operations.
//~ but its trait bounds were not satisfied
#[path = "shared.rs"]
mod shared;
use shared::*;

struct CountCards(StateAccess<Self, u64>);

impl Tool for CountCards {
    const NAME: &'static str = "count-cards";
    type Category = Query;
    type Params = CardParams;
    type Output = Card;

    fn definition() -> Definition<Self> {
        Definition::of(Version::new(1, 0, 0), ResponseTime::Fast, &[])
            .what("Counts cards")
            .when("a test needs a tool")
            .returns("a card")
            .example("count", json!({ "text": "x" }), json!({ "front": "Question" }))
            .tagged(&["cards"])
    }

    async fn call(&self, _: &CardParams, _: &ToolContext) -> Result<ToolOutput<Card>, ToolError> {
        *self.0.write() += 1;
        Ok(ToolOutput::new(card(), hints()))
    }
}

fn main() {
    let state = ServiceState::from(0);
    let _ = Service::of(CountCards(state.access()));
}
