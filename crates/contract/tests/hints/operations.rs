//! The hints that the usual operations start from.

use mcpproxy_contract::prelude::*;

use super::wire;

#[test]
fn the_usual_operations_have_hints_to_start_from() {
    let evidence = Evidence::new(SourceQuality::High, completeness(1, 1));
    let deck = || RelatedResource::new("deck", "deck_456", "Math Deck", Share::ALL);
    for (hints, validity, reason, related) in [
        (
            found(&evidence, "card card_1"),
            "medium",
            "Found card card_1.",
            0,
        ),
        (
            created(&evidence, deck()),
            "medium",
            "Created deck 'Math Deck' (deck_456).",
            1,
        ),
        (
            changed(&evidence, deck()),
            "short",
            "Changed deck 'Math Deck' (deck_456).",
            1,
        ),
        (
            deleted(&evidence, deck()),
            "indefinite",
            "Deleted deck 'Math Deck' (deck_456).",
            0,
        ),
        (listed(&evidence, 0, 0), "short", "The list is empty.", 0),
        (listed(&evidence, 7, 7), "short", "Listed 7 of 7.", 0),
        // Something was added between counting and listing.
        (listed(&evidence, 8, 7), "short", "Listed 8 of 8.", 0),
    ] {
        let wire = wire(&hints);
        assert_eq!(wire["validityPeriod"], validity, "{reason}");
        assert!(hints.reasoning().starts_with(reason), "{wire}");
        assert_eq!(
            wire["relatedResources"].as_array().map(Vec::len),
            Some(related),
            "{reason}"
        );
    }
    let gone = wire(&deleted(&evidence, deck()));
    assert_eq!(gone["warnings"][0]["relatedIds"], json!(["deck_456"]));
}

#[test]
fn a_part_of_a_list_says_what_is_missing() {
    let evidence = Evidence::new(SourceQuality::High, coverage(10, 40));
    let hints = wire(&listed(&evidence, 10, 40));
    assert_eq!(hints["riskFactors"][0]["probability"], 0.75);
    assert_eq!(
        hints["contextNeeded"],
        json!(["the 30 entries that are not in this answer"])
    );
    let complete = wire(&listed(&evidence, 40, 40));
    assert_eq!(complete["riskFactors"], json!([]));
    assert_eq!(complete["contextNeeded"], json!([]));
}
