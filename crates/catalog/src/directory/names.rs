//! The names that tools and prompts have where those of all servers are offered together.
//!
//! A tool is `server__tool` wherever that is a name clients take and can be read back in one way only.
//! Every other tool has a marked name: as much of both names as fits, and a short hash of them.
//! The two kinds cannot be mixed up, so a plain name is read by splitting it, and only marked names
//! are looked up. This module is pure.

use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// The longest name given out. The protocol admits 128 characters, but many clients and the models
/// behind them take 64.
pub(crate) const NAME_LIMIT: usize = 64;

/// Between the name of a server and that of its tool.
const SEPARATOR: &str = "__";

/// Begins the end of a marked name; no word of a language goes on after it.
const MARK: &str = "-0";

/// Number of characters of the hash, five bits each.
const HASH_LENGTH: usize = 14;

const HASH_ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Characters of a server's name that a marked name shows, so that there is room for the tool's.
const SERVER_SHOWN: usize = 24;

/// A server, and what it calls one of its items.
pub type Target = (Arc<str>, Arc<str>);

/// The tools whose names are marked, both ways round.
#[derive(Debug, Default)]
pub(crate) struct Names {
    targets: HashMap<String, Target>,
    names: HashMap<Target, String>,
}

impl Names {
    /// The names of these tools. The same tools in the same order always get the same names.
    pub(crate) fn of<'a>(tools: impl IntoIterator<Item = (&'a Arc<str>, &'a Arc<str>)>) -> Self {
        let mut known = Self::default();
        for (server, tool) in tools {
            if plain(server, tool).is_some() {
                continue;
            }
            let target = (Arc::clone(server), Arc::clone(tool));
            if known.names.contains_key(&target) {
                continue;
            }
            // Two tools with one hash are not to be expected, but then the later one gets another.
            let free = (0..=u32::MAX)
                .map(|attempt| marked(server, tool, attempt))
                .find(|name| !known.targets.contains_key(name));
            if let Some(name) = free {
                known.targets.insert(name.clone(), target.clone());
                known.names.insert(target, name);
            }
        }
        known
    }

    /// The name that a tool is offered under.
    pub(crate) fn name(&self, server: &Arc<str>, tool: &Arc<str>) -> String {
        plain(server, tool).unwrap_or_else(|| {
            let target = (Arc::clone(server), Arc::clone(tool));
            let known = self.names.get(&target).cloned();
            known.unwrap_or_else(|| marked(server, tool, 0))
        })
    }

    /// The tool behind a name. A plain name always stands for one, whether or not it exists.
    pub(crate) fn target(&self, name: &str) -> Option<Target> {
        if is_marked(name) {
            return self.targets.get(name).cloned();
        }
        let (server, tool) = name.split_once(SEPARATOR)?;
        // What is never given out is not taken either, so that each tool has one name.
        let is_ours = plain(server, tool).as_deref() == Some(name);
        (is_ours && !tool.is_empty()).then(|| (server.into(), tool.into()))
    }
}

/// Whether a marked name may stand for a tool of this server, so that it is worth asking the server.
pub(crate) fn may_be_of(name: &str, server: &str) -> bool {
    is_marked(name) && name.starts_with(&beginning(server))
}

/// Rest of a name that begins as those of this server's tools do.
pub(crate) fn rest_of<'a>(name: &'a str, server: &str) -> Option<&'a str> {
    let beginnings = [[server, SEPARATOR].concat(), beginning(server)];
    let rest = beginnings.iter().find_map(|one| name.strip_prefix(one))?;
    (!rest.is_empty()).then_some(rest)
}

/// `server__tool`, if clients take it and it can be read back.
fn plain(server: &str, tool: &str) -> Option<String> {
    let name = [server, SEPARATOR, tool].concat();
    let is_plain = !server.is_empty()
        && name.len() <= NAME_LIMIT
        && name.chars().all(is_allowed)
        && name.find(SEPARATOR) == Some(server.len())
        && !is_marked(&name);
    is_plain.then_some(name)
}

/// Name made of as much of both names as fits, and a hash.
fn marked(server: &str, tool: &str, attempt: u32) -> String {
    let mut name = beginning(server);
    name.extend(tool.chars().map(allowed));
    name.truncate(NAME_LIMIT - MARK.len() - HASH_LENGTH);
    name + MARK + &hash(server, tool, attempt)
}

/// Beginning of the marked names of a server's tools. Only characters of one byte are in it.
fn beginning(server: &str) -> String {
    let shown = server.chars().take(SERVER_SHOWN).map(allowed);
    shown.chain(SEPARATOR.chars()).collect()
}

fn is_marked(name: &str) -> bool {
    let hash = name.len().checked_sub(HASH_LENGTH);
    let Some((before, hash)) = hash.and_then(|at| name.split_at_checked(at)) else {
        return false;
    };
    before.ends_with(MARK) && hash.bytes().all(|byte| HASH_ALPHABET.contains(&byte))
}

fn hash(server: &str, tool: &str, attempt: u32) -> String {
    let mut digest = Sha256::new();
    digest.update(attempt.to_be_bytes());
    digest.update(server);
    // No text has this byte, so no part of one name can pass for a part of the other.
    digest.update([0xff]);
    digest.update(tool);
    let bytes = digest.finalize();
    let indexes = bytes.iter().map(|byte| usize::from(byte % 32));
    let characters = indexes.map(|index| char::from(HASH_ALPHABET[index]));
    characters.take(HASH_LENGTH).collect()
}

/// Whether the protocol allows a character in the name of a tool.
fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-')
}

fn allowed(character: char) -> char {
    if is_allowed(character) {
        character
    } else {
        '_'
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(server: &str, tool: &str, expected: Option<&str>) {
        let (server, tool): Target = (server.into(), tool.into());
        let names = Names::of([(&server, &tool)]);
        let name = names.name(&server, &tool);
        match expected {
            Some(expected) => assert_eq!(name, expected),
            None => assert!(is_marked(&name), "{name}"),
        }
        assert!(name.len() <= NAME_LIMIT && name.chars().all(is_allowed));
        assert_eq!(names.target(&name), Some((server, tool)), "{name}");
    }

    #[test]
    fn a_name_that_fits_is_plain_and_every_other_is_marked() {
        check("github", "list_issues", Some("github__list_issues"));
        check("a", "_b", Some("a___b"));
        check("a", "x__y", Some("a__x__y"));
        check("a.b-c", "d.e-f", Some("a.b-c__d.e-f"));
        let fits = "t".repeat(NAME_LIMIT - 3);
        check("s", &fits, Some(&format!("s__{fits}")));
        check("s", &format!("{fits}t"), None);
        check("a_", "b", None);
        check("s", "größe", None);
        check("s", "a/b:c", None);
        check("s", "looks-0abcdefghijklmn", None);
        check(&"s".repeat(64), &"t".repeat(256), None);
    }

    #[test]
    fn marked_names_stay_the_same_from_one_version_to_the_next() {
        let (server, tool): Target = ("files".into(), "größe/lesen".into());
        let name = Names::default().name(&server, &tool);
        assert_eq!(name, "files__gr__e_lesen-06hiocwdshs7inz");
        assert!(may_be_of(&name, "files"));
        assert!(!may_be_of(&name, "file"));
        assert!(!may_be_of("files__plain", "files"));
        for (name, server, expected) in [
            ("files__plain", "files", Some("plain")),
            ("files__", "files", None),
            ("files_plain", "files", None),
            ("my_files__x y", "my files", Some("x y")),
            ("files__plain", "file", None),
        ] {
            assert_eq!(rest_of(name, server), expected, "{name} {server}");
        }
    }

    #[test]
    fn names_that_were_never_given_out_mean_nothing() {
        let names = Names::default();
        for name in ["", "__", "a__", "__a", "plain", "a:b", "a__ü", "é-0abc"] {
            assert_eq!(names.target(name), None, "{name}");
        }
        assert_eq!(names.target(&format!("s__{}", "t".repeat(62))), None);
        assert_eq!(names.target("s__looks-0abcdefghijklmn"), None);
    }

    /// Names that come close to one another, and any others.
    fn part() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a_]{1,5}",
            "[a-zA-Z0-9_.-]{1,70}",
            "[ab]__?[ab]?(-0[ab]{14})?",
            "\\PC{1,80}",
        ]
    }

    proptest! {
        #[test]
        fn every_tool_has_a_name_of_its_own_and_is_found_by_it(
            tools in prop::collection::btree_set((part(), part()), 0..30),
        ) {
            let tools: Vec<Target> = tools
                .into_iter()
                .map(|(server, tool)| (server.into(), tool.into()))
                .collect();
            let names = Names::of(tools.iter().map(|(server, tool)| (server, tool)));
            let mut seen = std::collections::HashSet::new();
            for (server, tool) in &tools {
                let name = names.name(server, tool);
                prop_assert!(name.len() <= NAME_LIMIT && !name.is_empty());
                prop_assert!(name.chars().all(is_allowed), "{name}");
                prop_assert!(seen.insert(name.clone()), "{name} stands for two tools");
                let expected = Some((Arc::clone(server), Arc::clone(tool)));
                prop_assert_eq!(names.target(&name), expected);
            }
        }
    }
}
