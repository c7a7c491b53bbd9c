//! Ranking by words: BM25F over the fields of all tools together.

use super::query::QueryWord;
use super::synonyms::synonyms;
use super::visible::VisibleTools;
use crate::index::Term;
use crate::index::may_be_misspelt;
use crate::index::{FIELD_COUNT, FIELDS, Index, Posting, Segment};

/// Constant that says how soon further occurrences of a word stop to count (`k1` of BM25).
const SATURATION: f32 = 1.2;

/// Words of a query that may be misspelt, and words that one of them may be meant to be, at most: nobody's words, of a
/// server or of an agent, may make a search slow.
const MISSPELT: usize = 8;
const CANDIDATES: usize = 16;

/// Shares of a match that are left when the word is only meant, not written.
const MISSPELT_SHARE: f32 = 0.7;
const SYNONYM_SHARE: f32 = 0.5;

/// Ranking by the postings of a query's words, and what they are worth.
pub(super) struct Ranking<'a> {
    average_lengths: [f32; FIELD_COUNT],
    pub(super) words: Vec<RankedWord<'a>>,
}

/// Word of a query, and where it occurs.
pub(super) struct RankedWord<'a> {
    /// The word as it was written.
    pub(super) written: &'a str,
    /// The word's share of the score, at most.
    share: f32,
    /// The word itself, and words that may stand for it. A tool has the points of the one that gives it most.
    forms: Vec<Form<'a>>,
}

/// Form of a query's word in which tools may have it.
struct Form<'a> {
    /// The word, where it is another one than what was written.
    meant: Option<&'a str>,
    /// Share of a match that counts.
    share: f32,
    /// Postings of it, for each segment.
    postings: Vec<&'a [Posting]>,
}

/// Match of a query's word with a tool.
pub(super) struct WordMatch<'a> {
    pub(super) points: f32,
    pub(super) posting: &'a Posting,
    /// The word that the tool has, where it is another one than what was written.
    pub(super) meant: Option<&'a str>,
}

impl<'a> Ranking<'a> {
    pub(super) fn new(index: &'a Index, visible: &VisibleTools, words: &'a [QueryWord]) -> Self {
        let figures = visible.figures(index);
        let mut left = MISSPELT;
        let ranked = words.iter().map(|word| {
            let (postings, count) = occurrences(index, visible, word.term);
            let mut forms = synonyms_in(index, visible, word.term);
            // A word with synonyms is a word, and not another one misspelt.
            let is_misspelt = count == 0 && left > 0 && synonyms(word.term).is_empty();
            if is_misspelt && may_be_misspelt(&word.text) {
                left -= 1;
                forms.extend(misspelt(index, visible, &word.text));
            }
            if count > 0 {
                forms.push(Form {
                    meant: None,
                    share: 1.0,
                    postings,
                });
            }
            RankedWord {
                written: &word.text,
                // How rare a word is that was written decides what it is worth, also where another one is meant.
                share: rarity(figures.documents, count),
                forms,
            }
        });
        let mut words: Vec<RankedWord<'_>> = ranked.collect();
        let total: f32 = words.iter().map(|word| word.share).sum();
        for word in &mut words {
            word.share /= total;
        }
        Self {
            average_lengths: figures.average_lengths,
            words,
        }
    }

    /// Adds the scores of one segment's tools.
    pub(super) fn score(&self, position: usize, segment: &Segment, scores: &mut [f32]) {
        let mut most = vec![0.0_f32; scores.len()];
        for word in &self.words {
            for form in &word.forms {
                for posting in form.postings[position] {
                    let points = self.points(word, form, posting, segment);
                    let most = &mut most[posting.document as usize];
                    *most = most.max(points);
                }
            }
            // What one word gave is taken before the next one gives: only where it gave anything.
            for form in &word.forms {
                for posting in form.postings[position] {
                    let place = posting.document as usize;
                    scores[place] += std::mem::take(&mut most[place]);
                }
            }
        }
    }

    /// Match of a word with a tool, if the tool has it in any form.
    pub(super) fn match_of<'b>(
        &self,
        word: &'b RankedWord<'a>,
        position: usize,
        segment: &Segment,
        place: usize,
    ) -> Option<WordMatch<'b>> {
        let matches = word.forms.iter().filter_map(|form| {
            let mut postings = form.postings[position].iter();
            let posting = postings.find(|posting| posting.document as usize == place)?;
            Some(WordMatch {
                points: self.points(word, form, posting, segment),
                posting,
                meant: form.meant,
            })
        });
        matches.max_by(|one, other| one.points.total_cmp(&other.points))
    }

    fn points(
        &self,
        word: &RankedWord<'_>,
        form: &Form<'_>,
        posting: &Posting,
        segment: &Segment,
    ) -> f32 {
        let frequency = self.frequency(posting, segment.lengths(posting.document));
        word.share * form.share * frequency / (SATURATION + frequency)
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

/// Synonyms of a word that visible tools have.
fn synonyms_in<'a>(index: &'a Index, visible: &VisibleTools, term: Term) -> Vec<Form<'a>> {
    let found = synonyms(term).iter().filter_map(|synonym| {
        let (postings, count) = occurrences(index, visible, synonym.term);
        (count > 0).then_some(Form {
            meant: Some(synonym.word),
            share: SYNONYM_SHARE,
            postings,
        })
    });
    found.collect()
}

/// Word that is meant by one that no visible tool has: the nearest, and of several the one that most tools have.
fn misspelt<'a>(index: &'a Index, visible: &VisibleTools, written: &str) -> Option<Form<'a>> {
    let segments = index.segments.iter().enumerate();
    let near = segments.flat_map(|(position, segment)| {
        let is_visible = move |place| visible.has(position, place);
        segment.known_words.near(written, is_visible)
    });
    let nearest = near.take(CANDIDATES).min_by_key(|(wrong, word, term)| {
        let count = occurrences(index, visible, *term).1;
        (*wrong, std::cmp::Reverse(count), *word)
    });
    nearest.map(|(_, word, term)| Form {
        meant: Some(word),
        share: MISSPELT_SHARE,
        postings: occurrences(index, visible, term).0,
    })
}

/// Weight of a word that this many of all visible tools have; above zero.
fn rarity(documents: usize, occurrences: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "counts of tools are small")]
    let (documents, occurrences) = (documents as f32, occurrences as f32);
    (1.0 + (documents - occurrences + 0.5) / (occurrences + 0.5)).ln()
}
