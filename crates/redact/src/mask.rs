//! Hiding secrets in text that leaves the program.
//!
//! A [`Mask`] knows values. What is a secret by its looks, or by the name it stands under, is the
//! matter of [`Redactor`](crate::Redactor), which builds on this.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Text that a secret is replaced with.
pub const MASKED: &str = "***";

/// Shorter values are not masked: they would turn up inside ordinary words.
const SHORTEST_SECRET: usize = 6;

/// The shortest beginning of a secret that is hidden where a text breaks off in it.
const SHORTEST_BEGINNING: usize = 4;

/// Characters that a URL writes in another way.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The secret values the configuration resolved, to be hidden wherever they turn up. A clone
/// shares them.
#[derive(Clone, Default)]
pub struct Mask {
    secrets: Arc<[String]>,
    /// All spellings of all secrets, looked for in one pass; `None` if there are no secrets.
    finder: Option<AhoCorasick>,
}

impl Mask {
    /// Collects the values to hide.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let distinct: BTreeSet<String> = secrets
            .into_iter()
            .filter(|secret| secret.len() >= SHORTEST_SECRET)
            .collect();
        let spellings: BTreeSet<String> = distinct.iter().flat_map(|one| spellings(one)).collect();
        Self {
            finder: (!spellings.is_empty()).then(|| finder(&spellings)),
            secrets: distinct.into_iter().collect(),
        }
    }

    /// The text with every secret replaced by `***`.
    pub fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut found = Vec::new();
        self.find(text, &mut found);
        hide(text, found)
    }

    /// Whether any of the secrets is in the text.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        let finder = self.finder.as_ref();
        finder.is_some_and(|finder| finder.is_match(text))
    }

    /// Adds where the secrets are. Matches may overlap: two secrets may share some characters, and
    /// hiding one of them must not leave a part of the other.
    pub(crate) fn find(&self, text: &str, found: &mut Vec<Range<usize>>) {
        if let Some(finder) = self.finder.as_ref().filter(|finder| finder.is_match(text)) {
            found.extend(finder.find_overlapping_iter(text).map(|one| one.range()));
        }
    }

    /// Adds the beginning of a secret with which a text breaks off.
    pub(crate) fn find_broken_off(&self, text: &str, found: &mut Vec<Range<usize>>) {
        let secrets = self.secrets.iter();
        found.extend(secrets.filter_map(|secret| broken_off(text, secret)));
    }
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Mask({} secrets)", self.secrets.len())
    }
}

/// The text with what was found replaced by `***`. Ranges that overlap become one.
pub(crate) fn hide(text: &str, mut found: Vec<Range<usize>>) -> Cow<'_, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_unstable_by_key(|range| range.start);
    let mut hidden = String::with_capacity(text.len());
    let mut kept_to = 0;
    let mut ranges = found.into_iter().peekable();
    while let Some(mut range) = ranges.next() {
        while let Some(next) = ranges.next_if(|next| next.start < range.end) {
            range.end = range.end.max(next.end);
        }
        hidden.push_str(&text[kept_to..range.start]);
        hidden.push_str(MASKED);
        kept_to = range.end;
    }
    hidden.push_str(&text[kept_to..]);
    Cow::Owned(hidden)
}

/// The ways a value is written: as it is, inside a JSON string, and inside a URL.
pub(crate) fn spellings(value: &str) -> BTreeSet<String> {
    let quoted = serde_json::Value::from(value).to_string();
    let escaped = quoted[1..quoted.len() - 1].to_owned();
    let encoded = utf8_percent_encode(value, RESERVED).to_string();
    BTreeSet::from([value.to_owned(), escaped, encoded])
}

/// The beginning of `secret`, but not all of it, that the text ends with.
pub(crate) fn broken_off(text: &str, secret: &str) -> Option<Range<usize>> {
    let (written, secret) = (text.as_bytes(), secret.as_bytes());
    let mut lengths = (SHORTEST_BEGINNING..secret.len()).rev();
    let start = text.len() - lengths.find(|length| written.ends_with(&secret[..*length]))?;
    text.is_char_boundary(start).then_some(start..text.len())
}

fn finder(spellings: &BTreeSet<String>) -> AhoCorasick {
    AhoCorasick::builder()
        // Overlapping matches are only found by the standard kind. The compact automaton keeps a
        // long secret, such as a private key, from taking megabytes.
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(spellings)
        .expect("secrets of a configuration are far below the two gigabytes the automaton holds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hides_every_secret_and_keeps_short_values() {
        let mask = Mask::new(["topsecret".into(), "topsecretlong".into(), "ab".into()]);
        assert_eq!(
            mask.apply("x topsecretlong y topsecret z ab"),
            "x *** y *** z ab"
        );
        assert_eq!(mask.apply("nothing here"), "nothing here");
        assert_eq!(format!("{mask:?}"), "Mask(2 secrets)");
    }

    #[test]
    fn hides_secrets_that_share_characters_and_other_spellings() {
        let mask = Mask::new(["abcdefg".into(), "efghijk".into(), "pa\"ss/word".into()]);
        assert_eq!(mask.apply("1 abcdefghijk 2"), "1 *** 2");
        assert_eq!(mask.apply(r#"{"p":"pa\"ss/word"}"#), r#"{"p":"***"}"#);
        assert_eq!(mask.apply("?p=pa%22ss%2Fword&q"), "?p=***&q");
        assert!(matches!(mask.apply("clean"), Cow::Borrowed("clean")));
    }

    #[test]
    fn finds_the_beginning_a_text_breaks_off_with() {
        for (text, secret, expected) in [
            ("x topse", "topsecret", Some(2..7)),
            ("x top", "topsecret", None),
            ("topsecret", "topsecret", None),
            ("abcabcabca", "abcabcabd", Some(3..10)),
            ("", "topsecret", None),
            ("éèéèé", "éèéèéè", Some(0..10)),
        ] {
            assert_eq!(broken_off(text, secret), expected, "{text}");
        }
    }
}
