//! Spelling: the word that is meant by one that nothing has.
//!
//! Only a word that no tool has is looked at, and only words that differ from it by one letter, or by two where it is
//! long, are taken for it: what people mistype, and nothing that only looks alike.

use strsim::osa_distance;

use super::term::Term;

/// Letters from which on a word may have one letter wrong, and two.
const ONE_WRONG: usize = 5;
const TWO_WRONG: usize = 9;

/// The longest word that is looked at, in bytes.
const WORD_LIMIT: usize = 32;

/// Words of a server that one wrong word is compared with, at most: they are its author's, and must not make a search slow.
const COMPARISONS: usize = 200;

/// Words of the tools of one server, by their letters, for those that are misspelt in a query.
#[derive(Debug, Default)]
pub(crate) struct KnownWords {
    words: Box<[KnownWord]>,
}

/// Word that may be meant, and the tools that have it in just these letters.
#[derive(Debug)]
struct KnownWord {
    letters: Box<str>,
    term: Term,
    documents: Box<[u32]>,
}

impl KnownWords {
    /// Those of some words that could be misspelt, each with the places of the tools that have it.
    pub(crate) fn new(words: impl Iterator<Item = (String, (Term, Vec<u32>))>) -> Self {
        let words = words.filter(|(letters, _)| may_be_misspelt(letters));
        let words = words.map(|(letters, (term, documents))| KnownWord {
            letters: letters.into(),
            term,
            documents: documents.into(),
        });
        let mut words: Vec<KnownWord> = words.collect();
        words.sort_unstable_by(|one, other| one.letters.cmp(&other.letters));
        Self {
            words: words.into(),
        }
    }

    /// Words that a word may be meant to be, each with the number of letters that are wrong. Words that only tools have
    /// which are not visible are as if they were not there: they cost nothing either.
    pub(crate) fn near<'a, 'b, V: Fn(usize) -> bool>(
        &'a self,
        wanted: &'b str,
        is_visible: V,
    ) -> impl Iterator<Item = (usize, &'a str, Term)> + use<'a, 'b, V> {
        let allowed = letters_wrong(wanted);
        let first = wanted.as_bytes().first();
        // Nearly nobody mistypes the first letter, and it spares nearly all comparisons.
        let start = self
            .words
            .partition_point(|word| word.letters.as_bytes().first() < first);
        let words = self.words[start..].iter();
        let words = words.take_while(move |word| word.letters.as_bytes().first() == first);
        let near = words.filter(move |word| word.letters.len().abs_diff(wanted.len()) <= allowed);
        let near = near.filter(move |word| {
            let mut documents = word.documents.iter();
            documents.any(|document| is_visible(*document as usize))
        });
        near.take(COMPARISONS).filter_map(move |word| {
            let distance = osa_distance(&word.letters, wanted);
            (distance <= allowed).then_some((distance, &*word.letters, word.term))
        })
    }
}

/// Whether a word may have a letter wrong: it is long enough, and letters of English alone.
pub(crate) fn may_be_misspelt(word: &str) -> bool {
    let is_letters = word.bytes().all(|byte| byte.is_ascii_lowercase());
    is_letters && (ONE_WRONG..=WORD_LIMIT).contains(&word.len())
}

const fn letters_wrong(word: &str) -> usize {
    match word.len() {
        0..ONE_WRONG => 0,
        ONE_WRONG..TWO_WRONG => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_word_is_found_and_a_different_one_is_not() {
        let words = [
            "screenshot",
            "webpage",
            "table",
            "cable",
            "issue",
            "list",
            "base64",
        ];
        let known = KnownWords::new(
            words
                .map(|word| (word.to_owned(), (Term::of(word), vec![0])))
                .into_iter(),
        );
        let near = |wanted: &str| -> Vec<String> {
            let near = known.near(wanted, |_| true);
            near.map(|(_, word, _)| word.to_owned()).collect()
        };
        assert_eq!(near("screnshot"), ["screenshot"]);
        assert_eq!(near("sceenshoot"), ["screenshot"]);
        assert_eq!(near("wepbage"), ["webpage"]);
        assert_eq!(near("tabel"), ["table"]);
        assert_eq!(known.near("tabel", |_| false).count(), 0);
        for other in ["fable", "lost", "bse64", "", "isue", "screens", "größe"] {
            assert!(near(other).is_empty(), "{other}");
        }
    }
}
