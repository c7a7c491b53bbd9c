//! Search terms: the words that the filter `text` finds records by.
//!
//! Both stores index the terms made here, so one search finds the same records in either.

use std::borrow::Cow;

use serde::Deserialize;

use crate::record::Record;
use crate::row::Row;

/// The most words that one record is found by.
const MOST_WORDS: usize = 500;

/// Longer runs of letters are data, not words; they are found by how they start.
const LONGEST_WORD: usize = 40;

/// Bytes of a payload that are searched for words.
const SEARCHED: usize = 16 * 1024;

/// The most words that one search asks for.
const MOST_ASKED: usize = 10;

/// Terms of a search, each standing for all that start with it.
pub fn of_query(text: &str) -> Vec<String> {
    let small = |run: &str| {
        let mut word = String::new();
        push_small(&mut word, run);
        word
    };
    runs(text).take(MOST_ASKED).map(small).collect()
}

/// Terms of a record, each once and in order, with spaces between them.
pub fn of_record(record: &Record) -> String {
    let error = record.error.as_ref();
    let arguments = record.arguments.as_ref();
    of_texts([
        record.server_name.as_deref(),
        record.tool_name.as_deref(),
        record.intent().and_then(|intent| intent["reason"].as_str()),
        error.map(|error| error.code.as_str()),
        error.map(|error| error.message.as_str()),
        arguments.map(|payload| payload.text.as_str()),
    ])
}

/// Terms of a row, the same as those of its record.
pub fn of_row(row: &Row) -> String {
    let (request, outcome) = (&*row.request, &row.outcome);
    let metadata: Option<SearchedMetadata<'_>> = request
        .metadata
        .text()
        .and_then(|text| serde_json::from_str(text).ok());
    let intent = metadata.and_then(|metadata| metadata.intent);
    let reason = intent.and_then(|intent| intent.reason);
    of_texts([
        request.server_name.text(),
        request.tool_name.text(),
        reason.as_deref(),
        outcome.error_code.text(),
        outcome.error_message.text(),
        request.arguments.text(),
    ])
}

/// Part of a record's metadata that is searched.
#[derive(Deserialize)]
struct SearchedMetadata<'a> {
    #[serde(borrow)]
    intent: Option<DeclaredReason<'a>>,
}

/// Reason that a declared intent gives.
#[derive(Deserialize)]
struct DeclaredReason<'a> {
    #[serde(borrow)]
    reason: Option<Cow<'a, str>>,
}

/// Terms of the texts that are searched, which rows and records give in the same order: server,
/// tool, declared reason, code and message of an error, arguments.
fn of_texts(texts: [Option<&str>; 6]) -> String {
    // One text for all of them: most records have dozens, and each would be a piece of memory.
    let mut found = String::new();
    let mut count = 0;
    for text in texts.into_iter().flatten() {
        for run in runs(prefix(text, SEARCHED)) {
            // `delete_repo` is found by all of it and by each of its parts.
            let pieces = run.split(is_joint).filter(|piece| piece.len() < run.len());
            for word in pieces.chain([run]).filter(|word| !word.is_empty()) {
                if count == MOST_WORDS {
                    return sorted(&found);
                }
                count += 1;
                push_small(&mut found, word);
                found.push(' ');
            }
        }
    }
    sorted(&found)
}

fn sorted(text: &str) -> String {
    let mut words: Vec<&str> = text.split_ascii_whitespace().collect();
    words.sort_unstable();
    words.dedup();
    words.join(" ")
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

/// Adds a word in small letters.
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

/// Beginning of a text that fits into so many bytes, ending at a whole character.
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
        assert_eq!(
            of_texts([
                None,
                None,
                Some("Delete_Repo x__y -z- __"),
                None,
                None,
                None
            ]),
            "delete delete_repo repo x x__y y z"
        );
    }
}
