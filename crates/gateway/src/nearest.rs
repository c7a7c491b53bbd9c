//! What a misspelt word most likely stands for.

/// A longer word is no misspelling of anything, and comparing it would take its time.
const LONGEST: usize = 100;

/// The candidate that looks most like the word, if any looks like it at all.
pub(crate) fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    if word.chars().nth(LONGEST).is_some() {
        return None;
    }
    let word = word.to_lowercase();
    candidates
        .iter()
        .filter(|candidate| is_misspelling(&word, candidate) || is_long_form(&word, candidate))
        .min_by_key(|candidate| strsim::osa_distance(&word, candidate))
        .copied()
}

/// Whether few letters have to change.
fn is_misspelling(word: &str, candidate: &str) -> bool {
    strsim::osa_distance(word, &candidate.to_lowercase()) <= (candidate.len() / 3).max(1)
}

/// Whether the word begins like the candidate, as `arguments` does like `args`.
fn is_long_form(word: &str, candidate: &str) -> bool {
    let shared = word
        .chars()
        .zip(candidate.chars())
        .take_while(|(left, right)| left == right)
        .count();
    shared >= 3 && shared + 1 >= candidate.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_word_is_found_and_strangers_are_not() {
        let names = ["args", "args_json", "intent", "intent_reason", "name"];
        for (word, expected) in [
            ("arguments", Some("args")),
            ("ARGS", Some("args")),
            ("arg_json", Some("args_json")),
            ("intnt", Some("intent")),
            ("zzz", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, &names), expected, "{word}");
        }
        assert_eq!(nearest(&"name".repeat(100), &names), None);
    }
}
