//! Nearest names: what a name that does not exist was most likely meant to be.

/// Longest name that is compared, in characters: the time grows with the square of it. Of longer ones only the start
/// is looked at.
pub const NAME_LIMIT: usize = 128;

/// Longest keyword that can be a misspelling of another.
const KEYWORD_LIMIT: usize = 100;

/// Names that are alike enough, nearest first; of equally near ones the smaller first.
///
/// Every name comes with its [`likeness`], `least` is what it takes to be named at all, and no more than `most` are.
pub fn nearest<N: Ord>(
    names: impl IntoIterator<Item = (f64, N)>,
    least: f64,
    most: usize,
) -> Vec<N> {
    let mut near: Vec<(f64, N)> = names
        .into_iter()
        .filter(|(likeness, _)| *likeness >= least)
        .collect();
    near.sort_by(|one, other| {
        let by_likeness = other.0.total_cmp(&one.0);
        by_likeness.then_with(|| one.1.cmp(&other.1))
    });
    near.truncate(most);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Likeness of two names by their letters, from 0 to 1; names that begin alike are nearer.
pub fn likeness(one: &str, other: &str) -> f64 {
    strsim::jaro_winkler(start_of(one), start_of(other))
}

/// Share of two names that is the same in the same order, from 0 to 1; two letters that change places count as one.
pub fn same_letters(one: &str, other: &str) -> f64 {
    let (one, other) = (start_of(one), start_of(other));
    let longer = one.chars().count().max(other.chars().count()).max(1);
    let changes = strsim::osa_distance(one, other);
    #[expect(clippy::cast_precision_loss, reason = "names are short")]
    let share = changes as f64 / longer as f64;
    1.0 - share
}

/// Keyword that was most likely meant: few letters differ, or the word begins like it, as `arguments` does like `args`.
///
/// For small fixed sets such as the keys of a file, where a wrong guess is worse than none.
pub fn nearest_keyword<'a>(word: &str, keywords: &[&'a str]) -> Option<&'a str> {
    if word.chars().nth(KEYWORD_LIMIT).is_some() {
        return None;
    }
    let word = word.to_lowercase();
    let near = keywords.iter().enumerate().filter_map(|(place, keyword)| {
        let is_near = is_misspelling(&word, keyword) || is_long_form(&word, keyword);
        let changes = u32::try_from(strsim::osa_distance(&word, keyword)).ok()?;
        is_near.then(|| (-f64::from(changes), (place, *keyword)))
    });
    nearest(near, f64::NEG_INFINITY, 1)
        .pop()
        .map(|(_, keyword)| keyword)
}

fn is_misspelling(word: &str, keyword: &str) -> bool {
    strsim::osa_distance(word, &keyword.to_lowercase()) <= (keyword.len() / 3).max(1)
}

fn is_long_form(word: &str, keyword: &str) -> bool {
    let letters = word.chars().zip(keyword.chars());
    let shared = letters.take_while(|(left, right)| left == right).count();
    shared >= 3 && shared + 1 >= keyword.chars().count()
}

fn start_of(name: &str) -> &str {
    match name.char_indices().nth(NAME_LIMIT) {
        Some((end, _)) => &name[..end],
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_keyword_is_found_and_strangers_are_not() {
        let names = ["args", "args_json", "intent", "intent_reason", "name"];
        for (word, expected) in [
            ("arguments", Some("args")),
            ("ARGS", Some("args")),
            ("arg_json", Some("args_json")),
            ("intnt", Some("intent")),
            ("zzz", None),
            ("", None),
        ] {
            assert_eq!(nearest_keyword(word, &names), expected, "{word}");
        }
        assert_eq!(nearest_keyword(&"name".repeat(100), &names), None);
        let alike = ["bat", "rat", "cat"];
        assert_eq!(nearest_keyword("aat", &alike), Some("bat"), "the first");
    }

    #[test]
    fn the_nearest_come_first_and_equals_by_name() {
        let names = [(0.5, "e"), (0.9, "c"), (0.7, "d"), (0.9, "b"), (1.0, "a")];
        assert_eq!(nearest(names, 0.6, 3), ["a", "b", "c"]);
        assert_eq!(nearest(names, 0.6, 9), ["a", "b", "c", "d"]);
        assert!(nearest(names, 1.1, 9).is_empty());
    }

    #[test]
    fn names_share_letters_in_their_order() {
        for (one, other, share) in [
            ("log", "log", 1.0),
            ("", "", 1.0),
            ("read_log", "read_lgo", 0.875),
            ("abcd", "", 0.0),
            ("abcd", "abxy", 0.5),
        ] {
            assert!(
                (same_letters(one, other) - share).abs() < f64::EPSILON,
                "{one}"
            );
        }
        assert!(same_letters("write_log", "read_log") < 0.6);
    }

    #[test]
    fn only_the_start_of_a_long_name_is_compared() {
        let long = "ü".repeat(NAME_LIMIT);
        assert!((likeness(&long, &format!("{long}x")) - 1.0).abs() < f64::EPSILON);
        assert!(likeness("get-crad", "get-card") > likeness("get-crad", "set-card"));
    }
}
