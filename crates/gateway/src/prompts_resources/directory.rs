//! What all servers list besides tools, put together: whose each name and address is.
//!
//! Made anew when a list changes. Servers come in the order of their names, and the first one
//! that lists an address keeps it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use mcpproxy_upstream::OfferingsSnapshot;
use mcpproxy_wire::listed_item::{ListedItem, ListedKind};

use super::address::{looks_qualified, qualify, split, with_text};
use super::template::Template;
use crate::direct::Scope;
use crate::direct::listing::PagedListing;
use crate::direct::name::{Names, Target};

/// What the callable servers list, at one moment.
#[derive(Debug)]
pub(crate) struct Directory {
    /// What it was made of.
    versions: Vec<(Arc<str>, u64)>,
    servers: BTreeMap<Arc<str>, ServerOfferings>,
    /// The names of all prompts together.
    prompts: Names,
    /// Who lists an address first.
    resources: HashMap<Arc<str>, Arc<str>>,
    /// Server that lists a template first, by the template's text.
    templates: HashMap<Arc<str>, Arc<str>>,
    /// All templates, in the order of servers.
    patterns: Vec<(Arc<str>, Template)>,
    all: [OnceLock<Arc<PagedListing>>; 3],
}

/// What one server lists.
#[derive(Debug)]
struct ServerOfferings {
    offerings: OfferingsSnapshot,
    own: [OnceLock<Arc<PagedListing>>; 3],
}

impl Directory {
    /// Puts together what these servers list. One that was started anew and has not said yet what
    /// it has keeps what it had: nothing of it is taken away and given back within a moment.
    pub(crate) fn after(before: Option<&Self>, listed: Vec<(Arc<str>, OfferingsSnapshot)>) -> Self {
        let versions = versions(&listed);
        let had = |server: &str| Some(before?.servers.get(server)?.offerings.clone());
        let listed = listed.into_iter().map(|(server, offerings)| {
            let had = if offerings.is_known {
                None
            } else {
                had(&server)
            };
            (server, had.unwrap_or(offerings))
        });
        let directory = Self::of(listed);
        Self {
            versions,
            ..directory
        }
    }

    /// Whether it was made of these very offerings.
    pub(crate) fn is_of(&self, listed: &[(Arc<str>, OfferingsSnapshot)]) -> bool {
        self.versions == versions(listed)
    }

    /// Puts together what these servers list.
    fn of(listed: impl IntoIterator<Item = (Arc<str>, OfferingsSnapshot)>) -> Self {
        let servers: BTreeMap<Arc<str>, ServerOfferings> = listed
            .into_iter()
            .map(|(server, offerings)| {
                let own = Default::default();
                (server, ServerOfferings { offerings, own })
            })
            .collect();
        let every = |kind: ListedKind| {
            let servers = servers.iter();
            servers.flat_map(move |(server, offered)| {
                let items = offered.offerings.items(kind).iter();
                items.map(move |item| (server, &item.key))
            })
        };
        let owners = |kind: ListedKind| {
            let mut owners = HashMap::new();
            for (server, key) in every(kind) {
                let owner = || Arc::clone(server);
                owners.entry(Arc::clone(key)).or_insert_with(owner);
            }
            owners
        };
        let patterns = every(ListedKind::Template)
            .map(|(server, template)| (Arc::clone(server), Template::parse(template)));
        Self {
            versions: Vec::new(),
            prompts: Names::of(every(ListedKind::Prompt)),
            resources: owners(ListedKind::Resource),
            templates: owners(ListedKind::Template),
            patterns: patterns.collect(),
            all: Default::default(),
            servers,
        }
    }

    /// What is listed in a scope, if that was made already.
    pub(crate) fn made(&self, scope: &Scope, kind: ListedKind) -> Option<Arc<PagedListing>> {
        self.place(scope, kind)?.get().cloned()
    }

    /// What is listed in a scope.
    pub(crate) fn listing(&self, scope: &Scope, kind: ListedKind) -> Arc<PagedListing> {
        let make = || match scope {
            Scope::All => {
                let servers = self.servers.iter();
                let items = servers.flat_map(|(server, offered)| {
                    let items = in_order(&offered.offerings, kind);
                    items.map(move |item| (server, item))
                });
                let shown = items.map(|(server, item)| {
                    let raw = match self.shown(server, item, kind) {
                        Some(shown) => with_text(&item.raw, kind.key(), &shown),
                        None => item.raw.clone(),
                    };
                    ((Arc::clone(server), Arc::clone(&item.key)), raw)
                });
                Arc::new(PagedListing::collect(kind.member(), shown))
            }
            Scope::Server(server) => {
                let listed = self.servers.get(server).into_iter();
                let items = listed.flat_map(|offered| in_order(&offered.offerings, kind));
                let shown = items.map(|item| {
                    let target = (Arc::clone(server), Arc::clone(&item.key));
                    (target, item.raw.clone())
                });
                Arc::new(PagedListing::collect(kind.member(), shown))
            }
        };
        match self.place(scope, kind) {
            Some(place) => Arc::clone(place.get_or_init(make)),
            None => make(),
        }
    }

    /// The prompt that a name stands for. It need not exist: its server knows.
    pub(crate) fn prompt(&self, scope: &Scope, name: &str) -> Option<Target> {
        let target = match scope {
            Scope::Server(server) => return Some((Arc::clone(server), name.into())),
            Scope::All => self.prompts.target(name)?,
        };
        let OfferingsSnapshot {
            capabilities,
            is_known,
            ..
        } = &self.servers.get(&target.0)?.offerings;
        // What a server has that has not been there yet, only the server can tell.
        (capabilities.prompts.is_some() || !is_known).then_some(target)
    }

    /// The resource that an address stands for: the server, and the server's own address.
    pub(crate) fn resource(&self, scope: &Scope, address: &str) -> Option<Target> {
        match scope {
            Scope::Server(server) => Some(self.own_address(server, address, ListedKind::Resource)),
            Scope::All => self
                .qualified(address)
                .or_else(|| owned(&self.resources, address))
                .or_else(|| self.fitting(address))
                .or_else(|| self.only(address)),
        }
    }

    /// Target of what a completion refers to: a template as it is listed, or an address.
    pub(crate) fn template(&self, scope: &Scope, text: &str) -> Option<Target> {
        match scope {
            Scope::Server(server) => Some(self.own_address(server, text, ListedKind::Template)),
            Scope::All => self
                .qualified(text)
                .or_else(|| owned(&self.templates, text))
                .or_else(|| self.resource(scope, text)),
        }
    }

    /// The servers that could be meant by an address that none of them lists.
    pub(crate) fn with_resources(&self) -> Vec<&Arc<str>> {
        let offering = |(server, offered): (_, &ServerOfferings)| {
            let capabilities = offered.offerings.capabilities;
            capabilities.resources.is_some().then_some(server)
        };
        self.servers.iter().filter_map(offering).collect()
    }

    /// The servers that have not said yet what they list.
    pub(crate) fn unknown(&self) -> Vec<&Arc<str>> {
        let unknown = |(server, offered): (_, &ServerOfferings)| {
            (!offered.offerings.is_known).then_some(server)
        };
        self.servers.iter().filter_map(unknown).collect()
    }

    /// How an item is called where all servers are offered, if not by its own name.
    fn shown(&self, server: &Arc<str>, item: &ListedItem, kind: ListedKind) -> Option<String> {
        let owners = match kind {
            ListedKind::Prompt => return Some(self.prompts.name(server, &item.key)),
            ListedKind::Resource => &self.resources,
            ListedKind::Template => &self.templates,
        };
        let is_owner = owners.get(&item.key) == Some(server);
        let is_plain = is_owner && !looks_qualified(&item.key);
        (!is_plain).then(|| qualify(server, &item.key))
    }

    /// A server's address of its own, which may be given qualified as well.
    fn own_address(&self, server: &Arc<str>, address: &str, kind: ListedKind) -> Target {
        let items = self
            .servers
            .get(server)
            .map(|offered| offered.offerings.items(kind));
        let is_listed = items.is_some_and(|items| items.iter().any(|item| *item.key == *address));
        let own = match split(address) {
            Some((named, original)) if !is_listed && *named == **server => original,
            _ => address,
        };
        (Arc::clone(server), own.into())
    }

    fn qualified(&self, address: &str) -> Option<Target> {
        let (server, original) = split(address)?;
        let (server, _) = self.servers.get_key_value(server)?;
        Some((Arc::clone(server), original.into()))
    }

    fn fitting(&self, address: &str) -> Option<Target> {
        let mut patterns = self.patterns.iter();
        let (server, _) = patterns.find(|(_, pattern)| pattern.matches(address))?;
        Some((Arc::clone(server), address.into()))
    }

    fn only(&self, address: &str) -> Option<Target> {
        match self.with_resources().as_slice() {
            [server] => Some((Arc::clone(server), address.into())),
            _ => None,
        }
    }

    fn place(&self, scope: &Scope, kind: ListedKind) -> Option<&OnceLock<Arc<PagedListing>>> {
        let places = match scope {
            Scope::All => &self.all,
            Scope::Server(server) => &self.servers.get(server)?.own,
        };
        let index = ListedKind::ALL.iter().position(|one| *one == kind)?;
        places.get(index)
    }
}

/// Versions of offerings, in the order of servers.
fn versions(listed: &[(Arc<str>, OfferingsSnapshot)]) -> Vec<(Arc<str>, u64)> {
    let mut versions: Vec<(Arc<str>, u64)> = listed
        .iter()
        .map(|(server, offerings)| (Arc::clone(server), offerings.version))
        .collect();
    versions.sort();
    versions
}

/// Who lists this very text first.
fn owned(owners: &HashMap<Arc<str>, Arc<str>>, text: &str) -> Option<Target> {
    let (key, server) = owners.get_key_value(text)?;
    (!looks_qualified(text)).then(|| (Arc::clone(server), Arc::clone(key)))
}

/// The items of a list by their names: cursors need an order that stays.
fn in_order(offerings: &OfferingsSnapshot, kind: ListedKind) -> impl Iterator<Item = &ListedItem> {
    let mut items: Vec<&ListedItem> = offerings.items(kind).iter().collect();
    items.sort_by(|one, other| one.key.cmp(&other.key));
    items.into_iter()
}

#[cfg(test)]
mod tests;
