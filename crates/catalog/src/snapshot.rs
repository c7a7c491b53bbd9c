//! Snapshot: what is known at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::Date;
use mcpproxy_wire::{ListedItem, ListedKind, Offerings, ToolDefinition};
use serde::{Serialize, Serializer};

use crate::index::{Index, Segment};
use crate::operator::Operator;
use crate::tool::{Availability, CatalogTool, ListedTool};

/// Snapshot of all servers and what they offer at one moment. It never changes.
///
/// Written as JSON it has the [`Offerings`] of each server by its name. Read back and given to
/// [`Catalog::replace`](crate::Catalog::replace), they make the same snapshot again.
#[derive(Debug, Default)]
pub struct Snapshot {
    pub(crate) servers: ServerStates,
    pub(crate) index: Index,
}

/// State of one configured server, with its offerings as far as they are known.
#[derive(Debug)]
pub struct ServerState {
    name: Arc<str>,
    operator: Operator,
    offerings: Offerings,
    /// The tools in the order of their names.
    tools: Vec<Arc<CatalogTool>>,
    /// Segment of the index with the callable ones. It is built with the state, so it is shared by
    /// all snapshots in which this server is the same.
    segment: Arc<Segment>,
}

/// Servers in the order of their names.
pub(crate) type ServerStates = BTreeMap<Arc<str>, Arc<ServerState>>;

// === impl Snapshot ===

impl Snapshot {
    pub(crate) fn new(servers: ServerStates) -> Self {
        let segments = servers.values().map(|state| Arc::clone(&state.segment));
        let segments = segments.filter(|segment| !segment.tools.is_empty());
        Self {
            index: Index::new(segments.collect()),
            servers,
        }
    }

    /// The server of that name, if it is configured.
    pub fn server(&self, name: &str) -> Option<&ServerState> {
        self.servers.get(name).map(Arc::as_ref)
    }

    /// Every configured server, in the order of their names.
    pub fn configured(&self) -> impl Iterator<Item = &ServerState> {
        self.servers.values().map(Arc::as_ref)
    }

    /// The tool of that name, whether or not it can be called: see [`CatalogTool::availability`].
    pub fn find(&self, server: &str, tool: &str) -> Option<&Arc<CatalogTool>> {
        self.server(server)?.find(tool)
    }

    /// Every known tool, by server, then by name, those that cannot be called included.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<CatalogTool>> {
        self.configured().flat_map(ServerState::tools)
    }
}

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let servers = self.servers.iter();
        serializer.collect_map(servers.map(|(name, state)| (name, &state.offerings)))
    }
}

// === impl ServerState ===

impl ServerState {
    pub(crate) fn new(name: Arc<str>, operator: Operator, today: Date) -> Self {
        Self::build(name, operator, Offerings::default(), Vec::new(), today)
    }

    /// State of this server under other settings.
    pub(crate) fn configured(&self, operator: Operator, today: Date) -> Self {
        let definitions = self.tools.iter().map(|entry| Arc::clone(&entry.definition));
        let (name, offerings) = (Arc::clone(&self.name), self.offerings.clone());
        Self::build(name, operator, offerings, definitions.collect(), today)
    }

    /// State of this server on another day, if tools of it are removed on one of the two and not on the other.
    pub(crate) fn on_day(&self, before: Date, today: Date) -> Option<Self> {
        let mut tools = self.tools.iter().map(|entry| &entry.definition);
        let differs = tools.any(|tool| tool.is_removed(before) != tool.is_removed(today));
        differs.then(|| self.configured(self.operator.clone(), today))
    }

    /// State of this server under its settings with other offerings.
    pub(crate) fn offered(&self, offerings: Offerings, today: Date) -> Self {
        let offerings = self.offerings.updated(offerings);
        let (name, operator) = (Arc::clone(&self.name), self.operator.clone());
        if offerings.list(ListedKind::Tool) == self.offerings.list(ListedKind::Tool) {
            return Self {
                name,
                operator,
                offerings,
                tools: self.tools.clone(),
                segment: Arc::clone(&self.segment),
            };
        }
        let definitions = self.definitions(offerings.items(ListedKind::Tool));
        Self::build(name, operator, offerings, definitions, today)
    }

    /// Tools in the order of their names; of two with the same name the first counts. A tool that was
    /// listed before with the same bytes keeps its definition, and with it the compiled check of its
    /// arguments.
    fn definitions(&self, listed: &[ListedItem]) -> Vec<Arc<ListedTool>> {
        let mut listed: Vec<&ListedItem> = listed.iter().collect();
        listed.sort_by(|one, other| one.key.cmp(&other.key));
        listed.dedup_by(|later, earlier| later.key == earlier.key);
        let definitions = listed.into_iter().filter_map(|item| {
            let known = self.find(&item.key).map(|entry| &entry.definition);
            match known.filter(|known| known.tool.raw == item.raw) {
                Some(known) => Some(Arc::clone(known)),
                // What is no tool was left out when it was listed.
                None => ToolDefinition::parse(&item.raw)
                    .ok()
                    .map(|tool| Arc::new(ListedTool::new(tool))),
            }
        });
        definitions.collect()
    }

    fn build(
        name: Arc<str>,
        operator: Operator,
        offerings: Offerings,
        definitions: Vec<Arc<ListedTool>>,
        today: Date,
    ) -> Self {
        let definitions = definitions.into_iter();
        let tools: Vec<Arc<CatalogTool>> = definitions
            .map(|definition| Arc::new(CatalogTool::new(&name, definition, &operator, today)))
            .collect();
        let callable = tools.iter().filter(|entry| entry.is_callable());
        let callable = callable.cloned().collect();
        Self {
            segment: Arc::new(Segment::new(Arc::clone(&name), callable)),
            name,
            operator,
            offerings,
            tools,
        }
    }

    /// Name in the configuration.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Settings that the operator made for it.
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// Whether its tools are known. As long as they are not, nobody can say that it lacks one.
    pub fn is_listed(&self) -> bool {
        self.offerings.list(ListedKind::Tool).is_some()
    }

    /// Whether all of its lists are known.
    pub fn is_known(&self) -> bool {
        let mut kinds = ListedKind::ALL.into_iter();
        kinds.all(|kind| self.offerings.list(kind).is_some())
    }

    /// Offerings as the server gave them.
    pub fn offerings(&self) -> &Offerings {
        &self.offerings
    }

    /// Whether it may be asked for what it offers. One whose settings are broken may: who asks is told what is wrong.
    pub(crate) fn is_usable(&self) -> bool {
        self.operator.enabled && !self.operator.quarantined
    }

    /// Whether what it offers is listed.
    pub fn is_shown(&self) -> bool {
        Availability::of_server(&self.operator) == Availability::Callable
    }

    /// Whether one of its tools announces the tool contract, as far as they are known.
    pub fn announces_contract(&self) -> bool {
        self.tools.iter().any(|entry| entry.announces_contract())
    }

    /// Tools that are known, in the order of their names.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<CatalogTool>> {
        self.tools.iter()
    }

    /// Tool of that name.
    pub fn find(&self, tool: &str) -> Option<&Arc<CatalogTool>> {
        let found = self
            .tools
            .binary_search_by(|entry| (**entry.name()).cmp(tool));
        self.tools.get(found.ok()?)
    }
}
