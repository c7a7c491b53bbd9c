//! Directory of what direct endpoints offer: whose each name and address is, and the lists in pages.
//!
//! A tool or a prompt of all servers together is named after its server; a resource keeps its address,
//! unless an earlier server in the order of names lists the same. A template keeps its text where no other
//! server could be meant by it. The parts are made of one snapshot when they are first wanted. Only what may
//! be used is listed, with the bytes its server sent.
//!
//! Addresses are those among the servers that the caller may use: by an address that another server takes away, a caller
//! would learn that there is one.

pub(crate) mod address;
pub(crate) mod claims;
pub mod collisions;
pub mod names;
pub mod pages;
pub mod template;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use mcpproxy_policy::{AccessTo, Rights};
use mcpproxy_wire::json::with_member;
use mcpproxy_wire::{Json, ListedItem, ListedKind};

use self::address::{looks_qualified, split};
pub use self::address::{qualify, with_text};
use self::claims::{Claims, SchemeUsers};
use self::collisions::{CollisionKind, Collisions};
use self::names::{Names, Target, may_be_of, rest_of};
use self::pages::PagedListing;
use crate::snapshot::{ServerState, Snapshot};
use crate::tool::CatalogTool;

/// Servers whose offerings an endpoint has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Those of all servers, tools and prompts as `server__tool`.
    All,
    /// Those of one server, by their own names.
    Server(Arc<str>),
}

/// Most sets of servers whose names are kept for callers that may use no others: as many as there are different tokens
/// at work. Names of further ones are made when they are wanted.
const BOUNDED_KEPT: usize = 64;

/// Directory over one snapshot.
#[derive(Debug)]
pub struct Directory {
    snapshot: Arc<Snapshot>,
    tools: OnceLock<Names>,
    /// Names among all servers.
    others: OnceLock<Arc<OtherNames>>,
    /// Names among some servers, by which of the usable ones these are.
    bounded: Mutex<HashMap<ServerSet, Arc<OtherNames>>>,
    all: ListingsByKind,
    own: HashMap<Arc<str>, ListingsByKind>,
}

type ListingsByKind = [OnceLock<Arc<PagedListing>>; ListedKind::ALL.len()];

/// Set of servers: whether each usable one, in their order, is in it.
type ServerSet = Box<[bool]>;

/// Names and addresses of prompts, resources and templates, of servers together.
#[derive(Debug)]
struct OtherNames {
    prompts: Names,
    /// Server that lists an address first.
    resources: Owners,
    claims: Claims,
    collisions: Collisions,
}

type Owners = HashMap<Arc<str>, Arc<str>>;

// === impl Directory: lists ===

impl Directory {
    pub(crate) fn over(snapshot: Arc<Snapshot>) -> Self {
        let servers = snapshot.configured();
        Self {
            tools: OnceLock::new(),
            others: OnceLock::new(),
            bounded: Mutex::default(),
            all: ListingsByKind::default(),
            own: servers
                .map(|server| (Arc::clone(server.name()), ListingsByKind::default()))
                .collect(),
            snapshot,
        }
    }

    /// Snapshot that it is made of.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// List of a scope, if it was made already.
    pub fn made(&self, scope: &Scope, kind: ListedKind) -> Option<Arc<PagedListing>> {
        self.place(scope, kind)?.get().cloned()
    }

    /// List of a scope for callers who may use all of it; see [`Self::listing_within`]. Thousands of items take a while.
    pub fn listing(&self, scope: &Scope, kind: ListedKind) -> Arc<PagedListing> {
        let make = || Arc::new(self.listing_within(scope, kind, &Rights::Administrator));
        match self.place(scope, kind) {
            Some(place) => Arc::clone(place.get_or_init(make)),
            None => make(),
        }
    }

    /// List of a scope with what a caller with these rights may use.
    pub fn listing_within(&self, scope: &Scope, kind: ListedKind, rights: &Rights) -> PagedListing {
        let servers = self.snapshot.configured();
        let servers = servers.filter(|server| match scope {
            Scope::All => true,
            Scope::Server(only) => server.name() == only,
        });
        let is_shared = *scope == Scope::All;
        let others = (is_shared && kind != ListedKind::Tool).then(|| self.others(rights));
        let items = servers.flat_map(|server| {
            let others = others.as_deref();
            shown_items(server, kind, rights).map(move |(key, raw)| {
                let name = match others {
                    Some(others) => others.shared_name(server.name(), key, kind),
                    None => is_shared.then(|| self.tools().name(server.name(), key)),
                };
                let raw = name.map_or(raw.clone(), |name| with_text(&raw, kind.key(), &name));
                ((Arc::clone(server.name()), Arc::clone(key)), raw)
            })
        });
        PagedListing::new(kind.as_str(), items.collect())
    }

    fn place(&self, scope: &Scope, kind: ListedKind) -> Option<&OnceLock<Arc<PagedListing>>> {
        let places = match scope {
            Scope::All => &self.all,
            Scope::Server(server) => self.own.get(server)?,
        };
        places.get(kind.index())
    }
}

// === impl Directory: names ===

impl Directory {
    /// Item of a kind that a name or an address stands for: the server, and the server's own name for
    /// it. It need not exist: its server knows. A server that a caller with these rights may not use has none.
    pub fn target(
        &self,
        scope: &Scope,
        kind: ListedKind,
        named: &str,
        rights: &Rights,
    ) -> Option<Target> {
        let target = match (scope, kind) {
            (Scope::Server(server), ListedKind::Tool | ListedKind::Prompt) => {
                Some((Arc::clone(server), named.into()))
            }
            (Scope::Server(server), ListedKind::Resource | ListedKind::Template) => {
                Some(self.own_address(server, named, kind))
            }
            (Scope::All, ListedKind::Tool) => self.tools().target(named),
            (Scope::All, ListedKind::Prompt) => self.prompt(named, rights),
            // Who names a server is never sent to another one.
            (Scope::All, ListedKind::Resource | ListedKind::Template) if looks_qualified(named) => {
                self.qualified(named)
            }
            (Scope::All, ListedKind::Resource) => self.shared_resource(named, rights),
            // A completion refers to a template as it is listed, or to an address.
            (Scope::All, ListedKind::Template) => match self.others(rights).claims.owner(named) {
                Some(server) => Some((Arc::clone(server), named.into())),
                None => self.shared_resource(named, rights),
            },
        };
        target.filter(|(server, _)| {
            rights.allow(match kind {
                ListedKind::Tool => AccessTo::Server(server),
                _ => AccessTo::PromptsResources(server),
            })
        })
    }

    /// Servers that could be meant by an address that stands for no resource: those with a template that it fits,
    /// of those that a caller with these rights may use.
    pub fn fitting(&self, address: &str, rights: &Rights) -> Vec<Arc<str>> {
        let others = self.others(rights);
        let fitting = others.claims.fitting(address).into_iter();
        fitting.cloned().collect()
    }

    /// Collisions between addresses of servers.
    pub fn collisions(&self) -> &Collisions {
        &self.all_others().collisions
    }

    /// Servers that have not listed their tools yet, whose list could have a tool of this name.
    pub fn unlisted_owners(&self, name: &str) -> impl Iterator<Item = &ServerState> {
        let servers = self.snapshot.configured();
        servers.filter(move |server| !server.is_listed() && may_be_of(name, server.name()))
    }

    /// Name as `server:tool` of what an endpoint has no tool for, where it begins with the name of a server.
    pub fn owner(&self, scope: &Scope, name: &str) -> Option<String> {
        if let Scope::Server(server) = scope {
            return Some(format!("{server}:{name}"));
        }
        let servers = self.snapshot.configured();
        let begun = servers.filter_map(|server| {
            let rest = rest_of(name, server.name())?;
            Some((server.name(), rest))
        });
        // The longest: one server's name may begin with another's.
        let (server, tool) = begun.max_by_key(|(server, _)| server.len())?;
        Some(format!("{server}:{tool}"))
    }

    /// Callable tools that are nearest to a name, as the endpoint names them, of those that a caller with these rights may
    /// use.
    pub fn nearest_tools(&self, scope: &Scope, name: &str, rights: &Rights) -> Vec<String> {
        let wanted = match scope {
            Scope::All => name.replacen("__", ":", 1),
            Scope::Server(server) => {
                // The name of another endpoint, with the server in front, means the same tool.
                let rest = name.strip_prefix(&**server);
                let own = rest.and_then(|rest| rest.strip_prefix("__").or(rest.strip_prefix(':')));
                format!("{server}:{}", own.unwrap_or(name))
            }
        };
        let near = self.snapshot.nearest_tools(&wanted, rights, |_| true);
        let near = near.iter().filter_map(|name| {
            let (server, tool) = name.split_once(':')?;
            let entry = self.snapshot.find(server, tool)?;
            match scope {
                Scope::All => Some(self.tools().name(entry.server(), entry.name())),
                Scope::Server(only) => (**only == *server).then(|| tool.to_owned()),
            }
        });
        near.collect()
    }

    /// Servers that could be meant by an address that none of them lists, of those that a caller with these rights may
    /// use.
    pub fn with_resources(&self, rights: &Rights) -> Vec<&Arc<str>> {
        let servers = usable_servers(&self.snapshot);
        let servers = servers.filter(|server| {
            server.offerings().capabilities.resources.is_some()
                && rights.allow(AccessTo::PromptsResources(server.name()))
        });
        servers.map(ServerState::name).collect()
    }

    /// Servers that have not said yet what they list.
    pub fn unknown(&self) -> Vec<&Arc<str>> {
        let servers = usable_servers(&self.snapshot);
        let servers = servers.filter(|server| !server.is_known());
        servers.map(ServerState::name).collect()
    }

    /// Whether the names of prompts and addresses of resources are made already, for callers with these rights.
    pub fn has_names(&self, rights: &Rights) -> bool {
        match self.bounded_set(rights) {
            None => self.others.get().is_some(),
            Some(servers) => self.bounded().contains_key(&servers),
        }
    }

    /// Makes the names of prompts and addresses of resources, for callers with these rights. Thousands of them take a
    /// while.
    pub fn make_names(&self, rights: &Rights) {
        self.others(rights);
    }

    /// Names of all tools, also of those that cannot be called: a caller is told why.
    fn tools(&self) -> &Names {
        self.tools.get_or_init(|| {
            let entries = self.snapshot.tools();
            Names::of(entries.map(|entry| (entry.server(), entry.name())))
        })
    }

    /// Names among the servers whose prompts and resources a caller with these rights may use.
    fn others(&self, rights: &Rights) -> Arc<OtherNames> {
        let Some(servers) = self.bounded_set(rights) else {
            return Arc::clone(self.all_others());
        };
        if let Some(known) = self.bounded().get(&servers) {
            return Arc::clone(known);
        }
        let made = Arc::new(OtherNames::of(&self.snapshot, &servers));
        let mut bounded = self.bounded();
        if bounded.len() < BOUNDED_KEPT {
            bounded.insert(servers, Arc::clone(&made));
        }
        made
    }

    fn all_others(&self) -> &Arc<OtherNames> {
        self.others.get_or_init(|| {
            let servers: ServerSet = usable_servers(&self.snapshot).map(|_| true).collect();
            Arc::new(OtherNames::of(&self.snapshot, &servers))
        })
    }

    /// Servers whose prompts and resources a caller with these rights may use, if these are not all.
    fn bounded_set(&self, rights: &Rights) -> Option<ServerSet> {
        let servers = usable_servers(&self.snapshot);
        let set: ServerSet = servers
            .map(|server| rights.allow(AccessTo::PromptsResources(server.name())))
            .collect();
        set.contains(&false).then_some(set)
    }

    fn bounded(&self) -> MutexGuard<'_, HashMap<ServerSet, Arc<OtherNames>>> {
        // Each change of the map is one step, so a panic leaves it whole.
        self.bounded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn usable(&self, server: &str) -> Option<&ServerState> {
        let server = self.snapshot.server(server);
        server.filter(|server| server.is_usable())
    }

    fn prompt(&self, name: &str, rights: &Rights) -> Option<Target> {
        let target = self.others(rights).prompts.target(name)?;
        let server = self.usable(&target.0)?;
        // What a server has that has not been there yet, only the server can tell.
        let may_have = server.offerings().capabilities.prompts.is_some() || !server.is_known();
        may_have.then_some(target)
    }

    /// A server's address of its own, which may be given qualified as well.
    fn own_address(&self, server: &Arc<str>, address: &str, kind: ListedKind) -> Target {
        let own = match split(address) {
            Some((named, original)) if *named == **server && !self.lists(server, kind, address) => {
                original
            }
            _ => address,
        };
        (Arc::clone(server), own.into())
    }

    fn lists(&self, server: &str, kind: ListedKind, address: &str) -> bool {
        self.usable(server).is_some_and(|state| {
            let items = state.offerings().items(kind);
            items.iter().any(|item| *item.key == *address)
        })
    }

    fn qualified(&self, address: &str) -> Option<Target> {
        let (server, original) = split(address)?;
        let server = self.usable(server)?;
        Some((Arc::clone(server.name()), original.into()))
    }

    /// Resource of the server that lists it, else of the one whose template claims it, else of the only one that has
    /// resources. Servers that the caller may not use take nothing away from the others.
    fn shared_resource(&self, address: &str, rights: &Rights) -> Option<Target> {
        let others = self.others(rights);
        let server = others.resources.get(address);
        let server = server.or_else(|| others.claims.claimant(address));
        let server = match (server, self.with_resources(rights).as_slice()) {
            (Some(server), _) => server,
            (None, [server]) => server,
            _ => return None,
        };
        Some((Arc::clone(server), address.into()))
    }
}

// === impl OtherNames ===

impl OtherNames {
    /// Names among these servers.
    fn of(snapshot: &Snapshot, servers: &[bool]) -> Self {
        let every = |kind: ListedKind| {
            let servers = usable_servers(snapshot).zip(servers);
            let servers = servers.filter(|(_, is_in)| **is_in);
            servers.flat_map(move |(server, _)| {
                let items = server.offerings().items(kind).iter();
                items.map(move |item| (server.name(), &item.key))
            })
        };
        let mut collisions = Collisions::default();
        let mut resources = Owners::new();
        for (server, key) in every(ListedKind::Resource) {
            let owner = resources.entry(Arc::clone(key));
            let owner = owner.or_insert_with(|| Arc::clone(server));
            if owner != server {
                collisions.add(CollisionKind::SameAddress, key, server, Some(owner));
            }
        }
        let mut users = SchemeUsers::default();
        users.add(every(ListedKind::Resource));
        users.add(every(ListedKind::Template));
        let claims = Claims::of(every(ListedKind::Template), &users, &mut collisions);
        Self {
            prompts: Names::of(every(ListedKind::Prompt)),
            resources,
            claims,
            collisions,
        }
    }

    /// Name of an item that is no tool where all servers are offered, if not its own.
    fn shared_name(&self, server: &Arc<str>, key: &Arc<str>, kind: ListedKind) -> Option<String> {
        let owner = match kind {
            ListedKind::Tool => return None,
            ListedKind::Prompt => return Some(self.prompts.name(server, key)),
            ListedKind::Resource => self.resources.get(key),
            ListedKind::Template => self.claims.owner(key),
        };
        let is_plain = owner == Some(server) && !looks_qualified(key);
        (!is_plain).then(|| qualify(server, key))
    }
}

fn usable_servers(snapshot: &Snapshot) -> impl Iterator<Item = &ServerState> {
    snapshot.configured().filter(|server| server.is_usable())
}

/// Items of a server that a caller with these rights may use, by their names: cursors need an order that stays.
fn shown_items<'a>(
    server: &'a ServerState,
    kind: ListedKind,
    rights: &'a Rights,
) -> Box<dyn Iterator<Item = (&'a Arc<str>, Json)> + 'a> {
    if kind == ListedKind::Tool {
        let tools = server.tools();
        let callable = tools.filter(|entry| entry.is_callable() && entry.is_within(rights));
        return Box::new(callable.map(|entry| (entry.name(), definition(entry))));
    }
    let items = server.offerings().items(kind).iter();
    let is_shown = server.is_shown() && rights.allow(AccessTo::PromptsResources(server.name()));
    let mut items: Vec<&ListedItem> = items.filter(|_| is_shown).collect();
    items.sort_by(|one, other| one.key.cmp(&other.key));
    Box::new(items.into_iter().map(|item| (&item.key, item.raw.clone())))
}

/// Definition of a tool as its server sent it, byte for byte but for annotations where the operator has a word on
/// them: in their place, or at the end if the server gave none.
fn definition(entry: &CatalogTool) -> Json {
    let tool = &entry.tool().raw;
    let own = entry.tool().raw_annotations.as_ref();
    let annotations = match entry.shown_annotations() {
        Some(annotations) if own.map(Json::text) != Some(annotations.text()) => annotations,
        _ => return tool.clone(),
    };
    if tool
        .fields()
        .is_some_and(|fields| fields.get("annotations").is_some())
    {
        return with_member(tool, "annotations", annotations);
    }
    let body = tool.text().strip_suffix('}').unwrap_or_default();
    // A tool has a name, so something stands before the comma.
    let text = [body, r#","annotations":"#, annotations.text(), "}"].concat();
    Json::parse(text).unwrap_or_else(|_| tool.clone())
}

#[cfg(test)]
mod tests;
