//! The words that `text` finds records by.
//!
//! Both stores index the same words, made here, so the same search finds the same records.

use crate::record::Record;
use crate::row::Cell;

/// The most words that one record is found by.
const MOST_WORDS: usize = 500;

/// Longer runs of letters are data, not words; they are found by how they start.
const LONGEST_WORD: usize = 40;

/// How much of a payload is searched for words, in bytes.
const SEARCHED: usize = 16 * 1024;

/// The most words that one search asks for.
const MOST_ASKED: usize = 10;

/// The words of one record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchTerms(String);

/// The words of a search, each standing for all that start with it.
pub fn of_query(text: &str) -> Vec<String> {
    runs(text).map(small).take(MOST_ASKED).collect()
}

/// The words of a record.
pub fn of_record(record: &Record) -> SearchTerms {
    let reason = record.intent().and_then(|intent| intent["reason"].as_str());
    let parts = [
        record.server_name.as_deref(),
        record.tool_name.as_deref(),
        reason,
        record.error.as_ref().map(|error| error.code.as_str()),
        record.error.as_ref().map(|error| error.message.as_str()),
        record
            .arguments
            .as_ref()
            .map(|payload| payload.text.as_str()),
    ];
    of_parts(parts.into_iter().flatten())
}

/// The words of a row that is about to be written.
pub(crate) fn of_cells(reason: Option<&str>, cells: &[&Cell]) -> SearchTerms {
    of_parts(
        reason
            .into_iter()
            .chain(cells.iter().filter_map(|cell| cell.text())),
    )
}

fn of_parts<'a>(parts: impl Iterator<Item = &'a str>) -> SearchTerms {
    // One text for all of them: most records have dozens, and each would be a piece of memory.
    let mut text = String::new();
    let mut count = 0;
    for part in parts {
        for run in runs(prefix(part, SEARCHED)) {
            // `delete_repo` is found by all of it and by each of its parts.
            let pieces = run.split(is_joint).filter(|piece| piece.len() < run.len());
            for word in pieces.chain([run]).filter(|word| !word.is_empty()) {
                if count == MOST_WORDS {
                    return SearchTerms::sorted(&text);
                }
                count += 1;
                push_small(&mut text, word);
                text.push(' ');
            }
        }
    }
    SearchTerms::sorted(&text)
}

// === impl SearchTerms ===

impl SearchTerms {
    fn sorted(text: &str) -> Self {
        let mut words: Vec<&str> = text.split_ascii_whitespace().collect();
        words.sort_unstable();
        words.dedup();
        Self(words.join(" "))
    }

    /// All of them, each once, with spaces between them.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split_ascii_whitespace()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Runs of letters, digits and what joins them.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && !is_joint(character))
        .map(|run| run.trim_matches(is_joint))
        .filter(|run| !run.is_empty())
}

fn is_joint(character: char) -> bool {
    matches!(character, '_' | '-')
}

/// A word in small letters.
fn small(run: &str) -> String {
    let mut word = String::new();
    push_small(&mut word, run);
    word
}

fn push_small(text: &mut String, run: &str) {
    if run.is_ascii() {
        let word = &run[..run.len().min(LONGEST_WORD)];
        return text.extend(
            word.bytes()
                .map(|byte| char::from(byte.to_ascii_lowercase())),
        );
    }
    let letters = run.chars().flat_map(char::to_lowercase);
    let is_kept = |character: &char| character.is_alphanumeric() || is_joint(*character);
    text.extend(letters.filter(is_kept).take(LONGEST_WORD));
}

/// As much of a text as fits into so many bytes, ending at a whole character.
pub(crate) fn prefix(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits_in_small_letters() {
        assert_eq!(
            of_query("github:Delete_Repo ÄRGER-1.5 \"x\" - _"),
            ["github", "delete_repo", "ärger-1", "5", "x"]
        );
        assert_eq!(of_query(&"ab ".repeat(99)).len(), MOST_ASKED);
        assert_eq!(of_query(&"x".repeat(99))[0].len(), LONGEST_WORD);
        assert_eq!(prefix("aé", 2), "a");
        let found = of_parts(["Delete_Repo x__y -z- __"].into_iter());
        let found: Vec<&str> = found.iter().collect();
        assert_eq!(
            found,
            ["delete", "delete_repo", "repo", "x", "x__y", "y", "z"]
        );
    }
}
