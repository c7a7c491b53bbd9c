//! Words that `docs/glossary.md` retired do not come back as names of modules and types.

use super::{CrateUnderCheck, location};

/// Words that mean nothing else here: they are no part of a name.
const RETIRED: [&str; 25] = [
    "asked", "behind", "board", "book", "era", "eras", "errand", "heard", "hiding", "inlet",
    "keeping", "kept", "legacy", "modern", "news", "noted", "parked", "party", "patience", "peer",
    "shelf", "standing", "stock", "told", "turn",
];

/// Words that are fine in a longer name, but say too little, or something retired, as a name of their own.
const RETIRED_ALONE: [&str; 19] = [
    "answer", "bell", "change", "class", "declared", "discover", "entry", "hints", "item",
    "library", "offer", "old", "origin", "own", "prepared", "progress", "question", "side",
    "context",
];

/// Names that have such a word and mean another thing, with the reason why.
const EXCEPTIONS: [(&str, &str); 1] = [(
    "context",
    "the module of what a tool of the contract is called with; as the name of a type it says too little",
)];

pub(super) fn find(crates: &[CrateUnderCheck]) -> Vec<String> {
    let mut findings = Vec::new();
    for package in crates {
        for module in &package.modules.modules {
            let module_name = module.path.last().map(|name| (name.as_str(), 1));
            let types = module
                .types
                .iter()
                .map(|(name, line)| (name.as_str(), *line));
            for (name, line) in module_name.into_iter().chain(types) {
                if let Some(word) = retired_word(name) {
                    let place = location(&module.file, line);
                    findings.push(format!("{name}: `{word}` at {place}"));
                }
            }
        }
    }
    findings
}

fn retired_word(name: &str) -> Option<String> {
    if EXCEPTIONS.iter().any(|(excepted, _)| *excepted == name) {
        return None;
    }
    let words = words(name);
    let is_retired = |word: &String| {
        let word = word.as_str();
        let singular = word.strip_suffix('s').unwrap_or(word);
        let has = |list: &[&str]| list.contains(&word) || list.contains(&singular);
        has(&RETIRED) || words.len() == 1 && has(&RETIRED_ALONE)
    };
    words.iter().find(|word| is_retired(word)).cloned()
}

/// Words of a name, in small letters: `ClientRequest` and `client_request` have the same two.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for character in name.chars() {
        if character == '_' || character.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character != '_') {
            word.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retired_words_are_no_names() {
        super::super::refuse(find);
    }

    #[test]
    fn words_are_found_in_names_of_both_kinds() {
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(retired_word(name).as_deref(), expected, "{name}");
        };
        check("parked", Some("parked"));
        check("ParkedCall", Some("parked"));
        check("parked_calls", Some("parked"));
        check("Shelfs", Some("shelfs"));
        check("Entry", Some("entry"));
        check("CatalogEntry", None);
        check("returned", None);
        check("ClientRequest", None);
    }
}
