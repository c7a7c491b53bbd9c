//! Hiding secrets in text that leaves the program.
//!
//! A [`Mask`] knows values. What is a secret by its looks, or by the name it stands under, is the
//! matter of [`Redactor`](crate::Redactor), which builds on this.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use serde_json::Value;

use crate::encoded::EncodedSecrets;
use crate::spellings::{broken_off, spellings};

/// Text that a secret is replaced with.
pub const MASKED: &str = "***";

/// Shorter values are not masked: they would turn up inside ordinary words.
const SHORTEST_SECRET: usize = 6;

/// Shortest line of a secret that is hidden where it stands without the others: programs print a private key line by
/// line. Shorter ones, such as brackets, are in ordinary text.
const SHORTEST_LINE: usize = 12;

/// Beginning of the lines around a key. They tell nothing.
const FRAME: &str = "-----";

/// Values that say too little to be secrets, and would make every text unreadable.
const COMMON_WORDS: &str = "
    default development disabled enabled localhost password production secret staging undefined
    verbose warning";

/// The secret values the configuration resolved, to be hidden wherever they turn up. A clone
/// shares them.
#[derive(Clone, Default)]
pub struct Mask {
    secrets: usize,
    /// All plain spellings of all secrets and of their lines.
    spellings: Arc<[String]>,
    /// Finder of these, in one pass; `None` if there are no secrets.
    finder: Option<AhoCorasick>,
    encoded: Option<EncodedSecrets>,
}

impl Mask {
    /// Collects the values to hide; those that [`is_maskable`] refuses are left out.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let secrets = secrets.into_iter().filter(|secret| is_maskable(secret));
        let distinct: BTreeSet<String> = secrets.collect();
        let texts = distinct
            .iter()
            .flat_map(|one| lines(one).chain([one.as_str()]));
        let spellings: BTreeSet<String> = texts.flat_map(spellings).collect();
        Self {
            finder: (!spellings.is_empty()).then(|| finder(&spellings)),
            encoded: EncodedSecrets::new(distinct.iter()),
            secrets: distinct.len(),
            spellings: spellings.into_iter().collect(),
        }
    }

    /// The text with every secret replaced by `***`.
    pub fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut found = Vec::new();
        self.find(text, &mut found);
        hide(text, found)
    }

    /// The same for the beginning of a longer text: the beginning of a secret with which it breaks off is hidden too.
    pub fn apply_to_beginning<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut found = Vec::new();
        self.find(text, &mut found);
        self.find_broken_off(text, &mut found);
        self.find_encoded_broken_off(text, &mut found);
        hide(text, found)
    }

    /// Replaces every secret in the texts of a value by `***`; names of members stay as they are.
    pub fn apply_to(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.apply(text).into_owned(),
            Value::Array(items) => items.iter_mut().for_each(|item| self.apply_to(item)),
            Value::Object(members) => members.values_mut().for_each(|one| self.apply_to(one)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Whether any of the secrets is in the text.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        let (finder, encoded) = (self.finder.as_ref(), self.encoded.as_ref());
        finder.is_some_and(|finder| finder.is_match(text))
            || encoded.is_some_and(|encoded| encoded.is_in(text))
    }

    /// Adds where the secrets are. Matches may overlap: two secrets may share some characters, and
    /// hiding one of them must not leave a part of the other.
    pub(crate) fn find(&self, text: &str, found: &mut Vec<Range<usize>>) {
        if let Some(finder) = self.finder.as_ref().filter(|finder| finder.is_match(text)) {
            found.extend(finder.find_overlapping_iter(text).map(|one| one.range()));
        }
        if let Some(encoded) = &self.encoded {
            encoded.find(text, found);
        }
    }

    /// Adds the beginning of a secret with which a text breaks off.
    pub(crate) fn find_broken_off(&self, text: &str, found: &mut Vec<Range<usize>>) {
        let spellings = self.spellings.iter();
        found.extend(spellings.filter_map(|spelling| broken_off(text, spelling)));
    }

    /// Adds the beginning of an encoded secret with which a text breaks off.
    pub(crate) fn find_encoded_broken_off(&self, text: &str, found: &mut Vec<Range<usize>>) {
        if let Some(encoded) = &self.encoded {
            encoded.find_broken_off(text, found);
        }
    }
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Mask({} secrets)", self.secrets)
    }
}

/// Whether a value is long and odd enough to be hidden wherever it turns up: shorter ones and common words are part of
/// ordinary text.
pub fn is_maskable(value: &str) -> bool {
    let mut words = COMMON_WORDS.split_ascii_whitespace();
    value.len() >= SHORTEST_SECRET && !words.any(|word| word.eq_ignore_ascii_case(value))
}

/// Lines of a secret that has several, as far as they say something.
fn lines(secret: &str) -> impl Iterator<Item = &str> {
    let lines = secret.split(['\n', '\r']).map(str::trim);
    lines.filter(|line| {
        line.len() >= SHORTEST_LINE && line.len() < secret.len() && !line.starts_with(FRAME)
    })
}

/// The text with what was found replaced by `***`. Ranges that overlap become one.
pub fn hide(text: &str, mut found: Vec<Range<usize>>) -> Cow<'_, str> {
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
    fn base64_hex_and_other_spellings_of_known_secrets_stayed_readable() {
        let mask = Mask::new(["hunter2-Forever?".into()]);
        for (text, expected) in [
            ("a aHVudGVyMi1Gb3JldmVyPw== b", "a *** b"),
            ("a aHVudGVyMi1Gb3JldmVyPw b", "a *** b"),
            ("Basic dXNlcjpodW50ZXIyLUZvcmV2ZXI/", "Basic dXNlcjp***"),
            ("Basic dXNlcjpodW50ZXIyLUZvcmV2ZXI_", "Basic dXNlcjp***"),
            ("68756e746572322d466f72657665723f", "***"),
            ("0x68756E746572322D466F72657665723F!", "0x***!"),
            ("?q=hunter2-Forever%3f&r", "?q=***&r"),
            (
                "aHVudGVyMQ== and 68756e7465723130",
                "aHVudGVyMQ== and 68756e7465723130",
            ),
        ] {
            assert_eq!(mask.apply(text), expected);
        }
    }

    #[test]
    fn a_private_key_that_was_printed_line_by_line_stayed_readable() {
        let key =
            "-----BEGIN KEY-----\r\n  MIIEvQIBADANBg+/\n7s0m3Th1ngL0ng3r\n}\n-----END KEY-----\n";
        let mask = Mask::new([key.to_owned()]);
        for (text, expected) in [
            (key, "***"),
            ("x MIIEvQIBADANBg+/ y", "x *** y"),
            ("?q=7s0m3Th1ngL0ng3r", "?q=***"),
            ("MIIEvQIBADANBg%2B%2F", "***"),
            ("-----BEGIN KEY-----", "-----BEGIN KEY-----"),
            ("}", "}"),
        ] {
            assert_eq!(mask.apply(text), expected);
        }
    }

    #[test]
    fn a_text_that_was_cut_within_a_secret_showed_its_beginning() {
        let long = "k3y-".repeat(1500);
        let lines = "-----BEGIN KEY-----\nMIIEvQIBADANBg==\n-----END KEY-----";
        let mask = Mask::new([long.clone(), "pa ss/word".into(), lines.into()]);
        let encoded = base64::Engine::encode(
            &base64::engine::general_purpose::STANDARD,
            "k3y-".repeat(20),
        );
        for (text, expected) in [
            (&long[..4000], "***"),
            (&format!("a {long} {}", &long[..999]), "a *** ***"),
            ("a pa%20ss", "a ***"),
            ("a MIIEvQ", "a ***"),
            (&encoded[..20], "***"),
            ("a pa", "a pa"),
        ] {
            assert_eq!(mask.apply_to_beginning(text), expected);
        }
    }

    #[test]
    fn common_words_would_make_text_unreadable() {
        let mask = Mask::new(["password".into(), "Enabled".into(), "production".into()]);
        let text = "the password of production is enabled";
        assert_eq!(mask.apply(text), text);
    }
}
