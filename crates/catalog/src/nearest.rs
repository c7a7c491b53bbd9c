//! Nearest existing names, for a name that does not exist.
//!
//! Only what search would show is suggested: the name of a disabled or quarantined tool, or of one that the caller may
//! not use, would tell an agent what is being withheld.

use mcpproxy_policy::{AccessTo, Rights};
use mcpproxy_support::nearest::{NAME_LIMIT, likeness, nearest, same_letters};

use crate::snapshot::{ServerState, Snapshot};
use crate::tokens::{stem, words};
use crate::tool::CatalogTool;

/// Number of names that are suggested.
const SUGGESTIONS: usize = 3;

/// Likeness from which on a name is worth suggesting.
const LIKENESS: f64 = 0.6;

/// Share of letters that two names must have in the same order, for letters alone to make them alike: `write_log` is not
/// what `read_log` was meant to be.
const SAME_LETTERS: f64 = 0.65;

/// Number of tools that a wrong name is compared with: more than the largest gateways have, some ten milliseconds.
const COMPARED: usize = 5_000;

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

    /// The callable tools, as `server:tool`, that are nearest to `name`, nearest first, of those that a caller with these
    /// rights may use and that `may_be_meant` lets through. Where the name is one of a server, only its tools are: those
    /// of others do something else, however they are named. Else the tool's own name counts, wherever it is.
    pub fn nearest_tools(
        &self,
        name: &str,
        rights: &Rights,
        may_be_meant: impl Fn(&CatalogTool) -> bool,
    ) -> Vec<String> {
        let (server, own) = match name.split_once(':') {
            Some((server, tool)) => (Some(server), tool),
            None => (None, name),
        };
        let server = server.and_then(|server| self.server(server));
        let server = server.filter(|state| rights.allow(AccessTo::Server(state.name())));
        let is_asked = |state: &&ServerState| server.is_none_or(|one| one.name() == state.name());
        let servers = self.configured().filter(is_asked);
        let tools = servers.flat_map(ServerState::tools).take(COMPARED);
        let (own, whole) = (WantedName::new(own), WantedName::new(name));
        let likeness = |entry: &CatalogTool| match server {
            Some(_) => own.likeness(entry.name()),
            // One whose server is named nearly so is nearer than one of the same name elsewhere.
            None => (0.95 * own.likeness(entry.name())).max(whole.likeness(entry.qualified())),
        };
        let usable = tools.filter(|entry| entry.is_callable() && entry.is_within(rights));
        let near = usable.map(|entry| (likeness(entry), entry));
        let near = near.filter(|(likeness, entry)| *likeness >= LIKENESS && may_be_meant(entry));
        let names = near.map(|(likeness, entry)| (likeness, entry.qualified().to_owned()));
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
        let words = self.shared_words(&stems(name));
        self.shared_letters(&name.to_lowercase()).max(words)
    }

    fn shared_letters(&self, name: &str) -> f64 {
        let letters = likeness(&self.name, name);
        // The second measure is the stricter one, and takes longer.
        let is_near = letters >= LIKENESS && same_letters(&self.name, name) >= SAME_LETTERS;
        if is_near { letters } else { 0.0 }
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
