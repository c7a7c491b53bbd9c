//! Secrets in Base64 and hexadecimal.
//!
//! Ordinary text has few long runs of the characters that these are written with. Only such runs are looked at more
//! closely, so that a text costs little more than with its secrets as they are.

use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::spellings::broken_off;

/// Bytes of a secret that are looked for. The rest is hidden with them, so that a private key does not need an
/// automaton of many times its size.
const LOOK: usize = 24;

/// Most bytes of all spellings together. They serve some six hundred secrets, with a few megabytes of automaton; of
/// further secrets the plain spellings are known.
const MOST_BYTES: usize = 128 * 1024;

/// Known secrets in Base64 and hexadecimal. A clone shares them.
#[derive(Clone)]
pub(crate) struct EncodedSecrets {
    spellings: Arc<[EncodedSpelling]>,
    finder: AhoCorasick,
    /// Length of the shortest spelling.
    shortest: usize,
}

/// Beginning of a secret in Base64 or hexadecimal.
struct EncodedSpelling {
    text: String,
    /// Number of characters after it that may belong to the secret, padding included.
    rest: usize,
}

impl EncodedSecrets {
    /// Spellings of these secrets, as far as the bound for all of them allows; nothing without secrets.
    pub(crate) fn new<'a>(secrets: impl Iterator<Item = &'a String>) -> Option<Self> {
        let mut room = MOST_BYTES;
        let each = secrets.map(|secret| spellings(secret.as_bytes()));
        let within = each.take_while(|spellings| {
            let length: usize = spellings.iter().map(|one| one.text.len()).sum();
            let fits = length <= room;
            room = room.saturating_sub(length);
            fits
        });
        let spellings: Arc<[EncodedSpelling]> = within.flatten().collect();
        let texts = || spellings.iter().map(|spelling| spelling.text.as_str());
        let finder = AhoCorasick::builder()
            // Hexadecimal digits are written in either case.
            .ascii_case_insensitive(true)
            // As for plain spellings, see the mask.
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(texts())
            .expect("the spellings are bounded");
        Some(Self {
            shortest: texts().map(str::len).min()?,
            finder,
            spellings,
        })
    }

    /// Whether any of the secrets is in the text.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        runs(text, self.shortest).any(|run| self.finder.is_match(&text[run]))
    }

    /// Adds where the secrets are.
    pub(crate) fn find(&self, text: &str, found: &mut Vec<Range<usize>>) {
        for run in runs(text, self.shortest) {
            for one in self.finder.find_overlapping_iter(&text[run.clone()]) {
                let rest = self.spellings[one.pattern()].rest;
                let end = (run.start + one.end() + rest).min(run.end);
                found.push(run.start + one.start()..end);
            }
        }
    }

    /// Adds the beginning of a secret with which a text breaks off.
    pub(crate) fn find_broken_off(&self, text: &str, found: &mut Vec<Range<usize>>) {
        let spellings = self.spellings.iter();
        found.extend(spellings.filter_map(|one| broken_off(text, &one.text)));
    }
}

/// Runs of characters of Base64 and hexadecimal that have at least this length.
fn runs(text: &str, least: usize) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    // Every run begins here or later.
    let mut start = 0;
    std::iter::from_fn(move || {
        loop {
            let window_end = start + least;
            // Most bytes are never looked at: where a run cannot reach its length, none begins.
            let window = bytes.get(start..window_end)?;
            if let Some(other) = window.iter().rposition(|byte| !belongs(*byte)) {
                start += other + 1;
                continue;
            }
            let more = bytes[window_end..]
                .iter()
                .take_while(|byte| belongs(**byte));
            let run = start..window_end + more.count();
            start = run.end + 1;
            return Some(run);
        }
    })
}

fn belongs(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

fn spellings(secret: &[u8]) -> Vec<EncodedSpelling> {
    let head = &secret[..secret.len().min(LOOK)];
    let digits = EncodedSpelling {
        text: hexadecimal(head),
        rest: 2 * (secret.len() - head.len()),
    };
    let mut spellings = vec![digits];
    for offset in 0..3 {
        let standard = base64(head, secret.len(), offset);
        if standard.text.contains(['+', '/']) {
            spellings.push(EncodedSpelling {
                text: standard.text.replace('+', "-").replace('/', "_"),
                ..standard
            });
        }
        spellings.push(standard);
    }
    spellings
}

fn hexadecimal(bytes: &[u8]) -> String {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = halves.filter_map(|half| char::from_digit(half.into(), 16));
    digits.collect()
}

/// Base64 of a secret that begins `offset` bytes after the beginning of a group of three, without the characters
/// that depend on what stands before and after it.
fn base64(head: &[u8], length: usize, offset: usize) -> EncodedSpelling {
    let bytes = [&[0; 2][..offset], head].concat();
    let written = STANDARD_NO_PAD.encode(&bytes);
    let (start, end) = ((8 * offset).div_ceil(6), 8 * bytes.len() / 6);
    EncodedSpelling {
        text: written[start..end].to_owned(),
        rest: 4 * (offset + length).div_ceil(3) - end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(secret: &str, text: &str) -> Vec<Range<usize>> {
        let secrets = [secret.to_owned()];
        let secrets = EncodedSecrets::new(secrets.iter()).unwrap();
        let mut found = Vec::new();
        secrets.find(text, &mut found);
        assert_eq!(secrets.is_in(text), !found.is_empty());
        found
    }

    #[test]
    fn base64_is_known_wherever_it_begins_in_its_group() {
        let secret = "topsecret-value?>";
        for before in ["", "a", "ab", "abc", "Basic user:"] {
            for after in ["", "z", "zy", " and so on"] {
                let written = STANDARD_NO_PAD.encode(format!("{before}{secret}{after}"));
                for written in [written.clone(), written.replace('+', "-").replace('/', "_")] {
                    let text = format!("a {written}. b");
                    assert_eq!(found(secret, &text).len(), 1, "{before}…{after}: {text}");
                }
            }
        }
    }

    #[test]
    fn a_long_secret_has_short_spellings_and_is_hidden_as_a_whole() {
        let secret = "k3y-".repeat(1_000);
        let digits = hexadecimal(secret.as_bytes()).to_uppercase();
        for written in [digits, STANDARD_NO_PAD.encode(&secret)] {
            let text = format!("{written} and more");
            assert!(found(&secret, &text).contains(&(0..written.len())));
        }
        let longest = spellings(secret.as_bytes())
            .iter()
            .map(|one| one.text.len())
            .max();
        assert_eq!(longest, Some(2 * LOOK));
    }

    #[test]
    fn all_spellings_together_are_bounded() {
        let secrets: Vec<String> = (0..10_000)
            .map(|one| format!("a-secret-{one:050}"))
            .collect();
        let known = EncodedSecrets::new(secrets.iter()).unwrap();
        let length: usize = known.spellings.iter().map(|one| one.text.len()).sum();
        assert!((MOST_BYTES / 2..=MOST_BYTES).contains(&length), "{length}");
        assert!(EncodedSecrets::new([].iter()).is_none());
    }

    #[test]
    fn runs_are_found_wherever_they_are() {
        for (text, least, expected) in [
            ("abcd", 4, &["abcd"][..]),
            ("abc", 4, &[]),
            ("", 4, &[]),
            (" abcd efg hijkl", 4, &["abcd", "hijkl"]),
            ("ab.abcd.ab", 4, &["abcd"]),
            ("éabcdé abcde", 4, &["abcd", "abcde"]),
            ("ab", 1, &["ab"]),
        ] {
            let found: Vec<&str> = runs(text, least).map(|run| &text[run]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
