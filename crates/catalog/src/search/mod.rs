//! Search: finding tools by words and by meaning.
//!
//! By words, a tool's score for a query is BM25F: the occurrences of a word are summed over the fields,
//! each weighted and put in proportion to the field's usual length, and then
//! saturate, so that one field full of a word does not win over two words that both match:
//!
//! ```text
//! tf(w)    = Σ_field weight · count / (1 − dilution + dilution · length / average length)
//! sat(w)   = tf(w) / (SATURATION + tf(w))
//! coverage = Σ_w rarity(w) · sat(w) / Σ_w rarity(w)
//! ```
//!
//! The divisor is what a tool would reach in which every word of the query is saturated, words
//! that no tool has included. So the coverage lies between 0 and 1, says how much of the query a
//! tool covers, and does not depend on which other tools were found. That also keeps the many words of a sentence from
//! drowning its meaning.
//!
//! By meaning, a tool is near to a query if one of its [`texts`](crate::meaning::texts) is, and all of them a little. The
//! two are added, and a curve fitted to labelled queries makes a score of the sum. Where the query has no vector, the
//! coverage is the score. What is below a floor is no answer.
//!
//! A query that is the name of a tool lifts that tool over all others: `score + (1 − score) · lift`.
//!
//! A tool that is going to be removed lifts the one that takes over to its own score, and stands
//! behind all others of that score: whoever looks for the old tool finds the new one first. The gateway's own tools
//! stand behind those of all servers, unless the request is about the gateway.
//!
//! Filters are applied to each match before it is ranked, so a page is filled as long as there
//! are matches. Equal scores are ordered by server, then by name.
//!
//! Rarity, average lengths and replacements are those of the tools that the caller may use. If
//! others counted, scores would tell which words the tools have that are withheld from it.

mod best;
mod explain;
mod lexical;
mod query;
mod synonyms;
mod visible;

use std::sync::Arc;

use mcpproxy_embed::Vector;
use mcpproxy_policy::{Effect, Rights};

pub use self::explain::{Explanation, MatchedWord};
pub use self::query::{has_words, start};
use crate::index::Segment;
use best::{Best, Ranked};
use lexical::Ranking;
use query::ParsedQuery;
use visible::VisibleTools;

use crate::snapshot::Snapshot;
use crate::tool::CatalogTool;

/// Weight of the coverage beside the similarity.
const COVERAGE_WEIGHT: f32 = 0.5;

/// Similarity of a tool whose vectors are not there yet: what it usually is for tools that have nothing to do with a
/// query. So its words alone decide.
const UNKNOWN_SIMILARITY: f32 = 0.05;

/// The curve of scores: the sum that is a score of one half, and how steep it is there.
///
/// Fitted to labelled queries that nothing else was fitted to: of the first ten hits with a score, about that share is
/// what was meant.
const HALF: f32 = 0.7;
const STEEPNESS: f32 = 6.0;

/// Score below which a tool is no answer. On labelled queries hardly a tool that is meant and found is below, and most
/// of what nonsense finds is.
const FLOOR: f32 = 0.05;

/// Query of a search: what is looked for.
#[derive(Debug, Clone, Copy)]
pub struct SearchQuery<'a> {
    /// The words. Without any that say something, all tools match, in order and with score 0,
    /// so that an agent can look around.
    pub text: &'a str,
    /// Meaning of the text; nothing if the search is to go by words alone.
    pub meaning: Option<&'a Vector>,
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
    /// Whether each hit comes with the reasons for its score.
    pub explain: bool,
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
    /// Reasons for it, where they were asked for.
    pub explanation: Option<Explanation>,
}

impl Snapshot {
    /// Finds the tools that match best. Tools that cannot be called are never among them.
    pub fn search(&self, query: &SearchQuery<'_>) -> Hits {
        let parsed = ParsedQuery::parse(query.text);
        let visible = VisibleTools::of(&self.index, query.rights);
        let ranking = Ranking::new(&self.index, &visible, &parsed.words);
        let mut best = Best::new(query.limit);
        // Without a word that says something there is no score.
        let floor = if parsed.matches_all() { 0.0 } else { FLOOR };
        let looked = LookedFor {
            query,
            parsed: &parsed,
            ranking: &ranking,
        };
        for (position, segment) in self.index.segments.iter().enumerate() {
            if query
                .server
                .is_some_and(|server| server != &*segment.server)
            {
                continue;
            }
            let is_visible = |place: usize| visible.has(position, place);
            let mut scores = looked.scores(position, segment, is_visible);
            parsed.lift_named(segment, &mut scores);
            lift_replacements(segment, is_visible, &mut scores);
            for (place, (effect, score)) in segment.effects.iter().zip(&scores).enumerate() {
                if *score >= floor && query.admits(*effect) && is_visible(place) {
                    let ranked = Ranked {
                        score: *score,
                        stands_back: looked.stands_back(segment, place),
                        is_deprecated: segment.deprecated[place],
                    };
                    best.consider(position, place, &ranked);
                }
            }
        }
        let total = best.total;
        let hits = best.into_sorted().map(|(score, position, place)| {
            let segment = &self.index.segments[position];
            Hit {
                tool: Arc::clone(&segment.tools[place]),
                score: f64::from(score),
                explanation: query.explain.then(|| {
                    let is_visible = |place: usize| visible.has(position, place);
                    looked.explanation(position, segment, place, is_visible)
                }),
            }
        });
        Hits {
            total,
            hits: hits.collect(),
        }
    }
}

// === impl SearchQuery ===

impl<'a> SearchQuery<'a> {
    /// A query by words without filters, of a caller that may use all tools.
    pub fn new(text: &'a str, limit: usize) -> Self {
        Self {
            text,
            meaning: None,
            limit,
            read_only_only: false,
            exclude_destructive: false,
            server: None,
            rights: &Rights::Administrator,
            explain: false,
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

/// Query in every form that scores are made of.
struct LookedFor<'a> {
    query: &'a SearchQuery<'a>,
    parsed: &'a ParsedQuery<'a>,
    ranking: &'a Ranking<'a>,
}

impl LookedFor<'_> {
    /// Scores of the tools of a segment, by words and by meaning, not lifted yet.
    fn scores(
        &self,
        position: usize,
        segment: &Segment,
        is_visible: impl Fn(usize) -> bool,
    ) -> Vec<f32> {
        let mut scores = vec![0.0; segment.tools.len()];
        self.ranking.score(position, segment, &mut scores);
        let Some(meaning) = self.meaning() else {
            return scores;
        };
        for (place, (tool, score)) in segment.tools.iter().zip(&mut scores).enumerate() {
            // What is not visible costs nothing, also where a caller may use few of many tools.
            if is_visible(place) {
                let similarity = similarity(tool, meaning).unwrap_or(UNKNOWN_SIMILARITY);
                *score = score_of(*score, similarity);
            }
        }
        scores
    }

    /// Meaning of the query, if it says anything.
    fn meaning(&self) -> Option<&Vector> {
        self.query.meaning.filter(|_| !self.parsed.matches_all())
    }

    /// Whether a tool stands behind those of all servers: it is the gateway's own, and nobody asked for that.
    fn stands_back(&self, segment: &Segment, place: usize) -> bool {
        self.query.server.is_none()
            && segment.is_gateway()
            && !self.parsed.is_about_gateway
            && !self.parsed.is_named(segment, place)
    }

    /// Reasons for the score of a tool.
    fn explanation(
        &self,
        position: usize,
        segment: &Segment,
        place: usize,
        is_visible: impl Fn(usize) -> bool,
    ) -> Explanation {
        let words = explain::matched_words(self.ranking, position, segment, place);
        let scores = self.scores(position, segment, &is_visible);
        let takes_over = segment.replaced.iter().any(|path| {
            let [deprecated, .., replacement] = path.as_slice() else {
                return false;
            };
            *replacement == place
                && scores[*deprecated] > scores[place]
                && path.iter().all(|place| is_visible(*place))
        });
        let meaning = self.meaning();
        let similarity = meaning.and_then(|meaning| similarity(&segment.tools[place], meaning));
        Explanation {
            coverage: explain::covered(&words),
            words,
            similarity: similarity.map(explain::rounded),
            moved: if self.parsed.is_named(segment, place) {
                Some("the query is its name")
            } else if takes_over {
                Some("it takes over from a deprecated tool")
            } else if self.stands_back(segment, place) {
                Some("the gateway's own tools stand behind those of servers")
            } else {
                None
            },
        }
    }
}

/// Similarity of a tool to a query; nothing as long as it has no vectors.
fn similarity(tool: &CatalogTool, query: &Vector) -> Option<f32> {
    Some(tool.meaning()?.similarity(query))
}

fn score_of(coverage: f32, similarity: f32) -> f32 {
    let sum = similarity + COVERAGE_WEIGHT * coverage;
    1.0 / (1.0 + (STEEPNESS * (HALF - sum)).exp())
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
