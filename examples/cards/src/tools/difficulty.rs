//! `adjust-difficulty`: how fast the intervals of a card grow.

use std::cmp::Ordering;

use mcpproxy_contract::prelude::*;

use super::evidence::{observed, quality, steady};
use super::lookup::{ReviewNextCard, ReviewNextCardParams};
use super::{caller, card_resource, deck_resource, samples, write};
use crate::model::{Card, CardId, Difficulty, Grade};
use crate::store::{CardChanges, History, Store, Tally};

/// Sets the difficulty of a card.
pub(crate) struct AdjustDifficulty(pub(crate) Store);

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdjustDifficultyParams {
    /// The card.
    #[garde(dive)]
    pub(crate) card_id: CardId,
    /// How hard it is from now on: 1 is easy, 3 is usual, 5 is hard.
    #[garde(skip)]
    pub(crate) difficulty: Difficulty,
}

/// The difficulty that a grade speaks for.
pub(super) fn proposed(difficulty: Difficulty, grade: Grade) -> Difficulty {
    let number = difficulty.number();
    let number = match grade {
        Grade::FORGOTTEN => number.saturating_add(1),
        Grade::EASY => number.saturating_sub(1),
        _ => number,
    };
    // Beyond the ends it stays where it is.
    Difficulty::parse(number).unwrap_or(difficulty)
}

// === impl AdjustDifficulty ===

impl Tool for AdjustDifficulty {
    const NAME: &'static str = "adjust-difficulty";
    type Category = Mutation<Writes>;
    type Params = AdjustDifficultyParams;
    type Output = Card;

    fn definition() -> Definition<Self> {
        Definition {
            version: Version::new(1, 0, 0),
            description: Description {
                what: "Sets how hard a card is, which decides how fast its intervals grow",
                when: "a card comes back too often or too rarely",
                returns: "the card as it is now; its next review stays where it is planned",
                uses: &["make a card count as hard after it was forgotten twice"],
            },
            permissions: &["cards:update"],
            response_time: ResponseTime::Fast,
            cache: Uncached,
            idempotent: true,
            examples: vec![Example {
                description: "A card of usual difficulty",
                params: json!({ "cardId": "card_11", "difficulty": 3 }),
                expected_result: samples::card(),
            }],
            tags: &["cards", "scheduling"],
            rate_limit: None,
            deprecated: None,
        }
    }

    async fn call(
        &self,
        params: &AdjustDifficultyParams,
        context: &ToolContext,
    ) -> Result<ToolOutput<Card>, ToolError> {
        let (id, now) = (params.card_id.clone(), context.timestamp);
        let changes = CardChanges {
            difficulty: Some(params.difficulty),
            by: caller(context),
            ..CardChanges::default()
        };
        let (former, card, deck, tally) = write(&self.0, now, move |store| {
            let former = store.card(&id)?;
            let card = store.update_card(&id, &changes)?;
            let deck = store.deck(&card.deck_id, now)?;
            let tally = store.tally(&History::of_card(&id))?;
            Ok((former, card, deck, tally))
        })
        .await?;
        let go_on = ReviewNextCardParams {
            deck_id: Some(deck.deck_id.clone()),
        };
        let hints = hints_on(&former, &card, &tally)
            .relate(deck_resource(&deck, Share::percent(50)))
            .suggest(Suggestion::with::<ReviewNextCard>(&go_on).category(ActionCategory::Learning));
        Ok(ToolOutput::new(card, hints))
    }
}

/// How sure the change is: whether there are reviews, and whether they speak for it.
fn hints_on(former: &Card, card: &Card, tally: &Tally) -> AgentHints {
    let forgotten = tally.reviews - tally.recalled.min(tally.reviews);
    let (speaking, direction) = match card.difficulty.cmp(&former.difficulty) {
        Ordering::Greater => (forgotten, "harder"),
        Ordering::Less => (tally.recalled, "easier"),
        Ordering::Equal => (tally.reviews, "as hard as before"),
    };
    let evidence = Evidence::new(quality(tally.reviews), observed(tally.reviews))
        .and(steady(speaking, tally.reviews));
    let hints = changed(&evidence, card_resource(card, Share::ALL)).because(format!(
        "The card counts as {direction}; {speaking} of {} reviews speak for it",
        tally.reviews
    ));
    if speaking * 2 >= tally.reviews {
        return hints;
    }
    let message = "Most reviews of the card speak for the opposite";
    let fix = format!("set the difficulty back to {}", former.difficulty.number());
    hints.warn(HintWarning {
        related_ids: Some(vec![card.card_id.to_string()]),
        suggested_fix: Some(fix),
        auto_fixable: Some(true),
        ..HintWarning::new(WarningType::Conflict, Severity::Low, message)
    })
}
