//! Search: finding tools by words.
//!
//! A tool's score for a query is BM25F: the occurrences of a word are summed over the fields,
//! each weighted and put in proportion to the field's usual length, and then
//! saturate, so that one field full of a word does not win over two words that both match:
//!
//! ```text
//! tf(w)  = Σ_field weight · count / (1 − dilution + dilution · length / average length)
//! sat(w) = tf(w) / (SATURATION + tf(w))
//! score  = Σ_w rarity(w) · sat(w) / Σ_w rarity(w)
//! ```
//!
//! The divisor is what a tool would reach in which every word of the query is saturated, words
//! that no tool has included. So a score lies between 0 and 1, says how much of the query a
//! tool covers, and does not depend on which other tools were found. A query that is the name
//! of a tool lifts that tool over all others: `score + (1 − score) · lift`.
//!
//! A tool that is going to be removed lifts the one that takes over to its own score, and stands
//! behind all others of that score: whoever looks for the old tool finds the new one first.
//!
//! Filters are applied to each match before it is ranked, so a page is filled as long as there
//! are matches. Equal scores are ordered by server, then by name.
//!
//! Rarity, average lengths and replacements are those of the tools that the caller may use. If
//! others counted, scores would tell which words the tools have that are withheld from it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;

use mcpproxy_policy::{AccessTo, Effect, Rights};

use crate::index::{FIELD_COUNT, FIELDS, Figures, Index, Posting, Segment, Term};
use crate::snapshot::Snapshot;
use crate::tokens::{is_stop_word, stem, words};
use crate::tool::CatalogTool;

/// Constant that says how soon further occurrences of a word stop to count (`k1` of BM25).
const SATURATION: f32 = 1.2;

/// Lift that a query which is exactly a tool's name gives it, as a share of what is missing to 1.
const NAME_LIFT: f32 = 0.9;

/// Lift that a query which is exactly `server:tool` gives it: that leaves nothing open.
const QUALIFIED_LIFT: f32 = 1.0;

/// Characters of a query that are read, and different words of it that count, at most. Nobody
/// describes a tool in more, and a pasted document must not cost more than a question.
const QUERY_LIMIT: usize = 2_000;
const TERM_LIMIT: usize = 32;

/// Query of a search: what is looked for.
#[derive(Debug, Clone, Copy)]
pub struct SearchQuery<'a> {
    /// The words. Without any that say something, all tools match, in order and with score 0,
    /// so that an agent can look around.
    pub text: &'a str,
    /// The most hits that are returned.
    pub limit: usize,
    /// Keeps only tools that are marked read-only.
    pub read_only_only: bool,
    /// Leaves out tools that are marked destructive.
    pub exclude_destructive: bool,
    /// Keeps only the tools of this server.
    pub server: Option<&'a str>,
    /// Leaves out tools that a caller with these rights may not use.
    pub rights: &'a Rights,
}

/// Hits of a search.
#[derive(Debug, Default)]
pub struct Hits {
    /// Number of tools that match, before the limit.
    pub total: usize,
    /// The best of them, best first.
    pub hits: Vec<Hit>,
}

/// Hit of a search: one tool that was found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The tool.
    pub tool: Arc<CatalogTool>,
    /// Score of the match, from 0.0 to 1.0.
    pub score: f64,
}

impl Snapshot {
    /// Finds the tools that match best. Tools that cannot be called are never among them.
    pub fn search(&self, query: &SearchQuery<'_>) -> Hits {
        let request = ParsedQuery::parse(query.text);
        let visible = VisibleTools::of(&self.index, query.rights);
        let ranking = Ranking::new(&self.index, &visible, &request.terms);
        let limit = query.limit;
        let mut best = Best {
            limit,
            ..Best::default()
        };
        let mut scores = Vec::new();
        let segments = &self.index.segments;
        for (position, segment) in segments.iter().enumerate() {
            if query
                .server
                .is_some_and(|server| server != &*segment.server)
            {
                continue;
            }
            scores.clear();
            scores.resize(segment.tools.len(), 0.0);
            // A second way to score, by meaning, is added to these scores here.
            ranking.score(position, segment, &mut scores);
            request.lift_named(segment, &mut scores);
            let is_visible = |place: usize| visible.has(position, place);
            lift_replacements(segment, is_visible, &mut scores);
            for (place, (effect, score)) in segment.effects.iter().zip(&scores).enumerate() {
                if (*score > 0.0 || request.matches_all())
                    && query.admits(*effect)
                    && is_visible(place)
                {
                    best.consider(position, place, *score, segment.deprecated[place]);
                }
            }
        }
        best.finish(segments)
    }
}

impl<'a> SearchQuery<'a> {
    /// A query without filters, of a caller that may use all tools.
    pub fn new(text: &'a str, limit: usize) -> Self {
        Self {
            text,
            limit,
            read_only_only: false,
            exclude_destructive: false,
            server: None,
            rights: &Rights::Administrator,
        }
    }

    fn admits(&self, effect: Effect) -> bool {
        match effect {
            Effect::Read => true,
            Effect::Destructive => !self.read_only_only && !self.exclude_destructive,
            Effect::Write | Effect::Unknown { .. } => !self.read_only_only,
        }
    }
}

/// Text of a query, taken apart.
struct ParsedQuery<'a> {
    text: &'a str,
    joined_words: String,
    terms: Vec<Term>,
}

impl<'a> ParsedQuery<'a> {
    fn parse(text: &'a str) -> Self {
        let text = text.trim();
        let end = text.char_indices().nth(QUERY_LIMIT);
        let text = &text[..end.map_or(text.len(), |(end, _)| end)];
        let words = words(text);
        let mut seen = HashSet::new();
        let terms = words
            .iter()
            .filter(|word| !is_stop_word(word))
            .map(|word| Term::of(&stem(word)))
            .filter(|term| seen.insert(*term))
            .take(TERM_LIMIT)
            .collect();
        Self {
            text,
            joined_words: words.join(" "),
            terms,
        }
    }

    fn matches_all(&self) -> bool {
        self.terms.is_empty()
    }

    /// Lifts the tools whose name the query is.
    fn lift_named(&self, segment: &Segment, scores: &mut [f32]) {
        if !self.joined_words.is_empty() {
            lift(segment.named(&self.joined_words), NAME_LIFT, scores);
        }
        if let Some(tool) = self.tool_of(&segment.server) {
            lift(
                segment.named(&words(tool).join(" ")),
                QUALIFIED_LIFT,
                scores,
            );
        }
    }

    /// Tool that follows `server:` in a query that names this server.
    fn tool_of(&self, server: &str) -> Option<&'a str> {
        let head = self.text.get(..server.len())?;
        let tool = self.text[server.len()..].strip_prefix(':')?;
        (head.eq_ignore_ascii_case(server) && !tool.is_empty()).then_some(tool)
    }
}

/// Lifts each tool that takes over to the score of the tool it replaces, where all between the two is visible.
fn lift_replacements(segment: &Segment, is_visible: impl Fn(usize) -> bool, scores: &mut [f32]) {
    for path in &segment.replaced {
        if let [deprecated, .., replacement] = path.as_slice()
            && path.iter().all(|place| is_visible(*place))
        {
            scores[*replacement] = scores[*replacement].max(scores[*deprecated]);
        }
    }
}

fn lift(named: &[usize], share: f32, scores: &mut [f32]) {
    for position in named {
        let score = &mut scores[*position];
        *score += (1.0 - *score) * share;
    }
}

/// Tools of an index that a caller may use.
enum VisibleTools {
    /// Every one.
    All,
    /// Some: for each segment, whether each of its tools is one.
    Some(Vec<Vec<bool>>),
}

impl VisibleTools {
    fn of(index: &Index, rights: &Rights) -> Self {
        if rights.allow_all_tools() {
            return Self::All;
        }
        let segments = index.segments.iter().map(|segment| {
            // Most servers of many are often not among those of a token.
            let has_server = rights.allow(AccessTo::Server(&segment.server));
            let tools = segment.tools.iter();
            tools
                .map(|tool| has_server && tool.is_within(rights))
                .collect()
        });
        Self::Some(segments.collect())
    }

    fn has(&self, segment: usize, place: usize) -> bool {
        match self {
            Self::All => true,
            Self::Some(segments) => segments[segment][place],
        }
    }

    /// Number of tools among those of a word's postings in a segment.
    fn count(&self, segment: usize, postings: &[Posting]) -> usize {
        match self {
            Self::All => postings.len(),
            Self::Some(segments) => {
                let is_visible = &segments[segment];
                let postings = postings.iter();
                postings
                    .filter(|one| is_visible[one.document as usize])
                    .count()
            }
        }
    }

    fn figures(&self, index: &Index) -> Figures {
        match self {
            Self::All => index.figures,
            Self::Some(segments) => {
                let documents = segments.iter().flatten().filter(|is_visible| **is_visible);
                let segments = index.segments.iter().zip(segments);
                let sums = segments.map(|(segment, is_visible)| segment.lengths_of(is_visible));
                Figures::new(documents.count(), sums)
            }
        }
    }
}

/// Ranking by the postings of a query's words, and what they are worth.
struct Ranking<'a> {
    average_lengths: [f32; FIELD_COUNT],
    words: Vec<RankedWord<'a>>,
}

struct RankedWord<'a> {
    /// The word's share of the score, at most.
    share: f32,
    /// Postings of it, for each segment.
    postings: Vec<&'a [Posting]>,
}

impl<'a> Ranking<'a> {
    fn new(index: &'a Index, visible: &VisibleTools, terms: &[Term]) -> Self {
        let figures = visible.figures(index);
        let mut words: Vec<RankedWord<'_>> = terms
            .iter()
            .map(|term| {
                let postings: Vec<&[Posting]> = index
                    .segments
                    .iter()
                    .map(|segment| segment.postings(*term))
                    .collect();
                let counts = postings.iter().enumerate();
                let counts = counts.map(|(segment, list)| visible.count(segment, list));
                RankedWord {
                    share: rarity(figures.documents, counts.sum()),
                    postings,
                }
            })
            .collect();
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
    fn score(&self, position: usize, segment: &Segment, scores: &mut [f32]) {
        for word in &self.words {
            for posting in word.postings[position] {
                let frequency = self.frequency(posting, segment.lengths(posting.document));
                scores[posting.document as usize] +=
                    word.share * frequency / (SATURATION + frequency);
            }
        }
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

/// Weight of a word that this many of all visible tools have; above zero.
fn rarity(documents: usize, occurrences: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "counts of tools are small")]
    let (documents, occurrences) = (documents as f32, occurrences as f32);
    (1.0 + (documents - occurrences + 0.5) / (occurrences + 0.5)).ln()
}

/// The best hits so far, the worst of them on top.
#[derive(Default)]
struct Best {
    limit: usize,
    total: usize,
    heap: BinaryHeap<Candidate>,
}

/// A match: the bits of its score, which have the order of scores because none is negative, whether it
/// is going to be removed, how many matches came before it, its segment and its place there. The
/// greater one is the worse hit.
type Candidate = (Reverse<u32>, bool, usize, usize, usize);

impl Best {
    /// Takes a match. Matches come in the order of servers and names.
    fn consider(&mut self, segment: usize, place: usize, score: f32, is_deprecated: bool) {
        let score = Reverse(score.to_bits());
        let candidate = (score, is_deprecated, self.total, segment, place);
        self.total += 1;
        if self.heap.len() < self.limit {
            self.heap.push(candidate);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && candidate < *worst
        {
            *worst = candidate;
        }
    }

    fn finish(self, segments: &[Arc<Segment>]) -> Hits {
        let hits = self.heap.into_sorted_vec().into_iter();
        let hits = hits.map(|(Reverse(score), _, _, segment, place)| Hit {
            tool: Arc::clone(&segments[segment].tools[place]),
            score: f64::from(f32::from_bits(score).clamp(0.0, 1.0)),
        });
        Hits {
            total: self.total,
            hits: hits.collect(),
        }
    }
}
