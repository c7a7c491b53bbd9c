//! Explanation of a hit: why it stands where it stands.

use serde::Serialize;

use super::lexical::Ranking;
use crate::index::{FIELDS, Segment};
use crate::present;

/// Reasons for the score of a hit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// Words of the query that the tool has.
    pub words: Vec<MatchedWord>,
    /// Share of the query that these words cover, from 0 to 1.
    pub coverage: f64,
    /// Likeness of meaning, around 0.05 for what has nothing to do with it; nothing where meaning did not count, or as
    /// long as the tool has no vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// Reason why it stands higher or lower than words and meaning alone have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<&'static str>,
}

/// Word of a query that a tool has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatchedWord {
    /// The word as it was written.
    pub word: String,
    /// The word that was taken for it: a synonym, or one that is spelt nearly so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meant: Option<String>,
    /// Parts of the tool that have it.
    pub fields: Vec<&'static str>,
    /// Share of the query that it covers here.
    pub points: f64,
}

/// The words of a query that a tool has.
pub(super) fn matched_words(
    ranking: &Ranking<'_>,
    position: usize,
    segment: &Segment,
    place: usize,
) -> Vec<MatchedWord> {
    let words = ranking.words.iter().filter_map(|word| {
        let found = ranking.match_of(word, position, segment, place)?;
        let fields = FIELDS.iter().zip(found.posting.counts);
        let fields = fields.filter(|(_, count)| *count > 0);
        Some(MatchedWord {
            word: word.written.to_owned(),
            meant: found.meant.map(str::to_owned),
            fields: fields.map(|(field, _)| field.name).collect(),
            points: rounded(found.points),
        })
    });
    words.collect()
}

/// Share of the query that some words cover.
pub(super) fn covered(words: &[MatchedWord]) -> f64 {
    let points = words.iter().map(|word| word.points);
    // Rounded once more: sums of decimals have a long tail.
    present::rounded(points.fold(0.0, |sum, points| sum + points))
}

/// A number that people compare, with three decimals.
pub(super) fn rounded(number: f32) -> f64 {
    (f64::from(number) * 1_000.0).round() / 1_000.0
}
