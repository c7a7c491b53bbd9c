//! The prefix of an id has small letters, digits and inner underscores.
//~ the prefix of an id begins with a small letter
mcpproxy_contract::branded_id!(/** A card. */ pub CardId, "Card ");

fn main() {}
