//! Ranking by words: BM25F over the fields of all tools together.

use std::cell::Cell;

use super::query::QueryWord;
use super::visible::VisibleTools;
use crate::index::Term;
use crate::index::may_be_misspelt;
use crate::index::{FIELD_COUNT, FIELDS, Index, Posting, Segment};

/// Constant that says how soon further occurrences of a word stop to count (`k1` of BM25).
const SATURATION: f32 = 1.2;

/// Words that those of one query that nothing has are compared with, at most, and words that are considered for one:
/// nobody's words, of a server or of an agent, may make a search slow.
const COMPARISONS: usize = 5_000;
const CANDIDATES: usize = 16;

/// Share of a match that is left when the word is only meant, not written.
const MISSPELT_SHARE: f32 = 0.7;

/// Ranking by the postings of a query's words, and what they are worth.
pub(super) struct Ranking<'a> {
    average_lengths: [f32; FIELD_COUNT],
    pub(super) words: Vec<RankedWord<'a>>,
}

/// Word of a query, and where it occurs.
pub(super) struct RankedWord<'a> {
    /// The word as it was written.
    pub(super) written: &'a str,
    /// The word that was taken for it, because no tool has what was written.
    pub(super) meant: Option<String>,
    /// The word's share of the score, at most.
    share: f32,
    /// Postings of it, for each segment.
    postings: Vec<&'a [Posting]>,
}

impl<'a> Ranking<'a> {
    pub(super) fn new(index: &'a Index, visible: &VisibleTools, words: &'a [QueryWord]) -> Self {
        let figures = visible.figures(index);
        let budget = Cell::new(COMPARISONS);
        let ranked = words.iter().map(|word| {
            let (postings, count) = occurrences(index, visible, word.term);
            // How rare a word is that was written decides what it is worth, also where another one is meant.
            let share = rarity(figures.documents, count);
            let meant = if count == 0 {
                meant(index, visible, &word.text, &budget)
            } else {
                None
            };
            let Some((text, term)) = meant else {
                return RankedWord {
                    written: &word.text,
                    meant: None,
                    share,
                    postings,
                };
            };
            RankedWord {
                written: &word.text,
                meant: Some(text),
                share,
                postings: occurrences(index, visible, term).0,
            }
        });
        let mut words: Vec<RankedWord<'_>> = ranked.collect();
        let total: f32 = words.iter().map(|word| word.share).sum();
        for word in &mut words {
            word.share /= total;
            if word.meant.is_some() {
                word.share *= MISSPELT_SHARE;
            }
        }
        Self {
            average_lengths: figures.average_lengths,
            words,
        }
    }

    /// Adds the scores of one segment's tools.
    pub(super) fn score(&self, position: usize, segment: &Segment, scores: &mut [f32]) {
        for word in &self.words {
            for posting in word.postings[position] {
                scores[posting.document as usize] += self.points(word, posting, segment);
            }
        }
    }

    /// Points that a tool has for a word, and its posting, if it has the word.
    pub(super) fn match_of(
        &self,
        word: &RankedWord<'a>,
        position: usize,
        segment: &Segment,
        place: usize,
    ) -> Option<(f32, &'a Posting)> {
        let mut postings = word.postings[position].iter();
        let posting = postings.find(|posting| posting.document as usize == place)?;
        Some((self.points(word, posting, segment), posting))
    }

    fn points(&self, word: &RankedWord<'_>, posting: &Posting, segment: &Segment) -> f32 {
        let frequency = self.frequency(posting, segment.lengths(posting.document));
        word.share * frequency / (SATURATION + frequency)
    }

    fn frequency(&self, posting: &Posting, lengths: &[u16; FIELD_COUNT]) -> f32 {
        let mut frequency = 0.0;
        for (number, field) in FIELDS.iter().enumerate() {
            let count = posting.counts[number];
            if count > 0 {
                let length = f32::from(lengths[number]) / self.average_lengths[number];
                frequency += field.weight * f32::from(count)
                    / (1.0 - field.dilution + field.dilution * length);
            }
        }
        frequency
    }
}

/// Postings of a word, and how many of the tools that have it are visible.
fn occurrences<'a>(
    index: &'a Index,
    visible: &VisibleTools,
    term: Term,
) -> (Vec<&'a [Posting]>, usize) {
    let segments = index.segments.iter();
    let postings: Vec<&[Posting]> = segments.map(|segment| segment.postings(term)).collect();
    let counts = postings.iter().enumerate();
    let counts = counts.map(|(segment, list)| visible.count(segment, list));
    let count = counts.sum();
    (postings, count)
}

/// Word that is meant by one that no visible tool has: the nearest, and of several the one that most tools have.
fn meant(
    index: &Index,
    visible: &VisibleTools,
    written: &str,
    budget: &Cell<usize>,
) -> Option<(String, Term)> {
    if !may_be_misspelt(written) {
        return None;
    }
    let segments = index.segments.iter().enumerate();
    let near = segments.flat_map(|(position, segment)| {
        let near = segment.known_words.near(written, budget);
        near.filter_map(move |(wrong, word, term)| {
            let count = visible.count(position, segment.postings(term));
            (count > 0).then_some((wrong, word, term))
        })
    });
    let nearest = near.take(CANDIDATES).min_by_key(|(wrong, word, term)| {
        let count = occurrences(index, visible, *term).1;
        (*wrong, std::cmp::Reverse(count), *word)
    });
    nearest.map(|(_, word, term)| (word.to_owned(), term))
}

/// Weight of a word that this many of all visible tools have; above zero.
fn rarity(documents: usize, occurrences: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "counts of tools are small")]
    let (documents, occurrences) = (documents as f32, occurrences as f32);
    (1.0 + (documents - occurrences + 0.5) / (occurrences + 0.5)).ln()
}
