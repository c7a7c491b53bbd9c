//! Text of a query, taken apart.

use std::collections::HashSet;

use crate::index::Segment;
use crate::index::Term;
use crate::tokens::{is_stop_word, stem, words};

/// Lift that a query which is exactly a tool's name gives it, as a share of what is missing to 1.
const NAME_LIFT: f32 = 0.99;

/// Lift that a query which is exactly `server:tool` gives it: that leaves nothing open.
const QUALIFIED_LIFT: f32 = 1.0;

/// Characters of a query that are read, and different words of it that count, at most. Nobody
/// describes a tool in more, and a pasted document must not cost more than a question.
const QUERY_LIMIT: usize = 2_000;
const TERM_LIMIT: usize = 32;

/// Words that tell that a request is about the gateway itself: each alone, or two together.
const GATEWAY_WORDS: &[&str] = &["gateway", "mcpproxy"];
const GATEWAY_WORDS_OF_TWO: &[&str] = &[
    "activity",
    "agent",
    "agents",
    "calls",
    "mcp",
    "permissions",
    "records",
    "server",
    "servers",
    "upstream",
    "upstreams",
];

/// Text of a query, taken apart.
pub(super) struct ParsedQuery<'a> {
    text: &'a str,
    joined_words: String,
    pub(super) words: Vec<QueryWord>,
    /// Whether it speaks of the gateway itself.
    pub(super) is_about_gateway: bool,
}

/// Word of a query that counts.
pub(super) struct QueryWord {
    pub(super) text: String,
    pub(super) term: Term,
}

impl<'a> ParsedQuery<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let text = start(text);
        let all = words(text);
        let mut seen = HashSet::new();
        let counting = all.iter().filter(|word| !is_stop_word(word));
        let counting = counting.map(|word| QueryWord {
            term: Term::of(&stem(word)),
            text: word.clone(),
        });
        Self {
            text,
            joined_words: all.join(" "),
            words: counting
                .filter(|word| seen.insert(word.term))
                .take(TERM_LIMIT)
                .collect(),
            is_about_gateway: is_about_gateway(&all),
        }
    }

    /// Whether it has no word that says something.
    pub(super) fn matches_all(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether the query is the name of a tool of this segment, with or without its server.
    pub(super) fn is_named(&self, segment: &Segment, place: usize) -> bool {
        let is_named = |name: &str| segment.named(name).contains(&place);
        let qualified = self.tool_of(&segment.server);
        is_named(&self.joined_words)
            || qualified.is_some_and(|tool| is_named(&words(tool).join(" ")))
    }

    /// Lifts the tools whose name the query is.
    pub(super) fn lift_named(&self, segment: &Segment, scores: &mut [f32]) {
        if !self.joined_words.is_empty() {
            lift(segment.named(&self.joined_words), NAME_LIFT, scores);
        }
        if let Some(tool) = self.tool_of(&segment.server) {
            let tool = words(tool).join(" ");
            lift(segment.named(&tool), QUALIFIED_LIFT, scores);
        }
    }

    /// Tool that follows `server:` in a query that names this server.
    pub(super) fn tool_of(&self, server: &str) -> Option<&'a str> {
        let head = self.text.get(..server.len())?;
        let tool = self.text[server.len()..].strip_prefix(':')?;
        (head.eq_ignore_ascii_case(server) && !tool.is_empty()).then_some(tool)
    }
}

/// Whether a query has a word that counts. One without any is no request, and has no meaning either.
pub fn has_words(text: &str) -> bool {
    words(start(text)).iter().any(|word| !is_stop_word(word))
}

fn is_about_gateway(words: &[String]) -> bool {
    let is_any = |known: &[&str], word: &String| known.contains(&word.as_str());
    let alone = words.iter().any(|word| is_any(GATEWAY_WORDS, word));
    let together = words
        .iter()
        .filter(|word| is_any(GATEWAY_WORDS_OF_TWO, word));
    alone || together.count() > 1
}

/// Start of a query: as much of it as is read.
pub fn start(text: &str) -> &str {
    let text = text.trim();
    let end = text.char_indices().nth(QUERY_LIMIT);
    &text[..end.map_or(text.len(), |(end, _)| end)]
}

fn lift(named: &[usize], share: f32, scores: &mut [f32]) {
    for position in named {
        let score = &mut scores[*position];
        *score += (1.0 - *score) * share;
    }
}
