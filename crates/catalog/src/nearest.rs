//! Nearest existing names, for a name that does not exist.
//!
//! Only what search would show is suggested: the name of a disabled or quarantined tool, or of one that the caller may
//! not use, would tell an agent what is being withheld.

use mcpproxy_policy::{AccessTo, Rights};
use mcpproxy_support::nearest::{NAME_LIMIT, likeness, nearest};

use crate::snapshot::Snapshot;
use crate::tokens::{stem, words};

/// Number of names that are suggested.
const SUGGESTIONS: usize = 3;

/// Likeness from which on a name is worth suggesting.
const LIKENESS: f64 = 0.6;

impl Snapshot {
    /// The servers whose names are nearest to `name`, nearest first, of those that a caller with these rights may use.
    pub fn nearest_servers(&self, name: &str, rights: &Rights) -> Vec<String> {
        let wanted = WantedName::new(name);
        let names = self
            .configured()
            .filter(|state| state.is_shown() && rights.allow(AccessTo::Server(state.name())))
            .map(|state| (wanted.likeness(state.name()), state.name().to_string()));
        nearest(names, LIKENESS, SUGGESTIONS)
    }

    /// The callable tools, as `server:tool`, that are nearest to `name`, nearest first, of those
    /// that a caller with these rights may use. The name may lack the server or have a wrong one: the tool's own name
    /// counts as well.
    pub fn nearest_tools(&self, name: &str, rights: &Rights) -> Vec<String> {
        let whole = WantedName::new(name);
        let own = WantedName::new(name.split_once(':').map_or(name, |(_, tool)| tool));
        let tools = self.tools();
        let callable = tools.filter(|entry| entry.is_callable() && entry.is_within(rights));
        let names = callable.map(|entry| {
            // A tool of the same name elsewhere is near, one of the same server nearer.
            let own = 0.95 * own.likeness(entry.name());
            let likeness = whole.likeness(entry.qualified()).max(own);
            (likeness, entry.qualified().to_owned())
        });
        nearest(names, LIKENESS, SUGGESTIONS)
    }
}

/// Name that was asked for.
struct WantedName {
    name: String,
    words: Vec<String>,
}

impl WantedName {
    fn new(name: &str) -> Self {
        let name: String = name.chars().take(NAME_LIMIT).collect();
        Self {
            words: stems(&name),
            name: name.to_lowercase(),
        }
    }

    /// Likeness of two names, from 0 to 1: by letters, or by the words they share.
    fn likeness(&self, name: &str) -> f64 {
        let letters = likeness(&self.name, &name.to_lowercase());
        letters.max(self.shared_words(&stems(name)))
    }

    fn shared_words(&self, words: &[String]) -> f64 {
        let shared = self
            .words
            .iter()
            .filter(|word| words.contains(word))
            .count();
        let all = self.words.len() + words.len() - shared.min(words.len());
        #[expect(clippy::cast_precision_loss, reason = "names have few words")]
        let share = shared as f64 / all.max(1) as f64;
        share
    }
}

fn stems(name: &str) -> Vec<String> {
    words(name).iter().map(|word| stem(word)).collect()
}
