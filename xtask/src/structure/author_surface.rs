//! Public items of `mcpproxy-contract`: what authors of tools have to find their way in stays small.
//!
//! Counted is every declaration with a plain `pub`: types, traits, functions, methods, constants, modules, and exported
//! macros. What a macro of the crate makes counts each time it is used. Fields, variants and what a trait asks for are
//! parts of their item; a re-export is another name for one; modules hidden from the documentation are for our other
//! crates. The lint `unreachable_pub` sees to it that nothing is `pub` that cannot be reached, and `missing_docs` that
//! each is documented. Counted like this, the crate had about 370 items when serving and checking were part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::CrateUnderCheck;
use crate::source::{self, Token, group_end, tokens, without_tests};

/// Most items that the crate may have.
const MOST_ITEMS: usize = 200;

const KEYWORDS: [&str; 10] = [
    "fn", "const", "async", "unsafe", "struct", "enum", "trait", "type", "mod", "static",
];

pub(super) fn find(crates: &[CrateUnderCheck]) -> Vec<String> {
    let contract = crates.iter().find(|package| package.name == "contract");
    let count = contract.map_or(Ok(0), |package| {
        let root = &package.modules.modules[0].file;
        let folder = root.parent().unwrap_or(root);
        count(folder, &package.modules.test_files)
    });
    match count {
        Ok(count) if count <= MOST_ITEMS => Vec::new(),
        Ok(count) => vec![format!(
            "{count} public items, at most {MOST_ITEMS} are allowed"
        )],
        Err(error) => vec![error.to_string()],
    }
}

fn count(folder: &Path, test_files: &BTreeSet<std::path::PathBuf>) -> anyhow::Result<usize> {
    let mut sources = Vec::new();
    for file in source::rust_files(folder)? {
        if !test_files.contains(&file) {
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            sources.push((name.into_owned(), source::read(&file)?));
        }
    }
    Ok(count_sources(&sources))
}

/// Public items of sources, each with the name of its module.
fn count_sources(sources: &[(String, String)]) -> usize {
    let files: Vec<(&str, Vec<Token<'_>>)> = sources
        .iter()
        .map(|(name, text)| (name.as_str(), without_tests(&tokens(text)).tokens))
        .collect();
    let mut hidden = BTreeSet::new();
    let mut macros = BTreeMap::new();
    for (_, tokens) in &files {
        for at in 0..tokens.len() {
            if is_at(
                tokens,
                at,
                &["#", "[", "doc", "(", "hidden", ")", "]", "pub", "mod"],
            ) {
                hidden.extend(tokens.get(at + 9).map(|name| name.text));
            }
            if is_at(tokens, at, &["macro_rules", "!"]) {
                let end = group_end(tokens, at + 3);
                let made = &tokens[at + 3..end];
                let made = (0..made.len()).filter(|at| declares_item(made, *at));
                macros.insert(tokens[at + 2].text, made.count());
            }
        }
    }
    files
        .iter()
        .filter(|(name, _)| !hidden.contains(name))
        .map(|(_, tokens)| count_tokens(tokens, &hidden, &macros))
        .sum()
}

fn count_tokens(
    tokens: &[Token<'_>],
    hidden: &BTreeSet<&str>,
    macros: &BTreeMap<&str, usize>,
) -> usize {
    let mut count = 0;
    let mut at = 0;
    while at < tokens.len() {
        let is_call = is_at(tokens, at + 1, &["!"]);
        if is_at(tokens, at, &["macro_rules"]) {
            at = group_end(tokens, at + 3);
            continue;
        }
        if let Some(made) = macros.get(tokens[at].text).filter(|_| is_call) {
            let end = group_end(tokens, at + 2);
            let is_public = |at: usize| tokens[at].is("pub") && !is_at(tokens, at + 1, &["("]);
            count += if (at..end).any(is_public) {
                1 + made
            } else {
                0
            };
            at = end;
            continue;
        }
        // A module that is neither public nor a file of its own: nothing in it can be reached.
        let is_private = at == 0 || !(tokens[at - 1].is("pub") || tokens[at - 1].is(")"));
        if is_at(tokens, at, &["mod"]) && is_private && is_at(tokens, at + 2, &["{"]) {
            at = group_end(tokens, at + 2);
            continue;
        }
        let is_hidden = is_at(tokens, at, &["pub", "mod"])
            && tokens
                .get(at + 2)
                .is_some_and(|name| hidden.contains(name.text));
        let is_item = declares_item(tokens, at) && !is_hidden;
        count += usize::from(is_item || tokens[at].is("macro_export"));
        at += 1;
    }
    count
}

fn declares_item(tokens: &[Token<'_>], at: usize) -> bool {
    let next = tokens.get(at + 1).map_or("", |token| token.text);
    tokens[at].is("pub") && KEYWORDS.contains(&next)
}

fn is_at(tokens: &[Token<'_>], at: usize, texts: &[&str]) -> bool {
    let found = tokens.get(at..at + texts.len()).unwrap_or_default();
    found.len() == texts.len() && found.iter().zip(texts).all(|(token, text)| token.is(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authors_have_few_items_to_know() {
        super::super::refuse(find);
    }

    #[test]
    fn items_are_counted_and_their_parts_are_not() {
        let check = |source: &str, expected: usize| {
            let sources = [("lib".to_owned(), source.to_owned())];
            assert_eq!(count_sources(&sources), expected, "{source}");
        };
        check("pub struct A { pub b: C }\npub(crate) fn d() {}", 1);
        check(
            "pub use a::B;\npub trait C { fn d(); }\npub const fn e() {}",
            2,
        );
        check("mod a { pub fn b() {} }\npub mod c { pub fn d() {} }", 2);
        check("#[doc(hidden)]\npub mod a;", 0);
        check("#[cfg(test)]\nmod tests { pub fn a() {} }", 0);
        check(
            "macro_rules! m { ($n:ident) => { pub fn a() {} } }\nm!(pub X); m! { pub Y }",
            4,
        );
        check(
            "#[macro_export]\nmacro_rules! m { () => { pub fn a() {} } }",
            1,
        );
    }

    #[test]
    fn hidden_modules_are_left_out_with_their_files() {
        let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let sources = [
            file("lib", "#[doc(hidden)] pub mod wire; pub mod hints;"),
            file("wire", "pub fn a() {}"),
            file("hints", "pub fn a() {}"),
        ];
        assert_eq!(count_sources(&sources), 2);
    }
}
