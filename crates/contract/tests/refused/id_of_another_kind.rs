//! An id of one kind is not taken for another.
//~ expected `DeckId`, found `CardId`
use mcpproxy_contract::branded_id;

branded_id!(/** A card. */ pub CardId, "card");
branded_id!(/** A deck. */ pub DeckId, "deck");

fn main() {
    let _: DeckId = CardId::numbered(1);
}
