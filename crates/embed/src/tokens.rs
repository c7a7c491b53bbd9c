//! Tokens of a text: the words and parts of words that the model knows (`WordPiece`, as BERT has it).

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Tokens with a meaning of their own, by their numbers in the vocabulary.
const UNKNOWN: u32 = 100;
const BEGIN: u32 = 101;
const END: u32 = 102;

/// Characters of a text that are read for each token it may have, at most.
const CHARACTERS_OF_TOKEN: usize = 32;

/// Characters of a text that are looked through for a word, at most.
const WORDS_LIMIT: usize = 4_096;

/// Characters of a word that is looked up; a longer one is unknown.
const WORD_LIMIT: usize = 100;

/// Parts that a known word has at most, and letters that two of them have at least, on average.
const MOST_PARTS: usize = 3;
const LETTERS_OF_TWO_PARTS: usize = 5;

/// Mark of those tokens of the vocabulary that go on a word.
const INSIDE: &str = "##";

/// Vocabulary: the numbers of all tokens.
#[derive(Debug)]
pub(crate) struct Vocabulary<'a> {
    beginnings: HashMap<&'a str, u32>,
    insides: HashMap<&'a str, u32>,
    longest: usize,
}

impl<'a> Vocabulary<'a> {
    /// The vocabulary of a text with one token on each line, in their order.
    pub(crate) fn new(lines: &'a str) -> Self {
        let (mut beginnings, mut insides) = (HashMap::new(), HashMap::new());
        let mut longest = 0;
        for (token, number) in lines.lines().zip(0..) {
            longest = longest.max(token.len());
            match token.strip_prefix(INSIDE) {
                Some(part) if !part.is_empty() => insides.insert(part, number),
                _ => beginnings.insert(token, number),
            };
        }
        Self {
            beginnings,
            insides,
            longest,
        }
    }

    /// The tokens of a text with those that begin and end it, cut to a limit.
    pub(crate) fn tokens(&self, text: &str, limit: usize) -> Vec<u32> {
        let mut tokens = vec![BEGIN];
        let characters = text.chars().take(limit * CHARACTERS_OF_TOKEN);
        for word in words(characters) {
            if tokens.len() + 1 >= limit {
                break;
            }
            self.add_word(&word, &mut tokens);
        }
        tokens.truncate(limit - 1);
        tokens.push(END);
        tokens
    }

    /// Whether a text has a word that is known, and most of its letters are Latin: the model was made with English.
    pub(crate) fn knows_a_word_of(&self, text: &str) -> bool {
        let words = words(text.chars().take(WORDS_LIMIT));
        let letters = || words.iter().flat_map(|word| word.chars());
        let all = letters().filter(|one| one.is_alphabetic()).count();
        let latin = letters().filter(|one| is_latin(*one)).count();
        2 * latin > all && words.iter().any(|word| self.knows(word))
    }

    /// Whether a word of more than two letters is a token, or a few long ones, as `screens-hot` and `up-load` are. Rows of
    /// letters fall into more and shorter ones.
    fn knows(&self, word: &str) -> bool {
        let letters = word.chars().count();
        let parts = self.parts(word).map_or(0, |parts| parts.len());
        letters > 2
            && word.chars().all(char::is_alphabetic)
            && (1..=MOST_PARTS).contains(&parts)
            && (parts == 1 || 2 * letters >= LETTERS_OF_TWO_PARTS * parts)
    }

    /// Adds the tokens of a word; one that stands for all unknown words where it has none.
    fn add_word(&self, word: &str, tokens: &mut Vec<u32>) {
        match self.parts(word) {
            Some(parts) => tokens.extend(parts.into_iter().map(|(_, token)| token)),
            None => tokens.push(UNKNOWN),
        }
    }

    /// The longest parts that a word consists of, from its beginning to its end.
    fn parts<'w>(&self, word: &'w str) -> Option<Vec<(&'w str, u32)>> {
        if word.chars().count() > WORD_LIMIT {
            return None;
        }
        let mut parts = Vec::new();
        let mut rest = word;
        while !rest.is_empty() {
            let known = if parts.is_empty() {
                &self.beginnings
            } else {
                &self.insides
            };
            let ends = (1..=rest.len().min(self.longest)).rev();
            let mut candidates = ends.filter_map(|end| rest.get(..end));
            let found = candidates.find_map(|part| Some((part, *known.get(part)?)))?;
            rest = &rest[found.0.len()..];
            parts.push(found);
        }
        Some(parts)
    }
}

/// The words of a text: lower case, without accents; punctuation and Chinese characters stand alone.
fn words(characters: impl Iterator<Item = char>) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let plain = characters
        .filter(|one| !is_control(*one))
        .map(|one| if one.is_whitespace() { ' ' } else { one })
        .nfd()
        .filter(|one| !is_combining_mark(*one))
        .flat_map(char::to_lowercase);
    for one in plain {
        let stands_alone = is_punctuation(one) || is_chinese(one);
        if (one == ' ' || stands_alone) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if stands_alone {
            words.push(one.to_string());
        } else if one != ' ' {
            word.push(one);
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

fn is_control(one: char) -> bool {
    let is_space = matches!(one, '\t' | '\n' | '\r');
    let is_format = matches!(one, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}');
    matches!(one, '\0' | '\u{fffd}') || (one.is_control() && !is_space) || is_format
}

fn is_punctuation(one: char) -> bool {
    one.is_ascii_punctuation()
        || matches!(u32::from(one), 0xa1 | 0xa7 | 0xab | 0xb6 | 0xb7 | 0xbb | 0xbf | 0x2010..=0x2027
            | 0x2030..=0x205e | 0x3001..=0x3003 | 0x3008..=0x3011 | 0x3014..=0x301f | 0x30fb
            | 0xff01..=0xff03 | 0xff05..=0xff0a | 0xff0c..=0xff0f | 0xff1a | 0xff1b | 0xff1f | 0xff20
            | 0xff3b..=0xff3d | 0xff3f | 0xff5b | 0xff5d | 0xff5f..=0xff65)
}

/// Whether it is a letter of the Latin script, without its accents.
fn is_latin(one: char) -> bool {
    one.is_alphabetic() && u32::from(one) < 0x250
}

fn is_chinese(one: char) -> bool {
    matches!(u32::from(one), 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x2_fa1f)
}
