//! Spellings of a secret as it is, inside JSON and inside URLs.

use std::collections::BTreeSet;
use std::ops::Range;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The shortest beginning of a secret that is hidden where a text breaks off in it.
const SHORTEST_BEGINNING: usize = 4;

/// Characters that a URL writes in another way.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Characters that programs write in another way in part of a URL: those of RFC 3986, of `encodeURIComponent`, of
/// Python's `quote`, and of `encodeURI`.
const URL_SETS: [&AsciiSet; 4] = [
    RESERVED,
    &RESERVED
        .remove(b'!')
        .remove(b'\'')
        .remove(b'(')
        .remove(b')')
        .remove(b'*'),
    &RESERVED.remove(b'/'),
    &RESERVED
        .remove(b'!')
        .remove(b'\'')
        .remove(b'(')
        .remove(b')')
        .remove(b'*')
        .remove(b';')
        .remove(b',')
        .remove(b'/')
        .remove(b'?')
        .remove(b':')
        .remove(b'@')
        .remove(b'&')
        .remove(b'=')
        .remove(b'+')
        .remove(b'$')
        .remove(b'#'),
];

/// The ways a value is written: as it is, inside a JSON string, and inside a URL.
pub(crate) fn spellings(value: &str) -> BTreeSet<String> {
    let quoted = serde_json::Value::from(value).to_string();
    let escaped = quoted[1..quoted.len() - 1].to_owned();
    let mut spellings = BTreeSet::from([value.to_owned(), escaped]);
    for set in URL_SETS {
        let in_url = utf8_percent_encode(value, set).to_string();
        // Forms write a space as a plus sign.
        let in_form = in_url.replace("%20", "+");
        for spelling in [in_url, in_form] {
            spellings.insert(with_small_digits(&spelling));
            spellings.insert(spelling);
        }
    }
    spellings
}

/// Percent signs with digits as some programs write them: `%2f`.
fn with_small_digits(encoded: &str) -> String {
    let mut digits = 0;
    let small = encoded.chars().map(|one| match one {
        '%' => {
            digits = 2;
            one
        }
        _ if digits > 0 => {
            digits -= 1;
            one.to_ascii_lowercase()
        }
        _ => one,
    });
    small.collect()
}

/// The beginning of `secret`, but not all of it, that the text ends with.
pub(crate) fn broken_off(text: &str, secret: &str) -> Option<Range<usize>> {
    let (written, secret) = (text.as_bytes(), secret.as_bytes());
    let mut lengths = (SHORTEST_BEGINNING..secret.len()).rev();
    let ends_with = |beginning: &[u8]| {
        let start = written.len().checked_sub(beginning.len());
        start.is_some_and(|start| written[start..].eq_ignore_ascii_case(beginning))
    };
    let start = text.len() - lengths.find(|length| ends_with(&secret[..*length]))?;
    text.is_char_boundary(start).then_some(start..text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn programs_differ_in_what_they_escape_in_a_url() {
        let known = spellings("a b/C!d?E");
        for written in [
            "a%20b%2FC%21d%3FE",
            "a%20b%2fC%21d%3fE",
            "a%20b%2FC!d%3FE",
            "a%20b/C%21d%3FE",
            "a%20b/C!d?E",
            "a+b%2FC%21d%3FE",
        ] {
            assert!(known.contains(written), "{written}");
        }
        assert_eq!(spellings("plain-Value").len(), 1);
    }
}
