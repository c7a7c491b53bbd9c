//! What is counted and measured, so that every confidence rests on something.

use std::time::Duration;

use jiff::Timestamp;
use mcpproxy_contract::agent_hints::{
    Evidence, Factor, SourceQuality, agreement, completeness, coverage, freshness,
};

use crate::model::Card;
use crate::schedule::between;
use crate::store::Tally;

/// What somebody wrote on a card half a year ago may need another look.
const CARD_GOOD_FOR: Duration = Duration::from_hours(180 * 24);

/// Two weeks without a review, and nobody knows what is still remembered.
const REVIEWS_GOOD_FOR: Duration = Duration::from_hours(14 * 24);

/// From so many reviews on, more of them say nothing new.
pub(super) const ENOUGH_REVIEWS: u64 = 8;

/// A card as it was written: how much of it there is, and how old it is.
pub(super) fn written(card: &Card, now: Timestamp) -> Evidence {
    let age = between(card.metadata.updated_at, now);
    Evidence::new(
        SourceQuality::High,
        completeness(card.parts_filled(), Card::PARTS),
    )
    .and(freshness(age, CARD_GOOD_FOR))
}

/// How many reviews something rests on. That the card is there counts as the first observation, so
/// that a card without reviews is a card of which little is known, and not of which nothing is.
pub(super) fn observed(reviews: u64) -> Factor {
    coverage(reviews.min(ENOUGH_REVIEWS) + 1, ENOUGH_REVIEWS + 1)
}

/// How many reviews say the same. One more on either side, so that the first review alone neither
/// proves nor ruins anything.
pub(super) fn steady(same: u64, reviews: u64) -> Factor {
    agreement(same + 1, reviews + 2)
}

/// How new the last review is. Without one, nothing has got old.
pub(super) fn last_reviewed(tally: &Tally, now: Timestamp) -> Factor {
    let age = tally.last_at.map_or(Duration::ZERO, |at| between(at, now));
    freshness(age, REVIEWS_GOOD_FOR)
}

/// What so many reviews are good for as a source.
pub(super) fn quality(reviews: u64) -> SourceQuality {
    match reviews {
        0 => SourceQuality::Low,
        few if few < ENOUGH_REVIEWS => SourceQuality::Medium,
        _ => SourceQuality::High,
    }
}
