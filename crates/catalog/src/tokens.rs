//! Words of identifiers and sentences.
//!
//! Identifiers are split at everything that is no letter or digit and at changes of case
//! (`HTTPServer` is `http`, `server`; `getURLs` is `get`, `urls`). Digits stay with the letters
//! they touch, because `base64` and `s3` are words. English words are reduced to their stem.
//! Scripts that put no space between words give overlapping pairs of characters.

use rust_stemmers::{Algorithm, Stemmer};

/// The longest word that is kept; what is longer is cut, because it is no word.
const WORD_LIMIT: usize = 48;

/// Characters of a text that are read, at most. Descriptions end long before; a text beyond it is abuse.
const TEXT_LIMIT: usize = 64 * 1024;

/// Words that say nothing about which tool is wanted. They are left out of queries alone: in a
/// document they do no harm.
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by",
    "can", "could", "did", "do", "does", "for", "from", "give", "had", "has", "have", "help",
    "how", "i", "i'd", "i'm", "if", "in", "into", "is", "it", "its", "just", "let", "like", "me",
    "my", "need", "of", "on", "or", "our", "please", "so", "some", "that", "the", "their", "them",
    "there", "these", "they", "this", "to", "tool", "tools", "us", "want", "was", "we", "were",
    "what", "what's", "when", "where", "which", "who", "will", "with", "would", "you", "your",
];

/// The words of a text, lower case and in order, not stemmed.
pub(crate) fn words(text: &str) -> Vec<String> {
    let characters = text.chars().take(TEXT_LIMIT);
    let plain = |character| {
        if character == '\u{2019}' {
            '\''
        } else {
            character
        }
    };
    let characters: Vec<char> = characters.map(plain).collect();
    let mut words = Vec::new();
    let mut start = 0;
    while start < characters.len() {
        if !characters[start].is_alphanumeric() {
            start += 1;
            continue;
        }
        let mut end = start + 1;
        while end < characters.len() && !is_boundary(&characters, end) {
            end += 1;
        }
        push_word(&characters[start..end], &mut words);
        start = end;
    }
    words
}

/// The stem of a word, where the word looks English.
pub(crate) fn stem(word: &str) -> String {
    // The stemmer knows ASCII words only, and identifiers with digits are no English.
    let is_english = |byte: u8| byte.is_ascii_lowercase() || byte == b'\'';
    if word.bytes().all(is_english) {
        Stemmer::create(Algorithm::English).stem(word).into_owned()
    } else {
        word.to_owned()
    }
}

/// Whether a word of a query says nothing about which tool is wanted.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Whether a new word starts at this position, or none goes on.
fn is_boundary(characters: &[char], at: usize) -> bool {
    let (before, here) = (characters[at - 1], characters[at]);
    let after = characters.get(at + 1).copied().unwrap_or(' ');
    if here == '\'' {
        return !(before.is_alphabetic() && after.is_alphabetic());
    }
    if !here.is_alphanumeric() || is_unspaced(before) != is_unspaced(here) {
        return true;
    }
    if !here.is_uppercase() {
        return false;
    }
    if !before.is_uppercase() && before.is_alphabetic() {
        return true;
    }
    // The last capital of several, or the one after a digit, begins the next word, unless all
    // that follows is the plural of an abbreviation.
    after.is_lowercase() && !is_plural(characters, at + 1)
}

fn is_plural(characters: &[char], at: usize) -> bool {
    let next = characters.get(at + 1);
    characters[at] == 's' && next.is_none_or(|next| !next.is_lowercase())
}

fn push_word(characters: &[char], words: &mut Vec<String>) {
    if characters.len() > 1 && is_unspaced(characters[0]) {
        words.extend(characters.windows(2).map(|pair| pair.iter().collect()));
        return;
    }
    let kept = characters.iter().take(WORD_LIMIT);
    words.push(
        kept.flat_map(|character| character.to_lowercase())
            .collect(),
    );
}

/// Scripts written without spaces: Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar.
fn is_unspaced(character: char) -> bool {
    matches!(u32::from(character),
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff | 0x3400..=0x4dbf
        | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn identifiers_and_sentences_are_split_into_words() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("___", &[]),
            ("create_issue", &["create", "issue"]),
            ("git-log.all:x/y", &["git", "log", "all", "x", "y"]),
            ("HTTPServer", &["http", "server"]),
            ("getURLs", &["get", "urls"]),
            ("getURLsNow", &["get", "urls", "now"]),
            ("parseJSONSchema", &["parse", "json", "schema"]),
            ("isSet", &["is", "set"]),
            ("base64Encode", &["base64", "encode"]),
            ("s3_put", &["s3", "put"]),
            ("S3Bucket", &["s3", "bucket"]),
            ("3DModel", &["3d", "model"]),
            ("web3-research", &["web3", "research"]),
            (
                "the user's files, please!",
                &["the", "user's", "files", "please"],
            ),
            ("user\u{2019}s 'quoted'", &["user's", "quoted"]),
            ("Größe ändern", &["größe", "ändern"]),
            ("日期", &["日期"]),
            ("获取日期", &["获取", "取日", "日期"]),
            ("用API查", &["用", "api", "查"]),
            ("İx", &["i\u{307}x"]),
            ("a\u{0}b\u{1f600}c", &["a", "b", "c"]),
        ];
        for (text, expected) in table {
            assert_eq!(words(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn stems_meet_and_foreign_words_stay() {
        for (one, other) in [
            ("issues", "issue"),
            ("searching", "search"),
            ("user's", "users"),
        ] {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
        for word in ["größe", "base64", "日期", ""] {
            assert_eq!(stem(word), word);
        }
    }

    #[test]
    fn stop_words_are_sorted_so_that_they_are_found() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("the") && is_stop_word("a") && !is_stop_word("file"));
    }

    proptest! {
        #[test]
        fn any_text_gives_bounded_lower_case_words(text in "\\PC{0,200}|[a-zA-Z0-9'_ ]{0,80}") {
            for word in words(&text) {
                prop_assert!(!word.is_empty());
                prop_assert!(word.chars().count() <= WORD_LIMIT * 3);
                prop_assert!(!word.chars().any(char::is_whitespace));
                stem(&word);
            }
        }
    }
}
