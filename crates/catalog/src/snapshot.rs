//! Snapshot: what is known at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::index::{Index, Segment};
use crate::operator::Operator;
use crate::tool::{Availability, CatalogTool, ListedTool};

/// Snapshot of all servers and tools known at one moment. It never changes.
#[derive(Debug, Default)]
pub struct Snapshot {
    servers: ServerStates,
    index: Index,
}

/// State of one configured server, with its tools if they are known.
#[derive(Debug)]
pub struct ServerState {
    name: Arc<str>,
    operator: Operator,
    /// The tools in the order of their names; `None` until the server was listed.
    tools: Option<Vec<Arc<CatalogTool>>>,
    /// Segment of the index with the callable ones. It is built with the state, so it is shared by
    /// all snapshots in which this server is the same.
    segment: Arc<Segment>,
}

/// Servers in the order of their names.
pub(crate) type ServerStates = BTreeMap<Arc<str>, Arc<ServerState>>;

// === impl Snapshot ===

impl Snapshot {
    pub(crate) fn new(servers: ServerStates) -> Self {
        let index = Index::new(
            servers
                .values()
                .map(|state| Arc::clone(&state.segment))
                .filter(|segment| !segment.tools().is_empty())
                .collect(),
        );
        Self { servers, index }
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

    pub(crate) fn servers(&self) -> &ServerStates {
        &self.servers
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }
}

// === impl ServerState ===

impl ServerState {
    pub(crate) fn new(name: Arc<str>, operator: Operator) -> Self {
        Self::build(name, operator, None)
    }

    /// State of this server and its tools under other settings.
    pub(crate) fn configured(&self, operator: Operator) -> Self {
        let definitions = self.tools.as_ref().map(|tools| {
            tools
                .iter()
                .map(|entry| Arc::clone(entry.definition()))
                .collect()
        });
        Self::build(Arc::clone(&self.name), operator, definitions)
    }

    /// State of this server under its settings with other tools, which come in the order of their names.
    pub(crate) fn listed(&self, definitions: Vec<Arc<ListedTool>>) -> Self {
        Self::build(
            Arc::clone(&self.name),
            self.operator.clone(),
            Some(definitions),
        )
    }

    fn build(
        name: Arc<str>,
        operator: Operator,
        definitions: Option<Vec<Arc<ListedTool>>>,
    ) -> Self {
        let tools: Option<Vec<Arc<CatalogTool>>> = definitions.map(|definitions| {
            definitions
                .into_iter()
                .map(|definition| Arc::new(CatalogTool::new(&name, definition, &operator)))
                .collect()
        });
        let callable = tools
            .iter()
            .flatten()
            .filter(|entry| entry.availability() == Availability::Callable)
            .cloned()
            .collect();
        Self {
            segment: Arc::new(Segment::new(Arc::clone(&name), callable)),
            name,
            operator,
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
        self.tools.is_some()
    }

    /// Whether its tools may be called, as far as the whole server is concerned.
    pub fn availability(&self) -> Availability {
        Availability::of_server(&self.operator).unwrap_or(Availability::Callable)
    }

    /// Tools that are known, in the order of their names.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<CatalogTool>> {
        self.tools.iter().flatten()
    }

    /// Tool of that name.
    pub fn find(&self, tool: &str) -> Option<&Arc<CatalogTool>> {
        let tools = self.tools.as_ref()?;
        let position = tools
            .binary_search_by(|entry| (**entry.name()).cmp(tool))
            .ok()?;
        tools.get(position)
    }
}
