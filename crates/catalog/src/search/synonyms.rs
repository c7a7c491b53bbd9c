//! Synonyms: words that name the same thing or act to somebody who looks for a tool.
//!
//! The list is short on purpose. It has what one program calls so and another so (`repo`, `project`), and what people
//! say of it; words that are merely alike are left to the search by meaning.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::index::Term;
use crate::tokens::stem;

/// Groups of synonyms, one on a line.
static GROUPS: &str = include_str!("synonyms.txt");

/// Synonyms of each word.
static SYNONYMS: LazyLock<HashMap<Term, Vec<Synonym>>> = LazyLock::new(|| {
    let mut synonyms: HashMap<Term, Vec<Synonym>> = HashMap::new();
    for group in GROUPS.lines() {
        let group: Vec<Synonym> = group.split(' ').map(Synonym::of).collect();
        for word in &group {
            let of_word = synonyms.entry(word.term).or_default();
            for other in &group {
                if other.term != word.term && of_word.iter().all(|one| one.term != other.term) {
                    of_word.push(*other);
                }
            }
        }
    }
    synonyms
});

/// Word that may stand for another one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Synonym {
    pub(super) word: &'static str,
    pub(super) term: Term,
}

/// Words that may stand for one.
pub(super) fn synonyms(term: Term) -> &'static [Synonym] {
    SYNONYMS.get(&term).map_or(&[], Vec::as_slice)
}

// === impl Synonym ===

impl Synonym {
    fn of(word: &'static str) -> Self {
        Self {
            word,
            term: Term::of(&stem(word)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::{is_stop_word, words};

    #[test]
    fn every_synonym_is_a_word_that_queries_have() {
        for group in GROUPS.lines() {
            let all: Vec<&str> = group.split(' ').collect();
            assert!((2..=8).contains(&all.len()), "{group}");
            assert_eq!(words(group), all);
            assert!(!all.iter().any(|word| is_stop_word(word)), "{group}");
        }
    }

    #[test]
    fn a_word_of_two_groups_has_the_synonyms_of_both() {
        let of = |word| {
            let synonyms = synonyms(Term::of(&stem(word)));
            synonyms.iter().map(|one| one.word).collect::<Vec<_>>()
        };
        assert_eq!(of("note"), ["comment", "remark", "memo"]);
        assert_eq!(of("repositories"), ["repo", "project"]);
        assert!(of("fishbone").is_empty());
    }
}
