//! Words that say more than an unannotated tool's caller admits.
//!
//! A heuristic for warnings only: nothing is refused because of a word.

use crate::Operation;

/// Verbs of loss.
const DESTRUCTIVE_WORDS: &[&str] = &[
    "clear",
    "delete",
    "deletes",
    "destroy",
    "destroys",
    "drop",
    "drops",
    "erase",
    "erases",
    "format",
    "kill",
    "kills",
    "overwrite",
    "overwrites",
    "purge",
    "purges",
    "remove",
    "removes",
    "reset",
    "revoke",
    "revokes",
    "terminate",
    "terminates",
    "truncate",
    "truncates",
    "uninstall",
    "unlink",
    "wipe",
    "wipes",
];

/// Verbs of change.
const WRITE_WORDS: &[&str] = &[
    "add", "append", "apply", "approve", "assign", "commit", "copy", "create", "creates", "deploy",
    "edit", "edits", "grant", "import", "insert", "inserts", "install", "merge", "move", "patch",
    "pay", "post", "publish", "push", "put", "rename", "replace", "save", "saves", "send", "sends",
    "set", "store", "submit", "transfer", "update", "updates", "upload", "write", "writes",
];

/// The most harmful word in a tool's name or in the first sentence of its description.
///
/// Verbs of loss count anywhere in that sentence, verbs of change only at its beginning: `set`
/// and `post` are nouns further on. Later sentences often say what the tool does not do.
pub(crate) fn of(tool: &str, description: &str) -> Option<(String, Operation)> {
    let sentence = description.split(['.', '\n', ';']).next();
    let described = words(sentence.unwrap_or_default())
        .into_iter()
        .enumerate()
        .filter(|(position, word)| *position < 2 || class_of(word) == Some(Operation::Destructive))
        .map(|(_, word)| word);
    let mut worst: Option<(String, Operation)> = None;
    for word in words(tool).into_iter().chain(described) {
        let Some(sounds_like) = class_of(&word) else {
            continue;
        };
        if worst.as_ref().is_none_or(|(_, known)| sounds_like > *known) {
            worst = Some((word, sounds_like));
        }
    }
    worst
}

fn class_of(word: &str) -> Option<Operation> {
    if DESTRUCTIVE_WORDS.contains(&word) {
        Some(Operation::Destructive)
    } else {
        WRITE_WORDS.contains(&word).then_some(Operation::Write)
    }
}

/// Splits text at punctuation and camel case (`XMLDelete` is two words), in lower case.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut current = String::new();
    let mut previous = ' ';
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let next_is_lower = characters.peek().is_some_and(|next| next.is_lowercase());
        let starts_new = character.is_uppercase()
            && (previous.is_lowercase() || (previous.is_uppercase() && next_is_lower));
        if (starts_new || !character.is_alphanumeric()) && !current.is_empty() {
            words.push(std::mem::take(&mut current));
        }
        if character.is_alphanumeric() {
            current.extend(character.to_lowercase());
        }
        previous = character;
    }
    if !current.is_empty() {
        words.push(current);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tool: &str, description: &str, expected: Option<(&str, Operation)>) {
        let expected = expected.map(|(word, operation)| (word.to_owned(), operation));
        assert_eq!(of(tool, description), expected, "{tool}: {description}");
    }

    #[test]
    fn names_and_opening_verbs_tell_the_risk() {
        check("delete_repo", "", Some(("delete", Operation::Destructive)));
        check("dropTable", "", Some(("drop", Operation::Destructive)));
        check(
            "repo.purge-all",
            "",
            Some(("purge", Operation::Destructive)),
        );
        check(
            "run",
            "Deletes a branch",
            Some(("deletes", Operation::Destructive)),
        );
        check("run", "Will send mail", Some(("send", Operation::Write)));
        check(
            "create_or_remove",
            "",
            Some(("remove", Operation::Destructive)),
        );
        check("XMLDelete", "", Some(("delete", Operation::Destructive)));
        check(
            "run",
            "This tool deletes everything",
            Some(("deletes", Operation::Destructive)),
        );
        check("list_repos", "Lists repositories. Does not delete.", None);
        check("get", "Get the post with a set of tags", None);
        check("settings", "Show settings", None);
        check("", "", None);
    }
}
